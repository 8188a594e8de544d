/* net/ip6/ip6.c and net/setup/gw_setup6.c: the walk over extension headers and the routes against
 * simple models, the choice of our address, and addresses that are removed. What is visible
 * on the wire is tested in tests/sim/ip6/test_rfc8200.py. */
#include "kernel/lib/fmt.h"
#include "net/gw_address.h"
#include "net/setup/gw_setup6.h"
#include "net/ip6/ip6.h"
#include "net/ip6/mld.h"
#include "net/neigh/neigh.h"
#include "tests/host/rig.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/tap.h"

static struct rig rig;
static struct rng rng;

static ip6 parse(const char *text)
{
	ip6 a = {{0}};
	CHECK(addr_ip6(text, strlen(text), &a));
	return a;
}

static void start(const char *more)
{
	static const char base[] = "lan.address 2001:db8:1::1/64\nwan.address 2001:db8:2::2/64\n"
	                           "gateway 2001:db8:2::1\nlan.ra off\n";
	rig_reset(&rig, 3, 4 << 20, 1000000);
	CHECK(rig_config(&rig, base, strlen(base)) && rig_config(&rig, more, strlen(more)));
	const char *wrong = rig_start(&rig, "route6", 100);
	CHECK_STR(wrong ? wrong : "fine", "fine");
	rig_advance(&rig, 5000000);
}

/* --- parsing ------------------------------------------------------------------------ */

/* The result of a walk that follows RFC 8200 word for word. */
struct model {
	uint32_t l4;
	uint8_t proto;
	bool fragment, later, source_route;
};

static bool is_extension(uint8_t proto)
{
	return proto == 0 || proto == 43 || proto == 44 || proto == 51 || proto == 60;
}

static struct model walk(const uint8_t *b, uint32_t n)
{
	struct model m = {.l4 = 40, .proto = b[6]};
	while (is_extension(m.proto)) {
		if (n - m.l4 < 8)
			break;
		const uint8_t *h = b + m.l4;
		uint32_t len = m.proto == 44   ? 8
		               : m.proto == 51 ? (h[1] + 2u) * 4
		                               : (h[1] + 1u) * 8;
		if (len > n - m.l4)
			break;
		if (m.proto == 43 && h[2] == 0 && h[3])
			m.source_route = true;
		bool cut = m.proto == 44 && ((h[2] << 8 | h[3]) & 0xfff9);
		m.fragment |= cut;
		m.later = m.proto == 44 && ((h[2] << 8 | h[3]) & 0xfff8);
		m.proto = h[0];
		m.l4 += len;
		if (m.later)
			break;
	}
	return m;
}

/* A packet of random headers, most of them valid ones. */
static uint32_t random_chain(uint8_t *b)
{
	static const uint8_t protos[] = {0, 43, 44, 51, 60, 60, 6, 17, 58, 59, 135, 50};
	uint32_t n = 40 + rng_below(&rng, 200);
	rng_bytes(&rng, b, n);
	b[0] = (uint8_t)(0x60 | (b[0] & 15));
	uint32_t at = 40;
	uint8_t *next = &b[6];
	while (at + 8 <= n && rng_below(&rng, 8)) {
		*next = protos[rng_below(&rng, ARRAY_SIZE(protos))];
		next = &b[at];
		b[at + 1] = (uint8_t)rng_below(&rng, rng_below(&rng, 4) ? 3 : 256);
		if (rng_below(&rng, 4))
			b[at + 2] = 0;
		if (rng_below(&rng, 4))
			b[at + 3] = (uint8_t)rng_below(&rng, 2);
		at += *next == 44 ? 8 : (b[at + 1] + 1u) * 8;
	}
	*next = protos[rng_below(&rng, ARRAY_SIZE(protos))];
	return n;
}

static void any_chain(void)
{
	unsigned wrong = 0, seen[3] = {0};
	start("");
	for (int i = 0; i < 200000; i++) {
		struct pkt *p = pkt_alloc(&rig.pool);
		uint8_t b[256];
		uint32_t n = random_chain(b), padding = rng_below(&rng, 3);
		uint8_t *to = p ? pkt_put(p, n + padding) : NULL;
		if (!p || !to)
			break;
		memset(to, 0xee, n + padding);
		memcpy(to, b, n);
		to[4] = (uint8_t)((n - 40) >> 8);
		to[5] = (uint8_t)(n - 40);
		p->flags = (uint16_t)rng_u32(&rng);
		struct model m = walk(to, n);
		enum drop found = ip6_parse(p),
		          expect = m.source_route ? DROP_SOURCE_ROUTE : DROP_NONE;
		if (n == 40 && to[6] == 0)
			expect = DROP_IP_LENGTH;
		wrong += found != expect;
		if (expect != DROP_IP_LENGTH) {
			wrong += p->len != n || p->l4 != m.l4 || p->l4_len != n - m.l4;
			wrong += p->proto != m.proto || !(p->flags & PKT_LATER) != !m.later ||
			         !(p->flags & PKT_FRAGMENT) != !m.fragment ||
			         !(p->flags & PKT_OPTIONS) != !is_extension(to[6]);
		}
		seen[0] += m.later;
		seen[1] += m.source_route;
		seen[2] += m.l4 > 80;
		pkt_free(p);
	}
	CHECK_EQ(wrong, 0);
	CHECK(seen[0] > 1000 && seen[1] > 1000 && seen[2] > 1000);
}

/* --- routes ------------------------------------------------------------------------- */

static struct entry {
	ip6 net, via;
	uint8_t len;
} entry[NET_ROUTES];
static unsigned n_entries;

static unsigned common_bits(const ip6 *a, const ip6 *b)
{
	unsigned n = 0;
	while (n < 128 && ((a->b[n / 8] ^ b->b[n / 8]) >> (7 - n % 8) & 1) == 0)
		n++;
	return n;
}

static const ip6 *model_hop(const ip6 *to)
{
	const struct entry *best = NULL;
	for (unsigned i = 0; i < n_entries; i++)
		if (common_bits(&entry[i].net, to) >= entry[i].len &&
		    (!best || entry[i].len > best->len))
			best = &entry[i];
	return best ? &best->via : NULL;
}

static void model_add(const char *net, uint8_t len, const char *via)
{
	entry[n_entries++] = (struct entry){parse(net), parse(via), len};
}

/* An address that differs from a known one in some bits. */
static ip6 near(void)
{
	ip6 a = parse(rng_below(&rng, 2) ? "2001:db8:1::1" : "2001:db8:2::5");
	for (unsigned k = rng_below(&rng, 3); k-- > 0;) {
		unsigned bit = rng_below(&rng, 128);
		a.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	a.b[0] = 0x20;
	return a;
}

static unsigned differs_from_model(const ip6 *to)
{
	struct pkt p = {0};
	bool found = ip6_route(&rig.gw, &p, to);
	const ip6 *hop = model_hop(to);
	const struct route6 *r = route6_for(&rig.gw.routes6, to);
	if (!hop)
		return found || r;
	if (!found || !r)
		return 1;
	if (hop->b[15] == 0xfe) /* an address of ours */
		return p.out != PKT_IF_SELF || !(p.flags & PKT_ROUTED);
	if (p.out != r->iface || !(p.flags & PKT_ROUTED))
		return 1;
	struct ip6_hdr h = {.to = *to};
	p.data = (uint8_t *)&h;
	return !ip6_eq(ip6_hop_of(&rig.gw, &p), hop->b[15] == 0xff ? to : hop);
}

static void longest_prefix(void)
{
	unsigned wrong = 0;
	for (int round = 0; round < 30; round++) {
		start("");
		n_entries = 0;
		model_add("2001:db8:1::", 64, "::ff"); /* connected */
		model_add("2001:db8:2::", 64, "::ff");
		model_add("2001:db8:1::1", 128,
		          "::fe"); /* and our own addresses: unicast, anycast */
		model_add("2001:db8:2::2", 128, "::fe");
		model_add("2001:db8:1::", 128, "::fe");
		model_add("2001:db8:2::", 128, "::fe");
		model_add("::", 0, "2001:db8:2::1");
		for (unsigned i = 1 + rng_below(&rng, 40); i-- > 0;) {
			ip6 net = near(), via = parse("2001:db8:1::1:0");
			uint8_t len = (uint8_t)rng_below(&rng, 65);
			via.b[15] = (uint8_t)(1 + rng_below(&rng, 250));
			CHECK(route6_add(&rig.gw.routes6, rig.gw.iface, &net, len, &via, IF_LAN));
			entry[n_entries++] = (struct entry){net, via, len};
		}
		for (int i = 0; i < 3000; i++) {
			ip6 to = near();
			wrong += differs_from_model(&to);
		}
	}
	CHECK_EQ(wrong, 0);
}

static void routes_come_and_go(void)
{
	start("");
	ip6 net = parse("2001:db8:5::"), via = parse("2001:db8:1::9"),
	    other = parse("2001:db8:5:1::");
	uint32_t before = rig.gw.routes6.n;
	CHECK(route6_add_hop(&rig.gw.routes6, rig.gw.iface, &net, 48, &via, IF_LAN));
	CHECK(route6_has(&rig.gw.routes6, &net, 48, &via));
	CHECK(route6_add(&rig.gw.routes6, rig.gw.iface, &other, 64, NULL, IF_NONE));
	CHECK(route6_add(&rig.gw.routes6, rig.gw.iface, &net, 40, NULL, IF_APP));
	ip6 in = parse("2001:db8:5:2::1"), nowhere = parse("2001:db8:5:1::1"),
	    app = parse("2001:db8:4::1");
	struct pkt p = {0};
	CHECK(ip6_route(&rig.gw, &p, &in) && p.out == IF_LAN && p.flags & PKT_ROUTED && p.hop);
	p.flags = 0;
	CHECK(!ip6_route(&rig.gw, &p, &nowhere));
	p.flags = 0;
	CHECK(ip6_route(&rig.gw, &p, &app) && p.out == IF_APP && !(p.flags & PKT_ROUTED));
	CHECK(route6_del(&rig.gw.routes6, rig.gw.iface, &net, 48, NULL));
	CHECK(ip6_route(&rig.gw, &p, &in) && p.out == IF_APP);
	/* Routes of the forwarder are not for others to delete. */
	CHECK(!route6_del(&rig.gw.routes6, rig.gw.iface, &net, 40, NULL));
	route6_del_app(&rig.gw.routes6, rig.gw.iface);
	CHECK_EQ(rig.gw.routes6.n, before);
	CHECK(ip6_route(&rig.gw, &p, &in) && p.out == IF_WAN);
	ip6 any = {0};
	route6_del(&rig.gw.routes6, rig.gw.iface, &any, 0, NULL); /* that of the gateway */
	CHECK_EQ(rig.gw.routes6.n, before - 1);
	p.flags = 0;
	CHECK(!ip6_route(&rig.gw, &p, &in) && !(p.flags & PKT_ROUTED));
}

static void full_table(void)
{
	start("");
	ip6 net = parse("2001:db8:7::");
	unsigned added = 0;
	while (added < 1000 && route6_add(&rig.gw.routes6, rig.gw.iface, &net, 64, NULL, IF_NONE))
		net.b[7] = (uint8_t)++added;
	CHECK_EQ(added, ROUTES6_GIVEN - 1); /* one is that of the gateway */
	ip6 to = parse("2001:db8:7:3::1"), far = parse("2001:db8:9::1");
	struct pkt p = {0};
	CHECK(!ip6_route(&rig.gw, &p, &to) && ip6_route(&rig.gw, &p, &far));
}

/* An own address stays ours although a longer route elsewhere covers it. */
static void own_inside_a_longer_route(void)
{
	start("");
	ip6 own = parse("2001:db8:1::1"), via = parse("2001:db8:2::9"), net = parse("2001:db8:1::");
	CHECK(route6_add(&rig.gw.routes6, rig.gw.iface, &net, 80, &via, IF_WAN));
	struct pkt p = {0};
	CHECK(ip6_route(&rig.gw, &p, &own) && p.out == PKT_IF_SELF);
	ip6 to = parse("2001:db8:1::2");
	CHECK(ip6_route(&rig.gw, &p, &to) && p.out == IF_WAN);
}

/* --- addresses ------------------------------------------------------------------------ */

static const char *own_for(uint32_t iface, const char *peer)
{
	static char text[FMT_IP6];
	ip6 a = parse(peer);
	const ip6 *own = gw_own_address6(&rig.gw, iface, &a);
	return own ? fmt_ip6(text, own) : "none";
}

static void our_address_for_a_peer(void)
{
	start("lan.address fd00:1::1/64\nlan.address 2001:db8:1:8000::1/64\n");
	CHECK_STR(own_for(IF_LAN, "2001:db8:1::77"), "2001:db8:1::1");
	CHECK_STR(own_for(IF_LAN, "2001:db8:1:9000::77"), "2001:db8:1:8000::1");
	CHECK_STR(own_for(IF_LAN, "fd00:9::1"), "fd00:1::1");
	CHECK_STR(own_for(IF_LAN, "fe80::9"), "fe80::ff:fe00:1");
	CHECK_STR(own_for(IF_WAN, "fe80::9"), "fe80::ff:fe00:2");
	CHECK_STR(own_for(IF_WAN, "fd00:9::1"), "2001:db8:2::2"); /* of its own side */
	CHECK_STR(own_for(IF_APP, "fd00:9::1"), "fd00:1::1");     /* of any side */
	CHECK_STR(own_for(IF_APP, "fe80::9"), "none");
}

/* An application may change its addresses while it runs. */
static void an_address_is_removed(void)
{
	start("");
	ip6 own = parse("2002:c000:204:1::5"), to = parse("2002:c000:204:1::2");
	ip6 group = mld_solicited(&own), second = parse("fd00::5");
	struct interface *lan = &rig.gw.iface[IF_LAN];
	struct pkt p = {0};
	uint32_t groups = lan->n_groups;
	CHECK(gw_add_address6(&rig.gw, IF_LAN, &own, 64) == NULL);
	CHECK(!gw_is_own6(&rig.gw, IF_LAN, &own)); /* not yet */
	rig_advance(&rig, 3000000);
	CHECK(gw_is_own6(&rig.gw, IF_WAN, &own));
	CHECK(ip6_route(&rig.gw, &p, &own) && p.out == PKT_IF_SELF);
	CHECK(ip6_route(&rig.gw, &p, &to) && p.out == IF_LAN && p.hop == 0);
	CHECK(gw_add_address6(&rig.gw, IF_LAN, &second, 64) == NULL);
	CHECK(mld_member(lan, &group)); /* of both addresses */
	gw_del_address6(&rig.gw, IF_LAN, &own);
	CHECK(!gw_is_own6(&rig.gw, IF_LAN, &own));
	CHECK(ip6_route(&rig.gw, &p, &to) && p.out == IF_WAN);
	CHECK(mld_member(lan, &group));
	gw_del_address6(&rig.gw, IF_LAN, &second);
	CHECK(!mld_member(lan, &group));
	rig_advance(&rig, 5000000);
	CHECK_EQ(lan->n_groups, groups);
	CHECK(interface_address6(lan, &own) == NULL && lan->n_addr6 == 2);
	ip6 local = lan->addr6[0].addr;
	gw_del_address6(&rig.gw, IF_LAN, &local); /* what an interface needs stays */
	CHECK(lan->n_addr6 == 2 && gw_is_own6(&rig.gw, IF_LAN, &local));
}

static unsigned n_leaves;

static void count_leaves(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	(void)r;
	if (iface != IF_LAN || len < 14 + 56 + 20 || frame[14 + 6] != 0 || frame[14 + 48] != 143)
		return;
	for (uint32_t at = 14 + 56; at + 20 <= len; at += 20)
		n_leaves += frame[at] == 3; /* CHANGE_TO_INCLUDE without sources */
}

/* RFC 3810 section 6.1: leaving is reported as often as joining. */
static void a_group_is_left(void)
{
	start("");
	ip6 own = parse("2002:c000:204:1::77");
	CHECK(gw_add_address6(&rig.gw, IF_LAN, &own, 64) == NULL);
	rig_advance(&rig, 5000000);
	rig.sink = count_leaves;
	n_leaves = 0;
	gw_del_address6(&rig.gw, IF_LAN, &own);
	rig_advance(&rig, 5000000);
	rig.sink = NULL;
	CHECK_EQ(n_leaves, 2);
}

static bool in_filter(const mac *filter, uint32_t n, const char *group)
{
	ip6 a = parse(group);
	mac m = {{0x33, 0x33, a.b[12], a.b[13], a.b[14], a.b[15]}}; /* RFC 2464 section 7 */
	unsigned found = 0;
	for (uint32_t i = 0; i < n; i++)
		found += mac_eq(&filter[i], &m);
	CHECK(found < 2);
	return found;
}

/* The card's filter: all nodes, and the groups that are joined at the time. */
static void the_filter_follows_the_groups(void)
{
	mac filter[MLD_GROUPS + 1];
	start("");
	struct interface *lan = &rig.gw.iface[IF_LAN];
	uint32_t before = mld_filter(lan, filter), n;
	CHECK(in_filter(filter, before, "ff02::1"));
	CHECK(in_filter(filter, before, "ff02::2"));
	CHECK(in_filter(filter, before, "ff02::1:ff00:1")); /* of both addresses */
	CHECK(!in_filter(filter, before, "ff02::1:ff00:77"));
	ip6 own = parse("2002:c000:204:1::77");
	lan->groups_changed = false;
	CHECK(gw_add_address6(&rig.gw, IF_LAN, &own, 64) == NULL);
	CHECK(lan->groups_changed);
	n = mld_filter(lan, filter);
	CHECK(n > before && in_filter(filter, n, "ff02::1:ff00:77"));
	rig_advance(&rig, 5000000);
	lan->groups_changed = false;
	gw_del_address6(&rig.gw, IF_LAN, &own);
	CHECK(lan->groups_changed);
	CHECK(!in_filter(filter, mld_filter(lan, filter),
	                 "ff02::1:ff00:77")); /* while it is left */
	CHECK_EQ(mld_filter(lan, filter), before);
	rig_advance(&rig, 5000000);
	CHECK_EQ(mld_filter(lan, filter), before);
	lan->n_addr6 = lan->n_groups = 0; /* an interface without IPv6 */
	CHECK_EQ(mld_filter(lan, filter), 0);
}

static void too_many_addresses(void)
{
	start("");
	unsigned added = 0;
	ip6 own = parse("2002:c000:204::1");
	const char *wrong = NULL;
	while (!(wrong = gw_add_address6(&rig.gw, IF_LAN, &own, 64)) && added < 100)
		own.b[7] = (uint8_t)++added;
	CHECK_EQ(added, INTERFACE_ADDRESSES6 - 2);
	CHECK_STR(wrong, "lan.address: too many IPv6 addresses");
}

/* A packet that waits for its next hop when the routes change takes the new route. */
static void waiting_while_routes_change(void)
{
	start("neighbour 2001:db8:2::1 02:00:00:00:00:99\n");
	ip6 net = parse("2001:db8:5::"), via = parse("2001:db8:1::9"), to = parse("2001:db8:5::1");
	ip6 earlier = parse("2001:db8:6::");
	CHECK(route6_add_hop(&rig.gw.routes6, rig.gw.iface, &net, 48, &via, IF_LAN));
	CHECK(route6_add(&rig.gw.routes6, rig.gw.iface, &earlier, 56, NULL, IF_NONE));
	struct pkt *p = pkt_alloc(&rig.pool);
	if (!p || !pkt_put(p, 40))
		return;
	p->iface = IF_WAN;
	ip6 from = parse("2001:db8:2::77");
	ip6_build(p, &from, &to, PROTO_NONE, 64);
	gw_send6(&rig.gw, p);
	CHECK_EQ(rig.gw.neigh.n_parked, 1);
	route6_del_app(&rig.gw.routes6, rig.gw.iface); /* the place of the route changes */
	CHECK(route6_del(&rig.gw.routes6, rig.gw.iface, &net, 48, NULL));
	mac m = {{2, 9, 9, 9, 9, 9}};
	uint64_t sent = rig.gw.iface[IF_WAN].tx_packets;
	CHECK(neigh_answered6(&rig.gw, IF_LAN, &via, &m, ND_SOLICITED | ND_OVERRIDE));
	rig_flush(&rig);
	CHECK_EQ(rig.gw.iface[IF_WAN].tx_packets, sent + 1);
	CHECK_EQ(rig.pool.n_free, rig.free_at_start);
}

/* A checksum of zero is written as zero, except with UDP, where that means that there is
 * none. */
static void sum_of_zero(void)
{
	static const uint8_t proto[] = {PROTO_TCP, PROTO_ICMP6, PROTO_UDP};
	ip6 from = parse("2001:db8:1::1"), to = parse("2001:db8:1::10");
	start("");
	for (unsigned k = 0; k < ARRAY_SIZE(proto); k++) {
		struct pkt *p = pkt_alloc(&rig.pool);
		uint32_t zeros = 0, ones = 0;
		CHECK(p && pkt_put(p, IP6_MIN + 24));
		for (uint32_t i = 0; i < 65536; i++) {
			memset(p->data, 0, IP6_MIN + 24);
			store16(p->data + IP6_MIN + 20, (uint16_t)i);
			ip6_build(p, &from, &to, proto[k], 64);
			ip6_sum(p, 2);
			zeros += load16(p->data + IP6_MIN + 2) == 0;
			ones += load16(p->data + IP6_MIN + 2) == 0xffff;
		}
		CHECK_EQ(zeros, proto[k] != PROTO_UDP);
		CHECK_EQ(ones, proto[k] == PROTO_UDP);
		pkt_free(p);
	}
}

int main(void)
{
	static const uint32_t seed = 5;
	rng_seed(&rng, &seed, sizeof seed);
	TEST(sum_of_zero);
	TEST(any_chain);
	TEST(longest_prefix);
	TEST(routes_come_and_go);
	TEST(full_table);
	TEST(own_inside_a_longer_route);
	TEST(our_address_for_a_peer);
	TEST(an_address_is_removed);
	TEST(a_group_is_left);
	TEST(the_filter_follows_the_groups);
	TEST(too_many_addresses);
	TEST(waiting_while_routes_change);
	return tap_done();
}
