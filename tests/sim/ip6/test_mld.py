# SPDX-License-Identifier: BSD-2-Clause
"""The groups that the interfaces report: MLDv2 (RFC 3810), MLDv1 for older routers (RFC 2710), RFC 3590."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv6Address

import pytest
from gateway import LAN, WAN, Gateway, Sent, only
from net6 import (
    A6, ALL_NODES, ALL_ROUTERS, MLD_ROUTERS, OWN, OWN_LOCAL, PLAIN6, ROUTER6, Host6, Start, group_mac, of_kind, send,
    solicited_node, start6,
)
from scapy.layers.inet6 import IPv6, IPv6ExtHdrHopByHop, PadN, RouterAlert, in6_chksum
from scapy.packet import Packet, Raw

pytestmark = pytest.mark.virtual

QUERY, REPORT1, DONE, REPORT2 = 130, 131, 132, 143
IS_EXCLUDE, TO_INCLUDE, TO_EXCLUDE = 2, 3, 4
ALERT = IPv6ExtHdrHopByHop(options=[RouterAlert(), PadN(optdata=b"")])


def groups(port: str, *addresses: str) -> set[str]:
    """The groups that an interface must have joined: RFC 4291 section 2.8."""
    net = OWN[port].rsplit("::", 1)[0] + "::"
    return {solicited_node(a) for a in (OWN[port], OWN_LOCAL[port], net, *addresses)} | {ALL_ROUTERS}


def records(sent: Sent) -> list[tuple[int, str]]:
    """Type and group of each record of an MLDv2 report."""
    body = sent.raw[62:]
    n = int.from_bytes(body[6:8], "big")
    assert len(body) == 8 + 20 * n and all(body[8 + 20 * i + 1:12 + 20 * i] == b"\0\0\0" for i in range(n))
    return [(body[8 + 20 * i], str(IPv6Address(body[12 + 20 * i:28 + 20 * i]))) for i in range(n)]


def reported(sent: Sequence[Sent], port: str) -> list[tuple[int, str]]:
    return [record for one in of_kind(list(sent), REPORT2, port) for record in records(one)]


def message(body: bytes, *, host: Host6 = ROUTER6, source: str | None = None, dst: str = ALL_NODES, hops: int = 1,
            alert: Packet | None = ALERT) -> Packet:
    ip = IPv6(src=source or host.local, dst=dst, hlim=hops)
    raw = bytearray(body)
    raw[2:4] = in6_chksum(58, IPv6(src=ip.src, dst=dst, nh=58), bytes(raw)).to_bytes(2, "big")
    if alert is None:
        return IPv6(src=ip.src, dst=dst, hlim=hops, nh=58) / Raw(bytes(raw))
    header = alert.copy()
    header.nh = 58
    return ip / header / Raw(bytes(raw))


def query(wait: int = 2000, group: str = "::", *, version: int = 2, kind: int = QUERY) -> bytes:
    body = bytes([kind, 0, 0, 0]) + wait.to_bytes(2, "big") + bytes(2) + IPv6Address(group).packed
    return body + bytes([2, 125, 0, 0]) if version == 2 else body


@pytest.fixture
def six(start: Start) -> Gateway:
    return start6(start, PLAIN6, settle=10)


# --- unsolicited reports (RFC 3810 section 6.1) -----------------------------------------------------


def test_s61_joined_groups_are_reported_twice(start: Start) -> None:
    """First from the unspecified address, and again when the link-local address is in use (RFC 3590)."""
    gateway = start(PLAIN6, "route6")
    sent = of_kind(gateway.wait(6), REPORT2)
    for port in (LAN, WAN):
        mine = [one for one in sent if one.port == port]
        for own in ("::", OWN_LOCAL[port]):
            found = [record for one in mine if one.ip6.src == own for record in records(one)]
            assert {group for _, group in found} == groups(port)
            assert {kind for kind, _ in found} == {TO_EXCLUDE}
        last = [record for one in mine if one.ip6.src == OWN_LOCAL[port] for record in records(one)]
        assert len(last) == 2 * len(groups(port))
        for one in mine:
            assert one.ip6.dst == MLD_ROUTERS and one.frame.dst == group_mac(MLD_ROUTERS) and one.ip6.hlim == 1
            assert one.raw[54:62] == bytes([58, 0, 5, 2, 0, 0, 1, 0])  # router alert
    assert of_kind(gateway.wait(100), REPORT2) == []


def test_all_nodes_is_never_reported(start: Start) -> None:
    gateway = start(PLAIN6, "route6")
    sent = gateway.wait(6)
    send(gateway, ROUTER6, message(query(100)))
    sent += gateway.wait(2)
    assert all(group != ALL_NODES for port in (LAN, WAN) for _, group in reported(sent, port))


def test_reported_again_when_carrier_comes_up(six: Gateway) -> None:
    six.link(WAN, False)
    six.wait(1)
    six.link(WAN, True)
    sent = six.wait(6)
    assert {group for _, group in reported(sent, WAN)} == groups(WAN) and reported(sent, LAN) == []


def test_two_addresses_with_one_group(start: Start) -> None:
    """The group is joined once."""
    gateway = start(PLAIN6 + "lan.address fd00:1::1/64\n", "route6")
    sent = gateway.wait(6)
    assert {group for _, group in reported(sent, LAN)} == groups(LAN)


# --- answers (section 6.2) -----------------------------------------------------------------------------------


@pytest.mark.parametrize("host", [A6, ROUTER6], ids=["lan", "wan"])
def test_s62_general_query(six: Gateway, host: Host6) -> None:
    assert send(six, host, message(query(3000), host=host)) == []
    sent = only(of_kind(six.wait(3.2), REPORT2), host.port)
    assert set(records(sent)) == {(IS_EXCLUDE, group) for group in groups(host.port)}
    assert sent.ip6.src == OWN_LOCAL[host.port]
    assert of_kind(six.wait(100), REPORT2) == []


def test_s62_answers_come_at_random_times(six: Gateway) -> None:
    delays = set()
    for turn in range(12):
        begin = 10 + turn * 20
        send(six, ROUTER6, message(query(10000)))
        sent = only(of_kind(six.wait(20), REPORT2), WAN)
        delays.add(round(sent.at - begin))
        assert 0 <= sent.at - begin <= 10.2
    assert len(delays) > 4


@pytest.mark.parametrize(("code", "most"), [(0x7fff, 32.767), (0x8000, 32.768), (0x9fff, 131.056), (0xa123, 140.384)])
def test_s513_long_waits_are_floating_point(six: Gateway, code: int, most: float) -> None:
    """(mantissa | 0x1000) << (exponent + 3) milliseconds, from 0x8000 on."""
    delays, now = [], 10.0
    for _ in range(12):
        send(six, ROUTER6, message(query(code)))
        delays.append(only(of_kind(six.wait(most + 0.2), REPORT2), WAN).at - now)
        now += most + 0.2
    assert most * 0.5 < max(delays) <= most + 0.15


def test_s62_query_for_one_group(six: Gateway) -> None:
    group = solicited_node(OWN[WAN])
    for dst in (group, ALL_NODES):
        assert send(six, ROUTER6, message(query(1000, group), dst=dst)) == []
        assert records(only(of_kind(six.wait(1.2), REPORT2), WAN)) == [(IS_EXCLUDE, group)]
    send(six, ROUTER6, message(query(1000, "ff02::1:ff99:9999")))
    assert of_kind(six.wait(3), REPORT2) == []


def test_s62_one_answer_to_two_queries(six: Gateway) -> None:
    """One answer at the earlier of the two times serves both queries."""
    send(six, ROUTER6, message(query(1000)))
    send(six, ROUTER6, message(query(10000)))
    assert len(of_kind(six.wait(15), REPORT2)) == 1


@pytest.mark.parametrize("packet", [
    message(query(), source="2001:db8:2::1"),
    message(query(), source="::"),
    message(query(), hops=64),
    message(query(), alert=None),
    message(query(), alert=IPv6ExtHdrHopByHop(options=[PadN(optdata=b"1234")])),
    message(query(), alert=IPv6ExtHdrHopByHop(options=[RouterAlert(value=1)])),
    message(query()[:25]),
    message(query()[:27]),
    message(query(version=1)[:23]),
], ids=["global-source", "nameless", "hops", "no-alert", "other-option", "other-alert", "25-bytes", "27-bytes",
        "23-bytes"])
def test_s62_query_that_is_wrong(six: Gateway, packet: Packet) -> None:
    """Sections 5.1.14, 6.2, 8.1."""
    assert send(six, ROUTER6, packet) == []
    assert six.wait(5) == []
    assert six.drops() == {"mld": 1}


def test_reports_of_others_change_nothing(six: Gateway) -> None:
    group = solicited_node(OWN[WAN])
    assert send(six, ROUTER6, message(query(0, group, version=1, kind=REPORT1), dst=group)) == []
    assert send(six, ROUTER6, message(query(0, group, version=1, kind=DONE), dst=ALL_ROUTERS)) == []
    assert send(six, ROUTER6, message(bytes([REPORT2]) + bytes(27), dst=MLD_ROUTERS)) == []
    assert six.drops() == {"mld": 2, "multicast": 1}


# --- MLDv1 (section 8.2, RFC 2710) ------------------------------------------------------------------------------


def v1_groups(sent: Sequence[Sent], kind: int = REPORT1) -> list[str]:
    """The groups of MLDv1 messages, which are sent to the group itself."""
    found = []
    for one in of_kind(list(sent), kind):
        assert len(one.raw) == 62 + 24 and one.ip6.hlim == 1 and one.raw[64:70][2:] == bytes(4)
        group = str(IPv6Address(one.raw[70:86]))
        assert one.ip6.dst == group and one.frame.dst == group_mac(group)
        found.append(group)
    return found


def test_s832_answers_an_old_router_in_its_form(six: Gateway) -> None:
    send(six, ROUTER6, message(query(3000, version=1)))
    sent = six.wait(3.2)
    assert of_kind(sent, REPORT2) == []
    assert sorted(v1_groups(sent)) == sorted(groups(WAN))
    assert len({round(one.at, 1) for one in of_kind(sent, REPORT1)}) > 1  # each at its own time


def test_s832_each_side_has_its_own_mode(six: Gateway) -> None:
    send(six, ROUTER6, message(query(100, version=1)))
    send(six, A6, message(query(100), host=A6))
    sent = six.wait(1)
    assert {one.port for one in of_kind(sent, REPORT1)} == {WAN}
    assert {one.port for one in of_kind(sent, REPORT2)} == {LAN}


def test_s832_old_mode_ends_after_260_seconds(six: Gateway) -> None:
    send(six, ROUTER6, message(query(100, version=1)))
    six.wait(255)
    send(six, ROUTER6, message(query(100)))
    assert len(v1_groups(six.wait(1))) == len(groups(WAN))
    six.wait(6)
    send(six, ROUTER6, message(query(100)))
    sent = six.wait(1)
    assert of_kind(sent, REPORT1) == [] and len(of_kind(sent, REPORT2)) == 1


def test_s831_change_of_mode_cancels_what_was_due(six: Gateway) -> None:
    send(six, ROUTER6, message(query(20000)))
    send(six, ROUTER6, message(query(100, solicited_node(OWN[WAN]), version=1), dst=solicited_node(OWN[WAN])))
    sent = six.wait(30)
    assert v1_groups(sent) == [solicited_node(OWN[WAN])] and of_kind(sent, REPORT2) == []


def test_rfc2710_s4_a_group_that_somebody_else_reported(six: Gateway) -> None:
    mine = solicited_node(OWN[WAN])
    seen = []
    for _ in range(10):
        send(six, ROUTER6, message(query(10000, version=1)))
        send(six, ROUTER6, message(query(0, mine, version=1, kind=REPORT1), dst=mine))
        seen += v1_groups(six.wait(12))
    assert seen.count(mine) == 0 and seen.count(ALL_ROUTERS) == 10
