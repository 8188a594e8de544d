# SPDX-License-Identifier: BSD-2-Clause
"""Each drop reason of net/drop.def is used by some code, occurs there once, and has the usual form."""

from __future__ import annotations

import re

from arrows import line_of
from tree import Finding, Tree, without_comments

DEFINITIONS = "net/drop.def"
ENTRY = re.compile(r'^\s*DROP\(\s*(\w+)\s*(?:,\s*"([^"]*)")?', re.M)


def check(tree: Tree) -> list[Finding]:
    if not (tree.root / DEFINITIONS).is_file():
        return []
    code = "\n".join(
        without_comments(tree.text(path)) for path in tree.image_files(".c", ".h")
    )
    used = set(re.findall(r"\bDROP_(\w+)\b", code))
    findings = []
    text = without_comments(tree.text(DEFINITIONS), strings=False)
    seen: set[str] = set()
    entries = list(ENTRY.finditer(text))
    if not entries:
        findings.append(Finding(DEFINITIONS, 1, 'no line of the form DROP(NAME, "text")'))
    for entry in entries:
        line = line_of(text, entry.start(1))
        name = entry[1]
        if name not in used:
            findings.append(Finding(DEFINITIONS, line, f"DROP_{name} is used nowhere"))
        for word in {name, entry[2] or name}:
            if word in seen:
                findings.append(Finding(DEFINITIONS, line, f"{word} stands here twice"))
            seen.add(word)
    return findings
