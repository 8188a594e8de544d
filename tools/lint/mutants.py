# SPDX-License-Identifier: BSD-2-Clause
"""Planted bugs (tests/mutants) that could not be planted: `make test` runs only some of them."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from functools import partial
from pathlib import Path

from compilers import Compilers, find_tool, in_parallel, parse, report, run
from tree import Finding, Tree

PATCHED = re.compile(r"^\+\+\+ b/(\S+)", re.M)
TESTS = re.compile(r"^Test:(.*)$", re.M)


def compiled(tree: Tree, compiler: list[str], folder: str, path: str) -> list[Finding]:
    """What the compiler says of a file in the folder; of a header alone, as its users are many."""
    # Patched headers go before the tree's. More than the syntax: a bug may leave a function unused.
    command = [compiler[0], f"-I{folder}", *compiler[1:], "-O1", "-S", "-o", os.devnull]
    if path.endswith(".h"):
        status, output = run(tree, [*command, "-x", "c", "-"], f'#include "{folder}/{path}"\n')
    else:
        status, output = run(tree, [*command, f"{folder}/{path}"])
    return report(status, output, path, parse(output.replace(f"{folder}/", "")))


def check_patch(tree: Tree, tool: str, compiler: list[str], patch: str) -> list[Finding]:
    text = tree.text(patch)
    tests = " ".join(TESTS.findall(text)).split()
    unknown = {test for test in tests if not {f"{test}.c", f"{test}.py"} & set(tree.files)}
    wrong = [f"{test} does not exist" for test in sorted(unknown)] if tests else ["names no test"]
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        paths = [path for path in PATCHED.findall(text) if path in tree.files]
        for path in paths:
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(tree.root / path, target)
        status, output = run(tree, [tool, "-s", "-f", "-p1", "-F0", "-d", folder], text)
        if status != 0 or not paths:
            wrong.append(f"does not apply: {output.strip() or 'no patch'}")
            paths = []
        for path in paths:
            findings = compiled(tree, compiler, folder, path)
            wrong += [f"does not compile: {f.path}:{f.line}: {f.text}" for f in findings]
    return [Finding(patch, 1, what) for what in wrong]


def check(tree: Tree) -> list[Finding]:
    patches = [path for path in tree.files if re.match(r"tests/mutants/.*\.patch$", path)]
    if not patches:
        return []
    tool, compiler = find_tool("patch", package="patch"), Compilers(tree).host[0]
    return in_parallel(partial(check_patch, tree, tool, compiler, patch) for patch in patches)
