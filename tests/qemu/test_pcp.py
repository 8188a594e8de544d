# SPDX-License-Identifier: BSD-2-Clause
"""`serve pcp` on the machine: the client of libnatpmp opens ports, and hosts of the WAN come in by them."""

import re
import socket
from collections.abc import Callable

import pytest
from labkit import lab as net
from labkit.lab import Lab


def natpmpc(lab: Lab, *words: str) -> str:
    return lab.lan.run("natpmpc", "-g", net.LAN_GATEWAY, *words, timeout=30).stdout


def mapped(said: str) -> tuple[int, int, int]:
    """Outer port, inside port and lifetime, as the client prints them, which spells "liftime"."""
    found = re.search(r"Mapped public port (\d+) protocol \w+ to local port (\d+) life?time (\d+)", said, re.IGNORECASE)
    assert found, said
    return int(found[1]), int(found[2]), int(found[3])


@pytest.mark.one_card
def test_natpmpc_and_traffic_from_outside(boot_nat: Callable[[str], Lab]) -> None:
    """The outer address, a port for UDP and one for TCP, traffic in by both, deletion."""
    lab = boot_nat("serve pcp\npcp.limit 2\n")
    assert f"Public IP address : {net.WAN_GATEWAY}" in natpmpc(lab)
    assert mapped(natpmpc(lab, "-a", "7000", "5000", "udp", "3600")) == (7000, 5000, 3600)
    assert mapped(natpmpc(lab, "-a", "7001", "5001", "tcp", "3600")) == (7001, 5001, 3600)
    listed = lab.console.command("sessions")
    assert f"udp {net.LAN_HOST}:5000 {net.WAN_GATEWAY}:7000 any nat-pmp" in listed
    with lab.lan.socket() as inside, lab.wan.socket() as outside:
        inside.bind((net.LAN_HOST, 5000))
        inside.settimeout(5)
        outside.bind((net.WAN_SERVER, 0))
        outside.settimeout(5)
        outside.sendto(b"from outside", (net.WAN_GATEWAY, 7000))
        data, sender = inside.recvfrom(100)
        assert (data, sender[0]) == (b"from outside", net.WAN_SERVER)
        inside.sendto(b"from inside", sender)
        assert outside.recvfrom(100) == (b"from inside", (net.WAN_GATEWAY, 7000))
    with lab.lan.socket(kind=socket.SOCK_STREAM) as listener, lab.wan.socket(kind=socket.SOCK_STREAM) as caller:
        listener.bind((net.LAN_HOST, 5001))
        listener.listen()
        listener.settimeout(5)
        caller.settimeout(5)
        caller.connect((net.WAN_GATEWAY, 7001))
        taken, sender = listener.accept()
        with taken:
            taken.settimeout(5)
            caller.sendall(b"called")
            assert taken.recv(100) == b"called" and sender[0] == net.WAN_SERVER
    third = lab.lan.run("natpmpc", "-g", net.LAN_GATEWAY, "-a", "7002", "5002", "udp", "3600", timeout=30, check=False)
    assert "Mapped public port" not in third.stdout, third.stdout
    natpmpc(lab, "-a", "7000", "5000", "udp", "0")
    natpmpc(lab, "-a", "7001", "5001", "tcp", "0")
    assert lab.console.stats()["pcp_mappings"] == 0
