# SPDX-License-Identifier: BSD-2-Clause
"""DHCP servers on the WAN of a lab."""

import json
import os
import subprocess
from typing import Any

from .lab import LAN_GATEWAY, WAN_SERVER, Lab
from .wait import until

DHCP_NAT = f"""\
app nat
lan.address {LAN_GATEWAY}/24
wan.address dhcp
"""
FIRST, LAST = "203.0.113.50", "203.0.113.99"


class Server:
    """A program in the WAN's namespace that ends by `stop` or with the lab; its output is its log."""

    def __init__(self, lab: Lab, name: str, *command: str) -> None:
        self.log = os.path.join(lab.directory, f"{name}.log")
        with open(self.log, "ab") as log:
            self._process: subprocess.Popen[bytes] = lab.wan.start(*command, stdout=log, stderr=log)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(10)

    def said(self) -> str:
        """Its log."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()


def _kea(lab: Lab, kind: str, settings: dict[str, Any]) -> tuple[str, ...]:
    """The command that runs Kea, kind 4 or 6."""
    common = {"interfaces-config": {"interfaces": ["wan0"]}, "lease-database": {"type": "memfile", "persist": False},
              "loggers": [{"name": f"kea-dhcp{kind}", "severity": "DEBUG", "debuglevel": 50,
                           "output_options": [{"output": "stdout"}]}]}
    path = lab.file(f"kea{kind}.conf", json.dumps({f"Dhcp{kind}": common | settings}))
    return ("env", f"KEA_PIDFILE_DIR={lab.directory}", "KEA_LOCKFILE_DIR=none", f"kea-dhcp{kind}", "-c", path)


class Dnsmasq(Server):
    """dnsmasq as the DHCP server of the WAN host; with `dns` a name server too."""

    def __init__(self, lab: Lab, *options: str, pool: str = f"{FIRST},{LAST}", lease: str = "1h",
                 router: str = WAN_SERVER, dns: bool = False) -> None:
        self.leases = os.path.join(lab.directory, "dnsmasq.leases")
        super().__init__(
            lab, "dnsmasq",
            "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
            f"--port={53 if dns else 0}",
            "--user=root", "--group=", "--interface=wan0", "--except-interface=lo", "--bind-dynamic", "--no-ping",
            "--pid-file=", f"--dhcp-leasefile={self.leases}", "--log-facility=-", "--log-dhcp",
            f"--dhcp-range={pool},255.255.255.0,{lease}", f"--dhcp-option=option:router,{router}", *options)


class Kea4(Server):
    """Kea as the DHCP server of the WAN host. `options`: names or codes of Kea, and values."""

    def __init__(self, lab: Lab, pool: str = f"{FIRST} - {LAST}", lease: int = 3600, **options: str) -> None:
        data = [{"name": name.replace("_", "-"), "data": value}
                for name, value in ({"routers": WAN_SERVER} | options).items()]
        super().__init__(lab, "kea4", *_kea(lab, "4", {
            "valid-lifetime": lease, "authoritative": True,
            "subnet4": [{"id": 1, "subnet": "203.0.113.0/24", "pools": [{"pool": pool}], "option-data": data}]}))


class Dhcpd(Server):
    """dhcpd of ISC as the DHCP server of the WAN host."""

    def __init__(self, lab: Lab, pool: str = f"{FIRST} {LAST}", lease: int = 3600, more: str = "") -> None:
        conf = lab.file("dhcpd.conf", f"""\
authoritative;
ping-check false;
default-lease-time {lease};
min-lease-time {lease};
max-lease-time {lease};
subnet 203.0.113.0 netmask 255.255.255.0 {{
    range {pool};
    option routers {WAN_SERVER};
    {more}
}}
""")
        super().__init__(lab, "dhcpd", "dhcpd", "-4", "-f", "-d", "-cf", conf, "-lf", lab.file("dhcpd.leases", ""),
                         "-pf", os.path.join(lab.directory, "dhcpd.pid"), "wan0")


class Kea6(Server):
    """Kea as the DHCPv6 server of the WAN host: it delegates one prefix. The machine runs, so that the cable has a
    carrier."""

    def __init__(self, lab: Lab, prefix: str, length: int, valid: int = 1200) -> None:
        until(lambda: lab.wan.ip("-6 address show dev wan0 scope link -tentative"), 20, "a link-local address")
        pools = [{"prefix": prefix, "prefix-len": length, "delegated-len": length}]
        super().__init__(lab, "kea6", *_kea(lab, "6", {
            "server-id": {"type": "LL", "htype": 1, "identifier": "525400000201", "persist": False},
            "valid-lifetime": valid, "preferred-lifetime": valid // 2, "renew-timer": valid // 4,
            "rebind-timer": valid // 3,
            "subnet6": [{"id": 1, "interface": "wan0", "subnet": "2001:db8:2::/64", "pd-pools": pools}]}))
