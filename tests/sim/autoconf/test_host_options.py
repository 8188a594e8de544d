# SPDX-License-Identifier: BSD-2-Clause
"""What the WAN's routers say about DNS servers (RFC 8106) and NAT64 (RFC 8781)."""

from __future__ import annotations

import struct
from ipaddress import IPv6Address

import pytest
from scapy.packet import Raw
from uplink import FOREVER, R2, Start, begin, hear, learned

pytestmark = pytest.mark.virtual

DNS = "2001:db8:53::1"


def rdnss(*servers: str, lifetime: int = 600, length: int | None = None) -> Raw:
    size = 1 + 2 * len(servers) if length is None else length
    body = b"".join(IPv6Address(server).packed for server in servers)
    return Raw((struct.pack("!BBHI", 25, size, 0, lifetime) + body)[:8 * size])


def pref64(net: str = "64:ff9b::", code: int = 0, *, lifetime: int = 600, length: int = 2) -> Raw:
    body = struct.pack("!BBH", 38, length, lifetime // 8 << 3 | code) + IPv6Address(net).packed[:12]
    return Raw((body + bytes(16))[:8 * length])


def test_rfc8106_s51_servers_come_and_go(start: Start) -> None:
    gateway = begin(start)
    hear(gateway, rdnss(DNS, "2001:db8:53::2", lifetime=100))
    assert [line.split()[0] for line in learned(gateway, "nameserver")] == [DNS, "2001:db8:53::2"]
    hear(gateway, rdnss(DNS, lifetime=0))
    assert [line.split()[0] for line in learned(gateway, "nameserver")] == ["2001:db8:53::2"]
    gateway.wait(100)
    assert learned(gateway, "nameserver") == []


def test_rfc8106_s51_forever(start: Start) -> None:
    gateway = begin(start)
    hear(gateway, rdnss(DNS, lifetime=FOREVER))
    gateway.leap(400 * 86400, 20)
    assert learned(gateway, "nameserver") == [f"{DNS} for ever"]


@pytest.mark.parametrize("option", [rdnss(DNS, length=2), rdnss(DNS, "::1", length=4), rdnss("fe80::1"),
                                    rdnss("ff02::1"), rdnss("::"), rdnss(length=1)])
def test_rfc8106_s51_malformed(start: Start, option: Raw) -> None:
    """Lengths that are no number of addresses; and servers that a host of the Internet cannot be."""
    gateway = begin(start)
    hear(gateway, option)
    assert learned(gateway, "nameserver") == [] and learned(gateway, "router") != []


def test_more_servers_than_there_is_room_for(start: Start) -> None:
    """The first ones stay, until the router that named them is gone."""
    gateway = begin(start)
    hear(gateway, rdnss(*(f"2001:db8:53::{i}" for i in range(1, 7)), lifetime=FOREVER), lifetime=100)
    assert len(learned(gateway, "nameserver")) == 4 and gateway.stats()["autoconf_refused"] == 2
    hear(gateway, rdnss(DNS + "1", lifetime=600), router=R2)
    assert DNS + "1" not in "\n".join(learned(gateway, "nameserver"))
    gateway.wait(100)
    hear(gateway, rdnss(DNS + "1", lifetime=600), router=R2)
    assert DNS + "1" in "\n".join(learned(gateway, "nameserver"))


@pytest.mark.parametrize(("code", "length"), [(0, 96), (1, 64), (2, 56), (3, 48), (4, 40), (5, 32)])
def test_rfc8781_s4_prefixes(start: Start, code: int, length: int) -> None:
    gateway = begin(start)
    hear(gateway, pref64("2001:db8::", code, lifetime=640))
    assert learned(gateway, "pref64") in ([f"2001:db8::/{length} 639 s"], [f"2001:db8::/{length} 640 s"])
    hear(gateway, pref64("2001:db8::", code, lifetime=0))
    assert learned(gateway, "pref64") == []


@pytest.mark.parametrize("option", [pref64(code=6), pref64(code=7), pref64(length=1), pref64(length=3),
                                    pref64("fe80::"), pref64("ff00::"), pref64("2001:db8:0:0:100::")])
def test_rfc8781_s4_malformed(start: Start, option: Raw) -> None:
    gateway = begin(start)
    hear(gateway, option)
    assert learned(gateway, "pref64") == []


def test_rfc8781_s4_the_longest_lifetime(start: Start) -> None:
    gateway = begin(start)
    hear(gateway, pref64(lifetime=65528))
    assert int(learned(gateway, "pref64")[0].split()[1]) in (65527, 65528)
    gateway.wait(65530)
    assert learned(gateway, "pref64") == []
