# SPDX-License-Identifier: BSD-2-Clause
"""`serve pcp` and its hosts: those that ask too often, and those whose DHCP lease is over."""

from __future__ import annotations

import portcontrol as pc
import pytest
from gateway import INSIDE, LAN, NAT, A, B, Gateway, Host
from lanclients import CLIENT_ID, Client, Start
from portcontrol import map_request, pmp_map
from scapy.layers.inet import IP
from scapy.layers.inet import UDP as Udp
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

pytestmark = pytest.mark.virtual

CONFIG = NAT + "serve pcp\n"
POOL = CONFIG + "lan.dhcp 192.168.1.10-192.168.1.20\nlan.dhcp-lease 600\n"


def frame(gateway: Gateway, host: Host, data: bytes) -> Ether:
    return (Ether(src=host.mac, dst=gateway.mac(host.port)) / IP(src=host.ip, dst=INSIDE) /
            Udp(sport=40000, dport=pc.PORT) / Raw(data))


def ask(gateway: Gateway, host: Host, data: bytes) -> pc.Answer:
    [sent] = gateway.send(LAN, frame(gateway, host, data))
    return pc.parse(bytes(sent.ip[Udp].payload)[:sent.ip[Udp].len - 8])


def held(gateway: Gateway) -> int:
    return gateway.stats()["pcp_mappings"]


def test_a_host_that_asks_too_often(start: Start) -> None:
    """It gets 20 answers a second after a burst of 128; another host has its own (section 8.2)."""
    box = start(CONFIG)
    box.wait(300)
    data = map_request(A.ip, 5000)
    sent = box.send_many([(LAN, frame(box, A, data))] * 200)
    assert 128 <= sum(map(bool, sent)) <= 140
    assert box.drops()["pcp-limit"] == 200 - sum(map(bool, sent))
    assert ask(box, B, map_request(B.ip, 5000)).result == pc.SUCCESS
    box.wait(1)
    assert 18 <= sum(map(bool, box.send_many([(LAN, frame(box, A, pmp_map(5000)))] * 40))) <= 24


def test_all_hosts_together(start: Start) -> None:
    """A burst of 2000, from hosts behind a router that each ask once: each is a client (net/client.h)."""
    box = start(CONFIG + f"route 10.50.0.0/24 via {A.ip}\n", packets=2048)
    box.wait(300)
    hosts = [Host(LAN, f"10.50.0.{i}", A.mac) for i in range(20, 250)]
    for _ in range(10):
        box.send_many([(LAN, frame(box, host, pc.pmp_address())) for host in hosts])
    assert 200 <= box.drops()["pcp-limit"] <= 300


def rotating(n: int) -> list[Host]:
    """One station with many addresses, which the gateway knows."""
    return [Host(LAN, f"192.168.1.{100 + i}", A.mac) for i in range(n)]


def known(hosts: list[Host]) -> str:
    return "".join(f"neighbour {host.ip} {host.mac}\n" for host in hosts)


def test_a_host_with_many_addresses(start: Start) -> None:
    """All of a station are one host, for what it may have and for how often it asks."""
    hosts = rotating(8)
    box = start(CONFIG + "pcp.limit 3\n" + known(hosts))
    box.wait(300)
    results = [ask(box, host, map_request(host.ip, 5000)).result for host in hosts]
    assert results == [pc.SUCCESS] * 3 + [pc.USER_EX_QUOTA] * 5
    assert ask(box, B, map_request(B.ip, 5000)).result == pc.SUCCESS
    frames = [(LAN, frame(box, hosts[i % 8], map_request(hosts[i % 8].ip, 5000))) for i in range(200)]
    assert 110 <= sum(map(bool, box.send_many(frames))) <= 140


def test_hosts_that_are_not_known_yet(start: Start) -> None:
    """They share what one may have, until the answer has found its way to them."""
    hosts = [Host(LAN, f"192.168.1.{100 + i}", f"52:54:00:00:09:{i:02x}") for i in range(4)]
    box = start(CONFIG + "pcp.limit 2\n")
    box.wait(300)
    for first in (0, 2):
        for host in hosts[first:first + 2]:
            sent = box.send(LAN, frame(box, host, map_request(host.ip, 5000)))
            assert sent[0].frame[ARP].pdst == host.ip
            box.send(LAN, Ether(src=host.mac, dst=box.mac(LAN)) / ARP(
                op=2, hwsrc=host.mac, psrc=host.ip, hwdst=box.mac(LAN), pdst=INSIDE))
        box.wait(1)
        assert held(box) == first + 2
    assert ask(box, hosts[0], map_request(hosts[0].ip, 5001)).result == pc.SUCCESS
    assert ask(box, hosts[0], map_request(hosts[0].ip, 5002)).result == pc.USER_EX_QUOTA


def test_the_lease_ends(start: Start) -> None:
    """Mappings go with the lease of their host, by DHCPRELEASE and by time; others stay."""
    box = start(POOL)
    client = Client(box, mac=A.mac)
    assert client.lease(A.ip) == A.ip
    ask(box, A, map_request(A.ip, 5000))
    ask(box, B, map_request(B.ip, 5000, 1000))
    box.wait(5)
    client.release(A.ip)
    box.wait(5)
    assert held(box) == 1 and box.stats()["pcp_leases_over"] == 1
    assert client.lease(A.ip) == A.ip
    ask(box, A, map_request(A.ip, 5000))
    box.wait(590)
    assert held(box) == 2
    box.wait(20)
    assert held(box) == 1 and box.stats()["pcp_leases_over"] == 2


def test_the_lease_is_renewed(start: Start) -> None:
    """Its mappings stay; so do those of a host that asked before it had a lease."""
    box = start(POOL)
    client = Client(box, mac=A.mac)
    ask(box, A, map_request(A.ip, 5000))
    assert client.lease(A.ip) == A.ip
    for _ in range(10):
        box.wait(300)
        assert client.renew(A.ip) is not None
    assert held(box) == 1
    box.wait(620)
    assert held(box) == 0


def test_a_client_identifier_takes_no_address_over(start: Start) -> None:
    """Another station with the identifier of the one that has a lease is another client: it gets another address, and
    the mapping stays with the first.
    """
    box = start(POOL)
    same: dict[int, bytes | None] = {CLIENT_ID: b"\0station"}
    assert Client(box, A.mac, same).lease(A.ip) == A.ip
    ask(box, A, map_request(A.ip, 5000))
    box.wait(5)
    assert held(box) == 1
    assert Client(box, "02:00:00:00:00:99", same).lease(A.ip) != A.ip
    box.wait(5)
    assert held(box) == 1 and box.stats()["pcp_leases_over"] == 0
