/* net/autoconf/autoconf_table: any order of advertisements and ends keeps the tables within their
 * bounds and without doubles, nothing lives longer than it was said to, and the routes are those of
 * the best routers. tests/sim/autoconf tests what the RFCs say. */
#include "net/autoconf/autoconf_table.h"

#include "kernel/lib/log.h"
#include "kernel/lib/rng.h"

#include <stdio.h>
#include <string.h>

#include "tests/tap.h"

#define S 1000000ull

static struct autoconf a;
static struct rng rng;
static uint64_t now;

static ip6 router(uint32_t i)
{
	return (ip6){{0xfe, 0x80, [14] = (uint8_t)(i >> 8), [15] = (uint8_t)i}};
}

static ip6 net(uint32_t i)
{
	return (ip6){{0x20, 1, 0x0d, 0xb8, (uint8_t)(i >> 8), (uint8_t)i}};
}

static void start(void)
{
	memset(&a, 0, sizeof a);
	now = 5 * S;
	log_reset();
}

static void comes(uint32_t i, uint32_t lifetime, enum autoconf_rank rank)
{
	const ip6 r = router(i);
	autoconf_table_router(&a, now, &r, lifetime, rank);
}

static ip6 used(void)
{
	struct autoconf_hop hop[1 + AUTOCONF_ROUTES];
	uint32_t n = autoconf_table_hops(&a, hop);
	return n && hop[0].len == 0 ? hop[0].via : (ip6){{0}};
}

static void the_best_router_is_used(void)
{
	const ip6 none = {{0}}, first = router(1), second = router(2), third = router(3);
	start();
	CHECK(ip6_eq(&(ip6){{0}}, &none) && !autoconf_table_has_default(&a));
	comes(1, 100, AUTOCONF_MEDIUM);
	comes(2, 100, AUTOCONF_MEDIUM);
	comes(3, 100, AUTOCONF_LOW);
	ip6 is = used();
	CHECK(ip6_eq(&is, &first)); /* the one known longer */
	comes(2, 100, AUTOCONF_HIGH);
	is = used();
	CHECK(ip6_eq(&is, &second));
	a.router[0].silent = a.router[1].silent = true;
	is = used();
	CHECK(ip6_eq(&is, &third)); /* one that answers goes before all others */
	a.router[2].silent = true;
	is = used();
	CHECK(ip6_eq(&is, &second));
	comes(2, 0, AUTOCONF_HIGH);
	is = used();
	CHECK(ip6_eq(&is, &first));
	CHECK(autoconf_table_has_default(&a));
	now += 101 * S;
	autoconf_table_expire(&a, now);
	CHECK_EQ(a.n_routers, 0);
	CHECK(!autoconf_table_has_default(&a));
	is = used();
	CHECK(ip6_eq(&is, &none));
}

static void a_full_table_keeps_what_answers(void)
{
	start();
	for (uint32_t i = 0; i < AUTOCONF_ROUTERS; i++)
		comes(i, 9000, AUTOCONF_MEDIUM);
	comes(100, 9000, AUTOCONF_HIGH);
	CHECK_EQ(a.n_routers, AUTOCONF_ROUTERS);
	CHECK_EQ(a.refused, 1);
	a.router[3].silent = true;
	comes(100, 9000, AUTOCONF_HIGH);
	const ip6 is = router(100);
	CHECK_EQ(a.n_routers, AUTOCONF_ROUTERS);
	CHECK(ip6_eq(&a.router[AUTOCONF_ROUTERS - 1].addr, &is));
	/* Of a prefix, that of a router that is gone. */
	const ip6 gone = router(200), stays = router(0);
	for (uint32_t i = 0; i < AUTOCONF_PREFIXES; i++) {
		const ip6 p = net(i);
		autoconf_table_on_link(&a, now, i == 5 ? &gone : &stays, &p, 64, 9000);
	}
	const ip6 fresh = net(77), replaced = net(5);
	autoconf_table_address(&a, now, &stays, &fresh, 9000, 9000);
	CHECK(ip6_eq(&a.prefix[5].net, &fresh));
	autoconf_table_address(&a, now, &stays, &replaced, 9000, 9000);
	CHECK_EQ(a.refused, 2);
}

static void new_entries_are_few_in_time(void)
{
	start();
	for (uint32_t i = 0; i < 1000; i++) {
		comes(1, 100, AUTOCONF_MEDIUM);
		comes(1, 0, AUTOCONF_MEDIUM);
	}
	CHECK(a.refused >= 1000 - 33);
	now += 10 * S;
	a.refused = 0;
	for (uint32_t i = 0; i < 100; i++) {
		comes(1, 100, AUTOCONF_MEDIUM);
		comes(1, 0, AUTOCONF_MEDIUM);
	}
	CHECK(a.refused >= 88 && a.refused <= 91);
}

static void the_two_hour_rule(void)
{
	const ip6 r = router(1), p = net(1);
	start();
	autoconf_table_address(&a, now, &r, &p, 10000, 500);
	CHECK_EQ(autoconf_table_left(now, a.prefix[0].valid_us), 10000);
	autoconf_table_address(&a, now, &r, &p, 7201, 0);
	CHECK_EQ(autoconf_table_left(now, a.prefix[0].valid_us), 7201);
	CHECK_EQ(autoconf_table_left(now, a.prefix[0].preferred_us), 0);
	autoconf_table_address(&a, now, &r, &p, 7200, 0);
	CHECK_EQ(autoconf_table_left(now, a.prefix[0].valid_us), 7200);
	now += 100 * S;
	autoconf_table_address(&a, now, &r, &p, 7000, 0);
	CHECK_EQ(autoconf_table_left(now, a.prefix[0].valid_us), 7100);
	autoconf_table_address(&a, now, &r, &p, 7150, 0);
	CHECK_EQ(autoconf_table_left(now, a.prefix[0].valid_us), 7150);
	autoconf_table_address(&a, now, &r, &p, UINT32_MAX, 0);
	CHECK_EQ(autoconf_table_left(now, a.prefix[0].valid_us), UINT32_MAX);
}

/* --- anything ------------------------------------------------------------------------------- */

/* The latest end that was ever said for something; it may not live longer. */
static uint64_t latest_us;

static uint32_t some_lifetime(void)
{
	static const uint32_t some[] = {0, 0, 1, 30, 7199, 7200, 7201, 90000};
	return some[rng_below(&rng, ARRAY_SIZE(some))];
}

static void something(void)
{
	const ip6 r = router(rng_below(&rng, 20)), n = net(rng_below(&rng, 20));
	uint32_t life = some_lifetime();
	enum autoconf_rank rank = (enum autoconf_rank)rng_below(&rng, 3);
	uint8_t len = rng_below(&rng, 2) ? 64 : 48;
	uint64_t end = now + max_u32(life, 7200) * S;
	if (end > latest_us)
		latest_us = end;
	switch (rng_below(&rng, 10)) {
	case 0:
		autoconf_table_router(&a, now, &r, life, rank);
		break;
	case 1:
		autoconf_table_on_link(&a, now, &r, &n, len, life);
		break;
	case 2:
		autoconf_table_address(&a, now, &r, &n, life, rng_below(&rng, life + 1));
		break;
	case 3:
	case 4:
		autoconf_table_route(&a, now, &r, &n, len, life, rank);
		break;
	case 5:
		autoconf_table_server(&a, now, &r, &n, life);
		break;
	case 6:
		autoconf_table_pref64(&a, now, &r, &n, len, life);
		break;
	case 7:
		if (a.n_routers)
			a.router[rng_below(&rng, a.n_routers)].silent ^= true;
		break;
	case 8:
		autoconf_table_no_router(&a, &r);
		break;
	default:
		now += rng_below(&rng, 600) * S;
		autoconf_table_expire(&a, now);
	}
}

static const struct autoconf_router *router_of(const ip6 *addr)
{
	for (uint32_t i = 0; i < a.n_routers; i++)
		if (ip6_eq(&a.router[i].addr, addr))
			return &a.router[i];
	return NULL;
}

static bool has_route(const ip6 *r)
{
	for (uint32_t i = 0; i < a.n_routes; i++)
		if (ip6_eq(&a.route[i].router, r))
			return true;
	return false;
}

/* False when a table is too full, has a double, or something without a purpose. */
static bool is_sound(void)
{
	if (a.n_routers > AUTOCONF_ROUTERS || a.n_prefixes > AUTOCONF_PREFIXES ||
	    a.n_routes > AUTOCONF_ROUTES || a.n_servers > AUTOCONF_SERVERS ||
	    a.n_pref64 > AUTOCONF_PREF64)
		return false;
	for (uint32_t i = 0; i < a.n_routers; i++) {
		const struct autoconf_router *r = &a.router[i];
		if (router_of(&r->addr) != r || (!r->until_us && !has_route(&r->addr)))
			return false;
	}
	for (uint32_t i = 0; i < a.n_prefixes; i++)
		for (uint32_t k = 0; k < i; k++)
			if (a.prefix[i].len == a.prefix[k].len &&
			    ip6_eq(&a.prefix[i].net, &a.prefix[k].net))
				return false;
	for (uint32_t i = 0; i < a.n_routes; i++) {
		if (!router_of(&a.route[i].router))
			return false;
		for (uint32_t k = 0; k < i; k++)
			if (a.route[i].len == a.route[k].len &&
			    ip6_eq(&a.route[i].net, &a.route[k].net) &&
			    ip6_eq(&a.route[i].router, &a.route[k].router))
				return false;
	}
	for (uint32_t i = 0; i < a.n_servers; i++)
		for (uint32_t k = 0; k < i; k++)
			if (ip6_eq(&a.server[i].addr, &a.server[k].addr))
				return false;
	return true;
}

/* How good the router of a hop is, by the definition. */
static int worth(const ip6 *r, uint8_t rank)
{
	const struct autoconf_router *of = router_of(r);
	return of ? rank + (of->silent ? 0 : 3) : -1;
}

/* False when a hop is not the best one to its network, or one is missing or twice there. */
static bool has_best_hops(void)
{
	struct autoconf_hop hop[1 + AUTOCONF_ROUTES];
	uint32_t n = autoconf_table_hops(&a, hop);
	for (uint32_t i = 0; i < n; i++) {
		int is = -1, best = -1;
		for (uint32_t k = 0; k < a.n_routers && hop[i].len == 0; k++) {
			int w = a.router[k].until_us ? worth(&a.router[k].addr, a.router[k].rank)
			                             : -1;
			is = ip6_eq(&a.router[k].addr, &hop[i].via) ? w : is;
			best = w > best ? w : best;
		}
		for (uint32_t k = 0; k < a.n_routes; k++) {
			const struct autoconf_route *r = &a.route[k];
			if (r->len != hop[i].len || !ip6_eq(&r->net, &hop[i].net))
				continue;
			int w = worth(&r->router, r->rank);
			is = ip6_eq(&r->router, &hop[i].via) ? w : is;
			best = w > best ? w : best;
		}
		if (is < 0 || is != best)
			return false;
		for (uint32_t k = 0; k < i; k++)
			if (hop[k].len == hop[i].len && ip6_eq(&hop[k].net, &hop[i].net))
				return false;
	}
	return (n > 0) == (autoconf_table_has_default(&a) || a.n_routes > 0);
}

static void anything(void)
{
	start();
	rng_seed(&rng, "autoconf", 8);
	latest_us = 0;
	bool sound = true, best = true;
	for (uint32_t i = 0; i < 200000; i++) {
		something();
		if (i % 4096 == 0)
			log_reset();
		sound &= is_sound();
		best &= has_best_hops();
	}
	CHECK(sound);
	CHECK(best);
	CHECK(a.refused > 0);
	autoconf_table_expire(&a, latest_us + 1);
	CHECK_EQ(a.n_routers + a.n_prefixes + a.n_routes + a.n_servers + a.n_pref64, 0);
	autoconf_table_clear(&a);
}

int main(void)
{
	TEST(the_best_router_is_used);
	TEST(a_full_table_keeps_what_answers);
	TEST(new_entries_are_few_in_time);
	TEST(the_two_hour_rule);
	TEST(anything);
	return tap_done();
}
