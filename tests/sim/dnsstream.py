# SPDX-License-Identifier: BSD-2-Clause
"""What tests of DNS over TCP share: clients' streams, and upstream servers with long answers."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address

import dns.flags
import dns.message
import dns.rdatatype
from gateway import BROADCAST, LAN, A, Gateway, Host
from net6 import Host6
from resolver import OUR4, OUR6, WAN, Message, Resolver, Zone, over_tcp, rr, wire
from scapy.layers.l2 import ARP, Ether
from stream import Stream, framed

Start = Callable[..., Gateway]
NAMES = [f"n{i}.example." for i in range(200)]


def zone() -> Zone:
    return Zone(*(rr(name, 300, "A", str(IPv4Address("192.0.2.0") + i)) for i, name in enumerate(NAMES)),
                rr("four.example.", 300, "A", "192.0.2.33"), rr("six.example.", 300, "AAAA", "2001:db8::6"))


def opened(resolver: Resolver, sport: int = 4000, client: Host | Host6 = A, to: str | None = None,
           **how: int) -> Stream:
    """A client's connection, open; to our usual address or to another."""
    own = to or (OUR6 if isinstance(client, Host6) else OUR4)
    stream = Stream(LAN, client.mac, client.ip, own, sport, 53, **how)
    resolver.net.streams.append(stream)
    put(resolver, stream.segment("S"))
    assert stream.ack is not None, "no SYN-ACK"
    return stream


def station(resolver: Resolver, n: int) -> Host:
    """One more host of the LAN. It resolves the gateway's MAC address by ARP, as every host does before its first
    packet."""
    host = Host(LAN, f"192.168.1.{20 + n}", f"52:54:00:00:03:{n:02x}")
    put(resolver, bytes(Ether(src=host.mac, dst=BROADCAST) / ARP(hwsrc=host.mac, psrc=host.ip, pdst=OUR4)))
    return host


def put(resolver: Resolver, *frames: bytes) -> None:
    for frame in frames:
        resolver.net.deliver(resolver.gateway.send(LAN, frame))


def say(resolver: Resolver, stream: Stream, *queries: Message | bytes, size: int = 1000) -> None:
    data = framed(*(wire(query) for query in queries))
    for at in range(0, len(data), size):
        put(resolver, stream.segment("PA", data[at:at + size]))


def answers(stream: Stream) -> dict[int, Message]:
    found = [dns.message.from_wire(raw) for raw in stream.messages()]
    by_id = {message.id: message for message in found}
    assert len(by_id) == len(found), "an answer came twice"
    return by_id


def large(records: int) -> Zone:
    """A zone with one name that has this many A records; over UDP the answer has TC."""
    upstream = zone()
    upstream.sets.update({(one.name, one.rdtype): one for one in [
        rr("large.example.", 300, "A", *(str(IPv4Address("198.18.0.0") + i) for i in range(records))),
        rr("text.example.", 300, "TXT", *(f"{i:03}" + "x" * 250 for i in range(min(records, 245))))]})

    def cut(query: Message) -> Message | None:
        if over_tcp(query):
            return None
        answer = upstream.lookup(query)
        if len(answer.to_wire(max_size=65535)) <= 1232:
            return None
        short = dns.message.make_response(query, recursion_available=True)
        short.flags |= dns.flags.TC
        return short

    upstream.instead = cut
    return upstream


class Slow:
    """Upstream knows names t0 ... with TXT records of some 260 bytes each. Over UDP it answers with TC. Over TCP it
    answers nothing until `answer` is called; after that it answers at once."""

    def __init__(self, start: Start, n: int, size: int, packets: int = 4096) -> None:
        upstream = zone()
        for i in range(n):
            one = rr(f"t{i}.example.", 300, "TXT", *(f"{i:03}{k:03}" + "x" * 244 for k in range(size)))
            upstream.sets[one.name, one.rdtype] = one
        self.open: list[Message] = []
        self.slow = True
        upstream.instead = self.instead
        self.zone = upstream
        self.resolver = Resolver(start, upstream, packets=packets)

    def instead(self, query: Message) -> Message | list[None] | None:
        if query.question[0].rdtype != dns.rdatatype.TXT:
            return None
        if over_tcp(query):
            self.open.append(query)
            return [] if self.slow else None
        short = dns.message.make_response(query, recursion_available=True)
        short.flags |= dns.flags.TC
        return short

    def answer(self) -> None:
        """Answers every query received until now."""
        server = next(one for one in self.resolver.net.streams if one.sport == 53 and not one.reset and not one.ended)
        raw = framed(*(wire(self.zone.lookup(query)) for query in self.open))
        self.slow = False
        sent = [one for frame in server.give(raw) for one in self.resolver.gateway.send(WAN, frame)]
        self.resolver.net.deliver(sent)
