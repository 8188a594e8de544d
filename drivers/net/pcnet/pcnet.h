/* Shared by the two halves of the PCnet driver: pcnet.c moves packets and supervises the card,
 * pcnet_hw.c handles reset, initialization, carrier and filters. */
#ifndef DRIVERS_NET_PCNET_PCNET_H
#define DRIVERS_NET_PCNET_PCNET_H

#include "drivers/net/nic.h"
#include "drivers/net/pcnet/pcnet_reg.h"
#include "kernel/seam/io.h"

#define P_RX_LOG  8u
#define P_TX_LOG  7u
#define P_RX_RING (1u << P_RX_LOG)
#define P_TX_RING (1u << P_TX_LOG)

struct pcnet {
	struct nic nic; /* must be first: the ops get a pointer to it */
	uint16_t ports;
	bool has_mii;
	bool broken;     /* reset failed, or no longer on the bus; the carrier counts as down */
	bool tx_refused; /* the last tx() found the ring full */
	bool tx_wake;    /* the cause TINT is enabled */
	bool promiscuous;
	uint8_t phy;
	uint16_t missed; /* CSR_MISSED as last read */
	uint32_t ack;    /* how many of the next arm() calls acknowledge causes */
	struct p_desc *rx_desc, *tx_desc;
	struct p_init *init;
	struct pkt *rx[P_RX_RING], *tx[P_TX_RING];
	uint32_t rx_next;
	uint32_t tx_head,
	        tx_tail; /* oldest frame not yet reclaimed, next free slot; free-running */
	uint8_t hash[8];
	uint64_t poll_us, hang_us, stats_us;
	uint32_t hang_head;
};

/* Writes CSR0, which RAP names outside of pcnet_hw.c. */
static inline void pcnet_csr0(const struct pcnet *c, uint16_t v)
{
	io_out16((uint16_t)(c->ports + P_RDP), v);
}

/* Reads CSR0. */
static inline uint16_t pcnet_status(const struct pcnet *c)
{
	return io_in16((uint16_t)(c->ports + P_RDP));
}

/* Ends all DMA and masks all interrupts. False when the card does not stop. Takes 100 us. */
bool pcnet_hw_reset(const struct pcnet *c);

/* Finds which chip it is, and its PHY. Gives NULL, or why it cannot be used. */
const char *pcnet_hw_identify(struct pcnet *c);

/* Reads the MAC address. False when it is not usable. */
bool pcnet_hw_address(struct pcnet *c);

/* Configures a card that was just reset, tells it the rings and starts it. False when it does not
 * end its initialization within 100 ms. */
bool pcnet_hw_start(const struct pcnet *c);

/* Writes CSR3: with c->tx_wake sent frames are a cause too. */
void pcnet_hw_mask(const struct pcnet *c);

/* Writes the filter while the card is suspended. False when it cannot be suspended: then it is to
 * be started again. */
bool pcnet_hw_filter(const struct pcnet *c);

/* Reads the carrier into nic.carrier, and gives the card the duplex of its PHY. */
void pcnet_hw_carrier(struct pcnet *c);

/* Gives the frames that were missed since the last call. */
uint32_t pcnet_hw_missed(struct pcnet *c);

/* nic_ops.report. */
void pcnet_hw_report(struct nic *nic, struct nic_report *r);

#endif
