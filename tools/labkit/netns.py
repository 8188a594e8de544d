# SPDX-License-Identifier: BSD-2-Clause
"""Network namespaces: the hosts around the gateway."""

import contextlib
import fcntl
import itertools
import os
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator, Sequence
from typing import IO, Any

from . import sandbox
from .wait import Timeout, until

_TUNSETIFF = 0x400454CA
_IFF_TAP, _IFF_NO_PI, _IFF_VNET_HDR = 0x0002, 0x1000, 0x4000

_serial = itertools.count()


class CommandFailed(AssertionError):
    """A command in a namespace ended with a status other than 0; the text contains its output."""


def end_process(process: "subprocess.Popen[Any]", grace: float = 3.0) -> int:
    """Ends a process that we started, by its own id: SIGTERM, then SIGKILL; gives its exit status."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()


class Namespace:
    """One network namespace with a name that is unique in this sandbox.

    Commands run in it with `run` (waits, checks) and `start` (in the background, ended by `close`). Sockets that are
    made inside `entered()` always belong to it.
    """

    def __init__(self, role: str) -> None:
        self.role = role
        self.name = f"{role}-{os.getpid()}-{next(_serial)}"
        self.path = f"/run/netns/{self.name}"
        self._children: list[subprocess.Popen[Any]] = []
        subprocess.run(["ip", "netns", "add", self.name], check=True)
        self.ip("link set lo up")

    def close(self) -> None:
        """Ends the processes of `start` and forgets the name. Safe to call twice."""
        for process in self._children:
            end_process(process)
        self._children.clear()
        if os.path.exists(self.path):
            subprocess.run(["ip", "netns", "del", self.name], check=False)

    def ip(self, command: str) -> str:
        """Runs one `ip` command, given as a line of text, in this namespace."""
        result = subprocess.run(["ip", "-n", self.name, *command.split()],
                                check=False, capture_output=True, text=True)
        if result.returncode != 0:
            raise CommandFailed(f"{self.role}: ip {command}: {result.stderr.strip()}")
        return result.stdout

    def sysctl(self, key: str, value: int) -> None:
        """Sets net.KEY (dots or slashes) of this namespace."""
        path = "/proc/sys/net/" + key.replace(".", "/")
        with self.entered(), open(path, "w", encoding="ascii") as file:
            file.write(f"{value}\n")

    def command(self, argv: Sequence[str]) -> list[str]:
        """The argument list that runs `argv` here; the process id is that of the command."""
        return ["nsenter", f"--net={self.path}", "--", *argv]

    def run(self, *argv: str, timeout: float = 60, check: bool = True,
            stdin: bytes | None = None) -> "subprocess.CompletedProcess[str]":
        """Runs a command here to its end. With `check` a status other than 0 raises CommandFailed."""
        try:
            result = subprocess.run(self.command(argv), check=False, capture_output=True,
                                    timeout=timeout, input=stdin)
        except subprocess.TimeoutExpired as late:
            raise Timeout(f"{self.role}: {' '.join(argv)}: not within {timeout:g} s\n"
                          f"{(late.stdout or b'').decode()}{(late.stderr or b'').decode()}") from None
        text = subprocess.CompletedProcess(argv, result.returncode, result.stdout.decode(errors="replace"),
                                           result.stderr.decode(errors="replace"))
        if check and text.returncode != 0:
            raise CommandFailed(f"{self.role}: {' '.join(argv)}: status {text.returncode}\n"
                                f"{text.stdout}{text.stderr}")
        return text

    def run_resolving(self, resolv_conf: str, *argv: str, timeout: float = 60) -> "subprocess.CompletedProcess[str]":
        """Runs a command as `run` does, with the file `resolv_conf` in place of /etc/resolv.conf."""
        return self.run("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', resolv_conf,
                        *argv, timeout=timeout)

    def start(self, *argv: str, stdout: IO[bytes] | int = subprocess.DEVNULL,
              stderr: IO[bytes] | int = subprocess.DEVNULL,
              stdin: IO[bytes] | int = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
        """Starts a command here in the background; `close` ends it if it still runs."""
        process = subprocess.Popen(self.command(argv), stdin=stdin, stdout=stdout, stderr=stderr)
        self._children.append(process)
        return process

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Inside the block the calling thread is in this namespace."""
        home = os.open(f"/proc/self/task/{threading.get_native_id()}/ns/net", os.O_RDONLY)
        there = os.open(self.path, os.O_RDONLY)
        try:
            sandbox.setns(there, sandbox.CLONE_NEWNET)
            try:
                yield
            finally:
                sandbox.setns(home, sandbox.CLONE_NEWNET)
        finally:
            os.close(there)
            os.close(home)

    def socket(self, family: int = socket.AF_INET, kind: int = socket.SOCK_DGRAM,
               protocol: int = 0) -> socket.socket:
        """A socket of this namespace, which can be used outside it."""
        with self.entered():
            return socket.socket(family, kind, protocol)

    def tap(self, name: str, vnet_hdr: bool = False) -> int:
        """Makes the tap NAME here and returns its descriptor, the other end of the wire.

        Without `vnet_hdr` the kernel computes every checksum and segments every packet itself, so the gateway gets
        frames as on a wire. With it the tap offers its offloads, which QEMU passes on to a virtio-net guest.
        """
        flags = _IFF_TAP | _IFF_NO_PI | (_IFF_VNET_HDR if vnet_hdr else 0)
        with self.entered():
            try:
                fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            except OSError as error:
                raise sandbox.SandboxError(f"/dev/net/tun: {error.strerror}; run as root") from None
            fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
        return fd

    def wait_port(self, port: int, kind: str = "tcp", timeout: float = 10) -> None:
        """Waits until a process here listens on `port` ("tcp") or has bound it ("udp")."""
        option = {"tcp": "-tlnH", "udp": "-ulnH"}[kind]
        until(lambda: self.run("ss", option, f"sport = :{port}").stdout.strip(), timeout,
              f"{kind} port {port} open in {self.role}")
