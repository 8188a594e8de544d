# SPDX-License-Identifier: BSD-2-Clause
"""`serve http`: requests and answers (RFC 9110, RFC 9112), who may look, limits and times."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gateway import LAN, NAT, OUTSIDE, ROUTER, WAN, A, B, Gateway
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from web import OWN, Web, read_answers

pytestmark = pytest.mark.virtual
Start = Callable[..., Gateway]
CONFIG = NAT + "serve http\nhostname box\nlan.domain home.example\n"
GET = b"GET /livez HTTP/1.1\r\nHost: 192.168.1.1\r\n"


@pytest.fixture
def web(start: Start) -> Web:
    return Web(start(CONFIG, "nat"))


def test_livez(web: Web) -> None:
    answer = web.get("/livez")
    assert (answer.status, answer.text) == (200, "alive\n")
    assert answer.fields["content-type"] == "text/plain; charset=utf-8"
    assert "default-src 'none'" in answer.fields["content-security-policy"]
    assert (answer.fields["x-content-type-options"], answer.fields["cache-control"]) == ("nosniff", "no-store")
    assert not [name for name in answer.fields if name.startswith("access-control")]
    stats = web.gateway.stats()
    assert (stats["http_requests"], stats["http_errors"], stats["http_connections"]) == (1, 0, 0)
    assert web.gateway.drops() == {}


def test_readyz_follows_the_way_out(web: Web) -> None:
    assert (web.get("/readyz").status, web.get("/readyz").text) == (200, "ready\n")
    web.gateway.sim.command(f"change route del default via {ROUTER.ip}")
    answer = web.get("/readyz")
    assert (answer.status, answer.text) == (503, "not ready: no default route\n")
    assert web.get("/livez").status == 200


def test_connections_stay_and_requests_are_answered_in_order(web: Web) -> None:
    """RFC 9112 sections 9.3 and 9.3.2: keep-alive and pipelining."""
    last = b"HEAD /metrics HTTP/1.1\r\nHost: box\r\nConnection: close\r\n\r\n"
    answers = web.ask(b"".join(GET.replace(b"livez", path) + b"\r\n" for path in (b"livez", b"readyz", b"no")))
    assert [one.status for one in answers] == [200, 200, 404]
    assert answers[0].text == "alive\n" and answers[1].text == "ready\n"
    [head] = web.ask(last, bare=1)
    assert head.status == 200 and head.fields["content-type"].startswith("text/plain; version=0.0.4")


def test_an_old_client_gets_a_body_that_ends_with_the_connection(web: Web) -> None:
    [answer] = web.ask(b"GET /metrics HTTP/1.0\r\n\r\n")
    assert answer.status == 200 and "transfer-encoding" not in answer.fields and "\nbaregate_" in answer.text


def test_byte_by_byte(web: Web) -> None:
    stream = web.open()
    web.say(stream, GET + b"Connection: close\r\n\r\n", size=1)
    web.wait(0.2)
    [answer] = read_answers(stream.received, stream.ended)
    assert answer.text == "alive\n"


HOSTS = [OWN, OWN + ":80", "box", "BOX", "box.", "box.home.example", "box.home.example:80"]
FOREIGN = ["attacker.example", "192.168.1.2", "192.168.1.1:8080", OUTSIDE, "[2001:db8::1]", "[::1", "box.evil.example",
           "box.home.example.evil.example", "192.168.1.1.evil.example", "boxx", "bo", "3232235777"]


@pytest.mark.parametrize("host", HOSTS)
def test_own_names(web: Web, host: str) -> None:
    assert web.get("/livez", host).status == 200
    assert web.get("/livez", host, more=f"Origin: http://{host}\r\n").status == 200


@pytest.mark.parametrize("host", FOREIGN)
def test_dns_rebinding_is_refused(web: Web, host: str) -> None:
    """RFC 9110 section 7.4, status 421; in an absolute target too, whose host counts (RFC 9112 section 3.2.2)."""
    assert web.get("/livez", host).status == 421
    if "[" not in host:
        assert web.get(f"http://{host}/livez", OWN).status == 421


def test_absolute_targets(web: Web) -> None:
    assert web.get(f"http://{OWN}/livez", "attacker.example").status == 200
    assert web.get(f"HTTP://{OWN}/livez?x").status == 200


@pytest.mark.parametrize("origin", ["http://attacker.example", "null", "https://192.168.1.1", "http://192.168.1.1.x"])
def test_no_other_origin(web: Web, origin: str) -> None:
    assert web.get("/livez", more=f"Origin: {origin}\r\n").status == 403


def test_only_the_inside(web: Web) -> None:
    """A host on the WAN gets no answer at our outer address, nor at the inner one."""
    for address in (OUTSIDE, OWN):
        syn = Ether(src=ROUTER.mac, dst="02:00:00:00:00:02") / IP(src=ROUTER.ip, dst=address) / TCP(dport=80, flags="S")
        assert not [one for one in web.gateway.send(WAN, syn) if TCP in one.frame and one.frame[TCP].flags == "SA"]
    assert web.get("/livez", OUTSIDE, to=OUTSIDE).status == 200  # from inside


def test_only_the_clients(start: Start) -> None:
    web = Web(start(CONFIG + f"http.client {A.ip}/32\nhttp.client 2001:db8::/32\n", "nat"))
    assert web.get("/livez").status == 200
    assert web.open(B).reset and web.gateway.drops() == {"http-client": 1}


def test_pipelined_requests_wait_for_the_client(web: Web) -> None:
    """RFC 9112 section 9.3.2: what the client does not take yet, and so does not ask for yet, is no reason to reset."""
    stream = web.open()
    stream.quiet = True
    for _ in range(50):
        web.say(stream, b"HEAD /livez HTTP/1.1\r\nHost: 192.168.1.1\r\n\r\n")
    web.wait(2, 0.1)
    assert not stream.reset and not stream.received
    stream.quiet = False
    web.wait(8, 0.1)
    assert len(read_answers(stream.received, False, 50)) == 50 and not stream.reset
    assert web.gateway.stats()["http_requests"] == 50 and not web.gateway.drops()


def test_the_last_answer_waits_for_the_client(web: Web) -> None:
    """A connection that closes behind its answer stays until the client has it, a minute at most."""
    stream, lost = web.open(), web.open()
    stream.quiet = lost.quiet = True
    stream.closes = False
    for one in (stream, lost):
        web.say(one, GET + b"Connection: close\r\n\r\n")
    web.wait(5, 0.1)
    stream.quiet = False
    web.wait(3, 0.1)
    assert stream.ended and not stream.reset
    assert read_answers(stream.received, True)[0].text == "alive\n"
    web.wait(3, 0.1)
    assert stream.reset  # the answer is there, and the client does not close
    web.wait(60, 0.5)
    assert web.gateway.stats()["http_connections"] == 0 == web.gateway.stats()["tcp_packets_held"]


# --- limits and times ---------------------------------------------------------------------------


def test_slow_requests_end(web: Web) -> None:
    """A byte now and then does not keep a connection (slow loris); nor does saying nothing."""
    slow, silent = web.open(), web.open()
    web.say(slow, GET)
    for _ in range(9):
        web.say(slow, b"X")
        web.wait(1, 0.5)
        assert not slow.reset
    web.wait(1.5, 0.1)
    assert slow.reset and silent.ended and not silent.reset
    web.wait(2, 0.1)
    assert web.gateway.drops() == {"http-slow": 1} and web.gateway.stats()["http_connections"] == 0


def test_a_client_that_reads_nothing_ends(web: Web) -> None:
    stream = web.open(window=1000)
    stream.quiet = True
    web.say(stream, GET.replace(b"livez", b"metrics") + b"\r\n")
    web.wait(100, 0.5)
    assert web.gateway.stats()["http_connections"] == 0 == web.gateway.stats()["tcp_packets_held"]


def test_connections_of_a_client_are_limited(web: Web) -> None:
    """The oldest one that asks nothing goes; other clients keep theirs."""
    other = web.open(B)
    first = web.open()
    web.wait(0.01)
    more = [web.open() for _ in range(8)]
    assert first.reset and not any(one.reset for one in more)
    web.say(other, GET + b"\r\n")
    web.say(more[0], GET + b"\r\n")
    web.wait()
    for stream in (other, more[0]):
        [answer] = read_answers(stream.received, False)
        assert answer.text == "alive\n"
    assert web.gateway.drops() == {"http-full": 1}


def test_two_thousand_connections(web: Web) -> None:
    for number in range(2000):
        sport = 1024 + number
        sent = web.gateway.send(LAN, Ether(src=A.mac, dst="02:00:00:00:00:01") / IP(src=A.ip, dst=OWN) /
                                TCP(sport=sport, dport=80, flags="S", seq=1))
        [one] = [one.frame for one in sent if TCP in one.frame]
        web.gateway.send(LAN, Ether(src=A.mac, dst="02:00:00:00:00:01") / IP(src=A.ip, dst=OWN) /
                         TCP(sport=sport, dport=80, flags="A", seq=2, ack=one[TCP].seq + 1))
    assert web.gateway.stats()["http_connections"] <= 8
    assert web.get("/livez", client=B).text == "alive\n"


# --- malformed requests -----------------------------------------------------------------------


BAD = {
    "bare-lf": b"GET /livez HTTP/1.1\nHost: 192.168.1.1\n\n",
    "bare-cr": b"GET /livez HTTP/1.1\r\nHost: 192.168.1.1\rX: y\r\n\r\n",
    "no-host": b"GET /livez HTTP/1.1\r\n\r\n",
    "two-hosts": GET + b"Host: 192.168.1.1\r\n\r\n",
    "empty-host": b"GET /livez HTTP/1.1\r\nHost:\r\n\r\n",
    "host-with-path": b"GET /livez HTTP/1.1\r\nHost: 192.168.1.1/x\r\n\r\n",
    "host-with-user": b"GET /livez HTTP/1.1\r\nHost: a@192.168.1.1\r\n\r\n",
    "space-before-colon": b"GET /livez HTTP/1.1\r\nHost : 192.168.1.1\r\n\r\n",
    "folded": GET + b"X: a\r\n b\r\n\r\n",
    "folded-first": b"GET /livez HTTP/1.1\r\n Host: 192.168.1.1\r\n\r\n",
    "no-name": GET + b": x\r\n\r\n",
    "no-colon": GET + b"nonsense\r\n\r\n",
    "nul": GET + b"X: a\0b\r\n\r\n",
    "escape": GET + b"X: \x1b[2J\r\n\r\n",
    "both-lengths": GET + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two-lengths": GET + b"Content-Length: 0\r\nContent-Length: 6\r\n\r\n",
    "length-list": GET + b"Content-Length: 0, 0\r\n\r\n",
    "length-sign": GET + b"Content-Length: +0\r\n\r\n",
    "length-hex": GET + b"Content-Length: 0x10\r\n\r\n",
    "length-empty": GET + b"Content-Length: \r\n\r\n",
    "chunked-old": GET.replace(b"1.1", b"1.0", 1) + b"Transfer-Encoding: chunked\r\n\r\n",
    "two-spaces": b"GET  /livez HTTP/1.1\r\nHost: 192.168.1.1\r\n\r\n",
    "tab": b"GET\t/livez HTTP/1.1\r\nHost: 192.168.1.1\r\n\r\n",
    "no-version": b"GET /livez\r\n\r\n",
    "lower-version": b"GET /livez http/1.1\r\nHost: 192.168.1.1\r\n\r\n",
    "long-version": b"GET /livez HTTP/1.10\r\nHost: 192.168.1.1\r\n\r\n",
    "fragment": b"GET /livez#x HTTP/1.1\r\nHost: 192.168.1.1\r\n\r\n",
    "asterisk": b"GET * HTTP/1.1\r\nHost: 192.168.1.1\r\n\r\n",
    "relative": b"GET livez HTTP/1.1\r\nHost: 192.168.1.1\r\n\r\n",
    "high-bytes": b"GET /\xc3\xa4 HTTP/1.1\r\nHost: 192.168.1.1\r\n\r\n",
    "tls": bytes.fromhex("16030100c8010000c40303") + bytes(50),
    "two-origins": GET + b"Origin: http://192.168.1.1\r\nOrigin: http://192.168.1.1\r\n\r\n",
}
OTHER = {
    "post": (GET.replace(b"GET", b"POST") + b"Content-Length: 4\r\n\r\nabcd", 405),
    "put": (GET.replace(b"GET", b"PUT") + b"\r\n", 405),
    "delete": (GET.replace(b"GET", b"DELETE") + b"\r\n", 405),
    "options": (b"OPTIONS * HTTP/1.1\r\nHost: 192.168.1.1\r\n\r\n", 405),
    "connect": (b"CONNECT 192.0.2.1:443 HTTP/1.1\r\nHost: 192.168.1.1\r\n\r\n", 405),
    "trace": (GET.replace(b"GET", b"TRACE") + b"\r\n", 405),
    "unknown": (GET.replace(b"GET", b"BREW") + b"\r\n", 501),
    "lower": (GET.replace(b"GET", b"get") + b"\r\n", 501),
    "long-method": (b"A" * 3000, 501),
    "http2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 501),
    "version-2": (b"GET /livez HTTP/2.0\r\nHost: 192.168.1.1\r\n\r\n", 505),
    "body": (GET + b"Content-Length: 4\r\n\r\nabcd", 413),
    "chunked": (GET + b"Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n", 413),
    "hidden-coding": (GET + b"Transfer-Encoding: xchunked\r\n\r\n", 413),
    "expect": (GET + b"Expect: 100-continue\r\n\r\n", 417),
    "long-target": (b"GET /" + b"a" * 3000 + b" HTTP/1.1\r\nHost: 192.168.1.1\r\n\r\n", 414),
    "huge-head": (GET + b"X: " + b"a" * 20000, 431),
    "many-fields": (GET + b"X: a\r\n" * 4000, 431),
    "not-found": (GET.replace(b"livez", b"livezx") + b"Connection: close\r\n\r\n", 404),
    "dots": (GET.replace(b"livez", b"../livez") + b"Connection: close\r\n\r\n", 404),
}
SMUGGLED = b"GET /livez HTTP/1.1\r\nHost: 192.168.1.1\r\n\r\n"


@pytest.mark.parametrize("name", BAD)
def test_malformed_requests(web: Web, name: str) -> None:
    """One answer, 400, and the connection ends: what follows is not read as another request."""
    [answer] = web.ask(BAD[name] + SMUGGLED)
    assert answer.status == 400 and answer.fields["connection"] == "close"
    web.wait(0.1)
    assert web.gateway.drops().get("http-bad") == 1 and web.gateway.stats()["http_connections"] == 0


@pytest.mark.parametrize("name", OTHER)
def test_other_requests(web: Web, name: str) -> None:
    data, status = OTHER[name]
    [answer] = web.ask(data + SMUGGLED)
    assert (answer.status, answer.fields["connection"]) == (status, "close")
    assert answer.fields.get("allow") == ("GET, HEAD" if status == 405 else None)


def test_what_is_allowed(web: Web) -> None:
    """An empty line in front, spaces around values, an empty body, unknown fields, long cookies."""
    more = b"X-Y:  a \r\nContent-Length: 0\r\nCookie: " + b"c" * 3000 + b"\r\nconnection:\tclose \r\n\r\n"
    [answer] = web.ask(b"\r\n" + GET + more)
    assert answer.status == 200


def test_an_endless_head_ends(web: Web) -> None:
    stream = web.open()
    web.say(stream, GET)
    for _ in range(40):
        web.put(stream, *stream.give(b"X: " + b"a" * 990 + b"\r\n"))
        web.wait(0.01)
    [answer] = read_answers(stream.received, True)
    assert answer.status == 431 and stream.ended
    web.wait(3, 0.1)
    assert web.gateway.stats()["http_connections"] == 0
