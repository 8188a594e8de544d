#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the first inputs of fuzz_tun into a folder: seeds/tun.py FOLDER.

Each is a complete scenario in the operations of fuzz_tun.c, or real packets as raw bytes.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt
from scapy.layers.l2 import Ether
from scapy.packet import Packet

LAN, WAN = 0, 128
PORT_MAC = {LAN: "02:00:00:00:00:01", WAN: "02:00:00:00:00:02"}
HOST_MAC = "52:52:52:52:52:52"
OUTSIDE, FAR = "203.0.113.2", "198.51.100.3"
HOST6, OWN6, FAR6 = "2002:cb00:7102:1::2", "2002:cb00:7102:1::1", "2002:c633:6403:1::9"
PUBLIC, BEHIND, RAPID, NO_NAT = 0, 1, 2, 4


def raw(port: int, packet: Packet) -> bytes:
    data = bytes(Ether(src=HOST_MAC, dst=PORT_MAC[port]) / packet)
    return bytes([port | 5]) + struct.pack("!H", len(data)) + data


def rest(kind: int) -> bytes:
    """Protocol, no extension headers, ports, flags, size."""
    return (b"" if kind & 8 else bytes([kind & 7])) + bytes([0, 0, 0, 200 if kind & 0x80 else 16])


def out(kind: int, source: int = 8, target: int = 0x1d) -> bytes:
    """An operation `make_packet6` on the LAN; fuzz_tun.c decodes the numbers."""
    return bytes([LAN, kind, source, target]) + rest(kind)


def into(how: int, sender: int, kind: int, source: int = 0x1d, target: int = 8) -> bytes:
    """An operation `make_tunnel`."""
    return bytes([WAN, how, sender, kind, source, target]) + rest(kind)


def error(kind: int, quote: int) -> bytes:
    return bytes([WAN | 1, kind, quote])


def answer(port: int) -> bytes:
    return bytes([port | 3])


def wait(seconds: float) -> bytes:
    return b"\x06" + struct.pack("!H", int(seconds * 10000))


def stories() -> list[bytes]:
    """The scenarios without the first octet, which chooses the configuration."""
    found = [out(kind) + answer(WAN) + answer(LAN) for kind in (0, 1, 2, 4, 5, 6, 7, 0xe0, 0xe1)]
    found += [out(0x20, 8, target) for target in (0x1d, 4, 3, 0xb, 0x13, 0x1b, 0x23, 0x2b, 0x0c, 0x14, 2, 0x3d)]
    found += [into(0, 8, kind) + answer(LAN) for kind in (0x18, 0x19, 0x1a, 0x08, 0x0a, 0x0d, 0x0f)]
    # Known flows, both ways.
    found += [into(0, 8, kind) + answer(LAN) + into(0, 8, kind) * 3 for kind in (0x18, 0x19, 0x1a, 0x38)]
    found += [out(kind) * 2 + answer(WAN) + out(kind) * 3 for kind in (0, 1, 2, 8, 9)]
    found += [into(0xc0, 8, 0x18), into(0x40, 8, 0x18), into(0, 16, 0x18, 4), into(0, 3, 0x18, 0x25)]
    pieces = into(1, 8, 0xf8), into(3, 8, 0xf8)
    found += [b"".join(pieces), b"".join(pieces[::-1]), into(1, 8, 0xf8) + into(7, 8, 0xf8), pieces[0] + wait(2)]
    found.append(b"".join(into(1 | n << 3, n, 0xf8) for n in range(4)) + wait(1))
    found += [out(0x40) + error(kind, quote) + out(0x40) + wait(3)
              for kind in (0x00, 0x01, 0x04, 0x81, 0x84, 0x20, 0x30) for quote in (0, 8, 40)]
    found.append(b"".join(bytes([LAN | 2, 32 | a, 0, 0, 0, 16]) + answer(WAN) for a in range(3)))
    inner = IPv6(src=FAR6, dst=HOST6)
    tunnel = IP(src=FAR, dst=OUTSIDE, proto=41)
    for packet in (UDP() / b"data", TCP(flags="S", options=[("MSS", 1440)]), ICMPv6EchoRequest(),
                   IPv6ExtHdrDestOpt() / UDP()):
        found.append(raw(WAN, tunnel / inner / packet)
                     + raw(LAN, IPv6(src=HOST6, dst=FAR6) / packet) + error(1, 0))
    found.append(raw(WAN, tunnel / IPv6(src=FAR6, dst=OWN6) / ICMPv6EchoRequest()) + error(3, 0))
    quoted = IP(src=OUTSIDE, dst=FAR, proto=41) / IPv6(src=HOST6, dst=FAR6) / UDP()
    found.append(raw(WAN, IP(src="198.51.100.9", dst=OUTSIDE) / ICMP(type=3, code=4, nexthopmtu=1400) / quoted))
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number, story in enumerate(stories()):
        for choice in (PUBLIC, PUBLIC | NO_NAT | 64, BEHIND | NO_NAT | 8, RAPID | 16 | 128, PUBLIC | 32):
            (folder / f"story-{number:02}-{choice:03}").write_bytes(bytes([choice]) + story)


if __name__ == "__main__":
    main()
