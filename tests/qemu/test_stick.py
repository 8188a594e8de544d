# SPDX-License-Identifier: BSD-2-Clause
"""Saving on the stick that was booted from, behind QEMU's USB controllers.

QEMU loads the image and gateway.conf itself, and names the stick on the command line as GRUB does. The console command
`stick FILE LENGTH SEED` (debug=on) saves a text of comment lines. What is then on the stick is judged by mtools and
fsck.fat. Most of these tests run only with --all.
"""

from __future__ import annotations

import json
import re
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from labkit.lab import FAR_SERVER, NAT, Lab
from labkit.wait import until

SERIAL = "1234-ABCD"
SECTOR = 512
# Name, and the options of QEMU's -device. Full-speed controllers take a second for a text.
CONTROLLERS = {
    "uhci": "piix3-usb-uhci",
    "ohci": "pci-ohci",
    "ehci": "usb-ehci",
    "xhci": "qemu-xhci",
    "xhci at high speed": "qemu-xhci,p3=0",
    "nec xhci": "nec-usb-xhci",
}
OLD_TEXT = NAT + "".join(f"# line {number} of the old text\n" for number in range(60))


def tool(*command: str | Path, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    """Runs a tool of mtools or dosfstools."""
    env = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "MTOOLS_SKIP_CHECK": "1", "TZ": "UTC"}
    return subprocess.run([str(word) for word in command], env=env, capture_output=True, check=check)


def text_of(length: int, seed: int) -> bytes:
    """What the command `stick` saves (kernel/shell_list_stick.c)."""
    out = bytearray()
    for i in range(length):
        if i % 32 == 0:
            out += b"#"
        elif i % 32 == 31 or i == length - 1:
            out += b"\n"
        else:
            out.append(ord("a") + (i // 32 + i + seed) % 26)
    return bytes(out)


@dataclass
class Stick:
    """The image of a stick, and QEMU's options for it."""

    path: Path
    sector: int = SECTOR

    @classmethod
    def make(cls, path: Path, *options: str, kb: int = 36864, sector: int = SECTOR, text: str = OLD_TEXT) -> Stick:
        """A volume with gateway.conf and an empty gateway.last."""
        stick = cls(path, sector)
        tool("mkfs.fat", "-i", SERIAL.replace("-", ""), "-S", str(sector), *(options or ("-F32", "-s1")), "-C", path,
             str(kb))
        stick.put("gateway.conf", text.encode())
        stick.put("gateway.last", b"")
        return stick

    def put(self, name: str, text: bytes) -> None:
        source = self.path.with_suffix(".file")
        source.write_bytes(text)
        tool("mcopy", "-D", "o", "-i", self.path, source, f"::/{name}")

    def read(self, name: str = "gateway.conf") -> bytes:
        return tool("mtype", "-i", self.path, f"::/{name}").stdout

    def check(self) -> None:
        """fsck.fat finds nothing at all."""
        found = tool("fsck.fat", "-n", self.path, check=False)
        assert found.returncode == 0, found.stdout.decode()

    def device(self, controller: str = "qemu-xhci", between: Sequence[str] = (), port: str = "",
               options: str = "") -> tuple[str, ...]:
        """The controller, the image, and the stick. `between` are layers of QEMU's block devices, top first; the last
        names the node `file`."""
        file = f"driver=file,node-name=file,filename={self.path}"
        top = "top" if between else "file"
        layers = [word for layer in reversed(between) for word in ("-blockdev", layer)]
        return ("-device", f"{controller},id=h", "-blockdev", file, *layers,
                "-device", f"usb-storage,id=stick,bus=h.0,drive={top}{port and f',port={port}'}"
                           f"{options and f',{options}'}")


def blkdebug(kind: str, errno: int, more: str = "") -> str:
    """A layer in which every access of a kind fails."""
    return (f"driver=blkdebug,node-name=top,image=file,inject-error.0.event=none,inject-error.0.iotype={kind},"
            f"inject-error.0.errno={errno}{more and f',{more}'}")


@pytest.fixture
def net() -> Iterator[Lab]:
    with Lab() as lab:
        yield lab


@pytest.fixture
def stick(tmp_path: Path) -> Stick:
    return Stick.make(tmp_path / "stick")


def boot(net: Lab, extra: Sequence[str], text: str = OLD_TEXT) -> None:
    net.boot(text, f"debug=on stick={SERIAL}", extra=extra)


def wait_stick(net: Lab, times: int = 1) -> None:
    """Waits until the gateway has found the stick."""
    for _ in range(times):
        net.console.expect(r"usb storage: .* MB", 20)


def save(net: Lab, length: int, seed: int, file: str = "gateway.conf", timeout: float = 60) -> str:
    """Saves a text; gives the answer."""
    return net.console.command(f"stick {file} {length} {seed}", timeout).strip()


def saves(net: Lab, stick: Stick, length: int, seed: int) -> None:
    assert save(net, length, seed) == "stick: saved"
    assert stick.read() == text_of(length, seed)


def keeps(net: Lab, stick: Stick) -> None:
    """Saves, starts again with what is on the stick then, and saves again."""
    saves(net, stick, 5000, 3)
    assert save(net, 700, 4, "gateway.last") == "stick: saved"
    assert stick.read("gateway.last") == text_of(700, 4)
    stick.check()


def test_saved_and_kept(net: Lab, stick: Stick) -> None:
    extra = stick.device()
    boot(net, extra)
    keeps(net, stick)
    # The new text has no `app`: the stick is recognised by it all the same.
    text = stick.read().decode()
    net.boot(text, f"app=nat lan.address=192.168.1.1/24 wan.address=203.0.113.2/24 debug=on stick={SERIAL}",
             extra=extra)
    saves(net, stick, 9000, 5)
    stick.check()
    net.wait_ping("192.168.1.1")


@pytest.mark.long
@pytest.mark.parametrize("controller", CONTROLLERS)
def test_each_controller(net: Lab, stick: Stick, controller: str) -> None:
    boot(net, stick.device(CONTROLLERS[controller]))
    keeps(net, stick)
    saves(net, stick, 16384, 6)
    stick.check()


@pytest.mark.long
@pytest.mark.parametrize("controller", ["uhci", "ohci", "xhci"])
def test_behind_a_hub(net: Lab, stick: Stick, controller: str) -> None:
    device = stick.device(CONTROLLERS[controller], port="1.2")
    hub = ("-device", "usb-hub,bus=h.0,port=1")
    boot(net, (*device[:2], *hub, *device[2:]))
    keeps(net, stick)


VOLUMES = {
    "fat16": ("-F16", "-s1", 8192, 512),
    "fat16, clusters of 16 KB": ("-F16", "-s32", 100000, 512),
    "fat16, one FAT": ("-F16", "-f1", 20000, 512),
    "fat32, clusters of 4 KB": ("-F32", "-s8", 300000, 512),
    "fat32, one FAT": ("-F32", "-f1", 300000, 512),
}


@pytest.mark.long
@pytest.mark.parametrize("volume", VOLUMES)
def test_each_volume(net: Lab, tmp_path: Path, volume: str) -> None:
    *options, kb, sector = VOLUMES[volume]
    stick = Stick.make(tmp_path / "stick", *map(str, options), kb=int(kb), sector=int(sector))
    boot(net, stick.device())
    keeps(net, stick)


@pytest.mark.long
def test_sectors_of_4_kb(net: Lab, tmp_path: Path) -> None:
    stick = Stick.make(tmp_path / "stick", "-F32", "-s1", kb=300000, sector=4096)
    boot(net, ("-device", "qemu-xhci,id=h", "-blockdev", f"driver=file,node-name=file,filename={stick.path}",
               "-device", "usb-bot,id=bot,bus=h.0", "-device",
               "scsi-hd,bus=bot.0,drive=file,logical_block_size=4096,physical_block_size=4096"))
    keeps(net, stick)


@pytest.mark.long
def test_sectors_of_another_size_than_the_file_system_has(net: Lab, tmp_path: Path) -> None:
    stick = Stick.make(tmp_path / "stick", "-F16", "-s1", kb=30000, sector=4096)
    boot(net, stick.device())
    assert "made for another size of sectors" in save(net, 700, 1)
    assert stick.read() == OLD_TEXT.encode()


FAULTS = {
    "write error": (blkdebug("write", 5), "stick: the stick has a write error; it has the old text"),
    "read error": (blkdebug("read", 5, "inject-error.0.sector=0"), "stick: the stick has a read error"),
    "flush error": (blkdebug("flush", 5), "stick: the stick has a write error; it has the old text"),
    "used up": (blkdebug("write", 28), "stick: the stick says that its space is used up; it has the old text"),
    "write-protected": ("", "stick: the stick is write-protected; it has the old text"),
}


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS)
def test_faults(net: Lab, stick: Stick, fault: str) -> None:
    layer, says = FAULTS[fault]
    if layer:
        extra = stick.device(between=[layer], options="werror=report,rerror=report")
    else:
        extra = tuple(word.replace("node-name=file,", "node-name=file,read-only=on,") for word in stick.device())
    boot(net, extra)
    net.wait_ping()
    assert save(net, 5000, 3) == says
    assert stick.read() == OLD_TEXT.encode()
    stick.check()
    assert net.console.text.count("is not saved:") == 1
    net.wait_ping()


@pytest.mark.long
def test_a_fault_that_passes(net: Lab, stick: Stick) -> None:
    layer = blkdebug("write", 5, "inject-error.0.once=on")
    boot(net, stick.device(between=[layer], options="werror=report,rerror=report"))
    keeps(net, stick)


@pytest.mark.long
def test_full(net: Lab, stick: Stick) -> None:
    free = int(re.search(rb"([0-9 ]+) bytes free", tool("mdir", "-i", stick.path, "::").stdout)[1].replace(b" ", b""))
    stick.put("large", bytes(free - 5 * SECTOR))
    boot(net, stick.device())
    assert save(net, 5000, 3) == "stick: the stick is full; it has the old text"
    assert stick.read() == OLD_TEXT.encode()
    saves(net, stick, 5 * SECTOR, 3)
    stick.check()


@pytest.mark.long
def test_the_wrong_stick_and_two_that_are_alike(net: Lab, stick: Stick, tmp_path: Path) -> None:
    twin = tmp_path / "twin"
    twin.write_bytes(stick.path.read_bytes())
    extra = ("-blockdev", f"driver=file,node-name=twin,filename={twin}",
             "-device", "usb-storage,id=twin,bus=h.0,drive=twin",
             "-blockdev", "driver=null-co,node-name=huge,size=3298534883328,read-zeroes=on",
             "-device", "usb-storage,id=huge,bus=h.0,drive=huge")
    boot(net, (*stick.device(), *extra))
    wait_stick(net, 3)
    assert "several sticks that are plugged in are alike" in save(net, 700, 1)
    machine = net.machine
    assert machine is not None
    machine.qmp("device_del", id="stick")
    machine.wait_event("DEVICE_DELETED")
    until(lambda: save(net, 700, 1) == "stick: saved", 20, "the other one to be found")
    assert stick.read() == OLD_TEXT.encode()
    assert Stick(twin).read() == text_of(700, 1)
    machine.qmp("device_del", id="twin")
    machine.wait_event("DEVICE_DELETED")
    until(lambda: save(net, 700, 2) == "stick: the stick that was booted from is not plugged in", 20, "the answer")


def log_of_writes(path: Path) -> list[tuple[int, bytes]]:
    """What QEMU's blklogwrites wrote, as (byte offset, data). Layout: Linux, Documentation dm-log-writes."""
    data = path.read_bytes()
    magic, version, entries, sector = struct.unpack_from("<QQQI", data)
    assert (magic, version) == (0x6A736677736872, 1)
    writes, at = [], sector
    for _ in range(entries):
        place, count, flags, _length = struct.unpack_from("<QQQQ", data, at)
        at += sector
        if flags & 4:  # a discard has no data
            continue
        block = data[at:at + count * sector]
        at += count * sector
        writes += [(place * sector + k, block[k:k + sector]) for k in range(0, len(block), sector)]
    return writes


@pytest.mark.long
@pytest.mark.parametrize("length", [0, 700, 5000])
def test_power_cuts(net: Lab, stick: Stick, tmp_path: Path, length: int) -> None:
    before, log = stick.path.read_bytes(), tmp_path / "log"
    log.write_bytes(b"")
    layers = ["driver=blklogwrites,node-name=top,file=file,log=log"]
    device = stick.device(between=layers)
    boot(net, (*device[:2], "-blockdev", f"driver=file,node-name=log,filename={log}", *device[2:]))
    assert save(net, length, 3) == "stick: saved"
    assert net.machine is not None
    net.machine.qmp("quit")
    net.machine.wait_exit()
    writes = log_of_writes(log)
    assert len(writes) >= 4
    cut = Stick(tmp_path / "cut")
    cut.path.write_bytes(before)
    new = 0
    harmless = re.compile(rb"^(fsck|FATs differ but appear|  Using first FAT|Reclaimed \d+ unused cluster"
                          rb"|Free cluster summary wrong|  Auto-correcting|Leaving filesystem|$)|files, ")
    for k in range(len(writes) + 1):
        text = cut.read()
        assert text == (text_of(length, 3) if new else OLD_TEXT.encode()) or text == text_of(length, 3), k
        new += text == text_of(length, 3)
        found = tool("fsck.fat", "-n", cut.path, check=False)
        assert all(harmless.search(line) for line in found.stdout.splitlines()), (k, found.stdout)
        if k < len(writes):
            with cut.path.open("r+b") as file:
                file.seek(writes[k][0])
                file.write(writes[k][1])
    assert new
    cut.check()


def plug(net: Lab, node: str = "top") -> None:
    machine = net.machine
    assert machine is not None

    def added() -> bool:
        """QEMU releases the image some time after it has removed the device."""
        try:
            machine.qmp("device_add", driver="usb-storage", id="stick", bus="h.0", drive=node)
        except RuntimeError as error:
            if "Permission conflict" not in str(error) and "Duplicate" not in str(error):
                raise
            return False
        return True
    until(added, 10, "the image to be free")


def pull(net: Lab) -> None:
    assert net.machine is not None
    net.machine.qmp("device_del", id="stick")
    net.machine.wait_event("DEVICE_DELETED")


@pytest.mark.long
@pytest.mark.parametrize("controller", ["uhci", "ehci", "xhci"])
def test_pulled_in_mid_write_and_put_back(net: Lab, stick: Stick, controller: str) -> None:
    """Writes are slow, so that the stick is pulled between any two of them."""
    group = ("-object", "throttle-group,id=slow,x-iops-write=25")
    layers = ["driver=throttle,node-name=top,file=file,throttle-group=slow"]
    boot(net, (*group, *stick.device(CONTROLLERS[controller], between=layers)))
    wait_stick(net)
    net.wait_ping()
    states = set()
    expected = {OLD_TEXT.encode()}
    for turn in range(8):
        net.console.mark()
        net.console.send(f"stick gateway.conf {1000 + turn} {turn}\r")
        time.sleep(0.1 + turn * 0.1)  # where in the writes it is pulled: anywhere will do
        pull(net)
        answer = net.console.expect(r"^stick: (.*)$", 20).group(1)
        states.add(answer)
        expected.add(text_of(1000 + turn, turn))
        assert stick.read() in expected, turn
        expected = {stick.read()}
        net.wait_ping()
        plug(net)
        wait_stick(net)
        saves(net, stick, 500, turn)
        expected = {text_of(500, turn)}
    assert any("pulled" in answer for answer in states), states
    # The fault may have left clusters without a file; their number is bounded by the texts.
    found = tool("fsck.fat", "-n", stick.path, check=False).stdout
    lost = re.search(rb"Reclaimed (\d+) unused", found)
    assert int(lost[1]) <= 8 * 6 if lost else b"unused" not in found


def flow(net: Lab, seconds: int, meanwhile: Callable[[], None]) -> tuple[int, int]:
    """Sends 2500 datagrams a second through the gateway, calls `meanwhile` again and again; gives how many were sent
    and lost."""
    server = net.wan.start("iperf3", "-s", "-1", "-B", FAR_SERVER)
    net.wan.wait_port(5201)
    client = net.lan.start("iperf3", "-u", "-J", "-b", "20M", "-l", "1000", "-t", str(seconds), "-c", FAR_SERVER,
                           stdout=subprocess.PIPE)
    while client.poll() is None:
        meanwhile()
    end = json.loads(client.communicate()[0])["end"]["sum"]
    server.wait(10)
    return end["packets"], end["lost_packets"]


@pytest.mark.long
@pytest.mark.parametrize("what", ["saved", "saved, pulled and put back"])
def test_under_load(net: Lab, stick: Stick, what: str, record_property: Callable[[str, object], None]) -> None:
    """The gateway loses no datagram meanwhile.

    QEMU itself stands still while it adds or removes a device, and a busy host stops it at any time: so some datagrams
    are lost in front of the gateway (as many with `usb off`). They are bounded by what is lost without a stick.
    """
    boot(net, stick.device())
    wait_stick(net)
    net.wait_ping()
    sent, lost = flow(net, 10, lambda: time.sleep(0.1))
    allowed = max(0.005, 4 * lost / sent)
    before = net.console.stats()
    turns = 0

    def turn() -> None:
        nonlocal turns
        saves(net, stick, 5000 + turns, turns)
        if what != "saved":
            pull(net)
            plug(net, "file")
            wait_stick(net)
            time.sleep(3)  # a port at which something is plugged in too often is left alone for a while
        turns += 1

    sent, lost = flow(net, 20, turn)
    record_property("saves", turns)
    record_property("lost", lost)
    assert turns > 3
    assert lost <= allowed * sent
    after = net.console.stats()
    changed = {name: after[name] - before.get(name, 0) for name in after
               if re.search(r"drop|missed|no_packet|_errors", name) and after[name] != before.get(name, 0)}
    assert not changed
