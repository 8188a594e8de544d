# SPDX-License-Identifier: BSD-2-Clause
"""Plots of the measured figures, as PNG files: one file for each subject, one panel for each of its tables."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from guest import ROWS
from tables import TABLES, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A file, and the beginnings of the measures that it shows.
SUBJECTS: dict[str, tuple[str, ...]] = {
    "instructions": ("insn_",),
    "rates": ("pps_", "vhost_", "qps_"),
    "times": ("vcpu_", "rtt_", "wait"),
    "bulk": ("bulk_", "bulkcpu_"),
}


def _panels(table: Table, beginnings: tuple[str, ...]) -> list[tuple[str, str, list[str]]]:
    """NIC, title and measures of each panel; only measures that some guest has."""
    found = []
    for nic in table.nics:
        for title, keys in TABLES:
            used = [k for k in keys if k.startswith(beginnings) and any(table.median(nic, r, k) for r in table.rows)]
            if used:
                found.append((nic, title, used))
    return found


def draw(table: Table, folder: Path) -> list[Path]:
    """Writes the files into the folder, which is made when it is missing, and gives their paths. Gives none when
    matplotlib is missing or there is nothing to show."""
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel

        matplotlib.use("Agg")
        from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    except ImportError:
        return []
    written = []
    for name, beginnings in SUBJECTS.items():
        panels = _panels(table, beginnings)
        if not panels:
            continue
        height = (len(panels) + 1) // 2
        figure, axes = pyplot.subplots(height, 2, figsize=(15, 4.2 * height), squeeze=False)
        for axis in axes.flat[len(panels) :]:
            axis.set_visible(False)
        for axis, (nic, title, keys) in zip(axes.flat, panels):
            _bars(axis, table, nic, keys)
            axis.set_title(f"{nic}: {title}", fontsize=10)
        figure.tight_layout()
        folder.mkdir(parents=True, exist_ok=True)
        written.append(folder / f"{name}.png")
        figure.savefig(written[-1], dpi=90, metadata={"Software": None})
        pyplot.close(figure)
    return written


def _bars(axis: Axes, table: Table, nic: str, keys: list[str]) -> None:
    """A group of bars for each measure, a bar for each guest that has it; logarithmic."""
    rows = [row for row in table.rows if any(table.median(nic, row, k) for k in keys)]
    width = 0.8 / len(rows)
    for number, row in enumerate(rows):
        values = [table.median(nic, row, k) or 0 for k in keys]
        axis.bar([i + number * width for i in range(len(keys))], values, width, label=ROWS[row].title)
    least = min(value for row in rows for k in keys if (value := table.median(nic, row, k)))
    axis.set_yscale("log")
    axis.set_ylim(bottom=10 ** math.floor(math.log10(least)))
    labels = [f"{textwrap.fill(table.titles[k], 18)}\n[{table.units[k]}]" for k in keys]
    axis.set_xticks([i + 0.4 - width / 2 for i in range(len(keys))], labels, fontsize=6)
    axis.grid(axis="y", alpha=0.3)
    axis.legend(fontsize=6)
