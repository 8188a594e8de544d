# SPDX-License-Identifier: BSD-2-Clause
"""Several inside networks whose addresses do not fit together, and which do; all eight interfaces at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gateway import A, MORE, NAT, OUTSIDE, PORT_MAC, ROUTER, SERVER, WAN, Gateway, Host, only
from scapy.layers.inet import IP, UDP
from simulator import Refused

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
CARD = "lan2 nic2\n"
SIX = "lan.ra off\nlan.address 2001:db8:ff00:1::1/64\nwan.address 203.0.113.2/24\nivi.prefix 2001:db8::/32\n" \
      "ivi.ipv4 192.0.2.0/24\n"

WRONG = {
    "the same network": (CARD + "lan2.address 192.168.1.2/24\n",
                         "lan2.address 192.168.1.2 lies in the network of lan.address"),
    "a part of it": (CARD + "lan2.address 192.168.1.129/25\n",
                     "lan2.address 192.168.1.129 lies in the network of lan.address"),
    "the WAN's": (CARD + "lan2.address 203.0.113.5/24\n",
                  "lan2.address 203.0.113.5 lies in the network of wan.address"),
    "that of another than the first": (CARD + "lan2.address 10.2.0.1/16\nlan3 nic3\nlan3.address 10.2.3.1/24\n",
                                       "lan3.address 10.2.3.1 lies in the network of lan2.address"),
    "the same address": (CARD + "lan2.address 192.168.1.1/24\n", "lan2.address 192.168.1.1 is given twice"),
    "a network around another": (CARD + "lan2.address 192.168.0.1/16\n",
                                 "lan2.address 192.168.0.1/16 contains the network of lan.address"),
}


@pytest.mark.parametrize("case", WRONG)
def test_overlapping_networks(start: Start, case: str) -> None:
    """The line begins with a key, so the machine can name its place."""
    lines, message = WRONG[case]
    with pytest.raises(Refused, match=f"^{message}$"):
        start(NAT + lines)


@pytest.mark.parametrize("address,message", [
    ("2001:db8:ff00:1::2/64", "lan2.address 2001:db8:ff00:1::2 lies in the network of lan.address"),
    ("2001:db8:ff00:1::1/64", "lan2.address 2001:db8:ff00:1::1 is given twice"),
    ("2001:db8:ff00::1/48", "lan2.address 2001:db8:ff00::1/48 contains the network of lan.address"),
])
def test_overlapping_networks6(start: Start, address: str, message: str) -> None:
    with pytest.raises(Refused, match=f"^{message}$"):
        start(SIX + CARD + f"lan2.address {address}\n", "ivi")


def test_a_router_in_an_inside_network(start: Start) -> None:
    """Routes, routers and neighbours may be on any network."""
    nat = start(NAT + MORE + "route 10.0.0.0/8 via 192.168.3.9\nneighbour 192.168.3.9 52:54:00:00:04:09\n")
    assert only(nat.lan(IP(src=A.ip, dst="10.1.2.3") / UDP()), "lan3").frame.dst == "52:54:00:00:04:09"


def test_no_nat_without_an_inside_address(start: Start) -> None:
    """Any inside network is enough for the NAT."""
    conf = f"wan.address {OUTSIDE}/24\ngateway {ROUTER.ip}\nneighbour {ROUTER.ip} {ROUTER.mac}\n" + MORE
    with pytest.raises(Refused, match="^lan.address: an IPv4 address is required by the NAT$"):
        start(conf.replace("lan2.address", "# ").replace("lan3.address", "# ").replace("neighbour 192", "# "))
    nat = start(conf)
    host = Host("lan3", "192.168.3.10", "52:54:00:00:04:0a")
    assert only(nat.ip_from(host, IP(src=host.ip, dst=SERVER) / UDP()), WAN).ip.src == OUTSIDE


def test_all_eight(start: Start) -> None:
    """Seven inside networks: out, back, and from each to each; then each is listed."""
    hosts = [A]
    lines = ""
    for number in range(2, 8):
        hosts.append(Host(f"lan{number}", f"192.168.{number}.10", f"52:54:00:00:0{number}:0a"))
        lines += f"lan{number} nic{number}\nlan{number}.address 192.168.{number}.1/24\n"
        lines += f"neighbour {hosts[-1].ip} {hosts[-1].mac}\n"
    nat = start(NAT + lines)
    for host in hosts:
        sent = only(nat.ip_from(host, IP(src=host.ip, dst=SERVER) / UDP(sport=4000, dport=53)), WAN)
        reply = IP(src=SERVER, dst=OUTSIDE) / UDP(sport=53, dport=sent.ip[UDP].sport)
        assert only(nat.wan(reply), host.port).ip.dst == host.ip
        for peer in hosts:
            if peer != host:
                through = only(nat.ip_from(host, IP(src=host.ip, dst=peer.ip) / UDP()), peer.port)
                assert (through.frame.dst, through.ip.src) == (peer.mac, host.ip)
    assert nat.drops() == {}
    assert [line.split()[0] for line in nat.lines("interfaces")] == list(PORT_MAC)
    stats = nat.stats()
    assert all(stats[f'{way}_packets{{if="{port}"}}'] > 0 for port in PORT_MAC for way in ("rx", "tx"))
    assert len([line for line in nat.lines("routes") if line.startswith("192.168.")]) == 7
