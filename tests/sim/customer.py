# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of `app clat` share: a gateway of a customer, and its provider."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import Any

from gateway import PORT_MAC, WAN, A, B, Gateway, Sent
from net6 import OWN, ROUTER6
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    IPv6,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from uplink import Start

PREFIX = "2001:db8:64::"
OWN6, HOSTS6 = "2001:db8:2::464", "2001:db8:c1a7::"
FAR = "198.51.100.7"
NEIGHBOURS = f"neighbour {A.ip} {A.mac}\nneighbour {B.ip} {B.mac}\nneighbour {ROUTER6.ip} {ROUTER6.mac}\n"
BASE = (f"lan.address 192.168.1.1/24\nwan.address {OWN[WAN]}/64\ngateway {ROUTER6.ip}\n" + NEIGHBOURS
        + "nat.sessions 256\n")
ONE = BASE + f"clat.prefix {PREFIX}/96\nclat.address {OWN6}\n"
MANY = BASE + f"clat.prefix {PREFIX}/96\nclat.address {HOSTS6}/64\n"
ASKING = BASE + f"clat.address {OWN6}\nnameserver {ROUTER6.ip}\n"


def six(address: str, net: str = PREFIX) -> str:
    """An address of the provider's prefix, or of the hosts'."""
    return str(IPv6Address(int(IPv6Address(net)) | int(IPv4Address(address))))


def begin(start: Start, config: str = ONE, settle: float = 4, **options: Any) -> Gateway:
    gateway = start(config, "clat", **options)
    gateway.sources[WAN] = None
    gateway.wait(settle)
    return gateway


def out(gateway: Gateway, packet: Packet, host: Any = A) -> list[Sent]:
    """What leaves by the WAN when a host of the LAN sends."""
    sent = gateway.ip_from(host, packet)
    return [one for one in sent if one.port == WAN and IPv6 in one.frame]


def into(gateway: Gateway, packet: Packet | bytes, source: str = ROUTER6.mac, **options: Any) -> list[Sent]:
    """What leaves when the provider's router sends an IPv6 packet."""
    return gateway.send(WAN, Ether(src=source, dst=PORT_MAC[WAN], type=0x86dd) / Raw(bytes(packet)), **options)


def udp(sport: int = 4000, dport: int = 53, data: bytes = b"question", **ip: Any) -> Packet:
    return IP(**{"src": A.ip, "dst": FAR, "id": 7, **ip}) / UDP(sport=sport, dport=dport) / Raw(data)


def whole(frame: Packet) -> IPv6:
    """The IPv6 packet of a frame; its checksum is right."""
    packet = frame[IPv6]
    again = IPv6(bytes(packet))
    for layer in (UDP, TCP, ICMPv6EchoRequest, ICMPv6EchoReply):
        if layer in again:
            field = "cksum" if layer in (ICMPv6EchoRequest, ICMPv6EchoReply) else "chksum"
            delattr(again[layer], field)
            assert bytes(IPv6(bytes(again))) == bytes(packet)
    return packet


def pref64(net: str = PREFIX, length: int = 96, lifetime: int = 600) -> Raw:
    """RFC 8781 section 4."""
    code = {96: 0, 64: 1, 56: 2, 48: 3, 40: 4, 32: 5}[length]
    return Raw(bytes([38, 2]) + ((lifetime // 8) << 3 | code).to_bytes(2, "big") + IPv6Address(net).packed[:12])
