# SPDX-License-Identifier: BSD-2-Clause
"""Every timer and every table with times, where 32-bit times wrap: at 2^31 and 2^32 microseconds (36 and 72 minutes),
milliseconds (25 and 50 days) and seconds (68 and 136 years) of uptime, and after a quiet time as long as these.

A `Case` puts something into a table and says when it ends. It ends in time when a boundary lies in the middle of its
life, when nobody used the table for long, and when a single tick comes after a long time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dns.message
import dns.rcode
import pytest
from dnsstream import opened, put, say
from gateway import INSIDE, LAN, NAT, NEAR, OUTSIDE, SERVER, WAN, A
from net6 import A6, NEIGHBOURS6, OWN, PLAIN6, ROUTER6, Start, of_kind, state_of
from net6 import advertise as advertise6
from net6 import send as send6
from net6 import solicit as solicit6
from resolver import DNS64, FOUR, Answer, Message, Resolver, Zone, silent
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw
from stream import Stream
from tcp import Connection
from test_6to4_icmp import about, sent_packet
from test_arp import PLAIN, ask, ping
from test_dns64_upstream import lower
from test_mld import REPORT1, groups, message, reported
from test_mld import query as mld_query
from test_ra import CONFIG, ras
from test_ra import solicit as solicit_ra
from test_rfc4861 import deliver
from test_rfc4862 import addresses
from test_rfc5382 import syn
from tunnel import COLOCATED, IP6, Tunnel

pytestmark = pytest.mark.virtual

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
BOUNDARIES = {f"{bits}bit-{unit}": 2**bits * size for unit, size in UNITS.items() for bits in (31, 32)}
# Times that look like the future as signed 32-bit values, and a whole period of the clock.
GAPS = {name: gap for unit, size in UNITS.items()
        for name, gap in ((f"gap-{unit}", 3 * 2**30 * size), (f"turn-{unit}", 2**32 * size))}
DAY = 86400.0
SETTLE = 12.0  # until our addresses are valid and all announcements were sent


# --- cases ------------------------------------------------------------------------------------------------


class Plain:
    """A gateway with one of the configurations, idle."""

    def __init__(self, start: Start, config: str, app: str, now: float) -> None:
        self.gateway = start(config, app, now=now)
        self.gateway.wait(SETTLE)


@dataclass(frozen=True)
class Case:
    """`fill` makes an entry; `there` says whether it still exists: it does `least` seconds later, and does not after
    `most`. `exact`: its time does not wrap, so that a whole period of the clock is not taken for zero."""

    begin: Callable[[Start, float], Any]
    fill: Callable[[Any], Any]
    there: Callable[[Any], bool]
    least: float
    most: float
    exact: bool


CASES: dict[str, Case] = {}


def case(begin: Callable[[Start, float], Any], fill: Callable[[Any], Any], least: float, most: float, *,
         exact: bool = False) -> Callable[[Callable[[Any], bool]], None]:
    """The decorated function is `there`; its name is the name of the case."""
    def add(there: Callable[[Any], bool]) -> None:
        CASES[there.__name__] = Case(begin, fill, there, least, most, exact)
    return add


def plain(config: str, app: str = "nat") -> Callable[[Start, float], Plain]:
    return lambda start, now: Plain(start, config, app, now)


def resolver(config: str = DNS64, more: str = "", zone: Callable[[], Zone] = lambda: Zone(FOUR)) \
        -> Callable[[Start, float], Resolver]:
    return lambda start, now: Resolver(start, zone(), config, more, now=now)


def leap(it: Any, seconds: float, turns: int = 1) -> None:
    """Time passes with few ticks."""
    sent = it.gateway.leap(seconds, turns)
    if isinstance(it, Resolver):
        it.net.deliver(sent)


def rest(it: Any, seconds: float) -> None:
    """Time passes: step by step, or, where it is long, with two ticks a second until shortly before its end."""
    if seconds > 20:
        leap(it, seconds - 3, int(2 * seconds))
        seconds = 3
    sent = it.gateway.wait(seconds)
    if isinstance(it, Resolver):
        it.net.deliver(sent)


def kept(it: Any) -> bool:
    """A packet waits."""
    return it.gateway.stats()["packets_kept"] > 0


def stat(name: str, it: Any) -> int:
    value: int = it.gateway.stats()[name]
    return value


# ARP (net/neigh/neigh4.c)

@case(plain(PLAIN), lambda it: it.gateway.send(LAN, ask(A, INSIDE)), 59.8, 60.3)
def arp_entry(it: Plain) -> bool:
    return it.gateway.lines("neighbours") != []


@case(plain(PLAIN), lambda it: it.gateway.send(LAN, ping(A)), 0.8, 1.3)
def arp_unanswered(it: Plain) -> bool:
    return kept(it)


@case(plain(PLAIN), lambda it: (it.gateway.send(LAN, ping(A)), it.gateway.wait(1.3)), 2.5, 3.2)
def arp_failed(it: Plain) -> bool:
    return state_of(it.gateway, A.ip) == "failed"


# IPv6 neighbours (net/neigh/neigh6.c)

@case(plain(PLAIN6, "route6"), lambda it: send6(it.gateway, A6, solicit6(A6, OWN[LAN])), 599.5, 600.5)
def neighbour6_stale(it: Plain) -> bool:
    return state_of(it.gateway, A6.ip) == "stale"


def learn6(it: Plain) -> None:
    deliver(it.gateway)
    send6(it.gateway, A6, advertise6(A6, OWN[LAN]))


@case(plain(PLAIN6 + NEIGHBOURS6.split("\n")[2] + "\n", "route6"), learn6, 14.8, 45.3)
def neighbour6_reachable(it: Plain) -> bool:
    return state_of(it.gateway, A6.ip) == "reachable"


@case(plain(PLAIN6 + NEIGHBOURS6.split("\n")[2] + "\n", "route6"), lambda it: deliver(it.gateway), 2.8, 3.4)
def neighbour6_unanswered(it: Plain) -> bool:
    return kept(it)


# Duplicate address detection, MLD, router advertisements (net/ip6/nd.c, mld.c, ra.c)

def replug(it: Plain) -> None:
    it.gateway.link(LAN, False)
    it.gateway.link(LAN, True)


@case(plain(PLAIN6, "route6"), replug, 0.9, 2.3)
def tentative_address(it: Plain) -> bool:
    return "(tentative)" in addresses(it.gateway, LAN).values()


def reports1(it: Plain) -> bool:
    """An MLDv2 query is answered with MLDv1 reports."""
    send6(it.gateway, ROUTER6, message(mld_query(100)))
    return of_kind(it.gateway.wait(0.3), REPORT1, WAN) != []


@case(plain(PLAIN6, "route6"), lambda it: send6(it.gateway, ROUTER6, message(mld_query(1, version=1))), 259.3, 260.3)
def mld_v1_router(it: Plain) -> bool:
    return reports1(it)


# Fragments that pass, and those put together (net/ip4/frag.c, reasm.c)

def piece(at: int, data: int = 64) -> IP:
    return IP(src=A.ip, dst=SERVER, id=7, proto=17, flags="MF", frag=at // 8) / Raw(bytes(data))


@case(plain(NAT), lambda it: it.gateway.lan(piece(1480)), 0.7, 1.1)
def fragment_before_the_first(it: Plain) -> bool:
    return kept(it)


def first_piece(it: Plain) -> None:
    it.gateway.lan(IP(src=A.ip, dst=SERVER, id=7, flags="MF") / UDP(sport=5000, dport=53, len=4000, chksum=0) /
                   Raw(bytes(56)))


@case(plain(NAT), first_piece, 14.8, 15.3)
def fragment_behind_the_first(it: Plain) -> bool:
    return len(it.gateway.lan(piece(1480))) == 1


@case(plain(COLOCATED, "6to4"),
      lambda it: it.gateway.wan(IP(src=SERVER, dst=OUTSIDE, id=7, proto=IP6, flags="MF") / Raw(bytes(64))), 0.7, 1.1)
def reassembly(it: Plain) -> bool:
    return kept(it) and stat("tunnel_reassembling", it) == 1


# What the tunnel remembers (apps/tunnel/tun_icmp.c), SYNs that are held (apps/nat/nat_syn.c)

def tunnel(start: Start, now: float) -> Tunnel:
    return Tunnel(start(COLOCATED, "6to4", now=now))


@case(tunnel, lambda it: about(it, sent_packet(it)[:28]), 29.8, 31.2)
def tunnel_error(it: Tunnel) -> bool:
    return stat("tunnel_errors_remembered", it) == 1


@case(plain(NAT), lambda it: syn(it.gateway, 7000), 6.0, 6.3)
def held_syn(it: Plain) -> bool:
    return stat("nat_syns_held", it) == 1


# Sessions of the NAT (apps/nat/nat_session.c)

def sessions(it: Plain) -> bool:
    return stat("nat_sessions", it) == 1


@case(plain(NAT), lambda it: it.gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=53)), 299.9, 301.2)
def nat_udp(it: Plain) -> bool:
    return sessions(it)


@case(plain(NAT), lambda it: it.gateway.lan(IP(src=A.ip, dst=SERVER) / ICMP(id=5000)), 59.9, 61.2)
def nat_icmp(it: Plain) -> bool:
    return sessions(it)


@case(plain(NAT), lambda it: Connection(it.gateway).out("S"), 239.9, 241.2)
def nat_tcp_opening(it: Plain) -> bool:
    return sessions(it)


@case(plain(NAT + "nat.tcp-timeout 9000\nnat.tcp-transitory-timeout 20\n"),
      lambda it: Connection(it.gateway).establish(), 9019.9, 9022)
def nat_tcp(it: Plain) -> bool:
    """It lives for more than one period of the wheel, its last seconds as a transitory session."""
    return sessions(it)


# ICMP errors (net/icmp_limit.c), log (kernel/lib/log.c)

def no_error(it: Plain) -> bool:
    return it.gateway.lan(IP(src=A.ip, dst=SERVER, ttl=1) / UDP(sport=5000, dport=53)) == []


def many_errors(it: Plain) -> None:
    while not no_error(it):
        pass


@case(plain(NAT), many_errors, 0, 0.01, exact=True)
def error_limit(it: Plain) -> bool:
    return no_error(it)


def claim(it: Plain) -> None:
    it.gateway.send(LAN, Ether(src=A.mac, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=A.mac, psrc=INSIDE, pdst=INSIDE))


@case(plain(PLAIN), claim, 9.9, 10.1, exact=True)
def log_limit(it: Plain) -> bool:
    before = len(it.gateway.lines("log"))
    claim(it)
    return len(it.gateway.lines("log")) == before


# DNS64: limits, cache, servers (client/dns64_limit.c, cache, upstream/dns64_server.c, dns64_fetch.c, dns64_conn.c)

def no_answer(it: Resolver) -> bool:
    return it.raw(it.query("four.example.")) is None


def many_questions(it: Resolver) -> None:
    it.addresses("four.example.")
    while not no_answer(it):
        pass


@case(resolver(more="dns64.rate 2\n"), many_questions, 0.4, 0.6, exact=True)
def dns_rate(it: Resolver) -> bool:
    return no_answer(it)


@case(resolver(more="dns64.rate 2\n"), many_questions, 0, 1.1, exact=True)
def dns_rate_of_a_second(it: Resolver) -> bool:
    return no_answer(it) or no_answer(it)


@case(resolver(), lambda it: it.ask("four.example.", "A"), 250, 301.2)
def dns_record(it: Resolver) -> bool:
    n = len(it.zone.asked)
    it.ask("four.example.", "A")
    return len(it.zone.asked) == n


def no_edns() -> Zone:
    """Upstream does not support EDNS."""
    zone = Zone(FOUR)

    def instead(query: Message) -> Answer:
        if query.edns < 0:
            return None
        answer = dns.message.make_response(query)
        answer.use_edns(-1)
        answer.set_rcode(dns.rcode.FORMERR)
        return answer

    zone.instead = instead
    return zone


fresh_name = iter(range(10**9))


def ask_something(it: Resolver) -> int:
    """Queries a name for the first time; gives how many queries reached upstream."""
    n = len(it.net.asked)
    it.ask(f"n{next(fresh_name)}.example.", "A", wait=0.2)
    return len(it.net.asked) - n


@case(resolver(zone=no_edns), ask_something, 598, 601.5)
def dns_server_without_edns(it: Resolver) -> bool:
    return ask_something(it) == 1


def ask_patiently(it: Resolver) -> int:
    """As ask_something, where wrong answers come first: waits for the right one."""
    n = len(it.net.asked)
    it.send(it.query(f"n{next(fresh_name)}.example.", "A"))
    for _ in range(3):
        it.wait(0.11)
    return len(it.net.asked) - n


@case(resolver(zone=lambda: lower(Zone(FOUR))), ask_patiently, 598, 601)
def dns_server_loses_case(it: Resolver) -> bool:
    return ask_patiently(it) == 1


def silence(it: Resolver) -> None:
    it.zone.instead = silent()
    it.send(it.query(f"n{next(fresh_name)}.example.", "A"))


@case(resolver(more="timeout-time 1\nresend-attempts 2\n"), silence, 2.95, 3.1)
def dns_question(it: Resolver) -> bool:
    return stat("dns_waiting", it) + stat("dns_asking", it) == 2


# TCP connections of the gateway itself (net/tcp/tcp_timer.c)

def connections(it: Resolver) -> bool:
    return stat("tcp_connections", it) == 1


@case(resolver(), lambda it: opened(it, sport=next(ports)), 9.9, 10.4)
def tcp_idle(it: Resolver) -> bool:
    return connections(it)


ports = iter(range(2000, 60000))


def half_open(it: Resolver) -> None:
    put(it, Stream(LAN, A.mac, A.ip, INSIDE, next(ports), 53, quiet=True).segment("S"))


@case(resolver(), half_open, 6.9, 7.3)
def tcp_half_open(it: Resolver) -> bool:
    return connections(it)


def unacknowledged(it: Resolver) -> None:
    stream = opened(it, sport=next(ports))
    stream.quiet = True
    say(it, stream, it.query("four.example."))


@case(resolver(), unacknowledged, 9.9, 10.3)
def tcp_unacknowledged(it: Resolver) -> bool:
    return connections(it)


# --- each of them --------------------------------------------------------------------------------------------

EACH = pytest.mark.parametrize("name", list(CASES))


def lives(it: Any, one: Case, what: str) -> None:
    one.fill(it)
    rest(it, one.least)
    assert one.there(it), f"{what}: it ends early"
    rest(it, one.most - one.least)
    assert not one.there(it), f"{what}: it does not end"


@EACH
@pytest.mark.parametrize("boundary", list(BOUNDARIES))
def test_a_boundary_in_its_life(start: Start, name: str, boundary: str) -> None:
    one, at = CASES[name], BOUNDARIES[boundary]
    before = min(one.least, at / 2) / 2
    it = one.begin(start, round(at - before - SETTLE, 1))
    lives(it, one, boundary)


@EACH
@pytest.mark.parametrize("unit", list(UNITS))
def test_after_a_quiet_time(start: Start, name: str, unit: str) -> None:
    """Of an unused table, and of one that was in use before."""
    one = CASES[name]
    it = one.begin(start, 1)
    for what in ("never used", "used before"):
        leap(it, GAPS[f"gap-{unit}"] + 1234.567, 3)  # not a whole number of periods of any clock
        lives(it, one, what)


@EACH
@pytest.mark.parametrize("gap", list(GAPS))
def test_a_long_time_in_its_life(start: Start, name: str, gap: str) -> None:
    """It has ended; but a 32-bit time may take a whole period of the clock for zero."""
    one = CASES[name]
    it = one.begin(start, 1)
    one.fill(it)
    leap(it, GAPS[gap])
    if not one.exact:
        rest(it, one.most)
    assert not one.there(it)


# --- timers that stop while the cable is unplugged ------------------------------------------------------------------

UNPLUGGED = pytest.mark.parametrize("days", [1, 26, 37, 51])


@UNPLUGGED
def test_a_cable_that_was_out_for_weeks(start: Start, days: int) -> None:
    """The router advertises itself as soon as its address is valid, as after a start."""
    it = Plain(start, CONFIG, "route6", 1)
    it.gateway.link(LAN, False)
    it.gateway.leap(days * DAY, 100)
    it.gateway.link(LAN, True)
    assert [one for one in ras(it.gateway.wait(SETTLE)) if one.ip6.dst == "ff02::1"]


@UNPLUGGED
def test_who_asked_before_a_cable_was_out_for_weeks(start: Start, days: int) -> None:
    """The place of the station that waited is free again, and so are all others."""
    it = Plain(start, CONFIG, "route6", 1)
    for n in range(40):
        send6(it.gateway, A6, solicit_ra(f"fe80::{n + 1:x}"))
    it.gateway.link(LAN, False)
    it.gateway.leap(days * DAY, 100)
    it.gateway.link(LAN, True)
    it.gateway.wait(SETTLE)
    send6(it.gateway, A6, solicit_ra())
    assert ras(it.gateway.wait(4))


@UNPLUGGED
def test_an_mldv1_router_before_a_cable_was_out_for_weeks(start: Start, days: int) -> None:
    it = Plain(start, PLAIN6, "route6", 1)
    send6(it.gateway, ROUTER6, message(mld_query(1, version=1)))
    it.gateway.wait(1)
    assert reports1(it)
    it.gateway.link(WAN, False)
    it.gateway.leap(days * DAY, 100)
    it.gateway.link(WAN, True)
    it.gateway.wait(SETTLE)
    assert not reports1(it)


@pytest.mark.parametrize("days", [1, 37])
def test_groups_are_reported_after_weeks(start: Start, days: int) -> None:
    """Changes of groups that were not yet reported when the cable was unplugged."""
    gateway = start(PLAIN6, "route6", now=1)
    gateway.wait(0.2)
    gateway.link(WAN, False)
    gateway.leap(days * DAY, 100)
    gateway.link(WAN, True)
    assert {group for _, group in reported(gateway.wait(1.2), WAN)} == groups(WAN)


# --- further boundaries --------------------------------------------------------------------------------------


def test_a_host_that_does_not_answer_is_told_of_50_days_after_the_link_came_up(start: Start) -> None:
    """The first seconds after the carrier came up, in which a missing answer means nothing, do not come back."""
    it = Plain(start, PLAIN, "nat", 1)
    it.gateway.leap(2**32 / 1000 - SETTLE - 0.5, 100)
    it.gateway.send(LAN, ping(A))
    it.gateway.wait(1.3)
    assert state_of(it.gateway, A.ip) == "failed"


@pytest.mark.parametrize(("boundary", "before"), [("32bit-us", 1), ("32bit-ms", 1), ("32bit-ms", 30), ("32bit-ms", 60)])
def test_a_syn_cookie_across_a_boundary(start: Start, boundary: str, before: int) -> None:
    """The connection opens when the acknowledgment comes a second after the boundary."""
    it = Resolver(start, Zone(FOUR), now=round(BOUNDARIES[boundary] - before - 5, 1))
    for _ in range(256):
        half_open(it)
    stream = Stream(LAN, A.mac, A.ip, INSIDE, 1999, 53)
    sent = it.gateway.send(LAN, stream.segment("S"))
    assert len(sent) == 1 and stat("tcp_cookies_sent", it) == 1
    it.gateway.wait(before + 1)
    it.gateway.send(LAN, stream.take(sent[0].ip[TCP])[0])
    assert stat("tcp_cookies_good", it) == 1


def test_rates_forget_the_longest_silent_network(start: Start) -> None:
    """Five networks share one place, and 32 bits of microseconds wrap meanwhile."""
    it = Resolver(start, Zone(FOUR), more="dns64.rate 2\n")
    many_questions(it)
    leap(it, 2**32 / 1e6, 3)
    assert not no_answer(it) and not no_answer(it) and no_answer(it)


def test_a_stranger_lasts_as_long_as_who_let_it_in(start: Start) -> None:
    """Across 2^32 seconds; the listing shows how long the session still lives."""
    it = Plain(start, NAT + "nat.filtering endpoint-independent\n", "nat", 2**32 - 100)
    it.gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=53))
    it.gateway.wait(50)
    it.gateway.wan(IP(src=NEAR.ip, dst=OUTSIDE) / UDP(sport=53, dport=5000))
    left = [line.split("expires=")[1] for line in it.gateway.lines("sessions")]
    assert left == ["250", "250"]
    it.gateway.wait(249)
    assert stat("nat_sessions", it) == 2
    it.gateway.wait(2)
    assert stat("nat_sessions", it) == 0


def test_decades_are_counted(start: Start) -> None:
    """Uptime, log and drops show seconds beyond 32 bits."""
    it = Plain(start, NAT, "nat", 2**32 + 100)
    it.gateway.lan(IP(src=A.ip, dst="224.0.0.1") / UDP())
    claim(it)
    assert stat("uptime_seconds", it) == 2**32 + 112
    assert it.gateway.lines("drops")[-1].startswith(f"{2**32 + 112}.")
    assert it.gateway.lines("log")[-1].startswith(f"{2**32 + 112}.")
