# SPDX-License-Identifier: BSD-2-Clause
"""The exchange with upstream servers: forgery (RFC 5452), malformed answers, many questions, what passes unchanged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import dns.flags
import dns.message
import dns.name
import dns.rcode
import pytest
from gateway import LAN, PORT_MAC, ROUTER, WAN, Sent
from resolver import (
    A, B, B6, DNS64, FOUR, OUR4, UPSTREAM, Answer, Message, Resolver, Start, Zone, addresses, datagram, fails, inside,
    rr, silent, ttls, upstream, wire,
)
from scapy.layers.inet import UDP
from scapy.layers.l2 import Ether

pytestmark = pytest.mark.virtual

BAD = rr("four.example.", 300, "A", "192.0.2.66")


def name_of(message: Message) -> str:
    return message.question[0].name.to_text()


# --- questions ------------------------------------------------------------------------------------------


def test_a_question_as_it_leaves(start: Start) -> None:
    resolver = Resolver(start, Zone(FOUR))
    resolver.ask("four.example.", "A")
    asked = resolver.net.asked[0]
    assert asked.server == UPSTREAM and asked.source == "203.0.113.2"
    message = asked.message
    assert message.flags == dns.flags.RD | dns.flags.AD
    assert message.edns == 0 and message.payload == 1232 and message.ednsflags == 0 and not message.options
    assert len(message.question) == 1 and message.question[0].rdtype == 1
    resolver.ask("four.example.", "A", dnssec=True, flags="RD CD")
    message = resolver.net.asked[1].message
    assert message.flags == dns.flags.RD | dns.flags.AD | dns.flags.CD and message.ednsflags == dns.flags.DO


def test_ids_ports_and_spelling_are_random(start: Start) -> None:
    resolver = Resolver(start, Zone())
    for n in range(400):
        resolver.send(resolver.query(f"host-number-{n}.example.", "A"))
    asked = resolver.net.asked
    assert len(asked) == 400
    for values, most in (([one.message.id for one in asked], 65536), ([one.port for one in asked], 64512)):
        assert len(set(values)) > 390
        # Spread over the whole range: each quarter has its share.
        quarters = Counter((value - (65536 - most)) * 4 // most for value in values)
        assert set(quarters) == {0, 1, 2, 3} and min(quarters.values()) > 60
        steps = Counter((b - a) % 65536 for a, b in zip(values, values[1:]))
        assert steps.most_common(1)[0][1] < 4
    assert min(one.port for one in asked) >= 1024
    letters = [c for one in asked for c in name_of(one.message) if c.isalpha()]
    assert 0.45 < sum(c.isupper() for c in letters) / len(letters) < 0.55
    # The two questions of one client have different ones.
    resolver.send(resolver.query("another.example."))
    one, two = resolver.net.asked[-2:]
    assert one.port != two.port and one.message.id != two.message.id and name_of(one.message) != name_of(two.message)


def test_two_gateways_differ(start: Start) -> None:
    seen = []
    for seed in (1, 2):
        resolver = Resolver(start, Zone(FOUR), seed=seed)
        resolver.ask("four.example.")
        seen.append([(one.port, one.message.id) for one in resolver.net.asked])
    assert seen[0] != seen[1]


# --- forged answers --------------------------------------------------------------------------------------


def caught(start: Start) -> tuple[Resolver, Zone]:
    """A question for an A record that is under way."""
    zone = Zone(FOUR)
    zone.instead = silent()
    resolver = Resolver(start, zone)
    resolver.send(resolver.query("four.example.", "A"))
    assert len(resolver.net.asked) == 1
    return resolver, zone


def forged(resolver: Resolver, **changes: int | str) -> bytes:
    """An answer to the question under way with another address in it, changed."""
    asked = resolver.net.asked[0]
    answer = dns.message.make_response(asked.message, recursion_available=True)
    answer.answer.append(BAD)
    answer.answer[0].name = asked.message.question[0].name
    raw = bytearray(wire(answer))
    if "id" in changes:
        raw[0:2] = ((answer.id + int(changes["id"])) % 65536).to_bytes(2, "big")
    if "flags" in changes:
        raw[2:4] = (int.from_bytes(raw[2:4], "big") ^ int(changes["flags"])).to_bytes(2, "big")
    if "byte" in changes:
        raw[int(changes["byte"])] ^= 0x01
    if "case" in changes:
        raw[13] ^= 0x20
    port = asked.port + int(changes.get("port", 0))
    return upstream(
        str(changes.get("server", UPSTREAM)), asked.source, port, bytes(raw), sport=int(changes.get("sport", 53))
    )


FORGERIES: dict[str, dict[str, int | str]] = {
    "id": {"id": 1},
    "id-far": {"id": 0x5555},
    "port": {"port": 1},
    "server": {"server": "198.51.100.55"},
    "sport": {"sport": 5353},
    "question": {"flags": 0x8000},
    "opcode": {"flags": 0x0800},
    "name": {"byte": 14},
    "type": {"byte": 27},
    "class": {"byte": 29},
    "case": {"case": 1},
    "count": {"byte": 5},
}


@pytest.mark.parametrize("changes", FORGERIES.values(), ids=list(FORGERIES))
def test_forged_answers_are_not_taken(start: Start, changes: dict[str, int | str]) -> None:
    resolver, zone = caught(start)
    frame = forged(resolver, **changes)
    resolver.net.deliver(resolver.gateway.send(WAN, frame))
    assert not resolver.net.got
    drops = resolver.gateway.drops()
    assert set(drops) <= {"dns-forged", "dns-answer", "no-service"} and sum(drops.values()) == 1
    # The true one is.
    zone.instead = None
    if "case" not in changes:
        asked = resolver.net.asked[0]
        resolver.net.deliver(
            resolver.gateway.send(WAN, upstream(UPSTREAM, asked.source, asked.port, zone.lookup(asked.message)))
        )
    else:  # asked once more, to be sure
        resolver.wait(1)
    assert [item.address for item in resolver.net.got[0].message.answer[0]] == ["192.0.2.33"]


def test_a_flood_of_guesses(start: Start) -> None:
    resolver, zone = caught(start)
    asked = resolver.net.asked[0]
    frames = [(WAN, forged(resolver, id=1 + n)) for n in range(3000)] + [
        (WAN, forged(resolver, port=1 + n % 60)) for n in range(600)
    ]
    for sent in resolver.gateway.send_many(frames):
        resolver.net.deliver(sent)
    assert not resolver.net.got
    assert resolver.gateway.stats()["dns_upstream_forged"] >= 3000
    zone.instead = None
    resolver.net.deliver(
        resolver.gateway.send(WAN, upstream(UPSTREAM, asked.source, asked.port, zone.lookup(asked.message)))
    )
    assert [item.address for item in resolver.net.got[0].message.answer[0]] == ["192.0.2.33"]


def test_an_answer_counts_once(start: Start) -> None:
    """A duplicate, and an answer after its time, come to a closed port."""
    zone = Zone(FOUR)
    zone.instead = lambda query: [zone.lookup(query), zone.lookup(query)]
    resolver = Resolver(start, zone)
    assert resolver.addresses("four.example.") == [inside("192.0.2.33")]
    assert len(resolver.net.got) == 1
    assert resolver.gateway.drops() == {"no-service": 2}
    asked = resolver.net.asked[0]
    resolver.wait(400)
    resolver.net.deliver(
        resolver.gateway.send(WAN, upstream(UPSTREAM, asked.source, asked.port, zone.lookup(asked.message)))
    )
    assert resolver.gateway.drops() == {"no-service": 3}


def test_ports_are_closed_to_others(start: Start) -> None:
    """Whoever looks for open ports cannot tell them: not by the gateway's answers, wherever he is."""
    resolver, _ = caught(start)
    asked = resolver.net.asked[0]
    for port in (asked.port, asked.port ^ 1):
        sent = resolver.gateway.send(WAN, upstream("198.51.100.99", asked.source, port, b"x" * 30))
        assert not sent
    assert resolver.gateway.drops() == {"no-service": 2}


# --- upper and lower case ----------------------------------------------------------------------------------


def lower(zone: Zone) -> Zone:
    """A server that loses the case of names."""
    def instead(query: Message) -> Message:
        answer = zone.lookup(query)
        answer.question[0].name = dns.name.from_text(name_of(query).lower())
        return answer

    zone.instead = instead
    return zone


def test_a_server_that_loses_case(start: Start) -> None:
    """Is believed when it does so twice, and then for a while."""
    zone = lower(Zone(FOUR))
    resolver = Resolver(start, zone)
    # Twice a right answer is waited for, a tenth of a second each.
    resolver.send(resolver.query("four.example.", "A"))
    resolver.wait(0.11)
    assert not resolver.net.got and len(zone.asked) == 2
    resolver.wait(0.11)
    assert resolver.net.got.pop().message.answer and len(zone.asked) == 3
    assert resolver.gateway.stats()["dns_upstream_case_changed"] == 2
    for n in range(5):
        resolver.ask(f"name{n}.example.", "A")
    assert len(zone.asked) == 8
    resolver.wait(601)
    resolver.send(resolver.query("later.example.", "A"))
    assert len(zone.asked) == 9 and len(resolver.net.got) == 5


def test_another_case_may_be_forged(start: Start) -> None:
    """The right answer counts when it comes behind, however often that happens."""
    zone = Zone(FOUR)

    def both(query: Message) -> list[Answer]:
        raw = bytearray(wire(zone.lookup(query)))
        raw[13] ^= 0x20
        raw[-15 if query.edns < 0 else -12] ^= 0xff  # its address
        return [bytes(raw), zone.lookup(query)]

    zone.instead = both
    resolver = Resolver(start, zone, DNS64.replace("dns64.cache 2000", "dns64.cache 0"))
    for n in range(1, 6):
        assert resolver.ask("four.example.", "A").answer == [FOUR]
        assert len(zone.asked) == n and resolver.gateway.stats()["dns_upstream_case_changed"] == n
    # No server that loses case either: nothing was learned.
    zone.instead = None
    lower(zone)
    resolver.send(resolver.query("four.example.", "A"))
    assert len(resolver.net.got) == 5


# --- malformed answers -------------------------------------------------------------------------------------


def answered_with(start: Start, change: Callable[[bytearray], bytes | bytearray | None]) -> tuple[Resolver, Zone]:
    zone = Zone(FOUR)

    def instead(query: Message) -> list[Answer]:
        raw = change(bytearray(wire(zone.lookup(query))))
        return [bytes(raw)] if raw is not None else []

    zone.instead = instead
    return Resolver(start, zone), zone


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw[:20],
        lambda raw: raw[:11],
        lambda raw: raw[:-1],
        lambda raw: raw[:7] + b"\x09" + raw[8:],
        lambda raw: raw[:5] + b"\0" + raw[6:],
        lambda raw: raw[:5] + b"\2" + raw[6:],
        lambda raw: b"",
        lambda raw: bytes(2000),
        lambda raw: raw[:30] + b"\xc0\x1e" + raw[32:],
        lambda raw: raw[:30] + b"\xff\xff" + raw[32:],
    ],
    ids=["cut", "short", "less", "count", "no-question", "two-questions", "empty", "zeros", "loop", "far"],
)
def test_malformed_answers(start: Start, change: Callable[[bytearray], bytes]) -> None:
    """They are no answers: asked again, then SERVFAIL."""
    resolver, zone = answered_with(start, change)
    raw = resolver.raw(resolver.query("four.example.", "A"), wait=3.2)
    assert raw is not None and dns.message.from_wire(raw).rcode() == dns.rcode.SERVFAIL
    assert len(zone.asked) == 3
    # What a server says to the last try comes too late here.
    assert set(resolver.gateway.drops()) <= {"dns-answer", "dns-forged", "no-service"}


def test_a_truncated_message_that_ends_early(start: Start) -> None:
    """TC says that something is missing; the client gets TC as well."""
    resolver, _ = answered_with(start, lambda raw: raw[:2] + bytes([raw[2] | 2]) + raw[3:-4])
    answer = resolver.ask("four.example.", "A")
    assert answer.flags & dns.flags.TC and not answer.answer


def test_records_that_belong_to_others_are_not_used(start: Start) -> None:
    zone = Zone(FOUR)

    def instead(query: Message) -> Message:
        answer = zone.lookup(query)
        if query.question[0].rdtype == 1:
            answer.answer.append(rr("bank.example.", 300, "A", "192.0.2.66"))
        return answer

    zone.instead = instead
    resolver = Resolver(start, zone)
    assert (
        resolver.ask("four.example.").get_rrset(dns.message.ANSWER, dns.name.from_text("bank.example."), 1, 28) is None
    )
    zone.instead = None
    assert resolver.ask("bank.example.").rcode() == dns.rcode.NXDOMAIN


# --- many at a time ------------------------------------------------------------------------------------------


def test_a_thousand_dead_names(start: Start) -> None:
    """They do not slow the living ones, and all get SERVFAIL in time."""
    zone = Zone(FOUR)
    zone.instead = lambda query: [] if "dead" in name_of(query).lower() else None
    resolver = Resolver(start, zone)
    for n in range(1000):
        resolver.send(resolver.query(f"dead{n}.example."), port=5000 + n)
    assert resolver.gateway.stats()["dns_waiting"] == 1000
    for n in range(20):
        at = len(resolver.net.got)
        resolver.send(resolver.query(f"alive{n}.example."), port=3000)
        assert len(resolver.net.got) == at + 1 and resolver.net.got[-1].port == 3000
    begun = resolver.net.asked[0].at
    resolver.wait(4)
    dead = [one for one in resolver.net.got if one.port >= 5000]
    assert len({one.port for one in dead}) == len(dead) == 1000
    assert all(one.message.rcode() == dns.rcode.SERVFAIL and one.at - begun < 3.5 for one in dead)
    stats = resolver.gateway.stats()
    assert stats["dns_waiting"] == stats["dns_asking"] == 0


def flood(resolver: Resolver, kind: str, senders: list[str]) -> list[int]:
    """A thousand dead names from each sender; how many were refused of each."""
    frames = []
    for sender in senders:
        for n in range(1000):
            query = resolver.query(f"dead{n}.of-{sender}.example.", kind)
            packet = datagram(sender, OUR4, 1024 + n, 53, wire(query))
            frames.append((LAN, bytes(Ether(src=A.mac, dst=PORT_MAC[LAN], type=0x800) / packet)))
    sent = resolver.gateway.send_many(frames)
    return [sum(one.port == LAN for some in sent[at:at + 1000] for one in some) for at in range(0, len(sent), 1000)]


@pytest.mark.parametrize("kind, each", [("A", 1), ("AAAA", 2)])
def test_a_full_table(start: Start, kind: str, each: int) -> None:
    """More questions than places: SERVFAIL at once for the rest, never silence; old ones give way after a second. A
    client has three places at most for each that is free, so that three leave something to a fourth."""
    zone = Zone(FOUR)
    zone.instead = silent()
    others = [f"192.168.1.{n}" for n in (20, 21, 22)]
    neighbours = "".join(f"neighbour {other} 52:54:00:00:03:{i:02x}\n" for i, other in enumerate(others))
    resolver = Resolver(start, zone, more=neighbours)
    assert flood(resolver, kind, others) == [0, 214, 803]
    stats = resolver.gateway.stats()
    assert stats["dns_asking"] == 1983 * each and stats["dns_waiting"] == 1983 and stats["dns_table_full"] == 1017
    zone.instead = None
    assert resolver.ask("six.example.", "A", client=B).rcode() == dns.rcode.NXDOMAIN
    zone.instead = silent()
    # Those that wait a second make room for others.
    resolver.gateway.wait(1.1)
    assert 1100 < resolver.gateway.stats()["dns_waiting"] < 1536
    zone.instead = None
    assert resolver.ask("four.example.", "A", client=B).answer
    resolver.gateway.wait(5)
    stats = resolver.gateway.stats()
    assert stats["dns_asking"] == stats["dns_waiting"] == 0


def test_one_client_does_not_take_all_places(start: Start) -> None:
    zone = Zone(FOUR, rr("six.example.", 300, "AAAA", "2001:db8::6"))
    zone.instead = lambda query: [] if "dead" in name_of(query).lower() else None
    resolver = Resolver(start, zone)
    assert flood(resolver, "AAAA", [A.ip] * 2) == [0, 2000 - 1536]
    assert resolver.ask("six.example.", client=A).rcode() == dns.rcode.SERVFAIL
    assert addresses(resolver.ask("six.example.", client=B)) == ["2001:db8::6"]
    assert addresses(resolver.ask("four.example.", client=B6)) == [inside("192.0.2.33")]


def test_the_router_is_gone(start: Start) -> None:
    """No way to any server: SERVFAIL in time, not silence."""
    config = DNS64.replace("gateway 203.0.113.1\n", "")
    resolver = Resolver(start, Zone(FOUR), config)
    assert resolver.ask("four.example.", wait=3.1).rcode() == dns.rcode.SERVFAIL
    assert not resolver.net.asked


def test_questions_that_ask_nothing_twice(start: Start) -> None:
    """AAAA and A at once, each once; with AAAA in the cache only A."""
    zone = Zone(FOUR)
    resolver = Resolver(start, zone)
    resolver.ask("four.example.", "A")
    resolver.ask("four.example.")
    assert zone.types_asked() == ["A", "AAAA"]
    assert ttls(resolver.ask("four.example.")) == [300]
    assert addresses(resolver.ask("four.example.")) and len(zone.asked) == 2
    assert ROUTER.ip


# --- what must not be changed -----------------------------------------------------------------------------------


def signed_question(resolver: Resolver, name: str = "four.example.", kind: str = "AAAA", **how: object) -> bytes:
    """With a TSIG record (RFC 8945), made by dnspython."""
    import dns.tsig
    import dns.tsigkeyring
    query = resolver.query(name, kind, **how)  # type: ignore[arg-type]
    query.use_tsig(dns.tsigkeyring.from_text({"key.": "c2VjcmV0"}), keyname="key.")
    return query.to_wire()


def payload(sent: Sent) -> bytes:
    """The message in a frame that left."""
    return bytes(sent.frame[UDP].payload)


def relayed(resolver: Resolver, question: bytes) -> Sent:
    """A question that dnspython cannot read without the key, as it leaves for upstream."""
    sent = resolver.gateway.send(
        LAN, bytes(Ether(src=A.mac, dst=PORT_MAC[LAN], type=0x800) / datagram(A.ip, OUR4, 4000, 53, question)))
    assert [one.port for one in sent] == [WAN]
    assert payload(sent[0])[2:] == question[2:], "unchanged but for the ID"
    return sent[0]


def heard(resolver: Resolver, sent: Sent, answer: bytes) -> list[Sent]:
    """What leaves when upstream says this."""
    return resolver.gateway.send(WAN, upstream(UPSTREAM, sent.ip.src, sent.frame[UDP].sport, answer))


def answer_to(sent: Sent, flags: int, counts: bytes, behind: bytes) -> bytes:
    """With the question of what left; the counts of the other sections, and what stands there."""
    asked = payload(sent)
    end = asked.index(0, 12) + 5
    return asked[:2] + flags.to_bytes(2, "big") + asked[4:6] + counts + asked[12:end] + behind


def test_signed_questions_pass_unchanged(start: Start) -> None:
    """RFC 5625 section 4.5; the answer as well, though it is about AAAA records."""
    resolver = Resolver(start, Zone(FOUR))
    for _ in range(3):
        question = signed_question(resolver)
        sent = relayed(resolver, question)
        raw = payload(sent)
        answer = raw[:2] + b"\x81\x80" + raw[4:6] + b"\0\0\0\0" + raw[10:12] + raw[12:]
        for wrong in (answer[:1] + bytes([answer[1] ^ 1]) + answer[2:], answer[:14] + b"x" + answer[15:], answer[:11]):
            assert not heard(resolver, sent, wrong)
        assert [payload(one) for one in heard(resolver, sent, answer)] == [question[:2] + answer[2:]]
    stats = resolver.gateway.stats()
    assert stats["dns_relayed"] == 3 and stats["dns_synthesised"] == stats["dns_waiting"] == 0


def test_a_signed_question_in_vain(start: Start) -> None:
    resolver = Resolver(start, Zone())
    frame = bytes(
        Ether(src=A.mac, dst=PORT_MAC[LAN], type=0x800) / datagram(A.ip, OUR4, 4000, 53, signed_question(resolver))
    )
    sent = [*resolver.gateway.send(LAN, frame), *resolver.gateway.wait(3.1)]
    assert [one.port for one in sent] == [WAN, WAN, WAN, LAN]
    assert payload(sent[-1])[3] & 15 == dns.rcode.SERVFAIL


def test_more_of_them_than_fit(start: Start) -> None:
    """Each of two clients has as many as are free, so that a third of the places is left."""
    resolver = Resolver(start, Zone())
    frames = [(LAN, bytes(Ether(src=client.mac, dst=PORT_MAC[LAN], type=0x800) / datagram(
        client.ip, OUR4, 4000 + n, 53, signed_question(resolver)))) for n in range(50) for client in (A, B)]
    sent = [one.port for answer in resolver.gateway.send_many(frames) for one in answer]
    assert sent.count(WAN) == 43 and sent.count(LAN) == 57


def test_zone_transfers_are_passed_on(start: Start) -> None:
    zone = Zone(FOUR)
    zone.instead = fails(dns.rcode.REFUSED)
    resolver = Resolver(start, zone)
    raw = resolver.raw(resolver.query("example.", "IXFR"))
    assert raw is not None and dns.message.from_wire(raw).rcode() == dns.rcode.REFUSED
    assert len(zone.asked) == 1 and zone.asked[0].edns == -1 and resolver.gateway.stats()["dns_relayed"] == 1


OPT = b"\0\0\x29\x04\xd0\0\0\0\0\0\0"
MX = b"\0\x0f\0\1\0\0\0\5\0\5\0\0\1b\0"


@pytest.mark.parametrize(
    "flags, counts, behind",
    [
        (0x8001, b"\0\1\0\0\0\0", b"\xc0\x70" + MX + bytes(100)),
        (0x8000, b"\0\1\0\0\0\0", b""),
        (0x8000, b"\0\0\0\0\0\2", OPT + OPT),
        (0x8000, b"\0\0\0\0\0\1", b"\xc0\x0c" + OPT[1:]),
        (0x8000, b"\0\1\0\0\0\0", OPT),
        (0x8200, b"\0\0\0\0\0\2", OPT + OPT),
        (0xa800, b"\0\0\0\0\0\0", b""),
    ],
    ids=["pointer-forwards", "count", "two-opt", "opt-of-a-name", "opt-in-answer", "two-opt-cut", "operation"],
)
@pytest.mark.parametrize("kind", ["IXFR", "TSIG"])
def test_malformed_answers_are_not_passed_on(start: Start, kind: str, flags: int, counts: bytes, behind: bytes) -> None:
    """A client that reads strictly would refuse them: asked again, then SERVFAIL."""
    resolver = Resolver(start, Zone(FOUR))
    question = signed_question(resolver) if kind == "TSIG" else resolver.query("example.", "IXFR").to_wire()
    sent = relayed(resolver, question)
    assert not heard(resolver, sent, answer_to(sent, flags, counts, behind))
    why = "dns-forged" if flags & 0x7800 else "dns-answer"
    assert resolver.gateway.drops() == {why: 1}
    back = [one for one in resolver.gateway.wait(3.1) if one.port == LAN]
    assert [payload(one)[3] & 15 for one in back] == [dns.rcode.SERVFAIL]


@pytest.mark.parametrize(
    "flags, counts, behind, passed",
    [
        (0x8000, b"\0\0\0\0\0\1", OPT, OPT),
        (0x8000, b"\0\0\0\1\0\0", b"\xc0\x0c" + MX, b"\xc0\x0c" + MX),
        (0x8000, b"\0\0\0\0\0\1", OPT + b"rest", OPT),
        (0x8200, b"\0\2\0\0\0\0", b"\xc0\x0c" + MX + b"\xc0\x0c", None),
    ],
    ids=["opt", "record", "rest", "cut"],
)
def test_what_is_passed_on_is_well_formed(
    start: Start, flags: int, counts: bytes, behind: bytes, passed: bytes | None
) -> None:
    """What stands behind the last record is left out; a truncated message that ends early keeps TC and its question."""
    resolver = Resolver(start, Zone(FOUR))
    sent = relayed(resolver, resolver.query("example.", "IXFR").to_wire())
    back = heard(resolver, sent, answer_to(sent, flags, counts, behind))
    want = answer_to(sent, flags, bytes(6) if passed is None else counts, passed or b"")
    assert [payload(one)[2:] for one in back] == [want[2:]]
    dns.message.from_wire(payload(back[0]))
