/* Keys from the scan codes of a PS/2 keyboard. */
#include "kernel/console/scancode.h"

#include "tests/tap.h"

struct typist {
	struct scancode code;
	struct keymap map;
};

/* Feeds scan codes up to a zero; gives the last key. */
static int scan(struct typist *k, const char *codes)
{
	int got = KEY_NONE;
	for (; *codes != '\0'; codes++) {
		uint8_t usage = scancode_press(&k->code, (uint8_t)*codes);
		int key = keymap_press(&k->map, usage, k->code.modifiers);
		if (key != KEY_NONE)
			got = key;
	}
	return got;
}

static void keyboard_characters(void)
{
	struct typist k = {0};
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
	CHECK_EQ(scan(&k, "\x3b"), KEY_F1);
	CHECK_EQ(scan(&k, "\x44"), KEY_F1 + 9);
	CHECK_EQ(scan(&k, "\x57"), KEY_F1 + 10);
	CHECK_EQ(scan(&k, "\x58"), KEY_F12);
	CHECK_EQ(scan(&k, "\x59"), KEY_NONE);
	CHECK_EQ(scan(&k, "\xfa"), KEY_NONE); /* acknowledge */
}

static void shift_caps_and_control(void)
{
	struct typist k = {0};
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
	struct typist k = {0};
	CHECK_EQ(scan(&k, "\x3a\x3a\x3a\x3a\x1e"), 'A');
	CHECK_EQ(scan(&k, "\xba\x1e"), 'A');
	CHECK_EQ(scan(&k, "\x3a\x3a\xba\x1e"), 'a');
	CHECK_EQ(scan(&k, "\x45\x45\xc5\x47"), KEY_HOME);
	CHECK_EQ(scan(&k, "\x45\x45\x45\xc5\x47"), '7');
}

static void arrows_and_the_number_pad(void)
{
	struct typist k = {0};
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
	struct typist k = {0};
	CHECK_EQ(scan(&k, "\xe1\x1d\x45\xe1\x9d\xc5"), KEY_NONE);
	CHECK_EQ(scan(&k, "\x1e"), 'a');
	CHECK_EQ(scan(&k, "\x48"), '8');
}

/* After 0xe0 come Enter and slash of the number pad; the other keys after it are not
 * characters. */
static void keys_after_the_prefix(void)
{
	struct typist k = {0};
	CHECK_EQ(scan(&k, "\xe0\x1c"), '\r');
	CHECK_EQ(scan(&k, "\xe0\x9c\xe0\x35"), '/');
	CHECK_EQ(scan(&k, "\xe0\x10\xe0\x90"), KEY_NONE); /* previous track */
	CHECK_EQ(scan(&k, "\xe0\x5b\xe0\xdb"), KEY_NONE);
	CHECK_EQ(scan(&k, "\x10"), 'q');
}

static void random_codes(void)
{
	struct scancode s = {0};
	uint32_t x = 1;
	for (unsigned i = 0; i < 100000; i++) {
		x = x * 1664525 + 1013904223;
		uint8_t usage = scancode_press(&s, (uint8_t)(x >> 24));
		if (usage >= USAGE_CONTROL_LEFT)
			CHECK(false);
	}
}

/* Each modifier has its bit while it is held, and is no key. */
static void modifiers(void)
{
	static const struct {
		const char *down, *up;
		uint8_t bit;
	} key[] = {
	        {"\x1d", "\x9d", 1},          {"\x2a", "\xaa", 2},           {"\x38", "\xb8", 4},
	        {"\xe0\x5b", "\xe0\xdb", 8},  {"\xe0\x1d", "\xe0\x9d", 16},  {"\x36", "\xb6", 32},
	        {"\xe0\x38", "\xe0\xb8", 64}, {"\xe0\x5c", "\xe0\xdc", 128},
	};
	struct typist k = {0};
	CHECK_EQ(scan(&k, "\xe0\x2a"), KEY_NONE);
	CHECK_EQ(k.code.modifiers, 0); /* an extra Shift in front of another key */
	for (unsigned i = 0; i < ARRAY_SIZE(key); i++) {
		CHECK_EQ(scan(&k, key[i].down), KEY_NONE);
		CHECK_EQ(k.code.modifiers, key[i].bit);
		CHECK_EQ(scan(&k, key[i].up), KEY_NONE);
		CHECK_EQ(k.code.modifiers, 0);
	}
}

int main(void)
{
	TEST(keyboard_characters);
	TEST(shift_caps_and_control);
	TEST(held_locks);
	TEST(arrows_and_the_number_pad);
	TEST(pause_is_ignored);
	TEST(keys_after_the_prefix);
	TEST(random_codes);
	TEST(modifiers);
	return tap_done();
}
