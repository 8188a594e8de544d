# SPDX-License-Identifier: BSD-2-Clause
"""What must hold for any traffic: hypothesis generates the packets."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any

import pytest
from examples import examples
from gateway import A, B, INSIDE, LAN, NAT, NEAR, NEIGHBOURS, OUTSIDE, PORT_MAC, SERVER, WAN, Gateway, only
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from simulator import Simulator

pytestmark = pytest.mark.virtual

PROPERTY = examples(60)

ports = st.integers(1, 65535)
payloads = st.binary(max_size=200)


@st.composite
def headers(draw: Callable[..., Any]) -> dict[str, Any]:
    """IPv4 fields that a NAT must not change."""
    return {"tos": draw(st.integers(0, 255)), "ttl": draw(st.integers(2, 255)), "id": draw(st.integers(0, 65535)),
            "flags": draw(st.sampled_from(["", "DF"]))}


def transport(proto: Any, sport: int, dport: int, data: bytes, chksum: int | None = None) -> Any:
    if proto is ICMP:
        return ICMP(id=sport, seq=dport) / data
    if proto is UDP:
        return UDP(sport=sport, dport=dport, chksum=chksum) / data
    return TCP(sport=sport, dport=dport, flags="S", seq=sport * dport) / data


@PROPERTY
@given(proto=st.sampled_from([UDP, TCP, ICMP]), sport=ports, dport=ports, data=payloads, fields=headers(),
       no_sum=st.booleans(), taken=st.booleans())
def test_what_goes_out_and_comes_back_arrives_unchanged(
        sim: Simulator, proto: Any, sport: int, dport: int, data: bytes, fields: dict[str, Any], no_sum: bool,
        taken: bool) -> None:
    """The server sends the packet back; the inside host gets its own bytes with the endpoints swapped."""
    gateway = Gateway(sim)
    chksum = 0 if no_sum else None
    if taken:  # then the NAT chooses another external port
        only(gateway.ip_from(B, IP(src=B.ip, dst=SERVER) / transport(proto, sport, dport, b"")), WAN)
    packet = IP(src=A.ip, dst=SERVER, **fields) / transport(proto, sport, dport, data, chksum)
    sent = only(gateway.lan(packet), WAN).ip
    for field in ("tos", "flags") + (("id",) if fields["flags"] else ()):
        assert getattr(sent, field) == getattr(packet, field)
    assert sent.ttl == packet.ttl - 1
    assert bytes(sent[proto].payload) == data
    if proto is ICMP:
        answer: Any = ICMP(type=0, id=sent[ICMP].id, seq=sent[ICMP].seq) / data
        expected: Any = ICMP(type=0, id=sport, seq=dport) / data
    else:
        flags = {"flags": "SA", "seq": 1, "ack": 2} if proto is TCP else {"chksum": chksum}
        answer = proto(sport=dport, dport=sent[proto].sport, **flags) / data
        expected = proto(sport=dport, dport=sport, **flags) / data
    back = only(gateway.wan(IP(src=SERVER, dst=OUTSIDE, **fields) / answer), LAN).ip
    wanted = IP(src=SERVER, dst=A.ip, **{**fields, "ttl": fields["ttl"] - 1}) / expected
    if proto is ICMP and bytes(back)[22:24] == b"\xff\xff":
        # All ones and zero are the same sum; the wrapper has compared it with the data.
        back[ICMP].chksum = wanted[ICMP].chksum = 0xffff
    assert bytes(back) == bytes(wanted)
    gateway.finish()


ADDRESSES = [A.ip, B.ip, INSIDE, OUTSIDE, SERVER, NEAR.ip, "10.0.0.1", "192.168.1.255", "127.0.0.1", "224.0.0.1",
             "255.255.255.255", "0.0.0.0", "172.16.5.5", "203.0.113.77"]
addresses = st.one_of(
    st.sampled_from(ADDRESSES), st.integers(0, 2**32 - 1).map(lambda n: str(ipaddress.IPv4Address(n))))


@st.composite
def packets(draw: Callable[..., Any]) -> tuple[str, bytes]:
    """A frame on any interface: often valid, never with wrong checksums (the oracle does not check them)."""
    port = draw(st.sampled_from([LAN, LAN, WAN]))
    proto = draw(st.sampled_from([UDP, TCP, ICMP, None]))
    number = st.one_of(st.sampled_from([53, 80, 5000, 5001]), ports)
    ip = IP(src=draw(addresses), dst=draw(addresses), ttl=draw(st.sampled_from([1, 2, 64])),
            flags=draw(st.sampled_from(["", "", "DF", "MF"])), frag=draw(st.sampled_from([0, 0, 0, 1, 185])))
    data = draw(payloads)
    if proto is ICMP:
        kind = draw(st.sampled_from([0, 3, 5, 8, 11, 12, 13]))
        inner = IP(src=draw(addresses), dst=draw(addresses)) / draw(st.sampled_from([UDP, TCP]))(
            sport=draw(number), dport=draw(number))
        message: Any = ICMP(type=kind, id=draw(number)) / Raw(bytes(inner) if kind in (3, 11, 12) else data)
    elif proto is UDP:
        message = UDP(sport=draw(number), dport=draw(number)) / data
    elif proto is TCP:
        flags = draw(st.sampled_from(["S", "SA", "A", "FA", "R", "PA"]))
        message = TCP(sport=draw(number), dport=draw(number), flags=flags) / data
    else:
        ip.proto, message = draw(st.sampled_from([2, 41, 47, 50])), Raw(data)
    return port, bytes(Ether(src=A.mac, dst=PORT_MAC[port]) / ip / message)


CONFIG = NAT.replace("nat.sessions 256", "nat.sessions 100").replace(NEIGHBOURS, "") + "wan.mtu 1280\n"


@PROPERTY
@given(traffic=st.lists(st.one_of(packets(), st.floats(0.001, 400)), max_size=40),
       filtering=st.sampled_from(["endpoint-independent", "address-dependent", "address-and-port-dependent"]),
       known=st.booleans())
def test_nothing_inside_shows_outside(sim: Simulator, traffic: list[Any], filtering: str, known: bool) -> None:
    """Every frame on the WAN has our address as source and no inside address in an error; nothing leaks.

    The wrapper checks the sources; with unknown neighbours packets wait and errors come late.
    """
    gateway = Gateway(sim, CONFIG + (NEIGHBOURS if known else "") + f"nat.filtering {filtering}\n")
    inside = ipaddress.ip_network("192.168.1.0/24")
    for step in traffic:
        sent = gateway.wait(step) if isinstance(step, float) else gateway.send(*step)
        for one in sent:
            if one.port == WAN and one.frame.type == 0x800 and one.ip.proto == 1 and one.raw[34] in (3, 11, 12):
                quoted = IP(one.quote)
                # An outside host may get back what it sent with such an address in it.
                if isinstance(step, float) or step[0] == LAN:
                    assert ipaddress.ip_address(quoted.src) not in inside
                    assert ipaddress.ip_address(quoted.dst) not in inside
    gateway.finish()


@PROPERTY
@given(frames=st.lists(st.tuples(st.sampled_from([LAN, WAN]), st.binary(min_size=14, max_size=1600)), max_size=30))
def test_wire_changes_nothing(sim: Simulator, frames: list[tuple[str, bytes]]) -> None:
    gateway = Gateway(sim, "", "wire")
    for port, frame in frames:
        sent = only(gateway.send(port, frame), WAN if port == LAN else LAN)
        assert sent.raw == frame
    gateway.finish()
