# SPDX-License-Identifier: BSD-2-Clause
"""Bulk TCP where the host hands over super-segments: taps with offloads, and cards that take them or not."""

import hashlib
import socket
import threading
from collections.abc import Callable

import pytest
from labkit import lab as net
from labkit.lab import Lab
from labkit.wait import until

CARDS = [("virtio", "virtio"), ("virtio", "e1000"), ("e1000", "virtio")]
BLOCK = bytes(range(256)) * 4096  # 1 MB
PORT = 5001


def sent(connection: socket.socket, megabytes: int) -> str:
    """Sends blocks that are all different, and gives their digest."""
    digest = hashlib.sha256()
    for number in range(megabytes):
        block = number.to_bytes(8, "big") + BLOCK[8:]
        digest.update(block)
        connection.sendall(block)
    connection.shutdown(socket.SHUT_WR)
    return digest.hexdigest()


def received(connection: socket.socket) -> str:
    digest = hashlib.sha256()
    while data := connection.recv(1 << 20):
        digest.update(data)
    return digest.hexdigest()


def transfer(lab: Lab, megabytes: int, up: bool, timeout: float) -> None:
    """One connection from the LAN, over which one side sends; the bytes arrive unchanged."""
    found: dict[str, str] = {}
    with lab.wan.socket(kind=socket.SOCK_STREAM) as listener, lab.lan.socket(kind=socket.SOCK_STREAM) as client:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((net.FAR_SERVER, PORT))
        listener.listen(1)
        listener.settimeout(10)
        client.settimeout(timeout)
        client.connect((net.FAR_SERVER, PORT))
        server, _ = listener.accept()
        with server:
            server.settimeout(timeout)
            sender, receiver = (client, server) if up else (server, client)
            reader = threading.Thread(target=lambda: found.update(got=received(receiver)), daemon=True)
            reader.start()
            expected = sent(sender, megabytes)
            reader.join(timeout)
    assert found.get("got") == expected


def boot(make_lab: Callable[..., Lab], cards: tuple[str, str], lines: str = "") -> tuple[Lab, int]:
    lab = make_lab(cards, vnet_hdr=True)
    lab.boot(net.NAT + lines, app="nat")
    free = lab.packets_free()
    lab.wait_ping()
    return lab, free


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
@pytest.mark.parametrize("cards", CARDS, ids="-".join)
def test_what_arrives_is_what_was_sent(make_lab: Callable[..., Lab], cards: tuple[str, str], up: bool) -> None:
    lab, free = boot(make_lab, cards)
    transfer(lab, 64, up, 60)
    assert not lab.console.stats().get('drop{reason="offload"}', 0)
    lab.check_no_leak(free)


@pytest.mark.long
@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
@pytest.mark.parametrize("cards", CARDS, ids="-".join)
def test_gigabyte(make_lab: Callable[..., Lab], cards: tuple[str, str], up: bool) -> None:
    lab, free = boot(make_lab, cards)
    transfer(lab, 1024, up, 300)
    lab.check_no_leak(free)


@pytest.mark.long
@pytest.mark.parametrize("side", ["lan", "wan"])
def test_small_mtu_on_one_side(make_lab: Callable[..., Lab], side: str) -> None:
    """The senders find the smaller MTU; segments that do not fit are never sent."""
    lab, free = boot(make_lab, ("virtio", "virtio"), f"{side}.mtu 1280\n")
    for up in (True, False):
        transfer(lab, 32, up, 120)
    lab.check_no_leak(free)


@pytest.mark.long
def test_restart_while_it_runs(make_lab: Callable[..., Lab]) -> None:
    """A gateway that starts again in the middle of a transfer forwards super-segments again."""
    lab, _ = boot(make_lab, ("virtio", "virtio"))
    with lab.wan.socket(kind=socket.SOCK_STREAM) as listener, lab.lan.socket(kind=socket.SOCK_STREAM) as client:
        listener.bind((net.FAR_SERVER, PORT + 1))
        listener.listen(1)
        client.settimeout(10)
        client.connect((net.FAR_SERVER, PORT + 1))
        server, _ = listener.accept()
        with server:
            stop = threading.Event()

            def flood() -> None:
                while not stop.is_set():
                    try:
                        client.send(BLOCK)
                    except (TimeoutError, OSError):
                        return

            def drain() -> None:
                try:
                    while server.recv(1 << 20):
                        pass
                except OSError:
                    pass

            threads = [threading.Thread(target=flood, daemon=True), threading.Thread(target=drain, daemon=True)]
            for thread in threads:
                thread.start()
            until(lambda: lab.console.stats()['rx_packets{if="lan"}'] > 1000, 20, "traffic")
            assert lab.machine
            lab.machine.qmp("system_reset")
            lab.machine.wait_ready("nat")
            stop.set()
    lab.wait_ping()
    transfer(lab, 32, True, 60)
    transfer(lab, 32, False, 60)
