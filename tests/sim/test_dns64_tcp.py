# SPDX-License-Identifier: BSD-2-Clause
"""DNS over TCP (RFC 7766, RFC 7828): clients' streams, and what upstream answers with TC."""

from __future__ import annotations

import random
from collections.abc import Callable
from ipaddress import IPv4Address

import dns.flags
import dns.message
import dns.rcode
import pytest
from gateway import LAN, PORT_MAC, A, Gateway, Host
from net6 import A6, Host6
from resolver import (
    BASIC,
    KEYRING,
    OUR4,
    OUR6,
    UPSTREAM,
    UPSTREAM2,
    UPSTREAM6,
    WAN,
    Message,
    Resolver,
    Zone,
    addresses,
    check,
    inside,
    over_tcp,
    rr,
    silent,
    wire,
)
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from stream import Stream, framed

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
NAMES = [f"n{i}.example." for i in range(200)]


def zone() -> Zone:
    return Zone(*(rr(name, 300, "A", str(IPv4Address("192.0.2.0") + i)) for i, name in enumerate(NAMES)),
                rr("four.example.", 300, "A", "192.0.2.33"), rr("six.example.", 300, "AAAA", "2001:db8::6"))


@pytest.fixture
def resolver(start: Start) -> Resolver:
    return Resolver(start, zone())


def opened(resolver: Resolver, sport: int = 4000, client: Host | Host6 = A, **how: int) -> Stream:
    """A client's connection, open."""
    own = OUR6 if isinstance(client, Host6) else OUR4
    stream = Stream(LAN, client.mac, client.ip, own, sport, 53, **how)
    resolver.net.streams.append(stream)
    put(resolver, stream.segment("S"))
    assert stream.ack is not None, "no SYN-ACK"
    return stream


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
    """Many questions one behind the other, cut anywhere."""
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
    """What is known does not wait for what is not (RFC 7766 section 6.2.1.1)."""
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
    """A client may say that it has asked all; it still gets its answers, then the connection ends."""
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
    """Bytes that never become a question do not keep a connection for ever."""
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
    """What is beyond it gets no answer, as over UDP, but keeps its connection."""
    resolver = Resolver(start, zone(), more="dns64.rate 5\n")
    stream = opened(resolver)
    say(resolver, stream, *(resolver.query(f"n{i}.example.", "A") for i in range(12)))
    assert len(answers(stream)) == 5 and resolver.gateway.drops() == {"dns-rate": 7}
    resolver.wait(1)
    say(resolver, stream, resolver.query("four.example."))
    assert len(answers(stream)) == 1 and not stream.reset


def test_a_client_that_never_reads(resolver: Resolver) -> None:
    """Its window is shut; it is gone after a while, and others are served meanwhile."""
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
    """Questions without end whose answers nobody takes: the window closes, memory does not grow."""
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


class Slow:
    """Upstream knows names t0 ... with TXT records of some 260 bytes each; it says TC over UDP, and over TCP nothing
    until it is told to; from then on it answers at once."""

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
        """All that was asked until now."""
        server = next(one for one in self.resolver.net.streams if one.sport == 53 and not one.reset and not one.ended)
        raw = framed(*(wire(self.zone.lookup(query)) for query in self.open))
        self.slow = False
        sent = [one for frame in server.give(raw) for one in self.resolver.gateway.send(WAN, frame)]
        self.resolver.net.deliver(sent)


@pytest.mark.parametrize("n, size", [(64, 8), (64, 40), (12, 245)])
def test_long_answers_all_at_once(start: Start, n: int, size: int) -> None:
    """A client that pipelines, and reads only after all answers have come, gets every one of them: those it has no room
    for wait."""
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
    """They wait for a place."""
    slow = Slow(start, 600, 6)
    resolver = slow.resolver
    streams = [opened(resolver, 4000 + i) for i in range(10)]
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
    """Answers held back for clients that never read have places of their own, of which one client gets half; what
    finds none is SERVFAIL, in time. They are gone with their client."""
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
    """Half-open connections have a limit; beyond it cookies, which a real client does not notice."""
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


# --- upstream ----------------------------------------------------------------------------------------------


def large(records: int) -> Zone:
    """A name with so many A records; over UDP the answer has TC."""
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


@pytest.mark.parametrize("server", [UPSTREAM, UPSTREAM6])
def test_truncated_upstream(start: Start, server: str) -> None:
    """RFC 7766 section 5: the rest is fetched over TCP, on one connection."""
    resolver = Resolver(start, large(300), BASIC + f"nameserver {server}\n")
    answer = resolver.ask("large.example.")
    assert answer.flags & dns.flags.TC
    assert [one.tcp for one in resolver.net.asked] == [False, False, True]
    stream = opened(resolver)
    query = resolver.query("large.example.", "AAAA")
    say(resolver, stream, query)
    assert len(addresses(answers(stream)[query.id])) == 300
    assert len(resolver.net.asked) == 3, "it is in the cache"
    for name in ("text.example.", "large.example."):
        query = resolver.query(name, "TXT")
        say(resolver, stream, query)
        assert bool(answers(stream)[query.id].answer) == (name == "text.example.")
    assert sum(1 for one in resolver.net.streams if one.dport != 4000 and one.sport == 53) == 1
    resolver.wait(11)
    assert resolver.gateway.stats()["tcp_connections"] == 0


@pytest.mark.parametrize("records", [100, 245])
def test_the_longest_answer(start: Start, records: int) -> None:
    """Up to 64 KB, through the cache, to a client on TCP."""
    resolver = Resolver(start, large(records))
    stream = opened(resolver)
    query = resolver.query("text.example.", "TXT")
    say(resolver, stream, query)
    resolver.wait(2)
    raw = stream.messages()[0]
    assert len(raw) > records * 265
    assert len(dns.message.from_wire(raw).answer[0]) == records


@pytest.mark.parametrize("how", ["closed", "silent"])
def test_upstream_without_tcp(start: Start, how: str) -> None:
    """RFC 5625 section 4.4: the client learns by TC that there is more, also when we cannot get it; one that comes over
    TCP itself gets SERVFAIL, and a stale answer is better than both."""
    upstream = large(300)
    right = upstream.instead

    def mute(query: Message) -> Message | list[None] | None:
        assert right is not None
        return [] if over_tcp(query) else right(query)  # type: ignore[return-value]

    resolver = Resolver(start, upstream)
    if how == "closed":
        resolver.net.listens = False
    else:
        upstream.instead = mute
    for kind in ("AAAA", "A"):
        answer = resolver.ask("large.example.", kind, wait=0 if how == "closed" else 4)
        assert answer.rcode() == dns.rcode.NOERROR and answer.flags & dns.flags.TC and not answer.answer
    stream = opened(resolver)
    query = resolver.query("large.example.", "AAAA")
    say(resolver, stream, query)
    resolver.wait(4)
    assert answers(stream)[query.id].rcode() == dns.rcode.SERVFAIL
    assert resolver.addresses("four.example.") == [inside("192.0.2.33")]
    # From here on it could, but the answer has grown.
    resolver.gateway.wait(12)
    before = resolver.ask("n5.example.", "A")
    upstream.sets[before.answer[0].name, 1] = rr(
        "n5.example.", 300, "A", *(str(IPv4Address("198.18.0.0") + i) for i in range(300)))
    resolver.gateway.wait(301)
    assert resolver.ask("n5.example.", "A", wait=4).answer == [rr("n5.example.", 30, "A", "192.0.2.5")]


def test_upstream_closes_in_between(start: Start) -> None:
    """A server may close at any time (RFC 7766 section 6.2.4): the question is asked again."""
    resolver = Resolver(start, large(300))
    resolver.ask("large.example.")
    server = next(one for one in resolver.net.streams if one.sport == 53)
    frames = resolver.gateway.send("wan", server.segment("RA"))
    server.reset = True
    assert not frames
    stream = opened(resolver)
    query = resolver.query("text.example.", "TXT")
    say(resolver, stream, query)
    resolver.wait(1)
    assert len(answers(stream)[query.id].answer[0]) == 245
    assert resolver.gateway.stats()["tcp_reset"] == 1


def test_tcp_answers_to_the_wrong_question(start: Start) -> None:
    upstream = large(300)
    right = upstream.instead

    def other(query: Message) -> Message | None:
        assert right is not None
        if not over_tcp(query):
            return right(query)  # type: ignore[return-value]
        lie = upstream.lookup(query)
        lie.id ^= 1
        return lie

    upstream.instead = other
    resolver = Resolver(start, upstream)
    answer = resolver.ask("large.example.", wait=30)
    assert answer.flags & dns.flags.TC and not answer.answer
    assert resolver.gateway.drops()["dns-forged"] >= 1


@pytest.mark.parametrize("length", [65533, 65534, 65535])
def test_the_longest_upstream_message(start: Start, length: int) -> None:
    """All that the length in front can say (RFC 1035 section 4.2.2) comes through, window by window."""
    upstream = large(300)
    right = upstream.instead
    sent = b""

    def padded(query: Message) -> Message | bytes | None:
        nonlocal sent
        assert right is not None
        if not over_tcp(query):
            return right(query)  # type: ignore[return-value]
        raw = upstream.lookup(query).to_wire(max_size=65535)
        raw += bytes(length - len(raw))
        sent = framed(raw)
        return raw

    upstream.instead = padded  # type: ignore[assignment]
    resolver = Resolver(start, upstream)
    stream = opened(resolver)
    query = resolver.query("large.example.", "A")
    say(resolver, stream, query)
    server = next(one for one in resolver.net.streams if one.sport == 53)
    for _ in range(5):
        begin = server.seq - len(sent)
        left = sent[(server.acked - begin) % 2**32:]
        if left:
            probe = server.segment("PA", left[:max(1, server.segments[-1].window)], booked=False, seq=server.acked)
            resolver.net.deliver(resolver.gateway.send("wan", probe))
        resolver.wait(0.2)
    assert len(answers(stream)[query.id].answer[0]) == 300


# --- servers that accept and say nothing ---------------------------------------------------------------------------


TWO = f"nameserver {UPSTREAM2}\nselection-mode round-robin\n"


def test_upstream_that_says_nothing_over_tcp(start: Start) -> None:
    """It takes connections and questions and never answers: a connection is given up after four questions in vain, and
    UDP goes on."""
    upstream = large(300)
    for i in range(40):
        upstream.sets[rr(f"l{i}.example.", 300, "A", "192.0.2.1").name, 1] = rr(
            f"l{i}.example.", 300, "A", *(str(IPv4Address("198.18.0.0") + i) for i in range(300)))
    right = upstream.instead

    def mute(query: Message) -> Message | list[None] | None:
        assert right is not None
        return [] if over_tcp(query) else right(query)  # type: ignore[return-value]

    upstream.instead = mute
    resolver = Resolver(start, upstream)
    # A new one each second, so that the connection never is without questions.
    for i in range(8):
        resolver.send(resolver.query(f"l{i}.example."), port=5000 + i)
        resolver.wait(1)
        assert resolver.addresses("four.example.") == [inside("192.0.2.33")]
    stats = resolver.gateway.stats()
    assert stats["dns_upstream_tcp_mute"] >= 1
    servers = [one for one in resolver.net.streams if one.sport == 53]
    assert len(servers) >= 2 and servers[0].reset and stats["dns_upstream_up"] == 1
    for _ in range(15):
        resolver.wait(1)
    assert [bool(one.message.flags & dns.flags.TC) for one in resolver.net.got if one.port >= 5000] == [True] * 8
    assert resolver.gateway.stats()["tcp_connections"] == 0
    # It has come to its senses.
    upstream.instead = right
    stream = opened(resolver)
    query = resolver.query("l30.example.", "AAAA")
    say(resolver, stream, query)
    assert len(addresses(answers(stream)[query.id])) == 300


@pytest.mark.parametrize("dead", ["silent", "closed"])
def test_another_server_has_tcp(start: Start, dead: str) -> None:
    """What one server cannot give over TCP another is asked for; after that, at once."""
    one, two = large(300), large(300)
    right = one.instead

    def mute(query: Message) -> Message | list[None] | None:
        assert right is not None
        return [] if over_tcp(query) else right(query)  # type: ignore[return-value]

    one.instead = mute
    resolver = Resolver(start, one, more=TWO)
    resolver.servers(two=two)
    if dead == "closed":
        resolver.net.deaf.add(UPSTREAM)
    took = []
    for i in range(12):
        name = f"m{i}.example."
        for side in (one, two):
            side.sets[rr(name, 300, "A", "192.0.2.1").name, 1] = rr(
                name, 300, "A", *(str(IPv4Address("198.18.0.0") + k) for k in range(300)))
        stream = opened(resolver, 5000 + i)
        query = resolver.query(name, "A")
        say(resolver, stream, query)
        waited = 0
        while not stream.received and waited < 40:
            resolver.wait(0.1)
            waited += 1
        assert len(answers(stream)[query.id].answer[0]) == 300
        took.append(waited)
    assert max(took[-4:]) == 0, took
    assert resolver.gateway.stats()["dns_upstream_up"] == 2


# --- signed questions ----------------------------------------------------------------------------------------------


def signed(resolver: Resolver, name: str, kind: str) -> Message:
    query = resolver.query(name, kind)
    query.use_tsig(KEYRING, keyname="key.")
    return query


def checked(query: Message, raw: bytes) -> Message:
    """An answer whose signature is good."""
    answer = dns.message.from_wire(raw, keyring=KEYRING, request_mac=query.mac)
    assert answer.had_tsig and answer.id == query.id
    return answer


@pytest.mark.parametrize("kind, size", [("AAAA", 0), ("A", 300), ("TXT", 245)])
def test_signed_questions(start: Start, kind: str, size: int) -> None:
    """RFC 5625 sections 4.4.1 and 4.5: over TCP to upstream as well, and both ways so that the signatures hold."""
    resolver = Resolver(start, large(300))
    stream = opened(resolver)
    for name in ("large.example.", "text.example."):
        query = signed(resolver, name, kind)
        say(resolver, stream, query)
        resolver.wait(1)
        answer = checked(query, stream.messages()[0])
        assert sum(len(one) for one in answer.answer) in (0, size)
    assert [one.tcp for one in resolver.net.asked] == [True, True]
    stats = resolver.gateway.stats()
    assert stats["dns_relayed"] == stats["dns_upstream_tcp"] == 2 and stats["dns_synthesised"] == 0


@pytest.mark.parametrize("rcode, good", [(9, True), (1, True), (0, False)])
def test_a_signature_that_upstream_does_not_know(start: Start, rcode: int, good: bool) -> None:
    """It need not repeat the question then (NSD does not); other answers must."""
    upstream = zone()
    upstream.instead = lambda query: query.id.to_bytes(2, "big") + bytes([0x81, 0x80 | rcode]) + bytes(8)
    resolver = Resolver(start, upstream)
    stream = opened(resolver)
    query = signed(resolver, "four.example.", "A")
    say(resolver, stream, query)
    resolver.wait(4)
    raw = stream.messages()[0]
    assert raw[:2] == query.id.to_bytes(2, "big") and raw[3] & 15 == (rcode if good else dns.rcode.SERVFAIL)
    assert resolver.gateway.drops().get("dns-forged", 0) == (not good)


def test_signed_and_others_share_a_connection(start: Start) -> None:
    resolver = Resolver(start, large(300))
    stream = opened(resolver)
    queries = [signed(resolver, "four.example.", "A") if i % 2 else resolver.query(f"{name}.example.", "TXT")
               for i, name in enumerate(["text", "", "text", ""])]
    say(resolver, stream, *queries)
    resolver.wait(1)
    raw = {int.from_bytes(one[:2], "big"): one for one in stream.messages()}
    assert set(raw) == {query.id for query in queries}
    for query in queries[1::2]:
        checked(query, raw[query.id])
    assert sum(1 for one in resolver.net.streams if one.sport == 53) == 1


def test_a_signed_question_whose_connection_ends(start: Start) -> None:
    """It is asked once more on another."""
    upstream = zone()
    upstream.instead = silent()
    resolver = Resolver(start, upstream)
    stream = opened(resolver)
    query = signed(resolver, "four.example.", "A")
    say(resolver, stream, query)
    upstream.instead = None
    server = next(one for one in resolver.net.streams if one.sport == 53)
    server.reset = True
    resolver.net.deliver(resolver.gateway.send("wan", server.segment("RA")))
    assert len(checked(query, stream.messages()[0]).answer[0]) == 1
    assert [one.tcp for one in resolver.net.asked] == [True, True]


def test_a_signed_question_in_vain(start: Start) -> None:
    """SERVFAIL in time, and no place is lost: not with a server that is mute, nor with one that has no TCP."""
    upstream = zone()
    upstream.instead = silent()
    resolver = Resolver(start, upstream)
    stream = opened(resolver)
    for listens in (True, False):
        resolver.net.listens = listens
        queries = [signed(resolver, "four.example.", "A") for _ in range(40)]
        say(resolver, stream, *queries)
        for _ in range(4):
            resolver.wait(1)
        assert [raw[3] & 15 for raw in stream.messages()] == [dns.rcode.SERVFAIL] * 40
        say(resolver, stream, resolver.query("ipv4only.arpa."))
        resolver.wait(6)
        assert len(stream.messages()) == 1, "the connection stays"
    assert resolver.gateway.stats()["dns_upstream_tcp_mute"] == 1


@pytest.mark.parametrize("data, drop", [(b"\0\5short", "dns-answer"), (b"\0\0", "dns-answer"),
                                        (framed(b"\0\1" + bytes(40)), "dns-forged")])
def test_upstream_says_what_is_no_dns(start: Start, data: bytes, drop: str) -> None:
    """A connection whose messages cannot be told apart is closed; another begins."""
    upstream = large(300)
    right = upstream.instead

    def odd(query: Message) -> Message | list[None] | None:
        assert right is not None
        return [] if over_tcp(query) else right(query)  # type: ignore[return-value]

    upstream.instead = odd
    resolver = Resolver(start, upstream)
    stream = opened(resolver)
    query = resolver.query("large.example.", "A")
    say(resolver, stream, query)
    server = next(one for one in resolver.net.streams if one.sport == 53)
    upstream.instead = right
    resolver.net.deliver(resolver.gateway.send(WAN, server.segment("PA", data)))
    for _ in range(30):
        resolver.wait(0.1)
    assert len(answers(stream)[query.id].answer[0]) == 300
    assert resolver.gateway.drops() == {drop: 1}
    assert server.ended == (drop == "dns-answer")
