#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Bulk TCP through a gateway: iperf3 between two network namespaces with taps, up, down and both ways at once, with one
connection and with eight; then, with --offloads, over a path that loses packets and one that reorders them.

    bulk.py --nic e1000 --image FILE --rows nat,linux-nat --runs 5 --seconds 3 --out FILE [--offloads]

Without --offloads the taps carry the frames of a wire. With it virtio-net guests may exchange large packets without
checksums with the host, and Linux keeps its offloads. Translation has an IPv6 host on the LAN and the IPv4 server;
Linux's plain forwarding, with which it is compared, has IPv4 on both sides. 6to4 has two gateways of the same kind back
to back. The bad paths are a cable behind the WAN server's host, which is a router then (labkit/relay.py).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import guest
import inside
from labkit.lab import FAR_SERVER, LAN_GATEWAY, LAN_HOST, WAN_GATEWAY, Lab
from labkit.netns import CommandFailed, Namespace
from labkit.relay import BAD_SERVER, host_behind
from labkit.wait import Timeout

WAYS = {"up": [], "down": ["--reverse"], "both": ["--bidir"]}
STREAMS = {"": 1, "8": 8}
BAD_PATHS = {"loss": (0.01, 0.0), "late": (0.0, 0.05)}  # the shares of frames that are lost, and that others overtake
XLAT_NETWORK = guest.XLAT_PREFIX.removesuffix("/96")
NAT64_NETWORK = guest.NAT64_ADDRESS.partition("192")[0]


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


@dataclass(frozen=True)
class Net:
    """Where iperf3 runs: the client's and the server's host, and the server's address as the client sees it."""

    client: Namespace
    server: Namespace
    address: str

    def behind(self, server: Namespace) -> Net:
        """The same with the host of a bad path as the server."""
        prefix = XLAT_NETWORK if self.address.startswith(XLAT_NETWORK) else ""
        return Net(self.client, server, prefix + BAD_SERVER)


def enable_ipv6(host: Namespace, interface: str) -> None:
    """Without addresses from advertisements: a server of UDP would answer from one of them."""
    host.sysctl(f"ipv6.conf.{interface}.autoconf", 0)
    for kind in ("all", "default", interface):
        host.sysctl(f"ipv6.conf.{kind}.disable_ipv6", 0)


def address_hosts(lab: Lab, row: guest.Row) -> Net:
    """Gives the hosts what the row's path needs beside the lab's addresses."""
    if row.path == "nat":
        return Net(lab.lan, lab.wan, FAR_SERVER)
    if row.path != "nat64":
        lab.wan.ip(f"route add 192.168.1.0/24 via {WAN_GATEWAY}")
    if row.path == "route":
        return Net(lab.lan, lab.wan, FAR_SERVER)
    own = XLAT_NETWORK if row.path == "xlat" else NAT64_NETWORK
    enable_ipv6(lab.lan, "lan0")
    lab.lan.ip(f"address add {own}{LAN_HOST}/120 dev lan0 nodad")
    lab.lan.ip(f"route add {guest.XLAT_PREFIX} via {own}{LAN_GATEWAY}")
    return Net(lab.lan, lab.wan, f"{XLAT_NETWORK}{FAR_SERVER}")


def address_sites(lab: Lab) -> Net:
    """Two 6to4 sites with a host each; the WAN is a switch between their gateways."""
    near, far = lab.lan, lab.inside[1]
    for host, interface, wan in ((near, "lan0", guest.WAN_ADDRESS), (far, "lan2", guest.FAR_WAN_ADDRESS)):
        site = guest.site6(wan, 1)
        enable_ipv6(host, interface)
        host.ip(f"address add {site}:2/64 dev {interface} nodad")
        host.ip(f"route add default via {site}:1")
    return Net(near, far, f"{guest.site6(guest.FAR_WAN_ADDRESS, 1)}:2")


def far_tap(lab: Lab, vnet_hdr: bool) -> int:
    """The WAN's cable of the second gateway, switched to the first's."""
    descriptor = lab.wan.tap("wan1", vnet_hdr)
    lab.wan.ip("link add br0 type bridge")
    for port in ("wan0", "wan1"):
        lab.wan.ip(f"link set {port} master br0 up")
    lab.wan.ip("link set br0 up")
    return descriptor


def vcpu_seconds(target: guest.Guest) -> float:
    """User and system time of the vCPU's thread."""
    assert target.process is not None
    text = Path(f"/proc/{target.process.pid}/task/{target.vcpu}/stat").read_text(encoding="latin-1")
    words = text.rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def transfer(net: Net, target: guest.Guest, seconds: float, words: list[str]) -> Transfer:
    """One run of iperf3. What it moves in its first second is counted too, so that it can be compared with the vCPU's
    time; connections grow fast here."""
    pin = ["taskset", "-c", str(target.setup.cores[1])]
    command = ["iperf3", "--json", "--client", net.address, "--time", f"{seconds:g}", *words]
    before = vcpu_seconds(target)
    done = net.client.run(*pin, *command, timeout=seconds + 30)
    used = vcpu_seconds(target) - before
    end = json.loads(done.stdout)["end"]
    sums = [end[name] for name in ("sum_received", "sum_received_bidir_reverse") if name in end]
    return Transfer(sum(part["bytes"] for part in sums) / 1e9, max(part["seconds"] for part in sums), used)


@contextlib.contextmanager
def open_row(row: guest.Row, setup: guest.Setup, options: argparse.Namespace) -> Iterator[inside.MeasureRun]:
    """A row's guest between its hosts. Tunnels need a gateway at each end: there both are of the same kind and share
    the core, and the rate is that of the pair."""
    pair = row.path == "6to4"
    guests: list[guest.Guest] = []
    with Lab((options.nic,) * (3 if pair else 2), vnet_hdr=options.offloads) as lab, contextlib.ExitStack() as stack:
        place = Path(lab.directory)
        taps = [port.tap for port in lab.ports]
        guests.append(guest.Guest(row, setup, place, (taps[0], taps[1])))
        if pair:
            far = far_tap(lab, options.offloads)
            stack.callback(os.close, far)
            guests.append(guest.Guest(row, setup, place, (taps[2], far), guest.FAR_WAN_ADDRESS))
        for one in guests:
            stack.callback(one.stop)
        for one in guests:
            one.start()
        net = address_sites(lab) if pair else address_hosts(lab, row)
        lab.wait_ping(net.address, timeout=30)
        serve(net, setup)

        def measure_run(run: int) -> list[inside.Figure]:
            figures = good_path(net, guests[0], options.seconds, run)
            if options.offloads and not pair:
                figures += bad_paths(lab, net, guests[0], options.seconds, run)
            return figures

        yield measure_run


def serve(net: Net, setup: guest.Setup) -> None:
    """Starts iperf3's server."""
    net.server.start("taskset", "-c", str(setup.cores[1]), "iperf3", "--server")
    net.server.wait_port(5201)


def bad_paths(lab: Lab, net: Net, target: guest.Guest, seconds: float, run: int) -> list[inside.Figure]:
    """One connection to a host behind a cable that loses frames, and to one behind a cable that reorders them."""
    figures: list[inside.Figure] = []
    for name, (loss, late) in BAD_PATHS.items():
        try:
            with host_behind(lab.wan, loss, late) as (far, _):
                bad = net.behind(far)
                lab.wait_ping(bad.address, timeout=30)
                serve(bad, target.setup)
                figures += measured(bad, target, seconds, name, run, [])
        except inside.FAILED as error:
            figures += inside.failure(target.row.name, [f"bulk_{name}"], run, error)
    return figures


def good_path(net: Net, target: guest.Guest, seconds: float, run: int) -> list[inside.Figure]:
    """Each way, with one connection and with eight."""
    figures: list[inside.Figure] = []
    for streams, count in STREAMS.items():
        for way, words in WAYS.items():
            name = f"{way}{streams}"
            figures += measured(net, target, seconds, name, run, [*words, "--parallel", str(count)])
    return figures


def measured(
    net: Net, target: guest.Guest, seconds: float, name: str, run: int, words: list[str]
) -> list[inside.Figure]:
    """The figures of one transfer; a void one where iperf3 fails."""
    try:
        return transfer(net, target, seconds, words).figures(target.row.name, name, run)
    except (CommandFailed, Timeout, KeyError, ValueError) as error:
        return inside.failure(target.row.name, [f"bulk_{name}"], run, error)


if __name__ == "__main__":
    sys.exit(inside.main("bulk TCP", open_row, ("bulk_up",)))
