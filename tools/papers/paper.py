# SPDX-License-Identifier: BSD-2-Clause
"""The tables of the papers, as docs/papers has them."""

from __future__ import annotations

import csv
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent.parent / "docs" / "papers"


class Transcript:
    """One table of a paper: the lines about its source, and its columns by name."""

    def __init__(self, name: str) -> None:
        lines = (FOLDER / f"{name}.csv").read_text(encoding="utf-8").splitlines()
        self.source = [line.lstrip("# ") for line in lines if line.startswith("#")]
        self.rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))

    def column(self, x: str, key: str, only: tuple[str, str] | None = None) -> dict[float, float]:
        """The values of a column by those of the column `x`; with `only`, a column and a value, of such rows."""
        rows = [row for row in self.rows if row[key] and (only is None or row[only[0]] == only[1])]
        return {float(row[x]): float(row[key]) for row in rows}


VII, OFFERED = "2012-vii-nat-packets", "offered_pps"


def most_in_vii(column: str) -> float:
    """What a system of table VII processed at most, packets a second."""
    return max(Transcript(VII).column(OFFERED, column).values())
