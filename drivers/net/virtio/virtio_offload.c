/* Frames and partial packets (kernel/lib/pkt.h) of a virtio network card with offloads: see
 * virtio_net.h. Section numbers: VIRTIO 1.1.
 *
 * Receiving: a packet may take several buffers (5.1.6.4, merged buffers). The header stands in
 * front of the first; the others have data from their first byte. 5.1.6.4.1 wants all but the last
 * full. A packet of a device that leaves room is taken all the same, since the used entries say how
 * much is in each; an empty buffer is dropped with its packet. What the device wrote into the ring
 * is read once, because it may change it meanwhile. Sending: a packet in
 * pieces takes one slot, whose descriptor leads to a table with the descriptors of the pieces
 * (2.6.5.3). So slot i is descriptor i, as without offloads. */
#include "drivers/net/virtio/virtio_net.h"
#include "kernel/seam/panic.h"

/* What the device says about a received packet, from its header (5.1.6). */
struct said {
	uint16_t kind; /* flags without DATA_VALID, and the type in the upper byte */
	uint16_t size, start, offset, pieces;
};

ALWAYS_INLINE struct said read_header(const struct virtio_net *v, const struct pkt *p)
{
	const uint8_t *h = p->data - v->header;
	return (struct said){
	        .kind = (uint16_t)(load16(h) & ~VIRTIO_NET_DATA_VALID),
	        .size = load16(h + 4),
	        .start = load16(h + 6),
	        .offset = load16(h + 8),
	        .pieces = v->features & VIRTIO_NET_F_MRG_RXBUF ? load16(h + 10) : 1,
	};
}

/* The flags of a partial packet of that kind; 0 for one that was not negotiated. The mark of
 * congestion is in the TCP header too, and that one counts (offload_check). */
static uint16_t flags_of(const struct virtio_net *v, const struct said *s)
{
	if ((s->kind & 0xff) != VIRTIO_NET_NEEDS_CSUM || !(v->features & VIRTIO_NET_F_GUEST_CSUM))
		return 0;
	uint32_t type = s->kind >> 8;
	uint64_t need = 0;
	uint16_t flags = PKT_PARTIAL;
	switch (type & ~(uint32_t)VIRTIO_NET_GSO_ECN) {
	case VIRTIO_NET_GSO_NONE:
		return type ? 0 : PKT_PARTIAL;
	case VIRTIO_NET_GSO_TCP4:
		need = VIRTIO_NET_F_GUEST_TSO4;
		break;
	case VIRTIO_NET_GSO_TCP6:
		need = VIRTIO_NET_F_GUEST_TSO6;
		flags |= PKT_TSO6;
		break;
	case VIRTIO_NET_GSO_UDP_L4:
		need = type & VIRTIO_NET_GSO_ECN ? 0 : VIRTIO_NET_F_GUEST_USO4;
		flags |= PKT_USO;
		break;
	}
	if (type & VIRTIO_NET_GSO_ECN && !(v->features & VIRTIO_NET_F_GUEST_ECN))
		return 0;
	return v->features & need && s->size ? flags : 0;
}

/* True when `id` is the slot that is due at place `at`, whatever order the device keeps. */
ALWAYS_INLINE bool is_due(struct virtio_net *v, uint32_t at, uint32_t id)
{
	struct virtio_queue *q = &v->rx;
	if (LIKELY(id == q->order[at & q->last]) || virtio_net_exchange(q, at, q->posted, id))
		return true;
	v->nic.count.rx_errors++;
	virtio_net_broken(v, "received into a buffer it does not have");
	return false;
}

/* The device says that it wrote more into a buffer than there is room. */
static bool too_much(struct virtio_net *v)
{
	v->nic.count.rx_errors++;
	virtio_net_broken(v, "more bytes than a buffer has");
	return false;
}

/* Checks the used entries of a packet of n buffers from place `at` on. Sets len[] to the bytes in
 * the first PKT_PIECES of them, and *total to those of all; 0 when that is impossible. False when
 * the device broke the rules. */
static bool measure(struct virtio_net *v, uint32_t at, uint32_t n, uint32_t *len, uint32_t *total)
{
	struct virtio_queue *q = &v->rx;
	bool good = true;
	*total = 0;
	for (uint32_t k = 0; k < n; k++) {
		const volatile struct virtio_used *done = &q->ring.done[(at + k) & q->mask];
		uint32_t id = done->id, used = done->len, front = k == 0 ? v->header : 0;
		if (!is_due(v, at + k, id))
			return false;
		if (used > v->room + (k == 0 ? v->header : v->front))
			return too_much(v);
		good &= used > front;
		*total += used - front;
		if (k < PKT_PIECES)
			len[k] = used - front;
	}
	if (!good || *total < NIC_FRAME_MIN || *total > PKT_TOTAL_MAX)
		*total = 0;
	return true;
}

/* Takes the packet out of the slot at place `at`, which gets a fresh one. It has `len` bytes. */
static struct pkt *take(struct virtio_net *v, uint32_t at, uint32_t in_front, uint32_t len)
{
	struct virtio_queue *q = &v->rx;
	uint32_t id = q->order[at & q->last];
	struct pkt *p = q->slot[id], *fresh = pkt_alloc(v->nic.pool);
	ASSERT(fresh); /* rx_partial has counted them */
	pkt_filled(p, min_u32(len, v->room));
	p->data -= in_front;
	p->len = len;
	p->next = NULL;
	virtio_net_rx_place(v, id, fresh);
	return p;
}

/* Moves bytes of later pieces up until the first has NIC_HEADER_MAX bytes, or all. */
static void gather(struct pkt *p)
{
	while (p->next && p->len < NIC_HEADER_MAX) {
		struct pkt *piece = p->next;
		uint32_t n = min_u32(NIC_HEADER_MAX - p->len, piece->len);
		uint8_t *to = pkt_put(p, n);
		if (!to)
			return; /* not seen: a received packet has room */
		memcpy(to, piece->data, n);
		piece->data += n;
		piece->len -= n;
		if (piece->len == 0) {
			p->next = piece->next;
			pkt_free(piece);
		}
	}
}

/* The number of segments of a packet whose first `len` bytes lie in the packet `p`. */
static uint32_t segments_of(const struct said *s, const struct pkt *p, uint32_t len, uint32_t total)
{
	uint32_t header = s->start + 8u;
	if (s->kind >> 8 == 0)
		return 1;
	if (s->kind >> 8 != VIRTIO_NET_GSO_UDP_L4)
		header = s->start + 13u <= len ? s->start + (p->data[s->start + 12] >> 4) * 4u
		                               : s->start + 20u; /* RFC 9293, 3.1 */
	return header < total ? (total - header + s->size - 1) / s->size : 1;
}

/* Takes a packet that is not a plain frame in one buffer, at place `at`, where `left` used entries
 * wait. Adds it to *to, or drops it. Gives the number of its entries; 0 when the device broke the
 * rules. */
static __attribute__((noinline)) uint32_t
rx_partial(struct virtio_net *v, uint32_t at, uint32_t left, const struct said *s, struct pkt ***to)
{
	struct nic *nic = &v->nic;
	uint32_t n = s->pieces, total, len[PKT_PIECES];
	if (UNLIKELY(n == 0 || n > left)) {
		nic->count.rx_errors++;
		virtio_net_broken(v, "a packet in buffers that it does not have");
		return 0;
	}
	if (!measure(v, at, n, len, &total))
		return 0;
	uint16_t flags = flags_of(v, s);
	if (UNLIKELY(!flags || !total || n > PKT_PIECES)) {
		nic->count.rx_errors++;
		return n;
	}
	if (UNLIKELY(nic->pool->n_free < n)) {
		const struct pkt *p = v->rx.slot[v->rx.order[at & v->rx.last]];
		nic->count.rx_no_packet += segments_of(s, p, len[0], total);
		return n;
	}
	struct pkt *first = take(v, at, 0, len[0]), *last = first;
	for (uint32_t k = 1; k < n; k++, last = last->next)
		last->next = take(v, at + k, v->front, len[k]);
	first->flags = flags;
	first->total = total;
	first->segment = s->kind >> 8 ? s->size : 0;
	first->l4 = s->start;
	first->l4_len = s->offset;
	gather(first);
	*(*to)++ = first;
	return n;
}

uint32_t virtio_offload_rx(struct nic *nic, struct pkt **burst, uint32_t max)
{
	struct virtio_net *v = virtio_net_card(nic);
	struct virtio_queue *q = &v->rx;
	struct pkt **to = burst, **end = burst + min_u32(max, NIC_BURST);
	if (UNLIKELY(v->state != VIRTIO_RUNNING))
		return 0;
	uint32_t left = virtio_net_rx_waiting(v, q), at = q->taken;
	if (left == 0)
		return 0;
	virtio_net_rx_begin(v, q);
	while (left > 0 && to != end) {
		uint32_t id = q->ring.done[at & q->mask].id;
		uint32_t len = q->ring.done[at & q->mask].len - v->header, took = 1;
		if (UNLIKELY(!is_due(v, at, id)))
			return (uint32_t)(to - burst);
		struct pkt *p = q->slot[id], *fresh;
		struct said s = read_header(v, p);
		bool partial = s.kind != 0 || s.pieces != 1;
		if (to != burst && partial != (((*burst)->flags & PKT_PARTIAL) != 0))
			break; /* a burst is of one kind */
		if (partial) {
			took = rx_partial(v, at, left, &s, &to);
			if (UNLIKELY(took == 0))
				return (uint32_t)(to - burst);
		} else if (UNLIKELY(len - NIC_FRAME_MIN > NIC_FRAME_MAX - NIC_FRAME_MIN)) {
			if (len + v->header > v->room + v->header) {
				too_much(v);
				return (uint32_t)(to - burst);
			}
			nic->count.rx_errors++;
		} else if (UNLIKELY(!(fresh = pkt_alloc(nic->pool)))) {
			nic->count.rx_no_packet++;
		} else {
			pkt_filled(p, len);
			*to++ = p;
			virtio_net_rx_place(v, id, fresh);
		}
		at += took;
		left -= took;
	}
	q->taken = (uint16_t)at;
	q->posted = (uint16_t)(at + q->slots);
	virtio_net_publish(v, q, VIRTIO_NET_RX, v->events);
	return (uint32_t)(to - burst);
}

/* Writes the header of a partial packet in front of it (5.1.6.2). hdr_len is a hint. */
static void write_header(struct pkt *p)
{
	uint8_t *h = p->data - VIRTIO_NET_HEADER;
	uint32_t type = VIRTIO_NET_GSO_NONE, header = 0;
	if (p->segment && p->flags & PKT_USO) {
		type = VIRTIO_NET_GSO_UDP_L4;
		header = p->l4 + 8u; /* RFC 768 */
	} else if (p->segment) {
		type = p->flags & PKT_TSO6 ? VIRTIO_NET_GSO_TCP6 : VIRTIO_NET_GSO_TCP4;
		type |= p->flags & PKT_ECN ? VIRTIO_NET_GSO_ECN : 0;
		header = p->l4 + (uint32_t)(p->data[p->l4 + 12] >> 4) * 4; /* RFC 9293, 3.1 */
	}
	store16(h, (uint16_t)(VIRTIO_NET_NEEDS_CSUM | type << 8));
	store16(h + 2, (uint16_t)header);
	store16(h + 4, p->segment);
	store16(h + 6, p->l4);
	store16(h + 8, p->l4_len);
	store16(h + 10, 0);
}

/* Fills slot `id` with a packet in pieces. False when it has too many. */
static bool tx_table(struct virtio_net *v, uint32_t id, const struct pkt *p)
{
	struct virtio_desc *d = v->table[id];
	uint32_t n = 0, front = v->front;
	for (; p; p = p->next, n++, front = 0) {
		if (n == PKT_PIECES)
			return false;
		d[n] = (struct virtio_desc){
		        .addr = (uint32_t)dma_addr(p->data) - front,
		        .len = p->len + front,
		        .flags = VIRTIO_DESC_NEXT,
		        .next = (uint16_t)(n + 1),
		};
	}
	d[n - 1].flags = 0;
	v->tx.data[id].addr = (uint32_t)dma_addr(d);
	v->tx.data[id].len = n * (uint32_t)sizeof *d;
	v->tx.data[id].flags = VIRTIO_DESC_INDIRECT;
	return true;
}

/* Fills slot `id` with a frame or a partial packet. False when it cannot be sent. */
ALWAYS_INLINE bool tx_fill(struct virtio_net *v, uint32_t id, struct pkt *p)
{
	bool pieces = p->flags & PKT_PARTIAL && p->next;
	if (UNLIKELY(p->len < VIRTIO_NET_PAD && !pieces && !virtio_net_pad(p)) ||
	    UNLIKELY(p->data < p->bytes + VIRTIO_NET_HEADER))
		return false;
	uint8_t *at = p->data;
	uint32_t len = p->len;
	if (p->flags & PKT_PARTIAL) {
		write_header(p);
		if (pieces)
			return tx_table(v, id, p);
	} else {
		store32(at - 12, 0);
		store32(at - 8, 0);
		store32(at - 4, 0);
	}
	struct virtio_desc *d = &v->tx.data[id];
	d->addr = (uint32_t)dma_addr(at) - v->front;
	d->len = len + v->front;
	d->flags = 0;
	return true;
}

uint32_t virtio_offload_tx(struct nic *nic, struct pkt **burst, uint32_t n)
{
	struct virtio_net *v = virtio_net_card(nic);
	struct virtio_queue *q = &v->tx;
	virtio_net_tx_begin(v, true);
	if (UNLIKELY(!nic->carrier.up))
		return virtio_net_drop(&nic->count.tx_link_down, burst, n);
	uint32_t posted = q->posted;
	struct pkt **from = burst, **end = burst + n;
	for (; from != end; from++) {
		uint32_t id = posted & q->last;
		if (UNLIKELY(q->slot[id] != NULL))
			break; /* full */
		if (UNLIKELY(!tx_fill(v, id, *from))) {
			virtio_net_drop(&nic->count.tx_errors, from, 1);
			continue;
		}
		q->slot[id] = *from;
		posted++; /* the place in the ring holds the slot's number already */
	}
	if (LIKELY((uint16_t)posted != q->posted)) {
		q->posted = (uint16_t)posted;
		virtio_net_publish(v, q, VIRTIO_NET_TX, v->events);
	}
	v->tx_refused = from != end;
	return (uint32_t)(from - burst);
}
