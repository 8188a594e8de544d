# SPDX-License-Identifier: BSD-2-Clause
"""The papers' tables: each file parses, and rows and columns agree with known counts and totals."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

PAPERS = Path(__file__).resolve().parents[2] / "docs" / "papers"
# Rows of each table.
ROWS = {
    "2012-ii-internal-timings": 3, "2012-v-nat-rtt-throughput": 11, "2012-vi-nat-http": 4,
    "2012-vii-nat-packets": 15, "2012-viii-6to4-connection": 8, "2012-ix-6to4-response": 8,
    "2012-x-6to4-jitter": 9, "2012-xi-6to4-call-setup": 9, "2012-xii-6to4-rtt": 9,
    "2012-xiii-6to4-voip-throughput": 9, "2012-xiv-6to4-voip-loss": 9, "2012-xv-6to4-cpu": 15,
    "2012-xvi-ivi-timings": 5, "2016-i-dns64": 8, "2016-ii-dns64": 6, "2016-iii-dns64": 6,
    "2016-iv-dns64": 6, "2017-2-dns64": 12, "2017-3-dns64": 12,
    "2015-1-dns64": 12,
    "2015-2-dns64": 12,
    "2015-3-dns64": 4,
    "2015-4-dns64": 12,
    "2015-5-dns64": 12,
    "2015-6-dns64": 4,
    "2015-7-dns64": 12,
    "2015-8-dns64": 12,
    "2015-9-dns64": 4,
    "2015-10-dns64": 12,
    "2015-11-dns64": 12,
    "2015-12-dns64": 4,
    "2015-13-dns64": 12,
    "2015-14-dns64": 12,
    "2015-15-dns64": 4,
    "2015-16-dns64": 12,
    "2015-17-dns64": 12,
    "2015-18-dns64": 4,
}  # fmt: skip
# Means that were computed from the papers apart from these files: table, column, mean, tolerance.
MEANS = [
    ("2012-viii-6to4-connection", "linux_linux", 1.91, 0.01),
    ("2012-viii-6to4-connection", "bare_bare", 1.38, 0.01),
    ("2012-viii-6to4-connection", "colocated_bare", 0.98, 0.01),
    ("2012-viii-6to4-connection", "colocated_linux", 1.72, 0.01),
    ("2012-viii-6to4-connection", "linux_bare", 1.26, 0.01),
    ("2012-viii-6to4-connection", "bare_linux", 1.30, 0.01),
    ("2012-ix-6to4-response", "linux_linux", 69.5, 0.06),
    ("2012-ix-6to4-response", "bare_bare", 43.6, 0.06),
    ("2012-ix-6to4-response", "colocated_bare", 32.5, 0.06),
    ("2012-ix-6to4-response", "colocated_linux", 65.1, 0.06),
    ("2012-ix-6to4-response", "linux_bare", 54.1, 0.06),
    ("2012-ix-6to4-response", "bare_linux", 59.3, 0.06),
    ("2012-x-6to4-jitter", "colocated_bare", 7.0, 0.06),
    ("2012-x-6to4-jitter", "colocated_linux", 12.3, 0.06),
    ("2012-xi-6to4-call-setup", "colocated_bare", 0.95, 0.01),
    ("2012-xi-6to4-call-setup", "colocated_linux", 1.77, 0.01),
]


def table(name: str) -> tuple[list[str], list[dict[str, str]]]:
    """The lines about the source, and the rows."""
    lines = (PAPERS / f"{name}.csv").read_text().splitlines()
    about = [line for line in lines if line.startswith("#")]
    return about, list(csv.DictReader(lines[len(about) :]))


def column(name: str, key: str) -> list[float]:
    return [float(row[key]) for row in table(name)[1]]


def test_every_file_is_known() -> None:
    assert {path.stem for path in PAPERS.glob("*.csv")} == set(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_parses(name: str) -> None:
    about, rows = table(name)
    assert any("Table" in line for line in about)
    assert any("page" in line.lower() for line in about)
    assert len(rows) == ROWS[name]
    for row in rows:
        for value in list(row.values())[1:]:
            assert float(value) >= 0


@pytest.mark.parametrize(("name", "key", "mean", "near"), MEANS)
def test_means(name: str, key: str, mean: float, near: float) -> None:
    values = column(name, key)
    assert sum(values) / len(values) == pytest.approx(mean, abs=near)


# Ratios of column sums that were computed from the papers apart from these files: table; LL / cL, BB / cB, cL / cB.
SUMS = [
    ("2012-viii-6to4-connection", 1.11, 1.40, 1.75),
    ("2012-ix-6to4-response", 1.07, 1.34, 2.01),
    ("2012-x-6to4-jitter", 1.28, 1.33, 1.75),
    ("2012-xi-6to4-call-setup", 1.39, 1.59, 1.85),
    ("2012-xii-6to4-rtt", 1.45, 1.34, 2.22),
    ("2012-xiii-6to4-voip-throughput", 0.89, 0.95, None),
    ("2012-xiv-6to4-voip-loss", 1.15, 1.13, 2.32),
]


@pytest.mark.parametrize(("name", "linux", "bare", "both"), SUMS)
def test_ratios_of_column_sums(name: str, linux: float, bare: float, both: float | None) -> None:
    total = {key: sum(column(name, key)) for key in table(name)[1][0] if key not in ("file_kb", "load_mbps")}
    assert total["linux_linux"] / total["colocated_linux"] == pytest.approx(linux, abs=0.006)
    assert total["bare_bare"] / total["colocated_bare"] == pytest.approx(bare, abs=0.006)
    if both is not None:
        assert total["colocated_linux"] / total["colocated_bare"] == pytest.approx(both, abs=0.006)


def test_the_total_of_table_ii() -> None:
    """The text says 0.46 % of the processor in all."""
    assert sum(column("2012-ii-internal-timings", "cpu_percent")) == pytest.approx(0.46)


@pytest.mark.parametrize("name", ["2016-i-dns64", "2016-ii-dns64", "2016-iii-dns64", "2016-iv-dns64"])
def test_rate_follows_from_time(name: str) -> None:
    """Formula 1 of the paper: 256 queries in the mean time."""
    for rate, took in zip(column(name, "queries_per_s"), column(name, "mean_ms"), strict=True):
        assert rate == pytest.approx(256000 / took, rel=0.001)


@pytest.mark.parametrize("name", [name for name in ROWS if name.startswith("2015-")])
def test_rate_follows_from_clients(name: str) -> None:
    """Formula 1 of the paper: 256 queries of each client in the mean time, which is rounded."""
    for row in table(name)[1]:
        rate = 256 * int(row["clients"]) / float(row["mean_s"])
        assert float(row["requests_per_s"]) == pytest.approx(rate, rel=0.03)


@pytest.mark.parametrize("name", ["2017-2-dns64", "2017-3-dns64"])
def test_order(name: str) -> None:
    low, median, high = (column(name, key) for key in ("min", "median", "max"))
    assert all(a <= b <= c for a, b, c in zip(low, median, high, strict=True))


def test_headlines() -> None:
    assert max(column("2012-vii-nat-packets", "bare_pps")) == 13992
    assert max(column("2012-vii-nat-packets", "linux_pps")) == 9565
    assert max(column("2017-2-dns64", "median")) == 8542


# Requests a second under Linux with eight clients, noted apart from these files: tables 1 to 18 of 2015.
LINUX_8 = [386, 1010, 308, 343, 1211, 297, 1164, 1128, 1339, 1054, 2122, 1279, 5003, 2642, 5600, 4796, 7545, 5425]


@pytest.mark.parametrize(("number", "rate"), list(enumerate(LINUX_8, 1)))
def test_linux_with_eight_clients(number: int, rate: int) -> None:
    rows = [row for row in table(f"2015-{number}-dns64")[1] if (row["system"], row["clients"]) == ("Linux", "8")]
    assert [int(row["requests_per_s"]) for row in rows] == [rate]
