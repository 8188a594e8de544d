/* Shared by the two halves of the driver for Intel's 82575 to I211: igb.c moves packets and
 * supervises the card, igb_hw.c handles reset, address, PHY and carrier. */
#ifndef DRIVERS_NET_IGB_IGB_H
#define DRIVERS_NET_IGB_IGB_H

#include "drivers/net/igb/igb_reg.h"
#include "drivers/net/nic.h"
#include "kernel/seam/io.h"

#define I_RX_RING NIC_RING
#define I_TX_RING 128u

struct igb {
	struct nic nic; /* must be first: the ops get a pointer to it */
	volatile uint8_t *regs;
	bool is_82575;
	bool broken;     /* reset failed, or no longer on the bus; the carrier counts as down */
	bool tx_refused; /* the last tx() found the ring full */
	bool tx_wake;    /* sent frames are a cause too */
	uint32_t ack;    /* how many of the next arm() calls acknowledge causes */
	uint32_t rctl;
	uint32_t mta[MTA_WORDS];
	struct igb_desc *rx_desc, *tx_desc;
	struct pkt *rx[I_RX_RING], *tx[I_TX_RING];
	uint32_t rx_next;
	uint32_t tx_head,
	        tx_tail; /* oldest frame not yet reclaimed, next free slot; free-running */
	uint64_t poll_us, hang_us, stats_us;
	uint32_t hang_head;
};

static inline uint32_t igb_get(const struct igb *g, uint32_t reg)
{
	return mmio_read32(g->regs + reg);
}

static inline void igb_put(const struct igb *g, uint32_t reg, uint32_t v)
{
	mmio_write32(g->regs + reg, v);
}

/* Ends all DMA and masks all interrupts. False when the card does not finish its reset. Takes up to
 * 200 ms. */
bool igb_hw_reset(struct igb *g);

/* Reads the MAC address, which the card has from its EEPROM. False when it is not usable. */
bool igb_hw_address(struct igb *g);

/* True when the card has a twisted pair. */
bool igb_hw_copper(const struct igb *g);

/* Tells the rings to a card that was just reset; starts queues, receiver and transmitter. False
 * when a queue does not start. Takes up to 50 ms. */
bool igb_hw_start(struct igb *g);

/* Writes g->rctl and g->mta. */
void igb_hw_filter(const struct igb *g);

/* Reads the carrier into nic.carrier. */
void igb_hw_carrier(struct igb *g);

/* nic_ops.report. */
void igb_hw_report(struct nic *nic, struct nic_report *r);

#endif
