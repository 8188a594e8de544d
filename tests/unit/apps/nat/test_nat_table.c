/* apps/nat/nat_table.c against an array and a loop, with thousands of operations; then each
 * limit. */
#include "apps/nat/nat_table.h"
#include "kernel/lib/alloc.h"
#include "kernel/seam/io.h"
#include "tests/host/nat_check.h"

#include <stdio.h>

#include "tests/tap.h"

enum { SIZE = 300 };
static struct nat_table table;
static struct rng rng;

/* A table with `externals` external addresses from 203.0.113.2 on. */
static const char *init(uint32_t size, uint32_t externals)
{
	const struct nat_range range = {0xcb007102, 0xcb007102 + externals - 1, 0};
	return nat_table_init(&table, "nat", size, &range, 1, &rng);
}

static void start(uint32_t size)
{
	static uint32_t seed;
	seed++;
	host_arena(8 << 20);
	memset(&rng, 0, sizeof rng);
	rng_seed(&rng, &seed, sizeof seed);
	const char *wrong = init(size, 1);
	CHECK_STR(wrong ? wrong : "fine", "fine");
}

static void consistent(void)
{
	const char *bad = nat_check(&table, NULL);
	CHECK_STR(bad ? bad : "consistent", "consistent");
}

/* The mapping of an inside endpoint; made if there is none. */
static struct nat_mapping *mapping(uint8_t proto, uint32_t in_ip, uint16_t in_port)
{
	enum nat_lack lack;
	struct nat_mapping *m = nat_mapping_find(&table, proto, in_ip, in_port);
	return m ? m : nat_mapping_new(&table, proto, in_ip, in_port, &lack);
}

static struct nat_session *session(uint32_t in_ip, uint16_t in_port, uint32_t rem_ip,
                                   uint16_t rem_port, uint32_t expire_s)
{
	struct nat_mapping *m = mapping(NAT_UDP, in_ip, in_port);
	if (!m)
		return NULL;
	struct nat_session *s = nat_session_new(&table, m, rem_ip, rem_port, NAT_OPEN, expire_s);
	if (!s && m->n_sessions == 0)
		nat_mapping_drop(&table, m);
	return s;
}

/* --- the model ------------------------------------------------------------------ */

static struct flow {
	bool used;
	uint8_t proto;
	uint32_t in_ip, rem_ip, expire_s;
	uint16_t in_port, rem_port, ext_port;
} model[SIZE];
static uint32_t now_s;

static struct flow *model_find(const struct flow *f)
{
	for (unsigned i = 0; i < SIZE; i++)
		if (model[i].used && model[i].proto == f->proto && model[i].in_ip == f->in_ip &&
		    model[i].rem_ip == f->rem_ip && model[i].in_port == f->in_port &&
		    model[i].rem_port == f->rem_port)
			return &model[i];
	return NULL;
}

static unsigned model_count(void)
{
	unsigned n = 0;
	for (unsigned i = 0; i < SIZE; i++)
		n += model[i].used;
	return n;
}

static bool model_knows(uint8_t proto, uint32_t in_ip, uint16_t in_port, uint32_t rem_ip)
{
	for (unsigned i = 0; i < SIZE; i++)
		if (model[i].used && model[i].proto == proto && model[i].in_ip == in_ip &&
		    model[i].in_port == in_port && model[i].rem_ip == rem_ip)
			return true;
	return false;
}

/* Few values, so that endpoints, hosts, ports, and the places of hosts in nat_table.seen are often
 * shared. */
static struct flow random_flow(void)
{
	return (struct flow){
	        .used = true,
	        .proto = (uint8_t)rng_below(&rng, NAT_WITH_PORTS),
	        .in_ip = 0x0a000001 + rng_below(&rng, 2) + rng_below(&rng, 2) * 0x100,
	        .rem_ip = 0xc6336401 + rng_below(&rng, 4),
	        .in_port = (uint16_t)(1000 + rng_below(&rng, 5)),
	        .rem_port = (uint16_t)(50 + rng_below(&rng, 6)),
	        .expire_s = now_s + 1 + rng_below(&rng, rng_below(&rng, 8) ? 400 : 3 * NAT_WHEEL),
	};
}

static struct nat_session *find(const struct flow *f)
{
	return nat_session_find(&table, f->proto, f->in_ip, f->rem_ip,
	                        f->in_port | (uint32_t)f->rem_port << 16);
}

static void open_flow(void)
{
	struct flow f = random_flow(), *known = model_find(&f);
	struct nat_session *s = find(&f);
	CHECK((s != NULL) == (known != NULL));
	if (s && known) { /* a packet passes: only the time is written */
		if ((int32_t)(f.expire_s - s->expire_s) < 0)
			nat_session_sooner(&table, s, f.expire_s);
		else
			s->expire_s = f.expire_s;
		known->expire_s = f.expire_s;
		return;
	}
	struct nat_mapping *m = mapping(f.proto, f.in_ip, f.in_port);
	if (m)
		s = nat_session_new(&table, m, f.rem_ip, f.rem_port, NAT_OPEN, f.expire_s);
	CHECK((s != NULL) == (model_count() < SIZE));
	if (!s) {
		if (m && m->n_sessions == 0)
			nat_mapping_drop(&table, m);
		return;
	}
	f.ext_port = m->ext_port;
	for (unsigned i = 0; i < SIZE; i++) { /* endpoint-independent, and of this host alone */
		if (!model[i].used || model[i].proto != f.proto)
			continue;
		bool same = model[i].in_ip == f.in_ip && model[i].in_port == f.in_port;
		CHECK(same == (model[i].ext_port == f.ext_port));
	}
	unsigned i = 0;
	while (model[i].used)
		i++;
	model[i] = f;
}

static void close_flow(void)
{
	struct flow f = random_flow(), *known = model_find(&f);
	struct nat_session *s = find(&f);
	CHECK((s != NULL) == (known != NULL));
	if (!s || !known)
		return;
	nat_session_drop(&table, s);
	known->used = false;
}

static void look(void)
{
	struct flow f = random_flow();
	struct nat_mapping *m = nat_mapping_find(&table, f.proto, f.in_ip, f.in_port);
	CHECK(m == NULL || nat_mapping_of_port(&table, 0, f.proto, m->ext_port) == m);
	if (m) { /* found by the port or by the hash: the same session, which the port names then */
		struct nat_session *s = find(&f);
		CHECK(nat_session_at_port(&table, 0, f.proto, m->ext_port, f.rem_ip, f.rem_port) ==
		      s);
		CHECK(s == NULL ||
		      table.session + table.external[0].ports[f.proto]->owner[m->ext_port] == s);
	}
	CHECK_EQ(m && nat_knows_peer(&table, m, f.rem_ip),
	         model_knows(f.proto, f.in_ip, f.in_port, f.rem_ip));
}

static void pass_time(void)
{
	now_s += rng_below(&rng, rng_below(&rng, 20) ? 30 : 2 * NAT_WHEEL);
	while (nat_session_tick(&table, now_s, 7))
		;
	/* A session ends in the second behind its last one. */
	for (unsigned i = 0; i < SIZE; i++)
		if (model[i].used && (int32_t)(now_s - model[i].expire_s) > 0)
			model[i].used = false;
}

static void against_the_model(void)
{
	start(SIZE);
	memset(model, 0, sizeof model);
	now_s = 0;
	for (int step = 0; step < 60000 && !tap_bad_here; step++) {
		uint32_t r = rng_below(&rng, 100);
		if (r < 60)
			open_flow();
		else if (r < 75)
			close_flow();
		else if (r < 97)
			look();
		else if (r == 97)
			pass_time();
		CHECK_EQ(table.n_sessions, model_count());
		if (step % 2000 == 0)
			consistent();
	}
	consistent();
	CHECK(table.created > 5000 && table.expired > 500); /* the model did enough */
	now_s += 4 * NAT_WHEEL;
	while (nat_session_tick(&table, now_s, 1))
		;
	CHECK_EQ(table.n_sessions, 0);
	CHECK_EQ(table.n_mappings, 0);
	consistent();
}

/* --- limits ----------------------------------------------------------------------- */

static void full_table(void)
{
	start(100);
	for (uint16_t i = 0; i < 100; i++)
		CHECK(session(1, 1000, 2, i, 10) != NULL);
	CHECK(session(1, 1000, 2, 100, 10) == NULL);
	CHECK(session(9, 1000, 2, 100, 10) == NULL);
	CHECK_EQ(table.n_sessions, 100);
	CHECK_EQ(table.n_mappings, 1);
	consistent();
	/* As many mappings as sessions fit too. */
	start(100);
	for (uint16_t i = 0; i < 100; i++)
		CHECK(session(1, i, 2, 53, 10) != NULL);
	enum nat_lack lack = NAT_HAS_ALL;
	CHECK(nat_mapping_new(&table, NAT_UDP, 9, 9, &lack) == NULL);
	CHECK_EQ(lack, NAT_LACKS_ENTRY);
	consistent();
	CHECK(!nat_session_tick(&table, 12, 1000));
	CHECK_EQ(table.n_sessions, 0);
	for (uint16_t i = 0; i < 100; i++)
		CHECK(session(1, i, 2, 53, 20) != NULL);
	consistent();
}

/* All 64512 high ports of one protocol are given, each once; then there is none. */
static void all_ports(void)
{
	host_arena(32 << 20);
	CHECK(init(70000, 1) == NULL);
	static bool seen[65536];
	memset(seen, 0, sizeof seen);
	unsigned wrong = 0;
	for (uint32_t i = 0; i < 32256; i++)
		for (uint16_t parity = 0; parity < 2; parity++) {
			struct nat_mapping *m =
			        mapping(NAT_TCP, i, swap16((uint16_t)(40000 + parity)));
			uint16_t port = m ? swap16(m->ext_port) : 0;
			wrong += !m || port < 1024 || port % 2 != parity || seen[port];
			seen[port] = true;
		}
	CHECK_EQ(wrong, 0);
	enum nat_lack lack = NAT_HAS_ALL;
	CHECK(nat_mapping_new(&table, NAT_TCP, 70000, swap16(40000), &lack) == NULL);
	CHECK_EQ(lack, NAT_LACKS_PORT);
	/* Other ranges and protocols are not affected. */
	CHECK(mapping(NAT_TCP, 70000, swap16(1023)) != NULL);
	CHECK(mapping(NAT_UDP, 70000, swap16(40000)) != NULL);
	CHECK_EQ(table.n_mappings, 64514);
	struct nat_mapping *m = nat_mapping_of_port(&table, 0, NAT_TCP, swap16(50000));
	nat_mapping_drop(&table, m);
	m = mapping(NAT_TCP, 70000, swap16(40000));
	CHECK(m && swap16(m->ext_port) == 50000);
}

static void icmp_takes_any_number(void)
{
	host_arena(32 << 20);
	CHECK(init(70000, 1) == NULL);
	for (uint32_t i = 0; i < 65535; i++)
		if (!mapping(NAT_ICMP, i, swap16(7)))
			CHECK_EQ(i, -1);
	enum nat_lack lack = NAT_HAS_ALL;
	CHECK(nat_mapping_new(&table, NAT_ICMP, 70000, 7, &lack) == NULL);
	CHECK_EQ(lack, NAT_LACKS_PORT);
	CHECK(nat_mapping_of_port(&table, 0, NAT_ICMP, 0) == NULL);
}

static void port_zero_is_never_given(void)
{
	start(SIZE);
	struct nat_mapping *m = mapping(NAT_UDP, 1, 0);
	CHECK(m && m->ext_port != 0);
	CHECK(m && swap16(m->ext_port) < 1024 && swap16(m->ext_port) % 2 == 0);
}

static void not_enough_memory(void)
{
	host_arena(1 << 20);
	CHECK(init(100000, 1) != NULL);
}

/* --- the wheel ------------------------------------------------------------------- */

static void ends_in_the_second_behind_its_last(void)
{
	static const uint32_t life[] = {0,
	                                1,
	                                2,
	                                300,
	                                NAT_WHEEL - 2,
	                                NAT_WHEEL - 1,
	                                NAT_WHEEL,
	                                NAT_WHEEL + 1,
	                                2 * NAT_WHEEL,
	                                5 * NAT_WHEEL + 3};
	for (unsigned i = 0; i < ARRAY_SIZE(life); i++) {
		start(SIZE);
		CHECK(!nat_session_tick(&table, 12345, 10));
		CHECK(session(1, 1, 2, 2, 12345 + life[i]) != NULL);
		for (uint32_t s = 12345; s <= 12345 + life[i]; s++)
			(void)nat_session_tick(&table, s, 10);
		CHECK_EQ(table.n_sessions, 1);
		(void)nat_session_tick(&table, 12345 + life[i] + 1, 10);
		CHECK_EQ(table.n_sessions, 0);
		consistent();
	}
}

static void time_jumps(void)
{
	start(SIZE);
	CHECK(session(1, 1, 2, 2, 100) != NULL);
	CHECK(session(1, 1, 2, 3, 100000) != NULL);
	while (nat_session_tick(&table, 99999, 3))
		;
	CHECK_EQ(table.n_sessions, 1);
	while (nat_session_tick(&table, 100001, 3))
		;
	CHECK_EQ(table.n_sessions, 0);
}

static void refreshed_session_goes_on(void)
{
	start(SIZE);
	struct nat_session *s = session(1, 1, 2, 2, 100);
	for (uint32_t t = 0; t < 30000; t += 50) {
		s->expire_s = t + 100; /* as a packet does */
		while (nat_session_tick(&table, t, 5))
			;
		if (table.n_sessions != 1)
			CHECK_EQ(t, -1);
	}
	consistent();
}

static void sooner(void)
{
	start(SIZE);
	struct nat_session *s = session(1, 1, 2, 2, 7440);
	nat_session_sooner(&table, s, 240);
	consistent();
	(void)nat_session_tick(&table, 240, 100);
	CHECK_EQ(table.n_sessions, 1);
	(void)nat_session_tick(&table, 241, 100);
	CHECK_EQ(table.n_sessions, 0);
}

/* A tick visits no more sessions than it may, and the next one goes on with the others. */
static void bounded_tick(void)
{
	start(SIZE);
	for (uint16_t i = 0; i < SIZE; i++)
		CHECK(session(1, i, 2, 2, 10) != NULL);
	unsigned turns = 1;
	for (uint32_t before = SIZE; nat_session_tick(&table, 20, 16); turns++) {
		CHECK(before - table.n_sessions <= 16);
		before = table.n_sessions;
	}
	CHECK(turns >= SIZE / 16);
	CHECK_EQ(table.n_sessions, 0);
	consistent();
}

static void seconds_wrap(void)
{
	start(SIZE);
	table.wheel_s = 0xfffffff0;
	CHECK(session(1, 1, 2, 2, 0xfffffff0 + 300) != NULL); /* beyond the wrap */
	(void)nat_session_tick(&table, 0xfffffff0 + 300, 100);
	CHECK_EQ(table.n_sessions, 1);
	(void)nat_session_tick(&table, 0xfffffff0 + 301, 100);
	CHECK_EQ(table.n_sessions, 0);
}

/* --- peers ------------------------------------------------------------------------ */

/* The first, the middle and the last session of a ring are removed in each order. */
static void ring_of_peers(void)
{
	static const uint8_t order[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
	                                   {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	for (unsigned k = 0; k < ARRAY_SIZE(order); k++) {
		start(SIZE);
		struct nat_session *s[3];
		for (uint16_t i = 0; i < 3; i++)
			s[i] = session(1, 1, 77, i, 10);
		CHECK(session(1, 1, 78, 1, 10) != NULL);
		struct nat_mapping *m = nat_mapping_find(&table, NAT_UDP, 1, 1);
		for (unsigned i = 0; i < 3; i++) {
			CHECK(nat_knows_peer(&table, m, 77));
			nat_session_drop(&table, s[order[k][i]]);
			consistent();
		}
		CHECK(!nat_knows_peer(&table, m, 77));
		CHECK(nat_knows_peer(&table, m, 78));
	}
}

/* --- hosts and external addresses --------------------------------------------------- */

static struct nat_session *other(uint32_t in_ip, uint16_t ip_proto, uint32_t rem_ip)
{
	enum nat_lack lack;
	struct nat_mapping *m = nat_mapping_other(&table, in_ip, ip_proto, rem_ip, &lack);
	return m ? nat_session_new(&table, m, rem_ip, 0, NAT_OPEN, 100) : NULL;
}

static void pooled(uint32_t size, uint32_t externals)
{
	host_arena(48 << 20);
	const char *wrong = init(size, externals);
	CHECK_STR(wrong ? wrong : "fine", "fine");
}

/* A host keeps its address for all protocols while it holds a mapping (RFC 4787 REQ-2), and
 * the hosts are spread over the addresses. */
static void paired_pooling(void)
{
	pooled(4000, 8);
	for (uint32_t host = 1; host <= 400; host++) {
		struct nat_mapping *udp = mapping(NAT_UDP, host, swap16(4000));
		CHECK(udp != NULL && nat_external_find(&table, udp->ext_ip) == udp->external);
		for (uint16_t i = 0; i < 4; i++) {
			struct nat_mapping *m =
			        mapping(i % 2 ? NAT_TCP : NAT_ICMP, host, (uint16_t)(50 + i));
			CHECK(m && udp && m->external == udp->external);
		}
		CHECK_EQ(nat_external_for(&table, host), udp ? udp->external : 0);
	}
	for (uint32_t e = 0; e < 8; e++)
		CHECK(table.external[e].n_hosts > 20 && table.external[e].n_hosts < 80);
	CHECK_EQ(table.n_hosts, 400);
}

static void external_ranges(void)
{
	const struct nat_range range[3] = {{100, 109, 0}, {200, 200, 0}, {50, 52, 0}};
	host_arena(48 << 20);
	CHECK(nat_table_init(&table, "nat", 100, range, 3, &rng) == NULL);
	CHECK_EQ(table.n_external, 14);
	static const uint32_t in[] = {100, 105, 109, 200, 50, 52}, at[] = {0, 5, 9, 10, 11, 13};
	static const uint32_t out[] = {99, 110, 199, 201, 49, 53, 0, 0xffffffff};
	for (unsigned i = 0; i < ARRAY_SIZE(in); i++) {
		CHECK_EQ(nat_external_find(&table, swap32(in[i])), at[i]);
		CHECK_EQ(table.external[at[i]].ip, swap32(in[i]));
	}
	for (unsigned i = 0; i < ARRAY_SIZE(out); i++)
		CHECK_EQ(nat_external_find(&table, swap32(out[i])), NAT_NONE);
}

static void too_many_externals(void)
{
	host_arena(1 << 20);
	CHECK_STR(init(100, NAT_EXTERNALS + 1), "nat.pool: more than 1024 addresses");
	CHECK(init(100, NAT_EXTERNALS) != NULL); /* so little memory is not enough */
	const struct nat_range all = {0, 0xffffffff, 0};
	CHECK(nat_table_init(&table, "nat", 100, &all, 1, &rng) != NULL);
}

static void static_mappings(void)
{
	start(100);
	CHECK(nat_mapping_static(&table, NAT_TCP, 0, swap16(8080), 10, swap16(80)));
	CHECK(!nat_mapping_static(&table, NAT_TCP, 0, swap16(8080), 11, swap16(80)));
	CHECK(!nat_mapping_static(&table, NAT_TCP, 0, swap16(8081), 10, swap16(80)));
	CHECK(nat_mapping_static(&table, NAT_UDP, 0, swap16(8080), 11, swap16(80)));
	struct nat_mapping *m = nat_mapping_find(&table, NAT_TCP, 10, swap16(80));
	CHECK(m && m->is_static && m->ext_port == swap16(8080));
	/* No other mapping gets its port, and it stays when its sessions are gone. */
	CHECK(mapping(NAT_TCP, 12, swap16(8080))->ext_port != swap16(8080));
	struct nat_session *s = nat_session_new(&table, m, 1, 2, NAT_OPEN, 10);
	nat_session_drop(&table, s);
	CHECK(nat_mapping_of_port(&table, 0, NAT_TCP, swap16(8080)) == m);
	nat_mapping_drop(&table, nat_mapping_find(&table, NAT_TCP, 12, swap16(8080)));
	consistent();
}

/* A second forwarded port may be on another address than the host's, with the inside port. */
static void static_on_two_addresses(void)
{
	pooled(100, 2);
	CHECK(nat_mapping_static(&table, NAT_TCP, 1, swap16(80), 10, swap16(80)));
	CHECK(nat_mapping_static(&table, NAT_TCP, 0, swap16(81), 10, swap16(81)));
	CHECK_EQ(nat_external_of(&table, 10), 1);
	struct nat_mapping *m = nat_mapping_find(&table, NAT_TCP, 10, swap16(81));
	CHECK(m && m->external == 0);
	/* On the host's own address the port is another host's. */
	CHECK(nat_mapping_static(&table, NAT_TCP, 1, swap16(81), 11, swap16(81)));
	CHECK(nat_mapping_find(&table, NAT_TCP, 10, swap16(81)) == m);
	consistent();
}

static void protocols_without_ports(void)
{
	start(100);
	uint32_t ext = table.external[0].ip;
	struct nat_session *s = other(10, 47, 77), *t = other(11, 47, 78), *u = other(10, 50, 77);
	CHECK(s && t && u);
	CHECK(nat_session_find(&table, NAT_OTHER, ext, 77, 47) == s);
	CHECK(nat_session_find(&table, NAT_OTHER, ext, 78, 47) == t);
	CHECK(nat_session_find(&table, NAT_OTHER, ext, 77, 50) == u);
	CHECK(nat_session_find(&table, NAT_OTHER, ext, 79, 47) == NULL);
	consistent();
	nat_session_drop(&table, s);
	consistent();
	(void)nat_session_tick(&table, 200, 100);
	CHECK_EQ(table.n_sessions, 0);
	CHECK_EQ(table.n_hosts, 0);
	consistent();
}

static void hosts_come_and_go(void)
{
	start(SIZE);
	for (uint32_t round = 0; round < 5; round++) {
		for (uint32_t i = 1; i <= SIZE; i++)
			CHECK(session(i, swap16(1000), 2, 3, 1000 * round + 10) != NULL);
		CHECK_EQ(table.n_hosts, SIZE);
		CHECK_EQ(nat_host_sessions(&table, 7), 1);
		consistent();
		while (nat_session_tick(&table, 1000 * round + 20, 100))
			;
		CHECK_EQ(table.n_hosts, 0);
		CHECK_EQ(nat_host_sessions(&table, 7), 0);
		consistent();
	}
}

/* RFC 7857 figure 1: TCP_EST T.O. leads to TRANS, TCP_TRANS T.O. from there. */
static void established_lingers(void)
{
	start(SIZE);
	table.linger_s = 240;
	struct nat_session *s = session(1, 1, 2, 2, 7440);
	s->state = NAT_ESTABLISHED;
	(void)nat_session_tick(&table, 7440, 10);
	CHECK_EQ(s->state, NAT_ESTABLISHED);
	(void)nat_session_tick(&table, 7441, 10);
	CHECK_EQ(s->state, NAT_TRANS);
	consistent();
	(void)nat_session_tick(&table, 7680, 10);
	CHECK_EQ(table.n_sessions, 1);
	(void)nat_session_tick(&table, 7681, 10);
	CHECK_EQ(table.n_sessions, 0);
	CHECK_EQ(table.expired, 1);
}

int main(void)
{
	TEST(against_the_model);
	TEST(full_table);
	TEST(all_ports);
	TEST(icmp_takes_any_number);
	TEST(port_zero_is_never_given);
	TEST(not_enough_memory);
	TEST(ends_in_the_second_behind_its_last);
	TEST(time_jumps);
	TEST(refreshed_session_goes_on);
	TEST(sooner);
	TEST(bounded_tick);
	TEST(seconds_wrap);
	TEST(ring_of_peers);
	TEST(paired_pooling);
	TEST(external_ranges);
	TEST(too_many_externals);
	TEST(static_mappings);
	TEST(static_on_two_addresses);
	TEST(protocols_without_ports);
	TEST(hosts_come_and_go);
	TEST(established_lingers);
	return tap_done();
}
