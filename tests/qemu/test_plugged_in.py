# SPDX-License-Identifier: BSD-2-Clause
"""A gateway that nobody has configured: a modem on one side, a switch on the other."""

import os
import re
from collections.abc import Callable

import pytest
from labkit import lab as net
from labkit.dhcplab import Dnsmasq
from labkit.lab import Lab
from labkit.wait import until

NAME = "www.lab.test"
SCRIPT = """\
#!/bin/sh
[ "$1" = bound ] || exit 0
env | sort > {seen}
ip address replace "$ip/$subnet" dev lan0
ip route replace default via "$router"
"""


def plugged(lab: Lab) -> dict[str, str]:
    """Configures the LAN host by DHCP alone; gives what it was told."""
    lab.lan.ip("address flush dev lan0")
    seen = os.path.join(lab.directory, "seen")
    script = lab.file("script", SCRIPT.format(seen=seen))
    os.chmod(script, 0o755)
    lab.lan.run("busybox", "udhcpc", "-i", "lan0", "-n", "-q", "-f", "-s", script, "-x", "hostname:tv", timeout=30)
    with open(seen, encoding="utf-8") as file:
        return dict(line.rstrip("\n").partition("=")[::2] for line in file)


def dig(lab: Lab, server: str, name: str) -> str:
    return lab.lan.run("dig", "+short", "+tries=3", "+time=3", f"@{server}", name, check=False).stdout.strip()


@pytest.mark.one_card
def test_no_file_at_all(nic: str, make_lab: Callable[..., Lab]) -> None:
    """The menu's first entry is a router. The LAN has addresses before the WAN has one; then hosts reach servers by
    name."""
    lab = make_lab((nic, nic))
    machine = lab.start(None)
    machine.console.expect(r"no configuration file: addresses by DHCP on the WAN", 20)
    machine.console.expect(r"Baregate: what shall", 20)
    machine.console.send("1\r")
    machine.console.expect(r"gateway starts; its tables", 20)
    told = plugged(lab)
    assert told["router"] == told["dns"] == told["serverid"] == net.LAN_GATEWAY
    assert re.fullmatch(r"192\.168\.1\.1\d\d", told["ip"])
    assert "ready app=nat" not in machine.console.text
    Dnsmasq(lab, f"--address=/{NAME}/{net.FAR_SERVER}", dns=True)
    machine.console.command("renew")  # else the next attempt may be a minute away
    machine.wait_ready("nat", 40)
    lab.wait_ping()
    until(lambda: dig(lab, told["dns"], NAME) == net.FAR_SERVER, 20, "the address of the name")
    assert lab.lan.run("ping", "-nc1", "-W2", net.FAR_SERVER, check=False).returncode == 0


@pytest.mark.one_card
def test_the_shipped_file(nic: str, make_lab: Callable[..., Lab]) -> None:
    """boot/gateway.conf as it is, with a name for the LAN."""
    lab = make_lab((nic, nic))
    Dnsmasq(lab, f"--address=/{NAME}/{net.FAR_SERVER}", dns=True)
    with open(os.path.join(os.path.dirname(__file__), "../../boot/gateway.conf"), encoding="utf-8") as file:
        lab.boot(file.read() + "app nat\nlan.domain home.arpa\n", app="nat")
    told = plugged(lab)
    lab.wait_ping()
    until(lambda: dig(lab, told["dns"], NAME) == net.FAR_SERVER, 20, "the address of the name")
    assert dig(lab, told["dns"], "tv.home.arpa") == told["ip"]
