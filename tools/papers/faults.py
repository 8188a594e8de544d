# SPDX-License-Identifier: BSD-2-Clause
"""What we found wrong, or cannot explain, in the papers. Each figure is computed from the transcripts."""

from __future__ import annotations

import itertools
import re
import statistics
from dataclasses import dataclass

from paper import FOLDER, OFFERED, VII, Transcript

MOSTLY = 0.8  # of the rows: from this share on a constant ratio is told
ROWS_LEAST = 5  # of a table in which a constant ratio tells something


@dataclass(frozen=True)
class Constant:
    """One column is another one times a constant, within the rounding of both, in most rows."""

    table: str  # of the dissertation
    column: str
    other: str
    factor: float
    rows: int
    total: int


def _half(word: str) -> float:
    """Half a unit of the last digit of a printed figure."""
    return 0.5 * 10.0 ** -len(word.partition(".")[2])


def dissertation() -> list[str]:
    """The names of its transcripts in the order of their pages."""

    def place(name: str) -> int:
        page = re.search(r"page (\d+)", " ".join(Transcript(name).source))
        return int(page[1]) if page else 0

    return sorted(sorted(path.stem for path in FOLDER.glob("2012-*.csv")), key=place)


def number_of(name: str) -> str:
    """The number of a table by the name of its transcript."""
    return name.split("-")[1].upper()


def constants(name: str) -> list[Constant]:
    """Those of a transcript, of two columns the one with the more rows."""
    transcript = Transcript(name)
    found: dict[frozenset[str], Constant] = {}
    for column, other in itertools.permutations(list(transcript.rows[0])[1:], 2):
        pairs = [(row[column], row[other]) for row in transcript.rows if row[column] and row[other]]
        pairs = [pair for pair in pairs if min(map(float, pair)) > 0]
        if len(pairs) < ROWS_LEAST:
            continue
        factor = round(statistics.median(float(one) / float(two) for one, two in pairs), 2)
        good = sum(
            abs(float(this) - factor * float(that)) <= (_half(this) + factor * _half(that)) * 1.000001
            for this, that in pairs
        )
        one, known = Constant(number_of(name), column, other, factor, good, len(pairs)), frozenset((column, other))
        if factor != 1 and good >= MOSTLY * len(pairs) and (known not in found or good > found[known].rows):
            found[known] = one
    return list(found.values())


def _constants() -> list[str]:
    """A line for the tables with constant ratios."""
    found = [one for name in dissertation() if name != VII for one in constants(name)]
    words = [
        f"table {one.table}: `{one.column}` is {one.factor:.2f} times `{one.other}` in {one.rows} of {one.total} rows"
        for one in found
    ]
    return [
        "Columns that are a constant times another one, within the rounding of both: " + "; ".join(words) + ". Repeated"
        " measurements hardly give this; the text does not say how these columns were made. Ratios of such columns say"
        " little, and neither do verdicts on them."
    ] if words else []  # fmt: skip


def wrong() -> list[str]:
    """A line for each fault."""
    return [*_timings(), *_packets(), *_constants(), *_calls(), *_texts(), *_dns()]


def _timings() -> list[str]:
    """Table II."""
    timings = Transcript("2012-ii-internal-timings").rows
    times = {row["operation"]: float(row["time_us"]) for row in timings}
    share = (times["Look Up"] + times["Forwarding"]) * 14_000 / 1e4
    said = sum(float(row["cpu_percent"]) for row in timings)
    return [
        f"Table II: a look-up and the forwarding of 14,000 packets a second take {share:.1f} % of the time by the"
        f" table's own figures; its processor column adds up to {said:.2f} %. By these two steps alone the"
        " processor would not be busy at that rate; what it does besides is not in the table."
    ]


def _packets() -> list[str]:
    """Table VII."""
    packets = Transcript(VII)
    bare, linux = (packets.column(OFFERED, f"{one}_mix_pps") for one in ("bare", "linux"))
    falls = [rate for rate in bare if linux[rate] > bare[rate] and bare[rate] < 0.95 * rate < 10_000]
    return [
        f"Table VII: with the mix at {rate:,.0f} packets a second the bare PC has {bare[rate]:,.0f}, less than"
        f" Linux's {linux[rate]:,.0f}, and more again at 10,000. This looks like a misprint."
        for rate in falls
    ]


def _calls() -> list[str]:
    """Tables XIII and XIV."""
    carried, lost = (Transcript(f"2012-{name}") for name in ("xiii-6to4-voip-throughput", "xiv-6to4-voip-loss"))
    none = [load for load, value in lost.column("load_mbps", "colocated_linux").items() if value == 0]
    ratios = [
        1 - carried.column("load_mbps", "colocated_linux")[load] / carried.column("load_mbps", "colocated_bare")[load]
        for load in none
    ]
    return [
        f"Table XIII: Linux carries {min(ratios) * 100:.0f} to {max(ratios) * 100:.0f} % less than the bare PC up to"
        f" {max(none):.0f} Mbit/s behind, where Table XIV has no loss for it. The text does not explain it."
    ]


def _texts() -> list[str]:
    """The dissertation's text against its tables; the text's figures are quoted from sections 3.2.1 and 4.2.4."""
    connection = Transcript("2012-vi-nat-http").column("file_kb", "linux_connection_ms")
    peak = max(connection, key=lambda size: connection[size])
    jitter = [statistics.mean(Transcript("2012-x-6to4-jitter").column("load_mbps", f"colocated_{one}").values())
              for one in ("linux", "bare")]  # fmt: skip
    unknown = [number_of(name) for name in dissertation() if "no unit" in " ".join(Transcript(name).source)]
    return [
        "Tables VIII to XV: the text's percentages are sometimes ratios less one, sometimes savings. Only ratios that"
        " were computed from the tables stand here.",
        "Table VI: the text has the peak of Linux's connection time at 0.262 ms and 32 KB; the table has"
        f" {connection[peak]:g} ms at {peak:g} KB.",
        f"Table X: the text says 82 % better; the means of the table have a ratio of {jitter[0] / jitter[1]:.2f}.",
        f"Tables {', '.join(unknown[:-1])} and {unknown[-1]} have no unit.",
    ]


def _dns() -> list[str]:
    """The papers of 2016 and 2017."""
    most17 = max(Transcript("2017-2-dns64").column("threads", "median").values())
    most16 = max(Transcript("2016-iv-dns64").column("clients", "queries_per_s").values())
    return [
        f"Notes of our own had {most17:,.0f} questions a second as a figure of the paper of 2016. It is of 2017; that"
        f" of 2016 has {most16:,.0f}."
    ]
