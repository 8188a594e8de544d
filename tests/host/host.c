/* The host's side of the seam: an arena for alloc(), and accesses that go to the bus of the
 * test. */
#include "kernel/seam/io.h"

#include "kernel/lib/alloc.h"
#include "kernel/seam/panic.h"
#include "kernel/lib/pkt.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define HOST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HOST_ASAN 1
#endif
#endif
#ifdef HOST_ASAN
#include <sanitizer/asan_interface.h>
#endif

uint64_t host_now_us;
static struct host_bus bus;
static uint8_t *arena;
static size_t arena_size;
static struct host_span changed; /* for host_poison_changed */

/* Device memory is a reserved address range without access, so that a plain pointer access
 * by a driver faults. Each address inside it stands for a physical address. */
#define WINDOWS      16
#define WINDOW_BYTES (1u << 20)
static uint8_t *window_base;
static uint64_t window_phys[WINDOWS];
static unsigned n_windows;

static void fail(const char *what)
{
	fprintf(stderr, "host: %s\n", what);
	abort();
}

void host_bus_set(const struct host_bus *b)
{
	bus = b ? *b : (struct host_bus){0};
	n_windows = 0;
}

/* Reserves `size` bytes at an address that has the alignment of HOST_DMA_BASE, 1 MB. */
static uint8_t *aligned_range(size_t size)
{
	size = (size + 4095) & ~(size_t)4095;
	uint8_t *at =
	        mmap(NULL, size + HOST_DMA_BASE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		fail("no address space for the arena");
	size_t skip = -(uintptr_t)at % HOST_DMA_BASE;
	if (skip)
		munmap(at, skip);
	munmap(at + skip + size, HOST_DMA_BASE - skip);
	return at + skip;
}

void host_arena(size_t size)
{
	if (arena)
		io_unpoison(arena, arena_size);
	if (arena && size != arena_size) {
		munmap(arena, arena_size);
		arena = NULL;
	}
	/* An arena of the same size keeps its address, because images of it contain
	 * addresses. What is aligned for the processor is so for devices. */
	if (!arena)
		arena = aligned_range(size);
	arena = mmap(arena, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
	             -1, 0);
	if (arena == MAP_FAILED)
		fail("no memory for the arena");
	arena_size = size;
	alloc_reset();
	alloc_add(arena, size);
}

uint8_t *host_arena_at(size_t *size)
{
	*size = arena_size;
	return arena;
}

void *host_dma(uint64_t at, size_t n)
{
	if (at < HOST_DMA_BASE || at - HOST_DMA_BASE > arena_size ||
	    n > arena_size - (at - HOST_DMA_BASE))
		return NULL;
	return arena + (at - HOST_DMA_BASE);
}

void (*host_dma_watch)(void);

uint64_t dma_addr(const void *p)
{
	const uint8_t *b = p;
	if (host_dma_watch)
		host_dma_watch();
	if (!arena || b < arena || b >= arena + arena_size)
		fail("dma_addr of memory that alloc() did not give");
	return HOST_DMA_BASE + (uint64_t)(b - arena);
}

static uint32_t port_in(uint16_t port, unsigned size)
{
	if (!bus.port_in)
		fail("port input without a bus");
	return bus.port_in(bus.ctx, port, size);
}

static void port_out(uint16_t port, unsigned size, uint32_t v)
{
	if (!bus.port_out)
		fail("port output without a bus");
	bus.port_out(bus.ctx, port, size, v);
}

uint8_t io_in8(uint16_t port)
{
	return (uint8_t)port_in(port, 1);
}

uint16_t io_in16(uint16_t port)
{
	return (uint16_t)port_in(port, 2);
}

uint32_t io_in32(uint16_t port)
{
	return port_in(port, 4);
}

void io_out8(uint16_t port, uint8_t v)
{
	port_out(port, 1, v);
}

void io_out16(uint16_t port, uint16_t v)
{
	port_out(port, 2, v);
}

void io_out32(uint16_t port, uint32_t v)
{
	port_out(port, 4, v);
}

volatile void *mem_map(uint64_t phys, size_t size)
{
	if (!window_base) {
		window_base = mmap(NULL, (size_t)WINDOWS * WINDOW_BYTES, PROT_NONE,
		                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (window_base == MAP_FAILED)
			fail("no address space for windows");
	}
	if (n_windows == WINDOWS || size > WINDOW_BYTES)
		return NULL;
	window_phys[n_windows] = phys;
	return window_base + (size_t)n_windows++ * WINDOW_BYTES;
}

static uint64_t window_to_phys(const volatile void *p)
{
	const uint8_t *b = (const uint8_t *)p;
	if (!window_base || b < window_base || b >= window_base + (size_t)n_windows * WINDOW_BYTES)
		fail("device memory access outside what mem_map gave");
	size_t off = (size_t)(b - window_base);
	return window_phys[off / WINDOW_BYTES] + off % WINDOW_BYTES;
}

static uint32_t mem_read(const volatile void *p, unsigned size)
{
	if (!bus.mem_read)
		fail("device memory read without a bus");
	return bus.mem_read(bus.ctx, window_to_phys(p), size);
}

static void mem_write(volatile void *p, unsigned size, uint32_t v)
{
	if (!bus.mem_write)
		fail("device memory write without a bus");
	bus.mem_write(bus.ctx, window_to_phys(p), size, v);
}

uint8_t mmio_read8(const volatile void *p)
{
	return (uint8_t)mem_read(p, 1);
}

uint16_t mmio_read16(const volatile void *p)
{
	return (uint16_t)mem_read(p, 2);
}

uint32_t mmio_read32(const volatile void *p)
{
	return mem_read(p, 4);
}

void mmio_write8(volatile void *p, uint8_t v)
{
	mem_write(p, 1, v);
}

void mmio_write16(volatile void *p, uint16_t v)
{
	mem_write(p, 2, v);
}

void mmio_write32(volatile void *p, uint32_t v)
{
	mem_write(p, 4, v);
}

void io_wmb(void)
{
}

void io_rmb(void)
{
}

void io_mb(void)
{
}

uint64_t io_cycles(void)
{
	return __builtin_ia32_rdtsc();
}

static void note_poison(const uint8_t *at, const uint8_t *end)
{
	if (!changed.at || at < changed.at)
		changed.at = at;
	if (!changed.end || end > changed.end)
		changed.end = end;
}

struct host_span host_poison_changed(void)
{
	struct host_span s = changed;
	changed = (struct host_span){NULL, NULL};
	return s;
}

void io_poison(const void *p, size_t n)
{
	note_poison(p, (const uint8_t *)p + n);
#ifdef HOST_ASAN
	ASAN_POISON_MEMORY_REGION(p, n);
#endif
}

void io_unpoison(const void *p, size_t n)
{
	note_poison(p, (const uint8_t *)p + n);
#ifdef HOST_ASAN
	ASAN_UNPOISON_MEMORY_REGION(p, n);
#endif
}

const uint8_t *host_poisoned(const uint8_t *at, const uint8_t *end, size_t *n)
{
	*n = 0;
#ifdef HOST_ASAN
	/* Piece by piece, because one check of the whole range reads all of it. */
	for (const uint8_t *next; at < end; at = next) {
		next = end - at > 4096 ? at + 4096 : end;
		const uint8_t *found =
		        __asan_region_is_poisoned((void *)(uintptr_t)at, (size_t)(next - at));
		if (!found)
			continue;
		while (found + *n < end && __asan_address_is_poisoned(found + *n))
			++*n;
		return found;
	}
#else
	(void)at;
	(void)end;
#endif
	return NULL;
}

void io_delay_us(uint32_t us)
{
	host_now_us += us;
	if (bus.delay)
		bus.delay(bus.ctx, us);
}

uint64_t io_now_us(void)
{
	/* The clock also advances here, so that a loop that only waits for the clock ends. */
	return host_now_us++;
}

void panic(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

void pkt_double_free(const struct pkt *p)
{
	panic("packet %p freed twice", (const void *)p);
}
