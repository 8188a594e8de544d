# SPDX-License-Identifier: BSD-2-Clause
"""Partial packets (net/offload): the frames that leave are byte for byte those of the same traffic sent one by one.

`cut` is a card's segmentation, written from RFC 9293, RFC 3168 and RFC 768 alone. It makes the frames for the gateway
that gets them one by one, and cuts what the other gateway hands to a card that can.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import six4
from examples import examples
from gateway import LAN, NAT, WAN, Gateway
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from ivi import FOUR_MAC, IVI, SIX_MAC, World, to_four, to_six
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from scapy.utils import checksum
from simulator import Refused, Simulator
from test_flow import BACK, COLOCATED, OPENED, OPENED64, OUT, OUT6, OUT64, lan, tcp, udp, wan

pytestmark = pytest.mark.virtual

ETH, TCP_SUM, UDP_SUM = 14, 16, 6
TSO6, ECN, USO = 4096, 8192, 16384
FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = (1 << bit for bit in range(8))
SUM, NO_ECN, NO_USO, ALL = 1, 23, 15, 31  # what a card can do: nothing but checksums, … everything
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
    number = struct.unpack_from("!H", frame, 18)[0]
    if bulk.flags & USO:
        payload = frame[bulk.l4 + 8:]
        for i, at in enumerate(range(0, len(payload), bulk.segment)):
            one = bytearray(frame[:bulk.l4 + 8] + payload[at:at + bulk.segment])
            struct.pack_into("!H", one, bulk.l4 + 4, len(one) - bulk.l4)
            with_lengths(one, (number + i) % 2**16)
            with_sum(one, UDP_SUM)
            yield bytes(one)
        return
    header = bulk.l4 + (frame[bulk.l4 + 12] >> 4) * 4
    payload, ends = frame[header:], frame[bulk.l4 + 13]
    seq = struct.unpack_from("!I", frame, bulk.l4 + 4)[0]
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


def datagrams(packet: Packet, payload: bytes, segment: int, number: int = 0) -> Bulk:
    """Datagrams of UDP between the addresses of a packet, as a card hands them over."""
    head = bytes(packet)[:l4_of(bytes(packet))]
    frame = bytearray(head + struct.pack("!HHHH", 4000, 7, len(payload) + 8, 0) + payload)
    frame[20 if frame[12:14] == SIX else 23] = 17
    with_lengths(frame, number)
    partly = checksum(pseudo(bytes(frame), 17, len(payload) + 8)) ^ 0xffff
    struct.pack_into("!H", frame, len(head) + 6, partly)
    kind = (TSO6 if frame[12:14] == SIX else 0) | USO
    return Bulk(bytes(frame), len(head), UDP_SUM, segment, kind if segment else 0)


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
    "nat64-64": Way("nat64", six4.CONFIG, OPENED64, LAN, lan(OUT64 / tcp("A"), six4.MAC[six4.SIX])),
    "nat64-64-unknown": Way("nat64", six4.CONFIG, (), LAN, lan(OUT64 / tcp("A"), six4.MAC[six4.SIX])),
    "nat64-46": Way("nat64", six4.CONFIG, OPENED64, WAN,
                    wan(six4.to6(flags="DF") / tcp("A", 7, 4000, 5001, 1001), six4.FOUR_MAC)),
    "nat64-46-no-df": Way("nat64", six4.CONFIG, OPENED64, WAN,
                          wan(six4.to6() / tcp("A", 7, 4000, 5001, 1001), six4.FOUR_MAC)),
    "ivi-46-small-mtu": Way("ivi", World(lan_mtu=1280).config, (), WAN, wan(to_six(**DF) / tcp("A"), FOUR_MAC)),
    "ivi-64-small-mtu": Way("ivi", World(wan_mtu=1280).config, (), LAN, lan(to_four() / tcp("A"), SIX_MAC)),
    "nat64-64-small-mtu": Way("nat64", six4.CONFIG + "wan.mtu 1280\n", OPENED64, LAN,
                              lan(OUT64 / tcp("A"), six4.MAC[six4.SIX])),
    "nat64-46-small-mtu": Way("nat64", six4.CONFIG + "lan.mtu 1280\n", OPENED64, WAN,
                              wan(six4.to6(flags="DF") / tcp("A", 7, 4000, 5001, 1001), six4.FOUR_MAC)),
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


def played(sim: Simulator, way: Way, offloads: int, commands: list[str],
           large: bool = False) -> tuple[dict[str, list[bytes]], list[str]]:
    """What leaves a fresh gateway, and its counters."""
    gateway = Gateway(sim, way.config, way.app, large=large)
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


def same(sim: Simulator, way: Way, offloads: int, bulks: list[Bulk], pieces: tuple[int, ...],
         singles: list[bytes] | None = None, large: bool = False) -> None:
    frames = [frame for bulk in bulks for frame in cut(bulk)] if singles is None else singles
    expected, counted = played(sim, way, offloads, [f"rx {way.port} {frame.hex()}" for frame in frames])
    found, counters = played(sim, way, offloads, [bulk.command(way.port, pieces) for bulk in bulks], large)
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
       pieces=st.lists(st.integers(1, 8192), max_size=4).map(tuple), large=st.booleans())
def test_same_as_one_by_one(sim: Simulator, name: str, offloads: int, sizes: list[tuple[int, int]], number: int,
                            flags: int, pieces: tuple[int, ...], large: bool) -> None:
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
    same(sim, way, offloads, bulks, pieces, large=large)


@pytest.mark.parametrize("offloads", [0, SUM, NO_USO, ALL])
@pytest.mark.parametrize("name", WAYS)
@settings(parent=examples(4), phases=[Phase.reuse, Phase.generate])
@given(sizes=st.lists(bulk_sizes(), min_size=1, max_size=3), number=st.integers(0, 65535),
       pieces=st.lists(st.integers(1, 8192), max_size=4).map(tuple), large=st.booleans())
def test_datagrams_same_as_one_by_one(sim: Simulator, name: str, offloads: int, sizes: list[tuple[int, int]],
                                      number: int, pieces: tuple[int, ...], large: bool) -> None:
    way = WAYS[name]
    bulks = []
    for i, (payload, wanted) in enumerate(sizes):
        segment = min(wanted, 1452 if way.usual.type == 0x86dd else 1472)
        bulks.append(datagrams(way.usual, bytes((i + k) * 7 % 251 for k in range(payload)), segment, number))
    same(sim, way, offloads, bulks, pieces, large=large)


def in_order(sim: Simulator, way: Way, offloads: int, commands: list[str]) -> list[str]:
    """What leaves a gateway that knows the flow, as `gwsim` prints it."""
    gateway = Gateway(sim, way.config, way.app)
    gateway.checked = False
    gateway.wait(4)
    for port in (LAN, WAN):
        sim.command(f"offloads {port} {offloads}")
    sim.batch([f"rx {port} {bytes(frame).hex()}" for port, frame in way.first])
    whole = bytearray(partial(way.usual, b"x", 0, ACK).frame)
    with_sum(whole, TCP_SUM)
    sim.batch([f"rx {way.port} {whole.hex()}"] * 3)
    answer = [line for answer in sim.batch(commands) for line in answer]
    gateway.finish(broken=True)
    return answer


@pytest.mark.parametrize("name", ["nat-out", "nat-in", "ivi-46", "ivi-64", "nat64-64", "nat64-46", "wire", "wire-6"])
def test_what_the_card_can_send_leaves_whole(sim: Simulator, name: str) -> None:
    way = WAYS[name]
    bulk = partial(way.usual, bytes(14 * 1400), 1400, ACK)
    line, = in_order(sim, way, ALL, [bulk.command(way.port)])
    assert line.startswith("bulk ")


@pytest.mark.parametrize(("name", "largest"), [("ivi-46-small-mtu", 1220), ("nat64-46-small-mtu", 1220),
                                               ("ivi-64-small-mtu", 1240), ("nat64-64-small-mtu", 1240)])
def test_mtu_is_about_segments(sim: Simulator, name: str, largest: int) -> None:
    """A super-segment leaves whole if its segments fit the link behind the translation, else its sender is told."""
    way = WAYS[name]
    other = LAN if way.port == WAN else WAN
    for segment, fits in ((largest, True), (largest + 1, False)):
        bulk = partial(way.usual, bytes(10 * segment), segment, ACK)
        kinds = {tuple(line.split()[:2]) for line in in_order(sim, way, ALL, [bulk.command(way.port)])}
        assert kinds == {("bulk", other) if fits else ("tx", way.port)}
        same(sim, way, ALL, [bulk], ())


@pytest.mark.parametrize("name", ["ivi-64", "nat64-64"])
def test_last_segment_without_df_leaves_alone(sim: Simulator, name: str) -> None:
    """RFC 7915 section 5.1 is about each segment: those of one size leave in one, the last, short one alone."""
    way = WAYS[name]
    bulk = partial(way.usual, bytes(range(200)) * 75 + bytes(700), 1400, ACK | PSH | FIN | CWR)
    lines = in_order(sim, way, ALL, [bulk.command(way.port, (300, 2000, 2048, 1))])
    assert [line.split()[0] for line in lines] == ["bulk", "bulk"]
    first, last = (bytes.fromhex(line.split()[3]) for line in lines)
    assert (len(first), len(last)) == (54 + 11 * 1400, 54 + 300)
    assert (IP(first[ETH:]).flags, IP(last[ETH:]).flags) == ("DF", "")
    same(sim, way, ALL, [bulk], (300, 2000, 2048, 1))


@pytest.mark.parametrize(("name", "udp", "missing"), [("wire", False, 2), ("wire-6", False, 4), ("wire", True, 16),
                                                      ("wire-6", True, 16), ("wire", True, 1), ("wire", False, 1)])
def test_card_gets_what_it_can_cut(sim: Simulator, name: str, udp: bool, missing: int) -> None:
    way = WAYS[name]
    bulk = datagrams(way.usual, bytes(3000), 1000) if udp else partial(way.usual, bytes(3000), 1000, ACK)
    for offloads, kinds in ((ALL, ["bulk"]), (ALL & ~missing, ["tx"] * 3), (missing | SUM, ["bulk"])):
        if missing == SUM and offloads == SUM:
            continue
        assert [line.split()[0] for line in in_order(sim, way, offloads, [bulk.command(way.port)])] == kinds


def test_card_is_not_asked_to_pad(sim: Simulator) -> None:
    """A segment that is shorter than a frame must be is made by software, and padded by the driver."""
    for short, kinds in ((5, ["tx"] * 3), (6, ["bulk"])):
        bulk = partial(WAYS["wire"].usual, bytes(2000 + short), 1000, ACK)
        assert [line.split()[0] for line in in_order(sim, WAYS["wire"], ALL, [bulk.command(LAN)])] == kinds


@pytest.mark.parametrize("name", ["nat-out", "wire", "wire-6"])
@pytest.mark.parametrize("said", [0, ECN])
@pytest.mark.parametrize("flags", [ACK, ACK | CWR])
def test_mark_of_congestion_is_that_of_the_header(sim: Simulator, name: str, said: int, flags: int) -> None:
    """A card that repeats CWR in each segment gets no super-segment with CWR, whatever the other card says."""
    way = WAYS[name]
    good = partial(way.usual, bytes(5000), 1400, flags)
    bulk = Bulk(good.frame, good.l4, good.offset, good.segment, good.flags & ~ECN | said)
    for offloads in (NO_ECN, ALL):
        lines = in_order(sim, way, offloads, [bulk.command(way.port)])
        kinds = [line.split()[0] for line in lines]
        if flags & CWR and offloads == NO_ECN:
            assert kinds == ["tx"] * 4
        else:
            assert kinds == ["bulk"]
            assert bool(int(lines[0].split()[2].split(",")[3]) & ECN) == bool(flags & CWR)
        same(sim, way, offloads, [bulk], ())


@pytest.mark.parametrize("name", ["nat-out", "nat-out-small-mtu", "nat-in", "ivi-46", "ivi-64", "6to4-out", "nat64-64",
                                  "nat64-46"])
@pytest.mark.parametrize("offloads", [0, SUM, ALL])
def test_bytes_behind_the_packet(sim: Simulator, name: str, offloads: int) -> None:
    """They are no part of the packet: neither sent on, nor summed, nor judged by the MTU."""
    way = WAYS[name]
    cases = ((0, 6, ()), (10, 1, ()), (100, 500, (300,)), (1200, 200, (256, 1020)), (1220, 60, ()))
    for size, behind, pieces in cases:
        whole = partial(way.usual, bytes(range(250)) * 6, 0, ACK)
        bulk = partial(way.usual, whole.frame[-size:] if size else b"", 0, ACK)
        more = bytes([0x5a]) * behind
        same(sim, way, offloads, [Bulk(bulk.frame + more, bulk.l4)], pieces, [frame + more for frame in cut(bulk)])


@pytest.mark.parametrize("offloads", [0, ALL])
def test_bytes_behind_the_packet_end_at_a_bridge(sim: Simulator, offloads: int) -> None:
    bulk = partial(WAYS["wire"].usual, bytes(100), 0, ACK)
    lines = in_order(sim, WAYS["wire"], offloads, [Bulk(bulk.frame + b"behind", bulk.l4).command(LAN)])
    assert told(WAYS["wire"], [lines])[WAN] == [*cut(bulk)]


@pytest.mark.parametrize("name", ["nat-out", "wire", "wire-6", "ivi-46"])
@pytest.mark.parametrize("offloads", [0, ALL])
def test_dropped_segments_count_each(sim: Simulator, name: str, offloads: int) -> None:
    """A super-segment that finds no carrier counts as its segments."""
    way = WAYS[name]
    bulks = [partial(way.usual, bytes(5001), 1000, ACK), datagrams(way.usual, bytes(3000), 1000)]
    out = LAN if way.port == WAN else WAN
    drops = []
    for commands in ([bulk.command(way.port) for bulk in bulks],
                     [f"rx {way.port} {frame.hex()}" for bulk in bulks for frame in cut(bulk)]):
        gateway = Gateway(sim, way.config, way.app)
        gateway.checked = False
        gateway.wait(4)
        for port in (LAN, WAN):
            sim.command(f"offloads {port} {offloads}")
        sim.batch([f"rx {port} {bytes(frame).hex()}" for port, frame in way.first])
        sim.batch([f"rx {way.port} {frame.hex()}" for bulk in bulks for frame in cut(bulk)] * 2)
        sim.command(f"card {out} stall")
        sim.batch(commands)
        sim.command(f"link {out} down")
        drops.append(gateway.drops())
        gateway.finish(broken=True)
    assert drops[0] == drops[1]
    assert sum(drops[0].values()) >= 9


def test_rings_that_have_most_of_the_pool(sim: Simulator) -> None:
    """What the receive rings of eight cards hold does not count: super-segments pass with what is left."""
    gateway = Gateway(sim, "", "wire", packets=512, ring=400)
    bulk = partial(WAYS["wire"].usual, bytes(60000), 1000, ACK)
    sim.command(f"offloads {WAN} {ALL}")
    for _ in range(5):
        line, = sim.command(bulk.command(LAN))
        assert line.startswith("bulk ")
    sim.command(f"card {WAN} stall")
    for _ in range(3):
        sim.command(bulk.command(LAN))
    assert gateway.stats()["packets_free"] >= 112 // 4 - 30
    assert gateway.drops() == {"link-full": 60}
    sim.command(f"card {WAN} run")
    gateway.finish(broken=True)


@pytest.mark.parametrize("offloads", [SUM, ALL])
def test_frames_and_super_segments_in_turn(sim: Simulator, offloads: int) -> None:
    """The order of packets of both kinds stays, also where some wait for the card."""
    way = WAYS["wire"]
    bulks = [partial(way.usual, bytes([i]) * 3000, 1000, ACK, i) for i in range(6)]
    plain = [next(cut(partial(way.usual, bytes([i]) * 10, 0, ACK, 100 + i))) for i in range(6)]
    gateway = Gateway(sim, "", "wire")
    sim.command(f"offloads {WAN} {offloads}")
    sim.command(f"card {WAN} stall")
    for bulk, frame in zip(bulks, plain, strict=True):
        assert sim.command(bulk.command(LAN)) == []
        assert sim.command(f"rx {LAN} {frame.hex()}") == []
    found = told(way, [sim.command(f"card {WAN} run")])[WAN]
    assert found == [one for bulk, frame in zip(bulks, plain, strict=True) for one in (*cut(bulk), frame)]
    gateway.finish(broken=True)


@pytest.mark.parametrize("name", ["nat-out", "nat-in", "ivi-46", "ivi-64", "6to4-out", "nat64-64", "nat64-46", "wire"])
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
    many = datagrams(way.usual, bytes(5000), 1000)
    other_length, no_header = bytearray(many.frame), bytearray(many.frame[:l4 + 4])
    struct.pack_into("!H", other_length, l4 + 4, 1008)
    with_lengths(no_header, 1)
    lies += [
        Bulk(bytes(other_length), l4, UDP_SUM, 1000, many.flags), Bulk(bytes(no_header), l4, UDP_SUM, 1000, many.flags),
        Bulk(many.frame, l4, TCP_SUM, 1000, many.flags), Bulk(many.frame, l4, UDP_SUM, 1000, many.flags & ~USO),
        Bulk(many.frame, l4, UDP_SUM, 1480, many.flags), Bulk(many.frame[:-1], l4, UDP_SUM, 1000, many.flags),
        Bulk(frame, l4, UDP_SUM, 1000, flags | USO),
    ]
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


@pytest.mark.parametrize("length", [1, 6, 13, 14, 15, 17, 18, 33, 34])
def test_frame_without_a_header(sim: Simulator, length: int) -> None:
    """A card that says something about a frame which ends before its headers do."""
    frame = bytes(WAYS["wire"].usual)[:length]
    gateway = Gateway(sim, "", "wire")
    for l4, offset in ((length, 0), (0, length), (0, length - 1), (34, 16)):
        assert sim.command(Bulk(frame, l4, offset).command(LAN)) == []
    assert gateway.drops() == {"offload": 4}
    gateway.finish(broken=True)
