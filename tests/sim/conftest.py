# SPDX-License-Identifier: BSD-2-Clause
"""Every test that takes `gateway`, `start` or `sim` runs in both builds of the simulator.

`--quick`: the 32-bit build gets every third parameter set of a test with many; the 64-bit build with its sanitizers
gets all of them. `--image`: the tests run against the image in QEMU instead, on both NIC models; tests marked
`virtual` are left out.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
# The tests of one folder use packet builders of another.
sys.path += [str(folder) for folder in sorted(Path(__file__).parent.iterdir()) if folder.is_dir()]
sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
logging.getLogger("scapy").setLevel(logging.ERROR)

from gateway import Gateway  # noqa: E402
from image import NICS, Image  # noqa: E402
from ivi import introduce, start_ivi  # noqa: E402
from labkit import pytests  # noqa: E402
from simulator import BUILDS, Simulator  # noqa: E402
from tunnel import SETUPS, Tunnel  # noqa: E402


FEW = 1  # parameter sets of one test on one NIC
THIRD = 3


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="a third of the parameters in the 32-bit build")
    parser.addoption("--image", action="store_true", help="the image in QEMU, in real time, not the simulator")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "virtual: needs the simulator: time that jumps, seeds, long series")
    if config.getoption("--image"):
        pytests.enter(config)


def without_repetition(items: list[pytest.Item]) -> list[pytest.Item]:
    """Drops two thirds of each test's parameters in the 32-bit build; the first set always stays."""
    seen: dict[str, int] = {}
    kept = []
    for item in items:
        if hasattr(item, "callspec") and item.callspec.params.get("sim") == "host32":
            name = item.nodeid.partition("[")[0]
            number = seen[name] = seen.get(name, -1) + 1
            if number % THIRD:
                continue
        kept.append(item)
    return kept


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """For the image: drops the virtual tests and those without a gateway, and keeps only some parameters of a test with
    many; each NIC gets others."""
    if not config.getoption("--image"):
        if config.getoption("--quick"):
            items[:] = without_repetition(items)
        return
    groups: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        nic = item.callspec.params.get("sim") if hasattr(item, "callspec") else None
        if nic and not item.get_closest_marker("virtual"):
            groups.setdefault((item.nodeid.partition("[")[0], nic), []).append(item)
    chosen: set[pytest.Item] = set()
    for (_, nic), group in groups.items():
        stride = -(-len(group) // FEW)
        chosen.update(group[NICS.index(nic) % stride::stride])
    items[:] = [item for item in items if item in chosen]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "sim" in metafunc.fixturenames:
        builds = NICS if metafunc.config.getoption("--image") else BUILDS
        metafunc.parametrize("sim", builds, indirect=True, scope="session")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """A test that failed on the image shows the output of COM1, and no other test gets its machine."""
    report = yield
    used = getattr(item, "funcargs", {}).get("sim")
    if report.failed and isinstance(used, Image):
        report.sections.append(("COM1", used.said()))
        used.give_up()
    return report


@pytest.fixture(scope="session")
def sim(request: pytest.FixtureRequest) -> Iterator[Simulator | Image]:
    made = Image(request.param) if request.param in NICS else Simulator(request.param)
    yield made
    made.close()


@pytest.fixture
def start(sim: Simulator | Image) -> Iterator[Callable[..., Gateway]]:
    """Starts gateways (arguments of Gateway). Only the last one is running; it must not leak."""
    made: list[Gateway] = []

    def make(*args: Any, **options: Any) -> Gateway:
        if made:
            made.pop().finish()
        made.append(Gateway(sim, *args, **options))
        return made[-1]

    yield make
    if made and made[-1].sim.running:
        made.pop().finish()


@pytest.fixture
def gateway(start: Callable[..., Gateway]) -> Gateway:
    """A NAT with the usual configuration."""
    return start()


@pytest.fixture(params=list(SETUPS))
def tunnel(request: pytest.FixtureRequest, start: Callable[..., Gateway]) -> Tunnel:
    """A 6to4 gateway with its NAT, one without it, and one behind another NAT; its addresses are in use."""
    config, outer = SETUPS[request.param]
    return Tunnel(start(config, "6to4"), outer)


@pytest.fixture(params=["fresh", "known"])
def ivi(start: Callable[..., Gateway], request: pytest.FixtureRequest) -> Gateway:
    """Two translators: one that has seen no packet yet, and one that knows the two hosts."""
    gateway = start_ivi(start)
    if request.param == "known":
        introduce(gateway)
    return gateway
