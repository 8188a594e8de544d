# SPDX-License-Identifier: BSD-2-Clause
"""The procedures of RFC 8219 and of RFC 9693 on each pair of guests, and what of them is kept. As in generated.py."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Callable
from dataclasses import dataclass

import guest
import loadgen
import measure
import procedures
from generated import ERRORS, Add, Bench, attempt, collector, sessions
from results import Effort, Figure, Units
from traffic import NoRate, Traffic

FORWARDERS = (("nat", "linux-nat"), ("6to4", "linux-sit"), ("ivi", "linux-tayga"), ("nat64", "linux-nat64"))
LONGER = {"6to4": 40, "xlat": 20, "nat64": 20}  # bytes by which a packet grows on one side
OVERLOAD_FLOWS = (1, 10, 100, 1000, 10000)
BURSTS = 3  # RFC 9004: searches of the longest burst in each repetition
RFC_FLOWS = 1000  # with random ports: enough that no two frames in a row hit the same entry


def fitting(path: str, size: int) -> int:
    """The generator's frame size, so that the longer form of the packet has the size asked for at most."""
    return min(size, 1514 - LONGER.get(path, 0))


Step = Callable[[measure.Session, Add], None]


def rfc8219(bench: Bench) -> list[Figure]:
    """Throughput with latency and delay variation, loss by rate, bursts, recovery, and overload by the number of flows.
    Each repetition of each size on each guest is a unit, which is kept at once."""
    assert bench.units is not None
    units = bench.units("8219")
    found: list[Figure] = []
    pairs = [pair for pair in FORWARDERS if bench.wanted(pair)]
    plans = {row: _steps_8219(bench.effort, units, row) for pair in pairs for row in bench.wanted(pair)}
    units.total = sum(f"{row} {name}" not in units.done for row, steps in plans.items() for name, _ in steps)
    for pair in pairs:
        rows = bench.wanted(pair)
        due = tuple(row for row in rows if any(f"{row} {name}" not in units.done for name, _ in plans[row]))
        if due:
            print(f"papers: 8219: {', '.join(due)}: {units.left()}", file=sys.stderr)
            _measure_8219(bench, due, units, plans, found)
        found += [one for row in rows for name, _ in plans[row] for one in units.done.get(f"{row} {name}", [])]
    return found


def _measure_8219(
    bench: Bench, due: tuple[str, ...], units: Units, plans: dict[str, list[tuple[str, Step]]], found: list[Figure]
) -> None:
    """The units of these guests, in turn: the first one of each, then the second one."""
    starts, note = collector("8219")
    with sessions(bench, "virtio-net-pci", "vhost", due, note) as alive:
        for number in range(max((len(plans[row]) for row in due), default=0)):
            for session in alive:
                name, step = plans[session.guest.row.name][number]

                def measured(one: measure.Session = session, act: Step = step) -> list[Figure]:
                    figures, add = collector("8219")
                    act(one, add)
                    return figures

                key = f"{session.guest.row.name} {name}"
                if key not in units.done:
                    units.do(key, measured)
                    print(f"papers: 8219: {key}: {units.left()}", file=sys.stderr)
    found += starts


def _steps_8219(effort: Effort, units: Units, row: str) -> list[tuple[str, Step]]:
    """The units of one guest in order, by name."""
    steps: list[tuple[str, Step]] = []
    for run in range(effort.runs):
        for size in effort.sizes:
            steps.append((f"{size + 4} {run}", _rates_step(effort, units, row, size, run)))
        if run < effort.minor_runs:
            steps.append((f"others {run}", _others_step(effort, units, row, run)))
    return steps


def earlier(units: Units, row: str, what: str, x: float) -> float:
    """The last valid figure of this quantity in the units that are done; 0 if there is none."""
    values = [
        one.value
        for figures in units.done.values()
        for one in figures
        if (one.row, one.what, one.x) == (row, what, x) and not one.void
    ]
    return values[-1] if values else 0.0


NONE_LOST = "throughput, frames/s each way"
FULL = "full load, frames/s"
BURST = "longest burst, frames"


def _rates_step(effort: Effort, units: Units, row: str, size: int, run: int) -> Step:
    """A repetition of the throughput with frames of one size; latency and delay variation are those of its last trial.
    A repetition after the first one begins its search at the result before."""

    def step(session: measure.Session, add: Add) -> None:
        x = size + 4
        traffic = Traffic(session.load, fitting(session.guest.row.path, size), RFC_FLOWS, True)
        before = earlier(units, row, NONE_LOST, x)
        near = before or earlier(units, row, NONE_LOST, 64)  # not far away: packets cost more than their bytes
        most = earlier(units, row, FULL, x) * 1.2
        if not most > 0 or not before > 0:
            most = 1.2 * attempt(session, add, FULL, x, run, lambda: traffic.full(effort.seconds))
        if not most > 0:
            add(row, NONE_LOST, x, run, float("nan"), "nothing came through at full load")
            return
        if x == 64 and run == 0 and not effort.quick:
            attempt(session, add, "0.1 % lost, frames/s each way", x, run,
                    lambda: procedures.throughput(traffic, _short(effort), most, procedures.TOLERANCE).rate)
        trials: list[loadgen.Result] = []

        def highest() -> float:
            found = procedures.throughput(traffic, effort, most, near=near)
            trials.append(found.trial)
            return found.rate

        attempt(session, add, NONE_LOST, x, run, highest)
        try:
            delays, void = procedures.delays(trials[-1]), ""
        except (IndexError, KeyError, TypeError):
            delays, void = {}, "too few frames" if trials else "no rate without loss"
        for what in procedures.DELAYS:
            add(row, what, x, run, delays.get(what, float("nan")), void)

    return step


def _short(effort: Effort) -> Effort:
    """The same effort with a last trial no longer than the others."""
    return dataclasses.replace(effort, last=effort.seconds)


def _others_step(effort: Effort, units: Units, row: str, run: int) -> Step:
    """What RFC 8219 has besides, with frames of 64 bytes."""

    def step(session: measure.Session, add: Add) -> None:
        traffic = Traffic(session.load, 60, RFC_FLOWS, True)
        rate, full = earlier(units, row, NONE_LOST, 64), earlier(units, row, FULL, 64)
        if rate > 0:
            attempt(session, add, "recovery, ms", 0, run, lambda: procedures.recovery(traffic, effort, rate))
        else:
            add(row, "recovery, ms", 0, run, float("nan"), "no rate without loss")
        if full > 0 and (run == 0 or effort.name == "rfc"):
            curve(session, add, traffic, full, run)
        for number in effort.first(range(run * BURSTS, (run + 1) * BURSTS), 1):
            attempt(session, add, BURST, 0, number, lambda: float(procedures.back_to_back(session.load)))
        for flows in effort.points(OVERLOAD_FLOWS):
            attempt(session, add, "full load by flows, frames/s", flows, run,
                    lambda many=int(flows): Traffic(session.load, 60, many, True).full(effort.brief))

    def curve(session: measure.Session, add: Add, traffic: Traffic, full: float, run: int) -> None:
        try:
            for percent, lost in procedures.loss_curve(traffic, effort, full).items():
                add(row, "loss, %", percent, run, lost, "" if lost == lost else "the generator did not keep up")
        except ERRORS as error:
            add(row, "loss, %", 0, run, float("nan"), str(error).splitlines()[0])

    return step


BOX_FLOWS = 4000  # connections of a trial with a box
SETUP_RUNS = 3  # each with guests that start again, except with the RFCs' effort
MOST_SETUP = 400_000  # new connections a second at which the search begins


def rfc9693(bench: Bench) -> list[Figure]:
    """New connections a second, and how many the table holds. The table is emptied, by a new start of the guest, before
    it is full. Tear-down: Baregate has no command for it, and a Linux guest no console."""
    figures, add = collector("9693")
    wanted = [pair for pair in (("nat", "linux-nat"), ("nat64", "linux-nat64")) if bench.wanted(pair)]
    for pair in bench.effort.first(wanted, 1):
        for row in bench.wanted(pair):
            print(f"papers: 9693: {row}", file=sys.stderr)
            with contextlib.ExitStack() as stack:
                _connections(Restarted(bench, row, add, stack), bench, add)
    return figures


@dataclass
class Restarted:
    """A guest that is started again whenever its table must be empty. A box is not: its trials have few connections,
    which are only ever new ones."""

    bench: Bench
    row: str
    add: Add
    stack: contextlib.ExitStack
    session: measure.Session | None = None

    def again(self) -> loadgen.LoadGen:
        if self.bench.interfaces is not None and self.session is not None:
            raise NoRate("the table of a box cannot be emptied from here")
        self.stack.close()
        row = "nat" if self.bench.interfaces is not None else self.row
        alive = self.stack.enter_context(sessions(self.bench, "virtio-net-pci", "vhost", (row,), self.add))
        if not alive:
            raise NoRate("the guest did not start")
        self.session = alive[0]
        return self.session.load


def _connections(place: Restarted, bench: Bench, add: Add) -> None:
    """Both quantities of RFC 9693 on one guest."""
    near, flows = 0.0, None
    for run in range(bench.effort.runs if bench.effort.name == "rfc" else min(bench.effort.runs, SETUP_RUNS)):
        try:
            if flows is None or bench.interfaces is None:
                few = BOX_FLOWS if bench.interfaces is not None else 0
                flows = procedures.NewFlows(place.again(), place.again, guest.SESSIONS * 9 // 10, few)
            near = procedures.setup_rate(flows, bench.effort, MOST_SETUP, near)
            add(place.row, "new connections/s", 0, run, near, "")
        except ERRORS as error:
            add(place.row, "new connections/s", 0, run, float("nan"), str(error).splitlines()[0])
            if place.session is None:
                return
    add(place.row, "connections torn down/s", 0, 0, float("nan"), "no command ends all connections of a guest at once")
    if bench.effort.quick:
        return
    try:
        held = procedures.capacity(lambda many: procedures.proved(place.again(), many), guest.SESSIONS)
        add(place.row, "connections held", 0, 0, held, "")
    except ERRORS as error:
        add(place.row, "connections held", 0, 0, float("nan"), str(error).splitlines()[0])
