# SPDX-License-Identifier: BSD-2-Clause
"""The image in QEMU in place of a gwsim process: the same commands, the same answers, in real time.

Each configuration is booted once. A test gets the machine as it was saved when all interfaces had carrier (QEMU's
savevm), so every test begins with a fresh gateway within some milliseconds.

Frames go over sockets. A frame leaves "at once" when it arrives before the gateway's answers to probes, one on the
interface of the frame and then one on each other: the gateway handles frames in order.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import tempfile
import time
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from labkit.machine import Hardware, Machine, Port
from labkit.wait import Timeout, until
from simulator import Refused

NICS = ("e1000", "virtio")
PORTS = ("lan", "wan", "lan2", "lan3", "lan4", "lan5", "lan6", "lan7")  # in the order of the cards
MACS = {name: f"02:00:00:00:00:{number:02x}" for number, name in enumerate(PORTS, 1)}
KEPT = 3  # machines that wait for their next test
PATIENCE = 20.0  # seconds until a probe must be answered

_PROBE_MAC = bytes.fromhex("52540000fe01")
_ARP, _IPV6, _ETHERTYPE_PROBE = b"\x08\x06", b"\x86\xdd", b"\x88\xb5"  # the last is for local experiments
_LISTINGS = {"print": "config"}  # the console's name for it


class _Cable:
    """Our end of an interface's cable."""

    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self._data = b""

    def send(self, frame: bytes) -> None:
        self.ours.sendall(struct.pack("!I", len(frame)) + frame)

    def take(self) -> list[bytes]:
        """Removes the received frames and gives them."""
        while select.select([self.ours], [], [], 0)[0]:
            data = self.ours.recv(1 << 16)
            assert data, "QEMU closed a cable"
            self._data += data
        frames = []
        while len(self._data) >= 4:
            end = 4 + int(struct.unpack("!I", self._data[:4])[0])
            if len(self._data) < end:
                break
            frames.append(_unpadded(self._data[4:end]))
            self._data = self._data[end:]
        return frames


def _unpadded(frame: bytes) -> bytes:
    """The frame without the zeros with which a card pads a short frame."""
    if len(frame) > 60:
        return frame
    end = len(frame)
    if frame[12:14] == _ARP:
        end = 42
    elif frame[12:14] == b"\x08\x00":
        end = 14 + int.from_bytes(frame[16:18], "big")
    return frame if any(frame[end:]) else frame[:end]


def _is_announcement(frame: bytes) -> bool:
    """Whether the gateway sends the frame by a timer, not as an answer: a gratuitous ARP request, the probe of
    duplicate address detection (RFC 4862 section 5.4.2), an unsolicited neighbour advertisement (RFC 4861 section
    7.2.6), an MLDv2 report (RFC 3810 section 5.2)."""
    if frame[12:14] == _ARP:
        return frame[20:22] == b"\0\1" and frame[28:32] == frame[38:42]
    if frame[12:14] != _IPV6:
        return False
    probe = frame[20] == 58 and frame[22:38] == bytes(16) and frame[54] == 135
    unsolicited = frame[20] == 58 and frame[54] == 136 and frame[38] == 0xff
    report = frame[20] == 0 and frame[54] == 58 and frame[62] == 143
    return probe or unsolicited or report


def _empty_disk() -> bytes:
    """An empty disk in QEMU's format qcow2, version 2, clusters of 64 KB, as a place for savevm: the header, the table
    of reference counts, its one block (four clusters in use), and the table of the disk's data."""
    header = struct.pack("!4sIQIIQIIQQIIQ", b"QFI\xfb", 2, 0, 0, 16, 1 << 20, 0, 1, 3 << 16, 1 << 16, 1, 0, 0)
    clusters = [header, struct.pack("!Q", 2 << 16), struct.pack("!4H", 1, 1, 1, 1), b""]
    return b"".join(cluster.ljust(1 << 16, b"\0") for cluster in clusters)


class _Booted:
    """A machine with one configuration, and its state when it was ready."""

    def __init__(self, nic: str, config: str, app: str) -> None:
        self._files = tempfile.TemporaryDirectory(prefix="image-")
        conf = os.path.join(self._files.name, "gateway.conf")
        disk = os.path.join(self._files.name, "states")
        Path(conf).write_text(f"app {app}\n{config}", encoding="ascii")
        Path(disk).write_bytes(_empty_disk())
        self.app = app
        given = {line.split()[0] for line in config.splitlines() if line.split()}
        self.ports = [name for name in PORTS if name in ("lan", "wan") or name in given]
        self.cables = {port: _Cable() for port in self.ports}
        ports = [Port(nic, self.cables[name].theirs.fileno(), MACS[name], stream=True) for name in self.ports]
        self.asked = {name: _address(config, name) for name in self.ports}
        self.machine = Machine(Hardware(modules=[conf], append="debug=on",
                                        extra=["-drive", f"if=none,id=states,file={disk}"]), ports)
        try:
            self.machine.wait_ready(app)
            for name in self.ports:  # QEMU's e1000 receives nothing for a while after its start
                until(partial(self._hears, name), PATIENCE, f"an answer on {name}")
            self._monitor("savevm ready")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.machine.close()
        for cable in self.cables.values():
            cable.ours.close()
            cable.theirs.close()
        self._files.cleanup()

    def _monitor(self, line: str) -> None:
        said = self.machine.qmp("human-monitor-command", **{"command-line": line})
        assert not said, said

    def again(self) -> None:
        """Restores the state right after the start."""
        self._monitor("loadvm ready")
        for name in self.ports:
            self.sync(name)

    def _hears(self, port: str) -> bool:
        return self.probe(port, 0.1) is not None

    def probe(self, port: str, timeout: float) -> list[tuple[str, bytes]] | None:
        """Sends a probe. Gives the frames that came before its answer, or None when no answer came in time."""
        if self.app == "wire":
            answered = PORTS[port == "lan"]
            frame = b"\x02\0\0\0\0\xfe" + _PROBE_MAC + _ETHERTYPE_PROBE + bytes(46)
        else:
            answered = port
            mac = bytes.fromhex(MACS[port].replace(":", ""))
            frame = (mac + _PROBE_MAC + _ARP + bytes.fromhex("0001080006040001") + _PROBE_MAC + bytes(4) +
                     bytes(6) + self.asked[port] + bytes(18))
        self.cables[port].send(frame)
        found: list[tuple[str, bytes]] = []
        deadline = time.monotonic() + timeout
        while True:
            select.select([cable.ours for cable in self.cables.values()], [], [],
                          max(0.0, deadline - time.monotonic()))
            done = False
            for name in self.ports:
                for one in self.cables[name].take():
                    mine = _PROBE_MAC in (one[:6], one[6:12])
                    done = done or (mine and name == answered)
                    if not mine and not _is_announcement(one):
                        found.append((name, one))
            if done:
                return found
            if time.monotonic() >= deadline:
                return None

    def sync(self, port: str) -> list[tuple[str, bytes]]:
        """Waits until the gateway has handled all frames sent on the interface and has sent its own."""
        found = []
        for name in (port, *(other for other in self.ports if other != port)):
            frames = self.probe(name, PATIENCE)
            if frames is None:
                raise Timeout(f"no answer on {name} within {PATIENCE:g} s\n{self.machine.console.text[-2000:]}")
            found += frames
        return found


def _address(config: str, port: str) -> bytes:
    """The gateway's first address on an interface."""
    for line in config.splitlines():
        words = line.split()
        if words and words[0] == f"{port}.address":
            return socket.inet_aton(words[1].split("/")[0])
    return bytes(4)


class Image:
    """Takes the commands of a Simulator. Time passes in reality; commands that jump in time are refused."""

    virtual = False

    def __init__(self, nic: str) -> None:
        self.build = nic
        self._machines: OrderedDict[tuple[str, str], _Booted] = OrderedDict()
        self._config = ""
        self._now: _Booted | None = None

    @property
    def running(self) -> bool:
        """False after a failure: the machine takes no further commands."""
        return self._now is not None

    def close(self) -> None:
        for booted in self._machines.values():
            booted.close()

    def said(self) -> str:
        """The end of the running machine's output on COM1."""
        return self._now.machine.console.text[-6000:] if self._now else ""

    def _start(self, app: str) -> list[str]:
        key = (app, self._config)
        if key in self._machines:
            self._machines.move_to_end(key)
        else:
            while len(self._machines) >= KEPT:
                self._machines.popitem(last=False)[1].close()
            self._machines[key] = _Booted(self.build, self._config, app)
        self._now = self._machines[key]
        self._now.again()
        return []

    def give_up(self) -> None:
        """Keeps the running machine from further tests: it has failed in this one."""
        for key, booted in list(self._machines.items()):
            if booted is self._now:
                del self._machines[key]
                booted.close()
        self._now = None

    def _input(self, port: str, frames: Sequence[str]) -> list[str]:
        assert self._now
        for frame in frames:
            self._now.cables[port].send(bytes.fromhex(frame))
        at = int(time.monotonic() * 1e6)
        return [f"tx {name} {frame.hex()} {at}" for name, frame in self._now.sync(port)]

    def command(self, line: str) -> list[str]:
        words = line.split()
        if words[0] == "reset":
            self._config = ""
            return []
        if words[0] == "option":
            return []
        if words[0] == "config":
            self._config += line[len("config "):] + "\n"
            return []
        if words[0] == "start":
            return self._start(words[1])
        assert self._now
        if words[0] == "rx":
            return self._input(words[1], words[2:])
        if words[0] in ("stats", "sessions", "neighbours", "routes", "drops", "log", "print"):
            return self._now.machine.console.command(_LISTINGS.get(words[0], words[0])).splitlines()
        raise Refused(f"{words[0]}: the image cannot be told that; mark the test `virtual`")

    def batch(self, lines: Sequence[str]) -> list[list[str]]:
        return [self.command(line) for line in lines]
