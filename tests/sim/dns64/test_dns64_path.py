# SPDX-License-Identifier: BSD-2-Clause
"""The fast path of datagrams between us and known hosts (net/udp/udp_path.h): answers of upstream servers over IPv4 and
IPv6, and queries without a ready answer. What is not a plain datagram takes the slow path, with its drop reasons.
"""

from __future__ import annotations

from collections.abc import Callable

import dns.flags
import dns.rcode
import pytest
from gateway import LAN, PORT_MAC, ROUTER, WAN, Gateway, Host
from net6 import A6, B6, Host6
from resolver import (
    BASIC,
    DNS64,
    OUR4,
    OUR6,
    UPSTREAM,
    UPSTREAM6,
    A,
    B,
    Message,
    Resolver,
    Zone,
    addresses,
    check,
    datagram,
    inside,
    rr,
    silent,
    wire,
)
from scapy.layers.inet import ICMP, IP, UDP, IPOption_NOP, fragment
from scapy.layers.inet6 import HBHOptUnknown, IPv6, IPv6ExtHdrDestOpt
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
FOUR = rr("four.example.", 300, "A", "192.0.2.33")
SERVERS = {4: UPSTREAM, 6: UPSTREAM6}
CONFIG = {4: DNS64, 6: BASIC + f"nameserver {UPSTREAM6}\n"}


def caught(start: Start, family: int) -> tuple[Resolver, Packet]:
    """A fetch of an A record, and the packet of its answer, with checksums."""
    zone = Zone(FOUR)
    zone.instead = silent()
    resolver = Resolver(start, zone, CONFIG[family])
    resolver.send(resolver.query("four.example.", "A"), client=A6)
    (asked,) = resolver.net.asked
    packet = datagram(SERVERS[family], asked.source, 53, asked.port, wire(zone.lookup(asked.message)))
    zone.instead = None
    return resolver, packet.__class__(bytes(packet))


def arrives(resolver: Resolver, packet: Packet, *, port: int = WAN, to: str | None = None, behind: bytes = b"") -> None:
    kind = 0x800 if IP in packet else 0x86dd
    frame = Ether(src=ROUTER.mac, dst=to or PORT_MAC[port], type=kind)
    resolver.net.deliver(resolver.gateway.send(port, bytes(frame / packet) + behind))


def taken(resolver: Resolver) -> bool:
    if not resolver.net.got:
        return False
    return [item.address for item in resolver.net.got[0].message.answer[0]] == ["192.0.2.33"]


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("behind", [b"", b"\xff", bytes(30)], ids=["exact", "odd", "padded"])
def test_a_plain_answer(start: Start, family: int, behind: bytes) -> None:
    resolver, packet = caught(start, family)
    arrives(resolver, packet, behind=behind)
    assert taken(resolver)
    assert not resolver.gateway.drops()


def renewed(packet: Packet) -> Packet:
    """The packet with a new header checksum."""
    if IP in packet:
        del packet[IP].chksum
    return packet.__class__(bytes(packet))


def whole_way(kind: str, packet: Packet) -> Packet:
    if kind == "options":
        packet[IP].options = [IPOption_NOP()] * 4
        del packet[IP].ihl, packet[IP].len
    elif kind == "no-checksum":
        packet[UDP].chksum = 0
    return renewed(packet)


@pytest.mark.parametrize("kind", ["options", "no-checksum"])
def test_what_goes_the_whole_way_is_taken_as_well(start: Start, kind: str) -> None:
    resolver, packet = caught(start, 4)
    arrives(resolver, whole_way(kind, packet))
    assert taken(resolver)


def spoiled(kind: str, packet: Packet) -> Packet:
    """An answer with one error."""
    if kind == "sum":
        packet[UDP].chksum ^= 0x0100
    elif kind == "header-sum":
        packet[IP].chksum ^= 1
        return packet
    elif kind == "length":
        packet[UDP].len += 1
    elif kind == "short":
        packet[UDP].len = 19
    elif kind == "source":
        other = "198.51.100.55" if IP in packet else "2001:db8:f::55"
        return packet.__class__(bytes(datagram(other, packet.dst, 53, packet.dport, bytes(packet[UDP].payload))))
    elif kind == "twin":  # an address with the same sum
        other = "100.53.198.51" if IP in packet else "2001:f:db8::53"
        return packet.__class__(bytes(datagram(other, packet.dst, 53, packet.dport, bytes(packet[UDP].payload))))
    elif kind == "id":
        raw = bytearray(bytes(packet[UDP].payload))
        raw[1] ^= 1
        return packet.__class__(bytes(datagram(packet.src, packet.dst, 53, packet.dport, bytes(raw))))
    elif kind == "more":
        packet[IP].flags = "MF"
    elif kind == "offset":
        packet[IP].frag = 1
    elif kind == "beyond":
        packet[IP].len += 40
    return renewed(packet)


@pytest.mark.parametrize(("family", "kind"), [
    *((4, kind) for kind in ("sum", "header-sum", "length", "short", "source", "twin", "id", "more", "offset")),
    (4, "beyond"),
    *((6, kind) for kind in ("sum", "length", "short", "source", "twin", "id")),
])
def test_what_is_wrong_is_not_taken(start: Start, family: int, kind: str) -> None:
    resolver, packet = caught(start, family)
    arrives(resolver, spoiled(kind, packet.copy()))
    assert not resolver.net.got
    assert sum(resolver.gateway.drops().values()) == 1
    arrives(resolver, packet)
    assert taken(resolver)


@pytest.mark.parametrize("family", [4, 6])
def test_the_wrong_side_or_station(start: Start, family: int) -> None:
    resolver, packet = caught(start, family)
    arrives(resolver, packet, port=LAN)
    arrives(resolver, packet, to="02:00:00:00:99:99")
    assert not resolver.net.got
    assert sum(resolver.gateway.drops().values()) == 2
    arrives(resolver, packet)
    assert taken(resolver)


def test_an_answer_in_fragments_is_dropped(start: Start) -> None:
    resolver, packet = caught(start, 4)
    for piece in fragment(packet, fragsize=32):
        arrives(resolver, piece.__class__(bytes(piece)))
    assert not resolver.net.got


def right(frame: Packet) -> None:
    """The checksums are right."""
    assert frame[UDP].chksum != 0
    again = frame.__class__(bytes(frame))
    del again[UDP].chksum
    if IP in again:
        del again[IP].chksum
    assert bytes(again) == bytes(frame)


def asks(resolver: Resolver, client: Host | Host6, query: Message) -> Packet:
    """The one frame that answers a query."""
    packet = datagram(client.ip, OUR6 if client is A6 else OUR4, 4000, 53, wire(query))
    kind = 0x800 if IP in packet else 0x86dd
    (sent,) = resolver.gateway.send(LAN, bytes(Ether(src=client.mac, dst=PORT_MAC[LAN], type=kind) / packet))
    return sent.frame


@pytest.mark.parametrize("family", [4, 6])
def test_checksums_of_questions(start: Start, family: int) -> None:
    resolver = Resolver(start, Zone(FOUR), CONFIG[family])
    for n in range(300):
        right(asks(resolver, A6, resolver.query(f"{'n' * (n % 40 + 1)}.{n}.example.", "A")))


@pytest.mark.parametrize("client", [A, A6], ids=["v4", "v6"])
def test_a_checksum_of_zero(start: Start, client: Host | Host6) -> None:
    """Zero would say that there is no checksum (RFC 768)."""
    resolver = Resolver(start, Zone(FOUR))
    resolver.ask("four.example.", client=client, edns=0)
    query = resolver.query("four.example.", edns=0)
    frame = asks(resolver, client, query)
    right(frame)
    total = query.id + frame[UDP].chksum
    query.id = (total & 0xffff) + (total >> 16)
    frame = asks(resolver, client, query)
    assert frame[UDP].chksum == 0xffff
    assert addresses(check(query, bytes(frame[UDP].payload))) == [inside("192.0.2.33")]


def test_the_neighbour_is_asked_for(start: Start) -> None:
    """Messages wait for the router's MAC address; none is lost."""
    config = DNS64.replace(f"neighbour {ROUTER.ip} {ROUTER.mac}\n", "")
    resolver = Resolver(start, Zone(FOUR), config)
    resolver.send(resolver.query("four.example."), client=A6)
    assert not resolver.net.asked
    asked = next(sent.frame[ARP] for sent in resolver.net.other if ARP in sent.frame)
    reply = ARP(op=2, hwsrc=ROUTER.mac, psrc=ROUTER.ip, hwdst=asked.hwsrc, pdst=asked.psrc)
    resolver.net.deliver(resolver.gateway.send(WAN, bytes(Ether(src=ROUTER.mac, dst=asked.hwsrc) / reply)))
    assert sorted(one.message.question[0].rdtype for one in resolver.net.asked) == [1, 28]
    assert addresses(resolver.net.got[0].message) == [inside("192.0.2.33")]


@pytest.mark.parametrize("client", [A, A6], ids=["v4", "v6"])
def test_questions_of_every_kind(start: Start, client: Host | Host6) -> None:
    """Known clients are answered as unknown ones are: with and without OPT, of any type, long and short."""
    resolver = Resolver(start, Zone(FOUR, rr("text.example.", 300, "TXT", *[f'"{n * 200}"' for n in "wxyz"])))
    for _ in range(3):
        assert addresses(resolver.ask("four.example.", client=client)) == [inside("192.0.2.33")]
        assert addresses(resolver.ask("four.example.", client=client, edns=0)) == [inside("192.0.2.33")]
        assert resolver.ask("text.example.", "TXT", client=client, edns=0).answer
        assert resolver.ask("text.example.", "TXT", client=client).flags & dns.flags.TC
        assert resolver.ask(".", "NS", client=client, edns=0).rcode() == dns.rcode.NOERROR


@pytest.mark.parametrize("client", [A, A6], ids=["v4", "v6"])
def test_a_known_client_with_a_wrong_checksum(start: Start, client: Host | Host6) -> None:
    resolver = Resolver(start, Zone(FOUR))
    for _ in range(3):
        resolver.ask("four.example.", client=client, edns=0)
    own = OUR4 if client is A else OUR6
    query = resolver.query("four.example.", edns=0)
    packet = datagram(client.ip, own, 4000, 53, wire(query))
    packet = packet.__class__(bytes(packet))
    packet[UDP].chksum ^= 1
    kind = 0x800 if IP in packet else 0x86dd
    frame = Ether(src=client.mac, dst=PORT_MAC[LAN], type=kind)
    assert not resolver.gateway.send(LAN, bytes(frame / packet))
    assert resolver.gateway.drops() == {"udp-checksum": 1}
    packet[UDP].chksum ^= 1
    (sent,) = resolver.gateway.send(LAN, bytes(frame / packet))
    assert addresses(check(query, bytes(sent.frame[UDP].payload))) == [inside("192.0.2.33")]


def test_another_client_is_not_taken_for_a_known_one(start: Start) -> None:
    resolver = Resolver(start, Zone(FOUR))
    for _ in range(3):
        resolver.ask("four.example.", client=A)
        resolver.ask("four.example.", client=A6)
    for client in (B, B6):
        resolver.send(resolver.query("four.example."), client=client)
        assert resolver.net.got[-1].client == client.ip


@pytest.mark.parametrize("options", [0, 3, 5])
def test_an_answer_behind_a_long_header(start: Start, options: int) -> None:
    """The answer has room even if its query stands far back in its frame."""
    resolver = Resolver(start, Zone(rr("text.example.", 300, "TXT", *[f'"{n}{"x" * 195}"' for n in range(5)])))
    resolver.ask("text.example.", "TXT", client=A6, edns=0)
    query = resolver.query("text.example.", "TXT", edns=0)
    packet = IPv6(src=A6.ip, dst=OUR6)
    if options:
        unknown = HBHOptUnknown(otype=0x1e, optlen=250, optdata=bytes(250))
        packet /= IPv6ExtHdrDestOpt(options=[unknown] * options)
    packet /= UDP(sport=4000, dport=53) / Raw(wire(query))
    frame = Ether(src=A6.mac, dst=PORT_MAC[LAN], type=0x86dd) / packet
    (sent,) = resolver.gateway.send(LAN, bytes(frame))
    right(sent.frame)
    answer = check(query, bytes(sent.frame[UDP].payload))
    assert len(answer.answer[0]) == 5 and not resolver.gateway.drops()


# --- what changes under a path ------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [False, True])
def test_no_answer_from_an_address_that_is_tentative(start: Start, known: bool) -> None:
    """RFC 4862 section 5.4: another host may have the address. The client retries when it is ours."""
    zone = Zone(FOUR)
    resolver = Resolver(start, zone)
    if known:
        resolver.ask("six.example.", client=A6)
    zone.instead = silent()
    resolver.net.asked.clear()
    resolver.send(resolver.query("four.example.", "A"), client=A6)
    resolver.gateway.link(LAN, False)
    resolver.gateway.link(LAN, True)
    (asked,) = resolver.net.asked
    before, dropped = len(resolver.net.got), resolver.gateway.drops().get("tentative", 0)
    packet = datagram(UPSTREAM, asked.source, 53, asked.port, wire(zone.lookup(asked.message)))
    arrives(resolver, packet)
    assert len(resolver.net.got) == before
    assert resolver.gateway.drops()["tentative"] == dropped + 1
    for _ in range(4):
        resolver.wait(1)
    zone.instead = None
    assert resolver.ask("four.example.", "A", client=A6).answer


@pytest.mark.parametrize("port", [LAN, WAN])
def test_questions_to_upstream_wait_for_a_valid_address(start: Start, port: str) -> None:
    """A server over IPv6 gets no message from a tentative address; the gateway's other addresses are used."""
    resolver = Resolver(start, Zone(FOUR), CONFIG[6])
    resolver.ask("four.example.", "A")
    resolver.gateway.link(port, False)
    resolver.gateway.link(port, True)
    n = len(resolver.net.asked)
    resolver.send(resolver.query("other.example.", "A"))
    ours = {"2001:db8:2::2"} if port == LAN else {OUR6}
    assert {one.source for one in resolver.net.asked[n:]} <= ours
    for _ in range(4):
        resolver.wait(1)
    assert resolver.ask("third.example.", "A", wait=1).rcode() == dns.rcode.NXDOMAIN
    assert resolver.net.asked[-1].source == "2001:db8:2::2"


def test_ipv4_stays_as_it_was_configured(start: Start) -> None:
    """No frame and no cable changes an IPv4 address or route, so a path over IPv4 always holds."""
    config = DNS64.replace(f"neighbour {ROUTER.ip} {ROUTER.mac}\n", "")
    resolver = Resolver(start, Zone(FOUR), config)
    routes = resolver.gateway.lines("routes")

    def learnt(mac: str) -> bytes:
        reply = ARP(op=2, hwsrc=mac, psrc=ROUTER.ip, hwdst=PORT_MAC[WAN], pdst="203.0.113.2")
        return bytes(Ether(src=mac, dst=PORT_MAC[WAN]) / reply)

    resolver.send(resolver.query("four.example.", "A"))
    resolver.net.deliver(resolver.gateway.send(WAN, learnt(ROUTER.mac)))
    assert resolver.net.got[-1].message.answer
    redirect = IP(src=ROUTER.ip, dst="203.0.113.2") / ICMP(type=5, code=1, gw="203.0.113.9")
    quoted = IP(src="203.0.113.2", dst=UPSTREAM) / UDP(sport=4000, dport=53)
    arrives(resolver, IP(bytes(redirect / quoted)))
    for port in (LAN, WAN):
        resolver.gateway.link(port, False)
        resolver.gateway.link(port, True)
    # The neighbour is resolved again if necessary; addresses and next hop stay the same.
    packet = datagram(A.ip, OUR4, 4000, 53, wire(resolver.query("other.example.", "A")))
    frames = resolver.gateway.send(LAN, bytes(Ether(src=A.mac, dst=PORT_MAC[LAN], type=0x800) / packet))
    frames += resolver.gateway.send(WAN, learnt(ROUTER.mac))
    (asked,) = [one.frame for one in frames if one.port == WAN and UDP in one.frame]
    assert (asked.dst, asked[IP].src, asked[IP].dst) == (ROUTER.mac, "203.0.113.2", UPSTREAM)
    assert resolver.gateway.lines("routes") == routes
