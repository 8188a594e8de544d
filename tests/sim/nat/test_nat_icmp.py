# SPDX-License-Identifier: BSD-2-Clause
"""ICMP errors through the NAT, in both directions (RFC 5508 section 4, RFC 3022 section 4.3).

The oracle checks every quoted header and, where the quote is whole, the quoted transport checksum, as a receiver
does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from gateway import A, B, LAN, NAT, OUTSIDE, SERVER, WAN, Gateway, only
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.packet import Packet, Raw
from scapy.utils import checksum
from test_ip4 import with_options

Start = Callable[..., Gateway]
FAR = "192.0.2.99"  # a router on the way

TRANSPORTS = pytest.mark.parametrize("make", [
    lambda port: UDP(sport=port, dport=53) / b"question",
    lambda port: UDP(sport=port, dport=53, chksum=0) / b"question",
    lambda port: TCP(sport=port, dport=53, flags="S") / b"data",
    lambda port: ICMP(id=port, seq=1) / b"ping",
], ids=["udp", "udp0", "tcp", "echo"])
ERRORS = pytest.mark.parametrize(("kind", "code"), [
    (3, 0), (3, 1), (3, 2), (3, 3), (3, 4), (3, 13), (11, 0), (11, 1), (12, 0),
])


def number(packet: Packet) -> int:
    """Source port, or identifier."""
    return int(packet[ICMP].id if ICMP in packet else packet.payload.sport)


def bytes_of_l4(packet: Packet) -> bytes:
    return bytes(packet)[20:]


@TRANSPORTS
@ERRORS
def test_error_from_outside(gateway: Gateway, make: Callable[[int], Packet], kind: int, code: int) -> None:
    """REQ-4: the quote is the packet that the inside host sent; type, code and the rest are unchanged."""
    original = IP(src=A.ip, dst=SERVER, id=7, ttl=30) / make(5001)
    sent = only(gateway.lan(original), WAN)
    message = ICMP(type=kind, code=code, nexthopmtu=1400) / Raw(bytes(sent.ip))
    error = IP(src=FAR, dst=OUTSIDE, ttl=50, tos=0xc0) / message
    got = only(gateway.wan(error), LAN)
    assert (got.ip.src, got.ip.dst, got.ip.ttl, got.ip.tos) == (FAR, A.ip, 49, 0xc0)
    assert got.raw[34:36] == bytes((kind, code))
    assert got.raw[38:42] == bytes(error)[24:28]
    inner = IP(got.quote)
    # The NAT replaced the identification that the host chose (RFC 6864 section 5.3.1): the quote has the NAT's.
    assert (inner.src, inner.dst, inner.id, inner.ttl) == (A.ip, SERVER, sent.ip.id, 29)
    assert bytes_of_l4(inner) == bytes_of_l4(original)


@TRANSPORTS
@pytest.mark.parametrize("size", [8, 9, 12, 19, 20])
def test_short_quote_from_outside(gateway: Gateway, make: Callable[[int], Packet], size: int) -> None:
    """Eight octets after the header are enough (RFC 792)."""
    original = IP(src=A.ip, dst=SERVER) / make(5001)
    sent = only(gateway.lan(original), WAN)
    error = IP(src=FAR, dst=OUTSIDE) / ICMP(type=11) / Raw(bytes(sent.ip)[:20 + size])
    got = only(gateway.wan(error), LAN)
    assert got.quote[20:] == bytes_of_l4(original)[:size]


@TRANSPORTS
def test_quote_with_options(gateway: Gateway, make: Callable[[int], Packet]) -> None:
    """REQ-3b: options in the quoted header are skipped; a recorded route was blanked on the way out."""
    options = b"\x94\x04\x00\x00\x07\x07\x08\xcb\x00\x71\x02\x00"
    original = with_options(IP(src=A.ip, dst=SERVER) / make(5001), options)
    sent = only(gateway.lan(original), WAN)
    got = only(gateway.wan(IP(src=FAR, dst=OUTSIDE) / ICMP(type=11) / Raw(sent.raw[14:])), LAN)
    assert got.quote[20:32] == options[:4] + b"\x01" * 7 + b"\0"
    assert got.quote[32:] == original[32:]


@TRANSPORTS
def test_error_about_a_mapping_whose_port_was_changed(gateway: Gateway, make: Callable[[int], Packet]) -> None:
    only(gateway.lan(IP(src=A.ip, dst=SERVER) / make(5001)), WAN)
    original = IP(src=B.ip, dst=SERVER) / make(5001)
    sent = only(gateway.ip_from(B, original), WAN)
    assert number(sent.ip) != 5001
    got = only(gateway.wan(IP(src=FAR, dst=OUTSIDE) / ICMP(type=3, code=1) / Raw(bytes(sent.ip))), LAN)
    assert got.ip.dst == B.ip
    assert bytes_of_l4(IP(got.quote)) == bytes_of_l4(original)


@pytest.mark.parametrize(("make", "code"), [
    (lambda port: UDP(sport=53, dport=port) / b"answer", 3),
    (lambda port: UDP(sport=53, dport=port, chksum=0) / b"answer", 3),
    (lambda port: TCP(sport=53, dport=port, flags="SA") / b"answer", 1),
    (lambda port: ICMP(type=0, id=port, seq=1) / b"ping", 1),
], ids=["udp", "udp0", "tcp", "echo"])
@pytest.mark.parametrize("size", [8, 20, 1500])
def test_error_from_inside(gateway: Gateway, make: Callable[[int], Packet], code: int, size: int) -> None:
    """REQ-5: the quote is the packet that the server sent; the error comes from our address."""
    first = make(1)
    asked: Any = {UDP: UDP(sport=5001, dport=53), TCP: TCP(sport=5001, dport=53, flags="S"),
                  ICMP: ICMP(id=5001)}[type(first)]
    only(gateway.lan(IP(src=A.ip, dst=SERVER) / asked), WAN)
    # Another host takes the same port, so that numbers differ inside and outside.
    outer = number(only(gateway.ip_from(B, IP(src=B.ip, dst=SERVER) / asked), WAN).ip)
    answer = IP(src=SERVER, dst=OUTSIDE, id=8) / make(outer)
    got = only(gateway.wan(answer), LAN)
    error = IP(src=B.ip, dst=SERVER, tos=0xc0) / ICMP(type=3, code=code) / Raw(got.raw[14:][:20 + size])
    told = only(gateway.ip_from(B, error), WAN)
    assert (told.ip.src, told.ip.dst, told.ip.tos) == (OUTSIDE, SERVER, 0xc0)
    inner = IP(told.quote)
    assert (inner.src, inner.dst, inner.id) == (SERVER, OUTSIDE, 8)
    assert bytes_of_l4(inner) == bytes_of_l4(answer)[:size]


def test_error_about_a_hairpinned_packet(start: Start) -> None:
    """REQ-7."""
    gateway = start(NAT + "nat.filtering endpoint-independent\n")
    port = number(only(gateway.ip_from(B, IP(src=B.ip, dst=SERVER) / UDP(sport=6000, dport=53)), WAN).ip)
    original = IP(src=A.ip, dst=OUTSIDE) / UDP(sport=7000, dport=port) / b"hello"
    seen = only(gateway.lan(original), LAN)
    error = IP(src=B.ip, dst=OUTSIDE) / ICMP(type=3, code=3) / Raw(bytes(seen.ip))
    got = only(gateway.ip_from(B, error), LAN)
    assert (got.ip.src, got.ip.dst, got.frame[ICMP].type) == (OUTSIDE, A.ip, 3)
    inner = IP(got.quote)
    assert (inner.src, inner.dst) == (A.ip, OUTSIDE)
    assert bytes_of_l4(inner) == bytes_of_l4(original)


def quoting(raw: bytes, **fields: Any) -> Packet:
    return IP(src=FAR, dst=OUTSIDE, **fields) / ICMP(type=3, code=1) / Raw(raw)


def test_wrong_icmp_checksum(gateway: Gateway) -> None:
    """REQ-3: dropped silently."""
    sent = only(gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5001, dport=53)), WAN)
    error = IP(src=FAR, dst=OUTSIDE) / ICMP(type=3, code=1, chksum=0x1234) / Raw(bytes(sent.ip))
    assert gateway.wan(error) == []
    assert gateway.drops() == {"icmp-checksum": 1}


@pytest.mark.parametrize("spoil", [
    lambda q: b"",
    lambda q: q[:19],
    lambda q: q[:27],  # seven octets
    lambda q: b"\x65" + q[1:],
    lambda q: b"\x44" + q[1:],
    lambda q: b"\x4f" + q[1:],  # header longer than the quote
    lambda q: q[:6] + b"\x00\x01" + q[8:],  # a later fragment
])
def test_unusable_quote(gateway: Gateway, spoil: Callable[[bytes], bytes]) -> None:
    sent = only(gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5001, dport=53)), WAN)
    assert gateway.wan(quoting(spoil(bytes(sent.ip)))) == []
    assert gateway.drops() == {"icmp-quote": 1}


@pytest.mark.parametrize("inner", [
    IP(src=OUTSIDE, dst=SERVER) / UDP(sport=5002, dport=53),
    IP(src=OUTSIDE, dst=SERVER) / TCP(sport=5001, dport=53),
    IP(src=OUTSIDE, dst=SERVER) / ICMP(id=5001),
    IP(src=OUTSIDE, dst=SERVER, proto=47) / Raw(bytes(8)),
    IP(src="1.2.3.4", dst=SERVER) / UDP(sport=5001, dport=53),  # not from us
    IP(src=A.ip, dst=SERVER) / UDP(sport=5001, dport=53),
    IP(src=OUTSIDE, dst=SERVER) / UDP(sport=5001, dport=54),  # never sent there: a guess from outside
    IP(src=OUTSIDE, dst="198.51.100.99") / UDP(sport=5001, dport=53),
])
def test_error_about_a_packet_that_was_never_sent(gateway: Gateway, inner: Packet) -> None:
    only(gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5001, dport=53)), WAN)
    assert gateway.wan(quoting(bytes(inner))) == []
    assert gateway.drops() == {"no-mapping": 1}


def test_error_from_inside_about_a_packet_that_never_came(gateway: Gateway) -> None:
    inner = IP(src=SERVER, dst=A.ip) / UDP(sport=53, dport=5001)
    assert gateway.lan(IP(src=A.ip, dst=SERVER) / ICMP(type=3, code=3) / Raw(bytes(inner))) == []
    assert gateway.drops() == {"no-mapping": 1}


def test_error_from_inside_with_a_forged_source(gateway: Gateway) -> None:
    only(gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5001, dport=53)), WAN)
    inner = IP(src=SERVER, dst=A.ip) / UDP(sport=53, dport=5001)
    assert gateway.lan(IP(src="10.1.1.1", dst=SERVER) / ICMP(type=3, code=3) / Raw(bytes(inner))) == []
    assert gateway.drops() == {"martian-source": 1}


@pytest.mark.parametrize("kind", [4, 5, 9, 10, 15, 16, 17, 18, 30])
def test_other_icmp_does_not_pass(gateway: Gateway, kind: int) -> None:
    """REQ-11; redirects and source quench must not."""
    sent = only(gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5001, dport=53)), WAN)
    message = ICMP(type=kind)
    assert gateway.wan(IP(src=SERVER, dst=OUTSIDE) / message / Raw(bytes(sent.ip))) == []
    assert gateway.lan(IP(src=A.ip, dst=SERVER) / message / Raw(bytes(sent.ip))) == []
    assert gateway.drops() == {"icmp-type": 2}


def test_extension_behind_the_quote_passes(gateway: Gateway) -> None:
    """RFC 4884: padding to 128 octets, then the extension structure, unchanged."""
    sent = only(gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5001, dport=53) / b"x"), WAN)
    extension = bytes.fromhex("2000000000080101deadbeef")
    message = bytes.fromhex("0b00000000200000") + bytes(sent.ip).ljust(128, b"\0") + extension
    error = IP(src=FAR, dst=OUTSIDE, proto=1) / Raw(message)
    raw = bytearray(bytes(error))
    raw[20:] = message[:2] + checksum_of(message) + message[4:]
    got = only(gateway.wan(bytes(raw)), LAN)
    assert got.raw[-12:] == extension
    assert got.raw[39] == 0x20


def checksum_of(message: bytes) -> bytes:
    return checksum(message).to_bytes(2, "big")
