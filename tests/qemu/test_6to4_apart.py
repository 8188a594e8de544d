# SPDX-License-Identifier: BSD-2-Clause
"""6to4 and NAT in separate gateways: protocol 41 passes the NAT to the router behind it.

Tested are two of our images, our image behind the host's kernel as a NAT, and a Linux 6to4 router behind our NAT. The
public address belongs to the NAT. The far site is a Linux guest's `sit` tunnel, or a second image where that is enough.
"""

import hashlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from labkit import lab as net
from labkit.lab import LINUX
from labkit.netns import Namespace
from labkit.sixlab import INNER_WAN, LAN_PREFIX, NATIVE_HOST, SITE_HOST, SixLab, global_address

NAT = net.NAT + f"nat.protocol41 {INNER_WAN}\n"
_SIZE = 8 << 20


@pytest.fixture
def make_apart(track_lab: Callable[[SixLab], None]) -> Iterator[Callable[..., SixLab]]:
    """A function that makes labs (arguments of SixLab) with room for an inner machine; they end with the test."""
    made: list[SixLab] = []

    def make(nics: tuple[str, str], far: str, model: str = "e1000") -> SixLab:
        lab = SixLab(nics, far)
        made.append(lab)
        track_lab(lab)
        lab.add_inner(model)
        return lab

    yield make
    for lab in made:
        lab.close()


def pings6(space: Namespace, target: str) -> bool:
    """Whether three echoes are answered."""
    return " 3 received" in space.run("ping", "-6", "-n", "-c3", "-i0.2", "-W2", target, check=False).stdout


def check_both_worlds(lab: SixLab, directory: Path) -> None:
    """Checks IPv6 through the inner machine and IPv4 of its neighbours through the NAT, with files at the same time."""
    content = random.Random(41).randbytes(_SIZE)
    directory.joinpath("file").write_bytes(content)
    six, four = directory / "six", directory / "four"
    with lab.web_server6(str(directory)) as log6, lab.web_server(str(directory)) as log4:
        download = lab.lan.start("curl", "-4", "-sSf", "-m", "60", "-o", str(four), f"http://{net.FAR_SERVER}/file")
        lab.home.run("curl", "-6", "-sSf", "-o", str(six), f"http://[{SITE_HOST}]/file", timeout=60)
        assert download.wait(60) == 0
        assert f"{LAN_PREFIX.removesuffix('::')}:" in Path(log6).read_text()
        assert f"{net.WAN_GATEWAY} - - " in Path(log4).read_text()
    for copy in (six, four):
        assert hashlib.sha256(copy.read_bytes()).digest() == hashlib.sha256(content).digest()


def test_two_images(make_apart: Callable[..., SixLab], nic: str, tmp_path: Path) -> None:
    """Our 6to4 gateway, with its NAT off, behind our NAT; the far site may send first."""
    lab = make_apart((nic, nic), "linux", nic)
    lab.boot(NAT, app="nat")
    lab.boot_inner()
    lab.wait_slaac()
    lab.wait_ping6()
    assert pings6(lab.home, NATIVE_HOST)
    assert pings6(lab.site, global_address(lab.home, "home0"))
    said = lab.home.run("tracepath", "-6", "-n", SITE_HOST).stdout
    assert "hops 3 back 3" in said
    check_both_worlds(lab, tmp_path)


def test_two_images_without_a_hint(make_apart: Callable[..., SixLab]) -> None:
    """The NAT learns from the first packet which host uses protocol 41."""
    lab = make_apart(("e1000", "e1000"), "image")
    lab.boot(net.NAT, app="nat")
    lab.boot_inner()
    lab.wait_slaac()
    lab.wait_ping6()
    assert pings6(lab.site, global_address(lab.home, "home0"))


def test_behind_a_linux_nat(make_apart: Callable[..., SixLab], tmp_path: Path) -> None:
    """The host's kernel is the NAT (nftables: masquerade, protocol 41 to the 6to4 gateway)."""
    lab = make_apart((LINUX, LINUX), "image")
    lab.boot_linux(protocol41=INNER_WAN)
    lab.boot_inner()
    lab.wait_slaac()
    lab.wait_ping6()
    assert pings6(lab.site, global_address(lab.home, "home0"))
    check_both_worlds(lab, tmp_path)


def test_linux_router_behind_our_nat(make_apart: Callable[..., SixLab], tmp_path: Path) -> None:
    """A Linux 6to4 router whose public address is that of our NAT."""
    lab = make_apart(("e1000", "e1000"), "linux")
    lab.boot(NAT, app="nat")
    lab.boot_inner_linux()
    lab.wait_ping6()
    assert pings6(lab.site, LAN_PREFIX + "10")
    check_both_worlds(lab, tmp_path)


@pytest.mark.traffic
def test_linux_router_behind_a_linux_nat(make_apart: Callable[..., SixLab], request: pytest.FixtureRequest,
                                         tmp_path: Path) -> None:
    """Linux alone, as the reference for the other tests. Only with `--gateway linux`."""
    if request.config.getoption("--gateway") != "linux":
        pytest.skip("this is the reference run for Linux")
    lab = make_apart((LINUX, LINUX), "linux")
    lab.boot_linux(protocol41=INNER_WAN)
    lab.boot_inner_linux()
    lab.wait_ping6()
    assert pings6(lab.home, NATIVE_HOST)
    assert pings6(lab.site, LAN_PREFIX + "10")
    check_both_worlds(lab, tmp_path)
