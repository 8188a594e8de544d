/* The entry into C from boot/entry.S. */
#ifndef KERNEL_MAIN_H
#define KERNEL_MAIN_H

#include "kernel/lib/bytes.h"

/* Runs the machine and never returns. `magic` and `mbi` are EAX and EBX as the boot loader
 * set them (Multiboot 0.6.96, section 3.2). */
void main_start(uint32_t magic, uint32_t mbi) __attribute__((noreturn));

#endif
