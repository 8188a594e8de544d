# SPDX-License-Identifier: BSD-2-Clause
"""One end of a TCP connection to the gateway: a host that follows RFC 9293 as far as a test needs it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address

from gateway import PORT_MAC
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

MSS = 1000


@dataclass
class Stream:
    """`local`:`sport` on the interface `port` of the gateway talks to `remote`:`dport`, one of the gateway's
    addresses."""

    port: str
    mac: str
    local: str
    remote: str
    sport: int
    dport: int
    seq: int = 0xfffffff0  # wraps around early
    window: int = 65535
    ack: int | None = None
    acked: int = 0
    received: bytes = b""
    ended: bool = False  # the gateway has sent its FIN
    reset: bool = False
    quiet: bool = False  # acknowledges nothing
    closes: bool = True  # closes after the gateway has
    closed: bool = False
    mss: int | None = None  # of the gateway
    segments: list[Packet] = field(default_factory=list)
    room: int = 0  # the gateway's window
    backlog: bytes = b""  # data that does not fit into the window yet
    hears: Callable[[Stream], list[bytes]] | None = None  # called with new data; gives frames to send

    def segment(self, flags: str, data: bytes = b"", *, skew: int = 0, booked: bool = True, **fields: int) -> bytes:
        """A frame to the gateway. `skew` moves its sequence number."""
        layer = IP if ip_address(self.local).version == 4 else IPv6
        options = [("MSS", MSS)] if "S" in flags else []
        values = {"seq": (self.seq + skew) % 2**32, "ack": self.ack or 0 if "A" in flags else 0, "window": self.window}
        tcp = TCP(sport=self.sport, dport=self.dport, flags=flags, options=options, **{**values, **fields})
        if booked:
            self.closed |= "F" in flags
            self.seq = (self.seq + len(data) + ("S" in flags) + ("F" in flags)) % 2**32
        kind = 0x800 if layer is IP else 0x86dd
        return bytes(Ether(src=self.mac, dst=PORT_MAC[self.port], type=kind) /
                     layer(src=self.local, dst=self.remote) / tcp / Raw(data))

    def take(self, tcp: Packet) -> list[bytes]:
        """Takes a segment of the gateway; gives the frames that answer it."""
        self.segments.append(tcp)
        data = bytes(tcp.payload)
        flags = str(tcp.flags)
        if "R" in flags:
            self.reset = True
            return []
        if "A" in flags:
            self.acked = int(tcp.ack)
        self.room = int(tcp.window)
        if "S" in flags:
            self.ack = (int(tcp.seq) + 1) % 2**32
            self.mss = dict(option for option in tcp.options if len(option) == 2).get("MSS")
            return [self.segment("A" if "A" in flags else "SA")]
        if self.quiet or (not data and "F" not in flags):
            return self.give()
        if int(tcp.seq) == self.ack:
            self.received += data
            self.ack = (self.ack + len(data) + ("F" in flags)) % 2**32
            self.ended |= "F" in flags
        answer = self.hears(self) if self.hears and data else []
        if self.ended and self.closes and not self.closed:
            return [*answer, self.segment("FA")]
        return answer or self.give() or [self.segment("A")]

    def give(self, data: bytes = b"") -> list[bytes]:
        """Frames with data, as far as the gateway's window allows; the rest is sent later."""
        self.backlog += data
        frames = []
        while self.backlog and (self.seq - self.acked) % 2**32 + min(MSS, len(self.backlog)) <= self.room:
            frames.append(self.segment("PA", self.backlog[:MSS]))
            self.backlog = self.backlog[MSS:]
        return frames

    def messages(self) -> list[bytes]:
        """The complete DNS messages received so far; removes them from the stream."""
        found = []
        while len(self.received) >= 2:
            length = struct.unpack("!H", self.received[:2])[0]
            if len(self.received) < 2 + length:
                break
            found.append(self.received[2:2 + length])
            self.received = self.received[2 + length:]
        return found


def framed(*messages: bytes) -> bytes:
    """Messages with their lengths, as in a stream (RFC 1035 section 4.2.2)."""
    return b"".join(struct.pack("!H", len(message)) + message for message in messages)
