# SPDX-License-Identifier: BSD-2-Clause
"""DHCP servers on the WAN of a lab."""

import json
import os
import subprocess

from .lab import LAN_GATEWAY, WAN_SERVER, Lab
from .wait import until

DHCP_NAT = f"""\
app nat
lan.address {LAN_GATEWAY}/24
wan.address dhcp
"""
FIRST, LAST = "203.0.113.50", "203.0.113.99"


class Dnsmasq:
    """dnsmasq as the DHCP server of the WAN host, until `stop` or the end of the lab; with `dns` a name server too."""

    def __init__(self, lab: Lab, *options: str, pool: str = f"{FIRST},{LAST}", lease: str = "1h",
                 router: str = WAN_SERVER, dns: bool = False) -> None:
        self._lab = lab
        self.log = os.path.join(lab.directory, "dnsmasq.log")
        self.leases = os.path.join(lab.directory, "dnsmasq.leases")
        with open(self.log, "ab") as log:
            self._process: subprocess.Popen[bytes] = lab.wan.start(
                "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
                f"--port={53 if dns else 0}",
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


class Kea6:
    """Kea as the DHCPv6 server of the WAN host: it delegates one prefix, until `stop` or the end of the lab. The
    machine runs, so that the cable has a carrier."""

    def __init__(self, lab: Lab, prefix: str, length: int, valid: int = 1200) -> None:
        until(lambda: lab.wan.ip("-6 address show dev wan0 scope link -tentative"), 20, "a link-local address")
        pools = [{"prefix": prefix, "prefix-len": length, "delegated-len": length}]
        conf = {"Dhcp6": {
            "interfaces-config": {"interfaces": ["wan0"]},
            "lease-database": {"type": "memfile", "persist": False},
            "server-id": {"type": "LL", "htype": 1, "identifier": "525400000201", "persist": False},
            "valid-lifetime": valid, "preferred-lifetime": valid // 2, "renew-timer": valid // 4,
            "rebind-timer": valid // 3,
            "subnet6": [{"id": 1, "interface": "wan0", "subnet": "2001:db8:2::/64", "pd-pools": pools}],
            "loggers": [{"name": "kea-dhcp6", "severity": "DEBUG", "debuglevel": 50,
                         "output_options": [{"output": "stdout"}]}],
        }}
        path = lab.file("kea.conf", json.dumps(conf))
        self.log = os.path.join(lab.directory, "kea.log")
        with open(self.log, "ab") as log:
            self._process: subprocess.Popen[bytes] = lab.wan.start(
                "env", f"KEA_PIDFILE_DIR={lab.directory}", "KEA_LOCKFILE_DIR=none", "kea-dhcp6", "-c", path,
                stdout=log, stderr=log)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(10)

    def said(self) -> str:
        """Its log."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()
