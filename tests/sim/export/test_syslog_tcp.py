# SPDX-License-Identifier: BSD-2-Clause
"""Syslog over TCP: RFC 6587 section 3.4.1 (octet counting); and the time of messages."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field

import pytest
from collector import SERVER, SERVER_MAC, Message, message, messages
from gateway import INSIDE, PORT_MAC, WAN, A, Gateway, Sent
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from uplink import Start

pytestmark = pytest.mark.virtual
OURS, PORT = "203.0.113.2", 601
BASE = (f"lan.address {INSIDE}/24\nwan.address {OURS}/24\ngateway 203.0.113.1\n"
        f"neighbour 203.0.113.1 52:54:00:00:02:01\nneighbour {A.ip} {A.mac}\nneighbour {SERVER} {SERVER_MAC}\n"
        "nat.sessions 4096\n")
CONFIG = BASE + f"syslog tcp:{SERVER}:{PORT}\nnat.log sessions\n"


@dataclass
class Server:
    """A syslog server. `refuses` answers with a reset, `silent` not at all; `window` is what it offers."""

    gateway: Gateway
    refuses: bool = False
    silent: bool = False
    window: int = 8192
    data: bytes = b""
    opened: int = 0
    peer: int = 0
    mine: int = 1000
    due: int = 0  # the next sequence number of the gateway
    syns: list[float] = field(default_factory=list)

    def run(self, sent: list[Sent], seconds: float = 0, step: float = 0.1) -> None:
        """Answers what was sent, and what is sent in these seconds."""
        self._answer(sent)
        for _ in range(round(seconds / step)):
            self._answer(self.gateway.wait(step))

    def _answer(self, sent: list[Sent]) -> None:
        while sent:
            more: list[Sent] = []
            for one in sent:
                if one.port == WAN and TCP in one.frame and one.frame[TCP].dport == PORT:
                    reply = self._one(one)
                    if reply is not None:
                        more += self.send(reply)
            sent = more

    def send(self, reply: Packet) -> list[Sent]:
        ip = IP(src=SERVER, dst=OURS)
        return self.gateway.send(WAN, Ether(src=SERVER_MAC, dst=PORT_MAC[WAN]) / ip / reply)

    def segment(self, flags: str) -> Packet:
        return TCP(sport=PORT, dport=self.peer, flags=flags, seq=self.mine, ack=self.due, window=self.window)

    def _one(self, one: Sent) -> Packet | None:
        tcp = one.frame[TCP]
        if "S" in tcp.flags:
            self.syns.append(one.at)
            self.peer, self.due = tcp.sport, (tcp.seq + 1) & 0xffffffff
            if self.refuses:
                return self.segment("RA")
            if self.silent:
                return None
            self.opened += 1
            self.data = b""
            self.mine += 100000
            answer = self.segment("SA")
            self.mine += 1
            return answer
        length = one.frame[IP].len - 20 - tcp.dataofs * 4
        if self.silent or tcp.sport != self.peer or "R" in tcp.flags or length == 0 or tcp.seq != self.due:
            return None
        self.data += bytes(tcp.payload)[:length]
        self.due = (self.due + length) & 0xffffffff
        return self.segment("A")

    def read(self) -> list[Message]:
        """The messages of this connection; all are whole."""
        found, rest = [], self.data
        while rest:
            count = re.match(rb"([1-9]\d*) ", rest)
            assert count, rest[:20]
            end = count.end() + int(count[1])
            assert end <= len(rest)
            found.append(message(rest[count.end():end]))
            rest = rest[end:]
        return found


def note(gateway: Gateway, i: int = 0) -> list[Sent]:
    return (gateway.change(f"route add 10.99.{i}.0/24 via 203.0.113.1")
            + gateway.change(f"route del 10.99.{i}.0/24"))


def begin(start: Start, **options: bool) -> Server:
    gateway = start(CONFIG)
    server = Server(gateway, **options)  # type: ignore[arg-type]
    server.run(gateway.hello + note(gateway), 3)
    return server


def test_rfc6587_octet_counting(start: Start) -> None:
    server = begin(start)
    assert server.opened == 1 and "route 10.99.0.0/24 via 203.0.113.1 added" in [one.text for one in server.read()]
    packet = IP(src=A.ip, dst="198.51.100.7") / UDP(sport=5000, dport=53) / Raw(b"x")
    server.run(server.gateway.lan(packet), 1)
    (event,) = [one for one in server.read() if one.id == "session"]
    assert event.data["inside"] == A.ip
    assert server.gateway.lines("receivers") == [f"syslog tcp {SERVER} port {PORT} connected, 0 lost"]
    assert server.gateway.stats()["syslog_connections"] == 1


def test_nothing_to_say_opens_no_connection(start: Start) -> None:
    gateway = start(CONFIG)
    server = Server(gateway)
    server.run(gateway.hello, 5)
    assert not server.syns


@pytest.mark.parametrize("how", ["refuses", "silent"])
def test_a_server_that_is_not_there(start: Start, how: str) -> None:
    """It is asked again, later each time, a minute at most; the log waits and comes when it is back."""
    server = begin(start, **{how: True})
    server.run([], 400, 0.5)
    tries = [b - a for a, b in zip(server.syns, server.syns[1:])]
    assert 5 <= len(server.syns) <= 60 and max(tries) < 100
    server.refuses = server.silent = False
    server.run([], 140, 0.5)
    texts = [one.text for one in server.read()]
    assert "route 10.99.0.0/24 via 203.0.113.1 added" in texts
    assert any("no connection" in text for text in texts) and server.gateway.stats()["syslog_lost"] == 0


def test_a_slow_server_loses_nothing_that_fits(start: Start) -> None:
    """It offers little, then nothing for a while."""
    server = begin(start)
    server.window = 0
    for i in range(1, 110):
        server.run(note(server.gateway, i))
    server.run([], 5)
    assert len(server.data) < 8192 and server.gateway.stats()["syslog_lost"] == 0
    server.window = 4096
    server.run(server.send(server.segment("A")), 60, 0.5)
    texts = [one.text for one in server.read()]
    assert {f"route 10.99.{i}.0/24 via 203.0.113.1 added" for i in range(1, 110)} <= set(texts)


def test_the_server_starts_again(start: Start) -> None:
    """It resets the connection, or closes it: another one is opened, and what comes after it arrives."""
    server = begin(start)
    for i, flags in ((1, "RA"), (2, "FA")):
        server.run(server.send(server.segment(flags)), 5)
        server.run(note(server.gateway, i), 5)
        assert server.opened == i + 1
        assert f"route 10.99.{i}.0/24 via 203.0.113.1 added" in [one.text for one in server.read()]


def test_forged_segments_are_not_heard(start: Start) -> None:
    """What a server says is thrown away, whatever it is."""
    server = begin(start)
    server.run(server.send(server.segment("PA") / Raw(b"<34>1 - - - - - -\n" * 60)), 1)
    server.mine += 60 * 18
    server.run(note(server.gateway, 7), 1)
    assert server.read()[-1].text == "route 10.99.7.0/24 removed" and server.opened == 1


def test_rfc5424_section_6_2_3_the_time(start: Start) -> None:
    """Once the time of day is known messages have it, with milliseconds."""
    gateway = start(BASE + f"syslog {SERVER}\ntime-server {SERVER}\n")
    question = None
    for _ in range(20):
        found = [one for one in gateway.wait(0.1) if UDP in one.frame and one.frame[UDP].dport == 123]
        question = question or (found[0] if found else None)
    assert question
    told = 2208988800 + 1795455000  # 2026-11-23T17:30:00Z
    data = bytes((0x24, 2, 6, 0xec)) + bytes(20) + bytes(question.frame[UDP].payload)[40:48] + struct.pack(
        "!IIII", told, 0, told, 0)
    sent = gateway.send(WAN, Ether(src=SERVER_MAC, dst=PORT_MAC[WAN]) / IP(src=SERVER, dst=OURS)
                        / UDP(sport=123, dport=question.frame[UDP].sport) / Raw(data))
    found2 = messages(sent + gateway.wait(1) + note(gateway) + gateway.wait(1))
    assert all(re.fullmatch(r"2026-11-23T17:30:0\d\.\d{3}Z", one.time) for one in found2) and len(found2) >= 2
    assert not any("2026" in one.text.removeprefix("time 2026-11-23T17:30:0") for one in found2)
