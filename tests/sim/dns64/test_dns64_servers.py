# SPDX-License-Identifier: BSD-2-Clause
"""Upstream servers that fail: retries, the choice among several servers, servers without EDNS."""

from __future__ import annotations

from collections import Counter

import dns.flags
import dns.message
import dns.name
import dns.rcode
import pytest
from gateway import WAN
from resolver import (
    BASIC, FOUR, UPSTREAM, UPSTREAM2, UPSTREAM6, Answer, Message, Resolver, Start, Zone, fails, inside, silent,
    upstream,
)
from test_dns64_upstream import caught

pytestmark = pytest.mark.virtual

TWO = BASIC + f"nameserver {UPSTREAM}\nnameserver {UPSTREAM2}\n"


# --- retries -----------------------------------------------------------------------------------------------


def test_retries(start: Start) -> None:
    """As often as resend-attempts says, each with its own port and ID; all in timeout-time x (1 + attempts)."""
    zone = Zone(FOUR)
    zone.instead = silent()
    resolver = Resolver(start, zone, more="timeout-time 0.5\nresend-attempts 3\n")
    answer = resolver.ask("four.example.", "A", wait=2.1)
    assert answer.rcode() == dns.rcode.SERVFAIL
    assert 1.99 < resolver.net.got[0].at - resolver.net.asked[0].at < 2.05
    asked = resolver.net.asked
    assert len(asked) == 4
    assert len({one.port for one in asked}) == len({one.message.id for one in asked}) == 4
    assert all(b.at - a.at <= 0.52 for a, b in zip(asked, asked[1:]))
    resolver.wait(5)
    assert len(asked) == 4


def test_no_retries(start: Start) -> None:
    zone = Zone(FOUR)
    zone.instead = silent()
    resolver = Resolver(start, zone, more="timeout-time 1.5\nresend-attempts 0\n")
    assert resolver.ask("four.example.", "A", wait=1.6).rcode() == dns.rcode.SERVFAIL
    assert len(zone.asked) == 1


def test_a_lost_question_is_asked_again(start: Start) -> None:
    zone = Zone(FOUR)
    zone.instead = lambda query: [] if len(zone.asked) == 1 else None
    resolver = Resolver(start, zone)
    answer = resolver.ask("four.example.", "A", wait=0.5)
    assert answer.answer and len(zone.asked) == 2


def test_a_slow_answer_to_the_first_try_counts(start: Start) -> None:
    resolver, zone = caught(start)
    resolver.wait(2)
    first, second = resolver.net.asked[:2]
    for one in (first, second):
        resolver.net.deliver(
            resolver.gateway.send(WAN, upstream(UPSTREAM, one.source, one.port, zone.lookup(one.message)))
        )
    assert len(resolver.net.got) == 1 and resolver.net.got[0].message.answer


# --- several servers ----------------------------------------------------------------------------------------


def test_another_server_is_asked(start: Start) -> None:
    """One is silent from the start: no client waits long, and soon the server gets no messages."""
    dead, alive = Zone(), Zone(FOUR)
    dead.instead = silent()
    resolver = Resolver(start, alive, TWO)
    resolver.servers(one=dead)
    for n in range(60):
        before = len(resolver.net.got)
        resolver.send(resolver.query(f"name{n}.example.", "A"))
        resolver.wait(0.5)
        assert len(resolver.net.got) == before + 1
    assert any("nameserver 198.51.100.53 does not answer" in line for line in resolver.gateway.lines("log"))
    asked = len(dead.asked)
    for n in range(40):
        resolver.send(resolver.query(f"more{n}.example.", "A"))
        assert len(resolver.net.got) == 61 + n  # at once
    # It is only probed now and then, beside the other server.
    assert len(dead.asked) - asked <= 2
    resolver.wait(1)
    # It comes back.
    dead.instead = None
    for n in range(40):
        resolver.ask(f"again{n}.example.", "A")
        resolver.wait(1)
    assert any("nameserver 198.51.100.53 is back" in line for line in resolver.gateway.lines("log"))
    assert len(dead.asked) - asked > 10


@pytest.mark.parametrize("quiet", [100, 2400, 4300])
def test_a_server_that_came_back_while_nobody_asked(start: Start, quiet: int) -> None:
    """However long it was down (2^31 microseconds are 36 minutes), it is probed with the next fetches."""
    dead, zone = Zone(), Zone()
    dead.instead = silent()
    resolver = Resolver(start, zone, TWO)
    resolver.servers(one=dead)
    for n in range(60):
        resolver.ask(f"name{n}.example.", "A", wait=0.5)
    assert resolver.gateway.stats()["dns_upstream_up"] == 1
    resolver.wait(quiet)
    dead.instead = None
    for n in range(3):
        resolver.ask(f"later{n}.example.", "A")
    assert resolver.gateway.stats()["dns_upstream_up"] == 2


@pytest.mark.parametrize("quiet", [4294, 4295.5])
def test_silence_is_not_forgotten(start: Start, quiet: float) -> None:
    """A server is down after four failed attempts when it was silent for two seconds, also when its last answer was
    2^32 microseconds ago."""
    zone = Zone(FOUR)
    resolver = Resolver(start, zone)
    resolver.ask("four.example.", "A")
    zone.instead = silent()
    resolver.wait(quiet)
    resolver.send(resolver.query("a.example.", "A"))
    resolver.send(resolver.query("b.example.", "A"))
    resolver.wait(1)
    assert resolver.gateway.stats()["dns_upstream_up"] == 0


@pytest.mark.parametrize("code", [dns.rcode.SERVFAIL, dns.rcode.REFUSED])
def test_another_server_knows_better(start: Start, code: int) -> None:
    bad, good = Zone(), Zone(FOUR)
    bad.instead = fails(code)
    resolver = Resolver(start, good, TWO)
    resolver.servers(one=bad)
    for n in range(10):
        resolver.wait(3)
        assert resolver.ask("four.example.").rcode() == 0
        assert resolver.ask(f"none{n}.example.", "A").rcode() == dns.rcode.NXDOMAIN
    assert bad.asked


def test_all_servers_fail(start: Start) -> None:
    zone = Zone()
    zone.instead = fails(dns.rcode.SERVFAIL)
    resolver = Resolver(start, zone, TWO)
    assert resolver.ask("four.example.", "A").rcode() == dns.rcode.SERVFAIL
    assert Counter(one.server for one in resolver.net.asked) == {UPSTREAM: 1, UPSTREAM2: 1}


def test_random_selection(start: Start) -> None:
    resolver = Resolver(start, Zone(), TWO)
    for n in range(200):
        resolver.send(resolver.query(f"name{n}.example.", "A"))
    counts = Counter(one.server for one in resolver.net.asked)
    assert 60 < counts[UPSTREAM] < 140
    order = [one.server for one in resolver.net.asked]
    assert any(a == b for a, b in zip(order, order[1:]))


def test_round_robin(start: Start) -> None:
    resolver = Resolver(start, Zone(), TWO + "selection-mode round-robin\n")
    for n in range(20):
        resolver.send(resolver.query(f"name{n}.example.", "A"))
    order = [one.server for one in resolver.net.asked]
    assert all(a != b for a, b in zip(order, order[1:])) and len(order) == 20


def test_all_servers_are_gone_for_a_while(start: Start) -> None:
    """The only server is still used, and its answers count at once when it is back."""
    zone = Zone(FOUR)
    zone.instead = silent()
    resolver = Resolver(start, zone)
    for n in range(10):
        assert resolver.ask(f"name{n}.example.", "A", wait=3.1).rcode() == dns.rcode.SERVFAIL
    assert resolver.gateway.stats()["dns_upstream_up"] == 0
    zone.instead = None
    assert resolver.ask("four.example.", "A").answer
    assert resolver.gateway.stats()["dns_upstream_up"] == 1


def test_dead_names_do_not_take_a_server_down(start: Start) -> None:
    zone = Zone(FOUR)
    zone.instead = lambda query: [] if "dead" in query.question[0].name.to_text().lower() else None
    resolver = Resolver(start, zone)
    for n in range(50):
        resolver.send(resolver.query(f"dead{n}.example.", "A"))
        resolver.ask(f"alive{n}.example.", "A")
        resolver.wait(0.3)
    assert resolver.gateway.stats()["dns_upstream_up"] == 1


def test_a_server_over_ipv6(start: Start) -> None:
    resolver = Resolver(start, Zone(FOUR), BASIC + f"nameserver {UPSTREAM6}\n")
    assert resolver.addresses("four.example.") == [inside("192.0.2.33")]
    assert {one.server for one in resolver.net.asked} == {UPSTREAM6}
    assert {one.source for one in resolver.net.asked} == {"2001:db8:2::2"}


# --- servers without EDNS -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code, echo", [(dns.rcode.FORMERR, True), (dns.rcode.NOTIMP, True), (dns.rcode.FORMERR, False)]
)
def test_a_server_without_edns(start: Start, code: int, echo: bool) -> None:
    zone = Zone(FOUR)

    def instead(query: Message) -> Answer:
        if query.edns < 0:
            return None
        answer = dns.message.make_response(query)
        answer.use_edns(-1)
        answer.set_rcode(code)
        if not echo:
            answer.question = []
        return answer

    zone.instead = instead
    resolver = Resolver(start, zone)
    # An error without the question may be forged, so DNS64 waits for the right answer.
    assert resolver.addresses("four.example.", wait=0 if echo else 0.2) == [inside("192.0.2.33")]
    assert len([one for one in zone.asked if one.edns < 0]) == 2
    n = len(zone.asked)
    resolver.ask("other.example.", "A")
    assert len(zone.asked) == n + 1 and zone.asked[-1].edns < 0
    resolver.wait(601)
    resolver.ask("later.example.", "A", wait=0 if echo else 0.2)
    assert zone.asked[n + 1].edns == 0


def test_a_server_with_another_version(start: Start) -> None:
    zone = Zone(FOUR)

    def instead(query: Message) -> Answer:
        if query.edns < 0:
            return None
        answer = dns.message.make_response(query)
        answer.set_rcode(dns.rcode.BADVERS)
        return answer

    zone.instead = instead
    assert Resolver(start, zone).addresses("four.example.") == [inside("192.0.2.33")]


def test_a_server_that_always_complains(start: Start) -> None:
    """The exchange ends."""
    zone = Zone(FOUR)
    for code in (dns.rcode.FORMERR, dns.rcode.BADVERS, dns.rcode.NOTIMP):
        zone.instead = fails(code)
        zone.asked.clear()
        answer = Resolver(start, zone).ask("four.example.", "A", wait=4)
        assert answer.rcode() in (code, dns.rcode.SERVFAIL)
        assert len(zone.asked) <= 3


def test_upper_bits_of_response_codes(start: Start) -> None:
    """Their upper bits are in OPT, which is not passed on: BADCOOKIE becomes SERVFAIL, not NXRRSET."""
    zone = Zone(FOUR)
    zone.instead = fails(dns.rcode.BADCOOKIE)
    assert Resolver(start, zone).ask("four.example.", "A").rcode() == dns.rcode.SERVFAIL
