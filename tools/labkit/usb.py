# SPDX-License-Identifier: BSD-2-Clause
"""QEMU's USB devices: controllers with a keyboard and a stick each, and what the gateway says of them."""

from __future__ import annotations

from pathlib import Path

from .machine import Machine
from .wait import until

FOUND_S = 30


def empty_stick(path: Path, megabytes: int = 8) -> Path:
    """Makes the file of a stick of zeros; gives its path."""
    with path.open("wb") as file:
        file.truncate(megabytes << 20)
    return path


def sticks_and_keyboards(directory: Path, *models: str) -> list[str]:
    """QEMU's arguments for these controllers (`h0` on), each with a keyboard (`k0` on) and a stick (`s0` on)."""
    out = []
    for index, model in enumerate(models):
        stick = empty_stick(directory / f"stick{index}.img")
        out += ["-device", f"{model},id=h{index}", "-device", f"usb-kbd,bus=h{index}.0,port=1,id=k{index}",
                "-drive", f"if=none,id=d{index},format=raw,file={stick}",
                "-device", f"usb-storage,bus=h{index}.0,port=2,drive=d{index},id=s{index}"]
    return out


def wait_devices(machine: Machine, keyboards: int, sticks: int) -> str:
    """Waits until the command `usb` shows so many; gives what it shows."""
    def look() -> str | None:
        text = machine.console.command("usb")
        counts = text.count("driver=keyboard"), text.count("driver=storage")
        return text if counts == (keyboards, sticks) else None
    return until(look, FOUND_S, f"{keyboards} keyboards and {sticks} sticks")


def check_sound(machine: Machine) -> None:
    """No controller or device was switched off."""
    assert "switched off" not in machine.console.text
    assert " off" not in machine.console.command("usb")
