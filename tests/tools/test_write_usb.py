# SPDX-License-Identifier: BSD-2-Clause
"""tools/write-usb on files in place of sticks, and on a sysfs made for the test."""

from __future__ import annotations

import errno
import importlib.machinery
import importlib.util
import os
import random
import re
import struct
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

PARTS = [*usb.LOADERS, "gateway.elf", usb.MENU]
MINE = {"gateway.conf": b"app wire\n", "gateway.last": b"app nat\n", "notes.txt": b"mine"}
# What fsck.fat may say of a stick that was pulled out: it mends each of these without loss.
HARMLESS = re.compile(r"fsck.fat |FATs differ but appear|  Using first FAT|Reclaimed \d+ unused|"
                      r"Free cluster summary wrong|  Auto-corr|Leaving filesystem unch|$|.*files, ")


def mtools(command: str, volume: Path, *words: str | Path) -> bytes:
    env = dict(os.environ, MTOOLS_SKIP_CHECK="1")
    return subprocess.run([command, "-i", f"{volume}@@1M", *words], env=env, capture_output=True, check=True).stdout


def put(volume: Path, name: str, data: bytes) -> None:
    source = volume.with_suffix(".file")
    source.write_bytes(data)
    mtools("mcopy", volume, "-o", source, f"::/{name}")


def content(volume: Path, name: str) -> bytes | None:
    try:
        return mtools("mtype", volume, f"::/{name}")
    except subprocess.CalledProcessError:
        return None


def fsck(path: Path) -> list[str]:
    """What fsck.fat says beyond what a pulled plug may leave, and how it ended."""
    copy = path.with_suffix(".partition")
    subprocess.run(["dd", f"if={path}", f"of={copy}", "bs=1M", "skip=1", "conv=sparse", "status=none"], check=True)
    done = subprocess.run(["fsck.fat", "-n", copy], capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if not HARMLESS.match(line)] + ["bad"] * (done.returncode > 1)


def core(path: Path) -> bytes:
    """The boot code and the core to which it leads, both as if the core were in the first place."""
    head = path.read_bytes()[:MB] if path.stat().st_size < MB else path.open("rb").read(MB)
    place = struct.unpack_from("<Q", head, 0x5C)[0] * 512
    assert struct.unpack_from("<Q", head, place + 0x1F4)[0] * 512 == place + 512
    size = 512 * (1 + struct.unpack_from("<H", head, place + 0x1FC)[0])
    code = head[:0x5C] + head[0x64:440]
    return code + head[place:place + 0x1F4] + head[place + 0x1FC:place + size]


@pytest.fixture
def used(tmp_path: Path, images: tuple[Path, Path]) -> Path:
    """A stick with an old version, of which each part differs, and a configuration."""
    path = tmp_path / "stick.img"
    subprocess.run(["cp", "--sparse=always", images[0], path], check=True)
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"OLD")
        file.seek(440)
        file.write(b"ID42")
        file.seek(5000)
        file.write(b"OLD CORE")
    for name in (*usb.LOADERS, usb.MENU):
        put(path, name, b"old " + name.encode() * 300)
    for name, data in MINE.items():
        put(path, name, data)
    return path


def check_upgraded(path: Path, image: Path) -> None:
    for name in PARTS:
        assert content(path, name) == content(image, name) is not None
    assert {name: content(path, name) for name in MINE} == MINE
    assert fsck(path) == []
    assert core(path) == core(image)
    assert path.open("rb").read(512)[440:512] == b"ID42" + image.open("rb").read(512)[444:]


def test_an_upgrade_keeps_the_configuration(used: Path, images: tuple[Path, Path]) -> None:
    usb.upgrade(images[1], used, quiet)
    check_upgraded(used, images[1])
    assert content(used, "gateway.old.elf") == b"old image"
    copy = used.with_suffix(".partition")
    done = subprocess.run(["fsck.fat", "-n", "-V", copy], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_second_upgrade_keeps_the_image_before_it(used: Path, images: tuple[Path, Path]) -> None:
    usb.upgrade(images[1], used, quiet)
    usb.upgrade(images[0], used, quiet)
    check_upgraded(used, images[0])
    assert content(used, "gateway.old.elf") == content(images[1], "gateway.elf")


def test_the_same_image_again_writes_nothing(used: Path, images: tuple[Path, Path]) -> None:
    usb.upgrade(images[1], used, quiet)
    before = used.read_bytes()
    usb.upgrade(images[1], used, quiet)
    assert used.read_bytes() == before


def test_a_stick_from_before_uefi_gets_its_loaders(used: Path, images: tuple[Path, Path]) -> None:
    mtools("mdeltree", used, "::/EFI")
    mtools("mdel", used, "::/gateway.last")
    usb.upgrade(images[1], used, quiet)
    assert content(used, "gateway.last") == b""
    put(used, "gateway.last", MINE["gateway.last"])
    check_upgraded(used, images[1])


def test_an_upgrade_by_renaming_that_was_interrupted(used: Path, images: tuple[Path, Path]) -> None:
    """There is only gateway.old.elf."""
    mtools("mren", used, "::/gateway.elf", "::/gateway.old.elf")
    usb.upgrade(images[1], used, quiet)
    check_upgraded(used, images[1])
    assert content(used, "gateway.old.elf") == b"old image"


@pytest.mark.parametrize("more", range(12, 20))
def test_a_new_name_at_any_place_of_the_directory(used: Path, images: tuple[Path, Path], more: int) -> None:
    """Its entries lie in one sector, over the border of two, or in a new cluster."""
    for i in range(more):
        put(used, f"A{i}", b"a")
    usb.upgrade(images[1], used, quiet)
    check_upgraded(used, images[1])
    assert content(used, "gateway.old.elf") == b"old image"
    assert all(content(used, f"A{i}") == b"a" for i in range(more))


class Log:
    """What is written to a stick: (offset, data) for each write, None for each flush."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.log: list[tuple[int, bytes] | None] = []
        real_write, real_sync = os.pwrite, os.fsync

        def pwrite(fd: int, data: bytes, offset: int) -> int:
            self.log += [(offset + at, bytes(data[at:at + 512])) for at in range(0, len(data), 512)]
            return real_write(fd, data, offset)

        def fsync(fd: int) -> None:
            self.log.append(None)
            real_sync(fd)

        patch.setattr(os, "pwrite", pwrite)
        patch.setattr(os, "fsync", fsync)


def apply(path: Path, writes: list[tuple[int, bytes] | None]) -> None:
    with path.open("r+b") as file:
        for write in writes:
            if write:
                file.seek(write[0])
                file.write(write[1])


def judge(path: Path, sets: dict[str, tuple[bytes | None, ...]], cores: tuple[bytes, bytes]) -> list[bool]:
    """Each part is the old or the new one, complete. Gives which of them are new."""
    new = []
    for name, (old, fresh) in sets.items():
        data = content(path, name)
        assert data in (old, fresh), name
        new.append(data == fresh)
    loader = core(path)
    # The boot code and the core switch together.
    assert loader in cores
    assert {name: content(path, name) for name in MINE} == MINE
    assert content(path, "gateway.old.elf") in (None, b"old image")
    assert fsck(path) == []
    # The loaders are never older than the image, the image is never older than the menu.
    order = [loader == cores[1], *new]
    assert order == sorted(order, reverse=True)
    # The image before it is there as soon as the new one is.
    assert not new[2] or content(path, "gateway.old.elf") == b"old image"
    return order


def groups(log: list[tuple[int, bytes] | None]) -> list[list[tuple[int, bytes] | None]]:
    """The writes between two flushes."""
    out: list[list[tuple[int, bytes] | None]] = [[]]
    for write in log:
        if write is None and out[-1]:
            out.append([])
        elif write:
            out[-1].append(write)
    return [group for group in out if group]


def test_an_upgrade_that_is_cut_anywhere(used: Path, images: tuple[Path, Path], tmp_path: Path,
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind each flush all that came before is on the stick; of what follows, any part may be. Of long groups of
    writes (content in free clusters) three states are judged, of the short ones each and some random ones."""
    path = tmp_path / "cut.img"
    subprocess.run(["cp", "--sparse=always", used, path], check=True)
    sets = {name: (content(used, name), content(images[1], name)) for name in PARTS}
    cores = core(used), core(images[1])
    with monkeypatch.context() as patch:
        log = Log(patch)
        usb.upgrade(images[1], used, quiet)
    chance = random.Random(1)
    states = []
    trial = tmp_path / "trial.img"
    for group in groups(log.log):
        ends = range(1, len(group)) if len(group) <= 24 else (1, len(group) // 2, len(group) - 1)
        trials = [group[:end] for end in ends]
        trials += [[write for write in group if chance.random() < 0.5] for _ in range(2 if len(group) > 1 else 0)]
        for writes in trials:
            subprocess.run(["cp", "--sparse=always", path, trial], check=True)
            apply(trial, writes)
            judge(trial, sets, cores)
        apply(path, group)
        states.append(judge(path, sets, cores))
    assert states[0] == [False] * 5 and states[-1] == [True] * 5
    assert all(old <= new for before, after in zip(states, states[1:]) for old, new in zip(before, after))
    # Each part is switched to by one write.
    switches = [group for group, before, after in zip(groups(log.log), [[False] * 5, *states], states)
                if before != after]
    assert [len(group) for group in switches] == [1] * 5
    check_upgraded(path, images[1])


def test_an_upgrade_that_was_cut_can_be_repeated(used: Path, images: tuple[Path, Path], tmp_path: Path,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cut.img"
    subprocess.run(["cp", "--sparse=always", used, path], check=True)
    with monkeypatch.context() as patch:
        log = Log(patch)
        usb.upgrade(images[1], used, quiet)
    all_ = groups(log.log)
    for i, group in enumerate(all_):
        apply(path, group)
        if i % 5 == 2:
            trial = tmp_path / "trial.img"
            subprocess.run(["cp", "--sparse=always", path, trial], check=True)
            usb.upgrade(images[1], trial, quiet)
            check_upgraded(trial, images[1])
            assert content(trial, "gateway.old.elf") == b"old image"


def test_a_sector_that_cannot_be_read_is_no_missing_file(used: Path, images: tuple[Path, Path],
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says where, and nothing is written."""
    place = used.read_bytes().index(b"old image")
    before, real = used.read_bytes(), os.pread

    def pread(fd: int, n: int, offset: int) -> bytes:
        if offset <= place < offset + n and os.readlink(f"/proc/self/fd/{fd}") == str(used):
            raise OSError(errno.EIO, "Input/output error")
        return real(fd, n, offset)

    monkeypatch.setattr(os, "pread", pread)
    with pytest.raises(usb.Refused, match=f"stick.img: it cannot be read at byte {place}: Input/output error"):
        usb.upgrade(images[1], used, quiet)
    assert used.read_bytes() == before


@pytest.mark.parametrize("where", ["content", "fat", "directory", "core"])
def test_a_stick_that_does_not_keep_what_is_written(used: Path, images: tuple[Path, Path], where: str,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    """What is old stays."""
    starts = {"core": (1024 * 512, MB), "fat": (MB + 32 * 512, MB + 500 * 512), "content": (2 * MB + 100_000, 99 * MB),
              "directory": (2 * MB, 2 * MB + 100_000)}[where]
    real = os.pwrite

    def pwrite(fd: int, data: bytes, offset: int) -> int:
        return len(data) if starts[0] <= offset < starts[1] else real(fd, data, offset)

    monkeypatch.setattr(os, "pwrite", pwrite)
    with pytest.raises(usb.Refused, match="faulty"):
        usb.upgrade(images[1], used, quiet)
    assert content(used, "gateway.elf") == b"old image"


def test_a_full_stick(used: Path, images: tuple[Path, Path]) -> None:
    """The old version stays."""
    put(used, "big", bytes(used.stat().st_size - MB - 1_300_000 - 1_100_000))
    with pytest.raises(usb.Refused, match="it is full"):
        usb.upgrade(images[1], used, quiet)
    assert content(used, "gateway.elf") == b"old image" and fsck(used) == []


def test_other_sticks_are_not_upgraded(tmp_path: Path, images: tuple[Path, Path], used: Path) -> None:
    path = stick(tmp_path, 70 * MB)
    with pytest.raises(usb.Refused, match="no stick of the gateway"):
        usb.upgrade(images[1], path, quiet)
    mtools("mdel", used, "::/gateway.elf")
    before = used.read_bytes()
    with pytest.raises(usb.Refused, match="no gateway.elf"):
        usb.upgrade(images[1], used, quiet)
    assert used.read_bytes() == before
