/* kernel/menu_state.c: keys, countdown, and the locked menu. */
#include "kernel/menu_state.h"

#include "tests/tap.h"

static struct menu_state m;

static void moves(void)
{
	menu_state_init(&m, 3, 1, false);
	CHECK_EQ(m.chosen, 1);
	CHECK_EQ(menu_state_key(&m, MENU_KEY_DOWN), MENU_REDRAW);
	CHECK_EQ(m.chosen, 2);
	CHECK_EQ(menu_state_key(&m, MENU_KEY_DOWN), MENU_REDRAW);
	CHECK_EQ(m.chosen, 0);
	CHECK_EQ(menu_state_key(&m, MENU_KEY_UP), MENU_REDRAW);
	CHECK_EQ(m.chosen, 2);
	CHECK_EQ(menu_state_key(&m, MENU_KEY_HOME), MENU_REDRAW);
	CHECK_EQ(m.chosen, 0);
	CHECK_EQ(menu_state_key(&m, MENU_KEY_HOME), MENU_STAY);
	CHECK_EQ(menu_state_key(&m, MENU_KEY_END), MENU_REDRAW);
	CHECK_EQ(m.chosen, 2);
	CHECK_EQ(menu_state_key(&m, '1'), MENU_REDRAW);
	CHECK_EQ(m.chosen, 0);
	CHECK_EQ(menu_state_key(&m, '3'), MENU_REDRAW);
	CHECK_EQ(menu_state_key(&m, '4'), MENU_STAY);
	CHECK_EQ(menu_state_key(&m, '0'), MENU_STAY);
	CHECK_EQ(m.chosen, 2);
	CHECK_EQ(menu_state_key(&m, '\r'), MENU_START);
	CHECK_EQ(menu_state_key(&m, '\n'), MENU_START);
	CHECK_EQ(m.chosen, 2);
}

static void number_keys(void)
{
	menu_state_init(&m, 12, 0, false);
	for (int key = '9'; key >= '1'; key--) {
		CHECK_EQ(menu_state_key(&m, key), MENU_REDRAW);
		CHECK_EQ(m.chosen, key - '1');
	}
}

static void other_keys(void)
{
	menu_state_init(&m, 3, 0, false);
	CHECK_EQ(menu_state_key(&m, 'r'), MENU_RESTART);
	CHECK_EQ(menu_state_key(&m, 'p'), MENU_OFF);
	for (int key = -5; key < 0x200; key++) {
		if (key == 'r' || key == 'R' || key == 'p' || key == 'P' || key == '\r' ||
		    key == '\n')
			continue;
		enum menu_act act = menu_state_key(&m, key);
		CHECK(act == MENU_STAY || act == MENU_REDRAW);
		CHECK(m.chosen < 3);
	}
}

static void bad_choice(void)
{
	menu_state_init(&m, 3, 3, false);
	CHECK_EQ(m.chosen, 0);
	menu_state_init(&m, 3, UINT32_MAX, false);
	CHECK_EQ(m.chosen, 0);
}

static void countdown(void)
{
	uint64_t t = 7000000123;
	menu_state_init(&m, 3, 2, false);
	CHECK_EQ(menu_state_time(&m, t), MENU_STAY);
	menu_state_count(&m, 2500, t);
	CHECK(m.counting);
	CHECK_EQ(m.left_s, 3);
	CHECK_EQ(menu_state_time(&m, t), MENU_STAY);
	CHECK_EQ(menu_state_time(&m, t + 499999), MENU_STAY);
	CHECK_EQ(menu_state_time(&m, t + 500000), MENU_SECOND);
	CHECK_EQ(m.left_s, 2);
	CHECK_EQ(menu_state_time(&m, t + 500001), MENU_STAY);
	CHECK_EQ(menu_state_time(&m, t + 1600000), MENU_SECOND);
	CHECK_EQ(m.left_s, 1);
	CHECK_EQ(menu_state_time(&m, t + 2499999), MENU_STAY);
	CHECK_EQ(menu_state_time(&m, t + 2500000), MENU_START);
	CHECK_EQ(m.chosen, 2);
	CHECK_EQ(menu_state_time(&m, t + 9900000), MENU_STAY);
}

/* Calls may be far apart: the countdown is drawn at most once a second. */
static void countdown_in_leaps(void)
{
	menu_state_init(&m, 1, 0, false);
	menu_state_count(&m, 10000, 0);
	unsigned drawn = 0;
	for (uint64_t t = 0; t < 10000000; t += 1000)
		drawn += menu_state_time(&m, t) == MENU_SECOND;
	CHECK_EQ(drawn, 9);
	menu_state_count(&m, 10000, 0);
	CHECK_EQ(menu_state_time(&m, 7200000), MENU_SECOND);
	CHECK_EQ(m.left_s, 3);
	CHECK_EQ(menu_state_time(&m, UINT64_MAX), MENU_START);
}

static void countdown_at_once(void)
{
	menu_state_init(&m, 1, 0, false);
	menu_state_count(&m, 0, 55);
	CHECK_EQ(menu_state_time(&m, 55), MENU_START);
}

static void countdown_longest(void)
{
	menu_state_init(&m, 1, 0, false);
	menu_state_count(&m, UINT32_MAX, 1);
	CHECK_EQ(m.left_s, 4294968);
	CHECK_EQ(menu_state_time(&m, 4294967295000ull), MENU_SECOND);
	CHECK_EQ(m.left_s, 1);
	CHECK_EQ(menu_state_time(&m, 4294967295001ull), MENU_START);
}

static void any_key_stops(void)
{
	static const int key[] = {'x', ' ', MENU_KEY_UP, '2', 27, '9'};
	for (unsigned i = 0; i < ARRAY_SIZE(key); i++) {
		menu_state_init(&m, 3, 1, false);
		menu_state_count(&m, 1000, 0);
		CHECK_EQ(menu_state_key(&m, key[i]), MENU_REDRAW);
		CHECK(!m.counting);
		CHECK_EQ(menu_state_time(&m, 5000000), MENU_STAY);
	}
}

static void locked(void)
{
	menu_state_init(&m, 3, 1, true);
	menu_state_count(&m, 1000, 0);
	CHECK(!m.counting);
	CHECK_EQ(menu_state_time(&m, 5000000), MENU_STAY);
	CHECK_EQ(menu_state_key(&m, '\r'), MENU_STAY);
	CHECK_EQ(menu_state_key(&m, '\n'), MENU_STAY);
	CHECK_EQ(menu_state_key(&m, MENU_KEY_DOWN), MENU_REDRAW);
	CHECK_EQ(menu_state_key(&m, 'R'), MENU_RESTART);
	CHECK_EQ(menu_state_key(&m, 'P'), MENU_OFF);
}

static void nothing_to_choose(void)
{
	menu_state_init(&m, 0, 0, false);
	menu_state_count(&m, 0, 0);
	CHECK_EQ(menu_state_time(&m, 1), MENU_STAY);
	for (int key = 0; key < 0x200; key++) {
		enum menu_act act = menu_state_key(&m, key);
		CHECK(act != MENU_START && act != MENU_REDRAW);
		CHECK_EQ(m.chosen, 0);
	}
}

int main(void)
{
	TEST(moves);
	TEST(number_keys);
	TEST(other_keys);
	TEST(bad_choice);
	TEST(countdown);
	TEST(countdown_in_leaps);
	TEST(countdown_at_once);
	TEST(countdown_longest);
	TEST(any_key_stops);
	TEST(locked);
	TEST(nothing_to_choose);
	return tap_done();
}
