# SPDX-License-Identifier: BSD-2-Clause
"""The parts that a load generator measures: packets of UDP and TCP, and queries to DNS64 servers. The guests of a part
run side by side, and each repetition measures them in turn."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import guest
import loadgen
import measure
import procedures
import target
from labkit import linuxguest
from paper import most_in_vii
from procedures import NoRate, Traffic
from results import Effort, Figure, Units

NAT_RATES = [1000.0 * number for number in range(1, 17) if number != 11]  # table VII has no 11,000
SIZES = [40, 64, 128, 256, 512, 768, 1024, 1280, 1460]  # table V: bytes of the IP packet
ETHERNET = 14
# Table VII. By the words for our figures: of ten flows so many are TCP, and the paper's column of Linux.
MIXES = {"": (10, "linux_pps"), " of the mix": (8, "linux_mix_pps")}
TCP_FRAME = 72  # the shortest that the generator marks
WINDOWS = [1, 2, 4, 8, 16, 32]  # clients of the papers about DNS64
ERRORS = (guest.GuestError, loadgen.LoadError, NoRate, OSError, KeyError, TypeError, ZeroDivisionError)


@dataclass(frozen=True)
class Bench:
    """What the parts share."""

    effort: Effort
    image: Path
    generator: Path
    linux: Callable[[str], linuxguest.LinuxImage]  # builds the guest of a role
    cores: tuple[int, int]
    interfaces: tuple[str, str] | None = None  # to a box that is measured in place of the guests
    rows: tuple[str, ...] = ()  # only these; empty: all
    units: Callable[[str], Units] | None = None  # those that are kept of a part

    def guests(self, nic: str, backend: str, rows: tuple[str, ...], folder: Path) -> list[guest.Guest]:
        """The guests of these rows, not started; the box takes the place of ours and of Linux's NAT."""
        if self.interfaces is None:
            rows = self.wanted(rows)
            setup = self.setup(nic, backend, rows)
            return [guest.Guest(guest.ROWS[name], setup, folder) for name in rows]
        box = target.Box(target.ROW, guest.Setup(nic, "packet", self.image, {}, self.cores), folder)
        box.interfaces = self.interfaces
        return [box] if self.wanted(rows) else []

    def wanted(self, rows: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the rows that are asked for."""
        if self.interfaces is not None:
            return (target.ROW.name,) if {"nat", target.ROW.name} & set(rows) else ()
        return tuple(row for row in rows if not self.rows or row in self.rows)

    def setup(self, nic: str, backend: str, rows: tuple[str, ...]) -> guest.Setup:
        roles = {guest.ROWS[name].what for name in rows if guest.ROWS[name].linux}
        return guest.Setup(nic, backend, self.image, {role: self.linux(role) for role in roles}, self.cores)


Add = Callable[[str, str, float, int, float, str], None]  # row, what, x, run, value, void


@contextlib.contextmanager
def sessions(bench: Bench, nic: str, backend: str, rows: tuple[str, ...], add: Add) -> Iterator[list[measure.Session]]:
    """The guests of these rows, ready to be measured. One that does not start is noted and left out."""
    with tempfile.TemporaryDirectory(prefix="papers-") as folder, contextlib.ExitStack() as stack:
        alive: list[measure.Session] = []
        for one in bench.guests(nic, backend, rows, Path(folder)):
            session = measure.Session(one, loadgen.LoadGen(bench.generator, one), nic)
            stack.callback(session.stop)
            try:
                if bench.interfaces is None:
                    session.start()
                alive.append(session)
            except ERRORS as error:
                add(one.row.name, "start", 0, 0, float("nan"), str(error).splitlines()[0])
        time.sleep(3)  # QEMU's e1000 receives nothing for a second after a write to RCTL
        for session in list(alive):
            try:
                session.settle()
            except ERRORS as error:
                add(session.guest.row.name, "start", 0, 0, float("nan"), str(error).splitlines()[0])
                alive.remove(session)
        yield alive


def collector(part: str) -> tuple[list[Figure], Add]:
    figures: list[Figure] = []

    def add(row: str, what: str, x: float, run: int, value: float, void: str = "") -> None:
        figures.append(Figure(part, row, what, x, run, value, void))

    return figures, add


def attempt(session: measure.Session, add: Add, what: str, x: float, run: int, step: Callable[[], float]) -> float:
    """Measures one figure; a failure is a void figure with its reason."""
    name = session.guest.row.name
    try:
        value = step()
    except ERRORS as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        print(f"papers: {name}, {what}, {x:g}: {reason}", file=sys.stderr)
        add(name, what, x, run, float("nan"), reason)
        return float("nan")
    add(name, what, x, run, value, "")
    return value


# ---- the dissertation ----


def round_trips(bench: Bench) -> list[Figure]:
    """Table V: round trip by size at 1,000 packets a second."""
    figures, add = collector("V-rtt")
    rows = ("wire", "nat", "linux-nat")
    with sessions(bench, "e1000", "dgram", rows, add) as alive:
        for run in range(bench.effort.runs):
            for size in bench.effort.points(SIZES):
                for session in alive:

                    def trip(one: measure.Session = session, length: int = int(size)) -> float:
                        frame = max(60, length + ETHERNET)
                        result = one.load.run(seconds=bench.effort.seconds, rate=1000, answers=1, size=frame)
                        if result["round_trip_us"] is None:
                            raise NoRate(f"none of {result['sent']} packets was answered")
                        return float(result["round_trip_us"]["median"]) / 1000

                    attempt(session, add, "round trip, ms", size, run, trip)
    return figures


def processed(bench: Bench) -> list[Figure]:
    """Table VII: processed by offered packets, of TCP and of a mix with UDP; at the paper's rates (series A), and at
    those times the most that our Linux guest processes divided by the most of the paper's (series B)."""
    figures, add = collector("VII")
    rows = ("nat", "linux-nat")
    rates = bench.effort.points(NAT_RATES)

    def traffic(session: measure.Session, mix: str) -> Traffic:
        return Traffic(session.load, TCP_FRAME, 20, tcp=MIXES[mix][0])

    def opened(session: measure.Session, mix: str, what: str, run: int) -> bool:
        try:
            traffic(session, mix).open_sessions()
        except ERRORS as error:
            add(session.guest.row.name, what, 0, run, float("nan"), str(error).splitlines()[0])
            return False
        return True

    def series(alive: list[measure.Session], mix: str, title: str, factor: float, run: int) -> None:
        what = f"{title}{mix}, packets/s"
        ready = [session for session in alive if opened(session, mix, what, run)]
        for rate, session in itertools.product(rates, ready):

            def count(one: measure.Session = session, offered: float = rate * factor) -> float:
                result = traffic(one, mix).offered(offered, bench.effort.seconds)
                if not procedures.kept_up(result, offered):
                    raise NoRate(f"the generator sent {procedures.offered_rate(result):.0f}/s")
                if int(result["bad"]) > 0:
                    raise NoRate(f"{result['bad']} wrong packets: {result['complaint']}")
                return (int(result["sent"]) - int(result["lost"])) / float(result["seconds"])

            attempt(session, add, what, rate, run, count)

    with sessions(bench, "e1000", "dgram", rows, add) as alive:
        for run, mix in itertools.product(range(bench.effort.runs), MIXES):
            series(alive, mix, "processed at the paper's rates", 1, run)
    with sessions(bench, "virtio-net-pci", "vhost", rows, add) as alive:
        linux = [one for one in alive if one.guest.row.linux or bench.interfaces]
        for mix, (_, column) in MIXES.items() if linux else ():

            def most_of(one: measure.Session = linux[0], kind: str = mix) -> float:
                flows = traffic(one, kind)
                flows.open_sessions()
                return procedures.most_processed(flows, bench.effort)

            most = attempt(linux[0], add, f"most processed{mix}, packets/s", 0, 0, most_of)
            for run in range(bench.effort.runs if most > 0 else 0):
                series(alive, mix, "processed at scaled rates", most / most_in_vii(column), run)
    return figures


# ---- DNS64 ----

DNS_ROWS = ("dns64", "linux-unbound", "linux-bind", "linux-pdns")


def closed_loop(bench: Bench) -> list[Figure]:
    """The papers of 2015 and 2016: answers a second by the number of questions in flight; no name was asked before."""
    figures, add = collector("DNS-loop")
    with sessions(bench, "e1000", "stream", DNS_ROWS, add) as alive:
        for run in range(bench.effort.runs):
            for window in bench.effort.points(WINDOWS):
                for session in alive:
                    result: loadgen.Result = {}

                    def rate(
                        one: measure.Session = session, many: float = window, said: loadgen.Result = result
                    ) -> float:
                        words = procedures.NEW_NAMES | {"window": many}
                        said |= one.load.run(seconds=bench.effort.seconds, warm=0.2, **words)
                        return int(said["answered"]) / float(said["seconds"])

                    answered = attempt(session, add, "answers/s", window, run, rate)
                    if answered == answered and answered > 0:
                        name = session.guest.row.name
                        busy = (result["vcpu_user"] + result["vcpu_system"]) * 100 / result["seconds"]
                        add(name, "256 answers, ms", window, run, 256000 / answered, "")
                        add(name, "vCPU, %", window, run, busy, "")
    return figures


def resolver_search(bench: Bench) -> list[Figure]:
    """The paper of 2017: RFC 8219, section 9.2. The highest rate at which each question is answered within a second."""
    figures, add = collector("DNS-search")
    near: dict[str, float] = {}
    with sessions(bench, "e1000", "stream", DNS_ROWS, add) as alive:
        for run, session in itertools.product(range(bench.effort.runs), alive):
            name = session.guest.row.name
            before = near.get(name, 0.0)
            found = attempt(session, add, "all answered, questions/s", 0, run,
                            lambda one=session, begin=before: all_answered(one.load, bench.effort, begin))
            if found > 0:
                near[name] = found
    return figures


def all_answered(load: loadgen.LoadGen, effort: Effort, near: float) -> float:
    """The search on one server. A question that its queue has no room for counts as not answered."""
    most = load.run(seconds=1, warm=0.2, window=96, **procedures.NEW_NAMES)
    full = int(most["answered"]) / float(most["seconds"])
    reached: list[float] = []

    def passes(rate: float, seconds: float) -> bool:
        words = procedures.NEW_NAMES | {"seconds": seconds, "rate": rate, "open": 1, "halt": 1}
        result = procedures.trial(lambda: load.run(**words), rate)
        reached.append(procedures.offered_rate(result))
        slow = result["round_trip_us"] is None or float(result["round_trip_us"]["max"]) > 1e6
        answered = int(result["lost"]) == 0 and int(result["failed"]) == 0 and not slow
        return answered and procedures.kept_up(result, rate)

    rate = procedures.search(full * 1.2, passes, effort, near)
    return min(rate, reached[-1])


# ---- RFC 8219 and RFC 9693 ----

FORWARDERS = (("nat", "linux-nat"), ("6to4", "linux-sit"), ("ivi", "linux-tayga"), ("nat64", "linux-nat64"))
LONGER = {"6to4": 40, "xlat": 20, "nat64": 20}  # bytes by which a packet grows on one side


OVERLOAD_FLOWS = (1, 10, 100, 1000, 10000)
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
        if x == 64 and run == 0:
            attempt(session, add, "0.1 % lost, frames/s each way", x, run,
                    lambda: procedures.throughput(traffic, _short(effort), most, procedures.TOLERANCE).rate)
        trials: list[loadgen.Result] = []

        def highest() -> float:
            found = procedures.throughput(traffic, effort, most, near=near)
            trials.append(found.trial)
            return found.rate

        attempt(session, add, NONE_LOST, x, run, highest)
        for trial in trials:
            for what, value in procedures.delays(trial).items():
                add(row, what, x, run, value, "")
        if not trials:
            add(row, "typical latency, µs", x, run, float("nan"), "no rate without loss")

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
        attempt(session, add, "longest burst, frames", 0, run, lambda: float(procedures.back_to_back(session.load)))
        for flows in OVERLOAD_FLOWS:
            attempt(session, add, "full load by flows, frames/s", flows, run,
                    lambda many=flows: Traffic(session.load, 60, many, True).full(effort.brief))

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
    for pair in (("nat", "linux-nat"), ("nat64", "linux-nat64")):
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
    try:
        held = procedures.capacity(lambda many: procedures.proved(place.again(), many), guest.SESSIONS)
        add(place.row, "connections held", 0, 0, held, "")
    except ERRORS as error:
        add(place.row, "connections held", 0, 0, float("nan"), str(error).splitlines()[0])
