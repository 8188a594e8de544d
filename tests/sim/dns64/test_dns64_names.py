# SPDX-License-Identifier: BSD-2-Clause
"""Names that DNS64 answers itself: ipv4only.arpa (RFC 7050, RFC 8880), reverse names (RFC 6147 section 5.3.1)."""

from __future__ import annotations

from collections.abc import Callable

import dns.flags
import dns.ipv6
import dns.message
import dns.rcode
import dns.reversename
import pytest
from gateway import Gateway
from resolver import A, A6, BASIC, PREFIX, UPSTREAM, Resolver, Zone, addresses, fails, inside, rr, silent, ttls

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
WKA = ["192.0.0.170", "192.0.0.171"]


def nobody() -> Zone:
    """Must not get a message."""
    zone = Zone()
    zone.instead = fails(dns.rcode.REFUSED)
    return zone


# --- ipv4only.arpa -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ipv4only.arpa.", "IPv4Only.ARPA."])
def test_the_well_known_name(start: Start, name: str) -> None:
    resolver = Resolver(start, nobody())
    answer = resolver.ask(name, "A")
    assert [item.address for item in answer.answer[0]] == WKA
    answer = resolver.ask(name)
    assert addresses(answer) == [inside(one) for one in WKA]
    assert ttls(answer) == [3600]
    assert answer.flags & dns.flags.AA and not answer.flags & dns.flags.AD
    assert not resolver.zone.asked  # type: ignore[attr-defined]


def test_each_prefix_in_order(start: Start) -> None:
    more = "dns64-prefix 2001:db8:9::/96\ndns64-prefix 2001:db8:122::/48\n"
    answer = Resolver(start, nobody(), more=more).ask("ipv4only.arpa.", edns=0)
    assert addresses(answer) == [inside(one) for one in WKA] + [inside(one, "2001:db8:9::") for one in WKA] + \
        ["2001:db8:122:c000:0:aa00::", "2001:db8:122:c000:0:ab00::"]


def test_the_well_known_prefix_too(start: Start) -> None:
    """Its two addresses are not global."""
    config = BASIC.replace(f"dns64-prefix {PREFIX}/96\n", "") + f"nameserver {UPSTREAM}\n"
    assert Resolver(start, nobody(), config).addresses("ipv4only.arpa.") == ["64:ff9b::c000:aa", "64:ff9b::c000:ab"]


@pytest.mark.parametrize("kind", ["NS", "SOA", "TXT", "ANY", "MX", "PTR", "DNSKEY"])
def test_other_types_of_it(start: Start, kind: str) -> None:
    resolver = Resolver(start, nobody())
    answer = resolver.ask("ipv4only.arpa.", kind)
    assert answer.rcode() == 0 and not answer.answer
    assert answer.authority[0].rdtype == 6 and answer.authority[0].name.to_text() == "ipv4only.arpa."
    assert not resolver.zone.asked  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["A", "AAAA", "DS", "NS"])
def test_names_below_do_not_exist(start: Start, kind: str) -> None:
    resolver = Resolver(start, nobody())
    for name in ("a.ipv4only.arpa.", "x.y.z.ipv4only.arpa."):
        answer = resolver.ask(name, kind)
        assert answer.rcode() == dns.rcode.NXDOMAIN
        assert answer.authority[0].name.to_text() == "ipv4only.arpa."
    assert not resolver.zone.asked  # type: ignore[attr-defined]


def test_ds_is_the_parents(start: Start) -> None:
    zone = Zone(origin="arpa.", soa=rr("arpa.", 300, "SOA", "a. b. 1 2 3 4 5"))
    resolver = Resolver(start, zone)
    assert resolver.ask("ipv4only.arpa.", "DS").authority[0].name.to_text() == "arpa."
    assert zone.types_asked() == ["DS"]


def test_names_that_only_look_like_it(start: Start) -> None:
    zone = Zone(rr("xipv4only.arpa.", 60, "A", "192.0.2.1"), origin="arpa.")
    resolver = Resolver(start, zone)
    assert resolver.addresses("xipv4only.arpa.") == [inside("192.0.2.1")]
    assert resolver.ask("ipv4only.arpa.example.").rcode() == dns.rcode.NXDOMAIN
    # A label that holds the same bytes.
    assert resolver.ask(r"a\008ipv4only\004arpa.").rcode() == dns.rcode.NXDOMAIN
    assert len(zone.asked) > 2


def test_where_nothing_is_synthesised_it_is_a_name_like_others(start: Start) -> None:
    zone = Zone(rr("ipv4only.arpa.", 60, "A", *WKA), origin="arpa.")
    resolver = Resolver(start, zone, more=f"dns64.skip-client {A.ip}/32\n")
    assert not resolver.ask("ipv4only.arpa.").answer
    assert zone.types_asked() == ["AAAA"]


# --- reverse names -----------------------------------------------------------------------------------


def reverse(address: str) -> str:
    return str(dns.reversename.from_address(address))


def pointers(message: dns.message.Message) -> list[str]:
    return [item.to_text() for one in message.answer if one.rdtype == 12 for item in one]


HOST = rr("33.2.0.192.in-addr.arpa.", 120, "PTR", "host.example.")


def test_a_reverse_name(start: Start) -> None:
    zone = Zone(HOST, origin="arpa.")
    resolver = Resolver(start, zone)
    name = reverse(inside("192.0.2.33"))
    answer = resolver.ask(name, "PTR")
    assert [one.to_text() for one in answer.answer] == [
        f"{name} 120 IN CNAME 33.2.0.192.in-addr.arpa.", "33.2.0.192.in-addr.arpa. 120 IN PTR host.example."]
    assert not answer.flags & dns.flags.AD
    assert [one.question[0].name.to_text().lower() for one in zone.asked] == ["33.2.0.192.in-addr.arpa."]
    # Again later, from the cache.
    resolver.wait(20)
    answer = resolver.ask(name.upper(), "PTR")
    assert [one.ttl for one in answer.answer] == [100, 100]
    assert len(zone.asked) == 1


FORMS = [
    ("2001:db8::/32", "2001:db8:c000:221::"),
    ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
    ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"),
    ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
    ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100:0"),
    ("2001:db8:122:344::/96", "2001:db8:122:344::c000:221"),
    ("64:ff9b::/96", "64:ff9b::c000:221"),
]


@pytest.mark.parametrize("prefix, address", FORMS)
def test_reverse_names_of_all_lengths(start: Start, prefix: str, address: str) -> None:
    config = BASIC.replace(f"dns64-prefix {PREFIX}/96\n", f"dns64-prefix {prefix}\n") + f"nameserver {UPSTREAM}\n"
    assert pointers(Resolver(start, Zone(HOST, origin="arpa."), config).ask(reverse(address), "PTR")) == [
        "host.example."
    ]


def test_a_suffix_does_not_matter(start: Start) -> None:
    """RFC 6052 section 2.2: bits after the address are ignored."""
    config = (
        BASIC.replace(f"dns64-prefix {PREFIX}/96\n", "dns64-prefix 2001:db8:122::/48\n") + f"nameserver {UPSTREAM}\n"
    )
    answer = Resolver(start, Zone(HOST, origin="arpa."), config).ask(reverse("2001:db8:122:c000:2:2100::1"), "PTR")
    assert pointers(answer) == ["host.example."]


def test_reverse_names_of_ranges(start: Start) -> None:
    zone = Zone(rr("1.0.1.10.in-addr.arpa.", 60, "PTR", "ten.example."), origin="arpa.")
    resolver = Resolver(start, zone, more="dns64.map 10.0.0.0/8 2001:db8:67::/96\n")
    assert pointers(resolver.ask(reverse(inside("10.1.0.1", "2001:db8:67::")), "PTR")) == ["ten.example."]


def test_no_pointer_no_cname(start: Start) -> None:
    """A CNAME must lead to something (5.3.1)."""
    zone = Zone(HOST, origin="arpa.")
    answer = Resolver(start, zone).ask(reverse(inside("192.0.2.34")), "PTR")
    assert answer.rcode() == dns.rcode.NXDOMAIN and not answer.answer
    zone.instead = fails(dns.rcode.SERVFAIL)
    assert Resolver(start, zone).ask(reverse(inside("192.0.2.33")), "PTR").rcode() == dns.rcode.SERVFAIL
    zone.instead = silent()
    assert Resolver(start, zone).ask(reverse(inside("192.0.2.33")), "PTR", wait=10).rcode() == dns.rcode.SERVFAIL


def test_a_cname_at_the_other_name_is_not_one_more(start: Start) -> None:
    """Classless delegation (RFC 2317): the chain does not become longer (5.3.1)."""
    zone = Zone(rr("33.2.0.192.in-addr.arpa.", 60, "CNAME", "33.32/27.2.0.192.in-addr.arpa."),
                rr("33.32/27.2.0.192.in-addr.arpa.", 90, "PTR", "host.example."), origin="arpa.")
    name = reverse(inside("192.0.2.33"))
    answer = Resolver(start, zone).ask(name, "PTR")
    assert [one.to_text() for one in answer.answer] == [
        f"{name} 90 IN CNAME 33.32/27.2.0.192.in-addr.arpa.", "33.32/27.2.0.192.in-addr.arpa. 90 IN PTR host.example."]


def test_several_pointers(start: Start) -> None:
    zone = Zone(rr("33.2.0.192.in-addr.arpa.", 60, "PTR", "a.example.", "b.example."), origin="arpa.")
    assert sorted(pointers(Resolver(start, zone).ask(reverse(inside("192.0.2.33")), "PTR"))) == [
        "a.example.",
        "b.example.",
    ]


@pytest.mark.parametrize("address", WKA)
def test_the_well_known_addresses(start: Start, address: str) -> None:
    resolver = Resolver(start, nobody())
    answer = resolver.ask(reverse(inside(address)), "PTR")
    assert pointers(answer) == ["ipv4only.arpa."]
    assert not resolver.zone.asked  # type: ignore[attr-defined]


def test_reverse_names_elsewhere(start: Start) -> None:
    """A name under no prefix of ours, or of no whole address, is like any other name."""
    zone = Zone(rr(reverse("2001:db8:f::1"), 60, "PTR", "far.example."), origin="arpa.")
    resolver = Resolver(start, zone)
    assert pointers(resolver.ask(reverse("2001:db8:f::1"), "PTR")) == ["far.example."]
    name = reverse(inside("192.0.2.33"))
    for other in (name[2:], "x." + name, name.replace("1.2.2.0", "g.2.2.0"), "12." + name[4:]):
        assert resolver.ask(other, "PTR").rcode() in (0, dns.rcode.NXDOMAIN)
        assert zone.asked[-1].question[0].name.to_text().lower() == other
    # Another type under a prefix of ours.
    resolver.ask(name, "TXT")
    assert zone.asked[-1].question[0].name.to_text().lower() == name


def test_reverse_off(start: Start) -> None:
    zone = Zone(HOST, origin="arpa.")
    assert Resolver(start, zone, more="dns64.reverse off\n").ask(reverse(inside("192.0.2.33")), "PTR").rcode() == 3
    assert zone.asked[-1].question[0].name.to_text().lower() == reverse(inside("192.0.2.33"))


# --- names above reverse names (RFC 8020, RFC 9156) ----------------------------------------------------

KINDS = ["A", "AAAA", "NS", "PTR", "TXT", "DS"]


def cut(address: str, nibbles: int) -> str:
    """The last n nibbles of a reverse name."""
    return ".".join(reverse(address).split(".")[32 - nibbles:])


def under(prefix: str) -> str:
    return BASIC.replace(f"dns64-prefix {PREFIX}/96\n", f"dns64-prefix {prefix}\n") + f"nameserver {UPSTREAM}\n"


def empty(message: dns.message.Message) -> bool:
    return message.rcode() == 0 and not message.answer and bool(message.authority)


@pytest.mark.parametrize("prefix, address", FORMS)
def test_names_on_the_way_to_a_reverse_name(start: Start, prefix: str, address: str) -> None:
    """The servers do not know them, but names below them exist here. A resolver that asks label by label (RFC 9156)
    stops at the first NXDOMAIN (RFC 8020)."""
    resolver = Resolver(start, Zone(HOST, origin="arpa."), under(prefix))
    for nibbles in range(33):
        name = cut(address, nibbles)
        for kind in KINDS if nibbles % 5 == 2 or nibbles == 32 else ["A", "PTR"]:
            if nibbles == 32 and kind == "PTR":
                continue
            assert empty(resolver.ask(name, kind)), (name, kind)
        assert empty(resolver.ask(name.upper(), "A", client=A6))
    assert pointers(resolver.ask(reverse(address), "PTR")) == ["host.example."]


@pytest.mark.parametrize("prefix, address", FORMS)
def test_names_that_lead_to_no_reverse_name(start: Start, prefix: str, address: str) -> None:
    """Outside the prefix, or after the last nibble, the server's answer is passed on."""
    resolver = Resolver(start, Zone(HOST, origin="arpa."), under(prefix))
    own = int(prefix.split("/")[1]) // 4
    for nibbles in range(1, 33):
        name = cut(address, nibbles)
        other = ("e" if name[0] == "f" else "f") + name[1:]
        inside_prefix = nibbles > own
        for kind in ("A", "NS"):
            assert (resolver.ask(other, kind).rcode() == 0) == inside_prefix, other
    for name in ("0." + reverse(address), "x." + cut(address, 8), "12." + cut(address, 8), "g." + cut(address, 8),
                 cut(address, 8) + "example.", "x" + cut(address, 8)):
        for kind in ("A", "PTR"):
            assert resolver.ask(name, kind).rcode() == dns.rcode.NXDOMAIN, name


def test_names_on_the_way_that_upstream_knows(start: Start) -> None:
    """Existing records are not changed (RFC 6147 section 5.3.3); an alias to a missing name stays NXDOMAIN."""
    there, alias = cut(inside("192.0.2.33"), 12), cut(inside("192.0.2.33"), 26)
    zone = Zone(rr(there, 60, "NS", "ns.example."), rr(alias, 60, "CNAME", "nothing.example."), origin="arpa.")
    resolver = Resolver(start, zone)
    assert [one.to_text() for one in resolver.ask(there, "NS").answer] == [f"{there} 60 IN NS ns.example."]
    answer = resolver.ask(alias, "A")
    assert answer.rcode() == dns.rcode.NXDOMAIN and len(answer.answer) == 1
    zone.instead = fails(dns.rcode.SERVFAIL)
    assert resolver.ask(cut(inside("192.0.2.33"), 20), "A").rcode() == dns.rcode.SERVFAIL


def test_names_on_the_way_are_not_vouched_for(start: Start) -> None:
    """AD of NXDOMAIN is not copied to the changed answer; a client that validates gets the original (section 5.5)."""
    zone = Zone(HOST, origin="arpa.")

    def vouched(query: dns.message.Message) -> dns.message.Message:
        answer = zone.lookup(query)
        answer.flags |= dns.flags.AD
        return answer

    zone.instead = vouched
    resolver = Resolver(start, zone)
    for _ in range(2):
        answer = resolver.ask(cut(inside("192.0.2.33"), 20), "A", dnssec=True)
        assert empty(answer) and not answer.flags & dns.flags.AD
        answer = resolver.ask(cut(inside("192.0.2.33"), 20), "A", flags="RD CD", dnssec=True)
        assert answer.rcode() == dns.rcode.NXDOMAIN and answer.flags & dns.flags.AD
        assert resolver.ask("other.arpa.", "A", dnssec=True).flags & dns.flags.AD


def test_names_on_the_way_to_those_of_ranges(start: Start) -> None:
    """A prefix of `dns64.map`, and a range for which nothing is synthesised."""
    maps = "dns64.map 10.0.0.0/8 2001:db8:67::/96\ndns64.map 172.16.0.0/12 none\n"
    resolver = Resolver(start, Zone(HOST, origin="arpa."), more=maps)
    for nibbles in (11, 12, 20, 26, 31):
        assert empty(resolver.ask(cut("2001:db8:67::a01:1", nibbles), "A"))
    assert resolver.ask(cut("2001:db8:68::a01:1", 12), "A").rcode() == dns.rcode.NXDOMAIN


@pytest.mark.parametrize("more, options", [("dns64.reverse off\n", {}), ("", {"rdclass": "CH"}),
                                           ("dns64.skip-name ip6.arpa\n", {}),
                                           ("dns64.skip-client 192.168.1.0/24\n", {})],
                         ids=["off", "class", "skip-name", "skip-client"])
def test_names_on_the_way_where_nothing_is_made(start: Start, more: str, options: dict[str, str]) -> None:
    resolver = Resolver(start, Zone(HOST, origin="arpa."), more=more)
    assert resolver.ask(cut(inside("192.0.2.33"), 20), "A", **options).rcode() == dns.rcode.NXDOMAIN
