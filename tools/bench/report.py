# SPDX-License-Identifier: BSD-2-Clause
"""Turns samples into the page of figures, the figures of the README, and a CSV file. Only the last table of the page is
written by hand: the figures that the papers printed, with their sources."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import math
import os
import platform
import re
import statistics
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import summary
from guest import ROWS
from tables import TABLES, Table

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
MTD64 (G. Lencse, D. Bakai, "Design, Implementation and Performance Estimation of mtd64-ng, a New Tiny DNS64 Proxy",
2017; the paper of 2016 has 9,289).
"""


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

Written by `{command}` on {date}; nothing here is typed by hand. {machine}. {image}.

Baregate and a Linux guest run on the same emulated hardware, side by side in one run; the floor is our application
`wire`, which only moves frames. Figures with times in them depend on the machine and hold as ratios; instruction counts
repeat. Each figure is the median of the valid runs, with the smallest and the largest in brackets.
"""
BEGIN, END = "<!-- written by the bench: begin -->", "<!-- written by the bench: end -->"


@dataclass(frozen=True)
class Origin:
    """How the figures came about: the command, the days, and the machine."""

    command: str
    date: str
    machine: str
    image: str


def origin(command: str, dates: Iterable[str], image: Path) -> Origin:
    """Of this machine; `dates` are the days on which passes were measured."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    found = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    model = found[1] if found else platform.machine()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    machine = f"The machine: {model}, {os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release()}"
    days = sorted(set(dates))
    done = subprocess.run(["git", "describe", "--always"], capture_output=True, text=True, check=False)
    digest = hashlib.sha256(image.read_bytes()).hexdigest() if image.exists() else "none"
    built = f"The image: SHA-256 {digest[:16]}, of the sources of commit {done.stdout.strip() or 'unknown'}"
    return Origin(command, days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}", machine, built)


def key_figures(table: Table) -> str:
    """The table of the README between its marks; empty unless all of its figures were measured."""
    text = summary.key_figures(table.figure)
    return f"{BEGIN}\n{text}{END}\n" if text else ""


def put_key_figures(table: Table, readme: Path) -> bool:
    """Replaces the table of the README. False when a figure is missing: the README stays as it is."""
    text = readme.read_text(encoding="utf-8")
    new = key_figures(table)
    if not new:
        return False
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END + "\n")[2]
    readme.write_text(before + new + after, encoding="utf-8")
    return True


@dataclass(frozen=True)
class Notes:
    """What stands on the page beside the figures."""

    setup: str
    failures: dict[str, str]
    drops: list[str]
    busy: dict[str, float]


def _others(busy: dict[str, float]) -> str:
    """How much other work there was, pass by pass."""
    listed = ", ".join(f"{name} {share:.2f}" for name, share in busy.items())
    return f"* Other work on this machine while a pass was measured, in cores: {listed}.\n"


def markdown(table: Table, made: Origin, notes: Notes, image: Path, pictures: list[str]) -> str:
    """The page. `pictures` are the plots, as the page names them."""
    parts = [HEAD.format(**dataclasses.asdict(made)), key_figures(table)]
    parts.append("## The targets\n\n" + summary.table(table.figure, image))
    parts += [f"![{Path(name).stem}]({name})\n" for name in pictures]
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
    if notes.failures:
        parts.append("## Rows that failed\n")
        parts.append("\n".join(f"* {name}: {why}" for name, why in notes.failures.items()) + "\n")
    if notes.drops:
        parts.append("## What the gateway itself dropped, by its counters\n")
        parts.append("\n".join(f"* {line}" for line in notes.drops) + "\n")
    parts += [notes.setup + (_others(notes.busy) if notes.busy else ""), PAPERS]
    return "\n".join(part for part in parts if part)


def write_csv(table: Table, path: Path) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["nic", "row", "measure", "title", "unit", "run", "value", "void"])
        for s in table.samples:
            value = f"{s.value:.6g}"
            out.writerow([s.nic, s.row, s.measure.key, s.measure.title, s.measure.unit, s.run, value, s.void])
