/* net/neigh/neigh: the table's bounds under any order of events, which entry is evicted, and ticks
 * that come late. tests/sim/ip4/test_arp.py tests the ARP frames on the wire. */
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
	(void)len;
	if (frame[12] == 8 && frame[13] == 6)
		n_questions++;
	else
		n_frames++;
}

static void start(const char *more)
{
	static const char base[] = "lan.address 10.0.0.1/8\nwan.address 203.0.113.2/24\n"
	                           "gateway 203.0.113.1\nnat.sessions 100\n";
	rig.sink = count;
	rig_reset(&rig, 3, 4 << 20, 1000000);
	CHECK(rig_config(&rig, base, strlen(base)) && rig_config(&rig, more, strlen(more)));
	const char *wrong = rig_start(&rig, "nat", 400);
	CHECK_STR(wrong ? wrong : "fine", "fine");
	n_questions = n_frames = 0;
}

/* A packet of ours to a neighbour on the LAN. */
static void send(uint32_t to)
{
	struct pkt *p = pkt_alloc(&rig.pool);
	uint8_t *ip = p ? pkt_put(p, 28) : NULL;
	if (!p || !ip)
		return;
	memset(ip, 0, 28);
	p->iface = PKT_IF_SELF;
	p->out = IF_LAN;
	p->hop = swap32(to);
	p->flags = PKT_ROUTED;
	ip[0] = 0x45;
	gw_send(&rig.gw, p);
	rig_flush(&rig);
}

static void learn(uint32_t addr, uint8_t last, bool create)
{
	mac m = {{2, 9, 9, 9, 9, last}};
	neigh_learn4(&rig.gw, IF_LAN, ip4_of(addr), &m, create, NEIGH_REACHABLE);
	rig_flush(&rig);
}

static struct neigh *find(uint32_t addr)
{
	return neigh_find4(&rig.gw.neigh, IF_LAN, swap32(addr));
}

/* The counts of parked packets agree with each other and keep to their limits. */
static void check_bounds(void)
{
	uint32_t parked = 0, asking = 0;
	for (unsigned s = 0; s < NEIGH_SETS; s++)
		for (unsigned w = 0; w < NEIGH_WAYS; w++) {
			const struct neigh *n = &rig.gw.neigh.entry[s][w];
			uint32_t chain = 0;
			for (const struct pkt *p = n->parked; n->state && p; p = p->next)
				chain++;
			if (n->state == NEIGH_FREE)
				continue;
			CHECK_EQ(chain, n->n_parked);
			CHECK(chain <= NEIGH_PARKED);
			CHECK(chain == 0 || n->state == NEIGH_ASKING);
			parked += chain;
			asking += n->state == NEIGH_ASKING;
		}
	CHECK_EQ(asking, rig.gw.neigh.n_asking[false]);
	CHECK_EQ(parked, rig.gw.neigh.n_parked);
	CHECK_EQ(parked, rig.pool.kept);
	CHECK_EQ(rig.pool.n_free + parked, rig.free_at_start);
	CHECK(parked <= NEIGH_PARKED_ALL);
}

static void any_order_of_events(void)
{
	start("neighbour 10.0.0.7 02:00:00:00:00:77\n");
	for (int step = 0; step < 40000 && !tap_bad_here; step++) {
		uint32_t addr = 0x0a000002 + rng_below(&rng, rng_below(&rng, 2) ? 20 : 5000);
		uint32_t r = rng_below(&rng, 100);
		if (r < 60)
			send(addr);
		else if (r < 80)
			learn(addr, (uint8_t)r, r & 1);
		else if (r < 99 || rng_below(&rng, 50))
			rig_advance(&rig, rng_below(&rng, r < 81 ? 1000000 : 1000));
		else {
			rig_link(&rig, IF_LAN, false);
			rig_link(&rig, IF_LAN, true);
		}
		if (step % 50 == 0)
			check_bounds();
	}
	struct neigh *fixed = find(0x0a000007);
	CHECK(fixed && fixed->state == NEIGH_STATIC && fixed->eth.to.b[5] == 0x77);
	CHECK(rig.gw.neigh.evicted > 100 && n_frames > 1000 && n_questions > 1000);
	rig_advance(&rig, 200000000);
	check_bounds();
	CHECK_EQ(rig.pool.n_free, rig.free_at_start);
}

/* Addresses that share a set with `first`. */
static unsigned same_set(uint32_t first, uint32_t *out, unsigned n)
{
	unsigned got = 0;
	uint32_t mul = rig.gw.neigh.mul[3];
	for (uint32_t a = 0x0a000100; got < n; a++)
		if (swap32(a) * mul >> 24 == swap32(first) * mul >> 24 && a != first)
			out[got++] = a;
	return got;
}

static void in_use_outlives_the_idle(void)
{
	uint32_t other[40], used = 0x0a000050;
	start("");
	same_set(used, other, 40);
	learn(used, 1, true);
	send(used);
	for (unsigned i = 0; i < 40; i++) {
		rig_advance(&rig, 100000);
		learn(other[i], 2, true);
		send(used);
	}
	CHECK(find(used) && find(used)->state == NEIGH_REACHABLE);
	CHECK(find(other[39]) != NULL);
	CHECK_EQ(rig.gw.neigh.evicted, 40 - (NEIGH_WAYS - 1));
}

static void questions_do_not_push_out_who_is_known(void)
{
	uint32_t other[40], known = 0x0a000050;
	start("");
	same_set(known, other, 40);
	learn(known, 1, true);
	for (unsigned i = 0; i < 40; i++)
		send(other[i]);
	CHECK(find(known) && neigh_usable(find(known)));
	check_bounds();
}

static void a_set_of_fixed_entries_is_full(void)
{
	uint32_t other[NEIGH_WAYS];
	start("");
	same_set(0x0a000050, other, NEIGH_WAYS);
	mac m = {{2, 1, 1, 1, 1, 1}};
	for (unsigned i = 0; i < NEIGH_WAYS; i++)
		neigh_learn4(&rig.gw, IF_LAN, ip4_of(other[i]), &m, true, NEIGH_STATIC);
	send(0x0a000050);
	CHECK(find(0x0a000050) == NULL);
	CHECK_EQ(rig.gw.counts.drops[DROP_NEIGHBOUR_QUEUE], 1);
	learn(0x0a000050, 1, true);
	CHECK(find(0x0a000050) == NULL);
	check_bounds();
}

/* An entry that was not in use when it was to be asked again is asked soon after it is used. */
static void used_late(void)
{
	start("");
	learn(0x0a000050, 1, true);
	rig_advance(&rig, 55000000);
	CHECK_EQ(n_questions, 0);
	send(0x0a000050);
	rig_advance(&rig, 1100000);
	CHECK_EQ(n_questions, 1);
	CHECK(find(0x0a000050) && neigh_usable(find(0x0a000050)));
	learn(0x0a000060, 1, true);
	rig_advance(&rig, 60200000);
	CHECK(find(0x0a000060) == NULL); /* never used */
}

/* After a tick that comes very late, requests do not come in a burst. */
static void late_turn(void)
{
	start("");
	send(0x0a000050);
	CHECK_EQ(n_questions, 1);
	rig.gw.clock.us += 60000000;
	(void)gw_tick(&rig.gw);
	rig_flush(&rig);
	CHECK_EQ(n_questions, 2);
	check_bounds();
}

static void ports_are_apart(void)
{
	start("");
	learn(0xcb007101, 1, true); /* on the LAN, an address of the WAN */
	CHECK(find(0xcb007101) != NULL);
	CHECK(neigh_find4(&rig.gw.neigh, IF_WAN, swap32(0xcb007101)) == NULL);
}

/* During a scan of so many addresses a second, packets go to 40 hosts that answer a request within
 * two milliseconds. Gives how many of them are found at the first attempt. */
static unsigned found_in_a_scan(uint32_t each_ms)
{
	unsigned found = 0;
	uint32_t next = 0x0a100000;
	start("");
	for (uint32_t ms = 0; ms < 4000; ms++) {
		for (uint32_t i = 0; i < each_ms; i++)
			send(next++);
		uint32_t host = 0x0a200000 + ms / 100;
		if (ms % 100 == 50)
			send(host);
		if (ms % 100 == 52) {
			learn(host, 3, false);
			found += find(host) && find(host)->state == NEIGH_REACHABLE;
		}
		rig_advance(&rig, 1000);
	}
	check_bounds();
	return found;
}

static void hosts_are_found_in_a_scan(void)
{
	CHECK_EQ(found_in_a_scan(1), 40);
	CHECK_EQ(found_in_a_scan(5), 40);
	CHECK_EQ(found_in_a_scan(50), 40);
}

int main(void)
{
	static const uint32_t seed = 11;
	rng_seed(&rng, &seed, sizeof seed);
	TEST(any_order_of_events);
	TEST(in_use_outlives_the_idle);
	TEST(questions_do_not_push_out_who_is_known);
	TEST(a_set_of_fixed_entries_is_full);
	TEST(used_late);
	TEST(late_turn);
	TEST(ports_are_apart);
	TEST(hosts_are_found_in_a_scan);
	return tap_done();
}
