# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures of the QEMU tests.

Plain `pytest tests/qemu` works: the run moves itself into private namespaces first, so
that tests may run beside each other and beside another run, as root or not.

`--gateway linux` puts the host's kernel in the place of QEMU and runs only the tests
marked `traffic`: it shows that they accept a NAT that is known to work.
"""

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))

from labkit import lab as net  # noqa: E402
from labkit import pytests  # noqa: E402
from labkit.lab import Lab  # noqa: E402

NICS = ("e1000", "virtio")

# What the running test has open, so that a failure can show its console.
_open_labs: list[Lab] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--gateway", choices=("image", "linux"), default="image",
                     help="what stands between the hosts: our image in QEMU, or the host's kernel")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "traffic: passes through any NAT, also --gateway linux")
    pytests.enter(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--gateway") == "linux":
        items[:] = [item for item in items if item.get_closest_marker("traffic")]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    if report.failed:
        for lab in _open_labs:
            if lab.machine is not None:
                report.sections.append(("COM1", lab.machine.console.text[-6000:]))
                report.sections.append(("QEMU", lab.machine.stderr()))
    return report


@pytest.fixture
def make_lab() -> Iterator[Callable[..., Lab]]:
    """Make labs (arguments of labkit.lab.Lab) that end with the test."""
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
    """A test that takes `nic` runs once for each NIC model, both ports having the same."""
    if "nic" in metafunc.fixturenames:
        linux = metafunc.config.getoption("--gateway") == "linux"
        metafunc.parametrize("nic", [net.LINUX] if linux else NICS)


@pytest.fixture
def boot_nat(nic: str, make_lab: Callable[..., Lab]) -> Iterator[Callable[[str], Lab]]:
    """Boot the NAT with these lines added to its configuration.

    When the test is over, every packet must be free again: a leak fails it.
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
    """The lab with our NAT forwarding between its hosts."""
    return boot_nat("")
