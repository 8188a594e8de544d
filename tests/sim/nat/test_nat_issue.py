# SPDX-License-Identifier: BSD-2-Clause
"""What the NAT guarantees beyond its RFCs: no inside source outside, forwarding, other protocols, limits."""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Callable
from typing import Any

import pytest
from examples import examples
from gateway import A, B, INSIDE, LAN, NAT, NEAR, OUTSIDE, ROUTER, SERVER, SERVER2, WAN, Gateway, Host, only
from hypothesis import given
from hypothesis import strategies as st
from pieces import cut, join
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.packet import Packet, Raw
from scapy.utils import checksum
from simulator import Simulator
from tcp import Connection
from traffic import KINDS, answer, frame_of, icmp_kind, open_out, outer, request

Start = Callable[..., Gateway]
ANY = "nat.filtering endpoint-independent\n"
PROPERTY = examples(60)
GRE, ESP, AH, SCTP, IPIP6 = 47, 50, 51, 132, 41
NO_TRANSLATION = (33, 51, 136)  # DCCP, AH, UDP-Lite: their checksums cover the addresses
HAS_PORTS = (1, 6, 17)


def plain(proto: int, src: str, dst: str, data: bytes = bytes(40)) -> Packet:
    return IP(src=src, dst=dst, proto=proto) / Raw(data)


# --- no inside address is visible outside ---------------------------------------------------------------------


@pytest.mark.parametrize("pool", ["", "nat.pool 203.0.113.40-203.0.113.47\nnat.pool 198.51.100.99\n"])
@pytest.mark.virtual
def test_no_protocol_shows_an_inside_address(start: Start, pool: str) -> None:
    """All 256 protocols; the oracle checks that the source of every frame is in wan.address or nat.pool."""
    gateway = start(NAT.replace("nat.sessions 256", "nat.sessions 2000") + pool)
    passed: set[int] = set()
    for proto in range(256):
        for source in (A.ip, "192.168.1.200", "10.1.1.1", "172.16.0.1", OUTSIDE, SERVER, "203.0.113.41"):
            for one in gateway.lan(plain(proto, source, NEAR.ip), broken=True):
                if one.port == WAN:
                    assert source.startswith("192.168.1."), source
                    passed.add(proto)
    assert passed == set(range(256)) - set(NO_TRANSLATION) - {1, 6, 17}
    assert {"protocol"} <= set(gateway.drops()) <= {
        "martian-source", "protocol", "l4-header", "icmp-type", "ambiguous"}


@st.composite
def any_packet(draw: Callable[..., Any]) -> tuple[str, bytes]:
    """An IPv4 packet of any protocol with any options, fragment or whole, from either side."""
    port = draw(st.sampled_from([LAN, LAN, WAN]))
    places = [A.ip, B.ip, "192.168.1.77", INSIDE, OUTSIDE, "203.0.113.40", "203.0.113.9", SERVER, "10.0.0.1",
              "255.255.255.255", "224.0.0.9", "127.0.0.1", "0.0.0.0"]
    address = st.one_of(st.sampled_from(places), st.integers(0, 2**32 - 1).map(lambda n: str(ipaddress.IPv4Address(n))))
    options = draw(st.sampled_from([b"", b"", b"\x01" * 4, b"\x94\x04\0\0", b"\x07\x07\x04\0\0\0\0\0", b"\x83\x07\x04" +
                                    bytes(5), b"\x44\x0c\x05\0" + bytes(8)]))
    data = draw(st.binary(min_size=draw(st.sampled_from([0, 8, 20, 40])), max_size=120))
    total = 20 + len(options) + len(data)
    proto = draw(st.one_of(st.sampled_from([1, 6, 17, 41, 47, 50, 132]), st.integers(0, 255)))
    fragment = draw(st.sampled_from([0, 0, 0, 0x4000, 0x2000, 1, 0x2001, 100, 0x20b9, 0x6000, 0x8000]))
    packet = IP(src=draw(address), dst=draw(address), proto=proto, ttl=draw(st.sampled_from([0, 1, 2, 64, 255])),
                id=draw(st.integers(0, 3)), len=total, ihl=5 + len(options) // 4)
    raw = bytearray(bytes(packet)[:20] + options + data)
    raw[6:8] = fragment.to_bytes(2, "big")
    raw[10:12] = bytes(2)
    raw[10:12] = checksum(bytes(raw[:20 + len(options)])).to_bytes(2, "big")
    return port, bytes(raw)


@PROPERTY
@given(traffic=st.lists(st.one_of(any_packet(), st.sampled_from([0.05, 1.0, 7.0, 300.0])), max_size=60),
       pool=st.sampled_from(["", "nat.pool 203.0.113.40-203.0.113.43\n"]),
       filtering=st.sampled_from(["endpoint-independent", "address-dependent"]))
@pytest.mark.virtual
def test_no_packet_shows_an_inside_address(sim: Simulator, traffic: list[Any], pool: str, filtering: str) -> None:
    gateway = Gateway(sim, NAT + pool + f"nat.filtering {filtering}\nnat.forward udp 53 {B.ip}:53\n"
                                        f"nat.forward tcp 80 {B.ip}:80\nwan.mtu 1280\n")
    for step in traffic:
        if isinstance(step, float):
            gateway._read(sim.command(f"time {step}"), transport=False)
        else:
            host = A if step[0] == LAN else ROUTER
            gateway.ip_from(host, step[1], broken=True)
    gateway.finish()


# --- nat.forward --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["udp", "tcp"])
@pytest.mark.parametrize("filtering", ["address-dependent", "endpoint-independent", "address-and-port-dependent"])
@pytest.mark.virtual
def test_forward(start: Start, kind: str, filtering: str) -> None:
    """Any host outside reaches the inside endpoint, without a time limit; answers come from the public port."""
    gateway = start(NAT + f"nat.forward {kind} 8080 {B.ip}:80\nnat.filtering {filtering}\n")
    gateway.wait(8000)
    for source in (SERVER, SERVER2, NEAR.ip):
        packet = IP(src=source, dst=OUTSIDE) / request(kind, 4000, dport=8080)
        seen = only(gateway.wan(packet), LAN)
        assert (seen.ip.src, seen.ip.dst, seen.ip.payload.sport, seen.ip.payload.dport) == (source, B.ip, 4000, 80)
        tcp = {"flags": "SA", "ack": 1001} if kind == "tcp" else {}
        proto: Any = TCP if kind == "tcp" else UDP
        back = gateway.ip_from(B, IP(src=B.ip, dst=source) / proto(sport=80, dport=4000, **tcp))
        assert (only(back, WAN).ip.src, outer(back[0])) == (OUTSIDE, 8080)
    assert open_out(gateway, kind, 80, host=B, to="198.51.100.33", dport=9) == 8080  # endpoint-independent
    assert open_out(gateway, kind, 8080, host=A) != 8080
    other = "tcp" if kind == "udp" else "udp"
    assert gateway.wan(IP(src=SERVER, dst=OUTSIDE) / request(other, 4000, dport=8080)) == []


def test_forward_fragments_from_outside(start: Start) -> None:
    gateway = start(NAT + f"nat.forward udp 8080 {B.ip}:80\n")
    parts = cut(IP(src=SERVER, dst=OUTSIDE, id=5) / UDP(sport=4000, dport=8080) / bytes(8000))
    whole = join([one for part in parts[::-1] for one in gateway.wan(part)])
    assert (whole.dst, whole[UDP].dport) == (B.ip, 80)


@pytest.mark.parametrize("pool", ["198.51.100.0-198.51.100.5", "198.51.100.255", "203.0.113.240-203.0.113.254"])
def test_pool_of_any_host_addresses(start: Start, pool: str) -> None:
    """An address that ends in 0 or 255 is a host's address if it is not the broadcast address of our network."""
    assert open_out(start(NAT + f"nat.pool {pool}\n")) == 5000


@pytest.mark.parametrize(("lines", "wrong"), [
    ("nat.forward udp 80 198.51.100.7:80\n", "not on the LAN side"),
    (f"nat.forward udp 80 {OUTSIDE}:80\n", "not on the LAN side"),
    (f"nat.forward udp 80 {INSIDE}:80\n", "not on the LAN side"),
    ("nat.forward udp 80 192.168.1.255:80\n", "no host's"),
    ("nat.forward tcp 80 192.168.1.0:80\n", "no host's"),
    ("nat.protocol41 198.51.100.7\n", "nat.protocol41: the address is not on the LAN side"),
    (f"nat.protocol41 {INSIDE}\n", "nat.protocol41: "),
    ("nat.protocol41 192.168.1.255\n", "nat.protocol41: "),
    ("gateway 203.0.113.255\n", "gateway 203.0.113.255 is a network or broadcast address"),
    ("gateway 203.0.113.0\n", "gateway 203.0.113.0 is a network or broadcast address"),
    ("route 10.0.0.0/8 via 192.168.1.255\n", "route via 192.168.1.255 is a network or broadcast address"),
    (f"neighbour 192.168.1.255 {A.mac}\n", "neighbour 192.168.1.255 is a network or broadcast address"),
    (f"nat.forward udp 80 {A.ip}:80\nnat.forward udp 80 {B.ip}:80\n", "given twice"),
    (f"nat.forward udp 80 {A.ip}:80\nnat.forward udp 81 {A.ip}:80\n", "given twice"),
    ("nat.pool 203.0.113.10-203.0.113.20\nnat.pool 203.0.113.20\n", "given twice"),
    ("nat.pool 10.0.0.0-10.0.255.255\n", "more than 1024 addresses"),
    (f"nat.pool {ROUTER.ip}\n", "nothing but routers"),
    ("nat.pool 203.0.113.0-203.0.113.5\n", "network or broadcast address of wan.address"),
    ("nat.pool 203.0.113.255\n", "network or broadcast address of wan.address"),
    ("nat.pool 203.0.112.200-203.0.114.5\n", "network or broadcast address of wan.address"),
    ("wan.address 198.51.100.65/29\nnat.pool 198.51.100.71\n", "network or broadcast address of wan.address"),
])
@pytest.mark.virtual
def test_contradictions_are_errors(start: Start, lines: str, wrong: str) -> None:
    with pytest.raises(Exception, match=wrong):
        start(NAT + lines)


# --- protocols without ports -----------------------------------------------------------------------------------


@pytest.mark.parametrize("proto", [GRE, ESP, SCTP, 4, 89, 115, 253])
@pytest.mark.virtual
def test_other_protocol_by_address(gateway: Gateway, proto: int) -> None:
    """Both ways, unchanged but for the addresses; packets from inside refresh the session, and it expires."""
    data = random.Random(proto).randbytes(100)
    sent = only(gateway.lan(plain(proto, A.ip, SERVER, data)), WAN)
    assert (sent.ip.src, sent.ip.dst, sent.raw[34:]) == (OUTSIDE, SERVER, data)
    assert gateway.wan(plain(proto, SERVER2, OUTSIDE)) == []  # no inside host has sent to this one
    gateway.wait(299)
    back = only(gateway.wan(plain(proto, SERVER, OUTSIDE, data)), LAN)
    assert (back.ip.src, back.ip.dst, back.raw[34:]) == (SERVER, A.ip, data)
    gateway.wait(3)
    assert gateway.wan(plain(proto, SERVER, OUTSIDE)) == []


@pytest.mark.virtual
def test_other_protocol_is_ambiguous_for_a_second_host(gateway: Gateway) -> None:
    """One inside host for each remote host and protocol; other sessions work, and the key is free afterwards."""
    only(gateway.lan(plain(GRE, A.ip, SERVER)), WAN)
    assert gateway.ip_from(B, plain(GRE, B.ip, SERVER)) == []
    assert gateway.drops() == {"ambiguous": 1}
    only(gateway.ip_from(B, plain(GRE, B.ip, SERVER2)), WAN)
    only(gateway.ip_from(B, plain(ESP, B.ip, SERVER)), WAN)
    assert only(gateway.wan(plain(GRE, SERVER, OUTSIDE)), LAN).ip.dst == A.ip
    assert only(gateway.wan(plain(GRE, SERVER2, OUTSIDE)), LAN).ip.dst == B.ip
    assert only(gateway.wan(plain(ESP, SERVER, OUTSIDE)), LAN).ip.dst == B.ip
    gateway.wait(302)
    assert only(gateway.ip_from(B, plain(GRE, B.ip, SERVER)), WAN).ip.src == OUTSIDE


def test_other_protocol_in_fragments(gateway: Gateway) -> None:
    parts = cut(plain(GRE, A.ip, SERVER, bytes(5000)))
    assert join([one for part in parts[::-1] for one in gateway.lan(part)]).src == OUTSIDE
    parts = cut(plain(GRE, SERVER, OUTSIDE, bytes(5000)))
    assert join([one for part in parts for one in gateway.wan(part)]).dst == A.ip


@pytest.mark.parametrize("proto", NO_TRANSLATION)
def test_protocols_whose_addresses_must_not_change(gateway: Gateway, proto: int) -> None:
    told = only(gateway.lan(plain(proto, A.ip, SERVER)), LAN)
    assert icmp_kind(told) == (3, 2)
    assert gateway.wan(plain(proto, SERVER, OUTSIDE)) == []
    assert gateway.drops() == {"protocol": 2}


def test_errors_about_other_protocols(gateway: Gateway) -> None:
    sent = only(gateway.lan(plain(GRE, A.ip, SERVER)), WAN)
    told = only(gateway.wan(IP(src="192.0.2.9", dst=OUTSIDE) / ICMP(type=11) / Raw(bytes(sent.ip)[:28])), LAN)
    assert (told.ip.dst, IP(told.quote).src) == (A.ip, A.ip)
    got = only(gateway.wan(plain(GRE, SERVER, OUTSIDE)), LAN)
    told = only(gateway.lan(IP(src=A.ip, dst=SERVER) / ICMP(type=3, code=2) / Raw(bytes(got.ip)[:28])), WAN)
    assert (told.ip.src, IP(told.quote).dst) == (OUTSIDE, OUTSIDE)


# --- protocol 41 ---------------------------------------------------------------------------------------------------


@pytest.mark.virtual
def test_protocol41_learned(gateway: Gateway) -> None:
    """The first host that sends it is the 6to4 router: it receives packets from every other router."""
    assert gateway.wan(plain(IPIP6, SERVER, OUTSIDE)) == []
    only(gateway.lan(plain(IPIP6, A.ip, SERVER)), WAN)
    for source in (SERVER, SERVER2, NEAR.ip):
        assert only(gateway.wan(plain(IPIP6, source, OUTSIDE)), LAN).ip.dst == A.ip
    assert gateway.ip_from(B, plain(IPIP6, B.ip, SERVER2)) == []
    assert gateway.drops() == {"no-mapping": 1, "ambiguous": 1}
    gateway.wait(302)
    only(gateway.ip_from(B, plain(IPIP6, B.ip, SERVER2)), WAN)


@pytest.mark.virtual
def test_protocol41_configured(start: Start) -> None:
    """It receives packets without having sent any, and after any silence; no other host may send protocol 41."""
    gateway = start(NAT + f"nat.protocol41 {B.ip}\n")
    gateway.wait(5000)
    for _ in range(2):
        assert only(gateway.wan(plain(IPIP6, SERVER2, OUTSIDE)), LAN).ip.dst == B.ip
        gateway.wait(400)
    assert gateway.lan(plain(IPIP6, A.ip, SERVER)) == []
    assert gateway.drops() == {"ambiguous": 1}
    assert only(gateway.ip_from(B, plain(IPIP6, B.ip, SERVER)), WAN).ip.src == OUTSIDE


@pytest.mark.parametrize("source", [A.ip, "192.168.1.77", OUTSIDE, "127.0.0.1", "224.0.0.1", "0.0.0.0"])
def test_protocol41_from_an_impossible_source(start: Start, source: str) -> None:
    """A packet with a source that cannot be outside is dropped, even when the router has sent packets."""
    for config in (NAT, NAT + f"nat.protocol41 {A.ip}\n"):
        gateway = start(config)
        only(gateway.lan(plain(IPIP6, A.ip, SERVER)), WAN)
        assert gateway.wan(plain(IPIP6, source, OUTSIDE)) == []
        assert gateway.drops() == {"martian-source": 1}


# --- limits ---------------------------------------------------------------------------------------------------------


SMALL = NAT.replace("nat.sessions 256", "nat.sessions 200")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.virtual
def test_host_limit(start: Start, kind: str) -> None:
    """The limit counts sessions, not mappings. It frees them with their sessions, does not affect other hosts, and
    sends no error outside."""
    gateway = start(NAT + ANY + "nat.host-limit 5\n")
    for n in range(5):
        open_out(gateway, kind, 5000, to=f"198.51.100.{n + 1}")
    told = only(gateway.lan(IP(src=A.ip, dst="198.51.100.77") / request(kind, 5000)), LAN)
    assert icmp_kind(told) == (3, 13)
    open_out(gateway, kind, 5000, to="198.51.100.1")  # an old one still works
    if kind != "icmp":
        assert gateway.wan(IP(src=NEAR.ip, dst=OUTSIDE) / request(kind, 9, dport=5000)) == []
    for n in range(5):
        open_out(gateway, kind, 5000, host=B, to=f"198.51.100.{n + 1}")
    gateway.wait(400)
    open_out(gateway, kind, 5000, to="198.51.100.77")
    assert set(gateway.drops()) == {"host-limit"}


@pytest.mark.virtual
def test_full_table_keeps_old_sessions(start: Start) -> None:
    """New sessions are refused with 3/13 and counted; old ones work; when they expire there is room again."""
    gateway = start(SMALL)
    connection = Connection(gateway, inside=B).establish()
    for number in range(199):
        open_out(gateway, number=2000 + number)
        only(answer(gateway, "udp", 2000 + number), LAN)  # not half-open, so it cannot be evicted
    for host in (A, B):
        told = only(gateway.ip_from(host, IP(src=host.ip, dst=SERVER2) / UDP(sport=9, dport=9)), LAN)
        assert icmp_kind(told) == (3, 13)
    stats = gateway.stats()
    assert (gateway.drops(), stats["nat_table_full"], stats["nat_sessions"]) == ({"table-full": 2}, 2, 200)
    only(connection.out("PA", b"still"), WAN)
    only(connection.back("PA", b"here"), LAN)
    for number in range(199):
        only(answer(gateway, "udp", 2000 + number), LAN)
    gateway.wait(302)
    open_out(gateway, number=9)


@pytest.mark.parametrize("how", ["udp to many", "tcp to many", "tcp from many ports", "icmp to many", "gre to many"])
@pytest.mark.virtual
def test_a_scanner_takes_nobodys_service(start: Start, how: str) -> None:
    """One host fills the table with sessions that nobody answers; the other hosts open and keep theirs."""
    gateway = start(SMALL + f"neighbour 192.168.1.50 {B.mac}\n")
    old = Connection(gateway, inside=B, sport=7000).establish()
    open_out(gateway, number=7001, host=B)
    only(answer(gateway, "udp", 7001), LAN)

    def scan(n: int) -> Packet:
        target = f"198.{18 + n // 62500}.{n // 250 % 250}.{n % 250 + 1}"
        if how == "tcp from many ports":
            return IP(src=A.ip, dst=SERVER2) / TCP(sport=10000 + n, dport=80, flags="S")
        if how == "gre to many":
            return plain(GRE, A.ip, target)
        return IP(src=A.ip, dst=target) / request(how.split()[0], 10000)

    gateway.send_many([frame_of(A, scan(n)) for n in range(400)])
    assert gateway.stats()["nat_sessions"] == 200
    for n in range(20):
        gateway.send_many([frame_of(A, scan(400 + 10 * n + k)) for k in range(10)])
        host = (B, Host(LAN, "192.168.1.50", B.mac))[n % 2]
        open_out(gateway, number=8000 + n, host=host)
        assert only(answer(gateway, "udp", 8000 + n)).ip.dst == host.ip
        only(old.out("PA", b"x"), WAN)
        only(old.back("PA", b"y"), LAN)
    only(answer(gateway, "udp", 7001), LAN)
    assert gateway.stats()["nat_table_full"] >= 300


@pytest.mark.virtual
def test_many_hosts_share_a_full_table(start: Start) -> None:
    """A host that holds at most its share loses no session."""
    gateway = start(SMALL)
    for n in range(200):
        open_out(gateway, host=Host(LAN, f"192.168.1.{20 + n}", A.mac))
    late = Host(LAN, "192.168.1.240", A.mac)
    assert [one for one in gateway.ip_from(late, IP(src=late.ip, dst=SERVER) / UDP(sport=9)) if one.port == WAN] == []
    assert gateway.drops() == {"table-full": 1}
    assert len(gateway.lines("sessions")) == 200


@pytest.mark.virtual
def test_all_packets_are_free_after_everything(start: Start) -> None:
    """Waiting fragments, held SYNs, refused sessions: after a second without traffic every packet is free."""
    gateway = start(SMALL + ANY, packets=256)
    for n in range(200):
        gateway.lan(IP(src=A.ip, dst=SERVER, id=n, frag=3, proto=17) / Raw(bytes(8)))
        gateway.wan(IP(src=f"198.51.100.{n + 1}", dst=OUTSIDE) / TCP(dport=n, flags="S"))
        gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=2000 + n))
    gateway.wait(1)
    stats = gateway.stats()
    assert (stats["packets_free"], stats["packets_kept"]) == (256, 0)


def test_sessions_listing_names_every_state(gateway: Gateway) -> None:
    """The listing that the tests above read shows each state that a session can have."""
    connection = Connection(gateway)
    only(connection.out("S"))
    line = gateway.lines("sessions")[0]
    assert line.startswith(f"tcp {A.ip}:5000 {OUTSIDE}:5000 {SERVER}:80 init expires=")
