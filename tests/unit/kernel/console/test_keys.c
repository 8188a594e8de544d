/* Keys from terminals and from scan codes. */
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

static void unknown_sequences_are_ignored(void)
{
	CHECK_EQ(ansi("\033[5~"), KEY_NONE);
	CHECK_EQ(ansi("\033[999999999999~"), KEY_NONE);
	CHECK_EQ(ansi("\033[259~"), KEY_NONE); /* 3 modulo 256 */
	CHECK_EQ(ansi("\033[?1c"), KEY_NONE);
	CHECK_EQ(ansi("\033x"), KEY_NONE);
	CHECK_EQ(ansi("\033[5~a"), 'a');
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

/* Feeds scan codes up to a zero; gives the last key. */
static int scan(struct keys_scan *k, const char *codes)
{
	int got = KEY_NONE;
	for (; *codes != '\0'; codes++) {
		int key = keys_scan(k, (uint8_t)*codes);
		if (key != KEY_NONE)
			got = key;
	}
	return got;
}

static void keyboard_characters(void)
{
	struct keys_scan k = {0};
	CHECK_EQ(scan(&k, "\x1e"), 'a');
	CHECK_EQ(scan(&k, "\x9e"), KEY_NONE);
	CHECK_EQ(scan(&k, "\x02"), '1');
	CHECK_EQ(scan(&k, "\x0b"), '0');
	CHECK_EQ(scan(&k, "\x1c"), '\r');
	CHECK_EQ(scan(&k, "\x0e"), '\b');
	CHECK_EQ(scan(&k, "\x01"), 27);
	CHECK_EQ(scan(&k, "\x39"), ' ');
	CHECK_EQ(scan(&k, "\x35"), '/');
	CHECK_EQ(scan(&k, "\x56"), '<');
	CHECK_EQ(scan(&k, "\x3b"), KEY_NONE); /* F1 */
	CHECK_EQ(scan(&k, "\xfa"), KEY_NONE); /* acknowledge */
}

static void shift_caps_and_control(void)
{
	struct keys_scan k = {0};
	CHECK_EQ(scan(&k, "\x2a\x1e"), 'A');
	CHECK_EQ(scan(&k, "\x02"), '!');
	CHECK_EQ(scan(&k, "\x0c"), '_');
	CHECK_EQ(scan(&k, "\x36\xaa\x1e"), 'A'); /* the other Shift key is still down */
	CHECK_EQ(scan(&k, "\xb6\x1e"), 'a');
	CHECK_EQ(scan(&k, "\x3a\xba\x1e"), 'A');
	CHECK_EQ(scan(&k, "\x02"), '1'); /* Caps Lock changes only letters */
	CHECK_EQ(scan(&k, "\x2a\x1e\xaa"), 'a');
	CHECK_EQ(scan(&k, "\x3a\xba\x1d\x2e\x9d"), 3); /* Ctrl-C */
	CHECK_EQ(scan(&k, "\x2e"), 'c');
}

/* A key that is held sends its code again and again. */
static void held_locks(void)
{
	struct keys_scan k = {0};
	CHECK_EQ(scan(&k, "\x3a\x3a\x3a\x3a\x1e"), 'A');
	CHECK_EQ(scan(&k, "\xba\x1e"), 'A');
	CHECK_EQ(scan(&k, "\x3a\x3a\xba\x1e"), 'a');
	CHECK_EQ(scan(&k, "\x45\x45\xc5\x47"), KEY_HOME);
	CHECK_EQ(scan(&k, "\x45\x45\x45\xc5\x47"), '7');
}

static void arrows_and_the_number_pad(void)
{
	struct keys_scan k = {0};
	CHECK_EQ(scan(&k, "\xe0\x48"), KEY_UP);
	CHECK_EQ(scan(&k, "\xe0\x50"), KEY_DOWN);
	CHECK_EQ(scan(&k, "\xe0\x4b"), KEY_LEFT);
	CHECK_EQ(scan(&k, "\xe0\x4d"), KEY_RIGHT);
	CHECK_EQ(scan(&k, "\xe0\x47"), KEY_HOME);
	CHECK_EQ(scan(&k, "\xe0\x4f"), KEY_END);
	CHECK_EQ(scan(&k, "\xe0\x53"), KEY_DELETE);
	CHECK_EQ(scan(&k, "\xe0\x1c"), '\r');
	CHECK_EQ(scan(&k, "\xe0\x5b"), KEY_NONE);
	CHECK_EQ(scan(&k, "\x4f"), '1');
	CHECK_EQ(scan(&k, "\x48"), '8');
	CHECK_EQ(scan(&k, "\x45\xc5\x48"), KEY_UP); /* Num Lock off */
	CHECK_EQ(scan(&k, "\x45\xc5\x48"), '8');
	/* The extra Shift codes around an arrow do not change the Shift state. */
	CHECK_EQ(scan(&k, "\xe0\x2a\xe0\x48\xe0\xc8\xe0\xaa\x1e"), 'a');
	CHECK_EQ(scan(&k, "\x2a\xe0\xaa\xe0\x48\xe0\xc8\xe0\x2a\x1e\xaa"), 'A');
}

static void pause_is_ignored(void)
{
	struct keys_scan k = {0};
	CHECK_EQ(scan(&k, "\xe1\x1d\x45\xe1\x9d\xc5"), KEY_NONE);
	CHECK_EQ(scan(&k, "\x1e"), 'a');
	CHECK_EQ(scan(&k, "\x48"), '8');
}

static void random_bytes(void)
{
	struct keys_scan s = {0};
	struct keys_ansi a = {0};
	uint32_t x = 1;
	for (unsigned i = 0; i < 100000; i++) {
		x = x * 1664525 + 1013904223;
		int one = keys_scan(&s, (uint8_t)(x >> 24));
		int two = keys_ansi(&a, (uint8_t)(x >> 16), i);
		if (one < KEY_NONE || one > KEY_DELETE || two < KEY_NONE || two > KEY_DELETE)
			CHECK(false);
	}
}

/* Editing keys with any number, one after the other: no state of one is left for the next. */
static void every_editing_key(void)
{
	struct keys_ansi k = {0};
	for (unsigned n = 0; n < 1000; n++) {
		char text[8];
		int want = n == 1 || n == 7   ? KEY_HOME
		           : n == 3           ? KEY_DELETE
		           : n == 4 || n == 8 ? KEY_END
		                              : KEY_NONE;
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

/* After 0xe0 come Enter and slash of the number pad; the other keys after it are not
 * characters. */
static void keys_after_the_prefix(void)
{
	struct keys_scan k = {0};
	CHECK_EQ(scan(&k, "\xe0\x1c"), '\r');
	CHECK_EQ(scan(&k, "\xe0\x9c\xe0\x35"), '/');
	CHECK_EQ(scan(&k, "\xe0\x10\xe0\x90"), KEY_NONE); /* previous track */
	CHECK_EQ(scan(&k, "\xe0\x5b\xe0\xdb"), KEY_NONE);
	CHECK_EQ(scan(&k, "\x10"), 'q');
}

int main(void)
{
	TEST(terminal_keys);
	TEST(unknown_sequences_are_ignored);
	TEST(escape_alone_takes_time);
	TEST(keyboard_characters);
	TEST(shift_caps_and_control);
	TEST(held_locks);
	TEST(arrows_and_the_number_pad);
	TEST(pause_is_ignored);
	TEST(random_bytes);
	TEST(every_editing_key);
	TEST(keys_after_the_prefix);
	return tap_done();
}
