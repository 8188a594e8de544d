/* kernel/lib/when.h: at any time of the clock, a time ahead within its bound is exact to
 * the unit, and every other time has come. */
#include "kernel/lib/when.h"

#include "tests/tap.h"

static const uint32_t clocks[] = {0,           1,           1000,        0x7fffff00u, 0x7fffffffu,
                                  0x80000000u, 0x80000100u, 0xfffffc00u, 0xffffffffu};

static void what_is_left(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(clocks); i++)
		for (uint32_t most = 1; most < 0xf0000000u; most = most * 3 + 1)
			for (uint32_t back = 0; back <= 40; back++) {
				uint32_t now = clocks[i], ahead = most / 40 * back;
				CHECK_EQ(when_left(now, now + ahead, most), ahead);
				CHECK_EQ(when_come(now, now + ahead, most), ahead == 0);
			}
}

/* What was due stays due after any pause up to the clock's range minus `most`. */
static void what_has_passed(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(clocks); i++)
		for (uint32_t most = 1; most < 0x70000000u; most = most * 3 + 1) {
			uint32_t least = 0u - most - 1; /* the longest pause */
			for (uint32_t k = 0; k <= 40; k++) {
				uint32_t pause = least / 40 * k;
				CHECK(when_come(clocks[i] + pause, clocks[i], most));
			}
			CHECK(when_come(clocks[i] + least, clocks[i], most));
			CHECK_EQ(when_left(clocks[i] + least + 1, clocks[i], most), most);
		}
}

static void every_so_often(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(clocks); i++)
		for (unsigned k = 0; k < ARRAY_SIZE(clocks); k++) {
			uint32_t now = clocks[i], next = clocks[k], n = 0;
			for (uint32_t passed = 0; passed < 1000; passed++)
				n += when_again(now + passed, &next, 100);
			CHECK(n >= 9 && n <= 10); /* the first at once, or within 100 */
		}
}

int main(void)
{
	TEST(what_is_left);
	TEST(what_has_passed);
	TEST(every_so_often);
	return tap_done();
}
