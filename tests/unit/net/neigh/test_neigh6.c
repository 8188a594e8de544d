/* net/neigh/neigh6.c: the limits of the table that IPv6 shares with IPv4, under any order of
 * events; and keys of the two families that look alike. What is visible on the wire is
 * tested in tests/sim/ip6/test_rfc4861.py. */
#include "net/ip6/ip6.h"
#include "net/neigh/neigh.h"
#include "tests/host/rig.h"

#include <stdio.h>

#include "tests/tap.h"

static struct rig rig;
static struct rng rng;
static unsigned n_questions, n_frames;

static void count(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	(void)r;
	(void)iface;
	if (frame[12] == 0x86 && len > 54 && frame[20] == 58 && frame[54] == 135)
		n_questions++;
	else
		n_frames++;
}

static void start(void)
{
	static const char text[] = "lan.address 2001:db8::1/32\nwan.address 2001:db7::2/64\n"
	                           "lan.address 10.0.0.1/8\nlan.ra off\n"
	                           "neighbour 2001:db8::77 02:00:00:00:00:77\n";
	rig.sink = count;
	rig_reset(&rig, 3, 4 << 20, 1000000);
	CHECK(rig_config(&rig, text, sizeof text - 1));
	const char *wrong = rig_start(&rig, "route6", 400);
	CHECK_STR(wrong ? wrong : "fine", "fine");
	rig_advance(&rig, 5000000);
	n_questions = n_frames = 0;
}

static ip6 address(uint32_t n)
{
	ip6 a = {{0x20, 1, 0x0d, 0xb8, 9}};
	store32(a.b + 12, swap32(n));
	return a;
}

/* A packet of ours to a neighbour on the LAN. */
static void send(uint32_t n)
{
	ip6 from = address(0), to = address(n);
	struct pkt *p = pkt_alloc(&rig.pool);
	if (!p || !pkt_put(p, 40))
		return;
	p->iface = PKT_IF_SELF;
	ip6_build(p, &from, &to, PROTO_NONE, 64);
	ip6_to_link(p, IF_LAN);
	gw_send6(&rig.gw, p);
	rig_flush(&rig);
}

static struct neigh *find(uint32_t n)
{
	ip6 a = address(n);
	return neigh_find6(&rig.gw.neigh, IF_LAN, &a);
}

static void hear(uint32_t n, uint8_t last)
{
	ip6 a = address(n);
	mac m = {{2, 9, 9, 9, 9, last}};
	neigh_heard6(&rig.gw, IF_LAN, &a, &m);
	rig_flush(&rig);
}

static void answer(uint32_t n, uint8_t last, uint32_t flags)
{
	ip6 a = address(n);
	mac m = {{2, 9, 9, 9, 9, last}};
	(void)neigh_answered6(&rig.gw, IF_LAN, &a, flags & 1 ? NULL : &m, flags & ~1u);
	rig_flush(&rig);
}

static void learn4(uint32_t addr)
{
	mac m = {{2, 4, 4, 4, 4, 4}};
	neigh_learn4(&rig.gw, IF_LAN, ip4_of(addr), &m, true, NEIGH_REACHABLE);
}

/* Parked packets and running resolutions are counted correctly and within their limits;
 * `ready` agrees with the state. */
static void check_bounds(void)
{
	uint32_t parked = 0, asking = 0;
	for (unsigned s = 0; s < NEIGH_SETS; s++)
		for (unsigned w = 0; w < NEIGH_WAYS; w++) {
			const struct neigh *n = &rig.gw.neigh.entry[s][w];
			uint32_t chain = 0;
			if (n->state == NEIGH_FREE)
				continue;
			for (const struct pkt *p = n->parked; p; p = p->next)
				chain++;
			CHECK_EQ(chain, n->n_parked);
			CHECK(chain <= NEIGH_PARKED && (chain == 0 || n->state == NEIGH_ASKING));
			bool usable = n->state >= NEIGH_REACHABLE && n->state != NEIGH_STALE;
			CHECK_EQ(n->ready,
			         usable ? (n->is6 ? NEIGH_READY6 : NEIGH_READY4) | n->iface : 0);
			CHECK_EQ(n->stamp != 0, n->ready != 0);
			parked += chain;
			asking += n->is6 && n->state == NEIGH_ASKING;
		}
	CHECK_EQ(parked, rig.gw.neigh.n_parked);
	CHECK_EQ(parked, rig.pool.kept);
	CHECK_EQ(asking, rig.gw.neigh.n_asking[true]);
	CHECK_EQ(rig.pool.n_free + parked, rig.free_at_start);
	CHECK(parked <= NEIGH_PARKED_ALL && asking <= 256);
}

static void any_order_of_events(void)
{
	start();
	for (int step = 0; step < 40000 && !tap_bad_here; step++) {
		uint32_t n = 2 + rng_below(&rng, rng_below(&rng, 2) ? 20 : 5000);
		uint32_t r = rng_below(&rng, 100);
		if (r < 50)
			send(n);
		else if (r < 60)
			hear(n, (uint8_t)r);
		else if (r < 75)
			answer(n, (uint8_t)(r & 1),
			       rng_u32(&rng) & (ND_SOLICITED | ND_OVERRIDE | 1));
		else if (r < 80)
			learn4(0x0a000000 + n);
		else if (r < 99 || rng_below(&rng, 50))
			rig_advance(&rig, rng_below(&rng, r < 81 ? 2000000 : 2000));
		else {
			rig_link(&rig, IF_LAN, false);
			rig_link(&rig, IF_LAN, true);
		}
		if (step % 50 == 0)
			check_bounds();
	}
	ip6 fixed = {{0x20, 1, 0x0d, 0xb8, [15] = 0x77}};
	const struct neigh *n = neigh_find6(&rig.gw.neigh, IF_LAN, &fixed);
	CHECK(n && n->state == NEIGH_STATIC && n->eth.to.b[5] == 0x77);
	CHECK(rig.gw.neigh.evicted > 100 && n_frames > 1000 && n_questions > 1000);
	rig_advance(&rig, 700000000);
	check_bounds();
	CHECK_EQ(rig.pool.n_free, rig.free_at_start);
}

/* An IPv6 address whose last words look like an IPv4 address in its mapped form, and one
 * with the same last word, are not that IPv4 neighbour, and the other way round. */
static void families_are_apart(void)
{
	mac m6 = {{2, 6, 6, 6, 6, 6}};
	unsigned found4 = 0, found6 = 0, tries = 0;
	start();
	for (uint32_t n = 0; n < 2000; n++) {
		ip6 a = {{0x20, 1, 0x0d, 0xb8, [10] = 0xff, [11] = 0xff, 10, 0, (uint8_t)(n >> 8),
		          (uint8_t)n}};
		uint32_t raw = ip6_word(&a, 3);
		neigh_heard6(&rig.gw, IF_LAN, &a, &m6);
		found4 += neigh_find4(&rig.gw.neigh, IF_LAN, raw) != NULL;
		/* In the set where the IPv4 neighbour would be looked up. */
		struct neigh *set = neigh_set4(&rig.gw.neigh, raw);
		*set = *neigh_find6(&rig.gw.neigh, IF_LAN, &a);
		found4 += neigh_find4(&rig.gw.neigh, IF_LAN, raw) != NULL;
		found4 += neigh_ready4(&rig.gw.neigh, IF_LAN, raw) != NULL;
		memset(set, 0, sizeof *set);
		learn4(0x0a010000 + n);
		ip6 mapped = {{[10] = 0xff, [11] = 0xff, 10, 1, (uint8_t)(n >> 8), (uint8_t)n}};
		found6 += neigh_find6(&rig.gw.neigh, IF_LAN, &mapped) != NULL;
		found6 += neigh_ready6(&rig.gw.neigh, IF_LAN, &mapped) != NULL;
		tries++;
	}
	CHECK_EQ(tries, 2000);
	CHECK_EQ(found4, 0);
	CHECK_EQ(found6, 0);
}

static void interfaces_are_apart(void)
{
	start();
	hear(5, 1);
	ip6 a = address(5);
	CHECK(find(5) != NULL);
	CHECK(neigh_find6(&rig.gw.neigh, IF_WAN, &a) == NULL);
}

static struct neigh_hint hint_of(struct neigh *n)
{
	return (struct neigh_hint){.at = n, .stamp = n->stamp};
}

/* A hint leads to its neighbour as long as packets can be sent there, and to no other one after it.
 */
static void a_hint_dies_with_its_neighbour(void)
{
	start();
	struct neigh_hint none = neigh_no_hint(&rig.gw.neigh, 0);
	CHECK(neigh_by_hint(&none) == NULL);
	learn4(0x0a000001);
	learn4(0x0a000002);
	struct neigh *a = neigh_find4(&rig.gw.neigh, IF_LAN, swap32(0x0a000001));
	struct neigh *b = neigh_find4(&rig.gw.neigh, IF_LAN, swap32(0x0a000002));
	struct neigh_hint first = hint_of(a), second = hint_of(b);
	CHECK(a != b && first.stamp != second.stamp);
	learn4(0x0a000001); /* the same again */
	CHECK(neigh_by_hint(&first) == a);
	CHECK(neigh_by_hint(&second) == b);
	neigh_set_state(&rig.gw, a, NEIGH_FAILED);
	CHECK(neigh_by_hint(&first) == NULL);
	neigh_set_state(&rig.gw, a, NEIGH_REACHABLE);
	CHECK(neigh_by_hint(&first) == NULL); /* it may be another one by now */
	first = hint_of(a);
	rig.gw.neigh.stamps =
	        UINT32_MAX - 2; /* the stamps begin again, without those that mean something */
	for (int i = 0; i < 4; i++) {
		neigh_set_state(&rig.gw, b, NEIGH_FAILED);
		neigh_set_state(&rig.gw, b, NEIGH_REACHABLE);
		CHECK(b->stamp != 0 && b->stamp != NEIGH_NO_STAMP);
	}
	CHECK(neigh_by_hint(&first) == a);
}

/* Resolutions of new addresses never evict a known neighbour of their set. */
static void resolutions_do_not_evict_known_neighbours(void)
{
	start();
	for (uint32_t n = 0; n < 300; n++)
		hear(n + 10, 1);
	unsigned before = 0, after = 0;
	for (uint32_t n = 0; n < 300; n++)
		before += find(n + 10) != NULL;
	for (uint32_t n = 0; n < 4000; n++) {
		send(100000 + n);
		rig_advance(&rig, 3000);
	}
	for (uint32_t n = 0; n < 300; n++)
		after += find(n + 10) != NULL;
	CHECK(before > 290);
	CHECK(after + 3 >= before); /* in a set full of known neighbours one is evicted */
	check_bounds();
}

int main(void)
{
	static const uint32_t seed = 11;
	rng_seed(&rng, &seed, sizeof seed);
	TEST(any_order_of_events);
	TEST(families_are_apart);
	TEST(interfaces_are_apart);
	TEST(a_hint_dies_with_its_neighbour);
	TEST(resolutions_do_not_evict_known_neighbours);
	return tap_done();
}
