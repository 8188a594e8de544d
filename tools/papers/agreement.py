# SPDX-License-Identifier: BSD-2-Clause
"""The section of the page on a second run: how far its figures, ratios and verdicts agree with the first one's."""

from __future__ import annotations

from dataclasses import dataclass

import resolver
import rfc
from compare import Outcome, Packed, agree, outcomes
from comparisons import COMPARISONS
from results import Findings, Value
from sections import measured, rounded, scattered, table
from verdicts import compared, lines, scale_of, verdict

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


def changed_verdicts(first: Findings, second: Findings) -> tuple[int, list[str]]:
    """How many verdicts of the summary both runs have, and a line for each that changed."""
    total, changed = 0, []
    for one in COMPARISONS:
        said = [compared(one, lines(one, run), scale_of(one, run)) for run in (first, second)]
        if not one.ranked or None in (said[0].ours, said[1].ours):
            continue
        total += 1
        words = [verdict(each) for each in said]
        if words[0] != words[1]:
            times = [rounded(each.ours) for each in said if each.ours is not None]
            changed.append(f"{one.table}, {one.title}: {words[0]} ({times[0]} x) and {words[1]} ({times[1]} x)")
    return total, changed


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
    days = sorted({second.dates[part] for part in parts})
    where = "; ".join(dict.fromkeys(second.machines[part] for part in parts))
    total, changed = changed_verdicts(first, second.found)
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
        f"Of {total} verdicts {total - len(changed)} are the same. The others:", "",
        *(f"* {one}" for one in changed), "",
    ]  # fmt: skip
