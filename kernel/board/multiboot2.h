/* The information of a Multiboot 2 loader (specification 2.0, section 3.6): one block of tags. */
#ifndef KERNEL_BOARD_MULTIBOOT2_H
#define KERNEL_BOARD_MULTIBOOT2_H

#include "kernel/board/multiboot.h"

/* Reads the `len` bytes at `block`, which begins with its own length; it is 8-byte aligned. The
 * pointers of *info lead into the block. Tags that are incomplete or impossible count as missing,
 * and nothing behind `len` is read. */
void multiboot2_read(struct multiboot_info *info, const uint8_t *block, size_t len);

#endif
