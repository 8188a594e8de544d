# SPDX-License-Identifier: BSD-2-Clause
"""tools/papers/run --target measures a box through two interfaces: here a router of the host's kernel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools")]

from labkit.netns import Namespace  # noqa: E402

NAME = f"test-target-{os.getpid()}"  # tests run side by side
RULES = b"table ip nat { chain out { type nat hook postrouting priority 100; oifname nic1 masquerade; }; }"


@pytest.fixture(name="tester")
def the_tester() -> Iterator[Namespace]:
    """A namespace with two interfaces, lan0 and wan0, to a NAT router."""
    tester, router = Namespace("tester"), Namespace("router")
    try:
        for number, (name, address) in enumerate((("lan0", "192.168.1.1/24"), ("wan0", "203.0.113.2/24"))):
            tester.ip(f"link add {name} type veth peer name nic{number} netns {router.name}")
            tester.sysctl(f"ipv6.conf.{name}.disable_ipv6", 1)
            tester.ip(f"link set {name} up")
            router.ip(f"link set nic{number} up")
            router.ip(f"address add {address} dev nic{number}")
        router.sysctl("ipv4.ip_forward", 1)
        router.run("nft", "-f", "-", stdin=RULES)
        yield tester
    finally:
        tester.close()
        router.close()
        shutil.rmtree(ROOT / "build" / "papers" / NAME, ignore_errors=True)


def run(tester: Namespace, *words: str) -> subprocess.CompletedProcess[str]:
    program = str(ROOT / "tools" / "papers" / "run")
    return tester.run(program, "--quick", "--name", NAME, *words, check=False, timeout=120)


def test_a_router_is_measured(tester: Namespace) -> None:
    done = run(tester, "--target", "lan0,wan0", "--only", "V-rtt")
    assert done.returncode == 0, done.stderr
    page = (ROOT / "build" / "papers" / NAME / "papers.md").read_text()
    lines = [line.split("|") for line in page.splitlines() if line.startswith("| 1,460 |")]
    assert 0 < float(lines[0][6]) < 100, page  # the box's round trip in ms
    # What is kept is not measured again.
    again = run(tester, "--target", "lan0,wan0", "--only", "V-rtt")
    assert again.returncode == 0 and "figures" not in again.stderr


@pytest.mark.parametrize("words, said", [
    (("--target", "lan0"), "no interface ''"),
    (("--target", "lan0,eth77"), "no interface 'eth77'"),
    (("--target", "lan0,lan0"), "must be two"),
    (("--target", "lan0,wan0", "--only", "XII"), "no part XII"),
    (("--target", "lan0,wan0", "--write"), "--write and --save are for"),
    (("--target", "lan0,wan0", "--name", "../x"), "one word"),
])  # fmt: skip
def test_wrong_targets_are_refused(tester: Namespace, words: tuple[str, ...], said: str) -> None:
    done = run(tester, *words)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
