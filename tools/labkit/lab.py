# SPDX-License-Identifier: BSD-2-Clause
"""The test network: a LAN host, the gateway, a WAN server.

    namespace lan            gateway (QEMU)             namespace wan
    lan0 192.168.1.2/24 ---- nic0 .1    nic1 .2 ------- wan0 203.0.113.1/24
    default via .1           default via 203.0.113.1    lo   198.51.100.1/24, a network further away

With more than two cards there are further inside networks, lan2 to lan7:

    namespace lan2
    lan2 192.168.2.2/24 ---- nic2 .1
    default via .1

The WAN has no route back to 192.168.1.0/24, so packets from a private address cannot be answered there: traffic passes
only if the gateway translates it.
"""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

from .machine import Hardware, Machine, Port
from .netns import Namespace
from .serial import Console
from .wait import Timeout, until

LAN_HOST, LAN_GATEWAY = "192.168.1.2", "192.168.1.1"
WAN_SERVER, WAN_GATEWAY = "203.0.113.1", "203.0.113.2"
FAR_SERVER = "198.51.100.1"
LAN_HOST_MAC, WAN_SERVER_MAC = "02:00:00:00:01:02", "02:00:00:00:02:01"
GATEWAY_MACS = tuple(f"52:54:00:12:34:{index:02x}" for index in range(8))
FLOWS = 0.5e6  # bit/s of a TCP connection that is not stuck, on the slowest machine; speed is for the bench

NETWORK = f"""\
lan nic0
wan nic1
lan.address {LAN_GATEWAY}/24
wan.address {WAN_GATEWAY}/24
gateway {WAN_SERVER}
"""
"""Configuration of the gateway that fits the test network, without `app`."""

NAT = "app nat\n" + NETWORK


def more_networks(cards: int, address: bool = True) -> str:
    """Configuration of the inside networks behind the first, for a machine with this many cards; with `address`, the
    gateway has an IPv4 address in each."""
    lines = ""
    for number in range(2, cards):
        lines += f"lan{number} nic{number}\n"
        if address:
            lines += f"lan{number}.address 192.168.{number}.1/24\n"
    return lines


LINUX = "linux"
"""The NIC model that stands for a router namespace of the host's kernel instead of QEMU."""


def inside_host(number: int) -> str:
    """The host on the inside network with this number: 1 is `lan`, 2 is `lan2`."""
    return f"192.168.{number}.2"


class Lab:
    """The hosts, their taps, and the machines booted between them.

    `nics` names a model for each NIC, in PCI order (see machine.NIC_MODELS), at most eight; cable 0 leads to the LAN
    host, cable 1 to the WAN server, and each further one to a host of an inside network of its own (`inside`).

    If `hosts` is false, the hosts have no addresses and send nothing: for tests that write every frame
    themselves. Use it as a context manager; leaving it ends everything that it started.
    """

    def __init__(self, nics: Sequence[str] = ("e1000", "e1000"), hosts: bool = True,
                 vnet_hdr: bool = False, rom: bool = False) -> None:
        self._cleanup = contextlib.ExitStack()
        self.machine: Machine | None = None
        self._router: Namespace | None = None
        try:
            self.directory = self._cleanup.enter_context(tempfile.TemporaryDirectory(prefix="lab-"))
            self.lan = self._namespace("lan")
            self.wan = self._namespace("wan")
            self.inside = [self.lan, *(self._namespace(f"lan{number}") for number in range(2, len(nics)))]
            self.ports: list[Port] = []
            hosts_of = [(self.lan, "lan0", LAN_HOST_MAC), (self.wan, "wan0", WAN_SERVER_MAC)]
            hosts_of += [(host, host.role, f"02:00:00:00:{number:02x}:02")
                         for number, host in enumerate(self.inside[1:], 3)]
            for index, (model, (host, name, mac)) in enumerate(zip(nics, hosts_of)):
                if model == LINUX:
                    tap = self._cable_to_router(host, name, index)
                else:
                    tap = host.tap(name, vnet_hdr)
                    self._cleanup.callback(os.close, tap)
                self.ports.append(Port(model, tap, GATEWAY_MACS[index], rom))
                host.ip(f"link set {name} address {mac} up")
            if hosts:
                self._address_hosts()
        except BaseException:
            self.close()
            raise

    def _namespace(self, role: str) -> Namespace:
        space = Namespace(role)
        self._cleanup.callback(space.close)
        # No router solicitations or duplicate address detection among the frames that tests count.
        space.sysctl("ipv6.conf.all.disable_ipv6", 1)
        space.sysctl("ipv6.conf.default.disable_ipv6", 1)
        # Allows a host to ping fast; and ping needs no privilege here.
        space.sysctl("ipv4.icmp_ratelimit", 0)
        return space

    def _cable_to_router(self, host: Namespace, name: str, index: int) -> int:
        """A virtual cable from the host to the router namespace; no tap, so -1."""
        if self._router is None:
            self._router = self._namespace("router")
        host.ip(f"link add {name} type veth peer name nic{index} netns {self._router.name}")
        self._router.ip(f"link set nic{index} address {GATEWAY_MACS[index]} up")
        return -1

    def boot_linux(self, conf: str = "", protocol41: str | None = None) -> None:
        """Used in place of `boot` when the NICs are LINUX: the host's kernel routes and translates.

        It checks that the traffic tests accept another NAT than ours. Only `lan.mtu` and `wan.mtu` of `conf` are
        supported. `protocol41` is the inside address of a 6to4 router, which then gets the tunnel packets from outside.
        """
        assert self._router is not None
        for line in conf.splitlines():
            key, value = line.split()
            self._router.ip(f"link set {({'lan.mtu': 'nic0', 'wan.mtu': 'nic1'})[key]} mtu {int(value)}")
        self._router.ip(f"address add {LAN_GATEWAY}/24 dev nic0")
        self._router.ip(f"address add {WAN_GATEWAY}/24 dev nic1")
        self._router.ip(f"route add default via {WAN_SERVER}")
        self._router.sysctl("ipv4.ip_forward", 1)
        self._router.run("nft", "-f", "-", stdin=b"""
            table ip nat { chain post { type nat hook postrouting priority 100;
                                        oifname "nic1" masquerade; }; }
            """)
        if protocol41 is not None:
            self._router.run("nft", "-f", "-", stdin=f"""
                table ip nat {{ chain pre {{ type nat hook prerouting priority -100;
                                            iifname "nic1" ip protocol 41 dnat to {protocol41}; }}; }}
                """.encode())

    def _address_hosts(self) -> None:
        if self.ports:
            self.lan.ip(f"address add {LAN_HOST}/24 dev lan0")
            self.lan.ip(f"route add default via {LAN_GATEWAY}")
        if len(self.ports) > 1:
            self.wan.ip(f"address add {WAN_SERVER}/24 dev wan0")
        self.wan.ip(f"address add {FAR_SERVER}/24 dev lo")
        for number, host in enumerate(self.inside[1:], 2):
            host.ip(f"address add {inside_host(number)}/24 dev {host.role}")
            host.ip(f"route add default via 192.168.{number}.1")

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the machine and the hosts' programs. Safe to call twice."""
        try:
            self.shut_down()
        finally:
            self._cleanup.close()

    def file(self, name: str, text: str) -> str:
        """Writes a file that exists as long as the lab; gives its path. Bytes that are not UTF-8 stand in the text as
        `surrogateescape` reads them."""
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        return path

    def start(self, conf: str | None = NAT, append: str = "", **hardware: Any) -> Machine:
        """Starts a machine with `conf` as its gateway.conf (None: no module), without waiting.

        Ends the machine before it. `hardware` are fields of machine.Hardware.
        """
        self.shut_down()
        modules = list(hardware.pop("modules", ()))
        if conf is not None:
            modules.insert(0, self.file("gateway.conf", conf))
        self.machine = Machine(Hardware(append=append, modules=modules, **hardware), self.ports)
        return self.machine

    def boot(self, conf: str | None = NAT, append: str = "", app: str | None = None,
             **hardware: Any) -> Machine:
        """Calls `start`, then waits for the ready line."""
        machine = self.start(conf, append, **hardware)
        machine.wait_ready(app)
        return machine

    def machines(self) -> list[Machine]:
        """Every running machine, for callers that show the consoles."""
        return [self.machine] if self.machine is not None else []

    def shut_down(self) -> None:
        """Ends the running machine, if any; the hosts and their taps stay."""
        if self.machine is not None:
            self.machine.close()
            self.machine = None

    @property
    def console(self) -> Console:
        """The console of the running machine."""
        assert self.machine is not None, "no machine was started"
        return self.machine.console

    def wait_ping(self, target: str = FAR_SERVER, timeout: float = 15, host: Namespace | None = None) -> None:
        """Waits until `host` (None: the LAN host) gets an echo reply from `target`.

        QEMU's e1000 receives nothing for a second after a driver has set it up, so the first packets after `ready` may
        be late or lost.
        """
        def answered() -> bool:
            return (host or self.lan).run("ping", "-c1", "-W1", "-n", target, check=False).returncode == 0
        until(answered, timeout, f"echo reply from {target}")

    def packets_free(self) -> int:
        """The number of free packets, once it no longer changes."""
        seen = -1
        def steady() -> bool:
            nonlocal seen
            before, seen = seen, self.console.stats()["packets_free"]
            return seen == before
        until(steady, 5, "packets_free to stop changing")
        return seen

    def silence(self) -> None:
        """Takes the hosts' interfaces down, so that no more frames reach the gateway."""
        cables = [(self.lan, "lan0"), (self.wan, "wan0"), *((host, host.role) for host in self.inside[1:])]
        for space, name in cables[:len(self.ports)]:
            space.ip(f"link set {name} down")

    def check_no_leak(self, free_at_start: int, timeout: float = 2) -> None:
        """Stops all traffic and checks that every packet is free again.

        The contract says within a second; the rest of `timeout` is for a busy host.
        """
        self.silence()
        try:
            until(lambda: self.console.stats()["packets_free"] >= free_at_start, timeout,
                  f"packets_free back at {free_at_start}")
        except Timeout as late:
            raise Timeout(f"{late}; it is {self.console.stats()['packets_free']}") from None

    @contextlib.contextmanager
    def web_server(self, directory: str, port: int = 80, address: str = FAR_SERVER,
                   host: Namespace | None = None) -> Iterator[str]:
        """Runs Python's web server for `directory`, by default on the WAN server; gives the path of its log."""
        host = host or self.wan
        log = os.path.join(self.directory, f"web-{host.role}.log")
        with open(log, "wb") as file:
            # -u: a line is in the log when the request is done, not when a buffer is full.
            process = host.start("python3", "-u", "-m", "http.server", str(port), "--bind", address,
                                     "--directory", directory, stdout=file, stderr=subprocess.STDOUT)
        try:
            host.wait_port(port)
            yield log
        finally:
            process.terminate()
            process.wait()
