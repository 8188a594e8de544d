/* Layouts, compared with what is printed on keyboards, row by row. */
#include "kernel/console/keymap.h"

#include "tests/tap.h"

/* The keys of a PC keyboard with 105 keys, from left to right. The key beside the right end of the
 * third row is usage 0x32; US keyboards have it as 0x31. */
static const uint8_t row1[] = {0x35, 0x1e, 0x1f, 0x20, 0x21, 0x22, 0x23,
                               0x24, 0x25, 0x26, 0x27, 0x2d, 0x2e};
static const uint8_t row2[] = {0x14, 0x1a, 0x08, 0x15, 0x17, 0x1c,
                               0x18, 0x0c, 0x12, 0x13, 0x2f, 0x30};
static const uint8_t row3[] = {0x04, 0x16, 0x07, 0x09, 0x0a, 0x0b,
                               0x0d, 0x0e, 0x0f, 0x33, 0x34, 0x32};
static const uint8_t row4[] = {0x64, 0x1d, 0x1b, 0x06, 0x19, 0x05, 0x11, 0x10, 0x36, 0x37, 0x38};

#define SHIFT 0x02
#define ALTGR 0x40

static void check_row(uint8_t layout, uint8_t held, const uint8_t *key, size_t n, const char *want)
{
	struct keymap m = {.layout = layout};
	CHECK_EQ(strlen(want), n);
	for (size_t i = 0; i < n; i++)
		CHECK_EQ(keymap_press(&m, key[i], held),
		         want[i] == '\1' ? KEY_NONE : (uint8_t)want[i]);
}

#define ROWS(layout, held, r1, r2, r3, r4)                      \
	do {                                                    \
		check_row(layout, held, row1, sizeof row1, r1); \
		check_row(layout, held, row2, sizeof row2, r2); \
		check_row(layout, held, row3, sizeof row3, r3); \
		check_row(layout, held, row4, sizeof row4, r4); \
	} while (0)

static void us(void)
{
	ROWS(KEYMAP_US, 0, "`1234567890-=", "qwertyuiop[]", "asdfghjkl;'\\", "<zxcvbnm,./");
	ROWS(KEYMAP_US, SHIFT, "~!@#$%^&*()_+", "QWERTYUIOP{}", "ASDFGHJKL:\"|", ">ZXCVBNM<>?");
	ROWS(KEYMAP_US, ALTGR, "`1234567890-=", "qwertyuiop[]", "asdfghjkl;'\\", "<zxcvbnm,./");
}

static void uk(void)
{
	ROWS(KEYMAP_UK, 0, "`1234567890-=", "qwertyuiop[]", "asdfghjkl;'#", "\\zxcvbnm,./");
	ROWS(KEYMAP_UK, SHIFT, "\254!\"\243$%^&*()_+", "QWERTYUIOP{}", "ASDFGHJKL:@~",
	     "|ZXCVBNM<>?");
}

static void de(void)
{
	ROWS(KEYMAP_DE, 0, "^1234567890\337\264", "qwertzuiop\374+", "asdfghjkl\366\344#",
	     "<yxcvbnm,.-");
	ROWS(KEYMAP_DE, SHIFT, "\260!\"\247$%&/()=?`", "QWERTZUIOP\334*", "ASDFGHJKL\326\304'",
	     ">YXCVBNM;:_");
	ROWS(KEYMAP_DE, ALTGR, "^1\262\263456{[]}\\\264", "@wertzuiop\374~", "asdfghjkl\366\344#",
	     "|yxcvbn\265,.-");
}

static void fr(void)
{
	ROWS(KEYMAP_FR, 0, "\262&\351\"'(-\350_\347\340)=", "azertyuiop^$", "qsdfghjklm\371*",
	     "<wxcvbn,;:!");
	ROWS(KEYMAP_FR, SHIFT, "\2621234567890\260+", "AZERTYUIOP\250\243", "QSDFGHJKLM%\265",
	     ">WXCVBN?./\247");
	ROWS(KEYMAP_FR, ALTGR, "\262&~#{[|`\\^@]}", "azertyuiop^\244", "qsdfghjklm\371*",
	     "<wxcvbn,;:!");
}

/* What a configuration needs can be typed in every layout. */
static void every_ascii_character(void)
{
	for (uint8_t layout = 0; layout < KEYMAP_LAYOUTS; layout++)
		for (int c = ' '; c < 127; c++) {
			struct keymap m = {.layout = layout};
			bool found = false;
			for (unsigned usage = USAGE_A; usage <= 0x64 && !found; usage++)
				found = (usage < 0x54 || usage > 0x63) &&
				        (keymap_press(&m, (uint8_t)usage, 0) == c ||
				         keymap_press(&m, (uint8_t)usage, SHIFT) == c ||
				         keymap_press(&m, (uint8_t)usage, ALTGR) == c);
			if (!found)
				printf("# layout %u has no %c\n", layout, c);
			CHECK(found);
		}
}

static void control_follows_the_layout(void)
{
	struct keymap m = {.layout = KEYMAP_FR};
	CHECK_EQ(keymap_press(&m, 0x06, 0x01), 3);
	CHECK_EQ(keymap_press(&m, 0x14, 0x10), 1); /* the key that US keyboards label Q is A */
	CHECK_EQ(keymap_press(&m, 0x1e, 0x01), '&');
}

/* Caps Lock changes letters alone, those with accents too. */
static void caps_lock(void)
{
	struct keymap m = {.layout = KEYMAP_DE};
	CHECK_EQ(keymap_press(&m, USAGE_CAPS_LOCK, 0), KEY_NONE);
	CHECK_EQ(keymap_leds(&m), KEYMAP_LED_NUM | KEYMAP_LED_CAPS);
	CHECK_EQ(keymap_press(&m, 0x34, 0), 0xc4);
	CHECK_EQ(keymap_press(&m, 0x34, SHIFT), 0xe4);
	CHECK_EQ(keymap_press(&m, 0x2d, 0), 0xdf); /* Shift makes a question mark of it */
	CHECK_EQ(keymap_press(&m, 0x1e, 0), '1');
	CHECK_EQ(keymap_press(&m, USAGE_CAPS_LOCK, 0), KEY_NONE);
	CHECK_EQ(keymap_leds(&m), KEYMAP_LED_NUM);
}

static void the_number_pad(void)
{
	static const int with[] = {'/', '*', '-', '+', '\r', '1', '2', '3',
	                           '4', '5', '6', '7', '8',  '9', '0', '.'};
	static const int without[] = {'/',      '*',         '-',       '+',
	                              '\r',     KEY_END,     KEY_DOWN,  KEY_PAGE_DOWN,
	                              KEY_LEFT, KEY_NONE,    KEY_RIGHT, KEY_HOME,
	                              KEY_UP,   KEY_PAGE_UP, KEY_NONE,  KEY_DELETE};
	struct keymap m = {0};
	for (unsigned i = 0; i < 16; i++)
		CHECK_EQ(keymap_press(&m, (uint8_t)(0x54 + i), 0), with[i]);
	CHECK_EQ(keymap_press(&m, USAGE_NUM_LOCK, 0), KEY_NONE);
	CHECK_EQ(keymap_leds(&m), 0);
	for (unsigned i = 0; i < 16; i++)
		CHECK_EQ(keymap_press(&m, (uint8_t)(0x54 + i), 0), without[i]);
}

static void keys_without_characters(void)
{
	static const int want[] = {KEY_NONE,      KEY_HOME,  KEY_PAGE_UP, KEY_DELETE, KEY_END,
	                           KEY_PAGE_DOWN, KEY_RIGHT, KEY_LEFT,    KEY_DOWN,   KEY_UP};
	struct keymap m = {0};
	for (unsigned i = 0; i < 10; i++)
		CHECK_EQ(keymap_press(&m, (uint8_t)(0x49 + i), 0), want[i]);
	for (unsigned i = 0; i < 12; i++)
		CHECK_EQ(keymap_press(&m, (uint8_t)(USAGE_F1 + i), 0), KEY_F1 + (int)i);
	CHECK_EQ(keymap_press(&m, 0x28, 0), '\r');
	CHECK_EQ(keymap_press(&m, 0x29, 0), 27);
	CHECK_EQ(keymap_press(&m, 0x2a, 0), 8);
	CHECK_EQ(keymap_press(&m, 0x2b, 0), 9);
	CHECK_EQ(keymap_press(&m, 0x2c, SHIFT), ' ');
}

/* Any usage and any modifiers give a key or none, in every layout. */
static void all_usages(void)
{
	for (uint8_t layout = 0; layout < KEYMAP_LAYOUTS; layout++)
		for (unsigned i = 0; i < 0x10000; i++) {
			struct keymap m = {.layout = layout};
			int k = keymap_press(&m, (uint8_t)i, (uint8_t)(i >> 8));
			if (k < KEY_NONE || k > KEY_F12 || k == 0)
				CHECK(false);
		}
}

int main(void)
{
	TEST(us);
	TEST(uk);
	TEST(de);
	TEST(fr);
	TEST(every_ascii_character);
	TEST(control_follows_the_layout);
	TEST(caps_lock);
	TEST(the_number_pad);
	TEST(keys_without_characters);
	TEST(all_usages);
	return tap_done();
}
