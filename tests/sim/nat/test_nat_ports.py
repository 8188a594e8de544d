# SPDX-License-Identifier: BSD-2-Clause
"""Which port and pool address a host gets when the ones it prefers are taken (RFC 4787 REQ-2 to REQ-4)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gateway import LAN, NAT, OUTSIDE, SERVER, WAN, Gateway, Host, Sent, only
from scapy.layers.inet import IP, UDP
from scapy.packet import Packet, Raw
from tcp import Connection
from test_rfc4787 import hosts
from traffic import frame_of, outer

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
GRE = 47


def pool(n: int, sessions: int = 2000) -> str:
    config = NAT.replace("nat.sessions 256", f"nat.sessions {sessions}")
    return config + f"nat.pool 203.0.113.40-203.0.113.{39 + n}\n"


def many(n: int) -> list[Host]:
    """More hosts than one network of the LAN holds."""
    return [Host(LAN, f"10.0.{k // 250}.{k % 250 + 1}", f"52:54:00:01:{k // 256:02x}:{k % 256:02x}")
            for k in range(n)]


def send_all(gateway: Gateway, packets: list[tuple[Host, Packet]]) -> list[Sent]:
    """Sends packets, each of which makes one frame leave; gives these frames."""
    return [only(sent) for sent in gateway.send_many([frame_of(host, packet) for host, packet in packets])]


def test_hosts_that_keep_a_low_port_find_another_one(start: Start) -> None:
    """1200 hosts send NTP from port 123, and each gets a port: first a low one of the same parity, then a low one of
    the other parity, then a high one."""
    gateway = start(NAT.replace("nat.sessions 256", "nat.sessions 2000") + "lan.address 10.0.0.254/8\n")
    clocks = many(1200)
    sent = send_all(gateway, [(host, IP(src=host.ip, dst=SERVER) / UDP(sport=123, dport=123)) for host in clocks])
    ports = [outer(one) for one in sent]
    assert len(set(ports)) == 1200 and gateway.drops() == {}
    assert ports[0] == 123
    assert set(ports[:512]) == set(range(1, 1024, 2))
    assert set(ports[512:1023]) == set(range(2, 1024, 2))
    assert all(port >= 1024 and port % 2 == 1 for port in ports[1023:])
    for host, port in list(zip(clocks, ports, strict=True))[::50]:
        back = IP(src=SERVER, dst=OUTSIDE) / UDP(sport=123, dport=port)
        gateway.wan(back)  # the gateway sends an ARP request for the host
        assert f"udp {host.ip}:123 {OUTSIDE}:{port}" in "\n".join(gateway.lines("sessions"))
    gateway.wait(5)


def test_a_new_host_gets_an_address_that_can_serve_it(start: Start) -> None:
    """Protocols without ports: with as many addresses as hosts, each host talks to the same server through an address
    of its own."""
    gateway = start(pool(8))
    sent = [only(gateway.ip_from(host, IP(src=host.ip, dst=SERVER, proto=GRE) / Raw(bytes(8))), WAN).ip.src
            for host in hosts(8)]
    assert len(set(sent)) == 8
    one_more = hosts(9)[8]
    assert gateway.ip_from(one_more, IP(src=one_more.ip, dst=SERVER, proto=GRE) / Raw(bytes(8))) == []
    assert gateway.drops() == {"ambiguous": 1}
    assert gateway.stats()["nat_hosts"] == 8


def test_a_host_stays_at_its_address(start: Start) -> None:
    """A host with sessions uses one address, even where that address cannot serve it (RFC 7857 section 4)."""
    gateway = start(pool(2))
    first, *others = hosts(10)
    only(gateway.ip_from(first, IP(src=first.ip, dst=SERVER, proto=GRE) / Raw(bytes(8))), WAN)
    shown = {}
    for host in others:
        shown[host] = only(gateway.ip_from(host, IP(src=host.ip, dst=SERVER) / UDP(sport=5000)), WAN).ip.src
    refused = 0
    for host in others:
        for sent in gateway.ip_from(host, IP(src=host.ip, dst=SERVER, proto=GRE) / Raw(bytes(8))):
            assert sent.ip.src == shown[host]
            break
        else:
            refused += 1
    assert refused == 8 and gateway.drops() == {"ambiguous": 8}


def gre(gateway: Gateway, host: Host) -> list[Sent]:
    return gateway.ip_from(host, IP(src=host.ip, dst=SERVER, proto=GRE) / Raw(bytes(8)))


def about_to_move(start: Start, seed: int, mover: Host, config: str = "") -> tuple[Gateway, str]:
    """Makes a full table in which the last session of a host, `mover`, is over. Its address has more hosts than the
    other one, through which a host has a session of protocol 47 with the server. Gives the address of `mover`."""
    gateway = start(pool(2, 16) + config, seed=seed)
    others = hosts(14)[1:]
    connection = Connection(gateway, mover)
    left = only(connection.out("S"), WAN).ip.src

    def back(flags: str) -> None:
        packet = connection.segment("out", flags)
        packet[IP].dst = left
        gateway.wan(packet)

    back("SA")
    connection.out("A")
    shown = {host: only(gateway.ip_from(host, IP(src=host.ip, dst=SERVER) / UDP(sport=5000)), WAN).ip.src
             for host in others[:10]}
    gateway.wait(200)
    stay = [host for host in others[:10] if shown[host] == left]
    for host in stay:
        gateway.ip_from(host, IP(src=host.ip, dst=SERVER) / UDP(sport=5000))
    gateway.wait(150)  # the sessions of the other address's hosts have expired
    for host in others[10:]:
        if [one for one in gre(gateway, host) if one.ip.src != left]:
            break
    back("R")
    assert connection.state == "transitory"
    number = 6000
    while gateway.stats()["nat_sessions"] < 16:
        sent = only(gateway.ip_from(stay[0], IP(src=stay[0].ip, dst=SERVER) / UDP(sport=number, dport=53)), WAN)
        gateway.wan(IP(src=SERVER, dst=sent.ip.src) / UDP(sport=53, dport=outer(sent)))
        number += 1
    return gateway, left


@pytest.mark.parametrize("seed", range(8))
def test_room_for_a_protocol_without_ports(start: Start, seed: int) -> None:
    """A host whose last session is evicted for its new one may get another address: there it does not take the place of
    another host."""
    mover = hosts(1)[0]
    gateway, _ = about_to_move(start, seed, mover)
    for _ in range(20):  # the entry to evict is chosen at random
        gre(gateway, mover)
        if gateway.stats()["nat_sessions_evicted"]:
            break
    evicted = gateway.stats()["nat_sessions_evicted"]
    assert evicted == 1 or "ambiguous" in gateway.drops()  # when another host had that key at its own address
    keys = [tuple(line.split()[2:4]) for line in gateway.lines("sessions") if line.startswith("proto-")]
    assert len(keys) == len(set(keys))
    gateway.wait(5)


@pytest.mark.parametrize("seed", range(8))
def test_room_for_the_router_of_protocol41(start: Start, seed: int) -> None:
    """As before, for a packet that comes to the router: it goes to the address that the router then has, or is
    dropped."""
    mover = hosts(1)[0]
    gateway, left = about_to_move(start, seed, mover, f"nat.protocol41 {hosts(1)[0].ip}\n")
    for _ in range(20):
        gateway.wan(IP(src=SERVER, dst=left, proto=41) / Raw(bytes(40)))
        if gateway.stats()["nat_sessions_evicted"]:
            break
    assert gateway.stats()["nat_sessions_evicted"] == 1
    shown = [line.split()[2] for line in gateway.lines("sessions") if line.startswith("proto-41")]
    assert shown == [left] if "table-full" not in gateway.drops() else shown == []
    gateway.wait(5)  # packets that wait for the host's ARP reply have correct checksums
