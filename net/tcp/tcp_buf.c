/* The bytes that TCP holds: those to be sent or acknowledged, those to be read, and the
 * out-of-order queue. They are in packets of the pool, booked with pool_keep. Short data is
 * copied behind the data that is there already, so that segments of one byte do not hold a
 * packet each. See tcp_conn.h. */
#include "net/tcp/tcp_conn.h"

#define SHORT 512u /* data of at most this length is copied if possible */

static void drop_packet(struct gw *gw, struct tcp_conn *c, struct pkt *p)
{
	tcp_unkeep(gw, c);
	pkt_free(p);
}

static void append_packet(struct tcp_queue *q, struct pkt *p)
{
	p->next = NULL;
	if (q->last)
		q->last->next = p;
	else
		q->first = p;
	q->last = p;
	q->n++;
}

/* --- queues in order ---------------------------------------------------------------------------
 */

void tcp_queue_free(struct gw *gw, struct tcp_conn *c, struct tcp_queue *q)
{
	for (struct pkt *p = q->first, *next; p; p = next) {
		next = p->next;
		drop_packet(gw, c, p);
	}
	*q = (struct tcp_queue){0};
}

void tcp_queue_take(struct gw *gw, struct tcp_conn *c, struct tcp_queue *q, uint32_t n)
{
	q->len -= n;
	for (struct pkt *p; n && (p = q->first) != NULL;) {
		uint32_t here = min_u32(n, p->len);
		p->data += here;
		p->len -= here;
		n -= here;
		if (p->len)
			break;
		q->first = p->next;
		if (!q->first)
			q->last = NULL;
		q->n--;
		drop_packet(gw, c, p);
	}
}

void tcp_queue_copy(const struct tcp_queue *q, uint32_t skip, uint8_t *to, uint32_t n)
{
	for (const struct pkt *p = q->first; n; p = p->next) {
		if (skip >= p->len) {
			skip -= p->len;
			continue;
		}
		uint32_t here = min_u32(n, p->len - skip);
		memcpy(to, p->data + skip, here);
		to += here;
		n -= here;
		skip = 0;
	}
}

/* Bytes that fit behind a packet's data. */
static uint32_t room_behind(const struct pkt *p)
{
	return p ? pkt_space(p) - p->len : 0;
}

/* Copies n bytes behind a packet's data; there must be room (room_behind). */
static void append(struct pkt *p, const uint8_t *data, uint32_t n)
{
	uint8_t *to = pkt_put(p, n);
	if (to)
		memcpy(to, data, n);
}

/* Allocates packets for n bytes into a list; all or none. */
static bool take_packets(struct gw *gw, struct tcp_conn *c, uint32_t n, struct tcp_queue *fresh)
{
	for (; n; n -= min_u32(n, PKT_ROOM)) {
		bool kept = tcp_keep(gw, c);
		struct pkt *p = kept ? pkt_alloc(gw->pool) : NULL;
		if (!p) {
			if (kept)
				tcp_unkeep(gw, c);
			tcp_queue_free(gw, c, fresh);
			return false;
		}
		append_packet(fresh, p);
	}
	return true;
}

bool tcp_queue_write(struct gw *gw, struct tcp_conn *c, struct tcp_queue *q, const uint8_t *data,
                     uint32_t n)
{
	struct tcp_queue fresh = {0};
	uint32_t behind = min_u32(room_behind(q->last), n);
	if (!take_packets(gw, c, n - behind, &fresh))
		return false;
	q->len += n;
	if (behind) {
		append(q->last, data, behind);
		data += behind;
		n -= behind;
	}
	for (struct pkt *p = fresh.first, *next; p; p = next) {
		uint32_t here = min_u32(n, PKT_ROOM);
		next = p->next;
		append(p, data, here);
		data += here;
		n -= here;
		append_packet(q, p);
	}
	return true;
}

bool tcp_queue_add(struct gw *gw, struct tcp_conn *c, struct tcp_queue *q, struct pkt *p)
{
	uint32_t n = p->len;
	if (q->last && n <= SHORT && room_behind(q->last) >= n) {
		append(q->last, p->data, n);
		pkt_free(p);
	} else if (tcp_keep(gw, c)) {
		append_packet(q, p);
	} else {
		return false;
	}
	q->len += n;
	return true;
}

/* --- the out-of-order queue -------------------------------------------------------- */

/* The sequence number where a packet of the out-of-order queue begins. It is stored in
 * p->hop, which is unused because the packet is not sent. */
static uint32_t begin_of(const struct pkt *p)
{
	return p->hop;
}

static uint32_t end_of(const struct pkt *p)
{
	return p->hop + p->len;
}

uint32_t tcp_ooo_missing(const struct tcp_conn *c)
{
	return c->ooo.first ? begin_of(c->ooo.first) - c->rcv : UINT32_MAX;
}

uint32_t tcp_ooo_end(const struct tcp_conn *c)
{
	return c->ooo.last ? end_of(c->ooo.last) : c->rcv;
}

/* Inserts a packet behind another one of the list (NULL: in front). */
static void insert(struct tcp_queue *q, struct pkt *before, struct pkt *p)
{
	p->next = before ? before->next : q->first;
	*(before ? &before->next : &q->first) = p;
	if (!p->next)
		q->last = p;
	q->n++;
	q->len += p->len;
}

/* Bytes that were received first stay: of two segments that contradict each other the
 * reader sees one only. Of a segment that spans several gaps only the first gap is filled;
 * the rest will be sent again. */
enum drop tcp_ooo_add(struct gw *gw, struct tcp_conn *c, struct pkt *p, uint32_t seq)
{
	struct tcp_queue *q = &c->ooo;
	struct pkt *before = NULL, *behind = q->first;
	for (; behind && seq_le(begin_of(behind), seq); behind = behind->next)
		before = behind;
	if (before && seq_lt(seq, end_of(before))) {
		uint32_t cut = min_u32(end_of(before) - seq, p->len);
		p->data += cut;
		p->len -= cut;
		seq += cut;
	}
	if (behind && seq_lt(begin_of(behind), seq + p->len))
		pkt_trim(p, seq_lt(seq, begin_of(behind)) ? begin_of(behind) - seq : 0);
	if (p->len == 0)
		return DROP_TCP_WINDOW;
	p->hop = seq;
	if (before && end_of(before) == seq && p->len <= SHORT && room_behind(before) >= p->len) {
		append(before, p->data, p->len);
		q->len += p->len;
		pkt_free(p);
		return DROP_NONE;
	}
	/* Out-of-order data will be sent again; data in order must find room. */
	if (q->n >= TCP_OOO_PACKETS || tcp_is_scarce(gw, c))
		return DROP_TCP_ORDER;
	if (!tcp_keep(gw, c))
		return DROP_TCP_MEMORY;
	insert(q, before, p);
	return DROP_NONE;
}

void tcp_ooo_close(struct gw *gw, struct tcp_conn *c)
{
	struct tcp_queue *q = &c->ooo;
	struct pkt *p;
	while ((p = q->first) != NULL && seq_le(begin_of(p), c->rcv)) {
		uint32_t known = min_u32(c->rcv - begin_of(p), p->len);
		q->first = p->next;
		if (!q->first)
			q->last = NULL;
		q->n--;
		q->len -= p->len;
		p->data += known;
		p->len -= known;
		if (p->len == 0) {
			drop_packet(gw, c, p);
			continue;
		}
		c->rcv += p->len;
		c->in.len += p->len;
		if (c->in.last && p->len <= SHORT && room_behind(c->in.last) >= p->len) {
			append(c->in.last, p->data, p->len);
			drop_packet(gw, c, p);
		} else {
			append_packet(&c->in, p);
		}
	}
}
