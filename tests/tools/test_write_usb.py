# SPDX-License-Identifier: BSD-2-Clause
"""tools/write-usb on files in place of sticks, and on a sysfs made for the test."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/write-usb"
MB = 1 << 20


def load() -> ModuleType:
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("write_usb", str(TOOL))
    spec = importlib.util.spec_from_loader("write_usb", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


usb = load()


def quiet(_what: str, done: int, all_: int) -> None:
    assert 0 < done <= all_


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two versions of the stick's image."""
    made = []
    for version in (b"old image", b"new image " * 60_000):
        folder = tmp_path_factory.mktemp("images")
        (folder / "gateway.elf").write_bytes(version)
        subprocess.run([ROOT / "tools/mkimages", "--elf", folder / "gateway.elf", "--out", folder], check=True)
        made.append(folder / "gateway-usb.img")
    return made[0], made[1]


# --- which disks are refused ----------------------------------------------------------------------


class System:
    """A sysfs with one disk, sdb, that has two partitions; and a /proc."""

    def __init__(self, folder: Path) -> None:
        self.sys, self.proc = folder / "sys", folder / "proc"
        self.disk = self.sys / "devices/usb1/block/sdb"
        for part, number in (("", 16), ("sdb1", 17), ("sdb2", 18)):
            (self.disk / part / "holders").mkdir(parents=True)
            (self.disk / part / "dev").write_text(f"8:{number}\n")
            if part:
                (self.disk / part / "partition").write_text(part[-1])
        (self.disk / "device").mkdir()
        self.set("removable", "1")
        self.set("ro", "0")
        self.set("size", "15728640")
        self.set("device/vendor", "Maker   ")
        self.set("device/model", "Stick")
        (self.proc / "self").mkdir(parents=True)
        (self.proc / "swaps").write_text("Filename Type Size Used Priority\n")
        self.mount("8:1", "/")

    def set(self, name: str, text: str) -> None:
        (self.disk / name).write_text(text + "\n")

    def mount(self, number: str, where: str) -> None:
        with (self.proc / "self/mountinfo").open("a") as file:
            file.write(f"22 1 {number} / {where} rw,relatime - ext4 /dev/x rw\n")

    def refusal(self, part: str = "") -> str | None:
        try:
            usb.check_disk(self.disk / part, self.proc)
        except usb.Refused as why:
            return str(why)
        return None


@pytest.fixture
def system(tmp_path: Path) -> System:
    return System(tmp_path)


def test_a_stick_is_accepted(system: System) -> None:
    assert system.refusal() is None
    assert usb.describe(system.disk) == "sdb: Maker Stick, 8.1 GB"


def test_a_built_in_disk_is_refused(system: System) -> None:
    system.set("removable", "0")
    assert system.refusal() == "sdb is not removable: only sticks and cards are written"
    system.set("device/type", "SD")
    assert system.refusal() is None


def test_a_partition_is_refused(system: System) -> None:
    assert system.refusal("sdb1") == "sdb1 is a partition: name the whole stick, sdb"


@pytest.mark.parametrize("number,name", [("8:16", "sdb"), ("8:17", "sdb1"), ("8:18", "sdb2")])
def test_a_mounted_disk_is_refused(system: System, number: str, name: str) -> None:
    system.mount(number, "/media/stick")
    assert system.refusal() == f"{name} is mounted on /media/stick"


def test_a_disk_with_swap_is_refused(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    (system.proc / "swaps").write_text("Filename Type Size Used Priority\n/dev/sdb2 partition 1 0 -2\n")
    monkeypatch.setattr(usb, "number_of", {"/dev/sdb2": "8:18"}.__getitem__)
    assert system.refusal() == "sdb2 is used as swap"


@pytest.mark.parametrize("part", ["", "sdb2"])
def test_a_part_of_another_device_is_refused(system: System, part: str) -> None:
    (system.disk / part / "holders/dm-0").mkdir()
    assert system.refusal() == f"{part or 'sdb'} is part of dm-0"


def test_a_write_protected_stick_is_refused(system: System) -> None:
    system.set("ro", "1")
    assert system.refusal() == "sdb is write-protected"


@pytest.mark.parametrize("device,why", [("/dev/null", "is not a disk"), ("missing", "No such file"),
                                        (".", "not a disk")])
def test_the_command_refuses_what_is_no_disk(tmp_path: Path, device: str, why: str) -> None:
    (tmp_path / "image").touch()
    done = subprocess.run([TOOL, "--yes", "--image", tmp_path / "image", device], cwd=tmp_path, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 1 and why in done.stderr and done.stderr.count("\n") == 1


def test_the_command_refuses_the_disk_of_this_machine() -> None:
    """A real disk that is no stick, where this machine has one."""
    fixed = [name for name in sorted(os.listdir("/sys/block"))
             if usb.read(Path("/sys/block") / name / "removable") == "0" and os.path.exists(f"/dev/{name}")]
    if not fixed:
        pytest.skip("no disk is visible here")
    with pytest.raises(usb.Refused, match="not removable|is mounted"):
        usb.check_disk(usb.find_disk(f"/dev/{fixed[0]}", Path("/sys"))[1], Path("/proc"))


def test_the_name_must_be_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.input", lambda _prompt: "sdc")
    with pytest.raises(usb.Refused, match="nothing was written"):
        usb.confirm("text", "sdb")
    monkeypatch.setattr("builtins.input", lambda _prompt: "sdb")
    usb.confirm("text", "sdb")


# --- writing ----------------------------------------------------------------------------------------


def stick(tmp_path: Path, size: int) -> Path:
    path = tmp_path / "stick"
    with path.open("wb") as file:
        file.write(b"\xff" * min(size, 2 * MB))
        file.truncate(size)
    return path


def test_a_stick_gets_the_image(tmp_path: Path, images: tuple[Path, Path]) -> None:
    path = stick(tmp_path, 70 * MB)
    seen: list[str] = []
    device = usb.open_device(path)
    usb.write_image(images[0], device, lambda what, done, all_: seen.append(what))
    os.close(device)
    want = images[0].read_bytes()
    assert path.read_bytes()[:len(want)] == want
    assert seen.count("writing") > 10 and seen.count("verifying") > 10


def test_a_stick_that_is_too_small(tmp_path: Path, images: tuple[Path, Path]) -> None:
    path = stick(tmp_path, 63 * MB)
    device = usb.open_device(path)
    with pytest.raises(usb.Refused, match="too small"):
        usb.write_image(images[0], device, quiet)
    os.close(device)
    assert path.read_bytes()[:2 * MB] == b"\xff" * (2 * MB)


def test_a_faulty_stick_is_noticed(tmp_path: Path, images: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit reads differently."""
    device = usb.open_device(stick(tmp_path, 70 * MB))
    real = os.pread

    def pread(fd: int, n: int, offset: int) -> bytes:
        data = bytearray(real(fd, n, offset))
        if offset == 33 * MB:
            data[77] ^= 1
        return bytes(data)

    monkeypatch.setattr(usb.os, "pread", pread)
    with pytest.raises(usb.Refused, match=f"written at {33 * MB} reads differently"):
        usb.write_image(images[0], device, quiet)
    os.close(device)


# --- upgrade ----------------------------------------------------------------------------------------


@pytest.fixture
def used(tmp_path: Path, images: tuple[Path, Path]) -> Path:
    """A stick with the old version and a configuration."""
    path = tmp_path / "stick.img"
    subprocess.run(["cp", "--sparse=always", images[0], path], check=True)
    with path.open("r+b") as file:
        file.seek(440)
        file.write(b"ID42")
    usb.put(path, "gateway.conf", b"app wire\n")
    usb.put(path, "gateway.last", b"app nat\n")
    usb.put(path, "notes.txt", b"mine")
    return path


def check_upgraded(path: Path, image: Path) -> None:
    assert usb.content(path, "gateway.elf") == usb.content(image, "gateway.elf")
    assert usb.content(path, "gateway.conf") == b"app wire\n"
    assert usb.content(path, "gateway.last") == b"app nat\n"
    assert usb.content(path, "notes.txt") == b"mine"
    assert usb.content(path, "gateway.new") is None
    for name in usb.UPGRADED:
        assert usb.content(path, name) == usb.content(image, name) is not None
    done = subprocess.run(["fsck.fat", "-n", "-V", cut(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    old, new = path.read_bytes()[:MB], image.read_bytes()[:MB]
    assert old[:440] == new[:440] and old[440:444] == b"ID42" and old[444:] == new[444:]


def cut(path: Path) -> Path:
    """The partition of a stick as a file of its own."""
    copy = path.with_suffix(".partition")
    copy.write_bytes(path.read_bytes()[MB:])
    return copy


def test_an_upgrade_keeps_the_configuration(used: Path, images: tuple[Path, Path]) -> None:
    usb.upgrade(images[1], used, quiet)
    check_upgraded(used, images[1])
    assert usb.content(used, "gateway.old.elf") == b"old image"


def test_a_second_upgrade_keeps_the_image_before_it(used: Path, images: tuple[Path, Path]) -> None:
    usb.upgrade(images[1], used, quiet)
    usb.upgrade(images[0], used, quiet)
    check_upgraded(used, images[0])
    assert usb.content(used, "gateway.old.elf") == usb.content(images[1], "gateway.elf")


def test_the_same_image_again_keeps_the_previous_one(used: Path, images: tuple[Path, Path]) -> None:
    usb.upgrade(images[1], used, quiet)
    usb.upgrade(images[1], used, quiet)
    check_upgraded(used, images[1])
    assert usb.content(used, "gateway.old.elf") == b"old image"


def test_a_stick_from_before_uefi_gets_its_loaders(used: Path, images: tuple[Path, Path]) -> None:
    usb.mtools("mdeltree", used, "::/EFI")
    usb.upgrade(images[1], used, quiet)
    check_upgraded(used, images[1])


def test_an_upgrade_can_be_stopped_anywhere(used: Path, images: tuple[Path, Path],
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    """After each command of mtools an image that can be started is there, and another upgrade completes the work."""
    real, calls = usb.mtools, 0
    starts = {usb.content(image, "gateway.elf") for image in images}

    class Pulled(Exception):
        pass

    def mtools(command: str, volume: Path, *words: str | Path) -> bytes:
        nonlocal calls
        out: bytes = real(command, volume, *words)
        if volume == used and command in ("mren", "mdel", "mcopy") and "-n" not in words:
            calls -= 1
            if calls == 0:
                raise Pulled
        return out

    stops = 0
    for stop in range(1, 40):
        before = used.read_bytes()
        calls = stop
        monkeypatch.setattr(usb, "mtools", mtools)
        try:
            usb.upgrade(images[1], used, quiet)
        except Pulled:
            stops += 1
        else:
            break
        finally:
            monkeypatch.setattr(usb, "mtools", real)
        assert {usb.content(used, "gateway.elf"), usb.content(used, "gateway.old.elf")} & starts
        usb.upgrade(images[1], used, quiet)
        check_upgraded(used, images[1])
        used.write_bytes(before)
    assert stops >= 8


def test_other_sticks_are_not_upgraded(tmp_path: Path, images: tuple[Path, Path], used: Path) -> None:
    path = stick(tmp_path, 70 * MB)
    with pytest.raises(usb.Refused, match="no stick of the gateway"):
        usb.upgrade(images[1], path, quiet)
    usb.mtools("mdel", used, "::/gateway.elf")
    before = used.read_bytes()
    with pytest.raises(usb.Refused, match="no gateway.elf"):
        usb.upgrade(images[1], used, quiet)
    assert used.read_bytes() == before
