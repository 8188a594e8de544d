# SPDX-License-Identifier: BSD-2-Clause
"""Checks shell scripts with shellcheck and Python with ruff."""

from __future__ import annotations

import os
import re
import sys

from compilers import find_tool, parse, report, run
from tree import Finding, LintError, Tree

SHELL = re.compile(rb"^#!\s*(?:/usr)?/bin/(?:env )?(?:sh|bash|dash)\b")
PYTHON = re.compile(rb"^#!.*\bpython3?\b")
SHELLCHECK = re.compile(r"^(?P<path>[^:\n]+):(?P<line>\d+):\d+: (?P<text>.*)$")


def scripts(tree: Tree, shebang: re.Pattern[bytes], ending: str) -> list[str]:
    """Files with the ending, and files without an ending whose first line matches the shebang."""
    found = []
    for path in tree.files:
        if path.endswith(ending):
            found.append(path)
        elif not os.path.splitext(path)[1]:
            with open(tree.root / path, "rb") as file:
                if shebang.match(file.readline(200)):
                    found.append(path)
    return found


def check_shell(tree: Tree) -> list[Finding]:
    files = scripts(tree, SHELL, ".sh")
    if not files:
        return []
    tool = find_tool("shellcheck", package="shellcheck")
    status, output = run(tree, [tool, "-f", "gcc", "-x", *files])
    return report(status, output, "shellcheck", parse(output, SHELLCHECK))


def check_python(tree: Tree) -> list[Finding]:
    files = scripts(tree, PYTHON, ".py")
    if not files:
        return []
    here = os.path.dirname(os.path.abspath(__file__))
    project = os.path.dirname(os.path.dirname(here))
    # The pinned version in .venv; a plain `ruff` could be any version.
    folders = [os.path.join(project, ".venv/bin"), os.path.dirname(sys.executable)]
    tools = [os.path.join(folder, "ruff") for folder in folders]
    tool = next((path for path in tools if os.access(path, os.X_OK)), None)
    if tool is None:
        raise LintError("ruff is missing from .venv: run `make deps`")
    options = ["--no-cache", "--quiet", "--output-format=concise", "--config", f"{here}/ruff.toml"]
    status, output = run(tree, [tool, "check", *options, *files])
    return report(status, output, "ruff", parse(output, SHELLCHECK))
