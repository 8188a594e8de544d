# SPDX-License-Identifier: BSD-2-Clause
"""docs/adding.md: its example of an application is complete. It compiles, passes the checks, and forwards packets."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("Makefile", "README.md", ".clang-format",
           "apps", "boot", "docs", "drivers", "kernel", "net", "tests", "tools")
BLOCK = re.compile(r"^```\w+ (\S+/\S+)\n(.*?)^```$", re.M | re.S)

CONFIG = """\
lan.address 192.168.1.1/24
wan.address 203.0.113.1/24
neighbour 203.0.113.9 02:00:00:00:00:09
guard.port 23
guard.port 25
"""
LAN_MAC = "02:00:00:00:00:01"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the project with the example in it, and with what is compiled already."""
    folder = tmp_path_factory.mktemp("adding")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "corpus"))
        else:
            shutil.copy2(source, folder / name)
    (folder / "build").mkdir()
    (folder / "images").mkdir()
    for build in ("made-with", "drops.def", "host64", "image"):
        if (ROOT / "build" / build).exists():
            subprocess.run(["cp", "-a", ROOT / "build" / build, folder / "build"], check=True)
    for path, text in blocks():
        target = folder / path
        target.parent.mkdir(exist_ok=True)
        target.write_text(target.read_text() + text if target.exists() else text)
    yield folder
    shutil.rmtree(folder)


def blocks() -> list[tuple[str, str]]:
    return BLOCK.findall((ROOT / "docs/adding.md").read_text())


def make(project: Path, *targets: str) -> None:
    done = subprocess.run(["make", "-s", "-j2", *targets], cwd=project, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout[-3000:]


def simulate(project: Path, *commands: str) -> list[str]:
    """What a simulator answers to commands after it has started the example."""
    lines = [f"config {line}" for line in CONFIG.splitlines()] + ["start guard", *commands]
    done = subprocess.run([project / "build/host64/gwsim"], input="\n".join(lines) + "\n", text=True,
                          stdout=subprocess.PIPE, check=True)
    answer = done.stdout.splitlines()
    assert not [line for line in answer if line.startswith("error")], answer
    return answer


def packet(segment: TCP | UDP) -> str:
    frame = Ether(dst=LAN_MAC, src="02:00:00:00:00:99") / IP(src="192.168.1.9", dst="203.0.113.9") / segment
    return f"rx lan {bytes(frame).hex()}"


def sent(answer: list[str]) -> list[Ether]:
    """Frames that left the WAN, but for ARP."""
    frames = [Ether(bytes.fromhex(line.split()[2])) for line in answer if line.startswith("tx wan")]
    return [frame for frame in frames if IP in frame]


def test_the_page_has_one_folder_and_one_line() -> None:
    paths = [path for path, _ in blocks()]
    inside = [path for path in paths if path.startswith("apps/guard/")]
    outside = [(path, text) for path, text in blocks() if path not in inside]
    assert inside == ["apps/guard/sources.mk", "apps/guard/README.md", "apps/guard/drops.def", "apps/guard/guard.c"]
    assert [path for path, _ in outside] == ["apps/apps.def"]
    assert outside[0][1].count("\n") == 1


def test_it_passes_packets(project: Path) -> None:
    make(project, "build/host64/gwsim")
    answer = simulate(project, packet(TCP(sport=1000, dport=80)), packet(TCP(sport=1000, dport=23)),
                      packet(UDP(sport=1000, dport=25)), packet(UDP(sport=1000, dport=53)), "stats", "print")
    frames = sent(answer)
    assert [(frame[IP].payload.dport, frame[IP].ttl, frame.dst) for frame in frames] == [
        (80, 63, "02:00:00:00:00:09"), (53, 63, "02:00:00:00:00:09")]
    for frame in frames:
        again = IP(bytes(frame[IP]))
        del again.chksum
        assert IP(bytes(again)).chksum == frame[IP].chksum
    assert 'guard_passed{if="lan"} 2' in answer
    assert 'guard_passed{if="wan"} 0' in answer
    assert 'drop{reason="guarded-port"} 2' in answer
    assert [line for line in answer if line.startswith("guard.port")] == ["guard.port 23", "guard.port 25"]


def test_it_is_in_the_image(project: Path) -> None:
    make(project, "image")
    image = (project / "images/gateway.elf").read_bytes()
    assert b"guard: an IPv4 router that refuses some ports\0" in image
    assert b"guard.port\0" in image
    assert b"guarded-port\0" in image


def test_it_passes_the_checks(project: Path) -> None:
    checks = ["format", "arrows", "circles", "drops", "sizes", "stems"]
    done = subprocess.run([ROOT / "tools/lint/run", "--root", project, *checks], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
