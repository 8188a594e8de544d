# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the programs that measure with real hosts: two network namespaces with taps, and one guest between them.

These are separate programs, which tools/bench/run starts, because they move into private namespaces (the lab's). Each
writes a JSON list of figures.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import guest
from labkit import linuxguest, sandbox

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclasses.dataclass
class Figure:
    """One figure of one run; `void` is the reason why it does not count, or empty."""

    row: str
    key: str
    run: int
    value: float
    void: str = ""


MeasureRow = Callable[[guest.Row, guest.Setup, argparse.Namespace], list[Figure]]


def _parse(what: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--nic", required=True)
    parser.add_argument("--rows", required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--image", type=Path, required=True)
    parser.add_argument("--plugin", type=Path, help="counts instructions")
    parser.add_argument("--extra", default="")
    parser.add_argument("--offloads", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


def main(what: str, measure_row: MeasureRow) -> int:
    """Measures each row in turn; the exit status of the program."""
    options = _parse(what)
    try:
        sandbox.enter([sys.executable, *sys.argv])
    except sandbox.SandboxError as error:
        print(f"bench: no figures of {what}: {error}", file=sys.stderr)
        return 2
    usable = sorted(os.sched_getaffinity(0))
    cores = (usable[0], usable[1 if len(usable) > 1 else 0])
    roles = {row.what for name in options.rows.split(",") if (row := guest.ROWS[name]).linux}
    linux = {role: linuxguest.build(ROOT / "build", role) for role in roles}
    setup = guest.Setup(options.nic, "tap", options.image, linux, cores, options.offloads, options.plugin)
    figures: list[Figure] = []
    for name in options.rows.split(","):
        row = guest.ROWS[name]
        if options.extra and row.what == "nat" and not row.linux:
            row = dataclasses.replace(row, extra=options.extra)
        print(f"bench: {what}, {options.nic} {name}", file=sys.stderr)
        figures += measure_row(row, setup, options)
    options.out.write_text(json.dumps([dataclasses.asdict(f) for f in figures]), encoding="utf-8")
    return 0
