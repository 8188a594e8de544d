# SPDX-License-Identifier: BSD-2-Clause
"""DNS over TCP (RFC 7766, RFC 7828): connections of clients."""

from __future__ import annotations

import random
from ipaddress import IPv4Address

import dns.flags
import dns.message
import dns.rcode
import pytest
from dnsstream import NAMES, Slow, Start, answers, opened, put, say, station, zone
from gateway import LAN, PORT_MAC, ROUTER, WAN, A, B, Host
from net6 import A6, Host6
from resolver import (
    OUR4,
    OUR6,
    UPSTREAM,
    Resolver,
    addresses,
    check,
    datagram,
    inside,
    rr,
    silent,
    wire,
)
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from stream import Stream, framed

pytestmark = pytest.mark.virtual


@pytest.fixture
def resolver(start: Start) -> Resolver:
    return Resolver(start, zone())


@pytest.mark.parametrize("client", [A, A6], ids=["ipv4", "ipv6"])
def test_one_question(resolver: Resolver, client: Host | Host6) -> None:
    stream = opened(resolver, client=client)
    query = resolver.query("four.example.", "AAAA")
    say(resolver, stream, query)
    assert addresses(answers(stream)[query.id]) == [inside("192.0.2.33")]
    assert not any(one.tcp for one in resolver.net.asked), "upstream is asked over UDP first"
    assert stream.mss == (1460 if client is A else 1440)
    put(resolver, stream.segment("FA"))
    assert stream.ended and not stream.reset
    assert resolver.gateway.stats()["tcp_connections"] == 0
    assert resolver.gateway.drops() == {}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_pipelined_in_pieces(resolver: Resolver, size: int) -> None:
    """Many queries one after the other, cut anywhere."""
    stream = opened(resolver)
    queries = [resolver.query(name, kind) for name in NAMES[:8 if size < 7 else 60] for kind in ("AAAA", "A")]
    say(resolver, stream, *queries, size=size)
    resolver.wait(1)
    got = answers(stream)
    for i, query in enumerate(queries):
        answer = check(query, wire(got[query.id]))
        if i % 2 == 0:
            assert addresses(answer) == [inside(str(IPv4Address("192.0.2.0") + i // 2))]
    assert len(got) == len(queries)


def test_answers_out_of_order(resolver: Resolver) -> None:
    """A known answer does not wait for a fetch of another query (RFC 7766 section 6.2.1.1)."""
    stream = opened(resolver)
    resolver.addresses("four.example.")
    resolver.zone.instead = silent()  # type: ignore[attr-defined]
    slow, fast = resolver.query("n1.example.", "AAAA"), resolver.query("four.example.", "AAAA")
    say(resolver, stream, slow, fast)
    assert list(answers(stream)) == [fast.id]
    resolver.zone.instead = None  # type: ignore[attr-defined]
    resolver.wait(5)
    assert list(answers(stream)) == [slow.id]


def test_half_close_with_questions_open(resolver: Resolver) -> None:
    """A client may close its side after its last query; it still gets its answers, then the connection ends."""
    stream = opened(resolver)
    resolver.zone.instead = silent()  # type: ignore[attr-defined]
    query = resolver.query("n1.example.", "AAAA")
    say(resolver, stream, query)
    put(resolver, stream.segment("FA"))
    resolver.zone.instead = None  # type: ignore[attr-defined]
    for _ in range(10):
        resolver.wait(0.5)
    assert addresses(answers(stream)[query.id]) == [inside("192.0.2.1")]
    assert stream.ended and resolver.gateway.stats()["tcp_connections"] == 0


def test_idle_connections_are_closed(resolver: Resolver) -> None:
    stream = opened(resolver)
    query = resolver.query("four.example.", "AAAA", edns=0)
    say(resolver, stream, query)
    option = dns.message.from_wire(stream.messages()[0]).options[0]
    assert int(option.otype) == 11
    seconds = int.from_bytes(option.to_wire(), "big") / 10
    assert seconds == 10
    resolver.wait(seconds - 1)
    assert not stream.ended
    resolver.wait(2)
    assert stream.ended and not stream.reset
    resolver.wait(61)
    assert resolver.gateway.stats()["tcp_time_wait"] == 0


def test_no_option_without_opt_nor_over_udp(resolver: Resolver) -> None:
    stream = opened(resolver)
    say(resolver, stream, resolver.query("four.example.", "AAAA"))
    assert dns.message.from_wire(stream.messages()[0]).edns < 0
    assert not resolver.ask("four.example.", edns=0).options


def test_a_client_that_drips(resolver: Resolver) -> None:
    """Bytes that never become a query do not keep a connection open."""
    stream = opened(resolver)
    data = framed(bytes(200))
    for i in range(30):
        put(resolver, stream.segment("PA", data[i:i + 1]))
        resolver.wait(1)
        if stream.reset:
            break
    assert stream.reset and 20 < i < 25
    assert resolver.gateway.drops() == {"dns-slow": 1}


def test_rate(start: Start) -> None:
    """A query beyond the rate gets no answer, as over UDP, but its connection stays."""
    resolver = Resolver(start, zone(), more="dns64.rate 5\n")
    stream = opened(resolver)
    say(resolver, stream, *(resolver.query(f"n{i}.example.", "A") for i in range(12)))
    assert len(answers(stream)) == 5 and resolver.gateway.drops() == {"dns-rate": 7}
    resolver.wait(1)
    say(resolver, stream, resolver.query("four.example."))
    assert len(answers(stream)) == 1 and not stream.reset


def test_a_client_that_never_reads(resolver: Resolver) -> None:
    """A client with a closed window loses its connection after a while; others are served meanwhile."""
    stream = opened(resolver, window=0)
    say(resolver, stream, *(resolver.query(name, "AAAA") for name in NAMES[:60]))
    stream.quiet = True
    for _ in range(12):
        resolver.wait(1)
        assert resolver.addresses("four.example.") == [inside("192.0.2.33")]
    assert stream.reset
    stats = resolver.gateway.stats()
    assert stats["tcp_connections"] == 0 and stats["tcp_packets_held"] == 0


def test_a_client_that_reads_slowly_is_not_read_from(resolver: Resolver) -> None:
    """A client sends queries without end and reads no answers: its window closes, memory does not grow."""
    resolver.zone.sets.update(  # type: ignore[attr-defined]
        {(one.name, one.rdtype): one for one in [rr("text.example.", 300, "TXT", *(["x" * 250] * 16))]})
    stream = opened(resolver)
    stream.quiet = True
    for _ in range(40):
        say(resolver, stream, *(resolver.query("text.example.", "TXT") for _ in range(30)))
    assert stream.segments[-1].window < 1000
    stats = resolver.gateway.stats()
    assert stats["tcp_packets_held"] < 40
    assert resolver.gateway.drops().get("tcp-window", 0) > 0
    resolver.wait(11)
    assert stream.reset and resolver.gateway.stats()["tcp_packets_held"] == 0


@pytest.mark.parametrize("n, size", [(64, 8), (64, 40), (12, 245)])
def test_long_answers_all_at_once(start: Start, n: int, size: int) -> None:
    """A client that pipelines, and reads only after all answers have come, gets all of them: answers without room are
    held back."""
    slow = Slow(start, n, size)
    resolver = slow.resolver
    stream = opened(resolver)
    stream.quiet = True
    queries = [resolver.query(f"t{i}.example.", "TXT") for i in range(n)]
    say(resolver, stream, *queries)
    assert len(slow.open) == n
    slow.answer()
    for _ in range(10):
        resolver.wait(0.1)
    stats = resolver.gateway.stats()
    assert stats["dns_tcp_held"] >= n * 3 // 4 and stats["dns_waiting"] == stats["dns_tcp_held"]
    assert stats["tcp_packets_held"] < 70
    assert resolver.addresses("six.example.") == ["2001:db8::6"], "UDP goes on"
    stream.quiet = False
    for _ in range(20):
        resolver.wait(1)
    got = answers(stream)
    for i, query in enumerate(queries):
        answer = check(query, wire(got[query.id]), stream=True)
        assert len(answer.answer[0]) == size
        assert all(item.strings[0].startswith(b"%03d" % i) for item in answer.answer[0])
    assert len(got) == n and not stream.reset
    stats = resolver.gateway.stats()
    assert (stats["dns_waiting"], stats["dns_servfail"], stats["tcp_packets_held"]) == (0, 0, 0)


def test_more_questions_than_a_connection_to_upstream_has(start: Start) -> None:
    """The fetches wait for a place."""
    slow = Slow(start, 600, 6)
    resolver = slow.resolver
    streams = [opened(resolver, 4000 + i, station(resolver, i)) for i in range(10)]
    for i, stream in enumerate(streams):
        say(resolver, stream, *(resolver.query(f"t{60 * i + k}.example.", "TXT") for k in range(60)))
    assert len(slow.open) == 256 and resolver.gateway.stats()["dns_waiting"] == 600
    slow.answer()
    for _ in range(20):
        resolver.wait(0.1)
    assert [len(answers(stream)) for stream in streams] == [60] * 10
    stats = resolver.gateway.stats()
    assert stats["dns_servfail"] == stats["dns_waiting"] == 0 and stats["dns_upstream_tcp"] == 600
    assert sum(1 for one in resolver.net.streams if one.sport == 53) == 1


def test_long_answers_while_memory_is_short(start: Start) -> None:
    """Many such clients at once: each gets its answers, one after the other."""
    slow = Slow(start, 16, 8, packets=512)
    resolver = slow.resolver
    streams = [opened(resolver, 4000 + i) for i in range(8)]
    queries = [resolver.query(f"t{k}.example.", "TXT") for k in range(16)]
    for stream in streams:
        stream.quiet = True
        say(resolver, stream, *queries)
    slow.answer()
    for stream in streams:
        stream.quiet = False
    for _ in range(20):
        resolver.wait(1)
    assert [len(answers(stream)) for stream in streams] == [16] * 8
    assert not any(stream.reset for stream in streams)
    assert resolver.gateway.stats()["dns_servfail"] == 0


def test_held_answers_end_with_their_client(start: Start) -> None:
    """Answers held back for clients that never read have places of their own, of which one client gets as many as are
    free; without a place the answer is SERVFAIL, in time. The places are free when the client is gone."""
    slow = Slow(start, 64, 8)
    resolver = slow.resolver
    streams = [opened(resolver, 4000 + i) for i in range(8)]
    for stream in streams:
        stream.quiet = True
        say(resolver, stream, *(resolver.query(f"t{k}.example.", "TXT") for k in range(64)))
    assert resolver.gateway.stats()["dns_waiting"] == 8 * 64
    slow.answer()
    stats = resolver.gateway.stats()
    assert stats["dns_waiting"] == 256
    assert stats["dns_servfail"] == stats["dns_table_full"] >= 50
    assert resolver.addresses("four.example.") == [inside("192.0.2.33")]
    for _ in range(12):
        resolver.wait(1)
    assert all(stream.reset for stream in streams)
    stats = resolver.gateway.stats()
    assert (stats["dns_waiting"], stats["tcp_connections"], stats["tcp_packets_held"]) == (0, 0, 0)
    assert stats["tcp_timeout"] == 8


def test_two_clients_leave_places_of_held_answers(start: Start) -> None:
    """A third one that reads slowly gets all its answers."""
    slow = Slow(start, 64, 8)
    resolver = slow.resolver
    streams = [opened(resolver, 4000 + i, client) for client in (A, B) for i in range(6)]
    third = opened(resolver, 4000, station(resolver, 1))
    for stream in (*streams, third):
        stream.quiet = True
        say(resolver, stream, *(resolver.query(f"t{k}.example.", "TXT") for k in range(64)))
    slow.answer()
    stats = resolver.gateway.stats()
    assert 300 < stats["dns_waiting"] < 512
    third.quiet = False
    for _ in range(20):
        resolver.wait(0.5)
    assert sum(one.rcode() == 0 for one in answers(third).values()) == 64


@pytest.mark.parametrize("data, drop", [(framed(b"short"), "dns-short"), (b"\0\0", "dns-short"),
                                        (b"\xff\xff" + bytes(100), "dns-long"),
                                        (framed(b"\0\1\x80\0" + bytes(8)), "dns-response")])
def test_what_is_no_dns(resolver: Resolver, data: bytes, drop: str) -> None:
    stream = opened(resolver)
    put(resolver, stream.segment("PA", data))
    assert stream.reset
    assert resolver.gateway.drops() == {drop: 1}


def test_errors_are_answered(resolver: Resolver) -> None:
    stream = opened(resolver)
    broken = resolver.query("four.example.", "AAAA").to_wire() + b"x"
    transfer = resolver.query("example.", "AXFR")
    good = resolver.query("four.example.", "AAAA")
    say(resolver, stream, broken, transfer, good)
    codes = [answer.rcode() for answer in answers(stream).values()]
    assert codes == [dns.rcode.FORMERR, dns.rcode.NOTIMP, dns.rcode.NOERROR]


def test_a_stranger_gets_no_connection(start: Start) -> None:
    resolver = Resolver(start, zone(), more="dns64.client 192.168.1.11/32\n")
    stream = Stream(LAN, A.mac, A.ip, OUR4, 4000, 53)
    resolver.net.streams.append(stream)
    put(resolver, stream.segment("S"))
    assert stream.reset
    assert resolver.gateway.drops() == {"dns-client": 1}


@pytest.mark.parametrize("client", [A, A6], ids=["ipv4", "ipv6"])
@pytest.mark.parametrize("flags, expected", [
    ("A", ("R", 7777, 0)), ("SA", ("R", 7777, 0)), ("FA", ("R", 7777, 0)), ("F", None), ("", None), ("R", None),
    ("RA", None), ("SF", None), ("UP", None),
])
def test_segments_of_no_connection(
    start: Start, client: Host | Host6, flags: str, expected: tuple[str, int, int] | None
) -> None:
    resolver = Resolver(start, zone())
    layer, own, kind = (IP, OUR4, 0x800) if client is A else (IPv6, OUR6, 0x86dd)
    tcp = TCP(sport=4000, dport=53, flags=flags, seq=1000, ack=7777)
    frame = Ether(src=client.mac, dst=PORT_MAC[LAN], type=kind) / layer(src=client.ip, dst=own) / tcp
    sent = resolver.gateway.send(LAN, bytes(frame))
    if expected is None:
        assert not sent
    else:
        reset = sent[0].frame[TCP]
        assert (str(reset.flags), reset.seq, reset.ack) == expected
    assert sum(resolver.gateway.drops().values()) == 1


def test_a_flood_of_syns(resolver: Resolver) -> None:
    """Half-open connections have a limit; beyond it SYN cookies are used, which a real client does not notice."""
    for i in range(400):
        put(resolver, Stream(LAN, A.mac, A.ip, OUR4, 10000 + i, 53).segment("S"))
    stats = resolver.gateway.stats()
    assert stats["tcp_half_open"] == 256 and stats["tcp_cookies_sent"] == 144
    stream = opened(resolver)
    query = resolver.query("four.example.", "AAAA")
    say(resolver, stream, query)
    assert addresses(answers(stream)[query.id]) == [inside("192.0.2.33")]
    assert resolver.gateway.stats()["tcp_cookies_good"] == 1
    assert resolver.addresses("n1.example.") == [inside("192.0.2.1")], "UDP goes on"
    resolver.wait(10)
    assert resolver.gateway.stats()["tcp_half_open"] == 0


def test_guessed_cookies(resolver: Resolver) -> None:
    for i in range(300):
        put(resolver, Stream(LAN, A.mac, A.ip, OUR4, 10000 + i, 53).segment("S"))
    guess = random.Random(1)
    for i in range(200):
        one = Stream(LAN, A.mac, A.ip, OUR4, 20000 + i, 53)
        one.ack = guess.getrandbits(32)
        put(resolver, one.segment("A"))
    assert resolver.gateway.stats()["tcp_cookies_good"] == 0
    assert resolver.gateway.drops() == {"tcp-closed": 200}


@pytest.mark.parametrize("how", ["answer", "repetition"])
def test_no_segment_from_an_address_that_is_tentative(start: Start, how: str) -> None:
    """RFC 4862 section 5.4: another host may have the address. Segments are sent when the address is ours again."""
    upstream = zone()
    upstream.instead = silent()
    resolver = Resolver(start, upstream)
    stream = opened(resolver, client=A6)
    stream.quiet = True
    query = resolver.query("four.example.", "A")
    say(resolver, stream, query)
    (asked,) = resolver.net.asked
    packet = datagram(UPSTREAM, asked.source, 53, asked.port, wire(upstream.lookup(asked.message)))
    answer = bytes(Ether(src=ROUTER.mac, dst=PORT_MAC[WAN], type=0x800) / packet)
    if how == "repetition":
        resolver.net.deliver(resolver.gateway.send(WAN, answer))
        resolver.wait(0.5)
    resolver.gateway.link(LAN, False)
    resolver.gateway.link(LAN, True)
    before, dropped = len(stream.segments), resolver.gateway.drops().get("tentative", 0)
    if how == "answer":
        resolver.net.deliver(resolver.gateway.send(WAN, answer))
    resolver.wait(0.9)
    assert len(stream.segments) == before
    assert resolver.gateway.drops()["tentative"] > dropped
    stream.quiet = False
    for _ in range(4):
        resolver.wait(1)
    assert answers(stream)[query.id].answer and not stream.reset
    put(resolver, stream.segment("FA"))
    assert stream.ended
