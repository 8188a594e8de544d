# SPDX-License-Identifier: BSD-2-Clause
"""Figures that were measured for the papers' tables, and the files in which they are kept.

A part is a group of figures that is measured in one go. Its file is written as soon as the part ends, so that an
interrupted run loses only the part that was under way.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """One figure of one repetition."""

    part: str  # the part that measured it
    row: str  # the guest, as in tools/bench/guest.py
    what: str  # the quantity, with its unit
    x: float  # what the table varies: a size, a rate, a number of clients
    run: int
    value: float
    void: str = ""  # why it does not count, or empty


@dataclass(frozen=True)
class Effort:
    """How long and how often is measured."""

    name: str
    runs: int
    seconds: float  # length of a trial
    last: float  # length of the last trial of a search
    every: int  # of the points of a table only each one with this distance is measured

    @property
    def sizes(self) -> tuple[int, ...]:
        """Frame sizes of RFC 8219, section 5.1.1, without check sequence."""
        all_sizes = (64, 128, 256, 512, 768, 1024, 1280, 1518)
        chosen = all_sizes if self.name == "rfc" else (64, 512, 1518) if self.every == 1 else (64,)
        return tuple(max(60, size - 4) for size in chosen)

    def points(self, values: Iterable[float]) -> list[float]:
        """The points of a table that are measured: the last one always."""
        listed = list(values)
        return listed[:: self.every] if self.every == 1 else listed[::-1][:: self.every][::-1]


EFFORTS = {
    "quick": Effort("quick", 1, 1, 1, 3),
    "default": Effort("default", 5, 2, 10, 1),
    "rfc": Effort("rfc", 20, 60, 60, 1),
}


class Shelf:
    """The kept parts; only those of the same image and the same effort belong on one page."""

    def __init__(self, folder: Path, image: Path, effort: Effort) -> None:
        self.folder = folder
        digest = hashlib.sha256(image.read_bytes()).hexdigest() if image.exists() else ""
        self.made_with = {"image": digest, "effort": effort.name}
        folder.mkdir(parents=True, exist_ok=True)

    def _path(self, part: str) -> Path:
        return self.folder / f"{part}.json"

    def put(self, part: str, figures: list[Figure]) -> None:
        """Keeps the figures of a part; it replaces what was kept of it."""
        kept = self.made_with | {"date": datetime.date.today().isoformat()}
        text = json.dumps(kept | {"figures": [dataclasses.asdict(one) for one in figures]})
        fresh = self._path(part).with_suffix(".new")
        fresh.write_text(text, encoding="utf-8")
        fresh.rename(self._path(part))

    def get(self, part: str) -> list[Figure] | None:
        """The kept figures of a part; None if there are none of this image and effort."""
        if not self._path(part).exists():
            return None
        kept = json.loads(self._path(part).read_text(encoding="utf-8"))
        if any(kept.get(key) != value for key, value in self.made_with.items()):
            return None
        return [Figure(**words) for words in kept["figures"]]

    def date(self, part: str) -> str:
        """The day on which a kept part was measured."""
        return str(json.loads(self._path(part).read_text(encoding="utf-8"))["date"])


@dataclass(frozen=True)
class Value:
    """The median of the valid repetitions, with the 1st and 99th percentile (RFC 8219, section 12)."""

    median: float
    low: float
    high: float
    runs: int

    def __str__(self) -> str:
        text = number(self.median)
        return text if self.runs == 1 else f"{text} ({number(self.low)}–{number(self.high)})"


def number(value: float) -> str:
    """Three significant digits, without exponents."""
    if value != value:
        return "–"
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{2 - math.floor(math.log10(abs(value)))}f}"


def percentile(values: list[float], share: float) -> float:
    """The value below which this share of the sorted values lies; the nearest one."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, max(0, round(share * (len(ranked) - 1))))]


class Findings:
    """All figures of a page."""

    def __init__(self, figures: Iterable[Figure]) -> None:
        self.figures = list(figures)

    def value(self, part: str, row: str, what: str, x: float) -> Value | None:
        """None if no repetition is valid."""
        good = [
            one.value
            for one in self.figures
            if (one.part, one.row, one.what, one.x) == (part, row, what, x) and not one.void and one.value == one.value
        ]
        if not good:
            return None
        return Value(statistics.median(good), percentile(good, 0.01), percentile(good, 0.99), len(good))

    def of_box(self) -> bool:
        """Was a box measured in place of the guests?"""
        return any(one.row == "target" for one in self.figures)

    def points(self, part: str, what: str) -> list[float]:
        return sorted({one.x for one in self.figures if (one.part, one.what) == (part, what)})

    def voids(self, part: str) -> list[str]:
        """Why figures of a part do not count, each reason once."""
        found = (f"{one.row}, {one.what}: {one.void}" for one in self.figures if one.part == part and one.void)
        return list(dict.fromkeys(found))
