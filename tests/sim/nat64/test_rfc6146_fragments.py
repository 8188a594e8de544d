# SPDX-License-Identifier: BSD-2-Clause
"""RFC 6146 section 3.4: fragments of either version, in any order; UDP without checksum; sizes."""

from __future__ import annotations

import itertools
import random

import pytest
from gateway import LAN, WAN, Gateway, Sent, only
from ivi import dropped
from pieces import cut
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, ICMPv6PacketTooBig, IPv6, IPv6ExtHdrFragment
from scapy.packet import Packet, Raw
from siit import checksum, pseudo6
from simulator import Refused
from six4 import (
    FAR, OWN4, SIX, Start, error4, error6, out_echo, out_udp, send4, send6, sessions, six_of, start64, to4, to6,
)

pytestmark = pytest.mark.virtual

DATA = random.Random(6146).randbytes(3000)


@pytest.fixture
def gateway64(start: Start) -> Gateway:
    return start64(start)


def cut6(packet: Packet, size: int = 1232, ident: int = 0x12345678) -> list[Packet]:
    """The fragments of an IPv6 packet (RFC 8200 section 4.5)."""
    header, body, proto = packet.copy(), bytes(packet.payload), packet.nh
    header.remove_payload()
    made = []
    for at in range(0, len(body), size):
        part = header.copy()
        part.nh, part.plen = 44, None
        made.append(part / IPv6ExtHdrFragment(nh=proto, offset=at // 8, m=at + size < len(body), id=ident)
                    / Raw(body[at:at + size]))
    return [IPv6(bytes(one)) for one in made]


def cut4(packet: Packet, size: int = 1480) -> list[Packet]:
    packet.id = 0x4321
    return cut(packet, size)


def join4(sent: list[Sent]) -> bytes:
    """The transport message of IPv4 fragments, in the order in which they came."""
    body = b""
    for one in sent:
        assert one.port == WAN and one.ip.frag * 8 == len(body)
        body += bytes(one.ip.payload)
        assert bool(int(one.ip.flags) & 1) == (one is not sent[-1])
    assert len({(one.ip.id, one.ip.src, one.ip.dst) for one in sent}) == 1
    return body


def join6(sent: list[Sent]) -> bytes:
    body = b""
    for one in sent:
        head = one.ip6[IPv6ExtHdrFragment]
        assert one.port == LAN and head.offset * 8 == len(body) and head.m == (one is not sent[-1])
        body += one.raw[14 + 48:]
    assert len({one.ip6[IPv6ExtHdrFragment].id for one in sent}) == 1
    return body


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_34_fragments_from_inside(gateway64: Gateway, order: tuple[int, ...]) -> None:
    pieces = cut6(to4() / UDP(sport=5000, dport=53) / DATA)
    sent = []
    for place in order:
        assert sent == []
        sent = send6(gateway64, pieces[place])
    body = join4(sent)
    assert body[8:] == DATA and UDP(body).sport == 5000
    whole = IP(src=OWN4, dst=FAR) / UDP(sport=5000, dport=53) / DATA
    assert body == bytes(IP(bytes(whole)).payload)  # with its checksum
    assert sent[0].ip.id == 0x5678  # the lower half (RFC 7915 section 5.1.1)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("bare", [False, True])
def test_34_fragments_from_outside(gateway64: Gateway, order: tuple[int, ...], bare: bool) -> None:
    """A datagram without a checksum gets one, over all its fragments."""
    port = out_udp(gateway64)
    udp = UDP(sport=53, dport=port, chksum=0) if bare else UDP(sport=53, dport=port)
    pieces = cut4(to6() / udp / DATA, 1008)
    sent = []
    for place in order:
        assert sent == []
        sent = send4(gateway64, pieces[place])
    body = join6(sent)
    assert body[8:] == DATA and UDP(body).dport == 5000
    src, dst = (IPv6(src=six_of(FAR), dst=SIX).fields[name] for name in ("src", "dst"))
    pseudo = pseudo6(bytes.fromhex(IPv6(src=src).build()[8:24].hex()), IPv6(dst=dst).build()[24:40], 17, len(body))
    assert checksum(pseudo + body) == 0
    assert sent[0].ip6[IPv6ExtHdrFragment].id == 0x4321


def test_34_bare_datagram(gateway64: Gateway) -> None:
    """UDP without a checksum, in one packet: it gets one (checked by the oracle of every frame)."""
    port = out_udp(gateway64)
    sent = only(send4(gateway64, to6() / UDP(sport=53, dport=port, chksum=0) / b"abc"), LAN).ip6
    assert sent[UDP].chksum != 0
    assert gateway64.drops() == {}


def test_34_bare_datagram_from_inside(gateway64: Gateway) -> None:
    packet = to4() / UDP(sport=53, dport=54, chksum=0) / b"abc"
    error6(dropped(gateway64, lambda: send6(gateway64, packet, broken=True), "no-checksum"), 1, 1)


@pytest.mark.parametrize("way", ["64", "46"])
def test_34_echo_in_fragments(gateway64: Gateway, way: str) -> None:
    """RFC 7915 section 1.2 leaves ICMP in fragments out; here it is translated, because pings of hosts need it."""
    if way == "64":
        sent = [one for piece in cut6(to4() / ICMPv6EchoRequest(id=77, seq=3, data=DATA)) for one in
                send6(gateway64, piece)]
        body = join4(sent)
        assert body == bytes(ICMP(type=8, id=77, seq=3) / DATA)
        return
    ident = only(out_echo(gateway64, 77), WAN).ip[ICMP].id
    sent = [one for piece in cut4(to6() / ICMP(type=0, id=ident, seq=3) / DATA, 1008) for one in
            send4(gateway64, piece)]
    body = join6(sent)
    pseudo = pseudo6(IPv6(src=six_of(FAR)).build()[8:24], IPv6(dst=SIX).build()[24:40], 58, len(body))
    assert body[0] == 129 and body[8:] == DATA and checksum(pseudo + body) == 0


def test_34_tcp_in_fragments(gateway64: Gateway) -> None:
    segment = to4() / TCP(sport=5000, dport=80, flags="S", seq=1) / DATA
    sent = [one for piece in cut6(segment) for one in send6(gateway64, piece)]
    assert join4(sent) == bytes(IP(bytes(IP(src=OWN4, dst=FAR) / TCP(sport=5000, dport=80, flags="S", seq=1)
                                         / DATA)).payload)
    assert [one[:2] for one in sessions(gateway64)] == [("tcp", "init")]


def test_34_largest(gateway64: Gateway) -> None:
    """A datagram of 60,000 bytes in 49 fragments."""
    data = random.Random(1).randbytes(60000)
    sent = [one for piece in cut6(to4() / UDP(sport=5000, dport=53) / data) for one in send6(gateway64, piece)]
    assert join4(sent)[8:] == data


def test_34_hairpinned(gateway64: Gateway) -> None:
    listener = out_udp(gateway64, 6000, src="2001:db8:1::b")
    opener = out_udp(gateway64, 5000)
    send6(gateway64, to4(OWN4, "2001:db8:1::b") / UDP(sport=6000, dport=opener) / b"ho")
    sent = [one for piece in cut6(to4(OWN4) / UDP(sport=5000, dport=listener) / DATA) for one in
            send6(gateway64, piece)]
    assert join6(sent)[8:] == DATA and {one.ip6.dst for one in sent} == {"2001:db8:1::b"}


# --- what is bounded ------------------------------------------------------------------------------------


def test_34_wait(gateway64: Gateway) -> None:
    """FRAGMENT_MIN: they wait two seconds, and no longer."""
    pieces = cut6(to4() / UDP(sport=5000, dport=53) / DATA)
    send6(gateway64, pieces[0])
    gateway64.wait(1.8)
    send6(gateway64, pieces[1])
    assert len(send6(gateway64, pieces[2])) == 3
    send6(gateway64, pieces[0])
    gateway64.wait(2.3)
    assert gateway64.drops() == {"reassembly": 1}
    assert send6(gateway64, pieces[1]) == [] and gateway64.stats()["nat64_fragments_kept"] == 1


def test_34_configured_wait(start: Start) -> None:
    """The time that fragments wait is configurable, and never below FRAGMENT_MIN."""
    gateway = start64(start, "nat64.fragment-timeout 10\n")
    pieces = cut6(to4() / UDP(sport=5000, dport=53) / DATA)
    send6(gateway, pieces[0])
    gateway.wait(9)
    send6(gateway, pieces[1])
    assert len(send6(gateway, pieces[2])) == 3
    with pytest.raises(Refused):
        start64(start, "nat64.fragment-timeout 1\n")


def test_34_bare_datagram_without_resources(gateway64: Gateway) -> None:
    """UDP without a checksum that there is no room to put together, in more fragments than are kept: silent."""
    port = out_udp(gateway64)
    pieces = cut4(to6() / UDP(sport=53, dport=port, chksum=0) / DATA, 40)
    assert len(pieces) > 64
    assert [one for piece in pieces for one in send4(gateway64, piece)] == []
    assert set(gateway64.drops()) == {"reassembly"} and gateway64.stats()["nat64_fragments_kept"] == 0


def test_34_overlap(gateway64: Gateway) -> None:
    """RFC 5722: a packet whose fragments overlap is dropped, and what comes of it later."""
    good = cut6(to4() / UDP(sport=5000, dport=53) / DATA)
    bad = cut6(to4() / UDP(sport=5000, dport=53) / DATA, 1224)
    send6(gateway64, good[0])
    assert dropped(gateway64, lambda: send6(gateway64, good[0]), "overlap") == []  # an exact repetition
    before = gateway64.drops()["overlap"]
    send6(gateway64, bad[1])
    assert gateway64.drops()["overlap"] == before + 2
    for piece in good[1:]:
        assert dropped(gateway64, lambda: send6(gateway64, piece), "reassembly") == []  # noqa: B023


def test_34_flood(gateway64: Gateway) -> None:
    """Section 5.3: a flood of fragments without an end uses its own places; whole packets and fragments of others
    pass."""
    for n in range(400):
        piece = cut6(to4("203.0.113.5", f"2001:db8:1::{n + 256:x}") / UDP(sport=5000, dport=53) / DATA, ident=n)[0]
        assert send6(gateway64, piece, mac="52:54:00:00:01:0c") == []
    assert gateway64.stats()["nat64_fragments_kept"] <= 192
    out_udp(gateway64)
    sent = [one for piece in cut6(to4() / UDP(sport=5000, dport=53) / DATA) for one in send6(gateway64, piece)]
    assert join4(sent)[8:] == DATA


def test_34_short_first_fragment(gateway64: Gateway) -> None:
    """The first fragment has the whole transport header (RFC 3128)."""
    pieces = cut6(to4() / TCP(sport=5000, dport=80, flags="S") / DATA[:40], 16)
    sent = [one for piece in pieces for one in send6(gateway64, piece)]
    assert sent == [] and gateway64.drops()["l4-header"] == 1 and sessions(gateway64) == []


def test_atomic_fragment(gateway64: Gateway) -> None:
    """RFC 6946: a fragment that is the whole packet is translated at once."""
    packet = to4() / IPv6ExtHdrFragment(nh=17, id=0x10009) / UDP(sport=5000, dport=53) / b"x"
    sent = only(send6(gateway64, packet), WAN).ip
    assert (sent.id, int(sent.flags), sent.frag) == (9, 0, 0)


# --- sizes ----------------------------------------------------------------------------------------------


def test_too_big_outwards(start: Start) -> None:
    gateway = start64(start, "wan.mtu 1400\n")
    quote = error6(dropped(gateway, lambda: send6(gateway, to4() / UDP(sport=1, dport=2) / bytes(1400)), "too-big"),
                   2, 0)
    assert quote and sessions(gateway) == []


def test_too_big_inwards(gateway64: Gateway) -> None:
    port = out_udp(gateway64)
    packet = to6(flags=2) / UDP(sport=53, dport=port) / bytes(1472)
    sent = dropped(gateway64, lambda: send4(gateway64, packet), "too-big")
    error4(sent, 3, 4)
    assert only(sent).ip[ICMP].nexthopmtu == 1480


@pytest.mark.parametrize("lowest", [1280, 1500])
def test_split_inwards(start: Start, lowest: int) -> None:
    """Without DF it is split to nat64.lowest-ipv6-mtu."""
    gateway = start64(start, f"nat64.lowest-ipv6-mtu {lowest}\n")
    port = out_udp(gateway)
    sent = send4(gateway, to6() / UDP(sport=53, dport=port) / DATA[:1400])
    assert len(sent) == (2 if lowest == 1280 else 1)
    assert all(len(one.raw) <= 14 + lowest for one in sent)
    if lowest == 1280:
        assert join6(sent)[8:] == DATA[:1400]


def test_large_first_fragment_is_split(start: Start) -> None:
    """The first of several fragments is itself too large, and so split; the others follow."""
    gateway = start64(start)
    port = out_udp(gateway)
    sent = [one for piece in cut4(to6() / UDP(sport=53, dport=port) / DATA) for one in
            send4(gateway, piece)]
    assert join6(sent)[8:] == DATA and ICMPv6PacketTooBig not in sent[0].ip6


@pytest.mark.parametrize(("key", "tos", "want"), [("copy", 0xb8, 0xb8), ("zero", 0xb8, 0), ("7", 0xb8, 7)])
def test_tos(start: Start, key: str, tos: int, want: int) -> None:
    gateway = start64(start, f"nat64.tos {key}\n")
    sent = only(send6(gateway, to4(tc=tos) / UDP(sport=5000, dport=53) / b"x"), WAN).ip
    assert sent.tos == want
    assert only(send4(gateway, to6(tos=tos) / UDP(sport=53, dport=5000) / b"x"), LAN).ip6.tc == want
