# SPDX-License-Identifier: BSD-2-Clause
"""Whether a frame is one that a gateway may send: written from the RFCs, knows nothing of our code.

Works on bytes; sums with scapy's functions, which recompute from nothing instead of updating.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

from scapy.utils import checksum

ETHERTYPE_IP, ETHERTYPE_ARP = 0x0800, 0x0806
ICMP, TCP, UDP = 1, 6, 17
ICMP_ERRORS = {3, 4, 5, 11, 12}
L4_MIN = {ICMP: 8, TCP: 20, UDP: 8}


@dataclass(frozen=True)
class Ip4:
    """The fields of an IPv4 header that the checks need, and what follows it."""

    header: bytes
    length: int
    fragment: int
    ttl: int
    proto: int
    src: str
    dst: str
    payload: bytes

    @property
    def is_fragment(self) -> bool:
        return bool(self.fragment & 0x3fff)


def parse_ip4(data: bytes) -> Ip4:
    assert len(data) >= 20, f"IPv4 header of {len(data)} bytes"
    first, _, length, _, fragment, ttl, proto = struct.unpack("!BBHHHBB", data[:10])
    assert first >> 4 == 4, f"IP version {first >> 4}"
    header_length = (first & 15) * 4
    assert 20 <= header_length <= len(data), f"IPv4 header length {header_length}"
    assert length >= header_length, f"IPv4 length {length}"
    return Ip4(data[:header_length], length, fragment, ttl, proto, socket.inet_ntoa(data[12:16]),
               socket.inet_ntoa(data[16:20]), data[header_length:length])


def transport_sum(ip: Ip4) -> int:
    """0 when the transport checksum is right (RFC 768, 792, 9293)."""
    if ip.proto == ICMP:
        return checksum(ip.payload)
    pseudo = socket.inet_aton(ip.src) + socket.inet_aton(ip.dst) + struct.pack("!BBH", 0, ip.proto, len(ip.payload))
    return checksum(pseudo + ip.payload)


def check_transport(ip: Ip4, what: str) -> None:
    if ip.proto not in L4_MIN:
        return
    assert len(ip.payload) >= L4_MIN[ip.proto], f"{what}: {len(ip.payload)} transport bytes"
    if ip.proto == UDP:
        length, given = struct.unpack("!HH", ip.payload[4:8])
        assert 8 <= length <= len(ip.payload), f"{what}: UDP length {length}"
        if given == 0:
            return  # the sender made none
    assert transport_sum(ip) == 0, f"{what}: wrong transport checksum"


def check_quote(error: Ip4) -> None:
    """The packet that an ICMP error quotes must be right for whoever gets the error."""
    quote = error.payload[8:]
    inner = parse_ip4(quote)
    assert checksum(inner.header) == 0, "quoted IPv4 header: wrong checksum"
    if inner.length <= len(quote) and not inner.is_fragment and inner.proto in L4_MIN:
        check_transport(inner, "quoted packet")


def check_ip4(data: bytes, mtu: int, *, transport: bool = True) -> Ip4:
    ip = parse_ip4(data)
    assert ip.length == len(data), f"IPv4 length {ip.length} in {len(data)} bytes"
    assert ip.length <= mtu, f"{ip.length} bytes on a link of {mtu}"
    assert checksum(ip.header) == 0, "wrong IPv4 header checksum"
    assert ip.ttl > 0, "time to live 0 on the wire"
    if transport and not ip.is_fragment:
        check_transport(ip, "packet")
        if ip.proto == ICMP and ip.payload[0] in ICMP_ERRORS:
            check_quote(ip)
    return ip


def check_arp(data: bytes) -> None:
    assert len(data) >= 28, "short ARP packet"
    hardware, protocol, sizes, operation = struct.unpack("!HHHH", data[:8])
    assert (hardware, protocol, sizes) == (1, 0x0800, 0x0604), "ARP header"
    assert operation in (1, 2), f"ARP operation {operation}"


def check_frame(frame: bytes, source_mac: str, mtu: int, sources: set[str] | None, *, transport: bool = True) -> None:
    """`sources`: the only IPv4 sources allowed, None where any is."""
    assert len(frame) >= 14, "frame without Ethernet header"
    assert frame[6:12] == bytes.fromhex(source_mac.replace(":", "")), "not our MAC address as source"
    assert not frame[6] & 1
    kind = struct.unpack("!H", frame[12:14])[0]
    if kind == ETHERTYPE_ARP:
        check_arp(frame[14:])
        sender = socket.inet_ntoa(frame[28:32])
    else:
        assert kind == ETHERTYPE_IP, f"type {kind:#06x}"
        sender = check_ip4(frame[14:], mtu, transport=transport).src
    assert sources is None or sender in sources, f"source {sender} outside {sources}"
