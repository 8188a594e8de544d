#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Bulk TCP through a gateway: iperf3 between two network namespaces with taps, up and down.

    bulk.py --nic e1000 --rows nat,linux-nat --runs 5 --seconds 3 --out FILE [--offloads]

Run by tools/bench/run as a program of its own, because it moves into private namespaces (the
lab's); writes a JSON list of figures. Without --offloads the taps carry what a wire would carry;
with it virtio-net guests may exchange big, unsummed packets with the host, and Linux keeps its
offloads.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import guest
from labkit import linuxguest, sandbox
from labkit.lab import FAR_SERVER, Lab
from labkit.netns import CommandFailed
from labkit.wait import Timeout

DIRECTIONS = {"up": [], "down": ["--reverse"]}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="bulk TCP through a gateway")
    parser.add_argument("--nic", required=True)
    parser.add_argument("--rows", required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--image", type=Path, required=True)
    parser.add_argument("--extra", default="")
    parser.add_argument("--offloads", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


@dataclasses.dataclass
class Figure:
    """Megabits a second of one run; void says why there are none."""

    row: str
    direction: str
    run: int
    mbit: float
    void: str = ""


def transfer(lab: Lab, core: int, seconds: float, options: list[str]) -> float:
    pin = ["taskset", "-c", str(core)]
    command = ["iperf3", "--json", "--client", FAR_SERVER, "--time", f"{seconds:g}", "--omit", "1", *options]
    done = lab.lan.run(*pin, *command, timeout=seconds + 30)
    return float(json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"]) / 1e6


def measure_row(row: guest.Row, setup: guest.Setup, options: argparse.Namespace) -> list[Figure]:
    figures: list[Figure] = []
    with Lab((options.nic, options.nic), vnet_hdr=options.offloads) as lab:
        place = Path(lab.directory)
        target = guest.Guest(row, setup, place, taps=tuple(port.tap for port in lab.ports))
        try:
            target.start()
            lab.wait_ping(timeout=30)
            lab.wan.start("taskset", "-c", str(setup.cores[1]), "iperf3", "--server")
            lab.wan.wait_port(5201)
            for run in range(options.runs):
                for direction, words in DIRECTIONS.items():
                    try:
                        mbit, void = transfer(lab, setup.cores[1], options.seconds, words), ""
                    except (CommandFailed, Timeout, KeyError) as error:
                        mbit, void = 0.0, str(error).splitlines()[0]
                    figures.append(Figure(row.name, direction, run, mbit, void))
        except (guest.GuestError, CommandFailed, Timeout) as error:
            print(f"bench: bulk {row.name}: {error}", file=sys.stderr)
            figures.append(Figure(row.name, "up", 0, 0.0, str(error).splitlines()[0]))
        finally:
            target.stop()
    return figures


def main() -> int:
    options = parse()
    try:
        sandbox.enter([sys.executable, *sys.argv])
    except sandbox.SandboxError as error:
        print(f"bench: no bulk figures: {error}", file=sys.stderr)
        return 2
    usable = sorted(os.sched_getaffinity(0))
    cores = (usable[0], usable[1 if len(usable) > 1 else 0])
    roles = {row.what for name in options.rows.split(",") if (row := guest.ROWS[name]).linux}
    linux = {role: linuxguest.build(ROOT / "build", role) for role in roles}
    setup = guest.Setup(options.nic, "tap", options.image, linux, cores, options.offloads)
    figures: list[Figure] = []
    for name in options.rows.split(","):
        row = guest.ROWS[name]
        if not row.linux:
            row = dataclasses.replace(row, extra=options.extra)
        print(f"bench: bulk {options.nic} {name}", file=sys.stderr)
        figures += measure_row(row, setup, options)
    options.out.write_text(json.dumps([dataclasses.asdict(f) for f in figures]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
