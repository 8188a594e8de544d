# SPDX-License-Identifier: BSD-2-Clause
"""Native IPv6 beside the NAT: the stateful filter between WAN and LAN (RFC 6092), ICMPv6 (RFC 4890 section 4.3)."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv6Address
from typing import Any

import pytest
from gateway import ADDRESSES, LAN, NEIGHBOURS, WAN, Gateway, Sent, only
from net6 import A6, ADDRESSES6, B6, FAR6, NEIGHBOURS6, OWN, ROUTER6, Host6, frame, of_kind, send
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6PacketTooBig,
    ICMPv6ParamProblem, ICMPv6TimeExceeded, ICMPv6Unknown, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment,
)
from scapy.packet import Packet, Raw
from uplink import RA, addresses, hear, prefix

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
CONFIG = ADDRESSES + NEIGHBOURS + ADDRESSES6 + NEIGHBOURS6 + "lan.ra off\nnat.sessions 256\n"
FAR_B = "2001:db8:f::8"


def begin(start: Start, more: str = "", **options: Any) -> Gateway:
    gateway = start(CONFIG + more, "nat", **options)
    gateway.sources[WAN] = None  # native IPv6 leaves with the sources of inside hosts
    gateway.wait(5)
    return gateway


def out(gateway: Gateway, upper: Packet, *, src: str = A6.ip, dst: str = FAR6) -> list[Sent]:
    return send(gateway, A6, IPv6(src=src, dst=dst) / upper)


def back(gateway: Gateway, upper: Packet, *, src: str = FAR6, dst: str = A6.ip) -> list[Sent]:
    return send(gateway, ROUTER6, IPv6(src=src, dst=dst) / upper)


def passes(sent: list[Sent], port: str) -> bool:
    return len(sent) == 1 and sent[0].port == port


# --- sessions (RFC 6092 sections 3.2 and 3.3) ------------------------------------------------------------------------


@pytest.mark.parametrize(("there", "here"), [
    (UDP(sport=1000, dport=2000), UDP(sport=2000, dport=1000)),
    (UDP(sport=1000, dport=2000), UDP(sport=2001, dport=1000)),  # any port of the host (REC-17)
    (TCP(sport=1000, dport=2000, flags="S"), TCP(sport=2000, dport=1000, flags="SA")),
    (ICMPv6EchoRequest(id=7), ICMPv6EchoReply(id=7)),
    (Raw(bytes(8)), Raw(bytes(8))),
])
def test_what_an_inside_host_began_comes_back(start: Start, there: Packet, here: Packet) -> None:
    gateway = begin(start)
    head: dict[str, int] = {"nh": 47} if isinstance(there, Raw) else {}
    assert not passes(send(gateway, ROUTER6, IPv6(src=FAR6, dst=A6.ip, **head) / here), LAN)
    assert gateway.drops() == {"unsolicited": 1}
    left = only(send(gateway, A6, IPv6(src=A6.ip, dst=FAR6, **head) / there), WAN)
    assert left.ip6.hlim == 63 and left.frame.dst == ROUTER6.mac
    assert passes(send(gateway, ROUTER6, IPv6(src=FAR6, dst=A6.ip, **head) / here), LAN)
    assert gateway.stats()["filter6_sessions"] == 1


@pytest.mark.parametrize("here", [
    UDP(sport=2000, dport=1001), TCP(sport=2000, dport=1000, flags="SA"), ICMPv6EchoReply(id=1000), Raw(bytes(8)),
])
def test_and_nothing_else(start: Start, here: Packet) -> None:
    gateway = begin(start)
    out(gateway, UDP(sport=1000, dport=2000))
    assert back(gateway, UDP(sport=2000, dport=1000), src=FAR_B) == []
    assert back(gateway, UDP(sport=2000, dport=1000), dst=B6.ip) == []
    assert back(gateway, here) == []
    assert gateway.drops() == {"unsolicited": 3}


def test_tcp_is_by_both_ports(start: Start) -> None:
    gateway = begin(start)
    out(gateway, TCP(sport=1000, dport=2000, flags="S"))
    assert back(gateway, TCP(sport=2001, dport=1000, flags="SA")) == []


@pytest.mark.parametrize(("there", "here", "seconds"), [
    (UDP(sport=1, dport=2), UDP(sport=2, dport=1), 300),
    (ICMPv6EchoRequest(id=7), ICMPv6EchoReply(id=7), 60),
    (TCP(sport=1, dport=2, flags="S"), TCP(sport=2, dport=1, flags="SA"), 240),
])
def test_rec14_lifetimes(start: Start, there: Packet, here: Packet, seconds: int) -> None:
    for age, comes in ((seconds - 2, True), (seconds + 2, False)):
        gateway = begin(start)
        out(gateway, there)
        gateway.wait(age)
        assert passes(back(gateway, here), LAN) == comes
    gateway.wait(20)
    assert gateway.stats()["filter6_sessions"] == 0


def handshake(gateway: Gateway) -> None:
    assert passes(out(gateway, TCP(sport=1, dport=2, flags="S")), WAN)
    assert passes(back(gateway, TCP(sport=2, dport=1, flags="SA")), LAN)
    assert passes(out(gateway, TCP(sport=1, dport=2, flags="A")), WAN)


def test_rec35_an_open_connection_lives_two_hours_and_four_minutes(start: Start) -> None:
    for age, comes in ((7438, True), (7442, False)):
        gateway = begin(start)
        handshake(gateway)
        gateway.wait(age)
        assert passes(back(gateway, TCP(sport=2, dport=1, flags="PA")), LAN) == comes


def test_rec35_a_closed_connection_ends_after_four_minutes(start: Start) -> None:
    gateway = begin(start)
    handshake(gateway)
    out(gateway, TCP(sport=1, dport=2, flags="FA"))
    assert "in-fin" in gateway.lines("sessions")[0]
    gateway.wait(1000)
    back(gateway, TCP(sport=2, dport=1, flags="FA"))
    assert "both-fin" in gateway.lines("sessions")[0]
    assert passes(out(gateway, TCP(sport=1, dport=2, flags="A")), WAN)
    gateway.wait(242)
    assert back(gateway, TCP(sport=2, dport=1, flags="A")) == []


def test_a_forged_reset_does_not_end_a_connection_in_use(start: Start) -> None:
    gateway = begin(start)
    handshake(gateway)
    back(gateway, TCP(sport=2, dport=1, flags="R"))
    assert "transitory" in gateway.lines("sessions")[0]
    out(gateway, TCP(sport=1, dport=2, flags="A"))
    gateway.wait(1000)
    assert passes(back(gateway, TCP(sport=2, dport=1, flags="A")), LAN)


@pytest.mark.parametrize("end", ["closed", "half", "reset"])
def test_a_connection_that_ended_is_not_opened_from_outside(start: Start, end: str) -> None:
    """Its ports are those of no rule. The inside host may use them again (RFC 9293 section 3.6.1)."""
    gateway = begin(start)
    handshake(gateway)
    for flags in ("FA",) if end != "reset" else ("R",):
        out(gateway, TCP(sport=1, dport=2, flags=flags))
    if end == "closed":
        back(gateway, TCP(sport=2, dport=1, flags="FA"))
    assert back(gateway, TCP(sport=2, dport=1, flags="S")) == []
    assert gateway.drops() == {"unsolicited": 1}
    assert passes(back(gateway, TCP(sport=2, dport=1, flags="A")), LAN)
    assert passes(out(gateway, TCP(sport=1, dport=2, flags="S")), WAN)
    assert passes(back(gateway, TCP(sport=2, dport=1, flags="SA")), LAN)
    assert gateway.stats()["filter6_sessions_created"] == 1


def test_a_connection_that_a_rule_allows_is_opened_again(start: Start) -> None:
    gateway = begin(start, f"forward6 tcp [{A6.ip}]:443\n")
    for _ in range(2):
        assert passes(back(gateway, TCP(sport=9, dport=443, flags="S")), LAN)
        assert passes(out(gateway, TCP(sport=443, dport=9, flags="SA")), WAN)
        assert passes(back(gateway, TCP(sport=9, dport=443, flags="R")), LAN)


def test_a_session_that_only_the_outside_uses(start: Start) -> None:
    """It ends 300 s after its begin; a packet that a rule allows then begins it again."""
    gateway = begin(start, f"forward6 udp [{A6.ip}]:53\n")
    for _ in range(5):
        assert passes(back(gateway, UDP(sport=9, dport=53)), LAN)
        gateway.wait(100)
    assert gateway.stats()["filter6_sessions_created"] == 2


# --- rules ------------------------------------------------------------------------------------------------------------


def test_forward6(start: Start) -> None:
    gateway = begin(start, f"forward6 tcp [{A6.ip}]:443\nforward6 udp [{A6.ip}]:53\nforward6 all {B6.ip}\n")
    assert passes(back(gateway, TCP(sport=9, dport=443, flags="S")), LAN)
    assert passes(out(gateway, TCP(sport=443, dport=9, flags="SA")), WAN)
    assert passes(back(gateway, UDP(sport=9, dport=53)), LAN)
    assert back(gateway, UDP(sport=9, dport=443)) == [] and back(gateway, TCP(sport=9, dport=53, flags="S")) == []
    for upper in (TCP(sport=9, dport=1, flags="S"), UDP(sport=9, dport=1), Raw(bytes(8))):
        assert passes(back(gateway, upper, dst=B6.ip), LAN)
    assert gateway.drops() == {"unsolicited": 2}


def test_filter_off(start: Start) -> None:
    gateway = begin(start, "lan.filter off\n")
    assert passes(back(gateway, UDP(sport=9, dport=53)), LAN)
    assert gateway.stats()["filter6_sessions"] == 0


# --- ICMPv6 (RFC 4890) ------------------------------------------------------------------------------------------------

ERRORS = [ICMPv6DestUnreach(code=4), ICMPv6PacketTooBig(mtu=1280), ICMPv6TimeExceeded(), ICMPv6ParamProblem(code=1)]


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: e.name)
@pytest.mark.parametrize("upper", [UDP(sport=1, dport=2), TCP(sport=1, dport=2, flags="S"), ICMPv6EchoRequest(id=3),
                                   IPv6ExtHdrDestOpt() / UDP(sport=1, dport=2)], ids=["udp", "tcp", "echo", "options"])
def test_s431_errors_about_a_session_come_in(start: Start, error: Packet, upper: Packet) -> None:
    """From any router on the way; not about what was never sent, nor to another host."""
    gateway = begin(start)
    sent = IPv6(src=A6.ip, dst=FAR6) / upper
    assert back(gateway, error / sent, src="2001:db8:99::1") == []
    send(gateway, A6, sent)
    assert passes(back(gateway, error / sent, src="2001:db8:99::1"), LAN)
    assert back(gateway, error / sent, src="2001:db8:99::1", dst=B6.ip) == []
    assert back(gateway, error / IPv6(src=A6.ip, dst=FAR_B) / upper) == []
    assert gateway.drops() == {"unsolicited": 2, "icmp-quote": 1}


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: e.name)
def test_s431_errors_of_inside_hosts_go_out(start: Start, error: Packet) -> None:
    gateway = begin(start, f"forward6 udp [{A6.ip}]:53\n")
    came = IPv6(src=FAR6, dst=A6.ip) / UDP(sport=9, dport=53)
    send(gateway, ROUTER6, came)
    assert passes(out(gateway, error / came), WAN)
    assert out(gateway, error / IPv6(src=FAR6, dst=A6.ip) / UDP(sport=9, dport=54)) == []


def test_s431_echo_requests_come_in(start: Start) -> None:
    gateway = begin(start)
    assert passes(back(gateway, ICMPv6EchoRequest(id=5)), LAN)
    assert passes(out(gateway, ICMPv6EchoReply(id=5)), WAN)
    assert out(gateway, ICMPv6EchoReply(id=6)) == [] and back(gateway, ICMPv6EchoReply(id=7)) == []
    assert gateway.drops() == {"unsolicited": 2}


@pytest.mark.parametrize("kind", [100, 127, 138, 139, 140, 150, 200, 255])
def test_s435_other_messages_do_not_pass(start: Start, kind: int) -> None:
    gateway = begin(start)
    message = ICMPv6Unknown(type=kind, msgbody=bytes(8))
    assert out(gateway, message) == [] and back(gateway, message) == []
    assert gateway.drops() == {"icmp-type": 2}


@pytest.mark.parametrize("quote", [b"", bytes(39), bytes(IPv6(src=A6.ip, dst=FAR6, nh=17)),
                                   bytes(IPv6(src=A6.ip, dst=FAR6) / IPv6ExtHdrFragment(offset=5, nh=17)) + bytes(8),
                                   bytes(IPv6(src=A6.ip, dst=FAR6, nh=60)) + b"\x11\xff" + bytes(6)])
def test_errors_that_quote_too_little(start: Start, quote: bytes) -> None:
    gateway = begin(start)
    out(gateway, UDP(sport=1, dport=2))
    assert back(gateway, ICMPv6DestUnreach() / Raw(quote)) == []
    assert gateway.drops() == {"icmp-quote": 1}


# --- fragments --------------------------------------------------------------------------------------------------------


def pieces(upper: Packet, ident: int, **ip: Any) -> list[Packet]:
    raw = bytes(IPv6(**ip) / upper)[40:]
    kind = IPv6(bytes(IPv6(**ip) / upper)).nh
    return [IPv6(**ip) / IPv6ExtHdrFragment(nh=kind, id=ident, m=1) / Raw(raw[:64]),
            IPv6(**ip) / IPv6ExtHdrFragment(nh=kind, id=ident, offset=8) / Raw(raw[64:])]


def test_fragments_follow_their_first_one(start: Start) -> None:
    gateway = begin(start)
    first, later = pieces(UDP(sport=2, dport=1) / bytes(120), 77, src=FAR6, dst=A6.ip)
    assert send(gateway, ROUTER6, first) == [] and send(gateway, ROUTER6, later) == []
    assert gateway.drops() == {"unsolicited": 1, "fragment": 1}
    for one in pieces(UDP(sport=1, dport=2) / bytes(120), 5, src=A6.ip, dst=FAR6):
        assert passes(send(gateway, A6, one), WAN)
    assert passes(send(gateway, ROUTER6, first), LAN) and passes(send(gateway, ROUTER6, later), LAN)
    gateway.wait(61)
    assert send(gateway, ROUTER6, later) == []


def test_a_first_fragment_without_its_header(start: Start) -> None:
    """RFC 7112."""
    gateway = begin(start)
    packet = IPv6(src=FAR6, dst=A6.ip) / IPv6ExtHdrFragment(nh=60, m=1) / Raw(b"\x11\x09" + bytes(6))
    assert send(gateway, ROUTER6, packet) == []
    assert gateway.drops() == {"extension": 1}


@pytest.mark.parametrize(("upper", "reason"), [
    (TCP(sport=1, dport=2, flags="S"), "l4-header"), (UDP(sport=1, dport=2), "l4-header"),
    (ICMPv6EchoRequest(), "l4-header")])
def test_cut_transport_headers(start: Start, upper: Packet, reason: str) -> None:
    gateway = begin(start)
    whole = IPv6(bytes(IPv6(src=A6.ip, dst=FAR6) / upper))
    raw = bytes(whole)[40:43]
    assert send(gateway, A6, IPv6(src=A6.ip, dst=FAR6, nh=whole.nh) / Raw(raw)) == []
    assert gateway.drops() == {reason: 1}


# --- floods -----------------------------------------------------------------------------------------------------------


def test_a_scan_from_outside_makes_no_sessions(start: Start) -> None:
    gateway = begin(start)
    for port in range(1, 300):
        assert back(gateway, TCP(sport=9, dport=port, flags="S")) == []
    assert gateway.stats()["filter6_sessions_created"] == 0


def flood(gateway: Gateway, host: Host6, packets: list[bytes]) -> list[list[str]]:
    """Sends packets in a row; gives for each the lines of the frames that leave at once, without looking at these."""
    head = bytes(frame(host, b""))[:14].hex()
    return gateway.sim.batch([f"rx {host.port} {head}{packet.hex()}" for packet in packets])


def leaves(answer: list[str], port: str) -> bool:
    return len(answer) == 1 and answer[0].startswith(f"tx {port} ")


def test_first_fragments_of_strangers(start: Start) -> None:
    """Echo requests of anybody, in fragments whose rest never comes. Packets of sessions that inside hosts began come
    in whole meanwhile."""
    gateway = begin(start)
    out(gateway, UDP(sport=1, dport=2))
    whole = [pieces(UDP(sport=2, dport=1) / bytes(120), 5000 + 7 * i, src=FAR6, dst=A6.ip) for i in range(3)]
    for first, _ in whole:
        assert passes(send(gateway, ROUTER6, first), LAN)
    first, later = (bytes(one) for one in pieces(ICMPv6EchoRequest(data=bytes(120)), 0, src="2001:db8:e::", dst=A6.ip))
    numbers = [number.to_bytes(4, "big") for number in range(1, 2001)]
    firsts = [first[:20] + number + first[24:44] + number + first[48:] for number in numbers]
    assert all(leaves(answer, LAN) for answer in flood(gateway, ROUTER6, firsts))
    for _, rest in whole:
        assert passes(send(gateway, ROUTER6, rest), LAN)
    last = later[:20] + numbers[-1] + later[24:44] + numbers[-1] + later[48:]
    assert passes(send(gateway, ROUTER6, last), LAN)


def test_an_echo_scan_of_the_lan(start: Start) -> None:
    """What inside hosts began goes on."""
    gateway = begin(start)
    for port in range(1, 101):
        out(gateway, UDP(sport=port, dport=2))
        back(gateway, UDP(sport=2, dport=port))
    begun = gateway.stats()["filter6_sessions_created"]
    probe = bytes(IPv6(src="2001:db8:e::1", dst="2001:db8:1::") / ICMPv6EchoRequest(id=7))
    scan = [probe[:38] + target.to_bytes(2, "big") + probe[40:46] + (0xffff - target).to_bytes(2, "big")
            for target in range(0x1000, 0x1000 + 6000)]  # the sequence number keeps the checksum
    flood(gateway, ROUTER6, scan)
    assert gateway.stats()["filter6_sessions_created"] == begun + 6000
    for port in range(1, 101):
        assert passes(back(gateway, UDP(sport=2, dport=port)), LAN)
        assert passes(out(gateway, UDP(sport=port, dport=2)), WAN)


def test_no_room_for_a_session(start: Start) -> None:
    """Eight hosts have all places where the ninth needs one. It is told so (ICMPv6 1/1), and theirs go on."""
    gateway = begin(start, f"route 2001:db8:a::/48 via {B6.ip}\n")
    first = "2001:db8:a::ffff"
    there = bytes(IPv6(src=first, dst=FAR6) / UDP(sport=1, dport=2))
    here = bytes(IPv6(src=FAR6, dst=first) / UDP(sport=2, dport=1))
    # The checksum is right for all of them.
    hosts = [IPv6Address(f"2001:db8:a:{i:x}::{0xffff - i:x}").packed for i in range(1, 20000)]
    for at in range(0, len(hosts), 500):
        some = hosts[at:at + 500]
        sent = flood(gateway, B6, [there[:8] + host + there[24:] for host in some])
        refused = [host for host, left in zip(some, sent, strict=True) if not leaves(left, WAN)]
        answers = flood(gateway, ROUTER6, [here[:24] + host + here[40:] for host in some])
        assert [leaves(left, LAN) for left in answers] == [host not in refused for host in some]
        if refused:
            break
    assert gateway.drops()["filter-full"] == len(refused)
    again = there[:8] + refused[0] + there[24:]
    error = only(send(gateway, B6, again), LAN).ip6
    assert (error[ICMPv6DestUnreach].code, error.dst) == (1, str(IPv6Address(refused[0])))
    assert gateway.stats()["filter6_sessions_evicted"] == 0


def test_martian_sources_make_no_sessions(start: Start) -> None:
    gateway = begin(start)
    assert out(gateway, UDP(sport=1, dport=2), src=FAR6) == []
    assert back(gateway, UDP(sport=1, dport=2), src=B6.ip) == []
    assert gateway.drops() == {"martian-source": 2} and gateway.stats()["filter6_sessions_created"] == 0


# --- routing beside it ------------------------------------------------------------------------------------------------


def test_the_hop_limit_and_the_size(start: Start) -> None:
    gateway = begin(start)
    assert of_kind(send(gateway, A6, IPv6(src=A6.ip, dst=FAR6, hlim=1) / UDP(sport=1, dport=2)), 3, LAN)
    assert gateway.drops() == {"ttl": 1}


def test_ipv4_is_translated_beside_it(start: Start) -> None:
    gateway = begin(start)
    left = only(gateway.lan(IP(src="192.168.1.10", dst="198.51.100.7") / UDP(sport=5, dport=6)), WAN)
    assert left.ip.src == "203.0.113.2"
    out(gateway, UDP(sport=1, dport=2))
    assert len(gateway.lines("sessions")) == 2


def test_without_an_ipv6_address_there_is_none(start: Start) -> None:
    gateway = start(ADDRESSES + NEIGHBOURS, "nat")
    assert gateway.wait(30) == []
    send(gateway, A6, IPv6(src=A6.ip, dst=FAR6) / UDP())
    assert gateway.drops() == {"ipv6": 1} and "filter6_sessions" not in gateway.stats()


def test_rfc7084_g4_no_default_router_without_an_uplink(start: Start) -> None:
    """The inside gets its prefix, but a default router only while the WAN has one."""
    gateway = start(ADDRESSES + NEIGHBOURS + f"lan.address {OWN[LAN]}/64\nwan.address auto\n", "nat")
    gateway.sources[WAN] = None
    first = of_kind(gateway.wait(6), RA, LAN)
    assert first and all(one.raw[60:62] == bytes(2) for one in first)
    then = of_kind(hear(gateway, prefix(), settle=4), RA, LAN)
    assert addresses(gateway)
    assert then and then[-1].raw[60:62] == (1800).to_bytes(2, "big")
    assert passes(out(gateway, UDP(sport=1, dport=2)), WAN)
    last = of_kind(hear(gateway, prefix(), lifetime=0, settle=4), RA, LAN)
    assert last and last[-1].raw[60:62] == bytes(2)


def test_rfc4193_section_4_3_local_addresses_do_not_leave(start: Start) -> None:
    """The host is told; to another site of such addresses the packet goes."""
    local = "fd00:1::10"
    gateway = begin(start, f"lan.address fd00:1::1/64\nneighbour {local} {A6.mac}\n"
                           f"route fd00:2::/64 via {ROUTER6.ip}\n")
    error = only(out(gateway, UDP(sport=1, dport=2) / Raw(b"x"), src=local), LAN).frame
    assert error[ICMPv6DestUnreach].code == 5 and gateway.drops() == {"martian-source": 1}
    assert passes(out(gateway, UDP(sport=1, dport=2) / Raw(b"x"), src=local, dst="fd00:2::7"), WAN)
