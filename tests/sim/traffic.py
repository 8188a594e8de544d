# SPDX-License-Identifier: BSD-2-Clause
"""Packets of each protocol, so that one test can try them all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gateway import A, LAN, OUTSIDE, PORT_MAC, ROUTER, SERVER, WAN, Gateway, Host, Sent, only
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet

KINDS = ("udp", "tcp", "icmp")


def request(kind: str, number: int, data: bytes = b"", *, dport: int = 53) -> Packet:
    """A packet that opens a session: `number` is the inside port or identifier."""
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
    """Opens a session from inside; gives the external port or identifier."""
    return outer(only(gateway.ip_from(host, IP(src=host.ip, dst=to) / request(kind, number, dport=dport)), WAN))


def answer(gateway: Gateway, kind: str, number: int, *, source: str = SERVER, to: str = OUTSIDE,
           sport: int = 53, data: bytes = b"") -> list[Sent]:
    return gateway.wan(IP(src=source, dst=to) / reply(kind, number, data, sport=sport))


def frame_of(host: Host, packet: Packet | bytes) -> tuple[str, bytes]:
    """The arguments for one frame of Gateway.send_many."""
    header = Ether(src=host.mac, dst=PORT_MAC[host.port], type=0x800)
    return host.port, bytes(header) + bytes(packet)


def from_router(packet: Packet) -> tuple[str, bytes]:
    return frame_of(ROUTER, packet)


def use_up(gateway: Gateway, host: Host, ports: Iterable[int], kind: str = "udp", *, answered: bool = False,
           outside: str = OUTSIDE) -> None:
    """Opens a session from each of these ports, whose number stays the same outside. It is fast enough for tens of
    thousands of sessions, so the checksums are not computed: nobody looks at them."""
    wanted = list(ports)
    first = wanted[0]
    assert open_out(gateway, kind, first, host=host) == first
    out = bytearray(frame_of(host, IP(src=host.ip, dst=SERVER) / request(kind, first))[1])
    back = bytearray(from_router(IP(src=SERVER, dst=outside) / reply(kind, first))[1])
    if kind == "udp":
        out[40:42] = back[40:42] = bytes(2)
    for at in range(0, len(wanted), 4096):
        lines = []
        for port in wanted[at:at + 4096]:
            out[34:36] = back[36:38] = port.to_bytes(2, "big")
            lines.append(f"rx {LAN} {out.hex()}")
            if answered:
                lines.append(f"rx {WAN} {back.hex()}")
        sent = [len(answer) for answer in gateway.sim.batch(lines)]
        assert sent == [1] * len(lines)


def icmp_kind(sent: Sent) -> tuple[Any, Any]:
    """Type and code of an ICMP message, as they are on the wire."""
    at = 14 + (sent.raw[14] & 15) * 4
    return sent.raw[at], sent.raw[at + 1]
