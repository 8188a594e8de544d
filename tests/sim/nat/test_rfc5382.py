# SPDX-License-Identifier: BSD-2-Clause
"""RFC 5382, NAT behaviour for TCP (BCP 142), requirement by requirement. test_rfc7857.py checks the state machine."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
from gateway import A, B, LAN, NAT, OUTSIDE, SERVER, SERVER2, WAN, Gateway, Sent, only
from scapy.layers.inet import ICMP, IP, TCP
from scapy.packet import Raw
from tcp import Connection
from traffic import answer, icmp_kind, open_out, outer

Start = Callable[..., Gateway]
ANY = "nat.filtering endpoint-independent\n"
FILTERS = ("endpoint-independent", "address-dependent", "address-and-port-dependent")
BORDER = 6.0  # seconds before the ICMP error


def syn(gateway: Gateway, dport: int, *, source: str = SERVER, sport: int = 80, **fields: Any) -> list[Sent]:
    return gateway.wan(IP(src=source, dst=OUTSIDE, **fields) / TCP(sport=sport, dport=dport, flags="S", seq=9))


def test_req1_endpoint_independent_mapping(gateway: Gateway) -> None:
    """REQ-1."""
    open_out(gateway, "tcp", host=B)
    ports = {open_out(gateway, "tcp", to=f"198.51.100.{n}", dport=dport) for n in range(1, 9) for dport in (22, 80)}
    assert len(ports) == 1 and ports != {5000}


# --- REQ-2: every sequence of packets --------------------------------------------------------------


@pytest.mark.parametrize("filtering", FILTERS)
def test_req2_three_way_handshake(start: Start, filtering: str) -> None:
    """REQ-2: from inside, data in both directions, both ends close."""
    connection = Connection(start(NAT + f"nat.filtering {filtering}\n")).establish()
    for data in (b"question", b"more"):
        assert bytes(only(connection.out("PA", data), WAN).ip[TCP].payload) == data
        assert bytes(only(connection.back("PA", data), LAN).ip[TCP].payload) == data
    for step in (connection.out("FA"), connection.back("A"), connection.back("FA"), connection.out("A")):
        assert len(step) == 1


@pytest.mark.parametrize("filtering", FILTERS)
@pytest.mark.parametrize("sender", ["out", "back"])
def test_req2a_simultaneous_open(start: Start, filtering: str, sender: str) -> None:
    """REQ-2a: the SYNs cross; both SYN-ACKs pass, in either order (RFC 9293 figure 7)."""
    connection = Connection(start(NAT + f"nat.filtering {filtering}\n"))
    only(connection.out("S"), WAN)
    only(connection.back("S"), LAN)
    connection.seq = {side: seq - 1 for side, seq in connection.seq.items()}
    acks = {side: {"seq": connection.seq[side], "ack": connection.seq[other] + 1}
            for side, other in (("in", "out"), ("out", "in"))}
    steps = [lambda: only(connection.out("SA", **acks["in"]), WAN),
             lambda: only(connection.back("SA", **acks["out"]), LAN)]
    for step in steps if sender == "out" else steps[::-1]:
        step()
    assert connection.state == "established"


def test_req2_opened_from_outside_where_allowed(start: Start) -> None:
    """REQ-2: from outside if the filter permits: an existing mapping under endpoint-independent filtering."""
    gateway = start(NAT + ANY)
    port = open_out(gateway, "tcp", 5000, to=SERVER2)
    connection = Connection(gateway, sport=5000, external=port, dport=4444)
    assert only(connection.back("S"), LAN).ip[TCP].dport == 5000
    only(connection.out("SA"), WAN)
    only(connection.back("A"), LAN)
    assert connection.state == "established"


def test_req2_opened_from_outside_by_a_forwarded_port(start: Start) -> None:
    """REQ-2: the administrator may permit it, too."""
    gateway = start(NAT + f"nat.forward tcp 8080 {B.ip}:80\n")
    connection = Connection(gateway, inside=B, sport=80, external=8080, dport=4444)
    seen = only(connection.back("S"), LAN)
    assert (seen.ip.dst, seen.ip[TCP].dport) == (B.ip, 80)
    assert outer(only(connection.out("SA"), WAN)) == 8080
    only(connection.back("A"), LAN)
    assert connection.state == "established"


@pytest.mark.parametrize("flags", ["", "A", "PA", "FA", "F", "R", "RA", "SA", "SF", "SR", "FPU"])
@pytest.mark.virtual
def test_req2_segments_that_open_no_session(start: Start, flags: str) -> None:
    gateway = start(NAT + ANY)
    open_out(gateway, "tcp", to=SERVER2)
    created = gateway.stats()["nat_sessions_created"]
    assert gateway.lan(IP(src=A.ip, dst=SERVER) / TCP(sport=5000, dport=80, flags=flags)) == []
    assert gateway.wan(IP(src=SERVER, dst=OUTSIDE) / TCP(sport=80, dport=5000, flags=flags)) == []
    assert gateway.stats()["nat_sessions_created"] == created
    assert gateway.drops() == {"no-session": 2}
    assert gateway.wait(10) == []


# --- REQ-3: filtering ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("filtering", "allowed"), [
    ("endpoint-independent", (True, True, True)), ("address-dependent", (True, True, False)),
    ("address-and-port-dependent", (True, False, False)),
])
def test_req3_filtering_and_req3a_its_switch(start: Start, filtering: str, allowed: tuple[bool, ...]) -> None:
    """REQ-3 and 3a."""
    gateway = start(NAT + f"nat.filtering {filtering}\n")
    open_out(gateway, "tcp", dport=80)
    for (source, sport), passes in zip(((SERVER, 80), (SERVER, 81), (SERVER2, 80)), allowed):
        assert len(syn(gateway, 5000, source=source, sport=sport)) == passes


# --- REQ-4: unsolicited SYNs ------------------------------------------------------------------------------


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("phase", [0, 0.01, 0.05, 0.099, 0.5])
@pytest.mark.virtual
def test_req4_silence_for_six_seconds_then_icmp(gateway: Gateway, filtered: bool, phase: float) -> None:
    """REQ-4: for a SYN without mapping, or filtered: nothing for six seconds, then ICMP 3/3 about it, never a RST."""
    gateway.wait(phase)
    if filtered:
        open_out(gateway, "tcp", 7000, to=SERVER2)
    assert syn(gateway, 7000) == []
    assert gateway.wait(BORDER - 0.001) == []
    told = only(gateway.wait(0.5), WAN)
    assert icmp_kind(told) == (3, 3)
    assert (told.ip.src, told.ip.dst) == (OUTSIDE, SERVER)
    inner = IP(told.quote)
    assert (inner.src, inner.dst) == (SERVER, OUTSIDE)
    assert told.quote[20:28] == struct.pack("!HHI", 80, 7000, 9)
    assert gateway.wait(20) == []
    assert gateway.drops() == {"filtered" if filtered else "no-mapping": 1}


@pytest.mark.parametrize("after", [0, 1, 5.9])
@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.virtual
def test_req4_opened_from_inside_meanwhile(gateway: Gateway, filtered: bool, after: float) -> None:
    """REQ-4: after an outbound SYN of the same connection the held SYN is dropped silently."""
    if filtered:
        open_out(gateway, "tcp", 7000, to=SERVER2)
    assert syn(gateway, 7000) == []
    assert gateway.wait(after) == []
    connection = Connection(gateway, sport=7000)
    sent = only(connection.out("S"), WAN)
    assert (sent.ip[TCP].sport, sent.ip[TCP].dport) == (7000, 80)
    assert gateway.wait(20) == []
    # The other side sends its SYN again: simultaneous open.
    only(connection.back("S"), LAN)


@pytest.mark.parametrize("other", [{"sport": 7001}, {"server": SERVER2}, {"dport": 81}, {"inside": B}])
@pytest.mark.virtual
def test_req4_another_connection_does_not_prevent_the_error(gateway: Gateway, other: dict[str, Any]) -> None:
    open_out(gateway, "tcp", 7000, to="198.51.100.99")
    assert syn(gateway, 7000) == []
    Connection(gateway, **{"sport": 7000, **other}).out("S")
    assert icmp_kind(only(gateway.wait(7), WAN)) == (3, 3)


@pytest.mark.virtual
def test_req4_retransmissions_cause_one_error(gateway: Gateway) -> None:
    for _ in range(5):
        assert syn(gateway, 7000) == []
        assert gateway.wait(1) == []
    only(gateway.wait(2), WAN)
    assert gateway.wait(10) == []


@pytest.mark.parametrize("source", ["127.0.0.1", "224.0.0.1", "192.168.1.77", OUTSIDE, "255.255.255.255"])
@pytest.mark.virtual
def test_req4_no_answer_to_a_forged_source(gateway: Gateway, source: str) -> None:
    assert syn(gateway, 7000, source=source) == []
    assert gateway.wait(10) == []


@pytest.mark.virtual
def test_req4_only_syns_are_answered(gateway: Gateway) -> None:
    for flags in ("A", "SA", "FA", "R", "", "SR"):
        assert gateway.wan(IP(src=SERVER, dst=OUTSIDE) / TCP(sport=80, dport=7000, flags=flags)) == []
    assert gateway.wait(10) == []


@pytest.mark.virtual
def test_req4a_a_flood_of_syns_is_bounded(gateway: Gateway) -> None:
    """REQ-4a: SYNs for which there is no room are dropped silently; no packet is held."""
    frames = []
    for number in range(3000):
        packet = IP(src=f"198.51.{number // 250}.{number % 250 + 1}", dst=OUTSIDE) / TCP(dport=number, flags="S")
        frames.append(("wan", bytes.fromhex("020000000002525400000201") + b"\x08\x00" + bytes(packet)))
    assert all(sent == [] for sent in gateway.send_many(frames))
    stats = gateway.stats()
    assert (stats["packets_free"], stats["nat_sessions"]) == (gateway.free, 0)
    assert gateway.wait(5.9) == []
    assert 200 <= len([one for one in gateway.wait(1) if icmp_kind(one) == (3, 3)]) <= 256


# --- REQ-5: timers ----------------------------------------------------------------------------------------------


@pytest.mark.virtual
def test_req5_established_for_two_hours_and_four_minutes(gateway: Gateway) -> None:
    """REQ-5: a connection is not ended before that time, nor after it while one side sends."""
    connection = Connection(gateway).establish()
    for _ in range(3):
        gateway.wait(7439.9)
        only(connection.back("A"), LAN)
        only(connection.out("A"), WAN)
    assert gateway.stats()["nat_sessions_created"] == 1


@pytest.mark.parametrize("steps", [["S"], ["S", "SA"]])
@pytest.mark.virtual
def test_req5_partly_open_for_four_minutes(gateway: Gateway, steps: list[str]) -> None:
    """REQ-5: partly open until both ends have sent an ACK."""
    connection = Connection(gateway)
    only(connection.out("S"))
    if len(steps) > 1:
        only(connection.back("SA"))
    gateway.wait(239.9)
    assert connection.state == "init"
    gateway.wait(3)
    assert connection.state == "none"


@pytest.mark.virtual
def test_req5a_timers_are_configurable(start: Start) -> None:
    """REQ-5a, and RFC 7857 section 2.1: opening, closing and established each have a setting."""
    gateway = start(NAT + "nat.tcp-timeout 50\nnat.tcp-transitory-timeout 20\nnat.tcp-opening-timeout 5\n")
    opening = Connection(gateway, sport=5001)
    only(opening.out("S"))
    closing, idle = Connection(gateway, sport=5002).establish(), Connection(gateway, sport=5003).establish()
    only(closing.out("FA"))
    only(closing.back("FA"))
    gateway.wait(4.9)
    assert opening.state == "init"
    gateway.wait(2)
    assert (opening.state, closing.state) == ("none", "both-fin")
    gateway.wait(13)
    assert closing.state == "both-fin"
    gateway.wait(2)
    assert (closing.state, idle.state) == ("none", "established")
    gateway.wait(30)
    assert idle.state == "transitory"
    gateway.wait(21)
    assert idle.state == "none"


def test_req6_no_alg(gateway: Gateway) -> None:
    """REQ-6: there is no ALG; payloads of FTP and SIP pass unchanged."""
    for dport, data in ((21, b"PORT 192,168,1,10,19,136\r\n"), (5060, b"INVITE sip:192.168.1.10 SIP/2.0\r\n")):
        connection = Connection(gateway, dport=dport).establish()
        assert bytes(only(connection.out("PA", data)).ip[TCP].payload) == data
        assert bytes(only(connection.back("PA", data)).ip[TCP].payload) == data


def test_req7_no_port_overloading(gateway: Gateway) -> None:
    """REQ-7."""
    ports = []
    for n in range(20, 120):
        packet = IP(src=f"192.168.1.{n}", dst=f"198.51.100.{n}") / TCP(sport=5000, dport=80, flags="S")
        ports.append(outer(only(gateway.lan(packet), WAN)))
    assert len(set(ports)) == 100


def test_req8_hairpinning_with_req8a_the_external_source(start: Start) -> None:
    """REQ-8 and 8a: a whole connection between two inside hosts by their external endpoints."""
    gateway = start(NAT + f"nat.forward tcp 8080 {B.ip}:80\n")
    there = Connection(gateway, server=OUTSIDE, dport=8080)
    seen = only(there.out("S"), LAN)
    assert (seen.ip.src, seen.ip[TCP].sport, seen.ip.dst, seen.ip[TCP].dport) == (OUTSIDE, 5000, B.ip, 80)
    for flags, data in (("SA", b""), ("PA", b"from B")):
        tcp = TCP(sport=80, dport=5000, flags=flags, seq=there.seq["out"], ack=there.seq["in"])
        back = only(gateway.ip_from(B, IP(src=B.ip, dst=OUTSIDE) / tcp / data), LAN)
        assert (back.ip.src, back.ip[TCP].sport, back.ip.dst, back.ip[TCP].dport) == (OUTSIDE, 8080, A.ip, 5000)
        assert bytes(back.ip[TCP].payload) == data
        there.seq["out"] += 1 if flags == "SA" else len(data)
        sent = there.gateway.ip_from(A, there.segment("in", "A"))
        assert only(sent, LAN).ip.dst == B.ip
    states = {line.split()[-2] for line in gateway.lines("sessions")}
    assert states == {"established"}


@pytest.mark.parametrize("code", range(16))
def test_req9_destination_unreachable_is_translated(gateway: Gateway, code: int) -> None:
    """REQ-9."""
    sent = only(Connection(gateway).out("S"), WAN)
    told = only(gateway.wan(IP(src="192.0.2.9", dst=OUTSIDE) / ICMP(type=3, code=code) / Raw(bytes(sent.ip)[:28])), LAN)
    assert (icmp_kind(told), told.ip.dst, told.quote[20:28]) == ((3, code), A.ip, bytes(sent.ip)[20:28])
    assert told.quote[12:16] == bytes((192, 168, 1, 10))


@pytest.mark.parametrize("kind", [3, 4, 5, 11, 12])
@pytest.mark.virtual
def test_req10_icmp_ends_no_connection(gateway: Gateway, kind: int) -> None:
    """REQ-10."""
    connection = Connection(gateway)
    quoted = only(connection.out("S"), WAN).ip
    only(connection.back("SA"))
    only(connection.out("A"))
    for code in range(16):
        gateway.wan(IP(src=SERVER, dst=OUTSIDE) / ICMP(type=kind, code=code) / Raw(bytes(quoted)))
    gateway.wait(7439)
    assert connection.state == "established"
    only(connection.back("A"), LAN)


def test_segments_of_an_unknown_connection(gateway: Gateway) -> None:
    """Section 5 leaves it open: a segment without a session is dropped and counted."""
    assert answer(gateway, "tcp", 5000) == []
    assert gateway.drops() == {"no-mapping": 1}
