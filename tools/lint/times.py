# SPDX-License-Identifier: BSD-2-Clause
"""Times of 32 bits are compared by kernel/lib/when.h only, never by the sign of a difference: that takes what nobody
looked at for half a turn of the clock for the future."""

from __future__ import annotations

import re

from arrows import line_of
from tree import Finding, Tree, without_comments

TIME = r"\b(?:now|\w+_(?:us|ms|s))\b"
# A difference made signed, or given to the comparisons of sequence numbers.
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
