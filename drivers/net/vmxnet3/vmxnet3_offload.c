/* Partial packets (kernel/lib/pkt.h) of the vmxnet3 driver: the device completes checksums and cuts
 * super-segments of TCP. Descriptors: vmxnet3_reg.h.
 *
 * A packet has a descriptor for each piece, and at most V_SEGMENTS_MOST of them, so that a
 * super-segment of 64 KB leaves as two or three packets of whole segments. Each has headers of its
 * own; only these are copied. Each slot has a packet, so that reclaiming needs no test: the piece
 * that ends in its descriptor, or an empty packet from the pool. The first descriptor of a packet
 * is given to the device last.
 *
 * Left out on purpose: marks of congestion (CWR would be in all segments); super-segments of UDP,
 * which revision 1 of the interface does not have. */
#include "drivers/net/vmxnet3/vmxnet3.h"

#include "drivers/net/wire.h"
#include "kernel/lib/bytes.h"
#include "kernel/seam/panic.h"

#define MASK            (V_TX_RING - 1)
#define V_FRAME_MOST    16u /* descriptors of a packet, … */
#define V_SEGMENTS_MOST 24u /* … and of one to be cut, as VMware's own driver keeps to */
#define IP6_HEADER      40u
#define IP4_LENGTH      2u /* offsets in the headers */
#define IP4_ID          4u
#define IP4_SUM         10u
#define IP6_LENGTH      4u
#define TCP_SEQ         4u
#define TCP_OFFSET      12u
#define TCP_FLAGS       13u
#define TCP_FIN_PSH     0x09u
#define TCP_CWR         0x80u

/* A place in the pieces of a packet. */
struct place {
	struct pkt *piece;
	uint32_t at;
};

/* What is to be sent. */
struct job {
	struct place from; /* what is not yet in a descriptor */
	uint32_t left;     /* bytes of it, but for the headers of a packet to be cut */
	uint32_t header;   /* bytes of all headers; 0: the packet leaves whole */
	uint32_t segment, frames, most;
	uint32_t own; /* 1: the next packet has headers of its own, which are no part of `from` */
	uint32_t l3, l4;
	uint32_t tag; /* TX_TAG and the tag, or 0 */
	bool tso6;
};

/* Completes the checksum of a packet that will be padded: QEMU's device counts the padding as
 * data. */
static void complete_sum(struct pkt *p)
{
	uint32_t sum = 0, n = p->len - p->l4;
	uint8_t *from = p->data + p->l4;
	for (uint32_t i = 0; i + 1 < n; i += 2)
		sum += load16(from + i);
	if (n & 1)
		sum += from[n - 1];
	sum = (sum & 0xffff) + (sum >> 16);
	uint16_t field = (uint16_t) ~(sum + (sum >> 16));
	store16(from + p->l4_len, field ? field : 0xffff); /* RFC 768: 0 means that there is none */
	p->flags &= (uint16_t)~PKT_PARTIAL;
}

/* --- how a packet is divided ----------------------------------------------------------------- */

/* Bytes from a place on that n descriptors reach. */
static uint32_t reach(struct place from, uint32_t n)
{
	uint32_t bytes = 0;
	for (; from.piece && n; n--) {
		bytes += from.piece->len - from.at;
		from = (struct place){from.piece->next, 0};
	}
	return bytes;
}

/* The bytes that leave next in one packet: the rest, or whole segments, so many that more than one
 * is left. 0: there are too many pieces. */
static uint32_t next_bytes(const struct job *j)
{
	uint32_t there = reach(j->from, j->most - j->own), front = j->own ? 0 : j->header;
	uint32_t bytes = there > front ? min_u32(there - front, j->left) : 0;
	if (bytes == j->left || j->segment == 0)
		return bytes == j->left ? bytes : 0;
	bytes -= bytes % j->segment; /* a division for 40 KB, not for a frame */
	if (bytes && j->left - bytes <= j->segment)
		bytes -= j->segment;
	return bytes;
}

/* Moves a place on. The pieces have so many bytes. Gives how many descriptors these need. */
static uint32_t skip(struct place *from, uint32_t bytes)
{
	uint32_t n = 0;
	for (; from->piece; n++) {
		uint32_t here = from->piece->len - from->at;
		if (here > bytes) {
			from->at += bytes;
			return n + (bytes != 0);
		}
		bytes -= here;
		*from = (struct place){from->piece->next, 0};
	}
	return n;
}

/* Counts the descriptors that a packet needs, and the packets from the pool. False when it cannot
 * be sent: pieces without bytes, or too many. */
static bool plan(struct job j, uint32_t *descriptors, uint32_t *fresh)
{
	*descriptors = *fresh = 0;
	for (const struct pkt *p = j.from.piece; p; p = p->next)
		if (p->len == 0)
			return false;
	while (j.left) {
		uint32_t bytes = next_bytes(&j);
		if (bytes == 0)
			return false;
		*descriptors += skip(&j.from, bytes + (j.own ? 0 : j.header)) + j.own;
		*fresh += j.own + (j.from.at != 0);
		j.left -= bytes;
		j.own = 1;
	}
	return true;
}

/* --- descriptors ------------------------------------------------------------------------------ */

/* Makes a packet one that stands for n frames in the counters. */
static struct pkt *counted(struct pkt *p, uint32_t n)
{
	p->flags = PKT_PARTIAL;
	p->next = NULL;
	p->segments = (uint16_t)n;
	return p;
}

/* Fills the next descriptor and gives it to the device, but for the first one of a packet. Its slot
 * owns p. */
static void put(struct vmxnet3 *v, const uint8_t *data, uint32_t len, struct pkt *p, bool first)
{
	uint32_t i = v->tx_tail & MASK, mine = v->tx_tail & V_TX_RING ? 0 : TX_GEN;
	struct vmx_desc *d = &v->tx_desc[i];
	d->addr = (uint32_t)dma_addr(data);
	d->more = 0;
	d->size = len | (first ? mine ^ TX_GEN : mine);
	v->tx[i] = p;
	v->tx_tail++;
}

/* Fills descriptors for n bytes from j->from on, which it moves there. With `first` the first of
 * them begins a packet. Its slot counts as `frames`. */
static void put_bytes(struct vmxnet3 *v, struct job *j, uint32_t n, bool first, uint32_t frames)
{
	while (n) {
		struct pkt *p = j->from.piece, *next = p->next;
		uint32_t at = j->from.at, here = min_u32(p->len - at, n);
		bool ends = at + here == p->len;
		j->from = ends ? (struct place){next, 0} : (struct place){p, at + here};
		struct pkt *owner = ends ? p : pkt_alloc(v->nic.pool);
		put(v, p->data + at, here, owner ? counted(owner, frames) : NULL, first);
		n -= here;
		first = false;
		frames = 0;
	}
}

/* Ends a packet that begins at slot `first`: its last descriptor tells when it was sent, the first
 * one says what is to be done with it. */
static void give(struct vmxnet3 *v, uint32_t first, uint32_t size, uint32_t more)
{
	struct vmx_desc *d = &v->tx_desc[first & MASK];
	v->tx_desc[(v->tx_tail - 1) & MASK].more = TX_LAST | TX_TELL;
	d->more |= more;
	io_wmb();
	d->size = (d->size | size) ^ TX_GEN;
}

/* --- super-segments ----------------------------------------------------------------------------
 */

/* Takes the outermost VLAN tag out of a packet to be cut: the device puts it into each segment.
 * Drivers of other systems have it do so, and with a tag in the frame it may not find the headers.
 */
static void take_tag(struct job *j)
{
	struct pkt *p = j->from.piece;
	uint8_t *frame = p->data;
	if (j->l3 == WIRE_L3)
		return;
	j->tag = TX_TAG(swap16(load16(frame + WIRE_L3)));
	memmove(frame + PKT_TAG, frame, 12);
	p->data += PKT_TAG;
	p->len -= PKT_TAG;
	j->l3 -= PKT_TAG;
	j->l4 -= PKT_TAG;
	j->header -= PKT_TAG;
}

/* Takes the length out of a partial checksum: the device adds that of each segment. */
static void forget_length(struct pkt *p)
{
	uint8_t *field = p->data + p->l4 + p->l4_len;
	uint32_t sum = load16(field) + (uint32_t)(uint16_t)~swap16((uint16_t)(p->total - p->l4));
	store16(field, (uint16_t)(sum + (sum >> 16)));
}

/* The headers of what follows `bytes` of payload in n segments, whose headers are h: a packet of
 * their own. The pool has one, with room for them. */
static struct pkt *headers_behind(struct vmxnet3 *v, const struct job *j, const uint8_t *h,
                                  uint32_t bytes, uint32_t n)
{
	struct pkt *p = pkt_alloc(v->nic.pool);
	uint8_t *to = p ? pkt_put(p, j->header) : NULL;
	ASSERT(to); /* plan() has counted it, and prepare() has seen to the room */
	memcpy(to, h, j->header);
	uint8_t *tcp = to + j->l4, *id = to + j->l3 + IP4_ID;
	store32(tcp + TCP_SEQ, swap32(swap32(load32(tcp + TCP_SEQ)) + bytes));
	tcp[TCP_FLAGS] &= (uint8_t)~TCP_CWR;
	if (!j->tso6)
		store16(id, swap16((uint16_t)(swap16(load16(id)) + n)));
	return p;
}

/* Headers of a packet to be cut, as the device wants them: the length of this packet, no checksum
 * of IPv4, and what is of the last segment only there. */
static void finish_headers(const struct job *j, uint8_t *h, uint32_t bytes)
{
	uint32_t length = j->header + bytes - j->l3;
	if (bytes != j->left)
		h[j->l4 + TCP_FLAGS] &= (uint8_t)~TCP_FIN_PSH;
	if (j->tso6) {
		store16(h + j->l3 + IP6_LENGTH, swap16((uint16_t)(length - IP6_HEADER)));
	} else {
		store16(h + j->l3 + IP4_LENGTH, swap16((uint16_t)length));
		store16(h + j->l3 + IP4_SUM, 0);
	}
}

/* Fills the descriptors of a packet to be cut, as plan() has it. */
static void put_segments(struct vmxnet3 *v, struct job *j)
{
	struct pkt *headers = NULL; /* of the next packet; NULL: in the first piece */
	forget_length(j->from.piece);
	take_tag(j);
	while (j->left) {
		uint8_t *h = headers ? headers->data : j->from.piece->data;
		uint32_t first = v->tx_tail, bytes = next_bytes(j);
		bool last = bytes == j->left;
		uint32_t n = last ? j->frames : bytes / j->segment;
		struct pkt *behind = last ? NULL : headers_behind(v, j, h, bytes, n);
		finish_headers(j, h, bytes);
		if (headers) {
			put(v, h, j->header, counted(headers, n), true);
			put_bytes(v, j, bytes, false, 0);
		} else {
			put_bytes(v, j, j->header + bytes, true, n);
		}
		give(v, first, TX_FIELD(j->segment), TX_CUT | j->tag | j->header);
		j->left -= bytes;
		j->frames -= n;
		j->own = 1;
		headers = behind;
	}
}

/* --- sending -----------------------------------------------------------------------------------
 */

/* Says what is to be done with a packet. False when its headers or its length are not those of a
 * packet that the device can send. */
static bool prepare(struct pkt *p, struct job *j)
{
	bool partial = p->flags & PKT_PARTIAL;
	*j = (struct job){.from = {p, 0},
	                  .left = partial ? p->total : p->len,
	                  .frames = 1,
	                  .most = V_FRAME_MOST,
	                  .l4 = p->l4};
	uint32_t header = 0;
	if (partial && p->segment && p->l4 + TCP_OFFSET < p->len)
		header = p->l4 + (uint32_t)(p->data[p->l4 + TCP_OFFSET] >> 4) * 4;
	if (header == 0 || (header <= j->left && j->left - header <= p->segment))
		return j->left <= NIC_FRAME_MAX;
	if (header < p->l4 + TCP_FLAGS + 1u || header > p->len || header > TX_OFFSET_MOST ||
	    p->segment > TX_SEGMENT_MOST)
		return false;
	j->header = header;
	j->left -= header;
	j->segment = p->segment;
	j->frames = p->segments;
	j->most = V_SEGMENTS_MOST;
	j->l3 = wire_l3(p);
	j->tso6 = p->flags & PKT_TSO6;
	return true;
}

static bool drop(struct vmxnet3 *v, struct pkt *p)
{
	v->nic.count.tx_errors += pkt_segments(p);
	pkt_free_all(p);
	return true;
}

/* Makes a frame in one piece as long as it has to be. False when it cannot be sent; then it was
 * dropped. */
static bool fit(struct vmxnet3 *v, struct pkt *p)
{
	if (p->flags & PKT_PARTIAL && p->len < WIRE_MIN)
		complete_sum(p);
	return wire_fits(p) || wire_pad(&v->nic, p);
}

/* Hands one packet to the device, or drops it. False when it must wait for room in the ring or the
 * pool. */
static bool send_one(struct vmxnet3 *v, struct pkt *p)
{
	struct job j;
	uint32_t descriptors, fresh, first = v->tx_tail,
	                             room = V_TX_RING - 1 - (first - v->tx_head);
	if (room == 0)
		return false;
	if (!(p->flags & PKT_PARTIAL) || (!p->next && p->len < WIRE_MIN)) {
		if (!fit(v, p))
			return true;
		p->next = NULL; /* what is not partial may have any */
	}
	if (!prepare(p, &j) || !plan(j, &descriptors, &fresh))
		return drop(v, p);
	if (room < descriptors)
		return false;
	/* What the ring has comes back to the pool. */
	if (UNLIKELY(v->nic.pool->n_free < fresh))
		return first == v->tx_head ? drop(v, p) : false;
	if (j.header) {
		put_segments(v, &j);
		return true;
	}
	bool partial = p->flags & PKT_PARTIAL;
	uint32_t field = j.l4 + p->l4_len;
	put_bytes(v, &j, j.left, true, 1);
	give(v, first, partial ? TX_FIELD(field) : 0, partial ? TX_SUM | j.l4 : 0);
	return true;
}

uint32_t vmxnet3_offload_tx(struct nic *nic, struct pkt **burst, uint32_t n)
{
	struct vmxnet3 *v = (struct vmxnet3 *)nic;
	vmxnet3_reclaim(v);
	if (UNLIKELY(!nic->carrier.up))
		return wire_no_carrier(nic, burst, n);
	uint32_t old = v->tx_tail, done = 0;
	while (done < n && send_one(v, burst[done]))
		done++;
	v->tx_refused = done < n;
	if (v->tx_tail != old)
		vmxnet3_kick(v);
	return done;
}
