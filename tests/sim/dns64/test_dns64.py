# SPDX-License-Identifier: BSD-2-Clause
"""What DNS64 answers (RFC 6147 section 5)."""

from __future__ import annotations

from collections.abc import Callable

import dns.flags
import dns.ipv6
import dns.message
import dns.rcode
import dns.rdatatype
import pytest
from gateway import Gateway
from resolver import (
    A, A6, BASIC, PREFIX, UPSTREAM, Resolver, Zone, addresses, fails, inside, rr, silent, ttls,
)

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]

ZONE = (
    rr("four.example.", 200, "A", "192.0.2.33"),
    rr("many.example.", 200, "A", "192.0.2.1", "192.0.2.2", "192.0.2.3"),
    rr("six.example.", 200, "AAAA", "2001:db8::6"),
    rr("both.example.", 200, "AAAA", "2001:db8::7"),
    rr("both.example.", 200, "A", "192.0.2.7"),
    rr("text.example.", 200, "TXT", '"no address"'),
)


def zone() -> Zone:
    return Zone(*ZONE)


@pytest.mark.parametrize("client", [A, A6], ids=["over-ipv4", "over-ipv6"])
def test_synthesises(start: Start, client: object) -> None:
    resolver = Resolver(start, zone())
    answer = resolver.ask("four.example.", client=client)  # type: ignore[arg-type]
    assert answer.rcode() == 0
    assert addresses(answer) == [inside("192.0.2.33")]
    assert answer.answer[0].name.to_text() == "four.example."
    assert ttls(answer) == [200]
    assert not answer.flags & (dns.flags.AD | dns.flags.AA | dns.flags.TC)
    assert sorted(resolver.zone.types_asked()) == ["A", "AAAA"]  # type: ignore[attr-defined]
    assert resolver.gateway.stats()["dns_synthesised"] == 1
    assert resolver.gateway.stats()["dns_queries"] == 1


# --- what is passed on (5.1.1, 5.1.2, 5.3.2, 5.3.3) --------------------------------------------------


def test_existing_addresses_are_passed_on_alone(start: Start) -> None:
    resolver = Resolver(start, zone())
    assert resolver.addresses("six.example.") == ["2001:db8::6"]
    answer = resolver.ask("both.example.")
    assert addresses(answer) == ["2001:db8::7"]
    assert [one.rdtype for one in answer.answer] == [28]
    assert resolver.gateway.stats()["dns_synthesised"] == 0


@pytest.mark.parametrize("kind", ["A", "TXT", "MX", "SOA", "ANY", "HTTPS", "TYPE65280"])
def test_other_types_are_not_touched(start: Start, kind: str) -> None:
    resolver = Resolver(start, zone())
    answer = resolver.ask("four.example.", kind)
    assert resolver.zone.types_asked() == [kind]  # type: ignore[attr-defined]
    if kind == "A":
        assert [item.address for item in answer.answer[0]] == ["192.0.2.33"]
    else:
        assert not answer.answer or kind == "ANY"
        assert kind == "ANY" or answer.authority[0].rdtype == 6


def test_a_name_that_does_not_exist(start: Start) -> None:
    resolver = Resolver(start, zone())
    answer = resolver.ask("none.example.")
    assert answer.rcode() == dns.rcode.NXDOMAIN
    assert answer.authority[0].rdtype == 6
    # The answer stays the same, whatever the A records say.
    again = Zone(*ZONE)
    again.instead = fails(dns.rcode.NXDOMAIN, "AAAA")
    resolver = Resolver(start, again)
    assert resolver.ask("four.example.").rcode() == dns.rcode.NXDOMAIN


def test_neither_address(start: Start) -> None:
    """The client gets the answer about AAAA records, with its SOA record (5.4)."""
    upstream = zone()
    upstream.soa = rr("example.", 77, "SOA", "ns.example. root.example. 1 2 3 4 99")
    resolver = Resolver(start, upstream)
    answer = resolver.ask("text.example.")
    assert answer.rcode() == 0 and not answer.answer
    assert answer.authority[0].ttl == 77


@pytest.mark.parametrize("code", [1, 2, 4, 5, 6, 9], ids=dns.rcode.to_text)
def test_an_error_about_aaaa_counts_as_none(start: Start, code: int) -> None:
    upstream = zone()
    upstream.instead = fails(code, "AAAA")
    assert Resolver(start, upstream).addresses("four.example.") == [inside("192.0.2.33")]


@pytest.mark.parametrize("code", [2, 3, 5], ids=dns.rcode.to_text)
def test_an_error_about_a_is_the_answer(start: Start, code: int) -> None:
    upstream = zone()
    upstream.instead = fails(code, "A")
    assert Resolver(start, upstream).ask("four.example.").rcode() == code


def test_errors_about_both(start: Start) -> None:
    upstream = zone()
    upstream.instead = fails(dns.rcode.SERVFAIL)
    assert Resolver(start, upstream).ask("four.example.").rcode() == dns.rcode.SERVFAIL


def test_an_error_about_aaaa_and_no_a(start: Start) -> None:
    upstream = zone()
    upstream.instead = fails(dns.rcode.SERVFAIL, "AAAA")
    answer = Resolver(start, upstream).ask("text.example.")
    assert answer.rcode() == 0 and not answer.answer and answer.authority


def test_on_error_servfail(start: Start) -> None:
    upstream = zone()
    upstream.instead = fails(dns.rcode.REFUSED, "AAAA")
    resolver = Resolver(start, upstream, more="dns64.on-error servfail\n")
    assert resolver.ask("four.example.").rcode() == dns.rcode.REFUSED
    upstream.instead = silent("AAAA")
    assert resolver.ask("many.example.", wait=10).rcode() == dns.rcode.SERVFAIL


def test_no_answer_about_aaaa_counts_as_an_error(start: Start) -> None:
    """The client waits less than a second (5.1.3)."""
    upstream = zone()
    upstream.instead = silent("AAAA")
    resolver = Resolver(start, upstream)
    before = resolver.gateway.wait(0)
    assert not before
    answer = resolver.ask("four.example.", wait=1)
    assert addresses(answer) == [inside("192.0.2.33")]
    assert ttls(answer) == [200]


def test_additional_records_are_passed_on(start: Start) -> None:
    upstream = zone()

    def with_additional(query: dns.message.Message) -> dns.message.Message | None:
        if query.question[0].rdtype != 1:
            return None
        answer = upstream.lookup(query)
        answer.additional.append(rr("ns.example.", 300, "A", "192.0.2.99"))
        answer.authority.append(rr("example.", 300, "NS", "ns.example."))
        return answer

    upstream.instead = with_additional
    answer = Resolver(start, upstream).ask("four.example.")
    assert addresses(answer) == [inside("192.0.2.33")]
    assert answer.additional == [rr("ns.example.", 300, "A", "192.0.2.99")]
    assert answer.authority == [rr("example.", 300, "NS", "ns.example.")]


def test_another_class(start: Start) -> None:
    upstream = zone()
    upstream.instead = fails(dns.rcode.REFUSED)
    resolver = Resolver(start, upstream)
    for name in ("four.example.", "ipv4only.arpa."):
        assert resolver.ask(name, "AAAA", rdclass="CH").rcode() == dns.rcode.REFUSED
    assert upstream.types_asked() == ["AAAA", "AAAA"]
    assert all(one.question[0].rdclass == 3 for one in upstream.asked)


# --- exclusion (5.1.4) ---------------------------------------------------------------------------------


def test_mapped_addresses_are_excluded(start: Start) -> None:
    upstream = Zone(
        rr("mapped.example.", 200, "AAAA", "::ffff:192.0.2.1"),
        rr("mapped.example.", 100, "A", "192.0.2.9"),
        rr("only.example.", 200, "AAAA", "::ffff:192.0.2.1"),
        rr("mixed.example.", 200, "AAAA", "::ffff:192.0.2.1", "2001:db8::1", "::ffff:192.0.2.2"),
    )
    resolver = Resolver(start, upstream)
    assert resolver.addresses("mapped.example.") == [inside("192.0.2.9")]
    answer = resolver.ask("only.example.")
    assert answer.rcode() == 0 and not answer.answer and answer.authority
    assert resolver.addresses("mixed.example.") == ["2001:db8::1"]
    # The answer from the cache is the same.
    assert resolver.addresses("mapped.example.") == [inside("192.0.2.9")]
    assert resolver.addresses("mixed.example.") == ["2001:db8::1"]


def test_exclusion_of_ones_own(start: Start) -> None:
    upstream = Zone(rr("a.example.", 200, "AAAA", "2001:db8:bad::1", "2001:db8:bae::1"),
                    rr("b.example.", 200, "AAAA", "::ffff:192.0.2.1"))
    resolver = Resolver(start, upstream, more="dns64.exclude 2001:db8:bad::/48\n")
    assert resolver.addresses("a.example.") == ["2001:db8:bae::1"]
    # The list replaces the default.
    assert resolver.addresses("b.example.") == ["::ffff:192.0.2.1"]


def test_signatures_over_what_was_left_out(start: Start) -> None:
    signature = "AAAA 8 2 200 20300101000000 20200101000000 1 example. c2ln"
    upstream = Zone(rr("mixed.example.", 200, "AAAA", "::ffff:192.0.2.1", "2001:db8::1"))

    def signed(query: dns.message.Message) -> dns.message.Message:
        answer = upstream.lookup(query)
        if answer.answer:
            answer.answer.append(rr("mixed.example.", 200, "RRSIG", signature))
        answer.flags |= dns.flags.AD
        return answer

    upstream.instead = signed
    answer = Resolver(start, upstream).ask("mixed.example.", dnssec=True)
    assert addresses(answer) == ["2001:db8::1"]
    assert [one.rdtype for one in answer.answer] == [28]
    assert not answer.flags & dns.flags.AD


# --- chains (5.1.5) -------------------------------------------------------------------------------------


CHAIN = (rr("www.example.", 500, "CNAME", "host.example."), rr("host.example.", 400, "CNAME", "last.example."),
         rr("last.example.", 300, "A", "192.0.2.5", "192.0.2.6"))


def test_a_chain_is_kept(start: Start) -> None:
    answer = Resolver(start, Zone(*CHAIN)).ask("www.example.")
    assert answer.answer[:2] == list(CHAIN[:2])
    assert answer.answer[2].name.to_text() == "last.example."
    assert sorted(addresses(answer)) == [inside("192.0.2.5"), inside("192.0.2.6")]
    assert len(answer.answer) == 3


def test_a_chain_to_existing_addresses(start: Start) -> None:
    upstream = Zone(*CHAIN[:2], rr("last.example.", 300, "AAAA", "2001:db8::5"))
    answer = Resolver(start, upstream).ask("www.example.")
    assert answer.answer == [*CHAIN[:2], rr("last.example.", 300, "AAAA", "2001:db8::5")]


def test_dname(start: Start) -> None:
    upstream = Zone(rr("host.new.example.", 300, "A", "192.0.2.5"))
    moved = rr("old.example.", 400, "DNAME", "new.example.")
    alias = rr("host.old.example.", 400, "CNAME", "host.new.example.")

    def redirect(query: dns.message.Message) -> dns.message.Message | None:
        if query.question[0].name.to_text().lower() != "host.old.example.":
            return None
        answer = dns.message.make_response(query, recursion_available=True)
        answer.answer = [moved, alias]
        if query.question[0].rdtype == 1:
            answer.answer.append(rr("host.new.example.", 300, "A", "192.0.2.5"))
        else:
            assert upstream.soa is not None
            answer.authority = [upstream.soa]
        return answer

    upstream.instead = redirect
    answer = Resolver(start, upstream).ask("host.old.example.")
    assert answer.answer[:2] == [moved, alias]
    assert addresses(answer) == [inside("192.0.2.5")]


def leads_out(upstream: Zone) -> Zone:
    """A server that gives CNAME records without the records that they lead to, as an authoritative one does."""
    def bare(query: dns.message.Message) -> dns.message.Message | None:
        alias = upstream.sets.get((query.question[0].name, 5))
        if alias is None:
            return None
        answer = dns.message.make_response(query, recursion_available=True)
        answer.answer.append(alias)
        return answer

    upstream.instead = bare
    return upstream


def test_a_chain_that_upstream_does_not_follow(start: Start) -> None:
    upstream = leads_out(Zone(*CHAIN))
    answer = Resolver(start, upstream).ask("www.example.")
    assert answer.answer[:2] == list(CHAIN[:2])
    assert sorted(addresses(answer)) == [inside("192.0.2.5"), inside("192.0.2.6")]
    assert answer.answer[2].name.to_text() == "last.example."
    assert len(answer.answer) == 3


def test_such_a_chain_to_existing_addresses(start: Start) -> None:
    upstream = leads_out(Zone(*CHAIN[:2], rr("last.example.", 300, "AAAA", "2001:db8::5")))
    answer = Resolver(start, upstream).ask("www.example.")
    assert answer.answer == [*CHAIN[:2], rr("last.example.", 300, "AAAA", "2001:db8::5")]


def test_such_a_chain_to_nowhere(start: Start) -> None:
    answer = Resolver(start, leads_out(Zone(*CHAIN[:2]))).ask("www.example.")
    assert answer.rcode() == dns.rcode.NXDOMAIN
    assert answer.answer == list(CHAIN[:2])


def test_a_chain_in_a_circle(start: Start) -> None:
    circle = Zone(rr("a.example.", 300, "CNAME", "b.example."), rr("b.example.", 300, "CNAME", "a.example."))
    for upstream in (circle, leads_out(circle)):
        assert Resolver(start, upstream).ask("a.example.", wait=10).rcode() == dns.rcode.SERVFAIL


# --- time to live (5.1.7) -------------------------------------------------------------------------------


@pytest.mark.parametrize("of_a, of_soa, expected", [(200, 300, 200), (300, 200, 200), (5, 1, 1), (100000, 3600, 3600)])
def test_ttl_is_the_lower_one(start: Start, of_a: int, of_soa: int, expected: int) -> None:
    upstream = Zone(
        rr("four.example.", of_a, "A", "192.0.2.33"), soa=rr("example.", of_soa, "SOA", "a. b. 1 2 3 4 100000")
    )
    assert ttls(Resolver(start, upstream).ask("four.example.")) == [expected]


@pytest.mark.parametrize("of_a, expected", [(200, 200), (601, 600), (86400, 600)])
def test_ttl_without_soa(start: Start, of_a: int, expected: int) -> None:
    upstream = Zone(rr("four.example.", of_a, "A", "192.0.2.33"))
    upstream.soa = None
    resolver = Resolver(start, upstream)
    assert ttls(resolver.ask("four.example.")) == [expected]
    # Synthesised records may be kept so long, though the empty answer may not (RFC 2308 section 5).
    asked = len(upstream.asked)
    resolver.wait(50)
    assert ttls(resolver.ask("four.example.")) == [min(of_a - 50, 600)]
    assert len(upstream.asked) == asked
    resolver.wait(600)
    resolver.ask("four.example.")
    assert len(upstream.asked) > asked


def test_ttl_after_no_answer(start: Start) -> None:
    upstream = Zone(rr("four.example.", 86400, "A", "192.0.2.33"))
    upstream.instead = silent("AAAA")
    assert ttls(Resolver(start, upstream).ask("four.example.", wait=5)) == [600]


# --- several prefixes, ranges (5.1.7, 5.2) ------------------------------------------------------------


def test_several_prefixes(start: Start) -> None:
    resolver = Resolver(start, zone(), more="dns64-prefix 2001:db8:65::/96\n")
    assert resolver.addresses("four.example.") == [inside("192.0.2.33"), inside("192.0.2.33", "2001:db8:65::")]
    assert len(resolver.addresses("many.example.")) == 6


RANGES = ("dns64.map 10.0.0.0/8 none\ndns64.map 0.0.0.0/0 2001:db8:66::/96\ndns64.map 10.1.0.0/16 2001:db8:67::/96\n"
          "dns64.map 10.1.1.0/24 none\n")


@pytest.mark.parametrize(
    "address, expected",
    [
        ("192.0.2.1", [inside("192.0.2.1", "2001:db8:66::")]),
        ("10.2.0.1", []),
        ("10.1.2.1", [inside("10.1.2.1", "2001:db8:67::")]),
        ("10.1.1.1", []),
    ],
)
def test_ranges(start: Start, address: str, expected: list[str]) -> None:
    upstream = Zone(rr("four.example.", 200, "A", address))
    resolver = Resolver(start, upstream, more=RANGES)
    answer = resolver.ask("four.example.")
    assert addresses(answer) == expected
    if not expected:
        assert answer.rcode() == 0 and answer.authority[0].rdtype == 6


def test_only_some_of_several_addresses(start: Start) -> None:
    upstream = Zone(rr("four.example.", 200, "A", "10.2.0.1", "192.0.2.1", "10.1.1.9"))
    resolver = Resolver(start, upstream, more="dns64.map 10.0.0.0/8 none\ndns64-prefix 2001:db8:65::/96\n")
    assert resolver.addresses("four.example.") == [inside("192.0.2.1"), inside("192.0.2.1", "2001:db8:65::")]


WELL_KNOWN = BASIC.replace(f"dns64-prefix {PREFIX}/96\n", "") + f"nameserver {UPSTREAM}\n"


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.1",
        "172.16.5.4",
        "192.168.1.1",
        "127.0.0.1",
        "169.254.1.1",
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "0.0.0.0",
        "192.0.0.8",
    ],
)
def test_the_well_known_prefix_is_for_global_addresses(start: Start, address: str) -> None:
    resolver = Resolver(start, Zone(rr("four.example.", 200, "A", address)), WELL_KNOWN)
    answer = resolver.ask("four.example.")
    assert answer.rcode() == 0 and not answer.answer and answer.authority[0].rdtype == 6
    assert resolver.gateway.stats()["dns_not_global"] == 1


def test_the_well_known_prefix(start: Start) -> None:
    upstream = Zone(rr("four.example.", 200, "A", "8.8.8.8"), rr("mixed.example.", 200, "A", "10.0.0.1", "8.8.4.4"))
    resolver = Resolver(start, upstream, WELL_KNOWN)
    assert resolver.addresses("four.example.") == ["64:ff9b::808:808"]
    assert resolver.addresses("mixed.example.") == ["64:ff9b::808:404"]


# RFC 6052 section 2.4, table 2.
FORMS = [
    ("2001:db8::/32", "2001:db8:c000:221::"),
    ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
    ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"),
    ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
    ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100:0"),
    ("2001:db8:122:344::/96", "2001:db8:122:344::c000:221"),
]


@pytest.mark.parametrize("prefix, expected", FORMS)
def test_all_lengths(start: Start, prefix: str, expected: str) -> None:
    resolver = Resolver(start, zone(), WELL_KNOWN, f"dns64-prefix {prefix}\n")
    assert resolver.addresses("four.example.") == [str(dns.ipv6.inet_ntoa(dns.ipv6.inet_aton(expected)))]


# --- who gets what -----------------------------------------------------------------------------------


def test_always(start: Start) -> None:
    resolver = Resolver(start, zone(), more="dns64.always on\n")
    assert resolver.addresses("both.example.") == [inside("192.0.2.7")]
    assert resolver.addresses("six.example.") == ["2001:db8::6"]


def test_names_without_synthesis(start: Start) -> None:
    upstream = Zone(*ZONE, rr("host.skip.example.", 200, "A", "192.0.2.1"), rr("skip.example.", 200, "A", "192.0.2.1"),
                    rr("noskip.example.", 200, "A", "192.0.2.1"))
    resolver = Resolver(start, upstream, more="dns64.skip-name Skip.example\n")
    for name in ("skip.example.", "host.skip.example.", "HOST.SKIP.EXAMPLE."):
        answer = resolver.ask(name)
        assert answer.rcode() == 0 and not answer.answer and answer.authority
    assert resolver.addresses("noskip.example.") == [inside("192.0.2.1")]


def test_clients_without_synthesis(start: Start) -> None:
    resolver = Resolver(start, zone(), more=f"dns64.skip-client {A.ip}/32\n")
    for _ in range(2):
        assert not resolver.ask("four.example.").answer
        assert resolver.addresses("four.example.", client=A6) == [inside("192.0.2.33")]


# --- DNSSEC (5.5, 3) ---------------------------------------------------------------------------------


def signed(upstream: Zone) -> Zone:
    """Adds (false) signatures for clients that want them, and sets AD."""
    def instead(query: dns.message.Message) -> dns.message.Message:
        answer = upstream.lookup(query)
        if query.ednsflags & dns.flags.DO:
            for one in list(answer.answer):
                kind = dns.rdatatype.to_text(one.rdtype)
                answer.answer.append(rr(one.name.to_text(), one.ttl, "RRSIG",
                                        f"{kind} 8 2 200 20300101000000 20200101000000 1 example. c2ln"))
        if query.flags & dns.flags.AD or query.ednsflags & dns.flags.DO:
            answer.flags |= dns.flags.AD
        return answer

    upstream.instead = instead
    return upstream


def kinds(message: dns.message.Message) -> list[str]:
    return [dns.rdatatype.to_text(one.rdtype) for one in message.answer]


def test_no_synthesis_for_those_who_validate(start: Start) -> None:
    resolver = Resolver(start, signed(zone()))
    answer = resolver.ask("four.example.", flags="RD CD", dnssec=True)
    assert not answer.answer and answer.authority
    assert "A" not in resolver.zone.types_asked()  # type: ignore[attr-defined]
    answer = resolver.ask("six.example.", flags="RD CD", dnssec=True)
    assert kinds(answer) == ["AAAA", "RRSIG"]
    assert all(one.flags & dns.flags.CD and one.ednsflags & dns.flags.DO
               for one in resolver.zone.asked)  # type: ignore[attr-defined]


@pytest.mark.parametrize("flags", ["RD", "RD AD"])
def test_synthesis_with_signatures(start: Start, flags: str) -> None:
    """With DO alone the answer is synthesised, without AD and without signatures over records that were left out."""
    upstream = signed(Zone(*CHAIN, *ZONE))
    resolver = Resolver(start, upstream)
    answer = resolver.ask("four.example.", flags=flags, dnssec=True)
    assert kinds(answer) == ["AAAA"]
    assert not answer.flags & dns.flags.AD
    answer = resolver.ask("www.example.", flags=flags, dnssec=True)
    assert sorted(kinds(answer)) == ["AAAA", "CNAME", "CNAME", "RRSIG", "RRSIG"]
    assert not answer.flags & dns.flags.AD


def test_cd_alone_does_not_stop_synthesis(start: Start) -> None:
    assert Resolver(start, zone()).addresses("four.example.", flags="RD CD") == [inside("192.0.2.33")]


def test_ad_for_those_who_know_it(start: Start) -> None:
    resolver = Resolver(start, signed(zone()))
    for _ in range(2):
        assert resolver.ask("six.example.", flags="RD AD").flags & dns.flags.AD
        assert not resolver.ask("six.example.").flags & dns.flags.AD
        assert resolver.ask("six.example.", dnssec=True).flags & dns.flags.AD
        assert not resolver.ask("six.example.", edns=0).answer[0].rdtype == 46
        assert not resolver.ask("four.example.", flags="RD AD").flags & dns.flags.AD


# --- spelling ------------------------------------------------------------------------------------------


def test_the_question_comes_back_as_it_was_spelled(start: Start) -> None:
    resolver = Resolver(start, zone())
    for name in ("FOUR.eXample.", "four.EXAMPLE.", "fOuR.example."):
        answer = resolver.ask(name)  # checks upper and lower case
        assert addresses(answer) == [inside("192.0.2.33")]
        assert answer.answer[0].name.to_text() == name
    assert len(resolver.zone.asked) == 2  # type: ignore[attr-defined]
