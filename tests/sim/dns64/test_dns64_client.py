# SPDX-License-Identifier: BSD-2-Clause
"""Messages of clients: headers, EDNS (RFC 6891), sizes, who may query, rates (RFC 5625, RFC 1035)."""

from __future__ import annotations

import struct

import dns.edns
import dns.flags
import dns.message
import dns.opcode
import dns.rcode
import dns.rdatatype
import pytest
from gateway import INSIDE, LAN, OUTSIDE, PORT_MAC, ROUTER, WAN, only
from net6 import ADDRESSES6, NEIGHBOURS6, ROUTER6
from resolver import (
    A, A6, B, B6, FOUR, OUR4, OUR6, UPSTREAM, Resolver, Start, Zone, addresses, datagram, inside, rr, silent, wire,
)
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

pytestmark = pytest.mark.virtual


def zone() -> Zone:
    return Zone(FOUR, rr("wide.example.", 300, "TXT", *[f'"{"x" * 200} {n}"' for n in range(4)]),
                rr("many.example.", 300, "A", *[f"192.0.2.{n}" for n in range(1, 60)]))


@pytest.fixture
def resolver(start: Start) -> Resolver:
    return Resolver(start, zone())


def header(raw: bytes) -> tuple[int, ...]:
    return struct.unpack("!6H", raw[:12])


# --- what is no query ----------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"x", bytes(11)])
def test_shorter_than_a_header(resolver: Resolver, data: bytes) -> None:
    assert resolver.raw(data) is None
    assert resolver.gateway.drops() == {"dns-short": 1}


def test_answers_are_not_answered(resolver: Resolver) -> None:
    query = resolver.query("four.example.")
    query.flags |= dns.flags.QR
    assert resolver.raw(query) is None
    assert resolver.gateway.drops() == {"dns-response": 1}


@pytest.mark.parametrize("opcode", [1, 2, 3, 4, 5, 6, 15])
def test_other_operations(resolver: Resolver, opcode: int) -> None:
    for edns, records in ((None, 0), (0, 1)):
        query = resolver.query("four.example.", edns=edns)
        query.flags |= dns.opcode.to_flags(dns.opcode.Opcode(opcode))
        raw = resolver.raw(query)
        assert raw is not None
        ident, flags, *counts = header(raw)
        assert ident == query.id and flags == 0x8180 | opcode << 11 | dns.rcode.NOTIMP
        assert counts == [1, 0, 0, records] and raw[12:12 + len(GOOD)] == GOOD
        assert len(raw) == 12 + len(GOOD) + records * len(OPT)
    assert not resolver.zone.asked  # type: ignore[attr-defined]


def test_other_operations_that_cannot_be_read(resolver: Resolver) -> None:
    raw = resolver.raw(struct.pack("!6H", 77, 4 << 11, 0, 0, 0, 0) + b"\xff" * 7)
    assert raw is not None and header(raw) == (77, 0x8084 | 4 << 11, 0, 0, 0, 0) and len(raw) == 12


GOOD = b"\4four\7example\0\0\x1c\0\1"
OPT = b"\0\0\x29\x04\xd0\0\0\0\0\0\0"


@pytest.mark.parametrize(
    "counts, rest",
    [
        ((0, 0, 0, 0), b""),
        ((2, 0, 0, 0), GOOD + GOOD),
        ((1, 0, 0, 0), b""),
        ((1, 0, 0, 0), GOOD[:-1]),
        ((1, 0, 0, 0), GOOD[:5]),
        ((1, 0, 0, 0), b"\xc0\x0c\0\x1c\0\1"),
        ((1, 0, 0, 0), b"\x41" + GOOD),
        ((1, 0, 0, 0), b"\x80" + GOOD),
        ((1, 0, 0, 0), b"\1a" * 128 + b"\0\0\x1c\0\1"),
        ((65535, 0, 0, 0), GOOD),
    ],
    ids=["none", "two", "missing", "cut", "cut-name", "pointer", "label-41", "label-80", "too-long", "65535"],
)
def test_malformed_questions(resolver: Resolver, counts: tuple[int, ...], rest: bytes) -> None:
    raw = resolver.raw(struct.pack("!6H", 77, 0x0100, *counts) + rest)
    assert raw is not None and header(raw) == (77, 0x8181, 0, 0, 0, 0) and len(raw) == 12
    assert not resolver.zone.asked  # type: ignore[attr-defined]
    assert resolver.gateway.stats()["dns_formerr"] == 1


@pytest.mark.parametrize(
    "counts, rest",
    [
        ((1, 0, 0, 0), b"x"),
        ((1, 0, 0, 1), b""),
        ((1, 0, 0, 1), OPT[:-1]),
        ((1, 0, 0, 1), OPT + b"x"),
        ((1, 0, 0, 2), OPT + OPT),
        ((1, 0, 0, 1), b"\1a\0" + OPT[1:]),
        ((1, 1, 0, 0), b"\xc0\x0c"),
        ((1, 0, 0, 1), OPT[:-2] + b"\0\5abc"),
    ],
    ids=["garbage", "no-opt", "cut-opt", "behind-opt", "two-opts", "opt-with-name", "cut-answer", "long-opt"],
)
def test_malformed_behind_the_question(resolver: Resolver, counts: tuple[int, ...], rest: bytes) -> None:
    raw = resolver.raw(struct.pack("!6H", 77, 0x0100, *counts) + GOOD + rest)
    assert raw is not None and header(raw)[:3] == (77, 0x8181, 1) and raw[12:12 + len(GOOD)] == GOOD
    # The answer has OPT if the query has one that can be read (RFC 6891 section 6.1.1).
    readable = rest in (OPT + OPT, b"\1a\0" + OPT[1:])
    assert header(raw)[3:] == (0, 0, readable) and len(raw) == 12 + len(GOOD) + readable * len(OPT)


def test_what_stands_behind_a_question_does_no_harm(resolver: Resolver) -> None:
    query = resolver.query("four.example.", edns=0)
    query.additional.append(rr("x.example.", 1, "A", "192.0.2.1"))
    raw = resolver.raw(query)
    assert raw is not None and addresses(dns.message.from_wire(raw)) == [inside("192.0.2.33")]


@pytest.mark.parametrize("flags", ["RD", "RD AD", "RD CD", "RD AD CD", "RD AA", "RD TC", "RD RA", ""])
def test_flags(resolver: Resolver, flags: str) -> None:
    assert resolver.addresses("four.example.", flags=flags) == [inside("192.0.2.33")]


def test_the_bit_without_a_meaning_is_passed_on(resolver: Resolver) -> None:
    """RFC 5625 section 4.1."""
    query = resolver.query("four.example.")
    query.flags |= 0x40
    raw = resolver.raw(query)
    assert raw is not None and addresses(dns.message.from_wire(raw)) == [inside("192.0.2.33")]
    assert all(one.flags & 0x40 for one in resolver.zone.asked)  # type: ignore[attr-defined]


# --- EDNS ----------------------------------------------------------------------------------------------


def test_edns_is_for_those_who_know_it(resolver: Resolver) -> None:
    for _ in range(2):
        assert resolver.ask("four.example.").edns == -1
        answer = resolver.ask("four.example.", edns=0)
        assert answer.edns == 0 and answer.payload == 1232
    assert all(one.edns == 0 and one.payload == 1232 for one in resolver.zone.asked)  # type: ignore[attr-defined]


@pytest.mark.parametrize("version", [1, 2, 255])
def test_other_versions(resolver: Resolver, version: int) -> None:
    raw = resolver.raw(resolver.query("four.example.", edns=version))
    assert raw is not None
    answer = dns.message.from_wire(raw)
    assert answer.rcode() == dns.rcode.BADVERS and answer.edns == 0 and not answer.answer
    assert not resolver.zone.asked  # type: ignore[attr-defined]


def test_options_are_between_neighbours(resolver: Resolver) -> None:
    query = resolver.query("four.example.", edns=0, options=[dns.edns.GenericOption(10, b"8 bytes!"),
                                                             dns.edns.GenericOption(65001, b"?")])
    raw = resolver.raw(query)
    assert raw is not None and not dns.message.from_wire(raw).options
    assert not any(one.options for one in resolver.zone.asked)  # type: ignore[attr-defined]


# --- sizes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "payload, expected", [(None, 512), (0, 512), (511, 512), (800, 800), (1232, 1232), (4096, 1232), (65535, 1232)]
)
def test_limits(resolver: Resolver, payload: int | None, expected: int) -> None:
    """As many whole records as fit, and TC."""
    query = (
        resolver.query("many.example.") if payload is None else resolver.query("many.example.", edns=0, payload=payload)
    )
    for _ in range(2):
        raw = resolver.raw(query)
        assert raw is not None
        answer = dns.message.from_wire(raw, ignore_trailing=False)
        assert answer.flags & dns.flags.TC
        assert expected - 28 < len(raw) <= expected
        assert len(addresses(answer)) == (expected - 30 - (11 if payload is not None else 0)) // 28


def test_a_small_answer_is_not_cut(resolver: Resolver) -> None:
    assert not resolver.ask("four.example.").flags & dns.flags.TC


def test_an_answer_passed_on_is_cut_as_well(resolver: Resolver) -> None:
    answer = resolver.ask("wide.example.", "TXT")
    assert answer.flags & dns.flags.TC and len(answer.answer[0]) == 2
    answer = resolver.ask("wide.example.", "TXT", edns=0)
    assert not answer.flags & dns.flags.TC and len(answer.answer[0]) == 4


def test_what_is_not_needed_is_left_out_without_tc(start: Start) -> None:
    """RFC 2181 section 9."""
    upstream = zone()

    def wide(query: dns.message.Message) -> dns.message.Message:
        answer = upstream.lookup(query)
        answer.authority.append(rr("example.", 300, "NS", "ns1.example.", "ns2.example."))
        for n in range(12):
            answer.additional.append(rr(f"ns{n}.long-name-of-a-server{n}.example.", 300, "AAAA", f"2001:db8::{n}"))
        return answer

    upstream.instead = wide
    answer = Resolver(start, upstream).ask("four.example.")
    assert addresses(answer) == [inside("192.0.2.33")] and not answer.flags & dns.flags.TC
    assert len(answer.authority) == 1 and 0 < len(answer.additional) < 12


@pytest.mark.parametrize("most, expected", [(512, 512), (100, 512), (1000, 1000), (1700, 1700)])
def test_response_maxlength(start: Start, most: int, expected: int) -> None:
    resolver = Resolver(start, zone(), more=f"response-maxlength {most}\nlan.mtu 1500\n")
    query = resolver.query("many.example.", edns=0, payload=4096)
    # Answers longer than a frame are sent as fragments.
    sent = resolver.gateway.send(
        LAN, bytes(Ether(src=A.mac, dst=PORT_MAC[LAN]) / datagram(A.ip, OUR4, 4000, 53, wire(query)))
    )
    frames: list[bytes] = []
    for one in sent:
        for frame in resolver.net.take(one):
            for back in resolver.gateway.send(WAN, frame):
                frames.append(back.raw) if back.port == LAN else resolver.net.take(back)
    length = sum(int.from_bytes(one[16:18], "big") - 20 for one in frames) - 8
    assert expected - 28 < length <= expected


def test_tc_from_upstream_stays(start: Start) -> None:
    """RFC 5625 section 4.4: TC is never cleared, and such an answer is not kept."""
    upstream = zone()

    def cut(query: dns.message.Message) -> dns.message.Message:
        answer = upstream.lookup(query)
        answer.flags |= dns.flags.TC
        return answer

    upstream.instead = cut
    resolver = Resolver(start, upstream)
    for n in (1, 2):
        assert resolver.ask("four.example.", "A").flags & dns.flags.TC
        assert len(upstream.asked) == 2 * n  # over UDP, then over TCP
    assert resolver.ask("four.example.").flags & dns.flags.TC


def test_a_truncated_answer_without_records(start: Start) -> None:
    """There is no AAAA record, and the A records did not fit: that is not an empty answer."""
    upstream = zone()

    def cut(query: dns.message.Message) -> dns.message.Message | None:
        if query.question[0].rdtype != dns.rdatatype.A:
            return None
        answer = dns.message.make_response(query, recursion_available=True)
        answer.flags |= dns.flags.TC
        return answer

    upstream.instead = cut
    answer = Resolver(start, upstream).ask("four.example.")
    assert answer.flags & dns.flags.TC and not answer.answer


# --- who may query ----------------------------------------------------------------------------------------


def test_clients_are_those_on_our_networks(start: Start) -> None:
    resolver = Resolver(start, zone())
    resolver.send(resolver.query("four.example."), client=ROUTER_HOST, to=OUTSIDE, sport_of="198.51.100.7")
    got = only_answer(resolver)
    assert got.rcode() == dns.rcode.REFUSED
    # Stub resolvers look for their question in the answer, and those with EDNS for OPT.
    assert len(got.question) == 1 and got.question[0].name.to_text() == "four.example." and got.edns == -1
    resolver.send(resolver.query("four.example.", edns=0), client=ROUTER_HOST, to=OUTSIDE, sport_of="198.51.100.7")
    assert resolver.net.got.pop().message.edns == 0
    assert not resolver.zone.asked  # type: ignore[attr-defined]
    # A neighbour on the WAN may query the address there.
    answer = resolver.raw(resolver.query("four.example."), client=ROUTER_HOST, to=OUTSIDE)
    assert answer is not None and resolver.net.got[-1].source == OUTSIDE


ROUTER_HOST = ROUTER


def only_answer(resolver: Resolver) -> dns.message.Message:
    assert len(resolver.net.got) == 1
    return resolver.net.got[0].message


def test_clients_by_configuration(start: Start) -> None:
    resolver = Resolver(start, zone(), more=f"dns64.client {A.ip}/32\ndns64.client 2001:db8:1::/64\n")
    assert resolver.addresses("four.example.") == [inside("192.0.2.33")]
    assert resolver.addresses("four.example.", client=A6) == [inside("192.0.2.33")]
    raw = resolver.raw(resolver.query("four.example."), client=B)
    assert raw is not None and header(raw)[1] == 0x8185
    # Refusals are limited, so that they cannot flood a victim.
    for n in range(100):
        resolver.send(resolver.query("four.example."), client=B, port=5000 + n)
    stats = resolver.gateway.stats()
    assert stats["dns_refused"] == 50 and stats['drop{reason="dns-client"}'] == 51


def test_link_local_clients(start: Start) -> None:
    resolver = Resolver(start, zone())
    raw = resolver.raw(resolver.query("four.example."), client=A6, sport_of=A6.local, to="fe80::ff:fe00:1")
    if raw is None:  # the neighbour is resolved first
        solicitation = resolver.net.other[-1]
        assert solicitation.port == LAN
        return
    assert resolver.net.got[-1].client == A6.local


def test_rate(start: Start) -> None:
    resolver = Resolver(start, zone(), more="dns64.rate 20\n")
    resolver.addresses("four.example.")
    for n in range(100):
        resolver.send(resolver.query("four.example."), port=5000 + n)
    assert len(resolver.net.got) == 20
    # Other clients are not affected.
    assert resolver.addresses("four.example.", client=B) == [inside("192.0.2.33")]
    assert resolver.addresses("four.example.", client=B6) == [inside("192.0.2.33")]
    assert resolver.gateway.drops() == {"dns-rate": 81}
    resolver.wait(0.5)
    before = len(resolver.net.got)
    for n in range(100):
        resolver.send(resolver.query("four.example."), port=6000 + n)
    assert len(resolver.net.got) - before == 10


# --- other ports and packets -------------------------------------------------------------------------


def test_answers_from_the_address_asked(start: Start) -> None:
    resolver = Resolver(start, zone(), more="lan.address 192.168.1.2/24\nlan.address 2001:db8:1::2/64\n")
    for client, own in (
        (A, OUR4),
        (A, "192.168.1.2"),
        (A, OUTSIDE),
        (A6, OUR6),
        (A6, "2001:db8:1::2"),
        (A6, "2001:db8:2::2"),
    ):
        resolver.ask("four.example.")
        raw = resolver.raw(resolver.query("four.example."), client=client, to=own)
        assert raw is not None
        assert resolver.net.got[-1].source == own and resolver.net.got[-1].client == client.ip


def test_another_port(start: Start) -> None:
    resolver = Resolver(start, zone(), more="port 5353\n")
    assert resolver.raw(resolver.query("four.example."), dport=5353) is not None
    assert resolver.raw(resolver.query("four.example."), dport=53) is None
    assert resolver.gateway.drops() == {"no-service": 1}


@pytest.mark.parametrize("client", [A, A6], ids=["ipv4", "ipv6"])
def test_checksums(start: Start, client: object) -> None:
    resolver = Resolver(start, zone())
    own = OUR4 if client is A else OUR6
    packet = datagram(client.ip, own, 4000, 53, wire(resolver.query("four.example.")))  # type: ignore[attr-defined]
    good = bytes(packet)
    at = (20 if client is A else 40) + 6
    kind = 0x800 if client is A else 0x86dd
    for wrong, reason in (
        (bytes(a ^ b for a, b in zip(good[at : at + 2], b"\x12\x34")), "udp-checksum"),
        (b"\0\0", None),
    ):
        raw = good[:at] + wrong + good[at + 2:]
        resolver.net.deliver(
            resolver.gateway.send(LAN, bytes(Ether(src=client.mac, dst=PORT_MAC[LAN], type=kind)) + raw)
        )  # type: ignore[attr-defined]
        if reason or client is A6:
            assert not resolver.net.got
        else:  # UDP over IPv4 may have no checksum
            assert len(resolver.net.got) == 1
    assert resolver.gateway.drops() == {"udp-checksum": 1 if client is A else 2}


def test_length_beyond_the_packet(resolver: Resolver) -> None:
    packet = IP(src=A.ip, dst=OUR4) / UDP(sport=4000, dport=53, len=100, chksum=0) / b"short"
    assert not resolver.gateway.lan(packet, broken=True)
    packet = IP(src=A.ip, dst=OUR4) / UDP(sport=4000, dport=53, len=7, chksum=0) / b"short"
    assert not resolver.gateway.lan(packet, broken=True)
    packet = IP(src=A.ip, dst=OUR4, proto=17) / b"short"
    assert not resolver.gateway.lan(packet, broken=True)
    assert not resolver.gateway.lan(IP(src=A.ip, dst=OUR4) / UDP(sport=0, dport=53) / GOOD)
    assert resolver.gateway.drops() == {"l4-header": 4}


def test_closed_ports(resolver: Resolver) -> None:
    """Inside hosts get an ICMP error, outside hosts do not."""
    sent = resolver.gateway.lan(IP(src=A.ip, dst=OUR4) / UDP(sport=5, dport=54) / b"x")
    assert only(sent, LAN).frame[ICMP].type == 3 and only(sent).frame[ICMP].code == 3
    assert not resolver.gateway.wan(IP(src=ROUTER.ip, dst=OUTSIDE) / UDP(sport=5, dport=54) / b"x")


def test_nothing_is_forwarded(resolver: Resolver) -> None:
    assert not resolver.gateway.lan(IP(src=A.ip, dst="198.51.100.7") / UDP(dport=53) / GOOD)
    frame = Ether(src=A6.mac, dst=PORT_MAC[LAN]) / IPv6(src=A6.ip, dst="2001:db8:f::7") / UDP(dport=53) / GOOD
    assert not resolver.gateway.send(LAN, frame)
    assert resolver.gateway.drops() == {"not-dns": 2}


def test_what_is_for_others_ends_in_silence(start: Start) -> None:
    """A host sends no error about packets for others, with or without a route, from any source."""
    gateway = start(ADDRESSES6.replace(f"gateway {ROUTER6.ip}\n", "") + NEIGHBOURS6
                    + f"lan.ra off\nnameserver {ROUTER6.ip}\n", "dns64")
    gateway.wait(5)
    for host in (A6, ROUTER6):
        for source in (host.ip, host.local):
            for target in ("2001:db8:f::7", "2001:db8:1::99", "2001:db8:2::99"):
                packet = IPv6(src=source, dst=target) / UDP(dport=53)
                assert gateway.send(host.port, Ether(src=host.mac, dst=PORT_MAC[host.port]) / packet) == []
    assert gateway.drops() == {"not-dns": 4, "no-route": 2, "scope": 6}


def test_ping(resolver: Resolver) -> None:
    assert only(resolver.gateway.lan(IP(src=A.ip, dst=INSIDE) / ICMP(id=1)), LAN).frame[ICMP].type == 0


def test_questions_from_nowhere(resolver: Resolver) -> None:
    """A source address that cannot be on this side."""
    assert resolver.raw(resolver.query("four.example."), sport_of="203.0.113.9") is None
    assert resolver.raw(resolver.query("four.example."), sport_of="127.0.0.1") is None
    assert resolver.gateway.drops() == {"martian-source": 2}


def test_a_silent_upstream_gives_servfail_in_time(start: Start) -> None:
    upstream = zone()
    upstream.instead = silent()
    resolver = Resolver(start, upstream)
    for kind in ("A", "AAAA", "TXT"):
        answer = resolver.ask("four.example.", kind, wait=3.1)
        assert answer.rcode() == dns.rcode.SERVFAIL
    assert resolver.gateway.stats()["dns_upstream_timeouts"] > 0
    assert all(one.server == UPSTREAM for one in resolver.net.asked)
