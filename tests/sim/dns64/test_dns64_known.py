# SPDX-License-Identifier: BSD-2-Clause
"""Ready answers to clients with IPv6 that were answered before: the fast path of a query, from frame to frame.

Each query here is repeated until its answer is ready and its client is known.
"""

from __future__ import annotations

import dns.rcode
import pytest
from gateway import LAN, PORT_MAC
from net6 import A6, B6, Host6
from resolver import FOUR, OUR6, Resolver, Start, Zone, addresses, check, datagram, inside, rr, ttls, wire
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

pytestmark = pytest.mark.virtual


def warm(resolver: Resolver, name: str, *clients: Host6) -> None:
    for client in (A6, *clients):
        for _ in range(4):
            resolver.ask(name, client=client)


def test_every_length_and_number(start: Start) -> None:
    """Records begin at any offset, odd ones too; TTLs fall."""
    names = [f"{'abcdefghij'[:n]}.{'x' * n}.example." for n in range(1, 11)]
    zone = Zone(*[rr(one, 300, "A", *[f"192.0.2.{k}" for k in range(1, n % 5 + 2)]) for n, one in enumerate(names)])
    resolver = Resolver(start, zone)
    for name in names:
        warm(resolver, name, B6)
    asked = len(zone.asked)
    for age in range(0, 60, 10):
        for n, name in enumerate(names):
            for client in (A6, B6):
                for spelled in (name, name.upper(), name.title()):
                    for flags in ("RD", "RD AD", "", "RD CD"):
                        answer = resolver.ask(spelled, client=client, flags=flags)
                        assert sorted(addresses(answer)) == [inside(f"192.0.2.{k}") for k in range(1, n % 5 + 2)]
                        assert set(ttls(answer)) == {300 - age}
        resolver.wait(10)
    assert len([one for one in zone.asked[asked:] if one.flags & dns.flags.RD and not one.flags & dns.flags.CD]) == 0


def test_back_to_who_asked(start: Start) -> None:
    """Addresses, ports, MAC addresses and hop limit are right; the query's flow label is not copied."""
    resolver = Resolver(start, Zone(FOUR))
    warm(resolver, "four.example.", B6)
    for port, client in ((53, A6), (1, B6), (65535, A6), (40000, B6)):
        query = resolver.query("four.example.")
        packet = datagram(client.ip, OUR6, port, 53, wire(query))
        packet.fl, packet.tc, packet.hlim = 0x12345, 0xb8, 255
        frame = Ether(src=client.mac, dst=PORT_MAC[LAN], type=0x86dd) / packet / Raw(b"")
        (sent,) = resolver.gateway.send(LAN, bytes(frame) + bytes(20))
        got = sent.frame
        assert (got.src, got.dst, sent.port) == (PORT_MAC[LAN], client.mac, LAN)
        assert (got[IPv6].src, got[IPv6].dst, got[IPv6].hlim) == (OUR6, client.ip, 64)
        assert (got[IPv6].fl, got[IPv6].tc) == (0, 0)
        assert (got[UDP].sport, got[UDP].dport) == (53, port)
        assert addresses(check(query, bytes(got[UDP].payload))) == [inside("192.0.2.33")]


def test_not_the_question(start: Start) -> None:
    """Queries that are nearly the same have answers of their own."""
    zone = Zone(FOUR, rr("fous.example.", 300, "A", "192.0.2.34"), rr("four.examplf.", 300, "A", "192.0.2.35"))
    resolver = Resolver(start, zone)
    warm(resolver, "four.example.")
    assert addresses(resolver.ask("fous.example.", client=A6)) == [inside("192.0.2.34")]
    assert addresses(resolver.ask("four.examplf.", client=A6)) == [inside("192.0.2.35")]
    assert not addresses(resolver.ask("four.example.", "A", client=A6))
    assert resolver.ask("four.example.", "MX", client=A6).rcode() == 0
    assert resolver.ask("{our.example.", client=A6).rcode() == dns.rcode.NXDOMAIN
    assert not resolver.ask("four.example.", client=A6, dnssec=True, flags="RD CD").answer


@pytest.mark.parametrize("what", ["checksum", "none", "length", "port", "behind", "opcode", "answer"])
def test_what_is_wrong(start: Start, what: str) -> None:
    resolver = Resolver(start, Zone(FOUR))
    warm(resolver, "four.example.")
    raw = bytearray(wire(resolver.query("four.example.")))
    packet = datagram(A6.ip, OUR6, 4000, 53, bytes(raw))
    packet = IPv6(bytes(packet))  # with its checksum
    if what == "checksum":
        packet[UDP].chksum ^= 1
    elif what == "none":
        packet[UDP].chksum = 0
    elif what == "length":
        packet[UDP].len += 1
    elif what == "port":
        packet = datagram(A6.ip, OUR6, 0, 53, bytes(raw))
    elif what == "behind":
        packet = datagram(A6.ip, OUR6, 4000, 53, bytes(raw) + b"\0")
    elif what == "opcode":
        raw[2] |= 0x10
        packet = datagram(A6.ip, OUR6, 4000, 53, bytes(raw))
    elif what == "answer":
        raw[2] |= 0x80
        packet = datagram(A6.ip, OUR6, 4000, 53, bytes(raw))
    before = sum(resolver.gateway.drops().values())
    frames = resolver.gateway.send(LAN, bytes(Ether(src=A6.mac, dst=PORT_MAC[LAN], type=0x86dd) / packet))
    rcode = {"behind": dns.rcode.FORMERR, "opcode": dns.rcode.NOTIMP}.get(what)
    if rcode is None:
        assert not frames
        assert sum(resolver.gateway.drops().values()) == before + 1
    else:
        assert bytes(frames[0].frame[UDP].payload)[3] & 15 == rcode
    assert addresses(resolver.ask("four.example.", client=A6)) == [inside("192.0.2.33")]


def test_who_may_not(start: Start) -> None:
    """Clients without synthesis get none, other clients are refused, and the rate is limited."""
    resolver = Resolver(start, Zone(FOUR), more=f"dns64.skip-client {B6.ip}/128\n")
    warm(resolver, "four.example.")
    for _ in range(4):
        assert not resolver.ask("four.example.", client=B6).answer
    resolver = Resolver(start, Zone(FOUR), more=f"dns64.client {A6.ip}/128\n")
    warm(resolver, "four.example.")
    for _ in range(4):
        assert resolver.ask("four.example.", client=B6).rcode() == dns.rcode.REFUSED
    resolver = Resolver(start, Zone(FOUR), more="dns64.rate 6\n")
    warm(resolver, "four.example.")
    resolver.wait(1)
    assert [resolver.raw(resolver.query("four.example."), client=A6) is not None for _ in range(8)] == [True] * 6 + [
        False
    ] * 2
    assert resolver.gateway.drops()["dns-rate"] == 2


def test_an_address_that_is_ours_no_more(start: Start) -> None:
    """After a change of our addresses no client is known."""
    resolver = Resolver(start, Zone(FOUR))
    warm(resolver, "four.example.")
    resolver.gateway.link(LAN, False)
    resolver.gateway.link(LAN, True)
    before = resolver.gateway.drops().get("tentative", 0)
    assert resolver.raw(resolver.query("four.example."), client=A6) is None
    assert resolver.gateway.drops()["tentative"] == before + 1
    for _ in range(5):
        resolver.gateway.wait(1)
    assert addresses(resolver.ask("four.example.", client=A6)) == [inside("192.0.2.33")]
