# SPDX-License-Identifier: BSD-2-Clause
"""DHCP servers on the WAN of a lab."""

import os
import subprocess

from .lab import LAN_GATEWAY, WAN_SERVER, Lab

DHCP_NAT = f"""\
app nat
lan.address {LAN_GATEWAY}/24
wan.address dhcp
"""
FIRST, LAST = "203.0.113.50", "203.0.113.99"


class Dnsmasq:
    """dnsmasq as the DHCP server of the WAN host, until `stop` or the end of the lab."""

    def __init__(self, lab: Lab, *options: str, pool: str = f"{FIRST},{LAST}", lease: str = "1h",
                 router: str = WAN_SERVER) -> None:
        self._lab = lab
        self.log = os.path.join(lab.directory, "dnsmasq.log")
        self.leases = os.path.join(lab.directory, "dnsmasq.leases")
        with open(self.log, "ab") as log:
            self._process: subprocess.Popen[bytes] = lab.wan.start(
                "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--port=0",
                "--user=root", "--group=", "--interface=wan0", "--except-interface=lo", "--bind-dynamic", "--no-ping",
                "--pid-file=", f"--dhcp-leasefile={self.leases}", "--log-facility=-", "--log-dhcp",
                f"--dhcp-range={pool},255.255.255.0,{lease}", f"--dhcp-option=option:router,{router}", *options,
                stderr=log)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(10)

    def said(self) -> str:
        """Its log."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()
