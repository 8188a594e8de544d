# SPDX-License-Identifier: BSD-2-Clause
"""10,000 connections to `serve http` that mean no good, while names are answered and packets are forwarded."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from labkit import lab as net
from labkit.lab import Lab

OWN = net.LAN_GATEWAY
CONFIG = net.NAT + f"serve http\nserve dns\nnameserver {net.WAN_SERVER}\n"
CONNECTIONS = 10_000
CLIENTS = [f"192.168.1.{number}" for number in range(20, 60)]
ECHO = 7007
PACE_S = 0.04
LATE_S = 5.0
SHARE = 0.02  # that a busy machine may lose


@dataclass
class Probe:
    """How many of one kind were sent, and how many came back."""

    sent: int = 0
    good: int = 0

    def fine(self) -> bool:
        return self.sent >= 30 and self.sent - self.good <= self.sent * SHARE


class Watch:
    """Asks for names, and sends datagrams and lines of TCP through the NAT, until it is left."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.names, self.datagrams, self.lines = Probe(), Probe(), Probe()
        self._stop = threading.Event()
        self._wrong: list[BaseException] = []

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        udp, tcp = self.lab.wan.socket(), self.lab.wan.socket(kind=socket.SOCK_STREAM)
        with udp, tcp:
            udp.bind((net.FAR_SERVER, ECHO))
            tcp.bind((net.FAR_SERVER, ECHO))
            tcp.listen()
            for one in (udp, tcp):
                one.settimeout(0.2)
            work = [threading.Thread(target=self._guard, args=(what, *more)) for what, *more in (
                (self._echo_datagrams, udp), (self._echo_lines, tcp), (self._ask,), (self._send_datagrams,),
                (self._send_lines,))]
            for thread in work:
                thread.start()
            try:
                yield
            finally:
                self._stop.set()
                for thread in work:
                    thread.join()
        if self._wrong:
            raise self._wrong[0]

    def _guard(self, what: Callable[..., None], *more: socket.socket) -> None:
        try:
            what(*more)
        except BaseException as error:  # pylint: disable=broad-exception-caught
            self._wrong.append(error)

    def _echo_datagrams(self, server: socket.socket) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                server.sendto(*server.recvfrom(2048))

    def _echo_lines(self, server: socket.socket) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                connection = server.accept()[0]
                with connection:
                    connection.settimeout(LATE_S)
                    while data := connection.recv(2048):
                        connection.sendall(data)

    def _ask(self) -> None:
        """Every other name is new."""
        while not self._stop.is_set():
            name = f"host{self.names.sent // 2}.example.net"
            said = self.lab.lan.run("dig", f"@{OWN}", "+short", "+tries=1", f"+time={LATE_S:.0f}", name, check=False)
            self.names.sent += 1
            self.names.good += said.stdout == "192.0.2.55\n"
            time.sleep(PACE_S)

    def _send_datagrams(self) -> None:
        with self.lab.lan.socket() as client:
            client.connect((net.FAR_SERVER, ECHO))
            client.settimeout(LATE_S)
            while not self._stop.is_set():
                self.datagrams.sent += 1
                client.send(f"datagram {self.datagrams.sent}".encode())
                with contextlib.suppress(TimeoutError):
                    self.datagrams.good += client.recv(100).endswith(b" %d" % self.datagrams.sent)
                time.sleep(PACE_S)

    def _send_lines(self) -> None:
        """A new connection for each ten lines."""
        while not self._stop.is_set():
            with self.lab.lan.socket(kind=socket.SOCK_STREAM) as client:
                client.settimeout(LATE_S)
                self.lines.sent += 10
                with contextlib.suppress(OSError):
                    client.connect((net.FAR_SERVER, ECHO))
                    for number in range(10):
                        client.sendall(f"line {number}".encode())
                        self.lines.good += client.recv(100) == f"line {number}".encode()
                        time.sleep(PACE_S)


def slow_heads(lab: Lab) -> list[str]:
    """How connections end whose head never does, a byte each half a second; the longest that one lasts is 10 s."""
    clients = [lab.lan.socket(kind=socket.SOCK_STREAM) for _ in range(4)]
    ends: dict[socket.socket, str] = {}
    for client in clients:
        client.settimeout(LATE_S)
        client.connect((OWN, 80))
        client.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        client.settimeout(0.01)
    end = time.monotonic() + 14
    while len(ends) < len(clients) and time.monotonic() < end:
        for client in clients:
            if client in ends:
                continue
            try:
                client.send(b"y")
                ends[client] = client.recv(2048)[:12].decode() or "closed"
            except TimeoutError:
                pass
            except OSError:
                ends[client] = "reset"
        time.sleep(0.4)
    for client in clients:
        client.close()
    return sorted(ends.values())


def long_head(lab: Lab) -> str:
    """How the server answers a head that is too long, when it has time for it."""
    with lab.lan.socket(kind=socket.SOCK_STREAM) as client:
        client.settimeout(LATE_S)
        client.connect((OWN, 80))
        client.sendall(b"GET / HTTP/1.1\r\nHost: " + OWN.encode() + b"\r\nX-Long: " + b"y" * 9000)
        return client.recv(2048)[:12].decode()


@pytest.mark.one_card
def test_ten_thousand_connections(nic: str, make_lab: Callable[..., Lab]) -> None:
    """Names are answered and packets forwarded all the time; the counters say what was refused; then the page answers
    and nothing is kept."""
    lab = make_lab((nic, nic))
    for address in CLIENTS:
        lab.lan.ip(f"address add {address}/24 dev lan0")
    lab.wan.start("dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
                  "--user=root", "--pid-file", "--bind-interfaces", f"--listen-address={net.WAN_SERVER}",
                  "--address=/example.net/192.0.2.55")
    lab.wan.wait_port(53, "udp")
    lab.boot(CONFIG)
    lab.wait_ping()
    free, before = lab.packets_free(), lab.console.stats()
    watch = Watch(lab)
    with watch.running():
        began = time.monotonic()
        said = lab.lan.run(sys.executable, str(Path(__file__).with_name("httpflood.py")), OWN, str(CONNECTIONS), "lan0",
                           net.GATEWAY_MACS[0], *CLIENTS, timeout=120).stdout
        took = time.monotonic() - began
    ends, long = slow_heads(lab), long_head(lab)
    stats = lab.console.stats()
    grown = {name: value - before.get(name, 0) for name, value in stats.items() if value != before.get(name, 0)}
    print(said, f"{took:.1f} s", ends, watch.names, watch.datagrams, watch.lines, grown, sep="\n")
    flood = json.loads(said)
    assert flood["opened"] == CONNECTIONS and flood["ends"].get("whole: HTTP/1.1 200", 0) > 0
    assert watch.names.fine() and watch.datagrams.fine() and watch.lines.fine(), vars(watch)
    assert len(ends) == 4 and long == "HTTP/1.1 431"
    for name in ('drop{reason="http-full"}', 'drop{reason="http-slow"}', 'drop{reason="http-bad"}',
                 "http_errors", "tcp_cookies_sent"):
        assert grown.get(name, 0) > 0, grown
    page = lab.lan.run("curl", "--silent", "--show-error", "--fail", "--max-time", "10", f"http://{OWN}/").stdout
    assert page.rstrip().endswith("</html>")
    lab.check_no_leak(free, 5)
