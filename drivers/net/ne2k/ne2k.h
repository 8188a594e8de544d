/* Shared by the two halves of the NE2000 driver: ne2k.c moves packets and supervises the card,
 * ne2k_hw.c handles reset, address, filter and the card's memory. */
#ifndef DRIVERS_NET_NE2K_NE2K_H
#define DRIVERS_NET_NE2K_NE2K_H

#include "drivers/net/ne2k/ne2k_reg.h"
#include "drivers/net/nic.h"
#include "kernel/seam/io.h"

struct ne2k {
	struct nic nic; /* must be first: the ops get a pointer to it */
	uint16_t ports;
	bool broken;     /* reset failed, or no longer on the bus; the carrier counts as down */
	bool wrong;      /* the card's memory does not make sense, or its DMA does not end */
	bool overflow;   /* stopped, until poll() starts it and rx() has taken frames away */
	bool draining;   /* poll() has started it, without the cable */
	bool again;      /* the overflow cut a frame off, which is sent again */
	bool more;       /* the last rx() left frames */
	bool sending;    /* the frame in slot tx_head */
	bool tx_refused; /* the last tx() found no slot */
	bool tx_wake;    /* sent frames are a cause too */
	bool promiscuous;
	uint8_t next; /* page of the next frame */
	uint8_t hash[8];
	uint16_t tx_len[TX_SLOTS];
	uint32_t tx_head, tx_tail; /* oldest frame not yet sent, next free slot; free-running */
	uint32_t tx_slot;          /* that of tx_head */
	uint64_t poll_us, hang_us, overflow_us;
	uint32_t hang_head;
};

static inline uint8_t ne_get(const struct ne2k *c, uint16_t reg)
{
	return io_in8((uint16_t)(c->ports + reg));
}

static inline void ne_put(const struct ne2k *c, uint16_t reg, uint32_t v)
{
	io_out8((uint16_t)(c->ports + reg), (uint8_t)v);
}

/* Writes two registers, lower byte first. */
static inline void ne_put16(const struct ne2k *c, uint16_t reg, uint32_t v)
{
	ne_put(c, reg, v);
	ne_put(c, (uint16_t)(reg + 1), v >> 8);
}

/* Stops the card and masks all causes. False when it does not reset. Takes at most 12 ms. */
bool ne2k_hw_reset(const struct ne2k *c);

/* Reads the MAC address. False when it is not usable. */
bool ne2k_hw_address(struct ne2k *c);

/* Starts a card that was just reset. */
void ne2k_hw_start(const struct ne2k *c);

/* Writes the filter. */
void ne2k_hw_filter(const struct ne2k *c);

/* Enables the causes: with c->tx_wake sent frames too. */
void ne2k_hw_mask(const struct ne2k *c);

/* Gives the page that the next received frame will begin at. */
uint8_t ne2k_hw_current(const struct ne2k *c);

/* Gives the pages before `next` back to the card. */
void ne2k_hw_free(const struct ne2k *c, uint8_t next);

/* Reads n bytes of the card's memory; the receive ring wraps. */
void ne2k_hw_read(const struct ne2k *c, uint32_t from, uint8_t *to, uint32_t n);

/* Writes n bytes of the card's memory. False when the transfer does not end. */
bool ne2k_hw_write(const struct ne2k *c, uint32_t to, const uint8_t *from, uint32_t n);

/* Sends n bytes from the memory of this transmit slot. */
void ne2k_hw_send(const struct ne2k *c, uint32_t slot, uint32_t n);

/* nic_ops.report. */
void ne2k_hw_report(struct nic *nic, struct nic_report *r);

#endif
