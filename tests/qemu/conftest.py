# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures of the QEMU tests.

Plain `pytest tests/qemu` works: the run first moves itself into private namespaces. So tests can run beside each other
and beside another run, as root or not.

`--gateway linux` uses the host's kernel instead of QEMU and runs only the tests marked `traffic`. It shows that the
tests accept a NAT that is known to work.
"""

import os
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))

from labkit import lab as net  # noqa: E402
from labkit import linuxguest, peer, pytests, sandbox, sixlab  # noqa: E402
from labkit.ivilab import IviLab  # noqa: E402
from labkit.lab import Lab  # noqa: E402
from labkit.sixlab import SixLab  # noqa: E402

NICS = ("e1000", "virtio")

AnyLab = TypeVar("AnyLab", bound=Lab)

# The labs that the running test has open, so that a failure can show their consoles.
_open_labs: list[Lab] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--gateway", choices=("image", "linux"), default="image",
                     help="the gateway between the hosts: our image in QEMU, or the host's kernel")
    parser.addoption("--all", action="store_true", help="also the tests marked `long`")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "traffic: passes with any NAT, also with --gateway linux")
    config.addinivalue_line("markers", "one_card: with `nic`, the first NIC model is enough")
    config.addinivalue_line("markers", "long: runs only with --all")
    if not sandbox.inside():
        _prepare_guests(config)
    pytests.enter(config)


def _prepare_guests(config: pytest.Config) -> None:
    """Prepares the Linux guests before the sandbox is entered: inside it there is no network to download from."""
    try:
        peer.prepare()
        peer.prepare("tayga")
        peer.prepare("switch")
        if config.getoption("--gateway") == "linux":
            peer.prepare("gateway")
            peer.prepare("box")
    except linuxguest.BuildError as error:
        print(f"no Linux guest, so tests that need it will fail: {error}", file=sys.stderr)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--gateway") == "linux":
        items[:] = [item for item in items if item.get_closest_marker("traffic")]
    if not config.getoption("--all"):
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    # Tests that share a gateway run one after the other; otherwise each test would boot one.
    dns = [item for item in items if "dns_net" in getattr(item, "fixturenames", ())]
    if dns:
        begin = items.index(dns[0])
        items[:] = [item for item in items if item not in dns]
        items[begin:begin] = sorted(dns, key=_gateway_of)


def _gateway_of(item: pytest.Item) -> tuple[str, str]:
    """The card and the upstream server of a test's gateway."""
    params: dict[str, str] = item.callspec.params  # type: ignore[attr-defined]
    return params["nic"], params.get("upstream", "~")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    if report.failed:
        for lab in _open_labs:
            for machine in lab.machines():
                report.sections.append(("COM1", machine.console.text[-6000:]))
                report.sections.append(("QEMU", machine.stderr()))
    return report


@pytest.fixture
def track_lab() -> Iterator[Callable[[Lab], None]]:
    """A function that registers a lab, whose consoles are shown if the test fails."""
    tracked: list[Lab] = []

    def track(lab: Lab) -> None:
        tracked.append(lab)
        _open_labs.append(lab)

    yield track
    for lab in tracked:
        _open_labs.remove(lab)


@pytest.fixture
def make_lab() -> Iterator[Callable[..., Lab]]:
    """A function that makes labs (arguments of labkit.lab.Lab), which end with the test."""
    made: list[Lab] = []

    def make(*args: Any, **kwargs: Any) -> Lab:
        lab = Lab(*args, **kwargs)
        made.append(lab)
        _open_labs.append(lab)
        return lab

    yield make
    for lab in made:
        lab.close()
        _open_labs.remove(lab)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test that takes `nic` with one of the NIC models, always the same; with --all once for each. Both
    interfaces have the same."""
    if "nic" in metafunc.fixturenames:
        linux = metafunc.config.getoption("--gateway") == "linux"
        one = metafunc.definition.get_closest_marker("one_card")
        # Module scope: the tests of a module with one card run together, so that labs can be kept.
        metafunc.parametrize("nic", [net.LINUX] if linux else NICS[:1] if one else _cards_of(metafunc), scope="module")


def _cards_of(metafunc: pytest.Metafunc) -> tuple[str, ...]:
    """All NIC models, or one that the test's name gives: half of a file's tests have each."""
    if metafunc.config.getoption("--all"):
        return NICS
    return (NICS[zlib.crc32(metafunc.definition.nodeid.encode()) % len(NICS)],)


@pytest.fixture
def boot_nat(nic: str, make_lab: Callable[..., Lab]) -> Iterator[Callable[[str], Lab]]:
    """A function that boots the NAT with these lines added to its configuration.

    At the end of the test every packet must be free again: a leak fails it.
    """
    started: list[tuple[Lab, int]] = []

    def boot(lines: str = "") -> Lab:
        lab = make_lab((nic, nic))
        if nic == net.LINUX:
            lab.boot_linux(lines)
        else:
            lab.boot(net.NAT + lines, app="nat")
            started.append((lab, lab.packets_free()))
        lab.wait_ping()
        return lab

    yield boot
    for lab, free in started:
        if lab.machine is not None:
            lab.check_no_leak(free)


@pytest.fixture
def gateway(boot_nat: Callable[[str], Lab]) -> Lab:
    """A lab in which our NAT forwards between the hosts."""
    return boot_nat("")


class Kept(Generic[AnyLab]):
    """A lab for all tests of a module, and the gateway that runs in it.

    `start` boots our image with the given arguments; `linux` boots a Linux guest in its place.
    """

    def __init__(self, lab: AnyLab, start: Callable[..., object], linux: Callable[[], object]) -> None:
        self.lab = lab
        self._start, self._linux = start, linux
        self._runs: tuple[str, ...] | None = None
        self._free = 0

    def boot(self, nic: str, *how: str) -> AnyLab:
        """A gateway on this NIC, with the arguments `how` for `start`; one that runs already, if it is the same and
        healthy."""
        machine = self.lab.machine
        if self._runs == (nic, *how) and machine is not None and machine.process.poll() is None:
            return self.lab
        self.end()
        for port in self.lab.ports:
            port.model = "virtio" if nic == net.LINUX else nic
        if nic == net.LINUX:
            self._linux()
        else:
            self._start(*how)
            self._free = self.lab.packets_free()
        self._runs = nic, *how
        return self.lab

    def end(self) -> None:
        """Checks that the running gateway has every packet free again: a leak fails the test."""
        machine, runs, self._runs = self.lab.machine, self._runs, None
        if runs is not None and runs[0] != net.LINUX and machine is not None and machine.process.poll() is None:
            # A packet may wait for a neighbour for three seconds (RFC 4861 section 10).
            self.lab.check_no_leak(self._free, 5)
        self.lab.shut_down()


@pytest.fixture(scope="module")
def six_net() -> Iterator[Kept[SixLab]]:
    """A lab with a far 6to4 site, a Linux guest, for all tests of a module."""
    with SixLab() as lab:
        _open_labs.append(lab)
        net_ = Kept(lab, lambda lines: lab.boot_six(sixlab.SIX + lines), lab.boot_six_linux)
        yield net_
        _open_labs.remove(lab)
        net_.end()


@pytest.fixture
def boot_six(nic: str, six_net: Kept[SixLab]) -> Callable[[str], SixLab]:
    """A function that boots a 6to4 gateway with these lines added to its configuration."""
    return lambda lines="": six_net.boot(nic, lines)


@pytest.fixture
def six(boot_six: Callable[[str], SixLab]) -> SixLab:
    """A lab with our 6to4 gateway and its NAT between the hosts, and a far 6to4 site."""
    return boot_six("")


@pytest.fixture(scope="module")
def ivi_net() -> Iterator[Kept[IviLab]]:
    """The translator's hosts, and what tests add to them, for all tests of a module."""
    with IviLab() as lab:
        _open_labs.append(lab)
        net_ = Kept(lab, lab.boot_ivi, lab.boot_tayga)
        yield net_
        _open_labs.remove(lab)
        net_.end()


@pytest.fixture
def boot_ivi(nic: str, ivi_net: Kept[IviLab]) -> Callable[..., IviLab]:
    """A function that boots a translator with these lines added to its configuration, and addresses of this form."""
    return lambda lines="", form="ivi": ivi_net.boot(nic, lines, form)


@pytest.fixture
def ivi(boot_ivi: Callable[..., IviLab]) -> IviLab:
    """A lab with our translator between IPv6 and IPv4 hosts."""
    return boot_ivi()
