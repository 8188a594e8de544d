# SPDX-License-Identifier: BSD-2-Clause
"""ICMP errors and the packets that they quote: RFC 7915 sections 4.2, 4.3, 5.2, 5.3; their extensions, RFC 4884; their
sources, RFC 6791."""

from __future__ import annotations

import struct
from ipaddress import IPv6Address
from typing import Any

import pytest
from gateway import LAN, WAN, Gateway, only
from ivi import (
    FAR, FOUR, FOUR6, IVI, OWN4, SIX4, Start, World, body, check46, check64, dropped, from4, from6, same4, six_of,
    start_ivi, to_six,
)
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6EchoRequest, IPv6, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop
from scapy.packet import Packet, Raw
from siit import checksum, fit, pseudo6
from test_ivi_properties import filling

pytestmark = pytest.mark.virtual


def message4(kind: int, code: int, quote: bytes, rest: int = 0) -> bytes:
    made = struct.pack("!BBHI", kind, code, 0, rest) + quote
    return made[:2] + checksum(made).to_bytes(2, "big") + made[4:]


def message6(kind: int, code: int, quote: bytes, rest: int = 0, *, src: str = IVI.six, dst: str = FOUR6) -> bytes:
    made = struct.pack("!BBHI", kind, code, 0, rest) + quote
    return made[:2] + checksum(pseudo6(six_of(src), six_of(dst), 58, len(made)) + made).to_bytes(2, "big") + made[4:]


def error4(kind: int, code: int, quote: bytes | Packet, rest: int = 0, **fields: Any) -> IP:
    """An ICMPv4 error to the IPv6 host about one of its packets."""
    ip = {"src": FOUR, "dst": SIX4, "proto": 1, "ttl": 9, **fields}
    return IP(**ip) / Raw(message4(kind, code, bytes(quote), rest))


def error6(kind: int, code: int, quote: bytes | Packet, rest: int = 0, **fields: Any) -> IPv6:
    """An ICMPv6 error to the IPv4 host about one of its packets."""
    ip = {"src": IVI.six, "dst": FOUR6, "hlim": 9, **fields}
    return IPv6(nh=58, **ip) / Raw(message6(kind, code, bytes(quote), rest, src=ip["src"], dst=ip["dst"]))


def quoted4(payload: Packet | None = None, **fields: Any) -> IP:
    """A packet of the IPv6 host as the IPv4 side sees it."""
    ip = {"src": SIX4, "dst": FOUR, "id": 0x7777, "ttl": 3, **fields}
    return IP(**ip) / (payload or UDP(sport=5, dport=6) / b"data")


def quoted6(payload: Packet | None = None, **fields: Any) -> IPv6:
    """A packet of the IPv4 host as the IPv6 side sees it."""
    return IPv6(**{"src": FOUR6, "dst": IVI.six, "hlim": 3, **fields}) / (payload or UDP(sport=5, dport=6) / b"data")


def want6(kind: int, code: int, quote: bytes | Packet, rest: int = 0) -> bytes:
    return bytes(IPv6(src=FOUR6, dst=IVI.six, hlim=8, nh=58)
                 / Raw(message6(kind, code, bytes(quote), rest, src=FOUR6, dst=IVI.six)))


def want4(kind: int, code: int, quote: bytes | Packet, rest: int = 0) -> bytes:
    return bytes(IP(src=SIX4, dst=FOUR, ttl=8, proto=1) / Raw(message4(kind, code, bytes(quote), rest)))


# --- 4.2 Types and codes, from IPv4 ---------------------------------------------------------------


UNREACHABLE4 = {0: (1, 0), 1: (1, 0), 2: (4, 1), 3: (1, 4), 5: (1, 0), 6: (1, 0), 7: (1, 0), 8: (1, 0), 9: (1, 1),
                10: (1, 1), 11: (1, 0), 12: (1, 0), 13: (1, 1), 15: (1, 1)}


@pytest.mark.parametrize("code", [code for code in range(17) if code != 4])
def test_s42_destination_unreachable(ivi: Gateway, code: int) -> None:
    if code not in UNREACHABLE4:
        assert dropped(ivi, lambda: from4(ivi, error4(3, code, quoted4())), "icmp-type") == []
        return
    kind6, code6 = UNREACHABLE4[code]
    got = only(from4(ivi, error4(3, code, quoted4())), LAN)
    want = want6(kind6, code6, IPv6(src=IVI.six, dst=FOUR6, hlim=3) / UDP(sport=5, dport=6) / b"data",
                 6 if code == 2 else 0)
    assert body(got).hex() == want.hex()


@pytest.mark.parametrize("code", [0, 1])
def test_s42_time_exceeded(ivi: Gateway, code: int) -> None:
    got = only(from4(ivi, error4(11, code, quoted4())), LAN)
    inner = IPv6(src=IVI.six, dst=FOUR6, hlim=3) / UDP(sport=5, dport=6) / b"data"
    assert body(got).hex() == want6(3, code, inner).hex()


POINTER4 = {0: 0, 1: 1, 2: 4, 3: 4, 8: 7, 9: 6, 12: 8, 13: 8, 14: 8, 15: 8, 16: 24, 17: 24, 18: 24, 19: 24}


@pytest.mark.parametrize("code", [0, 2])
@pytest.mark.parametrize("pointer", [*range(22), 255])
def test_s42_parameter_problem(ivi: Gateway, code: int, pointer: int) -> None:
    packet = error4(12, code, quoted4(), pointer << 24)
    if pointer not in POINTER4:
        assert dropped(ivi, lambda: from4(ivi, packet), "icmp-type") == []
        return
    got = body(only(from4(ivi, packet), LAN))
    assert got[40:42] == bytes([4, 0]) and int.from_bytes(got[44:48], "big") == POINTER4[pointer]


@pytest.mark.parametrize(("kind", "code"), [(12, 1), (12, 3), (4, 0), (5, 0), (5, 1), (6, 0), (9, 0), (10, 0), (13, 0),
                                            (14, 0), (15, 0), (16, 0), (17, 0), (18, 0), (30, 0), (42, 0), (255, 0)])
def test_s42_silently_dropped(ivi: Gateway, kind: int, code: int) -> None:
    assert dropped(ivi, lambda: from4(ivi, error4(kind, code, quoted4())), "icmp-type") == []


@pytest.mark.parametrize(("told", "mtu6", "mtu4", "seen"), [
    (1261, 1500, 1500, 1281), (1260, 1500, 1500, 1280), (1259, 1500, 1500, 1280), (68, 1500, 1500, 1280),
    (1400, 1500, 1500, 1420), (1480, 1500, 1500, 1500), (1500, 1500, 1500, 1500), (65535, 1500, 1500, 1500),
    (1500, 1400, 1500, 1400), (1500, 1500, 1300, 1320), (1290, 1500, 1300, 1310)])
def test_s42_fragmentation_needed(start: Start, told: int, mtu6: int, mtu4: int, seen: int) -> None:
    """The larger of 1280 and the minimum of the reported MTU and both interfaces' MTUs, each converted to IPv6."""
    gateway = start_ivi(start, World(lan_mtu=mtu6, wan_mtu=mtu4))
    got = body(only(from4(gateway, error4(3, 4, quoted4(), told)), LAN))
    assert got[40:42] == b"\2\0" and int.from_bytes(got[44:48], "big") == seen


@pytest.mark.parametrize(("length", "seen"), [(1500, 1500), (1493, 1500), (1492, 1280), (1480, 1280), (600, 1280),
                                              (2003, 1500), (65535, 1500)])
def test_s42_fragmentation_needed_without_mtu(ivi: Gateway, length: int, seen: int) -> None:
    """The largest plateau of RFC 1191 below the quoted length, if it is at least 1280."""
    got = body(only(from4(ivi, error4(3, 4, quoted4(len=length), 0), broken=True), LAN))
    assert int.from_bytes(got[44:48], "big") == seen


# --- 5.2 Types and codes, from IPv6 ---------------------------------------------------------------


@pytest.mark.parametrize(("code", "code4"), [(0, 1), (1, 10), (2, 1), (3, 1), (4, 3), (5, None), (6, None), (7, None)])
def test_s52_destination_unreachable(ivi: Gateway, code: int, code4: int | None) -> None:
    packet = error6(1, code, quoted6())
    if code4 is None:
        assert dropped(ivi, lambda: from6(ivi, packet), "icmp-type") == []
        return
    got = body(only(from6(ivi, packet), WAN))
    same4(got, want4(3, code4, IP(src=FOUR, dst=SIX4, ttl=3) / UDP(sport=5, dport=6) / b"data"), 28)


@pytest.mark.parametrize("code", [0, 1])
def test_s52_time_exceeded(ivi: Gateway, code: int) -> None:
    got = body(only(from6(ivi, error6(3, code, quoted6())), WAN))
    same4(got, want4(11, code, IP(src=FOUR, dst=SIX4, ttl=3) / UDP(sport=5, dport=6) / b"data"), 28)


POINTER6 = {0: 0, 1: 1, 4: 2, 5: 2, 6: 9, 7: 8, **dict.fromkeys(range(8, 24), 12), **dict.fromkeys(range(24, 40), 16)}


@pytest.mark.parametrize("pointer", [*range(42), 255, 2**32 - 1])
def test_s52_erroneous_header_field(ivi: Gateway, pointer: int) -> None:
    packet = error6(4, 0, quoted6(), pointer)
    if pointer not in POINTER6:
        assert dropped(ivi, lambda: from6(ivi, packet), "icmp-type") == []
        return
    got = body(only(from6(ivi, packet), WAN))
    assert got[20:22] == bytes([12, 0]) and got[24:28] == bytes([POINTER6[pointer], 0, 0, 0])


def test_s52_unrecognized_next_header(ivi: Gateway) -> None:
    got = body(only(from6(ivi, error6(4, 1, quoted6(), 6)), WAN))
    assert got[20:22] == bytes([3, 2]) and got[24:28] == bytes(4)


@pytest.mark.parametrize(("kind", "code"), [(4, 2), (4, 3), (0, 0), (5, 0), (100, 0), (127, 0), (130, 0), (131, 0),
                                            (132, 0), (133, 0), (134, 0), (135, 0), (136, 0), (137, 0), (138, 0),
                                            (143, 0), (200, 0), (255, 0)])
def test_s52_silently_dropped(ivi: Gateway, kind: int, code: int) -> None:
    assert dropped(ivi, lambda: from6(ivi, error6(kind, code, quoted6())), "icmp-type") == []


@pytest.mark.parametrize(("told", "mtu6", "mtu4", "seen"), [
    (1280, 1500, 1500, 1260), (1400, 1500, 1500, 1380), (1500, 1500, 1500, 1480), (9000, 1500, 1500, 1480),
    (1500, 1400, 1500, 1380), (1500, 1500, 1300, 1300), (600, 1500, 1500, 580), (88, 1500, 1500, 68),
    (20, 1500, 1500, 68), (0, 1500, 1500, 68)])
def test_s52_packet_too_big(start: Start, told: int, mtu6: int, mtu4: int, seen: int) -> None:
    """The minimum of the reported MTU and both interfaces' MTUs, each converted to IPv4; at least IPv4's minimum."""
    gateway = start_ivi(start, World(lan_mtu=mtu6, wan_mtu=mtu4))
    got = body(only(from6(gateway, error6(2, 0, quoted6(), told)), WAN))
    assert got[20:22] == bytes([3, 4]) and got[24:28] == bytes(2) + seen.to_bytes(2, "big")


def test_s52_packet_too_big_about_a_fragment(ivi: Gateway) -> None:
    """The MTU takes into account that the IPv6 packet's fragment header has 8 bytes."""
    quote = IPv6(src=FOUR6, dst=IVI.six) / IPv6ExtHdrFragment(m=1, id=0x1234, nh=17) / Raw(filling(1232, 1))
    got = body(only(from6(ivi, error6(2, 0, bytes(quote)[:1000], 1280), broken=True), WAN))
    assert got[26:28] == (1252).to_bytes(2, "big")


# --- 4.3, 5.3 The quoted packet -------------------------------------------------------------------


@pytest.mark.parametrize("payload", [UDP(sport=5, dport=6) / b"data", TCP(sport=5, dport=6) / b"data",
                                     UDP(sport=5, dport=6, chksum=0) / b"data", Raw(b"")])
def test_s43_quoted_packet_of_any_kind(ivi: Gateway, payload: Packet) -> None:
    fields = {"proto": 47} if isinstance(payload, Raw) else {}
    got = body(from4(ivi, error4(3, 1, quoted4(payload, tos=0xb8, **fields)), broken=True)[0])
    inner = IPv6(src=IVI.six, dst=FOUR6, hlim=3, tc=0xb8, **({"nh": 47} if fields else {})) / payload
    assert got.hex() == want6(1, 0, inner).hex()


def test_s43_s53_quoted_echo(ivi: Gateway) -> None:
    """The type of the error does not depend on that of the echo."""
    for kind, kind6 in ((8, ICMPv6EchoRequest), (0, ICMPv6EchoReply)):
        got = body(only(from4(ivi, error4(11, 0, quoted4(ICMP(type=kind, id=9, seq=7) / b"ping"))), LAN))
        inner = IPv6(src=IVI.six, dst=FOUR6, hlim=3) / kind6(id=9, seq=7, data=b"ping")
        assert got.hex() == want6(3, 0, inner).hex()
        got = body(only(from6(ivi, error6(3, 0, quoted6(kind6(id=9, seq=7, data=b"ping")))), WAN))
        same4(got, want4(11, 0, IP(src=FOUR, dst=SIX4, ttl=3) / ICMP(type=kind, id=9, seq=7) / b"ping"), 28)


@pytest.mark.parametrize("size", [28, 29, 36, 40, 47])
def test_s43_cut_quote(ivi: Gateway, size: int) -> None:
    """Eight bytes of transport header are enough (RFC 792); the length fields remain those of the whole packet."""
    whole = quoted4(TCP(sport=5, dport=6) / filling(900, 1))
    got = body(only(from4(ivi, error4(11, 0, bytes(whole)[:size])), LAN))
    right = bytes(IPv6(src=IVI.six, dst=FOUR6, hlim=3) / TCP(sport=5, dport=6) / filling(900, 1))
    cut = bytearray(right[:size + 20])
    if size < 20 + 18:  # the quote ends before the checksum
        cut[40:] = bytes(whole)[20:size]
    assert got.hex() == want6(3, 0, bytes(cut)).hex()


@pytest.mark.parametrize("size", [20, 21, 23, 27])
def test_s43_quote_of_little_more_than_a_header(ivi: Gateway, size: int) -> None:
    """A quote that ends after the IP header still says which hosts the packet belongs to."""
    check46(ivi, IVI, error4(3, 1, bytes(quoted4())[:size]), broken=True)


@pytest.mark.parametrize(("bytes_", "size"), [(b"", 0), (b"", 19), (b"\x46", 23), (b"\x65", 60), (b"\x44", 60)])
def test_s43_unusable_quote(ivi: Gateway, bytes_: bytes, size: int) -> None:
    quote = (bytes_ + bytes(quoted4())[len(bytes_):])[:size]
    assert dropped(ivi, lambda: from4(ivi, error4(3, 1, quote)), "icmp-quote") == []


def test_s43_quoted_length_within_its_header(ivi: Gateway) -> None:
    assert dropped(ivi, lambda: from4(ivi, error4(3, 1, quoted4(len=19))), "icmp-quote") == []


@pytest.mark.parametrize("size", [0, 39])
def test_s53_unusable_quote(ivi: Gateway, size: int) -> None:
    assert dropped(ivi, lambda: from6(ivi, error6(1, 0, bytes(quoted6())[:size]), broken=True), "icmp-quote") == []
    bad = b"\x45" + bytes(quoted6())[1:]
    assert dropped(ivi, lambda: from6(ivi, error6(1, 0, bad), broken=True), "icmp-quote") == []


def test_s53_cut_extension_headers(ivi: Gateway) -> None:
    quote = bytes(quoted6(IPv6ExtHdrHopByHop() / UDP(sport=5, dport=6) / b"data"))
    assert dropped(ivi, lambda: from6(ivi, error6(1, 0, quote[:47])), "icmp-quote") == []
    got = body(only(from6(ivi, error6(1, 0, quote[:48])), WAN))
    assert len(got) == 20 + 8 + 20
    short = bytearray(quote)
    short[4:6] = b"\0\7"  # ends within the extension header
    assert dropped(ivi, lambda: from6(ivi, error6(1, 0, bytes(short))), "icmp-quote") == []


def test_s43_options_of_the_quote_are_removed(ivi: Gateway) -> None:
    plain = bytes(quoted4())
    header = bytearray(plain[:20] + b"\x94\x04\x00\x00")
    header[0], header[2:4] = 0x46, (len(plain) + 4).to_bytes(2, "big")
    got = only(from4(ivi, error4(3, 1, bytes(header) + plain[20:])), LAN)
    assert body(got).hex() == body(only(from4(ivi, error4(3, 1, plain)), LAN)).hex()


def test_s43_s53_no_error_about_an_error(ivi: Gateway) -> None:
    """The translation stops at the first quoted header and drops the packet."""
    nested4 = error4(3, 1, quoted4(Raw(message4(11, 0, bytes(quoted4()))), proto=1))
    assert dropped(ivi, lambda: from4(ivi, nested4), "icmp-quote") == []
    nested6 = error6(1, 0, quoted6(Raw(message6(3, 0, bytes(quoted6()))), nh=58))
    assert dropped(ivi, lambda: from6(ivi, nested6), "icmp-quote") == []


def test_quoted_messages_that_are_not_translated(ivi: Gateway) -> None:
    assert dropped(ivi, lambda: from4(ivi, error4(3, 1, quoted4(ICMP(type=13)))), "icmp-quote") == []
    solicitation = quoted6(Raw(bytes([135]) + bytes(23)), nh=58)
    assert dropped(ivi, lambda: from6(ivi, error6(1, 0, solicitation)), "icmp-quote") == []


def test_s43_quoted_fragments(ivi: Gateway) -> None:
    first = quoted4(Raw(bytes(UDP(sport=5, dport=6, len=3000, chksum=0x1234)) + filling(56, 1)), proto=17, flags="MF")
    got = body(from4(ivi, error4(11, 1, first), broken=True)[0])
    assert got[54] == 44 and got[88:96] == bytes([17, 0, 0, 1]) + (0x7777).to_bytes(4, "big")
    assert got[96:100] == bytes(first)[20:24] and got[104:] == bytes(first)[28:]
    later = quoted4(Raw(filling(64, 1)), proto=17, frag=100)
    got = body(from4(ivi, error4(11, 1, later), broken=True)[0])
    assert got[88:92] == bytes([17, 0]) + (800).to_bytes(2, "big") and got[96:] == filling(64, 1)


def test_s53_quoted_fragments(ivi: Gateway) -> None:
    for offset, more in ((0, 1), (100, 0)):
        quote = quoted6(IPv6ExtHdrFragment(offset=offset, m=more, id=0xabcd4321, nh=47) / Raw(filling(64, 1)))
        got = body(only(from6(ivi, error6(3, 1, quote)), WAN))
        inner = IP(got[28:])
        assert (inner.id, inner.frag, int(inner.flags), inner.proto) == (0x4321, offset, more, 47)
        assert bytes(inner.payload) == filling(64, 1)


@pytest.mark.parametrize(("size", "df"), [(1220, 0), (1221, 2)])
def test_s53_df_of_the_quoted_packet(ivi: Gateway, size: int, df: int) -> None:
    """The rule for any packet applies; the size is the one in the quoted header."""
    got = body(only(from6(ivi, error6(2, 0, bytes(quoted6(TCP() / filling(size, 1)))[:1000], 1400)), WAN))
    assert int(IP(got[28:]).flags) == df and IP(got[28:]).len == size + 40


def test_wrong_checksums_of_the_quote_stay_wrong(ivi: Gateway) -> None:
    check46(ivi, IVI, error4(3, 3, quoted4(UDP(chksum=0x1111) / b"data")), broken=True)
    check64(ivi, IVI, error6(1, 4, quoted6(TCP(chksum=0x1111) / b"data")), broken=True)
    check46(ivi, IVI, error4(3, 3, quoted4(chksum=0x1111)))


def test_wrong_checksum_of_the_error(ivi: Gateway) -> None:
    """The message is built newly, but its checksum must not become right."""
    bad4, bad6 = bytearray(bytes(error4(3, 3, quoted4()))), bytearray(bytes(error6(1, 4, quoted6())))
    bad4[23] ^= 1
    bad6[43] ^= 1
    assert dropped(ivi, lambda: from4(ivi, bytes(bad4)), "icmp-checksum") == []
    assert dropped(ivi, lambda: from6(ivi, bytes(bad6)), "icmp-checksum") == []


def test_error_with_one_hop_left(ivi: Gateway) -> None:
    """It is dropped, and no error is sent about it."""
    assert dropped(ivi, lambda: from4(ivi, error4(3, 1, quoted4(), ttl=1)), "ttl") == []
    assert dropped(ivi, lambda: from6(ivi, error6(1, 0, quoted6(), hlim=1)), "ttl") == []


def test_fragmented_error(ivi: Gateway) -> None:
    assert dropped(ivi, lambda: from4(ivi, error4(3, 1, quoted4(), flags="MF")), "fragment") == []
    packet = IPv6(src=IVI.six, dst=FOUR6) / IPv6ExtHdrFragment(m=1, id=1, nh=58) / Raw(message6(1, 0, bytes(quoted6())))
    assert dropped(ivi, lambda: from6(ivi, packet), "fragment") == []


def test_truncated_error(ivi: Gateway) -> None:
    for size in (1, 4, 7):
        packet = IP(src=FOUR, dst=SIX4, proto=1) / Raw(message4(3, 1, b"")[:size])
        assert dropped(ivi, lambda: from4(ivi, packet), "l4-header") == []  # noqa: B023
        packet6 = IPv6(src=IVI.six, dst=FOUR6, nh=58) / Raw(message6(1, 0, b"")[:size])
        assert dropped(ivi, lambda: from6(ivi, packet6, broken=True), "l4-header") == []  # noqa: B023


# --- sizes of errors ------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1232, 1233, 1260, 1472])
def test_s43_at_most_1280_bytes(ivi: Gateway, size: int) -> None:
    """RFC 4443 section 2.4 (c), whatever the MTUs are."""
    whole = quoted4(UDP(sport=5, dport=6) / filling(1444, 1))
    got = body(only(from4(ivi, error4(3, 1, bytes(whole)[:size])), LAN))
    right = bytes(IPv6(src=IVI.six, dst=FOUR6, hlim=3) / UDP(sport=5, dport=6) / filling(1444, 1))
    assert got.hex() == want6(1, 0, right[:min(size + 20, 1232)]).hex() and len(got) <= 1280


@pytest.mark.parametrize("size", [548, 568, 569, 1232])
def test_s53_at_most_576_bytes(ivi: Gateway, size: int) -> None:
    """RFC 1812 section 4.3.2.3."""
    whole = quoted6(UDP(sport=5, dport=6) / filling(1200, 1))
    got = body(only(from6(ivi, error6(1, 0, bytes(whole)[:size])), WAN))
    right = bytes(IP(src=FOUR, dst=SIX4, ttl=3) / UDP(sport=5, dport=6) / filling(1200, 1))
    same4(got, want4(3, 1, right[:min(size - 20, 548)]), 28)


def test_errors_are_never_fragmented(start: Start) -> None:
    """Neither lowest-ipv6-mtu nor a small MTU changes them."""
    gateway = start_ivi(start, World(lan_mtu=1280))
    got = body(only(from4(gateway, error4(3, 1, bytes(quoted4(UDP() / filling(1400, 1)))[:1400])), LAN))
    assert len(got) == 1280 and got[6] == 58


# --- RFC 4884 -------------------------------------------------------------------------------------


def extended4(quote: bytes, extension: bytes, kind: int = 3, code: int = 3) -> IP:
    quote = quote.ljust(max(128, -(-len(quote) // 4) * 4), b"\0")
    return error4(kind, code, quote + extension, len(quote) // 4 << 16)


def extended6(quote: bytes, extension: bytes, kind: int = 1, code: int = 4) -> IPv6:
    quote = quote.ljust(max(128, -(-len(quote) // 8) * 8), b"\0")
    return error6(kind, code, quote + extension, len(quote) // 8 << 24)


# The quoted packet's payload and the extensions' size; whether the extensions are kept.
SIZES46 = [(104, 40, True), (100, 8, True), (4, 20, True), (86, 20, True), (544, 640, True), (992, 192, True),
           (104, 1080, True), (552, 640, True), (992, 200, True), (100, 1104, True), (100, 1105, False)]
SIZES64 = [(480, 40, True), (488, 40, True), (1100, 40, True), (80, 420, True), (80, 421, False), (528, 521, False),
           (4, 20, True), (61, 20, True), (88, 20, True)]


@pytest.mark.parametrize(("payload", "extension", "stays"), SIZES46)
def test_rfc4884_from_ipv4(ivi: Gateway, payload: int, extension: int, stays: bool) -> None:
    """The quoted packet gets 20 bytes longer; zeros and the length attribute follow from that. The first 128 bytes of
    the packet go before the extensions, the extensions before the rest of it. The extensions are whole or left out."""
    quote, tail = bytes(quoted4(UDP(sport=5, dport=6) / filling(payload, 1))), filling(extension, 99)
    got = body(only(from4(ivi, extended4(quote, tail)), LAN))
    inner = bytes(IPv6(src=IVI.six, dst=FOUR6, hlim=3) / UDP(sport=5, dport=6) / filling(payload, 1))
    packet, kept, units = fit(inner, tail, 1280 - 48, 8)
    assert bool(kept) == stays and units >= (16 if stays else 0)
    assert got.hex() == want6(1, 4, packet + kept, units << 24).hex() and len(got) <= 1280


@pytest.mark.parametrize(("payload", "extension", "stays"), SIZES64)
def test_rfc4884_from_ipv6(ivi: Gateway, payload: int, extension: int, stays: bool) -> None:
    quote, tail = bytes(quoted6(UDP(sport=5, dport=6) / filling(payload, 1))), filling(extension, 99)
    # The oracle would take extensions for the end of a truncated packet.
    got = body(only(from6(ivi, extended6(quote, tail), broken=True), WAN))
    inner = bytes(IP(src=FOUR, dst=SIX4, ttl=3) / UDP(sport=5, dport=6) / filling(payload, 1))
    packet, kept, units = fit(inner, tail, 576 - 28, 4)
    assert bool(kept) == stays and units >= (32 if stays else 0)
    same4(got, want4(3, 3, packet + kept, units << 16), 28)
    assert len(got) <= 576


def test_rfc4884_by_hand(ivi: Gateway) -> None:
    """One case calculated by hand: 108 bytes of packet and 20 zeros are 128 bytes, so 32 words."""
    quote = bytes(quoted6(UDP(sport=5, dport=6) / filling(80, 1)))
    got = body(only(from6(ivi, extended6(quote, filling(420, 99))), WAN))
    assert len(got) == 576 and got[25] == 32
    assert got[28 + 108:28 + 128] == bytes(20) and got[28 + 128:] == filling(420, 99)


@pytest.mark.parametrize(("kind", "code", "rest"), [(3, 2, 0), (3, 4, 1400), (12, 0, 1 << 24)])
def test_rfc4884_types_that_carry_none_in_ipv6(ivi: Gateway, kind: int, code: int, rest: int) -> None:
    """Packet too big and parameter problem."""
    quote = bytes(quoted4()).ljust(128, b"\0")
    got = body(only(from4(ivi, error4(kind, code, quote + filling(28, 9), rest | 32 << 16)), LAN))
    assert len(got) == 40 + 8 + 40 + 12  # neither extension nor zeros
    assert got[40] in (2, 4)


@pytest.mark.parametrize("words", [32, 33, 255])
def test_rfc4884_wrong_length_attribute(ivi: Gateway, words: int) -> None:
    """When nothing follows the quoted packet, there is no extension."""
    quote = bytes(quoted4(UDP(sport=5, dport=6) / filling(100, 1)))
    got = body(only(from4(ivi, error4(3, 3, quote, words << 16)), LAN))
    inner = IPv6(src=IVI.six, dst=FOUR6, hlim=3) / UDP(sport=5, dport=6) / filling(100, 1)
    assert got.hex() == want6(1, 4, inner).hex()


@pytest.mark.parametrize("words", [1, 4])
def test_rfc4884_field_that_is_no_length_attribute(ivi: Gateway, words: int) -> None:
    """The packet cannot end within its header: the bytes are a random value in a field that RFC 792 calls unused."""
    quote = bytes(quoted4(UDP(sport=5, dport=6) / filling(100, 1)))
    got = body(only(from4(ivi, error4(3, 3, quote, words << 16)), LAN))
    inner = IPv6(src=IVI.six, dst=FOUR6, hlim=3) / UDP(sport=5, dport=6) / filling(100, 1)
    assert got.hex() == want6(1, 4, inner).hex()
    quote = bytes(quoted6(UDP(sport=5, dport=6) / filling(100, 1)))
    got = body(only(from6(ivi, error6(1, 4, quote, words << 24)), WAN))
    inner4 = IP(src=FOUR, dst=SIX4, ttl=3) / UDP(sport=5, dport=6) / filling(100, 1)
    same4(got, want4(3, 3, inner4), 28)


def test_rfc4884_quote_below_128_bytes(ivi: Gateway) -> None:
    """Some routers send that (with the attribute set); the gateway's own packet follows the RFC."""
    quote = bytes(quoted4())
    got = body(only(from4(ivi, error4(11, 0, quote + filling(8, 9), len(quote) // 4 << 16)), LAN))
    assert got[44] == 16 and got[48 + 52:48 + 128] == bytes(76) and got[48 + 128:] == filling(8, 9)


# --- RFC 6791 -------------------------------------------------------------------------------------


def test_rfc6791_source_without_mapping(start: Start) -> None:
    world = World(keys={"ivi.icmp-source": "203.0.113.8"})
    gateway = start_ivi(start, world)
    got = body(only(from6(gateway, error6(1, 0, quoted6(), src="4000::1")), WAN))
    assert IP(got).src == "203.0.113.8" and IP(got).dst == FOUR
    assert got[20:22] == b"\3\1" and got[24:28] == bytes(4)


def test_rfc6791_source_is_ours_by_default(ivi: Gateway) -> None:
    for src in ("4000::1", IVI.v6("198.51.100.7"), IVI.v6("127.0.0.1"), IVI.v6("10.0.0.1"), IVI.v6(OWN4)):
        assert only(from6(ivi, error6(3, 0, quoted6(), src=src)), WAN).ip.src == OWN4


def test_rfc6791_source_is_chosen_at_random(start: Start) -> None:
    more = "".join(f"ivi.icmp-source {a}\n" for a in ("203.0.113.8", "2001:db8::8", "203.0.113.9"))
    gateway = start(IVI.config + more, "ivi")
    gateway.wait(4)
    seen = {only(from6(gateway, error6(3, 0, quoted6(), src="4000::1")), WAN).ip.src for _ in range(40)}
    assert seen == {"203.0.113.8", "203.0.113.9"}


def test_s41_illegal_source_of_an_error_is_translated(ivi: Gateway) -> None:
    """The error still helps troubleshooting."""
    for src in ("127.0.0.1", "0.0.0.0", "10.0.0.1", "192.0.2.9"):
        got = only(from4(ivi, error4(3, 1, quoted4(), src=src)), LAN)
        assert got.ip6.src == IVI.v6(src)


def test_rfc5837_interface_object(start: Start) -> None:
    """RFC 6791 section 4: the object names the router that sent the error."""
    gateway = start_ivi(start, World(keys={"ivi.icmp-interface": "on"}))
    got = body(only(from6(gateway, error6(3, 0, quoted6(), src="4000::1")), WAN))
    inner = bytes(IP(src=FOUR, dst=SIX4, ttl=3) / UDP(sport=5, dport=6) / b"data").ljust(128, b"\0")
    assert got[20:22] == b"\x0b\0" and got[25] == 32 and got[28 + 20:28 + 128] == inner[20:]
    extension = got[28 + 128:]
    assert extension[:1] == b"\x20" and checksum(extension) == 0
    assert extension[4:12] == bytes([0, 24, 2, 4, 0, 2, 0, 0]) and extension[12:] == IPv6Address("4000::1").packed
    plain = body(only(from6(gateway, error6(3, 0, quoted6())), WAN))
    assert len(plain) == 20 + 8 + 32  # no object for a source that has a mapping


def test_rfc6791_ipv6_source(start: Start) -> None:
    """Without a prefix an IPv4 source may have no mapping."""
    config = "\n".join([
        "lan.address 2001:db8:1::1/64", f"wan.address {OWN4}/24", f"gateway {FOUR}", "lan.ra off",
        "ivi.map 192.0.2.0/24 2001:db8:1::100/120", "ivi.map 203.0.113.0/24 2001:db8:4::/120",
        "ivi.icmp-source 2001:db8:1::9", "neighbour 2001:db8:1::121 52:54:00:00:01:0a"])
    gateway = start(config, "ivi")
    gateway.wait(4)
    quote = quoted4(dst=FAR)
    got = only(from4(gateway, error4(11, 0, quote)), LAN)
    assert (got.ip6.src, got.ip6.dst) == ("2001:db8:1::9", "2001:db8:1::121")
    assert IPv6(body(got)[48:]).dst == "2001:db8:4::4d"
    assert only(from4(gateway, error4(11, 0, quote, src=FAR)), LAN).ip6.src == "2001:db8:4::4d"
    assert dropped(gateway, lambda: from4(gateway, to_six() / UDP()), "no-map") != []
    assert dropped(gateway, lambda: from4(gateway, error4(11, 0, quoted4())), "icmp-quote") == []
