# SPDX-License-Identifier: BSD-2-Clause
"""More than two cards: several inside networks behind one gateway; and interfaces that cannot be as configured."""

import os
import socket
from collections.abc import Callable

import pytest
from labkit import ivilab
from labkit import lab as net
from labkit.lab import Lab, inside_host
from labkit.sixlab import global_address, open_ipv6
from labkit.wait import until

_MIXED = ("e1000", "virtio") * 4
# Each boot with eight cards takes seconds; one kind is enough, unless all is to be run.
_ALL = os.environ.get("ATTACKS") == "all"
_EIGHT = [(models, memory) for models in ("mixed", "e1000", "virtio") for memory in (16, 32)][:None if _ALL else 1]


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


@pytest.mark.one_card
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


@pytest.mark.parametrize("models,memory", _EIGHT)
def test_eight_cards_nat(make_lab: Callable[..., Lab], models: str, memory: int) -> None:
    """Seven inside networks, also with little memory: every ring has packets, every interrupt wakes the processor."""
    lab = make_lab(_MIXED if models == "mixed" else (models,) * 8)
    lab.boot(net.NAT + net.more_networks(8) + "nat.sessions 10000\n", app="nat", memory=memory)
    free = lab.packets_free()
    _check_nat(lab)
    stats = lab.console.stats()
    for name in ("lan", "wan", *(f"lan{number}" for number in range(2, 8))):
        assert stats[f'rx_packets{{if="{name}"}}'] >= 10, name
        assert stats[f'tx_packets{{if="{name}"}}'] >= 10, name
    lost = {name: value for name, value in stats.items() if value and name.startswith(("rx_no_packet", "rx_missed"))}
    assert not lost
    lab.check_no_leak(free, 5)


def _device(lab: Lab, number: int) -> str:
    return "lan0" if number == 1 else lab.inside[number - 1].role


def _ping6(lab: Lab, number: int, target: str) -> None:
    host = lab.inside[number - 1]
    until(lambda: host.run("ping", "-6", "-n", "-c1", "-W1", target, check=False).returncode == 0, 20,
          f"{host.role}: echo reply from {target}")


@pytest.mark.parametrize("cards", [3, 8] if _ALL else [3])
def test_6to4_on_each_network(make_lab: Callable[..., Lab], cards: int) -> None:
    """Each inside host makes itself an address in a /64 of its own, and reaches the next one over IPv6."""
    lab = make_lab(_MIXED[:cards])
    for number, host in enumerate(lab.inside, 1):
        open_ipv6(host, _device(lab, number))
    lab.boot("app 6to4\n" + net.NETWORK + net.more_networks(cards), app="6to4")
    address = []
    for number, host in enumerate(lab.inside, 1):
        until(lambda: global_address(host, _device(lab, number)), 30, f"{host.role}: an address")
        address.append(global_address(host, _device(lab, number)))
        assert address[-1].startswith(f"2002:cb00:7102:{number}:")
        assert "default via fe80:" in host.ip("-6 route show default")
    for number in range(1, cards):
        _ping6(lab, number, address[number % len(address)])
    assert not any(name.startswith("tunnel") and value for name, value in lab.console.stats().items()
                   if name in ("tunnel_out", "tunnel_in"))


@pytest.mark.parametrize("cards", [3, 8] if _ALL else [3])
def test_ivi_on_each_network(make_lab: Callable[..., Lab], cards: int) -> None:
    """Each inside network has a part of the IPv4 addresses. Its hosts learn route and prefix from advertisements, reach
    IPv4 translated, and each other without translation."""
    lab = make_lab(_MIXED[:cards])
    conf = ivilab.configuration("rfc6052").replace(f"{ivilab.v6(ivilab.ROUTER4, 'rfc6052')}/120",
                                                   f"{ivilab.v6('192.0.2.1', 'rfc6052')}/124")
    conf += net.more_networks(cards, address=False)
    for number in range(2, cards):
        conf += f"lan{number}.address {ivilab.v6(f'192.0.2.{number * 16 + 1}', 'rfc6052')}/124\n"
    lab.wan.ip(f"route add {ivilab.HOSTS4} via {net.WAN_GATEWAY}")
    for number, host in enumerate(lab.inside, 1):
        open_ipv6(host, _device(lab, number))
    lab.boot(conf, app="ivi")
    address = []
    for number, host in enumerate(lab.inside, 1):
        address.append(ivilab.v6(f"192.0.2.{(number * 16 if number > 1 else 0) + 2}", "rfc6052"))
        host.ip(f"-6 address add {address[-1]}/128 dev {_device(lab, number)} nodad")
        until(lambda: "default via fe80:" in host.ip("-6 route show default"), 30, f"{host.role}: a route")
        routes = host.ip(f"-6 route show dev {_device(lab, number)}")
        assert any("/124 proto kernel" in line and "expires" in line for line in routes.splitlines()), routes
    for number in range(1, cards):
        _ping6(lab, number, ivilab.v6(net.FAR_SERVER, "rfc6052"))
        before = lab.console.stats()
        _ping6(lab, number, address[number % len(address)])
        after = lab.console.stats()
        assert all(after[name] == before[name] for name in after if name.startswith("ivi_translated"))
        # The other way: an IPv4 host reaches the IPv6 host.
        target = f"192.0.2.{(number * 16 if number > 1 else 0) + 2}"
        assert " 0% packet loss" in lab.wan.run("ping", "-n", "-c2", "-i0.1", "-W2", target).stdout


# The number of cards, the lines added to a configuration of `lan` and `wan`, and the line that the gateway prints.
_WRONG = {
    "a card that is not there": (2, "lan2 nic2\nlan2.address 192.168.2.1/24\n",
                                 r"gateway\.conf:7: lan2: there is no nic2; only 2 network cards were found"),
    "a MAC address that is not there": (3, "lan2 52:54:00:aa:bb:cc\n",
                                        r"gateway\.conf:7: lan2: no network card has the address 52:54:00:aa:bb:cc"),
    "the same card, by index and by MAC": (3, f"# second\nlan2 {net.GATEWAY_MACS[0]}\n",
                                           r"gateway\.conf:8: lan and lan2 name the same NIC"),
}


@pytest.mark.parametrize("case", _WRONG)
def test_card_cannot_be_used(make_lab: Callable[..., Lab], case: str) -> None:
    """One clear line with its place, on COM1 and in the menu; the menu starts what needs no third card."""
    cards, lines, message = _WRONG[case]
    lab = make_lab(("e1000",) * cards)
    machine = lab.start(net.NAT + lines)
    line = machine.console.expect(rf"^\S+ {message}$").group(0).split(" ", 1)[1].strip()
    machine.wait_screen(line[:60])
    assert "ready app=" not in machine.console.text
    machine.press("down", "ret")  # another application is refused for the same reason
    machine.console.expect(rf"^\S+ {message}$")
    machine.press("r")
    machine.console.expect(r"^\S+ Baregate on")
