# SPDX-License-Identifier: BSD-2-Clause
"""RFC 5508, NAT behaviour for ICMP (BCP 148), requirement by requirement. test_nat_icmp.py tests more forms of
quotes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from gateway import A, B, INSIDE, LAN, NAT, OUTSIDE, ROUTER, SERVER, SERVER2, WAN, Gateway, Host, Sent, only
from pieces import cut, join
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.packet import Packet, Raw
from scapy.utils import checksum
from tcp import Connection
from test_ip4 import with_options
from traffic import KINDS, answer, frame_of, icmp_kind, open_out, outer, reply, request

Start = Callable[..., Gateway]
ANY = "nat.filtering endpoint-independent\n"
FAR = "192.0.2.99"
ERROR_TYPES = pytest.mark.parametrize(("kind", "code"), [(3, 0), (3, 3), (3, 4), (3, 13), (11, 0), (11, 1), (12, 0)])


def error_about(raw: bytes, kind: int = 3, code: int = 1, **fields: Any) -> Packet:
    return IP(src=FAR, dst=OUTSIDE, **fields) / ICMP(type=kind, code=code) / Raw(raw)


def changed(gateway: Gateway, kind: str = "udp", data: bytes = b"question", *, number: int = 5000,
            options: bytes = b"") -> tuple[bytes, Sent]:
    """A packet from inside whose port had to be changed, as the host sent it and as it left."""
    open_out(gateway, kind, number, host=B)
    packet = IP(src=A.ip, dst=SERVER, flags="DF", id=7) / request(kind, number, data)
    raw = with_options(packet, options) if options else bytes(packet)
    sent = only(gateway.lan(raw), WAN)
    assert outer(sent) != number
    return raw, sent


# --- REQ-1 and 2: queries ---------------------------------------------------------------------------


@pytest.mark.parametrize(("query", "response"), [(8, 0), (13, 14)])
@pytest.mark.parametrize("taken", [False, True])
def test_req1_queries_and_their_replies_pass(gateway: Gateway, query: int, response: int, taken: bool) -> None:
    """REQ-1, for echo and (REQ-10b, MAY) timestamp."""
    if taken:
        only(gateway.ip_from(B, IP(src=B.ip, dst=SERVER) / ICMP(type=query, id=7, seq=1) / Raw(b"")), WAN)
    times = {"ts_ori": 1, "ts_rx": 2, "ts_tx": 3} if query == 13 else {}
    sent = only(gateway.lan(IP(src=A.ip, dst=SERVER) / ICMP(type=query, id=7, seq=3, **times)), WAN)
    assert (sent.ip.src, icmp_kind(sent), sent.frame[ICMP].seq) == (OUTSIDE, (query, 0), 3)
    assert (sent.frame[ICMP].id == 7) is not taken
    message = ICMP(type=response, id=sent.frame[ICMP].id, seq=3, **times)
    back = only(gateway.wan(IP(src=SERVER, dst=OUTSIDE) / message), LAN)
    assert (back.ip.dst, back.frame[ICMP].id, back.frame[ICMP].seq) == (A.ip, 7, 3)
    assert back.raw[42:] == sent.raw[42:]


def test_req1_large_queries_pass(gateway: Gateway) -> None:
    data = random.Random(2).randbytes(8192)
    whole = join([one for part in cut(IP(src=A.ip, dst=SERVER, id=1) / ICMP(id=7) / data) for one in gateway.lan(part)])
    assert bytes(whole[ICMP].payload) == data
    back = IP(src=SERVER, dst=OUTSIDE, id=2) / ICMP(type=0, id=whole[ICMP].id) / data
    assert join([one for part in cut(back)[::-1] for one in gateway.wan(part)]).dst == A.ip


def test_req1a_the_identifier_does_not_depend_on_the_remote_host(gateway: Gateway) -> None:
    """REQ-1a."""
    open_out(gateway, "icmp", 7, host=B)
    numbers = {open_out(gateway, "icmp", 7, to=f"198.51.100.{n}") for n in range(1, 20)}
    assert len(numbers) == 1 and numbers != {7}


@pytest.mark.parametrize("phase", [0, 0.049, 0.05, 0.099, 0.999])
@pytest.mark.virtual
def test_req2_query_sessions_live_a_minute(gateway: Gateway, phase: float) -> None:
    """REQ-2."""
    gateway.wait(phase)
    open_out(gateway, "icmp")
    gateway.wait(59.999)
    assert len(answer(gateway, "icmp", 5000)) == 1
    gateway.wait(2)
    assert answer(gateway, "icmp", 5000) == []


@pytest.mark.virtual
def test_req2a_the_timer_is_configurable(start: Start) -> None:
    gateway = start(NAT + "nat.icmp-timeout 100\n")
    open_out(gateway, "icmp")
    gateway.wait(99)
    assert len(answer(gateway, "icmp", 5000)) == 1


# --- REQ-3: what is checked ----------------------------------------------------------------------------


@ERROR_TYPES
def test_req3_wrong_icmp_checksum(gateway: Gateway, kind: int, code: int) -> None:
    """REQ-3: dropped silently, from either side."""
    _, sent = changed(gateway)
    spoiled = bytearray(bytes(error_about(sent.raw[14:], kind, code)))
    spoiled[-1] ^= 1
    assert gateway.wan(bytes(spoiled)) == []
    got = only(answer(gateway, "udp", outer(sent)), LAN)
    inside = bytearray(bytes(IP(src=A.ip, dst=SERVER) / ICMP(type=kind, code=code) / Raw(bytes(got.ip))))
    inside[-1] ^= 1
    assert gateway.lan(bytes(inside)) == []
    assert gateway.drops() == {"icmp-checksum": 2}


@pytest.mark.parametrize("at", [1, 5, 8, 11])
def test_req3a_wrong_checksum_of_the_quoted_header(gateway: Gateway, at: int) -> None:
    """REQ-3a."""
    _, sent = changed(gateway)
    quote = bytearray(sent.raw[14:])
    quote[at] ^= 4
    assert gateway.wan(error_about(bytes(quote))) == []
    assert gateway.drops() == {"icmp-quote": 1}


@pytest.mark.parametrize("length", [4, 12, 40])
@pytest.mark.parametrize("kind", KINDS)
def test_req3b_options_in_the_quote(gateway: Gateway, kind: str, length: int) -> None:
    """REQ-3b: options are skipped to find the transport header; eight bytes of it are enough."""
    raw, sent = changed(gateway, kind, options=b"\x01" * (length - 1) + b"\0")
    for size in (8, 20):
        got = only(gateway.wan(error_about(sent.raw[14:14 + 20 + length + size])), LAN)
        assert (got.ip.dst, got.quote[20:]) == (A.ip, raw[20:20 + length + size])


@pytest.mark.parametrize("kind", KINDS)
def test_req3c_the_quoted_transport_checksum_is_not_checked(gateway: Gateway, kind: str) -> None:
    """REQ-3c: an error passes although it is wrong, and it stays wrong by the same amount."""
    raw, sent = changed(gateway, kind)
    at = 20 + {"udp": 6, "tcp": 16, "icmp": 2}[kind]
    quote = bytearray(sent.raw[14:])
    quote[-1] ^= 0x55
    got = only(gateway.wan(error_about(bytes(quote)), broken=True), LAN)
    assert got.quote[at:at + 2] == raw[at:at + 2]
    assert got.quote[-1] == raw[-1] ^ 0x55


@pytest.mark.parametrize("kind", KINDS)
def test_req3d_extensions_are_kept(gateway: Gateway, kind: str) -> None:
    """REQ-3d, RFC 4884: padding and extension after the quote are not part of it."""
    raw, sent = changed(gateway, kind, b"12345")
    extension = b"\x20\0" + b"\0\0" + bytes.fromhex("00080101deadbeef")
    extension = extension[:2] + checksum(extension).to_bytes(2, "big") + extension[4:]
    message = bytes.fromhex("0b00000000200000") + sent.raw[14:].ljust(128, b"\0") + extension
    message = message[:2] + checksum(message).to_bytes(2, "big") + message[4:]
    got = only(gateway.wan(IP(src=FAR, dst=OUTSIDE, proto=1) / Raw(message)), LAN)
    assert got.quote[128:] == extension
    assert got.quote[20:len(raw)] == raw[20:] and set(got.quote[len(raw):128]) <= {0}


# --- REQ-4 and 5: where errors go --------------------------------------------------------------------------


@ERROR_TYPES
@pytest.mark.parametrize("kind_of", KINDS)
@pytest.mark.parametrize("size", [8, 12, 200])
def test_req4_errors_from_outside(gateway: Gateway, kind_of: str, size: int, kind: int, code: int) -> None:
    """REQ-4: 4a the quote is what the host sent, 4b type and code stay, 4c the error goes to that host."""
    raw, sent = changed(gateway, kind_of)
    error = IP(src=FAR, dst=OUTSIDE, ttl=9, tos=0xc0) / ICMP(type=kind, code=code, nexthopmtu=1280) / \
        Raw(sent.raw[14:][:20 + size])
    got = only(gateway.wan(error), LAN)
    assert (got.ip.src, got.ip.dst, got.ip.ttl, got.ip.tos) == (FAR, A.ip, 8, 0xc0)
    assert icmp_kind(got) == (kind, code) and got.raw[38:42] == bytes(error)[24:28]
    quote, original = bytearray(got.quote), bytearray(raw[:20 + size])
    assert (quote[8], original[8]) == (63, 64)  # one hop away
    assert quote[:8] == original[:8] and quote[12:] == original[12:]


@ERROR_TYPES
def test_req4_errors_without_a_session_are_dropped(gateway: Gateway, kind: int, code: int) -> None:
    changed(gateway)
    for inner in (IP(src=OUTSIDE, dst=SERVER) / UDP(sport=999, dport=53),
                  IP(src=OUTSIDE, dst=SERVER2) / UDP(sport=5000, dport=53),
                  IP(src=OUTSIDE, dst=SERVER) / TCP(sport=5000, dport=53)):
        assert gateway.wan(error_about(bytes(inner), kind, code)) == []
    assert gateway.drops() == {"no-mapping": 3}


@ERROR_TYPES
@pytest.mark.parametrize("kind_of", KINDS)
@pytest.mark.parametrize("sender", [A.ip, "192.168.1.77"])
def test_req5_errors_from_inside(start: Start, kind_of: str, sender: str, kind: int, code: int) -> None:
    """REQ-5: 5a, 5b as above; 5c: the source is the public address, whichever inside host sent the error."""
    gateway = start(NAT + "nat.pool 203.0.113.40-203.0.113.47\n")
    open_out(gateway, kind_of, host=B)
    sent = only(gateway.lan(IP(src=A.ip, dst=SERVER) / request(kind_of, 5000)), WAN)
    came = IP(src=SERVER, dst=sent.ip.src, id=9) / reply(kind_of, outer(sent), b"an answer of some length")
    got = only(gateway.wan(came), LAN)
    error = IP(src=sender, dst=SERVER, tos=0xc0) / ICMP(type=kind, code=code) / Raw(got.raw[14:42])
    told = only(gateway.lan(error), WAN)
    assert (told.ip.src, told.ip.dst, told.ip.tos, icmp_kind(told)) == (sent.ip.src, SERVER, 0xc0, (kind, code))
    assert (told.quote[12:20], told.quote[20:28]) == (bytes(came)[12:20], bytes(came)[20:28])


def test_req5_errors_from_inside_without_a_session_are_dropped(gateway: Gateway) -> None:
    open_out(gateway)
    for inner in (IP(src=SERVER, dst=A.ip) / UDP(sport=53, dport=5001),
                  IP(src=SERVER2, dst=A.ip) / UDP(sport=53, dport=5000),
                  IP(src=SERVER, dst=B.ip) / UDP(sport=53, dport=5000)):
        assert gateway.lan(IP(src=A.ip, dst=SERVER) / ICMP(type=3, code=3) / Raw(bytes(inner))) == []
    assert gateway.drops() == {"no-mapping": 3}


@pytest.mark.parametrize("kind", [3, 4, 5, 11, 12])
@pytest.mark.virtual
def test_req6_errors_neither_refresh_nor_end_a_query_session(gateway: Gateway, kind: int) -> None:
    """REQ-6, for errors about the query (from outside) and about the reply (from inside)."""
    sent = only(gateway.lan(IP(src=A.ip, dst=SERVER) / ICMP(id=5000)), WAN)
    for _ in range(2):
        gateway.wait(29.9)
        gateway.wan(error_about(sent.raw[14:], kind, 0))
        back = only(answer(gateway, "icmp", 5000), LAN)  # not ended
        gateway.lan(IP(src=A.ip, dst=SERVER) / ICMP(type=kind) / Raw(bytes(back.ip)))
    gateway.wait(2)
    assert answer(gateway, "icmp", 5000) == []  # not refreshed


@pytest.mark.parametrize("pool", ["", "nat.pool 203.0.113.40-203.0.113.47\n"])
@pytest.mark.parametrize("kind_of", ["udp", "tcp"])
@ERROR_TYPES
def test_req7_hairpinned_errors(start: Start, pool: str, kind_of: str, kind: int, code: int) -> None:
    """REQ-7 and 7a: from the external address of one inside host to the other, about a packet that the other sent."""
    gateway = start(NAT + ANY + pool)
    mine = only(gateway.lan(IP(src=A.ip, dst=SERVER) / request(kind_of, 7000)), WAN)
    target = only(gateway.ip_from(B, IP(src=B.ip, dst=SERVER) / request(kind_of, 7000)), WAN)
    packet = IP(src=A.ip, dst=target.ip.src) / request(kind_of, 7000, b"hello", dport=outer(target))
    seen = only(gateway.lan(packet), LAN)
    assert seen.ip.dst == B.ip
    error = IP(src=B.ip, dst=seen.ip.src) / ICMP(type=kind, code=code) / Raw(bytes(seen.ip)[:28])
    told = only(gateway.ip_from(B, error), LAN)
    assert (told.ip.src, told.ip.dst, icmp_kind(told)) == (target.ip.src, A.ip, (kind, code))
    assert told.quote[12:28] == bytes(packet)[12:28]
    assert mine.ip.src == seen.ip.src


# --- REQ-8 to 11 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_req8_refused_for_lack_of_room(start: Start, kind: str) -> None:
    """REQ-8: ICMP 3/13 to the sender."""
    gateway = start(NAT.replace("nat.sessions 256", "nat.sessions 100"))
    for number in range(100):
        assert open_out(gateway, kind, 2000 + number) == 2000 + number
    told = only(gateway.lan(IP(src=A.ip, dst=SERVER) / request(kind, 5000)), LAN)
    assert (icmp_kind(told), told.ip.src, IP(told.quote).dst) == ((3, 13), INSIDE, SERVER)
    stats = gateway.stats()
    assert (gateway.drops(), stats["nat_table_full"], stats["nat_sessions"]) == ({"table-full": 1}, 1, 100)
    assert len(answer(gateway, kind, 2000)) == 1


def test_req8_refused_by_the_administrator(start: Start) -> None:
    """REQ-8: nat.host-limit."""
    gateway = start(NAT + "nat.host-limit 3\n")
    for number in range(3):
        open_out(gateway, number=2000 + number)
    told = only(gateway.lan(IP(src=A.ip, dst=SERVER) / request("udp", 5000)), LAN)
    assert icmp_kind(told) == (3, 13)
    assert gateway.drops() == {"host-limit": 1}
    assert open_out(gateway, number=5000, host=B) == 5000


def test_req10a_destination_unreachable_of_our_own(start: Start) -> None:
    """REQ-10a1 and section 7.1: no route 3/0; too big 3/4 with the MTU."""
    gateway = start(NAT.replace(f"gateway {ROUTER.ip}\n", "") + "wan.mtu 1400\n")
    told = only(gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=53)), LAN)
    assert icmp_kind(told) == (3, 0)
    big = IP(src=A.ip, dst=ROUTER.ip, flags="DF") / UDP(sport=5000, dport=53) / bytes(1400)
    told = only(gateway.lan(big), LAN)
    assert (icmp_kind(told), told.raw[40:42]) == ((3, 4), (1400).to_bytes(2, "big"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ttl", [0, 1])
def test_req10a_time_exceeded_of_our_own(gateway: Gateway, kind: str, ttl: int) -> None:
    """REQ-10a2 and section 7.2: the error quotes the packet that the sender sent, on either side; no session is
    opened."""
    told = only(gateway.lan(IP(src=A.ip, dst=SERVER, ttl=ttl) / request(kind, 5000)), LAN)
    assert (icmp_kind(told), told.ip.src, IP(told.quote).src) == ((11, 0), INSIDE, A.ip)
    assert gateway.stats()["nat_sessions"] == 0
    open_out(gateway, kind)
    told = only(gateway.wan(IP(src=SERVER, dst=OUTSIDE, ttl=ttl) / reply(kind, 5000)), WAN)
    assert (icmp_kind(told), told.ip.src, IP(told.quote).dst) == ((11, 0), OUTSIDE, OUTSIDE)


def test_req10a_echo_to_the_gateway(gateway: Gateway) -> None:
    """REQ-10a3, and section 7.1 for the gateway's own addresses."""
    for host, own in ((A, INSIDE), (A, OUTSIDE), (ROUTER, OUTSIDE)):
        back = only(gateway.ip_from(host, IP(src=host.ip, dst=own) / ICMP(id=3, seq=4) / b"x"), host.port)
        assert (back.ip.src, back.ip.dst, icmp_kind(back)) == (own, host.ip, (0, 0))


def test_req10b_parameter_problem_passes(gateway: Gateway) -> None:
    _, sent = changed(gateway)
    message = ICMP(type=12, code=0, ptr=20) / Raw(sent.raw[14:])
    got = only(gateway.wan(IP(src=FAR, dst=OUTSIDE) / message), LAN)
    assert (icmp_kind(got), got.raw[38]) == ((12, 0), 20)


@pytest.mark.parametrize("kind", [4, 15, 16])
def test_req10c_source_quench_and_information_are_not_supported(gateway: Gateway, kind: int) -> None:
    """REQ-10c."""
    _, sent = changed(gateway)
    assert gateway.wan(IP(src=SERVER, dst=OUTSIDE) / ICMP(type=kind) / Raw(sent.raw[14:])) == []
    assert gateway.lan(IP(src=A.ip, dst=SERVER) / ICMP(type=kind) / Raw(sent.raw[14:])) == []


@pytest.mark.parametrize("packet", [
    IP(src=A.ip, dst=SERVER, ttl=1) / ICMP(type=3) / Raw(bytes(28)),
    IP(src=A.ip, dst="224.0.0.5", ttl=1) / UDP(), IP(src=A.ip, dst="192.168.1.255", ttl=1) / UDP(),
    IP(src=A.ip, dst=SERVER, ttl=1, frag=5) / Raw(bytes(20)),
    IP(src="0.0.0.0", dst=SERVER, ttl=1) / UDP(), IP(src="224.0.0.1", dst=SERVER, ttl=1) / UDP(),
], ids=["error", "group", "broadcast", "fragment", "nobody", "from-group"])
def test_req10e_when_not_to_send_errors(gateway: Gateway, packet: Packet) -> None:
    """REQ-10e: RFC 1812 section 4.3.2.7."""
    assert gateway.lan(packet) == []
    assert gateway.stats()["icmp_errors_sent"] == 0


@pytest.mark.virtual
def test_req10f_errors_are_limited(start: Start) -> None:
    """REQ-10f: RFC 1812 section 4.3.2.8; also for the errors of a full table."""
    gateway = start(NAT + "nat.host-limit 1\n")
    open_out(gateway)
    gateway.wait(5)
    frames = [frame_of(A, IP(src=A.ip, dst=SERVER) / UDP(sport=6000 + n, dport=53)) for n in range(300)]
    # An error costs one or two of an addressee's fifty, so that nobody can count the errors that others caused.
    assert 25 <= sum(len(sent) for sent in gateway.send_many(frames)) <= 50
    assert gateway.drops() == {"host-limit": 300}


def test_s71_too_big_from_outside_is_forwarded(gateway: Gateway) -> None:
    """Section 7.1: a 3/4 of a router on the way reaches the sender with its MTU."""
    raw, sent = changed(gateway, "tcp")
    message = ICMP(type=3, code=4, nexthopmtu=1300) / Raw(sent.raw[14:42])
    got = only(gateway.wan(IP(src=FAR, dst=OUTSIDE) / message), LAN)
    assert (icmp_kind(got), got.raw[40:42], got.quote[20:]) == ((3, 4), (1300).to_bytes(2, "big"), raw[20:28])


@pytest.mark.parametrize("option", [131, 137])
def test_s73_source_routes_do_not_pass(gateway: Gateway, option: int) -> None:
    """Section 7.3: outbound ICMP with a source route is not forwarded."""
    options = bytes((option, 7, 4)) + bytes((198, 51, 100, 9)) + b"\0"
    assert gateway.lan(with_options(IP(src=A.ip, dst=SERVER) / ICMP(id=5), options)) == []
    assert gateway.drops() == {"source-route": 1}


@pytest.mark.parametrize("kind", [1, 2, 5, 6, 9, 10, 17, 18, 30, 40, 41, 42, 253, 255])
def test_req11_other_messages_are_dropped(gateway: Gateway, kind: int) -> None:
    """REQ-11, MAY."""
    assert gateway.wan(IP(src=SERVER, dst=OUTSIDE) / ICMP(type=kind) / Raw(bytes(20))) == []
    assert gateway.lan(IP(src=A.ip, dst=SERVER) / ICMP(type=kind) / Raw(bytes(20))) == []
    assert gateway.drops() == {"icmp-type": 2}


def test_errors_do_not_change_the_tcp_state(gateway: Gateway) -> None:
    """RFC 5382 REQ-10 beside REQ-6: an error from inside about a segment does not change it either."""
    connection = Connection(gateway).establish()
    got = only(connection.back("PA", b"data"), LAN)
    only(gateway.lan(IP(src=A.ip, dst=SERVER) / ICMP(type=3, code=3) / Raw(bytes(got.ip))), WAN)
    assert connection.state == "established"


def test_a_host_behind_the_lan_keeps_its_errors(start: Start) -> None:
    """An inside router, whose address has no mapping, sends an error about a packet that it could not deliver."""
    gateway = start(NAT + "lan.address 10.0.0.1/8\n" + f"neighbour 10.0.0.9 {A.mac}\n")
    deep = Host(LAN, "10.0.0.9", A.mac)
    port = open_out(gateway, number=5000, host=deep)
    got = only(answer(gateway, "udp", port), LAN)
    told = only(gateway.lan(IP(src=A.ip, dst=SERVER) / ICMP(type=3, code=1) / Raw(bytes(got.ip))), WAN)
    assert (told.ip.src, IP(told.quote).dst) == (OUTSIDE, OUTSIDE)
