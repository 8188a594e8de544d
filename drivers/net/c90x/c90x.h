/* Shared by the two halves of the driver for 3Com's EtherLink XL: c90x.c moves packets and
 * supervises the card, c90x_hw.c handles reset, EEPROM, PHY and carrier. */
#ifndef DRIVERS_NET_C90X_C90X_H
#define DRIVERS_NET_C90X_C90X_H

#include "drivers/net/c90x/c90x_reg.h"
#include "drivers/net/nic.h"
#include "kernel/seam/io.h"

#define C_RX_RING NIC_RING
#define C_TX_RING 128u

struct c90x {
	struct nic nic; /* must be first: the ops get a pointer to it */
	uint16_t ports;
	bool old;        /* neither B nor C */
	bool broken;     /* reset failed, or no longer on the bus; the carrier counts as down */
	bool tx_refused; /* the last tx() found the ring full */
	bool tx_wake;    /* frames that were read are a cause too */
	bool promiscuous;
	uint8_t phy;    /* PHY_NONE: a 10BASE-T transceiver on the card */
	uint8_t window; /* the selected one */
	uint16_t mac;   /* MacControl */
	uint32_t ack;   /* how many of the next arm() calls acknowledge causes */
	struct c_desc *rx_desc, *tx_desc;
	struct pkt *rx[C_RX_RING], *tx[C_TX_RING];
	uint32_t rx_next;
	uint32_t tx_head,
	        tx_tail; /* oldest frame not yet reclaimed, next free slot; free-running */
	uint64_t poll_us, hang_us, stats_us, link_us;
	uint32_t hang_head;
	bool groups; /* some group is wanted */
	uint32_t hash[8];
};

static inline uint8_t c_in8(const struct c90x *c, uint32_t reg)
{
	return io_in8((uint16_t)(c->ports + reg));
}

static inline uint16_t c_in16(const struct c90x *c, uint32_t reg)
{
	return io_in16((uint16_t)(c->ports + reg));
}

static inline uint32_t c_in32(const struct c90x *c, uint32_t reg)
{
	return io_in32((uint16_t)(c->ports + reg));
}

static inline void c_out8(const struct c90x *c, uint32_t reg, uint32_t v)
{
	io_out8((uint16_t)(c->ports + reg), (uint8_t)v);
}

static inline void c_out16(const struct c90x *c, uint32_t reg, uint32_t v)
{
	io_out16((uint16_t)(c->ports + reg), (uint16_t)v);
}

static inline void c_out32(const struct c90x *c, uint32_t reg, uint32_t v)
{
	io_out32((uint16_t)(c->ports + reg), v);
}

static inline void c_command(const struct c90x *c, uint32_t command)
{
	c_out16(c, C_COMMAND, command);
}

/* Waits until the last command has ended, at most `us`. False when it has not. */
bool c90x_hw_done(const struct c90x *c, uint32_t us);

/* Ends all DMA and masks all interrupts. False when the card does not finish its reset. Takes up to
 * 200 ms. */
bool c90x_hw_reset(struct c90x *c);

/* Reads the MAC address. False when it is not usable. Takes 3 ms. */
bool c90x_hw_address(struct c90x *c);

/* Sets a card up that was just reset: address, PHY, longest frame. False when it hangs. Takes up to
 * 30 ms. */
bool c90x_hw_start(struct c90x *c);

/* Tells the card which frames to accept. */
void c90x_hw_filter(const struct c90x *c);

/* Reads the carrier into nic.carrier, and gives the card the duplex of its PHY. Takes 0.4 ms. */
void c90x_hw_carrier(struct c90x *c);

/* Counts the frames that the card missed. */
void c90x_hw_stats(struct c90x *c);

/* nic_ops.report. */
void c90x_hw_report(struct nic *nic, struct nic_report *r);

#endif
