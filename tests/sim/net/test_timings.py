# SPDX-License-Identifier: BSD-2-Clause
"""The console's `timings` of every forwarder: from time to time one packet of each way is timed."""

from __future__ import annotations

from typing import Any

import pytest
from customer import FAR as CLAT_FAR
from customer import OWN6, begin, into, out, six, udp, whole
from gateway import A, LAN, NAT, OUTSIDE, SERVER, Gateway, only
from ivi import timings
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from six4 import Start, in_udp, out_udp, start64
from tunnel import Tunnel, ping6

pytestmark = pytest.mark.virtual

TIMES = 40


def spread(found: dict[str, int], *steps: str) -> None:
    """Every step was timed now and then, both ways; a packet is timed whole or by its steps, never both."""
    for way in ("in", "out"):
        for step in steps:
            assert 5 <= found[f"{way} {step}"] <= TIMES, found


def test_nat(start: Any) -> None:
    gateway: Gateway = start()
    gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=53))
    assert list(timings(gateway)) == [f"{way} {row}" for way in ("in", "out")
                                      for row in ("lookup", "add", "known", "slow")]
    before = timings(gateway)
    for _ in range(TIMES):
        gateway.wait(0.05)  # longer than the interval between two timed packets
        for _ in range(2):
            assert len(gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=53))) == 1
            assert len(gateway.wan(IP(src=SERVER, dst=OUTSIDE) / UDP(sport=53, dport=5000))) == 1
    found = {row: count - before[row] for row, count in timings(gateway).items()}
    spread(found, "lookup", "known")
    for way in ("in", "out"):
        assert found[f"{way} known"] + found[f"{way} lookup"] == TIMES
        assert found[f"{way} add"] == found[f"{way} slow"] == 0


def test_new_sessions_of_the_nat(start: Any) -> None:
    gateway: Gateway = start(NAT + "nat.filtering endpoint-independent\n")
    for number in range(TIMES):
        gateway.wait(0.05)
        only(gateway.lan(IP(src=A.ip, dst=SERVER) / TCP(sport=5000 + number, dport=80, flags="S")))
    found = timings(gateway)
    assert found["out add"] == TIMES == found["out lookup"] and 5 <= found["out slow"] < TIMES
    for number in range(TIMES):
        gateway.wait(0.05)
        gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=53))
        only(gateway.wan(IP(src=SERVER, dst=OUTSIDE) / UDP(sport=60 + number, dport=5000)))
    assert timings(gateway)["in add"] == TIMES


def test_packets_that_are_not_forwarded_end_a_sample_late(start: Any) -> None:
    """Frames that are dropped are timed and not counted, but only some of them."""
    gateway: Gateway = start()
    gateway.lan(IP(src=A.ip, dst=SERVER) / ICMP(id=1))
    before = sum(timings(gateway).values())
    for dropped in (7, 8):
        gateway.wait(0.05)
        for _ in range(dropped):
            assert gateway.lan(IP(src=A.ip, dst="0.0.0.0") / UDP()) == []
        gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5000 + dropped, dport=53))
        timed = sum(timings(gateway).values()) - before
        assert timed > 0 if dropped == 7 else timed == 0
        before += timed


def test_nat64(start: Start) -> None:
    gateway = start64(start)
    port = out_udp(gateway)
    for _ in range(TIMES):
        gateway.wait(0.05)
        for _ in range(2):
            out_udp(gateway)
            only(in_udp(gateway, port))
    found = timings(gateway)
    assert found["out add"] == 1
    spread(found, "lookup", "known")


def test_clat(start: Any) -> None:
    """It has no fast path."""
    gateway = begin(start)
    port = whole(only(out(gateway, udp())).frame)[UDP].sport
    for _ in range(TIMES):
        gateway.wait(0.05)
        for _ in range(2):
            only(out(gateway, udp()))
            only(into(gateway, IPv6(src=six(CLAT_FAR), dst=OWN6) / UDP(sport=53, dport=port)), LAN)
    found = timings(gateway)
    assert {row.partition(" ")[2] for row in found} == {"lookup", "add", "slow"}
    spread(found, "slow")


def test_tunnel(tunnel: Tunnel) -> None:
    for _ in range(TIMES):
        tunnel.gateway.wait(0.05)
        for _ in range(2):
            only(tunnel.out(ping6()))
    found = timings(tunnel.gateway)
    assert found["out known"] + found["out slow"] >= 5 and found["in known"] == 0


def test_a_wire_has_none(start: Any) -> None:
    gateway = start("", app="wire")
    assert gateway.lines("timings") == []
