# SPDX-License-Identifier: BSD-2-Clause
"""Servers that change all the time, random queries, and time that passes: what holds for every answer is checked, and
the whole answer where it was just fetched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import dns.flags
import dns.message
import dns.rcode
import pytest
from gateway import Gateway
from resolver import A, A6, DNS64, PREFIX, Answer, Message, Resolver, Zone, addresses, check, inside, rr

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
NAMES = [f"n{i}.example." for i in range(5)]
MODES = ["right"] * 6 + ["servfail", "silent", "no-soa", "truncated", "lost", "cut"]
MORE = ["", "dns64.always on\n", "dns64.stale 0\n", "dns64.on-error servfail\n", "dns64.cache 0\n"]
MAPPED = "::ffff:192.0.2.9"


@dataclass
class World:
    """What the servers know and how they behave at present, and all addresses that names ever had."""

    random: Random
    data: dict[tuple[str, int], str | None] = field(default_factory=dict)
    mode: dict[tuple[str, int], str] = field(default_factory=dict)
    ever: dict[str, set[str]] = field(default_factory=dict)

    def shuffle(self) -> None:
        for name in NAMES:
            four = [None, None, *[f"192.0.2.{self.random.randrange(1, 250)}" for _ in range(2)]]
            six = [None, None, None, MAPPED, f"2001:db8::{self.random.randrange(1, 250)}"]
            for kind, choice in ((1, four), (28, six)):
                found = self.data[name, kind] = self.random.choice(choice)
                self.mode[name, kind] = self.random.choice(MODES)
                self.ever.setdefault(name, set()).update({found} if found else ())

    def instead(self, query: Message) -> Answer | list[Answer]:
        key = (query.question[0].name.to_text().lower(), int(query.question[0].rdtype))
        mode, found = self.mode[key], self.data[key]
        if mode == "silent" or (mode == "lost" and self.random.random() < 0.5):
            return []
        answer = dns.message.make_response(query, recursion_available=True, our_payload=1232)
        if mode == "servfail":
            answer.set_rcode(dns.rcode.SERVFAIL)
        if mode in ("truncated", "cut"):
            answer.flags |= dns.flags.TC
        if mode in ("servfail", "cut"):
            return answer
        if found:
            answer.answer.append(rr(key[0], 20, "A" if key[1] == 1 else "AAAA", found))
        elif mode != "no-soa":
            answer.authority.append(rr("example.", 15, "SOA", "a. b. 1 2 3 4 10"))
        return answer

    def is_right(self, name: str) -> bool:
        return self.mode[name, 1] == self.mode[name, 28] == "right"


def check_aaaa(world: World, name: str, answer: Message, *, validates: bool, fresh: bool, always: bool) -> None:
    real = [one for one in addresses(answer) if not one.startswith(PREFIX)]
    made = [one for one in addresses(answer) if one.startswith(PREFIX)]
    assert answer.rcode() in (dns.rcode.NOERROR, dns.rcode.SERVFAIL)
    assert set(real) <= world.ever[name] and (validates or MAPPED not in real)
    assert set(made) <= {inside(one) for one in world.ever[name] if "." in one and ":" not in one}
    assert not (real and made) and not (made and validates)
    assert all(one.rdtype == 28 and one.ttl <= 30 for one in answer.answer)
    if not fresh or validates or not world.is_right(name):
        return
    four, six = world.data[name, 1], world.data[name, 28]
    good = [six] if six and six != MAPPED else []
    synthetic = [inside(four)] if four else []
    assert answer.rcode() == 0
    assert addresses(answer) == (synthetic or good if always else good or synthetic)
    assert answer.answer or answer.authority, "an absence has its SOA record"


@pytest.mark.parametrize("seed", range(16))
def test_whatever_happens(start: Start, seed: int) -> None:
    random = Random(seed)
    world = World(random)
    world.shuffle()
    zone = Zone()
    zone.instead = world.instead
    more = MORE[seed % len(MORE)]
    resolver = Resolver(start, zone, DNS64.replace("dns64.cache 2000\n", "") if "cache" in more else DNS64, more)
    for step in range(60):
        what = random.random()
        if what < 0.15:
            world.shuffle()
            continue
        if what < 0.4:
            resolver.wait(random.choice([0.1, 1, 3, 7, 12, 25]))
            continue
        name, kind = random.choice(NAMES), random.choice(["AAAA", "AAAA", "AAAA", "A"])
        flags, dnssec = random.choice([("RD", False), ("RD", False), ("RD", True), ("RD CD", True), ("", False)])
        query = resolver.query(name, kind, flags=flags, dnssec=dnssec, edns=random.choice([None, 0]))
        asked, got = len(zone.asked), len(resolver.net.got)
        resolver.send(query, client=random.choice([A, A6]), port=5000 + step)
        for _ in range(61):  # what is sent while time passes is answered afterwards
            if len(resolver.net.got) == got:
                resolver.wait(0.05)
        assert len(resolver.net.got) == got + 1, "one answer, in time"
        answer = check(query, resolver.net.got[-1].raw)
        if kind == "A":
            assert all(one.rdtype == 1 and one.ttl <= 30 for one in answer.answer)
            assert all(one[0].address in world.ever[name] for one in answer.answer)
            continue
        about = [one.question[0] for one in zone.asked[asked:]]
        fresh = {int(one.rdtype) for one in about if one.name.to_text().lower() == name} == {1, 28}
        check_aaaa(world, name, answer, validates="CD" in flags, fresh=fresh, always="always" in more)
    resolver.wait(10)
    stats = resolver.gateway.stats()
    assert stats["dns_asking"] == stats["dns_waiting"] == 0
