# SPDX-License-Identifier: BSD-2-Clause
"""More than two cards: several inside networks behind one gateway; and interfaces that cannot be as configured."""

import socket
from collections.abc import Callable

import pytest
from labkit import lab as net
from labkit.lab import Lab, inside_host

_MIXED = ("e1000", "virtio") * 4


def _fetch(lab: Lab, host: int, url: str) -> bytes:
    return lab.inside[host].run("curl", "--silent", "--show-error", "--fail", "--max-time", "30", url).stdout.encode()


def _check_nat(lab: Lab) -> None:
    """Each inside host fetches from the WAN under the gateway's address, and from the next one under its own."""
    for number, host in enumerate(lab.inside, 1):
        lab.wait_ping(host=host)
    directory = lab.file("index.html", "hello\n").rsplit("/", 1)[0]
    with lab.web_server(directory) as log:
        for number in range(len(lab.inside)):
            assert _fetch(lab, number, f"http://{net.FAR_SERVER}/index.html") == b"hello\n"
        with open(log, encoding="utf-8") as file:
            seen = [line.split()[0] for line in file if "GET" in line]
    assert seen == [net.WAN_GATEWAY] * len(lab.inside)
    for number, host in enumerate(lab.inside, 1):
        after = number % len(lab.inside) + 1
        if after == number:
            continue
        said = host.run("ping", "-n", "-c3", "-i0.01", "-W2", inside_host(after)).stdout
        assert " 0% packet loss" in said and f"from {inside_host(after)}" in said


def test_three_cards_nat(nic: str, make_lab: Callable[..., Lab]) -> None:
    """Two inside networks: NAT outward, plain forwarding between them with the hosts' own addresses."""
    lab = make_lab((nic,) * 3)
    lab.boot(net.NAT + net.more_networks(3), app="nat")
    free = lab.packets_free()
    _check_nat(lab)
    with lab.inside[1].socket(kind=socket.SOCK_STREAM) as server, lab.lan.socket(kind=socket.SOCK_STREAM) as client:
        server.bind((inside_host(2), 80))
        server.listen()
        client.settimeout(10)
        client.connect((inside_host(2), 80))
        accepted, peer = server.accept()
        with accepted:
            assert peer == client.getsockname() and peer[0] == inside_host(1)
    listed = lab.console.command("interfaces")
    assert [line.split()[0] for line in listed.splitlines() if line[:3] in ("lan", "wan")] == ["lan", "wan", "lan2"]
    lab.check_no_leak(free, 5)


@pytest.mark.parametrize("memory", [32, 16])
@pytest.mark.parametrize("models", ["e1000", "virtio", "mixed"])
def test_eight_cards_nat(make_lab: Callable[..., Lab], models: str, memory: int) -> None:
    """Seven inside networks, also with little memory: every ring has packets, every interrupt wakes the processor."""
    lab = make_lab(_MIXED if models == "mixed" else (models,) * 8)
    lab.boot(net.NAT + net.more_networks(8) + "nat.sessions 1000\n", app="nat", memory=memory)
    free = lab.packets_free()
    _check_nat(lab)
    stats = lab.console.stats()
    for name in ("lan", "wan", *(f"lan{number}" for number in range(2, 8))):
        assert stats[f'rx_packets{{if="{name}"}}'] >= 10, name
        assert stats[f'tx_packets{{if="{name}"}}'] >= 10, name
    lost = {name: value for name, value in stats.items() if value and name.startswith(("rx_no_packet", "rx_missed"))}
    assert not lost
    lab.check_no_leak(free, 5)
