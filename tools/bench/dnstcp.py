#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""DNS over TCP: guest instructions for an answer from the cache, with queries of dnsperf over a tap.

    dnstcp.py --nic e1000 --image FILE --plugin FILE --rows dns64,linux-unbound --runs 5 --out FILE

Either connections that live through the whole run, with many pending queries on each, or a new connection for each
query. fakedns is upstream while the cache is filled, and ends before anything is counted: every later answer comes from
the cache.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import struct
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import guest
import inside
import measure
from labkit import dnslab
from labkit.lab import Lab
from labkit.netns import CommandFailed, end_process
from labkit.wait import until

SERVER6 = guest.LAN6_ADDRESS.partition("/")[0]
HOST6 = f"{SERVER6}0/64"
NAMES = 1000
CLIENTS = 8
IDLE_S = 2


@dataclass(frozen=True)
class Kind:
    """How often all names are queried in a run, how, and whether each query has its own connection."""

    times: int
    options: tuple[str, ...]
    new: bool = False


KINDS = {
    "insn_tcphit": Kind(20, ("-q", "192")),
    "insn_tcpnew": Kind(2, ("-q", str(CLIENTS), "-O", "num-queries-per-conn=1"), True),
}


def instructions(target: guest.Guest) -> int:
    """The number of instructions that the plugin has counted so far."""
    with open(target.counter, "rb") as file:
        magic, count = struct.unpack("<8sQ", file.read(16))
    assert magic == b"BGICNT01"
    return int(count)


class Client:
    """dnsperf on the LAN host, which queries the same names again and again."""

    def __init__(self, lab: Lab, core: int) -> None:
        self.lab = lab
        self.pin = ["taskset", "-c", str(core)]
        names = (f"010-000-{i >> 8:03}-{i & 255:03}.dns64perf.test AAAA\n" for i in range(NAMES))
        self.file = lab.file("questions", "".join(names))

    def check_one(self) -> bool:
        """Whether the address of one of the names is right."""
        said = self.lab.lan.run("dig", f"@{SERVER6}", "+tcp", "+short", "+time=2", "+tries=1",
                                "010-000-001-002.dns64perf.test", "AAAA", check=False).stdout
        return said.split() == ["2001:db8:64::a00:102"]

    def ask(self, kind: Kind) -> None:
        """Queries all names as often as `kind` says; raises CommandFailed if an answer is missing or wrong, or
        connections are not as in `kind`."""
        command = ["dnsperf", "-m", "tcp", "-s", SERVER6, "-d", self.file, "-n", str(kind.times), "-c", str(CLIENTS)]
        command += ["-t", "30", "-l", "240", *kind.options]
        said = self.lab.lan.run(*self.pin, *command, timeout=300).stdout
        good, again = (int(found[1]) if (found := re.search(pattern, said)) else 0
                       for pattern in (r"Response codes: +NOERROR (\d+) ", r"Reconnections: +(\d+)"))
        asked = NAMES * kind.times
        if good != asked:
            raise CommandFailed(f"{good} of {asked} questions answered")
        if again < asked - CLIENTS if kind.new else again > 0:
            raise CommandFailed(f"{again} new connections for {asked} questions")


def instructions_each(target: guest.Guest, client: Client, kind: Kind) -> float:
    """Instructions for an answer, averaged over all answers of a run."""
    before = instructions(target)
    client.ask(kind)
    time.sleep(0.2)  # until the last connections are closed, which cannot be observed; this is counted too
    return (instructions(target) - before) / (NAMES * kind.times)


def prepare(lab: Lab, target: guest.Guest, client: Client) -> str:
    """Starts the guest and fills its cache; gives the reason if its results do not count, else an empty text."""
    dnslab.open_ipv6(lab.lan, "lan0", HOST6)
    lab.wan.ip(f"address add {guest.SERVER}/24 dev wan0")
    upstream = lab.wan.start(*client.pin, str(inside.ROOT / "tools" / "fakedns"), "--listen", guest.SERVER)
    lab.wan.wait_port(53, "udp", 60)
    target.start()
    until(client.check_one, 60, "a right answer")
    client.ask(Kind(1, ("-q", "32")))
    end_process(upstream)
    for kind in KINDS.values():  # the first connections have costs that occur only once
        client.ask(kind)
    before = instructions(target)
    time.sleep(IDLE_S)  # the time of the measurement
    idle = (instructions(target) - before) / IDLE_S
    return f"spins when idle ({idle / 1e6:.1f} M instructions/s)" if idle > measure.IDLE_INSTRUCTIONS else ""


@contextlib.contextmanager
def open_row(row: guest.Row, setup: guest.Setup, options: argparse.Namespace) -> Iterator[inside.MeasureRun]:
    """A row's guest with a full cache, between its hosts."""
    with Lab((options.nic, options.nic)) as lab, contextlib.ExitStack() as stack:
        target = guest.Guest(row, setup, Path(lab.directory), taps=tuple(port.tap for port in lab.ports))
        client = Client(lab, setup.cores[1])
        stack.callback(target.stop)
        spins = prepare(lab, target, client)

        def measure_run(run: int) -> list[inside.Figure]:
            figures: list[inside.Figure] = []
            for key, kind in KINDS.items():
                try:
                    figures.append(inside.Figure(row.name, key, run, instructions_each(target, client, kind), spins))
                except inside.FAILED as error:
                    figures += inside.failure(row.name, [key], run, error)
            return figures

        yield measure_run


if __name__ == "__main__":
    sys.exit(inside.main("DNS over TCP", open_row, tuple(KINDS)))
