# SPDX-License-Identifier: BSD-2-Clause
"""Files have at most 600 lines and functions at most 60, so that each can be read at one sitting.

tools/lint/sizes.txt lists the exceptions, each with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from exceptions import Exceptions
from tree import Finding, Tree, without_comments

FILE_LINES = 600
FUNCTION_LINES = 60

NAME = re.compile(r"(\w+)\s*\(")


def functions(text: str) -> Iterator[tuple[str, int, int]]:
    """(name, line, lines) of each function, from its signature to its closing brace.

    Relies on the format that clang-format enforces: outside of functions, only a function's body has its opening brace
    alone in column 0.
    """
    lines = without_comments(text).splitlines()
    signature: int | None = None
    opened: int | None = None
    for number, line in enumerate(lines):
        if opened is None:
            if line.startswith("{"):
                opened = number
            elif not line.strip() or line[0] in "#}" or line.rstrip().endswith((";", "}")):
                signature = None
            elif signature is None and not line[0].isspace():
                signature = number
        elif line.startswith("}"):
            first = opened if signature is None else signature
            # The name is the word before the first parenthesis that is not an attribute's.
            head = re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", " ".join(lines[first:opened]))
            name = NAME.search(head)
            yield name[1] if name else "?", first + 1, number - first + 1
            opened = signature = None


def check(tree: Tree) -> list[Finding]:
    exceptions = Exceptions.read(tree, "tools/lint/sizes.txt")
    findings = []
    image = set(tree.image_files(".c", ".h", ".S"))
    for path in tree.files:
        if not path.endswith((".c", ".h", ".S", ".py")):
            continue
        text = tree.text(path)
        length = text.count("\n")
        if length > FILE_LINES and not exceptions.allow(path):
            findings.append(Finding(path, 1, f"{length} lines, more than {FILE_LINES}"))
        if path not in image or path.endswith(".S"):
            continue
        for name, line, lines in functions(text):
            if lines > FUNCTION_LINES and not exceptions.allow(f"{path}:{name}"):
                what = f"{name} has {lines} lines, more than {FUNCTION_LINES}"
                findings.append(Finding(path, line, what))
    return findings + exceptions.unused()
