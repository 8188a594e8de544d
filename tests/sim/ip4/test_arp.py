# SPDX-License-Identifier: BSD-2-Clause
"""ARP in both directions (RFC 826, RFC 5227) and the neighbour table (RFC 1122 section 2.3.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from gateway import (
    A, ADDRESSES, B, BROADCAST, INSIDE, LAN, NAT, OUTSIDE, PORT_MAC, ROUTER, SERVER, WAN, Gateway, Host, Sent, only,
)
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw

Start = Callable[..., Gateway]
PLAIN = ADDRESSES + "nat.sessions 256\n"
OWN = {LAN: INSIDE, WAN: OUTSIDE}


def ask(host: Host, target: str, **fields: Any) -> Packet:
    return Ether(src=host.mac, dst=BROADCAST) / ARP(op=1, hwsrc=host.mac, psrc=host.ip, pdst=target, **fields)


def reply(host: Host, to: Sent) -> Packet:
    """The host's reply to the gateway's request."""
    return Ether(src=host.mac, dst=to.frame.src) / ARP(
        op=2, hwsrc=host.mac, psrc=host.ip, hwdst=to.arp.hwsrc, pdst=to.arp.psrc)


def ping(host: Host, number: int = 0) -> Packet:
    """A ping to the gateway, which needs the host's MAC address for its reply."""
    return Ether(src=host.mac, dst=PORT_MAC[host.port]) / IP(src=host.ip, dst=OWN[host.port]) / ICMP(id=7, seq=number)


@pytest.fixture
def plain(start: Start) -> Gateway:
    return start(PLAIN)


# --- answers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("host", [A, ROUTER], ids=["lan", "wan"])
def test_answers_for_own_address(plain: Gateway, host: Host) -> None:
    answer = only(plain.send(host.port, ask(host, OWN[host.port])), host.port)
    assert (answer.frame.dst, answer.frame.src) == (host.mac, PORT_MAC[host.port])
    arp = answer.arp
    assert (arp.op, arp.hwsrc, arp.psrc) == (2, PORT_MAC[host.port], OWN[host.port])
    assert (arp.hwdst, arp.pdst) == (host.mac, host.ip)


def test_answers_no_other_address(plain: Gateway) -> None:
    assert plain.send(WAN, ask(ROUTER, INSIDE)) == []
    assert plain.send(WAN, ask(ROUTER, "203.0.113.77")) == []
    assert plain.send(LAN, ask(A, B.ip)) == []
    assert plain.drops() == {"arp-other": 3}
    assert plain.lines("neighbours") == []


def test_answers_a_probe_for_own_address_and_learns_nothing(plain: Gateway) -> None:
    """RFC 5227 section 2.1.1: the sender of a probe has no address yet."""
    probe = Ether(src=A.mac, dst=BROADCAST) / ARP(op=1, hwsrc=A.mac, psrc="0.0.0.0", pdst=INSIDE)
    answer = only(plain.send(LAN, probe), LAN)
    assert (answer.arp.op, answer.arp.psrc, answer.arp.hwdst) == (2, INSIDE, A.mac)
    assert plain.lines("neighbours") == []


@pytest.mark.parametrize("sender", ["10.9.9.9", ROUTER.ip])
def test_request_from_another_network(plain: Gateway, sender: str) -> None:
    """A host may send a request from an address of another of its interfaces, as Linux does: the gateway replies, but
    does not learn that address as a neighbour."""
    frame = ask(A, INSIDE)
    frame[ARP].psrc = sender
    answer = only(plain.send(LAN, frame), LAN).frame[ARP]
    assert (answer.op, answer.psrc, answer.pdst, answer.hwdst) == (2, INSIDE, sender, A.mac)
    assert plain.lines("neighbours") == []


def test_sender_of_a_request_is_learned(plain: Gateway) -> None:
    plain.send(LAN, ask(A, INSIDE))
    answer = only(plain.send(LAN, ping(A)), LAN)
    assert answer.frame.dst == A.mac


@pytest.mark.parametrize(("fields", "reason"), [
    ({"hwtype": 6}, "arp-bad"),
    ({"ptype": 0x86DD}, "arp-bad"),
    ({"hwlen": 8}, "arp-bad"),
    ({"plen": 16}, "arp-bad"),
    ({"op": 3}, "arp-bad"),
    ({"op": 0}, "arp-bad"),
    ({"hwsrc": BROADCAST}, "arp-bad"),
    ({"hwsrc": "01:00:5e:00:00:01"}, "arp-bad"),
    ({"hwsrc": "00:00:00:00:00:00"}, "arp-bad"),
    ({"psrc": "127.0.0.1"}, "arp-bad"),
    ({"psrc": "224.0.0.1"}, "arp-bad"),
])
def test_bad_arp(plain: Gateway, fields: dict[str, object], reason: str) -> None:
    frame = ask(A, INSIDE)
    # A size or type in a field does not change the real size: the packet keeps its 28 bytes.
    raw = bytearray(bytes(frame))
    sizes = {"hwtype": (14, 2), "ptype": (16, 2), "hwlen": (18, 1), "plen": (19, 1), "op": (20, 2)}
    for name, value in fields.items():
        if name in sizes:
            at, n = sizes[name]
            assert isinstance(value, int)
            raw[at:at + n] = value.to_bytes(n, "big")
        else:
            frame[ARP].setfieldval(name, value)
            raw = bytearray(bytes(frame))
    assert plain.send(LAN, bytes(raw)) == []
    assert plain.drops() == {reason: 1}
    assert plain.lines("neighbours") == []


@pytest.mark.parametrize("length", [14, 15, 41])
@pytest.mark.virtual
def test_short_arp(plain: Gateway, length: int) -> None:
    assert plain.send(LAN, bytes(ask(A, INSIDE))[:length]) == []
    assert plain.drops() == {"runt": 1}


# --- requests ---------------------------------------------------------------------------------


def test_sends_a_request_and_then_waiting_packets_in_order(plain: Gateway) -> None:
    question = only(plain.send(LAN, ping(A, 0)), LAN)
    assert (question.frame.dst, question.frame.src) == (BROADCAST, PORT_MAC[LAN])
    arp = question.arp
    assert (arp.op, arp.hwsrc, arp.psrc, arp.pdst) == (1, PORT_MAC[LAN], INSIDE, A.ip)
    assert arp.hwdst == "00:00:00:00:00:00"
    for number in (1, 2):
        assert plain.send(LAN, ping(A, number)) == []
    assert plain.stats()["packets_kept"] == 3
    sent = plain.send(LAN, reply(A, question))
    assert [one.frame[ICMP].seq for one in sent] == [0, 1, 2]
    assert {one.frame.dst for one in sent} == {A.mac}
    assert plain.stats()["packets_kept"] == 0
    assert plain.drops() == {}


@pytest.mark.virtual  # ten packets before the next request
def test_queue_of_one_neighbour_is_bounded(plain: Gateway) -> None:
    """The oldest packet is dropped: RFC 1122 section 2.3.2.2 wants the latest kept."""
    question = only(plain.send(LAN, ping(A, 0)))
    for number in range(1, 10):
        assert plain.send(LAN, ping(A, number)) == []
    assert plain.stats()["packets_kept"] == 4
    assert plain.drops() == {"neighbour-queue": 6}
    assert [one.frame[ICMP].seq for one in plain.send(LAN, reply(A, question))] == [6, 7, 8, 9]


@pytest.mark.virtual
def test_queue_of_all_neighbours_is_bounded(plain: Gateway) -> None:
    hosts = [Host(LAN, f"192.168.1.{n}", f"52:54:00:00:03:{n:02x}") for n in range(20, 60)]
    for host in hosts:
        assert only(plain.send(LAN, ping(host))).arp.pdst == host.ip
        for number in (1, 2):
            assert plain.send(LAN, ping(host, number)) == []
    stats = plain.stats()
    assert stats["packets_kept"] == 64
    assert plain.drops() == {"neighbour-queue": 3 * len(hosts) - 64}
    assert stats["packets_free"] == plain.free - 64


@pytest.mark.virtual
def test_queues_use_at_most_a_quarter_of_a_small_pool(start: Start) -> None:
    gateway = start(PLAIN, packets=80)
    for n in range(20, 60):
        gateway.send(LAN, ping(Host(LAN, f"192.168.1.{n}", f"52:54:00:00:03:{n:02x}")))
    assert gateway.stats()["packets_kept"] == 20


@pytest.mark.virtual
def test_an_interface_that_got_carrier_is_given_time(plain: Gateway) -> None:
    """In the first three seconds no reply does not mean failure: requests go on, and the packet waits."""
    plain.send(LAN, ask(A, INSIDE))
    plain.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5004, dport=5005))
    asked = plain.wait(2.5)
    assert len(asked) >= 7
    assert {(one.port, one.arp.pdst) for one in asked} == {(WAN, ROUTER.ip)}
    out = plain.send(WAN, reply(ROUTER, asked[-1]))
    assert only(out, WAN).ip.dst == SERVER


@pytest.mark.virtual
def test_failure_is_reported_then_held_down(plain: Gateway) -> None:
    """Three requests within a second, then 3/1 (RFC 1812 section 5.2.7.1) and a pause."""
    plain.wait(3.5)  # after carrier comes up, requests go on for longer
    plain.send(LAN, ask(A, INSIDE))
    packet = IP(src=A.ip, dst=SERVER, id=99) / UDP(sport=5004, dport=5005) / b"where?"
    assert only(plain.lan(packet), WAN).arp.pdst == ROUTER.ip
    again = plain.wait(0.85)
    assert [(one.port, one.arp.pdst) for one in again] == [(WAN, ROUTER.ip)] * 2
    assert [one.at - 3.5 for one in again] == pytest.approx([0.3, 0.6], abs=0.15)
    error = only(plain.wait(0.3), LAN)
    icmp = error.frame[ICMP]
    assert (error.ip.src, error.ip.dst, icmp.type, icmp.code) == (INSIDE, A.ip, 3, 1)
    inner = IP(error.quote)
    assert (inner.src, inner.dst, inner[UDP].sport, inner[UDP].dport) == (A.ip, SERVER, 5004, 5005)
    assert plain.drops() == {"no-neighbour": 1}

    held = only(plain.lan(packet), LAN)  # no request: an error at once
    assert (held.frame[ICMP].type, held.frame[ICMP].code) == (3, 1)
    assert plain.drops() == {"no-neighbour": 2}
    assert plain.wait(3.2) == []
    assert only(plain.lan(packet), WAN).arp.pdst == ROUTER.ip  # a request again


@pytest.mark.virtual
def test_failure_of_an_inside_host_is_reported_outside(start: Start) -> None:
    gateway = start(PLAIN + f"neighbour {ROUTER.ip} {ROUTER.mac}\n")
    gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5004, dport=53))
    assert only(gateway.wan(IP(src=SERVER, dst=OUTSIDE) / UDP(sport=53, dport=5004)), LAN).arp.pdst == A.ip
    error = only([one for one in gateway.wait(4) if one.port == WAN])
    icmp = error.frame[ICMP]
    assert (error.ip.dst, icmp.type, icmp.code) == (SERVER, 3, 1)
    inner = IP(error.quote)
    # The error must quote the packet that the server sent, not one with an inside address.
    assert (inner.src, inner.dst, inner[UDP].dport) == (SERVER, OUTSIDE, 5004)


# --- lifetime -----------------------------------------------------------------------------------


def known(gateway: Gateway, host: Host = A) -> None:
    gateway.send(host.port, ask(host, OWN[host.port]))


@pytest.mark.virtual
def test_neighbour_in_use_is_refreshed_by_unicast(plain: Gateway) -> None:
    known(plain)
    assert plain.wait(40) == []
    assert only(plain.send(LAN, ping(A))).frame.dst == A.mac
    question = only(plain.wait(10.5), LAN)
    assert question.at == pytest.approx(50, abs=0.2)  # before the entry expires after 60 s
    assert (question.frame.dst, question.arp.op, question.arp.pdst) == (A.mac, 1, A.ip)
    assert only(plain.send(LAN, ping(A))).frame.dst == A.mac  # traffic does not wait
    assert plain.send(LAN, reply(A, question)) == []
    assert plain.wait(49) == []
    assert "reachable" in plain.lines("neighbours")[0]


@pytest.mark.virtual
def test_neighbour_that_moved_is_found_by_broadcast(plain: Gateway) -> None:
    known(plain)
    plain.send(LAN, ping(A))
    questions = plain.wait(56.5)
    assert [one.frame.dst for one in questions] == [A.mac] * 3 + [BROADCAST] * 3
    assert [one.at for one in questions] == pytest.approx([50, 51, 52, 53, 54, 55], abs=0.2)
    assert plain.lines("neighbours") == []


@pytest.mark.virtual
def test_unused_neighbour_expires_without_a_request(plain: Gateway) -> None:
    known(plain)
    assert plain.wait(59) == []
    assert len(plain.lines("neighbours")) == 1
    assert plain.wait(2) == []
    assert plain.lines("neighbours") == []


def test_announcement_changes_a_known_neighbour_only(plain: Gateway) -> None:
    known(plain)
    moved = "52:54:00:00:01:99"
    for host in (A, B):
        announcement = Ether(src=moved, dst=BROADCAST) / ARP(op=1, hwsrc=moved, psrc=host.ip, pdst=host.ip)
        assert plain.send(LAN, announcement) == []
    assert only(plain.send(LAN, ping(A))).frame.dst == moved
    assert [line.split()[0] for line in plain.lines("neighbours")] == [A.ip]


def test_unsolicited_reply_creates_no_entry(plain: Gateway) -> None:
    frame = Ether(src=A.mac, dst=PORT_MAC[LAN]) / ARP(op=2, hwsrc=A.mac, psrc=A.ip, hwdst=PORT_MAC[LAN], pdst=INSIDE)
    assert plain.send(LAN, frame) == []
    assert plain.lines("neighbours") == []


@pytest.mark.virtual
def test_fixed_neighbour_stays(start: Start) -> None:
    gateway = start(NAT)
    gateway.send(LAN, Ether(src=B.mac, dst=BROADCAST) / ARP(op=1, hwsrc=B.mac, psrc=A.ip, pdst=INSIDE))
    assert only(gateway.send(LAN, ping(A))).frame.dst == A.mac
    assert gateway.wait(200) == []
    assert only(gateway.send(LAN, ping(A))).frame.dst == A.mac


@pytest.mark.virtual
def test_flood_of_neighbours_evicts_but_keeps_working(start: Start) -> None:
    config = ("lan.address 10.0.0.1/8\nwan.address 203.0.113.2/24\n"
              f"neighbour 10.1.1.1 {A.mac}\nnat.sessions 100\n")
    gateway = start(config)
    frames = [(LAN, ask(Host(LAN, f"10.2.{n >> 8}.{n & 255}", f"52:54:00:01:{n >> 8:02x}:{n & 255:02x}"), "10.0.0.1"))
              for n in range(1500)]
    assert all(len(sent) == 1 for sent in gateway.send_many(frames))
    assert gateway.stats()["neighbours_evicted"] >= 1500 - 1024
    assert len(gateway.lines("neighbours")) <= 1024
    fixed = Ether(src=A.mac, dst=PORT_MAC[LAN]) / IP(src="10.1.1.1", dst="10.0.0.1") / ICMP()
    assert only(gateway.send(LAN, fixed)).frame.dst == A.mac


# --- announcements, conflicts, the cable ----------------------------------------------------------


def is_announcement(one: Sent, port: str) -> bool:
    arp = one.arp
    return (one.port, one.frame.dst, arp.op, arp.psrc, arp.pdst) == (port, BROADCAST, 1, OWN[port], OWN[port])


@pytest.mark.virtual
def test_announces_itself_at_start(plain: Gateway) -> None:
    assert len(plain.hello) == 2
    assert is_announcement(plain.hello[0], LAN)
    assert is_announcement(plain.hello[1], WAN)


@pytest.mark.virtual
def test_conflict_is_defended_and_logged_with_a_limit(plain: Gateway) -> None:
    """RFC 5227 section 2.4 (b): not more than once in ten seconds."""
    claim = Ether(src=B.mac, dst=BROADCAST) / ARP(op=1, hwsrc=B.mac, psrc=INSIDE, pdst=INSIDE)
    plain.wait(1)
    assert is_announcement(only(plain.send(LAN, claim)), LAN)
    for _ in range(5):
        assert plain.send(LAN, claim) == []
    plain.wait(9)
    assert plain.send(LAN, claim) == []
    plain.wait(1.5)
    assert is_announcement(only(plain.send(LAN, claim)), LAN)
    said = [line for line in plain.lines("log") if INSIDE in line]
    assert len(said) == 2
    assert B.mac in said[0]
    assert plain.drops() == {"arp-bad": 8}


@pytest.mark.virtual
def test_conflict_in_a_fresh_gateway_is_defended(start: Start) -> None:
    """The time of the last defence is not left over from the gateway before."""
    claim = Ether(src=B.mac, dst=BROADCAST) / ARP(op=1, hwsrc=B.mac, psrc=INSIDE, pdst=INSIDE)
    for _ in range(2):
        gateway = start(PLAIN)
        gateway.wait(20)
        assert is_announcement(only(gateway.send(LAN, claim)), LAN)


@pytest.mark.virtual
def test_link_down_forgets_and_frees(plain: Gateway) -> None:
    known(plain)
    plain.send(LAN, ping(B))
    assert plain.stats()["packets_kept"] == 1
    assert plain.link(LAN, False) == []
    assert plain.lines("neighbours") == []
    assert plain.stats()["packets_kept"] == 0
    assert plain.drops() == {"link-down": 1}
    assert is_announcement(only(plain.link(LAN, True)), LAN)


@pytest.mark.virtual
def test_link_down_sends_nothing(start: Start) -> None:
    gateway = start(NAT)
    gateway.link(WAN, False)
    assert gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=1, dport=2)) == []
    assert gateway.drops() == {"link-down": 1}
    gateway.link(WAN, True)
    only(gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=1, dport=2)), WAN)


@pytest.mark.virtual
def test_slow_card_fills_the_transmit_queue_then_drops(gateway: Gateway) -> None:
    gateway.card(WAN, False)
    packet = IP(src=A.ip, dst=SERVER) / UDP(sport=1000, dport=2) / Raw(b"x")
    frame = Ether(src=A.mac, dst=PORT_MAC[LAN]) / packet
    gateway.send_many([(LAN, frame)] * 300)
    assert gateway.drops() == {"link-full": 300 - 256}
    assert len(gateway.card(WAN, True)) == 256


@pytest.mark.virtual
def test_millisecond_clock_wraps(start: Start) -> None:
    """Timers work when the 32-bit count of milliseconds wraps around, after 49.7 days."""
    gateway = start(PLAIN, now=2**32 / 1000 - 30)
    known(gateway)
    assert only(gateway.send(LAN, ping(A))).frame.dst == A.mac
    question = only(gateway.wait(50.5))
    assert question.frame.dst == A.mac
    gateway.send(LAN, reply(A, question))
    assert gateway.wait(61) == []
    assert gateway.lines("neighbours") == []
