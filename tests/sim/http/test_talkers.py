# SPDX-License-Identifier: BSD-2-Clause
"""The inside hosts with the most sessions, on the status page and in the JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from gateway import LAN, NAT, PORT_MAC, A, B, Gateway
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from six4 import SEVEN, SIX, out_udp, start64
from test_http import CONFIG
from web import Web

pytestmark = pytest.mark.virtual
Start = Callable[..., Gateway]
FAR = "198.51.100.7"
MOST = 10
WIDE = NAT.replace("192.168.1.1/24", "192.168.1.1/16").replace("nat.sessions 256", "nat.sessions 2048")
LAN4 = f"lan.address 192.168.1.1/24\nneighbour {A.ip} {A.mac}\nserve http\n"


def talk(gateway: Gateway, src: str, sessions: int, first: int = 1, mac: str = A.mac) -> None:
    """Opens sessions of a host."""
    gateway.send_many([(LAN, Ether(src=mac, dst=PORT_MAC[LAN]) / IP(src=src, dst=FAR) / UDP(sport=4000, dport=dport))
                       for dport in range(first, first + sessions)])


def json_of(web: Web) -> list[tuple[str, int]]:
    talkers = json.loads(web.get("/api/status.json", seconds=0.3).text)["talkers"]
    assert all(set(one) == {"host", "sessions"} for one in talkers)
    return [(one["host"], one["sessions"]) for one in talkers]


def page_of(web: Web) -> list[tuple[str, int]]:
    """The rows of the table; a host that is one address leads to its sessions."""
    [section] = re.findall(r'<section id="talkers".*?</section>', web.get("/", seconds=0.3).text, re.DOTALL)
    rows = re.findall(r'<tr><td>(?:<a href="/sessions\?address=([^"]+)">([^<]+)</a>|([^<]+))</td>'
                      r'<td class="number">(\d+)</td></tr>', section)
    assert section.count("<tr><td>") == len(rows) and all(link == text for link, text, _, _ in rows)
    return [(text or other, int(n)) for _, text, other, n in rows]


def test_most_sessions_first(start: Start) -> None:
    web = Web(start(CONFIG, "nat"))
    assert json_of(web) == [] and page_of(web) == [("no host has sessions", 0)]
    talk(web.gateway, A.ip, 3)
    talk(web.gateway, B.ip, 5, mac=B.mac)
    web.wait(1, 0.05)
    assert json_of(web) == page_of(web) == [(B.ip, 5), (A.ip, 3)]
    assert web.get(f"/sessions?address={A.ip}").text.count(f"{A.ip}:4000") == 3


def test_one_search_serves_all_for_a_second(start: Start) -> None:
    web = Web(start(CONFIG, "nat"))
    talk(web.gateway, A.ip, 1)
    assert json_of(web) == [(A.ip, 1)]
    talk(web.gateway, A.ip, 1, first=2)
    assert json_of(web) == [(A.ip, 1)]
    web.wait(1, 0.05)
    assert json_of(web) == [(A.ip, 2)]


def test_a_host_without_sessions_goes(start: Start) -> None:
    web = Web(start(CONFIG + "nat.udp-timeout 120\n", "nat"))
    talk(web.gateway, A.ip, 2)
    assert json_of(web) == [(A.ip, 2)]
    web.wait(130, 1)
    assert json_of(web) == []


def test_the_largest_of_many_hosts(start: Start) -> None:
    """The table of hosts is longer than what one step of the search looks at."""
    web = Web(start(WIDE + "serve http\n", "nat"))
    for n in range(600):
        talk(web.gateway, f"192.168.{4 + n // 200}.{1 + n % 200}", 1)
    for n in range(12):
        talk(web.gateway, f"192.168.{5 + n % 2}.{100 + 5 * n}", n + 1, first=100)
    web.wait(1, 0.05)
    found = json_of(web)
    assert found == [(f"192.168.{5 + n % 2}.{100 + 5 * n}", n + 2) for n in range(11, 1, -1)] and len(found) == MOST
    assert page_of(web) == found


@pytest.mark.parametrize("length", [64, 128])
def test_hosts_with_ipv6(start: Start, length: int) -> None:
    """A host is what nat64.host-length says: the addresses of a /64 together, or each. Beside them those with IPv4."""
    gateway = start64(start, LAN4 + f"nat64.host-length {length}\n")
    for port in range(3):
        out_udp(gateway, 5000 + port)
    out_udp(gateway, 5010, src=SEVEN)
    talk(gateway, A.ip, 2)
    web = Web(gateway)
    want = [("2001:db8:1::/64", 4), (A.ip, 2)] if length == 64 else [(SIX, 3), (A.ip, 2), (SEVEN, 1)]
    assert json_of(web) == page_of(web) == want


def test_where_nobody_counts_sessions(start: Start) -> None:
    web = Web(start("lan.address 192.168.1.1/24\nnameserver 192.168.1.11\nserve http\n"
                    f"neighbour {A.ip} {A.mac}\n", "dns64"))
    assert json_of(web) == [] and page_of(web) == [("no host has sessions", 0)]
