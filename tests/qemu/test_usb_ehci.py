# SPDX-License-Identifier: BSD-2-Clause
"""EHCI controllers with companions: which controller gets a device, and that ports change hands. Low and full speed
behind high-speed hubs, and what a controller does wrong, is tested on the model (tests/unit/drivers/usb/ehci)."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from labkit import lab as net
from labkit.lab import Lab
from labkit.machine import Machine
from labkit.wait import until

CONFIG = net.NETWORK + "app nat\n"
# Controllers; the buses of EHCI and of companions, as `usb` numbers them; the driver of the companions.
MACHINES = {
    "uhci": (["-M", "q35,usb=on"], "usb-bus.0", "uhci"),
    "ohci": (["-device", "ich9-usb-ehci1,id=e", "-device", "pci-ohci,masterbus=e.0,firstport=0"], "e.0", "ohci"),
}
SECONDS = 20


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "disk"
    path.write_bytes(bytes(4 << 20))
    return path


def await_device(machine: Machine, pattern: str) -> str:
    """Waits for a line of the command `usb` that contains the pattern; gives the controller's driver."""
    def look() -> str | None:
        driver = ""
        for line in machine.console.command("usb").splitlines():
            if found := re.match(r"usb\d+ (\w+) ", line):
                driver = found.group(1)
            if re.search(pattern, line):
                return driver
        return None
    return until(look, SECONDS, f"a device '{pattern}'")


def await_gone(machine: Machine, pattern: str) -> None:
    until(lambda: not re.search(pattern, machine.console.command("usb"), re.M), SECONDS, f"no device '{pattern}'")


def unplug(machine: Machine, name: str) -> None:
    machine.qmp("device_del", id=name)
    machine.wait_event("DEVICE_DELETED")


def start(lab: Lab, kind: str, disk: Path) -> tuple[Machine, str]:
    words, bus, _ = MACHINES[kind]
    drive = f"driver=raw,node-name=d,file.driver=file,file.filename={disk}"
    machine = lab.start(CONFIG, extra=[*words, "-blockdev", drive])
    machine.wait_ready("nat")
    return machine, bus


@pytest.mark.parametrize("kind", ["uhci", pytest.param("ohci", marks=pytest.mark.long)])
def test_ports_change_hands(make_lab: Callable[..., Lab], disk: Path, kind: str) -> None:
    """A full-speed device goes to the companion, a high-speed one at the same port to EHCI, and back again."""
    lab = make_lab()
    machine, bus = start(lab, kind, disk)
    for _ in range(2):
        machine.qmp("device_add", driver="usb-kbd", id="k", bus=bus, port="1", usb_version=1)
        assert await_device(machine, r"^usb[1-9]-1 full .* driver=keyboard") == MACHINES[kind][2]
        machine.console.mark()
        machine.press(*"routes", "ret")
        machine.console.expect(r"0\.0\.0\.0/0 via")
        unplug(machine, "k")
        await_gone(machine, r"full")
        machine.qmp("device_add", driver="usb-storage", id="s", bus=bus, port="1", drive="d")
        assert await_device(machine, r"^usb0-1 high .* driver=storage") == "ehci"
        unplug(machine, "s")
        await_gone(machine, r"high")
    lab.wait_ping()
    assert "switched off" not in machine.console.text


@pytest.mark.long
def test_plugged_under_load(make_lab: Callable[..., Lab]) -> None:
    """Keyboards come and go at all ports while packets pass: none is lost."""
    lab = make_lab()
    machine = lab.start(CONFIG, extra=["-M", "q35,usb=on"])
    machine.wait_ready("nat")
    lab.wait_ping()
    ping = lab.lan.start("ping", "-n", "-i0.01", "-c4000", "-W3", net.WAN_SERVER, stdout=subprocess.PIPE)
    for turn in range(12):
        for port in range(1, 7):
            machine.qmp("device_add", driver="usb-kbd", id=f"k{port}", bus="usb-bus.0", port=str(port),
                        usb_version=1 + (turn + port) % 2)
        if turn % 3:
            await_device(machine, r"driver=keyboard")
        for port in range(1, 7):
            unplug(machine, f"k{port}")
        await_gone(machine, r"class")
    output, _ = ping.communicate(timeout=90)
    assert b" 0% packet loss" in output, output[-300:]
    assert "switched off" not in machine.console.text
