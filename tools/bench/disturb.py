#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Counts the packets that the gateway loses at full load while people use the machine.

    tools/bench/disturb.py [--seconds N] [--nic MODEL]

The function is nat, each packet is answered, and 192 packets are always under way: the card's ring takes them all even
while QEMU stands still, so what is lost was lost by the gateway. Meanwhile nothing happens, long texts scroll through
the screen, the configuration is saved on a stick again and again, or a stick is pulled and plugged in. Prints a line
for each. Ends with 1 when a packet was lost.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import guest
import loadgen
import measure
from labkit.machine import Qmp
from labkit.serial import connect
from labkit.wait import until

ROOT = HERE.parent.parent
SERIAL = "1234-ABCD"
CONF = "# The stick is recognised by this text.\n"


def make_stick(path: Path) -> None:
    """A FAT32 volume with gateway.conf and gateway.last."""
    subprocess.run(["mkfs.fat", "-i", SERIAL.replace("-", ""), "-F32", "-s1", "-C", str(path), "36864"], check=True,
                   capture_output=True)
    for name, text in (("gateway.conf", CONF), ("gateway.last", "")):
        source = path.with_suffix(".file")
        source.write_text(text, encoding="ascii")
        subprocess.run(["mcopy", "-i", str(path), str(source), f"::/{name}"], check=True, capture_output=True)


class Person:
    """What a person does at the machine, each call once."""

    def __init__(self, target: guest.Guest, control: Qmp) -> None:
        self.target, self.control = target, control
        self.done = 0

    def nothing(self) -> None:
        time.sleep(0.1)

    def scroll(self) -> None:
        """A long list, on the screen and on COM1."""
        self.target.console("config", 30)
        self.done += 1

    def save(self) -> None:
        self.done += 1
        answer = " ".join(self.target.console(f"stick gateway.conf {5000 + self.done} 7", 30))
        if "stick: saved" not in answer:
            raise guest.GuestError(f"not saved: {answer}")

    def replug(self) -> None:
        self.control.execute("device_del", {"id": "stick"})
        self.control.wait_event("DEVICE_DELETED", 10)

        def added() -> bool:
            """QEMU releases the image some time after it has removed the device."""
            try:
                self.control.execute("device_add", {"driver": "usb-storage", "id": "stick", "bus": "h.0",
                                                    "drive": "file"})
            except RuntimeError:
                return False
            return True
        until(added, 10, "the image to be free")
        time.sleep(3)  # a port at which something is plugged in too often is left alone for a while
        self.done += 1


def measure_one(load: loadgen.LoadGen, seconds: float, does: Callable[[], None]) -> loadgen.Result:
    """Runs the load for so long, and calls `does` again and again meanwhile."""
    results: list[loadgen.Result] = []
    work = threading.Thread(target=lambda: results.append(
        load.run(seconds=seconds, warm=0.5, **(measure.FULL | {"answers": 1}))))
    work.start()
    while work.is_alive():
        does()
    work.join()
    return results[0]


def run(options: argparse.Namespace, folder: Path) -> int:
    stick, conf = folder / "stick", folder / "gateway.conf"
    make_stick(stick)
    conf.write_text(CONF, encoding="ascii")
    row = guest.Row("nat", "Baregate nat", False, "nat", "nat", f"debug=on stick={SERIAL}")
    setup = guest.Setup(options.nic, "stream", options.image, {}, (0, 1))
    control = folder / "control"
    words = ("-initrd", f"{conf} gateway.conf", "-qmp", f"unix:{control},server=on,wait=off",
             "-device", "qemu-xhci,id=h", "-device", "usb-kbd,bus=h.0",
             "-blockdev", f"driver=file,node-name=file,filename={stick}",
             "-device", "usb-storage,id=stick,bus=h.0,drive=file")
    target = guest.Guest(row, setup, folder, words=words)
    session = measure.Session(target, loadgen.LoadGen(ROOT / "build" / "bench" / "gen", target), setup.nic)
    lost = 0
    try:
        session.start()
        person = Person(target, Qmp(connect(str(control), lambda: True)))
        time.sleep(2)  # QEMU's e1000 receives nothing for a second after a write to RCTL
        session.settle()
        for name, does in (("nothing", person.nothing), ("the screen scrolls", person.scroll),
                           ("saved to", person.save), ("pulled and plugged in", person.replug)):
            person.done = 0
            result = measure_one(session.load, options.seconds, does)
            count = measure.packets(result)
            print(f"{name}: {person.done} times, {count / float(result['seconds']):,.0f} packets/s, "
                  f"{result['lost']} of {count} lost, {result['stalls']} stalls", flush=True)
            lost += int(result["lost"])
    finally:
        session.stop()
    return 1 if lost else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="counts packets lost while people use the machine")
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--nic", default="e1000")
    parser.add_argument("--image", type=Path, default=ROOT / "images" / "gateway.elf")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        return run(options, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
