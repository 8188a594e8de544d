/* apps/nat/nat_evict.c: which sessions are evicted when the NAT's table or ports are used
 * up. */
#include "apps/nat/nat_table.h"
#include "kernel/seam/io.h"
#include "tests/host/nat_check.h"

#include "tests/tap.h"

enum { SIZE = 300, HIGH = 65536 - 1024 }; /* HIGH: ports from 1024 on */
static struct nat_table table;
static struct rng rng;

static void start(uint32_t size, uint32_t externals)
{
	static uint32_t seed;
	const struct nat_range range = {0xcb007102, 0xcb007102 + externals - 1, 0};
	seed++;
	host_arena(48 << 20);
	memset(&rng, 0, sizeof rng);
	rng_seed(&rng, &seed, sizeof seed);
	const char *wrong = nat_table_init(&table, "nat", size, &range, 1, &rng);
	CHECK_STR(wrong ? wrong : "fine", "fine");
}

static void consistent(void)
{
	const char *bad = nat_check(&table, NULL);
	CHECK_STR(bad ? bad : "consistent", "consistent");
}

static struct nat_session *open_one(uint8_t proto, uint32_t in_ip, uint16_t in_port,
                                    uint16_t rem_port)
{
	enum nat_lack lack;
	struct nat_mapping *m = nat_mapping_find(&table, proto, in_ip, in_port);
	if (!m)
		m = nat_mapping_new(&table, proto, in_ip, in_port, &lack);
	return m ? nat_session_new(&table, m, 2, rem_port, NAT_OPEN, 100) : NULL;
}

static struct nat_session *session(uint32_t in_ip, uint16_t in_port)
{
	return open_one(NAT_UDP, in_ip, in_port, 3);
}

/* --- eviction from a full table ---------------------------------------------------- */

static void fill(uint32_t scanner, enum nat_state state, uint8_t flags)
{
	for (uint16_t i = 0; i < SIZE; i++) {
		struct nat_session *s = session(i < 100 ? 1000u + i : scanner, i);
		CHECK(s != NULL);
		if (s) {
			s->state = (uint8_t)state;
			s->flags = flags;
		}
	}
}

/* Half-open sessions of the host that holds too many are evicted, and no others. */
static void half_open_sessions_are_evicted(void)
{
	start(SIZE, 1);
	fill(5, NAT_OPEN, 0);
	for (uint32_t i = 0; i < 20; i++) {
		CHECK(nat_evict_session(&table, 2000 + i, NULL));
		CHECK(session(2000 + i, 1) != NULL);
		CHECK_EQ(table.n_sessions, SIZE);
		consistent();
	}
	CHECK_EQ(table.evicted, 20);
	for (uint32_t i = 0; i < 100; i++)
		CHECK_EQ(nat_host_sessions(&table, 1000 + i), 1);
	CHECK_EQ(nat_host_sessions(&table, 5), SIZE - 100 - 20);
	CHECK(!nat_evict_session(&table, 5, NULL)); /* not in favour of itself */
	start(SIZE, 1);
	fill(5, NAT_INIT, NAT_ANSWERED);
	CHECK(nat_evict_session(&table, 6, NULL));
}

static void sessions_in_use_stay(void)
{
	static const struct {
		uint8_t state, flags;
	} row[] = {{NAT_OPEN, NAT_ANSWERED}, {NAT_ESTABLISHED, NAT_ANSWERED}, {NAT_IN_FIN, 0}};
	for (unsigned i = 0; i < ARRAY_SIZE(row); i++) {
		start(SIZE, 1);
		fill(5, (enum nat_state)row[i].state, row[i].flags);
		CHECK(!nat_evict_session(&table, 6, NULL));
		CHECK_EQ(table.n_sessions, SIZE);
	}
	/* A host that holds no more than the others loses nothing either. */
	start(SIZE, 1);
	for (uint32_t i = 0; i < SIZE; i++)
		CHECK(session(i + 1, 9) != NULL);
	CHECK(!nat_evict_session(&table, SIZE + 1, NULL));
	CHECK_EQ(table.evicted, 0);
}

/* Uninvited sessions are evicted first, in favour of any host, and no others are evicted
 * then. */
static void uninvited_sessions_are_evicted_first(void)
{
	start(SIZE, 1);
	fill(5, NAT_OPEN, 0);
	for (uint32_t i = 0; i < SIZE; i++)
		if (i % 2)
			nat_session_uninvited(&table, &table.session[i]);
	consistent();
	uint32_t own = nat_host_sessions(&table, 5);
	for (uint32_t i = 0; i < 50; i++) {
		CHECK(nat_evict_session(&table, 2000 + i, NULL));
		CHECK(session(2000 + i, 1) != NULL);
	}
	unsigned found = 0; /* for a host that holds much fewer sessions are looked at */
	for (uint32_t i = 0; i < 20; i++)
		found += nat_evict_session(&table, 5, NULL);
	CHECK(found >= 5);
	CHECK_EQ(nat_host_sessions(&table, 5), own);
	consistent();
	/* Uninvited sessions may be evicted in any state. */
	start(SIZE, 1);
	fill(5, NAT_ESTABLISHED, NAT_ANSWERED);
	for (uint32_t i = 0; i < SIZE; i++)
		nat_session_uninvited(&table, &table.session[i]);
	CHECK(nat_evict_session(&table, 5, NULL));
}

/* A host's count has only the sessions that it opened or sent in. */
static void uninvited_sessions_do_not_count(void)
{
	start(SIZE, 1);
	struct nat_session *own = session(5, 1), *s = open_one(NAT_UDP, 5, 1, 4);
	nat_session_uninvited(&table, s);
	CHECK_EQ(nat_host_sessions(&table, 5), 1);
	consistent();
	nat_session_invite(&table, s);
	CHECK_EQ(nat_host_sessions(&table, 5), 2);
	consistent();
	nat_session_uninvited(&table, own);
	nat_session_drop(&table, own);
	CHECK_EQ(nat_host_sessions(&table, 5), 1);
	nat_session_drop(&table, s);
	CHECK_EQ(table.n_hosts, 0);
	consistent();
}

static void finished_connections_are_evicted(void)
{
	static const uint8_t over[] = {NAT_BOTH_FIN, NAT_TRANS};
	for (unsigned i = 0; i < ARRAY_SIZE(over); i++) {
		start(SIZE, 1);
		fill(5, (enum nat_state)over[i], NAT_ANSWERED);
		CHECK(nat_evict_session(&table, 6, NULL));
		CHECK_EQ(nat_host_sessions(&table, 5),
		         SIZE - 100 - 1); /* of the host that holds much */
		CHECK(session(6, 1) != NULL);
		/* In its own favour too, and not at the cost of other hosts. */
		unsigned found = 0;
		for (unsigned k = 0; k < 20; k++)
			found += nat_evict_session(&table, 5, NULL);
		CHECK(found > 10);
		CHECK_EQ(nat_host_sessions(&table, 5), SIZE - 100 - 1 - found);
		for (uint32_t k = 0; k < 100; k++)
			CHECK_EQ(nat_host_sessions(&table, 1000 + k), 1);
		consistent();
	}
}

/* The mapping that a new session is for keeps its last session. */
static void a_needed_mapping_stays(void)
{
	start(1, 1);
	struct nat_session *s = session(5, 1);
	nat_session_uninvited(&table, s);
	CHECK(!nat_evict_session(&table, 5, &table.mapping[s->mapping]));
	CHECK_EQ(table.n_sessions, 1);
	CHECK(nat_evict_session(&table, 5, NULL));
	CHECK_EQ(table.n_mappings, 0);
}

/* The table of mappings can be full while there is room for sessions: session entries that
 * were never used are not read. */
static void unused_entries_are_not_read(void)
{
	start(64, 1);
	for (uint16_t i = 0; i < 62; i++)
		CHECK(nat_mapping_static(&table, NAT_TCP, 0, swap16((uint16_t)(100 + i)), 5, i));
	memset(table.session, NAT_INIT, 64 * sizeof *table.session);
	CHECK(!nat_evict_session(&table, 6, NULL)); /* there is no session */
	CHECK(session(7, 1) && session(7, 2));
	CHECK_EQ(table.n_mappings, 64);
	CHECK(nat_evict_session(&table, 6, NULL) == false); /* 7 holds no more than its share */
	consistent();
}

/* --- ports ------------------------------------------------------------------------------- */

/* A host takes high ports of one address, with sessions in one state. */
static void take_ports(uint32_t host, uint32_t from, uint32_t to, enum nat_state state,
                       uint8_t flags)
{
	for (uint32_t i = from; i < to; i++) {
		struct nat_session *s = session(host, swap16((uint16_t)(1024 + i)));
		CHECK(s != NULL);
		if (s) {
			s->state = (uint8_t)state;
			s->flags = flags;
		}
	}
}

static uint32_t ports_of(uint32_t host)
{
	for (uint32_t i = 0; i < table.host_free.fresh; i++)
		if (table.host[i].ip == host && table.host[i].n_mappings)
			return table.host[i].n_ports[NAT_UDP];
	return 0;
}

/* Opens one more session of `host` by the n-th high port; gives the reason when there is no
 * mapping. */
static enum nat_lack one_more(uint32_t host, uint16_t n)
{
	enum nat_lack lack;
	struct nat_mapping *m =
	        nat_mapping_new(&table, NAT_UDP, host, swap16((uint16_t)(1024 + n)), &lack);
	if (m)
		CHECK(nat_session_new(&table, m, 2, 3, NAT_OPEN, 100) != NULL);
	if (m)
		CHECK(swap16(m->ext_port) >= 1024);
	return lack;
}

/* A host that holds many ports of unanswered sessions loses some of them, until it has no
 * more than the others. */
static void ports_are_shared(void)
{
	static const struct {
		uint8_t state, flags;
	} row[] = {{NAT_OPEN, 0}, {NAT_INIT, 0}, {NAT_BOTH_FIN, 16}, {NAT_TRANS, 16}};
	for (unsigned k = 0; k < ARRAY_SIZE(row); k++) {
		start(70000, 1);
		take_ports(5, 0, HIGH, (enum nat_state)row[k].state, row[k].flags);
		unsigned got = 0;
		for (uint16_t i = 1; i <= 40000; i++)
			got += one_more(6, i) == NAT_HAS_ALL;
		CHECK_EQ(got, HIGH / 2);
		CHECK_EQ(ports_of(6), got);
		CHECK_EQ(ports_of(5), HIGH - got);
		CHECK(ports_of(5) >= ports_of(6));
		CHECK_EQ(table.evicted, got);
		consistent();
	}
}

/* The host that holds the ports gets no more, and ports in use are not taken. */
static void ports_in_use_stay(void)
{
	start(70000, 1);
	take_ports(5, 0, HIGH, NAT_OPEN, 0);
	CHECK_EQ(one_more(5, 0), NAT_LACKS_PORT);
	CHECK_EQ(table.n_hosts, 1);
	start(70000, 1);
	take_ports(5, 0, HIGH, NAT_OPEN, NAT_ANSWERED);
	CHECK_EQ(one_more(6, 0), NAT_LACKS_PORT);
	CHECK_EQ(table.n_hosts, 1);
	start(140000, 1); /* a mapping with two sessions is not evicted */
	take_ports(5, 0, HIGH, NAT_OPEN, 0);
	for (uint32_t i = 0; i < HIGH; i++)
		CHECK(open_one(NAT_UDP, 5, swap16((uint16_t)(1024 + i)), 4) != NULL);
	CHECK_EQ(one_more(6, 0), NAT_LACKS_PORT);
	start(70000, 1); /* static mappings are not evicted */
	for (uint32_t i = 0; i < HIGH; i++)
		CHECK(nat_mapping_static(&table, NAT_UDP, 0, swap16((uint16_t)(1024 + i)), 5,
		                         (uint16_t)i));
	for (uint32_t i = 0; i < HIGH; i++)
		CHECK(open_one(NAT_UDP, 5, (uint16_t)i, 4) != NULL);
	CHECK_EQ(one_more(6, 0), NAT_LACKS_PORT);
	CHECK_EQ(table.evicted, 0);
	consistent();
}

/* A host gets a port only when it has no more ports than the loser after that. */
static void a_winner_has_no_more_than_the_loser(void)
{
	start(70000, 1);
	take_ports(5, 0, 21700, NAT_OPEN, 0);
	take_ports(6, 21700, 2 * 21700 - 1, NAT_OPEN, 0);
	take_ports(7, 2 * 21700 - 1, HIGH, NAT_OPEN, 0);
	CHECK_EQ(one_more(6, 0), NAT_LACKS_PORT);
	uint32_t port = swap16(1024 + 21700);
	nat_session_drop(&table, nat_session_find(&table, NAT_UDP, 6, 2, port | 3u << 16));
	CHECK_EQ(one_more(7, 0), NAT_HAS_ALL);
	CHECK_EQ(one_more(6, 0), NAT_HAS_ALL);
	CHECK_EQ(ports_of(5), 21700 - 1);
	CHECK_EQ(ports_of(6), 21700 - 1);
	consistent();
}

/* A port whose session is uninvited goes to any host; a host's own only while the host
 * keeps another mapping. */
static void ports_of_uninvited_sessions(void)
{
	start(70000, 1);
	take_ports(7, 0, 1, NAT_ESTABLISHED, NAT_ANSWERED);
	take_ports(5, 1, HIGH, NAT_ESTABLISHED, NAT_ANSWERED);
	for (uint32_t i = 0; i < HIGH; i++)
		nat_session_uninvited(&table, &table.session[i]);
	CHECK_EQ(one_more(6, 0), NAT_HAS_ALL);
	CHECK_EQ(one_more(5, 0), NAT_HAS_ALL);
	CHECK_EQ(table.evicted, 2);
	consistent();
	start(70000, 1);
	for (uint32_t i = 0; i < HIGH;
	     i++) { /* each host has one port, and its connection is finished */
		take_ports(1000 + i, i, i + 1, NAT_TRANS, NAT_ANSWERED);
		if (i % 2)
			nat_session_uninvited(&table, &table.session[i]);
	}
	for (uint32_t i = 0; i < HIGH; i++)
		(void)one_more(1000 + i, (uint16_t)((i + 1) % HIGH));
	consistent();
}

/* Other ports and protocols are not affected. */
static void other_ports_are_free(void)
{
	start(70000, 1);
	take_ports(5, 0, HIGH, NAT_OPEN, 0);
	CHECK(session(6, swap16(80)) && session(6, swap16(81)));
	CHECK(open_one(NAT_TCP, 6, swap16(8080), 1) != NULL);
	CHECK_EQ(table.evicted, 0);
	consistent();
}

/* ICMP identifiers have no classes. */
static void identifiers_are_shared(void)
{
	enum nat_lack lack;
	start(70000, 1);
	for (uint32_t i = 0; i < 65535; i++)
		if (!open_one(NAT_ICMP, 5, (uint16_t)i, 0))
			CHECK_EQ(i, -1);
	CHECK(!nat_mapping_new(&table, NAT_ICMP, 5, 65535, &lack));
	for (uint16_t i = 0; i < 100; i++)
		CHECK(open_one(NAT_ICMP, 6, i, 0) != NULL);
	CHECK_EQ(table.evicted, 100);
}

/* One host holds everything; its share is a half as soon as a second host opens a session. */
static void one_host_holds_all(void)
{
	start(SIZE, 1);
	for (uint16_t i = 0; i < SIZE; i++)
		CHECK(session(5, i) != NULL);
	for (uint32_t i = 0; i < SIZE; i++)
		table.session[i].state = NAT_INIT;
	CHECK(nat_evict_session(&table, 6, NULL));
	CHECK(session(6, 1) != NULL);
	consistent();
}

enum { LARGE = 100000, FEW = 500 };

/* Of n sessions in use, makes FEW ones that may be evicted, each `apart` entries from the
 * last. */
static void make_few(uint32_t n, uint32_t apart, uint32_t first)
{
	for (uint32_t i = 0; i < n; i++) {
		table.session[i].state = NAT_ESTABLISHED;
		table.session[i].flags = NAT_ANSWERED;
	}
	for (uint32_t i = 0; i < FEW; i++)
		table.session[first + i * apart].state = NAT_TRANS;
}

/* A new host finds the few sessions wherever they are: nearly every attempt succeeds when
 * they are spread, and when they are side by side it takes as many attempts as one scan of
 * all entries needs. */
static void few_victims_among_many(void)
{
	static const struct {
		uint32_t apart, first, failures;
	} row[] = {{LARGE / FEW, 0, 30}, {1, LARGE / 2, LARGE / 500}, {1, 0, LARGE / 500}};
	for (unsigned k = 0; k < ARRAY_SIZE(row); k++) {
		uint32_t failures = 0, served = 0;
		start(LARGE, 1);
		for (uint32_t i = 0; i < LARGE; i++)
			if (!open_one(i % 2 ? NAT_UDP : NAT_TCP, 5, (uint16_t)(i / 2), 3))
				CHECK_EQ(i, -1);
		make_few(LARGE, row[k].apart, row[k].first);
		while (served < FEW / 2 && failures <= row[k].failures)
			if (nat_evict_session(&table, 1000 + served, NULL))
				CHECK(session(1000 + served++, 9) != NULL);
			else
				failures++;
		CHECK_EQ(served, FEW / 2);
		CHECK_EQ(table.n_sessions, LARGE);
		consistent();
	}
}

/* The same for ports, also when the table has far more sessions than the address has. */
static void few_victims_among_many_ports(void)
{
	static const uint32_t apart[] = {HIGH / FEW, 1};
	for (unsigned k = 0; k < ARRAY_SIZE(apart); k++) {
		uint32_t failures = 0, served = 0;
		start(LARGE, 1);
		take_ports(5, 0, HIGH, NAT_ESTABLISHED, NAT_ANSWERED);
		make_few(HIGH, apart[k], 7);
		while (served < FEW / 2 && failures <= HIGH / 500)
			if (session(1000 + served, swap16(9999)))
				served++;
			else
				failures++;
		CHECK_EQ(served, FEW / 2);
		CHECK_EQ(table.evicted, FEW / 2);
		consistent();
	}
}

/* A session of another protocol, or with a port below 1024, is not evicted for a port. */
static void victims_with_other_ports(void)
{
	start(70000, 1);
	take_ports(5, 0, HIGH, NAT_ESTABLISHED, NAT_ANSWERED);
	for (uint32_t i = 0; i < 500; i++) {
		struct nat_session *tcp = open_one(NAT_TCP, 5, (uint16_t)i, 3);
		struct nat_session *low = session(7, swap16((uint16_t)(i + 1)));
		CHECK(tcp && low);
		if (tcp && low) {
			nat_session_uninvited(&table, tcp);
			nat_session_uninvited(&table, low);
		}
	}
	for (uint32_t i = 0; i < 1000; i++)
		CHECK(session(1000 + i, swap16(9999)) == NULL);
	CHECK_EQ(table.evicted, 0);
	consistent();
}

/* --- expiry times in the past ------------------------------------------------------ */

/* A time that has come, or is past, is due in the next second. */
static void a_past_time_is_due_next_second(void)
{
	for (uint32_t ago = 0; ago <= 2 * NAT_WHEEL; ago = 2 * ago + 1) {
		start(SIZE, 1);
		(void)nat_session_tick(&table, 20000, 100);
		struct nat_session *s = session(1, 1);
		CHECK(s != NULL);
		nat_session_sooner(&table, s, 20000 - ago);
		(void)nat_session_tick(&table, 20000, 100);
		CHECK_EQ(table.n_sessions, 1);
		(void)nat_session_tick(&table, 20001, 100);
		CHECK_EQ(table.n_sessions, 0);
		consistent();
	}
}

/* After a silence longer than its lifetime and its linger time a session is visited twice
 * in one slot. */
static void lingers_in_the_past(void)
{
	start(SIZE, 1);
	table.linger_s = 240;
	struct nat_session *s = session(1, 1);
	s->state = NAT_ESTABLISHED;
	CHECK(!nat_session_tick(&table, 1000000, 2));
	CHECK_EQ(table.n_sessions, 0);
	CHECK_EQ(table.expired, 1);
	consistent();
}

/* --- stations of IPv6 hosts ----------------------------------------------------------------- */

static struct nat_insides insides;

static void start6(uint32_t size, uint8_t host_len)
{
	start(size, 1);
	memset(&insides, 0, sizeof insides);
	CHECK(nat_inside_init(&insides, size, host_len, &rng));
	table.inside6 = &insides;
}

/* A session of an address of a station, with a mapping of its own. */
static struct nat_session *session6(uint32_t address, uint32_t client, uint16_t port)
{
	ip6 a = {.b = {0x20, 1, 0xd, 0xb8}};
	store32(a.b + 12, address);
	uint32_t number = nat_inside_get(&insides, &a);
	CHECK(number != NAT_INSIDE_NONE);
	nat_inside_join(&insides, number, client);
	struct nat_session *s = session(number, port);
	CHECK(s != NULL);
	return s;
}

/* Where an address is needed, one of a station with few sessions stays, whatever else it has. */
static void addresses_of_a_small_station_stay(void)
{
	start6(SIZE, 128);
	for (uint16_t i = 0; i < 50; i++)
		(void)session6(i, 1, i);
	const struct nat_session *s = session6(99, 2, 99);
	for (unsigned i = 0; s && i < 40; i++) {
		CHECK(nat_evict_address(&table));
		CHECK(s->state != NAT_FREE);
		consistent();
	}
}

/* A station that has all of its /64's sessions finds no neighbour to take one from, and few entries
 * are looked at for that. */
static void own_limit_costs_little(void)
{
	start6(SIZE, 64);
	const struct nat_session *s = NULL;
	for (uint16_t i = 0; i < SIZE - 1; i++)
		s = session6(1, 1, i);
	CHECK(s && !nat_evict_neighbour(&table, s->in_ip));
	CHECK(table.scan_at <= 64);
	/* Another station finds one. */
	s = session6(2, 2, SIZE);
	CHECK(s && nat_evict_neighbour(&table, s->in_ip));
	CHECK_EQ(table.n_sessions, SIZE - 1);
	consistent();
}

int main(void)
{
	TEST(half_open_sessions_are_evicted);
	TEST(sessions_in_use_stay);
	TEST(uninvited_sessions_are_evicted_first);
	TEST(uninvited_sessions_do_not_count);
	TEST(finished_connections_are_evicted);
	TEST(a_needed_mapping_stays);
	TEST(unused_entries_are_not_read);
	TEST(ports_are_shared);
	TEST(ports_in_use_stay);
	TEST(a_winner_has_no_more_than_the_loser);
	TEST(ports_of_uninvited_sessions);
	TEST(other_ports_are_free);
	TEST(identifiers_are_shared);
	TEST(one_host_holds_all);
	TEST(few_victims_among_many);
	TEST(few_victims_among_many_ports);
	TEST(victims_with_other_ports);
	TEST(a_past_time_is_due_next_second);
	TEST(lingers_in_the_past);
	TEST(addresses_of_a_small_station_stay);
	TEST(own_limit_costs_little);
	return tap_done();
}
