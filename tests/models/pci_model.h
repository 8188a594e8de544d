/* A PCI bus for driver tests: configuration space behind ports 0xCF8 and 0xCFC
 * (PCI Local Bus Specification 3.0, 3.2.2.3.2 and chapter 6), base addresses
 * that can be sized and moved, and bus mastering that is really off until the
 * command register says otherwise. Device models hang on it.
 *
 * What a driver may not do is a fault: printed, counted, and for the test to
 * check (pci_model_faults is 0 at the end). Out on purpose: bridges, byte
 * enables inside device registers. */
#ifndef TESTS_MODELS_PCI_MODEL_H
#define TESTS_MODELS_PCI_MODEL_H

#include "kernel/lib/bytes.h"

#define PCI_MODEL_MAX 8

struct pci_model_bar {
	bool io;       /* ports, else memory */
	bool is64;     /* takes the next base address register as its upper half */
	uint64_t base; /* where the firmware put it */
	uint64_t size; /* a power of two; 0: not there */
	uint32_t (*read)(void *ctx, uint32_t off, unsigned size);
	void (*write)(void *ctx, uint32_t off, unsigned size, uint32_t v);
};

struct pci_model_dev {
	uint8_t bus, dev, fn;
	uint16_t vendor, device, subvendor, subdevice;
	uint8_t class_code, subclass, prog_if, revision;
	uint8_t irq;
	struct pci_model_bar bar[6];
	/* Time passes (a busy wait of the code under test); may be NULL. */
	void (*delay)(void *ctx, uint32_t us);
	void *ctx;
	/* Kept by the bus: the 256 bytes as read, and which bits can be written.
	 * A test may change them after pci_model_add. */
	uint8_t cfg[256];
	uint8_t writable[256];
	uint8_t cap_end; /* where the next capability goes */
};

/* An empty bus, installed as the host's; forgets all devices and faults. */
void pci_model_reset(void);

/* Hangs a device on the bus; *d stays the caller's and must live on. Memory
 * and I/O decoding and bus mastering are off, as after a power-on. */
void pci_model_add(struct pci_model_dev *d);

/* Adds a capability of n bytes (from its ID on; the link byte is filled in);
 * gives its offset. */
uint8_t pci_model_add_cap(struct pci_model_dev *d, const void *cap, uint8_t n);

/* The memory behind a bus address for a transfer by `d`. NULL, and a fault,
 * when bus mastering is off or the bytes are not the driver's. */
void *pci_model_dma(struct pci_model_dev *d, uint64_t bus, size_t n);

/* Bits of the command register (6.2.2). */
bool pci_model_can_master(const struct pci_model_dev *d);

/* Notes something the driver may not do. */
void pci_model_fault(const char *fmt, ...) PRINTF_LIKE(1, 2);
unsigned pci_model_faults(void);
/* Forgets the faults so far (a test that provoked them). */
void pci_model_faults_clear(void);

/* Accesses to device registers (memory and ports, not configuration space)
 * since the reset, for tests of the packet path. */
unsigned pci_model_reads(void);
unsigned pci_model_writes(void);

#endif
