/* kernel/link.h: order, fullness, wrap of slots and of counters. */
#include "kernel/link.h"

#include "tests/tap.h"

static struct pkt some[LINK_SIZE + 1];
static struct link l;

static void start(uint32_t at)
{
	memset(&l, 0, sizeof l);
	l.head = l.tail = at;
}

static void empty(void)
{
	uint32_t n = 9;
	start(0);
	CHECK(link_pop(&l) == NULL);
	(void)link_front(&l, &n);
	CHECK_EQ(n, 0);
	CHECK_EQ(link_count(&l), 0);
	link_take(&l, 0);
	CHECK_EQ(link_count(&l), 0);
}

static void full(void)
{
	start(0);
	for (unsigned i = 0; i < LINK_SIZE; i++)
		CHECK(link_push(&l, &some[i]));
	CHECK_EQ(link_count(&l), LINK_SIZE);
	CHECK(!link_push(&l, &some[LINK_SIZE]));
	CHECK_EQ(link_count(&l), LINK_SIZE);
	for (unsigned i = 0; i < LINK_SIZE; i++)
		CHECK(link_pop(&l) == &some[i]);
	CHECK(link_pop(&l) == NULL);
}

static void front_and_take(void)
{
	uint32_t n;
	start(LINK_SIZE - 3);
	for (unsigned i = 0; i < 10; i++)
		CHECK(link_push(&l, &some[i]));
	struct pkt **front = link_front(&l, &n);
	CHECK_EQ(n, 3); /* up to the end of the array */
	CHECK(front[0] == &some[0] && front[2] == &some[2]);
	link_take(&l, 2);
	front = link_front(&l, &n);
	CHECK_EQ(n, 1);
	CHECK(front[0] == &some[2]);
	link_take(&l, 1);
	front = link_front(&l, &n);
	CHECK_EQ(n, 7);
	CHECK(front[0] == &some[3] && front[6] == &some[9]);
	link_take(&l, 7);
	CHECK_EQ(link_count(&l), 0);
	CHECK(link_pop(&l) == NULL);
}

/* Random steps beside a plain queue; the counters begin near their wrap. */
static void beside_a_queue(void)
{
	static struct pkt *queue[200000];
	uint32_t in = 0, out = 0, seed = 3, refused = 0;
	start(UINT32_MAX - 1000);
	for (unsigned step = 0; step < 100000; step++) {
		seed = seed * 1664525 + 1013904223;
		uint32_t kind = seed >> 28, n;
		if (kind < (step & 4096 ? 12u : 5u)) {
			struct pkt *p = &some[(seed >> 8) % ARRAY_SIZE(some)];
			bool taken = link_push(&l, p);
			CHECK_EQ(taken, in - out < LINK_SIZE);
			if (taken)
				queue[in++] = p;
			refused += !taken;
		} else if (kind < 14) {
			struct pkt *p = link_pop(&l);
			CHECK(p == (in == out ? NULL : queue[out]));
			out += p != NULL;
		} else {
			struct pkt **front = link_front(&l, &n);
			CHECK(n <= in - out && (n > 0) == (in != out));
			for (unsigned i = 0; i < n; i++)
				CHECK(front[i] == queue[out + i]);
			n = n ? (seed >> 8) % (n + 1) / 8 : 0;
			link_take(&l, n);
			out += n;
		}
		CHECK_EQ(link_count(&l), in - out);
	}
	CHECK(refused > 0);
}

int main(void)
{
	TEST(empty);
	TEST(full);
	TEST(front_and_take);
	TEST(beside_a_queue);
	return tap_done();
}
