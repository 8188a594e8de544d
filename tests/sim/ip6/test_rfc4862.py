# SPDX-License-Identifier: BSD-2-Clause
"""Duplicate address detection (RFC 4862 section 5.4), and the link-local address (section 5.3)."""

from __future__ import annotations

import pytest
from gateway import LAN, PORT_MAC, WAN, Gateway, Sent, only
from net6 import (
    A6, ADDRESSES6, OWN, OWN_LOCAL, PLAIN6, Host6, Start, advertise, group_mac, kind6, of_kind, send, solicit,
    solicited_node, state_of,
)
from scapy.layers.inet6 import ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr, IPv6
from scapy.packet import Packet
from simulator import Refused

pytestmark = pytest.mark.virtual

NS, NA = 135, 136


@pytest.fixture
def fresh(start: Start) -> Gateway:
    """A router right after its start: its addresses are tentative."""
    return start(PLAIN6, "route6")


def addresses(gateway: Gateway, port: str) -> dict[str, str]:
    """Each IPv6 address of an interface in the listing `interfaces` and its state, empty when it is in use."""
    line = next(line for line in gateway.lines("interfaces") if line.startswith(port))
    found = {}
    for word in line.split()[1:]:
        address, _, rest = word.partition("/64")
        found[address] = rest
    return found


def probe(target: str) -> Packet:
    """The probe of another host that wants the address."""
    return IPv6(src="::", dst=solicited_node(target), hlim=255) / ICMPv6ND_NS(tgt=target)


def target_of(sent: Sent) -> str:
    return str(sent.frame[ICMPv6ND_NS].tgt)


def test_s53_link_local_address_from_the_mac(fresh: Gateway) -> None:
    for port in (LAN, WAN):
        assert addresses(fresh, port) == {OWN_LOCAL[port]: "(tentative)", OWN[port]: "(tentative)"}
    fresh.wait(3)
    for port in (LAN, WAN):
        assert addresses(fresh, port) == {OWN_LOCAL[port]: "", OWN[port]: ""}


def test_s542_one_probe_for_each_address(fresh: Gateway) -> None:
    """From the unspecified address to the solicited-node group, without our MAC (RFC 4861 section
    4.3), after a random delay below a second."""
    asked = of_kind(fresh.wait(3), NS)
    assert sorted((one.port, target_of(one)) for one in asked) == sorted(
        (port, own[port]) for port in (LAN, WAN) for own in (OWN, OWN_LOCAL))
    for one in asked:
        group = solicited_node(target_of(one))
        assert (one.ip6.src, one.ip6.dst, one.ip6.hlim) == ("::", group, 255)
        assert one.frame.dst == group_mac(group) and len(one.raw) == 14 + 40 + 24
        assert one.at < 1.2


def test_s542_delays_are_random(start: Start) -> None:
    delays = {tuple(one.at for one in of_kind(start(PLAIN6, "route6", seed=seed).wait(3), NS))
              for seed in range(1, 9)}
    assert len(delays) > 3


def test_s543_addresses_are_announced_when_they_are_in_use(fresh: Gateway) -> None:
    """A second after the probe; to all nodes, not solicited (RFC 9131)."""
    sent = fresh.wait(4)
    for port in (LAN, WAN):
        for own in (OWN[port], OWN_LOCAL[port]):
            asked = only([one for one in of_kind(sent, NS, port) if target_of(one) == own])
            told = only([one for one in of_kind(sent, NA, port) if one.frame[ICMPv6ND_NA].tgt == own])
            assert 0.95 <= told.at - asked.at <= 1.15
            assert (told.ip6.src, told.ip6.dst) == (own, "ff02::1") and told.raw[58] == 0xa0  # R, O
            assert told.frame[ICMPv6NDOptDstLLAddr].lladdr == PORT_MAC[port]


def test_s54_solicitations_for_tentative_addresses_are_ignored(fresh: Gateway) -> None:
    """Section 5.4.3: a solicitation from a unicast address is for address resolution, and is ignored."""
    assert send(fresh, A6, solicit(A6, OWN[LAN])) == []
    assert send(fresh, A6, IPv6(src=A6.ip, dst=OWN[LAN]) / ICMPv6EchoRequest()) == []
    assert fresh.drops() == {"nd-other": 1, "tentative": 1}
    fresh.wait(3)
    assert kind6(only(send(fresh, A6, solicit(A6, OWN[LAN])), LAN)) == (NA, 0)
    assert state_of(fresh, A6.ip) == "stale"


@pytest.mark.parametrize("when", [0.0, 1.3], ids=["before-our-question", "behind-it"])
@pytest.mark.parametrize("how", ["probe", "answer"])
def test_s545_duplicate_is_not_used(fresh: Gateway, when: float, how: str) -> None:
    """Another host probes the address at the same time, or advertises that it has it."""
    if when:
        fresh.wait(0.9)
    packet = probe(OWN[LAN]) if how == "probe" else advertise(A6, "ff02::1", target=OWN[LAN], s=0)
    assert send(fresh, A6, packet) == []
    assert any(f"somebody has {OWN[LAN]}" in line for line in fresh.lines("log"))
    sent = fresh.wait(5)
    assert all(one.frame[ICMPv6ND_NA].tgt != OWN[LAN] for one in of_kind(sent, NA))
    assert addresses(fresh, LAN) == {OWN_LOCAL[LAN]: "", OWN[LAN]: "(duplicate)"}
    assert send(fresh, A6, solicit(A6, OWN[LAN])) == []
    assert send(fresh, A6, IPv6(src=A6.ip, dst=OWN[LAN]) / ICMPv6EchoRequest()) == []
    assert fresh.drops() == {"nd-other": 1, "tentative": 1}
    assert kind6(only(send(fresh, A6, solicit(A6, OWN_LOCAL[LAN])), LAN)) == (NA, 0)


def test_s545_duplicate_of_the_address_from_the_mac(fresh: Gateway) -> None:
    """Another host has our MAC address: no IPv6 on that interface; the other interface works."""
    send(fresh, A6, probe(OWN_LOCAL[LAN]))
    sent = fresh.wait(5)
    assert addresses(fresh, LAN) == {OWN_LOCAL[LAN]: "(duplicate)", OWN[LAN]: "(duplicate)"}
    assert of_kind(sent, NS, LAN) == of_kind(sent, NA, LAN) == []
    assert addresses(fresh, WAN) == {OWN_LOCAL[WAN]: "", OWN[WAN]: ""}


def test_s545_another_probe_when_carrier_comes_up(fresh: Gateway) -> None:
    send(fresh, A6, probe(OWN[LAN]))
    fresh.wait(5)
    fresh.link(LAN, False)
    fresh.wait(1)
    fresh.link(LAN, True)
    assert addresses(fresh, LAN)[OWN[LAN]] == "(tentative)"
    fresh.wait(3)
    assert addresses(fresh, LAN) == {OWN_LOCAL[LAN]: "", OWN[LAN]: ""}


def test_carrier_up_makes_the_addresses_tentative(fresh: Gateway) -> None:
    """Section 5.4: the cable may lead to another network."""
    fresh.wait(5)
    fresh.link(LAN, False)
    assert fresh.wait(3) == []
    fresh.link(LAN, True)
    assert addresses(fresh, LAN)[OWN[LAN]] == "(tentative)"
    assert addresses(fresh, WAN)[OWN[WAN]] == ""
    asked = of_kind(fresh.wait(3), NS)
    assert {target_of(one) for one in asked} == {OWN[LAN], OWN_LOCAL[LAN]}


def test_our_reflected_probe_is_no_duplicate(fresh: Gateway) -> None:
    """A switch in a loop sends our own frames back (RFC 7527)."""
    for _ in range(15):
        for one in of_kind(fresh.wait(0.1), NS):
            fresh.send(one.port, one.raw)
    fresh.wait(3)
    assert addresses(fresh, LAN) == {OWN_LOCAL[LAN]: "", OWN[LAN]: ""}
    assert fresh.drops() == {"nd-other": 4}


def test_invalid_advertisements_do_not_make_a_duplicate(fresh: Gateway) -> None:
    for packet in (advertise(A6, "ff02::1", target=OWN[LAN], s=0, hlim=64),
                   advertise(A6, "ff02::1", target=OWN[LAN], s=1),
                   IPv6(src="::", dst="ff02::1", hlim=255) / ICMPv6ND_NS(tgt=OWN[LAN])):
        send(fresh, A6, packet)
    assert fresh.drops() == {"nd-bad": 3}
    fresh.wait(3)
    assert addresses(fresh, LAN)[OWN[LAN]] == ""


def test_an_address_in_use_stays_in_use(fresh: Gateway) -> None:
    """A host that probes it later gets an advertisement that the address is taken."""
    fresh.wait(5)
    sent = only(send(fresh, Host6(LAN, "::", "::", "52:54:00:00:09:09"), probe(OWN[LAN])), LAN)
    assert kind6(sent) == (NA, 0)
    assert addresses(fresh, LAN)[OWN[LAN]] == ""


@pytest.mark.parametrize(("line", "wrong"), [
    (f"lan.address {OWN[LAN]}/64", "lan.address 2001:db8:1::1 is given twice"),
    ("lan.address 2001:db8:2::5/64", "wan.address 2001:db8:2::2 lies in the network of lan.address"),
    ("wan.address 2001:db8:1::5/64", "wan.address 2001:db8:1::5 lies in the network of lan.address"),
    ("gateway 2001:db8:9::1", "gateway 2001:db8:9::1 lies in no network of lan.address or wan.address"),
    ("gateway fe80::1", "gateway fe80::1 is link-local"),
    (f"gateway {OWN[LAN]}", "gateway 2001:db8:1::1 is the gateway's own address"),
    (f"route 2001:db8:5::/48 via {OWN[WAN]}", "route via 2001:db8:2::2 is the gateway's own address"),
    ("route 2001:db8:5::/48 via 2001:db8:7::1", "route via 2001:db8:7::1 lies in no network"),
    ("neighbour 2001:db8:9::1 02:00:00:00:00:09", "neighbour 2001:db8:9::1 lies in no network"),
])
def test_configuration_that_contradicts_itself(start: Start, line: str, wrong: str) -> None:
    with pytest.raises(Refused, match=wrong):
        start(ADDRESSES6 + line + "\n", "route6")


def test_missing_address(start: Start) -> None:
    """An address that is missing is the mistake, not the router that lies in its network."""
    config = "".join(line + "\n" for line in ADDRESSES6.splitlines() if not line.startswith("wan.address"))
    assert "gateway" in config
    with pytest.raises(Refused, match="^wan.address is missing, an IPv6 one: gateway 2001:db8:2::1 lies in no other"):
        start(config, "route6")
