# SPDX-License-Identifier: BSD-2-Clause
"""Upstream servers that refuse messages with OPT (RFC 6891 section 7): when a server is taken as one that does not
know EDNS, and how long answers without OPT are kept for clients that set DO."""

from __future__ import annotations

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import pytest
from gateway import WAN
from resolver import (
    BASIC, DNS64, UPSTREAM, UPSTREAM2, Answer, Asked, Message, Resolver, Start, Zone, inside, rr, silent, upstream,
    wire,
)

pytestmark = pytest.mark.virtual

TWO = BASIC + f"nameserver {UPSTREAM}\nnameserver {UPSTREAM2}\n"
LONG = rr("four.example.", 3600, "A", "192.0.2.33")
SIGNATURE = rr("four.example.", 3600, "RRSIG", "A 8 2 3600 20300101000000 20200101000000 1 example. c2ln")


def complaint(query: Message, code: int = dns.rcode.FORMERR, echo: bool = True) -> Message:
    """An error without OPT, with or without the question."""
    answer = dns.message.make_response(query)
    answer.use_edns(-1)
    answer.set_rcode(code)
    if not echo:
        answer.question = []
    return answer


class Server(Zone):
    """Refuses one type with or without OPT, and all messages with OPT if it is `old`; signs answers if DO is set."""

    def __init__(self, code: int = dns.rcode.FORMERR, old: bool = False) -> None:
        super().__init__(LONG, rr("six.example.", 3600, "AAAA", "2001:db8::6"))
        self.code, self.old, self.instead = code, old, self.odd

    def odd(self, query: Message) -> Answer:
        if query.question[0].rdtype == dns.rdatatype.HTTPS or (self.old and query.edns >= 0):
            return complaint(query, self.code)
        answer = self.lookup(query)
        if query.ednsflags & dns.flags.DO and answer.answer and answer.answer[0] == LONG:
            answer.answer.append(SIGNATURE)
        return answer


def deliver(resolver: Resolver, asked: Asked, message: Message | bytes) -> None:
    """An answer to an earlier message to an upstream server."""
    resolver.net.deliver(resolver.gateway.send(WAN, upstream(asked.server, asked.source, asked.port, message)))


@pytest.mark.parametrize("code", [dns.rcode.FORMERR, dns.rcode.NOTIMP])
def test_a_refused_type_says_nothing_about_edns(start: Start, code: int) -> None:
    """The retry without OPT fails as well: the server knows EDNS, and gets OPT in all other fetches."""
    zone = Server(code)
    resolver = Resolver(start, zone)
    assert resolver.ask("four.example.", "HTTPS", wait=4).rcode() == code
    assert [query.edns for query in zone.asked] == [0, -1]
    answer = resolver.ask("four.example.", "A", dnssec=True)
    assert [dns.rdatatype.to_text(one.rdtype) for one in answer.answer] == ["A", "RRSIG"]
    assert zone.asked[-1].edns == 0 and zone.asked[-1].ednsflags & dns.flags.DO


def test_the_retry_without_opt_goes_to_the_same_server(start: Start) -> None:
    """Only that server can show whether OPT was the reason. Another server gets OPT."""
    refuses, good = Server(), Zone(rr("four.example.", 300, "HTTPS", "1 ."))
    resolver = Resolver(start, good, TWO + "selection-mode round-robin\n")
    resolver.servers(one=refuses)
    for _ in range(4):
        assert resolver.ask("four.example.", "HTTPS").answer
        resolver.wait(301)
    edns = [query.edns for query in refuses.asked]
    assert len(edns) >= 2 and edns == [0, -1] * (len(edns) // 2)
    assert [query.edns for query in good.asked] == [0] * 4


def test_a_lost_retry_marks_nobody(start: Start) -> None:
    """The retry without OPT is repeated without OPT; another fetch begins with OPT."""
    zone = Server(old=True)
    right = zone.instead
    zone.instead = lambda query: right(query) if right and query.edns >= 0 else []
    resolver = Resolver(start, zone)
    assert resolver.ask("four.example.", "A", wait=4).rcode() == dns.rcode.SERVFAIL
    assert [query.edns for query in zone.asked] == [0, -1, -1]
    resolver.wait(3)
    resolver.send(resolver.query("six.example.", "A"))
    assert zone.asked[3].edns == 0


def test_two_complaints_are_one_retry(start: Start) -> None:
    """Both attempts of a fetch are refused, the second one late: the retry without OPT continues."""
    zone = Server()
    zone.instead = silent()
    resolver = Resolver(start, zone)
    resolver.send(resolver.query("four.example.", "A"))
    resolver.wait(0.5)
    for asked in list(resolver.net.asked):
        deliver(resolver, asked, complaint(asked.message))
    assert [query.edns for query in zone.asked] == [0, 0, -1]
    assert not resolver.net.got
    deliver(resolver, resolver.net.asked[-1], zone.lookup(resolver.net.asked[-1].message))
    assert resolver.net.got[0].message.answer == [LONG]


def test_what_came_without_opt_is_kept_briefly_for_those_who_set_do(start: Start) -> None:
    """It has no signatures. The client gets them as soon as the server gets OPT again."""
    zone = Server(old=True)
    resolver = Resolver(start, zone)
    answer = resolver.ask("four.example.", "A", dnssec=True)
    assert [one.to_text() for one in answer.answer] == ["four.example. 30 IN A 192.0.2.33"]
    assert resolver.ask("four.example.", "A").answer[0].ttl == 3600, "others need no signatures"
    resolver.wait(580)
    assert resolver.ask("four.example.", "A", dnssec=True).answer[0].ttl == 30
    assert [query.edns for query in zone.asked] == [0, -1, -1, -1]
    zone.old = False
    resolver.wait(31)
    answer = resolver.ask("four.example.", "A", dnssec=True)
    assert [dns.rdatatype.to_text(one.rdtype) for one in answer.answer] == ["A", "RRSIG"]
    assert answer.answer[0].ttl == 3600


def test_negative_answers_without_opt_are_kept_briefly_as_well(start: Start) -> None:
    """Their proof of absence (NSEC) is missing."""
    zone = Server(old=True)
    resolver = Resolver(start, zone)
    for kind, name in (("MX", "four.example."), ("A", "none.example.")):
        assert resolver.ask(name, kind, dnssec=True).authority[0].ttl == 30
        n = len(zone.asked)
        resolver.wait(29)
        resolver.ask(name, kind, dnssec=True)
        assert len(zone.asked) == n
        resolver.wait(2)
        resolver.ask(name, kind, dnssec=True)
        assert len(zone.asked) == n + 1


# --- errors without a question -------------------------------------------------------------------------


def started(start: Start, plain: bool) -> tuple[Resolver, Zone]:
    """A fetch of an A record, with OPT or (`plain`) at a server that is known not to know it."""
    zone = Server(old=True)
    resolver = Resolver(start, zone, DNS64)
    if plain:
        resolver.ask("six.example.", "A")
    resolver.net.asked.clear()
    resolver.net.got.clear()
    zone.instead = silent()
    resolver.send(resolver.query("four.example.", "A"))
    (asked,) = resolver.net.asked
    assert (asked.message.edns < 0) == plain
    return resolver, zone


@pytest.mark.parametrize("plain", [False, True], ids=["opt", "plain"])
def test_a_complaint_without_a_question_may_be_forged(start: Start, plain: bool) -> None:
    """A forger that guessed port and ID need not know the case of the name. So DNS64 waits for the right answer, as it
    does after an answer with another case."""
    resolver, zone = started(start, plain)
    (asked,) = resolver.net.asked
    deliver(resolver, asked, complaint(asked.message, echo=False))
    assert not resolver.net.got and len(resolver.net.asked) == 1
    deliver(resolver, asked, wire(zone.lookup(asked.message)))
    assert resolver.net.got[-1].message.answer == [LONG]
    stats = resolver.gateway.stats()
    assert stats["dns_asking"] == 0 and stats["dns_upstream_forged"] == 1
    zone.instead = None
    resolver.wait(3)
    resolver.ask("other.example.", "A")
    assert (zone.asked[-1].edns < 0) == plain, "nothing was learnt from it"


@pytest.mark.parametrize("plain", [False, True], ids=["opt", "plain"])
def test_a_right_answer_later_than_the_wait(start: Start, plain: bool) -> None:
    """The question is sent once more, and an answer to the first attempt still counts."""
    resolver, zone = started(start, plain)
    (asked,) = resolver.net.asked
    deliver(resolver, asked, complaint(asked.message, echo=False))
    resolver.wait(0.15)
    assert [one.message.edns for one in resolver.net.asked] == [asked.message.edns, -1]
    deliver(resolver, asked, wire(zone.lookup(asked.message)))
    assert resolver.net.got[-1].message.answer == [LONG]


def test_a_server_that_never_repeats_the_question(start: Start) -> None:
    """The wait is not longer than for any other fetch, and no place is lost."""
    zone = Zone()
    zone.instead = lambda query: complaint(query, echo=False)
    resolver = Resolver(start, zone)
    resolver.send(resolver.query("four.example.", "A"))
    for _ in range(12):
        resolver.wait(0.05)
    assert resolver.net.got[0].message.rcode() == dns.rcode.SERVFAIL
    assert [query.edns for query in zone.asked] == [0, -1, -1]
    assert resolver.gateway.stats()["dns_asking"] == 0


def test_a_complaint_without_a_question_beside_another_server(start: Start) -> None:
    zone, mute = Zone(LONG), Zone()
    mute.instead = lambda query: complaint(query, echo=False)
    resolver = Resolver(start, zone, TWO + "selection-mode round-robin\n")
    resolver.servers(one=mute)
    assert resolver.addresses("four.example.", wait=1) == [inside("192.0.2.33")]
