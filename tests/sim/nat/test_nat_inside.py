# SPDX-License-Identifier: BSD-2-Clause
"""The NAT with three inside networks: sessions from each, and plain forwarding between them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from gateway import (
    A, C, D, INSIDE, INSIDE2, INSIDE3, LAN, LAN2, LAN3, MORE, NAT, NEIGHBOURS, OUTSIDE, PORT_MAC, SERVER, WAN, Gateway,
    Host, Sent, only,
)
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from simulator import Refused

Start = Callable[..., Gateway]
HOSTS = pytest.mark.parametrize("host", [A, C, D], ids=["lan", "lan2", "lan3"])
BETWEEN = pytest.mark.parametrize("host,peer", [(A, C), (C, A), (C, D), (D, A)])
OWN = {LAN: INSIDE, LAN2: INSIDE2, LAN3: INSIDE3}


@pytest.fixture
def nat(start: Start) -> Gateway:
    return start(NAT + MORE + "wan.mtu 1400\n")


def outward(nat: Gateway, host: Host, sport: int = 4000, dport: int = 53, payload: bytes = b"x") -> Sent:
    packet = IP(src=host.ip, dst=SERVER) / UDP(sport=sport, dport=dport) / Raw(payload)
    return only(nat.ip_from(host, packet), WAN)


def back(nat: Gateway, port: int, sport: int = 53) -> list[Sent]:
    return nat.wan(IP(src=SERVER, dst=OUTSIDE) / UDP(sport=sport, dport=port) / Raw(b"y"))


def fresh_drops(nat: Gateway, act: Callable[[], Any]) -> dict[str, int]:
    before = nat.drops()
    act()
    return {reason: n - before.get(reason, 0) for reason, n in nat.drops().items() if n != before.get(reason, 0)}


def test_replies_go_to_the_right_network(nat: Gateway) -> None:
    """The hosts use the same source port and the same server; also once the flows are known."""
    for _ in range(3):
        ports = [(host, outward(nat, host)) for host in (A, C, D)]
        assert len({sent.ip[UDP].sport for _, sent in ports}) == 3
        for host, sent in ports:
            assert sent.ip.src == OUTSIDE
            reply = only(back(nat, sent.ip[UDP].sport), host.port)
            assert (reply.frame.dst, reply.ip.src, reply.ip.dst) == (host.mac, SERVER, host.ip)
            assert reply.ip[UDP].dport == 4000
    assert nat.drops() == {}
    assert nat.stats()["nat_sessions"] == 3


@HOSTS
def test_tcp_and_icmp(nat: Gateway, host: Host) -> None:
    syn = only(nat.ip_from(host, IP(src=host.ip, dst=SERVER) / TCP(sport=4000, dport=80, flags="S")), WAN)
    answer = IP(src=SERVER, dst=OUTSIDE) / TCP(sport=80, dport=syn.ip[TCP].sport, flags="SA")
    assert only(nat.wan(answer), host.port).ip[TCP].dport == 4000
    echo = only(nat.ip_from(host, IP(src=host.ip, dst=SERVER) / ICMP(id=9)), WAN)
    reply = IP(src=SERVER, dst=OUTSIDE) / ICMP(type=0, id=echo.ip[ICMP].id)
    assert only(nat.wan(reply), host.port).ip[ICMP].id == 9
    error = IP(src=SERVER, dst=OUTSIDE) / ICMP(type=3, code=3) / IP(bytes(syn.ip))
    told = only(nat.wan(error), host.port)
    assert told.ip.dst == host.ip and IP(told.quote).src == host.ip


@BETWEEN
@pytest.mark.parametrize("packet", [UDP(sport=1, dport=2) / b"data", TCP(flags="A"), ICMP(), Raw(b"gre")])
def test_between_inside_networks_nothing_is_translated(nat: Gateway, host: Host, peer: Host, packet: Packet) -> None:
    header = IP(src=host.ip, dst=peer.ip, ttl=7, id=5, proto=47 if isinstance(packet, Raw) else None)
    sent = only(nat.ip_from(host, header / packet), peer.port)
    assert (sent.frame.dst, sent.frame.src) == (peer.mac, PORT_MAC[peer.port])
    assert (sent.ip.src, sent.ip.dst, sent.ip.ttl, sent.ip.id) == (host.ip, peer.ip, 6, 5)
    assert bytes(sent.ip.payload) == bytes((header / packet)[IP].payload)
    assert nat.stats()["nat_sessions"] == 0 and nat.drops() == {}


def test_errors_between_inside_networks(nat: Gateway) -> None:
    """The gateway is a router there: TTL, size, and a port of its own that is closed."""
    expired = only(nat.ip_from(C, IP(src=C.ip, dst=D.ip, ttl=1) / UDP()), LAN2)
    assert (expired.ip.src, expired.ip[ICMP].type) == (INSIDE2, 11)
    closed = only(nat.ip_from(C, IP(src=C.ip, dst=INSIDE3) / UDP(sport=1, dport=9)), LAN2)
    assert (closed.ip.dst, closed.ip[ICMP].type, closed.ip[ICMP].code) == (C.ip, 3, 3)
    reply = only(nat.ip_from(C, IP(src=C.ip, dst=INSIDE3) / ICMP(id=3)), LAN2)
    assert (reply.ip.src, reply.ip[ICMP].type) == (INSIDE3, 0)


def test_size_of_each_network(start: Start) -> None:
    nat = start(NAT + MORE + "lan3.mtu 1280\n")
    big = IP(src=C.ip, dst=D.ip, flags="DF") / UDP() / Raw(bytes(1300))
    told = only(nat.ip_from(C, big), LAN2)
    assert (told.ip[ICMP].type, told.ip[ICMP].code, told.ip[ICMP].nexthopmtu) == (3, 4, 1280)
    assert only(nat.ip_from(A, IP(src=A.ip, dst=C.ip, flags="DF") / UDP() / Raw(bytes(1300))), LAN2)
    pieces = nat.ip_from(C, IP(src=C.ip, dst=D.ip) / UDP() / Raw(bytes(1300)))
    assert len(pieces) == 2 and {piece.port for piece in pieces} == {LAN3}


@BETWEEN
def test_martian_sources_between_inside_networks(nat: Gateway, host: Host, peer: Host) -> None:
    """A source of another network: not to that network, not outward, not to the gateway."""
    for to in (peer.ip, D.ip if D not in (host, peer) else A.ip, SERVER, OWN[host.port], OUTSIDE):
        for packet in (UDP(sport=4, dport=9) / b"x", ICMP(id=7), TCP(flags="S")):
            spoofed = IP(src=peer.ip, dst=to) / packet
            assert fresh_drops(nat, partial(nat.ip_from, host, spoofed)).keys() == {"martian-source"}, (to, packet)
    for source in (OWN[peer.port], OWN[host.port], OUTSIDE, "192.168.2.255", "192.168.3.0", "127.0.0.1", SERVER):
        for to in (peer.ip, SERVER):
            spoofed = IP(src=source, dst=to) / UDP(sport=4, dport=9)
            assert fresh_drops(nat, partial(nat.ip_from, host, spoofed)) == {"martian-source": 1}, (source, to)
    assert nat.stats()["nat_sessions"] == 0


@pytest.mark.parametrize("packet", [UDP(sport=4000, dport=53) / b"x", TCP(sport=4000, dport=53, flags="R"),
                                    ICMP(id=4000)], ids=["udp", "tcp", "icmp"])
def test_a_session_belongs_to_its_network(nat: Gateway, packet: Packet) -> None:
    """A host of another network cannot send on the session of A with A's address."""
    mine = IP(src=A.ip, dst=SERVER) / packet
    if TCP in packet:
        mine[TCP].flags = "S"
    only(nat.ip_from(A, mine), WAN)
    frame = Ether(src=C.mac, dst=PORT_MAC[LAN2], type=0x800) / IP(src=A.ip, dst=SERVER) / packet
    for _ in range(2):
        before = nat.stats()
        assert nat.send(LAN2, frame) == []
        assert nat.stats()['drop{reason="martian-source"}'] == before['drop{reason="martian-source"}'] + 1
    assert only(nat.ip_from(A, IP(src=A.ip, dst=SERVER) / packet), WAN)


def test_fragments_of_a_session_from_another_network(nat: Gateway) -> None:
    """A later fragment with the source of A that comes in on lan2 is no fragment of A's packet."""
    first = IP(src=A.ip, dst=SERVER, id=77, flags="MF") / UDP(sport=4, dport=9, len=24, chksum=0) / Raw(bytes(8))
    later = IP(src=A.ip, dst=SERVER, id=77, frag=2, proto=17) / Raw(bytes(8))
    only(nat.ip_from(A, first), WAN)
    assert nat.ip_from(C, later) == []
    assert nat.drops() == {"martian-source": 1}
    assert only(nat.ip_from(A, later), WAN)


@HOSTS
def test_hairpin_from_each_network(start: Start, host: Host) -> None:
    """A host of lan2 has a mapping; every inside host reaches it by the external address, from the external one."""
    nat = start(NAT + MORE + "nat.filtering endpoint-independent\n")
    port = outward(nat, C, 7000).ip[UDP].sport
    sent = only(nat.ip_from(host, IP(src=host.ip, dst=OUTSIDE) / UDP(sport=8000, dport=port) / b"hi"), LAN2)
    assert (sent.frame.dst, sent.ip.src, sent.ip.dst, sent.ip[UDP].dport) == (C.mac, OUTSIDE, C.ip, 7000)
    reply = IP(src=C.ip, dst=OUTSIDE) / UDP(sport=7000, dport=sent.ip[UDP].sport) / b"ho"
    got = only(nat.ip_from(C, reply), host.port)
    assert (got.frame.dst, got.ip.src, got.ip.dst, got.ip[UDP].dport) == (host.mac, OUTSIDE, host.ip, 8000)


def test_port_forward_to_another_network(start: Start) -> None:
    nat = start(NAT + MORE + f"nat.forward tcp 8080 {C.ip}:80\nnat.forward udp 53 {D.ip}:53\n")
    sent = only(nat.wan(IP(src=SERVER, dst=OUTSIDE) / TCP(sport=5, dport=8080, flags="S")), LAN2)
    assert (sent.frame.dst, sent.ip.dst, sent.ip[TCP].dport) == (C.mac, C.ip, 80)
    reply = only(nat.ip_from(C, IP(src=C.ip, dst=SERVER) / TCP(sport=80, dport=5, flags="SA")), WAN)
    assert (reply.ip.src, reply.ip[TCP].sport) == (OUTSIDE, 8080)
    sent = only(nat.wan(IP(src=SERVER, dst=OUTSIDE) / UDP(sport=5, dport=53)), LAN3)
    assert (sent.frame.dst, sent.ip.dst) == (D.mac, D.ip)
    # From an inside host, by the external address.
    sent = only(nat.ip_from(A, IP(src=A.ip, dst=OUTSIDE) / TCP(sport=6, dport=8080, flags="S")), LAN2)
    assert (sent.ip.src, sent.ip.dst, sent.ip[TCP].dport) == (OUTSIDE, C.ip, 80)


@pytest.mark.virtual
def test_forwards_that_lead_nowhere(start: Start) -> None:
    for address in (INSIDE2, "192.168.4.10", SERVER):
        with pytest.raises(Refused, match="nat.forward: the inside address is not on the LAN side"):
            start(NAT + MORE + f"nat.forward tcp 8080 {address}:80\n")


@HOSTS
def test_a_routed_network_behind_an_inside_host(start: Start, host: Host) -> None:
    """Packets of a network behind a router of an inside network come in there only."""
    nat = start(NAT + MORE + f"route 10.9.0.0/16 via {host.ip}\n")
    sent = only(nat.ip_from(host, IP(src="10.9.1.1", dst=SERVER) / UDP(sport=4000, dport=53)), WAN)
    reply = only(back(nat, sent.ip[UDP].sport), host.port)
    assert (reply.frame.dst, reply.ip.dst) == (host.mac, "10.9.1.1")
    other = D if host != D else A
    spoofed = IP(src="10.9.1.1", dst=SERVER) / UDP(sport=4001, dport=53)
    assert fresh_drops(nat, partial(nat.ip_from, other, spoofed)) == {"martian-source": 1}
    through = only(nat.ip_from(other, IP(src=other.ip, dst="10.9.1.1") / UDP()), host.port)
    assert (through.frame.dst, through.ip.src) == (host.mac, other.ip)


def test_inbound_reaches_no_inside_network_by_its_own_address(nat: Gateway) -> None:
    for host in (A, C, D):
        assert fresh_drops(nat, partial(nat.wan, IP(src=SERVER, dst=host.ip) / UDP())) == {"foreign": 1}
        spoofed = IP(src=host.ip, dst=OUTSIDE) / UDP(sport=1, dport=outward(nat, host).ip[UDP].sport)
        assert "martian-source" in fresh_drops(nat, partial(nat.wan, spoofed)) or not nat.wan(spoofed)


def test_arp_on_each_network(start: Start) -> None:
    """The gateway answers for the addresses of that network only, and looks for a neighbour there."""
    nat = start(NAT.replace(NEIGHBOURS, "") + "".join(
        line + "\n" for line in MORE.splitlines() if not line.startswith("neighbour")))
    for host in (A, C, D):
        for target in OWN.values():
            who = Ether(src=host.mac, dst="ff:ff:ff:ff:ff:ff") / ARP(
                op=1, hwsrc=host.mac, psrc=host.ip, hwdst="00:00:00:00:00:00", pdst=target)
            answers = nat.send(host.port, who)
            if target == OWN[host.port]:
                assert only(answers, host.port).arp.hwsrc == PORT_MAC[host.port]
    unknown = "192.168.3.99"
    asked = [one for one in nat.ip_from(C, IP(src=C.ip, dst=unknown) / UDP()) if ARP in one.frame]
    assert only(asked, LAN3).arp.pdst == unknown and asked[0].arp.psrc == INSIDE3


def test_a_network_whose_cable_is_out(nat: Gateway) -> None:
    """The others go on."""
    port = outward(nat, C).ip[UDP].sport
    if nat.sim.virtual:
        nat.link(LAN2, False)
        assert fresh_drops(nat, lambda: back(nat, port)) == {"link-down": 1}
        assert only(nat.ip_from(A, IP(src=A.ip, dst=D.ip) / UDP()), LAN3)
        assert outward(nat, D)
        nat.link(LAN2, True)
    assert only(back(nat, port), LAN2)


@pytest.mark.virtual
def test_slow_and_fast_path_are_the_same(start: Start) -> None:
    """The frames of one conversation, from hosts of all networks at once."""
    def play(slow: bool) -> list[bytes]:
        nat = start(NAT + MORE, slow_path=slow)
        frames: list[bytes] = []
        for _ in range(3):
            for host in (A, C, D):
                sent = outward(nat, host)
                frames += [sent.raw] + [one.raw for one in back(nat, sent.ip[UDP].sport)]
                for peer in (A, C, D):
                    if peer != host:
                        frames += [one.raw for one in nat.ip_from(host, IP(src=host.ip, dst=peer.ip, id=1) / UDP())]
        return frames
    assert play(False) == play(True)


def test_listings(nat: Gateway) -> None:
    """Every interface and every session is listed."""
    for host in (A, C, D):
        outward(nat, host)
    stats = nat.stats()
    for name in (LAN, LAN2, LAN3):
        assert stats[f'rx_packets{{if="{name}"}}'] > 0
        assert f'tx_packets{{if="{name}"}}' in stats
    assert 'rx_packets{if="lan4"}' not in stats
    routes = nat.lines("routes")
    for number, name in ((1, LAN), (2, LAN2), (3, LAN3)):
        assert any(line.startswith(f"192.168.{number}.0/24 ") and line.split()[-1] == name for line in routes), routes
    assert any(LAN2 in line.split() for line in nat.lines("neighbours"))
    sessions = nat.lines("sessions")
    assert all(any(host.ip in line for line in sessions) for host in (A, C, D))
    if nat.sim.virtual:
        assert [line.split()[0] for line in nat.lines("interfaces")] == [LAN, WAN, LAN2, LAN3]
