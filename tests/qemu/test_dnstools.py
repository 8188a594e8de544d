# SPDX-License-Identifier: BSD-2-Clause
"""fakedns and dns64perf as programs, on the host's loopback, without a gateway."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from labkit.lab import Lab
from labkit.netns import Namespace
from labkit.wait import until

TOOLS = os.path.join(os.path.dirname(__file__), "../../tools")
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture(scope="module")
def host() -> Iterator[Namespace]:
    """A network namespace with a loopback that has both families."""
    with Lab(()) as lab:
        lab.lan.sysctl("ipv6.conf.all.disable_ipv6", 0)
        lab.lan.sysctl("ipv6.conf.lo.disable_ipv6", 0)
        lab.lan.ip("address add 127.0.0.2/8 dev lo")
        yield lab.lan


@pytest.fixture
def fakedns(host: Namespace, tmp_path: Path) -> Iterator[Start]:
    """A function that starts fakedns with these options, on all addresses; it answers when the function returns."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*options: str) -> "subprocess.Popen[bytes]":
        log = tmp_path / f"fakedns{len(started)}"
        with open(log, "wb") as file:
            started.append(host.start(f"{TOOLS}/fakedns", *options, stderr=file))
        until(lambda: "ready" in log.read_text(), 20, "fakedns to be ready")
        return started[-1]

    yield start
    for process in started:
        process.terminate()
        process.wait()


def dig(host: Namespace, *words: str) -> str:
    """The output of dig with these arguments; one attempt of a second."""
    return host.run("dig", "+tries=1", "+time=1", *words, check=False).stdout


def perf(host: Namespace, where: Path, *words: str) -> tuple[int, str, str]:
    """dns64perf's exit status, standard output and standard error."""
    in_there = ("sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", str(where))
    done = host.run(*in_there, os.path.abspath(f"{TOOLS}/dns64perf"), *words, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


NAME = "010-1-2-3.dns64perf.test"


def test_fakedns_answers(host: Namespace, fakedns: Start) -> None:
    """The answer is the address in the name, from the address that was queried, in both families."""
    fakedns("--ttl", "5")
    for server in ("127.0.0.2", "::1"):
        assert re.search(r"010-1-2-3\.dns64perf\.test\.\s+5\s+IN\s+A\s+10\.1\.2\.3\n", dig(host, f"@{server}", NAME))
        said = dig(host, f"@{server}", NAME, "AAAA")
        assert "status: NOERROR" in said and "ANSWER: 0" in said and "SOA" in said
        assert "010-001-002-003.dns64perf.test." in dig(host, f"@{server}", "-x", "10.1.2.3", "+short")
        assert "status: NXDOMAIN" in dig(host, f"@{server}", "www.dns64perf.test")


def test_fakedns_conf(host: Namespace, fakedns: Start, tmp_path: Path) -> None:
    """mtd64-ng's fakedns.conf."""
    conf = tmp_path / "fakedns.conf"
    conf.write_text("# of the names\nhave-AAAA 1\nnum-threads 2\nport 5353 // not 53\ndebug no\n")
    fakedns("--config", str(conf))
    assert "2001:db8::a01:203" in dig(host, "@::1", "-p", "5353", NAME, "AAAA", "+short")


@pytest.mark.parametrize("option, seen", [
    (("--rcode", "5"), "status: REFUSED"),
    (("--truncate", "1"), r"flags: qr aa tc"),
    (("--wrong-id", "1"), r"ID mismatch|no servers could be reached|timed out"),
    (("--wrong-name", "1"), r"Question section mismatch"),
    (("--loss", "1"), r"no servers could be reached|timed out"),
    (("--delay", "300"), r"Query time: (299|[3-7]\d\d) msec"),
    (("--no-edns",), "status: FORMERR"),
])
def test_faults(host: Namespace, fakedns: Start, option: tuple[str, ...], seen: str) -> None:
    """Each fault as dig reports it."""
    fakedns(*option)
    assert re.search(seen, dig(host, "@127.0.0.1", "+ignore", NAME))


def test_perf_is_compatible_with_the_original(host: Namespace, fakedns: Start, tmp_path: Path) -> None:
    """The arguments of three versions of dns64perf++, its output lines, its file."""
    fakedns("--have-aaaa", "1")
    trial = ("::1", "53", "10.0.0.0/16", "100", "5")
    for rest in (("1000000",), ("1000000", "1"), ("2", "1000000", "1.5")):
        status, out, err = perf(host, tmp_path, *trial, *rest)
        assert status == 0
        lines = [r"Sent queries: 100", r"Received answers: 100 \(100\.00%\)", r"Valid answers: 100 \(100\.00%\)",
                 r"Average round-trip time: \d+\.\d\d ms", r"Standard deviation of the round-trip time: \d+\.\d\d ms"]
        assert re.fullmatch("\n".join(lines) + "\n", out)
        assert re.search(r"Full timer execution took \d+ ns, \d+\.\d\d% of specified\.", err)
    csv = (tmp_path / "dns64perf.csv").read_text().splitlines()
    assert csv[8] == "query;thread id;tsent [ns];treceived [ns];received;answered;rtt [ns]" and len(csv) == 109
    first, last = csv[9].split(";"), csv[-1].split(";")
    assert first[:2] == ["010-000-000-000.dns64perf.test.", "0"]
    assert last[:2] == ["010-000-000-099.dns64perf.test.", "1"]
    assert all(int(line.split(";")[3]) - int(line.split(";")[2]) == int(line.split(";")[6]) for line in csv[9:])


def valid(out: str) -> int:
    """The number of answers to 200 queries that dns64perf counts as valid."""
    return int(re.findall(r"Valid answers: (\d+) ", out)[0])


@pytest.mark.parametrize("faults, options, least, most", [
    (("--have-aaaa", "0"), (), 0, 0),
    (("--have-aaaa", "1"), ("--prefix", "2001:db8::/96"), 200, 200),
    (("--have-aaaa", "1"), ("--prefix", "64:ff9b::/96"), 0, 0),
    (("--have-aaaa", "1"), ("--prefix", "64:ff9b::/96", "--any-content"), 200, 200),
    (("--have-aaaa", "1", "--loss", "0.3"), (), 100, 180),
    (("--have-aaaa", "1", "--wrong-id", "1"), (), 0, 0),
    (("--have-aaaa", "1", "--wrong-name", "1"), (), 0, 0),
    (("--have-aaaa", "1", "--rcode", "2"), (), 0, 0),
    (("--have-aaaa", "1", "--duplicate", "1"), (), 200, 200),
    (("--have-aaaa", "1", "--delay", "400"), (), 0, 0),
])
def test_perf_judges(host: Namespace, fakedns: Start, tmp_path: Path, faults: tuple[str, ...],
                     options: tuple[str, ...], least: int, most: int) -> None:
    """Late answers, wrong answers and errors do not count, and the exit status reports them."""
    fakedns(*faults)
    status, out, _ = perf(host, tmp_path, "--no-csv", *options, "::1", "53", "10.0.0.0/8", "200", "1", "1", "500000",
                          "0.25")
    assert least <= valid(out) <= most and status == (valid(out) != 200)
    assert not (tmp_path / "dns64perf.csv").exists()


def test_perf_searches(host: Namespace, fakedns: Start, tmp_path: Path) -> None:
    """RFC 8219 section 9.2: the median over several searches of the highest rate without a loss."""
    fakedns("--have-aaaa", "1", "--limit", "500")
    status, out, _ = perf(host, tmp_path, "--search", "--high", "1600", "--step", "100", "--trial", "0.3", "--repeat",
                          "3", "--pause", "0.05", "--timeout", "0.3", "::1", "53", "10.0.0.0/8")
    found = re.search(r"median (\d+)/s, 1st percentile (\d+)/s, 99th percentile (\d+)/s of 3 searches", out)
    assert status == 0 and found is not None
    # The limiter allows a burst of ten, which counts in a short trial.
    assert 300 <= int(found[1]) <= 600 and int(found[2]) <= int(found[1]) <= int(found[3]), out


def test_perf_self_test(host: Namespace, tmp_path: Path) -> None:
    """RFC 8219 section 9.2.1."""
    status, out, _ = perf(host, tmp_path, "--self-test", "500", "--trial", "0.5")
    assert status == 0 and "passed" in out


def test_wrong_arguments(host: Namespace, tmp_path: Path) -> None:
    """Wrong arguments give a message and status 2."""
    for words in ((), ("::1", "53", "10.0.0.0/8"), ("::1", "53", "10.0.0.0/24", "257", "1", "1", "1000", "1"),
                  ("::1", "53", "10.0.0.0/8", "10", "3", "1", "1000", "1"), ("--prefix", "::/95"), ("--what",)):
        status, _, err = perf(host, tmp_path, *words)
        assert status == 2 and err
