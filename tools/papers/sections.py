# SPDX-License-Identifier: BSD-2-Clause
"""The sections of the page with figures that the papers do not have: the procedures of the RFCs, DNS64, calls; and how
figures are written in tables."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable

import rfc
import guest
import target
from paper import Transcript
from procedures import BURST_MOST
from results import Effort, Findings, Value, number

SPREAD = 0.1  # by which a figure may differ in a further run, whatever its own spread
REASON = 60  # letters of a reason that fit into a table
SCATTERED = 2.0  # so many times the least repetition is the most: such a figure is marked
MARK = "†"
RING = 256  # descriptors of QEMU's virtio-net for frames to the guest, by default
RING_NEAR = 10  # by which a burst that fills it may differ: the step of the search, and what was taken meanwhile
RING_TEXT = [f"All end about the {RING} descriptors of the virtual card: this says nothing about the gateways.", ""]
Column = tuple[str, str, float]  # title, quantity, x


def rounded(value: float) -> str:
    """Three significant digits, also of large figures."""
    return number(float(f"{value:.3g}"))


def scattered(value: Value) -> bool:
    """Do its repetitions differ so much that the median says little?"""
    return value.runs > 1 and value.low > 0 and value.high > SCATTERED * value.low


def measured(value: Value) -> str:
    """A figure of ours: the median, in brackets the range, in square brackets the repetitions if they are fewer than
    planned."""
    text = rounded(value.median)
    if value.runs > 1:
        text += f" ({rounded(value.low)} to {rounded(value.high)})"
    if value.runs < value.planned:
        text += f" [{value.runs}]"
    return f"{text} {MARK}" if scattered(value) else text


def plain(reason: str) -> str:
    """A reason with its figures written as the page writes them."""
    return re.sub(r"\d+(\.\d+)?e\+\d+", lambda found: rounded(float(found[0])), reason)


def text_of(value: float | Value | None, why: str = "") -> str:
    """A cell of a table; `why` is the reason if there is no value."""
    if value is None:
        return f"void: {plain(why)[:REASON]}" if why else "–"
    return measured(value) if isinstance(value, Value) else number(value)


def cell(found: Findings, key: tuple[str, str, str, float]) -> str:
    """The figure of a part, row, quantity and x, or why there is none."""
    return text_of(found.value(*key), found.why(*key))


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """A table in Markdown, with an empty line after it."""
    return [f"| {' | '.join(words)} |" for words in (header, ["---"] * len(header), *rows)] + [""]


def title_of(row: str) -> str:
    """The guest's or the box's name on the page."""
    title: str = target.ROW.title if row == target.ROW.name else guest.ROWS[row].title
    return title


def pivot(found: Findings, part: str, columns: Iterable[Column], first: str = "guest") -> list[str]:
    """A row for each guest of a part, a column for each quantity."""
    measured = {(one.what, one.x) for one in found.figures if one.part == part}
    wanted = [one for one in columns if one[1:] in measured]
    rows = [[title_of(row), *(cell(found, (part, row, *one[1:])) for one in wanted)] for row in found.rows(part)]
    if not wanted or not rows:
        return ["Not measured.", ""]
    return table([first, *(title for title, _, _ in wanted)], rows)


RATES: tuple[tuple[str, str], ...] = (
    ("throughput, frames/s each way", rfc.NONE_LOST),
    ("with 0.1 % lost, frames/s each way", "0.1 % lost, frames/s each way"),
    ("full load one way, frames/s", rfc.FULL),
)
DELAYS: tuple[tuple[str, str], ...] = (
    ("typical latency", "typical latency, µs"),
    ("worst case latency (99.9 %)", "worst case latency (99.9 %), µs"),
    ("PDV", "packet delay variation, µs"),
    ("IPDV, least", "inter-packet delay variation, least, µs"),
    ("IPDV, median", "inter-packet delay variation, median, µs"),
    ("IPDV, most", "inter-packet delay variation, most, µs"),
)


def frames(row: str, x: float) -> str:
    """The sizes of a frame on the LAN and on the WAN, with check sequence, for a nominal size."""
    path = "nat" if row == target.ROW.name else guest.ROWS[row].path
    plain = rfc.fitting(path, int(x) - 4) + 4
    lan = plain + (20 if path in ("6to4", "xlat", "nat64") else 0)
    wan = plain + (40 if path == "6to4" else 0)
    return f"{lan:,}" if lan == wan else f"{lan:,} / {wan:,}"


def by_size(found: Findings, columns: tuple[tuple[str, str], ...]) -> list[str]:
    """A row for each guest and frame size."""
    rows = []
    measured = {one.what for one in found.figures if one.part == "8219"}
    columns = tuple(one for one in columns if one[1] in measured)
    for row in found.rows("8219"):
        sizes = sorted({one.x for one in found.figures if (one.part, one.row) == ("8219", row)
                        and one.what in (rfc.NONE_LOST, rfc.FULL)})
        for x in sizes:
            cells = [cell(found, ("8219", row, what, x)) for _, what in columns]
            rows.append([title_of(row), frames(row, x), *cells])
    if not rows:
        return ["Not measured.", ""]
    return table(["guest", "frame, bytes (LAN / WAN)", *(title for title, _ in columns)], rows)


def _doubt(found: Findings, part: str) -> list[str]:
    return [f"**In doubt:** {found.doubt(part)}.", ""] if found.doubt(part) else []


def degradation(found: Findings) -> list[str]:
    """RFC 8219, section 10.2.1: what is lost with more flows, of the rate with one."""
    what = "full load by flows, frames/s"
    measured = {one.x for one in found.figures if one.what == what}
    flows = [many for many in rfc.OVERLOAD_FLOWS if many in measured or many == rfc.OVERLOAD_FLOWS[0]]
    rows = []
    for row in found.rows("8219"):
        values = [found.value("8219", row, what, many) for many in flows]
        if values[0] and values[0].median > 0:
            one = values[0].median
            shares = [f"{(one - value.median) / one * 100:+.0f} %" if value else "–" for value in values[1:]]
            rows.append([title_of(row), *shares])
    if not rows:
        return []
    return ["What is lost with more flows, of the rate with one (RFC 8219, section 10.2.1); below 0 the rate is higher."
            " The trials are short: shares within some 20 % of each other are not told apart.", "",
            *table(["guest", *(f"{many:,} flows" for many in flows[1:])], rows)]  # fmt: skip


def bursts(found: Findings) -> list[str]:
    """RFC 9004, section 6: the number of bursts that were searched for, their mean, least, most and deviation."""
    rows = []
    for row in found.rows("8219"):
        values = found.all_values("8219", row, rfc.BURST, 0)
        if values:
            deviation = number(statistics.stdev(values)) if len(values) > 1 else "–"
            rows.append([title_of(row), str(len(values)), *map(number, (statistics.mean(values), min(values),
                         max(values))), deviation])  # fmt: skip
        else:
            rows.append([title_of(row), "0", cell(found, ("8219", row, rfc.BURST, 0)), "–", "–", "–"])
    if not rows:
        return []
    every = [value for row in found.rows("8219") for value in found.all_values("8219", row, rfc.BURST, 0)]
    ring = bool(every) and not found.of_box() and all(abs(value - RING) <= RING_NEAR for value in every)
    return [
        "The longest burst without loss, of flows that the gateway knows, in frames (RFC 9004; RFC 2544 asks for 50"
        f" searches). Each length has one trial; the longest has {BURST_MOST:,} frames. The buffer's time is not given:"
        " the generator stands for the link, and its own rate is not steady.", "",
        *table(["guest", "searches", "mean", "least", "most", "standard deviation"], rows),
        *(RING_TEXT if ring else []),
    ]  # fmt: skip


def _rates_notes(found: Findings, last: float) -> list[str]:
    """What the rates do not say, where it shows. `last`: seconds of the last trial of a search."""
    notes = []
    if "6to4" in found.rows("8219") and found.why("8219", "6to4", rfc.NONE_LOST, 1518):
        notes.append("Our `6to4` has `6to4.mtu` at its default of 1280, so that it answers the largest frames with"
                     " Packet Too Big. Linux's tunnel has the MTU of its link less 20.")  # fmt: skip
    few = [
        (row, x) for row in found.rows("8219") for x in found.points("8219", rfc.NONE_LOST)
        if (value := found.value("8219", row, rfc.NONE_LOST, x)) and value.median * last < rfc.RFC_FLOWS
    ]  # fmt: skip
    if few:
        named = ", ".join(f"{title_of(row)} at {frames(row, x)}" for row, x in few)
        notes.append(f"So few frames a second that in {last:g} s not each of the {rfc.RFC_FLOWS:,} flows has one:"
                     f" {named}. A trial ends at its first loss, so these searches do not say how much is"
                     " lost at higher rates.")  # fmt: skip
    return [f"{' '.join(notes)}", ""] if notes else []


def _about_8219(effort: Effort, box: bool) -> str:
    """How the rates were measured."""
    return (
        ("" if box else "Over vhost-user. ")
        + f"{rfc.RFC_FLOWS:,} flows of UDP with pseudo-random ports on both sides (RFC 4814), where nothing else is"
        " said: recovery has 16 flows, and the bursts have one frame a flow with ports in order. *Full load* is what"
        " comes out one way when 256 frames are under way at any time; the generator waits for the gateway then, and"
        " nothing is lost. No link has a rate here, so the loss by rate takes the full load as 100 %; it is no upper"
        " limit. Throughput is of both ways at once; a frame that the gateway has no room for is lost."
        " When the generator itself is late by more than a millisecond, it leaves out"
        " what is overdue; a trial in which it offered less than 99 % fails. A trial of the throughput ends at the"
        " first loss. A repetition after the first one begins its search at the result before; all end when the"
        " interval is 1.5 % wide, or 5 % when the last trial failed at first; how far repetitions differ stands in"
        " brackets. The rate is what was offered in the last"
        " trial, which is without loss in both directions. Loss and full load by flows are of trials of"
        f" {effort.brief:g} s."
    )


def rfc8219(found: Findings, effort: Effort, pictures: dict[str, str]) -> list[str]:
    """RFC 8219 and RFC 9004."""
    text = ["## RFC 8219 and RFC 9004", "", *_doubt(found, "8219"), _about_8219(effort, found.of_box()), ""]
    text += [*by_size(found, RATES), *_rates_notes(found, effort.last)]
    text += ["Latency and delay variation in µs, from LAN to WAN, of the last trial's first two million frames:", ""]
    text += by_size(found, DELAYS)
    text += [
        "Recovery (RFC 2544, section 26.5) is the time from the change from 110 % to 50 % of the throughput to the last"
        " frame that was lost. Where nothing was lost at 110 %, with these 16 flows, there is no recovery. The"
        " rest is the full load by the number of flows (RFC 8219, section 10.2.1)."
        " Frames of 64 bytes, with IPv6 of 84. Not measured: reset (RFC 2544, section 26.6), shares of native traffic"
        " (RFC 8219, section 5.3), flows that are added one by one (section 10.2.2).", "",
    ]  # fmt: skip
    full = "full load by flows, frames/s"
    flows: list[Column] = [(f"{many:,} flow{'s' if many > 1 else ''}, frames/s", full, many)
                           for many in rfc.OVERLOAD_FLOWS]  # fmt: skip
    text += [*pivot(found, "8219", [("recovery, ms", "recovery, ms", 0), *flows]), *degradation(found), *bursts(found)]
    text += ["Loss in percent, one way, by the offered rate in percent of the full load, until two trials were without"
             " loss; one trial each:", ""]  # fmt: skip
    text += pivot(found, "8219", [(f"{percent} %", "loss, %", percent) for percent in range(120, 0, -10)])
    if "loss by rate" in pictures:
        text += [f"![Loss by offered rate]({pictures['loss by rate']})", ""]
    return text


def rfc9693(found: Findings, effort: Effort) -> list[str]:
    """Connections of a stateful NAT."""
    box = found.of_box()
    text = ["## RFC 9693", "", *_doubt(found, "9693")]
    text += [
        (f"A trial opens {rfc.BOX_FLOWS:,} connections, since the table of the box cannot be emptied from here;"
         " all of them are new." if box else
         "A trial opens as many connections as its rate gives in a second or more (at most 180,000), all of them new."
         " The table is emptied before it would be full, and not before each trial.")
        + " Ports are pseudo-random (RFC 4814), and the gateway knows its neighbours. A trial passes if the first"
        " packet of each came through."
        + ("" if effort.quick else
           " Connections held: so many were opened, and each was proved by a packet from outside; the table is"
           f" configured for {guest.SESSIONS:,}. RFC 9693 doubles the number until the rate falls, since it does not"
           " know the configured one; here a tenth more than that is opened first.")
        + ("" if box else " Tear-down is not measured: Baregate has no command that ends all connections, and the Linux"
           " guest no program for it."), "",
    ]  # fmt: skip
    whats = ("new connections/s", "connections held", "connections torn down/s")
    return [*text, *pivot(found, "9693", [(what, what, 0) for what in whats])]


def _most_of_papers() -> str:
    """The most of the papers of 2016 and 2017, on their machines."""
    by_threads = Transcript("2017-2-dns64").column("threads", "median")
    threads = max(by_threads, key=lambda many: by_threads[many])
    words = [f"mtd64-ng {by_threads[threads]:,.0f} with {threads:g} threads (2017, table 2)"]
    for name, number_of_table in (("mtd64-ng", "iv"), ("MTD64", "iii"), ("BIND", "ii")):
        most = max(Transcript(f"2016-{number_of_table}-dns64").column("clients", "queries_per_s").values())
        words.append(f"{name} {most:,.0f} (2016, table {number_of_table.upper()})")
    return f"The papers had at most, in questions a second on a real machine: {', '.join(words)}."


def others(found: Findings) -> list[str]:
    """DNS64 and calls."""
    text = ["## DNS64: RFC 8219, section 9.2, and answers by questions in flight", "", *_doubt(found, "DNS-search")]
    text += ["Names that were never asked for. " + _most_of_papers(), ""]
    text += pivot(found, "DNS-search", [("all answered, questions/s", "all answered, questions/s", 0)])
    for what in ("answers/s", "256 answers, ms", "vCPU, %"):
        columns: list[Column] = [(f"{x:g} in flight", what, x) for x in found.points("DNS-loop", what)]
        text += [f"{what[0].upper()}{what[1:]}:", "", *pivot(found, "DNS-loop", columns)]
    text += ["## Calls: mean opinion score", "", *_doubt(found, "X")]
    text += ["The paper has none. E-model of ITU-T G.107, R = 93.2 - Idd - Ie,eff, for G.711 without loss"
             " concealment and without echo, jitter buffer 60 ms; packets that come later than the buffer holds count"
             " as lost. MOS = 1 + 0.035 R + R (R - 60) (100 - R) 7 / 1,000,000.", ""]
    text += pivot(found, "X", [(f"{x:g} Mbit/s behind", "MOS", x) for x in found.points("X", "MOS")])
    text += ["Late packets, in percent of those sent:", ""]
    text += pivot(found, "X", [(f"{x:g} Mbit/s behind", "RTP late, %", x) for x in found.points("X", "RTP late, %")])
    return text
