# SPDX-License-Identifier: BSD-2-Clause
"""The cache: how long answers are kept (RFC 2308, RFC 8767), prefetch, stale answers, shared fetches."""

from __future__ import annotations

import dns.flags
import dns.message
import dns.rcode
import pytest
from gateway import LAN, OUTSIDE, PORT_MAC, ROUTER, WAN
from resolver import (
    A, A6, B, DNS64, FOUR, OUR4, UPSTREAM, Resolver, Start, Zone, addresses, datagram, fails, inside, rr, silent, ttls,
    wire,
)
from scapy.layers.inet import UDP
from scapy.layers.l2 import Ether

pytestmark = pytest.mark.virtual

SIX = rr("six.example.", 100, "AAAA", "2001:db8::6")


def test_answers_from_the_cache(start: Start) -> None:
    zone = Zone(FOUR, SIX)
    resolver = Resolver(start, zone)
    for age in (0, 30, 60):
        assert ttls(resolver.ask("six.example.")) == [100 - age]
        assert ttls(resolver.ask("four.example.", client=A6)) == [300 - age]
        assert resolver.ask("four.example.", "A").answer[0].ttl == 300 - age
        resolver.wait(30)
    assert sorted(zone.types_asked()) == ["A", "A", "AAAA", "AAAA"]  # AAAA and A records of six were fetched together
    assert resolver.gateway.stats()["dns_cache_hits"] == 7
    resolver.wait(11)
    assert ttls(resolver.ask("six.example.")) == [100]


def test_ttl_zero_is_for_one_answer(start: Start) -> None:
    zone = Zone(rr("four.example.", 0, "A", "192.0.2.33"))
    resolver = Resolver(start, zone)
    for n in (1, 2):
        assert resolver.addresses("four.example.") == [inside("192.0.2.33")]
        assert zone.types_asked().count("A") == n
    # It does not serve later either (RFC 8767 section 7).
    zone.instead = silent()
    assert resolver.ask("four.example.", wait=10).rcode() == dns.rcode.SERVFAIL


def test_ttls_beyond_reason(start: Start) -> None:
    """A TTL counts as seven days at most; its highest bit is not a sign (RFC 8767 section 4)."""
    zone = Zone(rr("long.example.", 2**31 + 5, "A", "192.0.2.1"))
    assert Resolver(start, zone).ask("long.example.", "A").answer[0].ttl == 604800


@pytest.mark.parametrize("code", [0, 3])
def test_negative_answers(start: Start, code: int) -> None:
    """It is kept for the lower of the SOA record's TTL and MINIMUM."""
    zone = Zone(soa=rr("example.", 600, "SOA", "a. b. 1 2 3 4 60"))
    zone.instead = None if code else (lambda query: nodata(zone, query))
    resolver = Resolver(start, zone)
    assert resolver.ask("none.example.", "MX").rcode() == code
    resolver.wait(59)
    assert resolver.ask("none.example.", "MX").authority[0].ttl == 1
    assert len(zone.asked) == 1
    resolver.wait(2)
    resolver.ask("none.example.", "MX")
    assert len(zone.asked) == 2


def nodata(zone: Zone, query: dns.message.Message) -> dns.message.Message:
    answer = zone.lookup(query)
    answer.set_rcode(0)
    return answer


def test_negative_answers_without_soa_are_not_kept(start: Start) -> None:
    zone = Zone()
    zone.soa = None
    resolver = Resolver(start, zone)
    for n in (1, 2):
        resolver.ask("none.example.", "MX")
        assert len(zone.asked) == n


def test_negative_answers_for_three_hours_at_most(start: Start) -> None:
    zone = Zone(soa=rr("example.", 100000, "SOA", "a. b. 1 2 3 4 100000"))
    resolver = Resolver(start, zone)
    resolver.ask("none.example.", "MX")
    resolver.wait(10801)
    resolver.ask("none.example.", "MX")
    assert len(zone.asked) == 2


def test_failures_are_kept_shortly(start: Start) -> None:
    """RFC 9520: a failure is kept for at least one second."""
    zone = Zone(FOUR)
    zone.instead = fails(dns.rcode.SERVFAIL)
    resolver = Resolver(start, zone)
    for _ in range(5):
        assert resolver.ask("four.example.", "A").rcode() == dns.rcode.SERVFAIL
        resolver.wait(0.2)
    assert len(zone.asked) == 1
    zone.instead = None
    resolver.wait(2)
    assert resolver.ask("four.example.", "A").rcode() == 0


def test_what_fails_again_and_again(start: Start) -> None:
    """RFC 9520 section 3.2: it is fetched more and more rarely, until there is a good answer."""
    zone = Zone(FOUR)
    zone.instead = fails(dns.rcode.SERVFAIL)
    resolver = Resolver(start, zone, DNS64 + "dns64.stale 0\n")

    def asked_in(seconds: int) -> list[int]:
        """Seconds between the fetches while a client queries all the time."""
        begun, at = len(resolver.net.asked), []
        for _ in range(seconds):
            resolver.ask("four.example.", "A")
            resolver.wait(1)
        at = [round(one.at) for one in resolver.net.asked[begun:]]
        return [b - a for a, b in zip(at, at[1:])]

    assert asked_in(60)[:5] == [2, 4, 8, 16, 16]
    zone.instead = None
    resolver.wait(17)
    assert resolver.ask("four.example.", "A").rcode() == 0
    resolver.wait(301)
    zone.instead = fails(dns.rcode.SERVFAIL)
    assert asked_in(10)[:2] == [2, 4]


def test_an_answer_kept_ready(start: Start) -> None:
    """A popular answer is the same in any case of letters, size and with OPT; its TTL falls, and it expires in time."""
    zone = Zone(FOUR, rr("two.example.", 90, "A", *[f"192.0.2.{n}" for n in range(1, 18)]))
    resolver = Resolver(start, zone, more="dns64.skip-client 192.168.1.11/32\n")
    for seconds in range(260):
        for options in ({}, {"edns": 0}, {"edns": 0, "payload": 512}, {"flags": "RD AD"}, {"flags": ""}):
            answer = resolver.ask("four.example." if seconds % 2 else "FOUR.example.", **options)
            assert addresses(answer) == [inside("192.0.2.33")] and ttls(answer) == [300 - seconds]
            assert not answer.flags & (dns.flags.AD | dns.flags.TC)
        resolver.wait(1)
    # Clients without synthesis, and those that want signatures, do not get it.
    assert not resolver.ask("four.example.", client=B).answer
    assert not resolver.ask("four.example.", dnssec=True, flags="RD CD").answer
    # 505 bytes: there is no room for OPT after them.
    for _ in range(4):
        answer = resolver.ask("two.example.")
        assert len(addresses(answer)) == 17 and not answer.flags & dns.flags.TC
    answer = resolver.ask("two.example.", edns=0, payload=512)
    assert len(addresses(answer)) == 16 and answer.flags & dns.flags.TC
    # It is prefetched, and new when the old answer has expired.
    asked = len(zone.asked)
    for _ in range(60):
        resolver.ask("four.example.")
        resolver.wait(1)
    assert zone.types_asked()[asked:] == ["AAAA", "A"] or zone.types_asked()[asked:] == ["A", "AAAA"]
    zone.sets[FOUR.name, FOUR.rdtype] = rr("four.example.", 300, "A", "192.0.2.34")
    resolver.wait(301)
    assert addresses(resolver.ask("four.example.")) == [inside("192.0.2.34")]


def test_no_cache(start: Start) -> None:
    zone = Zone(FOUR)
    resolver = Resolver(start, zone, DNS64.replace("dns64.cache 2000", "dns64.cache 0"))
    for n in (1, 2, 3):
        assert resolver.addresses("four.example.") == [inside("192.0.2.33")]
        assert zone.types_asked().count("A") == n and zone.types_asked().count("AAAA") == n
    assert resolver.gateway.stats()["dns_cache_hits"] == 0


def test_dnssec_records_are_kept_apart(start: Start) -> None:
    zone = Zone(FOUR)
    resolver = Resolver(start, zone)
    for _ in range(2):
        resolver.ask("four.example.", "A")
        resolver.ask("four.example.", "A", dnssec=True)
        resolver.ask("four.example.", "A", flags="RD CD")
    assert len(zone.asked) == 3


def test_without_recursion_desired(start: Start) -> None:
    """It is answered from the cache; otherwise it is fetched with the same flags, and the answer is not kept."""
    zone = Zone(FOUR)
    resolver = Resolver(start, zone)
    for n in (1, 2):
        assert resolver.ask("four.example.", "A", flags="").answer
        assert len(zone.asked) == n and not zone.asked[-1].flags & dns.flags.RD
    assert resolver.addresses("four.example.", flags="") == [inside("192.0.2.33")]
    resolver.ask("four.example.", "A")
    n = len(zone.asked)
    resolver.ask("four.example.", "A", flags="")
    assert len(zone.asked) == n


# --- shared fetches -----------------------------------------------------------------------------------


def test_the_same_question_is_asked_once(start: Start) -> None:
    zone = Zone(FOUR)
    late: list[dns.message.Message] = []
    zone.instead = lambda query: late.append(query) or []  # type: ignore[func-returns-value]
    resolver = Resolver(start, zone)
    for port in range(4000, 4020):
        resolver.send(
            resolver.query("Four.Example." if port % 2 else "four.example."), port=port, client=A if port % 3 else B
        )
    assert len(zone.asked) == 2
    assert resolver.gateway.stats()["dns_waiting"] == 20
    zone.instead = None
    # They are fetched again; each client gets its answer, in its own upper and lower case.
    resolver.wait(3)
    assert len(resolver.net.got) == 20
    assert len({one.port for one in resolver.net.got}) == 20
    for one in resolver.net.got:
        assert addresses(one.message) == [inside("192.0.2.33")]
        assert one.message.question[0].name.to_text() == ("Four.Example." if one.port % 2 else "four.example.")
    stats = resolver.gateway.stats()
    assert stats["dns_waiting"] == stats["dns_asking"] == 0
    assert stats["dns_upstream_joined"] >= 38


SHORT = "ns.example. root.example. 1 7200 3600 1209600 60"

# --- prefetch -------------------------------------------------------------------------------------------


def test_popular_names_are_asked_for_before_their_time_is_over(start: Start) -> None:
    zone = Zone(rr("four.example.", 80, "A", "192.0.2.33"))
    resolver = Resolver(start, zone)
    resolver.ask("four.example.", "A")
    for _ in range(3):
        resolver.ask("four.example.", "A")
    resolver.wait(75)
    assert resolver.ask("four.example.", "A").answer[0].ttl == 5
    assert len(zone.asked) == 2
    assert resolver.ask("four.example.", "A").answer[0].ttl == 80
    assert resolver.gateway.stats()["dns_prefetched"] == 1


def test_a_popular_record_beside_one_whose_time_is_over(start: Start) -> None:
    """A query that waits for the negative answer also prefetches the A record."""
    zone = Zone(rr("four.example.", 400, "A", "192.0.2.33"), soa=rr("example.", 60, "SOA", SHORT))
    resolver = Resolver(start, zone)
    for _ in range(5):
        resolver.ask("four.example.")
    resolver.wait(360)
    resolver.ask("four.example.")
    assert zone.types_asked()[2:] == ["AAAA", "A"]
    assert resolver.gateway.stats()["dns_prefetched"] == 1
    for _ in range(3):
        resolver.ask("four.example.")
    assert resolver.gateway.stats()["dns_prefetched"] == 1 and len(zone.asked) == 4


def test_others_are_not(start: Start) -> None:
    zone = Zone(rr("four.example.", 80, "A", "192.0.2.33"))
    resolver = Resolver(start, zone)
    resolver.ask("four.example.", "A")
    resolver.wait(75)
    resolver.ask("four.example.", "A")
    assert len(zone.asked) == 1


# --- stale answers (RFC 8767) ---------------------------------------------------------------------------


def filled(start: Start, more: str = "") -> tuple[Resolver, Zone]:
    """A cache with expired records, and an upstream server that is gone."""
    zone = Zone(FOUR, SIX)
    resolver = Resolver(start, zone, more=more)
    resolver.addresses("four.example.")
    resolver.addresses("six.example.")
    resolver.wait(4000)
    zone.instead = silent()
    return resolver, zone


def test_stale_answers_while_upstream_is_silent(start: Start) -> None:
    resolver, zone = filled(start)
    answer = resolver.ask("four.example.", wait=1.9)
    assert addresses(answer) == [inside("192.0.2.33")]
    assert ttls(answer) == [30]
    assert resolver.ask("six.example.", wait=1.9).answer[0].ttl == 30
    # The server is known to be gone by now: the answer comes at once.
    assert ttls(resolver.ask("four.example.")) == [30]
    assert resolver.gateway.stats()["dns_cache_stale"] == 3
    # The server comes back; this is noticed while no client waits.
    zone.instead = None
    for _ in range(12):
        resolver.wait(1)
        resolver.ask("four.example.")
    assert ttls(resolver.ask("four.example."))[0] > 200


def test_stale_answers_when_upstream_fails(start: Start) -> None:
    resolver, zone = filled(start)
    zone.instead = fails(dns.rcode.SERVFAIL)
    assert ttls(resolver.ask("four.example.")) == [30]
    # NXDOMAIN is an answer, not a failure.
    zone.instead = fails(dns.rcode.NXDOMAIN)
    resolver.wait(31)
    resolver.ask("six.example.")
    resolver.wait(1)
    assert resolver.ask("six.example.").rcode() == dns.rcode.NXDOMAIN


def test_fresh_answers_when_upstream_is_there(start: Start) -> None:
    resolver, zone = filled(start)
    zone.instead = None
    assert ttls(resolver.ask("four.example.")) == [300]


def test_stale_answers_not_for_ever(start: Start) -> None:
    resolver, _ = filled(start, "dns64.stale 3600\n")
    assert resolver.ask("four.example.", wait=5).rcode() == dns.rcode.SERVFAIL
    resolver, _ = filled(start, "dns64.stale 0\n")
    assert resolver.ask("four.example.", wait=5).rcode() == dns.rcode.SERVFAIL


def test_a_full_cache_lives_on(start: Start) -> None:
    """It gets several times more records than it holds; the popular record stays. Frames are built by hand, since they
    are many; UDP over IPv4 needs no checksum."""
    resolver = Resolver(start, Zone(FOUR))
    resolver.addresses("four.example.")
    asked = len(resolver.net.asked)
    packet = datagram(A.ip, OUR4, 4000, 53, wire(resolver.query("n0000.example.", "TXT")))
    packet[UDP].chksum = 0
    question = bytes(Ether(src=A.mac, dst=PORT_MAC[LAN], type=0x800) / packet)
    wide = b"\xc0\x0c\0\x10\0\1\0\0\x0b\xb8\4\x4c" + 11 * (b"\x63" + b"x" * 99)
    packet = datagram(UPSTREAM, OUTSIDE, 53, 4000, question[42:] + wide)
    packet[UDP].chksum = 0
    answer = bytes(Ether(src=ROUTER.mac, dst=PORT_MAC[WAN], type=0x800) / packet)
    counts = b"\0\1\0\1\0\0\0\0"
    for begin in range(0, 3000, 200):
        answers = []
        for (sent,) in resolver.gateway.send_many(
            [(LAN, question[:55] + b"%04d" % n + question[59:]) for n in range(begin, begin + 200)]
        ):
            data = sent.raw[42:]
            head = data[:2] + b"\x81\x80" + counts + data[12 : 12 + 19]
            answers.append((WAN, answer[:36] + sent.raw[34:36] + answer[38:42] + head + answer[42 + len(head) :]))
        assert all(len(sent) == 1 and sent[0].port == LAN for sent in resolver.gateway.send_many(answers))
        assert resolver.addresses("four.example.") == [inside("192.0.2.33")]
    stats = resolver.gateway.stats()
    # 0.9 MB by 1.2 KB.
    assert 650 < stats["dns_cache_records"] < 800 and stats["dns_cache_evicted"] > 2000
    assert len(resolver.net.asked) == asked
