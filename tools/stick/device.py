# SPDX-License-Identifier: BSD-2-Clause
"""A stick, or a file in its place: reading, writing and flushing at byte offsets."""

from __future__ import annotations

import fcntl
import os
import stat

SECTOR = 512
BLKFLSBUF = 0x1261  # linux/fs.h: forgets what the kernel has cached of a block device


class Refused(Exception):
    """The reason why nothing (more) is written; shown as one line."""


def read_at(device: int, length: int, offset: int) -> bytes:
    """Reads exactly so many bytes."""
    out = b""
    while len(out) < length:
        try:
            data = os.pread(device, length - len(out), offset + len(out))
        except OSError as error:
            raise Refused(f"it cannot be read at byte {offset + len(out)}: {error.strerror}") from error
        if not data:
            raise Refused(f"it ends at byte {offset + len(out)}, and should be longer")
        out += data
    return out


def write_at(device: int, data: bytes, offset: int) -> None:
    done = 0
    while done < len(data):
        try:
            done += os.pwrite(device, data[done:], offset + done)
        except OSError as error:
            raise Refused(f"it cannot be written at byte {offset + done}: {error.strerror}") from error


def flush(device: int) -> None:
    """All that was written is on the stick when this returns."""
    try:
        os.fsync(device)
    except OSError as error:
        raise Refused(f"it does not keep what is written: {error.strerror}") from error


def forget_cache(device: int) -> None:
    """Flushes, and makes sure that what is read next comes from the stick."""
    flush(device)
    if stat.S_ISBLK(os.fstat(device).st_mode):
        fcntl.ioctl(device, BLKFLSBUF)
    os.posix_fadvise(device, 0, 0, os.POSIX_FADV_DONTNEED)


def check_written(device: int, data: bytes, offset: int) -> None:
    """Raises Refused unless the data is read back. The cache is forgotten before."""
    if read_at(device, len(data), offset) != data:
        raise Refused(f"the stick is faulty: what was written at byte {offset} reads differently")
