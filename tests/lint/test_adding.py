# SPDX-License-Identifier: BSD-2-Clause
"""docs/adding.md: its examples of a forwarder and of a service are complete. They compile, pass the checks, and run."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet

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
# Two networks inside, so that nothing of the examples counts to two.
CONFIG2 = CONFIG + """\
lan2 nic2
lan2.address 192.168.2.1/24
neighbour 192.168.1.9 02:00:00:00:00:99
neighbour 192.168.2.9 02:00:00:00:00:29
"""
MAC = {"lan": "02:00:00:00:00:01", "wan": "02:00:00:00:00:02", "lan2": "02:00:00:00:00:03"}
HOST = {"lan": "192.168.1.9", "wan": "203.0.113.9", "lan2": "192.168.2.9"}
OWN = {"lan": "192.168.1.1", "wan": "203.0.113.1", "lan2": "192.168.2.1"}
DNS = "serve dns64\ndns64.cache 0\nnameserver 203.0.113.9\n"
ADDED = {
    "apps/guard/": (["sources.mk", "README.md", "drops.def", "guard.c"], "apps/apps.def"),
    "apps/uptime/": (["sources.mk", "README.md", "drops.def", "uptime.c"], "apps/services.def"),
}


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
    for build in ("made-with", "drops.def", "counts.def", "host64", "image"):
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


def simulate(project: Path, config: str, *commands: str) -> list[str]:
    """What a simulator answers to commands after it has started the example."""
    lines = [f"config {line}" for line in config.splitlines()] + ["start guard", *commands]
    done = subprocess.run([project / "build/host64/gwsim"], input="\n".join(lines) + "\n", text=True,
                          stdout=subprocess.PIPE, check=True)
    answer = done.stdout.splitlines()
    assert not [line for line in answer if line.startswith("error")], answer
    return answer


def packet(segment: Packet, port: str = "lan", target: str = "203.0.113.9") -> str:
    frame = Ether(dst=MAC[port], src="02:00:00:00:00:99") / IP(src=HOST[port], dst=target) / segment
    return f"rx {port} {bytes(frame).hex()}"


def sent(answer: list[str], port: str = "wan") -> list[Ether]:
    """Frames that left an interface, but for ARP."""
    frames = [Ether(bytes.fromhex(line.split()[2])) for line in answer if line.startswith(f"tx {port} ")]
    return [frame for frame in frames if IP in frame]


@pytest.fixture(scope="module")
def program(project: Path) -> Path:
    make(project, "build/host64/gwsim")
    return project


def test_each_example_is_one_folder_and_one_line() -> None:
    paths = [path for path, _ in blocks()]
    for folder, (files, lines) in ADDED.items():
        assert [path for path in paths if path.startswith(folder)] == [folder + name for name in files]
        assert [text.count("\n") for path, text in blocks() if path == lines] == [1]
    assert len(paths) == sum(len(files) + 1 for files, _ in ADDED.values())


def test_the_forwarder_passes_packets(program: Path) -> None:
    answer = simulate(program, CONFIG, packet(TCP(sport=1000, dport=80)), packet(TCP(sport=1000, dport=23)),
                      packet(UDP(sport=1000, dport=25)), packet(UDP(sport=1000, dport=53)), "stats", "print")
    frames = sent(answer)
    assert [(frame[IP].payload.dport, frame[IP].ttl, frame.dst) for frame in frames] == [
        (80, 63, "02:00:00:00:00:09"), (53, 63, "02:00:00:00:00:09")]
    for frame in frames:
        again = IP(bytes(frame[IP]))
        del again.chksum
        assert IP(bytes(again)).chksum == frame[IP].chksum
    assert 'guard_passed{to="outside"} 2' in answer
    assert 'guard_passed{to="inside"} 0' in answer
    assert 'drop{reason="guarded-port"} 2' in answer
    assert [line for line in answer if line.startswith("guard.port")] == ["guard.port 23", "guard.port 25"]


def test_the_forwarder_has_any_number_of_networks(program: Path) -> None:
    answer = simulate(program, CONFIG2, packet(UDP(sport=1, dport=7), "lan", HOST["lan2"]),
                      packet(UDP(sport=1, dport=7), "lan2", HOST["lan"]), packet(UDP(sport=1, dport=7), "lan2"),
                      packet(UDP(sport=1, dport=7), "wan", HOST["lan2"]), "stats")
    assert [len(sent(answer, port)) for port in ("lan", "wan", "lan2")] == [1, 1, 2]
    assert 'guard_passed{to="inside"} 3' in answer and 'guard_passed{to="outside"} 1' in answer


def test_the_service_answers_the_inside(program: Path) -> None:
    """Over UDP and TCP, on each of our addresses, and beside another service."""
    syn = TCP(sport=2000, dport=13, flags="S", seq=100)
    for more in ("serve uptime\n", "serve uptime\n" + DNS):
        answer = simulate(program, CONFIG2 + more, "time 7", packet(UDP(sport=2000, dport=13), "lan", OWN["lan"]),
                          packet(UDP(sport=2000, dport=13), "lan2", OWN["wan"]),
                          packet(UDP(sport=13, dport=13), "lan", OWN["lan"]), packet(syn, "lan2", OWN["lan2"]), "stats")
        [datagram] = sent(answer, "lan")
        assert bytes(datagram[UDP].payload).startswith(b"up for ")
        other, opening = sent(answer, "lan2")
        assert (other[IP].src, other[UDP].sport) == (OWN["wan"], 13) and opening[TCP].flags == "SA"
        assert "uptime_answers 2" in answer and 'drop{reason="uptime-server"} 1' in answer
        assert ("dns_queries 0" in answer) == ("dns64" in more)


def test_the_service_answers_on_a_connection(program: Path) -> None:
    """What it writes and its FIN come at once; the client's first segment after the SYN-ACK opens the connection."""
    syn = packet(TCP(sport=2000, dport=13, flags="S", seq=100), "lan", OWN["lan"])
    first = simulate(program, CONFIG2 + "serve uptime\n", syn)
    number = sent(first, "lan")[0][TCP].seq
    ack = packet(TCP(sport=2000, dport=13, flags="A", seq=101, ack=number + 1), "lan", OWN["lan"])
    answer = simulate(program, CONFIG2 + "serve uptime\n", syn, ack, "stats")
    data = b"".join(bytes(frame[TCP].payload) for frame in sent(answer, "lan"))
    assert data.startswith(b"up for ") and data.rstrip(b"\0").endswith(b"\r\n")
    assert "F" in sent(answer, "lan")[-1][TCP].flags and "uptime_answers 1" in answer


def test_the_service_is_not_there_for_the_outside(program: Path) -> None:
    answer = simulate(program, CONFIG2 + "serve uptime\n", packet(UDP(sport=2000, dport=13), "wan", OWN["wan"]),
                      packet(TCP(sport=2000, dport=13, flags="S"), "wan", OWN["wan"]), "stats")
    assert sent(answer) == [] and "uptime_answers 0" in answer and 'drop{reason="no-service"} 2' in answer


def test_two_services_on_one_port(program: Path) -> None:
    for more, error in ((DNS + "serve uptime\nuptime.port 53\n", "error uptime.port: another service has it"),
                        ("serve uptime\nserve uptime\n", "error serve: uptime is given twice"),
                        ("serve uptim\n", 'error serve: unknown "uptim", nearest: uptime '
                                         "(there are: dns64, dns, http, uptime)")):
        lines = [f"config {line}" for line in (CONFIG2 + more).splitlines()] + ["start guard"]
        done = subprocess.run([program / "build/host64/gwsim"], input="\n".join(lines) + "\n", text=True,
                              stdout=subprocess.PIPE, check=True)
        errors = [line for line in done.stdout.splitlines() if line.startswith("error")]
        assert errors and errors[0].startswith(error), errors


def test_they_are_in_the_image(project: Path) -> None:
    make(project, "image")
    image = (project / "images/gateway.elf").read_bytes()
    assert b"guard: an IPv4 router that refuses some ports\0" in image
    assert b"guard.port\0" in image
    assert b"guarded-port\0" in image
    assert b"uptime.port: another service has it\0" in image
    assert b"uptime-server\0" in image


def test_they_pass_the_checks(project: Path) -> None:
    checks = ["format", "arrows", "circles", "drops", "sizes", "stems"]
    done = subprocess.run([ROOT / "tools/lint/run", "--root", project, *checks], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
