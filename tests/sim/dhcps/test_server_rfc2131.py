# SPDX-License-Identifier: BSD-2-Clause
"""The DHCP server of the LAN: RFC 2131, RFC 3046, RFC 6842."""

from __future__ import annotations

import pytest
from gateway import BROADCAST, PORT_MAC
from lanclients import (
    ACK,
    AGENT,
    CLIENT_ID,
    CONFIG,
    DISCOVER,
    FIRST,
    INFORM,
    INSIDE,
    LAN,
    LAST,
    NAK,
    OFFER,
    POOL,
    REQUEST,
    SERVER_ID,
    TYPE,
    WANTED,
    Client,
    Start,
    answers,
    arp_reply,
    ip,
    leases,
    mac_of,
)
from leases import T1, T2, TIME
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

pytestmark = pytest.mark.virtual


def test_section_3_1_a_lease_in_four_messages(start: Start) -> None:
    gateway = start(CONFIG, "nat")
    client = Client(gateway)
    offer = client.discover()
    assert offer is not None and offer.yiaddr in POOL and offer.address(SERVER_ID) == INSIDE
    assert offer.ciaddr == "0.0.0.0" and offer.number(TIME) == 43200
    assert offer.number(T1) == 21600 and offer.number(T2) == 37800
    ack = client.select(offer.yiaddr)
    assert ack is not None and ack.kind == ACK and ack.yiaddr == offer.yiaddr
    assert ack.address(1) == "255.255.255.0" and ack.address(3) == INSIDE and ack.address(28) == "192.168.1.255"
    assert leases(gateway)[ack.yiaddr].startswith(f"bound {client.mac}, ")
    assert gateway.stats()["dhcps_leases"] == 1


@pytest.mark.parametrize("app", ["nat", "nat64"])
def test_it_runs_before_the_wan_has_a_lease(start: Start, app: str) -> None:
    gateway = start(CONFIG.replace("203.0.113.2/24", "dhcp") + "lan.address 2001:db8:1::1/64\n", app)
    assert Client(gateway).lease() in POOL


def test_section_4_1_where_answers_go(start: Start) -> None:
    """Unicast to the new address; to all with the broadcast flag; to ciaddr of a renewal."""
    gateway = start(CONFIG, "nat")
    client = Client(gateway)
    offer = client.discover()
    assert offer is not None
    frame = offer.sent.frame
    assert (frame.dst, frame[IP].dst, frame[UDP].dport) == (client.mac, offer.yiaddr, 68)
    assert frame[IP].src == INSIDE
    ack = client.select(offer.yiaddr, flags=0x8000)
    assert ack is not None and ack.flags == 0x8000
    assert (ack.sent.frame.dst, ack.sent.frame[IP].dst) == (BROADCAST, "255.255.255.255")
    ack = client.renew(offer.yiaddr, flags=0x8000)
    assert ack is not None and ack.ciaddr == offer.yiaddr
    assert (ack.sent.frame.dst, ack.sent.frame[IP].dst) == (client.mac, offer.yiaddr)


def test_section_4_3_1_which_address(start: Start) -> None:
    """The one that it has, the one that it had, the one that it wants; the same one after a restart."""
    gateway = start(CONFIG, "nat")
    client, other = Client(gateway), Client(gateway, mac_of(2))
    mine = client.lease()
    again = client.discover(POOL[7])
    assert again is not None and again.yiaddr == mine
    client.release(mine)
    offer = client.discover()
    assert offer is not None and offer.yiaddr == mine
    wanted = next(address for address in POOL if address != mine)
    assert other.lease(wanted) == wanted
    third = Client(gateway, mac_of(3)).discover(wanted)
    assert third is not None and third.yiaddr not in (mine, wanted)
    assert Client(start(CONFIG, "nat", seed=7)).lease() == mine


def test_section_4_3_1_no_address_is_left(start: Start) -> None:
    """Then nobody answers; an address that has ended is given again, the oldest first."""
    gateway = start(CONFIG + "lan.dhcp-lease 100\n", "nat")
    given = [Client(gateway, mac_of(i)).lease() for i in range(10)]
    assert sorted(given) == POOL
    assert Client(gateway, mac_of(99)).discover() is None
    assert gateway.drops()["dhcps-full"] == 1 and gateway.stats()["dhcps_full"] == 1
    assert any("no address is left" in line for line in gateway.lines("log"))
    gateway.wait(101)
    offer = Client(gateway, mac_of(99)).discover()
    assert offer is not None and offer.yiaddr == given[0]


def test_section_4_3_1_our_own_address_is_not_given(start: Start) -> None:
    gateway = start(CONFIG.replace(f"lan.dhcp {FIRST}-{LAST}", "lan.dhcp 192.168.1.1-192.168.1.3"), "nat")
    assert sorted(Client(gateway, mac_of(i)).lease() for i in range(2)) == ["192.168.1.2", "192.168.1.3"]
    assert Client(gateway, mac_of(9)).discover("192.168.1.1") is None


def test_section_4_3_2_another_server_was_chosen(start: Start) -> None:
    gateway = start(CONFIG, "nat")
    client = Client(gateway)
    offer = client.discover()
    assert offer is not None
    assert client.select(offer.yiaddr, server="192.168.1.7") is None
    assert not leases(gateway)


def test_section_4_3_2_selecting_what_was_not_offered(start: Start) -> None:
    """An address of somebody else, and one that is none of the pool."""
    gateway = start(CONFIG, "nat")
    taken = Client(gateway).lease()
    for address in (taken, "192.168.1.50", "10.0.0.1"):
        answer = Client(gateway, mac_of(2)).select(address)
        assert answer is not None and answer.kind == NAK and answer.yiaddr == "0.0.0.0"


@pytest.mark.parametrize("asks", ["reboot", "renew"])
def test_section_4_3_2_a_client_comes_back(start: Start, asks: str) -> None:
    """INIT-REBOOT, RENEWING: its own address is confirmed, for the whole time again."""
    gateway = start(CONFIG, "nat")
    client = Client(gateway)
    mine = client.lease()
    gateway.wait(1000)
    answer = getattr(client, asks)(mine)
    assert answer is not None and answer.kind == ACK and answer.yiaddr == mine and answer.number(TIME) == 43200


def test_section_4_3_2_rebinding_is_broadcast(start: Start) -> None:
    gateway = start(CONFIG, "nat")
    client = Client(gateway)
    mine = client.lease()
    answer = client.renew(mine, to="255.255.255.255")
    assert answer is not None and answer.kind == ACK and answer.yiaddr == mine


def test_section_4_3_2_init_reboot_on_a_wrong_network(start: Start) -> None:
    """DHCPNAK, to all stations."""
    gateway = start(CONFIG, "nat")
    answer = Client(gateway).reboot("10.1.1.1")
    assert answer is not None and answer.kind == NAK and TIME not in answer.options
    assert (answer.sent.frame.dst, answer.sent.frame[IP].dst) == (BROADCAST, "255.255.255.255")


def test_section_4_3_2_renewing_on_a_wrong_network(start: Start) -> None:
    """DHCPNAK, to all stations: the client must not use its address."""
    gateway = start(CONFIG, "nat")
    answer = Client(gateway).renew("10.1.1.1", to="255.255.255.255")
    assert answer is not None and answer.kind == NAK
    assert (answer.sent.frame.dst, answer.sent.frame[IP].dst) == (BROADCAST, "255.255.255.255")


def test_section_4_3_2_init_reboot_with_a_wrong_address(start: Start) -> None:
    gateway = start(CONFIG, "nat")
    client = Client(gateway)
    mine = client.lease()
    answer = client.reboot(next(address for address in POOL if address != mine))
    assert answer is not None and answer.kind == NAK


def test_section_4_3_2_an_unknown_client_outside_of_the_pool(start: Start) -> None:
    """Silence: another server may know it."""
    gateway = start(CONFIG, "nat")
    assert Client(gateway).reboot("192.168.1.50") is None
    assert gateway.drops() == {"dhcps-not-ours": 1}


@pytest.mark.parametrize("asks", ["reboot", "renew"])
def test_after_a_restart_a_client_keeps_its_address(start: Start, asks: str) -> None:
    """The table is empty; the address is free."""
    gateway = start(CONFIG, "nat")
    answer = getattr(Client(gateway), asks)(POOL[4])
    assert answer is not None and answer.kind == ACK and answer.yiaddr == POOL[4]
    second = getattr(Client(gateway, mac_of(2)), asks)(POOL[4])
    assert second is not None and second.kind == NAK


def test_after_a_restart_another_station_has_the_address(start: Start) -> None:
    gateway = start(CONFIG, "nat")
    client = Client(gateway)
    sent = gateway.send(LAN, client.frame(REQUEST, {WANTED: ip(POOL[4])}))
    answer = answers(gateway.send(LAN, arp_reply(sent[0], "02:00:00:00:00:99")))
    assert [one.kind for one in answer] == [NAK]


def test_section_4_3_1_a_probe_before_an_offer(start: Start) -> None:
    """What another station has is not offered, and rests; the client's own answer does not count."""
    gateway = start(CONFIG, "nat")
    client = Client(gateway, mac_of(2))
    sent = gateway.send(LAN, client.frame(DISCOVER))
    assert len(sent) == 1 and sent[0].frame[ARP].psrc == "0.0.0.0"
    taken = sent[0].frame[ARP].pdst
    sent = gateway.send(LAN, arp_reply(sent[0], "02:00:00:00:00:99"))
    assert [one.frame[ARP].pdst != taken for one in sent] == [True]
    assert not gateway.send(LAN, arp_reply(sent[0], client.mac))
    offers = answers(gateway.wait(1))
    assert len(offers) == 1 and offers[0].kind == OFFER and offers[0].yiaddr != taken
    assert offers[0].sent.at < 0.6
    assert leases(gateway)[taken].startswith("declined")
    assert gateway.stats()["dhcps_conflicts"] == 1
    assert any(f"{taken} is in use already, says 02:00:00:00:00:99" in line for line in gateway.lines("log"))


def test_section_4_3_1_its_own_address_is_not_probed(start: Start) -> None:
    gateway = start(CONFIG, "nat")
    client = Client(gateway)
    client.lease()
    sent = gateway.send(LAN, client.frame(DISCOVER))
    assert [answer.kind for answer in answers(sent)] == [OFFER]


def test_a_client_asks_again_while_its_address_is_probed(start: Start) -> None:
    """One answer, to the last message."""
    gateway = start(CONFIG, "nat")
    client = Client(gateway)
    gateway.send(LAN, client.frame(DISCOVER))
    assert not gateway.send(LAN, client.frame(DISCOVER))
    sent = gateway.wait(1)
    assert [offer.xid for offer in answers(sent)] == [client.xid]
    assert len([one for one in sent if ARP in one.frame]) == 1, "the second probe"


def test_section_4_3_3_decline(start: Start) -> None:
    """The address rests for ten minutes; the client gets another one."""
    gateway = start(CONFIG, "nat")
    client = Client(gateway)
    mine = client.lease()
    client.decline(mine)
    assert leases(gateway)[mine].startswith("declined")
    assert client.lease() != mine
    assert gateway.stats()["dhcps_declines"] == 1
    gateway.wait(601)
    assert mine not in leases(gateway)


def test_section_4_3_3_only_the_client_declines(start: Start) -> None:
    gateway = start(CONFIG, "nat")
    mine = Client(gateway).lease()
    Client(gateway, mac_of(2)).decline(mine)
    assert leases(gateway)[mine].startswith("bound")


def test_section_4_3_4_release(start: Start) -> None:
    """The client gets it again; somebody else does when it is the only one."""
    gateway = start(CONFIG.replace(POOL[-1], POOL[0]), "nat")
    client = Client(gateway)
    mine = client.lease()
    Client(gateway, mac_of(2)).release(mine)
    assert leases(gateway)[mine].startswith("bound")
    client.release(mine)
    assert leases(gateway)[mine].startswith("ended")
    assert Client(gateway, mac_of(2)).lease() == mine


def test_section_4_3_5_inform(start: Start) -> None:
    """Options, without an address and without a time."""
    gateway = start(CONFIG, "nat")
    client = Client(gateway)
    found = client.send(INFORM, ciaddr="192.168.1.50")
    assert len(found) == 1 and found[0].kind == ACK and found[0].yiaddr == "0.0.0.0"
    assert TIME not in found[0].options and T1 not in found[0].options and found[0].address(3) == INSIDE
    assert found[0].sent.frame[IP].dst == "192.168.1.50"
    assert not client.send(INFORM, ciaddr="10.0.0.1") and not leases(gateway)


def test_section_4_2_a_client_identifier_is_the_client(start: Start) -> None:
    """Two of one MAC address are two clients; one that is the MAC address is the same as none."""
    gateway = start(CONFIG, "nat")
    first = Client(gateway, options={CLIENT_ID: b"\0one"}).lease()
    second = Client(gateway, options={CLIENT_ID: b"\0two"}).lease()
    assert first != second
    plain = Client(gateway).lease()
    assert Client(gateway, options={CLIENT_ID: b"\x01" + bytes.fromhex("020000000001")}).lease() == plain
    long = bytes(range(1, 256))
    assert Client(gateway, options={CLIENT_ID: long}).lease() not in (first, second, plain)


@pytest.mark.parametrize("kind", ["offer", "ack", "nak"])
def test_rfc6842_the_client_identifier_comes_back(start: Start, kind: str) -> None:
    gateway = start(CONFIG, "nat")
    client = Client(gateway, options={CLIENT_ID: b"\0me"})
    answer = (client.discover() if kind == "offer" else client.select(POOL[0]) if kind == "ack"
              else client.reboot("10.0.0.1"))
    assert answer is not None and answer.options[CLIENT_ID] == b"\0me"


def test_rfc3046_a_relay_agent(start: Start) -> None:
    """The answer goes to the agent, port 67; what it added comes back and is the last option."""
    gateway = start(CONFIG, "nat")
    agent_mac, added = "02:00:00:00:00:aa", b"\x01\x04port"
    client = Client(gateway, options={AGENT: added}, giaddr="192.168.1.5")
    gateway.send(LAN, Ether(src=agent_mac, dst=PORT_MAC[LAN]) / ARP(op=1, hwsrc=agent_mac, psrc="192.168.1.5",
                                                                   pdst=INSIDE))
    offer = client.discover(source=agent_mac)
    assert offer is not None and offer.giaddr == "192.168.1.5"
    frame = offer.sent.frame
    assert (frame.dst, frame[IP].dst, frame[UDP].dport) == (agent_mac, "192.168.1.5", 67)
    assert offer.options[AGENT] == added and offer.order[-1] == AGENT
    nak = client.select("10.0.0.1", source=agent_mac)
    assert nak is not None and nak.kind == NAK and nak.flags & 0x8000
    assert nak.options[AGENT] == added and nak.order[-1] == AGENT


def test_a_relay_agent_of_no_network_of_ours(start: Start) -> None:
    gateway = start(CONFIG, "nat")
    assert Client(gateway, giaddr="10.0.0.5").discover() is None
    assert gateway.drops() == {"dhcps-not-ours": 1}


@pytest.mark.parametrize("given", [b"", b"\x35\x01", b"\x35\x01\x09\xff", b"\x0c\x40ab"])
def test_what_is_malformed_is_dropped(start: Start, given: bytes) -> None:
    """Also BOOTP, which has no message type."""
    gateway = start(CONFIG, "nat")
    frame = Client(gateway).frame(DISCOVER)
    data = bytes(frame[Raw].load)[:240] + given
    assert not gateway.send(LAN, Ether(src=frame.src, dst=BROADCAST) / IP(src="0.0.0.0", dst="255.255.255.255")
                            / UDP(sport=68, dport=67) / Raw(data))
    assert gateway.drops() == {"dhcps-bad": 1}


def test_a_rogue_server_is_named(start: Start) -> None:
    gateway = start(CONFIG, "nat")
    data = bytes(Client(gateway).frame(DISCOVER)[Raw].load)
    data = b"\x02" + data[1:240] + bytes((TYPE, 1, OFFER, 255))
    gateway.send(LAN, Ether(src="02:00:00:00:00:66", dst=BROADCAST) / IP(src="192.168.1.66", dst="255.255.255.255")
                 / UDP(sport=67, dport=68) / Raw(data))
    assert gateway.drops() == {"dhcps-rogue": 1} and gateway.stats()["dhcps_rogue_answers"] == 1
    assert any("another DHCP server, 192.168.1.66 at 02:00:00:00:00:66" in line for line in gateway.lines("log"))


def test_a_datagram_to_another_server_is_routed(start: Start) -> None:
    """One to port 67 beyond the gateway is none of its own."""
    gateway = start(CONFIG + "gateway 203.0.113.1\nneighbour 203.0.113.1 02:00:00:00:00:77\n", "nat")
    frame = (Ether(src="02:00:00:00:00:01", dst=PORT_MAC[LAN]) / IP(src="192.168.1.9", dst="198.51.100.7")
             / UDP(sport=68, dport=67) / Raw(b"x" * 300))
    assert len([one for one in gateway.send(LAN, frame) if one.port == "wan"]) == 1


def test_the_wan_is_not_served(start: Start) -> None:
    gateway = start(CONFIG, "nat")
    frame = Client(gateway).frame(DISCOVER)
    assert not answers(gateway.send("wan", frame) + gateway.wait(1), port="wan")
    assert gateway.stats()["dhcps_messages"] == 0
