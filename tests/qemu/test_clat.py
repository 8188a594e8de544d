# SPDX-License-Identifier: BSD-2-Clause
"""464XLAT (RFC 6877) from end to end: an IPv4 host, `app clat`, a cable with IPv6 only, a NAT64, IPv4 servers.

The NAT64 is a second instance of our image, or tayga with radvd and masquerade, which knows nothing of us."""

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterator

import pytest
from labkit import clatlab, mtr
from labkit import lab as net
from labkit.clatlab import ClatLab
from labkit.lab import Lab
from labkit.nat64lab import OWN_PREFIX
from labkit.peer import LinuxPeer
from labkit.wait import until

pytestmark = [pytest.mark.long, pytest.mark.one_card, pytest.mark.timeout(300)]


@pytest.fixture(params=["image", "linux"])
def lab(request: pytest.FixtureRequest, nic: str, track_lab: Callable[[Lab], None]) -> Iterator[ClatLab]:
    with ClatLab((nic, nic), far=request.param) as made:
        track_lab(made)
        made.join(clatlab.GIVEN if request.param == "linux" else clatlab.CONFIGURATION)
        yield made


@pytest.fixture
def make(nic: str, track_lab: Callable[[Lab], None]) -> Iterator[Callable[..., ClatLab]]:
    """Makes a lab with the image as the provider's gateway."""
    with contextlib.ExitStack() as open_labs:
        def made(provider: str = "") -> ClatLab:
            lab = open_labs.enter_context(ClatLab((nic, nic), provider=provider))
            track_lab(lab)
            return lab
        yield made


def fetch(lab: Lab, size: int) -> None:
    """Fetches a file of this many bytes; it arrives as it was sent, and the server sees the provider's address."""
    content = os.urandom(size)
    page = os.path.join(lab.directory, "page.bin")
    with open(page, "wb") as file:
        file.write(content)
    with lab.web_server(lab.directory) as log:
        lab.lan.run("curl", "--silent", "--show-error", "--fail", "--output", page + ".copy",
                    f"http://{net.FAR_SERVER}/page.bin", timeout=180)
        with open(log, encoding="utf-8") as file:
            assert [line.split()[0] for line in file if "GET" in line] == [net.WAN_GATEWAY]
    with open(page + ".copy", "rb") as file:
        assert hashlib.sha256(file.read()).digest() == hashlib.sha256(content).digest()


def test_rfc6877_page_call_ping_and_traceroute(lab: ClatLab) -> None:
    """A page of 50 MB, a call by UDP, echoes, large datagrams, and each hop of the way by its own address; no packet is
    lost inside of us."""
    free = lab.packets_free()
    fetch(lab, 50 << 20)
    assert lab.call() >= clatlab.CALL_PACKETS * 98 // 100
    # Larger replies come in fragments, which tayga cannot translate.
    for size in (8, 1200, 1230) if isinstance(lab.far, LinuxPeer) else (8, 1230, 1400, 2000, 4000):
        said = lab.lan.run("ping", "-n", "-c2", "-W5", "-s", str(size), net.FAR_SERVER, check=False).stdout
        assert " 2 received" in said, said
    said = lab.lan.run("traceroute", "-4", "-n", "-q1", "-w3", net.FAR_SERVER, check=False).stdout
    hops = re.findall(r"^ *\d+ +(\S+)", said, re.M)
    assert hops[0] == net.LAN_GATEWAY and hops[-1] == net.FAR_SERVER, said
    for protocol in mtr.PROTOCOLS:
        seen = mtr.hops(lab.lan, net.FAR_SERVER, protocol)
        assert seen[0] == (net.LAN_GATEWAY, 0) and seen[-1] == (net.FAR_SERVER, 0), (protocol, seen)
    stats = lab.console.stats()
    assert stats['clat_translated{way="4to6"}'] > 1000 and stats['clat_translated{way="6to4"}'] > 30000
    lab.check_no_leak(free, 5)


def test_path_mtu(make: Callable[..., ClatLab]) -> None:
    """A link of 1400 bytes behind the NAT64: the host hears of it from 192.0.0.8, which stands for IPv6 routers (RFC
    7600), and a page passes all the same."""
    lab = make("wan.mtu 1400\n")
    lab.join()
    lab.lan.run("ip", "route", "flush", "cache")
    said = lab.lan.run("ping", "-n", "-c1", "-W3", "-M", "do", "-s", "1420", net.FAR_SERVER, check=False).stdout
    assert re.search(r"From 192\.0\.0\.8 .*[Ff]rag needed.*1400", said), said
    said = lab.lan.run("ping", "-n", "-c1", "-W3", "-M", "do", "-s", "1372", net.FAR_SERVER, check=False).stdout
    assert " 1 received" in said, said
    fetch(lab, 4 << 20)


def test_rfc7050_the_name_server_knows_the_prefix(make: Callable[..., ClatLab]) -> None:
    """Nothing is advertised. The provider's DNS64 server is asked for ipv4only.arpa."""
    lab = make("lan.ra off\n")
    lab.join(clatlab.ASKING)
    assert OWN_PREFIX in lab.wait_line("log", "from ipv4only.arpa")
    assert lab.console.stats()["clat_answers"] >= 1
    fetch(lab, 1 << 20)


def test_the_provider_comes_later(make: Callable[..., ClatLab]) -> None:
    """Without a provider the host is told that the net is unreachable, at once; when it appears, everything works."""
    lab = make()
    lab.far.set_link(0, False)
    machine = lab.start(clatlab.CONFIGURATION)
    machine.console.expect("starts; its tables use")
    until(lambda: "Net Unreachable" in lab.lan.run("ping", "-n", "-c1", "-W1", net.FAR_SERVER, check=False).stdout,
          20, "an ICMP error")
    assert lab.console.stats()['drop{reason="no-prefix64"}'] >= 1
    lab.far.set_link(0, True)
    machine.wait_ready("clat", 60)
    lab.wait_ping(net.FAR_SERVER, 30)
