# SPDX-License-Identifier: BSD-2-Clause
"""The test network of the translator: only IPv6 in the LAN, only IPv4 in the WAN, and second translators.

    namespace lan           gateway (QEMU)          namespace wan                 tayga       namespace site
    lan0 v6(192.0.2.33) --- nic0   nic1 .2 -------- wan0 203.0.113.1   far0 ----- .2    ::1 --- site0
    route from the RAs      v6(192.0.2.254)         lo   198.51.100.1  198.18.0.1             2001:db8:5::10
    IPv6 router                                     IPv4 router                               = 198.18.1.10

`v6(a)` is the IPv6 address that the gateway uses for an IPv4 address. tayga, in a Linux guest, gives the IPv6 host of
the site an IPv4 address, and all IPv4 hosts outside addresses in 2001:db8:46::/96; so there are two translators between
the IPv6 hosts of lan and site.

Another tayga behind the LAN host is the customer-side translator of 464XLAT (RFC 6877): behind it is an IPv4 host, and
its packets cross IPv6 before they reach IPv4 again. It supports the address format of RFC 6052 only.

    namespace lan                  tayga                                namespace home
    clat0 v6(192.0.2.69) --------- v6(192.0.2.70)   192.0.2.65 -------- home0 192.0.2.66
"""

import contextlib
import ipaddress
import os
from collections.abc import Sequence
from typing import Any

from . import lab as net
from .lab import Lab
from .machine import Machine, Port
from .netns import Namespace
from .peer import LinuxPeer
from .wait import until

HOST4, ROUTER4, HOSTS4 = "192.0.2.33", "192.0.2.254", "192.0.2.0/24"
"""The IPv4 addresses of the LAN host and of the gateway's LAN side, and the network of both."""
FORMS = {"ivi": "2001:db8::/32", "rfc6052": "2001:db8:64::/96"}

TAYGA_ROUTER, TAYGA, SITE_HOST4, SITE4 = "198.18.0.1", "198.18.0.2", "198.18.1.10", "198.18.1.0/24"
TAYGA_MACS = ("52:54:00:12:37:00", "52:54:00:12:37:01")
SITE_ROUTER4 = "198.18.1.9"
SITE_ROUTER, SITE_HOST, SITE_PREFIX = "2001:db8:5::1", "2001:db8:5::10", "2001:db8:46::/96"

HOME4, HOME_ROUTER4, HOME_HOST4 = "192.0.2.64/28", "192.0.2.65", "192.0.2.66"
HOME_TAYGA4, HOME_UPLINK4, HOME_UPSTREAM4 = "192.0.2.67", "192.0.2.70", "192.0.2.69"
HOME_MACS = ("52:54:00:12:38:00", "52:54:00:12:38:01")


def v6(address: str, form: str = "ivi") -> str:
    """The IPv6 form of an IPv4 address: RFC 6219 section 2, or RFC 6052 with a prefix of 96 bits."""
    return _behind(address, FORMS[form], 24 if form == "ivi" else 0, 0xFF << 32 if form == "ivi" else 0)


def _behind(address: str, prefix: str, left: int, mark: int = 0) -> str:
    base = int(ipaddress.IPv6Network(prefix).network_address)
    shift = 128 - 72 if left else 0
    return str(ipaddress.IPv6Address(base | (mark | int(ipaddress.IPv4Address(address))) << shift))


def from_site(address: str) -> str:
    """The IPv6 address that an IPv4 address has at tayga's site."""
    return _behind(address, SITE_PREFIX, 0)


def link_length(form: str) -> int:
    """The prefix length of the network whose hosts are HOSTS4."""
    return (72 if form == "ivi" else 128) - 8


HOME_ROUTE = f"route {v6(HOME4.split('/', maxsplit=1)[0], 'rfc6052')}/124 via {v6(HOST4, 'rfc6052')}\n"


def configuration(form: str = "ivi", lines: str = "") -> str:
    """The gateway's configuration, with these lines added."""
    return f"""\
app ivi
lan nic0
wan nic1
lan.address {v6(ROUTER4, form)}/{link_length(form)}
wan.address {net.WAN_GATEWAY}/24
gateway {net.WAN_SERVER}
ivi.prefix {FORMS[form]}
ivi.format {form}
ivi.ipv4 {HOSTS4}
{lines}"""


class IviLab(Lab):
    """A Lab whose LAN has IPv6 only and whose WAN has IPv4 only.

    The hosts of `add_site` and `add_home` exist as long as the lab, while the gateway may be booted many times.
    """

    def __init__(self, nics: Sequence[str] = ("e1000", "e1000"), **options: Any) -> None:
        super().__init__(nics, **options)
        self.form = "ivi"
        self._peers: dict[str, LinuxPeer] = {}
        self._hosts = [self.lan, self.wan]
        self.site: Namespace
        self.home: Namespace
        try:
            self.wan.sysctl("ipv4.ip_forward", 1)
            self.lan.sysctl("ipv6.conf.all.forwarding", 1)
            self.lan.sysctl("ipv6.conf.lan0.accept_ra", 2)
            self._tell_all(self.lan, self.wan)
            self.wan.ip(f"route add {HOSTS4} via {net.WAN_GATEWAY}")
        except BaseException:
            self.close()
            raise

    def _address_hosts(self) -> None:
        super()._address_hosts()
        self.lan.ip("address flush dev lan0")

    @staticmethod
    def _tell_all(*spaces: Namespace) -> None:
        """Turns off Linux's rate limit of ICMP errors, because tests wait for each error."""
        for space in spaces:
            space.sysctl("ipv4.icmp_ratelimit", 0)
            space.sysctl("ipv6.icmp.ratelimit", 0)

    def _tap(self, space: Namespace, name: str) -> int:
        tap = space.tap(name)
        self._cleanup.callback(os.close, tap)
        space.ip(f"link set {name} up")
        return tap

    def _add_host(self, role: str) -> Namespace:
        space = self._namespace(role)
        self._tell_all(space)
        self._hosts.append(space)
        return space

    def forget_mtus(self) -> None:
        """Makes the hosts forget the path MTUs that they know."""
        for space in self._hosts:
            space.ip("route flush cache")
            space.ip("-6 route flush cache")

    def _add_peer(self, name: str, taps: Sequence[int], macs: Sequence[str]) -> LinuxPeer:
        peer = LinuxPeer([Port("virtio", tap, mac) for tap, mac in zip(taps, macs)], role="tayga")
        self._cleanup.callback(peer.close)
        self._peers[name] = peer
        return peer

    @staticmethod
    def _wait_ping(space: Namespace, target: str) -> None:
        """Waits for an echo reply: a tayga that has just started drops packets."""
        until(lambda: space.run("ping", "-nc1", "-W1", target, check=False).returncode == 0, 20,
              f"{space.role}: echo reply from {target}")

    def add_site(self) -> None:
        """Adds the site with tayga; does nothing if it exists."""
        if "site" in self._peers:
            return
        self.site = self._add_host("site")
        taps = self._tap(self.wan, "far0"), self._tap(self.site, "site0")
        self.wan.ip(f"address add {TAYGA_ROUTER}/24 dev far0")
        self.wan.ip(f"route add {SITE4} via {TAYGA}")
        self._open_ipv6(self.site, "site0", f"{SITE_HOST}/64")
        self.site.ip(f"-6 route add default via {SITE_ROUTER}")
        peer = self._add_peer("site", taps, TAYGA_MACS)
        peer.translator("198.18.1.1", SITE_PREFIX, [(SITE_HOST4, SITE_HOST), (SITE_ROUTER4, SITE_ROUTER)])
        peer.configure(f"""
            ip addr add {TAYGA}/24 dev eth0
            ip -6 addr add {SITE_ROUTER}/64 dev eth1
            ip route add default via {TAYGA_ROUTER}
            ip route add {SITE4} dev nat64
            ip -6 route add {SITE_PREFIX} dev nat64
        """)
        self._wait_ping(self.site, from_site(TAYGA_ROUTER))

    def add_home(self) -> None:
        """Adds the IPv4 host that reaches IPv4 networks through IPv6; does nothing if it exists.

        The gateway must use the form "rfc6052" and have HOME_ROUTE.
        """
        if "home" in self._peers:
            return
        self.home = self._add_host("home")
        taps = self._tap(self.lan, "clat0"), self._tap(self.home, "home0")
        home6 = v6(HOME4.split("/", maxsplit=1)[0], "rfc6052") + "/124"
        uplink, upstream = v6(HOME_UPLINK4, "rfc6052"), v6(HOME_UPSTREAM4, "rfc6052")
        self.home.ip(f"address add {HOME_HOST4}/28 dev home0")
        self.home.ip(f"route add default via {HOME_ROUTER4}")
        self._open_ipv6(self.lan, "clat0", f"{upstream}/128")
        self.lan.ip(f"-6 route add {uplink}/128 dev clat0")
        self.lan.ip(f"-6 route add {home6} via {uplink} dev clat0")
        peer = self._add_peer("home", taps, HOME_MACS)
        peer.translator(HOME_TAYGA4, FORMS["rfc6052"], [])
        peer.configure(f"""
            ip addr add {HOME_ROUTER4}/28 dev eth1
            ip -6 addr add {uplink}/128 dev eth0
            ip -6 route add {upstream}/128 dev eth0
            ip -6 route add {FORMS["rfc6052"]} via {upstream} dev eth0
            ip route add default dev nat64
            ip -6 route add {home6} dev nat64
        """)
        self._wait_ping(self.home, HOST4)

    def machines(self) -> list[Machine]:
        """Every running machine."""
        return [*super().machines(), *self._peers.values()]

    # ---- the LAN host ----

    @staticmethod
    def _open_ipv6(space: Namespace, name: str, *addresses: str) -> None:
        space.sysctl("ipv6.conf.default.disable_ipv6", 0)
        space.sysctl(f"ipv6.conf.{name}.router_solicitation_delay", 0)
        space.sysctl(f"ipv6.conf.{name}.disable_ipv6", 0)
        for address in addresses:
            space.ip(f"-6 address add {address} dev {name} nodad")

    def v6(self, address: str) -> str:
        """The IPv6 form of an IPv4 address, as the running gateway uses it."""
        return v6(address, self.form)

    @property
    def host6(self) -> str:
        """The LAN host's address."""
        return self.v6(HOST4)

    def _join(self) -> None:
        """Makes the LAN host forget its addresses and routes, take its address, and wait for a default route."""
        self.lan.ip("link set lan0 down")
        self.lan.sysctl("ipv6.conf.lan0.disable_ipv6", 1)
        self._open_ipv6(self.lan, "lan0")
        self.lan.ip("link set lan0 up")
        self.lan.ip(f"-6 address add {self.host6}/{link_length(self.form)} dev lan0 nodad")
        until(lambda: "via fe80:" in self.lan.ip("-6 route show default dev lan0"), 30,
              "a route from a router advertisement")

    def wait_ping6(self, target: str, timeout: float = 20) -> None:
        """Waits until the LAN host gets an echo reply from `target`."""
        def answered() -> bool:
            return self.lan.run("ping", "-6", "-c1", "-W1", "-n", target, check=False).returncode == 0
        until(answered, timeout, f"echo reply from {target}")

    def plug(self) -> None:
        """Plugs both cables in, and restores the route that the WAN server lost while they were out."""
        self.lan.ip("link set lan0 up")
        self.wan.ip("link set wan0 up")
        self.wan.ip(f"route replace {HOSTS4} via {net.WAN_GATEWAY}")

    # ---- the gateway ----

    def boot_ivi(self, lines: str = "", form: str = "ivi") -> None:
        """Boots the gateway with these lines added, and waits until the LAN host reaches the WAN."""
        self.form = form
        self.plug()
        self.boot(configuration(form, lines), app="ivi")
        self.join()

    def join(self) -> None:
        """Connects the LAN host to a running gateway; waits until the gateway has an address to send errors from."""
        self._join()
        self.wait_ping6(self.v6(ROUTER4))
        self.wait_ping6(self.v6(net.FAR_SERVER))

    def boot_tayga(self) -> None:
        """Boots a Linux guest with tayga in place of our image, to check the tests against it; needs virtio NICs."""
        self.form = "rfc6052"
        self.plug()
        self.shut_down()
        peer = LinuxPeer(self.ports, role="tayga")
        self.machine = peer
        peer.translator("192.0.2.1", FORMS[self.form], [])
        peer.configure(f"""
            ip addr add {net.WAN_GATEWAY}/24 dev eth1
            ip -6 addr add {v6(ROUTER4, self.form)}/{link_length(self.form)} dev eth0
            ip route add default via {net.WAN_SERVER}
            ip route add {HOSTS4} dev nat64
            ip -6 route add {FORMS[self.form]} dev nat64
            ip -6 {HOME_ROUTE.strip().replace("route", "route add")} dev eth0
            echo 'interface eth0 {{ AdvSendAdvert on; AdvDefaultLifetime 1800;' >/etc/radvd.conf
            echo 'MinRtrAdvInterval 3; MaxRtrAdvInterval 5; }};' >>/etc/radvd.conf
            radvd -C /etc/radvd.conf -m stderr -p /run/radvd.pid
        """)
        self.join()

    def web_server6(self, directory: str, port: int = 80) -> contextlib.AbstractContextManager[str]:
        """A web server on the LAN host; gives the path of its log."""
        return self.web_server(directory, port, "::", self.lan)
