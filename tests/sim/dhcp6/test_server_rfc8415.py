# SPDX-License-Identifier: BSD-2-Clause
"""The stateless DHCPv6 server of the inside: RFC 8415 sections 16.12 and 18.3.6, options of RFC 3646."""

from __future__ import annotations

import pytest
from delegation import (
    CLIENT_ID,
    DELEGATED,
    DNS,
    IA_NA,
    INFORMATION,
    REPLY,
    SEARCH,
    SERVER_ID,
    SOLICIT,
    Server6,
    Start,
    Uplink6,
    association,
    begin,
    option,
    options,
)
from gateway import LAN, PORT_MAC, Sent
from net6 import Host6, solicit
from scapy.layers.inet6 import UDP, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

pytestmark = pytest.mark.virtual
CONFIG = DELEGATED + "serve dns\nnameserver 198.51.100.53\ndns64.cache 2000\nlan.dnssl home.test\n"
OWN = bytes.fromhex("20010db800a000000000000000000001")
LOCAL, MAC = "fe80::77", "02:00:00:00:00:77"
ME = option(CLIENT_ID, bytes.fromhex("000300010200000000" + "77"))
WISH = option(6, bytes([0, DNS, 0, SEARCH]))


def ask(uplink: Uplink6, body: bytes, kind: int = INFORMATION, to: str = "ff02::1:2") -> list[Sent]:
    """The answers to a message of a host."""
    frame = (Ether(src=MAC, dst="33:33:00:01:00:02" if to.startswith("ff") else PORT_MAC[LAN])
             / IPv6(src=LOCAL, dst=to) / UDP(sport=546, dport=547) / Raw(bytes([kind, 1, 2, 3]) + body))
    gateway = uplink.gateway
    sent = gateway.send(LAN, frame) + gateway.wait(0.1)
    return [one for one in sent if one.port == LAN and UDP in one.frame and one.frame[UDP].sport == 547]


def told(answer: Sent) -> dict[int, bytes]:
    data = bytes(answer.frame[UDP].payload)
    assert (data[0], data[1:4]) == (REPLY, bytes([1, 2, 3]))
    return dict(options(data[4:]))


@pytest.fixture
def uplink(start: Start) -> Uplink6:
    return begin(start, Server6(), config=CONFIG)


def answered(uplink: Uplink6, body: bytes, **how: object) -> list[Sent]:
    """Answers, also those that wait for the host's MAC address."""
    host = Host6(LAN, LOCAL, LOCAL, MAC)
    uplink.gateway.send(LAN, Ether(src=MAC, dst=PORT_MAC[LAN]) / solicit(host, "2001:db8:a0::1"))
    return ask(uplink, body, **how)  # type: ignore[arg-type]


def test_s1836_what_a_host_asks_for(uplink: Uplink6) -> None:
    """The same as in router advertisements: our address, and the search list; the identifiers of both."""
    answer, = answered(uplink, ME + WISH)
    found = told(answer)
    assert found[DNS] == OWN and b"\x04home\x04test\x00" in found[SEARCH]
    assert option(CLIENT_ID, found[CLIENT_ID]) == ME and found[SERVER_ID]
    assert answer.ip6.dst == LOCAL and answer.frame[UDP].dport == 546
    assert uplink.gateway.stats()["dhcp6_answered"] == 1


def test_s1836_nothing_but_what_it_asks_for(uplink: Uplink6) -> None:
    answer, = answered(uplink, option(6, bytes([0, DNS])))
    assert set(told(answer)) == {SERVER_ID, DNS}


@pytest.mark.parametrize("body", [ME + WISH + association(IA_NA, 1, b""), ME + option(SERVER_ID, b"\0\3\0\1abcdef"),
                                  ME + WISH + b"\0\6\0\xff", b"\0", option(CLIENT_ID, bytes(131))],
                         ids=["address", "other-server", "cut", "one-byte", "long-identifier"])
def test_s1612_odd_questions(uplink: Uplink6, body: bytes) -> None:
    assert answered(uplink, body) == []
    assert uplink.gateway.drops()["dhcp6-bad"] == 1 and uplink.gateway.stats()["dhcp6_answered"] == 0


def test_s184_no_addresses(uplink: Uplink6) -> None:
    """Hosts make their addresses themselves: a Solicit has no answer, nor has what is sent to us alone."""
    assert answered(uplink, ME + WISH, kind=SOLICIT) == []
    assert answered(uplink, ME + WISH, to="2001:db8:a0::1") == []
    assert uplink.gateway.drops()["dhcp6-not-served"] >= 1 and uplink.gateway.stats()["dhcp6_answered"] == 0
