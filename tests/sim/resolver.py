# SPDX-License-Identifier: BSD-2-Clause
"""A DNS64 gateway between clients on the LAN and upstream servers behind the router, in virtual time.

    clients A .10 / ::10, B .11 / ::11 -- gateway .1 / ::1 -- router -- UPSTREAM, UPSTREAM2, UPSTREAM6

A `Zone` holds what the upstream servers know; dnspython writes and reads all messages.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address
from itertools import count
from typing import Any

import dns.edns
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdatatype
import dns.rrset
import dns.tsigkeyring
from gateway import (
    ADDRESSES,
    LAN,
    NEIGHBOURS,
    PORT_MAC,
    ROUTER,
    WAN,
    A,
    B,
    Gateway,
    Host,
    Sent,
)
from net6 import A6, ADDRESSES6, B6, NEIGHBOURS6, ROUTER6, Host6
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from stream import Stream, framed

UPSTREAM, UPSTREAM2, UPSTREAM6 = "198.51.100.53", "198.51.100.54", "2001:db8:f::53"
OUR4, OUR6 = "192.168.1.1", "2001:db8:1::1"
PREFIX = "2001:db8:64::"
# Addresses for documentation are not global, so the well-known prefix is not possible.
BASIC = (
    ADDRESSES + NEIGHBOURS + ADDRESSES6 + NEIGHBOURS6 + "lan.ra off\ndns64.cache 2000\n" + f"dns64-prefix {PREFIX}/96\n"
)
DNS64 = BASIC + f"nameserver {UPSTREAM}\n"

KEYRING = dns.tsigkeyring.from_text({"key.": "c2VjcmV0"})  # of clients that sign their queries, and of the servers

Message = dns.message.Message
Answer = Message | bytes | None
Client = Host | Host6
Start = Callable[..., Gateway]


def rr(owner: str, ttl: int, kind: str, *data: str) -> dns.rrset.RRset:
    return dns.rrset.from_text(dns.name.from_text(owner), ttl, "IN", kind, *data)


FOUR = rr("four.example.", 300, "A", "192.0.2.33")
SOA = "ns.example. root.example. 1 7200 3600 1209600 300"


class Zone:
    """What upstream knows: record sets by owner and type. A known name without the type gets NODATA with the SOA
    record, an unknown name NXDOMAIN. Every query is recorded."""

    def __init__(self, *sets: dns.rrset.RRset, soa: dns.rrset.RRset | None = None, origin: str = "example.") -> None:
        self.sets: dict[tuple[dns.name.Name, int], dns.rrset.RRset] = {}
        for one in sets:
            self.sets[one.name, one.rdtype] = one
        self.origin = dns.name.from_text(origin)
        self.soa: dns.rrset.RRset | None = soa or rr(origin, 3600, "SOA", SOA)
        self.asked: list[Message] = []
        # Hooks: each takes the query and gives what to do instead.
        self.instead: Callable[[Message], Answer | list[Answer] | None] | None = None

    def knows(self, name: dns.name.Name) -> bool:
        return any(owner == name or owner.is_subdomain(name) for owner, _ in self.sets)

    def lookup(self, query: Message) -> Message:
        """The right answer of a recursive server."""
        answer = dns.message.make_response(query, recursion_available=True, our_payload=1232)
        question = query.question[0]
        name = question.name
        for _ in range(16):
            alias = self.sets.get((name, dns.rdatatype.CNAME))
            if alias is None or question.rdtype == dns.rdatatype.CNAME:
                break
            answer.answer.append(alias)
            name = alias[0].target
        found = self.sets.get((name, question.rdtype))
        if found is not None:
            answer.answer.append(found)
        elif self.soa is not None:
            answer.authority.append(self.soa)
        if found is None and not self.knows(name):
            answer.set_rcode(dns.rcode.NXDOMAIN)
        return answer

    def __call__(self, query: Message) -> list[Answer]:
        self.asked.append(query)
        if self.instead is not None:
            other = self.instead(query)
            if isinstance(other, list):
                return other
            if other is not None:
                return [other]
        return [self.lookup(query)]

    def types_asked(self) -> list[str]:
        return [dns.rdatatype.to_text(query.question[0].rdtype) for query in self.asked]


def silent(*kinds: str) -> Callable[[Message], Answer | list[Answer] | None]:
    """Gives no answer to queries of these types (none named: of any type)."""
    def instead(query: Message) -> list[Answer] | None:
        return [] if not kinds or dns.rdatatype.to_text(query.question[0].rdtype) in kinds else None
    return instead


def fails(code: int, *kinds: str) -> Callable[[Message], Answer | list[Answer] | None]:
    """Answers queries of these types with a response code."""
    def instead(query: Message) -> Answer:
        if kinds and dns.rdatatype.to_text(query.question[0].rdtype) not in kinds:
            return None
        answer = dns.message.make_response(query, recursion_available=True)
        answer.set_rcode(code)
        return answer
    return instead


@dataclass
class Asked:
    """A query that reached an upstream server."""

    server: str
    source: str
    port: int
    message: Message
    raw: bytes
    at: float
    tcp: bool = False


@dataclass
class Got:
    """An answer that reached a client."""

    client: str
    source: str
    port: int
    raw: bytes
    at: float

    @property
    def message(self) -> Message:
        return dns.message.from_wire(self.raw)


@dataclass
class Network:
    """Passes frames of the gateway to the servers and their answers back, at once."""

    gateway: Gateway
    servers: dict[str, Callable[[Message], Iterable[Answer]]]
    asked: list[Asked] = field(default_factory=list)
    got: list[Got] = field(default_factory=list)
    other: list[Sent] = field(default_factory=list)
    delivers: bool = True
    streams: list[Stream] = field(default_factory=list)
    listens: bool = True  # whether the servers accept TCP connections
    deaf: set[str] = field(default_factory=set)  # servers that accept none

    def deliver(self, frames: Sequence[Sent]) -> None:
        """Delivers frames in the order in which they left. The exchange that follows at once must end."""
        waiting = deque(frames)
        for n in count():
            if not waiting:
                break
            assert n < 20000, "the gateway asks without end"
            sent = waiting.popleft()
            for frame in self.take(sent):
                waiting.extend(self.gateway.send(sent.port, frame))

    def take(self, sent: Sent) -> list[bytes]:
        """Records a frame; gives the answers of the server that it went to."""
        packet = sent.frame
        ip = packet[IP] if IP in packet else packet[IPv6] if IPv6 in packet else None
        if ip is not None and TCP in ip:
            return self.stream(sent, ip)
        if ip is None or UDP not in ip:
            self.other.append(sent)
            return []
        udp, raw = ip[UDP], bytes(ip[UDP].payload)
        if sent.port == WAN and udp.dport == 53 and ip.dst in self.servers:
            query = dns.message.from_wire(raw, keyring=KEYRING)
            self.asked.append(Asked(ip.dst, ip.src, udp.sport, query, raw, sent.at))
            answers = list(self.servers[ip.dst](query))
            return [upstream(ip.dst, ip.src, udp.sport, one) for one in answers if one is not None and self.delivers]
        self.got.append(Got(ip.dst, ip.src, udp.dport, raw, sent.at))
        return []


    def stream(self, sent: Sent, ip: Packet) -> list[bytes]:
        """Passes a TCP segment to one of our ends, or to a server, which then opens one."""
        tcp = ip[TCP]
        for one in self.streams:
            if (one.local, one.sport, one.dport) == (ip.dst, tcp.dport, tcp.sport) and not one.reset:
                return one.take(tcp)
        new = Stream(WAN, ROUTER.mac, ip.dst, ip.src, tcp.dport, tcp.sport)
        self.other.append(sent)
        if sent.port != WAN or tcp.dport != 53 or ip.dst not in self.servers or tcp.flags != "S":
            return []
        if not self.listens or ip.dst in self.deaf:
            new.seq, new.ack = 0, (int(tcp.seq) + 1) % 2**32
            return [new.segment("RA")]
        new.hears = self.hear
        self.streams.append(new)
        return new.take(tcp)

    def hear(self, stream: Stream) -> list[bytes]:
        """Passes queries that came on TCP to a server; gives its frames."""
        frames = []
        for raw in stream.messages():
            query = dns.message.from_wire(raw, keyring=KEYRING)
            query.tcp = True
            self.asked.append(Asked(stream.local, stream.remote, stream.dport, query, raw, 0, True))
            for answer in self.servers[stream.local](query):
                if answer is not None:
                    frames += stream.give(framed(wire(answer)))
        return frames


def over_tcp(query: Message) -> bool:
    return getattr(query, "tcp", False)


def wire(message: Message | bytes) -> bytes:
    return message if isinstance(message, bytes) else message.to_wire(max_size=65535)


def datagram(source: str, target: str, sport: int, dport: int, data: bytes) -> IP | IPv6:
    layer = IP if ip_address(source).version == 4 else IPv6
    return layer(src=source, dst=target) / UDP(sport=sport, dport=dport) / Raw(data)


def upstream(server: str, target: str, port: int, message: Message | bytes, *, sport: int = 53) -> bytes:
    """A frame with an answer, from the router."""
    packet = datagram(server, target, sport, port, wire(message))
    kind = 0x800 if IP in packet else 0x86dd
    return bytes(Ether(src=ROUTER.mac, dst=PORT_MAC[WAN], type=kind) / packet)


class Resolver:
    """The gateway, its upstream servers, and clients that ask it."""

    def __init__(self, start: Callable[..., Gateway], zone: Callable[[Message], Iterable[Answer]], config: str = DNS64,
                 more: str = "", app: str = "dns64", **options: Any) -> None:
        self.gateway = start(config + more, app, **options)
        # IPv6 addresses must have passed duplicate address detection.
        for _ in range(5):
            self.gateway.wait(1)
        self.zone = zone
        self.net = Network(self.gateway, {UPSTREAM: zone, UPSTREAM2: zone, UPSTREAM6: zone})
        self.ids = 0

    def servers(self, **by: Callable[[Message], Iterable[Answer]]) -> None:
        """Sets other zones for the servers `one`, `two` and `six`."""
        names = {"one": UPSTREAM, "two": UPSTREAM2, "six": UPSTREAM6}
        for name, zone in by.items():
            self.net.servers[names[name]] = zone

    def query(self, name: str, kind: str = "AAAA", *, flags: str = "RD", edns: int | None = None, payload: int = 1232,
              dnssec: bool = False, **options: Any) -> Message:
        """A client query; with OPT of version `edns`, if given."""
        self.ids += 1
        message = dns.message.make_query(name, kind, id=self.ids, rdclass=options.pop("rdclass", "IN"))
        if edns is not None or dnssec:
            message.use_edns(edns or 0, dns.flags.DO if dnssec else 0, payload, **options)
        message.flags = dns.flags.from_text(flags)
        return message

    def send(self, message: Message | bytes, *, client: Client = A, port: int = 4000, to: str | None = None,
             dport: int = 53, sport_of: str | None = None) -> None:
        """Sends a client query; delivers the frames that follow at once."""
        own = to or (OUR6 if isinstance(client, Host6) else OUR4)
        source = sport_of or client.ip
        packet = datagram(source, own, port, dport, wire(message))
        kind = 0x800 if IP in packet else 0x86dd
        frame = bytes(Ether(src=client.mac, dst=PORT_MAC[client.port], type=kind) / packet)
        self.net.deliver(self.gateway.send(client.port, frame))

    def wait(self, seconds: float) -> None:
        self.net.deliver(self.gateway.wait(seconds))

    def raw(self, message: Message | bytes, *, wait: float = 0, **how: Any) -> bytes | None:
        """The answer to a client query, as bytes of the wire; it must be the only one."""
        before = len(self.net.got)
        self.send(message, **how)
        if wait:
            self.wait(wait)
        got = self.net.got[before:]
        assert len(got) <= 1, got
        return got[0].raw if got else None

    def ask(self, name: str, kind: str = "AAAA", *, client: Client = A, wait: float = 0, **options: Any) -> Message:
        """Sends a client query and checks what holds for every answer; gives the answer."""
        query = self.query(name, kind, **options)
        raw = self.raw(query, client=client, wait=wait)
        assert raw is not None, "no answer"
        return check(query, raw)

    def addresses(self, name: str, **how: Any) -> list[str]:
        """The AAAA records of a name, as DNS64 answers them."""
        return addresses(self.ask(name, "AAAA", **how))


def check(query: Message, raw: bytes, stream: bool = False) -> Message:
    """Checks an answer to this query: the name's exact letters, and all that must come back (RFC 1035, RFC 6891)."""
    answer = dns.message.from_wire(raw)
    assert answer.id == query.id
    assert answer.flags & dns.flags.QR and answer.flags & dns.flags.RA
    assert answer.opcode() == query.opcode()
    assert raw[12:12 + len(query.question[0].name.to_wire()) + 4] == wire(query)[12:][:len(
        query.question[0].name.to_wire()) + 4], "the question comes back as it was"
    for flag in (dns.flags.RD, dns.flags.CD):
        assert answer.flags & flag == query.flags & flag
    assert (answer.edns >= 0) == (query.edns >= 0), "OPT for those who sent it"
    limit = 65535 if stream else max(query.payload, 512) if query.edns >= 0 else 512
    assert len(raw) <= limit, f"{len(raw)} bytes"
    if query.edns >= 0:
        assert answer.ednsflags & dns.flags.DO == query.ednsflags & dns.flags.DO
    return answer


def addresses(message: Message) -> list[str]:
    return [item.address for one in message.answer if one.rdtype == dns.rdatatype.AAAA for item in one]


def ttls(message: Message, kind: str = "AAAA") -> list[int]:
    return [one.ttl for one in message.answer if one.rdtype == dns.rdatatype.from_text(kind)]


def inside(ip4: str, prefix: str = PREFIX) -> str:
    """The IPv6 address of an IPv4 address under a /96."""
    return str(IPv6Address(int(IPv6Address(prefix)) | int(ip_address(ip4))))


__all__ = ["A6", "B6", "LAN", "ROUTER6", "WAN", "A", "B"]
