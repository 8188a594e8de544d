# SPDX-License-Identifier: BSD-2-Clause
"""VLANs (802.1Q) of one cable, with Linux's VLAN interfaces on its other end."""

import json
import re
from collections.abc import Callable, Iterator

import pytest
from labkit import lab as net
from labkit.dhcplab import DHCP_NAT, FIRST, Dnsmasq
from labkit.lab import WAN_SERVER, Lab
from labkit.sixlab import global_address, open_ipv6
from labkit.vlanlab import VlanLab
from labkit.wait import until

WAN, LAN, LAN2 = 7, 20, 4094
CARDS = {"tagged": f"lan nic0.{LAN}\nwan nic0.{WAN}\n", "untagged": f"lan nic0\nwan nic0.{WAN}\n"}
NETWORK = net.NETWORK.replace("lan nic0\nwan nic1\n", "")
MakeVlans = Callable[..., VlanLab]


@pytest.fixture
def make(track_lab: Callable[[Lab], None]) -> Iterator[MakeVlans]:
    """A function that makes labs (arguments of VlanLab), which end with the test."""
    made: list[VlanLab] = []

    def one(nic: str, *vlans: int, offloads: bool = False) -> VlanLab:
        made.append(VlanLab(nic, vlans, offloads))
        track_lab(made[-1])
        return made[-1]

    yield one
    for lab in made:
        lab.close()


def iperf3(lab: Lab, *options: str) -> float:
    """Mbit/s of a TCP connection from the LAN."""
    server = lab.wan.start("iperf3", "-s", "-1", "-B", net.FAR_SERVER)
    lab.wan.wait_port(5201)
    result = lab.lan.run("iperf3", "-J", "-c", net.FAR_SERVER, "-t2", *options, timeout=40, check=False)
    report = json.loads(result.stdout)
    assert "error" not in report, report["error"]
    server.wait(10)
    return float(report["end"]["sum_received"]["bits_per_second"]) / 1e6


@pytest.mark.parametrize("offloads", [False, True], ids=["plain", "offloads"])
@pytest.mark.parametrize("lan", ["tagged", pytest.param("untagged", marks=pytest.mark.long)])
def test_one_card(nic: str, make: MakeVlans, lan: str, offloads: bool,
                  record_property: Callable[[str, object], None]) -> None:
    """Pings, the largest frames, bulk TCP both ways, and a VLAN that nobody has."""
    lab = make(nic, LAN if lan == "tagged" else 0, WAN, offloads=offloads)
    lab.boot("app nat\n" + NETWORK + CARDS[lan], app="nat")
    free = lab.packets_free()
    lab.wait_ping()
    for size in ("1472", "1471", "1", "0"):
        lab.lan.run("ping", "-n", "-c3", "-i0.01", "-w10", "-Mdo", f"-s{size}", net.FAR_SERVER)
    lab.lan.run("ping", "-n", "-c3", "-i0.01", "-w10", "-Mdont", "-s4000", net.FAR_SERVER)
    for direction in ([], ["-R"]):
        rate = iperf3(lab, *direction)
        record_property(f"mbit_per_s{''.join(direction)}", round(rate))
        assert rate > 10
    listed = lab.console.command("interfaces")
    assert re.search(rf"^wan .* vlan={WAN} mtu=1500 ", listed, re.M), listed
    assert bool(re.search(rf"^lan .* vlan={LAN} ", listed, re.M)) == (lan == "tagged"), listed
    before = lab.console.stats()
    assert not any(before.get(f'drop{{reason="{reason}"}}') for reason in ("offload", "vlan", "vlan-nested"))
    assert lab.switch
    lab.switch.configure("ip link add link eth0 name eth0.8 type vlan id 8\nip addr add 192.168.8.2/24 dev eth0.8\n"
                         "ip link set eth0.8 up")
    lab.switch.run("arping -c 1 -w 1 -I eth0.8 192.168.8.1", check=False)
    assert lab.console.stats()['drop{reason="vlan"}'] > 0
    assert re.search(r"^ *\d+\.\d+ vlan ", lab.console.command("drops"), re.M)
    lab.check_no_leak(free, 5)


@pytest.mark.one_card
def test_carrier(nic: str, make: MakeVlans) -> None:
    """The interfaces of a card lose and get the carrier together."""
    lab = make(nic, LAN, WAN)
    machine = lab.boot("app nat\n" + NETWORK + CARDS["tagged"], app="nat")
    lab.wait_ping()
    machine.set_link(0, False)
    for name in ("lan", "wan"):
        lab.console.expect(rf"{name}: link down", 10)
    assert lab.console.command("interfaces").count("link=down") == 2
    machine.set_link(0, True)
    lab.wait_ping()


@pytest.mark.one_card
def test_6to4_in_vlans(nic: str, make: MakeVlans) -> None:
    """Advertisements and neighbour discovery in two VLANs: each host makes itself an address in a /64 of its own, and
    the one reaches the other with packets of the largest size that is advertised."""
    lab = make(nic, LAN, WAN, LAN2)
    hosts = ((lab.lan, "lan0", 1), (lab.inside[1], "lan2", 2))
    for host, device, _ in hosts:
        open_ipv6(host, device)
    lab.boot(f"app 6to4\n{NETWORK}{CARDS['tagged']}lan2 nic0.{LAN2}\nlan2.address 192.168.2.1/24\n", app="6to4")
    for host, device, number in hosts:
        until(lambda host=host, device=device: global_address(host, device), 30, f"{device}: an address")
        assert global_address(host, device).startswith(f"2002:cb00:7102:{number}:")
    target = global_address(lab.inside[1], "lan2")
    ping = ("ping", "-6", "-n", "-c1", "-W1", "-s1232", "-Mdo", target)
    until(lambda: lab.lan.run(*ping, check=False).returncode == 0, 20, "an echo reply from the other VLAN")


@pytest.mark.one_card
def test_dhcp_in_a_vlan(nic: str, make: MakeVlans) -> None:
    """A lease for a WAN in a VLAN, as many providers want it."""
    lab = make(nic, 0, WAN)
    server = Dnsmasq(lab)
    lab.boot(DHCP_NAT + CARDS["untagged"], app="nat")
    lab.wait_ping()
    assert re.search(rf"^wan {FIRST[:-2]}\d\d/24 valid from {WAN_SERVER}", lab.console.command("addresses"), re.M)
    assert "DHCPACK(wan0)" in server.said()
