# SPDX-License-Identifier: BSD-2-Clause
"""A QEMU machine that runs our image, or another bootable one."""

import dataclasses
import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any

from . import screen
from .netns import end_process
from .serial import Console, connect
from .wait import Timeout, until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Another build of QEMU may be used in place of the usual one.
IMAGE = os.environ.get("BAREGATE_IMAGE") or os.path.join(ROOT, "images", "gateway.elf")

# Short names of NIC models; any other text is a QEMU device with its options.
NIC_MODELS = {
    "e1000": "e1000",
    "virtio": "virtio-net-pci",
    "virtio-legacy": "virtio-net-pci,disable-modern=on",
    "virtio-modern": "virtio-net-pci,disable-legacy=on",
    # QEMU 7.2 stops giving packets to a guest for ever when the guest refills its ring just while QEMU checks whether
    # two buffers are left; QEMU then misses the notification that it waits for. Linux guests run into this.
    "virtio-linux": "virtio-net-pci,event_idx=off",
}


# The firmware for each kind of UEFI: QEMU's program, its code, and the variables that it starts with. The 32-bit one
# exists only with Secure Boot, which needs SMM; no keys are enrolled in its variables, so it starts any loader.
UEFI = {
    "uefi64": ("qemu-system-x86_64", "OVMF_CODE_4M.fd", "OVMF_VARS_4M.fd"),
    "uefi32": ("qemu-system-i386", "OVMF32_CODE_4M.secboot.fd", "OVMF32_VARS_4M.fd"),
}
UEFI_FILES = "/usr/share/OVMF"

# The size of the screen in text mode.
TEXT_MODE = (720, 400)


class Died(AssertionError):
    """QEMU ended unexpectedly; the text contains its output."""


@dataclasses.dataclass
class Port:
    """One NIC of the machine. `tap` is the descriptor of the other end of its cable; it still belongs to the caller. It
    is a tap, or with `stream` a stream socket on which each frame follows its length (4 bytes, big-endian).

    `rom` keeps the NIC's boot ROM, needed only for network boot. `pcap` names a file that gets all frames.
    """

    model: str
    tap: int
    mac: str
    rom: bool = False
    pcap: str | None = None
    stream: bool = False

    def arguments(self, index: int) -> list[str]:
        """QEMU's arguments for this NIC."""
        device = NIC_MODELS.get(self.model, self.model)
        device += f",netdev=n{index},mac={self.mac},id=nic{index}"
        if not self.rom:
            device += ",romfile="
        kind = "socket" if self.stream else "tap"
        out = ["-netdev", f"{kind},id=n{index},fd={self.tap}", "-device", device]
        if self.pcap is not None:
            out += ["-object", f"filter-dump,id=dump{index},netdev=n{index},file={self.pcap}"]
        return out


@dataclasses.dataclass
class Hardware:
    """The parts of the machine and what it boots. If `kernel` is None, it boots from a device in `extra`.

    `firmware` is "bios", or one of UEFI: then the machine is a q35 and needs 256 MB.
    """

    kernel: str | None = IMAGE
    append: str = ""
    modules: Sequence[str] = ()
    memory: int = 64
    cpu: str | None = None
    binary: str = "qemu-system-i386"
    reboot: bool = True
    debug_exit: bool = True
    # With its default firmware (bios-256k.bin) QEMU 7.2 loads a Multiboot kernel only once: after a reset it jumps to
    # an invalid address. The small firmware loads it again.
    bios: str | None = "bios.bin"
    extra: Sequence[str] = ()
    firmware: str = "bios"
    vga: Sequence[str] = ("-vga", "std")

    def arguments(self, directory: str) -> list[str]:
        """QEMU's arguments for everything except the NICs, the serial port and QMP. Files of the machine's own go into
        `directory`."""
        out = ["-accel", "tcg", "-m", str(self.memory), "-display", "none",
               "-monitor", "none", "-nodefaults", *self.vga, "-nic", "none"]
        if self.firmware == "bios":
            out = [self.binary, "-M", "pc", *out]
        else:
            binary, code, variables = UEFI[self.firmware]
            shutil.copyfile(os.path.join(UEFI_FILES, variables), os.path.join(directory, "variables"))
            out = [binary, "-M", "q35,smm=on", "-global", "driver=cfi.pflash01,property=secure,value=on", *out,
                   "-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={os.path.join(UEFI_FILES, code)}",
                   "-drive", f"if=pflash,unit=1,format=raw,file={os.path.join(directory, 'variables')}"]
        if self.cpu is not None:
            out += ["-cpu", self.cpu]
        if not self.reboot:
            out += ["-no-reboot"]
        if self.debug_exit:
            out += ["-device", "isa-debug-exit,iobase=0xf4,iosize=4"]
        if self.kernel is not None:
            if self.bios is not None:
                out += ["-bios", self.bios]
            out += ["-kernel", self.kernel]
            if self.append:
                out += ["-append", self.append]
            if self.modules:
                # A comma separates modules, so a comma in a name is doubled.
                out += ["-initrd", ",".join(name.replace(",", ",,") for name in self.modules)]
        return out + list(self.extra)


class Machine:
    """A running QEMU with its console (COM1) and its QMP socket. Ends with `close`."""

    def __init__(self, hardware: Hardware, ports: Sequence[Port]) -> None:
        self.hardware = hardware
        self.directory = tempfile.mkdtemp(prefix="vm-")
        self.process = self._start(ports)
        try:
            self.console = Console(connect(self._path("com1"), self._alive))
            self._qmp = Qmp(connect(self._path("qmp"), self._alive))
        except BaseException as error:
            self.process.kill()
            self.process.wait()
            text = self.stderr()
            shutil.rmtree(self.directory, ignore_errors=True)
            if isinstance(error, Exception):
                raise Died(f"QEMU did not start: {text}") from error
            raise

    def _alive(self) -> bool:
        return self.process.poll() is None

    def _path(self, name: str) -> str:
        return os.path.join(self.directory, name)

    def _start(self, ports: Sequence[Port]) -> "subprocess.Popen[bytes]":
        arguments = self.hardware.arguments(self.directory)
        for index, port in enumerate(ports):
            arguments += port.arguments(index)
        # wait=on: the guest does not start before the console is connected.
        arguments += ["-chardev", f"socket,id=com1,path={self._path('com1')},server=on,wait=on",
                      "-serial", "chardev:com1",
                      "-qmp", f"unix:{self._path('qmp')},server=on,wait=off"]
        with open(self._path("stderr"), "wb") as errors:
            return subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=errors,
                                    stderr=errors, pass_fds=[port.tap for port in ports])

    def stderr(self) -> str:
        """QEMU's own output so far."""
        with open(self._path("stderr"), encoding="utf-8", errors="replace") as file:
            return "".join(line for line in file if "QEMU waiting for connection" not in line).strip()

    def close(self) -> None:
        """Ends QEMU and removes its files. Safe to call twice."""
        end_process(self.process)
        self.console.close()
        self._qmp.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def wait_ready(self, app: str | None = None, timeout: float = 30) -> int:
        """Waits for the ready line and returns its milliseconds."""
        name = r"\S+" if app is None else app
        found = self.console.expect(rf"^(?:> )?ready app={name} ms=(\d+)$", timeout)
        return int(found.group(1))

    def wait_exit(self, timeout: float = 20) -> int:
        """Waits until QEMU ends by itself; gives its exit status."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Timeout(f"QEMU still runs after {timeout:g} s\n{self.console.text[-2000:]}") from None

    def qmp(self, command: str, **arguments: Any) -> Any:
        """Runs one QMP command; gives its answer. An error answer raises."""
        return self._qmp.execute(command, arguments)

    def wait_event(self, name: str, timeout: float = 20) -> dict[str, Any]:
        """Waits for a QMP event that was not taken yet, such as RESET, and takes it."""
        return self._qmp.wait_event(name, timeout)

    def set_link(self, index: int, up: bool) -> None:
        """Unplugs or plugs the cable of NIC `index`."""
        self.qmp("set_link", name=f"nic{index}", up=up)

    def press(self, *keys: str) -> None:
        """Presses keys of the PS/2 keyboard one after the other, by QEMU's names (ret, down, 1, a)."""
        for key in keys:
            # QEMU answers when the key is queued, and the queue keeps the order.
            self.qmp("send-key", keys=[{"type": "qcode", "data": key}])

    def press_usb(self, display: str, *keys: str) -> None:
        """Presses and releases keys of the USB keyboard that belongs to a display device, one after the other."""
        for key in keys:
            for down in (True, False):
                event = {"type": "key", "data": {"down": down, "key": {"type": "qcode", "data": key}}}
                self.qmp("input-send-event", device=display, events=[event])

    def screen(self) -> list[str]:
        """The 25 lines of the screen: of the VGA's text mode, or on a frame buffer."""
        path = self._path("screen")
        self.qmp("screendump", filename=path)
        width, height, pixels = screen.read_ppm(path)
        if (width, height) != TEXT_MODE:
            return screen.text(width, height, pixels) or []
        self.qmp("pmemsave", val=0xB8000, size=80 * 25 * 2, filename=path)
        with open(path, "rb") as file:
            text = file.read()[::2].decode("cp437")
        return [text[row * 80:row * 80 + 80].rstrip(" \0") for row in range(25)]

    def wait_screen(self, text: str, timeout: float = 20) -> list[str]:
        """Waits until the screen shows `text` anywhere; gives the whole screen."""
        def look() -> list[str] | None:
            lines = self.screen()
            return lines if any(text in line for line in lines) else None
        try:
            return until(look, timeout, f"'{text}' on the screen")
        except Timeout as late:
            raise Timeout(f"{late}\n" + "\n".join(self.screen())) from None


class Qmp:
    """QEMU's control socket: commands, their answers, and events."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._socket.settimeout(30)
        self._file = self._socket.makefile("rwb")
        self._events: list[dict[str, Any]] = []
        self._receive()
        self.execute("qmp_capabilities", {})

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def _receive(self) -> dict[str, Any]:
        line = self._file.readline()
        if not line:
            raise Died("QEMU closed its control socket")
        message: dict[str, Any] = json.loads(line)
        return message

    def execute(self, command: str, arguments: dict[str, Any]) -> Any:
        request = {"execute": command, "arguments": arguments}
        self._file.write(json.dumps(request).encode() + b"\n")
        self._file.flush()
        while True:
            message = self._receive()
            if "event" in message:
                self._events.append(message)
            elif "error" in message:
                raise RuntimeError(f"QMP {command}: {message['error'].get('desc')}")
            else:
                return message["return"]

    def wait_event(self, name: str, timeout: float) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            # A command without effect makes QEMU send the waiting events.
            self.execute("query-status", {})
            for event in self._events:
                if event["event"] == name:
                    self._events.remove(event)
                    return event
            return None
        return until(look, timeout, f"QMP event {name}")
