# SPDX-License-Identifier: BSD-2-Clause
"""Clients of PCP (RFC 6887) and NAT-PMP (RFC 6886), written from the RFCs: messages as they are on the wire."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

PORT, CLIENT_PORT = 5351, 5350
ANNOUNCE, MAP, PEER = 0, 1, 2
THIRD_PARTY, PREFER_FAILURE, FILTER = 1, 2, 3
UDP, TCP = 17, 6
(SUCCESS, UNSUPP_VERSION, NOT_AUTHORIZED, MALFORMED_REQUEST, UNSUPP_OPCODE, UNSUPP_OPTION, MALFORMED_OPTION,
 NETWORK_FAILURE, NO_RESOURCES, UNSUPP_PROTOCOL, USER_EX_QUOTA, CANNOT_PROVIDE_EXTERNAL, ADDRESS_MISMATCH,
 EXCESSIVE_REMOTE_PEERS) = range(14)
LONG, SHORT = 1800, 30  # lifetimes of errors, RFC 6887 section 7.4
NONCE = bytes(range(1, 13))


def wide(address: str) -> bytes:
    """An address in 128 bits (RFC 6887 section 5)."""
    one = ip_address(address)
    return bytes(10) + b"\xff\xff" + one.packed if isinstance(one, IPv4Address) else one.packed


def option(code: int, data: bytes = b"") -> bytes:
    return struct.pack("!BBH", code, 0, len(data)) + data + bytes(-len(data) % 4)


def request(client: str, opcode: int, lifetime: int, data: bytes, version: int = 2) -> bytes:
    return struct.pack("!BBHI", version, opcode, 0, lifetime) + wide(client) + data


def map_request(client: str, port: int, lifetime: int = 7200, *, protocol: int = UDP, suggest: int = 0,
                outside: str = "0.0.0.0", nonce: bytes = NONCE, options: bytes = b"") -> bytes:
    data = nonce + struct.pack("!B3xHH", protocol, port, suggest) + wide(outside) + options
    return request(client, MAP, lifetime, data)


def peer_request(client: str, port: int, remote: str, remote_port: int, lifetime: int = 7200, *, protocol: int = UDP,
                 suggest: int = 0, outside: str = "0.0.0.0", nonce: bytes = NONCE, options: bytes = b"") -> bytes:
    data = (nonce + struct.pack("!B3xHH", protocol, port, suggest) + wide(outside) +
            struct.pack("!HH", remote_port, 0) + wide(remote) + options)
    return request(client, PEER, lifetime, data)


@dataclass(frozen=True)
class Answer:
    """A response of PCP; what MAP and PEER add is 0 where there is none."""

    opcode: int
    result: int
    lifetime: int
    epoch: int
    nonce: bytes = b""
    protocol: int = 0
    port: int = 0
    outside_port: int = 0
    outside: str = ""
    rest: bytes = b""


def parse(data: bytes) -> Answer:
    version, opcode, result, lifetime, epoch = struct.unpack("!BBxBII", data[:12])
    assert version == 2 and opcode & 0x80 and data[2] == 0 and data[12:24] == bytes(12)
    assert len(data) % 4 == 0 and len(data) <= 1100
    head = opcode & 0x7f, result, lifetime, epoch
    if opcode & 0x7f not in (MAP, PEER) or len(data) < 60:
        return Answer(*head, rest=data[24:])
    nonce, (protocol, port, outside_port) = data[24:36], struct.unpack("!B3xHH", data[36:44])
    six = IPv6Address(data[44:60])
    return Answer(*head, nonce, protocol, port, outside_port, str(six.ipv4_mapped or six), data[60:])


def pmp_address() -> bytes:
    return bytes(2)


def pmp_map(port: int, lifetime: int = 7200, *, tcp: bool = False, suggest: int = 0) -> bytes:
    return struct.pack("!BBHHHI", 0, 1 + tcp, 0, port, suggest, lifetime)


@dataclass(frozen=True)
class PmpAnswer:
    """A response of NAT-PMP."""

    opcode: int
    result: int
    epoch: int
    outside: str = ""
    port: int = 0
    outside_port: int = 0
    lifetime: int = 0


def pmp_parse(data: bytes) -> PmpAnswer:
    version, opcode, result, epoch = struct.unpack("!BBHI", data[:8])
    assert version == 0 and opcode >= 128
    if opcode == 128 and len(data) == 12:
        return PmpAnswer(opcode, result, epoch, outside=str(IPv4Address(data[8:12])))
    if opcode in (129, 130) and len(data) == 16:
        port, outside, lifetime = struct.unpack("!HHI", data[8:16])
        return PmpAnswer(opcode, result, epoch, port=port, outside_port=outside, lifetime=lifetime)
    assert len(data) == 8, data
    return PmpAnswer(opcode, result, epoch)
