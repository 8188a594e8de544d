/* PCI configuration space through mechanism 1 (ports 0xCF8, 0xCFC; PCI Local
 * Bus Specification 3.0, 3.2.2.3.2). Built on io.h only, so drivers are tested
 * on the host with this very file. */
#ifndef KERNEL_X86_PCI_H
#define KERNEL_X86_PCI_H

#include "kernel/lib/bytes.h"

struct pci_dev {
	uint8_t bus, dev, fn;
	uint16_t vendor, device;
	uint16_t subvendor, subdevice;
	uint8_t class_code, subclass, prog_if, revision;
	uint8_t irq; /* PIC line, 0xff: none */
};

struct pci_bar {
	bool io;       /* port range, else memory */
	uint64_t base; /* 0: not there */
	uint64_t size;
};

/* Finds the next function in ascending bus, device, function order, *cursor
 * being 0 at first; false after the last. Buses behind bridges are found
 * because all 256 are asked that some bridge names. */
bool pci_next(uint32_t *cursor, struct pci_dev *out);

uint8_t pci_read8(const struct pci_dev *d, uint8_t off);
uint16_t pci_read16(const struct pci_dev *d, uint8_t off);
uint32_t pci_read32(const struct pci_dev *d, uint8_t off);
void pci_write16(const struct pci_dev *d, uint8_t off, uint16_t v);
void pci_write32(const struct pci_dev *d, uint8_t off, uint32_t v);

/* Base address register n (0-5), sized by writing ones; the upper half of a
 * 64-bit register is not one of its own. */
struct pci_bar pci_bar(const struct pci_dev *d, unsigned n);

/* Turns on memory, I/O and bus mastering, wakes the device to D0. */
void pci_enable(const struct pci_dev *d);

/* Offset of the first capability `id` after `from` (0: from the start), or 0.
 * The walk is bounded. */
uint8_t pci_capability(const struct pci_dev *d, uint8_t id, uint8_t from);

#endif
