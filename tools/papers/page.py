# SPDX-License-Identifier: BSD-2-Clause
"""The page docs/papers.md: for each table the paper's figures beside ours, the ratios, and a verdict by rule."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import agreement
import bed
import compare
import curves
import faults
import inner
import names
import sections
import target
from comparisons import ABSENT, CANNOT, COMPARISONS, SAME, Comparison
from paper import Transcript
from results import Effort, Findings
from verdicts import FEW, SAME_SIZE, Compared, Line, compared, lines, near_floor, ratio, rows_of, scale_of, verdict


@dataclass(frozen=True)
class About:
    """What the page says besides the figures."""

    made: str  # when, where and by which command
    pictures: dict[str, str]  # paths by the comparison's title
    image: str  # the SHA-256 of ours
    cache: Path  # the folder of the Linux guests' packages
    second: compare.Packed | None = None  # a second run


def _times(value: float | None) -> str:
    return "–" if value is None else f"{sections.rounded(value)} x"


def _ranged(value: float | None, of: tuple[float, ...], full: tuple[bool, bool] = (True, True)) -> str:
    """A ratio, with the least and the most of those at the points; a bound where one of the two was not full."""
    text = {(False, True): "at least ", (True, False): "at most "}.get(full, "") + _times(value)
    return f"{text} ({sections.rounded(min(of))} to {sections.rounded(max(of))})" if len(of) > 1 else text


def _sources(one: Comparison) -> str:
    """Where the figures of the paper stand."""
    others = [curve.key.rpartition("/")[0] for curve in one.theirs]
    named = dict.fromkeys([one.name, *(name for name in others if name)])
    lines = [line.removeprefix("Page not known; ") for name in named for line in Transcript(name).source]
    said = [line for line in lines if line.startswith(("Table", "the paper says"))]
    return f"{bed.PAPERS[one.name[:4]][0]}, {'; '.join(said)}"


def _unit(one: Comparison) -> str:
    """Of the figures."""
    unit = one.what.rpartition(", ")[2] if ", " in one.what else one.what
    return f"{unit}, which is assumed of the paper's" if "no unit" in _sources(one) else unit


def _full(one: Comparison, said: Compared) -> list[str]:
    """Which of our systems were not full at the highest rate offered."""
    if said.ours is None or not one.offered or all(said.full):
        return []
    which = " and ".join(curve.title for curve, full in zip(one.ours, said.full, strict=True) if not full)
    return [f"Not full: {which} processed all that was offered, but for a hundredth.", ""]


def _near_floor(one: Comparison, listed: list[Line]) -> list[str]:
    """At how many points what we add cannot be told from the network's own."""
    near, total = near_floor(one, listed)
    if not total:
        return []
    text = "*Floor* is the network of the test without a gateway."
    if near:
        text += f" At {near} of {total} points the range of {one.ours[0].title} overlaps the floor's: there its own"
        text += " share cannot be told." if one.less_is_better else " share in the limit cannot be told."
    return [text, ""]


def _table_of(one: Comparison, found: Findings, listed: list[Line]) -> list[str]:
    """The paper's columns, and ours; of a box its own, beside the paper's bare PC."""
    box, scale = found.of_box(), scale_of(one, found)
    beside = [curve for curve in (one.beside,) if curve and not box]
    header = [one.x_title, *(f"{curve.title}, paper" for curve in one.theirs)]
    header += [f"{one.beside_theirs.title}, paper"] if one.beside_theirs else []
    header += ["ratio", *(["offered here, packets/s"] if one.scale else [])]
    header += [target.ROW.title] if box else [curve.title for curve in (*one.ours, *beside)]
    rows = []
    for line in listed:
        theirs, ours = line.ratios(one.less_is_better)
        rows.append([f"{line.x:,g}", *map(sections.text_of, line.theirs)])
        rows[-1] += [sections.text_of(line.beside_theirs)] if one.beside_theirs else []
        rows[-1] += [_times(theirs)]
        rows[-1] += [sections.rounded(line.x * scale) if scale else "–"] if one.scale else []
        cells = [sections.text_of(value, why) for value, why in zip(line.ours, line.why, strict=True)]
        rows[-1] += cells[: 1 if box else 2]
        rows[-1] += [sections.text_of(line.beside)] if beside else []
        if not box:
            rows[-1] += [_times(ours)]
        elif not one.scale:
            rows[-1] += [_times(ratio(line.medians()[0], line.theirs[0], one.less_is_better))]
    last = ["ratio"] if not box else [] if one.scale else [f"{target.ROW.title} beside {one.theirs[0].title}"]
    return sections.table([*header, *last], rows)


def comparison(one: Comparison, found: Findings, picture: str) -> list[str]:
    """The section of one table. A box stands beside the paper's bare PC."""
    listed, box = lines(one, found), found.of_box()
    title = one.title.replace("our Linux guest", target.ROW.title) if box else one.title
    text = [f"### Table {one.table}: {title}", "", f"Paper: {_sources(one)}. Figures: {_unit(one)}.", ""]
    text += [f"**In doubt:** {found.doubt(one.part)}.", ""] if found.doubt(one.part) else []
    if one.scale and (most := found.value(one.part, rows_of(one, found)[1], one.scale, 0)):
        text += [f"The scale: {'the box' if box else 'our Linux guest'} processed {sections.rounded(most.median)}"
                 " packets/s in a search before the series; it can be more later.", ""]  # fmt: skip
    text += _table_of(one, found, listed)
    text += [] if box else [*_full(one, compared(one, listed, scale_of(one, found))), *_near_floor(one, listed)]
    text += [f"![Table {one.table}: {one.title}]({picture})", ""] if picture else []
    if box:
        return [*text, *([] if one.scale else [f"What differs: {one.differs}", ""])]
    same = one.same or SAME.get(one.part, "")
    text += [f"What is the same: {same}", ""] if same else []
    text += [f"What differs: {one.differs}", ""]
    text += [f"What cannot be said: {CANNOT[one.part]}", ""] if one.part in CANNOT else []
    return text


def _reserves(one: Comparison, found: Findings, listed: list[Line], said: Compared) -> list[str]:
    """What weakens a verdict."""
    if said.ours is None:
        return []
    near, total = near_floor(one, listed)
    columns = frozenset(curve.key for curve in one.theirs)
    reserves = {
        f"{said.runs} repetition{'s' if said.runs > 1 else ''} only": 0 < said.runs < FEW,
        "near the floor": 2 * near > total,
        "the paper's columns are a constant apart": any(
            columns == {it.column, it.other} for it in faults.constants(one.name)),
        "in doubt: the machine was busy": bool(found.doubt(one.part)),
    }  # fmt: skip
    return [words for words, holds in reserves.items() if holds]


def _again(one: agreement.Again | None) -> list[str]:
    """What a second run says to a claim: the cells of our ratio and of the verdict."""
    if one is None:
        return ["–", "–"]
    first, second = one.said
    words = "the same" if one.same else verdict(second)
    fewer = f", of {second.points} points" if second.points != first.points else ""
    return [_ranged(second.ours, second.ours_all, second.full) + fewer, words]


def summary(found: Findings, again: dict[str, agreement.Again]) -> list[str]:
    """A line for each claim of the papers: their ratio, ours, the verdict, and those of a second run if any."""
    rows = []
    for one in COMPARISONS:
        if not one.ranked:
            continue
        listed = lines(one, found)
        said = compared(one, listed, scale_of(one, found))
        points = str(said.points) if said.points else "most" if said.ours is not None else "–"
        rows.append([
            one.table, one.title, _ranged(said.theirs, said.theirs_all), _ranged(said.ours, said.ours_all, said.full),
            points, "; ".join([verdict(said), *_reserves(one, found, listed, said)]), *_again(again.get(one.title)),
        ])  # fmt: skip
    rows += [[name, title, "–", "–", "–", why, "–", "–"] for name, title, why in ABSENT]
    header = ["table", "what", "their ratio", "our ratio", "points", "verdict", "our ratio, second run", "its verdict"]
    shown = len(header) if again else len(header) - 2
    return sections.table(header[:shown], [row[:shown] for row in rows])


def voids(found: Findings, part: str) -> list[str]:
    """Why figures of a part do not count: a line for each guest and reason, with the quantities and how many."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in found.figures:
        if one.part == part and one.void:
            groups.setdefault((one.row, sections.plain(one.void)), []).append(
                f"{one.what} ({one.x:,g})" if one.x else one.what
            )
    return [
        f"* {part}, {row}: {reason}. {len(whats)} of: {'; '.join(dict.fromkeys(whats))}"
        for (row, reason), whats in groups.items()
    ]


QUICK_BOX = " A quick run leaves out the rate with 0.1 % lost, 10 and 1,000 flows, and the connections held."
QUICK = (
    " A quick run leaves out links of 100 Mbit/s of table V, NAT and 6to4 in two boxes, BIND, PowerDNS and shares of"
    " 50 % between hosts, the rate with 0.1 % lost, 10 and 1,000 flows, and in RFC 9693 NAT64 and the connections held."
)


def _begin(found: Findings, effort: Effort) -> list[str]:
    """What holds for the whole page."""
    repeated = "1 repetition" if effort.runs == 1 else f"{effort.runs} repetitions"
    text = [
        f"{repeated} where nothing else is said; trials of {effort.seconds:g} s, the last of a search"
        f" {effort.last:g} s. Medians, with the 1st and the 99th percentile in brackets (of less than some 50"
        " repetitions these are the least and the most); a number in square brackets says how many repetitions a figure"
        " has if they are fewer."
        f" {sections.MARK} marks a figure whose repetitions differ by more than twice: its median says little. Ours"
        " have three digits."
        + ("" if effort.name == "rfc" else " RFC 8219 asks for 60 s and 20 repetitions: these are fewer.")
        + ("" if not effort.quick else QUICK_BOX if found.of_box() else QUICK), "",
    ]  # fmt: skip
    if found.of_box():
        return [
            "The papers' bare PC was a Pentium 4. The box was measured over two Ethernet interfaces of a PC that was"
            " all hosts. A ratio is how many times better the first of two is; the last one is that of the box beside"
            " the paper's bare PC, below 1 where the paper's is better.", "", *text,
        ]  # fmt: skip
    return [
        "Theirs is a Pentium 4 PC, in time. Ours is an emulator (QEMU) without caches or buses, with a Linux guest"
        " beside it in the same part of a run. Compare ratios with ratios, not milliseconds with milliseconds.", "",
        *text,
        "A ratio is how many times better the first of two is; below 1 the second one is better, and *stronger* means"
        " further below. A verdict compares the median ratio of the points that"
        " both have (with the least and the most of them in brackets; points where all four have 0 are left out; 0 and"
        " ∞: one of the two has 0, as of lost packets);"
        " for table VII, where all are equal until one is full, and for the servers of 2015 the ratio of the"
        " most that each processed. Where one of ours was not full, the ratio is a bound."
        " *Within the spread*: at more than half of the points our two ranges overlap; the ranges of few repetitions"
        " lie apart by chance, so those are named. *Near the floor*: so do ours and the network without a gateway."
        f" *Stronger* is a tenth more (of its logarithm) than the paper's; one within {SAME_SIZE * 100:.0f} % of 1 is"
        " *no difference*. The rules look at size and sign only: a line that has the paper's ratio can still have"
        " another shape.", "",
        "Two runs agree if the ranges of a figure or of a ratio overlap, each at least"
        f" {sections.SPREAD * 100:.0f} %, for figures also half a point of percent or two microseconds, to either side"
        " of its median (`tools/papers/run --compare FILE`).", "",
    ]  # fmt: skip


def _questions(found: Findings, effort: Effort) -> list[str]:
    """DNS64 between hosts, and what its rates do not say."""
    text = names.sections(found, effort)
    marked = any(
        one.part == "DNS-hosts" and one.what.startswith("all answered") and (value := found.value(
            one.part, one.row, one.what, one.x)) and sections.scattered(value)
        for one in found.figures
    )  # fmt: skip
    if marked:
        text += [
            "A trial fails at a single answer that is late or lost, and a search from above halves the rate then. Where"
            f" repetitions differ as those marked {sections.MARK} do, or a rate is far below its neighbours, this is"
            " what ended the search: what the server answers at most is more.", "",
        ]  # fmt: skip
    return text


def _steps(found: Findings, picture: str) -> list[str]:
    """What tables II and XVI say, and what they cannot."""
    ways = {"4 to 6": inner.WAYS["4to6"], "6 to 4": inner.WAYS["6to4"]}
    slow = [f"{sections.measured(value)} in `{row}`" for row in ("nat", "nat64")
            if (value := found.value("II", row, "slow, cycles", inner.WAYS["out"]))]  # fmt: skip
    address = [found.value("II", "ivi", "address, cycles", x) for x in ways.values()]
    text = [
        "What is the same: the names of the steps. Our *Forwarding* is a whole known packet from frame to frame, so"
        " more than the paper's step. What cannot be said: what a Pentium 4 needs, and how the steps add up. The steps"
        " of a translation are timed where a packet takes the long way, as the first one of a flow does; a known one"
        " takes a shorter one, which is less than the sum of the steps.",
    ]
    more = [
        (known.median / whole.median - 1) * 100 for row in ("nat", "nat64", "6to4")
        if (known := found.value("II", row, "known, cycles", inner.WAYS["out"]))
        and (whole := found.value("II", row, "whole packet, instructions", inner.WAYS["out"]))
    ]  # fmt: skip
    if more:
        text[0] += (
            f" The guest's own clock gives {min(more):.0f} to {max(more):.0f} % more for a known packet than the plugin"
            " of the emulator, which counts whole packets."
        )
    if slow:
        text[0] += f" The first packet of a flow takes the long way, in cycles: {', '.join(slow)}."
    if address[0] and address[1]:
        here = "less" if address[0].median < address[1].median else "more"
        text.append(f"The paper's mapping of addresses costs more from 4 to 6 than from 6 to 4; ours costs {here}.")
    plot = [f"![Table XVI: translation times]({picture})", ""] if picture else []
    return [*plot, *text, ""] if found.rows("II") else []


def markdown(found: Findings, effort: Effort, about: About) -> str:
    """The page."""
    text = ["# The papers, measured again", "", about.made, "", *_begin(found, effort)]
    box, pictures = found.of_box(), about.pictures
    again = agreement.verdicts(found, about.second.found) if about.second else {}
    text += [] if box else ["## Summary", "", *summary(found, again), *bed.sections(about.image, about.cache)]
    parts = sorted({one.part for one in found.figures})
    text += ["## The papers' tables", ""]
    for one in COMPARISONS:
        if not box or one.part in parts:
            text += comparison(one, found, pictures.get(one.title, ""))
    text += [] if box else [*inner.sections(found), *_steps(found, pictures.get(curves.STEPS, ""))]
    text += [*sections.rfc8219(found, effort, pictures), *sections.rfc9693(found, effort)]
    text += [] if box else [*sections.others(found), *_questions(found, effort)]
    text += [] if box else ["## What we found wrong", "", *(f"* {line}" for line in faults.wrong()), ""]
    text += agreement.sections(found, about.second, again) if about.second else []
    void = [line for part in parts for line in voids(found, part)]
    text += ["## Figures that do not count", "", *void, ""] if void else []
    return "\n".join([*text, *bed.references()])


def write(page: Path, text: str) -> None:
    """Replaces the page by one with this text."""
    fresh = page.with_suffix(".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.rename(page)
