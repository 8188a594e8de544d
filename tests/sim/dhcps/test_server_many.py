# SPDX-License-Identifier: BSD-2-Clause
"""Many clients of the DHCP server, and those that mean harm."""

from __future__ import annotations

import pytest
from gateway import LAN, PORT_MAC
from lanclients import (
    ACK,
    CLIENT_ID,
    CONFIG,
    DECLINE,
    DISCOVER,
    INSIDE,
    NAK,
    OFFER,
    RELEASE,
    REQUEST,
    SERVER_ID,
    WANTED,
    Client,
    Gateway,
    Start,
    answers,
    arp_reply,
    ip,
    leases,
    mac_of,
)
from scapy.layers.l2 import ARP, Ether

pytestmark = pytest.mark.virtual
WIDE = ("lan.address 10.0.0.1/16\nwan.address 203.0.113.2/24\nlan.dhcp 10.0.1.0-10.0.8.255\n")
OWN = "10.0.0.1"
AGENT_IP, AGENT_MAC = "192.168.1.5", "02:00:00:00:00:aa"
TWO = CONFIG + "lan2 nic2\nlan2.address 192.168.2.1/24\nlan2.dhcp 192.168.2.100-192.168.2.109\n"
MANY = 2000


def test_two_thousand_clients_in_two_seconds(start: Start) -> None:
    """All have leases, each its own address: 1,000 a second."""
    gateway = start(WIDE, "nat", packets=2048)
    clients = [Client(gateway, mac_of(i), server=OWN) for i in range(MANY)]
    began = 0.0
    offered: dict[int, str] = {}
    for first in range(0, MANY, 100):
        batch = [(LAN, client.frame(DISCOVER)) for client in clients[first:first + 100]]
        sent = [one for some in gateway.send_many(batch) for one in some] + gateway.wait(0.1)
        began = began or sent[0].at
        for answer in answers(sent, OFFER):
            offered[int.from_bytes(answer.chaddr[4:], "big")] = answer.yiaddr
    for answer in answers(gateway.wait(0.6), OFFER):
        offered[int.from_bytes(answer.chaddr[4:], "big")] = answer.yiaddr
    assert len(offered) == MANY and len(set(offered.values())) == MANY
    given = 0
    for first in range(0, MANY, 100):
        batch = [(LAN, clients[i].frame(REQUEST, {WANTED: ip(offered[i]), SERVER_ID: ip(OWN)}))
                 for i in range(first, first + 100)]
        given += len(answers([one for some in gateway.send_many(batch) for one in some], ACK))
        gateway.wait(0.05)
    assert given == gateway.stats()["dhcps_leases"] == MANY
    assert not {"dhcps-limited", "dhcps-full"} & set(gateway.drops())


def test_two_thousand_at_once_are_bounded(start: Start) -> None:
    """A burst beyond the places of probes is offered without one; what is beyond the limit is counted."""
    gateway = start(WIDE, "nat", packets=2048)
    sent = []
    for first in range(0, 3000, 500):
        batch = [(LAN, Client(gateway, mac_of(i), server=OWN).frame(DISCOVER)) for i in range(first, first + 500)]
        sent += [one for some in gateway.send_many(batch) for one in some]
    sent += gateway.wait(1)
    stats = gateway.stats()
    assert stats["dhcps_unprobed"] > 0 and stats["dhcps_limited"] == gateway.drops()["dhcps-limited"] > 0
    assert len(answers(sent, OFFER)) >= 1500


def test_one_station_with_many_names(start: Start) -> None:
    """It gets eight addresses; the oldest offer makes room for a new one, a lease does not."""
    gateway = start(CONFIG, "nat")
    for i in range(20):
        Client(gateway, options={61: bytes((0, i))}).discover()
    assert len([line for line in leases(gateway).values() if line.startswith("offered")]) == 8
    for i in range(20, 40):
        client = Client(gateway, options={61: bytes((0, i))})
        offer = client.discover()
        if offer:
            client.select(offer.yiaddr)
    assert gateway.stats()["dhcps_leases"] == 8 and gateway.drops()["dhcps-limited"] == 12
    assert Client(gateway, mac_of(2)).lease()


def test_one_station_that_asks_all_the_time(start: Start) -> None:
    gateway = start(CONFIG, "nat")
    client = Client(gateway)
    client.lease()
    batch = [(LAN, client.frame(DISCOVER)) for _ in range(200)]
    sent = [one for some in gateway.send_many(batch) for one in some]
    assert len(answers(sent)) <= 20 and gateway.drops()["dhcps-limited"] >= 180
    assert Client(gateway, mac_of(2)).lease()


def test_exhaustion_by_offers(start: Start) -> None:
    """Forged stations fill the pool with offers: the oldest one makes room."""
    gateway = start(CONFIG, "nat")
    for i in range(100, 120):
        gateway.send(LAN, Client(gateway, mac_of(i)).frame(DISCOVER))
        gateway.wait(1)
    assert gateway.stats()["dhcps_offers_evicted"] == 10
    assert Client(gateway).lease()
    gateway.wait(61)
    assert gateway.stats()["dhcps_leases"] == 1 and gateway.stats()["dhcps_full"] == 0


def test_exhaustion_by_declines(start: Start) -> None:
    """Forged stations decline all addresses: the one that rests for the longest time is probed again and given."""
    gateway = start(CONFIG, "nat")
    for i in range(100, 110):
        client = Client(gateway, mac_of(i))
        client.decline(client.lease())
    assert all(line.startswith("declined") for line in leases(gateway).values()) and len(leases(gateway)) == 10
    assert Client(gateway).lease()


def test_a_frame_for_another_station(start: Start) -> None:
    """chaddr is the source of the frame, unless a relay agent is between."""
    gateway = start(CONFIG, "nat")
    assert not gateway.send(LAN, Client(gateway).frame(DISCOVER, source=mac_of(7)))
    assert gateway.drops() == {"dhcps-bad": 1}


def test_decline_of_what_was_never_given(start: Start) -> None:
    gateway = start(CONFIG, "nat")
    for i in range(100, 110):
        gateway.send(LAN, Client(gateway, mac_of(i)).frame(DECLINE, {WANTED: ip(f"192.168.1.{i}")}))
    assert not leases(gateway) and gateway.drops() == {"dhcps-not-ours": 10}


def said(gateway: Gateway, text: str) -> bool:
    return any(text in line for line in gateway.lines("log"))


def reached(gateway: Gateway) -> None:
    """The gateway knows the agent's MAC address."""
    gateway.send(LAN, Ether(src=AGENT_MAC, dst=PORT_MAC[LAN]) / ARP(op=1, hwsrc=AGENT_MAC, psrc=AGENT_IP, pdst=INSIDE))


def behind(gateway: Gateway, number: int) -> Client:
    return Client(gateway, mac_of(number), giaddr=AGENT_IP)


def test_a_relay_agent_takes_part_of_the_pool(start: Start) -> None:
    """It may name any client: a quarter is left for others, and the log says so."""
    gateway = start(CONFIG, "nat")
    reached(gateway)
    for i in range(100, 120):
        client = behind(gateway, i)
        offer = client.discover(source=AGENT_MAC)
        if offer:
            client.select(offer.yiaddr, source=AGENT_MAC)
    assert gateway.stats()["dhcps_leases"] == 8 and gateway.stats()["dhcps_limited"] == 12
    assert said(gateway, f"lan.dhcp: no more leases for {AGENT_MAC}")
    assert Client(gateway, mac_of(2)).lease() and Client(gateway, mac_of(3)).lease()


def test_a_relay_agent_that_asks_all_the_time(start: Start) -> None:
    """The limit is that of the agent, whatever clients it names; the clients themselves are heard."""
    gateway = start(WIDE, "nat")
    batch = [(LAN, Client(gateway, mac_of(i), giaddr="10.0.0.5", server=OWN).frame(DISCOVER, source=AGENT_MAC))
             for i in range(600)]
    gateway.send_many(batch)
    assert 390 <= gateway.stats()["dhcps_limited"] == gateway.drops()["dhcps-limited"] <= 405
    assert said(gateway, f"lan.dhcp: too many messages of {AGENT_MAC}")
    assert Client(gateway, mac_of(3), server=OWN).discover()


def test_messages_that_name_a_client_take_nothing_of_its_limit(start: Start) -> None:
    gateway = start(CONFIG, "nat")
    gateway.send_many([(LAN, behind(gateway, 2).frame(DISCOVER, source=AGENT_MAC)) for _ in range(50)])
    assert gateway.drops()["dhcps-limited"] == 30
    assert Client(gateway, mac_of(2)).discover()


def test_a_relay_agent_of_another_of_our_networks(start: Start) -> None:
    """A station of lan2 has no business in the pool of lan."""
    gateway = start(TWO, "nat")
    victim = Client(gateway)
    mine = victim.lease()
    for kind in (DISCOVER, RELEASE, DECLINE):
        frame = Client(gateway, giaddr=AGENT_IP, port="lan2").frame(kind, {WANTED: ip(mine)}, ciaddr=mine,
                                                                   source=AGENT_MAC, to="255.255.255.255")
        assert not answers(gateway.send("lan2", frame) + gateway.wait(1), port="lan2")
    assert gateway.drops() == {"dhcps-not-ours": 3} and leases(gateway)[mine].startswith("bound")
    assert said(gateway, f"lan2.dhcp: relay agent {AGENT_IP} at {AGENT_MAC} has no address of this network")
    assert Client(gateway, port="lan2", server="192.168.2.1").lease().startswith("192.168.2.")


@pytest.mark.parametrize("kind", [RELEASE, DECLINE])
@pytest.mark.parametrize("given", ["by its identifier", "by its MAC address"])
def test_another_station_ends_no_lease(start: Start, kind: int, given: str) -> None:
    """One that knows the client's identifier, and one that names the client as a relay agent does."""
    gateway = start(CONFIG, "nat")
    mark = {CLIENT_ID: b"\0me"} if given == "by its identifier" else {}
    victim = Client(gateway, options=mark)
    mine = victim.lease()
    said_by = (Client(gateway, mac_of(9), options=mark) if mark else Client(gateway, giaddr=AGENT_IP))
    frame = said_by.frame(kind, {WANTED: ip(mine), SERVER_ID: ip(INSIDE)}, ciaddr=mine,
                          source=None if mark else AGENT_MAC, to=INSIDE)
    assert not gateway.send(LAN, frame) and gateway.drops() == {"dhcps-not-ours": 1}
    assert leases(gateway)[mine].startswith(f"bound {victim.mac}")
    answer = victim.renew(mine)
    assert answer is not None and answer.kind == ACK
    getattr(victim, "release" if kind == RELEASE else "decline")(mine)
    assert not leases(gateway).get(mine, "").startswith("bound")


def test_two_stations_with_one_identifier(start: Start) -> None:
    """Copies of a machine: each has an address, and keeps it also when the other's has ended."""
    gateway = start(CONFIG, "nat")
    one, two = (Client(gateway, mac_of(i), options={CLIENT_ID: b"\0copy"}) for i in (1, 2))
    first, second = one.lease(), two.lease()
    assert first != second
    assert leases(gateway)[first].startswith(f"bound {one.mac}")
    assert leases(gateway)[second].startswith(f"bound {two.mac}")
    for client, address in ((one, first), (two, second), (two, second)):
        answer = client.renew(address)
        assert answer is not None and answer.kind == ACK
        assert client.discover().yiaddr == address  # type: ignore[union-attr]
    one.release(first)
    answer = two.renew(second)
    assert answer is not None and answer.kind == ACK and gateway.stats()["dhcps_leases"] == 1


def test_a_static_lease_is_not_taken_by_an_agent(start: Start) -> None:
    gateway = start(CONFIG + f"lan.dhcp-static {mac_of(1)} 192.168.1.20\n", "nat")
    reached(gateway)
    assert Client(gateway).lease() == "192.168.1.20"
    offer = behind(gateway, 1).discover(source=AGENT_MAC)
    assert offer is not None and offer.yiaddr != "192.168.1.20"
    assert leases(gateway)["192.168.1.20"].startswith("bound")


def test_a_station_that_answers_for_every_address(start: Start) -> None:
    """Four addresses are looked at for one message; the next message begins again."""
    gateway = start(CONFIG, "nat")
    client = Client(gateway)
    for times in (1, 2):
        sent, asked = gateway.send(LAN, client.frame(DISCOVER)), 0
        while sent:
            asked += 1
            sent = gateway.send(LAN, arp_reply(sent[0], mac_of(66)))
        assert asked == 4 and gateway.stats()["dhcps_conflicts"] == 4 * times and not gateway.wait(1)
    assert client.lease()


def test_reasons_are_in_the_log(start: Start) -> None:
    """Once a minute for each kind."""
    gateway = start(CONFIG, "nat")
    client = Client(gateway)
    for _ in range(3):
        answer = client.reboot("10.1.1.1")
        assert answer is not None and answer.kind == NAK
        gateway.send(LAN, client.frame(DISCOVER, source=mac_of(7)))
    lines = [line for line in gateway.lines("log") if "lan.dhcp: " in line]
    assert len(lines) == 2
    assert f"{client.mac} does not get 10.1.1.1: it is of another network" in lines[0]
    assert f"message of {mac_of(7)}: it is for another station, and from no relay agent" in lines[1]
