# SPDX-License-Identifier: BSD-2-Clause
"""Checks that all planted bugs (tests/mutants) can be planted, because `make test` runs only some of them."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from functools import partial
from pathlib import Path

from compilers import Compilers, in_parallel, parse, report, run
from tree import Finding, Tree

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/mutants"))

import mutant as planted  # noqa: E402


def compiled(tree: Tree, compiler: list[str], folder: str, path: str) -> list[Finding]:
    """The compiler's findings about a file in the folder; a header is compiled alone, because it has many users."""
    # Changed headers precede the tree's. A full compilation, because a bug may leave a function unused.
    command = [compiler[0], f"-I{folder}", *compiler[1:], f"-I{os.path.dirname(path)}", "-O1", "-S", "-o", os.devnull]
    if path.endswith(".h"):
        status, output = run(tree, [*command, "-x", "c", "-"], f'#include "{folder}/{path}"\n')
    else:
        status, output = run(tree, [*command, f"{folder}/{path}"])
    return report(status, output, path, parse(output.replace(f"{folder}/", "")))


def check_one(tree: Tree, compiler: list[str] | None, path: str, bug: planted.Mutant) -> list[Finding]:
    def finding(what: str) -> Finding:
        return Finding(path, bug.line, f"{bug.name} {what}")

    try:
        planted.read(bug)
        changed = planted.plant(bug, tree.text)
    except planted.Unfit as why:
        return [finding(str(why))]
    unknown = {test for test in bug.tests if not {f"{test}.c", f"{test}.py"} & set(tree.files)}
    wrong = [f"needs {test}, which does not exist" for test in sorted(unknown)]
    source = path.removeprefix("tests/mutants/").removesuffix(planted.SUFFIX)
    if not any(os.path.splitext(name)[0] == source for name in changed):
        wrong.append(f"changes nothing in {source}")
    if compiler is None:
        return [finding(what) for what in wrong]
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        for name, text in changed.items():
            target = Path(folder, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        for name in (name for name in changed if name.endswith((".c", ".h"))):
            findings = compiled(tree, compiler, folder, name)
            wrong += [f"does not compile: {f.path}:{f.line}: {f.text}" for f in findings]
    return [finding(what) for what in wrong]


def check(tree: Tree, compiles: bool = True) -> list[Finding]:
    paths = [path for path in tree.files if re.match(rf"tests/mutants/.*\{planted.SUFFIX}$", path)]
    if not paths:
        return []
    compiler = Compilers(tree).host[0] if compiles else None
    jobs, findings = [], []
    for path in paths:
        try:
            jobs += [partial(check_one, tree, compiler, path, bug) for bug in planted.bugs(tree.text(path))]
        except planted.Unfit as why:
            findings.append(Finding(path, 1, str(why)))
    return findings + in_parallel(jobs)
