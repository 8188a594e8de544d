/* kernel/lib/pkt.c and its inline part: the pool's limits, the bounds of every access, and
 * the bugs that must end the program. */
#include "kernel/lib/alloc.h"
#include "kernel/seam/io.h"
#include "kernel/lib/pkt.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

enum { N = 32 };
static struct pool pool;

static void start(void)
{
	host_arena(1 << 20);
	CHECK(pkt_pool_init(&pool, N, PKT_ROOM));
}

static void pool_counts(void)
{
	start();
	CHECK_EQ(pool.n_total, N);
	CHECK_EQ(pool.n_free, N);
	CHECK_EQ(pool.kept, 0);
	CHECK_EQ(pool.kept_max, N / 4);
}

static void pool_without_memory(void)
{
	struct pool small;
	host_arena(sizeof(struct pkt) * 4);
	CHECK(!pkt_pool_init(&small, 5, PKT_ROOM));
	host_arena(4096);
	CHECK(!pkt_pool_init(&small, 10000, PKT_ROOM));
	host_arena(4096);
	CHECK(pkt_pool_init(&small, 0, PKT_ROOM));
	CHECK(pkt_alloc(&small) == NULL);
}

/* Sizes in bytes that need more than 32 bits; the lower 32 bits alone would fit. */
static void pool_beyond_32_bits(void)
{
	struct pool large;
	uint32_t n = UINT32_MAX / (uint32_t)sizeof(struct pkt);
	host_arena(64u << 20);
	CHECK(!pkt_pool_init(&large, n + 1, PKT_ROOM));
	CHECK(!pkt_pool_init(&large, n + 2, PKT_ROOM));
	CHECK(!pkt_pool_init(&large, UINT32_MAX, PKT_ROOM));
	CHECK(alloc_left() > 60u << 20);
}

static void fresh(void)
{
	start();
	for (unsigned round = 0; round < 3; round++) {
		struct pkt *p = pkt_alloc(&pool);
		CHECK(p != NULL && p->pool == &pool);
		CHECK(p->data == p->bytes + PKT_HEADROOM);
		CHECK_EQ(p->len, 0);
		CHECK_EQ(p->flags, 0);
		CHECK_EQ((uintptr_t)p % _Alignof(struct pkt), 0);
		/* State that the next owner must not see. */
		p->flags = PKT_ROUTED | PKT_HAIRPIN;
		CHECK(pkt_put(p, 100) != NULL && pkt_pull(p, 50) != NULL);
		pkt_free(p);
	}
}

static void exhaustion(void)
{
	struct pkt *all[N];
	start();
	for (unsigned i = 0; i < N; i++) {
		all[i] = pkt_alloc(&pool);
		CHECK(all[i] != NULL);
		for (unsigned j = 0; j < i; j++)
			CHECK(all[j] != all[i]);
		uint8_t *data = pkt_put(all[i], PKT_ROOM);
		CHECK(data != NULL);
		memset(data, (int)i, PKT_ROOM);
	}
	CHECK(pkt_alloc(&pool) == NULL);
	CHECK(pkt_alloc(&pool) == NULL);
	CHECK_EQ(pool.n_free, 0);
	for (unsigned i = 0; i < N; i++) {
		CHECK_EQ(all[i]->data[0], i);
		CHECK_EQ(all[i]->data[PKT_ROOM - 1], i);
		pkt_free(all[i]);
	}
	CHECK_EQ(pool.n_free, N);
	/* The last freed packet is allocated first: it is still in the cache. */
	CHECK(pkt_alloc(&pool) == all[N - 1]);
}

static void kept_packets_are_limited(void)
{
	start();
	for (unsigned i = 0; i < N / 4; i++)
		CHECK(pool_keep(&pool));
	CHECK(!pool_keep(&pool));
	CHECK_EQ(pool.kept, N / 4);
	pool_unkeep(&pool);
	CHECK(pool_keep(&pool));
	CHECK(!pool_keep(&pool));
}

static void put(void)
{
	start();
	struct pkt *p = pkt_alloc(&pool);
	CHECK(pkt_put(p, PKT_ROOM + 1) == NULL);
	CHECK(pkt_put(p, UINT32_MAX) == NULL);
	CHECK_EQ(p->len, 0);
	CHECK(pkt_put(p, 0) == p->data);
	CHECK(pkt_put(p, 10) == p->data);
	CHECK(pkt_put(p, PKT_ROOM - 10) == p->data + 10);
	CHECK_EQ(p->len, PKT_ROOM);
	CHECK(pkt_put(p, 1) == NULL);
	memset(p->data, 1, p->len);
	/* Bytes pulled at the front give no room at the end. */
	CHECK(pkt_pull(p, 100) != NULL);
	CHECK(pkt_put(p, 1) == NULL);
	pkt_free(p);
}

/* A pool of large packets: slots do not overlap, and a packet ends where its slot does, wherever
 * its data begins. */
static void large(void)
{
	struct pool big;
	struct pkt *all[8];
	host_arena(1 << 20);
	CHECK(pkt_slot(PKT_ROOM_LARGE) % 64 == 0);
	CHECK(pkt_pool_init(&big, ARRAY_SIZE(all), PKT_ROOM_LARGE));
	for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
		struct pkt *p = all[i] = pkt_alloc(&big);
		CHECK_EQ(pkt_space(p), PKT_ROOM_LARGE);
		CHECK(pkt_put(p, PKT_ROOM_LARGE + 1) == NULL);
		uint8_t *data = pkt_put(p, PKT_ROOM_LARGE);
		CHECK(data != NULL);
		memset(p->bytes, (int)i, PKT_HEADROOM);
		memset(data, (int)i, PKT_ROOM_LARGE);
		CHECK(pkt_put(p, 1) == NULL);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
		struct pkt *p = all[i];
		CHECK(p->pool == &big && p->data == p->bytes + PKT_HEADROOM);
		CHECK_EQ(p->data[PKT_ROOM_LARGE - 1], i);
		/* Cut at the front far beyond what a small packet has, and at the end. */
		CHECK(pkt_pull(p, 7000) != NULL);
		pkt_trim(p, 100);
		CHECK_EQ(pkt_space(p), PKT_ROOM_LARGE - 7000);
		CHECK(pkt_put(p, PKT_ROOM_LARGE - 7100 + 1) == NULL);
		CHECK(pkt_put(p, PKT_ROOM_LARGE - 7100) != NULL);
		CHECK(pkt_push(p, 7000 + PKT_HEADROOM) == p->bytes);
		pkt_free(p);
	}
	CHECK_EQ(big.n_free, ARRAY_SIZE(all));
}

static void pull(void)
{
	start();
	struct pkt *p = pkt_alloc(&pool);
	uint8_t *at = pkt_put(p, 20);
	CHECK(pkt_pull(p, 21) == NULL);
	CHECK(pkt_pull(p, UINT32_MAX) == NULL);
	CHECK(p->data == at && p->len == 20);
	CHECK(pkt_pull(p, 5) == at + 5);
	CHECK_EQ(p->len, 15);
	CHECK(pkt_pull(p, 15) == at + 20);
	CHECK_EQ(p->len, 0);
	CHECK(pkt_pull(p, 1) == NULL);
	CHECK(pkt_pull(p, 0) == at + 20);
	pkt_free(p);
}

static void push(void)
{
	start();
	struct pkt *p = pkt_alloc(&pool);
	uint8_t *at = p->data;
	CHECK(pkt_put(p, 4) == at);
	CHECK(pkt_push(p, PKT_HEADROOM + 1) == NULL);
	CHECK(pkt_push(p, UINT32_MAX) == NULL);
	CHECK(p->data == at && p->len == 4);
	CHECK(pkt_push(p, 14) == at - 14);
	CHECK_EQ(p->len, 18);
	CHECK(pkt_push(p, PKT_HEADROOM - 14) == p->bytes);
	CHECK(pkt_push(p, 1) == NULL);
	memset(p->data, 2, p->len);
	/* Pulled bytes can be pushed again. */
	CHECK(pkt_pull(p, 20) != NULL);
	CHECK(pkt_push(p, 20) == p->bytes);
	pkt_free(p);
}

static void at(void)
{
	start();
	struct pkt *p = pkt_alloc(&pool);
	CHECK(pkt_put(p, 60) != NULL);
	CHECK(pkt_at(p, 0, 60) == p->data);
	CHECK(pkt_at(p, 20, 40) == p->data + 20);
	CHECK(pkt_at(p, 60, 0) == p->data + 60);
	CHECK(pkt_at(p, 0, 61) == NULL);
	CHECK(pkt_at(p, 20, 41) == NULL);
	CHECK(pkt_at(p, 61, 0) == NULL);
	/* Sums that wrap. */
	CHECK(pkt_at(p, UINT32_MAX, 2) == NULL);
	CHECK(pkt_at(p, 2, UINT32_MAX) == NULL);
	CHECK(pkt_at(p, UINT32_MAX, UINT32_MAX) == NULL);
	pkt_free(p);
}

static void trim(void)
{
	start();
	struct pkt *p = pkt_alloc(&pool);
	CHECK(pkt_put(p, 60) != NULL);
	pkt_trim(p, 61);
	CHECK_EQ(p->len, 60);
	pkt_trim(p, 60);
	CHECK_EQ(p->len, 60);
	pkt_trim(p, 46);
	CHECK_EQ(p->len, 46);
	pkt_trim(p, 0);
	CHECK_EQ(p->len, 0);
	pkt_free(p);
}

/* Runs f in a child process. True when f was ended (by abort or a sanitizer). */
static bool dies(void (*f)(void))
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(0);
		f();
		_exit(0);
	}
	int status = 0;
	if (child < 0 || waitpid(child, &status, 0) != child)
		return false;
	return WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
}

static void lives(void)
{
	struct pkt *p = pkt_alloc(&pool);
	pkt_free(p);
}

static void free_twice(void)
{
	struct pkt *p = pkt_alloc(&pool);
	pkt_free(p);
	pkt_free(p);
}

static void free_twice_with_others_between(void)
{
	struct pkt *p = pkt_alloc(&pool), *q = pkt_alloc(&pool);
	pkt_free(p);
	pkt_free(q);
	pkt_free(p);
}

static void double_free(void)
{
	start();
	CHECK(!dies(lives));
	CHECK(dies(free_twice));
	CHECK(dies(free_twice_with_others_between));
}

#ifdef __SANITIZE_ADDRESS__
static volatile uint8_t sight;

static void read_after_free(void)
{
	struct pkt *p = pkt_alloc(&pool);
	uint8_t *data = pkt_put(p, 10);
	pkt_free(p);
	sight = data[3];
}

static void read_of_a_free_slot(void)
{
	sight = pool.stack[0]->bytes[0];
}

/* Gives a packet of ten bytes: put at once, cut from twenty, or put as five and five. */
static struct pkt *ten_bytes(unsigned how)
{
	struct pkt *p = pkt_alloc(&pool);
	if (!p || !pkt_put(p, how == 0 ? 10 : how == 1 ? 20 : 5))
		abort();
	if (how == 2 && !pkt_put(p, 5))
		abort();
	pkt_trim(p, 10);
	return p;
}

static unsigned how_made;

static void write_behind_the_end(void)
{
	ten_bytes(how_made)->data[10] = 1;
}

static void write_at_the_slots_end(void)
{
	ten_bytes(how_made)->data[PKT_ROOM - 1] = 1;
}

static void writes_within(void)
{
	struct pkt *p = ten_bytes(how_made);
	p->data[9] = 1;
	if (!pkt_push(p, PKT_HEADROOM))
		abort();
	p->data[0] = 1;
}

static void poison(void)
{
	start();
	CHECK(dies(read_after_free));
	CHECK(dies(read_of_a_free_slot));
	for (how_made = 0; how_made < 3; how_made++) {
		CHECK(dies(write_behind_the_end));
		CHECK(dies(write_at_the_slots_end));
		CHECK(!dies(writes_within));
	}
}
#endif

int main(void)
{
	TEST(pool_counts);
	TEST(pool_without_memory);
	TEST(pool_beyond_32_bits);
	TEST(fresh);
	TEST(exhaustion);
	TEST(kept_packets_are_limited);
	TEST(put);
	TEST(large);
	TEST(pull);
	TEST(push);
	TEST(at);
	TEST(trim);
	TEST(double_free);
#ifdef __SANITIZE_ADDRESS__
	TEST(poison);
#endif
	return tap_done();
}
