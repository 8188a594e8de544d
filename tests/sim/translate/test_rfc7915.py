# SPDX-License-Identifier: BSD-2-Clause
"""Headers and refusals of the translator against RFC 7915 sections 4.1, 4.4 to 4.6, 5.1, 5.4 to 5.6. Each packet that
leaves is compared byte by byte with one that the test builds itself."""

from __future__ import annotations

from typing import Any

import pytest
from gateway import BROADCAST, LAN, WAN, Gateway, only
from ivi import (
    FAR, FORMS, FOUR, FOUR6, IVI, OWN4, RFC6052, SIX4, SIX_MAC, Start, World, body, check46, check64, dropped, frame4,
    frame6, from4, from6, introduce, own_error4, own_error6, start_ivi, to_four, to_six, translated,
)
from pieces import DF, MF
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6EchoRequest, IPv6, IPv6ExtHdrFragment
from scapy.packet import Packet, Raw
from siit import checksum
from test_ivi_properties import filling, with_options

pytestmark = pytest.mark.virtual

NO_ERRORS = World(keys={"ivi.errors": "off"})


# --- 4.1 Translating IPv4 headers into IPv6 headers -----------------------------------------------


@pytest.mark.parametrize("world", FORMS, ids=lambda world: f"{world.form}{world.prefix.rpartition('/')[2]}")
def test_s41_fields(start: Start, world: World) -> None:
    gateway = start_ivi(start, world)
    sent = from4(gateway, to_six(tos=0xb8, ttl=17, flags="DF") / UDP(sport=1024, dport=53) / b"question")
    want = IPv6(tc=0xb8, fl=0, plen=16, nh=17, hlim=16, src=world.v6(FOUR), dst=world.six) \
        / UDP(sport=1024, dport=53) / b"question"
    assert body(only(sent, LAN)).hex() == bytes(want).hex()
    assert translated(gateway) == (1, 0)


@pytest.mark.parametrize(("policy", "seen"), [("copy", 0x2e), ("zero", 0), ("255", 255)])
def test_s41_s51_type_of_service(start: Start, policy: str, seen: int) -> None:
    world = World(keys={"ivi.tos": policy})
    gateway = start_ivi(start, world)
    assert only(from4(gateway, to_six(tos=0x2e) / UDP()), LAN).ip6.tc == seen
    assert only(from6(gateway, to_four(tc=0x2e) / UDP()), WAN).ip.tos == seen


def test_s41_hop_limit(ivi: Gateway) -> None:
    assert only(from4(ivi, to_six(ttl=2) / UDP()), LAN).ip6.hlim == 1
    for ttl in (0, 1):
        packet = to_six(ttl=ttl) / UDP() / b"late"
        message = own_error4(dropped(ivi, lambda: from4(ivi, packet), "ttl"), 11, 0)  # noqa: B023
        assert bytes(message[ICMP].payload) == bytes(packet)


@pytest.mark.parametrize("proto", [4, 33, 41, 47, 50, 51, 59, 89, 132, 136, 255])
def test_s41_s45_any_protocol_passes_unchanged(ivi: Gateway, proto: int) -> None:
    sent = from4(ivi, to_six(proto=proto) / Raw(b"what only the ends understand"))
    want = IPv6(src=FOUR6, dst=IVI.six, nh=proto, hlim=63) / Raw(b"what only the ends understand")
    assert body(only(sent, LAN)).hex() == bytes(want).hex()


def test_s51_s55_any_protocol_passes_unchanged(ivi: Gateway) -> None:
    for proto in (4, 33, 41, 47, 50, 51, 59, 89, 132, 136, 255):
        sent = from6(ivi, to_four(nh=proto) / Raw(b"what only the ends understand"))
        ip = only(sent, WAN).ip
        assert (ip.proto, bytes(ip.payload)) == (proto, b"what only the ends understand")


def test_s51_no_next_header(ivi: Gateway) -> None:
    """It is a protocol like others, also alone after a fragment header."""
    ip = only(from6(ivi, to_four(nh=59)), WAN).ip
    assert (ip.proto, ip.len) == (59, 20)
    ip = only(from6(ivi, to_four() / IPv6ExtHdrFragment(id=0x01020408, nh=59)), WAN).ip
    assert (ip.proto, ip.len, ip.id, int(ip.flags), ip.frag) == (59, 20, 0x408, 0, 0)


@pytest.mark.parametrize("proto", [0, 43, 44, 58, 60])
def test_protocols_that_would_be_headers(ivi: Gateway, proto: int) -> None:
    packet = to_six(proto=proto) / Raw(bytes(16))
    own_error4(dropped(ivi, lambda: from4(ivi, packet), "protocol"), 3, 13)


def test_icmp4_inside_ipv6(ivi: Gateway) -> None:
    own_error6(dropped(ivi, lambda: from6(ivi, to_four(nh=1) / Raw(bytes(ICMP()))), "protocol"), 1, 1)


def test_s42_igmp_is_silently_dropped(ivi: Gateway) -> None:
    assert dropped(ivi, lambda: from4(ivi, to_six(proto=2) / Raw(bytes(8))), "protocol") == []
    assert dropped(ivi, lambda: from6(ivi, to_four(nh=2) / Raw(bytes(8))), "protocol") == []


@pytest.mark.parametrize("options", [
    b"\x01\x01\x01\x00", b"\x94\x04\x00\x00", b"\x82\x0b" + bytes(9) + b"\x00",
    b"\x07\x0b\x08" + bytes(8) + b"\x00", b"\x44\x14\x0d\x01" + bytes(16),
    b"\x83\x0b\x0c" + bytes(8) + b"\x00", b"\x89\x0b\x0c" + bytes(8) + b"\x00",  # source routes at their end
    b"\x88\x04\1\2" + b"\x83\x0b\x0c" + bytes(8) + b"\1" + b"\x89\x0b\x0c" + bytes(8) + b"\0",
    b"\0\x83\x07\x04" + bytes(4),  # bytes after the end of the options do not matter
    b"\x00\x00\xff\xff",  # nothing but padding that does not change the checksum
], ids=["nop", "alert", "security", "record", "timestamp", "loose", "strict", "several", "end", "padding"])
def test_s41_options_are_ignored(ivi: Gateway, options: bytes) -> None:
    packet = bytes(to_six(flags="DF") / TCP(sport=9, dport=80) / b"data")
    want = from4(ivi, packet)
    sent = from4(ivi, with_options(packet, options))
    assert body(only(sent, LAN)).hex() == body(only(want, LAN)).hex()


@pytest.mark.parametrize(("options", "reason", "means"), [
    (b"\x94\x05\x00\x00", "ip-options", (12, 0)),
    (b"\x83\x07\x04" + bytes([10, 0, 0, 1]) + b"\x00", "source-route", (3, 5)),
], ids=["malformed", "source-route"])
def test_options_of_a_packet_to_somebody_else(ivi: Gateway, options: bytes, reason: str,
                                              means: tuple[int, int]) -> None:
    """A packet to none of our hosts is dropped silently, whatever is wrong with it."""
    for destination in ("8.8.8.8", "198.51.101.5", OWN4[:-1] + "0"):
        assert dropped(ivi, lambda: from4(ivi, with_options(bytes(to_six(dst=destination) / UDP()), options)),  # noqa: B023
                       reason) == []
    for destination in (SIX4, OWN4, "198.51.100.99"):
        packet = with_options(bytes(to_six(dst=destination) / UDP()), options)
        error = only(dropped(ivi, lambda: from4(ivi, packet), reason), WAN).frame[ICMP]  # noqa: B023
        assert (error.type, error.code) == means


@pytest.mark.parametrize("options", [b"\x83\x07\x04" + bytes([10, 0, 0, 1]) + b"\x00",
                                     b"\x89\x0b\x08" + bytes(8) + b"\x00",
                                     b"\x83\x0b\x0c" + bytes(8) + b"\x89\x07\x04" + bytes(4) + b"\0\0"])
def test_s41_source_route_with_hops_left(ivi: Gateway, options: bytes) -> None:
    packet = with_options(bytes(to_six() / UDP() / b"around"), options)
    message = own_error4(dropped(ivi, lambda: from4(ivi, packet), "source-route"), 3, 5)
    assert bytes(message[ICMP].payload) == packet


@pytest.mark.parametrize("src", ["0.0.0.0", "0.1.2.3", "127.0.0.1", "169.254.7.7", "224.0.0.1", "240.0.0.1",
                                 "255.255.255.255"])
def test_s41_illegal_source_is_silently_dropped(ivi: Gateway, src: str) -> None:
    assert dropped(ivi, lambda: from4(ivi, to_six(src=src) / UDP()), "martian-source") == []


@pytest.mark.parametrize("src", [OWN4, "198.51.100.0", "198.51.100.255", "192.0.2.77"])
def test_source_of_no_outside_host(ivi: Gateway, src: str) -> None:
    """The gateway's own, a broadcast address, an IPv6 host's."""
    assert dropped(ivi, lambda: from4(ivi, to_six(src=src) / UDP()), "martian-source") == []


def test_addresses_of_nothing_but_zeros(ivi: Gateway) -> None:
    """All-zero addresses look like a free entry of the table of known pairs."""
    packet4, packet6 = IP(src="0.0.0.0", dst="0.0.0.0", id=1) / UDP(), IPv6(src="::", dst="::") / UDP()
    assert dropped(ivi, lambda: from4(ivi, packet4), "martian-destination") == []
    assert dropped(ivi, lambda: from6(ivi, packet6), "martian-source") == []
    assert translated(ivi) in ((0, 0), (3, 3)) and ivi.stats()["packets_kept"] == 0


def test_wrong_header_checksum(ivi: Gateway) -> None:
    assert dropped(ivi, lambda: from4(ivi, to_six(chksum=1) / UDP()), "ip-checksum") == []


def ways(gateway: Gateway) -> list[tuple[str, Packet]]:
    """A frame between the two hosts in each direction, with its interface."""
    return [(WAN, frame4(to_six() / UDP())), (LAN, frame6(to_four() / UDP()))]


@pytest.mark.parametrize(("field", "value", "reason"), [
    ("dst", "02:00:00:00:99:99", "not-ours"), ("dst", BROADCAST, "multicast"), ("type", 0x88b5, "ethertype"),
])
def test_frame_that_is_not_for_us(ivi: Gateway, field: str, value: Any, reason: str) -> None:
    """Such a frame is dropped whatever packet is in it."""
    for port, frame in ways(ivi):
        setattr(frame, field, value)
        assert dropped(ivi, lambda p=port, f=frame: ivi.send(p, f), reason) == []  # type: ignore[misc]


@pytest.mark.parametrize("version", [0, 4, 5, 6, 15])
def test_wrong_version(ivi: Gateway, version: int) -> None:
    for port, frame in ways(ivi):
        data = bytearray(bytes(frame))
        if data[14] >> 4 != version:
            data[14] = version << 4 | data[14] & 15
            assert dropped(ivi, lambda p=port, d=bytes(data): ivi.send(p, d), "ip-header") == []  # type: ignore[misc]


def test_longer_than_the_frame(ivi: Gateway) -> None:
    """A length beyond the end of the frame, and one that is shorter than the header."""
    long4, long6 = to_six(len=47) / UDP(len=27) / Raw(bytes(18)), to_four(plen=27) / UDP(len=27) / Raw(bytes(18))
    assert dropped(ivi, lambda: from4(ivi, long4, broken=True), "ip-length") == []
    assert dropped(ivi, lambda: from6(ivi, long6, broken=True), "ip-length") == []
    assert dropped(ivi, lambda: from4(ivi, to_six(len=19) / UDP() / Raw(bytes(18))), "ip-length") == []


# --- 4.5 UDP without checksum ---------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 4, 1001])
def test_s45_udp_without_checksum_gets_one(ivi: Gateway, size: int) -> None:
    sent = from4(ivi, to_six() / UDP(sport=1, dport=2, chksum=0) / filling(size, 1))
    want = IPv6(src=FOUR6, dst=IVI.six, hlim=63) / UDP(sport=1, dport=2) / filling(size, 1)
    assert body(only(sent, LAN)).hex() == bytes(want).hex()


def test_s45_computed_sum_of_zero(ivi: Gateway) -> None:
    """RFC 8200 section 8.1: it is sent as all ones."""
    plain = bytes(IPv6(src=FOUR6, dst=IVI.six) / UDP(sport=1, dport=2) / b"\0\0")
    data = plain[46:48]  # data that makes the sum zero
    sent = from4(ivi, to_six() / UDP(sport=1, dport=2, chksum=0) / data)
    assert body(only(sent, LAN))[46:48] == b"\xff\xff"


def test_s45_udp_without_checksum_may_be_dropped(start: Start) -> None:
    gateway = start_ivi(start, World(keys={"ivi.udp-zero-checksum": "drop"}))
    packet = to_six() / UDP(sport=1234, dport=53, chksum=0) / b"data"
    message = own_error4(dropped(gateway, lambda: from4(gateway, packet), "no-checksum"), 3, 13)
    assert bytes(message[ICMP].payload) == bytes(packet)
    assert any("198.51.100.2:1234 to 192.0.2.33:53" in line for line in gateway.lines("log"))


@pytest.mark.parametrize("policy", ["compute", "drop"])
def test_s45_first_fragment_without_checksum(start: Start, policy: str) -> None:
    gateway = start_ivi(start, World(keys={"ivi.udp-zero-checksum": policy}))
    for length in (500, 16):  # 16: a UDP length that ends within this fragment
        packet = to_six(flags="MF") / UDP(sport=1, dport=2, len=length, chksum=0) / filling(64, 1)
        own_error4(dropped(gateway, lambda: from4(gateway, packet), "no-checksum"), 3, 13)  # noqa: B023


def test_s45_no_checksum_for_a_wrong_udp_length(ivi: Gateway) -> None:
    for length in (0, 7, 13):
        packet = to_six() / UDP(len=length, chksum=0) / b"data"
        own_error4(dropped(ivi, lambda: from4(ivi, packet, broken=True), "no-checksum"), 3, 13)  # noqa: B023


def test_ipv6_udp_without_checksum(ivi: Gateway) -> None:
    """RFC 8200 section 8.1 forbids such packets."""
    own_error6(dropped(ivi, lambda: from6(ivi, to_four() / UDP(chksum=0) / b"data"), "no-checksum"), 1, 1)


@pytest.mark.parametrize("proto", [TCP, UDP])
def test_wrong_checksums_stay_wrong(ivi: Gateway, proto: Any) -> None:
    """They stay wrong by the same amount: the ends check them, not the translator."""
    check46(ivi, IVI, to_six() / proto(sport=1, dport=2, chksum=0x1234) / b"data", broken=True)
    check64(ivi, IVI, to_four() / proto(sport=1, dport=2, chksum=0x1234) / b"data", broken=True)


def test_wrong_echo_checksum_stays_wrong(ivi: Gateway) -> None:
    check46(ivi, IVI, to_six() / ICMP(chksum=0x4321) / b"data", broken=True)
    check64(ivi, IVI, to_four() / ICMPv6EchoRequest(cksum=0x4321, data=b"data"), broken=True)


@pytest.mark.parametrize("size", [0, 1, 7, 17, 19])
def test_truncated_transport_headers(ivi: Gateway, size: int) -> None:
    proto = 17 if size < 8 else 6
    four, six = to_six(proto=proto) / Raw(bytes(size)), to_four(nh=proto) / Raw(bytes(size))
    own_error4(dropped(ivi, lambda: from4(ivi, four, broken=True), "l4-header"), 3, 13)
    own_error6(dropped(ivi, lambda: from6(ivi, six, broken=True), "l4-header"), 1, 1)


# --- 5.1 Translating IPv6 headers into IPv4 headers -----------------------------------------------


@pytest.mark.parametrize("world", FORMS, ids=lambda world: f"{world.form}{world.prefix.rpartition('/')[2]}")
def test_s51_fields(start: Start, world: World) -> None:
    gateway = start_ivi(start, world)
    sent = from6(gateway, to_four(world, tc=0xb8, fl=0xfffff, hlim=17) / UDP(sport=1024, dport=53) / b"question")
    ip = only(sent, WAN).ip
    want = IP(tos=0xb8, id=ip.id, flags=0, ttl=16, proto=17, src=SIX4, dst=FOUR) \
        / UDP(sport=1024, dport=53) / b"question"
    assert body(sent[0]).hex() == bytes(want).hex()
    assert translated(gateway) == (0, 1)


def test_s51_hop_limit(ivi: Gateway) -> None:
    assert only(from6(ivi, to_four(hlim=2) / UDP()), WAN).ip.ttl == 1
    for hops in (0, 1):
        packet = to_four(hlim=hops) / UDP() / b"late"
        message = own_error6(dropped(ivi, lambda: from6(ivi, packet), "ttl"), 3, 0)  # noqa: B023
        assert message[8:] == bytes(packet)


@pytest.mark.parametrize(("size", "df"), [(0, False), (1220, False), (1221, True), (1440, True)])
def test_s51_df_above_1260_bytes(ivi: Gateway, size: int, df: bool) -> None:
    ip = only(from6(ivi, to_four() / TCP() / filling(size, 1)), WAN).ip
    assert int(ip.flags) == (2 if df else 0) and ip.len == 40 + size


def test_s51_identifications_differ(ivi: Gateway) -> None:
    """Packets that routers may fragment must not have the same identification (RFC 6864)."""
    seen = {only(from6(ivi, to_four() / UDP() / bytes([n])), WAN).ip.id for n in range(50)}
    assert len(seen) == 50


@pytest.mark.parametrize("known", [False, True])
def test_s51_too_large(start: Start, known: bool) -> None:
    world = World(wan_mtu=1400)
    gateway = start_ivi(start, world)
    if known:
        introduce(gateway)
    for packet in (to_four() / TCP() / filling(1361, 1),
                   to_four() / IPv6ExtHdrFragment(m=1, id=1234, nh=6) / Raw(bytes(TCP()) + filling(1361, 1))):
        message = own_error6(dropped(gateway, lambda: from6(gateway, packet), "too-big"), 2, 0, world)  # noqa: B023
        assert message[4:8] == (1420).to_bytes(4, "big") and len(message) == 1240
        assert message[8:] == bytes(packet)[:1232]
    assert only(from6(gateway, to_four() / TCP() / filling(1360, 1)), WAN).ip.len == 1400


HOP, DEST, ROUTE = (0, bytes([1, 4, 0, 0, 0, 0])), (60, bytes([1, 4, 0, 0, 0, 0])), (43, bytes([4, 0, 0, 0, 0, 0]))


@pytest.mark.parametrize("chain", [[HOP], [DEST], [ROUTE], [HOP, DEST, ROUTE, DEST], [DEST] * 30])
def test_s51_extension_headers_are_skipped(ivi: Gateway, chain: list[tuple[int, bytes]]) -> None:
    plain = only(from6(ivi, to_four() / UDP(sport=1, dport=2) / b"data"), WAN)
    kinds = [kind for kind, _ in chain] + [17]
    headers = b"".join(bytes([following, 0]) + data for (_, data), following in zip(chain, kinds[1:], strict=True))
    udp = bytes(to_four() / UDP(sport=1, dport=2) / b"data")[40:]
    sent = only(from6(ivi, to_four(nh=kinds[0]) / Raw(headers + udp)), WAN)
    assert body(sent)[20:] == body(plain)[20:] and sent.ip.len == plain.ip.len and sent.ip.proto == 17


@pytest.mark.parametrize("kind", [0, 2, 3, 4, 253])
def test_s51_routing_header_with_segments_left(ivi: Gateway, kind: int) -> None:
    packet = bytes(to_four(nh=43) / Raw(bytes([17, 2, kind, 1]) + bytes(20) + bytes(UDP())))
    message = own_error6(dropped(ivi, lambda: from6(ivi, packet), "source-route"), 4, 0)
    assert message[4:8] == (43).to_bytes(4, "big")  # segments left
    chain = bytes([43, 0, 1, 4, 0, 0, 0, 0]) + bytes([17, 0, kind, 1]) + bytes(4)
    behind = bytes(to_four(nh=60) / Raw(chain + bytes(UDP())))
    message = own_error6(dropped(ivi, lambda: from6(ivi, behind), "source-route"), 4, 0)
    assert message[4:8] == (51).to_bytes(4, "big")


@pytest.mark.parametrize("size", [0, 1, 7])
def test_extension_header_beyond_the_end(ivi: Gateway, size: int) -> None:
    for kind, rest in ((60, bytes(size)), (60, bytes([17, 1]) + bytes(6 + size)), (44, bytes(size))):
        packet = to_four(nh=kind) / Raw(rest)
        own_error6(dropped(ivi, lambda: from6(ivi, packet), "extension"), 1, 1)  # noqa: B023


def test_authentication_header_passes(ivi: Gateway) -> None:
    """It is not skipped like an extension header; the receiver will reject it."""
    data = bytes([6, 4]) + bytes(22) + bytes(TCP())
    ip = only(from6(ivi, to_four(nh=51) / Raw(data)), WAN).ip
    assert (ip.proto, bytes(ip.payload)) == (51, data)


@pytest.mark.parametrize("src", ["::1", "::", "ff02::1", "::ffff:192.0.2.33", IVI.own6])
def test_s51_illegal_source_is_silently_dropped(ivi: Gateway, src: str) -> None:
    assert dropped(ivi, lambda: from6(ivi, to_four(src=src) / UDP()), "martian-source") == []


# --- 4.4, 5.4 Errors of the translator ------------------------------------------------------------


def test_s54_source_without_mapping(start: Start) -> None:
    """1/1, also about a ping: RFC 7915 requires no error about an ICMPv6 message, but does not forbid it."""
    world = World(routes=["2001:db8:77::/64 via 2001:db8:ffc0:2:2100::"])
    gateway = start_ivi(start, world)
    packet = to_four(src="2001:db8:77::9") / UDP() / b"who am I"
    sent = dropped(gateway, lambda: from6(gateway, packet), "no-map")
    error = body(only(sent, LAN))
    assert IPv6(error).src == world.own6 and IPv6(error).dst == "2001:db8:77::9" and error[40:42] == b"\1\1"
    assert error[48:] == bytes(packet)
    echo = to_four(src="2001:db8:77::9") / ICMPv6EchoRequest()
    assert dropped(gateway, lambda: from6(gateway, echo), "no-map")[0].ip6.dst == "2001:db8:77::9"


@pytest.mark.parametrize(("target", "reason"), [
    ("127.0.0.1", "martian-destination"), ("0.0.0.0", "martian-destination"),
    ("169.254.7.7", "martian-destination"), ("224.0.0.9", "multicast"),
    ("255.255.255.255", "multicast"), ("198.51.100.255", "multicast"), ("198.51.100.0", "multicast"),
    ("240.0.0.1", "martian-destination"), (OWN4, "own-address")])
def test_destination_of_no_host(ivi: Gateway, target: str, reason: str) -> None:
    packet = to_four(dst=IVI.v6(target)) / UDP()
    own_error6(dropped(ivi, lambda: from6(ivi, packet), reason), 1, 1)
    echo = to_four(dst=IVI.v6(target)) / ICMPv6EchoRequest()
    assert dropped(ivi, lambda: from6(ivi, echo), reason) == []  # section 5.4: not about ICMPv6


def test_destination_of_the_gateway_itself(ivi: Gateway) -> None:
    own_error4(dropped(ivi, lambda: from4(ivi, to_six(dst="192.0.2.254") / UDP()), "own-address"), 3, 13)


def test_s44_s54_errors_can_be_off(start: Start) -> None:
    """A router's own errors stay on: packet too big and time exceeded."""
    gateway = start_ivi(start, NO_ERRORS)
    assert dropped(gateway, lambda: from4(gateway, to_six(proto=60) / Raw(bytes(8))), "protocol") == []
    assert dropped(gateway, lambda: from6(gateway, to_four() / UDP(chksum=0)), "no-checksum") == []
    routed = to_four(nh=43) / Raw(bytes([17, 0, 4, 1]) + bytes(4) + bytes(UDP()))
    assert dropped(gateway, lambda: from6(gateway, routed), "source-route") == []
    loose = with_options(bytes(to_six() / UDP()), b"\x83\x07\x04" + bytes([10, 0, 0, 1]) + b"\x00")
    assert dropped(gateway, lambda: from4(gateway, loose), "source-route") == []
    own_error4(dropped(gateway, lambda: from4(gateway, to_six(ttl=1) / UDP()), "ttl"), 11, 0)
    own_error6(dropped(gateway, lambda: from6(gateway, to_four(hlim=1) / UDP()), "ttl"), 3, 0)


def test_errors_are_limited_in_rate(ivi: Gateway) -> None:
    before = ivi.stats()["icmp_errors_sent"]
    for _ in range(300):
        from4(ivi, to_six(proto=60) / Raw(bytes(8)))
    assert 20 <= ivi.stats()["icmp_errors_sent"] - before <= 110
    assert ivi.stats()["icmp_errors_suppressed"] >= 150


# --- 4.6, 5.6 Knowing when to translate -----------------------------------------------------------


def test_s56_native_routes_have_precedence(start: Start) -> None:
    """An IPv6 host's own address is reached without translation, also where it is within the prefix."""
    world = World(routes=["2001:db8:ffc6:3364:200::/72 via 2001:db8:ffc0:2:2100::"])
    gateway = start_ivi(start, world)
    sent = only(from6(gateway, to_four(src="2001:db8:ffc0:2:700::", dst=world.six) / UDP()), LAN)
    assert sent.ip6.dst == world.six and sent.ip6.hlim == 63
    assert only(from6(gateway, to_four() / UDP()), LAN).ip6.dst == world.v6(FOUR)  # by the route above
    assert only(from6(gateway, to_four(dst=world.v6(FAR)) / UDP()), WAN).ip.dst == FAR
    assert translated(gateway) == (0, 1)


def test_s46_native_routes_have_precedence(start: Start) -> None:
    world = World(routes=["192.0.2.128/25 via 198.51.100.9"], keys={"neighbour": "198.51.100.9 52:54:00:00:02:09"})
    gateway = start_ivi(start, world)
    sent = only(from4(gateway, to_six(dst="192.0.2.130") / UDP()), WAN)
    assert sent.frame.dst == "52:54:00:00:02:09" and sent.ip.ttl == 63 and sent.ip.dst == "192.0.2.130"
    assert only(from4(gateway, to_six() / UDP()), LAN).ip6.dst == world.six
    assert translated(gateway) == (1, 0)


def start_apart(start: Start, *routes: str) -> Gateway:
    """A translator whose LAN network does not contain the IPv6 hosts that it translates to."""
    world = World(keys={"lan.address": "2001:db8:1::1/64", "neighbour": f"2001:db8:1::2 {SIX_MAC}"}, routes=routes)
    out = ("lan.address 2001:db8:ffc0", "neighbour 2001:db8:ffc0")
    gateway = start("\n".join(line for line in world.config.splitlines() if not line.startswith(out)) + "\n", "ivi")
    gateway.wait(4)
    return gateway


def test_s41_no_route(start: Start) -> None:
    """An IPv6 host without a route: the packet does not go back into the translation."""
    gateway = start_apart(start)
    message = dropped(gateway, lambda: from4(gateway, to_six() / UDP()), "no-route")
    assert (only(message, WAN).ip[ICMP].type, message[0].ip[ICMP].code) == (3, 0)


def test_s41_only_the_default_route(start: Start) -> None:
    """The default route reaches IPv6 hosts behind it, from either side, although the prefix contains them."""
    gateway = start_apart(start, "::/0 via 2001:db8:1::2")
    assert only(from4(gateway, to_six() / UDP()), LAN).ip6.dst == IVI.six
    assert only(from6(gateway, to_four(src="2001:db8:1::9", dst=IVI.six) / UDP()), LAN).ip6.dst == IVI.six
    assert translated(gateway) == (1, 0)


def test_foreign_destinations(ivi: Gateway) -> None:
    """The gateway does not translate packets to destinations that only the default route covers."""
    assert dropped(ivi, lambda: from4(ivi, to_six(dst="8.8.8.8") / UDP()), "foreign") == []


def test_echo_both_ways(ivi: Gateway) -> None:
    """RFC 7915 section 4.2, 5.2: types change, identifier and sequence number stay."""
    for kind, message in ((8, ICMPv6EchoRequest), (0, ICMPv6EchoReply)):
        sent = from4(ivi, to_six() / ICMP(type=kind, id=0x1111, seq=0x2222) / b"echo")
        want = IPv6(src=FOUR6, dst=IVI.six, hlim=63) / message(id=0x1111, seq=0x2222, data=b"echo")
        assert body(only(sent, LAN)).hex() == bytes(want).hex()
        ip = only(from6(ivi, to_four() / message(id=0x1111, seq=0x2222, data=b"echo")), WAN).ip
        assert bytes(ip.payload).hex() == bytes(ICMP(type=kind, id=0x1111, seq=0x2222) / b"echo").hex()


def test_echo_of_nothing_but_zeros(ivi: Gateway) -> None:
    """RFC 1624 section 3: its checksum is all ones; the checksum of any other sum of zero is zero."""
    zeros = to_four() / ICMPv6EchoReply(id=0, seq=0, data=bytes(10))
    assert only(from6(ivi, zeros), WAN).ip[ICMP].chksum == 0xffff
    full = to_four() / ICMPv6EchoReply(id=0xffff, seq=0)
    ip = only(from6(ivi, full), WAN).ip
    assert ip[ICMP].chksum == 0 == checksum(bytes(ICMP(type=0, id=0xffff, seq=0, chksum=0)))


def test_rfc6052_network(start: Start) -> None:
    """The constants DF and MF of this file are the bits that packets carry."""
    gateway = start_ivi(start, RFC6052)
    got = check64(gateway, RFC6052, to_four(RFC6052) / TCP() / filling(1300, 2))
    assert int.from_bytes(got[6:8], "big") == DF
    frag = check64(gateway, RFC6052, to_four(RFC6052) / IPv6ExtHdrFragment(m=1, nh=47) / Raw(filling(16, 1)))
    assert int.from_bytes(frag[6:8], "big") == MF
