/* Intel 82575, 82576, 82580, I350, I210 and I211 network cards with twisted pair. Registers:
 * igb_reg.h; reset, address, PHY and carrier: igb_hw.c.
 *
 * Invariants: every receive descriptor has a packet; the card owns all but the one before rx_next.
 * The transmit slots from tx_head up to tx_tail hold the frames that the card is to send. Nothing
 * is copied. No register is read for a packet; one is written for each burst that is received or
 * sent.
 *
 * Left out on purpose: checksums, segmentation and VLAN tags by the card, the other queues. */
#include "drivers/net/igb/igb.h"

#include "drivers/net/nic_list.h"
#include "drivers/net/ring.h"
#include "drivers/net/wire.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"

#define RX_MASK (I_RX_RING - 1)
#define TX_MASK (I_TX_RING - 1)

#define POLL_US  5000u /* shortest time between two full runs of poll() */
#define STATS_US 1000000u
#define HANG_US  2000000u

static struct igb *card(struct nic *nic)
{
	return (struct igb *)nic;
}

/* A word that the device may write at any time. */
static inline uint32_t device_word(const uint32_t *p)
{
	return *(const volatile uint32_t *)p;
}

/* --- receive ------------------------------------------------------------------------------ */

static inline void rx_give(struct igb *g, uint32_t i, struct pkt *p)
{
	struct igb_desc *d = &g->rx_desc[i];
	g->rx[i] = p;
	d->addr = (uint32_t)dma_addr(p->data);
	d->addr_high = d->a = d->b = 0;
}

static inline bool rx_waiting(const struct igb *g)
{
	return !g->broken && device_word(&g->rx_desc[g->rx_next].a) & RX_DONE;
}

static uint32_t igb_rx(struct nic *nic, struct pkt **burst, uint32_t max)
{
	struct igb *g = card(nic);
	if (!rx_waiting(g))
		return 0;
	struct pool *pool = nic->pool;
	struct pkt **top = ring_top(pool), **out = burst;
	uint32_t i = g->rx_next;
	/* Each pass handles one descriptor, so that a flood of bad frames ends too. */
	for (max = min_u32(max, I_RX_RING); max; max--) {
		uint32_t state = device_word(&g->rx_desc[i].a);
		if (!(state & RX_DONE))
			break;
		io_rmb();
		uint32_t len = device_word(&g->rx_desc[i].b) & RX_LEN;
		struct pkt *p = g->rx[i];
		bool good = (state & (RX_END | RX_BAD)) == RX_END && wire_good_length(len);
		if (LIKELY(good && top != pool->stack)) {
			pkt_filled(p, len);
			*out++ = p;
			p = ring_alloc(&top);
		} else if (good) {
			nic->count.rx_no_packet++;
		} else {
			nic->count.rx_errors++;
		}
		rx_give(g, i, p);
		i = (i + 1) & RX_MASK;
	}
	g->rx_next = i;
	g->ack = 2;
	ring_settle(pool, top);
	io_wmb();
	igb_put(g, IGB_RX + Q_TAIL, (i - 1) & RX_MASK);
	return (uint32_t)(out - burst);
}

/* --- transmit ----------------------------------------------------------------------------- */

static inline bool tx_done(const struct igb *g)
{
	return device_word(&g->tx_desc[g->tx_head & TX_MASK].b) & TX_DONE;
}

static inline void tx_reclaim(struct igb *g)
{
	struct pool *pool = g->nic.pool;
	struct pkt **top = ring_top(pool);
	for (; g->tx_head != g->tx_tail && tx_done(g); g->tx_head++)
		ring_free(pool, &top, g->tx[g->tx_head & TX_MASK]);
	ring_settle(pool, top);
}

static uint32_t igb_tx(struct nic *nic, struct pkt **burst, uint32_t n)
{
	struct igb *g = card(nic);
	tx_reclaim(g);
	if (UNLIKELY(!nic->carrier.up))
		return wire_no_carrier(nic, burst, n);
	/* One slot stays free: a tail at the head is an empty ring. */
	uint32_t room = I_TX_RING - 1 - (g->tx_tail - g->tx_head), old = g->tx_tail;
	g->tx_refused = n > room;
	if (UNLIKELY(n > room))
		n = room;
	for (struct pkt **end = burst + n; burst != end; burst++) {
		struct pkt *p = *burst;
		if (UNLIKELY(!wire_fits(p)) && !wire_pad(nic, p))
			continue;
		uint32_t i = g->tx_tail++ & TX_MASK;
		struct igb_desc *d = &g->tx_desc[i];
		g->tx[i] = p;
		d->addr = (uint32_t)dma_addr(p->data);
		d->addr_high = 0;
		d->a = TX_COMMAND | p->len;
		d->b = TX_LEN(p->len);
	}
	if (g->tx_tail != old) {
		io_wmb();
		igb_put(g, IGB_TX + Q_TAIL, g->tx_tail & TX_MASK);
	}
	return n;
}

/* --- start and stop ----------------------------------------------------------------------- */

/* Starts a card that was just reset, with empty rings. */
static bool start(struct igb *g)
{
	memset(g->tx_desc, 0, I_TX_RING * sizeof *g->tx_desc);
	for (uint32_t i = 0; i < I_RX_RING; i++)
		rx_give(g, i, g->rx[i]);
	g->rx_next = g->tx_head = g->tx_tail = 0;
	g->tx_refused = g->tx_wake = false;
	g->ack = 2;
	g->hang_head = 0;
	if (!igb_hw_start(g))
		return false;
	g->hang_us = io_now_us();
	igb_put(g, IGB_IMS, INT_RECEIVED | INT_LINK);
	return true;
}

static void tx_drop_all(struct igb *g, uint64_t *counter)
{
	for (; g->tx_head != g->tx_tail; g->tx_head++) {
		++*counter;
		pkt_free(g->tx[g->tx_head & TX_MASK]);
	}
}

/* Resets and starts the card. Adds the frames that were not sent to *counter. */
static void restart(struct igb *g, uint64_t *counter, const char *why)
{
	const struct pci_dev *d = &g->nic.pci;
	log_line("pci %02x:%02x.%x: igb: %s, reset", d->bus, d->dev, d->fn, why);
	g->nic.count.resets++;
	bool ok = igb_hw_reset(g);
	tx_reclaim(g);
	tx_drop_all(g, counter);
	g->nic.carrier = (struct nic_carrier){0};
	g->broken = false;
	if (ok) {
		pci_enable(d);
		ok = start(g);
	}
	g->hang_us = io_now_us();
	g->broken = !ok;
	if (!ok) {
		g->nic.carrier = (struct nic_carrier){0};
		pci_cut(d); /* the card may still write into packets */
	}
}

static void igb_stop(struct nic *nic)
{
	struct igb *g = card(nic);
	uint64_t ignored = 0;
	if (!igb_hw_reset(g))
		pci_cut(&nic->pci);
	tx_drop_all(g, &ignored);
	wire_free(g->rx, I_RX_RING);
	nic->carrier.up = false;
}

/* --- watching ----------------------------------------------------------------------------- */

/* True when frames wait, and none was sent for HANG_US. */
static bool tx_hangs(struct igb *g, uint64_t now_us)
{
	if (g->tx_head == g->tx_tail || g->tx_head != g->hang_head) {
		g->hang_head = g->tx_head;
		g->hang_us = now_us;
		return false;
	}
	return now_us > g->hang_us + HANG_US; /* start() may have set hang_us later than now_us */
}

static void watch(struct igb *g, uint64_t now_us)
{
	struct nic_counters *n = &g->nic.count;
	if (igb_get(g, IGB_STATUS) == IGB_GONE) {
		restart(g, &n->tx_errors, "no longer answers");
		return;
	}
	igb_hw_carrier(g);
	if (now_us - g->stats_us >= STATS_US) {
		g->stats_us = now_us;
		uint32_t missed = igb_get(g, IGB_MISSED);
		n->rx_missed += missed == IGB_GONE ? 0 : missed;
	}
	if (!g->nic.carrier.up && g->tx_head != g->tx_tail)
		restart(g, &n->tx_link_down, "carrier lost while frames wait");
	else if (tx_hangs(g, now_us))
		restart(g, &n->tx_errors, "transmitter hangs");
}

static void igb_poll(struct nic *nic, uint64_t now_us)
{
	struct igb *g = card(nic);
	tx_reclaim(g);
	if (now_us - g->poll_us < POLL_US)
		return;
	g->poll_us = now_us;
	if (!g->ack)
		g->ack = 1; /* clears a cause that came late (see igb_arm) */
	if (!g->broken)
		watch(g, now_us);
	else if (now_us > g->hang_us + HANG_US)
		restart(g, &nic->count.tx_errors, "did not finish its reset");
}

/* The causes are enabled all the time. To arm is to acknowledge them by reading them, and then to
 * look at the ring. That read pushes the card's writes to memory before it (PCI 3.0, 3.2.5). A
 * frame after that raises the line again. */
static bool igb_arm(struct nic *nic)
{
	struct igb *g = card(nic);
	if (g->broken)
		return false;
	if (rx_waiting(g))
		return true;
	if (UNLIKELY(g->tx_refused != g->tx_wake)) {
		g->tx_wake = g->tx_refused;
		igb_put(g, g->tx_wake ? IGB_IMS : IGB_IMC, INT_SENT);
		g->ack = 2;
	}
	if (g->ack || g->tx_wake) {
		g->ack -= g->ack != 0;
		(void)igb_get(g, IGB_ICR);
		io_rmb();
	}
	if (rx_waiting(g))
		return true;
	uint32_t head = g->tx_head;
	if (g->tx_refused)
		tx_reclaim(g);
	return head != g->tx_head;
}

/* Bits 47:36 of an address, as they come on the wire, choose the bit (8.10.15). */
static void igb_filter(struct nic *nic, bool promiscuous, const mac *group, uint32_t n)
{
	struct igb *g = card(nic);
	memset(g->mta, 0, sizeof g->mta);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t bit = group[i].b[4] >> 4 | (uint32_t)group[i].b[5] << 4;
		g->mta[bit / 32] |= 1u << bit % 32;
	}
	g->rctl = RCTL_ON | RCTL_BROADCAST | RCTL_NO_FCS |
	          (promiscuous ? RCTL_PROMISC | RCTL_GROUPS : 0);
	if (!g->broken)
		igb_hw_filter(g);
}

/* --- probe -------------------------------------------------------------------------------- */

static const struct nic_ops ops = {
        .rx = igb_rx,
        .tx = igb_tx,
        .poll = igb_poll,
        .arm = igb_arm,
        .stop = igb_stop,
        .filter = igb_filter,
        .report = igb_hw_report,
};

static const char *igb_probe(const struct pci_dev *dev, struct pool *pool, struct nic **out)
{
	struct pci_bar bar = pci_bar(dev, 0);
	if (bar.base == 0 || bar.io || bar.size < IGB_WINDOW || bar.base >> 32)
		return "no memory window";
	struct igb *g = alloc(sizeof *g, 64);
	if (!g)
		return "no memory";
	g->rx_desc = alloc(I_RX_RING * sizeof *g->rx_desc, 4096);
	g->tx_desc = alloc(I_TX_RING * sizeof *g->tx_desc, 4096);
	g->regs = mem_map(bar.base, IGB_WINDOW);
	if (!g->rx_desc || !g->tx_desc || !g->regs)
		return "no memory";
	g->nic = (struct nic){
	        .ops = &ops, .driver = "igb", .pool = pool, .irq = dev->irq, .pci = *dev};
	g->is_82575 = dev->device == 0x10a7 || dev->device == 0x10d6;
	g->rctl = RCTL_ON | RCTL_BROADCAST | RCTL_NO_FCS;
	pci_enable(dev);
	if (!igb_hw_reset(g))
		return "does not come out of reset";
	if (!igb_hw_copper(g))
		return "no twisted pair";
	if (!igb_hw_address(g))
		return "no valid MAC address";
	if (!wire_fill(g->rx, I_RX_RING, pool))
		return "too few packets for the receive ring";
	if (!start(g)) {
		pci_cut(dev);
		wire_free(g->rx, I_RX_RING);
		return "a queue does not start";
	}
	*out = &g->nic;
	return NULL;
}

static const struct pci_id ids[] = {
        {0x8086, 0x10a7}, {0x8086, 0x10d6}, {0x8086, 0x10c9}, {0x8086, 0x10e8},
        {0x8086, 0x150a}, {0x8086, 0x1526}, {0x8086, 0x150e}, {0x8086, 0x1516},
        {0x8086, 0x1521}, {0x8086, 0x1533}, {0x8086, 0x157b}, {0x8086, 0x1539},
};

const struct pci_driver igb_driver = {
        .name = "igb",
        .ids = ids,
        .n_ids = ARRAY_SIZE(ids),
        .probe = igb_probe,
};
