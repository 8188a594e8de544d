# SPDX-License-Identifier: BSD-2-Clause
"""Planted bugs: the bugs that tests/mutants/FOLDER/FILE.mutants describes for FOLDER/FILE, and planting them.

    == late-refresh
    A neighbour in use is asked again only when its time is over.
    Test: tests/sim/ip4/test_arp

    In net/neigh/neigh.c, neigh_confirm:
    -	n->next_ms = gw->now_ms + REACHABLE_MS - REFRESH_MS;
    +	n->next_ms = gw->now_ms + REACHABLE_MS;

A bug has a name, and lines that say what it is. `Test:` names the tests of which one must fail. `Ends: never` marks a
bug that only an endless test can show: a test that runs out of time has then seen it.
Each place names a file and a function, then the lines to remove (`-`), the lines to put there instead (`+`), and lines
that stay (a space). The lines to remove and to keep must occur in the function exactly once, as consecutive lines;
white space at their ends does not count. `In FILE:` means the text of the whole file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

SUFFIX = ".mutants"
_NAME = re.compile(r"== ([\w.-]+)$")
_PLACE = re.compile(r"In ([^\s,]+)(?:, (\w+))?:$")


class Unfit(Exception):
    """The file is not well formed, or its lines do not occur in the sources exactly once."""


@dataclass
class Place:
    """One run of lines in one function, and the lines that replace it."""

    path: str
    function: str
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.path}, {self.function}" if self.function else self.path


@dataclass
class Mutant:
    """A planted bug, the line of its name, and `endless` when only a test that runs out of time can show it."""

    name: str
    line: int
    text: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    endless: bool = False
    places: list[Place] = field(default_factory=list)


def bugs(text: str) -> list[Mutant]:
    """All bugs of a file; their lines are not parsed yet."""
    found: list[Mutant] = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := _NAME.match(line):
            found.append(Mutant(match[1], number))
        elif found:
            found[-1].text.append(line)
        elif line:
            raise Unfit(f"line {number} stands before the first `== NAME`")
    if len({bug.name for bug in found}) < len(found):
        raise Unfit("has two bugs of one name")
    return found


def read(mutant: Mutant) -> None:
    """Parses the lines of a bug; raises Unfit with the reason when they are not well formed."""
    for line in mutant.text:
        if match := _PLACE.match(line):
            mutant.places.append(Place(match[1], match[2] or ""))
        elif mutant.places and line[:1] in ("-", "+", " "):
            place = mutant.places[-1]
            if line[0] != "+":
                place.old.append(line[1:])
            if line[0] != "-":
                place.new.append(line[1:])
        elif mutant.places and line:
            raise Unfit(f"has a line that begins with neither '-', '+' nor a space: {line}")
        elif line.startswith("Test:"):
            mutant.tests += line[len("Test:"):].split()
        elif line.startswith("Ends:"):
            if line != "Ends: never":
                raise Unfit("has a line that is not 'Ends: never'")
            mutant.endless = True
    if not mutant.tests:
        raise Unfit("names no test")
    if not mutant.places:
        raise Unfit("changes nothing")
    for place in mutant.places:
        if not any(line.strip() for line in place.old) or place.old == place.new:
            raise Unfit(f"changes nothing in {place}")


def _span(lines: list[str], function: str) -> tuple[int, int]:
    """The first line of a C function's definition in column 0, and the line after its last one."""
    if not function:
        return 0, len(lines)
    head = re.compile(rf"(?:[A-Za-z_].*\b)?{function}\(")
    spans = []
    for i in (i for i, line in enumerate(lines) if head.match(line)):
        # A definition has its brace in column 0; a declaration ends before one.
        body = next((j for j in range(i, len(lines)) if lines[j] == "{" or lines[j].endswith(";")), i)
        if lines[body] == "{":
            spans.append((i, next(j for j in range(body, len(lines)) if lines[j] == "}") + 1))
    if len(spans) != 1:
        raise Unfit(f"{function} is defined {len(spans)} times")
    return spans[0]


def _changed(text: str, place: Place) -> str:
    lines = text.split("\n")
    begin, end = _span(lines, place.function)
    old = [line.strip() for line in place.old]
    found = [i for i in range(begin, end - len(old) + 1)
             if [line.strip() for line in lines[i:i + len(old)]] == old]
    if len(found) != 1:
        raise Unfit(f"its lines stand {len(found)} times in {place}")
    lines[found[0]:found[0] + len(old)] = place.new
    return "\n".join(lines)


def plant(mutant: Mutant, read: Callable[[str], str]) -> dict[str, str]:
    """The changed text of each file; `read` gives the text of a path. Raises Unfit when a place does not exist."""
    changed: dict[str, str] = {}
    for place in mutant.places:
        try:
            text = changed.get(place.path) or read(place.path)
        except OSError:
            raise Unfit(f"there is no {place.path}") from None
        changed[place.path] = _changed(text, place)
    return changed
