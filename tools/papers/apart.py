# SPDX-License-Identifier: BSD-2-Clause
"""Tables VIII to XV in six combinations: NAT and 6to4 in one box, or in two, each ours or Linux's.

    host ---- 6to4 ---- NAT ---- far 6to4 ---- host         in two boxes: bare_linux has our NAT and Linux's 6to4
    host ---- 6to4 with NAT ---- far 6to4 ---- host         in one box

The far gateway is ours in all combinations, so that they differ in nothing else.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import bulk
import guest
from labkit.lab import Lab

NIC = "e1000"
COLOCATED = {"colocated_bare": "6to4", "colocated_linux": "linux-sit"}
# By the papers' columns: the rows of the NAT and of the 6to4 gateway.
DECOUPLED = {
    "bare_bare": ("nat", "6to4"),
    "linux_linux": ("linux-nat", "linux-sit"),
    "linux_bare": ("linux-nat", "6to4"),
    "bare_linux": ("nat", "linux-sit"),
}
NAMES = (*COLOCATED, *DECOUPLED)
INNER_WAN, INNER_LAN = "192.168.1.3/24", "192.168.7.1/24"  # of a 6to4 gateway behind the NAT
PUBLIC = guest.WAN_ADDRESS.partition("/")[0]
NAT_INSIDE = guest.LAN_ADDRESS.partition("/")[0]


def rows(names: tuple[str, ...] = NAMES) -> list[guest.Row]:
    """All guests that these combinations need."""
    used = ["6to4"]
    for name in names:
        used += [COLOCATED[name]] if name in COLOCATED else DECOUPLED[name]
    return [guest.ROWS[row] for row in dict.fromkeys(used)]


class Inner(guest.Guest):
    """A 6to4 gateway behind a NAT: its site has the NAT's public address, its WAN a private one."""

    def _system(self) -> list[str]:
        if not self.row.linux:
            line = f"app=6to4 lan.address={INNER_LAN} wan.address={INNER_WAN} gateway={NAT_INSIDE} 6to4.nat=off"
            return ["-kernel", str(self.setup.image), "-append", f"{line} 6to4.address={PUBLIC}"]
        words = super()._system()
        words[-1] = behind(words[-1])
        return words


def behind(line: str) -> str:
    """The command line of a Linux guest with 6to4, moved behind the NAT."""
    moved = {
        f"guest.lan={guest.LAN_ADDRESS}": f"guest.lan={INNER_LAN}",
        f"guest.gateway={guest.WAN_GATEWAY}": f"guest.gateway={NAT_INSIDE}",
        f"guest.wan={guest.WAN_ADDRESS}": f"guest.wan={INNER_WAN}",
    }
    return " ".join(moved.get(word, word) for word in line.split(" "))


@dataclass(frozen=True)
class Sites:
    """The two sites and what is between them. The first gateway is the 6to4 gateway of the client's site."""

    lab: Lab
    net: bulk.Net
    gateways: list[guest.Guest]


@contextlib.contextmanager
def sites(name: str, setup: guest.Setup) -> Iterator[Sites]:
    """A combination, with every gateway ready."""
    with Lab((NIC,) * 3) as lab, contextlib.ExitStack() as stack:
        folder, taps = Path(lab.directory), [port.tap for port in lab.ports]
        far_wan = bulk.far_tap(lab, False)
        stack.callback(os.close, far_wan)
        if name in COLOCATED:
            row = guest.ROWS[COLOCATED[name]]
            gateways = [guest.Guest(row, setup, folder, (taps[0], taps[1]))]
        else:
            nat, six = (guest.ROWS[row] for row in DECOUPLED[name])
            middle = _cable(lab, stack)
            inner = Inner(six, setup, folder, (taps[0], middle[0]))
            gateways = [inner, guest.Guest(nat, setup, folder, (middle[1], taps[1]))]
        far = dataclasses.replace(guest.ROWS["6to4"], name="far")
        gateways.append(guest.Guest(far, setup, folder, (taps[2], far_wan), guest.FAR_WAN_ADDRESS))
        for one in gateways:
            stack.callback(one.stop)
            one.start(240)
        net = bulk.address_sites(lab)
        lab.wait_ping(net.address, timeout=60)
        yield Sites(lab, net, gateways)


def _cable(lab: Lab, stack: contextlib.ExitStack) -> list[int]:
    """The network between the two boxes: two taps on a bridge."""
    ends = []
    lab.wan.ip("link add br1 type bridge")
    for number in range(2):
        ends.append(lab.wan.tap(f"mid{number}"))
        stack.callback(os.close, ends[-1])
        lab.wan.ip(f"link set mid{number} master br1 up")
    lab.wan.ip("link set br1 up")
    return ends
