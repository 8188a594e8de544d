# SPDX-License-Identifier: BSD-2-Clause
"""DHCP clients of the LAN, for a gateway with `lan.dhcp`. Written from RFC 2131 and RFC 2132 alone."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Address

from gateway import BROADCAST, INSIDE, LAN, PORT_MAC, Gateway, Sent
from leases import (
    ACK,
    CLIENT_ID,
    COOKIE,
    DECLINE,
    DISCOVER,
    NAK,
    OFFER,
    RELEASE,
    REQUEST,
    SERVER_ID,
    TYPE,
    WANTED,
    Options,
    decode,
    encode,
    ip,
)
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

Start = Callable[..., Gateway]
INFORM = 8
FIRST, LAST = "192.168.1.100", "192.168.1.109"
POOL = [f"192.168.1.{i}" for i in range(100, 110)]
CONFIG = f"lan.address {INSIDE}/24\nwan.address 203.0.113.2/24\nlan.dhcp {FIRST}-{LAST}\n"
AGENT, HOST_NAME, PARAMETERS = 82, 12, 55


@dataclass(frozen=True)
class Answer:
    """A message of the server."""

    sent: Sent
    kind: int
    xid: int
    flags: int
    ciaddr: str
    yiaddr: str
    siaddr: str
    giaddr: str
    chaddr: bytes
    file: bytes
    options: Options
    order: list[int]

    def address(self, code: int) -> str:
        return str(IPv4Address(self.options[code]))

    def number(self, code: int) -> int:
        return int.from_bytes(self.options[code], "big")


def codes(data: bytes) -> list[int]:
    """The codes of options, as they follow each other."""
    found, at = [], 0
    while data[at] != 255:
        if data[at] == 0:
            at += 1
            continue
        found.append(data[at])
        at += 2 + data[at + 1]
    return found


def answers(sent: list[Sent], *kinds: int, port: str = LAN) -> list[Answer]:
    found = []
    for one in sent:
        if one.port != port or UDP not in one.frame or one.frame[UDP].sport != 67:
            continue
        data = bytes(one.frame[UDP].payload)
        assert len(data) >= 300 and data[:3] == b"\x02\x01\x06" and data[236:240] == COOKIE
        options = decode(data[240:])
        addresses = [str(IPv4Address(data[i:i + 4])) for i in range(12, 28, 4)]
        answer = Answer(one, options[TYPE][0], int.from_bytes(data[4:8], "big"), int.from_bytes(data[10:12], "big"),
                        *addresses, data[28:34], data[108:236].rstrip(b"\0"), options, codes(data[240:]))
        if not kinds or answer.kind in kinds:
            found.append(answer)
    return found


def mac_of(number: int) -> str:
    return f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}"


@dataclass
class Client:
    """A client. `options` are added to each message, None takes one out."""

    gateway: Gateway
    mac: str = "02:00:00:00:00:01"
    options: dict[int, bytes | None] = field(default_factory=dict)
    port: str = LAN
    server: str = INSIDE
    giaddr: str = "0.0.0.0"
    xid: int = 0x11223344

    def frame(self, kind: int, options: Options | None = None, *, ciaddr: str = "0.0.0.0", flags: int = 0,
              source: str | None = None, to: str | None = None) -> Ether:
        self.xid += 1
        chaddr = bytes.fromhex(self.mac.replace(":", ""))
        everything = {TYPE: bytes((kind,))} | (options or {}) | self.options
        data = struct.pack("!BBBBIHH", 1, 1, 6, self.giaddr != "0.0.0.0", self.xid, 0, flags)
        data += ip(ciaddr, "0.0.0.0", "0.0.0.0", self.giaddr) + chaddr + bytes(10 + 64 + 128) + COOKIE
        data += encode({code: value for code, value in everything.items() if value is not None}) + b"\xff"
        relayed = self.giaddr != "0.0.0.0"
        to = to or (self.server if relayed else "255.255.255.255")
        mac = PORT_MAC[self.port] if to == self.server else BROADCAST
        return (Ether(src=source or self.mac, dst=mac) / IP(src=self.giaddr if relayed else ciaddr, dst=to)
                / UDP(sport=67 if relayed else 68, dport=67) / Raw(data))

    def send(self, kind: int, options: Options | None = None, **how: object) -> list[Answer]:
        """Sends a message; gives the answers of the next second."""
        frame = self.frame(kind, options, **how)
        sent = self.gateway.send(self.port, frame) + self.gateway.wait(1)
        return [answer for answer in answers(sent, port=self.port) if answer.xid == self.xid]

    def discover(self, wanted: str | None = None, **how: object) -> Answer | None:
        found = self.send(DISCOVER, {WANTED: ip(wanted)} if wanted else {}, **how)
        assert all(answer.kind == OFFER for answer in found) and len(found) <= 1
        return found[0] if found else None

    def select(self, address: str, server: str | None = None, **how: object) -> Answer | None:
        """DHCPREQUEST after an offer."""
        found = self.send(REQUEST, {WANTED: ip(address), SERVER_ID: ip(server or self.server)}, **how)
        return found[0] if found else None

    def lease(self, wanted: str | None = None, **how: object) -> str:
        """Gets a lease; gives its address."""
        offer = self.discover(wanted, **how)
        assert offer is not None
        answer = self.select(offer.yiaddr, **how)
        assert answer is not None and answer.kind == ACK and answer.yiaddr == offer.yiaddr
        return answer.yiaddr

    def reboot(self, address: str) -> Answer | None:
        found = self.send(REQUEST, {WANTED: ip(address)})
        return found[0] if found else None

    def renew(self, address: str, **how: object) -> Answer | None:
        found = self.send(REQUEST, ciaddr=address, **({"to": self.server} | how))
        return found[0] if found else None

    def release(self, address: str) -> None:
        assert not self.send(RELEASE, {SERVER_ID: ip(self.server)}, ciaddr=address, to=self.server)

    def decline(self, address: str) -> None:
        assert not self.send(DECLINE, {WANTED: ip(address), SERVER_ID: ip(self.server)})


def leases(gateway: Gateway) -> dict[str, str]:
    """What the listing says of each address."""
    return {line.split()[2]: " ".join(line.split()[3:]) for line in gateway.lines("leases") if " lease " in line}


def arp_reply(frame: Sent, mac: str) -> Ether:
    """The answer of a station that has the address which a frame asks for."""
    asked = frame.frame[ARP]
    return (Ether(src=mac, dst=asked.hwsrc) / ARP(op=2, hwsrc=mac, psrc=asked.pdst, hwdst=asked.hwsrc,
                                                  pdst=asked.psrc))


__all__ = ["ACK", "AGENT", "CLIENT_ID", "CONFIG", "DECLINE", "DISCOVER", "FIRST", "HOST_NAME", "INFORM", "INSIDE",
           "LAN", "LAST", "NAK", "OFFER", "PARAMETERS", "POOL", "RELEASE", "REQUEST", "SERVER_ID", "TYPE", "WANTED",
           "Answer", "Client", "Gateway", "Start", "answers", "arp_reply", "ip", "leases", "mac_of"]
