# SPDX-License-Identifier: BSD-2-Clause
"""DHCPv6 servers of the WAN, for a gateway with `lan.prefix delegated` or `wan.address auto`. Written from RFC 8415
alone."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, IPv6Network

from gateway import INSIDE, LAN, OUTSIDE, PORT_MAC, ROUTER, WAN, A, Gateway, Sent
from net6 import OWN_LOCAL, Host6, advertise
from scapy.layers.inet6 import UDP, ICMPv6ND_NS, ICMPv6ND_RA, ICMPv6NDOptPrefixInfo, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from uplink import R1, ra

Start = Callable[..., Gateway]
(SOLICIT, ADVERTISE, REQUEST, CONFIRM, RENEW, REBIND, REPLY, RELEASE, DECLINE, RECONFIGURE,
 INFORMATION) = range(1, 12)
(CLIENT_ID, SERVER_ID, IA_NA, IA_TA, IAADDR, ORO, PREFERENCE, ELAPSED) = range(1, 9)
STATUS, RAPID, DNS, SEARCH, IA_PD, IAPREFIX, REFRESH, SOL_MAX_RT, INF_MAX_RT = 13, 14, 23, 24, 25, 26, 32, 82, 83
OK, UNSPEC, NO_ADDRS, NO_BINDING, NOT_ON_LINK, USE_MULTICAST, NO_PREFIX = range(7)
FOREVER = 0xffffffff
PREFIX, PREFIX2 = "2001:db8:a0::/56", "2001:db8:b0::/56"
MINE, OTHER = "2001:db8:c::50", "2001:db8:c::51"
SERVERS = "ff02::1:2"
DUID = bytes.fromhex("00030001") + bytes.fromhex(PORT_MAC[WAN].replace(":", ""))
SERVER = Host6(WAN, "fe80::d", "fe80::d", "52:54:00:00:02:0d")
SERVER2 = Host6(WAN, "fe80::e", "fe80::e", "52:54:00:00:02:0e")
BASE = (f"lan.address {INSIDE}/24\nwan.address {OUTSIDE}/24\ngateway {ROUTER.ip}\n"
        f"neighbour {A.ip} {A.mac}\nneighbour {ROUTER.ip} {ROUTER.mac}\nnat.sessions 256\n")
DELEGATED = BASE + "wan.address auto\nlan.prefix delegated\n"
AUTO = BASE + "wan.address auto\n"
MANAGED, OTHERS = 0x80, 0x40

Option = tuple[int, bytes]


def option(code: int, value: bytes = b"") -> bytes:
    return struct.pack("!HH", code, len(value)) + value


def options(data: bytes) -> list[Option]:
    found = []
    while data:
        code, length = struct.unpack("!HH", data[:4])
        assert len(data) >= 4 + length, "an option beyond the end"
        found.append((code, data[4:4 + length]))
        data = data[4 + length:]
    return found


def status(code: int, words: bytes = b"") -> bytes:
    return option(STATUS, struct.pack("!H", code) + words)


def address(addr: str, preferred: int, valid: int) -> bytes:
    return option(IAADDR, IPv6Address(addr).packed + struct.pack("!II", preferred, valid))


def prefix(net: str, preferred: int, valid: int) -> bytes:
    of = IPv6Network(net, strict=False)
    return option(IAPREFIX, struct.pack("!IIB", preferred, valid, of.prefixlen) + IPv6Address(net.split("/")[0]).packed)


def association(code: int, iaid: int, inside: bytes, t1: int = 0, t2: int = 0) -> bytes:
    return option(code, struct.pack("!III", iaid, t1, t2) + inside)


@dataclass(frozen=True)
class Message:
    """A DHCPv6 message that the gateway sent as a client."""

    sent: Sent
    kind: int
    xid: int
    options: list[Option]

    @property
    def at(self) -> float:
        return self.sent.at

    def get(self, code: int) -> bytes | None:
        return next((value for number, value in self.options if number == code), None)

    def has(self, code: int) -> bool:
        return self.get(code) is not None

    @property
    def elapsed(self) -> int:
        return int.from_bytes(self.get(ELAPSED) or b"", "big")

    def asked(self) -> set[int]:
        value = self.get(ORO) or b""
        return {int.from_bytes(value[i:i + 2], "big") for i in range(0, len(value), 2)}

    def iaid(self, code: int) -> int:
        value = self.get(code)
        assert value is not None
        return int.from_bytes(value[:4], "big")

    def addresses(self) -> list[str]:
        return [str(IPv6Address(value[:16])) for code, value in options((self.get(IA_NA) or bytes(12))[12:])
                if code == IAADDR]

    def prefixes(self) -> list[str]:
        return [f"{IPv6Address(value[9:25])}/{value[8]}" for code, value in options((self.get(IA_PD) or bytes(12))[12:])
                if code == IAPREFIX]


def messages(sent: list[Sent], *kinds: int) -> list[Message]:
    """The client's messages among frames, of these kinds (none given: of all)."""
    found = []
    for one in sent:
        if one.port != WAN or one.raw[12:14] != b"\x86\xdd" or one.raw[20] != 17 or one.raw[56:58] != b"\x02\x23":
            continue
        assert one.ip6.src == OWN_LOCAL[WAN] and one.ip6.dst == SERVERS and one.frame[UDP].sport == 546
        assert one.frame[Ether].dst == "33:33:00:01:00:02"
        data = one.raw[62:]
        message = Message(one, data[0], int.from_bytes(data[1:4], "big"), options(data[4:]))
        assert message.get(CLIENT_ID) == DUID
        if not kinds or message.kind in kinds:
            found.append(message)
    return found


def datagram(data: bytes, *, server: Host6 = SERVER, sport: int = 547, dport: int = 546, src: str | None = None,
             dst: str | None = None) -> Packet:
    return (Ether(src=server.mac, dst=PORT_MAC[WAN]) / IPv6(src=src or server.local, dst=dst or OWN_LOCAL[WAN])
            / UDP(sport=sport, dport=dport) / Raw(data))


@dataclass
class Server6:
    """A DHCPv6 server. What a message asks for and it has, it gives."""

    prefixes: list[str] = field(default_factory=lambda: [PREFIX])
    addresses: list[str] = field(default_factory=list)
    preferred: int = 3000
    valid: int = 5000
    t1: int = 0
    t2: int = 0
    host: Host6 = SERVER
    preference: int | None = None
    rapid: bool = False
    silent: set[int] = field(default_factory=set)  # kinds of messages that it does not answer
    more: bytes = b""  # options beside
    ended: list[str] = field(default_factory=list)  # prefixes and addresses that it names with lifetimes of 0
    na_status: int = NO_ADDRS  # of an association for which there is nothing
    pd_status: int = NO_PREFIX
    unknown: bool = False  # it knows no binding (for Renew and Rebind)
    heard: list[Message] = field(default_factory=list)

    @property
    def duid(self) -> bytes:
        return bytes.fromhex("00030001" + self.host.mac.replace(":", ""))

    def associations(self, message: Message) -> bytes:
        out = b""
        for code, have, mine, none in ((IA_NA, self.addresses, message.addresses(), self.na_status),
                                       (IA_PD, self.prefixes, message.prefixes(), self.pd_status)):
            if not message.has(code):
                continue
            make = address if code == IA_NA else prefix
            inside = b"".join(make(one, self.preferred, self.valid) for one in have)
            inside += b"".join(make(one, 0, 0) for one in self.ended if one in mine)
            if self.unknown and message.kind in (RENEW, REBIND):
                inside = status(NO_BINDING)
            elif not inside:
                inside = status(none, b"nothing here")
            out += association(code, message.iaid(code), inside, self.t1, self.t2)
        return out

    def reply(self, message: Message, kind: int = REPLY, *, body: bytes | None = None, xid: int | None = None,
              client: bytes | None = DUID, server: bytes | None = None, **fields: object) -> Packet:
        """An answer to a message; what is given stands in the place of what is right."""
        data = bytes([kind]) + (message.xid if xid is None else xid).to_bytes(3, "big")
        data += option(SERVER_ID, self.duid if server is None else server) if server != b"" else b""
        data += option(CLIENT_ID, client) if client is not None else b""
        if self.preference is not None and kind == ADVERTISE:
            data += option(PREFERENCE, bytes([self.preference]))
        data += self.associations(message) + self.more if body is None else body
        return datagram(data, server=self.host, **fields)  # type: ignore[arg-type]

    def answer(self, message: Message) -> Packet | None:
        """Its answer to a message, None when it has none."""
        named = message.get(SERVER_ID)
        if named is not None and named != self.duid:
            return None
        self.heard.append(message)
        if message.kind in self.silent:
            return None
        if message.kind == SOLICIT and self.rapid and message.has(RAPID):
            return self.reply(message, body=option(RAPID) + self.associations(message) + self.more)
        if message.kind == SOLICIT:
            return self.reply(message, ADVERTISE)
        if message.kind in (CONFIRM, RELEASE, DECLINE):
            return self.reply(message, body=status(OK))
        return self.reply(message)


class Uplink6:
    """The WAN of a gateway: DHCPv6 servers, and a router."""

    def __init__(self, gateway: Gateway, *servers: Server6, router: Host6 | None = R1) -> None:
        self.gateway = gateway
        self.servers = list(servers)
        self.router = router
        self.taken: set[str] = set()  # addresses that another station has

    def _answers(self, one: Sent) -> list[Packet]:
        answers: list[Packet] = []
        if one.port == WAN and ICMPv6ND_NS in one.frame:
            target = one.frame[ICMPv6ND_NS].tgt
            for host in (self.router, *(server.host for server in self.servers)):
                if host and target == host.local and one.ip6.src != "::":
                    answers.append(Ether(src=host.mac, dst=PORT_MAC[WAN]) / advertise(host, one.ip6.src, r=1))
            if target in self.taken and one.ip6.src == "::":
                other = Host6(WAN, target, target, "52:54:00:00:02:66")
                answers.append(Ether(src=other.mac, dst="33:33:00:00:00:01")
                               / advertise(other, "ff02::1", s=0))
        for message in messages([one]):
            for server in self.servers:
                answer = server.answer(message)
                if answer is not None:
                    answers.append(answer)
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
        everything: list[Sent] = []
        for _ in range(round(seconds / step)):
            everything += self.settle(self.gateway.wait(step))
        return everything

    def hear(self, flags: int = 0, *more: Packet) -> list[Sent]:
        """The router advertises."""
        packet = ra(*more, M=flags >> 7 & 1, O=flags >> 6 & 1)
        return self.settle(self.gateway.send(WAN, Ether(src=R1.mac, dst="33:33:00:00:00:01") / packet))

    def flap(self, down: float = 2) -> list[Sent]:
        """The carrier goes and comes back."""
        self.settle(self.gateway.link(WAN, False))
        self.settle(self.gateway.wait(down))
        return self.settle(self.gateway.link(WAN, True))


def begin(start: Start, *servers: Server6, config: str = DELEGATED, app: str = "nat", flags: int | None = 0,
          seconds: float = 6, **fields: object) -> Uplink6:
    """A gateway that has asked for some seconds; a router advertises after 2 seconds, unless `flags` is None."""
    uplink = Uplink6(start(config, app, **fields), *servers)
    uplink.run(2)
    if flags is not None:
        uplink.hear(flags)
    uplink.run(seconds)
    return uplink


def state(gateway: Gateway) -> str:
    """The state of the client."""
    lines = [line for line in gateway.lines("leases") if line.startswith("wan dhcp6 ")]
    return lines[0].split()[2].rstrip(",") if lines else "off"


def leases(gateway: Gateway) -> list[str]:
    """The prefixes, and addresses with /128, that the client has."""
    return [line.split()[3].rstrip(",") for line in gateway.lines("leases")
            if line.startswith(("wan dhcp6 prefix", "wan dhcp6 address"))]


def own(gateway: Gateway, port: str = LAN) -> list[str]:
    """The IPv6 addresses of an interface, but the link-local one, with their lengths."""
    words = [line.split() for line in gateway.lines("addresses")]
    return [line[1] for line in words if line[0] == port and ":" in line[1] and not line[1].startswith("fe80")]


def advertised(sent: list[Sent], port: str = LAN) -> dict[str, tuple[int, int]]:
    """The prefixes of the last advertisement on an interface: valid and preferred lifetime."""
    last = [one for one in sent if one.port == port and ICMPv6ND_RA in one.frame]
    found: dict[str, tuple[int, int]] = {}
    at: Packet = last[-1].frame[ICMPv6ND_RA] if last else Raw()
    while ICMPv6NDOptPrefixInfo in at:
        at = at[ICMPv6NDOptPrefixInfo]
        found[at.prefix] = (at.validlifetime, at.preferredlifetime)
        at = at.payload
    return found


def said(gateway: Gateway, text: str) -> bool:
    """True when a line of the log has the text."""
    return any(text in line for line in gateway.lines("log"))
