# SPDX-License-Identifier: BSD-2-Clause
"""`serve pcp` beside `nat`: PCP (RFC 6887) and NAT-PMP (RFC 6886), with the clients of portcontrol.py."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import portcontrol as pc
import pytest
from gateway import (
    INSIDE,
    LAN,
    MORE,
    NAT,
    OUTSIDE,
    SERVER,
    SERVER2,
    WAN,
    A,
    B,
    C,
    Gateway,
    Host,
    only,
)
from portcontrol import (
    NONCE,
    TCP,
    UDP,
    Answer,
    PmpAnswer,
    map_request,
    option,
    peer_request,
    pmp_map,
)
from scapy.layers.inet import IP
from scapy.layers.inet import TCP as Tcp
from scapy.layers.inet import UDP as Udp
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from tunnel import COLOCATED, DECOUPLED

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
CONFIG = NAT + "serve pcp\n"
OTHER = bytes(12)


@pytest.fixture
def box(start: Start) -> Gateway:
    return quiet(start(CONFIG))


def quiet(gateway: Gateway) -> Gateway:
    """Waits until all announcements are over."""
    gateway.wait(300)
    return gateway


def ask(gateway: Gateway, data: bytes, host: Host = A, *, own: str = INSIDE) -> bytes | None:
    """Sends a message and gives the answer's bytes."""
    sent = gateway.send(host.port, Ether(src=host.mac, dst=gateway.mac(host.port)) / IP(src=host.ip, dst=own) /
                        Udp(sport=40000, dport=pc.PORT) / Raw(data))
    if not sent:
        return None
    back = only(sent, host.port).ip
    assert (back.src, back.dst, back[Udp].sport, back[Udp].dport) == (own, host.ip, pc.PORT, 40000)
    return bytes(back[Udp].payload)[:back[Udp].len - 8]


def pcp(gateway: Gateway, data: bytes, host: Host = A, **more: Any) -> Answer:
    answer = ask(gateway, data, host, **more)
    assert answer is not None
    return pc.parse(answer)


def pmp(gateway: Gateway, data: bytes, host: Host = A) -> PmpAnswer:
    answer = ask(gateway, data, host)
    assert answer is not None
    return pc.pmp_parse(answer)


def arrives(gateway: Gateway, port: int, host: Host, inside: int, *, tcp: bool = False, source: str = SERVER) -> bool:
    """Whether a packet of a remote host reaches an inside endpoint."""
    l4 = Tcp(sport=999, dport=port, flags="S", seq=5) if tcp else Udp(sport=999, dport=port) / Raw(b"hello")
    sent = gateway.wan(IP(src=source, dst=OUTSIDE) / l4)
    if not sent:
        return False
    got = only(sent, host.port).ip
    assert (got.src, got.dst, got.payload.dport, got.payload.sport) == (source, host.ip, inside, 999)
    return True


# --- beside 6to4 ---------------------------------------------------------------------------------------------------


def test_beside_6to4_with_its_nat(start: Start) -> None:
    gateway = quiet(start(COLOCATED + "serve pcp\n", "6to4"))
    assert pcp(gateway, map_request(A.ip, 5000, 3600)).outside_port == 5000
    assert arrives(gateway, 5000, A, 5000)
    assert pcp(gateway, map_request(A.ip, 5000, 0)).result == pc.SUCCESS
    gateway.wait(400)
    assert not arrives(gateway, 5000, A, 5000, source=SERVER2)


def test_beside_6to4_without_nat(start: Start) -> None:
    """Nothing can be opened: the log says so, and the port is closed."""
    gateway = start(DECOUPLED + "serve pcp\n", "6to4")
    assert any("serve pcp: there is no NAT here" in line for line in gateway.lines("log"))
    assert "pcp_requests" not in gateway.stats()


# --- MAP ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tcp", [False, True])
def test_map(box: Gateway, tcp: bool) -> None:
    """Any remote host may come in; answers leave from the mapped port; the listing has it (RFC 6887 section 11)."""
    got = pcp(box, map_request(A.ip, 5000, 3600, protocol=TCP if tcp else UDP))
    assert (got.opcode, got.result, got.lifetime, got.nonce) == (pc.MAP, pc.SUCCESS, 3600, NONCE)
    assert (got.protocol, got.port, got.outside_port, got.outside, got.rest) == (
        TCP if tcp else UDP, 5000, 5000, OUTSIDE, b"")
    name = "tcp" if tcp else "udp"
    assert f"{name} {A.ip}:5000 {OUTSIDE}:5000 any pcp expires=3600" in box.lines("sessions")
    assert arrives(box, 5000, A, 5000, tcp=tcp) and arrives(box, 5000, A, 5000, tcp=tcp, source=SERVER2)
    if not tcp:
        back = only(box.lan(IP(src=A.ip, dst=SERVER) / Udp(sport=5000, dport=999) / Raw(b"x")), WAN).ip
        assert (back.src, back[Udp].sport) == (OUTSIDE, 5000)
    assert box.stats()["pcp_mappings"] == 1 and box.stats()['pcp_answers{result="success"}'] == 1


def test_it_lasts_its_lifetime(box: Gateway) -> None:
    """Without any packet, and no longer (section 15)."""
    pcp(box, map_request(A.ip, 5000, 1000))
    box.wait(995)
    assert arrives(box, 5000, A, 5000)
    box.wait(8)
    assert box.stats()["pcp_mappings"] == 0 and box.stats()["pcp_expired"] == 1
    assert not arrives(box, 5000, A, 5000, source=SERVER2)
    box.wait(400)
    assert box.stats()["nat_mappings"] == 0


def test_renewal(box: Gateway) -> None:
    pcp(box, map_request(A.ip, 5000, 1000))
    box.wait(900)
    again = pcp(box, map_request(A.ip, 5000, 1000))
    assert (again.result, again.outside_port) == (pc.SUCCESS, 5000)
    box.wait(900)
    assert arrives(box, 5000, A, 5000) and box.stats()["pcp_mappings"] == 1


@pytest.mark.parametrize("asked, given", [(1, 120), (119, 120), (120, 120), (86400, 86400), (0xffffffff, 86400)])
def test_lifetimes_are_limited(box: Gateway, asked: int, given: int) -> None:
    assert pcp(box, map_request(A.ip, 5000, asked)).lifetime == given


def test_suggestions(box: Gateway) -> None:
    """A suggested port is given where it is free; else another one, or with PREFER_FAILURE none (section 13.2)."""
    assert pcp(box, map_request(A.ip, 5000, suggest=8080)).outside_port == 8080
    other = pcp(box, map_request(B.ip, 5000, suggest=8080), B)
    assert other.result == pc.SUCCESS and other.outside_port not in (0, 8080)
    strict = option(pc.PREFER_FAILURE)
    no = pcp(box, map_request(B.ip, 6000, suggest=8080, options=strict), B)
    assert (no.result, no.lifetime, no.port) == (pc.CANNOT_PROVIDE_EXTERNAL, pc.SHORT, 6000)
    yes = pcp(box, map_request(B.ip, 6000, suggest=8081, outside=OUTSIDE, options=strict), B)
    assert (yes.result, yes.outside_port, yes.rest) == (pc.SUCCESS, 8081, strict)
    no = pcp(box, map_request(B.ip, 6001, suggest=8082, outside="192.0.2.1", options=strict), B)
    assert no.result == pc.CANNOT_PROVIDE_EXTERNAL
    assert box.stats()["pcp_mappings"] == 3 and box.stats()["nat_mappings"] == 3


def test_the_port_of_sessions_is_kept(box: Gateway) -> None:
    """A mapping that sessions have already becomes the one that was asked for, and outlives them (section 11.3)."""
    only(box.lan(IP(src=B.ip, dst=SERVER) / Udp(sport=5000, dport=53)), WAN)
    port = only(box.ip_from(A, IP(src=A.ip, dst=SERVER) / Udp(sport=5000, dport=53)), WAN).ip[Udp].sport
    assert pcp(box, map_request(A.ip, 5000, suggest=7777)).outside_port == port
    box.wait(1000)
    assert arrives(box, port, A, 5000, source=SERVER2)


def test_nonce(box: Gateway) -> None:
    """Another client neither changes, renews nor deletes a mapping (section 11.3)."""
    pcp(box, map_request(A.ip, 5000, 1000))
    for lifetime in (2000, 0):
        no = pcp(box, map_request(A.ip, 5000, lifetime, nonce=OTHER))
        assert (no.result, no.lifetime, no.nonce) == (pc.NOT_AUTHORIZED, 1000, OTHER)
    assert pmp(box, pmp_map(5000)).result == pc.NOT_AUTHORIZED
    assert pcp(box, map_request(A.ip, 0, 0, nonce=OTHER)).result == pc.NOT_AUTHORIZED
    box.wait(900)
    assert arrives(box, 5000, A, 5000)
    box.wait(110)
    assert box.stats()["pcp_mappings"] == 0


def test_deletion(box: Gateway) -> None:
    """Lifetime 0 (section 15.1); of all ports of a protocol with port 0; nothing to delete is no error."""
    for port in (5000, 5001, 5002):
        pcp(box, map_request(A.ip, port))
    pcp(box, map_request(A.ip, 5000, protocol=TCP))
    pcp(box, map_request(B.ip, 6000), B)
    gone = pcp(box, map_request(A.ip, 5000, 0))
    assert (gone.result, gone.lifetime) == (pc.SUCCESS, 0)
    assert not arrives(box, 5000, A, 5000) and arrives(box, 5001, A, 5001)
    assert pcp(box, map_request(A.ip, 5000, 0)).result == pc.SUCCESS
    assert pcp(box, map_request(A.ip, 0, 0)).result == pc.SUCCESS
    assert box.stats()["pcp_mappings"] == 2
    assert pcp(box, map_request(A.ip, 0, 0, protocol=0)).result == pc.SUCCESS
    assert box.stats()["pcp_mappings"] == 1 and arrives(box, 6000, B, 6000)


def test_limit_of_a_host(start: Start) -> None:
    """The host at its limit may renew and delete; another host has its own."""
    box = quiet(start(CONFIG + "pcp.limit 3\n"))
    for port in range(5000, 5003):
        assert pcp(box, map_request(A.ip, port)).result == pc.SUCCESS
    no = pcp(box, map_request(A.ip, 5003))
    assert (no.result, no.lifetime) == (pc.USER_EX_QUOTA, pc.SHORT)
    assert pmp(box, pmp_map(5003)).result == 4
    assert pcp(box, map_request(A.ip, 5000)).result == pc.SUCCESS
    assert pcp(box, map_request(B.ip, 5003), B).result == pc.SUCCESS
    pcp(box, map_request(A.ip, 5001, 0))
    assert pcp(box, map_request(A.ip, 5003)).result == pc.SUCCESS


def test_limit_of_all(start: Start) -> None:
    """A quarter of nat.sessions; hosts still open sessions then."""
    box = quiet(start(CONFIG + "pcp.limit 4096\n"))
    answers = [pcp(box, map_request(A.ip, port)).result for port in range(5000, 5070)]
    assert answers == [pc.SUCCESS] * 64 + [pc.NO_RESOURCES] * 6
    only(box.ip_from(B, IP(src=B.ip, dst=SERVER) / Udp(sport=1, dport=53)), WAN)


@pytest.mark.parametrize("protocol, port, lifetime, result", [
    (47, 0, 100, pc.UNSUPP_PROTOCOL), (47, 5000, 100, pc.UNSUPP_PROTOCOL), (0, 0, 100, pc.UNSUPP_PROTOCOL),
    (UDP, 0, 100, pc.UNSUPP_PROTOCOL), (0, 5000, 100, pc.MALFORMED_REQUEST), (UDP, 5350, 100, pc.NOT_AUTHORIZED),
    (UDP, 5351, 100, pc.NOT_AUTHORIZED), (TCP, 5351, 100, pc.SUCCESS), (UDP, 1, 100, pc.SUCCESS),
    (UDP, 65535, 100, pc.SUCCESS),
])
def test_what_may_be_mapped(box: Gateway, protocol: int, port: int, lifetime: int, result: int) -> None:
    assert pcp(box, map_request(A.ip, port, lifetime, protocol=protocol)).result == result


def test_beside_port_forwardings(start: Start) -> None:
    """A forwarding of the configuration stays, and its lifetime has no end (section 11.3)."""
    box = quiet(start(CONFIG + f"nat.forward udp 80 {A.ip}:8000\n"))
    got = pcp(box, map_request(A.ip, 8000))
    assert (got.result, got.outside_port, got.lifetime) == (pc.SUCCESS, 80, 0xffffffff)
    assert pcp(box, map_request(A.ip, 8000, 0)).result == pc.NOT_AUTHORIZED
    assert pcp(box, map_request(B.ip, 8000, suggest=80), B).outside_port != 80
    assert arrives(box, 80, A, 8000)


def test_the_port_of_the_other_protocol(start: Start) -> None:
    """It is for the same host only (RFC 6886 section 3.3)."""
    box = quiet(start(CONFIG + f"nat.forward tcp 80 {A.ip}:8000\n"))
    assert pcp(box, map_request(A.ip, 5000)).outside_port == 5000
    for got in (pcp(box, map_request(B.ip, 5000, protocol=TCP), B), pcp(box, map_request(B.ip, 80), B)):
        assert got.result == pc.SUCCESS and got.outside_port not in (80, 5000)
    assert pmp(box, pmp_map(5001, tcp=True, suggest=5000), B).outside_port != 5000
    strict = map_request(B.ip, 5002, protocol=TCP, suggest=5000, options=option(pc.PREFER_FAILURE))
    assert pcp(box, strict, B).result == pc.CANNOT_PROVIDE_EXTERNAL
    assert pcp(box, map_request(A.ip, 5000, protocol=TCP)).outside_port == 5000
    assert pcp(box, map_request(A.ip, 80)).outside_port == 80


def test_epoch(box: Gateway) -> None:
    """It counts seconds (section 8.5)."""
    first = pcp(box, map_request(A.ip, 5000)).epoch
    box.wait(100)
    assert pcp(box, pc.request(A.ip, pc.ANNOUNCE, 0, b"")).epoch - first in (100, 101)
    assert pmp(box, pc.pmp_address()).epoch - first in (100, 101)


def test_another_outer_address(box: Gateway) -> None:
    """The epoch begins again, nothing is mapped, and the hosts are told (sections 8.5 and 14.1)."""
    pcp(box, map_request(A.ip, 5000))
    sent = box.change("address add wan 203.0.113.77/24")
    sent = box.change("address del wan 203.0.113.2/24") + box.wait(0.5)
    assert box.stats()["pcp_mappings"] == 0 and box.stats()["nat_mappings"] == 0
    told = [one for one in sent if one.port == LAN and Udp in one.frame and one.frame[Udp].dport == pc.CLIENT_PORT]
    assert told and pc.parse(bytes(told[0].ip[Udp].payload)).epoch == 0
    assert pcp(box, map_request(A.ip, 5000)).outside == "203.0.113.77"


# --- announcements ------------------------------------------------------------------------------------------------


def test_announcements_after_a_start(start: Start) -> None:
    """Ten times, from 250 ms on doubling, to 224.0.0.1 (RFC 6887 section 14.1, RFC 6886 section 3.2.1)."""
    box = start(CONFIG + MORE)
    sent = list(box.hello) + box.wait(400)
    told = [one for one in sent if Udp in one.frame and one.frame[Udp].dport == pc.CLIENT_PORT]
    assert {one.port for one in told} == {"lan", "lan2", "lan3"}
    mine = [one for one in told if one.port == LAN]
    assert {(one.frame.dst, one.ip.src, one.ip.dst, one.ip[Udp].sport) for one in mine} == {
        ("01:00:5e:00:00:01", INSIDE, "224.0.0.1", pc.PORT)}
    loads = [(one.at, bytes(one.ip[Udp].payload)[:one.ip[Udp].len - 8]) for one in mine]
    for version in (0, 2):
        times = [at for at, load in loads if load[0] == version]
        gaps = [b - a for a, b in pairwise(times)]
        assert len(times) == 10
        assert all(abs(gap - 0.25 * 2 ** i) < 0.2 for i, gap in enumerate(gaps))
    assert {pc.parse(load).opcode for _, load in loads if load[0] == 2} == {pc.ANNOUNCE}
    assert {pc.pmp_parse(load).outside for _, load in loads if load[0] == 0} == {OUTSIDE}


# --- PEER ---------------------------------------------------------------------------------------------------------


def test_peer_for_a_session(box: Gateway) -> None:
    """The session lasts as long as was asked for, without packets, and is nobody else's (section 12)."""
    port = only(box.lan(IP(src=A.ip, dst=SERVER) / Udp(sport=5000, dport=999)), WAN).ip[Udp].sport
    got = pcp(box, peer_request(A.ip, 5000, SERVER, 999, 2000))
    assert (got.opcode, got.result, got.lifetime, got.outside_port, got.outside) == (
        pc.PEER, pc.SUCCESS, 2000, port, OUTSIDE)
    box.wait(10)  # before the session is looked at for the first time: the packet sets its idle time again
    only(box.lan(IP(src=A.ip, dst=SERVER) / Udp(sport=5000, dport=999)), WAN)
    box.wait(990)
    only(box.lan(IP(src=A.ip, dst=SERVER) / Udp(sport=5000, dport=999)), WAN)
    box.wait(990)
    assert arrives(box, port, A, 5000) and not arrives(box, port, A, 5000, source=SERVER2)
    box.wait(700)
    assert box.stats()["nat_sessions"] == 0 and box.stats()["pcp_mappings"] == 0


def test_peer_makes_the_session(box: Gateway) -> None:
    got = pcp(box, peer_request(A.ip, 5000, SERVER, 999, 1000, suggest=7000))
    assert (got.result, got.outside_port) == (pc.SUCCESS, 7000)
    assert only(box.lan(IP(src=A.ip, dst=SERVER) / Udp(sport=5000, dport=999)), WAN).ip[Udp].sport == 7000
    no = pcp(box, peer_request(A.ip, 5000, SERVER2, 999, 1000, suggest=7001))
    assert (no.result, no.lifetime) == (pc.CANNOT_PROVIDE_EXTERNAL, pc.SHORT)
    assert pcp(box, peer_request(A.ip, 5000, SERVER, 999, 1000, nonce=OTHER)).result == pc.NOT_AUTHORIZED


@pytest.mark.parametrize("change, result", [
    ({"protocol": 47}, pc.UNSUPP_PROTOCOL), ({"port": 0}, pc.MALFORMED_REQUEST), ({"remote_port": 0}, 3),
    ({"remote": "224.0.0.1"}, pc.NOT_AUTHORIZED), ({"remote": B.ip}, pc.NOT_AUTHORIZED),
    ({"remote": OUTSIDE}, pc.NOT_AUTHORIZED), ({"remote": "2001:db8::1"}, pc.NOT_AUTHORIZED),
    ({"options": option(pc.PREFER_FAILURE)}, pc.UNSUPP_OPTION),
], ids=lambda value: str(value))
def test_peers_that_are_refused(box: Gateway, change: dict[str, Any], result: int) -> None:
    fields: dict[str, Any] = {"client": A.ip, "port": 5000, "remote": SERVER, "remote_port": 9} | change
    assert pcp(box, peer_request(**fields)).result == result
    assert box.stats()["nat_mappings"] == 0


# --- messages -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options, result", [
    (option(pc.THIRD_PARTY, pc.wide(B.ip)), pc.UNSUPP_OPTION), (option(pc.FILTER, bytes(20)), pc.UNSUPP_OPTION),
    (option(77), pc.UNSUPP_OPTION), (option(200, b"abcde"), pc.SUCCESS), (b"\x02\0\0\x04abcd", pc.MALFORMED_OPTION),
    (b"\xc8\0\xff\xff", pc.MALFORMED_OPTION), (option(pc.PREFER_FAILURE) * 2, pc.MALFORMED_OPTION),
    (b"\xc8\0\0\x05abcd", pc.MALFORMED_OPTION),
], ids=["third-party", "filter", "unknown", "optional", "length", "beyond", "twice", "padding"])
def test_options(box: Gateway, options: bytes, result: int) -> None:
    """Those below 128 must be understood (section 7.3)."""
    data = map_request(A.ip, 5000, options=options)
    answer = ask(box, data)
    assert answer is not None and pc.parse(answer).result == result
    if result:
        assert answer[24:] == data[24:]
    assert box.stats()["pcp_mappings"] == (not result)


def test_headers(box: Gateway) -> None:
    good = map_request(A.ip, 5000)
    for version in (1, 3, 255):
        got = pcp(box, bytes([version]) + good[1:])
        assert (got.result, got.lifetime) == (pc.UNSUPP_VERSION, pc.LONG)
    for opcode in (3, 127):
        assert pcp(box, good[:1] + bytes([opcode]) + good[2:]).result == pc.UNSUPP_OPCODE
    assert pcp(box, map_request(B.ip, 5000)).result == pc.ADDRESS_MISMATCH
    assert pcp(box, map_request("2001:db8::1", 5000)).result == pc.ADDRESS_MISMATCH
    for length in (24, 28, 56, 57, 59):
        assert pcp(box, good[:length]).result == pc.MALFORMED_REQUEST
    for load in (bytes(1100 - 60), bytes(1101 - 60), bytes(1200)):
        got = pcp(box, good + load)
        assert got.result == (pc.UNSUPP_OPTION if len(load) == 1040 else pc.MALFORMED_REQUEST)
    silent = (b"", b"\2", good[:2], good[:23], bytes([2, 0x81]) + good[2:], bytes([3, 0x81]) + good[2:],
              b"\0\x80", b"\0\x81" + bytes(10), b"\0\1", pmp_map(1)[:11])
    for data in silent:
        assert ask(box, data) is None
    assert box.drops()["pcp-message"] == len(silent)
    assert box.stats()["pcp_mappings"] == 0 and box.stats()["nat_mappings"] == 0


@pytest.mark.parametrize("length", [2, 5, 23, 24, 25, 57, 60, 1100, 1101, 1201])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_answers_with_the_request(box: Gateway, version: int, length: int) -> None:
    """The request up to 1100 bytes, with zeros up to a header and a multiple of 4 (section 8.2). Below a header only
    another version is answered.
    """
    data = bytes([version, pc.MAP]) + bytes(i % 251 + 1 for i in range(length - 2))
    answer = ask(box, data)
    if version == 2 and length < 24:
        assert answer is None
        return
    assert answer is not None and answer[0] == 2 and len(answer) == min(max((length + 3) // 4 * 4, 24), 1100)
    assert answer[24:] == data[24:1100] + bytes(len(answer) - max(min(length, 1100), 24))
    whole = length % 4 == 0 and 24 < length <= 1100
    assert pc.parse(answer).result == (pc.UNSUPP_VERSION if version != 2 else pc.ADDRESS_MISMATCH if whole
                                       else pc.ADDRESS_MISMATCH if length == 24 else pc.MALFORMED_REQUEST)


def test_our_outer_address_is_not_served(box: Gateway) -> None:
    """Not even for hosts of the inside (RFC 6886 section 3.3): port unreachable."""
    for data in (map_request(A.ip, 5000), pc.pmp_address()):
        [sent] = box.lan(IP(src=A.ip, dst=OUTSIDE) / Udp(sport=40000, dport=pc.PORT) / Raw(data))
        assert (sent.ip.payload.type, sent.ip.payload.code) == (3, 3)
    assert box.stats()["pcp_requests"] == 0


def test_announce(box: Gateway) -> None:
    got = pcp(box, pc.request(A.ip, pc.ANNOUNCE, 0, b""))
    assert (got.opcode, got.result, got.lifetime, got.rest) == (pc.ANNOUNCE, pc.SUCCESS, 0, b"")


def test_the_outside_is_not_served(box: Gateway) -> None:
    for data in (map_request(SERVER, 5000), pc.pmp_address()):
        assert box.wan(IP(src=SERVER, dst=OUTSIDE) / Udp(sport=40000, dport=pc.PORT) / Raw(data)) == []
    assert box.stats()["pcp_requests"] == 0


def test_without_the_service(gateway: Gateway) -> None:
    """Port unreachable (RFC 6886 section 3.1)."""
    [sent] = gateway.lan(IP(src=A.ip, dst=INSIDE) / Udp(sport=40000, dport=pc.PORT) / Raw(pc.pmp_address()))
    assert sent.ip.payload.type == 3 and sent.ip.payload.code == 3


def test_several_networks(start: Start) -> None:
    """A host of another inside network, and our other addresses."""
    box = quiet(start(CONFIG + MORE))
    assert pcp(box, map_request(C.ip, 5000), C, own="192.168.2.1").outside_port == 5000
    assert pcp(box, map_request(A.ip, 5000), A).outside_port != 5000
    assert arrives(box, 5000, C, 5000)


@pytest.mark.parametrize("app", ["wire", "ivi"])
def test_without_a_nat(start: Start, app: str) -> None:
    if app == "wire":
        start(CONFIG, "wire")
        return
    from ivi import IVI
    assert any("serve pcp: there is no NAT" in line for line in start(IVI.config + "serve pcp\n", "ivi").lines("log"))


# --- NAT-PMP ------------------------------------------------------------------------------------------------------


def test_pmp_address(box: Gateway) -> None:
    got = pmp(box, pc.pmp_address())
    assert (got.opcode, got.result, got.outside) == (128, 0, OUTSIDE)


def test_pmp_address_without_one(start: Start) -> None:
    """Section 3.5: result 3 while the WAN has no lease."""
    box = quiet(start("lan.address 192.168.1.1/24\nwan.address dhcp\n"
                      f"neighbour {A.ip} {A.mac}\nserve pcp\n"))
    got = pmp(box, pc.pmp_address())
    assert (got.opcode, got.result, got.outside) == (128, 3, "0.0.0.0")


@pytest.mark.parametrize("tcp", [False, True])
def test_pmp_map(box: Gateway, tcp: bool) -> None:
    got = pmp(box, pmp_map(5000, 3600, tcp=tcp, suggest=8080))
    assert got == PmpAnswer(129 + tcp, 0, got.epoch, "", 5000, 8080, 3600)
    assert arrives(box, 8080, A, 5000, tcp=tcp)
    gone = pmp(box, pmp_map(5000, 0, tcp=tcp, suggest=8080))
    assert gone == PmpAnswer(129 + tcp, 0, gone.epoch, "", 5000, 0, 0)
    assert not arrives(box, 8080, A, 5000, tcp=tcp, source=SERVER2)


def test_pmp_delete_all(box: Gateway) -> None:
    """Section 3.4: of one protocol; those of PCP clients stay."""
    for port in (5000, 5001):
        pmp(box, pmp_map(port))
    pmp(box, pmp_map(5000, tcp=True))
    pcp(box, map_request(A.ip, 7000))
    assert pmp(box, pmp_map(0, 0)).result == 0
    assert [line.split()[:2] for line in box.lines("sessions") if " any " in line] == [
        ["tcp", f"{A.ip}:5000"], ["udp", f"{A.ip}:7000"]]


def test_pmp_bad_requests(box: Gateway) -> None:
    assert pmp(box, b"\0\x03" + bytes(10)).result == 5
    assert pmp(box, pmp_map(0, 100)).result == 2
    assert pmp(box, pmp_map(5351)).result == 2


def test_pcp_takes_over_what_came_by_pmp(box: Gateway) -> None:
    pmp(box, pmp_map(5000))
    assert pcp(box, map_request(A.ip, 5000)).result == pc.SUCCESS
    assert pmp(box, pmp_map(5000)).result == 2 and box.stats()["pcp_mappings"] == 1


# --- under load ---------------------------------------------------------------------------------------------------


def test_full_of_sessions(start: Start) -> None:
    """Hosts that fill the table take no mapping away, and those who come in by it have the share of a host."""
    box = quiet(start(CONFIG))
    pcp(box, map_request(B.ip, 5000, 86400), B)
    for port in range(1, 400):
        box.lan(IP(src=A.ip, dst=SERVER) / Udp(sport=1024 + port, dport=53))
    assert box.stats()["nat_sessions"] >= 255
    assert arrives(box, 5000, B, 5000)
    box.sim.command("check")


def test_many_hosts_at_random(box: Gateway) -> None:
    """Requests of all kinds in a jumble; the tables stay whole."""
    import random
    dice = random.Random(6887)
    for _ in range(600):
        host = dice.choice((A, B))
        port, life = dice.randrange(5000, 5012), dice.choice((0, 0, 120, 500))
        nonce = dice.choice((NONCE, OTHER))
        kind = dice.randrange(4)
        if kind == 0:
            ask(box, map_request(host.ip, dice.choice((0, port)), life, nonce=nonce, suggest=port ^ 1), host)
        elif kind == 1:
            ask(box, peer_request(host.ip, port, SERVER, dice.randrange(1, 4), life, nonce=nonce), host)
        elif kind == 2:
            ask(box, pmp_map(dice.choice((0, port)), life, tcp=dice.random() < .5), host)
        else:
            box.ip_from(host, IP(src=host.ip, dst=SERVER) / Udp(sport=port, dport=dice.randrange(1, 4)))
        if dice.random() < .1:
            box.wait(dice.choice((1, 60)))
            box.sim.command("check")
    box.wait(2000)
    assert box.stats()["nat_mappings"] == 0 and box.stats()["pcp_mappings"] == 0
