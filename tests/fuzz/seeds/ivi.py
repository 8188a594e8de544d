#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the first inputs of fuzz_ivi into a folder: seeds/ivi.py FOLDER.

Each is a complete scenario in the operations of fuzz_ivi.c, or real packets as raw bytes.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting,
)
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw

LAN, WAN = 0, 128
PORT_MAC = {LAN: "02:00:00:00:00:01", WAN: "02:00:00:00:00:02"}
HOST_MAC = "52:52:52:52:52:52"
ROUTER, OWN = "198.51.100.2", "198.51.100.1"
KINDS = range(6)  # configurations
NARROW, QUIET, FEW = 24, 32, 64


def raw(port: int, packet: Packet) -> bytes:
    data = bytes(Ether(src=HOST_MAC, dst=PORT_MAC[port]) / packet)
    return bytes([port | 5]) + struct.pack("!H", len(data)) + data


def answer(port: int) -> bytes:
    return bytes([port | 3])


def error(port: int, how: int, more: int = 0) -> bytes:
    return bytes([port | 4, how, more])


def transport(ports: int = 0, flags: int = 0, size: int = 16) -> bytes:
    """The bytes that `make_transport` decodes."""
    return bytes([ports, flags, size])


def four(how: int, source: int, target: int, proto: int, piece: bytes = b"", size: int = 16) -> bytes:
    """An operation `make4`; fuzz_ivi.c decodes the numbers."""
    return bytes([WAN, how, source, target, proto]) + piece + transport(size=size)


def six(how: int, source: int, kind: int, target: int, proto: int, chain: bytes = b"\0", size: int = 16) -> bytes:
    return bytes([LAN | 1, how, source, kind, target, proto]) + chain + transport(size=size)


def wait(seconds: float) -> bytes:
    return b"\x06" + struct.pack("!H", int(seconds * 10000))


def quiet(days: int) -> bytes:
    return bytes([0x46, days])


def stories() -> list[bytes]:
    """The scenarios without the first octet, which chooses the configuration."""
    found = []
    for proto in range(8):  # each protocol in both directions, answered, and errors about it
        told4 = error(WAN, 0x03) + error(WAN, 0x04, 5) + error(WAN, 0x13, 0x95)
        told6 = error(LAN, 0x00) + error(LAN, 0x10) + error(LAN, 0x20, 0x85)
        found.append(four(0, 3, 5, proto) * 2 + answer(LAN) + told6)
        found.append(six(1, 5, 1, 3, proto) * 2 + answer(WAN) + told4)
    found.append(b"".join(four(how, 3, 5, 0, size=255) for how in range(0, 256, 4)))
    found.append(b"".join(four(0, n, 5, 0) + four(0, 3, n, 0) for n in range(0, 256, 8)))
    found.append(b"".join(six(1, n, 1, 3, 0) + six(1, 5, 1, n, 0) for n in range(0, 256, 8)))
    found.append(b"".join(six(1, 5, 1, 3, 0, bytes([kind, 0, 0])) for kind in range(1, 7)))
    found.append(b"".join(six(1, 5, 1, 3, 0, piece, 160) for piece in (b"\4\1\0", b"\4\x16", b"\4\0\0")))
    found.append(six(0, 8, 1, 1, 0) * 2 + error(LAN, 0x04) + answer(LAN))  # mapped hosts, hairpin
    found.append(six(0x20, 1, 0, 2, 1) + six(0x20, 130, 0, 2, 0) + answer(LAN))
    found.append(b"".join(four(2, 3, 5, 0, bytes([piece]), 160) for piece in (1, 0x51, 0)) + wait(2))
    found.append(four(0, 3, 5, 0) + bytes([WAN | 32, 0, 3, 5, 0]) + transport() + bytes([3, 60]) + quiet(30))
    host, far = "192.0.2.10", "8.8.8.8"
    told = ICMP(type=3, code=4, nexthopmtu=1300) / Raw(bytes(IP(src=host, dst=far) / UDP() / b"q"))
    for upper in (UDP(sport=9, dport=53) / b"q", UDP(chksum=0) / b"q", TCP(flags="S", options=[("MSS", 1460)]),
                  ICMP() / b"p", told):
        found.append(raw(WAN, IP(src=far, dst=host) / upper) + raw(WAN, IP(src=ROUTER, dst=OWN) / ICMP()))
    found.append(raw(WAN, ARP(hwsrc=HOST_MAC, psrc=ROUTER, pdst="192.0.2.10")))
    for prefix in ("2001:db8:ffc0:2:a00::", "2001:db8:1c0:2:a::", "2001:db8:3::a"):
        ip = IPv6(src=prefix, dst="64:ff9b::808:808")
        for upper in (UDP() / b"q", ICMPv6EchoRequest(), IPv6ExtHdrDestOpt() / UDP(), IPv6ExtHdrHopByHop() / UDP(),
                      IPv6ExtHdrFragment(m=1) / UDP(), IPv6ExtHdrRouting() / UDP()):
            found.append(raw(LAN, ip / upper))
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number, story in enumerate(stories()):
        for kind in KINDS:
            choice = kind | (NARROW, QUIET, FEW, 0)[(number + kind) % 4]
            (folder / f"story-{number:02}-{choice:02}").write_bytes(bytes([choice]) + story)


if __name__ == "__main__":
    main()
