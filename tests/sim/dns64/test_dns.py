# SPDX-License-Identifier: BSD-2-Clause
"""`serve dns`: a caching forwarder without synthesis; and the names of hosts that have leases, in both services."""

from __future__ import annotations

import dns.flags
import dns.rcode
import pytest
from gateway import LAN
from lanclients import HOST_NAME, Client
from resolver import BASIC, FOUR, SOA, UPSTREAM, Resolver, Start, Zone, addresses, inside, rr
from scapy.layers.inet6 import ICMPv6ND_RA, ICMPv6NDOptPREF64, ICMPv6NDOptRDNSS

pytestmark = pytest.mark.virtual

DNS = BASIC + f"nameserver {UPSTREAM}\nserve dns\nnat.sessions 2000\n"
NAMES = ("lan.dhcp 192.168.1.100-192.168.1.109\nlan.dhcp-static 02:00:00:00:00:09 192.168.1.20 printer\n"
         "lan.domain Home.Test\n")
ZONE_SOA = rr("example.", 300, "SOA", SOA)


def records() -> Zone:
    return Zone(FOUR, rr("six.example.", 300, "AAAA", "2001:db8:5::1"), soa=ZONE_SOA)


def plain(start: Start, more: str = "") -> Resolver:
    return Resolver(start, records(), DNS + more, app="nat")


def named(start: Start, service: str, name: bytes = b"Laptop") -> tuple[Resolver, str]:
    """A gateway with a host that has a lease under this name, and the host's address."""
    config = DNS if service == "dns" else DNS.replace("serve dns\n", "serve dns64\n")
    resolver = Resolver(start, records(), config + NAMES, app="nat")
    return resolver, Client(resolver.gateway, options={HOST_NAME: name}).lease()


def test_nothing_is_synthesised(start: Start) -> None:
    """A name with IPv4 addresses only has no AAAA records, as upstream says; it is kept."""
    resolver = plain(start)
    answer = resolver.ask("four.example.", "AAAA")
    assert addresses(answer) == [] and answer.rcode() == dns.rcode.NOERROR and answer.authority
    assert resolver.ask("four.example.", "A").answer[0][0].address == "192.0.2.33"
    assert addresses(resolver.ask("six.example.", "AAAA")) == ["2001:db8:5::1"]
    assert resolver.zone.types_asked() == ["AAAA", "A", "AAAA"]
    for kind in ("A", "AAAA"):
        resolver.ask("four.example.", kind)
    assert len(resolver.zone.asked) == 3 and resolver.gateway.stats()["dns_synthesised"] == 0


def test_the_name_of_the_prefix_is_asked_for(start: Start) -> None:
    """RFC 7050: the provider's translator is found through us; only DNS64 answers ipv4only.arpa itself."""
    resolver = plain(start)
    resolver.zone.sets.update(Zone(rr("ipv4only.arpa.", 300, "AAAA", "64:ff9b::c000:aa")).sets)
    assert addresses(resolver.ask("ipv4only.arpa.", "AAAA")) == ["64:ff9b::c000:aa"]


def test_a_dead_server_is_servfail(start: Start) -> None:
    resolver = plain(start)
    resolver.net.delivers = False
    assert resolver.ask("four.example.", "A", wait=60).rcode() == dns.rcode.SERVFAIL


def test_advertisements_have_no_prefix(start: Start) -> None:
    """Hosts learn the server (RFC 8106) and no NAT64 prefix (RFC 8781)."""
    gateway = start(DNS.replace("lan.ra off\n", ""), "nat")
    frames = [one.frame for one in gateway.wait(30) if one.port == LAN and ICMPv6ND_RA in one.frame]
    assert frames and all(ICMPv6NDOptRDNSS in one and ICMPv6NDOptPREF64 not in one for one in frames)


@pytest.mark.parametrize("app, more", [("nat", "serve dns64\n"), ("dns64", "")])
def test_dns64_covers_dns(start: Start, app: str, more: str) -> None:
    """With both there is one server, which synthesises, and it is counted once."""
    resolver = Resolver(start, records(), DNS + more, app=app)
    assert resolver.addresses("four.example.") == [inside("192.0.2.33")]
    assert resolver.gateway.stats()["dns_queries"] == 1
    assert len(resolver.net.got) == 1


@pytest.mark.parametrize("service", ["dns", "dns64"])
def test_names_of_leases(start: Start, service: str) -> None:
    """RFC 1035 section 3.5: forward and reverse; letters in any case; nobody outside is asked."""
    resolver, address = named(start, service)
    for name in ("laptop.home.test.", "LAPTOP.hOmE.test."):
        answer = resolver.ask(name, "A")
        assert [one.address for one in answer.answer[0]] == [address] and answer.flags & dns.flags.AA
        assert 0 < answer.answer[0].ttl <= 60
    back = ".".join(reversed(address.split("."))) + ".in-addr.arpa."
    assert [one.to_text() for one in resolver.ask(back, "PTR").answer[0]] == ["laptop.Home.Test."]
    for name, kind in (("laptop.home.test.", "AAAA"), ("laptop.home.test.", "MX"), (back, "TXT")):
        answer = resolver.ask(name, kind)
        assert not answer.answer and answer.rcode() == dns.rcode.NOERROR
    assert resolver.zone.asked == []


@pytest.mark.parametrize("name", ["desktop.home.test.", "home.test.", "laptop.test.", "laptop.", "a.laptop.home.test.",
                                  "aptop.home.test.", "lap.home.test.", "laptop.home.test.example.",
                                  "300.1.168.192.in-addr.arpa.",
                                  "100.1.168.192.example.", "1.168.192.in-addr.arpa.",
                                  "5.100.1.168.192.in-addr.arpa."])
def test_other_names_are_asked_for(start: Start, name: str) -> None:
    resolver, _ = named(start, "dns")
    for kind in ("A", "PTR"):
        assert resolver.ask(name, kind).rcode() == dns.rcode.NXDOMAIN
    assert len(resolver.zone.asked) == 2


@pytest.mark.parametrize("form", ["{}.01.168.192.in-addr.arpa.", "{}.1.168.192.in-addx.arpa.",
                                  "0{}.1.168.192.in-addr.arpa.", "{}.1.168.192.in-addr.arpa.example."])
def test_names_near_a_reverse_name(start: Start, form: str) -> None:
    """RFC 1035 section 3.5: numbers without leading zeros, and this very domain."""
    resolver, address = named(start, "dns")
    assert resolver.ask(form.format(address.split(".")[3]), "PTR").rcode() == dns.rcode.NXDOMAIN


def test_a_name_ends_with_its_lease(start: Start) -> None:
    resolver, address = named(start, "dns")
    assert resolver.ask("laptop.home.test.", "A").answer[0].ttl == 60
    resolver.wait(43200 - 30)
    assert 0 < resolver.ask("laptop.home.test.", "A").answer[0].ttl < 60
    resolver.wait(60)
    assert resolver.ask("laptop.home.test.", "A").rcode() == dns.rcode.NXDOMAIN
    back = ".".join(reversed(address.split("."))) + ".in-addr.arpa."
    assert resolver.ask(back, "PTR").rcode() == dns.rcode.NXDOMAIN


def test_a_static_name(start: Start) -> None:
    """It is known as long as its host has the lease."""
    resolver, _ = named(start, "dns")
    assert resolver.ask("printer.home.test.", "A").rcode() == dns.rcode.NXDOMAIN
    assert Client(resolver.gateway, "02:00:00:00:00:09").lease() == "192.168.1.20"
    assert resolver.ask("printer.home.test.", "A").answer[0][0].address == "192.168.1.20"


def test_without_a_domain_there_are_no_names(start: Start) -> None:
    resolver = Resolver(start, records(), DNS + NAMES.replace("lan.domain Home.Test\n", ""), app="nat")
    address = Client(resolver.gateway, options={HOST_NAME: b"laptop"}).lease()
    back = ".".join(reversed(address.split("."))) + ".in-addr.arpa."
    assert resolver.ask(back, "PTR").rcode() == dns.rcode.NXDOMAIN
    assert resolver.ask("laptop.", "A").rcode() == dns.rcode.NXDOMAIN


def test_a_name_outside_keeps_its_synthesis(start: Start) -> None:
    """Beside dns64 the hosts' names change nothing for others."""
    resolver, _ = named(start, "dns64")
    assert resolver.addresses("four.example.") == [inside("192.0.2.33")]
