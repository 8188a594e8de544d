# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the programs that measure with real hosts: two network namespaces with taps, and one guest between them.

These are separate programs, which tools/bench/run starts, because they move into private namespaces (the lab's). Each
writes a JSON list of figures.

The guests of all rows stand side by side, and in each run every row is measured in turn. A machine whose speed changes
from minute to minute so changes it for all rows.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import guest
from labkit import linuxguest, sandbox
from labkit.netns import CommandFailed
from labkit.wait import Timeout

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclasses.dataclass
class Figure:
    """One figure of one run; `void` is the reason why it does not count, or empty."""

    row: str
    key: str
    run: int
    value: float
    void: str = ""


FAILED = (guest.GuestError, CommandFailed, Timeout, OSError)  # OSError: a guest that has ended has no thread
# Measures one run: its number in, its figures out.
MeasureRun = Callable[[int], list[Figure]]
# Starts the guest and the hosts of a row, for as long as the context lasts; raises one of FAILED.
OpenRow = Callable[[guest.Row, guest.Setup, argparse.Namespace], contextlib.AbstractContextManager[MeasureRun]]


def failure(row: str, keys: Iterable[str], run: int, error: Exception) -> list[Figure]:
    """Void figures, which say why a row could not be measured."""
    print(f"bench: {row}: {error}", file=sys.stderr)
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return [Figure(row, key, run, float("nan"), reason) for key in keys]


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


def main(what: str, open_row: OpenRow, keys: tuple[str, ...]) -> int:
    """Measures all rows; the exit status of the program. A row that does not start has a void figure for each of
    `keys`."""
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
    with contextlib.ExitStack() as stack:
        rows: dict[str, tuple[MeasureRun, contextlib.ExitStack]] = {}
        for name in options.rows.split(","):
            row = guest.ROWS[name]
            if options.extra and row.what == "nat" and not row.linux:
                row = dataclasses.replace(row, extra=options.extra)
            print(f"bench: {what}, {options.nic} {name} starts", file=sys.stderr)
            here = stack.enter_context(contextlib.ExitStack())
            try:
                rows[name] = (here.enter_context(open_row(row, setup, options)), here)
            except FAILED as error:
                figures += failure(name, keys, 0, error)
        for run in range(options.runs):
            for name, (measure_run, here) in list(rows.items()):
                print(f"bench: {what}, {options.nic} {name}, run {run + 1} of {options.runs}", file=sys.stderr)
                try:
                    figures += measure_run(run)
                except FAILED as error:  # its guest must not take time from the others
                    figures += failure(name, keys, run, error)
                    here.close()
                    del rows[name]
    options.out.write_text(json.dumps([dataclasses.asdict(f) for f in figures]), encoding="utf-8")
    return 0
