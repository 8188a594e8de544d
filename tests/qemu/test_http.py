# SPDX-License-Identifier: BSD-2-Clause
"""`serve http` of the image: curl as its client, promtool as the judge of its metrics."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from labkit import lab as net
from labkit.lab import Lab

OWN = net.LAN_GATEWAY
CONFIG = net.NAT + "serve http\n"


def curl(lab: Lab, path: str, *more: str) -> str:
    return lab.lan.run("curl", "--silent", "--show-error", "--max-time", "20", *more, f"http://{OWN}{path}").stdout


@pytest.fixture
def lab(nic: str, make_lab: Callable[..., Lab]) -> Lab:
    made = make_lab((nic, nic))
    made.boot(CONFIG)
    return made


@pytest.mark.one_card
def test_curl(lab: Lab) -> None:
    free = lab.packets_free()
    assert curl(lab, "/livez", "--fail") == "alive\n"
    assert curl(lab, "/readyz", "--fail") == "ready\n"
    assert curl(lab, "/livez", "--fail", "--http1.0") == "alive\n"
    assert curl(lab, "/livez", "--output", "/dev/null", "--write-out", "%{http_code}", "--data", "x") == "405"
    assert curl(lab, "/livez", "--output", "/dev/null", "--write-out", "%{http_code}", "--header", "Host: x") == "421"
    assert lab.wan.run("sh", "-c", f"curl -s -m 3 http://{net.WAN_GATEWAY}/livez || echo none").stdout == "none\n"
    metrics = curl(lab, "/metrics", "--fail")
    stats = lab.console.stats()
    names = {re.sub(r"_total(?=[{ ])", "", line.rsplit(" ", 1)[0] + " ").strip().removeprefix("baregate_")
             for line in metrics.splitlines() if not line.startswith("#")}
    assert not set(stats) - names
    assert "baregate_cpu_busy_permille " in metrics and 'baregate_build_info{app="nat"' in metrics
    lab.lan.run("promtool", "check", "metrics", stdin=metrics.encode())
    lab.check_no_leak(free, 5)
