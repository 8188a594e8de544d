/* See scancode.h. IBM PS/2 technical reference (keyboard, scan code set 1). */
#include "kernel/console/scancode.h"

/* The usages of the codes 0x00 to 0x58; 0: no key. */
static const uint8_t usage_of[] = {
        0x00, 0x29, 0x1e, 0x1f, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26,
        0x27, 0x2d, /* Esc 1 to - */
        0x2e, 0x2a, 0x2b, 0x14, 0x1a, 0x08, 0x15, 0x17, 0x1c, 0x18, 0x0c,
        0x12, 0x13, /* = to P */
        0x2f, 0x30, 0x28, 0xe0, 0x04, 0x16, 0x07, 0x09, 0x0a, 0x0b, 0x0d,
        0x0e, 0x0f, /* [ to L */
        0x33, 0x34, 0x35, 0xe1, 0x31, 0x1d, 0x1b, 0x06, 0x19, 0x05, 0x11,
        0x10, 0x36, /* ; to , */
        0x37, 0x38, 0xe5, 0x55, 0xe2, 0x2c, 0x39, 0x3a, 0x3b, 0x3c, 0x3d,
        0x3e, 0x3f, /* . to F6 */
        0x40, 0x41, 0x42, 0x43, 0x53, 0x47, 0x5f, 0x60, 0x61, 0x56, 0x5c,
        0x5d, 0x5e,                                                       /* F7 to pad 6 */
        0x57, 0x59, 0x5a, 0x5b, 0x62, 0x63, 0x46, 0x00, 0x64, 0x44, 0x45, /* to F12 */
};
_Static_assert(sizeof usage_of == 0x59, "codes 0x00 to 0x58");

/* The keys behind the prefix 0xe0. The codes of Shift behind it mean nothing: the keyboard sends
 * them around other keys. */
static const uint8_t extended[][2] = {
        {0x1c, 0x58}, {0x1d, 0xe4}, {0x35, 0x54}, {0x37, 0x46}, {0x38, 0xe6}, {0x46, 0x48},
        {0x47, 0x4a}, {0x48, 0x52}, {0x49, 0x4b}, {0x4b, 0x50}, {0x4d, 0x4f}, {0x4f, 0x4d},
        {0x50, 0x51}, {0x51, 0x4e}, {0x52, 0x49}, {0x53, 0x4c}, {0x5b, 0xe3}, {0x5c, 0xe7},
};

enum { RELEASED = 0x80, PREFIX = 0xe0, PREFIX_PAUSE = 0xe1 };

static uint8_t usage(uint8_t code, bool prefixed)
{
	if (!prefixed)
		return code < sizeof usage_of ? usage_of[code] : USAGE_NONE;
	for (uint32_t i = 0; i < ARRAY_SIZE(extended); i++)
		if (extended[i][0] == code)
			return extended[i][1];
	return USAGE_NONE;
}

/* True when a lock key went down that was not down before. */
static bool lock(bool *down, bool now)
{
	bool pressed = now && !*down;
	*down = now;
	return pressed;
}

uint8_t scancode_press(struct scancode *s, uint8_t byte)
{
	if (s->skip > 0) {
		s->skip--;
		return USAGE_NONE;
	}
	bool prefixed = s->prefix == PREFIX;
	s->prefix = byte == PREFIX ? PREFIX : 0;
	if (byte == PREFIX)
		return USAGE_NONE;
	if (byte == PREFIX_PAUSE) { /* Pause sends e1 1d 45, and the same once more on release */
		s->skip = 2;
		return USAGE_NONE;
	}
	bool down = !(byte & RELEASED);
	uint8_t u = usage(byte & 0x7f, prefixed);
	if (u >= USAGE_CONTROL_LEFT && u < USAGE_MODIFIERS_END) {
		uint8_t bit = (uint8_t)(1u << (u - USAGE_CONTROL_LEFT));
		s->modifiers = (uint8_t)(down ? s->modifiers | bit : s->modifiers & ~bit);
		return USAGE_NONE;
	}
	if (u == USAGE_CAPS_LOCK)
		return lock(&s->caps_down, down) ? u : USAGE_NONE;
	if (u == USAGE_NUM_LOCK)
		return lock(&s->num_down, down) ? u : USAGE_NONE;
	return down ? u : USAGE_NONE;
}
