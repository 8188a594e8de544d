#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Profile of a guest by function, from the plugin's count for each block.

    hotspots.py COUNTS IMAGE [--packets N] [--top N]

COUNTS is the file that the plugin wrote with profile=on; IMAGE is an ELF with symbols. With --packets the figures are
instructions for each packet. Two count files (BEFORE,AFTER) are subtracted.
"""

from __future__ import annotations

import argparse
import bisect
import struct
import subprocess
from collections import Counter
from pathlib import Path

HEADER = struct.Struct("<8sQQQ")
SLOTS_AT = 64


class Counts:
    """Instructions by the address of their block."""

    def __init__(self, data: bytes) -> None:
        magic, self.total, slots, self.unplaced = HEADER.unpack_from(data)
        if magic != b"BGICNT01":
            raise ValueError("not a count file")
        pairs = struct.iter_unpack("<QQ", data[SLOTS_AT : SLOTS_AT + 16 * slots])
        self.blocks = Counter({address: count for address, count in pairs if count})

    def since(self, before: Counts) -> None:
        self.total -= before.total
        self.blocks.subtract(before.blocks)


class Symbols:
    """Functions by address, as nm lists them."""

    def __init__(self, image: Path) -> None:
        text = subprocess.run(["nm", "-n", str(image)], capture_output=True, text=True, check=True).stdout
        found: list[tuple[int, str]] = []
        for line in text.splitlines():
            words = line.split()
            if len(words) == 3 and words[1] in "tTwW":
                found.append((int(words[0], 16), words[2]))
        self.addresses = [address for address, _ in found]
        self.names = [name for _, name in found]

    def name(self, address: int) -> str:
        at = bisect.bisect_right(self.addresses, address) - 1
        return self.names[at] if at >= 0 else "(below the image)"


def by_function(counts: Counts, symbols: Symbols) -> Counter[str]:
    by_name: Counter[str] = Counter()
    for address, count in counts.blocks.items():
        by_name[symbols.name(address)] += count
    return by_name


def profile(counts: Counts, symbols: Symbols, packets: int, top: int) -> str:
    by_name = by_function(counts, symbols)
    total = sum(by_name.values()) or 1
    unit = "instructions/packet" if packets else "instructions"
    lines = [f"| function | {unit} | share |", "| --- | --- | --- |"]
    for name, count in by_name.most_common(top):
        figure = f"{count / packets:.1f}" if packets else f"{count}"
        lines.append(f"| {name} | {figure} | {100 * count / total:.1f} % |")
    whole = f"{total / packets:.1f}" if packets else f"{total}"
    lines.append(f"| all | {whole} | 100 % |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="profile of a guest by function")
    parser.add_argument("counts", help="count file, or BEFORE,AFTER")
    parser.add_argument("image", type=Path)
    parser.add_argument("--packets", type=int, default=0)
    parser.add_argument("--top", type=int, default=30)
    options = parser.parse_args()
    files = [Path(name) for name in options.counts.split(",")]
    counts = Counts(files[-1].read_bytes())
    if len(files) == 2:
        counts.since(Counts(files[0].read_bytes()))
    print(profile(counts, Symbols(options.image), options.packets, options.top))


if __name__ == "__main__":
    main()
