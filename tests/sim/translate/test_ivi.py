# SPDX-License-Identifier: BSD-2-Clause
"""The application `ivi` around the translation: what it requires, its addresses on both interfaces, shared addresses,
mappings of either side, timings."""

from __future__ import annotations

import re
import struct
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any

import pytest
from gateway import BROADCAST, LAN, PORT_MAC, WAN, Gateway, only
from ivi import (
    FAR, FOUR, FOUR_MAC, IVI, OWN4, RFC6052, SIX4, SIX_MAC, Start, World, body, check46, check64, dropped, frame4,
    frame6, from4, from6, introduce, new_drops, six_of, start_ivi, timings, to_four, to_six, translated,
)
from net6 import advertise, of_kind, solicited_node
from pieces import cut
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest, ICMPv6ND_NS, ICMPv6ND_RS, ICMPv6NDOptPrefixInfo, ICMPv6NDOptSrcLLAddr, IPv6, IPv6ExtHdrFragment,
)
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from siit import checksum, pseudo6
from simulator import Refused
from test_ivi_properties import filling

pytestmark = pytest.mark.virtual

BASE = "lan.address 2001:db8:1::1/64\nwan.address 198.51.100.1/24\n"


# --- what it requires --------------------------------------------------------------------------------


@pytest.mark.parametrize(("config", "wrong"), [
    ("wan.address 198.51.100.1/24\nivi.prefix 2001:db8::/32\nivi.ipv4 192.0.2.0/24",
     "lan.address: an IPv6 address is required by ivi"),
    ("lan.address 192.168.1.1/24\nwan.address 198.51.100.1/24\nivi.prefix 2001:db8::/32\nivi.ipv4 192.0.2.0/24",
     "lan.address: an IPv6 address is required by ivi"),
    ("lan.address 2001:db8:1::1/64\nivi.prefix 2001:db8::/32\nivi.ipv4 192.0.2.0/24",
     "wan.address: an IPv4 address is required by ivi"),
    (BASE, "ivi.ipv4: required by ivi, unless ivi.map names the IPv6 hosts"),
    (BASE + "ivi.prefix 2001:db8::/32", "ivi.ipv4: required by ivi, unless ivi.map names the IPv6 hosts"),
    (BASE + "ivi.ipv4 192.0.2.0/24", "ivi.prefix: required by ivi with ivi.ipv4"),
    (BASE + "ivi.prefix 2001:db8:100::/40\nivi.ipv4 192.0.2.0/24",
     "ivi.prefix must be a /32 with ivi.format ivi; other lengths need ivi.format rfc6052"),
    (BASE + "ivi.format rfc6052\nivi.prefix 2001:db8:100::/44\nivi.ipv4 192.0.2.0/24",
     "ivi.prefix must have a length of 32, 40, 48, 56, 64 or 96 (RFC 6052)"),
    (BASE + "ivi.format rfc6052\nivi.prefix 2001:db8:0:0:100::/96\nivi.ipv4 192.0.2.0/24",
     "ivi.prefix must have zero in octet 8 (RFC 6052 section 2.2)"),
    (BASE + "ivi.format rfc6052\nivi.prefix 64:ff9b::/96\nivi.share 192.0.2.0/24 16",
     "ivi.share: there is no room for the number of the set behind a /96"),
    (BASE + "ivi.prefix 2001:db8::/32\nivi.share 192.0.2.0/24 16\nivi.share 192.0.2.1/32 4",
     "ivi.share: an address is given twice"),
    (BASE + "ivi.map 192.0.2.1 2001:db8:1::5\nivi.map 192.0.2.1 2001:db8:1::6",
     "ivi.map: an IPv4 prefix is given twice"),
])
def test_invalid_configuration(start: Start, config: str, wrong: str) -> None:
    with pytest.raises(Refused, match=wrong.replace("(", r"\(").replace(")", r"\)")):
        start(config, "ivi")


def test_mappings_alone_are_enough(start: Start) -> None:
    gateway = start(BASE + "gateway 198.51.100.2\nneighbour 198.51.100.2 52:54:00:00:02:01\n"
                    "neighbour 2001:db8:1::105 52:54:00:00:01:0a\nivi.map 192.0.2.0/24 2001:db8:1::100/120\n"
                    "ivi.map 198.51.0.0/16 2001:db8:5::/112\n", "ivi")
    sent = only(from4(gateway, IP(src=FOUR, dst="192.0.2.5") / UDP()), LAN)
    assert (sent.ip6.src, sent.ip6.dst) == ("2001:db8:5::6402", "2001:db8:1::105")
    sent = only(from6(gateway, IPv6(src="2001:db8:1::105", dst="2001:db8:5::6402") / UDP()), WAN)
    assert (sent.ip.src, sent.ip.dst) == ("192.0.2.5", FOUR)


def test_one_mapping_for_both_sides(start: Start) -> None:
    """RFC 7757 appendix A.2: the IVI form as a mapping. Routes say on which side a host is, also for sources."""
    config = "\n".join(line for line in IVI.config.splitlines() if not line.startswith(("ivi.prefix", "ivi.ipv4")))
    gateway = start(config + "\nivi.map 0.0.0.0/0 2001:db8:ff00::/40\n", "ivi")
    gateway.wait(4)
    check46(gateway, IVI, to_six() / UDP(sport=1, dport=2))
    check64(gateway, IVI, to_four() / UDP(sport=2, dport=1))
    check64(gateway, IVI, to_four(dst=IVI.v6(FAR)) / UDP(sport=2, dport=1))
    for src in (FOUR, FAR):
        forged = to_four(src=IVI.v6(src), dst=IVI.v6("203.0.113.9")) / UDP()
        assert dropped(gateway, lambda: from6(gateway, forged), "martian-source") == []  # noqa: B023
    assert dropped(gateway, lambda: from4(gateway, to_six(src="192.0.2.7") / UDP()), "martian-source") == []


def test_example_configuration(start: Start) -> None:
    """The example for the translator in boot/gateway.conf works, and its comments are right."""
    text = (Path(__file__).parents[3] / "boot/gateway.conf").read_text(encoding="utf-8")
    head, _, tail = text.partition("(app ivi)")
    lines = [line.split("#")[0] for line in head.splitlines()]
    lines += [line[1:].split("#")[0] for line in tail.splitlines() if re.match(r"#[a-z]", line)]
    host = "2001:db8:ffcb:71:2100::"
    assert host in tail and len([line for line in lines if line.startswith("ivi.")]) == 2
    gateway = start("\n".join([*filter(str.strip, lines), f"neighbour {host} {SIX_MAC}"]) + "\n", "ivi")
    gateway.wait(4)
    packet = IP(src="198.51.100.9", dst="203.0.113.33") / UDP(sport=1, dport=2)
    assert only(from4(gateway, packet), LAN).ip6.dst == host


def test_many_mappings(start: Start) -> None:
    """256 mappings, the maximum, each found in both directions."""
    maps = [(f"10.{n}.0.0/16", f"2001:db8:1:0:{n:x}::/96") for n in range(256)]
    config = World(maps=maps, routes=["2001:db8:1::/64 via 2001:db8:ffc0:2:2100::"]).config
    gateway = start(config, "ivi")
    gateway.wait(4)
    for n in (0, 1, 100, 255):
        sent = only(from4(gateway, to_six(dst=f"10.{n}.3.4") / UDP()), LAN)
        assert sent.ip6.dst == str(IPv6(dst=f"2001:db8:1:0:{n:x}:0:304:0").dst)
        back = only(from6(gateway, to_four(src=sent.ip6.dst) / UDP()), WAN)
        assert back.ip.src == f"10.{n}.3.4"


# --- its own addresses ----------------------------------------------------------------------------


def test_ping_on_both_sides(ivi: Gateway) -> None:
    before = translated(ivi)
    sent = only(from4(ivi, IP(src=FOUR, dst=OWN4) / ICMP(id=1, seq=2) / b"ping"), WAN)
    assert sent.ip.src == OWN4 and sent.ip[ICMP].type == 0
    answer = only(from6(ivi, IPv6(src=IVI.six, dst=IVI.own6) / ICMPv6EchoRequest(id=1, seq=2, data=b"ping")), LAN)
    assert answer.ip6.src == IVI.own6 and body(answer)[40] == 129
    assert translated(ivi) == before


def ask(gateway: Gateway, target: str, port: str = WAN, src: str = FOUR) -> list[Any]:
    frame = Ether(src=FOUR_MAC, dst=BROADCAST) / ARP(op=1, hwsrc=FOUR_MAC, psrc=src, pdst=target)
    return gateway.send(port, frame)


def test_arp_for_ipv6_hosts_in_the_wan_network(start: Start) -> None:
    """Proxy ARP on the WAN for IPv6 hosts in its network; never for a router, a host of the WAN, or from the LAN."""
    world = World(keys={"ivi.ipv4": "198.51.100.0/28\nivi.ipv4 203.0.113.0/24"},
                  maps=[("198.51.100.64/28", "2001:db8:ffc0:2:8000::/124"), ("198.51.100.128/28", "2001:db8:9::/124")])
    gateway = start(world.config, "ivi")
    gateway.wait(4)
    yes, no = (1, 3, 15, 64, 79), (0, 2, 16, 80, 128)
    for last, answered in [(last, True) for last in yes] + [(last, False) for last in no]:
        sent = ask(gateway, f"198.51.100.{last}", src="198.51.100.200")
        assert bool(sent) == answered, last
        if answered:
            assert sent[0].arp.hwsrc == PORT_MAC[WAN] and sent[0].arp.psrc == f"198.51.100.{last}"
    assert ask(gateway, "203.0.113.5") == []  # not in the network of the WAN
    assert ask(gateway, "192.0.2.33") == []
    assert ask(gateway, "198.51.100.3", LAN) == []


def test_on_link_ipv6_hosts_are_translated(start: Start) -> None:
    world = World(keys={"ivi.ipv4": "198.51.100.0/28"}, routes=["2001:db8:ffc6:3364::/68 via 2001:db8:ffc0:2:2100::"])
    gateway = start(world.config, "ivi")
    gateway.wait(4)
    assert only(from4(gateway, to_six(dst="198.51.100.3") / UDP()), LAN).ip6.dst == "2001:db8:ffc6:3364:300::"
    forged = to_six(src="198.51.100.9", dst=FOUR) / UDP()
    assert dropped(gateway, lambda: from4(gateway, forged), "martian-source") == []
    assert only(from4(gateway, IP(src=FOUR, dst=OWN4) / ICMP()), WAN).ip.src == OWN4


def test_router_advertisements(start: Start) -> None:
    """The prefix is on-link, but no host makes an address from it: A = 0."""
    gateway = start(IVI.config.replace("lan.ra off", "lan.ra on") + "lan.rdnss 2001:db8::53\n", "ivi")
    sent = gateway.wait(4)
    ask_ = Ether(src=SIX_MAC, dst="33:33:00:00:00:02") / IPv6(src="fe80::a", dst="ff02::2", hlim=255) / ICMPv6ND_RS() \
        / ICMPv6NDOptSrcLLAddr(lladdr=SIX_MAC)
    sent += gateway.send(LAN, ask_) + gateway.wait(4)
    ra = of_kind(sent, 134)
    assert ra and all(one.port == LAN for one in ra)
    prefix = ra[-1].frame[ICMPv6NDOptPrefixInfo]
    assert (prefix.prefix, prefix.prefixlen, prefix.L, prefix.A) == ("2001:db8:ffc0:2::", 64, 1, 0)
    assert ra[-1].frame.routerlifetime == 1800


def test_neighbour_discovery(start: Start) -> None:
    """The gateway resolves a mapped host's address like any other, and packets wait for the answer."""
    config = "".join(line + "\n" for line in IVI.config.splitlines() if not line.startswith("neighbour 2001"))
    gateway = start(config, "ivi")
    gateway.wait(4)
    asked = only(from4(gateway, to_six() / UDP(sport=1, dport=2) / b"first"), LAN)
    assert asked.frame[ICMPv6ND_NS].tgt == IVI.six and asked.ip6.dst == solicited_node(IVI.six)

    class Six:
        ip, mac = IVI.six, SIX_MAC
    answer = advertise(Six, asked.ip6.src)  # type: ignore[arg-type]
    sent = of_payload(gateway.send(LAN, Ether(src=SIX_MAC, dst=PORT_MAC[LAN]) / answer))
    assert bytes(only(sent, LAN).ip6[UDP].payload) == b"first"


def of_payload(sent: list[Any]) -> list[Any]:
    return [one for one in sent if UDP in one.frame]


def test_ipv6_from_the_wan(ivi: Gateway) -> None:
    """The WAN is the IPv4 side."""
    for target in (IVI.six, IVI.v6("203.0.113.9")):
        packet = Ether(src=FOUR_MAC, dst=PORT_MAC[WAN]) / IPv6(src="2001:db8:9::1", dst=target) / UDP()
        assert dropped(ivi, lambda: ivi.send(WAN, packet), "ipv6") == []  # noqa: B023


def test_ipv6_without_route(ivi: Gateway) -> None:
    sent = dropped(ivi, lambda: from6(ivi, to_four(dst="2001:db8:77::1") / UDP()), "no-route")
    assert body(only(sent, LAN))[40:42] == b"\1\0"


def test_ipv4_from_the_lan(ivi: Gateway) -> None:
    packet = Ether(src=SIX_MAC, dst=PORT_MAC[LAN]) / IP(src="10.0.0.1", dst=FOUR) / UDP()
    assert dropped(ivi, lambda: ivi.send(LAN, packet), "foreign") == []


def test_unicast_in_a_group_frame(ivi: Gateway) -> None:
    for packet in (to_six() / UDP(), to_six(dst="224.0.0.1") / UDP()):
        frame = Ether(src=FOUR_MAC, dst=BROADCAST) / packet
        assert dropped(ivi, lambda: ivi.send(WAN, frame), "multicast") == []  # noqa: B023


# --- mappings of either side ----------------------------------------------------------------------


def test_native_ipv6_route_is_not_translated(start: Start) -> None:
    """A mapped host's own IPv6 address is reached without translation; its IPv4 address is for IPv4 hosts."""
    gateway = start_ivi(start, RFC6052)
    sent = only(from6(gateway, to_four(RFC6052, dst="2001:db8:3::9") / UDP()), LAN)
    assert sent.ip6.dst == "2001:db8:3::9" and translated(gateway) == (0, 0)
    assert only(from4(gateway, to_six(dst="1.0.0.9") / UDP()), LAN).ip6.dst == "2001:db8:3::9"


def test_mapping_for_ipv4_hosts(start: Start) -> None:
    """Its IPv4 prefix is a network on the WAN side: IPv6 hosts reach those hosts by its IPv6 prefix."""
    world = World(maps=[("10.9.0.0/24", "2001:db8:9::/120")], routes=["10.9.0.0/16 via 198.51.100.2"])
    gateway = start_ivi(start, world)
    check64(gateway, world, to_four(dst="2001:db8:9::7") / UDP(sport=1, dport=2))
    check46(gateway, world, to_six(src="10.9.0.7") / UDP(sport=2, dport=1))
    assert dropped(gateway, lambda: from6(gateway, to_four(src="2001:db8:9::7") / UDP()), "martian-source") == []
    assert only(from4(gateway, to_six(dst="10.9.0.7") / UDP()), WAN).ip.dst == "10.9.0.7"  # native


def test_mapping_wins_over_the_prefix(start: Start) -> None:
    world = World(maps=[("203.0.113.80/32", "2001:db8:9::80/128")], routes=["203.0.113.80/32 via 198.51.100.2"])
    gateway = start_ivi(start, world)
    check46(gateway, world, to_six(src="203.0.113.80") / UDP())
    check46(gateway, world, to_six(src="203.0.113.81") / UDP())
    check64(gateway, world, to_four(dst=world.v6("203.0.113.81")) / UDP())


def test_forged_source_of_a_mapped_host(start: Start) -> None:
    gateway = start_ivi(start, RFC6052)
    assert dropped(gateway, lambda: from4(gateway, to_six(src="1.0.0.9") / UDP()), "martian-source") == []


def test_address_by_the_form_of_a_mapped_host(start: Start) -> None:
    """Such a host has an IPv4 address by its mapping: no other host may use that IPv4 address."""
    world = World(maps=[("203.0.113.0/24", "2001:db8:7::/120")], keys={"ivi.ipv4": "203.0.113.0/24"},
                  routes=["2001:db8:7::/120 via 2001:db8:ffc0:2:2100::"])
    gateway = start_ivi(start, world)
    assert only(from6(gateway, to_four(src="2001:db8:7::5") / UDP()), WAN).ip.src == "203.0.113.5"
    forged = to_four(src=world.v6("203.0.113.5")) / UDP()
    assert dropped(gateway, lambda: from6(gateway, forged), "no-map") is not None


def test_well_known_prefix(start: Start) -> None:
    """RFC 6052 section 3.1: the prefix must not be used with addresses that are not global."""
    world = World("64:ff9b::/96", "rfc6052", maps=[("9.9.9.0/24", "2001:db8:1::100/120")])
    config = world.config.replace(f"lan.address {world.own6}/120", "lan.address 2001:db8:1::1/64")
    config = config.replace(f"neighbour {world.six}", "neighbour 2001:db8:1::109")
    gateway = start(config, "ivi")
    gateway.wait(4)
    host = "2001:db8:1::109"
    assert only(from6(gateway, IPv6(src=host, dst="64:ff9b::808:808") / UDP()), WAN).ip.dst == "8.8.8.8"
    assert only(from4(gateway, IP(src="8.8.8.8", dst="9.9.9.9") / UDP()), LAN).ip6.src == "64:ff9b::808:808"
    for local in ("10.0.0.1", "192.168.1.1", "198.51.100.2", "100.64.0.1"):
        packet = IPv6(src=host, dst=world.v6(local)) / UDP()
        sent = dropped(gateway, lambda: from6(gateway, packet), "no-map")  # noqa: B023
        assert body(only(sent, LAN))[40:42] == b"\1\1"
        back = IP(src=local, dst="9.9.9.9") / UDP()
        assert dropped(gateway, lambda: from4(gateway, back), "no-map") is not None  # noqa: B023


def test_many_pairs(ivi: Gateway) -> None:
    """More pairs than the cache has places, so that some collide."""
    others = [f"203.0.113.{1 + i % 250}" if i < 250 else f"198.18.{i >> 8}.{i & 255}" for i in range(600)]
    for _ in range(2):
        sent = ivi.send_many([(WAN, frame4(to_six(src=other) / UDP())) for other in others])
        assert [only(one, LAN).ip6.src for one in sent] == [IVI.v6(other) for other in others]
        sent = ivi.send_many([(LAN, frame6(to_four(dst=IVI.v6(other)) / UDP())) for other in others])
        assert [only(one, WAN).ip.dst for one in sent] == others


# --- shared addresses (RFC 7597 section 5.1, RFC 7599) --------------------------------------------


SHARED = "192.0.2.33"
RATIO, RUN = 16, 64  # sets of 64 in a row, 1024 to 1087 the first of set 0


def host(number: int) -> str:
    """The IPv6 host with a port set: the number of the set follows the IPv4 address."""
    address = bytearray(six_of(IVI.v6(SHARED)))
    address[9:11] = number.to_bytes(2, "big")
    return str(IPv6Address(bytes(address)))


@pytest.fixture
def shared(start: Start) -> Gateway:
    hosts = "".join(f"neighbour {host(number)} 52:54:00:00:01:{number:02x}\n" for number in range(RATIO))
    gateway = start(IVI.config + hosts + f"ivi.share {SHARED}/32 {RATIO} {RUN}\n", "ivi")
    gateway.wait(4)
    return gateway


@pytest.mark.parametrize("port", [1024, 1087, 1088, 2047, 2048, 40000, 65535])
@pytest.mark.parametrize("proto", [UDP, TCP])
def test_shared_address_by_port(shared: Gateway, proto: Any, port: int) -> None:
    number = port // RUN % RATIO
    sent = only(from4(shared, to_six(dst=SHARED) / proto(sport=9, dport=port) / b"data"), LAN)
    assert sent.ip6.dst == host(number) and sent.frame.dst == f"52:54:00:00:01:{number:02x}"
    out = only(from6(shared, to_four(src=host(number)) / proto(sport=port, dport=9) / b"data"), WAN)
    assert out.ip.src == SHARED and out.ip[proto].sport == port


def test_shared_address_by_one_port_after_the_other(shared: Gateway) -> None:
    """The other host and port are the same: addresses alone do not say which host gets a packet."""
    for port in [1024] * 3 + [1088, 2047, 1024]:
        sent = only(from4(shared, to_six(dst=SHARED) / UDP(sport=9, dport=port)), LAN)
        assert sent.ip6.dst == host(port // RUN % RATIO)


def test_shared_address_by_echo_identifier(shared: Gateway) -> None:
    sent = only(from4(shared, to_six(dst=SHARED) / ICMP(type=8, id=1088, seq=1)), LAN)
    assert sent.ip6.dst == host(1)
    assert only(from6(shared, to_four(src=host(1)) / ICMPv6EchoRequest(id=1088)), WAN).ip.src == SHARED
    error = dropped(shared, lambda: from6(shared, to_four(src=host(1)) / ICMPv6EchoRequest(id=1152)), "port-set")
    assert body(only(error, LAN))[40:42] == b"\1\5"


def test_shared_address_without_ports(shared: Gateway) -> None:
    """RFC 7599 section 9: plain address mapping."""
    assert only(from4(shared, to_six(dst=SHARED, proto=47) / Raw(b"gre")), LAN).ip6.dst == host(0)


@pytest.mark.parametrize("port", [1088, 1023, 80, 0, 2112])
def test_port_of_another_set(shared: Gateway, port: int) -> None:
    """RFC 7599 section 8.3: counted, and 1/5. The ports below the first set belong to no host."""
    packet = to_four(src=host(0)) / UDP(sport=port, dport=9)
    sent = dropped(shared, lambda: from6(shared, packet), "port-set")
    assert body(only(sent, LAN))[40:42] == b"\1\5" and body(sent[0])[48:] == bytes(packet)


def test_set_that_does_not_exist(shared: Gateway) -> None:
    packet = to_four(src=host(RATIO)) / UDP(sport=1024, dport=9)
    assert dropped(shared, lambda: from6(shared, packet), "no-map") is not None


def test_port_of_no_set(shared: Gateway) -> None:
    sent = dropped(shared, lambda: from4(shared, to_six(dst=SHARED) / UDP(dport=80)), "no-map")
    assert (only(sent, WAN).ip[ICMP].type, sent[0].ip[ICMP].code) == (3, 13)


def test_other_addresses_are_not_shared(shared: Gateway) -> None:
    assert only(from4(shared, to_six(dst="192.0.2.34") / UDP(dport=80)), LAN) is not None


def test_error_to_a_shared_address(shared: Gateway) -> None:
    """The error goes to the host that sent the quoted packet."""
    quote = IP(src=SHARED, dst=FOUR) / UDP(sport=1088, dport=53) / b"data"
    sent = only(from4(shared, IP(src=FOUR, dst=SHARED) / ICMP(type=3, code=3) / Raw(bytes(quote))), LAN)
    assert sent.ip6.dst == host(1)
    inner = IPv6(body(sent)[48:])
    assert (inner.src, inner.dst) == (host(1), IVI.v6(FOUR))
    echo = IP(src=SHARED, dst=FOUR) / ICMP(type=8, id=2047) / b"ping"
    assert only(from4(shared, IP(src=FOUR, dst=SHARED) / ICMP(type=11) / Raw(bytes(echo))), LAN).ip6.dst == host(15)


def error_from(src: str, quote: Packet) -> Packet:
    message = struct.pack("!BBHI", 1, 4, 0, 0) + bytes(quote)
    pseudo = pseudo6(six_of(src), six_of(IVI.v6(FOUR)), 58, len(message))
    message = message[:2] + checksum(pseudo + message).to_bytes(2, "big") + message[4:]
    return to_four(src=src, nh=58) / Raw(message)


@pytest.mark.parametrize("quoted", [UDP(sport=53, dport=1088) / b"data", ICMPv6EchoRequest(id=1089),
                                    IPv6ExtHdrFragment(offset=9, nh=17) / Raw(bytes(8))])
def test_error_from_a_shared_address(shared: Gateway, quoted: Packet) -> None:
    packet = error_from(host(1), IPv6(src=IVI.v6(FOUR), dst=host(1)) / quoted)
    sent = only(from6(shared, packet), WAN)
    assert sent.ip.src == SHARED and IP(body(sent)[28:]).dst == SHARED


def test_error_about_a_packet_to_another_host(shared: Gateway) -> None:
    """A host may send errors about packets to its own ports only; a router about all packets."""
    for data in (UDP(sport=53, dport=1152) / b"data", ICMPv6EchoRequest(id=80)):
        for target in (1, 2):
            packet = error_from(host(1), IPv6(src=IVI.v6(FOUR), dst=host(target)) / data)
            assert dropped(shared, lambda: from6(shared, packet), "port-set") == []  # noqa: B023
    packet = error_from("2001:db8::9", IPv6(src=IVI.v6(FOUR), dst=host(2)) / UDP(sport=53, dport=1152))
    assert only(from6(shared, packet), WAN).ip.src == OWN4


@pytest.mark.parametrize("payload", [
    UDP(sport=1088, dport=7) / b"data", ICMPv6EchoRequest(id=1088),
    IPv6ExtHdrFragment(m=1, id=7, nh=17) / UDP(sport=1088, dport=7, chksum=5) / filling(64, 1),
    IPv6ExtHdrFragment(offset=9, id=7, nh=17) / Raw(filling(64, 1)), Raw(b"no ports")])
def test_from_a_shared_address_to_a_mapped_host(start: Start, payload: Packet) -> None:
    """After hairpinning (RFC 7757 section 4) the packet has the source that it came with, whatever the payload."""
    world = World(maps=[("1.0.0.0/24", "2001:db8:3::/120")], routes=["2001:db8:3::/120 via 2001:db8:ffc0:2:2100::"])
    gateway = start(world.config + f"ivi.share {SHARED}/32 {RATIO} {RUN}\n", "ivi")
    gateway.wait(4)
    fields = {"nh": 47} if isinstance(payload, Raw) else {}
    packet = IPv6(src=host(1), dst=world.v6("1.0.0.8"), **fields) / payload
    sent = only(from6(gateway, packet, broken=True), LAN)
    assert (sent.ip6.src, sent.ip6.dst) == (host(1), "2001:db8:3::8")


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 0, 2]])
def test_fragments_to_a_shared_address(shared: Gateway, order: list[int]) -> None:
    """Only the first fragment has the port; the others follow it, in any order (RFC 7599 section 10.2)."""
    pieces = cut(to_six(dst=SHARED, id=77) / UDP(sport=9, dport=1088) / filling(2000, 1), 800)
    sent = [one for at in order for one in from4(shared, pieces[at])]
    assert sorted((one.raw[56:58], one.ip6.dst) for one in sent) == \
        [((at * 800 | (at < 2)).to_bytes(2, "big"), host(1)) for at in range(3)]


def test_later_fragments_from_a_shared_address(shared: Gateway) -> None:
    packet = to_four(src=host(1)) / IPv6ExtHdrFragment(offset=100, id=1, nh=17) / Raw(filling(64, 1))
    assert only(from6(shared, packet), WAN).ip.src == SHARED
    first = to_four(src=host(1)) / IPv6ExtHdrFragment(m=1, id=1, nh=17) \
        / Raw(bytes(UDP(sport=80, chksum=7)) + filling(64, 1))
    assert dropped(shared, lambda: from6(shared, first), "port-set") is not None


def test_fragments_without_a_first_one(shared: Gateway) -> None:
    """They wait for a short time, and only a few of them."""
    for ident in range(300):
        from4(shared, to_six(dst=SHARED, id=ident, frag=100, proto=17) / Raw(filling(64, 1)))
    assert shared.stats()["packets_kept"] <= 128
    shared.wait(3)
    assert shared.stats()["packets_kept"] == 0


# --- settings and listings ---------------------------------------------------------------------------


def syn(mss: int) -> Packet:
    return TCP(sport=1, dport=2, flags="S", options=[("NOP", None), ("NOP", None), ("MSS", mss)])


@pytest.mark.parametrize(("offered", "seen"), [(1460, 1220), (1221, 1220), (1220, 1220), (536, 536)])
def test_mss_clamp(start: Start, offered: int, seen: int) -> None:
    gateway = start_ivi(start, World(keys={"ivi.mss-clamp": "1220"}))
    for _ in range(2):
        assert dict(only(from4(gateway, to_six() / syn(offered)), LAN).ip6[TCP].options)["MSS"] == seen
        assert dict(only(from6(gateway, to_four() / syn(offered)), WAN).ip[TCP].options)["MSS"] == seen
        introduce(gateway)


def test_no_mss_clamp(ivi: Gateway) -> None:
    assert dict(only(from4(ivi, to_six() / syn(1460)), LAN).ip6[TCP].options)["MSS"] == 1460


def test_large_packets_of_known_hosts(start: Start) -> None:
    """Those with DF are forwarded whole on the fast path as far as the MTU allows; those without DF are fragmented."""
    gateway = start_ivi(start, World(lan_mtu=1400))
    introduce(gateway)
    for _ in range(30):
        gateway.wait(0.04)
        largest = only(from4(gateway, to_six(flags="DF") / UDP() / filling(1352, 1)), LAN)
        assert len(body(largest)) == 1400 and body(largest)[6] == 17
    assert timings(gateway)["4to6 known"] >= 8
    larger = to_six(flags="DF") / UDP() / filling(1353, 1)
    told = dropped(gateway, lambda: from4(gateway, larger), "too-big")
    assert only(told, WAN).ip[ICMP].nexthopmtu == 1380
    assert [body(one)[6] for one in from4(gateway, to_six() / UDP() / filling(1352, 1))] == [44, 44]


def test_counters(ivi: Gateway) -> None:
    before, (four, six) = ivi.stats()["forwarded_packets"], translated(ivi)
    from4(ivi, to_six() / UDP())
    from6(ivi, to_four() / UDP())
    from6(ivi, to_four() / UDP())
    assert translated(ivi) == (four + 1, six + 2) and ivi.stats()["forwarded_packets"] == before + 3
    assert SIX4 == only(from6(ivi, to_four() / UDP()), WAN).ip.src


# --- hosts that do not answer ---------------------------------------------------------------------


@pytest.mark.parametrize("payload", [UDP(sport=1, dport=2) / filling(600, 1), TCP(sport=1, dport=2), ICMP(id=7)])
def test_an_ipv6_host_that_does_not_answer(ivi: Gateway, payload: Packet) -> None:
    """The IPv4 host gets an ICMPv4 error about its own packet (RFC 1812 section 5.2.7.1)."""
    packet = to_six(dst="192.0.2.99", ttl=9) / payload
    from4(ivi, packet)
    before = ivi.drops()
    told = [one for one in ivi.wait(5) if one.port == WAN]
    assert ivi.drops()["no-neighbour"] == before.get("no-neighbour", 0) + 1
    message = only(told).ip
    assert (message.src, message.dst, message[ICMP].type, message[ICMP].code) == (OWN4, FOUR, 3, 1)
    quoted = IP(body(only(told))[28:])
    assert (quoted.src, quoted.dst, quoted.ttl) == (FOUR, "192.0.2.99", 8)
    assert body(only(told))[48:] == bytes(packet)[20:][:len(body(only(told))) - 48]
    assert ivi.stats()["packets_kept"] == 0


@pytest.mark.parametrize("payload", [UDP(sport=1, dport=2) / filling(600, 1), TCP(sport=1, dport=2),
                                     ICMPv6EchoRequest(id=7)])
def test_an_ipv4_host_that_does_not_answer(ivi: Gateway, payload: Packet) -> None:
    packet = to_four(dst=IVI.v6("198.51.100.99"), hlim=9) / payload
    from6(ivi, packet)
    told = only([one for one in ivi.wait(5) if one.port == LAN and one.raw[54] == 1])
    assert (told.ip6.src, told.ip6.dst, body(told)[40:42]) == (IVI.own6, IVI.six, b"\1\0")
    quoted = IPv6(body(told)[48:])
    assert (quoted.src, quoted.dst, quoted.hlim) == (IVI.six, IVI.v6("198.51.100.99"), 8)
    assert body(told)[88:] == bytes(packet)[40:][:len(body(told)) - 88]
    assert ivi.stats()["packets_kept"] == 0


def test_hosts_that_have_not_answered_lately(ivi: Gateway) -> None:
    """The next packets get the same errors at once."""
    four, six = to_six(dst="192.0.2.99") / UDP(), to_four(dst=IVI.v6("198.51.100.99")) / UDP()
    from4(ivi, four)
    ivi.wait(3.2)
    from6(ivi, six)
    ivi.wait(1.2)
    assert body(only(from4(ivi, four), WAN))[20:22] == b"\3\1"
    assert body(only(from6(ivi, six), LAN))[40:42] == b"\1\0"


@pytest.mark.parametrize("wrong", [0, 1, 0x8000])
def test_a_wrong_checksum_is_quoted_as_wrong_as_it_was(ivi: Gateway, wrong: int) -> None:
    """Only the two hosts may judge it: it is translated and translated back, and never corrected."""
    four = to_six(dst="192.0.2.99") / TCP(sport=1, dport=2, seq=9)
    right = IP(bytes(four))[TCP].chksum
    four[TCP].chksum = right ^ wrong
    from4(ivi, four, broken=True)
    six = to_four(dst=IVI.v6("198.51.100.99")) / TCP(sport=1, dport=2, seq=9)
    right6 = IPv6(bytes(six))[TCP].chksum
    six[TCP].chksum = right6 ^ wrong
    from6(ivi, six, broken=True)
    told = ivi.wait(5, broken=True)
    back4 = only([one for one in told if one.port == WAN and one.frame.type == 0x800])
    back6 = only([one for one in told if one.port == LAN and one.raw[54] == 1])
    assert body(back4)[48:] == bytes(four)[20:] and body(back6)[88:] == bytes(six)[40:]


@pytest.mark.parametrize(("what", "packets", "errors"), [("error", 1, 0), ("fragment", 1, 0), ("many", 12, 4),
                                                         ("split", 1, 1)])
def test_which_waiting_packets_cause_an_error(ivi: Gateway, what: str, packets: int, errors: int) -> None:
    """No error about an error or a later fragment; one about each packet that waited for the neighbour."""
    packet = {"error": to_six(dst="192.0.2.99") / ICMP(type=3, code=1) / IP(src="192.0.2.99", dst=FOUR) / UDP(),
              "fragment": to_six(dst="192.0.2.99", frag=5, proto=17) / Raw(filling(64, 1)),
              "many": to_six(dst="192.0.2.99") / UDP(),
              "split": to_six(dst="192.0.2.99") / UDP() / filling(1400, 1)}[what]
    before = ivi.drops()
    for _ in range(packets):
        from4(ivi, packet)
    told = [one for one in ivi.wait(5) if one.port == WAN]
    assert len(told) == errors
    assert set(new_drops(ivi, before)) <= {"no-neighbour", "neighbour-queue"} and new_drops(ivi, before)["no-neighbour"]


def test_a_mapped_host_that_does_not_answer(start: Start) -> None:
    """The sender of a hairpinned packet (RFC 7757 section 4) gets the error."""
    world = World("2001:db8:100::/40", "rfc6052", own4="192.0.2.1", keys={"ivi.icmp-source": "203.0.113.8"},
                  maps=[("1.0.0.0/24", "2001:db8:3::/120"), ("10.0.0.0/24", "2001:db8:1c0:2:99::/120")],
                  routes=["2001:db8:3::/120 via 2001:db8:1c0:2:21::"])
    gateway = start_ivi(start, world)
    packet = IPv6(src="2001:db8:3::8", dst=world.v6("10.0.0.9"), hlim=9) / UDP(sport=1, dport=2)
    from6(gateway, packet)
    told = only([one for one in gateway.wait(5) if one.port == LAN and one.raw[54] == 1])
    assert (told.ip6.src, told.ip6.dst, body(told)[40:42]) == (world.v6("203.0.113.8"), "2001:db8:3::8", b"\1\0")
    assert IPv6(body(told)[48:]).dst == world.v6("10.0.0.9")
