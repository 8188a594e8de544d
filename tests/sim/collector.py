# SPDX-License-Identifier: BSD-2-Clause
"""Receivers of logs: syslog messages read by RFC 5424, IPFIX messages by RFC 7011. Written from the RFCs alone."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address

from gateway import WAN, Sent
from scapy.layers.inet import UDP

SYSLOG, IPFIX = 514, 4739
SERVER, SERVER_MAC = "203.0.113.77", "52:54:00:00:02:77"
HEADER = re.compile(r"<(0|[1-9]\d{0,2})>1 (-|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z) "
                    r"(\S{1,255}) (\S{1,48}) (\S{1,128}) "
                    r"(\S{1,32}) (-|\[.*?\](?<!\\\]))(?: (.*))?", re.S)
NAMES = {4: "proto", 7: "in_port", 8: "inside", 27: "inside", 225: "outside", 227: "out_port", 230: "event", 323: "ms",
         361: "first", 362: "last"}


@dataclass
class Message:
    """A syslog message (RFC 5424 section 6)."""

    pri: int
    time: str
    host: str
    process: str
    id: str
    data: dict[str, str]
    text: str


def message(text: bytes) -> Message:
    assert len(text) <= 480  # RFC 5424 section 6.1
    found = HEADER.fullmatch(text.decode("utf-8"))
    assert found, text
    pri, time, host, app, process, kind, data, rest = found.groups()
    assert app == "baregate" and int(pri) <= 191
    values = dict(re.findall(r' (\w+)="((?:[^"\\\]]|\\.)*)"', data))
    return Message(int(pri), time, host, process, kind, values, rest or "")


def datagrams(sent: list[Sent], port: int) -> list[bytes]:
    """What left by the WAN for this port of the server."""
    return [bytes(one.frame[UDP].payload) for one in sent
            if one.port == WAN and UDP in one.frame and one.frame[UDP].dport == port]


def messages(sent: list[Sent], kind: str | None = None, port: int = SYSLOG) -> list[Message]:
    found = [message(data) for data in datagrams(sent, port)]
    return [one for one in found if kind is None or one.id == kind]


@dataclass
class Collector:
    """Reads IPFIX messages in their order, with the templates that it has heard."""

    templates: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    records: list[dict[str, object]] = field(default_factory=list)
    domains: set[int] = field(default_factory=set)
    times: list[int] = field(default_factory=list)
    told: int = 0  # sets of templates
    missing: int = 0

    def hear(self, data: bytes) -> None:
        version, length, time, sequence, domain = struct.unpack_from("!HHIII", data)
        assert version == 10 and length == len(data)
        self.missing += (sequence - len(self.records) - self.missing) & 0xffffffff
        self.domains.add(domain)
        self.times.append(time)
        at = 16
        while at < length:
            number, size = struct.unpack_from("!HH", data, at)
            assert size >= 4 and at + size <= length
            (self._template if number == 2 else self._data)(number, data[at + 4:at + size])
            at += size
        assert at == length

    def _template(self, _: int, data: bytes) -> None:
        self.told += 1
        at = 0
        while at < len(data):
            number, n = struct.unpack_from("!HH", data, at)
            assert number >= 256
            self.templates[number] = [struct.unpack_from("!HH", data, at + 4 + 4 * i) for i in range(n)]
            at += 4 + 4 * n
        assert at == len(data)

    def _data(self, number: int, data: bytes) -> None:
        fields = self.templates[number]
        size = sum(n for _, n in fields)
        assert len(data) % size == 0
        for at in range(0, len(data), size):
            one: dict[str, object] = {}
            for element, n in fields:
                value = data[at:at + n]
                at += n
                address = {4: IPv4Address, 16: IPv6Address}.get(n) if element in (8, 27, 225) else None
                one[NAMES[element]] = str(address(value)) if address else int.from_bytes(value, "big")
            self.records.append(one)
