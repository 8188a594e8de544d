# SPDX-License-Identifier: BSD-2-Clause
"""VLANs (net/vlan, IEEE 802.1Q): interfaces that share a card, and frames whose tags are wrong."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import pytest
import test_flow
import test_offload
from gateway import (BROADCAST, INSIDE, INSIDE2, LAN, LAN2, NAT, OUTSIDE, PORT_MAC, ROUTER, SERVER, WAN, A, C, Gateway,
                     only)
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6ND_NS, ICMPv6ND_RA, ICMPv6ND_RS, ICMPv6NDOptPrefixInfo, ICMPv6NDOptSrcLLAddr, IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Packet, Raw
from simulator import Refused, Simulator

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
STICK = "lan nic0\nwan nic0.7\n"  # a router on a stick: LAN without a tag
BOTH = "lan nic0.20\nwan nic0.7\n"
MORE = f"lan2 nic0.21\nlan2.address {INSIDE2}/24\nneighbour {C.ip} {C.mac}\n"
APART = "lan nic0.20\nwan nic1.4094\n"
MAC = PORT_MAC[LAN]


def udp(src: str = A.ip, dst: str = SERVER, size: int = 30, **fields: object) -> Packet:
    return IP(src=src, dst=dst, **fields) / UDP(sport=4000, dport=53) / Raw(bytes(size))


def raw(gateway: Gateway, port: str, frame: Packet) -> list[bytes]:
    """The frames that leave after one, all as they are on the cable."""
    return [bytes.fromhex(line.split()[2]) for line in gateway.sim.command(f"rx {port} {bytes(frame).hex()}")]


def tagged(packet: Packet, vlan: int, mac: str = A.mac, prio: int = 0, dei: int = 0) -> Packet:
    return Ether(src=mac, dst=MAC) / Dot1Q(vlan=vlan, prio=prio, dei=dei) / packet


# --- tagged and untagged side by side ------------------------------------------------------------


@pytest.mark.parametrize("cards", [STICK, BOTH, APART, "lan nic0.7\nwan nic0\n", "lan nic0.1\nwan nic0.4094\n"])
def test_out_and_back(start: Start, cards: str) -> None:
    """The oracle checks MAC addresses and sources; the VLAN of each frame says by which interface it left."""
    nat = start(NAT + cards)
    sent = only(nat.lan(udp()), WAN)
    assert (sent.ip.src, sent.frame.dst) == (OUTSIDE, ROUTER.mac)
    back = only(nat.wan(IP(src=SERVER, dst=OUTSIDE) / UDP(sport=53, dport=sent.ip[UDP].sport) / Raw(b"answer")), LAN)
    assert (back.ip.dst, back.frame.dst, bytes(back.ip[UDP].payload)) == (A.ip, A.mac, b"answer")


def test_between_vlans_of_one_card(start: Start) -> None:
    nat = start(NAT + BOTH + MORE)
    assert only(nat.lan(udp(dst=C.ip)), LAN2).frame.dst == C.mac
    assert only(nat.ip_from(C, udp(C.ip, A.ip)), LAN).frame.dst == A.mac
    assert only(nat.ip_from(C, udp(C.ip)), WAN).ip.src == OUTSIDE


def test_tag_on_the_wire(start: Start) -> None:
    """IEEE 802.1Q section 9.6: type 8100, then priority 0 and the number."""
    nat = start(NAT + STICK)
    frame, = raw(nat, LAN, Ether(src=A.mac, dst=MAC) / udp())
    assert frame[:18].hex() == (ROUTER.mac + MAC).replace(":", "") + "81000007" + "0800"


@pytest.mark.parametrize("size", [0, 1, 10, 18, 1471, 1472])
def test_sizes(start: Start, size: int) -> None:
    """1500 bytes of IP pass whole: 1518 on the cable without FCS."""
    nat = start(NAT + BOTH)
    sent = only(nat.lan(udp(size=size, flags="DF")), WAN)
    assert sent.ip.len == 28 + size
    sent = only(nat.lan(udp(size=1473, flags="DF")), LAN)
    assert (sent.ip[ICMP].type, sent.ip[ICMP].code, sent.ip[ICMP].nexthopmtu) == (3, 4, 1500)
    assert [piece.ip.len for piece in nat.lan(udp(size=1480))] == [1500, 28]


def test_priorities_are_not_looked_at(start: Start) -> None:
    nat = start(NAT + BOTH)
    for prio in range(8):
        frame, = raw(nat, LAN, tagged(udp(), 20, prio=prio, dei=prio & 1))
        assert frame[12:16].hex() == "81000007"


@pytest.mark.parametrize("cards", ["", STICK])
def test_priority_tag_is_as_none(start: Start, cards: str) -> None:
    """A tag with number 0 has a priority only (section 9.6), also on a card without VLANs."""
    nat = start(NAT + cards)
    assert len(raw(nat, LAN, tagged(udp(), 0, prio=5))) == 1
    assert len(raw(nat, LAN, Ether(src=A.mac, dst=BROADCAST) / Dot1Q(vlan=0, prio=7)
                   / ARP(op=1, hwsrc=A.mac, psrc=A.ip, pdst=INSIDE))) == 1
    assert nat.drops() == {}


def test_other_vlans_neighbours(start: Start) -> None:
    """ARP is answered in the VLAN of the question, for the addresses of that VLAN alone; it is asked in the VLAN of the
    address."""
    nat = start(NAT.replace(f"neighbour {A.ip} {A.mac}\n", "") + BOTH + MORE)
    def ask(port: str, sender: str, target: str) -> list[str]:
        answers = nat.send(port, Ether(src=A.mac, dst=BROADCAST) / ARP(op=1, hwsrc=A.mac, psrc=sender, pdst=target))
        return [answer.port for answer in answers]
    assert ask(LAN, "192.168.1.77", INSIDE) == [LAN]
    assert ask(LAN2, "192.168.2.77", INSIDE2) == [LAN2]
    assert ask(LAN2, "192.168.1.77", INSIDE) == []
    question = only(nat.ip_from(C, udp(C.ip, A.ip)), LAN)
    assert question.arp.pdst == A.ip


def test_advertisements_and_solicitations(start: Start) -> None:
    """Each VLAN gets advertisements of its own prefix, by itself and when a host asks; its gateway answers there
    alone."""
    six = start(NAT + BOTH + MORE, "6to4")
    six.wait(20)
    for number, port in ((1, LAN), (2, LAN2)):
        ask = IPv6(src="fe80::9", dst="ff02::2", hlim=255) / ICMPv6ND_RS() / ICMPv6NDOptSrcLLAddr(lladdr=A.mac)
        sent = six.send(port, Ether(src=A.mac, dst="33:33:00:00:00:02") / ask) + six.wait(4)
        heard = [one for one in sent if ICMPv6ND_RA in one.frame]
        assert {one.port for one in heard} == {port}
        assert {one.frame[ICMPv6NDOptPrefixInfo].prefix for one in heard} == {f"2002:cb00:7102:{number}::"}
        own = f"2002:cb00:7102:{number}::1"
        ask = IPv6(src="fe80::9", dst="ff02::1:ff00:1", hlim=255) / ICMPv6ND_NS(tgt=own)
        for other in (LAN, LAN2):
            sent = six.send(other, Ether(src=A.mac, dst="33:33:ff:00:00:01") / ask / ICMPv6NDOptSrcLLAddr(lladdr=A.mac))
            assert [one.port for one in sent] == [port] * (other == port)


def test_link_of_the_card_is_that_of_all(start: Start) -> None:
    nat = start(NAT + BOTH + MORE)
    nat.link(LAN, False)
    assert nat.lan(udp()) == []
    nat.link(LAN, True)
    nat.wait(1)
    assert only(nat.ip_from(C, udp(C.ip)), WAN)


def test_counters(start: Start) -> None:
    """Each interface counts its own frames, without their tags."""
    nat = start(NAT + BOTH + MORE)
    nat.wait(1)
    before = nat.stats()
    nat.lan(udp(size=100))
    nat.ip_from(C, udp(C.ip, size=200))
    grown = {name: value - before[name] for name, value in nat.stats().items() if value != before[name]}
    assert {name: value for name, value in grown.items() if re.match("[rt]x_(packets|bytes)", name)} == {
        'rx_packets{if="lan"}': 1, 'rx_bytes{if="lan"}': 142, 'rx_packets{if="lan2"}': 1, 'rx_bytes{if="lan2"}': 242,
        'tx_packets{if="wan"}': 2, 'tx_bytes{if="wan"}': 384}


def test_a_stalled_card_stalls_all(start: Start) -> None:
    nat = start(NAT + BOTH + MORE)
    nat.card(LAN, False)
    assert nat.lan(udp()) == [] and nat.ip_from(C, udp(C.ip)) == []
    assert [sent.port for sent in nat.card(LAN, True)] == [WAN, WAN]


# --- tags that are wrong -------------------------------------------------------------------------

WRONG = {
    "unknown": (BOTH, tagged(udp(), 8), "vlan"),
    "reserved": (BOTH, tagged(udp(), 4095), "vlan"),
    "unknown on a card without VLANs": ("", tagged(udp(), 8), "vlan"),
    "untagged where all are tagged": (BOTH, Ether(src=A.mac, dst=MAC) / udp(), "vlan-untagged"),
    "number 0 where all are tagged": (BOTH, tagged(udp(), 0), "vlan-untagged"),
    "two": (BOTH, tagged(Dot1Q(vlan=20) / udp(), 20), "vlan-nested"),
    "two of a priority": (STICK, tagged(Dot1Q(vlan=0) / udp(), 0), "vlan-nested"),
    "two of a priority without VLANs": ("", tagged(Dot1Q(vlan=0) / udp(), 0), "vlan-nested"),
    "of a provider": (STICK, Ether(src=A.mac, dst=MAC, type=0x88a8) / Dot1Q(vlan=20) / udp(), "vlan-nested"),
    "of a provider without VLANs": ("", Ether(src=A.mac, dst=MAC, type=0x88a8) / Dot1Q(vlan=20) / udp(), "vlan-nested"),
    "of a provider in a VLAN": (BOTH, tagged(Raw(b"\0\x14\x08\0" + bytes(udp())), 20), "vlan-nested"),
    "cut off behind its type": (STICK, Raw(bytes(Ether(src=A.mac, dst=MAC, type=0x8100))), "runt"),
    "cut off": ("", Raw(bytes(Ether(src=A.mac, dst=MAC, type=0x8100)) + b"\0\0\x08"), "runt"),
    "for another station": (BOTH, Ether(src=A.mac, dst=A.mac) / Dot1Q(vlan=20) / udp(), "not-ours"),
}
WRONG["of a provider in a VLAN"][1][Dot1Q].type = 0x88a8


@pytest.mark.parametrize("case", WRONG)
def test_dropped(start: Start, case: str) -> None:
    cards, frame, reason = WRONG[case]
    nat = start(NAT + cards)
    assert raw(nat, LAN, frame) == []
    assert nat.drops() == {reason: 1}


@pytest.mark.parametrize("cards", ["", BOTH])
def test_listed(start: Start, cards: str) -> None:
    """A dropped frame is listed with its addresses, whether its tag was taken off or not; and one cut from a
    super-segment."""
    nat = start(NAT + cards)
    packet = IP(src=A.ip, dst="127.0.0.1") / TCP(dport=80, flags="A") / Raw(bytes(9))
    frame = Ether(src=A.mac, dst=MAC) / packet
    vlan = 20 if cards else 0
    assert raw(nat, LAN, tagged(packet, vlan)) == []
    bulk = test_offload.partial(frame, bytes(2000), 1000, test_offload.ACK)
    if cards:
        bulk = test_offload.Bulk(bytes.fromhex(tag(bulk.frame.hex(), vlan)), bulk.l4 + 4, bulk.offset, bulk.segment)
    assert nat.sim.command(bulk.command(LAN)) == []
    assert nat.drops() == {"martian-destination": 3}
    for line, length in zip(nat.lines("drops"), (63, 1054, 1054), strict=True):
        assert f"lan {length} bytes: tcp {A.ip}:20 > 127.0.0.1:80 ACK" in line


def test_every_length(start: Start) -> None:
    """A tagged frame cut short at each place is dropped once, wherever it ends."""
    nat = start(NAT + STICK)
    for vlan in (0, 7, 8):
        frame = bytes(tagged(udp(), vlan))
        for length in range(len(frame)):
            assert raw(nat, LAN, Raw(frame[:length])) == []
    nat.finish(broken=True)


CONFIGS = {
    "lan nic0.7\nwan nic0.7\n": "lan and wan name the same VLAN",
    "lan nic0\nwan nic0\n": "lan and wan name the same NIC",
    "lan2 nic1.5\nlan3 nic1.5\n": "lan2 and lan3 name the same VLAN",
}


@pytest.mark.parametrize("lines", CONFIGS)
def test_two_interfaces_in_one_vlan(start: Start, lines: str) -> None:
    with pytest.raises(Refused, match=CONFIGS[lines]):
        start(NAT + lines)


def test_listing(start: Start) -> None:
    nat = start(NAT + BOTH)
    assert [line for line in nat.lines("print") if re.match("(lan|wan) ", line)] == ["lan nic0.20", "wan nic0.7"]


# --- the same as without tags --------------------------------------------------------------------


def tag(hexadecimal: str, vlan: int) -> str:
    return f"{hexadecimal[:24]}8100{vlan:04x}{hexadecimal[24:]}"


def untag(hexadecimal: str, vlan: int) -> str:
    assert hexadecimal[24:32] == f"8100{vlan:04x}", hexadecimal[:40]
    return hexadecimal[:24] + hexadecimal[32:]


VLANS = {LAN: 20, WAN: 4094}


class Trunk:
    """A simulator in which each frame has a tag on the cable, and none for who uses it."""

    virtual = True

    def __init__(self, sim: Simulator) -> None:
        self.sim = sim

    def _in(self, line: str) -> str:
        words = line.split()
        if words[0] == "rx":
            words[2] = tag(words[2], VLANS[words[1]])
        elif words[0] == "bulk":
            l4, rest = words[2].split(",", 1)
            words[2:4] = f"{int(l4) + 4},{rest}", tag(words[3], VLANS[words[1]])
        return " ".join(words)

    def _out(self, line: str) -> str:
        words = line.split(" ")
        if words[0] == "tx":
            words[2] = untag(words[2], VLANS[words[1]])
        elif words[0] == "bulk":
            l4, rest = words[2].split(",", 1)
            words[2:4] = f"{int(l4) - 4},{rest}", untag(words[3], VLANS[words[1]])
        return " ".join(words)

    def command(self, line: str) -> list[str]:
        if line.startswith("start "):
            for port, vlan in VLANS.items():
                self.sim.command(f"config {port} nic{int(port == WAN)}.{vlan}")
        return [self._out(answer) for answer in self.sim.command(self._in(line))]

    def batch(self, lines: list[str]) -> list[list[str]]:
        return [[self._out(line) for line in answer] for answer in self.sim.batch([self._in(line) for line in lines])]


@pytest.mark.parametrize("name", test_flow.FLOWS)
def test_flows_as_without_tags(sim: Simulator, name: str) -> None:
    """Every forwarder, on its fast path, gives the same frames and counters with tags as without."""
    flow = test_flow.FLOWS[name]
    usual = bytes(flow.usual)
    frames = [*test_flow.odd(flow.usual), *list(test_flow.bent(usual))[14 * 7::3]]
    told = []
    for simulator in (sim, Trunk(sim)):
        def start(*words: object, on: Simulator = simulator, **more: object) -> Gateway:
            return Gateway(on, *words, **more)
        told.append(test_flow.played(start, flow, frames, False))
    assert told[0][1] == told[1][1]
    assert told[0][0] == told[1][0]


@pytest.mark.parametrize("offloads", [0, test_offload.SUM, test_offload.ALL])
@pytest.mark.parametrize("name", test_offload.WAYS)
def test_partial_packets_as_without_tags(sim: Simulator, name: str, offloads: int) -> None:
    """What a card says of a frame with a tag counts the tag; and what it is told."""
    way = test_offload.WAYS[name]
    segment = 1400
    data = bytes(i * 7 % 251 for i in range(10 * segment + 3))
    bulks = [test_offload.partial(way.usual, data[:size], segment, test_offload.ACK) for size in (700, 5600, len(data))]
    bulks += [test_offload.datagrams(way.usual, data[:size], 1000) for size in (999, 4001)]
    commands = [bulk.command(way.port, (300, 2000)) for bulk in bulks]
    assert test_offload.played(Trunk(sim), way, offloads, commands) == \
        test_offload.played(sim, way, offloads, commands)


def test_partial_packets_with_wrong_tags(sim: Simulator) -> None:
    """A transport header within the tag; a VLAN that nobody has; no tag."""
    way = test_offload.WAYS["nat-out"]
    frame = test_offload.partial(way.usual, bytes(1400), 1000, test_offload.ACK)
    whole = bytes.fromhex(tag(frame.frame.hex(), 20))
    wrong = ((14, 20, "offload"), (17, 20, "offload"), (38, 8, "vlan"), (38, 0, "vlan-untagged"))
    for (l4, vlan, reason), segment in itertools.product(wrong, (0, 1000)):
        gateway = Gateway(sim, NAT + BOTH)
        data = whole[:14] + vlan.to_bytes(2, "big") + whole[16:]
        assert sim.command(test_offload.Bulk(data, l4, 16, segment).command(LAN)) == []
        assert gateway.drops() == {reason: 1}
        gateway.finish()


def test_offloads_of_a_card_with_few(sim: Simulator) -> None:
    """A super-segment for a tagged interface whose card cannot cut leaves as frames, each with the tag."""
    way = test_offload.WAYS["wire"]
    bulk = test_offload.partial(way.usual, bytes(5000), 1000, test_offload.ACK)
    for vlan, offloads, kinds in ((7, 0, ["tx"] * 5), (7, test_offload.ALL, ["bulk"])):
        gateway = Gateway(sim, f"wan nic1.{vlan}\n", "wire")
        sim.command(f"offloads {WAN} {offloads}")
        lines = sim.command(bulk.command(LAN))
        assert [line.split()[0] for line in lines] == kinds
        assert all(line.split()[-1 if kinds == ["bulk"] else 2][24:32] == f"8100{vlan:04x}" for line in lines)
        gateway.finish(broken=True)


def test_bridge_between_a_vlan_and_none(start: Start) -> None:
    """`wire` adds the tag on one side and takes it off on the other, for any type of frame."""
    wire = start("lan nic0.20\n", "wire")
    frame = Ether(src=A.mac, dst=ROUTER.mac, type=0x88b5) / Raw(bytes(range(60)))
    assert raw(wire, LAN, Ether(src=A.mac, dst=ROUTER.mac) / Dot1Q(vlan=20, type=0x88b5) / Raw(bytes(range(60)))) == \
        [bytes(frame)]
    back, = raw(wire, WAN, frame)
    assert back == bytes.fromhex(tag(bytes(frame).hex(), 20))
