# SPDX-License-Identifier: BSD-2-Clause
"""make bench-papers: the searches against a gateway with a known limit, what is kept, and the verdicts of the page."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / name) for name in ("papers", "bench", ".")]

import curves  # noqa: E402
import page  # noqa: E402
import procedures  # noqa: E402
import voip  # noqa: E402
from paper import COMPARISONS, Transcript  # noqa: E402
from results import EFFORTS, Figure, Findings, Shelf, number  # noqa: E402

DEFAULT = EFFORTS["default"]


class Gateway:
    """Stands for a generator that sends `most` frames a second at most, and a gateway that forwards `limit` and holds
    `burst` at once."""

    def __init__(self, limit: float, burst: int = 256, table: int = 1000, most: float = 1e9) -> None:
        self.limit, self.burst, self.table, self.most = limit, burst, table, most
        self.trials: list[dict[str, float]] = []

    def run(self, **words: float) -> dict[str, Any]:
        self.trials.append(words)
        rate, seconds, flows = words.get("rate", self.limit), words["seconds"], int(words.get("flows", 16))
        if words.get("once"):
            sent = flows
            passed = min(sent, self.burst) if rate > 1e6 else sent if rate <= self.limit else sent - 1
            if words.get("answers"):
                passed = min(sent, self.table)
            seconds = sent / min(rate, self.most)
        else:
            sent = int(min(rate, self.most) * seconds) * (2 if words.get("both") else 1)
            passed = min(sent, self.table) if words.get("back") else int(min(rate, self.limit) / rate * sent)
        forwarded = 0 if words.get("back") else passed  # packets from outside count as answered
        spread = {"min": 1.0, "p1": 1.0, "median": 2.0, "p99": 8.0, "p999": 9.0, "max": 10.0}
        change = {"min": -3.0, "median": 0.0, "max": 4.0}
        return {"sent": sent, "lost": sent - passed, "bad": 0, "forwarded": forwarded, "answered": passed,
                "seconds": seconds, "one_way_us": spread, "one_way_us_change": change}


def traffic(gateway: Gateway) -> procedures.Traffic:
    return procedures.Traffic(gateway)  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [1_000, 33_333, 99_000])
def test_throughput_is_the_highest_rate_without_loss(limit: int) -> None:
    gateway = Gateway(limit)
    found = procedures.throughput(traffic(gateway), DEFAULT, 100_000)
    assert limit - 1_000 <= found <= limit
    trials = [one for one in gateway.trials if "rate" in one]
    assert trials[-1]["seconds"] == DEFAULT.last
    assert all(one["open"] == 1 and one["both"] == 1 for one in trials)


def test_a_generator_that_is_too_slow_finds_no_higher_rate() -> None:
    found = procedures.throughput(traffic(Gateway(90_000, most=50_000)), DEFAULT, 100_000)
    assert 49_000 <= found <= 51_100
    curve = procedures.loss_curve(traffic(Gateway(90_000, most=50_000)), DEFAULT, 90_000)
    assert curve[120] != curve[120] and curve[50] == 0
    rate = procedures.setup_rate(Gateway(90_000, most=50_000), DEFAULT, itertools.count(1), 100_000)  # type: ignore[arg-type]
    assert rate == pytest.approx(50_000)


def test_a_last_trial_that_fails_lowers_the_rate() -> None:
    def passes(rate: float, seconds: float) -> bool:
        return rate <= (50_000 if seconds == DEFAULT.seconds else 40_000)

    assert 36_000 < procedures.search(100_000, passes, DEFAULT) <= 40_000


def test_no_rate_without_loss() -> None:
    with pytest.raises(procedures.NoRate):
        procedures.search(100_000, lambda rate, seconds: False, DEFAULT)


def test_loss_curve_ends_after_two_clean_trials() -> None:
    curve = procedures.loss_curve(traffic(Gateway(1000)), DEFAULT, 1000)
    assert list(curve) == [120, 110, 100, 90]
    assert curve[120] == pytest.approx(100 / 6, abs=0.1) and curve[100] == curve[90] == 0


@pytest.mark.parametrize("burst", [64, 256, 5000])
def test_back_to_back(burst: int) -> None:
    assert burst * 0.98 <= procedures.back_to_back(Gateway(1000, burst)) <= burst  # type: ignore[arg-type]


def test_delays() -> None:
    said = procedures.delays(traffic(Gateway(1000)), DEFAULT, 500)
    assert said["typical latency, µs"] == 2 and said["worst case latency (99.9 %), µs"] == 9
    assert said["packet delay variation, µs"] == 8 and said["inter-packet delay variation, most, µs"] == 4


def test_new_connections_are_never_opened_twice() -> None:
    gateway = Gateway(20_000)
    rate = procedures.setup_rate(gateway, DEFAULT, itertools.count(1), 100_000)  # type: ignore[arg-type]
    assert 19_000 <= rate <= 20_000
    first = [one["first"] for one in gateway.trials]
    assert len(set(first)) == len(first) and min(first) == procedures.FLOWS


def test_capacity() -> None:
    gateway = Gateway(1000, table=700)
    assert procedures.capacity(gateway, 900) == 700  # type: ignore[arg-type]
    assert gateway.trials[-1]["back"] == 1 and "answers" not in gateway.trials[-1]


# ---- what is kept, and the page ----


def figure(row: str, value: float, x: float = 8, run: int = 0, void: str = "") -> Figure:
    return Figure("VI", row, "connection, ms", x, run, value, void)


def test_kept_parts_belong_to_an_image_and_an_effort(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(b"one")
    shelf = Shelf(tmp_path / "kept", image, DEFAULT)
    shelf.put("VI", [figure("nat", 1.0)])
    assert shelf.get("VI") == [figure("nat", 1.0)] and shelf.get("V-rtt") is None
    assert Shelf(tmp_path / "kept", image, EFFORTS["quick"]).get("VI") is None
    image.write_bytes(b"two")
    assert Shelf(tmp_path / "kept", image, DEFAULT).get("VI") is None


def test_void_figures_do_not_count() -> None:
    found = Findings([figure("nat", 1.0), figure("nat", 3.0, run=1), figure("nat", 90.0, run=2, void="lost")])
    value = found.value("VI", "nat", "connection, ms", 8)
    assert value and value.median == 2 and value.runs == 2
    assert found.voids("VI") == ["nat, connection, ms: lost"]


@pytest.mark.parametrize("theirs, ours, said", [
    (1.2, 1.25, "stronger"), (1.2, 1.1, "same direction"), (1.2, 0.8, "not reproduced"), (0.9, 1.2, "not reproduced"),
    (1.2, 1.001, "no difference here"), (1.2, None, "not measured"), (0.8, 0.9, "same direction"),
])  # fmt: skip
def test_verdicts(theirs: float, ours: float | None, said: str) -> None:
    assert page.verdict(theirs, ours) == said


def test_ratios_are_how_many_times_better_ours_is() -> None:
    one = next(one for one in COMPARISONS if one.what == "connection, ms")
    found = Findings([figure("nat", 1.0), figure("linux-nat", 3.0)])
    listed = page.lines(one, found)
    assert [line.x for line in listed] == [8, 16, 32, 64]
    assert listed[0].ratios(True)[1] == 3 and listed[0].ratios(True)[0] == pytest.approx(0.222 / 0.21)
    assert listed[1].ratios(True)[1] is None


@pytest.mark.parametrize("one", COMPARISONS, ids=lambda one: f"{one.table} {one.title}")
def test_each_comparison_reads_its_columns(one: Any) -> None:
    listed = page.lines(one, Findings([]))
    assert listed and all(line.theirs[0] is not None and line.theirs[1] is not None for line in listed)
    assert Transcript(one.name).source


def test_page_and_plots(tmp_path: Path) -> None:
    values = [figure("nat", 1.0), figure("linux-nat", 2.0), figure("wire", 0.5), figure("nat", 1.0, 64)]
    found = Findings(values)
    pictures = curves.draw(found, tmp_path)
    text = page.markdown(found, DEFAULT, "Made by a test.", pictures)
    assert list(pictures) == ["TCP connection through NAT"]
    assert (tmp_path / pictures["TCP connection through NAT"]).with_suffix(".svg").stat().st_size > 1000
    assert "| 8 | 0.210 | 0.222 | 1.06 x | 1.00 | 2.00 | 0.500 | 2.00 x |" in text
    assert "| VI | TCP connection through NAT | 1.06 x | 2.00 x | stronger |" in text


@pytest.mark.parametrize("value, said", [(0, "0"), (0.0123, "0.0123"), (1.234, "1.23"), (12.34, "12.3"),
                                         (123.4, "123"), (12345, "12,345"), (float("nan"), "–")])
def test_numbers(value: float, said: str) -> None:
    assert number(value) == said


# ---- calls ----


def test_mean_opinion_scores() -> None:
    """Values that were computed from G.107 apart from this program: no loss; table XIV's loss at 90 Mbit/s."""
    assert voip.mos(0, 80) == pytest.approx(4.41, abs=0.005)
    assert voip.mos(1.1, 80, 25.1) == pytest.approx(4.32, abs=0.005)
    assert voip.mos(1.1, 80) == pytest.approx(3.77, abs=0.005)
    assert voip.mos(2.95, 80) == pytest.approx(2.81, abs=0.005)
    assert voip.mos(100, 80, 0.1) == 1 and voip.mos(0, 400) < 4


def test_set_up_times() -> None:
    lines = ["1.0\tINVITE\t\tINVITE\ta", "1.1\tINVITE\t\tINVITE\ta", "1.2\t\t180\tINVITE\ta", "1.3\t\t200\tINVITE\ta",
             "2.0\tBYE\t\tBYE\ta", "2.1\t\t200\tBYE\ta", "3.0\tINVITE\t\tINVITE\tb"]
    assert voip.set_up_times("\n".join(lines)) == [pytest.approx(300)]
