# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026, the Baregate authors
"""What a hostile neighbour may try: each packet is dropped with a reason, and other traffic goes on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gateway import A, B, INSIDE, LAN, NAT, OUTSIDE, PORT_MAC, SERVER, WAN, Gateway, Host, only
from pieces import cut, join
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw
from traffic import open_out

Start = Callable[..., Gateway]


@pytest.mark.virtual
def test_hairpinned_fragments_without_a_way_end(start: Start) -> None:
    """Later fragments that wait for a filtered first one are parked again and again, but not for ever."""
    gateway = start(NAT.replace("nat.sessions 256", "nat.sessions 4000"))
    for host, port in ((B, 6000), (A, 5000)):
        gateway.lan(IP(src=host.ip, dst=SERVER) / UDP(sport=port, dport=53))
    for number in range(900):
        gateway.lan(IP(src=A.ip, dst=SERVER, id=number, flags="MF") / UDP(sport=5000, dport=53, len=40) / Raw(b"x" * 8))
    for number in range(2000, 2300):
        gateway.lan(IP(src=A.ip, dst=OUTSIDE, id=number, frag=2, proto=17) / Raw(b"y" * 8))
        gateway.lan(IP(src=A.ip, dst=OUTSIDE, id=number, flags="MF") / UDP(sport=5000, dport=6000, len=24) /
                    Raw(b"x" * 8))
    gateway.wait(1)
    assert gateway.stats()["packets_kept"] == 0


def test_identification_used_again_in_another_order(gateway: Gateway) -> None:
    """A packet with the identification of an earlier one is not mixed up with it."""
    open_out(gateway)
    packet = IP(src=A.ip, dst=SERVER, id=1) / UDP(sport=5000, dport=53) / Raw(bytes(range(200)) * 10)
    first = cut(packet, 800)
    whole = join([only(gateway.lan(piece), WAN) for piece in first])
    again = [one for piece in reversed(cut(packet, 800)) for one in gateway.lan(piece)]
    assert len({one.ip.id for one in again}) == 1
    assert bytes(join(again)[UDP]) == bytes(whole[UDP])


@pytest.mark.parametrize("length", [0, 7, 31, 4000])
def test_udp_length_that_lies(gateway: Gateway, length: int) -> None:
    packet = IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=53, len=length) / Raw(b"z" * 22)
    assert gateway.lan(packet, broken=True) == []
    assert gateway.drops() == {"l4-header": 1}


def test_fragment_beyond_the_end_of_any_packet(gateway: Gateway) -> None:
    """Offset and length reach past 65,535, the largest packet."""
    open_out(gateway)
    gateway.lan(IP(src=A.ip, dst=SERVER, id=7, flags="MF") / UDP(sport=5000, dport=53, len=60000) / Raw(b"x" * 8))
    before = gateway.drops().get("ip-length", 0)
    assert gateway.lan(IP(src=A.ip, dst=SERVER, id=7, frag=0x1fff, proto=17) / Raw(b"y" * 1000), broken=True) == []
    assert gateway.drops()["ip-length"] == before + 1


@pytest.mark.parametrize("source", ["127.0.0.1", "224.1.1.1", "255.255.255.255", "0.0.0.0", A.ip, INSIDE, OUTSIDE])
def test_icmp_error_from_an_impossible_source(gateway: Gateway, source: str) -> None:
    sent = only(gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=53)), WAN)
    error = IP(src=source, dst=OUTSIDE) / ICMP(type=3, code=1) / Raw(bytes(sent.ip)[:28])
    assert gateway.wan(error) == []
    assert gateway.drops() == {"martian-source": 1}


def test_our_own_address_from_outside(gateway: Gateway) -> None:
    """A session between two inside hosts through our address takes no forged packets from outside."""
    for one, port, other in ((A, 5000, 6000), (B, 6000, 5000), (A, 5000, 6000)):
        gateway.lan(IP(src=one.ip, dst=SERVER) / UDP(sport=port, dport=53))
        gateway.lan(IP(src=one.ip, dst=OUTSIDE) / UDP(sport=port, dport=other))
    before = gateway.drops().get("martian-source", 0)
    assert gateway.wan(IP(src=OUTSIDE, dst=OUTSIDE) / UDP(sport=5000, dport=6000)) == []
    assert gateway.drops()["martian-source"] == before + 1


@pytest.mark.parametrize("acked", [1, 101])
@pytest.mark.virtual
def test_syn_with_data_is_established(start: Start, acked: int) -> None:
    """RFC 7413: a server may acknowledge the SYN alone, or its data as well."""
    gateway = start(NAT + "nat.tcp-transitory-timeout 5\n")
    syn = IP(src=A.ip, dst=SERVER) / TCP(sport=5000, dport=80, flags="S", seq=1000) / Raw(b"d" * 100)
    port = only(gateway.lan(syn), WAN).ip[TCP].sport
    gateway.wan(IP(src=SERVER, dst=OUTSIDE) / TCP(sport=80, dport=port, flags="SA", seq=7000, ack=1000 + acked))
    gateway.lan(IP(src=A.ip, dst=SERVER) / TCP(sport=5000, dport=80, flags="A", seq=1000 + acked, ack=7001))
    gateway.wait(20)
    assert "established" in gateway.lines("sessions")[0]


@pytest.mark.virtual
def test_a_held_syn_that_gets_in_after_all(start: Start) -> None:
    """RFC 5382 REQ-4: the connection was opened after all, so no error answers its first SYN."""
    gateway = start(NAT + "nat.filtering endpoint-independent\n")
    syn = IP(src=SERVER, dst=OUTSIDE) / TCP(sport=4000, dport=5000, flags="S", seq=9)
    assert gateway.wan(syn) == []
    gateway.lan(IP(src=A.ip, dst=SERVER) / TCP(sport=5000, dport=80, flags="S", seq=1))
    assert only(gateway.wan(syn), LAN).ip[TCP].sport == 4000
    assert gateway.wait(8) == []


@pytest.mark.virtual
def test_a_forwarded_service_survives_a_scan(start: Start) -> None:
    """One inside host has filled the table; clients still reach a server inside."""
    gateway = start(NAT + f"nat.forward tcp 80 {B.ip}:80\n")
    for number in range(300):
        gateway.lan(IP(src=A.ip, dst=SERVER) / TCP(sport=5000, dport=1000 + number, flags="S", seq=1))
    client = IP(src=SERVER, dst=OUTSIDE) / TCP(sport=4000, dport=80, flags="S", seq=9)
    assert only(gateway.wan(client), LAN).ip.dst == B.ip


def test_our_own_announcement_reflected(gateway: Gateway) -> None:
    """RFC 5227 section 2.4: a conflict needs a different hardware address."""
    ours = Host(LAN, INSIDE, PORT_MAC[LAN])
    frame = Ether(src=ours.mac, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=ours.mac, psrc=INSIDE, pdst=INSIDE)
    assert gateway.send(LAN, frame) == []
    assert gateway.drops() == {"arp-other": 1}
