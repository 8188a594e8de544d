# SPDX-License-Identifier: BSD-2-Clause
"""A public function is found by its name: it is in the file whose name it begins with.

Of the files of its folder the one with the longest fitting name counts: `nat_tcp_seen` must be in nat_tcp.c, while
`nat_seen` may be in nat.c and in every nat_….c. Where no file fits, the function begins with the folder's name, or with
the first word of its file's name.
tools/lint/stems.txt lists the exceptions, each with its reason.
"""

from __future__ import annotations

import os
import re

from exceptions import Exceptions
from sizes import functions
from tree import Finding, Tree, without_comments


def fits(name: str, stem: str) -> bool:
    """Whether a name begins with a file's name, in whole words; the 6 of IPv6 may be at the end instead."""
    if stem.endswith("6") and name.endswith("6") and name.startswith(f"{stem[:-1]}_"):
        return True
    return name == stem or name.startswith(f"{stem}_")


def check(tree: Tree) -> list[Finding]:
    exceptions = Exceptions.read(tree, "tools/lint/stems.txt")
    findings = []
    sources = tree.image_files(".c")
    for path in sources:
        folder, stem = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
        stems = [os.path.splitext(os.path.basename(p))[0] for p in sources if os.path.dirname(p) == folder]
        text = without_comments(tree.text(path))
        lines = text.splitlines()
        for name, line, _ in functions(text):
            head = " ".join(lines[line - 1:line + 2]).partition("{")[0]
            if re.search(r"\b(static|ALWAYS_INLINE|SELDOM)\b", head):
                continue
            if exceptions.allow(path) or exceptions.allow(f"{path}:{name}"):
                continue
            best = max((s for s in stems if fits(name, s)), key=len, default=None)
            first = stem.split("_")[0]
            if best is not None and best != stem and not fits(stem, best):
                findings.append(Finding(path, line, f"{name} belongs into {folder}/{best}.c by its name"))
            elif best is None and not fits(name, os.path.basename(folder)) and not fits(name, first):
                findings.append(Finding(path, line, f"{name} does not begin with {stem}, {first} or the folder's name"))
    return findings + exceptions.unused()
