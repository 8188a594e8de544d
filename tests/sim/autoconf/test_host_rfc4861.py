# SPDX-License-Identifier: BSD-2-Clause
"""The WAN as a host of its link: RFC 4861 sections 6.1.2, 6.3.4 to 6.3.7, 7.2.5; solicitations by RFC 7559; preferences
and routes of RFC 4191."""

from __future__ import annotations

import struct
from ipaddress import IPv6Address
from itertools import pairwise

import pytest
from gateway import LAN, PORT_MAC, WAN, only
from net6 import A6, ALL_ROUTERS, FAR6, group_mac, of_kind, send, state_of
from scapy.layers.inet6 import (
    UDP,
    ICMPv6EchoRequest,
    ICMPv6ND_NS,
    ICMPv6NDOptMTU,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
    IPv6ExtHdrDestOpt,
    in6_chksum,
)
from scapy.packet import Raw
from uplink import (
    AUTO,
    AUTO2,
    CONFIG,
    FOREVER,
    LOCAL,
    NA,
    NET,
    NET2,
    NS,
    R1,
    R2,
    RS,
    Host6,
    Start,
    addresses,
    advertise,
    answering,
    begin,
    default_router,
    hear,
    learned,
    prefix,
    ra,
    route,
)

pytestmark = pytest.mark.virtual

# --- solicitations (6.3.7, RFC 7559) -----------------------------------------------------------------------------


def test_s637_the_first_solicitation(start: Start) -> None:
    """From the link-local address once it is ours, to all routers, with our MAC address; within a second."""
    gateway = start(CONFIG, "route6")
    sent = gateway.wait(4)
    valid = next(one for one in of_kind(sent, NA, WAN))
    asked = of_kind(sent, RS, WAN)[0]
    assert valid.at <= asked.at <= valid.at + 1.2
    assert (asked.ip6.src, asked.ip6.dst, asked.ip6.hlim) == (LOCAL, ALL_ROUTERS, 255)
    assert asked.frame.dst == group_mac(ALL_ROUTERS) and len(asked.raw) == 14 + 40 + 16
    assert asked.frame[ICMPv6NDOptSrcLLAddr].lladdr == PORT_MAC[WAN]
    assert of_kind(sent, RS, LAN) == []
    assert gateway.stats()["autoconf_solicitations"] == len(of_kind(sent, RS, WAN))


def test_rfc7559_s2_solicitations_go_on_at_longer_and_longer_intervals(start: Start) -> None:
    """4 s, twice as long each time, an hour at most, each a tenth more or less; for ever."""
    gateway = start(CONFIG, "route6")
    at = [one.at for one in of_kind(gateway.wait(40000), RS, WAN)]
    gaps = [b - a for a, b in pairwise(at)]
    assert 3.5 <= gaps[0] <= 4.5
    for last, gap in pairwise(gaps[:10]):
        assert 1.9 * last - 0.2 <= gap <= 2.1 * last + 0.2
    assert len(gaps) > 15 and all(3240 - 0.2 <= gap <= 3960 + 0.2 for gap in gaps[11:])


def test_rfc7559_s2_only_a_router_with_a_lifetime_ends_them(start: Start) -> None:
    gateway = begin(start)
    hear(gateway, prefix(), lifetime=0)
    assert len(of_kind(gateway.wait(60), RS)) >= 3
    hear(gateway, prefix(), lifetime=9000)
    assert of_kind(gateway.wait(7000), RS) == []


def test_s637_the_carrier_came_up_again(start: Start) -> None:
    gateway = begin(start)
    hear(gateway, prefix())
    gateway.link(WAN, False)
    gateway.wait(5)
    assert of_kind(gateway.link(WAN, True) + gateway.wait(4), RS, WAN)


def test_the_last_router_is_gone_and_another_is_asked_for(start: Start) -> None:
    gateway = begin(start)
    hear(gateway, lifetime=60)
    assert of_kind(gateway.wait(58), RS) == []
    assert of_kind(gateway.wait(5), RS)


def test_without_auto_nothing_is_asked_or_believed(start: Start) -> None:
    gateway = start("lan.address 2001:db8:1::1/64\nlan.ra off\nwan.address 2001:db8:2::2/64\n", "route6")
    assert of_kind(gateway.wait(30), RS) == []
    hear(gateway, prefix())
    assert addresses(gateway) == {"2001:db8:2::2": "valid"} and default_router(gateway) is None
    assert gateway.drops()["nd-other"] == 1


# --- validation (6.1.2) ------------------------------------------------------------------------------------------

BAD = {
    "hop limit": ra(prefix(), ip={"hlim": 254}),
    "global source": ra(prefix(), ip={"src": "2001:db8::1"}),
    "code": ra(prefix(), code=1),
    "option of length 0": ra() / Raw(bytes(8)),
    "option cut off": ra() / Raw(bytes([3, 4]) + bytes(22)),
    "our own address": ra(prefix(), ip={"src": LOCAL}),
    "extension header": IPv6(src=R1.local, dst="ff02::1", hlim=255) / IPv6ExtHdrDestOpt()
    / ra(prefix())[IPv6].payload,
    "multicast MAC address": ra(ICMPv6NDOptSrcLLAddr(lladdr="33:33:00:00:00:01"), prefix(), source=False),
}


@pytest.mark.parametrize("name", BAD)
def test_s612_invalid(start: Start, name: str) -> None:
    gateway = begin(start)
    send(gateway, R1, BAD[name])
    gateway.wait(1)
    assert addresses(gateway) == {} and default_router(gateway) is None and learned(gateway, "router") == []
    assert sum(gateway.drops().values()) == 1


def test_s612_too_short(start: Start) -> None:
    gateway = begin(start)
    whole = bytes(ra(source=False))
    short = IPv6(src=R1.local, dst="ff02::1", hlim=255, nh=58) / Raw(whole[40:52])
    raw = bytearray(bytes(short))
    raw[42:44] = bytes(2)
    raw[42:44] = struct.pack("!H", in6_chksum(58, IPv6(bytes(raw[:40])), bytes(raw[40:])))
    send(gateway, R1, bytes(raw))
    assert gateway.drops() == {"nd-bad": 1}


@pytest.mark.parametrize("kind", [1, 3, 5, 24, 25, 31, 38, 99])
@pytest.mark.parametrize("words", [1, 2, 3, 4, 5])
def test_s46_options_of_any_length(start: Start, kind: int, words: int) -> None:
    """One that is too short or too long for its kind is ignored by itself; nothing behind it is read."""
    gateway = begin(start)
    body = b"\x40\xc0" + bytes(4) + IPv6Address(NET).packed * 2 + bytes(4)
    hear(gateway, Raw((bytes([kind, words]) + body)[:8 * words]))
    assert default_router(gateway) == R1.local and addresses(gateway) == {}
    hear(gateway, Raw((bytes([kind, words]) + body)[:8 * words]), prefix(NET2))
    assert AUTO2 in addresses(gateway)


# --- default routers (6.3.4, 6.3.5, 6.3.6) -----------------------------------------------------------------------


def test_s634_a_default_router_comes_stays_and_goes(start: Start) -> None:
    gateway = begin(start)
    assert default_router(gateway) is None
    hear(gateway, lifetime=100)
    assert default_router(gateway) == R1.local and state_of(gateway, R1.local) == "stale"
    gateway.wait(60)
    hear(gateway, lifetime=100)
    gateway.wait(95)
    assert default_router(gateway) == R1.local
    gateway.wait(10)
    assert default_router(gateway) is None and learned(gateway, "router") == []
    log = "\n".join(gateway.lines("log"))
    assert log.count(f"wan: router {R1.local} appeared") == 1
    assert f"wan: the default router is now {R1.local}" in log
    assert f"wan: router {R1.local} is gone: its lifetime is over" in log


def test_s634_lifetime_0_ends_it_at_once(start: Start) -> None:
    gateway = begin(start)
    hear(gateway)
    hear(gateway, lifetime=0)
    assert default_router(gateway) is None
    assert any("is gone: it says so" in line for line in gateway.lines("log"))


def test_a_packet_of_the_lan_goes_to_the_router(start: Start) -> None:
    gateway = begin(start)
    hear(gateway)
    packet = IPv6(src=A6.ip, dst=FAR6) / UDP(sport=1, dport=2) / b"x"
    out = only(send(gateway, A6, packet), WAN)
    assert out.frame.dst == R1.mac and out.ip6.hlim == 63


def test_s724_an_advertisement_without_address_option(start: Start) -> None:
    """The router is then asked for its MAC address."""
    gateway = begin(start)
    hear(gateway, source=False)
    asked = only(of_kind(send(gateway, A6, IPv6(src=A6.ip, dst=FAR6) / UDP(sport=1, dport=2)), NS), WAN)
    assert asked.frame[ICMPv6ND_NS].tgt == R1.local
    sent = send(gateway, R1, advertise(R1, asked.ip6.src, r=1))
    assert only(sent, WAN).ip6.dst == FAR6


def test_packets_that_wait_for_a_router_that_is_gone(start: Start) -> None:
    """They are dropped at once."""
    gateway = begin(start)
    hear(gateway, source=False)
    only(of_kind(send(gateway, A6, IPv6(src=A6.ip, dst=FAR6) / UDP(sport=1, dport=2)), NS), WAN)
    hear(gateway, source=False, lifetime=0)
    assert gateway.drops() == {"no-route": 1}


def test_s725_a_router_that_is_none_any_more(start: Start) -> None:
    """A neighbour advertisement without the router flag."""
    gateway = begin(start)
    hear(gateway)
    send(gateway, R1, advertise(R1, LOCAL, r=1))
    gateway.wait(1)
    assert default_router(gateway) == R1.local
    send(gateway, R1, advertise(R1, LOCAL, r=0))
    gateway.wait(1)
    assert default_router(gateway) is None
    assert any("is gone: it is no router any more" in line for line in gateway.lines("log"))


def test_s636_another_router_takes_over(start: Start) -> None:
    """Neighbour unreachability detection: the first router stops answering, and answers again."""
    gateway = begin(start)
    hear(gateway)
    hear(gateway, router=R2)
    answering(gateway, 12, R1, R2)
    assert default_router(gateway) == R1.local
    answering(gateway, 20, R2)
    assert default_router(gateway) == R2.local
    out = [one for one in send(gateway, A6, IPv6(src=A6.ip, dst=FAR6) / UDP(sport=1, dport=2) / b"x")]
    assert only(out, WAN).frame.dst == R2.mac
    assert "wan router fe80::1 default" in "\n".join(gateway.lines("addresses"))
    assert any("does not answer" in line for line in learned(gateway, "router"))
    answering(gateway, 12, R1, R2)
    assert default_router(gateway) == R1.local


def test_s636_no_router_answers(start: Start) -> None:
    """One of them is used all the same."""
    gateway = begin(start)
    hear(gateway)
    hear(gateway, router=R2)
    answering(gateway, 30)
    assert default_router(gateway) == R1.local


def test_rfc4191_s32_the_preferred_router(start: Start) -> None:
    """The preference counts, but not against a router that answers (section 3.2)."""
    gateway = begin(start)
    hear(gateway, prf=3)  # low
    hear(gateway, router=R2, prf=0)
    answering(gateway, 2, R1, R2)
    assert default_router(gateway) == R2.local
    hear(gateway, prf=1)
    assert default_router(gateway) == R1.local
    hear(gateway, prf=2)  # reserved: medium (section 2.2)
    hear(gateway, router=R2, prf=1)
    assert default_router(gateway) == R2.local
    answering(gateway, 20, R1)
    assert default_router(gateway) == R1.local


def test_rfc4191_s23_routes(start: Start) -> None:
    gateway = begin(start)
    hear(gateway, route("2001:db8:77::", 48), router=R2, lifetime=0)
    hear(gateway)
    assert "2001:db8:77::/48 via fe80::9 wan" in gateway.lines("routes")
    assert default_router(gateway) == R1.local
    out = of_kind(send(gateway, A6, IPv6(src=A6.ip, dst="2001:db8:77::1") / ICMPv6EchoRequest()), 128)
    assert only(out, WAN).frame.dst == R2.mac
    hear(gateway, route("2001:db8:77::", 48, lifetime=0), router=R2, lifetime=0)
    assert not any("2001:db8:77" in line for line in gateway.lines("routes"))
    assert len(learned(gateway, "router")) == 1


def test_rfc4191_s23_a_route_ends_by_itself(start: Start) -> None:
    gateway = begin(start)
    hear(gateway, route("2001:db8:77::", 48, lifetime=30), route("2001:db8:78::1", 128, lifetime=FOREVER))
    gateway.wait(32)
    assert [line.split(" via")[0] for line in learned(gateway, "route")] == ["2001:db8:78::1/128"]
    gateway.leap(90 * 86400)
    assert learned(gateway, "route") == ["2001:db8:78::1/128 via fe80::1 for ever"]


def test_rfc4191_s31_the_route_of_no_bits_overrides_the_header(start: Start) -> None:
    gateway = begin(start)
    hear(gateway, route("::", 0, preference=3, lifetime=50), lifetime=1800, prf=1)
    assert learned(gateway, "router") == ["fe80::1 default 49 s, preference low"]
    hear(gateway, route("::", 0, lifetime=0), lifetime=1800)
    assert default_router(gateway) is None


@pytest.mark.parametrize("option", [
    route("2001:db8:77::", 48, words=1), route("2001:db8:77::", 65, words=2), route("2001:db8:77::", 129, words=3),
    route("2001:db8:77::", 48, preference=2), route("fe80::", 10), route("ff00::", 8),
    route("2001:db8:1::", 64), route("2001:db8:1::80", 121),
], ids=["no prefix", "short prefix", "129 bits", "reserved preference", "link-local", "multicast", "the LAN",
        "in the LAN"])
def test_rfc4191_s23_routes_that_are_ignored(start: Start, option: Raw) -> None:
    gateway = begin(start)
    before = gateway.lines("routes")
    hear(gateway, option, lifetime=0)
    assert gateway.lines("routes") == before


# --- prefixes of the link (6.3.4) ----------------------------------------------------------------------------------


def test_s634_hosts_of_a_prefix_are_on_the_link(start: Start) -> None:
    gateway = begin(start)
    hear(gateway, prefix(auto=0, valid=100))
    assert addresses(gateway) == {} and f"{NET}/64 wan" in gateway.lines("routes")
    near = NET + "77"
    asked = only(of_kind(send(gateway, A6, IPv6(src=A6.ip, dst=near) / ICMPv6EchoRequest()), NS), WAN)
    assert asked.frame[ICMPv6ND_NS].tgt == near
    host = Host6(WAN, near, "fe80::77", "52:54:00:00:02:77")
    assert only(send(gateway, host, advertise(host, asked.ip6.src)), WAN).frame.dst == host.mac
    gateway.wait(101)
    assert f"{NET}/64 wan" not in gateway.lines("routes")


def test_s634_prefix_without_the_on_link_flag(start: Start) -> None:
    """It says nothing about the link: packets go to the router."""
    gateway = begin(start)
    hear(gateway, prefix(on_link=0))
    assert f"{NET}/64 wan" not in gateway.lines("routes")
    out = of_kind(send(gateway, A6, IPv6(src=A6.ip, dst=NET + "77") / ICMPv6EchoRequest()), 128)
    assert only(out, WAN).frame.dst == R1.mac


def test_s634_valid_lifetime_0_takes_a_prefix_off_the_link_at_once(start: Start) -> None:
    gateway = begin(start)
    hear(gateway, prefix(auto=0))
    hear(gateway, prefix(auto=0, valid=0, preferred=0))
    assert f"{NET}/64 wan" not in gateway.lines("routes")


@pytest.mark.parametrize("net", ["fe80::", "ff02::", "2001:db8:1::"])
def test_s634_prefixes_that_are_ignored(start: Start, net: str) -> None:
    """Link-local, multicast, and our own inside network, with a line in the log."""
    gateway = begin(start)
    hear(gateway, prefix(net))
    assert addresses(gateway) == {} and not any(line == f"{net}/64 wan" for line in gateway.lines("routes"))
    assert ("it is inside" in "\n".join(gateway.lines("log"))) == (net == "2001:db8:1::")


# --- values of the link (6.3.4) ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mtu", "then"), [(1400, 1400), (1280, 1280), (1279, 1500), (1501, 1500), (9000, 1500)])
def test_s634_mtu(start: Start, mtu: int, then: int) -> None:
    """An MTU between 1280 and that of the interface; IPv6 packets that are larger are refused."""
    gateway = begin(start)
    hear(gateway, ICMPv6NDOptMTU(mtu=mtu))
    fits = IPv6(src=A6.ip, dst=FAR6) / UDP(sport=1, dport=2) / bytes(then - 48)
    assert only(send(gateway, A6, fits), WAN).ip6.dst == FAR6
    if then < 1500:
        error = only(send(gateway, A6, IPv6(src=A6.ip, dst=FAR6) / UDP(sport=1, dport=2) / bytes(then - 47)))
        if error.raw[12:14] == b"\x86\xdd" and error.raw[54] == 135:  # the host must be asked for first
            error = only(of_kind(send(gateway, A6, advertise(A6, error.ip6.src)), 2))
        assert error.raw[54] == 2 and struct.unpack("!I", error.raw[58:62])[0] == then


def test_s634_no_mtu_above_that_of_the_configuration(start: Start) -> None:
    gateway = begin(start, "wan.mtu 1400\n")
    hear(gateway, ICMPv6NDOptMTU(mtu=1401))
    packet = IPv6(src=A6.ip, dst=FAR6) / UDP(sport=1, dport=2) / bytes(1401 - 48)
    assert of_kind(send(gateway, A6, packet) + gateway.wait(1), NS, WAN) == [] and gateway.drops() == {"too-big": 1}


@pytest.mark.parametrize(("hops", "then"), [(0, 64), (128, 128), (255, 255), (32, 32), (31, 64), (1, 64)])
def test_s634_hop_limit(start: Start, hops: int, then: int) -> None:
    """Zero says nothing. A value below 32 is not taken."""
    gateway = begin(start)
    hear(gateway, prefix(), chlim=hops)
    gateway.wait(3)
    answer = only(send(gateway, R1, IPv6(src=FAR6, dst=AUTO) / ICMPv6EchoRequest()), WAN)
    assert answer.ip6.hlim == then


def test_s634_retransmission_timer(start: Start) -> None:
    gateway = begin(start)
    hear(gateway, source=False, retranstimer=3000)
    sent = send(gateway, A6, IPv6(src=A6.ip, dst=FAR6) / UDP(sport=1, dport=2)) + gateway.wait(11)
    at = [one.at for one in of_kind(sent, NS, WAN)]
    assert len(at) == 3 and all(2.9 <= b - a <= 3.2 for a, b in pairwise(at))


def test_s634_reachable_time(start: Start) -> None:
    """Between half and one and a half times as long."""
    gateway = begin(start)
    hear(gateway, reachabletime=200000)
    send(gateway, R1, advertise(R1, LOCAL, r=1))
    gateway.wait(95)
    assert state_of(gateway, R1.local) == "reachable"
    gateway.wait(210)
    assert state_of(gateway, R1.local) == "stale"


@pytest.mark.parametrize("field", ["retranstimer", "reachabletime"])
@pytest.mark.parametrize("value", [1, FOREVER])
def test_s634_times_that_no_link_needs(start: Start, field: str, value: int) -> None:
    """They are bounded: no flood, and no router that is believed for ever."""
    gateway = begin(start)
    hear(gateway, **{field: value})
    send(gateway, R1, advertise(R1, LOCAL, r=1))
    sent = 0
    for _ in range(20):
        sent += len(of_kind(send(gateway, A6, IPv6(src=A6.ip, dst=FAR6) / UDP(sport=1, dport=2)) + gateway.wait(1), NS))
    assert sent <= 30
    gateway.wait(700)
    assert state_of(gateway, R1.local) != "reachable"


@pytest.mark.parametrize("value", [1, 50000, FOREVER])
def test_s634_packets_do_not_wait_for_long(start: Start, value: int) -> None:
    """Whatever the retransmission timer is said to be: three solicitations in nine seconds at most."""
    gateway = begin(start)
    hear(gateway, source=False, retranstimer=value)
    send(gateway, A6, IPv6(src=A6.ip, dst=FAR6) / UDP(sport=1, dport=2))
    gateway.wait(9.5)
    assert gateway.drops()["no-neighbour"] >= 1


# --- too much of it --------------------------------------------------------------------------------------------------


def rogue(i: int) -> Host6:
    local = f"fe80::bad:{i:x}"
    return Host6(WAN, local, local, f"52:54:00:bd:{i >> 8:02x}:{i & 255:02x}")


def test_a_flood_of_routers_and_prefixes(start: Start) -> None:
    """What was there stays; tables do not grow; the log is not flooded."""
    gateway = begin(start)
    hear(gateway, prefix())
    answering(gateway, 3, R1)
    for i in range(2000):
        send(gateway, rogue(i), ra(prefix(f"2001:db8:{i + 0x1000:x}::"), route(f"2001:db8:{i + 0x2000:x}::", 48),
                                   router=rogue(i), prf=1))
    answering(gateway, 40, R1)
    assert default_router(gateway) == R1.local and AUTO in addresses(gateway)
    assert len(learned(gateway, "router")) <= 8 and len(addresses(gateway)) <= 8
    assert len(learned(gateway, "route")) <= 16
    assert gateway.stats()["autoconf_refused"] > 1900
    assert len([line for line in gateway.lines("log") if " wan: " in line]) < 120
    hear(gateway, prefix(NET2), router=R2)  # one that answers takes the place of one that does not
    answering(gateway, 20, R1, R2)
    assert any(line.startswith(R2.local) for line in learned(gateway, "router"))
    gateway.link(WAN, False)  # or the silent ones are asked for ever


def test_routers_by_turns(start: Start) -> None:
    """When preferences change for ever, the routes follow once a second."""
    gateway = begin(start)
    seen = []
    for turn in range(200):
        hear(gateway, prefix(preferred=7200 if turn % 2 else 0), prf=1 if turn % 2 else 3, settle=0.05)
        hear(gateway, router=R2, prf=3 if turn % 2 else 1, settle=0.15)
        seen.append(default_router(gateway))
    assert 20 < sum(one != other for one, other in pairwise(seen)) < 100
    assert len([line for line in gateway.lines("log") if "default router is now" in line]) < 10
    hear(gateway, prf=1)
    hear(gateway, router=R2, prf=3)
    gateway.wait(3)
    assert default_router(gateway) == R1.local


def test_an_advertisement_that_comes_and_goes(start: Start) -> None:
    gateway = begin(start)
    for _ in range(200):
        hear(gateway, prefix(valid=8000), route("2001:db8:77::", 48), settle=0.1)
        hear(gateway, prefix(valid=0, preferred=0), route("2001:db8:77::", 48, lifetime=0), lifetime=0, settle=0.1)
    assert len([line for line in gateway.lines("log") if " wan: " in line]) < 250
    hear(gateway)
    gateway.wait(120)
    hear(gateway)
    assert default_router(gateway) == R1.local
