# SPDX-License-Identifier: BSD-2-Clause
"""The test network of the NAT64: an IPv6-only host that the gateway's advertisements configure, IPv4-only servers, and
a name server: nsd, or unbound or BIND in its place. The gateway is translator and DNS64 server in one box.

    namespace lan                gateway (QEMU)                    namespace wan
    lan0 2001:db8:64::/64 ------ nic0 nat64, serve dns64  nic1 --- wan0 203.0.113.1
    addresses from the RAs       2001:db8:64::1       203.0.113.2  lo   198.51.100.1 (www.lab.test), .55 (nsd)

A Linux guest with tayga, which masquerades, can take the gateway's place. Another one behind the LAN host can be the
customer-side translator of 464XLAT (RFC 6877); it and the gateway have the prefix OWN_PREFIX then, because tayga
translates no private and no documentation addresses with the well-known one:

    namespace lan                       tayga                                namespace home
    2001:db8:64::10, clat0 CLAT_UP ---- CLAT6          192.168.77.1 -------- 192.168.77.2, home0
"""

import ipaddress
import os
import re
from typing import Any

from . import dnslab
from . import lab as net
from .advertiser import Advertiser
from .dnslab import NameServers
from .lab import Lab
from .machine import Machine, Port
from .netns import Namespace
from .peer import LinuxPeer
from .sixlab import open_ipv6
from .wait import until

ROUTER6, PREFIX = "2001:db8:64::1", "64:ff9b::/96"
OWN_PREFIX = "2001:db8:6464::/96"
LAN_ROUTER6, CLAT_UP, CLAT6 = "2001:db8:64::10", "2001:db8:c1a7:1::1", "2001:db8:c1a7:1::2"
CLAT_HOSTS, HOME6, HOME4 = "2001:db8:c1a7::/64", "2001:db8:c1a7::2", "192.168.77.2"
CLAT_CONFIGURATION = f"""\
nat64.prefix {OWN_PREFIX}
route 2001:db8:c1a7::/48 via {LAN_ROUTER6}
"""
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
BOX = CONFIGURATION + f"lan.address {net.LAN_GATEWAY}/24\nwan.address auto\n"
"""The same with IPv4 in the LAN, and IPv6 in the WAN as its router advertises it."""
BOTH = "dual.lab.test"
"""A server that has addresses of both kinds."""
NATIVE = dnslab.NATIVE
"""Its IPv6 address."""
HOST6 = "2001:db8:64::ff:fe00:102"
"""The address of the LAN host, made from net.LAN_HOST_MAC."""
DUAL4 = "192.168.1.9"
"""The IPv4 address of the host with both versions."""
_UNBOUND = f"""\
server:
  directory: "/etc"
  chroot: ""
  username: ""
  pidfile: "/run/unbound.pid"
  use-syslog: no
  interface: {ROUTER6}
  access-control: ::0/0 allow
  module-config: "dns64 iterator"
  dns64-prefix: {OWN_PREFIX}
  local-zone: "test." nodefault
stub-zone:
  name: "{dnslab.ZONE}"
  stub-addr: {dnslab.SERVERS["nsd"][0]}
"""
_LAN_NET, _WAN_NET = "2001:db8:64::/64", "2001:db8:2::"
_GATEWAY_LOCAL = "fe80::5054:ff:fe12:3401"  # from the MAC address of the second card


def v6(address: str, prefix: str = PREFIX) -> str:
    """The IPv6 address that stands for an IPv4 address."""
    base = int(ipaddress.IPv6Network(prefix).network_address)
    return str(ipaddress.IPv6Address(base | int(ipaddress.IPv4Address(address))))


def linux_nat64(peer: LinuxPeer, advertised: str = "") -> None:
    """Makes a Linux guest with eth0 inside and eth1 outside a NAT64 (tayga behind masquerade), which advertises itself
    inside, with these further lines of radvd's."""
    peer.translator("10.64.0.1", OWN_PREFIX, [], pool="10.64.0.0/16")
    peer.configure(f"""
        ip addr add {net.WAN_GATEWAY}/24 dev eth1
        ip -6 addr add {ROUTER6}/64 dev eth0
        ip route add default via {net.WAN_SERVER}
        ip route add 10.64.0.0/16 dev nat64
        ip -6 route add {OWN_PREFIX} dev nat64
        nft -f /etc/rules.nft
        echo 'interface eth0 {{ AdvSendAdvert on; AdvDefaultLifetime 1800; MinRtrAdvInterval 3;' >/etc/radvd.conf
        echo 'MaxRtrAdvInterval 5; prefix {ROUTER6}/64 {{ }}; {advertised} }};' >>/etc/radvd.conf
        radvd -C /etc/radvd.conf -m stderr -p /run/radvd.pid
    """)


class Nat64Lab(NameServers, Lab):
    """A Lab with an IPv6-only LAN host, IPv4-only servers, and nsd in the WAN."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.prefix = PREFIX
        self.clat: LinuxPeer | None = None
        super().__init__(*args, **options)
        try:
            self.start_server("nsd")
        except BaseException:
            self.close()
            raise

    def _address_hosts(self) -> None:
        super()._address_hosts()
        self.lan.ip("address flush dev lan0")
        for four, six in dnslab.SERVERS.values():
            self.wan.ip(f"address add {four}/32 dev lo")
            dnslab.open_ipv6(self.wan, "lo", f"{six}/128")  # they bind both; the gateway has no IPv6 in the WAN
        for space in (self.lan, self.wan):
            space.sysctl("ipv4.icmp_ratelimit", 0)
            space.sysctl("ipv6.icmp.ratelimit", 0)

    def start_upstream(self, kind: str) -> str:
        """Ends nsd and starts this name server in its place, whose zones are the same; gives the line of the
        configuration that names it."""
        self.stop_server("nsd")
        self.start_server(kind)
        return f"nameserver {dnslab.SERVERS[kind][0]}\n"

    def boot_linux_nat64(self) -> None:
        """Boots a Linux guest with tayga and masquerade in place of our image, to check the tests against it; needs
        virtio NICs."""
        self.shut_down()
        peer = LinuxPeer(self.ports, role="tayga")
        self.machine = peer
        self.prefix = OWN_PREFIX
        linux_nat64(peer)

    def add_clat(self) -> Namespace:
        """Adds an IPv4 host behind a customer-side translator; gives its namespace. The gateway must have
        CLAT_CONFIGURATION, and the LAN host must have joined."""
        home = self._namespace("home")
        taps = []
        for space, name in ((self.lan, "clat0"), (home, "home0")):
            taps.append(space.tap(name))
            self._cleanup.callback(os.close, taps[-1])
            space.ip(f"link set {name} up")
        home.ip(f"address add {HOME4}/24 dev home0")
        home.ip("route add default via 192.168.77.1")
        open_ipv6(self.lan, "clat0")
        for address, name in ((f"{LAN_ROUTER6}/64", "lan0"), (f"{CLAT_UP}/64", "clat0")):
            self.lan.ip(f"-6 address add {address} dev {name} nodad")
        self.lan.sysctl("ipv6.conf.lan0.accept_ra", 2)
        self.lan.sysctl("ipv6.conf.all.forwarding", 1)
        self.lan.ip(f"-6 route add {CLAT_HOSTS} via {CLAT6} dev clat0")
        self.lan.ip(f"-6 route replace {OWN_PREFIX} via {ROUTER6} dev lan0")
        macs = "52:54:00:12:39:00", "52:54:00:12:39:01"
        self.clat = LinuxPeer([Port("virtio", tap, mac) for tap, mac in zip(taps, macs, strict=True)], role="tayga")
        self._cleanup.callback(self.clat.close)
        self.clat.translator("192.168.77.254", OWN_PREFIX, [(HOME4, HOME6)])
        self.clat.configure(f"""
            ip addr add 192.168.77.1/24 dev eth1
            ip -6 addr add {CLAT6}/64 dev eth0
            ip -6 route add {OWN_PREFIX} via {CLAT_UP} dev eth0
            ip route add default dev nat64
            ip -6 route add {CLAT_HOSTS} dev nat64
        """)
        self.wait_ping(net.FAR_SERVER, 30, home)
        return home

    def machines(self) -> list[Machine]:
        """Every running machine."""
        return [*super().machines(), *([self.clat] if self.clat else [])]

    def take_address(self) -> str:
        """Makes the LAN host forget its addresses and take those of the advertisements; gives its address."""
        self.lan.ip("link set lan0 down")
        self.lan.sysctl("ipv6.conf.lan0.disable_ipv6", 1)
        open_ipv6(self.lan, "lan0")
        self.lan.ip("link set lan0 up")
        self.wan.ip("link set wan0 up")

        def address() -> str:
            shown = self.lan.ip("-6 -o address show dev lan0 scope global -tentative")
            return next((word.split("/")[0] for word in shown.split() if word.startswith("2001:db8:64:")), "")

        until(address, 30, "an address from a router advertisement")
        self.wait_ping6(ROUTER6)
        return address()

    def join(self) -> str:
        """As take_address; then IPv4 hosts answer."""
        address = self.take_address()
        self.wait_ping6(v6(net.FAR_SERVER, self.prefix))
        return address

    def wait_ping6(self, target: str, timeout: float = 20) -> None:
        """Waits until the LAN host gets an echo reply from `target`."""
        until(lambda: self.lan.run("ping", "-6", "-c1", "-W1", "-n", target, check=False).returncode == 0, timeout,
              f"echo reply from {target}")

    def resolv_conf(self) -> str:
        """A file with the DNS server that the gateway advertises to the LAN host."""
        said = ""

        def servers() -> list[str]:
            nonlocal said
            said = self.lan.run("rdisc6", "-1", "-w", "2000", "lan0", check=False).stdout
            return re.findall(r"Recursive DNS server *: (\S+)", said)
        until(servers, 20, "an advertisement with a DNS server")
        assert servers() == [ROUTER6], said
        return self.file("resolv.conf", f"nameserver {ROUTER6}\noptions timeout:2 attempts:5\n")

    def fetch(self, host: Namespace, url: str, copy: str) -> str:
        """Fetches a URL, whose server the gateway resolves; gives curl's line about it."""
        return host.run_resolving(self.resolv_conf(), "curl", "--silent", "--show-error", "--fail", "--output", copy,
                                  "--write-out", "%{size_download} bytes from %{remote_ip} in %{time_total} s", url,
                                  timeout=120).stdout


class BoxLab(Nat64Lab):
    """A Nat64Lab with a host of both versions in the LAN, and a WAN that can have IPv6 (`uplink6`).

        namespace dual  (on the LAN host's cable)             dual.lab.test: lo 198.51.100.1, wan0 2001:db8:2::80
        eth0 192.168.1.9, addresses from the RAs              the router of the WAN forwards 2001:db8:64::/64 to us
    """

    def _address_hosts(self) -> None:
        super()._address_hosts()
        self.lan.ip("link add side0 link lan0 type macvlan mode bridge")
        self.dual = self._namespace("dual")
        self.lan.ip(f"link set side0 netns {self.dual.name} name eth0")
        self.dual.ip(f"address add {DUAL4}/24 dev eth0")

    def take_address(self) -> str:
        """As in Nat64Lab; the host with both versions joins, too."""
        address = super().take_address()
        open_ipv6(self.dual, "eth0")
        self.dual.ip("link set eth0 up")
        self.dual.ip(f"route replace default via {net.LAN_GATEWAY}")
        self.wait_ping(host=self.dual)
        return address

    def uplink6(self) -> Advertiser:
        """Gives the WAN IPv6: a router that advertises itself and knows the way to the LAN. The caller ends it."""
        self.wan.sysctl("ipv6.conf.all.forwarding", 1)
        dnslab.open_ipv6(self.wan, "wan0", f"{_WAN_NET}1/64", f"{NATIVE}/64")
        self.wan.ip(f"-6 route replace {_LAN_NET} via {_GATEWAY_LOCAL} dev wan0")
        return Advertiser(self.wan, "wan0", net.WAN_SERVER_MAC, _WAN_NET)

    def boot_linux_box(self) -> None:
        """Boots a Linux guest with tayga, masquerade, unbound and radvd in place of our image, to check the tests
        against it; needs virtio NICs."""
        self.shut_down()
        peer = LinuxPeer(self.ports, role="box")
        self.machine = peer
        self.prefix = OWN_PREFIX
        peer.run("echo 2 >/proc/sys/net/ipv6/conf/eth1/accept_ra")
        linux_nat64(peer, f"RDNSS {ROUTER6} {{ }};")
        for line in _UNBOUND.splitlines():
            peer.run(f"echo '{line}' >>/etc/unbound.conf")
        peer.configure(f"""
            ip addr add {net.LAN_GATEWAY}/24 dev eth0
            unbound -c /etc/unbound.conf
        """)

    def _routes6(self) -> str:
        if isinstance(self.machine, LinuxPeer):
            return self.machine.run("ip -6 route").replace("default", "::/0")
        return self.console.command("routes")

    def wait_uplink6(self) -> None:
        """Waits until the LAN host reaches the WAN over IPv6."""
        until(lambda: "::/0 via fe80:" in self._routes6(), 20, "a default route for IPv6")
        self.wait_ping6(NATIVE)
