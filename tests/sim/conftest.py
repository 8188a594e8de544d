# SPDX-License-Identifier: BSD-2-Clause
"""Every test that takes `gateway`, `start` or `sim` runs in both builds of the simulator."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
logging.getLogger("scapy").setLevel(logging.ERROR)

from gateway import Gateway  # noqa: E402
from simulator import BUILDS, Simulator  # noqa: E402


@pytest.fixture(scope="session", params=BUILDS)
def sim(request: pytest.FixtureRequest) -> Iterator[Simulator]:
    with Simulator(request.param) as simulator:
        yield simulator


@pytest.fixture
def start(sim: Simulator) -> Iterator[Callable[..., Gateway]]:
    """Starts gateways (arguments of Gateway). Only the last one is there; it must not leak."""
    made: list[Gateway] = []

    def make(*args: Any, **options: Any) -> Gateway:
        if made:
            made.pop().finish()
        made.append(Gateway(sim, *args, **options))
        return made[-1]

    yield make
    if made:
        made.pop().finish()


@pytest.fixture
def gateway(start: Callable[..., Gateway]) -> Gateway:
    """A NAT with the usual configuration."""
    return start()
