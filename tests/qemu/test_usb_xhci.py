# SPDX-License-Identifier: BSD-2-Clause
"""xHCI controllers in QEMU: each model, several at once, devices that come and go, and devices that are programs
(labkit/usbredir.py): at low speed, refusing, silent, lying, gone in mid-transfer.

Keyboards that type on QEMU's own devices are in test_usb_keyboard.py, sticks in test_stick.py."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from labkit import lab as net
from labkit import usbredir
from labkit.lab import Lab
from labkit.machine import Machine
from labkit.usb import FOUND_S, check_sound, sticks_and_keyboards, wait_devices
from labkit.wait import until

APP = net.NETWORK + "app nat\n"
MODELS = ("qemu-xhci", "nec-usb-xhci", "qemu-xhci,p3=0", "qemu-xhci,p2=15,p3=15")
USAGES = {letter: 4 + index for index, letter in enumerate("abcdefghijklmnopqrstuvwxyz")}
ENTER = 40


def boot_redirected(lab: Lab, ports: int) -> tuple[Machine, list[str]]:
    """A machine with ports for devices that are programs; gives the paths of their sockets."""
    paths = [os.path.join(lab.directory, f"usb{index}") for index in range(ports)]
    extra = ["-device", "qemu-xhci,id=h,p2=15,p3=15"]
    for index, path in enumerate(paths):
        extra += ["-chardev", f"socket,id=c{index},path={path},server=on,wait=off",
                  "-device", f"usb-redir,chardev=c{index},bus=h.0,port={index + 1}"]
    return lab.boot(APP, extra=extra), paths


def types(machine: Machine, keyboard: usbredir.Device) -> None:
    """What is typed on the keyboard is a command of the console."""
    assert keyboard.polled.wait(FOUND_S)
    machine.console.mark()
    keyboard.type(*(USAGES[letter] for letter in "routes"), ENTER)
    machine.console.expect(r"routes\n[\s\S]*via")


@pytest.mark.long
def test_all_models_at_once(make_lab: Callable[..., Lab], tmp_path: Path) -> None:
    """A keyboard and a stick behind each of four controllers, while the gateway forwards."""
    lab = make_lab()
    machine = lab.boot(APP, extra=sticks_and_keyboards(tmp_path, *MODELS))
    shown = wait_devices(machine, len(MODELS), len(MODELS))
    assert len(re.findall(r"^usb\d xhci ", shown, re.M)) == len(MODELS)
    until(lambda: len(re.findall(r"usb storage: .* 8 MB", machine.console.text)) == len(MODELS), FOUND_S,
          "all sticks answer")
    lab.wait_ping()
    check_sound(machine)


@pytest.mark.long
@pytest.mark.parametrize("model", MODELS[:3])
def test_come_and_go(make_lab: Callable[..., Lab], tmp_path: Path, model: str) -> None:
    """Keyboards behind hubs and directly are plugged in and pulled, three at a time; the ports keep working."""
    lab = make_lab()
    machine = lab.boot(APP, extra=["-device", f"{model},id=h", "-device", "usb-hub,bus=h.0,port=1"])
    ports = {"a": "1.1", "b": "1.2", "c": "2"}
    for _ in range(4):
        for name, port in ports.items():
            machine.qmp("device_add", driver="usb-kbd", id=name, bus="h.0", port=port)
        wait_devices(machine, len(ports), 0)
        for name in ports:
            machine.qmp("device_del", id=name)
        wait_devices(machine, 0, 0)
        lab.lan.run("ping", "-n", "-c3", "-i0.05", "-W3", net.WAN_SERVER)
    check_sound(machine)


@pytest.mark.long
@pytest.mark.parametrize("speed", [usbredir.LOW, usbredir.FULL, usbredir.HIGH], ids=["low", "full", "high"])
def test_speeds(make_lab: Callable[..., Lab], speed: int) -> None:
    """A keyboard at each speed types, is unplugged and plugged in again."""
    lab = make_lab()
    machine, (path,) = boot_redirected(lab, 1)
    packet = 64 if speed == usbredir.HIGH else 8
    device = usbredir.KEYBOARD_DEVICE[:7] + bytes([packet]) + usbredir.KEYBOARD_DEVICE[8:]
    for _ in range(2):
        with usbredir.Device(path, speed, device) as keyboard:
            types(machine, keyboard)
            assert ("low", "full", "high")[speed] in machine.console.command("usb")
        wait_devices(machine, 0, 0)
    check_sound(machine)


class Refusing(usbredir.Device):
    """Refuses all but what a driver cannot do without."""

    def control(self, kind: int, request: int, value: int, index: int, length: int) -> bytes | int | None:
        return super().control(kind, request, value, index, length) if kind == 0x80 else usbredir.STALL


class Silent(usbredir.Device):
    """Answers nothing."""

    def control(self, *_: int) -> bytes | int | None:
        return None


@pytest.mark.long
def test_refusing_and_silent(make_lab: Callable[..., Lab]) -> None:
    """A keyboard that refuses each request of its class works; one that never answers is given up, and the gateway and
    the other keyboard go on meanwhile."""
    lab = make_lab()
    machine, paths = boot_redirected(lab, 2)
    with Silent(paths[0]), Refusing(paths[1]) as keyboard:
        types(machine, keyboard)
        machine.console.expect(r"usb0-\d+: device switched off", timeout=60)
        types(machine, keyboard)
        lab.wait_ping()


def lies() -> list[tuple[bytes, bytes]]:
    """Descriptors that are wrong, of the device and of the configuration."""
    device, config = usbredir.KEYBOARD_DEVICE, usbredir.KEYBOARD_CONFIG

    def changed(data: bytes, at: int, value: int) -> bytes:
        return data[:at] + bytes([value]) + data[at + 1:]
    return [
        (changed(device, 0, 0), config),           # a descriptor of no length
        (changed(device, 7, 0), config),           # packets of no length
        (device, changed(config, 0, 0)),
        (device, changed(config, 2, 8)),           # shorter than itself
        (device, changed(config, 3, 255) * 100),   # 65 KB
        (device, changed(config, 9, 0)),           # an interface of no length
        (device, changed(config, 27, 255)),        # an endpoint that is longer than all
        (device[:5], config),
    ]


@pytest.mark.long
def test_lies(make_lab: Callable[..., Lab]) -> None:
    """Devices whose descriptors lie are given up with one line each, and the gateway goes on."""
    lab = make_lab()
    wrong = lies()
    machine, paths = boot_redirected(lab, len(wrong) + 1)
    devices = [usbredir.Device(path, usbredir.FULL, *lie) for path, lie in zip(paths, wrong)]
    try:
        with usbredir.Device(paths[-1]) as keyboard:
            types(machine, keyboard)
            for index in range(len(wrong)):
                port = rf"usb0-{16 + index}:"
                until(lambda port=port: re.search(port, machine.console.text), 60, f"a line about port {port}")
            types(machine, keyboard)
    finally:
        for device in devices:
            device.close()
    lab.wait_ping()
    assert not re.search(r"usb0: .*switched off", machine.console.text)


class Vanishing(usbredir.Device):
    """Is unplugged at its fifth request, while it is asked."""

    def control(self, kind: int, request: int, value: int, index: int, length: int) -> bytes | int | None:
        if len(self.requests) == 5:
            self._socket.shutdown(2)
            return None
        return super().control(kind, request, value, index, length)


def test_gone_in_mid_transfer(make_lab: Callable[..., Lab]) -> None:
    """A keyboard that vanishes while it is asked leaves nothing behind; the next one in its port types."""
    lab = make_lab()
    machine, (path,) = boot_redirected(lab, 1)
    for _ in range(3):
        with Vanishing(path) as device:
            until(lambda device=device: len(device.requests) >= 5, FOUND_S, "the device is asked")
        wait_devices(machine, 0, 0)
    with usbredir.Device(path) as keyboard:
        types(machine, keyboard)
    lab.wait_ping()
    assert not re.search(r"usb0: .*switched off", machine.console.text)
