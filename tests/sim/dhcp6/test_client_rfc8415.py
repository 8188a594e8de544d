# SPDX-License-Identifier: BSD-2-Clause
"""The DHCPv6 client of the WAN: RFC 8415, prefixes delegated to the inside (RFC 7084, RFC 9096)."""

from __future__ import annotations

import pytest
from delegation import (
    AUTO,
    DELEGATED,
    IA_NA,
    IA_PD,
    INFORMATION,
    MANAGED,
    MINE,
    NO_BINDING,
    OTHERS,
    PREFIX,
    PREFIX2,
    REBIND,
    RENEW,
    REPLY,
    REQUEST,
    SERVER2,
    SOLICIT,
    Message,
    Server6,
    Start,
    Uplink6,
    advertised,
    begin,
    datagram,
    leases,
    messages,
    own,
    state,
)
from gateway import LAN, PORT_MAC, WAN, Sent
from net6 import Host6, solicit
from scapy.layers.inet6 import UDP, ICMPv6DestUnreach, ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import Ether
from uplink import R1

pytestmark = pytest.mark.virtual
FIRST = "2001:db8:a0::"
HOST, HOST_MAC = "2001:db8:a0::77", "02:00:00:00:00:77"


def heard(server: Server6, *kinds: int) -> list[Message]:
    return [one for one in server.heard if one.kind in kinds]


def join(uplink: Uplink6) -> None:
    """The host of the LAN looks for its router, which so learns its address."""
    uplink.gateway.sources[WAN] = None  # native IPv6 leaves with the sources of inside hosts
    host = Host6(LAN, HOST, HOST, HOST_MAC)
    uplink.gateway.send(LAN, Ether(src=HOST_MAC, dst=PORT_MAC[LAN]) / solicit(host, "2001:db8:a0::1"))


def to(addr: str, source: str = HOST) -> bytes:
    return bytes(Ether(src=HOST_MAC, dst=PORT_MAC[LAN]) / IPv6(src=source, dst=addr) / ICMPv6EchoRequest())


def out(sent: list[Sent], port: str = WAN) -> list[Sent]:
    return [one for one in sent if one.port == port and ICMPv6EchoRequest in one.frame
            and ICMPv6DestUnreach not in one.frame]


# --- section 18.2.1 and 18.2.2: from Solicit to a lease ---------------------------------------------------


def test_a_prefix_is_delegated_and_advertised(start: Start) -> None:
    """RFC 7084 L-2, section 5.5 of RFC 9096: the first /64 is the LAN's; lifetimes are short, within the lease."""
    server = Server6()
    uplink = begin(start, server)
    gateway = uplink.gateway
    assert (state(gateway), leases(gateway), own(gateway)) == ("bound", [PREFIX], ["2001:db8:a0::1/64"])
    assert [one.kind for one in server.heard] == [SOLICIT, REQUEST]
    valid, preferred = advertised(uplink.run(30))[FIRST]
    assert 4900 < valid <= 5000 and 2600 < preferred <= 2700
    sent = uplink.run(600, 10)
    valid, preferred = advertised(sent)[FIRST]
    assert valid <= 4700 and preferred <= 2700


def test_solicit_asks_for_a_prefix(start: Start) -> None:
    """Section 18.2.1: IA_PD, the options that it wants, and no address without a router that says so."""
    server = Server6()
    begin(start, server)
    first = server.heard[0]
    assert first.has(IA_PD) and not first.has(IA_NA) and {23, 82} <= first.asked() and first.elapsed == 0
    assert first.xid != server.heard[1].xid


def test_managed_networks_give_an_address_too(start: Start) -> None:
    """The M flag: IA_NA beside IA_PD; the address is ours after duplicate address detection."""
    server = Server6(addresses=[MINE])
    uplink = begin(start, server, flags=MANAGED)
    assert sorted(leases(uplink.gateway)) == sorted([PREFIX, MINE + "/128"])
    uplink.run(3)
    assert own(uplink.gateway, WAN) == [MINE + "/128"]


def test_solicit_is_repeated_for_ever(start: Start) -> None:
    """Section 15: 1 s, then twice as long each time, with 10 % of chance, up to SOL_MAX_RT of an hour."""
    uplink = Uplink6(start(DELEGATED, "nat"))
    uplink.run(2)
    sent = uplink.hear()
    sent += uplink.run(200)
    asked = messages(sent, SOLICIT)
    waits = [b.at - a.at for a, b in zip(asked, asked[1:])]
    assert len(waits) >= 5
    for number, wait in enumerate(waits[:5]):
        assert 0.85 * 2**number <= wait <= 1.3 * 2**number + 0.1 * number, waits
    assert [one.elapsed for one in asked] == sorted(one.elapsed for one in asked)
    uplink.servers.append(Server6())
    uplink.run(3700, 5)
    assert state(uplink.gateway) == "bound"


def test_no_prefix_is_asked_for_again(start: Start) -> None:
    """Section 18.2.9: an Advertise without a prefix is no offer."""
    server = Server6(prefixes=[])
    uplink = begin(start, server, seconds=30)
    assert heard(server, REQUEST) == [] and len(heard(server, SOLICIT)) >= 3
    server.prefixes = [PREFIX]
    uplink.run(130, 1)
    assert leases(uplink.gateway) == [PREFIX]


def test_the_preferred_server(start: Start) -> None:
    """Section 18.2.1: the one with the highest preference, of those that answer in the first second."""
    low, high = Server6(preference=1), Server6(prefixes=[PREFIX2], host=SERVER2, preference=7)
    uplink = begin(start, low, high)
    assert leases(uplink.gateway) == [PREFIX2] and heard(low, REQUEST) == []


# --- section 18.2.4 to 18.2.7: renewal, rebinding, release ------------------------------------------------


def test_renewal_keeps_the_prefix(start: Start) -> None:
    server = Server6(preferred=600, valid=1200, t1=300, t2=480)
    uplink = begin(start, server)
    uplink.run(310, 1)
    assert len(heard(server, RENEW)) == 1 and heard(server, RENEW)[0].prefixes() == [PREFIX]
    uplink.run(2000, 5)
    assert len(heard(server, RENEW)) >= 6 and heard(server, REBIND) == []
    assert leases(uplink.gateway) == [PREFIX] and own(uplink.gateway) == ["2001:db8:a0::1/64"]


def test_another_server_after_the_second_time(start: Start) -> None:
    """Section 18.2.5: Rebind names no server, so any may answer."""
    first, second = Server6(t1=300, t2=480, silent={RENEW, REBIND}), Server6(host=SERVER2)
    uplink = begin(start, first)
    uplink.servers.append(second)
    uplink.run(520, 1)
    assert len(heard(first, RENEW)) >= 2 and len(heard(second, REBIND)) == 1
    assert state(uplink.gateway) == "bound" and leases(uplink.gateway) == [PREFIX]


def test_a_lease_ends(start: Start) -> None:
    """Nobody answers any more: the prefix is withdrawn inside (RFC 9096 section 3.5) and asked for again."""
    server = Server6(preferred=100, valid=200, t1=50, t2=80)
    uplink = begin(start, server)
    server.silent = {SOLICIT, REQUEST, RENEW, REBIND}
    sent = uplink.run(230, 1)
    assert leases(uplink.gateway) == [] and state(uplink.gateway) == "soliciting"
    sent += uplink.run(30, 1)
    valid, preferred = advertised(sent).get(FIRST, (0, 0))
    assert preferred == 0
    server.silent = set()
    uplink.run(130, 1)
    assert leases(uplink.gateway) == [PREFIX]


def test_no_binding(start: Start) -> None:
    """Section 18.2.10.1: the server has forgotten us, and is asked by Request."""
    server = Server6(t1=100, t2=200)
    uplink = begin(start, server)
    server.unknown = True
    server.pd_status = NO_BINDING
    uplink.run(105, 1)
    assert len(heard(server, RENEW)) == 1
    server.unknown = False
    uplink.run(10, 1)
    assert len(heard(server, REQUEST)) == 2 and leases(uplink.gateway) == [PREFIX]


# --- RFC 9096: renumbering --------------------------------------------------------------------------------


def test_another_prefix_takes_the_place(start: Start) -> None:
    """Sections 3.3 and 3.5: the old prefix is advertised with preferred lifetime 0 and at most two hours."""
    server = Server6(t1=100, t2=200, valid=90000, preferred=80000)
    uplink = begin(start, server)
    server.prefixes, server.ended = [PREFIX2], [PREFIX]
    sent = uplink.run(110, 1) + uplink.run(30, 1)
    assert leases(uplink.gateway) == [PREFIX2]
    assert "2001:db8:b0::1/64" in own(uplink.gateway)
    found = advertised(sent)
    assert found["2001:db8:b0::"][1] > 0
    assert found[FIRST][1] == 0 and found[FIRST][0] <= 7200


# --- where packets go -------------------------------------------------------------------------------------


def test_hosts_go_out_and_the_rest_of_the_prefix_goes_nowhere(start: Start) -> None:
    """RFC 7084 WPD-5: what has no network of ours is unreachable, and does not run in circles with the router."""
    uplink = begin(start, Server6())
    join(uplink)
    gateway = uplink.gateway
    assert len(out(uplink.settle(gateway.send(LAN, to("2001:db8:5::1"))) + uplink.run(2))) == 1
    for unused in ("2001:db8:a0:1::1", "2001:db8:a0:ff::1"):
        sent = uplink.settle(gateway.send(LAN, to(unused)))
        assert out(sent) == []
        assert [one for one in sent if one.port == LAN and ICMPv6DestUnreach in one.frame], unused
    outside = bytes(Ether(src=R1.mac, dst=PORT_MAC[WAN]) / IPv6(src="2001:db8:5::1", dst="2001:db8:a0:1::1")
                    / ICMPv6EchoRequest())
    assert out(uplink.settle(gateway.send(WAN, outside)), WAN) == []


def test_the_filter_is_there(start: Start) -> None:
    """What nobody inside has asked for does not come in."""
    uplink = begin(start, Server6())
    join(uplink)
    frame = bytes(Ether(src=R1.mac, dst=PORT_MAC[WAN]) / IPv6(src="2001:db8:5::1", dst=HOST)
                  / UDP(sport=1, dport=7))
    assert [one for one in uplink.settle(uplink.gateway.send(WAN, frame)) if one.port == LAN and UDP in one.frame] == []
    assert uplink.gateway.drops() == {"unsolicited": 1}


def test_each_network_has_its_own(start: Start) -> None:
    """lan2 has the second /64 of the prefix; a prefix of 64 bits is enough for one network only."""
    config = DELEGATED + "lan2 nic2\nlan2.address 192.168.2.1/24\nlan2.prefix delegated\n"
    uplink = begin(start, Server6(), config=config)
    assert own(uplink.gateway) == ["2001:db8:a0::1/64"] and own(uplink.gateway, "lan2") == ["2001:db8:a0:1::1/64"]


def test_one_network_for_two(start: Start) -> None:
    config = DELEGATED + "lan2 nic2\nlan2.address 192.168.2.1/24\nlan2.prefix delegated\n"
    uplink = begin(start, Server6(prefixes=["2001:db8:a0::/64"]), config=config)
    assert own(uplink.gateway) == ["2001:db8:a0::1/64"] and own(uplink.gateway, "lan2") == []
    assert any("lan2" in line and "prefix" in line for line in uplink.gateway.lines("log")), uplink.gateway.lines("log")


# --- carrier ----------------------------------------------------------------------------------------------


def test_a_flap_keeps_the_prefix(start: Start) -> None:
    """Section 18.2.12: it is confirmed by Rebind; hosts notice nothing."""
    server = Server6()
    uplink = begin(start, server)
    uplink.flap()
    uplink.hear()
    uplink.run(15)
    assert len(heard(server, REBIND)) >= 1 and leases(uplink.gateway) == [PREFIX]
    assert own(uplink.gateway) == ["2001:db8:a0::1/64"]


# --- bad input --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{"xid": 1}, {"client": None}, {"client": b"\0\3\0\1abcdef"}, {"server": b""},
                                    {"dst": "ff02::1"}, {"body": b"\0\x19\0\xff"}],
                         ids=["xid", "no-client", "client", "no-server", "multicast", "cut"])
def test_a_forged_reply_changes_nothing(start: Start, fields: dict[str, object]) -> None:
    """Section 16: answers to nothing that we asked, and those that are no DHCPv6."""
    server = Server6(silent={REQUEST})
    uplink = begin(start, server, seconds=3)
    asked = heard(server, REQUEST)[-1]
    before = uplink.gateway.stats()["dhcp6_taken"]
    uplink.settle(uplink.gateway.send(WAN, server.reply(asked, REPLY, **fields)))
    assert leases(uplink.gateway) == [] and uplink.gateway.stats()["dhcp6_taken"] == before
    uplink.settle(uplink.gateway.send(WAN, server.reply(asked, REPLY)))
    assert leases(uplink.gateway) == [PREFIX]


@pytest.mark.parametrize("offered", ["fe80::/56", "ff00::/56", "::/0", "2001:db8:a0::/80", "fd00::/7"])
def test_a_prefix_that_is_of_no_use(start: Start, offered: str) -> None:
    uplink = begin(start, Server6(prefixes=[offered]), seconds=20)
    assert own(uplink.gateway) == []


def test_any_bytes(start: Start) -> None:
    """Datagrams of any kind and length to the client's port end as drops."""
    uplink = begin(start, Server6())
    for kind in range(256):
        uplink.gateway.send(WAN, datagram(bytes([kind, 1, 2, 3]) + bytes(range(kind % 40))))
    assert leases(uplink.gateway) == [PREFIX] and state(uplink.gateway) == "bound"


# --- other configurations ---------------------------------------------------------------------------------


def test_stateless(start: Start) -> None:
    """The O flag alone (RFC 8415 section 18.2.6): servers of names, no address."""
    server = Server6(more=b"\0\x17\0\x10" + bytes.fromhex("20010db8000f00000000000000000053"))
    uplink = begin(start, server, config=AUTO, flags=OTHERS)
    assert [one.kind for one in server.heard] == [INFORMATION]
    assert any("nameserver 2001:db8:f::53 from DHCPv6" in line for line in uplink.gateway.lines("addresses"))


def test_without_any_wish_nothing_is_asked(start: Start) -> None:
    server = Server6()
    begin(start, server, config=AUTO)
    assert server.heard == []
