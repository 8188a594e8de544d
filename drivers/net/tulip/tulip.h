/* Shared by the two halves of the driver for the 21140 and 21143: tulip.c moves packets and
 * supervises the card, tulip_hw.c handles reset, EEPROM, PHY and carrier. */
#ifndef DRIVERS_NET_TULIP_TULIP_H
#define DRIVERS_NET_TULIP_TULIP_H

#include "drivers/net/nic.h"
#include "drivers/net/tulip/tulip_reg.h"
#include "kernel/seam/io.h"

#define T_RX_RING NIC_RING
#define T_TX_RING 128u
#define T_GROUPS  (SETUP_SLOTS - 2)

struct tulip {
	struct nic nic; /* must be first: the ops get a pointer to it */
	volatile uint8_t *regs;
	bool is_21140;
	bool broken;      /* reset failed, or no longer on the bus; the carrier counts as down */
	bool tx_refused;  /* the last tx() found the ring full */
	bool tx_wake;     /* sent frames are a cause too */
	bool setup_owed;  /* the filter is to be sent */
	bool setup_waits; /* the filter is in the ring */
	bool negotiated;  /* the PHY offers all modes */
	bool phy_found;
	uint8_t phy;
	uint32_t mode; /* CSR6 */
	uint32_t ack;  /* how many of the next arm() calls acknowledge causes */
	struct t_desc *rx_desc, *tx_desc;
	uint32_t *setup;
	struct pkt *rx[T_RX_RING], *tx[T_TX_RING]; /* tx: NULL is the filter */
	uint32_t rx_next;
	uint32_t tx_head,
	        tx_tail; /* oldest frame not yet reclaimed, next free slot; free-running */
	uint8_t n_group;
	mac group[T_GROUPS];
	uint64_t poll_us, hang_us, stats_us, link_us;
	uint32_t hang_head;
	uint8_t srom[SROM_BYTES];
};

static inline uint32_t tulip_get(const struct tulip *t, uint32_t n)
{
	return mmio_read32(t->regs + TULIP_CSR(n));
}

static inline void tulip_put(const struct tulip *t, uint32_t n, uint32_t v)
{
	mmio_write32(t->regs + TULIP_CSR(n), v);
}

/* Ends all DMA and masks all interrupts. False when the card does not stop. Takes 200 us. */
bool tulip_hw_reset(struct tulip *t);

/* Reads the EEPROM and its MAC address. False when that is not usable. Takes 30 ms. */
bool tulip_hw_address(struct tulip *t);

/* Switches the board to its PHY, which that may reset. */
void tulip_hw_board(struct tulip *t);

/* Finds the PHY. False when there is none: only that takes as long as a PHY may need for its reset,
 * half a second. */
bool tulip_hw_find_phy(struct tulip *t);

/* Reads the carrier into nic.carrier, and puts its mode into t->mode. For the first time it makes
 * the PHY offer all modes. Takes 0.2 to 1 ms. */
void tulip_hw_carrier(struct tulip *t);

/* Writes t->mode. A new speed or duplex stops the card for a moment. */
void tulip_hw_mode(struct tulip *t, uint32_t old);

/* nic_ops.report. */
void tulip_hw_report(struct nic *nic, struct nic_report *r);

#endif
