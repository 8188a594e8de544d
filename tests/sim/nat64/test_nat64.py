# SPDX-License-Identifier: BSD-2-Clause
"""The application `nat64` around the translation: what it requires, its listings, what follows when addresses change,
and the services beside it."""

from __future__ import annotations

import re

import pytest
from gateway import LAN, LAN2, PORT_MAC, WAN, Sent, only
from ivi import dropped
from net6 import of_kind
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest, ICMPv6ND_NS, ICMPv6NDOptPREF64, ICMPv6NDOptPrefixInfo, IPv6, IPv6ExtHdrRouting,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from simulator import Refused
from six4 import (
    CONFIG, FAR, OTHER, OWN4, OWN6, SEVEN, SIX, Start, connect, error4, error6, in_tcp, in_udp, out_echo, out_tcp,
    out_udp, send4, send6, sessions, six_of, start64, to4, to6,
)

pytestmark = pytest.mark.virtual

BASE = "lan.address 2001:db8:1::1/64\nwan.address 198.51.100.1/24\n"


def test_there_and_back(start: Start) -> None:
    gateway = start64(start)
    port = out_udp(gateway, 5000)
    answer = only(in_udp(gateway, port), LAN).ip6
    assert (answer.src, answer.dst) == (six_of(FAR), SIX)
    assert (answer[UDP].sport, answer[UDP].dport, bytes(answer[UDP].payload)) == (53, 5000, b"answer")


@pytest.mark.parametrize(("config", "wrong"), [
    ("wan.address 198.51.100.1/24\n", "lan.address: an IPv6 address is required by nat64"),
    ("lan.address 2001:db8:1::1/64\n", "wan.address: an IPv4 address is required by nat64"),
    (BASE + "nat64.prefix 2001:db8:10::/44\n",
     "nat64.prefix must have a length of 32, 40, 48, 56, 64 or 96 (RFC 6052)"),
    (BASE + "nat64.prefix 2001:db8:9:0:100::/96\n", "nat64.prefix must have zero in octet 8 (RFC 6052 section 2.2)"),
    (BASE + "nat64.prefix 2001:db8:9::/96\nnat64.prefix 2001:db8:9::/96\n",
     "nat64.prefix: a prefix is given twice"),
    (BASE + "nat64.pool 198.51.100.255\n",
     "nat64.pool: holds the network or broadcast address of wan.address"),
    (BASE + "nat64.forward tcp 203.0.113.9:80 [2001:db8:1::a]:80\n",
     "nat64.forward: the outer address is none of nat64.pool"),
    (BASE + "nat64.forward tcp 198.51.100.1:80 [2001:db8:1::1]:80\n",
     "nat64.forward: the inside address is not on the LAN side, or no host's"),
    (BASE + "nat64.forward tcp 198.51.100.1:80 [2001:db8:7::1]:80\n",
     "nat64.forward: the inside address is not on the LAN side, or no host's"),
    (BASE + "nat64.forward tcp 198.51.100.1:80 [2001:db8:1::a]:80\n"
     "nat64.forward tcp 198.51.100.1:80 [2001:db8:1::b]:80\n",
     "nat64.forward: an outer or an inside endpoint is given twice"),
])
def test_invalid_configuration(start: Start, config: str, wrong: str) -> None:
    """RFC 6146 section 3: an IPv6 prefix and an IPv4 address; and what else must be right."""
    with pytest.raises(Refused, match=re.escape(wrong)):
        start(config, "nat64")


def test_forward_into_a_delegated_prefix(start: Start) -> None:
    """It starts, and works while the network is there; nothing leaves by another way."""
    base = "lan.prefix delegated\n" + "".join(line + "\n" for line in CONFIG.splitlines() if "2001:db8:1:" not in line)
    gateway = start64(start, f"nat64.forward tcp {OWN4}:80 [{SIX}]:80\n", base=base)
    assert dropped(gateway, lambda: in_tcp(gateway, 80, "S", 1, 0), "no-route") == []
    gateway.change(f"address add lan {OWN6}/64")
    gateway.wait(3)
    assert only(in_tcp(gateway, 80, "S", 1, 0), LAN).frame[ICMPv6ND_NS].tgt == SIX
    gateway.change(f"address del lan {OWN6}")
    assert dropped(gateway, lambda: in_tcp(gateway, 80, "S", 1, 0), "no-route") == []


def test_forward_to_no_host_of_a_delegated_prefix(start: Start) -> None:
    config = "lan.prefix delegated\nwan.address 198.51.100.1/24\nnat64.forward tcp 198.51.100.1:80 [64:ff9b::1]:80\n"
    with pytest.raises(Refused, match="not on the LAN side, or no host's"):
        start(config, "nat64")


def test_listing(start: Start) -> None:
    """What RFC 6146 sections 3 and 3.2 want kept of a session: endpoints of both sides, state, lifetime."""
    gateway = start64(start)
    out_udp(gateway, 5000)
    (line,) = gateway.lines("sessions")
    assert re.fullmatch(rf"udp \[{SIX}\]:5000 \[{six_of(FAR)}\]:53 {OWN4}:5000 {FAR}:53 open expires=\d+", line)
    out_tcp(gateway, sport=700)
    out_echo(gateway, 9)
    assert sorted(proto for proto, _, _ in sessions(gateway)) == ["icmp", "tcp", "udp"]


def test_another_inside_network(start: Start) -> None:
    """Hosts of `lan2` are translated beside those of `lan`, and hear of the prefix; the two reach each other by their
    outer ports."""
    host, mac = "2001:db8:3::a", "52:54:00:00:03:0a"
    more = f"lan2 nic2\nlan2.address 2001:db8:3::1/64\nneighbour {host} {mac}\nnat64.filtering endpoint-independent\n"
    gateway = start64(start, more)
    def second(packet: Packet) -> list[Sent]:
        return gateway.send(LAN2, Ether(src=mac, dst=PORT_MAC[LAN2], type=0x86dd) / packet)
    sent = only(second(to4(src=host) / UDP(sport=5000, dport=53) / b"x"), WAN).ip
    assert (sent.src, sent.dst) == (OWN4, FAR)
    back = only(in_udp(gateway, sent[UDP].sport), LAN2).ip6
    assert (back.src, back.dst, back[UDP].dport) == (six_of(FAR), host, 5000)
    first = out_udp(gateway, 6000)
    turned = only(second(to4(OWN4, host) / UDP(sport=5000, dport=first) / b"y"), LAN).ip6
    assert (turned.src, turned.dst, turned[UDP].dport) == (six_of(OWN4), SIX, 6000)
    told = [one for one in of_kind(gateway.wait(20), 134, LAN2) if ICMPv6NDOptPREF64 in one.frame]
    assert told and told[-1].frame[ICMPv6NDOptPREF64].prefix == "64:ff9b::"


def test_advertised(start: Start) -> None:
    """Hosts make their addresses from the advertisements."""
    gateway = start(CONFIG.replace("lan.ra off\n", ""), "nat64")
    sent = of_kind(gateway.wait(20), 134)
    options = [one.frame[ICMPv6NDOptPrefixInfo] for one in sent if ICMPv6NDOptPrefixInfo in one.frame]
    assert options and all((one.prefix, one.prefixlen, one.A, one.L) == ("2001:db8:1::", 64, 1, 1) for one in options)


# --- changes ------------------------------------------------------------------------------------------


def test_wan_address_changes(start: Start) -> None:
    """Bindings of a vanished address end; new flows have the new one."""
    gateway = start64(start)
    out_udp(gateway, 5000)
    connect(gateway, 6000)
    gateway.change("address del wan 198.51.100.1")
    assert sessions(gateway) == [] and gateway.stats()["nat64_sessions_renumbered"] == 2
    assert [one for one in send6(gateway, to4() / UDP(sport=1, dport=2)) if one.port == WAN] == []
    gateway.change("address add wan 198.51.100.7/24")
    gateway.wait(4)
    sent = [one for one in send6(gateway, to4("198.51.100.2") / UDP(sport=5000, dport=53)) if one.port == WAN]
    assert only(sent).ip.src == "198.51.100.7"


@pytest.mark.parametrize("proto", ["udp", "tcp"])
def test_known_session_after_a_change(start: Start, proto: str) -> None:
    """Sessions outlive a change of routes, with their prefix: that of the second here."""
    second = "2001:db8:64::/96"
    gateway = start64(start, f"nat64.prefix 64:ff9b::/96\nnat64.prefix {second}\n")
    head = to4(FAR, SIX, second)
    if proto == "udp":
        for _ in range(3):
            port = only(send6(gateway, head / UDP(sport=5000, dport=53) / b"x"), WAN).ip[UDP].sport
    else:
        port = only(send6(gateway, head / TCP(sport=5000, dport=53, flags="S", seq=1)), WAN).ip[TCP].sport
    gateway.change("route add 203.0.113.0/24 via 198.51.100.2")
    answer = in_udp(gateway, port) if proto == "udp" else in_tcp(gateway, port, "SA", ack=2, sport=53)
    assert only(answer, LAN).ip6.src == six_of(FAR, second)


def test_lan_network_vanishes(start: Start) -> None:
    gateway = start64(start)
    port = out_udp(gateway)
    gateway.change(f"address del lan {OWN6}")
    assert dropped(gateway, lambda: in_udp(gateway, port), "no-route") == []


# --- what else passes, or does not --------------------------------------------------------------------


def test_native_ipv6_stays_inside(start: Start) -> None:
    """The WAN is an IPv4 side: an IPv6 packet for elsewhere gets an error."""
    gateway = start64(start)
    packet = IPv6(src=SIX, dst="2001:db8:ffff::1") / UDP(sport=1, dport=2)
    error6(dropped(gateway, lambda: send6(gateway, packet), "no-route"), 1, 0)


def test_source_routes(start: Start) -> None:
    gateway = start64(start)
    packet = to4() / IPv6ExtHdrRouting(type=2, segleft=1, addresses=["2001:db8:1::5"]) / UDP(sport=1, dport=2)
    error6(dropped(gateway, lambda: send6(gateway, packet), "source-route"), 4, 0)
    port = out_udp(gateway)
    route = b"\x83\x07\x04\xcb\x00\x71\x05\x00"
    four = IP(src=FAR, dst=OWN4, options=[route]) / UDP(sport=53, dport=port)
    error4(dropped(gateway, lambda: send4(gateway, four), "source-route"), 3, 5)


def test_options_are_ignored(start: Start) -> None:
    """RFC 7915 section 4.1: IPv4 options are not translated."""
    gateway = start64(start)
    port = out_udp(gateway)
    four = IP(src=FAR, dst=OWN4, options=[b"\x01\x01\x01\x01"]) / UDP(sport=53, dport=port) / b"y"
    assert only(send4(gateway, four), LAN).ip6[UDP].dport == 5000


def test_ping_of_the_gateway(start: Start) -> None:
    gateway = start64(start)
    sent = only(send4(gateway, IP(src=FAR, dst=OWN4) / ICMP(id=1, seq=2) / b"ping"), WAN)
    assert sent.ip[ICMP].type == 0
    back = only(send6(gateway, IPv6(src=SIX, dst=OWN6) / ICMPv6EchoRequest(id=1, seq=2)), LAN)
    assert back.ip6.src == OWN6 and sessions(gateway) == []


def test_own_sockets_are_not_translated(start: Start) -> None:
    """A name server beside it has its own ports, which no binding gets; its answers come to it."""
    gateway = start64(start, "serve dns64\nnameserver 203.0.113.53\n")
    query = (b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x04test\x00\x00\x1c\x00\x01")
    asked = [one for one in send6(gateway, IPv6(src=SIX, dst=OWN6) / UDP(sport=4000, dport=53) / query)
             if one.port == WAN]
    assert asked and gateway.stats()["nat64_sessions"] == 0 and {one.ip.src for one in asked} == {OWN4}
    for one in asked:
        port, question = one.ip[UDP].sport, bytes(one.ip[UDP].payload)
        got = out_udp(gateway, port)
        assert got != port and got % 2 == port % 2
        reply = question[:2] + b"\x81\x83" + question[4:]
        send4(gateway, to6("203.0.113.53") / UDP(sport=53, dport=port) / reply)
    assert gateway.drops() == {} and gateway.stats()["dns_answers"] == 1


def test_two_hosts_of_one_server(start: Start) -> None:
    gateway = start64(start)
    ports = [out_udp(gateway, 5000, src=host) for host in (SIX, SEVEN)]
    for host, port in zip((SIX, SEVEN), ports, strict=True):
        assert only(in_udp(gateway, port), LAN).ip6.dst == host
    assert dropped(gateway, lambda: in_udp(gateway, ports[0], src=OTHER), "filtered") == []
    assert CONFIG
