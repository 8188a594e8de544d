# SPDX-License-Identifier: BSD-2-Clause
"""Tables II and XVI: how long single steps take. Ours are the console's `timings`, in a guest whose clock counts
instructions; beside them the instructions of a whole packet, ours and the Linux guest's."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import generated
import guest
import loadgen
import measure
from generated import Add, Bench, attempt, collector
from paper import Transcript
from results import Figure, Findings, number
from sections import table, text_of
from steps import CLOCK, STEP_RUNS, WAYS, steps

ROWS = ("nat", "nat64", "6to4", "ivi")
PEERS = {"nat": "linux-nat", "nat64": "linux-nat64", "6to4": "linux-sit", "ivi": "linux-tayga"}
PLUGIN = Path(__file__).resolve().parent.parent.parent / "build" / "bench" / "icount.so"


@contextlib.contextmanager
def alone(bench: Bench, name: str, words: tuple[str, ...], plugin: Path | None) -> Iterator[measure.Session]:
    """A session with one guest."""
    setup = dataclasses.replace(bench.setup("e1000", "stream", (name,)), plugin=plugin)
    with tempfile.TemporaryDirectory(prefix="papers-") as folder:
        one = guest.Guest(guest.ROWS[name], setup, Path(folder), words=words)
        session = measure.Session(one, loadgen.LoadGen(bench.generator, one), "e1000")
        try:
            session.start()
            time.sleep(3)  # QEMU's e1000 receives nothing for a second after a write to RCTL
            session.settle()
            yield session
        finally:
            session.stop()


def noted(name: str, run: int, add: Add, step: Callable[[], None]) -> None:
    """Measures with a guest; a failure is a void figure with its reason."""
    try:
        step()
    except generated.ERRORS as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        print(f"papers: {name}: {reason}", file=sys.stderr)
        add(name, "start", 0, run, float("nan"), reason)


def has_flows(name: str) -> bool:
    return name in ("nat", "nat64", "linux-nat", "linux-nat64")


def drive(session: measure.Session, seconds: float, run: int) -> None:
    """Packets of known flows, both ways, one by one; then, where there are sessions, first packets of new ones."""
    session.load.run(seconds=seconds, rate=500, answers=1)
    if has_flows(session.guest.row.name):
        # At a rate at which each of some of them meets a time of measurement.
        first = measure.NEW_FIRST + run * measure.NEW_FLOWS
        session.load.run(seconds=seconds + 20, first=first, flows=int(500 * seconds), once=1, rate=500)


def sampled(session: measure.Session, run: int, add: Add) -> None:
    """The means of one repetition. The console's means are since the start, so each has a guest of its own."""
    for step in steps(session.guest.console("timings")):
        add(session.guest.row.name, step.what, WAYS[step.way], run, float(step.mean), step.void)


def whole_packets(session: measure.Session, seconds: float, run: int, add: Add) -> None:
    """Instructions of a guest for a packet, at full load; and for the first one of a flow."""
    name = session.guest.row.name

    def known(back: bool) -> float:
        words = {"back": 1} if back else {}
        result = session.load.run(seconds=seconds, warm=0.2, window=192, **words)
        return float(result["instructions"]) / measure.packets(result)

    def first() -> float:
        result = session.first_packets(run)
        return float(result["instructions"]) / measure.packets(result)

    session.load.run(seconds=0.5, answers=1, window=32)  # opens the sessions that packets from outside need
    for back in (False, True):
        if not (back and has_flows(name)):  # a NAT's packets from outside are answers
            attempt(session, add, "whole packet, instructions", WAYS[way_of(name, back)], run, lambda b=back: known(b))
    if has_flows(name):
        attempt(session, add, "first packet of a flow, instructions", WAYS["out"], run, first)


def way_of(name: str, back: bool) -> str:
    if name in ("ivi", "linux-tayga"):
        return "4to6" if back else "6to4"
    return "in" if back else "out"


def inner_timings(bench: Bench) -> list[Figure]:
    """Part `II`: tables II and XVI, with packets of UDP."""
    figures, add = collector("II")
    runs, seconds = min(bench.effort.runs, STEP_RUNS), max(4.0, 2 * bench.effort.seconds)

    def by_steps(name: str, run: int) -> None:
        with alone(bench, name, CLOCK, None) as session:
            drive(session, seconds, run)
            sampled(session, run, add)

    def as_wholes(name: str) -> None:
        with alone(bench, name, (), PLUGIN) as session:
            for run in range(runs):
                whole_packets(session, bench.effort.seconds, run, add)

    for run, name in itertools.product(range(runs), ROWS):
        noted(name, run, add, functools.partial(by_steps, name, run))
    for name in (one for ours in ROWS for one in (ours, PEERS[ours])):
        noted(name, 0, add, functools.partial(as_wholes, name))
    return figures


# ---- the page ----

Cell = Callable[[str, str, str], str]  # row, what, way

NAT_STEPS = {"Add Entry": "add, cycles", "Look Up": "lookup, cycles", "Forwarding": "known, cycles"}
IVI_STEPS = {"IP Address": "address, cycles", "IP Header": "header, cycles", "TCP": "tcp, cycles",
             "UDP": "udp, cycles", "ICMP": "icmp, cycles"}  # fmt: skip


def sections(found: Findings) -> list[str]:
    """Tables II and XVI on the page: the papers' columns beside ours."""

    def cell(row: str, what: str, way: str) -> str:
        part = "XVI" if what in ("tcp, cycles", "icmp, cycles") else "II"
        return text_of(found.value(part, row, what, WAYS[way]), found.why(part, row, what, WAYS[way]))

    if not any(one.part in ("II", "XVI") for one in found.figures):
        return []
    text = ["### Table II: internal timings of the NAT", ""]
    text += ["Paper: " + Transcript("2012-ii-internal-timings").source[-1] + ".", ""]
    text += table(*_of_nat(cell))
    text += ["### Table XVI: translation times", ""]
    text += ["Paper: " + Transcript("2012-xvi-ivi-timings").source[-1] + ".", ""]
    text += table(*_of_ivi(cell))
    text += [
        "What differs: the paper's times are microseconds of a Pentium 4. Ours are `timings` in a guest whose clock"
        " counts instructions (`-icount shift=0`): a cycle is an instruction, and caches cost nothing. The steps of TCP"
        " and ICMP are of iperf3 and ping between two hosts, the others of UDP. *Known* is a"
        " packet of a known flow from frame to frame. Our header step does not include the addresses; the paper's"
        " does. The Linux guest has no such counters, so the instructions of whole packets stand below.", "",
        "Instructions of a whole packet at full load, with all that the guest does beside it; *first* is the first one"
        " of a flow:", "",
    ]  # fmt: skip
    return text + table(*_of_packets(cell))


def _of_nat(cell: Cell) -> tuple[list[str], list[list[str]]]:
    rows = []
    for row in Transcript("2012-ii-internal-timings").rows:
        what = NAT_STEPS[row["operation"]]
        rows.append([row["operation"], row["time_us"], row["cpu_percent"], cell("nat", what, "out")])
        rows[-1] += [cell("nat", what, "in"), cell("nat64", what, "out"), cell("6to4", what, "out")]
    header = ["step", "bare PC, paper, µs", "its processor, paper, %", "`nat` out, cycles", "`nat` in", "`nat64` out"]
    return [*header, "`6to4` out"], rows


def _of_ivi(cell: Cell) -> tuple[list[str], list[list[str]]]:
    rows = []
    for row in Transcript("2012-xvi-ivi-timings").rows:
        theirs = [float(row[f"{system}_{way}_us"]) for way in ("4to6", "6to4") for system in ("linux", "bare")]
        rows.append([row["part"]])
        for way, pair in (("4to6", theirs[:2]), ("6to4", theirs[2:])):
            rows[-1] += [*(number(value) for value in pair), f"{number(pair[0] / pair[1])} x"]
            rows[-1] += [cell("ivi", IVI_STEPS[row["part"]], way)]
    known = [cell("ivi", "known, cycles", way) for way in ("4to6", "6to4")]
    rows.append(["whole known packet", "–", "–", "–", known[0], "–", "–", "–", known[1]])
    half = ["{0}: Linux, paper, µs", "bare PC, paper, µs", "ratio", "ours, cycles"]
    return ["step", *(word.format("4 to 6") for word in half), *(word.format("6 to 4") for word in half)], rows


def _of_packets(cell: Cell) -> tuple[list[str], list[list[str]]]:
    rows = []
    for name in ROWS:
        for what, title in (("whole packet, instructions", "known"), ("first packet of a flow, instructions", "first")):
            for back in (False, True):
                ours = cell(name, what, way_of(name, back))
                theirs = cell(PEERS[name], what, way_of(name, back))
                if (ours, theirs) != ("–", "–"):
                    rows.append([f"`{name}`", way_of(name, back), title, ours, theirs])
    return ["application", "way", "packet", "Baregate", "Linux guest"], rows
