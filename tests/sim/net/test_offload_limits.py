# SPDX-License-Identifier: BSD-2-Clause
"""Super-segments at their limits: bursts, queues, the number of segments, wrong headers, DNS over TCP."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from dnsstream import NAMES, answers, opened, zone
from gateway import LAN, WAN, Gateway
from resolver import Resolver, wire
from scapy.layers.l2 import Ether
from simulator import Simulator
from stream import framed
from test_offload import ACK, ALL, CWR, NO_ECN, PSH, SUM, TCP_SUM, WAYS, Bulk, cut, partial, same, told

pytestmark = pytest.mark.virtual


@pytest.mark.parametrize("name", ["6to4-out", "6to4-nat-out", "nat-out-small-mtu-no-df", "nat-in", "nat64-64-unknown",
                                  "nat64-46-no-df", "ivi-64"])
@pytest.mark.parametrize("offloads", [0, ALL])
def test_burst_of_super_segments(sim: Simulator, name: str, offloads: int) -> None:
    """A card hands over more in one burst than a transmit queue holds as plain frames: nothing is lost for that."""
    way = WAYS[name]
    bulk = partial(way.usual, bytes(range(250)) * 256, 1400, ACK | PSH)
    found, counted = [], []
    for commands in ([bulk.command(way.port)] * 32, [f"bulks 32{bulk.command(way.port).removeprefix('bulk')}"]):
        gateway = Gateway(sim, way.config, way.app, packets=4096)
        gateway.checked = False
        gateway.wait(4)
        for port in (LAN, WAN):
            sim.command(f"offloads {port} {offloads}")
        sim.batch([f"rx {port} {bytes(frame).hex()}" for port, frame in way.first])
        sim.batch([f"rx {way.port} {frame.hex()}" for frame in cut(bulk)])
        gateway.wait(2)
        found.append(told(way, sim.batch(commands)))
        counted.append(gateway.stats())
        assert "link-full" not in gateway.drops()
        gateway.finish(broken=True)
    assert found[0] == found[1]
    assert counted[0] == counted[1]


@pytest.mark.parametrize("name", ["nat-out", "nat-in", "6to4-nat-out", "ivi-46", "nat64-46"])
@pytest.mark.parametrize("offloads", [0, ALL])
def test_wrong_checksum_of_the_header(sim: Simulator, name: str, offloads: int) -> None:
    """Cutting does not put the checksum of an IPv4 header right: the segments are dropped as if each had it."""
    way = WAYS[name]
    for size in (1, 1000, 5000):
        good = partial(way.usual, bytes(size), 1000, ACK)
        wrong = bytearray(good.frame)
        wrong[24] ^= 1
        singles = [bytearray(frame) for frame in cut(good)]
        for one in singles:
            one[24] ^= 1
        same(sim, way, offloads, [Bulk(bytes(wrong), good.l4, TCP_SUM, 1000, good.flags)], (),
             [bytes(one) for one in singles])


@pytest.mark.parametrize("name", ["nat-out", "6to4-out", "wire"])
def test_more_segments_than_the_gateway_cuts(sim: Simulator, name: str) -> None:
    """A packet of 64 KB in segments of a byte would cost as much as 64,000 frames."""
    way = WAYS[name]
    for size, segment, dropped in ((1400 * 8, 8, 0), (1400 * 8 + 1, 8, 1), (65000, 1, 1)):
        gateway = Gateway(sim, way.config, way.app, packets=4096)
        gateway.checked = False
        gateway.wait(4)
        sim.batch([f"rx {port} {bytes(frame).hex()}" for port, frame in way.first])
        found = told(way, [sim.command(partial(way.usual, bytes(size), segment, ACK).command(way.port))])
        assert len(found.get(WAN, [])) == (0 if dropped else 1400)
        assert gateway.drops().get("offload", 0) == dropped
        gateway.finish(broken=True)


@pytest.mark.parametrize("waiting", [0, 230])
def test_ready_packets_of_a_card_that_can_less(sim: Simulator, waiting: int) -> None:
    """So does what waits behind a packet that was cut, which that card could send when it was judged."""
    way = WAYS["wire"]
    marked = partial(way.usual, bytes(range(250)) * 4, 300, ACK | CWR)  # this card cannot
    usual = partial(way.usual, bytes(range(250)) * 40, 1000, ACK)
    gateway = Gateway(sim, "", "wire", packets=2048)
    sim.command(f"offloads {WAN} {NO_ECN}")
    sim.command(f"card {WAN} stall")
    for _ in range(2):
        assert sim.command(marked.command(LAN)) + sim.command(usual.command(LAN)) == []
        assert sim.command(f"rx {LAN} {bytes(way.usual).hex()}") == []
    for i in range(waiting):
        assert sim.command(f"rx {LAN} {bytes(way.usual)[:-1].hex()}{i:02x}") == []
    sim.command(f"offloads {WAN} {SUM}")
    answer = sim.command(f"card {WAN} run")
    assert all(line.startswith("tx ") for line in answer)
    found = told(way, [answer])[WAN]
    assert found == [*cut(marked), *cut(usual), bytes(way.usual)] * 2 + [
        bytes(way.usual)[:-1] + bytes([i]) for i in range(waiting)]
    assert gateway.drops() == {}
    gateway.finish(broken=True)


def test_no_room_for_what_a_card_can_no_longer_send(sim: Simulator) -> None:
    """Both queues are full: what the card cannot send is dropped and counted, the rest leaves in order."""
    way = WAYS["wire"]
    marked, usual = (partial(way.usual, bytes(range(250)) * 4, 300, flags) for flags in (ACK | CWR, ACK))
    gateway = Gateway(sim, "", "wire", packets=2048)
    sim.command(f"offloads {WAN} {NO_ECN}")
    sim.command(f"card {WAN} stall")
    assert sim.command(marked.command(LAN)) + sim.command(usual.command(LAN)) == []
    plain = f"rx {LAN} {bytes(way.usual).hex()}"
    assert all(answer == [] for answer in sim.batch([plain] * (251 + 256)))
    assert gateway.drops() == {}
    sim.command(f"offloads {WAN} {SUM}")
    answer = sim.command(f"card {WAN} run")
    assert told(way, [answer])[WAN] == [*cut(marked)] + [bytes(way.usual)] * (251 + 256)
    assert gateway.drops() == {"link-full": 4}
    gateway.finish(broken=True)


@pytest.mark.parametrize("segment", [100, 536, 1460])
def test_dns_over_tcp(start: Callable[..., Gateway], segment: int) -> None:
    """Questions for the gateway itself that arrive as one super-segment are answered."""
    resolver = Resolver(start, zone(), packets=2048)
    stream = opened(resolver)
    queries = [resolver.query(name, "AAAA") for name in NAMES[:60]]
    data = framed(*(wire(query) for query in queries))
    usual = Ether(stream.segment("PA", data, booked=False))
    bulk = partial(usual, data, segment, ACK | PSH)
    frame = bytearray(bulk.frame)
    struct.pack_into("!H", frame, bulk.l4 + 14, 65535)
    stream.seq = (stream.seq + len(data)) % 2**32
    resolver.net.deliver(resolver.gateway.send_bulk(bulk.command(LAN)))
    resolver.wait(1)
    got = answers(stream)
    assert got.keys() == {query.id for query in queries}
    assert resolver.gateway.drops() == {}
