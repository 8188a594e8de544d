/* The queues of virtio_model.h. Section numbers: virtio specification 1.1. */
#include "tests/models/virtio_model.h"
#include "tests/models/virtio_model_regs.h"

#define CHAIN_MAX 64u

/* Reports a breach by the driver, unless the device's own records may be wrong. */
#define FAULT(m, ...) ((m)->lied ? (void)0 : pci_model_fault(__VA_ARGS__))

struct segment {
	uint8_t *at;
	uint32_t len;
};

static uint16_t dma_read16(struct virtio_model *m, uint64_t at)
{
	const uint8_t *p = pci_model_dma(&m->pci, at, 2);
	return p ? load16(p) : 0;
}

static void dma_write16(struct virtio_model *m, uint64_t at, uint16_t v)
{
	uint8_t *p = pci_model_dma(&m->pci, at, 2);
	if (p)
		store16(p, v);
}

static struct virtio_model_desc desc_read(struct virtio_model *m, struct virtio_model_queue *q,
                                          uint16_t i)
{
	struct virtio_model_desc d = {0};
	const uint8_t *p = pci_model_dma(&m->pci, q->desc + 16u * i, 16);
	if (p) {
		d.addr = (uint64_t)load32(p + 4) << 32 | load32(p);
		d.len = load32(p + 8);
		d.flags = load16(p + 12);
		d.next = load16(p + 14);
	}
	return d;
}

/* 2.6.6.1: buffers that the device owns, whatever it said about them. */
static uint16_t outstanding(const struct virtio_model_queue *q)
{
	return (uint16_t)(q->seen - q->done);
}

/* A buffer that the device may write must not overlap another one. */
static void check_overlap(struct virtio_model *m, struct virtio_model_queue *q, uint16_t skip)
{
	const struct virtio_model_desc *d = &q->kept[skip];
	for (uint16_t i = 0; i < q->size; i++) {
		const struct virtio_model_desc *o = &q->kept[i];
		if (i == skip || !q->owned[i] || !(o->flags & D_WRITE))
			continue;
		if (d->addr < o->addr + o->len && o->addr < d->addr + d->len)
			FAULT(m, "descriptors %u and %u share a buffer", skip, i);
	}
}

/* A descriptor that leads to a table (2.6.5.3). */
static void check_table(struct virtio_model *m, unsigned queue, const struct virtio_model_desc *d)
{
	if (!(m->accepted & F(F_INDIRECT)))
		FAULT(m, "indirect descriptor without the feature (2.6.5.3.1)");
	if (d->flags & D_NEXT || queue == VIRTIO_MODEL_RX || d->len % 16 ||
	    d->len / 16 > m->q[queue].size || d->len / 16 > CHAIN_MAX)
		FAULT(m, "bad indirect descriptor of %u bytes (2.6.5.3.1)", d->len);
}

/* Takes one descriptor of a new chain (2.6.5). */
static void take_desc(struct virtio_model *m, unsigned queue, uint16_t i)
{
	struct virtio_model_queue *q = &m->q[queue];
	if (q->owned[i])
		FAULT(m, "descriptor %u offered while the device owns it", i);
	struct virtio_model_desc d = desc_read(m, q, i);
	q->kept[i] = d;
	q->owned[i] = true;
	if (d.flags & D_INDIRECT)
		check_table(m, queue, &d);
	if (((d.flags & D_WRITE) != 0) != (queue == VIRTIO_MODEL_RX))
		FAULT(m, "queue %u: descriptor %u has the wrong direction", queue, i);
	if (d.len == 0)
		FAULT(m, "descriptor %u is empty", i);
	(void)pci_model_dma(&m->pci, d.addr, d.len);
	if (d.flags & D_WRITE)
		check_overlap(m, q, i);
}

/* 2.6.4.2, 5.1.6.2.2: the position of the header; 5.1.6.3.1: buffers are large enough. */
static void check_framing(struct virtio_model *m, unsigned queue, uint16_t head, uint32_t total)
{
	const struct virtio_model_desc *d = &m->q[queue].kept[head];
	uint32_t hdr = virtio_model_header(m);
	if (!(m->accepted & (F(F_VERSION_1) | F(F_ANY_LAYOUT))) &&
	    (d->len != hdr || !(d->flags & D_NEXT)))
		FAULT(m, "legacy header in a descriptor of %u bytes (2.6.4.2)", d->len);
	if (queue == VIRTIO_MODEL_RX && total < hdr + 1514)
		FAULT(m, "receive buffer of %u bytes (5.1.6.3.1)", total);
	if (queue == VIRTIO_MODEL_TX && total <= hdr)
		FAULT(m, "sent %u bytes, header included", total);
}

static void take_chain(struct virtio_model *m, unsigned queue, uint16_t head)
{
	struct virtio_model_queue *q = &m->q[queue];
	uint32_t total = 0, n = 0;
	uint16_t i = head;
	do {
		if (i >= q->size || n++ == CHAIN_MAX) {
			FAULT(m, "queue %u: chain of %u runs to descriptor %u", queue, n, i);
			return;
		}
		take_desc(m, queue, i);
		total += q->kept[i].len;
		if (!(q->kept[i].flags & D_NEXT))
			break;
		i = q->kept[i].next;
	} while (true);
	check_framing(m, queue, head, total);
}

/* 2.6.10: says when the device wants to be notified; one that does not says what is over. */
static void say_event(struct virtio_model *m, const struct virtio_model_queue *q)
{
	uint16_t event = (uint16_t)(q->quiet ? q->seen - 1 : q->seen + q->ahead);
	if (m->accepted & F(F_EVENT_IDX))
		dma_write16(m, q->used + 4 + 8ull * q->size, event);
}

/* Reads what the driver made available since the last call (2.6.6, 2.6.13). */
static void read_avail(struct virtio_model *m, unsigned queue)
{
	struct virtio_model_queue *q = &m->q[queue];
	if (!q->enabled || !virtio_model_ready(m))
		return;
	uint16_t moved = (uint16_t)(dma_read16(m, q->avail + 2) - q->seen);
	if (moved > q->size - outstanding(q)) {
		FAULT(m, "queue %u: available index moved by %u with %u of %u owned", queue, moved,
		      outstanding(q), q->size);
		return;
	}
	while (moved--) {
		uint16_t head = dma_read16(m, q->avail + 4 + 2ull * (q->seen % q->size));
		q->order[q->seen++ % VIRTIO_MODEL_QUEUE_MAX] = head;
		take_chain(m, queue, head);
	}
	say_event(m, q);
}

void virtio_model_notify(struct virtio_model *m, uint32_t queue)
{
	if (queue >= VIRTIO_MODEL_QUEUES || !m->q[queue].enabled || !virtio_model_ready(m)) {
		FAULT(m, "notification of queue %u too early (3.1.1)", queue);
		return;
	}
	struct virtio_model_queue *q = &m->q[queue];
	q->notified++;
	uint16_t before = q->seen;
	if (q->quiet) /* 2.6.10.1 allows it, but each one is a useless exit */
		FAULT(m, "queue %u: notified although the device wants no notifications", queue);
	read_avail(m, queue);
	if (before == q->seen)
		FAULT(m, "queue %u: notified with nothing new", queue);
}

void virtio_model_queue_check(struct virtio_model *m, unsigned queue)
{
	struct virtio_model_queue *q = &m->q[queue];
	if (q->desc % 16 || q->avail % 2 || q->used % 4)
		FAULT(m, "queue %u: parts not aligned (2.6)", queue);
	if (!pci_model_dma(&m->pci, q->desc, 16u * q->size) ||
	    !pci_model_dma(&m->pci, q->avail, 6u + 2u * q->size) ||
	    !pci_model_dma(&m->pci, q->used, 6u + 8u * q->size)) {
		FAULT(m, "queue %u: not in memory", queue);
		q->enabled = false;
		return;
	}
	if (dma_read16(m, q->avail + 2) > q->size || dma_read16(m, q->used + 2) != 0)
		FAULT(m, "queue %u: indices do not begin at 0", queue);
}

/* The buffers of a table. Each entry leads to the next one, and the last one to none. */
static uint32_t table(struct virtio_model *m, const struct virtio_model_desc *k,
                      struct segment *out)
{
	struct virtio_model_queue at = {.desc = k->addr};
	uint32_t n = min_u32(k->len / 16, CHAIN_MAX);
	for (uint16_t i = 0; i < n; i++) {
		struct virtio_model_desc d = desc_read(m, &at, i);
		if (d.flags != (i + 1u < n ? D_NEXT : 0) || (i + 1u < n && d.next != i + 1))
			FAULT(m, "entry %u of a table has flags 0x%x, next %u", i, d.flags, d.next);
		if (d.len == 0)
			FAULT(m, "entry %u of a table is empty", i);
		out[i].at = pci_model_dma(&m->pci, d.addr, d.len);
		out[i].len = out[i].at ? d.len : 0;
	}
	return n;
}

/* Follows a chain that the device owns; the driver must not have changed it (2.6.5.2). */
static uint32_t chain(struct virtio_model *m, struct virtio_model_queue *q, uint16_t i,
                      struct segment *out)
{
	uint32_t n = 0;
	while (n < CHAIN_MAX && i < q->size) {
		const struct virtio_model_desc *k = &q->kept[i];
		struct virtio_model_desc d = desc_read(m, q, i);
		if (d.addr != k->addr || d.len != k->len || d.flags != k->flags ||
		    ((d.flags & D_NEXT) && d.next != k->next))
			FAULT(m, "descriptor %u changed while the device owned it", i);
		if (k->flags & D_INDIRECT)
			return table(m, k, out);
		out[n].at = pci_model_dma(&m->pci, k->addr, k->len);
		out[n].len = out[n].at ? k->len : 0;
		n++;
		if (!(k->flags & D_NEXT))
			break;
		i = k->next;
	}
	return n;
}

static void release(struct virtio_model_queue *q, uint16_t i)
{
	for (uint32_t n = 0; n < CHAIN_MAX && i < q->size; n++) {
		q->owned[i] = false;
		if (!(q->kept[i].flags & D_NEXT))
			break;
		i = q->kept[i].next;
	}
}

/* Copies to or from the chain, starting at byte `off` of it. Gives how many bytes. */
static uint32_t spread(const struct segment *s, uint32_t n, uint32_t off, void *buf, uint32_t len,
                       bool into_chain)
{
	uint32_t did = 0;
	for (uint32_t i = 0; i < n && did < len; i++) {
		if (off >= s[i].len) {
			off -= s[i].len;
			continue;
		}
		uint32_t part = min_u32(s[i].len - off, len - did);
		if (into_chain)
			memcpy(s[i].at + off, (uint8_t *)buf + did, part);
		else
			memcpy((uint8_t *)buf + did, s[i].at + off, part);
		did += part;
		off = 0;
	}
	return did;
}

static void used_write(struct virtio_model *m, unsigned queue, uint32_t id, uint32_t len)
{
	struct virtio_model_queue *q = &m->q[queue];
	if (dma_read16(m, q->used + 2) != q->used_idx)
		FAULT(m, "queue %u: the driver wrote the used index", queue);
	uint8_t *p = pci_model_dma(&m->pci, q->used + 4 + 8ull * (q->used_idx % q->size), 8);
	if (p) {
		store32(p, id);
		store32(p + 4, len);
	}
	dma_write16(m, q->used + 2, ++q->used_idx);
	uint16_t flags = dma_read16(m, q->avail);
	bool events = m->accepted & F(F_EVENT_IDX);
	if (flags & (events ? 0xffff : ~AVAIL_NO_INTERRUPT))
		FAULT(m, "queue %u: available flags 0x%x (2.6.7)", queue, flags);
	uint16_t event = dma_read16(m, q->avail + 4 + 2ull * q->size);
	if (events ? event == (uint16_t)(q->used_idx - 1) : !(flags & AVAIL_NO_INTERRUPT)) {
		m->signals++;
		virtio_model_raise(m, ISR_QUEUE);
	}
}

uint32_t virtio_model_waiting(struct virtio_model *m, unsigned queue)
{
	struct virtio_model_queue *q = &m->q[queue];
	if (q->quiet)
		read_avail(m, queue);
	return (uint16_t)(q->seen - q->next);
}

static uint16_t take_head(struct virtio_model_queue *q, bool shuffle)
{
	uint16_t *a = &q->order[q->next % VIRTIO_MODEL_QUEUE_MAX];
	if (shuffle && (uint16_t)(q->seen - q->next) > 1 && q->next % 2 == 0) {
		uint16_t *b = &q->order[(q->next + 1u) % VIRTIO_MODEL_QUEUE_MAX];
		uint16_t t = *a;
		*a = *b;
		*b = t;
	}
	q->next++;
	return *a;
}

bool virtio_model_deliver_claim(struct virtio_model *m, const void *frame, uint32_t len,
                                uint32_t claim)
{
	struct virtio_model_queue *q = &m->q[VIRTIO_MODEL_RX];
	struct segment s[CHAIN_MAX];
	if (!virtio_model_ready(m) || virtio_model_waiting(m, VIRTIO_MODEL_RX) == 0) {
		m->missed++;
		return false;
	}
	uint16_t head = take_head(q, m->shuffle);
	if (!q->owned[head % q->size]) /* a lie has given it away */
		return false;
	uint32_t n = chain(m, q, head, s), hdr = virtio_model_header(m);
	uint8_t header[12] = {[10] = 1}; /* 5.1.6.4.1: num_buffers is 1 */
	spread(s, n, 0, header, hdr, true);
	if (spread(s, n, hdr, (void *)(uintptr_t)frame, len, true) != len)
		FAULT(m, "a frame of %u bytes does not fit the buffer", len);
	release(q, head);
	q->done++;
	used_write(m, VIRTIO_MODEL_RX, head, claim);
	return true;
}

bool virtio_model_deliver(struct virtio_model *m, const void *frame, uint32_t len)
{
	return virtio_model_deliver_claim(m, frame, len, len + virtio_model_header(m));
}

bool virtio_model_deliver_said(struct virtio_model *m, const void *frame, uint32_t len,
                               const struct virtio_model_said *said, const uint16_t *sizes,
                               uint32_t n_sizes)
{
	struct virtio_model_queue *q = &m->q[VIRTIO_MODEL_RX];
	uint16_t head[VIRTIO_MODEL_QUEUE_MAX];
	uint32_t used[VIRTIO_MODEL_QUEUE_MAX], n = 0, hdr = virtio_model_header(m);
	uint8_t *first = NULL;
	for (uint32_t at = 0; at < len; n++) {
		struct segment s[CHAIN_MAX];
		if (!virtio_model_ready(m) || virtio_model_waiting(m, VIRTIO_MODEL_RX) == 0) {
			q->next = (uint16_t)(q->next - n);
			m->missed++;
			return false;
		}
		head[n] = take_head(q, false);
		uint32_t pieces = chain(m, q, head[n], s), front = n == 0 ? hdr : 0, room = 0;
		for (uint32_t i = 0; i < pieces; i++)
			room += s[i].len;
		room -= front;
		if (n < n_sizes && sizes[n])
			room = min_u32(room, sizes[n]);
		used[n] = spread(s, pieces, front, (uint8_t *)(uintptr_t)frame + at,
		                 min_u32(room, len - at), true);
		at += used[n];
		if (n == 0)
			first = s[0].at;
	}
	if (!first)
		return false;
	first[0] = said->flags;
	first[1] = said->type;
	store16(first + 2, said->hdr_len);
	store16(first + 4, said->size);
	store16(first + 6, said->start);
	store16(first + 8, said->offset);
	if (hdr == 12)
		store16(first + 10, said->buffers ? said->buffers : (uint16_t)n);
	for (uint32_t i = 0; i < n; i++) {
		release(q, head[i]);
		q->done++;
		used_write(m, VIRTIO_MODEL_RX, head[i], used[i] + (i == 0 ? hdr : 0));
	}
	return true;
}

/* 5.1.6.2.1: what a driver may write into the header of a packet of `len` bytes. */
static void check_said(struct virtio_model *m, const struct virtio_model_said *s, uint32_t len)
{
	uint8_t type = s->type & (uint8_t)~H_ECN;
	if (s->flags & ~H_NEEDS_CSUM || s->buffers)
		FAULT(m, "flags 0x%x, %u buffers in a sent header", s->flags, s->buffers);
	if (s->flags && !(m->accepted & F(F_CSUM)))
		FAULT(m, "partial checksum without the feature");
	if (s->flags && (uint32_t)s->start + s->offset + 2 > len)
		FAULT(m, "checksum behind the packet");
	if (s->type == H_NONE) {
		if (len > 1518)
			FAULT(m, "a frame of %u bytes", len);
		return;
	}
	uint64_t need = type == H_TCP4     ? F(F_HOST_TSO4)
	                : type == H_TCP6   ? F(F_HOST_TSO6)
	                : type == H_UDP_L4 ? F(F_HOST_USO)
	                                   : 0;
	if (!(m->accepted & need) || (s->type & H_ECN && !(m->accepted & F(F_HOST_ECN))))
		FAULT(m, "segmentation 0x%x without the feature", s->type);
	if (!s->flags || s->size == 0 || s->hdr_len <= s->start || s->hdr_len >= len)
		FAULT(m, "segments of %u bytes, header of %u", s->size, s->hdr_len);
}

bool virtio_model_take_said(struct virtio_model *m, void *frame, uint32_t size, uint32_t *len,
                            struct virtio_model_said *said)
{
	struct virtio_model_queue *q = &m->q[VIRTIO_MODEL_TX];
	struct segment s[CHAIN_MAX];
	uint8_t h[12] = {0};
	if (!virtio_model_ready(m) || virtio_model_waiting(m, VIRTIO_MODEL_TX) == 0)
		return false;
	uint16_t head = take_head(q, false);
	if (!q->owned[head % q->size])
		return false;
	uint32_t n = chain(m, q, head, s), hdr = virtio_model_header(m);
	spread(s, n, 0, h, hdr, false);
	*said = (struct virtio_model_said){h[0],          h[1],          load16(h + 2),
	                                   load16(h + 4), load16(h + 6), load16(h + 8),
	                                   load16(h + 10)};
	*len = spread(s, n, hdr, frame, size, false);
	check_said(m, said, *len);
	q->taken[q->n_taken++] = head;
	return true;
}

bool virtio_model_take(struct virtio_model *m, void *frame, uint32_t size, uint32_t *len)
{
	struct virtio_model_said said, none = {0};
	if (!virtio_model_take_said(m, frame, size, len, &said))
		return false;
	if (memcmp(&said, &none, sizeof said) != 0) /* 5.1.6.2.1: a plain frame */
		FAULT(m, "header of a sent frame is not zero");
	return true;
}

uint32_t virtio_model_complete(struct virtio_model *m, uint32_t n, bool newest_first)
{
	struct virtio_model_queue *q = &m->q[VIRTIO_MODEL_TX];
	struct segment s[CHAIN_MAX];
	uint32_t did = 0;
	for (; did < n && q->n_taken > 0; did++) {
		uint16_t at = newest_first ? (uint16_t)(q->n_taken - 1) : 0;
		uint16_t head = q->taken[at];
		q->n_taken--;
		memmove(&q->taken[at], &q->taken[at + 1], (q->n_taken - at) * sizeof q->taken[0]);
		if (!q->owned[head % q->size])
			continue;
		chain(m, q, head, s);
		release(q, head);
		q->done++;
		used_write(m, VIRTIO_MODEL_TX, head, 0);
	}
	return did;
}

void virtio_model_ahead(struct virtio_model *m, unsigned queue, uint16_t n)
{
	m->q[queue].ahead = n;
	say_event(m, &m->q[queue]);
}

void virtio_model_quiet(struct virtio_model *m, unsigned queue, bool quiet)
{
	struct virtio_model_queue *q = &m->q[queue];
	q->quiet = quiet;
	if (q->enabled) {
		dma_write16(m, q->used,
		            quiet && !(m->accepted & F(F_EVENT_IDX)) ? USED_NO_NOTIFY : 0);
		read_avail(m, queue); /* what the driver added meanwhile */
	}
}

/* A buffer that a lie names belongs to the driver from then on; the device does not touch
 * it. */
void virtio_model_used_raw(struct virtio_model *m, unsigned queue, uint32_t id, uint32_t len)
{
	struct virtio_model_queue *q = &m->q[queue];
	if (!q->enabled)
		return;
	m->lied = true;
	if (id < q->size && q->owned[id])
		release(q, (uint16_t)id);
	used_write(m, queue, id, len);
}

void virtio_model_jump(struct virtio_model *m, unsigned queue, uint16_t by)
{
	struct virtio_model_queue *q = &m->q[queue];
	m->lied = true;
	for (uint16_t i = 0; i < by && q->enabled; i++) {
		uint64_t at = q->used + 4 + 8ull * ((uint16_t)(q->used_idx + i) % q->size);
		uint16_t id = dma_read16(m, at);
		if (id < q->size)
			release(q, id);
	}
	q->used_idx = (uint16_t)(q->used_idx + by);
	if (q->enabled)
		dma_write16(m, q->used + 2, q->used_idx);
}
