/* The card of vmxnet3_model.h. */
#include "tests/models/vmxnet3_model.h"

#include "kernel/seam/io.h"

enum { MAGIC = 0, QUEUES = 40, MTU = 56, PIECES = 60, N_QUEUES = 62, EVENT_INT = 82 };
enum { INT_CONTROL = 108, MODE = 120, GROUPS_LEN = 124, GROUPS = 128, VLANS = 136, EVENTS = 696 };
enum { TX_QUEUE = 0, RX_QUEUE = 256, STATS = 88 };
#define GEN (1u << 31)

static uint64_t load64(const uint8_t *p)
{
	return load32(p) | (uint64_t)load32(p + 4) << 32;
}

static void store64(uint8_t *p, uint64_t v)
{
	store32(p, (uint32_t)v);
	store32(p + 4, (uint32_t)(v >> 32));
}

static struct vmxnet3_model *of(struct card *c)
{
	return (struct vmxnet3_model *)c;
}

static uint8_t *dma(struct vmxnet3_model *m, uint64_t at, size_t n)
{
	return pci_model_dma(&m->card.pci, at, n);
}

static bool runs(const struct vmxnet3_model *m)
{
	return m->active && card_reaches(&m->card);
}

/* --- interrupts ----------------------------------------------------------------------------- */

static void look(struct vmxnet3_model *m)
{
	if (!m->pending || m->masked)
		return;
	m->pending = false;
	m->asserted = true;
	m->masked = m->auto_mask;
}

static void raise(struct vmxnet3_model *m)
{
	m->pending = true;
	look(m);
}

bool vmxnet3_model_irq(const struct card *c)
{
	return ((const struct vmxnet3_model *)c)->asserted;
}

bool vmxnet3_model_quiet(const struct card *c)
{
	const struct vmxnet3_model *m = (const struct vmxnet3_model *)c;
	return !m->active && (m->masked || !m->asserted);
}

void vmxnet3_model_event(struct vmxnet3_model *m, uint32_t event)
{
	uint8_t *s = runs(m) ? dma(m, m->shared + EVENTS, 4) : NULL;
	if (!s)
		return;
	store32(s, load32(s) | event);
	raise(m);
}

static void cable_look(struct vmxnet3_model *m)
{
	if (m->card.cable != m->cable_before)
		vmxnet3_model_event(m, 4);
	m->cable_before = m->card.cable;
}

/* --- rings ---------------------------------------------------------------------------------- */

static bool mine(const struct vmxnet3_ring *r, uint32_t gen)
{
	return (gen != 0) == !(r->lap & 1);
}

static void advance(struct vmxnet3_ring *r)
{
	if (++r->next == r->n) {
		r->next = 0;
		r->lap++;
	}
}

/* Writes a completion. */
static void complete(struct vmxnet3_model *m, struct vmxnet3_ring *r, uint32_t index, uint32_t size)
{
	uint8_t *d = dma(m, r->at + 16ull * r->next, 16);
	if (!d)
		return;
	if (mine(r, load32(d + 12) & GEN))
		pci_model_fault("completion %u is still there", r->next);
	store32(d, index);
	store32(d + 8, size);
	store32(d + 12, r->lap & 1 ? 0 : GEN);
	advance(r);
	raise(m);
}

/* --- transmit ------------------------------------------------------------------------------- */

/* The sum of bytes as words in the order in which they lie, not folded. */
static uint32_t sum_of(const uint8_t *p, uint32_t n)
{
	uint32_t sum = 0;
	for (uint32_t i = 0; i < n; i++)
		sum += (uint32_t)p[i] << i % 2 * 8;
	return sum;
}

static uint16_t folded(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)(sum + (sum >> 16));
}

static uint32_t l3_of(const uint8_t *frame)
{
	return load16(frame + 12) == swap16(0x8100) ? 18 : 14;
}

/* Sends a frame. With `l4` the checksum at `field` is completed: it holds that of the pseudo
 * header, and the device takes the length from the frame's end, as QEMU's does. */
static void send_frame(struct card *c, const uint8_t *frame, uint32_t n, uint32_t l4,
                       uint32_t field)
{
	uint8_t copy[2048];
	memcpy(copy, frame, min_u32(n, sizeof copy));
	uint32_t l3 = l3_of(copy);
	if (l4 && copy[l3] >> 4 == 4 && l3 + swap16(load16(copy + l3 + 2)) != n)
		pci_model_fault("a frame with padding, which would count");
	uint16_t v = l4 ? (uint16_t)~folded(sum_of(copy + l4, min_u32(n, sizeof copy) - l4)) : 0;
	if (l4)
		store16(copy + field, v ? v : 0xffff);
	card_sent(c, copy, n);
}

/* What the field of TCP's checksum holds in a packet to be cut: the sum of the pseudo header
 * without a length. */
static uint16_t bare_sum(const uint8_t *ip, bool six)
{
	return folded((six ? sum_of(ip + 8, 32) : sum_of(ip + 12, 8)) + swap16(6));
}

/* Sends a frame, with a VLAN tag behind its addresses when bit 15 of `more` says so. */
static void send_tagged(struct card *c, const uint8_t *f, uint32_t n, uint32_t more)
{
	uint8_t copy[2048];
	uint32_t tag = more & 1u << 15 ? 4 : 0;
	memcpy(copy, f, 12);
	store16(copy + 12, swap16(0x8100));
	store16(copy + 14, swap16((uint16_t)(more >> 16)));
	memcpy(copy + 12 + tag, f + 12, n - 12);
	card_sent(c, copy, n + tag);
}

/* Cuts a packet of n bytes into segments of `mss` bytes behind its headers. */
static void send_segments(struct card *c, const uint8_t *p, uint32_t n, uint32_t more, uint32_t mss)
{
	uint32_t header = more & 0x3ff;
	uint8_t f[2048];
	uint32_t l3 = l3_of(p), id = swap16(load16(p + l3 + 4));
	bool six = p[l3] >> 4 == 6;
	uint32_t l4 = l3 + (six ? 40 : (p[l3] & 15u) * 4), seq = swap32(load32(p + l4 + 4));
	uint32_t length = six ? 40u + swap16(load16(p + l3 + 4)) : swap16(load16(p + l3 + 2));
	if (header != l4 + (p[l4 + 12] >> 4) * 4u || n <= header + mss || mss == 0 ||
	    header + mss > CARD_FRAME_MOST || l3 + length != n ||
	    (!six && load16(p + l3 + 10) != 0) || load16(p + l4 + 16) != bare_sum(p + l3, six)) {
		pci_model_fault("segments of %u bytes, headers of %u, %u in all", mss, header, n);
		return;
	}
	for (uint32_t at = header; at < n; at += mss, id++) {
		uint32_t len = header + min_u32(mss, n - at);
		memcpy(f, p, header);
		memcpy(f + header, p + at, len - header);
		store32(f + l4 + 4, swap32(seq + at - header));
		f[l4 + 13] &= at == header ? 0xff : 0x7f; /* CWR in the first, … */
		f[l4 + 13] &= at + mss < n ? 0xf6 : 0xff; /* … FIN and PSH in the last */
		store16(f + l3 + (six ? 4 : 2), swap16((uint16_t)(len - l3 - (six ? 40 : 0))));
		if (!six) {
			store16(f + l3 + 4, swap16((uint16_t)id));
			store16(f + l3 + 10, (uint16_t)~folded(sum_of(f + l3, l4 - l3)));
		}
		uint32_t sum = sum_of(f + l4, len - l4);
		store16(f + l4 + 16, (uint16_t)~folded(sum + swap16((uint16_t)(len - l4))));
		send_tagged(c, f, len, more);
	}
}

/* Takes the descriptors of a packet from the ring. Gives their number, or 0 when the first one is
 * not the device's. */
static uint32_t gather(struct vmxnet3_model *m, uint32_t *size, uint32_t *more, uint32_t *last)
{
	uint32_t count = 0;
	m->packet_len = 0;
	for (bool end = false; !end; count++) {
		uint8_t *d = dma(m, m->tx.at + 16ull * m->tx.next, 16);
		uint32_t s = d ? load32(d + 8) : 0, x = d ? load32(d + 12) : 0, n = s & 0x3fff;
		if (!d || !mine(&m->tx, s & 1u << 14) || count == m->tx.n) {
			if (count)
				pci_model_fault("a packet of %u descriptors without an end", count);
			return 0;
		}
		if (count == 0) {
			*size = s;
			*more = x & ~0x7000u;
		}
		end = x & 1u << 12;
		if ((x & 0x7000) != (end ? 3u << 12 : 0) || s & 1u << 15 || n == 0 ||
		    (count && (x & ~0x7000u || s >> 18)) || m->packet_len + n > sizeof m->packet)
			pci_model_fault("transmit descriptor %u: 0x%x 0x%x", m->tx.next, s, x);
		const uint8_t *from = dma(m, load64(d), n);
		n = min_u32(n, (uint32_t)sizeof m->packet - m->packet_len);
		if (from)
			memcpy(m->packet + m->packet_len, from, n);
		m->packet_len += n;
		*last = m->tx.next;
		advance(&m->tx);
	}
	return count;
}

void vmxnet3_model_send(struct card *c)
{
	struct vmxnet3_model *m = of(c);
	uint32_t size, more, last, count;
	for (uint32_t turn = 0; runs(m) && !c->tx_hold && !c->tx_hung; turn += count) {
		if (turn >= m->tx.n) {
			pci_model_fault("every transmit descriptor is the device's");
			return;
		}
		count = gather(m, &size, &more, &last);
		if (count == 0)
			return;
		uint32_t mode = more >> 10 & 3, from_l4 = more & 0x3ff, field = size >> 18;
		bool sum =
		        mode == 2 && from_l4 >= 34 && field > from_l4 && field + 2 <= m->packet_len;
		if (count > (mode == 3 ? 24u : 16u) || (mode != 3 && more & 0xffff8000u) ||
		    (!sum && mode != 3 && (mode || from_l4 || field)))
			pci_model_fault("a packet of %u descriptors: 0x%x 0x%x", count, size, more);
		if (mode == 3)
			send_segments(c, m->packet, m->packet_len, more, field);
		else
			send_frame(c, m->packet, m->packet_len, sum ? from_l4 : 0, field);
		m->most = max_u32(m->most, count);
		complete(m, &m->tx_done, last, 0);
	}
}

void vmxnet3_model_name_frame(struct vmxnet3_model *m, uint32_t index)
{
	complete(m, &m->tx_done, index, 0);
}

/* --- receive -------------------------------------------------------------------------------- */

static bool accepted(const struct vmxnet3_model *m, const uint8_t *to)
{
	static const uint8_t all[6] = {255, 255, 255, 255, 255, 255};
	if (m->mode & 0x10)
		return true;
	if (memcmp(to, all, 6) == 0)
		return m->mode & 4;
	if (!(to[0] & 1))
		return m->mode & 1 && memcmp(to, m->station, 6) == 0;
	bool named = false;
	for (uint32_t i = 0; i < m->n_group; i++)
		named |= memcmp(to, m->group[i].b, 6) == 0;
	return m->mode & 8 || (m->mode & 2 && named);
}

/* Takes the next descriptor. Gives its place, or NULL. */
static uint8_t *take(struct vmxnet3_model *m, uint32_t *index)
{
	uint8_t *d = dma(m, m->rx.at + 16ull * m->rx.next, 16);
	if (!d || !mine(&m->rx, load32(d + 8) & GEN))
		return NULL;
	if ((load32(d + 8) & 0x3fff) < 1522 || load32(d + 8) & 0xc000)
		pci_model_fault("receive descriptor %u: 0x%x", m->rx.next, load32(d + 8));
	*index = m->rx.next;
	advance(&m->rx);
	return d;
}

static enum card_rx receive(struct vmxnet3_model *m, const uint8_t *frame, uint32_t n,
                            uint32_t size)
{
	uint32_t index = 0;
	for (; m->skip; m->skip--)
		(void)take(m, &index);
	uint8_t *d = take(m, &index);
	if (!d) {
		m->no_buffer++;
		return CARD_MISSED;
	}
	uint8_t *to = dma(m, load64(d), load32(d + 8) & 0x3fff);
	if (to)
		memcpy(to, frame, n);
	complete(m, &m->rx_done, index | 1u << 14 | 1u << 15, size);
	return CARD_TAKEN;
}

enum card_rx vmxnet3_model_receive(struct card *c, const void *frame, uint32_t n)
{
	struct vmxnet3_model *m = of(c);
	cable_look(m);
	if (!c->cable || !runs(m))
		return CARD_OFF;
	if (n < 60 || n > CARD_FRAME_MOST)
		return CARD_BAD;
	return accepted(m, frame) ? receive(m, frame, n, n) : CARD_FILTERED;
}

bool vmxnet3_model_lie(struct card *c, uint32_t len, bool error)
{
	static const uint8_t junk[2048];
	struct vmxnet3_model *m = of(c);
	return runs(m) &&
	       receive(m, junk, min_u32(len, 2048), len | (error ? 1u << 14 : 0)) == CARD_TAKEN;
}

/* --- commands ------------------------------------------------------------------------------- */

static void ring(struct vmxnet3_ring *r, uint64_t at, uint32_t n, const char *what)
{
	if (at & 511 || n & 31 || n == 0 || n > 4096)
		pci_model_fault("%s at 0x%llx, %u slots", what, (unsigned long long)at, n);
	*r = (struct vmxnet3_ring){.at = at, .n = n};
}

static void groups(struct vmxnet3_model *m, const uint8_t *s)
{
	uint32_t n = load16(s + GROUPS_LEN);
	const uint8_t *list = n ? dma(m, load64(s + GROUPS), n) : NULL;
	m->n_group = list ? min_u32(n / 6, ARRAY_SIZE(m->group)) : 0;
	if (n % 6)
		pci_model_fault("%u bytes of groups", n);
	if (list)
		memcpy(m->group, list, 6u * m->n_group);
}

static void activate(struct vmxnet3_model *m)
{
	const uint8_t *s = m->shared ? dma(m, m->shared, 720) : NULL;
	if (!s || m->active || m->refuses || load32(s + MAGIC) != 0xbabefee1u)
		return;
	uint32_t mtu = load32(s + MTU);
	uint8_t *q = dma(m, m->queues = load64(s + QUEUES), 512);
	if (!q)
		return;
	if (mtu < 60 || mtu > 9000 || load16(s + PIECES) != 1 || s[N_QUEUES] != 1 ||
	    s[N_QUEUES + 1] != 1 || s[EVENT_INT] || m->queues & 127 || q[TX_QUEUE + 72] ||
	    q[RX_QUEUE + 72] || load32(s + INT_CONTROL))
		pci_model_fault("shared memory: MTU %u", mtu);
	ring(&m->tx, load64(q + 16), load32(q + 56), "transmit ring");
	ring(&m->tx_done, load64(q + 32), load32(q + 64), "transmit completions");
	q += RX_QUEUE;
	ring(&m->rx, load64(q + 16), load32(q + 56), "receive ring");
	ring(&m->rx_done, load64(q + 32), load32(q + 64), "receive completions");
	if (m->rx_done.n < m->rx.n || m->tx_done.n < m->tx.n)
		pci_model_fault("too few completions");
	q[0] = m->wants_index;
	m->mode = load32(s + MODE);
	groups(m, s);
	memcpy(m->station, m->mac, 6);
	m->active = true;
}

static void reset(struct vmxnet3_model *m)
{
	if (m->card.reset_stuck)
		return;
	m->card.resets++;
	m->active = m->asserted = m->pending = false;
	m->masked = true;
	m->shared = 0;
	m->card.tx_hung = false;
}

static void stats(struct vmxnet3_model *m)
{
	uint8_t *q = runs(m) ? dma(m, m->queues, 512) : NULL;
	if (!q)
		return;
	store64(q + TX_QUEUE + STATS + 64, m->errors);
	store64(q + RX_QUEUE + STATS + 64, m->no_buffer);
}

static void command(struct vmxnet3_model *m, uint32_t v)
{
	const uint8_t *s = m->active && m->card.pci.cfg[4] & 4 ? dma(m, m->shared, 720) : NULL;
	m->last = v;
	switch (v) {
	case 0xcafe0000u:
		activate(m);
		break;
	case 0xcafe0001u:
		m->active = m->active && m->card.reset_stuck;
		break;
	case 0xcafe0002u:
		reset(m);
		break;
	case 0xcafe0003u:
		m->mode = s ? load32(s + MODE) : 0;
		break;
	case 0xcafe0004u:
		if (s)
			groups(m, s);
		break;
	case 0xf00d0001u:
		stats(m);
		break;
	case 0xf00d0002u:
		break;
	default:
		pci_model_fault("command 0x%x", v);
	}
}

static uint32_t result(struct vmxnet3_model *m)
{
	switch (m->last) {
	case 0xcafe0000u:
		return !m->active;
	case 0xcafe0002u:
		return m->card.reset_stuck;
	case 0xf00d0002u:
		return m->card.cable ? 10000u << 16 | 1 : 10000u << 16;
	default:
		return 0;
	}
}

/* --- registers ------------------------------------------------------------------------------ */

static uint32_t fast_read(void *ctx, uint32_t off, unsigned size)
{
	struct vmxnet3_model *m = ctx;
	if (m->card.gone)
		return 0xffffffffu >> (32 - 8 * size);
	pci_model_fault("read at 0x%x of the packet path", off);
	return 0;
}

static void fast_write(void *ctx, uint32_t off, unsigned size, uint32_t v)
{
	struct vmxnet3_model *m = ctx;
	if (m->card.gone)
		return;
	if (size != 4 || (off != 0 && off != 0x600 && off != 0x800))
		pci_model_fault("write of %u at 0x%x", size, off);
	if (off == 0) {
		m->masked = v & 1;
		look(m);
	} else if (off == 0x600 && m->active) {
		if (v >= m->tx.n)
			pci_model_fault("transmit index %u", v);
		vmxnet3_model_send(&m->card);
	} else if (off == 0x800 && m->active) {
		if (v >= m->rx.n)
			pci_model_fault("receive index %u", v);
		m->indexes++;
	}
}

static uint32_t slow_read(void *ctx, uint32_t off, unsigned size)
{
	struct vmxnet3_model *m = ctx;
	bool was = m->asserted;
	if (m->card.gone)
		return 0xffffffffu >> (32 - 8 * size);
	if (size != 4)
		pci_model_fault("read of %u at 0x%x", size, off);
	cable_look(m);
	switch (off) {
	case 0x00:
		return m->revisions;
	case 0x08:
		return 1;
	case 0x20:
		return result(m);
	case 0x28:
		return load32(m->mac);
	case 0x30:
		return load16(m->mac + 4);
	case 0x38:
		m->asserted = false;
		return was;
	default:
		pci_model_fault("read at 0x%x", off);
		return 0;
	}
}

static void slow_write(void *ctx, uint32_t off, unsigned size, uint32_t v)
{
	struct vmxnet3_model *m = ctx;
	if (m->card.gone)
		return;
	if (size != 4)
		pci_model_fault("write of %u at 0x%x", size, off);
	uint8_t *s;
	switch (off) {
	case 0x00:
	case 0x08:
		if (v != 1)
			pci_model_fault("revision 0x%x", v);
		break;
	case 0x10:
		m->low = v;
		break;
	case 0x18:
		m->shared = (uint64_t)v << 32 | m->low;
		break;
	case 0x20:
		command(m, v);
		break;
	case 0x28:
		memcpy(m->station, &v, 4);
		break;
	case 0x30:
		memcpy(m->station + 4, &v, 2);
		break;
	case 0x40:
		s = runs(m) ? dma(m, m->shared + EVENTS, 4) : NULL;
		if (s)
			store32(s, load32(s) & ~v);
		break;
	default:
		pci_model_fault("write at 0x%x", off);
	}
}

struct card *vmxnet3_model_plug(struct vmxnet3_model *m, unsigned slot, const uint8_t address[6])
{
	memset(m, 0, sizeof *m);
	m->card.pci = (struct pci_model_dev){
	        .dev = (uint8_t)(3 + slot),
	        .vendor = 0x15ad,
	        .device = 0x07b0,
	        .revision = 1,
	        .class_code = 2,
	        .irq = (uint8_t)(10 + slot),
	        .bar = {{.base = 0xfe800000u + slot * 0x4000u,
	                 .size = 4096,
	                 .read = fast_read,
	                 .write = fast_write},
	                {.base = 0xfe801000u + slot * 0x4000u,
	                 .size = 4096,
	                 .read = slow_read,
	                 .write = slow_write}},
	        .ctx = m,
	};
	m->card.cable = m->cable_before = true;
	m->revisions = 7;
	memcpy(m->mac, address, 6);
	reset(m);
	m->card.resets = 0;
	pci_model_add(&m->card.pci);
	return &m->card;
}
