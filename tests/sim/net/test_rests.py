# SPDX-License-Identifier: BSD-2-Clause
"""The rests of the machine: where nothing moves it is awake twice a second. A timer then ends half a second late
at most; what packets wait for is in time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from gateway import A, ADDRESSES, B, INSIDE, LAN, NAT, OUTSIDE, PORT_MAC, ROUTER, SERVER, Gateway, Sent
from ivi import IVI
from net6 import A6, ADDRESSES6, NEIGHBOURS6, send
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import ARP, Ether
from tunnel import SETUPS

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
LATE_S = 0.5  # a timer that nobody waits for; of two in a row, each
WAITED_S = 0.1  # one that packets wait for
PLAIN = ADDRESSES + "nat.sessions 256\n"
IDLE = {"nat": NAT, "6to4": SETUPS["co-located"][0], "ivi": IVI.config, "route6": ADDRESSES6 + NEIGHBOURS6}


def turns(gateway: Gateway) -> int:
    return int(gateway.sim.command("turns")[0])


@pytest.mark.parametrize("app", IDLE)
def test_an_idle_gateway_is_awake_twice_a_second(start: Start, app: str) -> None:
    gateway = start(IDLE[app], app, rests=True)
    gateway.wait(60)  # announcements, and what the start asks for
    before, sent = turns(gateway), len(gateway.wait(60))
    assert 110 <= turns(gateway) - before <= 125 + 5 * sent


def from_a(packet: IP) -> Ether:
    return Ether(src=A.mac, dst=PORT_MAC[LAN]) / packet


def unknown_hosts(gateway: Gateway) -> list[Sent]:
    """Packets to a host and to a router that do not answer."""
    sent = gateway.send(LAN, from_a(IP(src=A.ip, dst=B.ip) / ICMP()))
    sent += gateway.wait(0.3)
    sent += gateway.send(LAN, from_a(IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=9)))
    return sent + gateway.wait(60)


def neighbours_grow_old(gateway: Gateway) -> list[Sent]:
    """Hosts that were heard of, of which one does not answer any more."""
    for host in (A, ROUTER):
        question = ARP(op=1, hwsrc=host.mac, psrc=host.ip, pdst=INSIDE if host is A else OUTSIDE)
        gateway.send(host.port, Ether(src=host.mac, dst="ff:ff:ff:ff:ff:ff") / question)
    sent = []
    for _ in range(4):
        sent += gateway.send(LAN, from_a(IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=9)))
        sent += gateway.wait(61.3)
    return sent


def ipv6_hosts(gateway: Gateway) -> list[Sent]:
    """Advertisements, and a host that is asked for, without an answer."""
    sent = gateway.wait(20)
    sent += send(gateway, A6, IPv6(src=A6.ip, dst="2001:db8:2::77") / ICMPv6EchoRequest())
    sent += gateway.wait(40.2)
    sent += send(gateway, A6, IPv6(src=A6.local, dst="fe80::ff:fe00:1") / ICMPv6EchoRequest())
    return sent + gateway.wait(700)


def lease(gateway: Gateway) -> list[Sent]:
    """A network without a DHCP server."""
    return gateway.wait(300)


def later(first: Sequence[Sent], second: Sequence[Sent]) -> list[float]:
    """How much later each frame left in the second run, in which the same ones must leave."""
    ours, theirs = ([(one.port, one.raw) for one in sent] for sent in (first, second))
    assert sorted(ours) == sorted(theirs)
    times: dict[tuple[str, bytes], list[float]] = {}
    for one in first:
        times.setdefault((one.port, one.raw), []).append(one.at)
    return [one.at - times[one.port, one.raw].pop(0) for one in second]


@pytest.mark.parametrize(("act", "config", "app", "late"), [
    (unknown_hosts, PLAIN, "nat", WAITED_S),
    (neighbours_grow_old, PLAIN, "nat", 2 * LATE_S),
    (ipv6_hosts, ADDRESSES6, "route6", 2 * LATE_S),
    (lease, "lan.address 192.168.1.1/24\nwan.address dhcp\n", "nat", WAITED_S),
])  # fmt: skip
def test_the_same_frames_leave_a_little_later(
    start: Start, act: Callable[[Gateway], list[Sent]], config: str, app: str, late: float
) -> None:
    always = act(start(config, app))
    rested = act(start(config, app, rests=True))
    assert len(always) > 3
    waits = later(always, rested)
    assert -WAITED_S <= min(waits) and max(waits) <= late, waits


def test_a_session_ends_in_time(start: Start) -> None:
    """Nobody waits for the end of a session: the walk over the table has its turn with the rest."""
    gateway = start(NAT + "nat.udp-timeout 120\n", rests=True)
    gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=9))
    gateway.wait(119)
    assert gateway.stats()["nat_sessions"] == 1
    gateway.wait(3)
    assert gateway.stats()["nat_sessions"] == 0
