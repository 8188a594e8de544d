/* See keymap.h. HID usage tables 1.12, section 10. The layouts are those of PC keyboards as sold in
 * the countries; each is written as what differs from `us`. */
#include "kernel/console/keymap.h"

const char *const keymap_names[KEYMAP_LAYOUTS] = {"us", "uk", "de", "fr"};
const char *const keymap_titles[KEYMAP_LAYOUTS] = {
        "English, United States", "English, United Kingdom", "German (QWERTZ)", "French (AZERTY)"};

/* Characters of the usages 0x04 to 0x38; 0: no character. */
static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                            "1234567890\r\033\b\t -=[]\\\\;'`,./";
static const char shifted[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "!@#$%^&*()\r\033\b\t _+{}||:\"~<>?";
enum { USAGE_SLASH = 0x38, USAGE_102 = 0x64, USAGE_PAD = 0x54, USAGE_PAD_DIGITS = 0x59 };
enum { USAGE_PAD_END = 0x63, USAGE_INSERT = 0x49, USAGE_UP = 0x52, USAGE_F12 = 0x45 };
_Static_assert(sizeof plain == USAGE_SLASH - USAGE_A + 2 && sizeof shifted == sizeof plain,
               "usages 0x04 to 0x38 and a NUL");

/* The usages 0x54 to 0x63: the number pad; from 0x59 on with Num Lock. */
static const char pad[] = "/*-+\r1234567890.";
static const int16_t pad_cursor[] = {KEY_END,     KEY_DOWN,  KEY_PAGE_DOWN, KEY_LEFT,
                                     KEY_NONE,    KEY_RIGHT, KEY_HOME,      KEY_UP,
                                     KEY_PAGE_UP, KEY_NONE,  KEY_DELETE};
/* The usages 0x49 to 0x52. */
static const int16_t cursor[] = {KEY_NONE,      KEY_HOME,  KEY_PAGE_UP, KEY_DELETE, KEY_END,
                                 KEY_PAGE_DOWN, KEY_RIGHT, KEY_LEFT,    KEY_DOWN,   KEY_UP};

/* A key whose characters differ from `us`. */
struct difference {
	uint8_t usage;
	uint8_t plain, shifted, third; /* third: with AltGr; 0: none */
};

static const struct difference uk[] = {
        {0x1f, '2', '"', 0},       {0x20, '3', 0xa3, 0}, {0x31, '#', '~', 0},
        {0x32, '#', '~', 0},       {0x34, '\'', '@', 0}, {0x35, '`', 0xac, 0xa6},
        {USAGE_102, '\\', '|', 0},
};

static const struct difference de[] = {
        {0x1c, 'z', 'Z', 0},    {0x1d, 'y', 'Y', 0},    {0x14, 'q', 'Q', '@'},
        {0x10, 'm', 'M', 0xb5}, {0x1f, '2', '"', 0xb2}, {0x20, '3', 0xa7, 0xb3},
        {0x23, '6', '&', 0},    {0x24, '7', '/', '{'},  {0x25, '8', '(', '['},
        {0x26, '9', ')', ']'},  {0x27, '0', '=', '}'},  {0x2d, 0xdf, '?', '\\'},
        {0x2e, 0xb4, '`', 0},   {0x2f, 0xfc, 0xdc, 0},  {0x30, '+', '*', '~'},
        {0x31, '#', '\'', 0},   {0x32, '#', '\'', 0},   {0x33, 0xf6, 0xd6, 0},
        {0x34, 0xe4, 0xc4, 0},  {0x35, '^', 0xb0, 0},   {0x36, ',', ';', 0},
        {0x37, '.', ':', 0},    {0x38, '-', '_', 0},    {USAGE_102, '<', '>', '|'},
};

static const struct difference fr[] = {
        {0x04, 'q', 'Q', 0},      {0x14, 'a', 'A', 0},    {0x1a, 'z', 'Z', 0},
        {0x1d, 'w', 'W', 0},      {0x10, ',', '?', 0},    {0x1e, '&', '1', 0},
        {0x1f, 0xe9, '2', '~'},   {0x20, '"', '3', '#'},  {0x21, '\'', '4', '{'},
        {0x22, '(', '5', '['},    {0x23, '-', '6', '|'},  {0x24, 0xe8, '7', '`'},
        {0x25, '_', '8', '\\'},   {0x26, 0xe7, '9', '^'}, {0x27, 0xe0, '0', '@'},
        {0x2d, ')', 0xb0, ']'},   {0x2e, '=', '+', '}'},  {0x2f, '^', 0xa8, 0},
        {0x30, '$', 0xa3, 0xa4},  {0x31, '*', 0xb5, 0},   {0x32, '*', 0xb5, 0},
        {0x33, 'm', 'M', 0},      {0x34, 0xf9, '%', 0},   {0x35, 0xb2, 0xb2, 0},
        {0x36, ';', '.', 0},      {0x37, ':', '/', 0},    {0x38, '!', 0xa7, 0},
        {USAGE_102, '<', '>', 0},
};

static const struct {
	const struct difference *key;
	uint32_t n;
} layouts[KEYMAP_LAYOUTS] = {
        [KEYMAP_UK] = {uk, ARRAY_SIZE(uk)},
        [KEYMAP_DE] = {de, ARRAY_SIZE(de)},
        [KEYMAP_FR] = {fr, ARRAY_SIZE(fr)},
};

/* Gives the characters of a key; all 0 when it has none. */
static struct difference characters(uint8_t layout, uint8_t usage)
{
	for (uint32_t i = 0; i < layouts[layout].n; i++)
		if (layouts[layout].key[i].usage == usage)
			return layouts[layout].key[i];
	if (usage == USAGE_102)
		return (struct difference){usage, '<', '>', 0};
	if (usage < USAGE_A || usage > USAGE_SLASH)
		return (struct difference){usage, 0, 0, 0};
	return (struct difference){usage, (uint8_t)plain[usage - USAGE_A],
	                           (uint8_t)shifted[usage - USAGE_A], 0};
}

/* True for a letter of Latin-1 in lower case that has an upper case on the same key. */
static bool is_letter(const struct difference *d)
{
	return d->shifted == d->plain - 0x20 &&
	       ((d->plain >= 'a' && d->plain <= 'z') || d->plain >= 0xe0);
}

static int character(const struct keymap *m, uint8_t usage, uint8_t modifiers)
{
	struct difference d = characters(m->layout, usage);
	bool shift = modifiers & KEYMAP_SHIFT;
	bool letter = d.plain >= 'a' && d.plain <= 'z';
	if (modifiers & KEYMAP_ALT_RIGHT && d.third)
		return d.third;
	if (modifiers & KEYMAP_CONTROL && letter)
		return d.plain & 0x1f;
	if (m->caps && is_letter(&d))
		shift = !shift;
	int c = shift ? d.shifted : d.plain;
	return c ? c : KEY_NONE;
}

int keymap_press(struct keymap *m, uint8_t usage, uint8_t modifiers)
{
	if (usage == USAGE_CAPS_LOCK)
		m->caps = !m->caps;
	else if (usage == USAGE_NUM_LOCK)
		m->num_off = !m->num_off;
	else if (usage >= USAGE_F1 && usage <= USAGE_F12)
		return KEY_F1 + usage - USAGE_F1;
	else if (usage >= USAGE_INSERT && usage <= USAGE_UP)
		return cursor[usage - USAGE_INSERT];
	else if (usage >= USAGE_PAD_DIGITS && usage <= USAGE_PAD_END && m->num_off)
		return pad_cursor[usage - USAGE_PAD_DIGITS];
	else if (usage >= USAGE_PAD && usage <= USAGE_PAD_END)
		return pad[usage - USAGE_PAD];
	else
		return character(m, usage, modifiers);
	return KEY_NONE;
}

uint8_t keymap_leds(const struct keymap *m)
{
	return (uint8_t)((m->num_off ? 0 : KEYMAP_LED_NUM) | (m->caps ? KEYMAP_LED_CAPS : 0));
}
