/* See keys.h. ECMA-48 (control sequences), the DEC VT220 manual (cursor, editing and function
 * keys), xterm's control sequences (F1 to F4), Linux console_codes(4). */
#include "kernel/console/keys.h"

enum { PLAIN, ESCAPE, BRACKET, TWO_BRACKETS, SS3 };
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
	case 'P':
	case 'Q':
	case 'R':
	case 'S':
		return KEY_F1 + byte - 'P';
	default:
		return KEY_NONE;
	}
}

/* ESC [ n ~ : editing and function keys. The numbers of the function keys have gaps where the
 * VT220's keyboard has them. */
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
	case 5:
		return KEY_PAGE_UP;
	case 6:
		return KEY_PAGE_DOWN;
	default:
		break;
	}
	if (n >= 11 && n <= 15)
		return KEY_F1 + n - 11;
	if (n >= 17 && n <= 21)
		return KEY_F1 + n - 12;
	if (n == 23 || n == 24)
		return KEY_F1 + n - 13;
	return KEY_NONE;
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
	if (byte == '[' && k->param == 0) {
		k->state = TWO_BRACKETS;
		return KEY_NONE;
	}
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
	case TWO_BRACKETS: /* the Linux console's F1 to F5 */
		k->state = PLAIN;
		return byte >= 'A' && byte <= 'E' ? KEY_F1 + byte - 'A' : KEY_NONE;
	case SS3:
		k->state = PLAIN;
		return final_key(byte);
	default:
		return byte;
	}
}

bool keys_ansi_waits(const struct keys_ansi *k)
{
	return k->state != PLAIN;
}

int keys_ansi_idle(struct keys_ansi *k, uint32_t now_ms)
{
	if (k->state == PLAIN || now_ms - k->since_ms < KEYS_ESCAPE_MS)
		return KEY_NONE;
	bool alone = k->state == ESCAPE;
	k->state = PLAIN;
	return alone ? ESC : KEY_NONE;
}
