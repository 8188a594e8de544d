# SPDX-License-Identifier: BSD-2-Clause
"""A PC in Bochs (https://bochs.sourceforge.io) that boots the USB stick's image from a disk.

Bochs has one network card of a kind that the gateway drives. Time inside counts instructions: a second is 55 million.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import tty
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from labkit.serial import Console  # noqa: E402
from labkit.wait import Timeout  # noqa: E402

# Processors without the instruction CMOV.
TOO_OLD = ("pentium", "pentium_mmx", "amd_k6_2_chomper")
MODEL = re.compile(r"^([a-z]\w+)$", re.M)

# The gateway takes a time-stamp counter for one of at least 50 MHz. Below that the tests would only be quicker.
RATE = 55_000_000

SETTINGS = """\
megs: 64
cpu: model={model}, count=1, ips={rate}, reset_on_triple_fault=1, ignore_bad_msrs=0
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/vgabios/vgabios.bin
display_library: term
pci: enabled=1, chipset=i440fx, slot1=e1000
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=disk, mode=flat, path="{stick}", cylinders=130, heads=16, spt=63
boot: disk
e1000: enabled=1, mac=52:54:00:12:34:56, ethmod=null
com1: enabled=1, mode=socket-client, dev=127.0.0.1:{port}
clock: sync=none, time0=local
log: {log}
panic: action=fatal
error: action=report
info: action=report
"""

# Bochs makes a terminal for its screen and keyboard.
SCREEN = re.compile(rb'Bochs connected to screen "(/dev/pts/\d+)"')

# How Bochs ends when the guest switches the machine off.
SWITCHED_OFF = "ACPI control: soft power off"


def models() -> list[str]:
    """All processor models that the installed Bochs knows."""
    said = subprocess.run(["bochs", "--help", "cpu"], capture_output=True, text=True, check=False)
    found = MODEL.findall(said.stdout + said.stderr)
    if "p2_klamath" not in found:
        raise RuntimeError(f"bochs lists no processor models:\n{said.stdout}{said.stderr}")
    return found


def make_stick(directory: Path, config: str) -> Path:
    """Builds the stick with this gateway.conf."""
    (directory / "gateway.conf").write_text(config)
    subprocess.run([ROOT / "tools/mkimages", "--conf", directory / "gateway.conf", "--out", directory], check=True)
    return directory / "gateway-usb.img"


def _read_all(terminal: int) -> None:
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        pass


class Bochs:
    """A running Bochs with its console (COM1). Ends with `close`."""

    def __init__(self, model: str, stick: Path) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="bochs-"))
        copy = self._directory / "stick.img"
        subprocess.run(["cp", "--sparse=always", stick, copy], check=True)
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(60)
            (self._directory / "bochsrc").write_text(SETTINGS.format(
                model=model, rate=RATE, stick=copy, port=server.getsockname()[1], log=self._directory / "log"))
            # Debian's Bochs has a debugger, which waits for a command before it starts, and at a triple fault.
            (self._directory / "start").write_text("continue\n")
            self._terminals = self._start()
            try:
                self.console = Console(server.accept()[0])
            except TimeoutError:
                text = self.log()
                self._end()
                raise Timeout(f"Bochs did not connect COM1\n{text[-3000:]}") from None

    def _start(self) -> list[int]:
        """Starts Bochs. Gives the terminals that belong to it: that of its session, and its screen and keyboard."""
        ours, theirs = pty.openpty()
        # The session ends with this program, and Bochs with its session.
        self.process = subprocess.Popen(
            ["bochs", "-q", "-f", "bochsrc", "-rc", "start"], cwd=self._directory,
            env={**os.environ, "TERM": "linux"}, preexec_fn=lambda: os.login_tty(theirs))
        os.close(theirs)
        said = b""
        while not (found := SCREEN.search(said)):
            said += os.read(ours, 4096)
        os.write(ours, b"continue\n" * 8)
        screen = os.open(found[1], os.O_RDWR | os.O_NOCTTY)
        tty.setraw(screen)
        for terminal in (ours, screen):
            # Bochs stops when nobody reads.
            threading.Thread(target=_read_all, args=(terminal,), daemon=True).start()
        return [ours, screen]

    def type(self, text: str) -> None:
        """Types on the PC's keyboard. Waits for the echo of each letter, because the keyboard remembers only a few."""
        for letter in text:
            os.write(self._terminals[1], letter.encode("ascii"))
            self.console.expect(re.escape(letter), 30)

    def log(self) -> str:
        """Bochs's own messages so far."""
        path = self._directory / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def wait_ready(self, timeout: float = 120) -> None:
        """Waits until the gateway runs."""
        self.console.expect(r"^(?:> )?ready app=\w+ ms=\d+$", timeout)

    def wait_off(self, timeout: float = 60) -> None:
        """Waits until the guest has switched the machine off. Any other end is an error."""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Timeout(f"Bochs still runs after {timeout:g} s\n{self.console.text[-2000:]}") from None
        panics = re.findall(r">>PANIC<< (.*)", self.log())
        assert panics == [SWITCHED_OFF], panics

    def _end(self) -> None:
        self.process.kill()
        self.process.wait()
        for terminal in self._terminals:
            os.close(terminal)
        shutil.rmtree(self._directory, ignore_errors=True)

    def close(self) -> None:
        """Ends Bochs and removes its files."""
        self.console.close()
        self._end()
