# SPDX-License-Identifier: BSD-2-Clause
"""6to4 with three inside networks: a /64 of the site on each, IPv6 between them, tunnels from each."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gateway import A, C, D, LAN, LAN2, LAN3, MORE, OUTSIDE, PORT_MAC, SERVER, WAN, Gateway, Host, Sent, only
from net6 import of_kind
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import ICMPv6NDOptPrefixInfo, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from simulator import Refused
from tunnel import _WAN, FAR, FAR6, NEIGHBOURS, RELAY, in_site, inner, ip6, ping6

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
ADVERTISEMENT = 134
PLAIN = "lan.address 192.168.1.1/24\n" + _WAN + NEIGHBOURS + MORE + f"6to4.relay {RELAY}\n"
SUBNET = {LAN: 1, LAN2: 2, LAN3: 3}
BETWEEN = pytest.mark.parametrize("host,peer", [(A, C), (C, A), (C, D), (D, A)])
EACH = pytest.mark.parametrize("host", [A, C, D], ids=["lan", "lan2", "lan3"])


def six(host: Host, number: int = 10) -> str:
    return in_site(OUTSIDE, SUBNET[host.port], number)


def start6to4(start: Start, more: str = "") -> Gateway:
    lines = [f"{host.port}.ra off\n{host.port}.address {six(host, 1)}/64\nneighbour {six(host)} {host.mac}\n"
             for host in (A, C, D)]
    gateway = start(PLAIN + "".join(lines) + more, "6to4")
    gateway.wait(3)
    return gateway


@pytest.fixture
def site(start: Start) -> Gateway:
    return start6to4(start)


def send(gateway: Gateway, host: Host, packet: Packet) -> list[Sent]:
    return gateway.send(host.port, Ether(src=host.mac, dst=PORT_MAC[host.port], type=0x86dd) / packet)


def prefixes(gateway: Gateway, seconds: float = 20) -> dict[str, list[str]]:
    """The prefixes that the gateway advertises on each interface."""
    found: dict[str, set[str]] = {}
    for sent in of_kind(gateway.wait(seconds), ADVERTISEMENT):
        option = sent.frame.getlayer(ICMPv6NDOptPrefixInfo)
        names = found.setdefault(sent.port, set())
        while option:
            names.add(f"{option.prefix}/{option.prefixlen}")
            option = option.payload.getlayer(ICMPv6NDOptPrefixInfo)
    return {port: sorted(names) for port, names in found.items()}


def network(number: int) -> str:
    return in_site(OUTSIDE, number, 0) + "/64"


@pytest.mark.parametrize("first", [1, 7, 0xfffd])
def test_a_network_for_each(start: Start, first: int) -> None:
    """6to4.subnet on lan, the next ones on lan2 and lan3; host number 1 is the gateway."""
    gateway = start(PLAIN + f"6to4.subnet {first}\n", "6to4")
    gateway.note("".join(f"{port}.address {in_site(OUTSIDE, first + n, 1)}/64\n" for n, port in enumerate(SUBNET)))
    assert prefixes(gateway) == {port: [network(first + n)] for n, port in enumerate(SUBNET)}
    listed = {line.split()[0]: line for line in gateway.lines("interfaces")}
    for n, port in enumerate(SUBNET):
        assert in_site(OUTSIDE, first + n, 1) + "/64" in listed[port]
    for stopped in of_kind(gateway.stop(), ADVERTISEMENT):
        assert stopped.frame[IPv6].src.startswith("fe80:")


def test_subnets_beyond_the_last(start: Start) -> None:
    """The site has two /64 left: lan3 gets none, and the log says so."""
    gateway = start(PLAIN + "6to4.subnet 65534\n", "6to4")
    gateway.note("".join(f"{port}.address {in_site(OUTSIDE, 0xfffe + n, 1)}/64\n" for n, port in ((0, LAN), (1, LAN2))))
    assert prefixes(gateway) == {LAN: [network(0xfffe)], LAN2: [network(0xffff)]}
    assert any("no /64 for lan3" in line for line in gateway.lines("log"))


def test_a_site_of_one_network(start: Start) -> None:
    """6rd with a delegated /64: lan has it, the others have IPv4 only; the log says so."""
    gateway = start(PLAIN.replace(f"6to4.relay {RELAY}\n", "") + "6rd.prefix 2001:db8::/32\n6rd.relay 198.51.100.9\n",
                    "6to4")
    gateway.note("lan.address 2001:db8:cb00:7102::1/64\n")
    assert prefixes(gateway) == {LAN: ["2001:db8:cb00:7102::/64"]}
    log = [line for line in gateway.lines("log") if "no /64" in line]
    assert len(log) == 1 and "lan2" in log[0], log
    # IPv4 works on all of them.
    for host in (A, C, D):
        assert only(gateway.ip_from(host, IP(src=host.ip, dst=SERVER) / UDP()), WAN)
    assert gateway.drops() == {}


@EACH
def test_out_and_in(site: Gateway, host: Host) -> None:
    """Also once the flow is known."""
    for _ in range(3):
        out = inner(only(send(site, host, ping6(six(host), FAR6)), WAN))
        assert (out.src, out.dst) == (six(host), FAR6)
        packet = IP(src=FAR, dst=OUTSIDE, proto=41) / ping6(FAR6, six(host))
        back = only(site.wan(packet), host.port)
        assert back.frame.dst == host.mac and IPv6(back.raw[14:]).dst == six(host)
    assert site.drops() == {}


@BETWEEN
def test_between_the_networks(site: Gateway, host: Host, peer: Host) -> None:
    """Plain IPv6 forwarding, without a tunnel."""
    sent = only(send(site, host, ping6(six(host), six(peer), hlim=9)), peer.port)
    got = IPv6(sent.raw[14:])
    assert (sent.frame.dst, got.src, got.dst, got.hlim) == (peer.mac, six(host), six(peer), 8)
    assert site.drops() == {}


@BETWEEN
def test_forged_sources(site: Gateway, host: Host, peer: Host) -> None:
    """A source of another inside network: neither into the tunnel nor to another network, also in a known flow."""
    third = next(one for one in (A, C, D) if one not in (host, peer))
    for _ in range(2):
        assert inner(only(send(site, peer, ping6(six(peer), FAR6)), WAN)).src == six(peer)
    n = 0
    for to in (FAR6, six(third), six(peer), in_site(OUTSIDE, SUBNET[host.port], 1)):
        for source in (six(peer), in_site(OUTSIDE, SUBNET[peer.port], 1), in_site(OUTSIDE, SUBNET[host.port], 1)):
            assert send(site, host, ping6(source, to)) == [], (source, to)
            n += 1
    assert site.drops() == {"martian-source": n}


def test_from_outside_with_our_own_prefix(site: Gateway) -> None:
    """Inner sources of the site come from no other site (RFC 3964)."""
    for host in (A, C, D):
        packet = IP(src=FAR, dst=OUTSIDE, proto=41) / ping6(six(C), six(host))
        assert site.wan(packet) == []
    assert site.stats()["tunnel_in_packets"] == 0


def test_unknown_subnet_of_the_site(site: Gateway) -> None:
    """A packet to a /64 of the site that no network has does not go into the tunnel."""
    told = only(send(site, C, ping6(six(C), in_site(OUTSIDE, 9, 9))), LAN2)
    assert (ip6(Sent(LAN, told.raw, 0)).src, told.raw[54]) == (in_site(OUTSIDE, 2, 1), 1)
    assert site.drops() == {"no-route": 1}


def test_own_address_in_each_network(start: Start) -> None:
    """`lan2.address` in the network chosen for lan2 takes the place of host number 1."""
    gateway = start(PLAIN + f"lan2.address {in_site(OUTSIDE, 2, 0x53)}/64\n", "6to4")
    gateway.note("".join(f"{port}.address {in_site(OUTSIDE, n, 1)}/64\n" for port, n in SUBNET.items()))
    listed = {line.split()[0]: line for line in gateway.lines("interfaces")}
    assert in_site(OUTSIDE, 2, 0x53) in listed[LAN2] and in_site(OUTSIDE, 2, 1) + "/" not in listed[LAN2]
    assert prefixes(gateway)[LAN2] == [network(2)]


def test_own_address_in_the_network_of_another(start: Start) -> None:
    """`lan2.address` in the network that lan gets is refused."""
    with pytest.raises(Refused, match="lies in the network of"):
        start(PLAIN + f"lan2.address {in_site(OUTSIDE, 1, 5)}/64\n", "6to4")


def test_the_nat_beside(site: Gateway) -> None:
    """IPv4 of each network is translated, and replies go to the right one."""
    for host in (A, C, D):
        sent = only(site.ip_from(host, IP(src=host.ip, dst=SERVER) / UDP(sport=9, dport=53)), WAN)
        reply = IP(src=SERVER, dst=OUTSIDE) / UDP(sport=53, dport=sent.ip[UDP].sport)
        assert only(site.wan(reply), host.port).ip.dst == host.ip


def test_listings(site: Gateway) -> None:
    for host in (A, C, D):
        send(site, host, ping6(six(host), FAR6))
    routes = site.lines("routes")
    for port, number in SUBNET.items():
        assert any(line.split()[0] == network(number) and line.split()[-1] == port for line in routes), routes
        assert any(six(host) == line.split()[0] and line.split()[1] == port
                   for line in site.lines("neighbours") for host in (A, C, D) if host.port == port)
