# SPDX-License-Identifier: BSD-2-Clause
"""RFC 6864, the IPv4 identification: a NAT is a source of the datagrams that it translates (section 5.3.1)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gateway import A, B, LAN, NAT, OUTSIDE, SERVER, WAN, Gateway, only
from pieces import cut, groups, join
from scapy.layers.inet import ICMP, IP, UDP
from traffic import KINDS, answer, frame_of, open_out, outer, request

Start = Callable[..., Gateway]


@pytest.mark.parametrize("kind", KINDS)
def test_two_hosts_with_one_identification(gateway: Gateway, kind: str) -> None:
    """Non-atomic datagrams that would collide outside leave with different identifications."""
    seen = []
    for number in range(200):
        for host in (A, B):
            packet = IP(src=host.ip, dst=SERVER, id=number) / request(kind, 5000)
            seen.append(only(gateway.ip_from(host, packet), WAN).ip.id)
    assert len(set(seen)) == 400


@pytest.mark.virtual
def test_no_repetition_soon(gateway: Gateway) -> None:
    """Section 4.3: no repetition within the lifetime of a datagram: each destination's 65536 numbers are used in
    turn."""
    frame = frame_of(A, IP(src=A.ip, dst=SERVER, id=7) / UDP(sport=5000, dport=53))
    last: dict[int, int] = {}
    for at, sent in enumerate(gateway.send_many([frame] * 70000)):
        number = int.from_bytes(sent[0].raw[18:20], "big")
        assert at - last.get(number, -65536) >= 65536
        last[number] = at
    assert len(last) == 65536


def test_numbers_reveal_nothing_about_other_traffic(gateway: Gateway) -> None:
    """Each destination has its own counter with an unpredictable start."""
    first = [only(gateway.lan(IP(src=A.ip, dst=f"198.51.100.{n}") / UDP(sport=5000, dport=53)), WAN).ip.id
             for n in range(1, 201)]
    steps = {(later - sooner) % 65536 for sooner, later in zip(first, first[1:])}
    assert len(steps) > 190
    assert max(first) - min(first) > 50000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [0, 1, 7, 65535])
def test_atomic_datagrams_stay_as_they_are(gateway: Gateway, kind: str, number: int) -> None:
    """DF=1, no fragment: the identification has no meaning and is not changed, DF stays (section 4.1)."""
    packet = IP(src=A.ip, dst=SERVER, id=number, flags="DF") / request(kind, 5000)
    sent = only(gateway.lan(packet), WAN)
    assert (sent.ip.id, sent.ip.flags) == (number, "DF")
    back = IP(src=SERVER, dst=OUTSIDE, id=number, flags="DF") / \
        (ICMP(type=0, id=outer(sent)) if kind == "icmp" else UDP(sport=53, dport=9))
    if kind == "icmp":
        got = only(gateway.wan(back), LAN)
        assert (got.ip.id, got.ip.flags) == (number, "DF")


@pytest.mark.parametrize("flags", ["", "DF", "evil", "evil+DF"])
def test_flags_are_never_changed(gateway: Gateway, flags: str) -> None:
    sent = only(gateway.lan(IP(src=A.ip, dst=SERVER, flags=flags) / UDP(sport=5000, dport=53)), WAN)
    assert sent.ip.flags == flags
    got = only(gateway.wan(IP(src=SERVER, dst=OUTSIDE, flags=flags) / UDP(sport=53, dport=5000)), LAN)
    assert got.ip.flags == flags


@pytest.mark.parametrize("df", [0, 0x4000])
@pytest.mark.parametrize("order", [1, -1])
def test_fragments_of_one_datagram_share_it(gateway: Gateway, df: int, order: int) -> None:
    """Also those with DF: they are not atomic, and DF stays."""
    for host in (A, B):
        parts = cut(IP(src=host.ip, dst=SERVER, id=7) / UDP(sport=5000, dport=53) / bytes(6000))
        for part in parts:
            part.flags = int(part.flags) | (2 if df else 0)
        sent = [one for part in parts[::order] for one in gateway.ip_from(host, part)]
        assert len(sent) == 5 and len(groups(sent)) == 1
        assert all(bool(one.raw[20] & 0x40) == bool(df) for one in sent)
        if not df:
            join(sent)


def test_a_repeated_first_fragment_keeps_it(gateway: Gateway) -> None:
    """Otherwise its copy would split the datagram in two."""
    parts = cut(IP(src=A.ip, dst=SERVER, id=7) / UDP(sport=5000, dport=53) / bytes(4000))
    sent = [one for part in (parts[0], parts[1], parts[0], parts[2]) for one in gateway.lan(part)]
    assert len(sent) == 4 and len(groups(sent)) == 1
    # The host's next datagram with this number is a different one.
    again = [one for part in parts for one in gateway.lan(part)]
    assert again[0].ip.id != sent[0].ip.id and len(groups(again)) == 1


def test_datagrams_fragmented_here_share_it(start: Start) -> None:
    gateway = start(NAT + "wan.mtu 1280\n")
    ids = set()
    for host in (A, B):
        sent = gateway.ip_from(host, IP(src=host.ip, dst=SERVER, id=7) / UDP(sport=5000, dport=53) / bytes(1400))
        join(sent)
        ids.add(sent[0].ip.id)
    assert len(ids) == 2


def test_from_outside_it_is_the_senders(gateway: Gateway) -> None:
    """A datagram from outside keeps its source, so its identification is unique already."""
    open_out(gateway)
    for number in (1, 1, 65535):
        sent = gateway.wan(IP(src=SERVER, dst=OUTSIDE, id=number) / UDP(sport=53, dport=5000))
        assert only(sent, LAN).ip.id == number
    assert len(answer(gateway, "udp", 5000)) == 1


def test_own_errors_have_new_ones(gateway: Gateway) -> None:
    ids = {only(gateway.lan(IP(src=A.ip, dst=SERVER, ttl=1, id=7) / UDP()), LAN).ip.id for _ in range(20)}
    assert len(ids) == 20
