# SPDX-License-Identifier: BSD-2-Clause
"""The core of USB in QEMU: hubs five deep with hot plug, the counters, the load and the time that USB costs."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from labkit import lab as net
from labkit.lab import Lab
from labkit.machine import Machine
from labkit.wait import until

CONTROLLERS = ["piix3-usb-uhci", "pci-ohci", "qemu-xhci"]
# The load of one second, in thousandths, that an idle machine with a keyboard may have. The promise is 20; the host's
# other work counts too, because the guest's clock runs on meanwhile.
IDLE_PERMILLE = 20
ALL_CONTROLLERS_MS = 50
# The guest's clock counts its instructions, four nanoseconds each: other work of the host does not count as the guest's.
COUNTED = ("-icount", "shift=2,sleep=off")


def listed(machine: Machine) -> str:
    return machine.console.command("usb")


def wait_listed(machine: Machine, pattern: str, count: int, timeout: float = 60) -> None:
    """Waits until so many lines of `usb` match the pattern."""
    until(lambda: len(re.findall(pattern, listed(machine), re.M)) == count, timeout, f"{count} times {pattern}")


def unharmed(machine: Machine) -> None:
    """Nothing was switched off, and nothing failed."""
    stats = machine.console.stats()
    assert stats["usb_controllers_failed"] == 0
    assert stats["usb_enumeration_failures"] == 0


def plug(machine: Machine, driver: str, port: str, name: str) -> None:
    machine.qmp("device_add", driver=driver, bus="h.0", port=port, id=name)


def unplug(machine: Machine, name: str) -> None:
    machine.qmp("device_del", id=name)


@pytest.mark.long
@pytest.mark.parametrize("controller", CONTROLLERS)
def test_five_hubs(make_lab: Callable[..., Lab], controller: str) -> None:
    """Hubs that are plugged in one behind the other, each with a keyboard; the second is pulled with all behind it, and
    they come back. Packets pass meanwhile."""
    lab = make_lab()
    machine = lab.boot(net.NETWORK + "app nat\n", extra=["-device", f"{controller},id=h"])
    lab.wait_ping()
    for _ in range(2):
        place = "1"
        for depth in range(5):
            plug(machine, "usb-hub", place, f"hub{depth}")
            wait_listed(machine, r"driver=hub", depth + 1)
            plug(machine, "usb-kbd", f"{place}.2", f"keys{depth}")
            wait_listed(machine, r"driver=keyboard", depth + 1)
            place += ".1"
        lab.wait_ping()
        unplug(machine, "hub1")
        wait_listed(machine, r"driver=hub", 1)
        wait_listed(machine, r"driver=keyboard", 1)
        unplug(machine, "hub0")
        wait_listed(machine, r"driver=", 0)
    lab.wait_ping()
    unharmed(machine)


@pytest.mark.long
@pytest.mark.parametrize("controller", CONTROLLERS)
def test_idle_load(make_lab: Callable[..., Lab], controller: str) -> None:
    """A hub and two keyboards that nobody types on cost next to nothing."""
    lab = make_lab()
    machine = lab.boot(net.NETWORK + "app nat\n", extra=[
        "-device", f"{controller},id=h", "-device", "usb-hub,bus=h.0,port=1",
        "-device", "usb-kbd,bus=h.0,port=1.2", "-device", "usb-kbd,bus=h.0,port=2"])
    wait_listed(machine, r"driver=keyboard", 2)
    # The value is that of the last whole second, and the question itself is work: the smallest of some counts.
    seen = []
    while len(seen) < 8 and min(seen, default=IDLE_PERMILLE) >= IDLE_PERMILLE:
        time.sleep(2.5)
        seen.append(machine.console.stats()["cpu_busy_permille"])
    assert min(seen) < IDLE_PERMILLE, seen
    unharmed(machine)


def test_ready_does_not_wait(make_lab: Callable[..., Lab]) -> None:
    """With seven controllers and a device at each the gateway is ready before the first device is found, and little
    later than without USB."""
    lab = make_lab()
    controllers = ["-device", "qemu-xhci,id=x", "-device", "pci-ohci,id=o", "-device", "piix3-usb-uhci,id=u",
                   "-device", "ich9-usb-ehci1,id=e,addr=0x1d.7,multifunction=on"]
    for i in range(3):
        controllers += ["-device",
                        f"ich9-usb-uhci{i + 1},masterbus=e.0,firstport={2 * i},addr=0x1d.{i},multifunction=on"]
    keyboards = [word for bus in "xoue" for word in ("-device", f"usb-kbd,bus={bus}.0,port=1")]
    plain = lab.start(net.NETWORK + "app nat\n", extra=COUNTED).wait_ready("nat")
    machine = lab.start(net.NETWORK + "app nat\n", extra=[*COUNTED, *controllers, *keyboards])
    with_usb = machine.wait_ready("nat")
    assert with_usb - plain <= ALL_CONTROLLERS_MS, f"ready comes after {with_usb} ms with USB, {plain} ms without"
    assert "driver=keyboard" not in machine.console.text
    wait_listed(machine, r"^usb\d ", 7)
    wait_listed(machine, r"driver=keyboard", 4)
    unharmed(machine)
