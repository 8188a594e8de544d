# SPDX-License-Identifier: BSD-2-Clause
"""RFC 6146 section 3.5.1 (UDP), and what holds for all protocols: bindings, ports, filtering, hairpinning."""

from __future__ import annotations

from ipaddress import IPv6Address

import pytest
from gateway import LAN, WAN, Gateway, only
from ivi import dropped
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6DestUnreach, ICMPv6EchoReply, IPv6
from scapy.packet import Raw
from six4 import (
    FAR, FOUR, OTHER, OWN4, OWN6, SEVEN, SIX, Start, connect, error4, error6, in_echo, in_tcp, in_udp, out_echo,
    out_udp, send4, send6, sessions, six_of, start64, to4, to6,
)

pytestmark = pytest.mark.virtual


@pytest.fixture
def gateway64(start: Start) -> Gateway:
    return start64(start)


def test_37_headers(gateway64: Gateway) -> None:
    """Section 3.7: hop limit, traffic class and DF as RFC 7915 says; checksums by the oracle of every frame."""
    sent = only(send6(gateway64, to4(tc=0xb8, hlim=9, fl=0x12345) / UDP(sport=5000, dport=53) / b"x"), WAN).ip
    assert (sent.ttl, sent.tos, int(sent.flags)) == (8, 0xb8, 0)
    sent = only(send6(gateway64, to4() / UDP(sport=5000, dport=53) / bytes(1300)), WAN).ip
    assert int(sent.flags) == 2
    back = only(send4(gateway64, to6(tos=0x28, ttl=7, flags=2) / UDP(sport=53, dport=5000) / b"y"), LAN).ip6
    assert (back.hlim, back.tc, back.fl, back.nh) == (6, 0x28, 0, 17)


def test_35_source_in_prefix(gateway64: Gateway) -> None:
    """Section 3.5: a packet from an address under the prefix would loop (section 5.4): silent."""
    forged = to4(src=six_of("192.0.2.9")) / UDP(sport=1, dport=2)
    assert dropped(gateway64, lambda: send6(gateway64, forged), "martian-source") == []


@pytest.mark.parametrize("src", [OWN6, "2001:db8:9::1", "::1", "ff02::1"])
def test_35_forged_source(gateway64: Gateway, src: str) -> None:
    before = sum(gateway64.drops().values())
    assert send6(gateway64, to4(src=src) / UDP(sport=1, dport=2)) == []
    assert sum(gateway64.drops().values()) == before + 1 and sessions(gateway64) == []


@pytest.mark.parametrize(("dst", "reason"), [
    ("127.0.0.1", "martian-destination"), ("0.0.0.0", "martian-destination"), ("169.254.1.1", "martian-destination"),
    ("224.0.0.5", "multicast"), ("255.255.255.255", "martian-destination"), ("240.0.0.1", "martian-destination"),
    ("198.51.100.255", "martian-destination")])
def test_35_no_host(gateway64: Gateway, dst: str, reason: str) -> None:
    sent = dropped(gateway64, lambda: send6(gateway64, to4(dst) / UDP(sport=1, dport=2)), reason)
    error6(sent, 1, 1)


def test_34_other_protocols(gateway64: Gateway) -> None:
    """Section 3.4: other protocols are dropped, with ICMPv6 1/4 and ICMPv4 3/2."""
    packet = IPv6(src=SIX, dst=six_of(FAR), nh=47) / Raw(bytes(20))
    error6(dropped(gateway64, lambda: send6(gateway64, packet), "protocol"), 1, 4)
    four = IP(src=FAR, dst=OWN4, proto=132) / Raw(bytes(20))
    error4(dropped(gateway64, lambda: send4(gateway64, four), "protocol"), 3, 2)


# --- bindings and ports -----------------------------------------------------------------------------


def test_351_endpoint_independent(gateway64: Gateway) -> None:
    """Sections 3.1, 3.5.1 and 5.2: one binding for all remote hosts; a session for each."""
    ports = {out_udp(gateway64, 5000, dport, dst) for dst in (FAR, OTHER, FOUR) for dport in (53, 54)}
    assert len(ports) == 1 and len(sessions(gateway64)) == 6
    assert gateway64.stats()["nat64_bindings"] == 1


@pytest.mark.parametrize("port", [1, 2, 500, 501, 1023, 1024, 4500, 65535])
def test_3511_port_range_and_parity(gateway64: Gateway, port: int) -> None:
    """Sections 3.1 and 3.5.1.1: range and parity of a port are kept, also where another host has the same one."""
    first, second = out_udp(gateway64, port), out_udp(gateway64, port, src=SEVEN)
    assert first != second
    for got in (first, second):
        assert (got < 1024) == (port < 1024) and got % 2 == port % 2


def test_3511_tcp_and_udp_have_own_tables(gateway64: Gateway) -> None:
    """Section 3.1: a binding table for each protocol."""
    assert out_udp(gateway64, 5000) == connect(gateway64, 5000)
    assert only(out_echo(gateway64, 5000), WAN).ip[ICMP].id == 5000
    assert gateway64.stats()["nat64_bindings"] == 3


def test_3511_one_address_for_a_host(start: Start) -> None:
    """Section 3.5.1.1: a host has the same address in all its bindings."""
    gateway = start64(start, "nat64.pool 203.0.113.8-203.0.113.15\n")
    for host in (SIX, SEVEN):
        seen = {only(send6(gateway, to4(src=host) / UDP(sport=5000 + n, dport=53)), WAN).ip.src for n in range(20)}
        assert len(seen) == 1 and seen.pop().startswith("203.0.113.")


def test_3511_no_port(start: Start) -> None:
    """Section 3.5.1.1: a new flow that finds no free binding gets ICMPv6 1/3; established ones live on."""
    gateway = start64(start, "nat64.sessions 64\nnat64.host-length 128\n")
    ports = [out_udp(gateway, 5000 + n) for n in range(64)]
    for port in ports:
        only(in_udp(gateway, port), LAN)
    packet = to4() / UDP(sport=9000, dport=53)
    error6(dropped(gateway, lambda: send6(gateway, packet), "table-full"), 1, 3)
    for port in ports:
        only(in_udp(gateway, port), LAN)


def test_53_host_limit(start: Start) -> None:
    """A /64 is one host by default: privacy addresses do not help."""
    gateway = start64(start, "nat64.host-limit 3\n")
    for n in range(3):
        out_udp(gateway, 5000 + n, src=(SIX, SEVEN)[n % 2])
    packet = to4(src=SEVEN) / UDP(sport=9000, dport=53)
    error6(dropped(gateway, lambda: send6(gateway, packet), "host-limit"), 1, 1, dst=SEVEN)


def test_53_host_limit_of_addresses(start: Start) -> None:
    gateway = start64(start, "nat64.host-limit 2\nnat64.host-length 128\n")
    for host in (SIX, SEVEN):
        for n in range(2):
            out_udp(gateway, 5000 + n, src=host)
    assert len(sessions(gateway)) == 4
    packet = to4(src=SEVEN) / UDP(sport=9000, dport=53)
    error6(dropped(gateway, lambda: send6(gateway, packet), "host-limit"), 1, 1, dst=SEVEN)


def test_53_many_addresses_of_one_host(start: Start) -> None:
    """A host with a new address for each flow takes no session of another host, whose /64 it is not."""
    gateway = start64(start, "lan.address 2001:db8:2::1/64\nnat64.sessions 64\n"
                      "neighbour 2001:db8:2::a 52:54:00:00:01:0c\n")
    good = [out_udp(gateway, 6000 + n) for n in range(20)]
    for port in good:
        only(in_udp(gateway, port), LAN)
    for n in range(100):
        flood = to4(src=f"2001:db8:2::{n + 16:x}") / UDP(sport=5000, dport=53)
        send6(gateway, flood, mac="52:54:00:00:01:0c")
    for port in good:
        only(in_udp(gateway, port), LAN)
    out_udp(gateway, 7000)  # the host with less than its share still gets one


# --- lifetimes ------------------------------------------------------------------------------------------


def test_351_lifetime(gateway64: Gateway) -> None:
    """Section 3.5.1: five minutes, restarted by packets of both sides (section 4: never below two minutes)."""
    port = out_udp(gateway64)
    gateway64.wait(290)
    only(in_udp(gateway64, port), LAN)
    gateway64.wait(290)
    assert out_udp(gateway64) == port
    gateway64.wait(295)
    assert [one[:2] for one in sessions(gateway64)] == [("udp", "open")]
    gateway64.wait(10)
    assert sessions(gateway64) == [] and gateway64.stats()["nat64_bindings"] == 0
    assert dropped(gateway64, lambda: in_udp(gateway64, port), "no-mapping") == []


def test_35_foreign_destinations(gateway64: Gateway) -> None:
    """Section 3.5: only IPv6 packets to the prefix and IPv4 packets to the pool are translated."""
    native = IPv6(src=SIX, dst="2001:db8:ffff::1") / UDP(sport=1, dport=2)
    error6(dropped(gateway64, lambda: send6(gateway64, native), "no-route"), 1, 0)
    port = out_udp(gateway64)
    assert dropped(gateway64, lambda: in_udp(gateway64, port, dst="198.51.100.9"), "foreign") == []
    assert gateway64.stats()["nat64_sessions_created"] == 1


def test_31_binding_dies_with_its_last_session(start: Start) -> None:
    gateway = start64(start, "nat64.udp-timeout 130\n")
    port = out_udp(gateway)
    gateway.wait(100)
    assert out_udp(gateway, dst=OTHER) == port
    gateway.wait(50)
    assert len(sessions(gateway)) == 1 and gateway.stats()["nat64_bindings"] == 1
    gateway.wait(100)
    assert gateway.stats()["nat64_bindings"] == gateway.stats()["nat64_addresses"] == 0


# --- filtering ----------------------------------------------------------------------------------------


def test_351_address_dependent(gateway64: Gateway) -> None:
    """Any port of a host that was spoken to; nobody else."""
    port = out_udp(gateway64)
    only(in_udp(gateway64, port, 9999), LAN)
    assert dropped(gateway64, lambda: in_udp(gateway64, port, src=OTHER), "filtered") == []


def test_351_endpoint_independent_filtering(start: Start) -> None:
    gateway = start64(start, "nat64.filtering endpoint-independent\n")
    port = out_udp(gateway)
    answer = only(in_udp(gateway, port, 9999, OTHER), LAN).ip6
    assert (answer.src, answer[UDP].sport, answer[UDP].dport) == (six_of(OTHER), 9999, 5000)
    assert len(sessions(gateway)) == 2


def test_351_port_dependent(start: Start) -> None:
    gateway = start64(start, "nat64.filtering address-and-port-dependent\n")
    port = out_udp(gateway)
    only(in_udp(gateway, port, 53), LAN)
    assert dropped(gateway, lambda: in_udp(gateway, port, 54), "filtered") == []


def test_351_no_binding(gateway64: Gateway) -> None:
    assert dropped(gateway64, lambda: in_udp(gateway64, 5000), "no-mapping") == []
    assert dropped(gateway64, lambda: send4(gateway64, to6(dst="198.51.100.9") / UDP()), "foreign") == []


def test_spoofed_external_source(gateway64: Gateway) -> None:
    port = out_udp(gateway64, dst=FAR)
    assert dropped(gateway64, lambda: in_udp(gateway64, port, src=OWN4), "martian-source") == []


# --- static bindings ----------------------------------------------------------------------------------


@pytest.mark.parametrize("proto", ["udp", "tcp", "icmp"])
def test_31_static(start: Start, proto: str) -> None:
    """Section 3.1: static entries in all three tables; they let everybody in and never die."""
    gateway = start64(start, f"nat64.forward {proto} {OWN4}:8080 [{SIX}]:80\n")
    sent = {"udp": lambda: in_udp(gateway, 8080), "tcp": lambda: in_tcp(gateway, 8080, "S", ack=0),
            "icmp": lambda: in_echo(gateway, 8080, reply=False)}[proto]
    packet = only(sent(), LAN).ip6
    assert packet.dst == SIX and packet.src == six_of(FAR)
    inner = packet.payload
    assert (inner.id if proto == "icmp" else inner.dport) == 80
    gateway.wait(400)
    assert gateway.stats()["nat64_bindings"] == 1 and sessions(gateway) == []
    only(sent(), LAN)


def test_static_of_a_second_address(start: Start) -> None:
    gateway = start64(start, "nat64.pool 203.0.113.8-203.0.113.9\n"
                      f"nat64.forward udp 203.0.113.9:53 [{SIX}]:53\nnat64.forward udp 203.0.113.8:53 [{SEVEN}]:53\n")
    assert only(in_udp(gateway, 53, dst="203.0.113.9"), LAN).ip6.dst == SIX
    assert only(in_udp(gateway, 53, dst="203.0.113.8"), LAN).ip6.dst == SEVEN


# --- hairpinning ----------------------------------------------------------------------------------------


def test_38_hairpinning(gateway64: Gateway) -> None:
    """Sections 3.6 and 3.8: both hosts see each other by the external address. The filter is that of any packet from
    there."""
    listener = out_udp(gateway64, 6000, src=SEVEN)
    opener = out_udp(gateway64, 5000)
    first = to4(OWN4) / UDP(sport=5000, dport=listener) / b"hi"
    assert dropped(gateway64, lambda: send6(gateway64, first), "filtered") == []
    answer = only(send6(gateway64, to4(OWN4, SEVEN) / UDP(sport=6000, dport=opener) / b"ho"), LAN).ip6
    assert (answer.src, answer.dst) == (six_of(OWN4), SIX)
    assert (answer[UDP].sport, answer[UDP].dport) == (listener, 5000)
    back = only(send6(gateway64, first), LAN).ip6
    assert (back.src, back.dst, back.hlim) == (six_of(OWN4), SEVEN, 63)
    assert (back[UDP].sport, back[UDP].dport) == (opener, 6000)
    assert len(sessions(gateway64)) == 4 and gateway64.stats()["hairpinned_packets"] == 3


@pytest.mark.parametrize("seed", [1, 2])
def test_38_hairpinning_by_the_pool(start: Start, seed: int) -> None:
    """The external addresses are none of the WAN's own: a packet to one never leaves, a known session's neither."""
    gateway = start64(start, "nat64.pool 203.0.113.8\nnat64.filtering endpoint-independent\n", seed=seed)
    listener = out_udp(gateway, 6000, src=SEVEN)
    for _ in range(3):
        packet = to4("203.0.113.8") / UDP(sport=5000, dport=listener) / b"hi"
        assert only(send6(gateway, packet), LAN).ip6.dst == SEVEN


def test_38_hairpinning_off(start: Start) -> None:
    gateway = start64(start, "nat64.hairpin off\nnat64.pool 203.0.113.8\n")
    packet = to4("203.0.113.8") / UDP(sport=5000, dport=6000)
    assert dropped(gateway, lambda: send6(gateway, packet), "hairpin") == []


def test_own_address_answers_echo(gateway64: Gateway) -> None:
    """The gateway's own IPv4 address answers through the prefix, and what it answers comes back."""
    back = only(out_echo(gateway64, 9, OWN4), LAN).ip6
    assert (back.src, back.dst) == (six_of(OWN4), SIX) and back[ICMPv6EchoReply].id == 9


# --- prefixes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["2001:db8::/32", "2001:db8:100::/40", "2001:db8:122::/48", "2001:db8:122:300::/56",
                                    "2001:db8:122:344::/64", "2001:db8:122:344::/96", "64:ff9b:1::/48"])
def test_354_prefixes(start: Start, prefix: str) -> None:
    """Section 3.5.4 and RFC 6052 section 2.2: every length."""
    base = ("lan.address fd00::1/64\nlan.ra off\nwan.address 198.51.100.1/24\ngateway 198.51.100.2\n"
            "neighbour fd00::a 52:54:00:00:01:0a\nneighbour 198.51.100.2 52:54:00:00:02:01\n")
    gateway = start64(start, f"nat64.prefix {prefix}\n", base=base)
    packet = to4(FAR, "fd00::a", prefix) / UDP(sport=5000, dport=53) / b"x"
    sent = only(send6(gateway, packet, mac="52:54:00:00:01:0a"), WAN).ip
    assert sent.dst == FAR
    back = only(in_udp(gateway, sent[UDP].sport), LAN).ip6
    assert (back.src, back.dst) == (six_of(FAR, prefix), "fd00::a")


@pytest.mark.parametrize("suffix", ["::", "::1", "::ffff:1:2"])
def test_354_suffix(start: Start, suffix: str) -> None:
    """RFC 6052 section 2.2: the suffix is ignored; what the host wrote there counts for its checksum all the same."""
    gateway = start64(start, "nat64.prefix 2001:db8:100::/40\n")
    to = IPv6Address(int(IPv6Address(six_of(FAR, "2001:db8:100::/40"))) | int(IPv6Address(suffix)))
    for _ in range(3):
        sent = only(send6(gateway, IPv6(src=SIX, dst=str(to)) / UDP(sport=5000, dport=53) / b"x"), WAN).ip
        assert sent.dst == FAR and len(sessions(gateway)) == 1
    sent = only(send6(gateway, IPv6(src=SIX, dst=str(to)) / TCP(sport=5000, dport=53, flags="S", seq=1)), WAN).ip
    assert only(in_tcp(gateway, 5000, "SA", ack=2, sport=53), LAN).ip6.src == six_of(FAR, "2001:db8:100::/40")


def test_354_several_prefixes(start: Start) -> None:
    """A host is answered from the prefix that it used last; the binding is the same."""
    second = "2001:db8:64::/96"
    gateway = start64(start, f"nat64.prefix 64:ff9b::/96\nnat64.prefix {second}\n")
    port = out_udp(gateway)
    sent = only(send6(gateway, to4(FAR, SIX, second) / UDP(sport=5000, dport=53) / b"x"), WAN).ip
    assert sent[UDP].sport == port
    assert only(in_udp(gateway, port), LAN).ip6.src == six_of(FAR, second)
    out_udp(gateway)
    assert only(in_udp(gateway, port), LAN).ip6.src == six_of(FAR)


def test_354_wkp_strict(start: Start) -> None:
    """RFC 6052 section 3.1: the well-known prefix is for global addresses only, in both directions."""
    gateway = start64(start, "wkp-strict on\n")
    assert any("64:ff9b::/96: only for global IPv4 addresses" in line for line in gateway.lines("log"))
    for private in ("10.1.2.3", "192.168.1.1", "172.16.5.5", FAR):
        packet = to4(private) / UDP(sport=1, dport=2)
        error6(dropped(gateway, lambda: send6(gateway, packet), "no-map"), 1, 1)  # noqa: B023
    only(send6(gateway, to4("8.8.8.8") / UDP(sport=1, dport=2)), WAN)


# --- errors ------------------------------------------------------------------------------------------


def test_time_exceeded_at_the_translator(gateway64: Gateway) -> None:
    error6(dropped(gateway64, lambda: send6(gateway64, to4(hlim=1) / UDP(sport=1, dport=2)), "ttl"), 3, 0)
    port = out_udp(gateway64)
    packet = to6(ttl=1) / UDP(sport=53, dport=port)
    error4(dropped(gateway64, lambda: send4(gateway64, packet), "ttl"), 11, 0)


def test_no_neighbour_inside(gateway64: Gateway) -> None:
    """The host is gone: the sender outside learns it, from the external address."""
    sent = send6(gateway64, to4(src="2001:db8:1::dead") / UDP(sport=5000, dport=53), mac="52:54:00:00:01:0e")
    port = only([one for one in sent if one.port == WAN], WAN).ip[UDP].sport
    in_udp(gateway64, port)
    late = [one for one in gateway64.wait(5) if one.port == WAN]
    error4(late, 3, 1)


def test_no_neighbour_outside(start: Start) -> None:
    gateway = start64(start)
    packet = to4("198.51.100.77") / UDP(sport=5000, dport=53) / b"x"
    send6(gateway, packet)
    late = [one for one in gateway.wait(5) if one.port == LAN]
    quote = error6(late, 1, 0, src=six_of(OWN4))
    assert IPv6(quote).src == SIX and IPv6(quote).dst == six_of("198.51.100.77")
    assert IPv6(quote)[UDP].sport == 5000
    assert ICMPv6DestUnreach in late[0].ip6
