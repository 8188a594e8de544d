# SPDX-License-Identifier: BSD-2-Clause
"""Fragments and sizes in the translator against RFC 7915 sections 4.1, 5.1 and 5.1.1, byte by byte."""

from __future__ import annotations

from typing import Any

import pytest
from gateway import LAN, WAN, Gateway, only
from ivi import (
    FOUR, FOUR6, IVI, SIX4, Start, World, body, check46, check64, dropped, from4, from6, introduce, own_error4,
    own_error6, start_ivi, to_four, to_six,
)
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop
from scapy.packet import Raw
from test_ivi_properties import filling, with_options

pytestmark = pytest.mark.virtual


# --- 4.1 Fragments and sizes, from IPv4 -----------------------------------------------------------


@pytest.mark.parametrize("flags", ["MF", "MF+DF"])
def test_s41_fragment_keeps_its_identification(ivi: Gateway, flags: str) -> None:
    """The low 16 bits are the IPv4 identification, the high ones zero; DF does not matter."""
    data = filling(1232, 3)
    sent = from4(ivi, to_six(id=0xabcd, flags=flags, frag=0, proto=47) / Raw(data))
    want = IPv6(src=FOUR6, dst=IVI.six, hlim=63) / IPv6ExtHdrFragment(id=0xabcd, m=1, offset=0, nh=47) / Raw(data)
    assert body(only(sent, LAN)).hex() == bytes(want).hex()
    assert len(body(sent[0])) == 1280
    sent = from4(ivi, to_six(id=0xabcd, frag=154, proto=47) / Raw(data[:9]))
    want = IPv6(src=FOUR6, dst=IVI.six, hlim=63) / IPv6ExtHdrFragment(id=0xabcd, offset=154, nh=47) / Raw(data[:9])
    assert body(only(sent, LAN)).hex() == bytes(want).hex()


@pytest.mark.parametrize(("flags", "frag"), [("MF", 0), ("MF", 10), ("", 10)])
@pytest.mark.parametrize("proto", [6, 17])
def test_s41_fragments_of_tcp_and_udp(ivi: Gateway, flags: str, frag: int, proto: int) -> None:
    """Later fragments have no transport header, whatever bytes are in its place."""
    check46(ivi, IVI, to_six(id=0xabcd, flags=flags, frag=frag, proto=proto) / filling(64, 1), broken=True)


def test_s41_s45_checksum_of_a_first_fragment(ivi: Gateway) -> None:
    """It covers bytes that are not in this fragment, and is updated nevertheless."""
    whole = bytes(to_six() / TCP(sport=5, dport=6) / filling(2000, 1))
    first = IP(whole[:20] + whole[20:20 + 1000], len=1020, flags="MF", chksum=None)
    del first.chksum
    sent = only(from4(ivi, bytes(first)), LAN)
    right = bytes(IPv6(src=FOUR6, dst=IVI.six) / TCP(sport=5, dport=6) / filling(2000, 1))[40:]
    assert body(sent)[48:] == right[:1000]


def test_s41_no_fragment_header_without_need(ivi: Gateway) -> None:
    """RFC 8021: an unfragmented packet gets no fragment header, with DF or without, up to lowest-ipv6-mtu."""
    for flags in ("", "DF"):
        sent = only(from4(ivi, to_six(flags=flags) / TCP() / filling(1220, 1)), LAN)
        assert len(body(sent)) == 1280 and body(sent)[6] == 6


def test_s41_df_is_never_fragmented(ivi: Gateway) -> None:
    """It may be larger than lowest-ipv6-mtu: the sender of a packet with DF learns the path MTU."""
    sent = only(from4(ivi, to_six(flags="DF") / TCP() / filling(1440, 1)), LAN)
    assert len(body(sent)) == 1500 and body(sent)[6] == 6


def pieces46(world: World, data: bytes, size: int, **fields: Any) -> list[bytes]:
    """The fragments that RFC 7915 section 4.1 requires, of at most `size` payload bytes each."""
    made = []
    for at in range(0, len(data), size):
        more = at + size < len(data)
        made.append(bytes(IPv6(src=world.v6(FOUR), dst=world.six, hlim=63)
                          / IPv6ExtHdrFragment(m=int(more), offset=at // 8, nh=17, **fields) / Raw(data[at:at + size])))
    return made


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(("lowest", "mtu", "size", "cut"), [
    (1280, 1500, 1241, 1232), (1402, 1500, 1363, 1352), (1500, 1500, 1461, 1448), (1500, 1280, 1241, 1232),
    (1500, 1400, 1400, 1352)])
def test_s41_fragmented_without_df(start: Start, lowest: int, mtu: int, size: int, cut: int, known: bool) -> None:
    """A packet larger than lowest-ipv6-mtu or the interface's MTU: fragments of multiples of 8 bytes that fit."""
    world = World(lowest=lowest, lan_mtu=mtu)
    gateway = start_ivi(start, world)
    if known:
        introduce(gateway)
    packet = to_six(id=0x4d2) / UDP(sport=7, dport=8) / filling(size - 8, 5)
    sent = from4(gateway, packet)
    right = bytes(IPv6(src=world.v6(FOUR), dst=world.six) / UDP(sport=7, dport=8) / filling(size - 8, 5))[40:]
    assert [body(one).hex() for one in sent] == [one.hex() for one in pieces46(world, right, cut, id=0x4d2)]
    just = from4(gateway, to_six() / UDP(sport=7, dport=8) / filling(min(lowest, mtu) - 48, 5))
    assert len(body(only(just, LAN))) == min(lowest, mtu) and body(just[0])[6] == 17


def test_s41_fragmented_fragment(ivi: Gateway) -> None:
    """Its parts keep its offset, its identification and its M bit."""
    data = filling(1248, 9)
    sent = from4(ivi, to_six(id=4321, flags="MF", frag=100, proto=17) / Raw(data))
    want = [bytes(IPv6(src=FOUR6, dst=IVI.six, hlim=63)
                  / IPv6ExtHdrFragment(m=1, offset=at, id=4321, nh=17) / Raw(part))
            for at, part in ((100, data[:1232]), (254, data[1232:]))]
    assert [body(one).hex() for one in sent] == [one.hex() for one in want]


def test_s41_large_echo_is_fragmented(ivi: Gateway) -> None:
    sent = from4(ivi, to_six() / ICMP(id=1, seq=2) / filling(1400, 1))
    right = bytes(IPv6(src=FOUR6, dst=IVI.six) / ICMPv6EchoRequest(id=1, seq=2, data=filling(1400, 1)))[40:]
    assert b"".join(body(one)[48:] for one in sent) == right
    assert [body(one)[40] for one in sent] == [58, 58]


@pytest.mark.parametrize("known", [False, True])
def test_s41_df_and_too_large(start: Start, known: bool) -> None:
    world = World(lan_mtu=1280)
    gateway = start_ivi(start, world)
    if known:
        introduce(gateway)
    packet = to_six(flags="DF") / TCP() / filling(1221, 1)
    message = own_error4(dropped(gateway, lambda: from4(gateway, packet), "too-big"), 3, 4)
    assert message[ICMP].nexthopmtu == 1260 and message.len == 576
    assert bytes(message)[28:] == bytes(packet)[:548]
    assert len(body(only(from4(gateway, to_six(flags="DF") / TCP() / filling(1220, 1)), LAN))) == 1280


@pytest.mark.parametrize(("size", "told"), [(1300, 1260), (1241, 1260), (1240, 1252), (1233, 1252)])
def test_s41_df_fragment_and_too_large(start: Start, size: int, told: int) -> None:
    """It also needs room for the fragment header. Only the sender of a packet that would fit without this header gets
    the MTU that leaves room for it."""
    world = World(lan_mtu=1280)
    gateway = start_ivi(start, world)
    packet = to_six(flags="DF+MF", proto=6) / Raw(bytes(TCP()) + filling(size - 20, 1))
    message = own_error4(dropped(gateway, lambda: from4(gateway, packet), "too-big"), 3, 4)
    assert message[ICMP].nexthopmtu == told
    fits = to_six(flags="DF+MF", proto=6) / Raw(bytes(TCP()) + filling(1212, 1))
    assert len(body(only(from4(gateway, fits), LAN))) == 1280


def test_s41_options_do_not_count(start: Start) -> None:
    """They are removed, so the size is that of the packet without them."""
    gateway = start_ivi(start, World(lan_mtu=1280))
    fits = with_options(bytes(to_six(flags="DF") / TCP() / filling(1220, 1)), b"\x01" * 40)
    assert len(body(only(from4(gateway, fits), LAN))) == 1280
    packet = with_options(bytes(to_six(flags="DF") / TCP() / filling(1221, 1)), b"\x01" * 40)
    message = own_error4(dropped(gateway, lambda: from4(gateway, packet), "too-big"), 3, 4)
    assert message[ICMP].nexthopmtu == 1260


def test_s12_fragmented_icmp_is_not_translated(ivi: Gateway) -> None:
    first = to_six(flags="MF") / ICMP() / filling(64, 1)
    own_error4(dropped(ivi, lambda: from4(ivi, first), "fragment"), 3, 13)
    later = to_six(frag=9, proto=1) / Raw(filling(64, 1))
    assert dropped(ivi, lambda: from4(ivi, later), "fragment") == []
    first6 = to_four() / IPv6ExtHdrFragment(m=1, nh=58) / Raw(bytes(ICMPv6EchoRequest()) + filling(64, 1))
    assert dropped(ivi, lambda: from6(ivi, first6), "fragment") == []


# --- 5.1.1 Fragments, from IPv6 --------------------------------------------------------------------


def test_s511_fragment(ivi: Gateway) -> None:
    """Identification from the low 16 bits; DF is clear, whatever the size."""
    for offset, more, size in ((0, 1, 1240), (10, 1, 1440), (10, 0, 9), (80, 1, 1239)):
        data = filling(size, 1)
        packet = to_four() / IPv6ExtHdrFragment(offset=offset, m=more, id=0x01020408, nh=47) / Raw(data)
        ip = only(from6(ivi, packet), WAN).ip
        want = IP(src=SIX4, dst=FOUR, ttl=63, id=0x0408, flags="MF" if more else 0, frag=offset, proto=47) / Raw(data)
        assert bytes(ip).hex() == bytes(want).hex()


def test_s511_extension_headers_before_the_fragment_header(ivi: Gateway) -> None:
    packet = to_four() / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() \
        / IPv6ExtHdrFragment(offset=3, id=7, nh=17) / b"data"
    ip = only(from6(ivi, packet), WAN).ip
    assert (ip.proto, ip.frag, ip.id, bytes(ip.payload)) == (17, 3, 7, b"data")


def test_s511_atomic_fragment(ivi: Gateway) -> None:
    """RFC 6946: it is a whole packet, and gets a new identification."""
    packet = to_four() / IPv6ExtHdrFragment(offset=0, m=0, id=0x12345678, nh=17) \
        / UDP(sport=1, dport=2) / filling(1300, 1)
    packet = IPv6(bytes(packet))
    got = check64(ivi, IVI, packet)
    assert IP(got).id == 0x5678 and int(IP(got).flags) == 0
    echo = to_four() / IPv6ExtHdrFragment(id=9, nh=58) / ICMPv6EchoRequest(id=1, seq=2, data=b"data")
    assert only(from6(ivi, echo), WAN).ip[ICMP].type == 8


@pytest.mark.parametrize("hidden", [0, 43, 44, 51, 60, 135, 139, 140])
@pytest.mark.parametrize("offset", [0, 5])
def test_s511_extension_header_behind_the_fragment_header(ivi: Gateway, hidden: int, offset: int) -> None:
    packet = to_four() / IPv6ExtHdrFragment(offset=offset, m=1, id=1, nh=hidden) \
        / Raw(bytes([17, 0]) + bytes(6) + bytes(UDP()))
    message = own_error6(dropped(ivi, lambda: from6(ivi, packet), "extension"), 1, 1)
    assert message[8:] == bytes(packet)
    assert any(f"header {hidden} behind a fragment header" in line for line in ivi.lines("log"))


def test_s511_esp_behind_the_fragment_header(ivi: Gateway) -> None:
    packet = to_four() / IPv6ExtHdrFragment(offset=0, m=1, id=1, nh=50) / Raw(filling(64, 1))
    assert only(from6(ivi, packet), WAN).ip.proto == 50


def test_fragment_beyond_the_end_of_an_ipv4_packet(ivi: Gateway) -> None:
    packet = to_four() / IPv6ExtHdrFragment(offset=8189, id=1, nh=47) / Raw(filling(8, 1))
    own_error6(dropped(ivi, lambda: from6(ivi, packet), "ip-length"), 1, 1)
    fits = to_four() / IPv6ExtHdrFragment(offset=8187, id=1, nh=47) / Raw(filling(8, 1))
    assert only(from6(ivi, fits), WAN).ip.frag == 8187
