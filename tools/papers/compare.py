# SPDX-License-Identifier: BSD-2-Clause
"""The raw figures of a page as one file, docs/papers/measured.json, and whether a further run agrees with it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from results import Figure, Findings, Shelf, Value, number
from sections import SPREAD

POINTS = 0.5  # by which a figure in percent may differ: a lost frame more or less says nothing
LEAST_US = 2.0  # by which a figure in microseconds may differ: variations have medians near 0
Key = tuple[str, str, str, float]  # part, row, quantity, x


def pack(shelf: Shelf, parts: list[str]) -> str:
    """The figures of these parts in JSON, a part a line."""
    words: dict[str, Any] = dict(shelf.made_with)
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in words.items()]
    for part in parts:
        figures = [
            [one.row, one.what, one.x, one.run, None if math.isnan(one.value) else float(f"{one.value:.6g}"), one.void]
            for one in shelf.some(part)
        ]
        kept = {"date": shelf.date(part), "busy": shelf.busy(part), "figures": figures}
        lines.append(f"{json.dumps(part)}: {json.dumps(kept, separators=(',', ':'))}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def unpack(path: Path) -> tuple[Findings, str]:
    """The figures of a file that pack() made, and the name of their effort. ValueError if it is none."""
    try:
        words = json.loads(path.read_text(encoding="utf-8"))
        return Findings(
            Figure(part, row, what, x, run, math.nan if value is None else value, void)
            for part, kept in words.items()
            if isinstance(kept, dict)
            for row, what, x, run, value, void in kept["figures"]
        ), words["effort"]
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} has no figures: {error}") from None


def _range(value: Value, what: str) -> tuple[float, float]:
    """The range that a figure states: its percentiles, at least SPREAD to either side of the median."""
    least = max(abs(value.median) * SPREAD, {"%": POINTS, "µs": LEAST_US}.get(what.rpartition(" ")[2], 0))
    return min(value.low, value.median - least), max(value.high, value.median + least)


def agree(first: Value, second: Value, what: str) -> bool:
    """Do the ranges that the two figures state overlap?"""
    one, two = _range(first, what), _range(second, what)
    return one[0] <= two[1] and two[0] <= one[1]


def keys(found: Findings) -> list[Key]:
    """What was measured, in order."""
    return list(dict.fromkeys((one.part, one.row, one.what, one.x) for one in found.figures))


def report(first: Findings, second: Findings) -> tuple[int, list[str]]:
    """How many figures of both agree, and a line for each that does not, or that only one of them has. Parts that the
    second one has not measured are left out."""
    parts = {one.part for one in second.figures}
    agreed, lines = 0, []
    for key in dict.fromkeys([*keys(first), *keys(second)]):
        if key[0] not in parts:
            continue
        one, two = first.value(*key), second.value(*key)
        name = f"{key[0]}, {key[1]}, {key[2]}, {key[3]:g}"
        if one is None and two is None:
            continue
        if one is None or two is None:
            which = "first" if one else "second"
            why = (second if one else first).why(*key)
            lines.append(f"{name}: only in the {which}{f' ({why})' if why else ''}")
        elif agree(one, two, key[2]):
            agreed += 1
        else:
            lines.append(f"{name}: {one} and {two}, {number(two.median / one.median) if one.median else '∞'} times")
    return agreed, lines
