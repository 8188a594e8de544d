# SPDX-License-Identifier: BSD-2-Clause
"""Turns samples into Markdown tables, a CSV file and a plot. Only the last table is written by hand: the figures that
the papers printed, with their sources."""

from __future__ import annotations

import csv
import math
import statistics
import textwrap
from collections.abc import Iterable
from pathlib import Path

import summary
from guest import ROWS
from measure import Sample

TABLES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Guest instructions for a packet",
        ("insn_load", "insn_rate", "insn_load2", "insn_rate2", "insn_many2", "insn_new"),
    ),
    ("Guest instructions for a tunnel packet", ("insn_encap", "insn_decap", "insn_tunnel2")),
    (
        "Guest instructions for a translated packet (Linux plain: a forwarded one)",
        ("insn_to4", "insn_to6", "insn_xlat2", "insn_pairs", "insn_to4rate", "insn_to6rate"),
    ),
    (
        "Time of the vCPU thread, user + system",
        ("vcpu_load", "vcpu_to4", "vcpu_to6", "vcpu_rate", "vcpu_load2", "vcpu_rate2"),
    ),
    ("Round trip at 1,000 packets/s", ("rtt_median", "rtt_p99", "rtt_vcpu", "idle_vcpu")),
    ("Packets per second over sockets", ("pps_load", "pps_load2", "pps_to4", "pps_to6")),
    (
        "Packets per second over vhost-user",
        (
            "vhost_one",
            "vhost_both",
            "vhost_echo",
            "vhost_one10k",
            "vhost_both10k",
            "vhost_echo100k",
            "vhost_new",
        ),
    ),
    (
        "Tunnel packets per second over vhost-user",
        ("vhost_encap", "vhost_decap", "vhost_tunnel2", "vhost_duplex"),
    ),
    (
        "Translated packets per second over vhost-user (Linux plain: forwarded ones)",
        ("vhost_to4", "vhost_to6", "vhost_xlat2", "vhost_xlatduplex", "vhost_pairs"),
    ),
    (
        "Packets per second of vCPU time over vhost-user (where others use the core too)",
        (
            "vhostcpu_one",
            "vhostcpu_both",
            "vhostcpu_echo",
            "vhostcpu_one10k",
            "vhostcpu_both10k",
            "vhostcpu_echo100k",
            "vhostcpu_encap",
            "vhostcpu_decap",
            "vhostcpu_tunnel2",
            "vhostcpu_duplex",
            "vhostcpu_to4",
            "vhostcpu_to6",
            "vhostcpu_xlat2",
            "vhostcpu_xlatduplex",
            "vhostcpu_pairs",
        ),
    ),
    (
        "Guest instructions for an answer of a DNS64 server",
        ("insn_dnscold", "insn_dnshit", "insn_tcphit", "insn_tcpnew"),
    ),
    ("Answers of a DNS64 server over sockets", ("qps_dnscold", "qps_dnshit", "qpscpu_dnscold", "qpscpu_dnshit")),
    (
        "How long a client of a DNS64 server waits",
        ("waitmedian_dnscold", "waitp99_dnscold", "waitmedian_dnshit", "waitp99_dnshit"),
    ),
    (
        "Answers of a DNS64 server over vhost-user",
        ("vhost_dnscold", "vhost_dnshit", "vhostcpu_dnscold", "vhostcpu_dnshit"),
    ),
    ("A DNS64 server overloaded", ("over_dns", "offered_dns", "memory_dns")),
    ("Bulk TCP (iperf3)", tuple(f"bulk_{way}{n}" for n in ("", "8") for way in ("up", "down", "both"))),
    ("Bulk TCP, time of the vCPU thread", tuple(f"bulkcpu_{way}{n}" for n in ("", "8") for way in ("up", "down", "both"))),
    ("Start and rest", ("ready", "ready_wall", "idle_insn")),
)

# Where more is better, our figure is divided by Linux's.
HIGHER_IS_BETTER = ("pps_", "vhost_", "vhostcpu_", "bulk_")  # not bulkcpu_

PAPERS = """## The papers' own figures (bare PC and Linux, not measured here)

Source: A. K. Tsetse, "Network Address Translation, 6to4 Tunneling, and IVI Translation on a Bare
PC", Towson University, 2012: a Pentium 4 at 2.4 GHz. Other hardware, other traffic: for
orientation only.

| what | bare PC | Linux |
| --- | --- | --- |
| NAT, packets/s, TCP | 13,992 | 9,560 |
| NAT, packets/s, mixed | 12,735 | 9,522 |
| NAT, round trip, 40 bytes | 0.238 ms | 0.514 ms |
| NAT, round trip, 1460 bytes | 0.861 ms | 1.053 ms |
| NAT, add entry / look-up / forward | 1.83 / 0.165 / 1.86 µs | – |
| 6to4 with co-located NAT, connection time | 0.98 ms | 1.72 ms |
| 6to4 with co-located NAT, CPU | 0.5 % | 1.9 % |
| IVI, header translation IPv4 to IPv6 | 15.6 µs | 32.6 µs |
| IVI, header translation IPv6 to IPv4 | 11.8 µs | 28.1 µs |

DNS64: mtd64-ng answered 8,542 queries/s on a 1.5 GHz quad-core ARM, 6.2 times BIND and 1.5 times
MTD64 (G. Lencse, "Performance Estimation of the Mtd64-ng DNS64 Implementation", 2016).
"""


class Table:
    """All samples, found by NIC, row and measure."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self.samples = list(samples)
        self.titles = {s.measure.key: s.measure.title for s in self.samples}
        self.units = {s.measure.key: s.measure.unit for s in self.samples}
        self.nics = list(dict.fromkeys(s.nic for s in self.samples))
        self.rows = [name for name in ROWS if any(s.row == name for s in self.samples)]

    def find(self, nic: str, row: str, key: str) -> list[Sample]:
        return [s for s in self.samples if (s.nic, s.row, s.measure.key) == (nic, row, key)]

    def figure(self, nic: str, row: str, key: str) -> summary.Figure | None:
        values = [s.value for s in self.find(nic, row, key) if not s.void and s.value == s.value]
        return summary.Figure(statistics.median(values), len(values)) if values else None

    def median(self, nic: str, row: str, key: str) -> float | None:
        found = self.figure(nic, row, key)
        return found.value if found else None


def number(value: float) -> str:
    """About three figures, with thousands separated."""
    if math.isnan(value):
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _cell(table: Table, nic: str, row: str, key: str) -> str:
    found = table.find(nic, row, key)
    good = [s.value for s in found if not s.void]
    if not found:
        return "–"
    if not good:
        return f"void: {found[0].void}"
    text = number(statistics.median(good))
    if len(good) > 1:
        text += f" ({number(min(good))}–{number(max(good))})"
    void = len(found) - len(good)
    return text + (f", {void} of {len(found)} void" if void else "")


def _grid(header: list[str], lines: list[list[str]]) -> str:
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def _ratio(table: Table, nic: str, key: str, peer: str, floor: bool) -> str:
    """How many times better our gateway is than the peer, by the medians."""
    ours, theirs = table.median(nic, "nat", key), table.median(nic, peer, key)
    base = table.median(nic, "wire", key) if floor else 0.0
    if ours is None or theirs is None or base is None:
        return "–"
    mine, other = ours - base, theirs - base
    if key.startswith(HIGHER_IS_BETTER):
        mine, other = other, mine
    if mine <= 0:
        return "below the floor" if floor else "–"
    return f"{other / mine:.1f}"


def _ratios(table: Table, nic: str) -> str:
    lines = []
    for _, keys in TABLES:
        for key in keys:
            if table.median(nic, "nat", key) is None or key.startswith("idle"):
                continue
            above = not key.startswith((*HIGHER_IS_BETTER, "ready"))
            cells = [f"{table.titles[key]}, {table.units[key]}"]
            for peer in ("linux-nat", "linux-flowtable"):
                cells.append(_ratio(table, nic, key, peer, False))
                cells.append(_ratio(table, nic, key, peer, True) if above else "–")
            lines.append(cells)
    if not lines:
        return ""
    head = ["measure", "masquerade", "above the floor", "flowtable", "above the floor"]
    return "### How many times better Baregate nat is than Linux\n\n" + _grid(head, lines) + "\n"


HEAD = """# Performance

Written by `make bench BENCH="--write docs/performance.md"` (`tools/bench/run --help`); nothing here
is typed by hand. Baregate and a Linux guest run on the same emulated hardware, side by side in one
run; the floor is our application `wire`, which only moves frames. Figures with times in them depend
on the machine and hold as ratios; instruction counts repeat.
"""


def markdown(table: Table, setup: str, failures: dict[str, str], drops: list[str], image: Path) -> str:
    parts = [HEAD, "## The targets\n\n" + summary.table(table.figure, image)]
    for nic in table.nics:
        parts.append(f"## {nic}\n")
        for title, keys in TABLES:
            used = [k for k in keys if any(table.find(nic, row, k) for row in table.rows)]
            if not used:
                continue
            header = ["guest", *[f"{table.titles[k]} [{table.units[k]}]" for k in used]]
            lines = [
                [ROWS[row].title, *[_cell(table, nic, row, k) for k in used]]
                for row in table.rows
                if any(table.find(nic, row, k) for k in used)
            ]
            parts.append(f"### {title}\n\n{_grid(header, lines)}")
        parts.append(_ratios(table, nic))
    if failures:
        parts.append("## Rows that failed\n")
        parts.append("\n".join(f"* {name}: {why}" for name, why in failures.items()) + "\n")
    if drops:
        parts.append("## What the gateway itself dropped, by its counters\n")
        parts.append("\n".join(f"* {line}" for line in drops) + "\n")
    parts += [setup, PAPERS]
    return "\n".join(part for part in parts if part)


def write_csv(table: Table, path: Path) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["nic", "row", "measure", "title", "unit", "run", "value", "void"])
        for s in table.samples:
            value = f"{s.value:.6g}"
            out.writerow([s.nic, s.row, s.measure.key, s.measure.title, s.measure.unit, s.run, value, s.void])


def plot(table: Table, path: Path) -> bool:
    """One panel for each table, bars by guest; false if matplotlib is missing."""
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel

        matplotlib.use("Agg")
        from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    except ImportError:
        return False
    panels = [
        (nic, title, [k for k in keys if any(table.median(nic, r, k) for r in table.rows)])
        for nic in table.nics
        for title, keys in TABLES
    ]
    panels = [panel for panel in panels if panel[2]]
    if not panels:
        return False
    columns = 2
    height = (len(panels) + columns - 1) // columns
    figure, axes = pyplot.subplots(height, columns, figsize=(15, 4.2 * height), squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, (nic, title, keys) in zip(axes.flat, panels):
        width = 0.8 / len(table.rows)
        for number_of_row, row in enumerate(table.rows):
            values = [table.median(nic, row, k) or 0 for k in keys]
            places = [i + number_of_row * width for i in range(len(keys))]
            axis.bar(places, values, width, label=ROWS[row].title)
        axis.set_yscale("log")
        least = min(value for row in table.rows for k in keys if (value := table.median(nic, row, k)))
        axis.set_ylim(bottom=10 ** math.floor(math.log10(least)))
        axis.set_title(f"{nic}: {title}", fontsize=10)
        labels = [f"{textwrap.fill(table.titles[k], 18)}\n[{table.units[k]}]" for k in keys]
        axis.set_xticks([i + 0.4 - width / 2 for i in range(len(keys))], labels, fontsize=6)
        axis.grid(axis="y", alpha=0.3)
    axes.flat[0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return True
