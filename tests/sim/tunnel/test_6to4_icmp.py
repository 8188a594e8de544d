# SPDX-License-Identifier: BSD-2-Clause
"""ICMP errors about our own tunnel packets become ICMPv6 errors (RFC 4213 section 3.4, RFC 3056 section 7)."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address

import pytest
from gateway import LAN, PORT_MAC, ROUTER, WAN, Gateway, Sent, only
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import (
    ICMPv6DestUnreach,
    ICMPv6EchoRequest,
    ICMPv6TimeExceeded,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from tunnel import (
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
    told,
)

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
HOP = "192.0.2.99"  # a router on the path


def about(tunnel: Tunnel, quoted: bytes, kind: int = 3, code: int = 1, *, src: str = HOP,
          mtu: int = 0) -> list[Sent]:
    """An ICMP error from the WAN that quotes these bytes."""
    message = ICMP(type=kind, code=code, nexthopmtu=mtu) if mtu else ICMP(type=kind, code=code)
    return tunnel.gateway.wan(IP(src=src, dst=tunnel.outer) / message / Raw(quoted), broken=True)


def sent_packet(tunnel: Tunnel, packet: Packet | None = None) -> bytes:
    """Sends a packet into the tunnel; gives it as routers see it."""
    return only(tunnel.out(packet or ping6()), WAN).raw[14:]


NO_ROUTE, ADMIN, ADDRESS = (1, 0, 0), (1, 1, 0), (1, 3, 0)
MEANS = [
    (3, 0, NO_ROUTE), (3, 6, NO_ROUTE), (3, 11, NO_ROUTE), (3, 1, ADDRESS), (3, 2, ADDRESS), (3, 3, ADDRESS),
    (3, 5, ADDRESS), (3, 7, ADDRESS), (3, 8, ADDRESS), (3, 12, ADDRESS), (3, 9, ADMIN), (3, 10, ADMIN),
    (3, 13, ADMIN), (11, 0, (3, 0, 0)), (11, 1, (3, 1, 0)),
]


def test_long_quote(tunnel: Tunnel) -> None:
    """When the quote contains the IPv6 header, the sender gets an error about the quoted packet at once."""
    for number, (kind, code, means) in enumerate(MEANS):
        quoted = sent_packet(tunnel)
        error = about(tunnel, quoted, kind, code)
        assert told(error) == means, (kind, code)
        packet = ip6(error[0])
        assert (packet.src, packet.dst) == (OWN6, HOST6)
        assert bytes(packet)[48:] == quoted[20:]
        assert tunnel.gateway.stats()["tunnel_errors_told"] == number + 1
    assert tunnel.gateway.drops() == {}


@pytest.mark.parametrize("quote", [60, 61, 68, 100, 548])
def test_quotes_of_any_length(tunnel: Tunnel, quote: int) -> None:
    quoted = sent_packet(tunnel, IPv6(src=HOST6, dst=FAR6) / UDP(sport=1, dport=2) / Raw(b"x" * 900))
    error = about(tunnel, quoted[:quote])
    assert told(error) == ADDRESS
    assert bytes(ip6(error[0]))[48:] == quoted[20:quote]


def test_about_native(tunnel: Tunnel) -> None:
    assert told(about(tunnel, sent_packet(tunnel, ping6(dst=NATIVE6)))) == ADDRESS


@pytest.mark.parametrize(("mtu", "means"), [(0, 1280), (68, 1280), (1299, 1280), (1300, 1280), (1301, 1281),
                                            (1400, 1380), (1492, 1472)])
def test_path_mtu(start: Start, mtu: int, means: int) -> None:
    """3/4: packet too big, never below 1280 (RFC 4213 section 3.2)."""
    tunnel = Tunnel(start(DECOUPLED + "6to4.mtu 1480\n", "6to4"))
    assert told(about(tunnel, sent_packet(tunnel, sized(1480)), 3, 4, mtu=mtu)) == (2, 0, means)


def test_extended_message(tunnel: Tunnel) -> None:
    """RFC 4884 section 4: bytes after the quote are not part of it."""
    quoted = sent_packet(tunnel, sized(400))[:128]
    extension = b"\x20\x00\x00\x00\x00\x08\x01\x01\x00\x01\x01\x01"
    error = IP(src=HOP, dst=tunnel.outer) / ICMP(type=11, code=0, length=32) / Raw(quoted + extension)
    sent = tunnel.gateway.wan(error, broken=True)
    assert told(sent) == (3, 0, 0)
    assert bytes(ip6(sent[0]))[48:] == quoted[20:]


def test_short_quote(tunnel: Tunnel) -> None:
    """RFC 792 requires eight bytes only: the next packet to that destination causes the error, and is still sent."""
    for kind, code, means in MEANS:
        quoted = sent_packet(tunnel)[:28]
        assert about(tunnel, quoted, kind, code) == []
        assert tunnel.gateway.stats()["tunnel_errors_remembered"] == 1
        assert only(tunnel.out(ping6(dst=FAR26)), WAN).ip.dst == FAR2
        sent = tunnel.out(ping6())
        assert told([one for one in sent if one.port == LAN]) == means, (kind, code)
        assert [inner(one).dst for one in sent if one.port == WAN] == [FAR6]
        assert tunnel.gateway.stats()["tunnel_errors_remembered"] == 0
        only(tunnel.out(ping6()), WAN)
    assert tunnel.gateway.drops() == {}


@pytest.mark.parametrize("quote", [28, 40, 59])
def test_short_quote_about_size(start: Start, quote: int) -> None:
    """Only a packet that is too large causes an error, and it is not sent."""
    tunnel = Tunnel(start(DECOUPLED + "6to4.mtu 1480\n", "6to4"))
    quoted = sent_packet(tunnel, sized(1480))[:quote]
    assert about(tunnel, quoted, 3, 4, mtu=1400) == []
    only(tunnel.out(sized(1380)), WAN)
    assert told(tunnel.out(sized(1381))) == (2, 0, 1380)
    assert tunnel.dropped() == "too-big"
    only(tunnel.out(sized(1381)), WAN)


def test_soft_state_ends(tunnel: Tunnel) -> None:
    about(tunnel, sent_packet(tunnel)[:28])
    tunnel.gateway.wait(29)
    assert tunnel.gateway.stats()["tunnel_errors_remembered"] == 1
    tunnel.gateway.wait(3)
    assert tunnel.gateway.stats()["tunnel_errors_remembered"] == 0
    only(tunnel.out(ping6()), WAN)


def test_soft_state_is_bounded(tunnel: Tunnel) -> None:
    """Invented errors fill a small table; forwarding does not change."""
    quoted = sent_packet(tunnel)[:28]
    for n in range(300):
        forged = quoted[:16] + bytes((8, 8, n >> 8, n & 255)) + quoted[20:]
        assert about(tunnel, forged) == []
    assert 32 < tunnel.gateway.stats()["tunnel_errors_remembered"] <= 64
    assert [one.port for one in tunnel.out(ping6()) if one.port == WAN] == [WAN]


@pytest.mark.parametrize("end", [
    "0.0.0.0", "127.0.0.1", "10.1.2.3", "224.0.0.1", "255.255.255.255", "192.168.1.10", "ourselves", "broadcast",
])
def test_quote_of_a_packet_to_an_invalid_endpoint(tunnel: Tunnel, end: str) -> None:
    """The gateway sends nothing there, so it remembers nothing from such quotes, short or long."""
    to = {"ourselves": tunnel.outer, "broadcast": tunnel.outer.rpartition(".")[0] + ".255"}.get(end, end)
    quoted = sent_packet(tunnel)
    forged = quoted[:16] + IPv4Address(to).packed + quoted[20:]
    for _ in range(3):
        assert about(tunnel, forged[:28]) == []
        assert tunnel.dropped() == "icmp-quote"
    inside = bytes(ping6(dst=in_site(to)))
    assert about(tunnel, forged[:20] + inside) == []
    assert tunnel.dropped() == "icmp-quote"
    assert tunnel.gateway.stats()["tunnel_errors_remembered"] == 0
    assert tunnel.gateway.stats()["tunnel_errors_told"] == 0


@pytest.mark.parametrize("cut", [20, 24, 27])
def test_quote_that_is_too_short(tunnel: Tunnel, cut: int) -> None:
    quoted = sent_packet(tunnel)
    assert about(tunnel, quoted[:cut]) == []
    assert tunnel.dropped() == "icmp-quote"


def test_forged_quotes(tunnel: Tunnel) -> None:
    """Only a quote of a packet that the gateway may have sent counts: our outer header, our site, the right far end."""
    quoted = sent_packet(tunnel)
    own = quoted[12:16]
    other = bytes((192, 0, 2, 1))

    def quote(outer_from: bytes = own, outer_to: bytes = quoted[16:20], packet: Packet | bytes = quoted[20:]) -> bytes:
        return quoted[:12] + outer_from + outer_to + bytes(packet)

    for forged in (
            quote(outer_from=other),
            quote(outer_to=other),
            quote(packet=ping6(src=in_site("203.0.113.3"))),
            quote(packet=ping6(src=NATIVE6)),
            quote(packet=ping6(dst=FAR26)),
            quote(packet=ping6(dst=NATIVE6)),
            quote(packet=ping6(dst=in_site("10.1.2.3"))),
            quote(packet=bytes(IP(src="192.0.2.1", dst="192.0.2.2") / Raw(b"x" * 40))),
            quoted[:6] + b"\x00\x10" + quoted[8:],  # a later fragment
            b"\x41" + quoted[1:], b"\x4f" + quoted[1:60]):
        assert about(tunnel, forged) == []
        assert tunnel.dropped() == "icmp-quote"
    assert tunnel.gateway.stats()["tunnel_errors_told"] == 0


def test_wrong_checksum(tunnel: Tunnel) -> None:
    quoted = sent_packet(tunnel)
    error = IP(src=HOP, dst=tunnel.outer) / ICMP(type=3, code=1, chksum=0x1234) / Raw(quoted)
    assert tunnel.gateway.wan(error, broken=True) == []
    assert tunnel.dropped() == "icmp-checksum"


def test_martian_sender(tunnel: Tunnel) -> None:
    quoted = sent_packet(tunnel)
    for source in ("127.0.0.1", "224.0.0.1", tunnel.outer, "192.168.1.10"):
        assert about(tunnel, quoted, src=source) == []
        assert tunnel.dropped() == "martian-source"


@pytest.mark.parametrize(("kind", "code"), [(12, 0), (4, 0), (11, 2)])
def test_errors_without_a_meaning_here(tunnel: Tunnel, kind: int, code: int) -> None:
    assert about(tunnel, sent_packet(tunnel), kind, code) == []
    assert tunnel.dropped() == "icmp-type"


def test_never_about_an_error(tunnel: Tunnel) -> None:
    """RFC 4443 section 2.4 (e)."""
    for message in (ICMPv6DestUnreach(), ICMPv6TimeExceeded()):
        packet = IPv6(src=HOST6, dst=FAR6) / message / ping6(FAR6, HOST6)
        quoted = sent_packet(tunnel, packet)
        assert about(tunnel, quoted) == []
        assert about(tunnel, quoted[:60]) == []  # the type is not quoted: it might be an error
        hidden = IPv6(src=HOST6, dst=FAR6) / IPv6ExtHdrDestOpt() / message / ping6(FAR6, HOST6)
        assert about(tunnel, sent_packet(tunnel, hidden)) == []
        about(tunnel, quoted[:28])
        assert [one.port for one in tunnel.out(packet)] == [WAN]


def test_about_the_gateways_own_packets(tunnel: Tunnel) -> None:
    """No host gets an error about them."""
    answer = only(tunnel.into(ping6(FAR6, OWN6)), WAN).raw[14:]
    assert about(tunnel, answer) == []


def test_about_fragments(tunnel: Tunnel) -> None:
    later = IPv6(src=HOST6, dst=FAR6) / IPv6ExtHdrFragment(nh=58, offset=10, id=1) / Raw(b"x" * 80)
    assert about(tunnel, sent_packet(tunnel, later)) == []
    first = IPv6(src=HOST6, dst=FAR6) / IPv6ExtHdrFragment(nh=58, m=1, id=1) / ICMPv6EchoRequest()
    assert told(about(tunnel, sent_packet(tunnel, first))) == ADDRESS


def test_rate(tunnel: Tunnel) -> None:
    """RFC 4443 section 2.4 (f)."""
    quoted = sent_packet(tunnel)
    error = IP(src=HOP, dst=tunnel.outer) / ICMP(type=3, code=1) / Raw(quoted)
    frames = [(WAN, Ether(src=ROUTER.mac, dst=PORT_MAC[WAN]) / error) for _ in range(200)]
    assert 1 <= sum(len(sent) for sent in tunnel.gateway.send_many(frames)) <= 100


def test_errors_that_are_not_for_the_tunnel(tunnel: Tunnel) -> None:
    """An error about another protocol than 41 is not for the tunnel."""
    quoted = bytes(IP(src=tunnel.outer, dst=FAR, proto=47) / Raw(bytes(ping6())))
    assert about(tunnel, quoted) == []
    assert tunnel.gateway.stats()["tunnel_errors_told"] == 0
    assert tunnel.dropped() in ("no-mapping", "icmp-type")
    # Nor is one that comes to another address, or from the LAN.
    packet = IP(src="192.168.1.10", dst=tunnel.outer) / ICMP(type=3, code=1) / Raw(sent_packet(tunnel))
    tunnel.gateway.lan(packet)
    assert tunnel.gateway.stats()["tunnel_errors_told"] == 0


def test_relay_unreachable(tunnel: Tunnel) -> None:
    quoted = sent_packet(tunnel, ping6(dst=NATIVE6))
    assert quoted[9] == IP6 and quoted[16:20] == bytes(int(n) for n in RELAY.split("."))
    assert about(tunnel, quoted[:28], 3, 1) == []
    other = "2001:db8:9::1"  # behind the same relay
    sent = tunnel.out(ping6(dst=other))
    assert told([one for one in sent if one.port == LAN]) == ADDRESS
