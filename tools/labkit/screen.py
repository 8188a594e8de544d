# SPDX-License-Identifier: BSD-2-Clause
"""Reads the text that our image draws on a frame buffer out of a picture of QEMU's screen."""

import functools
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FONT = os.path.join(ROOT, "kernel", "console", "font.txt")

COLUMNS, ROWS, WIDTH, HEIGHT = 80, 25, 8, 16
SCALE = 3
# The rows that the cursor covers.
CURSOR = (13, 14)

Glyph = tuple[int, ...]


@functools.cache
def glyphs() -> dict[Glyph, str]:
    """The font's characters by their pixels: a number for each row."""
    with open(FONT, encoding="utf-8") as file:
        rows = [line.split() for line in file if line[0] in ".#"]
    found: dict[Glyph, str] = {}
    for code in range(255, -1, -1):
        part = rows[code // 8 * HEIGHT:code // 8 * HEIGHT + HEIGHT]
        glyph = tuple(int(row[code % 8].replace(".", "0").replace("#", "1"), 2) for row in part)
        found[glyph] = bytes([code]).decode("cp437") if code else " "
        # Under the cursor a character is known by its other rows, unless several are the same there.
        found.setdefault(_covered(glyph), found[glyph])
    return found


def _covered(glyph: Glyph) -> Glyph:
    return tuple(255 if y in CURSOR else row for y, row in enumerate(glyph))


def read_ppm(path: str) -> tuple[int, int, bytes]:
    """Width, height and pixels (RGB) of a picture as QEMU writes it."""
    with open(path, "rb") as file:
        data = file.read()
    magic, width, height, depth = data.split(maxsplit=4)[:4]
    if magic != b"P6" or depth != b"255":
        raise ValueError(f"{path} is no PPM picture")
    size = int(width) * int(height) * 3
    return int(width), int(height), data[-size:]


def text(width: int, height: int, pixels: bytes) -> list[str] | None:
    """The 25 lines on a picture of a frame buffer; None if it is too small. Other things than our characters appear as
    question marks."""
    scale = min(width // (COLUMNS * WIDTH), height // (ROWS * HEIGHT), SCALE)
    if scale == 0:
        return None
    left = (width - COLUMNS * WIDTH * scale) // 2 // 4 * 4
    top = (height - ROWS * HEIGHT * scale) // 2
    known = glyphs()

    def cell(row: int, column: int) -> str:
        colours: list[bytes] = []
        for y in range(HEIGHT):
            at = (top + (row * HEIGHT + y) * scale) * width + left + column * WIDTH * scale
            colours += [pixels[3 * i:3 * i + 3] for i in range(at, at + WIDTH * scale, scale)]
        for paper in dict.fromkeys([min(colours), *colours]):
            bits = ["0" if colour == paper else "1" for colour in colours]
            glyph = tuple(int("".join(bits[y * WIDTH:y * WIDTH + WIDTH]), 2) for y in range(HEIGHT))
            if glyph in known:
                return known[glyph]
        return "?"

    return ["".join(cell(row, column) for column in range(COLUMNS)).rstrip() for row in range(ROWS)]
