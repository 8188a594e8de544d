# SPDX-License-Identifier: BSD-2-Clause
"""A client of the gateway's HTTP server in virtual time, and a strict reader of its answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from gateway import LAN, A, Gateway, Host
from net6 import Host6
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from stream import Stream

OWN = "192.168.1.1"


@dataclass
class Answer:
    status: int
    fields: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("ascii")


def read_chunks(data: bytes) -> tuple[bytes, bytes]:
    """The body of chunks (RFC 9112 section 7.1) at the front of data, and what follows it."""
    body = b""
    while True:
        line, end, rest = data.partition(b"\r\n")
        assert end, f"no chunk: {data[:40]!r}"
        size = int(line, 16)
        assert rest[size:size + 2] == b"\r\n"
        body += rest[:size]
        data = rest[size + 2:]
        if size == 0:
            return body, data


def read_answers(data: bytes, closed: bool, bare: int = 0) -> list[Answer]:
    """All answers of a stream; every byte belongs to one. The first `bare` have no body."""
    found = []
    while data:
        head, end, data = data.partition(b"\r\n\r\n")
        assert end, f"the head is not complete: {head!r}"
        first, *lines = head.decode("ascii").split("\r\n")
        version, code, reason = first.split(" ", 2)
        assert version == "HTTP/1.1" and reason
        fields = {}
        for line in lines:
            name, colon, value = line.partition(": ")
            assert colon and name.lower() not in fields, line
            fields[name.lower()] = value
        if len(found) < bare:
            body = b""
        elif "content-length" in fields:
            assert "transfer-encoding" not in fields
            size = int(fields["content-length"])
            body, data = data[:size], data[size:]
            assert len(body) == size
        elif "transfer-encoding" in fields:
            body, data = read_chunks(data)
        else:
            assert closed, "nothing says where the body ends"
            body, data = data, b""
        found.append(Answer(int(code), fields, body))
    return found


@dataclass
class Web:
    """Clients inside of a gateway."""

    gateway: Gateway
    streams: list[Stream] = field(default_factory=list)
    sport: int = 20000

    def deliver(self, sent: list) -> None:
        """Gives frames to the clients' ends, and their answers to the gateway, until nothing moves."""
        while sent:
            answers = []
            for one in sent:
                frame = one.frame
                if TCP not in frame:
                    continue
                layer = frame[IP] if IP in frame else frame[IPv6]
                for stream in self.streams:
                    if (one.port, layer.dst, layer.src, frame[TCP].dport) == (
                            stream.port, stream.local, stream.remote, stream.sport):
                        answers += [(stream.port, data) for data in stream.take(frame[TCP])]
            sent = [one for port, data in answers for one in self.gateway.send(port, Ether(data))]

    def put(self, stream: Stream, *frames: bytes) -> None:
        for frame in frames:
            self.deliver(self.gateway.send(stream.port, Ether(frame)))

    def open(self, client: Host | Host6 = A, to: str = OWN, port: str = LAN, **how: int) -> Stream:
        self.sport += 1
        stream = Stream(port, client.mac, client.ip, to, self.sport, 80, **how)
        self.streams.append(stream)
        self.put(stream, stream.segment("S"))
        return stream

    def say(self, stream: Stream, data: bytes, size: int = 1000) -> None:
        """Sends data in segments of a size; what is longer than the window as the window allows."""
        if len(data) > 3000:
            self.put(stream, *stream.give(data))
            return
        for at in range(0, len(data), size):
            self.put(stream, stream.segment("PA", data[at:at + size]))

    def wait(self, seconds: float = 0.05, step: float = 0.001) -> None:
        for _ in range(round(seconds / step)):
            self.deliver(self.gateway.wait(step))

    def ask(self, data: bytes, client: Host | Host6 = A, to: str = OWN, seconds: float = 0.3,
            bare: int = 0) -> list[Answer]:
        """Sends bytes on a new connection; gives all answers."""
        stream = self.open(client, to)
        assert stream.ack is not None, "no SYN-ACK"
        self.say(stream, data)
        self.wait(seconds)
        self.streams.remove(stream)
        assert not stream.reset, stream.received
        return read_answers(stream.received, stream.ended, bare)

    def get(self, target: str, host: str = OWN, more: str = "", **how: object) -> Answer:
        [answer] = self.ask(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n".encode(), **how)
        assert answer.fields["connection"] == "close"
        return answer
