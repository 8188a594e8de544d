# SPDX-License-Identifier: BSD-2-Clause
"""No retired word comes back: docs/glossary.md lists them, this check finds them.

The table below the heading "Retired words" has one row for each word:

    | old word | say instead | where it was | forbidden in | pattern |

"forbidden in" is `everything`, or folders and files, separated by commas. The pattern is a Python regular
expression in backquotes, in which `\\|` stands for `|`. A blank in it stands for any white space and for
the signs that begin a line of a comment, so a phrase that is broken over two lines is found too.
Whether letters are upper or lower case makes no difference, unless the pattern begins with `(?-i)`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from arrows import line_of
from tree import Finding, LintError, Tree

GLOSSARY = "docs/glossary.md"
HEADING = "## Retired words"
COLUMNS = 5
BLANK = r"(?:[ \t]+|[ \t]*\n[ \t]*(?:[*#>/]+[ \t]*)?)"
# Files that people write. Corpora and recorded frames are none.
ENDINGS = (".c", ".h", ".S", ".ld", ".py", ".sh", ".md", ".def", ".mk", ".txt", ".mutants", ".conf", ".cfg")


@dataclass(frozen=True)
class Word:
    """One row of the table."""

    old: str
    instead: str
    places: tuple[str, ...]
    pattern: re.Pattern[str]

    def forbidden_in(self, path: str) -> bool:
        return any(
            place == "everything" or path == place or path.startswith(f"{place}/") for place in self.places
        )


def retired(tree: Tree) -> list[Word]:
    """The table's rows. An unreadable table would make the check blind, so it is an error."""
    if not (tree.root / GLOSSARY).is_file():
        raise LintError(f"there is no {GLOSSARY}")
    table = tree.text(GLOSSARY).partition(HEADING)[2]
    rows = [re.split(r"(?<!\\)\|", line.strip())[1:-1] for line in table.splitlines() if line.startswith("|")]
    words = []
    for row in rows[2:]:
        cells = [cell.strip() for cell in row]
        if len(cells) != COLUMNS or not re.fullmatch("`.+`", cells[-1]):
            raise LintError(f"{GLOSSARY}: not a row of retired words: {' | '.join(cells)}")
        pattern = cells[-1][1:-1].replace(r"\|", "|").replace(" ", BLANK)
        flags = re.M if pattern.startswith("(?-i)") else re.M | re.I
        try:
            compiled = re.compile(pattern.removeprefix("(?-i)"), flags)
        except re.error as error:
            raise LintError(f"{GLOSSARY}: {cells[0]}: {error}") from error
        places = tuple(place.strip(" `/") for place in cells[3].split(","))
        words.append(Word(cells[0], cells[1], places, compiled))
    if not words:
        raise LintError(f'{GLOSSARY} has no table below "{HEADING}"')
    return words


def is_text(tree: Tree, path: str) -> bool:
    """Whether people wrote a file: by its ending, or, without one, a script or a Makefile."""
    if os.path.splitext(path)[1]:
        return path.endswith(ENDINGS)
    return os.path.basename(path) == "Makefile" or tree.text(path).startswith("#!")


def check(tree: Tree) -> list[Finding]:
    words = retired(tree)
    findings = []
    for path in tree.files:
        if not is_text(tree, path):
            continue
        text = tree.text(path)
        if path == GLOSSARY:
            text = text.partition(HEADING)[0]
        for word in words:
            if not word.forbidden_in(path):
                continue
            for match in word.pattern.finditer(text):
                found = " ".join(match[0].split())
                what = f'"{found}": {word.old} is a retired word; say {word.instead}'
                findings.append(Finding(path, line_of(text, match.start()), what))
    return sorted(findings)
