/* kernel/pager.c: where a long answer stops. */
#include "kernel/pager.h"
#include "tests/tap.h"

static struct pager p;

/* How many lines of this length are printed before one waits. */
static uint32_t lines(size_t len)
{
	uint32_t n = 0;
	while (n < 1000 && pager_line(&p, len))
		n++;
	return n;
}

static void without(void)
{
	pager_begin(&p, false);
	CHECK_EQ(lines(10), 1000);
	CHECK(!p.asks);
}

static void pages(void)
{
	pager_begin(&p, true);
	CHECK_EQ(lines(80), PAGER_ROWS);
	CHECK(p.asks);
	CHECK(!pager_key(&p, 'x', 80));
	CHECK(!pager_key(&p, -1, 80));
	CHECK(p.asks);
	CHECK(pager_key(&p, ' ', 80));
	CHECK(!p.asks);
	CHECK_EQ(lines(80), PAGER_ROWS);
	CHECK(pager_key(&p, '\r', 80));
	CHECK_EQ(lines(80), 1);
	CHECK(pager_key(&p, '\n', 80));
	CHECK_EQ(lines(0), 1);
	pager_begin(&p, false); /* the rest of the answer */
	CHECK(!p.asks);
	CHECK_EQ(lines(80), 1000);
}

/* A line of 81 characters takes two rows; the largest one takes a page at most. */
static void long_lines(void)
{
	pager_begin(&p, true);
	CHECK_EQ(lines(81), PAGER_ROWS / 2);
	CHECK(pager_key(&p, '\r', 81));
	CHECK_EQ(lines(81), 1);
	CHECK(pager_key(&p, ' ', 100000));
	CHECK_EQ(lines(100000), 1);
	CHECK(pager_key(&p, '\r', 100000));
	CHECK_EQ(lines(100000), 1);
}

static void its_text(void)
{
	CHECK_EQ(strlen(PAGER_WIPES), strlen(PAGER_ASKS) + 2);
}

int main(void)
{
	TEST(without);
	TEST(pages);
	TEST(long_lines);
	TEST(its_text);
	return tap_done();
}
