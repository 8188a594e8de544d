/* Fuzzer: network cards that do anything, behind the models of their chips.
 *
 * The first byte of an input chooses the card, the others are a list of operations: frames come and
 * go, cables, hangs and resets that do not end as in the tests; besides, registers read as bytes of
 * the input, and what the card has written into memory (but not into packets) changes. Cards with
 * offloads are given partial packets, and virtio-net hands over some. Nothing may
 * be read or written out of place (sanitizers), each call takes a bounded time, frames have a
 * length that they may have, and at the end every packet is back in the pool. */
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "kernel/seam/io.h"
#include "net/lib/csum.h"
#include "net/offload/offload.h"
#include "tests/fuzz/cards.h"
#include "tests/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { POOL = 320, OPERATIONS = 200, LONGEST_US = 3000000 };

static const uint8_t *input;
static size_t left;
static uint32_t noise; /* so many reads of registers give bytes of the input */
static struct pool pool;
static uintptr_t pool_first, pool_last;
static struct nic *nic;
static struct card *c;
static uint32_t (*real_read[6])(void *ctx, uint32_t off, unsigned size);

static uint8_t next(void)
{
	if (left == 0)
		return 0;
	left--;
	return *input++;
}

/* --- the random device -------------------------------------------------------------------- */

static uint32_t noisy(unsigned bar, void *ctx, uint32_t off, unsigned size)
{
	uint32_t v = real_read[bar](ctx, off, size);
	if (!noise)
		return v;
	noise--;
	pci_model_lied();
	uint8_t how = next();
	if (how < 64)
		v = (uint32_t)next() << 24 | (uint32_t)next() << 16 | (uint32_t)next() << 8 |
		    next();
	else if (how < 192)
		v ^= 1u << (how & 31);
	return v & 0xffffffffu >> (32 - 8 * size);
}

static uint32_t read0(void *ctx, uint32_t off, unsigned size)
{
	return noisy(0, ctx, off, size);
}

static uint32_t read1(void *ctx, uint32_t off, unsigned size)
{
	return noisy(1, ctx, off, size);
}

static uint32_t read2(void *ctx, uint32_t off, unsigned size)
{
	return noisy(2, ctx, off, size);
}

static uint32_t read4(void *ctx, uint32_t off, unsigned size)
{
	return noisy(4, ctx, off, size);
}

static void wrap(void)
{
	static uint32_t (*const noisy_read[6])(void *, uint32_t, unsigned) = {read0, read1, read2,
	                                                                      NULL,  read4, NULL};
	for (unsigned i = 0; i < ARRAY_SIZE(noisy_read); i++) {
		real_read[i] = on_bus->bar[i].read;
		if (real_read[i] && noisy_read[i])
			on_bus->bar[i].read = noisy_read[i];
	}
}

/* True for a word that may be an address of memory. */
static bool address_like(const uint8_t *p)
{
	return host_dma(load32(p), 1) != NULL;
}

/* Changes bytes of memory that the card was given, but for those of packets: these may be somebody
 * else's by now. Addresses stay, and none appears: no driver can help against a card that writes
 * anywhere. The descriptors of virtio say how much may be written; virtio_lie changes its rings. */
static void corrupt(void)
{
	size_t n;
	uint8_t *p = pci_model_span(next(), &n);
	bool packet = (uintptr_t)p >= pool_first && (uintptr_t)p < pool_last;
	if (n < 4 || packet || card->driver == &virtio_net_driver)
		return;
	pci_model_lied();
	for (uint32_t changes = 1 + (next() & 3); changes; changes--) {
		size_t at = (next() | (size_t)next() << 8) % n, word = at & ~(size_t)3;
		uint8_t old = p[at];
		bool before = word + 4 <= n && address_like(p + word);
		p[at] = next();
		if (before || (word + 4 <= n && address_like(p + word)))
			p[at] = old;
	}
}

/* --- operations ----------------------------------------------------------------------------- */

/* A partial packet has pieces that come to its length, and room for headers in the first. */
static void check_partial(const struct pkt *p)
{
	uint32_t n = 0, total = 0;
	MUST(p->len >= min_u32(p->total, NIC_HEADER_MAX));
	for (const struct pkt *piece = p; piece; piece = piece->next, n++)
		total += piece->len;
	MUST(n <= PKT_PIECES && total == p->total);
	MUST(total >= NIC_FRAME_MIN && total <= PKT_TOTAL_MAX);
}

static void rx(uint32_t max)
{
	struct pkt *burst[NIC_BURST];
	uint32_t n = nic->ops->rx(nic, burst, max);
	MUST(n <= max);
	bool partial = n && burst[0]->flags & PKT_PARTIAL;
	while (n) {
		struct pkt *p = burst[--n];
		MUST(!(p->flags & PKT_PARTIAL) == !partial);
		if (partial)
			check_partial(p);
		else
			MUST(p->len >= NIC_FRAME_MIN && p->len <= NIC_FRAME_MAX);
		pkt_free_all(p);
	}
}

static void tx(uint32_t n, uint32_t len)
{
	struct pkt *burst[NIC_BURST];
	for (uint32_t i = 0; i < n; i++) {
		burst[i] = pkt_alloc(&pool);
		uint8_t *to = burst[i] ? pkt_put(burst[i], len) : NULL;
		if (!to) {
			n = i;
			break;
		}
		memset(to, 0x55, len);
	}
	uint32_t took = nic->ops->tx(nic, burst, n);
	MUST(took <= n);
	while (n > took)
		pkt_free(burst[--n]);
}

/* Writes the headers of TCP or UDP over IPv4 or IPv6. */
static uint32_t write_headers(uint8_t *f, uint32_t total, bool six, bool udp, uint8_t flags)
{
	uint32_t l4 = six ? 54 : 34;
	memset(f, 0x11, 256);
	store16(f + 12, swap16(six ? 0x86dd : 0x0800));
	f[14] = six ? 0x60 : 0x45;
	store16(f + (six ? 18 : 16), swap16((uint16_t)(total - (six ? 54 : 14))));
	f[six ? 20 : 23] = udp ? 17 : 6;
	if (!six) {
		store16(f + 20, 0);
		store16(f + 24, 0);
		store16(f + 24, (uint16_t)~csum_ip4_header(f + 14));
	}
	if (udp)
		store16(f + l4 + 4, swap16((uint16_t)(total - l4)));
	f[l4 + 12] = (uint8_t)(udp ? 0x11 : (5 + (flags & 3)) << 4);
	f[l4 + 13] = flags;
	return l4;
}

/* A packet of `total` bytes in pieces of `each`, which net/offload accepts; or NULL. */
static struct pkt *partial_packet(uint32_t total, uint32_t each, uint8_t how)
{
	struct pkt *first = NULL, **link = &first;
	for (uint32_t at = 0, n; at < total; at += n) {
		struct pkt *p = pkt_alloc(&pool);
		n = min_u32(at ? each : max_u32(each, 256), total - at);
		uint8_t *to = p ? pkt_put(p, n) : NULL;
		if (!to)
			break;
		memset(to, 0x55, n);
		p->next = NULL;
		p->flags = PKT_PARTIAL;
		*link = p;
		link = &p->next;
	}
	if (!first || first->len < min_u32(total, 256))
		return first;
	bool six = how & 1, udp = how & 2;
	first->total = total;
	first->segments = 1;
	first->segment = how & 4 ? (uint16_t)(next() * 6u) : 0;
	first->flags |= first->segment ? (six ? PKT_TSO6 : 0) | (udp ? PKT_USO : 0) : 0;
	uint8_t headers[256];
	first->l4 = (uint16_t)write_headers(headers, total, six, udp, next());
	first->l4_len = udp ? 6 : 16;
	memcpy(first->data, headers, min_u32(first->len, 80));
	return first;
}

/* True when the card takes such a packet. */
static bool takes(const struct pkt *p)
{
	uint32_t kind = p->flags & PKT_USO ? NIC_USO : p->flags & PKT_TSO6 ? NIC_TSO6 : NIC_TSO4;
	if (!p->segment && p->next)
		return false; /* see tx_partial in nic.h */
	if (p->segment &&
	    (!(nic->offloads & kind) || (p->flags & PKT_ECN && !(nic->offloads & NIC_ECN))))
		return false;
	return nic->offloads & NIC_SUM;
}

static void tx_partial(uint32_t n)
{
	struct pkt *burst[NIC_BURST];
	uint32_t made = 0;
	if (!nic->offloads)
		return;
	for (; n; n--) {
		uint8_t how = next();
		uint32_t total = 80 + next() * (how & 8 ? 250u : 6u), pieces = 0, len = 0;
		struct pkt *p = partial_packet(total, 1 + next() * 8u, how);
		for (const struct pkt *piece = p; piece; piece = piece->next, pieces++)
			len += piece->len;
		if (p && (len != total || pieces > PKT_PIECES ||
		          (!p->segment && total > NIC_FRAME_MAX) || offload_check(p) != DROP_NONE ||
		          !takes(p)))
			pkt_free_all(p);
		else if (p)
			burst[made++] = p;
	}
	uint32_t took = nic->ops->tx_partial(nic, burst, made);
	MUST(took <= made);
	while (made > took)
		pkt_free_all(burst[--made]);
}

static void arrive(uint32_t n, uint32_t len)
{
	static uint8_t frame[2048];
	memcpy(frame, address, 6);
	while (n--)
		card->receive(c, frame, len);
}

static void flags(uint8_t v)
{
	c->cable = v & 1;
	c->tx_hold = (v & 6) == 6;
	c->tx_hung = (v & 24) == 24;
	c->reset_stuck = (v & 96) == 96;
	c->gone = v >= 0xf0;
	card->send(c);
}

static void operate(void)
{
	uint8_t op = next();
	static const mac group[2] = {{{0x33, 0x33, 0, 0, 0, 1}}, {{1, 0, 0x5e, 0, 0, 1}}};
	switch (op & 15) {
	case 0:
	case 1:
	case 2:
		arrive(1 + (op >> 4), min_u32(60 + next() * 6u, CARD_FRAME_MOST));
		break;
	case 3:
	case 4:
		rx(1u + (op >> 4) * 2u);
		break;
	case 5:
	case 6:
		if (op & 128)
			tx_partial(1 + (op >> 4 & 3));
		else
			tx(1 + (op >> 4), next() * 6u);
		card->send(c);
		break;
	case 7:
	case 8:
		host_now_us += 1000u << (op >> 5);
		nic->ops->poll(nic, host_now_us);
		break;
	case 9:
		host_now_us += 2100000;
		nic->ops->poll(nic, host_now_us);
		break;
	case 10:
		nic->ops->arm(nic);
		break;
	case 11:
		nic->ops->filter(nic, op & 64, group, op >> 4 & 2);
		break;
	case 12:
		pci_model_lied();
		card->lie(c, next() | (next() & 15u) << 8, op & 128);
		break;
	case 13:
		flags(next());
		break;
	case 14:
		corrupt();
		break;
	default:
		noise = 1 + (op >> 4);
	}
}

static bool begin(void)
{
	struct pci_dev dev;
	uint32_t cursor = 0;
	pci_model_reset();
	host_arena(2u << 20);
	log_reset();
	host_now_us = 5000000;
	noise = 0;
	nic = NULL;
	MUST(pkt_pool_init(&pool, POOL, PKT_ROOM));
	pool_first = (uintptr_t)-1;
	pool_last = 0;
	for (uint32_t i = 0; i < POOL; i++) {
		uintptr_t at = (uintptr_t)pool.stack[i];
		pool_first = at < pool_first ? at : pool_first;
		pool_last =
		        at + sizeof(struct pkt) > pool_last ? at + sizeof(struct pkt) : pool_last;
	}
	uint8_t which = next();
	card = &cards[which % ARRAY_SIZE(cards)];
	on_bus = NULL;
	c = card->plug();
	on_bus = on_bus ? on_bus : &c->pci;
	wrap();
	MUST(pci_next(&cursor, &dev));
	noise = which & 128 ? next() : 0; /* while it starts */
	bool ok = card->driver->probe(&dev, &pool, &nic) == NULL;
	MUST(ok || pool.n_free == POOL);
	return ok;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	/* The models' faults are printed there. */
	if (!freopen("/dev/null", "w", stdout))
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input = data;
	left = size;
	if (!begin())
		return 0;
	for (unsigned i = 0; i < OPERATIONS && left; i++) {
		uint64_t before = host_now_us;
		operate();
		MUST(host_now_us - before < LONGEST_US + 2100000);
	}
	noise = 0;
	nic->ops->stop(nic);
	MUST(pool.n_free == POOL);
	return 0;
}
