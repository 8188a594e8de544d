/* See keys.h. ECMA-48 (control sequences), the DEC VT220 manual (cursor and editing keys),
 * and the IBM PS/2 technical reference (scan code set 1).
 *
 * Left out on purpose: other layouts, dead keys, keyboard LEDs, function keys. */
#include "kernel/console/keys.h"

enum { PLAIN, ESCAPE, BRACKET, SS3 };
#define ESC 0x1b

static int final_key(uint8_t byte)
{
	switch (byte) {
	case 'A':
		return KEY_UP;
	case 'B':
		return KEY_DOWN;
	case 'C':
		return KEY_RIGHT;
	case 'D':
		return KEY_LEFT;
	case 'H':
		return KEY_HOME;
	case 'F':
		return KEY_END;
	default:
		return KEY_NONE;
	}
}

/* ESC [ n ~ : editing keys. */
static int tilde_key(uint8_t n)
{
	switch (n) {
	case 1:
	case 7:
		return KEY_HOME;
	case 3:
		return KEY_DELETE;
	case 4:
	case 8:
		return KEY_END;
	default:
		return KEY_NONE;
	}
}

static int bracket(struct keys_ansi *k, uint8_t byte)
{
	if (byte >= '0' && byte <= '9') {
		k->param = (uint8_t)(k->param > 20 ? 255 : k->param * 10 + byte - '0');
		return KEY_NONE;
	}
	if (byte == ';') { /* modifiers follow and are ignored */
		k->param = 255;
		return KEY_NONE;
	}
	if (byte < 0x40)
		return KEY_NONE;
	k->state = PLAIN;
	return byte == '~' ? tilde_key(k->param) : final_key(byte);
}

int keys_ansi(struct keys_ansi *k, uint8_t byte, uint32_t now_ms)
{
	if (byte == ESC) {
		bool twice = k->state == ESCAPE;
		k->state = ESCAPE;
		k->since_ms = now_ms;
		return twice ? ESC : KEY_NONE;
	}
	switch (k->state) {
	case ESCAPE:
		k->param = 0;
		k->state = byte == '[' ? BRACKET : byte == 'O' ? SS3 : PLAIN;
		return KEY_NONE; /* ESC and a letter: a key with Alt, not supported */
	case BRACKET:
		return bracket(k, byte);
	case SS3:
		k->state = PLAIN;
		return final_key(byte);
	default:
		return byte;
	}
}

int keys_ansi_idle(struct keys_ansi *k, uint32_t now_ms)
{
	if (k->state == PLAIN || now_ms - k->since_ms < KEYS_ESCAPE_MS)
		return KEY_NONE;
	bool alone = k->state == ESCAPE;
	k->state = PLAIN;
	return alone ? ESC : KEY_NONE;
}

/* Characters of the set 1 codes 0x00 to 0x39; 0: no character. */
static const char plain[] = "\0\033"
                            "1234567890-=\b\t"
                            "qwertyuiop[]\r\0"
                            "asdfghjkl;'`\0"
                            "\\zxcvbnm,./\0*\0 ";
static const char shifted[] = "\0\033"
                              "!@#$%^&*()_+\b\t"
                              "QWERTYUIOP{}\r\0"
                              "ASDFGHJKL:\"~\0"
                              "|ZXCVBNM<>?\0*\0 ";
_Static_assert(sizeof plain == 0x3b && sizeof shifted == 0x3b, "codes 0x00 to 0x39 and a NUL");

/* Codes 0x47 to 0x53: the number pad, and after 0xe0 the cursor keys. */
static const char pad[] = "789-456+1230.";
static const int16_t pad_key[] = {
        KEY_HOME, KEY_UP,  KEY_NONE, '-',      KEY_LEFT, KEY_NONE,   KEY_RIGHT,
        '+',      KEY_END, KEY_DOWN, KEY_NONE, KEY_NONE, KEY_DELETE,
};

enum { CODE_CONTROL = 0x1d, CODE_SHIFT_LEFT = 0x2a, CODE_SLASH = 0x35, CODE_SHIFT_RIGHT = 0x36 };
enum { CODE_ALT = 0x38, CODE_CAPS = 0x3a, CODE_NUM = 0x45, CODE_PAD = 0x47, CODE_PAD_END = 0x53 };
enum { CODE_ENTER = 0x1c, CODE_102 = 0x56, RELEASED = 0x80, PREFIX = 0xe0, PREFIX_PAUSE = 0xe1 };

/* True when the code is that of a modifier, whose state is updated. The keyboard sends
 * extra Shift codes after 0xe0 around other keys; they mean nothing. */
static bool modifier(struct keys_scan *k, uint8_t code, bool down, bool extended)
{
	switch (code) {
	case CODE_SHIFT_LEFT:
		k->shift_left = extended ? k->shift_left : down;
		return true;
	case CODE_SHIFT_RIGHT:
		k->shift_right = extended ? k->shift_right : down;
		return true;
	case CODE_CONTROL:
		k->control = down;
		return true;
	case CODE_ALT:
		k->alt = down;
		return true;
	case CODE_CAPS:
		k->caps ^= down && !k->caps_down;
		k->caps_down = down;
		return true;
	case CODE_NUM:
		k->num_off ^= down && !k->num_down;
		k->num_down = down;
		return true;
	default:
		return false;
	}
}

static int character(const struct keys_scan *k, uint8_t code)
{
	bool shift = k->shift_left || k->shift_right;
	if (code == CODE_102)
		return shift ? '>' : '<';
	if (code >= sizeof plain - 1)
		return KEY_NONE;
	char c = plain[code];
	if (c >= 'a' && c <= 'z') {
		if (k->control)
			return c & 0x1f;
		shift ^= k->caps;
	}
	if (shift)
		c = shifted[code];
	return c == '\0' ? KEY_NONE : c;
}

int keys_scan(struct keys_scan *k, uint8_t byte)
{
	if (k->skip > 0) {
		k->skip--;
		return KEY_NONE;
	}
	if (byte == PREFIX) {
		k->prefix = byte;
		return KEY_NONE;
	}
	if (byte == PREFIX_PAUSE) { /* Pause sends e1 1d 45, and the same once more on release */
		k->skip = 2;
		return KEY_NONE;
	}
	bool extended = k->prefix == PREFIX;
	bool down = !(byte & RELEASED);
	uint8_t code = byte & 0x7f;
	k->prefix = 0;
	if (modifier(k, code, down, extended) || !down)
		return KEY_NONE;
	if (code >= CODE_PAD && code <= CODE_PAD_END) {
		unsigned i = code - CODE_PAD;
		return extended || k->num_off ? pad_key[i] : pad[i];
	}
	if (extended && code != CODE_ENTER && code != CODE_SLASH)
		return KEY_NONE;
	return character(k, code);
}
