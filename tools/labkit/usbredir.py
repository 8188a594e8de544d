# SPDX-License-Identifier: BSD-2-Clause
"""USB devices that are programs: the device's side of the usbredir protocol 0.7, for QEMU's `usb-redir`.

So a device can have any speed and break any rule. QEMU's controller models carry its transfers. A `Device` answers
standard requests from its descriptors; a test overrides `control` or sets what goes wrong.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading

from .serial import connect

HELLO, CONNECT, DISCONNECT, RESET, INTERFACES, ENDPOINTS, SET_CONFIGURATION, GET_CONFIGURATION = range(8)
CONFIGURATION_STATUS, SET_SETTING, GET_SETTING, SETTING_STATUS = range(8, 12)
START_INTERRUPT, STOP_INTERRUPT, INTERRUPT_STATUS, CANCEL = 15, 16, 17, 21
CONTROL, INTERRUPT = 100, 103
# Capabilities; xHCI needs those from the second on.
DEVICE_VERSION, PACKET_SIZES, WIDE_NUMBERS, LONG_BULK = 1 << 1, 1 << 4, 1 << 5, 1 << 6
OK, STALL, BABBLE = 0, 4, 6
LOW, FULL, HIGH = 0, 1, 2
NO_ENDPOINT = 255

KEYBOARD_DEVICE = bytes.fromhex("12 01 00 02 00 00 00 08 27 06 02 00 00 01 00 00 00 01")
KEYBOARD_CONFIG = bytes.fromhex("09 02 22 00 01 01 00 a0 32" "09 04 00 00 01 03 01 01 00"
                                "09 21 11 01 00 01 22 3f 00" "07 05 81 03 08 00 0a")


class Device:
    """A boot keyboard, connected to the chardev socket at `path`. It is plugged in while it is open."""

    def __init__(self, path: str, speed: int = LOW, device: bytes = KEYBOARD_DEVICE,
                 config: bytes = KEYBOARD_CONFIG) -> None:
        self.speed, self.device, self.config = speed, device, config
        self.requests: list[tuple[int, int, int, int, int]] = []
        self.polled = threading.Event()  # the host asks for reports
        self._socket = connect(path, lambda: True)
        self._lock = threading.Lock()
        self._report = 0
        # The greetings have numbers of 32 bits, all that follows has 64.
        greeting = struct.pack("<64sI", b"labkit", DEVICE_VERSION | PACKET_SIZES | WIDE_NUMBERS | LONG_BULK)
        self._socket.sendall(struct.pack("<III", HELLO, len(greeting), 0) + greeting)
        _, length, _ = struct.unpack("<III", self._receive(12))
        self._receive(length)
        self._plug()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Unplugs the device: the socket is closed, in mid-transfer or not."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def control(self, kind: int, request: int, value: int, index: int, length: int) -> bytes | int | None:
        """Answers a control request: data, a status, or None for no answer at all."""
        if (kind, request) == (0x80, 6):
            return {1: self.device, 2: self.config}.get(value >> 8, STALL)
        return OK if kind in (0x21, 0x02, 0x01) else STALL

    def report(self, *keys: int) -> None:
        """Sends a report of a keyboard with these usages pressed."""
        self._interrupt(bytes([0, 0, *keys]).ljust(8, b"\0"))

    def type(self, *usages: int) -> None:
        """Presses and releases keys, one after the other."""
        for usage in usages:
            self.report(usage)
            self.report()

    # --- the protocol ----------------------------------------------------------------------------------------------

    def _send(self, kind: int, number: int, data: bytes) -> None:
        with self._lock, contextlib.suppress(OSError):
            self._socket.sendall(struct.pack("<IIQ", kind, len(data), number) + data)

    def _plug(self) -> None:
        """Describes the device as QEMU wants it: QEMU does not read descriptors itself."""
        kinds, intervals, sizes = [NO_ENDPOINT] * 32, [0] * 32, [0] * 32
        kinds[0] = kinds[16] = 0
        sizes[0] = sizes[16] = 64 if self.speed == HIGH else 8
        kinds[17], intervals[17], sizes[17] = 3, 10, 8
        self._send(ENDPOINTS, 0, struct.pack("<32B32B32B32H", *kinds, *intervals, *[0] * 32, *sizes))
        lists = [[3] + [0] * 31, [1] + [0] * 31, [1] + [0] * 31]
        self._send(INTERFACES, 0, struct.pack("<I32B32B32B32B", 1, *[0] * 32, *lists[0], *lists[1], *lists[2]))
        vendor, product, version = struct.unpack_from("<HHH", self.device.ljust(18, b"\0"), 8)
        self._send(CONNECT, 0, struct.pack("<BBBBHHH", self.speed, 0, 0, 0, vendor, product, version))

    def _receive(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self._socket.recv(count - len(data))
            if not more:
                raise OSError("closed")
            data += more
        return data

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                kind, length, number = struct.unpack("<IIQ", self._receive(16))
                self._handle(kind, number, self._receive(length))

    def _handle(self, kind: int, number: int, data: bytes) -> None:
        if kind == CONTROL:
            self._answer(number, data)
        elif kind == SET_CONFIGURATION:
            self._send(CONFIGURATION_STATUS, number, bytes([OK, data[0]]))
        elif kind == SET_SETTING:
            self._send(SETTING_STATUS, number, bytes([OK, data[0], data[1]]))
        elif kind == START_INTERRUPT:
            self._send(INTERRUPT_STATUS, number, bytes([OK, data[0]]))
            self.polled.set()
        elif kind == STOP_INTERRUPT:
            self._send(INTERRUPT_STATUS, number, bytes([OK, data[0]]))

    def _answer(self, number: int, data: bytes) -> None:
        endpoint, request, kind, _, value, index, length = struct.unpack_from("<BBBBHHH", data)
        self.requests.append((kind, request, value, index, length))
        answer = self.control(kind, request, value, index, length)
        if answer is None:
            return
        status, body = (OK, answer[:length]) if isinstance(answer, bytes) else (answer, b"")
        done = len(body) if kind & 0x80 else 0 if status else length
        head = struct.pack("<BBBBHHH", endpoint, request, kind, status, value, index, done)
        self._send(CONTROL, number, head + body)

    def _interrupt(self, data: bytes) -> None:
        self._report += 1
        self._send(INTERRUPT, self._report, struct.pack("<BBH", 0x81, OK, len(data)) + data)
