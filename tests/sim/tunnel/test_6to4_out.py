# SPDX-License-Identifier: BSD-2-Clause
"""6to4, from the LAN into the tunnel: RFC 3056, RFC 3964 section 5.1, RFC 4213 section 3."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gateway import A, B, LAN, OUTSIDE, PORT_MAC, ROUTER, WAN, Gateway, only
from pieces import is_fragment, join
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6ND_RA,
    ICMPv6ND_RS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptMTU,
    ICMPv6NDOptPrefixInfo,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
)
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from simulator import Refused
from tunnel import (
    COLOCATED,
    DECOUPLED,
    FAR,
    FAR6,
    FAR26,
    HOST6,
    NATIVE6,
    OWN6,
    PRIVATE,
    RELAY,
    SETUPS,
    Tunnel,
    in_site,
    inner,
    ip6,
    ping6,
    sized,
    told,
)

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
NO_ROUTE, ADMIN, ADDRESS, POLICY = (1, 0, 0), (1, 1, 0), (1, 3, 0), (1, 5, 0)

# Embedded addresses that are no tunnel endpoint: RFC 3056 section 9, RFC 3964 section 5.3.1.
BAD_ENDS = ["10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.10", "192.168.77.1", "127.0.0.1", "0.0.0.1",
            "0.0.0.0", "169.254.1.1", "100.64.0.1", "100.127.255.255", "224.0.0.1", "239.1.2.3", "240.0.0.1",
            "255.255.255.255"]
# IPv6 addresses that belong to no host beyond the local network: RFC 3964 section 5.3.2.
SPECIAL = ["::", "::1", "::ffff:198.51.100.7", "::198.51.100.7", "0:1::1", "fe80::99", "fec0::1", "ff02::1",
           "ff0e::1:2", "fc00::1", "fd00:1::1", "fe00::1"]
# Addresses next to those blocks, and blocks that count as public.
GOOD_ENDS = ["9.255.255.255", "11.0.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0",
             "126.255.255.255", "128.0.0.1", "1.0.0.1", "169.253.255.255", "169.255.0.0", "100.63.255.255",
             "100.128.0.0", "223.255.255.254", "192.0.2.1", "198.18.0.1", "192.88.99.1"]


# --- the outer header -----------------------------------------------------------------------------


def test_golden(tunnel: Tunnel) -> None:
    """One packet, byte for byte, and the counters."""
    packet = ping6(tc=0, hlim=64)
    sent = only(tunnel.out(packet), WAN)
    header = sent.raw[14:34]
    source = bytes(int(octet) for octet in tunnel.outer.split("."))
    assert header[:4] == bytes((0x45, 0, 0, 20 + len(packet)))
    assert header[6:10] == bytes((0, 0, 64, 41))
    assert header[12:] == source + bytes((198, 51, 100, 7))
    expected = bytearray(bytes(packet))
    expected[7] = 63
    assert sent.raw[34:] == bytes(expected)
    stats = tunnel.gateway.stats()
    assert (stats["tunnel_out_packets"], stats["tunnel_in_packets"], stats["forwarded_packets"]) == (1, 0, 1)
    assert tunnel.gateway.drops() == {}


def test_destination_is_the_embedded_address(tunnel: Tunnel) -> None:
    """RFC 3056 section 5.3: the outer destination of a 2002: address is always the embedded one, never the relay."""
    for v4 in GOOD_ENDS:
        assert only(tunnel.out(ping6(dst=in_site(v4, 9, 9))), WAN).ip.dst == v4
    assert tunnel.gateway.drops() == {}


def test_native_goes_to_the_relay(tunnel: Tunnel) -> None:
    sent = only(tunnel.out(ping6(dst=NATIVE6)), WAN)
    assert (sent.ip.src, sent.ip.dst) == (tunnel.outer, RELAY)
    assert inner(sent).dst == NATIVE6


@pytest.mark.parametrize("config", [COLOCATED, DECOUPLED], ids=["co-located", "decoupled"])
def test_without_a_relay(start: Start, config: str) -> None:
    tunnel = Tunnel(start(config.replace(f"6to4.relay {RELAY}\n", ""), "6to4"))
    assert told(tunnel.out(ping6(dst=NATIVE6))) == NO_ROUTE
    assert tunnel.dropped() == "no-relay"
    assert only(tunnel.out(ping6()), WAN).ip.dst == FAR


def test_identifications_differ(tunnel: Tunnel) -> None:
    """RFC 6864 section 4.3: DF is clear, so they must not repeat."""
    seen = [only(tunnel.out(ping6()), WAN).ip.id for _ in range(50)]
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize(("keys", "mask"), [
    ("", 0xff), ("6to4.dscp zero\n", 0x03), ("6to4.ecn zero\n", 0xfc), ("6to4.dscp zero\n6to4.ecn zero\n", 0),
], ids=["copy", "dscp-zero", "ecn-zero", "both"])
def test_traffic_class(start: Start, keys: str, mask: int) -> None:
    """RFC 6040 section 4.1, normal and compatibility mode; RFC 4213 section 3.5 for the DSCP."""
    tunnel = Tunnel(start(COLOCATED + keys, "6to4"))
    for tc in (0, 1, 2, 3, 0xb8, 0xbb, 0xff):
        sent = only(tunnel.out(ping6(tc=tc, fl=0xfffff)), WAN)
        assert sent.ip.tos == tc & mask
        assert (inner(sent).tc, inner(sent).fl) == (tc, 0xfffff)


def test_hop_limit(tunnel: Tunnel) -> None:
    """RFC 4213 section 3.3: the tunnel is one hop; the outer TTL does not depend on the hop limit."""
    sent = only(tunnel.out(ping6(hlim=2)), WAN)
    assert (inner(sent).hlim, sent.ip.ttl) == (1, 64)
    for hops in (1, 0):
        error = tunnel.out(ping6(hlim=hops))
        assert told(error) == (3, 0, 0)
        assert ip6(error[0]).src == OWN6
        assert tunnel.dropped() == "ttl"


# --- allowed sources and destinations -----------------------------------------------------------------------------


def test_invalid_endpoints(tunnel: Tunnel) -> None:
    """RFC 3056 section 9: MUST be silently discarded, as destination and as source."""
    for v4 in BAD_ENDS:
        for packet in (ping6(dst=in_site(v4)), ping6(src=in_site(v4)), ping6(src=in_site(v4), dst=NATIVE6)):
            assert tunnel.out(packet) == [], v4
            assert tunnel.dropped() == "tunnel-end"


@pytest.mark.parametrize("v4", ["203.0.113.0", "203.0.113.255"])
@pytest.mark.parametrize("config", [COLOCATED, DECOUPLED], ids=["co-located", "decoupled"])
def test_broadcast_of_the_wan(start: Start, config: str, v4: str) -> None:
    tunnel = Tunnel(start(config, "6to4"))
    assert tunnel.out(ping6(dst=in_site(v4))) == []
    assert tunnel.dropped() == "tunnel-end"
    assert only(tunnel.out(ping6(dst=in_site(ROUTER.ip))), WAN).ip.dst == ROUTER.ip


def test_tunnel_endpoint_on_the_lan(start: Start) -> None:
    """Invalid also where the LAN has public addresses."""
    config = DECOUPLED.replace("lan.address 192.168.1.1/24", "lan.address 192.0.2.1/24").replace(
        f"neighbour {A.ip}", "neighbour 192.0.2.10")
    config = "\n".join(line for line in config.splitlines() if " 192.168." not in line)
    tunnel = Tunnel(start(config, "6to4"))
    for v4 in ("192.0.2.10", "192.0.2.1", "192.0.2.255"):
        assert tunnel.out(ping6(dst=in_site(v4))) == []
        assert tunnel.dropped() == "tunnel-end"


def test_endpoint_in_the_nat_pool(start: Start) -> None:
    """The address is the gateway's, whatever inside host uses it."""
    tunnel = Tunnel(start(COLOCATED + "nat.pool 203.0.113.20-203.0.113.21\n", "6to4"))
    assert tunnel.out(ping6(dst=in_site("203.0.113.21"))) == []
    assert tunnel.dropped() == "tunnel-end"
    assert only(tunnel.out(ping6(dst=in_site("203.0.113.22"))), None).port == WAN


@pytest.mark.parametrize("destination", [FAR6, NATIVE6])
def test_source_outside_the_site(tunnel: Tunnel, destination: str) -> None:
    """No transit: packets from another site's addresses or native ones are dropped. A host that uses an address of
    another prefix gets an error (RFC 4443 section 3.1, code 5), on its own network whatever the address."""
    for source in (FAR6, FAR26, NATIVE6, "2001:db8::1", in_site("203.0.113.3")):
        sent = tunnel.out(ping6(src=source, dst=destination))
        assert told(sent) == POLICY
        assert (sent[0].frame.dst, ip6(sent[0]).dst, ip6(sent[0]).src) == (A.mac, source, OWN6)
        assert tunnel.dropped() == "ingress"


def test_a_host_with_many_foreign_sources_gets_the_errors_of_one(tunnel: Tunnel) -> None:
    """Each source is in another network of 64 bits. Other hosts get their errors."""
    tunnel.gateway.wait(5)
    stray = [tunnel.out(ping6(src=f"2001:db8:{n:x}::1", dst=FAR6)) for n in range(100, 300)]
    assert 25 < sum(len(sent) for sent in stray) < 50
    other = Ether(src=B.mac, dst=PORT_MAC[LAN], type=0x86dd) / Raw(bytes(ping6(src="2001:db8::1", dst=FAR6)))
    assert told(tunnel.gateway.send(LAN, other)) == POLICY


def test_source_of_another_lan_network_gets_an_error(start: Start) -> None:
    tunnel = Tunnel(start(COLOCATED + f"lan.address 2001:db8:77::1/64\nneighbour 2001:db8:77::10 {A.mac}\n", "6to4"))
    for destination in (FAR6, NATIVE6):
        assert told(tunnel.out(ping6(src="2001:db8:77::10", dst=destination))) == POLICY
        assert tunnel.dropped() == "ingress"


def test_our_own_address_as_source(tunnel: Tunnel) -> None:
    assert tunnel.out(ping6(src=OWN6)) == []
    assert tunnel.dropped() == "martian-source"


def test_special_addresses(tunnel: Tunnel) -> None:
    """RFC 3964 section 5.3.2: they do not enter the tunnel, neither as source nor as destination."""
    for address in SPECIAL:
        for packet in (ping6(src=address), ping6(dst=address), ping6(src=address, dst=NATIVE6)):
            assert [one for one in tunnel.out(packet) if one.port == WAN] == [], address


def test_own_site_is_not_tunnelled(start: Start) -> None:
    """The unused rest of the /48 has no route; a subnet behind a router on the LAN has one."""
    behind = in_site(OUTSIDE, 2, 0)
    tunnel = Tunnel(start(COLOCATED + f"route {behind}/64 via {HOST6}\n", "6to4"))
    source = in_site(OUTSIDE, 1, 11)
    assert told(tunnel.out(ping6(dst=in_site(OUTSIDE, 3, 1)))) == NO_ROUTE
    assert tunnel.dropped() == "no-route"
    turned = only(tunnel.out(ping6(src=source, dst=in_site(OUTSIDE, 2, 5))), LAN)
    assert ip6(turned).dst == in_site(OUTSIDE, 2, 5)
    # That router's hosts use the tunnel too.
    assert only(tunnel.out(ping6(src=in_site(OUTSIDE, 2, 5))), WAN).ip.dst == FAR


@pytest.mark.parametrize("proto", [41, 4])
def test_nested_tunnels(tunnel: Tunnel, proto: int) -> None:
    """A tunnel in the tunnel would pass by all checks at the other end."""
    inside = bytes(ping6(dst=NATIVE6)) if proto == 41 else bytes(IP(src="192.0.2.1", dst="192.0.2.2") / UDP())
    assert told(tunnel.out(IPv6(src=HOST6, dst=FAR6, nh=proto) / Raw(inside))) == ADMIN
    assert tunnel.dropped() == "nested-tunnel"
    assert told(tunnel.out(IPv6(src=HOST6, dst=FAR6) / IPv6ExtHdrDestOpt(nh=proto) / Raw(inside))) == ADMIN
    assert tunnel.dropped() == "nested-tunnel"


# --- size ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mtu", [1280, 1400, 1480])
def test_mtu(start: Start, mtu: int) -> None:
    """RFC 4213 section 3.2.1: a static MTU of 1280 to 1480, DF clear; larger packets cause packet too big."""
    tunnel = Tunnel(start(DECOUPLED + f"6to4.mtu {mtu}\n", "6to4"))
    sent = only(tunnel.out(sized(mtu)), WAN)
    assert (sent.ip.len, sent.ip.flags, sent.ip.frag) == (mtu + 20, 0, 0)
    for size in (mtu + 1, 1500):
        error = tunnel.out(sized(size))
        assert told(error) == (2, 0, mtu)
        assert tunnel.dropped() == "too-big"


def test_default_mtu_is_1280(tunnel: Tunnel) -> None:
    only(tunnel.out(sized(1280)), WAN)
    assert told(tunnel.out(sized(1281))) == (2, 0, 1280)


def test_narrow_wan(start: Start) -> None:
    """When the MTU of the WAN is smaller than the outer packet, the packet leaves in fragments."""
    tunnel = Tunnel(start(DECOUPLED + "wan.mtu 1280\n", "6to4"))
    sent = tunnel.out(sized(1280))
    assert len(sent) == 2 and all(is_fragment(one) for one in sent)
    whole = join(sent)
    assert (whole.len, whole.proto) == (1300, 41)
    assert bytes(whole)[20:27] + b"\x40" + bytes(whole)[28:] == bytes(sized(1280, hlim=64))
    assert "6to4.mtu: packets over 1260 bytes leave in two fragments" in tunnel.gateway.lines("log")[-1]


def test_inner_fragments_pass(tunnel: Tunnel) -> None:
    for offset, more in ((0, 1), (100, 1), (200, 0)):
        header = IPv6ExtHdrFragment(nh=17, offset=offset, m=more, id=77)
        packet = IPv6(src=HOST6, dst=FAR6, hlim=9) / header / Raw(b"x" * 800)
        got = bytes(inner(only(tunnel.out(packet), WAN)))
        assert got[:7] + b"\x09" + got[8:] == bytes(packet)


@pytest.mark.parametrize("offer", [1440, 1220, 1000, None])
def test_mss_clamp(start: Start, offer: int | None) -> None:
    tunnel = Tunnel(start(DECOUPLED + "6to4.mss-clamp 1220\n", "6to4"))
    options = [("NOP", None), ("NOP", None)] + ([("MSS", offer)] if offer else [("Timestamp", (1, 0)), ("NOP", None)])

    def segment(src: str, dst: str, flags: str) -> IPv6:
        return IPv6(src=src, dst=dst) / TCP(sport=1, dport=2, flags=flags, options=options)

    def mss(packet: IPv6) -> int | None:
        return dict(packet[TCP].options).get("MSS")

    expected = min(offer, 1220) if offer else None
    assert mss(inner(only(tunnel.out(segment(HOST6, FAR6, "S")), WAN))) == expected
    assert mss(ip6(only(tunnel.into(segment(FAR6, HOST6, "SA")), LAN))) == expected
    assert mss(inner(only(tunnel.out(segment(HOST6, FAR6, "A")), WAN))) == offer


def test_mss_is_not_changed_by_default(tunnel: Tunnel) -> None:
    packet = IPv6(src=HOST6, dst=FAR6) / TCP(flags="S", options=[("MSS", 1440)])
    assert dict(inner(only(tunnel.out(packet), WAN))[TCP].options)["MSS"] == 1440


# --- the start ------------------------------------------------------------------------------------------


def wrong(start: Start, config: str) -> str:
    with pytest.raises(Refused) as refused:
        start(config, "6to4")
    return str(refused.value)


def with_wan(address: str, keys: str = "") -> str:
    return f"lan.address 192.168.1.1/24\nwan.address {address}/24\n{keys}"


@pytest.mark.parametrize(("address", "reason"), [
    ("10.0.0.5", "private (RFC 1918)"), ("172.16.3.5", "private (RFC 1918)"), ("192.168.9.5", "private (RFC 1918)"),
    ("100.64.0.5", "for carrier NAT (RFC 6598)"), ("169.254.3.5", "link-local"),
    ("192.88.99.5", "the anycast block (RFC 7526)"),
])
def test_unsuitable_address(start: Start, address: str, reason: str) -> None:
    """RFC 3056 section 2, RFC 6343 section 4.1: refused, with the reason and the key."""
    assert wrong(start, with_wan(address)) == \
        f"6to4.address: must be given, because wan.address {address} is {reason}"
    assert wrong(start, with_wan("203.0.113.2", f"6to4.address {address}\n")) == f"6to4.address: {address} is {reason}"
    assert wrong(start, with_wan("10.0.0.5", f"6to4.address {address}\n")) == f"6to4.address: {address} is {reason}"


@pytest.mark.parametrize("address", ["127.0.0.1", "224.0.0.1", "240.0.0.1", "0.0.0.1", "255.255.255.255"])
def test_address_of_no_host(start: Start, address: str) -> None:
    """Such an address is already an invalid value of the key."""
    with pytest.raises(Refused, match="6to4.address: "):
        start(with_wan("203.0.113.2", f"6to4.address {address}\n"), "6to4")


def test_address_that_is_not_routed_here(start: Start) -> None:
    """RFC 3056 section 3: it must be configured on the interface."""
    assert wrong(start, with_wan("203.0.113.2", "6to4.address 203.0.113.3\n")) == \
        "6to4.address: 203.0.113.3 is not a wan.address, and that is not private"


def test_second_address_of_the_wan(start: Start) -> None:
    config = DECOUPLED.replace("gateway", "wan.address 203.0.113.77/24\n6to4.address 203.0.113.77\ngateway", 1)
    config = "\n".join(line for line in config.splitlines() if "2002:" not in line)
    tunnel = Tunnel(start(config, "6to4"), "203.0.113.77")
    assert any("2002:cb00:714d:1::/64" in line for line in tunnel.gateway.lines("routes"))
    # The other address is no tunnel endpoint.
    to = in_site("203.0.113.77", 1, 1)
    assert tunnel.into(ping6(FAR6, to), dst=OUTSIDE) == []
    assert tunnel.dropped() == "no-service"
    assert only(tunnel.into(ping6(FAR6, to)), WAN).ip.src == "203.0.113.77"


def test_relay_must_be_unicast(start: Start) -> None:
    """RFC 7526: the anycast address of RFC 3068 must not be configured."""
    config = DECOUPLED.replace(f"6to4.relay {RELAY}", "6to4.relay %s")
    assert wrong(start, config % "192.88.99.1") == "6to4.relay: 192.88.99.1 is the anycast block (RFC 7526)"
    assert wrong(start, config % "10.0.0.1") == "6to4.relay: 10.0.0.1 is private (RFC 1918)"
    assert wrong(start, config % OUTSIDE) == f"6to4.relay: {OUTSIDE} is the gateway itself"


def test_required_addresses(start: Start) -> None:
    assert wrong(start, "lan.address 192.168.1.1/24\n") == "wan.address: an IPv4 address is required by 6to4"
    assert wrong(start, "wan.address 203.0.113.2/24\n") == "lan.address: an IPv4 address is required by the NAT"
    start("wan.address 203.0.113.2/24\n6to4.nat off\nlan.ra off\n", "6to4")


def test_own_address_by_default(start: Start) -> None:
    """Without an address in the configuration: host number 1 of the subnet."""
    config = "\n".join(line for line in DECOUPLED.splitlines() if "2002:" not in line)
    gateway = start(config, "6to4")
    assert any("2002:cb00:7102:1::/64" in line for line in gateway.lines("routes"))
    gateway = start(config + "\n6to4.subnet 65535\n", "6to4")
    assert any("2002:cb00:7102:ffff::/64" in line for line in gateway.lines("routes"))


# --- advertisements on the LAN ---------------------------------------------------------------------------------


def advertised(start: Start, config: str) -> Packet:
    """The advertisement that answers a router solicitation."""
    gateway = start(config.replace("lan.ra off\n", ""), "6to4")
    gateway.wait(20)
    host = Ether(src=A.mac, dst="33:33:00:00:00:02") / IPv6(src="::", dst="ff02::2", hlim=255)
    sent = gateway.send(LAN, host / ICMPv6ND_RS()) + gateway.wait(3.6)
    return next(one.ip6 for one in sent if ICMPv6ND_RA in one.frame)


@pytest.mark.parametrize("keys", ["", "6to4.mtu 1400\n", "6to4.nat off\n6to4.mtu 1480\nlan.mtu 1300\n"])
def test_router_advertisement(start: Start, keys: str) -> None:
    """RFC 3056 section 5.1, RFC 6343 section 4.1: the /64, the tunnel's MTU, low preference."""
    packet = advertised(start, COLOCATED + keys)
    message = packet[ICMPv6ND_RA]
    assert (message.routerlifetime, message.prf, message.M, message.O) == (1800, 3, 0, 0)
    prefix = packet[ICMPv6NDOptPrefixInfo]
    assert (prefix.prefix, prefix.prefixlen) == (in_site(OUTSIDE, 1, 0), 64)
    assert (prefix.L, prefix.A, prefix.validlifetime, prefix.preferredlifetime) == (1, 1, 2592000, 604800)
    expected = 1300 if "lan.mtu" in keys else 1400 if "1400" in keys else 1280
    assert packet[ICMPv6NDOptMTU].mtu == expected
    assert packet[ICMPv6NDOptSrcLLAddr].lladdr == PORT_MAC[LAN]


def test_router_advertisement_of_6rd(start: Start) -> None:
    """With 6rd the provider offers the service, so there is no low preference."""
    keys = "6rd.prefix 2001:db8::/32\n"
    config = "\n".join(line for line in COLOCATED.splitlines() if "2002:" not in line and "relay" not in line)
    packet = advertised(start, config + "\n" + keys)
    assert packet[ICMPv6ND_RA].prf == 0
    assert packet[ICMPv6NDOptPrefixInfo].prefix == "2001:db8:cb00:7102::"


def test_a_host_configures_itself(start: Start) -> None:
    """From the prefix to the first packet: neighbour discovery makes the entry of the host."""
    config = "\n".join(line for line in COLOCATED.splitlines() if "2002:" not in line)
    gateway = start(config, "6to4")
    tunnel = Tunnel(gateway)
    host = in_site(OUTSIDE, 1, 0x1234)
    assert inner(only(tunnel.out(ping6(src=host)), WAN)).src == host
    asked = only(tunnel.into(ping6(FAR6, host)), LAN)
    assert asked.ip6[ICMPv6ND_NS].tgt == host
    reply = IPv6(src=host, dst=asked.ip6.src, hlim=255) / ICMPv6ND_NA(tgt=host, S=1, O=1) \
        / ICMPv6NDOptDstLLAddr(lladdr=A.mac)
    assert ip6(only(tunnel.out(reply), LAN)).src == FAR6


def test_it_is_off_in_other_applications(start: Start) -> None:
    """RFC 7526 section 5: IPv4 forwarding does not switch 6to4 on."""
    gateway = start("lan.address 192.168.1.1/24\nwan.address 203.0.113.2/24\ngateway 203.0.113.1\n"
                    f"neighbour {ROUTER.ip} {ROUTER.mac}\n6to4.address {OUTSIDE}\n")
    tunnel = Tunnel(gateway)
    assert tunnel.out(ping6()) == [] and tunnel.dropped() == "ipv6"
    assert tunnel.into(ping6(FAR6, HOST6)) == [] and tunnel.dropped() == "no-mapping"


def test_private_address_is_the_outer_source(start: Start) -> None:
    tunnel = Tunnel(start(SETUPS["behind-nat"][0], "6to4"), PRIVATE)
    sent = only(tunnel.out(ping6()), WAN)
    assert sent.ip.src == PRIVATE and inner(sent).src == HOST6


@pytest.mark.virtual
@pytest.mark.parametrize("known", [False, True])
def test_neighbour_in_use_by_the_tunnel_is_refreshed(start: Callable[..., Gateway], known: bool) -> None:
    """It is refreshed before it expires, so that no packet waits. A packet of a known flow (net/flow.h) uses it too."""
    gateway = start(DECOUPLED.replace(f"neighbour {ROUTER.ip} {ROUTER.mac}\n", ""), "6to4")
    hello = ARP(op=1, hwsrc=ROUTER.mac, psrc=ROUTER.ip, pdst=OUTSIDE)
    gateway.send(WAN, Ether(src=ROUTER.mac, dst="ff:ff:ff:ff:ff:ff") / hello)
    if known:
        Tunnel(gateway).out(ping6())
        gateway.send(WAN, Ether(src=ROUTER.mac, dst="ff:ff:ff:ff:ff:ff") / hello)  # confirms it, so it counts as unused
    gateway.wait(40)
    assert only(Tunnel(gateway).out(ping6()), WAN).frame.dst == ROUTER.mac
    assert {one.arp.pdst for one in gateway.wait(10.5) if one.port == WAN} == {ROUTER.ip}
