# SPDX-License-Identifier: BSD-2-Clause
"""Router advertisements: RFC 4861 section 6.2, RFC 4191 (preference), RFC 8106 (DNS), RFC 8781 (NAT64 prefix),
RFC 4862 section 5.5.3 (a prefix that is withdrawn)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from gateway import LAN, PORT_MAC, WAN, Gateway, Sent, only
from net6 import (
    A6, ADDRESSES6, ALL_NODES, ALL_ROUTERS, B6, NEIGHBOURS6, OWN, OWN_LOCAL, ROUTER6, Start, group_mac, of_kind, send,
    start6, state_of,
)
from scapy.layers.inet6 import (
    ICMPv6ND_RA, ICMPv6ND_RS, ICMPv6NDOptDNSSL, ICMPv6NDOptMTU, ICMPv6NDOptPREF64, ICMPv6NDOptPrefixInfo,
    ICMPv6NDOptRDNSS, ICMPv6NDOptSrcLLAddr, IPv6, IPv6ExtHdrDestOpt, in6_chksum,
)
from scapy.packet import Packet, Raw

pytestmark = pytest.mark.virtual

RA = 134
CONFIG = ADDRESSES6 + NEIGHBOURS6


def ras(sent: Sequence[Sent]) -> list[Sent]:
    return of_kind(list(sent), RA)


def settled(start: Start, more: str = "") -> Gateway:
    """A router that has sent its first few advertisements, and then none for some time."""
    gateway = start6(start, CONFIG + more, settle=60)
    return gateway


def option(sent: Sent, kind: Any) -> Packet:
    assert kind in sent.frame, sent.frame.summary()
    packet: Packet = sent.frame[kind]
    return packet


def solicit(source: str = A6.local, dst: str = ALL_ROUTERS, *, lladdr: bool = True, **fields: Any) -> Packet:
    packet = IPv6(**{"src": source, "dst": dst, "hlim": 255, **fields}) / ICMPv6ND_RS()
    return packet / ICMPv6NDOptSrcLLAddr(lladdr=A6.mac) if lladdr else packet


def answers(gateway: Gateway, packet: Packet) -> list[Sent]:
    """The advertisements of the next four seconds."""
    assert send(gateway, A6, packet) == []
    return ras(gateway.wait(4))


# --- contents (4.2, 6.2.3) ------------------------------------------------------------------------------


def test_s623_contents(start: Start) -> None:
    sent = ras(start(CONFIG + "lan.mtu 1400\n", "route6").wait(4))[0]
    assert (sent.port, sent.ip6.src, sent.ip6.dst, sent.ip6.hlim) == (LAN, OWN_LOCAL[LAN], ALL_NODES, 255)
    assert sent.frame.dst == group_mac(ALL_NODES)
    ra = option(sent, ICMPv6ND_RA)
    assert (ra.code, ra.chlim, ra.M, ra.O, ra.routerlifetime, ra.reachabletime, ra.retranstimer) \
        == (0, 64, 0, 0, 1800, 0, 0)
    assert option(sent, ICMPv6NDOptSrcLLAddr).lladdr == PORT_MAC[LAN]
    assert option(sent, ICMPv6NDOptMTU).mtu == 1400
    prefix = option(sent, ICMPv6NDOptPrefixInfo)
    assert (prefix.prefix, prefix.prefixlen, prefix.L, prefix.A, prefix.validlifetime, prefix.preferredlifetime) \
        == ("2001:db8:1::", 64, 1, 1, 2592000, 604800)
    for kind in (ICMPv6NDOptRDNSS, ICMPv6NDOptDNSSL, ICMPv6NDOptPREF64):
        assert kind not in sent.frame


def test_rfc4191_s22_preference(start: Start) -> None:
    """Low preference, as RFC 6343 section 4.1 wants for a 6to4 router."""
    assert option(ras(start(CONFIG, "route6").wait(4))[0], ICMPv6ND_RA).prf == 3


def test_two_prefixes(start: Start) -> None:
    sent = ras(start(CONFIG + "lan.address fd00:7::9/56\n", "route6").wait(4))[0]
    first = option(sent, ICMPv6NDOptPrefixInfo)
    assert (first.prefix, first.prefixlen) == ("2001:db8:1::", 64)
    second = first.payload
    assert (second.prefix, second.prefixlen) == ("fd00:7::", 56)


def test_rfc8106_s5_dns(start: Start) -> None:
    sent = ras(start(CONFIG + "lan.rdnss 2001:db8:1::53\nlan.rdnss 2001:db8:1::54\nlan.dnssl example.org\n"
                     "lan.dnssl a.very-long-name.example\n", "route6").wait(4))[0]
    rdnss = option(sent, ICMPv6NDOptRDNSS)
    assert rdnss.dns == ["2001:db8:1::53", "2001:db8:1::54"] and rdnss.len == 5
    dnssl = option(sent, ICMPv6NDOptDNSSL)
    assert dnssl.searchlist == ["example.org.", "a.very-long-name.example."]
    assert len(bytes(dnssl)) % 8 == 0 and dnssl.len == len(bytes(dnssl)) // 8
    assert rdnss.lifetime >= 1800 and dnssl.lifetime >= 1800  # 3 * MaxRtrAdvInterval


@pytest.mark.parametrize(("length", "code"), [(96, 0), (64, 1), (56, 2), (48, 3), (40, 4), (32, 5)])
def test_rfc8781_s4_pref64(start: Start, length: int, code: int) -> None:
    sent = ras(start(CONFIG + f"lan.pref64 2001:db8::/{length}\n", "route6").wait(4))[0]
    at = sent.raw.index(bytes([38, 2]), 54 + 16)
    word = int.from_bytes(sent.raw[at + 2:at + 4], "big")
    assert word & 7 == code and (word >> 3) * 8 == 1800
    assert sent.raw[at + 4:at + 16] == bytes.fromhex("20010db8" + 16 * "0")


def test_size_fits_every_ipv6_link(start: Start) -> None:
    """At most 1280 bytes; an option that does not fit is left out whole."""
    names = "".join("lan.dnssl " + ".".join(letter * 60 for _ in range(4)) + f".{letter}\n" for letter in "abcd")
    servers = "".join(f"lan.rdnss 2001:db8:1::{n}\n" for n in range(1, 5))
    sent = ras(start(CONFIG + names + servers, "route6").wait(4))[0]
    assert len(sent.raw) - 14 <= 1280
    assert ICMPv6NDOptRDNSS in sent.frame and ICMPv6NDOptPrefixInfo in sent.frame
    assert ICMPv6NDOptDNSSL in sent.frame


def test_off(start: Start) -> None:
    gateway = start(CONFIG + "lan.ra off\n", "route6")
    assert ras(gateway.wait(20)) == []
    assert send(gateway, A6, solicit()) == []
    assert ras(gateway.wait(10)) == [] and gateway.stop() == []
    assert gateway.drops() == {"nd-other": 1}


# --- times (6.2.4) ----------------------------------------------------------------------------------------


def test_s624_unsolicited_advertisements(start: Start) -> None:
    """The first three intervals are at most 16 s, the others 198 to 600 s, random."""
    gateway = start(CONFIG, "route6")
    at = [one.at for one in ras(gateway.wait(6 * 3600))]
    assert at[0] < 4  # as soon as the link-local address is in use
    gaps = [later - sooner for sooner, later in zip(at, at[1:], strict=False)]
    assert all(3 <= gap <= 16.2 for gap in gaps[:3])
    assert all(197.9 <= gap <= 600.2 for gap in gaps[3:]) and len(gaps) > 40
    assert max(gaps[3:]) > 500 and min(gaps[3:]) < 300
    assert len({round(gap) for gap in gaps[3:]}) > 20


def test_none_before_the_link_local_address_is_in_use(start: Start) -> None:
    gateway = start(CONFIG, "route6")
    gateway.link(LAN, False)
    assert ras(gateway.wait(100)) == []
    gateway.link(LAN, True)
    begin = gateway.wait(0.001)
    assert ras(begin) == []
    sent = ras(gateway.wait(20))
    assert len(sent) == 2  # the short intervals begin again
    assert sent[0].ip6.src == OWN_LOCAL[LAN] and sent[0].at > 100.9


def test_only_on_the_lan(start: Start) -> None:
    gateway = settled(start)
    assert send(gateway, ROUTER6, solicit(ROUTER6.local)) == []
    assert ras(gateway.wait(4)) == []
    assert gateway.drops() == {"nd-other": 1}


# --- answers (6.2.6) -----------------------------------------------------------------------------------------


def test_s626_answer_within_half_a_second(start: Start) -> None:
    gateway = settled(start)
    times = []
    for _ in range(10):
        before = gateway.wait(196)
        if ras(last := gateway.wait(4)):  # the answer right after it would go to one host
            last += gateway.wait(4)
        before += last
        asked = max([60.0] + [one.at for one in before])
        assert send(gateway, A6, solicit()) == []
        sent = only(ras(gateway.wait(0.61)), LAN)
        assert sent.ip6.dst == ALL_NODES
        times.append(round(sent.at % 200, 1))
        assert asked <= sent.at
    assert len(set(times)) > 3


def test_s626_of_a_host_without_address(start: Start) -> None:
    gateway = settled(start)
    assert len(answers(gateway, solicit("::", lladdr=False))) == 1
    assert gateway.lines("neighbours") == [line for line in gateway.lines("neighbours") if "static" in line]


def test_s626_soon_after_one_to_all_the_answer_goes_to_one_host(start: Start) -> None:
    """Advertisements to all nodes are at least three seconds apart; a host that solicits in between gets one at
    once."""
    gateway = settled(start)
    to_all = only(answers(gateway, solicit())[:1], LAN)
    gateway.wait(300)
    send(gateway, A6, solicit())
    first = only(ras(gateway.wait(0.6)), LAN)
    assert send(gateway, A6, solicit()) == [] and send(gateway, A6, solicit()) == []
    answer = only(ras(gateway.wait(0.6)), LAN)
    assert (answer.ip6.dst, answer.frame.dst) == (A6.local, A6.mac)
    assert answer.raw[62:] == first.raw[62:] == to_all.raw[62:]
    assert answer.raw[54:56] == bytes([RA, 0])


def test_s626_flood_of_solicitations(start: Start) -> None:
    """A flood causes at most one to all nodes every three seconds, and few to single hosts."""
    gateway = settled(start)
    to_all: list[float] = []
    single = 0
    for turn in range(200):
        source = f"fe80::{turn + 0x1000:x}"
        send(gateway, A6, solicit(source) if turn % 2 else solicit("::", lladdr=False))
        for one in ras(gateway.wait(0.1)):
            if one.ip6.dst == ALL_NODES:
                to_all.append(one.at)
            else:
                single += 1
    assert all(later - sooner >= 3 for sooner, later in zip(to_all, to_all[1:], strict=False))
    assert 4 <= len(to_all) <= 7 and 0 < single <= 170
    gateway.wait(15)  # the solicitations for neighbours that do not exist are over


def test_s626_sender_of_a_solicitation_is_a_neighbour(start: Start) -> None:
    gateway = settled(start)
    answers(gateway, solicit())
    assert state_of(gateway, A6.local) == "stale"


@pytest.mark.parametrize("packet", [
    solicit(hlim=254),
    solicit("::"),
    IPv6(src=A6.local, dst=ALL_ROUTERS, hlim=255) / ICMPv6ND_RS(code=1),
    IPv6(src=A6.local, dst=ALL_ROUTERS, hlim=255, nh=58) / Raw(bytes([133, 0, 0, 0])),
    IPv6(src=A6.local, dst=ALL_ROUTERS, hlim=255) / ICMPv6ND_RS() / Raw(bytes(8)),
    IPv6(src=A6.local, dst=ALL_ROUTERS, hlim=255) / ICMPv6ND_RS() / Raw(b"\1\2" + bytes(6)),
    IPv6(src=A6.local, dst=ALL_ROUTERS, hlim=255) / IPv6ExtHdrDestOpt() / ICMPv6ND_RS(),
], ids=["hops", "nameless-with-mac", "code", "short", "option-of-length-0", "option-beyond-the-end", "behind-a-header"])
def test_s611_invalid_solicitation(start: Start, packet: Packet) -> None:
    gateway = settled(start)
    assert answers(gateway, packet) == []
    assert sum(gateway.drops().get(reason, 0) for reason in ("nd-bad", "l4-header")) == 1


# --- the end, and a prefix that is withdrawn (6.2.5; RFC 4862 section 5.5.3)
# -----------------------------------------------


def test_s625_last_advertisement(start: Start) -> None:
    """Router lifetime 0, and no option that leads to this router; no advertisement after that."""
    gateway = settled(start, "lan.rdnss 2001:db8:1::53\n")
    last = only(gateway.stop(), LAN)
    ra = option(last, ICMPv6ND_RA)
    assert (ra.routerlifetime, ra.prf, last.ip6.dst) == (0, 0, ALL_NODES)
    assert option(last, ICMPv6NDOptRDNSS).lifetime == 0
    assert prefixes(last) == {"2001:db8:1::": (7200, 0)}  # another start may have another
    assert ras(gateway.wait(700)) == []


def prefixes(sent: Sent) -> dict[str, tuple[int, int]]:
    """Valid and preferred lifetime of each prefix."""
    found = {}
    layer = sent.frame[ICMPv6ND_RA]
    while layer := layer.getlayer(ICMPv6NDOptPrefixInfo):
        found[layer.prefix] = (layer.validlifetime, layer.preferredlifetime)
        layer = layer.payload
    return found


def test_deprecated_prefix(start: Start) -> None:
    """Advertised at once as deprecated; it stays valid for the rest of two hours, then it is left out."""
    gateway = settled(start)
    gateway.sim.command("prefix lan set 2002:c000:204:1::1/64")
    gateway.sim.command("prefix lan deprecate 2001:db8:1::/64")
    sent = only(ras(gateway.wait(4)), LAN)
    found = prefixes(sent)
    assert found["2002:c000:204:1::"] == (2592000, 604800)
    assert 7195 <= found["2001:db8:1::"][0] <= 7200 and found["2001:db8:1::"][1] == 0
    later = prefixes(ras(gateway.wait(3600))[-1])
    assert 3000 <= later["2001:db8:1::"][0] <= 4500 and later["2001:db8:1::"][1] == 0
    assert "2001:db8:1::" not in prefixes(ras(gateway.wait(4800))[-1])
    gateway.sim.command("prefix lan set 2001:db8:1::/64")
    assert prefixes(ras(gateway.wait(4))[-1])["2001:db8:1::"] == (2592000, 604800)


# --- other routers (6.2.7) ---------------------------------------------------------------------------------------


def other_router(**fields: Any) -> Packet:
    return IPv6(**{"src": B6.local, "dst": ALL_NODES, "hlim": 255, **fields}) / ICMPv6ND_RA() \
        / ICMPv6NDOptPrefixInfo(prefix="2001:db8:66::", prefixlen=64) / ICMPv6NDOptSrcLLAddr(lladdr=B6.mac)


def test_s627_other_routers_are_logged_and_ignored(start: Start) -> None:
    gateway = settled(start)
    routes = gateway.lines("routes")
    for _ in range(20):
        assert send(gateway, B6, other_router()) == []
    assert gateway.lines("routes") == routes and state_of(gateway, B6.local) is None
    assert sum(f"{B6.local} is a router here too" in line for line in gateway.lines("log")) == 1
    assert gateway.drops() == {"nd-other": 20}


@pytest.mark.parametrize("packet", [
    other_router(hlim=64), other_router(src=B6.ip), other_router() / Raw(bytes(8)),
    IPv6(src=B6.local, dst=ALL_NODES, hlim=255, nh=58) / Raw(bytes([RA, 0]) + bytes(13)),
], ids=["hops", "global-source", "option-of-length-0", "short"])
def test_s612_invalid_advertisement(start: Start, packet: Packet) -> None:
    gateway = settled(start)
    if packet.haslayer(Raw) and not packet.haslayer(ICMPv6ND_RA):
        packet = packet.copy()
        body = bytearray(bytes(packet[Raw]))
        body[2:4] = in6_chksum(58, packet, bytes(body)).to_bytes(2, "big")
        packet[Raw].load = bytes(body)
    assert send(gateway, B6, packet) == []
    assert gateway.drops() == {"nd-bad": 1}


def test_router_on_the_wan_does_not_matter(start: Start) -> None:
    gateway = settled(start)
    assert OWN[WAN] and send(gateway, ROUTER6, other_router(src=ROUTER6.local)) == []
    assert gateway.drops() == {"nd-other": 1}
