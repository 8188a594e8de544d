# SPDX-License-Identifier: BSD-2-Clause
"""`--all` runs the tests on every processor model of Bochs instead of two."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.path.insert(0, str(ROOT / "tests/bochs"))

import bochs  # noqa: E402

# One of the oldest supported processors, and one with NX, PAE and more than 32 address bits.
TWO = ("p2_klamath", "athlon64_clawhammer")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="every processor model of Bochs")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test that takes `model` once for each processor model."""
    if "model" in metafunc.fixturenames:
        metafunc.parametrize("model", bochs.models() if metafunc.config.getoption("--all") else TWO)
