# SPDX-License-Identifier: BSD-2-Clause
"""The translator between two networks, and a reference translator (siit.py) beside it.

    lan: 2001:db8:ffc0:2::/64   SIX 192.0.2.33 -- gateway -- .2 FOUR   wan: 198.51.100.0/24

IPv6 hosts have the IVI form of 192.0.2.0/24; `World` makes others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

from gateway import LAN, PORT_MAC, WAN, Gateway, Sent, only
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from siit import Siit

Start = Callable[..., Gateway]
SIX_MAC, FOUR_MAC = "52:54:00:00:01:0a", "52:54:00:00:02:01"
OWN4, FOUR, FAR = "198.51.100.1", "198.51.100.2", "203.0.113.77"
SIX4 = "192.0.2.33"  # the IPv6 host's address outside


@dataclass(frozen=True)
class World:
    """A configuration, for the gateway and for the reference translator."""

    prefix: str = "2001:db8::/32"
    form: str = "ivi"
    own4: str = "192.0.2.254"  # the IPv4 form of the gateway's own LAN address
    maps: Sequence[tuple[str, str]] = ()
    lan_mtu: int = 1500
    wan_mtu: int = 1500
    lowest: int = 1280
    keys: dict[str, str] = field(default_factory=dict)
    routes: Sequence[str] = ()

    @property
    def siit(self) -> Siit:
        tos = self.keys.get("ivi.tos", "copy")
        return Siit(
            prefix=IPv6Network(self.prefix), ivi=self.form == "ivi",
            maps=[(IPv4Network(four), IPv6Network(six)) for four, six in self.maps],
            lowest=self.lowest, mtu4=self.wan_mtu, mtu6=self.lan_mtu,
            tos={"copy": None, "zero": 0}.get(tos, int(tos) if tos.isdigit() else None),
            compute=self.keys.get("ivi.udp-zero-checksum", "compute") == "compute",
            icmp4=IPv4Address(self.keys.get("ivi.icmp-source", OWN4)), hosts=[IPv4Network("192.0.2.0/24")])

    def v6(self, four: str) -> str:
        return str(self.siit.by_form(IPv4Address(four)))

    @property
    def six(self) -> str:
        return self.v6(SIX4)

    @property
    def own6(self) -> str:
        return self.v6(self.own4)

    @property
    def config(self) -> str:
        length = self.siit.places()[2] * 8 + 8  # the LAN has 192.0.2.0/24
        lines = [f"lan.address {self.own6}/{length}", f"wan.address {OWN4}/24", f"gateway {FOUR}",
                 f"lan.mtu {self.lan_mtu}", f"wan.mtu {self.wan_mtu}", "lan.ra off",
                 f"neighbour {self.six} {SIX_MAC}", f"neighbour {FOUR} {FOUR_MAC}",
                 f"ivi.prefix {self.prefix}", f"ivi.format {self.form}", "ivi.ipv4 192.0.2.0/24",
                 f"ivi.lowest-ipv6-mtu {self.lowest}"]
        lines += [f"ivi.map {four} {six}" for four, six in self.maps]
        lines += [f"route {route}" for route in self.routes]
        lines += [f"{key} {value}" for key, value in self.keys.items()]
        return "\n".join(lines) + "\n"


IVI = World()
FOUR6 = IVI.v6(FOUR)  # the IPv4 host's address inside
# The network of RFC 6052 section 2.4, and two mappings: one is for IPv6 hosts behind SIX.
RFC6052 = World("2001:db8:100::/40", "rfc6052", own4="192.0.2.1",
                maps=[("1.0.0.0/24", "2001:db8:3::/120"), ("10.0.0.0/24", "2001:db8:2::/120")],
                routes=["2001:db8:3::/120 via 2001:db8:1c0:2:21::", "2001:db8:2::/120 via 2001:db8:1c0:2:21::"],
                keys={"ivi.icmp-source": "203.0.113.8"})
FORMS = [IVI] + [World(prefix, "rfc6052") for prefix in (
    "2001:db8::/32", "2001:db8:100::/40", "2001:db8:122::/48", "2001:db8:122:300::/56", "2001:db8:122:344::/64",
    "2001:db8:122:344::/96")]


def start_ivi(start: Start, world: World = IVI, *, settle: float = 4, **options: Any) -> Gateway:
    """Starts a translator and waits until its addresses are in use."""
    gateway = start(world.config, "ivi", **options)
    gateway.wait(settle)
    return gateway


def introduce(gateway: Gateway) -> None:
    """Makes the two hosts known. No packet is due to be timed, so the next one takes the fast path."""
    for _ in range(3):
        from4(gateway, to_six() / UDP())
        from6(gateway, to_four() / UDP())


def frame4(packet: Packet | bytes) -> Packet:
    body = packet if isinstance(packet, Packet) else Raw(packet)
    return Ether(src=FOUR_MAC, dst=PORT_MAC[WAN], type=0x800) / body


def frame6(packet: Packet | bytes) -> Packet:
    body = packet if isinstance(packet, Packet) else Raw(packet)
    return Ether(src=SIX_MAC, dst=PORT_MAC[LAN], type=0x86dd) / body


def from4(gateway: Gateway, packet: Packet | bytes, *, broken: bool = False) -> list[Sent]:
    """An IPv4 packet from the WAN."""
    return gateway.send(WAN, frame4(packet), broken=broken)


def from6(gateway: Gateway, packet: Packet | bytes, *, broken: bool = False) -> list[Sent]:
    """An IPv6 packet from the LAN."""
    return gateway.send(LAN, frame6(packet), broken=broken)


def to_six(world: World = IVI, **fields: Any) -> IP:
    """The header of an IPv4 packet from FOUR to the IPv6 host."""
    return IP(**{"src": FOUR, "dst": SIX4, "id": 0x1234, **fields})


def to_four(world: World = IVI, **fields: Any) -> IPv6:
    """The header of an IPv6 packet from the IPv6 host to FOUR."""
    return IPv6(**{"src": world.six, "dst": world.v6(FOUR), **fields})


def body(sent: Sent) -> bytes:
    """The IP packet of a frame."""
    return sent.raw[14:]


def same4(got: bytes, want: bytes, inner: int | None = None) -> None:
    """Checks that two IPv4 packets are equal except for the identification that a translator chooses and the header
    checksum; `inner`: where a quoted header with such fields begins."""
    masked = [bytearray(got), bytearray(want)]
    for data in masked:
        for at in [0] + ([inner] if inner is not None else []):
            data[at + 4:at + 6] = data[at + 10:at + 12] = b"\0\0"
    assert bytes(masked[0]).hex() == bytes(masked[1]).hex()


def is_error4(packet: bytes) -> bool:
    return packet[9] == 1 and packet[20] in (3, 11, 12)


def check46(gateway: Gateway, world: World, packet: Packet | bytes, *, broken: bool = False) -> list[bytes]:
    """Checks that the gateway translates an IPv4 packet as the reference translator does."""
    want = world.siit.translate46(bytes(packet))
    sent = from4(gateway, packet, broken=broken)
    assert [one.port for one in sent] == [LAN] * len(want)
    assert [body(one).hex() for one in sent] == [data.hex() for data in want]
    return want


def check64(gateway: Gateway, world: World, packet: Packet | bytes, *, broken: bool = False) -> bytes:
    """Checks that the gateway translates an IPv6 packet as the reference translator does, except for the
    identification, which the gateway chooses; gives the packet that left."""
    sent = from6(gateway, packet, broken=broken)
    assert len(sent) == 1, sent
    got = body(sent[0])
    if got[0] >> 4 == 6:  # hairpinning
        assert sent[0].port == LAN
        assert got.hex() == world.siit.translate64(bytes(packet)).hex()
        return got
    assert sent[0].port == WAN
    want = world.siit.translate64(bytes(packet), ident=int.from_bytes(got[4:6], "big"))
    same4(got, want, 28 if is_error4(want) else None)
    return got


def own_error4(sent: Any, kind: int, code: int) -> Packet:
    """Checks that a frame is the gateway's own ICMPv4 error with a header as in docs/interface.md; gives the
    message."""
    ip = only(sent, WAN).ip
    assert (ip.src, ip.dst, ip.tos, ip.ttl, ip.proto) == (OWN4, FOUR, 0, 64, 1)
    assert not int(ip.flags) & 2 and ip.len <= 576
    assert (ip[ICMP].type, ip[ICMP].code) == (kind, code)
    return ip


def own_error6(sent: Any, kind: int, code: int, world: World = IVI) -> bytes:
    """Checks that a frame is the gateway's own ICMPv6 error; gives it from its type on."""
    packet = body(only(sent, LAN))
    assert packet[:4] == b"\x60\0\0\0" and packet[6:8] == bytes([58, 64])
    assert IPv6(packet).src == world.own6 and IPv6(packet).dst == world.six and len(packet) <= 1280
    assert (packet[40], packet[41]) == (kind, code)
    return packet[40:]


def new_drops(gateway: Gateway, before: dict[str, int]) -> dict[str, int]:
    """The drop reasons counted since `before`, with their counts."""
    return {reason: n - before.get(reason, 0) for reason, n in gateway.drops().items() if n != before.get(reason, 0)}


def dropped(gateway: Gateway, act: Callable[[], list[Sent]], reason: str) -> list[Sent]:
    """Checks that a packet is dropped for this reason and for no other; gives the frames that leave."""
    before = gateway.drops()
    sent = act()
    assert new_drops(gateway, before) == {reason: 1}
    return sent


def counter(gateway: Gateway, name: str) -> int:
    return gateway.stats()[name]


def translated(gateway: Gateway) -> tuple[int, int]:
    """Number of translated packets by direction: from IPv4, from IPv6."""
    stats = gateway.stats()
    return stats['ivi_translated{way="4to6"}'], stats['ivi_translated{way="6to4"}']


def timings(gateway: Gateway) -> dict[str, int]:
    """How often each operation was timed."""
    found = {}
    for line in gateway.lines("timings"):
        match = re.fullmatch(r"(\w+ \w+) count=(\d+) mean=(\d+) max=(\d+)", line)
        assert match, line
        found[match[1]] = int(match[2])
    return found


def six_of(text: str) -> bytes:
    return IPv6Address(text).packed


def four_of(text: str) -> bytes:
    return IPv4Address(text).packed
