# SPDX-License-Identifier: BSD-2-Clause
"""Files with exceptions to a check: `WHAT  reason` a line, # for comments.

An entry without a reason is an error, and so is one that is no longer needed: an entry must be removed together with
its cause.
"""

from __future__ import annotations

from tree import Finding, LintError, Tree


class Exceptions:
    def __init__(self, path: str, entries: dict[str, int]) -> None:
        self.path = path
        self._entries = entries
        self._used: set[str] = set()

    @classmethod
    def read(cls, tree: Tree, path: str) -> Exceptions:
        entries: dict[str, int] = {}
        if (tree.root / path).is_file():
            for number, line in enumerate(tree.text(path).splitlines(), 1):
                words = line.split(maxsplit=1)
                if not words or words[0].startswith("#"):
                    continue
                if len(words) < 2:
                    raise LintError(f"{path}:{number}: {words[0]} has no reason")
                entries[words[0]] = number
        return cls(path, entries)

    def allow(self, what: str) -> bool:
        self._used.add(what)
        return what in self._entries

    def unused(self, prefix: str = "") -> list[Finding]:
        """Entries (those that begin with `prefix`) that matched nothing."""
        return [
            Finding(self.path, line, f"{what} is not needed any more")
            for what, line in self._entries.items()
            if what not in self._used and what.startswith(prefix)
        ]
