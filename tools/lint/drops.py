# SPDX-License-Identifier: BSD-2-Clause
"""Each drop reason is used by some code, and no name or label stands in two places.

Every folder of net/ and apps/ may have a drops.def with its reasons; the Makefile puts them together.
"""

from __future__ import annotations

import re

from arrows import line_of
from tree import Finding, Tree, without_comments

ENTRY = re.compile(r'^\s*DROP\(\s*(\w+)\s*(?:,\s*"([^"]*)")?', re.M)


def check(tree: Tree) -> list[Finding]:
    code = "\n".join(
        without_comments(tree.text(path)) for path in tree.image_files(".c", ".h")
    )
    used = set(re.findall(r"\bDROP_(\w+)\b", code))
    findings = []
    seen: dict[str, str] = {}
    for path in tree.image_files("/drops.def"):
        text = without_comments(tree.text(path), strings=False)
        entries = list(ENTRY.finditer(text))
        if not entries:
            findings.append(Finding(path, 1, 'no line of the form DROP(NAME, "text")'))
        for entry in entries:
            line = line_of(text, entry.start(1))
            name = entry[1]
            if name not in used:
                findings.append(Finding(path, line, f"DROP_{name} is used nowhere"))
            for word in {name, entry[2] or name}:
                if word in seen:
                    findings.append(Finding(path, line, f"{word} stands in {seen[word]} already"))
                seen[word] = path
    return findings
