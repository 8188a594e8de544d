# SPDX-License-Identifier: BSD-2-Clause
"""Listings of the console, as docs/interface.md describes them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from gateway import A, SERVER, Gateway
from resolver import FOUR, UPSTREAM, Resolver, Zone
from scapy.layers.inet import IP, UDP
from scapy.packet import Raw

pytestmark = pytest.mark.virtual

KEPT, SHOWN = 32, 48  # frames in the list, and bytes shown of each


def expired(n: int, size: int) -> IP:
    """A packet with TTL 1, a number and some bytes of data."""
    return IP(src=A.ip, dst=SERVER, ttl=1, id=n) / UDP(sport=1000, dport=2000) / Raw(bytes(size))


def test_drops(gateway: Gateway) -> None:
    """Time, reason, interface, length and the first 48 bytes of each; the oldest of 32 comes first."""
    assert gateway.lines("drops") == []
    gateway.wait(1.25)
    gateway.lan(expired(7, 100))
    line, = gateway.lines("drops")
    found = re.fullmatch(r"(\d+)\.(\d{3}) ttl lan 142 bytes:((?: [0-9a-f]{8})*)", line)
    assert found, line
    assert (found[1], found[2]) == ("2", "250")
    frame = bytes.fromhex(found[3])
    assert len(frame) == SHOWN
    assert frame[6:12].hex(":") == A.mac and frame[12:14] == b"\x08\x00"
    assert IP(frame[14:]).id == 7 and IP(frame[14:]).src == A.ip


def test_drops_are_few(gateway: Gateway) -> None:
    """The newest 32 frames; a short frame is shown whole."""
    for n in range(40):
        gateway.lan(expired(n, 0))
    lines = gateway.lines("drops")
    assert len(lines) == KEPT
    shown = [bytes.fromhex(line.partition("bytes:")[2]) for line in lines]
    assert [int.from_bytes(frame[18:20]) for frame in shown] == list(range(8, 40))
    assert {len(frame) for frame in shown} == {42}
    assert all(" lan 42 bytes:" in line for line in lines)


def test_servers_and_questions(start: Callable[..., Gateway]) -> None:
    """`sessions` of dns64: each server with its counters, and each fetch that waits for an answer."""
    resolver = Resolver(start, Zone(FOUR))
    server = f"nameserver {UPSTREAM} up asked="
    lines = resolver.gateway.lines("sessions")
    assert len(lines) == 1 and lines[0].startswith(f"{server}0 answered=0 rtt-us="), lines
    resolver.ask("four.example.", "A")
    lines = resolver.gateway.lines("sessions")
    assert len(lines) == 1 and lines[0].startswith(f"{server}1 answered=1 rtt-us="), lines
    assert lines[0].endswith(" missed=0"), lines
    resolver.servers(one=lambda query: [])
    resolver.send(resolver.query("quiet.example.", "TXT"))
    resolver.gateway.wait(0.02)
    first, *asking = resolver.gateway.lines("sessions")
    assert first.startswith(f"{server}2 answered=1 "), first
    assert len(asking) == 1 and asking[0].lower() == "asking quiet.example. type=16 class=1 tries=1 ms=20", asking
