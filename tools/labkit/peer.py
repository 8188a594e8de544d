# SPDX-License-Identifier: BSD-2-Clause
"""A Linux guest as a member of the lab, for functions that the host lacks (sit tunnels, tayga).

It boots in a few seconds without a configuration and then runs the shell commands that it gets:

    peer = LinuxPeer(ports)
    peer.run("ip addr add 192.0.2.2/24 dev eth0")

The methods below configure it for a test.
"""

import dataclasses
import ipaddress
import os
import re
from collections.abc import Sequence
from pathlib import Path

from . import linuxguest
from .machine import ROOT, Hardware, Machine, Port
from .netns import CommandFailed


def prepare(role: str = "peer") -> linuxguest.LinuxImage:
    """Builds the guest, downloading what is missing: the first call must be outside the sandbox."""
    return linuxguest.build(Path(ROOT) / "build", role)


def prefix(address: str, subnet: int) -> str:
    """The first 64 bits of a subnet of the 6to4 site of an IPv4 address, as text that ends with "::"."""
    site = int(ipaddress.IPv4Address(address))
    return str(ipaddress.IPv6Address(0x2002 << 112 | site << 80 | subnet << 64))


class LinuxPeer(Machine):
    """A booted guest; its NICs are eth0, eth1, ... in the order of `ports` (virtio, or all e1000).

    `role` is "peer", or "gateway", which has nft and radvd too, or "tayga" with the program of that name, nft and
    radvd, or "box" with unbound too, or "switch", which has bridges and VLANs.
    """

    def __init__(self, ports: Sequence[Port], role: str = "peer", timeout: float = 120) -> None:
        image = prepare(role)
        line = linuxguest.command_line(role, ports[0].model, ports=str(len(ports)))
        ports = [dataclasses.replace(port, model={"virtio": "virtio-linux"}.get(port.model, port.model))
                 for port in ports]
        super().__init__(Hardware(kernel=os.fspath(image.kernel), modules=[os.fspath(image.initrd)], append=line,
                                  memory=256 if role == "box" else 128, cpu="qemu64", binary="qemu-system-x86_64",
                                  reboot=False, debug_exit=False, bios=None), ports)
        try:
            self.console.expect(rf"^ready app=linux-{role}$", timeout)
        except BaseException:
            self.close()
            raise

    def run(self, command: str, timeout: float = 60, check: bool = True) -> str:
        """Runs one line of shell in the guest; gives its output. With `check` a status other than 0 raises."""
        self.console.mark()
        self.console.send(command + "\r")
        found = self.console.expect(r"([\s\S]*?)^status (\d+)$", timeout)
        if check and found.group(2) != "0":
            raise CommandFailed(f"Linux guest: {command}: status {found.group(2)}\n{found.group(1)}")
        return found.group(1).lstrip("\n")

    def configure(self, lines: str) -> None:
        """Runs each line; blank ones are skipped."""
        for line in lines.splitlines():
            if line.strip():
                self.run(line.strip())

    def counters(self, interface: str) -> dict[str, int]:
        """The number of packets that an interface received and sent."""
        text = self.run(f"cat /proc/net/dev | grep {interface}:")
        fields = re.split(r"[:\s]+", text.strip())
        return {"rx": int(fields[2]), "tx": int(fields[10])}

    def six_to_four(self, address: str, site: str, wan: str = "eth0", lan: str = "eth1") -> None:
        """Makes the guest a 6to4 router, and a relay for other packets that are routed here.

        `address` is its own IPv4 address (with its length) on the interface `wan`; the prefix is made from `site`,
        which differs behind a NAT. The site's subnet 1 is on `lan`, where the guest is `::1`. The caller sets the IPv4
        routes. """
        self.configure(f"""
            echo 1 >/proc/sys/net/ipv4/ip_forward
            echo 0 >/proc/sys/net/ipv6/conf/{wan}/accept_dad
            echo 0 >/proc/sys/net/ipv6/conf/{lan}/accept_dad
            echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
            ip addr add {address} dev {wan}
            ip link set {wan} up
            ip link set {lan} up
            ip tunnel add tun6to4 mode sit local {address.split('/')[0]} ttl 64
            ip link set tun6to4 up
            ip -6 addr add {prefix(site, 0)}1/16 dev tun6to4
            ip -6 addr add {prefix(site, 1)}1/64 dev {lan}
        """)

    def switch(self, vlans: Sequence[int]) -> None:
        """Makes the guest a switch for VLANs: eth0 leads to all of them, and each further interface to the one with the
        number of its place, without tags. The number 0 is the frames without a tag on eth0."""
        self.configure("echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6\n"
                       "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6\nip link set eth0 up")
        for place, vlan in enumerate(vlans, 1):
            trunk = f"eth0.{vlan}" if vlan else "eth0"
            if vlan:
                self.run(f"ip link add link eth0 name {trunk} type vlan id {vlan}")
            self.configure(f"""
                brctl addbr br{place}
                brctl addif br{place} {trunk}
                brctl addif br{place} eth{place}
                ip link set {trunk} up
                ip link set eth{place} up
                ip link set br{place} up
            """)

    def translator(self, own: str, prefix6: str, maps: Sequence[tuple[str, str]], pool: str = "") -> None:
        """Makes the guest a router that translates statelessly with tayga; the caller sets addresses and routes.

        Packets that are routed to the interface nat64 are translated: IPv4 addresses are embedded in `prefix6` by
        RFC 6052, except those of `maps`, which become the IPv6 addresses beside them. `own` is tayga's IPv4 address.
        Other IPv6 hosts get an address of the network `pool`, if it is given.
        """
        lines = [f"ipv4-addr {own}", f"prefix {prefix6}", "tun-device nat64",
                 *(f"map {four} {six}" for four, six in maps), *([f"dynamic-pool {pool}"] if pool else [])]
        for line in lines:
            self.run(f"echo {line} >>/etc/tayga.conf")
        self.configure("""
            echo 1 >/proc/sys/net/ipv4/ip_forward
            echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
            echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
            echo 0 >/proc/sys/net/ipv6/conf/eth1/accept_dad
            echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
            echo 0 >/proc/sys/net/ipv4/icmp_ratelimit
            echo 0 >/proc/sys/net/ipv6/icmp/ratelimit
            ip link set eth0 up
            ip link set eth1 up
            tayga -c /etc/tayga.conf --mktun
            ip link set nat64 up
            tayga -c /etc/tayga.conf
        """)
