# SPDX-License-Identifier: BSD-2-Clause
"""The NAT: mapping, filtering, port choice, hairpinning, exhaustion (RFC 3022, RFC 4787, RFC 5382)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from gateway import (
    A, B, INSIDE, LAN, NAT, NEAR, OUTSIDE, PORT_MAC, ROUTER, SERVER, SERVER2, WAN, Gateway, Host, Sent, only,
)
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from traffic import use_up

Start = Callable[..., Gateway]
PROTOCOLS = pytest.mark.parametrize("proto", [UDP, TCP], ids=["udp", "tcp"])


def header(proto: Any, sport: int, dport: int, flags: str = "S") -> Packet:
    return TCP(sport=sport, dport=dport, flags=flags) if proto is TCP else UDP(sport=sport, dport=dport)


def outward(gateway: Gateway, sport: int, *, host: Host = A, to: str = SERVER, dport: int = 53, proto: Any = UDP,
            flags: str = "S") -> int:
    """Sends a packet from inside; gives the external port."""
    sent = only(gateway.ip_from(host, IP(src=host.ip, dst=to) / header(proto, sport, dport, flags)), WAN)
    assert (sent.ip.src, sent.ip.dst, sent.ip[proto].dport) == (OUTSIDE, to, dport)
    external: int = sent.ip[proto].sport
    return external


def inward(gateway: Gateway, port: int, *, source: str = SERVER, sport: int = 53, proto: Any = UDP,
           flags: str = "SA") -> list[Sent]:
    return gateway.wan(IP(src=source, dst=OUTSIDE) / header(proto, sport, port, flags))


# --- both ways -----------------------------------------------------------------------------------


@PROTOCOLS
@pytest.mark.parametrize("data", [b"", b"1", b"12", b"\xff" * 1400])
def test_there_and_back(gateway: Gateway, proto: Any, data: bytes) -> None:
    packet = IP(src=A.ip, dst=SERVER, tos=0x2e, id=0x4242, flags="DF") / header(proto, 40000, 80) / data
    sent = only(gateway.lan(packet), WAN)
    assert (sent.frame.dst, sent.ip.src, sent.ip.dst, sent.ip.tos) == (ROUTER.mac, OUTSIDE, SERVER, 0x2e)
    assert bytes(sent.ip[proto].payload) == data
    reply = IP(src=SERVER, dst=OUTSIDE, tos=0x10) / header(proto, 80, sent.ip[proto].sport, "SA") / data
    back = only(gateway.wan(reply), LAN)
    assert (back.frame.dst, back.ip.src, back.ip.dst, back.ip.tos) == (A.mac, SERVER, A.ip, 0x10)
    assert (back.ip[proto].sport, back.ip[proto].dport) == (80, 40000)
    assert bytes(back.ip[proto].payload) == data


def test_tcp_fields_and_options_pass(gateway: Gateway) -> None:
    options = [("MSS", 1460), ("SAckOK", b""), ("WScale", 7), ("Timestamp", (1, 0)), ("EOL", None)]
    tcp = TCP(sport=1, dport=2, flags="SEC", seq=2**32 - 1, ack=5, window=1234, urgptr=9, options=options)
    sent = only(gateway.lan(IP(src=A.ip, dst=SERVER) / tcp), WAN).ip[TCP]
    assert (sent.seq, sent.ack, sent.window, sent.urgptr, str(sent.flags)) == (2**32 - 1, 5, 1234, 9, "SEC")
    assert sent.options == options


def test_echo_there_and_back(gateway: Gateway) -> None:
    sent = only(gateway.lan(IP(src=A.ip, dst=SERVER) / ICMP(id=77, seq=3) / b"data"), WAN)
    assert (sent.ip.src, sent.frame[ICMP].type, sent.frame[ICMP].seq) == (OUTSIDE, 8, 3)
    reply = IP(src=SERVER, dst=OUTSIDE) / ICMP(type=0, id=sent.frame[ICMP].id, seq=3) / b"data"
    back = only(gateway.wan(reply), LAN)
    assert (back.ip.dst, back.frame[ICMP].id, back.frame[ICMP].seq) == (A.ip, 77, 3)
    assert bytes(back.frame[ICMP].payload) == b"data"


def test_echo_reply_of_nothing_but_zeros(gateway: Gateway) -> None:
    """Identifier 0 is changed outside; the sum of the reply inside is +0."""
    sent = only(gateway.lan(IP(src=A.ip, dst=SERVER) / ICMP(id=0, seq=0)), WAN)
    assert sent.frame[ICMP].id != 0
    back = only(gateway.wan(IP(src=SERVER, dst=OUTSIDE) / ICMP(type=0, id=sent.frame[ICMP].id, seq=0)), LAN)
    assert (back.frame[ICMP].id, back.frame[ICMP].chksum) == (0, 0xffff)


def test_two_hosts_with_one_echo_identifier(gateway: Gateway) -> None:
    ids = {}
    for host in (A, B):
        ids[host.ip] = only(gateway.ip_from(host, IP(src=host.ip, dst=SERVER) / ICMP(id=5)), WAN).frame[ICMP].id
    assert len(set(ids.values())) == 2
    for host in (A, B):
        back = only(gateway.wan(IP(src=SERVER, dst=OUTSIDE) / ICMP(type=0, id=ids[host.ip])), LAN)
        assert (back.ip.dst, back.frame[ICMP].id) == (host.ip, 5)


def test_udp_without_checksum_stays_without(gateway: Gateway) -> None:
    """RFC 3022 section 4.1."""
    sent = only(gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=9, dport=53, chksum=0) / b"x"), WAN)
    assert sent.ip[UDP].chksum == 0
    back = only(inward_raw(gateway, UDP(sport=53, dport=sent.ip[UDP].sport, chksum=0) / b"x"), LAN)
    assert back.ip[UDP].chksum == 0


def inward_raw(gateway: Gateway, payload: Packet) -> list[Sent]:
    return gateway.wan(IP(src=SERVER, dst=OUTSIDE) / payload)


def test_udp_checksum_never_becomes_zero(gateway: Gateway) -> None:
    """A sum of zero is sent as all ones (RFC 768)."""
    base = IP(src=A.ip, dst=SERVER) / UDP(sport=9, dport=53) / b"\0\0"
    translated = only(gateway.lan(base), WAN).ip[UDP]
    given: int = translated.chksum
    # With the checksum appended to the data, the new checksum is zero.
    zero = IP(src=A.ip, dst=SERVER) / UDP(sport=9, dport=53) / given.to_bytes(2, "big")
    sent = only(gateway.lan(zero), WAN)
    assert sent.ip[UDP].chksum == 0xffff


def test_wrong_checksum_stays_wrong(gateway: Gateway) -> None:
    """The NAT must not repair a packet that was damaged before it: the receiver must notice."""
    packet = IP(src=A.ip, dst=SERVER) / TCP(sport=9, dport=53, chksum=0x1234)
    sent = only(gateway.lan(packet, broken=True), WAN)
    given = sent.ip[TCP].chksum
    again = IP(bytes(sent.ip))
    del again[TCP].chksum
    assert IP(bytes(again))[TCP].chksum != given


@pytest.mark.parametrize(("number", "size"), [(17, 0), (17, 1), (17, 7), (6, 0), (6, 8), (6, 19), (1, 0), (1, 7)])
def test_short_transport_header(gateway: Gateway, number: int, size: int) -> None:
    assert gateway.lan(IP(src=A.ip, dst=SERVER, proto=number) / Raw(bytes(size))) == []
    assert gateway.wan(IP(src=SERVER, dst=OUTSIDE, proto=number) / Raw(bytes(size))) == []
    assert gateway.drops() == {"l4-header": 2}


# --- mapping and filtering -----------------------------------------------------------------------


@PROTOCOLS
def test_mapping_is_endpoint_independent(gateway: Gateway, proto: Any) -> None:
    """RFC 4787 REQ-1: one external port, whatever the remote endpoint."""
    ports = {outward(gateway, 5000, to=to, dport=dport, proto=proto)
             for to in (SERVER, SERVER2, NEAR.ip) for dport in (53, 80, 5000)}
    assert len(ports) == 1
    stats = gateway.stats()
    assert (stats["nat_sessions"], stats["nat_mappings"]) == (9, 1)


def test_protocols_have_ports_of_their_own(gateway: Gateway) -> None:
    assert outward(gateway, 5000, proto=UDP) == outward(gateway, 5000, proto=TCP) == 5000
    assert inward(gateway, 5000, proto=TCP)[0].ip.proto == 6


FILTERING = [
    # filtering, and who gets in: packets from the same endpoint, another port of it, another address
    ("endpoint-independent", (True, True, True)),
    ("address-dependent", (True, True, False)),
    ("address-and-port-dependent", (True, False, False)),
]


@PROTOCOLS
@pytest.mark.parametrize(("filtering", "allowed"), FILTERING)
def test_filtering(start: Start, filtering: str, allowed: tuple[bool, ...], proto: Any) -> None:
    gateway = start(NAT + f"nat.filtering {filtering}\n")
    port = outward(gateway, 5000, proto=proto)
    tries = ((SERVER, 53), (SERVER, 54), (SERVER2, 53))
    for (source, sport), passes in zip(tries, allowed):
        sent = inward(gateway, port, source=source, sport=sport, proto=proto, flags="S")
        assert len(sent) == passes, (source, sport)
        for one in sent:
            assert (one.port, one.ip.dst, one.ip[proto].dport) == (LAN, A.ip, 5000)
    refused = allowed.count(False)
    assert gateway.drops() == ({"filtered": refused} if refused else {})


def test_default_filtering_is_address_dependent(start: Start) -> None:
    gateway = start(NAT)
    port = outward(gateway, 5000)
    assert len(inward(gateway, port, sport=99)) == 1
    assert inward(gateway, port, source=SERVER2) == []


@pytest.mark.virtual
def test_filtering_ends_with_the_session_that_allowed_it(start: Start) -> None:
    """Another session keeps the mapping; the old remote address is no longer allowed."""
    gateway = start(NAT)
    port = outward(gateway, 5000, to=SERVER)
    gateway.wait(200)
    outward(gateway, 5000, to=SERVER2)
    gateway.wait(110)
    assert inward(gateway, port, source=SERVER) == []
    assert len(inward(gateway, port, source=SERVER2)) == 1


def test_unsolicited_packets_do_not_pass(gateway: Gateway) -> None:
    for proto in (UDP, TCP):
        assert inward(gateway, 5000, proto=proto, flags="S") == []
    assert gateway.drops() == {"no-mapping": 2}


@pytest.mark.parametrize("flags", ["A", "SA", "F", "FA", "R", "RA", "PA", "", "SF", "SR"])
def test_tcp_of_no_connection(gateway: Gateway, flags: str) -> None:
    """A segment other than a SYN opens no session."""
    assert gateway.lan(IP(src=A.ip, dst=SERVER) / TCP(sport=1, dport=2, flags=flags)) == []
    assert gateway.drops() == {"no-session": 1}
    assert gateway.lines("sessions") == []


# --- the external port -----------------------------------------------------------------------------


@PROTOCOLS
@pytest.mark.parametrize("port", [1, 2, 22, 1023, 1024, 1025, 33333, 65534, 65535])
def test_port_is_preserved_when_free(gateway: Gateway, proto: Any, port: int) -> None:
    assert outward(gateway, port, proto=proto) == port


@PROTOCOLS
@pytest.mark.parametrize("port", [1, 2, 500, 1022, 1023, 1024, 1025, 5004, 65534, 65535])
def test_taken_port_keeps_range_and_parity(gateway: Gateway, proto: Any, port: int) -> None:
    """RFC 4787 REQ-3a and REQ-4."""
    hosts = [Host(LAN, f"192.168.1.{n}", A.mac) for n in range(10, 40)]
    ports = [outward(gateway, port, host=host, proto=proto) for host in hosts]
    assert ports[0] == port
    assert len(set(ports)) == len(ports)
    assert all(one % 2 == port % 2 and (one < 1024) == (port < 1024) and one > 0 for one in ports)
    # Each answer reaches its own host.
    answers = gateway.send_many([
        (WAN, Ether(src=ROUTER.mac, dst=PORT_MAC[WAN]) / IP(src=SERVER, dst=OUTSIDE) / header(proto, 53, one, "SA"))
        for one in ports[:2]])
    assert only(answers[0]).ip.dst == A.ip
    assert only(answers[1]).ip.dst == B.ip


@pytest.mark.virtual
def test_taken_ports_are_unpredictable(start: Start) -> None:
    """RFC 6056: other seeds give other ports; and the ports are spread over the range."""
    seen = []
    for seed in range(1, 6):
        gateway = start(NAT, seed=seed)
        outward(gateway, 5000, host=A)
        seen.append(outward(gateway, 5000, host=B))
    assert len(set(seen)) == 5
    assert max(seen) - min(seen) > 8192


@pytest.mark.virtual
def test_freed_port_is_used_again(gateway: Gateway) -> None:
    outward(gateway, 5000, host=A)
    assert outward(gateway, 5000, host=B) != 5000
    gateway.wait(302)
    assert outward(gateway, 5000, host=B) == 5000


def crowd(n: int, start: int = 0) -> list[str]:
    return [f"10.{k >> 16}.{k >> 8 & 255}.{k & 255}" for k in range(start + 1, start + n + 1)]


CROWD = (f"lan.address 10.255.255.1/8\nwan.address {OUTSIDE}/24\ngateway {ROUTER.ip}\n"
         f"neighbour {ROUTER.ip} {ROUTER.mac}\n")


def from_crowd(ip: str, sport: int, dport: int = 53) -> tuple[str, Packet]:
    # Scapy is slow: a packet is built once, and only the fields that differ are set.
    return LAN, Ether(src=A.mac, dst=PORT_MAC[LAN]) / IP(src=ip, dst=SERVER) / UDP(sport=sport, dport=dport)


@pytest.mark.virtual
def test_ports_run_out_and_come_back(start: Start) -> None:
    """When all ports that may serve a host are used, the host gets 3/13 (RFC 5508 REQ-8)."""
    gateway = start(CROWD + "nat.sessions 70000\n" + f"neighbour 10.0.9.9 {A.mac}\nneighbour 10.0.9.8 {A.mac}\n")
    use_up(gateway, Host(LAN, "10.0.9.8", A.mac), range(1, 65536), answered=True)
    for port in (5000, 501):
        refused = only(gateway.send(*from_crowd("10.0.9.9", port)), LAN)
        assert (refused.frame[ICMP].type, refused.frame[ICMP].code) == (3, 13)
    assert gateway.drops() == {"no-port": 2}
    assert gateway.stats()["nat_mappings"] == 65535
    gateway.wait(302)
    assert only(gateway.send(*from_crowd("10.0.9.9", 500)), WAN).ip[UDP].sport == 500


@pytest.mark.virtual
def test_table_fills_and_recovers(start: Start) -> None:
    gateway = start(CROWD + "nat.sessions 100\n" + f"neighbour 10.0.9.9 {A.mac}\n")
    answers = gateway.send_many([from_crowd(ip, 5000) for ip in crowd(100)])
    assert all(only(sent).port == WAN for sent in answers)
    refused = only(gateway.send(*from_crowd("10.0.9.9", 5000)), LAN)
    assert (refused.frame[ICMP].type, refused.frame[ICMP].code) == (3, 13)
    stats = gateway.stats()
    assert (stats["nat_sessions"], stats["nat_table_full"]) == (100, 1)
    assert gateway.drops() == {"table-full": 1}
    # A host with a session keeps it.
    assert only(gateway.send(*from_crowd("10.0.0.1", 5000)), WAN).ip[UDP].sport == 5000
    gateway.wait(302)
    assert gateway.stats()["nat_sessions"] == 0
    only(gateway.send(*from_crowd("10.0.9.9", 5000)), WAN)
    assert gateway.stats()["nat_sessions_created"] == 101


def test_full_table_sends_no_error_outside(start: Start) -> None:
    gateway = start(CROWD + "nat.sessions 100\nnat.filtering endpoint-independent\n")
    gateway.send_many([from_crowd(ip, 5000) for ip in crowd(100)])
    assert inward(gateway, 5000, source=SERVER2) == []
    assert gateway.drops() == {"table-full": 1}


# --- hairpinning -----------------------------------------------------------------------------------


@PROTOCOLS
def test_hairpin(start: Start, proto: Any) -> None:
    """RFC 4787 REQ-9: the source that the other host sees is the external one."""
    gateway = start(NAT + "nat.filtering endpoint-independent\n")
    port_b = outward(gateway, 6000, host=B, proto=proto)
    packet = IP(src=A.ip, dst=OUTSIDE, ttl=9) / header(proto, 7000, port_b, "S") / b"hello"
    sent = only(gateway.lan(packet), LAN)
    assert (sent.frame.dst, sent.ip.src, sent.ip.dst, sent.ip.ttl) == (B.mac, OUTSIDE, B.ip, 8)
    assert (sent.ip[proto].sport, sent.ip[proto].dport) == (7000, 6000)
    assert bytes(sent.ip[proto].payload) == b"hello"
    answer = IP(src=B.ip, dst=OUTSIDE) / header(proto, 6000, sent.ip[proto].sport, "SA") / b"hi"
    back = only(gateway.ip_from(B, answer), LAN)
    assert (back.frame.dst, back.ip.src, back.ip.dst) == (A.mac, OUTSIDE, A.ip)
    assert (back.ip[proto].sport, back.ip[proto].dport) == (port_b, 7000)
    assert gateway.stats()["hairpinned_packets"] == 2


def test_hairpin_is_filtered_like_the_outside(start: Start) -> None:
    gateway = start(NAT)
    port_b = outward(gateway, 6000, host=B)
    knock = IP(src=A.ip, dst=OUTSIDE) / UDP(sport=7000, dport=port_b)
    assert gateway.lan(knock) == []
    assert gateway.drops() == {"filtered": 1}
    gateway.ip_from(B, IP(src=B.ip, dst=OUTSIDE) / UDP(sport=6000, dport=7000))
    only(gateway.lan(knock), LAN)


def test_hairpin_to_oneself(start: Start) -> None:
    gateway = start(NAT + "nat.filtering endpoint-independent\n")
    port = outward(gateway, 6000)
    sent = only(gateway.lan(IP(src=A.ip, dst=OUTSIDE) / UDP(sport=6000, dport=port) / b"me"), LAN)
    assert (sent.ip.src, sent.ip[UDP].sport, sent.ip.dst, sent.ip[UDP].dport) == (OUTSIDE, port, A.ip, 6000)


def test_hairpin_off(start: Start) -> None:
    gateway = start(NAT + "nat.hairpin off\nnat.filtering endpoint-independent\n")
    port_b = outward(gateway, 6000, host=B)
    assert gateway.lan(IP(src=A.ip, dst=OUTSIDE) / UDP(sport=7000, dport=port_b)) == []
    assert gateway.drops() == {"hairpin": 1}


def test_hairpin_to_nobody(gateway: Gateway) -> None:
    error = only(gateway.lan(IP(src=A.ip, dst=OUTSIDE) / UDP(sport=7000, dport=6000)), LAN)
    assert (error.frame[ICMP].type, error.frame[ICMP].code) == (3, 3)
    assert (error.ip.src, IP(error.quote).dst) == (INSIDE, OUTSIDE)


@pytest.mark.virtual
def test_hairpin_to_a_host_that_does_not_answer_arp(start: Start) -> None:
    """The error reaches the sender, and quotes the packet that it sent."""
    lines = [line for line in NAT.splitlines() if B.ip not in line]
    gateway = start("\n".join(lines) + "\nnat.filtering endpoint-independent\n")
    port_b = outward(gateway, 6000, host=B)
    question = only(gateway.lan(IP(src=A.ip, dst=OUTSIDE) / UDP(sport=7000, dport=port_b) / b"hello"), LAN)
    assert question.arp.pdst == B.ip
    error = only([one for one in gateway.wait(4) if one.frame.type == 0x800], LAN)
    assert (error.ip.dst, error.frame[ICMP].type, error.frame[ICMP].code) == (A.ip, 3, 1)
    inner = IP(error.quote)
    assert (inner.src, inner.dst, inner[UDP].sport, inner[UDP].dport) == (A.ip, OUTSIDE, 7000, port_b)
