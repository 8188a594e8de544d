/* apps/http/http_talkers.c: searches of several clients, and of one that is gone. */
#include "apps/http/http_talkers.h"
#include "tests/tap.h"

enum { HOSTS = 1000 };

static uint32_t has[HOSTS], n_hosts; /* sessions; hosts, of which later ones have none */

/* Host i is 10.0.0.0 plus i. */
static bool next_host(const struct gw *gw, uint32_t *cursor, struct prefix *host,
                      uint32_t *sessions)
{
	(void)gw;
	if (*cursor >= n_hosts)
		return false;
	*host = (struct prefix){.addr.v4 = ip4_of(0x0a000000 + *cursor), .len = 32};
	*sessions = *cursor < HOSTS ? has[*cursor] : 0;
	++*cursor;
	return true;
}

static const struct forwarder counts = {.host = next_host}, counts_none;
static struct gw gw;
static struct http_talkers t;
static struct http_out o;

static void begin(void)
{
	gw.forwarder = &counts;
	n_hosts = HOSTS;
	gw.clock.us = 5000000;
	memset(&t, 0, sizeof t);
	memset(has, 0, sizeof has);
}

/* Searches to the end; gives the number of calls, each of which takes 10 us. */
static uint32_t search(struct http_job *job)
{
	uint32_t n = 1;
	while (http_talkers_search(&gw, &t, job, &o)) {
		gw.clock.us += 10;
		n++;
	}
	return n;
}

static uint32_t page(void)
{
	struct http_job job = {0};
	return search(&job);
}

static bool is(uint32_t i, uint32_t host, uint32_t sessions)
{
	char text[FMT_IP6 + 4], want[FMT_IP4];
	fmt_ip4(want, ip4_of(0x0a000000 + host));
	return i < t.n && t.shown[i].sessions == sessions &&
	       strcmp(http_talkers_text(text, &t.shown[i]), want) == 0;
}

static void in_order(void)
{
	begin();
	CHECK(page() > 5 && t.n == 0);
	gw.clock.us += 1000000;
	has[3] = 7, has[500] = 9, has[HOSTS - 1] = 7;
	CHECK(page() > 5 && t.n == 3);
	CHECK(is(0, 500, 9) && is(1, 3, 7) && is(2, HOSTS - 1, 7));
}

static void full(void)
{
	begin();
	for (uint32_t i = 0; i < HOSTS; i++)
		has[i] = i % 100 + 1;
	page();
	CHECK(t.n == HTTP_TALKERS);
	for (uint32_t i = 0; i < HTTP_TALKERS; i++)
		CHECK(is(i, 99 + 100 * i, 100));
}

/* A second client waits for the search of the first, and both show the same. */
static void together(void)
{
	struct http_job first = {0}, second = {0};
	begin();
	has[0] = 1;
	CHECK(http_talkers_search(&gw, &t, &first, &o));
	has[0] = 2;
	search(&second);
	CHECK(t.n == 1 && is(0, 0, 1));
	CHECK(!http_talkers_search(&gw, &t, &first, &o));
	CHECK(page() == 1); /* a result that is new enough */
}

/* A client goes away in the middle of its search: the tick ends it, a piece each millisecond. */
static void abandoned(void)
{
	struct http_job gone = {0};
	uint32_t ticks = 0;
	begin();
	has[HOSTS - 1] = 5;
	CHECK(http_talkers_search(&gw, &t, &gone, &o));
	for (; t.running && ticks < 1000; ticks++) {
		gw.clock.us += 100;
		http_talkers_tick(&gw, &t);
	}
	CHECK(ticks > 60 && ticks < 90 && is(0, HOSTS - 1, 5));
	http_talkers_tick(&gw, &t);
	CHECK(!t.running);
}

/* A search of a large table: the first page waits for it, later ones show the one before, until the
 * tick has ended it. */
static void large(void)
{
	struct http_job job = {0};
	begin();
	n_hosts = 100000;
	has[0] = 1;
	CHECK(page() > 500 && is(0, 0, 1));
	has[0] = 2;
	gw.clock.us += 1000000;
	CHECK(search(&job) == 65 && is(0, 0, 1) && t.running);
	for (uint32_t i = 0; i < 1000; i++) {
		gw.clock.us += 1000;
		http_talkers_tick(&gw, &t);
	}
	CHECK(is(0, 0, 2));
}

static void nobody_counts(void)
{
	begin();
	gw.forwarder = &counts_none;
	CHECK(page() == 1 && t.n == 0);
}

int main(void)
{
	TEST(in_order);
	TEST(full);
	TEST(together);
	TEST(abandoned);
	TEST(large);
	TEST(nobody_counts);
	return tap_done();
}
