# SPDX-License-Identifier: BSD-2-Clause
"""DNS64 clients on three inside networks, with a forwarder beside the server and without."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gateway import INSIDE, INSIDE2, INSIDE3, LAN2, LAN3, MORE, NEAR, OUTSIDE, WAN, A, C, D, Gateway, Host
from net6 import A6, Host6
from resolver import DNS64, FOUR, OUR6, Resolver, Zone, inside
from scapy.layers.inet import IP, TCP, UDP

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
C6 = Host6(LAN2, "2001:db8:3::10", "fe80::c", C.mac)
D6 = Host6(LAN3, "2001:db8:4::10", "fe80::d", D.mac)
OWN = {A: INSIDE, C: INSIDE2, D: INSIDE3, A6: OUR6, C6: "2001:db8:3::1", D6: "2001:db8:4::1"}
MORE6 = MORE + "".join(f"{host.port}.address {OWN[host]}/64\n{host.port}.ra off\nneighbour {host.ip} {host.mac}\n"
                       for host in (C6, D6))
ANSWER = [inside("192.0.2.33")]
CLIENTS: list[Host | Host6] = [A, C, D, A6, C6, D6]


def answers(resolver: Resolver, client: Host | Host6, to: str) -> list[str] | None:
    """The addresses that the client gets, or None without an answer; the answer comes from `to`."""
    query = resolver.query("four.example.")
    before = len(resolver.net.got)
    resolver.send(query, client=client, to=to)
    got = resolver.net.got[before:]
    if not got:
        return None
    assert [(one.client, one.source) for one in got] == [(client.ip, to)]
    return [item.address for one in got[0].message.answer for item in one]


@pytest.fixture(params=["dns64", "nat", "6to4"])
def resolver(request: pytest.FixtureRequest, start: Start) -> Resolver:
    more = MORE6 if request.param == "dns64" else MORE + "serve dns64\nnat.sessions 256\n"
    config = DNS64 if request.param == "dns64" else "\n".join(
        line for line in DNS64.splitlines() if "2001:db8:1:" not in line and "2001:db8:2:" not in line) + "\n"
    return Resolver(start, Zone(FOUR), config, more, app=request.param)


def test_clients_of_each_network(resolver: Resolver) -> None:
    """Each gets the answer from the address that it asked, from upstream and from the cache, on its own network."""
    clients = CLIENTS if resolver.gateway.app == "dns64" else CLIENTS[:3]
    for _ in range(3):
        for client in clients:
            assert answers(resolver, client, OWN[client]) == ANSWER
    assert resolver.gateway.drops() == {}
    assert len(resolver.zone.asked) <= 2


def test_at_the_address_of_another_network(resolver: Resolver) -> None:
    """A host of lan2 may ask the gateway's address on lan3."""
    assert answers(resolver, C, INSIDE3) == ANSWER
    assert answers(resolver, A, INSIDE2) == ANSWER


def test_forged_clients(resolver: Resolver) -> None:
    """A query with the address of a client on another network gets no answer, and nothing is asked upstream."""
    for address, own in ((D.ip, INSIDE2), (A.ip, INSIDE2), (INSIDE3, INSIDE2), (INSIDE2, INSIDE2)):
        forged = Host(LAN2, address, C.mac)
        assert answers(resolver, forged, own) is None
    assert resolver.zone.asked == []
    assert resolver.gateway.stats()["dns_queries"] == 0


def test_outside_is_not_served_beside_a_forwarder(resolver: Resolver) -> None:
    """Beside a forwarder only inside networks are served; `app dns64` serves the WAN's network too."""
    got = answers(resolver, NEAR, OUTSIDE)
    assert got == (ANSWER if resolver.gateway.app == "dns64" else None)
    if resolver.gateway.app != "dns64":
        assert resolver.zone.asked == []
        syn = IP(src=NEAR.ip, dst=OUTSIDE) / TCP(sport=7, dport=53, flags="S")
        assert not [one for one in resolver.gateway.ip_from(NEAR, syn) if TCP in one.frame and one.ip[TCP].flags == "SA"]


def test_the_forwarder_goes_on(resolver: Resolver) -> None:
    """Packets of the same hosts pass the NAT beside the server, DNS to other servers too."""
    if resolver.gateway.app == "dns64":
        return
    for host in (A, C, D):
        sent = resolver.gateway.ip_from(host, IP(src=host.ip, dst="198.51.100.99") / UDP(sport=4000, dport=53))
        assert [(one.port, one.ip.src) for one in sent] == [(WAN, OUTSIDE)]
        reply = IP(src="198.51.100.99", dst=OUTSIDE) / UDP(sport=53, dport=sent[0].ip[UDP].sport)
        assert [one.port for one in resolver.gateway.wan(reply)] == [host.port]


