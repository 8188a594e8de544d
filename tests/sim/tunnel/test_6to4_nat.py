# SPDX-License-Identifier: BSD-2-Clause
"""6to4 and IPv4: with the NAT in the same gateway on the same address (RFC 3056 section 5.8), without one, and behind
another gateway that is a NAT."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from gateway import A, LAN, OUTSIDE, PORT_MAC, ROUTER, SERVER, WAN, Gateway, Host, Sent, only
from pieces import cut, groups, join
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw
from simulator import Simulator
from traffic import KINDS, icmp_kind, open_out, outer
from traffic import answer as answered
from tunnel import (
    BEHIND,
    COLOCATED,
    DECOUPLED,
    FAR,
    FAR6,
    FAR26,
    HOST6,
    IP6,
    NATIVE6,
    OWN6,
    PRIVATE,
    PRIVATE_ROUTER,
    RELAY,
    Tunnel,
    inner,
    ip6,
    ping6,
    sized,
    told,
)

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
HOP = "192.0.2.99"


@pytest.fixture
def colocated(start: Start) -> Tunnel:
    return Tunnel(start(COLOCATED, "6to4"))


# --- one gateway, one address ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_nat_beside_the_tunnel(colocated: Tunnel, kind: str) -> None:
    """An IPv4 session and the tunnel with the same remote address do not disturb each other."""
    gateway = colocated.gateway
    number = open_out(gateway, kind, to=FAR)
    only(colocated.out(ping6()), WAN)
    back = only(answered(gateway, kind, number, source=FAR), LAN)
    assert back.ip.dst == A.ip
    assert ip6(only(colocated.into(ping6(FAR6, HOST6)), LAN)).dst == HOST6
    stats = gateway.stats()
    assert (stats["nat_sessions"], stats["tunnel_out_packets"], stats["tunnel_in_packets"]) == (1, 1, 1)
    assert gateway.lines("sessions") and "proto-41" not in "".join(gateway.lines("sessions"))
    assert gateway.drops() == {}


def test_tunnel_packets_need_no_session(colocated: Tunnel) -> None:
    """They also create none: a full table does not affect them."""
    for port in range(300):
        colocated.gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=1000 + port, dport=53))
    assert colocated.gateway.stats()["nat_table_full"] == 0
    before = colocated.gateway.stats()["nat_sessions"]
    ip6(only(colocated.into(ping6(NATIVE6, HOST6), RELAY), LAN))
    only(colocated.out(ping6()), WAN)
    assert colocated.gateway.stats()["nat_sessions"] == before


@pytest.mark.parametrize("keys", ["", f"nat.protocol41 {A.ip}\n"], ids=["", "key-given"])
def test_protocol_41_from_the_lan(start: Start, keys: str) -> None:
    """Protocol 41 belongs to the tunnel: no inside host can be a 6to4 router as well."""
    tunnel = Tunnel(start(COLOCATED + keys, "6to4"))
    for destination in (FAR, RELAY):
        packet = IP(src=A.ip, dst=destination, proto=IP6) / Raw(bytes(ping6()))
        assert icmp_kind(only(tunnel.gateway.lan(packet), LAN)) == (3, 2)
        assert tunnel.dropped() == "protocol"
    assert tunnel.gateway.lan(IP(src=A.ip, dst=OUTSIDE, proto=IP6) / Raw(bytes(ping6()))) is not None
    # Packets from outside go to the tunnel, whatever the key says.
    assert ip6(only(tunnel.into(ping6(FAR6, HOST6)), LAN)).src == FAR6
    assert tunnel.gateway.stats()["nat_sessions"] == 0


def test_protocol_41_to_an_address_of_the_pool(start: Start) -> None:
    tunnel = Tunnel(start(COLOCATED + "nat.pool 203.0.113.20\n", "6to4"))
    assert tunnel.into(ping6(FAR6, HOST6), dst="203.0.113.20") == []
    assert tunnel.dropped() == "protocol"
    assert outer(only(tunnel.gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5, dport=53)), WAN)) == 5
    assert only(tunnel.out(ping6()), WAN).ip.src == OUTSIDE


def test_errors_are_assigned_by_the_quote(colocated: Tunnel) -> None:
    gateway = colocated.gateway
    datagram = only(gateway.lan(IP(src=A.ip, dst=FAR) / UDP(sport=77, dport=53) / Raw(b"x" * 40)), WAN).raw[14:]
    tunnelled = only(colocated.out(ping6()), WAN).raw[14:]
    ours = only(gateway.wan(IP(src=HOP, dst=OUTSIDE) / ICMP(type=3, code=1) / Raw(tunnelled)), LAN)
    assert told([ours]) == (1, 3, 0)
    theirs = only(gateway.wan(IP(src=HOP, dst=OUTSIDE) / ICMP(type=3, code=1) / Raw(datagram)), LAN)
    assert icmp_kind(theirs) == (3, 1)
    assert IP(theirs.quote).src == A.ip and UDP in IP(theirs.quote)
    echo = only(gateway.lan(IP(src=A.ip, dst=FAR) / ICMP(id=5)), WAN).raw[14:]
    assert IP(only(gateway.wan(IP(src=HOP, dst=OUTSIDE) / ICMP(type=11) / Raw(echo)), LAN).quote).src == A.ip
    assert gateway.drops() == {}


def test_fragments_are_assigned_by_the_protocol(colocated: Tunnel) -> None:
    """Tunnel packets are reassembled, datagrams pass in fragments; both at once, in any order."""
    gateway = colocated.gateway
    port = open_out(gateway, "udp", 4000, to=FAR)
    tunnelled = cut(colocated.packet(sized(1280, FAR6, HOST6), id=5), 640)
    datagram = cut(IP(src=FAR, dst=OUTSIDE, id=5) / UDP(sport=53, dport=port) / Raw(bytes(1300)), 640)
    mixed = [datagram[2], tunnelled[1], datagram[1], tunnelled[0], datagram[0]]
    sent = [one for piece in mixed for one in gateway.wan(piece)]
    six = [one for one in sent if one.frame.type == 0x86dd]
    four = [one for one in sent if one.frame.type == 0x800]
    assert ip6(only(six, LAN)).plen == 1240
    whole = join(four)
    assert (whole.dst, len(whole)) == (A.ip, 1328)
    assert len(groups(four)) == 1


def test_one_source_of_identifications(colocated: Tunnel) -> None:
    """RFC 6864 section 4.3 counts by address, whichever part of the gateway sends."""
    gateway = colocated.gateway
    seen = []
    for n in range(60):
        seen.append(only(colocated.out(ping6()), WAN).ip.id)
        seen.append(only(gateway.lan(IP(src=A.ip, dst=FAR, id=7) / UDP(sport=500, dport=n + 1)), WAN).ip.id)
    assert len(set(seen)) == len(seen)


def test_nat_sessions_end_and_tunnel_works(colocated: Tunnel) -> None:
    gateway = colocated.gateway
    number = open_out(gateway, "udp", to=FAR)
    gateway.wait(400)
    assert answered(gateway, "udp", number, source=FAR) == []
    assert colocated.dropped() == "no-mapping"
    assert ip6(only(colocated.into(ping6(FAR6, HOST6)), LAN)).dst == HOST6
    gateway.sim.command("check")


def test_tcp_answers_and_pings(colocated: Tunnel) -> None:
    """Packets to the gateway itself."""
    gateway = colocated.gateway
    for host, to in ((A, "192.168.1.1"), (A, OUTSIDE), (ROUTER, OUTSIDE)):
        reply = only(gateway.ip_from(host, IP(src=host.ip, dst=to) / ICMP(id=3)), host.port)
        assert icmp_kind(reply) == (0, 0)
    syn = IP(src=SERVER, dst=OUTSIDE) / TCP(sport=9, dport=80, flags="S")
    assert gateway.wan(syn) == []
    assert icmp_kind(only([one for one in gateway.wait(7) if one.port == WAN])) == (3, 3)


# --- without a NAT ------------------------------------------------------------------------------------------


@pytest.fixture
def decoupled(start: Start) -> Tunnel:
    return Tunnel(start(DECOUPLED, "6to4"))


@pytest.mark.parametrize("proto", [1, 6, 17, 41, 47])
def test_ipv4_from_the_lan(decoupled: Tunnel, proto: int) -> None:
    packet = IP(src=A.ip, dst=SERVER, proto=proto) / Raw(bytes(40))
    assert decoupled.gateway.lan(packet) == []
    assert decoupled.dropped() == "ipv4"


def test_ipv4_for_the_gateway(decoupled: Tunnel) -> None:
    gateway = decoupled.gateway
    for host, to in ((A, "192.168.1.1"), (A, OUTSIDE), (ROUTER, OUTSIDE)):
        reply = only(gateway.ip_from(host, IP(src=host.ip, dst=to) / ICMP(id=3)), host.port)
        assert icmp_kind(reply) == (0, 0)
    assert gateway.wan(IP(src=SERVER, dst=OUTSIDE) / UDP(dport=53)) == []
    assert decoupled.dropped() == "no-service"
    assert gateway.wan(IP(src=SERVER, dst="203.0.113.77") / UDP(dport=53)) == []
    assert decoupled.dropped() == "foreign"
    assert gateway.lan(IP(src=A.ip, dst="255.255.255.255") / UDP(dport=67)) == []
    assert decoupled.dropped() == "multicast"


def test_errors_about_packets_not_sent(decoupled: Tunnel) -> None:
    datagram = bytes(IP(src=OUTSIDE, dst=FAR) / UDP(sport=77, dport=53))
    assert decoupled.gateway.wan(IP(src=HOP, dst=OUTSIDE) / ICMP(type=3, code=1) / Raw(datagram)) == []
    assert decoupled.dropped() == "icmp-type"


def test_no_nat_in_its_counters(decoupled: Tunnel) -> None:
    assert not any(name.startswith("nat_") for name in decoupled.gateway.stats())
    assert decoupled.gateway.lines("sessions") == []


# --- behind another gateway with a NAT
# ---------------------------------------------------------------------------------------

NAT_BOX = f"""\
lan.address {PRIVATE_ROUTER}/24
wan.address {OUTSIDE}/24
gateway {ROUTER.ip}
neighbour {ROUTER.ip} {ROUTER.mac}
neighbour {PRIVATE} 52:54:00:00:09:02
nat.sessions 64
"""


class Series:
    """The 6to4 router, and the NAT between it and the Internet."""

    def __init__(self, tunnel: Tunnel, nat: Gateway) -> None:
        self.tunnel, self.nat = tunnel, nat

    def out(self, packet: Raw) -> list[Sent]:
        """Sends a packet from a LAN host to the outside of the NAT."""
        station = Host(LAN, PRIVATE, "52:54:00:00:09:02")
        return [far for one in self.tunnel.out(packet) if one.port == WAN
                for far in self.nat.ip_from(station, one.raw[14:])]

    def back(self, packet: IP) -> list[Sent]:
        """Sends a packet from the Internet to the LAN host."""
        return [near for one in self.nat.wan(packet, broken=True) if one.port == LAN
                for near in self.tunnel.gateway.wan(one.raw[14:], broken=True)]


@pytest.fixture
def series(start: Start, sim: Simulator) -> Iterator[Callable[[str], Series]]:
    boxes = []
    with Simulator(sim.build) as other:
        def make(keys: str = "") -> Series:
            boxes.append(Gateway(other, NAT_BOX + keys))
            return Series(Tunnel(start(BEHIND, "6to4"), PRIVATE), boxes[-1])

        yield make
        for box in boxes[-1:]:
            box.finish()


def test_series_there_and_back(series: Callable[..., Series]) -> None:
    """The NAT learns its 6to4 router from the first packet; outside only the public address is visible."""
    both = series()
    for source, v4 in ((FAR6, FAR), (NATIVE6, RELAY), (FAR26, "198.51.100.8")):
        sent = only(both.out(ping6(dst=source)), WAN)
        assert (sent.ip.src, sent.ip.dst) == (OUTSIDE, v4)
        assert inner(sent).src == HOST6 and inner(sent).hlim == 63
        got = ip6(only(both.back(both.tunnel.packet(ping6(source, HOST6), v4, dst=OUTSIDE)), LAN))
        assert (got.src, got.dst, got.hlim) == (source, HOST6, 63)
    assert both.tunnel.gateway.drops() == {} and both.nat.drops() == {}


def test_series_unsolicited(series: Callable[..., Series]) -> None:
    both = series()
    packet = both.tunnel.packet(ping6(FAR6, HOST6), dst=OUTSIDE)
    assert both.back(packet) == [] and both.nat.drops() == {"no-mapping": 1}
    both = series(f"nat.protocol41 {PRIVATE}\n")
    assert ip6(only(both.back(packet), LAN)).src == FAR6


def test_series_checks_still_work(series: Callable[..., Series]) -> None:
    both = series(f"nat.protocol41 {PRIVATE}\n")
    assert both.back(both.tunnel.packet(ping6(FAR26, HOST6), FAR, dst=OUTSIDE)) == []
    assert both.tunnel.dropped() == "inner-source"
    assert both.back(both.tunnel.packet(ping6(FAR6, FAR26), FAR, dst=OUTSIDE)) == []
    assert both.tunnel.dropped() == "inner-destination"


def test_series_fragments(series: Callable[..., Series]) -> None:
    """The NAT passes the fragments, the router reassembles them."""
    both = series()
    both.out(ping6())
    pieces = cut(both.tunnel.packet(sized(1280, FAR6, HOST6), dst=OUTSIDE, id=5), 640)
    for order in (pieces, pieces[::-1]):
        assert ip6(only([one for piece in order for one in both.back(piece)], LAN)).plen == 1240


@pytest.mark.parametrize("quote", [28, 100])
def test_series_errors(series: Callable[..., Series], quote: int) -> None:
    """The errors pass the NAT, which restores its inside address in the quote."""
    both = series()
    quoted = only(both.out(ping6()), WAN).raw[14:14 + quote]
    error = IP(src=HOP, dst=OUTSIDE) / ICMP(type=3, code=4, nexthopmtu=1400) / Raw(quoted)
    if quote == 100:
        assert told(both.back(error)) == (2, 0, 1380)
    else:
        assert both.back(error) == []
        assert both.tunnel.gateway.stats()["tunnel_errors_remembered"] == 1


def test_series_ping_of_the_router(series: Callable[..., Series]) -> None:
    both = series(f"nat.protocol41 {PRIVATE}\n")
    answer = only(both.back(both.tunnel.packet(ping6(FAR6, OWN6), dst=OUTSIDE)), WAN)
    sent = only(both.nat.ip_from(Host(LAN, PRIVATE, "52:54:00:00:09:02"), answer.raw[14:]), WAN)
    assert (sent.ip.src, sent.ip.dst) == (OUTSIDE, FAR)
    assert (inner(sent).src, inner(sent).dst) == (OWN6, FAR6)


def test_arp_only_for_ours(decoupled: Tunnel) -> None:
    """Behind a NAT the tunnel's public address is not the gateway's, and it sends no ARP replies for it."""
    request = Ether(src=ROUTER.mac, dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=ROUTER.mac, psrc=ROUTER.ip, pdst=OUTSIDE)
    assert only(decoupled.gateway.send(WAN, request), WAN).arp.hwsrc == PORT_MAC[WAN]
