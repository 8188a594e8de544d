# SPDX-License-Identifier: BSD-2-Clause
"""A terminal of 80 columns and 24 rows, for tests that read what a screen on COM1 shows.

It knows what a VT100 knows of the sequences that the gateway sends, and fails on any other: CUP, CUF, ED, SGR, SCS and
DECSC-free private modes (VT100 User Guide, chapter 3).
"""

import re
from collections.abc import Callable

from .serial import Console
from .wait import Timeout, until

ROWS, COLUMNS = 24, 80
_GRAPHICS = dict(zip("lqkxmjtuvwna", "┌─┐│└┘├┤┴┬┼▒"))
_SEQUENCE = re.compile(r"\x1b(?:\[(?P<private>\??)(?P<numbers>[0-9;]*)(?P<final>[A-Za-z])|\((?P<set>[0B]))")
_UNFINISHED = re.compile(r"\x1b(?:\[\??[0-9;]*|\()?\Z")


class Vt100:
    """Takes bytes by `feed`; `lines` is the screen."""

    def __init__(self) -> None:
        self._cells = [[" "] * COLUMNS for _ in range(ROWS)]
        self._row = self._column = 0
        self._graphics = False
        self._pending = ""
        self.cursor = True

    @property
    def lines(self) -> list[str]:
        """The 24 lines without blanks at their ends."""
        return ["".join(row).rstrip() for row in self._cells]

    def feed(self, data: bytes) -> None:
        """Takes output as it comes; a sequence may be in two pieces."""
        text = self._pending + data.decode("utf-8", errors="replace")
        half = _UNFINISHED.search(text)
        cut = half.start() if half else len(text)
        self._pending, text = text[cut:], text[:cut]
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                self._character(text[at])
                at += 1
                continue
            found = _SEQUENCE.match(text, at)
            assert found, f"unknown sequence {text[at:at + 12]!r}"
            at = found.end()
            if found["set"]:
                self._graphics = found["set"] == "0"
            else:
                self._control(found)

    def _control(self, found: "re.Match[str]") -> None:
        numbers = [int(number or 0) for number in found["numbers"].split(";")]
        final = found["private"] + found["final"]
        if final == "H":
            row, column = (numbers + [0])[:2]
            self._row, self._column = max(row, 1) - 1, max(column, 1) - 1
            assert self._row < ROWS and self._column < COLUMNS, found[0]
        elif final == "C":
            self._column = min(self._column + max(numbers[0], 1), COLUMNS - 1)
        elif final == "J":
            assert numbers == [2], found[0]
            self._cells = [[" "] * COLUMNS for _ in range(ROWS)]
        elif final in ("?h", "?l"):
            if numbers == [25]:
                self.cursor = final == "?h"
        else:
            assert final == "m", found[0]

    def _character(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._line_feed()
        elif character == "\b":
            self._column = max(self._column - 1, 0)
        elif character >= " ":
            if self._column == COLUMNS:
                self._column = 0
                self._line_feed()
            self._cells[self._row][self._column] = _GRAPHICS.get(character, character) if self._graphics else character
            self._column += 1

    def _line_feed(self) -> None:
        self._row += 1
        if self._row == ROWS:
            self._row -= 1
            self._cells = [*self._cells[1:], [" "] * COLUMNS]


def watch(console: Console) -> Vt100:
    """A terminal that shows what comes on the console from now on."""
    terminal = Vt100()
    console.attach(terminal.feed)
    return terminal


def wait_lines(lines: Callable[[], list[str]], pattern: str, timeout: float = 20) -> list[str]:
    """Waits until a line of a screen matches the regular expression; gives the screen."""
    def look() -> list[str] | None:
        shown = lines()
        return shown if any(re.search(pattern, line) for line in shown) else None
    try:
        return until(look, timeout, f"/{pattern}/ on the screen")
    except Timeout as late:
        raise Timeout(f"{late}\n" + "\n".join(lines())) from None
