# SPDX-License-Identifier: BSD-2-Clause
"""A stateful NAT64 between two networks.

    lan: 2001:db8:1::/64   SIX ::a, SEVEN ::b -- gateway -- .2 FOUR   wan: 198.51.100.0/24, beyond it FAR and OTHER
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from typing import Any

from gateway import LAN, PORT_MAC, WAN, Gateway, Sent, only
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

Start = Callable[..., Gateway]
OWN4, FOUR, FAR, OTHER = "198.51.100.1", "198.51.100.2", "203.0.113.77", "203.0.113.99"
OWN6, SIX, SEVEN = "2001:db8:1::1", "2001:db8:1::a", "2001:db8:1::b"
MAC = {SIX: "52:54:00:00:01:0a", SEVEN: "52:54:00:00:01:0b"}
FOUR_MAC = "52:54:00:00:02:01"
PREFIX = "64:ff9b::/96"
CONFIG = f"""\
lan.address {OWN6}/64
lan.ra off
wan.address {OWN4}/24
gateway {FOUR}
neighbour {SIX} {MAC[SIX]}
neighbour {SEVEN} {MAC[SEVEN]}
neighbour {FOUR} {FOUR_MAC}
wkp-strict off
nat64.sessions 256
"""


def six_of(four: str, prefix: str = PREFIX) -> str:
    """The IPv6 address that stands for an IPv4 address (RFC 6052 section 2.2)."""
    net = IPv6Network(prefix)
    octets = bytearray(net.network_address.packed)
    places = [at for at in range(net.prefixlen // 8, 16) if at != 8 or net.prefixlen == 96][:4]
    for at, octet in zip(places, IPv4Address(four).packed, strict=True):
        octets[at] = octet
    return str(IPv6Address(bytes(octets)))


def start64(start: Start, more: str = "", *, base: str = CONFIG, **options: Any) -> Gateway:
    """Starts a NAT64 and waits until its addresses are in use. Keys of `more` replace single ones of `base`."""
    given = {line.split()[0] for line in more.splitlines()} & {"nat64.sessions", "wkp-strict", "lan.ra"}
    kept = [line for line in base.splitlines() if line.split()[0] not in given]
    gateway = start("\n".join(kept) + "\n" + more, "nat64", **options)
    gateway.wait(4)
    return gateway


def send6(gateway: Gateway, packet: Packet | bytes, *, mac: str | None = None, broken: bool = False) -> list[Sent]:
    """An IPv6 packet from the LAN; the station is that of its source, if it is known."""
    body = packet if isinstance(packet, Packet) else Raw(packet)
    src = mac or (MAC.get(packet[IPv6].src) if isinstance(packet, Packet) and IPv6 in packet else None) or MAC[SIX]
    return gateway.send(LAN, Ether(src=src, dst=PORT_MAC[LAN], type=0x86dd) / body, broken=broken)


def send4(gateway: Gateway, packet: Packet | bytes, *, broken: bool = False) -> list[Sent]:
    """An IPv4 packet from the WAN."""
    body = packet if isinstance(packet, Packet) else Raw(packet)
    return gateway.send(WAN, Ether(src=FOUR_MAC, dst=PORT_MAC[WAN], type=0x800) / body, broken=broken)


def to4(dst: str = FAR, src: str = SIX, prefix: str = PREFIX, **fields: Any) -> IPv6:
    """The header of an IPv6 packet to an IPv4 host."""
    return IPv6(src=src, dst=six_of(dst, prefix), **fields)


def to6(src: str = FAR, dst: str = OWN4, **fields: Any) -> IP:
    """The header of an IPv4 packet to the external address."""
    return IP(src=src, dst=dst, **fields)


def out_udp(gateway: Gateway, sport: int = 5000, dport: int = 53, dst: str = FAR, src: str = SIX,
            load: bytes = b"question") -> int:
    """Sends a datagram from inside; gives its external port, after all was checked."""
    sent = only(send6(gateway, to4(dst, src) / UDP(sport=sport, dport=dport) / load), WAN)
    udp = sent.ip[UDP]
    assert (sent.ip.dst, udp.dport, bytes(udp.payload)) == (dst, dport, load)
    return int(udp.sport)


def in_udp(gateway: Gateway, port: int, sport: int = 53, src: str = FAR, dst: str = OWN4,
           load: bytes = b"answer") -> list[Sent]:
    """Sends a datagram from outside to an external port."""
    return send4(gateway, to6(src, dst) / UDP(sport=sport, dport=port) / load)


def out_tcp(gateway: Gateway, flags: str = "S", seq: int = 1000, ack: int = 0, sport: int = 5000, dport: int = 80,
            dst: str = FAR, src: str = SIX, load: bytes = b"") -> list[Sent]:
    return send6(gateway, to4(dst, src) / TCP(sport=sport, dport=dport, flags=flags, seq=seq, ack=ack) / load)


def in_tcp(gateway: Gateway, port: int, flags: str = "SA", seq: int = 9000, ack: int = 1001, sport: int = 80,
           src: str = FAR, dst: str = OWN4, load: bytes = b"") -> list[Sent]:
    return send4(gateway, to6(src, dst) / TCP(sport=sport, dport=port, flags=flags, seq=seq, ack=ack) / load)


def connect(gateway: Gateway, sport: int = 5000, dport: int = 80, dst: str = FAR, src: str = SIX) -> int:
    """Opens a TCP connection from inside by three segments; gives its external port."""
    port = int(only(out_tcp(gateway, "S", sport=sport, dport=dport, dst=dst, src=src), WAN).ip[TCP].sport)
    only(in_tcp(gateway, port, "SA", sport=dport, src=dst), LAN)
    only(out_tcp(gateway, "A", 1001, 9001, sport=sport, dport=dport, dst=dst, src=src), WAN)
    return port


def out_echo(gateway: Gateway, ident: int = 7, dst: str = FAR, src: str = SIX, reply: bool = False) -> list[Sent]:
    kind = ICMPv6EchoReply if reply else ICMPv6EchoRequest
    return send6(gateway, to4(dst, src) / kind(id=ident, seq=1, data=b"ping"))


def in_echo(gateway: Gateway, ident: int, src: str = FAR, dst: str = OWN4, reply: bool = True) -> list[Sent]:
    return send4(gateway, to6(src, dst) / ICMP(type=0 if reply else 8, id=ident, seq=1) / b"ping")


def sessions(gateway: Gateway) -> list[tuple[str, str, int]]:
    """Protocol, state and seconds left of each session."""
    found = []
    for line in gateway.lines("sessions"):
        match = re.fullmatch(r"(\w+) \[\S+\]:\d+ \[\S+\]:\d+ \S+:\d+ \S+:\d+ (\S+) expires=(\d+)", line)
        assert match, line
        found.append((match[1], match[2], int(match[3])))
    return found


def error6(sent: Any, kind: int, code: int, src: str | None = OWN6, dst: str = SIX) -> bytes:
    """Checks that a frame is an ICMPv6 error; gives what it quotes."""
    packet = only(sent, LAN).raw[14:]
    assert packet[6] == 58 and len(packet) <= 1280
    assert src is None or IPv6(packet).src == src
    assert IPv6(packet).dst == dst and (packet[40], packet[41]) == (kind, code)
    return packet[48:]


def error4(sent: Any, kind: int, code: int, dst: str = FAR, src: str = OWN4) -> bytes:
    """Checks that a frame is an ICMPv4 error; gives what it quotes."""
    one = only(sent, WAN)
    assert (one.ip.src, one.ip.dst, one.ip.proto) == (src, dst, 1)
    assert (one.ip[ICMP].type, one.ip[ICMP].code) == (kind, code)
    return one.quote
