# SPDX-License-Identifier: BSD-2-Clause
"""Interrupt lines and timers that do not work: the gateway must not wait for them in a halt."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from labkit import lab as net
from labkit.lab import Lab
from labkit.machine import Machine
from labkit.wait import until

# The PIIX3's registers that route the cards' lines to the interrupt controller (290550, 2.2.10), by its place on the
# PCI bus; bit 7 of each byte cuts a line.
ROUTES, ALL_CUT = 0x8000_0860, 0x8080_8080
ADDRESS, DATA = 0xCF8, 0xCFC


def monitor(machine: Machine, command: str) -> str:
    """The answer of QEMU's monitor."""
    return str(machine.qmp("human-monitor-command", **{"command-line": command}))


def halts(machine: Machine) -> bool:
    """Looks at the processor a few times: is it ever halted?"""
    return any("HLT=1" in monitor(machine, "info registers") for _ in range(50))


def ping(lab: Lab, count: int) -> None:
    """Sends echo requests that find the processor halted."""
    lab.lan.run("ping", "-n", f"-c{count}", "-i0.023", "-W2", net.FAR_SERVER)


@pytest.mark.one_card
def test_dead_lines(gateway: Lab) -> None:
    """When frames come only with the clock's ticks, the log says so and the gateway polls."""
    machine = gateway.machine
    assert machine is not None
    assert halts(machine)
    for port, value in ((ADDRESS, ROUTES), (DATA, ALL_CUT)):
        monitor(machine, f"o /w {port:#x} {value:#x}")

    def said() -> bool:
        ping(gateway, 10)
        log = machine.console.command("log")
        return all(re.search(rf"{name}: interrupt line \d+ is silent, so the processor no longer halts$", log, re.M)
                   for name in ("lan", "wan"))
    until(said, 20, "lines in the log")
    assert not halts(machine)
    ping(gateway, 3)


def test_no_8254(make_lab: Callable[..., Lab]) -> None:
    """Without the PC's timer the clock is calibrated by the ACPI timer, and nothing waits for ticks."""
    lab = make_lab()
    machine = lab.boot(net.NAT, extra=("-M", "pc,pit=off,hpet=off"))
    lab.wait_ping()
    log = machine.console.text
    assert re.search(r"clock: the 8254 does not count; the time is by ACPI timer: \d{3,} MHz$", log, re.M), log
    machine.console.expect("clock: the timer's interrupts do not come, so the processor does not halt")
    assert not halts(machine)
    ping(lab, 3)


@pytest.mark.long
def test_carrier_is_seen_at_once(gateway: Lab) -> None:
    """A gateway at rest, which asks the cards twice a second, is woken by the card when the carrier changes."""
    machine = gateway.machine
    assert machine is not None

    def changed(up: bool) -> float:
        """Seconds from the change to its line in the log."""
        time.sleep(1.2)  # the gateway comes to rest
        begin = len(machine.console.text)
        started = time.monotonic()
        machine.set_link(1, up)
        until(lambda: f"wan: link {'up' if up else 'down'}" in machine.console.text[begin:], 10, "line in the log")
        return time.monotonic() - started

    took = []
    for _ in range(5):
        took.append(changed(False))
        changed(True)  # an e1000 negotiates first
    assert sum(seconds < 0.15 for seconds in took) >= 4, took
