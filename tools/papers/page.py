# SPDX-License-Identifier: BSD-2-Clause
"""The page docs/papers.md: for each table the paper's figures beside ours, the ratios, and a verdict by rule."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from pathlib import Path

import guest
import target
from paper import ABSENT, COMPARISONS, WRONG, Comparison, Transcript
from results import Effort, Findings, Value, number

STRONGER = 1.1  # a ratio this many times theirs is stronger


@dataclass(frozen=True)
class Line:
    """One row of a comparison: theirs (ours, their peer), ours (Baregate, its peer), the floor; None where missing."""

    x: float
    theirs: tuple[float | None, float | None]
    ours: tuple[Value | None, Value | None]
    floor: Value | None

    def ratios(self, less_is_better: bool) -> tuple[float | None, float | None]:
        """How many times better the first of each pair is."""

        def of(first: float | None, second: float | None) -> float | None:
            if not first or not second:
                return None
            return second / first if less_is_better else first / second

        ours = tuple(value.median if value else None for value in self.ours)
        return of(*self.theirs), of(ours[0], ours[1])


def lines(one: Comparison, found: Findings) -> list[Line]:
    """Every point that the paper or we have measured."""

    def theirs(key: str) -> dict[float, float]:
        name, _, column = key.rpartition("/")
        return Transcript(name or one.name).column(one.x, column)

    columns = [theirs(curve.key) for curve in one.theirs]
    first = target.ROW.name if found.of_box() else one.ours[0].key
    points = sorted(set(columns[0]) | set(found.points(one.part, one.what)))
    return [
        Line(
            x,
            (columns[0].get(x), columns[1].get(x)),
            (found.value(one.part, first, one.what, x), found.value(one.part, one.ours[1].key, one.what, x)),
            found.value(one.part, one.floor, one.what, x) if one.floor else None,
        )
        for x in points
    ]


def mean_ratios(one: Comparison, listed: list[Line]) -> tuple[float | None, float | None]:
    """The medians of their ratios and of ours, over the points that both have."""
    pairs = [line.ratios(one.less_is_better) for line in listed]
    both = [(theirs, ours) for theirs, ours in pairs if theirs and ours]
    if not both:
        return None, None
    return statistics.median(pair[0] for pair in both), statistics.median(pair[1] for pair in both)


def verdict(theirs: float | None, ours: float | None) -> str:
    if theirs is None or ours is None:
        return "not measured"
    if (theirs > 1) != (ours > 1) and abs(math.log(ours)) > 0.02:
        return "not reproduced"
    if abs(math.log(ours)) <= 0.02:
        return "no difference here"
    return "stronger" if abs(math.log(ours)) > abs(math.log(theirs)) * STRONGER else "same direction"


def _text(value: float | Value | None) -> str:
    if value is None:
        return "–"
    return str(value) if isinstance(value, Value) else number(value)


def _times(value: float | None) -> str:
    return "–" if value is None else f"{number(value)} x"


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(words)} |" for words in (header, ["---"] * len(header), *rows)] + [""]


def comparison(one: Comparison, found: Findings, picture: str) -> list[str]:
    listed = lines(one, found)
    unit = one.what.rpartition(", ")[2] if ", " in one.what else one.what
    header = [one.x_title, *(f"{curve.title}, paper" for curve in one.theirs), "ratio"]
    titles = [target.ROW.title if found.of_box() else one.ours[0].title, one.ours[1].title]
    header += [*titles, *(["floor"] if one.floor else []), "ratio"]
    rows = []
    for line in listed:
        theirs, ours = line.ratios(one.less_is_better)
        rows.append([f"{line.x:,g}", *map(_text, line.theirs), _times(theirs), *map(_text, line.ours)])
        rows[-1] += [*([_text(line.floor)] if one.floor else []), _times(ours)]
    text = [f"### Table {one.table}: {one.title}", ""]
    text += [f"Paper: {'; '.join(Transcript(one.name).source[-2:])}. Figures: {unit}.", ""]
    text += _table(header, rows)
    text += [f"![Table {one.table}: {one.title}]({picture})", ""] if picture else []
    return [*text, f"What differs: {one.differs}", ""]


def summary(found: Findings) -> list[str]:
    rows = []
    for one in COMPARISONS:
        theirs, ours = mean_ratios(one, lines(one, found))
        rows.append([one.table, one.title, _times(theirs), _times(ours), verdict(theirs, ours)])
    rows += [[table, title, "–", "–", f"not measured: {why}"] for table, title, why in ABSENT]
    return _table(["table", "what", "their ratio", "our ratio", "verdict"], rows)


def own_table(found: Findings, part: str, x_title: str, whats: list[str]) -> list[str]:
    """Figures without a counterpart in the papers: a line for each guest and point."""
    rows = []
    for what in whats:
        for x in found.points(part, what):
            guests = dict.fromkeys(one.row for one in found.figures if (one.part, one.what, one.x) == (part, what, x))
            for row in guests:
                value = found.value(part, row, what, x)
                title = target.ROW.title if row == target.ROW.name else guest.ROWS[row].title
                rows.append([what, f"{x:,g}" if x else "–", title, _text(value)])
    if not rows:
        return ["Not measured.", ""]
    return _table(["what", x_title, "guest", "figure"], rows)


RFC8219 = [
    "throughput, frames/s each way", "0.1 % lost, frames/s each way", "full load, frames/s", "typical latency, µs",
    "worst case latency (99.9 %), µs", "packet delay variation, µs", "inter-packet delay variation, median, µs",
    "inter-packet delay variation, most, µs",
]  # fmt: skip


def rfc_sections(found: Findings) -> list[str]:
    held = list(dict.fromkeys(one.what for one in found.figures if one.part == "9693" and "proved" in one.what))
    text = ["## RFC 8219 and RFC 9004", ""]
    text += [
        "Over vhost-user. A frame that the gateway has no room for is lost. A trial ends when nothing has come for a"
        " quarter of a second. Both directions at once for the throughput; one for latency, at the throughput found"
        " (or, if no rate was without loss, at a tenth of that with 0.1 %)."
        " The full load is one way. Recovery and reset (RFC 2544, 26.5 and 26.6) are not measured.", "",
    ]  # fmt: skip
    text += own_table(found, "8219", "frame, bytes", RFC8219)
    text += ["Loss by offered rate, in percent of the full load, with frames of 64 bytes:", ""]
    text += own_table(found, "8219", "% of full load", ["loss, %"])
    text += ["Bursts (RFC 9004) and full load by the number of flows (RFC 8219, section 10.2):", ""]
    text += own_table(found, "8219", "flows", ["longest burst, frames", "full load by flows, frames/s"])
    text += ["## RFC 9693", ""]
    text += [
        "Each trial opens 4,000 connections that were never opened before, with a first packet each. The table is not"
        " emptied between trials; it has room for all of them.", "",
    ]  # fmt: skip
    text += own_table(found, "9693", "–", ["new connections/s", *held])
    text += ["## DNS64: RFC 8219, section 9.2, and answers by questions in flight", ""]
    text += own_table(found, "DNS-search", "–", ["all answered, questions/s"])
    text += own_table(found, "DNS-loop", "in flight", ["answers/s", "256 answers, ms", "vCPU, %"])
    text += ["## Calls: mean opinion score", ""]
    text += ["The paper has none. E-model of ITU-T G.107 for G.711 without loss concealment, jitter buffer 60 ms.", ""]
    text += own_table(found, "X", "behind, Mbit/s", ["MOS"])
    text += ["## Table XVI: translation times of `ivi`, in cycles of the guest's clock", ""]
    text += ["46 is IPv4 to IPv6. Linux has no such counters; the paper's are in docs/papers.", ""]
    steps = list(dict.fromkeys(one.what for one in found.figures if one.part == "XVI"))
    return text + own_table(found, "XVI", "direction", steps)


def markdown(found: Findings, effort: Effort, made: str, pictures: dict[str, str]) -> str:
    """The page. `made` says when, where and by which command; `pictures` are paths by the comparison's title."""
    text = ["# The papers, measured again", "", made, ""]
    text += [
        "Theirs is a Pentium 4 PC, in time. Ours is an emulator without caches or buses, with Linux 6.1 beside it in"
        " the same run. Compare ratios with ratios, not milliseconds with milliseconds.", "",
        f"{effort.runs} repetitions; trials of {effort.seconds:g} s, the last of a search {effort.last:g} s. Medians,"
        " with the 1st and the 99th percentile in brackets."
        + ("" if effort.name == "rfc" else " RFC 8219 asks for 60 s and 20 repetitions: these are fewer."), "",
        "A ratio is how many times better the first of two is. A verdict compares the median ratio of the points that"
        " both have: *stronger* is a tenth more (of its logarithm) than the paper's.", "", "## Summary", "",
    ]  # fmt: skip
    text += summary(found) + ["## The papers' tables", ""]
    for one in COMPARISONS:
        text += comparison(one, found, pictures.get(one.title, ""))
    text += rfc_sections(found)
    text += ["## What we found wrong", "", *(f"* {line}" for line in WRONG), ""]
    parts = sorted({one.part for one in found.figures})
    voids = [f"* {part}: {reason}" for part in parts for reason in found.voids(part)]
    if voids:
        text += ["## Figures that do not count", "", *voids, ""]
    return "\n".join(text)


def write(page: Path, text: str) -> None:
    fresh = page.with_suffix(".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.rename(page)
