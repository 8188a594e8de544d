/* PCI configuration space through mechanism 1 (I/O ports 0xCF8 and 0xCFC; PCI Local Bus
 * Specification 3.0, 3.2.2.3.2). Uses only io.h, so that drivers are tested on the host
 * with this same file. */
#ifndef KERNEL_BOARD_PCI_H
#define KERNEL_BOARD_PCI_H

#include "kernel/lib/bytes.h"

struct pci_dev {
	uint8_t bus, dev, fn;
	uint16_t vendor, device;
	uint16_t subvendor, subdevice;
	uint8_t class_code, subclass, prog_if, revision;
	uint8_t irq; /* PIC interrupt line; 0xff: none */
};

struct pci_bar {
	bool io;       /* I/O port range, else memory */
	uint64_t base; /* 0: the register does not exist */
	uint64_t size;
};

/* Finds the next function in ascending order of bus, device, function. *cursor is 0 at
 * first. False after the last function. Searches bus 0 and every bus that a bridge names. */
bool pci_next(uint32_t *cursor, struct pci_dev *out);

/* Reads 8, 16 or 32 bits at an aligned offset of the configuration space. */
uint8_t pci_read8(const struct pci_dev *d, uint8_t off);
uint16_t pci_read16(const struct pci_dev *d, uint8_t off);
uint32_t pci_read32(const struct pci_dev *d, uint8_t off);
/* Writes 8, 16 or 32 bits at an aligned offset of the configuration space. */
void pci_write8(const struct pci_dev *d, uint8_t off, uint8_t v);
void pci_write16(const struct pci_dev *d, uint8_t off, uint16_t v);
void pci_write32(const struct pci_dev *d, uint8_t off, uint32_t v);

/* Gives base address register n (0-5); its size is found by writing ones. The upper half of
 * a 64-bit register does not count as a register. */
struct pci_bar pci_bar(const struct pci_dev *d, unsigned n);

/* Wakes the device to D0 with its addresses as they were, switches its power management
 * events off, and enables memory, I/O, bus mastering and INTx. Gives it bus time (latency
 * timer) if it has too little. The bridges in front of the device pass its accesses and
 * transfers afterwards. */
void pci_enable(const struct pci_dev *d);

/* Ends all transfers that the device starts: switches its bus mastering off. */
void pci_cut(const struct pci_dev *d);

/* Gives the offset of the first capability `id` after offset `from` (0: from the start), or
 * 0 when there is none. The search is bounded. */
uint8_t pci_capability(const struct pci_dev *d, uint8_t id, uint8_t from);

#endif
