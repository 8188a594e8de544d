# SPDX-License-Identifier: BSD-2-Clause
"""thc-ipv6 against the 6to4 gateway: while an attack runs it goes on forwarding, and afterwards it is as before.

All of it stays in the lab's own namespaces. The LAN host does not hear the attacker, and no cable is full: what is
tested is the gateway.
"""

import dataclasses
import re
import signal
import subprocess
from collections.abc import Callable

import pytest
from conftest import SixNet
from labkit import lab as net
from labkit.netns import Namespace
from labkit.sixlab import LAN_PREFIX, SITE_HOST, SixLab, global_address
from labkit.wait import until

Boot = Callable[[str], SixLab]

# What the attacker's interface sends at most, in packets a second.
_RATE = 3000
_NOBODY = "02:00:00:00:66:66"


@dataclasses.dataclass(frozen=True)
class Attack:
    """One command; {gateway}, {router} (link-local), {host} and {prefix} are filled in.

    `forwards` says whether it must go on forwarding meanwhile to the very host whose address the
    attacker claims: neighbour discovery has no defence against that. `linux` says whether Linux
    as the gateway can stand it: its neighbour table overflows.
    """

    command: str
    far: bool = False  # from the far site, not from the LAN
    forwards: bool = True
    linux: bool = True
    seconds: float = 4


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
    "the host's address claimed": Attack("fake_advertise6 -w 1 attack0 {host} ff02::1 " + _NOBODY, forwards=False),
    "false answers to solicitations": Attack("parasite6 -l attack0 " + _NOBODY, forwards=False),
    "duplicate addresses": Attack("dos-new-ip6 attack0"),
    "the router killed": Attack("kill_router6 attack0 {router}"),
    "a router beside it": Attack("fake_router26 -A 2001:db8:bad::/64 -i 1 attack0"),
    "smaller packets asked for": Attack("toobig6 -u attack0 {gateway} {host} 1200"),
    "all ICMPv6 types": Attack("randicmp6 -p attack0 {gateway}", seconds=8),
    "connections from everywhere": Attack("thcsyn6 -r attack0 " + SITE_HOST + " 80", linux=False),
    "neighbours that are not there": Attack("ndpexhaust26 -c -p site0 {prefix}", far=True, linux=False),
    "fragments": Attack("fragmentation6 -p attack0 {gateway}", seconds=8),
    **{f"denial {case}": Attack(f"denial6 attack0 {{gateway}} {case}") for case in range(1, 8)},
    "exploits": Attack("exploit6 attack0 {gateway}", seconds=8),
    "implementation checks": Attack("implementation6 -p attack0 {gateway}", seconds=8),
    **{f"fuzzed {name}": Attack(f"fuzz_ip6 -a -x {options} attack0 {target}", seconds=6)
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


def echoes(lab: SixLab, number: int, target: str, family: str) -> "subprocess.Popen[bytes]":
    """A ping in the background."""
    return lab.lan.start("ping", family, "-n", "-q", f"-c{number}", "-i0.2", "-W2", target, stdout=subprocess.PIPE)


def received(process: "subprocess.Popen[bytes]") -> int:
    """How many answers it got."""
    said = process.communicate(timeout=60)[0].decode()
    found = re.search(r"(\d+) received", said)
    assert found is not None, said
    return int(found.group(1))


def router_of(lab: SixLab) -> str:
    """The link-local address of the LAN host's default router."""
    found = re.search(r"via (fe80:\S+)", lab.lan.ip(f"-6 route show default dev {lab.home_port}"))
    assert found is not None
    return found.group(1)


@pytest.fixture(scope="module")
def attacker(six_net: SixNet) -> Namespace:
    """A hostile host on the LAN."""
    return six_net.lab.add_attacker(_RATE)


@pytest.mark.traffic
@pytest.mark.parametrize("name", ATTACKS)
def test_attack(attacker: Namespace, boot_six: Boot, nic: str, name: str,
                record_property: Callable[[str, object], None]) -> None:
    """It forwards IPv6 and IPv4 meanwhile, and all is well soon after."""
    attack = ATTACKS[name]
    if nic == net.LINUX and not attack.linux:
        pytest.skip("more than Linux's neighbour table holds")
    lab = boot_six("")
    words = attack.command.format(gateway=LAN_PREFIX + "1", router=router_of(lab), prefix=LAN_PREFIX,
                                  host=global_address(lab.lan, lab.home_port)).split()
    place = lab.site if attack.far else attacker
    process = place.start("timeout", "--signal=KILL", f"{attack.seconds:g}", f"atk6-{words[0]}", *words[1:],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    number = int(attack.seconds / 0.2)
    pings = [echoes(lab, number, SITE_HOST, "-6"), echoes(lab, number, net.FAR_SERVER, "-4")]
    said = process.communicate(timeout=attack.seconds + 30)[0].decode(errors="replace")
    six, four = map(received, pings)
    record_property("answers", f"{six} and {four} of {number}")
    assert process.returncode in (0, 1, -signal.SIGKILL), said  # it ran at all
    assert "Syntax" not in said and "Error" not in said, said
    until(lambda: received(echoes(lab, 3, SITE_HOST, "-6")) == 3, 40, "IPv6 as before")
    until(lambda: received(echoes(lab, 3, net.FAR_SERVER, "-4")) == 3, 10, "IPv4 as before")
    if attack.forwards:
        assert min(six, four) >= number // 2, f"{six} and {four} of {number}"
