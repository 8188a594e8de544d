# SPDX-License-Identifier: BSD-2-Clause
"""The boot media, booted: USB stick, CD, network; on a BIOS, on 64-bit and 32-bit UEFI, and on a Pentium III.

tools/mkimages builds the media from images/gateway.elf for these tests. The tests give the image no command line and no
module: it gets everything from the medium. The menu starts `nat` by itself only because gateway.conf says so, so a
`ready` line means that the file was read. QEMU's network is the provider, with a DHCP server.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from labkit import machine as lab  # noqa: E402
from labkit.wait import until  # noqa: E402

# The time for the firmware, GRUB and our menu's five seconds, on a busy host.
BOOT_S = 90.0
NICS = ("-netdev", "user,id=n0", "-device", "e1000,netdev=n0,romfile=",
        "-netdev", "user,id=n1", "-device", "e1000,netdev=n1,romfile=")
# A UEFI takes some four seconds to GRUB, and ten times as long where many tests run side by side.
UEFI_S = 240.0
PARTITION = "@@1M"
SECTOR = 512


def make_media(directory: Path, *options: str | Path) -> Path:
    """Builds the media in `directory`, with the image beside them as on a TFTP server."""
    done = subprocess.run(
        [ROOT / "tools/mkimages", "--elf", lab.IMAGE, "--out", directory, *options],
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stderr
    (directory / "gateway.elf").write_bytes(Path(lab.IMAGE).read_bytes())
    (directory / "gateway.conf").write_bytes((ROOT / "boot/gateway.conf").read_bytes())
    return directory


@pytest.fixture(scope="session")
def media(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_media(tmp_path_factory.mktemp("media"))


@contextmanager
def boot(*extra: str, **hardware_: Any) -> Iterator[lab.Machine]:
    """A machine for which QEMU gets no kernel: it boots from the devices in `extra`. `hardware_` are fields of
    lab.Hardware."""
    memory = hardware_.pop("memory", 64 if hardware_.get("firmware", "bios") == "bios" else 256)
    hardware = lab.Hardware(kernel=None, memory=memory, extra=extra, **hardware_)
    machine = lab.Machine(hardware, [])
    try:
        yield machine
    finally:
        machine.close()


def usb_stick(image: Path, controller: str) -> tuple[str, ...]:
    return ("-drive", f"if=none,id=stick,format=raw,snapshot=on,file={image}",
            "-device", f"{controller},id=hc",
            "-device", "usb-storage,drive=stick,bus=hc.0,bootindex=0")


def cd(image: Path) -> tuple[str, ...]:
    return ("-drive", f"if=none,id=cd,format=raw,media=cdrom,readonly=on,file={image}",
            "-device", "ide-cd,drive=cd,bootindex=0")


def wait_nat_with_sample(machine: lab.Machine) -> None:
    """Waits until the NAT runs with the addresses of boot/gateway.conf."""
    machine.wait_ready("nat", BOOT_S if machine.hardware.firmware == "bios" else UEFI_S)
    check_sample(machine)


def check_sample(machine: lab.Machine) -> None:
    """Checks that the NAT has the addresses of boot/gateway.conf."""
    config = machine.console.command("config", 30)
    assert re.search(r"^lan\.address 192\.168\.1\.1/24$", config, re.M), config
    assert re.search(r"^wan\.address dhcp$", config, re.M), config
    assert "10.0.2.15/24 valid" in machine.console.command("addresses", 30)


@pytest.mark.parametrize("controller", [
    "usb-ehci", *(pytest.param(name, marks=pytest.mark.long)
                  for name in ("qemu-xhci", "nec-usb-xhci", "piix3-usb-uhci", "pci-ohci"))])
def test_usb_stick(media: Path, controller: str) -> None:
    """Without a key press, the stick boots to our menu, whose countdown starts the NAT."""
    with boot(*usb_stick(media / "gateway-usb.img", controller), *NICS) as machine:
        wait_nat_with_sample(machine)
        assert "stick 1234-ABCD" in machine.console.command("config", 30)


def test_cd(media: Path) -> None:
    with boot(*cd(media / "gateway.iso"), *NICS) as machine:
        wait_nat_with_sample(machine)


@pytest.mark.long
def test_cd_image_on_a_stick(media: Path) -> None:
    """A CD image that a user writes to a stick must boot from there too."""
    with boot(*usb_stick(media / "gateway.iso", "usb-ehci"), *NICS) as machine:
        wait_nat_with_sample(machine)


def test_pentium3(media: Path) -> None:
    """No NX, no SSE2, no 64 bit: the oldest supported processor, from the CD."""
    with boot(*cd(media / "gateway.iso"), *NICS, cpu="pentium3") as machine:
        wait_nat_with_sample(machine)


def test_ipxe(media: Path) -> None:
    """iPXE in the first NIC fetches the script, and the script the image and its configuration."""
    network = f"user,id=n0,tftp={media},bootfile=gateway.ipxe"
    nics = ("-netdev", network, "-device", "e1000,netdev=n0,bootindex=0", *NICS[4:])
    with boot(*nics, memory=128) as machine:
        wait_nat_with_sample(machine)


GRUB_MENU, OWN_MENU = "GNU GRUB", "what shall this gateway do?"
ENTRIES = ["Start the gateway", "Start without a configuration", "Restart", "Switch off"]


def press_until_menu(machine: lab.Machine, press: Callable[[], object]) -> None:
    """Presses a key while the machine starts, until GRUB shows its menu.

    SeaBIOS gives a keyboard up whose keys come while it is set up, so the key waits for that; and GRUB looks only once,
    half a second later. Where it was too late the machine starts again, as a person would do it.
    """
    missed = 0

    def look() -> bool:
        nonlocal missed
        if machine.hardware.firmware != "bios" or any("Booting from" in line for line in machine.screen()):
            press()
        if machine.console.text.count(OWN_MENU) > missed:
            missed += 1
            machine.qmp("system_reset")
        return GRUB_MENU in machine.console.text
    until(look, BOOT_S, "GRUB's menu")
    for entry in ENTRIES:
        machine.console.expect(re.escape(entry), 10)


def hold_shift(machine: lab.Machine) -> None:
    key = {"type": "qcode", "data": "shift"}
    machine.qmp("input-send-event", events=[{"type": "key", "data": {"down": True, "key": key}}])


@pytest.mark.parametrize("firmware", ["bios", pytest.param("uefi64", marks=pytest.mark.long)])
def test_escape_brings_up_the_menu_of_grub(media: Path, firmware: str) -> None:
    with boot(*cd(media / "gateway.iso"), *NICS, firmware=firmware) as machine:
        if firmware != "bios":  # in front of GRUB, Esc is for the firmware's own menu
            machine.console.expect("BdsDxe: starting", BOOT_S)
        press_until_menu(machine, lambda: machine.press("esc"))


@pytest.mark.long
def test_shift_brings_up_the_menu_of_grub(media: Path) -> None:
    with boot(*usb_stick(media / "gateway-usb.img", "usb-ehci"), *NICS) as machine:
        press_until_menu(machine, lambda: hold_shift(machine))


def show_menu(stick: Path, folder: Path) -> None:
    """Makes GRUB on this stick show its menu and wait."""
    config = (ROOT / "boot/grub.cfg").read_text()
    (folder / "grub.cfg").write_text(config.replace("timeout=0", "timeout=-1").replace("=hidden", "=menu"))
    subprocess.run(["mcopy", "-o", "-i", f"{stick}{PARTITION}", folder / "grub.cfg", "::/boot/grub/grub.cfg"],
                   check=True)


def test_the_image_before_an_upgrade(media: Path, tmp_path: Path) -> None:
    """It has an entry of its own, and starts by itself when gateway.elf cannot be loaded."""
    stick = edit_stick(media, tmp_path, lambda text: text.replace("#app nat", "app wire"))
    subprocess.run(["mren", "-i", f"{stick}{PARTITION}", "::/gateway.elf", "::/gateway.old.elf"], check=True)
    with boot(*usb_stick(stick, "usb-ehci"), *NICS) as machine:
        machine.wait_ready("wire", BOOT_S)


@pytest.mark.long
def test_entries_of_an_upgraded_stick(media: Path, tmp_path: Path) -> None:
    """The second entry starts the previous image, the third one takes gateway.last as the configuration."""
    stick = edit_stick(media, tmp_path, lambda text: text.replace("#app nat", "app nat"))
    for name, text in (("gateway.old.elf", (media / "gateway.elf").read_bytes()), ("gateway.last", b"app wire\n")):
        (tmp_path / name).write_bytes(text)
        subprocess.run(["mcopy", "-o", "-i", f"{stick}{PARTITION}", tmp_path / name, f"::/{name}"], check=True)
    show_menu(stick, tmp_path)
    for entry, app in ((1, "nat"), (2, "wire")):
        with boot(*usb_stick(stick, "usb-ehci"), *NICS) as machine:
            machine.console.expect("Switch off", BOOT_S)
            machine.console.send("\x0e" * entry + "\r")
            machine.wait_ready(app, BOOT_S)


# What is on a stick when an upgrade is cut: how many of the five switches (stick/loader.py, stick/fat.py) are done, and
# whether the next one is about to be.
CUTS = [(0, True), (1, False), (1, True), (3, False), (4, True), (5, False)]


@pytest.fixture(scope="session")
def cuts(media: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A stick on which each part differs from the image, in the states of CUTS."""
    folder = tmp_path_factory.mktemp("cuts")
    stick = edit_stick(media, folder, lambda text: text.replace("#app nat", "app wire"))
    for name in ("EFI/BOOT/BOOTX64.EFI", "EFI/BOOT/BOOTIA32.EFI", "gateway.elf", "boot/grub/grub.cfg"):
        subprocess.run(["mcopy", "-o", "-i", f"{stick}{PARTITION}", f"::/{name}", folder / "old"], check=True)
        with (folder / "old").open("ab") as file:
            file.write(b"\n")
        subprocess.run(["mcopy", "-o", "-i", f"{stick}{PARTITION}", folder / "old", f"::/{name}"], check=True)
    with stick.open("r+b") as file:  # the old core has a sector more
        file.seek(SECTOR + 0x1FC)
        sectors = int.from_bytes(file.read(2), "little")
        file.seek(SECTOR + 0x1FC)
        file.write((sectors + 1).to_bytes(2, "little"))
    return cut_upgrade(media / "gateway-usb.img", stick, folder)


def cut_upgrade(image: Path, stick: Path, folder: Path) -> list[Path]:
    """Copies of the stick, taken before and after writes of its upgrade that switch something."""
    write_usb, log = load_write_usb(), []
    start = folder / "start.img"
    subprocess.run(["cp", "--sparse=always", stick, start], check=True)
    with pytest.MonkeyPatch.context() as patch:
        real = os.pwrite
        patch.setattr(os, "pwrite", lambda fd, data, at: (log.append((at, bytes(data))), real(fd, data, at))[1])
        write_usb.upgrade(image, stick, lambda *_: None)
    # A switch is a write of one sector, to the first one or to a directory: the latter has an entry of the file.
    marks = [(0, b"")] + [(None, name) for name in (b"BOOTX64 EFI", b"BOOTIA32EFI", b"GATEWAY ELF", b"GRUB    CFG")]
    switches = [next(i for i, (at, data) in enumerate(log) if len(data) == SECTOR and (at == place or name and
                     name in data and i > 0 and at >= 1 << 20)) for place, name in marks]
    paths = []
    for done, before_next in CUTS:
        end = switches[done] if before_next else switches[done - 1] + 1
        paths.append(folder / f"cut{len(paths)}.img")
        subprocess.run(["cp", "--sparse=always", start, paths[-1]], check=True)
        with paths[-1].open("r+b") as file:
            for at, data in log[:end]:
                file.seek(at)
                file.write(data)
    return paths


def load_write_usb() -> Any:
    loader = importlib.machinery.SourceFileLoader("write_usb", str(ROOT / "tools/write-usb"))
    spec = importlib.util.spec_from_loader("write_usb", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("firmware", ["bios", "uefi64", "uefi32"])
@pytest.mark.parametrize("state", range(len(CUTS)))
def test_an_upgrade_that_was_cut_starts(cuts: list[Path], state: int, firmware: str) -> None:
    with boot(*usb_stick(cuts[state], "qemu-xhci" if firmware != "bios" else "usb-ehci"), *NICS,
              firmware=firmware) as machine:
        machine.wait_ready("wire", BOOT_S if firmware == "bios" else UEFI_S)


# An old image for GRUB: what it gets from the boot loader goes to COM1.
STUB = r"""
__attribute__((section(".text.a"), used)) static const unsigned header[] = {0x1badb002, 3, -(0x1badb002 + 3)};
struct module { unsigned start, end; const char *text; unsigned zero; };
struct info { unsigned flags, memory[2], device; const char *words; unsigned n; struct module *module; };
static void out(const char *s)
{
    for (; *s; s++)
        __asm__ volatile("outb %0, %1" : : "a"(*s), "d"((unsigned short)0x3f8));
}
__attribute__((used)) static void main(const struct info *info)
{
    out("\nSTUB <"); out(info->words); out(">");
    for (unsigned i = 0; i < info->n; i++) { out(" ["); out(info->module[i].text); out("]"); }
    out(" END\n");
    for (;;) ;
}
__asm__(".global _start; _start: mov $0x90000, %esp; push %ebx; call main");
"""


@pytest.mark.long
def test_the_previous_image_gets_what_it_may_know(media: Path, tmp_path: Path) -> None:
    """An image from before `stick` and gateway.last takes the one for an error and merges the other."""
    (tmp_path / "stub.c").write_text(STUB)
    elf = tmp_path / "gateway.old.elf"
    gcc = os.environ.get("CROSS", "i686-linux-gnu-") + "gcc"
    link = "-Wl,-Ttext=0x100000,--build-id=none,-z,noseparate-code"
    subprocess.run([gcc, "-O1", "-ffreestanding", "-fno-pic", "-nostdlib", "-static", link, "-o", elf,
                    tmp_path / "stub.c"], check=True)
    stick = edit_stick(media, tmp_path, lambda text: text)
    (tmp_path / "gateway.last").write_bytes(b"app wire\n")
    for name in ("gateway.old.elf", "gateway.last"):
        subprocess.run(["mcopy", "-o", "-i", f"{stick}{PARTITION}", tmp_path / name, f"::/{name}"], check=True)
    subprocess.run(["mdel", "-i", f"{stick}{PARTITION}", "::/gateway.elf"], check=True)
    with boot(*usb_stick(stick, "usb-ehci"), *NICS) as machine:
        got = machine.console.expect(r"STUB .* END", BOOT_S)
    assert "stick" not in got[0] and "gateway.last" not in got[0]
    assert got[0].count("gateway.conf]") == 1


@pytest.mark.long
@pytest.mark.parametrize("entry", [1, 2], ids=["last", "menu"])
def test_the_entries_for_the_worst_case_can_save(media: Path, tmp_path: Path, entry: int) -> None:
    """gateway.conf is not in force there, but the stick is known by it."""
    stick = edit_stick(media, tmp_path, lambda text: text.replace("gateway 192", "gatewa 192"))
    last = tmp_path / "gateway.last"
    last.write_bytes(b"app wire\n")
    subprocess.run(["mcopy", "-o", "-i", f"{stick}{PARTITION}", last, "::/gateway.last"], check=True)
    show_menu(stick, tmp_path)
    with boot(*usb_stick(stick, "usb-ehci"), *NICS) as machine:
        machine.console.expect("Switch off", BOOT_S)
        machine.console.send("\x0e" * entry + "\r")
        if entry == 2:  # without a configuration
            machine.console.expect("what shall", BOOT_S)
            machine.console.send("s6\r")
            machine.console.expect("gateway.conf is saved on", 60)
        else:
            machine.wait_ready("wire", BOOT_S)
            machine.console.send("save\r")
            machine.console.expect("gateway.conf is saved on", 60)


@pytest.mark.long
def test_a_stick_without_a_configuration_gets_one(media: Path, tmp_path: Path) -> None:
    """Somebody deleted gateway.conf: the menu comes, what is chosen there is saved, and the next start needs nobody."""
    stick = edit_stick(media, tmp_path, lambda text: text)
    subprocess.run(["mdel", "-i", f"{stick}{PARTITION}", "::/gateway.conf"], check=True)
    with boot(*usb_stick(stick, "usb-ehci"), *NICS) as machine:
        machine.console.expect("what shall", BOOT_S)
        machine.console.send("s6\r")
        machine.wait_ready("wire", BOOT_S)
        machine.console.expect("gateway.conf is saved on", 60)
        machine.console.send("reboot\r")
        machine.wait_ready("wire", BOOT_S)


# --- UEFI --------------------------------------------------------------------------------------

# The frame buffers of real cards and of QEMU's; `efi_gop` gives the mode that the firmware chose.
UEFI_MEDIA = {
    "stick": lambda media: usb_stick(media / "gateway-usb.img", "qemu-xhci"),
    "ehci": lambda media: usb_stick(media / "gateway-usb.img", "usb-ehci"),
    "cd": lambda media: cd(media / "gateway.iso"),
    "cd-on-stick": lambda media: usb_stick(media / "gateway.iso", "qemu-xhci"),
}
SHORT = {("uefi64", "stick"), ("uefi32", "cd")}


def uefi_matrix() -> list[Any]:
    return [pytest.param(firmware, medium, marks=() if (firmware, medium) in SHORT else pytest.mark.long)
            for firmware in lab.UEFI for medium in UEFI_MEDIA]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("firmware,medium", uefi_matrix())
def test_uefi(media: Path, firmware: str, medium: str) -> None:
    """Text on COM1 and on the frame buffer; the ACPI tables are found, so the machine can be switched off."""
    with boot(*UEFI_MEDIA[medium](media), *NICS, firmware=firmware, debug_exit=False) as machine:
        machine.wait_ready("nat", UEFI_S)
        machine.wait_screen("ready app=nat")
        check_sample(machine)
        has_serial = "stick 1234-ABCD" in machine.console.text
        assert has_serial == (medium in ("stick", "ehci"))
        machine.press("i", "n", "t", "e", "r", "f", "a", "c", "e", "s", "ret")
        machine.wait_screen("lan e1000 52:54")
        machine.console.send("poweroff\r")
        assert machine.wait_exit(30) == 0


@pytest.mark.timeout(300)
@pytest.mark.long
@pytest.mark.parametrize("vga", [
    ("-device", "VGA,xres=1920,yres=1080,edid=on,vgamem_mb=32"), ("-device", "bochs-display"),
    ("-device", "VGA,xres=3840,yres=2160,edid=on,vgamem_mb=64"), ("-device", "VGA,xres=640,yres=480,edid=on"),
    ("-device", "cirrus-vga")])
def test_screens_of_uefi(media: Path, vga: tuple[str, ...]) -> None:
    """Modes and cards that the firmware offers."""
    with boot(*usb_stick(media / "gateway-usb.img", "qemu-xhci"), *NICS, firmware="uefi64", vga=vga) as machine:
        machine.wait_ready("nat", UEFI_S)
        machine.wait_screen("ready app=nat")


@pytest.mark.timeout(300)
@pytest.mark.long
@pytest.mark.parametrize("vga", [("-vga", "none"), ("-device", "virtio-gpu-pci")])
def test_uefi_without_a_frame_buffer(media: Path, vga: tuple[str, ...]) -> None:
    """No screen, or one without memory at an address: the gateway runs, over COM1."""
    with boot(*usb_stick(media / "gateway-usb.img", "qemu-xhci"), *NICS, firmware="uefi64", vga=vga) as machine:
        wait_nat_with_sample(machine)


def tftp_folder(media: Path, folder: Path) -> Path:
    """All files of the stick, as on a TFTP server."""
    subprocess.run(["mcopy", "-s", "-n", "-i", f"{media / 'gateway-usb.img'}{PARTITION}", "::/", folder], check=True)
    return folder


@pytest.mark.timeout(300)
@pytest.mark.long
@pytest.mark.parametrize("firmware,file", [("uefi64", "BOOTX64.EFI"), ("uefi32", "BOOTIA32.EFI")])
def test_uefi_network_boot(media: Path, tmp_path: Path, firmware: str, file: str) -> None:
    folder = tftp_folder(media, tmp_path)
    network = f"user,id=n0,tftp={folder},bootfile=EFI/BOOT/{file}"
    nics = ("-netdev", network, "-device", "virtio-net-pci,netdev=n0,bootindex=0", *NICS[4:])
    with boot(*nics, firmware=firmware) as machine:
        wait_nat_with_sample(machine)


@pytest.mark.long
def test_pxe(media: Path, tmp_path: Path) -> None:
    """A plain PXE ROM loads iPXE (undionly.kpxe), which fetches our script. QEMU's ROM is an iPXE too: the first one
    stands for the plain ROM."""
    for name in ("gateway.elf", "gateway.conf", "gateway.ipxe"):
        (tmp_path / name).write_bytes((media / name).read_bytes())
    (tmp_path / "undionly.kpxe").write_bytes(Path("/usr/lib/ipxe/undionly.kpxe").read_bytes())
    (tmp_path / "first.ipxe").write_text(
        "#!ipxe\niseq ${net0/chip} undionly && chain gateway.ipxe || chain undionly.kpxe\n")
    network = f"user,id=n0,tftp={tmp_path},bootfile=first.ipxe"
    with boot("-netdev", network, "-device", "e1000,netdev=n0,bootindex=0", *NICS[4:], memory=128) as machine:
        wait_nat_with_sample(machine)


# --- the configuration on the stick ----------------------------------------------------------------


def test_edited_stick(media: Path, tmp_path: Path) -> None:
    """The image uses what a user writes into gateway.conf on the stick: here, another application."""
    stick = edit_stick(media, tmp_path, lambda text: text.replace("#app nat", "app wire"))
    with boot(*usb_stick(stick, "usb-ehci"), *NICS) as machine:
        machine.wait_ready("wire", BOOT_S)


def test_mistake_on_the_stick(media: Path, tmp_path: Path) -> None:
    """An error in the file is reported with the file and the line; no application starts."""
    wrong = (ROOT / "boot/gateway.conf").read_text().count("\n") + 1
    stick = edit_stick(media, tmp_path, lambda text: text + "lan.adress 10.0.0.1/8\n")
    with boot(*usb_stick(stick, "usb-ehci"), *NICS) as machine:
        machine.console.expect(rf"gateway\.conf:{wrong}: .*lan\.address", BOOT_S)


def test_without_serial_port(media: Path) -> None:
    """GRUB and the gateway on a PC without COM1: all output is on the screen."""
    # The first -serial removes COM1; the harness's own becomes COM2.
    with boot("-serial", "none", *cd(media / "gateway.iso"), *NICS) as machine:
        machine.wait_screen("ready app=nat", BOOT_S)


def test_reproducible(media: Path, tmp_path: Path) -> None:
    """The same input gives the same bytes."""
    again = make_media(tmp_path)
    for name in ("gateway-usb.img", "gateway.iso", "gateway.ipxe"):
        assert (again / name).read_bytes() == (media / name).read_bytes(), name


def edit_stick(media: Path, tmp_path: Path, change: Callable[[str], str]) -> Path:
    """A copy of the stick whose gateway.conf was changed by `change`."""
    stick = tmp_path / "stick.img"
    subprocess.run(["cp", "--sparse=always", media / "gateway-usb.img", stick], check=True)
    edited = tmp_path / "gateway.conf"
    edited.write_text(change((ROOT / "boot/gateway.conf").read_text()))
    subprocess.run(["mcopy", "-o", "-i", f"{stick}{PARTITION}", edited, "::/gateway.conf"],
                   check=True)
    return stick
