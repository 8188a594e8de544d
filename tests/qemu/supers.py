# SPDX-License-Identifier: BSD-2-Clause
"""What arrives at a host's interface: how much of it in super-segments, and how long the packets are."""

import socket
import struct
import threading
from types import TracebackType

from labkit.netns import Namespace

SOL_PACKET, PACKET_VNET_HDR, ETH_P_ALL = 263, 15, 3
GSO_ECN = 0x80
"""In the kind of a super-segment: its TCP header has the flag CWR, which only its first segment may have."""
HEADER = 10
"""Bytes of the header with offloads in front of each packet (virtio, legacy)."""
ETH = 14


class Supers:
    """Counts while it is entered. `largest` is the length of the largest IP packet on the wire: of a super-segment that
    of its segments. `cwr` is the number of super-segments with the flag CWR."""

    def __init__(self, host: Namespace, name: str) -> None:
        self.super_bytes = self.bytes = self.largest = self.cwr = 0
        self._socket = host.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self._socket.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 25)
        self._socket.bind((name, ETH_P_ALL))
        self._socket.settimeout(0.2)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Supers":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._end.set()
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        start = bytearray(128)
        while not self._end.is_set():
            try:
                size, origin = self._socket.recvfrom_into(start, len(start), socket.MSG_TRUNC)
            except TimeoutError:
                continue
            if origin[2] == socket.PACKET_OUTGOING:
                continue
            _, kind, _, segment, l4 = struct.unpack_from("=BBHHH", start)
            packet = size - HEADER - ETH
            self.bytes += packet
            if kind:
                self.super_bytes += packet
                self.cwr += bool(kind & GSO_ECN)
                packet = l4 - ETH + (start[HEADER + l4 + 12] >> 4) * 4 + segment  # RFC 9293 section 3.1
            self.largest = max(self.largest, packet)
