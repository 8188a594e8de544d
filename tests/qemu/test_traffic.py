# SPDX-License-Identifier: BSD-2-Clause
"""Real programs through the NAT: the typical use of the gateway."""

import hashlib
import json
import random
import re
import selectors
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import dns.message
import dns.query
import dns.rdatatype
import pytest
from labkit import lab as net
from labkit.lab import Lab
from labkit.wait import until

pytestmark = pytest.mark.traffic

_CONNECTIONS = 200


def test_ping(gateway: Lab) -> None:
    """The gateway answers on both sides, and echoes of any size that fits pass through it."""
    gateway.lan.run("ping", "-n", "-c3", "-i0.2", "-W2", net.LAN_GATEWAY)
    gateway.wan.run("ping", "-n", "-c3", "-i0.2", "-W2", net.WAN_GATEWAY)
    for size in (0, 1, 56, 57, 1471, 1472):
        result = gateway.lan.run("ping", "-n", "-c2", "-i0.2", "-W2", "-M", "do", "-s", str(size), net.FAR_SERVER)
        assert " 2 received" in result.stdout


def test_private_address_stays_inside(gateway: Lab) -> None:
    """Packets that the server sees come from the gateway's address."""
    with gateway.wan.socket() as server, gateway.lan.socket() as client:
        server.bind((net.FAR_SERVER, 5000))
        server.settimeout(5)
        client.settimeout(5)
        client.sendto(b"who am I", (net.FAR_SERVER, 5000))
        data, source = server.recvfrom(100)
        assert (data, source[0]) == (b"who am I", net.WAN_GATEWAY)
        server.sendto(b"you are", source)
        assert client.recvfrom(100) == (b"you are", (net.FAR_SERVER, 5000))


def test_curl_50_megabytes(gateway: Lab, tmp_path: Path) -> None:
    """A file arrives unchanged."""
    content = random.Random(50).randbytes(50 << 20)
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "file").write_bytes(content)
    copy = tmp_path / "copy"
    with gateway.web_server(str(tmp_path / "www")) as log:
        gateway.lan.run("curl", "-sSf", "-o", str(copy), f"http://{net.FAR_SERVER}/file", timeout=90)
        request = until(lambda: [line for line in Path(log).read_text().splitlines() if "GET /file" in line], 5,
                        "the request in the server's log")
    assert hashlib.sha256(copy.read_bytes()).digest() == hashlib.sha256(content).digest()
    assert request[0].startswith(net.WAN_GATEWAY + " ")


def _iperf3(lab: Lab, *options: str) -> dict[str, dict[str, float]]:
    """The `end` part of iperf3's report."""
    server = lab.wan.start("iperf3", "-s", "-1", "-B", net.FAR_SERVER)
    lab.wan.wait_port(5201)
    result = lab.lan.run("iperf3", "-J", "-c", net.FAR_SERVER, "-t2", *options, timeout=40, check=False)
    report = json.loads(result.stdout)
    assert "error" not in report, report["error"]
    server.wait(10)
    end: dict[str, dict[str, float]] = report["end"]
    return end


@pytest.mark.parametrize("direction", ["up", "down"])
def test_iperf3_tcp(gateway: Lab, direction: str, record_property: Callable[[str, object], None]) -> None:
    """Bulk TCP flows."""
    end = _iperf3(gateway, *(["-R"] if direction == "down" else []))
    rate = end["sum_received"]["bits_per_second"]
    record_property("mbit_per_s", round(rate / 1e6))
    assert rate > net.FLOWS


def test_iperf3_udp(gateway: Lab, record_property: Callable[[str, object], None]) -> None:
    """10 Mbit/s of full-size UDP datagrams; nearly all arrive."""
    end = _iperf3(gateway, "-u", "-b10M", "-l1472")
    lost = end["sum"]["lost_percent"]
    record_property("lost_percent", lost)
    assert end["sum"]["packets"] > 1000
    # A busy host may stop QEMU for longer than the tap's queue of 1000 frames can bridge.
    assert lost < 10


def _serve_upper(listener: socket.socket, stop: threading.Event) -> None:
    """Answers each connection's bytes in upper case until `stop`."""
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    while not stop.is_set():
        for key, _ in selector.select(0.1):
            if key.fileobj is listener:
                selector.register(listener.accept()[0], selectors.EVENT_READ)
                continue
            connection = key.fileobj
            assert isinstance(connection, socket.socket)
            data = connection.recv(65536)
            if data:
                connection.sendall(data.upper())
            else:
                selector.unregister(connection)
                connection.close()
    selector.close()


def test_200_parallel_connections(gateway: Lab) -> None:
    """200 TCP connections are open at once, and each gets its own answer."""
    stop = threading.Event()
    clients: list[socket.socket] = []
    with gateway.wan.socket(kind=socket.SOCK_STREAM) as listener:
        listener.bind((net.FAR_SERVER, 7000))
        listener.listen(_CONNECTIONS)
        server = threading.Thread(target=_serve_upper, args=(listener, stop))
        server.start()
        try:
            for _ in range(_CONNECTIONS):
                client = gateway.lan.socket(kind=socket.SOCK_STREAM)
                clients.append(client)
                client.settimeout(20)
                client.connect((net.FAR_SERVER, 7000))
            if gateway.machine is not None:
                assert gateway.console.stats()["nat_sessions"] >= _CONNECTIONS
            for number, client in enumerate(clients):
                client.sendall(f"connection {number} of many;".encode() * 20)
            for number, client in enumerate(clients):
                wanted = f"CONNECTION {number} OF MANY;".encode() * 20
                got = b""
                while len(got) < len(wanted):
                    piece = client.recv(65536)
                    assert piece, f"connection {number} ended early"
                    got += piece
                assert got == wanted
        finally:
            for client in clients:
                client.close()
            stop.set()
            server.join()


def test_dns(gateway: Lab) -> None:
    """50 queries over UDP, each from its own port, and one over TCP, to a real name server."""
    gateway.wan.start("dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
                      "--user=root", "--pid-file", "--bind-interfaces", f"--listen-address={net.FAR_SERVER}",
                      "--address=/example.net/192.0.2.55", "--txt-record=big.example.org," + ",".join(["x" * 200] * 5))
    gateway.wan.wait_port(53, "udp")
    with gateway.lan.entered():
        for number in range(50):
            question = dns.message.make_query(f"host{number}.example.net", dns.rdatatype.A)
            answer = dns.query.udp(question, net.FAR_SERVER, timeout=5)
            assert answer.answer[0][0].to_text() == "192.0.2.55"
        question = dns.message.make_query("big.example.org", dns.rdatatype.TXT)
        assert len(dns.query.tcp(question, net.FAR_SERVER, timeout=5).answer[0][0].strings) == 5


@pytest.mark.parametrize("method", ["udp", "icmp", "tcp"])
def test_traceroute(gateway: Lab, method: str) -> None:
    """The gateway is the first hop, with its LAN address; the server is the second and last."""
    option = {"udp": [], "icmp": ["-I"], "tcp": ["-T", "-p", "99"]}[method]
    result = gateway.lan.run("traceroute", "-n", "-q1", "-w3", *option, net.FAR_SERVER)
    hops = re.findall(r"^ *(\d+) +(\S+)", result.stdout.split("\n", 1)[1], re.MULTILINE)
    assert hops == [("1", net.LAN_GATEWAY), ("2", net.FAR_SERVER)], result.stdout


def test_port_unreachable(gateway: Lab) -> None:
    """An ICMP error about a translated packet reaches the right program inside."""
    with gateway.lan.socket() as client:
        client.connect((net.FAR_SERVER, 9))
        client.settimeout(5)
        client.send(b"anyone there?")
        with pytest.raises(ConnectionRefusedError):
            client.recv(100)


def test_outside_cannot_start(gateway: Lab) -> None:
    """A packet from a stranger to a port that is mapped for another server does not pass (address-dependent
    filtering)."""
    with gateway.wan.socket() as server, gateway.wan.socket() as stranger, gateway.lan.socket() as client:
        server.bind((net.FAR_SERVER, 5000))
        stranger.bind((net.WAN_SERVER, 5001))
        server.settimeout(5)
        client.settimeout(5)
        client.sendto(b"hello", (net.FAR_SERVER, 5000))
        _, mapped = server.recvfrom(100)
        stranger.sendto(b"intruder", mapped)
        # The server's answer comes after the intruder's packet, on the same path: order is kept.
        server.sendto(b"answer", mapped)
        assert client.recv(100) == b"answer"
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.recv(100)


def test_server_sends_first(gateway: Lab) -> None:
    """Either end may send first, close its half, and continue in the other direction."""
    with gateway.wan.socket(kind=socket.SOCK_STREAM) as listener, \
            gateway.lan.socket(kind=socket.SOCK_STREAM) as client:
        listener.bind((net.FAR_SERVER, 22))
        listener.listen()
        client.settimeout(5)
        client.connect((net.FAR_SERVER, 22))
        peer, address = listener.accept()
        with peer:
            peer.settimeout(5)
            assert address[0] == net.WAN_GATEWAY
            peer.sendall(b"SSH-2.0-server\r\n")
            assert client.recv(100) == b"SSH-2.0-server\r\n"
            client.sendall(b"last words")
            client.shutdown(socket.SHUT_WR)
            assert peer.recv(100) == b"last words"
            assert peer.recv(100) == b""
            peer.sendall(b"still talking")
            assert client.recv(100) == b"still talking"

