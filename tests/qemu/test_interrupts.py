# SPDX-License-Identifier: BSD-2-Clause
"""Interrupt lines and timers that do not work: the gateway must not wait for them in a halt."""

from __future__ import annotations

import re
from collections.abc import Callable
from statistics import median

import pytest
from labkit import lab as net
from labkit.lab import Lab

# The PIIX3's registers that route the cards' lines to the interrupt controller (290550, 2.2.10), by its place on the
# PCI bus; bit 7 of each byte cuts a line.
ROUTES, ALL_CUT = 0x8000_0860, 0x8080_8080
ADDRESS, DATA = 0xCF8, 0xCFC


def round_trips(lab: Lab, count: int) -> list[float]:
    """Times in milliseconds of echo requests that find the processor halted."""
    said = lab.lan.run("ping", "-n", f"-c{count}", "-i0.023", "-W2", net.FAR_SERVER)
    return [float(ms) for ms in re.findall(r"time=([\d.]+) ms", said.stdout)]


@pytest.mark.one_card
def test_dead_lines(gateway: Lab) -> None:
    """When frames come only with the clock's ticks, the log says so and the gateway polls. Ticks are 10 ms apart, and
    a frame in each direction waits for one."""
    machine = gateway.machine
    assert machine is not None
    for port, value in ((ADDRESS, ROUTES), (DATA, ALL_CUT)):
        machine.qmp("human-monitor-command", **{"command-line": f"o /w {port:#x} {value:#x}"})
    round_trips(gateway, 25)
    log = machine.console.command("log")
    for name in ("lan", "wan"):
        assert re.search(rf"{name}: interrupt line \d+ is silent, so the processor no longer halts$", log, re.M), log
    assert median(round_trips(gateway, 25)) < 3


def test_no_8254(make_lab: Callable[..., Lab]) -> None:
    """Without the PC's timer the clock is calibrated by the ACPI timer, and nothing waits for ticks."""
    lab = make_lab()
    machine = lab.boot(net.NAT, extra=("-M", "pc,pit=off,hpet=off"))
    lab.wait_ping()
    log = machine.console.text
    assert re.search(r"clock: the 8254 does not count; the time is by ACPI timer: \d{3,} MHz$", log, re.M), log
    assert median(round_trips(lab, 25)) < 3
    machine.console.expect("clock: the timer's interrupts do not come, so the processor does not halt")
