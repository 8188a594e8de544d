# SPDX-License-Identifier: BSD-2-Clause
"""Ports opened from inside by libnatpmp's client and by our own of PCP, and real traffic that comes in by them."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from labkit import lab as net
from labkit.lab import Lab

sys.path.append(str(Path(__file__).resolve().parents[1] / "sim"))
import portcontrol as pc  # noqa: E402

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


def pcp(lab: Lab, request: bytes) -> pc.Answer:
    """Sends a request of PCP version 2, again each second (RFC 6887 section 8.1.1), and gives the answer."""
    with lab.lan.socket() as client:
        client.bind((net.LAN_HOST, 0))
        client.connect((net.LAN_GATEWAY, pc.PORT))
        client.settimeout(1)
        for _ in range(5):
            client.send(request)
            try:
                return pc.parse(client.recv(1100))
            except TimeoutError:
                pass
    raise AssertionError("no answer of PCP")


@pytest.mark.one_card
def test_pcp_map(nic: str, make_lab: Callable[..., Lab]) -> None:
    """MAP of version 2: a packet that nobody inside asked for comes in by the port, until the mapping is deleted."""
    lab = make_lab((nic, nic))
    lab.boot(f"{net.NAT}serve pcp\n", app="nat")
    lab.wait_ping()
    free = lab.packets_free()
    for kind, protocol, proto in (("DGRAM", pc.UDP, "udp"), ("STREAM", pc.TCP, "tcp")):
        got = pcp(lab, pc.map_request(net.LAN_HOST, 8080, 600, protocol=protocol, suggest=45000))
        assert (got.opcode, got.result, got.nonce) == (pc.MAP, pc.SUCCESS, pc.NONCE)
        assert (got.protocol, got.port, got.lifetime) == (protocol, 8080, 600)
        assert (got.outside, got.outside_port) == (net.WAN_GATEWAY, 45000)
        server = lab.lan.start("python3", "-c", ECHO.format(kind=kind, port=8080))
        lab.lan.wait_port(8080, proto)
        said = lab.wan.run("python3", "-c", CALL.format(kind=kind, host=net.WAN_GATEWAY, port=45000)).stdout
        assert said == "hello\n"
        server.wait(5)
    assert lab.console.stats()["pcp_mappings"] == 2
    gone = pcp(lab, pc.map_request(net.LAN_HOST, 8080, 0, protocol=pc.UDP))
    assert (gone.result, gone.lifetime) == (pc.SUCCESS, 0)
    assert lab.console.stats()["pcp_mappings"] == 1
    with lab.lan.socket() as inside, lab.wan.socket() as stranger:
        inside.bind((net.LAN_HOST, 8080))
        inside.settimeout(0.5)
        stranger.bind((net.FAR_SERVER, 0))  # one that no session knows
        stranger.sendto(b"too late", (net.WAN_GATEWAY, 45000))
        with pytest.raises(TimeoutError):
            inside.recv(100)
    wrong = pcp(lab, pc.map_request("192.168.1.77", 8081, 600))
    assert wrong.result == pc.ADDRESS_MISMATCH
    lab.check_no_leak(free, 5)
