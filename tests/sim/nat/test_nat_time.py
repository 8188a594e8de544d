# SPDX-License-Identifier: BSD-2-Clause
"""How long mappings and sessions live (RFC 4787 REQ-5 and 6, RFC 5382 REQ-5, RFC 5508 REQ-2, RFC 7857 section 2)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gateway import A, LAN, NAT, OUTSIDE, SERVER, SERVER2, Gateway, only
from scapy.layers.inet import ICMP, IP, UDP
from tcp import Connection

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]

ANY = "nat.filtering endpoint-independent\n"
SHORT = "nat.tcp-timeout 20\nnat.tcp-transitory-timeout 15\n"

# A session never ends before its timeout, and not much after it.
SLACK = 2


def out_udp(gateway: Gateway, to: str = SERVER) -> bool:
    return len(gateway.lan(IP(src=A.ip, dst=to) / UDP(sport=5000, dport=53))) == 1


def in_udp(gateway: Gateway, source: str = SERVER) -> bool:
    return len(gateway.wan(IP(src=source, dst=OUTSIDE) / UDP(sport=53, dport=5000))) == 1


def out_echo(gateway: Gateway) -> bool:
    return len(gateway.lan(IP(src=A.ip, dst=SERVER) / ICMP(id=5000))) == 1


def in_echo(gateway: Gateway) -> bool:
    return len(gateway.wan(IP(src=SERVER, dst=OUTSIDE) / ICMP(type=0, id=5000))) == 1


def sessions(gateway: Gateway) -> int:
    return gateway.stats()["nat_sessions"]


def lives(gateway: Gateway, seconds: float) -> bool:
    """Checks that the one session lives for that long, and then ends."""
    gateway.wait(seconds - 0.01)
    there = sessions(gateway)
    gateway.wait(SLACK)
    return there == 1 and sessions(gateway) == 0


# Sessions begin at any fraction of a second: rounding must never end one early.
PHASES = pytest.mark.parametrize("phase", [0, 0.05, 0.5, 0.99])


@PHASES
@pytest.mark.parametrize(("config", "seconds"), [
    ("", 300), ("nat.udp-timeout 120\n", 120), ("nat.udp-timeout 1.5\n", 1.5),
])
def test_udp(start: Start, phase: float, config: str, seconds: float) -> None:
    gateway = start(NAT + config)
    gateway.wait(phase)
    assert out_udp(gateway)
    assert lives(gateway, seconds)
    assert not in_udp(gateway)


@PHASES
@pytest.mark.parametrize(("config", "seconds"), [("", 60), ("nat.icmp-timeout 90\n", 90)])
def test_echo(start: Start, phase: float, config: str, seconds: float) -> None:
    gateway = start(NAT + config)
    gateway.wait(phase)
    assert out_echo(gateway)
    assert lives(gateway, seconds)
    assert not in_echo(gateway)


def test_packets_out_keep_a_session(gateway: Gateway) -> None:
    """RFC 4787 REQ-6."""
    for _ in range(10):
        assert out_udp(gateway)
        gateway.wait(290)
        assert in_udp(gateway)
    assert gateway.stats()["nat_sessions_created"] == 1


def test_refused_packets_keep_nothing(gateway: Gateway) -> None:
    """RFC 7857 section 7."""
    assert out_udp(gateway)
    for _ in range(4):
        gateway.wait(76)
        assert not in_udp(gateway, SERVER2)
    assert sessions(gateway) == 0


def test_errors_from_outside_neither_keep_nor_end(gateway: Gateway) -> None:
    """RFC 4787 REQ-12, RFC 5508 REQ-6."""
    assert out_udp(gateway)
    quoted = IP(src=OUTSIDE, dst=SERVER) / UDP(sport=5000, dport=53)
    gateway.wait(250)
    assert len(gateway.wan(IP(src=SERVER, dst=OUTSIDE) / ICMP(type=3, code=3) / quoted)) == 1
    assert in_udp(gateway)
    gateway.wait(52)
    assert sessions(gateway) == 0


def test_mapping_lives_as_long_as_its_last_session(gateway: Gateway) -> None:
    assert out_udp(gateway)
    gateway.wait(200)
    assert out_udp(gateway, SERVER2)
    gateway.wait(200)
    stats = gateway.stats()
    assert (stats["nat_sessions"], stats["nat_mappings"]) == (1, 1)
    gateway.wait(102)
    assert gateway.stats()["nat_mappings"] == 0


# --- TCP (the state machine is in test_rfc7857.py) ----------------------------------------------


@PHASES
@pytest.mark.parametrize(("config", "seconds"), [
    ("", 240), ("nat.tcp-transitory-timeout 100\n", 100), ("nat.tcp-opening-timeout 30\n", 30),
])
def test_tcp_half_open(start: Start, phase: float, config: str, seconds: float) -> None:
    gateway = start(NAT + config)
    gateway.wait(phase)
    only(Connection(gateway).out("S"))
    assert lives(gateway, seconds)


@PHASES
@pytest.mark.parametrize(("config", "seconds"), [
    ("", 7440 + 240), ("nat.tcp-timeout 9000\n", 9000 + 240), ("nat.tcp-transitory-timeout 20\n", 7440 + 20),
    (SHORT, 20 + 15),
])
def test_tcp_established(start: Start, phase: float, config: str, seconds: float) -> None:
    """9000 s is longer than one rotation of the table's wheel. Both timeouts, one after the other: RFC 7857 figure
    1."""
    gateway = start(NAT + config)
    gateway.wait(phase)
    Connection(gateway).establish()
    assert lives(gateway, seconds)


@pytest.mark.parametrize("end", ["reset", "both FINs"])
def test_tcp_ends_late(start: Start, end: str) -> None:
    """The table checks an old connection only minutes later; its end still comes after its timeout."""
    gateway = start(NAT + "nat.tcp-transitory-timeout 10\n")
    c = Connection(gateway).establish()
    gateway.wait(20)
    if end == "reset":
        only(c.out("R"))
    else:
        only(c.out("FA"))
        only(c.back("FA"), LAN)
        only(c.out("A"))
    assert lives(gateway, 10)


@PHASES
def test_tcp_established_by_syns_that_cross(start: Start, phase: float) -> None:
    """Without a SYN-ACK of the inside host: the ACKs of both sides establish it, and then both timeouts apply."""
    gateway = start(NAT + ANY + SHORT)
    gateway.wait(phase)
    connection = Connection(gateway)
    only(connection.out("S"))
    only(connection.back("S"))
    only(connection.back("A"))
    assert connection.state == "init"
    gateway.wait(1.4)
    only(connection.out("PA", b"\0"))
    assert connection.state == "established"
    gateway.wait(20 + 2)
    assert connection.state == "transitory"
    assert lives(gateway, 15 - 2)


# --- the clock --------------------------------------------------------------------------------------


def test_a_long_sleep_ends_everything(gateway: Gateway) -> None:
    Connection(gateway).establish()
    assert out_udp(gateway)
    assert out_echo(gateway)
    gateway.wait(100000)
    assert sessions(gateway) == 0


def test_milliseconds_wrap(start: Start) -> None:
    gateway = start(NAT, now=2**32 / 1000 - 100)
    assert out_udp(gateway)
    assert lives(gateway, 300)


def test_many_sessions_end_in_one_second(start: Start) -> None:
    """One tick checks a bounded number of sessions; all have expired soon after."""
    gateway = start(NAT.replace("nat.sessions 256", "nat.sessions 5000"))
    frame = bytes(IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=53, chksum=0))
    ethernet = bytes.fromhex("02000000000152540000010a0800")
    frames = []
    for port in range(2000, 6000):
        raw = bytearray(ethernet + frame)
        raw[34:36] = port.to_bytes(2, "big")
        frames.append(("lan", bytes(raw)))
    assert all(len(sent) == 1 for sent in gateway.send_many(frames))
    gateway.wait(299.9)
    assert sessions(gateway) == 4000
    gateway.wait(SLACK)
    assert sessions(gateway) == 0
