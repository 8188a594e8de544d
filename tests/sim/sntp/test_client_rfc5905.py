# SPDX-License-Identifier: BSD-2-Clause
"""The time client: RFC 5905 section 14, RFC 4330, RFC 8633, RFC 9109. Answers are written from the RFCs alone."""

from __future__ import annotations

import calendar
import re
import struct
from typing import Any

import pytest
from gateway import INSIDE, PORT_MAC, WAN, Gateway, Sent
from leases import CONFIG as LEASED
from leases import INFINITE, Server, Start, Uplink, begin, ip
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

pytestmark = pytest.mark.virtual
TO_1970 = 2208988800
NOW = calendar.timegm((2026, 11, 23, 17, 30, 0))
FIRST, SECOND = "203.0.113.77", "203.0.113.78"
MACS = {FIRST: "52:54:00:00:02:77", SECOND: "52:54:00:00:02:78"}
ADDRESSES = f"lan.address {INSIDE}/24\nwan.address 203.0.113.2/24\n"
CONFIG = ADDRESSES + "".join(f"neighbour {address} {mac}\n" for address, mac in MACS.items())
ONE = CONFIG + f"time-server {FIRST}\n"
TWO = ONE + f"time-server {SECOND}\n"


def questions(sent: list[Sent]) -> list[Sent]:
    return [one for one in sent if one.port == WAN and UDP in one.frame and one.frame[UDP].dport == 123]


def ask(gateway: Gateway, seconds: float = 1) -> Sent:
    """The one question of the next seconds."""
    for _ in range(round(seconds * 10)):
        found = questions(gateway.wait(0.1))
        if found:
            assert len(found) == 1
            return found[0]
    raise AssertionError("no question")


def stamp(seconds: float) -> bytes:
    return struct.pack("!II", int(seconds) & 0xffffffff, int(seconds % 1 * 2**32))


def reply(to: Sent, at: float = NOW, **other: Any) -> Ether:
    """A server's answer; what is given stands in the place of what is right."""
    question = bytes(to.frame[UDP].payload)
    fields = {"first": 0x24, "stratum": 2, "code": b"GPS\0", "origin": question[40:48], "transmit": stamp(at + TO_1970),
              "source": to.frame[IP].dst, "sport": 123, "dport": to.frame[UDP].sport, "cut": 48} | other
    data = bytes((fields["first"], fields["stratum"], 6, 0xec)) + bytes(8) + fields["code"] + bytes(8)
    data += fields["origin"] + fields["transmit"] + fields["transmit"]
    return (Ether(src=to.frame[Ether].dst, dst=PORT_MAC[WAN]) / IP(src=fields["source"], dst=to.frame[IP].src)
            / UDP(sport=fields["sport"], dport=fields["dport"]) / Raw(data[:fields["cut"]]))


def clock(gateway: Gateway) -> str:
    return gateway.lines("clock")[0]


def known(gateway: Gateway) -> int | None:
    """The time of day that the gateway has."""
    found = re.match(r"time (\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)Z from ", clock(gateway))
    return calendar.timegm(tuple(int(part) for part in found.groups())) if found else None  # type: ignore[arg-type]


def test_rfc5905_the_time_is_asked_for_and_told(start: Start) -> None:
    gateway = start(ONE)
    gateway.send(WAN, reply(ask(gateway)))
    assert known(gateway) == NOW
    assert gateway.lines("clock")[1:] == [f"time-server {FIRST}"]
    gateway.leap(100)
    assert known(gateway) in (NOW + 100, NOW + 101, NOW + 102)


def test_log_lines_have_the_date_from_then_on(start: Start) -> None:
    gateway = start(ONE)
    gateway.send(WAN, reply(ask(gateway)))
    *before, last = gateway.lines("log")
    assert re.fullmatch(r"\d+\.\d{3} 2026-11-23T17:30:0\dZ time 2026-11-23T17:30:0\dZ from 203\.0\.113\.77", last)
    assert all(re.match(r"\d+\.\d{3} (?!2026)", line) for line in before)


def test_rfc9109_a_question_tells_nothing(start: Start) -> None:
    """Zeros, but for mode and version, a random timestamp, and a random port."""
    gateway = start(ONE)
    first, second = ask(gateway), ask(gateway, 25)
    for one in (first, second):
        data = bytes(one.frame[UDP].payload)
        assert len(data) == 48 and data[0] == 0x23 and data[1:40] == bytes(39)
    assert bytes(first.frame[UDP].payload)[40:] != bytes(second.frame[UDP].payload)[40:]
    assert first.frame[UDP].sport != second.frame[UDP].sport and first.frame[UDP].sport >= 1024


@pytest.mark.parametrize("wrong", [
    {"cut": 47}, {"first": 0xe4}, {"first": 0x23}, {"first": 0x04}, {"first": 0x2c}, {"stratum": 16},
    {"transmit": bytes(8)}, {"stratum": 0, "code": b"INIT"}, {"transmit": stamp(TO_1970 - 1 + 2**32 * 0)}])
def test_rfc4330_section_5_what_has_no_time(start: Start, wrong: dict[str, Any]) -> None:
    """Short, alarm, a mode or version that none answers with, no stratum, no timestamp, before 1970."""
    gateway = start(ONE)
    to = ask(gateway)
    gateway.send(WAN, reply(to, **wrong))
    assert known(gateway) is None and gateway.drops() == {"sntp-bad": 1}
    gateway.send(WAN, reply(to))  # the question is over
    assert known(gateway) is None
    again = ask(gateway, 17)
    assert again.at - to.at >= 15
    gateway.send(WAN, reply(again))
    assert known(gateway) == NOW


@pytest.mark.parametrize(("wrong", "reason"), [
    ({"origin": bytes(8)}, "sntp-not-ours"), ({"source": SECOND}, "sntp-not-ours"),
    ({"sport": 124}, "sntp-not-ours"), ({"first": 0x24, "origin": stamp(NOW)}, "sntp-not-ours")])
def test_forged_answers_change_nothing(start: Start, wrong: dict[str, Any], reason: str) -> None:
    """The right answer still counts."""
    gateway = start(TWO)
    to = ask(gateway)
    gateway.send(WAN, reply(to, at=NOW + 77, **wrong))
    assert known(gateway) is None and gateway.drops() == {reason: 1}
    gateway.send(WAN, reply(to))
    assert known(gateway) == NOW


def test_rfc4330_section_3_the_era_after_2036(start: Start) -> None:
    later = calendar.timegm((2040, 2, 29, 12, 0, 0))
    gateway = start(ONE)
    gateway.send(WAN, reply(ask(gateway), at=later))
    assert known(gateway) == later and "2040-02-29T12:00:00Z" in clock(gateway)


def test_half_of_the_way_is_added(start: Start) -> None:
    gateway = start(ONE)
    to = ask(gateway)
    gateway.wait(3)
    gateway.send(WAN, reply(to))
    passed = gateway.lines("clock")[0]
    assert known(gateway) in (NOW + 1, NOW + 2), passed


def test_rfc4330_section_10_silence_slows_down(start: Start) -> None:
    """The servers in turn, 15 s between two questions and more each time, at last a quarter of an hour."""
    gateway = start(TWO)
    asked = questions(gateway.wait(3600))
    assert [one.frame[IP].dst for one in asked[:4]] == [FIRST, SECOND, FIRST, SECOND]
    gaps = [after.at - before.at for before, after in zip(asked, asked[1:], strict=False)]
    assert all(gap >= 15 for gap in gaps) and gaps == sorted(gaps) and len(asked) < 12
    gateway.send(WAN, reply(asked[-1]))  # too late
    assert known(gateway) is None


def test_rfc4330_section_10_polls_are_rare(start: Start) -> None:
    gateway = start(ONE)
    for turn in range(4):
        to = ask(gateway, 1 if turn == 0 else 1030)
        gateway.send(WAN, reply(to, at=NOW + turn * 1024))
    assert gateway.stats()["sntp_answers"] == 4


@pytest.mark.parametrize("code", [b"DENY", b"RSTR"])
def test_rfc8633_a_server_that_denies_is_not_asked_again(start: Start, code: bytes) -> None:
    gateway = start(TWO)
    gateway.send(WAN, reply(ask(gateway), stratum=0, code=code))
    asked = questions(gateway.wait(3000))
    assert asked and {one.frame[IP].dst for one in asked} == {SECOND}
    assert any(f"time-server {FIRST} does not want to be asked" in line for line in gateway.lines("log"))


def test_rfc8633_a_forged_denial_is_nothing(start: Start) -> None:
    gateway = start(ONE)
    gateway.send(WAN, reply(ask(gateway), stratum=0, code=b"DENY", origin=bytes(8)))
    assert questions(gateway.wait(30)) and gateway.drops() == {"sntp-not-ours": 1}


def test_rfc8633_a_server_that_wants_fewer_questions(start: Start) -> None:
    gateway = start(ONE)
    gateway.send(WAN, reply(ask(gateway), stratum=0, code=b"RATE"))
    assert questions(gateway.wait(1000)) == []
    gateway.send(WAN, reply(ask(gateway, 60)))
    assert questions(gateway.wait(2000)) == []
    ask(gateway, 60)


def test_rfc8633_half_as_often_each_time(start: Start) -> None:
    """Never sooner than it would have been asked without. Another server is asked meanwhile."""
    gateway = start(ONE)
    gateway.send(WAN, reply(ask(gateway)))
    gateway.leap(1020, 20)
    for gap in (2048, 4096):
        to = ask(gateway, 10)
        gateway.send(WAN, reply(to, stratum=0, code=b"RATE"))
        assert questions(gateway.leap(gap - 5, 40)) == []
        to = ask(gateway, 10)
        gateway.send(WAN, reply(to, at=NOW + to.at))
        assert questions(gateway.leap(gap - 5, 40)) == []
    gateway = start(TWO)
    gateway.send(WAN, reply(ask(gateway), stratum=0, code=b"RATE"))
    other = ask(gateway, 20)
    assert other.frame[IP].dst == SECOND
    gateway.send(WAN, reply(other))
    assert [one.frame[IP].dst for one in questions(gateway.leap(900, 20))] == []


def test_of_many_that_deny_the_oldest_is_forgotten(start: Start) -> None:
    """Leases name other servers again and again: the latest eight stay denied."""
    server = Server(lease=INFINITE)
    stations = {f"203.0.113.{i}": f"52:54:00:00:02:{i:02x}" for i in range(100, 112)}
    uplink = begin(start, server, config=LEASED + "wan.dhcp-probe off\n")
    uplink.stations |= stations
    for first in (100, 104, 108):
        names = [f"203.0.113.{i}" for i in range(first, first + 4)]
        server.options[42] = ip(*names)
        uplink.gateway.act("renew")
        denied: set[str] = set()
        while len(denied) < 4:
            for one in questions(uplink.settle(uplink.gateway.leap(1030, 1))):
                uplink.gateway.send(WAN, reply(one, stratum=0, code=b"DENY"))
                denied.add(one.frame[IP].dst)
        assert denied == set(names)
    asked = [one for _ in range(3) for one in questions(uplink.settle(uplink.gateway.leap(1100, 1)))]
    assert asked == []


def test_a_server_that_is_named_later(start: Start) -> None:
    """`time-server` while it runs, where the start had none."""
    gateway = start(CONFIG)
    assert questions(gateway.wait(30)) == []
    gateway.apply(ONE)
    gateway.send(WAN, reply(ask(gateway, 2)))
    assert known(gateway) == NOW


def test_a_lease_that_names_servers_later(start: Start) -> None:
    """The start had neither `time-server` nor a lease."""
    gateway = start(ADDRESSES + "wan.dhcp-probe off\n")
    assert questions(gateway.wait(30)) == []
    gateway.sources[WAN] = None
    gateway.apply(f"wan.address dhcp\nlan.address {INSIDE}/24\n")
    uplink = Uplink(gateway, Server(options={42: ip("203.0.113.253")}),
                    stations={"203.0.113.253": "52:54:00:00:02:53"})
    asked = questions(uplink.run(9))
    assert asked and {one.frame[IP].dst for one in asked} == {"203.0.113.253"}


def test_a_jump_needs_others_that_say_the_same(start: Start) -> None:
    """One answer that is a day off is not taken, several in a row are."""
    gateway = start(ONE)
    gateway.send(WAN, reply(ask(gateway)))
    off = NOW + 86400
    to = ask(gateway, 1030)
    for turn in range(3):
        gateway.send(WAN, reply(to, at=off))
        assert (known(gateway) or 0) < NOW + 3600, turn
        to = ask(gateway, 200)
    gateway.send(WAN, reply(to, at=off))
    assert known(gateway) == off


def test_a_time_that_goes_back(start: Start) -> None:
    """The next question comes when it is due: no timer follows the time of day."""
    gateway = start(ONE)
    gateway.send(WAN, reply(ask(gateway)))
    to = ask(gateway, 1030)
    gateway.send(WAN, reply(to, at=NOW + 200))
    assert known(gateway) == NOW + 200
    assert 1023 < ask(gateway, 1030).at - to.at < 1025


def test_option_42_names_servers(start: Start) -> None:
    """The servers of the lease, in their order, as long as it lasts."""
    server = Server(options={42: ip("203.0.113.253", "0.0.0.0", "203.0.113.252")})
    uplink = begin(start, server, config=LEASED + "wan.dhcp-probe off\n", seconds=0)
    uplink.stations |= {"203.0.113.253": "52:54:00:00:02:53"}
    asked = questions(uplink.run(4))
    assert [one.frame[IP].dst for one in asked] == ["203.0.113.253"]
    assert uplink.gateway.lines("clock")[1:] == ["time-server 203.0.113.253", "time-server 203.0.113.252"]
    uplink.gateway.send(WAN, reply(asked[0]))
    assert known(uplink.gateway) is not None
    uplink.gateway.act("release")
    assert uplink.gateway.lines("clock")[1:] == []


def test_the_key_counts_before_the_lease(start: Start) -> None:
    server = Server(options={42: ip("203.0.113.253")})
    uplink = begin(start, server, config=LEASED + f"wan.dhcp-probe off\ntime-server {FIRST}\n")
    assert uplink.gateway.lines("clock")[1:] == [f"time-server {FIRST}"]


def test_ipv6_servers(start: Start) -> None:
    mac, to = "52:54:00:00:02:79", "2001:db8:2::123"
    gateway = start(CONFIG + f"lan.address 2001:db8:1::1/64\nwan.address 2001:db8:2::2/64\nneighbour {to} {mac}\n"
                             f"time-server {to}\n")
    gateway.sources[WAN] = None
    asked = questions(gateway.wait(4))
    assert asked and asked[0].frame[IPv6].dst == to


def test_a_bridge_asks_nobody(start: Start) -> None:
    gateway = start(f"time-server {FIRST}\n", "wire")
    assert gateway.wait(60) == []
