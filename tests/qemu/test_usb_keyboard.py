# SPDX-License-Identifier: BSD-2-Clause
"""USB keyboards behind each kind of controller: alone, behind hubs, plugged in late, beside a PS/2 keyboard.

QEMU's display `v` belongs to the USB keyboard, so its keys reach that one alone; `Machine.press` types on the PS/2
keyboard."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import pytest
from labkit import lab as net
from labkit.lab import Lab
from labkit.machine import Machine
from labkit.wait import Timeout, until

# What QEMU calls the controllers. `h` is the bus of the keyboard.
CONTROLLERS = {
    "uhci": ["piix3-usb-uhci,id=h"],
    "ohci": ["pci-ohci,id=h"],
    "ehci": ["usb-ehci,id=h"],
    "xhci": ["qemu-xhci,id=h"],
    "nec": ["nec-usb-xhci,id=h"],
    "xhci-high": ["qemu-xhci,id=h,p3=0"],
}
FUNCTIONS = ("nat", "6to4", "ivi", "nat64", "dns64", "wire", "clat")
# With these lines each function starts.
CONFIG = (net.NETWORK + f"lan.address 2001:db8:1::1/64\nnameserver {net.WAN_SERVER}\n"
          "ivi.prefix 2001:db8::/32\nivi.ipv4 198.51.100.64/28\n"
          "clat.prefix 2001:db8:64::/96\nclat.address 2001:db8:2::464\n")
SCREEN = ["-vga", "none", "-device", "VGA,id=v"]
KEYBOARD = "usb-kbd,id=k,bus=h.0,display=v"


def devices(*names: str) -> list[str]:
    return [word for name in names for word in ("-device", name)]


def number_of(machine: Machine, app: str) -> str:
    """The number of a function in the menu."""
    machine.wait_screen(app)
    found = [re.match(rf"\W*(\d+)\W+{app}\b", line) for line in machine.screen()]
    return next(match.group(1) for match in found if match)


def choose(machine: Machine, app: str) -> None:
    """Starts an application in the menu by its number, on the USB keyboard. The keyboard may not be found yet, so the
    number of another one is typed first, again and again until the menu follows. QEMU keeps 16 keys for a keyboard that
    does not ask and drops others, so each is given time."""
    for name in ("wire" if app != "wire" else "nat", app):
        number = number_of(machine, name)

        def is_chosen(row: str = rf"\W*[>\u25ba]\W*{number}\W+{name}\b") -> bool:
            return any(re.match(row, line) for line in machine.screen())

        def typed(number: str = number, done: Callable[[], bool] = is_chosen) -> bool:
            machine.press_usb("v", number)
            try:
                return until(done, 0.5, "the menu follows")
            except Timeout:
                return False

        until(typed, 20, f"{name} is chosen")
    machine.press_usb("v", "ret")
    machine.wait_ready(app)


def start(lab: Lab, controller: str, *more: str, config: str = net.NETWORK) -> Machine:
    return lab.start(config, extra=[*SCREEN, *devices(*CONTROLLERS[controller], *more)])


def types(machine: Machine) -> None:
    """What is typed on the USB keyboard is a command of the console."""
    machine.console.mark()
    machine.press_usb("v", *"routes", "ret")
    machine.console.expect(r"routes\n[\s\S]*via")


@pytest.mark.parametrize("controller", ["uhci", "xhci"])
def test_menu_and_console(make_lab: Callable[..., Lab], controller: str) -> None:
    """The menu and the console take the keys of a USB keyboard; the gateway forwards."""
    lab = make_lab()
    machine = start(lab, controller, KEYBOARD)
    choose(machine, "nat")
    types(machine)
    lab.wait_ping()


@pytest.mark.long
@pytest.mark.parametrize("app", FUNCTIONS)
@pytest.mark.parametrize("controller", CONTROLLERS)
def test_each_function(make_lab: Callable[..., Lab], controller: str, app: str) -> None:
    """Each function can be chosen by a keyboard behind each controller."""
    lab = make_lab()
    machine = start(lab, controller, KEYBOARD, config=CONFIG)
    choose(machine, app)


def with_functions(*ways: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Gives each way a function: so many boots are enough for each function to be chosen."""
    return [(*way, app) for way, app in zip(ways, itertools.cycle(FUNCTIONS))]


@pytest.mark.long
@pytest.mark.parametrize("controller, depth, app", with_functions(
    *itertools.product(("uhci", "ohci", "xhci", "nec"), ("1", "3"))))
def test_behind_hubs(make_lab: Callable[..., Lab], controller: str, depth: str, app: str) -> None:
    """A keyboard behind one and three hubs chooses a function. QEMU's hubs are full-speed ones, which EHCI leaves to
    companions."""
    lab = make_lab()
    port = "1"
    hubs = []
    for _ in range(int(depth)):
        hubs.append(f"usb-hub,bus=h.0,port={port}")
        port += ".1"
    machine = start(lab, controller, *hubs, f"{KEYBOARD},port={port}", config=CONFIG)
    choose(machine, app)
    if app == "nat":
        types(machine)


@pytest.mark.long
@pytest.mark.parametrize("controller, app", with_functions(*itertools.product(CONTROLLERS)))
def test_each_function_by_a_late_keyboard(make_lab: Callable[..., Lab], controller: str, app: str) -> None:
    """A keyboard that is plugged in while the menu stands chooses each function, behind each controller one."""
    lab = make_lab()
    machine = start(lab, controller, config=CONFIG)
    number_of(machine, app)
    machine.qmp("device_add", driver="usb-kbd", id="k", bus="h.0", display="v")
    choose(machine, app)


@pytest.mark.long
@pytest.mark.parametrize("controller", CONTROLLERS)
def test_plugged_in_late(make_lab: Callable[..., Lab], controller: str) -> None:
    """A keyboard that is plugged in while the menu stands, unplugged, and plugged in again while packets pass."""
    lab = make_lab()
    machine = start(lab, controller)
    number_of(machine, "nat")
    plug = {"driver": "usb-kbd", "id": "k", "bus": "h.0", "display": "v"}
    machine.qmp("device_add", **plug)
    choose(machine, "nat")
    lab.wait_ping()
    for _ in range(3):
        machine.console.mark()
        machine.qmp("device_del", id="k")
        machine.wait_event("DEVICE_DELETED")
        machine.console.expect(r"usb0-\d+: .*gone")
        lab.lan.run("ping", "-n", "-c3", "-i0.05", "-W3", net.WAN_SERVER)
        machine.console.mark()
        machine.qmp("device_add", **plug)
        machine.console.expect(r"usb0-\d+: .* keyboard")
        types(machine)


@pytest.mark.long
def test_both_kinds_at_once(make_lab: Callable[..., Lab]) -> None:
    """A USB keyboard behind each of two controllers and a PS/2 keyboard: all type into one line."""
    lab = make_lab()
    machine = start(lab, "uhci", KEYBOARD, "qemu-xhci,id=h2", "usb-kbd,bus=h2.0,id=k2",
                    config=net.NETWORK + "app nat\n")
    machine.wait_ready("nat")
    until(lambda: machine.console.command("usb").count("driver=keyboard") == 2, 20, "both keyboards are found")
    machine.console.mark()
    machine.press_usb("v", "r", "o")
    machine.console.expect("ro")
    machine.press("u", "t")
    machine.console.expect("ut")
    machine.press_usb("v", "e", "s", "ret")
    machine.console.expect(r"^[\s\S]*via")


@pytest.mark.parametrize("layout, typed", [("us", "yz-"), ("de", "zy\xdf")], ids=["us", "de"])
def test_layout(make_lab: Callable[..., Lab], layout: str, typed: str) -> None:
    """The key `keyboard` chooses what the keys stand for, on both kinds of keyboards."""
    lab = make_lab()
    machine = start(lab, "xhci", KEYBOARD, config=net.NETWORK + f"app nat\nkeyboard {layout}\n")
    machine.wait_ready("nat")
    until(lambda: "driver=keyboard" in machine.console.command("usb"), 20, "the keyboard is found")
    for press in (lambda *keys: machine.press_usb("v", *keys), machine.press):
        machine.console.mark()
        press("y", "z", "ret")
        machine.console.expect(rf"unknown command: {typed[:2]}")


def test_usb_off(make_lab: Callable[..., Lab]) -> None:
    """With `usb off` the controllers stay as the firmware left them: no line names one, and the gateway forwards."""
    lab = make_lab()
    machine = start(lab, "xhci", KEYBOARD, config=net.NETWORK + "app nat\nusb off\n")
    machine.wait_ready("nat")
    lab.wait_ping()
    assert "usb0" not in machine.console.text
