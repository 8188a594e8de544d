# SPDX-License-Identifier: BSD-2-Clause
"""The section of the page on a second run: how far its figures, ratios and verdicts agree with the first one's."""

from __future__ import annotations

import math
from dataclasses import dataclass

import bed
import resolver
import rfc
from compare import Outcome, Packed, agree, outcomes
from comparisons import COMPARISONS
from results import Findings, Value
from sections import measured, rounded, scattered, table
from verdicts import SAME_SIZE, compared, lines, scale_of, size, verdict

# The rows whose figures are divided by those of their peers.
PEERS = {ours: (peer,) for ours, peer in rfc.FORWARDERS} | {
    resolver.DNS_ROWS[0]: resolver.DNS_ROWS[1:], "colocated_bare": ("colocated_linux",),
    "bare_bare": ("linux_linux",), "bare_linux": ("linux_bare",),
}  # fmt: skip
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


def apart(pairs: list[Pair], share: float) -> float:
    """How many times the medians of this share of the ratios, at least one, differ at most."""
    times = sorted(math.exp(abs(size(pair.one.median) - size(pair.two.median))) for pair in pairs)
    return times[math.ceil(share * len(times)) - 1]


def opposite(one: float, two: float) -> bool:
    """Do two ratios lie on different sides of 1, both by more than what is no difference?"""
    sizes = size(one), size(two)
    return min(sizes) < -SAME_SIZE and max(sizes) > SAME_SIZE


@dataclass(frozen=True)
class Again:
    """What two runs say to a claim of the papers: verdicts, and the ratios that they are on."""

    words: tuple[str, str]
    times: tuple[float, float]

    @property
    def same(self) -> bool:
        return self.words[0] == self.words[1]

    @property
    def text(self) -> str:
        """Of the second run."""
        return "the same" if self.same else f"{self.words[1]} ({rounded(self.times[1])} x)"


def verdicts(first: Findings, second: Findings) -> dict[str, Again]:
    """Those of the summary that both runs have, by the comparison's title."""
    found = {}
    for one in COMPARISONS:
        said = [compared(one, lines(one, run), scale_of(one, run)) for run in (first, second)]
        times = [each.ours for each in said if each.ours is not None]
        if one.ranked and len(times) == len(said):
            found[one.title] = Again((verdict(said[0]), verdict(said[1])), (times[0], times[1]))
    return found


def _counts(figures: list[Outcome], pairs: list[Pair]) -> list[str]:
    """A row of the table, without its first cell."""
    good = [one for one in figures if one.agrees]
    wide = [one for one in good if any(value and scattered(value) for value in (one.one, one.two))]
    both, close = sum(one.both for one in figures), [pair for pair in pairs if pair.agrees]
    numbers = (both, len(good), len(wide), len(figures) - both, len(pairs), len(close), sum(one.wide for one in close))
    return [str(number) for number in numbers]


def sections(first: Findings, second: Packed) -> list[str]:
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
    again = verdicts(first, second.found).values()
    far = [rounded(apart(pairs, share)) if pairs else "–" for share in (0.5, 0.9)]
    turned = sum(opposite(pair.one.median, pair.two.median) for pair in pairs)
    return [
        "## A second run", "",
        "Everything was started again, and measured once more with the same image, on"
        f" {' to '.join(dict.fromkeys((days[0], days[-1])))} on {where}."
        + (f" Not yet measured again: {', '.join(missing)}." if missing else "")
        + " Times and rates are those of the machine, so on another one only what is counted and the ratios can agree."
        " The loads behind of tables VIII to XV are fixed: what is full there on one machine need not be on another."
        " A ratio is a figure of Baregate divided by its peer's; its range follows from those of both. *Wide* are those"
        " that agree because a figure's repetitions differ by more than twice, or because the most of a ratio is more"
        f" than {WIDE:g} times its least. A figure with one repetition states no range of its own. `tools/papers/run"
        " --compare` names each figure that does not agree.", "",
        *table(["part", "figures", "agree", "of them wide", "in one run only", "ratios", "agree", "of them wide"],
               [*rows, ["all", *_counts(figures, pairs)]]),
        "Ratios that do not agree:", "",
        *(f"* {pair.name}: {measured(pair.one)} and {measured(pair.two)}" for pair in pairs if not pair.agrees), "",
        f"Half of the ratios differ between the two runs by at most {far[0]} times, nine of ten by at most {far[1]}"
        f" times: so far they depend on the machine, and on what it does meanwhile. In the second run {turned} of the"
        f" {len(pairs)} ratios are on the other side of 1 than in the first. Of"
        f" {len(again)} verdicts {sum(one.same for one in again)} are the same, and the summary says what the others"
        f" became; of {sum(opposite(*one.times) for one in again)} the ratio is on the other side of 1.", "",
    ]  # fmt: skip
