# SPDX-License-Identifier: BSD-2-Clause
"""Plots for docs/papers.md: the paper's curves on the left, ours on the right, each scaled to its peer's median = 1."""

from __future__ import annotations

import re
import statistics
from pathlib import Path
from typing import TYPE_CHECKING

from page import Line, lines
from paper import COMPARISONS, Comparison
from results import Findings
from sections import title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LOSSES = "loss by rate"  # the name of the plot that belongs to no table
Point = tuple[float, list[float | None]]  # x, and the value of each line


def _panel(axis: Axes, one: Comparison, points: list[Point], titles: list[str]) -> None:
    peers = [peer for _, values in points if (peer := values[1])]
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
        _panel(axes[1], one, _pairs(listed, True), titles)
        axes[0].set_title(f"paper, Table {one.table}", fontsize=9, color="gray")
        axes[1].set_title(f"here: {one.title}", fontsize=9)
        axes[0].set_ylabel(f"relative to {one.theirs[1].title}'s median", fontsize=8)
        figure.tight_layout()
        folder.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"\W+", "-", f"{one.table} {one.title}".lower()).strip("-")
        figure.savefig(folder / f"{name}.png", dpi=80, metadata={"Software": None})
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        pyplot.close(figure)
        written[one.title] = f"{name}.png"
    if found.points("8219", "loss, %"):
        figure, axis = pyplot.subplots(figsize=(7, 3.6))
        _losses(axis, found)
        figure.tight_layout()
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / "loss-by-rate.png", dpi=80, metadata={"Software": None})
        figure.savefig(folder / "loss-by-rate.svg", metadata={"Date": None})
        pyplot.close(figure)
        written[LOSSES] = "loss-by-rate.png"
    for old in folder.glob("*.*"):
        if f"{old.stem}.png" not in written.values():
            old.unlink()
    return written
