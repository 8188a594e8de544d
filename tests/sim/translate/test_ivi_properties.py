# SPDX-License-Identifier: BSD-2-Clause
"""Properties of all packets: the gateway translates as the reference translator (siit.py) does, and translating back
gives the same packet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from examples import examples
from gateway import LAN, WAN, Gateway, only
from hypothesis import given
from hypothesis import strategies as st
from ivi import (
    FAR, FORMS, FOUR, IVI, OWN4, RFC6052, SIX4, World, body, frame4, frame6, from4, from6, is_error4, same4, six_of,
)
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6EchoReply, ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop,
)
from scapy.packet import Packet, Raw
from siit import Refused, checksum, pseudo6
from simulator import Simulator

pytestmark = pytest.mark.virtual

PROPERTY = examples(150)

NARROW = World(lan_mtu=1400, wan_mtu=1300, lowest=1300, keys={"ivi.tos": "184", "ivi.udp-zero-checksum": "drop"})
WORLDS = {"ivi": IVI, "rfc6052": RFC6052, "narrow": NARROW}

ports = st.integers(0, 65535)
sizes = st.one_of(st.integers(0, 60), st.sampled_from([1219, 1220, 1221, 1240, 1252, 1260, 1440, 1452]),
                  st.integers(0, 1452))


def filling(size: int, seed: int) -> bytes:
    """Bytes that differ from place to place, so that a wrong order is noticed."""
    return bytes((at * 37 + (at >> 8) * 11 + seed) & 255 for at in range(size))


@st.composite
def transports(draw: Callable[..., Any], six: bool, most: int = 1452) -> tuple[int, bytes]:
    """Protocol and payload, whose checksum is not set yet."""
    proto = draw(st.sampled_from([6, 6, 17, 17, 17, 1, 33, 132, 50, 47]))
    data = filling(min(draw(sizes), most), draw(st.integers(0, 255)))
    sport, dport = draw(ports), draw(ports)
    if proto == 6:
        flags = draw(st.sampled_from(["S", "A", "R", "PA"]))
        return 6, bytes(TCP(sport=sport, dport=dport, flags=flags, chksum=0)) + data
    if proto == 17:
        return 17, bytes(UDP(sport=sport, dport=dport, len=8 + len(data), chksum=0)) + data
    if proto == 1:
        kind = draw(st.sampled_from([128, 129] if six else [8, 0]))
        return (58 if six else 1), bytes([kind, 0, 0, 0]) + sport.to_bytes(2, "big") + dport.to_bytes(2, "big") + data
    return proto, data


def with_sum(proto: int, payload: bytes, pseudo: bytes, wrong: int) -> bytes:
    """Sets the checksum; `wrong` is added to it."""
    at = {6: 16, 17: 6, 1: 2, 58: 2}.get(proto)
    if at is None:
        return payload
    value = checksum(pseudo + payload)
    if proto == 17 and value == 0:
        value = 0xffff
    if wrong and proto in (6, 17) and (value + wrong) % 0xffff:
        value = (value + wrong) % 0xffff
    return payload[:at] + value.to_bytes(2, "big") + payload[at + 2:]


@st.composite
def packets4(draw: Callable[..., Any]) -> bytes:
    proto, payload = draw(transports(six=False))
    src, dst = draw(st.sampled_from([FOUR, FAR])), SIX4
    wrong = draw(st.sampled_from([0, 0, 0, 1, 0x1234]))
    pseudo = b"" if proto == 1 else (bytes(map(int, src.split("."))) + bytes(map(int, dst.split(".")))
                                     + bytes([0, proto]) + len(payload).to_bytes(2, "big"))
    payload = with_sum(proto, payload, pseudo, wrong)
    if proto == 17 and draw(st.integers(0, 9)) == 0:
        payload = payload[:6] + b"\0\0" + payload[8:]
    fields: dict[str, Any] = {"tos": draw(st.integers(0, 255)), "ttl": draw(st.integers(2, 255)),
                              "id": draw(ports), "flags": draw(st.sampled_from(["", "", "DF"]))}
    if proto != 1 and draw(st.integers(0, 4)) == 0:
        fields["flags"] = draw(st.sampled_from(["MF", "MF+DF", ""]))
        fields["frag"] = draw(st.sampled_from([0, 1, 185, 4000])) if fields["flags"] else draw(st.integers(1, 4000))
    record = b"\x07\x0b\x08" + bytes(8) + b"\x00"
    options = draw(st.sampled_from([b"", b"", b"", b"\x01" * 4, b"\x94\x04\x00\x00", record]))
    return bytes(IP(src=src, dst=dst, proto=proto, options=[], **fields) / Raw(payload)) if not options else \
        with_options(bytes(IP(src=src, dst=dst, proto=proto, **fields) / Raw(payload)), options)


def with_options(packet: bytes, options: bytes) -> bytes:
    header = bytearray(packet[:20]) + options
    header[0] = 0x40 | len(header) // 4
    header[2:4] = (len(packet) + len(options)).to_bytes(2, "big")
    header[10:12] = b"\0\0"
    header[10:12] = checksum(bytes(header)).to_bytes(2, "big")
    return bytes(header) + packet[20:]


@st.composite
def packets6(draw: Callable[..., Any], world: World) -> bytes:
    proto, payload = draw(transports(six=True, most=1400))
    src, dst = world.six, world.v6(draw(st.sampled_from([FOUR, FAR])))
    wrong = draw(st.sampled_from([0, 0, 0, 1, 0x1234]))
    payload = with_sum(proto, payload, pseudo6(six_of(src), six_of(dst), proto, len(payload)), wrong)
    packet: Packet = IPv6(src=src, dst=dst, tc=draw(st.integers(0, 255)), fl=draw(st.integers(0, 0xfffff)),
                          hlim=draw(st.integers(2, 255)))
    if draw(st.integers(0, 3)) == 0:
        packet /= IPv6ExtHdrHopByHop()
    if draw(st.integers(0, 3)) == 0:
        packet /= IPv6ExtHdrDestOpt()
    if draw(st.integers(0, 3)) == 0:
        offset, more = draw(st.sampled_from([(0, 0), (0, 1), (1, 0), (185, 1), (4000, 0)]))
        if proto == 58:
            offset, more = 0, 0
        packet /= IPv6ExtHdrFragment(offset=offset, m=more, id=draw(st.integers(0, 2**32 - 1)), nh=proto)
    else:
        packet.lastlayer().nh = proto
    return bytes(packet / Raw(payload))


def expected(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except Refused:
        return None


def both_from_ipv4(sim: Simulator, world: World, packets: list[bytes]) -> None:
    """Checks that the gateway and the reference translator translate IPv4 packets in the same way."""
    gateway = Gateway(sim, world.config, "ivi")
    gateway.wait(3)
    for packet in packets:
        want = expected(lambda: world.siit.translate46(packet))  # noqa: B023
        sent = [one for one in from4(gateway, packet, broken=True) if one.port == LAN]
        assert [body(one).hex() for one in sent] == [data.hex() for data in want or []]
    gateway.finish()


def both_from_ipv6(sim: Simulator, world: World, packets: list[bytes], inner: int | None = None) -> None:
    """Checks that both translate IPv6 packets in the same way; `inner`: where a quoted IPv4 header begins."""
    gateway = Gateway(sim, world.config, "ivi")
    gateway.wait(3)
    for packet in packets:
        want = expected(lambda: world.siit.translate64(packet))  # noqa: B023
        sent = [one for one in from6(gateway, packet, broken=True) if one.port == WAN]
        assert len(sent) == (want is not None), sent
        if want:
            same4(body(sent[0]), want, inner)
    gateway.finish()


@pytest.mark.parametrize("name", WORLDS)
@PROPERTY
@given(packets=st.lists(packets4(), min_size=1, max_size=8))
def test_from_ipv4_as_the_reference_translator_does(sim: Simulator, name: str, packets: list[bytes]) -> None:
    both_from_ipv4(sim, WORLDS[name], packets)


@pytest.mark.parametrize("name", WORLDS)
@PROPERTY
@given(data=st.data())
def test_from_ipv6_as_the_reference_translator_does(sim: Simulator, name: str, data: Any) -> None:
    world = WORLDS[name]
    both_from_ipv6(sim, world, data.draw(st.lists(packets6(world), min_size=1, max_size=8)))


@st.composite
def errors(draw: Callable[..., Any], world: World, six: bool) -> bytes:
    """An ICMP error of any kind about any packet that was translated, cut anywhere, with extensions or without."""
    if six:
        proto, payload = draw(transports(six=True))
        quoted = IPv6(src=world.v6(FOUR), dst=world.six, nh=proto, plen=len(payload), tc=draw(st.integers(0, 255)))
        if draw(st.integers(0, 3)) == 0:
            quoted = IPv6(src=world.v6(FOUR), dst=world.six, plen=len(payload) + 8) / IPv6ExtHdrFragment(
                offset=draw(st.sampled_from([0, 100])), m=1, id=0x12345678, nh=proto)
        kinds = [(1, range(8)), (2, [0]), (3, [0, 1]), (4, range(4)), (5, [0])]
    else:
        proto, payload = draw(transports(six=False))
        frag = draw(st.sampled_from([{}, {}, {}, {"flags": "MF"}, {"flags": "MF", "frag": 100}]))
        quoted = IP(src=SIX4, dst=FOUR, proto=proto, len=20 + len(payload), id=0x4321, **frag)
        kinds = [(3, range(17)), (11, [0, 1]), (12, [0, 1, 2]), (5, [0]), (4, [0])]
    quote = bytes(quoted) + payload
    quote = quote[:draw(st.one_of(st.integers(0, len(quote)), st.just(len(quote))))]
    kind, codes = draw(st.sampled_from(kinds))
    rest = bytearray(draw(st.one_of(st.sampled_from([0, 1280, 1400, 1499]), st.integers(0, 39))).to_bytes(4, "big"))
    if not six and kind == 12:
        rest = bytearray(draw(st.integers(0, 20)).to_bytes(1, "big") + b"\0\0\0")
    extension = b""
    carries = kind in (1, 3) if six else kind in (3, 11, 12)
    if carries:
        rest[0 if six else 1] = 0
        if draw(st.booleans()):
            unit = 8 if six else 4
            quote = quote[:255 * unit]
            size = max(draw(st.sampled_from([128, 64])), -(-len(quote) // unit) * unit)
            quote = quote.ljust(size, b"\0")
            rest[0 if six else 1] = size // unit
            extension = filling(draw(st.sampled_from([0, 8, 28, 400, 700])), 7)
    message = bytes([kind, draw(st.sampled_from(list(codes))), 0, 0]) + bytes(rest) + quote + extension
    message = message[:1400]
    if six:
        src, dst = draw(st.sampled_from([world.six, "2001:db8:ffff::9"])), world.v6(FOUR)
        value = checksum(pseudo6(six_of(src), six_of(dst), 58, len(message)) + message)
        return bytes(IPv6(src=src, dst=dst, nh=58, hlim=9)) [:4] + len(message).to_bytes(2, "big") + bytes(
            IPv6(src=src, dst=dst, nh=58, hlim=9))[6:] + message[:2] + value.to_bytes(2, "big") + message[4:]
    message = message[:2] + checksum(message).to_bytes(2, "big") + message[4:]
    return bytes(IP(src=draw(st.sampled_from([FOUR, FAR, "127.0.0.1", "10.9.9.9"])), dst=SIX4, proto=1, ttl=9)
                 / Raw(message))


@pytest.mark.parametrize("name", WORLDS)
@PROPERTY
@given(data=st.data())
def test_errors_from_ipv4_as_the_reference_translator_does(sim: Simulator, name: str, data: Any) -> None:
    world = WORLDS[name]
    both_from_ipv4(sim, world, data.draw(st.lists(errors(world, six=False), min_size=1, max_size=8)))


@pytest.mark.parametrize("name", WORLDS)
@PROPERTY
@given(data=st.data())
def test_errors_from_ipv6_as_the_reference_translator_does(sim: Simulator, name: str, data: Any) -> None:
    world = WORLDS[name]
    both_from_ipv6(sim, world, data.draw(st.lists(errors(world, six=True), min_size=1, max_size=8)), 28)


@pytest.mark.parametrize("world", FORMS, ids=lambda world: f"{world.form}{world.prefix.rpartition('/')[2]}")
@examples(40)
@given(proto=st.sampled_from([UDP, TCP, ICMP]), sport=ports, dport=ports, size=st.integers(0, 1200),
       tos=st.integers(0, 255), ttl=st.integers(3, 255))
def test_there_and_back(sim: Simulator, world: World, proto: Any, sport: int, dport: int, size: int, tos: int,
                        ttl: int) -> None:
    """An IPv6 packet goes out, the server sends it back with both ends exchanged, and the same packet arrives so."""
    gateway = Gateway(sim, world.config, "ivi")
    gateway.wait(3)
    data = filling(size, sport & 255)
    if proto is ICMP:
        message: Any = ICMPv6EchoRequest(id=sport, seq=dport, data=data)
        answer: Any = ICMPv6EchoReply(id=sport, seq=dport, data=data)
    else:
        message, answer = proto(sport=sport, dport=dport) / data, proto(sport=dport, dport=sport) / data
    out = only(from6(gateway, IPv6(src=world.six, dst=world.v6(FOUR), tc=tos, hlim=ttl) / message), WAN).ip
    assert (out.src, out.dst, out.tos, out.ttl) == (SIX4, FOUR, tos, ttl - 1)
    back: Any = IP(src=FOUR, dst=SIX4, tos=tos, ttl=ttl - 1)
    if proto is ICMP:
        back /= ICMP(type=0, id=out[ICMP].id, seq=out[ICMP].seq) / data
    else:
        back /= proto(sport=out[proto].dport, dport=out[proto].sport) / bytes(out[proto].payload)
    came = only(from4(gateway, back), LAN)
    want = bytes(IPv6(src=world.v6(FOUR), dst=world.six, tc=tos, hlim=ttl - 2) / answer)
    assert body(came).hex() == want.hex()
    gateway.finish()


addresses4 = st.sampled_from([FOUR, FAR, SIX4, OWN4, "192.0.2.254", "127.0.0.1", "224.0.0.1", "0.0.0.0",
                              "198.51.100.255", "255.255.255.255", "192.0.2.0", "1.0.0.9", "10.0.0.5", "240.0.0.1"])


@PROPERTY
@given(data=st.data())
def test_what_leaves_has_a_source_that_it_may_have(sim: Simulator, data: Any) -> None:
    """Any addresses on any side: a packet that leaves by the WAN comes from an IPv6 host, from the gateway, or from
    where an error may come; a packet that leaves by the LAN comes from own or mapped addresses of IPv6 hosts. Nothing
    leaks, nothing loops."""
    world = RFC6052
    gateway = Gateway(sim, world.config + "route 2001:db8:77::/64 via 2001:db8:1c0:2:21::\n", "ivi")
    gateway.wait(3)
    for _ in range(data.draw(st.integers(1, 10))):
        proto, payload = data.draw(transports(six=False, most=100))
        src, dst = data.draw(addresses4), data.draw(addresses4)
        if data.draw(st.booleans()):
            sent = gateway.send(WAN, frame4(IP(src=src, dst=dst, proto=proto, ttl=data.draw(st.sampled_from([1, 64])))
                                            / Raw(payload)), broken=True)
        else:
            other = st.sampled_from(["2001:db8:3::9", "2001:db8:2::9", "2001:db8:77::1", "4000::1", world.own6, "::1",
                                     "fe80::1", "ff02::1", "2001:db8:1c0:2:99::"])
            from_ = data.draw(st.one_of(st.just(world.v6(src)), other))
            to = data.draw(st.one_of(st.just(world.v6(dst)), other))
            sent = gateway.send(LAN, frame6(IPv6(src=from_, dst=to, nh=58 if proto == 1 else proto,
                                                 hlim=data.draw(st.sampled_from([1, 64]))) / Raw(payload)), broken=True)
        for one in sent:
            if one.port != WAN or one.frame.type != 0x800:
                continue
            own = (OWN4, "203.0.113.8") if is_error4(body(one)) or body(one)[20] == 0 else ()
            inside = one.ip.src.startswith(("192.0.2.", "1.0.0.", "10.0.0."))
            native = one.ip.dst.startswith("198.51.100.")  # a packet that is routed back to the WAN
            assert inside or one.ip.src in own or native, one
    # When a host does not answer, the error that quotes the packet leaves only here.
    gateway.finish(broken=True)
