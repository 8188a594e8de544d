# SPDX-License-Identifier: BSD-2-Clause
"""The measurements, and the sessions that make them.

A pass starts all its guests and then measures them in turn, run by run, so that other load of the machine affects all
of them equally. Instructions are counted in a separate pass: counting costs time, so times are measured on guests
without the plugin.
"""

from __future__ import annotations

import functools
import re
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import guest
import loadgen

# A guest that executes more than this in a second without traffic spins: it gets no figure.
IDLE_INSTRUCTIONS = 2_000_000
SETTLE_S = 7  # a neighbour is asked five seconds after the first packet (RFC 4861, section 10)
# Share of the packets at which the generator had nothing in flight, at full load.
EMPTY_SHARE = 0.01

Value = Callable[[loadgen.Result], float]


def packets(result: loadgen.Result) -> int:
    """Packets that passed the gateway, in both directions."""
    return int(result["forwarded"]) + int(result["answered"])


def _instructions(result: loadgen.Result) -> float:
    return float(result["instructions"]) / packets(result)


def _vcpu_us(result: loadgen.Result) -> float:
    return float(result["vcpu_user"] + result["vcpu_system"]) * 1e6 / packets(result)


def _vcpu_percent(result: loadgen.Result) -> float:
    return float(result["vcpu_user"] + result["vcpu_system"]) * 100 / float(result["seconds"])


def _rate(result: loadgen.Result) -> float:
    return packets(result) / float(result["seconds"])


def _vcpu_rate(result: loadgen.Result) -> float:
    """The rate that the guest could reach with a core of its own; valid also if others use the core."""
    used = float(result["vcpu_user"] + result["vcpu_system"])
    return packets(result) / used if used > 0 else float("nan")


def _per_answer(value: Value) -> Value:
    """DNS: only the answers that clients got count as packets."""
    return lambda r: value(r) * packets(r) / int(r["answered"]) if int(r["answered"]) else float("nan")


def _answer_rate(result: loadgen.Result) -> float:
    return int(result["answered"]) / float(result["seconds"])


@dataclass(frozen=True)
class Measure:
    """One column: the phase that it comes from, and how to read it from the result."""

    key: str
    title: str
    unit: str
    value: Value


@dataclass(frozen=True)
class Phase:
    """One kind of traffic and the figures it gives."""

    name: str
    settings: dict[str, float]
    measures: tuple[Measure, ...]
    scale: float = 1.0  # factor of the pass's seconds
    fill: bool = False  # open every flow first, so that all have sessions

    @property
    def full_load(self) -> bool:
        return "rate" not in self.settings and "once" not in self.settings


def _insn(key: str, title: str) -> tuple[Measure, ...]:
    return (Measure(f"insn_{key}", title, "instructions/packet", _instructions),)


# Full load over sockets: bursts that fit into the guest's receive ring (256 descriptors), with room for the descriptors
# that it has not returned yet. QEMU would drop frames of larger bursts.
FULL: dict[str, float] = {"window": 192}
# Many flows use only 8 servers, so that ports are left for new mappings. New flows have a server and a source port of
# their own, so that each needs a mapping and a session.
MANY: dict[str, float] = {"flows": guest.SESSIONS // 2, "servers": 8}
NEW_FIRST, NEW_FLOWS = 16000, 8000
# As many pairs of hosts as there are flows: 16 clients, each with all servers.
PAIRS: dict[str, float] = {"flows": 2048, "servers": 128}


def count_full_phases() -> list[Phase]:
    """Guest instructions for a packet, in bursts that keep the guest busy; the plugin counts."""
    return [
        Phase("load", FULL, _insn("load", "full load")),
        Phase("load2", FULL | {"answers": 1}, _insn("load2", "answered, full load")),
        Phase(
            "many2",
            FULL | {"answers": 1, "flows": 10000, "random": 1},
            _insn("many2", "answered, full load, 10,000 flows in random order"),
            fill=True,
        ),
    ]


def count_rate_phases() -> list[Phase]:
    """As count_full_phases, with packets that arrive one by one."""
    return [
        Phase("rate", {"rate": 5000}, _insn("rate", "5,000/s")),
        Phase("rate2", {"rate": 5000, "answers": 1}, _insn("rate2", "answered, 5,000/s")),
    ]


def _vcpu(key: str, title: str) -> Measure:
    return Measure(f"vcpu_{key}", title, "vCPU µs/packet", _vcpu_us)


def time_full_phases() -> list[Phase]:
    """Time of the vCPU thread at full load; no plugin."""

    def rate(key: str, title: str) -> Measure:
        return Measure(f"pps_{key}", title, "packets/s", _rate)

    return [
        Phase("load", FULL, (_vcpu("load", "full load"), rate("load", "one way"))),
        Phase(
            "load2",
            FULL | {"answers": 1},
            (_vcpu("load2", "answered, full load"), rate("load2", "answered")),
        ),
    ]


def time_rate_phases() -> list[Phase]:
    """Time of the vCPU thread at fixed rates, and latency; no plugin."""
    median = Measure("rtt_median", "round trip, median", "µs", lambda r: float(r["round_trip_us"]["median"]))
    p99 = Measure("rtt_p99", "round trip, 99 %", "µs", lambda r: float(r["round_trip_us"]["p99"]))
    busy = Measure("rtt_vcpu", "vCPU meanwhile", "%", _vcpu_percent)
    return [
        Phase("rate", {"rate": 5000}, (_vcpu("rate", "5,000/s"),), 2),
        Phase("rate2", {"rate": 5000, "answers": 1}, (_vcpu("rate2", "answered, 5,000/s"),), 2),
        Phase("ping", {"rate": 1000, "answers": 1}, (median, p99, busy), 2),
    ]


def vhost_phases() -> list[Phase]:
    """Packets per second when nothing is emulated between generator and guest."""

    def rate(key: str, title: str) -> tuple[Measure, ...]:
        return (
            Measure(f"vhost_{key}", title, "packets/s", _rate),
            Measure(f"vhostcpu_{key}", title, "packets/s of vCPU time", _vcpu_rate),
        )

    wide: dict[str, float] = {"window": 256}
    ten: dict[str, float] = wide | {"flows": 10000}
    duplex: dict[str, float] = {"both": 1}
    return [
        Phase("one", wide, rate("one", "one way, 16 flows")),
        Phase("both", wide | duplex, rate("both", "both ways at once, 16 flows"), fill=True),
        Phase("echo", wide | {"answers": 1}, rate("echo", "answered, 16 flows")),
        Phase("one10k", ten, rate("one10k", "one way, 10,000 flows in turn"), fill=True),
        Phase("both10k", ten | duplex, rate("both10k", "both ways at once, 10,000 flows in turn"), fill=True),
        Phase(
            "echo100k",
            wide | MANY | {"answers": 1, "random": 1},
            rate("echo100k", "answered, 100,000 flows in random order"),
            fill=True,
        ),
    ]


def count_tunnel_phases() -> list[Phase]:
    """Guest instructions for a tunnel packet in each direction; the plugin counts."""
    return [
        Phase("encap", FULL, _insn("encap", "encapsulate, full load")),
        Phase("decap", FULL | {"back": 1}, _insn("decap", "decapsulate, full load")),
        Phase("tunnel2", FULL | {"answers": 1}, _insn("tunnel2", "answered, full load")),
    ]


def count_xlat_full_phases() -> list[Phase]:
    """Guest instructions for a translated packet in each direction; plain forwarding has the same paths."""
    return [
        Phase("to4", FULL, _insn("to4", "IPv6 to IPv4, full load")),
        Phase("to6", FULL | {"back": 1}, _insn("to6", "IPv4 to IPv6, full load")),
        Phase("xlat2", FULL | {"answers": 1}, _insn("xlat2", "answered, full load")),
        Phase(
            "pairs",
            FULL | PAIRS | {"answers": 1, "random": 1},
            _insn("pairs", "answered, full load, 2,048 pairs of hosts in random order"),
            fill=True,
        ),
    ]


def count_xlat_rate_phases() -> list[Phase]:
    """As count_xlat_full_phases, with packets that arrive one by one."""
    return [
        Phase("to4-rate", {"rate": 5000}, _insn("to4rate", "IPv6 to IPv4, 5,000/s")),
        Phase("to6-rate", {"rate": 5000, "back": 1}, _insn("to6rate", "IPv4 to IPv6, 5,000/s")),
    ]


def time_xlat_phases() -> list[Phase]:
    """Time of the vCPU thread at full load, by direction."""

    def both(key: str, title: str) -> tuple[Measure, ...]:
        return (_vcpu(key, f"{title}, full load"), Measure(f"pps_{key}", title, "packets/s", _rate))

    return [
        Phase("to4", FULL, both("to4", "IPv6 to IPv4")),
        Phase("to6", FULL | {"back": 1}, both("to6", "IPv4 to IPv6")),
    ]


def _vhost_phase(key: str, title: str, fill: bool = False, **settings: float) -> Phase:
    """Packets per second when nothing is emulated between generator and guest."""
    measures = (
        Measure(f"vhost_{key}", title, "packets/s", _rate),
        Measure(f"vhostcpu_{key}", title, "packets/s of vCPU time", _vcpu_rate),
    )
    return Phase(key, {"window": 256, **settings}, measures, fill=fill)


def vhost_tunnel_phases() -> list[Phase]:
    """Tunnel packets per second over vhost-user."""
    return [
        _vhost_phase("encap", "encapsulate"),
        _vhost_phase("decap", "decapsulate", back=1),
        _vhost_phase("tunnel2", "answered", answers=1),
        _vhost_phase("duplex", "both ways at once", both=1),
    ]


def vhost_xlat_phases() -> list[Phase]:
    """Translated packets per second over vhost-user."""
    return [
        _vhost_phase("to4", "IPv6 to IPv4"),
        _vhost_phase("to6", "IPv4 to IPv6", back=1),
        _vhost_phase("xlat2", "answered", answers=1),
        _vhost_phase("xlatduplex", "both ways at once", both=1),
        _vhost_phase("pairs", "answered, 2,048 pairs of hosts in random order", True, answers=1, random=1, **PAIRS),
    ]


# DNS64 servers: either every name is new and has no AAAA record, so that upstream gets two queries; or a thousand names
# in turn, which were queried before.
COLD: dict[str, float] = {"answers": 1, "fresh": 1}
HIT: dict[str, float] = {"answers": 1, "flows": 1000}
# Each query causes two answers of upstream, for which the other card's ring must have room.
NARROW: dict[str, float] = {"window": 96}
OVERLOAD = 10  # times the highest rate
DNS_PEAKS = ("qps_dnscold", "vhost_dnscold")  # the measures, in answers/s, that give the highest rate


def count_dns_phases() -> list[Phase]:
    """Guest instructions for an answer; the plugin counts."""

    def insn(key: str, title: str) -> tuple[Measure, ...]:
        return (Measure(f"insn_dns{key}", title, "instructions/answer", _per_answer(_instructions)),)

    return [
        Phase("cold", NARROW | COLD, insn("cold", "new names, full load"), 2),
        Phase("hit", FULL | HIT, insn("hit", "from the cache, full load"), fill=True),
    ]


def _dns_full(kind: str) -> list[Phase]:
    def both(key: str, title: str) -> tuple[Measure, ...]:
        return (
            Measure(f"{kind}_dns{key}", title, "answers/s", _answer_rate),
            Measure(f"{kind}cpu_dns{key}", title, "vCPU µs/answer", _per_answer(_vcpu_us)),
        )

    return [
        Phase("cold", NARROW | COLD, both("cold", "new names"), 2),
        Phase("hit", FULL | HIT, both("hit", "from the cache"), fill=True),
    ]


def time_dns_phases() -> list[Phase]:
    """Answers a second over sockets, and what they cost the vCPU thread; no plugin."""
    return _dns_full("qps")


def vhost_dns_phases() -> list[Phase]:
    """Answers a second over vhost-user, where nothing is emulated between client, server and upstream."""
    return _dns_full("vhost")


def rate_dns_phases() -> list[Phase]:
    """How long a client waits at low load; no plugin."""

    def wait(key: str, title: str) -> tuple[Measure, ...]:
        return tuple(
            Measure(f"wait{which}_dns{key}", f"{title}, {name}", "µs", lambda r, w=which: float(r["round_trip_us"][w]))
            for which, name in (("median", "median"), ("p99", "99 %"))
        )

    return [
        Phase("rate", COLD | {"rate": 100}, wait("cold", "new names, 100/s"), 4),
        Phase("ratehit", HIT | {"rate": 500}, wait("hit", "from the cache, 500/s"), 2, fill=True),
    ]


@dataclass
class Sample:
    """One figure of one run; `void` is the reason why it does not count, or empty."""

    nic: str
    row: str
    measure: Measure
    run: int
    value: float
    void: str = ""


IDLE_INSN = Measure("idle_insn", "idle", "instructions/s", lambda r: 0.0)
IDLE_VCPU = Measure("idle_vcpu", "vCPU idle", "%", _vcpu_percent)
READY = Measure("ready", "ready, by the guest's clock", "ms", lambda r: 0.0)
READY_WALL = Measure("ready_wall", "QEMU's start to ready", "ms", lambda r: 0.0)
NEW_INSN = Measure("insn_new", "first packet of a new flow, table half full", "instructions/packet", _instructions)
DNS_OVERLOAD = Measure("over_dns", f"answered at {OVERLOAD} times the load, of the highest rate", "%", lambda r: 0.0)
DNS_OFFERED = Measure("offered_dns", "questions that came in then", "questions/s", lambda r: 0.0)
DNS_MEMORY = Measure("memory_dns", "memory of its tables, or of its process", "KB", lambda r: 0.0)
NEW_RATE = Measure("vhost_new", "new flows, table half full", "new flows/s", _rate)


@dataclass
class Session:
    """A guest with its hosts, ready to be measured."""

    guest: guest.Guest
    load: loadgen.LoadGen
    nic: str
    samples: list[Sample] = field(default_factory=list)
    void: str = ""

    def _note(self, measure: Measure, run: int, value: float, void: str = "") -> None:
        self.samples.append(Sample(self.nic, self.guest.row.name, measure, run, value, void))

    def measure_starts(self, runs: int) -> None:
        """Starts and ends the guest, all runs but the last one, which start() notes."""
        for run in range(1, runs):
            once = self.guest.another()
            try:
                once.start()
                self._note_start(once, run)
            finally:
                once.stop()

    def _note_start(self, started: guest.Guest, run: int) -> None:
        self._note(READY, run, started.ready_ms)
        self._note(READY_WALL, run, started.wall_ms)

    def start(self) -> None:
        self.guest.start()
        assert self.guest.process is not None
        self.load.tell(f"vcpu {self.guest.process.pid} {self.guest.vcpu}")
        if self.guest.setup.plugin is not None:
            if not self.load.tell(f"meter {self.guest.counter}")["meter"]:
                raise loadgen.LoadError(f"{self.guest.row.name}: no instruction counter")
        elif self.guest.setup.backend == "dgram":
            self._note_start(self.guest, 0)

    def settle(self) -> None:
        """Learns the gateway's MAC addresses and sends a few packets through every host."""
        if not self.load.tell("resolve 20")["resolved"]:
            raise loadgen.LoadError(f"{self.guest.row.name}: the gateway answers no ARP")
        self.load.run(seconds=1, rate=500, answers=1)
        # Linux joins multicast groups while its IPv6 starts, and each time it receives nothing for a second.
        good = 0 if self.guest.row.path == "dns" else 3
        for _ in range(15):
            if good == 3:
                break
            good = good + 1 if self.load.run(seconds=1, rate=100, answers=1)["answered"] >= 95 else 0

    def _touch(self, servers: float) -> None:
        """Sends a few packets through every host before a burst, so that no gateway needs ARP during it."""
        self.load.run(seconds=0.3, rate=1000, answers=1, flows=16 * servers, servers=servers)

    def measure_idle(self, run: int, seconds: float) -> None:
        result = self.load.tell(f"idle {seconds}", seconds + 10)
        if self.guest.setup.plugin is not None:
            rate = float(result["instructions"]) / float(result["seconds"])
            self._note(IDLE_INSN, run, rate)
            if rate > IDLE_INSTRUCTIONS:
                self.void = f"spins when idle ({rate / 1e6:.1f} M instructions/s)"
        else:
            self._note(IDLE_VCPU, run, _vcpu_percent(result))

    def measure(self, phase: Phase, run: int, seconds: float) -> None:
        if phase.fill:
            known = {k: v for k, v in phase.settings.items() if k in ("flows", "servers", "window")}
            self._touch(known.get("servers", 1))
            self.load.run(seconds=60, answers=1, once=1, **known)
        result = self.load.run(seconds=seconds * phase.scale, warm=min(0.5, seconds / 4), **phase.settings)
        void = self.void or judge(phase, result)
        if self.guest.setup.plugin is not None and not void and not result["instructions"]:
            void = "no instructions were counted"
        for measure in phase.measures:
            value = measure.value(result) if packets(result) else float("nan")
            self._note(measure, run, value, void)
        if void and not self.void:
            print(f"bench: {self.guest.row.name}/{phase.name}: {void}", file=sys.stderr)

    def fill(self) -> int:
        """Fills half of the table; gives the number of flows without an answer."""
        self._touch(MANY["servers"])
        fill = self.load.run(seconds=180, answers=1, once=1, **(FULL | MANY))
        return int(MANY["flows"]) - int(fill["answered"])

    def first_packets(self, run: int) -> loadgen.Result:
        """Sends the first packets of flows that no earlier run has had."""
        self._touch(1)
        return self.load.run(seconds=20, first=NEW_FIRST + run * NEW_FLOWS, flows=NEW_FLOWS, once=1, **FULL)

    def measure_new(self, runs: int) -> None:
        """The first packet of a new flow, with half of the table in use."""
        measure = NEW_INSN if self.guest.setup.plugin is not None else NEW_RATE
        missing = self.fill()
        for run in range(min(runs, 5)):  # more runs would need more source ports than there are
            result = self.first_packets(run)
            void = self.void
            if missing > MANY["flows"] // 100:
                void = void or f"the table did not fill ({missing} of {MANY['flows']} missing)"
            if packets(result) < NEW_FLOWS * 0.99:
                void = void or f"{NEW_FLOWS - packets(result)} of {NEW_FLOWS} new flows lost"
            self._note(measure, run, measure.value(result) if packets(result) else 0, void)

    def measure_overload(self, runs: int, seconds: float) -> None:
        """DNS: ten times the queries that it can answer; counts its answers then, without errors."""
        peak = peak_rate(self.samples)
        if peak is None:
            return
        for run in range(runs):
            result = self.load.run(seconds=seconds * 2, warm=1, rate=peak * OVERLOAD, **COLD)
            void = self.void or (f"{result['bad']} wrong packets" if result["bad"] else "")
            self._note(DNS_OVERLOAD, run, _answer_rate(result) / peak * 100, void)
            self._note(DNS_OFFERED, run, int(result["sent"]) / float(result["seconds"]), void)
            time.sleep(3)  # pending queries are answered, or time out
            self._measure_memory(run)

    def _measure_memory(self, run: int) -> None:
        """DNS: the size of all tables, by our log; for Linux the maximum memory of the server's process."""
        linux = self.guest.row.linux
        for line in self.guest.console("memory" if linux else "log"):
            found = re.search(r"memory (\d+) kB" if linux else r"its tables use (\d+) KB", line)
            if found:
                self._note(DNS_MEMORY, run, float(found[1]))

    def drops(self) -> list[str]:
        """Our own counters of dropped packets, those that are not 0."""
        if self.guest.row.linux:
            return []
        lines = [line.strip("> \r") for line in self.guest.console("stats")]
        return [line for line in lines if line.startswith("drop{") and not line.endswith(" 0")]

    def stop(self) -> None:
        self.load.stop()
        self.guest.stop()


def peak_rate(samples: list[Sample]) -> float | None:
    """The highest rate of answers to new names, in answers a second; None if no valid run measured it."""
    rates = [s.value for s in samples if s.measure.key in DNS_PEAKS and not s.void and s.value == s.value]
    return statistics.median(rates) if rates else None


def judge(phase: Phase, result: loadgen.Result) -> str:
    """Why a result does not count; empty if it does."""
    sent, lost = int(result["sent"]), int(result["lost"])
    if result["bad"]:
        return f"{result['bad']} wrong packets ({result['complaint']})"
    if packets(result) == 0 or ("failed" in result and int(result["answered"]) == 0):
        return "nothing came through"
    if int(result.get("failed", 0)) > max(5, sent // 1000):
        return f"{result['failed']} of {sent} questions answered with an error"
    if lost > max(5, sent // 1000):
        return f"{lost} of {sent} packets lost"
    if phase.full_load and int(result["empty"]) > sent * EMPTY_SHARE:
        return f"the queue ran empty {result['empty']} times in {sent} packets"
    return ""


@dataclass
class Pass:
    """Guests side by side, and the phases that all of them run."""

    setup: guest.Setup
    rows: list[guest.Row]
    phases: list[Phase]
    runs: int
    seconds: float
    nic: str
    new_flows: tuple[str, ...] = ()  # of the rows with these paths
    start: bool = True
    overload: bool = False
    drops: list[str] = field(default_factory=list)

    def execute(self, folder: Path, generator: Path) -> tuple[list[Sample], dict[str, str]]:
        """Runs all phases; a guest that fails is reported and left out."""
        sessions: list[Session] = []
        failures: dict[str, str] = {}
        try:
            for row in self.rows:
                self._start(row, folder, generator, sessions, failures)
            time.sleep(3)  # QEMU's e1000 receives nothing for a second after a write to RCTL
            alive = [s for s in sessions if self._try(s, s.settle, failures)]
            if self.start:
                alive = self._rest(alive, failures)
            for run in range(self.runs):
                self._round(alive, run, failures)
            for session in [one for one in alive if one.guest.row.path in self.new_flows]:
                print(f"bench: {self.nic} {session.guest.row.name}: new flows", file=sys.stderr)
                self._try(session, functools.partial(session.measure_new, self.runs), failures)
            for session in alive if self.overload else []:
                print(f"bench: {self.nic} {session.guest.row.name}: overload", file=sys.stderr)
                self._try(session, functools.partial(session.measure_overload, self.runs, self.seconds), failures)
            for session in alive:
                self.drops += [f"{self.nic}, {session.guest.row.title}: {text}" for text in session.drops()]
        finally:
            for session in sessions:
                session.stop()
        return [sample for s in sessions for sample in s.samples], failures

    def _rest(self, sessions: list[Session], failures: dict[str, str]) -> list[Session]:
        """Measures all guests at once while nothing comes, before any load: they cost each other nothing then. Gives
        those that did not fail."""
        time.sleep(SETTLE_S)

        def all_runs(one: Session) -> None:
            for run in range(self.runs):
                one.measure_idle(run, min(4.0, self.seconds * 2))

        def measured(one: Session) -> bool:
            return self._try(one, lambda: all_runs(one), failures)

        with ThreadPoolExecutor(max(1, len(sessions))) as together:
            good = list(together.map(measured, sessions))
        return [one for one, well in zip(sessions, good, strict=True) if well]

    def _start(
        self,
        row: guest.Row,
        folder: Path,
        generator: Path,
        sessions: list[Session],
        failures: dict[str, str],
    ) -> None:
        print(f"bench: {self.nic} {row.name}: starting", file=sys.stderr)
        target = guest.Guest(row, self.setup, folder)
        session = Session(target, loadgen.LoadGen(generator, target), self.nic)
        sessions.append(session)
        again = self.setup.backend == "dgram" and self.setup.plugin is None and not row.linux
        ready = not again or self._try(session, functools.partial(session.measure_starts, self.runs), failures)
        if not ready or not self._try(session, session.start, failures):
            sessions.remove(session)
            session.stop()

    def _round(self, alive: list[Session], run: int, failures: dict[str, str]) -> None:
        for phase in self.phases:
            print(f"bench: {self.nic} run {run + 1}/{self.runs} {phase.name}", file=sys.stderr)
            for session in list(alive):
                step = functools.partial(session.measure, phase, run, self.seconds)
                if not self._try(session, step, failures):
                    alive.remove(session)

    def _try(self, session: Session, step: Callable[[], None], failures: dict[str, str]) -> bool:
        try:
            step()
        except (guest.GuestError, loadgen.LoadError, OSError) as error:
            text = f"{self.nic} {session.guest.row.name}: {error}"
            tail = "\n".join(session.guest.lines[-6:])
            print(f"bench: {text}\n{tail}", file=sys.stderr)
            failures[f"{self.nic} {session.guest.row.name}"] = str(error).splitlines()[0]
            return False
        return True
