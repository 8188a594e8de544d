# SPDX-License-Identifier: BSD-2-Clause
"""UHCI and OHCI controllers in QEMU: both at once, several of a kind, each model, devices that come and go.

A stick shows that bulk transfers work, a keyboard that interrupt transfers do. Keyboards that type are in
test_usb_keyboard.py."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from labkit import lab as net
from labkit.lab import Lab
from labkit.usb import FOUND_S, check_sound, empty_stick, sticks_and_keyboards, wait_devices
from labkit.wait import until

APP = net.NETWORK + "app nat\n"
MODELS = ("piix3-usb-uhci", "piix4-usb-uhci", "ich9-usb-uhci1", "pci-ohci")


def test_both_kinds_at_once(make_lab: Callable[..., Lab], tmp_path: Path) -> None:
    """A keyboard and a stick behind UHCI, and others behind OHCI, while the gateway forwards."""
    lab = make_lab()
    machine = lab.boot(APP, extra=sticks_and_keyboards(tmp_path, "piix3-usb-uhci", "pci-ohci"))
    shown = wait_devices(machine, 2, 2)
    assert re.search(r"^usb\d uhci .*ports=2$", shown, re.M)
    assert re.search(r"^usb\d ohci .*ports=3$", shown, re.M)
    until(lambda: len(re.findall(r"usb storage: .* 8 MB", machine.console.text)) == 2, FOUND_S, "both sticks answer")
    check_sound(machine)
    lab.wait_ping()


@pytest.mark.long
@pytest.mark.parametrize("model", MODELS)
def test_three_of_a_kind(make_lab: Callable[..., Lab], tmp_path: Path, model: str) -> None:
    """Three controllers of the same model."""
    lab = make_lab()
    machine = lab.boot(APP, extra=sticks_and_keyboards(tmp_path, model, model, model))
    shown = wait_devices(machine, 3, 3)
    assert len(re.findall(r"^usb\d [uo]hci ", shown, re.M)) == 3
    check_sound(machine)
    lab.wait_ping()


@pytest.mark.long
@pytest.mark.parametrize("model", MODELS)
def test_come_and_go(make_lab: Callable[..., Lab], tmp_path: Path, model: str) -> None:
    """Devices are pulled and plugged in again while they are found and while packets pass."""
    lab = make_lab()
    machine = lab.boot(APP, extra=sticks_and_keyboards(tmp_path, model))
    wait_devices(machine, 1, 1)
    for turn in range(3):
        for name in ("k0", "s0"):
            machine.qmp("device_del", id=name)
            machine.wait_event("DEVICE_DELETED")
        wait_devices(machine, 0, 0)
        lab.lan.run("ping", "-n", "-c3", "-i0.05", "-W3", net.WAN_SERVER)
        machine.qmp("device_add", driver="usb-kbd", id="k0", bus="h0.0", port="1")
        if turn == 1:  # pulled as soon as it is there
            machine.qmp("device_del", id="k0")
            machine.wait_event("DEVICE_DELETED")
            machine.qmp("device_add", driver="usb-kbd", id="k0", bus="h0.0", port="1")
        stick = empty_stick(tmp_path / f"again{turn}.img", 9)
        machine.qmp("blockdev-add", driver="file", filename=str(stick), **{"node-name": f"a{turn}"})
        machine.qmp("device_add", driver="usb-storage", id="s0", bus="h0.0", port="2", drive=f"a{turn}")
        wait_devices(machine, 1, 1)
    check_sound(machine)


@pytest.mark.long
@pytest.mark.parametrize("model", MODELS)
def test_hubs(make_lab: Callable[..., Lab], tmp_path: Path, model: str) -> None:
    """Sticks and keyboards behind a hub and behind a hub behind it; the hub is pulled with all that is on it."""
    stick = empty_stick(tmp_path / "stick.img")
    lab = make_lab()
    words = [f"{model},id=h", "usb-hub,bus=h.0,port=1,id=hub", "usb-kbd,bus=h.0,port=1.1",
             "usb-hub,bus=h.0,port=1.2", "usb-kbd,bus=h.0,port=1.2.1",
             "usb-storage,bus=h.0,port=1.2.2,drive=d"]
    machine = lab.boot(APP, extra=["-drive", f"if=none,id=d,format=raw,file={stick}",
                                   *(word for name in words for word in ("-device", name))])
    wait_devices(machine, 2, 1)
    machine.qmp("device_del", id="hub")
    machine.wait_event("DEVICE_DELETED")
    shown = wait_devices(machine, 0, 0)
    assert len(shown.splitlines()) == 1, shown
    machine.qmp("device_add", driver="usb-hub", id="hub", bus="h.0", port="1")
    machine.qmp("device_add", driver="usb-kbd", id="k", bus="h.0", port="1.3")
    wait_devices(machine, 1, 0)
    check_sound(machine)
    lab.wait_ping()
