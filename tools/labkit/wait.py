# SPDX-License-Identifier: BSD-2-Clause
"""Waits for a condition with a deadline, instead of a fixed sleep."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Short compared with all waiting times, long enough to leave the processor to others.
_STEP = 0.01


class Timeout(AssertionError):
    """A condition did not become true in time; the text names it."""


def until(condition: Callable[[], T | None], timeout: float, what: str) -> T:
    """Polls `condition` until its result is true, and returns the result; otherwise raises Timeout.

    It is polled once more after the deadline, so that a stalled host does not count as a failure.
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
