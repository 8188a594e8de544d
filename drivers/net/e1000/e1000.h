/* Between the two halves of the 8254x driver: e1000.c moves packets and watches
 * over the card, e1000_hw.c speaks with its EEPROM and its PHY. */
#ifndef DRIVERS_NET_E1000_E1000_H
#define DRIVERS_NET_E1000_E1000_H

#include "drivers/net/e1000/e1000_reg.h"
#include "drivers/net/nic.h"
#include "kernel/seam/io.h"

#define E1000_RING 256u /* descriptors of each ring: a power of two, times 16 bytes */

enum e1000_kind {
	E1000_82540, /* and 82545, 82546 */
	E1000_82541, /* and 82547: EERD is laid out differently, PHY of another make */
	E1000_82544, /* no EERD */
};

/* A ring as the card sees it, and beside each descriptor, at the same distance
 * everywhere, what the card must not see: one pointer walks both. */
struct e1000_slot {
	struct pkt *p;
	uint32_t end; /* transmit, at the first slot of a burst: tx_tail after it */
	uint32_t unused[3 - sizeof(void *) / 4];
};
struct e1000_rx_ring {
	struct e1000_rx_desc desc[E1000_RING];
	struct e1000_slot slot[E1000_RING];
};
struct e1000_tx_ring {
	struct e1000_tx_desc desc[E1000_RING];
	struct e1000_slot slot[E1000_RING];
};
_Static_assert(sizeof(struct e1000_slot) == 16, "slots as large as descriptors");

struct e1000 {
	struct nic nic; /* first: the ops get a pointer to it */
	volatile uint8_t *regs;
	struct e1000_rx_ring *rx;
	struct e1000_tx_ring *tx;
	struct e1000_rx_desc *rx_next; /* next to look at */
	uint32_t rx_want; /* RXD_DD and RXD_EOP; unreachable while a chain is skipped */
	uint32_t tx_head; /* oldest frame not reclaimed; runs free */
	uint32_t tx_tail; /* next free descriptor; runs free */
	uint32_t ack;     /* how many of the next arm() calls read the causes */
	bool tx_refused;  /* the last tx() found the ring full */
	bool tx_wake;     /* INT_TXDW is enabled */
	bool promiscuous;
	bool broken; /* does not come out of reset: link is down */
	enum e1000_kind kind;
	uint64_t poll_us, stats_us;
	uint32_t hang_head; /* tx_head at hang_us */
	uint64_t hang_us;
	uint32_t mta[MTA_WORDS];
};

static inline uint32_t e1000_read(const struct e1000 *e, uint32_t reg)
{
	return mmio_read32(e->regs + reg);
}

static inline void e1000_write(const struct e1000 *e, uint32_t reg, uint32_t v)
{
	mmio_write32(e->regs + reg, v);
}

/* Resets the card: all DMA ends, interrupts are masked. False when it does not
 * come out of the reset. Takes 5 to 20 ms, at most 40. */
bool e1000_hw_reset(struct e1000 *e);

/* Stops receiver and transmitter and waits for what is under way. */
void e1000_hw_quiesce(struct e1000 *e);

/* The card's own address, from the EEPROM or else from what the card loaded out
 * of it. False when there is no usable one. Right after e1000_hw_reset. */
bool e1000_hw_address(struct e1000 *e, mac *out);

/* Takes the ARP requests back from a card that would answer them itself, for
 * the management processor on the board. */
void e1000_hw_host_arp(struct e1000 *e);

/* Lets the link come up: everything offered, speed and duplex as negotiated. */
void e1000_hw_link(struct e1000 *e);

/* Reads nic.link from the card. */
void e1000_hw_link_read(struct e1000 *e);

/* The own address in the first place of the exact filter, nothing in the others,
 * and the hash table as it stands in e->mta. */
void e1000_hw_filters(struct e1000 *e);

#endif
