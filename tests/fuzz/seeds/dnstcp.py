#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Seeds for fuzz_dnstcp: a connection, client queries with answers of upstream, and random operations."""

import random
import sys
from pathlib import Path

OPEN, ASK, ANSWER, QUIET, OTHER, TIME = 0, 2, 6, 11, 13, 14


def seed(draw: random.Random) -> bytes:
    steps = [bytes([draw.randrange(256)])]
    for who in range(4):
        steps.append(bytes([OPEN, who]))
    for _ in range(draw.randrange(5, 60)):
        kind = draw.choice([ASK, ASK, ANSWER, ANSWER, ANSWER, QUIET, TIME, OTHER, draw.randrange(16)])
        steps.append(bytes([kind | draw.randrange(16) << 4, *(draw.randrange(256) for _ in range(3))]))
    return b"".join(steps)


def main() -> None:
    directory = Path(sys.argv[1])
    draw = random.Random(7766)
    for i in range(60):
        (directory / f"seed{i}").write_bytes(seed(draw))


if __name__ == "__main__":
    main()
