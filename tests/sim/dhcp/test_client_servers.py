# SPDX-License-Identifier: BSD-2-Clause
"""What the DHCP client of the WAN takes from which server, and what it does not do too often."""

from __future__ import annotations

import pytest
from gateway import WAN
from leases import (
    DISCOVER,
    MINE,
    NAK,
    OFFER,
    OTHER,
    OTHER_MAC,
    QUICK,
    RELEASE,
    REQUEST,
    SERVER_ID,
    SERVER_MAC,
    TYPE,
    Server,
    Start,
    begin,
    ip,
    lease,
    messages,
    said,
    state,
)
from scapy.layers.l2 import ARP

pytestmark = pytest.mark.virtual


def test_a_rejected_server_refuses_nothing(start: Start) -> None:
    """Its DHCPNAK ends no lease: by its identifier, and by the source of its packet."""
    server = Server(lease=3600)
    uplink = begin(start, server, config=QUICK + "wan.dhcp-reject 192.168.100.0/24\n")
    gateway = uplink.gateway
    server.silent = {REQUEST}
    uplink.lost_carrier()
    asked = server.heard[-1]
    assert state(gateway) == "rebooting"
    modem = Server("192.168.100.10", "192.168.100.1", OTHER_MAC)
    gateway.send(WAN, modem.reply(NAK, asked))
    gateway.send(WAN, modem.reply(NAK, asked, options={TYPE: bytes((NAK,)), SERVER_ID: ip("203.0.113.7")}))
    assert state(gateway) == "rebooting" and lease(gateway) == f"{MINE}/24"
    assert gateway.drops()["dhcp-refused"] == 2 and said(gateway, "wan.dhcp-reject names the server")
    gateway.send(WAN, server.reply(NAK, asked))
    assert lease(gateway) is None


def test_s445_another_server_does_not_refuse_a_renewal(start: Start) -> None:
    """It was not asked, by the identifier that it names or, without one, by its address; a rebinding asks all."""
    server = Server(lease=600)
    uplink = begin(start, server)
    gateway = uplink.gateway
    server.silent = {REQUEST}
    uplink.run(310, 0.5)
    assert state(gateway) == "renewing"
    other = Server(OTHER, "203.0.113.253", OTHER_MAC)
    gateway.send(WAN, other.reply(NAK, server.heard[-1]))
    gateway.send(WAN, other.reply(NAK, server.heard[-1], options={TYPE: bytes((NAK,))}))
    assert state(gateway) == "renewing" and lease(gateway) == f"{MINE}/24"
    assert gateway.drops()["dhcp-not-ours"] == 2
    uplink.run(230, 0.5)
    assert state(gateway) == "rebinding"
    gateway.send(WAN, other.reply(NAK, server.heard[-1]))
    assert lease(gateway) is None


def test_s445_the_server_of_the_lease_refuses_a_renewal(start: Start) -> None:
    server = Server(lease=600)
    uplink = begin(start, server)
    server.silent = {REQUEST}
    uplink.run(310, 0.5)
    uplink.gateway.send(WAN, server.reply(NAK, server.heard[-1]))
    assert lease(uplink.gateway) is None and said(uplink.gateway, "refuses the lease")


def test_one_reason_does_not_hide_another(start: Start) -> None:
    """Within a minute each kind has its line."""
    server = Server(silent={DISCOVER})
    uplink = begin(start, server, config=QUICK + "wan.dhcp-reject 192.168.100.0/24\n")
    gateway, asked = uplink.gateway, server.heard[-1]
    for _ in range(3):
        gateway.send(WAN, Server("192.168.100.10", "192.168.100.1").reply(OFFER, asked))
        gateway.send(WAN, Server("192.168.1.77").reply(OFFER, asked))
        gateway.send(WAN, server.reply(OFFER, asked, options={TYPE: bytes((OFFER,)), SERVER_ID: ip(server.address)}))
    lines = [line for line in gateway.lines("log") if "is not taken" in line]
    assert len(lines) == 3 and gateway.drops()["dhcp-refused"] == 9
    assert "names the server" in lines[0] and "have addresses in common" in lines[1]


def test_s446_a_release_needs_no_next_hop(start: Start) -> None:
    """The gateway may not know the server's MAC address, and stops at once: it goes to the station that gave the
    lease."""
    server = Server()
    uplink = begin(start, server)
    uplink.gateway.wait(120)
    assert not any(server.address in line for line in uplink.gateway.lines("neighbours"))
    sent = uplink.gateway.act("release")
    assert [one.sent.frame.dst for one in messages(sent, RELEASE)] == [SERVER_MAC]
    assert messages(sent, RELEASE)[0].sent.ip.dst == server.address
    assert not [one for one in sent if ARP in one.frame and one.port == WAN]


def test_rfc4436_s42_one_question_a_second(start: Start) -> None:
    """However often the carrier comes and goes."""
    server = Server(lease=3600, silent=set())
    uplink = begin(start, server)
    gateway = uplink.gateway
    server.heard.clear()
    began = gateway.wait(0.1)
    for _ in range(20):
        gateway.link(WAN, False)
        gateway.wait(0.05)
        began += gateway.link(WAN, True) + gateway.wait(0.1)
    asked = [one for one in messages(began) if one.kind == REQUEST]
    assert 2 <= len(asked) <= 4
    assert all(b.at - a.at >= 1 for a, b in zip(asked, asked[1:], strict=False))
    uplink.run(10)
    assert state(gateway) == "bound" and lease(gateway) == f"{MINE}/24"
