# SPDX-License-Identifier: BSD-2-Clause
"""What strangers say of themselves, by DHCP: it harms no page, no JSON, no metric and no message of the log."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from collector import SYSLOG, message
from gateway import INSIDE, LAN, WAN, A, Gateway, Sent
from lanclients import Client, mac_of
from leases import NAK, QUICK, REQUEST, TYPE, WHY, Server, begin, said
from scapy.layers.inet import UDP
from test_pages import Page, families
from web import Web

pytestmark = pytest.mark.virtual
Start = Callable[..., Gateway]
CONFIG = (QUICK + f"serve http\nlan.dhcp 192.168.1.100-192.168.1.120\nlan.domain home.example\nsyslog {A.ip}\n")
HOST_NAME, CLIENT_FQDN = 12, 81
NAMES = {
    "script": b"<script>alert(1)</script>",
    "attribute": b"\"><img src=x onerror=alert(1)>",
    "entity": b"&lt;b&gt;&#39;'",
    "message": b"x\r\n<34>1 - - evil 1 - - forged",
    "data": b"x] [session@32473 event=\"begin\" inside=\"10.0.0.1\"",
    "metric": b"x\nbaregate_evil{a=\"b\"} 1",
    "json": b"\",\"ready\":false,\"x\":\"\\",
    "terminal": b"\x1b[2J\x1b]0;x\x07\x9b31m",
    "zeros": b"a\0b\0",
    "utf8": "\u202egnp.exe\ufeff".encode(),
    "broken-utf8": b"\xff\xfe\xc0\x80",
    "format": b"%s%n%08x${jndi:ldap://x}",
    "long": b"<" * 240,
    "dots": b"../../etc/passwd",
    "ours": b"gateway",
}


def plain(text: bytes) -> bool:
    return all(31 < byte < 127 or byte == 10 for byte in text)


@pytest.mark.parametrize("name", NAMES)
def test_names_of_dhcp(start: Start, name: str) -> None:
    """A client's host name, by both options, and a server's reason for a refusal."""
    server = Server(silent={REQUEST})
    uplink = begin(start, server, config=CONFIG)
    gateway = uplink.gateway
    sent: list[Sent] = list(gateway.hello)
    for number, option in enumerate(({HOST_NAME: NAMES[name]}, {CLIENT_FQDN: b"\0\xff\xff" + NAMES[name]},
                                     {CLIENT_FQDN: b"\4\xff\xff" + bytes((len(NAMES[name]),)) + NAMES[name] + b"\0"})):
        client = Client(gateway, mac_of(number + 1), options=option)
        offer = client.discover()
        if offer:
            client.select(offer.yiaddr)
    while not server.heard or server.heard[-1].kind != REQUEST:
        sent += uplink.run(1)
    sent += gateway.send(WAN, server.reply(NAK, server.heard[-1], options={TYPE: bytes((NAK,)), WHY: NAMES[name]}))
    sent += gateway.wait(1)
    assert said(gateway, "refuses the lease")
    web = Web(gateway)
    for path in ("/", "/leases", "/sessions", "/config"):
        answer = web.get(path, seconds=1)
        assert plain(answer.body) and answer.body.count(b"<script") == answer.body.count(b"<script src=\"/app.js\">")
        Page(answer.text)
    state = json.loads(web.get("/api/status.json", seconds=1).text)
    assert state["ready"] is False and len(state["leases"]) >= 3
    assert all(plain(line.encode()) and "\n" not in line for line in state["leases"] + state["log"])
    assert not [family for family in families(web.get("/metrics", seconds=1).text) if "evil" in family]
    messages = [bytes(one.frame[UDP].payload) for one in sent
                if one.port == LAN and UDP in one.frame and one.frame[UDP].dport == SYSLOG]
    assert any(b"refuses the lease" in one for one in messages)
    for one in messages:
        assert plain(one) and b"\n" not in one and message(one).host == INSIDE and message(one).id == "log"
