# SPDX-License-Identifier: BSD-2-Clause
"""The pages of `serve http`: whole, well-formed, escaped, and the same as the console's listings."""

from __future__ import annotations

import ipaddress
import json
import re
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from gateway import NAT, ROUTER, A, Gateway, Host
from scapy.layers.inet import IP, UDP
from lanclients import REQUEST, WANTED, Client, ip, mac_of
from scapy.layers.l2 import Ether
from six4 import SIX, out_udp, start64
from test_http import CONFIG
from web import Web, read_answers

pytestmark = pytest.mark.virtual
Start = Callable[..., Gateway]
PAGES = ["/", "/sessions", "/leases", "/config", "/capture", "/help"]
VOID = {"meta", "link", "br", "input"}
APPS = {"nat": CONFIG + "serve dns\nserve pcp\nsyslog 203.0.113.77\nipfix 203.0.113.77\nnameserver 203.0.113.1\n"
        "lan.dhcp 192.168.1.100-192.168.1.199\n"}


class Page(HTMLParser):
    """Every tag is closed in order; the ids are different; the text of each element with an id."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.words = ""
        self.feed(text)
        self.close()
        assert not self.open and len(set(self.ids)) == len(self.ids)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        assert len(names) == len(attrs) and not [name for name in names if name.startswith("on") or name == "style"]
        self.ids += [names["id"] or ""] if "id" in names else []
        self.links += [names[name] or "" for name in ("href", "src", "action") if name in names]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.fixture
def web(start: Start) -> Web:
    return Web(start(APPS["nat"], "nat"))


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_whole(web: Web, path: str) -> None:
    answer = web.get(path, seconds=1)
    assert answer.status == 200 and answer.fields["content-type"] == "text/html; charset=utf-8"
    assert answer.text.startswith("<!DOCTYPE html>\n") and answer.text.endswith("</html>\n")
    assert "{{" not in answer.text and "}}" not in answer.text
    page = Page(answer.text)
    for link in page.links:
        assert link.startswith("/") and web.get(link, seconds=1).status == 200, link


def test_status_json(web: Web) -> None:
    web.gateway.lan(IP(src=A.ip, dst="203.0.113.1") / UDP(sport=4000, dport=7))
    answer = web.get("/api/status.json", seconds=1)
    assert answer.fields["content-type"] == "application/json"
    status = json.loads(answer.text)
    assert (status["hostname"], status["app"], status["services"]) == ("box", "nat", ["http", "dns", "pcp"])
    assert status["ready"] is True and status["reason"] == ""
    lan, wan = status["interfaces"]
    assert (lan["name"], wan["name"]) == ("lan", "wan") and "192.168.1.1/24" in lan["addresses"]
    stats = web.gateway.stats()
    assert status["forwarded_packets"] == 1 == stats["forwarded_packets"]
    assert wan["tx_packets"] == stats['tx_packets{if="wan"}']
    assert {"nat_sessions", "tcp_connections", "http_connections"} <= {one["name"] for one in status["tables"]}
    assert status["dns"]["dns_queries"] == 0 and len(status["dns"]) > 20
    assert status["log"] == web.gateway.lines("log")[-20:]


def test_rates(web: Web) -> None:
    for _ in range(200):
        web.gateway.lan(IP(src=A.ip, dst="203.0.113.1") / UDP(sport=4000, dport=7) / bytes(972))
        web.wait(0.01, 0.01)
    lan = json.loads(web.get("/api/status.json", seconds=1).text)["interfaces"][0]
    assert 90 <= lan["rx_packets_per_second"] <= 110 and 90000 <= lan["rx_bytes_per_second"] <= 112000
    page = web.get("/", seconds=1).text
    assert re.search(r'<polyline points="(\d+,\d+ )+\d+,\d+"/>', page)


def test_sessions_are_found(web: Web) -> None:
    for dport in range(1, 40):
        web.gateway.lan(IP(src=A.ip, dst="203.0.113.1") / UDP(sport=4000 + dport, dport=dport))
    lines = web.gateway.lines("sessions")
    page = Page(web.get("/sessions", seconds=1).text)
    assert len(lines) >= 39 and all(" ".join(line.split()[:4]) in page.words for line in lines)
    some = Page(web.get("/sessions?address=192.168.1.10", seconds=1).text).words
    assert some.count("192.168.1.10:") == 39 and "server" not in some
    assert "192.168.1.10:" not in Page(web.get("/sessions?address=192.168.1.1", seconds=1).text).words
    assert "There are no sessions." in web.get("/sessions?address=2001%3Adb8%3A%3A1", seconds=1).text
    assert "not an address" in web.get("/sessions?address=%3Cscript%3E", seconds=1).text


def test_an_address_is_found_in_any_form(start: Start) -> None:
    gateway = start64(start, f"lan.address 192.168.1.1/24\nneighbour {A.ip} {A.mac}\nserve http\n")
    web = Web(gateway)
    out_udp(gateway, 5000)
    for text in (SIX, ipaddress.ip_address(SIX).exploded, SIX.upper()):
        assert f"[{SIX}]:5000" in Page(web.get(f"/sessions?address={text}", seconds=0.3).text).words


def test_configuration_and_help(web: Web) -> None:
    text = web.get("/config", seconds=1).text
    config = Page(text)
    for line in web.gateway.lines("print"):
        assert line in config.words
    assert "<li><strong>lan.address 192.168.1.1/24</strong></li>" in text
    assert re.search(r"<li>nat\.\S+ ", text), "no line that is a default"
    help_ = web.get("/help", seconds=1).text
    keys = {line.split()[0] for line in web.gateway.lines("print")}
    assert keys <= set(re.findall(r"<dt>([^<]+)</dt>", help_)) and "http.client" in help_


HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'-alert(1)-'", "{{log}}", "&lt;b&gt;",
           "a\0b", "%00", "${7*7}", "\\u003cscript", "</li></ul><script>", "javascript:alert(1)", "\x1b[2J", "--><b>",
           "]]>", "\N{LATIN SMALL LETTER A WITH DIAERESIS}<"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_searches_are_escaped(web: Web, name: str) -> None:
    quoted = "".join(f"%{byte:02x}" for byte in name.encode())
    text = web.get("/sessions?address=" + quoted, seconds=1).text
    Page(text)
    assert "<script>" not in text and "<img" not in text and "<b>" not in text
    assert "\0" not in text and "\x1b" not in text and text.count("<form") == 1


def families(text: str) -> dict[str, str]:
    """Reads metrics strictly, as the text format 0.0.4 says; gives the type of each family."""
    types: dict[str, str] = {}
    seen = set()
    lines = text.split("\n")
    assert lines.pop() == ""
    for number, line in enumerate(lines):
        if line.startswith("# HELP "):
            name = line.split()[2]
            assert lines[number + 1].startswith(f"# TYPE {name} ") and name not in types and len(line.split()) > 3
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            types[name] = kind
            assert kind in ("counter", "gauge") and (kind == "counter") == name.endswith("_total"), line
            continue
        match = re.fullmatch(r'([a-z][a-z0-9_]*)((?:\{[a-z]+="[^"\\\n]*"(?:,[a-z]+="[^"\\\n]*")*\})?) (\d+)', line)
        assert match and match[1] == list(types)[-1], line
        assert (match[1], match[2]) not in seen
        seen.add((match[1], match[2]))
    return types


def test_metrics_are_those_of_stats(web: Web) -> None:
    answer = web.get("/metrics", seconds=1)
    types = families(answer.text)
    values = dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))
    for name, value in web.gateway.stats().items():
        family, brace, rest = name.partition("{")
        found = [values[one] for one in (f"baregate_{name}", f"baregate_{family}_total{brace}{rest}") if one in values]
        assert len(found) == 1, name
        if family.startswith("nat") or family == "drop":
            assert int(found[0]) == value
    assert types["baregate_nat_sessions"] == "gauge" and types["baregate_drop_total"] == "counter"
    assert "# HELP baregate_nat_sessions Sessions in the table.\n" in answer.text


def test_each_counter_says_what_it_counts(web: Web) -> None:
    """A HELP that is only the name means that a counts.def lacks it."""
    for line in web.get("/metrics", seconds=1).text.splitlines():
        if line.startswith("# HELP "):
            _, _, name, text = line.split(" ", 3)
            assert text.strip(".") != name.removeprefix("baregate_").removesuffix("_total"), f"counts.def: {name}"


BOXES = {
    "nat64": "lan.address 192.168.1.1/24\nlan.address 2001:db8:1::1/64\nnat64.sessions 256\nserve dns64\nserve pcp\n"
             "dns64.cache 2000\n",
    "clat": f"lan.address 192.168.1.1/24\nneighbour {A.ip} {A.mac}\nwan.address auto\nserve dns\ndns64.cache 2000\n",
    "6to4": "lan.address 192.168.1.1/24\n",
    "ivi": "lan.address 192.168.1.1/24\nlan.address 2001:db8:1::1/64\nivi.format rfc6052\n"
           "ivi.prefix 2001:db8:100::/40\nivi.ipv4 198.51.100.0/24\n",
    "dns64": "lan.address 192.168.1.1/24\n",
}


@pytest.mark.parametrize("app", BOXES)
def test_metrics_and_pages_of_every_application(start: Start, app: str) -> None:
    """Each family is one group with a HELP, beside every forwarder; the pages are whole."""
    own = NAT.replace("lan.address 192.168.1.1/24\n", "") if app != "clat" else ""
    extra = BOXES[app]
    if "dns" in app + extra:
        extra += "nameserver 203.0.113.1\n" if app != "clat" else "nameserver 2001:db8::53\n"
    web = Web(start(own.replace("nat.sessions 256\n", "") + extra + "serve http\n", app))
    text = web.get("/metrics", seconds=1).text
    families(text)
    for line in text.splitlines():
        if line.startswith("# HELP "):
            _, _, name, about = line.split(" ", 3)
            assert about.strip(".") != name.removeprefix("baregate_").removesuffix("_total"), f"counts.def: {name}"
    for path in PAGES:
        Page(web.get(path, seconds=2).text)
    assert json.loads(web.get("/api/status.json", seconds=1).text)["app"] == app


def test_metrics_through_a_day(web: Web) -> None:
    """promtool and the rules of families() judge a scrape of each hour; no counter goes back."""
    last: dict[str, int] = {}
    for hour in range(24):
        for sport in range(5):
            web.gateway.lan(IP(src=A.ip, dst="198.51.100.7") / UDP(sport=5000 + sport, dport=hour + 1))
        web.gateway.wait(3600)
        text = web.get("/metrics", seconds=1).text
        types = families(text)
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and not done.stderr, done.stderr
        now = {name: int(value) for name, value in
               (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))}
        counters = {name: value for name, value in now.items() if types[name.partition("{")[0]] == "counter"}
        assert all(value >= last.get(name, 0) for name, value in counters.items()) and len(counters) > 200
        last = counters
    assert last["baregate_http_requests_total"] == 24 and last["baregate_nat_sessions_created_total"] == 24 * 5


def test_all_addresses_of_an_interface(start: Start) -> None:
    """As many as it may have, each as long as it may be."""
    four = [f"10.{i}.100.101/24" for i in range(6)]
    six = [f"2001:db8:{i:x}ff0:aaaa:bbbb:cccc:dddd:eeee/64" for i in range(1, 9)]
    web = Web(start(CONFIG + "".join(f"lan.address {one}\n" for one in [*four, six[0]]), "nat"))
    for one in six[1:]:
        web.gateway.change(f"address add lan {one}")
    web.wait(5, 0.5)
    page = web.get("/", seconds=1).text
    told = json.loads(web.get("/api/status.json", seconds=1).text)["interfaces"][0]["addresses"]
    assert {*four, *six} <= set(told) and all(one in page for one in told)


def leased(gateway: Gateway, n: int) -> None:
    """Gives n clients their leases: each asks for an address that it has had (INIT-REBOOT)."""
    for first in range(0, n, 256):
        clients = [Client(gateway, mac_of(i), server="10.0.0.1") for i in range(first, first + 256)]
        gateway.sim.batch([f"rx lan {bytes(one.frame(REQUEST, {WANTED: ip(f'10.0.{16 + i // 256}.{i % 256}')})).hex()}"
                           for i, one in enumerate(clients, first)])
        gateway.leap(1, 10)


def complete_ms(web: Web, path: str) -> tuple[int, str]:
    """The milliseconds that a page takes under load, and its text."""
    stream = web.open(Host("lan", "10.0.9.9", A.mac), to="10.0.0.1")
    web.say(stream, f"GET {path} HTTP/1.1\r\nHost: 10.0.0.1\r\nConnection: close\r\n\r\n".encode())
    for ms in range(1, 2000):
        web.deliver(web.gateway.busy(0.001))
        if stream.ended:
            return ms, read_answers(stream.received, True)[0].text
    raise AssertionError("no end")


def test_the_status_page_takes_50_ms(start: Start) -> None:
    """Under load, with full tables: 4096 leases, 100,000 sessions of 2000 hosts, drops, and a long log."""
    web = Web(start("lan.address 10.0.0.1/16\nwan.address 203.0.113.2/24\ngateway 203.0.113.1\n"
                    f"neighbour 203.0.113.1 {ROUTER.mac}\nneighbour 10.0.9.9 {A.mac}\nroute 10.7.0.0/16 via 10.0.9.9\n"
                    "nat.sessions 131072\nnat.pool 203.0.113.40-203.0.113.60\nlan.dhcp 10.0.16.0-10.0.31.255\n"
                    "serve http\nserve dns\nnameserver 203.0.113.1\n", packets=4096, memory=256 << 20))
    gateway = web.gateway
    leased(gateway, 4096)
    frame = Ether(src=A.mac, dst=gateway.mac("lan")) / IP(dst="198.51.100.7") / UDP(dport=53, chksum=0)
    for host in range(2000):
        frame[IP].src = f"10.7.{host // 250}.{host % 250 + 1}"
        raw = bytes(frame).hex()
        gateway.sim.batch([f"rx lan {raw[:68]}{port:04x}{raw[72:]}" for port in range(1024, 1074)])
    stats = gateway.stats()
    assert (stats["nat_sessions"], stats["dhcps_leases"]) == (100000, 4096)
    ms, text = complete_ms(web, "/")
    assert ms <= 50 and text.count("<li>lan ") == 32 and '<a href="/leases">All leases</a>' in text
    assert complete_ms(web, "/leases")[1].count("<li>lan ") == 4096
