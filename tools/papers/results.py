# SPDX-License-Identifier: BSD-2-Clause
"""Figures that were measured for the papers' tables, and the files in which they are kept.

A part is a group of figures. Its file is written as soon as the part ends, so that an interrupted run loses only the
part that was under way; and of a part in units, only the unit.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


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
    points_most: int = 0  # of a table, about; 0: all
    every_most: int = 3  # of the points of a table at least each one with this distance is measured
    minor_runs: int = 1  # repetitions of what RFC 8219 has besides throughput and delays

    @property
    def quick(self) -> bool:
        """Is less measured than the tables need?"""
        return self.name == "quick"

    def first(self, values: Sequence[T], few: int | None) -> Sequence[T]:
        """These; with --quick the first few of them."""
        return values[:few] if self.quick else values

    @property
    def brief(self) -> float:
        """Length of a trial that needs no precise result."""
        return self.seconds if self.name == "rfc" else min(1.0, self.seconds)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Frame sizes of RFC 8219, section 5.1.1, without check sequence."""
        all_sizes = (64, 128, 256, 512, 768, 1024, 1280, 1518)
        chosen = {"rfc": all_sizes, "default": (64, 512, 1518)}.get(self.name, (64,))
        return tuple(max(60, size - 4) for size in chosen)

    def points(self, values: Iterable[float]) -> list[float]:
        """The points of a table that are measured: the last one always."""
        listed = list(values)
        step = math.ceil(len(listed) / self.points_most) if self.points_most else 1
        return listed[::-1][:: max(1, min(step, self.every_most))][::-1]


EFFORTS = {
    "quick": Effort("quick", 1, 1, 1, 3, 5),
    "default": Effort("default", 5, 2, 10, 5, 3, 2),
    "rfc": Effort("rfc", 20, 60, 60, 0, 1, 20),
}


BUSY = 0.15  # processor cores that other programs use, from which figures with times are in doubt


def machine() -> str:
    """The machine of this program, in the words of the page."""
    said = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    model = next((line.partition(":")[2].strip() for line in said.splitlines() if line.startswith("model name")), "")
    return ", ".join(word for word in (f"{os.cpu_count()} cores", model, f"Linux {platform.release()}") if word)


def digest(paths: Iterable[Path]) -> str:
    """Of the names and contents of these files."""
    found = hashlib.sha256()
    for path in sorted(paths):
        content = path.read_bytes() if path.exists() else b""
        found.update(f"{path.name} {len(content)} ".encode() + content)
    return found.hexdigest()


class Shelf:
    """The kept parts; only those of the same image and effort belong on one page, each measured by its present
    programs, of which `programs` has the digests."""

    def __init__(self, folder: Path, image: Path, effort: Effort, programs: dict[str, str]) -> None:
        self.folder = folder
        self.made_with = {"image": digest([image]), "effort": effort.name}
        self.programs = programs
        folder.mkdir(parents=True, exist_ok=True)

    def _path(self, part: str) -> Path:
        return self.folder / f"{part}.json"

    def _made_with(self, name: str) -> dict[str, str]:
        return self.made_with | {"programs": self.programs.get(name.removesuffix(".units"), "")}

    def _write(self, name: str, words: dict[str, Any]) -> None:
        fresh = self.folder / f"{name}.new"
        fresh.write_text(json.dumps(self._made_with(name) | words), encoding="utf-8")
        fresh.rename(self._path(name))

    def _read(self, name: str) -> dict[str, Any] | None:
        if not self._path(name).exists():
            return None
        kept: dict[str, Any] = json.loads(self._path(name).read_text(encoding="utf-8"))
        return kept if all(kept.get(key) == value for key, value in self._made_with(name).items()) else None

    def put(self, part: str, figures: list[Figure], busy: tuple[float, float] = (0, 0), place: str = "",
            date: str = "") -> None:  # fmt: skip
        """Keeps the figures of a part, and how many processor cores other programs used before and meanwhile; it
        replaces what was kept of it. `place` and `date` say where and when it was measured; empty: here and today."""
        words = {"date": date or datetime.date.today().isoformat(), "machine": place or machine(), "busy": busy}
        self._write(part, words | {"figures": [dataclasses.asdict(one) for one in figures]})
        self._path(f"{part}.units").unlink(missing_ok=True)

    def get(self, part: str) -> list[Figure] | None:
        """The kept figures of a whole part; None if there are none of this image, these programs and this effort."""
        kept = self._read(part)
        return None if kept is None else [Figure(**words) for words in kept["figures"]]

    def some(self, part: str) -> list[Figure]:
        """The kept figures of a part, whole or not."""
        whole = self.get(part)
        return whole if whole is not None else [one for unit in self.units(part).values() for one in unit]

    def units(self, part: str) -> dict[str, list[Figure]]:
        """The units that are kept of a part that is not whole."""
        kept = self._read(f"{part}.units")
        return {key: [Figure(**words) for words in unit] for key, unit in kept["units"].items()} if kept else {}

    def put_units(self, part: str, units: dict[str, list[Figure]]) -> None:
        """Keeps the units of a part that is under way."""
        words = {key: [dataclasses.asdict(one) for one in figures] for key, figures in units.items()}
        self._write(f"{part}.units", {"units": words, "date": datetime.date.today().isoformat(), "busy": (0, 0)})

    def date(self, part: str) -> str:
        """The day on which a kept part, or its last unit, was measured; empty if it was not."""
        kept = self._read(part) or self._read(f"{part}.units")
        return str(kept["date"]) if kept else ""

    def place(self, part: str) -> str:
        """The machine on which a kept part was measured; empty if it was not."""
        return str((self._read(part) or {}).get("machine", ""))

    def busy(self, part: str) -> tuple[float, float]:
        """How many cores other programs used before the part and meanwhile."""
        before, during = (self._read(part) or {"busy": (0, 0)})["busy"]
        return float(before), float(during)


@dataclass
class Units:
    """The units of a part that is measured one by one. Each is kept as soon as it ends."""

    shelf: Shelf
    part: str
    again: bool = False
    done: dict[str, list[Figure]] = field(default_factory=dict)
    total: int = 0  # units that are due in this run, for the time left
    _spent: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.done = {} if self.again else self.shelf.units(self.part)

    def do(self, key: str, measure: Callable[[], list[Figure]]) -> list[Figure]:
        """The figures of a unit; it is measured if it is not kept."""
        if key not in self.done:
            began = time.monotonic()
            self.done[key] = measure()
            self._spent.append(time.monotonic() - began)
            self.shelf.put_units(self.part, self.done)
        return self.done[key]

    def left(self) -> str:
        """How far it is, and how long it will take at the pace so far."""
        todo = self.total - len(self._spent)
        if not self._spent or todo <= 0:
            return f"{max(todo, 0)} units left"
        return f"{todo} units left, some {duration(todo * statistics.mean(self._spent))}"


def duration(seconds: float) -> str:
    """In minutes, hours or days."""
    minutes = seconds / 60
    if minutes < 120:
        return f"{minutes:.0f} minutes"
    return f"{minutes / 60:.0f} hours" if minutes < 48 * 60 else f"{minutes / 1440:.0f} days"


@dataclass(frozen=True)
class Value:
    """The median of the valid repetitions, with the 1st and 99th percentile (RFC 8219, section 12)."""

    median: float
    low: float
    high: float
    runs: int
    planned: int = 0  # the repetitions that the page speaks of; 0: not known

    def __str__(self) -> str:
        """With the number of repetitions in square brackets where they are fewer than planned."""
        text = number(self.median)
        if self.runs > 1:
            text += f" ({number(self.low)}–{number(self.high)})"
        return f"{text} [{self.runs}]" if self.runs < self.planned else text


def number(value: float) -> str:
    """Three significant digits, without exponents."""
    if value != value:
        return "–"
    if math.isinf(value):
        return "∞"
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
    """All figures of a page. `runs` are the repetitions that were planned; `busy` says, by part, how many cores other
    programs used before and meanwhile."""

    def __init__(
        self, figures: Iterable[Figure], runs: int = 0, busy: dict[str, tuple[float, float]] | None = None
    ) -> None:
        self.figures = list(figures)
        self.runs = runs
        self.busy = busy or {}

    def doubt(self, part: str) -> str:
        """Why the figures of a part are in doubt; empty if they are not."""
        before, during = self.busy.get(part, (0.0, 0.0))
        if max(before, during) <= BUSY:
            return ""
        return f"other programs used {before:.2f} processor cores before and {during:.2f} during this part"

    def value(self, part: str, row: str, what: str, x: float) -> Value | None:
        """None if no repetition is valid."""
        good = self.all_values(part, row, what, x)
        if not good:
            return None
        return Value(statistics.median(good), percentile(good, 0.01), percentile(good, 0.99), len(good), self.runs)

    def all_values(self, part: str, row: str, what: str, x: float) -> list[float]:
        """Those of the valid repetitions, in their order."""
        return [
            one.value
            for one in self.figures
            if (one.part, one.row, one.what, one.x) == (part, row, what, x) and not one.void and one.value == one.value
        ]

    def why(self, part: str, row: str, what: str, x: float) -> str:
        """Why there is no value: the reason of a void figure, of this quantity or of the row's start; empty if nothing
        is known."""
        for one in self.figures:
            if (one.part, one.row) == (part, row) and one.void and (one.what, one.x) in ((what, x), ("start", 0)):
                return one.void
        return ""

    def rows(self, part: str) -> list[str]:
        """The guests that have figures in a part, in the order in which they were measured."""
        return list(dict.fromkeys(one.row for one in self.figures if one.part == part))

    def of_box(self) -> bool:
        """Was a box measured in place of the guests?"""
        return any(one.row == "target" for one in self.figures)

    def points(self, part: str, what: str) -> list[float]:
        return sorted({one.x for one in self.figures if (one.part, one.what) == (part, what)})

    def voids(self, part: str) -> list[str]:
        """Why figures of a part do not count, each reason once."""
        found = (f"{one.row}, {one.what}: {one.void}" for one in self.figures if one.part == part and one.void)
        return list(dict.fromkeys(found))
