# SPDX-License-Identifier: BSD-2-Clause
"""The routers on a way, as mtr sees them."""

import json

from .netns import Namespace

_HOW = {"icmp": (), "udp": ("--udp",), "tcp": ("--tcp", "--port", "80")}
PROTOCOLS = tuple(_HOW)


def hops(host: Namespace, target: str, protocol: str, rounds: int = 3) -> list[tuple[str, float]]:
    """The address of each router and of the target, with the share of probes in percent that had no answer. A TCP port
    that is closed answers, too."""
    said = host.run("mtr", "--no-dns", "--json", "--report-cycles", str(rounds), "--interval", "0.2",
                    "--gracetime", "2", *_HOW[protocol], target, timeout=60).stdout
    return [(hub["host"], float(hub["Loss%"])) for hub in json.loads(said)["report"]["hubs"]]
