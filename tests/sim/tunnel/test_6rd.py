# SPDX-License-Identifier: BSD-2-Clause
"""6rd (RFC 5969), the same code with other parameters: prefix, its length, number of IPv4 bits left out, relay."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network

import pytest
from examples import examples
from gateway import A, LAN, ROUTER, WAN, Gateway, only
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP
from scapy.packet import Raw
from simulator import Refused, Simulator
from tunnel import Tunnel, in_site, inner, ip6, ping6, told

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]

OWN, EDGE, PEER, BR = "10.1.2.3", "10.1.2.1", "10.7.8.9", "10.0.0.1"
PREFIX = IPv6Network("2001:db8::/32")
NATIVE6 = "2001:db9::5"


def site(v4: str, prefix: IPv6Network = PREFIX, mask: int = 8) -> IPv6Network:
    """The delegated prefix: RFC 5969 section 4."""
    length = prefix.prefixlen + 32 - mask
    bits = int(IPv4Address(v4)) & ((1 << 32 - mask) - 1)
    return IPv6Network((int(prefix.network_address) | bits << 128 - length, length))


def at(v4: str, subnet: int = 1, host: int = 10) -> str:
    return str(IPv6Address(int(site(v4).network_address) | subnet << 64 | host))


OWN6, HOST6, PEER6 = at(OWN, host=1), at(OWN), at(PEER, 7, 7)
CONFIG = f"""\
lan.address 192.168.1.1/24
lan.address {OWN6}/64
wan.address {OWN}/24
gateway {EDGE}
neighbour {EDGE} {ROUTER.mac}
neighbour {A.ip} {A.mac}
neighbour {HOST6} {A.mac}
lan.ra off
6rd.prefix {PREFIX}
6rd.mask 8
6rd.relay {BR}
"""


@pytest.fixture(params=["on", "off"], ids=["nat", "no-nat"])
def rd(request: pytest.FixtureRequest, start: Start) -> Tunnel:
    return Tunnel(start(CONFIG + f"6to4.nat {request.param}\n", "6to4"), OWN)


def refused(tunnel: Tunnel, packet: Raw, reason: str, src: str) -> None:
    assert tunnel.into(packet, src) == []
    assert tunnel.dropped() == reason


def test_golden(rd: Tunnel) -> None:
    packet = ping6(HOST6, PEER6, hlim=64)
    sent = only(rd.out(packet), WAN)
    header = sent.raw[14:34]
    assert header[:4] == bytes((0x45, 0, 0, 20 + len(packet)))
    assert header[6:10] == bytes((0, 0, 64, 41))
    assert header[12:] == bytes((10, 1, 2, 3, 10, 7, 8, 9))
    expected = bytearray(bytes(packet))
    expected[7] = 63
    assert sent.raw[34:] == bytes(expected)
    got = ip6(only(rd.into(ping6(PEER6, HOST6), PEER), LAN))
    assert (got.src, got.dst, got.hlim) == (PEER6, HOST6, 63)
    assert rd.gateway.drops() == {}


def test_native_through_the_relay(rd: Tunnel) -> None:
    for address in (NATIVE6, in_site("198.51.100.7"), "2001:db7:ffff::1"):
        assert only(rd.out(ping6(HOST6, address)), WAN).ip.dst == BR
        assert ip6(only(rd.into(ping6(address, HOST6), BR), LAN)).src == address


def test_spoofed_sources(rd: Tunnel) -> None:
    """RFC 5969 section 12: the embedded address MUST be the outer one, except for packets from the relay."""
    refused(rd, ping6(PEER6, HOST6), "inner-source", "10.7.8.10")
    refused(rd, ping6(PEER6, HOST6), "inner-source", "11.7.8.9")
    refused(rd, ping6(NATIVE6, HOST6), "native-source", PEER)
    refused(rd, ping6(HOST6, at(OWN, host=11)), "inner-source", PEER)
    refused(rd, ping6(HOST6, at(OWN, host=11)), "inner-source", BR)
    assert ip6(only(rd.into(ping6(PEER6, HOST6), BR), LAN)).src == PEER6


def test_destination_outside_the_delegated_prefix(rd: Tunnel) -> None:
    """Section 12: MUST be dropped."""
    for address in (PEER6, NATIVE6, in_site("198.51.100.7"), "2001:db8::1"):
        refused(rd, ping6(PEER6, address), "inner-destination", PEER)
        refused(rd, ping6(NATIVE6, address), "inner-destination", BR)


def test_black_hole(rd: Tunnel) -> None:
    """Packets to the rest of the delegated prefix are dropped (section 7.1.1)."""
    unused = at(OWN, 0x55)
    assert told(rd.out(ping6(HOST6, unused))) == (1, 0, 0)
    assert rd.dropped() == "no-route"
    error = only(rd.into(ping6(PEER6, unused), PEER), WAN)
    assert error.ip.dst == PEER and bytes(inner(error))[40] == 1


def test_private_endpoints_are_valid(rd: Tunnel) -> None:
    """Section 3.3: the provider's IPv4 network may be private; loopback addresses and groups are still invalid."""
    assert only(rd.out(ping6(HOST6, at("10.255.255.254"))), WAN).ip.dst == "10.255.255.254"
    refused(rd, ping6(NATIVE6, HOST6), "tunnel-end", "127.0.0.1")
    refused(rd, ping6(NATIVE6, HOST6), "tunnel-end", "240.0.0.1")
    for v4 in ("10.1.2.0", "10.1.2.255"):  # broadcast addresses of the WAN
        assert rd.out(ping6(HOST6, at(v4))) == []
        assert rd.dropped() == "tunnel-end"


def test_source_outside_the_site(rd: Tunnel) -> None:
    for source in (PEER6, NATIVE6):
        assert told(rd.out(ping6(source, PEER6))) == (1, 5, 0)
        assert rd.dropped() == "ingress"


def test_source_of_a_native_network_on_the_lan(start: Start) -> None:
    """The relay passes on no packet with a source there, in the 6rd domain or outside."""
    own = at("10.9.9.9")
    tunnel = Tunnel(start(CONFIG + f"lan.address 2001:db9:1::1/64\nroute {own}/128 via {HOST6}\n", "6to4"), OWN)
    for source in ("2001:db9:1::1", "2001:db9:1::10", own):
        refused(tunnel, ping6(source, HOST6), "inner-source", BR)
    for source in (NATIVE6, PEER6):
        assert ip6(only(tunnel.into(ping6(source, HOST6), BR), LAN)).src == source


def test_icmp_errors(rd: Tunnel) -> None:
    quoted = only(rd.out(ping6(HOST6, PEER6)), WAN).raw[14:]
    error = IP(src=EDGE, dst=OWN) / ICMP(type=3, code=0) / Raw(quoted)
    assert told(rd.gateway.wan(error, broken=True)) == (1, 0, 0)


def test_without_a_relay(start: Start) -> None:
    tunnel = Tunnel(start(CONFIG.replace(f"6rd.relay {BR}\n", ""), "6to4"), OWN)
    assert told(tunnel.out(ping6(HOST6, NATIVE6))) == (1, 0, 0)
    assert tunnel.dropped() == "no-relay"
    refused(tunnel, ping6(NATIVE6, HOST6), "native-source", BR)
    assert only(tunnel.out(ping6(HOST6, PEER6)), WAN).ip.dst == PEER


def wrong(start: Start, config: str) -> str:
    with pytest.raises(Refused) as refusal:
        start(config, "6to4")
    return str(refusal.value)


def test_contradicting_parameters(start: Start) -> None:
    base = f"lan.address 192.168.1.1/24\nwan.address {OWN}/24\nlan.ra off\n"
    assert wrong(start, base + "6rd.prefix 2001:db8::/40\n") == \
        "6rd.prefix: with 32 bits of IPv4 address there is no room for a /64"
    assert wrong(start, base + "6rd.prefix 2001:db8::/32\n6rd.mask 8\n6to4.subnet 256\n") == \
        "6to4.subnet: 256 does not fit, the site's prefix is a /56"
    start(base + "6rd.prefix 2001:db8::/32\n6rd.mask 8\n6to4.subnet 255\n", "6to4")
    start(base + "6rd.prefix 2001:db8::/32\n6to4.subnet 255\n", "6to4")  # a /64 has one subnet
    assert wrong(start, base + f"6rd.prefix 2001:db8::/32\n6rd.relay {OWN}\n") == \
        f"6rd.relay: {OWN} is the gateway itself"


ARITHMETIC = examples(60)


@ARITHMETIC
@given(length=st.integers(8, 64), mask=st.integers(0, 32), own=st.integers(2, 250), peer=st.integers(0, 2**32 - 1),
       bits=st.integers(0, 2**64 - 1))
def test_any_parameters(sim: Simulator, length: int, mask: int, own: int, peer: int, bits: int) -> None:
    """The prefix of a site and the address in it, for every length and mask, compared with plain arithmetic."""
    if length + 32 - mask > 64:
        mask = length - 32
    prefix = IPv6Network((0x20 << 120 | (bits << 64 >> 5 << 2) & ((1 << 125) - 1), length), strict=False)
    v4 = f"11.22.33.{own}"
    common = int(IPv4Address(v4)) >> 32 - mask << 32 - mask if mask else 0
    far = str(IPv4Address(common | peer & ((1 << 32 - mask) - 1)))
    config = f"""\
wan.address {v4}/24
gateway 11.22.33.1
neighbour 11.22.33.1 {ROUTER.mac}
6to4.nat off
6to4.subnet 0
lan.ra off
6rd.prefix {prefix}
6rd.mask {mask}
"""
    ours = site(v4, prefix, mask)
    host = str(ours.network_address + 10)
    gateway = Gateway(sim, config + f"lan.address {ours.network_address + 1}/64\nneighbour {host} {A.mac}\n", "6to4")
    tunnel = Tunnel(gateway, v4)
    there = str(site(far, prefix, mask).network_address + 99)
    good = far.split(".")[:3] != ["11", "22", "33"] and not ipaddress.ip_address(far).is_multicast and \
        int(far.split(".")[0]) not in (0, 127) and int(far.split(".")[0]) < 224
    sent = tunnel.out(ping6(host, there))
    if good:
        assert only(sent, WAN).ip.dst == far
        assert ip6(only(tunnel.into(ping6(there, host), far), LAN)).src == there
        other = str(IPv4Address(int(IPv4Address(far)) ^ 1))
        assert tunnel.into(ping6(there, host), other) == []
    gateway.finish()
