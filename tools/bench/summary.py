# SPDX-License-Identifier: BSD-2-Clause
"""The targets, each with the measured figures and a verdict, which is computed only here."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# Samples are read only through this: NIC, row, measure -> median or None.
Median = Callable[[str, str, str], float | None]

MASQUERADE, FLOWTABLE, SIT = "linux-nat", "linux-flowtable", "linux-sit"
TAYGA, ROUTE = "linux-tayga", "linux-route"
UNBOUND, BIND, PDNS = "linux-unbound", "linux-bind", "linux-pdns"
E1000, VIRTIO = "e1000", "virtio-net-pci"
VHOST = f"{VIRTIO}, vhost-user"


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
    """One row of the summary; numbers are medians, None if nothing valid was measured."""

    what: str
    target: str
    ours: str
    peer: str
    ratio: str
    verdict: str

    def cells(self) -> list[str]:
        return [self.what, self.target, self.ours, self.peer, self.ratio, self.verdict]


def _text(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _verdict(good: bool | None) -> str:
    return "not measured" if good is None else ("met" if good else "**missed**")


def _least(what: str, ours: float | None, limit: float) -> Line:
    """An absolute upper limit."""
    good = None if ours is None else ours <= limit
    return Line(what, f"<= {limit:,g}", _text(ours), "–", "–", _verdict(good))


class Summary:
    """Builds the lines from the medians."""

    def __init__(self, median: Median) -> None:
        self.median = median
        self.lines: list[Line] = []

    def _share(
        self, what: str, nic: str, key: str, peer: str, parts: int, floor: bool = False, row: str = "nat"
    ) -> None:
        """Our figure must be at most 1/parts of the peer's; with `floor` the floor is subtracted from both."""
        ours, theirs = self.median(nic, row, key), self.median(nic, peer, key)
        base = self.median(nic, "wire", key) if floor else 0.0
        target = f"<= 1/{parts} of {_short(peer)}" + (" above the floor" if floor else "")
        if ours is None or theirs is None or base is None:
            self.lines.append(Line(what, target, _text(ours), _text(theirs), "–", _verdict(None)))
            return
        mine, other = ours - base, theirs - base
        ratio = f"1/{other / mine:.1f}" if mine > 0 else "below the floor"
        good = mine * parts <= other
        note = f" (floor {_text(base)})" if floor else ""
        self.lines.append(Line(what, target, _text(ours) + note, _text(theirs), ratio, _verdict(good)))

    def _times(self, what: str, nic: str, key: str, peer: str, factor: float, row: str = "nat") -> None:
        """Our figure must be at least `factor` times the peer's."""
        ours, theirs = self.median(nic, row, key), self.median(nic, peer, key)
        target = f">= {factor:g} x {_short(peer)}" if factor != 1 else f"> {_short(peer)}"
        if ours is None or not theirs:
            self.lines.append(Line(what, target, _text(ours), _text(theirs), "–", _verdict(None)))
            return
        good = ours >= factor * theirs if factor != 1 else ours > theirs
        self.lines.append(Line(what, target, _text(ours), _text(theirs), f"{ours / theirs:.2f} x", _verdict(good)))

    def _instructions(self) -> None:
        key, what = "insn_load2", "instructions/packet, e1000, full load"
        self.lines += [
            _least(f"wire, {what}, one way", self.median(E1000, "wire", "insn_load"), 100),
            _least(f"wire, {what}, answered", self.median(E1000, "wire", key), 100),
            _least(f"nat, {what}, answered", self.median(E1000, "nat", key), 500),
        ]
        for peer, parts in ((MASQUERADE, 12), (FLOWTABLE, 7)):
            self._share(f"nat, {what}, answered", E1000, key, peer, parts)

    def _vhost(self) -> None:
        for key, what in (
            ("one", "one way, 16 flows"),
            ("one10k", "one way, 10,000 flows"),
            ("both", "both ways at once, 16 flows"),
            ("both10k", "both ways at once, 10,000 flows"),
        ):
            self._times(f"packets/s over vhost-user, {what}", VHOST, f"vhost_{key}", MASQUERADE, 12)
        few, many = self.median(VHOST, "nat", "vhost_echo"), self.median(VHOST, "nat", "vhost_echo100k")
        what, target = "packets/s over vhost-user, 100,000 flows in random order", "at most 40 % under 16 flows"
        if few is None or many is None:
            self.lines.append(Line(what, target, _text(many), "–", "–", _verdict(None)))
        else:
            cells = _text(many), f"{_text(few)} (16 flows)", f"{(many / few - 1) * 100:+.0f} %"
            self.lines.append(Line(what, target, *cells, _verdict(many >= few * 0.6)))
        self._linux_losses()

    def _linux_losses(self) -> None:
        """Linux's own loss with many flows, for comparison; it has no target."""
        for key, base, what in (
            ("vhost_one10k", "vhost_one", "10,000 flows in turn, one way"),
            ("vhost_echo100k", "vhost_echo", "100,000 in random order"),
        ):
            least, most = self.median(VHOST, MASQUERADE, key), self.median(VHOST, MASQUERADE, base)
            if least and most:
                ratio = f"{(least / most - 1) * 100:+.0f} %"
                peer = f"{_text(least)} ({_text(most)} with 16 flows)"
                self.lines.append(Line(f"Linux (masquerade), {what}", "–", "–", peer, ratio, "–"))

    def _time(self) -> None:
        for key, what, parts in (
            ("vcpu_load", "full load, one way", 8),
            ("vcpu_load2", "full load, answered", 8),
            ("vcpu_rate", "5,000/s, one way", 3),
            ("vcpu_rate2", "5,000/s, answered", 3),
        ):
            self._share(f"vCPU µs/packet, e1000, {what}", E1000, key, MASQUERADE, parts, floor=True)
        self._share("round trip at 1,000/s, e1000, median µs", E1000, "rtt_median", MASQUERADE, 3, floor=True)
        ours, theirs = (self.median(E1000, row, "rtt_p99") for row in ("nat", MASQUERADE))
        self.lines.append(
            Line("round trip at 1,000/s, e1000, 99 % µs", "printed", _text(ours), _text(theirs), "–", "–")
        )
        ours, theirs = (self.median(E1000, row, "idle_vcpu") for row in ("nat", MASQUERADE))
        good = None if ours is None else ours < 2
        self.lines.append(Line("idle vCPU, e1000", "< 2 %", _text(ours), _text(theirs), "–", _verdict(good)))

    def _new_flows(self) -> None:
        self._share("first packet of a new flow, instructions, e1000", E1000, "insn_new", MASQUERADE, 5)
        self._times("new flows/s over vhost-user", VHOST, "vhost_new", MASQUERADE, 5)

    def _bulk(self) -> None:
        for nic in (E1000, VIRTIO):
            for key, way in (("bulk_up", "LAN to WAN"), ("bulk_down", "WAN to LAN")):
                peers = {p: v for p in (MASQUERADE, FLOWTABLE) if (v := self.median(nic, p, key)) is not None}
                best = max(peers, key=lambda name: peers[name]) if peers else MASQUERADE
                self._times(f"iperf3 TCP, {nic}, {way}, Mbit/s", nic, key, best, 1)

    def _tunnel(self) -> None:
        """6to4 with its NAT on, which is the usual configuration; without it the costs may be a little lower."""
        for key, way in (("encap", "encapsulate"), ("decap", "decapsulate")):
            what = f"6to4, {way}, instructions/packet, e1000, full load"
            on, off = (self.median(E1000, row, f"insn_{key}") for row in ("6to4", "6to4-nonat"))
            self.lines.append(_least(what, on, 450))
            self._share(what, E1000, f"insn_{key}", SIT, 12, row="6to4")
            self._nat_cost(f"6to4, {way}, its NAT on against off, e1000", on, off)
        for key, what in (
            ("encap", "encapsulate"),
            ("decap", "decapsulate"),
            ("tunnel2", "answered"),
            ("duplex", "both ways at once"),
        ):
            self._times(f"6to4, packets/s over vhost-user, {what}", VHOST, f"vhost_{key}", SIT, 12, row="6to4")

    def _translation(self) -> None:
        for key, way in (("to4", "IPv6 to IPv4"), ("to6", "IPv4 to IPv6")):
            what = f"ivi, {way}, instructions/packet, e1000, full load"
            self.lines.append(_least(what, self.median(E1000, "ivi", f"insn_{key}"), 400))
        for key, way in (("to4", "IPv6 to IPv4"), ("to6", "IPv4 to IPv6"), ("xlat2", "answered")):
            for peer, factor in ((ROUTE, 8), (TAYGA, 30)):
                what = f"ivi, packets/s over vhost-user, {way}"
                self._times(what, VHOST, f"vhost_{key}", peer, factor, row="ivi")

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
            ours, theirs = (self.median(VHOST, row, f"vhost_dns{key}") for row in ("dns64", UNBOUND))
            ratio = f"{ours / theirs:.1f} x" if ours and theirs else "–"
            what = f"dns64, {what}, answers/s over vhost-user"
            self.lines.append(Line(what, "printed", _text(ours), _text(theirs), ratio, "–"))
        for nic, where in ((E1000, "e1000 sockets"), (VHOST, "vhost-user")):
            ours, theirs = (self.median(nic, row, "over_dns") for row in ("dns64", UNBOUND))
            good = None if ours is None else ours >= 95
            cells = _text(ours), _text(theirs), "–", _verdict(good)
            self.lines.append(Line(f"dns64, ten times the load, % of the highest rate, {where}", ">= 95", *cells))
        ours, theirs = (self.median(E1000, row, "memory_dns") for row in ("dns64", UNBOUND))
        good = None if ours is None else ours <= 16 * 1024
        cells = _text(ours), _text(theirs), "–", _verdict(good)
        self.lines.append(Line("dns64, memory of all tables, KB", "<= 16,384", *cells))

    def _nat_cost(self, what: str, on: float | None, off: float | None) -> None:
        target = "at most 3 % more"
        if on is None or off is None:
            self.lines.append(Line(what, target, _text(on), "–", "–", _verdict(None)))
            return
        more = (on / off - 1) * 100
        cells = f"{_text(on)} ({_text(off)} off)", "–", f"{more:+.1f} %"
        self.lines.append(Line(what, target, *cells, _verdict(more <= 3)))

    def _cards(self) -> None:
        """What six further cards without traffic cost a packet of a known flow."""
        for key, way in (("load", "one way"), ("load2", "answered")):
            two, eight = (self.median(E1000, row, f"insn_{key}") for row in ("nat", "nat8"))
            more = None if two is None or eight is None else eight - two
            cells = f"{_text(eight)} ({_text(two)} with two)", "–", "–" if more is None else f"{more:+.0f}"
            what = f"nat, eight cards, instructions/packet, e1000, full load, {way}"
            self.lines.append(Line(what, "at most 10 more", *cells, _verdict(None if more is None else more <= 10)))

    def _start(self, image: Path) -> None:
        for row in ("wire", "nat", "6to4", "ivi", "dns64"):
            ready = self.median(E1000, row, "ready")
            good = None if ready is None else ready < 50
            self.lines.append(Line(f"entry to ready, {row}, e1000", "< 50 ms", _text(ready), "–", "–", _verdict(good)))
        if image.exists():
            size = loadable_bytes(image)
            limit = 256 * 1024
            ours = f"{size / 1024:.0f}"
            self.lines.append(Line("size in memory (PT_LOAD), KB", "< 256 KB", ours, "–", "–", _verdict(size < limit)))

    def build(self, image: Path) -> list[Line]:
        self._instructions()
        self._cards()
        self._vhost()
        self._time()
        self._new_flows()
        self._bulk()
        self._tunnel()
        self._translation()
        self._dns64()
        self._start(image)
        return self.lines


def _short(peer: str) -> str:
    names = {MASQUERADE: "masquerade", FLOWTABLE: "flowtable", SIT: "sit", TAYGA: "tayga", ROUTE: "plain forwarding"}
    return (names | {UNBOUND: "unbound", BIND: "BIND", PDNS: "PowerDNS"})[peer]


def table(median: Median, image: Path) -> str:
    """The summary as a Markdown table."""
    head = ["what", "target", "Baregate", "Linux", "ratio", "verdict"]
    rows = [head, ["---"] * len(head), *[line.cells() for line in Summary(median).build(image)]]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"
