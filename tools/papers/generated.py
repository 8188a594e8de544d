# SPDX-License-Identifier: BSD-2-Clause
"""What the parts share that a load generator measures, and those parts for the dissertation: round trips and processed
packets. The guests of a part run side by side, and each repetition measures them in turn."""

from __future__ import annotations

import contextlib
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
import target
import traffic
from labkit import linuxguest
from paper import most_in_vii
from results import Effort, Figure, Units
from traffic import NoRate, Traffic

NAT_RATES = [1000.0 * number for number in range(1, 17) if number != 11]  # table VII has no 11,000
SIZES = [40, 64, 128, 256, 512, 768, 1024, 1280, 1460]  # table V: bytes of the IP packet
ETHERNET = 14
# Table VII. By the words for our figures: of ten flows so many are TCP, and the paper's column of Linux.
MIXES = {"": (10, "linux_pps"), " of the mix": (8, "linux_mix_pps")}
TCP_FRAME = 72  # the shortest that the generator marks
ERRORS = (guest.GuestError, loadgen.LoadError, NoRate, OSError, KeyError, TypeError, ValueError, ZeroDivisionError)


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
            try:
                session = measure.Session(one, loadgen.LoadGen(bench.generator, one), nic)
                stack.callback(session.stop)
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

    def flows_of(session: measure.Session, mix: str) -> Traffic:
        return Traffic(session.load, TCP_FRAME, 20, tcp=MIXES[mix][0])

    def opened(session: measure.Session, mix: str, what: str, run: int) -> bool:
        try:
            flows_of(session, mix).open_sessions()
        except ERRORS as error:
            add(session.guest.row.name, what, 0, run, float("nan"), str(error).splitlines()[0])
            return False
        return True

    def series(alive: list[measure.Session], mix: str, title: str, factor: float, run: int) -> None:
        what = f"{title}{mix}, packets/s"
        ready = [session for session in alive if opened(session, mix, what, run)]
        for rate, session in itertools.product(rates, ready):

            def count(one: measure.Session = session, offered: float = rate * factor) -> float:
                result = traffic.trial(lambda: flows_of(one, mix).offered(offered, bench.effort.seconds), offered)
                if not traffic.kept_up(result, offered):
                    raise NoRate(f"the generator sent {traffic.offered_rate(result):.0f}/s")
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
                flows = flows_of(one, kind)
                flows.open_sessions()
                return traffic.most_processed(flows, bench.effort)

            most = attempt(linux[0], add, f"most processed{mix}, packets/s", 0, 0, most_of)
            title = "processed at scaled rates"
            for run in range(bench.effort.runs if most > 0 else 0):
                series(alive, mix, title, most / most_in_vii(column), run)
            if not most > 0:
                for session, rate in itertools.product(alive, rates):
                    add(session.guest.row.name, f"{title}{mix}, packets/s", rate, 0, float("nan"),
                        "what our Linux guest processes at most is not known")
    return figures
