# SPDX-License-Identifier: BSD-2-Clause
"""Guests under test: QEMU's command line, start, waiting for `ready`, pinning, end.

Every guest has the LAN on its first NIC and the WAN on its second; some of ours have further NICs without traffic.
Every process that is started here is ended by its own id, also when the bench is interrupted.
"""

from __future__ import annotations

import ctypes
import ipaddress
import os
import re
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from labkit import linuxguest
from labkit.wait import Timeout, until

LAN_ADDRESS = "192.168.1.1/24"
WAN_ADDRESS = "203.0.113.2/24"
WAN_GATEWAY = "203.0.113.1"
CLIENT = "192.168.1.10"
SERVER = "203.0.113.10"
FAR_WAN_ADDRESS = "203.0.113.3/24"  # of a second gateway, which is back to back with the first


def site6(wan: str, part: int = 0) -> str:
    """The 6to4 prefix of a gateway with this WAN address (RFC 3056), without its length: up to the network `part`. Our
    gateway makes it by itself."""
    high, low = divmod(int(ipaddress.IPv4Interface(wan).ip), 1 << 16)
    return f"2002:{high:x}:{low:x}:" + (f"{part:x}:" if part else "")


LAN6_ADDRESS = site6(WAN_ADDRESS, 1) + ":1/64"
# Translation: hosts of the LAN are IPv6 hosts with the IPv6 form of those IPv4 addresses (RFC 6052), and so is the
# gateway's own address.
XLAT_PREFIX = "2001:db8:64::/96"
XLAT_HOSTS = "192.168.1.0/24"
XLAT_ADDRESS = "2001:db8:64::192.168.1.1/120"
# NAT64: the clients have a prefix of their own.
NAT64_ADDRESS = "2001:db8:65::192.168.1.1/120"
# DNS64: clients query over IPv6, at LAN6_ADDRESS; SERVER is upstream.
DNS64_PREFIX = "2001:db8:64::/96"
# Size of the session table, the same for all: ours nat.sessions, Linux's nf_conntrack_max.
SESSIONS = 200_000

# virtio-net without the features that let a host and a guest exchange large packets or packets without checksums.
VIRTIO_PLAIN = "".join(
    f",{name}=off"
    for name in (
        "csum gso guest_csum guest_tso4 guest_tso6 guest_ecn guest_ufo host_tso4 host_tso6 host_ecn host_ufo"
    ).split()
)


class GuestError(Exception):
    """A guest did not start or ended too early."""


@dataclass(frozen=True)
class Row:
    """One line of the tables: a guest in one configuration."""

    name: str
    title: str
    linux: bool
    what: str  # our application or the Linux guest's mode
    path: str  # the path that the generator expects: nat, route, wire, 6to4, xlat, nat64 or dns
    extra: str = ""  # more words for our command line
    hops: int = 1  # by how much a packet's TTL decreases
    cards: int = 2  # those behind the first two are further inside networks without traffic


ROWS = {
    row.name: row
    for row in (
        Row("wire", "floor (wire)", False, "wire", "wire", hops=0),
        Row("nat", "Baregate nat", False, "nat", "nat"),
        Row("nat8", "Baregate nat, eight cards", False, "nat", "nat", cards=8),
        Row("linux-nat", "Linux nat (masquerade)", True, "nat", "nat"),
        Row("linux-flowtable", "Linux nat + flowtable", True, "flowtable", "nat"),
        Row("linux-route", "Linux plain forwarding", True, "route", "route"),
        Row("linux-bridge", "Linux bridge", True, "bridge", "wire", hops=0),
        Row("6to4", "Baregate 6to4, its NAT on", False, "6to4", "6to4", "6to4.nat=on"),
        Row("6to4-nonat", "Baregate 6to4, its NAT off", False, "6to4", "6to4", "6to4.nat=off"),
        Row("linux-sit", "Linux sit + masquerade", True, "sit", "6to4"),
        Row("ivi", "Baregate ivi", False, "ivi", "xlat"),
        # The kernel forwards a packet to tayga, and tayga's packet too; tayga itself is a router as well.
        Row("linux-tayga", "Linux with tayga", True, "translator", "xlat", hops=3),
        Row("nat64", "Baregate nat64", False, "nat64", "nat64"),
        Row("linux-nat64", "Linux with tayga and masquerade", True, "nat64", "nat64", hops=3),
        Row("dns64", "Baregate dns64", False, "dns64", "dns", f"nameserver={SERVER} dns64-prefix={DNS64_PREFIX}"),
        Row("linux-unbound", "Linux unbound", True, "unbound", "dns"),
        Row("linux-bind", "Linux BIND", True, "bind", "dns"),
        Row("linux-pdns", "Linux PowerDNS Recursor", True, "pdns", "dns"),
    )
}


@dataclass(frozen=True)
class Setup:
    """The settings that all guests of a pass share."""

    nic: str  # e1000, virtio-net-pci, ...
    backend: str  # dgram (frame by frame), stream (bursts), vhost or tap
    image: Path  # our image
    linux: dict[str, linuxguest.LinuxImage]  # by role
    cores: tuple[int, int]  # for the vCPU, for everything else
    offloads: bool = False
    plugin: Path | None = None
    profile: bool = False
    linux_cpu: str = "qemu64"
    our_cpu: str = "qemu32"


@dataclass
class Guest:
    """One running QEMU."""

    row: Row
    setup: Setup
    folder: Path  # sockets and the counter file
    taps: tuple[int, ...] = ()  # descriptors, if the back end is tap
    wan: str = WAN_ADDRESS
    words: tuple[str, ...] = ()  # further ones of QEMU's command
    process: subprocess.Popen[bytes] | None = None
    vcpu: int = 0
    lines: list[str] = field(default_factory=list)
    ready_ms: float = 0.0  # by the guest's clock
    wall_ms: float = 0.0  # from the start of QEMU
    _news: threading.Condition = field(default_factory=threading.Condition)

    def socket(self, side: str, end: str) -> Path:
        return self.folder / f"{self.row.name}-{side}-{end}"

    @property
    def counter(self) -> Path:
        return self.folder / f"{self.row.name}-count"

    def another(self) -> Guest:
        """A guest like this one that was not started, for its start alone. Its sockets are its own, and nothing listens
        there. A generator that has connected to one guest gets no frames from the next one at the same place until it
        sends, and a host of the WAN only answers."""
        folder = self.folder / "another"
        folder.mkdir(exist_ok=True)
        return Guest(self.row, self.setup, folder, self.taps, self.wan, self.words)

    # ---- the command ----

    def _network(self) -> list[str]:
        words: list[str] = []
        for number, side in enumerate(("lan", "wan")):
            name = f"n{number}"
            device = f"{self.setup.nic},netdev={name},mac={self._mac(number)},romfile="
            if self.setup.backend == "vhost":
                path = self.socket(side, "gen")
                words += ["-chardev", f"socket,id=c{number},path={path}"]
                words += ["-netdev", f"vhost-user,id={name},chardev=c{number}"]
                device += ",vectors=0"  # this QEMU crashes under TCG with MSI-X and vhost-user
            elif self.setup.backend == "stream":
                path = self.socket(side, "gen")
                words += ["-netdev", f"stream,id={name},server=off,addr.type=unix,addr.path={path}"]
            elif self.setup.backend == "tap":
                words += ["-netdev", f"tap,id={name},fd={self.taps[number]}"]
            else:
                local, remote = self.socket(side, "qemu"), self.socket(side, "gen")
                words += [
                    "-netdev",
                    f"dgram,id={name},local.type=unix,local.path={local},remote.type=unix,remote.path={remote}",
                ]
            if self.setup.nic.startswith("virtio") and self.setup.backend != "vhost" and not self.setup.offloads:
                device += VIRTIO_PLAIN
            words += ["-device", device]
        for number in range(2, self.row.cards):  # a hub with one cable: a carrier, and no frames
            words += ["-netdev", f"hubport,id=n{number},hubid={number}"]
            words += ["-device", f"{self.setup.nic},netdev=n{number},mac={self._mac(number)},romfile="]
        return words

    def _mac(self, number: int) -> str:
        station = int(ipaddress.IPv4Interface(self.wan).ip) & 0xFF
        return f"52:54:00:ba:{station:02x}:0{number}"

    def command(self) -> list[str]:
        setup, row = self.setup, self.row
        # Name servers have large libraries, and their files are in memory.
        memory = ("512M" if row.path == "dns" else "256M") if row.linux else "64M"
        machine = "pc"
        words = ["qemu-system-x86_64" if row.linux else "qemu-system-i386"]
        if setup.backend == "vhost":
            machine += ",memory-backend=ram"
            words += ["-object", f"memory-backend-memfd,id=ram,size={memory},share=on"]
        words += ["-M", machine, "-accel", "tcg", "-m", memory, "-smp", "1", "-display", "none"]
        words += ["-no-reboot", "-monitor", "none", "-serial", "stdio"]
        words += ["-name", f"bench-{row.name},debug-threads=on"]
        words += ["-cpu", setup.linux_cpu if row.linux else setup.our_cpu]
        if setup.plugin is not None:
            profile = ",profile=on" if setup.profile else ""
            words += ["-plugin", f"{setup.plugin},count={self.counter}{profile}"]
        return words + self._system() + self._network() + list(self.words)

    def _system(self) -> list[str]:
        setup, row = self.setup, self.row
        if not row.linux:
            line = f"app={row.what}"
            if row.what == "ivi":
                line += f" lan.address={XLAT_ADDRESS} ivi.prefix={XLAT_PREFIX} ivi.format=rfc6052"
                line += f" ivi.ipv4={XLAT_HOSTS}"
            elif row.what == "nat64":
                line += f" lan.address={NAT64_ADDRESS} nat64.prefix={XLAT_PREFIX} nat64.sessions={SESSIONS}"
            elif row.what != "wire":
                line += f" lan.address={LAN_ADDRESS}"
            if row.what == "dns64":
                line += f" lan.address={LAN6_ADDRESS}"
            if row.what != "wire":
                line += f" wan.address={self.wan} gateway={WAN_GATEWAY}"
            for number in range(2, row.cards):
                line += f" lan{number}=nic{number} lan{number}.address=10.{number}.0.1/24"
            if row.what in ("nat", "6to4"):
                line += f" nat.sessions={SESSIONS}"
            return ["-kernel", str(setup.image), "-append", f"{line} {row.extra}".strip()]
        image = setup.linux.get(row.what)
        if image is None:
            raise GuestError("the Linux guest was not built")
        line = linuxguest.command_line(
            row.what,
            setup.nic,
            lan=LAN_ADDRESS,
            wan=self.wan,
            gateway=WAN_GATEWAY,
            lan6={"xlat": XLAT_ADDRESS, "nat64": NAT64_ADDRESS}.get(row.path, site6(self.wan, 1) + ":1/64"),
            tunnel6=site6(self.wan) + ":1/16",
            prefix6=XLAT_PREFIX,
            hosts4=XLAT_HOSTS,
            offloads="on" if setup.offloads else "off",
            sessions=str(SESSIONS),
            upstream=SERVER,
            prefix=DNS64_PREFIX,
        )
        return ["-kernel", str(image.kernel), "-initrd", str(image.initrd), "-append", line]

    # ---- starting ----

    def start(self, timeout_s: float = 60) -> None:
        other = self.setup.cores[1]

        def child() -> None:  # runs between fork and exec
            os.sched_setaffinity(0, {other})
            ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # end when the bench ends

        began = time.monotonic()
        # No thread is created while another one forks: the reader starts afterwards.
        self.process = subprocess.Popen(  # pylint: disable=subprocess-popen-preexec-fn
            self.command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=child,
            pass_fds=self.taps,
        )
        threading.Thread(target=self._read, daemon=True).start()
        self._pin()
        last = "settled" if self.row.linux else "ready app="
        self._wait_for("ready app=", timeout_s)
        self.wall_ms = (time.monotonic() - began) * 1000
        line = self._wait_for("ready app=", 1)
        found = re.search(r" ms=(\d+)", line)
        if found:
            self.ready_ms = float(found.group(1))
        found = re.search(r" uptime=([\d.]+)", line)
        if found:
            self.ready_ms = float(found.group(1)) * 1000
        self._wait_for(last, timeout_s)

    def _read(self) -> None:
        assert self.process is not None and self.process.stdout is not None
        for raw in self.process.stdout:
            with self._news:
                self.lines.append(raw.decode("latin-1").strip("\r\n"))
                self._news.notify_all()
        with self._news:
            self.lines.append("QEMU ended")
            self._news.notify_all()

    def _wait_for(self, text: str, timeout_s: float) -> str:
        end = time.monotonic() + timeout_s
        with self._news:
            while True:
                for line in self.lines:
                    if text in line:
                        return line
                left = end - time.monotonic()
                if left <= 0 or "QEMU ended" in self.lines:
                    tail = "\n".join(self.lines[-12:])
                    raise GuestError(f"{self.row.name}: no '{text}' from the guest:\n{tail}")
                self._news.wait(left)

    def _pin(self) -> None:
        assert self.process is not None
        tasks = Path(f"/proc/{self.process.pid}/task")
        process = self.process

        def found() -> bool:
            for task in tasks.glob("*"):
                try:
                    name = (task / "comm").read_text(encoding="latin-1")
                except OSError:
                    continue
                if name.startswith(("CPU 0", "ALL CPUs")):  # the second: with -icount
                    self.vcpu = int(task.name)
                    os.sched_setaffinity(self.vcpu, {self.setup.cores[0]})
                    return True
            return process.poll() is not None  # the wait for `ready` reports QEMU's output

        try:
            until(found, 30, "a vCPU thread")
        except Timeout as late:
            raise GuestError(f"{self.row.name}: {late}") from None

    # ---- talking and ending ----

    def console(self, command: str, timeout_s: float = 5) -> list[str]:
        """Types a console command and returns the lines of its answer. Our answers end with an empty line; Linux's
        answer is one line, the command and a number."""
        assert self.process is not None and self.process.stdin is not None
        begin = len(self.lines)
        self.process.stdin.write(command.encode() + b"\r")
        self.process.stdin.flush()
        last = re.compile(rf"{command} \d" if self.row.linux else "^$")
        with self._news:
            self._news.wait_for(lambda: any(last.search(line) for line in self.lines[begin:]), timeout_s)
            return self.lines[begin:]

    def stop(self) -> None:
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    pass
        self.process = None
