# SPDX-License-Identifier: BSD-2-Clause
"""The console for programs (tools/labkit/serial.py): where an answer begins and ends."""

from __future__ import annotations

import socket
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from labkit.serial import Console  # noqa: E402


def test_a_log_line_between_a_command_and_its_answer() -> None:
    """The gateway erases the typed line, prints the log line, and writes the typed line again."""
    ours, gateways = socket.socketpair()
    console = Console(ours)

    def answer() -> None:
        assert gateways.recv(100) == b"stats\r"
        gateways.sendall(b"> stats\r       \r1.000 lan: link up\r\n> stats\r\nuptime_seconds 7\r\n\r\n> ")

    gateway = threading.Thread(target=answer)
    gateway.start()
    try:
        assert console.command("stats", 10) == "uptime_seconds 7\n"
    finally:
        gateway.join()
        gateways.close()
        console.close()
