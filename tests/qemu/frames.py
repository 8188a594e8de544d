# SPDX-License-Identifier: BSD-2-Clause
"""Raw Ethernet frames on a host's interface."""

import select
import socket
import time
from collections.abc import Callable
from types import TracebackType

from labkit.netns import Namespace
from labkit.wait import Timeout
from scapy.layers.l2 import Ether
from scapy.packet import Packet

_ETH_P_ALL = 0x0003
_SO_RCVBUFFORCE = 33


class Wire:
    """Receives every frame that arrives at an interface, and sends frames unchanged.

    If it is opened before the gateway starts, it misses no frame. Frames that the host itself sends are not received.
    """

    def __init__(self, space: Namespace, name: str) -> None:
        self._socket = space.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
        # Large enough for the longest burst of a test, so that the kernel drops nothing.
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 16 << 20)
        self._socket.bind((name, _ETH_P_ALL))

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._socket.close()

    def send(self, frame: bytes | Packet) -> None:
        """Sends one frame, unchanged."""
        self._socket.send(bytes(frame))

    def receive(self, timeout: float) -> bytes | None:
        """The next frame, or None when none arrives in time."""
        deadline = time.monotonic() + timeout
        while True:
            left = max(0.0, deadline - time.monotonic())
            if not select.select([self._socket], [], [], left)[0]:
                return None
            data, address = self._socket.recvfrom(65536)
            if address[2] != socket.PACKET_OUTGOING:
                return data

    def drain(self) -> list[bytes]:
        """All frames that have arrived and were not read."""
        frames = []
        while (frame := self.receive(0)) is not None:
            frames.append(frame)
        return frames

    def expect(self, wanted: Callable[[Packet], bool], timeout: float = 10, what: str = "frame") -> Packet:
        """Waits for the first frame that `wanted` accepts; earlier ones are discarded."""
        deadline = time.monotonic() + timeout
        seen: list[str] = []
        while (left := deadline - time.monotonic()) > 0:
            data = self.receive(left)
            if data is None:
                break
            frame = Ether(data)
            if wanted(frame):
                return frame
            seen.append(frame.summary())
        raise Timeout(f"not within {timeout:g} s: {what}; seen: {seen[-10:]}")
