# SPDX-License-Identifier: BSD-2-Clause
"""The DHCP client of the WAN: RFC 2131."""

from __future__ import annotations

from itertools import pairwise

import pytest
from gateway import A, LAN, PORT_MAC, SERVER, WAN, only
from leases import (
    ACK,
    ASKED,
    CLASSLESS,
    CLIENT_ID,
    CONFIG,
    DECLINE,
    DISCOVER,
    INFINITE,
    MASK,
    MINE,
    NAK,
    NET_ROUTER,
    OFFER,
    OTHER,
    OTHER_MAC,
    QUICK,
    RELEASE,
    REQUEST,
    ROUTER,
    ROUTER_MAC,
    SERVER_ID,
    SERVER_MAC,
    SIZE,
    T1,
    T2,
    TIME,
    TYPE,
    WANTED,
    WHY,
    Server,
    Start,
    Uplink,
    begin,
    ip,
    lease,
    messages,
    said,
    state,
    u32,
)
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

pytestmark = pytest.mark.virtual


def outward(uplink: Uplink) -> list[str]:
    """The sources of what leaves on the WAN when host A sends a datagram out."""
    sent = uplink.settle(uplink.gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=53) / Raw(b"x")))
    return [one.ip.src for one in sent if one.port == WAN and IP in one.frame]


# --- the first lease (3.1, 4.4.1) --------------------------------------------------------------------------------


def test_s441_the_first_messages(start: Start) -> None:
    """All stations are asked, from 0.0.0.0, within a second; the offer is requested with the same identifier."""
    server = Server()
    uplink = begin(start, server, config=CONFIG, seconds=1.2)
    asked, requested = server.heard
    assert (asked.kind, requested.kind) == (DISCOVER, REQUEST)
    assert asked.at <= 1.1
    for message in (asked, requested):
        frame = message.sent.frame
        assert (frame.dst, frame.src) == ("ff:ff:ff:ff:ff:ff", PORT_MAC[WAN])
        assert (frame[IP].src, frame[IP].dst) == ("0.0.0.0", "255.255.255.255")
        assert (message.ciaddr, message.flags) == ("0.0.0.0", 0)
        assert message.chaddr == bytes.fromhex(PORT_MAC[WAN].replace(":", ""))
        assert message.options[SIZE] == (1500).to_bytes(2, "big")
    assert asked.options[ASKED] == requested.options[ASKED]
    assert asked.options[CLIENT_ID] == requested.options[CLIENT_ID]
    assert requested.xid == asked.xid
    assert requested.address(WANTED) == MINE and requested.address(SERVER_ID) == server.address
    assert WANTED not in asked.options and SERVER_ID not in asked.options
    assert state(uplink.gateway) == "probing" and lease(uplink.gateway) is None


def test_rfc3442_classless_routes_are_asked_for_first(start: Start) -> None:
    asked = list(begin(start, server := Server()).servers[0].heard[0].options[ASKED])
    assert asked.index(CLASSLESS) < asked.index(ROUTER) < asked.index(33)
    assert server.heard


def test_rfc4361_client_identifier(start: Start) -> None:
    """255, an IAID that stays, a DUID-LL; `mac`: the hardware type and the MAC address."""
    own = bytes.fromhex(PORT_MAC[WAN].replace(":", ""))
    begin(start, server := Server())
    assert server.heard[0].options[CLIENT_ID] == b"\xff\0\0\0\1\0\3\0\1" + own
    begin(start, server := Server(), config=QUICK + "wan.dhcp-client-id mac\n")
    assert server.heard[0].options[CLIENT_ID] == b"\1" + own


def test_s31_a_lease_gives_address_route_and_counts(start: Start) -> None:
    """Then a host of the LAN reaches the Internet by it; before, nothing leaves."""
    gateway = start(QUICK, "nat")
    uplink = Uplink(gateway)
    assert outward(uplink) == [] and gateway.drops() == {"no-route": 1}
    uplink = Uplink(gateway, Server())
    uplink.run(9)
    assert lease(gateway) == f"{MINE}/24" and state(gateway) == "bound"
    assert f"0.0.0.0/0 via {NET_ROUTER} wan" in gateway.lines("routes")
    outward(uplink)
    assert outward(uplink) == [MINE]
    stats = gateway.stats()
    assert stats["dhcp_leases_begun"] == 1 and stats["dhcp_taken"] == 2 and stats["dhcp_sent"] == 2


def test_s41_nobody_answers_and_it_goes_on_for_ever(start: Start) -> None:
    """4 s, twice as long each time up to 64 s, each a second more or less; the field secs goes on."""
    gateway = start(QUICK, "nat")
    asked = messages(gateway.wait(20000), DISCOVER)
    gaps = [b.at - a.at for a, b in pairwise(asked)]
    for gap, wanted in zip(gaps, (4, 8, 16, 32)):
        assert wanted - 1 <= gap <= wanted + 1.2
    assert len(gaps) > 300 and all(63 <= gap <= 65.2 for gap in gaps[4:])
    assert len({gap for gap in gaps[4:]}) > 10
    assert len({one.xid for one in asked}) == 1
    assert [one.secs for one in asked[:2]] == [0, round(gaps[0] - 0.5)] or asked[1].secs in (3, 4, 5)
    assert said(gateway, "no DHCP server answers")
    uplink = Uplink(gateway, Server())
    uplink.run(70)
    assert state(gateway) == "bound"


def test_s31_an_offer_that_is_not_given(start: Start) -> None:
    """The request is sent four times in a minute, then all is asked again."""
    server = Server(silent={REQUEST})
    uplink = begin(start, server, seconds=70)
    kinds = [one.kind for one in server.heard]
    assert kinds[:6] == [DISCOVER, REQUEST, REQUEST, REQUEST, REQUEST, DISCOVER]
    gaps = [b.at - a.at for a, b in pairwise(server.heard[1:5])]
    assert all(wanted - 1.1 <= gap <= wanted + 1.2 for gap, wanted in zip(gaps, (4, 8, 16)))
    assert len({one.xid for one in server.heard[:5]}) == 1 and server.heard[5].xid != server.heard[0].xid
    server.silent = set()
    uplink.run(10)
    assert state(uplink.gateway) in ("bound", "requesting", "selecting")
    uplink.run(70)
    assert state(uplink.gateway) == "bound"


def test_s31_the_first_offer_is_taken_and_others_are_named(start: Start) -> None:
    first, second = Server(), Server(OTHER, "203.0.113.253", OTHER_MAC)
    uplink = begin(start, first, second)
    assert lease(uplink.gateway) == f"{MINE}/24"
    assert said(uplink.gateway, "203.0.113.253 offers a lease too")
    assert [one.address(SERVER_ID) for one in second.heard if one.kind == REQUEST] == [first.address]


# --- renewal (4.4.5) ---------------------------------------------------------------------------------------------


def test_s445_renewal_by_unicast_at_half_of_the_time(start: Start) -> None:
    """From the address, to the server, without the options address and server; nothing else moves."""
    server = Server(lease=3600)
    uplink = begin(start, server)
    gateway = uplink.gateway
    requested = server.heard[1].at
    outward(uplink)
    changes = len(gateway.lines("log"))
    server.heard.clear()
    uplink.run(1900, 0.4)
    renewal = server.heard[0]
    assert len(server.heard) == 1
    assert abs(renewal.at - requested - 1800) <= 1.2
    assert renewal.sent.frame.dst == SERVER_MAC
    assert (renewal.sent.ip.src, renewal.sent.ip.dst, renewal.ciaddr) == (MINE, server.address, MINE)
    assert WANTED not in renewal.options and SERVER_ID not in renewal.options
    assert state(gateway) == "bound" and len(gateway.lines("log")) == changes
    assert gateway.stats()["nat_sessions_renumbered"] == 0
    left = int(gateway.lines("leases")[0].split("valid ")[1].split()[0])
    assert 3480 <= left <= 3520


def test_s445_silence_renewing_rebinding_and_the_end(start: Start) -> None:
    """Half of the time that is left each, a minute at least; all servers from 7/8 on; at the end the address goes at
    once, with all that hung on it, and all begins again."""
    server = Server(lease=3600)
    uplink = begin(start, server)
    gateway = uplink.gateway
    began = server.heard[1].at
    server.silent = {REQUEST, DISCOVER}
    outward(uplink)
    assert outward(uplink) == [MINE]
    server.heard.clear()
    uplink.run(3590, 0.4)
    renewals = [one for one in server.heard if one.sent.frame.dst == SERVER_MAC]
    rebinds = [one for one in server.heard if one.sent.frame.dst == "ff:ff:ff:ff:ff:ff"]
    at = [round(one.at - began) for one in renewals]
    assert at[0] in (1800, 1801) and abs(at[1] - 2475) <= 2 and abs(at[2] - 2812) <= 3
    assert all(one.at - began < 3151 for one in renewals)
    assert all(b - a >= 59 for a, b in pairwise(at))
    at = [round(one.at - began) for one in rebinds]
    assert abs(at[0] - 3150) <= 1 and all(b - a >= 59 for a, b in pairwise(at)) and len(at) >= 3
    assert all(one.ciaddr == MINE and WANTED not in one.options and SERVER_ID not in one.options for one in rebinds)
    assert len({one.xid for one in server.heard}) == len(server.heard)
    assert state(gateway) == "rebinding" and outward(uplink) == [MINE]
    uplink.run(8)
    assert lease(gateway) is None and state(gateway) in ("init", "selecting")
    assert outward(uplink) == [] and "203.0.113" not in str(gateway.lines("routes"))
    assert gateway.stats()["dhcp_leases_ended"] == 1 and gateway.stats()["nat_sessions_renumbered"] == 1
    server.silent = set()
    uplink.run(70)
    assert lease(gateway) == f"{MINE}/24" and gateway.stats()["dhcp_leases_begun"] == 2


def test_s445_another_server_saves_the_lease(start: Start) -> None:
    server = Server(lease=600)
    uplink = begin(start, server)
    server.silent = {REQUEST}
    uplink.servers.append(Server(MINE, "203.0.113.253", OTHER_MAC, lease=600))
    uplink.run(590, 0.4)
    assert state(uplink.gateway) == "bound" and "203.0.113.253" in uplink.gateway.lines("leases")[0]
    assert uplink.gateway.stats()["dhcp_leases_begun"] == 1


def test_s445_times_of_the_server(start: Start) -> None:
    """Those of the server count where they are in order, and the lease counts from the request on."""
    for options, wanted in (({T1: u32(100), T2: u32(200)}, (100, 200)), ({T1: u32(300), T2: u32(200)}, (300, 525)),
                            ({T1: u32(600)}, (300, 525)), ({T2: u32(600)}, (300, 525)), ({T1: u32(0)}, (300, 525))):
        uplink = begin(start, Server(lease=600, options=dict(options)))
        words = uplink.gateway.lines("leases")[0].replace(",", "").split()
        times = [int(words[words.index(name) + 1]) for name in ("valid", "renewal", "rebinding")]
        for got, one in zip(times, (600, *wanted)):
            assert one - 4 <= got <= one


def test_s445_a_lease_for_ever(start: Start) -> None:
    server = Server(lease=INFINITE)
    uplink = begin(start, server)
    assert "valid for ever" in uplink.gateway.lines("leases")[0]
    server.heard.clear()
    uplink.run(100000, 1000)
    assert server.heard == [] and state(uplink.gateway) == "bound"


def test_s445_a_lease_of_ten_seconds(start: Start) -> None:
    server = Server(lease=10)
    uplink = begin(start, server)
    outward(uplink)
    uplink.run(300)
    stats = uplink.gateway.stats()
    assert stats["dhcp_leases_begun"] == 1 and stats["dhcp_leases_ended"] == 0
    assert 55 <= len(server.heard) - 2 <= 61
    assert outward(uplink) == [MINE]
    uplink.settle(uplink.gateway.act("release"))


def test_s445_a_lease_that_is_over_before_it_is_used(start: Start) -> None:
    """Its time begins with the request: an answer that comes later than that gives nothing."""
    server = Server(lease=6, silent={REQUEST})
    uplink = begin(start, server, seconds=1.5)
    gateway, asked = uplink.gateway, server.heard[-1]
    assert asked.kind == REQUEST
    gateway.leap(asked.at + 6.5 - 1.5)
    gateway.send(WAN, server.reply(ACK, asked))
    assert lease(gateway) is None and said(gateway, "it is over already")


def test_the_server_changes_the_address(start: Start) -> None:
    """A renewal that is refused: the old address goes, the new one comes; sessions of the old one are counted."""
    server = Server(lease=600)
    uplink = begin(start, server)
    gateway = uplink.gateway
    outward(uplink)
    assert outward(uplink) == [MINE]
    server.gives = OTHER
    uplink.run(320, 0.4)
    assert lease(gateway) == f"{OTHER}/24" and gateway.stats()["nat_sessions_renumbered"] == 1
    assert outward(uplink) == [OTHER]
    assert said(gateway, "refuses the lease")


# --- refusals (3.1, 3.2) -----------------------------------------------------------------------------------------


def test_s31_refused_again_and_again(start: Start) -> None:
    """Longer and longer waits, a minute at most."""
    server = Server(naks=True)
    uplink = begin(start, server, seconds=600)
    asked = [one.at for one in server.heard if one.kind == DISCOVER]
    gaps = [b - a for a, b in pairwise(asked)]
    for gap, wanted in zip(gaps, (1, 2, 4, 8, 16, 32, 60, 60, 60)):
        assert wanted - 0.2 <= gap <= wanted + 0.9
    server.naks = False
    uplink.run(62)
    assert state(uplink.gateway) == "bound"


def test_s31_only_the_server_that_was_asked_refuses(start: Start) -> None:
    """While an offer is requested, the refusal of another server does not count."""
    server = Server(silent={REQUEST})
    uplink = begin(start, server)
    assert state(uplink.gateway) == "requesting"
    other = Server(OTHER, "203.0.113.253", OTHER_MAC)
    uplink.gateway.send(WAN, other.reply(NAK, server.heard[-1]))
    assert state(uplink.gateway) == "requesting"
    uplink.gateway.send(WAN, server.reply(NAK, server.heard[-1], options={TYPE: bytes((NAK,)), WHY: b"no\nmore"}))
    assert state(uplink.gateway) == "init" and said(uplink.gateway, "refuses the lease: no?more")


def test_offers_without_what_they_need(start: Start) -> None:
    """Each has its reason in the log, and the next offer is taken."""
    for options, why in (({TIME: None}, "no lease time"), ({SERVER_ID: None}, "no server identifier"),
                         ({TIME: u32(4)}, "less than 5 s"), ({TIME: b"\0\0\1"}, "no lease time"),
                         ({MASK: ip("255.0.255.0")}, "subnet mask"), ({MASK: ip("0.0.0.0")}, "subnet mask"),
                         ({MASK: b"\xff"}, "subnet mask"), ({SERVER_ID: ip("0.0.0.0")}, "no server identifier")):
        uplink = begin(start, Server(options=dict(options)))
        gateway = uplink.gateway
        assert state(gateway) == "selecting" and said(gateway, why), why
        assert gateway.drops()["dhcp-refused"] >= 1
        uplink.servers = [Server()]
        uplink.run(10)
        assert state(gateway) == "bound"


@pytest.mark.parametrize("given", ["0.0.0.0", "127.0.0.1", "224.0.0.5", "255.255.255.255", "203.0.113.0",
                                   "203.0.113.255", "169.254.3.3"])
def test_offers_of_what_is_no_address(start: Start, given: str) -> None:
    uplink = begin(start, Server(given))
    if given == "169.254.3.3":
        assert state(uplink.gateway) in ("bound", "selecting")
    else:
        assert state(uplink.gateway) == "selecting" and said(uplink.gateway, "is not taken")


@pytest.mark.parametrize(("given", "mask"), [("192.168.1.77", "255.255.255.0"), ("192.168.9.77", "255.255.0.0"),
                                             ("192.168.1.201", "255.255.255.252"), ("192.168.1.1", "255.255.255.0")])
def test_an_uplink_with_the_network_of_the_lan(start: Start, given: str, mask: str) -> None:
    """A clear line, and nothing is taken; the LAN is as it was. Another offer is."""
    uplink = begin(start, Server(given, options={MASK: ip(mask)}), seconds=100)
    gateway = uplink.gateway
    assert state(gateway) == "selecting" and lease(gateway) is None
    assert said(gateway, "please change lan.address")
    assert sum("is not taken" in line for line in gateway.lines("log")) <= 3
    uplink.servers = [Server()]
    uplink.run(66)
    assert lease(gateway) == f"{MINE}/24"


def test_servers_that_are_rejected(start: Start) -> None:
    modem = Server("192.168.100.10", "192.168.100.1")
    uplink = begin(start, modem, config=QUICK + "wan.dhcp-reject 192.168.100.0/24\n")
    assert state(uplink.gateway) == "selecting" and said(uplink.gateway, "wan.dhcp-reject names the server")
    uplink.servers.append(Server())
    uplink.run(10)
    assert lease(uplink.gateway) == f"{MINE}/24"


# --- answers that are none (4.4.1, RFC 6842) ---------------------------------------------------------------------


def test_answers_that_are_for_no_question_of_ours(start: Start) -> None:
    """Another identifier, station, client identifier, operation, port or interface: counted, nothing follows."""
    server = Server(silent={DISCOVER})
    uplink = begin(start, server)
    gateway, asked = uplink.gateway, server.heard[0]
    wrong = [server.reply(OFFER, asked, xid=asked.xid ^ 1), server.reply(OFFER, asked, chaddr=b"\2\0\0\0\0\1"),
             server.reply(OFFER, asked, op=1), server.reply(ACK, asked), server.reply(NAK, asked),
             server.reply(DISCOVER, asked)]
    foreign = Server(options={CLIENT_ID: b"\1\2\0\0\0\0\1"})
    wrong.append(foreign.reply(OFFER, asked))
    for number, frame in enumerate(wrong, 1):
        assert gateway.send(WAN, frame) == []
        assert gateway.drops()["dhcp-not-ours"] == number
    for fields in ({"sport": 68}, {"dport": 67}, {"sport": 1067}):
        gateway.send(WAN, server.reply(OFFER, asked, fields=fields))
    gateway.send(LAN, server.reply(OFFER, asked))
    assert state(gateway) == "selecting" and gateway.stats()["dhcp_taken"] == 0
    echoed = Server(options={CLIENT_ID: asked.options[CLIENT_ID]})
    uplink.servers = [server]
    assert [one.kind for one in messages(gateway.send(WAN, echoed.reply(OFFER, asked)))] == [REQUEST]


def test_datagrams_that_are_malformed(start: Start) -> None:
    """Each is counted with its reason; a good one then still counts."""
    server = Server(silent={DISCOVER})
    uplink = begin(start, server)
    gateway, asked = uplink.gateway, server.heard[0]
    good = bytes(server.reply(OFFER, asked))
    options = 14 + 20 + 8 + 240

    def changed(at: int, value: int) -> bytes:
        frame = Ether(good[:at] + bytes((value,)) + good[at + 1:])
        del frame[UDP].chksum, frame[IP].chksum
        return bytes(frame)

    for at, value in ((42, 3), (43, 6), (44, 16), (options - 1, 0), (options + 1, 200)):
        before = gateway.drops().get("dhcp-bad", 0)
        gateway.send(WAN, changed(at, value))
        assert gateway.drops()["dhcp-bad"] == before + 1, (at, value)
    gateway.send(WAN, good[:40] + b"\x12\x34" + good[42:])
    gateway.send(WAN, good[:24] + b"\0\0" + good[26:])
    gateway.send(WAN, good[:100])
    gateway.send(WAN, good[:41])
    drops = gateway.drops()
    assert drops["udp-checksum"] == 1 and drops["ip-checksum"] == 1 and drops["ip-length"] == 2
    assert said(gateway, "DHCP message of 203.0.113.254")
    assert state(gateway) == "selecting"
    assert [one.kind for one in messages(gateway.send(WAN, good))] == [REQUEST]
    no_sum = good[:40] + b"\0\0" + good[42:]
    assert gateway.send(WAN, no_sum) == []


def test_unicast_before_there_is_an_address(start: Start) -> None:
    """A server may answer to the address that it offers."""
    server = Server(silent={DISCOVER})
    uplink = begin(start, server)
    frame = server.reply(OFFER, server.heard[0])
    frame[Ether].dst, frame[IP].dst = PORT_MAC[WAN], MINE
    assert [one.kind for one in messages(uplink.gateway.send(WAN, Ether(bytes(frame))))] == [REQUEST]


# --- the carrier (3.2, 4.4.2, RFC 4436) --------------------------------------------------------------------------


def test_s442_the_carrier_comes_back(start: Start) -> None:
    """Address without server, to all; the lease stays in force meanwhile, and sessions survive."""
    server = Server(lease=3600)
    uplink = begin(start, server)
    gateway = uplink.gateway
    outward(uplink)
    server.silent = {REQUEST}
    server.heard.clear()
    uplink.lost_carrier()
    asked = server.heard[0]
    assert asked.kind == REQUEST and asked.address(WANTED) == MINE
    assert SERVER_ID not in asked.options and asked.ciaddr == "0.0.0.0" and asked.sent.ip.src == "0.0.0.0"
    assert state(gateway) == "rebooting" and lease(gateway) == f"{MINE}/24"
    server.silent = set()
    uplink.run(6)
    assert state(gateway) == "bound" and gateway.stats()["nat_sessions_renumbered"] == 0
    assert outward(uplink) == [MINE] and len(gateway.lines("sessions")) == 1


def test_s442_another_network(start: Start) -> None:
    """The server there refuses; a lease of that network follows, within seconds."""
    uplink = begin(start, Server(lease=3600))
    uplink.servers = [Server("203.0.113.51", naks=False)]
    uplink.lost_carrier()
    uplink.run(6)
    assert lease(uplink.gateway) == f"{OTHER}/24"


def test_rfc4436_the_router_is_the_same(start: Start) -> None:
    """A unicast ARP request to it in parallel; its answer from the MAC address that it had keeps the lease, also
    when no server answers."""
    server = Server(lease=3600)
    uplink = begin(start, server)
    gateway = uplink.gateway
    outward(uplink)
    uplink.run(1)
    server.silent = {REQUEST, DISCOVER}
    sent = uplink.lost_carrier()
    asked = only([one for one in sent if ARP in one.frame and one.frame[ARP].pdst == NET_ROUTER])
    assert asked.frame.dst == ROUTER_MAC and asked.frame[ARP].op == 1
    announced = [one for one in sent if ARP in one.frame and one.frame[ARP].pdst == MINE]
    assert len(announced) == 1 and announced[0].at >= asked.at
    sent = uplink.run(20)
    assert state(gateway) == "bound" and lease(gateway) == f"{MINE}/24"
    assert len(messages(sent)) == 1
    assert said(gateway, "the network is the same")


def test_rfc4436_another_router(start: Start) -> None:
    """Nobody confirms the lease: a new one is asked for, and the old one stays until then or until its end."""
    server = Server(lease=100)
    uplink = begin(start, server)
    gateway = uplink.gateway
    outward(uplink)
    uplink.run(1)
    uplink.stations = {NET_ROUTER: OTHER_MAC}
    uplink.servers = []
    sent = uplink.lost_carrier()
    assert [one for one in sent if ARP in one.frame and one.frame[ARP].pdst == MINE] == []
    sent = uplink.run(20)
    assert state(gateway) == "selecting" and lease(gateway) == f"{MINE}/24"
    assert messages(sent, DISCOVER)
    uplink.run(90)
    assert lease(gateway) is None and state(gateway) == "selecting"


def test_the_carrier_comes_late(start: Start) -> None:
    """Without a carrier nothing is sent; then it asks within a second, however long that took."""
    gateway = start(QUICK, "nat")
    gateway.link(WAN, False)
    assert messages(gateway.wait(600)) == []
    uplink = Uplink(gateway, Server())
    uplink.settle(gateway.link(WAN, True))
    uplink.run(2)
    assert state(gateway) == "bound"


def test_a_lease_ends_without_a_carrier(start: Start) -> None:
    uplink = begin(start, Server(lease=60))
    uplink.gateway.link(WAN, False)
    uplink.gateway.wait(70)
    assert lease(uplink.gateway) is None and outward(uplink) == []


# --- conflicts (RFC 5227, 3.1 number 5) --------------------------------------------------------------------------


def test_rfc5227_s21_probes_before_the_address_is_used(start: Start) -> None:
    """Three, one to two seconds apart, then two seconds of silence; two announcements, two seconds apart."""
    uplink = Uplink(start(CONFIG, "nat"), Server())
    sent = uplink.run(20)
    asked = [one for one in sent if ARP in one.frame and one.frame[ARP].psrc == "0.0.0.0"]
    assert [one.frame[ARP].pdst for one in asked] == [MINE] * 3
    assert all(one.frame[ARP].op == 1 and one.frame.dst == "ff:ff:ff:ff:ff:ff" for one in asked)
    given = messages(sent, REQUEST)[0].at
    assert 0 <= asked[0].at - given <= 1.2
    assert all(0.9 <= b.at - a.at <= 2.2 for a, b in pairwise(asked))
    announced = [one for one in sent if ARP in one.frame and one.frame[ARP].psrc == MINE == one.frame[ARP].pdst]
    assert len(announced) == 2
    assert 1.9 <= announced[0].at - asked[2].at <= 2.3 and 1.9 <= announced[1].at - announced[0].at <= 2.3
    assert state(uplink.gateway) == "bound"


@pytest.mark.parametrize("how", ["reply", "request", "probe"])
def test_rfc5227_s21_another_station_has_the_address(start: Start, how: str) -> None:
    """It is declined, and asked for no sooner than after ten seconds."""
    server = Server()
    uplink = begin(start, server, config=CONFIG, seconds=1.4)
    gateway = uplink.gateway
    assert state(gateway) == "probing"
    arp = {"reply": ARP(op=2, psrc=MINE, pdst="0.0.0.0"), "request": ARP(op=1, psrc=MINE, pdst=NET_ROUTER),
           "probe": ARP(op=1, psrc="0.0.0.0", pdst=MINE)}[how]
    arp.hwsrc = OTHER_MAC
    sent = gateway.send(WAN, Ether(src=OTHER_MAC, dst="ff:ff:ff:ff:ff:ff") / arp)
    declined = messages(sent, DECLINE)[0]
    assert declined.address(WANTED) == MINE and declined.address(SERVER_ID) == server.address
    assert declined.sent.frame.dst == "ff:ff:ff:ff:ff:ff" and declined.ciaddr == "0.0.0.0"
    assert declined.options[CLIENT_ID] == server.heard[0].options[CLIENT_ID] and ASKED not in declined.options
    assert gateway.stats()["dhcp_declined"] == 1 and said(gateway, "declined")
    server.heard.clear()
    server.gives = OTHER
    uplink.run(9.8)
    assert server.heard == []
    uplink.run(12)
    assert lease(gateway) == f"{OTHER}/24"


def test_rfc5227_s21_our_own_probe_comes_back(start: Start) -> None:
    """A link that reflects frames is no conflict."""
    uplink = begin(start, Server(), config=CONFIG, seconds=1.4)
    uplink.gateway.send(WAN, Ether(src=PORT_MAC[WAN], dst="ff:ff:ff:ff:ff:ff")
                        / ARP(op=1, hwsrc=PORT_MAC[WAN], psrc="0.0.0.0", pdst=MINE))
    uplink.run(8)
    assert state(uplink.gateway) == "bound"


def test_rfc5227_s21_ten_conflicts(start: Start) -> None:
    """Then one attempt a minute."""
    server = Server()
    uplink = begin(start, server, config=CONFIG, seconds=0)
    uplink.stations[MINE] = OTHER_MAC
    uplink.run(1400, 0.5)
    declined = [one.at for one in server.heard if one.kind == DECLINE]
    gaps = [b - a for a, b in pairwise(declined)]
    assert len(gaps) > 10 and all(gap >= 10 for gap in gaps) and all(gap >= 60 for gap in gaps[10:])


# --- by hand -----------------------------------------------------------------------------------------------------


def test_s446_release_and_renew(start: Start) -> None:
    """`release` tells the server and asks for nothing; `renew` asks at once."""
    server = Server()
    uplink = begin(start, server)
    gateway = uplink.gateway
    uplink.settle(gateway.lan(IP(src=A.ip, dst=server.address) / UDP(sport=5000, dport=53) / Raw(b"x")))
    server.heard.clear()
    sent = uplink.settle(gateway.act("release"))
    released = messages(sent, RELEASE)[0]
    assert released.sent.frame.dst == SERVER_MAC and released.ciaddr == MINE
    assert released.address(SERVER_ID) == server.address and WANTED not in released.options
    assert state(gateway) == "released" and lease(gateway) is None
    server.heard.clear()
    uplink.run(300, 1)
    uplink.lost_carrier()
    uplink.run(10)
    assert server.heard == [] and state(gateway) == "released"
    uplink.settle(gateway.act("renew"))
    assert lease(gateway) == f"{MINE}/24"
    server.heard.clear()
    uplink.settle(gateway.act("renew"))
    assert [one.ciaddr for one in server.heard] == [MINE] and state(gateway) == "bound"
