# SPDX-License-Identifier: BSD-2-Clause
"""What those cost who look at the gateway by `serve http`: the processor's share of one request a second, and how long
the status page takes at 80 % of the lossless rate. Part of watched.py, in its sandbox.

The generator and curl are hosts of one cable: the LAN's tap is in a namespace that has the address of curl, and the
generator is on packet sockets of both taps.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import guest
import hotspots
import loadgen
import measure
from labkit.netns import Namespace

OWN = guest.LAN_ADDRESS.partition("/")[0]
# No flow of the generator has this address, but it answers ARP for all: so the interface has the MAC that it says.
LOOKER, LOOKER_MAC = "192.168.1.2/24", "02:ba:6e:00:01:02"
PATHS = ("/metrics", "/")
SECONDS = 10  # of one figure of the processor's share
LOAD_S = 8.0
RATE_S = 2.0
STEPS = [1.0 - step / 20 for step in range(18)]  # of the rate at full load, until nothing is lost
SHARE = 0.8  # of the lossless rate


class OnInterfaces(guest.Guest):
    """A guest as the generator sees it, whose ends are interfaces."""

    def socket(self, side: str, end: str) -> Path:
        del end
        return Path(f"{side}0")


@dataclasses.dataclass
class Looked:
    """A gateway with the generator on both sides and a host that looks."""

    session: measure.Session
    host: Namespace

    def fetch(self, path: str) -> float:
        """Fetches a page; gives the seconds that it took, with its connection."""
        said = self.host.run("curl", "--silent", "--show-error", "--fail", "--output", "/dev/null", "--write-out",
                             "%{time_total}", f"http://{OWN}{path}", timeout=30).stdout
        return float(said)

    def fetch_each_second(self, path: str | None) -> None:
        """For SECONDS; None: nothing."""
        begin = time.monotonic()
        for number in range(SECONDS):
            time.sleep(max(0.0, begin + number - time.monotonic()))
            if path is not None:
                self.fetch(path)
        time.sleep(max(0.0, begin + SECONDS - time.monotonic()))

    def vcpu_s(self) -> float:
        """Seconds that the vCPU's thread has run."""
        target = self.session.guest
        assert target.process is not None
        text = Path(f"/proc/{target.process.pid}/task/{target.vcpu}/schedstat").read_text(encoding="ascii")
        return int(text.split()[0]) / 1e9

    def instructions(self) -> int:
        total: int = hotspots.Counts(self.session.guest.counter.read_bytes()).total
        return total


@contextlib.contextmanager
def looked(nic: str, image: Path, out: Path, plugin: bool) -> Iterator[Looked]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, contextlib.ExitStack() as stack:
        host = Namespace("looker")
        stack.callback(host.close)
        for scope in ("all", "default"):
            host.sysctl(f"ipv6.conf.{scope}.disable_ipv6", 1)
        taps = []
        for name in ("lan0", "wan0"):
            taps.append(host.tap(name))
            stack.callback(os.close, taps[-1])
        host.ip(f"link set lan0 address {LOOKER_MAC}")
        for name in ("lan0", "wan0"):
            host.ip(f"link set {name} up")
        host.ip(f"address add {LOOKER} dev lan0")
        row = guest.Row("nat-looked", "nat", False, "nat", "nat", "serve=http")
        setup = guest.Setup(nic, "tap", image, {}, (0, 1), plugin=out / "icount.so" if plugin else None, profile=plugin)
        target = guest.Guest(row, setup, Path(folder), (taps[0], taps[1]))
        ends = OnInterfaces(row, dataclasses.replace(setup, backend="packet"), Path(folder))
        with host.entered():
            load = loadgen.LoadGen(out / "gen", ends)
        session = measure.Session(target, load, nic)
        stack.callback(session.stop)
        session.start()
        time.sleep(2)  # QEMU's e1000 receives nothing for a second after a write to RCTL
        session.settle()
        one = Looked(session, host)
        for path in PATHS:
            one.fetch(path)
        yield one


def _shares(nic: str, image: Path, out: Path, runs: int) -> None:
    """Instructions of a request, and of the vCPU's second at full load; then the vCPU's time without the plugin."""
    instructions: dict[str, list[float]] = {path: [] for path in PATHS}
    shares: dict[str, list[float]] = {path: [] for path in PATHS}
    with looked(nic, image, out, plugin=True) as one:
        before, used = one.instructions(), one.vcpu_s()
        one.session.load.run(seconds=RATE_S, **(measure.FULL | {"answers": 1}))
        speed = (one.instructions() - before) / (one.vcpu_s() - used)
        for _ in range(runs):
            took = {}
            for path in (None, *PATHS):
                before = one.instructions()
                one.fetch_each_second(path)
                took[path] = one.instructions() - before
            for path in PATHS:
                instructions[path].append((took[path] - took[None]) / SECONDS)
    with looked(nic, image, out, plugin=False) as one:
        for _ in range(runs):
            time_of = {}
            for path in (None, *PATHS):
                used = one.vcpu_s()
                one.fetch_each_second(path)
                time_of[path] = one.vcpu_s() - used
            for path in PATHS:
                shares[path].append((time_of[path] - time_of[None]) / SECONDS * 100)
    print("\n| one request a second | instructions | share of those at full load | share of the vCPU's time |")
    print("| --- | --- | --- | --- |")
    for path in PATHS:
        each = statistics.median(instructions[path])
        print(f"| `{path}` | {each:,.0f} | {100 * each / speed:.2f} % | {statistics.median(shares[path]):.2f} % |")
    print(f"\nThe vCPU executes {speed / 1e6:.0f} M instructions in a second of its time.", flush=True)


def _lossless(load: loadgen.LoadGen) -> float:
    """The highest rate of STEPS, in packets a second that a host sends, at which every answered packet comes back."""
    full = load.run(seconds=RATE_S, warm=0.5, **(measure.FULL | {"answers": 1}))
    peak = int(full["forwarded"]) / float(full["seconds"])
    for step in STEPS:
        result = load.run(seconds=RATE_S, warm=0.5, rate=peak * step, answers=1)
        if not result["lost"]:
            return peak * step
    raise loadgen.LoadError("packets are lost at each rate")


def _at_load(nic: str, image: Path, out: Path, runs: int) -> None:
    with looked(nic, image, out, plugin=False) as one:
        quiet = [one.fetch("/") for _ in range(20)]
        rates, times, lost = [], [], []
        for _ in range(runs):
            rates.append(_lossless(one.session.load))
            results: list[loadgen.Result] = []
            work = threading.Thread(target=lambda rate=rates[-1] * SHARE, into=results: into.append(
                one.session.load.run(seconds=LOAD_S, rate=rate, answers=1)))
            work.start()
            time.sleep(0.5)
            while work.is_alive():
                times.append(one.fetch("/"))
                time.sleep(0.2)
            work.join()
            lost.append(int(results[0]["lost"]))
    print("\n| status page, complete | median | 95 % | longest |\n| --- | --- | --- | --- |")
    at = f"at {SHARE:.0%} of the lossless {2 * statistics.median(rates):,.0f} packets/s"
    for title, found in (("without load", quiet), (at, times)):
        ordered = sorted(1000 * value for value in found)
        print(f"| {title} | {statistics.median(ordered):.1f} ms | {ordered[int(len(ordered) * 0.95)]:.1f} ms | "
              f"{ordered[-1]:.1f} ms |")
    print(f"\nPackets lost meanwhile, by run: {', '.join(map(str, lost))}.", flush=True)


def report(nic: str, image: Path, out: Path, runs: int) -> None:
    """Measures, and prints the tables."""
    _shares(nic, image, out, runs)
    _at_load(nic, image, out, runs)
