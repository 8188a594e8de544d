# SPDX-License-Identifier: BSD-2-Clause
"""Several `gateway` lines of one family: the first router that answers is used."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest
from gateway import A, INSIDE, LAN, OUTSIDE, PORT_MAC, SERVER, WAN, Gateway, Host, Sent, only
from net6 import OWN, Host6
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr, IPv6
from scapy.layers.l2 import ARP, Ether
from tunnel import HOST6, OWN6, ping6

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
ONE, TWO = Host(WAN, "203.0.113.1", "52:54:00:00:02:01"), Host(WAN, "203.0.113.9", "52:54:00:00:02:09")
CONFIG = f"lan.address {INSIDE}/24\nwan.address {OUTSIDE}/24\nneighbour {A.ip} {A.mac}\nnat.sessions 256\n"
BOTH = CONFIG + f"gateway {ONE.ip}\ngateway {TWO.ip}\n"


def answer(gateway: Gateway, sent: list[Sent], alive: Collection[Host]) -> None:
    """The routers that are alive answer ARP requests."""
    for one in sent:
        if one.port == WAN and ARP in one.frame and one.arp.op == 1:
            for router in alive:
                if one.arp.pdst == router.ip:
                    gateway.send(WAN, Ether(src=router.mac, dst=PORT_MAC[WAN]) / ARP(
                        op=2, psrc=router.ip, hwsrc=router.mac, pdst=one.arp.psrc, hwdst=one.arp.hwsrc))


def run(gateway: Gateway, seconds: float, *alive: Host) -> None:
    for _ in range(int(seconds * 5)):
        answer(gateway, gateway.wait(0.2), alive)


def way(gateway: Gateway, *alive: Host) -> str | None:
    """The MAC address of the router that a packet is sent to."""
    sent = gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=1000, dport=2000))
    answer(gateway, sent, alive)
    found = [one.frame.dst for one in sent + gateway.wait(0.1) if IP in one.frame]
    return found[0] if found else None


def said(gateway: Gateway) -> list[str]:
    return [line.split(" ", 1)[1] for line in gateway.lines("log") if "router" in line]


def test_first_that_answers(start: Start) -> None:
    """The second router takes over within 15 s of silence, without traffic, and the first is used when it is back."""
    gateway = start(BOTH)
    run(gateway, 10, ONE, TWO)
    assert way(gateway, ONE, TWO) == ONE.mac and said(gateway) == []
    run(gateway, 15, TWO)
    assert way(gateway, TWO) == TWO.mac
    assert said(gateway) == [f"wan: router {ONE.ip} does not answer", f"wan: the default router is now {TWO.ip}"]
    assert gateway.lines("routes")[-2:] == [f"0.0.0.0/0 via {TWO.ip} wan", f"0.0.0.0/0 via {ONE.ip} wan"]
    run(gateway, 60, TWO)
    assert len(said(gateway)) == 2
    run(gateway, 6, ONE, TWO)
    assert way(gateway, ONE, TWO) == ONE.mac
    assert said(gateway)[2:] == [f"wan: router {ONE.ip} answers again", f"wan: the default router is now {ONE.ip}"]
    gateway.link(WAN, False)  # no router is asked any more, so that the gateway falls silent


def test_one_that_never_answers(start: Start) -> None:
    """The first router is not there at the start: two seconds later the second is used."""
    gateway = start(BOTH)
    run(gateway, 5, TWO)
    assert way(gateway, TWO) == TWO.mac
    assert said(gateway)[-1] == f"wan: the default router is now {TWO.ip}"


def test_none_answers(start: Start) -> None:
    """The first stays when none answers."""
    gateway = start(BOTH)
    run(gateway, 30)
    assert gateway.lines("routes")[-2:] == [f"0.0.0.0/0 via {ONE.ip} wan", f"0.0.0.0/0 via {TWO.ip} wan"]
    assert [line for line in said(gateway) if "now" in line][-1:] in ([], [f"wan: the default router is now {ONE.ip}"])


def test_a_single_router_is_not_asked(start: Start) -> None:
    """With one router there is nothing to choose: no requests without traffic."""
    gateway = start(CONFIG + f"gateway {ONE.ip}\n")
    assert [one for one in gateway.wait(60) if one.port == WAN and ARP in one.frame and one.arp.pdst == ONE.ip] == []


def test_requests_are_few(start: Start) -> None:
    """One request to each router in five seconds."""
    gateway = start(BOTH)
    run(gateway, 10, ONE, TWO)
    n = 0
    for _ in range(300):
        sent = gateway.wait(0.2)
        n += len([one for one in sent if ARP in one.frame])
        answer(gateway, sent, (ONE, TWO))
    assert 20 <= n <= 26, n


def test_sessions_move(start: Start) -> None:
    """A session that is under way continues by the other router, and by the first when it is back."""
    gateway = start(BOTH)
    run(gateway, 10, ONE, TWO)
    for _ in range(3):
        assert way(gateway, ONE, TWO) == ONE.mac
    run(gateway, 15, TWO)
    for _ in range(3):
        assert way(gateway, TWO) == TWO.mac
    run(gateway, 8, ONE, TWO)
    assert way(gateway, ONE, TWO) == ONE.mac and gateway.stats()["nat_sessions"] == 1
    gateway.link(WAN, False)


def test_tunnels_move(start: Start) -> None:
    """The next hop of a 6to4 tunnel's end follows, also when both routers answer."""
    gateway = start(f"lan.address {OWN6}/64\nneighbour {HOST6} {A.mac}\nlan.ra off\n{BOTH}", "6to4")
    run(gateway, 10, ONE, TWO)

    def out() -> str:
        sent = gateway.send(LAN, Ether(src=A.mac, dst=PORT_MAC[LAN]) / ping6())
        return only([one for one in sent if IP in one.frame], WAN).frame.dst

    assert [out(), out(), out()] == [ONE.mac] * 3
    run(gateway, 15, TWO)
    assert [out(), out(), out()] == [TWO.mac] * 3
    run(gateway, 8, ONE, TWO)
    assert [out(), out(), out()] == [ONE.mac] * 3
    gateway.link(WAN, False)


# --- IPv6 ---------------------------------------------------------------------------------------------

ONE6 = Host6(WAN, "2001:db8:2::1", "fe80::1", "52:54:00:00:02:01")
TWO6 = Host6(WAN, "2001:db8:2::9", "fe80::9", "52:54:00:00:02:09")
BOTH6 = (f"lan.address {OWN[LAN]}/64\nwan.address {OWN[WAN]}/64\ngateway {ONE6.ip}\ngateway {TWO6.ip}\nlan.ra off\n")


def run6(gateway: Gateway, seconds: float, *alive: Host6) -> None:
    for _ in range(int(seconds * 5)):
        for one in gateway.wait(0.2):
            for router in alive:
                if ICMPv6ND_NS in one.frame and one.frame[ICMPv6ND_NS].tgt == router.ip:
                    gateway.send(WAN, Ether(src=router.mac, dst=PORT_MAC[WAN]) /
                                 IPv6(src=router.ip, dst=one.ip6.src, hlim=255) /
                                 ICMPv6ND_NA(tgt=router.ip, R=1, S=1, O=1) / ICMPv6NDOptDstLLAddr(lladdr=router.mac))


def test_first_that_answers6(start: Start) -> None:
    gateway = start(BOTH6, "route6")
    run6(gateway, 15, ONE6, TWO6)
    assert said(gateway) == []
    run6(gateway, 15, TWO6)
    assert said(gateway) == [f"wan: router {ONE6.ip} does not answer", f"wan: the default router is now {TWO6.ip}"]
    sent = gateway.send(LAN, Ether(src=A.mac, dst=PORT_MAC[LAN]) / IPv6(src="2001:db8:1::10", dst="2001:db8:f::7") /
                        UDP(sport=1, dport=2))
    assert [one.frame.dst for one in sent] == [TWO6.mac]
    run6(gateway, 8, ONE6, TWO6)
    assert said(gateway)[2:] == [f"wan: router {ONE6.ip} answers again", f"wan: the default router is now {ONE6.ip}"]
