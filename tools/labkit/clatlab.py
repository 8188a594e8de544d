# SPDX-License-Identifier: BSD-2-Clause
"""The test network of 464XLAT (RFC 6877): an IPv4 host, and IPv4 servers, with nothing but IPv6 between them.

    namespace lan              customer's gateway         namespace core         provider's gateway    namespace wan
    lan0 192.168.1.2 ---- .1   app clat    up0 ---------- br0 ---------- down0   app nat64 .2 -------- 203.0.113.1
    default via .1             its address and the provider's prefix             2001:db8:64::1        lo 198.51.100.1
                               from the advertisements

The provider's gateway is a second instance of our image, or a Linux guest with tayga, radvd and masquerade.
"""

import os
import subprocess
from typing import Any

from . import lab as net
from .lab import Lab
from .machine import Hardware, Machine, Port
from .nat64lab import OWN_PREFIX, ROUTER6, linux_nat64
from .peer import LinuxPeer
from .wait import until

FAR_MACS = "52:54:00:12:3a:00", "52:54:00:12:3a:01"
CLAT_WAN = "2001:db8:64::c1a7"
CONFIGURATION = f"""\
app clat
lan nic0
wan nic1
lan.address {net.LAN_GATEWAY}/24
wan.address auto
"""
"""The customer's gateway: everything that it needs is advertised."""
GIVEN = CONFIGURATION + f"clat.prefix {OWN_PREFIX}\n"
"""For a provider whose routers do not advertise the prefix."""
ASKING = CONFIGURATION.replace("address auto", f"address {CLAT_WAN}/64") + f"gateway {ROUTER6}\nnameserver {ROUTER6}\n"
"""For a provider that advertises nothing: the name server knows the prefix (RFC 7050)."""
PROVIDER = f"""\
app nat64
serve dns64
lan nic0
wan nic1
lan.address {ROUTER6}/64
wan.address {net.WAN_GATEWAY}/24
gateway {net.WAN_SERVER}
nameserver {net.WAN_SERVER}
nat64.prefix {OWN_PREFIX}
"""
CALL_PACKETS, CALL_BYTES, CALL_MS = 250, 172, 20

_ECHO = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], int(sys.argv[2])))
while True:
    data, source = s.recvfrom(2048)
    s.sendto(data, source)
"""
_CALL = """
import select, socket, sys, time
to, port, count, size, step = sys.argv[1], *map(int, sys.argv[2:])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((to, port))
heard, begin = set(), time.monotonic()
for number in range(count + 100):
    if number < count:
        s.send(number.to_bytes(4, "big") + bytes(size - 4))
    while True:
        left = begin + (number + 1) * step / 1000 - time.monotonic()
        if len(heard) == count or not select.select([s], [], [], max(left, 0))[0]:
            break
        heard.add(s.recv(2048)[:4])
    if len(heard) == count:
        break
print(len(heard))
"""


class ClatLab(Lab):
    """A Lab whose gateway is the customer's; `far` runs as long as the lab and is the provider's, "image" or "linux".
    `provider` is added to the configuration of the image."""

    def __init__(self, nics: tuple[str, str] = ("e1000", "e1000"), far: str = "image", provider: str = "") -> None:
        super().__init__(nics)
        self.far: Machine
        try:
            core = self._namespace("core")
            core.ip("link add br0 type bridge")
            core.ip("link set br0 up")
            taps = []
            for name in ("up0", "down0"):
                taps.append(core.tap(name))
                self._cleanup.callback(os.close, taps[-1])
                core.ip(f"link set {name} master br0 up")
            below, above = Port(nics[1], taps[1], FAR_MACS[0]), self.ports[1]
            above = Port(above.model, above.tap, FAR_MACS[1])
            self.ports[1] = Port(nics[1], taps[0], net.GATEWAY_MACS[1])
            if far == "linux":
                self._start_linux(Port("virtio", below.tap, below.mac), Port("virtio", above.tap, above.mac))
            else:
                conf = self.file("provider.conf", PROVIDER + provider)
                self.far = Machine(Hardware(modules=[conf]), [below, above])
                self._cleanup.callback(self.far.close)
                self.far.wait_ready("nat64")
        except BaseException:
            self.close()
            raise

    def _start_linux(self, *ports: Port) -> None:
        peer = LinuxPeer(list(ports), role="tayga")
        self.far = peer
        self._cleanup.callback(peer.close)
        linux_nat64(peer)

    def machines(self) -> list[Machine]:
        """Every running machine."""
        return [*super().machines(), self.far]

    def join(self, conf: str = CONFIGURATION, **hardware: Any) -> None:
        """Boots the customer's gateway and waits until the servers answer."""
        self.start(conf, **hardware)
        assert self.machine is not None
        self.machine.wait_ready("clat", 60)
        self.wait_ping(net.FAR_SERVER, 30)

    def call(self, port: int = 4569) -> int:
        """Talks to the far server by UDP in both directions, as a telephone does; gives how many of CALL_PACKETS
        datagrams came back."""
        server = self.wan.start("python3", "-c", _ECHO, net.FAR_SERVER, str(port), stderr=subprocess.DEVNULL)
        try:
            self.wan.wait_port(port, "udp")
            said = self.lan.run("python3", "-c", _CALL, net.FAR_SERVER, str(port), str(CALL_PACKETS), str(CALL_BYTES),
                                str(CALL_MS), timeout=60).stdout
        finally:
            server.terminate()
            server.wait()
        return int(said)

    def wait_line(self, listing: str, words: str, timeout: float = 20) -> str:
        """Waits until a line of a listing of the customer's gateway has these words; gives it."""
        def found() -> str:
            return next((line for line in self.console.command(listing).splitlines() if words in line), "")
        return until(found, timeout, f"'{words}' in the answer to `{listing}`")
