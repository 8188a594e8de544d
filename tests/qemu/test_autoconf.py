# SPDX-License-Identifier: BSD-2-Clause
"""`wan.address auto` on the machine: an advertisement of a router in the WAN gives address, route and DNS server."""

import re

import pytest
from frames import Wire
from labkit import lab as net
from labkit.dnslab import PREFIX, SERVERS, DnsLab, ask, synthesised
from labkit.wait import until
from scapy.layers.inet6 import (
    ICMPv6ND_RA,
    ICMPv6ND_RS,
    ICMPv6NDOptPrefixInfo,
    ICMPv6NDOptRDNSS,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet

WAN_NET = "2001:db8:2::"
CONF = f"""\
app dns64
lan.address {net.LAN_GATEWAY}/24
wan.address auto
nameserver default
dns64-prefix {PREFIX}/96
dns64.cache 0
"""


def advertisement(mac: str, local: str, *, lifetime: int, prefix_s: int = 9000) -> Packet:
    """From the WAN host, which is the router; it names the server unbound."""
    packet = Ether(src=mac, dst="33:33:00:00:00:01") / IPv6(src=local, dst="ff02::1", hlim=255)
    packet /= ICMPv6ND_RA(routerlifetime=lifetime) / ICMPv6NDOptSrcLLAddr(lladdr=mac)
    packet /= ICMPv6NDOptPrefixInfo(prefix=WAN_NET, prefixlen=64, validlifetime=prefix_s, preferredlifetime=prefix_s)
    return packet / ICMPv6NDOptRDNSS(dns=[SERVERS["unbound"][1]], lifetime=lifetime)


@pytest.mark.one_card
def test_an_advertisement_gives_all_that_the_wan_needs(nic: str) -> None:
    """Solicited; then a client's query is answered by the server that the router named. The router's last
    advertisement takes route and server away."""
    with DnsLab((nic, nic)) as lab:
        lab.start_server("unbound")
        lab.plug()
        lab.wan.sysctl("ipv6.conf.all.forwarding", 1)  # so that it says that it is a router
        shown = lab.wan.ip("-6 address show dev wan0 scope link") + lab.wan.ip("link show dev wan0")
        local, mac = (re.search(wanted, shown) for wanted in (r"inet6 (fe80::\S+)/64", r"link/ether (\S+)"))
        assert local and mac, shown
        with Wire(lab.wan, "wan0") as wire:
            lab.boot(CONF, app="dns64")
            asked = wire.expect(lambda frame: ICMPv6ND_RS in frame, 20, "router solicitation")
            assert asked[IPv6].dst == "ff02::2" and ICMPv6NDOptSrcLLAddr in asked
            lab.wait_answer()
            wire.send(advertisement(mac[1], local[1], lifetime=1800))
            console = lab.console
            until(lambda: f"::/0 via {local[1]} wan" in console.command("routes"), 10, "the default route")
            until(lambda: re.search(r"wan 2001:db8:2:\S+/128 valid from", console.command("addresses")), 10,
                  "the address")
            reply = ask(lab.lan, net.LAN_GATEWAY, "v4.lab.test", "AAAA")
            assert reply.addresses == [synthesised(net.FAR_SERVER)]
            wire.send(advertisement(mac[1], local[1], lifetime=0, prefix_s=0))
            until(lambda: "::/0" not in console.command("routes"), 10, "no default route")
            assert ask(lab.lan, net.LAN_GATEWAY, "dual.lab.test", "TXT").status == "SERVFAIL"
            assert f"router {local[1]} is gone: it says so" in console.command("log")
