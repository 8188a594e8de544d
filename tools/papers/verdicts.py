# SPDX-License-Identifier: BSD-2-Clause
"""The paper's ratio beside ours, and a verdict by rule."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

import target
from comparisons import Comparison
from paper import Transcript, most_in_vii
from results import Findings, Value

STRONGER = 1.1  # a ratio this many times theirs is stronger
SAME_SIZE = 0.02  # of the logarithm of a ratio: less is no difference
FULL = 0.99  # of the rate offered: a system that processes less was full
FEW = 4  # repetitions: the ranges of fewer lie apart by chance
Pair = tuple[float | None, float | None]


def ratio(first: float | None, second: float | None, less_is_better: bool) -> float | None:
    """How many times better the first one is; infinity if one of them is at 0, where nothing is better."""
    if first is None or second is None:
        return None
    if first == second:
        return 1.0
    better, worse = (second, first) if less_is_better else (first, second)
    return better / worse if worse else math.inf


@dataclass(frozen=True)
class Line:
    """One row of a comparison: theirs (ours, their peer), ours (Baregate, its peer), what stands beside each; None
    where missing."""

    x: float
    theirs: Pair
    ours: tuple[Value | None, Value | None]
    beside: Value | None
    beside_theirs: float | None = None
    why: tuple[str, str] = ("", "")  # why ours are missing

    def medians(self) -> Pair:
        """Ours."""
        first, second = (value.median if value else None for value in self.ours)
        return first, second

    def ratios(self, less_is_better: bool) -> Pair:
        """How many times better the first of each pair is."""
        return ratio(*self.theirs, less_is_better), ratio(*self.medians(), less_is_better)


def rows_of(one: Comparison, found: Findings) -> tuple[str, str]:
    """The guests of a comparison; the box stands for both, where it was measured."""
    return (target.ROW.name,) * 2 if found.of_box() else (one.ours[0].key, one.ours[1].key)


def lines(one: Comparison, found: Findings) -> list[Line]:
    """Every point that the paper or we have measured."""

    def theirs(key: str) -> dict[float, float]:
        name, _, column = key.rpartition("/")
        values = Transcript(name or one.name).column(one.x, column, one.only)
        return {x * one.times: value for x, value in values.items()}

    columns = [theirs(curve.key) for curve in one.theirs]
    beside = theirs(one.beside_theirs.key) if one.beside_theirs else {}
    rows = rows_of(one, found)
    points = sorted(set(columns[0]) | set(found.points(one.part, one.what)))
    return [
        Line(
            x,
            (columns[0].get(x), columns[1].get(x)),
            (found.value(one.part, rows[0], one.what, x), found.value(one.part, rows[1], one.what, x)),
            found.value(one.part, one.beside.key, one.what, x) if one.beside else None,
            beside.get(x),
            (found.why(one.part, rows[0], one.what, x), found.why(one.part, rows[1], one.what, x)),
        )
        for x in points
    ]


def scale_of(one: Comparison, found: Findings) -> float | None:
    """What the paper's rates were multiplied by; None if it was not measured, 1 if they were not multiplied."""
    if not one.scale:
        return 1.0
    most = found.value(one.part, rows_of(one, found)[1], one.scale, 0)
    return most.median / most_in_vii(one.theirs[1].key) if most else None


def overlap(first: Value, second: Value) -> bool:
    """Do their ranges overlap? A single repetition has none."""
    return min(first.runs, second.runs) > 1 and first.low <= second.high and second.low <= first.high


@dataclass(frozen=True)
class Compared:
    """The ratios of a comparison: medians over the points that both have, with the least and the most of them; of a
    plateau those of the most which each system reached."""

    theirs: float | None
    ours: float | None
    theirs_all: tuple[float, ...] = ()
    ours_all: tuple[float, ...] = ()
    overlap: bool = False  # at more than half of the points our two ranges overlap
    full: tuple[bool, bool] = (True, True)  # of rates that were offered: were our two systems full?
    runs: int = 0  # the least repetitions of ours; 0: not known

    @property
    def points(self) -> int:
        """Those that both have."""
        return len(self.ours_all)


def _top(column: list[float | None]) -> float | None:
    return max((value for value in column if value is not None), default=None)


def _most(one: Comparison, listed: list[Line], scale: float | None) -> Compared:
    """Of a plateau. Of rates that were offered only those count which both of ours were offered with success."""
    theirs = ratio(*(_top([line.theirs[side] for line in listed]) for side in (0, 1)), one.less_is_better)
    if one.offered:
        listed = [line for line in listed if None not in line.ours]
    tops = [max((value for line in listed if (value := line.ours[side])), key=lambda top: top.median, default=None)
            for side in (0, 1)]  # fmt: skip
    if tops[0] is None or tops[1] is None:
        return Compared(theirs, None)
    full = (True, True)
    if one.offered and scale is not None:
        offered = max(line.x for line in listed) * scale
        full = (tops[0].median < FULL * offered, tops[1].median < FULL * offered)
    ours, runs = ratio(tops[0].median, tops[1].median, one.less_is_better), min(tops[0].runs, tops[1].runs)
    return Compared(theirs, ours, overlap=overlap(tops[0], tops[1]), full=full, runs=runs)


def compared(one: Comparison, listed: list[Line], scale: float | None = 1.0) -> Compared:
    """The paper's ratio and ours. `scale`: what the rates of the paper were multiplied by. A point where all four have
    0 says nothing, unless all are such points."""
    if one.plateau:
        return _most(one, listed, scale)
    both = [line for line in listed if None not in line.ratios(one.less_is_better)]
    if not both:
        return Compared(None, None)
    both = [line for line in both if (*line.theirs, *line.medians()) != (0, 0, 0, 0)] or both
    theirs, ours = zip(*(line.ratios(one.less_is_better) for line in both), strict=True)
    near = sum(overlap(*line.ours) for line in both)
    runs = min(value.runs for line in both for value in line.ours)
    return Compared(statistics.median(theirs), statistics.median(ours), theirs, ours, 2 * near > len(both), runs=runs)


def size(value: float) -> float:
    """The logarithm of a ratio, which may be 0 or infinite."""
    return math.log(value) if 0 < value < math.inf else math.copysign(math.inf, value - 1)


def verdict(said: Compared) -> str:
    """What our ratio says about theirs, by rule."""
    if said.theirs is None or said.ours is None:
        return "not measured"
    if not any(said.full):
        return "neither was full"
    words = _by_size(said, said.theirs, said.ours)
    if said.full == (False, True):  # ours is a lower bound
        known = {"stronger": "stronger", "same direction": "same direction at least"}
        words = known.get(words, "a bound that decides nothing")
    elif said.full == (True, False):  # ours is an upper bound
        words = words if words == "not reproduced" and said.ours < 1 else "a bound that decides nothing"
    return words


def _by_size(said: Compared, theirs: float, ours: float) -> str:
    """The verdict on two ratios that are known."""
    sizes = [size(one) for one in said.ours_all or (ours,)]
    if all(abs(one) <= SAME_SIZE for one in sizes):
        return "no difference in either" if abs(size(theirs)) <= SAME_SIZE else "no difference here"
    if said.overlap:
        return "within the spread"
    if min(sizes) < -SAME_SIZE and max(sizes) > SAME_SIZE:
        return "better at some points, worse at others"
    if abs(size(ours)) <= SAME_SIZE:
        return "no difference here"
    if abs(size(theirs)) <= SAME_SIZE:
        return "a difference only here"
    if (size(theirs) > 0) != (size(ours) > 0):
        return "not reproduced"
    return "stronger" if abs(size(ours)) > abs(size(theirs)) * STRONGER else "same direction"


def near_floor(one: Comparison, listed: list[Line]) -> tuple[int, int]:
    """At how many points our range overlaps that of the network without a gateway, and of how many; none where that
    was not measured."""
    if one.beside is None or one.beside.key != "wire":
        return 0, 0
    pairs = [(line.ours[0], line.beside) for line in listed if line.ours[0] and line.beside]
    return sum(overlap(*pair) for pair in pairs), len(pairs)
