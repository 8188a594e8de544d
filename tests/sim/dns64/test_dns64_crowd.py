# SPDX-License-Identifier: BSD-2-Clause
"""DNS over TCP while some clients take as much as they can: connections, half-closed ones, memory."""

from __future__ import annotations

import socket
import struct

import pytest
from dnsstream import NAMES, Start, answers, large, opened, put, say, zone
from gateway import LAN, PORT_MAC, A, B, Host
from net6 import A6, B6, Host6
from resolver import OUR4, OUR6, Resolver, addresses, inside
from stream import framed

pytestmark = pytest.mark.virtual

CROWD = [Host(LAN, f"192.168.1.{100 + i}", f"52:54:00:00:01:{100 + i:02x}") for i in range(4)]
FIN, SYN, ACK = 1, 2, 16


def summed(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def segment(client: Host | Host6, sport: int, seq: int, ack: int, flags: int) -> bytes:
    """A frame without data, built quickly: thousands are needed."""
    family, own = (socket.AF_INET6, OUR6) if isinstance(client, Host6) else (socket.AF_INET, OUR4)
    ends = socket.inet_pton(family, client.ip) + socket.inet_pton(family, own)
    tcp = struct.pack("!HHIIBBHHH", sport, 53, seq, ack, 5 << 4, flags, 65535, 0, 0)
    tcp = tcp[:16] + struct.pack("!H", summed(ends + struct.pack("!HH", 6, 20) + tcp)) + tcp[18:]
    if family == socket.AF_INET6:
        kind, ip = 0x86dd, struct.pack("!IHBB", 6 << 28, 20, 6, 64) + ends
    else:
        kind, ip = 0x800, struct.pack("!BBHHHBBH", 0x45, 0, 40, 0, 0, 64, 6, 0) + ends
        ip = ip[:10] + struct.pack("!H", summed(ip)) + ip[12:]
    macs = bytes.fromhex((PORT_MAC[LAN] + client.mac).replace(":", ""))
    return macs + struct.pack("!H", kind) + ip + tcp


def crowd(resolver: Resolver, client: Host | Host6, n: int) -> dict[int, int]:
    """Opens n connections; gives the gateway's sequence number for each port of the client."""
    at = 54 if isinstance(client, Host6) else 34
    ports = range(20000, 20000 + n)
    found = {}
    for begin in range(0, n, 64):
        some = ports[begin:begin + 64]
        sent = resolver.gateway.send_many([(LAN, segment(client, port, 1, 0, SYN)) for port in some])
        for frames in sent:
            for one in frames:
                to, seq = struct.unpack("!2xHI", one.raw[at:at + 8])
                found[to] = seq + 1
        answered = [port for port in some if port in found]
        resolver.gateway.send_many([(LAN, segment(client, port, 2, found[port], ACK)) for port in answered])
        resolver.gateway.wait(0.01)
    return found


def served(resolver: Resolver, sport: int, client: Host | Host6) -> None:
    stream = opened(resolver, sport, client)
    query = resolver.query("four.example.", "AAAA")
    say(resolver, stream, query)
    assert addresses(answers(stream)[query.id]) == [inside("192.0.2.33")]


def test_connections_that_are_never_closed(start: Start) -> None:
    """A client that leaves all idle connections half closed delays neither other clients nor fetches over TCP."""
    more = "".join(f"neighbour {host.ip} {host.mac}\n" for host in CROWD)
    resolver = Resolver(start, large(60), more=more)
    for host in CROWD:
        found = crowd(resolver, host, 512)
        for sent in resolver.gateway.wait(12):
            if sent.raw[12:14] == b"\x08\x00" and sent.raw[47] & FIN:  # all but those that were evicted
                port = struct.unpack("!H", sent.raw[36:38])[0]
                resolver.gateway.send(LAN, segment(host, port, 2, found[port] + 1, ACK))
    assert resolver.gateway.stats()["tcp_connections"] >= 2000
    for i in range(3):
        served(resolver, 4000 + i, B)
    stream = opened(resolver, 5000, B)
    query = resolver.query("text.example.", "TXT")
    say(resolver, stream, query)
    assert len(answers(stream)[query.id].answer[0]) == 60
    stats = resolver.gateway.stats()
    assert stats["tcp_connected"] == 1 and stats["tcp_orphans"] >= 2000
    resolver.wait(62)
    assert resolver.gateway.stats()["tcp_connections"] == 0
    assert not {"tcp-full", "tcp-client"} & set(resolver.gateway.drops())


def test_a_host_shuts_nobody_out(start: Start) -> None:
    """A client with too many connections loses its own oldest ones; others of its network are not affected."""
    resolver = Resolver(start, zone())
    first = opened(resolver, 4000, B6)
    crowd(resolver, A6, 600)
    stats = resolver.gateway.stats()
    assert (stats["tcp_accepted"], stats["tcp_crowded_out"], stats["tcp_connections"]) == (601, 88, 513)
    for i, client in enumerate((A, B, A6, B6)):
        served(resolver, 5000 + i, client)
    query = resolver.query("n1.example.", "AAAA")
    say(resolver, first, query)
    assert addresses(answers(first)[query.id]) == [inside("192.0.2.1")]
    assert resolver.gateway.drops() == {}


def test_a_few_that_hold_all_memory(start: Start) -> None:
    """14 connections hold as many packets as they get, and read a byte now and then: other clients are answered at the
    second attempt at the latest."""
    resolver = Resolver(start, large(245), packets=4096)
    hoard = [opened(resolver, 4000 + i, B) for i in range(14)]
    for stream in hoard:
        stream.quiet = True
        for k in range(48):
            put(resolver, stream.segment("PA", bytes(100), skew=500 + 300 * k, booked=False))
    for stream in hoard:
        say(resolver, stream, resolver.query("text.example.", "TXT"))
    assert resolver.gateway.stats()["tcp_packets_held"] > 300
    for i in range(8):
        stream = opened(resolver, 5000 + i, A)
        query = resolver.query(NAMES[i], "AAAA")
        frame = stream.segment("PA", framed(query.to_wire()))
        for _ in range(2):
            put(resolver, frame)
            if stream.received:
                break
            for other in hoard:
                other.ack = ((other.ack or 0) + 1) % 2**32
                put(resolver, other.segment("A"))
            resolver.wait(1)
        assert addresses(answers(stream)[query.id]) == [inside(f"192.0.2.{i}")]
    for _ in range(25):
        resolver.wait(1)
    assert resolver.gateway.stats()["tcp_packets_held"] == 0
