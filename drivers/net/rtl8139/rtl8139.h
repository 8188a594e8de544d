/* Shared by the parts of the RTL8139 driver: rtl8139.c starts and watches the card, rtl8139_plus.c
 * and rtl8139_old.c move packets. */
#ifndef DRIVERS_NET_RTL8139_RTL8139_H
#define DRIVERS_NET_RTL8139_RTL8139_H

#include "drivers/net/nic.h"
#include "drivers/net/rtl8139/rtl8139_reg.h"
#include "kernel/seam/io.h"

#define R_RING     64u /* descriptors of a C+ ring: all that it may have */
#define R_OLD_RING 4u

struct rtl8139;

/* How packets move. */
struct rtl8139_mode {
	struct nic_ops ops;
	/* Takes memory, and packets for the receive ring. Gives NULL or what is wrong. */
	const char *(*take)(struct rtl8139 *r);
	/* Makes the rings empty and tells them to the card, which was just reset; starts receiver
	 * and transmitter. */
	void (*start)(struct rtl8139 *r);
	/* Frees the packets of the receive ring. */
	void (*give)(struct rtl8139 *r);
	/* Frees the frames that were sent. */
	void (*reclaim)(struct rtl8139 *r);
	/* True when a received frame waits. */
	bool (*waiting)(struct rtl8139 *r);
	/* Writes r->rcr. */
	void (*configure)(struct rtl8139 *r);
};

struct rtl8139 {
	struct nic nic; /* must be first: the ops get a pointer to it */
	const struct rtl8139_mode *mode;
	uint16_t ports;
	bool broken;     /* reset failed, or no longer on the bus; the carrier counts as down */
	bool tx_refused; /* the last tx() found the ring full */
	bool tx_wake;    /* INT_TOK is enabled */
	uint32_t ack;    /* how many of the next arm() calls acknowledge causes */
	uint32_t rcr;
	uint32_t tx_head,
	        tx_tail; /* oldest frame not yet reclaimed, next free slot; free-running */
	struct pkt *tx[R_RING];
	uint64_t poll_us, hang_us;
	uint32_t hang_head;
	uint8_t hash[8];
	/* C+ */
	struct r_desc *rx_desc, *tx_desc;
	struct pkt *rx[R_RING];
	uint32_t rx_next;
	/* others */
	uint8_t *buffer;
	uint32_t cur; /* where the next header lies */
	bool again;   /* slot again_head was sent once more, at again_us */
	uint32_t again_head;
	uint64_t again_us;
};

extern const struct rtl8139_mode rtl8139_old, rtl8139_plus;

/* Drops n frames because the carrier is down. Gives n. (rtl8139.c) */
uint32_t rtl8139_no_carrier(struct rtl8139 *r, struct pkt **burst, uint32_t n);

/* Handles a frame whose length is out of range: pads a short one with zeros. False when it cannot
 * be sent: then it is counted and freed. (rtl8139.c) */
bool rtl8139_fits(struct rtl8139 *r, struct pkt *p);

static inline struct rtl8139 *rtl8139_card(struct nic *nic)
{
	return (struct rtl8139 *)nic;
}

/* The arm, poll, stop, filter and report of struct nic_ops. (rtl8139.c) */
bool rtl8139_arm(struct nic *nic);
void rtl8139_poll(struct nic *nic, uint64_t now_us);
void rtl8139_stop(struct nic *nic);
void rtl8139_filter(struct nic *nic, bool promiscuous, const mac *group, uint32_t n);
void rtl8139_report(struct nic *nic, struct nic_report *report);

#define R_WIRE_MIN 60u /* IEEE 802.3 3.2.8, without FCS */

#endif
