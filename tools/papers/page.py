# SPDX-License-Identifier: BSD-2-Clause
"""The page docs/papers.md: for each table the paper's figures beside ours, the ratios, and a verdict by rule."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from pathlib import Path

import inner
import names
import sections
import target
from paper import ABSENT, CANNOT, COMPARISONS, SAME, Comparison, Transcript, wrong
from results import Effort, Findings, Value, number

STRONGER = 1.1  # a ratio this many times theirs is stronger
SAME_SIZE = 0.02  # of the logarithm of a ratio: less is no difference


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
    """One row of a comparison: theirs (ours, their peer), ours (Baregate, its peer), what stands beside; None where
    missing."""

    x: float
    theirs: tuple[float | None, float | None]
    ours: tuple[Value | None, Value | None]
    beside: Value | None
    why: tuple[str, str] = ("", "")  # why ours are missing

    def ratios(self, less_is_better: bool) -> tuple[float | None, float | None]:
        """How many times better the first of each pair is."""
        ours = tuple(value.median if value else None for value in self.ours)
        return ratio(*self.theirs, less_is_better), ratio(ours[0], ours[1], less_is_better)


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
    rows = rows_of(one, found)
    points = sorted(set(columns[0]) | set(found.points(one.part, one.what)))
    return [
        Line(
            x,
            (columns[0].get(x), columns[1].get(x)),
            (found.value(one.part, rows[0], one.what, x), found.value(one.part, rows[1], one.what, x)),
            found.value(one.part, one.beside.key, one.what, x) if one.beside else None,
            (found.why(one.part, rows[0], one.what, x), found.why(one.part, rows[1], one.what, x)),
        )
        for x in points
    ]


def compared(one: Comparison, listed: list[Line]) -> tuple[float | None, float | None]:
    """Their ratio and ours: the medians over the points that both have; or, of a plateau, that of the most which each
    system reached."""
    if one.plateau:
        tops = [
            max((value for value in column if value is not None), default=None)
            for column in (
                *zip(*(line.theirs for line in listed), strict=True),
                *zip(*([value.median if value else None for value in line.ours] for line in listed), strict=True),
            )
        ]
        return ratio(tops[0], tops[1], one.less_is_better), ratio(tops[2], tops[3], one.less_is_better)
    pairs = [line.ratios(one.less_is_better) for line in listed]
    both = [(theirs, ours) for theirs, ours in pairs if theirs is not None and ours is not None]
    if not both:
        return None, None
    return statistics.median(pair[0] for pair in both), statistics.median(pair[1] for pair in both)


def _size(value: float) -> float:
    """The logarithm of a ratio, which may be 0 or infinite."""
    return math.log(value) if 0 < value < math.inf else math.copysign(math.inf, value - 1)


def verdict(theirs: float | None, ours: float | None) -> str:
    """What our ratio says about theirs, by rule."""
    if theirs is None or ours is None:
        return "not measured"
    if abs(_size(ours)) <= SAME_SIZE:
        return "no difference here"
    if abs(_size(theirs)) <= SAME_SIZE:
        return "a difference only here"
    if (_size(theirs) > 0) != (_size(ours) > 0):
        return "not reproduced"
    return "stronger" if abs(_size(ours)) > abs(_size(theirs)) * STRONGER else "same direction"


def _times(value: float | None) -> str:
    return "–" if value is None else f"{number(value)} x"


def _sources(one: Comparison) -> list[str]:
    """Where the figures of the paper stand, each line once."""
    others = [curve.key.rpartition("/")[0] for curve in one.theirs]
    named = [one.name, *(name for name in others if name)]
    return list(dict.fromkeys(line for name in named for line in Transcript(name).source[-2:]))


def comparison(one: Comparison, found: Findings, picture: str) -> list[str]:
    """The section of one table. With a box there is nothing of ours to compare it with."""
    listed, box = lines(one, found), found.of_box()
    unit = one.what.rpartition(", ")[2] if ", " in one.what else one.what
    header = [one.x_title, *(f"{curve.title}, paper" for curve in one.theirs), "ratio"]
    header += [target.ROW.title] if box else [one.ours[0].title, one.ours[1].title]
    header += [] if box else [*([one.beside.title] if one.beside else []), "ratio"]
    rows = []
    for line in listed:
        theirs, ours = line.ratios(one.less_is_better)
        cells = [sections.text_of(value, why) for value, why in zip(line.ours, line.why, strict=True)]
        rows.append([f"{line.x:,g}", *map(sections.text_of, line.theirs), _times(theirs), *cells[: 1 if box else 2]])
        if not box:
            rows[-1] += [*([sections.text_of(line.beside)] if one.beside else []), _times(ours)]
    text = [f"### Table {one.table}: {one.title}", ""]
    text += [f"Paper: {'; '.join(_sources(one))}. Figures: {unit}.", ""]
    text += [f"**In doubt:** {found.doubt(one.part)}.", ""] if found.doubt(one.part) else []
    if one.scale and (most := found.value(one.part, rows_of(one, found)[1], one.scale, 0)):
        text += [f"The most that {'the box' if box else 'our Linux guest'} processed: {most} packets/s.", ""]
    text += sections.table(header, rows)
    text += [f"![Table {one.table}: {one.title}]({picture})", ""] if picture else []
    if box:
        return text
    text += [f"What is the same: {SAME[one.part]}", ""] if one.part in SAME else []
    text += [f"What differs: {one.differs}", ""]
    text += [f"What cannot be said: {CANNOT[one.part]}", ""] if one.part in CANNOT else []
    return text


def summary(found: Findings) -> list[str]:
    """A line for each claim of the papers: their ratio, ours, the verdict."""
    rows = []
    for one in COMPARISONS:
        if not one.ranked:
            continue
        theirs, ours = compared(one, lines(one, found))
        said = verdict(theirs, ours)
        if found.doubt(one.part) and ours is not None:
            said += " (in doubt: the machine was busy)"
        rows.append([one.table, one.title, _times(theirs), _times(ours), said])
    rows += [[name, title, "–", "–", f"not measured: {why}"] for name, title, why in ABSENT]
    return sections.table(["table", "what", "their ratio", "our ratio", "verdict"], rows)


QUICK_BOX = " A quick run leaves out the rate with 0.1 % lost, 10 and 1,000 flows, and the connections held."
QUICK = (
    " A quick run leaves out links of 100 Mbit/s of table V, NAT and 6to4 in two boxes, BIND, PowerDNS and shares of"
    " 50 % between hosts, the rate with 0.1 % lost, 10 and 1,000 flows, and in RFC 9693 NAT64 and the connections held."
)


def _begin(found: Findings, effort: Effort) -> list[str]:
    """What holds for the whole page."""
    repeated = "1 repetition" if effort.runs == 1 else f"{effort.runs} repetitions"
    text = [
        f"{repeated}; trials of {effort.seconds:g} s, the last of a search {effort.last:g} s, where nothing else is"
        " said. Medians, with the 1st and"
        " the 99th percentile in brackets; a number in square brackets says how many repetitions a figure has if they"
        " are fewer."
        + ("" if effort.name == "rfc" else " RFC 8219 asks for 60 s and 20 repetitions: these are fewer.")
        + ("" if not effort.quick else QUICK_BOX if found.of_box() else QUICK), "",
    ]  # fmt: skip
    if found.of_box():
        return [
            "The papers' bare PC was a Pentium 4. The box was measured over two Ethernet interfaces of a PC that was"
            " all hosts.", "", *text,
        ]  # fmt: skip
    return [
        "Theirs is a Pentium 4 PC, in time. Ours is an emulator without caches or buses, with Linux 6.1 beside it in"
        " the same run. Compare ratios with ratios, not milliseconds with milliseconds.", "", *text,
        "A ratio is how many times better the first of two is; below 1 the second one is better, and *stronger* means"
        " further below. A verdict compares the median ratio of the points that"
        " both have; for table VII, where all are equal until one is full, and for the servers of 2015 the ratio of the"
        " most that each processed."
        f" *Stronger* is a tenth more (of its logarithm) than the paper's; one within {SAME_SIZE * 100:.0f} % of 1 is"
        " *no difference*.", "",
        f"Two runs agree if the ranges of a figure overlap, each at least {sections.SPREAD * 100:.0f} %, half a point"
        " of percent or two microseconds to either side of its median (`tools/papers/run --compare FILE`).", "",
    ]  # fmt: skip


def markdown(found: Findings, effort: Effort, made: str, pictures: dict[str, str]) -> str:
    """The page. `made` says when, where and by which command; `pictures` are paths by the comparison's title."""
    text = ["# The papers, measured again", "", made, "", *_begin(found, effort)]
    box = found.of_box()
    text += [] if box else ["## Summary", "", *summary(found)]
    parts = sorted({one.part for one in found.figures})
    text += ["## The papers' tables", ""]
    for one in COMPARISONS:
        if not box or one.part in parts:
            text += comparison(one, found, pictures.get(one.title, ""))
    text += [] if box else inner.sections(found)
    text += sections.procedures(found, effort, pictures)
    text += [] if box else [*sections.others(found), *names.sections(found, effort)]
    text += [] if box else ["## What we found wrong", "", *(f"* {line}" for line in wrong()), ""]
    voids = [f"* {part}: {reason}" for part in parts for reason in found.voids(part)]
    if voids:
        text += ["## Figures that do not count", "", *voids, ""]
    return "\n".join(text)


def write(page: Path, text: str) -> None:
    """Replaces the page by one with this text."""
    fresh = page.with_suffix(".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.rename(page)
