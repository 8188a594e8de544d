# SPDX-License-Identifier: BSD-2-Clause
"""The test network of the NAT64: an IPv6-only host that the gateway's advertisements configure, IPv4-only servers, and
a name server. The gateway is translator and DNS64 server in one box.

    namespace lan                gateway (QEMU)                    namespace wan
    lan0 2001:db8:64::/64 ------ nic0 nat64, serve dns64  nic1 --- wan0 203.0.113.1
    addresses from the RAs       2001:db8:64::1       203.0.113.2  lo   198.51.100.1 (www.lab.test), .55 (nsd)
"""

import ipaddress
from typing import Any

from . import dnslab
from . import lab as net
from .dnslab import NameServers
from .lab import Lab
from .netns import Namespace
from .sixlab import open_ipv6
from .wait import until

ROUTER6, PREFIX = "2001:db8:64::1", "64:ff9b::/96"
NAME = "www.lab.test"
"""A server that has an IPv4 address only."""

CONFIGURATION = f"""\
app nat64
serve dns64
lan nic0
wan nic1
lan.address {ROUTER6}/64
wan.address {net.WAN_GATEWAY}/24
gateway {net.WAN_SERVER}
nameserver {dnslab.SERVERS["nsd"][0]}
wkp-strict off
"""


def v6(address: str) -> str:
    """The IPv6 address that stands for an IPv4 address."""
    base = int(ipaddress.IPv6Network(PREFIX).network_address)
    return str(ipaddress.IPv6Address(base | int(ipaddress.IPv4Address(address))))


class Nat64Lab(NameServers, Lab):
    """A Lab with an IPv6-only LAN host, IPv4-only servers, and nsd in the WAN."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        try:
            self.start_server("nsd")
        except BaseException:
            self.close()
            raise

    def _address_hosts(self) -> None:
        super()._address_hosts()
        self.lan.ip("address flush dev lan0")
        four, six = dnslab.SERVERS["nsd"]
        self.wan.ip(f"address add {four}/32 dev lo")
        dnslab.open_ipv6(self.wan, "lo", f"{six}/128")  # nsd binds both; the gateway has no IPv6 in the WAN
        for space in (self.lan, self.wan):
            space.sysctl("ipv4.icmp_ratelimit", 0)
            space.sysctl("ipv6.icmp.ratelimit", 0)

    def join(self) -> str:
        """Makes the LAN host forget its addresses and take those of the advertisements; gives its address."""
        self.lan.ip("link set lan0 down")
        self.lan.sysctl("ipv6.conf.lan0.disable_ipv6", 1)
        open_ipv6(self.lan, "lan0")
        self.lan.ip("link set lan0 up")
        self.wan.ip("link set wan0 up")

        def address() -> str:
            shown = self.lan.ip("-6 -o address show dev lan0 scope global -tentative")
            return next((word.split("/")[0] for word in shown.split() if word.startswith("2001:db8:64:")), "")

        until(lambda: address() != "" and "via fe80:" in self.lan.ip("-6 route show default dev lan0"), 30,
              "an address and a route from a router advertisement")
        self.wait_ping6(ROUTER6)
        self.wait_ping6(v6(net.FAR_SERVER))
        return address()

    def wait_ping6(self, target: str, timeout: float = 20) -> None:
        """Waits until the LAN host gets an echo reply from `target`."""
        until(lambda: self.lan.run("ping", "-6", "-c1", "-W1", "-n", target, check=False).returncode == 0, timeout,
              f"echo reply from {target}")

    def resolv_conf(self) -> str:
        """A file that makes the gateway a host's only DNS server."""
        return self.file("resolv.conf", f"nameserver {ROUTER6}\noptions timeout:2 attempts:5\n")

    def fetch(self, host: Namespace, url: str, copy: str) -> str:
        """Fetches a URL, whose server the gateway resolves; gives curl's line about it."""
        return host.run_resolving(self.resolv_conf(), "curl", "--silent", "--show-error", "--fail", "--output", copy,
                                  "--write-out", "%{size_download} bytes from %{remote_ip} in %{time_total} s", url,
                                  timeout=120).stdout
