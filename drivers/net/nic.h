/* The contract between the gateway and a network card's driver.
 *
 * Cards are polled: rx and tx move bursts of frames. Interrupts only wake the processor
 * from its halt. All functions are called from one thread, never from an interrupt. */
#ifndef DRIVERS_NET_NIC_H
#define DRIVERS_NET_NIC_H

#include "kernel/board/pci.h"
#include "kernel/lib/pkt.h"

#define NIC_MAX   8
#define NIC_BURST 32u  /* most packets in one call */
#define NIC_RING  256u /* most packets in the receive ring of a card */

/* Shortest and longest received frame, without FCS: an Ethernet header; a header, a VLAN tag
 * and the largest MTU. */
#define NIC_FRAME_MIN 14u
#define NIC_FRAME_MAX (14u + 4u + 1500u)

#define NIC_HEADER_MAX 256u /* all headers of a super-segment lie in its first bytes */

struct nic;

/* Registers that show the state of a card, for a person who looks for what is wrong. */
#define NIC_REPORT 16u
struct nic_report {
	uint32_t n;
	struct {
		const char *name;
		uint32_t value;
	} word[NIC_REPORT];
};

/* Adds a register, if there is room. */
static inline void nic_report_add(struct nic_report *r, const char *name, uint32_t value)
{
	if (r->n == NIC_REPORT)
		return;
	r->word[r->n].name = name;
	r->word[r->n++].value = value;
}

/* What a card does with partial packets (kernel/lib/pkt.h) in tx: NIC_SUM, it completes the
 * checksum; NIC_TSO4, NIC_TSO6, it cuts super-segments of TCP over IPv4, over IPv6; NIC_ECN, also
 * those with PKT_ECN; NIC_USO, it cuts those of UDP. All others come with NIC_SUM only. */
enum { NIC_SUM = 1, NIC_TSO4 = 2, NIC_TSO6 = 4, NIC_ECN = 8, NIC_USO = 16 };

/* The carrier state, and the negotiated mode. */
struct nic_carrier {
	bool up;
	bool full_duplex;
	uint16_t mbit; /* speed in Mbit/s; 0: unknown */
};

struct nic_ops {
	/* Takes up to max received frames, without FCS, in order, of NIC_FRAME_MIN to
	 * NIC_FRAME_MAX bytes; others are dropped and counted in rx_errors. The caller owns
	 * them afterwards. The driver puts a fresh packet from nic->pool into each slot that it
	 * empties. When the pool is empty, the driver drops the frame, counts it in
	 * rx_no_packet, and leaves its packet in the ring. Gives the number of frames in
	 * burst. All packets of a burst are partial, or none is. A partial packet was checked
	 * only for its size: at most PKT_PIECES pieces and PKT_TOTAL_MAX bytes, the first piece
	 * as many as a header may have (NIC_HEADER_MAX) or all. With PKT_USO the IP version is
	 * in the headers alone. rx_no_packet counts the segments of a super-segment. */
	uint32_t (*rx)(struct nic *nic, struct pkt **burst, uint32_t max);
	/* Hands n frames to the card. Gives how many it took, counted from the front of
	 * burst; the card owns those until they are sent. The caller keeps the rest. No packet is
	 * partial. The
	 * driver pads short frames to 60 bytes and reclaims frames that were sent. While
	 * the carrier is down, the driver takes and drops all frames and counts them in
	 * tx_link_down, so that no stale frame waits for the carrier. */
	uint32_t (*tx)(struct nic *nic, struct pkt **burst, uint32_t n);
	/* The same, but packets may be partial, of the kinds that nic->offloads has: it changes in
	 * poll alone. Only a super-segment lies in pieces. Dropped packets count as their
	 * segments. NULL where nic->offloads is always 0. */
	uint32_t (*tx_partial)(struct nic *nic, struct pkt **burst, uint32_t n);
	/* To be called every 10 to 500 ms: reads the carrier state, reclaims sent frames,
	 * and recovers a card that hangs. */
	void (*poll)(struct nic *nic, uint64_t now_us);
	/* Enables the interrupt that ends a halt, then looks for work once more. True: work
	 * is waiting, do not halt. Where the card can tell, the interrupt comes for a change of the
	 * carrier too, and when it needs recovery; then nic->carrier says so at once, or at the
	 * next poll. Of i8255x, 3c90x, pcnet, tulip and ne2k poll() alone finds out. */
	bool (*arm)(struct nic *nic);
	/* Ends all DMA. The card does nothing afterwards. Takes a bounded time. */
	void (*stop)(struct nic *nic);
	/* Sets which frames the card accepts besides those to its own address and to
	 * broadcast: all frames (promiscuous), or those to the n multicast addresses in
	 * group. Called rarely. */
	void (*filter)(struct nic *nic, bool promiscuous, const mac *group, uint32_t n);
	/* Adds the registers of the chip and its PHY to r. May take 40 ms. NULL: there is none. */
	void (*report)(struct nic *nic, struct nic_report *r);
};

struct nic_counters {
	uint64_t rx_no_packet; /* frames dropped: pool empty */
	uint64_t rx_missed;    /* frames the card dropped: ring full */
	uint64_t rx_errors;    /* bad FCS, alignment or length */
	uint64_t tx_errors;    /* frames the card failed to send */
	uint64_t tx_link_down; /* frames dropped: carrier down */
	uint64_t resets;       /* restarts of the card after a fault */
};

struct nic {
	const struct nic_ops *ops;
	const char *driver;
	struct pool *pool;
	mac address;
	uint8_t irq; /* PIC interrupt line; 0xff: none */
	struct nic_carrier carrier;
	struct nic_counters count;
	uint32_t offloads; /* NIC_SUM … */
	struct pci_dev pci;
};

struct pci_id {
	uint16_t vendor, device;
};

struct pci_driver {
	const char *name;
	const struct pci_id *ids;
	uint32_t n_ids;
	bool large; /* it may receive super-segments, for which large packets are better */
	/* Resets and starts the card, with its receive ring filled from `pool`. Gives NULL
	 * and sets *out on success; *out stays valid for ever. On failure gives a text that
	 * says what is wrong; the caller then ends the card's DMA (pci_cut). */
	const char *(*probe)(const struct pci_dev *dev, struct pool *pool, struct nic **out);
};

/* Finds all cards for which there is a driver, in ascending order of bus, device, function.
 * Logs each card and each failure. Ends the DMA of network cards that cannot be used. Takes
 * at most `max` cards. Gives the number of cards in out. (nic_list.c) */
uint32_t nic_probe_all(struct pool *pool, struct nic **out, uint32_t max);

/* Gives the number of cards for which there is a driver, at most `max`, and sets *large when one of
 * them wants large packets (pci_driver). Touches no card. (nic_list.c) */
uint32_t nic_count(uint32_t max, bool *large);

#endif
