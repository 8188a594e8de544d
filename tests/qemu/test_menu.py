# SPDX-License-Identifier: BSD-2-Clause
"""Menu, editor and wizard, by serial line and by PS/2 keyboard; `edit`, `apply`, `keep` and `save` on the console."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from labkit import lab as net
from labkit.lab import Lab
from labkit.machine import Machine
from labkit.vt100 import wait_lines, watch
from labkit.wait import until

_QCODES = {"\r": "ret", " ": "spc", ".": "dot", "/": "slash", "-": "minus", "<": "esc", "\x1b": "esc"}
_CTRL_U = "\x15"
_SERIAL = "4242-BEEF"
_MARK = "# Saved by Baregate.\n"


def _type(machine: Machine, text: str) -> None:
    """Types on the PS/2 keyboard, no faster than QEMU's queue of 16 bytes is read."""
    for letter in text:
        if letter == _CTRL_U:
            machine.qmp("send-key", keys=[{"type": "qcode", "data": key} for key in ("ctrl", "u")])
        else:
            machine.press(_QCODES.get(letter, letter))
        time.sleep(0.03)


def _send(machine: Machine, text: str) -> None:
    machine.console.send(text)


_WAYS = {"com1": _send, "keyboard": _type}


def _number(machine: Machine, key: str) -> str:
    """The number of a row of the editor."""
    line = next(line for line in machine.wait_screen(f" {key} ") if f" {key} " in line)
    return line[1:4].strip()


@pytest.mark.parametrize("way", _WAYS)
def test_wizard(make_lab: Callable[..., Lab], way: str) -> None:
    """From no configuration to a NAT that forwards, with the answers to the questions alone."""
    lab = make_lab()
    machine = lab.start("")
    write = _WAYS[way]
    _answer(machine, write)
    write(machine, "1\r")
    machine.wait_ready("nat")
    lab.wait_ping()


def _answer(machine: Machine, write: Callable[[Machine, str], None]) -> None:
    """Answers the wizard's questions but the last one."""
    machine.wait_screen("Baregate: what shall this gateway do?")
    machine.wait_screen("link up")
    write(machine, "W" if write is _send else "w")
    if write is _type:  # a terminal on COM1 has a layout of its own
        machine.wait_screen("First set-up: the keyboard")
        write(machine, "\r")
    machine.wait_screen("question 1 of 5")
    write(machine, "1\r")
    machine.wait_screen("question 2 of 5")
    write(machine, "1\r")
    for key, value in (("lan.address", f"{net.LAN_GATEWAY}/24"), ("wan.address", f"{net.WAN_GATEWAY}/24"),
                       ("gateway", net.WAN_SERVER)):
        machine.wait_screen(f"{key} =")
        write(machine, f"{_CTRL_U}{value}\r")
    machine.wait_screen("question 5 of 5")


_FUNCTIONS = ("nat", "6to4", "ivi", "nat64", "dns64", "wire", "clat")  # in the order of apps/apps.def


@pytest.mark.long
@pytest.mark.parametrize("by", ["number", "arrows"])
@pytest.mark.parametrize("app", _FUNCTIONS)
@pytest.mark.parametrize("way", _WAYS)
def test_each_function(make_lab: Callable[..., Lab], way: str, app: str, by: str) -> None:
    """Each function can be chosen by serial line and by PS/2 keyboard, by its number and by arrows."""
    lab = make_lab()
    machine = lab.start(net.NETWORK + f"lan.address 2001:db8:1::1/64\nnameserver {net.WAN_SERVER}\n"
                        "ivi.prefix 2001:db8::/32\nivi.ipv4 198.51.100.64/28\n"
                        "clat.prefix 2001:db8:64::/96\nclat.address 2001:db8:2::464\n")
    machine.wait_screen("what shall")
    place = _FUNCTIONS.index(app)
    if by == "number":
        _WAYS[way](machine, str(place + 1))
    else:
        for step in range(place + 1):  # from the last one up would be right too: the cursor wraps
            machine.wait_screen(f"> {step + 1}  {_FUNCTIONS[step]}")
            if step < place:
                _send(machine, "\x1b[B") if way == "com1" else machine.press("down")
    machine.wait_screen(f"> {place + 1}  {app}")
    _WAYS[way](machine, "\r")
    machine.wait_ready(app)


@pytest.mark.long
@pytest.mark.parametrize("way", _WAYS)
def test_editor(make_lab: Callable[..., Lab], way: str) -> None:
    """A key is changed: a wrong value is refused with the parser's text, a good one is in force."""
    lab = make_lab()
    machine = lab.start(net.NETWORK)
    write = _WAYS[way]
    machine.wait_screen("what shall")
    write(machine, "c")
    write(machine, f"{_number(machine, 'lan.mtu')}\r{_CTRL_U}99")
    machine.wait_screen("lan.mtu: expected a number from 1280 to 1500")
    write(machine, f"\r{_CTRL_U}1400\r")
    machine.wait_screen("* lan.mtu")
    write(machine, "<")
    machine.wait_screen("(1500) -> 1400")
    write(machine, "1\r")
    machine.wait_screen("what shall")
    write(machine, "1\r")
    machine.wait_ready("nat")
    assert "lan.mtu 1400" in machine.console.command("config changed").splitlines()
    lab.wait_ping()


@pytest.mark.long
def test_errors_are_corrected(make_lab: Callable[..., Lab]) -> None:
    """The menu of a configuration with an error starts nothing; the editor takes the line out."""
    lab = make_lab()
    machine = lab.start(net.NETWORK + "nonsense 1\n")
    machine.wait_screen("unknown key")
    machine.console.send("1\rc")
    machine.wait_screen("! gateway.conf:6")
    machine.console.send("1d<1\r")
    machine.wait_screen("Enter starts")
    machine.console.send("1\r")
    machine.wait_ready("nat")


@pytest.mark.long
def test_cable_is_plugged_in(make_lab: Callable[..., Lab]) -> None:
    """The wizard chooses the card whose link comes up."""
    lab = make_lab(("e1000", "virtio", "e1000"))
    machine = lab.start("")
    for card in range(3):
        machine.set_link(card, False)
    machine.wait_screen("nic2")
    machine.console.send("w1\r")
    machine.wait_screen("question 2 of 5")
    until(lambda: sum("link down" in line for line in machine.screen()) == 3, 10, "all links are down")
    machine.set_link(1, True)
    lines = machine.wait_screen("came up")
    assert any(line.startswith("> 2") and "came up" in line for line in lines), lines
    machine.console.send("\r")
    machine.wait_screen("Which card is the WAN")


@pytest.mark.long
def test_both_terminals(make_lab: Callable[..., Lab]) -> None:
    """Ctrl-L draws all of the menu again on the terminal that asks; `<` and Esc go back."""
    lab = make_lab()
    machine = lab.start(net.NETWORK)
    machine.wait_screen("what shall")
    machine.console.expect("Baregate: what shall this gateway do")
    machine.console.mark()
    machine.console.send("\x0c")
    machine.console.expect("Baregate: what shall this gateway do[\\s\\S]*r restart")
    for back in ("<", "\x1b"):
        machine.console.send("c")
        machine.wait_screen("Configuration")
        machine.console.send(back)
        machine.wait_screen("what shall")


@pytest.mark.long
def test_apply(make_lab: Callable[..., Lab]) -> None:
    """An address counts at once, goes back after a minute without `keep`, and stays with it."""
    lab = make_lab()
    machine = lab.boot(net.NAT)
    console = machine.console
    assert "expected" in console.command("edit lan.mtu 5")
    assert "at the next start" in console.command("edit lan.mtu 1400")
    for keep in (False, True):
        console.command("edit nat.udp-timeout 100")
        console.command("edit lan.address + 192.168.77.1/24")
        assert "in force for 60 seconds" in console.command("apply")
        assert "192.168.77.1/24" in console.command("interfaces")
        assert "nat.udp-timeout 100" in console.command("config changed")
        lab.wait_ping()
        if keep:
            assert "kept" in console.command("keep")
        else:
            console.expect("no `keep` within 60 seconds", 90)
            assert "192.168.77.1" not in console.command("interfaces")
            assert "nat.udp-timeout" not in console.command("config changed")
            console.command("edit lan.address 192.168.1.1/24")
    assert "nothing is on trial" in console.command("keep")
    lab.wait_ping()


@pytest.mark.long
def test_editor_while_it_runs(make_lab: Callable[..., Lab]) -> None:
    """`edit` shows the editor on the terminal where it was typed; packets pass; the prompt is back afterwards."""
    lab = make_lab()
    machine = lab.boot(net.NAT)
    _type(machine, "edit\r")
    _type(machine, f"{_number(machine, 'hostname')}\rbox\r<")
    machine.wait_screen("(gateway) -> box")
    assert machine.console.command("edit lan.mtu 1400").startswith("the editor is open")
    lab.wait_ping()
    # COM1 takes it over, and the keyboard takes it back, with what was changed.
    terminal = watch(machine.console)
    machine.console.send("edit\r")
    wait_lines(lambda: terminal.lines, r".*\(gateway\) -> box")
    until(lambda: not any("-> box" in line for line in machine.screen()), 10, "the screen shows the console")
    _type(machine, "edit\r")
    machine.wait_screen("(gateway) -> box")
    wait_lines(lambda: terminal.lines, r"^>")
    _type(machine, "1\r")
    machine.wait_screen("in force for 60 seconds")
    assert "hostname box" in machine.console.command("config changed").splitlines()


@pytest.mark.long
@pytest.mark.parametrize("broken", ["nonsense 1\n", "gateway 198.51.100.1\n"], ids=["error", "cannot start"])
def test_gateway_last(make_lab: Callable[..., Lab], broken: str) -> None:
    """A file that was saved on the box and cannot be used is replaced by gateway.last; another file: the menu."""
    lab = make_lab()
    last = lab.file("gateway.last", net.NAT)
    machine = lab.boot(_MARK + net.NAT + broken, modules=[last])
    assert "gateway.last is used; gateway.conf cannot be" in machine.console.text
    lab.wait_ping()
    machine = lab.start(net.NAT + broken, modules=[last])
    machine.wait_screen("what shall")
    assert "gateway.last" not in machine.console.text


@pytest.mark.long
def test_gateway_last_without_app(make_lab: Callable[..., Lab]) -> None:
    """A gateway.last that leaves the choice to the menu starts by its countdown; the menu says why it is there."""
    lab = make_lab()
    last = lab.file("gateway.last", net.NAT.replace("app nat\n", "menu-default nat\nmenu-timeout 2\n"))
    machine = lab.boot(_MARK + net.NAT + "gateway 198.51.100.1\n", modules=[last])
    assert "gateway.last is used; gateway.conf cannot be" in machine.console.text
    assert "nat starts in" in machine.console.text
    lab.wait_ping()
    assert "`save` again replaces it" in machine.console.command("save")


def _stick(directory: Path, conf: str) -> Path:
    """A FAT volume without partitions, as the boot loader would have found it."""
    image = directory / "stick.img"
    image.write_bytes(b"")
    subprocess.run(["truncate", "-s", "64M", image], check=True)
    subprocess.run(["/sbin/mkfs.fat", "-F", "32", "-i", _SERIAL.replace("-", ""), image], check=True,
                   stdout=subprocess.DEVNULL)
    for name, text in (("gateway.conf", conf), ("gateway.last", "")):
        (directory / name).write_text(text)
        subprocess.run(["mcopy", "-i", image, directory / name, f"::/{name}"], check=True)
    return image


def _content(image: Path, name: str) -> str:
    return subprocess.run(["mtype", "-i", image, f"::/{name}"], check=True, capture_output=True, text=True).stdout


def _usb(image: Path) -> tuple[str, ...]:
    return ("-drive", f"if=none,id=s,format=raw,file={image}", "-device", "qemu-xhci,id=h",
            "-device", "usb-storage,drive=s,bus=h.0")


@pytest.mark.long
def test_wizard_saves(make_lab: Callable[..., Lab], tmp_path: Path) -> None:
    """The wizard's answers are saved, and the next start forwards with them by itself."""
    lab = make_lab()
    conf = "# mine\n"
    image = _stick(tmp_path, conf)
    machine = lab.start(conf, f"stick={_SERIAL}", extra=_usb(image))
    _answer(machine, _send)
    machine.console.send("2\r")
    machine.wait_ready("nat")
    machine.console.expect("gateway.conf is saved on ", 60)
    log = [line.split(" ", 1)[1] for line in machine.console.command("log").splitlines() if "saved" in line]
    assert [line.split(" is saved on ")[0] for line in log] == ["gateway.last", "gateway.conf"]
    saved = _content(image, "gateway.conf")
    assert saved.startswith(f"{_MARK}{conf}app nat\n") and f"gateway {net.WAN_SERVER}\n" in saved
    lab.boot(saved, f"stick={_SERIAL}", app="nat", extra=_usb(image))
    lab.wait_ping()


@pytest.mark.long
def test_layout_in_the_wizard(make_lab: Callable[..., Lab]) -> None:
    """The layout counts for the answers that follow; it is gone when the wizard is left without them."""
    lab = make_lab()
    machine = lab.start("")
    machine.wait_screen("what shall")
    _type(machine, "w")
    machine.wait_screen("First set-up: the keyboard")
    _type(machine, "3\r1\r\r")
    machine.wait_screen("lan.address =")
    _type(machine, f"{_CTRL_U}yz")
    machine.wait_screen("lan.address = zy")
    for title in ("question 2 of 5", "question 1 of 5", "the keyboard", "what shall"):
        _type(machine, "\x1b")
        machine.wait_screen(title)
    _type(machine, "c")
    _type(machine, f"{_number(machine, 'hostname')}\r{_CTRL_U}yz")
    machine.wait_screen(" yz")


@pytest.mark.long
def test_the_menu_saves_what_has_started(make_lab: Callable[..., Lab], tmp_path: Path) -> None:
    """`s` and the editor's "save" write nothing before the start, and nothing when it fails."""
    lab = make_lab()
    image = _stick(tmp_path, net.NETWORK)
    machine = lab.start(net.NETWORK, f"stick={_SERIAL}", extra=_usb(image))
    machine.wait_screen("what shall")

    def save(key: str, value: str) -> None:
        machine.console.send("c")
        machine.wait_screen("Configuration")
        machine.console.send(f"{_number(machine, key)}\r{_CTRL_U}{value}\r")
        machine.wait_screen(f"* {key}")
        machine.console.send("<")
        machine.wait_screen("saved when what you start has started")
        machine.console.send("s")
        machine.wait_screen("saved as soon as what you start here has started")

    save("gateway", "198.51.100.1")
    machine.console.send("1\r")
    machine.wait_screen("not saved, since it could not start")
    save("gateway", net.WAN_SERVER)
    machine.console.send("r")
    machine.wait_screen("not saved: nothing has started; r again leaves without it")
    machine.console.send("s")
    machine.wait_screen("saved as soon as")
    assert (_content(image, "gateway.conf"), _content(image, "gateway.last")) == (net.NETWORK, "")
    machine.console.send("1\r")
    machine.wait_ready("nat")
    machine.console.expect("gateway.conf is saved on", 60)
    chosen = net.NETWORK + "app nat\n"
    assert _content(image, "gateway.conf") == _MARK + chosen
    assert _content(image, "gateway.last") == chosen
    lab.wait_ping()


@pytest.mark.long
def test_save(make_lab: Callable[..., Lab], tmp_path: Path) -> None:
    """`save` writes the draft with its comments, and beside it what runs; the next start has both."""
    lab = make_lab()
    conf = "# mine\n" + net.NAT.replace("\n", " # as it was\n", 1)
    image = _stick(tmp_path, conf)
    stick = _usb(image)
    machine = lab.boot(conf, f"stick={_SERIAL}", extra=stick)
    machine.console.command("edit hostname box")
    answer = machine.console.command("save", 60)
    assert "saved in gateway.conf" in answer
    assert _content(image, "gateway.conf") == _MARK + conf + "hostname box\n"
    assert _content(image, "gateway.last") == conf
    machine = lab.boot(_content(image, "gateway.conf"), f"stick={_SERIAL}", extra=stick)
    assert "hostname box" in machine.console.command("config changed").splitlines()
    machine.console.command("edit hostname")
    assert "saved" in machine.console.command("save", 60)
    assert _content(image, "gateway.conf") == _MARK + conf


@pytest.mark.long
def test_save_without_a_stick(make_lab: Callable[..., Lab]) -> None:
    """A clear message, and packets pass."""
    lab = make_lab()
    machine = lab.boot(net.NAT)
    assert machine.console.command("save", 90).startswith("not saved: ")
    lab.wait_ping()
