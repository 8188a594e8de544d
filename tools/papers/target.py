# SPDX-License-Identifier: BSD-2-Clause
"""A box that is measured through two Ethernet interfaces of this machine, in place of a guest in QEMU.

It is a NAT router with the addresses that the bench gives its guests (docs/measuring-hardware.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import guest

ROW = guest.Row("target", "the box", False, "nat", "nat")


@dataclass
class Box(guest.Guest):
    """Looks like a guest to a session; it was started by somebody else."""

    interfaces: tuple[str, str] = ("", "")

    def socket(self, side: str, end: str) -> Path:
        """The generator takes the names of interfaces here."""
        return Path(self.interfaces[side == "wan"])

    def start(self, timeout_s: float = 60) -> None:
        """It runs already."""

    def stop(self) -> None:
        """It goes on running."""
