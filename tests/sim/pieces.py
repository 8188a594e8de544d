# SPDX-License-Identifier: BSD-2-Clause
"""IPv4 fragments: cut as in RFC 791 section 3.2, and reassembled as a receiver does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import oracle
from gateway import Sent
from scapy.layers.inet import IP
from scapy.packet import Packet, Raw

MF, DF = 0x2000, 0x4000


def cut(packet: Packet, size: int = 1480) -> list[Packet]:
    """Fragments of a packet, `size` bytes of payload each, in order."""
    whole = bytes(packet)
    header = IP(whole)
    payload = whole[header.ihl * 4:]
    assert size % 8 == 0
    made = []
    for at in range(0, len(payload), size):
        last = at + size >= len(payload)
        made.append(IP(src=header.src, dst=header.dst, id=header.id, ttl=header.ttl, tos=header.tos,
                       proto=header.proto, flags="" if last else "MF", frag=at // 8) / Raw(payload[at:at + size]))
    return made


def is_fragment(one: Sent) -> bool:
    return one.frame.type == 0x800 and bool(int.from_bytes(one.raw[20:22], "big") & 0x3fff)


def join(sent: Iterable[Sent]) -> Packet:
    """Reassembles the packet. Every fragment must belong to it, and its transport checksum must be right."""
    parts: dict[int, bytes] = {}
    keys, total = set(), 0
    header = b""
    for one in sent:
        ip = oracle.parse_ip4(one.raw[14:])
        keys.add((ip.src, ip.dst, ip.proto, ip.header[4:6], one.port))
        at = (ip.fragment & 0x1fff) * 8
        parts[at] = ip.payload
        if at == 0:
            header = ip.header
        if not ip.fragment & MF:
            total = at + len(ip.payload)
    assert len(keys) == 1, f"pieces of different packets: {keys}"
    payload = b""
    while len(payload) < total:
        assert len(payload) in parts, f"no piece at {len(payload)} of {total}: {sorted(parts)}"
        payload += parts[len(payload)]
    assert header and len(payload) == total > 0
    raw = header[:2] + (20 + total).to_bytes(2, "big") + header[4:6] + b"\0\0" + header[8:10] + b"\0\0" + header[12:]
    oracle.check_transport(oracle.parse_ip4(raw + payload), "reassembled packet")
    return IP(raw + payload)


def groups(sent: Sequence[Sent]) -> list[list[Sent]]:
    """The fragments of each packet, grouped by source, destination, protocol and identification."""
    found: dict[bytes, list[Sent]] = {}
    for one in sent:
        found.setdefault(one.raw[18:20] + one.raw[23:24] + one.raw[26:34], []).append(one)
    return list(found.values())
