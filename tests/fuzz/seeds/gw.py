#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the first inputs of fuzz_gw into a folder: seeds/gw.py FOLDER.

Each is a complete scenario in the operations of fuzz_gw.c, or real packets as raw bytes, so that the fuzzer does not
have to find out by itself what a connection looks like.
"""

from __future__ import annotations

import itertools
import struct
import sys
from pathlib import Path

from scapy.layers.inet import ICMP, IP, TCP, UDP, fragment
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet

LAN, WAN = 0, 128
PORT_MAC = {LAN: "02:00:00:00:00:01", WAN: "02:00:00:00:00:02"}
HOST_MAC = "52:52:52:52:52:52"
OUTSIDE, SERVER = "203.0.113.2", "198.51.100.0"


def raw(port: int, frame: Packet) -> bytes:
    data = bytes(frame)
    return bytes([port | 5]) + struct.pack("!H", len(data)) + data


def packet(port: int, source: int, target: int, proto: int, ports: int = 0, size: int = 16) -> bytes:
    """An operation `make_packet`; fuzz_gw.c decodes the numbers."""
    return bytes([port, source, target, proto, ports, 0, size])


def answer(port: int) -> bytes:
    return bytes([port | 3])


def error(port: int, how: int) -> bytes:
    return bytes([port | 4, how])


def wait(seconds: float) -> bytes:
    return b"\x06" + struct.pack("!H", int(seconds * 10000))


def link(port: int, up: bool) -> bytes:
    return bytes([port | 7 | up << 4])


def card(port: int, stall: bool) -> bytes:
    return bytes([port | 15 | stall << 4])


def piece(offset: int, more: bool, flood: int = 0) -> bytes:
    """16 bytes of an ICMP message. In a flood each has another identification, and later ones another sender."""
    many = bytes([10 if offset else 8, flood - 1]) if flood else b""
    return bytes([LAN | bool(flood) << 5, 0x84, 4, 2, offset // 8 << 2 | more, 0, 0, 16 if offset else 8]) + many


def full_tables() -> list[bytes]:
    """Scenarios that fill the pool, the queue of a card and the tables of fragments and neighbours."""
    found = [piece(0, True, 200) + piece(16, False, 100) + wait(1)]
    found.append(piece(16, False, 255) + wait(2))
    # A large packet is fragmented: with options that each fragment has, and with the last packet of the pool.
    found.append(packet(LAN, 0x64, 0x14, 0, size=255) + packet(LAN, 0x74, 0x14, 0, size=255))
    small, large = packet(LAN, 4, 4, 0), packet(LAN, 4, 4, 0, size=255)
    for n in range(7, 12):
        found.append(small + card(WAN, True) + small * n + large * 2 + bytes([LAN | 2, 0, 4]) + card(WAN, False))
    found.append(card(LAN, True) + bytes([LAN | 2, 0, 4]) * 14 + card(LAN, False))
    found.append(bytes([7 | 32]) + packet(WAN, 4, 32, 0) + bytes([7 | 32]))
    # To a pool address from inside, and to an address of no host.
    found.append(packet(LAN, 4, 4, 0) + packet(WAN, 4, 1, 0) + packet(LAN, 4, 0x80, 0) + packet(LAN, 4, 2, 0) + wait(2))
    return found


def connections() -> list[bytes]:
    """Valid TCP from port 4000 to port 80: the ways in which a connection ends or continues."""
    out = Ether(src=HOST_MAC, dst=PORT_MAC[LAN]) / IP(src="192.168.1.10", dst=SERVER)
    back = Ether(src=HOST_MAC, dst=PORT_MAC[WAN]) / IP(src=SERVER, dst=OUTSIDE)

    def said(seq: int, ack: int, flags: str, data: bytes = b"", window: int = 8192, **more: object) -> bytes:
        return raw(LAN, out / TCP(sport=4000, dport=80, seq=seq, ack=ack, flags=flags, window=window, **more) / data)

    def heard(seq: int, ack: int, flags: str, data: bytes = b"", window: int = 8192, **more: object) -> bytes:
        return raw(WAN, back / TCP(sport=80, dport=4000, seq=seq, ack=ack, flags=flags, window=window, **more) / data)

    scale = [("NOP", None), ("MSS", 1460), ("WScale", 7)]
    opened = said(100, 0, "S", options=scale) + heard(500, 101, "SA", options=scale) + said(101, 501, "A")
    ends = [
        said(101, 501, "FA") + heard(501, 102, "A") + heard(501, 102, "FA") + said(102, 502, "A") + said(200, 0, "S"),
        heard(501, 101, "FA") + said(101, 502, "FA") + heard(502, 102, "R"),
        heard(501, 101, "R") + said(101, 501, "A") + heard(501, 101, "A"),
        said(101, 501, "R") + wait(3) + said(101, 501, "PA", b"x"),
        heard(9000000, 101, "R") + heard(501, 101, "A"),
        said(101, 501, "A", b"x" * 100) + heard(501, 201, "A", b"y" * 300) + said(201, 801, "FA")
        + heard(801, 202, "R"),
        said(7000, 0, "S", options=scale) + heard(9000, 7001, "SA") + said(7001, 9001, "A"),
        heard(7000, 0, "S") + said(9000, 7001, "SA") + heard(900000, 1, "SA", options=[("WScale", 15)]),
        wait(6) * 5 + said(101, 501, "A"),
    ]
    half = said(100, 0, "S", options=[("WScale", 3)])
    pieces = [
        raw(LAN, Ether(src=HOST_MAC, dst=PORT_MAC[LAN]) / one)
        for one in fragment(IP(src="192.168.1.10", dst=SERVER) / TCP(sport=4000, dport=80, seq=101, ack=501, flags="A")
                            / bytes(200), 64)
    ]
    ends += [b"".join(pieces), pieces[-1] + b"".join(pieces[:-1])]
    return [opened + end for end in ends] + [
        half + wait(5), half + heard(500, 101, "RA"), half + heard(500, 777, "R"),
        half + heard(500, 0, "S") + said(100, 501, "SA"),
        heard(500, 0, "S") + said(100, 0, "S"), heard(500, 0, "S") + wait(6) * 2,
    ]


def stories() -> list[bytes]:
    """The scenarios without the first octet, which chooses the configuration."""
    found = []
    for proto in range(8):  # each protocol: out, back, errors in both directions, expiry
        out = packet(LAN, 4, 4, proto)
        found.append(out + answer(WAN) + answer(LAN) + error(WAN, 0x03) + error(LAN, 0x83) + wait(6) + answer(WAN))
    found.append(packet(LAN, 4, 4, 1) + packet(LAN, 12, 4, 1) + answer(WAN) + wait(1) + bytes([2, 0, 0x01]))
    found.append(packet(LAN, 4, 4, 0) + packet(LAN, 4, 0, 0) + answer(LAN) + error(LAN, 0x03))  # hairpin
    found.append(packet(LAN, 4, 4, 0, size=255) + answer(WAN) + link(LAN, False) + answer(WAN) + link(LAN, True))
    found.append(card(WAN, True) + packet(LAN, 4, 4, 0) * 20 + card(WAN, False) + wait(5))
    found.append(b"".join(packet(LAN, 4 + 8 * h, 4, 0, p << 3) for h, p in itertools.product(range(4), range(8))))
    found.append(packet(LAN, 20, 4, 0) * 6 + wait(3) + packet(LAN, 4, 52, 0) + wait(4))  # no answer
    found.append(packet(LAN, 4, 4, 0) + packet(LAN | 32, 4, 4, 0) + bytes([3, 255]) + bytes([0x46, 30]))
    pieces = [piece(0, True), piece(16, True), piece(32, False)]
    found += [b"".join(order) for order in itertools.permutations(pieces)]
    found.append(b"".join(pieces[::-1]) + b"".join(pieces) + pieces[1] + wait(3) + pieces[2] + pieces[0] + pieces[0])
    found += full_tables() + connections()
    ip = Ether(src=HOST_MAC, dst=PORT_MAC[LAN]) / IP(src="192.168.1.10", dst=SERVER)
    back = Ether(src=HOST_MAC, dst=PORT_MAC[WAN]) / IP(src=SERVER, dst=OUTSIDE)
    found.append(raw(LAN, ip / UDP(sport=4000, dport=53) / b"q") + raw(WAN, back / UDP(sport=53, dport=4000) / b"a"))
    found.append(raw(LAN, ip / TCP(sport=4000, dport=80, flags="S", options=[("MSS", 1460)]))
                 + raw(WAN, back / TCP(sport=80, dport=4000, flags="SA")))
    found.append(raw(LAN, ip / ICMP(id=9) / b"ping") + raw(WAN, back / ICMP(type=0, id=9) / b"ping"))
    found.append(raw(LAN, Ether(src=HOST_MAC, dst="ff:ff:ff:ff:ff:ff")
                     / ARP(hwsrc=HOST_MAC, psrc="192.168.1.10", pdst="192.168.1.1")))
    found.append(raw(LAN, Ether(src=HOST_MAC, dst=PORT_MAC[LAN])
                     / ARP(hwsrc=PORT_MAC[LAN], psrc="192.168.1.1", pdst="192.168.1.1")))
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number, story in enumerate(stories()):
        for choice in (0, 7, 8 | 16 | 1, 32 | 2, 6, 32 | 8 | 4, 5, 64, 128, 192 | 1, 192 | 6):
            (folder / f"story-{number:02}-{choice:02}").write_bytes(bytes([choice]) + story)


if __name__ == "__main__":
    main()
