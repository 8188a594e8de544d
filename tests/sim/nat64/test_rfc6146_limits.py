# SPDX-License-Identifier: BSD-2-Clause
"""RFC 6146 sections 5.3 and 5.4: what scans, floods, forged addresses and loops can take is bounded, and sessions that
are in use live on."""

from __future__ import annotations

import random

import pytest
from gateway import LAN, WAN, Gateway, only
from ivi import dropped
from pieces import cut
from scapy.layers.inet import ICMP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6DestUnreach, ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr, IPv6,
)
from six4 import (
    FAR, FOUR, MAC, OTHER, OWN4, OWN6, SEVEN, SIX, Start, connect, error6, in_echo, in_tcp, in_udp, out_echo,
    out_tcp, out_udp, send4, send6, sessions, six_of, start64, to4, to6,
)

pytestmark = pytest.mark.virtual

OUTSIDE_RATE = 200
"""More ICMP errors than this leave in no second, whatever comes in."""


@pytest.fixture
def busy(start: Start) -> tuple[Gateway, int, int]:
    """A gateway with a UDP and a TCP session in use; their external ports."""
    gateway = start64(start, "nat64.host-length 128\n")
    udp, tcp = out_udp(gateway, 4000), connect(gateway, 4001)
    only(in_udp(gateway, udp), LAN)
    return gateway, udp, tcp


def alive(gateway: Gateway, udp: int, tcp: int) -> None:
    """Both sessions still pass packets both ways."""
    only(in_udp(gateway, udp), LAN)
    assert out_udp(gateway, 4000) == udp
    only(in_tcp(gateway, tcp, "A", 9001, 1001, load=b"x"), LAN)
    assert only(out_tcp(gateway, "A", 1001, 9002, sport=4001), WAN).ip[TCP].sport == tcp


# --- from outside -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("proto", ["udp", "tcp", "icmp"])
def test_53_scan_from_outside(busy: tuple[Gateway, int, int], proto: str) -> None:
    """Section 5.3: a scan of two thousand ports makes no session, stores at most 256 SYNs, and is answered by a few
    errors at most."""
    gateway, udp, tcp = busy
    sent = 0
    for port in range(10000, 12000):
        source = f"192.0.2.{port % 200 + 10}"
        if proto == "udp":
            got = in_udp(gateway, port, src=source)
        elif proto == "tcp":
            got = in_tcp(gateway, port, "S", 1, 0, src=source)
        else:
            got = in_echo(gateway, port, src=source, reply=True)
        sent += len(got)
    assert sent == 0 and len(sessions(gateway)) == 2 and gateway.stats()["nat64_bindings"] == 2
    assert gateway.drops() == {"no-mapping": 2000}
    held = gateway.stats()["nat64_syns_held"]
    assert held <= 256 if proto == "tcp" else held == 0
    alive(gateway, udp, tcp)
    answers = gateway.wait(7)
    assert len(answers) <= held
    gateway.wait(60)
    assert gateway.stats()["nat64_syns_held"] == 0
    alive(gateway, udp, tcp)


def test_53_flood_of_strangers(start: Start) -> None:
    """Section 5.3: strangers to a binding that lets everybody in fill the table, but take no place of a host."""
    gateway = start64(start, "nat64.filtering endpoint-independent\nnat64.sessions 64\n")
    udp, tcp = out_udp(gateway, 4000), connect(gateway, 4001)
    only(in_udp(gateway, udp), LAN)
    for n in range(300):
        in_udp(gateway, udp, 1000 + n, f"192.0.2.{n % 250 + 1}")
        assert len(sessions(gateway)) <= 64
    alive(gateway, udp, tcp)
    for n in range(20):
        out_udp(gateway, 7000 + n, src=SEVEN)


def test_53_outside_does_not_keep_a_session(start: Start) -> None:
    """Section 5.3 permits to ignore outside packets: those of a stranger keep no session and no binding."""
    gateway = start64(start, "nat64.filtering endpoint-independent\n")
    port = out_udp(gateway)
    for _ in range(4):
        gateway.wait(100)
        in_udp(gateway, port, 9, OTHER)
    assert sessions(gateway) == [] and gateway.stats()["nat64_bindings"] == 0


def test_53_errors_about_nothing(busy: tuple[Gateway, int, int]) -> None:
    """Section 5.3: errors about what was never sent: each is a counted drop, and no table changes."""
    gateway, udp, tcp = busy
    before = sessions(gateway)
    rng = random.Random(6146)
    for n in range(300):
        quote = to6(OWN4, FAR) / UDP(sport=udp if n % 2 else rng.randrange(1, 65536), dport=rng.randrange(1000, 60000))
        assert send4(gateway, to6(FOUR) / ICMP(type=3, code=n % 16 if n % 16 != 4 else 3) / bytes(quote)) == []
        quote6 = IPv6(src=six_of(FAR), dst=SIX) / UDP(sport=rng.randrange(1000, 60000), dport=4000)
        assert send6(gateway, IPv6(src=SIX, dst=six_of(FAR)) / ICMPv6DestUnreach(code=4) / bytes(quote6)) == []
    assert sum(gateway.drops().values()) == 600 and sessions(gateway) == before
    alive(gateway, udp, tcp)


def test_53_fragments_from_outside(busy: tuple[Gateway, int, int]) -> None:
    """Section 5.3 (and 3.4): a flood of fragments without an end has its bound; a whole packet in fragments passes."""
    gateway, udp, tcp = busy
    for n in range(400):
        packet = to6(f"192.0.2.{n % 250 + 1}") / UDP(sport=53, dport=udp) / bytes(2000)
        packet.id = n
        assert send4(gateway, cut(packet, 1000)[n % 2]) == []
        assert gateway.stats()["nat64_fragments_kept"] <= 192
    packet = to6() / UDP(sport=53, dport=udp) / bytes(2000)
    packet.id = 7777
    assert len([one for piece in cut(packet, 1000) for one in send4(gateway, piece)]) >= 2
    alive(gateway, udp, tcp)
    gateway.wait(3)
    assert gateway.stats()["nat64_fragments_kept"] == 0


@pytest.mark.parametrize("source", [OWN4, "127.0.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "240.0.0.1"])
def test_53_forged_sources_from_outside(busy: tuple[Gateway, int, int], source: str) -> None:
    """Section 5.3: sources that no host has are dropped before a table is looked at."""
    gateway, udp, tcp = busy
    assert dropped(gateway, lambda: in_udp(gateway, udp, src=source), "martian-source") == []
    assert in_tcp(gateway, 9999, "S", 1, 0, src=source) == [] and gateway.stats()["nat64_syns_held"] == 0
    alive(gateway, udp, tcp)


# --- from inside ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("proto", ["udp", "tcp", "icmp"])
def test_53_scan_from_inside(busy: tuple[Gateway, int, int], proto: str) -> None:
    """Section 5.3: a host that scans the IPv4 network fills its own places, and is told so at a limited rate; the
    sessions of others live on, and they get new ones."""
    gateway, udp, tcp = busy
    told = 0
    for n in range(600):
        target = f"192.0.2.{n % 250 + 1}"
        if proto == "udp":
            packet = to4(target, SEVEN) / UDP(sport=20000 + n, dport=n + 1)
        elif proto == "tcp":
            packet = to4(target, SEVEN) / TCP(sport=20000 + n, dport=n + 1, flags="S", seq=n)
        else:
            packet = to4(target, SEVEN) / ICMPv6EchoRequest(id=20000 + n)
        for one in send6(gateway, packet):
            if one.port == LAN:
                told += 1
                error6([one], 1, 3, dst=SEVEN)
    stats = gateway.stats()
    assert stats["nat64_sessions"] <= 256 and told <= OUTSIDE_RATE
    assert stats["nat64_sessions_evicted"] + stats["nat64_table_full"] >= 300
    alive(gateway, udp, tcp)
    for n in range(10):
        out_udp(gateway, 4100 + n)


def test_53_new_addresses_for_each_flow(busy: tuple[Gateway, int, int]) -> None:
    """Section 5.3: forged sources of the LAN's own network, a new one for each flow, each counted as a host: a host
    that has sessions in use keeps them."""
    gateway, udp, tcp = busy
    for n in range(600):
        flood = to4(OTHER, f"2001:db8:1::{n + 256:x}") / UDP(sport=5000, dport=53)
        send6(gateway, flood, mac="52:54:00:00:01:0c")
        assert gateway.stats()["nat64_addresses"] <= 256
    alive(gateway, udp, tcp)
    only(in_udp(gateway, out_udp(gateway, 4100, src=SEVEN)), LAN)  # a host without sessions gets one
    alive(gateway, udp, tcp)


@pytest.mark.parametrize("length", [64, 128])
@pytest.mark.parametrize("flags", ["S", ""])
def test_53_one_station_leaves_room_for_its_neighbours(start: Start, length: int, flags: str) -> None:
    """Section 5.3: a station that scans fills the table, or makes up an address for each flow; another one of the
    same /64 still opens sessions, whatever counts as a host."""
    gateway = start64(start, f"nat64.sessions 256\nnat64.host-length {length}\n")
    for n in range(600):
        if flags:
            packet = to4(OTHER, SEVEN) / TCP(sport=20000 + n, dport=n + 1, flags=flags, seq=n)
        else:
            packet = to4(OTHER, f"2001:db8:1::{n + 256:x}") / UDP(sport=5000, dport=53)
        send6(gateway, packet, mac="52:54:00:00:01:0c")
    only(in_udp(gateway, out_udp(gateway, 4100)), LAN)
    for n in range(5):
        only(in_udp(gateway, out_udp(gateway, 4101 + n)), LAN)
    tcp = connect(gateway, 4001)
    only(in_tcp(gateway, tcp, "A", 9001, 1001, load=b"x"), LAN)


def make_up(gateway: Gateway, first: int, n: int) -> None:
    """A station sends from so many addresses that it made up, and answers for none of them."""
    for k in range(first, first + n):
        flood = to4(OTHER, f"2001:db8:1::{k >> 16:x}:{(k & 0xffff) + 256:x}") / UDP(sport=5000, dport=53)
        send6(gateway, flood, mac="52:54:00:00:01:0c")


def of(gateway: Gateway, host: str) -> int:
    """How many sessions a host has."""
    return sum(f"[{host}]:" in line for line in gateway.lines("sessions"))


@pytest.mark.parametrize("length", [64, 128])
def test_53_made_up_addresses_beside_a_neighbour(start: Start, length: int) -> None:
    """Section 5.3: a station makes up ten thousand addresses, one for each flow. Its neighbour in the same /64 opens
    two hundred sessions meanwhile, none of which is answered yet. All of them stay, whatever counts as a host."""
    gateway = start64(start, f"nat64.sessions 1000\nnat64.host-length {length}\n")
    make_up(gateway, 0, 2000)
    for n in range(200):
        out_udp(gateway, 4100 + n)
        make_up(gateway, 2000 + 40 * n, 40)
        if n % 20 == 0:
            assert of(gateway, SIX) == n + 1
    assert of(gateway, SIX) == 200 and gateway.stats()["nat64_sessions"] == 1000


def test_53_station_that_is_found_later(start: Start) -> None:
    """Section 5.3: the first packet of a station makes it known to nobody: it answers for its address when the reply
    comes, and from its next session on its sessions count as its own."""
    gateway = start64(start, "nat64.sessions 256\n")
    late, mac = "2001:db8:1::1a7e", "52:54:00:00:01:0d"
    make_up(gateway, 0, 400)
    packet = to4(FAR, late) / UDP(sport=4000, dport=53)
    port = only(send6(gateway, packet, mac=mac), WAN).ip[UDP].sport
    asked = only(in_udp(gateway, port), LAN)
    assert asked.ip6.haslayer(ICMPv6ND_NS)
    answer = IPv6(src=late, dst=OWN6) / ICMPv6ND_NA(tgt=late, R=0, S=1, O=1) / ICMPv6NDOptDstLLAddr(lladdr=mac)
    only(send6(gateway, answer, mac=mac), LAN)
    for n in range(1, 60):
        only(send6(gateway, to4(FAR, late) / UDP(sport=4000 + n, dport=53), mac=mac), WAN)
        make_up(gateway, 400 + 20 * n, 20)
    assert of(gateway, late) == 60


def test_53_limit_of_a_64(start: Start) -> None:
    """Section 5.3: a station has all the sessions that its /64 may have. Another one gets half of them, and then no
    more; the /64 never has more than it may, and the host of another /64 loses nothing."""
    gateway = start64(start, "nat64.sessions 1000\nnat64.host-limit 60\nroute 2001:db8:9::/64 via " + SEVEN + "\n")
    for n in range(50):
        packet = to4(src="2001:db8:9::1") / UDP(sport=4100 + n, dport=53)
        only(send6(gateway, packet, mac=MAC[SEVEN]), WAN)
    for n in range(60):
        out_udp(gateway, 4100 + n, src=SEVEN)
    assert dropped(gateway, lambda: send6(gateway, to4(src=SEVEN) / UDP(sport=9, dport=53)), "host-limit")
    for n in range(30):
        out_udp(gateway, 4100 + n)
        assert gateway.stats()["nat64_sessions"] == 110 and of(gateway, "2001:db8:9::1") == 50
    packet = to4() / UDP(sport=9, dport=53)
    error6(dropped(gateway, lambda: send6(gateway, packet), "host-limit"), 1, 1)
    assert of(gateway, SIX) == of(gateway, SEVEN) == 30


def test_53_new_host_at_the_limit(start: Start) -> None:
    """Section 5.3: a station has all the sessions that its /64 may have, from addresses that it made up. A host for
    whose address nobody has answered yet still gets its first one."""
    gateway = start64(start, "nat64.sessions 1000\nnat64.host-limit 60\n")
    make_up(gateway, 0, 200)
    packet = to4(FAR, "2001:db8:1::1a7e") / UDP(sport=4000, dport=53)
    only(send6(gateway, packet, mac="52:54:00:00:01:0d"), WAN)
    assert gateway.stats()["nat64_sessions"] == 60 and of(gateway, "2001:db8:1::1a7e") == 1


def test_53_addresses_claimed_for_a_neighbour(start: Start) -> None:
    """Section 5.3: a station says that its neighbour has the addresses that it made up. What it sends from them does
    not count as the neighbour's."""
    gateway = start64(start, "nat64.sessions 256\n")
    mac = "52:54:00:00:01:0c"
    for k in range(256, 600):
        claimed = f"2001:db8:1::{k:x}"
        asked = IPv6(src=claimed, dst=OWN6) / ICMPv6ND_NS(tgt=OWN6) / ICMPv6NDOptSrcLLAddr(lladdr=MAC[SIX])
        send6(gateway, asked, mac=mac)
        send6(gateway, to4(OTHER, claimed) / UDP(sport=5000, dport=53), mac=mac)
    for n in range(40):
        out_udp(gateway, 4100 + n)
    assert of(gateway, SIX) == 40


def test_53_service_at_the_limit(start: Start) -> None:
    """Section 5.3: a station has all sessions that its /64 may have; a service of its neighbour is still reached."""
    gateway = start64(start, f"nat64.host-limit 20\nnat64.forward udp {OWN4}:80 [{SIX}]:8080\n")
    for n in range(20):
        out_udp(gateway, 4100 + n, src=SEVEN)
    for n in range(5):
        only(in_udp(gateway, 80, sport=7000 + n), LAN)
    assert gateway.stats()["nat64_sessions"] <= 25


def test_53_limit_of_a_64_in_use(start: Start) -> None:
    """Section 5.3: sessions in use are not taken for a neighbour where the /64 has as many as it may."""
    gateway = start64(start, "nat64.sessions 1000\nnat64.host-limit 20\n")
    for port in [out_udp(gateway, 4100 + n, src=SEVEN) for n in range(20)]:
        only(in_udp(gateway, port), LAN)
    packet = to4() / UDP(sport=9, dport=53)
    error6(dropped(gateway, lambda: send6(gateway, packet), "host-limit"), 1, 1)
    assert of(gateway, SEVEN) == 20


def test_53_no_port_left(start: Start) -> None:
    """Section 5.3: all ports of one class in use by answered sessions: the next gets one of the other class, the others
    live on."""
    gateway = start64(start, "nat64.sessions 2000\nnat64.host-length 128\n")
    ports = [out_udp(gateway, n) for n in range(1, 1024)]
    assert sorted(ports) == list(range(1, 1024))
    for port in ports:
        only(in_udp(gateway, port), LAN)
    assert out_udp(gateway, 1, src=SEVEN) >= 1024  # section 3.5.1.1: else the other range
    for port in ports[::50]:
        only(in_udp(gateway, port), LAN)


def test_53_no_port_left_of_a_block(start: Start) -> None:
    """Section 3.5.1.1: no port is left at all: ICMPv6 1/3, and the others live on."""
    gateway = start64(start, "nat64.blocks 32\nnat64.host-length 128\n")
    ports = [out_udp(gateway, 5000 + n) for n in range(32)]
    for port in ports:
        only(in_udp(gateway, port), LAN)
    for sport in (80, 9000, 9001):
        packet = to4() / UDP(sport=sport, dport=53)
        error6(dropped(gateway, lambda sent=packet: send6(gateway, sent), "no-port"), 1, 3)
    for port in ports:
        only(in_udp(gateway, port), LAN)
    out_udp(gateway, 9000, src=SEVEN)


def test_354_well_known_prefix_by_default(start: Start) -> None:
    """Section 3.5.4: without a configured prefix it is 64:ff9b::/96; a configured one takes its place."""
    gateway = start64(start)
    out_udp(gateway)
    assert out_echo(gateway, 7)
    other = start64(start, "nat64.prefix 2001:db8:64::/96\n")
    assert [one for one in send6(other, to4() / UDP(sport=1, dport=2)) if one.port == WAN] == []
    assert only(send6(other, to4(FAR, SIX, "2001:db8:64::/96") / UDP(sport=1, dport=2)), WAN).ip.dst == FAR


# --- loops -----------------------------------------------------------------------------------------------


def test_54_loop_through_the_prefix(busy: tuple[Gateway, int, int]) -> None:
    """Sections 3.5 and 5.4: a packet whose source lies in the prefix would come back by the translator: dropped
    silently, of every protocol, and as an error."""
    gateway, udp, tcp = busy
    src = six_of(OWN4)
    for load in (UDP(sport=udp, dport=udp), TCP(sport=tcp, dport=tcp, flags="S"), ICMPv6EchoRequest(id=1),
                 ICMPv6DestUnreach(code=4) / IPv6(src=SIX, dst=src) / UDP(sport=4000, dport=udp)):
        packet = IPv6(src=src, dst=six_of(OWN4)) / load
        assert dropped(gateway, lambda: send6(gateway, packet), "martian-source") == []  # noqa: B023
    assert len(sessions(gateway)) == 2
    alive(gateway, udp, tcp)


def test_54_packet_to_oneself(start: Start) -> None:
    """Sections 3.8 and 5.4: a host that sends to its own external endpoint gets its packet back once."""
    gateway = start64(start, "nat64.filtering endpoint-independent\n")
    port = out_udp(gateway, 4000)
    for _ in range(3):
        back = only(send6(gateway, to4(OWN4) / UDP(sport=4000, dport=port) / b"me"), LAN).ip6
        assert (back.src, back.dst, back[UDP].sport, back[UDP].dport) == (six_of(OWN4), SIX, port, 4000)
    assert len(sessions(gateway)) <= 3
