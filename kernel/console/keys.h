/* Keys, and the pure decoder that finds them in the bytes of a terminal. */
#ifndef KERNEL_CONSOLE_KEYS_H
#define KERNEL_CONSOLE_KEYS_H

#include "kernel/lib/bytes.h"

/* Keys beyond ASCII. */
enum console_key {
	KEY_NONE = -1,
	KEY_UP = 0x100,
	KEY_DOWN,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_HOME,
	KEY_END,
	KEY_DELETE,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_F1, /* F1 to F12 follow each other */
	KEY_F2,
	KEY_F3,
	KEY_F4,
	KEY_F12 = KEY_F1 + 11,
};

/* Decoder for a terminal (ECMA-48 sequences as xterm, VT220 and the Linux console send them).
 * All zeros at first. */
struct keys_ansi {
	uint8_t state;
	uint8_t param;
	uint32_t since_ms; /* time of the sequence's first byte */
};

#define KEYS_ESCAPE_MS 50 /* a terminal sends a sequence at once, a person types slower */

/* Takes a byte. Gives the key that it completes, or KEY_NONE. `now_ms` is any clock that wraps. */
int keys_ansi(struct keys_ansi *k, uint8_t byte, uint32_t now_ms);

/* Gives ESC when it came alone and KEYS_ESCAPE_MS have passed since, else KEY_NONE. */
int keys_ansi_idle(struct keys_ansi *k, uint32_t now_ms);

/* True when a sequence has begun and may turn out to be ESC alone. */
bool keys_ansi_waits(const struct keys_ansi *k);

#endif
