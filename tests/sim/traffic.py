# SPDX-License-Identifier: BSD-2-Clause
"""Packets of one kind each, so that a test can go through the protocols."""

from __future__ import annotations

from typing import Any

from gateway import A, OUTSIDE, SERVER, Gateway, Host, Sent, only
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from gateway import PORT_MAC, ROUTER, WAN

KINDS = ("udp", "tcp", "icmp")


def request(kind: str, number: int, data: bytes = b"", *, dport: int = 53) -> Packet:
    """What opens a session: `number` is the port or the identifier of the inside."""
    if kind == "udp":
        return UDP(sport=number, dport=dport) / data
    if kind == "tcp":
        return TCP(sport=number, dport=dport, flags="S", seq=1000) / data
    return ICMP(id=number, seq=1) / data


def reply(kind: str, number: int, data: bytes = b"", *, sport: int = 53) -> Packet:
    if kind == "udp":
        return UDP(sport=sport, dport=number) / data
    if kind == "tcp":
        return TCP(sport=sport, dport=number, flags="SA", seq=5000, ack=1001) / data
    return ICMP(type=0, id=number, seq=1) / data


def outer(sent: Sent) -> int:
    """The external port or identifier of a frame that left by the WAN."""
    packet = sent.ip
    if ICMP in packet:
        return int(packet[ICMP].id)
    return int(packet[UDP].sport if UDP in packet else packet[TCP].sport)


def open_out(gateway: Gateway, kind: str = "udp", number: int = 5000, *, host: Host = A, to: str = SERVER,
             dport: int = 53) -> int:
    """A session from inside; gives the external port or identifier."""
    return outer(only(gateway.ip_from(host, IP(src=host.ip, dst=to) / request(kind, number, dport=dport)), WAN))


def answer(gateway: Gateway, kind: str, number: int, *, source: str = SERVER, to: str = OUTSIDE,
           sport: int = 53, data: bytes = b"") -> list[Sent]:
    return gateway.wan(IP(src=source, dst=to) / reply(kind, number, data, sport=sport))


def frame_of(host: Host, packet: Packet | bytes) -> tuple[str, bytes]:
    """For Gateway.send_many."""
    header = Ether(src=host.mac, dst=PORT_MAC[host.port], type=0x800)
    return host.port, bytes(header) + bytes(packet)


def from_router(packet: Packet) -> tuple[str, bytes]:
    return frame_of(ROUTER, packet)


def icmp_kind(sent: Sent) -> tuple[Any, Any]:
    """Type and code of an ICMP message, as they stand on the wire."""
    at = 14 + (sent.raw[14] & 15) * 4
    return sent.raw[at], sent.raw[at + 1]
