# SPDX-License-Identifier: BSD-2-Clause
"""tests/mutants/run counts a bug as seen only when a test saw it, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from labkit.wait import until  # noqa: E402

MAKEFILE = """\
build/host64/tests/%: tests/% net/a.c
\t@mkdir -p $(@D) && cp $< $@
"""
SOURCE = """\
int first(void)
{
\treturn 1;
}

int second(void)
{
\treturn 1;
}
"""
BUG = """\
Something else comes back.
Test: tests/test_value

In net/a.c, second:
-\treturn 1;
+\treturn 2;
"""


@pytest.fixture(name="project")
def make_project(tmp_path: Path) -> Path:
    for name in ("boot", "kernel", "drivers", "net", "apps", "tools/labkit", "tests/mutants/net", ".venv", "tmp"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("run", "mutant.py"):
        shutil.copy(ROOT / "tests/mutants" / name, tmp_path / "tests/mutants")
    (tmp_path / "Makefile").write_text(MAKEFILE)
    (tmp_path / "net/a.c").write_text(SOURCE)
    for name, script in {
        "test_value": "! grep -q 'return 2' net/a.c",
        "test_slow": "if grep -q 'return 2' net/a.c; then sleep 1000; fi",
        "test_many": "if grep -q 'return 2' net/a.c; then echo not ok 1; [ $TAP_STOP ] || sleep 1000; exit 1; fi",
        "test_blind": "true",
        "test_broken": "false",
        # Like pytest: names what failed. Without the bug only that may run, and passes or not.
        "test_named": "if grep -q 'return 2' net/a.c; then echo 'FAILED tests/t.py::one[a b] - assert 1'; exit 1; fi; "
                      "[ $# = 1 ] && [ \"$1\" = 'tests/t.py::one[a b]' ]",
        "test_flaky": "echo 'FAILED tests/t.py::one'; exit 1",
        "test_slower": "sleep 1.5; if grep -q 'return 2' net/a.c; then sleep 2; exit 1; fi",
    }.items():
        path = tmp_path / "tests" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    return tmp_path


def plant(project: Path, **bugs: str) -> None:
    text = "".join(f"== {name}\n{text}\n" for name, text in bugs.items())
    (project / "tests/mutants/net/a.mutants").write_text(text)


def environment(project: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(project / "tmp"), "MUTANT_JOBS": "2"}


def run(project: Path, *words: str) -> tuple[int, dict[str, str], str]:
    """Exit status, the verdict on each bug, and the whole output."""
    done = subprocess.run([str(project / "tests/mutants/run"), "--seconds", "1", *words], cwd=project,
                          capture_output=True, text=True, check=False, env=environment(project), timeout=100)
    lines = re.findall(r"^((?:not )?ok) \d+ - net/a:(\S+) # (.*)$", done.stdout, re.M)
    return done.returncode, {name: f"{ok}: {what}" for ok, name, what in lines}, done.stdout + done.stderr


def test_verdicts(project: Path) -> None:
    plant(project,
          seen=BUG,
          later=BUG.replace("tests/test_value", "tests/test_blind tests/test_value"),
          many=BUG.replace("test_value", "test_many"),
          blind=BUG.replace("test_value", "test_blind"),
          slow=BUG.replace("test_value", "test_slow"),
          endless=BUG.replace("test_value", "test_slow\nEnds: never"),
          broken=BUG.replace("test_value", "test_broken"),
          stale=BUG.replace("return 1", "return 3"),
          none=BUG.replace("test_value", "test_none"),
          named=BUG.replace("test_value", "test_named"),
          flaky=BUG.replace("test_value", "test_flaky"),
          slower=BUG.replace("test_value", "test_slower"))
    status, said, output = run(project)
    assert status == 1, output
    assert said["seen"] == said["later"] == "ok: seen by tests/test_value"
    assert said["endless"] == "ok: seen by tests/test_slow"
    assert said["many"] == "ok: seen by tests/test_many"  # which ends with its first failure
    assert said["blind"] == "not ok: nobody saw it"
    assert said["slow"] == "not ok: tests/test_slow ran out of time"
    assert said["broken"].startswith("not ok: tests/test_broken fails without a bug")
    assert said["stale"] == "not ok: its lines stand 0 times in net/a.c, second"
    assert said["named"] == "ok: seen by tests/test_named"
    assert said["flaky"].startswith("not ok: tests/test_flaky fails without a bug")
    assert said["slower"] == "ok: seen by tests/test_slower"  # slow without the bug, so it gets more time
    assert said["none"].startswith("not ok: tests/test_none does not build")
    assert "# not seen: net/a:blind net/a:broken net/a:flaky net/a:none net/a:slow net/a:stale" in output
    assert (project / "net/a.c").read_text() == SOURCE and not list((project / "tmp").iterdir())


def test_some_are_others_when_one_changes_and_repeated_by_seed(project: Path) -> None:
    plant(project, **{f"n{i}": BUG for i in range(60)})
    first = run(project, "--some")
    plant(project, **{f"n{i}": BUG.replace("2;", "2; ") for i in range(60)})
    second = run(project, "--some")
    assert first[0] == 0 and len(first[1]) == 10 and first[1].keys() != second[1].keys()
    seed = re.search(r"--seed (\d+)", first[2])
    assert seed and run(project, "--some", "--seed", seed[1])[1].keys() == first[1].keys()


def test_choice_by_name(project: Path) -> None:
    plant(project, first=BUG, second=BUG)
    assert run(project, "net/a:second")[1].keys() == {"second"}
    for name in ("net", "net/a", "tests/mutants/net/a.mutants"):
        assert run(project, name)[1].keys() == {"first", "second"}
    for name in ("net/b", "net/a:third"):
        assert run(project, name)[0] == 1


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(project: Path, sign: signal.Signals) -> None:
    """No folder and no process remains."""
    plant(project, slow=BUG.replace("test_value", "test_slow"))
    program = [str(project / "tests/mutants/run"), "--seconds", "1000"]
    with subprocess.Popen(program, cwd=project, env=environment(project), start_new_session=True,
                          stdout=subprocess.DEVNULL) as process:
        def sleepers() -> list[int]:
            found = []
            for entry in Path("/proc").glob("[0-9]*"):
                try:
                    if str((entry / "cwd").readlink()).startswith(str(project / "tmp")) and \
                            b"sleep" in (entry / "cmdline").read_bytes():
                        found.append(int(entry.name))
                except OSError:
                    pass
            return found

        until(sleepers, 60, "the slow test runs")
        began = time.monotonic()
        process.send_signal(sign)
        assert process.wait(60) == 130 and time.monotonic() - began < 30
        until(lambda: not sleepers(), 10, "the slow test has ended")
        assert not list((project / "tmp").iterdir())
