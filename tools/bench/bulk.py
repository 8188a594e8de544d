#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Bulk TCP through a gateway: iperf3 between two network namespaces with taps, up and down.

    bulk.py --nic e1000 --image FILE --rows nat,linux-nat --runs 5 --seconds 3 --out FILE [--offloads]

Without --offloads the taps carry the frames of a wire. With it virtio-net guests may exchange large packets without
checksums with the host, and Linux keeps its offloads.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import guest
import inside
from labkit.lab import FAR_SERVER, Lab
from labkit.netns import CommandFailed
from labkit.wait import Timeout

DIRECTIONS = {"bulk_up": [], "bulk_down": ["--reverse"]}


def transfer(lab: Lab, core: int, seconds: float, options: list[str]) -> float:
    pin = ["taskset", "-c", str(core)]
    command = ["iperf3", "--json", "--client", FAR_SERVER, "--time", f"{seconds:g}", "--omit", "1", *options]
    done = lab.lan.run(*pin, *command, timeout=seconds + 30)
    return float(json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"]) / 1e6


def measure_row(row: guest.Row, setup: guest.Setup, options: argparse.Namespace) -> list[inside.Figure]:
    figures: list[inside.Figure] = []
    with Lab((options.nic, options.nic), vnet_hdr=options.offloads) as lab:
        place = Path(lab.directory)
        target = guest.Guest(row, setup, place, taps=tuple(port.tap for port in lab.ports))
        try:
            target.start()
            lab.wait_ping(timeout=30)
            lab.wan.start("taskset", "-c", str(setup.cores[1]), "iperf3", "--server")
            lab.wan.wait_port(5201)
            for run in range(options.runs):
                for direction, words in DIRECTIONS.items():
                    try:
                        mbit, void = transfer(lab, setup.cores[1], options.seconds, words), ""
                    except (CommandFailed, Timeout, KeyError) as error:
                        mbit, void = 0.0, str(error).splitlines()[0]
                    figures.append(inside.Figure(row.name, direction, run, mbit, void))
        except (guest.GuestError, CommandFailed, Timeout) as error:
            print(f"bench: bulk {row.name}: {error}", file=sys.stderr)
            figures.append(inside.Figure(row.name, "bulk_up", 0, 0.0, str(error).splitlines()[0]))
        finally:
            target.stop()
    return figures


if __name__ == "__main__":
    sys.exit(inside.main("bulk TCP", measure_row))
