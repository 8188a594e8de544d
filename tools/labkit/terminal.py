# SPDX-License-Identifier: BSD-2-Clause
"""The user's own terminal on the gateway's COM1."""

import os
import select
import sys
import termios
import tty

from .machine import Machine

LEAVE = b"\x1d"  # Ctrl-]


def attach(machine: Machine, replay: bool = False) -> None:
    """Connects the terminal with COM1 until Ctrl-] is typed or the machine ends.

    Every other key, also Ctrl-C, goes to the gateway. The terminal is restored afterwards. With `replay` the user first
    sees the earlier output of COM1.
    """
    stdin, stdout = sys.stdin.fileno(), sys.stdout.fileno()
    before = termios.tcgetattr(stdin)
    machine.console.attach(lambda data: _write_all(stdout, data), replay)
    try:
        tty.setraw(stdin)
        if not replay:
            # An empty line makes the gateway show its prompt.
            machine.console.send("\r")
        while machine.process.poll() is None:
            # The time limit lets the loop notice that the machine has ended.
            ready, _, _ = select.select([stdin], [], [], 0.2)
            if not ready:
                continue
            keys = os.read(stdin, 1024)
            typed, leave, _ = keys.partition(LEAVE)
            if typed:
                machine.console.send(typed)
            if leave or not keys:
                break
    except OSError:
        pass  # The machine ended before it could take a key.
    finally:
        machine.console.attach(None)
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)
        print()


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data):]
