# SPDX-License-Identifier: BSD-2-Clause
"""The calls of tools/papers through the NAT: set up, heard from end to end, and judged."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from labkit import lab as net
from labkit.lab import Lab

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / "papers")]

import voip  # noqa: E402


@pytest.mark.long
def test_calls(gateway: Lab) -> None:
    """A NAT changes ports and not what is heard. How good the calls are depends on the machine."""
    caller, callee = (gateway.lan, "lan0", net.LAN_HOST), (gateway.wan, "wan0", net.FAR_SERVER)
    said = voip.call(caller, callee, Path(gateway.directory) / "calls", 1, [])
    assert 0 < said.set_up_ms < 5000 and 20 < said.kbit_s < 80, said
    assert said.lost_percent < 20 and 1 <= said.mos <= 4.42, said
