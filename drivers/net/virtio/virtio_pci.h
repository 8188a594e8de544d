/* The PCI transport of virtio devices: one set of calls for both register
 * layouts, the modern one (virtio 1.1, section 4.1.4) and the legacy one in I/O
 * ports (4.1.4.8), and the memory of a split queue (2.6).
 *
 * Interrupts are INTx; MSI-X is switched off. Every wait is bounded. */
#ifndef DRIVERS_NET_VIRTIO_VIRTIO_PCI_H
#define DRIVERS_NET_VIRTIO_VIRTIO_PCI_H

#include "drivers/net/virtio/virtio_reg.h"
#include "kernel/seam/io.h"
#include "kernel/x86/pci.h"

#define VIRTIO_PCI_QUEUES 2 /* as many as a driver here uses */

/* 2.6.5. The upper half of the address is 0: memory lies below 4 GB. */
struct virtio_desc {
	uint32_t addr, addr_high, len;
	uint16_t flags, next;
};
_Static_assert(sizeof(struct virtio_desc) == 16, "descriptor");

/* 2.6.8: one entry of the used ring. */
struct virtio_used {
	uint32_t id, len;
};

/* A queue's memory, laid out as 2.6.2 wants it, which modern devices take as
 * well. The device writes behind `used` and reads the rest. */
struct virtio_ring {
	uint32_t size; /* entries, a power of two */
	size_t bytes;
	struct virtio_desc *desc;
	volatile uint16_t *avail;                /* flags, index, ring */
	const volatile uint16_t *used;           /* flags, index */
	const volatile struct virtio_used *done; /* ring */
};

struct virtio_pci {
	struct pci_dev dev;
	bool modern;
	uint16_t port;                               /* legacy registers */
	volatile uint8_t *common, *isr, *config;     /* modern ones */
	volatile uint8_t *notify[VIRTIO_PCI_QUEUES]; /* set by virtio_pci_queue_start */
	uint32_t config_len;
	struct {
		uint8_t bar;
		uint32_t off, len, mult;
	} door;                   /* where notifications go */
	volatile uint8_t *bar[6]; /* registers mapped as a whole */
};

/* Finds the registers, the modern ones if they are there and can be reached,
 * and turns the device's bus access on. NULL or the text of what is wrong. */
const char *virtio_pci_open(struct virtio_pci *v, const struct pci_dev *dev);

/* Resets the device; false when it did not say so within 100 ms: then it may
 * still use memory. */
bool virtio_pci_reset(struct virtio_pci *v) MUST_USE;
/* Ends all bus access of a device that does not reset. */
void virtio_pci_cut(struct virtio_pci *v);

uint8_t virtio_pci_status(const struct virtio_pci *v);
/* Sets further bits of the status. */
void virtio_pci_status_add(struct virtio_pci *v, uint8_t bits);

/* What the device offers; and accepting some of it, which it may refuse. */
uint64_t virtio_pci_features(struct virtio_pci *v);
bool virtio_pci_accept(struct virtio_pci *v, uint64_t features) MUST_USE;

/* Entries of the device's queue n; 0: no such queue. A modern device takes a
 * smaller size, a legacy one does not. */
uint16_t virtio_pci_queue_size(struct virtio_pci *v, uint16_t n);
/* Memory for a ring of `size`, or the cleared memory it already has. */
const char *virtio_pci_ring(struct virtio_ring *r, uint32_t size);
/* Tells the device where the ring of queue n is. NULL or what is wrong. */
const char *virtio_pci_queue_start(struct virtio_pci *v, uint16_t n, const struct virtio_ring *r);

/* n bytes of the device's configuration, as they were at one moment (2.4.1);
 * false when they never stood still or are not there. */
bool virtio_pci_config(const struct virtio_pci *v, uint32_t off, uint8_t *buf, uint32_t n) MUST_USE;
/* One 16-bit field of it. */
uint16_t virtio_pci_config16(const struct virtio_pci *v, uint32_t off);

/* Why the device interrupted; reading lowers the line (4.1.4.5). */
uint8_t virtio_pci_isr(const struct virtio_pci *v);

/* Tells the device that queue n has new buffers (4.1.5.2). */
static inline void virtio_pci_notify(const struct virtio_pci *v, uint16_t n)
{
	if (v->modern)
		mmio_write16(v->notify[n], n);
	else
		io_out16((uint16_t)(v->port + VIRTIO_L_NOTIFY), n);
}

#endif
