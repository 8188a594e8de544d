/* The seam between the code and the machine: ports, device memory, bus
 * addresses, barriers and short waits. The host build of the tests finds
 * another file of this name first on its include path, in which the same
 * names reach device models; nothing else differs between the two builds.
 *
 * x86 keeps stores in order and loads in order (Intel SDM vol. 3, 8.2.2), so
 * io_wmb and io_rmb only hold the compiler back; io_mb also keeps a later load
 * from passing an earlier store. LFENCE/MFENCE are SSE2 and not used. */
#ifndef KERNEL_SEAM_IO_H
#define KERNEL_SEAM_IO_H

#include <stddef.h>
#include <stdint.h>

static inline uint8_t io_in8(uint16_t port)
{
	uint8_t v;
	__asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port) : "memory");
	return v;
}

static inline uint16_t io_in16(uint16_t port)
{
	uint16_t v;
	__asm__ volatile("inw %1, %0" : "=a"(v) : "Nd"(port) : "memory");
	return v;
}

static inline uint32_t io_in32(uint16_t port)
{
	uint32_t v;
	__asm__ volatile("inl %1, %0" : "=a"(v) : "Nd"(port) : "memory");
	return v;
}

static inline void io_out8(uint16_t port, uint8_t v)
{
	__asm__ volatile("outb %0, %1" : : "a"(v), "Nd"(port) : "memory");
}

static inline void io_out16(uint16_t port, uint16_t v)
{
	__asm__ volatile("outw %0, %1" : : "a"(v), "Nd"(port) : "memory");
}

static inline void io_out32(uint16_t port, uint32_t v)
{
	__asm__ volatile("outl %0, %1" : : "a"(v), "Nd"(port) : "memory");
}

/* Device memory; `p` lies in a window that mem_map gave. */
static inline uint8_t mmio_read8(const volatile void *p)
{
	return *(const volatile uint8_t *)p;
}

static inline uint16_t mmio_read16(const volatile void *p)
{
	return *(const volatile uint16_t *)p;
}

static inline uint32_t mmio_read32(const volatile void *p)
{
	return *(const volatile uint32_t *)p;
}

static inline void mmio_write8(volatile void *p, uint8_t v)
{
	*(volatile uint8_t *)p = v;
}

static inline void mmio_write16(volatile void *p, uint16_t v)
{
	*(volatile uint16_t *)p = v;
}

static inline void mmio_write32(volatile void *p, uint32_t v)
{
	*(volatile uint32_t *)p = v;
}

/* Bus address under which a device reaches `p` (ordinary memory is mapped one
 * to one, so below 4 GB on the machine). */
static inline uint64_t dma_addr(const void *p)
{
	return (uintptr_t)p;
}

static inline void io_wmb(void)
{
	__asm__ volatile("" : : : "memory");
}

static inline void io_rmb(void)
{
	__asm__ volatile("" : : : "memory");
}

static inline void io_mb(void)
{
	__asm__ volatile("lock; addl $0, (%%esp)" : : : "memory");
}

/* Time-stamp counter, for timings and jitter; not a clock. */
static inline uint64_t io_cycles(void)
{
	uint32_t lo, hi;
	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

/* Marks memory as not to be touched (sanitizer builds); nothing here. */
static inline void io_poison(const void *p, size_t n)
{
	(void)p;
	(void)n;
}

static inline void io_unpoison(const void *p, size_t n)
{
	(void)p;
	(void)n;
}

/* Busy wait of at least `us` microseconds; for device start-up only, never in
 * the packet path. (clock.c) */
void io_delay_us(uint32_t us);

/* Microseconds since boot, for bounded waits in device start-up. The packet
 * path takes the time from its caller instead. (clock.c) */
uint64_t io_now_us(void);

/* Maps `size` bytes of device memory at the physical address `phys`, uncached.
 * Gives the address to use with mmio_*, or NULL when the processor cannot
 * reach it or the windows are used up. Mappings stay for ever. (mem.c) */
volatile void *mem_map(uint64_t phys, size_t size);

#endif
