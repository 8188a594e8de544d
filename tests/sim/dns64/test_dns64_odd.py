# SPDX-License-Identifier: BSD-2-Clause
"""Upstream servers with unusual or late answers, clients with unusual queries, and many queries at a time."""

from __future__ import annotations

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.renderer
import dns.reversename
import pytest
from gateway import LAN, PORT_MAC, ROUTER, WAN
from resolver import (
    A, A6, B, BASIC, DNS64, FOUR, OUR6, UPSTREAM, UPSTREAM2, Message, Resolver, Start, Zone, addresses, datagram, fails,
    inside, rr, silent, upstream, wire,
)
from scapy.layers.l2 import Ether

pytestmark = pytest.mark.virtual

OPT = b"\0\0\x29\x04\xd0\0\0\0\0\0\0"


def question_end(query: Message) -> int:
    return 12 + len(query.question[0].name.to_wire()) + 4


# --- answers as few servers write them ------------------------------------------------------------------


def test_a_records_that_were_all_cut_off(start: Start) -> None:
    """TC without a record is no empty answer: the client must retry over TCP (RFC 2181 section 9)."""
    zone = Zone(FOUR)

    def cut(query: Message) -> Message | None:
        if query.question[0].rdtype != 1:
            return None
        answer = dns.message.make_response(query, recursion_available=True)
        answer.flags |= dns.flags.TC
        return answer

    zone.instead = cut
    answer = Resolver(start, zone).ask("four.example.")
    assert answer.flags & dns.flags.TC and not answer.answer


FAR = [
    rr("mail.far.test.", 300, "A", "192.0.2.1"),
    rr("mail.far.test.", 300, "AAAA", "2001:db8::1"),
    rr("x.y.far.test.", 300, "MX", "5 z.y.far.test."),
]


@pytest.mark.parametrize("kind, data", [("MX", "10 mail.far.test."), ("SRV", "1 2 3 mail.far.test.")])
@pytest.mark.parametrize("before", range(len(FAR) + 1))
def test_opt_anywhere_in_the_additional_section(start: Start, kind: str, data: str, before: int) -> None:
    """RFC 6891 section 6.1.1: its place has no meaning. Records after it are passed on as well (RFC 6147 5.3.2)."""
    wanted = rr("four.example.", 300, kind, data)

    def instead(query: Message) -> bytes:
        made = dns.renderer.Renderer(query.id, 0x8180)
        question = query.question[0]
        made.add_question(question.name, question.rdtype)
        made.add_rrset(dns.renderer.ANSWER, wanted)
        for one in FAR[:before]:
            made.add_rrset(dns.renderer.ADDITIONAL, one)
        made.add_edns(0, 0, 1232)
        for one in FAR[before:]:
            made.add_rrset(dns.renderer.ADDITIONAL, one)
        made.write_header()
        return made.get_wire()

    zone = Zone(wanted)
    zone.instead = instead
    resolver = Resolver(start, zone)
    for _ in range(2):
        answer = resolver.ask("four.example.", kind)
        assert [one.to_text() for one in answer.answer] == [wanted.to_text()]
        assert [one.to_text() for one in answer.additional] == [one.to_text() for one in FAR]


@pytest.mark.parametrize("section", [1, 2])
@pytest.mark.parametrize("kind", ["A", "AAAA"])
def test_opt_where_it_cannot_be(start: Start, section: int, kind: str) -> None:
    """In the answer or authority section the message is malformed, and nothing of it is passed on."""
    zone = Zone(FOUR)

    def instead(query: Message) -> bytes:
        answer = dns.message.make_response(query, recursion_available=True)
        answer.use_edns(-1)
        raw = bytearray(wire(answer))
        raw[5 + 2 * section] = 1
        return bytes(raw) + OPT

    zone.instead = instead
    resolver = Resolver(start, zone)
    assert resolver.ask("four.example.", kind, wait=3.1, edns=0).rcode() == dns.rcode.SERVFAIL
    assert resolver.gateway.drops()["dns-answer"]


@pytest.mark.parametrize("more", [b"x", bytes(40), OPT], ids=["x", "zeros", "opt"])
def test_bytes_behind_an_answer(start: Start, more: bytes) -> None:
    """They are left out."""
    zone = Zone(FOUR)
    zone.instead = lambda query: wire(zone.lookup(query)) + more
    resolver = Resolver(start, zone)
    for _ in range(2):
        assert resolver.addresses("four.example.") == [inside("192.0.2.33")]
        assert resolver.ask("four.example.", "A").answer == [FOUR]


@pytest.mark.parametrize(
    "ttl, rcode", [(256, dns.rcode.SERVFAIL), (255, dns.rcode.SERVFAIL), (0xC00C, dns.rcode.NOERROR)]
)
def test_a_name_that_lies_in_a_ttl(start: Start, ttl: int, rcode: dns.rcode.Rcode) -> None:
    """A TTL is lowered while an answer is kept: a name inside it is malformed. A name after it does no harm."""

    def instead(query: Message) -> bytes:
        raw, end = wire(Zone(FOUR).lookup(query)), question_end(query)
        if query.question[0].rdtype != 1 or raw[7] != 1:
            return raw
        # The record of the authority section has the last byte of that TTL as its name, or a name in the question.
        into = 12 if rcode == dns.rcode.NOERROR else end + 9
        more = bytes([0xC0, into]) + b"\0\x10\0\1\0\0\1\x2c\0\2\1x"
        return raw[:8] + b"\0\1\0\0" + raw[12 : end + 6] + ttl.to_bytes(4, "big") + raw[end + 10 : end + 16] + more

    zone = Zone(FOUR)
    zone.instead = instead
    resolver = Resolver(start, zone)
    assert resolver.ask("four.example.", "A", wait=3.1, edns=0).rcode() == rcode
    assert bool(resolver.gateway.drops().get("dns-answer")) == (rcode != dns.rcode.NOERROR)


def test_names_that_are_written_out(start: Start) -> None:
    """A server that does not compress repeats our random spelling in its records; the client sees its own."""
    zone = Zone(FOUR, rr("four.example.", 300, "TXT", "x"))

    def plain(query: Message) -> bytes:
        raw, end = wire(zone.lookup(query)), question_end(query)
        return raw[:end] + raw[12 : end - 4] + raw[end + 2 :] if raw[end : end + 2] == b"\xc0\x0c" else raw

    zone.instead = plain
    resolver = Resolver(start, zone)
    for _ in range(2):
        for kind in ("TXT", "A", "AAAA"):
            answer = resolver.ask("fouR.example.", kind)
            assert [one.name.to_text() for one in answer.answer] == ["fouR.example."]
    assert addresses(answer) == [inside("192.0.2.33")]


def test_how_long_a_negative_answer_holds(start: Start) -> None:
    """RFC 2308 section 5: the SOA record's TTL is the lower of it and MINIMUM, and goes down."""
    resolver = Resolver(start, Zone(soa=rr("example.", 600, "SOA", "a. b. 1 2 3 4 60")))
    for age in (0, 59):
        assert resolver.ask("none.example.", "MX").authority[0].ttl == 60 - age
        resolver.wait(59)


# --- late answers ---------------------------------------------------------------------------------------


def test_an_error_does_not_end_the_wait_for_another_server(start: Start) -> None:
    zone = Zone(FOUR)
    zone.instead = silent()
    resolver = Resolver(start, zone, BASIC + f"nameserver {UPSTREAM}\nnameserver {UPSTREAM2}\n")
    resolver.send(resolver.query("four.example.", "A"))
    resolver.wait(0.5)
    first, second = resolver.net.asked
    assert first.server != second.server
    error = fails(dns.rcode.SERVFAIL)(first.message)
    assert isinstance(error, Message)
    resolver.net.deliver(resolver.gateway.send(WAN, upstream(first.server, first.source, first.port, error)))
    assert not resolver.net.got
    resolver.net.deliver(
        resolver.gateway.send(WAN, upstream(second.server, second.source, second.port, zone.lookup(second.message)))
    )
    assert resolver.net.got[0].message.answer


def test_the_wait_is_over_in_time_for_a_chain_as_well(start: Start) -> None:
    """The CNAME record comes late, and leads to a name that no server answers."""
    zone = Zone()

    def late(query: Message) -> Message | list[None]:
        if query.question[0].name.to_text().lower() != "www.example." or len(zone.asked) <= 4:
            return []
        answer = dns.message.make_response(query, recursion_available=True)
        answer.answer.append(rr("www.example.", 500, "CNAME", "host.example."))
        return answer

    zone.instead = late  # type: ignore[assignment]
    resolver = Resolver(start, zone)
    resolver.send(resolver.query("www.example."))
    for _ in range(70):
        resolver.wait(0.1)
    assert any(one.message.question[0].name.to_text().lower() == "host.example." for one in resolver.net.asked)
    assert len(resolver.net.got) == 1 and resolver.net.got[0].message.rcode() == dns.rcode.SERVFAIL
    assert resolver.net.got[0].at - resolver.net.asked[0].at < 3.05


def test_a_wrong_spelling_at_the_last_moment(start: Start) -> None:
    """The query is answered in time all the same."""
    zone = Zone(FOUR)
    zone.instead = silent()
    resolver = Resolver(start, zone, more="timeout-time 0.3\nresend-attempts 0\n")
    resolver.send(resolver.query("four.example.", "A"))
    resolver.wait(0.29)
    asked = resolver.net.asked[0]
    answer = bytearray(wire(zone.lookup(asked.message)))
    answer[13] ^= 0x20
    resolver.net.deliver(resolver.gateway.send(WAN, upstream(UPSTREAM, asked.source, asked.port, bytes(answer))))
    resolver.wait(0.5)
    assert len(resolver.net.got) == 1 and resolver.net.got[0].message.rcode() == dns.rcode.SERVFAIL
    stats = resolver.gateway.stats()
    assert stats["dns_asking"] == stats["dns_waiting"] == 0


# --- clients -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["operation", "refused", "version", "two-questions", "no-question"])
def test_errors_with_opt(start: Start, how: str) -> None:
    """RFC 6891 section 6.1.1: every answer has OPT. It repeats the question if it can be read: some clients (glibc)
    recognise their answer by it."""
    resolver = Resolver(start, Zone(FOUR), more=f"dns64.client {A.ip}/32\n" if how == "refused" else "")
    query = resolver.query("four.example.", edns=int(how == "version"), dnssec=how != "version")
    if how == "operation":
        query.flags |= 4 << 11
    raw = wire(query)
    if how == "no-question":
        raw = raw[:4] + b"\0\0" + raw[6:12] + OPT
    if how == "two-questions":
        raw = raw[:4] + b"\0\2" + raw[6:-11] + b"\xc0\x0c\0\1\0\1" + OPT
    back = resolver.raw(raw, client=B if how == "refused" else A)
    assert back is not None
    answer = dns.message.from_wire(back)
    assert answer.edns == 0 and answer.rcode() == {
        "operation": dns.rcode.NOTIMP,
        "refused": dns.rcode.REFUSED,
        "version": dns.rcode.BADVERS,
    }.get(how, dns.rcode.FORMERR)
    assert answer.question == ([] if "question" in how else query.question)


NAMES = {
    "root": ".",
    "63": "x" * 63 + ".",
    "255": ".".join(["y" * 63] * 3 + ["z" * 61]) + ".",
    "127-labels": "a." * 127,
    "bytes": r"\000\255\.A.example.",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=list(NAMES))
@pytest.mark.parametrize("edns", [None, 0])
def test_all_names(start: Start, name: str, edns: int | None) -> None:
    resolver = Resolver(start, Zone(rr(name, 100, "A", "192.0.2.1", "192.0.2.2"), origin="."))
    for _ in range(2):
        assert sorted(resolver.addresses(name, edns=edns)) == [inside("192.0.2.1"), inside("192.0.2.2")]


def test_the_well_known_name_for_those_who_validate(start: Start) -> None:
    """Nothing is fetched (RFC 8880 section 7.1), and nothing is synthesised (RFC 6147 section 5.5)."""
    zone = Zone()
    resolver = Resolver(start, zone)
    assert resolver.ask("ipv4only.arpa.", "A", flags="RD CD", dnssec=True).answer
    answer = resolver.ask("ipv4only.arpa.", flags="RD CD", dnssec=True)
    assert answer.rcode() == 0 and not answer.answer and answer.authority
    assert not zone.asked


def test_a_reverse_name_that_upstream_only_leads_on(start: Start) -> None:
    """A CNAME record alone (RFC 2317), as an authoritative server answers: it is followed."""
    zone = Zone(
        rr("33.2.0.192.in-addr.arpa.", 60, "CNAME", "33.32/27.2.0.192.in-addr.arpa."),
        rr("33.32/27.2.0.192.in-addr.arpa.", 90, "PTR", "host.example."),
        origin="arpa.",
    )

    def bare(query: Message) -> Message | None:
        alias = zone.sets.get((query.question[0].name, 5))
        if alias is None:
            return None
        answer = dns.message.make_response(query, recursion_available=True)
        answer.answer.append(alias)
        return answer

    zone.instead = bare
    name = str(dns.reversename.from_address(inside("192.0.2.33")))
    answer = Resolver(start, zone).ask(name, "PTR")
    assert [one.to_text() for one in answer.answer] == [
        f"{name} 90 IN CNAME 33.32/27.2.0.192.in-addr.arpa.",
        "33.32/27.2.0.192.in-addr.arpa. 90 IN PTR host.example.",
    ]
    # A chain in a circle leads to nothing.
    alias = zone.sets[dns.name.from_text("33.2.0.192.in-addr.arpa."), 5]
    zone.sets = {
        (alias.name, 5): alias,
        (alias[0].target, 5): rr(alias[0].target.to_text(), 60, "CNAME", alias.name.to_text()),
    }
    assert Resolver(start, zone).ask(name, "PTR").rcode() == dns.rcode.SERVFAIL


def test_a_prefix_that_is_given_twice(start: Start) -> None:
    resolver = Resolver(start, Zone(FOUR), more="dns64-prefix 2001:db8:65::/96\ndns64-prefix 2001:db8:64::/96\n")
    raw = resolver.raw(resolver.query("four.example."))
    assert raw is not None and raw[6:8] == b"\0\2"


@pytest.mark.parametrize("port", [LAN, WAN])
def test_a_large_answer_over_ipv6(start: Start, port: int) -> None:
    """It is sent in fragments of 1280 bytes each, where the path MTU is not known."""
    zone = Zone(rr("many.example.", 300, "A", *[f"192.0.2.{n}" for n in range(1, 60)]))
    resolver = Resolver(start, zone, more="response-maxlength 4096\ndns64.client ::/0\n")
    resolver.ask("many.example.", edns=0, client=A6)
    source, own, mac = (A6.ip, OUR6, A6.mac) if port == LAN else ("2001:db8:f::77", "2001:db8:2::2", ROUTER.mac)
    data = wire(resolver.query("many.example.", edns=0, payload=4096))
    frame = bytes(Ether(src=mac, dst=PORT_MAC[port], type=0x86DD) / datagram(source, own, 4000, 53, data))
    sent = list(resolver.gateway.send(port, frame))
    assert len(sent) == 2 and all(
        one.port == port and len(one.raw) <= 14 + (1500 if port == LAN else 1280) for one in sent
    )
    pieces = [one.raw[14 + 48 : 14 + 40 + int.from_bytes(one.raw[18:20], "big")] for one in sent]
    answer = dns.message.from_wire(b"".join(pieces)[8:])
    assert len(addresses(answer)) == 59 and not answer.flags & dns.flags.TC


# --- many at a time ------------------------------------------------------------------------------------------


def test_many_wait_without_a_cache(start: Start) -> None:
    """Records that pending queries need are not evicted before they are used: nothing is fetched twice."""
    zone = Zone()
    zone.instead = silent()
    resolver = Resolver(start, zone, DNS64.replace("dns64.cache 2000", "dns64.cache 0"))
    many = 400
    for n in range(many):
        resolver.send(resolver.query(f"{'x' * 60}.{'y' * 40}.number-{n}.example."), port=1024 + n)
    asked = list(resolver.net.asked)
    assert len(asked) == 2 * many
    zone.instead = None
    # All answers about AAAA first, then those about A, the last ones first.
    for kind, order in ((28, asked), (1, asked[::-1])):
        for one in order:
            if one.message.question[0].rdtype != kind:
                continue
            answer = zone.lookup(one.message)
            answer.set_rcode(0)
            if kind == 1:
                answer.answer = [rr(one.message.question[0].name.to_text(), 300, "A", "192.0.2.1")]
            resolver.net.deliver(resolver.gateway.send(WAN, upstream(UPSTREAM, one.source, one.port, answer)))
    assert len(resolver.net.got) == many and len(resolver.net.asked) == 2 * many
    assert all(one.raw[3] & 15 == 0 and one.raw[7] == 1 for one in resolver.net.got)
