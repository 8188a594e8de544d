# SPDX-License-Identifier: BSD-2-Clause
"""docs/papers.md: ratios, verdicts, what stands beside them; and whether a further run agrees."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / name) for name in ("papers", "bench", ".")]

import agreement  # noqa: E402
import bed  # noqa: E402
import compare  # noqa: E402
import curves  # noqa: E402
import faults  # noqa: E402
import inner  # noqa: E402
import page  # noqa: E402
import rfc  # noqa: E402
import sections  # noqa: E402
import verdicts  # noqa: E402
from comparisons import ABSENT, COMPARISONS  # noqa: E402
from paper import Transcript  # noqa: E402
from results import EFFORTS, Figure, Findings, Shelf, Value, number  # noqa: E402
from verdicts import Compared  # noqa: E402

DEFAULT = EFFORTS["default"]


def figure(row: str, value: float, x: float = 8, run: int = 0, void: str = "") -> Figure:
    return Figure("VI", row, "connection, ms", x, run, value, void)


def markdown(found: Findings, pictures: dict[str, str] | None = None, second: compare.Packed | None = None) -> str:
    return page.markdown(found, DEFAULT, page.About("Made by a test.", pictures or {}, "12ab", ROOT, second))


# ---- ratios and verdicts ----


@pytest.mark.parametrize("theirs, ours, said", [
    (1.2, 1.25, "stronger"), (1.2, 1.1, "same direction"), (1.2, 0.8, "not reproduced"), (0.9, 1.2, "not reproduced"),
    (1.2, 1.001, "no difference here"), (1.2, None, "not measured"), (0.8, 0.9, "same direction"),
    (1.2, float("inf"), "stronger"), (1.2, 0.0, "not reproduced"), (1.0, 1.5, "a difference only here"),
    (float("inf"), 2.0, "same direction"),
])  # fmt: skip
def test_verdicts(theirs: float, ours: float | None, said: str) -> None:
    assert verdicts.verdict(Compared(theirs, ours)) == said


@pytest.mark.parametrize(("said", "words"), [
    (Compared(1.2, 1.3, overlap=True), "within the spread"),
    (Compared(1.2, 1.1, ours_all=(0.9, 1.1, 1.4)), "better at some points, worse at others"),
    (Compared(1.2, 1.0, ours_all=(1.0, 1.0, 1.3)), "no difference here"),
    (Compared(1.2, 1.0, ours_all=(1.0, 1.0), overlap=True), "no difference here"),
    (Compared(1.4, 1.0, full=(False, False)), "neither was full"),
    (Compared(1.4, 1.7, full=(False, True)), "stronger"),
    (Compared(1.4, 0.9, full=(False, True)), "a bound that decides nothing"),
    (Compared(1.4, 0.9, full=(True, False)), "not reproduced"),
    (Compared(1.4, 1.7, full=(True, False)), "a bound that decides nothing"),
    (Compared(1.0, 1.0, ours_all=(1.0, 1.0)), "no difference in either"),
])  # fmt: skip
def test_verdicts_by_the_points(said: Compared, words: str) -> None:
    assert verdicts.verdict(said) == words


def test_ranges_that_overlap_are_no_difference() -> None:
    """At more than half of the points; one repetition has no range."""
    one = comparison("connection, ms")
    values = {8: (1.0, 1.3), 16: (1.0, 1.3), 32: (5.0, 9.0)}
    found = Findings(figure(row, value + step, x, run) for x, pair in values.items()
                     for row, value in zip(("nat", "linux-nat"), pair) for run, step in enumerate((0.0, 0.4)))
    said = verdicts.compared(one, verdicts.lines(one, found))
    assert said.points == 3 and said.overlap and verdicts.verdict(said) == "within the spread"
    single = Findings(value for value in found.figures if value.run == 0)
    assert not verdicts.compared(one, verdicts.lines(one, single)).overlap


def test_points_where_both_have_nothing_are_left_out() -> None:
    """Table XIV: no loss up to 40 Mbit/s in the paper."""
    one = comparison("RTP lost, %")
    losses = {10: (0.0, 0.0), 50: (1.0, 3.0), 90: (2.0, 6.0)}
    found = Findings(Figure("X", row, one.what, x, 0, value) for x, pair in losses.items()
                     for row, value in zip(("6to4", "linux-sit"), pair))
    said = verdicts.compared(one, verdicts.lines(one, found))
    assert said.ours == 3 and said.ours_all == (3, 3) and len(said.theirs_all) == 2


@pytest.mark.parametrize(("first", "second", "less", "said"), [
    (0.0, 0.0, True, 1.0), (0.0, 2.0, True, float("inf")), (2.0, 0.0, True, 0.0), (4.0, 2.0, False, 2.0),
    (None, 2.0, True, None), (2.0, 0.0, False, float("inf")),
])  # fmt: skip
def test_ratios_of_zero(first: float | None, second: float | None, less: bool, said: float | None) -> None:
    assert verdicts.ratio(first, second, less) == said


def comparison(what: str) -> Any:
    return next(one for one in COMPARISONS if one.what == what)


def test_ratios_are_how_many_times_better_ours_is() -> None:
    one = comparison("connection, ms")
    found = Findings([figure("nat", 1.0), figure("linux-nat", 3.0)])
    listed = verdicts.lines(one, found)
    assert [line.x for line in listed] == [8, 16, 32, 64]
    assert listed[0].ratios(True)[1] == 3 and listed[0].ratios(True)[0] == pytest.approx(0.222 / 0.21)
    assert listed[1].ratios(True)[1] is None


def test_no_loss_at_all_is_measured() -> None:
    """Table XIV has 0 where nothing was lost; that is a figure."""
    one = comparison("RTP lost, %")
    found = Findings([Figure("X", row, one.what, x, 0, 0.0) for row in ("6to4", "linux-sit") for x in (10, 50, 90)])
    said = verdicts.compared(one, verdicts.lines(one, found))
    assert said.ours == 1.0 and said.theirs is not None and said.theirs > 2
    assert verdicts.verdict(said) == "no difference here"


def test_servers_of_2015_beside_ours() -> None:
    """A client of the paper has four questions in flight; only its rows of Linux count."""
    one = next(one for one in COMPARISONS if one.title == "DNS64 recursors, Unbound against BIND, Opteron")
    rows = {"linux-unbound": 6000.0, "linux-bind": 3000.0, "dns64": 30_000.0}
    found = Findings([Figure("DNS-loop", row, "answers/s", 32, 0, value) for row, value in rows.items()])
    text = "\n".join(page.comparison(one, found, ""))
    assert "| 32 | 7,545 | 4,796 | 1.57 x | 6,000 | 3,000 | 30,000 | 2.00 x |" in text
    assert "| Unbound | BIND | Baregate | ratio |" in text
    assert [line.x for line in verdicts.lines(one, Findings([]))] == [4, 8, 16, 32]
    assert "Table 17:" in text and "Table 16:" in text  # both are named
    assert verdicts.compared(one, verdicts.lines(one, found)) == Compared(7545 / 4961, 2, runs=1)  # the most of each
    found = [one.theirs[1].key for one in COMPARISONS if one.title.startswith("DNS64 forwarders")]
    assert found == [f"2015-{number}-dns64/requests_per_s" for number in (1, 7, 13)]


def test_bursts_have_their_number_mean_and_deviation() -> None:
    found = Findings([Figure("8219", "nat", rfc.BURST, 0, run, value) for run, value in enumerate((100, 200, 300))])
    found.figures.append(Figure("8219", "nat64", rfc.BURST, 0, 0, float("nan"), "no answer"))
    text = "\n".join(sections.bursts(found))
    assert "| Baregate nat | 3 | 200 | 100 | 300 | 100 |" in text and "| 0 | void: no answer |" in text
    assert sections.bursts(Findings([])) == []


def plateau(limits: dict[str, float]) -> tuple[Any, Findings]:
    """Table VII at rates scaled to a Linux guest that processed 95,650 packets a second before."""
    one = comparison("processed at scaled rates, packets/s")
    found = Findings(
        Figure("VII", row, one.what, x, 0, min(10 * x, limit))
        for row, limit in limits.items() for x in (1000, 4000, 8000, 12000, 16000)
    )  # fmt: skip
    found.figures.append(Figure("VII", "linux-nat", one.scale, 0, 0, 95_650.0))
    return one, found


def test_a_plateau_is_compared_by_its_height() -> None:
    """Table VII: most points are where neither is full."""
    one, found = plateau({"nat": 120_000, "linux-nat": 95_650})
    text = "\n".join(page.comparison(one, found, ""))
    assert "The scale: our Linux guest processed 95,600 packets/s" in text and "Not full" not in text
    assert "| 12,000 | 11,991 | 9,565 | 1.25 x | 120,000 | 120,000 | 95,600 | 1.25 x |" in text
    said = verdicts.compared(one, verdicts.lines(one, found), verdicts.scale_of(one, found))
    assert said.theirs == pytest.approx(13992 / 9565) and said.ours == pytest.approx(120_000 / 95_650)


@pytest.mark.parametrize(("limits", "ratio", "verdict"), [
    ({"nat": 1e9, "linux-nat": 95_650}, "at least 1.67 x", "stronger"),
    ({"nat": 1e9, "linux-nat": 110_000}, "at least 1.45 x", "same direction at least"),
    ({"nat": 1e9, "linux-nat": 1e9}, "1.00 x", "neither was full"),
])  # fmt: skip
def test_a_system_that_was_not_full_gives_a_bound(limits: dict[str, float], ratio: str, verdict: str) -> None:
    one, found = plateau(limits)
    assert "Not full: Baregate" in "\n".join(page.comparison(one, found, ""))
    assert "Not full" not in "\n".join(page.comparison(one, Findings([]), ""))
    line = next(line for line in page.summary(found, {}) if one.title in line)
    assert f"| {ratio} | most | {verdict}; 1 repetition only |" in line


def test_the_summary_names_each_claim_once() -> None:
    text = "\n".join(page.summary(Findings([]), {}))
    assert text.count("| 2016 II, IV |") == 1 and "time of 256" not in text
    assert all(name in text for name, _, _ in ABSENT) and "not measured: no single" not in text


@pytest.mark.parametrize("one", COMPARISONS, ids=lambda one: f"{one.table} {one.title}")
def test_each_comparison_reads_its_columns(one: Any) -> None:
    listed = verdicts.lines(one, Findings([]))
    assert listed and all(line.theirs[0] is not None and line.theirs[1] is not None for line in listed)
    assert Transcript(one.name).source


def test_what_is_wrong_is_computed() -> None:
    text = "\n".join(faults.wrong())
    for part in ("2.8 %", "0.46 %", "8,140", "8,722", "20 to 21 %", "40 Mbit/s", "8,542", "9,289", "0.295 ms at 64 KB",
                 "a ratio of 1.75", "Tables VIII, IX, X and XIV have no unit"):  # fmt: skip
        assert part in text


def test_what_weakens_a_verdict_stands_beside_it() -> None:
    """Few repetitions, a floor that is not told from the gateway, columns of the paper that are a constant apart."""
    one = comparison("TCP, Mbit/s")
    found = Findings(Figure("V-tcp", row, one.what, 128, run, value + run)
                     for row, value in (("nat", 50.0), ("linux-nat", 20.0), ("wire", 51.0)) for run in range(3))
    line = next(line for line in page.summary(found, {}) if one.title in line)
    assert line.endswith("stronger; 3 repetitions only; near the floor; the paper's columns are a constant apart |")
    assert "At 1 of 1 points the range of Baregate overlaps" in "\n".join(page.comparison(one, found, ""))
    assert verdicts.near_floor(comparison("jitter, ms"), []) == (0, 0)
    line = next(line for line in page.summary(found, {}) if "jitter of a call |" in line)
    assert line.endswith("| not measured |")


def test_a_paper_without_units_is_told() -> None:
    text = "\n".join(page.comparison(comparison("jitter, ms"), Findings([]), ""))
    assert "Figures: ms, which is assumed of the paper's." in text
    text = "\n".join(page.comparison(next(one for one in COMPARISONS if "2015-3" in one.name), Findings([]), ""))
    assert "the paper says that PowerDNS ran under Linux only" in text


def test_columns_that_are_a_constant_times_another_one() -> None:
    found = {(one.table, one.column, one.other, one.factor): (one.rows, one.total)
             for name in faults.dissertation() for one in faults.constants(name)}  # fmt: skip
    assert found["V", "linux_mbps", "bare_mbps", 0.91] == (11, 11)
    assert found["XII", "linux_linux", "colocated_linux", 1.45] == (9, 9)
    assert not any(table in ("VI", "X", "XI", "XIV") for table, _, _, _ in found)  # measured, as far as this can tell


def test_page_and_plots(tmp_path: Path) -> None:
    values = [figure("nat", 1.0), figure("linux-nat", 2.0), figure("wire", 0.5), figure("nat", 1.0, 64)]
    values += [figure("linux-nat", float("nan"), 64, void="no answer")]
    values += [Figure("8219", "nat", "loss, %", x, 0, x / 100) for x in (120, 110)]
    values += [Figure("8219", row, rfc.NONE_LOST, x, 0, 5.0) for row in ("6to4", "ivi") for x in (64, 1518)]
    found = Findings(values, 1, {"VI": (0.0, 0.8)})
    pictures = curves.draw(found, tmp_path)
    text = markdown(found, pictures)
    assert list(pictures) == ["TCP connection through NAT", curves.LOSSES]
    assert (tmp_path / pictures["TCP connection through NAT"]).with_suffix(".svg").stat().st_size > 1000
    assert "| 8 | 0.210 | 0.222 | 1.06 x | 1.00 | 2.00 | 0.500 | 2.00 x |" in text
    line = "| VI | TCP connection through NAT | 1.06 x | 2.00 x | 1 |"
    line += " stronger; 1 repetition only; in doubt: the machine was busy |"
    assert line in text
    assert "**In doubt:** other programs used 0.00 processor cores before and 0.80 during" in text
    assert "void: no answer" in text and "What cannot be said:" in text
    # Frame sizes as they are on the wire: 6to4 carries IPv6 inside, and a tunnel outside; ivi IPv6 and IPv4.
    for sizes in ("84 / 104", "1,498 / 1,518", "84 / 64", "1,518 / 1,498"):
        assert f"| {sizes} | 5.00" in text


def test_the_page_of_a_box_speaks_of_no_emulator() -> None:
    scaled = comparison("processed at scaled rates, packets/s")
    found = Findings([
        Figure("8219", "target", rfc.NONE_LOST, 64, 0, 5.0), Figure("8219", "target", rfc.BURST, 0, 0, 255.0),
        Figure("V-rtt", "target", "round trip, ms", 64, 0, 0.2), Figure("VII", "target", scaled.scale, 0, 0, 47_825.0),
        Figure("VII", "target", scaled.what, 3000, 0, 15_000.0),
    ])
    text = markdown(found)
    assert "### Table VII: the same, rates scaled to the box, TCP" in text
    assert "| 3,000 | 2,999 | 2,995 | 1.00 x | 15,000 | 15,000 |\n" in text  # no ratio: the rates are others
    assert "All end about" not in text
    for word in ("emulator", "vhost", "Linux guest", "## Summary", "HTTP"):
        assert word not in text
    assert "| the box | the box beside bare PC |" in text
    assert "| 64 | 0.248 | 0.532 | 0.214 | 2.15 x | 0.200 | 1.24 x |" in text and "| the box | 64 | 5.00 |" in text


def test_the_plot_of_a_box_has_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its own unit: there is nothing to scale it by."""
    drawn: list[tuple[list[str], list[Any]]] = []
    real = curves._panel

    def panel(axis: Any, one: Any, points: Any, titles: list[str]) -> None:
        real(axis, one, points, titles)
        drawn.append((titles, [list(line.get_ydata()) for line in axis.lines]))

    monkeypatch.setattr(curves, "_panel", panel)
    curves.draw(Findings([Figure("V-rtt", "target", "round trip, ms", 64, 0, 0.2)]), tmp_path)
    assert drawn[1] == (["the box"], [[0.2]]) and len(drawn[0][0]) == 2


def test_translation_steps_stand_beside_the_papers(tmp_path: Path) -> None:
    found = Findings(Figure("XVI" if what in ("tcp, cycles", "icmp, cycles") else "II", "ivi", what, x, 0, 100.0)
                     for what in inner.IVI_STEPS.values() for x in inner.WAYS.values())  # fmt: skip
    pictures = curves.draw(found, tmp_path)
    assert (tmp_path / pictures[curves.STEPS]).stat().st_size > 1000
    found.figures.append(Figure("II", "nat", "slow, cycles", inner.WAYS["out"], 0, 1718.0))
    text = markdown(found, pictures)
    assert f"({pictures[curves.STEPS]})" in text and "takes the long way, in cycles: 1,720 in `nat`." in text


def test_the_page_says_what_it_was_made_with(tmp_path: Path) -> None:
    for name in ("tayga_0.9.2-8_amd64.deb", "linux-image-6.1.0-57-amd64_6.1.192-3_amd64.deb", "tar_1.34_amd64.deb"):
        (tmp_path / name).touch()
    assert bed.versions(tmp_path)[:3] == [
        "linux-image-6.1.0-57-amd64 6.1.192-3", "nftables (not fetched here)", "tayga 0.9.2-8",
    ]  # fmt: skip
    text = markdown(Findings([figure("nat", 1.0)]))
    assert "SHA-256 12ab" in text and text.rstrip().endswith("no page numbers.")
    assert "Paper: Tsetse 2012, Table VI, page 49: Connection and response times. Figures: ms." in text
    cited = {one.name[:4] for one in COMPARISONS}
    assert cited <= set(bed.PAPERS) and all(bed.PAPERS[year][1] in text for year in cited)


@pytest.mark.parametrize(("value", "said"), [
    (Value(1_741_381, 1_721_470, 1_761_292, 2, 5), "1,740,000 (1,720,000 to 1,760,000) [2]"),
    (Value(1000, 400, 1900, 5, 5), "1,000 (400 to 1,900) †"), (Value(0.9998, 0.9998, 0.9998, 1, 1), "1.00"),
])  # fmt: skip
def test_figures_of_ours_have_three_digits_and_a_mark_if_scattered(value: Value, said: str) -> None:
    assert sections.text_of(value) == said


def test_what_the_rates_do_not_say_stands_beside_them() -> None:
    found = Findings([
        Figure("8219", "linux-nat64", rfc.NONE_LOST, 512, 0, 21.9),
        Figure("8219", "6to4", rfc.NONE_LOST, 1518, 0, float("nan"), "nothing came through at full load"),
        Figure("8219", "nat", rfc.NONE_LOST, 64, 0, 5000.0),
        *(Figure("8219", row, rfc.BURST, 0, run, 255.0) for row in ("nat", "ivi") for run in range(3)),
    ])
    text = "\n".join(sections.rfc8219(found, DEFAULT, {}))
    assert "has one: Linux with tayga and masquerade at 532 / 512." in text
    assert "`6to4.mtu` at its default" in text and "All end about the 256 descriptors" in text
    assert "All end about" not in "\n".join(sections.bursts(Findings([Figure("8219", "nat", rfc.BURST, 0, 0, 900.0)])))


def test_void_figures_are_told_once_by_reason() -> None:
    found = Findings([
        Figure("8219", "nat", "typical latency, µs", x, run, float("nan"), "loss even at 5.51e+04/s")
        for x in (64, 512) for run in (0, 1)
    ])  # fmt: skip
    assert page.voids(found, "8219") == [
        "* 8219, nat: loss even at 55,100/s. 4 of: typical latency, µs (64); typical latency, µs (512)"
    ]


@pytest.mark.parametrize("value, said", [(0, "0"), (0.0123, "0.0123"), (1.234, "1.23"), (12.34, "12.3"),
                                         (123.4, "123"), (12345, "12,345"), (float("nan"), "–"), (float("inf"), "∞")])
def test_numbers(value: float, said: str) -> None:
    assert number(value) == said


# ---- a further run ----


def findings(*values: float) -> Findings:
    return Findings([figure("nat", value, run=run) for run, value in enumerate(values)])


@pytest.mark.parametrize(("first", "second", "agreed"), [
    ((1.0, 2.0, 3.0), (2.9, 3.5, 4.0), 1), ((1.0,), (1.15,), 1), ((1.0,), (1.3,), 0), ((1.0, 1.1), (2.0, 2.1), 0),
])  # fmt: skip
def test_runs_agree_within_their_spreads(first: tuple[float, ...], second: tuple[float, ...], agreed: int) -> None:
    count, lines = compare.report(findings(*first), findings(*second))
    assert (count, len(lines)) == (agreed, 1 - agreed)


@pytest.mark.parametrize(("what", "first", "second", "agreed"), [
    ("lost, %", 0.0, 0.9, 1), ("lost, %", 0.0, 1.1, 0), ("variation, µs", 0.0, -1.0, 1), ("variation, µs", 0.0, 5.0, 0),
    ("round trip, ms", 0.0, 0.1, 0),
])  # fmt: skip
def test_small_figures_agree(what: str, first: float, second: float, agreed: int) -> None:
    one, two = (Findings([Figure("VI", "nat", what, 0, 0, value)]) for value in (first, second))
    assert compare.report(one, two)[0] == agreed


def test_a_figure_of_one_run_only_is_named(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, tmp_path / "image", DEFAULT, {})
    shelf.put("VI", [figure("nat", 1.0), figure("wire", float("nan"), void="lost")])
    (tmp_path / "measured.json").write_text(compare.pack(shelf, ["VI"]))
    packed = compare.unpack(tmp_path / "measured.json")
    first = packed.found
    assert packed.made_with == shelf.made_with and packed.programs == {"VI": ""}
    assert compare.report(first, findings(1.0)) == (1, [])
    second = Findings([figure("nat", float("nan"), void="no answer"), figure("wire", 2.0)])
    assert compare.report(first, second) == (0, [
        "VI, nat, connection, ms, 8: only in the first (no answer)",
        "VI, wire, connection, ms, 8: only in the second (lost)",
    ])  # fmt: skip
    (tmp_path / "measured.json").write_text("[]")
    with pytest.raises(ValueError, match="no figures"):
        compare.unpack(tmp_path / "measured.json")


def test_a_run_of_something_else_is_not_compared() -> None:
    packed = compare.Packed(findings(1.0), {"image": "a" * 64, "effort": "quick"}, {"VI": "p", "X": "q"})
    assert compare.differing(packed, packed.made_with, {"VI": "p"}) == []
    assert compare.differing(packed, {"image": "b" * 64, "effort": "default"}, {"VI": "r", "X": "q"}) == [
        f"it is of another image ({'a' * 16} and {'b' * 16})", "it is of another effort (quick and default)",
        "it was measured by other programs: VI",
    ]  # fmt: skip
    assert packed.of({"VI": "r", "X": "q"}).found.figures == []


def test_the_page_says_how_far_a_second_run_agrees() -> None:
    first = Findings([*findings(1.0, 1.1).figures, figure("nat", 5.0, 16), figure("wire", 1.0), figure("nat", 1.0, 32),
                      figure("nat", 9.0, 32, 1), Figure("X", "6to4", "jitter, ms", 10, 0, 1.0)])
    later = [*findings(1.05, 1.0).figures, figure("nat", 8.0, 16), figure("nat", 8.0, 32)]
    second = compare.Packed(
        Findings([*later, Figure("XII", "6to4", "ping6, ms", 10, 0, 1.0)], 5), {}, {"VI": "p"},
        {"VI": "a Pentium 4"}, {"VI": "2026-11-30"},
    )  # fmt: skip
    text = markdown(first, second=second)
    assert "on 2026-11-30 on a Pentium 4. Not yet measured again: X." in text
    assert "| VI | 3 | 2 | 1 | 1 | 0 | 0 | 0 |" in text and "| all | 3 | 2 | 1 | 1 | 0 | 0 | 0 |" in text
    assert compare.report(first, second.found)[1] == [
        "VI, nat, connection, ms, 16: 5.00 and 8.00 [1], 1.60 times", "VI, wire, connection, ms, 8: only in the first",
    ]  # fmt: skip


@pytest.mark.parametrize(("linux", "agrees"), [((4.0, 4.4), 1), ((9.0, 9.4), 0)])
def test_ratios_agree_where_the_machine_is_slower(linux: tuple[float, ...], agrees: int) -> None:
    """Every time is twice the first run's; so no figure agrees, but the ratio of both."""

    def run(ours: tuple[float, ...], theirs: tuple[float, ...]) -> Findings:
        return Findings(figure(row, value, 8, number) for row, values in (("nat", ours), ("linux-nat", theirs))
                        for number, value in enumerate(values))  # fmt: skip

    first, second = run((1.0, 1.3), (2.0, 2.2)), run((2.0, 2.6), linux)
    pair, = agreement.ratios(first, second)
    assert pair.agrees == bool(agrees) and not pair.wide and pair.one.median == pytest.approx(1.15 / 2.1)
    assert pair.one.low == pytest.approx(1.0 / 2.2) and pair.one.high == pytest.approx(1.3 / 2.0)
    assert compare.report(first, second)[0] == 0
    packed = compare.Packed(second, {}, {"VI": ""}, {"VI": "here"}, {"VI": "today"})
    text = "\n".join(agreement.sections(first, packed, agreement.verdicts(first, second)))
    assert f"| VI | 2 | 0 | 0 | 0 | 1 | {agrees} | 0 | 2.00 | {sum(linux) / 4.2:.3g}" in text
    assert f"several repetitions in both runs {agrees} of 1 agree, of the others, which state no range, 0 of 0" in text
    assert ("* VI, nat / linux-nat, connection, ms, 8: 0.548 (0.455 to 0.650) and" in text) == (not agrees)
    assert "Of 1 verdicts, on 1 different pairs of ratios, 1 are the same" in text


def test_ratios_with_a_repetition_at_nothing_are_none() -> None:
    found = Findings([figure("nat", 0.0), figure("linux-nat", 2.0)])
    assert agreement.ratios(found, found) == []


def test_a_verdict_of_the_second_run_stands_beside_the_first() -> None:
    runs = [Findings([figure("nat", 1.0), figure("linux-nat", value)]) for value in (2.0, 0.5, 3.0)]
    assert agreement.verdicts(runs[0], Findings([])) == {}
    again = agreement.verdicts(*runs[:2])
    assert [(one.same, one.inside, one.times) for one in again.values()] == [(False, False, (2.0, 0.5))]
    text = page.summary(runs[0], again)
    assert any(line.endswith("| stronger; 1 repetition only | 0.500 x | not reproduced |") for line in text)
    assert len({line.count("|") for line in text if line}) == 1
    packed = compare.Packed(runs[1], {}, {"VI": ""}, {"VI": "here"}, {"VI": "today"})
    said = "\n".join(agreement.sections(runs[0], packed, again))
    assert "are in the second run 1 of them:\n\n* VI, nat / linux-nat, connection, ms, 8: 0.500 and 2.00" in said
    assert "Of 1 verdicts, on 1 different pairs of ratios, 0 are the same" in said
    assert "Of 1 the ratio is on the other side of 1." in said and "Of 0 verdicts on several points" in said
    again = agreement.verdicts(runs[0], runs[2])
    assert any(line.endswith("| 3.00 x | the same |") for line in page.summary(runs[0], again))


def test_a_second_verdict_on_fewer_points_says_so() -> None:
    runs = [Findings(figure(row, value, x, 0) for x in sizes for row, value in (("nat", 1.0), ("linux-nat", 2.0)))
            for sizes in ((8, 16), (8,))]  # fmt: skip
    again = agreement.verdicts(*runs)
    assert all(one.inside for one in again.values())
    assert any("| 2.00 x, of 1 points | the same |" in line for line in page.summary(runs[0], again))


@pytest.mark.parametrize(("one", "two", "turned"), [
    (2.0, 0.5, True), (0.5, 2.0, True), (2.0, 1.01, False), (1.01, 0.99, False), (2.0, 3.0, False), (0.0, 2.0, True),
])  # fmt: skip
def test_ratios_on_different_sides_of_1(one: float, two: float, turned: bool) -> None:
    assert agreement.opposite(one, two) == turned


def test_how_far_apart_the_ratios_are() -> None:
    pairs = [agreement.Pair("VI", "", *(Value(value, value, value, 1) for value in (1.0, two)))
             for two in (0.5, 1.0, 3.0, 1.5)]  # fmt: skip
    assert agreement.factor(pairs, 0.5) == "1.50" and agreement.factor(pairs, 0.9) == "3.00"
    assert agreement.factor(pairs[:1], 0.5) == "2.00" and agreement.factor([], 0.5) == "–"


def test_titles_name_comparisons() -> None:
    assert len({one.title for one in COMPARISONS}) == len(COMPARISONS)


def test_machines_are_named_with_their_parts() -> None:
    assert bed.where({}) == "" and bed.where({"II": "a", "V": "a"}) == "a"
    assert bed.where({"II": "a", "V": "b", "VI": "a"}) == "a (II, VI); b (V)"
