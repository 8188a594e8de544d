# SPDX-License-Identifier: BSD-2-Clause
"""6rd whose domain the lease of the WAN names: option 212 (RFC 5969 sections 4 and 7.1.1)."""

from __future__ import annotations

import struct
from ipaddress import IPv6Address, IPv6Network

import pytest
from gateway import A, LAN, PORT_MAC, WAN, Gateway, Sent
from leases import CONFIG, MINE, OTHER, Server, Start, Uplink, begin, ip, said
from scapy.layers.inet import IP
from scapy.layers.inet6 import ICMPv6ND_RA, ICMPv6NDOptPrefixInfo, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from test_6rd import PREFIX, site
from tunnel import ping6

pytestmark = pytest.mark.virtual
BR, BR2 = "198.51.100.9", "198.51.100.10"
OTHER_PREFIX = IPv6Network("2001:db9::/32")
ASKS = CONFIG + "wan.dhcp-probe off\n6rd.prefix dhcp\n"
SIX_RD = 212
NATIVE6 = "2001:dba::5"


def option(prefix: IPv6Network = PREFIX, mask: int = 8, *relays: str, length: int | None = None,
           bits: bytes | None = None) -> bytes:
    data = struct.pack("!BB", mask, prefix.prefixlen if length is None else length)
    return data + (bits or prefix.network_address.packed) + ip(*(relays or (BR,)))


def leased(start: Start, value: bytes | None, **server: object) -> Uplink:
    """A gateway that has a lease with this option, after duplicate address detection."""
    options = {} if value is None else {SIX_RD: value}
    uplink = begin(start, Server(options=options, **server), config=ASKS, app="6to4", seconds=4)  # type: ignore[arg-type]
    uplink.gateway.sources[WAN] = None
    return uplink


def own(gateway: Gateway) -> list[str]:
    return [word for line in gateway.lines("interfaces") if line.startswith("lan ")
            for word in line.split() if word.startswith("2001:")]


def host(network: IPv6Network, subnet: int = 1, number: int = 10) -> str:
    return str(IPv6Address(int(network.network_address) | subnet << 64 | number))


def out(uplink: Uplink, source: str, to: str) -> list[Sent]:
    """The frames to the WAN when host A sends a packet."""
    sent = uplink.gateway.send(LAN, Ether(src=A.mac, dst=PORT_MAC[LAN]) / ping6(source, to))
    return [one for one in uplink.settle(sent) + uplink.run(1) if one.port == WAN and IP in one.frame
            and one.frame[IP].proto == 41]


def advertised(sent: list[Sent]) -> dict[str, tuple[int, int]]:
    """Prefix, valid and preferred lifetime, of the last advertisement of the LAN."""
    found = {}
    for one in sent:
        if one.port == LAN and ICMPv6ND_RA in one.frame:
            found = {}
            at = one.frame[ICMPv6ND_RA].payload
            while at:
                if isinstance(at, ICMPv6NDOptPrefixInfo):
                    found[at.prefix] = (at.validlifetime, at.preferredlifetime)
                at = at.payload
    return found


def test_rfc5969_section_7_the_domain_of_the_lease(start: Start) -> None:
    """The first relay counts; bits behind the prefix do not."""
    spoiled = bytearray(PREFIX.network_address.packed)
    spoiled[15] = 1
    uplink = leased(start, option(PREFIX, 8, BR, BR2, bits=bytes(spoiled)))
    network = site(MINE)
    assert own(uplink.gateway) == [f"{host(network, 1, 1)}/64"]
    native, = out(uplink, host(network), NATIVE6)
    assert (native.frame[IP].src, native.frame[IP].dst) == (MINE, BR)
    peer, = out(uplink, host(network), host(site("203.9.9.9"), 5, 5))
    assert peer.frame[IP].dst == "203.9.9.9"


def test_rfc5969_section_4_lifetimes_follow_the_lease(start: Start) -> None:
    uplink = leased(start, option(), lease=600)
    net = str(IPv6Address(int(site(MINE).network_address) | 1 << 64))
    lives = advertised(uplink.run(200, 1))
    assert set(lives) == {net} and all(0 < life <= 600 for life in lives[net])


def test_rfc5969_the_site_moves_with_the_address(start: Start) -> None:
    """The prefix of the old address is deprecated (RFC 9096), the new one works."""
    uplink = leased(start, option(), lease=60)
    before = own(uplink.gateway)
    uplink.servers[0].gives = OTHER
    sent = uplink.run(70, 0.5)
    assert own(uplink.gateway) == [f"{host(site(OTHER), 1, 1)}/64"] != before
    lives = advertised(sent + uplink.run(30, 1))
    old = str(IPv6Address(int(site(MINE).network_address) | 1 << 64))
    assert lives.get(old, (0, 0))[1] == 0
    assert [one.frame[IP].src for one in out(uplink, host(site(OTHER)), NATIVE6)] == [OTHER]


def test_a_renewal_with_another_domain(start: Start) -> None:
    uplink = leased(start, option(), lease=60)
    uplink.servers[0].options[SIX_RD] = option(OTHER_PREFIX, 16, BR2)
    uplink.run(40, 0.5)
    network = site(MINE, OTHER_PREFIX, 16)
    assert own(uplink.gateway) == [f"{host(network, 1, 1)}/64"]
    assert [one.frame[IP].dst for one in out(uplink, host(network), NATIVE6)] == [BR2]


def test_a_lease_that_ends_takes_the_site(start: Start) -> None:
    uplink = leased(start, option())
    assert own(uplink.gateway)
    uplink.gateway.act("release")
    uplink.run(1)
    assert own(uplink.gateway) == []


@pytest.mark.parametrize("value", [
    None, option()[:21], option() + b"\0", option(mask=33), option(length=0), option(length=129),
    option(length=120, mask=0), option(PREFIX, 8, "0.0.0.0"), option(PREFIX, 8, "255.255.255.255")])
def test_without_a_good_domain_there_is_no_tunnel(start: Start, value: bytes | None) -> None:
    """The lease holds; the log says what is missing."""
    uplink = leased(start, value)
    assert own(uplink.gateway) == []
    assert said(uplink.gateway, "6to4: no tunnel: the lease of wan.address dhcp has no 6rd domain")
    if value is not None:
        assert said(uplink.gateway, "a 6rd domain that is malformed")
    assert out(uplink, host(site(MINE)), NATIVE6) == []


@pytest.mark.parametrize("value", [option(IPv6Network("fd00::/32")), option(length=56), option(mask=0, length=40)])
def test_a_domain_that_cannot_be_used(start: Start, value: bytes) -> None:
    """A local prefix; no room for a /64."""
    uplink = leased(start, value)
    assert said(uplink.gateway, "6to4: no tunnel: ")
    assert out(uplink, host(site(MINE)), NATIVE6) == []


def test_a_forged_source_is_refused(start: Start) -> None:
    """The checks of RFC 5969 section 12 hold with the lease's parameters."""
    uplink = leased(start, option())
    inner = bytes(ping6(host(site("203.9.9.9"), 5, 5), host(site(MINE))))
    frame = Ether(src="52:54:00:00:02:01", dst=PORT_MAC[WAN]) / IP(src="203.9.9.10", dst=MINE, proto=41) / Raw(inner)
    assert [one for one in uplink.gateway.send(WAN, frame) if IPv6 in one.frame and one.port == LAN] == []
    assert uplink.gateway.drops() == {"inner-source": 1}
