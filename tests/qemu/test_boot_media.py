# SPDX-License-Identifier: BSD-2-Clause
"""The boot media, booted: USB stick, CD, network, and a Pentium III.

tools/mkimages builds the media from images/gateway.elf for these tests. The tests give the image no command line and no
module: it gets everything from the medium. `nat` does not start without the addresses in gateway.conf, so a `ready`
line means that the file was read.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from labkit import machine as lab  # noqa: E402

# The time for the BIOS, GRUB's three seconds and our menu's five, on a busy host.
BOOT_S = 90.0
NICS = ("-netdev", "user,id=n0", "-device", "e1000,netdev=n0,romfile=",
        "-netdev", "user,id=n1", "-device", "e1000,netdev=n1,romfile=")
PARTITION = "@@1M"


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
def boot(*extra: str, cpu: str | None = None, memory: int = 64) -> Iterator[lab.Machine]:
    """A machine for which QEMU gets no kernel: it boots from the devices in `extra`."""
    hardware = lab.Hardware(kernel=None, memory=memory, cpu=cpu, extra=extra)
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


def applications() -> list[str]:
    """The names of the image's applications."""
    text = (ROOT / "apps/apps.def").read_text()
    return re.findall(r'^APP\(\w+, "([^"]+)"', text, re.M)


def wait_grub(machine: lab.Machine) -> None:
    machine.console.expect("executed automatically in", BOOT_S)


def wait_nat_with_sample(machine: lab.Machine) -> None:
    """Waits until the NAT runs with the addresses of boot/gateway.conf."""
    machine.wait_ready("nat", BOOT_S)
    config = machine.console.command("config", 30)
    assert re.search(r"^lan\.address 192\.168\.1\.1/24$", config, re.M), config
    assert re.search(r"^wan\.address 192\.0\.2\.2/24$", config, re.M), config


@pytest.mark.parametrize("controller", ["usb-ehci", "qemu-xhci"])
def test_usb_stick(media: Path, controller: str) -> None:
    """Without a key press, the stick boots to our menu, whose countdown starts the NAT."""
    with boot(*usb_stick(media / "gateway-usb.img", controller), *NICS) as machine:
        wait_nat_with_sample(machine)


def test_cd(media: Path) -> None:
    with boot(*cd(media / "gateway.iso"), *NICS) as machine:
        wait_nat_with_sample(machine)


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


def test_grub_offers_every_application(media: Path) -> None:
    """One entry for each line of apps.def; each overrides the choice in the file."""
    with boot(*usb_stick(media / "gateway-usb.img", "qemu-xhci"), *NICS) as machine:
        wait_grub(machine)
        names = applications()
        assert {"nat", "wire"} <= set(names)
        for name in names:
            assert re.search(rf"[* ]{name}  ", machine.console.text), f"no entry for {name}"
        # The first entry is our own menu; the applications follow in the order of apps.def.
        machine.console.send("\x0e" * (1 + names.index("wire")) + "\r")
        machine.wait_ready("wire", BOOT_S)


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
        machine.wait_screen("executed automatically in", BOOT_S)
        machine.press("ret")
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
