#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Seeds for fuzz_ui: a text, a zero, and keys that reach each part of editor and wizard.

Usage: seeds/ui.py FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

TEXT = b"lan.mtu 1400 # small\nwan.address 192.0.2.2/24\nnameserver 192.0.2.1\nserve dns64\n#lan2 nic2\n"
SEEDS = {
    "edit": TEXT + b"\0" + b"7\r\x151300\r8\r\x15box\r<u",
    "list": TEXT + b"\0" + b"6\ra192.0.2.3/24\rd\x81\x81\rd<1\r",
    "errors": b"nonsense\nlan.mtu 1\nlan nic1\n\0" + b"1d1d\x82\x82 f\r<4\r",
    "wizard": b"\0" + b"<" * 3 + b"1\r2\r\r\x15192.0.2.2/24\r\x15192.0.2.1\r2\r",
    "ivi": TEXT + b"\0" + b"3\r1\r2001:db8::1/64\r192.0.2.2/24\r\r2001:db8::/32\r192.0.2.0/24\r\r",
}

for name, data in SEEDS.items():
    (Path(sys.argv[1]) / name).write_bytes(data)
