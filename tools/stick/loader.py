# SPDX-License-Identifier: BSD-2-Clause
"""GRUB for a BIOS: its first sector, and its core between that and the first partition.

The first sector says where the core begins (boot.img of GRUB 2, kernel_sector), the core's first sector where the rest
is (diskboot.img, its last block list). So there is room for two cores, and the first sector is the switch.
"""

from __future__ import annotations

import struct

from stick.device import SECTOR, Refused, check_written, flush, forget_cache, read_at, write_at

BOOT_CODE = 440  # bytes of the first sector that are GRUB's; disk id and partition table follow
CORE_AT = slice(0x5C, 0x64)  # in the first sector: the core's first sector
REST_AT = slice(0x1F4, 0x1FC)  # in the core's first sector: the sector of the rest
REST_SECTORS = slice(0x1FC, 0x1FE)
PLACES = (1, 1024)  # the first sectors of the two cores; mkimages uses the first one
END = 2048  # where the partition begins


def number(data: bytes) -> int:
    return int.from_bytes(data, "little")


def core_of(device: int, first: bytes) -> tuple[int, bytes]:
    """The place of the core to which the first sector leads, and the core."""
    place = number(first[CORE_AT])
    if not 0 < place < END:
        raise Refused("the loader on it is not the gateway's")
    head = read_at(device, SECTOR, place * SECTOR)
    sectors = 1 + number(head[REST_SECTORS])
    if place + sectors > END:
        raise Refused("the loader on it is not the gateway's")
    return place, read_at(device, sectors * SECTOR, place * SECTOR)


def moved(core: bytes, place: int) -> bytes:
    """The core for another place."""
    return core[:REST_AT.start] + struct.pack("<Q", place + 1) + core[REST_AT.stop:]


def replace_loader(device: int, image: int) -> None:
    """Gives the stick the image's loader: the core into the free place, then the first sector."""
    old_first, new_first = read_at(device, SECTOR, 0), read_at(image, SECTOR, 0)
    (old_place, old), (_, new) = core_of(device, old_first), core_of(image, new_first)
    place = old_place
    if moved(new, place) != old:
        place = PLACES[0] if old_place >= PLACES[1] else PLACES[1]
        sectors = len(new) // SECTOR
        if place + sectors > (PLACES[1] if place == PLACES[0] else END) or (
                old_place < PLACES[1] < old_place + len(old) // SECTOR):
            raise Refused("there is no room for two loaders before its partition")
        write_at(device, moved(new, place), place * SECTOR)
        forget_cache(device)
        check_written(device, moved(new, place), place * SECTOR)
    first = new_first[:CORE_AT.start] + struct.pack("<Q", place) + new_first[CORE_AT.stop:BOOT_CODE]
    if first != old_first[:BOOT_CODE]:
        write_at(device, first + old_first[BOOT_CODE:], 0)
        flush(device)
        forget_cache(device)
        check_written(device, first + old_first[BOOT_CODE:], 0)
