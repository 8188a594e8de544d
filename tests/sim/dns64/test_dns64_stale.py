# SPDX-License-Identifier: BSD-2-Clause
"""When a stale answer may serve (RFC 8767): only after the servers had a moment to answer, and known native addresses
before synthesised ones."""

from __future__ import annotations

import dns.message
import dns.rcode
import pytest
from resolver import DNS64, FOUR, SOA, Message, Resolver, Start, Zone, addresses, fails, inside, rr, silent, ttls

pytestmark = pytest.mark.virtual

OTHER = rr("other.example.", 300, "A", "192.0.2.34")


def dead_names(query: Message) -> list[None] | None:
    return [] if b"dead" in query.question[0].name.to_text().lower().encode() else None


def taken_down(start: Start) -> tuple[Resolver, Zone]:
    """Two expired names, and a server that eight dead names have marked as down."""
    zone = Zone(FOUR, OTHER)
    resolver = Resolver(start, zone)
    resolver.addresses("four.example.")
    resolver.addresses("other.example.")
    resolver.wait(4000)
    zone.instead = dead_names  # type: ignore[assignment]
    for n in range(8):
        resolver.send(resolver.query(f"dead{n}.example.", "A"))
        resolver.wait(0.5)
    assert resolver.gateway.stats()["dns_upstream_up"] == 0
    return resolver, zone


def test_dead_names_bring_nobody_a_stale_answer(start: Start) -> None:
    """The only server answers for all other names."""
    resolver, _ = taken_down(start)
    assert ttls(resolver.ask("four.example.")) == [300]
    assert resolver.gateway.stats()["dns_cache_stale"] == 0


def test_a_server_that_went_down_lately_is_waited_for_briefly(start: Start) -> None:
    resolver, zone = taken_down(start)
    zone.instead = silent()
    resolver.send(resolver.query("four.example."))
    resolver.wait(0.7)
    assert resolver.net.got[-1].message.question[0].name != FOUR.name
    resolver.wait(0.1)
    assert ttls(resolver.net.got[-1].message) == [30]
    assert addresses(resolver.net.got[-1].message) == [inside("192.0.2.33")]


def gone(resolver: Resolver, zone: Zone, seconds: int) -> None:
    """No server answers for so long, although messages are sent all the time."""
    zone.instead = silent()
    for n in range(seconds):
        resolver.send(resolver.query(f"n{n}.example.", "A"))
        resolver.wait(1)


def test_a_server_that_is_down_for_long_is_not_waited_for(start: Start) -> None:
    resolver, zone = taken_down(start)
    gone(resolver, zone, 31)
    assert ttls(resolver.ask("four.example.")) == [30]
    # The server is asked after the client has its answer, and is back at once.
    zone.instead = None
    assert ttls(resolver.ask("other.example.")) == [30]
    assert ttls(resolver.ask("other.example.")) == [300]


@pytest.mark.parametrize("quiet", [60, 4290, 4330])
def test_nobody_asked_for_a_while(start: Start, quiet: int) -> None:
    """That a server was down long ago says nothing about its present state."""
    resolver, zone = taken_down(start)
    gone(resolver, zone, 31)
    resolver.wait(quiet)
    zone.instead = None
    assert ttls(resolver.ask("four.example.")) == [300]


# --- native addresses that are known ---------------------------------------------------------------------

BOTH = (rr("both.example.", 60, "AAAA", "2001:db8::6"), rr("both.example.", 900, "A", "192.0.2.35"))
CHAIN = (rr("www.example.", 60, "CNAME", "both.example."), *BOTH)


def bare(zone: Zone) -> Zone:
    """A server that does not follow CNAME records."""
    def instead(query: Message) -> Message | None:
        alias = zone.sets.get((query.question[0].name, 5))
        if alias is None:
            return None
        answer = dns.message.make_response(query, recursion_available=True)
        answer.answer.append(alias)
        return answer
    zone.instead = instead
    return zone


@pytest.mark.parametrize("name", ["both.example.", "www.example."])
@pytest.mark.parametrize("bald", [False, True])
def test_a_slow_refresh_does_not_replace_native_addresses(start: Start, name: str, bald: bool) -> None:
    """A records alone make no answer while AAAA records are known, even expired ones, also at the end of a CNAME chain;
    these serve when the refresh takes too long."""
    zone = bare(Zone(*CHAIN)) if bald else Zone(*CHAIN)
    resolver = Resolver(start, zone)
    assert resolver.addresses(name) == ["2001:db8::6"]
    resolver.ask(name, "A")
    resolver.wait(100)
    right = zone.instead
    mute = silent("AAAA")
    zone.instead = lambda query: [] if mute(query) == [] else right(query) if right else None
    resolver.send(resolver.query(name))
    resolver.wait(1.7)
    assert not [one for one in resolver.net.got if one.at > 100 and addresses(one.message) != ["2001:db8::6"]]
    resolver.wait(0.2)
    assert addresses(resolver.net.got[-1].message) == ["2001:db8::6"]
    assert resolver.net.got[-1].at > 100 and ttls(resolver.net.got[-1].message) == [30]
    # If the answer comes meanwhile, it serves at once.
    resolver.wait(70)
    resolver.send(resolver.query(name))
    zone.instead = right
    for _ in range(6):
        resolver.wait(0.1)
    assert addresses(resolver.net.got[-1].message) == ["2001:db8::6"]
    assert ttls(resolver.net.got[-1].message) == [60]


def test_native_addresses_too_old_to_serve(start: Start) -> None:
    """After `dns64.stale` nothing is known: A records serve after the usual wait (RFC 6147 5.1.3)."""
    zone = Zone(*BOTH)
    resolver = Resolver(start, zone, more="dns64.stale 30\n")
    assert resolver.addresses("both.example.") == ["2001:db8::6"]
    resolver.wait(100)
    zone.instead = silent("AAAA")
    assert resolver.addresses("both.example.", wait=0.8) == [inside("192.0.2.35")]


def test_addresses_that_were_absent_before(start: Start) -> None:
    """Where no native addresses are known, slow AAAA answers cost no more than the usual wait."""
    zone = Zone(FOUR, soa=rr("example.", 60, "SOA", SOA))
    resolver = Resolver(start, zone)
    resolver.addresses("four.example.")
    resolver.wait(100)
    zone.instead = silent("AAAA")
    assert resolver.addresses("four.example.", wait=0.8) == [inside("192.0.2.33")]


def test_always_wants_synthetic_ones(start: Start) -> None:
    zone = Zone(*BOTH)
    resolver = Resolver(start, zone, DNS64 + "dns64.always on\n")
    assert resolver.addresses("both.example.") == [inside("192.0.2.35")]
    resolver.wait(100)
    zone.instead = silent("AAAA")
    assert resolver.addresses("both.example.", wait=0.8) == [inside("192.0.2.35")]


def test_a_failing_refresh_keeps_native_addresses(start: Start) -> None:
    zone = Zone(*BOTH)
    resolver = Resolver(start, zone)
    resolver.addresses("both.example.")
    resolver.wait(100)
    zone.instead = fails(dns.rcode.SERVFAIL, "AAAA")
    assert resolver.addresses("both.example.") == ["2001:db8::6"]
