/* Partial packets become plain frames. See offload.h. */
#include "net/offload/offload.h"

#include "net/lib/csum.h"

/* Adds the bytes from the transport header on to the checksum, which was partial. A sum of zero is
 * sent as all ones by UDP (RFC 768). */
static void finish_sum(struct pkt *p)
{
	uint8_t *field = p->data + p->l4 + p->l4_len;
	uint16_t sum = (uint16_t)~csum_sum(p->data + p->l4, p->len - p->l4);
	store16(field, sum == 0 && p->l4_len == OFFLOAD_SUM_UDP ? 0xffff : sum);
	p->flags &= (uint16_t) ~(PKT_PARTIAL | PKT_TSO6 | PKT_ECN | PKT_USO);
}

void offload_trim(struct pkt *p, uint32_t n)
{
	p->total = n;
	for (; n > p->len; p = p->next)
		n -= p->len;
	struct pkt *rest = p->next;
	p->next = NULL;
	pkt_trim(p, n);
	while (rest) {
		struct pkt *piece = rest;
		rest = piece->next;
		pkt_free(piece);
	}
}

/* Takes n bytes behind the header from the pieces of p to `to`. p stays a super-segment: the header
 * moves up to the bytes that are left. */
static void take_bytes(struct pkt *p, uint32_t header, uint8_t *to, uint32_t n)
{
	uint32_t part = min_u32(n, p->len - header);
	p->total -= n;
	memcpy(to, p->data + header, part);
	memmove(p->data + part, p->data, header);
	p->data += part;
	p->len -= part;
	while ((n -= part) > 0) {
		struct pkt *piece = p->next;
		to += part;
		part = min_u32(n, piece->len);
		memcpy(to, piece->data, part);
		piece->data += part;
		piece->len -= part;
		if (piece->len == 0) {
			p->next = piece->next;
			pkt_free(piece);
		}
	}
}

/* Changes the lengths in the headers of a segment, and in the partial checksum, which has that of
 * the pseudo header alone. `was` and `is` are bytes from the transport header on. The header of
 * IPv4 gets its identification moved by `further`. */
static void set_lengths(struct pkt *p, uint32_t was, uint32_t is, uint32_t further)
{
	uint8_t *field = p->data + p->l4 + p->l4_len;
	uint16_t delta = csum_delta16(swap16((uint16_t)was), swap16((uint16_t)is));
	store16(field, csum_plus(load16(field), delta));
	if (p->flags & PKT_USO)
		((struct udp_hdr *)(p->data + p->l4))->len = be16_of((uint16_t)is);
	uint32_t l3 = offload_l3(p);
	if (p->flags & PKT_TSO6) {
		struct ip6_hdr *h = (struct ip6_hdr *)(p->data + l3);
		h->len = be16_of((uint16_t)(be16_get(h->len) - was + is));
		return;
	}
	struct ip4_hdr *h = (struct ip4_hdr *)(p->data + l3);
	h->len = be16_of((uint16_t)(be16_get(h->len) - was + is));
	h->id = be16_of((uint16_t)(be16_get(h->id) + further));
	h->sum = be16_of(0);
	h->sum = be16_from_raw((uint16_t)~csum_sum(h, p->l4 - l3));
}

/* A packet with the header of a super-segment and room for n bytes behind it, which *to is set to.
 * NULL when the pool is empty. */
static struct pkt *like(struct pool *pool, const struct pkt *p, uint32_t header, uint32_t n,
                        uint8_t **to)
{
	struct pkt *f = pkt_alloc(pool);
	uint8_t *at = f ? pkt_put(f, header + n) : NULL;
	if (!at) {
		if (f) /* not seen: offload_check bounds a segment */
			pkt_free(f);
		return NULL;
	}
	memcpy(at, p->data, header);
	*to = at + header;
	f->next = NULL;
	f->iface = p->iface;
	f->l4 = p->l4;
	f->l4_len = p->l4_len;
	f->flags = p->flags & (uint16_t)~PKT_UNTAGGED;
	f->total = header + n;
	f->segment = 0;
	f->segments = 1;
	return f;
}

/* Sets the flags of TCP of two packets that were one, n bytes of payload apart. */
static void part_tcp(struct pkt *first, struct pkt *rest, uint32_t n)
{
	rest->flags &= (uint16_t)~PKT_ECN;
	if (first->flags & PKT_USO)
		return;
	struct tcp_hdr *tcp = (struct tcp_hdr *)(rest->data + rest->l4);
	((struct tcp_hdr *)(first->data + first->l4))->flags &= (uint8_t) ~(TCP_FIN | TCP_PSH);
	tcp->seq = be32_of(be32_get(tcp->seq) + n);
	tcp->flags &= (uint8_t)~TCP_CWR;
}

/* Counts a segment less. One segment is no super-segment. */
static void one_less(struct pkt *p)
{
	if (--p->segments > 1)
		return;
	p->segment = 0;
	p->flags &= (uint16_t) ~(PKT_TSO6 | PKT_ECN | PKT_USO);
}

/* Cuts the first segment off. NULL when the pool is empty. */
static struct pkt *cut(struct pool *pool, struct pkt *p)
{
	uint32_t header = offload_header(p), was = p->total - p->l4, n = p->segment;
	uint8_t *to;
	struct pkt *f = like(pool, p, header, n, &to);
	if (!f)
		return NULL;
	take_bytes(p, header, to, n);
	part_tcp(f, p, n);
	set_lengths(f, was, header - p->l4 + n, 0);
	finish_sum(f);
	set_lengths(p, was, was - n, 1);
	one_less(p);
	return f;
}

/* Copies the bytes behind the first `at` ones of a packet's pieces to `to`. */
static void copy_from(const struct pkt *p, uint32_t at, uint8_t *to)
{
	for (; p; p = p->next) {
		uint32_t skip = min_u32(at, p->len);
		memcpy(to, p->data + skip, p->len - skip);
		to += p->len - skip;
		at -= skip;
	}
}

struct pkt *offload_last(struct pool *pool, struct pkt *p)
{
	uint32_t header = offload_header(p), was = p->total - p->l4, n = offload_last_bytes(p);
	uint8_t *to;
	struct pkt *f = like(pool, p, header, n, &to);
	if (!f)
		return NULL;
	copy_from(p, p->total - n, to);
	offload_trim(p, p->total - n);
	part_tcp(p, f, p->total - header);
	set_lengths(f, was, header - p->l4 + n, p->segments - 1u);
	f->flags &= (uint16_t) ~(PKT_TSO6 | PKT_USO);
	set_lengths(p, was, was - n, 0);
	one_less(p);
	return f;
}

/* Moves what was cut at the front back to the place of a received frame: there is room behind it
 * then, for instance to pad it. */
static struct pkt *to_front(struct pkt *p)
{
	uint8_t *front = p->bytes + PKT_HEADROOM;
	if (p->data > front) {
		memmove(front, p->data, p->len);
		p->data = front;
		p->flags &= (uint16_t)~PKT_UNTAGGED;
	}
	return p;
}

/* All bytes of a packet that is no super-segment any more, in one piece. */
static struct pkt *flatten(struct pool *pool, struct pkt *p)
{
	if (!p->next)
		return to_front(p);
	struct pkt *f = pkt_alloc(pool);
	uint8_t *to = f ? pkt_put(f, p->total) : NULL;
	if (!to) {
		if (f) /* not seen: offload_check bounds a frame */
			pkt_free(f);
		return NULL;
	}
	copy_from(p, 0, to);
	f->l4 = p->l4;
	f->l4_len = p->l4_len;
	f->iface = p->iface;
	f->flags = p->flags & (uint16_t)~PKT_UNTAGGED;
	pkt_free_all(p);
	return f;
}

struct pkt *offload_next(struct pool *pool, struct pkt **rest)
{
	struct pkt *p = *rest;
	if (p->segment)
		return cut(pool, p);
	p = flatten(pool, p);
	if (!p)
		return NULL;
	finish_sum(p);
	*rest = NULL;
	return p;
}
