# SPDX-License-Identifier: BSD-2-Clause
"""RFC 4787, NAT behaviour for unicast UDP (BCP 127), requirement by requirement."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from gateway import A, B, LAN, NAT, OUTSIDE, ROUTER, SERVER, SERVER2, WAN, Gateway, Host, Sent, only
from pieces import cut, groups, is_fragment, join
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw
from traffic import KINDS, answer, frame_of, from_router, icmp_kind, open_out, outer, reply, request, use_up

Start = Callable[..., Gateway]
POOL = NAT + "nat.pool 203.0.113.16-203.0.113.23\nnat.pool 198.51.100.200\n"
POOL_ADDRESSES = {f"203.0.113.{n}" for n in range(16, 24)} | {"198.51.100.200"}
ANY = "nat.filtering endpoint-independent\n"


def hosts(n: int) -> list[Host]:
    return [Host(LAN, f"192.168.1.{20 + k}", A.mac) for k in range(n)]


# --- REQ-1 to 4: the mapping ------------------------------------------------------------------------


def test_req1_endpoint_independent_mapping(gateway: Gateway) -> None:
    """REQ-1: one external endpoint for one inside endpoint, whatever the remote one, while the mapping lives."""
    remotes = [(f"198.51.100.{n}", port) for n in range(1, 12) for port in (1, 53, 65535)]
    open_out(gateway, number=5000, host=B)  # so that the port has to change
    first = {open_out(gateway, number=5000, to=ip, dport=port) for ip, port in remotes}
    if gateway.sim.virtual:
        gateway.wait(200)
    again = {open_out(gateway, number=5000, to=ip, dport=port) for ip, port in remotes}
    assert first == again and len(first) == 1 and first != {5000}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.virtual
def test_req2_paired_pooling(start: Start, seed: int) -> None:
    """REQ-2: all sessions of a host, of every protocol, use one address; hosts are spread over all addresses."""
    gateway = start(POOL.replace("nat.sessions 256", "nat.sessions 2000"), seed=seed)
    shown: dict[str, set[str]] = {}
    for host in hosts(60):
        for number, kind in enumerate(KINDS * 2):
            packet = IP(src=host.ip, dst=(SERVER, SERVER2)[number % 2]) / request(kind, 4000 + number)
            shown.setdefault(host.ip, set()).add(only(gateway.ip_from(host, packet), WAN).ip.src)
        gre = IP(src=host.ip, dst=f"198.18.0.{host.ip.split('.')[3]}", proto=47) / Raw(bytes(8))
        shown[host.ip].add(only(gateway.ip_from(host, gre), WAN).ip.src)
    assert all(len(addresses) == 1 for addresses in shown.values())
    used = [next(iter(addresses)) for addresses in shown.values()]
    assert set(used) <= POOL_ADDRESSES and len(set(used)) >= 7
    assert max(used.count(address) for address in POOL_ADDRESSES) <= 20


def test_req2_answers_to_pool_addresses_reach_their_hosts(start: Start) -> None:
    gateway = start(POOL + "".join(f"neighbour {host.ip} {host.mac}\n" for host in hosts(12)))
    for host in hosts(12):
        sent = only(gateway.ip_from(host, IP(src=host.ip, dst=SERVER) / UDP(sport=5000, dport=53)), WAN)
        back = only(answer(gateway, "udp", outer(sent), to=sent.ip.src), LAN)
        assert (back.ip.dst, back.ip[UDP].dport) == (host.ip, 5000)
        for other in sorted(POOL_ADDRESSES - {sent.ip.src}):
            for one in answer(gateway, "udp", outer(sent), to=other):
                assert one.ip.dst != host.ip


def ask(gateway: Gateway, host: Host, target: str) -> list[Sent]:
    return gateway.send(host.port, Ether(src=host.mac, dst="ff:ff:ff:ff:ff:ff") / ARP(
        op=1, hwsrc=host.mac, psrc=host.ip, pdst=target))


def test_req2_arp_for_pool_addresses(start: Start) -> None:
    """The gateway answers on the WAN for those of its network (RFC 3022 section 6.2), never on the LAN."""
    gateway = start(POOL)
    for target in sorted(POOL_ADDRESSES):
        answers = ask(gateway, ROUTER, target)
        if target.startswith("203.0.113."):
            told = only(answers, WAN).arp
            assert (told.op, told.psrc, told.hwsrc) == (2, target, "02:00:00:00:00:02")
        else:
            assert answers == []
        assert ask(gateway, A, target) == []
    for target in ("203.0.113.15", "203.0.113.24"):
        assert ask(gateway, ROUTER, target) == []


def test_req2_arp_never_for_the_router(start: Start) -> None:
    """A pool that covers the router's address excludes it, and works for addresses on both sides of it."""
    gateway = start(NAT.replace("nat.sessions 256", "nat.sessions 2000") + "nat.pool 203.0.113.1-203.0.113.4\n")
    assert ask(gateway, Host(WAN, "203.0.113.77", "52:54:00:00:02:4d"), ROUTER.ip) == []
    used = {only(gateway.ip_from(host, IP(src=host.ip, dst=SERVER) / UDP(sport=5000, dport=53)), WAN).ip.src
            for host in hosts(40)}
    assert used == {"203.0.113.2", "203.0.113.3", "203.0.113.4"}
    # The router's own ARP messages still count.
    sent = only(gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=7, dport=9)), WAN)
    told = gateway.wan(IP(src=ROUTER.ip, dst=sent.ip.src) / ICMP(type=3, code=1) / Raw(bytes(sent.ip)))
    assert only(told, LAN).ip.dst == A.ip


def test_req3_no_port_overloading(start: Start) -> None:
    """REQ-3: no external port for two inside endpoints, even where their remote endpoints differ."""
    gateway = start(NAT.replace("nat.sessions 256", "nat.sessions 2000"))
    ports = [open_out(gateway, number=5000, host=host, to=f"198.51.100.{k + 1}") for k, host in enumerate(hosts(100))]
    assert len(set(ports)) == 100


@pytest.mark.virtual
def test_req3_exhausted_ports_are_refused_not_shared(start: Start) -> None:
    """Of 600 hosts that want a low port each gets one. Once all are used, the next gets `no-port` and ICMP 3/13, and
    the others keep theirs."""
    gateway = start("lan.address 10.255.255.1/8\nwan.address 203.0.113.2/24\ngateway 203.0.113.1\n"
                    f"neighbour 203.0.113.1 {ROUTER.mac}\nneighbour 10.9.9.9 {A.mac}\nneighbour {A.ip} {A.mac}\n"
                    "nat.sessions 70000\nlan.address 192.168.1.1/24\n")
    crowd = [Host(LAN, f"10.1.{k // 200}.{1 + k % 200}", A.mac) for k in range(600)]
    frames = [frame_of(host, IP(src=host.ip, dst=SERVER) / UDP(sport=500, dport=53)) for host in crowd]
    ports = [outer(only(sent, WAN)) for sent in gateway.send_many(frames)]
    assert len(set(ports)) == 600
    use_up(gateway, A, sorted(set(range(1, 65536)) - set(ports)), answered=True)
    late = Host(LAN, "10.9.9.9", A.mac)
    for _ in range(3):
        told = only(gateway.ip_from(late, IP(src=late.ip, dst=SERVER2) / UDP(sport=500, dport=53)), LAN)
        assert icmp_kind(told) == (3, 13)
    assert gateway.drops() == {"no-port": 3}
    assert [outer(only(sent, WAN)) for sent in gateway.send_many(frames)] == ports


@pytest.mark.parametrize("port", [1, 22, 1023, 1024, 5001, 65535])
def test_req3a_port_range_is_kept(gateway: Gateway, port: int) -> None:
    """REQ-3a: 0-1023 stays below 1024, the rest above, as long as there are such ports (test_nat_ports.py)."""
    for host in hosts(30):
        assert (open_out(gateway, number=port, host=host) < 1024) == (port < 1024)


@pytest.mark.parametrize("port", [2, 3, 500, 501, 5004, 5005, 65534, 65535])
def test_req4_port_parity_is_kept(gateway: Gateway, port: int) -> None:
    """REQ-4: an even port becomes an even one, an odd port an odd one."""
    for host in hosts(30):
        assert open_out(gateway, number=port, host=host) % 2 == port % 2


# --- REQ-5 and 6: time ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dport", [7, 53, 500, 5000])
@pytest.mark.virtual
def test_req5_mapping_lives_two_minutes_at_least(gateway: Gateway, dport: int) -> None:
    """REQ-5, and 5c: by default five minutes; 5a's exception for well-known ports is not used."""
    for phase in (0.0, 0.049, 0.05, 0.099, 0.999):
        gateway.wait(phase)
        open_out(gateway, dport=dport)
        gateway.wait(299.999)
        assert len(answer(gateway, "udp", 5000, sport=dport)) == 1
        gateway.wait(2)
        assert answer(gateway, "udp", 5000, sport=dport) == []


@pytest.mark.virtual
def test_req5b_timer_is_configurable(start: Start) -> None:
    gateway = start(NAT + "nat.udp-timeout 600\n")
    open_out(gateway)
    gateway.wait(599)
    assert len(answer(gateway, "udp", 5000)) == 1


@pytest.mark.virtual
def test_req6_outbound_packets_refresh(gateway: Gateway) -> None:
    """REQ-6: outbound refresh is true."""
    for _ in range(5):
        open_out(gateway)
        gateway.wait(299)
    assert len(answer(gateway, "udp", 5000)) == 1


@pytest.mark.virtual
def test_req6a_inbound_packets_do_not_refresh(gateway: Gateway) -> None:
    """REQ-6a is a MAY that is not used: no remote host keeps a mapping alive."""
    open_out(gateway)
    for _ in range(5):
        gateway.wait(50)
        assert len(answer(gateway, "udp", 5000)) == 1
    gateway.wait(52)
    assert answer(gateway, "udp", 5000) == []


# --- REQ-7: overlapping address ranges ----------------------------------------------------------------------


@pytest.mark.virtual
def test_req7_external_address_in_the_inside_network_is_refused(start: Start) -> None:
    """REQ-7: with static addresses on both sides a conflict is a configuration error at the start."""
    with pytest.raises(Exception, match="lies in the network of lan.address"):
        start("lan.address 203.0.113.1/16\nwan.address 203.0.113.2/24\n")
    with pytest.raises(Exception, match="lies in the network of lan.address"):
        start(NAT + "nat.pool 192.168.1.200\n")


# --- REQ-8: filtering ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("filtering", "allowed"), [
    ("", (True, True, False)), ("nat.filtering address-dependent\n", (True, True, False)), (ANY, (True, True, True)),
    ("nat.filtering address-and-port-dependent\n", (True, False, False)),
])
def test_req8_filtering_and_req8a_its_switch(start: Start, filtering: str, allowed: tuple[bool, ...]) -> None:
    """REQ-8: endpoint-independent or address-dependent; 8a: the administrator chooses."""
    gateway = start(NAT + filtering)
    open_out(gateway)
    open_out(gateway, number=5002, to=SERVER2)  # a remote host of another mapping is not allowed here
    for (source, sport), passes in zip(((SERVER, 53), (SERVER, 54), (SERVER2, 53)), allowed):
        assert len(answer(gateway, "udp", 5000, source=source, sport=sport)) == passes


# --- REQ-9: hairpinning ------------------------------------------------------------------------------------


@pytest.mark.parametrize("config", [NAT, POOL])
def test_req9_hairpinning(start: Start, config: str) -> None:
    """REQ-9 and 9a: two inside hosts talk by their external endpoints, and see no other address of each other."""
    gateway = start(config + ANY)
    first = only(gateway.ip_from(B, IP(src=B.ip, dst=SERVER) / UDP(sport=6000, dport=53)), WAN)
    mine = only(gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=6000, dport=53)), WAN)
    seen = only(gateway.lan(IP(src=A.ip, dst=first.ip.src, ttl=9) / UDP(sport=6000, dport=outer(first)) / b"hi"), LAN)
    assert (seen.ip.src, seen.ip[UDP].sport) == (mine.ip.src, outer(mine))
    assert (seen.ip.dst, seen.ip[UDP].dport, seen.ip.ttl, bytes(seen.ip[UDP].payload)) == (B.ip, 6000, 8, b"hi")
    back = only(gateway.ip_from(B, IP(src=B.ip, dst=mine.ip.src) / UDP(sport=6000, dport=outer(mine)) / b"ho"), LAN)
    assert (back.ip.src, back.ip[UDP].sport) == (first.ip.src, outer(first))
    assert (back.ip.dst, back.ip[UDP].dport) == (A.ip, 6000)


@pytest.mark.parametrize("config", [NAT, POOL])
@pytest.mark.parametrize("backwards", [False, True])
def test_req9_hairpinning_in_fragments(start: Start, config: str, backwards: bool) -> None:
    gateway = start(config + ANY)
    first = only(gateway.ip_from(B, IP(src=B.ip, dst=SERVER) / UDP(sport=6000, dport=53)), WAN)
    packet = IP(src=A.ip, dst=first.ip.src, id=99) / UDP(sport=6001, dport=outer(first)) / (bytes(range(256)) * 20)
    parts = cut(packet)
    sent = [one for part in (parts[::-1] if backwards else parts) for one in gateway.lan(part)]
    whole = join(sent)
    assert (whole.dst, whole[UDP].dport, sent[0].port) == (B.ip, 6000, LAN)
    assert whole.src not in (A.ip, B.ip)
    assert bytes(whole[UDP].payload) == bytes(packet[UDP].payload)


def test_req9_own_packets_too_large_inside(start: Start) -> None:
    """REQ-13 for hairpinning: the MTU of the way back is smaller than the packet."""
    gateway = start(NAT + ANY + "lan.mtu 1280\n")
    open_out(gateway, number=6000, host=B)
    packet = IP(src=A.ip, dst=OUTSIDE, flags="DF") / UDP(sport=6001, dport=6000) / bytes(1400)
    told = only(gateway.lan(packet), LAN)
    assert (icmp_kind(told), told.raw[40:42]) == ((3, 4), (1280).to_bytes(2, "big"))
    packet[IP].flags = ""
    assert join(gateway.lan(packet)).dst == B.ip


# --- REQ-10: no ALGs in this version: payloads pass unchanged ---------------------------------------------


@pytest.mark.parametrize("dport", [21, 69, 1719, 2427, 5060])
def test_req10_no_payload_is_changed(gateway: Gateway, dport: int) -> None:
    """REQ-10 and 10a: no ALG is on; inside addresses in payloads stay as they are."""
    data = b"INVITE sip:x@192.168.1.10:5000 SIP/2.0\r\nPORT 192,168,1,10,19,136\r\n" + bytes((192, 168, 1, 10))
    sent = only(gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=dport) / data), WAN)
    assert bytes(sent.ip[UDP].payload) == data
    back = only(gateway.wan(IP(src=SERVER, dst=OUTSIDE) / UDP(sport=dport, dport=5000) / data), LAN)
    assert bytes(back.ip[UDP].payload) == data


@pytest.mark.virtual
def test_req11_deterministic(gateway: Gateway) -> None:
    """REQ-11: mapping and filtering behave the same with and without a conflict of ports, at any time."""
    for host in (A, B, *hosts(6)):
        port = open_out(gateway, number=5000, host=host)
        for _ in range(2):
            assert open_out(gateway, number=5000, host=host, to=SERVER2) == port
            assert len(answer(gateway, "udp", port, sport=99)) == 1
            assert answer(gateway, "udp", port, source="198.51.100.99") == []
            gateway.wait(100)


# --- REQ-12: ICMP -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", range(16))
@pytest.mark.parametrize("kind", [3, 4, 5, 11, 12])
@pytest.mark.virtual
def test_req12_icmp_ends_nothing(gateway: Gateway, kind: int, code: int) -> None:
    """REQ-12: whatever an ICMP message says, the mapping stays."""
    sent = only(gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=53)), WAN)
    gateway.wan(IP(src=SERVER, dst=OUTSIDE) / ICMP(type=kind, code=code) / Raw(bytes(sent.ip)))
    gateway.wait(298)
    assert len(answer(gateway, "udp", 5000)) == 1
    assert open_out(gateway, to=SERVER2) == 5000


@pytest.mark.parametrize("source", [ROUTER.ip, "192.0.2.99", SERVER, "10.3.3.3"])
def test_req12a_icmp_is_not_filtered_by_its_source(gateway: Gateway, source: str) -> None:
    sent = only(gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=53)), WAN)
    error = IP(src=source, dst=OUTSIDE) / ICMP(type=11) / Raw(bytes(sent.ip))
    assert only(gateway.wan(error), LAN).ip.src == source


@pytest.mark.parametrize("code", [0, 1, 2, 3, 4, 9, 10, 13])
def test_req12b_destination_unreachable_passes(gateway: Gateway, code: int) -> None:
    sent = only(gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=53)), WAN)
    told = only(gateway.wan(IP(src=SERVER, dst=OUTSIDE) / ICMP(type=3, code=code) / Raw(bytes(sent.ip))), LAN)
    assert (icmp_kind(told), told.ip.dst) == ((3, code), A.ip)


# --- REQ-13 and 14: size and fragments ----------------------------------------------------------------------------


@pytest.mark.parametrize("wan_mtu", [1280, 1400, 1499])
def test_req13_too_big_with_df(start: Start, wan_mtu: int) -> None:
    """REQ-13: a packet from inside with DF that is too large causes ICMP 3/4 with the MTU of the outgoing interface."""
    gateway = start(NAT + f"wan.mtu {wan_mtu}\n")
    packet = IP(src=A.ip, dst=SERVER, flags="DF") / UDP(sport=5000, dport=53) / bytes(wan_mtu - 27)
    told = only(gateway.lan(packet), LAN)
    assert (icmp_kind(told), int.from_bytes(told.raw[40:42], "big")) == ((3, 4), wan_mtu)
    assert gateway.drops() == {"too-big": 1}
    fits = IP(src=A.ip, dst=SERVER, flags="DF") / UDP(sport=5000, dport=53) / bytes(wan_mtu - 28)
    assert only(gateway.lan(fits), WAN).ip.flags == "DF"


def test_req13_too_big_with_df_from_outside(start: Start) -> None:
    gateway = start(NAT + "lan.mtu 1300\n")
    open_out(gateway)
    packet = IP(src=SERVER, dst=OUTSIDE, flags="DF") / UDP(sport=53, dport=5000) / bytes(1400)
    told = only(gateway.wan(packet), WAN)
    assert (icmp_kind(told), int.from_bytes(told.raw[40:42], "big")) == ((3, 4), 1300)
    assert IP(told.quote).dst == OUTSIDE


@pytest.mark.parametrize("outward", [True, False])
def test_req13a_too_big_without_df_is_fragmented_in_order(start: Start, outward: bool) -> None:
    """REQ-13a."""
    gateway = start(NAT + ("wan.mtu 1280\n" if outward else "lan.mtu 1280\n"))
    open_out(gateway)
    data = random.Random(1).randbytes(1472)
    if outward:
        sent = gateway.lan(IP(src=A.ip, dst=SERVER) / UDP(sport=5000, dport=53) / data)
    else:
        sent = gateway.wan(IP(src=SERVER, dst=OUTSIDE) / UDP(sport=53, dport=5000) / data)
    offsets = [one.ip.frag for one in sent]
    assert offsets == sorted(offsets) and len(sent) == 2
    assert bytes(join(sent)[UDP].payload) == data


ORDERS = ("in order", "backwards", "first last", "shuffled", "twice", "first twice")


def ordered(parts: list[Any], order: str) -> list[Any]:
    if order == "backwards":
        return parts[::-1]
    if order == "first last":
        return parts[1:] + parts[:1]
    if order == "shuffled":
        return random.Random(4).sample(parts, len(parts))
    if order == "twice":
        return [part for part in parts for _ in range(2)]
    if order == "first twice":
        return parts[:2] + parts[:1] + parts[2:]
    return parts


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("kind", "size"), [
    # A TCP header in two fragments is an attack: RFC 3128, RFC 1858.
    (kind, size) for kind in KINDS for size in (8, 400, 1480) if (kind, size) != ("tcp", 8)])
@pytest.mark.parametrize("taken", [False, True])
def test_req14_fragments_in_any_order(gateway: Gateway, kind: str, size: int, order: str, taken: bool) -> None:
    """REQ-14: fragments pass in both directions, in order or not; the receiver gets the packet that was sent."""
    if taken:
        open_out(gateway, kind, host=B)
    length = {8: 200, 400: 8000, 1480: 8192}[size]
    data = random.Random(size).randbytes(length)
    parts = cut(IP(src=A.ip, dst=SERVER, id=77) / request(kind, 5000, data), size)
    sent = [one for part in ordered(parts, order) for one in gateway.lan(part)]
    whole = join(sent)
    assert all(one.port == WAN for one in sent) and whole.src == OUTSIDE
    assert bytes(whole.payload.payload) == data
    port = outer(next(one for one in sent if one.ip.frag == 0))
    assert (port == 5000) is not taken
    parts = cut(IP(src=SERVER, dst=OUTSIDE, id=78) / reply(kind, port, data), size)
    back = [one for part in ordered(parts, order) for one in gateway.wan(part)]
    whole = join(back)
    assert all(one.port == LAN for one in back) and whole.dst == A.ip
    assert bytes(whole.payload) == bytes(IP(bytes(IP(src=SERVER, dst=A.ip) / reply(kind, 5000, data))).payload)
    assert gateway.drops() == {}


@pytest.mark.parametrize("order", ["0021", "01332", "32201", "122003", "333012"])
@pytest.mark.parametrize("outward", [True, False])
def test_req14_duplicated_fragments(gateway: Gateway, outward: bool, order: str) -> None:
    """A duplicate does not make a packet complete: the fragments that are still missing pass."""
    open_out(gateway)
    size = (int(max(order)) + 1) * 800 - 8
    udp = UDP(sport=5000, dport=53) if outward else UDP(sport=53, dport=5000)
    header = IP(src=A.ip, dst=SERVER, id=77) if outward else IP(src=SERVER, dst=OUTSIDE, id=77)
    parts = cut(header / udp / bytes(size), 800)
    send = gateway.lan if outward else gateway.wan
    got = join([one for n in order for one in send(parts[int(n)])])
    assert bytes(got[UDP].payload) == bytes(size)


def test_req14_largest_packet_backwards(gateway: Gateway) -> None:
    """64 KB in fragments of an Ethernet frame each: 45 fragments, the first one last."""
    data = random.Random(9).randbytes(65507)
    parts = cut(IP(src=A.ip, dst=SERVER, id=7) / UDP(sport=5000, dport=53) / data)
    assert len(parts) == 45
    assert bytes(join([one for part in parts[::-1] for one in gateway.lan(part)])[UDP].payload) == data


@pytest.mark.virtual
def test_req14_many_packets_mixed(start: Start) -> None:
    """300 packets of 8 KB one after the other, each shuffled, from two hosts: none is lost."""
    gateway = start(NAT, packets=1024)
    shuffle = random.Random(5)
    for number in range(300):
        host = (A, B)[number % 2]
        parts = cut(IP(src=host.ip, dst=SERVER, id=number) / UDP(sport=5000, dport=53) / shuffle.randbytes(8000))
        shuffle.shuffle(parts)
        answers = gateway.send_many([frame_of(host, part) for part in parts])
        join([one for sent in answers for one in sent])
    assert gateway.drops() == {}


def test_req14_two_hosts_one_identification_at_once(gateway: Gateway) -> None:
    """Fragments of two packets with the same identification, interleaved, do not mix outside."""
    parts = [cut(IP(src=host.ip, dst=SERVER, id=7) / UDP(sport=5000, dport=53) / (host.ip.encode() * 400))
             for host in (A, B)]
    sent = []
    for pair in zip(*parts):
        for host, part in zip((A, B), pair):
            sent += gateway.ip_from(host, part)
    wholes = [join(group) for group in groups(sent)]
    assert {bytes(whole[UDP].payload)[:12] for whole in wholes} == {A.ip.encode(), B.ip.encode()}


@pytest.mark.parametrize("outward", [True, False])
@pytest.mark.virtual
def test_req14_later_fragments_without_a_first(gateway: Gateway, outward: bool) -> None:
    """They wait for a short time, and are then dropped; nothing is left of them."""
    open_out(gateway)
    ends = {"src": A.ip, "dst": SERVER} if outward else {"src": SERVER, "dst": OUTSIDE}
    part = IP(**ends, id=5, frag=100, proto=17) / Raw(bytes(100))
    assert (gateway.lan(part) if outward else gateway.wan(part)) == []
    assert gateway.stats()["packets_kept"] == 1
    assert gateway.wait(1) == []
    stats = gateway.stats()
    assert (stats["packets_kept"], stats["packets_free"]) == (0, gateway.free)
    assert gateway.drops() == {"fragment": 1}


@pytest.mark.virtual
def test_req14_fragments_of_a_refused_first_one_are_dropped(gateway: Gateway) -> None:
    parts = cut(IP(src=SERVER, dst=OUTSIDE, id=5) / UDP(sport=53, dport=5999) / bytes(4000))
    assert [one for part in parts[::-1] for one in gateway.wan(part)] == []
    gateway.wait(1)
    assert gateway.drops() == {"no-mapping": 1, "fragment": 2}


@pytest.mark.parametrize("outward", [True, False])
@pytest.mark.virtual
def test_req14a_flood_of_fragments(start: Start, outward: bool) -> None:
    """REQ-14a: a flood without first fragments harms neither whole packets nor fragments in order. It holds little
    memory, for less than a second."""
    gateway = start(NAT, packets=512)
    open_out(gateway)
    lucky = random.Random(3)
    ends = {"src": A.ip, "dst": SERVER} if outward else {"src": SERVER, "dst": OUTSIDE}
    ports = {"sport": 5000, "dport": 53} if outward else {"sport": 53, "dport": 5000}
    host = A if outward else ROUTER
    for number in range(100):
        flood = [frame_of(host, IP(**ends, id=lucky.randrange(1000, 65536), frag=lucky.randrange(1, 8000), flags="MF",
                                   proto=17) / Raw(bytes(64))) for _ in range(20)]
        good = cut(IP(**ends, id=number) / UDP(**ports) / lucky.randbytes(4000))
        frames = []
        for part in good:
            frames += flood[:7] + [frame_of(host, part)]
            flood = flood[7:] or flood
        frames.append(frame_of(host, IP(**ends) / UDP(**ports) / b"whole"))
        sent = [one for answer in gateway.send_many(frames) for one in answer]
        assert len(sent) == len(good) + 1
        join([one for one in sent if is_fragment(one)])
    assert gateway.stats()["packets_kept"] <= 128
    gateway.wait(1)
    assert gateway.stats()["packets_free"] == gateway.free


@pytest.mark.parametrize("size", [8, 16])
@pytest.mark.virtual
def test_req14a_tiny_first_fragment(gateway: Gateway, size: int) -> None:
    """RFC 1858 section 3, RFC 3128: a TCP header in two fragments could hide its flags or ports."""
    open_out(gateway, "tcp")
    parts = cut(IP(src=SERVER, dst=OUTSIDE, id=5) / TCP(sport=53, dport=5000, flags="A") / bytes(100), size)
    for order in (parts, parts[::-1]):
        assert [one for part in order for one in gateway.wan(part)] == []
    gateway.wait(1)
    assert set(gateway.drops()) == {"l4-header", "fragment"}


def test_req14a_overlap_at_offset_one(gateway: Gateway) -> None:
    """RFC 1858 section 4: a fragment at offset 8 would overwrite the flags of a header that passed."""
    open_out(gateway, "tcp")
    first = IP(src=SERVER, dst=OUTSIDE, id=5, flags="MF") / TCP(sport=53, dport=5000, flags="A") / bytes(20)
    only(gateway.wan(first), LAN)
    assert gateway.wan(IP(src=SERVER, dst=OUTSIDE, id=5, frag=1, proto=6) / Raw(bytes(12))) == []
    assert gateway.drops() == {"fragment": 1}


def test_req14_own_answers_in_a_flood(gateway: Gateway) -> None:
    """Fragments from outside to an address without a mapping leave nothing behind."""
    frames = [from_router(IP(src=SERVER, dst="203.0.113.77", id=n, frag=9, proto=17) / Raw(bytes(8)))
              for n in range(300)]
    assert all(sent == [] for sent in gateway.send_many(frames))
    assert gateway.drops() == {"foreign": 300}
    assert gateway.stats()["packets_kept"] == 0
