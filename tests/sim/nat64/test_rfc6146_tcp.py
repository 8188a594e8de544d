# SPDX-License-Identifier: BSD-2-Clause
"""RFC 6146 section 3.5.2: the states of a TCP session, their timers, the stored SYN, the probe."""

from __future__ import annotations

import pytest
from gateway import LAN, WAN, Gateway, only
from ivi import dropped
from net6 import NEIGHBOURS6, ROUTER6
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from six4 import (
    FAR, OTHER, OWN4, OWN6, SEVEN, SIX, Start, connect, error4, error6, in_tcp, out_echo, out_tcp, send4, send6,
    sessions, six_of, start64, to4, to6,
)

pytestmark = pytest.mark.virtual

EST, TRANS = 7440, 240


@pytest.fixture
def gateway64(start: Start) -> Gateway:
    return start64(start)


def state(gateway: Gateway) -> str:
    (proto, name, _), = sessions(gateway)
    assert proto == "tcp"
    return name


def left(gateway: Gateway, about: int) -> bool:
    (_, _, seconds), = sessions(gateway)
    return about - 3 <= seconds <= about


def test_3522_handshake(gateway64: Gateway) -> None:
    """CLOSED -V6 SYN-> V6 INIT (TCP_TRANS) -V4 SYN-> ESTABLISHED (TCP_EST)."""
    port = only(out_tcp(gateway64), WAN).ip[TCP].sport
    assert state(gateway64) == "init" and left(gateway64, TRANS)
    back = only(in_tcp(gateway64, port), LAN).ip6
    assert (back.src, back.dst, back[TCP].dport, back[TCP].flags) == (six_of(FAR), SIX, 5000, "SA")
    assert state(gateway64) == "established" and left(gateway64, EST)
    only(out_tcp(gateway64, "A", 1001, 9001), WAN)
    assert state(gateway64) == "established"


def test_3522_v6_init_syn_again(gateway64: Gateway) -> None:
    """V6 INIT: another V6 SYN restarts TCP_TRANS; other packets pass without a change."""
    port = only(out_tcp(gateway64), WAN).ip[TCP].sport
    gateway64.wait(100)
    only(in_tcp(gateway64, port, "A"), LAN)
    assert state(gateway64) == "init" and left(gateway64, TRANS - 100)
    only(out_tcp(gateway64), WAN)
    assert state(gateway64) == "init" and left(gateway64, TRANS)
    gateway64.wait(TRANS + 2)
    assert sessions(gateway64) == []


def test_3522_simultaneous_open(gateway64: Gateway) -> None:
    """V6 INIT -V4 SYN without ACK-> ESTABLISHED."""
    port = only(out_tcp(gateway64), WAN).ip[TCP].sport
    only(in_tcp(gateway64, port, "S", 9000, 0), LAN)
    assert state(gateway64) == "established" and left(gateway64, EST)


def test_3522_established_lifetime(gateway64: Gateway) -> None:
    """ESTABLISHED: packets of both sides restart TCP_EST."""
    port = connect(gateway64)
    gateway64.wait(1000)
    only(in_tcp(gateway64, port, "A", 9001, 1001, load=b"data"), LAN)
    assert left(gateway64, EST)
    gateway64.wait(1000)
    only(out_tcp(gateway64, "A", 1001, 9005), WAN)
    assert left(gateway64, EST)


@pytest.mark.parametrize("first", ["six", "four"])
def test_3522_fins(gateway64: Gateway, first: str) -> None:
    """ESTABLISHED -FIN-> FIN RCV (TCP_EST; 5382 REQ-5: one FIN is still open) -other FIN-> both FIN (TCP_TRANS), where
    packets pass and the timer stays."""
    port = connect(gateway64)
    if first == "six":
        only(out_tcp(gateway64, "FA", 1001, 9001), WAN)
        assert state(gateway64) == "in-fin" and left(gateway64, EST)
        only(in_tcp(gateway64, port, "A", 9001, 1002, load=b"more"), LAN)
        assert state(gateway64) == "in-fin"
        only(in_tcp(gateway64, port, "FA", 9005, 1002), LAN)
    else:
        only(in_tcp(gateway64, port, "FA", 9001, 1001), LAN)
        assert state(gateway64) == "out-fin" and left(gateway64, EST)
        only(out_tcp(gateway64, "FA", 1001, 9002), WAN)
    assert state(gateway64) == "both-fin" and left(gateway64, TRANS)
    gateway64.wait(100)
    only(out_tcp(gateway64, "A", 1002, 9006 if first == "six" else 9002), WAN)
    assert state(gateway64) == "both-fin" and left(gateway64, TRANS - 100)
    gateway64.wait(TRANS)
    assert sessions(gateway64) == [] and gateway64.stats()["nat64_bindings"] == 0


@pytest.mark.parametrize("side", ["six", "four"])
def test_3522_reset(gateway64: Gateway, side: str) -> None:
    """ESTABLISHED -RST-> TRANS (TCP_TRANS); a packet that is no RST: ESTABLISHED again; else it ends."""
    port = connect(gateway64)
    if side == "six":
        only(out_tcp(gateway64, "R", 1001), WAN)
    else:
        only(in_tcp(gateway64, port, "R", 9001, 0), LAN)
    assert state(gateway64) == "transitory" and left(gateway64, TRANS)
    only(out_tcp(gateway64, "A", 1001, 9001), WAN)
    assert state(gateway64) == "established" and left(gateway64, EST)
    only(in_tcp(gateway64, port, "RA", 9001, 1001), LAN)
    gateway64.wait(TRANS + 2)
    assert sessions(gateway64) == []


def test_52_forged_reset(gateway64: Gateway) -> None:
    """Section 5.2: a RST that the connection cannot have sent passes, but changes no state."""
    port = connect(gateway64)
    only(in_tcp(gateway64, port, "R", 12345, 0), LAN)
    assert state(gateway64) == "established"


def test_3522_port_reuse_after_both_fins(gateway64: Gateway) -> None:
    """A new connection with the ports of one that was closed lives on: the text leaves it to die with the old one."""
    port = connect(gateway64)
    only(out_tcp(gateway64, "FA", 1001, 9001), WAN)
    only(in_tcp(gateway64, port, "FA", 9001, 1002), LAN)
    only(out_tcp(gateway64, "A", 1002, 9002), WAN)
    assert only(out_tcp(gateway64, "S", 700000), WAN).ip[TCP].sport == port
    only(in_tcp(gateway64, port, "SA", 800000, 700001), LAN)
    only(out_tcp(gateway64, "A", 700001, 800001), WAN)
    assert state(gateway64) == "established" and left(gateway64, EST)


def test_3522_probe(gateway64: Gateway) -> None:
    """ESTABLISHED over: a probe without data, seq = ack = 0, ACK alone; then TRANS. The answer revives the session."""
    connect(gateway64)
    sent = [one for one in gateway64.wait(EST + 2) if one.port == LAN and TCP in one.frame]
    probe = only(sent).ip6
    assert (probe.src, probe.dst) == (six_of(FAR), SIX)
    tcp = probe[TCP]
    assert (tcp.sport, tcp.dport, tcp.seq, tcp.ack, tcp.flags) == (80, 5000, 0, 0, "A")
    assert len(bytes(tcp)) == 20 and gateway64.stats()["nat64_probes"] == 1
    assert state(gateway64) == "transitory" and left(gateway64, TRANS)
    only(out_tcp(gateway64, "A", 1001, 9001), WAN)
    assert state(gateway64) == "established" and left(gateway64, EST)


def test_3522_probe_without_an_answer(gateway64: Gateway) -> None:
    connect(gateway64)
    gateway64.wait(EST + TRANS + 3)
    assert sessions(gateway64) == [] and gateway64.stats()["nat64_bindings"] == 0


def test_3522_probe_of_a_host_whose_network_is_gone(start: Start) -> None:
    """None leaves by the WAN."""
    gateway = start64(start, f"wan.address 2001:db8:2::2/64\ngateway {ROUTER6.ip}\n{NEIGHBOURS6}")
    connect(gateway)
    gateway.sources[WAN] = None
    gateway.wait(EST - 20)
    gateway.change(f"address del lan {OWN6}")
    assert [one for one in gateway.wait(60) if TCP in one.frame] == []
    assert gateway.stats()["nat64_probes"] == 0 and state(gateway) == "transitory"


# --- SYNs from outside -----------------------------------------------------------------------------------


def test_3522_unsolicited_syn(gateway64: Gateway) -> None:
    """CLOSED -V4 SYN, no BIB-> stored for TCP_INCOMING_SYN (6 s), then ICMP 3/3 with the SYN."""
    assert dropped(gateway64, lambda: in_tcp(gateway64, 5000, "S", 9000, 0), "no-mapping") == []
    assert gateway64.stats()["nat64_syns_held"] == 1 and sessions(gateway64) == []
    assert gateway64.wait(5.9) == []
    quote = IP(error4(gateway64.wait(0.4), 3, 3))
    assert (quote.src, quote.dst, quote[TCP].seq, quote[TCP].dport) == (FAR, OWN4, 9000, 5000)


def test_3522_stored_syn_meets_v6_syn(gateway64: Gateway) -> None:
    """V4 INIT -V6 SYN-> ESTABLISHED; the stored SYN goes silently (RFC 5382 REQ-4)."""
    in_tcp(gateway64, 5000, "S", 9000, 0)
    assert only(out_tcp(gateway64), WAN).ip[TCP].sport == 5000
    assert state(gateway64) == "established" and left(gateway64, EST)
    assert gateway64.stats()["nat64_syns_held"] == 0
    assert [one for one in gateway64.wait(8) if one.port == WAN] == []


def test_3522_filtered_syn_is_stored(gateway64: Gateway) -> None:
    """BIB there, but address-dependent filtering refuses: stored as well."""
    port = connect(gateway64)
    assert dropped(gateway64, lambda: in_tcp(gateway64, port, "S", 1, 0, 99, OTHER), "filtered") == []
    error4(gateway64.wait(6.3), 3, 3, dst=OTHER)


@pytest.mark.parametrize("bound", [False, True])
def test_38_hairpinned_syn_is_stored(gateway64: Gateway, bound: bool) -> None:
    """Section 3.8: a hairpinned packet is one of the IPv4 side. So its SYN is stored too, without a binding and where
    the filter refuses it; six seconds later its sender learns it."""
    if bound:
        connect(gateway64, 6000, src=SEVEN)
    reason = "filtered" if bound else "no-mapping"
    syn = to4(OWN4) / TCP(sport=5000, dport=6000, flags="S", seq=1000)
    assert dropped(gateway64, lambda: send6(gateway64, syn), reason) == []
    assert gateway64.stats()["nat64_syns_held"] == 1
    assert gateway64.wait(5.9) == []
    quote = IPv6(error6(gateway64.wait(0.4), 1, 4, src=six_of(OWN4)))
    assert (quote.src, quote.dst, quote[TCP].seq) == (SIX, six_of(OWN4), 1000)
    assert (quote[TCP].sport, quote[TCP].dport) == (5000, 6000)
    assert gateway64.stats()["nat64_syns_answered"] == 1 and gateway64.stats()["nat64_syns_held"] == 0


def test_38_hairpinned_syn_to_the_pool(start: Start) -> None:
    """The same where the external address is none of the WAN's own."""
    pool = "203.0.113.8"
    gateway = start64(start, f"nat64.pool {pool}\n")
    send6(gateway, to4(pool) / TCP(sport=5000, dport=6000, flags="S", seq=1000))
    quote = IPv6(error6(gateway.wait(6.3), 1, 4, src=None))
    assert (quote.src, quote.dst, quote[TCP].seq) == (SIX, six_of(pool), 1000)


def test_38_hairpinned_simultaneous_open(gateway64: Gateway) -> None:
    """Two inside hosts open one connection to each other's external address: the stored SYN meets the other one."""
    assert send6(gateway64, to4(OWN4) / TCP(sport=5000, dport=6000, flags="S", seq=1000)) == []
    there = only(send6(gateway64, to4(OWN4, SEVEN) / TCP(sport=6000, dport=5000, flags="S", seq=2000)), LAN).ip6
    assert (there.src, there.dst, there[TCP].sport, there[TCP].dport) == (six_of(OWN4), SIX, 6000, 5000)
    assert [one[:2] for one in sessions(gateway64)] == [("tcp", "established")] * 2
    assert gateway64.stats()["nat64_syns_held"] == 0
    answer = to4(OWN4) / TCP(sport=5000, dport=6000, flags="SA", seq=1000, ack=2001)
    assert only(send6(gateway64, answer), LAN).ip6.dst == SEVEN
    assert gateway64.wait(8) == []


def test_3522_syn_to_a_binding(start: Start) -> None:
    """BIB there, no filter: TCP_TRANS, forwarded, V4 INIT; the answer establishes it."""
    gateway = start64(start, "nat64.filtering endpoint-independent\nnat64.tcp-timeout 8000\n")
    port = connect(gateway)
    back = only(in_tcp(gateway, port, "S", 100, 0, 99, OTHER), LAN).ip6
    assert (back.src, back[TCP].sport, back[TCP].flags) == (six_of(OTHER), 99, "S")
    found = {(name, seconds > TRANS) for _, name, seconds in sessions(gateway)}
    assert found == {("established", True), ("init", False)}
    assert TRANS - 2 <= min(seconds for _, _, seconds in sessions(gateway)) <= TRANS
    only(out_tcp(gateway, "SA", 500, 101, dport=99, dst=OTHER), WAN)
    assert {name for _, name, _ in sessions(gateway)} == {"established"}


def test_3522_syn_to_a_binding_with_several_sessions(start: Start) -> None:
    """Its lifetime is TCP_TRANS, too, also when the session that was used last has ended."""
    gateway = start64(start, "nat64.filtering endpoint-independent\n")
    port = connect(gateway)
    connect(gateway, dport=81)
    out_tcp(gateway, "S", 1, dport=444)
    gateway.wait(TRANS + 10)
    assert [name for _, name, _ in sessions(gateway)] == ["established"] * 2
    only(in_tcp(gateway, port, "S", 100, 0, 99, OTHER), LAN)
    gateway.wait(TRANS - 10)
    assert sorted(name for _, name, _ in sessions(gateway)) == ["established", "established", "init"]
    only(out_tcp(gateway, "SA", 500, 101, dport=99, dst=OTHER), WAN)
    assert [name for _, name, _ in sessions(gateway)] == ["established"] * 3


def test_strangers_do_not_keep_a_binding(start: Start) -> None:
    """It ends soon after the inside host's own session, however many SYNs come in."""
    gateway = start64(start, "nat64.filtering endpoint-independent\n")
    port = int(only(out_tcp(gateway, "S", 1), WAN).ip[TCP].sport)
    for number in range(2 * TRANS // 10 + 6):
        in_tcp(gateway, port, "S", 100, 0, 99, f"192.0.2.{number + 1}")
        gateway.wait(10)
    assert sessions(gateway) == []


def test_3522_stray_segments(start: Start) -> None:
    """CLOSED, no SYN: forwarded without a state where there is a BIB entry, else dropped silently."""
    gateway = start64(start)
    assert dropped(gateway, lambda: out_tcp(gateway, "A"), "no-session") == []
    port = connect(gateway)
    sent = only(out_tcp(gateway, "A", 5, 6, dport=443, dst=OTHER), WAN).ip
    assert (sent[TCP].sport, sent.dst) == (port, OTHER)
    assert len(sessions(gateway)) == 1
    back = only(in_tcp(gateway, port, "A", 5, 6, 443, FAR), LAN).ip6  # the filter knows this host
    assert (back.src, back[TCP].sport, back[TCP].dport) == (six_of(FAR), 443, 5000)
    assert dropped(gateway, lambda: in_tcp(gateway, port, "A", 5, 6, 443, OTHER), "filtered") == []
    assert len(sessions(gateway)) == 1


def test_3523_port_kept(gateway64: Gateway) -> None:
    """Section 3.5.2.3: the host's port where it is free, else one of its range."""
    assert connect(gateway64, 700) == 700
    other = connect(gateway64, 700, src=SEVEN)
    assert other != 700 and other < 1024


@pytest.mark.parametrize("mss", [0, 1220])
def test_mss_clamp(start: Start, mss: int) -> None:
    gateway = start64(start, f"nat64.mss-clamp {mss}\n")
    opts = [("MSS", 1460)]
    sent = only(send6(gateway, to4() / TCP(sport=5000, dport=80, flags="S", options=opts)), WAN).ip
    assert dict(sent[TCP].options)["MSS"] == (mss or 1460)
    packet = to6() / TCP(sport=80, dport=5000, flags="SA", seq=9, ack=1, options=opts)
    back = only(send4(gateway, packet), LAN).ip6
    assert dict(back[TCP].options)["MSS"] == (mss or 1460)


# --- the remaining transitions ---------------------------------------------------------------------------


def test_3522_v4_init_other_packets(start: Start) -> None:
    """V4 INIT: other packets are forwarded and change nothing; it dies with its time (TCP_TRANS)."""
    gateway = start64(start, "nat64.filtering endpoint-independent\n"
                      f"nat64.forward tcp {OWN4}:8080 [{SIX}]:80\n")
    only(in_tcp(gateway, 8080, "S", 100, 0, 99, OTHER), LAN)
    gateway.wait(100)
    only(in_tcp(gateway, 8080, "A", 101, 0, 99, OTHER), LAN)
    only(out_tcp(gateway, "A", 1, 101, sport=80, dport=99, dst=OTHER), WAN)
    assert state(gateway) == "init" and left(gateway, TRANS - 100)
    gateway.wait(TRANS - 98)
    assert sessions(gateway) == []


@pytest.mark.parametrize("first", ["six", "four"])
def test_3522_one_fin(gateway64: Gateway, first: str) -> None:
    """V6 FIN RCV and V4 FIN RCV: packets of both sides, the FIN of the same side too, restart TCP_EST; a RST leads to
    TRANS; the session dies with its time."""
    port = connect(gateway64)

    def fin() -> None:
        if first == "six":
            only(out_tcp(gateway64, "FA", 1001, 9001), WAN)
        else:
            only(in_tcp(gateway64, port, "FA", 9001, 1001), LAN)

    fin()
    name = "in-fin" if first == "six" else "out-fin"
    for again in (fin, lambda: only(out_tcp(gateway64, "A", 1002 if first == "six" else 1001, 9001), WAN),
                  lambda: only(in_tcp(gateway64, port, "A", 9001 if first == "six" else 9002, 1001), LAN)):
        gateway64.wait(100)
        again()
        assert state(gateway64) == name and left(gateway64, EST)
    if first == "six":
        only(in_tcp(gateway64, port, "R", 9001, 0), LAN)
        assert state(gateway64) == "transitory" and left(gateway64, TRANS)
    gateway64.wait(EST + 3 if first == "four" else TRANS + 2)
    assert sessions(gateway64) == []


def test_3522_trans_reset_again(gateway64: Gateway) -> None:
    """TRANS: a further RST is forwarded and changes nothing."""
    port = connect(gateway64)
    only(in_tcp(gateway64, port, "R", 9001, 0), LAN)
    gateway64.wait(100)
    only(out_tcp(gateway64, "R", 1001), WAN)
    assert state(gateway64) == "transitory" and left(gateway64, TRANS - 100)


def test_3522_closed_without_resources(start: Start) -> None:
    """CLOSED, V6 SYN, no room for a session: dropped, with ICMPv6 1/3 (sections 3.5.2.2 and 3.5.2.3)."""
    gateway = start64(start, "nat64.sessions 64\nnat64.host-length 128\n")
    for n in range(64):
        connect(gateway, 4000 + n)
    error6(dropped(gateway, lambda: out_tcp(gateway, sport=9000), "table-full"), 1, 3)
    only(out_tcp(gateway, "A", 1001, 9001, sport=4000), WAN)


def test_3523_one_address_for_a_host(start: Start) -> None:
    """Sections 3.5.1.1, 3.5.2.3 and 3.5.3: one IPv4 address for a host in all three tables."""
    gateway = start64(start, "nat64.pool 203.0.113.8-203.0.113.15\n")
    for host in (SIX, SEVEN):
        seen = {only(out_tcp(gateway, sport=4000 + n, src=host), WAN).ip.src for n in range(10)}
        seen |= {only(out_echo(gateway, 70 + n, src=host), WAN).ip.src for n in range(10)}
        seen.add(only(send6(gateway, to4(src=host) / UDP(sport=5000, dport=53)), WAN).ip.src)
        assert len(seen) == 1
