# SPDX-License-Identifier: BSD-2-Clause
"""thc-ipv6 against the 6to4 gateway: during an attack it keeps forwarding, and afterwards it works as before.

All packets stay in the lab's own namespaces. The LAN host does not receive the attack, and no cable is saturated: the
tests are about the gateway.
"""

import dataclasses
import json
import os
import re
import signal
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Kept
from labkit import lab as net
from labkit.machine import IMAGE
from labkit.netns import Namespace, end_process
from labkit.sixlab import LAN_PREFIX, SITE_HOST, SixLab, global_address
from labkit.wait import until

Boot = Callable[[str], SixLab]

# The maximum that the attacker's interface sends, in packets a second.
_RATE = 3000
_NOBODY = "02:00:00:00:66:66"


@dataclasses.dataclass(frozen=True)
class Attack:
    """Commands that run at the same time; {gateway}, {router} (link-local), {host} and {prefix} are filled in.

    `least` is the minimum number of frames that the attack must send. `forwards` says whether the gateway must forward
    during the attack to the host whose address the attacker claims: neighbour discovery has no defence against that.
    `linux` says whether Linux as the gateway survives it: its neighbour table overflows.
    """

    commands: str  # separated by ";"
    least: int = 1000
    seconds: float = 3
    far: bool = False  # from the far site, not from the LAN
    forwards: bool = True
    linux: bool = True


ATTACKS = {
    "router advertisements": Attack("flood_router26 attack0"),
    "router advertisements behind other headers": Attack("flood_router26 -F attack0"),
    "neighbour advertisements": Attack("flood_advertise6 attack0"),
    "neighbour advertisements to the gateway": Attack("flood_advertise6 attack0 {gateway}"),
    "neighbour solicitations": Attack("flood_solicitate6 attack0 {gateway} {gateway}"),
    "solicitations of any address": Attack("flood_solicitate6 -a attack0"),
    "router solicitations": Attack("flood_rs6 -S attack0"),
    "redirects": Attack("flood_redir6 attack0 {gateway}"),
    "listener reports": Attack("flood_mld6 attack0"),
    "unreachables": Attack("flood_unreach6 -R attack0 {gateway}"),
    "unreachables in pieces": Attack("flood_unreach6 -F -r attack0 {gateway}"),
    "the gateway's address claimed": Attack("fake_advertise6 -w 0 attack0 {gateway} ff02::1 " + _NOBODY),
    "the router's address claimed": Attack("fake_advertise6 -r -w 0 attack0 {router} ff02::1 " + _NOBODY),
    "the host's address claimed": Attack("fake_advertise6 -w 1 attack0 {host} ff02::1 " + _NOBODY, 2, forwards=False),
    "false answers to solicitations": Attack("parasite6 -l attack0 " + _NOBODY, 1, forwards=False),
    "the router killed": Attack("kill_router6 attack0 {router}", 1),
    "a router beside it": Attack("fake_router26 -A 2001:db8:bad::/64 -i 1 attack0", 2),
    "smaller packets asked for": Attack("toobig6 -u attack0 {gateway} {host} 1200", 1),
    "all ICMPv6 types": Attack("randicmp6 -p attack0 {gateway}", seconds=6, least=500),
    "connections from everywhere": Attack("thcsyn6 -r attack0 " + SITE_HOST + " 80", linux=False),
    "neighbours that are not there": Attack("ndpexhaust26 -c -p site0 {prefix}", far=True, linux=False),
    # They print what they will do and wait three seconds before they do it.
    "denial of service": Attack(";".join(f"denial6 attack0 {{gateway}} {case}" for case in range(1, 8)), seconds=8),
    # They pause between their cases.
    "exploits and odd headers": Attack("exploit6 attack0 {gateway};implementation6 -p attack0 {gateway};"
                                       "fragmentation6 -p attack0 {gateway}", 400, seconds=25),
    **{f"fuzzed {name}": Attack(f"fuzz_ip6 -a -x {options} attack0 {target}", seconds=4)
       for name, options, target in (
           ("echo", "-1 -I", "{gateway}"),
           ("echo with headers", "-1 -F -D -H", "{gateway}"),
           ("echo, source route, jumbo", "-1 -S -J", "{gateway}"),
           ("solicitations", "-2 -I", "{gateway}"),
           ("advertisements", "-3 -I", "{gateway}"),
           ("router advertisements", "-4 -I", "{gateway}"),
           ("listener queries", "-7 -H -R", "ff02::1"),
           ("connections far away", "-s 80 -I", SITE_HOST))},
}


def chosen() -> list[str]:
    """All attacks take minutes, so a third of them is chosen by the image's checksum; ATTACKS=all chooses all."""
    names = list(ATTACKS)
    image = Path(IMAGE)
    if os.environ.get("ATTACKS") == "all" or not image.exists():
        return names
    return names[zlib.crc32(image.read_bytes()) % 3::3]


def start(space: Namespace, command: str, seconds: float) -> "subprocess.Popen[bytes]":
    """Starts a tool of thc-ipv6; it is stopped after `seconds`."""
    tool, *arguments = command.split()
    return space.start("timeout", "--signal=KILL", f"{seconds:g}", f"atk6-{tool}", *arguments,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def check_ran(process: "subprocess.Popen[bytes]") -> None:
    """Checks that the tool ended or was stopped, and reported no error."""
    said = process.communicate(timeout=60)[0].decode(errors="replace")
    assert process.returncode in (0, 1, -signal.SIGKILL), said
    assert "Syntax" not in said and "Error" not in said, said


def echoes(lab: SixLab, number: int, target: str, family: str) -> "subprocess.Popen[bytes]":
    """Starts a ping in the background."""
    return lab.lan.start("ping", family, "-n", "-q", f"-c{number}", "-i0.2", "-W2", target, stdout=subprocess.PIPE)


def received(process: "subprocess.Popen[bytes]") -> int:
    """The number of replies that the ping received."""
    said = process.communicate(timeout=60)[0].decode()
    found = re.search(r"(\d+) received", said)
    assert found is not None, said
    return int(found.group(1))


def sent(space: Namespace, name: str) -> int:
    """The number of frames that an interface has sent."""
    link: dict[str, Any] = json.loads(space.ip(f"-s -j link show dev {name}"))[0]
    return int(link["stats64"]["tx"]["packets"])


def router_of(lab: SixLab) -> str:
    """The link-local address of the LAN host's default router."""
    found = re.search(r"via (fe80:\S+)", lab.lan.ip(f"-6 route show default dev {lab.home_port}"))
    assert found is not None
    return found.group(1)


@pytest.fixture(scope="module")
def attacker(six_net: Kept[SixLab]) -> Namespace:
    """A hostile host on the LAN."""
    return six_net.lab.add_attacker(_RATE)


@pytest.mark.traffic
@pytest.mark.one_card
@pytest.mark.parametrize("name", chosen())
def test_attack(attacker: Namespace, boot_six: Boot, nic: str, name: str,
                record_property: Callable[[str, object], None]) -> None:
    """The gateway forwards IPv6 and IPv4 during the attack, and works normally soon after."""
    attack = ATTACKS[name]
    if nic == net.LINUX and not attack.linux:
        pytest.skip("the attack overflows Linux's neighbour table")
    lab = boot_six("")
    space, name_there = (lab.site, "site0") if attack.far else (attacker, "attack0")
    before = sent(space, name_there)
    names = {"gateway": LAN_PREFIX + "1", "router": router_of(lab), "prefix": LAN_PREFIX,
             "host": global_address(lab.lan, lab.home_port)}
    running = [start(space, command.format(**names), attack.seconds) for command in attack.commands.split(";")]
    number = int(attack.seconds / 0.2)
    pings = [echoes(lab, number, SITE_HOST, "-6"), echoes(lab, number, net.FAR_SERVER, "-4")]
    # A solicitation that the attacker can answer wrongly: the gateway needs a host that does not exist.
    lab.site.run("ping", "-6", "-n", "-c2", "-i0.5", "-W1", LAN_PREFIX + "66", check=False)
    for process in running:
        check_ran(process)
    six, four = map(received, pings)
    frames = sent(space, name_there) - before
    record_property("answers", f"{six} and {four} of {number}, {frames} frames")
    assert frames >= attack.least
    until(lambda: received(echoes(lab, 3, SITE_HOST, "-6")) == 3, 40, "IPv6 as before")
    until(lambda: received(echoes(lab, 3, net.FAR_SERVER, "-4")) == 3, 10, "IPv4 as before")
    if attack.forwards:
        assert min(six, four) >= number // 2, f"{six} and {four} of {number}"


@pytest.mark.one_card
def test_duplicate_addresses(attacker: Namespace, boot_six: Boot) -> None:
    """A gateway does not use its addresses when another host claims them (RFC 4862 section 5.4.5).

    IPv4 still works. When the attacker is gone and the cable is plugged in again, IPv6 works again.
    """
    lab = boot_six("")
    assert lab.machine is not None
    before = sent(attacker, "attack0")
    process = start(attacker, "dos-new-ip6 attack0", 60)
    lab.machine.qmp("system_reset")
    lab.machine.wait_ready("6to4")
    until(lambda: lab.console.command("interfaces").count("(duplicate)") == 2, 20, "both addresses to be duplicates")
    assert sent(attacker, "attack0") - before >= 2
    lab.wait_ping()
    assert received(echoes(lab, 5, SITE_HOST, "-6")) == 0
    end_process(process)
    lab.machine.set_link(0, False)
    lab.machine.set_link(0, True)
    lab.wait_slaac()
    lab.wait_ping6()
