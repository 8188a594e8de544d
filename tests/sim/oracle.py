# SPDX-License-Identifier: BSD-2-Clause
"""Checks whether a gateway may send a frame. It is written from the RFCs alone and knows nothing of our code.

It works on bytes. Checksums come from scapy's functions, which compute them in full instead of updating them.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from scapy.utils import checksum

ETHERTYPE_IP, ETHERTYPE_ARP, ETHERTYPE_IP6 = 0x0800, 0x0806, 0x86dd
ICMP, TCP, UDP, IP6, ICMP6 = 1, 6, 17, 41, 58
ICMP_ERRORS = {3, 4, 5, 11, 12}
L4_MIN = {ICMP: 8, TCP: 20, UDP: 8}
L4_MIN6 = {ICMP6: 4, TCP: 20, UDP: 8}
L4_SUM6 = {ICMP6: 2, TCP: 16, UDP: 6}
EXTENSIONS = {0, 43, 44, 60}
ND = range(133, 138)


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
            return  # the sender computed none
    assert transport_sum(ip) == 0, f"{what}: wrong transport checksum"


def check_quote(error: Ip4) -> None:
    """Checks that the packet quoted by an ICMP error is right for the host that gets the error."""
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


@dataclass(frozen=True)
class Ip6:
    """The fields of an IPv6 header that the checks need, and the transport message."""

    length: int
    hops: int
    proto: int
    chain: list[int]  # extension headers
    src: bytes
    dst: bytes
    payload: bytes
    is_fragment: bool


def parse_ip6(data: bytes) -> Ip6:
    assert len(data) >= 40, f"IPv6 header of {len(data)} bytes"
    first, length, proto, hops = struct.unpack("!IHBB", data[:8])
    assert first >> 28 == 6, f"IP version {first >> 28}"
    at, chain, fragment = 40, [], False
    while proto in EXTENSIONS and not fragment:
        assert len(data) >= at + 8, "extension header beyond the end"
        chain.append(proto)
        fragment = proto == 44 and bool(int.from_bytes(data[at + 2:at + 4], "big") & 0xfff9)
        proto, at = data[at], at + (8 if proto == 44 else (data[at + 1] + 1) * 8)
    return Ip6(length, hops, proto, chain, data[8:24], data[24:40], data[at:40 + length], fragment)


def transport_sum6(ip: Ip6) -> int:
    """0 when the transport checksum is right (RFC 8200 section 8.1)."""
    pseudo = ip.src + ip.dst + struct.pack("!IxxxB", len(ip.payload), ip.proto)
    return checksum(pseudo + ip.payload)


def check_icmp6(ip: Ip6) -> None:
    kind, code = ip.payload[:2]
    if kind in ND:
        assert ip.hops == 255 and code == 0, f"neighbour discovery with hop limit {ip.hops}, code {code}"
        assert ip.chain == [], "neighbour discovery with extension headers"
    elif kind in (131, 132, 143):
        assert ip.hops == 1 and ip.chain == [0], "MLD needs hop limit 1 and router alert"
        assert ip.src == bytes(16) or ip.src[:2] == b"\xfe\x80", "MLD from a global address"
    elif kind < 128:
        assert ip.length + 40 <= 1280, f"ICMPv6 error of {ip.length + 40} bytes"
        assert len(ip.payload) >= 48 and ip.payload[8] >> 4 == 6, "the quote of an error is no IPv6 packet"
        assert ip.dst[0] != 0xff and ip.dst != bytes(16), "ICMPv6 error to a group"
        assert kind != 2 or int.from_bytes(ip.payload[4:8], "big") >= 1280, "packet too big below 1280"


def check_ip6(data: bytes, mtu: int, *, transport: bool = True) -> Ip6:
    ip = parse_ip6(data)
    assert ip.length + 40 == len(data), f"IPv6 length {ip.length} in {len(data)} bytes"
    assert len(data) <= mtu, f"{len(data)} bytes on a link of {mtu}"
    assert ip.hops > 0, "hop limit 0 on the wire"
    assert ip.src[0] != 0xff, "a group as source"
    if transport and not ip.is_fragment and ip.proto in L4_MIN6:
        assert len(ip.payload) >= L4_MIN6[ip.proto], f"{len(ip.payload)} transport bytes"
        at = L4_SUM6[ip.proto]
        assert ip.payload[at:at + 2] != bytes(2) or ip.proto != UDP, "UDP without checksum"
        assert transport_sum6(ip) == 0, "wrong transport checksum"
        if ip.proto == ICMP6:
            check_icmp6(ip)
    return ip


def check_uplink(frame: bytes, *, transport: bool = True) -> None:
    """Checks a frame on the WAN of a 6to4 router: IPv6 only in tunnel packets, and these as in RFC 4213 section 3."""
    assert frame[12:14] != b"\x86\xdd", "IPv6 on the WAN"
    if frame[12:14] != b"\x08\x00":
        return
    ip = parse_ip4(frame[14:])
    if ip.proto != IP6:
        return
    assert not ip.fragment & 0x4000, "tunnel packet with DF"
    assert len(ip.header) == 20, "tunnel packet with options"
    if not ip.is_fragment:
        check_ip6(ip.payload, 1480, transport=transport)


def check_arp(data: bytes) -> None:
    assert len(data) >= 28, "short ARP packet"
    hardware, protocol, sizes, operation = struct.unpack("!HHHH", data[:8])
    assert (hardware, protocol, sizes) == (1, 0x0800, 0x0604), "ARP header"
    assert operation in (1, 2), f"ARP operation {operation}"


def check_destination(frame: bytes, networks: Sequence[IPv4Network | IPv6Network]) -> None:
    """Checks that a unicast packet leaves on an interface that has these networks, itself or behind a router."""
    kind = frame[12:14]
    if kind == b"\x08\x00":
        to: IPv4Address | IPv6Address = IPv4Address(frame[30:34])
    elif kind == b"\x86\xdd":
        to = IPv6Address(frame[38:54])
    else:
        return
    if not (frame[0] & 1 or to.is_link_local):
        assert any(to in network for network in networks), f"packet to {to} on the network of {networks}"


def check_frame(frame: bytes, source_mac: str, mtu: int, sources: set[str] | None, *, transport: bool = True) -> None:
    """`sources`: the only IPv4 sources allowed; None allows any, and IPv6 as well."""
    assert len(frame) >= 14, "frame without Ethernet header"
    assert frame[6:12] == bytes.fromhex(source_mac.replace(":", "")), "not our MAC address as source"
    assert not frame[6] & 1
    kind = struct.unpack("!H", frame[12:14])[0]
    if kind == ETHERTYPE_IP6:
        ip = check_ip6(frame[14:], mtu, transport=transport)
        assert sources is None or ip.dst[0] == 0xff or ip.src[:2] == b"\xfe\x80", "native IPv6 on the WAN"
        if ip.dst[0] == 0xff:
            assert frame[:6] == b"\x33\x33" + ip.dst[12:], "group in a frame to another"
        return
    if kind == ETHERTYPE_ARP:
        check_arp(frame[14:])
        sender = socket.inet_ntoa(frame[28:32])
    else:
        assert kind == ETHERTYPE_IP, f"type {kind:#06x}"
        sender = check_ip4(frame[14:], mtu, transport=transport).src
    assert sources is None or sender in sources, f"source {sender} outside {sources}"
