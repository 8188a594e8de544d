# SPDX-License-Identifier: BSD-2-Clause
"""The console's `timings`: how long single steps of forwarding take in our guest."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# The guest's clock, and so its cycle counter, advances by a nanosecond with each instruction: words of QEMU's command.
CLOCK = ("-icount", "shift=0")
# RFC 7915 packets of `ivi` by way; the figures' x, for which the tables have none: 46 and 64.
WAYS = {"in": 0, "out": 1, "4to6": 46, "6to4": 64}
STEP_RUNS = 3  # repetitions at most: instructions are counted, so that they hardly differ
LEAST = 5  # packets that were timed; the mean of fewer does not count
LINE = re.compile(r"(\w+) (\w+) count=(\d+) mean=(\d+) max=(\d+)")


@dataclass(frozen=True)
class Step:
    """One line of `timings`."""

    way: str
    name: str
    count: int
    mean: int

    @property
    def what(self) -> str:
        """The quantity of its figure."""
        return f"{self.name}, cycles"

    @property
    def void(self) -> str:
        """Why its mean does not count; empty if it does."""
        return f"only {self.count} measured" if self.count < LEAST else ""


def steps(lines: Iterable[str]) -> list[Step]:
    """Those lines of the console that are steps which were timed."""
    found = (LINE.search(line) for line in lines)
    timed = [Step(one[1], one[2], int(one[3]), int(one[4])) for one in found if one and one[1] in WAYS]
    return [one for one in timed if one.count]
