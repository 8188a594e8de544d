# SPDX-License-Identifier: BSD-2-Clause
"""A reference translator, written clearly from RFC 7915, 6052, 6219, 7757 and 4884. Tests compare the gateway's
translation with it. It knows nothing of our code: it computes addresses with Python's numbers, and checksums in full.

Packets are bytes. A packet without a translation raises Refused.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

ICMP, TCP, UDP, ICMP6, FRAGMENT = 1, 6, 17, 58, 44
PLATEAUS = (65535, 32000, 17914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68)
NEVER, FORM, MAP = "never", "form", "map"


class Refused(Exception):
    """There is no translation; the text gives the reason."""


def words(data: bytes) -> int:
    """Sum of 16-bit words, modulo 2^16 - 1 but never 0 unless all is zero."""
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    return total and (total - 1) % 0xffff + 1


def checksum(data: bytes) -> int:
    return 0xffff - words(data)


def pseudo4(src: bytes, dst: bytes, proto: int, length: int) -> bytes:
    return b"" if proto == ICMP else src + dst + struct.pack("!BBH", 0, proto, length)


def pseudo6(src: bytes, dst: bytes, proto: int, length: int) -> bytes:
    return src + dst + struct.pack("!IxxxB", length, proto)


def carry(old: bytes, old_pseudo: bytes, new: bytearray, new_pseudo: bytes, at: int, udp: bool = False) -> None:
    """Sets the checksum at `at` of `new`. It is right if that of `old` was right, and else wrong by the same amount."""
    wrong = words(old_pseudo + old) % 0xffff
    new[at:at + 2] = b"\0\0"
    total = words(new_pseudo + bytes(new))
    value = (wrong - total) % 0xffff
    if wrong == 0:
        value = 0xffff - total
    new[at:at + 2] = (0xffff if udp and value == 0 else value).to_bytes(2, "big")


@dataclass
class Quote:
    """The translated packet that an error quotes, and whether its source address was made from the prefix."""

    packet: bytes
    source: IPv4Address | IPv6Address
    destination: IPv4Address | IPv6Address
    how: str = NEVER


@dataclass
class Siit:
    """A translator with its configuration; names are from RFC 7915 where it has one."""

    prefix: IPv6Network | None
    ivi: bool = False
    maps: Sequence[tuple[IPv4Network, IPv6Network]] = field(default_factory=list)
    lowest: int = 1280
    mtu4: int = 1500
    mtu6: int = 1500
    tos: int | None = None
    compute: bool = True
    icmp4: IPv4Address | None = None
    hosts: Sequence[IPv4Network] = field(default_factory=list)  # the IPv4 addresses of IPv6 hosts

    # --- addresses ---------------------------------------------------------------------------------

    def places(self) -> list[int]:
        """The octets of an IPv6 address that hold the IPv4 address."""
        assert self.prefix
        if self.ivi:
            return [5, 6, 7, 8]
        return [at for at in range(self.prefix.prefixlen // 8, 16) if at != 8 or self.prefix.prefixlen == 96][:4]

    def by_form(self, four: IPv4Address) -> IPv6Address:
        assert self.prefix
        octets = bytearray(self.prefix.network_address.packed)
        if self.ivi:
            octets[4] = 0xff
        for at, octet in zip(self.places(), four.packed, strict=True):
            octets[at] = octet
        return IPv6Address(bytes(octets))

    def six(self, four: IPv4Address, use_maps: bool = True) -> IPv6Address:
        found = [pair for pair in self.maps if four in pair[0]] if use_maps else []
        if not found:
            if self.prefix is None:
                raise Refused("no map")
            return self.by_form(four)
        net4, net6 = max(found, key=lambda pair: pair[0].prefixlen)
        suffix = int(four) - int(net4.network_address)
        return net6.network_address + (suffix << (128 - net6.prefixlen - (32 - net4.prefixlen)))

    def four(self, six: IPv6Address) -> tuple[IPv4Address, str]:
        found = [pair for pair in self.maps if six in pair[1]]
        if found:
            net4, net6 = max(found, key=lambda pair: pair[1].prefixlen)
            suffix = int(six) - int(net6.network_address)
            return net4.network_address + (suffix >> (128 - net6.prefixlen - (32 - net4.prefixlen))), MAP
        octets = six.packed
        if self.prefix is None or six not in self.prefix or (self.ivi and octets[4] != 0xff):
            raise Refused("no map")
        return IPv4Address(bytes(octets[at] for at in self.places())), FORM

    def mapped(self, four: IPv4Address) -> bool:
        return any(four in pair[0] for pair in self.maps)

    # --- IPv4 to IPv6 -----------------------------------------------------------------------------------

    def transport46(self, l4: bytes, proto: int, old: tuple[bytes, bytes], new: tuple[bytes, bytes], *,
                    length: int, quoted: bool) -> bytes:
        """The transport header of a packet or of a first fragment; `length` is the length of the whole payload."""
        made = bytearray(l4)
        if proto == ICMP:
            made[0] = {8: 128, 0: 129}[l4[0]]
            if len(made) >= 4:
                carry(l4, b"", made, pseudo6(*new, ICMP6, length), 2)
            return bytes(made)
        at = {TCP: 16, UDP: 6}.get(proto)
        if at is None or len(made) < at + 2:
            return l4
        if proto == UDP and l4[6:8] == b"\0\0":
            if quoted:
                return l4
            if not self.compute:
                raise Refused("no checksum")
            total = pseudo6(*new, UDP, struct.unpack("!H", l4[4:6])[0]) + l4
            made[6:8] = (checksum(total) or 0xffff).to_bytes(2, "big")
            return bytes(made)
        carry(l4, pseudo4(*old, proto, length), made, pseudo6(*new, proto, length), at, udp=proto == UDP)
        return bytes(made)

    def header6(self, tos: int, length: int, proto: int, hops: int, src: bytes, dst: bytes) -> bytes:
        tc = tos if self.tos is None else self.tos
        return struct.pack("!IHBB", 6 << 28 | tc << 20, length, proto, hops) + src + dst

    def quote46(self, quote: bytes, hairpin: bool) -> Quote:
        """Translates the quoted packet, which may be cut short."""
        if len(quote) < 20 or quote[0] >> 4 != 4:
            raise Refused("quote")
        ihl = (quote[0] & 15) * 4
        length, ident, frag = struct.unpack("!HHH", quote[2:8])
        if not 20 <= ihl <= min(len(quote), length):
            raise Refused("quote")
        proto, src4, dst4 = quote[9], quote[12:16], quote[16:20]
        src = self.six(IPv4Address(src4))
        dst = self.six(IPv4Address(dst4), use_maps=not hairpin)
        l4 = quote[ihl:]
        if not frag & 0x1fff and l4:
            if proto == ICMP and l4[0] not in (0, 8):
                raise Refused("quote")
            l4 = self.transport46(l4, proto, (src4, dst4), (src.packed, dst.packed), length=length - ihl, quoted=True)
        kind = ICMP6 if proto == ICMP else proto
        body, extra = l4, 0
        if frag & 0x3fff:
            extra = 8
            offset = (frag & 0x1fff) << 3 | (frag >> 13 & 1)
            body = struct.pack("!BBHI", kind, 0, offset, ident) + l4
            kind = FRAGMENT
        header = self.header6(quote[1], length - ihl + extra, kind, quote[8], src.packed, dst.packed)
        return Quote(header + body, IPv4Address(src4), IPv4Address(dst4))

    def mtu46(self, told: int, quoted: int, hairpin: bool) -> int:
        if told == 0:
            told = next((mtu for mtu in PLATEAUS if mtu < quoted and mtu >= 1280), 0)
        limits = [told + 20, self.mtu6] + ([] if hairpin else [self.mtu4 + 20])
        return max(1280, min(limits))

    def kind46(self, message: bytes, quoted: int, hairpin: bool) -> tuple[int, int, int]:
        """Type, code and second word; RFC 7915 section 4.2."""
        kind, code = message[0], message[1]
        if kind == 3 and code == 2:
            return 4, 1, 6
        if kind == 3 and code == 4:
            return 2, 0, self.mtu46(struct.unpack("!H", message[6:8])[0], quoted, hairpin)
        if kind == 3:
            table = {**dict.fromkeys((0, 1, 5, 6, 7, 8, 11, 12), 0), 3: 4, **dict.fromkeys((9, 10, 13, 15), 1)}
            if code in table:
                return 1, table[code], 0
        if kind == 11:
            return 3, code, 0
        if kind == 12 and code in (0, 2):
            pointers = {0: 0, 1: 1, 2: 4, 3: 4, 8: 7, 9: 6, **dict.fromkeys(range(12, 16), 8),
                        **dict.fromkeys(range(16, 20), 24)}
            if message[4] in pointers:
                return 4, 0, pointers[message[4]]
        raise Refused("icmp type")

    def error46(self, message: bytes, hairpin: bool) -> tuple[bytearray, Quote]:
        """The ICMPv6 error without its checksum."""
        if checksum(message):
            raise Refused("icmp checksum")
        body = message[8:]
        attribute = message[5] * 4
        extension = b""
        if 20 <= attribute < len(body):
            extension = body[attribute:]
            body = body[:attribute]
            if len(body) >= 4:
                body = body[:max(20, struct.unpack("!H", body[2:4])[0])]
        quoted = struct.unpack("!H", body[2:4])[0] if len(body) >= 20 else 0
        kind, code, rest = self.kind46(message, quoted, hairpin)
        quote = self.quote46(body, hairpin)
        packet, extension, units = fit(quote.packet, extension, 1280 - 48, 8 if kind in (1, 3) else 0)
        made = struct.pack("!BBHI", kind, code, 0, rest | units << 24) + packet + extension
        return bytearray(made), quote

    def translate46(self, packet: bytes, *, hops: int = 1, hairpin: bool = False) -> list[bytes]:
        """The IPv6 packets that an IPv4 packet becomes."""
        ihl = (packet[0] & 15) * 4
        tos, length, ident, frag, ttl, proto = packet[1], *struct.unpack("!HHHBB", packet[2:10])
        src4, dst4, l4 = packet[12:16], packet[16:20], packet[ihl:length]
        error = proto == ICMP and not frag & 0x1fff and l4[0] in (3, 4, 5, 11, 12)
        dst = self.six(IPv4Address(dst4)).packed
        kind = ICMP6 if proto == ICMP else proto
        if error:
            made, quote = self.error46(l4, hairpin)
            stranger = hairpin and quote.destination == IPv4Address(src4)
            src = self.six(IPv4Address(src4), use_maps=not stranger).packed
            made[2:4] = checksum(pseudo6(src, dst, ICMP6, len(made)) + bytes(made)).to_bytes(2, "big")
            return [self.header6(tos, len(made), kind, ttl - hops, src, dst) + bytes(made)]
        src = self.six(IPv4Address(src4), use_maps=not hairpin).packed
        if proto == ICMP and frag & 0x3fff:
            raise Refused("fragment")
        if proto == ICMP and l4[0] not in (0, 8):
            raise Refused("icmp type")
        if proto == UDP and frag & 0x2000 and not frag & 0x1fff and l4[6:8] == b"\0\0":
            raise Refused("no checksum")
        if not frag & 0x1fff:
            l4 = self.transport46(l4, proto, (src4, dst4), (src, dst), length=len(l4), quoted=False)
        whole = 40 + len(l4) + (8 if frag & 0x3fff else 0)
        if frag & 0x4000 and whole > self.mtu6:
            raise Refused("too big")
        limit = min(self.lowest, self.mtu6)
        if not frag & 0x3fff and (whole <= limit or frag & 0x4000 or hairpin):
            return [self.header6(tos, len(l4), kind, ttl - hops, src, dst) + l4]
        size = (limit - 48) // 8 * 8 if whole > limit and not frag & 0x4000 and not hairpin else len(l4) or 1
        pieces = []
        for at in range(0, len(l4) or 1, size):
            part = l4[at:at + size]
            more = at + size < len(l4) or frag & 0x2000
            extra = struct.pack("!BBHI", kind, 0, ((frag & 0x1fff) * 8 + at) | (1 if more else 0), ident)
            pieces.append(self.header6(tos, len(part) + 8, FRAGMENT, ttl - hops, src, dst) + extra + part)
        return pieces

    # --- IPv6 to IPv4 ---------------------------------------------------------------------------------------

    @staticmethod
    def chain(packet: bytes) -> tuple[int, int, bytes | None]:
        """Protocol, its offset, and the fragment header."""
        kind, at = packet[6], 40
        while kind in (0, 43, 60):
            size = (packet[at + 1] + 1) * 8
            if at + size > len(packet):
                raise Refused("extension")
            if kind == 43 and packet[at + 3]:
                raise Refused("source route")
            kind, at = packet[at], at + size
        if kind != FRAGMENT:
            return kind, at, None
        fragment = packet[at:at + 8]
        if fragment[0] in (0, 43, 44, 51, 60, 135, 139, 140):
            raise Refused("extension")
        return fragment[0], at + 8, fragment

    def transport64(self, l4: bytes, proto: int, old: tuple[bytes, bytes], new: tuple[bytes, bytes], *,
                    length: int, quoted: bool) -> bytes:
        made = bytearray(l4)
        if proto == ICMP6:
            made[0] = {128: 8, 129: 0}[l4[0]]
            if len(made) >= 4:
                carry(l4, pseudo6(*old, ICMP6, length), made, b"", 2)
            return bytes(made)
        at = {TCP: 16, UDP: 6}.get(proto)
        if at is None or len(made) < at + 2:
            return l4
        if proto == UDP and l4[6:8] == b"\0\0":
            if quoted:
                return l4
            raise Refused("no checksum")
        carry(l4, pseudo6(*old, proto, length), made, pseudo4(*new, proto, length), at, udp=proto == UDP)
        return bytes(made)

    def header4(self, tos: int, length: int, ident: int, frag: int, ttl: int, proto: int, src: bytes,
                dst: bytes) -> bytes:
        made = bytearray(struct.pack("!BBHHHBBH", 0x45, tos if self.tos is None else self.tos, length, ident, frag,
                                     ttl, proto, 0) + src + dst)
        made[10:12] = checksum(bytes(made)).to_bytes(2, "big")
        return bytes(made)

    @staticmethod
    def flags(fragment: bytes | None, length: int, ident: int) -> tuple[int, int]:
        """Identification, and flags with offset, of the IPv4 header (RFC 7915 sections 5.1 and 5.1.1)."""
        if fragment is None:
            return ident, 0 if length <= 1260 else 0x4000
        offset, low = struct.unpack("!HxxH", fragment[2:8])
        return low, offset >> 3 | (offset & 1) << 13

    def quote64(self, quote: bytes, ident: int) -> Quote:
        if len(quote) < 40 or quote[0] >> 4 != 6:
            raise Refused("quote")
        try:
            kind, at, fragment = self.chain(quote)
        except (Refused, IndexError) as why:
            raise Refused("quote") from why
        length = 40 + struct.unpack("!H", quote[4:6])[0]
        if at > min(length, len(quote)):
            raise Refused("quote")
        src6, dst6 = quote[8:24], quote[24:40]
        src, how = self.four(IPv6Address(src6))
        dst, _ = self.four(IPv6Address(dst6))
        ident, frag = self.flags(fragment, 20 + length - at, ident)
        l4 = quote[at:]
        if not frag & 0x1fff and l4:
            if kind == ICMP6 and l4[0] not in (128, 129):
                raise Refused("quote")
            l4 = self.transport64(l4, kind, (src6, dst6), (src.packed, dst.packed), length=length - at, quoted=True)
        tos = struct.unpack("!I", quote[:4])[0] >> 20 & 255
        header = self.header4(tos, 20 + length - at, ident, frag, quote[7], ICMP if kind == ICMP6 else kind,
                              src.packed, dst.packed)
        return Quote(header + l4, src, dst, how)

    def kind64(self, message: bytes, fragment: bool, hairpin: bool) -> tuple[int, int, int]:
        kind, code, rest = struct.unpack("!BBxxI", message[:8])
        if kind == 1 and code in (0, 1, 2, 3, 4):
            return 3, {0: 1, 1: 10, 2: 1, 3: 1, 4: 3}[code], 0
        if kind == 2:
            extra = 28 if fragment else 20
            limits = [rest - extra, self.mtu6 - extra] + ([] if hairpin else [self.mtu4])
            return 3, 4, max(68, min(limits)) & 0xffff
        if kind == 3:
            return 11, code, 0
        if kind == 4 and code == 1:
            return 3, 2, 0
        if kind == 4 and code == 0:
            pointers = {0: 0, 1: 1, 4: 2, 5: 2, 6: 9, 7: 8, **dict.fromkeys(range(8, 24), 12),
                        **dict.fromkeys(range(24, 40), 16)}
            if rest in pointers:
                return 12, 0, pointers[rest] << 24
        raise Refused("icmp type")

    def error64(self, packet: bytes, l4: bytes, ident: int, room: int) -> tuple[bytes, Quote]:
        """The ICMPv4 error."""
        if checksum(pseudo6(packet[8:24], packet[24:40], ICMP6, len(l4)) + l4):
            raise Refused("icmp checksum")
        body, extension = l4[8:], b""
        attribute = l4[4] * 8 if l4[0] in (1, 3) else 0
        if 40 <= attribute < len(body):
            extension = body[attribute:]
            body = body[:attribute][:40 + struct.unpack("!H", body[4:6])[0]]
        self.kind64(l4, False, False)
        quote = self.quote64(body, ident)
        hairpin = quote.how == FORM and self.mapped(IPv4Address(quote.source.packed))
        kind, code, rest = self.kind64(l4, self.chain(body)[2] is not None, hairpin)
        packet4, extension, units = fit(quote.packet, extension, 2000 if hairpin else room,
                                        0 if (kind, code) == (3, 4) else 4)
        made = bytearray(struct.pack("!BBHI", kind, code, 0, rest | units << 16) + packet4 + extension)
        made[2:4] = checksum(bytes(made)).to_bytes(2, "big")
        quote.how = FORM if hairpin else NEVER
        return bytes(made), quote

    def translate64(self, packet: bytes, *, ident: int = 0) -> bytes:
        """The IPv4 packet that an IPv6 packet becomes, or the IPv6 packet after hairpinning. `ident` is the
        identification of packets to which the translator gives one."""
        kind, at, fragment = self.chain(packet)
        src6, dst6 = packet[8:24], packet[24:40]
        l4 = packet[at:40 + struct.unpack("!H", packet[4:6])[0]]
        tos = struct.unpack("!I", packet[:4])[0] >> 20 & 255
        dst, how = self.four(IPv6Address(dst6))
        later = fragment is not None and struct.unpack("!H", fragment[2:4])[0] & 0xfff8
        error = kind == ICMP6 and not later and l4[0] < 128
        try:
            src, way = self.four(IPv6Address(src6))
            if way == FORM and not any(src in net for net in self.hosts):
                raise Refused("no map")
        except Refused:
            if not error or self.icmp4 is None:
                raise
            src = self.icmp4
        hairpin = False
        if error:
            l4, quote = self.error64(packet, l4, ident, 576 - 28)
            hairpin = quote.how == FORM
        else:
            hairpin = how == FORM and self.mapped(dst)
        ident, frag = self.flags(fragment, 20 + len(l4), ident)
        if not error:
            if kind == ICMP6 and frag & 0x3fff:
                raise Refused("fragment")
            if kind == ICMP6 and l4[0] not in (128, 129):
                raise Refused("icmp type")
            if not hairpin and 20 + len(l4) > self.mtu4:
                raise Refused("too big")
            if not frag & 0x1fff:
                l4 = self.transport64(l4, kind, (src6, dst6), (src.packed, dst.packed), length=len(l4), quoted=False)
        proto = ICMP if kind == ICMP6 else kind
        made = self.header4(tos, 20 + len(l4), ident, frag, packet[7] - 1, proto, src.packed, dst.packed) + l4
        return self.translate46(made, hops=0, hairpin=True)[0] if hairpin else made


def fit(packet: bytes, extension: bytes, room: int, unit: int) -> tuple[bytes, bytes, int]:
    """Quoted packet, extensions and length attribute of an error: the first 128 bytes of the packet go before the
    extensions, the extensions before the rest of the packet; zeros pad to a unit, and to 128 bytes (RFC 4884)."""
    if not extension or not unit or len(extension) > room - 128:
        return packet[:room], b"", 0
    most = min((room - len(extension)) // unit, 255) * unit
    packet = packet[:most]
    size = max(128, -(-len(packet) // unit) * unit)
    return packet.ljust(size, b"\0"), extension, size // unit
