# SPDX-License-Identifier: BSD-2-Clause
"""FAT32 (Microsoft FAT specification 1.03), so far as files are read, replaced and added.

Order of the writes of `replace`, each step flushed before the next one:

1. the content, into free clusters, and their chain, in each copy of the FAT
2. chain and content are read back from the stick
3. one sector of the directory: the file's first cluster and size
4. the old chain becomes free, and FSInfo

A stick that is pulled out has the old or the new content. What may be left behind is what fsck.fat mends without loss:
clusters that belong to no file, copies of the FAT that differ, a wrong count of free clusters.
"""

from __future__ import annotations

import struct
import sys
import time
from array import array
from dataclasses import dataclass
from pathlib import PurePosixPath

from stick.device import SECTOR, Refused, check_written, flush, forget_cache, read_at, write_at

ENTRY = 32
END = 0x0FFFFFF8
LINK = 0x0FFFFFFF  # the bits of an entry that are a link; the others are kept
FREE, DELETED = 0x00, 0xE5
LONG, VOLUME, FOLDER, ARCHIVE = 0x0F, 0x08, 0x10, 0x20
PIECE = 13  # characters of one piece of a long name


@dataclass
class Found:
    """An entry of a directory: where its 32 bytes are on the volume, and what they say."""

    offset: int
    attributes: int
    cluster: int
    size: int


def damaged(what: str) -> Refused:
    return Refused(f"its file system is damaged ({what}): check it on a PC")


def time_fields() -> bytes:
    """Time and date of the last change."""
    now = time.localtime()
    return struct.pack("<HH", now.tm_hour << 11 | now.tm_min << 5 | now.tm_sec // 2,
                       (now.tm_year - 1980) << 9 | now.tm_mon << 5 | now.tm_mday)


def short_name(name: str) -> bytes | None:
    """The 11 bytes of a name with 8.3 characters, or None."""
    base, _, end = name.upper().partition(".")
    fits = 0 < len(base) <= 8 and len(end) <= 3 and (base + end).isalnum()
    return f"{base:8}{end:3}".encode("ascii") if fits else None


def long_pieces(name: str, short: bytes) -> list[bytes]:
    """The entries of a long name, in the order of the directory."""
    check = 0
    for byte in short:
        check = (check >> 1 | check << 7) + byte & 0xFF
    pieces = []
    for at in range(0, len(name), PIECE):
        text = (name[at:at + PIECE] + "\0")[:PIECE].encode("utf-16-le").ljust(2 * PIECE, b"\xff")
        order = at // PIECE + 1 | (0x40 if at + PIECE >= len(name) else 0)
        pieces.append(bytes([order]) + text[:10] + bytes([LONG, 0, check]) + text[10:22] + b"\0\0" + text[22:])
    return pieces[::-1]


class Fat32:
    """A volume on a device or in an image, from byte `start` on."""

    def __init__(self, device: int, start: int) -> None:
        self.device, self.start = device, start
        boot = read_at(device, SECTOR, start)
        size, self.per_cluster, reserved, self.copies = struct.unpack_from("<HBHB", boot, 11)
        sectors, self.fat_sectors, flags, _, self.root, info = struct.unpack_from("<IIHHIH", boot, 32)
        if boot[510:] != b"\x55\xaa" or size != SECTOR or not self.per_cluster or not self.copies:
            raise Refused("this is no stick of the gateway: it has no FAT32")
        self.fat_at = reserved * SECTOR
        self.data_at = self.fat_at + self.copies * self.fat_sectors * SECTOR
        self.cluster_bytes = self.per_cluster * SECTOR
        self.clusters = (sectors * SECTOR - self.data_at) // self.cluster_bytes
        if not 65525 <= self.clusters <= self.fat_sectors * SECTOR // 4 - 2:
            raise Refused("this is no stick of the gateway: it has no FAT32")
        # Bit 7: only one copy is in use.
        self.used = [flags & 15] if flags & 0x80 else list(range(self.copies))
        self.info_at = info * SECTOR if 0 < info < reserved else 0
        self.fat = self.read_fat()

    # --- sectors, clusters --------------------------------------------------------------------------

    def read_fat(self) -> array[int]:
        fat = array("I", read_at(self.device, self.fat_sectors * SECTOR, self.start + self.copy_at(self.used[0])))
        if sys.byteorder == "big":
            fat.byteswap()
        return fat

    def copy_at(self, copy: int) -> int:
        return self.fat_at + copy * self.fat_sectors * SECTOR

    def at(self, cluster: int) -> int:
        """The place of a cluster on the volume."""
        return self.data_at + (cluster - 2) * self.cluster_bytes

    def write(self, data: bytes, offset: int) -> None:
        write_at(self.device, data, self.start + offset)

    def chain(self, cluster: int) -> list[int]:
        out: list[int] = []
        while cluster < END:
            if not 2 <= cluster < self.clusters + 2 or len(out) > self.clusters:
                raise damaged("a broken chain of clusters")
            out.append(cluster)
            cluster = self.fat[cluster] & LINK
        return out

    def read_chain(self, clusters: list[int]) -> bytes:
        return b"".join(read_at(self.device, self.cluster_bytes, self.start + self.at(cluster))
                        for cluster in clusters)

    def link(self, changes: dict[int, int]) -> None:
        """Changes entries of the FAT, in each copy, the first one last."""
        for cluster, value in changes.items():
            self.fat[cluster] = self.fat[cluster] & ~LINK | value
        sectors = sorted({cluster * 4 // SECTOR for cluster in changes})
        for copy in reversed(self.used):
            for sector in sectors:
                entries = self.fat[sector * SECTOR // 4:(sector + 1) * SECTOR // 4]
                self.write(struct.pack(f"<{SECTOR // 4}I", *entries), self.copy_at(copy) + sector * SECTOR)
            flush(self.device)

    def place(self, data: bytes) -> int:
        """Puts data into free clusters and reads it back. Gives the first cluster; 0 for no data."""
        count = -(-len(data) // self.cluster_bytes)
        free = [cluster for cluster in range(2, self.clusters + 2) if not self.fat[cluster] & LINK][:count]
        if len(free) < count:
            raise Refused("it is full: delete what is not the gateway's")
        padded = data.ljust(count * self.cluster_bytes, b"\0")
        for i, cluster in enumerate(free):
            self.write(padded[i * self.cluster_bytes:(i + 1) * self.cluster_bytes], self.at(cluster))
        self.link(dict(zip(free, [*free[1:], LINK])))
        forget_cache(self.device)
        if free and (self.read_fat() != self.fat or self.read_chain(self.chain(free[0])) != padded):
            raise Refused("the stick is faulty: what was written reads differently")
        return free[0] if free else 0

    def count_free(self) -> None:
        """FSInfo: the number of free clusters."""
        info = read_at(self.device, SECTOR, self.start + self.info_at) if self.info_at else b""
        if info[:4] == b"RRaA" and info[484:488] == b"rrAa":
            free = sum(1 for value in self.fat[2:self.clusters + 2] if not value & LINK)
            self.write(info[:488] + struct.pack("<I", free) + info[492:], self.info_at)
        flush(self.device)

    # --- directories --------------------------------------------------------------------------------

    def find_in(self, folder: int, name: str) -> Found | None:
        """The entry of a name, long or short, without regard to case."""
        clusters = self.chain(folder)
        data, text = self.read_chain(clusters), ""
        for at in range(0, len(data), ENTRY):
            entry = data[at:at + ENTRY]
            if entry[0] == FREE:
                break
            if entry[0] == DELETED:
                text = ""
            elif entry[11] & 0x3F == LONG:
                piece = (entry[1:11] + entry[14:26] + entry[28:32]).decode("utf-16-le", "replace")
                text = piece.split("\0")[0] + ("" if entry[0] & 0x40 else text)
            else:
                base, end = entry[:8].decode("latin-1").rstrip(), entry[8:11].decode("latin-1").rstrip()
                short = f"{base}.{end}" if end else base
                if not entry[11] & VOLUME and name.lower() in (text.lower(), short.lower()):
                    low, size = struct.unpack_from("<HI", entry, 26)
                    cluster = struct.unpack_from("<H", entry, 20)[0] << 16 | low
                    offset = self.at(clusters[at // self.cluster_bytes]) + at % self.cluster_bytes
                    return Found(offset, entry[11], cluster & LINK, size)
                text = ""
        return None

    def find(self, name: str) -> Found | None:
        folder = self.root
        for parent in PurePosixPath(name).parts[:-1]:
            found = self.find_in(folder, parent)
            if found is None:
                return None
            folder = self.folder_of(found, parent)
        return self.find_in(folder, PurePosixPath(name).name)

    def folder_of(self, found: Found, name: str) -> int:
        if not found.attributes & FOLDER:
            raise Refused(f"{name} on it is no folder")
        return found.cluster or self.root

    def free_alias(self, folder: int, name: str) -> bytes:
        base, _, end = name.upper().rpartition(".")
        letters = "".join(c for c in base if c.isalnum())[:6]
        for number in range(1, 10):
            alias = f"{letters}~{number}"
            if self.find_in(folder, f"{alias}.{end[:3]}") is None:
                return f"{alias:8}{end[:3]:3}".encode("ascii")
        raise Refused(f"there is no short name left for {name}")

    def add(self, folder: int, name: str, attributes: int, cluster: int, size: int) -> None:
        """Adds an entry. Its sectors are written from the last to the first."""
        short = short_name(name)
        pieces = [] if short else long_pieces(name, short := self.free_alias(folder, name))
        stamp = time_fields()
        new = b"".join(pieces) + short + struct.pack(
            "<BBB4s2sH4sHI", attributes, 0, 0, stamp, stamp[2:], cluster >> 16, stamp, cluster & 0xFFFF, size)
        clusters = self.chain(folder)
        old = self.read_chain(clusters)
        marks = list(old[::ENTRY])
        end = marks.index(FREE) if FREE in marks else len(marks)
        count = len(new) // ENTRY
        taken = [mark != DELETED for mark in marks[:end]]
        first = next((i for i in range(end) if i + count <= end and not any(taken[i:i + count])), end)
        while first + count > len(old) // ENTRY:
            more = self.place(bytes(self.cluster_bytes))
            self.link({clusters[-1]: more})
            clusters.append(more)
            old += bytes(self.cluster_bytes)
        changed = old[:first * ENTRY] + new + old[first * ENTRY + len(new):]
        if first == end and first + count < len(old) // ENTRY:
            changed = changed[:(end + count) * ENTRY].ljust((end + count + 1) * ENTRY, b"\0") + changed[
                (end + count + 1) * ENTRY:]
        for at in reversed(range(0, len(old), SECTOR)):
            if changed[at:at + SECTOR] != old[at:at + SECTOR]:
                self.write(changed[at:at + SECTOR],
                           self.at(clusters[at // self.cluster_bytes]) + at % self.cluster_bytes)
                flush(self.device)

    def make_folder(self, parent: int, name: str) -> int:
        stamp = time_fields()
        cluster = self.place(bytes(self.cluster_bytes))
        above = 0 if parent == self.root else parent
        dots = b"".join(
            dot.ljust(11) + struct.pack("<BBB4s2sH4sHI", FOLDER, 0, 0, stamp, stamp[2:], to >> 16, stamp,
                                        to & 0xFFFF, 0) for dot, to in ((b".", cluster), (b"..", above)))
        self.write(dots, self.at(cluster))
        flush(self.device)
        self.add(parent, name, FOLDER, cluster, 0)
        return cluster

    # --- files --------------------------------------------------------------------------------------

    def content(self, name: str) -> bytes | None:
        """The content of a file, or None if there is none."""
        found = self.find(name)
        if found is None or found.attributes & FOLDER:
            return None
        data = self.read_chain(self.chain(found.cluster)) if found.cluster else b""
        if len(data) < found.size:
            raise damaged(f"{name} is shorter than it should be")
        return data[:found.size]

    def replace(self, name: str, data: bytes) -> None:
        """Gives a file this content. A file or folder that does not exist is made."""
        folder = self.root
        for parent in PurePosixPath(name).parts[:-1]:
            found = self.find_in(folder, parent)
            folder = self.folder_of(found, parent) if found else self.make_folder(folder, parent)
        found = self.find_in(folder, PurePosixPath(name).name)
        if found and found.attributes & FOLDER:
            raise Refused(f"{name} on it is a folder")
        old = self.chain(found.cluster) if found and found.cluster else []
        cluster = self.place(data)
        if found:
            self.switch(found, cluster, len(data))
        else:
            self.add(folder, PurePosixPath(name).name, ARCHIVE, cluster, len(data))
        forget_cache(self.device)
        if self.content(name) != data:
            raise Refused(f"the stick is faulty: {name} reads differently")
        self.link(dict.fromkeys(old, 0))
        self.count_free()

    def switch(self, found: Found, cluster: int, size: int) -> None:
        """One sector: the file gets another chain."""
        at, offset = found.offset - found.offset % SECTOR, found.offset % SECTOR
        sector = bytearray(read_at(self.device, SECTOR, self.start + at))
        sector[offset + 11] |= ARCHIVE
        struct.pack_into("<H4sHI", sector, offset + 20, cluster >> 16, time_fields(), cluster & 0xFFFF, size)
        self.write(bytes(sector), at)
        forget_cache(self.device)
        check_written(self.device, bytes(sector), self.start + at)
