# SPDX-License-Identifier: BSD-2-Clause
"""6to4, out of the tunnel to the LAN: RFC 3964 section 5.2, RFC 4213 section 3.6, RFC 6040, RFC 6324."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from gateway import LAN, OUTSIDE, PORT_MAC, ROUTER, WAN, Gateway, only
from pieces import cut
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6ND_RA,
    ICMPv6ND_Redirect,
    ICMPv6ND_RS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrHopByHop,
)
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from test_6to4_out import BAD_ENDS, GOOD_ENDS, SPECIAL
from test_ip4 import with_options
from tunnel import (
    COLOCATED,
    DECOUPLED,
    FAR,
    FAR2,
    FAR6,
    FAR26,
    HOST6,
    IP6,
    NATIVE6,
    OWN6,
    RELAY,
    Tunnel,
    in_site,
    inner,
    ip6,
    ping6,
    sized,
)

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]


def arrives(tunnel: Tunnel, packet: IPv6, src: str = FAR, **fields: object) -> IPv6:
    """Checks that a packet reaches host A with a hop limit lower by one, and otherwise unchanged."""
    got = ip6(only(tunnel.into(packet, src, **fields), LAN))
    expected = bytearray(bytes(packet))
    expected[7] -= 1
    assert bytes(got) == bytes(expected)
    return got


def refused(tunnel: Tunnel, packet: IPv6 | bytes, reason: str, src: str = FAR, **fields: object) -> None:
    """Checks that a packet is dropped without an error: RFC 4213 section 3.6."""
    assert tunnel.into(packet, src, **fields) == []
    assert tunnel.dropped() == reason


def back(src: str = FAR6, dst: str = HOST6, **fields: object) -> IPv6:
    return ping6(src, dst, **fields)


# --- good packets -----------------------------------------------------------------------------------


def test_golden(tunnel: Tunnel) -> None:
    arrives(tunnel, back(hlim=30, tc=0x28, fl=0x12345))
    stats = tunnel.gateway.stats()
    assert (stats["tunnel_in_packets"], stats["tunnel_out_packets"], stats["forwarded_packets"]) == (1, 0, 1)
    assert tunnel.gateway.drops() == {}


def test_from_any_site(tunnel: Tunnel) -> None:
    for v4 in GOOD_ENDS:
        arrives(tunnel, back(in_site(v4, 3, 3)), v4)


def test_there_and_back(tunnel: Tunnel) -> None:
    sent = inner(only(tunnel.out(ping6()), WAN))
    arrives(tunnel, back(sent.dst, sent.src))


def test_native_source_from_anywhere(tunnel: Tunnel) -> None:
    """RFC 3964 section 2: relays answer from any of their addresses; also from the anycast one (RFC 7526)."""
    for v4 in (RELAY, FAR, "192.88.99.1"):
        arrives(tunnel, back(NATIVE6), v4)


def test_native_source_from_the_relay_only(start: Start) -> None:
    tunnel = Tunnel(start(DECOUPLED + "6to4.native-from relay\n", "6to4"))
    arrives(tunnel, back(NATIVE6), RELAY)
    refused(tunnel, back(NATIVE6), "native-source", FAR)
    arrives(tunnel, back(), FAR)
    without = DECOUPLED.replace(f"6to4.relay {RELAY}\n", "")
    tunnel = Tunnel(start(without + "6to4.native-from relay\n", "6to4"))
    refused(tunnel, back(NATIVE6), "native-source", RELAY)


def test_padding_is_removed(tunnel: Tunnel) -> None:
    """RFC 4213 section 3.6: the inner length counts, not the outer one."""
    packet = back()
    assert bytes(ip6(only(tunnel.into(bytes(packet) + b"\xff" * 30), LAN)))[8:] == bytes(packet)[8:]


def test_outer_options_are_removed(tunnel: Tunnel) -> None:
    outer = with_options(tunnel.packet(back()), b"\x94\x04\x00\x00" + b"\x01" * 8)
    assert ip6(only(tunnel.gateway.wan(outer), LAN)).src == FAR6


def test_extension_headers(tunnel: Tunnel) -> None:
    arrives(tunnel, IPv6(src=FAR6, dst=HOST6) / IPv6ExtHdrDestOpt() / ICMPv6EchoRequest())


def test_the_gateway_answers_ping(tunnel: Tunnel) -> None:
    """Through the tunnel, from its own address."""
    for source, src in ((FAR6, FAR), (NATIVE6, RELAY)):
        sent = only(tunnel.into(back(source, OWN6), src), WAN)
        answer = inner(sent)
        assert (sent.ip.src, sent.ip.dst) == (tunnel.outer, src)
        assert (answer.src, answer.dst) == (OWN6, source)
        assert bytes(answer)[40] == 129


# --- outer addresses ----------------------------------------------------------------------------------


def test_outer_source_that_is_no_tunnel_endpoint(tunnel: Tunnel) -> None:
    """RFC 3056 section 9: MUST be silently discarded, embedded or not."""
    for v4 in BAD_ENDS:
        refused(tunnel, back(in_site(v4)), "tunnel-end", v4)
        refused(tunnel, back(NATIVE6), "tunnel-end", v4)


def test_outer_source_is_our_own(tunnel: Tunnel) -> None:
    for source in (in_site(OUTSIDE, 1, 99), NATIVE6):
        refused(tunnel, back(source), "tunnel-end", tunnel.outer)


@pytest.mark.parametrize("config", [COLOCATED, DECOUPLED], ids=["co-located", "decoupled"])
def test_outer_source_is_a_broadcast(start: Start, config: str) -> None:
    tunnel = Tunnel(start(config, "6to4"))
    refused(tunnel, back(in_site("203.0.113.255")), "tunnel-end", "203.0.113.255")


def test_outer_destination(tunnel: Tunnel) -> None:
    """Only to our own unicast address: not to a broadcast, a multicast or another host's address."""
    net = tunnel.outer.rsplit(".", 1)[0]
    for v4 in (f"{net}.255", "255.255.255.255", "224.0.0.1", f"{net}.77"):
        assert tunnel.into(back(), dst=v4) == []
        assert tunnel.dropped() in ("multicast", "foreign")
    frame = Ether(src=ROUTER.mac, dst="ff:ff:ff:ff:ff:ff", type=0x800) / tunnel.packet(back())
    assert tunnel.gateway.send(WAN, frame) == []
    assert tunnel.dropped() == "multicast"


def test_from_the_lan(tunnel: Tunnel) -> None:
    """Tunnel packets come from the WAN only; those that a host on the LAN sends are refused."""
    for source in ("192.168.1.10", FAR):
        packet = IP(src=source, dst=tunnel.outer, proto=IP6) / Raw(bytes(back()))
        assert [one for one in tunnel.gateway.lan(packet) if one.frame.type == 0x86dd] == []
    assert tunnel.gateway.stats()["tunnel_in_packets"] == 0


# --- inner addresses -----------------------------------------------------------------------------------


def test_spoofed_inner_source(tunnel: Tunnel) -> None:
    """RFC 3964 section 5.2: the embedded address of the source MUST be the outer one."""
    refused(tunnel, back(FAR26), "inner-source", FAR)
    refused(tunnel, back(FAR6), "inner-source", FAR2)
    refused(tunnel, back(FAR6), "inner-source", RELAY)
    refused(tunnel, back(in_site("10.1.2.3")), "inner-source", FAR)


def test_source_in_our_own_site(tunnel: Tunnel) -> None:
    """RFC 4213 section 3.6: ingress filtering."""
    for source in (HOST6, OWN6, in_site(OUTSIDE, 77, 1)):
        refused(tunnel, back(source), "inner-source", FAR)
        refused(tunnel, back(source), "inner-source", RELAY)


@pytest.mark.parametrize("network", [
    "lan.address 2001:db8:77::1/64\n", f"route 2001:db8:77::/48 via {HOST6}\n",
], ids=["connected", "routed"])
def test_source_of_a_native_network_on_the_lan(start: Start, network: str) -> None:
    """A native network beside the tunnel: no packet from the WAN has a source there, neither a host's nor our own."""
    tunnel = Tunnel(start(DECOUPLED + network, "6to4"))
    for source in ("2001:db8:77::10", "2001:db8:77::1", "2001:db8:77::"):
        for sender in (FAR, RELAY):
            refused(tunnel, back(source), "inner-source", sender)
            refused(tunnel, back(source, OWN6), "inner-source", sender)
    arrives(tunnel, back("2001:db8:78::10"), RELAY)


def test_source_that_is_no_host(tunnel: Tunnel) -> None:
    """RFC 3964 section 5.3.2."""
    for address in SPECIAL:
        refused(tunnel, back(address), "inner-address", RELAY)
        refused(tunnel, back(address, OWN6), "inner-address", FAR)


def test_destination_outside_the_site(tunnel: Tunnel) -> None:
    """RFC 3964 section 3.1: no open relay. RFC 6324: no loop between tunnels."""
    for destination in (FAR26, NATIVE6, in_site("203.0.113.3"), in_site("192.168.1.10"), "2001:db8::1", *SPECIAL):
        refused(tunnel, back(FAR6, destination), "inner-destination")
        refused(tunnel, back(NATIVE6, destination), "inner-destination", RELAY)


def test_unused_rest_of_the_site(tunnel: Tunnel) -> None:
    """It is dropped; the sender, whose address was checked, gets an error (RFC 7084 WPD-5)."""
    error = inner(only(tunnel.into(back(dst=in_site(OUTSIDE, 9, 9))), WAN))
    assert error.dst == FAR6 and error.src == OWN6
    assert bytes(error)[40:42] == b"\x01\x00"
    assert tunnel.dropped() == "no-route"


def test_loop_between_two_tunnels(tunnel: Tunnel) -> None:
    """RFC 6324 section 3: a packet that each end would send to the other is refused here at once."""
    packet = IPv6(src=in_site(OUTSIDE, 1, 1), dst=FAR6, hlim=255) / ICMPv6EchoRequest()
    refused(tunnel, packet, "inner-destination", FAR)
    refused(tunnel, back(in_site(OUTSIDE), in_site(OUTSIDE, 1, 10)), "inner-source", FAR)
    assert tunnel.gateway.stats()["tunnel_out_packets"] == 0


@pytest.mark.parametrize("proto", [41, 4])
def test_nested_tunnels(tunnel: Tunnel, proto: int) -> None:
    inside = bytes(back()) if proto == 41 else bytes(IP(src=FAR, dst=OUTSIDE, proto=41) / Raw(bytes(back())))
    refused(tunnel, IPv6(src=FAR6, dst=HOST6, nh=proto) / Raw(inside), "nested-tunnel")
    refused(tunnel, IPv6(src=FAR6, dst=OWN6, nh=proto) / Raw(inside), "nested-tunnel")
    refused(tunnel, IPv6(src=FAR6, dst=HOST6) / IPv6ExtHdrDestOpt(nh=proto) / Raw(inside), "nested-tunnel")
    many = bytes(IPv6ExtHdrDestOpt(nh=60)) * 20 + bytes(IPv6ExtHdrDestOpt(nh=proto))
    refused(tunnel, IPv6(src=FAR6, dst=HOST6, nh=60) / Raw(many + inside), "nested-tunnel")


@pytest.mark.parametrize("message", [
    ICMPv6ND_NS(tgt=OWN6) / ICMPv6NDOptSrcLLAddr(lladdr="52:54:00:00:66:66"),
    ICMPv6ND_NA(tgt=HOST6, S=1, O=1) / ICMPv6NDOptDstLLAddr(lladdr="52:54:00:00:66:66"),
    ICMPv6ND_RS() / ICMPv6NDOptSrcLLAddr(lladdr="52:54:00:00:66:66"),
    ICMPv6ND_RA() / ICMPv6NDOptSrcLLAddr(lladdr="52:54:00:00:66:66"),
    ICMPv6ND_Redirect(tgt=FAR6, dst=NATIVE6),
], ids=["ns", "na", "rs", "ra", "redirect"])
def test_neighbour_discovery_never_enters(tunnel: Tunnel, message: Raw) -> None:
    """RFC 3964 section 4.1.1: a hop limit of 255 proves nothing after a tunnel (RFC 4213 section 5)."""
    before = tunnel.gateway.lines("neighbours")
    assert tunnel.into(IPv6(src=FAR6, dst=OWN6, hlim=255) / message) == []
    assert len(tunnel.gateway.drops()) == 1
    assert tunnel.gateway.lines("neighbours") == before


# --- form ------------------------------------------------------------------------------------------------


def test_inner_version(tunnel: Tunnel) -> None:
    for version in (0, 4, 5, 7, 15):
        packet = bytearray(bytes(back()))
        packet[0] = version << 4
        refused(tunnel, bytes(packet), "ip-header")
    refused(tunnel, bytes(IP(src="192.0.2.1", dst="192.168.1.10") / UDP() / Raw(b"x" * 40)), "ip-header")


def test_truncated(tunnel: Tunnel) -> None:
    packet = bytes(back())
    for n in (0, 1, 7, 8, 20, 39):
        refused(tunnel, packet[:n], "ip-header")
    for n in (40, 47, len(packet) - 1):
        refused(tunnel, packet[:n], "ip-length")


def test_invalid_outer_header(tunnel: Tunnel) -> None:
    whole = tunnel.packet(back())
    for change, reason in (({"len": 19}, "ip-length"), ({"len": 1499}, "ip-length"), ({"ihl": 4}, "ip-header"),
                           ({"chksum": 0x1234}, "ip-checksum"), ({"version": 6}, "ip-header")):
        packet = whole.copy()
        for name, value in change.items():
            setattr(packet, name, value)
        assert tunnel.gateway.wan(packet, broken=True) == []
        assert tunnel.dropped() == reason


def test_long_chain_of_headers(tunnel: Tunnel) -> None:
    """Whatever the length of a chain, its last header counts. A tunnel there is refused, in a packet to a host and to
    the gateway, and so is a truncated header. A second hop-by-hop header matters to the destination only (RFC 8200
    4)."""
    options = bytes(IPv6ExtHdrDestOpt(nh=60)) * 120
    for dst in (HOST6, OWN6):
        hidden = options + bytes(IPv6ExtHdrDestOpt(nh=41)) + bytes(IPv6(src=FAR6, dst=HOST6, nh=59))
        refused(tunnel, IPv6(src=FAR6, dst=dst, nh=60) / Raw(hidden), "nested-tunnel")
        cut_off = options + b"\x3b\x09" + bytes(6)
        refused(tunnel, IPv6(src=FAR6, dst=dst, nh=60) / Raw(cut_off), "nested-tunnel")
    whole = options + bytes(IPv6ExtHdrDestOpt(nh=59))
    arrives(tunnel, IPv6(src=FAR6, dst=HOST6, nh=60) / Raw(whole), broken=True)
    hops = IPv6ExtHdrHopByHop(nh=0) / IPv6ExtHdrHopByHop(nh=59)
    arrives(tunnel, IPv6(src=FAR6, dst=HOST6) / hops / Raw(b"x"), broken=True)


def test_ecn(tunnel: Tunnel) -> None:
    """RFC 6040 section 4.2, figure 4. 0: not-ECT, 1: ECT(1), 2: ECT(0), 3: CE."""
    figure = {0: (0, 0, 0, None), 1: (1, 1, 1, 3), 2: (2, 1, 2, 3), 3: (3, 3, 3, 3)}
    odd = 0
    for inner_ecn, row in figure.items():
        for outer_ecn, expected in enumerate(row):
            sent = tunnel.into(back(tc=0xa8 | inner_ecn, fl=0xabcde), tos=0x54 | outer_ecn)
            if expected is None:
                assert sent == [] and tunnel.dropped() == "ecn"
            else:
                got = ip6(only(sent, LAN))
                assert (got.tc, got.fl) == (0xa8 | expected, 0xabcde), (inner_ecn, outer_ecn)
            odd += (inner_ecn, outer_ecn) in ((0, 1), (0, 2), (1, 2), (3, 1))
            assert tunnel.gateway.stats()["tunnel_ecn_odd"] == odd


# --- size --------------------------------------------------------------------------------------------------


def test_too_big_for_the_lan(start: Start) -> None:
    """Path MTU discovery towards the LAN: the far host gets packet too big through the tunnel."""
    tunnel = Tunnel(start(DECOUPLED + "lan.mtu 1400\n", "6to4"))
    arrives(tunnel, sized(1400, FAR6, HOST6))
    sent = only(tunnel.into(sized(1401, FAR6, HOST6)), WAN)
    error = inner(sent)
    assert (sent.ip.dst, error.src, error.dst) == (FAR, OWN6, FAR6)
    assert bytes(error)[40:42] == b"\x02\x00" and bytes(error)[44:48] == (1400).to_bytes(4, "big")
    assert sent.ip.len <= 1300
    assert tunnel.dropped() == "too-big"


def test_hop_limit(tunnel: Tunnel) -> None:
    assert arrives(tunnel, back(hlim=2)).hlim == 1
    error = inner(only(tunnel.into(back(hlim=1)), WAN))
    assert bytes(error)[40:42] == b"\x03\x00"
    assert tunnel.dropped() == "ttl"


# --- fragments ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1280, 1480, 1500])
def test_fragments_in_any_order(tunnel: Tunnel, size: int) -> None:
    """RFC 4213 section 3.6: IPv4 packets of at least 1500 bytes are reassembled."""
    packet = sized(size, FAR6, HOST6)
    pieces = cut(tunnel.packet(packet, id=5), 512)
    for seed in range(6):
        random.Random(seed).shuffle(pieces)
        sent = [one for piece in pieces for one in tunnel.gateway.wan(piece)]
        assert bytes(ip6(only(sent, LAN)))[8:] == bytes(packet)[8:]
    assert tunnel.gateway.drops() == {}


def test_reassembled_packets_are_checked(tunnel: Tunnel) -> None:
    for piece in cut(tunnel.packet(sized(1280, FAR26, HOST6), FAR, id=5), 640):
        assert tunnel.gateway.wan(piece) == []
    assert tunnel.dropped() == "inner-source"


def test_fragments_from_an_invalid_endpoint_use_no_room(tunnel: Tunnel) -> None:
    flood = [(WAN, Ether(src=ROUTER.mac, dst=PORT_MAC[WAN]) /
              IP(src=f"10.{n % 200}.{n % 7}.1", dst=tunnel.outer, proto=IP6, flags="MF", id=n) / Raw(bytes(64)))
             for n in range(300)]
    tunnel.gateway.send_many(flood)
    assert tunnel.gateway.stats()["tunnel_reassembling"] == 0
    assert sum(tunnel.gateway.drops().values()) == 300 and "reassembly" not in tunnel.gateway.drops()


def test_overlapping_fragments(tunnel: Tunnel) -> None:
    """The second fragment would replace the address that the first one had."""
    first, second = cut(tunnel.packet(sized(1280, FAR6, HOST6), id=5), 640)[:2]
    forged = IP(src=FAR, dst=tunnel.outer, id=5, proto=IP6, frag=1, flags="MF") / Raw(bytes(640))
    assert tunnel.gateway.wan(first) == []
    assert tunnel.gateway.wan(forged) == []
    assert tunnel.dropped() == "overlap"
    assert tunnel.gateway.wan(second) == []
    assert tunnel.gateway.stats()["tunnel_in_packets"] == 0


@pytest.mark.parametrize("alone", [0, 1])
def test_fragments_that_stay_incomplete(tunnel: Tunnel, alone: int) -> None:
    """The list of drops shows the header that came, whatever the buffer held before."""
    pieces = cut(tunnel.packet(sized(1280, FAR6, HOST6), id=5), 640)
    pieces.insert(0, pieces.pop(alone))
    tunnel.gateway.wan(pieces[0])
    assert tunnel.gateway.stats()["tunnel_reassembling"] == 1
    tunnel.gateway.wait(1)
    assert tunnel.gateway.stats()["tunnel_reassembling"] == 0
    assert tunnel.dropped() == "reassembly"
    assert f"wan {len(pieces[0])} bytes: proto-41 {FAR} > {tunnel.outer} " in tunnel.gateway.lines("drops")[-1]
    assert tunnel.gateway.wan(pieces[1]) == []


def test_longest_packet(tunnel: Tunnel) -> None:
    """The limit is one buffer: the outer payload may have 2048 bytes."""
    fits = sized(2048, FAR6, HOST6)
    sent = [one for piece in cut(tunnel.packet(fits, id=1), 1024) for one in tunnel.gateway.wan(piece)]
    error = inner(only(sent, WAN))  # too big for the LAN, but reassembled
    assert bytes(error)[40:42] == b"\x02\x00"
    assert tunnel.dropped() == "too-big"
    for piece in cut(tunnel.packet(sized(2049, FAR6, HOST6), id=2), 1024):
        assert tunnel.gateway.wan(piece) == []
    assert tunnel.gateway.drops()["reassembly"] == 1


def test_flood_of_fragments(tunnel: Tunnel) -> None:
    """The flood fills the slots. It affects neither whole packets nor a sender whose fragments follow each other."""
    flood = [(WAN, Ether(src=ROUTER.mac, dst=PORT_MAC[WAN]) /
              IP(src=f"8.{n % 200}.{n % 7}.1", dst=tunnel.outer, proto=IP6, flags="MF", id=n) / Raw(bytes(64)))
             for n in range(300)]
    for sent in tunnel.gateway.send_many(flood):
        assert sent == []
    stats = tunnel.gateway.stats()
    assert stats["packets_kept"] <= 128 and stats["packets_free"] >= 512 - 128
    arrives(tunnel, back())
    pieces = cut(tunnel.packet(sized(1280, FAR6, HOST6), id=9), 640)
    sent = [one for piece in pieces for one in tunnel.gateway.wan(piece)]
    assert ip6(only(sent, LAN)).src == FAR6


def test_flood_of_one_sender(tunnel: Tunnel) -> None:
    for n in range(200):
        tunnel.gateway.wan(IP(src=FAR2, dst=tunnel.outer, proto=IP6, flags="MF", id=n) / Raw(bytes(64)))
    assert tunnel.gateway.stats()["packets_kept"] <= 8
    pieces = cut(tunnel.packet(sized(1280, FAR6, HOST6), id=9), 640)
    sent = [one for piece in pieces for one in tunnel.gateway.wan(piece)]
    assert ip6(only(sent, LAN)).src == FAR6


def test_fragments_with_congestion(tunnel: Tunnel) -> None:
    """RFC 3168 section 5.3: one marked fragment marks the whole packet."""
    pieces = cut(tunnel.packet(sized(1280, FAR6, HOST6, tc=2), tos=2, id=5), 640)
    pieces[1].tos = 3
    sent = [one for piece in pieces for one in tunnel.gateway.wan(piece)]
    assert ip6(only(sent, LAN)).tc == 3
    pieces = cut(tunnel.packet(sized(1280, FAR6, HOST6), id=6), 640)
    pieces[1].tos = 3
    assert [one for piece in pieces for one in tunnel.gateway.wan(piece)] == []
    assert tunnel.dropped() == "ecn"


# --- native IPv6 on the wrong interface -------------------------------------------------------------------------


def test_native_ipv6_on_the_wan(tunnel: Tunnel) -> None:
    """RFC 6324 section 4: no native uplink beside the tunnel."""
    for packet in (back(), back(NATIVE6), back(FAR6, OWN6), back("fe80::5", "ff02::1")):
        frame = Ether(src=ROUTER.mac, dst=PORT_MAC[WAN], type=0x86dd) / packet
        assert tunnel.gateway.send(WAN, frame) == []
    assert tunnel.gateway.stats()["forwarded_packets"] == 0


def test_errors_about_tunnel_packets_are_limited(tunnel: Tunnel) -> None:
    """A far sender cannot make the gateway send any number of errors."""
    frames = [(WAN, Ether(src=ROUTER.mac, dst=PORT_MAC[WAN]) / tunnel.packet(back(dst=in_site(OUTSIDE, 9, 9))))
              for _ in range(200)]
    answers = sum(len(sent) for sent in tunnel.gateway.send_many(frames))
    assert 1 <= answers <= 100
    assert tunnel.gateway.stats()["icmp_errors_suppressed"] >= 100
