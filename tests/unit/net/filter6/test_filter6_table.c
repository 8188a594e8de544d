/* net/filter6/filter6_table: what a full set evicts, whose sessions a flood costs, and that any
 * order of packets keeps the table whole. tests/sim/filter6 tests what the RFCs say. */
#include "net/filter6/filter6_table.h"

#include "kernel/lib/alloc.h"
#include "kernel/lib/when.h"
#include "net/lib/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

#define PLACES (FILTER6_SETS * FILTER6_WAYS)

static struct filter6_table t;
static struct rng rng;
static uint32_t now;

static void start(void)
{
	static void *memory;
	const size_t size = FILTER6_SETS * sizeof *t.set + 128;
	if (!memory)
		memory = malloc(size);
	alloc_reset();
	alloc_add(memory, size);
	memset(&t, 0, sizeof t);
	memset(&rng, 0, sizeof rng);
	rng_seed(&rng, "filter6", 7);
	CHECK(memory && filter6_table_init(&t, &rng));
	now = 10;
}

static struct filter6_key key_of(uint32_t client, uint32_t i)
{
	struct filter6_key k = {.proto = PROTO_TCP,
	                        .inside_port = (uint16_t)i,
	                        .outside_port = (uint16_t)(i >> 16)};
	k.inside.b[15] = (uint8_t)client;
	k.outside.b[0] = 0x20;
	return k;
}

/* One packet, which opens a session where there is none; false when there is no room. */
static bool packet(uint32_t client, uint32_t i, bool from_inside, uint8_t flags)
{
	const struct filter6_key k = key_of(client, i);
	struct filter6_session *s = filter6_table_find(&t, &k, now);
	if (!s)
		s = filter6_table_open(&t, &k, client, !from_inside, now);
	if (s)
		filter6_table_seen(s, from_inside, flags, now);
	return s != NULL;
}

static void open_tcp(uint32_t client, uint32_t i)
{
	packet(client, i, true, TCP_SYN);
	packet(client, i, false, TCP_SYN | TCP_ACK);
	packet(client, i, true, TCP_ACK);
}

static bool has(uint32_t client, uint32_t i)
{
	const struct filter6_key k = key_of(client, i);
	return filter6_table_find(&t, &k, now) != NULL;
}

static void states(void)
{
	static const struct {
		bool from_inside;
		uint8_t flags;
		enum filter6_state then;
		uint32_t life;
	} step[] = {
	        {true, TCP_SYN, FILTER6_NEW, 240},
	        {true, TCP_SYN, FILTER6_NEW, 240},
	        {false, TCP_SYN | TCP_ACK, FILTER6_OPEN, 7440},
	        {false, TCP_FIN | TCP_ACK, FILTER6_FIN_OUT, 7440},
	        {false, TCP_FIN | TCP_ACK, FILTER6_FIN_OUT, 7440},
	        {true, TCP_FIN | TCP_ACK, FILTER6_ENDED, 240},
	        {false, TCP_ACK, FILTER6_ENDED, 240},
	        {true, TCP_SYN, FILTER6_NEW, 240},
	        {false, TCP_RST | TCP_ACK, FILTER6_ENDED, 240},
	        {false, TCP_SYN, FILTER6_NEW, 240},
	        {true, TCP_SYN | TCP_ACK, FILTER6_OPEN, 7440},
	        {false, TCP_RST, FILTER6_RESET, 240},
	        {false, TCP_ACK, FILTER6_RESET, 240},
	        {true, TCP_ACK, FILTER6_OPEN, 7440},
	        {true, TCP_FIN, FILTER6_FIN_IN, 7440},
	        {true, TCP_RST, FILTER6_RESET, 240},
	};
	start();
	const struct filter6_key k = key_of(1, 1);
	for (uint32_t i = 0; i < ARRAY_SIZE(step); i++) {
		now++;
		packet(1, 1, step[i].from_inside, step[i].flags);
		const struct filter6_session *s = filter6_table_find(&t, &k, now);
		CHECK(s != NULL);
		if (!s)
			return;
		CHECK_EQ(s->state, step[i].then);
		uint32_t left = when_left(now, s->end_s, FILTER6_TCP_S);
		CHECK(left <= step[i].life && left + ARRAY_SIZE(step) >= step[i].life);
	}
	CHECK_EQ(t.n, 1);
}

static void open_sessions_stay_in_a_flood(void)
{
	start();
	for (uint32_t i = 0; i < 2000; i++)
		open_tcp(1, i);
	for (uint32_t i = 0; i < 20 * PLACES; i++)
		packet(2, i, true, TCP_SYN);
	uint32_t left = 0;
	for (uint32_t i = 0; i < 2000; i++)
		left += has(1, i);
	CHECK_EQ(left, 2000);
	CHECK_EQ(t.n, PLACES);
	CHECK(t.evicted > 0);
}

/* A flood of one client takes its own half-open sessions first. */
static void a_flood_costs_its_own_client(void)
{
	start();
	for (uint32_t i = 0; i < 1000; i++)
		packet(1, i, true, TCP_SYN);
	for (uint32_t i = 0; i < 4 * PLACES; i++)
		packet(2, i, true, TCP_SYN);
	uint32_t left = 0;
	for (uint32_t i = 0; i < 1000; i++)
		left += has(1, i);
	CHECK(left >= 990);
	/* What has ended, then what hosts outside began, goes before that. */
	CHECK(packet(1, 5, true, TCP_SYN));
}

/* Hosts outside fill all places with sessions that an inside host answers; this costs no inside
 * host a session, and not the one that they reach. */
static void strangers_make_room(void)
{
	start();
	for (uint32_t i = 0; i < 4 * PLACES; i++)
		if (packet(1, i, false, TCP_SYN))
			packet(1, i, true, TCP_SYN | TCP_ACK);
	for (uint32_t i = 0; i < 1000; i++) {
		open_tcp(1, 9 * PLACES + i);
		open_tcp(2, 9 * PLACES + i);
	}
	uint32_t left = 0;
	for (uint32_t i = 0; i < 1000; i++)
		left += has(1, 9 * PLACES + i) + has(2, 9 * PLACES + i);
	CHECK_EQ(left, 2000);
	for (uint32_t i = 0; i < 4 * PLACES; i++)
		if (packet(1, 20 * PLACES + i, false, TCP_SYN))
			packet(1, 20 * PLACES + i, true, TCP_SYN | TCP_ACK);
	left = 0;
	for (uint32_t i = 0; i < 1000; i++)
		left += has(1, 9 * PLACES + i) + has(2, 9 * PLACES + i);
	CHECK_EQ(left, 2000);
}

/* Half-open sessions of inside hosts go neither for an echo from outside, nor for hosts outside
 * that have half of the set. */
static void strangers_take_half_of_it(void)
{
	for (uint32_t proto = PROTO_TCP; proto != PROTO_NONE;
	     proto = proto == PROTO_TCP ? PROTO_ICMP6 : PROTO_NONE) {
		uint32_t left = 0;
		start();
		for (uint32_t i = 0; i < 4 * PLACES; i++)
			packet(1, i, true, TCP_SYN);
		for (uint32_t i = 0; i < 8 * PLACES; i++) {
			struct filter6_key k = key_of(2, i);
			k.proto = (uint8_t)proto;
			struct filter6_session *s = filter6_table_open(&t, &k, 2, true, now);
			if (s) {
				filter6_table_seen(s, false, TCP_SYN, now);
				filter6_table_seen(s, true, TCP_SYN | TCP_ACK, now);
			}
		}
		for (uint32_t i = 0; i < 4 * PLACES; i++)
			left += has(1, i);
		CHECK_EQ(left, proto == PROTO_TCP ? PLACES / 2 : PLACES);
	}
}

/* An echo from outside leaves the place to another one, and to a rule's session. */
static void echoes_make_room(void)
{
	uint32_t refused = 0;
	start();
	for (uint32_t i = 0; i < 4 * PLACES; i++) {
		struct filter6_key k = key_of(1, i);
		k.proto = PROTO_ICMP6;
		struct filter6_session *s = filter6_table_open(&t, &k, 1, true, now);
		refused += !s;
		if (s) {
			filter6_table_seen(s, false, 0, now);
			filter6_table_seen(s, true, 0, now);
		}
	}
	for (uint32_t i = 0; i < PLACES / 4; i++)
		refused += !packet(1, i, false, TCP_SYN);
	CHECK_EQ(refused, 0);
}

/* One client's 40,000 answered flows leave room for another's, and cost only the first. */
static void a_busy_client_pays(void)
{
	uint32_t left = 0, refused = 0;
	start();
	for (uint32_t i = 0; i < 40000; i++) {
		struct filter6_key k = key_of(1, i);
		k.proto = PROTO_UDP;
		struct filter6_session *s = filter6_table_open(&t, &k, 1, false, now);
		refused += !s;
		if (s) {
			filter6_table_seen(s, true, 0, now);
			filter6_table_seen(s, false, 0, now);
		}
		now += i % 134 == 133;
	}
	for (uint32_t i = 0; i < 1000; i++)
		open_tcp(2, i);
	for (uint32_t i = 0; i < 4 * PLACES; i++)
		open_tcp(1, 99999 + i);
	for (uint32_t i = 0; i < 1000; i++)
		left += has(2, i);
	CHECK_EQ(refused, 0);
	CHECK_EQ(left, 1000);
}

static void fragments(void)
{
	const struct filter6_key k = key_of(1, 1);
	start();
	CHECK(!filter6_table_noted(&t, &k.outside, &k.inside, 0, now));
	filter6_table_note(&t, &k.outside, &k.inside, 7, false, now);
	CHECK(filter6_table_noted(&t, &k.outside, &k.inside, 7, now + 59));
	CHECK(!filter6_table_noted(&t, &k.outside, &k.inside, 8, now));
	CHECK(!filter6_table_noted(&t, &k.inside, &k.outside, 7, now));
	CHECK(!filter6_table_noted(&t, &k.outside, &k.inside, 7, now + 60));
	/* After a silence of any length. */
	CHECK(!filter6_table_noted(&t, &k.outside, &k.inside, 7, now + 0x80000000u));
	/* Those of strangers are found, too, and take no place of others. */
	filter6_table_note(&t, &k.outside, &k.inside, 7, false, now);
	for (uint32_t id = 8; id < 10000; id++) {
		filter6_table_note(&t, &k.outside, &k.inside, id, true, now);
		CHECK(filter6_table_noted(&t, &k.outside, &k.inside, id, now));
	}
	CHECK(filter6_table_noted(&t, &k.outside, &k.inside, 7, now));
}

/* The count is that of the places in use, no key is there twice, in any order of packets. */
static void anything(void)
{
	static const uint8_t flags[] = {TCP_SYN,           TCP_SYN | TCP_ACK, TCP_ACK, TCP_ACK,
	                                TCP_FIN | TCP_ACK, TCP_RST,           0,       TCP_ACK};
	start();
	for (uint32_t i = 0; i < 400000; i++) {
		packet(rng_below(&rng, 4), rng_below(&rng, 60000), rng_below(&rng, 2),
		       flags[rng_below(&rng, 8)]);
		if (rng_below(&rng, 64) == 0)
			filter6_table_sweep(&t, now);
		if (rng_below(&rng, 1000) == 0)
			now += rng_below(&rng, 300);
	}
	uint32_t n = 0, doubles = 0;
	for (uint32_t i = 0; i < FILTER6_SETS; i++)
		for (uint32_t k = 0; k < FILTER6_WAYS; k++) {
			n += t.set[i][k].state != FILTER6_FREE;
			for (uint32_t m = 0; m < k; m++)
				doubles += filter6_table_at(&t, i * FILTER6_WAYS + k, now) &&
				           filter6_table_at(&t, i * FILTER6_WAYS + m, now) &&
				           memcmp(&t.set[i][k].key, &t.set[i][m].key,
				                  sizeof t.set[i][k].key) == 0;
		}
	CHECK_EQ(t.n, n);
	CHECK_EQ(doubles, 0);
}

int main(void)
{
	TEST(states);
	TEST(open_sessions_stay_in_a_flood);
	TEST(a_flood_costs_its_own_client);
	TEST(strangers_make_room);
	TEST(strangers_take_half_of_it);
	TEST(echoes_make_room);
	TEST(a_busy_client_pays);
	TEST(fragments);
	TEST(anything);
	return tap_done();
}
