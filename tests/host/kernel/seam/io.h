/* The host's side of the seam (see kernel/seam/io.h): every access to I/O ports, device
 * memory and time goes to the bus that the test installed. */
#ifndef KERNEL_SEAM_IO_H
#define KERNEL_SEAM_IO_H

#include <stddef.h>
#include <stdint.h>

/* The bus of a test. A call of a function that is not set aborts the test. */
struct host_bus {
	void *ctx;
	uint32_t (*port_in)(void *ctx, uint16_t port, unsigned size);
	void (*port_out)(void *ctx, uint16_t port, unsigned size, uint32_t v);
	uint32_t (*mem_read)(void *ctx, uint64_t phys, unsigned size);
	void (*mem_write)(void *ctx, uint64_t phys, unsigned size, uint32_t v);
	/* Called after time has passed by `us` in a busy wait of the code under test. */
	void (*delay)(void *ctx, uint32_t us);
};

/* Installs a bus. The bus is copied. NULL removes it. */
void host_bus_set(const struct host_bus *bus);

/* The clock that io_now_us gives. io_delay_us advances it, and tests may change it. */
extern uint64_t host_now_us;

/* Makes a fresh arena of `size` bytes for alloc(). Bus addresses count from HOST_DMA_BASE,
 * so they also fit in 32 bits in a 64-bit build. */
#define HOST_DMA_BASE 0x100000u
void host_arena(size_t size);

/* Gives the arena and its size; NULL before the first host_arena. */
uint8_t *host_arena_at(size_t *size);

/* A range of memory: from the first byte to one past the last. */
struct host_span {
	const uint8_t *at, *end;
};
/* Gives the range that covers all calls of io_poison and io_unpoison since the last call of this
 * function; NULL when there was none. */
struct host_span host_poison_changed(void);

/* Finds the first poisoned byte from `at` on. Gives it, and in *n the number of poisoned
 * bytes from there. NULL when there is none before `end`. Without a sanitizer nothing is
 * poisoned. */
const uint8_t *host_poisoned(const uint8_t *at, const uint8_t *end, size_t *n);

/* Called at each dma_addr, where set: so a device does something while the driver is at work. */
extern void (*host_dma_watch)(void);

/* Gives the memory at a bus address, for device models. NULL unless all n bytes lie in the
 * arena; a model must treat that as a DMA fault of the driver. */
void *host_dma(uint64_t bus, size_t n);

/* The functions of the seam; see kernel/seam/io.h. */
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
