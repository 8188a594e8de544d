/* The seam between the code and the machine: I/O ports, device memory, bus addresses,
 * barriers and short waits. The host build of the tests finds another file of this name
 * first on its include path. There the same names access device models.
 *
 * x86 keeps stores in order and loads in order (Intel SDM vol. 3, 8.2.2), so io_wmb and
 * io_rmb only keep the compiler from reordering. io_mb also keeps a later load from passing
 * an earlier store. LFENCE and MFENCE are SSE2 and not used. */
#ifndef KERNEL_SEAM_IO_H
#define KERNEL_SEAM_IO_H

#include <stddef.h>
#include <stdint.h>

/* Reads 8, 16 or 32 bits from an I/O port. */
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

/* Writes 8, 16 or 32 bits to an I/O port. */
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

/* Reads 8, 16 or 32 bits of device memory. `p` lies in a window that mem_map gave. */
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

/* Writes 8, 16 or 32 bits of device memory. `p` lies in a window that mem_map gave. */
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

/* Gives the bus address at which a device reaches `p`. Ordinary memory is mapped one to
 * one, so the address is below 4 GB on the machine. */
static inline uint64_t dma_addr(const void *p)
{
	return (uintptr_t)p;
}

/* Keeps earlier stores before later stores. */
static inline void io_wmb(void)
{
	__asm__ volatile("" : : : "memory");
}

/* Keeps earlier loads before later loads. */
static inline void io_rmb(void)
{
	__asm__ volatile("" : : : "memory");
}

/* Keeps earlier loads and stores before later ones. */
static inline void io_mb(void)
{
	__asm__ volatile("lock; addl $0, (%%esp)" : : : "memory");
}

/* Gives the time-stamp counter, for timings and jitter. Not a clock. */
static inline uint64_t io_cycles(void)
{
	uint32_t lo, hi;
	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

/* Marks n bytes that no code may access, for sanitizer builds. Does nothing here. */
static inline void io_poison(const void *p, size_t n)
{
	(void)p;
	(void)n;
}

/* Ends io_poison for n bytes. */
static inline void io_unpoison(const void *p, size_t n)
{
	(void)p;
	(void)n;
}

/* Waits at least `us` microseconds without halting. Only for the start-up of devices, never
 * in the packet path. (clock.c) */
void io_delay_us(uint32_t us);

/* Gives microseconds since boot, for bounded waits in the start-up of devices. The packet
 * path gets the time from its caller instead. (clock.c) */
uint64_t io_now_us(void);

/* Maps `size` bytes of device memory at the physical address `phys`, uncached. Gives the
 * address for mmio_*, or NULL when the processor cannot reach it or the windows are used
 * up. Mappings last for ever. (mem.c) */
volatile void *mem_map(uint64_t phys, size_t size);

#endif
