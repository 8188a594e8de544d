#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Counts what it costs to be watched: a session that is logged, a scrape of the metrics, the status page.

    tools/bench/watched.py [--nic MODEL] [--runs N] [--only sessions|pages] [--top N]

The function is nat. Sessions: 8,000 of them begin in a run as in the bench, some 40,000 a second, and in the second
part end two seconds later: without a log, with `nat.log sessions` to a collector (IPFIX), and to a syslog server over
UDP. Every instruction counts that the guest executes from the first packet until all events are sent; the difference to
the guest without a log, divided by the sessions, is what one costs, its share of packets, cards and timers included.
The median of the runs counts. The limits are those for a session that begins: 150 as IPFIX, 800 as syslog. --top shows
the functions that execute more. Then pages (lookers.py). Ends with 1 when a session costs more than the limit, with an
error when an event was lost. tools/bench/run --build makes the programs that this needs.
"""

from __future__ import annotations

import argparse
import itertools
import re
import statistics
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
import lookers
import measure
from labkit import sandbox

ROOT = HERE.parent.parent
OUT = ROOT / "build" / "bench"
MOST = {"ipfix": 150, "syslog": 800}
KINDS = {
    "off": "",
    "ipfix": f"nat.log=sessions ipfix={guest.WAN_GATEWAY}",
    "syslog": f"nat.log=sessions syslog=udp:{guest.WAN_GATEWAY}",
}
ENDS_S = 2  # sessions without a packet end
DRAIN_S = 2  # in which the events of the begins are sent, while a little traffic lets the generator take them
END_DRAIN_S = 5  # the same for the ends
TRICKLE = 100  # packets a second meanwhile
LOST = re.compile(r"^(?:syslog_lost|ipfix_lost|drop\{\S+\}) [1-9]")
SENT = re.compile(r"^(?:syslog_messages|ipfix_records) (\d+)")


class Sessions:
    """One guest, whose sessions are logged in one way, or not."""

    def __init__(self, kind: str, ends: bool, options: argparse.Namespace, folder: Path) -> None:
        words = KINDS[kind] + (f" nat.udp-timeout={ENDS_S}" if ends else "")
        row = guest.Row(f"nat-{kind}-{ends:d}", "nat", False, "nat", "nat", words)
        setup = guest.Setup(options.nic, "stream", options.image, {}, (0, 1), plugin=OUT / "icount.so", profile=True)
        self.kind, self.ends = kind, ends
        self.blocks: Counter[int] = Counter()  # instructions of all runs by address
        self.target = guest.Guest(row, setup, folder)
        self.session = measure.Session(self.target, loadgen.LoadGen(OUT / "gen", self.target), setup.nic)

    def start(self) -> None:
        self.session.start()
        time.sleep(2)  # QEMU's e1000 receives nothing for a second after a write to RCTL
        self.session.settle()

    def run(self, number: int) -> float:
        """The instructions of a session, of one run, with all that the guest does meanwhile."""
        load = self.session.load
        load.run(seconds=0.3, rate=1000, answers=1)  # neighbours are known
        before = hotspots.Counts(self.target.counter.read_bytes())
        made = load.run(seconds=20, first=measure.NEW_FIRST + number * measure.NEW_FLOWS, flows=measure.NEW_FLOWS,
                        once=1, **measure.FULL)
        if measure.packets(made) < measure.NEW_FLOWS:
            raise loadgen.LoadError(f"{self.kind}: new flows were lost")
        load.run(seconds=END_DRAIN_S if self.ends else DRAIN_S, rate=TRICKLE, answers=1)
        counts = hotspots.Counts(self.target.counter.read_bytes())
        counts.since(before)
        self.blocks += counts.blocks
        return float(counts.total) / measure.NEW_FLOWS

    def check(self, runs: int) -> None:
        """Raises when an event was lost, or is missing."""
        lines = [line.strip("> \r") for line in self.target.console("stats")]
        for line in lines:
            if LOST.search(line):
                raise loadgen.LoadError(f"{self.kind}: {line}")
        sent = sum(int(found[1]) for line in lines if (found := SENT.search(line)))
        if self.kind != "off" and sent < runs * measure.NEW_FLOWS * (1 + self.ends):
            raise loadgen.LoadError(f"{self.kind}: only {sent} events were sent")


def show_functions(guests: list[Sessions], options: argparse.Namespace) -> None:
    """The functions that execute more for a session than without a log, to standard error."""
    symbols = hotspots.Symbols(options.symbols)
    off, *logged = [Counter({symbols.name(address): 0 for address in one.blocks}) for one in guests]
    for into, one in zip([off, *logged], guests):
        for address, count in one.blocks.items():
            into[symbols.name(address)] += count
    for one, found in zip(guests[1:], logged):
        found.subtract(off)
        for name, count in found.most_common(options.top):
            print(f"{one.kind} {name} {count / options.runs / measure.NEW_FLOWS:.1f}", file=sys.stderr)


def measure_sessions(ends: bool, options: argparse.Namespace) -> dict[str, list[float]]:
    """Instructions of a session, of each kind and run; the kinds take turns."""
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        guests = [Sessions(kind, ends, options, Path(folder)) for kind in KINDS]
        try:
            for one in guests:
                one.start()
            for number, one in itertools.product(range(options.runs), guests):
                found[one.kind].append(one.run(number))
            for one in guests:
                one.check(options.runs)
            if options.top:
                show_functions(guests, options)
        finally:
            for one in guests:
                one.session.stop()
    return found


def sessions(options: argparse.Namespace) -> bool:
    """Prints the table; gives whether a session that begins costs too much."""
    bad = False
    print("| a session that is logged | instructions | least | most | limit |\n| --- | --- | --- | --- | --- |")
    for ends in (False, True):
        found = measure_sessions(ends, options)
        off = statistics.median(found["off"])
        for kind, most in MOST.items():
            costs = [value - off for value in found[kind]]
            median = statistics.median(costs)
            bad |= not ends and median > most
            what = "its begin and its end" if ends else "its begin"
            print(f"| {what}, {kind} | {median:.0f} | {min(costs):.0f} | {max(costs):.0f} | "
                  f"{'' if ends else most} |")
        print(f"| without a log{', with its end' if ends else ''}: all instructions | {off:.0f} | "
              f"{min(found['off']):.0f} | {max(found['off']):.0f} | |", flush=True)
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description="counts what it costs to be watched")
    parser.add_argument("--nic", default="e1000")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", choices=["sessions", "pages"])
    parser.add_argument("--top", type=int, default=0, help="functions that are shown")
    parser.add_argument("--symbols", type=Path, default=ROOT / "build" / "image" / "gateway.elf")
    parser.add_argument("--image", type=Path, default=ROOT / "images" / "gateway.elf")
    options = parser.parse_args()
    sandbox.enter([sys.executable, *sys.argv])
    bad = options.only != "pages" and sessions(options)
    if options.only != "sessions":
        lookers.report(options.nic, options.image, OUT, options.runs)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
