/* Paging: what may be read, written and executed, and windows to device memory
 * (mem_map, declared in io.h). */
#ifndef KERNEL_X86_MEM_H
#define KERNEL_X86_MEM_H

#include "kernel/lib/bytes.h"
#include "kernel/x86/multiboot.h"

/* Addresses from here up are windows of mem_map; memory there is not used. */
#define MEM_WINDOW 0xfe000000u

/* The memory to map one to one; for mem_init. (boot.c calls it) */
void mem_ram(const struct multiboot_map *ram);

/* Turns paging on; needs alloc(). (cpu_init calls it) */
void mem_init(void);

/* Empties the TLB. The tables never change, so a processor has no need of it; but
 * QEMU fits the size of the TLB that it emulates to the pages in use only when a
 * guest empties it, and leaves it at 256 pages of 4 KB where none ever does. */
void mem_flush_tlb(void);

#endif
