#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Seeds for fuzz_boot: what GRUB hands over on UEFI and on a BIOS.

Usage: seeds/boot.py FOLDER."""

from __future__ import annotations

import struct
import sys
from pathlib import Path


def tag(kind: int, body: bytes) -> bytes:
    """One tag with its padding."""
    whole = struct.pack("<II", kind, 8 + len(body)) + body
    return whole + bytes(-len(whole) % 8)


def block(*tags: bytes) -> bytes:
    """The whole information."""
    body = b"".join(tags) + tag(0, b"")
    return struct.pack("<II", 8 + len(body), 0) + body


def memory_map(*entries: tuple[int, int, int], size: int = 24) -> bytes:
    body = struct.pack("<II", size, 0)
    for base, length, kind in entries:
        body += struct.pack("<QQI", base, length, kind).ljust(size, b"\0")
    return tag(6, body)


def frame(width: int, height: int, bits: int, *colours: int, kind: int = 1) -> bytes:
    pitch = width * ((bits + 7) // 8)
    head = struct.pack("<QIIIBBH", 0xC0000000, pitch, width, height, bits, kind, 0)
    return tag(8, head + bytes(colours))


TEXTS = tag(1, b"app=nat stick=4242-4152\0") + tag(2, b"GRUB 2.06-13\0")
MODULES = tag(3, struct.pack("<II", 0x4000, 0x5000) + b"gateway.conf\0")
PC = memory_map((0, 0x9FC00, 1), (0xF0000, 0x10000, 2), (0x100000, 0x3EE0000, 1), (0x3FE0000, 0x20000, 2))
HOLES = memory_map((0x100000, 0x700000, 1), (0x800000, 0x8000, 4), (0x808000, 0x8000, 1), (1 << 32, 1 << 30, 1),
                   size=20)
ROOT = b"RSD PTR ".ljust(36, b"\1")
BLOCKS = {
    "bios": block(TEXTS, MODULES, PC, tag(14, ROOT[:20])),
    "uefi": block(TEXTS, MODULES, MODULES, HOLES, frame(640, 400, 32, 16, 8, 8, 8, 0, 8), tag(15, ROOT)),
    "uefi-24": block(TEXTS, PC, frame(800, 600, 24, 16, 8, 8, 8, 0, 8)),
    "uefi-16": block(TEXTS, PC, frame(1024, 768, 16, 11, 5, 5, 6, 0, 5)),
    "text": block(TEXTS, PC, frame(80, 25, 16, kind=2)),
}


def main() -> None:
    folder = Path(sys.argv[1])
    for name, data in BLOCKS.items():
        (folder / f"seed-{name}").write_bytes(data)


if __name__ == "__main__":
    main()
