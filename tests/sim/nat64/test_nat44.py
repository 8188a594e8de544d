# SPDX-License-Identifier: BSD-2-Clause
"""NAT44 beside the NAT64: hosts of the LAN that still have IPv4, with the same ports, sessions and limits."""

from __future__ import annotations

import random
import re

import pytest
from gateway import A as HOST4
from gateway import B as HOST4B
from gateway import LAN, PORT_MAC, WAN, Gateway, Sent, only
from pieces import cut
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from simulator import Refused
from six4 import (
    FAR, FOUR, MAC, OTHER, OWN4, SEVEN, SIX, Start, connect, in_udp, out_udp, send4, send6, six_of, start64,
    to4, to6,
)

pytestmark = pytest.mark.virtual

LAN4 = f"lan.address 192.168.1.1/24\nneighbour {HOST4.ip} {HOST4.mac}\nneighbour {HOST4B.ip} {HOST4B.mac}\n"


def begin(start: Start, more: str = "", **options: bool) -> Gateway:
    return start64(start, LAN4 + more, **options)


def lan4(gateway: Gateway, packet: Packet, mac: str = HOST4.mac) -> list[Sent]:
    return gateway.send(LAN, Ether(src=mac, dst=PORT_MAC[LAN], type=0x800) / packet)


def out4(gateway: Gateway, sport: int = 5000, dport: int = 53, dst: str = FAR, src: str = HOST4.ip) -> int:
    """A datagram of an IPv4 host; gives its external port."""
    mac = HOST4.mac if src == HOST4.ip else HOST4B.mac
    sent = only(lan4(gateway, IP(src=src, dst=dst) / UDP(sport=sport, dport=dport) / b"question", mac), WAN)
    assert (sent.ip.src, sent.ip.dst, sent.ip[UDP].dport) == (OWN4, dst, dport)
    return int(sent.ip[UDP].sport)


@pytest.mark.parametrize("slow_path", [False, True])
def test_both_kinds_of_hosts(start: Start, slow_path: bool) -> None:
    """Each host gets its own answers; on the fast path, too, which the second packet takes."""
    gateway = begin(start, **({"slow_path": True} if slow_path else {}))
    for _ in range(3):
        ports = out_udp(gateway, 5000), out4(gateway, 5000)
        assert ports[0] == 5000 and ports[1] != 5000 and ports[1] % 2 == 0
        six = only(in_udp(gateway, ports[0]), LAN).ip6
        four = only(in_udp(gateway, ports[1]), LAN).ip
        assert (six.dst, six[UDP].dport) == (SIX, 5000)
        assert (four.src, four.dst, four[UDP].dport, four[UDP].sport) == (FAR, HOST4.ip, 5000, 53)


def test_what_the_fast_path_of_neither_takes(start: Start) -> None:
    """Datagrams to an IPv6 host that must be split, or that have no checksum, are not the NAT44's."""
    gateway = begin(start)
    out4(gateway, 5000)
    port = out_udp(gateway, 5000)
    for _ in range(2):
        parts = in_udp(gateway, port, load=bytes(1400))
        assert [one.port for one in parts] == [LAN] * 2 and {one.ip6.dst for one in parts} == {SIX}
        bare = only(send4(gateway, to6() / UDP(sport=53, dport=port, chksum=0) / b"x"), LAN).ip6
        assert (bare.dst, bare[UDP].dport) == (SIX, 5000)


def test_listing_and_counters(start: Start) -> None:
    gateway = begin(start)
    out_udp(gateway, 5000)
    port = out4(gateway, 6000)
    six, four = sorted(gateway.lines("sessions"), key=lambda line: "[" not in line)
    assert six.startswith(f"udp [{SIX}]:5000 ")
    assert re.fullmatch(rf"udp {HOST4.ip}:6000 {OWN4}:{port} {FAR}:53 open expires=\d+", four)
    assert gateway.stats()["nat64_sessions"] == 2 and gateway.stats()["nat64_addresses"] == 1


def test_tcp(start: Start) -> None:
    gateway = begin(start)
    six = connect(gateway, 5000)
    syn = only(lan4(gateway, IP(src=HOST4.ip, dst=FAR) / TCP(sport=5000, dport=80, flags="S", seq=1)), WAN)
    port = int(syn.ip[TCP].sport)
    assert port != six
    back = only(send4(gateway, to6() / TCP(sport=80, dport=port, flags="SA", seq=7, ack=2)), LAN)
    assert (back.ip.dst, back.ip[TCP].dport) == (HOST4.ip, 5000)


def test_pings(start: Start) -> None:
    """Both hosts use the same identifier; nobody gets the other's reply."""
    gateway = begin(start)
    six = only(send6(gateway, to4() / ICMPv6EchoRequest(id=7, seq=1)), WAN).ip[ICMP].id
    four = only(lan4(gateway, IP(src=HOST4.ip, dst=FAR) / ICMP(id=7, seq=1)), WAN).ip[ICMP].id
    assert six != four
    reply = only(send4(gateway, to6() / ICMP(type=0, id=four, seq=1)), LAN).ip
    assert (reply.dst, reply[ICMP].id) == (HOST4.ip, 7)
    assert only(send4(gateway, to6() / ICMP(type=0, id=six, seq=1)), LAN).ip6.dst == SIX


@pytest.mark.parametrize("sender", ["outside", "inside"])
def test_request_with_a_used_identifier(start: Start, sender: str) -> None:
    """Echo requests from outside are for the gateway, whichever identifiers are in use."""
    gateway = begin(start)
    ident = only(lan4(gateway, IP(src=HOST4.ip, dst=FAR) / ICMP(id=7, seq=1)), WAN).ip[ICMP].id
    if sender == "outside":
        reply = only(send4(gateway, to6() / ICMP(id=ident, seq=9)), WAN).ip
        assert (reply.src, reply.dst, reply[ICMP].type) == (OWN4, FAR, 0)
    else:
        echo = only(send6(gateway, to4(OWN4) / ICMPv6EchoRequest(id=ident, seq=9)), LAN).ip6
        assert (echo.src, echo.dst) == (six_of(OWN4), SIX)


def test_errors_find_their_host(start: Start) -> None:
    gateway = begin(start)
    out_udp(gateway, 5000)
    sent = only(lan4(gateway, IP(src=HOST4.ip, dst=FAR) / UDP(sport=5000, dport=53) / b"x"), WAN).ip
    error = only(send4(gateway, to6(OTHER) / ICMP(type=3, code=3) / Raw(bytes(sent))), LAN)
    assert (error.ip.src, error.ip.dst) == (OTHER, HOST4.ip)
    quoted = IP(error.quote)
    assert (quoted.src, quoted[UDP].sport) == (HOST4.ip, 5000)
    six = only(send6(gateway, to4() / UDP(sport=5000, dport=53) / b"x"), WAN).ip
    error = only(send4(gateway, to6(OTHER) / ICMP(type=3, code=3) / Raw(bytes(six))), LAN)
    assert error.ip6.dst == SIX


def test_error_of_our_own(start: Start) -> None:
    """The hop limit ends at the gateway."""
    gateway = begin(start)
    error = only(lan4(gateway, IP(src=HOST4.ip, dst=FAR, ttl=1) / UDP(sport=1, dport=2)), LAN).ip
    assert (error.src, error.dst, error[ICMP].type) == ("192.168.1.1", HOST4.ip, 11)


def test_router_does_not_answer(start: Start) -> None:
    """The host is told, by an error that goes back through the NAT."""
    gateway = start64(start, LAN4, base="\n".join(
        line for line in [
            "lan.address 2001:db8:1::1/64", "lan.ra off", f"wan.address {OWN4}/24", f"gateway {FOUR}",
            "nat64.sessions 256", "wkp-strict off", f"neighbour {SIX} {MAC[SIX]}"]))
    asked = lan4(gateway, IP(src=HOST4.ip, dst=FAR) / UDP(sport=1, dport=2))
    assert asked and all(one.port == WAN for one in asked)
    errors = [one for one in gateway.wait(6) if one.port == LAN and one.raw[12:14] == b"\x08\x00"]
    assert errors and (errors[0].ip.dst, errors[0].ip[ICMP].type, errors[0].ip[ICMP].code) == (HOST4.ip, 3, 1)
    assert IP(errors[0].quote).src == HOST4.ip
    send6(gateway, to4() / UDP(sport=1, dport=2))
    errors = [one for one in gateway.wait(6) if one.port == LAN and one.raw[12:14] == b"\x86\xdd"
              and one.raw[20] == 58 and one.raw[54] == 1]
    assert errors and errors[0].ip6.dst == SIX


def test_host_does_not_answer(start: Start) -> None:
    """An inside host that is gone: the remote host is told."""
    gateway = begin(start)
    lan4(gateway, IP(src="192.168.1.77", dst=FAR) / UDP(sport=5000, dport=53))
    (line,) = gateway.lines("sessions")
    assert line.startswith("udp 192.168.1.77:5000 ")
    sent = in_udp(gateway, 5000)
    errors = [one for one in sent + gateway.wait(6) if one.port == WAN and one.raw[23] == 1]
    assert errors and (errors[0].ip.src, errors[0].ip.dst, errors[0].ip[ICMP].type) == (OWN4, FAR, 3)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_fragments(start: Start, order: tuple[int, ...]) -> None:
    """Only the first fragment has the port; the others follow it, in any order."""
    gateway = begin(start)
    port = out4(gateway)
    whole = IP(src=FAR, dst=OWN4, id=99) / UDP(sport=53, dport=port) / (bytes(range(200)) * 10)
    parts = cut(whole, 800)
    assert len(parts) == 3
    sent: list[Sent] = []
    for at in order:
        sent += send4(gateway, parts[at])
    assert [one.port for one in sent] == [LAN] * 3
    assert {one.ip.dst for one in sent} == {HOST4.ip} and len({one.ip.id for one in sent}) == 1
    assert {one.ip.frag for one in sent} == {part.frag for part in parts}
    first = next(one for one in sent if one.ip.frag == 0)
    assert first.ip[UDP].dport == 5000
    out = [only(lan4(gateway, part), WAN) for part in cut(
        IP(src=HOST4.ip, dst=FAR, id=5) / UDP(sport=5000, dport=53) / bytes(2000), 800)]
    assert {one.ip.src for one in out} == {OWN4}


def test_protocols_without_ports(start: Start) -> None:
    """GRE of an IPv4 host passes; one that nobody inside sent is refused as without a NAT44, in fragments too."""
    gateway = begin(start)
    assert only(lan4(gateway, IP(src=HOST4.ip, dst=FAR, proto=47) / Raw(bytes(8))), WAN).ip.src == OWN4
    assert only(send4(gateway, IP(src=FAR, dst=OWN4, proto=47) / Raw(bytes(8))), LAN).ip.dst == HOST4.ip
    error = only(send4(gateway, IP(src=OTHER, dst=OWN4, proto=47) / Raw(bytes(8))), WAN).ip
    assert (error.dst, error[ICMP].type, error[ICMP].code) == (OTHER, 3, 2)
    for host, way in ((FAR, LAN), (OTHER, WAN)):
        parts = cut(IP(src=host, dst=OWN4, id=3, proto=47) / Raw(bytes(1600)), 800)
        sent = [one for part in parts for one in send4(gateway, part)]
        assert {one.port for one in sent} == {way}


@pytest.mark.parametrize("outer", ["six", "four"])
@pytest.mark.parametrize("inner", ["six", "four"])
def test_hairpinning(start: Start, outer: str, inner: str) -> None:
    """Hosts of either version reach those of either version by the external address."""
    gateway = begin(start, "nat64.filtering endpoint-independent\n")
    target = out_udp(gateway, 7000, src=SEVEN) if inner == "six" else out4(gateway, 7000, src=HOST4B.ip)
    if outer == "six":
        sent = only(send6(gateway, to4(OWN4) / UDP(sport=5000, dport=target) / b"hello"), LAN)
    else:
        sent = only(lan4(gateway, IP(src=HOST4.ip, dst=OWN4) / UDP(sport=5000, dport=target) / b"hello"), LAN)
    if inner == "six":
        assert (sent.ip6.dst, sent.ip6.src, sent.ip6[UDP].dport) == (SEVEN, six_of(OWN4), 7000)
        seen = sent.ip6[UDP].sport
        back = only(send6(gateway, to4(OWN4, SEVEN) / UDP(sport=7000, dport=seen) / b"you"), LAN)
    else:
        assert (sent.ip.dst, sent.ip.src, sent.ip[UDP].dport) == (HOST4B.ip, OWN4, 7000)
        seen = sent.ip[UDP].sport
        back = only(lan4(gateway, IP(src=HOST4B.ip, dst=OWN4) / UDP(sport=7000, dport=seen) / b"you", HOST4B.mac), LAN)
    packet = back.ip6 if outer == "six" else back.ip
    assert packet.dst == (SIX if outer == "six" else HOST4.ip) and packet[UDP].dport == 5000


def test_host_limit_counts_each_host(start: Start) -> None:
    gateway = begin(start, "nat64.host-limit 2\n")
    for port in (5000, 5001):
        out4(gateway, port)
        out_udp(gateway, port)
    error = only(lan4(gateway, IP(src=HOST4.ip, dst=FAR) / UDP(sport=5002, dport=53)), LAN).ip
    assert (error[ICMP].type, error[ICMP].code) == (3, 13)
    assert gateway.drops() == {"host-limit": 1}


def test_an_established_connection_runs_out(start: Start) -> None:
    """No probe goes to an IPv4 host: its session has no IPv6 addresses."""
    gateway = begin(start, "nat64.tcp-timeout 20\nnat64.tcp-transitory-timeout 5\n")
    syn = only(lan4(gateway, IP(src=HOST4.ip, dst=FAR) / TCP(sport=5000, dport=80, flags="S", seq=1)), WAN)
    port = int(syn.ip[TCP].sport)
    only(send4(gateway, to6() / TCP(sport=80, dport=port, flags="SA", seq=7, ack=2)), LAN)
    only(lan4(gateway, IP(src=HOST4.ip, dst=FAR) / TCP(sport=5000, dport=80, flags="A", seq=2, ack=8)), WAN)
    assert gateway.wait(40) == []
    assert gateway.lines("sessions") == [] and gateway.stats()["nat64_probes"] == 0


# --- when it is on ------------------------------------------------------------------------------------


def test_off(start: Start) -> None:
    gateway = begin(start, "nat64.nat off\n")
    assert lan4(gateway, IP(src=HOST4.ip, dst=FAR) / UDP(sport=1, dport=2)) == []
    assert gateway.drops() == {"foreign": 1}
    out_udp(gateway)


def test_on_needs_an_address(start: Start) -> None:
    with pytest.raises(Refused, match="lan.address: an IPv4 address is required by nat64.nat"):
        start64(start, "nat64.nat on\n")


@pytest.mark.parametrize("more", ["", "nat64.nat on\n"])
def test_the_address_comes_and_goes(start: Start, more: str) -> None:
    """Sessions of IPv4 hosts stay theirs while the LAN has no IPv4 address."""
    gateway = begin(start, more)
    port = out4(gateway)
    gateway.change("address del lan 192.168.1.1")
    assert in_udp(gateway, port) == []
    assert lan4(gateway, IP(src=HOST4.ip, dst=FAR) / UDP(sport=1, dport=2)) == []
    assert gateway.drops() == {"no-route": 1, "foreign": 1}
    assert out_udp(gateway, 5000) != port
    assert any(line.endswith("lan.address: an IPv4 address is required by nat64.nat")
               for line in gateway.lines("log")) == (more != "")
    gateway.change("address add lan 192.168.1.1/24")
    gateway.wait(1)
    assert out4(gateway) == port
    assert only(in_udp(gateway, port), LAN).ip.dst == HOST4.ip


# --- properties ---------------------------------------------------------------------------------------


def ports_held(gateway: Gateway) -> set[int]:
    """The external ports of all sessions, of both kinds of hosts."""
    words = [line.split() for line in gateway.lines("sessions")]
    return {int(line[3 if line[1].startswith("[") else 2].rsplit(":", 1)[1]) for line in words}


@pytest.mark.parametrize("seed", range(6))
def test_no_external_port_has_two_owners(start: Start, seed: int) -> None:
    """Hosts of both versions open sessions from few ports to few servers, while others end: an external port belongs to
    one inside endpoint of one version, its answers reach that, and the tables are whole (`check` at the end)."""
    rng = random.Random(seed)
    gateway = begin(start, ("nat64.filtering endpoint-independent\n" if seed % 2 else "nat64.sessions 32\n") +
                    "nat64.udp-timeout 3\n")
    hosts = [SIX, SEVEN, HOST4.ip, HOST4B.ip]
    owner: dict[int, tuple[str, int]] = {}
    for _ in range(150):
        if rng.random() < 0.1:
            gateway.wait(rng.choice((1, 4)))
        held = ports_held(gateway)
        owner = {port: whose for port, whose in owner.items() if port in held}
        assert len(held) == len(owner)
        whose = host, sport = rng.choice(hosts), rng.choice((700, 5000, 5001, 5002, 60000))
        server = rng.choice((FAR, OTHER))
        opens = out_udp if ":" in host else out4
        port = opens(gateway, sport, dst=server, src=host)
        assert owner.get(port, whose) == whose
        assert port in owner or whose not in owner.values()
        owner[port] = whose
        back = only(in_udp(gateway, port, src=server), LAN)
        packet = back.ip6 if ":" in host else back.ip
        assert (packet.dst, packet[UDP].dport) == whose


def test_numbers_of_inside_hosts_are_no_addresses(start: Start) -> None:
    """An IPv4 host that sends from 240.0.0.0/4, where IPv6 hosts have their numbers, gets nobody's session."""
    gateway = begin(start)
    out_udp(gateway, 5000)
    for _ in range(2):
        for host in range(4):
            forged = IP(src=f"240.0.0.{host}", dst=FAR) / UDP(sport=5000, dport=53)
            assert lan4(gateway, forged) == []
            assert lan4(gateway, IP(src=f"240.{host}.0.0", dst=FAR) / UDP(sport=5000, dport=53)) == []
    assert gateway.drops() == {"martian-source": 16}


def test_source_routes_are_refused(start: Start) -> None:
    gateway = begin(start)
    route = b"\x83\x07\x04\xcb\x00\x71\x05\x00"
    assert lan4(gateway, IP(src=HOST4.ip, dst=FAR, options=[route]) / UDP(sport=1, dport=2)) == []
    assert gateway.drops() == {"source-route": 1}


# --- static bindings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("proto", [UDP, TCP])
def test_a_static_binding_of_an_ipv4_host(start: Start, proto: type[Packet]) -> None:
    """Everybody outside reaches it, and its answers leave by the same endpoint; another host keeps clear of it."""
    name = proto.__name__.lower()
    gateway = begin(start, f"nat64.forward {name} {OWN4}:80 {HOST4.ip}:8080\n"
                           f"nat64.forward {name} {OWN4}:81 [{SIX}]:8080\n")
    for far in (FAR, OTHER):
        got = only(send4(gateway, IP(src=far, dst=OWN4) / proto(sport=99, dport=80)), LAN).ip
        assert (got.src, got.dst, got[proto].sport, got[proto].dport) == (far, HOST4.ip, 99, 8080)
        back = only(lan4(gateway, IP(src=HOST4.ip, dst=far) / proto(sport=8080, dport=99)), WAN).ip
        assert (back.src, back.dst, back[proto].sport, back[proto].dport) == (OWN4, far, 80, 99)
    got6 = only(send4(gateway, to6() / proto(sport=99, dport=81)), LAN).ip6
    assert (got6.dst, got6[proto].dport) == (SIX, 8080)
    gateway.wait(8000)
    assert gateway.lines("sessions") == [] and gateway.stats()["nat64_bindings"] == 2
    only(send4(gateway, to6() / proto(sport=98, dport=80)), LAN)
    if proto is UDP:
        assert out4(gateway, 80, src=HOST4B.ip) != 80


def test_a_static_binding_of_ipv4_by_hairpin(start: Start) -> None:
    """An IPv6 host of the LAN reaches it by the outer address."""
    gateway = begin(start, f"nat64.forward udp {OWN4}:80 {HOST4.ip}:8080\n")
    got = only(send6(gateway, to4(OWN4) / UDP(sport=5000, dport=80) / b"x"), LAN).ip
    assert (got.src, got.dst, got[UDP].dport) == (OWN4, HOST4.ip, 8080)


@pytest.mark.parametrize(("lines", "wrong"), [
    (f"{LAN4}nat64.nat off\nnat64.forward udp {OWN4}:80 {HOST4.ip}:8080\n", "an inside IPv4 address needs nat64.nat"),
    (f"nat64.forward udp {OWN4}:80 {HOST4.ip}:8080\n", "an inside IPv4 address needs nat64.nat"),
    (f"{LAN4}nat64.forward udp {OWN4}:80 192.168.1.1:8080\n", "is not on the LAN side, or no host's"),
    (f"{LAN4}nat64.forward udp {OWN4}:80 192.168.1.255:8080\n", "is not on the LAN side, or no host's"),
    (f"{LAN4}nat64.forward udp {OWN4}:80 {FAR}:8080\n", "is not on the LAN side, or no host's"),
    (f"{LAN4}nat64.forward udp {OWN4}:80 {HOST4.ip}:1\nnat64.forward udp {OWN4}:80 [{SIX}]:1\n", "is given twice")])
def test_static_bindings_that_cannot_be(start: Start, lines: str, wrong: str) -> None:
    with pytest.raises(Refused, match=re.escape(wrong)):
        start64(start, lines)
