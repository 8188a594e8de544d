# SPDX-License-Identifier: BSD-2-Clause
"""Blocks of ports as they are told, by syslog and IPFIX (RFC 8158), and what tools/whohad reads from that."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from collector import IPFIX, SERVER, SERVER_MAC, Collector, datagrams, message
from gateway import INSIDE, PORT_MAC, WAN, A, B, Sent
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from six4 import MAC, PREFIX, SIX, six_of
from uplink import Start

pytestmark = pytest.mark.virtual
OURS, FAR, NEW = "203.0.113.2", "198.51.100.7", "203.0.113.3"
WHOHAD = Path(__file__).resolve().parents[3] / "tools" / "whohad"
BASE = (f"lan.address {INSIDE}/24\nwan.address {OURS}/24\ngateway 203.0.113.1\n"
        "neighbour 203.0.113.1 52:54:00:00:02:01\n"
        f"neighbour {A.ip} {A.mac}\nneighbour {B.ip} {B.mac}\n"
        f"neighbour {SERVER} {SERVER_MAC}\nsyslog {SERVER}\nipfix {SERVER}\n")
NAT = BASE + "nat.sessions 4096\nnat.blocks 64\nnat.log blocks\nnat.udp-timeout 10\n"
NAT64 = (BASE + f"lan.address 2001:db8:1::1/64\nneighbour {SIX} {MAC[SIX]}\nnat64.sessions 4096\nnat64.log blocks\n"
         f"nat64.blocks 64\nnat64.host-length 128\nnat64.prefix {PREFIX}\nnat64.udp-timeout 120\nwkp-strict off\n")
BLOCK_BEGINS, BLOCK_ENDS = 16, 17  # RFC 8158 section 4.3: address and port block allocation
FIRST = 1024 + 9 * 64  # of host A, 192.168.1.10


class Told:
    """Both receivers; each has heard the same."""

    def __init__(self) -> None:
        self.collector = Collector()
        self.syslog: list[bytes] = []

    def hear(self, sent: list[Sent]) -> list[dict[str, Any]]:
        """The new events, as IPFIX tells them."""
        before = len(self.collector.records)
        for data in datagrams(sent, IPFIX):
            self.collector.hear(data)
        self.syslog += (raw := [data for data in datagrams(sent, 514) if b"@32473" in data])
        new = self.collector.records[before:]
        said = [message(data).data for data in raw]
        assert [(one["event"], one["inside"], one["outside"], int(one["first"]), int(one["last"])) for one in said] == [
            ("begin" if one["event"] == BLOCK_BEGINS else "end", one["inside"], one["outside"], one["first"],
             one["last"]) for one in new]
        return new


def settled(gateway: Any) -> Any:
    """The same, when the log lines of its start have been sent."""
    for _ in range(3):
        gateway.wait(1)
    return gateway


def udp(sport: int = 5000, src: str = A.ip) -> IP:
    return IP(src=src, dst=FAR) / UDP(sport=sport, dport=53) / Raw(b"x")


def events(found: list[dict[str, Any]]) -> list[tuple[int, str, str, int]]:
    return [(one["event"], one["inside"], one["outside"], one["first"]) for one in found]


def test_rfc6888_req14_one_record_for_a_block(start: Start) -> None:
    """Fifty sessions of a host are one event, when the first begins, and one when the last has ended."""
    gateway, told = settled(start(NAT)), Told()
    sent = [one for i in range(50) for one in gateway.lan(udp(5000 + i))]
    (begin,) = told.hear(sent + gateway.wait(1))
    assert (begin["event"], begin["inside"], begin["outside"]) == (BLOCK_BEGINS, A.ip, OURS)
    assert (begin["first"], begin["last"]) == (FIRST, FIRST + 63)
    (end,) = told.hear(gateway.wait(15))
    assert {**end, "ms": 0, "event": 0} == {**begin, "ms": 0, "event": 0} and end["event"] == BLOCK_ENDS
    assert 10_000 <= end["ms"] - begin["ms"] <= 13_000
    assert told.collector.missing == 0


def test_hosts_of_both_kinds(start: Start) -> None:
    """A host with IPv6 has a free block; one with IPv4 its own."""
    gateway, told = start(NAT64, "nat64"), Told()
    gateway.wait(4)
    six = IPv6(src=SIX, dst=six_of(FAR)) / UDP(sport=6000, dport=53) / Raw(b"x")
    sent = gateway.lan(udp()) + gateway.send("lan", Ether(src=MAC[SIX], dst=PORT_MAC["lan"]) / six)
    port = next(one.ip[UDP].sport for one in sent if one.port == WAN and UDP in one.frame and one.ip.dst == FAR
                and one.ip[UDP].sport >= 1024 + 254 * 64)
    four, other = told.hear(sent + gateway.wait(1))
    assert events([four]) == [(BLOCK_BEGINS, A.ip, OURS, FIRST)]
    assert (other["inside"], other["outside"]) == (SIX, OURS) and other["first"] <= port <= other["last"]
    assert len(told.hear(gateway.wait(130))) == 2


def test_another_outer_address(start: Start) -> None:
    """The host's block of the old address ends, and one of the new begins with the next session."""
    gateway, told = settled(start(NAT)), Told()
    told.hear(gateway.lan(udp()) + gateway.wait(1))
    gateway.change(f"address add {WAN} {NEW}/24")
    found = told.hear(gateway.change(f"address del {WAN} {OURS}") + gateway.wait(1))
    assert events(found) == [(BLOCK_ENDS, A.ip, OURS, FIRST)]
    found = told.hear(gateway.lan(udp(5001)) + gateway.wait(1))
    assert events(found) == [(BLOCK_BEGINS, A.ip, NEW, FIRST)]


def test_a_host_that_is_never_without_a_mapping(start: Start) -> None:
    """A forwarded port's host has its block from the start, and its block moves with the address."""
    gateway, told = start(NAT + f"nat.forward udp 53 {A.ip}:53\n"), Told()
    sent = gateway.hello + gateway.lan(udp())
    told.hear(sent + [one for _ in range(3) for one in gateway.wait(1)])
    gateway.change(f"address add {WAN} {NEW}/24")
    found = told.hear(gateway.change(f"address del {WAN} {OURS}") + gateway.wait(1))
    assert (BLOCK_ENDS, A.ip, OURS, FIRST) in events(found)
    begun = told.hear(gateway.lan(udp(5001)) + gateway.wait(1))
    assert (BLOCK_BEGINS, A.ip, NEW, FIRST) in events(found + begun)


def whohad(log: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run([WHOHAD, "--log", log, *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize("kind", ["blocks", "sessions"])
def test_whohad_reads_the_log(start: Start, tmp_path: Path, kind: str) -> None:
    """Two hosts, one after the other; the log is that of a server which writes what it gets after its own time."""
    gateway, told = settled(start(NAT.replace("nat.log blocks", f"nat.log {kind}"))), Told()
    lines, ports = [], {}
    for minute, host in ((3, A), (4, B)):
        sent = gateway.ip_from(host, udp(5000, host.ip))
        ports[host] = next(one.ip[UDP].sport for one in sent if one.port == WAN and one.ip.dst == FAR)
        for second, part in ((0, sent + gateway.wait(1)), (30, gateway.wait(15))):
            lines += [f"2026-11-22T14:0{minute}:{second:02}Z {data.decode()}" for data in datagrams(part, 514)]
    log = tmp_path / "log"
    log.write_text("\n".join(lines) + "\n")
    for minute, host in ((3, A), (4, B)):
        status, text = whohad(log, f"{OURS}:{ports[host]}", f"2026-11-22T14:0{minute}:10Z")
        assert status == 0 and text.startswith(host.ip) and f"14:0{minute}:00" in text and f"14:0{minute}:30" in text
        assert whohad(log, f"{OURS}:{ports[host]}", f"2026-11-22T14:0{7 - minute}:10Z")[0] == 1
    assert told is not None
