# SPDX-License-Identifier: BSD-2-Clause
"""Waiting for a condition with a deadline, instead of sleeping and hoping."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Short against everything waited for, long enough to leave the processor to others.
_STEP = 0.01


class Timeout(AssertionError):
    """A condition did not become true in time; the text names it."""


def until(condition: Callable[[], T | None], timeout: float, what: str) -> T:
    """Poll `condition` until it gives something true, and return that; else raise Timeout.

    It is tried once more after the deadline, so that a stalled host is not taken for a failure.
    """
    deadline = time.monotonic() + timeout
    while True:
        late = time.monotonic() >= deadline
        value = condition()
        if value:
            return value
        if late:
            raise Timeout(f"not within {timeout:g} s: {what}")
        time.sleep(_STEP)
