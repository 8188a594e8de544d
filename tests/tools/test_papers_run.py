# SPDX-License-Identifier: BSD-2-Clause
"""make bench-papers: the program, with parts that measure nothing."""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / name) for name in ("papers", "bench", ".")]

import bed  # noqa: E402
import compare  # noqa: E402
import results  # noqa: E402
from results import Figure  # noqa: E402

FIGURE = Figure("VI", "nat", "connection, ms", 8, 0, 1.0)


def load() -> Any:
    """tools/papers/run as a module."""
    loader = importlib.machinery.SourceFileLoader("papers_run", str(ROOT / "tools" / "papers" / "run"))
    module: Any = importlib.util.module_from_spec(importlib.util.spec_from_loader("papers_run", loader))  # type: ignore[arg-type]
    sys.modules["papers_run"] = module
    loader.exec_module(module)
    return module


@pytest.fixture(name="program")
def fixture_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The program in a folder of its own, with two parts that measure nothing."""
    module = load()
    (tmp_path / "docs" / "papers").mkdir(parents=True)
    (tmp_path / "docs" / "papers.md").write_text("before")
    (tmp_path / "image").write_bytes(b"image")
    parts = (module.Part("VI", (0, 0, 0), lambda bench: [FIGURE]),
             module.Part("V-rtt", (0, 0, 0), lambda bench: [Figure("V-rtt", "nat", "round trip, ms", 64, 0, 1.0)]))
    for name, value in {"ROOT": tmp_path, "OUT": tmp_path / "build", "PARTS": parts, "cores_in_use": lambda: (0, 0, 0),
                        "MEASURED": tmp_path / "docs" / "papers" / "measured.json",
                        "SECOND": tmp_path / "docs" / "papers" / "second.json", "programs": lambda: {},
                        "build_generator": lambda: tmp_path / "gen"}.items():  # fmt: skip
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(module.signal, "signal", lambda number, act: None)
    return module


def call(program: Any, *words: str) -> int:
    sys.argv = ["run", "--image", str(program.ROOT / "image"), *words]
    return int(program.main())


@pytest.fixture(autouse=True)
def fixture_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", sys.argv)


def test_a_whole_run_writes_the_page_and_its_figures(program: Any) -> None:
    assert call(program, "--only", "VI") == 0
    assert (program.ROOT / "docs" / "papers.md").read_text() == "before" and not program.MEASURED.exists()
    assert "0.210" in (program.OUT / "papers.md").read_text()
    assert call(program, "--write") == 0
    assert "measured.json" in (program.ROOT / "docs" / "papers.md").read_text()
    assert call(program, "--compare", str(program.MEASURED)) == 0
    program.MEASURED.write_text(program.MEASURED.read_text().replace("64,0,1.0", "64,0,9.0"))
    assert call(program, "--compare", str(program.MEASURED)) == 1
    assert call(program, "--compare", str(program.ROOT / "none")) == 2
    assert call(program, "--compare", str(program.MEASURED), str(program.MEASURED)) == 0
    with pytest.raises(SystemExit):
        call(program, "--compare", *[str(program.MEASURED)] * 3)


def test_a_run_goes_on_with_the_committed_figures(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Parts of several machines stand on one page, which says so. A run without --write measures all by itself."""
    page = program.ROOT / "docs" / "papers.md"
    assert call(program, "--only", "VI", "--write") == 0
    assert "**Not measured yet:** V-rtt." in page.read_text() and "V-rtt" not in program.MEASURED.read_text()
    program.MEASURED.write_text(program.MEASURED.read_text().replace(results.machine(), "a Pentium 4"))
    program.shutil.rmtree(program.OUT)
    capsys.readouterr()
    assert call(program, "--write") == 0
    said = capsys.readouterr().err
    assert f"VI: kept in {program.MEASURED}" in said and "V-rtt, 1 of 1" in said
    assert f"on a Pentium 4 (VI); {results.machine()} (V-rtt)." in page.read_text()
    assert "Not measured yet" not in page.read_text()
    program.shutil.rmtree(program.OUT)
    assert call(program) == 0
    assert "VI, 1 of 2" in capsys.readouterr().err


def test_a_second_run_goes_on_with_its_own_figures(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Also when it was interrupted; the page and the figures of the first run stay as they are."""
    second, whole = program.ROOT / "second.json", program.PARTS
    assert call(program, "--write") == 0
    first = program.MEASURED.read_text()
    program.shutil.rmtree(program.OUT)
    program.PARTS = (whole[0], program.Part("V-rtt", (0, 0, 0), lambda bench: program.stop_on_signal(2, None)))
    assert call(program, "--save", str(second)) == 1
    program.shutil.rmtree(program.OUT)
    program.PARTS = whole
    capsys.readouterr()
    assert call(program, "--save", str(second)) == 0
    assert f"VI: kept in {second}" in (said := capsys.readouterr().err) and "V-rtt, 1 of 1" in said
    assert '"VI"' in second.read_text() and '"V-rtt"' in second.read_text() and program.MEASURED.read_text() == first
    assert call(program, "--compare", str(program.MEASURED)) == 0


def test_a_second_run_goes_on_with_the_units_of_this_machine(program: Any, monkeypatch: pytest.MonkeyPatch,
                                                             capsys: pytest.CaptureFixture[str]) -> None:
    """A part of many units that was interrupted; one that another machine began begins again."""
    second, done, stops = program.ROOT / "second.json", list[str](), ["b"]

    def units(bench: Any) -> list[Figure]:
        def unit(name: str) -> list[Figure]:
            if name in stops:
                stops.remove(name)
                program.stop_on_signal(2, None)
            done.append(name)
            return [Figure("V-rtt", "nat", "round trip, ms", 64, "ab".index(name), 1.0)]

        kept = bench.units("V-rtt")
        return [one for name in "ab" for one in kept.do(name, functools.partial(unit, name))]

    def run_again(place: str) -> list[str]:
        program.shutil.rmtree(program.OUT, ignore_errors=True)
        monkeypatch.setattr(compare, "machine", lambda: place)
        call(program, "--save", str(second))
        return done

    program.PARTS = (program.Part("V-rtt", (0, 0, 0), units),)
    assert run_again("here") == ["a"] and '"units"' in second.read_text()
    assert run_again("here") == ["a", "b"] and '"units"' not in second.read_text()
    assert "V-rtt (in part): kept in" in capsys.readouterr().err
    done.clear()
    stops.append("b")
    second.unlink()
    run_again("here")
    assert run_again("elsewhere") == ["a", "a", "b"]


@pytest.mark.parametrize("spoilt", [
    ("effort", "quick"), ("image", "other"), ("VI", None), ("VI", {"programs": "other"}), ("", 0),
])  # fmt: skip
def test_figures_that_were_made_otherwise_are_not_gone_on_with(program: Any, spoilt: tuple[str, Any],
                                                               capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    assert call(program, "--write") == 0
    key, value = spoilt
    words = json.loads(program.MEASURED.read_text())
    words[key] = words[key] | value if isinstance(value, dict) else value
    program.MEASURED.write_text(json.dumps(words if key else []))
    program.shutil.rmtree(program.OUT)
    capsys.readouterr()
    assert call(program, "--write") == 0
    assert "VI, 1 of" in (said := capsys.readouterr().err)
    assert ("does not go on with it" in said) == (value in (None, 0))


def test_a_file_that_cannot_be_written_is_named_before_anything_is_measured(
    program: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        call(program, "--save", str(program.ROOT / "none" / "second.json"))
    assert "--save: no folder" in capsys.readouterr().err


def test_an_interrupted_run_leaves_the_page_as_it_was(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(bench: Any) -> list[Figure]:
        program.stop_on_signal(2, None)
        return []

    whole = program.PARTS
    program.PARTS = (whole[0], program.Part("V-rtt", (0, 0, 0), interrupted))
    assert call(program, "--write") == 1
    assert "interrupted (130)" in (said := capsys.readouterr().err) and "not measured: V-rtt" in said
    assert (program.ROOT / "docs" / "papers.md").read_text() == "before"
    program.PARTS = whole
    assert call(program, "--write") == 0
    assert "V-rtt, 1 of 1" in capsys.readouterr().err  # the other part was kept
    assert (program.ROOT / "docs" / "papers.md").read_text() != "before"


def test_a_missing_tool_is_named_before_anything_is_measured(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    program.PARTS = (program.Part("X", (0, 0, 0), lambda bench: 1 / 0, (), ("sipp-that-is-missing",)),)
    assert call(program) == 1
    assert "X needs sipp-that-is-missing" in capsys.readouterr().err
    assert not (program.OUT / "X.json").exists()


def test_guests_are_built_before_a_part_that_has_no_way_out(program: Any, monkeypatch: pytest.MonkeyPatch,
                                                            capsys: pytest.CaptureFixture[str]) -> None:
    """A guest whose packages cannot be downloaded ends the run with a line; no void part is kept."""

    def build(folder: Path, role: str) -> None:
        raise program.linuxguest.BuildError(f"{role}: no package")

    monkeypatch.setattr(program.linuxguest, "build", build)
    program.PARTS = (program.Part("DNS-hosts", (0, 0, 0), None),)
    assert call(program) == 1
    assert "papers: unbound: no package" in (said := capsys.readouterr().err) and "not measured: DNS-hosts" in said
    assert not list(program.OUT.glob("DNS-hosts*"))


def test_what_other_programs_use(program: Any) -> None:
    """The whole machine's processor time less our own, by the time that passed."""
    program.cores_in_use = lambda: (20.0, 150.0, 40.0)
    assert program.others_since((10.0, 100.0, 20.0)) == 3.0
    assert program.others_since((10.0, 140.0, 20.0)) == 0.0


def test_rows_go_with_8219_only(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call(program, "--rows", "nat")
    assert "--rows goes with --only 8219" in capsys.readouterr().err


def test_programs_of_a_part_are_those_that_it_imports() -> None:
    """The module that measures a part, and what it imports of the papers' programs, decide its figures."""
    run = load()
    pages = {"sections", "paper"}
    hosted = {"names": ("DNS-hosts",), "voip": ("X", "apart"), "apart": ("apart",)}  # hosted.py imports them for these
    for part in run.PARTS:
        due = [part.measure.__module__ if part.measure else "hosted"]
        seen: set[str] = set()
        while due:
            name = due.pop()
            path = ROOT / "tools" / "papers" / f"{name}.py"
            if name in seen or name in pages or not path.exists() or part.name not in hosted.get(name, (part.name,)):
                continue
            seen.add(name)
            due += re.findall(r"^(?:import|from) (\w+)", path.read_text(), re.MULTILINE)
        named = {Path(name).stem for name in (*run.COMMON, *part.programs) if name.startswith("papers/")}
        assert seen <= named, (part.name, seen - named)
    assert set(run.programs()) == {part.name for part in run.PARTS}
    scaled = next(part.programs for part in run.PARTS if part.name == "VII")  # its rates follow from the paper's most
    assert {"papers/paper.py", "../docs/papers/2012-vii-nat-packets.csv"} <= set(scaled)


def test_parts_of_the_test_bed_are_those_of_the_run() -> None:
    words = [part.split(" ")[0] for parts, _, _ in bed.WIRED for part in parts.split(", ")]
    assert set(words) == {part.name for part in load().PARTS}


@pytest.mark.parametrize("words", [("--quick",), ("--rfc",), ("--only", "8219", "--rows", "nat")])
def test_only_a_default_run_writes_the_page(program: Any, capsys: pytest.CaptureFixture[str],
                                            words: tuple[str, ...]) -> None:
    """Another one would replace a fuller page."""
    program.PARTS = load().PARTS
    with pytest.raises(SystemExit):
        call(program, "--write", *words)
    assert "--write is for the default effort and all guests" in capsys.readouterr().err


def test_guests_that_are_kept_already_are_told(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    program.PARTS = (program.Part("8219", (0, 0, 0), lambda bench: [FIGURE]),)
    assert call(program) == 0 and call(program, "--only", "8219", "--rows", "nat") == 0
    assert "all guests of 8219 are kept already" in capsys.readouterr().err


def test_the_time_left_of_a_box_is_that_of_one_guest(program: Any) -> None:
    part = program.Part("8219", (8, 80, 800), None)
    words = {"effort": "default", "rows": (), "target": None}
    assert program.remaining(SimpleNamespace(**words), [part]) == "80 minutes"
    assert program.remaining(SimpleNamespace(**words | {"target": "a,b"}), [part]) == "10 minutes"
    assert program.remaining(SimpleNamespace(**words | {"rows": ("nat", "ivi")}), [part]) == "20 minutes"


def test_the_page_has_the_second_run_in_the_repository(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """As far as the same programs made it with the same image; a file that is none is named."""
    page = program.ROOT / "docs" / "papers.md"
    assert call(program, "--write") == 0 and "## A second run" not in page.read_text()
    program.shutil.copy(program.MEASURED, program.SECOND)
    assert call(program, "--write") == 0
    assert "## A second run" in page.read_text() and "| all | 2 | 2 | 0 | 0 | 0 | 0 | 0 |" in page.read_text()
    assert call(program, "--save", str(program.SECOND)) == 0  # itself is no second run
    assert "## A second run" not in (program.OUT / "papers.md").read_text()
    words = json.loads(program.SECOND.read_text())
    words["VI"]["programs"] = "others"
    program.SECOND.write_text(json.dumps(words))
    assert call(program, "--write") == 0 and "Not yet measured again: VI." in page.read_text()
    program.SECOND.write_text(json.dumps(words | {"image": "another"}))
    assert call(program, "--write") == 0 and "## A second run" not in page.read_text()
    program.SECOND.write_text("[]")
    capsys.readouterr()
    assert call(program, "--write") == 0 and "second.json has no figures" in capsys.readouterr().err


def test_a_run_of_another_image_is_not_compared(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(program, "--write") == 0
    program.MEASURED.write_text(json.dumps(json.loads(program.MEASURED.read_text()) | {"image": "another"}))
    capsys.readouterr()
    assert call(program, "--compare", str(program.MEASURED)) == 2
    assert "cannot be compared: it is of another image (another and" in capsys.readouterr().err
