/* Keys from terminals. */
#include "kernel/console/keys.h"

#include "tests/tap.h"

/* Feeds bytes of a terminal. Gives the only resulting key, or -2 for several. */
static int ansi(const char *bytes)
{
	struct keys_ansi k = {0};
	int got = KEY_NONE;
	for (; *bytes != '\0'; bytes++) {
		int key = keys_ansi(&k, (uint8_t)*bytes, 5);
		if (key != KEY_NONE)
			got = got == KEY_NONE ? key : -2;
	}
	int late = keys_ansi_idle(&k, 5 + KEYS_ESCAPE_MS);
	return late == KEY_NONE ? got : late;
}

static void terminal_keys(void)
{
	CHECK_EQ(ansi("a"), 'a');
	CHECK_EQ(ansi("\r"), '\r');
	CHECK_EQ(ansi("\x7f"), 0x7f);
	CHECK_EQ(ansi("\xe4"), 0xe4);
	CHECK_EQ(ansi("\033[A"), KEY_UP);
	CHECK_EQ(ansi("\033[B"), KEY_DOWN);
	CHECK_EQ(ansi("\033[C"), KEY_RIGHT);
	CHECK_EQ(ansi("\033[D"), KEY_LEFT);
	CHECK_EQ(ansi("\033[H"), KEY_HOME);
	CHECK_EQ(ansi("\033[F"), KEY_END);
	CHECK_EQ(ansi("\033OA"), KEY_UP);
	CHECK_EQ(ansi("\033[1~"), KEY_HOME);
	CHECK_EQ(ansi("\033[3~"), KEY_DELETE);
	CHECK_EQ(ansi("\033[4~"), KEY_END);
	CHECK_EQ(ansi("\033[1;5A"), KEY_UP); /* with Ctrl */
}

static void function_keys(void)
{
	CHECK_EQ(ansi("\033OP"), KEY_F1);
	CHECK_EQ(ansi("\033OS"), KEY_F4);
	CHECK_EQ(ansi("\033[P"), KEY_F1);
	CHECK_EQ(ansi("\033[[A"), KEY_F1);
	CHECK_EQ(ansi("\033[[D"), KEY_F4);
	CHECK_EQ(ansi("\033[[E"), KEY_F1 + 4);
}

static void unknown_sequences_are_ignored(void)
{
	CHECK_EQ(ansi("\033[2~"), KEY_NONE);
	CHECK_EQ(ansi("\033[999999999999~"), KEY_NONE);
	CHECK_EQ(ansi("\033[259~"), KEY_NONE); /* 3 modulo 256 */
	CHECK_EQ(ansi("\033[?1c"), KEY_NONE);
	CHECK_EQ(ansi("\033x"), KEY_NONE);
	CHECK_EQ(ansi("\033[2~a"), 'a');
	CHECK_EQ(ansi("\033[[Z"), KEY_NONE);
	CHECK_EQ(ansi("\033[1[A"), 'A');
	CHECK_EQ(ansi("\033[12"), KEY_NONE); /* abandoned after a while */
}

static void escape_alone_takes_time(void)
{
	struct keys_ansi k = {0};
	CHECK_EQ(keys_ansi(&k, 27, 0xfffffff0u), KEY_NONE);
	CHECK_EQ(keys_ansi_idle(&k, 0xfffffff0u + KEYS_ESCAPE_MS - 1), KEY_NONE);
	CHECK_EQ(keys_ansi_idle(&k, 0xfffffff0u + KEYS_ESCAPE_MS), 27);
	CHECK_EQ(keys_ansi_idle(&k, 0xfffffff0u + 2 * KEYS_ESCAPE_MS), KEY_NONE);
	CHECK_EQ(ansi("\033"), 27);
	CHECK_EQ(keys_ansi(&k, 27, 0), KEY_NONE);
	CHECK_EQ(keys_ansi(&k, 27, 0), 27);
	CHECK_EQ(keys_ansi(&k, '[', 0), KEY_NONE);
	CHECK_EQ(keys_ansi(&k, 'A', 0), KEY_UP);
}

static void random_bytes(void)
{
	struct keys_ansi a = {0};
	uint32_t x = 1;
	for (unsigned i = 0; i < 100000; i++) {
		x = x * 1664525 + 1013904223;
		int key = keys_ansi(&a, (uint8_t)(x >> 16), i);
		if (key < KEY_NONE || key > KEY_F12)
			CHECK(false);
	}
}

/* Editing keys with any number, one after the other: no state of one is left for the next. */
static void every_editing_key(void)
{
	struct keys_ansi k = {0};
	for (unsigned n = 0; n < 1000; n++) {
		char text[8];
		static const int16_t keys[] = {
		        [1] = KEY_HOME,      [7] = KEY_HOME,    [3] = KEY_DELETE,
		        [4] = KEY_END,       [8] = KEY_END,     [5] = KEY_PAGE_UP,
		        [6] = KEY_PAGE_DOWN, [11] = KEY_F1,     [12] = KEY_F2,
		        [13] = KEY_F3,       [14] = KEY_F4,     [15] = KEY_F1 + 4,
		        [17] = KEY_F1 + 5,   [18] = KEY_F1 + 6, [19] = KEY_F1 + 7,
		        [20] = KEY_F1 + 8,   [21] = KEY_F1 + 9, [23] = KEY_F1 + 10,
		        [24] = KEY_F12,
		};
		int want = n < ARRAY_SIZE(keys) && keys[n] ? keys[n] : KEY_NONE;
		int got = KEY_NONE;
		snprintf(text, sizeof text, "\033[%u~", n);
		for (const char *p = text; *p; p++)
			got = keys_ansi(&k, (uint8_t)*p, 0);
		CHECK_EQ(got, want);
		CHECK_EQ(keys_ansi(&k, '3', 0), '3');
	}
	CHECK_EQ(ansi("\033OAx"), -2); /* two keys: up, x */
	CHECK_EQ(ansi("\033OB\033OB"), -2);
}

int main(void)
{
	TEST(terminal_keys);
	TEST(function_keys);
	TEST(unknown_sequences_are_ignored);
	TEST(escape_alone_takes_time);
	TEST(random_bytes);
	TEST(every_editing_key);
	return tap_done();
}
