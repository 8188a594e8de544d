# SPDX-License-Identifier: BSD-2-Clause
"""`serve pcp` beside `nat64`: hosts with IPv6 only get ports of the IPv4 address; those with IPv4 too."""

from __future__ import annotations

import portcontrol as pc
import pytest
from gateway import LAN, PORT_MAC, WAN, Gateway, only
from gateway import A as HOST4
from portcontrol import TCP, UDP, Answer, map_request, peer_request
from scapy.layers.inet import IP
from scapy.layers.inet import UDP as Udp
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from six4 import (
    FAR,
    MAC,
    OTHER,
    OWN4,
    OWN6,
    SEVEN,
    SIX,
    Start,
    in_tcp,
    in_udp,
    out_udp,
    six_of,
    start64,
)

pytestmark = pytest.mark.virtual

LAN4 = f"lan.address 192.168.1.1/24\nneighbour {HOST4.ip} {HOST4.mac}\n"


def begin(start: Start, more: str = "") -> Gateway:
    box = start64(start, "serve pcp\n" + more)
    box.wait(300)
    return box


def pcp(gateway: Gateway, data: bytes, host: str = SIX, own: str = OWN6) -> Answer:
    sent = gateway.send(LAN, Ether(src=MAC[host], dst=PORT_MAC[LAN]) / IPv6(src=host, dst=own) /
                        Udp(sport=40000, dport=pc.PORT) / Raw(data))
    back = only(sent, LAN).ip6
    assert (back.src, back.dst, back[Udp].sport, back[Udp].dport) == (own, host, pc.PORT, 40000)
    return pc.parse(bytes(back[Udp].payload))


@pytest.mark.parametrize("tcp", [False, True])
def test_map(start: Start, tcp: bool) -> None:
    """The outer address is ::ffff:… (RFC 6887 section 5); any host of the outside comes in."""
    box = begin(start)
    got = pcp(box, map_request(SIX, 5000, 3600, protocol=TCP if tcp else UDP))
    assert (got.result, got.outside_port, got.outside, got.lifetime) == (pc.SUCCESS, 5000, OWN4, 3600)
    assert f"{'tcp' if tcp else 'udp'} [{SIX}]:5000 {OWN4}:5000 any pcp expires=3600" in box.lines("sessions")
    box.wait(3500)
    for remote in (FAR, OTHER):
        sent = in_tcp(box, 5000, "S", src=remote) if tcp else in_udp(box, 5000, src=remote)
        inside = only(sent, LAN).ip6
        assert (inside.src, inside.dst, inside.payload.dport) == (six_of(remote), SIX, 5000)
    box.wait(600)
    assert box.stats()["pcp_mappings"] == 0 and box.stats()["nat64_bindings"] == 0
    assert box.stats()["nat64_addresses"] == 0


def test_deletion_and_nonce(start: Start) -> None:
    box = begin(start)
    pcp(box, map_request(SIX, 5000))
    assert pcp(box, map_request(SIX, 5000, 0, nonce=bytes(12))).result == pc.NOT_AUTHORIZED
    assert pcp(box, map_request(SEVEN, 5000), SEVEN).outside_port not in (0, 5000)
    assert pcp(box, map_request(SIX, 5000, 0)).result == pc.SUCCESS
    assert in_udp(box, 5000) == [] and box.stats()["nat64_addresses"] == 1


def test_refused(start: Start) -> None:
    """A refusal leaves nothing behind."""
    box = begin(start)
    strict = pc.option(pc.PREFER_FAILURE)
    assert pcp(box, map_request(SEVEN, 5000)).result == pc.ADDRESS_MISMATCH
    assert pcp(box, map_request(SIX, 5000, suggest=80, outside="192.0.2.9", options=strict)).result == 11
    assert pcp(box, peer_request(SIX, 5000, six_of("224.0.0.1"), 9)).result == pc.NOT_AUTHORIZED
    assert pcp(box, peer_request(SIX, 5000, "2001:db8:9::1", 9)).result == pc.NOT_AUTHORIZED
    assert pcp(box, peer_request(SIX, 5000, FAR, 9)).result == pc.NOT_AUTHORIZED
    assert box.stats()["nat64_addresses"] == 0 and box.stats()["nat64_bindings"] == 0


def test_peer(start: Start) -> None:
    """The remote peer is written as the host knows it: under the prefix (RFC 6887 section 12.1)."""
    box = begin(start)
    got = pcp(box, peer_request(SIX, 5000, six_of(FAR), 53, 2000, suggest=7000))
    assert (got.result, got.outside_port, got.outside) == (pc.SUCCESS, 7000, OWN4)
    box.wait(1990)
    inside = only(in_udp(box, 7000), LAN).ip6
    assert (inside.src, inside.dst, inside[Udp].dport) == (six_of(FAR), SIX, 5000)
    assert in_udp(box, 7000, src=OTHER) == []
    assert out_udp(box, 5000) == 7000
    assert pcp(box, peer_request(SIX, 5000, six_of(OTHER), 53, suggest=9)).result == pc.CANNOT_PROVIDE_EXTERNAL
    box.wait(900)
    assert box.stats()["nat64_sessions"] == 0 and box.stats()["nat64_addresses"] == 0


@pytest.mark.parametrize("on", [True, False])
def test_hosts_with_ipv4(start: Start, on: bool) -> None:
    """They get ports where the NAT44 is on."""
    box = begin(start, LAN4 + ("" if on else "nat64.nat off\n"))
    sent = box.send(LAN, Ether(src=HOST4.mac, dst=PORT_MAC[LAN]) / IP(src=HOST4.ip, dst="192.168.1.1") /
                    Udp(sport=40000, dport=pc.PORT) / Raw(map_request(HOST4.ip, 5000)))
    got = pc.parse(bytes(only(sent, LAN).ip[Udp].payload))
    assert got.result == (pc.SUCCESS if on else pc.NOT_AUTHORIZED)
    if on:
        inside = only(in_udp(box, 5000), LAN).ip
        assert (inside.dst, inside[Udp].dport) == (HOST4.ip, 5000)
        assert pcp(box, map_request(SIX, 5000)).outside_port != 5000


def test_announcements(start: Start) -> None:
    """Over IPv6 to ff02::1, from our link-local address."""
    box = start64(start, "serve pcp\n")
    sent = box.wait(300)
    told = [one for one in sent if IPv6 in one.frame and Udp in one.frame and one.frame[Udp].dport == pc.CLIENT_PORT]
    assert told and {one.ip6.dst for one in told} == {"ff02::1"}
    assert all(one.ip6.src.startswith("fe80::") for one in told)
    assert not [one for one in sent if one.port == WAN and one in told]


def test_ipv6_hosts_beside_nat(start: Start) -> None:
    """The NAT translates no IPv6: there is nothing to open, but the epoch is told."""
    box = start("lan.address 192.168.1.1/24\nlan.address 2001:db8:1::1/64\nlan.ra off\nwan.address 203.0.113.2/24\n"
                f"neighbour {SIX} {MAC[SIX]}\nserve pcp\n", "nat")
    box.wait(300)
    assert pcp(box, map_request(SIX, 5000)).result == pc.NOT_AUTHORIZED
    assert pcp(box, pc.request(SIX, pc.ANNOUNCE, 0, b"")).result == pc.SUCCESS


def test_a_host_with_many_addresses(start: Start) -> None:
    """A host takes as many addresses of its /64 as it likes: all of a station are one host."""
    more = [f"2001:db8:1::bad:{i}" for i in range(6)]
    for one in more:
        MAC[one] = MAC[SIX]
    box = begin(start, "pcp.limit 2\n" + "".join(f"neighbour {one} {MAC[SIX]}\n" for one in more))
    results = [pcp(box, map_request(one, 5000), one).result for one in more]
    assert results == [pc.SUCCESS] * 2 + [pc.USER_EX_QUOTA] * 4
    assert pcp(box, map_request(SEVEN, 5000), SEVEN).result == pc.SUCCESS
