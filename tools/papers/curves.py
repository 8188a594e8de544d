# SPDX-License-Identifier: BSD-2-Clause
"""Plots for docs/papers.md: the paper's curves on the left, ours on the right, each scaled to its peer's median = 1."""

from __future__ import annotations

import math
import re
import statistics
from pathlib import Path
from typing import TYPE_CHECKING

import inner
import target
from comparisons import COMPARISONS, Comparison
from paper import Transcript
from results import Findings
from sections import title_of
from verdicts import Line, lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure


LOSSES = "loss by rate"  # the name of the plot that belongs to no table
STEPS = "translation steps"  # that of table XVI
Point = tuple[float, list[float | None]]  # x, and the value of each line


def _panel(axis: Axes, one: Comparison, points: list[Point], titles: list[str]) -> None:
    """Scaled to the second line; a single one is not."""
    peers = [peer for _, values in points if len(titles) > 1 and (peer := values[1])]
    scale = statistics.median(peers) if peers else 1.0
    for number, (title, style) in enumerate(zip(titles, ("o-", "s--", "^:"))):
        drawn = [(x, value / scale) for x, values in points if (value := values[number]) is not None]
        if drawn:
            axis.plot(*zip(*drawn), style, label=title, markersize=4)
    axis.set_xlabel(one.x_title)
    axis.set_ylim(bottom=0)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)


def _losses(axis: Axes, found: Findings) -> None:
    """RFC 2544, section 26.3: loss by offered rate, a line for each guest."""
    for row in found.rows("8219"):
        values = [(x, found.value("8219", row, "loss, %", x)) for x in found.points("8219", "loss, %")]
        drawn = [(x, value.median) for x, value in values if value]
        if drawn:
            axis.plot(*zip(*drawn, strict=True), "o-", label=title_of(row), markersize=3)
    axis.set_xlabel("offered, % of full load")
    axis.set_ylabel("lost, %")
    axis.set_ylim(bottom=0)
    axis.grid(alpha=0.3)
    if axis.lines:
        axis.legend(fontsize=7)


def _pairs(listed: list[Line], ours: bool) -> list[Point]:
    if ours:
        return [(line.x, [value.median if value else None for value in (*line.ours, line.beside)]) for line in listed]
    return [(line.x, list(line.theirs)) for line in listed]


def _steps(axes: list[Axes], found: Findings) -> None:
    """Table XVI: times of the steps, each way a bar, those of the header = 1."""
    rows = Transcript("2012-xvi-ivi-timings").rows
    names = [row["part"] for row in rows]
    theirs = {way: [float(row[f"bare_{way}_us"]) for row in rows] for way in ("4to6", "6to4")}
    ours: dict[str, list[float]] = {}
    for way in theirs:
        values = [found.value("XVI" if name in ("TCP", "ICMP") else "II", "ivi", inner.IVI_STEPS[name], inner.WAYS[way])
                  for name in names]  # fmt: skip
        ours[way] = [value.median if value else math.nan for value in values]
    header = names.index("IP Header")
    for axis, columns in zip(axes, (theirs, ours), strict=True):
        scale = columns["4to6"][header]
        for number, (way, values) in enumerate(columns.items()):
            places = [index + 0.4 * number - 0.2 for index in range(len(names))]
            axis.bar(places, [value / scale for value in values], 0.4, label=way.replace("to", " to "))
        axis.set_xticks(range(len(names)), names, fontsize=8)
        axis.grid(alpha=0.3, axis="y")
        axis.legend(fontsize=8)
    axes[0].set_ylabel("relative to the header's, 4 to 6", fontsize=8)


def draw(found: Findings, folder: Path) -> dict[str, str]:
    """Writes a PNG and an SVG file for each comparison that has figures of ours; gives the PNG's name in the folder by
    the comparison's title. Removes those of an earlier page. Gives nothing if matplotlib is missing."""
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel

        matplotlib.use("Agg")
        from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    except ImportError:
        return {}
    matplotlib.rcParams["svg.hashsalt"] = "papers"
    written = {}
    for one in COMPARISONS:
        listed = lines(one, found)
        if not any(line.ours[0] or line.ours[1] for line in listed):
            continue
        figure, axes = pyplot.subplots(1, 2, figsize=(10, 3.6))
        _panel(axes[0], one, _pairs(listed, False), [curve.title for curve in one.theirs])
        titles = [curve.title for curve in (*one.ours, one.beside) if curve]
        _panel(axes[1], one, _pairs(listed, True), [target.ROW.title] if found.of_box() else titles)
        axes[0].set_title(f"paper, Table {one.table}", fontsize=9, color="gray")
        axes[1].set_title(f"here: {one.title}", fontsize=9)
        if found.of_box():
            axes[1].set_ylabel(one.what, fontsize=8)
        axes[0].set_ylabel(f"relative to {one.theirs[1].title}'s median", fontsize=8)
        name = re.sub(r"\W+", "-", f"{one.table} {one.title}".lower()).strip("-")
        written[one.title] = _save(figure, folder, name)
    if found.value("II", "ivi", inner.IVI_STEPS["IP Header"], inner.WAYS["4to6"]):
        figure, axes = pyplot.subplots(1, 2, figsize=(10, 3.6))
        _steps(list(axes), found)
        axes[0].set_title("paper, Table XVI, bare PC", fontsize=9, color="gray")
        axes[1].set_title("here: Baregate ivi", fontsize=9)
        written[STEPS] = _save(figure, folder, "xvi-translation-steps")
    if found.points("8219", "loss, %"):
        figure, axis = pyplot.subplots(figsize=(7, 3.6))
        _losses(axis, found)
        written[LOSSES] = _save(figure, folder, "loss-by-rate")
    for old in folder.glob("*.*"):
        if f"{old.stem}.png" not in written.values():
            old.unlink()
    return written


def _save(figure: MatplotlibFigure, folder: Path, name: str) -> str:
    """Writes both files; gives the PNG's name."""
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel

    figure.tight_layout()
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=80, metadata={"Software": None})
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    pyplot.close(figure)
    return f"{name}.png"
