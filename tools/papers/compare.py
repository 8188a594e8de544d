# SPDX-License-Identifier: BSD-2-Clause
"""The raw figures of a page as one file, docs/papers/measured.json: to go on with them elsewhere, and to see whether a
further run agrees."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from results import EFFORTS, Figure, Findings, Shelf, Value, machine
from sections import SPREAD, measured, rounded

POINTS = 0.5  # by which a figure in percent may differ: a lost frame more or less says nothing
LEAST_US = 2.0  # by which a figure in microseconds may differ: variations have medians near 0
Key = tuple[str, str, str, float]  # part, row, quantity, x


def pack(shelf: Shelf, parts: list[str]) -> str:
    """The figures of these parts in JSON, a part a line; of a part that is under way, those of each unit."""
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in shelf.made_with.items()]
    for part in parts:
        kept: dict[str, Any] = {"programs": shelf.programs.get(part, "")}
        if (whole := shelf.get(part)) is not None:
            kept |= {"machine": shelf.place(part), "date": shelf.date(part), "busy": shelf.busy(part)}
            kept["figures"] = _words(whole)
        elif units := shelf.units(part):
            kept |= {"machine": machine(), "units": {key: _words(unit) for key, unit in units.items()}}
        else:
            continue
        lines.append(f"{json.dumps(part)}: {json.dumps(kept, separators=(',', ':'))}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _words(figures: list[Figure]) -> list[list[Any]]:
    return [
        [one.row, one.what, one.x, one.run, None if math.isnan(one.value) else float(f"{one.value:.6g}"), one.void]
        for one in figures
    ]


def _figures(part: str, words: list[list[Any]]) -> list[Figure]:
    return [
        Figure(part, row, what, x, run, math.nan if value is None else value, void)
        for row, what, x, run, value, void in words
    ]


@contextlib.contextmanager
def _packed(path: Path) -> Iterator[dict[str, Any]]:
    """The content of a file that pack() made. ValueError if it is none, also when its use in the block shows that."""
    try:
        yield json.loads(path.read_text(encoding="utf-8"))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} has no figures: {error}") from None


@dataclass(frozen=True)
class Packed:
    """The whole parts of a file that pack() made."""

    found: Findings
    made_with: dict[str, str]  # the image's digest and the name of the effort
    programs: dict[str, str]  # by part their digest
    machines: dict[str, str] = field(default_factory=dict)  # by part
    dates: dict[str, str] = field(default_factory=dict)  # by part

    def of(self, programs: dict[str, str]) -> Packed:
        """Only the parts that these programs measured."""
        parts = [part for part, digest in self.programs.items() if programs.get(part, "") == digest]
        return Packed(
            Findings((one for one in self.found.figures if one.part in parts), self.found.runs), self.made_with,
            *({part: word for part, word in words.items() if part in parts}
              for words in (self.programs, self.machines, self.dates)),
        )  # fmt: skip


def unpack(path: Path) -> Packed:
    """ValueError if pack() did not make this file."""
    with _packed(path) as words:
        whole = {part: kept for part, kept in words.items() if isinstance(kept, dict) and "figures" in kept}
        return Packed(
            Findings((one for part, kept in whole.items() for one in _figures(part, kept["figures"])),
                     EFFORTS[words["effort"]].runs),
            {"image": words["image"], "effort": words["effort"]},
            *({part: kept[key] for part, kept in whole.items()} for key in ("programs", "machine", "date")),
        )


def differing(first: Packed, made_with: dict[str, str], programs: dict[str, str]) -> list[str]:
    """A line for each reason why a file is of something else than this image, effort and these programs."""
    lines = [
        f"it is of another {key} ({first.made_with[key][:16]} and {value[:16]})"
        for key, value in made_with.items() if first.made_with[key] != value
    ]  # fmt: skip
    parts = [part for part, digest in first.programs.items() if programs.get(part, "") not in ("", digest)]
    return lines + ([f"it was measured by other programs: {', '.join(parts)}"] if parts else [])


def adopt(shelf: Shelf, path: Path, parts: list[str]) -> list[str]:
    """Keeps what a file that pack() made has of these parts, if it was made with the same and the shelf has it not;
    units only if this machine measured them, so that a part is of one machine. Gives their names; none if there is no
    such file. ValueError if pack() did not make it."""
    if not path.exists():
        return []
    with _packed(path) as words:
        if not shelf.made_with.items() <= words.items():
            return []
        found = [
            part for part in parts
            if part in words and words[part]["programs"] == shelf.programs.get(part, "") and shelf.get(part) is None
            and ("figures" in words[part] or words[part]["machine"] == machine() and not shelf.units(part))
        ]  # fmt: skip
        for part in found:
            kept = words[part]
            if "units" in kept:
                shelf.put_units(part, {key: _figures(part, unit) for key, unit in kept["units"].items()})
                continue
            before, during = kept["busy"]
            shelf.put(part, _figures(part, kept["figures"]), (before, during), kept["machine"], kept["date"])
        return [part if "figures" in words[part] else f"{part} (in part)" for part in found]


def _range(value: Value, what: str) -> tuple[float, float]:
    """The range that a figure states: its percentiles, at least SPREAD to either side of the median."""
    least = max(abs(value.median) * SPREAD, {"%": POINTS, "µs": LEAST_US}.get(what.rpartition(" ")[2], 0))
    return min(value.low, value.median - least), max(value.high, value.median + least)


def agree(first: Value, second: Value, what: str = "") -> bool:
    """Do the ranges that the two figures, or two ratios without a unit, state overlap?"""
    one, two = _range(first, what), _range(second, what)
    return one[0] <= two[1] and two[0] <= one[1]


def keys(found: Findings) -> list[Key]:
    """What was measured, in order."""
    return list(dict.fromkeys((one.part, one.row, one.what, one.x) for one in found.figures))


@dataclass(frozen=True)
class Outcome:
    """What a figure was in two runs; None where a run has none."""

    key: Key
    one: Value | None
    two: Value | None
    why: str = ""  # the one that has it not

    @property
    def name(self) -> str:
        part, row, what, x = self.key
        return f"{part}, {row}, {what}, {x:g}"

    @property
    def both(self) -> bool:
        return self.one is not None and self.two is not None

    @property
    def agrees(self) -> bool:
        return self.one is not None and self.two is not None and agree(self.one, self.two, self.key[2])

    def line(self) -> str:
        """How the two runs differ."""
        if self.one is None or self.two is None:
            which = "first" if self.one else "second"
            return f"{self.name}: only in the {which}{f' ({self.why})' if self.why else ''}"
        times = rounded(self.two.median / self.one.median) if self.one.median else "∞"
        return f"{self.name}: {measured(self.one)} and {measured(self.two)}, {times} times"


def outcomes(first: Findings, second: Findings) -> list[Outcome]:
    """Every figure that one of two runs has, of the parts that both have measured."""
    parts = {one.part for one in first.figures} & {one.part for one in second.figures}
    found = []
    for key in dict.fromkeys([*keys(first), *keys(second)]):
        one, two = first.value(*key), second.value(*key)
        if key[0] in parts and (one or two):
            found.append(Outcome(key, one, two, (second if one else first).why(*key)))
    return found


def report(first: Findings, second: Findings) -> tuple[int, list[str]]:
    """How many figures of both agree, and a line for each that does not, or that only one of them has."""
    found = outcomes(first, second)
    return sum(one.agrees for one in found), [one.line() for one in found if not one.agrees]
