# SPDX-License-Identifier: BSD-2-Clause
"""What tools/papers does with hosts: calls through the NAT, and links that are as fast as the paper's."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from labkit import lab as net
from labkit.lab import Lab

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / name) for name in ("papers", "bench")]

import hosted  # noqa: E402
import voip  # noqa: E402


@pytest.mark.long
def test_calls(gateway: Lab) -> None:
    """A NAT changes ports and not what is heard. How good the calls are depends on the machine."""
    caller, callee = (gateway.lan, "lan0", net.LAN_HOST), (gateway.wan, "wan0", net.FAR_SERVER)
    said = voip.call(caller, callee, Path(gateway.directory) / "calls", 1, [])
    assert 0 < said.set_up_ms < 5000 and 20 < said.kbit_s < 80, said
    assert said.lost_percent < 20 and 1 <= said.mos <= 4.42, said


@pytest.mark.parametrize("packet", [128, 1460])
def test_links_carry_100_mbit(gateway: Lab, packet: int) -> None:
    """No more data pass than frames of this size leave room for; how many less depends on the machine."""
    gateway.wan.start("iperf3", "--server")
    gateway.wan.wait_port(5201)
    data = packet - hosted.IP_AND_TCP
    words = ["iperf3", "--json", "--client", net.FAR_SERVER, "--time", "2", "--parallel", "4", "--set-mss", str(data)]
    with hosted.limited(gateway):
        done = gateway.lan.run(*words)
        assert "tbf" in gateway.lan.run("tc", "qdisc", "show", "dev", "lan0").stdout
    most = hosted.LINK_MBIT * data / (packet + 14 + hosted.ON_WIRE)
    passed = json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"] / 1e6
    assert 0.1 < passed < most * 1.02, (passed, most)
    for host, device in ((gateway.lan, "lan0"), (gateway.wan, "wan0")):
        assert "tbf" not in host.run("tc", "qdisc", "show", "dev", device).stdout
