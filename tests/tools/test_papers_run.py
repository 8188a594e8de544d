# SPDX-License-Identifier: BSD-2-Clause
"""make bench-papers: the program, with parts that measure nothing."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / name) for name in ("papers", "bench", ".")]

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
                        "programs": lambda: {},
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
    assert call(program, "--only", "VI", "--write") == 0
    assert (program.ROOT / "docs" / "papers.md").read_text() == "before" and not program.MEASURED.exists()
    assert "0.210" in (program.OUT / "papers.md").read_text()
    assert call(program, "--write") == 0
    assert "measured.json" in (program.ROOT / "docs" / "papers.md").read_text()
    assert call(program, "--compare", str(program.MEASURED)) == 0
    program.MEASURED.write_text(program.MEASURED.read_text().replace("64,0,1.0", "64,0,9.0"))
    assert call(program, "--compare", str(program.MEASURED)) == 1
    assert call(program, "--compare", str(program.ROOT / "none")) == 2


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
