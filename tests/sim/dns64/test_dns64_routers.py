# SPDX-License-Identifier: BSD-2-Clause
"""`nameserver default` with `wan.address auto`: the servers that routers of the WAN name (RFC 8106)."""

from __future__ import annotations

import dns.rcode
import pytest
from net6 import Host6, advertise, send
from resolver import ADDRESSES, FOUR, NEIGHBOURS, PREFIX, UPSTREAM, UPSTREAM6, Resolver, Start, Zone, silent
from scapy.layers.inet6 import ICMPv6NDOptRDNSS
from uplink import AUTO, LOCAL, R1, hear, prefix

pytestmark = pytest.mark.virtual

CONFIG = (ADDRESSES + NEIGHBOURS + "lan.address 2001:db8:1::1/64\nwan.address auto\nlan.ra off\ndns64.cache 0\n"
          f"dns64-prefix {PREFIX}/96\nnameserver default\n")
SERVER_B = "2001:db8:f::54"


def begin(start: Start, zone: Zone, more: str = "") -> Resolver:
    resolver = Resolver(start, zone, CONFIG + more)
    resolver.wait(5)
    return resolver


def names(resolver: Resolver, *servers: str, lifetime: int = 600, router: Host6 = R1) -> None:
    """A router names servers; then our address is in use."""
    hear(resolver.gateway, prefix(), ICMPv6NDOptRDNSS(dns=list(servers), lifetime=lifetime), router=router)
    resolver.wait(3)


def upstream_states(resolver: Resolver) -> dict[str, str]:
    return {line.split()[1]: line.split()[2] for line in resolver.gateway.lines("sessions")
            if line.startswith("nameserver")}


def test_a_named_server_is_asked(start: Start) -> None:
    zone = Zone(FOUR)
    resolver = begin(start, zone)
    assert upstream_states(resolver) == {} and resolver.gateway.stats()["dns_upstream_up"] == 0
    assert resolver.ask("four.example.", "A", wait=10).rcode() == dns.rcode.SERVFAIL
    assert zone.asked == []
    names(resolver, UPSTREAM6)
    assert resolver.gateway.stats()["dns_upstream_up"] == 1
    resolver.send(resolver.query("four.example.", "A"))
    resolver.wait(1)
    assert resolver.net.got[-1].message.answer
    assert {(one.server, one.source) for one in resolver.net.asked} == {(UPSTREAM6, AUTO)}
    assert upstream_states(resolver) == {UPSTREAM6: "up"}


def test_a_server_that_is_no_longer_named(start: Start) -> None:
    zone = Zone(FOUR)
    resolver = begin(start, zone)
    resolver.servers(six=zone)
    resolver.net.servers[SERVER_B] = zone
    names(resolver, UPSTREAM6, SERVER_B)
    assert set(upstream_states(resolver)) == {UPSTREAM6, SERVER_B}
    names(resolver, UPSTREAM6, lifetime=0)
    assert set(upstream_states(resolver)) == {SERVER_B}
    for n in range(12):
        send(resolver.gateway, R1, advertise(R1, LOCAL, r=1))
        resolver.ask(f"name{n}.example.", "A", wait=1)
    assert {one.server for one in resolver.net.asked} == {SERVER_B}
    resolver.gateway.leap(700, 700)
    assert upstream_states(resolver) == {} and resolver.gateway.stats()["dns_upstream_up"] == 0
    log = "\n".join(resolver.gateway.lines("log"))
    assert f"nameserver {SERVER_B} is named by a router" in log
    assert f"nameserver {SERVER_B} is no longer named by a router" in log


def test_beside_a_configured_server(start: Start) -> None:
    """Both are used; where the named one goes the other stays, and an empty place is never asked."""
    zone = Zone(FOUR)
    resolver = begin(start, zone, f"nameserver {UPSTREAM}\n")
    names(resolver, UPSTREAM6)
    for n in range(24):
        send(resolver.gateway, R1, advertise(R1, LOCAL, r=1))
        resolver.ask(f"name{n}.example.", "A", wait=1)
    assert {one.server for one in resolver.net.asked} == {UPSTREAM, UPSTREAM6}
    names(resolver, UPSTREAM6, lifetime=0)
    zone.instead = silent()
    before = len(resolver.net.asked)
    resolver.ask("other.example.", "A", wait=10)
    assert {one.server for one in resolver.net.asked[before:]} == {UPSTREAM}
    assert len(resolver.net.asked) - before == 3


def test_our_own_address_is_no_server(start: Start) -> None:
    resolver = begin(start, Zone(FOUR))
    names(resolver, "2001:db8:1::1")
    assert upstream_states(resolver) == {}


def test_without_auto_the_word_gives_no_server(start: Start) -> None:
    resolver = Resolver(start, Zone(FOUR), CONFIG.replace("wan.address auto\n", "") + f"nameserver {UPSTREAM}\n")
    said = "nameserver default: wan.address is neither dhcp nor auto"
    assert any(said in line for line in resolver.gateway.lines("log"))


def test_a_fixed_address_and_no_server(start: Start) -> None:
    """`nameserver default` where nobody can name a server: the start says so, and names outside get SERVFAIL."""
    zone = Zone(FOUR)
    resolver = Resolver(start, zone, CONFIG.replace("wan.address auto\n", ""))
    said = "nameserver default: wan.address is neither dhcp nor auto; there is no server"
    assert any(said in line for line in resolver.gateway.lines("log"))
    assert resolver.ask("four.example.", "A", wait=10).rcode() == dns.rcode.SERVFAIL
    assert zone.asked == [] and upstream_states(resolver) == {}
