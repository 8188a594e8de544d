# SPDX-License-Identifier: BSD-2-Clause
"""Configuration from outside: errors are reported, and a gateway with an invalid configuration forwards nothing."""

from collections.abc import Callable

import pytest
from frames import Wire
from labkit import lab as net
from labkit.lab import Lab
from scapy.layers.l2 import ARP, Ether

# The file, the command line, and what the gateway must print on COM1.
_WRONG = {
    "unknown key": (net.NAT + "lan.adress 10.0.0.1/8\n", "", r"gateway\.conf:7: .*lan\.address"),
    "bad address": ("app nat\nlan.address 192.168.1.300/24\n", "", r"gateway\.conf:2: .*\S"),
    "bad number": (net.NAT + "nat.sessions many\n", "", r"gateway\.conf:7: .*\S"),
    "value outside its range": (net.NAT + "# a comment counts as a line\nwan.mtu 9000\n", "",
                                r"gateway\.conf:8: .*1500"),
    "key given twice": (net.NAT + "gateway 203.0.113.3\nwan.mtu 1400\nwan.mtu 1500\n", "",
                        r"gateway\.conf:9: .*wan\.mtu"),
    "unknown application": ("app nut\n" + net.NETWORK, "", r"gateway\.conf:1: .*nat"),
    "missing key": ("app nat\nlan.address 192.168.1.1/24\n", "", r"gateway\.conf: .*wan\.address"),
    "unknown key of the command line": (net.NETWORK, "app=nat nat.sesions=500", r"command line: .*nat\.sessions"),
    "bad value of the command line": (net.NETWORK, "app=nat nat.filtering=maybe", r"command line: .*nat\.filtering"),
}


@pytest.mark.parametrize("case", _WRONG)
def test_wrong(nic: str, make_lab: Callable[..., Lab], case: str) -> None:
    """The error is on COM1 and on the screen with its place; the gateway sends and forwards nothing."""
    conf, append, message = _WRONG[case]
    lab = make_lab((nic, nic))
    with Wire(lab.lan, "lan0") as lan, Wire(lab.wan, "wan0") as wan:
        machine = lab.start(conf, append)
        line = machine.console.expect(rf"^{message}.*$").group(0).strip()
        machine.wait_screen(line[:40].strip())
        for _ in range(3):
            lan.send(Ether(src=net.LAN_HOST_MAC, dst="ff:ff:ff:ff:ff:ff") /
                     ARP(op=1, hwsrc=net.LAN_HOST_MAC, psrc=net.LAN_HOST, pdst=net.LAN_GATEWAY))
        assert lab.lan.run("ping", "-n", "-c2", "-W1", net.FAR_SERVER, check=False).returncode != 0
        assert (lan.drain(), wan.drain()) == ([], [])
        assert "ready app=" not in machine.console.text


def test_comments_case_and_spaces(make_lab: Callable[..., Lab]) -> None:
    """Comments of both kinds anywhere, empty lines, tabs, CR LF, no newline at the end."""
    conf = ("# head\r\n\r\napp\tnat // which\r\n   lan   nic0\r\nwan nic1 # outside\r\n"
            "lan.address 192.168.1.1/24\nwan.address 203.0.113.2/24\ngateway 203.0.113.1\n"
            "wan.mtu 1400")
    lab = make_lab()
    lab.boot(conf, app="nat")
    lab.wait_ping()
    assert "wan.mtu 1400" in lab.console.command("config")


def test_command_line_has_precedence(make_lab: Callable[..., Lab]) -> None:
    """The command line overrides the file's value, `+` is a space, a word without = is ignored."""
    lab = make_lab()
    lab.boot(net.NAT + "neighbour 192.168.1.50 02:00:00:00:00:50\nhostname filename\n",
             "quiet neighbour=192.168.1.60+02:00:00:00:00:60 hostname=linename wan.mtu=1300", app="nat")
    config = lab.console.command("config").splitlines()
    assert "hostname linename" in config
    assert "wan.mtu 1300" in config
    assert [line for line in config if line.startswith("neighbour ")] == ["neighbour 192.168.1.60 02:00:00:00:00:60"]
    assert "quiet" in lab.console.command("log")


def test_two_modules(make_lab: Callable[..., Lab]) -> None:
    """Every module is configuration text; modules are read in order."""
    lab = make_lab()
    second = lab.file("more.conf", "wan.address 203.0.113.2/24\ngateway 203.0.113.1\napp nat\n")
    lab.boot("lan.address 192.168.1.1/24\n", modules=[second], app="nat")
    lab.wait_ping()


def test_config_can_be_loaded(make_lab: Callable[..., Lab]) -> None:
    """`config` prints a file that configures the same gateway."""
    lab = make_lab()
    lab.boot(net.NAT + "nat.udp-timeout 123\nnat.filtering endpoint-independent\nroute 10.0.0.0/8 via 203.0.113.9\n")
    first = lab.console.command("config")
    assert "nat.udp-timeout 123" in first.splitlines()
    lab.boot(first, app="nat")
    lab.wait_ping()
    assert lab.console.command("config") == first


def test_interfaces_by_mac_address(make_lab: Callable[..., Lab]) -> None:
    """`lan` and `wan` may name a NIC by its MAC address, also in the other order."""
    lab = make_lab()
    lab.lan.ip("address flush dev lan0")
    lab.wan.ip("address flush dev wan0")
    # The cables stay; the interfaces exchange their roles.
    lab.wan.ip(f"address add {net.LAN_HOST}/24 dev wan0")
    lab.lan.ip(f"address add {net.WAN_SERVER}/24 dev lan0")
    conf = net.NAT.replace("lan nic0", f"lan {net.GATEWAY_MACS[1]}").replace("wan nic1", f"wan {net.GATEWAY_MACS[0]}")
    lab.boot(conf, app="nat")
    for line, mac in zip(lab.console.command("interfaces").splitlines()[:2], reversed(net.GATEWAY_MACS[:2])):
        assert mac in line
    result = lab.wan.run("ping", "-n", "-c5", "-W2", net.LAN_GATEWAY, check=False)
    assert " 0 received" not in result.stdout


@pytest.mark.parametrize("model", [None, "e1000"])
def test_too_few_nics(make_lab: Callable[..., Lab], model: str | None) -> None:
    """No NIC, or one where two are needed: a clear line on COM1 and in the menu, no forwarding."""
    lab = make_lab([] if model is None else [model])
    machine = lab.start(net.NAT)
    missing = "nic0" if model is None else "nic1"
    machine.console.expect(rf"^.*\b{missing}\b.*$")
    machine.wait_screen(missing)
    assert "ready app=" not in machine.console.text


def test_nic_disappeared(make_lab: Callable[..., Lab]) -> None:
    """A configuration that names a missing NIC by its MAC address is reported, and the gateway forwards nothing."""
    lab = make_lab()
    machine = lab.start(net.NAT.replace("wan nic1", "wan 52:54:00:aa:bb:cc"))
    machine.console.expect(r"^.*52:54:00:aa:bb:cc.*$")
    machine.wait_screen("52:54:00:aa:bb:cc")
    assert "ready app=" not in machine.console.text
    assert lab.lan.run("ping", "-n", "-c2", "-W1", net.FAR_SERVER, check=False).returncode != 0
