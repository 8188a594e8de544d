# SPDX-License-Identifier: BSD-2-Clause
"""The test network of the translator with a name server: the gateway is translator and DNS64 server in one box.

    namespace lan           gateway (QEMU)                  namespace wan
    lan0 v6(192.0.2.33) --- nic0 ivi, serve dns64  nic1 --- wan0 203.0.113.1
    IPv6 only               v6(192.0.2.254)                 lo   198.51.100.1 (www.lab.test), .55 (nsd)
"""

from typing import Any

from . import dnslab, ivilab
from .dnslab import NameServers
from .ivilab import IviLab
from .netns import Namespace

RESOLVER = ivilab.v6(ivilab.ROUTER4)
"""The gateway's address, as the LAN host knows it."""
NAME = "www.lab.test"
"""A server that has an IPv4 address only."""

CONFIGURATION = ivilab.configuration(lines=f"serve dns64\nnameserver {dnslab.SERVERS['nsd'][0]}\n")


class IviDnsLab(NameServers, IviLab):
    """A Lab with an IPv6-only LAN host, an IPv4-only web server, and nsd in the WAN."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        try:
            self.start_server("nsd")
        except BaseException:
            self.close()
            raise

    def _address_hosts(self) -> None:
        super()._address_hosts()
        four, six = dnslab.SERVERS["nsd"]
        self.wan.ip(f"address add {four}/32 dev lo")
        dnslab.open_ipv6(self.wan, "lo", f"{six}/128")  # nsd binds both; the gateway has no IPv6 in the WAN

    def resolv_conf(self) -> str:
        """A file that makes the gateway a host's only DNS server."""
        return self.file("resolv.conf", f"nameserver {RESOLVER}\noptions timeout:2 attempts:5\n")

    def fetch(self, host: Namespace, url: str, copy: str) -> str:
        """Fetches a URL, whose server the gateway resolves; gives curl's line about it."""
        return host.run_resolving(self.resolv_conf(), "curl", "--silent", "--show-error", "--fail", "--output", copy,
                                  "--write-out", "%{size_download} bytes from %{remote_ip} in %{time_total} s", url,
                                  timeout=120).stdout
