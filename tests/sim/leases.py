# SPDX-License-Identifier: BSD-2-Clause
"""DHCP servers of the WAN, for a gateway with `wan.address dhcp`. Written from RFC 2131 and RFC 2132 alone."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Address

from gateway import BROADCAST, INSIDE, PORT_MAC, WAN, A, Gateway, Sent
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

Start = Callable[..., Gateway]
DISCOVER, OFFER, REQUEST, DECLINE, ACK, NAK, RELEASE = range(1, 8)
MASK, ROUTER, DNS, MTU, STATIC, WANTED, TIME, OVERLOAD, TYPE, SERVER_ID, ASKED, WHY, SIZE, T1, T2, CLIENT_ID = (
    1, 3, 6, 26, 33, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 61)
CLASSLESS = 121
COOKIE = bytes((99, 130, 83, 99))
MINE, OTHER, NET_ROUTER = "203.0.113.50", "203.0.113.51", "203.0.113.1"
SERVER_MAC, OTHER_MAC, ROUTER_MAC = "52:54:00:00:02:fd", "52:54:00:00:02:fe", "52:54:00:00:02:01"
CONFIG = f"lan.address {INSIDE}/24\nwan.address dhcp\nneighbour {A.ip} {A.mac}\n"
QUICK = CONFIG + "wan.dhcp-probe off\n"
INFINITE = 0xffffffff

Options = dict[int, bytes]


def ip(*addresses: str) -> bytes:
    return b"".join(IPv4Address(address).packed for address in addresses)


def u32(value: int) -> bytes:
    return struct.pack("!I", value)


def encode(options: Options) -> bytes:
    out = b""
    for code, value in options.items():
        while True:  # an option of more than 255 bytes is several (RFC 3396)
            out += bytes((code, len(value[:255]))) + value[:255]
            value = value[255:]
            if not value:
                break
    return out


def decode(data: bytes) -> Options:
    found: Options = {}
    at = 0
    while at < len(data) and data[at] != 255:
        if data[at] == 0:
            at += 1
            continue
        found[data[at]] = found.get(data[at], b"") + data[at + 2:at + 2 + data[at + 1]]
        at += 2 + data[at + 1]
    return found


@dataclass(frozen=True)
class Message:
    """A DHCP message that the gateway sent."""

    sent: Sent
    kind: int
    xid: int
    secs: int
    flags: int
    ciaddr: str
    chaddr: bytes
    options: Options

    @property
    def at(self) -> float:
        return self.sent.at

    def address(self, code: int) -> str | None:
        value = self.options.get(code)
        return str(IPv4Address(value)) if value is not None else None


def messages(sent: list[Sent], *kinds: int) -> list[Message]:
    """The DHCP messages among frames, of these kinds (none given: of all)."""
    found = []
    for one in sent:
        if one.port != WAN or UDP not in one.frame or one.frame[UDP].dport != 67:
            continue
        assert one.frame[UDP].sport == 68
        data = bytes(one.frame[UDP].payload)
        assert len(data) >= 300 and data[:4] == b"\x01\x01\x06\x00" and data[236:240] == COOKIE
        xid, secs, flags = struct.unpack("!IHH", data[4:12])
        options = decode(data[240:])
        message = Message(one, options[TYPE][0], xid, secs, flags, str(IPv4Address(data[12:16])), data[28:34], options)
        if not kinds or message.kind in kinds:
            found.append(message)
    return found


@dataclass
class Server:
    """A DHCP server with one address to give. `options` are added to offers and acknowledgements, None takes one
    out."""

    gives: str = MINE
    address: str = "203.0.113.254"
    mac: str = SERVER_MAC
    lease: int = 3600
    options: dict[int, bytes | None] = field(default_factory=dict)
    silent: set[int] = field(default_factory=set)  # kinds of messages that it does not answer
    naks: bool = False  # answers every request so
    heard: list[Message] = field(default_factory=list)

    def reply(self, kind: int, to: Message, *, xid: int | None = None, chaddr: bytes | None = None,
              options: Options | None = None, fields: dict[str, int] | None = None, sname: bytes = b"",
              file: bytes = b"", op: int = 2) -> Ether:
        """An answer to a message; what is given stands in the place of what is right."""
        given: Options = {TYPE: bytes((kind,)), SERVER_ID: ip(self.address)}
        if kind != NAK:
            given |= {TIME: u32(self.lease), MASK: ip("255.255.255.0"), ROUTER: ip(NET_ROUTER)}
            given |= {code: value for code, value in self.options.items() if value is not None}
            for code in [code for code, value in self.options.items() if value is None]:
                given.pop(code, None)
        if options is not None:
            given = options
        data = struct.pack("!BBBBIHH", op, 1, 6, 0, to.xid if xid is None else xid, 0, 0)
        data += ip("0.0.0.0", self.gives if kind != NAK else "0.0.0.0", "0.0.0.0", "0.0.0.0")
        data += (to.chaddr if chaddr is None else chaddr).ljust(16, b"\0") + sname.ljust(64, b"\0")
        data += file.ljust(128, b"\0") + COOKIE + encode(given) + b"\xff"
        return self.datagram(data, to, **(fields or {}))

    def datagram(self, data: bytes, to: Message, sport: int = 67, dport: int = 68) -> Ether:
        target = to.ciaddr if to.ciaddr != "0.0.0.0" else "255.255.255.255"
        mac = PORT_MAC[WAN] if to.ciaddr != "0.0.0.0" else BROADCAST
        return (Ether(src=self.mac, dst=mac) / IP(src=self.address, dst=target) / UDP(sport=sport, dport=dport)
                / Raw(data))

    def answer(self, message: Message) -> Ether | None:
        """Its answer to a message, None when it has none."""
        self.heard.append(message)
        if message.kind in self.silent or message.address(SERVER_ID) not in (None, self.address):
            return None
        if message.kind == DISCOVER:
            return self.reply(OFFER, message)
        if message.kind != REQUEST:
            return None
        wanted = message.address(WANTED) or message.ciaddr
        return self.reply(NAK if self.naks or wanted != self.gives else ACK, message)


class Uplink:
    """The WAN of a gateway: DHCP servers, and stations that answer ARP."""

    def __init__(self, gateway: Gateway, *servers: Server, stations: dict[str, str] | None = None) -> None:
        self.gateway = gateway
        self.servers = list(servers)
        self.stations = {NET_ROUTER: ROUTER_MAC} | {server.address: server.mac for server in servers}
        self.stations |= stations or {}

    def _answers(self, one: Sent) -> list[Ether]:
        if one.port == WAN and ARP in one.frame:
            asked = one.frame[ARP]
            mac = self.stations.get(asked.pdst)
            if mac is None or asked.op != 1 or asked.psrc == asked.pdst:
                return []
            return [Ether(src=mac, dst=asked.hwsrc) / ARP(op=2, hwsrc=mac, psrc=asked.pdst, hwdst=asked.hwsrc,
                                                          pdst=asked.psrc)]
        own = self.gateway.sources[WAN]
        answers = []
        for message in messages([one]):
            for server in self.servers:
                answer = server.answer(message)
                if answer is None:
                    continue
                answers.append(answer)
                if own is not None:
                    own.add(server.gives)
        return answers

    def settle(self, pending: list[Sent]) -> list[Sent]:
        """Answers frames, and those that come in answer; gives all."""
        everything = []
        while pending:
            one = pending.pop(0)
            everything.append(one)
            for answer in self._answers(one):
                pending += self.gateway.send(WAN, answer)
        return everything

    def run(self, seconds: float, step: float = 0.1) -> list[Sent]:
        """Lets time pass; gives what the gateway sends."""
        everything = self.settle([])
        for _ in range(round(seconds / step)):
            everything += self.settle(self.gateway.wait(step))
        return everything

    def lost_carrier(self, down: float = 2) -> list[Sent]:
        """The carrier goes and comes back."""
        self.settle(self.gateway.link(WAN, False))
        self.settle(self.gateway.wait(down))
        return self.settle(self.gateway.link(WAN, True)) + self.settle(self.gateway.wait(0.1))


def begin(start: Start, *servers: Server, config: str = QUICK, app: str = "nat", seconds: float = 3,
          **options: object) -> Uplink:
    """A gateway that has asked for a lease for some seconds."""
    uplink = Uplink(start(config, app, **options), *(servers or (Server(),)))
    uplink.run(seconds)
    return uplink


def state(gateway: Gateway) -> str:
    """The state of the client."""
    return gateway.lines("leases")[0].split()[2].rstrip(",")


def lease(gateway: Gateway) -> str | None:
    """The address and length of the lease in force."""
    words = gateway.lines("leases")[0].split()
    return words[3] if len(words) > 3 else None


def said(gateway: Gateway, text: str) -> bool:
    """True when a line of the log has the text."""
    return any(text in line for line in gateway.lines("log"))


