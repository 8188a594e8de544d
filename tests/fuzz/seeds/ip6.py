#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the first inputs of fuzz_ip6 into a folder: seeds/ip6.py FOLDER.

Each is a complete scenario in the operations of fuzz_ip6.c, or real packets as raw bytes.
"""

from __future__ import annotations

import itertools
import struct
import sys
from pathlib import Path

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6MLQuery,
    ICMPv6MLQuery2,
    ICMPv6MLReport,
    ICMPv6MLReport2,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6ND_RA,
    ICMPv6ND_Redirect,
    ICMPv6ND_RS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptMTU,
    ICMPv6NDOptPREF64,
    ICMPv6NDOptPrefixInfo,
    ICMPv6NDOptRDNSS,
    ICMPv6NDOptRouteInfo,
    ICMPv6NDOptSrcLLAddr,
    ICMPv6Unknown,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    Pad1,
    PadN,
    RouterAlert,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet

LAN, WAN, TUNNEL = 0, 128, 32
PORT_MAC = {LAN: "02:00:00:00:00:01", WAN: "02:00:00:00:00:02"}
HOST_MAC = "52:52:52:52:52:52"
OWN, HOST, FAR, LOCAL = "2001:db8:1::1", "2001:db8:1::10", "2001:db8:f::1", "fe80::10"
READY, FRESH, NAT, NO_RA, FEW, AUTO = 1, 0, 2, 16, 32, 64  # configurations


def raw(port: int, packet: Packet, to: str | None = None) -> bytes:
    data = bytes(Ether(src=HOST_MAC, dst=to or PORT_MAC[port]) / packet)
    return bytes([port | 5]) + struct.pack("!H", len(data)) + data


def answer(port: int) -> bytes:
    return bytes([port | 3])


def packet(port: int, how: int, source: int, target: int) -> bytes:
    """An operation `make_packet`; fuzz_ip6.c decodes the numbers: UDP without extension headers."""
    return bytes([port, how, 0, source, target, 0, 0, 0, 16])


def message(port: int, kind: int, target: int, source: int, to: int) -> bytes:
    return bytes([port | 2, kind, target, source, to])


def wait(seconds: float) -> bytes:
    return b"\x06" + struct.pack("!H", int(seconds * 10000))


def change(what: int, *more: int) -> bytes:
    """An operation `change_own`."""
    return bytes([7 | 32 | 16, what, *more])


def link(port: int, up: bool) -> bytes:
    return bytes([port | 7 | up << 4])


def full_tables() -> list[bytes]:
    """Scenarios that fill the tables of neighbours and of pending solicitations."""
    to_lan = packet(WAN | 16, 0, 2, 0x80)
    found = [b"".join(to_lan + bytes([4 | k << 4, 31]) + wait(0.26) for k in range(9)) + wait(4)]
    asked = bytes([LAN | 2 | 16, 8, 8, 0x80, 0x4e])  # many source addresses, one source MAC address
    found.append((asked + bytes([2, 249])) + to_lan + bytes([4, 40]))
    found.append((to_lan + bytes([4, 31]) + wait(0.3)) * 2 + wait(2) + asked + bytes([2, 200]) + wait(6))
    return found


def own_changes() -> list[bytes]:
    """The application and the gateway change their addresses, groups and advertisements."""
    look = bytes([7 | 32])
    found = [b"".join(change(what) for what in (0, 0x80, 1, 0x81, 1, 2, 10, 4)) + wait(3) + change(3) + change(11)
             + change(3) + wait(1) + look + change(5) + wait(1) + change(6) + change(14) + wait(4)]
    found.append(change(0) + wait(0.5) + change(1) + wait(3) + change(0) + wait(3))
    found.append(b"".join(change(7, size, to) for size in (8, 250) for to in range(0, 256, 3)) + wait(2))
    found.append(link(LAN, False) + wait(1) + look + link(LAN, True) + look + wait(3) + look)
    return found


def listeners() -> list[bytes]:
    """Multicast listener discovery, and addresses that other hosts have too."""
    def mld(*above: Packet, hops: int = 1, source: str = LOCAL) -> bytes:
        head = IPv6(src=source, dst="ff02::1", hlim=hops)
        for one in above:
            head = head / one
        return raw(LAN, head, "33:33:00:00:00:01")

    alert = IPv6ExtHdrHopByHop(options=[RouterAlert()])
    late = IPv6ExtHdrHopByHop(options=[PadN(optdata=b""), Pad1(), Pad1(), RouterAlert()])
    groups = ["ff02::1:ff00:1", "::"]
    found = [mld(alert, ICMPv6MLQuery(mladdr=g, mrd=wait_ms)) + wait(1) + mld(alert, ICMPv6MLReport(mladdr=g)) + wait(4)
             for g in groups for wait_ms in (0, 3000, 60000)]
    found += [mld(alert, ICMPv6MLQuery2(mladdr=g, mrd=wait_ms)) + wait(3)
              for g in groups for wait_ms in (0, 3000, 60000)]
    found.append(mld(late, ICMPv6MLQuery()) + mld(ICMPv6MLQuery()) + mld(IPv6ExtHdrHopByHop(), ICMPv6MLQuery())
                 + mld(alert, ICMPv6MLQuery(), hops=2) + mld(alert, ICMPv6MLQuery(), source=HOST))
    own = "fe80::ff:fe00:1"
    for target in (OWN, own):
        group = "33:33:ff:00:00:01"
        ask = IPv6(src="::", dst="ff02::1:ff00:1", hlim=255) / ICMPv6ND_NS(tgt=target)
        told = IPv6(src=LOCAL, dst="ff02::1", hlim=255) / ICMPv6ND_NA(tgt=target, S=0)
        found += [raw(LAN, one, mac) + bytes([7 | 32]) + wait(3) + bytes([7 | 32]) + packet(LAN, 0, 0x80, 0x80)
                  for one, mac in ((ask, group), (told, "33:33:00:00:00:01"))]
        found.append(wait(1) + raw(LAN, told, "33:33:00:00:00:01") + wait(4))
    odd = IPv6(src=LOCAL, dst="ff02::1", hlim=255) / ICMPv6Unknown(type=135, msgbody=b"1234")
    found.append(raw(LAN, odd, "33:33:00:00:00:01"))
    for code in range(2):
        found.append(raw(LAN, IPv6(src=LOCAL, dst="ff02::1", hlim=255) / ICMPv6ND_RS(code=code), "33:33:00:00:00:01"))
    reflected = Ether(src=PORT_MAC[LAN], dst="33:33:ff:00:00:01") / IPv6(
        src="::", dst="ff02::1:ff00:1", hlim=255) / ICMPv6ND_NS(tgt=OWN)
    found.append(bytes([LAN | 5]) + struct.pack("!H", len(reflected)) + bytes(reflected))
    return found


def neighbours() -> list[bytes]:
    """Advertisements of neighbours in each state, with the same MAC address, another one, and none."""
    nowhere = "2001:db8:1::14"
    found = []
    ask = packet(WAN, 0, 2, 0xa0)  # to .14
    macs = (HOST_MAC, "52:52:52:52:52:53")

    def said(how: int) -> bytes:
        na = ICMPv6ND_NA(tgt=nowhere, S=how & 1, O=how >> 1 & 1, R=0)
        if how & 4:
            na = na / ICMPv6NDOptDstLLAddr(lladdr=macs[how & 1 ^ 1])
        return raw(LAN, IPv6(src=nowhere, dst=OWN, hlim=255) / na)

    for first, then in itertools.product(range(8), range(8)):
        found.append(ask + said(first) + said(then) + ask + wait(6) + said(then) + ask + wait(2) + said(first ^ 4))
    routed = packet(WAN, 0, 2, 0x42) * 2  # behind a router on the LAN
    router = IPv6(src="2001:db8:1::12", dst=OWN, hlim=255) / ICMPv6ND_NA(
        tgt="2001:db8:1::12", S=1) / ICMPv6NDOptDstLLAddr(lladdr=HOST_MAC)
    found.append(routed + raw(LAN, router) + wait(1) + routed)
    big = IPv6(src="2001:db8:c::1", dst=OWN) / ICMPv6EchoRequest(data=bytes(1300))
    found.append(raw(LAN, router) + raw(LAN, big) + wait(1))
    return found


def routers() -> list[bytes]:
    """Routers of the WAN that advertise: each option, ends, a flood, addresses that somebody has."""
    def told(*options: Packet, router: int = 1, lifetime: int = 1800, **fields: int) -> bytes:
        packet = IPv6(src=f"fe80::{router:x}", dst="ff02::1", hlim=255) / ICMPv6ND_RA(routerlifetime=lifetime, **fields)
        for option in (ICMPv6NDOptSrcLLAddr(lladdr=HOST_MAC), *options):
            packet /= option
        return raw(WAN, packet, "33:33:00:00:00:01")

    def net(number: int, valid: int = 9000, **flags: int) -> Packet:
        return ICMPv6NDOptPrefixInfo(prefix=f"2001:db8:{number:x}::", prefixlen=64, validlifetime=valid,
                                     preferredlifetime=valid // 2, **flags)

    options = [ICMPv6NDOptRDNSS(dns=["2001:db8:f::53", "2001:db8:f::54"], lifetime=60), ICMPv6NDOptMTU(mtu=1400),
               ICMPv6NDOptPREF64(scaledlifetime=9, prefix="64:ff9b::"),
               ICMPv6NDOptRouteInfo(prefix="2001:db8:77::", plen=48, len=2, rtlifetime=60),
               ICMPv6NDOptRouteInfo(prefix="::", plen=0, len=1, rtlifetime=60, prf=1), net(1), net(2)]
    ours = "2001:db8:20::ff:fe00:2"
    taken = IPv6(src=ours, dst="ff02::1", hlim=255) / ICMPv6ND_NA(tgt=ours, S=0, R=0)
    gone = IPv6(src="fe80::1", dst="fe80::ff:fe00:2", hlim=255) / ICMPv6ND_NA(tgt="fe80::1", S=1, R=0)
    out = packet(LAN, 0, 0x80, 0x22)
    ends = told(net(0x20, 1), lifetime=3) + wait(2) + out + told(net(0x20, 0), lifetime=0) + wait(4)
    made = bytes([WAN | 4, 0x71, 1, 0, 0, 8, 2, 0x22, 3, 4, 0, 9, 5, 0, 0xa0, 6, 3, 0, 0, 7, 1, 0]) + wait(1)
    return [
        told(net(0x20), *options) + wait(3) + out + answer(WAN) + wait(1) + told(*options, chlim=128, reachabletime=9,
                                                                                 retranstimer=9) + out + wait(5),
        b"".join(told(net(0x30 + n), router=n) for n in range(12)) + wait(6.5) + out + answer(WAN) + wait(6.5),
        told(net(0x20)) + wait(0.2) + raw(WAN, taken, "33:33:00:00:00:01") + wait(3) + out,
        told(net(0x20)) + told(router=2) + wait(4) + answer(WAN) + wait(6) + raw(WAN, gone) + wait(1) + out,
        ends, ends * 3, made, made * 9, link(WAN, False) + told(net(0x20)) + link(WAN, True) + wait(5),
    ]


def stories() -> list[bytes]:
    """The scenarios without the first octet, which chooses the configuration."""
    out = IPv6(src=HOST, dst=FAR)
    back = IPv6(src=FAR, dst=HOST)
    nd = IPv6(src=HOST, dst=OWN, hlim=255)
    link = IPv6(src=LOCAL, dst="ff02::1", hlim=255)
    mld = IPv6(src=LOCAL, dst="ff02::1", hlim=1) / IPv6ExtHdrHopByHop(options=[RouterAlert()])
    mac = ICMPv6NDOptSrcLLAddr(lladdr=HOST_MAC)
    found = [raw(LAN, out / upper) + raw(WAN, back / upper) + wait(1) for upper in (
        UDP() / b"data", TCP(), ICMPv6EchoRequest(), IPv6ExtHdrDestOpt() / UDP(), IPv6ExtHdrHopByHop() / UDP(),
        IPv6ExtHdrFragment(m=1) / UDP(), IPv6ExtHdrFragment(offset=9) / UDP(), IPv6ExtHdrRouting() / UDP())]
    found += [raw(LAN, one) + wait(2) + answer(LAN) + wait(1) for one in (
        nd / ICMPv6ND_NS(tgt=OWN) / mac, nd / ICMPv6ND_NA(tgt=HOST, S=1) / ICMPv6NDOptDstLLAddr(lladdr=HOST_MAC),
        link / ICMPv6ND_RS() / mac, link / ICMPv6ND_RA() / ICMPv6NDOptPrefixInfo() / mac, nd / ICMPv6ND_Redirect(),
        mld / ICMPv6MLQuery(), mld / ICMPv6MLReport2(), IPv6(src=HOST, dst=OWN) / ICMPv6EchoRequest(data=bytes(1300)),
        IPv6(src="::", dst="ff02::1:ff00:1", hlim=255) / ICMPv6ND_NS(tgt=OWN))]
    found.append(packet(WAN, 0, 2, 0x98) + answer(LAN) + wait(3) + packet(WAN, 0, 2, 0x98) * 6 + wait(4))
    found.append(b"".join(packet(WAN, 0, 2, 0x80 | n << 3) for n in range(8)) + wait(6))
    found.append(packet(LAN, 0, 0x80, 3) + packet(WAN | TUNNEL, 2, 3, 8) + packet(WAN | TUNNEL, 0, 3, 0x80))
    found.append(b"".join(message(LAN, kind | 8, 8, 0x94, 0x4e) for kind in range(8)) + wait(5) + answer(LAN))
    found += full_tables() + own_changes() + listeners() + neighbours()
    outer = IP(src="203.0.113.9", dst="203.0.113.2", proto=41)
    found.append(raw(WAN, outer / IPv6(src="2001:db8:a::1", dst=HOST) / UDP()))
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number, story in enumerate(stories()):
        for choice in (READY, FRESH, READY | NO_RA | 8, READY | FEW, READY | NAT):
            (folder / f"story-{number:02}-{choice:02}").write_bytes(bytes([choice]) + story)
    for number, story in enumerate(routers()):
        for choice in (READY | AUTO, FRESH | AUTO, READY | AUTO | FEW):
            (folder / f"router-{number:02}-{choice:02}").write_bytes(bytes([choice]) + story)


if __name__ == "__main__":
    main()
