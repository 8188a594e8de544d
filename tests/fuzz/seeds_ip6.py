#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the first inputs of fuzz_ip6 into a folder: seeds_ip6.py FOLDER.

Each is a whole story in the operations of fuzz_ip6.c, or real packets as raw bytes.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest, ICMPv6MLQuery, ICMPv6MLReport2, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6ND_RA, ICMPv6ND_Redirect,
    ICMPv6ND_RS, ICMPv6NDOptDstLLAddr, ICMPv6NDOptPrefixInfo, ICMPv6NDOptSrcLLAddr, IPv6, IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting, RouterAlert,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet

LAN, WAN, TUNNEL = 0, 128, 32
PORT_MAC = {LAN: "02:00:00:00:00:01", WAN: "02:00:00:00:00:02"}
HOST_MAC = "52:52:52:52:52:52"
OWN, HOST, FAR, LOCAL = "2001:db8:1::1", "2001:db8:1::10", "2001:db8:f::1", "fe80::10"
READY, FRESH, NO_RA, FEW = 1, 0, 16, 32  # configurations


def raw(port: int, packet: Packet, to: str | None = None) -> bytes:
    data = bytes(Ether(src=HOST_MAC, dst=to or PORT_MAC[port]) / packet)
    return bytes([port | 5]) + struct.pack("!H", len(data)) + data


def answer(port: int) -> bytes:
    return bytes([port | 3])


def packet(port: int, how: int, source: int, target: int) -> bytes:
    """An operation `make_packet`; the numbers are those that fuzz_ip6.c takes apart: UDP without more headers."""
    return bytes([port, how, source, target, 0, 0, 0, 0, 16])


def message(port: int, kind: int, target: int, source: int, to: int) -> bytes:
    return bytes([port | 2, kind, target, source, to])


def wait(seconds: float) -> bytes:
    return b"\x06" + struct.pack("!H", int(seconds * 10000))


def stories() -> list[bytes]:
    """Without the first octet, which chooses the configuration."""
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
    outer = IP(src="203.0.113.9", dst="203.0.113.2", proto=41)
    found.append(raw(WAN, outer / IPv6(src="2001:db8:a::1", dst=HOST) / UDP()))
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number, story in enumerate(stories()):
        for choice in (READY, FRESH, READY | NO_RA | 8, READY | FEW):
            (folder / f"story-{number:02}-{choice:02}").write_bytes(bytes([choice]) + story)


if __name__ == "__main__":
    main()
