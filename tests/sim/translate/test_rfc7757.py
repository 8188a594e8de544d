# SPDX-License-Identifier: BSD-2-Clause
"""Hairpinning, RFC 7757 section 4: two IPv6 hosts that reach each other by IPv4 addresses."""

from __future__ import annotations

from typing import Any

import pytest
from gateway import LAN, Gateway, only
from ivi import RFC6052, Start, World, body, check64, dropped, from6, start_ivi, to_four
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment
from scapy.packet import Packet, Raw
from test_ivi_properties import filling
from test_rfc7915_icmp import error6

pytestmark = pytest.mark.virtual


def hairpin_error(gateway: Gateway, src: str, **fields: Any) -> bytes:
    """An error of some IPv6 host about the packet 2001:db8:3::8 -> 10.0.0.9, as that packet's destination saw it."""
    quote = IPv6(src=RFC6052.v6("1.0.0.8"), dst="2001:db8:2::9", hlim=5) / UDP(sport=5, dport=6) / b"data"
    return check64(gateway, RFC6052, error6(1, 4, quote, src=src, dst=RFC6052.v6("1.0.0.8"), **fields))


def test_rfc7757_b1_packet_and_answer(start: Start) -> None:
    """Figures 8 and 11."""
    gateway = start_ivi(start, RFC6052)
    for src, dst, name in (("2001:db8:3::8", "2001:db8:2::9", "10.0.0.9"),
                           ("2001:db8:2::9", "2001:db8:3::8", "1.0.0.8")):
        packet = IPv6(src=src, dst=RFC6052.v6(name), hlim=64, tc=5, fl=7) / UDP(sport=1, dport=2) / b"hairpin"
        sent = only(from6(gateway, packet), LAN)
        own = {"2001:db8:3::8": "1.0.0.8", "2001:db8:2::9": "10.0.0.9"}[src]
        want = IPv6(src=RFC6052.v6(own), dst=dst, hlim=63, tc=5) / UDP(sport=1, dport=2) / b"hairpin"
        assert body(sent).hex() == bytes(want).hex()
    assert gateway.stats()["hairpinned_packets"] == 2


@pytest.mark.parametrize("payload", [TCP(sport=1, dport=2) / filling(1200, 1),
                                     ICMPv6EchoRequest(id=1, seq=2, data=b"x"),
                                     UDP(sport=1, dport=2) / filling(1452, 1)])
def test_rfc7757_of_any_kind(start: Start, payload: Packet) -> None:
    gateway = start_ivi(start, RFC6052)
    packet = IPv6(src="2001:db8:3::8", dst=RFC6052.v6("10.0.0.9")) / payload
    got = check64(gateway, RFC6052, packet)
    assert len(got) == len(bytes(packet))


def test_rfc7757_ivi_hosts_reach_mapped_ones(start: Start) -> None:
    gateway = start_ivi(start, RFC6052)
    sent = only(from6(gateway, to_four(RFC6052, dst=RFC6052.v6("1.0.0.8")) / UDP(sport=1, dport=2)), LAN)
    assert (sent.ip6.src, sent.ip6.dst, sent.ip6.hlim) == (RFC6052.six, "2001:db8:3::8", 63)


def test_rfc7757_fragments(start: Start) -> None:
    gateway = start_ivi(start, RFC6052)
    for offset, more, size in ((0, 1, 1440), (180, 0, 100)):
        packet = IPv6(src="2001:db8:3::8", dst=RFC6052.v6("10.0.0.9")) / IPv6ExtHdrFragment(
            offset=offset, m=more, id=0x1234, nh=47) / Raw(filling(size, 1))
        got = check64(gateway, RFC6052, packet)
        assert got[40:48] == bytes([47, 0]) + (offset << 3 | more).to_bytes(2, "big") + (0x1234).to_bytes(4, "big")


def test_rfc7757_atomic_fragment(start: Start) -> None:
    """No atomic fragment leaves (RFC 8021)."""
    gateway = start_ivi(start, RFC6052)
    packet = IPv6(src="2001:db8:3::8", dst=RFC6052.v6("10.0.0.9")) / IPv6ExtHdrFragment(id=1, nh=47) / Raw(b"data")
    assert only(from6(gateway, packet), LAN).ip6.nh == 47


def test_rfc7757_b1_error_of_a_router(start: Start) -> None:
    """Figure 9; the source is chosen as in RFC 6791, and it is not mapped."""
    gateway = start_ivi(start, RFC6052)
    got = IPv6(hairpin_error(gateway, "2001:db8::1234"))
    assert (got.src, got.dst) == (RFC6052.v6("203.0.113.8"), "2001:db8:3::8")
    inner = IPv6(bytes(got)[48:])
    assert (inner.src, inner.dst) == ("2001:db8:3::8", RFC6052.v6("10.0.0.9"))


def test_rfc7757_b1_error_of_the_host(start: Start) -> None:
    """Figure 10: the source of the error is the destination of the packet, so it is not mapped either."""
    gateway = start_ivi(start, RFC6052)
    got = IPv6(hairpin_error(gateway, "2001:db8:2::9"))
    assert (got.src, got.dst) == (RFC6052.v6("10.0.0.9"), "2001:db8:3::8")
    inner = IPv6(bytes(got)[48:])
    assert (inner.src, inner.dst) == ("2001:db8:3::8", RFC6052.v6("10.0.0.9"))


def test_rfc7757_error_of_another_mapped_host(start: Start) -> None:
    """Section 4.2.1, rule 3 is about the destination only: another mapped source is translated."""
    gateway = start_ivi(start, RFC6052)
    assert IPv6(hairpin_error(gateway, "2001:db8:2::77")).src == "2001:db8:2::77"


def test_rfc7757_large_error_is_not_truncated_twice(start: Start) -> None:
    gateway = start_ivi(start, RFC6052)
    quote = IPv6(src=RFC6052.v6("1.0.0.8"), dst="2001:db8:2::9", hlim=5) / UDP(sport=5, dport=6) / filling(1400, 1)
    packet = error6(2, 0, bytes(quote)[:1232], 1400, src="2001:db8:2::9", dst=RFC6052.v6("1.0.0.8"))
    got = check64(gateway, RFC6052, packet)
    assert len(got) == 1280 and int.from_bytes(got[44:48], "big") == 1400


def test_rfc7757_without_route(start: Start) -> None:
    world = World("2001:db8:100::/40", "rfc6052", own4="192.0.2.1", maps=[("1.0.0.0/24", "2001:db8:3::/120")])
    gateway = start_ivi(start, world)
    sent = dropped(gateway, lambda: from6(gateway, to_four(world, dst=world.v6("1.0.0.8")) / UDP()), "no-route")
    assert body(only(sent, LAN))[40:42] == b"\1\0"


def test_rfc7757_hop_limit(start: Start) -> None:
    gateway = start_ivi(start, RFC6052)
    packet = IPv6(src=RFC6052.six, dst=RFC6052.v6("10.0.0.9"), hlim=1) / UDP()
    assert body(only(dropped(gateway, lambda: from6(gateway, packet), "ttl"), LAN))[40:42] == b"\3\0"


@pytest.mark.parametrize("proto", [6, 17])
@pytest.mark.parametrize("size", [8, 16, 17, 24, 1000])
@pytest.mark.parametrize("headers", [0, 7, 8, 9, 100])
def test_rfc7757_later_fragment_behind_a_long_chain(start: Start, headers: int, size: int, proto: int) -> None:
    """A later fragment has no checksum, however many headers come before its fragment header."""
    gateway = start_ivi(start, RFC6052)
    chain = bytes(IPv6ExtHdrDestOpt(nh=60)) * (headers - 1) + bytes(IPv6ExtHdrDestOpt(nh=44)) if headers else b""
    payload = bytes(filling(size, 1))
    piece = bytes(IPv6ExtHdrFragment(offset=50, m=0, id=7, nh=proto)) + payload
    packet = IPv6(src="2001:db8:3::8", dst=RFC6052.v6("10.0.0.9"), nh=60 if headers else 44) / Raw(chain + piece)
    got = body(only(from6(gateway, packet), LAN))
    assert got[40:].hex() == piece.hex()
