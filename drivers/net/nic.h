/* The interface between the gateway and a network card.
 *
 * Polled: rx and tx move bursts; interrupts only wake the processor from its
 * halt. All calls come from one thread and never from an interrupt. */
#ifndef DRIVERS_NET_NIC_H
#define DRIVERS_NET_NIC_H

#include "kernel/x86/pci.h"
#include "kernel/lib/pkt.h"

#define NIC_MAX   8
#define NIC_BURST 32u /* packets a call, at most */

struct nic;

struct nic_link {
	bool up;
	bool full_duplex;
	uint16_t mbit; /* 0: not known */
};

struct nic_ops {
	/* Takes up to max received frames, without FCS, in order; the caller
	 * owns them. Each slot taken gets a fresh packet from nic->pool; when
	 * that is empty the frame is dropped, counted in rx_no_packet, and its
	 * packet goes back into the ring. */
	uint32_t (*rx)(struct nic *nic, struct pkt **burst, uint32_t max);
	/* Hands n frames to the card; gives how many it took (from the front),
	 * which it owns until sent. Short frames are padded to 60 bytes. Also
	 * reclaims what was sent. With the link down it takes and drops all,
	 * counted in tx_link_down, so that nothing stale waits for the link. */
	uint32_t (*tx)(struct nic *nic, struct pkt **burst, uint32_t n);
	/* About every 10 ms: link state, reclaim, recovery of a hung card. */
	void (*poll)(struct nic *nic, uint64_t now_us);
	/* Enables the wake-up and looks again: true when work is waiting. */
	bool (*arm)(struct nic *nic);
	/* Ends all DMA; the card is silent afterwards. Bounded in time. */
	void (*stop)(struct nic *nic);
	/* What passes besides the card's own address and broadcast: everything
	 * (promiscuous), or these n multicast addresses. Called rarely. */
	void (*filter)(struct nic *nic, bool promiscuous, const mac *group, uint32_t n);
};

struct nic_counters {
	uint64_t rx_no_packet; /* frames dropped: pool empty */
	uint64_t rx_missed;    /* frames the card dropped: ring full */
	uint64_t rx_errors;    /* FCS, alignment, lengths that lie, frames over a slot */
	uint64_t tx_errors;    /* frames the card gave up */
	uint64_t tx_link_down; /* frames dropped: no link */
	uint64_t resets;       /* times the card had to be started again */
};

struct nic {
	const struct nic_ops *ops;
	const char *driver;
	struct pool *pool;
	mac address;
	uint8_t irq; /* PIC line, 0xff: none */
	struct nic_link link;
	struct nic_counters count;
	struct pci_dev pci;
};

struct pci_id {
	uint16_t vendor, device;
};

struct pci_driver {
	const char *name;
	const struct pci_id *ids;
	uint32_t n_ids;
	/* Resets and starts the card with its receive ring filled from `pool`.
	 * Gives NULL and sets *out, or the text of what is wrong (the card is
	 * then quiet). */
	const char *(*probe)(const struct pci_dev *dev, struct pool *pool, struct nic **out);
};

/* Finds all cards that a driver takes, by ascending bus, device, function;
 * logs each, and each failure. Gives how many are in out. (nic_list.c) */
uint32_t nic_probe_all(struct pool *pool, struct nic **out, uint32_t max);

#endif
