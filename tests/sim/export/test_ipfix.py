# SPDX-License-Identifier: BSD-2-Clause
"""The NAT's events as IPFIX: RFC 7011, RFC 8158."""

from __future__ import annotations

import calendar
from typing import Any

import pytest
from collector import IPFIX, SERVER, SERVER_MAC, Collector, datagrams
from gateway import INSIDE, PORT_MAC, WAN, A, Sent
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from simulator import Refused
from six4 import MAC, PREFIX, SIX, six_of
from uplink import Start

pytestmark = pytest.mark.virtual
OURS, FAR = "203.0.113.2", "198.51.100.7"
BASE = (f"lan.address {INSIDE}/24\nwan.address {OURS}/24\ngateway 203.0.113.1\n"
        "neighbour 203.0.113.1 52:54:00:00:02:01\n"
        f"neighbour {A.ip} {A.mac}\nneighbour {SERVER} {SERVER_MAC}\nipfix {SERVER}\n")
NAT = BASE + "nat.sessions 4096\nnat.log sessions\nnat.udp-timeout 10\n"
NAT64 = (BASE + f"lan.address 2001:db8:1::1/64\nneighbour {SIX} {MAC[SIX]}\nnat64.sessions 4096\nnat64.log sessions\n"
         f"nat64.prefix {PREFIX}\nnat64.udp-timeout 120\nwkp-strict off\n")
NAT44_CREATE, NAT44_DELETE, NAT64_CREATE, NAT64_DELETE = 4, 5, 6, 7  # RFC 8158 section 5.2
NOW = calendar.timegm((2026, 11, 23, 17, 30, 0))


def udp(sport: int = 5000) -> Packet:
    return IP(src=A.ip, dst=FAR) / UDP(sport=sport, dport=53) / Raw(b"x")


def many(sports: range) -> list[tuple[str, bytes]]:
    """The frames of datagrams from these ports, made quickly."""
    frame = Ether(src=A.mac, dst=PORT_MAC["lan"]) / udp(1)
    frame[UDP].chksum = 0
    raw = bytes(frame)
    return [("lan", raw[:34] + sport.to_bytes(2, "big") + raw[36:]) for sport in sports]


def hear(collector: Collector, sent: list[Sent]) -> int:
    found = datagrams(sent, IPFIX)
    for data in found:
        assert len(data) <= 1232  # fits into the least MTU of IPv6
        collector.hear(data)
    return len(found)


def test_rfc8158_section_5_nat44(start: Start) -> None:
    gateway, collector = start(NAT), Collector()
    sent = gateway.lan(udp())
    port = next(one.ip[UDP].sport for one in sent if one.port == WAN and one.frame[UDP].dport == 53)
    assert hear(collector, sent + gateway.wait(1)) == 1
    begin = {"event": NAT44_CREATE, "proto": 17, "inside": A.ip, "in_port": 5000, "outside": OURS, "out_port": port}
    hear(collector, gateway.wait(15))
    first, last = collector.records
    assert {name: first[name] for name in begin} == begin
    assert {name: last[name] for name in begin} == begin | {"event": NAT44_DELETE}
    assert 10_000 <= last["ms"] - first["ms"] <= 13_000  # type: ignore[operator]
    assert collector.missing == 0 and len(collector.domains) == 1 and 0 not in collector.domains


@pytest.mark.parametrize(("packet", "proto", "port"), [
    (TCP(sport=1000, dport=80, flags="S"), 6, 1000), (ICMP(type=8, id=77), 1, 77), (Raw(bytes(20)), 47, 0)])
def test_other_protocols(start: Start, packet: Any, proto: int, port: int) -> None:
    gateway, collector = start(NAT), Collector()
    ip = IP(src=A.ip, dst=FAR, **({} if port else {"proto": proto}))
    hear(collector, gateway.lan(ip / packet) + gateway.wait(1))
    (one,) = collector.records
    assert (one["proto"], one["in_port"]) == (proto, port) and (one["out_port"] == 0) == (port == 0)


def test_rfc8158_section_5_nat64(start: Start) -> None:
    """Hosts of both kinds, in one message: a set for each kind (RFC 7011 section 3.3.2)."""
    gateway, collector = start(NAT64, "nat64"), Collector()
    sent = gateway.lan(udp())
    for sport in (6000, 6001):
        packet = IPv6(src=SIX, dst=six_of(FAR)) / UDP(sport=sport, dport=53) / Raw(b"x")
        sent += gateway.send("lan", Ether(src=MAC[SIX], dst=PORT_MAC["lan"]) / packet)
    sent += gateway.lan(udp(5001)) + gateway.wait(1)
    assert hear(collector, sent) == 1
    assert [(one["event"], one["inside"], one["in_port"]) for one in collector.records] == [
        (NAT44_CREATE, A.ip, 5000), (NAT64_CREATE, SIX, 6000), (NAT64_CREATE, SIX, 6001), (NAT44_CREATE, A.ip, 5001)]
    assert all(one["outside"] == OURS for one in collector.records)
    hear(collector, gateway.wait(130))
    assert sorted(one["event"] for one in collector.records[4:]) == [  # type: ignore[type-var]
        NAT44_DELETE, NAT44_DELETE, NAT64_DELETE, NAT64_DELETE]


def test_rfc7011_section_8_4_templates_again(start: Start) -> None:
    """A collector that was started later learns them within a minute of traffic."""
    gateway, collector = start(NAT), Collector()
    for i in range(30):
        hear(collector, gateway.lan(udp(7000 + i)) + gateway.wait(5))
    assert 2 <= collector.told <= 4
    assert collector.missing == 0 and len(collector.records) >= 50


def test_a_burst(start: Start) -> None:
    """Full messages, and none of the two thousand events is lost."""
    gateway, collector = start(NAT, packets=4096), Collector()
    sent: list[Sent] = []
    for first in range(0, 2000, 100):
        batch = many(range(10000 + first, 10100 + first))
        sent += [one for some in gateway.send_many(batch) for one in some]
    assert hear(collector, sent + gateway.wait(2)) < 100
    assert sorted(one["in_port"] for one in collector.records) == list(range(10000, 12000))  # type: ignore[type-var]
    stats = gateway.stats()
    assert (stats["ipfix_records"], stats["ipfix_lost"], collector.missing) == (2000, 0, 0)


def test_what_is_lost_is_counted(start: Start) -> None:
    """The ring keeps 16,384 events of a collector that cannot be reached."""
    gateway, collector = start(NAT.replace(f"ipfix {SERVER}", "ipfix 198.18.0.9").replace("gateway 203.0.113.1\n",
                               "route 198.51.100.0/24 via 203.0.113.1\n"), packets=4096), Collector()
    for _ in range(5):
        for first in range(0, 2000, 500):
            gateway.send_many(many(range(10000 + first, 10500 + first)))
        gateway.wait(15)
    gateway.wait(2)
    assert gateway.stats()["nat_sessions_created"] == 10000
    sent = gateway.change("route add 198.18.0.0/24 via 203.0.113.1") + gateway.wait(5)
    hear(collector, sent)
    stats = gateway.stats()
    assert stats["ipfix_lost"] == 20000 - 16384 and len(collector.records) == 16384 == stats["ipfix_records"]
    assert gateway.lines("receivers") == [f"ipfix 198.18.0.9 port 4739 sending, {stats['ipfix_lost']} lost"]


@pytest.mark.parametrize("value", ["", "x", "tcp:192.0.2.1", f"{SERVER}:0", "[::1]", "224.0.0.1", f"{SERVER}:x"])
def test_collectors_that_are_none(start: Start, value: str) -> None:
    with pytest.raises(Refused, match="ipfix"):
        start(BASE.replace(f"ipfix {SERVER}", f"ipfix {value}"))
