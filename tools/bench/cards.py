# SPDX-License-Identifier: BSD-2-Clause
"""What the driver of each card costs: the instructions of its functions for a packet that `wire` passes on."""

import bisect
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hotspots import Counts

DRIVERS = Path(__file__).resolve().parents[2] / "drivers" / "net"
MOST = 120
"""Instructions for a packet of 60 bytes, received and sent, that a driver may take."""

FOLDERS = {
    "e1000": "e1000",
    "e1000e": "e1000",
    "i82559c": "i8255x",
    "vmxnet3": "vmxnet3",
    "tulip": "tulip",
    "pcnet": "pcnet",
    "virtio-net-pci": "virtio",
    "rtl8139": "rtl8139",
    "ne2k_pci": "ne2k",
}
"""QEMU's models, one for each driver and form of rings, and the folders of their drivers."""
COPIES = frozenset({"ne2k_pci"})
"""Cards whose driver copies each word of a frame: stated, without a verdict."""


@dataclass
class Card:
    """What was measured on one model: instructions of the driver, and packets."""

    nic: str
    instructions: int
    packets: int

    def each(self) -> float:
        return self.instructions / self.packets

    def verdict(self) -> str:
        if self.nic in COPIES:
            return "– (copies)"
        return "met" if self.each() <= MOST else "not met"


def ranges_of(listing: Iterable[str], files: Iterable[str]) -> list[tuple[int, int]]:
    """From what `readelf -sW` lists: first and last address of each function of these source files, in ascending order.
    A local symbol stands behind that of its file; a global one begins with its file's name."""
    names = set(files)
    stems = tuple(f"{Path(name).stem}_" for name in names)
    file = ""
    found: set[tuple[int, int]] = set()
    for line in listing:
        words = line.split()
        if len(words) < 8:
            continue
        value, size, kind, bind, name = words[1], words[2], words[3], words[4], words[7]
        if kind == "FILE":
            file = name
        elif kind == "FUNC" and (file in names if bind == "LOCAL" else name.startswith(stems)):
            found.add((int(value, 16), int(value, 16) + int(size, 0) - 1))
    return sorted(found)


def instructions_of(counts: Counts, listing: Iterable[str], files: Iterable[str]) -> int:
    """How many of the counted instructions were those of these source files."""
    ranges = ranges_of(listing, files)
    total = 0
    for address, count in counts.blocks.items():
        at = bisect.bisect_right(ranges, (address, 1 << 64)) - 1
        if at >= 0 and address <= ranges[at][1]:
            total += count
    return total


def card(nic: str, counts: Counts, image: Path, packets: int) -> Card:
    listing = subprocess.run(["readelf", "-sW", str(image)], capture_output=True, text=True, check=True).stdout
    files = [path.name for path in (DRIVERS / FOLDERS[nic]).glob("*.c")]
    return Card(nic, instructions_of(counts, listing.splitlines(), files), packets)


def table(cards: Iterable[Card]) -> str:
    lines = ["| card of QEMU | target | instructions of the driver a packet | verdict |", "| --- | --- | --- | --- |"]
    for each in cards:
        lines.append(f"| `{each.nic}` | <= {MOST} | {each.each():.0f} | {each.verdict()} |")
    return "\n".join(lines)
