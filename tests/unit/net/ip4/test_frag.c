/* net/ip4/frag.c alone: decisions, parking, which entries are reused. The application here
 * follows a decision if there is one, and parks a fragment otherwise. */
#include "net/ip4/frag.h"

#include "kernel/seam/io.h"
#include "net/gw.h"
#include "net/ip4/ip4.h"

#include "tests/tap.h"

static struct gw gw;
static struct pool pool;
static struct rng rng;
static unsigned followed;
static uint16_t order[256];

static enum verdict see(struct gw *g, struct pkt *p)
{
	struct frag_key key = frag_key(p);
	struct frag *f = frag_known(g, &key);
	if (!f)
		return frag_park(g, p) ? V_KEPT : gw_drop(g, p, DROP_FRAGMENT);
	frag_count(f, p);
	if (followed < ARRAY_SIZE(order))
		order[followed] = be16_get(ip4_header(p)->frag) & IP4_OFFSET;
	followed++;
	pkt_free(p);
	return V_KEPT;
}

static const struct forwarder app = {.ip4 = see};

static void start(uint32_t packets)
{
	uint32_t seed = 7;
	host_arena(4 << 20);
	memset(&gw, 0, sizeof gw);
	memset(&pool, 0, sizeof pool);
	memset(&rng, 0, sizeof rng);
	rng_seed(&rng, &seed, sizeof seed);
	CHECK(pkt_pool_init(&pool, packets, PKT_ROOM));
	gw.pool = &pool;
	gw.rng = &rng;
	gw.forwarder = &app;
	followed = 0;
	frag_init(&gw);
}

/* A fragment of packet `id`, offset in units of eight bytes. */
static struct pkt *piece(uint16_t id, uint16_t offset, uint16_t len, bool more)
{
	struct pkt *p = pkt_alloc(&pool);
	struct ip4_hdr *h = p ? (struct ip4_hdr *)pkt_put(p, 20u + len) : NULL;
	if (!h)
		return NULL;
	memset(h, 0, 20);
	h->version_ihl = 0x45;
	h->id = be16_of(id);
	h->frag = be16_of((uint16_t)(offset | (more ? IP4_MF : 0)));
	h->proto = PROTO_UDP;
	h->from = ip4_of(0xc0a8010a);
	h->to = ip4_of(0xc6336407);
	h->len = be16_of((uint16_t)(20 + len));
	h->sum = be16_from_raw((uint16_t)~csum_ip4_header(h));
	p->iface = IF_LAN;
	CHECK_EQ(ip4_parse(p), DROP_NONE);
	return p;
}

static void later(uint16_t id, uint16_t offset, bool more)
{
	struct pkt *p = piece(id, offset, 800, more);
	CHECK(p != NULL);
	if (p && see(&gw, p) == V_DROP)
		pkt_free(p);
}

static struct frag *first(uint16_t id)
{
	struct pkt *p = piece(id, 0, 800, true);
	struct frag_key key = frag_key(p);
	struct frag *f = frag_decide(&gw, &key);
	frag_count(f, p);
	pkt_free(p);
	frag_release(&gw, f);
	return f;
}

static struct frag *known(uint16_t id)
{
	struct pkt *p = piece(id, 0, 800, true);
	struct frag_key key = frag_key(p);
	pkt_free(p);
	return frag_known(&gw, &key);
}

static void pass(uint32_t ms)
{
	for (uint32_t i = 0; i < ms; i += 50) {
		gw.clock.ms += 50;
		frag_tick(&gw);
	}
}

static void all_back(void)
{
	CHECK_EQ(pool.n_free, pool.n_total);
	CHECK_EQ(pool.kept, 0);
	CHECK_EQ(gw.frags.n_parked, 0);
}

static void in_order(void)
{
	start(64);
	CHECK(!known(1));
	first(1);
	CHECK(known(1) && !known(2));
	later(1, 100, true);
	later(1, 200, false);
	CHECK_EQ(followed, 2);
	all_back();
}

static void out_of_order(void)
{
	start(64);
	later(1, 300, false);
	later(1, 100, true);
	later(1, 200, true);
	CHECK_EQ(followed, 0);
	CHECK_EQ(pool.kept, 3);
	first(1);
	CHECK_EQ(followed, 3);
	CHECK(order[0] == 300 && order[1] == 100 &&
	      order[2] == 200);  /* in the order in which they came */
	CHECK(known(1) == NULL); /* complete: the entry is not needed any more */
	all_back();
}

static void parking_time_is_limited(void)
{
	start(64);
	later(1, 100, true);
	pass(FRAG_WAIT_MS - 100);
	CHECK_EQ(pool.kept, 1);
	pass(200); /* all in less than a second */
	all_back();
	CHECK_EQ(gw.counts.drops[DROP_FRAGMENT], 1);
	CHECK_EQ(gw.frags.n_used, 0);
}

static void decision_lives_on(void)
{
	start(64);
	first(1);
	pass(FRAG_LIVE_MS - 100);
	CHECK(known(1) != NULL);
	pass(200);
	CHECK(!known(1));
	CHECK_EQ(gw.frags.n_used, 0);
}

/* The first fragment comes twice: the same decision. After the complete packet it begins
 * the next one. */
static void first_twice(void)
{
	start(64);
	struct frag *f = first(1);
	f->new_id = 77;
	CHECK_EQ(f->n_seen, 800);
	CHECK(first(1) == f);
	CHECK(f->new_id == 77 && f->n_seen == 1600);
	start(64);
	f = first(1);
	later(1, 100, false);
	CHECK_EQ(f->state, FRAG_DONE);
	struct pkt *p = piece(1, 0, 800, true);
	struct frag_key key = frag_key(p);
	pkt_free(p);
	CHECK(frag_decide(&gw, &key) == f);
	CHECK_EQ(f->n_seen, 0);
	CHECK_EQ(f->state, FRAG_KNOWN);
}

/* Packets whose keys differ in anything do not share an entry. */
static void keys(void)
{
	start(64);
	first(1);
	struct pkt *p = piece(1, 0, 8, true);
	struct frag_key key = frag_key(p);
	CHECK(frag_known(&gw, &key) != NULL);
	for (unsigned i = 0; i < 5; i++) {
		struct ip4_hdr was = *ip4_header(p), *h = ip4_header(p);
		if (i == 0)
			h->from.b[3]++;
		else if (i == 1)
			h->to.b[3]++;
		else if (i == 2)
			h->id.b[1]++;
		else if (i == 3)
			h->proto++;
		else
			p->iface = IF_WAN;
		key = frag_key(p);
		CHECK(frag_known(&gw, &key) == NULL);
		*h = was;
	}
	pkt_free(p);
}

static void one_packet_is_limited(void)
{
	start(512);
	for (uint16_t i = 1; i <= FRAG_PARKED + 5; i++)
		later(1, i, true);
	CHECK_EQ(pool.kept, FRAG_PARKED);
	CHECK_EQ(gw.counts.drops[DROP_FRAGMENT], 5);
	first(1);
	CHECK_EQ(followed, FRAG_PARKED);
	all_back();
}

static void all_packets_are_limited(void)
{
	start(1024);
	for (uint16_t id = 0; id < 400; id++)
		later(id, 1, true);
	CHECK(pool.kept <= FRAG_ALL);
	CHECK(pool.kept > FRAG_ALL / 2);
	pass(1000);
	all_back();
	/* A small pool allows a quarter of its packets. */
	start(64);
	for (uint16_t id = 0; id < 60; id++)
		later(id, 1, true);
	CHECK(pool.kept <= 16);
	pass(1000);
	all_back();
}

/* RFC 4787 REQ-14a: fragments without a first one do not harm packets in order, not even
 * while every entry is used. */
static void flood_of_later_fragments(void)
{
	start(1024);
	for (uint16_t id = 0; id < 3000; id++) {
		first((uint16_t)(10000 + id % 500));
		later(id, 1, true);
		unsigned was = followed;
		later((uint16_t)(10000 + id % 500), 100, true);
		CHECK_EQ(followed, was + 1);
	}
	pass(1000);
	all_back();
}

/* Entries of complete packets are reused for later fragments. */
static void entries_of_complete_packets_are_reused(void)
{
	start(1024);
	for (uint16_t id = 0; id < 4000; id++) {
		first(id);
		later(id, 100, false);
		CHECK(known(id) == NULL);
	}
	CHECK_EQ(gw.frags.n_used, FRAG_SETS * FRAG_WAYS);
	for (uint16_t id = 5000; id < 5040; id++)
		later(id, 100, false);
	CHECK_EQ(pool.kept, 40);
	unsigned was = followed;
	for (uint16_t id = 5000; id < 5040; id++)
		first(id);
	CHECK_EQ(followed, was + 40);
	all_back();
	pass(FRAG_LIVE_MS + 200);
	CHECK_EQ(gw.frags.n_used, 0);
}

/* Entries with decisions that are still needed are not reused for later fragments. */
static void decisions_stay(void)
{
	start(1024);
	for (uint16_t id = 0; id < 4000; id++)
		first(id);
	CHECK_EQ(gw.frags.n_used, FRAG_SETS * FRAG_WAYS);
	for (uint16_t id = 5000; id < 5100; id++)
		later(id, 100, false);
	CHECK_EQ(pool.kept, 0);
	CHECK_EQ(gw.counts.drops[DROP_FRAGMENT], 100);
}

int main(void)
{
	TEST(in_order);
	TEST(out_of_order);
	TEST(parking_time_is_limited);
	TEST(decision_lives_on);
	TEST(first_twice);
	TEST(keys);
	TEST(one_packet_is_limited);
	TEST(all_packets_are_limited);
	TEST(flood_of_later_fragments);
	TEST(entries_of_complete_packets_are_reused);
	TEST(decisions_stay);
	return tap_done();
}
