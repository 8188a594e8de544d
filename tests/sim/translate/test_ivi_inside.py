# SPDX-License-Identifier: BSD-2-Clause
"""The translator with two inside networks: IPv6 hosts on each, plain IPv6 between them.

    lan: 2001:db8:ffc0:2::/64 SIX 192.0.2.33, lan2: 2001:db8:ffc6:1202::/64 SECOND 198.18.2.33 -- gateway -- .2 FOUR
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from gateway import LAN, LAN2, PORT_MAC, WAN, Gateway, Sent, only
from ivi import FOUR, IVI, OWN4, SIX4, SIX_MAC, World, from4, start_ivi
from net6 import of_kind
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, ICMPv6NDOptPrefixInfo, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
SECOND4, SECOND_MAC = "198.18.2.33", "52:54:00:00:03:0a"
SECOND, OWN2 = IVI.v6(SECOND4), IVI.v6("198.18.2.254")
SIX = IVI.six
MACS = {SIX: SIX_MAC, SECOND: SECOND_MAC}
PORTS = {SIX: LAN, SECOND: LAN2}
MORE = f"""\
lan2 nic2
lan2.address {OWN2}/64
lan2.ra off
neighbour {SECOND} {SECOND_MAC}
ivi.ipv4 198.18.2.0/24
"""
BOTH = pytest.mark.parametrize("host,peer", [(SIX, SECOND), (SECOND, SIX)], ids=["lan", "lan2"])


class _Two(World):
    """The usual configuration and a second inside network; `more` are further lines."""

    more = ""

    @property
    def config(self) -> str:
        return World().config + MORE + self.more


def start_two(start: Start, more: str = "", **options: Any) -> Gateway:
    world = _Two()
    object.__setattr__(world, "more", more)
    return start_ivi(start, world, **options)


@pytest.fixture(params=["fresh", "known"])
def ivi(request: pytest.FixtureRequest, start: Start) -> Gateway:
    gateway = start_two(start)
    if request.param == "known":
        for _ in range(3):
            for host, address in ((SIX, SIX4), (SECOND, SECOND4)):
                only(from6(gateway, host, IPv6(src=host, dst=IVI.v6(FOUR)) / UDP()), WAN)
                only(from4(gateway, IP(src=FOUR, dst=address) / UDP()), PORTS[host])
    return gateway


def from6(gateway: Gateway, host: str, packet: Packet, port: str = "") -> list[Sent]:
    """An IPv6 packet from a host; with `port` it comes in on that interface."""
    port = port or PORTS[host]
    return gateway.send(port, Ether(src=MACS[host], dst=PORT_MAC[port], type=0x86dd) / packet)


@BOTH
@pytest.mark.parametrize("data", [UDP(sport=4, dport=9) / b"x", TCP(sport=4, dport=9)], ids=["udp", "tcp"])
def test_both_ways(ivi: Gateway, host: str, peer: str, data: Packet) -> None:
    address = {SIX: SIX4, SECOND: SECOND4}[host]
    sent = only(from6(ivi, host, IPv6(src=host, dst=IVI.v6(FOUR)) / data), WAN)
    assert (sent.ip.src, sent.ip.dst) == (address, FOUR)
    back = only(from4(ivi, IP(src=FOUR, dst=address) / data), PORTS[host])
    assert (back.frame.dst, back.ip6.src, back.ip6.dst) == (MACS[host], IVI.v6(FOUR), host)
    assert ivi.drops() == {}


@BOTH
def test_between_the_networks(ivi: Gateway, host: str, peer: str) -> None:
    """Nothing is translated, whatever it is."""
    before = ivi.stats()
    for data in (UDP(sport=1, dport=2) / b"x", TCP(), ICMPv6EchoRequest(id=4), Raw(b"other")):
        fields = {"nh": 253} if isinstance(data, Raw) else {}
        packet = IPv6(src=host, dst=peer, hlim=5, **fields) / data
        sent = only(from6(ivi, host, packet), PORTS[peer])
        assert (sent.frame.dst, sent.ip6.src, sent.ip6.dst, sent.ip6.hlim) == (MACS[peer], host, peer, 4)
        assert bytes(sent.ip6.payload) == bytes(IPv6(bytes(packet)).payload)
    after = ivi.stats()
    assert all(after[name] == before[name] for name in after if name.startswith("ivi_translated"))
    assert ivi.drops() == {}


@BOTH
def test_forged_sources(ivi: Gateway, host: str, peer: str) -> None:
    """A source of the other network is neither translated nor forwarded, also when its pair of addresses is known."""
    forged = 0
    for to in (IVI.v6(FOUR), IVI.v6("203.0.113.77"), peer):
        for data in (UDP(sport=4, dport=9), ICMPv6EchoRequest()):
            assert from6(ivi, peer, IPv6(src=peer, dst=to) / data, PORTS[host]) == [], (to, data)
            forged += 1
    assert ivi.drops() == {"martian-source": forged}
    assert only(from6(ivi, peer, IPv6(src=peer, dst=IVI.v6(FOUR)) / UDP()), WAN).ip.src in (SIX4, SECOND4)


def test_own_addresses(ivi: Gateway) -> None:
    """The gateway's address on lan2 answers on both networks and outside; nobody may use it as a source."""
    for host in (SIX, SECOND):
        reply = only(from6(ivi, host, IPv6(src=host, dst=OWN2) / ICMPv6EchoRequest(id=8)), PORTS[host])
        assert (reply.ip6.src, reply.raw[54]) == (OWN2, 129)
        assert from6(ivi, host, IPv6(src=OWN2, dst=IVI.v6(FOUR)) / UDP()) == []
    assert ivi.drops() == {"martian-source": 2}
    assert only(from4(ivi, IP(src=FOUR, dst=OWN4) / ICMP()), WAN)


def test_the_smallest_mtu_decides(start: Start) -> None:
    """Where IPv4 packets are split is the same for all inside networks."""
    ivi = start_two(start, "lan2.mtu 1280\n")
    packet = IP(src=FOUR, dst=SECOND4, flags="DF") / UDP() / Raw(bytes(1272))
    told = only(from4(ivi, packet), WAN)
    assert (told.ip[ICMP].type, told.ip[ICMP].code, told.ip[ICMP].nexthopmtu) == (3, 4, 1260)
    assert len(from4(ivi, IP(src=FOUR, dst=SECOND4) / UDP() / Raw(bytes(1272)))) == 2


def test_advertisements_on_each(start: Start) -> None:
    """Each network's own prefix, on-link, not for address configuration."""
    config = (World().config + MORE).replace("lan.ra off\n", "").replace("lan2.ra off\n", "")
    gateway = start(config, "ivi")
    found = {}
    for sent in of_kind(gateway.wait(20), 134):
        option = sent.frame[ICMPv6NDOptPrefixInfo]
        found[sent.port] = (option.prefix, option.prefixlen, option.L, option.A)
    assert found == {LAN: ("2001:db8:ffc0:2::", 64, 1, 0), LAN2: ("2001:db8:ffc6:1202::", 64, 1, 0)}


def test_listings(ivi: Gateway) -> None:
    assert [line.split()[0] for line in ivi.lines("interfaces")] == [LAN, WAN, LAN2]
    assert any(line.split()[0] == "2001:db8:ffc6:1202::/64" and line.split()[-1] == LAN2
               for line in ivi.lines("routes"))
    assert 'rx_packets{if="lan2"}' in ivi.stats()
