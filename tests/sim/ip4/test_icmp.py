# SPDX-License-Identifier: BSD-2-Clause
"""ICMP of the gateway itself: echo (RFC 792, RFC 1122), and when errors are sent (RFC 1812 section 4.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from gateway import (
    A, B, BROADCAST, INSIDE, LAN, NAT, OUTSIDE, PORT_MAC, ROUTER, SERVER, WAN, Gateway, Host, only,
)
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

Start = Callable[..., Gateway]
SIDES = pytest.mark.parametrize(("host", "own"), [(A, INSIDE), (ROUTER, OUTSIDE)], ids=["lan", "wan"])


# --- echo ---------------------------------------------------------------------------------------


@SIDES
@pytest.mark.parametrize("data", [b"", b"x", b"ab", bytes(range(256)) * 5 + b"odd"], ids=len)
def test_echo(gateway: Gateway, host: Host, own: str, data: bytes) -> None:
    sent = only(gateway.ip_from(host, IP(src=host.ip, dst=own, tos=0x48, ttl=3) / ICMP(id=0xbeef, seq=513) / data))
    assert (sent.port, sent.frame.dst, sent.ip.src, sent.ip.dst) == (host.port, host.mac, own, host.ip)
    icmp = sent.frame[ICMP]
    assert (icmp.type, icmp.code, icmp.id, icmp.seq) == (0, 0, 0xbeef, 513)
    assert bytes(icmp.payload) == data
    assert (sent.ip.ttl, sent.ip.tos) == (64, 0x48)


def test_echo_of_nothing_but_zeros(gateway: Gateway) -> None:
    """The sum of the reply is +0: its checksum is all ones, not zero (RFC 1624 section 3)."""
    sent = only(gateway.lan(IP(src=A.ip, dst=INSIDE) / ICMP(id=0, seq=0) / bytes(32)))
    assert sent.frame[ICMP].chksum == 0xffff


def test_echo_to_the_outer_address_from_inside(gateway: Gateway) -> None:
    sent = only(gateway.lan(IP(src=A.ip, dst=OUTSIDE) / ICMP(id=1) / b"data"), LAN)
    assert (sent.ip.src, sent.frame[ICMP].type) == (OUTSIDE, 0)


def test_echo_identifications_differ(gateway: Gateway) -> None:
    """RFC 6864: two packets in a row to one destination have different identifications."""
    ids = [only(gateway.lan(IP(src=A.ip, dst=INSIDE) / ICMP(seq=n))).ip.id for n in range(20)]
    assert len(set(ids)) == 20


@SIDES
@pytest.mark.parametrize(("message", "reason"), [
    (b"\x08\x00\x12\x34" + bytes(4), "icmp-checksum"),
    (b"\x08\x00\xf7\xff\x00\x00\x00", "l4-header"),
    (bytes(ICMP(type=13, ts_ori=1, ts_rx=2, ts_tx=3)), "icmp-type"),
    (bytes(ICMP(type=17)), "icmp-type"),
    (bytes(ICMP(type=8, code=1)), "icmp-type"),
    (bytes(ICMP(type=255)), "icmp-type"),
])
def test_icmp_that_is_not_answered(gateway: Gateway, host: Host, own: str, message: bytes, reason: str) -> None:
    assert gateway.ip_from(host, IP(src=host.ip, dst=own, proto=1) / Raw(message)) == []
    assert gateway.drops() == {reason: 1}


@SIDES
def test_broadcast_ping_is_not_answered(gateway: Gateway, host: Host, own: str) -> None:
    """Nobody can use the gateway as an amplifier (RFC 2644)."""
    net = own.rsplit(".", 1)[0]
    for target in (own, f"{net}.255", f"{net}.0", "255.255.255.255"):
        frame = Ether(src=host.mac, dst=BROADCAST) / IP(src=host.ip, dst=target) / ICMP()
        assert gateway.send(host.port, frame) == []
    assert gateway.drops() == {"multicast": 4}


@SIDES
def test_ping_in_fragments_is_dropped(gateway: Gateway, host: Host, own: str) -> None:
    packet = IP(src=host.ip, dst=own, flags="MF") / ICMP() / bytes(56)
    assert gateway.ip_from(host, packet) == []
    assert gateway.drops() == {"fragment": 1}


@pytest.mark.parametrize(("packet", "code"), [
    (UDP(sport=1, dport=9), 3), (TCP(sport=1, dport=9), 3), (Raw(b"what is this?"), 2),
])
def test_no_service(gateway: Gateway, packet: Packet, code: int) -> None:
    """The gateway reports it to inside hosts; it sends nothing outside."""
    proto: dict[str, Any] = {} if code == 3 else {"proto": 99}
    icmp = only(gateway.lan(IP(src=A.ip, dst=INSIDE, **proto) / packet), LAN).frame[ICMP]
    assert (icmp.type, icmp.code) == (3, code)
    assert gateway.drops() == {"no-service": 1}
    assert gateway.wan(IP(src=SERVER, dst=OUTSIDE, **proto) / packet) == []


HOST4 = f"""
lan.address {INSIDE}/24
wan.address {OUTSIDE}/24
gateway {ROUTER.ip}
nameserver {SERVER}
neighbour {A.ip} {A.mac}
neighbour {ROUTER.ip} {ROUTER.mac}
"""


@SIDES
@pytest.mark.parametrize("target", ["own", "network", "directed", "limited", "group"])
def test_broadcast_ping_to_a_host(start: Start, host: Host, own: str, target: str) -> None:
    """As test_broadcast_ping_is_not_answered, for an application that forwards nothing: the gateway is a host."""
    gateway = start(HOST4, "dns64")
    net = own.rsplit(".", 1)[0]
    to = {"own": own, "network": f"{net}.0", "directed": f"{net}.255", "limited": "255.255.255.255",
          "group": "224.0.0.1"}[target]
    mac = "01:00:5e:00:00:01" if target == "group" else BROADCAST
    assert gateway.send(host.port, Ether(src=host.mac, dst=mac) / IP(src=host.ip, dst=to) / ICMP()) == []
    assert gateway.drops() == {"multicast": 1}


@pytest.mark.parametrize("packet", [UDP(sport=1, dport=9), TCP(sport=1, dport=9), Raw(b"what is this?")])
def test_closed_ports_of_a_host(start: Start, packet: Packet) -> None:
    """As test_no_service, without NAT: the gateway sends no errors about closed ports to the WAN."""
    gateway = start(HOST4, "dns64")
    proto: dict[str, Any] = {"proto": 99} if isinstance(packet, Raw) else {}
    assert gateway.wan(IP(src=SERVER, dst=OUTSIDE, **proto) / packet) == []
    assert gateway.drops() == {"no-service": 1}
    told = only(gateway.lan(IP(src=A.ip, dst=INSIDE, **proto) / packet), LAN).frame[ICMP]
    assert (told.type, told.code) == (3, 2 if proto else 3)


# --- errors --------------------------------------------------------------------------------------


def expired(**fields: Any) -> Packet:
    """A packet whose TTL expires here, so that an error is due."""
    return IP(**{"src": A.ip, "dst": SERVER, "ttl": 1, **fields})


def test_form_of_an_error(gateway: Gateway) -> None:
    """The error quotes as much as fits in 576 bytes (RFC 1812 section 4.3.2.3); its own header is plain."""
    packet = expired(tos=0x28, flags="DF") / UDP(sport=7, dport=8) / bytes(1000)
    first, second = (only(gateway.lan(packet), LAN) for _ in range(2))
    assert (first.ip.src, first.ip.dst, first.ip.ttl, first.ip.tos, int(first.ip.flags)) == (INSIDE, A.ip, 64, 0, 0)
    assert first.ip.id != second.ip.id
    assert first.ip.len == 576
    assert first.quote == bytes(packet)[:548]


@pytest.mark.parametrize("packet", [
    expired() / ICMP(type=3) / bytes(28),
    expired() / ICMP(type=4) / bytes(28),
    expired() / ICMP(type=5) / bytes(28),
    expired() / ICMP(type=11) / bytes(28),
    expired() / ICMP(type=12) / bytes(28),
    expired(proto=1),  # cut before its type
    expired(frag=1, proto=17) / Raw(bytes(32)),
    expired(frag=1, flags="MF", proto=17) / Raw(bytes(32)),
    expired(src="0.0.0.0") / UDP(),
    expired(src="127.0.0.1") / UDP(),
    expired(src="224.0.0.1") / UDP(),
    expired(src="255.255.255.255") / UDP(),
    expired(src="192.168.1.255") / UDP(),
    expired(src=SERVER) / UDP(),  # the route to this source is through another interface
])
def test_no_error_about(gateway: Gateway, packet: Packet) -> None:
    """RFC 1812 section 4.3.2.7."""
    assert gateway.lan(packet) == []
    assert sum(gateway.drops().values()) == 1
    assert gateway.stats()["icmp_errors_sent"] == 0


def test_no_error_about_a_link_broadcast(gateway: Gateway) -> None:
    frame = Ether(src=A.mac, dst=BROADCAST) / expired() / UDP()
    assert gateway.send(LAN, frame) == []


@pytest.mark.parametrize("packet", [
    expired() / ICMP(type=8) / bytes(8), expired() / ICMP(type=0) / bytes(8), expired() / ICMP(type=13) / bytes(20),
    expired(frag=0, flags="MF") / UDP() / bytes(24), expired(options=IPOption(b"\x94\x04\0\0")) / UDP(),
    expired() / TCP(),
])
def test_error_about(gateway: Gateway, packet: Packet) -> None:
    assert only(gateway.lan(packet), LAN).frame[ICMP].type == 11


@pytest.mark.virtual
def test_rate_of_errors_is_limited(gateway: Gateway) -> None:
    """RFC 1812 section 4.3.2.8: one addressee gets a burst of 50, then at most 250 a second. One error costs one or two
    of them at random, so that nobody can count the errors that others caused."""
    frame = Ether(src=A.mac, dst=PORT_MAC[LAN]) / expired() / UDP()
    gateway.wait(5)

    def answered(n: int) -> int:
        return sum(len(sent) for sent in gateway.send_many([(LAN, frame)] * n))

    sent = answered(300)
    assert 25 < sent < 50
    stats = gateway.stats()
    assert (stats["icmp_errors_sent"], stats["icmp_errors_suppressed"]) == (sent, 300 - sent)
    assert gateway.drops() == {"ttl": 300}
    gateway.wait(0.08)
    assert 10 <= answered(300) <= 20
    total = 0
    for _ in range(100):  # a steady rate below the limit loses nothing; above it the limit holds
        gateway.wait(0.02)
        total += answered(10)
    assert 250 < total < 500
    gateway.wait(10)
    assert 25 < answered(300) < 50


@pytest.mark.virtual
def test_errors_to_all_together_are_limited(start: Start) -> None:
    """All addressees together get a burst of 100, then at most 1000 a second."""
    names = [f"192.168.1.{20 + n}" for n in range(200)]
    gateway = start(NAT + "".join(f"neighbour {name} 52:54:00:00:03:{n:02x}\n" for n, name in enumerate(names[:60])))
    gateway.wait(5)
    frames = [(LAN, Ether(src=A.mac, dst=PORT_MAC[LAN]) / IP(src=name, dst=SERVER, ttl=1) / UDP())
              for name in names[:60] * 5]
    assert 50 < sum(len(sent) for sent in gateway.send_many(frames)) < 100
    gateway.wait(0.02)
    assert 10 <= sum(len(sent) for sent in gateway.send_many(frames)) <= 20


@pytest.mark.virtual
def test_a_flood_of_errors_leaves_others_theirs(gateway: Gateway) -> None:
    """A host that causes any number of errors leaves others their budgets, and everybody packet-too-big."""
    gateway.wait(5)
    flood = (LAN, Ether(src=A.mac, dst=PORT_MAC[LAN]) / expired() / UDP())
    for _ in range(20):
        gateway.send_many([flood] * 100)
        gateway.wait(0.01)
        other = IP(src=B.ip, dst=SERVER, ttl=1) / UDP()
        assert only(gateway.ip_from(B, other), LAN).frame[ICMP].type == 11


@pytest.mark.virtual
@pytest.mark.parametrize("known", [True, False])
def test_a_host_with_many_addresses_gets_the_errors_of_one(start: Start, known: bool) -> None:
    """It makes no difference whether the gateway knows them as neighbours. Other hosts get their errors, of either
    kind."""
    names = [f"192.168.1.{20 + n}" for n in range(60)]
    gateway = start(NAT + "wan.mtu 1280\n" + "".join(f"neighbour {name} {A.mac}\n" for name in names if known))
    gateway.wait(5)
    large, late = {"ttl": 64, "flags": "DF"}, {"ttl": 1}
    for how, size, kind in ((late, 0, 11), (large, 1300, 3)):
        def packet(name: str, how: dict[str, object] = how, size: int = size) -> Packet:
            return IP(src=name, dst=SERVER, **how) / UDP(sport=5000) / bytes(size)
        before = gateway.stats()["icmp_errors_sent"]
        gateway.send_many([(LAN, Ether(src=A.mac, dst=PORT_MAC[LAN]) / packet(name)) for name in names * 5])
        assert 25 < gateway.stats()["icmp_errors_sent"] - before < 50
        told = gateway.ip_from(B, packet(B.ip))
        assert only(told, LAN).frame[ICMP].type == kind


@pytest.mark.virtual
def test_a_flood_of_errors_does_not_hold_back_packet_too_big(start: Start) -> None:
    """RFC 1191: a connection that needs a 3/4 cannot go on without it, so 3/4 has a budget of its own."""
    gateway = start(NAT + "wan.mtu 1280\nnat.host-limit 1\n"
                    + "".join(f"neighbour 192.168.1.{20 + n} 52:54:00:00:03:{n:02x}\n" for n in range(40)))
    gateway.wait(5)
    for n in range(2000):  # from many hosts, so that all budgets of other errors are used up
        gateway.lan(IP(src=f"192.168.1.{20 + n % 40}", dst=SERVER, ttl=1) / UDP())
    assert gateway.lan(IP(src=A.ip, dst=SERVER, ttl=1) / UDP()) == []
    for _ in range(20):
        large = IP(src=A.ip, dst=SERVER, flags="DF") / UDP(sport=5000) / bytes(1300)
        told = only(gateway.lan(large), LAN).frame[ICMP]
        assert (told.type, told.code, told.nexthopmtu) == (3, 4, 1280)


@pytest.mark.virtual
def test_no_error_when_no_packet_is_free(gateway: Gateway) -> None:
    """A stalled card holds every packet: the gateway keeps running and sends no error."""
    gateway.card(LAN, False)
    frame = Ether(src=A.mac, dst=PORT_MAC[LAN]) / expired() / UDP()
    gateway.send_many([(LAN, frame)] * 600)
    gateway.wait(1)
    assert len(gateway.card(LAN, True)) <= 256
    assert only(gateway.lan(expired() / UDP()), LAN).frame[ICMP].type == 11


def test_none_of_these_reaches_the_other_side(gateway: Gateway) -> None:
    assert gateway.wan(IP(src=SERVER, dst=OUTSIDE) / ICMP(type=0, id=9)) == []
    assert gateway.drops() == {"no-mapping": 1}
    assert all(one.port == WAN for one in gateway.wan(IP(src=SERVER, dst=OUTSIDE) / ICMP(id=9)))
