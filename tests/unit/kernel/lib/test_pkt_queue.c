/* kernel/lib/pkt_queue.h: order, fullness, wrap of slots and of counters. */
#include "kernel/lib/pkt_queue.h"

#include "tests/tap.h"

static struct pkt some[PKT_QUEUE_SIZE + 1];
static struct pkt_queue q;

static void start(uint32_t at)
{
	memset(&q, 0, sizeof q);
	q.head = q.tail = at;
}

static void empty(void)
{
	uint32_t n = 9;
	start(0);
	CHECK(pkt_queue_pop(&q) == NULL);
	(void)pkt_queue_front(&q, &n);
	CHECK_EQ(n, 0);
	CHECK_EQ(pkt_queue_count(&q), 0);
	pkt_queue_take(&q, 0);
	CHECK_EQ(pkt_queue_count(&q), 0);
}

static void full(void)
{
	start(0);
	for (unsigned i = 0; i < PKT_QUEUE_SIZE; i++)
		CHECK(pkt_queue_push(&q, &some[i]));
	CHECK_EQ(pkt_queue_count(&q), PKT_QUEUE_SIZE);
	CHECK(!pkt_queue_push(&q, &some[PKT_QUEUE_SIZE]));
	CHECK_EQ(pkt_queue_count(&q), PKT_QUEUE_SIZE);
	for (unsigned i = 0; i < PKT_QUEUE_SIZE; i++)
		CHECK(pkt_queue_pop(&q) == &some[i]);
	CHECK(pkt_queue_pop(&q) == NULL);
}

static void front_and_take(void)
{
	uint32_t n;
	start(PKT_QUEUE_SIZE - 3);
	for (unsigned i = 0; i < 10; i++)
		CHECK(pkt_queue_push(&q, &some[i]));
	struct pkt **front = pkt_queue_front(&q, &n);
	CHECK_EQ(n, 3); /* up to the end of the array */
	CHECK(front[0] == &some[0] && front[2] == &some[2]);
	pkt_queue_take(&q, 2);
	front = pkt_queue_front(&q, &n);
	CHECK_EQ(n, 1);
	CHECK(front[0] == &some[2]);
	pkt_queue_take(&q, 1);
	front = pkt_queue_front(&q, &n);
	CHECK_EQ(n, 7);
	CHECK(front[0] == &some[3] && front[6] == &some[9]);
	pkt_queue_take(&q, 7);
	CHECK_EQ(pkt_queue_count(&q), 0);
	CHECK(pkt_queue_pop(&q) == NULL);
}

/* Random steps, compared with a simple model. The counters begin shortly before their wrap. */
static void same_as_a_model(void)
{
	static struct pkt *queue[200000];
	uint32_t in = 0, out = 0, seed = 3, refused = 0;
	start(UINT32_MAX - 1000);
	for (unsigned step = 0; step < 100000; step++) {
		seed = seed * 1664525 + 1013904223;
		uint32_t kind = seed >> 28, n;
		if (kind < (step & 4096 ? 12u : 5u)) {
			struct pkt *p = &some[(seed >> 8) % ARRAY_SIZE(some)];
			bool taken = pkt_queue_push(&q, p);
			CHECK_EQ(taken, in - out < PKT_QUEUE_SIZE);
			if (taken)
				queue[in++] = p;
			refused += !taken;
		} else if (kind < 14) {
			struct pkt *p = pkt_queue_pop(&q);
			CHECK(p == (in == out ? NULL : queue[out]));
			out += p != NULL;
		} else {
			struct pkt **front = pkt_queue_front(&q, &n);
			CHECK(n <= in - out && (n > 0) == (in != out));
			for (unsigned i = 0; i < n; i++)
				CHECK(front[i] == queue[out + i]);
			n = n ? (seed >> 8) % (n + 1) / 8 : 0;
			pkt_queue_take(&q, n);
			out += n;
		}
		CHECK_EQ(pkt_queue_count(&q), in - out);
	}
	CHECK(refused > 0);
}

int main(void)
{
	TEST(empty);
	TEST(full);
	TEST(front_and_take);
	TEST(same_as_a_model);
	return tap_done();
}
