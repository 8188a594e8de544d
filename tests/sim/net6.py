# SPDX-License-Identifier: BSD-2-Clause
"""An IPv6 router between two networks: the test application `route6` (tests/host/route6.c).

    lan: 2001:db8:1::/64  A6 ::10, B6 ::11 -- ::1 gateway ::2 -- ::1 ROUTER6  wan: 2001:db8:2::/64
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Any

from gateway import LAN, PORT_MAC, WAN, Gateway, Sent
from scapy.layers.inet6 import (
    ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr, IPv6,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

Start = Callable[..., Gateway]
ALL_NODES, ALL_ROUTERS, MLD_ROUTERS = "ff02::1", "ff02::2", "ff02::16"


@dataclass(frozen=True)
class Host6:
    """A host on one of the two networks."""

    port: str
    ip: str
    local: str  # its link-local address
    mac: str


A6 = Host6(LAN, "2001:db8:1::10", "fe80::a", "52:54:00:00:01:0a")
B6 = Host6(LAN, "2001:db8:1::11", "fe80::b", "52:54:00:00:01:0b")
ROUTER6 = Host6(WAN, "2001:db8:2::1", "fe80::1", "52:54:00:00:02:01")
OWN = {LAN: "2001:db8:1::1", WAN: "2001:db8:2::2"}
OWN_LOCAL = {LAN: "fe80::ff:fe00:1", WAN: "fe80::ff:fe00:2"}  # from PORT_MAC
FAR6 = "2001:db8:f::7"  # behind the router

ADDRESSES6 = f"lan.address {OWN[LAN]}/64\nwan.address {OWN[WAN]}/64\ngateway {ROUTER6.ip}\n"
NEIGHBOURS6 = "".join(f"neighbour {host.ip} {host.mac}\n" for host in (A6, B6, ROUTER6))
PLAIN6 = ADDRESSES6 + "lan.ra off\n"
SIX = PLAIN6 + NEIGHBOURS6


def start6(start: Start, config: str = SIX, *, settle: float = 5, **options: Any) -> Gateway:
    """Starts a router and waits until its addresses are in use."""
    gateway = start(config, "route6", **options)
    gateway.wait(settle)
    return gateway


def solicited_node(address: str) -> str:
    """RFC 4291 section 2.7.1."""
    return str(IPv6Address(int(IPv6Address("ff02::1:ff00:0")) | int(IPv6Address(address)) & 0xffffff))


def group_mac(group: str) -> str:
    """RFC 2464 section 7."""
    return "33:33:" + IPv6Address(group).packed[12:].hex(":")


def frame(host: Host6, packet: Packet | bytes, *, to: str | None = None) -> Packet:
    """A frame from a host to the gateway, or to the MAC address `to`."""
    body = packet if isinstance(packet, Packet) else Raw(packet)
    return Ether(src=host.mac, dst=to or PORT_MAC[host.port], type=0x86dd) / body


def send(gateway: Gateway, host: Host6, packet: Packet | bytes, *, broken: bool = False) -> list[Sent]:
    """Sends an IPv6 packet from a host; a packet to a group goes to the group's MAC address."""
    raw = bytes(packet)
    target = str(IPv6Address(raw[24:40])) if len(raw) >= 40 else "::"
    to = group_mac(target) if target.startswith("ff") else None
    return gateway.send(host.port, frame(host, raw, to=to), broken=broken)


def solicit(host: Host6, target: str, **fields: Any) -> Packet:
    """A neighbour solicitation for `target`, from a host that does not know its MAC address."""
    ip = {"src": host.ip, "dst": solicited_node(target), "hlim": 255, **fields}
    return IPv6(**ip) / ICMPv6ND_NS(tgt=target) / ICMPv6NDOptSrcLLAddr(lladdr=host.mac)


def advertise(host: Host6, dst: str, *, target: str | None = None, mac: str | None = None, s: int = 1, o: int = 1,
              r: int = 0, **fields: Any) -> Packet:
    """A neighbour advertisement of a host."""
    target = target or host.ip
    ip = {"src": target, "dst": dst, "hlim": 255, **fields}
    return IPv6(**ip) / ICMPv6ND_NA(tgt=target, R=r, S=s, O=o) / ICMPv6NDOptDstLLAddr(lladdr=mac or host.mac)


def kind6(sent: Sent) -> tuple[int, int]:
    """Type and code of an ICMPv6 message without extension headers."""
    assert sent.raw[12:14] == b"\x86\xdd" and sent.raw[20] == 58, sent.frame.summary()
    return sent.raw[54], sent.raw[55]


def quote6(sent: Sent) -> bytes:
    return sent.raw[62:]


def of_kind(sent: list[Sent], kind: int, port: str | None = None) -> list[Sent]:
    """The ICMPv6 messages of one type among frames; also those behind hop-by-hop options (MLD)."""
    found = []
    for one in sent:
        if one.raw[12:14] != b"\x86\xdd" or one.raw[20] not in (0, 58) or port not in (None, one.port):
            continue
        if one.raw[62 if one.raw[20] == 0 else 54] == kind:
            found.append(one)
    return found


def state_of(gateway: Gateway, address: str) -> str | None:
    """The state of an address in the listing `neighbours`, or None."""
    for line in gateway.lines("neighbours"):
        words = line.split()
        if words[0] == address:
            return words[3]
    return None
