/* Pure decoders from bytes to keys: control sequences of a terminal, and the scan codes of
 * a PC keyboard. */
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
};

/* Decoder for a terminal (ECMA-48 sequences as xterm and VT220 send them). All zeros at
 * first. */
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

/* Decoder for a PC keyboard: scan code set 1, US layout. All zeros at first. */
struct keys_scan {
	bool shift_left, shift_right, control, alt, caps, num_off;
	bool caps_down, num_down; /* a key that is held repeats its code */
	uint8_t prefix;
	uint8_t skip; /* bytes of an unsupported sequence still to skip */
};

/* Takes a byte. Gives the key that it completes, or KEY_NONE. */
int keys_scan(struct keys_scan *k, uint8_t byte);

#endif
