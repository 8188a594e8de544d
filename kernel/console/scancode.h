/* The bytes of a PS/2 keyboard: scan code set 1, as the 8042 gives it. Pure. */
#ifndef KERNEL_CONSOLE_SCANCODE_H
#define KERNEL_CONSOLE_SCANCODE_H

#include "kernel/console/keymap.h"

/* The decoder. All zeros at first. */
struct scancode {
	uint8_t modifiers; /* those that are held, as in keymap.h */
	bool caps_down, num_down;
	uint8_t prefix;
	uint8_t skip; /* bytes of an unsupported sequence still to skip */
};

/* Takes a byte. Gives the usage of the key that went down or repeats, USAGE_NONE when there is
 * none. Modifiers and the repeats of lock keys are not given. */
uint8_t scancode_press(struct scancode *s, uint8_t byte);

#endif
