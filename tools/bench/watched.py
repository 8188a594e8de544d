#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Counts what it costs to be watched: the instructions of a session that is logged.

    tools/bench/watched.py [--nic MODEL]

The function is nat. 8,000 new sessions are opened as in the bench, some 40,000 a second: without a log, with `nat.log
sessions` to a collector (IPFIX), and to a syslog server over UDP. What counts are the functions that take less than an
instruction of a session without a log: the others vary more with the bursts than the log costs. Ends with 1 when that
is more than 150 instructions as IPFIX or 800 as syslog, or when an event was lost. tools/bench/run makes the programs
that this needs.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import guest
import hotspots
import loadgen
import measure

ROOT = HERE.parent.parent
OUT = ROOT / "build" / "bench"
MOST = {"ipfix": 150, "syslog": 800}
KINDS = {
    "off": "",
    "ipfix": f"nat.log=sessions ipfix={guest.WAN_GATEWAY}",
    "syslog": f"nat.log=sessions syslog=udp:{guest.WAN_GATEWAY}",
}
RUNS = 2
DRAIN_S = 2  # in which all events are sent, while a little traffic lets the generator take them
LOST = re.compile(r"^(?:syslog_lost|ipfix_lost|drop\{\S+\}) [1-9]")


def measure_one(kind: str, options: argparse.Namespace, folder: Path) -> Counter[str]:
    """Instructions by function, of the last run."""
    row = guest.Row(f"nat-{kind}", "nat", False, "nat", "nat", KINDS[kind])
    setup = guest.Setup(options.nic, "stream", options.image, {}, (0, 1), plugin=OUT / "icount.so", profile=True)
    target = guest.Guest(row, setup, folder)
    session = measure.Session(target, loadgen.LoadGen(OUT / "gen", target), setup.nic)
    try:
        session.start()
        time.sleep(2)  # QEMU's e1000 receives nothing for a second after a write to RCTL
        session.settle()
        for number in range(RUNS):
            before = hotspots.Counts(target.counter.read_bytes())
            if measure.packets(session.first_packets(number)) < measure.NEW_FLOWS:
                raise loadgen.LoadError(f"{kind}: new flows were lost")
            session.load.run(seconds=DRAIN_S, rate=100, answers=1)
            counts = hotspots.Counts(target.counter.read_bytes())
            counts.since(before)
        for line in target.console("stats"):
            if LOST.search(line.strip("> \r")):
                raise loadgen.LoadError(f"{kind}: {line}")
    finally:
        session.stop()
    return hotspots.by_function(counts, hotspots.Symbols(options.symbols))


def main() -> int:
    parser = argparse.ArgumentParser(description="counts what it costs to be watched")
    parser.add_argument("--nic", default="e1000")
    parser.add_argument("--top", type=int, default=12, help="functions that are shown")
    parser.add_argument("--image", type=Path, default=ROOT / "images" / "gateway.elf")
    parser.add_argument("--symbols", type=Path, default=ROOT / "build" / "image" / "gateway.elf")
    options = parser.parse_args()
    found = {}
    for kind in KINDS:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            found[kind] = measure_one(kind, options, Path(folder))
    bad = False
    for kind, most in MOST.items():
        own = Counter({name: (count - found["off"][name]) / measure.NEW_FLOWS for name, count in found[kind].items()
                       if found["off"][name] < measure.NEW_FLOWS})
        costs = sum(own.values())
        bad |= costs > most
        print(f"{kind}: {costs:,.0f} instructions for each session that begins, at most {most}")
        for name, count in own.most_common(options.top):
            print(f"    {name} {count:.1f}")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
