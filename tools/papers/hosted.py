#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The parts with real hosts: network namespaces with ping, iperf3, curl and nginx, and gateways between them.

    hosted.py --part V-tcp --effort quick --image FILE --out FILE

A program of its own, which tools/papers/run starts, because it moves into private namespaces.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "bench"), str(HERE.parent)]

import apart
import bulk
import guest
import names
import voip
from labkit import linuxguest, sandbox
from labkit.lab import FAR_SERVER, Lab
from labkit.netns import CommandFailed, end_process
from labkit.wait import Timeout, until
from results import EFFORTS, Effort, Figure
from steps import CLOCK, STEP_RUNS, WAYS, steps

ROOT = HERE.parent.parent
NIC = "e1000"
TCP_SIZES = [128, 256, 512, 768, 1024, 1280, 1460]  # table V: bytes of the IP packet
NAT_FILES = [8, 16, 32, 64]  # table VI, KB
SITE_FILES = [4, 8, 16, 32, 64, 100, 120, 150]  # tables VIII and IX, KB
# Tables XII and XV, Mbit/s behind. Table XII ends at 90.
LOADS = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 120, 140, 160, 180, 200]
START_S = 240  # on a busy machine a Linux guest needs minutes
# The quantities of a group of fetches, of pings and of calls, in the order in which they are noted.
FETCHED = ("connection, ms", "response, ms", "whole file, ms")
PINGED = ("ping6, ms", "ping6 lost, %", "vCPU above idle, %", "came through, Mbit/s")
CALLED = ("call set-up, ms", "jitter, ms", "RTP, kbit/s", "RTP lost, %", "RTP late, %", "MOS")
FETCHES = 20
CALL_S = 5  # length of a call
CALL_BYTES = voip.CALLS * voip.PACKETS_S * CALL_S * (voip.RTP_BYTES + 62)  # with Ethernet, IPv6 and UDP
# With up to three gateways on one core, less is behind than in the paper, and few points are measured.
APART_FILES, APART_BEHIND, APART_LOADS = [4, 32, 150], 10, [10, 20, 30]
APART_CALLS, APART_CALL_RUNS = [10, 30], 2
STEPS_S = 6  # of each protocol so long; the gateway times a packet in 20 ms on average
CARRIED = 0.9  # the share of the traffic behind that must come through
NGINX = "/usr/sbin/nginx"
IP_AND_TCP = 40
LINK_MBIT = 100  # of the paper's links
TCP_LIMITED = f"TCP over links of {LINK_MBIT} Mbit/s, Mbit/s"
GSO_SEGS = 65535  # the kernel's own limit
ON_WIRE = 24  # bytes of a frame on Ethernet that the kernel does not count: preamble, check sequence, gap
BACKGROUND = 1232  # bytes of payload of a background packet: 1,280 with IPv6 and UDP
FAILED = (guest.GuestError, CommandFailed, Timeout, OSError, KeyError, ValueError, IndexError)


@dataclass
class Place:
    """The hosts around the gateway (or the pair of them) of one row."""

    part: str
    lab: Lab
    net: bulk.Net
    gateways: list[guest.Guest]
    core: int
    figures: list[Figure]
    name: str  # of its figures
    keep: Callable[[], None]  # writes down what was measured; called after each repetition

    def add(self, what: str, x: float, run: int, value: float, void: str = "") -> None:
        self.figures.append(Figure(self.part, self.name, what, x, run, value, void))

    def pinned(self, *words: str) -> list[str]:
        return ["taskset", "-c", str(self.core), *words]

    def vcpu_seconds(self) -> float:
        """Time that the first gateway's vCPU thread has run, by the scheduler: ticks would miss its short turns."""
        one = self.gateways[0]
        assert one.process is not None
        text = Path(f"/proc/{one.process.pid}/task/{one.vcpu}/schedstat").read_text(encoding="ascii")
        return int(text.split()[0]) / 1e9

    def received(self) -> int:
        """Bytes of all frames that have reached the server."""
        links = json.loads(self.net.server.ip("-s -j link show"))
        return sum(int(link["stats64"]["rx"]["bytes"]) for link in links if link["ifname"] != "lo")

    def failed(self, whats: Iterable[str], x: float, run: int, error: Exception) -> None:
        """Notes why these quantities could not be measured."""
        for what in whats:
            self.add(what, x, run, float("nan"), reason_of(error))


def reason_of(error: Exception) -> str:
    """What an error says, in a line. A failed command says its status first, and then why."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return lines[0] if len(lines) == 1 else f"{lines[0]}: {lines[-1]}"


class Carried:
    """How much of the traffic behind comes through while something else is measured."""

    def __init__(self, here: Place, mbit: float) -> None:
        self.here, self.mbit = here, mbit
        self.began, self.before = time.monotonic(), here.received()

    def passed(self, other: int = 0) -> float:
        """Mbit/s that reached the server since the start, without so many other bytes. A second at least: the sender
        is not steady within one."""
        lasted = time.monotonic() - self.began
        if lasted < 1:
            time.sleep(1 - lasted)
            lasted = 1.0
        return (self.here.received() - self.before - other) * 8e-6 / lasted

    def void(self, other: int = 0) -> str:
        """Why what was measured does not count; `other` are the bytes of what was measured itself."""
        passed = self.passed(other)
        return f"only {max(0.0, passed):.0f} Mbit/s came through" if passed < self.mbit * CARRIED else ""


@contextlib.contextmanager
def place(
    part: str, row: guest.Row, setup: guest.Setup, figures: list[Figure], keep: Callable[[], None],
    words: tuple[str, ...] = (),
) -> Iterator[Place]:  # fmt: skip
    """Most rows: one gateway between LAN and WAN. 6to4 rows: two of the same kind, a host behind each. `words` are more
    of QEMU's command."""
    pair = row.path == "6to4"
    with Lab((NIC,) * (3 if pair else 2)) as lab, contextlib.ExitStack() as stack:
        taps = [port.tap for port in lab.ports]
        gateways = [guest.Guest(row, setup, Path(lab.directory), (taps[0], taps[1]), words=words)]
        if pair:
            far = bulk.far_tap(lab, False)
            stack.callback(os.close, far)
            far_taps = (taps[2], far)
            gateways.append(guest.Guest(row, setup, Path(lab.directory), far_taps, guest.FAR_WAN_ADDRESS, words))
        for one in gateways:
            stack.callback(one.stop)
            one.start(START_S)
        if row.path == "wire":
            # The floor only moves frames: LAN and WAN are one network.
            lab.lan.ip("address add 203.0.113.7/24 dev lan0")
            lab.lan.ip(f"route replace {FAR_SERVER} via 203.0.113.1")
            net = bulk.Net(lab.lan, lab.wan, FAR_SERVER)
        else:
            net = bulk.address_sites(lab) if pair else bulk.address_hosts(lab, row)
        lab.wait_ping(net.address, timeout=60)
        yield Place(part, lab, net, gateways, setup.cores[1], figures, row.name, keep)


@contextlib.contextmanager
def place_apart(name: str, setup: guest.Setup, figures: list[Figure], keep: Callable[[], None]) -> Iterator[Place]:
    """A combination of tables VIII to XV, with a far gateway that is always ours."""
    with apart.sites(name, setup) as there:
        yield Place("apart", there.lab, there.net, there.gateways, setup.cores[1], figures, name, keep)


Where = contextlib.AbstractContextManager[Place]


# ---- what is measured in a place ----


def iperf3_server(here: Place, port: int = 5201) -> subprocess.Popen[bytes]:
    """Starts iperf3 on the server, which listens when this returns; it ends with the place at the latest."""
    process = here.net.server.start(*here.pinned("iperf3", "--server", "--port", str(port)))
    here.net.server.wait_port(port)
    return process


def tcp_by_size(here: Place, effort: Effort) -> None:
    """Table V: 16 connections of iperf3, with segments of the paper's packet sizes; also over links of its speed."""
    iperf3_server(here)
    seconds = max(2.0, effort.seconds)
    for run in range(effort.runs):
        for size in effort.points(TCP_SIZES):
            words = ["--parallel", "16", "--set-mss", str(int(size) - IP_AND_TCP)]
            links = (("TCP, Mbit/s", contextlib.nullcontext()), (TCP_LIMITED, limited(here.lab)))
            for what, kind in effort.first(links, 1):
                try:
                    with kind:
                        moved = bulk.transfer(here.net, here.gateways[0], seconds, words)
                    here.add(what, size, run, moved.gigabytes * 8000 / moved.seconds)
                except FAILED as error:
                    here.failed([what], size, run, error)
        here.keep()


@contextlib.contextmanager
def limited(lab: Lab) -> Iterator[None]:
    """What LAN and WAN send goes through a token bucket of LINK_MBIT (tc-tbf(8)), in single frames, since the bucket
    counts ON_WIRE once for each packet of the kernel."""
    ends = ((lab.lan, "lan0"), (lab.wan, "wan0"))
    bucket = f"rate {LINK_MBIT}mbit burst 32kb latency 50ms overhead {ON_WIRE}"
    try:
        for host, device in ends:
            host.ip(f"link set {device} gso_max_segs 1")
            host.run("tc", "qdisc", "replace", "dev", device, "root", *f"tbf {bucket}".split())
        yield
    finally:
        for host, device in ends:
            host.run("tc", "qdisc", "del", "dev", device, "root", check=False)
            host.ip(f"link set {device} gso_max_segs {GSO_SEGS}")


def steps_of_protocols(where: Callable[[], Where], effort: Effort, figures: list[Figure]) -> None:
    """Table XVI. The console's means are since the start, so each repetition has a guest of its own, which `where`
    starts."""
    for run in range(min(effort.runs, STEP_RUNS)):
        try:
            with where() as here:
                protocol_steps(here, run)
                here.keep()
        except FAILED as error:
            whats = ("tcp, cycles", "icmp, cycles")
            figures += [Figure("XVI", "ivi", what, x, run, float("nan"), reason_of(error))
                        for what in whats for x in (WAYS["4to6"], WAYS["6to4"])]  # fmt: skip


def protocol_steps(here: Place, run: int) -> None:
    """The steps of ICMP and of TCP, of packets between an IPv6 and an IPv4 host."""
    ping = ["ping", "-q", "-n", "-i", "0.002", "-c", str(STEPS_S * 500), here.net.address]
    here.net.client.run(*here.pinned(*ping), timeout=STEPS_S * 10)
    iperf3_server(here)
    bulk.transfer(here.net, here.gateways[0], STEPS_S, [])
    for step in steps(here.gateways[0].console("timings")):
        if step.name in ("icmp", "tcp"):
            here.add(step.what, WAYS[step.way], run, float(step.mean), step.void)


@contextlib.contextmanager
def web(here: Place, files: list[int]) -> Iterator[str]:
    """nginx on the server, with a file of each size in KB; gives the address as it stands in a URL."""
    if not Path(NGINX).exists():
        raise CommandFailed(f"{NGINX} is missing: tools/deps installs it")
    folder = Path(here.lab.directory)
    (folder / "web").mkdir(exist_ok=True)
    for size in files:
        (folder / "web" / str(size)).write_bytes(os.urandom(size * 1024))
    os.chmod(folder, 0o755)
    six = ":" in here.net.address
    conf = here.lab.file("nginx.conf", f"""
        user root; daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
        events {{ worker_connections 256; }}
        http {{ access_log off; client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2;
               fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
               server {{ listen {"[::]:80 ipv6only=on" if six else "80"}; root {folder}/web; }} }}
        """)
    server = here.net.server.start(*here.pinned(NGINX, "-p", str(folder), "-c", conf))
    try:
        here.net.server.wait_port(80)
        yield f"[{here.net.address}]" if six else here.net.address
    finally:
        end_process(server)


def fetches(here: Place, files: list[int], effort: Effort, mbit: int) -> None:
    """Time of a TCP connection, and from the request to the first byte of the answer, by the size of the file. With
    `mbit` IPv6 traffic in the background."""
    with web(here, files) as host, background(here, mbit):
        for run in range(effort.runs):
            for size in effort.points(files):
                command = ["curl", "--silent", "--max-time", "10", "--header", "Connection: close"]
                command += ["--write-out", "%{time_connect} %{time_pretransfer} %{time_starttransfer} %{time_total} "
                            "%{size_download}\\n"]
                for _ in range(FETCHES):
                    command += ["--output", "/dev/null", f"http://{host}/{int(size)}"]
                try:
                    behind = Carried(here, mbit)
                    lines = here.net.client.run(*here.pinned(*command), timeout=240).stdout.splitlines()
                    took = [[float(word) for word in line.split()] for line in lines]
                    wrong = sum(one[4] != size * 1024 for one in took)
                    void = behind.void()
                    if wrong or len(took) != FETCHES:
                        void = f"{wrong} of {len(took)} files incomplete"
                    values = [[one[0] for one in took], [one[2] - one[1] for one in took], [one[3] for one in took]]
                    for what, times in zip(FETCHED, values, strict=True):
                        here.add(what, size, run, middle(times) * 1000, void)
                except FAILED as error:
                    here.failed(FETCHED, size, run, error)
            here.keep()


def middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


@contextlib.contextmanager
def background(here: Place, mbit: int) -> Iterator[None]:
    """UDP in IPv6 (or IPv4 where the hosts have no IPv6) from the client to the server, in packets of 1,280 bytes."""
    if mbit == 0:
        yield
        return
    port = 5202
    server = iperf3_server(here, port)
    words = ["iperf3", "--client", here.net.address, "--port", str(port), "--udp", "--bitrate", f"{mbit}M"]
    sender = here.net.client.start(*here.pinned(*words, "--length", str(BACKGROUND), "--time", "600"))
    try:
        before = here.received()
        until(lambda: here.received() > before + 20 * BACKGROUND, 10, "the traffic behind to begin")
        yield
    finally:
        end_process(sender)
        end_process(server)


def pings(here: Place, effort: Effort, loads: list[float]) -> None:
    """Tables XII and XV: ping6 of 1,400 bytes and the processor's time, by the traffic behind."""
    count = 30 if effort.quick else 100
    idle = busy_share(here, lambda: here.net.client.run("sleep", "2"))
    for run in range(effort.runs):
        for load in loads:
            try:
                with background(here, int(load)):
                    pings_at(here, load, run, count, idle)
            except FAILED as error:
                here.failed(PINGED, load, run, error)
        here.keep()


def pings_at(here: Place, load: float, run: int, count: int, idle: float) -> None:
    """One repetition at one load. `idle` is the vCPU's share without traffic."""
    words = ["ping", "-q", "-n", "-c", str(count), "-i", "0.02", "-s", "1400", here.net.address]
    said: list[str] = []

    def ask() -> None:
        said.append(here.net.client.run(*here.pinned(*words), check=False).stdout)

    here.net.client.run(*here.pinned("ping", "-q", "-c", "5", "-i", "0.1", here.net.address), check=False)
    behind = Carried(here, load)
    busy = busy_share(here, ask)
    passed = behind.passed()
    found = re.search(r"= [\d.]+/([\d.]+)/", said[0])
    lost = re.search(r"([\d.]+)% packet loss", said[0])
    void = behind.void() if found else "no answers"
    took, share, above, came = PINGED
    here.add(took, load, run, float(found[1]) if found else float("nan"), void)
    here.add(share, load, run, float(lost[1]) if lost else float("nan"), "" if lost else "ping says no loss")
    here.add(above, load, run, max(0.0, busy - idle) * 100, void)
    here.add(came, load, run, passed)


def busy_share(here: Place, act: Callable[[], object]) -> float:
    """The share of the time of `act` that the first gateway's vCPU ran."""
    began, before = time.monotonic(), here.vcpu_seconds()
    act()
    return (here.vcpu_seconds() - before) / (time.monotonic() - began)


def calls(here: Place, loads: list[float], runs: int) -> None:
    """Tables X, XI, XIII and XIV: calls by the traffic behind."""
    caller = (here.net.client, "lan0", f"{guest.site6(guest.WAN_ADDRESS, 1)}:2")
    callee = (here.net.server, "lan2", here.net.address)
    folder = Path(here.lab.directory) / "calls"
    # The first calls after a start teach hosts and gateways their neighbours, and do not count.
    for _ in range(3):
        with contextlib.suppress(*FAILED):
            voip.call(caller, callee, folder, 1, here.pinned())
            break
    for run in range(runs):
        for load in loads:
            try:
                with background(here, int(load)):
                    behind = Carried(here, load)
                    said = voip.call(caller, callee, folder, CALL_S, here.pinned())
                    void = behind.void(CALL_BYTES)
            except FAILED as error:
                here.failed(CALLED, load, run, error)
                continue
            values = (said.set_up_ms, said.jitter_ms, said.kbit_s, said.lost_percent, said.late_percent, said.mos)
            for what, value in zip(CALLED, values, strict=True):
                here.add(what, load, run, value, void)
        here.keep()


def resolver(
    row: guest.Row, setup: guest.Setup, effort: Effort, figures: list[Figure], keep: Callable[[], None]
) -> None:
    """The part of the DNS64 servers, on one of them."""

    def add(what: str, x: float, run: int, value: float, void: str = "") -> None:
        figures.append(Figure("DNS-hosts", row.name, what, x, run, value, void))

    def note(what: str, x: float, run: int, act: Callable[[], None]) -> None:
        try:
            act()
        except FAILED as error:
            add(what, x, run, float("nan"), reason_of(error))

    with names.server(row, setup) as here:
        names.measure(here, effort, add, note, keep)


@dataclass(frozen=True)
class Part:
    """The rows of a part, and what is measured in the place of each."""

    rows: tuple[str, ...]
    few: int | None = None  # so many with --quick; None: all

    def measure(self, name: str, here: Place, effort: Effort) -> None:
        if name == "V-tcp":
            tcp_by_size(here, effort)
        elif name == "VI":
            fetches(here, NAT_FILES, effort, 0)
        elif name == "VIII":
            fetches(here, SITE_FILES, effort, 50)
        elif name == "X":
            calls(here, effort.points(LOADS[:9]), effort.runs)
        elif name == "apart":
            fetches(here, APART_FILES, effort, APART_BEHIND)
            pings(here, effort, [float(load) for load in APART_LOADS])
            calls(here, [float(load) for load in APART_CALLS], min(effort.runs, APART_CALL_RUNS))
        else:
            pings(here, effort, effort.points(LOADS))

    def place(self, name: str, row: str, setup: guest.Setup, figures: list[Figure], keep: Callable[[], None]) -> Where:
        """Where a row (or combination) of the part is measured."""
        if name == "apart":
            return place_apart(row, setup, figures, keep)
        return place(name, guest.ROWS[row], setup, figures, keep)


PARTS = {
    "XVI": Part(("ivi",)),
    "V-tcp": Part(("wire", "nat", "linux-nat")),
    "VI": Part(("wire", "nat", "linux-nat")),
    "VIII": Part(("6to4", "linux-sit")),
    "X": Part(("6to4", "linux-sit")),
    "XII": Part(("6to4", "linux-sit")),
    "apart": Part(apart.NAMES, 2),
    "DNS-hosts": Part(names.ROWS, 2),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="the papers' parts with real hosts")
    parser.add_argument("--part", required=True, choices=PARTS)
    parser.add_argument("--effort", required=True, choices=EFFORTS)
    parser.add_argument("--image", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    try:
        sandbox.enter([sys.executable, *sys.argv])
    except sandbox.SandboxError as error:
        print(f"papers: {options.part}: {error}", file=sys.stderr)
        return 2
    usable = sorted(os.sched_getaffinity(0))
    cores = (usable[0], usable[1 if len(usable) > 1 else 0])
    part, figures, effort = PARTS[options.part], list[Figure](), EFFORTS[options.effort]
    names_of_rows = tuple(effort.first(part.rows, part.few))
    rows = apart.rows(names_of_rows) if options.part == "apart" else [guest.ROWS[name] for name in names_of_rows]
    linux = {row.what: linuxguest.build(ROOT / "build", row.what) for row in rows if row.linux}
    setup = guest.Setup(NIC, "tap", options.image, linux, cores)

    def keep() -> None:
        fresh = options.out.with_suffix(".new")
        fresh.write_text(json.dumps([dataclasses.asdict(one) for one in figures]), encoding="utf-8")
        fresh.rename(options.out)

    for row in names_of_rows:
        print(f"papers: {options.part}: {row}", file=sys.stderr)
        try:
            if options.part == "DNS-hosts":
                resolver(guest.ROWS[row], setup, effort, figures, keep)
                continue
            if options.part == "XVI":
                steps_of_protocols(lambda: place("XVI", guest.ROWS["ivi"], setup, figures, keep, CLOCK), effort,
                                   figures)  # fmt: skip
                continue
            with part.place(options.part, row, setup, figures, keep) as here:
                part.measure(options.part, here, effort)
        except FAILED as error:
            print(f"papers: {options.part}: {row}: {error}", file=sys.stderr)
            figures.append(Figure(options.part, row, "start", 0, 0, float("nan"), reason_of(error)))
        keep()
    return 0


if __name__ == "__main__":
    sys.exit(main())
