# SPDX-License-Identifier: BSD-2-Clause
"""RFC 6146 section 3.5.3 (ICMP queries) and 3.4 (ICMP errors, by the packet that they quote)."""

from __future__ import annotations

from typing import Any

import pytest
from gateway import LAN, WAN, Gateway, only
from ivi import dropped
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6ND_NS, ICMPv6PacketTooBig, ICMPv6ParamProblem,
    ICMPv6TimeExceeded, IPv6,
)
from scapy.packet import Packet
from six4 import (
    FAR, FOUR, OTHER, OWN4, SEVEN, SIX, Start, connect, error6, in_echo, in_tcp, in_udp, out_echo, out_tcp, out_udp,
    send4, send6, sessions, six_of, start64, to4, to6,
)

pytestmark = pytest.mark.virtual


@pytest.fixture
def gateway64(start: Start) -> Gateway:
    return start64(start)


def test_353_query(gateway64: Gateway) -> None:
    sent = only(out_echo(gateway64, 77), WAN).ip
    assert (sent[ICMP].type, sent[ICMP].code, sent[ICMP].seq, sent.src) == (8, 0, 1, OWN4)
    back = only(in_echo(gateway64, sent[ICMP].id), LAN).ip6
    assert (back.src, back.dst, back[ICMPv6EchoReply].id, back[ICMPv6EchoReply].data) == (six_of(FAR), SIX, 77, b"ping")


def test_353_two_hosts_with_one_identifier(gateway64: Gateway) -> None:
    """Section 3.1: an external identifier is in one entry."""
    ids = [only(out_echo(gateway64, 77, src=host), WAN).ip[ICMP].id for host in (SIX, SEVEN)]
    assert len(set(ids)) == 2
    assert [only(in_echo(gateway64, one), LAN).ip6.dst for one in ids] == [SIX, SEVEN]


def test_353_lifetime(gateway64: Gateway) -> None:
    """ICMP_DEFAULT is 60 s."""
    out_echo(gateway64, 77)
    gateway64.wait(55)
    assert len(sessions(gateway64)) == 1
    gateway64.wait(8)
    assert sessions(gateway64) == []


def test_353_configured_lifetime(start: Start) -> None:
    """The lifetime is configurable."""
    gateway = start64(start, "nat64.icmp-timeout 100\n")
    out_echo(gateway, 77)
    gateway.wait(95)
    assert len(sessions(gateway)) == 1
    gateway.wait(8)
    assert sessions(gateway) == []


def test_353_lifetime_restarts(gateway64: Gateway) -> None:
    """Packets of both sides restart the lifetime."""
    ident = only(out_echo(gateway64, 77), WAN).ip[ICMP].id
    gateway64.wait(50)
    only(in_echo(gateway64, ident), LAN)
    gateway64.wait(50)
    assert only(out_echo(gateway64, 77), WAN).ip[ICMP].id == ident
    gateway64.wait(50)
    assert len(sessions(gateway64)) == 1


def test_353_no_room(start: Start) -> None:
    """A query that gets no binding is dropped, with ICMPv6 1/3."""
    gateway = start64(start, "nat64.sessions 64\nnat64.host-length 128\n")
    for n in range(64):
        ident = only(out_echo(gateway, 100 + n), WAN).ip[ICMP].id
        only(in_echo(gateway, ident), LAN)
    error6(dropped(gateway, lambda: out_echo(gateway, 7), "table-full"), 1, 3)


def test_353_filter(gateway64: Gateway) -> None:
    ident = only(out_echo(gateway64, 77), WAN).ip[ICMP].id
    assert dropped(gateway64, lambda: in_echo(gateway64, ident, OTHER), "filtered") == []
    assert dropped(gateway64, lambda: in_echo(gateway64, ident + 1), "no-mapping") == []


def test_353_query_from_outside(start: Start) -> None:
    """An echo request from outside to a binding is translated where the filter lets it in, and so is the reply."""
    gateway = start64(start, "nat64.filtering endpoint-independent\n")
    ident = only(out_echo(gateway, 77), WAN).ip[ICMP].id
    asked = only(in_echo(gateway, ident, OTHER, reply=False), LAN).ip6
    assert (asked.src, asked[ICMPv6EchoRequest].id) == (six_of(OTHER), 77)
    reply = only(out_echo(gateway, 77, OTHER, reply=True), WAN).ip
    assert (reply.dst, reply[ICMP].type, reply[ICMP].id) == (OTHER, 0, ident)


@pytest.mark.parametrize("packet", [ICMPv6ND_NS(tgt=six_of(FAR)), ICMPv6ParamProblem(code=2), IPv6(src=SIX)],
                         ids=["nd", "parameter", "tunnel"])
def test_other_messages(gateway64: Gateway, packet: Packet) -> None:
    before = sum(gateway64.drops().values())
    sent = send6(gateway64, to4() / packet)
    assert [one for one in sent if one.port == WAN] == [] and sum(gateway64.drops().values()) == before + 1


# --- errors from outside ------------------------------------------------------------------------------


def quoted4(gateway: Gateway, proto: str) -> Packet:
    """A packet that the gateway sent for SIX, as a router outside sees it."""
    if proto == "udp":
        return only(send6(gateway, to4(hlim=9) / UDP(sport=5000, dport=53) / b"question"), WAN).ip
    if proto == "tcp":
        return only(out_tcp(gateway), WAN).ip
    return only(out_echo(gateway, 77), WAN).ip


ERRORS46 = [(3, 0, 1, 0), (3, 1, 1, 0), (3, 3, 1, 4), (3, 13, 1, 1), (11, 0, 3, 0), (11, 1, 3, 1), (3, 2, 4, 1)]


@pytest.mark.parametrize("proto", ["udp", "tcp", "icmp"])
@pytest.mark.parametrize("error", ERRORS46)
@pytest.mark.parametrize("short", [False, True])
def test_34_error_from_outside(gateway64: Gateway, proto: str, error: tuple[int, int, int, int], short: bool) -> None:
    """Section 3.7, and in the quote too. The source is the router's own address with the prefix: the text makes it that
    of the packet's destination, and traceroute would show one address for all hops."""
    quote = bytes(quoted4(gateway64, proto))[:28 if short else None]
    sent = only(send4(gateway64, to6(FOUR) / ICMP(type=error[0], code=error[1]) / quote), LAN).ip6
    assert (sent.src, sent.dst) == (six_of(FOUR), SIX)
    raw = bytes(sent)
    assert (raw[40], raw[41]) == error[2:]
    inner = IPv6(raw[48:])
    assert (inner.src, inner.dst) == (SIX, six_of(FAR))
    at = 92 if proto == "icmp" else 88
    assert int.from_bytes(raw[at:at + 2], "big") == {"udp": 5000, "tcp": 5000, "icmp": 77}[proto]
    if not short:
        whole = bytes(inner)
        again = IPv6(whole)
        del again.payload.fields["cksum" if proto == "icmp" else "chksum"]
        assert bytes(again) == whole  # the quoted checksum is right


def test_34_too_big(gateway64: Gateway) -> None:
    quote = bytes(quoted4(gateway64, "udp"))
    packet = to6(FOUR) / ICMP(type=3, code=4, nexthopmtu=1400) / quote
    sent = only(send4(gateway64, packet), LAN).ip6
    assert sent[ICMPv6PacketTooBig].mtu == 1420


def test_34_error_changes_no_session(gateway64: Gateway) -> None:
    """ICMP errors change no table (section 3.5; RFC 5508 REQ-6)."""
    quote = bytes(quoted4(gateway64, "tcp"))
    before = sessions(gateway64)
    only(send4(gateway64, to6(FOUR) / ICMP(type=3, code=1) / quote), LAN)
    assert sessions(gateway64) == before


def test_34_error_about_nothing(gateway64: Gateway) -> None:
    """What was never sent, errors about errors, quotes that are too short: silent."""
    quote = quoted4(gateway64, "udp")
    forged = IP(bytes(quote))
    forged[UDP].dport = 54
    assert dropped(gateway64, lambda: send4(gateway64, to6(FOUR) / ICMP(type=3, code=1) / bytes(forged)),
                   "no-mapping") == []
    assert dropped(gateway64, lambda: send4(gateway64, to6(FOUR) / ICMP(type=3, code=1) / bytes(quote)[:27]),
                   "no-mapping") == []
    assert dropped(gateway64, lambda: send4(gateway64, to6(FOUR) / ICMP(type=3, code=1) / bytes(quote)[:19]),
                   "icmp-quote") == []
    nested = IP(src=OWN4, dst=FAR) / ICMP(type=3, code=1) / bytes(quote)
    assert dropped(gateway64, lambda: send4(gateway64, to6(FOUR) / ICMP(type=3, code=1) / bytes(nested)),
                   "icmp-quote") == []


# --- errors from inside -----------------------------------------------------------------------------------


def quoted6(gateway: Gateway, proto: str) -> Packet:
    """A packet from outside, as SIX got it."""
    if proto == "udp":
        return only(in_udp(gateway, out_udp(gateway)), LAN).ip6
    if proto == "tcp":
        return only(in_tcp(gateway, connect(gateway), "A", 9001, 1001, load=b"data"), LAN).ip6
    return only(in_echo(gateway, only(out_echo(gateway, 77), WAN).ip[ICMP].id), LAN).ip6


ERRORS64: list[tuple[Any, int, int]] = [
    (ICMPv6DestUnreach(code=0), 3, 1), (ICMPv6DestUnreach(code=1), 3, 10), (ICMPv6DestUnreach(code=4), 3, 3),
    (ICMPv6TimeExceeded(code=0), 11, 0), (ICMPv6TimeExceeded(code=1), 11, 1), (ICMPv6ParamProblem(code=1, ptr=6), 3, 2),
]


@pytest.mark.parametrize("proto", ["udp", "tcp", "icmp"])
@pytest.mark.parametrize("error", ERRORS64)
@pytest.mark.parametrize("sender", [SIX, "2001:db8:1::77"])
def test_34_error_from_inside(gateway64: Gateway, proto: str, error: tuple[Any, int, int], sender: str) -> None:
    """The source is the external address of the host that the packet was for, whichever node sent the error."""
    quote = quoted6(gateway64, proto)
    packet = IPv6(src=sender, dst=six_of(FAR)) / error[0] / bytes(quote)
    sent = only(send6(gateway64, packet, mac="52:54:00:00:01:0a"), WAN)
    assert (sent.ip.src, sent.ip.dst, sent.ip[ICMP].type, sent.ip[ICMP].code) == (OWN4, FAR, error[1], error[2])
    inner = IP(sent.quote)
    assert (inner.src, inner.dst) == (FAR, OWN4)
    whole = sent.quote
    again = IP(whole)
    del again.payload.fields["chksum"]
    assert bytes(again) == whole
    want = {"udp": 5000, "tcp": 5000, "icmp": 77}[proto]
    assert (inner.payload.id if proto == "icmp" else inner.payload.dport) == want  # the external port is the same


def test_34_error_from_inside_with_another_port(gateway64: Gateway) -> None:
    """Section 3.7: the quoted port is the external one where that differs."""
    out_udp(gateway64, 5000, src=SEVEN)
    port = out_udp(gateway64, 5000)
    quote = only(in_udp(gateway64, port), LAN).ip6
    sent = only(send6(gateway64, IPv6(src=SIX, dst=six_of(FAR)) / ICMPv6DestUnreach(code=4) / bytes(quote)), WAN)
    assert IP(sent.quote)[UDP].dport == port != 5000


def test_34_too_big_from_inside(gateway64: Gateway) -> None:
    quote = quoted6(gateway64, "udp")
    sent = only(send6(gateway64, IPv6(src=SIX, dst=six_of(FAR)) / ICMPv6PacketTooBig(mtu=1400) / bytes(quote)), WAN)
    assert (sent.ip[ICMP].type, sent.ip[ICMP].code, sent.ip[ICMP].nexthopmtu) == (3, 4, 1380)


def test_34_error_from_inside_about_nothing(gateway64: Gateway) -> None:
    quote = IPv6(bytes(quoted6(gateway64, "udp")))
    quote[UDP].sport = 54
    packet = IPv6(src=SIX, dst=six_of(FAR)) / ICMPv6DestUnreach(code=4) / bytes(quote)
    assert dropped(gateway64, lambda: send6(gateway64, packet), "no-mapping") == []


def test_34_error_from_inside_to_a_stranger(gateway64: Gateway) -> None:
    """An error goes to the source of the quoted packet (RFC 4443 section 2.4), not to whom the sender likes."""
    packet = IPv6(src=SIX, dst=six_of(OTHER)) / ICMPv6DestUnreach(code=4) / bytes(quoted6(gateway64, "udp"))
    assert dropped(gateway64, lambda: send6(gateway64, packet), "icmp-quote") == []


def test_wrong_checksum(gateway64: Gateway) -> None:
    quote = bytes(quoted4(gateway64, "udp"))
    packet = to6(FOUR) / ICMP(type=3, code=1, chksum=1) / quote
    assert dropped(gateway64, lambda: send4(gateway64, packet), "icmp-checksum") == []


def test_38_hairpinned_error(gateway64: Gateway) -> None:
    """An error about a hairpinned packet goes back to the inside host that sent it (RFC 5508 REQ-7)."""
    listener, opener = out_udp(gateway64, 6000, src=SEVEN), out_udp(gateway64, 5000)
    send6(gateway64, to4(OWN4, SEVEN) / UDP(sport=6000, dport=opener) / b"ho")
    got = only(send6(gateway64, to4(OWN4) / UDP(sport=5000, dport=listener) / b"hi"), LAN).ip6
    error = IPv6(src=SEVEN, dst=six_of(OWN4)) / ICMPv6DestUnreach(code=4) / bytes(got)
    back = only(send6(gateway64, error, mac="52:54:00:00:01:0b"), LAN).ip6
    assert (back.src, back.dst) == (six_of(OWN4), SIX)
    inner = IPv6(bytes(back)[48:])
    assert (inner.src, inner.dst, inner[UDP].sport, inner[UDP].dport) == (SIX, six_of(OWN4), 5000, listener)
    assert TCP not in back
