# SPDX-License-Identifier: BSD-2-Clause
"""Ports opened from inside by libnatpmp's client, and real traffic that comes in by them."""

import re
from collections.abc import Callable

import pytest
from labkit import lab as net
from labkit.lab import Lab

ECHO = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_{kind})
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("0.0.0.0", {port}))
if "{kind}" == "STREAM":
    s.listen()
    c = s.accept()[0]
    c.sendall(c.recv(100))
else:
    data, peer = s.recvfrom(100)
    s.sendto(data, peer)
"""
CALL = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_{kind})
s.settimeout(5)
s.connect(("{host}", {port}))
s.send(b"hello")
print(s.recv(100).decode())
"""


def natpmpc(lab: Lab, *words: str) -> str:
    return lab.lan.run("natpmpc", "-g", net.LAN_GATEWAY, *words, check=False).stdout


@pytest.mark.one_card
def test_libnatpmp(nic: str, make_lab: Callable[..., Lab]) -> None:
    """The outer address, a port for each protocol, traffic from the WAN to it, and the end of the mapping."""
    lab = make_lab((nic, nic))
    lab.boot(f"{net.NAT}serve pcp\n", app="nat")
    assert f"Public IP address : {net.WAN_GATEWAY}" in natpmpc(lab)
    for kind, proto in (("DGRAM", "udp"), ("STREAM", "tcp")):
        said = natpmpc(lab, "-a", "45000", "8080", proto, "600")
        mapped = rf"Mapped public port (\d+) protocol {proto.upper()} to local port 8080 life?time (\d+)"
        found = re.search(mapped, said)
        assert found and found[1] == "45000" and 120 <= int(found[2]) <= 7200, said
        server = lab.lan.start("python3", "-c", ECHO.format(kind=kind, port=8080))
        lab.lan.wait_port(8080, proto)
        said = lab.wan.run("python3", "-c", CALL.format(kind=kind, host=net.WAN_GATEWAY, port=45000)).stdout
        assert said == "hello\n"
        server.wait(5)
    assert lab.console.stats()["pcp_mappings"] == 2
    for proto in ("udp", "tcp"):
        said = natpmpc(lab, "-a", "0", "8080", proto, "0")
        assert re.search(r"life?time 0$", said, re.M), said
    assert lab.console.stats()["pcp_mappings"] == 0
