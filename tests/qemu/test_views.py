# SPDX-License-Identifier: BSD-2-Clause
"""The screens of the running gateway: status, sessions, log; on the local terminal and on COM1."""

from collections.abc import Callable

from labkit import lab as net
from labkit.lab import Lab
from labkit.vt100 import wait_lines, watch

PROMPT = r"^> $"


def test_status_on_com1(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab()
    machine = lab.boot(net.NAT)
    lab.wait_ping()
    screen = watch(machine.console)
    machine.console.send("top\r")
    lines = wait_lines(lambda: screen.lines, "last events")
    print("\n".join(lines))
    machine.console.send("2")
    lines = wait_lines(lambda: screen.lines, "page 1")
    print("\n".join(lines))
    machine.console.send("3")
    lines = wait_lines(lambda: screen.lines, "the last lines")
    print("\n".join(lines))
    machine.press("f1")
    lines = wait_lines(machine.screen, "last events")
    print("\n".join(lines))
    machine.press("f4")
    machine.press(*"stats", "ret")
    lines = wait_lines(machine.screen, "more")
    print("\n".join(lines))
    machine.press("spc")
    machine.console.send("q")
    lines = wait_lines(lambda: screen.lines, "^> ")
    print("\n".join(lines))
    print("\n".join(machine.screen()))
