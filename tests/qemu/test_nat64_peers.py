# SPDX-License-Identifier: BSD-2-Clause
"""`app nat64` among programs that know nothing of it: tayga as the CLAT of an IPv4 host in front of it, coturn's STUN
server, iperf3, traceroute. Tests that have the parameter `linux` also pass with tayga and masquerade in our place,
which shows that they ask for nothing that only we do."""

import contextlib
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from labkit import lab as net
from labkit import nat64lab
from labkit.lab import Lab
from labkit.nat64lab import Nat64Lab
from labkit.netns import Namespace
from labkit.peer import LinuxPeer
from labkit.wait import until

pytestmark = [pytest.mark.long, pytest.mark.one_card]
STUN = 3478

PUNCH = """
import os, socket, struct, sys
stun, peer, mine = sys.argv[1], sys.argv[2], int(sys.argv[3])
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.bind(("::", mine))
s.settimeout(5)
s.sendto(struct.pack("!HHI", 1, 0, 0x2112a442) + os.urandom(12), (stun, 3478))
reply = s.recvfrom(1500)[0]
at, address = 20, None
while at < len(reply):
    kind, size = struct.unpack_from("!HH", reply, at)
    if kind == 0x20 and reply[at + 5] == 1:
        port = struct.unpack_from("!H", reply, at + 6)[0] ^ 0x2112
        address = socket.inet_ntoa(bytes(a ^ b for a, b in zip(reply[at + 8:at + 12], bytes.fromhex("2112a442")))), port
    at += 4 + (size + 3) // 4 * 4
print("mapped", *address, flush=True)
sys.stdin.readline()
s.sendto(b"open", (peer, 9000))
data, source = s.recvfrom(1500)
print("got", data.decode(), source[0], source[1], flush=True)
s.sendto(b"answer", source)
"""


@pytest.fixture(params=["image", "linux"])
def lab(request: pytest.FixtureRequest, nic: str, track_lab: Callable[[Lab], None]) -> Iterator[Nat64Lab]:
    linux = request.param == "linux"
    with Nat64Lab(("virtio", "virtio") if linux else (nic, nic)) as made:
        track_lab(made)
        if linux:
            made.boot_linux_nat64()
        else:
            made.prefix = nat64lab.OWN_PREFIX
            made.boot(nat64lab.CONFIGURATION + nat64lab.CLAT_CONFIGURATION, app="nat64")
        made.join()
        yield made


@contextlib.contextmanager
def stun_server(lab: Lab) -> Iterator[None]:
    """coturn outside, for STUN alone."""
    with (Path(lab.directory) / "turnserver.log").open("wb") as out:
        process = lab.wan.start(
            "turnserver", "-c", lab.file("turnserver.conf", ""), "-S", "-L", net.FAR_SERVER, "-p", str(STUN),
            "--no-cli", "--no-tls", "--no-dtls", "--log-file", "stdout", "--simple-log",
            "--pidfile", f"{lab.directory}/turnserver.pid", stdout=out, stderr=subprocess.STDOUT)
    try:
        until(lambda: f"{net.FAR_SERVER}:{STUN}" in lab.wan.run("ss", "-Hlnu").stdout, 15, "the STUN server to listen")
        yield
    finally:
        process.terminate()
        process.wait()


def test_hole_punching(lab: Nat64Lab) -> None:
    """An IPv6 host learns its IPv4 endpoint from coturn, and a second IPv4 endpoint reaches it there: mapping is
    endpoint-independent (RFC 6146 section 5.2). A datagram that comes too early is kept out and does no harm; Linux
    gives the host another port for that endpoint then, so there it is left out."""
    early = not isinstance(lab.machine, LinuxPeer)
    with stun_server(lab):
        server = nat64lab.v6(net.FAR_SERVER, lab.prefix)
        found = lab.lan.run("turnutils_stunclient", server, check=False)
        assert f"reflexive addr: {net.WAN_GATEWAY}:" in (found.stdout + found.stderr), found
        script = lab.file("punch.py", PUNCH)
        peer = lab.lan.start("python3", script, server, nat64lab.v6(net.WAN_SERVER, lab.prefix), "41000",
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert peer.stdout is not None and peer.stdin is not None
        words = peer.stdout.readline().decode().split()
        assert words[:2] == ["mapped", net.WAN_GATEWAY], words
        port = int(words[2])
        code = (f"import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
                f"s.bind(('{net.WAN_SERVER}', 9000)); s.settimeout(2); to = ('{net.WAN_GATEWAY}', {port})\n"
                f"{early} and s.sendto(b'early', to)\n"
                "print('ready', flush=True)\n"
                "s.settimeout(10); print(s.recvfrom(99), flush=True)\n"
                "s.sendto(b'hello', to); print(s.recvfrom(99), flush=True)\n")
        outside = lab.wan.start("python3", "-c", code, stdout=subprocess.PIPE)
        assert outside.stdout is not None
        assert outside.stdout.readline() == b"ready\n"
        peer.stdin.write(b"go\n")
        peer.stdin.flush()
        there = (net.WAN_GATEWAY, port)
        assert outside.stdout.readline().decode().strip() == str((b"open", there))
        got = peer.stdout.readline().decode().split()
        assert got == ["got", "hello", nat64lab.v6(net.WAN_SERVER, lab.prefix), "9000"]
        assert outside.stdout.readline().decode().strip() == str((b"answer", there))
        assert (peer.wait(10), outside.wait(10)) == (0, 0)


def iperf3(lab: Lab, host: Namespace, target: str, *options: str) -> dict[str, dict[str, float]]:
    """The `end` part of iperf3's report."""
    server = lab.wan.start("iperf3", "-s", "-1", "-B", net.FAR_SERVER)
    lab.wan.wait_port(5201)
    result = host.run("iperf3", "-J", "-c", target, "-t2", *options, timeout=40, check=False)
    report = json.loads(result.stdout)
    assert "error" not in report, report["error"]
    server.wait(10)
    end: dict[str, dict[str, float]] = report["end"]
    return end


def test_iperf3_and_traceroute(lab: Nat64Lab) -> None:
    target = nat64lab.v6(net.FAR_SERVER, lab.prefix)
    for options in ((), ("-R",)):
        assert iperf3(lab, lab.lan, target, "-6", *options)["sum_received"]["bits_per_second"] > net.FLOWS
    said = lab.lan.run("traceroute", "-6", "-n", "-q1", "-w3", target, check=False).stdout
    hops = re.findall(r"^ *\d+ +(\S+)", said, re.M)
    assert hops[0] == nat64lab.ROUTER6 and hops[-1] == target, said


@pytest.mark.timeout(300)
@pytest.mark.parametrize("lab", ["image"], indirect=True)
def test_clat(lab: Nat64Lab) -> None:
    """464XLAT: an IPv4 host, tayga as its CLAT, our NAT64, IPv4 servers (RFC 6877)."""
    home = lab.add_clat()
    free = lab.packets_free()
    for size in (8, 1200, 1230):  # larger replies come in fragments, which tayga cannot translate
        said = home.run("ping", "-n", "-c2", "-W5", "-s", str(size), net.FAR_SERVER, check=False).stdout
        assert " 2 received" in said, said
    page = lab.file("index.html", "a page\n" * 500000)
    with lab.web_server(lab.directory) as log:
        home.run("curl", "--silent", "--show-error", "--fail", "--output", page + ".copy",
                 f"http://{net.FAR_SERVER}/index.html", timeout=120)
        assert net.WAN_GATEWAY in Path(log).read_text(encoding="utf-8")
    assert Path(page + ".copy").read_bytes() == Path(page).read_bytes()
    for options in ((), ("-R",), ("-u", "-b5M", "-l1200")):
        end = iperf3(lab, home, net.FAR_SERVER, *options)
        if "-u" in options:
            assert end["sum"]["packets"] > 200 and end["sum"]["lost_percent"] < 5
        else:
            assert end["sum_received"]["bits_per_second"] > net.FLOWS
    said = home.run("traceroute", "-4", "-n", "-q1", "-w3", net.FAR_SERVER, check=False).stdout
    hops = re.findall(r"^ *\d+ +(\S+)", said, re.M)
    assert hops[0] == "192.168.77.1" and hops[-1] == net.FAR_SERVER, said
    lab.check_no_leak(free, 5)
