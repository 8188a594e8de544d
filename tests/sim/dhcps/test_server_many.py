# SPDX-License-Identifier: BSD-2-Clause
"""Many clients of the DHCP server, and those that mean harm."""

from __future__ import annotations

import pytest
from gateway import LAN
from lanclients import (
    ACK,
    CONFIG,
    DECLINE,
    DISCOVER,
    OFFER,
    REQUEST,
    SERVER_ID,
    WANTED,
    Client,
    Start,
    answers,
    ip,
    leases,
    mac_of,
)

pytestmark = pytest.mark.virtual
WIDE = ("lan.address 10.0.0.1/16\nwan.address 203.0.113.2/24\nlan.dhcp 10.0.1.0-10.0.8.255\n")
OWN = "10.0.0.1"
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
