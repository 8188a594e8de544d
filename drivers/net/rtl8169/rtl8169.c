/* Realtek's gigabit cards: RTL8169 and 8110 for PCI, 8168, 8111 and 8101 for PCI Express.
 * Registers: rtl8169_reg.h; versions, reset, address, PHY and carrier: rtl8169_hw.c.
 *
 * Invariants: every receive descriptor has a packet. The transmit slots from tx_head up to tx_tail
 * hold the frames that the card is to send. Nothing is copied. No register is read for a packet,
 * and one is written for each burst that is sent.
 *
 * Left out on purpose: checksums, segmentation and VLAN tags by the card (errata of several
 * versions), its second transmit ring, flow control, MSI. */
#include "drivers/net/rtl8169/rtl8169.h"

#include "drivers/net/nic_list.h"
#include "drivers/net/ring.h"
#include "drivers/net/wire.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"

#define RX_MASK (R_RX_RING - 1)
#define TX_MASK (R_TX_RING - 1)

#define POLL_US  5000u /* shortest time between two full runs of poll() */
#define STATS_US 1000000u
#define HANG_US  2000000u
/* The buffers of a receive ring lie at multiples of 8 bytes, and have as many. */
#define RX_SKIP ((0u - (uint32_t)offsetof(struct pkt, bytes) - PKT_HEADROOM) & 7u)
#define RX_ROOM (PKT_ROOM - 8u)
#define CAUSES  (INT_ROK | INT_RER | INT_NO_ROOM | INT_LINK | INT_SYSTEM)

static struct rtl8169 *card(struct nic *nic)
{
	return (struct rtl8169 *)nic;
}

/* A word that the device may write at any time. */
static inline uint32_t device_word(const uint32_t *p)
{
	return *(const volatile uint32_t *)p;
}

/* --- receive ------------------------------------------------------------------------------ */

static inline void rx_give(struct rtl8169 *r, uint32_t i, struct pkt *p)
{
	struct r_desc *d = &r->rx_desc[i];
	r->rx[i] = p;
	p->data = p->bytes + PKT_HEADROOM + RX_SKIP;
	d->vlan = 0;
	d->addr = (uint32_t)dma_addr(p->data);
	io_wmb();
	d->state = D_OWN | (i == RX_MASK ? D_LAST : 0) | RX_ROOM;
}

static inline bool rx_waiting(const struct rtl8169 *r)
{
	return !r->broken && !(device_word(&r->rx_desc[r->rx_next].state) & D_OWN);
}

static uint32_t rtl8169_rx(struct nic *nic, struct pkt **burst, uint32_t max)
{
	struct rtl8169 *r = card(nic);
	if (!rx_waiting(r))
		return 0;
	struct pool *pool = nic->pool;
	struct pkt **top = ring_top(pool), **out = burst;
	uint32_t i = r->rx_next;
	/* Each pass handles one descriptor, so that a flood of bad frames ends too. */
	for (max = min_u32(max, R_RX_RING); max; max--) {
		uint32_t state = device_word(&r->rx_desc[i].state);
		if (state & D_OWN)
			break;
		io_rmb();
		uint32_t len = (state & D_LEN) - FCS;
		struct pkt *p = r->rx[i];
		bool good = (state & (D_FIRST | D_END | D_ERROR)) == (D_FIRST | D_END) &&
		            wire_good_length(len);
		if (LIKELY(good && top != pool->stack)) {
			pkt_filled(p, len);
			*out++ = p;
			p = ring_alloc(&top);
		} else if (good) {
			nic->count.rx_no_packet++;
		} else if (state & D_FIRST) { /* one in several buffers counts once */
			nic->count.rx_errors++;
		}
		rx_give(r, i, p);
		i = (i + 1) & RX_MASK;
	}
	r->rx_next = i;
	r->ack = 2;
	ring_settle(pool, top);
	return (uint32_t)(out - burst);
}

/* --- transmit ----------------------------------------------------------------------------- */

static inline bool tx_done(const struct rtl8169 *r)
{
	return !(device_word(&r->tx_desc[r->tx_head & TX_MASK].state) & D_OWN);
}

static inline void tx_reclaim(struct rtl8169 *r)
{
	struct pool *pool = r->nic.pool;
	struct pkt **top = ring_top(pool);
	for (; r->tx_head != r->tx_tail && tx_done(r); r->tx_head++)
		ring_free(pool, &top, r->tx[r->tx_head & TX_MASK]);
	ring_settle(pool, top);
}

static inline void tx_kick(const struct rtl8169 *r)
{
	io_wmb();
	r_put8(r, R_TPPOLL, TPPOLL_NORMAL);
}

static uint32_t rtl8169_tx(struct nic *nic, struct pkt **burst, uint32_t n)
{
	struct rtl8169 *r = card(nic);
	tx_reclaim(r);
	if (UNLIKELY(!nic->carrier.up))
		return wire_no_carrier(nic, burst, n);
	/* One slot stays free, so that the card never finds a whole ring of its own. */
	uint32_t room = R_TX_RING - 1 - (r->tx_tail - r->tx_head), old = r->tx_tail;
	r->tx_refused = n > room;
	if (UNLIKELY(n > room))
		n = room;
	for (struct pkt **end = burst + n; burst != end; burst++) {
		struct pkt *p = *burst;
		if (UNLIKELY(!wire_fits(p)) && !wire_pad(nic, p))
			continue;
		uint32_t i = r->tx_tail++ & TX_MASK;
		struct r_desc *d = &r->tx_desc[i];
		r->tx[i] = p;
		d->vlan = 0;
		d->addr = (uint32_t)dma_addr(p->data);
		io_wmb();
		d->state = D_OWN | (i == TX_MASK ? D_LAST : 0) | D_FIRST | D_END | p->len;
	}
	if (r->tx_tail != old)
		tx_kick(r);
	return n;
}

/* --- start and stop ----------------------------------------------------------------------- */

static bool needs_fifo(const struct rtl8169 *r)
{
	return r->chip->flags & CHIP_FIFO;
}

static void write_mask(const struct rtl8169 *r)
{
	r_put16(r, R_IMR,
	        CAUSES | (needs_fifo(r) ? INT_FIFO : 0) | (r->tx_wake ? INT_TOK | INT_TER : 0));
}

/* Starts a card that was just reset, with empty rings. */
static void start(struct rtl8169 *r)
{
	memset(r->tx_desc, 0, R_TX_RING * sizeof *r->tx_desc);
	for (uint32_t i = 0; i < R_RX_RING; i++)
		rx_give(r, i, r->rx[i]);
	r->rx_next = r->tx_head = r->tx_tail = 0;
	r->tx_refused = r->tx_wake = r->tally_asked = r->tally_known = false;
	r->ack = 2;
	r->hang_head = 0;
	rtl8169_hw_start(r);
	r->hang_us = io_now_us();
	write_mask(r);
}

static void tx_drop_all(struct rtl8169 *r, uint64_t *counter)
{
	for (; r->tx_head != r->tx_tail; r->tx_head++) {
		++*counter;
		pkt_free(r->tx[r->tx_head & TX_MASK]);
	}
}

/* Resets and starts the card. Adds the frames that were not sent to *counter. */
static void restart(struct rtl8169 *r, uint64_t *counter, const char *why)
{
	const struct pci_dev *d = &r->nic.pci;
	log_line("pci %02x:%02x.%x: rtl8169: %s, reset", d->bus, d->dev, d->fn, why);
	r->nic.count.resets++;
	bool ok = rtl8169_hw_reset(r);
	tx_reclaim(r);
	tx_drop_all(r, counter);
	r->nic.carrier = (struct nic_carrier){0};
	r->hang_us = io_now_us();
	r->broken = !ok;
	if (!ok) {
		pci_cut(d); /* the card may still write into packets */
		return;
	}
	pci_enable(d);
	start(r);
}

static void rtl8169_stop(struct nic *nic)
{
	struct rtl8169 *r = card(nic);
	uint64_t ignored = 0;
	if (!rtl8169_hw_reset(r))
		pci_cut(&nic->pci);
	tx_drop_all(r, &ignored);
	wire_free(r->rx, R_RX_RING);
	nic->carrier.up = false;
}

/* --- watching ----------------------------------------------------------------------------- */

/* True when frames wait, and none was sent for HANG_US. */
static bool tx_hangs(struct rtl8169 *r, uint64_t now_us)
{
	if (r->tx_head == r->tx_tail || r->tx_head != r->hang_head) {
		r->hang_head = r->tx_head;
		r->hang_us = now_us;
		return false;
	}
	return now_us > r->hang_us + HANG_US; /* start() may have set hang_us later than now_us */
}

/* The card writes its counters into memory in its own time: they are asked for, and read by a later
 * call. A reset may clear them. */
static void count_missed(struct rtl8169 *r, uint64_t now_us)
{
	uint32_t at = (uint32_t)dma_addr(r->tally);
	if (r->tally_asked) {
		if (r_get32(r, R_TALLY) & TALLY_DUMP)
			return;
		io_rmb();
		uint16_t now = load16((const uint8_t *)r->tally + TALLY_MISSED);
		if (r->tally_known)
			r->nic.count.rx_missed += (uint16_t)(now - r->tally_last);
		r->tally_last = now;
		r->tally_known = true;
		r->tally_asked = false;
	} else if (!r->tally_known || now_us - r->stats_us >= STATS_US) {
		r->stats_us = now_us;
		r->tally_asked = true;
		r_put32(r, R_TALLY + 4, 0);
		r_put32(r, R_TALLY, at);
		r_put32(r, R_TALLY, at | TALLY_DUMP);
	}
}

static void watch(struct rtl8169 *r, uint64_t now_us)
{
	struct nic_counters *n = &r->nic.count;
	const struct pci_dev *d = &r->nic.pci;
	uint16_t causes = r_get16(r, R_ISR);
	if (causes == R_GONE) {
		restart(r, &n->tx_errors, "no longer answers");
		return;
	}
	rtl8169_hw_carrier(r);
	count_missed(r, now_us);
	if (causes & INT_SYSTEM) {
		pci_write16(d, PCI_STATUS, pci_read16(d, PCI_STATUS)); /* ones clear */
		restart(r, &n->tx_errors, "error on the bus");
	} else if (causes & INT_FIFO && needs_fifo(r)) {
		restart(r, &n->tx_errors, "receiver ran over");
	} else if (!r->nic.carrier.up && r->tx_head != r->tx_tail) {
		restart(r, &n->tx_link_down, "carrier lost while frames wait");
	} else if (tx_hangs(r, now_us)) {
		restart(r, &n->tx_errors, "transmitter hangs");
	} else if (r->tx_head != r->tx_tail) {
		tx_kick(r); /* erratum: one that comes while the last frame ends is lost */
	}
}

static void rtl8169_poll(struct nic *nic, uint64_t now_us)
{
	struct rtl8169 *r = card(nic);
	tx_reclaim(r);
	if (now_us - r->poll_us < POLL_US)
		return;
	r->poll_us = now_us;
	if (!r->ack)
		r->ack = 1; /* clears a cause that came late (see rtl8169_arm) */
	if (!r->broken)
		watch(r, now_us);
	else if (now_us > r->hang_us + HANG_US)
		restart(r, &nic->count.tx_errors, "did not finish its reset");
}

/* The causes are enabled all the time. To arm is to acknowledge them, and then to look at the ring.
 * The read behind the acknowledgement pushes the card's writes to memory before it
 * (PCI 3.0, 3.2.5). A frame after that raises the line again. Frames that wait are pointed out to
 * the card once more, because nobody does so during the halt. */
static bool rtl8169_arm(struct nic *nic)
{
	struct rtl8169 *r = card(nic);
	if (r->broken)
		return false;
	if (rx_waiting(r))
		return true;
	if (UNLIKELY(r->tx_refused != r->tx_wake)) {
		r->tx_wake = r->tx_refused;
		write_mask(r);
		r->ack = 2;
	}
	if (r->ack || r->tx_wake) {
		r->ack -= r->ack != 0;
		/* What needs a reset stays for poll(). */
		r_put16(r, R_ISR, INT_ALL & ~(INT_SYSTEM | INT_FIFO));
		(void)r_get16(r, R_ISR);
		io_rmb();
	}
	uint32_t head = r->tx_head;
	tx_reclaim(r);
	if (r->tx_head != r->tx_tail)
		tx_kick(r);
	return rx_waiting(r) || (r->tx_refused && head != r->tx_head);
}

static void rtl8169_filter(struct nic *nic, bool promiscuous, const mac *group, uint32_t n)
{
	struct rtl8169 *r = card(nic);
	memset(r->hash, promiscuous ? 0xff : 0, sizeof r->hash);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t bit = wire_crc_be(&group[i]) >> 26;
		r->hash[bit / 8] |= (uint8_t)(1u << bit % 8);
	}
	r->rcr = RCR_OWN | RCR_BROADCAST | (promiscuous || n ? RCR_GROUPS : 0) |
	         (promiscuous ? RCR_ALL : 0);
	if (!r->broken)
		rtl8169_hw_filter(r);
}

/* --- probe -------------------------------------------------------------------------------- */

static const struct nic_ops ops = {
        .rx = rtl8169_rx,
        .tx = rtl8169_tx,
        .poll = rtl8169_poll,
        .arm = rtl8169_arm,
        .stop = rtl8169_stop,
        .filter = rtl8169_filter,
        .report = rtl8169_hw_report,
};

/* Gives the first memory window that has all registers: it is the second base address of a PCI
 * card, the third of others. */
static struct pci_bar window(const struct pci_dev *dev)
{
	struct pci_bar bar = {0};
	for (unsigned i = 0; i < 6; i++) {
		bar = pci_bar(dev, i);
		if (bar.base && !bar.io && bar.size >= R_WINDOW && bar.base >> 32 == 0)
			return bar;
	}
	return (struct pci_bar){0};
}

static const char *take(struct rtl8169 *r)
{
	r->rx_desc = alloc(R_RX_RING * sizeof *r->rx_desc, 4096);
	r->tx_desc = alloc(R_TX_RING * sizeof *r->tx_desc, 4096);
	r->tally = alloc(TALLY_BYTES, 64);
	return r->rx_desc && r->tx_desc && r->tally ? NULL : "no memory";
}

static const char *rtl8169_probe(const struct pci_dev *dev, struct pool *pool, struct nic **out)
{
	struct pci_bar bar = window(dev);
	if (dev->vendor == 0x1737 && dev->subdevice != 0x0024)
		return "a chip of another maker";
	if (bar.base == 0)
		return "no memory window";
	struct rtl8169 *r = alloc(sizeof *r, 64);
	if (!r || take(r))
		return "no memory";
	r->regs = mem_map(bar.base, R_WINDOW);
	if (!r->regs)
		return "no memory";
	r->nic = (struct nic){
	        .ops = &ops, .driver = "rtl8169", .pool = pool, .irq = dev->irq, .pci = *dev};
	r->rcr = RCR_OWN | RCR_BROADCAST;
	pci_enable(dev);
	if (!rtl8169_hw_version(r))
		return "a version that is not known";
	if (!rtl8169_hw_reset(r))
		return "does not come out of reset";
	if (!rtl8169_hw_address(r))
		return "no valid MAC address";
	if (!wire_fill(r->rx, R_RX_RING, pool))
		return "too few packets for the receive ring";
	start(r);
	*out = &r->nic;
	return NULL;
}

static const struct pci_id ids[] = {
        {0x10ec, 0x8136}, {0x10ec, 0x8161}, {0x10ec, 0x8167}, {0x10ec, 0x8168},
        {0x10ec, 0x8169}, {0x10ec, 0x2502}, {0x10ec, 0x2600}, {0x1186, 0x4300},
        {0x1186, 0x4302}, {0x1259, 0xc107}, {0x16ec, 0x0116}, {0x1737, 0x1032},
};

const struct pci_driver rtl8169_driver = {
        .name = "rtl8169",
        .ids = ids,
        .n_ids = ARRAY_SIZE(ids),
        .probe = rtl8169_probe,
};
