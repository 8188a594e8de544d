# SPDX-License-Identifier: BSD-2-Clause
"""Lines in the log about states in which nothing works and nothing else says why."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gateway import A, B, INSIDE, LAN, NAT, NEAR, OUTSIDE, PORT_MAC, ROUTER, SERVER, WAN, Gateway
from net6 import ADDRESSES6
from test_dns64_start import BOTH
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Ether

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]


def said(gateway: Gateway, part: str) -> list[str]:
    """The lines of the log with this text in them, without their times."""
    return [line.split(" ", 1)[1] for line in gateway.lines("log") if part in line]


def out(gateway: Gateway) -> None:
    gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=1000, dport=2000))


def reply(gateway: Gateway) -> None:
    gateway.send(WAN, Ether(src=ROUTER.mac, dst=PORT_MAC[WAN]) / ARP(
        op=2, psrc=ROUTER.ip, hwsrc=ROUTER.mac, pdst=OUTSIDE, hwdst=PORT_MAC[WAN]))


def test_router_that_does_not_answer(start: Start) -> None:
    """One line when it is silent, however many packets need it; one when it answers again."""
    gateway = start(NAT.replace(f"neighbour {ROUTER.ip} {ROUTER.mac}\n", ""))
    for _ in range(20):
        out(gateway)
        gateway.wait(1)
    assert said(gateway, "router") == [f"wan: router {ROUTER.ip} does not answer"]
    out(gateway)
    gateway.wait(0.1)
    reply(gateway)
    gateway.wait(1)
    assert said(gateway, "router")[1:] == [f"wan: router {ROUTER.ip} answers again"]
    for _ in range(90):  # it is silent once more
        out(gateway)
        gateway.wait(1)
    assert said(gateway, "router")[2:] == [f"wan: router {ROUTER.ip} does not answer"]


def test_routers_that_were_removed(start: Start) -> None:
    """A silent router that was removed takes no place in the list: each of 20 others is named when it is silent."""
    gateway = start(NAT.replace(f"neighbour {ROUTER.ip} {ROUTER.mac}\n", "").replace(f"gateway {ROUTER.ip}\n", ""))
    for i in range(20):
        gateway.change(f"route add default via 203.0.113.{100 + i}")
        for _ in range(5):
            out(gateway)
            gateway.wait(1)
        assert said(gateway, "router")[i:] == [f"wan: router 203.0.113.{100 + i} does not answer"]
        gateway.change(f"route del default via 203.0.113.{100 + i}")
        gateway.wait(0.2)


def test_host_that_does_not_answer(start: Start) -> None:
    """A host of the network is no router: nothing is logged."""
    gateway = start(NAT.replace(f"neighbour {NEAR.ip} {NEAR.mac}\n", ""))
    gateway.lan(IP(src=A.ip, dst=NEAR.ip) / UDP(sport=1000, dport=2000))
    gateway.wait(5)
    assert said(gateway, "answer") == []


def test_no_default_router(start: Start) -> None:
    """A packet that needs one: a line that names the key, once a minute."""
    gateway = start(NAT.replace(f"gateway {ROUTER.ip}\n", ""))
    gateway.wait(1)
    assert said(gateway, "no route") == []
    for _ in range(59):
        out(gateway)
        gateway.wait(1)
    line = f"no route to {SERVER}: there is no default router of this family (gateway)"
    assert said(gateway, "no route") == [line]
    gateway.wait(2)
    out(gateway)
    gateway.wait(1)
    assert said(gateway, "no route") == [line, line]


def test_route_is_enough(start: Start) -> None:
    """With a default router nothing is said about packets to networks that lead nowhere."""
    gateway = start(ADDRESSES6, "route6")
    gateway.wait(5)
    header = Ether(src=A.mac, dst=PORT_MAC[LAN])
    gateway.send(LAN, header / IPv6(src="2001:db8:1::10", dst="2001:db8:77::1") / UDP())
    gateway.wait(1)
    assert said(gateway, "no route") == []
    gateway = start(ADDRESSES6.replace("gateway", "route 2001:db8:7::/48 via"), "route6")
    gateway.wait(5)
    gateway.send(LAN, header / IPv6(src="2001:db8:1::10", dst="2001:db8:77::1") / UDP())
    gateway.wait(1)
    assert said(gateway, "no route") == [
        "no route to 2001:db8:77::1: there is no default router of this family (gateway)"]


def test_swapped_cables(gateway: Gateway) -> None:
    """A host of the LAN asks on the WAN for our address on the LAN."""
    ask = Ether(src=A.mac, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, psrc=A.ip, hwsrc=A.mac, pdst=INSIDE)
    gateway.send(LAN, ask)
    gateway.send(WAN, Ether(src=ROUTER.mac, dst="ff:ff:ff:ff:ff:ff") / ARP(
        op=1, psrc=ROUTER.ip, hwsrc=ROUTER.mac, pdst=B.ip))
    assert said(gateway, "cables") == []
    for _ in range(50):
        assert gateway.send(WAN, ask) == []
        gateway.wait(1)
    assert said(gateway, "cables") == [f"wan: {A.ip} asks for {INSIDE}, our address on lan: are the cables swapped?"]


def test_well_known_prefix(start: Start) -> None:
    """Once at the start, where 64:ff9b::/96 stands for global addresses only."""
    gateway = start(BOTH + "nameserver 203.0.113.1\n", "dns64")
    assert len(said(gateway, "64:ff9b::/96: only for global IPv4 addresses")) == 1
    gateway = start(BOTH + "nameserver 203.0.113.1\ndns64-prefix 2001:db8:64::/96\n", "dns64")
    assert said(gateway, "global") == []
    ivi = f"lan.address 2001:db8:1::1/64\nwan.address {OUTSIDE}/24\nivi.format rfc6052\nivi.prefix "
    gateway = start(ivi + "64:ff9b::/96\nivi.ipv4 198.51.100.0/24\n", "ivi")
    assert len(said(gateway, "64:ff9b::/96: only for global IPv4 addresses")) == 1
    gateway = start(ivi + "2001:db8:64::/96\nivi.ipv4 198.51.100.0/24\n", "ivi")
    assert said(gateway, "global") == []
