# SPDX-License-Identifier: BSD-2-Clause
"""The parts that a load generator measures: packets of UDP, and queries to DNS64 servers. The guests of a part run side
by side, and each repetition measures them in turn."""

from __future__ import annotations

import contextlib
import itertools
import re
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
from procedures import NoRate, Traffic
from results import Effort, Figure

NAT_RATES = [1000.0 * number for number in range(1, 17) if number != 11]  # table VII has no 11,000
SIZES = [40, 64, 128, 256, 512, 768, 1024, 1280, 1460]  # table V: bytes of the IP packet
ETHERNET = 14
PAPER_LINUX_MOST = 9565  # table VII: what Linux processed at most, packets a second
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

    def guests(self, nic: str, backend: str, rows: tuple[str, ...], folder: Path) -> list[guest.Guest]:
        """The guests of these rows, not started; the box takes the place of ours and of Linux's NAT."""
        if self.interfaces is None:
            setup = self.setup(nic, backend, rows)
            return [guest.Guest(guest.ROWS[name], setup, folder) for name in rows]
        box = target.Box(target.ROW, guest.Setup(nic, "packet", self.image, {}, self.cores), folder)
        box.interfaces = self.interfaces
        return [box] if "nat" in rows else []

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
                        return float(result["round_trip_us"]["median"]) / 1000

                    attempt(session, add, "round trip, ms", size, run, trip)
    return figures


def processed(bench: Bench) -> list[Figure]:
    """Table VII: processed by offered packets, at the paper's rates (series A), and at those times what our Linux guest
    forwards at most divided by what the paper's did (series B)."""
    figures, add = collector("VII")
    rows = ("nat", "linux-nat")
    rates = bench.effort.points(NAT_RATES)

    def series(alive: list[measure.Session], what: str, factor: float, run: int) -> None:
        for rate in rates:
            for session in alive:

                def count(one: measure.Session = session, offered: float = rate * factor) -> float:
                    result = Traffic(one.load).offered(offered, bench.effort.seconds)
                    sent, lost = int(result["sent"]), int(result["lost"])
                    if not procedures.kept_up(result, offered):
                        raise NoRate(f"the generator sent {sent / float(result['seconds']):.0f}/s")
                    return (sent - lost) / float(result["seconds"])

                attempt(session, add, what, rate, run, count)

    with sessions(bench, "e1000", "dgram", rows, add) as alive:
        for run in range(bench.effort.runs):
            series(alive, "processed/s, the paper's rates", 1, run)
    with sessions(bench, "virtio-net-pci", "vhost", rows, add) as alive:
        for run in range(bench.effort.runs):
            linux = [one for one in alive if one.guest.row.linux or bench.interfaces]
            most = Traffic(linux[0].load).full(bench.effort.seconds) if linux else 0.0
            if most > 0:
                add(linux[0].guest.row.name, "most, packets/s", 0, run, most, "")
                series(alive, "processed/s, rates scaled", most / PAPER_LINUX_MOST, run)
    return figures


def translation_times(bench: Bench) -> list[Figure]:
    """Table XVI: the console's `timings` of ivi, in cycles of the guest's clock."""
    figures, add = collector("XVI")
    with sessions(bench, "e1000", "stream", ("ivi",), add) as alive:
        for run, session in itertools.product(range(bench.effort.runs), alive):
            for words in ({}, {"back": 1}):
                session.load.run(seconds=1, answers=1, window=32)
                session.load.run(seconds=bench.effort.seconds * 2, window=32, **words)
            for line in session.guest.console("timings"):
                found = re.search(r"(4to6|6to4) (\w+) count=([1-9]\d*) mean=(\d+)", line)
                if found:
                    add("ivi", f"{found[2]}, cycles", 46 if found[1] == "4to6" else 64, run, float(found[4]), "")
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
    with sessions(bench, "e1000", "stream", DNS_ROWS, add) as alive:
        for run, session in itertools.product(range(bench.effort.runs), alive):

            def highest(one: measure.Session = session) -> float:
                most = one.load.run(seconds=1, warm=0.2, window=96, **procedures.NEW_NAMES)
                full = int(most["answered"]) / float(most["seconds"])

                def passes(rate: float, seconds: float) -> bool:
                    result = one.load.run(seconds=seconds, rate=rate, **procedures.NEW_NAMES)
                    slow = float(result["round_trip_us"]["max"]) > 1e6
                    return int(result["lost"]) == 0 and int(result["failed"]) == 0 and not slow

                return procedures.search(full * 1.2, passes, bench.effort)

            attempt(session, add, "all answered, questions/s", 0, run, highest)
    return figures


# ---- RFC 8219 and RFC 9693 ----

FORWARDERS = (("nat", "linux-nat"), ("6to4", "linux-sit"), ("ivi", "linux-tayga"), ("nat64", "linux-nat64"))
LONGER = {"6to4": 40, "xlat": 20, "nat64": 20}  # bytes by which a packet grows on one side


def fitting(path: str, size: int) -> int:
    """The generator's frame size, so that the longer form of the packet has the size asked for at most."""
    return min(size, 1514 - LONGER.get(path, 0))


def rfc8219(bench: Bench) -> list[Figure]:
    """Throughput, latency, delay variation, loss by rate, bursts, and overload by the number of flows."""
    figures, add = collector("8219")
    for pair in FORWARDERS:
        print(f"papers: 8219: {pair[0]}", file=sys.stderr)
        with sessions(bench, "virtio-net-pci", "vhost", pair, add) as alive:
            for run, session in itertools.product(range(bench.effort.runs), alive):
                for size in bench.effort.sizes:
                    _rates_of(session, fitting(session.guest.row.path, size), size + 4, bench.effort, run, add)
                attempt(session, add, "longest burst, frames", 0, run,
                        lambda one=session: float(procedures.back_to_back(one.load)))
                for flows in (1, 10, 100, 1000, 10000):
                    attempt(session, add, "full load by flows, frames/s", flows, run,
                            lambda one=session, many=flows: Traffic(one.load, 60, many).full(bench.effort.seconds))
    return figures


def _rates_of(session: measure.Session, size: int, x: int, effort: Effort, run: int, add: Add) -> None:
    traffic = Traffic(session.load, size)
    full = attempt(session, add, "full load, frames/s", x, run, lambda: traffic.full(effort.seconds))
    if not full > 0:
        return
    some = attempt(session, add, "0.1 % lost, frames/s each way", x, run,
                   lambda: procedures.throughput(traffic, effort, full * 1.2, procedures.TOLERANCE))
    most = some if some > 0 else full
    none = attempt(session, add, "throughput, frames/s each way", x, run,
                   lambda: procedures.throughput(traffic, effort, most))
    rate = none if none > 0 else most / 10
    try:
        for what, value in procedures.delays(traffic, effort, rate).items():
            add(session.guest.row.name, what, x, run, value, "" if none > 0 else "measured at a tenth of 0.1 % loss")
    except ERRORS as error:
        add(session.guest.row.name, "typical latency, µs", x, run, float("nan"), str(error))
    if x == 64:
        for percent, lost in procedures.loss_curve(traffic, effort, full).items():
            add(session.guest.row.name, "loss, %", percent, run, lost, "")


RATE_RUNS = 3  # the connections of more would not fit into the table


def rfc9693(bench: Bench) -> list[Figure]:
    """New connections a second, and how many the table holds. Both begin with an empty table."""
    figures, add = collector("9693")
    for pair in (("nat", "linux-nat"), ("nat64", "linux-nat64")):
        print(f"papers: 9693: {pair[0]}", file=sys.stderr)
        with sessions(bench, "virtio-net-pci", "vhost", pair, add) as alive:
            for session in alive:
                numbers = itertools.count(1)
                for run in range(min(bench.effort.runs, RATE_RUNS)):
                    attempt(session, add, "new connections/s", 0, run,
                            lambda one=session, next_ones=numbers: procedures.setup_rate(
                                one.load, bench.effort, next_ones, 400_000))
        with sessions(bench, "virtio-net-pci", "vhost", pair, add) as alive:
            for session in alive:
                asked = guest.SESSIONS + 20_000
                attempt(session, add, f"connections of {asked:,} proved from outside", 0, 0,
                        lambda one=session, many=asked: float(procedures.capacity(one.load, many)))
    return figures
