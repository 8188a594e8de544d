# SPDX-License-Identifier: BSD-2-Clause
"""IPv4: which packets are accepted, where they go, how they are fragmented (RFC 791, RFC 1812)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from gateway import (
    A, ADDRESSES, B, BROADCAST, INSIDE, LAN, NAT, NEAR, NEIGHBOURS, OUTSIDE, PORT_MAC, ROUTER, SERVER, WAN,
    Gateway, Host, Sent, only,
)
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

Start = Callable[..., Gateway]


def udp(**fields: Any) -> Packet:
    return IP(**{"src": A.ip, "dst": SERVER, **fields}) / UDP(sport=4000, dport=53) / b"question"


def with_options(packet: Packet, options: bytes) -> bytes:
    """A packet with these option bytes, well formed or not (scapy would correct them)."""
    raw = bytes(packet)
    options += bytes(-len(options) % 4)
    raw = raw[:20] + options + raw[20:]
    raw = changed(raw, 2, len(raw), 2, fix=False)
    return changed(raw, 0, 0x45 + len(options) // 4)


def changed(packet: Packet | bytes, at: int, value: int, size: int = 1, *, fix: bool = True) -> bytes:
    """The packet with one field overwritten and its header checksum corrected."""
    raw = bytearray(bytes(packet))
    raw[at:at + size] = value.to_bytes(size, "big")
    if fix:
        raw[10:12] = b"\0\0"
        words = [int.from_bytes(raw[i:i + 2], "big") for i in range(0, (raw[0] & 15) * 4, 2)]
        total = sum(words)
        while total >> 16:
            total = (total & 0xffff) + (total >> 16)
        raw[10:12] = (total ^ 0xffff).to_bytes(2, "big")
    return bytes(raw)


# --- packets that are not accepted ----------------------------------------------------------------------


@pytest.mark.parametrize(("packet", "reason"), [
    (b"", "ip-header"),
    (b"\x45", "ip-header"),
    (bytes(udp())[:19], "ip-header"),
    (changed(udp(), 0, 0x55), "ip-header"),
    (changed(udp(), 0, 0x65), "ip-header"),
    (changed(udp(), 0, 0x44), "ip-header"),
    (changed(udp(), 0, 0x40, fix=False), "ip-header"),
    (changed(udp(), 2, 19, 2), "ip-length"),
    (changed(udp(), 2, 0, 2), "ip-length"),
    (changed(udp(), 2, 2000, 2), "ip-length"),
    (changed(udp(), 2, 65535, 2), "ip-length"),
    (bytes(udp())[:-1], "ip-length"),
    (changed(udp(), 0, 0x4f, fix=False), "ip-length"),  # header longer than the packet
    (changed(udp(), 10, 0x1234, 2, fix=False), "ip-checksum"),
    (changed(udp(), 8, 63, fix=False), "ip-checksum"),
    (changed(with_options(udp(), b"\x94\x04\0\0"), 21, 5, fix=False), "ip-checksum"),
    (with_options(udp(), b"\x83\x07\x04" + bytes(4)), "source-route"),
    (with_options(udp(), b"\x89\x07\x04" + bytes(4)), "source-route"),
    (with_options(udp(), b"\x01\x83\x07\x04" + bytes(4)), "source-route"),
])
@pytest.mark.virtual
def test_bad_header_is_dropped_for_its_reason(gateway: Gateway, packet: Packet | bytes, reason: str) -> None:
    assert gateway.lan(packet) == []
    assert gateway.drops() == {reason: 1}


@pytest.mark.parametrize(("options", "pointer"), [
    (b"\x94\x00\x00\x00", 20),  # length below 2
    (b"\x94\x01\x00\x00", 20),
    (b"\x94\x05\x00\x00", 20),  # beyond the header
    (b"\x01\x01\x01\x94", 23),  # no room for the length
    (b"\x01\x94\x04\x00", 21),
    (b"\x07\x04\x04\x00\x44\x28\x05\x00", 24),
])
def test_malformed_options_are_reported(gateway: Gateway, options: bytes, pointer: int) -> None:
    """Parameter problem with the offset of the bad octet (RFC 1812 section 5.3.13)."""
    error = only(gateway.lan(with_options(udp(), options)), LAN)
    icmp = error.frame[ICMP]
    assert (icmp.type, icmp.code, icmp.ptr) == (12, 0, pointer)
    assert gateway.drops() == {"ip-options": 1}


BAD_OPTION = b"\x94\x05\x00\x00"
SEVERAL = NAT + "nat.pool 203.0.113.40-203.0.113.41\nwan.address 203.0.113.60/24\n"


@pytest.mark.parametrize(("app", "config", "ours"), [
    ("nat", NAT, [OUTSIDE]),
    ("nat", SEVERAL, [OUTSIDE, "203.0.113.40", "203.0.113.41", "203.0.113.60"]),
    ("6to4", ADDRESSES + NEIGHBOURS + "6to4.address 203.0.113.2\n", [OUTSIDE]),
    ("6to4", ADDRESSES + NEIGHBOURS + "6to4.address 203.0.113.2\n6to4.nat off\n", [OUTSIDE]),
    ("dns64", ADDRESSES + NEIGHBOURS + f"nameserver {SERVER}\n", [OUTSIDE]),
], ids=["nat", "pool", "6to4", "6to4-alone", "dns64"])
@pytest.mark.virtual
def test_malformed_options_of_a_packet_to_somebody_else(start: Start, app: str, config: str, ours: list[str]) -> None:
    """Outside, the gateway reports only packets to its own addresses; others are dropped silently (RFC 1122
    3.2.1.3)."""
    gateway = start(config, app)
    others = ["203.0.113.77", SERVER, A.ip, "192.168.77.1", "203.0.113.42"]
    for number, destination in enumerate(others, 1):
        question = IP(src=NEAR.ip, dst=destination) / UDP(sport=4000, dport=53)
        assert gateway.ip_from(NEAR, with_options(question, BAD_OPTION)) == []
        assert gateway.drops()["ip-options"] == number
    for destination in ours:
        question = IP(src=NEAR.ip, dst=destination) / UDP(sport=4000, dport=53)
        error = only(gateway.ip_from(NEAR, with_options(question, BAD_OPTION)), WAN)
        assert (error.frame[ICMP].type, error.frame[ICMP].code, error.frame[ICMP].ptr) == (12, 0, 20)


@pytest.mark.parametrize("config", [("dns64", f"nameserver {SERVER}\n"), ("6to4", "6to4.nat off\n")],
                         ids=["dns64", "6to4-alone"])
@pytest.mark.virtual
def test_malformed_options_where_nothing_is_forwarded(start: Start, config: tuple[str, str]) -> None:
    """Where IPv4 is not forwarded, the gateway reports only packets to itself, also inside."""
    gateway = start(ADDRESSES + NEIGHBOURS + config[1], config[0])
    assert gateway.lan(with_options(udp(), BAD_OPTION)) == []
    assert gateway.lan(with_options(udp(dst=B.ip), BAD_OPTION)) == []
    assert only(gateway.lan(with_options(udp(dst=INSIDE), BAD_OPTION)), LAN).frame[ICMP].type == 12
    assert gateway.drops() == {"ip-options": 3}


@pytest.mark.parametrize("options", [
    b"\x00\xff\xff\xff",  # bytes after the end of the list do not matter
    b"\x01\x01\x01\x00",
    b"\x94\x04\x00\x00",
    b"\xff\x03\x05\x00",  # an unknown option
])
def test_well_formed_options_pass_unchanged(gateway: Gateway, options: bytes) -> None:
    sent = only(gateway.lan(with_options(udp(), options)), WAN)
    assert sent.raw[34:34 + len(options)] == options
    assert bytes(sent.ip[UDP].payload) == b"question"


@pytest.mark.parametrize(("options", "left"), [
    (b"\x07\x27\x08" + b"\xc0\xa8\x01\x01" * 9 + b"\0", b"\x01" * 39 + b"\0"),
    (b"\x07\x03\x04\0", b"\x01\x01\x01\0"),
    (b"\x44\x0c\x0d\x01\xc0\xa8\x01\x01\0\0\0\x07", b"\x01" * 12),
    (b"\x44\x08\x05\x00\0\0\0\x07", b"\x01" * 8),
    (b"\x94\x04\0\0\x07\x07\x04\x0a\0\0\x01\x44\x04\x05\0\0", b"\x94\x04\0\0" + b"\x01" * 11 + b"\0"),
])
def test_recorded_routes_and_times_are_blanked(gateway: Gateway, options: bytes, left: bytes) -> None:
    """Neither addresses nor clocks of inside routers are visible outside, nor those of outside routers inside."""
    sent = only(gateway.lan(with_options(udp(), options)), WAN)
    size = len(left)
    assert sent.raw[14] == 0x45 + size // 4
    assert sent.raw[34:34 + size] == left
    assert bytes(sent.ip[UDP].payload) == b"question"
    back = IP(src=SERVER, dst=OUTSIDE) / UDP(sport=53, dport=sent.ip[UDP].sport) / b"answer"
    got = only(gateway.wan(with_options(back, options)), LAN)
    assert got.raw[34:34 + size] == left
    assert bytes(got.ip[UDP].payload) == b"answer"


def test_packets_with_and_without_options_share_a_session(gateway: Gateway) -> None:
    """The flow cache is looked up before options are parsed; a wrong hit does not create a second session."""
    for options in (b"", b"\x01\x01\x01\x00", b"\x07\x07\x04\0\0\0\0\0", b""):
        only(gateway.lan(with_options(udp(), options) if options else udp()), WAN)
        assert gateway.stats()["nat_sessions"] == 1


@pytest.mark.parametrize(("frame", "reason"), [
    (b"", "runt"),
    (bytes(Ether(src=A.mac, dst=PORT_MAC[LAN], type=0x800))[:13], "runt"),
    (Ether(src=A.mac, dst=B.mac) / udp(), "not-ours"),
    (Ether(src=A.mac, dst=PORT_MAC[WAN]) / udp(), "not-ours"),
    (Ether(src=A.mac, dst=PORT_MAC[LAN], type=0x86DD) / Raw(b"\x60" + bytes(39)), "ipv6"),
    (Ether(src=A.mac, dst=PORT_MAC[LAN], type=0x8100) / Raw(b"\0\1\x08\0" + bytes(udp())), "vlan"),
    (Ether(src=A.mac, dst=PORT_MAC[LAN], type=46) / Raw(bytes(46)), "ethertype"),
    (Ether(src=A.mac, dst=BROADCAST) / udp(), "multicast"),
    (Ether(src=A.mac, dst="01:00:5e:00:00:05") / udp(dst="224.0.0.5"), "multicast"),
])
@pytest.mark.virtual
def test_bad_frame_is_dropped_for_its_reason(gateway: Gateway, frame: Packet | bytes, reason: str) -> None:
    assert gateway.send(LAN, frame) == []
    assert gateway.drops() == {reason: 1}


@pytest.mark.virtual
def test_link_broadcast_is_not_forwarded_in_a_session_either(gateway: Gateway) -> None:
    """RFC 1812 section 5.3.4."""
    only(gateway.lan(udp()), WAN)
    for mac in (BROADCAST, "01:00:5e:00:00:05"):
        assert gateway.send(LAN, Ether(src=A.mac, dst=mac) / udp()) == []
        back = IP(src=SERVER, dst=OUTSIDE) / UDP(sport=53, dport=4000)
        assert gateway.send(WAN, Ether(src=ROUTER.mac, dst=mac) / back) == []
    assert gateway.drops() == {"multicast": 4}


@pytest.mark.parametrize("source", [
    "0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
    INSIDE, OUTSIDE,  # the gateway itself
    "192.168.1.0", "192.168.1.255",  # not a host's address
    NEAR.ip, SERVER,  # on the other side
])
def test_martian_source(gateway: Gateway, source: str) -> None:
    assert gateway.lan(udp(src=source)) == []
    assert gateway.lan(IP(src=source, dst=INSIDE) / ICMP()) == []
    assert gateway.drops() == {"martian-source": 2}


@pytest.mark.parametrize("source", ["0.0.0.0", "127.0.0.1", "224.0.0.1", A.ip, INSIDE, OUTSIDE, "203.0.113.255"])
def test_martian_source_outside(gateway: Gateway, source: str) -> None:
    gateway.lan(udp())
    before = gateway.drops()
    assert before == {}
    assert gateway.wan(IP(src=source, dst=OUTSIDE) / ICMP()) == []
    assert gateway.wan(IP(src=source, dst=OUTSIDE) / UDP(sport=53, dport=4000)) == []
    assert gateway.drops() == {"martian-source": 2}


@pytest.mark.parametrize(("destination", "reason"), [
    ("224.0.0.251", "multicast"), ("239.255.255.250", "multicast"), ("255.255.255.255", "multicast"),
    ("192.168.1.255", "multicast"), ("192.168.1.0", "multicast"), ("203.0.113.255", "multicast"),
    ("127.0.0.1", "martian-destination"), ("0.0.0.0", "martian-destination"), ("240.0.0.1", "martian-destination"),
])
def test_destination_that_is_no_host(gateway: Gateway, destination: str, reason: str) -> None:
    assert gateway.lan(udp(dst=destination)) == []
    assert gateway.drops() == {reason: 1}
    # No error is ever sent about it.
    assert gateway.lan(udp(dst=destination, ttl=1)) == []
    assert gateway.lan(with_options(udp(dst=destination), b"\x94\x05\0\0")) == []


def test_ethernet_padding_is_removed(gateway: Gateway) -> None:
    packet = IP(src=A.ip, dst=SERVER) / UDP(sport=4000, dport=53) / b"x"
    frame = bytes(Ether(src=A.mac, dst=PORT_MAC[LAN]) / packet).ljust(60, b"\xee")
    sent = only(gateway.send(LAN, frame), WAN)
    assert len(sent.raw) == 14 + len(packet)


# --- time to live --------------------------------------------------------------------------------


@pytest.mark.parametrize("ttl", [2, 64, 255])
def test_ttl_is_lowered_by_one_each_way(gateway: Gateway, ttl: int) -> None:
    assert only(gateway.lan(udp(ttl=ttl)), WAN).ip.ttl == ttl - 1
    back = IP(src=SERVER, dst=OUTSIDE, ttl=ttl) / UDP(sport=53, dport=4000)
    assert only(gateway.wan(back), LAN).ip.ttl == ttl - 1


@pytest.mark.parametrize("ttl", [0, 1])
def test_expired_ttl_is_reported(gateway: Gateway, ttl: int) -> None:
    error = only(gateway.lan(udp(ttl=ttl, id=77)), LAN)
    icmp = error.frame[ICMP]
    assert (error.ip.src, error.ip.dst, icmp.type, icmp.code) == (INSIDE, A.ip, 11, 0)
    assert error.quote[:len(udp())] == bytes(udp(ttl=ttl, id=77))
    assert gateway.drops() == {"ttl": 1}
    assert gateway.lines("sessions") == []


def test_expired_ttl_from_outside_is_reported(gateway: Gateway) -> None:
    gateway.lan(udp())
    packet = IP(src=SERVER, dst=OUTSIDE, ttl=1) / UDP(sport=53, dport=4000) / b"late"
    error = only(gateway.wan(packet), WAN)
    icmp = error.frame[ICMP]
    assert (error.ip.src, error.ip.dst, icmp.type, icmp.code) == (OUTSIDE, SERVER, 11, 0)
    assert error.quote == bytes(packet)


def test_ttl_does_not_matter_at_the_destination(gateway: Gateway) -> None:
    assert only(gateway.lan(IP(src=A.ip, dst=INSIDE, ttl=1) / ICMP()), LAN).frame[ICMP].type == 0


# --- routes --------------------------------------------------------------------------------------


ROUTES = ADDRESSES + NEIGHBOURS + f"""\
nat.sessions 100
route 198.51.100.0/24 via {NEAR.ip}
route 198.51.100.7/32 via {ROUTER.ip}
route 198.51.100.64/26 via {ROUTER.ip}
route 10.0.0.0/8 via {B.ip}
route 10.1.0.0/16 via {A.ip}
"""


@pytest.mark.parametrize(("destination", "hop"), [
    (SERVER, ROUTER), ("198.51.100.8", NEAR), ("198.51.100.63", NEAR), ("198.51.100.64", ROUTER),
    ("198.51.100.127", ROUTER), ("198.51.100.128", NEAR), ("192.0.2.1", ROUTER), (NEAR.ip, NEAR),
])
def test_longest_prefix_wins(start: Start, destination: str, hop: Host) -> None:
    gateway = start(ROUTES)
    assert only(gateway.lan(udp(dst=destination)), WAN).frame.dst == hop.mac


def test_routes_inside_are_plain_forwarding(start: Start) -> None:
    gateway = start(ROUTES)
    for destination, hop in (("10.0.0.1", B), ("10.1.2.3", A), (B.ip, B)):
        packet = udp(dst=destination, ttl=9)
        sent = only(gateway.lan(packet), LAN)
        assert sent.frame.dst == hop.mac
        assert (sent.ip.src, sent.ip.dst, sent.ip.ttl) == (A.ip, destination, 8)
        assert bytes(sent.ip.payload) == bytes(packet.payload)
    # A host behind an inside router is an inside host.
    assert only(gateway.ip_from(B, udp(src="10.9.9.9")), WAN).ip.src == OUTSIDE
    assert gateway.lan(udp(src="172.16.0.1")) == []
    assert gateway.drops() == {"martian-source": 1}


def test_no_route_is_reported(start: Start) -> None:
    gateway = start(f"lan.address {INSIDE}/24\nwan.address {OUTSIDE}/24\n" + NEIGHBOURS + "nat.sessions 100\n")
    error = only(gateway.lan(udp()), LAN)
    assert (error.frame[ICMP].type, error.frame[ICMP].code) == (3, 0)
    assert gateway.drops() == {"no-route": 1}


def test_foreign_destination_from_outside(gateway: Gateway) -> None:
    """Outside hosts cannot route packets through the gateway, not even to inside addresses."""
    for destination in (A.ip, INSIDE, SERVER, "203.0.113.77"):
        assert gateway.wan(IP(src=NEAR.ip, dst=destination) / UDP(sport=1, dport=2)) == []
    assert gateway.drops() == {"foreign": 4}


# --- fragments -----------------------------------------------------------------------------------


def reassemble(pieces: Sequence[Sent]) -> tuple[bytes, list[int]]:
    """The payload of fragments, which must have no gap or overlap, and the offset of each."""
    ips = [piece.ip for piece in pieces]
    assert len({(ip.src, ip.dst, ip.id, ip.proto, ip.tos) for ip in ips}) == 1
    payload, starts = b"", []
    for ip, last in zip(ips, [*itertools.repeat(False, len(ips) - 1), True]):
        assert ip.frag * 8 == len(payload)
        assert bool(ip.flags.MF) != last
        assert not ip.flags.DF
        starts.append(len(payload))
        data = bytes(ip)[ip.ihl * 4:ip.len]
        assert last or len(data) % 8 == 0
        payload += data
    return payload, starts


@pytest.mark.parametrize("size", [1253, 1260, 1400, 1472])
def test_large_packet_is_fragmented_outwards(start: Start, size: int) -> None:
    gateway = start(NAT + "wan.mtu 1280\n")
    data = bytes(n * 7 & 255 for n in range(size))
    packet = IP(src=A.ip, dst=SERVER, id=0x1234, tos=0xb8, ttl=17) / UDP(sport=4000, dport=53) / data
    pieces = gateway.lan(packet)
    assert {(one.port, one.ip.ttl, one.ip.src) for one in pieces} == {(WAN, 16, OUTSIDE)}
    payload, starts = reassemble(pieces)
    assert starts == [0, 1256]
    whole = IP(bytes(IP(src=OUTSIDE, dst=SERVER, proto=17) / payload))
    assert bytes(whole[UDP].payload) == data
    given = whole[UDP].chksum
    del whole[UDP].chksum
    assert UDP(bytes(whole[UDP])).chksum == given


def test_packet_of_exactly_the_mtu_is_not_fragmented(start: Start) -> None:
    gateway = start(NAT + "wan.mtu 1280\n")
    packet = IP(src=A.ip, dst=SERVER) / UDP(sport=4000, dport=53) / bytes(1252)
    assert len(packet) == 1280
    assert not only(gateway.lan(packet), WAN).ip.flags.MF


def test_large_packet_is_fragmented_inwards(start: Start) -> None:
    gateway = start(NAT + "lan.mtu 1280\n")
    gateway.lan(udp())
    data = bytes(n * 3 & 255 for n in range(1400))
    pieces = gateway.wan(IP(src=SERVER, dst=OUTSIDE) / UDP(sport=53, dport=4000) / data)
    assert {(one.port, one.ip.dst) for one in pieces} == {(LAN, A.ip)}
    assert reassemble(pieces)[0][8:] == data


def test_fragment_is_fragmented_further(start: Start) -> None:
    """Offsets continue, and the last part of a middle fragment keeps the more-fragments flag."""
    gateway = start(NAT + "lan.mtu 1280\n")
    data = bytes(range(256)) * 6
    fragment = IP(src=A.ip, dst=B.ip, flags="MF", frag=100, id=5, proto=17) / Raw(data[:1400])
    pieces = gateway.lan(fragment)
    assert [(one.ip.frag, bool(one.ip.flags.MF)) for one in pieces] == [(100, True), (257, True)]
    assert b"".join(bytes(one.ip.payload) for one in pieces) == data[:1400]


def test_options_with_the_copy_bit_go_into_every_fragment(start: Start) -> None:
    """RFC 791 section 3.1: router alert (148) is copied, record route (7) is not."""
    gateway = start(NAT + "lan.mtu 1280\n")
    options = b"\x07\x07\x04" + bytes(4) + b"\x94\x04\x00\x00\x01"
    data = bytes(n * 5 & 255 for n in range(2000 - 1)) + b"!"
    packet = with_options(IP(src=A.ip, dst=B.ip, proto=17, id=9) / Raw(data[:1450]), options)
    pieces = gateway.lan(packet)
    assert len(pieces) == 2
    assert reassemble(pieces)[0] == data[:1450]
    assert pieces[0].raw[34:46] == options
    assert pieces[1].raw[34:38] == b"\x94\x04\x00\x00"
    assert [piece.ip.ihl for piece in pieces] == [8, 6]


@pytest.mark.parametrize("port", [LAN, WAN])
def test_packet_with_df_gets_the_mtu(start: Start, port: str) -> None:
    """RFC 1191: 3/4 with the next hop's MTU; the error quotes the packet that its sender sent."""
    gateway = start(NAT + ("wan.mtu 1400\n" if port == LAN else "lan.mtu 1400\n"))
    if port == LAN:
        packet = IP(src=A.ip, dst=SERVER, flags="DF", id=3) / UDP(sport=4000, dport=53) / bytes(1450)
        sent = gateway.lan(packet)
    else:
        gateway.lan(udp())
        packet = IP(src=SERVER, dst=OUTSIDE, flags="DF", id=3) / UDP(sport=53, dport=4000) / bytes(1450)
        sent = gateway.wan(packet)
    error = only(sent, port)
    icmp = error.frame[ICMP]
    assert (icmp.type, icmp.code, icmp.nexthopmtu) == (3, 4, 1400)
    assert error.quote == bytes(packet)[:548]
    assert gateway.drops() == {"too-big": 1}


@pytest.mark.virtual
def test_fragmenting_with_few_packets_left_loses_nothing(start: Start) -> None:
    gateway = start(NAT + "wan.mtu 1280\n", packets=2)
    packet = IP(src=A.ip, dst=SERVER) / UDP(sport=4000, dport=53) / bytes(1472)
    for _ in range(3):
        gateway.lan(packet)
    assert gateway.drops()["no-packet"] == 3
