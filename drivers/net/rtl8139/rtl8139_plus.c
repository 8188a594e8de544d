/* The descriptor rings of the RTL8139C+: nothing is copied. No register is read for a packet, and
 * one is written for each burst that is sent.
 *
 * Invariants: every receive descriptor has a packet. The transmit slots from tx_head up to tx_tail
 * hold the frames that the card is to send. */
#include "drivers/net/rtl8139/rtl8139.h"

#include "drivers/net/ring.h"
#include "kernel/lib/alloc.h"

#define MASK (R_RING - 1)

/* A word that the device may write at any time. */
static inline uint32_t device_word(const uint32_t *p)
{
	return *(const volatile uint32_t *)p;
}

static inline uint32_t end_of(uint32_t i)
{
	return i == MASK ? D_LAST : 0;
}

static inline void rx_give(struct rtl8139 *r, uint32_t i, struct pkt *p)
{
	struct r_desc *d = &r->rx_desc[i];
	r->rx[i] = p;
	d->vlan = 0;
	d->addr = (uint32_t)dma_addr(p->data);
	io_wmb();
	d->state = D_OWN | end_of(i) | PKT_ROOM;
}

static bool waiting(struct rtl8139 *r)
{
	return !(device_word(&r->rx_desc[r->rx_next].state) & D_OWN);
}

static uint32_t plus_rx(struct nic *nic, struct pkt **burst, uint32_t max)
{
	struct rtl8139 *r = rtl8139_card(nic);
	if (!waiting(r) || UNLIKELY(r->broken))
		return 0;
	struct pool *pool = nic->pool;
	struct pkt **top = ring_top(pool), **out = burst;
	uint32_t i = r->rx_next;
	/* Each pass handles one descriptor, so that a flood of bad frames ends too. */
	for (max = min_u32(max, R_RING); max; max--) {
		uint32_t state = device_word(&r->rx_desc[i].state);
		if (state & D_OWN)
			break;
		io_rmb();
		uint32_t len = (state & D_LEN) - FCS;
		struct pkt *p = r->rx[i];
		bool good =
		        (state & (D_FIRST_P | D_LAST_P | D_RX_ERROR)) == (D_FIRST_P | D_LAST_P) &&
		        len - NIC_FRAME_MIN <= NIC_FRAME_MAX - NIC_FRAME_MIN;
		if (LIKELY(good && top != pool->stack)) {
			pkt_filled(p, len);
			*out++ = p;
			p = ring_alloc(&top);
		} else if (good) {
			nic->count.rx_no_packet++;
		} else if (state & D_FIRST_P || !(state & D_LAST_P)) {
			nic->count.rx_errors++; /* a frame in pieces counts once: it is too long */
		}
		rx_give(r, i, p);
		i = (i + 1) & MASK;
	}
	r->rx_next = i;
	r->ack = 2;
	ring_settle(pool, top);
	return (uint32_t)(out - burst);
}

static inline bool tx_done(const struct rtl8139 *r)
{
	return !(device_word(&r->tx_desc[r->tx_head & MASK].state) & D_OWN);
}

static void reclaim(struct rtl8139 *r)
{
	struct pool *pool = r->nic.pool;
	struct pkt **top = ring_top(pool);
	for (; r->tx_head != r->tx_tail && tx_done(r); r->tx_head++) {
		if (UNLIKELY(r->tx_desc[r->tx_head & MASK].state & D_TX_ERROR))
			r->nic.count.tx_errors++;
		ring_free(pool, &top, r->tx[r->tx_head & MASK]);
	}
	ring_settle(pool, top);
}

static uint32_t plus_tx(struct nic *nic, struct pkt **burst, uint32_t n)
{
	struct rtl8139 *r = rtl8139_card(nic);
	reclaim(r);
	if (UNLIKELY(!nic->carrier.up))
		return rtl8139_no_carrier(r, burst, n);
	/* One slot stays free, so that the card never finds a whole ring of its own. */
	uint32_t room = R_RING - 1 - (r->tx_tail - r->tx_head), old = r->tx_tail;
	r->tx_refused = n > room;
	if (UNLIKELY(n > room))
		n = room;
	for (struct pkt **end = burst + n; burst != end; burst++) {
		struct pkt *p = *burst;
		if (UNLIKELY(p->len - R_WIRE_MIN > NIC_FRAME_MAX - R_WIRE_MIN) &&
		    !rtl8139_fits(r, p))
			continue;
		uint32_t i = r->tx_tail++ & MASK;
		struct r_desc *d = &r->tx_desc[i];
		r->tx[i] = p;
		d->vlan = 0;
		d->addr = (uint32_t)dma_addr(p->data);
		io_wmb();
		d->state = D_OWN | end_of(i) | D_FIRST_P | D_LAST_P | p->len;
	}
	if (r->tx_tail != old) {
		io_wmb();
		io_out8(r->ports + R_TPPOLL, TPPOLL_NORMAL);
	}
	return n;
}

static void configure(struct rtl8139 *r)
{
	io_out32(r->ports + R_RCR, r->rcr);
}

static void start(struct rtl8139 *r)
{
	memset(r->tx_desc, 0, R_RING * sizeof *r->tx_desc);
	memset(r->rx_desc, 0, R_RING * sizeof *r->rx_desc);
	for (uint32_t i = 0; i < R_RING; i++)
		rx_give(r, i, r->rx[i]);
	r->rx_next = r->tx_head = r->tx_tail = 0;
	/* C+ 6.33: the addresses of the rings count only when the rings are enabled. */
	io_out16(r->ports + R_CPCR, CPCR_TX | CPCR_RX | CPCR_MULRW);
	io_out32(r->ports + R_RDSAR, (uint32_t)dma_addr(r->rx_desc));
	io_out32(r->ports + R_RDSAR + 4, 0);
	io_out32(r->ports + R_TNPDS, (uint32_t)dma_addr(r->tx_desc));
	io_out32(r->ports + R_TNPDS + 4, 0);
	io_out8(r->ports + R_EARLY, EARLY_USUAL);
	io_wmb();
	io_out8(r->ports + R_CMD, CMD_RE | CMD_TE);
	configure(r);
}

static void give(struct rtl8139 *r)
{
	for (uint32_t i = 0; i < R_RING; i++)
		pkt_free(r->rx[i]);
}

static const char *take(struct rtl8139 *r)
{
	r->rx_desc = alloc(R_RING * sizeof *r->rx_desc, 1024);
	r->tx_desc = alloc(R_RING * sizeof *r->tx_desc, 1024);
	if (!r->rx_desc || !r->tx_desc)
		return "no memory";
	for (uint32_t i = 0; i < R_RING; i++) {
		struct pkt *p = pkt_alloc(r->nic.pool);
		if (!p) {
			while (i--)
				pkt_free(r->rx[i]);
			return "too few packets for the receive ring";
		}
		pkt_lend(p);
		r->rx[i] = p;
	}
	return NULL;
}

const struct rtl8139_mode rtl8139_plus = {
        .ops = {.rx = plus_rx,
                .tx = plus_tx,
                .poll = rtl8139_poll,
                .arm = rtl8139_arm,
                .stop = rtl8139_stop,
                .filter = rtl8139_filter,
                .report = rtl8139_report},
        .take = take,
        .start = start,
        .give = give,
        .reclaim = reclaim,
        .waiting = waiting,
        .configure = configure,
};
