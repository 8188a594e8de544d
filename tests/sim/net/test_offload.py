# SPDX-License-Identifier: BSD-2-Clause
"""Partial packets (net/offload): the frames that leave are byte for byte those of the same traffic sent one by one.

`cut` is a card's segmentation, written from RFC 9293 and RFC 3168 alone. It makes the frames for the gateway that gets
them one by one, and cuts what the other gateway hands to a card that can.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from examples import examples
from gateway import LAN, NAT, WAN, Gateway
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from ivi import FOUR_MAC, IVI, SIX_MAC, to_four, to_six
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from scapy.utils import checksum
from simulator import Refused, Simulator
from test_flow import BACK, COLOCATED, OPENED, OUT, OUT6, lan, tcp, udp, wan

pytestmark = pytest.mark.virtual

ETH, TCP_SUM, UDP_SUM = 14, 16, 6
TSO6, ECN = 4096, 8192
FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = (1 << bit for bit in range(8))
SUM, ALL = 1, 15  # what a card can do: nothing but checksums, everything
FOUR, SIX = b"\x08\x00", b"\x86\xdd"


@dataclass(frozen=True)
class Bulk:
    """A partial packet, as `gwsim` takes and prints it."""

    frame: bytes
    l4: int
    offset: int = TCP_SUM
    segment: int = 0
    flags: int = 0

    def command(self, port: str, pieces: tuple[int, ...] = ()) -> str:
        numbers = (self.l4, self.offset, self.segment, self.flags, *pieces)
        return f"bulk {port} {','.join(map(str, numbers))} {self.frame.hex()}"


def l4_of(frame: bytes) -> int:
    return ETH + (40 if frame[12:14] == SIX else (frame[ETH] & 15) * 4)


def pseudo(frame: bytes, proto: int, length: int) -> bytes:
    if frame[12:14] == SIX:
        return frame[22:54] + struct.pack("!II", length, proto)
    return frame[26:34] + struct.pack("!HH", proto, length)


def with_lengths(frame: bytearray, number: int) -> None:
    """Sets the lengths of the IP header to what there is, and the identification, and its checksum."""
    if frame[12:14] == SIX:
        struct.pack_into("!H", frame, 18, len(frame) - 54)
        return
    struct.pack_into("!HH", frame, 16, len(frame) - ETH, number)
    frame[24:26] = b"\0\0"
    frame[24:26] = checksum(bytes(frame[ETH:l4_of(frame)])).to_bytes(2, "big")


def with_sum(frame: bytearray, offset: int) -> None:
    """Sets the checksum of the transport header."""
    l4 = l4_of(frame)
    at = l4 + offset
    frame[at:at + 2] = b"\0\0"
    proto = 6 if offset == TCP_SUM else 17
    found = checksum(pseudo(frame, proto, len(frame) - l4) + bytes(frame[l4:]))
    frame[at:at + 2] = (found if found or proto == 6 else 0xffff).to_bytes(2, "big")


def cut(bulk: Bulk) -> Iterator[bytes]:
    """The frames for which a partial packet stands."""
    frame = bulk.frame
    if not bulk.segment:
        whole = bytearray(frame)
        with_sum(whole, bulk.offset)
        yield bytes(whole)
        return
    header = bulk.l4 + (frame[bulk.l4 + 12] >> 4) * 4
    payload, ends = frame[header:], frame[bulk.l4 + 13]
    number, seq = struct.unpack_from("!H", frame, 18)[0], struct.unpack_from("!I", frame, bulk.l4 + 4)[0]
    places = range(0, len(payload), bulk.segment)
    for i, at in enumerate(places):
        one = bytearray(frame[:header] + payload[at:at + bulk.segment])
        flags = ends
        if i > 0:
            flags &= ~CWR
        if i < len(places) - 1:
            flags &= ~(FIN | PSH)
        struct.pack_into("!I", one, bulk.l4 + 4, (seq + at) % 2**32)
        one[bulk.l4 + 13] = flags
        with_lengths(one, (number + i) % 2**16)
        with_sum(one, TCP_SUM)
        yield bytes(one)


def partial(packet: Packet, payload: bytes, segment: int, flags: int, number: int = 0) -> Bulk:
    """The usual TCP packet with another payload and other flags, as a card hands it over."""
    frame = bytearray(bytes(packet)[:l4_of(bytes(packet))])
    l4 = len(frame)
    frame += bytes(packet)[l4:l4 + 20] + payload
    frame[l4 + 12], frame[l4 + 13] = 5 << 4, flags
    with_lengths(frame, number)
    frame[l4 + 16:l4 + 18] = b"\0\0"
    partly = checksum(pseudo(bytes(frame), 6, len(frame) - l4)) ^ 0xffff
    frame[l4 + 16:l4 + 18] = partly.to_bytes(2, "big")
    kind = (TSO6 if frame[12:14] == SIX else 0) | (ECN if flags & CWR else 0)
    return Bulk(bytes(frame), l4, TCP_SUM, segment, kind if segment else 0)


@dataclass(frozen=True)
class Way:
    """A flow in one direction: a gateway, what makes the flow known, and a packet of it with its interface."""

    app: str
    config: str
    first: tuple[tuple[str, Packet], ...]
    port: str
    usual: Packet


DF = {"flags": "DF"}
WAYS = {
    "nat-out": Way("nat", NAT, OPENED, LAN, lan(OUT / tcp("A"))),
    "nat-out-no-df": Way("nat", NAT, OPENED, LAN, lan(IP(src=OUT.src, dst=OUT.dst) / tcp("A"))),
    "nat-out-last-hop": Way("nat", NAT, OPENED, LAN, lan(IP(src=OUT.src, dst=OUT.dst, ttl=1) / tcp("A"))),
    "nat-out-small-mtu": Way("nat", NAT + "wan.mtu 1280\n", OPENED, LAN, lan(OUT / tcp("A"))),
    "nat-out-small-mtu-no-df": Way("nat", NAT + "wan.mtu 1280\n", OPENED, LAN,
                                   lan(IP(src=OUT.src, dst=OUT.dst) / tcp("A"))),
    "nat-out-unknown": Way("nat", NAT, (), LAN, lan(OUT / tcp("A"))),
    "nat-in": Way("nat", NAT, OPENED, WAN, wan(BACK / tcp("A", 7, 4000, 5001, 1001))),
    "nat-to-itself": Way("nat", NAT, (), LAN, lan(IP(src=OUT.src, dst="192.168.1.1") / tcp("A"))),
    "6to4-out": Way("6to4", COLOCATED, (), LAN, lan(OUT6 / tcp("A"))),
    "6to4-nat-out": Way("6to4", COLOCATED, OPENED, LAN, lan(OUT / tcp("A"))),
    "ivi-46": Way("ivi", IVI.config, (), WAN, wan(to_six(**DF) / tcp("A"), FOUR_MAC)),
    "ivi-46-no-df": Way("ivi", IVI.config, (), WAN, wan(to_six() / tcp("A"), FOUR_MAC)),
    "ivi-64": Way("ivi", IVI.config, (), LAN, lan(to_four() / tcp("A"), SIX_MAC)),
    "wire": Way("wire", "", (), LAN, lan(OUT / tcp("A"))),
    "wire-6": Way("wire", "", (), WAN, wan(OUT6 / tcp("A"))),
}


def told(way: Way, answers: list[list[str]]) -> dict[str, list[bytes]]:
    """The frames that left by each interface, cut here or by the gateway."""
    found: dict[str, list[bytes]] = {}
    for line in (line for answer in answers for line in answer):
        word, port, *rest = line.split()
        if word == "tx":
            found.setdefault(port, []).append(bytes.fromhex(rest[0]))
        elif word == "bulk":
            l4, offset, segment, flags = map(int, rest[0].split(","))
            found.setdefault(port, []).extend(cut(Bulk(bytes.fromhex(rest[1]), l4, offset, segment, flags)))
        else:
            raise AssertionError(line)
    return found


def played(sim: Simulator, way: Way, offloads: int, commands: list[str]) -> tuple[dict[str, list[bytes]], list[str]]:
    """What leaves a fresh gateway, and its counters."""
    gateway = Gateway(sim, way.config, way.app)
    gateway.checked = False
    gateway.wait(4)
    for port in (LAN, WAN):
        sim.command(f"offloads {port} {offloads}")
    sim.batch([f"rx {port} {bytes(frame).hex()}" for port, frame in way.first])
    warm = bytes(partial(way.usual, b"x", 0, ACK).frame)
    whole = bytearray(warm)
    with_sum(whole, TCP_SUM)
    sim.batch([f"rx {way.port} {whole.hex()}"] * (3 if way.app != "nat" else 1))
    found = told(way, sim.batch(commands))
    counters = [line for line in sim.command("stats") if not line.startswith("packets_")]
    gateway.finish(broken=True)
    return found, counters


def same(sim: Simulator, way: Way, offloads: int, bulks: list[Bulk], pieces: tuple[int, ...]) -> None:
    singly = [f"rx {way.port} {frame.hex()}" for bulk in bulks for frame in cut(bulk)]
    expected, counted = played(sim, way, offloads, singly)
    found, counters = played(sim, way, offloads, [bulk.command(way.port, pieces) for bulk in bulks])
    for port in (LAN, WAN):
        one, other = found.get(port, []), expected.get(port, [])
        assert len(one) == len(other), f"{port}: {len(one)} frames, not {len(other)}"
        for i, (is_, should) in enumerate(zip(one, other, strict=True)):
            assert is_ == should, f"{port}, frame {i}: {is_.hex()} is not {should.hex()}"
    assert counters == counted


@st.composite
def bulk_sizes(draw: st.DrawFn) -> tuple[int, int]:
    """A payload and a segment size, of 1 to 45 segments."""
    segment = draw(st.one_of(st.integers(1, 1460), st.sampled_from([1, 536, 1208, 1220, 1240, 1440, 1448, 1460])))
    segments = draw(st.one_of(st.integers(1, 4), st.integers(1, 45)))
    return min(segment * segments - draw(st.integers(0, segment - 1)), 65000), segment


@pytest.mark.parametrize("offloads", [0, SUM, ALL])
@pytest.mark.parametrize("name", WAYS)
@settings(parent=examples(6), phases=[Phase.reuse, Phase.generate])  # smaller examples take minutes to find
@given(sizes=st.lists(bulk_sizes(), min_size=1, max_size=3), number=st.integers(0, 65535),
       flags=st.sampled_from([ACK, ACK | PSH, ACK | PSH | FIN, ACK | CWR, ACK | CWR | PSH | ECE, ACK | URG]),
       pieces=st.lists(st.integers(1, 2048), max_size=4).map(tuple))
def test_same_as_one_by_one(sim: Simulator, name: str, offloads: int, sizes: list[tuple[int, int]], number: int,
                            flags: int, pieces: tuple[int, ...]) -> None:
    way = WAYS[name]
    bulks, seq = [], 0
    for payload, wanted in sizes:
        segment = min(wanted, 1440 if way.usual.type == 0x86dd else 1460)  # as long as the link carries
        data = bytes((seq + i) * 7 % 251 for i in range(payload))
        one = partial(way.usual, data, segment, flags, number)
        frame = bytearray(one.frame)
        at = one.l4 + 4
        struct.pack_into("!I", frame, at, (struct.unpack_from("!I", frame, at)[0] + seq) % 2**32)
        bulks.append(Bulk(bytes(frame), one.l4, TCP_SUM, segment, one.flags))
        seq += payload
    same(sim, way, offloads, bulks, pieces)


@pytest.mark.parametrize("name", ["nat-out", "nat-in", "ivi-46", "ivi-64", "6to4-out", "wire"])
@pytest.mark.parametrize("offloads", [0, SUM])
def test_partial_checksum_of_udp(sim: Simulator, name: str, offloads: int) -> None:
    """A datagram whose checksum is partial. One whose sum is zero is sent with all ones."""
    way = WAYS[name]
    head = bytes(way.usual)[:l4_of(bytes(way.usual))]
    header = bytearray(head)
    header[20 if header[12:14] == SIX else 23] = 17
    bulks = []
    for size in (0, 1, 2, 30, 999, 1400):
        frame = header + bytearray(bytes(udp(4000, 7, 0))[:4] + struct.pack("!HH", size + 8, 0))
        frame += bytes(range(256)) * 6
        del frame[len(header) + 8 + size:]
        with_lengths(frame, 77)
        partly = checksum(pseudo(bytes(frame), 17, size + 8)) ^ 0xffff
        struct.pack_into("!H", frame, len(header) + 6, partly)
        bulks.append(Bulk(bytes(frame), len(header), UDP_SUM))
        if size == 30:  # the same with a payload that makes the checksum zero
            whole = bytearray(frame)
            whole[-2:] = b"\0\0"
            with_sum(whole, UDP_SUM)
            frame[-2:] = whole[len(header) + 6:len(header) + 8]
            bulks.append(Bulk(bytes(frame), len(header), UDP_SUM))
    same(sim, way, offloads, bulks, ())


@pytest.mark.parametrize("name", ["nat-out", "6to4-out", "wire"])
def test_card_that_lies(sim: Simulator, name: str) -> None:
    """What does not fit its headers is dropped and counted, and nothing is lost."""
    way = WAYS[name]
    good = partial(way.usual, bytes(5000), 1000, ACK)
    frame, l4, flags = good.frame, good.l4, good.flags
    six = frame[12:14] == SIX
    longer = bytearray(frame)
    struct.pack_into("!H", longer, 18 if six else 16, len(frame) - (54 if six else ETH) + 1)
    fragment = bytearray(frame)
    fragment[20] |= 0x20
    short_tcp, syn, reset = bytearray(frame), bytearray(frame), bytearray(frame)
    short_tcp[l4 + 12] = 4 << 4
    syn[l4 + 13] |= SYN
    reset[l4 + 13] |= RST
    long_tcp = bytearray(frame[:l4 + 40])
    long_tcp[l4 + 12] = 15 << 4
    with_lengths(long_tcp, 1)
    lies = [
        Bulk(frame, l4 + 1, TCP_SUM, 1000, flags), Bulk(frame, l4 - 1, TCP_SUM, 1000, flags),
        Bulk(frame, 0, TCP_SUM, 1000, flags), Bulk(frame, 65535, TCP_SUM, 1000, flags),
        Bulk(frame, l4, 6, 1000, flags), Bulk(frame, l4, 65535, 1000, flags),
        Bulk(frame, l4, TCP_SUM, 1000, flags ^ TSO6), Bulk(frame, l4, TCP_SUM, 1449 + 20, flags),
        Bulk(frame, l4, TCP_SUM, 4999, flags), Bulk(frame, l4, TCP_SUM, 5000, flags),
        Bulk(frame, l4, TCP_SUM, 0, flags), Bulk(frame, l4, TCP_SUM, 65535, flags),
        Bulk(bytes(longer), l4, TCP_SUM, 1000, flags),
        Bulk(frame[:-1], l4, TCP_SUM, 1000, flags), Bulk(bytes(short_tcp), l4, TCP_SUM, 1000, flags),
        Bulk(bytes(syn), l4, TCP_SUM, 1000, flags), Bulk(bytes(reset), l4, TCP_SUM, 1000, flags),
        Bulk(bytes(long_tcp), l4, TCP_SUM, 10, flags), Bulk(frame[:l4 + 10], l4, TCP_SUM, 1000, flags),
        Bulk(frame[:30], l4, TCP_SUM, 1000, flags), Bulk(frame[:14], 13, 0, 0, 0), Bulk(frame[:20], 0, 19, 0, 0),
        Bulk(frame[:60], 60, 0, 0, 0), Bulk(frame[:60], 65535, 65535, 0, 0),
    ]
    if not six:
        lies.append(Bulk(bytes(fragment), l4, TCP_SUM, 1000, flags))
    gateway = Gateway(sim, way.config, way.app)
    gateway.checked = False
    gateway.wait(4)
    for i, lie in enumerate(lies):
        assert sim.command(lie.command(way.port)) == [], i
        assert gateway.drops().get("offload", 0) == i + 1, i
    gateway.finish(broken=True)


def test_whole_checksum_is_none_of_our_business(sim: Simulator) -> None:
    """A checksum of something inside the packet is completed before the forwarder sees it."""
    inner = IPv6(bytes(OUT6 / tcp("A")))
    way = WAYS["nat-out"]
    outer = bytearray(bytes(lan(IP(src=OUT.src, dst=OUT.dst, proto=41) / inner)))
    at = ETH + 20 + 40
    length = len(outer) - at
    partly = checksum(bytes(outer[ETH + 28:ETH + 60]) + struct.pack("!II", length, 6)) ^ 0xffff
    struct.pack_into("!H", outer, at + TCP_SUM, partly)
    sent = {}
    for offloads in (0, ALL):
        gateway = Gateway(sim, way.config, "wire")
        sim.command(f"offloads {WAN} {offloads}")
        answer, = sim.batch([Bulk(bytes(outer), at).command(LAN)])
        sent[offloads] = answer
        gateway.finish(broken=True)
    assert [line.split()[0] for line in sent[0] + sent[ALL]] == ["tx", "bulk"]
    whole = Ether(bytes.fromhex(sent[0][0].split()[2]))
    assert whole[IPv6].payload.chksum == inner.payload.chksum


def test_card_that_can_less_than_before(sim: Simulator) -> None:
    """What waits for a card that is started again with fewer offloads leaves as plain frames, in order."""
    way = WAYS["wire"]
    bulk = partial(way.usual, bytes(range(250)) * 40, 1000, ACK)
    gateway = Gateway(sim, "", "wire")
    sim.command(f"offloads {WAN} {ALL}")
    sim.command(f"card {WAN} stall")
    for _ in range(2):
        assert sim.command(bulk.command(LAN)) == []
        assert sim.command(f"rx {LAN} {bytes(way.usual).hex()}") == []
    sim.command(f"offloads {WAN} {SUM}")
    answer = sim.command(f"card {WAN} run")
    assert all(line.startswith("tx ") for line in answer)
    found = told(way, [answer])[WAN]
    assert found == [*cut(bulk), bytes(way.usual)] * 2
    gateway.finish(broken=True)


def test_pool_that_is_nearly_empty(sim: Simulator) -> None:
    """Super-segments for a card that takes nothing are dropped before the pool is empty, and all come back."""
    gateway = Gateway(sim, "", "wire", packets=256)
    bulk = partial(WAYS["wire"].usual, bytes(60000), 1000, ACK)
    sim.command(f"card {WAN} stall")
    with pytest.raises(Refused):
        for _ in range(10):
            sim.command(bulk.command(LAN))
            assert gateway.stats()["packets_free"] >= 256 // 4 - 40
            if gateway.drops():
                raise Refused
    assert gateway.drops()
    gateway.finish(broken=True)
