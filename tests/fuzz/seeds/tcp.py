#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the first inputs of fuzz_tcp into a folder: seeds/tcp.py FOLDER.

Each is a scenario in the operations of fuzz_tcp.c.
"""

from __future__ import annotations

import sys
from pathlib import Path

FAR = 4  # the port of the client whose address is not a known neighbour yet
SYN, ACK, PUSH, FIN, RST, SYN_ACK = 1, 0, 2, 3, 4, 5  # the flag numbers of put_segment
LIST, DOWN, UP, STALL, GO, MANY, ANSWER = range(7)


def segment(who: int, flags: int, size: int = 0, window: int = 32, seq: int = 0, ack: int = 0) -> bytes:
    return bytes([0, who, flags | window, seq, ack, size])


def bent(who: int, flags: int, place: int, value: int) -> bytes:
    """A segment with one byte of the header changed."""
    return bytes([31 << 3, who, flags | 32, 0, 0, value, place])


def disturb(what: int, *more: int) -> bytes:
    return bytes([what << 5 | 8 | 5, *more])


def wait(index: int) -> bytes:
    return bytes([index << 5 | 5])


def use(what: int, conn: int = 0, much: int = 20) -> bytes:
    return bytes([6, what << 5 | conn, much])


def error(how: int, mtu: int) -> bytes:
    return bytes([7, how, mtu])


def opened(who: int = 0) -> bytes:
    """A connection with segments of 1,440 bytes."""
    return segment(who, SYN, 1) + disturb(ANSWER, 0)


def stories() -> list[bytes]:
    """The scenarios without the first octet, which chooses the user of the connections."""
    found = [b"".join(segment(0, SYN, size) + wait(1) + disturb(ANSWER, 0) + wait(2) for size in range(16))]
    found += [opened() + use(0, much=255) + error(how, mtu) + wait(3) + disturb(ANSWER, 0)
              for how in (0, 4, 6, 0x10, 0x30, 0x44, 1) for mtu in (0, 70, 150, 255)]
    found += [use(5, much=whom) + error(how, 150) + wait(3) + disturb(ANSWER, 0) + use(0) + disturb(LIST)
              for whom in range(7) for how in (0, 4, 0x10, 0x20, 0x30, 0xa0)]
    found += [disturb(MANY, how, n) + disturb(LIST) + wait(0) + disturb(MANY, how ^ other, 60) + wait(time)
              + disturb(MANY, 1, 10) + wait(5) for how in range(4) for n in (80, 90, 200) for other in (0, 1)
              for time in (1, 7)]
    found.append(segment(FAR, SYN) + wait(3) + segment(FAR, ACK) + wait(4) + segment(FAR, PUSH, 200))
    found.append(opened() + disturb(STALL) + use(0, much=255) + disturb(DOWN) + wait(4) + disturb(UP) + wait(5)
                 + disturb(GO) + disturb(ANSWER, 0) + wait(7))
    found += [opened() + bent(0, PUSH, place, value) for place in range(20) for value in (0, 2, 0x11, 0xf2)]
    found += [opened() + use(0, much=255) + b"".join(wait(5) for _ in range(8)),
              opened() + segment(0, FIN) + use(3) + disturb(ANSWER, 0) + wait(7),
              opened() + use(3) + disturb(ANSWER, 0) + segment(0, FIN) + segment(0, FIN) + wait(7),
              opened() + segment(0, PUSH, 200) + use(3) + disturb(ANSWER, 1) + use(2, much=255) + wait(3),
              use(5) + segment(0, SYN) + segment(0, SYN_ACK, seq=2, ack=2) + wait(4) + disturb(ANSWER, 0),
              opened() + use(3) + disturb(ANSWER, 0) + segment(0, FIN) + segment(0, SYN, seq=3) + disturb(ANSWER, 0),
              opened() + segment(0, PUSH, 200) * 20 + segment(0, FIN) + use(2, much=255) + wait(4),
              opened() + use(0, much=255) + segment(0, ACK, window=16) + wait(5) * 3 + segment(0, ACK) + wait(5),
              opened() + use(0, much=30) + disturb(ANSWER, 0) * 2 + segment(0, PUSH, 9) + use(3) + disturb(ANSWER, 1),
              opened() + use(3) + disturb(ANSWER, 0) + use(4, much=1) + wait(7),
              disturb(MANY, 0, 90) + disturb(STALL) + wait(7) + disturb(ANSWER, 0) + disturb(GO) + wait(3),
              opened() + use(6, much=10) + wait(6) * 8, opened() + use(7, much=10) + wait(6) * 3]
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number, story in enumerate(stories()):
        for choice in (0, 1, 4 | 8, 5, 32 | 64, 16 | 1, 128, 2):
            (folder / f"story-{number:03}-{choice:02}").write_bytes(bytes([choice]) + story)


if __name__ == "__main__":
    main()
