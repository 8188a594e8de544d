# SPDX-License-Identifier: BSD-2-Clause
"""fakedns and dns64perf as programs, on the host's loopback, without a gateway."""

import collections
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from labkit.lab import Lab
from labkit.netns import Namespace
from labkit.wait import until

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "build/tools"
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture(scope="module")
def host() -> Iterator[Namespace]:
    """A network namespace with a loopback that has both families; the programs are built."""
    for name in ("fakedns", "dns64perf"):
        subprocess.run([ROOT / "tools" / name, "--help"], stdout=subprocess.DEVNULL, check=True)
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
    done = host.run(*in_there, f"{TOOLS}/dns64perf", *words, timeout=60, check=False)
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


def test_fakedns_conf_with_many_servers(host: Namespace, fakedns: Start, tmp_path: Path) -> None:
    """mtd64-ng's newer fakedns.conf: each server has a port of its own."""
    conf = tmp_path / "fakedns.conf"
    conf.write_text("have-AAAA 1\nnum-servers 3\nstart-port 2053\nstart-cpu 1\ndebug no\n")
    fakedns("--config", str(conf))
    sockets = host.run("ss", "-Hnul").stdout
    assert sorted(map(int, re.findall(r":(\d+) +\S+ *$", sockets, re.M))) == [2053, 2054, 2055], sockets
    assert "2001:db8::a01:203" in dig(host, "@::1", "-p", "2055", NAME, "AAAA", "+short")


def test_fakedns_delays_duplicates(host: Namespace, fakedns: Start) -> None:
    """Both copies of an answer come late."""
    fakedns("--delay", "150", "--duplicate", "1")
    query = bytes.fromhex("abcd01000001000000000000") + b"\x0f010-001-002-003\x09dns64perf\x04test\0\0\x01\0\x01"
    with host.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(5)
        began = time.monotonic()
        client.sendto(query, ("127.0.0.1", 53))
        first = client.recv(512)
        assert time.monotonic() - began >= 0.15
        assert client.recv(512) == first


@pytest.mark.parametrize("option, seen", [
    (("--rcode", "5"), "status: REFUSED"),
    (("--truncate", "1"), r"flags: qr aa tc"),
    (("--wrong-id", "1"), r"ID mismatch|no servers could be reached|timed out"),
    (("--wrong-name", "1"), r"Question section mismatch"),
    (("--loss", "1"), r"no servers could be reached|timed out"),
    (("--delay", "300"), r"Query time: (29\d|[3-7]\d\d) msec"),
    (("--no-edns",), "status: FORMERR"),
])
def test_faults(host: Namespace, fakedns: Start, option: tuple[str, ...], seen: str) -> None:
    """Each fault as dig reports it."""
    fakedns(*option)
    assert re.search(seen, dig(host, "@127.0.0.1", "+ignore", NAME))


def test_perf_is_compatible_with_the_original(host: Namespace, fakedns: Start, tmp_path: Path) -> None:
    """The arguments of four versions of dns64perf++, its output lines, its file."""
    fakedns("--have-aaaa", "1")
    trial = ("::1", "53", "10.0.0.0/16", "100", "5")
    for rest in (("1000000",), ("1000000", "1"), ("2", "1000000", "1.5"), ("2", "3", "1000000", "1.5")):
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
    status, out, _ = perf(host, tmp_path, "--search", "--high", "800", "--step", "100", "--trial", "0.3", "--repeat",
                          "3", "--pause", "0.05", "--timeout", "0.1", "::1", "53", "10.0.0.0/8")
    found = re.search(r"median (\d+)/s, 1st percentile (\d+)/s, 99th percentile (\d+)/s of 3 searches", out)
    assert status == 0 and found is not None
    # The limiter allows a burst of ten, which counts in a short trial.
    assert 300 <= int(found[1]) <= 600 and int(found[2]) <= int(found[1]) <= int(found[3]), out


def test_perf_sends_from_many_ports(host: Namespace, fakedns: Start, tmp_path: Path) -> None:
    """dns64perf++'s ninth argument: each thread sends from so many ports in turn."""
    fakedns("--have-aaaa", "1")
    with host.entered(), socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800)) as tap:
        tap.settimeout(5)
        status, out, _ = perf(host, tmp_path, "--no-csv", "127.0.0.1", "53", "10.0.0.0/16", "40", "1", "2", "5",
                              "1000000", "1.5")
        assert status == 0 and "Valid answers: 40 " in out
        ports: collections.Counter[int] = collections.Counter()
        while ports.total() < 80:  # on loopback each frame appears twice
            packet, where = tap.recvfrom(2000)
            header = (packet[0] & 15) * 4
            if packet[header + 2:header + 4] == b"\0\x35" and where[2] != socket.PACKET_OUTGOING:
                ports[int.from_bytes(packet[header:header + 2], "big")] += 2
    assert len(ports) == 10 and set(ports.values()) == {8}, ports


def names_asked(host: Namespace, tmp_path: Path, log: Path, *words: str) -> tuple[int, list[int]]:
    """dns64perf's exit status, and the numbers in 10.0.0.0/8 of the names that fakedns --debug was asked for."""
    status = perf(host, tmp_path, "--no-csv", *words)[0]
    labels = re.findall(r" (\d+)-(\d+)-(\d+)-(\d+)\.dns64perf", log.read_text())
    return status, [int(a) - 10 << 24 | int(b) << 16 | int(c) << 8 | int(d) for a, b, c, d in labels]


def test_perf_caches_some_names_and_not_others(host: Namespace, tmp_path: Path) -> None:
    """--cached: names that were asked before for this share, names that nobody asked for the others."""
    log = tmp_path / "asked"
    with open(log, "wb") as file:
        server = host.start(f"{TOOLS}/fakedns", "--have-aaaa", "1", "--debug", stdout=file, stderr=file)
        until(lambda: "ready" in log.read_text(), 20, "fakedns to be ready")
        status, asked = names_asked(host, tmp_path, log, "--cached", "0.5", "--skip", "7", "::1", "53", "10.0.0.0/20",
                                    "1000", "10", "1", "2000000", "1")
        server.terminate()
        server.wait()
    assert status == 0 and sorted(asked[:1000]) == list(range(7, 1007))  # the names to be cached
    new = [n for n in asked[1000:] if n >= 1007]
    assert all(7 <= n < 2007 for n in asked) and 400 < len(new) < 600 and len(set(new)) == len(new)


@pytest.mark.parametrize("subnet, requests", [("10.0.0.0/24", "10"), ("10.0.0.0/22", "25")])
def test_perf_cached_needs_names(host: Namespace, tmp_path: Path, subnet: str, requests: str) -> None:
    """A subnet without new names beside those that are cached is refused."""
    status, _, err = perf(host, tmp_path, "--cached", "0.5", "::1", "53", subnet, requests, "1", "1", "1000000", "1")
    assert status == 2 and "names" in err


SHORT = ("--trial", "0.2", "--repeat", "1", "--pause", "0", "--timeout", "0.1")


def test_perf_search_without_an_answer(host: Namespace, tmp_path: Path) -> None:
    """A dead server has no rate, whatever --low is."""
    for low in ("0", "200"):
        status, out, err = perf(host, tmp_path, "--search", *SHORT, "--low", low, "--high", "400", "--step", "200",
                                "::1", "53", "10.0.0.0/8")
        assert status == 1 and "median 0/s" in out and "no trial passed" in out and "1 of 1 searches" in err
    assert re.search("  200/s: 0 of 40 valid", out)


def test_perf_search_says_when_names_repeat(host: Namespace, fakedns: Start, tmp_path: Path) -> None:
    """A subnet too small for all trials is used again, and the output says so; one too small for a trial is refused."""
    fakedns("--have-aaaa", "1")
    words = ("--search", *SHORT[:-2], "--low", "200", "--high", "300", "--step", "100", "::1", "53")
    for subnet, repeats in (("10.0.0.0/8", False), ("10.0.0.0/26", True)):
        status, out, _ = perf(host, tmp_path, *words[:1], "--repeat", "2", *words[1:3], *words[5:], subnet)
        # More than once where a trial was repeated, because this machine was too busy for it.
        assert status == 0 and ("all new names are used up" in out) == repeats, out
    status, _, err = perf(host, tmp_path, *words, "10.0.0.0/27")
    assert status == 2 and "names" in err


def test_perf_self_test(host: Namespace, tmp_path: Path) -> None:
    """RFC 8219 section 9.2.1."""
    status, out, _ = perf(host, tmp_path, "--self-test", "500", "--trial", "0.5")
    assert status == 0 and "passed" in out


def test_wrong_arguments(host: Namespace, tmp_path: Path) -> None:
    """Wrong arguments give a message and status 2."""
    for words in ((), ("::1", "53", "10.0.0.0/8"), ("::1", "53", "10.0.0.0/24", "257", "1", "1", "1000", "1"),
                  ("::1", "53", "10.0.0.0/8", "10", "3", "1", "1000", "1"), ("--prefix", "::/95"), ("--what",),
                  ("::1", "99999", "10.0.0.0/8", "10", "1", "1", "1000", "1"),
                  ("::1", "53", "10.0.0.0/8", "10", "1", "1", "2000", "1000", "1")):
        status, _, err = perf(host, tmp_path, *words)
        assert status == 2 and err
