# SPDX-License-Identifier: BSD-2-Clause
"""What one host may take of DNS64, however many addresses it has: on our network a client is a MAC address, behind a
router it is an IPv4 address or an IPv6 prefix of 64 bits."""

from __future__ import annotations

import pytest
from dnsstream import Slow, Start, answers, opened, say, station, zone
from gateway import LAN, PORT_MAC, A, B, Gateway, Host
from net6 import A6, B6, Host6, send, solicit
from resolver import KEYRING, OUR4, OUR6, WAN, Client, Message, Resolver, datagram, inside, silent, wire
from scapy.layers.l2 import Ether

pytestmark = pytest.mark.virtual

FAR = ("route 2001:db8:7::/48 via 2001:db8:1::11\nroute 198.51.100.128/25 via 192.168.1.11\n"
       "dns64.client ::/0\ndns64.client 0.0.0.0/0\n")


def addresses_of(host: Host6, n: int) -> list[Host6]:
    """More addresses of a host of the LAN."""
    return [Host6(LAN, f"2001:db8:1::1:{i:x}", "fe80::a", host.mac) for i in range(n)]


def announce(gateway: Gateway, one: Host6) -> None:
    """The host resolves the gateway's MAC address, as every host does before its first packet."""
    send(gateway, one, solicit(one, OUR6))


def question(client: Client, query: Message, port: int = 4000) -> tuple[str, bytes]:
    own, kind = (OUR6, 0x86dd) if isinstance(client, Host6) else (OUR4, 0x800)
    packet = datagram(client.ip, own, port, 53, wire(query))
    return LAN, bytes(Ether(src=client.mac, dst=PORT_MAC[LAN], type=kind) / packet)


def dead(resolver: Resolver, senders: list[Client], n: int) -> None:
    """Queries for n names that no server answers, from the senders in turn."""
    resolver.gateway.send_many([
        question(senders[i % len(senders)], resolver.query(f"dead{i}.example.", "A"), 1024 + i) for i in range(n)])


def many(resolver: Resolver, known: bool) -> list[Client]:
    """The addresses of one host. They are known to have its MAC address, or they never answer."""
    all_of_them: list[Client] = [*addresses_of(A6, 150)]
    if known:
        for one in addresses_of(A6, 150):
            announce(resolver.gateway, one)
        all_of_them += [A, A6]
    return all_of_them


@pytest.mark.parametrize("known", [True, False])
def test_a_host_with_many_addresses_waits_as_one(start: Start, known: bool) -> None:
    upstream = zone()
    upstream.instead = silent()
    resolver = Resolver(start, upstream)
    dead(resolver, many(resolver, known), 2000)
    stats = resolver.gateway.stats()
    assert (stats["dns_waiting"], stats["dns_table_full"]) == (1536, 2000 - 1536)
    upstream.instead = None
    assert resolver.addresses("four.example.", client=B6) == [inside("192.0.2.33")]
    assert resolver.addresses("four.example.", client=B) == [inside("192.0.2.33")]


@pytest.mark.parametrize("known", [True, False])
def test_a_host_with_many_addresses_signs_as_one(start: Start, known: bool) -> None:
    upstream = zone()
    upstream.instead = silent()
    resolver = Resolver(start, upstream)

    def signed(client: Client, port: int) -> tuple[str, bytes]:
        query = resolver.query("four.example.", "A")
        query.use_tsig(KEYRING, keyname="key.")
        return question(client, query, port)

    senders = many(resolver, known)
    sent = resolver.gateway.send_many([signed(senders[i % len(senders)], 1024 + i) for i in range(100)])
    assert sum(one.port == WAN for some in sent for one in some) == 32
    assert [one.port for one in resolver.gateway.send(*signed(B6, 1024))] == [WAN]


def test_a_host_with_many_addresses_holds_answers_as_one(start: Start) -> None:
    """The host reads neither over IPv4 nor over IPv6; another host that reads slowly gets all its answers."""
    slow = Slow(start, 64, 8)
    resolver = slow.resolver
    streams = [opened(resolver, 4000 + i, client) for client in (A, A6) for i in range(6)]
    other = opened(resolver, 4000, B6)
    for stream in (*streams, other):
        stream.quiet = True
        say(resolver, stream, *(resolver.query(f"t{k}.example.", "TXT") for k in range(64)))
    slow.answer()
    assert 256 <= resolver.gateway.stats()["dns_waiting"] <= 256 + 64
    other.quiet = False
    for _ in range(20):
        resolver.wait(0.5)
    assert sum(one.rcode() == 0 for one in answers(other).values()) == 64


# --- dns64.rate ------------------------------------------------------------------------------------------------------


def answered(resolver: Resolver, senders: list[Client], n: int, name: str = "four.example.") -> int:
    before = len(resolver.net.got)
    for i in range(n):
        resolver.send(resolver.query(name), client=senders[i % len(senders)], port=5000 + i)
    return len(resolver.net.got) - before


def test_the_rate_of_a_host(start: Start) -> None:
    """With both families, all its addresses, link-local ones, and TCP; other hosts of the network are not affected."""
    resolver = Resolver(start, zone(), more="dns64.rate 60\n")
    more = addresses_of(A6, 6)
    for one in more:
        announce(resolver.gateway, one)
    assert answered(resolver, [A, A6, *more], 40) == 40
    stream = opened(resolver, 4000, A6)
    say(resolver, stream, *(resolver.query("four.example.") for _ in range(10)))
    assert len(answers(stream)) == 10
    assert answered(resolver, [*more, A6, A], 40) == 10
    assert answered(resolver, [B6, B], 30) == 30
    assert answered(resolver, [*more, A6, A], 40) == 0
    resolver.wait(0.5)
    assert answered(resolver, [*more, A6, A], 80) == 30


def test_the_rate_of_hosts_that_are_not_known(start: Start) -> None:
    """Hosts that do not answer for their addresses are one client together; hosts that answer are not affected."""
    resolver = Resolver(start, zone(), more="dns64.rate 20\n")
    silent_ones: list[Client] = [*addresses_of(A6, 30)]
    silent4: list[Client] = [Host(LAN, f"192.168.1.{100 + i}", A.mac) for i in range(30)]
    answered(resolver, silent_ones + silent4, 60)
    assert resolver.gateway.drops() == {"dns-rate": 40}
    assert answered(resolver, [B6], 20) == 20
    new = Host6(LAN, "2001:db8:1::2:1", "fe80::c", "52:54:00:00:01:0c")
    announce(resolver.gateway, new)
    assert answered(resolver, [new], 30) == 20
    assert answered(resolver, [station(resolver, 1)], 30) == 20


def test_the_rate_beyond_the_link(start: Start) -> None:
    """Behind a router of the LAN a client is a prefix of 64 bits, or an IPv4 address."""
    resolver = Resolver(start, zone(), more=FAR + "dns64.rate 20\n")

    def far6(net: int, n: int) -> list[Client]:
        return [Host6(LAN, f"2001:db8:7:{net:x}::{1 + i:x}", "fe80::b", B.mac) for i in range(n)]

    def far4(last: int) -> list[Client]:
        return [Host(LAN, f"198.51.100.{last}", B.mac)]

    for name in ("four.example.", "n1.example."):
        assert answered(resolver, far6(1, 9), 50, name) == 20
        assert answered(resolver, far6(2, 9), 50, name) == 20
        assert answered(resolver, far4(200), 50, name) == 20
        assert answered(resolver, far4(201), 50, name) == 20
        assert answered(resolver, [B6, B], 50, name) == 20
        resolver.wait(1)


# --- places on an upstream connection --------------------------------------------------------------------------------


def test_a_host_does_not_take_all_places_of_a_connection(start: Start) -> None:
    """Of the 256 messages on an upstream connection one client has as many as places are free. The fetches of another
    client are sent as well, and so is a fetch that it shares with the first one."""
    slow = Slow(start, 320, 6)
    resolver = slow.resolver
    for i in range(5):
        stream = opened(resolver, 4000 + i, (A, A6)[i % 2])
        say(resolver, stream, *(resolver.query(f"t{60 * i + k}.example.", "TXT") for k in range(60)))
    assert len(slow.open) == 128
    other = opened(resolver, 4000, B6)
    say(resolver, other, *(resolver.query(f"t{k}.example.", "TXT") for k in range(290, 320)))
    # It does not matter which client queries the name last.
    say(resolver, opened(resolver, 4100, A), *(resolver.query(f"t{k}.example.", "TXT") for k in range(290, 300)))
    resolver.wait(0.1)
    assert len(slow.open) == 128 + 30
    late = {str(query.question[0].name).lower() for query in slow.open[128:]}
    assert late == {f"t{k}.example." for k in range(290, 320)}
    assert resolver.gateway.stats()["dns_waiting"] == 340
    slow.answer()
    for _ in range(20):
        resolver.wait(0.1)
    assert len(answers(other)) == 30
    stats = resolver.gateway.stats()
    assert (stats["dns_waiting"], stats["dns_servfail"]) == (0, 0)


def test_places_of_a_connection_come_back(start: Start) -> None:
    """Fetches end without an answer, one by one or with their connection."""
    slow = Slow(start, 200, 6)
    resolver = slow.resolver
    for turn in range(4):
        stream = opened(resolver, 4000 + turn, A6)
        slow.open.clear()
        for begin in (0, 50, 100):
            say(resolver, stream, *(resolver.query(f"t{begin + k}.example.", "TXT") for k in range(50)))
            stream = opened(resolver, 5000 + 10 * turn + begin, A6)
        assert len(slow.open) == 128
        if turn == 1:
            server = next(one for one in resolver.net.streams if one.sport == 53 and not one.reset and not one.ended)
            server.reset = True
            resolver.net.deliver(resolver.gateway.send(WAN, server.segment("RA")))
        for _ in range(60):
            resolver.wait(1)
        assert resolver.gateway.stats()["dns_waiting"] == 0
