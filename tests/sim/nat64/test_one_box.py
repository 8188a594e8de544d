# SPDX-License-Identifier: BSD-2-Clause
"""One box on a LAN: the NAT64 with a DNS64 server, native IPv6 beside it behind the filter, and what it advertises."""

from __future__ import annotations

from typing import Any

import dns.rcode
import leases
import pytest
from gateway import ADDRESSES, LAN, NEIGHBOURS, PORT_MAC, WAN, Gateway, Sent, only
from leases import Server
from net6 import A6, FAR6, NEIGHBOURS6, ROUTER6, of_kind, send
from resolver import UPSTREAM, Resolver, Zone, addresses, rr, ttls
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6ND_RA, ICMPv6NDOptPREF64, ICMPv6NDOptRDNSS, IPv6,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from simulator import Refused
from six4 import CONFIG, FAR, OWN4, OWN6, SIX, Start, out_udp, send4, send6, six_of, start64, to4, to6
from uplink import R1, answering, default_router, hear, prefix, route

pytestmark = pytest.mark.virtual

NAMES = (rr("four.example.", 300, "A", "198.51.100.77"), rr("dual.example.", 300, "A", "198.51.100.78"),
         rr("dual.example.", 300, "AAAA", "2001:db8:f::7"), rr("six.example.", 300, "AAAA", "2001:db8:f::8"))
NATIVE, MADE = ["2001:db8:f::7"], [six_of("198.51.100.78")]
BOX = (ADDRESSES + NEIGHBOURS + "lan.address 2001:db8:1::1/64\nlan.ra off\nwkp-strict off\nnat64.sessions 256\n"
       f"nameserver {UPSTREAM}\nserve dns64\n")
AUTO = BOX + "wan.address auto\nneighbour 2001:db8:1::10 52:54:00:00:01:0a\n"
NATIVE6 = f"wan.address 2001:db8:2::2/64\ngateway {ROUTER6.ip}\n" + NEIGHBOURS6


def box(start: Start, more: str = "", config: str = BOX, **options: Any) -> Resolver:
    resolver = Resolver(start, Zone(*NAMES), config, more, app="nat64", **options)
    resolver.gateway.sources[WAN] = None  # native IPv6 leaves with the sources of inside hosts
    return resolver


def router(gateway: Gateway, lifetime: int = 1800) -> list[Sent]:
    """The WAN's router advertises itself and answers."""
    sent = hear(gateway, prefix(valid=7200 if lifetime else 0, preferred=7200 if lifetime else 0), lifetime=lifetime)
    return sent + answering(gateway, 3, R1)


# --- DNS64 follows the translator -------------------------------------------------------------------------------------


@pytest.mark.parametrize("net", ["64:ff9b::/96", "2001:db8:64::/96", "2001:db8:4:4400::/56"])
def test_prefix_is_taken_over(start: Start, net: str) -> None:
    resolver = box(start, f"nat64.prefix {net}\n")
    assert resolver.addresses("four.example.") == [six_of("198.51.100.77", net)]
    known = [six_of("192.0.0.170", net), six_of("192.0.0.171", net)]
    assert sorted(resolver.addresses("ipv4only.arpa.")) == sorted(known)


def test_what_was_made_is_translated(start: Start) -> None:
    resolver = box(start, "neighbour 2001:db8:1::a 52:54:00:00:01:0a\n")
    (made,) = resolver.addresses("four.example.")
    sent = only(send(resolver.gateway, A6, IPv6(src="2001:db8:1::a", dst=made) / UDP(sport=50, dport=443) / b"x"), WAN)
    assert (sent.ip.src, sent.ip.dst) == ("203.0.113.2", "198.51.100.77")


@pytest.mark.parametrize(("config", "found"), [
    (BOX, MADE),                                         # no way out for IPv6
    (BOX + NATIVE6, NATIVE),
    (BOX + "dns64.always off\n", NATIVE),
    (BOX + NATIVE6 + "dns64.always on\n", MADE),
    (BOX + NATIVE6 + "dns64.always auto\n", NATIVE),
])
def test_names_with_both_kinds_of_records(start: Start, config: str, found: list[str]) -> None:
    resolver = box(start, config=config)
    for _ in range(4):
        assert resolver.addresses("dual.example.") == found
    assert resolver.addresses("six.example.") == ["2001:db8:f::8"]
    assert resolver.addresses("four.example.") == [six_of("198.51.100.77")]


@pytest.mark.parametrize("client", ["four", "six"])
def test_always_follows_the_route(start: Start, client: str) -> None:
    """What is in the cache serves both ways: nothing is asked again, and no answer of the other way is given. The
    answers become ready ones (dns64_ready.h) between the changes."""
    resolver = box(start, config=AUTO)
    how: dict[str, Any] = {"client": A6} if client == "six" else {}
    for way_out in (False, True, False, True):
        if way_out or default_router(resolver.gateway):
            router(resolver.gateway, 1800 if way_out else 0)
        assert (default_router(resolver.gateway) == R1.local) == way_out
        for _ in range(6):
            assert resolver.addresses("dual.example.", **how) == (NATIVE if way_out else MADE)
            assert resolver.addresses("four.example.", **how) == [six_of("198.51.100.77")]
    assert sorted(resolver.zone.types_asked()) == ["A", "A", "AAAA", "AAAA"]
    said = [line for line in resolver.gateway.lines("log") if "AAAA records are made" in line]
    assert [("all names" in line) for line in said] == [True, False, True, False]


def test_the_rest_of_a_ttl_is_that_of_the_records(start: Start) -> None:
    resolver = box(start, config=AUTO)
    first = resolver.ask("dual.example.")
    resolver.wait(100)
    router(resolver.gateway)
    then = resolver.ask("dual.example.")
    assert addresses(first) == MADE and addresses(then) == NATIVE
    assert ttls(first) == [300] and 190 <= ttls(then)[0] <= 200


@pytest.mark.parametrize(("inside", "found"), [("fd00:1::1", MADE), ("2001:db8:1::1", NATIVE)])
def test_always_where_no_answer_comes_back(start: Start, inside: str, found: list[str]) -> None:
    """Hosts with addresses of RFC 4193 alone get no answers from outside, whatever route there is."""
    resolver = box(start, config=AUTO.replace("2001:db8:1::1", inside).replace("neighbour 2001:db8:1::10", "#"))
    router(resolver.gateway)
    assert default_router(resolver.gateway) == R1.local
    assert resolver.addresses("dual.example.") == found


# --- our own packets --------------------------------------------------------------------------------------------------


def test_a_server_under_the_prefix_is_refused(start: Start) -> None:
    with pytest.raises(Refused, match="nameserver: one lies under nat64.prefix"):
        start(BOX + f"nameserver {six_of('198.51.100.9')}\n", "nat64")


def test_own_queries_are_not_translated(start: Start) -> None:
    """A router names a server under our prefix: it gets no query by way of the NAT64."""
    resolver = box(start, config=BOX.replace(f"nameserver {UPSTREAM}\n", "nameserver default\nwan.address auto\n"))
    hear(resolver.gateway, prefix(), ICMPv6NDOptRDNSS(dns=[six_of("198.51.100.9")], lifetime=600))
    answering(resolver.gateway, 3, R1)
    assert resolver.gateway.stats()["dns_upstream_up"] == 0
    assert "is not asked: it is translated here" in "\n".join(resolver.gateway.lines("log"))
    assert resolver.ask("four.example.", wait=12).rcode() == dns.rcode.SERVFAIL
    assert resolver.gateway.stats()["nat64_sessions_created"] == 0
    assert not [one for one in resolver.net.other if one.port == WAN and one.raw[12:14] == b"\x08\x00"]


@pytest.mark.parametrize("target", [OWN4, "192.168.1.1", "192.0.2.8", "192.0.2.9"])
def test_our_own_addresses_answer_through_the_prefix(start: Start, target: str) -> None:
    """The WAN's, the LAN's, and those of a pool that no interface has (checklist: the box answers as a host)."""
    gateway = start64(start, "lan.address 192.168.1.1/24\nnat64.pool 198.51.100.1\nnat64.pool 192.0.2.8-192.0.2.9\n")
    reply = only(send6(gateway, to4(target) / ICMPv6EchoRequest(id=5, seq=6, data=b"hello")), LAN).ip6
    assert (reply.src, reply.dst) == (six_of(target), SIX)
    assert (reply[ICMPv6EchoReply].id, reply[ICMPv6EchoReply].seq, reply[ICMPv6EchoReply].data) == (5, 6, b"hello")
    assert gateway.drops() == {}


def test_pool_addresses_are_silent_outside(start: Start) -> None:
    gateway = start64(start, "nat64.pool 192.0.2.8-192.0.2.9\n")
    assert send4(gateway, to6(FAR, "192.0.2.8") / ICMP(id=5, seq=6)) == []
    assert gateway.drops() == {"no-mapping": 1}


# --- the prefix does not leave ----------------------------------------------------------------------------------------


def test_the_prefix_is_ours(start: Start) -> None:
    """A longer route under the prefix leads nowhere, and nobody outside is translated."""
    gateway = start64(start, NATIVE6.replace(NEIGHBOURS6, f"neighbour {ROUTER6.ip} {ROUTER6.mac}\n") +
                      f"route 64:ff9b::cb00:7100/120 via {ROUTER6.ip}\n")
    gateway.sources[WAN] = None
    assert of_kind(send6(gateway, to4(FAR) / UDP(sport=1, dport=2)), 1, LAN)
    for dst in (six_of("198.51.100.77"), six_of(FAR)):
        assert send(gateway, ROUTER6, IPv6(src=FAR6, dst=dst) / UDP(sport=1, dport=2)) == []
    assert send(gateway, ROUTER6, IPv6(src=six_of("198.51.100.77"), dst=SIX) / UDP(sport=1, dport=2)) == []
    assert gateway.drops() == {"no-route": 1, "foreign": 2, "martian-source": 1}
    assert gateway.stats()["nat64_sessions_created"] == 0


def test_a_router_does_not_take_the_prefix(start: Start) -> None:
    """A provider that has a NAT64 of its own advertises a route for it: ours is not switched off."""
    resolver = box(start, config=AUTO)
    hear(resolver.gateway, route("64:ff9b::", 96), route("64:ff9b::c633:6400", 120), prefix("64:ff9b::", 96, auto=0))
    answering(resolver.gateway, 3, R1)
    assert [line for line in resolver.gateway.lines("routes") if "64:ff9b::" in line and "wan" in line] == []
    assert "it is translated or tunnelled here" in "\n".join(resolver.gateway.lines("log"))
    made = resolver.addresses("four.example.")[0]
    sent = only(send(resolver.gateway, A6, IPv6(src="2001:db8:1::10", dst=made) / UDP(sport=50, dport=443)), WAN)
    assert (sent.ip.src, sent.ip.dst) == ("203.0.113.2", "198.51.100.77")


# --- native IPv6 beside it --------------------------------------------------------------------------------------------


def native(start: Start, more: str = "") -> Gateway:
    gateway = start64(start, NATIVE6.replace(NEIGHBOURS6, f"neighbour {ROUTER6.ip} {ROUTER6.mac}\n") + more)
    gateway.sources[WAN] = None
    return gateway


def out(gateway: Gateway, upper: Packet) -> list[Sent]:
    return send6(gateway, IPv6(src=SIX, dst=FAR6) / upper)


def back(gateway: Gateway, upper: Packet) -> list[Sent]:
    return send(gateway, ROUTER6, IPv6(src=FAR6, dst=SIX) / upper)


def test_native_ipv6_is_routed_through_the_filter(start: Start) -> None:
    gateway = native(start)
    there, here = TCP(sport=5, dport=6, flags="S"), TCP(sport=6, dport=5, flags="SA")
    assert back(gateway, here) == [] and gateway.drops() == {"unsolicited": 1}
    assert only(out(gateway, there), WAN).ip6.src == SIX
    assert only(back(gateway, here), LAN).ip6.dst == SIX
    asked = only(out(gateway, UDP(sport=7, dport=8)), WAN).ip6
    assert only(back(gateway, ICMPv6DestUnreach(code=4) / asked), LAN)
    assert only(back(gateway, ICMPv6EchoRequest(id=9)), LAN)
    out_udp(gateway)  # and translation beside it
    assert sorted(line.split()[0] for line in gateway.lines("sessions")) == ["icmp6", "tcp", "udp", "udp"]
    assert gateway.stats()["filter6_sessions"] == 3 and gateway.stats()["nat64_sessions"] == 1


def test_forward6_and_filter_off(start: Start) -> None:
    gateway = native(start, f"forward6 tcp [{SIX}]:80\n")
    assert only(back(gateway, TCP(sport=6, dport=80, flags="S")), LAN)
    assert back(gateway, TCP(sport=6, dport=81, flags="S")) == []
    gateway = native(start, "lan.filter off\n")
    assert only(back(gateway, TCP(sport=6, dport=81, flags="S")), LAN)


def test_translated_packets_do_not_meet_the_filter(start: Start) -> None:
    gateway = native(start, f"nat64.forward udp {OWN4}:53 [{SIX}]:53\n")
    assert only(send4(gateway, to6() / UDP(sport=6, dport=53) / b"x"), LAN).ip6.dst == SIX
    assert gateway.stats()["filter6_sessions_created"] == 0


def test_autoconfigured(start: Start) -> None:
    """`wan.address auto` beside an IPv4 address; the LAN's own prefix is routed."""
    resolver = box(start, config=AUTO)
    gateway = resolver.gateway
    assert of_kind(send(gateway, A6, IPv6(src=A6.ip, dst=FAR6) / UDP(sport=1, dport=2)), 1, LAN)
    router(gateway)
    assert only(send(gateway, A6, IPv6(src=A6.ip, dst=FAR6) / UDP(sport=1, dport=2)), WAN).ip6.src == A6.ip


# --- advertisements ---------------------------------------------------------------------------------------------------


def advertised(sent: list[Sent]) -> list[tuple[int, dict[str, int], list[str]]]:
    """Of each advertisement on the LAN: its lifetime, PREF64 with lifetimes, DNS servers."""
    found = []
    for one in of_kind(sent, 134, LAN):
        packet = one.frame[ICMPv6ND_RA]
        prefixes = {str(packet[ICMPv6NDOptPREF64].prefix): packet[ICMPv6NDOptPREF64].scaledlifetime * 8
                    } if ICMPv6NDOptPREF64 in packet else {}
        servers = list(packet[ICMPv6NDOptRDNSS].dns) if ICMPv6NDOptRDNSS in packet else []
        found.append((int(packet.routerlifetime), prefixes, servers))
    return found


@pytest.mark.parametrize(("more", "servers"), [("", []), ("serve dns64\nnameserver 203.0.113.53\n", [OWN6])])
def test_pref64_and_dns_server(start: Start, more: str, servers: list[str]) -> None:
    """RFC 8781 section 4.1: three times MaxRtrAdvInterval; by default, with a name server or without."""
    gateway = start(CONFIG.replace("lan.ra off\n", "") + more, "nat64")
    said = advertised(gateway.wait(20))
    assert said and all(one == (1800, {"64:ff9b::": 1800}, servers) for one in said)


def test_pref64_ends_with_the_address_of_the_wan(start: Start) -> None:
    """Lifetime 0, and no default router, while there is no IPv4 outside; then all is back."""
    gateway = start(CONFIG.replace("lan.ra off\n", "") + "serve dns64\nnameserver 203.0.113.53\n", "nat64")
    gateway.wait(20)
    gone = advertised(gateway.change(f"address del wan {OWN4}") + gateway.wait(8))
    assert gone and gone[-1] == (0, {"64:ff9b::": 0}, [OWN6])
    again = advertised(gateway.change(f"address add wan {OWN4}/24") + gateway.wait(8))
    assert again and again[-1] == (1800, {"64:ff9b::": 1800}, [OWN6])


def test_pref64_of_the_configuration_stays(start: Start) -> None:
    gateway = start(CONFIG.replace("lan.ra off\n", "") + "lan.pref64 2001:db8:99::/96\n", "nat64")
    gateway.wait(20)
    said = advertised(gateway.change(f"address del wan {OWN4}") + gateway.wait(8))
    assert said and said[-1][1] == {"2001:db8:99::": 1800}


def test_native_ipv6_keeps_the_default_router(start: Start) -> None:
    """Without IPv4 outside, but with a default route for IPv6."""
    resolver = box(start, config=AUTO.replace("lan.ra off\n", ""))
    router(resolver.gateway)
    sent = resolver.gateway.change("address del wan 203.0.113.2") + answering(resolver.gateway, 8, R1)
    last = advertised(sent)[-1]
    assert (last[0], last[1]) == (1800, {"64:ff9b::": 0})


def test_dual_stack_client_of_the_name_server(start: Start) -> None:
    """Hosts of the LAN that have IPv4 ask by it, and pass the NAT44."""
    resolver = box(start)
    assert resolver.addresses("four.example.") == [six_of("198.51.100.77")]
    left = only(resolver.gateway.lan(IP(src="192.168.1.10", dst="198.51.100.7") / UDP(sport=5, dport=6)), WAN).ip
    assert left.src == "203.0.113.2"


def test_a_static_binding_of_the_lease(start: Start) -> None:
    """0.0.0.0 stands for the WAN's own address, before the lease and with the next one."""
    host, mac = "2001:db8:1::10", "52:54:00:00:01:0a"
    config = ("lan.address 2001:db8:1::1/64\nlan.ra off\nwan.address dhcp\nwan.dhcp-probe off\nwkp-strict off\n"
              f"neighbour {host} {mac}\nnat64.sessions 64\nnat64.forward tcp 0.0.0.0:80 [{host}]:8080\n")
    server = Server(lease=60)
    uplink = leases.begin(start, server, config=config, app="nat64", seconds=4)

    def arrives(to: str) -> bool:
        syn = IP(src="198.51.100.7", dst=to) / TCP(sport=9, dport=80, flags="S")
        sent = uplink.gateway.send(WAN, Ether(src=leases.ROUTER_MAC, dst=PORT_MAC[WAN]) / syn)
        return any(one.port == LAN and TCP in one.frame and one.frame[TCP].dport == 8080 for one in sent)

    assert arrives(leases.MINE)
    server.gives = leases.OTHER
    uplink.run(70, 0.5)
    assert arrives(leases.OTHER) and not arrives(leases.MINE)
