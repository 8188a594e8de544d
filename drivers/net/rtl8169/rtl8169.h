/* Shared by the two halves of the driver for Realtek's gigabit cards: rtl8169.c moves packets and
 * supervises the card, rtl8169_hw.c handles versions, reset, address, PHY and carrier. */
#ifndef DRIVERS_NET_RTL8169_RTL8169_H
#define DRIVERS_NET_RTL8169_RTL8169_H

#include "drivers/net/nic.h"
#include "drivers/net/rtl8169/rtl8169_reg.h"
#include "kernel/seam/io.h"

#define R_RX_RING NIC_RING
#define R_TX_RING 128u

/* What a version of the chip is: CHIP_PCI, a card for PCI, not PCI Express; CHIP_OLD, one of the
 * first two; CHIP_FIFO, its receiver stops when it runs over; CHIP_EMPTY, it says when nothing is
 * under way; CHIP_GATE, the receiver is behind a gate, the PHY behind another register; CHIP_ERI,
 * the burned-in address is in another register; CHIP_PHY_OFF, its PHY can be without power, as with
 * CHIP_EMPTY; CHIP_NO_HASH, its hash does not work. */
enum {
	CHIP_PCI = 1,
	CHIP_OLD = 2,
	CHIP_FIFO = 4,
	CHIP_EMPTY = 8,
	CHIP_GATE = 16,
	CHIP_ERI = 32,
	CHIP_PHY_OFF = 64,
	CHIP_NO_HASH = 128,
};

struct r_chip {
	uint16_t mask, xid, flags, rcr;
};

struct rtl8169 {
	struct nic nic; /* must be first: the ops get a pointer to it */
	volatile uint8_t *regs;
	const struct r_chip *chip;
	uint32_t xid;
	bool broken;      /* reset failed, or no longer on the bus; the carrier counts as down */
	bool tx_refused;  /* the last tx() found the ring full */
	bool tx_wake;     /* INT_TOK is enabled */
	bool tally_asked; /* the card is to write its counters */
	bool tally_known; /* tally_last is of the time since the last reset */
	uint16_t tally_last;
	uint32_t ack; /* how many of the next arm() calls acknowledge causes */
	uint32_t rcr; /* RCR_ALL, RCR_OWN … */
	uint8_t hash[8];
	struct r_desc *rx_desc, *tx_desc;
	uint8_t *tally;
	struct pkt *rx[R_RX_RING], *tx[R_TX_RING];
	uint32_t rx_next;
	uint32_t tx_head,
	        tx_tail; /* oldest frame not yet reclaimed, next free slot; free-running */
	uint64_t poll_us, hang_us, stats_us;
	uint32_t hang_head;
};

static inline uint8_t r_get8(const struct rtl8169 *r, uint32_t reg)
{
	return mmio_read8(r->regs + reg);
}

static inline uint16_t r_get16(const struct rtl8169 *r, uint32_t reg)
{
	return mmio_read16(r->regs + reg);
}

static inline uint32_t r_get32(const struct rtl8169 *r, uint32_t reg)
{
	return mmio_read32(r->regs + reg);
}

static inline void r_put8(const struct rtl8169 *r, uint32_t reg, uint32_t v)
{
	mmio_write8(r->regs + reg, (uint8_t)v);
}

static inline void r_put16(const struct rtl8169 *r, uint32_t reg, uint32_t v)
{
	mmio_write16(r->regs + reg, (uint16_t)v);
}

static inline void r_put32(const struct rtl8169 *r, uint32_t reg, uint32_t v)
{
	mmio_write32(r->regs + reg, v);
}

/* Finds the version. False when it is not known. */
bool rtl8169_hw_version(struct rtl8169 *r);

/* Ends all DMA and masks all interrupts. False when the card does not finish its reset. Takes up
 * to 90 ms. */
bool rtl8169_hw_reset(struct rtl8169 *r);

/* Reads the MAC address. False when it is not usable. */
bool rtl8169_hw_address(struct rtl8169 *r);

/* Tells the rings to a card that was just reset; starts receiver and transmitter. Takes up to
 * 5 ms. */
void rtl8169_hw_start(struct rtl8169 *r);

/* Writes r->rcr and r->hash. */
void rtl8169_hw_filter(const struct rtl8169 *r);

/* Reads the carrier into nic.carrier. */
void rtl8169_hw_carrier(struct rtl8169 *r);

/* nic_ops.report. */
void rtl8169_hw_report(struct nic *nic, struct nic_report *report);

#endif
