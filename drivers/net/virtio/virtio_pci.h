/* The PCI transport of virtio devices. One set of functions serves both register layouts:
 * the modern one in device memory (virtio 1.1, section 4.1.4) and the legacy one in I/O
 * ports (4.1.4.8). Also the memory of a split virtqueue (2.6).
 *
 * The interrupt is INTx; MSI-X is switched off. Every wait is bounded. */
#ifndef DRIVERS_NET_VIRTIO_VIRTIO_PCI_H
#define DRIVERS_NET_VIRTIO_VIRTIO_PCI_H

#include "drivers/net/virtio/virtio_reg.h"
#include "kernel/seam/io.h"
#include "kernel/board/pci.h"

#define VIRTIO_PCI_QUEUES 2 /* as many as the network driver uses */

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

/* A virtqueue's memory, in the layout of 2.6.2, which modern devices accept as well. The
 * device writes the used ring and only reads the rest. */
struct virtio_ring {
	uint32_t size; /* entries, a power of two */
	size_t bytes;
	struct virtio_desc *desc;
	volatile uint16_t *avail;                /* available ring: flags, index, entries */
	const volatile uint16_t *used;           /* used ring: flags, index */
	const volatile struct virtio_used *done; /* used ring: entries */
	/* With EVENT_IDX: at which used entry the device is to interrupt (2.6.7), and at which
	 * available entry it wants to be notified (2.6.8). */
	volatile uint16_t *used_event;
	const volatile uint16_t *avail_event;
};

struct virtio_pci {
	struct pci_dev dev;
	bool modern;
	uint16_t port;                               /* first I/O port of the legacy registers */
	volatile uint8_t *common, *isr, *config;     /* modern registers */
	volatile uint8_t *notify[VIRTIO_PCI_QUEUES]; /* set by virtio_pci_queue_start */
	uint32_t config_len;
	struct {
		uint8_t bar;
		uint32_t off, len, mult;
	} notify_cap;             /* where notifications are written */
	volatile uint8_t *bar[6]; /* mapped base address registers; NULL: not mapped */
};

/* Finds the device's registers: the modern ones if they exist and can be reached, else the
 * legacy ones. Enables the device's bus access. Fills in *v. Gives NULL, or a text that
 * says what is wrong. */
const char *virtio_pci_open(struct virtio_pci *v, const struct pci_dev *dev);

/* Resets the device. False when the device did not confirm the reset within 100 ms; then it
 * may still access memory. */
bool virtio_pci_reset(struct virtio_pci *v) MUST_USE;

/* Gives the device status (2.1): VIRTIO_ACKNOWLEDGE and so on. */
uint8_t virtio_pci_status(const struct virtio_pci *v);
/* Sets `bits` in the device status; the other bits stay. */
void virtio_pci_status_add(struct virtio_pci *v, uint8_t bits);

/* Gives the features that the device offers (VIRTIO_F_… and VIRTIO_NET_F_…). */
uint64_t virtio_pci_features(struct virtio_pci *v);
/* Accepts `features`, a subset of the offered ones. False when the device refuses them. */
bool virtio_pci_accept(struct virtio_pci *v, uint64_t features) MUST_USE;

/* Gives the number of entries of the device's queue n; 0: the device has no such queue. A
 * driver may use fewer entries with a modern device, but not with a legacy one. */
uint16_t virtio_pci_queue_size(struct virtio_pci *v, uint16_t n);
/* Gives *r memory for `size` entries, or clears the memory that it already has if that is
 * enough. Gives NULL, or a text that says what is wrong. */
const char *virtio_pci_ring(struct virtio_ring *r, uint32_t size);
/* Writes the addresses of the ring of queue n to the device. Gives NULL, or a text that
 * says what is wrong. */
const char *virtio_pci_queue_start(struct virtio_pci *v, uint16_t n, const struct virtio_ring *r);

/* Reads n bytes of the device's configuration at offset `off` into buf. All bytes are from
 * one moment (2.4.1). False when they kept changing or do not exist. */
bool virtio_pci_config(const struct virtio_pci *v, uint32_t off, uint8_t *buf, uint32_t n) MUST_USE;
/* Gives the 16-bit field at offset `off` of the device's configuration; 0 when there is
 * none. */
uint16_t virtio_pci_config16(const struct virtio_pci *v, uint32_t off);

/* Gives why the device raised the interrupt: VIRTIO_ISR_… bits. The read also lowers the
 * interrupt line (4.1.4.5). */
uint8_t virtio_pci_isr(const struct virtio_pci *v);

/* Notifies the device that queue n has new buffers (4.1.5.2). */
static inline void virtio_pci_notify(const struct virtio_pci *v, uint16_t n)
{
	if (v->modern)
		mmio_write16(v->notify[n], n);
	else
		io_out16((uint16_t)(v->port + VIRTIO_L_NOTIFY), n);
}

#endif
