#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Bulk TCP through a gateway: iperf3 between two network namespaces with taps, up, down and both ways at once, with one
connection and with eight.

    bulk.py --nic e1000 --image FILE --rows nat,linux-nat --runs 5 --seconds 3 --out FILE [--offloads]

Without --offloads the taps carry the frames of a wire. With it virtio-net guests may exchange large packets without
checksums with the host, and Linux keeps its offloads. Translation has an IPv6 host on the LAN and the IPv4 server;
Linux's plain forwarding, with which it is compared, has IPv4 on both sides.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import guest
import inside
from labkit.lab import FAR_SERVER, LAN_GATEWAY, WAN_GATEWAY, Lab
from labkit.netns import CommandFailed
from labkit.wait import Timeout

WAYS = {"up": [], "down": ["--reverse"], "both": ["--bidir"]}
STREAMS = {"": 1, "8": 8}
XLAT_NETWORK = guest.XLAT_PREFIX.removesuffix("/96")
LAN_HOST6, FAR_SERVER6 = f"{XLAT_NETWORK}192.168.1.2", f"{XLAT_NETWORK}{FAR_SERVER}"


@dataclass(frozen=True)
class Transfer:
    """What one run of iperf3 moved: payload that arrived, in both directions, and what the vCPU needed for it."""

    gigabytes: float
    seconds: float
    vcpu_seconds: float

    def figures(self, row: str, name: str, run: int) -> list[inside.Figure]:
        mbit = self.gigabytes * 8000 / self.seconds
        each = self.vcpu_seconds / self.gigabytes if self.gigabytes else 0.0
        void = "" if self.gigabytes else "nothing came through"
        return [
            inside.Figure(row, f"bulk_{name}", run, mbit, void),
            inside.Figure(row, f"bulkcpu_{name}", run, each, void),
        ]


def address_hosts(lab: Lab, row: guest.Row) -> str:
    """Gives the hosts what the row's path needs beside the lab's addresses; the server's address as the client sees
    it."""
    if row.path == "nat":
        return FAR_SERVER
    lab.wan.ip(f"route add 192.168.1.0/24 via {WAN_GATEWAY}")
    if row.path != "xlat":
        return FAR_SERVER
    for kind in ("all", "default", "lan0"):
        lab.lan.sysctl(f"ipv6.conf.{kind}.disable_ipv6", 0)
    lab.lan.ip(f"address add {LAN_HOST6}/120 dev lan0 nodad")
    lab.lan.ip(f"route add {guest.XLAT_PREFIX} via {XLAT_NETWORK}{LAN_GATEWAY}")
    return FAR_SERVER6


def vcpu_seconds(target: guest.Guest) -> float:
    """User and system time of the vCPU's thread."""
    assert target.process is not None
    text = Path(f"/proc/{target.process.pid}/task/{target.vcpu}/stat").read_text(encoding="latin-1")
    words = text.rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def transfer(lab: Lab, target: guest.Guest, server: str, seconds: float, words: list[str]) -> Transfer:
    """One run of iperf3. What it moves in its first second is counted too, so that it can be compared with the vCPU's
    time; connections grow fast here."""
    pin = ["taskset", "-c", str(target.setup.cores[1])]
    command = ["iperf3", "--json", "--client", server, "--time", f"{seconds:g}", *words]
    before = vcpu_seconds(target)
    done = lab.lan.run(*pin, *command, timeout=seconds + 30)
    used = vcpu_seconds(target) - before
    end = json.loads(done.stdout)["end"]
    sums = [end[name] for name in ("sum_received", "sum_received_bidir_reverse") if name in end]
    return Transfer(sum(part["bytes"] for part in sums) / 1e9, max(part["seconds"] for part in sums), used)


def measure_row(row: guest.Row, setup: guest.Setup, options: argparse.Namespace) -> list[inside.Figure]:
    figures: list[inside.Figure] = []
    with Lab((options.nic, options.nic), vnet_hdr=options.offloads) as lab:
        target = guest.Guest(row, setup, Path(lab.directory), taps=tuple(port.tap for port in lab.ports))
        try:
            target.start()
            server = address_hosts(lab, row)
            lab.wait_ping(server, timeout=30)
            lab.wan.start("taskset", "-c", str(setup.cores[1]), "iperf3", "--server")
            lab.wan.wait_port(5201)
            for run in range(options.runs):
                for streams, count in STREAMS.items():
                    for way, way_words in WAYS.items():
                        words = [*way_words, "--parallel", str(count)]
                        figures += one(lab, target, server, options.seconds, run, f"{way}{streams}", words)
        except (guest.GuestError, CommandFailed, Timeout) as error:
            print(f"bench: bulk {row.name}: {error}", file=sys.stderr)
            figures.append(inside.Figure(row.name, "bulk_up", 0, 0.0, str(error).splitlines()[0]))
        finally:
            target.stop()
    return figures


def one(
    lab: Lab, target: guest.Guest, server: str, seconds: float, run: int, name: str, words: list[str]
) -> list[inside.Figure]:
    """The figures of one run of iperf3; void ones when it fails."""
    try:
        return transfer(lab, target, server, seconds, words).figures(target.row.name, name, run)
    except (CommandFailed, Timeout, KeyError, ValueError) as error:
        return [inside.Figure(target.row.name, f"bulk_{name}", run, 0.0, str(error).splitlines()[0])]


if __name__ == "__main__":
    sys.exit(inside.main("bulk TCP", measure_row))
