/* net/stats/count.c: counters of any width, values that are computed, tables one behind the other.
 */
#include "net/stats/count.h"
#include "net/gw.h"
#include "tests/tap.h"

static struct {
	uint64_t wide;
	uint32_t word;
	uint16_t half;
	uint16_t other;
} all = {0x123456789abcdef0, 0x87654321, 0xfedc, 0xffff};

static uint64_t doubled(const void *of)
{
	return 2 * ((const __typeof__(all) *)of)->word;
}

static const void *here(const struct gw *gw)
{
	(void)gw;
	return &all;
}

static const void *absent(const struct gw *gw)
{
	(void)gw;
	return NULL;
}

static const struct count count[] = {
        COUNT(__typeof__(all), "wide", wide),
        COUNT(__typeof__(all), "word", word),
        COUNT(__typeof__(all), "half", half),
        COUNT_OF("doubled{of=\"word\"}", doubled),
};
static const struct count filled[] = {
        COUNT(__typeof__(all), "wide", wide),
        COUNT_FILL(__typeof__(all), "half", half, doubled),
        COUNT_FILL_OF("doubled", doubled, doubled),
};
static const struct count_table table = COUNT_TABLE(count, here);
static const struct count_table fills = COUNT_TABLE(filled, here);
static const struct count_table none = COUNT_TABLE(count, absent);

static void every_line(void)
{
	static const char *const want[] = {"wide 1311768467463790320", "word 2271560481",
	                                   "half 65244", "doubled{of=\"word\"} 248153666"};
	char line[80];
	uint32_t cursor = 0;
	for (uint32_t i = 0; i < ARRAY_SIZE(want); i++) {
		CHECK(count_show(NULL, &table, &cursor, line, sizeof line));
		CHECK_STR(line, want[i]);
		CHECK_EQ(cursor, i + 1);
	}
	CHECK(!count_show(NULL, &table, &cursor, line, sizeof line));
	CHECK_EQ(cursor, 0);
}

/* What is behind a table is counted in the next one; a table that is not there has no lines. */
static void tables_in_a_row(void)
{
	char line[80];
	uint32_t cursor = 6;
	CHECK(!count_show(NULL, &none, &cursor, line, sizeof line));
	CHECK_EQ(cursor, 6);
	CHECK(!count_show(NULL, &table, &cursor, line, sizeof line));
	CHECK_EQ(cursor, 2);
	CHECK(count_show(NULL, &table, &cursor, line, sizeof line));
	CHECK_STR(line, "half 65244");
}

static void fill_of_tables(void)
{
	struct count_fill f;
	uint32_t i = 0;
	CHECK(count_fill(NULL, &fills, &i, &f));
	CHECK_STR(f.name, "half");
	CHECK_EQ(f.value, 65244);
	CHECK_EQ(f.most, 248153666);
	i = 1;
	CHECK(!count_fill(NULL, &table, &i, &f));
	CHECK(!count_fill(NULL, &none, &i, &f));
	CHECK_EQ(i, 1);
	CHECK(count_fill(NULL, &fills, &i, &f));
	CHECK_STR(f.name, "doubled");
	i = 5;
	CHECK(!count_fill(NULL, &fills, &i, &f));
	CHECK_EQ(i, 3);
}

int main(void)
{
	TEST(fill_of_tables);
	TEST(every_line);
	TEST(tables_in_a_row);
	return tap_done();
}
