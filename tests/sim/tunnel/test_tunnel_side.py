# SPDX-License-Identifier: BSD-2-Clause
"""The application as a third side for IPv6: packets out of its tunnel and into it.

The tunnel is that of tests/host/route6.c, which checks nothing: what is refused here is refused for every application.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from gateway import LAN, WAN, Gateway, Sent, only
from net6 import A6, FAR6, OWN, OWN_LOCAL, SIX, Start, kind6, send, start6
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6EchoRequest, IPv6, IPv6ExtHdrFragment
from scapy.layers.l2 import Ether
from scapy.packet import Packet

pytestmark = pytest.mark.virtual

PEER, PEER_MAC, OUTER = "203.0.113.9", "52:54:00:00:02:09", "203.0.113.2"
BEHIND = "2001:db8:a::7"  # a host behind the tunnel
CONFIG = SIX + f"wan.address {OUTER}/24\nneighbour {PEER} {PEER_MAC}\n"


@pytest.fixture
def six(start: Start) -> Gateway:
    return start6(start, CONFIG)


def arrive(gateway: Gateway, inner: Packet) -> list[Sent]:
    """Lets a packet come out of the tunnel."""
    outer = Ether(src=PEER_MAC, dst="02:00:00:00:00:02") / IP(src=PEER, dst=OUTER, proto=41) / inner
    return gateway.send(WAN, outer)


def inner_of(sent: Sequence[Sent]) -> list[Packet]:
    """The packets that were sent into the tunnel."""
    for one in sent:
        assert one.port == WAN and (one.ip.src, one.ip.dst, one.ip.proto) == (OUTER, PEER, 41), one.frame.summary()
    return [one.frame[IPv6] for one in sent]


def test_into_the_tunnel_and_out(six: Gateway) -> None:
    packet = only_inner(send(six, A6, IPv6(src=A6.ip, dst=BEHIND, hlim=9) / UDP(sport=5) / b"out"))
    assert (packet.src, packet.dst, packet.hlim, packet[UDP].sport) == (A6.ip, BEHIND, 8, 5)
    back = only(arrive(six, IPv6(src=BEHIND, dst=A6.ip, hlim=9) / UDP(sport=6)), LAN)
    assert (back.ip6.hlim, back.frame.dst, back.frame[UDP].sport) == (8, A6.mac, 6)
    assert six.stats()["forwarded_packets"] == 2


def only_inner(sent: Sequence[Sent]) -> Packet:
    packets = inner_of(sent)
    assert len(packets) == 1
    return packets[0]


def test_our_answers_go_into_the_tunnel(six: Gateway) -> None:
    reply = only_inner(arrive(six, IPv6(src=BEHIND, dst=OWN[LAN]) / ICMPv6EchoRequest(data=b"hello")))
    assert (reply.src, reply.dst, reply.hlim, reply[ICMPv6EchoReply].data) == (OWN[LAN], BEHIND, 64, b"hello")


def test_our_answers_fit_every_path(six: Gateway) -> None:
    pieces = inner_of(arrive(six, IPv6(src=BEHIND, dst=OWN[LAN]) / ICMPv6EchoRequest(data=bytes(1300))))
    assert len(pieces) == 2 and all(len(piece) <= 1280 for piece in pieces)
    assert [piece[IPv6ExtHdrFragment].m for piece in pieces] == [1, 0]


def test_errors_about_what_came_out_go_back_in(six: Gateway) -> None:
    error = only_inner(arrive(six, IPv6(src=BEHIND, dst=A6.ip, hlim=1) / UDP()))
    assert (error.dst, bytes(error)[40:42]) == (BEHIND, bytes([3, 0])) and error.src in OWN.values()
    error = only_inner(arrive(six, IPv6(src=BEHIND, dst=FAR6.replace("f", "b")) / UDP()))
    assert bytes(error)[40:42] == bytes([1, 0])


def test_too_big_for_the_tunnel(six: Gateway) -> None:
    assert len(inner_of(send(six, A6, IPv6(src=A6.ip, dst=BEHIND) / UDP() / bytes(1400 - 48)))) == 1
    error = only(send(six, A6, IPv6(src=A6.ip, dst=BEHIND) / UDP() / bytes(1400 - 47)), LAN)
    assert kind6(error) == (2, 0) and int.from_bytes(error.raw[58:62], "big") == 1400


def test_a_network_without_a_next_hop(six: Gateway) -> None:
    """A route without a next hop: reported as no route (RFC 4443 section 3.1, code 0)."""
    assert kind6(only(send(six, A6, IPv6(src=A6.ip, dst="2001:db8:b::1") / UDP()), LAN)) == (1, 0)
    assert six.drops() == {"no-route": 1}


def test_no_error_to_a_forged_source(six: Gateway) -> None:
    """RFC 4443 section 2.4 (e): about a packet that is refused before its source is checked."""
    nowhere = "2001:db8:b::1"
    for source in (FAR6, BEHIND, OWN[LAN], OWN[WAN], nowhere):
        assert send(six, A6, IPv6(src=source, dst=nowhere) / UDP()) == []
    for source in (FAR6, A6.ip, OWN[LAN], OWN[WAN], nowhere):
        assert arrive(six, IPv6(src=source, dst=nowhere) / UDP()) == []
    assert six.drops() == {"no-route": 10} and six.stats()["icmp_errors_sent"] == 0


@pytest.mark.parametrize("source", ["fe80::1", "::", "ff02::1", "::1", A6.ip, OWN[LAN], FAR6, "2001:db8:b::1"])
def test_sources_that_cannot_be_behind_the_tunnel(six: Gateway, source: str) -> None:
    """Link-local ones are impossible, too: no neighbour discovery comes out of a tunnel (RFC 3964 section 4.1.1)."""
    for target in (A6.ip, OWN[LAN], OWN_LOCAL[WAN], "ff02::1"):
        assert arrive(six, IPv6(src=source, dst=target) / ICMPv6EchoRequest()) == []
    assert sum(six.drops().values()) == 4 and six.stats()["icmp_errors_sent"] == 0


@pytest.mark.parametrize("target", ["ff02::1", "ff0e::1", "fe80::1", OWN_LOCAL[LAN], OWN_LOCAL[WAN], "::1", "::"])
def test_destinations_that_are_on_no_interface(six: Gateway, target: str) -> None:
    assert arrive(six, IPv6(src=BEHIND, dst=target) / ICMPv6EchoRequest()) == []
    assert set(six.drops()) <= {"multicast", "martian-destination"}


def test_out_of_the_tunnel_and_back_in_is_a_loop(six: Gateway) -> None:
    """RFC 6324: without a hop limit such a packet would loop for ever. The test application forwards it, and each round
    costs one hop."""
    packet = only_inner(arrive(six, IPv6(src="2001:db8:a::8", dst=BEHIND, hlim=3) / UDP()))
    assert packet.hlim == 2
