# SPDX-License-Identifier: BSD-2-Clause
"""No circle of files: from a file and its header, the includes never lead back to that file.

tools/lint/circles.txt lists the remaining circles, each file with its reason.
"""

from __future__ import annotations

import os
import re

from exceptions import Exceptions
from tree import Finding, Tree

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def stem(path: str) -> str:
    """The common name of a .c file, its .h and its _inline.h, which count as one file."""
    return os.path.splitext(path)[0].removesuffix("_inline")


def graph(tree: Tree) -> dict[str, set[str]]:
    arrows: dict[str, set[str]] = {}
    for path in tree.image_files(".c", ".h"):
        targets = {stem(name) for name in INCLUDE.findall(tree.text(path)) if name.endswith(".h")}
        arrows.setdefault(stem(path), set()).update(targets - {stem(path)})
    return arrows


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Sets of more than one file in which each file leads to each other one (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(arrows.get(node, ())):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return found


def check(tree: Tree) -> list[Finding]:
    exceptions = Exceptions.read(tree, "tools/lint/circles.txt")
    findings = []
    for circle in circles(graph(tree)):
        new = [name for name in circle if not exceptions.allow(name)]
        if new:
            others = [name for name in circle if name != new[0]]
            path = f"{new[0]}.c" if (tree.root / f"{new[0]}.c").is_file() else f"{new[0]}.h"
            findings.append(Finding(path, 1, f"leads back to itself through {', '.join(others)}"))
    return findings + exceptions.unused()
