/* The host's side of the seam (see kernel/seam/io.h): every access to ports, device
 * memory and time goes to the bus that the test installed. */
#ifndef KERNEL_SEAM_IO_H
#define KERNEL_SEAM_IO_H

#include <stddef.h>
#include <stdint.h>

/* What a test plugs in. Unset functions abort the test that reaches them. */
struct host_bus {
	void *ctx;
	uint32_t (*port_in)(void *ctx, uint16_t port, unsigned size);
	void (*port_out)(void *ctx, uint16_t port, unsigned size, uint32_t v);
	uint32_t (*mem_read)(void *ctx, uint64_t phys, unsigned size);
	void (*mem_write)(void *ctx, uint64_t phys, unsigned size, uint32_t v);
	/* Time passed by `us` (a busy wait of the code under test). */
	void (*delay)(void *ctx, uint32_t us);
};

/* Installs a bus; NULL removes it. */
void host_bus_set(const struct host_bus *bus);

/* The clock that io_now_us shows; io_delay_us moves it on, tests may as well. */
extern uint64_t host_now_us;

/* A fresh arena of `size` bytes for alloc(); bus addresses count from
 * HOST_DMA_BASE, so they fit in 32 bits also in a 64-bit build. */
#define HOST_DMA_BASE 0x100000u
void host_arena(size_t size);

/* Where the arena is; NULL before the first host_arena. */
uint8_t *host_arena_at(size_t *size);

/* From the first to behind the last byte that io_poison and io_unpoison were called for
 * since this was last asked; NULL when there was none. */
struct host_span {
	const uint8_t *at, *end;
};
struct host_span host_poison_changed(void);

/* The first poisoned byte from `at` on, and how many follow it with it; NULL when there is
 * none before `end`. Without a sanitizer nothing is poisoned. */
const uint8_t *host_poisoned(const uint8_t *at, const uint8_t *end, size_t *n);

/* The memory behind a bus address, for device models: NULL unless all n bytes
 * lie in the arena, which a model must treat as a DMA fault of the driver. */
void *host_dma(uint64_t bus, size_t n);

uint8_t io_in8(uint16_t port);
uint16_t io_in16(uint16_t port);
uint32_t io_in32(uint16_t port);
void io_out8(uint16_t port, uint8_t v);
void io_out16(uint16_t port, uint16_t v);
void io_out32(uint16_t port, uint32_t v);

uint8_t mmio_read8(const volatile void *p);
uint16_t mmio_read16(const volatile void *p);
uint32_t mmio_read32(const volatile void *p);
void mmio_write8(volatile void *p, uint8_t v);
void mmio_write16(volatile void *p, uint16_t v);
void mmio_write32(volatile void *p, uint32_t v);

uint64_t dma_addr(const void *p);
void io_wmb(void);
void io_rmb(void);
void io_mb(void);
uint64_t io_cycles(void);
void io_poison(const void *p, size_t n);
void io_unpoison(const void *p, size_t n);
void io_delay_us(uint32_t us);
uint64_t io_now_us(void);
volatile void *mem_map(uint64_t phys, size_t size);

#endif
