# SPDX-License-Identifier: BSD-2-Clause
"""A gateway with a 6to4 tunnel, and the packets on both sides of it."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any

from gateway import A, LAN, NEIGHBOURS, OUTSIDE, PORT_MAC, ROUTER, SERVER, SERVER2, WAN, Gateway, Sent, only
from scapy.layers.inet import IP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

IP6 = 41  # the protocol of IPv6 in IPv4


def in_site(v4: str, subnet: int = 1, host: int = 1) -> str:
    """An address of the 6to4 site that belongs to an IPv4 address (RFC 3056 section 2)."""
    high, low = divmod(int(IPv4Address(v4)), 1 << 16)
    return socket.inet_ntop(socket.AF_INET6, bytes.fromhex(f"2002{high:04x}{low:04x}{subnet:04x}{host:016x}"))


FAR, FAR2 = SERVER, SERVER2  # other 6to4 sites
RELAY = "198.51.100.9"
OWN6 = in_site(OUTSIDE)  # the gateway's own address
HOST6 = in_site(OUTSIDE, host=10)  # host A's
FAR6, FAR26 = in_site(FAR, 5, 0x99), in_site(FAR2, 5, 0x99)
NATIVE6 = "2001:db8:5::5"  # behind the relay

_LAN6 = f"""\
lan.address {OWN6}/64
neighbour {HOST6} {A.mac}
lan.ra off
"""
_LAN4 = "lan.address 192.168.1.1/24\n"
_WAN = f"wan.address {OUTSIDE}/24\ngateway {ROUTER.ip}\n"
# Behind another NAT: the WAN has a private address, the prefix the public one.
PRIVATE, PRIVATE_ROUTER = "10.9.9.2", "10.9.9.1"
_BEHIND = f"""\
wan.address {PRIVATE}/24
gateway {PRIVATE_ROUTER}
neighbour {PRIVATE_ROUTER} {ROUTER.mac}
6to4.address {OUTSIDE}
"""
COLOCATED = _LAN4 + _WAN + NEIGHBOURS + _LAN6 + f"6to4.relay {RELAY}\n"
DECOUPLED = _LAN4 + _WAN + NEIGHBOURS + _LAN6 + f"6to4.relay {RELAY}\n6to4.nat off\n"
_HOSTS = f"neighbour {A.ip} {A.mac}\n"
BEHIND = _LAN4 + _BEHIND + _HOSTS + _LAN6 + f"6to4.relay {RELAY}\n6to4.nat off\n"
SETUPS = {"co-located": (COLOCATED, OUTSIDE), "decoupled": (DECOUPLED, OUTSIDE), "behind-nat": (BEHIND, PRIVATE)}


def ping6(src: str = HOST6, dst: str = FAR6, data: bytes = b"hello", **fields: Any) -> Packet:
    return IPv6(src=src, dst=dst, **fields) / ICMPv6EchoRequest(id=7, seq=1, data=data)


def sized(size: int, src: str = HOST6, dst: str = FAR6, **fields: Any) -> Packet:
    """An IPv6 packet of this many bytes."""
    return ping6(src, dst, bytes(i % 251 for i in range(size - 48)), **fields)


@dataclass
class Tunnel:
    """A gateway, and its address in the outer headers."""

    gateway: Gateway
    outer: str = OUTSIDE

    def out(self, packet: Packet | bytes, *, broken: bool = False) -> list[Sent]:
        """Sends an IPv6 packet from host A."""
        frame = Ether(src=A.mac, dst=PORT_MAC[LAN], type=0x86dd) / Raw(bytes(packet))
        return self.gateway.send(LAN, frame, broken=broken)

    def packet(self, inner: Packet | bytes, src: str = FAR, **fields: Any) -> Packet:
        """A tunnel packet to the gateway."""
        fields.setdefault("dst", self.outer)
        return IP(src=src, proto=IP6, **fields) / Raw(bytes(inner))

    def into(self, inner: Packet | bytes, src: str = FAR, *, broken: bool = False, **fields: Any) -> list[Sent]:
        """Sends a tunnel packet from the router to the gateway."""
        return self.gateway.wan(self.packet(inner, src, **fields), broken=broken)

    def dropped(self) -> str:
        """The one drop reason counted since the last call."""
        reasons = self.gateway.drops()
        fresh = {reason: n - self._seen.get(reason, 0) for reason, n in reasons.items()}
        self._seen = reasons
        found = [reason for reason, n in fresh.items() if n]
        assert len(found) == 1 and fresh[found[0]] == 1, f"dropped: {fresh}"
        return found[0]

    def __post_init__(self) -> None:
        self._seen: dict[str, int] = {}
        self.gateway.wait(3)  # for duplicate address detection


def inner(sent: Sent) -> IPv6:
    """The inner packet of a tunnel packet, as its exact bytes."""
    assert sent.port == WAN and sent.ip.proto == IP6, sent
    return IPv6(sent.raw[14 + sent.ip.ihl * 4:14 + sent.ip.len])


def ip6(sent: Sent) -> IPv6:
    """The IPv6 packet of a frame on the LAN."""
    assert sent.port == LAN and sent.frame.type == 0x86dd, sent
    return IPv6(sent.raw[14:])


def told(sent: list[Sent]) -> tuple[int, int, int]:
    """Type, code and MTU (or pointer) of the one ICMPv6 error that went to a host on the LAN."""
    packet = bytes(ip6(only(sent, LAN)))
    assert packet[6] == 58
    return packet[40], packet[41], int.from_bytes(packet[44:48], "big")
