# SPDX-License-Identifier: BSD-2-Clause
"""Addresses and routes that come and go while the gateway runs: everything that followed from them follows, and nothing
stale is sent."""

from __future__ import annotations

import ipaddress
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
import six4
from gateway import (
    A, B, BROADCAST, LAN, NAT, NEIGHBOURS, OUTSIDE, PORT_MAC, ROUTER, SERVER, SERVER2, WAN, Gateway, Host, Sent, only,
)
from ivi import FOUR, IVI, OWN4, SIX4, SIX_MAC, from4, from6, start_ivi, to_four, to_six
from net6 import kind6, of_kind
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6ND_RA, ICMPv6NDOptPrefixInfo, ICMPv6NDOptRDNSS, IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from simulator import Refused, Simulator
from tunnel import in_site

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
NEW, NEW_ROUTER = "198.18.5.2", Host(WAN, "198.18.5.1", "52:54:00:00:02:51")
RA = 134


def out(gateway: Gateway, sport: int = 4000, *, host: Host = A, to: str = SERVER, proto: Any = UDP) -> list[Sent]:
    return gateway.ip_from(host, IP(src=host.ip, dst=to) / proto(sport=sport, dport=53))


def know(gateway: Gateway, host: Host, own: str) -> list[Sent]:
    """The host answers for its address."""
    return gateway.send(host.port, Ether(src=host.mac, dst=PORT_MAC[host.port]) / ARP(
        op=2, hwsrc=host.mac, psrc=host.ip, hwdst=PORT_MAC[host.port], pdst=own))


def move(gateway: Gateway) -> None:
    """The WAN gets another address and another router."""
    gateway.change(f"address del {WAN} {OUTSIDE}")
    gateway.change(f"address add {WAN} {NEW}/24")
    gateway.change(f"route add default via {NEW_ROUTER.ip}")


def advertised(sent: list[Sent]) -> dict[str, tuple[int, int]]:
    """The prefixes of the last advertisement: valid and preferred lifetimes."""
    packet = of_kind(sent, RA, LAN)[-1].frame[ICMPv6ND_RA]
    found = {}
    while packet:
        if isinstance(packet, ICMPv6NDOptPrefixInfo):
            found[packet.prefix] = (packet.validlifetime, packet.preferredlifetime)
        packet = packet.payload
    return found


def servers(sent: list[Sent], last: bool = False) -> dict[str, int]:
    """The DNS servers of all advertisements, or of the last one, with their last lifetimes."""
    found = {}
    for one in of_kind(sent, RA, LAN)[-1 if last else 0:]:
        packet = one.frame[ICMPv6ND_RA]
        while packet:
            if isinstance(packet, ICMPv6NDOptRDNSS):
                found.update(dict.fromkeys(packet.dns, packet.lifetime))
            packet = packet.payload
    return found


def settle(gateway: Gateway, seconds: float = 5) -> list[Sent]:
    return [sent for _ in range(round(seconds * 2)) for sent in gateway.wait(0.5)]


# --- NAT ---------------------------------------------------------------------------------------------


def test_sessions_of_a_vanished_address_end_and_are_counted(start: Start) -> None:
    gateway = start(NAT + f"nat.forward tcp 80 {A.ip}:8080\n")
    external = only(out(gateway)).ip[UDP].sport
    out(gateway, 4001)
    out(gateway, 4001, host=B, to=SERVER2)
    move(gateway)
    assert gateway.stats()["nat_sessions"] == 0
    assert gateway.stats()["nat_sessions_renumbered"] == 3
    late = IP(src=SERVER, dst=OUTSIDE) / UDP(sport=53, dport=external)
    assert gateway.ip_from(ROUTER, late) == []
    parked = out(gateway)
    assert only(parked, WAN).arp.pdst == NEW_ROUTER.ip
    sent = only(know(gateway, NEW_ROUTER, NEW), WAN)
    assert (sent.ip.src, sent.frame.dst) == (NEW, NEW_ROUTER.mac)
    back = IP(src=SERVER, dst=NEW) / UDP(sport=53, dport=sent.ip[UDP].sport)
    assert only(gateway.ip_from(NEW_ROUTER, back), LAN).ip.dst == A.ip
    forwarded = only(gateway.ip_from(NEW_ROUTER, IP(src=SERVER, dst=NEW) / TCP(sport=7, dport=80, flags="S")), LAN)
    assert (forwarded.ip.dst, forwarded.ip[TCP].dport) == (A.ip, 8080)
    answer = IP(src=A.ip, dst=SERVER) / TCP(sport=8080, dport=7, flags="SA")
    assert only(gateway.lan(answer), WAN).ip.src == NEW


def test_without_an_outer_address_nothing_leaves(start: Start) -> None:
    gateway = start(NAT)
    only(out(gateway), WAN)
    gateway.change(f"address del {WAN} {OUTSIDE}")
    error = only(out(gateway), LAN).ip
    assert (error[ICMP].type, error[ICMP].code) == (3, 0)
    assert gateway.drops() == {"no-route": 1}
    gateway.change(f"address add {WAN} {OUTSIDE}/24")
    assert only(out(gateway), WAN).ip.src == OUTSIDE  # the route by the router counts again


def test_another_address_beside_the_first_changes_nothing(start: Start) -> None:
    gateway = start(NAT)
    first = only(out(gateway), WAN).ip
    gateway.change(f"address add {WAN} {NEW}/24")
    again = only(out(gateway), WAN).ip
    assert (again.src, again[UDP].sport) == (first.src, first[UDP].sport)
    gateway.change(f"address del {WAN} {OUTSIDE}")
    assert gateway.stats()["nat_sessions_renumbered"] == 1
    gateway.change(f"route add 0.0.0.0/0 via {NEW_ROUTER.ip}")
    know(gateway, NEW_ROUTER, NEW)
    out(gateway)
    assert only(know(gateway, NEW_ROUTER, NEW), WAN).ip.src == NEW


def test_an_address_of_the_pool_stays(start: Start) -> None:
    gateway = start(NAT + "nat.pool 203.0.113.100\n")
    before = only(out(gateway), WAN).ip[UDP].sport
    gateway.change(f"address add {WAN} {NEW}/24")
    gateway.change(f"address del {WAN} {NEW}")
    after = only(out(gateway), WAN).ip
    assert (after.src, after[UDP].sport) == ("203.0.113.100", before)
    with pytest.raises(Refused, match="wan.address 203.0.113.100 stands for another host"):
        gateway.change(f"address add {WAN} 203.0.113.100/24")


def test_packets_that_wait_for_a_neighbour_are_not_sent_with_a_vanished_address(start: Start) -> None:
    gateway = start(NAT.replace(f"neighbour {ROUTER.ip} {ROUTER.mac}\n", ""))
    assert only(out(gateway), WAN).arp.pdst == ROUTER.ip
    gateway.change(f"address del {WAN} {OUTSIDE}")
    gateway.change(f"address add {WAN} 203.0.113.7/24")
    assert know(gateway, ROUTER, "203.0.113.7") == []
    assert gateway.drops() == {"no-route": 1}


def test_fragments_do_not_follow_a_first_one_with_a_vanished_address(start: Start) -> None:
    gateway = start(NAT)
    whole = IP(src=A.ip, dst=SERVER, id=77) / UDP(sport=1, dport=2) / bytes(64)
    body = bytes(whole)[20:]
    only(gateway.lan(IP(src=A.ip, dst=SERVER, id=77, proto=17, flags="MF") / Raw(body[:40]), broken=True), WAN)
    gateway.change(f"address del {WAN} {OUTSIDE}")
    gateway.change(f"address add {WAN} 203.0.113.7/24")
    assert gateway.lan(IP(src=A.ip, dst=SERVER, id=77, proto=17, frag=5) / Raw(body[40:])) == []


def test_a_syn_to_a_vanished_address_gets_no_error(start: Start) -> None:
    gateway = start(NAT)
    assert gateway.wan(IP(src=SERVER, dst=OUTSIDE) / TCP(sport=7, dport=99, flags="S")) == []
    gateway.change(f"address add {WAN} {NEW}/24")
    gateway.change(f"address del {WAN} {OUTSIDE}")
    assert [sent for sent in settle(gateway, 8) if ARP not in sent.frame] == []
    assert (gateway.stats()["nat_syns_held"], gateway.stats()["nat_syns_answered"]) == (0, 0)


def test_an_own_address_of_the_pool_stays(start: Start) -> None:
    gateway = start(NAT + f"wan.address 203.0.113.7/24\nnat.pool {OUTSIDE}\n")
    only(out(gateway), WAN)
    with pytest.raises(Refused, match=f"wan.address {OUTSIDE} stands for other hosts too, so it stays"):
        gateway.change(f"address del {WAN} {OUTSIDE}")
    assert only(out(gateway), WAN).ip.src == OUTSIDE


# --- routes ------------------------------------------------------------------------------------------


def test_routes_lead_elsewhere_at_once(start: Start) -> None:
    gateway = start(NAT)
    assert only(out(gateway), WAN).frame.dst == ROUTER.mac
    gateway.change("route add 198.51.100.0/24 via 203.0.113.9")
    assert only(out(gateway), WAN).frame.dst == "52:54:00:00:02:09"
    gateway.change("route del 198.51.100.0/24 via 203.0.113.9")
    assert only(out(gateway), WAN).frame.dst == ROUTER.mac
    gateway.change(f"route del default via {ROUTER.ip}")
    assert only(out(gateway), LAN).ip[ICMP].code == 0


def test_a_route_goes_by_its_next_hop_alone(start: Start) -> None:
    gateway = start(NAT)
    gateway.change("route add default via 203.0.113.9")
    gateway.change("route del default via 203.0.113.9")
    assert only(out(gateway), WAN).frame.dst == ROUTER.mac


def test_an_inside_network_comes_and_goes(start: Start) -> None:
    gateway = start(NAT)
    other = Host(LAN, "10.7.0.9", "52:54:00:00:01:79")
    gateway.change("address add lan 10.7.0.1/16")
    know(gateway, other, "10.7.0.1")
    external = only(out(gateway, host=other), WAN).ip[UDP].sport
    back = IP(src=SERVER, dst=OUTSIDE) / UDP(sport=53, dport=external)
    gateway.wan(back)
    assert only(know(gateway, other, "10.7.0.1"), LAN).ip.dst == other.ip
    only(out(gateway, host=other), WAN)  # a known flow
    gateway.change("address del lan 10.7.0.1")
    assert [sent for sent in out(gateway, host=other) if sent.port == WAN] == []
    assert [sent for sent in gateway.wan(back) if sent.port == LAN] == []
    assert [sent for sent in out(gateway, 4001, host=other) if sent.port == WAN] == []
    assert "10.7.0.9" not in " ".join(gateway.lines("neighbours"))


@pytest.mark.parametrize("words, wrong", [
    ("address add lan3 10.0.0.1/24", "expected: address add"),
    ("address add lan 10.0.0.1", "expected: address add"),
    ("address add lan 10.0.0.0/24", "10.0.0.0/24: the host part is zero: the address names the network"),
    ("address add lan 224.0.0.1/24", "224.0.0.1/24: "),
    ("address add lan 192.168.1.1/24", "lan.address 192.168.1.1 is given twice"),
    ("address add lan 203.0.0.1/8", "lan.address 203.0.0.1/8 contains the network of wan.address"),
    (f"route add default via {ROUTER.ip}", f"via {ROUTER.ip}: there is that route already"),
    ("address add lan 203.0.113.9/24", "lan.address 203.0.113.9 lies in the network of wan.address"),
    ("address add lan 2001:db8::1/64", "lan has no IPv6 here"),
    ("address del lan 10.0.0.1", "lan has no address 10.0.0.1"),
    ("address move lan 10.0.0.1/24", "expected: add or del"),
    ("route add 10.0.0.0/8", "expected: route add"),
    ("route add 10.0.0.0/8 via 172.16.0.1", "via 172.16.0.1 lies in no network"),
    ("route add 10.0.0.0/8 via 192.168.1.1", "via 192.168.1.1 is the gateway's own address"),
    ("route add 10.0.0.0/8 via 2001:db8::1", "prefix and next hop are of different families"),
    ("route del 10.0.0.0/8", "there is no such route to 10.0.0.0/8"),
])
def test_what_cannot_be_is_refused_and_changes_nothing(start: Start, words: str, wrong: str) -> None:
    gateway = start(NAT)
    only(out(gateway), WAN)
    before = [gateway.lines(listing) for listing in ("routes", "interfaces", "sessions", "log")]
    with pytest.raises(Refused, match=re.escape(wrong)):
        gateway.change(words)
    assert before == [gateway.lines(listing) for listing in ("routes", "interfaces", "sessions", "log")]


def test_tables_of_addresses_and_routes_that_are_full(start: Start) -> None:
    gateway = start(NAT)
    for number in range(7):
        gateway.change(f"address add lan 10.{number}.0.1/24")
    with pytest.raises(Refused, match="lan.address: too many IPv4 addresses"):
        gateway.change("address add lan 10.7.0.1/24")
    added = 0
    with pytest.raises(Refused, match="too many routes"):
        for added in range(200):
            gateway.change(f"route add 172.16.{added}.0/24 via 192.168.1.9")
    assert added == 16 + 64 + 4 - 1
    for number in range(added):
        gateway.change(f"route del 172.16.{number}.0/24")
    assert only(out(gateway), WAN).ip.src == OUTSIDE


# --- 6to4 --------------------------------------------------------------------------------------------

TUNNEL = f"lan.address 192.168.1.1/24\nwan.address {OUTSIDE}/24\ngateway {ROUTER.ip}\n" + NEIGHBOURS


def test_6to4_makes_its_new_prefix_and_deprecates_the_old_one(start: Start) -> None:
    gateway = start(TUNNEL, "6to4")
    old, new = in_site(OUTSIDE, 1, 0), in_site(NEW, 1, 0)
    found = advertised(settle(gateway, 20))
    assert list(found) == [old] and found[old][1] > 0
    gateway.change(f"address add {WAN} {NEW}/24")
    gateway.change(f"route add default via {NEW_ROUTER.ip}")
    gateway.change(f"address del {WAN} {OUTSIDE}")
    found = advertised(settle(gateway))
    assert found[new][1] > 0 and found[old][1] == 0 and 7100 < found[old][0] <= 7200
    know(gateway, NEW_ROUTER, NEW)
    inner = IPv6(src=in_site(NEW, 1, 9), dst=in_site(SERVER, 5, 5)) / UDP(sport=1, dport=2)
    gateway.send(LAN, Ether(src=A.mac, dst=PORT_MAC[LAN]) / inner)
    sent = [one for one in know(gateway, NEW_ROUTER, NEW) + gateway.send(
        LAN, Ether(src=A.mac, dst=PORT_MAC[LAN]) / inner) if IP in one.frame]
    assert sent and all((one.ip.src, one.ip.dst, one.ip.proto) == (NEW, SERVER, 41) for one in sent)
    stale = IPv6(src=in_site(OUTSIDE, 1, 9), dst=in_site(SERVER, 5, 5)) / UDP(sport=1, dport=2)
    error = only(gateway.send(LAN, Ether(src=A.mac, dst=PORT_MAC[LAN]) / stale), LAN)
    assert kind6(error) == (1, 5)  # its host takes another source then (RFC 7084 L-14)
    to_old = IP(src=SERVER, dst=OUTSIDE, proto=41) / IPv6(src=in_site(SERVER, 5, 5), dst=in_site(OUTSIDE, 1, 9))
    assert gateway.ip_from(NEW_ROUTER, to_old / UDP(sport=1, dport=2)) == []


def test_6to4_without_an_outer_address_carries_nothing(start: Start) -> None:
    gateway = start(TUNNEL, "6to4")
    settle(gateway, 20)
    inner = IPv6(src=in_site(OUTSIDE, 1, 9), dst=in_site(SERVER, 5, 5)) / UDP(sport=1, dport=2)
    assert only(gateway.send(LAN, Ether(src=A.mac, dst=PORT_MAC[LAN]) / inner), WAN).ip.src == OUTSIDE
    gateway.change(f"address del {WAN} {OUTSIDE}")
    assert [one for one in gateway.send(LAN, Ether(src=A.mac, dst=PORT_MAC[LAN]) / inner) if one.port == WAN] == []
    assert advertised(settle(gateway))[in_site(OUTSIDE, 1, 0)][1] == 0
    gateway.change(f"address add {WAN} {OUTSIDE}/24")
    assert advertised(settle(gateway))[in_site(OUTSIDE, 1, 0)][1] > 0
    assert only(gateway.send(LAN, Ether(src=A.mac, dst=PORT_MAC[LAN]) / inner), WAN).ip.src == OUTSIDE


def test_routes_into_the_tunnel_are_not_the_users_to_delete(start: Start) -> None:
    gateway = start(TUNNEL, "6to4")
    for prefix in ("::/0", "2002::/16"):
        with pytest.raises(Refused, match="there is no such route"):
            gateway.change(f"route del {prefix}")


def test_6to4_loses_its_inside_address(start: Start) -> None:
    gateway = start(TUNNEL, "6to4")
    settle(gateway, 20)
    gateway.change(f"address del lan {in_site(OUTSIDE)}")
    assert advertised(settle(gateway))[in_site(OUTSIDE, 1, 0)][1] == 0


def test_6to4_changes_its_address_more_often_than_it_can_advertise(start: Start) -> None:
    gateway = start(TUNNEL, "6to4")
    settle(gateway, 20)
    last, sent = OUTSIDE, []
    for number in range(10):
        gateway.change(f"address add {WAN} 203.0.113.{50 + number}/24")
        gateway.change(f"address del {WAN} {last}")
        last = f"203.0.113.{50 + number}"
        sent = settle(gateway)
    found = advertised(sent)
    assert found[in_site(last, 1, 0)][1] > 0
    assert sum(preferred > 0 for _, preferred in found.values()) == 1


# --- ivi ---------------------------------------------------------------------------------------------


def test_ivi_follows_its_addresses(start: Start) -> None:
    gateway = start_ivi(start, settle=4)
    assert only(from4(gateway, to_six() / UDP()), LAN).ip6.dst == IVI.six
    assert only(from6(gateway, to_four() / UDP()), WAN).ip.dst == FOUR
    gateway.change(f"address del {WAN} {OWN4}")
    assert [one for one in from6(gateway, to_four() / UDP()) if one.port == WAN] == []
    expired = from6(gateway, to_four(hlim=1) / UDP())
    assert [one for one in expired if one.port == WAN] == []
    gateway.change(f"address add {WAN} 198.51.100.9/24")
    assert only(from6(gateway, to_four() / UDP()), WAN).ip.dst == FOUR
    error = only(from4(gateway, to_six(ttl=1) / UDP()), WAN).ip
    assert (error.src, error[ICMP].type) == ("198.51.100.9", 11)


def test_ivi_does_not_translate_to_an_address_that_became_ours(start: Start) -> None:
    gateway = start_ivi(start)
    assert only(from4(gateway, to_six() / UDP()), LAN).ip6.dst == IVI.six
    gateway.change(f"address add {WAN} {SIX4}/32")
    assert [one for one in from4(gateway, to_six() / UDP()) if one.port == LAN] == []
    gateway.change(f"address del {WAN} {SIX4}")
    assert only(from4(gateway, to_six() / UDP()), LAN).ip6.dst == IVI.six


def test_ivi_advertises_the_networks_that_there_are(start: Start) -> None:
    gateway = start(IVI.config.replace("lan.ra off\n", ""), "ivi")
    own = str(ipaddress.ip_network(f"{IVI.own6}/64", strict=False).network_address)
    assert own in advertised(settle(gateway, 20))
    gateway.change("address add lan 2001:db8:7777::1/64")
    assert advertised(settle(gateway))["2001:db8:7777::"][0] > 7200
    gateway.change("address del lan 2001:db8:7777::1")
    found = advertised(settle(gateway))
    assert found["2001:db8:7777::"][1] == 0
    assert gateway.send(LAN, Ether(src=SIX_MAC, dst=PORT_MAC[LAN]) / IPv6(
        src=IVI.six, dst="2001:db8:7777::1") / UDP(sport=1, dport=2)) != []


def test_ivi_takes_back_an_address_of_its_hosts(start: Start) -> None:
    gateway = start_ivi(start)
    for _ in range(2):
        gateway.change(f"address add {WAN} 192.0.2.131/25")
        gateway.change(f"address del {WAN} 192.0.2.131")
    assert only(from4(gateway, to_six() / UDP()), LAN).ip6.dst == IVI.six


# --- DNS64 -------------------------------------------------------------------------------------------


def test_dns64_withdraws_a_server_address_that_is_gone(start: Start) -> None:
    gateway = start(f"lan.address 2001:db8:1::5/64\nlan.address 192.168.1.1/24\nwan.address {OUTSIDE}/24\n"
                    f"gateway {ROUTER.ip}\nnameserver {SERVER}\n", "dns64")
    assert servers(settle(gateway, 20)) == {"2001:db8:1::5": 1800}
    gateway.change("address add lan 2001:db8:2::5/64")
    gateway.change("address del lan 2001:db8:1::5")
    assert servers(settle(gateway)) == {"2001:db8:2::5": 1800, "2001:db8:1::5": 0}
    gateway.change("address del lan 2001:db8:2::5")
    assert servers(settle(gateway)) == {"2001:db8:2::5": 0}
    assert not servers(settle(gateway, 600), last=True)


# --- anything at any time ------------------------------------------------------------------------------

POOL4 = [f"{OUTSIDE}/24", f"{NEW}/24", "203.0.113.60/24", "198.18.5.3/30", "100.64.3.3/16"]
LAN4 = ["192.168.1.1/24", "10.9.0.1/16", "192.168.1.2/32", "203.0.0.1/8", "192.168.0.2/16"]
LAN6 = ["2001:db8:1::1/64", "2001:db8:ffc0:2:fe00::1/64"]


def random_change(rng: random.Random) -> str:
    kind = rng.randrange(4)
    if kind == 0:
        return f"address {rng.choice(['add', 'del'])} wan {rng.choice(POOL4)}"
    if kind == 1:
        return f"address {rng.choice(['add', 'del'])} lan {rng.choice(LAN4 + LAN6)}"
    to = rng.choice(["default", "198.51.100.0/24", "198.51.100.7/32", "10.9.0.0/16"])
    via = rng.choice([ROUTER.ip, NEW_ROUTER.ip, "203.0.113.9", "192.168.1.11"])
    return f"route {rng.choice(['add', 'del'])} {to} via {via}"


def random_frame(rng: random.Random) -> tuple[str, Packet]:
    host = rng.choice([A, B, ROUTER, NEW_ROUTER])
    own = [entry.split("/")[0] for entry in POOL4 + LAN4]
    to = rng.choice([SERVER, SERVER2, *own, A.ip, "192.0.2.33"])
    ports = {"sport": rng.choice([53, 4000, 4001]), "dport": rng.choice([53, 4000, 80])}
    body = rng.choice([UDP(**ports), TCP(**ports, flags=rng.choice(["S", "SA", "A", "R"])), ICMP(), ICMP(type=0)])
    ether = Ether(src=host.mac, dst=PORT_MAC[host.port])
    kind = rng.randrange(8)
    if kind == 0:
        return host.port, Ether(src=host.mac, dst=BROADCAST) / ARP(
            op=rng.choice([1, 2]), hwsrc=host.mac, psrc=host.ip, pdst=rng.choice(own))
    if kind == 1:
        inner = IPv6(src=in_site(SERVER, 5, 5), dst=in_site(rng.choice(own), 1, 9)) / UDP(sport=1, dport=2)
        return WAN, Ether(src=ROUTER.mac, dst=PORT_MAC[WAN]) / IP(src=SERVER, dst=rng.choice(own), proto=41) / inner
    if kind == 2:
        source = rng.choice([in_site(rng.choice(own), 1, 9), IVI.six, "2001:db8:1::9"])
        there = rng.choice([in_site(SERVER, 5, 5), IVI.v6(FOUR), "2001:db8:1::1"])
        return LAN, Ether(src=A.mac, dst=PORT_MAC[LAN]) / IPv6(src=source, dst=there, hlim=rng.choice([1, 64])) / body
    if kind == 3:
        return host.port, ether / IP(src=host.ip, dst=to, id=rng.randrange(3), flags=rng.choice(["MF", 0]),
                                     frag=rng.choice([0, 2])) / body / bytes(16)
    source = host.ip if host.port == LAN else SERVER
    return host.port, ether / IP(src=source, dst=to, ttl=rng.choice([1, 64])) / body


def addresses(gateway: Gateway) -> set[str]:
    """All addresses that the gateway has."""
    return {word.split("/")[0] for line in gateway.lines("interfaces") for word in line.split()[1:]}


def check_sources(sent: list[Sent], gone: set[str], changing: str) -> None:
    """No frame has a source address that was the gateway's and is not any more."""
    for one in sent:
        frame = one.frame
        source = frame[ARP].psrc if ARP in frame else frame[IP].src if IP in frame else \
            frame[IPv6].src if IPv6 in frame else None
        assert source not in gone, (changing, one)


CONFIGS = {
    "nat": NAT + f"nat.forward udp 53 {A.ip}:53\n",
    "nat-dns64": NAT + f"serve dns64\nnameserver {SERVER}\n",
    "6to4": TUNNEL + f"6to4.relay {SERVER2}\n",
    "nat64": six4.CONFIG.replace("lan.ra off\n", ""),
    "ivi": IVI.config.replace("lan.ra off\n", "lan.address 192.168.1.1/24\n"),
}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", CONFIGS)
def test_changes_at_any_moment_under_traffic(sim: Simulator, kind: str, seed: int) -> None:
    """Whatever comes and goes: no stale source, no lost packet, and in the end it works as if nothing had been."""
    rng = random.Random(f"{kind} {seed}")
    gateway = Gateway(sim, CONFIGS[kind], kind.partition("-")[0])
    gateway.checked = False  # made-up frames: errors about them may quote anything
    settle(gateway, 4)
    ever: set[str] = addresses(gateway)
    for _ in range(250):
        act = rng.randrange(10)
        if act == 0:
            change = random_change(rng)
            before = addresses(gateway)
            try:
                sent = gateway.change(change)
            except Refused:
                assert addresses(gateway) == before
                continue
            ever |= addresses(gateway) | before
        elif act == 1:
            change, sent = "wait", gateway.wait(rng.choice([0.05, 0.5, 3]))
        else:
            port, frame = random_frame(rng)
            change, sent = frame.summary(), gateway.send(port, frame)
        now = addresses(gateway)
        check_sources(sent, {one for one in ever - now if one not in (A.ip, B.ip)}, change)
    gateway.finish()
