# SPDX-License-Identifier: BSD-2-Clause
"""IPv6 headers of packets that are forwarded, and of packets to the gateway (RFC 8200, RFC 4291, RFC 5095)."""

from __future__ import annotations

from typing import Any

import pytest
from gateway import LAN, WAN, Gateway, only
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting, PadN,
    RouterAlert,
)
from scapy.packet import Packet, Raw
from net6 import A6, B6, FAR6, OWN, OWN_LOCAL, ROUTER6, SIX, Start, frame, kind6, quote6, send, solicit, start6

pytestmark = pytest.mark.virtual


@pytest.fixture
def six(start: Start) -> Gateway:
    return start6(start)


def out(**fields: Any) -> IPv6:
    return IPv6(**{"src": A6.ip, "dst": FAR6, **fields})


def unknown_option(kind: int, length: int = 4) -> bytes:
    return bytes([kind, length]) + bytes(length)


def options(next_header: int, body: bytes) -> bytes:
    """A hop-by-hop or destination options header with these options, padded."""
    raw = bytes([next_header, 0]) + body
    pad = -len(raw) % 8
    raw += b"\0" if pad == 1 else bytes([1, pad - 2]) + bytes(pad - 2) if pad else b""
    return bytes([next_header, len(raw) // 8 - 1]) + raw[2:]


def udp(source: str, target: str) -> bytes:
    """A datagram with a correct checksum, without the IPv6 header."""
    return bytes(IPv6(src=source, dst=target) / UDP(sport=7, dport=9) / b"data")[40:]


# --- forwarding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("packet", [
    out(hlim=2) / UDP(sport=5, dport=6) / b"x",
    out(hlim=255, tc=0x2e, fl=0xabcde) / TCP(),
    out(nh=59),
    out(nh=59) / Raw(b"behind the last header"),
    out(nh=50) / Raw(bytes(40)),
    out(nh=253) / Raw(b"?"),
], ids=["udp", "tcp", "none", "behind-none", "esp", "unknown"])
def test_forwards_unchanged_but_for_the_hop_limit(six: Gateway, packet: Packet) -> None:
    sent = only(send(six, A6, packet), WAN)
    raw = bytearray(bytes(packet))
    raw[7] -= 1
    assert sent.raw[14:] == bytes(raw)
    assert sent.frame.dst == ROUTER6.mac
    assert six.stats()["forwarded_packets"] == 1


def test_forwards_back_to_the_host(six: Gateway) -> None:
    sent = only(send(six, ROUTER6, IPv6(src=FAR6, dst=A6.ip) / UDP()), LAN)
    assert sent.frame.dst == A6.mac and sent.ip6.hlim == 63


def test_ethernet_padding_is_removed(six: Gateway) -> None:
    assert len(only(six.send(LAN, bytes(frame(A6, out() / UDP())) + bytes(9)), WAN).raw) == 14 + 48


LONG_CHAIN = b"".join(options(60, unknown_option(0x1e)) for _ in range(30)) + options(17, b"")


@pytest.mark.parametrize("chain", [
    (0, options(17, unknown_option(0xde))),
    (0, options(17, bytes([5, 2, 0, 0]))),
    (60, options(17, unknown_option(0xde))),
    (60, LONG_CHAIN),
    (43, bytes([17, 2, 4, 1]) + bytes(20)),
    (43, bytes([17, 2, 0, 0]) + bytes(20)),
    (44, bytes([17, 0, 0, 1]) + bytes(4)),
    (44, bytes([17, 0, 0, 0]) + bytes(4)),
    (44, bytes([17, 0, 5, 0]) + bytes(4)),
    (60, bytes([17, 200]) + bytes(6)),
    (51, bytes([17, 4]) + bytes(22)),
    (135, bytes([17, 0]) + bytes(6)),
], ids=["unknown-hop-by-hop-option", "router-alert", "unknown-destination-option", "long-chain", "routing-type-4",
        "routing-used-up", "first-fragment", "atomic-fragment", "later-fragment", "header-beyond-the-end", "ah",
        "mobility"])
def test_s4_a_router_looks_at_no_extension_header(six: Gateway, chain: tuple[int, bytes]) -> None:
    """Section 4: extension headers are for the destination; every such packet is forwarded in the same way."""
    packet = bytes(out(nh=chain[0]) / Raw(chain[1] + udp(A6.ip, FAR6)))
    sent = only(send(six, A6, packet, broken=True), WAN)
    assert sent.raw[14:21] == packet[:7] and sent.raw[22:] == packet[8:]


@pytest.mark.parametrize(("raw", "reason"), [
    (bytes(out() / UDP())[:39], "ip-header"),
    (b"\x45" + bytes(out() / UDP())[1:], "ip-header"),
    (b"\x50" + bytes(out() / UDP())[1:], "ip-header"),
    (bytes(out() / UDP())[:47], "ip-length"),
    (bytes(out(plen=9) / UDP()), "ip-length"),
    (bytes(out(plen=65535) / UDP()), "ip-length"),
], ids=["short", "version-4", "version-5", "cut", "longer-by-one", "longest"])
def test_invalid_header(six: Gateway, raw: bytes, reason: str) -> None:
    assert send(six, A6, raw) == []
    assert six.drops() == {reason: 1}


def test_jumbogram(six: Gateway) -> None:
    """RFC 2675 is not implemented: a length of zero with hop-by-hop options is invalid."""
    jumbo = bytes(out(nh=0, plen=0)) + bytes([17, 0, 0xc2, 4, 0, 1, 0, 0]) + bytes(100)
    assert send(six, A6, jumbo) == []
    assert six.drops() == {"ip-length": 1}


def test_rfc5095_source_routes_are_not_forwarded(six: Gateway) -> None:
    """RFC 9288 section 3.4.2.5; the gateway sends no error when the destination is another host."""
    assert send(six, A6, out() / IPv6ExtHdrRouting(type=0, addresses=[FAR6]) / UDP()) == []
    assert send(six, A6, out() / IPv6ExtHdrDestOpt(options=[PadN(optdata=b"1234")])
                / IPv6ExtHdrRouting(type=0, addresses=[FAR6, FAR6]) / UDP()) == []
    assert six.drops() == {"source-route": 2}


# --- addresses (RFC 4291) ------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["::1", "ff02::1", "ff0e::1", "::ffff:192.0.2.1", "::192.0.2.1", OWN[LAN], OWN[WAN],
                                    OWN_LOCAL[LAN], FAR6, ROUTER6.ip, "2001:db8:1::"])
def test_impossible_source(six: Gateway, source: str) -> None:
    """RFC 4291 sections 2.5.2, 2.5.3, 2.7; RFC 2827."""
    assert send(six, A6, out(src=source, hlim=1) / UDP()) == []
    assert send(six, A6, out(src=source) / UDP()) == []
    reason = "scope" if source.startswith("fe80") else "martian-source"
    assert six.drops() == {reason: 2}


def test_source_of_the_inside_from_outside(six: Gateway) -> None:
    assert send(six, ROUTER6, IPv6(src=B6.ip, dst=A6.ip) / UDP()) == []
    assert six.drops() == {"martian-source": 1}


def test_s252_unspecified_source_is_not_forwarded(six: Gateway) -> None:
    assert send(six, A6, out(src="::") / UDP()) == []
    assert six.drops() == {"martian-source": 1}


@pytest.mark.parametrize("target", ["::", "::1", "::ffff:198.51.100.7", "::198.51.100.7", "fe80::1234", "fe80::1"])
def test_destination_that_is_never_forwarded(six: Gateway, target: str) -> None:
    """RFC 4291 sections 2.5.2, 2.5.3 and 2.5.6: such packets stay on their own network."""
    assert send(six, A6, out(dst=target) / UDP()) == []
    assert six.drops() == {"martian-destination": 1}


@pytest.mark.parametrize("target", ["ff02::5", "ff05::1:3", "ff0e::1234", "ff01::1"])
def test_multicast_is_not_forwarded(six: Gateway, target: str) -> None:
    assert send(six, A6, out(dst=target) / UDP()) == []
    assert six.drops() == {"multicast": 1}


def test_s256_link_local_source_does_not_leave_its_link(six: Gateway) -> None:
    """RFC 4291 section 2.5.6; RFC 4443 section 3.1: the destination is beyond the scope of the source address."""
    packet = out(src=A6.local) / UDP()
    send(six, A6, solicit(A6, OWN[LAN], src=A6.local))  # A becomes a known neighbour
    error = only(send(six, A6, packet), LAN)
    assert kind6(error) == (1, 2) and error.ip6.dst == A6.local and error.ip6.src == OWN_LOCAL[LAN]
    assert quote6(error) == bytes(packet)
    assert six.drops() == {"scope": 1}


def test_packet_in_a_multicast_frame_is_not_forwarded(six: Gateway) -> None:
    for to in ("33:33:00:00:00:01", "ff:ff:ff:ff:ff:ff"):
        assert six.send(LAN, frame(A6, out(hlim=1) / UDP(), to=to)) == []
    assert six.drops() == {"multicast": 2}


def test_frame_for_another_station(six: Gateway) -> None:
    assert six.send(LAN, frame(A6, out() / UDP(), to=B6.mac)) == []
    assert six.drops() == {"not-ours": 1}


# --- packets to the gateway itself ---------------------------------------------------------------------


def to_us(**fields: Any) -> IPv6:
    return IPv6(**{"src": A6.ip, "dst": OWN[LAN], **fields})


def echo(source: str = A6.ip, target: str = OWN[LAN]) -> bytes:
    return bytes(IPv6(src=source, dst=target) / ICMPv6EchoRequest(id=3, seq=4, data=b"data"))[40:]


@pytest.mark.parametrize("chain", [
    (0, options(58, unknown_option(0x1e))),
    (0, options(58, bytes([5, 2, 0, 0]))),
    (60, options(60, unknown_option(0x1e, 0)) + options(58, b"\0\0\0\0")),
    (43, bytes([58, 2, 4, 0]) + bytes(20)),
    (43, bytes([58, 2, 0, 0]) + bytes(20)),
    (44, bytes([58, 0, 0, 0]) + b"atom"),
], ids=["skipped-option", "router-alert", "two-headers", "routing-type-4-done", "routing-type-0-done", "atomic"])
def test_s4_echo_behind_extension_headers(six: Gateway, chain: tuple[int, bytes]) -> None:
    """The reply has no extension headers (RFC 6946 for atomic fragments)."""
    answer = only(send(six, A6, bytes(to_us(nh=chain[0]) / Raw(chain[1] + echo()))), LAN)
    assert kind6(answer) == (129, 0) and answer.raw[58:] == echo()[4:]
    assert (answer.ip6.src, answer.ip6.dst, answer.ip6.hlim) == (OWN[LAN], A6.ip, 64)


@pytest.mark.parametrize(("kind", "told"), [(0x5e, False), (0x9e, True), (0xde, True), (0x80, True), (0x40, False)])
@pytest.mark.parametrize("header", [0, 60])
def test_s42_option_not_understood(six: Gateway, kind: int, told: bool, header: int) -> None:
    """The two upper bits say whether to drop the packet and whether to send an error (code 2)."""
    body = options(58, bytes([1, 1, 0]) + unknown_option(kind))
    packet = bytes(to_us(nh=header) / Raw(body + echo()))
    sent = send(six, A6, packet)
    assert six.drops() == {"extension": 1}
    if not told:
        assert sent == []
        return
    error = only(sent, LAN)
    assert kind6(error) == (4, 2)
    assert int.from_bytes(error.raw[58:62], "big") == 40 + 2 + 3  # at the option
    assert quote6(error) == packet


def test_s42_unknown_option_in_a_packet_to_a_group(six: Gateway) -> None:
    """Bits 11: no error about a packet to a group; bits 10: an error even then."""
    def to_group(kind: int) -> Packet:
        return IPv6(src=A6.ip, dst="ff02::1", nh=60) / Raw(options(58, unknown_option(kind)) + echo(A6.ip, "ff02::1"))

    assert send(six, A6, to_group(0xde)) == []
    assert kind6(only(send(six, A6, to_group(0x9e)), LAN)) == (4, 2)


@pytest.mark.parametrize("chain", [(60, options(0, b"") + options(58, b"")), (43, bytes([58, 2, 4, 1]) + bytes(20))],
                         ids=["hop-by-hop-second", "routing"])
def test_rfc4443_s24_e3_no_other_error_about_a_group(six: Gateway, chain: tuple[int, bytes]) -> None:
    packet = IPv6(src=A6.ip, dst="ff02::1", nh=chain[0]) / Raw(chain[1] + echo(A6.ip, "ff02::1"))
    assert send(six, A6, packet) == []
    assert six.drops() == {"extension": 1}


@pytest.mark.parametrize("body", [
    bytes([58, 0, 0x1e, 5, 0, 0, 0, 0]),
    bytes([58, 0, 1, 3, 0, 0, 0, 0x1e]),
    bytes([58, 0, 1, 255, 0, 0, 0, 0]),
], ids=["beyond-by-one", "no-length", "far-beyond"])
def test_s42_option_beyond_its_header(six: Gateway, body: bytes) -> None:
    assert send(six, A6, bytes(to_us(nh=60) / Raw(body + echo()))) == []
    assert six.drops() == {"extension": 1}


def test_s41_hop_by_hop_options_not_in_the_first_place(six: Gateway) -> None:
    packet = to_us(nh=60) / Raw(options(0, b"") + options(58, b"") + echo())
    error = only(send(six, A6, packet), LAN)
    assert kind6(error) == (4, 1) and int.from_bytes(error.raw[58:62], "big") == 40


def test_s4_next_header_not_recognised(six: Gateway) -> None:
    """Code 1, with a pointer to the field that names it; no error is sent outside."""
    for nh, chain, pointer in ((253, b"", 6), (60, options(253, b""), 40)):
        error = only(send(six, A6, to_us(nh=nh) / Raw(chain + b"12345678")), LAN)
        assert kind6(error) == (4, 1) and int.from_bytes(error.raw[58:62], "big") == pointer
    assert send(six, ROUTER6, IPv6(src=FAR6, dst=OWN[WAN], nh=253) / Raw(b"12345678")) == []
    assert six.drops() == {"no-service": 3}


def test_no_next_header_causes_no_error(six: Gateway) -> None:
    assert send(six, A6, to_us(nh=59)) == []
    assert six.drops() == {"no-service": 1}


@pytest.mark.parametrize("routing", [0, 2, 4, 253])
def test_s44_routing_header_with_segments_left(six: Gateway, routing: int) -> None:
    """Code 0, with a pointer to the routing type; RFC 5095 for type 0."""
    body = bytes([58, 2, routing, 1]) + bytes(20)
    packet = bytes(to_us(nh=60) / Raw(options(43, b"") + body + echo()))
    error = only(send(six, A6, packet), LAN)
    assert kind6(error) == (4, 0) and int.from_bytes(error.raw[58:62], "big") == 40 + 8 + 2
    assert six.drops() == {"source-route" if routing == 0 else "extension": 1}


@pytest.mark.parametrize("chain", [
    (60, bytes([58, 5, 1, 4]) + bytes(4)),
    (0, bytes([58])),
    (44, bytes(7)),
    (60, b"".join(options(60, b"") for _ in range(12)) + bytes([58, 1, 1, 4]) + bytes(4)),
], ids=["beyond-the-end", "one-byte", "short-fragment-header", "after-many"])
def test_truncated_chain(six: Gateway, chain: tuple[int, bytes]) -> None:
    assert send(six, A6, to_us(nh=chain[0]) / Raw(chain[1]), broken=True) == []
    assert six.drops() == {"extension": 1}


@pytest.mark.parametrize("n", [1, 7, 8, 9, 170])
def test_s4_chain_of_any_length(six: Gateway, n: int) -> None:
    chain = b"".join(options(60, b"") for _ in range(n - 1)) + options(58, b"")
    assert only(send(six, A6, to_us(nh=60) / Raw(chain + echo())), LAN).ip6.nh == 58
    assert send(six, A6, to_us(nh=60) / Raw(chain[:-8] + options(44, b"") + bytes([58, 0, 0, 8]) + bytes(12))) == []
    assert six.drops() == {"fragment": 1}


def test_s45_fragments_to_the_gateway_are_dropped(six: Gateway) -> None:
    """The gateway keeps no reassembly buffers for other hosts, as in IPv4."""
    for offset, more in ((0, 1), (5, 0)):
        assert send(six, A6, to_us() / IPv6ExtHdrFragment(nh=58, offset=offset, m=more, id=9) / Raw(echo())) == []
    assert six.drops() == {"fragment": 2}


def test_s5_our_own_packets_beyond_the_network_have_1280_bytes(six: Gateway) -> None:
    """RFC 8201 section 4: no larger packet without path MTU discovery; the gateway fragments them (section 4.5)."""
    data = bytes(range(256)) * 5 + b"odd"
    request = IPv6(src=FAR6, dst=OWN[WAN]) / ICMPv6EchoRequest(id=1, seq=2, data=data)
    sent = send(six, ROUTER6, request)
    assert len(sent) == 2
    parts, ids = b"", set()
    for one in sent:
        piece = one.frame[IPv6ExtHdrFragment]
        assert len(one.raw) - 14 <= 1280 and piece.offset * 8 == len(parts) and piece.nh == 58
        ids.add(piece.id)
        parts += one.raw[14 + 48:]
    assert [one.frame[IPv6ExtHdrFragment].m for one in sent] == [1, 0] and len(ids) == 1
    whole = bytearray(echo(OWN[WAN], FAR6)[:8] + data)
    assert parts[0] == 129 and parts[8:] == bytes(whole[8:])
    on_link = only(send(six, A6, IPv6(src=A6.ip, dst=OWN[LAN]) / ICMPv6EchoRequest(data=data)), LAN)
    assert len(on_link.raw) - 14 == 48 + len(data)


def test_no_route(start: Start) -> None:
    gateway = start6(start, SIX.replace("gateway", "# gateway"))
    error = only(send(gateway, A6, out() / UDP()), LAN)
    assert kind6(error) == (1, 0)
    assert gateway.drops() == {"no-route": 1}


# --- configuration -----------------------------------------------------------------------------------------


def test_longest_prefix_wins(start: Start) -> None:
    gateway = start6(start, SIX + f"route 2001:db8:f::/48 via {B6.ip}\nroute 2001:db8:f::/64 via {ROUTER6.ip}\n"
                     + f"route {OWN[LAN]}/128 via {B6.ip}\n")
    assert only(send(gateway, A6, out(dst="2001:db8:f:1::1") / UDP()), LAN).frame.dst == B6.mac
    assert only(send(gateway, A6, out(dst="2001:db8:f::1") / UDP()), WAN).frame.dst == ROUTER6.mac
    assert kind6(only(send(gateway, A6, to_us() / ICMPv6EchoRequest()), LAN))[0] == 129  # routes do not matter
    assert "2001:db8:f::/64 via 2001:db8:2::1 wan" in gateway.lines("routes")
    assert "::/0 via 2001:db8:2::1 wan" in gateway.lines("routes")


def test_nat_without_ipv6_addresses(start: Start) -> None:
    """A gateway without a global IPv6 address does not use IPv6 at all."""
    gateway = start("lan.address 192.168.1.1/24\nwan.address 203.0.113.2/24\nnat.sessions 100\n")
    assert send(gateway, A6, out() / UDP()) == []
    assert gateway.drops() == {"ipv6": 1}
    assert all("2001" not in line for line in gateway.lines("interfaces"))


def test_two_addresses_in_one_network(start: Start) -> None:
    gateway = start6(start, SIX + "lan.address 2001:db8:1::2/64\nlan.address fd00:1::1/64\n")
    for own in (OWN[LAN], "2001:db8:1::2"):
        assert only(send(gateway, A6, to_us(dst=own) / ICMPv6EchoRequest()), LAN).ip6.src == own
    assert only(send(gateway, A6, to_us(dst="fd00:1::1") / ICMPv6EchoRequest()), LAN).ip6.src == "fd00:1::1"


@pytest.mark.parametrize("host", [A6, ROUTER6], ids=["lan", "wan"])
def test_rfc4291_s261_subnet_router_anycast(six: Gateway, host: Any) -> None:
    """The all-zeros address of a network is the gateway's; the reply has a unicast source."""
    anycast = OWN[host.port].rsplit("::", 1)[0] + "::"
    answer = only(send(six, host, IPv6(src=host.ip, dst=anycast) / ICMPv6EchoRequest(data=b"any")), host.port)
    assert kind6(answer) == (129, 0) and answer.ip6.src == OWN[host.port]


def test_hop_by_hop_header_is_no_transport(six: Gateway) -> None:
    """Checks against scapy's own parser of header chains, so that the tests do not depend on ours alone."""
    packet = out() / IPv6ExtHdrHopByHop(options=[RouterAlert()]) / IPv6ExtHdrDestOpt() / UDP(sport=9)
    assert only(send(six, A6, packet), WAN).frame[UDP].sport == 9
