/* Intel 8254x Gigabit Ethernet cards (82540, 82541, 82544 to 82547, copper): "PCI/PCI-X
 * Family of Gigabit Ethernet Controllers Software Developer's Manual", 317453. Registers
 * and sections: e1000_reg.h; EEPROM and PHY: e1000_hw.c.
 *
 * Invariants: every receive slot has a packet. This includes the one slot before rx_next
 * that the card may not use (a tail equal to the head would mean an empty ring, 3.2.6). The
 * transmit slots from tx_head up to tx_tail, at most E1000_RING - 1, hold the frames that
 * the card is to send. No register is read for a packet: the DD bits in memory say what is
 * done. One tail register is written for each burst.
 *
 * Partial packets are sent by e1000_offload.c. What the 82574 needs beyond this is in
 * e1000_82574.c.
 *
 * Left out on purpose: offloads of the receiver, VLAN stripping, interrupt moderation (the gateway
 * polls; an interrupt only ends a halt, and an early one is better there). */
#include "drivers/net/nic_list.h"
#include "drivers/net/e1000/e1000.h"
#include "drivers/net/ring.h"

#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"

#define MASK (E1000_RING - 1)

#define WIRE_MIN 60u /* IEEE 802.3 3.2.8, without FCS */

#define RX_WANT (RXD_DD | RXD_EOP)
#define RX_SKIP 0xffffffffu /* no masked state has this value */

#define POLL_US  5000u /* shortest time between two full runs of poll() */
#define STATS_US 1000000u
#define HANG_US  2000000u

static struct e1000 *card(struct nic *nic)
{
	return (struct e1000 *)nic;
}

/* --- receive ------------------------------------------------------------------- */

/* A word that the device may write at any time. */
static inline uint32_t device_word(const uint32_t *p)
{
	return *(const volatile uint32_t *)p;
}

static inline struct e1000_slot *rx_slot(struct e1000_rx_desc *d)
{
	return (struct e1000_slot *)(d + E1000_RING);
}

/* Puts a packet into a slot and gives the slot to the card. The packet is the slot's old
 * one or a fresh one. */
static inline void rx_give(struct e1000_rx_desc *d, struct pkt *p)
{
	d->addr = (uint32_t)dma_addr(p->data);
	d->state = 0;
	rx_slot(d)->p = p;
}

static inline bool rx_waiting(const struct e1000 *e)
{
	return (device_word(&e->rx_next->state) & RXD_DD) != 0;
}

/* Drops a frame and counts why. Its packet stays in the ring. */
static void rx_drop(struct e1000 *e, struct e1000_rx_desc *d, uint32_t state)
{
	bool good = (state & (RX_WANT | RXD_ERRORS)) == e->rx_want &&
	            d->len - NIC_FRAME_MIN <= NIC_FRAME_MAX - NIC_FRAME_MIN;
	if (good) {
		e->nic.count.rx_no_packet++;
	} else if (e->rx_want == RX_SKIP) {
		/* The rest of a frame that was counted before. */
		if (state & RXD_EOP)
			e->rx_want = RX_WANT;
	} else {
		if (!(state & RXD_EOP))
			e->rx_want = RX_SKIP; /* longer than a slot: skip it up to its end */
		e->nic.count.rx_errors++;
	}
	rx_give(d, rx_slot(d)->p);
}

/* Gives all slots before `next` back to the card, except the last one. The driver keeps
 * that slot, so the tail never meets the head. */
static inline void rx_return(struct e1000 *e, struct e1000_rx_desc *next)
{
	if (next == e->rx_next)
		return; /* max was 0 */
	uint32_t at = (uint32_t)(next - e->rx->desc);
	e->rx_next = &e->rx->desc[at & MASK];
	e->ack = 2;
	io_wmb();
	e1000_write(e, E1000_RDT, at - 1);
}

/* Used when the pool is empty: drops up to n frames, so that the ring has room for later
 * ones. Gives the first descriptor that it did not handle. */
static struct e1000_rx_desc *rx_starve(struct e1000 *e, struct e1000_rx_desc *d, uint32_t n)
{
	for (; n; n--, d++) {
		uint32_t state = device_word(&d->state);
		if (!(state & RXD_DD))
			break;
		io_rmb();
		rx_drop(e, d, state);
	}
	return d;
}

/* A separate function, so that e1000_rx costs little when no frame waits. */
static __attribute__((noinline)) uint32_t rx_burst(struct e1000 *e, struct pkt **burst,
                                                   uint32_t max)
{
	struct pool *pool = e->nic.pool;
	struct e1000_rx_desc *d = e->rx_next;
	/* A burst ends at the end of the ring, so that the loop needs no check for a wrap.
	 * Each pass of the loop handles one descriptor, so that a flood of bad frames ends
	 * too. */
	uint32_t room = min_u32(max, (uint32_t)(&e->rx->desc[E1000_RING] - d));
	uint32_t n = min_u32(room, pool->n_free);
	struct e1000_rx_desc *stop = d + n;
	struct pkt **top = ring_top(pool), **out = burst;
	uint32_t want = e->rx_want;
	for (; d != stop; d++) {
		uint32_t state = device_word(&d->state);
		io_rmb(); /* read the length after the state */
		uint32_t len = d->len;
		if (LIKELY((state & (RX_WANT | RXD_ERRORS)) == want &&
		           len - NIC_FRAME_MIN <= NIC_FRAME_MAX - NIC_FRAME_MIN)) {
			struct pkt *p = rx_slot(d)->p;
			pkt_filled(p, len);
			*out++ = p;
			rx_give(d, ring_alloc(&top));
		} else if (state & RXD_DD) {
			rx_drop(e, d, state);
			want = e->rx_want;
		} else {
			break;
		}
	}
	ring_settle(pool, top);
	if (UNLIKELY(n < room && d == stop))
		d = rx_starve(e, d, room - n);
	rx_return(e, d);
	return (uint32_t)(out - burst);
}

static uint32_t e1000_rx(struct nic *nic, struct pkt **burst, uint32_t max)
{
	struct e1000 *e = card(nic);
	return rx_waiting(e) ? rx_burst(e, burst, max) : 0;
}

/* --- transmit ------------------------------------------------------------------- */

static inline struct e1000_slot *tx_slot(struct e1000_tx_desc *d)
{
	return (struct e1000_slot *)(d + E1000_RING);
}

/* The last descriptor of the oldest burst. The card writes back only this descriptor of a
 * burst, and it completes descriptors in order (3.4.2). */
static inline struct e1000_tx_desc *tx_oldest(const struct e1000 *e)
{
	uint32_t end = e->tx->slot[e->tx_head & MASK].end;
	return &e->tx->desc[(end - 1) & MASK];
}

static inline bool tx_done(const struct e1000 *e)
{
	return (device_word(&tx_oldest(e)->state) & TXD_DD) != 0;
}

/* Frees the packets that were sent. Leaves each descriptor's state at 0 for its next use. */
static inline void tx_reclaim(struct e1000 *e)
{
	struct pool *pool = e->nic.pool;
	struct pkt **top = ring_top(pool);
	while (e->tx_head != e->tx_tail && tx_done(e)) {
		struct e1000_tx_desc *d = tx_oldest(e);
		struct e1000_slot *s = &e->tx->slot[e->tx_head & MASK];
		e->tx_head = s->end;
		d->state = 0;
		for (struct e1000_slot *last = tx_slot(d); s <= last; s++)
			ring_free(pool, &top, s->p);
	}
	ring_settle(pool, top);
}

uint32_t e1000_pad_or_drop(struct e1000 *e, struct pkt *p)
{
	if (p->len >= NIC_FRAME_MIN && p->len < WIRE_MIN) {
		uint32_t missing = WIRE_MIN - p->len;
		uint8_t *pad = pkt_put(p, missing);
		if (pad) {
			memset(pad, 0, missing);
			return WIRE_MIN;
		}
	}
	e->nic.count.tx_errors++;
	pkt_free(p);
	return 0;
}

void e1000_reclaim(struct e1000 *e)
{
	tx_reclaim(e);
}

/* Fills descriptors for the first of n frames, up to the end of the ring, and requests a
 * write-back of the last descriptor. The ring has room for all of them. Gives how many
 * frames it handled. */
static inline uint32_t tx_fill(struct e1000 *e, struct pkt **burst, uint32_t n)
{
	uint32_t at = e->tx_tail & MASK;
	struct e1000_tx_desc *first = &e->tx->desc[at], *d = first;
	n = min_u32(min_u32(n, NIC_BURST), E1000_RING - at);
	for (struct pkt **end = burst + n; burst != end; burst++) {
		struct pkt *p = *burst;
		uint32_t len = p->len;
		if (UNLIKELY(len - WIRE_MIN > NIC_FRAME_MAX - WIRE_MIN)) {
			len = e1000_pad_or_drop(e, p);
			if (len == 0)
				continue;
		}
		d->addr = (uint32_t)dma_addr(p->data);
		d->cmd = len + (TXD_EOP | TXD_IFCS);
		tx_slot(d)->p = p;
		d++;
	}
	if (d != first) {
		d[-1].cmd |= TXD_RS;
		e->tx_tail += (uint32_t)(d - first);
		tx_slot(first)->end = e->tx_tail;
	}
	return n;
}

uint32_t e1000_no_carrier(struct e1000 *e, struct pkt **burst, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		e->nic.count.tx_link_down += pkt_segments(burst[i]);
		pkt_free_all(burst[i]);
	}
	return n;
}

static uint32_t e1000_tx(struct nic *nic, struct pkt **burst, uint32_t n)
{
	struct e1000 *e = card(nic);
	if (UNLIKELY(e->dirty))
		return e1000_offload_tx(nic, burst, n);
	tx_reclaim(e);
	if (UNLIKELY(!nic->carrier.up))
		return e1000_no_carrier(e, burst, n);
	uint32_t room = E1000_RING - 1 - (e->tx_tail - e->tx_head);
	e->tx_refused = n > room;
	if (UNLIKELY(n > room))
		n = room;
	uint32_t old = e->tx_tail, done = 0;
	while (done < n)
		done += tx_fill(e, burst + done, n - done);
	if (e->tx_tail != old) {
		io_wmb();
		e1000_write(e, E1000_TDT, e->tx_tail & MASK);
	}
	return n;
}

/* --- start and stop ---------------------------------------------------------------- */

static void write_rctl(struct e1000 *e)
{
	uint32_t rctl = RCTL_EN | RCTL_BAM | RCTL_SECRC;
	if (e->promiscuous)
		rctl |= RCTL_UPE | RCTL_MPE;
	e1000_write(e, E1000_RCTL, rctl);
}

static void start_rx(struct e1000 *e)
{
	for (uint32_t i = 0; i < E1000_RING; i++) {
		struct e1000_rx_desc *d = &e->rx->desc[i];
		*d = (struct e1000_rx_desc){0};
		rx_give(d, rx_slot(d)->p);
	}
	e->rx_next = e->rx->desc;
	e->rx_want = RX_WANT;
	e->ack = 2;
	io_wmb();
	e1000_write(e, E1000_RDTR, 0); /* 13.4.30: no delay */
	e1000_write(e, E1000_RXDCTL, RXDCTL_EACH);
	e1000_write(e, E1000_RXCSUM, 0);
	e1000_write(e, E1000_RDBAL, (uint32_t)dma_addr(e->rx->desc));
	e1000_write(e, E1000_RDBAH, 0);
	e1000_write(e, E1000_RDLEN, sizeof e->rx->desc);
	e1000_write(e, E1000_RDH, 0);
	e1000_write(e, E1000_RDT, E1000_RING - 1);
	write_rctl(e);
}

static void start_tx(struct e1000 *e)
{
	memset(e->tx->desc, 0, sizeof e->tx->desc);
	e->tx_head = e->tx_tail = 0;
	e->tx_refused = e->tx_wake = e->after_tso = false;
	e->dirty = 0;
	e->hang_head = 0;
	e->hang_us = io_now_us();
	io_wmb();
	e1000_write(e, E1000_TIDV, 0);
	e1000_write(e, E1000_TIPG,
	            e->kind == E1000_82544 || e1000_is_82571(e) ? TIPG_COPPER_44 : TIPG_COPPER);
	e1000_write(e, E1000_TDBAL, (uint32_t)dma_addr(e->tx->desc));
	e1000_write(e, E1000_TDBAH, 0);
	e1000_write(e, E1000_TDLEN, sizeof e->tx->desc);
	e1000_write(e, E1000_TDH, 0);
	e1000_write(e, E1000_TDT, 0);
	e1000_write(e, E1000_TCTL, TCTL_EN | TCTL_CT | TCTL_COLD);
}

/* Adds the card's counters to nic.count (13.7: a read clears them). A frame with a bad FCS
 * and a bad symbol counts twice. Of a card that is no longer on the bus nothing is added: its
 * registers read as ones. */
static void stats(struct e1000 *e)
{
	struct nic_counters *c = &e->nic.count;
	uint64_t missed = e1000_read(e, E1000_MPC);
	uint64_t rx_errors = (uint64_t)e1000_read(e, E1000_CRCERRS) + e1000_read(e, E1000_ALGNERRC);
	rx_errors += (uint64_t)e1000_read(e, E1000_RXERRC) + e1000_read(e, E1000_RLEC);
	uint64_t tx_errors = (uint64_t)e1000_read(e, E1000_ECOL) + e1000_read(e, E1000_LATECOL);
	if (e1000_read(e, E1000_STATUS) == E1000_GONE)
		return;
	c->rx_missed += missed;
	c->rx_errors += rx_errors;
	c->tx_errors += tx_errors;
}

/* Starts a card that was just reset, with empty rings. */
static void start(struct e1000 *e)
{
	struct nic_counters keep = e->nic.count;
	stats(e); /* clears the card's counters */
	e->nic.count = keep;
	e1000_write(e, E1000_FCAL, 0);
	e1000_write(e, E1000_FCAH, 0);
	e1000_write(e, E1000_FCT, 0);
	e1000_hw_host_arp(e);
	if (e->kind == E1000_82574)
		e1000_82574_start(e);
	else if (e1000_is_82571(e))
		e1000_82571_start(e);
	e1000_hw_negotiate(e);
	e1000_hw_filters(e);
	start_tx(e);
	start_rx(e);
	/* Only the causes that must end a halt. That of the carrier stays asserted until poll(),
	 * which is due soon because the line came without a frame (kernel/irq_watch.h). */
	e1000_write(e, E1000_IMS, INT_RXT0 | INT_RXO | INT_RXDMT0 | INT_LSC);
	e1000_hw_carrier_read(e);
}

static void tx_drop_all(struct e1000 *e, uint64_t *counter)
{
	while (e->tx_head != e->tx_tail) {
		struct pkt *p = e->tx->slot[e->tx_head++ & MASK].p;
		*counter += pkt_segments(p);
		pkt_free(p);
	}
}

/* Resets and starts the card, after a hang or when frames wait and the carrier is down.
 * Adds the frames that were not sent to *counter. */
static void restart(struct e1000 *e, uint64_t *counter, const char *why)
{
	const struct pci_dev *d = &e->nic.pci;
	log_line("pci %02x:%02x.%x: e1000: %s, reset", d->bus, d->dev, d->fn, why);
	e->nic.count.resets++;
	bool ok = e1000_hw_reset(e);
	e->hang_us = io_now_us();
	tx_reclaim(e);
	tx_drop_all(e, counter);
	e->broken = !ok;
	e->nic.carrier.up = false;
	if (!ok) {
		pci_cut(d); /* the card may still write into packets */
		return;
	}
	pci_enable(d);
	start(e);
}

static void e1000_stop(struct nic *nic)
{
	struct e1000 *e = card(nic);
	uint64_t ignored = 0;
	if (!e1000_hw_reset(e))
		pci_cut(&nic->pci);
	tx_drop_all(e, &ignored);
	for (unsigned i = 0; i < E1000_RING; i++) {
		struct e1000_slot *slot = rx_slot(&e->rx->desc[i]);
		if (slot->p)
			pkt_free(slot->p);
		slot->p = NULL;
	}
	nic->carrier.up = false;
}

/* --- watching ------------------------------------------------------------------------- */

/* True when frames wait, the carrier is up, and no frame was sent for HANG_US. */
static bool tx_hangs(struct e1000 *e, uint64_t now_us)
{
	if (e->tx_head == e->tx_tail || e->tx_head != e->hang_head) {
		e->hang_head = e->tx_head;
		e->hang_us = now_us;
		return false;
	}
	return now_us > e->hang_us + HANG_US; /* start() may have set hang_us later than now_us */
}

static void e1000_poll(struct nic *nic, uint64_t now_us)
{
	struct e1000 *e = card(nic);
	tx_reclaim(e);
	if (now_us - e->poll_us < POLL_US)
		return;
	e->poll_us = now_us;
	if (!e->ack)
		e->ack = 1; /* clears a cause that came late (see e1000_arm) */
	if (e->broken) {
		if (now_us > e->hang_us + HANG_US)
			restart(e, &nic->count.tx_errors, "did not finish its reset");
		return;
	}
	e1000_hw_carrier_read(e);
	if (nic->carrier.up && !nic->carrier.full_duplex && !e->half_duplex)
		e1000_hw_half_duplex(e);
	if (!nic->carrier.up && e->tx_head != e->tx_tail) {
		restart(e, &nic->count.tx_link_down, "carrier lost while frames wait");
	} else if (tx_hangs(e, now_us)) {
		restart(e, &nic->count.tx_errors, "transmitter hangs");
	}
	if (now_us - e->stats_us >= STATS_US && !e->broken) {
		e->stats_us = now_us;
		stats(e);
		if (e->kind == E1000_82574 && e1000_82574_phy_hangs(e))
			restart(e, &nic->count.tx_errors, "PHY hangs");
	}
}

/* True when the ring has room for frames that tx() refused before. */
static bool tx_waiting(const struct e1000 *e)
{
	return e->tx_refused && e->tx_head != e->tx_tail && tx_done(e);
}

/* The interrupt causes are enabled all the time. To arm is to acknowledge them and then to
 * look at the ring. A frame before the read of ICR is visible in the ring, because the read
 * pushes the card's writes to memory before it (PCI 3.0, 3.2.5). A frame after the read
 * raises the interrupt line again.
 *
 * A read takes a microsecond or more, so a card without new frames is not read: its causes
 * are clear, except a cause that came just after its frame was seen. That cause ends the
 * next halt, and the second arm() clears it. */
static bool e1000_arm(struct nic *nic)
{
	struct e1000 *e = card(nic);
	if (rx_waiting(e))
		return true;
	if (UNLIKELY(e->tx_refused != e->tx_wake)) {
		e->tx_wake = e->tx_refused;
		e1000_write(e, e->tx_wake ? E1000_IMS : E1000_IMC, INT_TXDW);
		e->ack = 2;
	}
	if (e->ack || e->tx_wake) {
		e->ack -= e->ack != 0;
		e1000_read(e, E1000_ICR);
		io_rmb();
	}
	return rx_waiting(e) || tx_waiting(e);
}

/* 13.5.1: with RCTL.MO 0, bits 47:36 of the address choose the bit. */
static void e1000_filter(struct nic *nic, bool promiscuous, const mac *group, uint32_t n)
{
	struct e1000 *e = card(nic);
	uint32_t mta[MTA_WORDS] = {0};
	for (uint32_t i = 0; i < n; i++) {
		uint32_t hash = load16(group[i].b + 4) >> 4;
		mta[hash / 32] |= 1u << hash % 32;
	}
	if (memcmp(mta, e->mta, sizeof mta) != 0) {
		memcpy(e->mta, mta, sizeof mta);
		e1000_hw_groups(e);
	}
	if (promiscuous != e->promiscuous) {
		e->promiscuous = promiscuous;
		write_rctl(e);
	}
}

/* --- probe ------------------------------------------------------------------------------- */

static const struct nic_ops ops = {
        .rx = e1000_rx,
        .tx = e1000_tx,
        .tx_partial = e1000_offload_tx,
        .poll = e1000_poll,
        .arm = e1000_arm,
        .stop = e1000_stop,
        .filter = e1000_filter,
        .report = e1000_hw_report,
};

static bool fill_ring(struct e1000 *e, struct pool *pool)
{
	for (uint32_t i = 0; i < E1000_RING; i++) {
		struct pkt *p = pkt_alloc(pool);
		if (!p) {
			while (i--)
				pkt_free(e->rx->slot[i].p);
			return false;
		}
		pkt_lend(p);
		e->rx->slot[i].p = p;
	}
	return true;
}

static const char *e1000_probe(const struct pci_dev *dev, struct pool *pool, struct nic **out)
{
	struct pci_bar bar = pci_bar(dev, 0);
	if (bar.base == 0 || bar.io || bar.size < E1000_WINDOW)
		return "no memory window";
	struct e1000 *e = alloc(sizeof *e, 64);
	if (!e)
		return "no memory";
	/* 13.4.25 needs 16-byte alignment. Cache line and page alignment are simpler. */
	e->rx = alloc(sizeof *e->rx, 4096);
	e->tx = alloc(sizeof *e->tx, 4096);
	e->regs = mem_map(bar.base, E1000_WINDOW);
	if (!e->rx || !e->tx || !e->regs)
		return "no memory";
	e->nic = (struct nic){
	        .ops = &ops, .driver = "e1000", .pool = pool, .irq = dev->irq, .pci = *dev};
	e1000_hw_identify(e);
	/* The 82547 has errata with segmentation, the 82544 also with where a buffer ends. */
	bool is_82547 = dev->device == 0x1019 || dev->device == 0x101a || dev->device == 0x1075;
	bool sums = is_82547 || e1000_is_82571(e);
	e->nic.offloads = e->kind == E1000_82544 ? 0 : sums ? NIC_SUM : NIC_SUM | NIC_TSO4;
	pci_enable(dev);
	const char *wrong = e1000_hw_bus(e);
	if (wrong)
		return wrong;
	if (e->kind == E1000_82541)
		e1000_hw_phy_reset(e);
	if (!e1000_hw_reset(e))
		return "does not come out of reset";
	if (!e1000_hw_address(e, &e->nic.address))
		return "no valid MAC address";
	if (!fill_ring(e, pool))
		return "too few packets for the receive ring";
	start(e);
	*out = &e->nic;
	return NULL;
}

/* The copper cards of the family, and the PCI Express chips that are no part of a chip set. */
static const struct pci_id ids[] = {
        {0x8086, 0x1008}, {0x8086, 0x100c}, {0x8086, 0x100d}, /* 82544 EI, GC */
        {0x8086, 0x100e}, {0x8086, 0x1015},                   /* 82540EM */
        {0x8086, 0x1016}, {0x8086, 0x1017}, {0x8086, 0x101e}, /* 82540EP */
        {0x8086, 0x100f}, {0x8086, 0x1026},                   /* 82545 EM, GM */
        {0x8086, 0x1010}, {0x8086, 0x101d}, {0x8086, 0x1079}, /* 82546 EB, GB */
        {0x8086, 0x1099}, {0x8086, 0x10b5},                   /* 82546GB, two on a board */
        {0x8086, 0x1013}, {0x8086, 0x1018}, {0x8086, 0x1014}, /* 82541 EI, ER */
        {0x8086, 0x1078}, {0x8086, 0x1076}, {0x8086, 0x1077}, /* 82541 ER, GI */
        {0x8086, 0x107c},                                     /* 82541PI */
        {0x8086, 0x1019}, {0x8086, 0x101a}, {0x8086, 0x1075}, /* 82547 EI, GI */
        {0x8086, 0x105e}, {0x8086, 0x10a4}, {0x8086, 0x10bc}, /* 82571EB */
        {0x8086, 0x10d5}, {0x8086, 0x107d}, {0x8086, 0x10b9}, /* 82571PT, 82572EI */
        {0x8086, 0x108b}, {0x8086, 0x108c}, {0x8086, 0x109a}, /* 82573 V, E, L */
        {0x8086, 0x10d3}, {0x8086, 0x10f6}, {0x8086, 0x150c}, /* 82574, 82583 */
};

const struct pci_driver e1000_driver = {
        .name = "e1000",
        .ids = ids,
        .n_ids = ARRAY_SIZE(ids),
        .probe = e1000_probe,
};
