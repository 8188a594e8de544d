#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Seeds for fuzz_dns64: questions and the answers that reach its corners. Usage: seeds_dns64.py FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

AAAA, A, PTR, CNAME, ANY, DS, TXT = 0, 1, 3, 4, 5, 6, 7  # places in types[]


def ask(kind: int, name: int, client: int, edns: int = 0) -> bytes:
    """A question, with RD; `edns`: the size said in OPT."""
    return bytes([0, 1 | kind << 5 | (8 if edns else 0), name, client]) + (edns.to_bytes(2, "big") if edns else b"")


def answer(
    which: int, *records: bytes, sections: tuple[int, int, int] = (1, 0, 0), opt: bool = True, rcode: int = 0
) -> bytes:
    """To the question so many before the latest one."""
    how = 1 | (0 if rcode else 2) | (4 if opt else 0) | sections[0] << 3 | sections[1] << 5
    return bytes([3, how, which]) + (bytes([0x80 | rcode]) if rcode else b"") + b"".join(records) + b"\0"


def a(last: int = 33) -> bytes:
    return bytes([0, last])


def aaaa(last: int = 32) -> bytes:
    return bytes([1, last])


def soa(minimum: int = 60) -> bytes:
    return bytes([3, minimum])


def cname(name: int) -> bytes:
    return bytes([2, name])


def rare(kind: int, name: int) -> bytes:
    return bytes([32 | kind, name])


def later(ms: int) -> bytes:
    return bytes([6]) + (ms * 100).to_bytes(2, "big")


NODATA = answer(1, soa(), sections=(0, 1, 0))
SEEDS = {
    "made": ask(AAAA, 0, 1) + NODATA + answer(0, a()) + ask(AAAA, 0, 2, 1232) + later(600) + ask(AAAA, 0, 3),
    "six": ask(AAAA, 0, 1) + answer(1, aaaa()) + answer(0, a()),
    "mapped": ask(AAAA, 0, 1) + answer(1, bytes([17, 9]), aaaa(), sections=(2, 0, 0)) + answer(0, a()),
    "chain": ask(AAAA, 0, 1)
    + answer(1, cname(1))
    + answer(0, cname(1))
    + NODATA
    + answer(0, a(), a(34), sections=(2, 0, 0)),
    "error": ask(AAAA, 0, 1) + answer(1, sections=(0, 0, 0), rcode=2) + answer(0, a()),
    "none": ask(AAAA, 0, 1) + answer(1, soa(), sections=(0, 1, 0), rcode=3),
    "reverse": ask(PTR, 8, 1) + answer(0, bytes([36, 1])) + ask(PTR, 8, 2),
    "rare": ask(ANY, 7, 1, 600) + answer(0, rare(1, 0x81), rare(2, 12), rare(0, 0), sections=(3, 0, 0), opt=False),
    "opt-first": ask(TXT, 0, 1) + answer(0, rare(6, 0), rare(0, 0), rare(2, 1), sections=(1, 2, 0), opt=False),
    "wide": ask(AAAA, 7, 1)
    + NODATA
    + answer(0, a(), a(1), a(2), sections=(3, 0, 0))
    + later(100)
    + ask(AAAA, 7, 2, 512),
    "silent": ask(AAAA, 0, 1) + ask(AAAA, 0, 2) + later(400) + later(400) + bytes([7, 80]) + answer(0, a()),
    "own": ask(AAAA, 3, 1) + ask(A, 3, 2) + ask(DS, 3, 3) + ask(AAAA, 4, 4),
}


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in SEEDS.items():
        for choice in (0, 3, 7, 95):
            (folder / f"seed-{name}-{choice}").write_bytes(bytes([choice]) + data)


if __name__ == "__main__":
    main()
