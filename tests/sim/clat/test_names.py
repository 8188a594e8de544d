# SPDX-License-Identifier: BSD-2-Clause
"""`serve dns64` beside `app clat`: hosts with IPv6 learn the prefix of the provider's translator, whichever it is."""

from __future__ import annotations

from typing import Any

import pytest
from customer import NEIGHBOURS, OWN6, pref64
from gateway import LAN, WAN, Gateway, Sent
from net6 import A6, of_kind
from resolver import UPSTREAM6, Resolver, Zone, rr
from scapy.layers.inet6 import ICMPv6NDOptPREF64
from uplink import Start, hear, prefix

pytestmark = pytest.mark.virtual

BOX = ("lan.address 192.168.1.1/24\nlan.address 2001:db8:1::1/64\nwan.address 2001:db8:2::2/64\nwan.address auto\n"
       f"gateway 2001:db8:2::1\n{NEIGHBOURS}neighbour {A6.ip} {A6.mac}\nnat.sessions 256\nclat.address {OWN6}\n"
       f"nameserver {UPSTREAM6}\nserve dns64\n")
NAMES = (rr("four.example.", 300, "A", "203.0.113.77"), rr("dual.example.", 300, "A", "203.0.113.78"),
         rr("dual.example.", 300, "AAAA", "2001:db8:f::7"))
FIRST, SECOND = "2001:db8:6464::", "2001:db8:6565::"
MADE, OTHER = "2001:db8:6464::cb00:714d", "2001:db8:6565::cb00:714d"


def box(start: Start, more: str = "") -> Resolver:
    def begin(*how: Any, **options: Any) -> Gateway:
        gateway = start(*how, **options)
        gateway.sources[WAN] = None  # native IPv6
        return gateway

    return Resolver(begin, Zone(*NAMES), BOX, more, app="clat")


def told(resolver: Resolver, *options: Any) -> list[Sent]:
    """The router of the WAN says something; gives what leaves until all follow."""
    sent = hear(resolver.gateway, prefix(), *options)
    resolver.net.deliver(sent)
    more = resolver.gateway.wait(20)
    resolver.net.deliver(more)
    return sent + more


def advertised(sent: list[Sent]) -> dict[str, int]:
    """The prefixes in the last advertisement on the LAN, with their lifetimes."""
    last = of_kind(sent, 134, LAN)[-1].frame
    found: dict[str, int] = {}
    option = last.getlayer(ICMPv6NDOptPREF64)
    while option:
        found[str(option.prefix)] = option.scaledlifetime * 8
        option = option.payload.getlayer(ICMPv6NDOptPREF64)
    return found


def test_rfc8781_the_prefix_of_the_provider_is_taken_over(start: Start) -> None:
    """Names that the cache knows too follow: none is asked again."""
    resolver = box(start)
    for _ in range(6):
        assert resolver.addresses("four.example.", client=A6) == []
    assert advertised(told(resolver)) == {}
    sent = told(resolver, pref64(FIRST))
    assert advertised(sent) == {FIRST: 1800}
    for _ in range(6):  # the answers become ready ones
        assert resolver.addresses("four.example.", client=A6) == [MADE]
    assert sorted(resolver.addresses("ipv4only.arpa.")) == ["2001:db8:6464::c000:aa", "2001:db8:6464::c000:ab"]
    sent = told(resolver, pref64(FIRST, lifetime=0), pref64(SECOND))
    assert advertised(sent) == {SECOND: 1800, FIRST: 0}
    for _ in range(6):
        assert resolver.addresses("four.example.", client=A6) == [OTHER]
    sent = told(resolver, pref64(SECOND, lifetime=0))
    assert advertised(sent) == {SECOND: 0}
    for _ in range(6):
        assert resolver.addresses("four.example.", client=A6) == []
    asked = [one.message.question[0].name.to_text().lower() for one in resolver.net.asked]
    assert asked.count("four.example.") == 2  # A and AAAA
    said = [line for line in resolver.gateway.lines("log") if "dns64: " in line]
    assert [FIRST in line or SECOND in line for line in said] == [True, True, False]


def test_a_prefix_of_the_configuration(start: Start) -> None:
    resolver = box(start, f"clat.prefix {FIRST}/96\n")
    assert advertised(told(resolver)) == {FIRST: 1800}
    assert resolver.addresses("four.example.") == [MADE]


def test_a_prefix_for_dns64_alone(start: Start) -> None:
    """It is not followed."""
    resolver = box(start, f"dns64-prefix {SECOND}/96\n")
    assert advertised(told(resolver, pref64(FIRST))) == {SECOND: 1800}
    assert resolver.addresses("four.example.") == [OTHER]


def test_names_with_both_kinds_of_records(start: Start) -> None:
    """IPv6 is there: `dns64.always` is off without being named."""
    resolver = box(start, f"clat.prefix {FIRST}/96\n")
    told(resolver)
    assert resolver.addresses("dual.example.") == ["2001:db8:f::7"]
    hear(resolver.gateway, prefix(), lifetime=0)
    assert resolver.addresses("dual.example.") == ["2001:db8:f::7"]


def test_wkp_strict(start: Start) -> None:
    resolver = box(start)
    told(resolver, pref64("64:ff9b::"))
    assert resolver.addresses("four.example.") == []  # 203.0.113.0/24 is for documentation
