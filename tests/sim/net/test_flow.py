# SPDX-License-Identifier: BSD-2-Clause
"""The fast path of a packet (net/flow.h) and the slow path: both give the same frames and the same counters.

Each test makes a flow known. Then it sends packets of that flow in which one byte or one field differs from what is
usual, and after each of them the usual packet again. The same frames go to a gateway without a fast path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any

import pytest
import six4
from gateway import LAN, NAT, PORT_MAC, ROUTER, SERVER, WAN, A, B, Gateway
from ivi import FOUR_MAC, IVI, SIX_MAC, to_four, to_six
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import checksum
from tunnel import COLOCATED, FAR, FAR6, HOST6, NATIVE6, OUTSIDE, RELAY, in_site

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
ETH = 14


@dataclass(frozen=True)
class Flow:
    """A flow in one direction: a gateway, what makes the flow known, and the usual packet with its interface."""

    app: str
    config: str
    first: tuple[tuple[str, Packet], ...]
    port: str
    usual: Packet


def lan(packet: Packet, mac: str = A.mac) -> Packet:
    return Ether(src=mac, dst=PORT_MAC[LAN]) / packet


def wan(packet: Packet, mac: str = ROUTER.mac) -> Packet:
    return Ether(src=mac, dst=PORT_MAC[WAN]) / packet


def udp(sport: int = 4000, dport: int = 7, size: int = 30) -> Packet:
    return UDP(sport=sport, dport=dport) / Raw(bytes(range(size)))


def tcp(flags: str, sport: int = 4000, dport: int = 7, seq: int = 1001, ack: int = 5001, **fields: Any) -> Packet:
    return TCP(sport=sport, dport=dport, flags=flags, seq=seq, ack=ack, **fields)


OUT, BACK = IP(src=A.ip, dst=SERVER, id=7, flags="DF"), IP(src=SERVER, dst=OUTSIDE, id=9)
UDP_OUT, UDP_BACK = lan(OUT / udp()), wan(BACK / udp(7, 4000))
SYN = lan(OUT / tcp("S", seq=1000, ack=0))
SYN_ACK = wan(BACK / tcp("SA", 7, 4000, 5000, 1001))
ACK, DATA = lan(OUT / tcp("A")), lan(OUT / tcp("PA") / Raw(b"question"))
REPLY = wan(BACK / tcp("PA", 7, 4000, 5001, 1009) / Raw(b"answer"))
OPENED = ((LAN, SYN), (WAN, SYN_ACK), (LAN, ACK))

TUNNEL = COLOCATED + "6to4.mss-clamp 1220\n"


def wrapped(inner: Packet, src: str = FAR, **fields: Any) -> Packet:
    return wan(IP(src=src, dst=OUTSIDE, proto=41, **fields) / inner)


OUT6, BACK6 = IPv6(src=HOST6, dst=FAR6), IPv6(src=FAR6, dst=HOST6)
IVI_CLAMP = IVI.config + "ivi.mss-clamp 1300\n"

NAT64 = six4.CONFIG + "nat64.mss-clamp 1300\n"
OUT64, BACK64 = six4.to4(), six4.to6(id=9)
UDP64_OUT = lan(OUT64 / udp(), six4.MAC[six4.SIX])
UDP64_BACK = wan(BACK64 / udp(7, 4000), six4.FOUR_MAC)
OPENED64 = ((LAN, lan(OUT64 / tcp("S", seq=1000, ack=0), six4.MAC[six4.SIX])),
            (WAN, wan(BACK64 / tcp("SA", 7, 4000, 5000, 1001), six4.FOUR_MAC)),
            (LAN, lan(OUT64 / tcp("A"), six4.MAC[six4.SIX])))
DATA64 = lan(OUT64 / tcp("PA") / Raw(b"question"), six4.MAC[six4.SIX])
REPLY64 = wan(six4.to6(id=9, flags="DF") / tcp("PA", 7, 4000, 5001, 1009) / Raw(b"answer"), six4.FOUR_MAC)

FLOWS = {
    "nat-udp-out": Flow("nat", NAT, ((LAN, UDP_OUT), (WAN, UDP_BACK)), LAN, UDP_OUT),
    "nat-udp-in": Flow("nat", NAT, ((LAN, UDP_OUT), (WAN, UDP_BACK)), WAN, UDP_BACK),
    "nat-tcp-out": Flow("nat", NAT, OPENED, LAN, DATA),
    "nat-tcp-in": Flow("nat", NAT, OPENED, WAN, REPLY),
    "6to4-udp-out": Flow("6to4", TUNNEL, (), LAN, lan(OUT6 / udp())),
    "6to4-udp-in": Flow("6to4", TUNNEL, (), WAN, wrapped(BACK6 / udp(7, 4000))),
    "6to4-tcp-out": Flow("6to4", TUNNEL, (), LAN, lan(OUT6 / tcp("PA") / Raw(b"question"))),
    "6to4-tcp-in": Flow("6to4", TUNNEL, (), WAN, wrapped(BACK6 / tcp("PA", 7, 4000) / Raw(b"answer"))),
    "6to4-native-in": Flow("6to4", TUNNEL, (), WAN, wrapped(IPv6(src=NATIVE6, dst=HOST6) / udp(7, 4000), RELAY)),
    "6to4-nat-out": Flow("6to4", TUNNEL, ((LAN, UDP_OUT),), LAN, UDP_OUT),
    "6to4-nat-in": Flow("6to4", TUNNEL, ((LAN, UDP_OUT),), WAN, UDP_BACK),
    "nat64-udp-out": Flow("nat64", NAT64, ((LAN, UDP64_OUT), (WAN, UDP64_BACK)), LAN, UDP64_OUT),
    "nat64-udp-in": Flow("nat64", NAT64, ((LAN, UDP64_OUT), (WAN, UDP64_BACK)), WAN, UDP64_BACK),
    "nat64-tcp-out": Flow("nat64", NAT64, OPENED64, LAN, DATA64),
    "nat64-tcp-in": Flow("nat64", NAT64, OPENED64, WAN, REPLY64),
    "ivi-udp-46": Flow("ivi", IVI_CLAMP, (), WAN, wan(to_six() / udp(), FOUR_MAC)),
    "ivi-udp-64": Flow("ivi", IVI_CLAMP, (), LAN, lan(to_four() / udp(), SIX_MAC)),
    "ivi-tcp-46": Flow("ivi", IVI_CLAMP, (), WAN, wan(to_six(flags="DF") / tcp("PA") / Raw(b"data"), FOUR_MAC)),
    "ivi-tcp-64": Flow("ivi", IVI_CLAMP, (), LAN, lan(to_four() / tcp("PA") / Raw(b"data"), SIX_MAC)),
}


def repaired(frame: bytes) -> bytes:
    """The frame with a right checksum in its IPv4 header."""
    length = (frame[ETH] & 15) * 4
    if frame[12:14] != b"\x08\x00" or length < 20 or len(frame) < ETH + length:
        return frame
    header = bytearray(frame[ETH:ETH + length])
    header[10:12] = b"\0\0"
    header[10:12] = checksum(bytes(header)).to_bytes(2, "big")
    return frame[:ETH] + bytes(header) + frame[ETH + length:]


def bent(usual: bytes) -> Iterator[bytes]:
    """The usual frame with one byte of its headers changed in some ways, with a wrong IPv4 checksum and a right one."""
    for at in range(min(len(usual), ETH + 20 + 40 + 20)):
        for value in {usual[at] ^ 1, usual[at] ^ 0x40, usual[at] ^ 0x80, 0, 1, 0xff, (usual[at] + 1) % 256}:
            if value != usual[at]:
                frame = usual[:at] + bytes([value]) + usual[at + 1:]
                yield frame
                if repaired(frame) != frame:
                    yield repaired(frame)


def cut(usual: bytes) -> Iterator[bytes]:
    """The usual frame cut short at each place, and with padding."""
    yield from (usual[:n] for n in range(1, len(usual)))
    yield usual + bytes(40)


def with_payload(usual: Packet, payload: Packet) -> Packet:
    """The usual packet with another transport header and payload, and right lengths and checksums."""
    packet = Ether(bytes(usual))
    header: Packet = packet
    while not isinstance(header.payload, (UDP, TCP)):
        header = header.payload
        for name in ("ihl", "len", "plen", "chksum"):
            if name in header.fields:
                header.delfieldval(name)
    header.remove_payload()
    header.add_payload(payload)
    return packet


def odd(usual: Packet) -> Iterator[bytes]:
    """Packets of the flow that are well formed but need more than the usual: sizes, options, flags, checksums."""
    fields = Ether(bytes(usual))
    layer = fields.getlayer(TCP) or fields.getlayer(UDP)
    ports = {"sport": layer.sport, "dport": layer.dport}
    for size in (0, 1, 1200, 1212, 1213, 1232, 1233, 1252, 1253, 1400, 1432, 1440, 1452, 1453, 1472, 1473, 1480, 1900):
        yield bytes(with_payload(usual, UDP(**ports) / Raw(bytes(size))))
        again = with_payload(usual, UDP(**ports) / Raw(bytes(size)))
        if IP in again:
            again[IP].flags = "DF"
            yield bytes(again)
            again[IP].flags = "MF"
            yield bytes(again)
            again[IP].flags, again[IP].frag = 0, 10
            yield bytes(again)
            again[IP].frag = 0
            for options in (b"\x01\x01\x01\x01", bytes(4)):  # a header with the latter has the sum of one without
                again[IP].options = [options]
                yield bytes(again)
    yield bytes(with_payload(usual, UDP(**ports, chksum=0) / b"no checksum"))
    yield bytes(with_payload(usual, Raw(b"\x0f\xa0\x00\x07")))
    for flags in ("S", "SA", "A", "F", "FA", "R", "RA", "PA", "SF", ""):
        for options in ([], [("MSS", 1460)], [("MSS", 536)], [("NOP", None), ("WScale", 7)]):
            segment = TCP(**ports, flags=flags, seq=getattr(layer, "seq", 1), ack=getattr(layer, "ack", 1),
                          options=options)
            yield bytes(with_payload(usual, segment))


def played(start: Start, flow: Flow, frames: list[bytes], slow: bool) -> tuple[list[list[str]], list[str]]:
    """What the gateway sends after each frame, and its counters at the end."""
    gateway = start(flow.config, flow.app, slow_path=slow)
    gateway.wait(4)
    gateway.checked = False  # errors quote packets that are broken on purpose
    sim, usual = gateway.sim, bytes(flow.usual)
    sim.batch([f"rx {port} {bytes(frame).hex()}" for port, frame in flow.first])
    again = f"rx {flow.port} {usual.hex()}"
    sim.batch([again] * 3)
    told = []
    for frame in frames:
        told += sim.batch([f"rx {flow.port} {frame.hex()}", again])
    told += sim.batch(["time 200", again] * 3)  # each packet of the usual kind restarts the lifetime of its session
    return told, sim.command("stats")


@pytest.mark.parametrize("kind", ["bent", "cut", "odd"])
@pytest.mark.parametrize("name", FLOWS)
def test_both_paths(start: Start, name: str, kind: str) -> None:
    """The two paths agree on every packet of a known flow, and on the counters."""
    flow = FLOWS[name]
    usual = bytes(flow.usual)
    frames = list(odd(flow.usual) if kind == "odd" else bent(usual) if kind == "bent" else cut(usual))
    fast, counters = played(start, flow, frames, False)
    slow, counted = played(start, flow, frames, True)
    for i, (one, other) in enumerate(zip(fast, slow, strict=True)):
        assert one == other, f"after {[*frames, usual, usual, usual][i // 2].hex()}, answer {i % 2}"
    assert counters == counted
    assert any(line.startswith("tx ") for line in fast[1]), "the usual packet is not forwarded"


FAR_HOSTS = [str(IPv4Address("203.0.113.0") + number) for number in range(512)]
MANY = {
    "6to4-udp-out": [lan(IPv6(src=HOST6, dst=in_site(FAR, 5, host)) / udp()) for host in range(512)],
    "6to4-udp-in": [wrapped(IPv6(src=in_site(FAR, 5, host), dst=HOST6) / udp(7, 4000)) for host in range(512)],
    "ivi-udp-46": [wan(to_six(src=four) / udp(), FOUR_MAC) for four in FAR_HOSTS],
    "ivi-udp-64": [lan(to_four(dst=IVI.v6(four)) / udp(), SIX_MAC) for four in FAR_HOSTS],
}


@pytest.mark.parametrize("name", MANY)
def test_pairs_that_share_their_places(start: Start, name: str) -> None:
    """Of 512 pairs in a table of 2048 entries 22 % share their first place with others (1 - exp(-1/4)), but only 9 %
    share both of their places with more than one other (1 - 1.5 exp(-1/2))."""
    flow = FLOWS[name]
    gateway = start(flow.config, flow.app)
    gateway.wait(4)
    lines = [f"rx {flow.port} {bytes(frame).hex()}" for frame in MANY[name]]
    gateway.sim.batch(lines)
    before, = gateway.sim.command("slow")
    told = gateway.sim.batch(lines)
    after, = gateway.sim.command("slow")
    assert int(after) - int(before) <= 0.14 * len(lines)
    assert all(len(answer) == 1 and answer[0].startswith("tx ") for answer in told)


@pytest.mark.parametrize("name", FLOWS)
def test_known_flow_takes_the_fast_path(start: Start, name: str) -> None:
    """All packets of a known flow do, but for the few that `ivi` times."""
    flow = FLOWS[name]
    gateway = start(flow.config, flow.app)
    gateway.wait(4)
    gateway.sim.batch([f"rx {port} {bytes(frame).hex()}" for port, frame in flow.first])
    usual = f"rx {flow.port} {bytes(flow.usual).hex()}"
    gateway.sim.batch([usual] * 4)
    before, = gateway.sim.command("slow")
    told = gateway.sim.batch([usual] * 20)
    assert gateway.sim.command("slow") == [before]
    assert all(len(lines) == 1 and lines[0].startswith("tx ") for lines in told)


@pytest.mark.parametrize("name", FLOWS)
def test_full_transmit_queue(start: Start, name: str) -> None:
    """The card takes no frames. Both paths then drop the same packets, for the same reason, and list the same drops."""
    flow, found = FLOWS[name], []
    for slow in (False, True):
        gateway = start(flow.config, flow.app, slow_path=slow)
        gateway.wait(4)
        gateway.sim.batch([f"rx {port} {bytes(frame).hex()}" for port, frame in flow.first])
        usual = f"rx {flow.port} {bytes(flow.usual).hex()}"
        gateway.sim.batch([usual] * 4)
        out = WAN if flow.port == LAN else LAN
        gateway.sim.command(f"card {out} stall")
        gateway.sim.batch([usual] * 300)
        found.append([gateway.sim.command("stats"), gateway.sim.command("drops")])
        assert gateway.drops()["link-full"] > 0
        gateway.sim.command(f"card {out} run")
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["6to4", "ivi"])
def test_own_address_before_it_is_valid(start: Start, name: str) -> None:
    """A host with an address of ours is refused once the address is ours, also when its flow is known from before; at
    the start, and when the cable comes back."""
    if name == "6to4":
        config, frame = TUNNEL, lan(IPv6(src=in_site(OUTSIDE), dst=FAR6) / udp())
    else:
        config, frame = IVI.config, lan(to_four(src=IVI.own6) / udp(), SIX_MAC)
    usual, found = f"rx lan {bytes(frame).hex()}", []
    for slow in (False, True):
        gateway = start(config, name, slow_path=slow)
        gateway.checked = False
        told = gateway.sim.batch([usual] * 3 + ["time 4"] + [usual] * 2 +
                                 ["link lan down", "time 1", "link lan up", usual, usual, "time 4", usual])
        assert not any(line.startswith("tx wan") for line in told[-1]), "a packet from our own address is forwarded"
        # Reports of groups and probes of addresses come at random times.
        answers = [[line for line in lines if not line.startswith("tx lan 3333")] for lines in told]
        stats = [line for line in gateway.sim.command("stats") if not line.startswith(("tx_bytes", "tx_packets"))]
        found.append([answers, stats])
    assert found[0] == found[1]


def test_hairpinned_session_from_outside(start: Start) -> None:
    """A session between two inside hosts is no flow for a packet from outside that has its addresses."""
    gateway = start(NAT + "nat.filtering endpoint-independent\n")
    server = lan(OUT / udp(5000, 5001))
    client = Ether(src=B.mac, dst=PORT_MAC[LAN]) / IP(src=B.ip, dst=OUTSIDE) / udp(6000, 5000)
    for frame in (server, client, client):
        gateway.send(LAN, frame)
    assert gateway.stats()["hairpinned_packets"] == 2
    forged = wan(IP(src=OUTSIDE, dst=OUTSIDE) / udp(6000, 5000))
    assert gateway.send(WAN, forged) == []
    assert gateway.drops() == {"martian-source": 1}
