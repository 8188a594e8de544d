# SPDX-License-Identifier: BSD-2-Clause
"""How tables, ports and limits are shared when they are used up: between inside hosts, and with strangers, remote
endpoints that no inside host has sent to."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gateway import A, B, LAN, NAT, NEAR, OUTSIDE, SERVER, SERVER2, WAN, Gateway, Sent, only
from pieces import cut
from scapy.layers.inet import IP, TCP, UDP
from scapy.packet import Packet, Raw
from tcp import Connection
from traffic import answer, frame_of, icmp_kind, open_out, request, use_up

Start = Callable[..., Gateway]
SMALL = NAT.replace("nat.sessions 256", "nat.sessions 200")
FULL = NAT.replace("nat.sessions 256", "nat.sessions 70000")
HIGH = range(1024, 65536)


def stranger(n: int, kind: str = "udp", dport: int = 80, *, source: str = "") -> Packet:
    """The first packet of the n-th remote endpoint."""
    return IP(src=source or f"198.18.{n // 250}.{n % 250 + 1}", dst=OUTSIDE) / request(kind, 4000, dport=dport)


def back(gateway: Gateway, n: int) -> list[Sent]:
    """B answers the n-th stranger over UDP."""
    return gateway.ip_from(B, IP(src=B.ip, dst=f"198.18.{n // 250}.{n % 250 + 1}") / UDP(sport=80, dport=4000))


# --- ports ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["udp", "tcp"])
@pytest.mark.virtual
def test_one_host_cannot_keep_all_ports(start: Start, kind: str) -> None:
    """A host that took all ports loses unanswered ones to hosts with fewer ports, and to those only."""
    gateway = start(FULL + f"nat.forward {kind} 1024 {A.ip}:9\n")
    use_up(gateway, A, HIGH[1:], kind)
    for port in HIGH[1:100]:
        assert answer(gateway, kind, port)
    gateway.lan(IP(src=A.ip, dst=SERVER) / request(kind, HIGH[0]))
    assert gateway.drops() == {"no-port": 1}
    used = [open_out(gateway, kind, port, host=B) for port in HIGH[100:140]]
    assert len(set(used)) == 40
    assert all(port in HIGH for port in used)
    if kind == "udp":
        assert not set(used) & set(HIGH[:100])
        for port in HIGH[1:100]:
            only(answer(gateway, kind, port), LAN)
    assert gateway.stats()["nat_sessions_evicted"] == 40
    for port in used:
        assert only(answer(gateway, kind, port), LAN).ip.dst == B.ip


@pytest.mark.virtual
def test_ports_in_use_are_not_taken(start: Start) -> None:
    gateway = start(FULL)
    use_up(gateway, A, HIGH, answered=True)
    told = only(gateway.ip_from(B, IP(src=B.ip, dst=SERVER) / request("udp", 8080)), LAN)
    assert icmp_kind(told) == (3, 13)
    assert gateway.drops() == {"no-port": 1}
    assert open_out(gateway, "udp", 81, host=B) == 81
    assert open_out(gateway, "tcp", 8080, host=B) == 8080


# --- strangers ----------------------------------------------------------------------------------------


def test_strangers_do_not_use_up_the_host_limit(start: Start) -> None:
    """A session that a remote endpoint opens to a service counts only once the service answers."""
    gateway = start(NAT + f"nat.forward udp 80 {B.ip}:80\nnat.host-limit 3\n")
    for n in range(20):
        only(gateway.wan(stranger(n)), LAN)
    for n in range(3):
        open_out(gateway, number=5000 + n, host=B)
    told = only(gateway.ip_from(B, IP(src=B.ip, dst=SERVER) / request("udp", 6000)), LAN)
    assert icmp_kind(told) == (3, 13)
    assert gateway.wan(stranger(77)) == []
    only(back(gateway, 0), WAN)  # a session that exists still works
    assert gateway.drops() == {"host-limit": 2}


def test_a_handshake_alone_does_not_count(start: Start) -> None:
    """A service answers every SYN; only an established connection counts."""
    gateway = start(NAT + f"nat.forward tcp 80 {B.ip}:80\nnat.host-limit 3\n")
    for n in range(20):
        client = only(gateway.wan(stranger(n, "tcp")), LAN).ip.src
        only(gateway.ip_from(B, IP(src=B.ip, dst=client) / TCP(sport=80, dport=4000, flags="SA", seq=4, ack=1001)))
    for n in range(3):
        open_out(gateway, number=5000 + n, host=B)
    assert gateway.drops() == {}


def test_answered_strangers_use_up_the_host_limit(start: Start) -> None:
    gateway = start(NAT + f"nat.forward udp 80 {B.ip}:80\nnat.host-limit 3\n")
    for n in range(20):
        only(gateway.wan(stranger(n)), LAN)
    for n in range(10):
        only(back(gateway, n), WAN)
    assert only(gateway.ip_from(B, IP(src=B.ip, dst=SERVER) / request("udp", 6000))).port == LAN
    assert gateway.drops() == {"host-limit": 1}


@pytest.mark.virtual
def test_answers_beyond_the_host_limit_do_not_count(start: Start) -> None:
    """Such answers pass, but the session becomes the host's own only within its limit."""
    gateway = start(NAT + f"nat.forward udp 80 {B.ip}:80\nnat.host-limit 3\nnat.udp-timeout 300\n")
    for n in range(10):
        only(gateway.wan(stranger(n)), LAN)
    for n in range(3):
        only(back(gateway, n), WAN)
    gateway.wait(200)
    for n in range(3, 10):
        only(back(gateway, n), WAN)
    gateway.wait(110)  # the first three have expired, the others have not
    open_out(gateway, number=6000, host=B)
    assert gateway.drops() == {}


@pytest.mark.parametrize("filtering", ["address-dependent", "endpoint-independent"])
@pytest.mark.virtual
def test_strangers_do_not_keep_a_mapping(start: Start, filtering: str) -> None:
    """RFC 4787 REQ-6: remote endpoints send one after the other; this extends no lifetime."""
    gateway = start(NAT + f"nat.filtering {filtering}\nnat.udp-timeout 300\n")
    sent = only(gateway.ip_from(A, IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=53)), WAN)
    for n in range(29):
        gateway.wait(10)
        packet = IP(src=SERVER, dst=OUTSIDE) / UDP(sport=1000 + n, dport=sent.ip[UDP].sport)
        only(gateway.wan(packet), LAN)
    gateway.wait(15)
    assert gateway.wan(IP(src=SERVER, dst=OUTSIDE) / UDP(sport=9, dport=sent.ip[UDP].sport)) == []
    assert gateway.stats()["nat_sessions"] == 0


@pytest.mark.virtual
def test_strangers_to_a_mapping_take_no_host_a_place(start: Start) -> None:
    gateway = start(SMALL + "nat.filtering endpoint-independent\n")
    sent = only(gateway.ip_from(A, IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=53)), WAN)
    for n in range(199):
        only(gateway.ip_from(B, IP(src=B.ip, dst=SERVER) / UDP(sport=2000 + n, dport=53)), WAN)
    for n in range(300):
        packet = IP(src=f"198.51.100.{n % 200 + 10}", dst=OUTSIDE) / UDP(sport=n + 1, dport=sent.ip[UDP].sport)
        assert gateway.wan(packet) == []
    assert gateway.drops() == {"table-full": 300}


@pytest.mark.parametrize("filling", ["udp", "tcp", "tcp answered", "one address"])
@pytest.mark.virtual
def test_strangers_take_nobodys_place(start: Start, filling: str) -> None:
    """They fill the table through a forwarded port. Inside hosts can still open sessions, and sessions that the service
    answered stay."""
    kind = filling.split()[0].replace("one", "udp")
    gateway = start(SMALL + f"nat.forward udp 80 {B.ip}:80\nnat.forward tcp 80 {B.ip}:80\n")
    only(gateway.wan(stranger(999)), LAN)
    only(back(gateway, 999), WAN)
    client = IP(src=SERVER2, dst=OUTSIDE) / TCP(sport=4000, dport=80, flags="S", seq=99)
    only(gateway.wan(client), LAN)
    only(gateway.ip_from(B, IP(src=B.ip, dst=SERVER2) / TCP(sport=80, dport=4000, flags="SA", seq=4, ack=100)), WAN)
    only(gateway.wan(IP(src=SERVER2, dst=OUTSIDE) / TCP(sport=4000, dport=80, flags="A", seq=100, ack=5)), LAN)
    only(gateway.ip_from(B, IP(src=B.ip, dst=SERVER2) / TCP(sport=80, dport=4000, flags="A", seq=5, ack=100)), WAN)
    for n in range(300):
        packet = stranger(n, kind)
        if filling == "one address":
            packet = IP(src=SERVER, dst=OUTSIDE) / UDP(sport=1000 + n, dport=80)
        got = only(gateway.wan(packet), LAN)
        if filling == "tcp answered":
            only(gateway.ip_from(B, IP(src=B.ip, dst=got.ip.src) / TCP(sport=80, dport=4000, flags="SA", seq=4,
                                                                      ack=1001)), WAN)
    assert gateway.stats()["nat_sessions"] == 200
    for n in range(60):
        open_out(gateway, number=5000 + n)
        only(answer(gateway, "udp", 5000 + n), LAN)
    for n in range(60):
        only(answer(gateway, "udp", 5000 + n), LAN)
    only(gateway.wan(stranger(999)), LAN)
    only(gateway.wan(IP(src=SERVER2, dst=OUTSIDE) / TCP(sport=4000, dport=80, flags="PA", seq=100, ack=5) / b"x"), LAN)
    assert any("established" in line for line in gateway.lines("sessions"))
    assert gateway.drops() == {}


@pytest.mark.virtual
def test_strangers_let_in_by_the_filter(start: Start) -> None:
    """As test_strangers_take_nobodys_place, over the mapping of a host that only sends."""
    gateway = start(SMALL + "nat.filtering endpoint-independent\n")
    open_out(gateway, number=80, host=B)
    for n in range(400):
        only(gateway.wan(stranger(n)), LAN)
    for n in range(100):
        open_out(gateway, number=5000 + n)
        only(answer(gateway, "udp", 5000 + n), LAN)
    for n in range(100):
        only(answer(gateway, "udp", 5000 + n), LAN)
    assert gateway.drops() == {}


def test_a_session_taken_up_is_not_evicted(start: Start) -> None:
    gateway = start(SMALL + f"nat.forward udp 80 {B.ip}:80\n")
    for n in range(200):
        only(gateway.wan(stranger(n)), LAN)
        only(back(gateway, n), WAN)
    assert only(gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=9)), LAN)
    assert gateway.wan(stranger(700)) == []
    assert gateway.drops() == {"table-full": 2}


# --- connections that are over --------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["fin", "reset"])
@pytest.mark.virtual
def test_ended_connections_are_evicted(start: Start, how: str) -> None:
    gateway = start(SMALL)
    for n in range(200):
        connection = Connection(gateway, sport=10000 + n).establish()
        if how == "fin":
            only(connection.out("FA"), WAN)
            only(connection.back("FA"), LAN)
            only(connection.out("A"), WAN)
        else:
            only(connection.back("R"), LAN)
    for n in range(20):
        open_out(gateway, number=5000 + n, host=B)
        open_out(gateway, number=6000 + n)
    assert gateway.stats()["nat_sessions_evicted"] == 40
    assert gateway.drops() == {}


# --- a packet that cannot be forwarded opens no session
# -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["udp", "tcp"])
@pytest.mark.parametrize("config", [f"nat.forward udp 80 {A.ip}:80\nnat.forward tcp 80 {A.ip}:80\n",
                                    "nat.filtering endpoint-independent\n", ""])
def test_packet_that_cannot_be_forwarded_opens_no_session(start: Start, kind: str, config: str) -> None:
    gateway = start(NAT + "lan.mtu 1280\n" + config)
    if "forward" not in config:
        open_out(gateway, kind, 80, to=NEAR.ip)
    sessions = gateway.lines("sessions")
    source = NEAR.ip if config == "" else SERVER
    late = stranger(0, kind, source=source)
    late.ttl = 1
    assert icmp_kind(only(gateway.wan(late), WAN)) == (11, 0)
    large = stranger(0, kind, source=source) / bytes(1300)
    large.flags = "DF"
    assert icmp_kind(only(gateway.wan(large), WAN)) == (3, 4)
    assert gateway.drops() == {"ttl": 1, "too-big": 1}
    assert [line.split()[:-1] for line in gateway.lines("sessions")] == [line.split()[:-1] for line in sessions]
    only(gateway.wan(stranger(0, kind, source=source)), LAN)
    assert len(gateway.lines("sessions")) == len(sessions) + 1


def test_packet_that_cannot_be_forwarded_tells_strangers_nothing(gateway: Gateway) -> None:
    """The filter lets nobody in; an error would reveal that there is a mapping."""
    open_out(gateway, "udp", 80)
    late = stranger(0)
    late.ttl = 1
    assert gateway.wan(late) == []
    assert gateway.drops() == {"filtered": 1}


def test_protocol41_that_cannot_be_forwarded_opens_no_session(start: Start) -> None:
    gateway = start(NAT + f"nat.protocol41 {B.ip}\nlan.mtu 1280\n")
    assert icmp_kind(only(gateway.wan(IP(src=SERVER, dst=OUTSIDE, proto=41, ttl=1) / Raw(bytes(40))), WAN)) == (11, 0)
    large = IP(src=SERVER, dst=OUTSIDE, proto=41, flags="DF") / Raw(bytes(1300))
    assert icmp_kind(only(gateway.wan(large), WAN)) == (3, 4)
    assert gateway.lines("sessions") == []


def test_protocol41_finds_room(start: Start) -> None:
    """The configured router receives packets although strangers or a scanner filled the table."""
    gateway = start(SMALL + f"nat.protocol41 {B.ip}\n")
    gateway.send_many([frame_of(A, IP(src=A.ip, dst=SERVER) / UDP(sport=2000 + n)) for n in range(250)])
    assert only(gateway.wan(IP(src=SERVER, dst=OUTSIDE, proto=41) / Raw(bytes(40))), LAN).ip.dst == B.ip
    only(gateway.ip_from(B, IP(src=B.ip, dst=SERVER, proto=41) / Raw(bytes(40))), WAN)


def test_later_fragments_that_cannot_be_forwarded_are_not_counted(start: Start) -> None:
    """A fragment that was dropped here does not make its packet seem complete."""
    gateway = start(NAT + f"nat.forward udp 80 {B.ip}:80\n")
    parts = cut(IP(src=SERVER, dst=OUTSIDE, id=5) / UDP(sport=4000, dport=80) / bytes(4000))
    only(gateway.wan(parts[0]), LAN)
    for part in parts[1:]:
        dead = part.copy()
        dead.ttl = 1
        del dead.chksum
        assert gateway.wan(dead) == []
    for part in parts[1:]:
        only(gateway.wan(part), LAN)
