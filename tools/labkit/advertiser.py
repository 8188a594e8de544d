# SPDX-License-Identifier: BSD-2-Clause
"""A router's advertisements (RFC 4861 section 4.2), as radvd sends them, from an interface of a namespace."""

import contextlib
import socket
import struct
import threading
from ipaddress import IPv6Address
from types import TracebackType

from .netns import Namespace

_ALL_NODES = "ff02::1"
_RS, _RA = 133, 134
_PERIOD = 1.0
_SOLICITED = 0.05


class Advertiser:
    """Advertises a prefix of 64 bits, and itself as default router, every second and when it is asked.

    `stop` says once that router and prefix end. Use it as a context manager.
    """

    def __init__(self, space: Namespace, name: str, mac: str, net: str, servers: tuple[str, ...] = ()) -> None:
        self._mac, self._net, self._servers = bytes.fromhex(mac.replace(":", "")), net, servers
        with space.entered():
            self._socket = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
            self._index = socket.if_nametoindex(name)
        self._socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
        self._socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, self._index)
        group = IPv6Address("ff02::2").packed + struct.pack("@I", self._index)
        self._socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group)
        self._socket.settimeout(_PERIOD)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self) -> "Advertiser":
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.stop()

    def _message(self, lives: bool) -> bytes:
        message = struct.pack("!BBHBBHII", _RA, 0, 0, 64, 0, 1800 if lives else 0, 0, 0)
        message += struct.pack("!BB6s", 1, 1, self._mac)
        seconds = 7200 if lives else 0
        message += struct.pack("!BBBBIII16s", 3, 4, 64, 0xc0, seconds, seconds, 0, IPv6Address(self._net).packed)
        if self._servers:
            message += struct.pack("!BBHI", 25, 1 + 2 * len(self._servers), 0, 1800 if lives else 0)
            message += b"".join(IPv6Address(server).packed for server in self._servers)
        return message

    def _send(self, lives: bool) -> None:
        with contextlib.suppress(OSError):  # the link-local address is not there yet, or the cable is out
            self._socket.sendto(self._message(lives), (_ALL_NODES, 0, 0, self._index))

    def _run(self) -> None:
        while not self._ends.is_set():
            self._send(True)
            with contextlib.suppress(TimeoutError):
                while self._socket.recv(2048)[:1] != bytes((_RS,)):
                    pass
                self._ends.wait(_SOLICITED)

    def stop(self) -> None:
        """Ends the advertisements. Safe to call twice."""
        if not self._ends.is_set():
            self._ends.set()
            self._thread.join()
            self._send(False)
            self._socket.close()
