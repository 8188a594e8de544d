/* Partial packets (kernel/lib/pkt.h) of the 8254x driver: the card completes checksums and cuts
 * super-segments of TCP over IPv4. Sections: see e1000.c.
 *
 * Each packet has a context descriptor of its own (3.3.6), then data descriptors (3.3.7), one a
 * piece, or several for a large one. Each slot has a packet, so that reclaiming needs no test: that
 * of a descriptor without data of its own is an empty one from the pool. e1000_tx writes only two
 * words of a descriptor, so it is used again when this file has written all words of the whole ring
 * once more (`dirty`).
 *
 * Errata, as drivers of other systems know them: a descriptor may be written back before its data
 * was read, if it is the last one of a packet in one piece that is segmented, or of a frame that
 * follows a segmented packet. There the last four bytes get a descriptor of their own, so that the
 * one that is written back early covers bytes that the card has read. The chips before the 82571
 * ask for room for four segments before they read a buffer, whatever its length, so none is longer
 * than that (BUFFER_MOST, with segments of 512 bytes and more).
 *
 * Left out on purpose: segmentation of TCP over IPv6, which net/offload does; marks of congestion
 * (CWR would be in all segments). */
#include "drivers/net/e1000/e1000.h"

#include "drivers/net/wire.h"
#include "kernel/lib/bytes.h"
#include "kernel/seam/panic.h"

#define MASK        (E1000_RING - 1)
#define TAIL        4u /* bytes in a descriptor of their own */
#define BUFFER_MOST ((uint32_t)PKT_ROOM)

/* Makes a packet one that does not count as a frame: it is there for its descriptor. */
static struct pkt *uncounted(struct pkt *p)
{
	p->flags = PKT_PARTIAL;
	p->next = NULL;
	p->segments = 0;
	return p;
}

/* Fills the next descriptor. Its slot owns p. */
static void put(struct e1000 *e, uint32_t at, uint32_t cmd, uint32_t last, struct pkt *p)
{
	struct e1000_tx_desc *d = &e->tx->desc[e->tx_tail & MASK];
	d->addr = at;
	d->addr_high = 0;
	d->cmd = cmd;
	d->state = last;
	e->tx->slot[e->tx_tail & MASK].p = p;
	e->tx_tail++;
	e->dirty -= e->dirty != 0;
}

/* Ends the burst that begins at slot `first`: the card writes its last descriptor back. A burst
 * does not go beyond the end of the ring, so one that would becomes two. */
static void end_burst(struct e1000 *e, uint32_t first)
{
	uint32_t wrap = (first | MASK) + 1;
	if ((int32_t)(e->tx_tail - wrap) > 0) {
		e->tx->desc[MASK].cmd |= TXD_RS;
		e->tx->slot[first & MASK].end = wrap;
		first = wrap;
	}
	e->tx->desc[(e->tx_tail - 1) & MASK].cmd |= TXD_RS;
	e->tx->slot[first & MASK].end = e->tx_tail;
}

/* Writes a context: what the card is to do with the bytes that follow. Its address words hold the
 * checksum of IPv4, which a super-segment alone needs, and that of the transport header. */
static void put_context(struct e1000 *e, const struct pkt *p, struct pkt *empty)
{
	uint32_t sum = p->l4 | (uint32_t)(p->l4 + p->l4_len) << 8, ip = 0, last = 0;
	uint32_t cmd = TXD_DEXT | (p->l4_len == 16 ? TXD_C_TCP : 0);
	if (p->segment) {
		uint32_t l3 = wire_l3(p);
		uint32_t header = p->l4 + (uint32_t)(p->data[p->l4 + 12] >> 4) * 4;
		ip = l3 | (l3 + 10) << 8 | (p->l4 - 1u) << 16;
		cmd |= TXD_TSE | TXD_C_IP4 | (p->total - header);
		last = TXD_HDR(header) | TXD_MSS((uint32_t)p->segment);
	}
	put(e, ip, cmd, last, uncounted(empty));
	e->tx->desc[(e->tx_tail - 1) & MASK].addr_high = sum;
	e->dirty = E1000_RING;
}

/* The headers of a super-segment as the card wants them (3.5.4): no total length, no IPv4 checksum,
 * and a partial checksum without the length. */
static void prepare_segments(struct pkt *p)
{
	uint32_t l3 = wire_l3(p);
	uint8_t *field = p->data + p->l4 + p->l4_len;
	uint32_t sum = load16(field) + (uint32_t)(uint16_t)~swap16((uint16_t)(p->total - p->l4));
	store16(field, (uint16_t)(sum + (sum >> 16)));
	store16(p->data + l3 + 2, 0);
	store16(p->data + l3 + 10, 0);
}

/* Fills data descriptors for one piece. All but the last have an empty packet of the pool. */
static void put_piece(struct e1000 *e, uint32_t at, uint32_t len, uint32_t cmd, uint32_t last,
                      struct pkt *p)
{
	for (; len > BUFFER_MOST; at += BUFFER_MOST, len -= BUFFER_MOST) {
		struct pkt *empty = pkt_alloc(e->nic.pool);
		ASSERT(empty); /* send_one has counted them */
		put(e, at, (cmd & ~TXD_EOP) | BUFFER_MOST, last, uncounted(empty));
	}
	put(e, at, cmd | len, last, p);
}

/* Fills data descriptors for a packet and its pieces. With `tail`, the last bytes get one of their
 * own, whose slot owns that empty packet. */
static void put_pieces(struct e1000 *e, struct pkt *p, uint32_t cmd, uint32_t last,
                       struct pkt *tail)
{
	bool pieces = p->flags & PKT_PARTIAL;
	struct pkt *first = p, *next;
	for (; p; p = next) {
		next = pieces ? p->next : NULL;
		if (p != first)
			uncounted(p);
		uint32_t at = (uint32_t)dma_addr(p->data), len = p->len;
		if (next || !tail) {
			put_piece(e, at, len, cmd | (next ? 0 : TXD_EOP), last, p);
			continue;
		}
		put_piece(e, at, len - TAIL, cmd, last, p);
		put(e, at + len - TAIL, cmd | TAIL | TXD_EOP, last, uncounted(tail));
	}
}

/* The number of pieces of a packet. *more is how many descriptors they need beside one each, at
 * most. */
static uint32_t pieces_of(const struct pkt *p, uint32_t *more)
{
	bool partial = p->flags & PKT_PARTIAL;
	uint32_t n = 0;
	*more = 0;
	for (; p; p = partial ? p->next : NULL, n++)
		for (uint32_t len = p->len; len > BUFFER_MOST; len -= BUFFER_MOST)
			(*more)++;
	return n;
}

/* Drops a packet for whose descriptors the pool has no empty ones. False when it can wait: the ring
 * has packets, which come back to the pool. */
static bool drop_or_wait(struct e1000 *e, struct pkt *p)
{
	if (e->tx_head != e->tx_tail)
		return false;
	e->nic.count.tx_errors += pkt_segments(p);
	pkt_free_all(p);
	return true;
}

/* Hands one packet to the card, or drops it. False when it must wait for room in the ring or the
 * pool. */
static bool send_one(struct e1000 *e, struct pkt *p)
{
	struct pool *pool = e->nic.pool;
	bool partial = p->flags & PKT_PARTIAL, segmented = partial && p->segment;
	bool pieces = partial && p->next, tailed = !pieces && (segmented || e->after_tso);
	uint32_t first = e->tx_tail, last = 0, cmd = TXD_IFCS;
	struct pkt *context = NULL, *tail = NULL;
	uint32_t more, n = pieces_of(p, &more);
	if (E1000_RING - 1 - (first - e->tx_head) < n + more + 2)
		return false;
	if (UNLIKELY(pool->n_free < (uint32_t)partial + tailed + more))
		return drop_or_wait(e, p);
	if (p->len < WIRE_MIN && !pieces && !e1000_pad_or_drop(e, p))
		return true;
	if (tailed)
		tail = pkt_alloc(pool);
	if (partial && (context = pkt_alloc(pool)) != NULL) {
		put_context(e, p, context);
		if (segmented)
			prepare_segments(p);
		cmd |= TXD_DEXT | TXD_DATA | (segmented ? TXD_TSE : 0);
		last = TXD_O_TXSM | (segmented ? TXD_O_IXSM : 0);
	}
	put_pieces(e, p, cmd, last, tail);
	end_burst(e, first);
	e->after_tso = segmented;
	return true;
}

uint32_t e1000_offload_tx(struct nic *nic, struct pkt **burst, uint32_t n)
{
	struct e1000 *e = (struct e1000 *)nic;
	e1000_reclaim(e);
	if (UNLIKELY(!nic->carrier.up))
		return e1000_no_carrier(e, burst, n);
	uint32_t old = e->tx_tail, done = 0;
	while (done < n && send_one(e, burst[done]))
		done++;
	e->tx_refused = done < n;
	if (e->tx_tail != old) {
		io_wmb();
		e1000_write(e, E1000_TDT, e->tx_tail & MASK);
	}
	return done;
}
