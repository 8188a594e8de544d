# SPDX-License-Identifier: BSD-2-Clause
"""The test network with IPv6: a LAN that configures itself, and a far 6to4 site.

    namespace lan         gateway (QEMU)   namespace wan                 far router       namespace site
    lan0 192.168.1.2 ---- nic0   nic1 ---- wan0 203.0.113.1   far0 ----- .2       ::1 --- site0
    its IPv6 address,                      lo   198.51.100.1  192.0.2.1
    route and MTU from                     forwards IPv4                 2002:c000:202:1::/64
    the gateway's RAs                                                    2001:db8:5::/64 (native)

The far router is a Linux guest with a `sit` tunnel, which is also the relay for the native network, or a second
instance of our image, which is no relay. Between the sites there is only IPv4, so IPv6 passes only through tunnels.

`add_inner` adds a separate 6to4 gateway: the machine between lan and wan is then a NAT, lan is the network between the
two gateways, and the IPv6 hosts are in a further namespace:

    home0 ---- inner machine ---- br0 in lan ---- NAT ---- wan0
"""

import contextlib
import os
from collections.abc import Sequence
from typing import Any

from . import lab as net
from .lab import Lab
from .machine import Hardware, Machine, Port
from .netns import Namespace
from .peer import LinuxPeer, prefix
from .wait import until

FAR_ROUTER, FAR_GATEWAY = "192.0.2.2", "192.0.2.1"
FAR_MACS = ("52:54:00:12:35:00", "52:54:00:12:35:01")
SITE_ROUTER, SITE_HOST = prefix(FAR_ROUTER, 1) + "1", prefix(FAR_ROUTER, 1) + "10"
NATIVE_ROUTER, NATIVE_HOST = "2001:db8:5::1", "2001:db8:5::10"
LAN_PREFIX = prefix(net.WAN_GATEWAY, 1)

INNER_WAN = "192.168.1.3"
INNER_MACS = ("52:54:00:12:36:00", "52:54:00:12:36:01")

SIX = "app 6to4\n" + net.NETWORK + f"6to4.relay {FAR_ROUTER}\n"
"""Configuration of a gateway with both functions on the test network."""

FAR = f"""\
app 6to4
lan nic0
wan nic1
lan.address 192.168.5.1/24
wan.address {FAR_ROUTER}/24
gateway {FAR_GATEWAY}
"""
"""Configuration of our image as the far router."""

INNER = f"""\
app 6to4
lan nic0
wan nic1
lan.address 192.168.7.1/24
wan.address {INNER_WAN}/24
gateway {net.LAN_GATEWAY}
6to4.nat off
6to4.address {net.WAN_GATEWAY}
6to4.relay {FAR_ROUTER}
"""
"""Configuration of our image as a 6to4 gateway behind a NAT that has the public address."""


def open_ipv6(space: Namespace, name: str) -> None:
    """Lets `name` configure itself by router advertisements, as a Linux host does."""
    space.sysctl("ipv6.conf.all.disable_ipv6", 0)
    space.sysctl("ipv6.conf.default.disable_ipv6", 0)
    # The first solicitation is sent at once, not after a random time.
    space.sysctl(f"ipv6.conf.{name}.router_solicitation_delay", 0)
    space.sysctl(f"ipv6.conf.{name}.disable_ipv6", 0)


def global_address(space: Namespace, name: str) -> str:
    """The usable address that `name` made from a 2002::/16 prefix; "" as long as there is none."""
    for line in space.ip(f"-6 -o address show dev {name} scope global -tentative").splitlines():
        address = line.split()[3].split("/")[0]
        if address.startswith("2002:") and "dadfailed" not in line and "deprecated" not in line:
            return address
    return ""


class SixLab(Lab):
    """A Lab whose LAN has IPv6 and whose WAN leads to a 6to4 site.

    `far` is the kind of the far router: "linux" or "image". It runs as long as the lab, while the gateway may be booted
    many times.
    """

    def __init__(self, nics: Sequence[str] = ("e1000", "e1000"), far: str = "linux", **options: Any) -> None:
        super().__init__(nics, **options)
        self.home, self.home_port = self.lan, "lan0"
        self._closed: list[str] = []  # ports of a bridge, which have no IPv6 themselves
        self.inner: Machine | None = None
        self._inner_ports: list[Port] = []
        self.far: Machine
        try:
            self.wan.sysctl("ipv4.ip_forward", 1)
            self.site = self._namespace("site")
            far0 = self._tap(self.wan, "far0", f"{FAR_GATEWAY}/24")
            site0 = self._tap(self.site, "site0")
            # The site's LAN is the far router's nic0, or eth1 in the guest.
            if far == "linux":
                ports = [Port("virtio", tap, mac) for tap, mac in zip((far0, site0), FAR_MACS)]
                self._start_linux(ports)
            else:
                ports = [Port("e1000", tap, mac) for tap, mac in zip((site0, far0), FAR_MACS)]
                self._start_image(ports)
        except BaseException:
            self.close()
            raise

    def _tap(self, space: Namespace, name: str, address: str = "") -> int:
        tap = space.tap(name)
        self._cleanup.callback(os.close, tap)
        if address:
            space.ip(f"address add {address} dev {name}")
        space.ip(f"link set {name} up")
        return tap

    def _start_linux(self, ports: Sequence[Port]) -> None:
        peer = LinuxPeer(ports)
        self.far = peer
        self._cleanup.callback(peer.close)
        peer.six_to_four(f"{FAR_ROUTER}/24", FAR_ROUTER)
        peer.configure(f"""
            ip route add default via {FAR_GATEWAY}
            ip -6 addr add {NATIVE_ROUTER}/64 dev eth1
        """)
        open_ipv6(self.site, "site0")
        self.site.ip(f"-6 address add {SITE_HOST}/64 dev site0 nodad")
        self.site.ip(f"-6 address add {NATIVE_HOST}/64 dev site0 nodad")
        self.site.ip(f"-6 route add default via {SITE_ROUTER}")

    def _start_image(self, ports: Sequence[Port]) -> None:
        conf = self.file("far.conf", FAR)
        self.far = Machine(Hardware(modules=[conf]), ports)
        self._cleanup.callback(self.far.close)
        self.far.wait_ready("6to4")
        open_ipv6(self.site, "site0")
        self.site.ip(f"-6 address add {SITE_HOST}/64 dev site0 nodad")

    def machines(self) -> list[Machine]:
        """Every running machine."""
        return [*super().machines(), *([self.inner] if self.inner is not None else []), self.far]

    # ---- the gateway, and the hosts behind it ----

    def plug(self) -> None:
        """Plugs both cables in, and restores what the hosts lost while they were out."""
        for space, name, router in ((self.lan, "lan0", net.LAN_GATEWAY), (self.wan, "wan0", None)):
            space.ip(f"link set {name} up")
            if router is not None:
                space.ip(f"route replace default via {router}")

    def wait_slaac(self, timeout: float = 30) -> str:
        """Makes the host forget its configuration and waits until it has an address and a default route; gives the
        address."""
        space, name = self.home, self.home_port
        space.ip(f"link set {name} down")
        open_ipv6(space, name)
        for port in self._closed:
            space.sysctl(f"ipv6.conf.{port}.disable_ipv6", 1)
        space.ip(f"link set {name} up")
        if space is self.lan:
            space.ip(f"route replace default via {net.LAN_GATEWAY}")

        def ready() -> str:
            route = space.ip(f"-6 route show default dev {name}")
            return global_address(space, name) if "via fe80:" in route else ""
        return until(ready, timeout, f"{space.role}: an address and a route from a router advertisement")

    def wait_ping6(self, target: str = SITE_HOST, timeout: float = 20) -> None:
        """Waits until the IPv6 host gets an echo reply from `target`."""
        def answered() -> bool:
            return self.home.run("ping", "-6", "-c1", "-W1", "-n", target, check=False).returncode == 0
        until(answered, timeout, f"echo reply from {target}")

    def boot_six(self, conf: str = SIX) -> str:
        """Boots the gateway and waits until its LAN works; gives the LAN host's address."""
        self.plug()
        self.boot(conf, app="6to4")
        address = self.wait_slaac()
        self.wait_ping6()
        return address

    def boot_six_linux(self, relay: str = FAR_ROUTER) -> str:
        """Boots a Linux guest in place of our image, to check the tests against it; needs virtio NICs."""
        self.plug()
        self.shut_down()
        peer = LinuxPeer(self.ports, role="gateway")
        self.machine = peer
        peer.six_to_four(f"{net.WAN_GATEWAY}/24", net.WAN_GATEWAY, wan="eth1", lan="eth0")
        peer.configure(f"""
            ip addr add {net.LAN_GATEWAY}/24 dev eth0
            ip route add default via {net.WAN_SERVER}
            ip -6 route add 2000::/3 via ::{relay} dev tun6to4
            nft -f /etc/rules.nft
            echo 'interface eth0 {{ AdvSendAdvert on; AdvLinkMTU 1280; AdvDefaultLifetime 1800;' >/etc/radvd.conf
            echo 'MinRtrAdvInterval 3; MaxRtrAdvInterval 5; prefix {LAN_PREFIX}/64 {{ }}; }};' >>/etc/radvd.conf
            radvd -C /etc/radvd.conf -m stderr -p /run/radvd.pid
        """)
        address = self.wait_slaac()
        self.wait_ping6()
        return address

    # ---- a separate 6to4 gateway ----

    def _bridge(self) -> None:
        """Turns the LAN cable into a bridge for several hosts; the LAN host is on br0."""
        self.lan.ip(f"link add br0 address {net.LAN_HOST_MAC} type bridge")
        self.lan.ip("link set lan0 master br0")
        self.lan.ip(f"address del {net.LAN_HOST}/24 dev lan0")
        self.lan.ip(f"address add {net.LAN_HOST}/24 dev br0")
        self.lan.ip("link set br0 up")
        self.lan.ip(f"route replace default via {net.LAN_GATEWAY}")
        self.home_port = "br0"

    def add_inner(self, model: str = "e1000") -> None:
        """Makes the networks for a 6to4 gateway behind the NAT: lan is between the two, home is the IPv6 LAN."""
        self._bridge()
        self.home, self.home_port = self._namespace("home"), "home0"
        taps = self._tap(self.home, "home0"), self._tap(self.lan, "inner0")
        self.lan.ip("link set inner0 master br0")
        self._inner_ports = [Port(model, tap, mac) for tap, mac in zip(taps, INNER_MACS)]

    def add_attacker(self, rate: int) -> Namespace:
        """A host on the LAN whose interface attack0 sends at most `rate` packets a second.

        It reaches the gateway directly, and the LAN host only through the gateway, so that the gateway is attacked. The
        far site is limited to the same rate, except its echo replies, so that no cable is saturated.
        """
        self._bridge()
        attacker = self._namespace("attacker")
        self.lan.ip(f"link add bad0 type veth peer name attack0 netns {attacker.name}")
        self.lan.ip("link set bad0 master br0 up")
        for name in ("lan0", "bad0"):
            self._closed.append(name)
        self.lan.run("nft", "-f", "-", stdin=b"""
            table bridge lan { chain input { type filter hook input priority 0; iifname "bad0" drop; };
                               chain output { type filter hook output priority 0; oifname "bad0" drop; }; }
            """)
        for space, name in ((attacker, "attack0"), (self.site, "site0")):
            space.run("nft", "-f", "-", stdin=f"""
                table netdev slow {{ chain out {{ type filter hook egress device {name} priority 0;
                                                  icmpv6 type echo-reply accept;
                                                  limit rate over {rate}/second burst 100 packets drop; }}; }}
                """.encode())
        open_ipv6(attacker, "attack0")
        attacker.ip("link set attack0 up")
        return attacker

    def boot_inner(self, conf: str = INNER) -> Machine:
        """Boots our image as the inner machine."""
        self.inner = Machine(Hardware(modules=[self.file("inner.conf", conf)]), self._inner_ports)
        self._cleanup.callback(self.inner.close)
        self.inner.wait_ready("6to4")
        return self.inner

    def boot_inner_linux(self) -> LinuxPeer:
        """Boots a Linux 6to4 router as the inner machine; it sends no advertisements, so home is configured by hand."""
        peer = LinuxPeer([Port("virtio", port.tap, port.mac) for port in reversed(self._inner_ports)])
        self._cleanup.callback(peer.close)
        self.inner = peer
        peer.six_to_four(f"{INNER_WAN}/24", net.WAN_GATEWAY)
        peer.configure(f"""
            ip route add default via {net.LAN_GATEWAY}
            ip -6 route add 2000::/3 via ::{FAR_ROUTER} dev tun6to4
        """)
        open_ipv6(self.home, "home0")
        self.home.ip(f"-6 address add {LAN_PREFIX}10/64 dev home0 nodad")
        self.home.ip(f"-6 route add default via {LAN_PREFIX}1")
        return peer

    def web_server6(self, directory: str, port: int = 80) -> contextlib.AbstractContextManager[str]:
        """A web server on the site's host, on all its addresses; gives the path of its log."""
        return self.web_server(directory, port, "::", self.site)
