# SPDX-License-Identifier: BSD-2-Clause
"""ICMPv6 of the gateway itself: echo, and when it sends which error (RFC 4443)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from gateway import LAN, WAN, Gateway, only
from net6 import (
    A6, B6, FAR6, NEIGHBOURS6, OWN, OWN_LOCAL, PLAIN6, ROUTER6, SIX, Host6, Start, frame, kind6, quote6, send,
    solicit, start6,
)
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6ND_Redirect, ICMPv6PacketTooBig, ICMPv6ParamProblem,
    ICMPv6TimeExceeded, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, in6_chksum,
)

from scapy.packet import Packet, Raw

pytestmark = pytest.mark.virtual

SIDES = pytest.mark.parametrize("host", [A6, ROUTER6], ids=["lan", "wan"])


@pytest.fixture
def six(start: Start) -> Gateway:
    return start6(start)


def expired(**fields: Any) -> IPv6:
    """A packet whose hop limit expires here, so that an error is due."""
    return IPv6(**{"src": A6.ip, "dst": FAR6, "hlim": 1, **fields})


# --- echo (section 4) ------------------------------------------------------------------------------


@SIDES
@pytest.mark.parametrize("data", [b"", b"x", b"ab", bytes(range(256)) * 5 + b"odd"], ids=len)
def test_s42_echo(six: Gateway, host: Host6, data: bytes) -> None:
    request = IPv6(src=host.ip, dst=OWN[host.port], tc=0xb8, fl=7, hlim=3) / ICMPv6EchoRequest(id=0xbeef, seq=513)
    sent = only(send(six, host, request / data), host.port)
    assert (sent.frame.dst, sent.ip6.src, sent.ip6.dst) == (host.mac, OWN[host.port], host.ip)
    assert kind6(sent) == (129, 0) and sent.raw[58:] == bytes.fromhex("beef0201") + data
    assert (sent.ip6.hlim, sent.ip6.tc, sent.ip6.fl) == (64, 0xb8, 0)


@SIDES
def test_echo_to_the_link_local_address(six: Gateway, host: Host6) -> None:
    """Only to that of its own interface; the gateway first solicits the host's MAC address."""
    own, other = OWN_LOCAL[host.port], OWN_LOCAL[WAN if host.port == LAN else LAN]
    send(six, host, solicit(host, own, src=host.local))
    sent = only(send(six, host, IPv6(src=host.local, dst=own) / ICMPv6EchoRequest(data=b"ll")), host.port)
    assert (sent.ip6.src, sent.ip6.dst, sent.frame.dst, kind6(sent)) == (own, host.local, host.mac, (129, 0))
    assert send(six, host, IPv6(src=host.local, dst=other) / ICMPv6EchoRequest()) == []
    assert six.drops() == {"martian-destination": 1}


def test_echo_to_the_address_of_the_other_side(six: Gateway) -> None:
    sent = only(send(six, A6, IPv6(src=A6.ip, dst=OWN[WAN]) / ICMPv6EchoRequest()), LAN)
    assert sent.ip6.src == OWN[WAN]


@SIDES
@pytest.mark.parametrize("local", [True, False], ids=["link-local", "global"])
def test_s42_echo_to_all_nodes(six: Gateway, host: Host6, local: bool) -> None:
    """SHOULD be answered, from a unicast source of the same scope as the sender's address."""
    send(six, host, solicit(host, OWN_LOCAL[host.port], src=host.local))
    source, own = (host.local, OWN_LOCAL) if local else (host.ip, OWN)
    sent = only(send(six, host, IPv6(src=source, dst="ff02::1") / ICMPv6EchoRequest(data=b"all")), host.port)
    assert (sent.ip6.src, sent.ip6.dst, kind6(sent)) == (own[host.port], source, (129, 0))


@SIDES
@pytest.mark.parametrize(("message", "reason"), [
    (bytes([128, 0, 0x12, 0x34]) + bytes(4), "icmp-checksum"),
    (bytes([128, 0, 0, 0, 1, 2, 3]), "l4-header"),
    (bytes([128]), "l4-header"),
    (b"", "l4-header"),
], ids=["checksum", "seven-bytes", "one-byte", "nothing"])
def test_s23_invalid_message(six: Gateway, host: Host6, message: bytes, reason: str) -> None:
    assert send(six, host, IPv6(src=host.ip, dst=OWN[host.port], nh=58) / Raw(message)) == []
    assert six.drops() == {reason: 1}


@SIDES
@pytest.mark.parametrize("message", [
    ICMPv6EchoReply(), ICMPv6EchoRequest(code=1), ICMPv6DestUnreach(), ICMPv6PacketTooBig(mtu=1280),
    ICMPv6TimeExceeded(), ICMPv6ParamProblem(), Raw(bytes([100, 0, 0, 0]) + bytes(40)),
    Raw(bytes([200, 0, 0, 0]) + bytes(40)),
], ids=["reply", "code-1", "unreachable", "too-big", "time", "parameter", "unknown-error", "unknown-information"])
def test_s24_messages_without_a_recipient(six: Gateway, host: Host6, message: Packet) -> None:
    """Section 2.4 (a), (b): the gateway sends no packet that they could be about."""
    packet = IPv6(src=host.ip, dst=OWN[host.port], nh=58) / message
    if isinstance(message, Raw):
        body = bytearray(bytes(message))
        body[2:4] = in6_chksum(58, packet, bytes(body)).to_bytes(2, "big")
        packet = IPv6(src=host.ip, dst=OWN[host.port], nh=58) / Raw(bytes(body))
    assert send(six, host, packet) == []
    assert six.drops() == {"icmp-type": 1}


def test_echo_with_a_forged_source(six: Gateway) -> None:
    for source in (OWN[LAN], FAR6, "ff02::1", "::1"):
        assert send(six, A6, IPv6(src=source, dst=OWN[LAN]) / ICMPv6EchoRequest()) == []
    assert send(six, A6, IPv6(src="::", dst=OWN[LAN]) / ICMPv6EchoRequest()) == []
    assert six.drops() == {"martian-source": 5}


def test_echo_in_a_link_multicast_to_one_address(six: Gateway) -> None:
    """Many gateways could answer one such frame, so none does."""
    packet = frame(A6, IPv6(src=A6.ip, dst=OWN[LAN]) / ICMPv6EchoRequest(), to="33:33:00:00:00:01")
    assert six.send(LAN, packet) == []
    assert six.drops() == {"multicast": 1}


# --- errors (section 3) --------------------------------------------------------------------------------


def test_s33_hop_limit_exceeded(six: Gateway) -> None:
    for hops in (0, 1):
        packet = expired(hlim=hops, tc=0x28) / UDP(sport=7, dport=8) / bytes(2000 - 48 - 700)
        error = only(send(six, A6, packet), LAN)
        assert kind6(error) == (3, 0)
        assert (error.ip6.src, error.ip6.dst, error.ip6.hlim, error.ip6.tc) == (OWN[LAN], A6.ip, 64, 0)
        assert len(error.raw) - 14 == 1280 and quote6(error) == bytes(packet)[:1232]
        assert error.raw[58:62] == bytes(4)
    assert six.drops() == {"ttl": 2}


def test_short_packets_are_quoted_whole(six: Gateway) -> None:
    packet = expired() / UDP(sport=7, dport=8) / b"all of it"
    assert quote6(only(send(six, A6, packet), LAN)) == bytes(packet)


@pytest.mark.parametrize("mtu", [1280, 1400])
def test_s32_packet_too_big(start: Start, mtu: int) -> None:
    """Also about a fragment: a router never fragments (RFC 8200 section 5)."""
    six = start6(start, SIX + f"wan.mtu {mtu}\n")
    fits = IPv6(src=A6.ip, dst=FAR6) / UDP() / bytes(mtu - 48)
    assert only(send(six, A6, fits), WAN)
    for packet in (IPv6(src=A6.ip, dst=FAR6) / UDP() / bytes(mtu - 47),
                   IPv6(src=A6.ip, dst=FAR6) / IPv6ExtHdrFragment(nh=17, offset=8, m=1) / Raw(bytes(mtu - 40))):
        error = only(send(six, A6, packet), LAN)
        assert kind6(error) == (2, 0) and int.from_bytes(error.raw[58:62], "big") == mtu
        assert quote6(error) == bytes(packet)[:1232]
    assert six.drops() == {"too-big": 2}


def test_s31_no_answer_from_the_neighbour(start: Start) -> None:
    """Code 3, about each packet that waited for the neighbour's MAC address."""
    six = start6(start, PLAIN6 + f"neighbour {A6.ip} {A6.mac}\nneighbour {ROUTER6.ip} {ROUTER6.mac}\n")
    packets = [IPv6(src=FAR6, dst=B6.ip, hlim=9) / UDP(sport=n) for n in range(3)]
    for packet in packets:
        assert all(kind6(one) == (135, 0) for one in send(six, ROUTER6, packet))
    errors = [one for one in six.wait(4) if kind6(one) != (135, 0)]
    assert [kind6(one) for one in errors] == [(1, 3)] * 3
    assert {one.port for one in errors} == {WAN}
    assert [quote6(one)[40:42] for one in errors] == [b"\0\0", b"\0\1", b"\0\2"]
    assert six.drops() == {"no-neighbour": 3}
    assert kind6(only(send(six, ROUTER6, packets[0]), WAN)) == (1, 3)  # for a while without a solicitation


@pytest.mark.parametrize("packet", [UDP(sport=1, dport=9), TCP(sport=1, dport=9)], ids=["udp", "tcp"])
def test_s31_no_service(six: Gateway, packet: Packet) -> None:
    """Code 4 to inside hosts; the gateway sends nothing outside."""
    error = only(send(six, A6, IPv6(src=A6.ip, dst=OWN[LAN]) / packet), LAN)
    assert kind6(error) == (1, 4) and error.ip6.src == OWN[LAN]
    assert send(six, ROUTER6, IPv6(src=FAR6, dst=OWN[WAN]) / packet) == []
    assert send(six, A6, IPv6(src=A6.ip, dst="ff02::1") / packet) == []
    assert six.drops() == {"no-service": 2, "multicast": 1}


def test_s22_source_of_an_error_is_the_address_it_is_about(six: Gateway) -> None:
    error = only(send(six, A6, IPv6(src=A6.ip, dst=OWN[WAN]) / UDP()), LAN)
    assert error.ip6.src == OWN[WAN]


# --- when no error is sent (section 2.4 (e)) -----------------------------------------------------------------


@pytest.mark.parametrize("packet", [
    expired() / ICMPv6DestUnreach() / bytes(48),
    expired() / ICMPv6PacketTooBig() / bytes(48),
    expired() / ICMPv6TimeExceeded() / bytes(48),
    expired() / ICMPv6ParamProblem() / bytes(48),
    expired(nh=58) / Raw(bytes([127, 0, 0, 0]) + bytes(48)),
    expired() / ICMPv6ND_Redirect(),
    expired(nh=58),
    expired() / IPv6ExtHdrDestOpt() / ICMPv6DestUnreach() / bytes(48),
    expired(nh=44) / IPv6ExtHdrFragment(nh=58, offset=9) / Raw(bytes(32)),
    expired(nh=60) / Raw((b"\x3c\0\1\4" + bytes(4)) * 8 + b"\x3a\0\1\4" + bytes(4) + b"\1" + bytes(55)),
], ids=["unreachable", "too-big", "time", "parameter", "unknown-error", "redirect", "no-type", "behind-a-header",
        "later-fragment", "behind-many-headers"])
def test_s24_e1_e2_no_error_about_an_error(six: Gateway, packet: Packet) -> None:
    assert send(six, A6, packet) == []
    assert six.drops() == {"ttl": 1}
    assert six.stats()["icmp_errors_sent"] == 0


@pytest.mark.parametrize("source", ["::", "ff02::1", "ff0e::1", "::1", FAR6, OWN[LAN], "2001:db8:1::"])
def test_s24_e6_no_error_to_a_source_that_is_no_single_host(six: Gateway, source: str) -> None:
    """Nor to a source address that is not on the side that the packet came from."""
    for target in (FAR6, OWN[LAN]):
        assert send(six, A6, expired(src=source, dst=target) / UDP()) == []
    assert six.stats()["icmp_errors_sent"] == 0


def test_s24_e3_no_error_about_a_group(six: Gateway) -> None:
    assert send(six, A6, expired(dst="ff02::1") / UDP()) == []
    assert send(six, A6, expired(dst="ff0e::1") / UDP()) == []


def test_s24_e5_no_error_about_a_link_multicast(six: Gateway) -> None:
    for to in ("33:33:00:00:00:01", "ff:ff:ff:ff:ff:ff"):
        assert six.send(LAN, frame(A6, expired() / UDP(), to=to)) == []
        assert six.send(LAN, frame(A6, expired(dst=OWN[LAN], hlim=64) / UDP(), to=to)) == []


@pytest.mark.parametrize("packet", [
    expired() / ICMPv6EchoRequest() / bytes(8), expired() / ICMPv6EchoReply() / bytes(8), expired() / TCP(),
    expired(nh=59), expired(nh=44) / IPv6ExtHdrFragment(nh=17, offset=0, m=1) / Raw(bytes(24)),
    expired(nh=44) / IPv6ExtHdrFragment(nh=17, offset=9) / Raw(bytes(24)),
], ids=["echo", "echo-reply", "tcp", "nothing", "first-fragment", "later-fragment"])
def test_error_about(six: Gateway, packet: Packet) -> None:
    assert kind6(only(send(six, A6, packet), LAN)) == (3, 0)


# --- the rate (section 2.4 (f)) ----------------------------------------------------------------------------


def errors(gateway: Gateway, host: Host6, packet: Packet, n: int = 300) -> int:
    """How many errors n copies of a packet cause."""
    return sum(len(sent) for sent in gateway.send_many([(host.port, frame(host, packet))] * n))


def test_s24_f_rate_of_errors_is_limited(six: Gateway) -> None:
    """One addressee gets a burst of 50, then at most 250 a second; one error costs one or two of them at random."""
    six.wait(5)
    sent = errors(six, A6, expired() / UDP())
    assert 25 < sent < 50
    stats = six.stats()
    assert (stats["icmp_errors_sent"], stats["icmp_errors_suppressed"]) == (sent, 300 - sent)
    six.wait(0.08)
    assert 10 <= errors(six, A6, expired() / UDP()) <= 20


def test_s24_f_one_addressee_does_not_use_up_anothers_errors(six: Gateway) -> None:
    six.wait(5)
    errors(six, A6, expired() / UDP())
    assert 10 < errors(six, A6, expired(src=B6.ip) / UDP()) < 50
    six.wait(1)
    assert 10 < errors(six, ROUTER6, IPv6(src=FAR6, dst=A6.ip, hlim=1) / UDP()) < 50


def test_s24_f_packet_too_big_has_a_budget_of_its_own(start: Start) -> None:
    """Otherwise anyone who floods could stop path MTU discovery."""
    six = start6(start, SIX + "wan.mtu 1280\n")
    six.wait(5)
    errors(six, A6, expired() / UDP())
    assert 25 < errors(six, A6, IPv6(src=A6.ip, dst=FAR6) / UDP() / bytes(1300)) < 50


@pytest.mark.parametrize("known", [True, False])
def test_s24_f_a_host_with_many_addresses_gets_the_errors_of_one(start: Start, known: bool) -> None:
    """It makes no difference whether the gateway knows them as neighbours. Other hosts get their errors, of either
    kind."""
    six = start6(start, SIX + "wan.mtu 1280\n")
    six.wait(5)
    hosts = [Host6(LAN, f"2001:db8:1::1:{n:x}", A6.local, A6.mac) for n in range(60)]
    for host in hosts if known else []:
        send(six, host, solicit(host, OWN[LAN]))
    for late in (True, False):
        def packet(host: Host6, late: bool = late) -> Packet:
            return expired(src=host.ip) / UDP() if late else IPv6(src=host.ip, dst=FAR6) / UDP() / bytes(1300)
        before = six.stats()["icmp_errors_sent"]
        six.send_many([(LAN, frame(host, packet(host))) for host in hosts * 5])
        assert 25 < six.stats()["icmp_errors_sent"] - before < 50
        assert kind6(only(send(six, B6, packet(B6)), LAN)) == ((3, 0) if late else (2, 0))


def test_s24_f_beyond_the_link_a_network_gets_the_errors_of_one_host(six: Gateway) -> None:
    """A network is a prefix of 64 bits; hosts of other networks get their errors."""
    six.wait(5)

    def late(net: int, n: int) -> Packet:
        return IPv6(src=f"2001:db8:f:{net:x}::{1 + n:x}", dst=A6.ip, hlim=1) / UDP()

    sent = six.send_many([(WAN, frame(ROUTER6, late(1, n))) for n in range(300)])
    assert 25 < sum(len(some) for some in sent) < 50
    assert kind6(only(send(six, ROUTER6, late(2, 0)), WAN)) == (3, 0)


def test_no_error_when_no_packet_is_free(six: Gateway) -> None:
    """A stalled card holds every packet: the gateway keeps running and sends no error."""
    six.card(LAN, False)
    six.send_many([(LAN, frame(A6, expired() / UDP()))] * 600)
    six.wait(1)
    assert len(six.card(LAN, True)) <= 256
    assert kind6(only(send(six, A6, expired() / UDP()), LAN)) == (3, 0)


def test_before_the_addresses_are_in_use(start: Callable[..., Gateway]) -> None:
    """RFC 4862 section 5.4: the gateway neither answers for a tentative address nor uses it as a source."""
    six = start(PLAIN6 + NEIGHBOURS6, "route6")
    assert send(six, A6, IPv6(src=A6.ip, dst=OWN[LAN]) / ICMPv6EchoRequest()) == []
    assert send(six, A6, IPv6(src=A6.ip, dst="ff02::1") / ICMPv6EchoRequest()) == []
    assert send(six, A6, expired() / UDP()) == []
    assert only(send(six, A6, expired(hlim=9) / UDP()), WAN).frame.dst == ROUTER6.mac  # forwarding does not wait for it
    assert six.drops() == {"tentative": 2, "ttl": 1}
