/* A PCI bus for driver tests: configuration space behind I/O ports 0xCF8 and 0xCFC (PCI
 * Local Bus Specification 3.0, 3.2.2.3.2 and chapter 6), base addresses that can be sized
 * and moved, and bus mastering that is off until the command register enables it. Device
 * models are added to it.
 *
 * A device with a power management capability (PCI Bus Power Management Interface
 * Specification 1.2) responds only in D0. On the way from D3hot to D0 it loses what the
 * firmware wrote into its configuration space, unless the capability has the bit
 * No_Soft_Reset. A bridge (header type 1) lets accesses and transfers through only as its
 * command register says.
 *
 * Anything that a driver must not do is a fault. A fault is printed and counted; the test
 * checks that pci_model_faults is 0 at the end. Left out on purpose: the address windows of
 * bridges, byte enables inside device registers. */
#ifndef TESTS_MODELS_PCI_MODEL_H
#define TESTS_MODELS_PCI_MODEL_H

#include "kernel/lib/bytes.h"

#define PCI_MODEL_MAX 8

struct pci_model_bar {
	bool io;       /* I/O ports, else memory */
	bool is64;     /* takes the next base address register as its upper half */
	uint64_t base; /* the address that the firmware assigned */
	uint64_t size; /* a power of two; 0: no such register */
	uint32_t (*read)(void *ctx, uint32_t off, unsigned size);
	void (*write)(void *ctx, uint32_t off, unsigned size, uint32_t v);
};

struct pci_model_dev {
	uint8_t bus, dev, fn;
	uint16_t vendor, device, subvendor, subdevice;
	uint8_t class_code, subclass, prog_if, revision;
	uint8_t irq;
	struct pci_model_bar bar[6];
	/* Called in a busy wait of the code under test; may be NULL. */
	void (*delay)(void *ctx, uint32_t us);
	void *ctx;
	/* Owned by the bus: the 256 bytes of configuration space, and which bits can be
	 * written. A test may change them after pci_model_add. */
	uint8_t cfg[256];
	uint8_t writable[256];
	uint8_t cap_end;   /* offset of the next capability */
	uint8_t power;     /* offset of the power management capability; 0: none */
	uint64_t awake_us; /* earliest access after the way from D3hot to D0 */
};

/* Installs an empty bus as the host's bus. Removes all devices and faults. */
void pci_model_reset(void);

/* Adds a device to the bus. The caller owns *d and must keep it. Memory decoding, I/O
 * decoding and bus mastering are off, as after power-on. */
void pci_model_add(struct pci_model_dev *d);

/* Adds a capability of n bytes, which begins with its ID; fills in its link byte. Gives its
 * offset. */
uint8_t pci_model_add_cap(struct pci_model_dev *d, const void *cap, uint8_t n);

/* Gives the memory at a bus address for a transfer by `d`. NULL, and a fault, when bus
 * mastering is off or the bytes do not belong to the driver. */
void *pci_model_dma(struct pci_model_dev *d, uint64_t bus, size_t n);

/* From now on memory that the driver took back is no memory for transfers, until pci_model_reset:
 * for fuzzers whose device has said that it was done with it. Otherwise the sanitizer ends the
 * test. */
void pci_model_lied(void);

/* Gives one of the last PCI_MODEL_SPANS pieces of memory that a device was given, and its bytes: 0
 * for none. For fuzzers, which change what a device has written. */
#define PCI_MODEL_SPANS 64u
void *pci_model_span(unsigned k, size_t *n);

/* True when the device raises a power management event, or may raise one. */
bool pci_model_may_wake(const struct pci_model_dev *d);

/* True when the command registers of the device and of the bridges in front of it enable
 * bus mastering (6.2.2), and the device is in D0. */
bool pci_model_can_master(const struct pci_model_dev *d);

/* Reports something that the driver must not do. */
void pci_model_fault(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* Gives the number of faults so far. */
unsigned pci_model_faults(void);
/* Sets the number of faults to 0. For a test that provoked them. */
void pci_model_faults_clear(void);

/* Give the number of reads and writes of device registers (memory and I/O ports, not
 * configuration space) since pci_model_reset. For tests of the packet path. */
unsigned pci_model_reads(void);
unsigned pci_model_writes(void);

#endif
