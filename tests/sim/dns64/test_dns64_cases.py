# SPDX-License-Identifier: BSD-2-Clause
"""The duties of a DNS64 server by RFC: a query and its whole answer each. The other files test more of each.

An expected answer is written as `RCODE flags | answer | authority | additional`, with commas between records.
Functions describe what an upstream server does wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.reversename
import pytest
from gateway import Gateway
from resolver import (
    A6, BASIC, UPSTREAM, Answer, Message, Resolver, Zone, fails, inside, rr, silent, wire,
)

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
Hook = Callable[[Message], "Answer | list[Answer] | None"]

SIX = "2001:db8::6"
FOUR = inside("192.0.2.33")
SOA = "ns.example. root.example. 1 7200 3600 1209600 300"
SOA_RR = f"example. 300 SOA {SOA}"  # RFC 2308 section 5: not longer than the negative answer holds
OWN_SOA = "ipv4only.arpa. 3600 SOA ipv4only.arpa. nobody.invalid. 1 3600 1200 604800 3600"


def zone() -> Zone:
    return Zone(
        rr("four.example.", 300, "A", "192.0.2.33"),
        rr("two.example.", 300, "A", "192.0.2.33", "192.0.2.34"),
        rr("six.example.", 200, "AAAA", SIX),
        rr("both.example.", 200, "AAAA", SIX),
        rr("both.example.", 200, "A", "192.0.2.33"),
        rr("none.example.", 300, "TXT", '"nothing"'),
        rr("mapped.example.", 200, "AAAA", "::ffff:192.0.2.1"),
        rr("mapped.example.", 300, "A", "192.0.2.33"),
        rr("mixed.example.", 200, "AAAA", SIX, "::ffff:192.0.2.1"),
        rr("short.example.", 60, "A", "192.0.2.33"),
        rr("long.example.", 86400, "A", "192.0.2.33"),
        rr("private.example.", 300, "A", "10.0.0.1"),
        rr("many.example.", 300, "A", *[f"192.0.2.{n}" for n in range(1, 25)]),
        rr("alias.example.", 100, "CNAME", "four.example."),
        rr("longer.example.", 100, "CNAME", "alias.example."),
        rr("alias6.example.", 100, "CNAME", "six.example."),
        rr("nowhere.example.", 100, "CNAME", "missing.example."),
        rr("empty.example.", 100, "CNAME", "none.example."),
        rr("loop.example.", 100, "CNAME", "pool.example."),
        rr("pool.example.", 100, "CNAME", "loop.example."),
        rr("mail.example.", 300, "MX", "10 four.example."),
        rr("33.2.0.192.in-addr.arpa.", 120, "PTR", "four.example."),
        rr(str(dns.reversename.from_address(SIX)), 120, "PTR", "six.example."),
    )


# --- what upstream servers do wrong -----------------------------------------------------------------------


def with_soa(ttl: int) -> Hook:
    """The right answer, with another TTL of the SOA record; 0: without the record."""
    def instead(query: Message) -> Answer:
        answer = zone().lookup(query)
        if not answer.answer:
            answer.authority = [rr("example.", ttl, "SOA", SOA)] if ttl else []
        return answer
    return instead


def only_links(query: Message) -> Answer:
    """A server that gives CNAME records but does not follow them."""
    answer = zone().lookup(query)
    if answer.answer and answer.answer[0].rdtype == dns.rdatatype.CNAME:
        answer.answer, answer.authority = answer.answer[:1], []
        answer.set_rcode(0)
    return answer


def dname(query: Message) -> Answer:
    answer = dns.message.make_response(query, recursion_available=True)
    name = query.question[0].name
    answer.answer = [rr("old.example.", 50, "DNAME", "new.example."),
                     rr(name.to_text(), 50, "CNAME", "www.new.example.")]
    if query.question[0].rdtype == dns.rdatatype.A:
        answer.answer.append(rr("www.new.example.", 300, "A", "192.0.2.33"))
    else:
        answer.authority = [rr("example.", 3600, "SOA", SOA)]
    return answer


def signed(query: Message) -> Answer:
    """The answer of a server that validates."""
    answer = zone().lookup(query)
    answer.flags |= dns.flags.AD
    if answer.answer and query.ednsflags & dns.flags.DO:
        one = answer.answer[-1]
        covered = dns.rdatatype.to_text(one.rdtype)
        answer.answer.append(rr(one.name.to_text(), one.ttl, "RRSIG",
                                f"{covered} 8 2 {one.ttl} 20300101000000 20200101000000 1 example. AAAA"))
    return answer


def with_glue(query: Message) -> Answer:
    answer = zone().lookup(query)
    answer.additional = [rr("four.example.", 300, "A", "192.0.2.33")]
    return answer


def compressed_soa(query: Message) -> Answer:
    """Names inside the SOA record are pointers, and stand at other offsets in the gateway's answer."""
    answer = zone().lookup(query)
    if answer.authority:
        answer.authority = [rr("example.", 3600, "SOA", SOA.replace("ns.example.", f"ns.{query.question[0].name}"))]
    return answer


def first(*bend: Callable[[bytearray], None]) -> Hook:
    """Forged answers come before the right one."""
    def instead(query: Message) -> list[Answer]:
        right = zone().lookup(query)
        wrong = dns.message.from_wire(wire(right))
        if query.question[0].rdtype == dns.rdatatype.A:
            wrong.answer = [rr(query.question[0].name.to_text(), 300, "A", "192.0.2.66")]
        forged = []
        for one in bend:
            raw = bytearray(wire(wrong))
            one(raw)
            forged.append(bytes(raw))
        return [*forged, right, right]
    return instead


def other_id(raw: bytearray) -> None:
    raw[0] ^= 0x40


def other_name(raw: bytearray) -> None:
    raw[13] = ord("x")


def other_case(raw: bytearray) -> None:
    raw[13] ^= 0x20


def other_type(raw: bytearray) -> None:
    raw[raw.index(0, 12) + 2] = 16


def a_question(raw: bytearray) -> None:
    raw[2] &= 0x7f


def bend_rdata(query: Message) -> Answer:
    """A AAAA record of 15 bytes."""
    if query.question[0].rdtype != dns.rdatatype.AAAA:
        return None
    answer = bytearray(wire(dns.message.make_response(query, recursion_available=True)))
    answer[7] = 1
    at = bytes(answer).index(0, 12) + 5
    record = b"\xc0\x0c\0\x1c\0\1\0\0\0\x3c\0\x0f" + b"\x20\1" * 7 + b"\0"
    answer[10:12] = b"\0\0"
    return bytes(answer[:at]) + record


def truncated(query: Message) -> Answer:
    answer = dns.message.make_response(query, recursion_available=True)
    answer.flags |= dns.flags.TC
    return answer


def once(*kinds: str) -> Hook:
    """Loses the first message about each of these types."""
    lost: set[int] = set()

    def instead(query: Message) -> list[Answer] | None:
        kind = query.question[0].rdtype
        if dns.rdatatype.to_text(kind) in kinds and kind not in lost:
            lost.add(kind)
            return []
        return None
    return instead


# --- the cases --------------------------------------------------------------------------------------------


@dataclass
class Case:
    why: str  # the requirement
    ask: str  # name and type
    gives: str
    upstream: Hook | None = None
    wait: float = 0
    more: str = ""  # configuration
    how: dict[str, Any] = field(default_factory=dict)  # of the query
    twice: bool = False  # the query is repeated, and nothing more is fetched
    bend: Callable[[bytes], bytes] | None = None  # the query on the wire
    asked: int | None = None  # fetches


EDNS: dict[str, Any] = {"edns": 0, "payload": 1232}
DO: dict[str, Any] = {"dnssec": True}
YES = f"NOERROR | four.example. 300 AAAA {FOUR} | |"
PTR = f"{dns.reversename.from_address(FOUR)} PTR"
PTR6 = f"{dns.reversename.from_address(SIX)} PTR"


def raw_opt(version: int = 0, times: int = 1) -> Callable[[bytes], bytes]:
    opt = b"\0\0\x29\x04\xd0\0" + bytes([version]) + b"\0\0\0\0"
    return lambda query: query[:10] + bytes([0, times]) + query[12:] + opt * times


def opcode(code: int) -> Callable[[bytes], bytes]:
    return lambda query: query[:2] + bytes([code << 3 | 1]) + query[3:]


CASES = [
    # RFC 6147
    Case("5.1: A records alone", "four.example. AAAA", YES, twice=True),
    Case("5.1.1: AAAA records are enough", "six.example. AAAA",
         f"NOERROR | six.example. 200 AAAA {SIX} | |", twice=True),
    Case("5.1.1: AAAA records beside A records", "both.example. AAAA", f"NOERROR | both.example. 200 AAAA {SIX} | |"),
    Case("5.1.2: no such name", "missing.example. AAAA", f"NXDOMAIN | | {SOA_RR} |", twice=True),
    Case("5.1.2: SERVFAIL counts as empty", "four.example. AAAA", YES, fails(2, "AAAA")),
    Case("5.1.2: REFUSED counts as empty", "four.example. AAAA", YES, fails(5, "AAAA")),
    Case("5.1.2: NOTIMP counts as empty", "four.example. AAAA", YES, fails(4, "AAAA")),
    Case("5.1.2: FORMERR counts as empty", "four.example. AAAA", YES, fails(1, "AAAA")),
    Case("5.1.3: no answer about AAAA", "four.example. AAAA", YES, silent("AAAA"), wait=1),
    Case("5.1.3: a malformed answer about AAAA", "four.example. AAAA", YES, bend_rdata, wait=1),
    Case("5.1.4: mapped addresses alone", "mapped.example. AAAA", f"NOERROR | mapped.example. 300 AAAA {FOUR} | |"),
    Case("5.1.4: mapped addresses among others", "mixed.example. AAAA", f"NOERROR | mixed.example. 200 AAAA {SIX} | |"),
    Case("5.1.5: a CNAME", "alias.example. AAAA",
         f"NOERROR | alias.example. 100 CNAME four.example., four.example. 300 AAAA {FOUR} | |", twice=True),
    Case("5.1.5: two of them", "longer.example. AAAA",
         "NOERROR | longer.example. 100 CNAME alias.example., alias.example. 100 CNAME four.example., "
         f"four.example. 300 AAAA {FOUR} | |"),
    Case("5.1.5: that upstream does not follow", "longer.example. AAAA",
         "NOERROR | longer.example. 100 CNAME alias.example., alias.example. 100 CNAME four.example., "
         f"four.example. 300 AAAA {FOUR} | |", only_links),
    Case("5.1.5: to a AAAA record", "alias6.example. AAAA",
         f"NOERROR | alias6.example. 100 CNAME six.example., six.example. 200 AAAA {SIX} | |"),
    Case("5.1.5: to nothing", "empty.example. AAAA", f"NOERROR | empty.example. 100 CNAME none.example. | {SOA_RR} |"),
    Case("5.1.5: to a name that does not exist", "nowhere.example. AAAA",
         f"NXDOMAIN | nowhere.example. 100 CNAME missing.example. | {SOA_RR} |"),
    Case("5.1.5: in a circle", "loop.example. AAAA", "SERVFAIL | | |", only_links),
    Case("5.1.5: a DNAME", "www.old.example. AAAA",
         "NOERROR | old.example. 50 DNAME new.example., www.old.example. 50 CNAME www.new.example., "
         f"www.new.example. 300 AAAA {FOUR} | |", dname),
    Case("5.1.6: an error about A", "four.example. AAAA", "SERVFAIL | | |", fails(2, "A")),
    Case("5.1.6: no answer about A", "four.example. AAAA", "SERVFAIL | | |", silent("A"), wait=3.5),
    Case("5.4: neither", "none.example. AAAA", f"NOERROR | | {SOA_RR} |", twice=True),
    Case("5.1.7: the TTL of the A record", "short.example. AAAA", f"NOERROR | short.example. 60 AAAA {FOUR} | |"),
    Case("5.1.7: that of the SOA record", "four.example. AAAA", f"NOERROR | four.example. 50 AAAA {FOUR} | |",
         with_soa(50)),
    Case("5.1.7: 600 without", "long.example. AAAA", f"NOERROR | long.example. 600 AAAA {FOUR} | |", with_soa(0)),
    Case("5.1.7: all A records", "two.example. AAAA",
         f"NOERROR | two.example. 300 AAAA {FOUR}, two.example. 300 AAAA {inside('192.0.2.34')} | |"),
    Case("5.1.7: which prefix", "private.example. AAAA",
         f"NOERROR | private.example. 300 AAAA {inside('10.0.0.1', '2001:db8:65::')} | |",
         more="dns64.map 10.0.0.0/8 2001:db8:65::/96\n"),
    Case("5.2: several prefixes", "four.example. AAAA",
         f"NOERROR | four.example. 300 AAAA {FOUR}, four.example. 300 AAAA {inside('192.0.2.33', '2001:db8:65::')} | |",
         more="dns64-prefix 2001:db8:65::/96\n"),
    Case("5.3.1: a reverse name", PTR,
         f"NOERROR | {PTR[:-4]} 120 CNAME 33.2.0.192.in-addr.arpa., "
         "33.2.0.192.in-addr.arpa. 120 PTR four.example. | |"),
    Case("5.3.1: elsewhere", PTR6, f"NOERROR | {PTR6[:-4]} 120 PTR six.example. | |"),
    Case("5.3.2: the additional section", "mail.example. MX",
         "NOERROR | mail.example. 300 MX 10 four.example. | | four.example. 300 A 192.0.2.33", with_glue),
    Case("5.3.3: A records stay", "four.example. A", "NOERROR | four.example. 300 A 192.0.2.33 | |", twice=True),
    Case("5.3.3: unknown types", "four.example. TYPE65280", f"NOERROR | | {SOA_RR} |"),
    Case("5.1: another class", "four.example. AAAA", "NOERROR | | |", lambda query: dns.message.make_response(
        query, recursion_available=True), how={"rdclass": "CH"}, asked=1),
    Case("5.5: AD not on what was made", "four.example. AAAA", YES, signed, how={"flags": "RD AD"}),
    Case("5.5: AD on what upstream vouches for", "six.example. AAAA", f"NOERROR AD | six.example. 200 AAAA {SIX} | |",
         signed, how={"flags": "RD AD"}),
    Case("5.5: DO and CD", "four.example. AAAA", f"NOERROR | | {SOA_RR} |", how={**DO, "flags": "RD CD"}),
    Case("5.5: DO, without the signature over A", "four.example. AAAA", YES, signed, how=DO),
    Case("5.5: CD alone", "four.example. AAAA", YES, how={"flags": "RD CD"}),
    Case("A: always", "both.example. AAAA", f"NOERROR | both.example. 200 AAAA {FOUR} | |", more="dns64.always on\n"),
    # RFC 7050, RFC 8880
    Case("8880: the well-known name", "ipv4only.arpa. AAAA",
         f"NOERROR AA | ipv4only.arpa. 3600 AAAA {inside('192.0.0.170')}, "
         f"ipv4only.arpa. 3600 AAAA {inside('192.0.0.171')} | |",
         asked=0),
    Case("8880: its addresses", "ipv4only.arpa. A",
         "NOERROR AA | ipv4only.arpa. 3600 A 192.0.0.170, ipv4only.arpa. 3600 A 192.0.0.171 | |", asked=0),
    Case("8880: other types", "ipv4only.arpa. MX", f"NOERROR AA | | {OWN_SOA} |", asked=0),
    Case("8880: names below", "www.ipv4only.arpa. AAAA", f"NXDOMAIN AA | | {OWN_SOA} |", asked=0),
    # RFC 1035, RFC 6891
    Case("1035: 512 bytes", "many.example. AAAA", "NOERROR TC | 17 | |"),
    Case("6891: 1232 bytes", "many.example. AAAA", "NOERROR | 24 | |", how=EDNS),
    Case("6891: another version", "four.example. AAAA", "BADVERS | | |", bend=raw_opt(1), asked=0),
    Case("6891: two OPT records", "four.example. AAAA", "FORMERR | | |", bend=raw_opt(0, 2), asked=0),
    Case("1035: IQUERY", "four.example. AAAA", "NOTIMP | | |", bend=opcode(1), asked=0),
    Case("1996: NOTIFY", "four.example. SOA", "NOTIMP | | |", bend=opcode(4), asked=0),
    Case("1035: no question", "four.example. AAAA", "FORMERR | | |", bend=lambda q: q[:4] + bytes(8), asked=0),
    Case("1035: a pointer that loops", "four.example. AAAA", "FORMERR | | |",
         bend=lambda q: q[:12] + b"\xc0\x0c\0\x1c\0\1", asked=0),
    Case("1035: half a question", "four.example. AAAA", "FORMERR | | |", bend=lambda q: q[:-3], asked=0),
    Case("an answer", "four.example. AAAA", "SILENCE", bend=lambda q: q[:2] + b"\x81" + q[3:], asked=0),
    # RFC 5452
    Case("5452: another ID", "four.example. AAAA", YES, first(other_id)),
    Case("5452: another name", "four.example. AAAA", YES, first(other_name)),
    Case("5452: another spelling", "four.example. AAAA", YES, first(other_case)),
    Case("5452: another type", "four.example. AAAA", YES, first(other_type)),
    Case("5452: a question", "four.example. AAAA", YES, first(a_question)),
    # RFC 5625
    Case("5625: names within records", "none.example. AAAA",
         "NOERROR | | example. 300 SOA ns.none.example. root.example. 1 7200 3600 1209600 300 |", compressed_soa),
    Case("5625: TC stays", "four.example. AAAA", "NOERROR TC | | |", truncated),
    Case("a lost question", "four.example. AAAA", YES, once("A", "AAAA"), wait=1),
    # RFC 6052
    Case("6052 3.1: no private address behind 64:ff9b::/96", "private.example. AAAA", f"NOERROR | | {SOA_RR} |",
         more="dns64-prefix 64:ff9b::/96\n", how={"only": True}),
    Case("6052 2.2: a shorter prefix", "four.example. AAAA",
         "NOERROR | four.example. 300 AAAA 2001:db8:122:3c0:0:221:: | |",
         more="dns64-prefix 2001:db8:122:300::/56\n", how={"only": True}),
]


def render(message: Message) -> list[str]:
    """The parts of an answer as text."""
    flags = [name for name in ("AA", "TC", "AD") if message.flags & dns.flags.from_text(name)]
    sections = []
    for section in (message.answer, message.authority, message.additional):
        records = [f"{one.name} {one.ttl} {dns.rdatatype.to_text(one.rdtype)} {item}"
                   for one in section for item in sorted(map(str, one))]
        sections.append(", ".join(records) if len(records) < 9 else str(len(records)))
    return [" ".join([dns.rcode.to_text(message.rcode()), *flags]), *sections]


@pytest.mark.parametrize("case", CASES, ids=[f"{case.why} ({case.ask.split()[1]})" for case in CASES])
@pytest.mark.parametrize("client", [None, A6], ids=["ipv4", "ipv6"])
def test_case(start: Start, client: object, case: Case) -> None:
    upstream = zone()
    upstream.instead = case.upstream
    how = dict(case.how)
    config = BASIC + f"nameserver {UPSTREAM}\n"
    if how.pop("only", False):
        config = "".join(line + "\n" for line in config.splitlines() if not line.startswith("dns64-prefix"))
    resolver = Resolver(start, upstream, config, case.more)
    name, kind = case.ask.split()
    known = None
    for _ in range(1 + case.twice):
        query = resolver.query(name, kind, **how)
        sent = case.bend(query.to_wire()) if case.bend else query
        raw = resolver.raw(sent, wait=case.wait, **({"client": client} if client else {}))
        if case.gives == "SILENCE":
            assert raw is None
            continue
        assert raw is not None, "no answer"
        answer = dns.message.from_wire(raw)
        assert answer.id == query.id and answer.flags & dns.flags.QR and answer.flags & dns.flags.RA
        limit = max(query.payload, 512) if query.edns >= 0 else 512
        assert len(raw) <= limit
        assert render(answer) == [part.strip() for part in case.gives.split("|")]
        assert known in (None, len(upstream.asked)), "what is known is not asked again"
        known = len(upstream.asked)
        if not case.bend:
            assert (answer.edns >= 0) == (query.edns >= 0), "OPT for those who sent it"
    if case.asked is not None:
        assert len(upstream.asked) == case.asked
