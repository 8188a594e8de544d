# SPDX-License-Identifier: BSD-2-Clause
"""The targets, each with the measured figures and a verdict, which is computed only here."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cards


@dataclass(frozen=True)
class Figure:
    """The median of the valid runs, and how many these are."""

    value: float
    runs: int


# Samples are read only through this: NIC, row, measure -> figure, or None if no run is valid.
Read = Callable[[str, str, str], Figure | None]

LEAST_RUNS = 3  # valid runs that a verdict needs
BAD_PATH_SHARE = 0.9  # of Linux's rate: a path loses other packets in each run

MASQUERADE, FLOWTABLE, SIT = "linux-nat", "linux-flowtable", "linux-sit"
TAYGA, ROUTE, NAT64 = "linux-tayga", "linux-route", "linux-nat64"
UNBOUND, BIND, PDNS = "linux-unbound", "linux-bind", "linux-pdns"
E1000, VIRTIO = "e1000", "virtio-net-pci"
VHOST = f"{VIRTIO}, vhost-user"
OTHER_CARDS = tuple(nic for nic in cards.FOLDERS if nic not in (E1000, VIRTIO))
BULK_WAYS = {"up": "LAN to WAN", "down": "WAN to LAN", "both": "both ways at once"}


def loadable_bytes(image: Path) -> int:
    """The sum of the PT_LOAD segments in memory, zeroed part included (32-bit ELF)."""
    data = image.read_bytes()
    table, size, count = struct.unpack_from("<28xI10x2H", data)
    total = 0
    for number in range(count):
        kind, _, _, _, _, in_memory = struct.unpack_from("<6I", data, table + number * size)
        total += in_memory if kind == 1 else 0
    return total


@dataclass(frozen=True)
class Line:
    """One row of the summary; a dash stands for what was not measured or has no meaning."""

    what: str
    target: str
    ours: str
    peer: str
    ratio: str
    verdict: str

    def cells(self) -> list[str]:
        return [self.what, self.target, self.ours, self.peer, self.ratio, self.verdict]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _text(figure: Figure | None) -> str:
    return "–" if figure is None else _number(figure.value)


def _verdict(good: bool, *figures: Figure) -> str:
    """The verdict on what follows from these figures."""
    if min(figure.runs for figure in figures) < LEAST_RUNS:
        return "too few valid runs"
    return "met" if good else "**missed**"


class Summary:
    """Builds the lines from the figures."""

    def __init__(self, read: Read) -> None:
        self.read = read
        self.lines: list[Line] = []

    def _open(self, what: str, target: str, ours: Figure | None, peer: Figure | None = None) -> None:
        """A target for which figures are missing."""
        self.lines.append(Line(what, target, _text(ours), _text(peer), "–", "not measured"))

    def _limit(self, what: str, nic: str, row: str, key: str, most: float, unit: str = "", peer: str = "") -> None:
        """Our figure must be at most `most`; that of `peer` is shown beside it."""
        ours = self.read(nic, row, key)
        theirs = self.read(nic, peer, key) if peer else None
        target = f"<= {most:,g}{unit}"
        if ours is None:
            self._open(what, target, ours, theirs)
            return
        ratio = f"1/{theirs.value / ours.value:.1f}" if theirs and ours.value > 0 else "–"
        verdict = _verdict(ours.value <= most, ours)
        self.lines.append(Line(what, target, _text(ours), _text(theirs), ratio, verdict))

    def _share(self, what: str, nic: str, key: str, peer: str, parts: float, row: str = "nat") -> None:
        """Our figure must be at most 1/parts of the peer's."""
        ours, theirs = self.read(nic, row, key), self.read(nic, peer, key)
        target = f"<= 1/{parts:g} of {_short(peer)}"
        if not ours or not theirs or ours.value <= 0:
            self._open(what, target, ours, theirs)
            return
        ratio = f"1/{theirs.value / ours.value:.1f}"
        verdict = _verdict(ours.value * parts <= theirs.value, ours, theirs)
        self.lines.append(Line(what, target, _text(ours), _text(theirs), ratio, verdict))

    def _share_above_floor(self, what: str, nic: str, key: str, peer: str, parts: float) -> None:
        """What our figure is above the floor must be at most 1/parts of what the peer's is. At or below the floor the
        emulated card hides the difference: then there is no ratio and no verdict."""
        figures = self.read(nic, "nat", key), self.read(nic, peer, key), self.read(nic, "wire", key)
        ours, theirs, floor = figures
        target = f"<= 1/{parts:g} of {_short(peer)} above the floor"
        if not ours or not theirs or not floor:
            self._open(what, target, ours, theirs)
            return
        mine, other = ours.value - floor.value, theirs.value - floor.value
        ratio, verdict = "–", "below the floor"
        if mine > 0:
            ratio = f"1/{other / mine:.1f}"
            verdict = _verdict(mine * parts <= other, ours, theirs, floor)
        shown = f"{_text(ours)} (floor {_text(floor)})"
        self.lines.append(Line(what, target, shown, _text(theirs), ratio, verdict))

    def _times(
        self, what: str, nic: str, key: str, peer: str, factor: float, row: str = "nat", aim: str = ""
    ) -> None:
        """Our figure must be at least `factor` times the peer's; the aim is only shown."""
        ours, theirs = self.read(nic, row, key), self.read(nic, peer, key)
        target = f">= {factor:g} x {_short(peer)}{aim}"
        if not ours or not theirs or not theirs.value:
            self._open(what, target, ours, theirs)
            return
        verdict = _verdict(ours.value >= factor * theirs.value, ours, theirs)
        ratio = f"{ours.value / theirs.value:.2f} x"
        if key.startswith("vhost_"):
            ratio += self._by_time(nic, row, peer, key.replace("vhost_", "vhostcpu_"))
        self.lines.append(Line(what, target, _text(ours), _text(theirs), ratio, verdict))

    def _by_time(self, nic: str, row: str, peer: str, key: str) -> str:
        ours, theirs = self.read(nic, row, key), self.read(nic, peer, key)
        return f" ({ours.value / theirs.value:.2f} x by vCPU time)" if ours and theirs and theirs.value else ""

    def _printed(self, what: str, nic: str, key: str, peer: str, row: str = "nat") -> None:
        """Both figures; there is no target."""
        ours, theirs = self.read(nic, row, key), self.read(nic, peer, key)
        ratio = f"{ours.value / theirs.value:.2f} x" if ours and theirs and theirs.value else "–"
        self.lines.append(Line(what, "printed", _text(ours), _text(theirs), ratio, "–"))

    def _instructions(self) -> None:
        what = "instructions/packet, e1000, full load"
        self._limit(f"wire, {what}, one way", E1000, "wire", "insn_load", 100)
        self._limit(f"wire, {what}, answered", E1000, "wire", "insn_load2", 100)
        self._limit(f"nat, {what}, answered", E1000, "nat", "insn_load2", 380)
        for peer, parts in ((MASQUERADE, 12), (FLOWTABLE, 7)):
            self._share(f"nat, {what}, answered", E1000, "insn_load2", peer, parts)

    def _vhost(self) -> None:
        for key, what, factor in (
            ("one", "one way, 16 flows", 12),
            ("one10k", "one way, 10,000 flows", 12),
            ("both", "both ways at once, 16 flows", 12),
            ("both10k", "both ways at once, 10,000 flows", 40),
        ):
            self._times(f"nat, packets/s over vhost-user, {what}", VHOST, f"vhost_{key}", MASQUERADE, factor)
        what = "nat, packets/s over vhost-user, 100,000 flows in random order"
        few, many = self.read(VHOST, "nat", "vhost_echo"), self.read(VHOST, "nat", "vhost_echo100k")
        target = "at most 30 % below 16 flows"
        if few is None or many is None or not few.value:
            self._open(what, target, many)
        else:
            cells = f"{_text(many)} ({_text(few)} with 16)", self._linux_loss(), f"{_change(many, few):+.0f} %"
            self.lines.append(Line(what, target, *cells, _verdict(many.value >= few.value * 0.7, few, many)))

    def _linux_loss(self) -> str:
        few, many = (self.read(VHOST, MASQUERADE, key) for key in ("vhost_echo", "vhost_echo100k"))
        if not few or not many or not few.value:
            return "–"
        return f"{_text(many)} ({_text(few)} with 16, {_change(many, few):+.0f} %)"

    def _time(self) -> None:
        for key, what, parts in (
            ("vcpu_load", "full load, one way", 8),
            ("vcpu_load2", "full load, answered", 8),
            ("vcpu_rate", "5,000/s, one way", 3),
            ("vcpu_rate2", "5,000/s, answered", 3),
        ):
            self._share_above_floor(f"nat, vCPU µs/packet, e1000, {what}", E1000, key, MASQUERADE, parts)
        what = "nat, round trip at 1,000/s, e1000"
        self._share_above_floor(f"{what}, median µs", E1000, "rtt_median", MASQUERADE, 3)
        self._printed(f"{what}, 99 % µs", E1000, "rtt_p99", MASQUERADE)

    def _idle(self) -> None:
        self._limit("nat, idle, vCPU, e1000", E1000, "nat", "idle_vcpu", 2, " %", MASQUERADE)
        for nic in (E1000, VIRTIO):
            self._limit(f"nat, idle, instructions/s, {nic}", nic, "nat", "idle_insn", 20_000, "", MASQUERADE)
        for row, peer in (("6to4", SIT), ("ivi", TAYGA), ("nat64", NAT64), ("dns64", UNBOUND)):
            self._limit(f"{row}, idle, instructions/s, e1000", E1000, row, "idle_insn", 20_000, "", peer)

    def _new_flows(self) -> None:
        what = "nat, first packet of a new flow, instructions, e1000"
        self._limit(what, E1000, "nat", "insn_new", 1800)
        self._share(what, E1000, "insn_new", MASQUERADE, 5)
        self._times("nat, new flows/s over vhost-user", VHOST, "vhost_new", MASQUERADE, 5)

    def _best(self, nic: str, key: str, lowest: bool = False) -> str:
        """Linux's better way of a NAT."""
        found = {p: f.value for p in (MASQUERADE, FLOWTABLE) if (f := self.read(nic, p, key)) is not None}
        order = min if lowest else max
        return order(found, key=lambda name: found[name]) if found else MASQUERADE

    def _bulk(self) -> None:
        for nic in (E1000, VIRTIO, f"{VIRTIO}, offloads on"):
            for streams, count in (("", "one connection"), ("8", "eight connections")):
                for way, words in BULK_WAYS.items():
                    key, what = f"bulk_{way}{streams}", f"iperf3 TCP, {nic}, {count}, {words}"
                    aim = ", aim 1.3" if nic.endswith("on") else ""
                    self._times(f"nat, {what}, Mbit/s", nic, key, self._best(nic, key), 1, aim=aim)
                    if nic.endswith("on"):
                        self._printed(f"nat64, {what}, Mbit/s", nic, key, NAT64, "nat64")
                        self._times(f"ivi, {what}, Mbit/s", nic, key, ROUTE, 0.8, row="ivi")
                        self._times(f"6to4, a pair, {what}, Mbit/s", nic, key, SIT, 1, row="6to4")
                        key = f"bulkcpu_{way}{streams}"
                        best = self._best(nic, key, lowest=True)
                        self._share(f"nat, {what}, vCPU s/GB", nic, key, best, 2)
        nic = f"{VIRTIO}, offloads on"
        for key, words in (("bulk_loss", "1 % lost behind"), ("bulk_late", "5 % overtaken behind")):
            what = f"iperf3 TCP, {nic}, one connection, LAN to WAN, {words}, Mbit/s"
            self._times(f"nat, {what}", nic, key, self._best(nic, key), BAD_PATH_SHARE)
            self._times(f"ivi, {what}", nic, key, ROUTE, BAD_PATH_SHARE, row="ivi")

    def _bulk_of_cards(self) -> None:
        """The NAT on each further model of card: the way in which it is least far ahead of Linux, or most behind."""
        for nic in OTHER_CARDS:
            found: list[tuple[float, str, str]] = []
            for streams, count in (("", "one connection"), ("8", "eight connections")):
                for way, words in BULK_WAYS.items():
                    key = f"bulk_{way}{streams}"
                    ours, theirs = self.read(nic, "nat", key), self.read(nic, self._best(nic, key), key)
                    if ours and theirs:
                        found.append((ours.value / theirs.value, key, f"{count}, {words}"))
            what = f"nat, iperf3 TCP, {nic}, Mbit/s"
            if len(found) < 2 * len(BULK_WAYS):
                self._open(what, ">= 1 x Linux in each way", None)
                continue
            _, key, words = min(found)
            self._times(f"{what}, worst way ({words})", nic, key, self._best(nic, key), 1)

    def _tunnel(self) -> None:
        """6to4 with its NAT on, which is the usual configuration; without it the costs may be a little lower."""
        for key, way in (("encap", "encapsulate"), ("decap", "decapsulate")):
            what = f"6to4, {way}, instructions/packet, e1000, full load"
            self._limit(what, E1000, "6to4", f"insn_{key}", 380)
            self._share(what, E1000, f"insn_{key}", SIT, 12, row="6to4")
            on, off = (self.read(E1000, row, f"insn_{key}") for row in ("6to4", "6to4-nonat"))
            what, target = f"6to4, {way}, its NAT on against off, e1000", "at most 3 % more"
            if not on or not off or not off.value:
                self._open(what, target, on)
                continue
            cells = f"{_text(on)} ({_text(off)} off)", "–", f"{_change(on, off):+.1f} %"
            self.lines.append(Line(what, target, *cells, _verdict(_change(on, off) <= 3, on, off)))
        for key, what in (
            ("encap", "encapsulate"),
            ("decap", "decapsulate"),
            ("tunnel2", "answered"),
            ("duplex", "both ways at once"),
        ):
            self._times(f"6to4, packets/s over vhost-user, {what}", VHOST, f"vhost_{key}", SIT, 12, row="6to4")

    def _translation(self) -> None:
        for key, way in (("to4", "IPv6 to IPv4"), ("to6", "IPv4 to IPv6")):
            self._limit(f"ivi, {way}, instructions/packet, e1000, full load", E1000, "ivi", f"insn_{key}", 300)
        for key, way in (("to4", "IPv6 to IPv4"), ("to6", "IPv4 to IPv6"), ("xlat2", "answered")):
            for peer, factor in ((ROUTE, 8), (TAYGA, 30)):
                what = f"ivi, packets/s over vhost-user, {way}"
                self._times(what, VHOST, f"vhost_{key}", peer, factor, row="ivi")

    def _nat64(self) -> None:
        what = "nat64, answered, instructions/packet, e1000, full load"
        self._limit(what, E1000, "nat64", "insn_xlat2", 500, "", NAT64)
        for key, way in (("to4", "IPv6 to IPv4"), ("to6", "IPv4 to IPv6"), ("xlat2", "answered")):
            for peer, factor in ((NAT64, 40), (ROUTE, 25)):
                what = f"nat64, packets/s over vhost-user, {way}"
                self._times(what, VHOST, f"vhost_{key}", peer, factor, row="nat64")
        self._printed("nat64, first packet of a new flow, instructions, e1000", E1000, "insn_new", NAT64, "nat64")
        self._times("nat64, new flows/s over vhost-user", VHOST, "vhost_new", NAT64, 20, row="nat64")

    def _dns64(self) -> None:
        for key, what in (("cold", "new names"), ("hit", "from the cache")):
            label, measure = f"dns64, {what}, instructions/answer, e1000", f"insn_dns{key}"
            self._share(label, E1000, measure, UNBOUND, 20, row="dns64")
        for measure, what, parts in (
            ("insn_tcphit", "long-lived connections", 10),
            ("insn_tcpnew", "a new connection each", 5),
        ):
            label = f"dns64, from the cache over TCP, {what}, instructions/answer, e1000"
            self._share(label, E1000, measure, UNBOUND, parts, row="dns64")
        for peer, factor in ((UNBOUND, 8), (BIND, 15), (PDNS, 15)):
            what = "dns64, new names, answers/s over e1000 sockets"
            self._times(what, E1000, "qps_dnscold", peer, factor, row="dns64")
        what = "dns64, from the cache, answers/s over e1000 sockets"
        self._times(what, E1000, "qps_dnshit", UNBOUND, 1, row="dns64")
        for key, what in (("cold", "new names"), ("hit", "from the cache")):
            label, measure = f"dns64, {what}, median wait µs, e1000", f"waitmedian_dns{key}"
            self._share(label, E1000, measure, UNBOUND, 2, row="dns64")
            self._printed(f"dns64, {what}, answers/s over vhost-user", VHOST, f"vhost_dns{key}", UNBOUND, "dns64")
        for nic, where in ((E1000, "e1000 sockets"), (VHOST, "vhost-user")):
            what = f"dns64, ten times the load, % of the highest rate, {where}"
            ours, theirs = (self.read(nic, row, "over_dns") for row in ("dns64", UNBOUND))
            if ours is None:
                self._open(what, ">= 95", ours, theirs)
            else:
                self.lines.append(
                    Line(what, ">= 95", _text(ours), _text(theirs), "–", _verdict(ours.value >= 95, ours))
                )
        what = "dns64, memory of all tables, KB"
        self._limit(what, E1000, "dns64", "memory_dns", 16 * 1024, "", UNBOUND)

    def _cards(self) -> None:
        """What six further cards without traffic cost a packet of a known flow."""
        for key, way in (("load", "one way"), ("load2", "answered")):
            what, target = f"nat, eight cards, instructions/packet, e1000, full load, {way}", "at most 10 more"
            two, eight = (self.read(E1000, row, f"insn_{key}") for row in ("nat", "nat8"))
            if not two or not eight:
                self._open(what, target, eight)
                continue
            more = eight.value - two.value
            cells = f"{_text(eight)} ({_text(two)} with two)", "–", f"{more:+.0f}"
            self.lines.append(Line(what, target, *cells, _verdict(more <= 10, two, eight)))

    def _start(self, image: Path) -> None:
        for row in ("wire", "nat", "6to4", "ivi", "nat64", "dns64"):
            self._limit(f"{row}, entry to ready, e1000", E1000, row, "ready", 50, " ms")
        if image.exists():
            size, limit = loadable_bytes(image) / 1024, 256
            cells = f"{size:.0f}", "–", "–", "met" if size < limit else "**missed**"
            self.lines.append(Line("size in memory (PT_LOAD), KB", f"< {limit}", *cells))

    def build(self, image: Path) -> list[Line]:
        self._instructions()
        self._cards()
        self._vhost()
        self._time()
        self._idle()
        self._new_flows()
        self._bulk()
        self._bulk_of_cards()
        self._tunnel()
        self._translation()
        self._nat64()
        self._dns64()
        self._start(image)
        return self.lines


def _change(to: Figure, since: Figure) -> float:
    """In percent."""
    return (to.value / since.value - 1) * 100


def _short(peer: str) -> str:
    names = {MASQUERADE: "masquerade", FLOWTABLE: "flowtable", SIT: "sit", TAYGA: "tayga", ROUTE: "plain forwarding"}
    names |= {NAT64: "tayga and masquerade"}
    return (names | {UNBOUND: "unbound", BIND: "BIND", PDNS: "PowerDNS"})[peer]


# The figures of the README: what, NIC, row, measure, unit, peers.
KEY_FIGURES = (
    ("NAT, packet of a known flow", E1000, "nat", "insn_load2", "instructions", (MASQUERADE, FLOWTABLE)),
    ("6to4, packet into the tunnel", E1000, "6to4", "insn_encap", "instructions", (SIT,)),
    ("IVI, IPv6 to IPv4", E1000, "ivi", "insn_to4", "instructions", (TAYGA,)),
    ("DNS64, name in the cache", E1000, "dns64", "insn_dnshit", "instructions", (UNBOUND,)),
    ("NAT, bulk TCP", f"{VIRTIO}, offloads on", "nat", "bulk_up", "Mbit/s", (MASQUERADE, FLOWTABLE)),
)


def key_figures(read: Read) -> str:
    """The figures that matter most, as a Markdown table; empty when one of them was not measured."""
    lines = ["| | unit | Baregate | Linux |", "| --- | --- | --- | --- |"]
    for what, nic, row, key, unit, peers in KEY_FIGURES:
        ours, theirs = read(nic, row, key), [(peer, read(nic, peer, key)) for peer in peers]
        if ours is None or any(figure is None for _, figure in theirs):
            return ""
        others = "; ".join(f"{_short(peer)} {_text(figure)}" for peer, figure in theirs)
        lines.append(f"| {what} | {unit} | {_text(ours)} | {others} |")
    return "\n".join(lines) + "\n"


BY_TIME = """Over vhost-user the Linux guest does not use all of its vCPU. It waits for interrupts, which reach it
without MSI there (QEMU does not start with both). So the ratio by packets/s of vCPU time stands beside that by rate.
The verdict is by rate. A verdict needs {least} valid runs of both guests. `below the floor`: ours was not above the
floor. Then the difference is smaller than what the emulated card costs, and there is no ratio.
"""


def table(read: Read, image: Path) -> str:
    """The summary as a Markdown table, with what the verdicts mean."""
    head = ["what", "target", "Baregate", "Linux", "ratio", "verdict"]
    rows = [head, ["---"] * len(head), *[line.cells() for line in Summary(read).build(image)]]
    grid = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return f"{grid}\n\n{BY_TIME.format(least=LEAST_RUNS)}"
