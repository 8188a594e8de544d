/* Shared by the two halves of the 8254x driver: e1000.c moves packets and supervises the
 * card, e1000_hw.c handles reset, EEPROM, PHY and filters. */
#ifndef DRIVERS_NET_E1000_E1000_H
#define DRIVERS_NET_E1000_E1000_H

#include "drivers/net/e1000/e1000_reg.h"
#include "drivers/net/nic.h"
#include "kernel/seam/io.h"

#define E1000_RING 256u /* descriptors in each ring, of 16 bytes each; a power of two */

enum e1000_kind {
	E1000_82540, /* and 82545, 82546 */
	E1000_82541, /* and 82547: EERD has another layout, the PHY is of another type */
	E1000_82544, /* no EERD */
	E1000_82571, /* and 82572: PCI Express from here on (e1000_82571.c) */
	E1000_82573, /* (e1000_82571.c) */
	E1000_82574, /* and 82583 (e1000_82574.c) */
};

/* What single chips and boards of a kind need. */
enum e1000_quirk {
	E1000_PAIR = 1,      /* 82546: two interfaces; STATUS says which one this is */
	E1000_COPY = 2,      /* is reset through CTRL_DUP, a copy of CTRL */
	E1000_NO_PORTS = 4,  /* is not reset through I/O ports */
	E1000_FLEX = 8,      /* the PHY has flexible speed */
	E1000_IN_ORDER = 16, /* a board that fails with relaxed ordering */
	E1000_SINGLE = 32,   /* 82572: one interface */
};

/* A ring as the card sees it, followed by what the card must not see: one slot for each
 * descriptor. The distance from a descriptor to its slot is the same for all, so one
 * pointer reaches both. */
struct e1000_slot {
	struct pkt *p;
	uint32_t end; /* transmit ring, first slot of a burst: tx_tail after that burst */
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
_Static_assert(sizeof(struct e1000_slot) == 16, "a slot is as large as a descriptor");

struct e1000 {
	struct nic nic; /* must be first: the ops get a pointer to it */
	volatile uint8_t *regs;
	struct e1000_rx_ring *rx;
	struct e1000_tx_ring *tx;
	struct e1000_rx_desc *rx_next; /* next descriptor to look at */
	uint32_t rx_want;              /* RXD_DD | RXD_EOP; RX_SKIP while a long frame is skipped */
	uint32_t tx_head;              /* oldest frame not yet reclaimed; free-running */
	uint32_t tx_tail;              /* next free descriptor; free-running */
	uint32_t ack;                  /* how many of the next arm() calls read ICR */
	bool tx_refused;               /* the last tx() found the ring full */
	bool tx_wake;                  /* INT_TXDW is enabled */
	bool after_tso;                /* the last packet was segmented by the card */
	uint32_t dirty; /* descriptors after which none has words of a context (e1000_offload.c) */
	bool promiscuous;
	bool broken;      /* the card did not finish its reset; the carrier counts as down */
	bool half_duplex; /* the PHY is prepared for half duplex */
	bool phy_hung;    /* 82574: the last look at the PHY found it so */
	enum e1000_kind kind;
	uint8_t quirks; /* enum e1000_quirk */
	uint16_t ports; /* first I/O port; 0: the card is reset through memory */
	uint64_t poll_us, stats_us;
	uint32_t hang_head; /* tx_head at hang_us */
	uint64_t hang_us;
	uint32_t mta[MTA_WORDS];
};

/* Reads the 32-bit register at offset `reg`. */
static inline uint32_t e1000_read(const struct e1000 *e, uint32_t reg)
{
	return mmio_read32(e->regs + reg);
}

/* Writes the 32-bit register at offset `reg`. */
static inline void e1000_write(const struct e1000 *e, uint32_t reg, uint32_t v)
{
	mmio_write32(e->regs + reg, v);
}

/* Frees the packets that were sent. (e1000.c) */
void e1000_reclaim(struct e1000 *e);

/* Drops n packets because the carrier is down. Gives n. (e1000.c) */
uint32_t e1000_no_carrier(struct e1000 *e, struct pkt **burst, uint32_t n);

/* Handles a frame whose length is out of range. A short frame is padded with zeros, so that no old
 * bytes leave with it (the card's own padding sends whatever lies there, 13.4.33). Gives the new
 * length, or 0 when the frame cannot be sent: then the frame is counted and freed. (e1000.c) */
uint32_t e1000_pad_or_drop(struct e1000 *e, struct pkt *p);

/* tx_partial of struct nic_ops. (e1000_offload.c) */
uint32_t e1000_offload_tx(struct nic *nic, struct pkt **burst, uint32_t n);

/* Of a chip with PCI Express: prepares a reset, takes at most 180 ms; ends it, takes 25 to 35 ms,
 * an 82571 10 to 140 ms. start configures an 82574 after it. (e1000_82574.c) */
void e1000_82574_before_reset(struct e1000 *e);
void e1000_82574_after_reset(struct e1000 *e);
void e1000_82574_start(struct e1000 *e);

/* Of an 82571, 82572 or 82573. (e1000_82571.c)
 * begin, before the first reset: frees a semaphore that was left taken.
 * own: takes the semaphores of the PHY; false when they are not to be had, after at most 40 ms, or
 * the card is gone. release: gives them back. after_reset: waits until the chip has its settings
 * and the PHY is configured, at most 100 ms. start: configures the card after it. filters:
 * completes e1000_hw_filters. */
void e1000_82571_begin(struct e1000 *e);
bool e1000_82571_own(struct e1000 *e);
void e1000_82571_release(struct e1000 *e);
void e1000_82571_after_reset(struct e1000 *e);
void e1000_82571_start(struct e1000 *e);
void e1000_82571_filters(struct e1000 *e);

/* True for chips with PCI Express. */
static inline bool e1000_is_pcie(const struct e1000 *e)
{
	return e->kind >= E1000_82571;
}

/* True for the 82571, 82572 and 82573. */
static inline bool e1000_is_82571(const struct e1000 *e)
{
	return e->kind == E1000_82571 || e->kind == E1000_82573;
}

/* To be called each second. True when the PHY of an 82574 hangs: then it was reset, in 20 ms, and
 * the card is to be reset too. (e1000_82574.c) */
bool e1000_82574_phy_hangs(struct e1000 *e);

/* Sets e->kind and e->quirks after the device number. */
void e1000_hw_identify(struct e1000 *e);

/* Prepares the card's access to the bus, before the first reset: limits the length of its
 * reads on PCI-X, sets e->ports. Gives NULL, or a text that says why the card cannot be
 * used in this slot. */
const char *e1000_hw_bus(struct e1000 *e);

/* Resets the PHY, which ends settings of another system that a reset of the card does not end.
 * The carrier is down for seconds. Takes 20 ms. */
void e1000_hw_phy_reset(struct e1000 *e);

/* Resets the card: ends all DMA and masks all interrupts. False when the card does not
 * finish its reset. Takes 5 to 20 ms, at most 40 ms; with PCI Express
 * 40 ms, at most 350 ms. */
bool e1000_hw_reset(struct e1000 *e);

/* Stops the receiver and the transmitter, and waits until frames and bus transfers in
 * progress have ended. */
void e1000_hw_quiesce(struct e1000 *e);

/* Reads the card's MAC address from the EEPROM, or, if that fails, from the address
 * register that the card loaded from the EEPROM. False when neither holds a usable address.
 * To be called directly after e1000_hw_reset. */
bool e1000_hw_address(struct e1000 *e, mac *out);

/* Makes the card pass ARP requests to the host. Some cards otherwise pass them to the
 * management processor on the board, which answers them itself. */
void e1000_hw_host_arp(struct e1000 *e);

/* Starts the link: the PHY offers all speeds and duplex modes, and the MAC uses what was
 * negotiated. */
void e1000_hw_negotiate(struct e1000 *e);

/* Prepares the PHY for half duplex and sets e->half_duplex. The carrier is down for seconds,
 * unless the PHY was prepared before. */
void e1000_hw_half_duplex(struct e1000 *e);

/* Reads a register of the PHY. False on an error, or after 2 ms. */
bool e1000_hw_phy_get(struct e1000 *e, uint32_t reg, uint16_t *out);

/* Writes one. False on an error, or after 2 ms. */
bool e1000_hw_phy_put(struct e1000 *e, uint32_t reg, uint16_t v);

/* Reads the carrier state, speed and duplex mode from the card into nic.carrier. */
void e1000_hw_carrier_read(struct e1000 *e);

/* Writes e->mta, the hash table of multicast groups, to the card. */
void e1000_hw_groups(struct e1000 *e);

/* Writes the address filters: the card's own address into the first entry of the exact
 * filter, nothing into the others, and e->mta into the hash table. */
void e1000_hw_filters(struct e1000 *e);

/* nic_ops.report. */
void e1000_hw_report(struct nic *nic, struct nic_report *r);

#endif
