# SPDX-License-Identifier: BSD-2-Clause
"""How many examples hypothesis generates for a test, and which.

By default they are the same in every run. EXAMPLES=N generates N times as many, and other ones in every run. A failing
example is then printed with a line `@reproduce_failure(...)`: put above the test, it repeats the example. It is also
kept in build/hypothesis: the next run with EXAMPLES begins with it.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from simulator import ROOT

TIMES = int(os.environ.get("EXAMPLES", "0"))


def examples(number: int) -> settings:
    """Settings of a test that wants this many examples. Each example makes its own gateway, so fixtures may be
    shared."""
    which: dict[str, Any] = {"derandomize": True, "database": None}
    if TIMES:
        number *= TIMES
        which = {"database": DirectoryBasedExampleDatabase(ROOT / "build/hypothesis"), "print_blob": True}
    return settings(max_examples=number, deadline=None, **which,
                    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
