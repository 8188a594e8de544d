# SPDX-License-Identifier: BSD-2-Clause
"""Only kernel/lib/when.h compares times of 32 bits. Comparing them by the sign of their difference is wrong: a time
that was not read during half a period of the clock then seems to be in the future."""

from __future__ import annotations

import re

from arrows import line_of
from tree import Finding, Tree, without_comments

TIME = r"\b(?:now|\w+_(?:us|ms|s))\b"
# A difference that is cast to a signed type, or passed to the comparisons of sequence numbers.
SIGNED = re.compile(r"\(\s*int32_t\s*\)\s*\(([^()]*)\)|\bseq_l[te]\s*\(([^;]*)\)")


def check(tree: Tree) -> list[Finding]:
    findings = []
    for path in tree.image_files(".c", ".h"):
        text = without_comments(tree.text(path))
        for match in SIGNED.finditer(text):
            if re.search(TIME, match[1] or match[2] or ""):
                what = "times are compared by their sign; use kernel/lib/when.h"
                findings.append(Finding(path, line_of(text, match.start()), what))
    return findings
