# SPDX-License-Identifier: BSD-2-Clause
"""RFC 7857, updates to the NAT requirements, section by section (sections 6 and 11 are optional)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from gateway import A, B, LAN, NAT, OUTSIDE, ROUTER, SERVER, SERVER2, WAN, Gateway, Host, only
from pieces import cut, join
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.packet import Raw
from tcp import Connection
from traffic import answer, icmp_kind, open_out, request, use_up

Start = Callable[..., Gateway]
ANY = "nat.filtering endpoint-independent\n"
EST, TRANS = 7440, 240


def step(connection: Connection, side: str, flags: str, **fields: Any) -> None:
    """Sends one segment and checks that it passes."""
    only(connection.out(flags, **fields) if side == "in" else connection.back(flags, **fields))


def ends_after(connection: Connection, seconds: float) -> None:
    if not connection.gateway.sim.virtual:  # these take hours, so in real time only the state is checked
        return
    connection.gateway.wait(seconds - 0.01)
    assert connection.state != "none"
    connection.gateway.wait(2)
    assert connection.state == "none"


SIDES = pytest.mark.parametrize("side", ["in", "out"])


# --- section 2: figure 1 ------------------------------------------------------------------------------


def test_s2_closed_init_established(gateway: Gateway) -> None:
    connection = Connection(gateway)
    assert connection.state == "none"
    step(connection, "in", "S")
    assert connection.state == "init"
    step(connection, "out", "SA")
    step(connection, "in", "A")
    assert connection.state == "established"


@pytest.mark.virtual
def test_s2_established_timeout_leads_to_trans(gateway: Gateway) -> None:
    """TCP_EST T.O.: TRANS; TCP_TRANS T.O.: CLOSED."""
    connection = Connection(gateway).establish()
    gateway.wait(EST - 0.01)
    assert connection.state == "established"
    gateway.wait(2)
    assert connection.state == "transitory"
    ends_after(connection, TRANS - 2)


@SIDES
@pytest.mark.parametrize("late", [EST + 2, EST + TRANS - 1])
@pytest.mark.virtual
def test_s2_data_in_trans_leads_back_to_established(gateway: Gateway, side: str, late: float) -> None:
    connection = Connection(gateway).establish()
    gateway.wait(late)
    assert connection.state == "transitory"
    step(connection, side, "A", data=b"still here")
    assert connection.state == "established"
    ends_after(connection, EST + TRANS)


@SIDES
@pytest.mark.virtual
def test_s2_one_fin_is_still_established(gateway: Gateway, side: str) -> None:
    """C FIN RCV, S FIN RCV: TCP_EST."""
    connection = Connection(gateway).establish()
    step(connection, side, "FA")
    assert connection.state == {"in": "in-fin", "out": "out-fin"}[side]
    other = "out" if side == "in" else "in"
    for _ in range(3):  # half-closed, the other side still sends
        gateway.wait(EST / 2)
        step(connection, other, "PA", data=b"data")
        step(connection, "in", "A")
    ends_after(connection, EST)


@SIDES
@pytest.mark.virtual
def test_s2_both_fins_lead_to_closed(gateway: Gateway, side: str) -> None:
    """C FIN + S FIN RCV: TCP_TRANS, during which the last segments pass."""
    connection = Connection(gateway).establish()
    step(connection, side, "FA")
    step(connection, "out" if side == "in" else "in", "FA")
    step(connection, side, "A")
    assert connection.state == "both-fin"
    gateway.wait(TRANS - 2)
    connection.seq["out"] -= 1
    step(connection, "out", "FA")  # retransmitted: its ACK was lost
    ends_after(connection, 2 if side == "out" else 2)


@SIDES
def test_s2_a_retransmitted_fin_counts_once(gateway: Gateway, side: str) -> None:
    connection = Connection(gateway).establish()
    for _ in range(3):
        step(connection, side, "FA")
        connection.seq[side] -= 1
    assert connection.state in ("in-fin", "out-fin")


@pytest.mark.virtual
def test_s2_port_used_again_after_close(gateway: Gateway) -> None:
    connection = Connection(gateway).establish()
    step(connection, "in", "FA")
    step(connection, "out", "FA")
    gateway.wait(10)
    connection.seq = {"in": 77, "out": 2**31}
    connection.establish()
    assert connection.state == "established"
    ends_after(connection, EST + TRANS)


def talks_on(connection: Connection) -> None:
    """Checks that the connection is established, and that traffic from inside keeps it so."""
    assert connection.state == "established"
    for _ in range(3):
        if connection.gateway.sim.virtual:
            connection.gateway.wait(EST / 2)
        step(connection, "out", "PA", data=b"data")
        step(connection, "in", "A")
    ends_after(connection, EST + TRANS)


@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.parametrize("again", [77, 0x10000100, 2**32 - 1])
@pytest.mark.virtual
def test_s2_another_attempt_from_the_same_port(gateway: Gateway, refused: bool, again: int) -> None:
    """No answer or a RST to the first SYN: the NAT follows the second one, and the timeout starts from it."""
    connection = Connection(gateway)
    step(connection, "in", "S")
    if refused:
        step(connection, "out", "RA", skew=1 - connection.seq["out"])
    gateway.wait(TRANS - 10)
    connection.seq["in"] = again
    step(connection, "in", "S")
    gateway.wait(20)
    step(connection, "out", "SA")
    step(connection, "in", "A")
    talks_on(connection)


@pytest.mark.parametrize("again", [77, 0x10000100])
def test_s2_another_attempt_from_outside(start: Start, again: int) -> None:
    connection = Connection(start(NAT + f"nat.forward tcp 8080 {B.ip}:80\n"), inside=B, sport=80, external=8080)
    for connection.seq["out"] in (0x10000000, again):
        step(connection, "out", "S")
    step(connection, "in", "SA")
    step(connection, "out", "A")
    talks_on(connection)


@pytest.mark.parametrize("ended", ["", "in", "out"])
@pytest.mark.parametrize("again", [77, 0x10000100])
@pytest.mark.virtual
def test_s2_an_inside_host_that_was_restarted(gateway: Gateway, ended: str, again: int) -> None:
    """The host has forgotten its connection; the server answers the new SYN."""
    connection = Connection(gateway).establish()
    if ended:
        step(connection, ended, "R")
        gateway.wait(TRANS - 10)
    connection.seq = {"in": again, "out": 2**31}
    step(connection, "in", "S")
    gateway.wait(20)  # the SYN refreshed the session
    step(connection, "out", "SA")
    step(connection, "in", "A")
    talks_on(connection)


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("acked", [0, 1, 100])
def test_s2_data_in_the_syn(gateway: Gateway, acked: int, again: bool) -> None:
    """RFC 7413: the server accepts all, some or none of the data in the SYN; also when the 5-tuple is used again."""
    connection = Connection(gateway)
    if again:
        connection.establish()
        connection.seq = {"in": 0x70000000, "out": 0x60000000}
    step(connection, "in", "S", data=b"x" * 100)
    connection.seq["in"] += acked - 100
    step(connection, "out", "SA")
    step(connection, "in", "PA", data=b"x" * 100)
    talks_on(connection)


@pytest.mark.parametrize("scale", [0, 7, 14])
def test_s2_window_scaling(gateway: Gateway, scale: int) -> None:
    """RFC 7323: the NAT follows a fast connection, whose segments are far apart in sequence, to its end."""
    connection = Connection(gateway, window=60000).establish(options=[("MSS", 1460), ("WScale", scale)])
    flight = (60000 << scale) - 1000
    step(connection, "in", "PA", data=b"x", skew=flight)  # the last of a window, the others are lost
    connection.seq["in"] += flight
    step(connection, "in", "FA")
    step(connection, "out", "FA")
    assert connection.state == "both-fin"


Order = Callable[[list[Any]], list[Any]]


def in_pieces(connection: Connection, side: str, flags: str, size: int, order: Order) -> None:
    """Sends one segment with `size` bytes of data in fragments."""
    host = connection.inside if side == "in" else ROUTER
    sent = [one for piece in order(cut(connection.segment(side, flags, b"d" * size)))
            for one in connection.gateway.ip_from(host, piece)]
    assert len(join(sent)[TCP].payload) == size


@SIDES
@pytest.mark.parametrize("order", [list, lambda pieces: pieces[::-1]], ids=["in-order", "last-first"])
def test_s2_segments_in_fragments(gateway: Gateway, side: str, order: Order) -> None:
    """Later fragments count as well: the next segment fits, even when the window closes, and a reset has the exact
    sequence number."""
    other = "out" if side == "in" else "in"
    connection = Connection(gateway, window=60000).establish()
    in_pieces(connection, side, "PA", 50000, order)
    connection.window = 0
    step(connection, other, "A")
    step(connection, side, "FA")
    assert connection.state in ("in-fin", "out-fin")
    connection.window = 60000
    step(connection, other, "A")
    in_pieces(connection, other, "FA", 30000, order)
    assert connection.state == "both-fin"
    connection = Connection(gateway, sport=5001).establish()
    in_pieces(connection, side, "PA", 20000, order)
    step(connection, side, "R")
    assert connection.state == "transitory"


# --- section 2.1: both timers ----------------------------------------------------------------------------


@pytest.mark.virtual
def test_s21_opening_and_closing_timers_are_separate(start: Start) -> None:
    gateway = start(NAT + "nat.tcp-opening-timeout 30\nnat.tcp-transitory-timeout 100\n")
    opening, closing = Connection(gateway, sport=5001), Connection(gateway, sport=5002).establish()
    step(opening, "in", "S")
    step(closing, "in", "FA")
    step(closing, "out", "FA")
    ends_after(opening, 30)
    ends_after(closing, 100 - 32)


@pytest.mark.virtual
def test_s21_four_minutes_are_the_default(gateway: Gateway) -> None:
    connection = Connection(gateway)
    step(connection, "in", "S")
    ends_after(connection, TRANS)


# --- section 2.2: resets ---------------------------------------------------------------------------------------


@SIDES
@pytest.mark.parametrize("flags", ["R", "RA"])
def test_s22_a_reset_is_translated_and_the_session_kept(gateway: Gateway, side: str, flags: str) -> None:
    connection = Connection(gateway).establish()
    step(connection, side, flags)
    assert connection.state == "transitory"
    ends_after(connection, TRANS)


@SIDES
@pytest.mark.parametrize("reviver", ["in", "out"])
@pytest.mark.virtual
def test_s22_packets_after_a_reset_keep_the_session(gateway: Gateway, side: str, reviver: str) -> None:
    connection = Connection(gateway).establish()
    step(connection, side, "R")
    gateway.wait(200)
    step(connection, reviver, "A", data=b"which reset?")
    assert connection.state == "established"
    ends_after(connection, EST + TRANS)


FAR = (70000, 2**31 - 1, 2**31, 2**32 - 70000)


@SIDES
@pytest.mark.parametrize("skew", (1, 2**32 - 1, 5000, *FAR))
def test_s22_a_blind_reset_changes_no_state(gateway: Gateway, side: str, skew: int) -> None:
    """The NAT verifies that the reset belongs to the connection; it passes a reset that it does not accept."""
    connection = Connection(gateway).establish()
    for flags in ("R", "RA"):
        step(connection, side, flags, skew=skew)
        assert connection.state == "established"
    ends_after(connection, EST + TRANS)


@pytest.mark.parametrize("skew", FAR)
@pytest.mark.parametrize("flags", ["S", "SA", "FA", "A", "PA"])
def test_s22_blind_segments_change_no_state(gateway: Gateway, flags: str, skew: int) -> None:
    """RFC 5382 section 9: a segment outside the window changes no state."""
    connection = Connection(gateway).establish()
    step(connection, "out", flags, skew=skew)
    assert connection.state == "established"
    step(connection, "in", "FA")
    step(connection, "out", flags, skew=skew)
    assert connection.state == "in-fin"
    step(connection, "out", "FA")
    assert connection.state == "both-fin"
    if flags != "S":
        step(connection, "out", flags, skew=skew)
        assert connection.state == "both-fin"


@pytest.mark.virtual
def test_s22_blind_segments_from_inside_refresh_nothing(gateway: Gateway) -> None:
    connection = Connection(gateway).establish()
    for _ in range(10):
        gateway.wait(EST / 10)
        step(connection, "in", "A", skew=2**30)
    gateway.wait(2)
    assert connection.state == "transitory"


def test_s22_a_blind_syn_ack_establishes_nothing(gateway: Gateway) -> None:
    connection = Connection(gateway)
    step(connection, "in", "S")
    step(connection, "out", "SA", skew=99, ack=12345)
    step(connection, "in", "A")
    assert connection.state == "init"


@pytest.mark.parametrize("blind", [[2**30], [2**30, 2**29], [2**30, 2**30]])
@pytest.mark.parametrize("again", [False, True])
def test_s22_blind_syns_break_no_handshake(gateway: Gateway, blind: list[int], again: bool) -> None:
    """A SYN from outside might be a simultaneous open; the SYN-ACK of the server shows that it is not."""
    connection = Connection(gateway)
    if again:
        connection.establish()
        connection.seq = {"in": 0x70000000, "out": 0x60000000}
    step(connection, "in", "S")
    for skew in blind:
        step(connection, "out", "S", skew=skew)
    step(connection, "out", "SA")
    step(connection, "in", "A")
    talks_on(connection)


@pytest.mark.parametrize("skew", FAR)
def test_s22_a_blind_syn_after_a_reset_changes_nothing(gateway: Gateway, skew: int) -> None:
    connection = Connection(gateway).establish()
    step(connection, "out", "R")
    step(connection, "out", "S", skew=skew)
    step(connection, "in", "A", data=b"which reset?")
    talks_on(connection)


# --- sections 3 to 6: mappings ---------------------------------------------------------------------------------


def test_s3_no_port_overlapping(gateway: Gateway) -> None:
    """The MAY is not used: port overlapping breaks endpoint-independent filtering."""
    assert open_out(gateway, "tcp", host=A, to=SERVER) != open_out(gateway, "tcp", host=B, to=SERVER2)


@pytest.mark.parametrize("kind", ["udp", "tcp"])
@pytest.mark.virtual
def test_s4_paired_address_out_of_ports(start: Start, kind: str) -> None:
    """New sessions of a host whose address has no free port are dropped, although the other address has all its
    ports."""
    gateway = start(NAT.replace("nat.sessions 256", "nat.sessions 70000") + "nat.pool 203.0.113.50-203.0.113.51\n")

    def address_of(ip: str, number: int) -> str:
        return only(gateway.lan(IP(src=ip, dst=SERVER) / request(kind, number)), WAN).ip.src

    address = address_of(A.ip, 1)
    for n in range(100):  # another host at this address has port 501
        if address_of(f"{A.ip.rpartition('.')[0]}.{100 + n}", 501) == address:
            break
    use_up(gateway, A, (port for port in range(1, 65536) if port != 501), kind, answered=True, outside=address)
    told = only(gateway.lan(IP(src=A.ip, dst=SERVER) / request(kind, 501)), LAN)
    assert icmp_kind(told) == (3, 13)
    assert address_of(A.ip, 500) == address


def test_s5_mappings_depend_on_the_protocol(gateway: Gateway) -> None:
    """A TCP mapping does not let UDP pass."""
    open_out(gateway, "tcp", 5000)
    assert answer(gateway, "udp", 5000) == []
    assert open_out(gateway, "udp", 5000, host=B) == 5000  # UDP 5000 is free
    assert open_out(gateway, "udp", 5000) != 5000


def test_s6_filtering_depends_on_the_protocol(start: Start) -> None:
    gateway = start(NAT + ANY)
    open_out(gateway, "tcp", 5000)
    assert answer(gateway, "udp", 5000) == [] and answer(gateway, "icmp", 5000) == []


# --- section 7: packets that do not refresh ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["udp", "tcp"])
@pytest.mark.virtual
def test_s7_refused_packets_refresh_nothing(gateway: Gateway, kind: str) -> None:
    life = 300 if kind == "udp" else TRANS
    open_out(gateway, kind)
    for _ in range(6):
        gateway.wait(life / 6)
        assert answer(gateway, kind, 5000, source=SERVER2) == []
    gateway.wait(2)
    assert gateway.stats()["nat_mappings"] == 0


@pytest.mark.virtual
def test_s71_errors_from_inside_refresh_nothing(gateway: Gateway) -> None:
    """The inside host answers each packet with ICMP 3/3: the mapping still ends."""
    open_out(gateway)
    for _ in range(6):
        gateway.wait(50)
        got = answer(gateway, "udp", 5000)
        if got:
            error = IP(src=A.ip, dst=SERVER) / ICMP(type=3, code=3) / Raw(bytes(only(got, LAN).ip))
            only(gateway.lan(error), WAN)
    gateway.wait(2)
    assert gateway.stats()["nat_mappings"] == 0


@pytest.mark.virtual
def test_s71_resets_from_inside_refresh_nothing(gateway: Gateway) -> None:
    connection = Connection(gateway).establish()
    step(connection, "in", "R")
    for _ in range(4):
        gateway.wait(TRANS / 4)
        if connection.state != "none":
            connection.out("R")
    gateway.wait(2)
    assert connection.state == "none"


# --- sections 8 to 10: numbers ---------------------------------------------------------------------------------


def test_s8_parity_can_be_had_for_a_port(start: Start) -> None:
    """Parity is always kept; nat.forward can set a given port."""
    gateway = start(NAT + f"nat.forward udp 6000 {A.ip}:5000\n")
    assert open_out(gateway, number=5000) == 6000
    assert all(open_out(gateway, number=6000, host=Host(LAN, f"192.168.1.{n}", A.mac)) % 2 == 0 for n in range(20, 40))


@pytest.mark.parametrize("kind", ["udp", "tcp"])
@pytest.mark.virtual
def test_s9_changed_ports_are_unpredictable(start: Start, kind: str) -> None:
    """RFC 6056: from 1024 to 65535 with the parity kept, evenly spread, without steps, different for each seed."""
    ports: list[int] = []
    for seed in range(1, 9):
        gateway = start(NAT.replace("nat.sessions 256", "nat.sessions 1000"), seed=seed)
        open_out(gateway, kind, 5000)
        ports += [open_out(gateway, kind, 5000, host=Host(LAN, f"192.168.1.{n}", A.mac)) for n in range(20, 220)]
    assert all(1024 <= port <= 65535 and port % 2 == 0 for port in ports)
    cells = [0] * 16
    for port in ports:
        cells[(port - 1024) * 16 // 64512] += 1
    expected = len(ports) / 16  # 100; chi-square with 15 degrees of freedom: 44 has p = 0.0001
    assert sum((n - expected) ** 2 / expected for n in cells) < 44
    steps = [later - sooner for sooner, later in zip(ports, ports[1:])]
    assert max(steps.count(step) for step in set(steps)) <= 4
    assert 700 < sum(step > 0 for step in steps) < 900
    low = [port // 2 % 16 for port in ports]
    assert all(60 < low.count(value) < 145 for value in range(16))


def test_s9_kept_ports_are_not_obfuscated(gateway: Gateway) -> None:
    assert open_out(gateway, number=40123) == 40123


def test_s10_identification_is_new(gateway: Gateway) -> None:
    """Section 10: RFC 6864 section 5.3.1; see test_rfc6864.py."""
    ids = {only(gateway.lan(IP(src=A.ip, dst=SERVER, id=7) / UDP(sport=5000, dport=53)), WAN).ip.id for _ in range(50)}
    assert len(ids) == 50


@pytest.mark.virtual
def test_s11_query_mapping_goes_with_its_last_session(gateway: Gateway) -> None:
    """Section 11, MAY; the session itself keeps the 60 s of RFC 5508 REQ-2."""
    open_out(gateway, "icmp")
    gateway.wait(59.9)
    assert gateway.stats()["nat_mappings"] == 1
    gateway.wait(2)
    assert gateway.stats()["nat_mappings"] == 0


def test_s12_hairpinned_errors(start: Start) -> None:
    """Section 12: an error about a hairpinned packet reaches the inside host by the address mapping."""
    gateway = start(NAT + ANY)
    open_out(gateway, number=6000, host=B)
    original = IP(src=A.ip, dst=OUTSIDE) / UDP(sport=7000, dport=6000) / b"hello"
    seen = only(gateway.lan(original), LAN)
    told = only(gateway.ip_from(B, IP(src=B.ip, dst=OUTSIDE) / ICMP(type=3, code=3) / Raw(bytes(seen.ip))), LAN)
    assert (told.ip.src, told.ip.dst, icmp_kind(told)) == (OUTSIDE, A.ip, (3, 3))
    assert bytes(IP(told.quote)[UDP]) == bytes(original[UDP])


