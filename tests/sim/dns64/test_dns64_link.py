# SPDX-License-Identifier: BSD-2-Clause
"""DNS over TCP to upstream servers (RFC 7766): what they answer with TC, and signed questions."""

from __future__ import annotations

from ipaddress import IPv4Address

import dns.flags
import dns.message
import dns.rcode
import pytest
from dnsstream import Start, answers, large, opened, say, station, zone
from resolver import (
    BASIC,
    B,
    KEYRING,
    UPSTREAM,
    UPSTREAM2,
    UPSTREAM6,
    WAN,
    Message,
    Resolver,
    addresses,
    inside,
    over_tcp,
    rr,
    Zone,
    silent,
    wire,
)
from stream import Stream, framed

pytestmark = pytest.mark.virtual


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


@pytest.mark.parametrize("more", [b"\0", b"\0\0\x0f\0\1\0\0\0\5\0\5\0\0\1b"], ids=["cut", "a byte less"])
def test_a_malformed_answer_to_a_signed_question(start: Start, more: bytes) -> None:
    """It is no answer; the client gets SERVFAIL."""
    upstream = zone()
    upstream.instead = lambda query: query.to_wire()[:2] + b"\x81\x80\0\1\0\1\0\0\0\0\4four\7example\0\0\1\0\1" + more
    resolver = Resolver(start, upstream)
    stream = opened(resolver)
    query = signed(resolver, "four.example.", "A")
    say(resolver, stream, query)
    resolver.wait(4)
    assert [raw[3] & 15 for raw in stream.messages()] == [dns.rcode.SERVFAIL]
    assert resolver.gateway.drops()["dns-answer"] == 1


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


def test_one_client_does_not_take_all_places(start: Start) -> None:
    """Half of them are left to others."""
    upstream = zone()
    resolver = Resolver(start, upstream)
    upstream.instead = lambda _: []
    for _ in range(40):
        resolver.send(signed(resolver, "four.example.", "A"))
    refused = [one for one in resolver.net.got if one.raw[3] & 15 == dns.rcode.SERVFAIL]
    assert len(resolver.net.asked) == 32 and len(refused) == 8
    upstream.instead = None
    query = signed(resolver, "four.example.", "A")
    assert checked(query, resolver.raw(query, client=B) or b"").answer


def neighbours(first: int, last: int) -> str:
    """Clients on the LAN whose stations are known."""
    return "".join(f"neighbour 192.168.1.{n} 52:54:00:00:03:{n:02x}\n" for n in range(first, last + 1))


def test_three_clients_share_the_places(start: Start) -> None:
    """A client may have as many places as are free, so that two cannot have all."""
    upstream = zone()
    upstream.instead = lambda _: []
    resolver = Resolver(start, upstream, more=neighbours(12, 14))
    for last in (10, 11, 12, 13):
        for _ in range(40):
            resolver.send(signed(resolver, "four.example.", "A"), sport_of=f"192.168.1.{last}")
    asked = len(resolver.net.asked)
    assert asked == 32 + 16 + 8 + 4
    assert len(resolver.net.got) == 160 - asked
    upstream.instead = None
    query = signed(resolver, "four.example.", "A")
    assert checked(query, resolver.raw(query, sport_of="192.168.1.14") or b"").answer


def test_many_clients_do_not_take_all_places(start: Start) -> None:
    """When there is no place left the oldest question gives way to a client that has none under way."""
    upstream = zone()
    upstream.instead = lambda _: []
    resolver = Resolver(start, upstream)
    for last in range(100, 250):
        station(resolver, last - 20)
        resolver.send(signed(resolver, "four.example.", "A"), sport_of=f"192.168.1.{last}")
        resolver.gateway.wait(0.001)
    # Some of them are counted together, and the later one is refused.
    gave_way = [one.client for one in resolver.net.got if int(one.client.split(".")[3]) < 110]
    assert len(resolver.net.asked) > 100 and gave_way == [f"192.168.1.{n}" for n in range(100, 110)]
    assert all(one.raw[3] & 15 == dns.rcode.SERVFAIL for one in resolver.net.got)


# --- servers that close behind every answer --------------------------------------------------------------------------


class Closing:
    """An upstream server that answers one question on a connection and closes it (RFC 7766 section 6.2.4)."""

    def __init__(self, resolver: Resolver, upstream: Zone) -> None:
        self.resolver, self.zone = resolver, upstream
        self.open: dict[int, list[Message]] = {}
        resolver.net.hear = self.hear  # type: ignore[method-assign]

    def hear(self, stream: Stream) -> list[bytes]:
        for raw in stream.messages():
            query = dns.message.from_wire(raw, keyring=KEYRING)
            query.tcp = True
            self.open.setdefault(id(stream), []).append(query)
        return []

    def answer(self) -> int:
        """The first question of each connection. Gives how many were open."""
        streams = [one for one in self.resolver.net.streams if self.open.get(id(one)) and not one.closed]
        for stream in streams:
            frames = stream.give(framed(wire(self.zone.lookup(self.open[id(stream)][0]))))
            frames.append(stream.segment("FA"))
            self.resolver.net.deliver([one for frame in frames for one in self.resolver.gateway.send(WAN, frame)])
        self.resolver.wait(0.005)
        return len(streams)


@pytest.mark.parametrize("n", [2, 5, 20])
def test_upstream_closes_behind_every_answer(start: Start, n: int) -> None:
    """No question behind another loses a try by that: it is asked again on a new connection, as long as each connection
    brings an answer."""
    upstream = large(300)
    names = [f"t{i}.example." for i in range(n)]
    for name in names:
        one = rr(name, 300, "TXT", *(f"{k:03}" + "x" * 250 for k in range(6)))
        upstream.sets[one.name, one.rdtype] = one
    resolver = Resolver(start, upstream)
    closing = Closing(resolver, upstream)
    stream = opened(resolver)
    queries = [resolver.query(name, "TXT") for name in names]
    say(resolver, stream, *queries)
    udp = len(resolver.net.asked)
    while closing.answer():
        pass
    got = answers(stream)
    assert [len(got[query.id].answer) for query in queries] == [1] * n
    assert len(resolver.net.asked) == udp == n, "nothing is asked over UDP once more"
    assert len(closing.open) == n
    stats = resolver.gateway.stats()
    assert stats["dns_asking"] == stats["dns_waiting"] == 0


def test_signed_questions_to_a_server_that_closes(start: Start) -> None:
    upstream = zone()
    resolver = Resolver(start, upstream)
    closing = Closing(resolver, upstream)
    stream = opened(resolver)
    queries = [signed(resolver, f"n{i}.example.", "A") for i in range(8)]
    say(resolver, stream, *queries)
    while closing.answer():
        pass
    raw = {int.from_bytes(one[:2], "big"): one for one in stream.messages()}
    for query in queries:
        assert checked(query, raw[query.id]).answer


def test_upstream_closes_without_an_answer(start: Start) -> None:
    """That costs a try, and ends."""
    upstream = large(300)
    resolver = Resolver(start, upstream)
    resolver.net.hear = lambda stream: stream.messages() and [stream.segment("FA")]  # type: ignore
    stream = opened(resolver)
    query = resolver.query("text.example.", "TXT")
    say(resolver, stream, query)
    resolver.wait(4)
    assert answers(stream)[query.id].rcode() == dns.rcode.SERVFAIL
    assert 2 <= len([one for one in resolver.net.streams if one.sport == 53]) <= 3
