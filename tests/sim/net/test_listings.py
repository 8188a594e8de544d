# SPDX-License-Identifier: BSD-2-Clause
"""Listings of the console, as docs/interface.md describes them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from gateway import A, B, INSIDE, LAN, NAT, PORT_MAC, SERVER, Gateway
from resolver import FOUR, UPSTREAM, Resolver, Zone
from scapy.layers.inet import ICMP, IP, IPOption_NOP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

pytestmark = pytest.mark.virtual

KEPT, SHOWN = 32, 80  # frames in the list, and bytes shown of each


def expired(n: int, size: int) -> IP:
    """A packet with TTL 1, a number and some bytes of data."""
    return IP(src=A.ip, dst=SERVER, ttl=1, id=n) / UDP(sport=1000, dport=2000) / Raw(bytes(size))


def test_drops_raw(gateway: Gateway) -> None:
    """Time, reason, interface, length and the first 80 bytes of each; the oldest of 32 comes first."""
    assert gateway.lines("drops-raw") == []
    gateway.wait(1.25)
    gateway.lan(expired(7, 100))
    line, = gateway.lines("drops-raw")
    found = re.fullmatch(r"(\d+)\.(\d{3}) ttl lan 142 bytes:((?: [0-9a-f]{8})*)", line)
    assert found, line
    assert (found[1], found[2]) == ("2", "250")
    frame = bytes.fromhex(found[3])
    assert len(frame) == SHOWN
    assert frame[6:12].hex(":") == A.mac and frame[12:14] == b"\x08\x00"
    assert IP(frame[14:]).id == 7 and IP(frame[14:]).src == A.ip


def test_drops_are_few(gateway: Gateway) -> None:
    """The newest 32 frames; a short frame is shown whole."""
    for n in range(40):
        gateway.lan(expired(n, 0))
    lines = gateway.lines("drops-raw")
    assert len(lines) == KEPT
    assert [line.partition("bytes:")[0] for line in lines] == [
        line.partition("bytes:")[0] for line in gateway.lines("drops")]
    shown = [bytes.fromhex(line.partition("bytes:")[2]) for line in lines]
    assert [int.from_bytes(frame[18:20]) for frame in shown] == list(range(8, 40))
    assert {len(frame) for frame in shown} == {42}
    assert all(" lan 42 bytes:" in line for line in lines)


HEADER = {"src": A.ip, "dst": SERVER, "ttl": 1}


@pytest.mark.parametrize("packet, text", [
    (IP(**HEADER) / UDP(sport=1000, dport=2000), "udp 192.168.1.10:1000 > 198.51.100.7:2000 ttl 1"),
    (IP(**HEADER, flags="DF") / TCP(sport=1, dport=65535, flags="SA"),
     "tcp 192.168.1.10:1 > 198.51.100.7:65535 SYN,ACK ttl 1 DF"),
    (IP(**HEADER, options=[IPOption_NOP()] * 4) / TCP(sport=1, dport=2, flags="R"),
     "tcp 192.168.1.10:1 > 198.51.100.7:2 RST ttl 1"),
    (IP(**HEADER) / ICMP(type=8), "icmp 192.168.1.10 > 198.51.100.7 type 8/0 ttl 1"),
    (IP(**HEADER, proto=50) / Raw(bytes(20)), "proto-50 192.168.1.10 > 198.51.100.7 ttl 1"),
    (IP(**HEADER, proto=17, frag=185, flags="MF") / Raw(bytes(24)),
     "udp 192.168.1.10 > 198.51.100.7 ttl 1 fragment 1480+"),
])
def test_drops_in_words(gateway: Gateway, packet: IP, text: str) -> None:
    """Protocol, addresses, ports, flags; then the reason in words."""
    gateway.lan(packet)
    line = gateway.lines("drops")[-1]
    assert line == f"1.000 ttl lan {14 + len(packet)} bytes: {text}; time to live (IPv6: hop limit) used up", line


def test_drops_of_other_frames(gateway: Gateway) -> None:
    """IPv6, ARP, other types and short frames."""
    header = Ether(src=A.mac, dst=PORT_MAC[LAN])
    shown = []
    for frame in (header / IPv6(src="2001:db8::1", dst="2001:db8::2", hlim=9) / UDP(sport=5, dport=6),
                  header / IPv6(src="2001:db8::1", dst="2001:db8::2") / IPv6ExtHdrFragment(
                      nh=58, offset=1, m=1) / Raw(bytes(16)),
                  header / ARP(op=2, psrc=A.ip, hwsrc=A.mac, pdst=B.ip),
                  Ether(src=A.mac, dst=PORT_MAC[LAN], type=0x88cc) / Raw(bytes(46)),
                  bytes(header / IP(src=A.ip, dst=SERVER))[:20], b"abc"):
        gateway.send(LAN, frame, broken=True)
        shown.append(gateway.lines("drops")[-1].partition("bytes: ")[2].partition(";")[0])
    assert shown == [
        "udp [2001:db8::1]:5 > [2001:db8::2]:6 hops 9",
        "icmpv6 2001:db8::1 > 2001:db8::2 hops 64 fragment 8+",
        f"arp reply {A.ip} ({A.mac}) > {B.ip}",
        f"ethertype 0x88cc {A.mac} > {PORT_MAC[LAN]}",
        "ipv4 damaged", "runt"]


def test_drops_of_our_own(start: Callable[..., Gateway]) -> None:
    """A packet of the gateway itself has no Ethernet header before it is ready to be sent."""
    gateway = start(NAT.replace(f"neighbour {A.ip} {A.mac}\n", ""))
    gateway.lan(expired(1, 0))
    gateway.wait(5)
    line, = (line for line in gateway.lines("drops") if " self " in line)
    assert f"bytes: icmp {INSIDE} > {A.ip} type 11/0 ttl 64; the next hop does not answer" in line, line


def test_servers_and_questions(start: Callable[..., Gateway]) -> None:
    """`sessions` of dns64: each server with its counters, and each fetch that waits for an answer. A server is `up`
    only after an answer."""
    resolver = Resolver(start, Zone(FOUR))
    server = f"nameserver {UPSTREAM} "
    lines = resolver.gateway.lines("sessions")
    assert len(lines) == 1 and lines[0].startswith(f"{server}untried asked=0 answered=0 rtt-us="), lines
    resolver.ask("four.example.", "A")
    lines = resolver.gateway.lines("sessions")
    assert len(lines) == 1 and lines[0].startswith(f"{server}up asked=1 answered=1 rtt-us="), lines
    assert lines[0].endswith(" missed=0"), lines
    resolver.servers(one=lambda query: [])
    resolver.send(resolver.query("quiet.example.", "TXT"))
    resolver.gateway.wait(0.02)
    first, *asking = resolver.gateway.lines("sessions")
    assert first.startswith(f"{server}up asked=2 answered=1 "), first
    assert len(asking) == 1 and asking[0].lower() == "asking quiet.example. type=16 class=1 tries=1 ms=20", asking


def test_silent_server(start: Callable[..., Gateway]) -> None:
    """A server that has not answered yet is `silent`, then `down`; it is never `up`."""
    resolver = Resolver(start, Zone(FOUR))
    resolver.servers(one=lambda query: [])
    states = []
    for number in range(20):
        resolver.send(resolver.query(f"name{number}.example.", "TXT"))
        resolver.gateway.wait(1)
        states.append(resolver.gateway.lines("sessions")[0].split()[2])
    assert states[0] == "silent" and states[-1] == "down" and set(states) == {"silent", "down"}, states
