# SPDX-License-Identifier: BSD-2-Clause
"""The section of the page on a second run: how far its figures, ratios and verdicts agree with the first one's."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection
from dataclasses import dataclass

import bed
import resolver
import rfc
from compare import Outcome, Packed, agree, outcomes
from comparisons import COMPARISONS
from results import Findings, Value
from sections import measured, rounded, scattered, table
from verdicts import SAME_SIZE, Compared, compared, lines, scale_of, size, verdict

# The rows whose figures are divided by those of their peers.
PEERS = {ours: (peer,) for ours, peer in rfc.FORWARDERS} | {
    resolver.DNS_ROWS[0]: resolver.DNS_ROWS[1:], "colocated_bare": ("colocated_linux",),
    "bare_bare": ("linux_linux",), "bare_linux": ("linux_bare",),
}  # fmt: skip
OURS = set(PEERS) - {"bare_linux"}  # that are Baregate's alone
THEIRS = {peer for ours in OURS for peer in PEERS[ours]}
WIDE = 3.0  # so many times its least is the most of a ratio: it agrees with nearly all


def _ratio(ours: Value | None, peer: Value | None) -> Value | None:
    """A figure of a row divided by its peer's, with the range that follows from those of both; None where one of them
    is missing or has a repetition at 0 or below."""
    if ours is None or peer is None or min(ours.low, peer.low) <= 0:
        return None
    return Value(ours.median / peer.median, ours.low / peer.high, ours.high / peer.low, min(ours.runs, peer.runs))


@dataclass(frozen=True)
class Pair:
    """The same ratio in two runs."""

    part: str
    name: str
    one: Value
    two: Value

    @property
    def agrees(self) -> bool:
        return agree(self.one, self.two)

    @property
    def line(self) -> str:
        return f"{self.name}: {measured(self.one)} and {measured(self.two)}"

    @property
    def wide(self) -> bool:
        return any(ratio.high > WIDE * ratio.low for ratio in (self.one, self.two))


def ratios(first: Findings, second: Findings) -> list[Pair]:
    """Those that both runs have."""
    found = []
    for part, row, what, x in dict.fromkeys((one.part, one.row, one.what, one.x) for one in first.figures):
        for peer in PEERS.get(row, ()):
            keys = (part, row, what, x), (part, peer, what, x)
            one, two = (_ratio(*(run.value(*key) for key in keys)) for run in (first, second))
            if one and two:
                found.append(Pair(part, f"{part}, {row} / {peer}, {what}, {x:g}", one, two))
    return found


def factor(pairs: list[Pair], share: float) -> str:
    """By which the medians of this share of the ratios, at least one, differ at most."""
    times = sorted(math.exp(abs(size(pair.one.median) - size(pair.two.median))) for pair in pairs)
    return rounded(times[math.ceil(share * len(times)) - 1]) if times else "–"


def opposite(one: float, two: float) -> bool:
    """Do two ratios lie on different sides of 1, both by more than what is no difference?"""
    sizes = size(one), size(two)
    return min(sizes) < -SAME_SIZE and max(sizes) > SAME_SIZE


@dataclass(frozen=True)
class Again:
    """What two runs say to a claim of the papers."""

    said: tuple[Compared, Compared]
    times: tuple[float, float]  # our ratios

    @property
    def same(self) -> bool:
        return verdict(self.said[0]) == verdict(self.said[1])

    @property
    def inside(self) -> bool:
        """Is the second ratio between the least and the most of the first one's points?"""
        return min(self.said[0].ours_all) <= self.times[1] <= max(self.said[0].ours_all)


def verdicts(first: Findings, second: Findings) -> dict[str, Again]:
    """Those of the summary that both runs have, by the comparison's title."""
    found = {}
    for one in COMPARISONS:
        if not one.ranked:
            continue
        said = [compared(one, lines(one, run), scale_of(one, run)) for run in (first, second)]
        if said[0].ours is not None and said[1].ours is not None:
            found[one.title] = Again((said[0], said[1]), (said[0].ours, said[1].ours))
    return found


def _moved(figures: list[Outcome], rows: set[str]) -> str:
    """By which factor the medians of the two runs differ, the median of the figures of these rows."""
    far = [abs(size(one.two.median) - size(one.one.median)) for one in figures
           if one.key[1] in rows and one.one and one.two and min(one.one.median, one.two.median) > 0]  # fmt: skip
    return rounded(math.exp(statistics.median(far))) if far else "–"


def _counts(figures: list[Outcome], pairs: list[Pair]) -> list[str]:
    """A row of the table, without its first cell."""
    good = [one for one in figures if one.agrees]
    wide = [one for one in good if any(value and scattered(value) for value in (one.one, one.two))]
    both, close = sum(one.both for one in figures), [pair for pair in pairs if pair.agrees]
    numbers = (both, len(good), len(wide), len(figures) - both, len(pairs), len(close), sum(one.wide for one in close))
    return [*map(str, numbers), _moved(figures, OURS), _moved(figures, THEIRS)]


def _on_verdicts(again: Collection[Again]) -> str:
    """How far the two summaries agree."""
    ranged = [one for one in again if one.said[0].points > 1]
    return (
        f"Of {len(again)} verdicts, on {len({one.times for one in again})} different pairs of ratios,"
        f" {sum(one.same for one in again)} are the same; the summary has both. Of"
        f" {sum(opposite(*one.times) for one in again)} the ratio is on the other side of 1. Of {len(ranged)} verdicts"
        f" on several points {sum(one.inside for one in ranged)} have a second ratio between the least and the most of"
        " the first one's points."
    )


def _on_ratios(pairs: list[Pair]) -> list[str]:
    """How far the ratios agree, and which do not."""
    several = [pair for pair in pairs if min(pair.one.runs, pair.two.runs) > 1]
    single = [pair for pair in pairs if pair not in several]
    moved = [pair for pair in pairs if max(abs(size(pair.one.median)), abs(size(pair.two.median))) > SAME_SIZE]
    turned = [pair for pair in pairs if opposite(pair.one.median, pair.two.median)]
    counts = [f"{sum(pair.agrees for pair in some)} of {len(some)}" for some in (several, single, moved)]
    return [
        "Ratios that do not agree:", "",
        *(f"* {pair.line}" for pair in pairs if not pair.agrees), "",
        f"Of those with several repetitions in both runs {counts[0]} agree, of the others, which state no range,"
        f" {counts[1]}. Without those that are within {SAME_SIZE * 100:.0f} % of 1 in both runs, as where nothing is"
        f" full, {counts[2]} agree; half of them differ by a factor of at most {factor(moved, 0.5)}, nine of ten by at"
        f" most {factor(moved, 0.9)}. That much they depend on the machine, on its load, and on chance.", "",
        f"On the other side of 1, by more than {SAME_SIZE * 100:.0f} %, are in the second run {len(turned)} of them:",
        "", *(f"* {pair.line}" for pair in turned), "",
    ]  # fmt: skip


def sections(first: Findings, second: Packed, again: dict[str, Again]) -> list[str]:
    """The section; nothing if the runs have no part in common."""
    figures, pairs = outcomes(first, second.found), ratios(first, second.found)
    if not figures:
        return []
    parts = list(dict.fromkeys(one.key[0] for one in figures))
    rows = [
        [part, *_counts([one for one in figures if one.key[0] == part], [one for one in pairs if one.part == part])]
        for part in parts
    ]
    missing = [part for part in dict.fromkeys(one.part for one in first.figures) if part not in parts]
    where = bed.where({part: second.machines[part] for part in parts})
    days = sorted({second.dates[part] for part in parts})
    void = [sum(bool(one.void) for one in run.figures if one.part in parts) for run in (first, second.found)]
    header = ["part", "figures", "agree", "of them wide", "in one run only", "ratios", "agree", "of them wide",
              "ours, factor", "peers, factor"]  # fmt: skip
    return [
        "## A second run", "",
        "Everything was started again, and measured once more with the same image, on"
        f" {' to '.join(dict.fromkeys((days[0], days[-1])))} on {where}."
        + (f" Not yet measured again: {', '.join(missing)}." if missing else "")
        + " Times and rates are those of the machine, so on another one only what is counted and the ratios should"
        " agree. *Factor*: by which half of the figures above 0 differ at most. The loads behind of tables VIII to XV"
        " are fixed: what is full there on one machine need not be on another. A ratio is a figure of Baregate divided"
        " by its peer's (of mixed pairs, of NAT on bare and 6to4 on Linux by the reverse); one with a repetition at 0"
        " is left out. Its range follows from those of both. *Wide* are those that agree and have a figure whose"
        f" repetitions differ by more than twice, or a ratio whose most is more than {WIDE:g} times its least. A figure"
        " with one repetition"
        f" states no range of its own. Of the figures of the first run {void[0]} are void, of the second {void[1]}."
        " `tools/papers/run --compare docs/papers/measured.json docs/papers/second.json` names each figure that does"
        " not agree, or that only one run has.", "",
        *table(header, [*rows, ["all", *_counts(figures, pairs)]]),
        *_on_ratios(pairs), _on_verdicts(again.values()), "",
    ]  # fmt: skip
