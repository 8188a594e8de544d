#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Seeds for fuzz_dns64: client queries, and answers that reach its rare cases. Usage: seeds/dns64.py FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

AAAA, A, PTR, CNAME, ANY, DS, TXT = 0, 1, 3, 4, 5, 6, 7  # indexes of types[]


def ask(kind: int, name: int, client: int, edns: int = 0) -> bytes:
    """A client query, with RD; `edns`: the size in its OPT."""
    return bytes([0, 1 | kind << 5 | (8 if edns else 0), name, client]) + (edns.to_bytes(2, "big") if edns else b"")


def answer(
    which: int, *records: bytes, sections: tuple[int, int, int] = (1, 0, 0), opt: bool = True, rcode: int = 0
) -> bytes:
    """An answer to a query of the gateway: this many before the latest one."""
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


def raw(client: int, message: bytes) -> bytes:
    return bytes([2]) + len(message).to_bytes(2, "big") + bytes([client]) + message


def quiet(units: int) -> bytes:
    """Time in units of 50 ms."""
    return bytes([7, units])


SIX = 64  # a client with IPv6; 128: another client
LOOK = quiet(0)
HEADER = bytes([1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1])
SIGNED = raw(5, HEADER + b"\1a\0\0\1\0\1" + b"\0\0\xfa\0\xff\0\0\0\0\0\0")
PLAIN = HEADER[:11] + b"\0"
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
    "ready": ask(AAAA, 1, 1 | SIX) + NODATA + answer(0, a(), a(34), sections=(2, 0, 0)) + ask(AAAA, 1, 2 | SIX) + LOOK
    + ask(AAAA, 1, 7 | SIX) + ask(AAAA, 1, 8 | SIX) + ask(AAAA, 1, 9 | SIX)
    + ask(AAAA, 1 | 4, 3 | SIX) + quiet(20) + ask(AAAA, 1, 4 | SIX) + ask(AAAA, 2, 5 | SIX) + quiet(160)
    + ask(AAAA, 1, 6 | SIX),
    "ready-upper": ask(AAAA, 7, 1 | SIX) + NODATA + answer(0, a()) + ask(AAAA, 7, 2 | SIX) + bytes([0, 5, 7, 3 | SIX]),
    "ring": b"".join(
        ask(kind, name, 10 * which + name) + answer(0, rare(7, 1), rare(7, 2), rare(5, 7), sections=(3, 0, 0))
        for which, kind in enumerate((TXT, A, DS, CNAME))
        for name in range(8)
    ),
    "signed": SIGNED + answer(0, a()) + SIGNED + later(600) + later(600) + SIGNED + answer(0, a(), rcode=2)
    + raw(69, SIGNED[4:]) + answer(0, a(), a(), a(), sections=(3, 3, 3)),
    "signed-lost": b"".join(raw(n, bytes([n]) + SIGNED[5:]) for n in range(40)) + quiet(100) + quiet(200),
    "reverse-all": b"".join(
        ask(PTR, 8 + n, n) + answer(0, bytes([36, 1])) + ask(PTR, 8 + n, 20 + n) + ask(A, 8 + n, 40 + n)
        for n in range(8)
    ),
    "refused": ask(AAAA, 1, 1 | 128) + ask(A, 1, 2 | 128) + b"".join(ask(A, n % 8, n) for n in range(3, 30)) + LOOK,
    "odd": raw(1, b"\1\2\x28" + PLAIN[3:] + b"\1a\0\0\1\0\1")
    + raw(2, PLAIN + b"\1a\0\0\xfc\0\1") + raw(3, PLAIN + b"\x41a\0\0\1\0\1") + raw(4, PLAIN + b"\1a\xc0\x0c\0\1\0\1")
    + raw(6, HEADER + b"\1a\0\0\1\0\1") + raw(7 | 32, PLAIN + b"\1a\0\0\1\0\1") + raw(8 | 32 | SIX, PLAIN)
    + raw(9, PLAIN[:4] + b"\0\0" + PLAIN[6:]) + raw(10, PLAIN[:4] + b"\0\2" + PLAIN[6:] + b"\1a\0\0\1\0\1" * 2),
    "gone": b"".join(ask(A, n % 8, n) + quiet(120) for n in range(12)) + quiet(250) * 40 + ask(A, 1, 50)
    + quiet(250) * 8
    + answer(0, a()) + ask(A, 1, 51),
    "stale": ask(A, 1, 1) + answer(0, a()) + ask(AAAA, 2, 3) + NODATA + answer(0, a()) + quiet(200) + ask(A, 1, 2)
    + ask(AAAA, 2, 4) + quiet(40) + quiet(40) + answer(0, rcode=2, sections=(0, 0, 0)) + ask(AAAA, 2, 5) + quiet(100),
    "spelling": ask(A, 0, 1) + answer(0, a())[:-1] + b"\x08" + quiet(40) + answer(0, a())[:-1] + b"\x08" + quiet(40),
    "cut": ask(A, 0, 1) + bytes([3, 8 | 1 | 2 | 4, 0]) + a() + bytes([4, 0, 30]) + ask(A, 1, 2)
    + bytes([3, 8 | 2, 0, 0x82]) + a() + bytes([4, 0, 30]),
    "formerr": ask(A, 0, 1) + answer(0, sections=(0, 0, 0), rcode=1) + answer(0, a(), opt=False)
    + ask(A, 1, 2) + answer(0, sections=(0, 0, 0), rcode=4) + answer(0, sections=(0, 0, 0), rcode=4)
    + bytes([3, 1, 0, 0x81, 4, 0, 0]),
    "popular": ask(A, 1, 1) + answer(0, bytes([8, 80])) + b"".join(quiet(30) + ask(A, 1, 2 + n) for n in range(8)),
    "own": ask(AAAA, 3, 1) + ask(A, 3, 2) + ask(DS, 3, 3) + ask(AAAA, 4, 4),
}


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in SEEDS.items():
        for choice in (0, 3, 7, 95, 8, 128 + 9, 36):
            (folder / f"seed-{name}-{choice}").write_bytes(bytes([choice]) + data)


if __name__ == "__main__":
    main()
