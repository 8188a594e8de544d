/* net/ip4/reasm.c alone: fragments in any order, what makes a packet invalid, which slot is
 * evicted, and that every buffer is freed. */
#include "net/ip4/reasm.h"

#include "kernel/seam/io.h"
#include "net/gw.h"
#include "net/ip4/ip4.h"

#include "tests/tap.h"

#define SENDER 0xc6336407u
#define OWN    0xcb007102u

static struct gw gw;
static struct pool pool;
static struct rng rng;
static struct reasm_table table;
static unsigned got; /* complete packets */
static uint8_t whole[PKT_HEADROOM + PKT_ROOM];
static uint32_t whole_len;

static enum verdict see(struct gw *g, struct pkt *p)
{
	(void)g;
	got++;
	CHECK_EQ(p->flags & (uint8_t)~PKT_OPTIONS, 0);
	CHECK_EQ(p->iface, IF_WAN);
	CHECK_EQ(p->l4 + p->l4_len, p->len);
	CHECK_EQ(csum_sum(p->data, p->l4), 0xffff);
	whole_len = p->len;
	memcpy(whole, p->data, p->len);
	pkt_free(p);
	return V_KEPT;
}

static const struct forwarder app = {.ip4 = see};

static void start(uint32_t packets)
{
	uint32_t seed = 7;
	host_arena(8 << 20);
	memset(&gw, 0, sizeof gw);
	memset(&pool, 0, sizeof pool);
	memset(&rng, 0, sizeof rng);
	memset(&table, 0, sizeof table);
	rng_seed(&rng, &seed, sizeof seed);
	CHECK(pkt_pool_init(&pool, packets, PKT_ROOM));
	gw.pool = &pool;
	gw.rng = &rng;
	gw.forwarder = &app;
	got = whole_len = 0;
	reasm_init(&gw, &table);
}

struct piece {
	uint32_t from;
	uint16_t id, at, len; /* bytes */
	bool more;
	uint8_t tos, fill, options;
};

/* Payload byte i of a packet is i, plus `fill`. */
static enum verdict send(struct piece f)
{
	struct pkt *p = pkt_alloc(&pool);
	uint32_t hlen = 20u + f.options;
	struct ip4_hdr *h = p ? (struct ip4_hdr *)pkt_put(p, hlen + f.len) : NULL;
	if (!h)
		return V_DROP;
	memset(h, IP4_OPT_NOP, hlen);
	*h = (struct ip4_hdr){
	        .version_ihl = (uint8_t)(0x40 | hlen / 4),
	        .tos = f.tos,
	        .len = be16_of((uint16_t)p->len),
	        .id = be16_of(f.id),
	        .frag = be16_of((uint16_t)(f.at / 8 | (f.more ? IP4_MF : 0))),
	        .ttl = 9,
	        .proto = PROTO_IP6,
	        .from = ip4_of(f.from ? f.from : SENDER),
	        .to = ip4_of(OWN),
	};
	h->sum = be16_from_raw((uint16_t)~csum_sum(h, hlen));
	for (uint32_t i = 0; i < f.len; i++)
		p->data[hlen + i] = (uint8_t)(f.at + i + f.fill);
	p->iface = IF_WAN;
	CHECK_EQ(ip4_parse(p), DROP_NONE);
	enum verdict v = reasm_ip4(&gw, &table, p);
	if (v == V_DROP)
		pkt_free(p);
	return v;
}

static void pass(uint32_t ms)
{
	for (uint32_t i = 0; i < ms; i += 50) {
		gw.clock.ms += 50;
		reasm_tick(&gw, &table);
	}
}

static void all_back(void)
{
	CHECK_EQ(pool.n_free, pool.n_total);
	CHECK_EQ(pool.kept, 0);
	CHECK_EQ(table.n_used, 0);
}

/* The last complete packet has n payload bytes, each with its value. */
static void is_whole(uint32_t hlen, uint32_t n)
{
	CHECK_EQ(whole_len, hlen + n);
	CHECK_EQ(whole[0], 0x40 | hlen / 4);
	CHECK_EQ(load16(whole + 6), 0);
	for (uint32_t i = 0; i < n && whole_len == hlen + n; i++)
		if (whole[hlen + i] != (uint8_t)i) {
			CHECK_EQ(i, n);
			break;
		}
}

static void any_order(void)
{
	static const struct piece part[3] = {{.len = 800, .more = true},
	                                     {.at = 800, .len = 600, .more = true},
	                                     {.at = 1400, .len = 81}};
	static const uint8_t order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
	                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	start(64);
	for (unsigned i = 0; i < 6; i++) {
		for (unsigned k = 0; k < 3; k++)
			CHECK_EQ(send(part[order[i][k]]), V_KEPT);
		CHECK_EQ(got, i + 1);
		is_whole(20, 1481);
		whole_len = 0;
		all_back();
	}
}

static void longest(void)
{
	start(64);
	send((struct piece){.len = 1480, .more = true});
	send((struct piece){.at = 1480, .len = 568});
	CHECK_EQ(got, 1);
	is_whole(20, 2048);
	all_back();
	/* One more does not fit, and ends the packet. */
	send((struct piece){.id = 1, .len = 1480, .more = true});
	CHECK_EQ(send((struct piece){.id = 1, .at = 1480, .len = 569}), V_DROP);
	CHECK_EQ(gw.counts.drops[DROP_REASSEMBLY], 1);
	CHECK_EQ(send((struct piece){.id = 1, .at = 1480, .len = 568}), V_DROP);
	CHECK_EQ(send((struct piece){.id = 2, .at = 65000, .len = 8}), V_DROP);
	CHECK_EQ(got, 1);
	pass(900);
	all_back();
}

static void smallest_fragments(void)
{
	start(64);
	for (uint16_t at = 0; at < 2040; at += 8)
		CHECK_EQ(send((struct piece){.at = at, .len = 8, .more = true}), V_KEPT);
	CHECK_EQ(send((struct piece){.at = 2040, .len = 1}), V_KEPT);
	is_whole(20, 2041);
	all_back();
}

/* Options of the first fragment stay, those of others are ignored. */
static void options(void)
{
	start(64);
	send((struct piece){.at = 800, .len = 9});
	send((struct piece){.len = 800, .more = true, .options = 40});
	is_whole(60, 809);
	send((struct piece){.at = 800, .len = 9, .options = 8});
	send((struct piece){.len = 800, .more = true});
	is_whole(20, 809);
	all_back();
}

static void bad_lengths(void)
{
	start(64);
	CHECK_EQ(send((struct piece){.len = 801, .more = true}), V_DROP);
	CHECK_EQ(send((struct piece){.at = 8, .len = 0}), V_DROP);
	CHECK_EQ(send((struct piece){.at = 0, .len = 0, .more = true}), V_DROP);
	CHECK_EQ(gw.counts.drops[DROP_FRAGMENT], 3);
	all_back();
}

static void repeated(void)
{
	start(64);
	for (unsigned i = 0; i < 3; i++)
		send((struct piece){.len = 800, .more = true});
	CHECK_EQ(gw.counts.drops[DROP_OVERLAP], 2);
	send((struct piece){.at = 1600, .len = 5});
	send((struct piece){.at = 1600, .len = 5});
	CHECK_EQ(gw.counts.drops[DROP_OVERLAP], 3);
	send((struct piece){.at = 800, .len = 800, .more = true});
	CHECK_EQ(got, 1);
	is_whole(20, 1605);
	all_back();
}

/* Two fragments that contradict each other, and one that would complete the packet without
 * the second one. */
static void overlaps(void)
{
	static const struct piece bad[][3] = {
	        {{.len = 800, .more = true},
	         {.len = 800, .more = true, .fill = 1},
	         {.at = 800, .len = 8}},
	        {{.len = 800, .more = true}, {.at = 792, .len = 8}, {.at = 800, .len = 8}},
	        {{.len = 800, .more = true}, {.at = 792, .len = 16}, {.at = 800, .len = 8}},
	        {{.at = 8, .len = 800}, {.len = 16, .more = true}, {.len = 8, .more = true}},
	        {{.at = 800, .len = 9}, {.len = 808, .more = true}, {.len = 800, .more = true}},
	        /* Two ends. */
	        {{.at = 800, .len = 8}, {.at = 808, .len = 8}, {.len = 800, .more = true}},
	        {{.at = 800, .len = 16}, {.at = 800, .len = 8}, {.len = 800, .more = true}},
	        /* Bytes behind the end. */
	        {{.at = 800, .len = 8},
	         {.at = 808, .len = 8, .more = true},
	         {.len = 800, .more = true}},
	        {{.at = 808, .len = 8, .more = true},
	         {.at = 800, .len = 8},
	         {.len = 800, .more = true}},
	        {{.at = 800, .len = 8, .more = true},
	         {.at = 800, .len = 8},
	         {.len = 800, .more = true}},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		start(64);
		CHECK_EQ(send(bad[i][0]), V_KEPT);
		CHECK_EQ(send(bad[i][1]), V_DROP);
		CHECK_EQ(gw.counts.drops[DROP_OVERLAP], 1);
		CHECK_EQ(pool.kept, 0);
		/* The rest of the packet is dropped too, even when all of it comes again. */
		CHECK_EQ(send(bad[i][2]), V_DROP);
		CHECK_EQ(send(bad[i][0]), V_DROP);
		CHECK_EQ(gw.counts.drops[DROP_REASSEMBLY], 2);
		CHECK_EQ(got, 0);
		pass(900);
		all_back();
	}
}

static void timeout(void)
{
	start(64);
	send((struct piece){.len = 800, .more = true});
	pass(700);
	CHECK_EQ(gw.counts.drops[DROP_REASSEMBLY], 0);
	CHECK_EQ(pool.kept, 1);
	/* A later fragment does not prolong its time. */
	send((struct piece){.at = 808, .len = 8});
	pass(200);
	CHECK_EQ(gw.counts.drops[DROP_REASSEMBLY], 1);
	all_back();
	send((struct piece){.at = 800, .len = 8, .more = true});
	CHECK_EQ(got, 0);
	pass(1000);
	all_back();
}

/* Packets of different senders and identifications are not mixed. */
static void packets_do_not_mix(void)
{
	start(64);
	send((struct piece){.id = 1, .len = 800, .more = true});
	send((struct piece){.id = 2, .at = 800, .len = 8});
	send((struct piece){.from = 0x01020304, .id = 1, .at = 800, .len = 8});
	CHECK_EQ(got, 0);
	CHECK_EQ(table.n_used, 3);
	send((struct piece){.id = 1, .at = 800, .len = 8});
	CHECK_EQ(got, 1);
	pass(1000);
	all_back();
}

/* RFC 3168 section 5.3. */
static void congestion(void)
{
	start(64);
	send((struct piece){.len = 800, .more = true, .tos = 0xfe});
	send((struct piece){.at = 800, .len = 8, .tos = 0xff});
	CHECK_EQ(got, 1);
	CHECK_EQ(whole[1], 0xff);
	send((struct piece){.at = 800, .len = 8, .tos = 3});
	send((struct piece){.len = 800, .more = true, .tos = 1});
	CHECK_EQ(whole[1], 3);
	send((struct piece){.len = 800, .more = true, .tos = 2});
	send((struct piece){.at = 800, .len = 8});
	CHECK_EQ(got, 3);
	CHECK_EQ(whole[1], 2);
	send((struct piece){.len = 800, .more = true});
	send((struct piece){.at = 800, .len = 8, .tos = 3});
	CHECK_EQ(got, 3);
	CHECK_EQ(gw.counts.drops[DROP_ECN], 1);
	all_back();
}

/* A flood of one sender takes its own slots and ends its own packets only. */
static void flood_of_one(void)
{
	start(1024);
	send((struct piece){.id = 9, .len = 800, .more = true});
	for (uint16_t id = 0; id < 5000; id++)
		CHECK_EQ(send((struct piece){.from = 0x0a000001, .id = id, .len = 8, .more = true}),
		         V_KEPT);
	CHECK(table.n_used <= REASM_WAYS + 1);
	CHECK(pool.kept <= REASM_WAYS + 1);
	/* Its newest packet is still there. */
	send((struct piece){.from = 0x0a000001, .id = 4999, .at = 8, .len = 8});
	CHECK_EQ(got, 1);
	send((struct piece){.id = 9, .at = 800, .len = 8});
	CHECK_EQ(got, 2);
	pass(1000);
	all_back();
}

/* Many senders take all slots and no more, and a sender whose fragments follow each other
 * is still served. */
static void flood_of_many(void)
{
	start(1024);
	for (uint32_t i = 1; i < 5000; i++)
		send((struct piece){.from = 0x0a000000 + i, .len = 8, .more = true});
	CHECK_EQ(table.n_used, REASM_SETS * REASM_WAYS);
	CHECK_EQ(pool.kept, REASM_SETS * REASM_WAYS);
	CHECK_EQ(gw.counts.drops[DROP_REASSEMBLY], 4999 - REASM_SETS * REASM_WAYS);
	send((struct piece){.id = 9, .len = 800, .more = true});
	send((struct piece){.id = 9, .at = 800, .len = 8});
	CHECK_EQ(got, 1);
	pass(1000);
	all_back();
	/* And then there is room again. */
	send((struct piece){.id = 9, .len = 800, .more = true});
	send((struct piece){.id = 9, .at = 800, .len = 8});
	CHECK_EQ(got, 2);
}

/* A quarter of the pool is the limit when it is smaller. */
static void small_pool(void)
{
	start(16);
	for (uint32_t i = 1; i < 50; i++)
		send((struct piece){.from = 0x0a000000 + i, .len = 8, .more = true});
	CHECK_EQ(pool.kept, 4);
	CHECK_EQ(pool.n_free, 12);
	pass(1000);
	all_back();
}

/* A fragment in the last buffer finds none for its packet: no buffer stays booked. */
static void empty_pool(void)
{
	struct pkt *held[15] = {0};
	start(16);
	for (unsigned i = 0; i < ARRAY_SIZE(held); i++)
		CHECK((held[i] = pkt_alloc(&pool)) != NULL);
	for (uint16_t id = 0; id < 10; id++)
		CHECK_EQ(send((struct piece){.id = id, .len = 8, .more = true}), V_DROP);
	CHECK_EQ(gw.counts.drops[DROP_REASSEMBLY], 10);
	CHECK_EQ(pool.kept, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(held); i++)
		if (held[i])
			pkt_free(held[i]);
	all_back();
	send((struct piece){.len = 800, .more = true});
	send((struct piece){.at = 800, .len = 8});
	CHECK_EQ(got, 1);
	all_back();
}

static void group_frame(void)
{
	start(16);
	struct pkt *p = pkt_alloc(&pool);
	struct ip4_hdr *h = (struct ip4_hdr *)pkt_put(p, 28);
	CHECK(h != NULL);
	memset(p->data, 0, 28);
	h->frag = be16_of(IP4_MF);
	p->l4 = 20;
	p->l4_len = 8;
	p->flags = PKT_L2_GROUP | PKT_FRAGMENT;
	CHECK_EQ(reasm_ip4(&gw, &table, p), V_DROP);
	CHECK_EQ(gw.counts.drops[DROP_MULTICAST], 1);
	pkt_free(p);
	all_back();
}

int main(void)
{
	TEST(any_order);
	TEST(longest);
	TEST(smallest_fragments);
	TEST(options);
	TEST(bad_lengths);
	TEST(repeated);
	TEST(overlaps);
	TEST(timeout);
	TEST(packets_do_not_mix);
	TEST(congestion);
	TEST(flood_of_one);
	TEST(flood_of_many);
	TEST(small_pool);
	TEST(empty_pool);
	TEST(group_frame);
	return tap_done();
}
