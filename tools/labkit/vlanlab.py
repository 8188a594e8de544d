# SPDX-License-Identifier: BSD-2-Clause
"""A lab whose hosts share one cable to the gateway, each in a VLAN: a Linux guest is the switch between them.

    namespace lan  lan0 ---- eth1        namespace trunk
    namespace wan  wan0 ---- eth2  eth0 ---- (bridge) ---- nic0 of the gateway
    namespace lan2 lan2 ---- eth3
                        Linux guest
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from .lab import GATEWAY_MACS, Lab
from .machine import Machine, Port
from .peer import LinuxPeer


class VlanLab(Lab):
    """A Lab in which the gateway has one card of the model `nic`. `vlans` has the VLAN of the LAN host, of the WAN
    server, and of each further inside network; 0: frames without a tag."""

    def __init__(self, nic: str, vlans: Sequence[int], offloads: bool = False) -> None:
        self.switch: LinuxPeer | None = None
        super().__init__(("virtio",) * len(vlans), vnet_hdr=offloads)
        try:
            trunk = self._namespace("trunk")
            trunk.ip("link add cable type bridge")
            taps = []
            for end in ("gateway", "switch"):
                taps.append(trunk.tap(end, offloads))
                self._cleanup.callback(os.close, taps[-1])
                trunk.ip(f"link set {end} master cable up")
            trunk.ip("link set cable up")
            cables = [taps[1], *(port.tap for port in self.ports)]
            ports = [Port("virtio", tap, f"52:54:00:12:38:{number:02x}") for number, tap in enumerate(cables)]
            self.ports = [Port(nic, taps[0], GATEWAY_MACS[0])]
            self.switch = LinuxPeer(ports, role="switch")
            self._cleanup.callback(self.switch.close)
            self.switch.switch(vlans)
        except BaseException:
            self.close()
            raise

    def machines(self) -> list[Machine]:
        """Every running machine."""
        return [*super().machines(), *([self.switch] if self.switch else [])]

    def silence(self) -> None:
        """Takes the hosts' interfaces down, so that no more frames reach the gateway."""
        for host, name in ((self.lan, "lan0"), (self.wan, "wan0"), *((host, host.role) for host in self.inside[1:])):
            host.ip(f"link set {name} down")
