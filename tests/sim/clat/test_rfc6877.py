# SPDX-License-Identifier: BSD-2-Clause
"""The application `clat`: 464XLAT's customer side (RFC 6877), as a host of the LAN and the provider see it."""

from __future__ import annotations

import pytest
from customer import (
    BASE,
    FAR,
    HOSTS6,
    MANY,
    ONE,
    OWN6,
    PREFIX,
    begin,
    into,
    out,
    six,
    udp,
    whole,
)
from gateway import LAN, PORT_MAC, WAN, A, B, only
from net6 import ROUTER6
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPerror, UDPerror
from scapy.layers.inet6 import (
    ICMPv6DestUnreach,
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    ICMPv6PacketTooBig,
    ICMPv6TimeExceeded,
    IPv6,
    IPv6ExtHdrFragment,
)
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw
from uplink import Start

pytestmark = pytest.mark.virtual


# --- one address for all ---------------------------------------------------------------------------


def test_rfc6877_section_6_3_one_address_behind_a_nat(start: Start) -> None:
    gateway = begin(start)
    sent = only(out(gateway, udp(ttl=64)))
    packet = whole(sent.frame)
    assert (packet.src, packet.dst, packet.hlim) == (OWN6, six(FAR), 63)
    assert packet[UDP].dport == 53 and bytes(packet[UDP].payload) == b"question"
    back = IPv6(src=six(FAR), dst=OWN6, hlim=60) / UDP(sport=53, dport=packet[UDP].sport) / Raw(b"answer")
    got = only(into(gateway, back), LAN).frame
    assert (got[IP].src, got[IP].dst, got[IP].ttl) == (FAR, A.ip, 59)
    assert (got[UDP].sport, got[UDP].dport, bytes(got[UDP].payload)) == (53, 4000, b"answer")
    assert gateway.stats()['clat_translated{way="4to6"}'] == 1 == gateway.stats()['clat_translated{way="6to4"}']


def test_two_hosts_share_the_address(start: Start) -> None:
    gateway = begin(start)
    first = only(out(gateway, udp())).frame[UDP].sport
    second = only(out(gateway, udp(src=B.ip), B)).frame[UDP].sport
    assert first != second
    for port, host in ((first, A), (second, B)):
        back = IPv6(src=six(FAR), dst=OWN6) / UDP(sport=53, dport=port) / Raw(b"answer")
        assert only(into(gateway, back), LAN).frame[IP].dst == host.ip


def test_tcp(start: Start) -> None:
    gateway = begin(start, ONE + "clat.mss-clamp 1420\n")
    syn = IP(src=A.ip, dst=FAR) / TCP(sport=5000, dport=80, flags="S", seq=1, options=[("MSS", 1460)])
    packet = whole(only(out(gateway, syn)).frame)
    assert packet[TCP].options[0] == ("MSS", 1420)
    back = (IPv6(src=six(FAR), dst=OWN6) / TCP(sport=80, dport=packet[TCP].sport, flags="SA", seq=9, ack=2))
    assert only(into(gateway, back), LAN).frame[TCP].flags == "SA"


def test_rfc7915_echo_both_ways(start: Start) -> None:
    gateway = begin(start)
    packet = whole(only(out(gateway, IP(src=A.ip, dst=FAR) / ICMP(type=8, id=9, seq=3) / Raw(b"ping"))).frame)
    assert packet[ICMPv6EchoRequest].data == b"ping"
    back = IPv6(src=six(FAR), dst=OWN6) / ICMPv6EchoReply(id=packet[ICMPv6EchoRequest].id, seq=3, data=b"ping")
    got = only(into(gateway, back), LAN).frame
    assert (got[ICMP].type, got[ICMP].id, got[IP].dst) == (0, 9, A.ip)


def test_rfc7915_section_5_2_errors_of_the_internet(start: Start) -> None:
    """An unreachable from an IPv4 router, by way of the provider's translator."""
    gateway = begin(start)
    packet = only(out(gateway, udp())).frame[IPv6]
    error = IPv6(src=six("198.51.100.1"), dst=OWN6) / ICMPv6DestUnreach(code=4) / Raw(bytes(packet))
    got = only(into(gateway, error), LAN).frame
    assert (got[IP].src, got[IP].dst, got[ICMP].type, got[ICMP].code) == ("198.51.100.1", A.ip, 3, 3)
    assert (got[IPerror].src, got[IPerror].dst, got[UDPerror].sport) == (A.ip, FAR, 4000)


def test_rfc7600_errors_of_nodes_without_ipv4(start: Start) -> None:
    """A router of the provider's network: traceroute shows the dummy address."""
    gateway = begin(start)
    packet = only(out(gateway, udp())).frame[IPv6]
    error = IPv6(src="2001:db8:ffff::1", dst=OWN6) / ICMPv6TimeExceeded() / Raw(bytes(packet))
    got = only(into(gateway, error), LAN).frame
    assert (got[IP].src, got[ICMP].type, got[UDPerror].sport) == ("192.0.0.8", 11, 4000)


def test_rfc7915_section_5_2_too_big(start: Start) -> None:
    """A smaller link behind: 20 bytes less for IPv4."""
    gateway = begin(start)
    packet = only(out(gateway, udp(data=bytes(1300), flags="DF"))).frame[IPv6]
    error = IPv6(src="2001:db8:ffff::1", dst=OWN6) / ICMPv6PacketTooBig(mtu=1300) / Raw(bytes(packet)[:1200])
    got = only(into(gateway, error), LAN).frame
    assert (got[ICMP].type, got[ICMP].code, got[ICMP].nexthopmtu) == (3, 4, 1280)


def test_rfc7915_section_4_1_what_does_not_fit(start: Start) -> None:
    """With DF the host hears of 1480 bytes; without it leaves in fragments that are whole."""
    gateway = begin(start)
    sent = gateway.ip_from(A, udp(data=bytes(1472), flags="DF"))
    error = only(sent, LAN).frame
    assert (error[ICMP].type, error[ICMP].code, error[ICMP].nexthopmtu) == (3, 4, 1480)
    assert error[UDPerror].sport == 4000
    assert len(out(gateway, udp(data=bytes(1452), flags="DF"))) == 1
    pieces = out(gateway, udp(data=bytes(range(256)) * 5 + bytes(192)))
    assert len(pieces) == 2 and all(len(one.frame[IPv6]) <= 1500 for one in pieces)
    data = b"".join(bytes(one.frame[IPv6ExtHdrFragment].payload) for one in pieces)
    assert data[8:] == bytes(range(256)) * 5 + bytes(192)


def test_fragments_pass_both_ways(start: Start) -> None:
    gateway = begin(start)
    sent = only(out(gateway, udp())).frame
    port, data = sent[UDP].sport, bytes(range(200)) * 10
    # From inside, in IPv4 fragments.
    body = bytes(UDP(sport=4000, dport=53, len=8 + len(data), chksum=0)) + data
    check = IP(bytes(IP(src=A.ip, dst=FAR) / UDP(sport=4000, dport=53) / Raw(data)))[UDP].chksum
    body = body[:6] + check.to_bytes(2, "big") + body[8:]
    first = IP(src=A.ip, dst=FAR, id=77, flags="MF", proto=17) / Raw(body[:1200])
    last = IP(src=A.ip, dst=FAR, id=77, frag=150, proto=17) / Raw(body[1200:])
    pieces = out(gateway, first) + out(gateway, last)
    assert [one.frame[IPv6ExtHdrFragment].offset for one in pieces] == [0, 150]
    assert len({one.frame[IPv6ExtHdrFragment].id for one in pieces}) == 1
    # From outside, in IPv6 fragments.
    back = bytes(IPv6(src=six(FAR), dst=OWN6) / UDP(sport=53, dport=port) / Raw(data))[40:]
    first = IPv6ExtHdrFragment(nh=17, offset=0, m=1, id=5) / Raw(back[:1200])
    got = into(gateway, IPv6(src=six(FAR), dst=OWN6) / first)
    got += into(gateway, IPv6(src=six(FAR), dst=OWN6) / IPv6ExtHdrFragment(nh=17, offset=150, m=0, id=5)
                / Raw(back[1200:]))
    assert [one.frame[IP].frag for one in got if one.port == LAN] == [0, 150]
    assert all(one.frame[IP].dst == A.ip for one in got if one.port == LAN)


def test_traceroute_counts_the_gateway_once(start: Start) -> None:
    gateway = begin(start)
    first = only(gateway.ip_from(A, udp(ttl=1)), LAN).frame
    assert (first[IP].src, first[ICMP].type) == ("192.168.1.1", 11)
    assert only(out(gateway, udp(ttl=2))).frame[IPv6].hlim == 1


def test_a_connection_of_ours(start: Start) -> None:
    """What the gateway itself sends by IPv4 leaves translated: an echo request of the console."""
    gateway = begin(start)
    error = only(out(gateway, udp(sport=4001))).frame
    answer = IPv6(src=six(FAR), dst=OWN6) / UDP(sport=53, dport=9) / Raw(b"x")
    assert [one for one in into(gateway, answer) if one.port == LAN] == []
    assert error[IPv6].src == OWN6


# --- who may ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["2001:db8:ffff::9", "2001:db8:65::c633:6407"])
def test_others_are_not_translated(start: Start, source: str) -> None:
    """An echo request from elsewhere is for the gateway itself, a datagram for nobody."""
    gateway = begin(start)
    port = only(out(gateway, udp())).frame[UDP].sport
    assert [one for one in into(gateway, IPv6(src=source, dst=OWN6) / UDP(sport=53, dport=port) / Raw(b"x"))
            if one.port == LAN] == []
    echo = into(gateway, IPv6(src=source, dst=OWN6) / ICMPv6EchoRequest(id=1, data=b"y"))
    assert any(ICMPv6EchoReply in one.frame for one in echo)


@pytest.mark.parametrize("source", ["10.0.0.1", "0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255"])
def test_sources_that_nobody_has(start: Start, source: str) -> None:
    """Private ones may be of the provider's network."""
    gateway = begin(start)
    port = only(out(gateway, udp(dst=source if source == "10.0.0.1" else FAR))).frame[UDP].sport
    back = IPv6(src=six(source), dst=OWN6) / UDP(sport=53, dport=port) / Raw(b"x")
    found = [one for one in into(gateway, back) if one.port == LAN]
    assert len(found) == (source == "10.0.0.1")


def test_native_ipv4_of_the_wan_is_refused(start: Start) -> None:
    """Nobody there can reach the LAN by IPv4, nor is there ARP."""
    gateway = begin(start)
    port = only(out(gateway, udp())).frame[UDP].sport
    frame = Ether(src=ROUTER6.mac, dst=PORT_MAC[WAN]) / IP(src=FAR, dst="192.0.0.1") / UDP(sport=53, dport=port)
    assert gateway.send(WAN, frame) == [] and gateway.drops() == {"ipv4": 1}
    ask = (Ether(src=ROUTER6.mac, dst="ff:ff:ff:ff:ff:ff")
           / ARP(op=1, hwsrc=ROUTER6.mac, psrc="192.0.0.3", pdst="192.0.0.1"))
    assert gateway.send(WAN, ask) == [] and gateway.drops() == {"ipv4": 2}
    assert not any(ARP in one.frame for one in gateway.wait(60) if one.port == WAN)


def test_the_prefix_of_the_provider_is_not_ours_to_use(start: Start) -> None:
    """A host of the LAN with a source of the translator's prefix is refused."""
    gateway = begin(start, ONE + "lan.address 2001:db8:1::1/64\n")
    frame = Ether(src=A.mac, dst=PORT_MAC[LAN]) / IPv6(src=six(FAR), dst=OWN6) / UDP(sport=1, dport=2) / Raw(b"x")
    assert [one for one in gateway.send(LAN, frame) if UDP in one.frame] == []
    assert "martian-source" in gateway.drops()


def test_errors_about_what_was_never_sent(start: Start) -> None:
    gateway = begin(start)
    quoted = IPv6(src=OWN6, dst=six(FAR)) / UDP(sport=1234, dport=53) / Raw(b"x" * 20)
    error = IPv6(src=six(FAR), dst=OWN6) / ICMPv6DestUnreach(code=4) / quoted
    assert [one for one in into(gateway, error) if one.port == LAN] == []
    strange = IPv6(src="2001:db8:9::1", dst=six(FAR)) / UDP(sport=1234, dport=53) / Raw(b"x" * 20)
    assert [one for one in into(gateway, IPv6(src=six(FAR), dst=OWN6) / ICMPv6DestUnreach(code=4) / strange)
            if one.port == LAN] == []


@pytest.mark.parametrize("proto", [0, 43, 44, 58, 60])
def test_protocols_that_would_be_headers_of_ipv6(start: Start, proto: int) -> None:
    gateway = begin(start)
    assert out(gateway, IP(src=A.ip, dst=FAR, proto=proto) / Raw(bytes(24))) == []


def test_without_a_prefix_hosts_are_told(start: Start) -> None:
    gateway = begin(start, BASE + f"clat.address {OWN6}\n")
    error = only(gateway.ip_from(A, udp()), LAN).frame
    assert (error[ICMP].type, error[ICMP].code) == (3, 0) and gateway.drops() == {"no-prefix64": 1}


# --- an address for each host ----------------------------------------------------------------------


def test_rfc6877_section_6_3_a_network_for_the_hosts(start: Start) -> None:
    """No NAT: ports stay, and hosts can be reached from outside."""
    gateway = begin(start, MANY)
    packet = whole(only(out(gateway, udp())).frame)
    assert (packet.src, packet.dst, packet[UDP].sport) == (six(A.ip, HOSTS6), six(FAR), 4000)
    back = IPv6(src=six(FAR), dst=six(A.ip, HOSTS6), hlim=9) / UDP(sport=99, dport=98) / Raw(b"x")
    got = only(into(gateway, back), LAN).frame
    assert (got[IP].src, got[IP].dst, got[IP].ttl, got[UDP].dport) == (FAR, A.ip, 8, 98)


def test_hosts_only_by_the_prefix(start: Start) -> None:
    gateway = begin(start, MANY)
    back = IPv6(src="2001:db8:ffff::1", dst=six(A.ip, HOSTS6)) / UDP(sport=99, dport=98) / Raw(b"x")
    assert into(gateway, back) == [] and gateway.drops() == {"no-map": 1}


def test_a_destination_that_no_host_has_does_not_loop(start: Start) -> None:
    gateway = begin(start, MANY)
    back = IPv6(src=six(FAR), dst=six("203.0.113.99", HOSTS6)) / UDP(sport=99, dport=98) / Raw(b"x")
    assert [one for one in into(gateway, back) if UDP in one.frame] == []


# --- the rest --------------------------------------------------------------------------------------


def test_native_ipv6_beside(start: Start) -> None:
    """Hosts of the LAN with IPv6 go out by it; the filter keeps strangers away."""
    gateway = begin(start, ONE + "lan.address 2001:db8:1::1/64\nneighbour 2001:db8:1::10 52:54:00:00:01:0a\n")
    frame = (Ether(src=A.mac, dst=PORT_MAC[LAN]) / IPv6(src="2001:db8:1::10", dst="2001:db8:f::7")
             / UDP(sport=1, dport=2) / Raw(b"x"))
    assert only([one for one in gateway.send(LAN, frame) if UDP in one.frame], WAN).frame[IPv6].src == "2001:db8:1::10"
    stranger = IPv6(src="2001:db8:f::8", dst="2001:db8:1::10") / UDP(sport=2, dport=1) / Raw(b"x")
    assert [one for one in into(gateway, stranger) if UDP in one.frame] == []


@pytest.mark.parametrize(("line", "said"), [
    ("wan.address 203.0.113.2/24\n", "this application has no IPv4 on the WAN, the address is not used"),
    ("gateway 203.0.113.1\n", "gateway 203.0.113.1: this application has no IPv4 on the WAN, it is not used"),
    ("wan.address dhcp\n", "wan.address dhcp: this application has no IPv4 on the WAN")])
def test_what_the_wan_does_not_have(start: Start, line: str, said: str) -> None:
    """A file for several applications serves this one too."""
    gateway = begin(start, ONE + line)
    assert any(said in one for one in gateway.lines("log"))
    assert len(out(gateway, udp())) == 1


@pytest.mark.parametrize(("line", "wrong"), [
    ("clat.prefix 2001:db8::/95\n", "clat.prefix"), ("clat.prefix 192.0.2.0/24\n", "clat.prefix"),
    ("clat.address 192.0.2.1\n", "clat.address"), ("clat.address 2001:db8::/56\n", "clat.address"),
    ("clat.address ff02::1\n", "clat.address"), ("nat.pool 198.51.100.1\n", "nat.pool")])
def test_bad_values(start: Start, line: str, wrong: str) -> None:
    with pytest.raises(Exception, match=wrong):
        start(BASE + line, "clat")


@pytest.mark.parametrize("source", ["192.168.1.1", "192.168.1.11", "192.0.0.1"])
def test_rfc6052_section_5_1_sources_of_the_inside(start: Start, source: str) -> None:
    """Nobody outside has an address of the LAN, or ours; not even for a mapping that lets everybody in."""
    gateway = begin(start, ONE + "nat.filtering endpoint-independent\n")
    port = only(out(gateway, udp())).frame[UDP].sport
    stranger = IPv6(src=six("198.51.100.9"), dst=OWN6) / UDP(sport=53, dport=port) / Raw(b"x")
    assert only(into(gateway, stranger), LAN).ip.src == "198.51.100.9"
    assert into(gateway, IPv6(src=six(source), dst=OWN6) / UDP(sport=53, dport=port) / Raw(b"x")) == []
    assert gateway.drops() == {"martian-source": 1}


def test_rfc7915_section_4_1_lowest_ipv6_mtu(start: Start) -> None:
    """What may be split fits each path, or what the configuration says."""
    gateway = begin(start)
    pieces = out(gateway, udp(data=bytes(1400)))
    assert [len(one.frame[IPv6]) <= 1280 for one in pieces] == [True, True]
    gateway = begin(start, ONE + "clat.lowest-ipv6-mtu 1500\n")
    assert len(only(out(gateway, udp(data=bytes(1400)))).frame[IPv6]) == 1448


@pytest.mark.parametrize("order", [1, -1])
def test_rfc7915_section_1_2_large_echoes(start: Start, order: int) -> None:
    """ICMP in fragments, which RFC 7915 leaves out, is translated all the same, in whatever order they come."""
    gateway = begin(start)
    data = bytes(range(250)) * 8
    asked = bytes(ICMP(type=8, id=9, seq=3) / Raw(data))
    pieces = [IP(src=A.ip, dst=FAR, id=77, proto=1, flags="MF" if at == 0 else "", frag=at // 8) / Raw(asked[at:at + n])
              for at, n in ((0, 1200), (1200, 1200))]
    sent = [one for piece in pieces[::order] for one in out(gateway, piece)]
    assert [one.frame[IPv6ExtHdrFragment].offset for one in sent] == [0, 150]
    body = b"".join(bytes(one.frame[IPv6ExtHdrFragment].payload) for one in sent)
    again = IPv6(bytes(IPv6(src=OWN6, dst=six(FAR), nh=58) / Raw(body)))
    echo = again[ICMPv6EchoRequest]
    assert (echo.seq, echo.data) == (3, data)
    right = echo.cksum
    del echo.cksum
    assert IPv6(bytes(again))[ICMPv6EchoRequest].cksum == right
    back = bytes(IPv6(src=six(FAR), dst=OWN6) / ICMPv6EchoReply(id=echo.id, seq=3, data=data))[40:]
    replies = [(IPv6(src=six(FAR), dst=OWN6) / IPv6ExtHdrFragment(nh=58, offset=at // 8, m=m, id=5)
                / Raw(back[at:at + n]))
               for at, n, m in ((0, 1200, 1), (1200, 1200, 0))]
    got = [one for reply in replies[::order] for one in into(gateway, reply) if one.port == LAN]
    assert [one.frame[IP].frag for one in got] == [0, 150] and {one.frame[IP].dst for one in got} == {A.ip}
    whole = b"".join(bytes(one.frame[IP].payload) for one in got)
    reply = ICMP(whole)
    assert (reply.type, reply.id, reply.seq, bytes(reply.payload)) == (0, 9, 3, data)
    right = reply.chksum
    del reply.chksum
    assert ICMP(bytes(reply)).chksum == right


def test_rfc6146_section_3_4_an_echo_that_is_not_complete(start: Start) -> None:
    """Its fragments are dropped after two seconds."""
    gateway = begin(start)
    piece = (IPv6(src=six(FAR), dst=OWN6) / IPv6ExtHdrFragment(nh=58, offset=0, m=1, id=5)
             / Raw(bytes([129, 0]) + bytes(78)))
    assert into(gateway, piece) == []
    assert gateway.stats()["clat_fragments_kept"] == 1
    gateway.wait(3)
    assert gateway.stats()["clat_fragments_kept"] == 0
    other = (IPv6(src=six(FAR), dst=OWN6) / IPv6ExtHdrFragment(nh=58, offset=0, m=1, id=6)
             / Raw(bytes([200, 0]) + bytes(78)))
    rest = IPv6(src=six(FAR), dst=OWN6) / IPv6ExtHdrFragment(nh=58, offset=10, m=0, id=6) / Raw(bytes(80))
    into(gateway, other)
    into(gateway, rest)
    assert gateway.drops()["icmp-type"] == 2


def test_rfc6877_section_6_3_sources_of_hosts_with_a_network(start: Start) -> None:
    gateway = begin(start, MANY)
    assert out(gateway, udp(src="10.0.0.9")) == []
    assert gateway.drops() == {"martian-source": 1}


@pytest.mark.parametrize("source", ["192.168.1.11", "192.168.1.1", "10.0.0.1"])
def test_rfc6052_section_5_1_errors_of_the_inside(start: Start, source: str) -> None:
    """An error about a packet of ours comes from a host beyond the provider's translator, or from an IPv6 node."""
    gateway = begin(start, ONE.replace(f"{PREFIX}/96", "64:ff9b::/96") + "lan2 nic2\nlan2.address 10.0.0.2/24\n"
                    "wkp-strict off\n" if source == "10.0.0.1" else ONE)
    packet = only(out(gateway, udp())).frame[IPv6]
    net = "64:ff9b::" if source == "10.0.0.1" else PREFIX
    error = IPv6(src=six(source, net), dst=OWN6) / ICMPv6DestUnreach(code=4) / Raw(bytes(packet))
    assert into(gateway, error) == []
    assert gateway.drops() == {"martian-source": 1}
    good = IPv6(src=six(FAR, net), dst=OWN6) / ICMPv6DestUnreach(code=4) / Raw(bytes(packet))
    assert only(into(gateway, good), LAN).ip.src == FAR
