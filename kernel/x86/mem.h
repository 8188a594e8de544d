/* Paging: which memory may be read, written and executed, and windows to device memory
 * (mem_map, declared in io.h). */
#ifndef KERNEL_X86_MEM_H
#define KERNEL_X86_MEM_H

#include "kernel/lib/bytes.h"
#include "kernel/board/multiboot.h"

/* Addresses from here on are windows of mem_map. RAM there is not used. */
#define MEM_WINDOW 0xf8000000u

/* Sets the RAM that mem_init maps one to one. (boot.c calls it) */
void mem_ram(const struct multiboot_map *ram);

/* Turns paging on. Needs alloc(). (cpu_init calls it) */
void mem_init(void);

/* Maps a frame buffer as mem_map maps device memory; the processor collects stores to it and sends
 * them in bursts (write combining), where it can. NULL when this is not possible. */
volatile void *mem_map_frame(uint64_t phys, size_t size);

/* Flushes the TLB, where the processor is QEMU's translator (TCG). No other needs it, because the
 * tables never change. But TCG fits the size of its emulated TLB to the pages in use only when a
 * guest flushes it. Without a flush it stays at 256 pages of 4 KB. */
void mem_flush_tlb(void);

#endif
