# SPDX-License-Identifier: BSD-2-Clause
"""A TCP connection from an inside host through a gateway, with its sequence numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gateway import A, LAN, OUTSIDE, PORT_MAC, ROUTER, SERVER, Gateway, Host, Sent, only
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.packet import Packet

CLIENT_SEQ, SERVER_SEQ = 0x10000000, 0xfffffff0  # the server's wraps around early


@dataclass
class Connection:
    """`inside` talks to server:dport. Every segment advances the sequence number."""

    gateway: Gateway
    inside: Host = A
    sport: int = 5000
    server: str = SERVER
    dport: int = 80
    window: int = 8192
    seq: dict[str, int] = field(default_factory=lambda: {"in": CLIENT_SEQ, "out": SERVER_SEQ})
    acks: dict[str, bool] = field(default_factory=lambda: {"in": False, "out": False})
    external: int = 0  # the external port, once known

    def segment(self, side: str, flags: str, data: bytes = b"", *, skew: int = 0, **fields: Any) -> Packet:
        """The next segment of `side`. `skew` moves its sequence number; such a segment does not advance it."""
        other = "out" if side == "in" else "in"
        seq = (self.seq[side] + skew) % 2**32
        values: dict[str, Any] = {"flags": flags, "seq": seq, "window": self.window,
                                  "ack": self.seq[other] if "A" in flags else 0, **fields}
        if side == "in":
            ip, tcp = IP(src=self.inside.ip, dst=self.server), TCP(sport=self.sport, dport=self.dport, **values)
        else:
            ip, tcp = IP(src=self.server, dst=OUTSIDE), TCP(sport=self.dport, dport=self.external, **values)
        if skew == 0:
            self.seq[side] = (seq + len(data) + ("S" in flags) + ("F" in flags)) % 2**32
        return ip / tcp / data

    def out(self, flags: str, data: bytes = b"", **fields: Any) -> list[Sent]:
        """Sends a segment from inside; gives the frames that leave."""
        sent = self.gateway.ip_from(self.inside, self.segment("in", flags, data, **fields))
        if len(sent) == 1 and TCP in sent[0].frame:
            self.external = int(sent[0].ip[TCP].sport)
        return sent

    def back(self, flags: str, data: bytes = b"", **fields: Any) -> list[Sent]:
        """Sends a segment from the server; gives the frames that leave."""
        frame = Ether(src=ROUTER.mac, dst=PORT_MAC["wan"]) / self.segment("out", flags, data, **fields)
        return self.gateway.send("wan", frame)

    def establish(self, **options: Any) -> Connection:
        only(self.out("S", **options))
        only(self.back("SA", **options), LAN)
        only(self.out("A"))
        return self

    @property
    def state(self) -> str:
        """The state in the listing; `none` without a session."""
        name = f"tcp {self.inside.ip}:{self.sport} "
        lines = [line for line in self.gateway.lines("sessions")
                 if line.startswith(name) and f" {self.server}:{self.dport} " in line]
        assert len(lines) <= 1, lines
        return lines[0].split()[-2] if lines else "none"
