# SPDX-License-Identifier: BSD-2-Clause
"""Routers of the WAN that advertise, for a gateway with `wan.address auto`."""

from __future__ import annotations

import struct
from collections.abc import Callable
from ipaddress import IPv6Address
from typing import Any

from gateway import WAN, Gateway, Sent
from net6 import (
    ALL_NODES,
    OWN,
    Host6,
    advertise,
    of_kind,
    send,
)
from scapy.layers.inet6 import (
    ICMPv6ND_NS,
    ICMPv6ND_RA,
    ICMPv6NDOptPrefixInfo,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
)
from scapy.packet import Packet, Raw

Start = Callable[..., Gateway]
LOCAL = "fe80::ff:fe00:2"  # the gateway's link-local address on the WAN
NET, NET2 = "2001:db8:20::", "2001:db8:21::"
AUTO, AUTO2 = "2001:db8:20::ff:fe00:2", "2001:db8:21::ff:fe00:2"
R1 = Host6(WAN, "fe80::1", "fe80::1", "52:54:00:00:02:01")
R2 = Host6(WAN, "fe80::9", "fe80::9", "52:54:00:00:02:09")
FOREVER = 0xffffffff
RS, RA, NS, NA = 133, 134, 135, 136
CONFIG = f"lan.address {OWN['lan']}/64\nlan.ra off\nwan.address auto\n"


def begin(start: Start, more: str = "", *, settle: float = 5, app: str = "route6", **options: Any) -> Gateway:
    """A gateway whose link-local addresses are in use."""
    gateway = start(CONFIG + more, app, **options)
    gateway.wait(settle)
    return gateway


def prefix(net: str = NET, length: int = 64, *, on_link: int = 1, auto: int = 1, valid: int = 7200,
           preferred: int = 3600) -> Packet:
    return ICMPv6NDOptPrefixInfo(prefix=net, prefixlen=length, L=on_link, A=auto, validlifetime=valid,
                                 preferredlifetime=preferred)


def route(net: str, length: int, *, preference: int = 0, lifetime: int = 600, words: int | None = None) -> Raw:
    size = (1 if length == 0 else 2 if length <= 64 else 3) if words is None else words
    return Raw(bytes([24, size, length, preference << 3]) + struct.pack("!I", lifetime)
               + IPv6Address(net).packed[:8 * (size - 1)])


def ra(*options: Packet, router: Host6 = R1, lifetime: int = 1800, source: bool = True,
       ip: dict[str, Any] | None = None, **fields: Any) -> Packet:
    """A router advertisement; `fields` are those of its header, `ip` those of the IPv6 header."""
    packet = IPv6(**{"src": router.local, "dst": ALL_NODES, "hlim": 255, **(ip or {})})
    packet /= ICMPv6ND_RA(**{"routerlifetime": lifetime, "chlim": 0, **fields})
    if source:
        packet /= ICMPv6NDOptSrcLLAddr(lladdr=router.mac)
    for option in options:
        packet /= option
    return packet


def hear(gateway: Gateway, *options: Packet, router: Host6 = R1, settle: float = 0.3, **fields: Any) -> list[Sent]:
    """The gateway hears an advertisement; gives what it sends until it has followed."""
    return send(gateway, router, ra(*options, router=router, **fields)) + gateway.wait(settle)


def answering(gateway: Gateway, seconds: float, *routers: Host6) -> list[Sent]:
    """Lets time pass in which these routers answer neighbour solicitations for their addresses; gives what was sent."""
    everything = []
    pending: list[Sent] = []
    while seconds > 0:
        pending += gateway.wait(0.1)
        seconds -= 0.1
        for one in of_kind(pending, NS, WAN):
            for router in routers:
                if one.frame[ICMPv6ND_NS].tgt == router.local and one.ip6.src != "::":
                    pending = pending + send(gateway, router, advertise(router, one.ip6.src, r=1))
        everything += pending
        pending = []
    return everything


def addresses(gateway: Gateway) -> dict[str, str]:
    """The addresses of the WAN in the listing `addresses`, but the link-local one: what follows each."""
    found = {}
    for line in gateway.lines("addresses"):
        words = line.split(" ", 2)
        if words[0] == WAN and "/" in words[1] and not words[1].startswith("fe80"):
            found[words[1].split("/")[0]] = "".join(words[2:])
    return found


def learned(gateway: Gateway, what: str) -> list[str]:
    """The lines of the listing `addresses` about routers, prefixes, routes, nameservers, pref64."""
    start = f"{WAN} {what} "
    return [line.removeprefix(start) for line in gateway.lines("addresses") if line.startswith(start)]


def default_router(gateway: Gateway) -> str | None:
    """The next hop of the default route that is used; None when there is none."""
    for line in gateway.lines("routes"):
        words = line.split()
        if words[0] == "::/0" and words[1] == "via":
            return words[2]
    return None
