# SPDX-License-Identifier: BSD-2-Clause
"""The bench's page: verdicts, figures, and the table of the README."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
sys.path[:0] = [str(TOOLS / "bench"), str(TOOLS)]

import cards  # noqa: E402
import guest  # noqa: E402
import hotspots  # noqa: E402
import inside  # noqa: E402
import measure  # noqa: E402
import pieces  # noqa: E402
import plots  # noqa: E402
import report  # noqa: E402
import summary  # noqa: E402
from labkit.wait import until  # noqa: E402
from tables import TABLES, Table  # noqa: E402

E1000, VHOST = summary.E1000, summary.VHOST


def samples(nic: str, row: str, key: str, *values: float, void: str = "") -> list[measure.Sample]:
    """One sample a run."""
    what = measure.Measure(key, key, "unit", lambda r: 0.0)
    return [measure.Sample(nic, row, what, run, value, void) for run, value in enumerate(values)]


def line(found: list[measure.Sample], what: str) -> summary.Line:
    """The line of the targets that begins so."""
    lines = summary.Summary(Table(found).figure).build(Path("no image"))
    matching = [one for one in lines if one.what.startswith(what)]
    assert len(matching) == 1, what
    return matching[0]


NAT = "nat, instructions/packet, e1000, full load, answered"


def test_a_verdict_needs_three_valid_runs() -> None:
    masquerade = samples(E1000, "linux-nat", "insn_load2", 6000, 6100, 6200)
    few = masquerade + samples(E1000, "nat", "insn_load2", 370, 371)
    void = few + samples(E1000, "nat", "insn_load2", 372, void="packets were lost")
    good = few + samples(E1000, "nat", "insn_load2", 372)
    bad = masquerade + samples(E1000, "nat", "insn_load2", 381, 382, 383)
    for found, verdict in ((few, "too few valid runs"), (void, "too few valid runs"), (good, "met"),
                           (bad, "**missed**"), (masquerade, "not measured")):
        lines = summary.Summary(Table(found).figure).build(Path("no image"))
        first = next(one for one in lines if one.what == NAT and "380" in one.target)
        assert first.verdict == verdict


def test_the_peer_needs_three_valid_runs_too() -> None:
    found = samples(VHOST, "nat", "vhost_one", 900, 900, 900) + samples(VHOST, "linux-nat", "vhost_one", 60, 60)
    what = "nat, packets/s over vhost-user, one way, 16 flows"
    assert line(found, what).verdict == "too few valid runs"
    assert line(found + samples(VHOST, "linux-nat", "vhost_one", 60), what).verdict == "met"


def test_below_the_floor_is_not_met() -> None:
    """A figure under that of the floor says nothing about how far Linux is above it."""
    found = samples(E1000, "wire", "vcpu_load", 5, 5, 5) + samples(E1000, "linux-nat", "vcpu_load", 15, 15, 15)
    what = "nat, vCPU µs/packet, e1000, full load, one way"
    assert line(found + samples(E1000, "nat", "vcpu_load", 4.9, 4.9, 4.9), what).verdict == "below the floor"
    above = line(found + samples(E1000, "nat", "vcpu_load", 5.5, 5.5, 5.5), what)
    assert (above.verdict, above.ratio) == ("met", "1/20.0")
    assert line(found + samples(E1000, "nat", "vcpu_load", 8, 8, 8), what).verdict == "**missed**"


def test_rates_over_vhost_user_have_the_ratio_by_time_too() -> None:
    found = samples(VHOST, "nat", "vhost_one", 3000, 3000, 3000)
    found += samples(VHOST, "linux-nat", "vhost_one", 60, 60, 60)
    found += samples(VHOST, "nat", "vhostcpu_one", 3100, 3100, 3100)
    found += samples(VHOST, "linux-nat", "vhostcpu_one", 100, 100, 100)
    assert line(found, "nat, packets/s over vhost-user, one way, 16 flows").ratio == "50.00 x (31.00 x by vCPU time)"


def test_the_overload_is_ten_times_the_rate_of_answers() -> None:
    """The time that an answer costs stands under a similar name, and is no rate."""
    found = samples(E1000, "dns64", "qps_dnscold", 9000, 10000, 11000)
    found += samples(E1000, "dns64", "qpscpu_dnscold", 40, 41, 42)
    assert measure.peak_rate(found) == 10000
    assert measure.peak_rate(samples(VHOST, "dns64", "vhost_dnscold", 7000)) == 7000
    assert measure.peak_rate(samples(E1000, "dns64", "qps_dnscold", 9000, void="spins")) is None


def test_bulk_with_offloads_is_judged() -> None:
    nic = f"{summary.VIRTIO}, offloads on"
    found = samples(nic, "nat", "bulk_up", 9000, 9000, 9000) + samples(nic, "linux-nat", "bulk_up", 9500, 9500, 9500)
    found += samples(nic, "linux-flowtable", "bulk_up", 8000, 8000, 8000)
    one = line(found, "nat, iperf3 TCP, virtio-net-pci, offloads on, one connection, LAN to WAN, Mbit/s")
    assert (one.target, one.verdict) == (">= 1 x masquerade, aim 1.3", "**missed**")


def test_bulk_of_a_card_is_judged_by_its_worst_way() -> None:
    found: list[measure.Sample] = []
    for number, key in enumerate(f"bulk_{way}{streams}" for way in summary.BULK_WAYS for streams in ("", "8")):
        assert line(found, "nat, iperf3 TCP, pcnet").verdict == "not measured"
        found += samples("pcnet", "nat", key, *[95 + number] * 3) + samples("pcnet", "linux-nat", key, *[96] * 3)
    worst = line(found, "nat, iperf3 TCP, pcnet")
    assert (worst.what, worst.verdict) == (
        "nat, iperf3 TCP, pcnet, Mbit/s, worst way (one connection, LAN to WAN)", "**missed**")
    assert line(found, "nat, iperf3 TCP, tulip").verdict == "not measured"


def test_bad_paths_are_judged_beside_linux() -> None:
    nic = f"{summary.VIRTIO}, offloads on"
    found = samples(nic, "nat", "bulk_loss", 950, 950, 950) + samples(nic, "linux-nat", "bulk_loss", 1000, 1000, 1000)
    way = "one connection, LAN to WAN, 1 % lost behind"
    one = line(found, f"nat, iperf3 TCP, virtio-net-pci, offloads on, {way}, Mbit/s")
    assert (one.ratio, one.verdict) == ("0.95 x", "met")


def test_other_work_makes_times_void_but_not_instructions() -> None:
    found = pieces.Findings(samples(E1000, "nat", "pps_load", 9000))
    counted = samples(E1000, "nat", "insn_load", 400)
    found.samples += [dataclasses.replace(one, measure=dataclasses.replace(one.measure, unit="instructions/packet"))
                      for one in counted]
    found.judge_others("quiet", pieces.OTHERS_MOST)
    assert not any(one.void for one in found.samples)
    found.judge_others("busy", pieces.OTHERS_MOST + 0.1)
    assert [bool(one.void) for one in found.samples] == [True, False]
    assert found.busy == {"quiet": pieces.OTHERS_MOST, "busy": pieces.OTHERS_MOST + 0.1}


def test_work_of_others_is_seen() -> None:
    """A program that works for half a second and has not ended is not ours; one that has ended is."""
    others = pieces.Others()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as program:
        try:
            until(lambda: used(program.pid) > 0.5, 30, "half a second of work")
            assert others.share() > 0.05
        finally:
            program.kill()


def used(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def all_key_figures() -> list[measure.Sample]:
    found = []
    for _, nic, row, key, _, peers in summary.KEY_FIGURES:
        for number, name in enumerate((row, *peers)):
            found += samples(nic, name, key, 100 * number + 1, 100 * number + 2, 100 * number + 3)
    return found


def test_the_readme_has_the_figures_of_the_page(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n", encoding="utf-8")
    table = Table(all_key_figures())
    assert report.put_key_figures(table, readme)
    text = readme.read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
    assert "| NAT, packet of a known flow | instructions | 2 | masquerade 102; flowtable 202 |" in text
    notes = report.Notes("", {}, [], {})
    made = report.Origin("make bench", "2026-01-01", "A PC", "An image")
    page = report.markdown(table, made, notes, tmp_path / "none", [])
    assert report.key_figures(table) in page and report.key_figures(table) in text


def test_readme_and_page_agree() -> None:
    """The figures that stand in the project are those of its page."""
    page, readme = ((ROOT / name).read_text(encoding="utf-8") for name in ("docs/performance.md", "README.md"))
    figures = page[page.index(report.BEGIN):page.index(report.END)]
    assert figures.count("\n") == len(summary.KEY_FIGURES) + 3
    assert figures == readme[readme.index(report.BEGIN):readme.index(report.END)]


def test_the_readme_stays_without_all_figures(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"{report.BEGIN}\nold\n{report.END}\n", encoding="utf-8")
    assert not report.put_key_figures(Table(all_key_figures()[3:]), readme)
    assert "old" in readme.read_text(encoding="utf-8")


def test_plots_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = plots.draw(Table(all_key_figures()), tmp_path / "bench")
    assert [path.name for path in found] == ["instructions.png", "bulk.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in found)
    assert plots.draw(Table([]), tmp_path / "none") == []


def test_every_plot_has_a_table() -> None:
    keys = [key for _, names in TABLES for key in names]
    for beginnings in plots.SUBJECTS.values():
        assert all(any(key.startswith(one) for key in keys) for one in beginnings)


def test_instructions_of_a_driver() -> None:
    """Local functions count by their file, global ones by their name, and what lies behind a function not at all."""
    listing = """
       1: 00000000     0 FILE    LOCAL  DEFAULT  ABS pcnet.c
       2: 00001000    16 FUNC    LOCAL  DEFAULT    1 start
       3: 00000000     0 FILE    LOCAL  DEFAULT  ABS other.c
       4: 00002000    16 FUNC    LOCAL  DEFAULT    1 start
       5: 00003000    16 FUNC    GLOBAL DEFAULT    1 pcnet_rx
       6: 00004000    16 FUNC    GLOBAL DEFAULT    1 pcnetwork
    """.splitlines()
    counts = hotspots.Counts.__new__(hotspots.Counts)
    counts.blocks = {0x1000: 1, 0x100F: 2, 0x1010: 100, 0x2000: 200, 0x3004: 4, 0x4000: 400, 0x10: 800}
    assert cards.instructions_of(counts, listing, ["pcnet.c", "pcnet_hw.c"]) == 7


@pytest.mark.parametrize(("nic", "instructions", "verdict"),
                         [("pcnet", 1200, "met"), ("pcnet", 1201, "not met"), ("ne2k_pci", 7000, "\u2013 (copies)")])
def test_verdict_on_a_driver(nic: str, instructions: int, verdict: str) -> None:
    assert cards.Card(nic, instructions, 10).verdict() == verdict


def test_rows_take_turns_and_one_that_fails_ends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each run measures every row once; a row that does not start, or fails, costs no other its figures."""
    order: list[str] = []

    @contextlib.contextmanager
    def open_row(row: guest.Row, _setup: guest.Setup, _options: argparse.Namespace) -> Iterator[inside.MeasureRun]:
        if row.name == "ivi":
            raise guest.GuestError("no start")

        def measure_run(run: int) -> list[inside.Figure]:
            order.append(f"{row.name} {run}")
            if row.name == "nat" and run == 1:
                raise FileNotFoundError
            return [inside.Figure(row.name, "one", run, 5.0)]

        try:
            yield measure_run
        finally:
            order.append(f"{row.name} ends")

    out = tmp_path / "out"
    words = ["--nic", "e1000", "--rows", "nat,ivi,wire", "--runs", "3", "--image", "x", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["inside", *words])
    monkeypatch.setattr(inside.sandbox, "enter", lambda command: None)
    assert inside.main("a test", open_row, ("one",)) == 0
    assert order == ["nat 0", "wire 0", "nat 1", "nat ends", "wire 1", "wire 2", "wire ends"]
    said = [(one["row"], one["run"], one["void"]) for one in json.loads(out.read_text(encoding="utf-8"))]
    assert said == [("ivi", 0, "no start"), ("nat", 0, ""), ("wire", 0, ""), ("nat", 1, "FileNotFoundError"),
                    ("wire", 1, ""), ("wire", 2, "")]


@pytest.mark.parametrize("side", ["lan", "wan"])
def test_another_guest_of_a_row_has_its_own_sockets(tmp_path: Path, side: str) -> None:
    """The generator stays connected to the first guest that it meets."""
    setup = guest.Setup("e1000", "dgram", tmp_path / "image", {}, (0, 1))
    one = guest.Guest(guest.ROWS["wire"], setup, tmp_path)
    for end in ("gen", "qemu"):
        assert one.another().socket(side, end) != one.socket(side, end)
    assert one.another().socket(side, "qemu").parent.is_dir()


def test_guests_rest_side_by_side_and_one_that_fails_ends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    slept: list[float] = []
    runs: list[int] = []
    both = threading.Barrier(2, timeout=10)

    class Quiet(measure.Session):
        def __init__(self, row: str) -> None:
            self.guest = guest.Guest(guest.ROWS[row], setup, tmp_path)

        def measure_idle(self, run: int, seconds: float) -> None:
            assert (slept, seconds) == ([measure.SETTLE_S], 2.0)
            runs.append(run)
            if run == 0:
                both.wait()
            if self.guest.row.name == "nat":
                raise measure.loadgen.LoadError("gone")

    monkeypatch.setattr(measure.time, "sleep", slept.append)
    setup = guest.Setup("e1000", "dgram", tmp_path / "image", {}, (0, 1))
    one = measure.Pass(setup, [], [], runs=3, seconds=1, nic="e1000")
    sessions: list[measure.Session] = [Quiet("nat"), Quiet("wire")]
    failures: dict[str, str] = {}
    assert one._rest(sessions, failures) == sessions[1:]
    assert sorted(runs) == [0, 0, 1, 2]
    assert failures == {"e1000 nat": "gone"}
