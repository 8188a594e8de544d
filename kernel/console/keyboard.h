/* The PS/2 keyboard behind the 8042 controller. */
#ifndef KERNEL_CONSOLE_KEYBOARD_H
#define KERNEL_CONSOLE_KEYBOARD_H

#include "kernel/lib/bytes.h"

/* Looks for the controller and enables the keyboard. Takes a few milliseconds, and 50 with a
 * controller that does not answer.
 * Without a controller, the other functions do nothing. */
void keyboard_init(void);

/* Gives the next key as keys_scan gives it, or KEY_NONE. Reads a few bytes at most. */
int keyboard_key(void);

/* True when keyboard_key has read a byte of the keyboard. A keyboard answers keyboard_init within
 * some milliseconds. */
bool keyboard_answered(void);

/* Enables the interrupt for the next key. */
void keyboard_arm(void);
/* True when the interrupt came since keyboard_arm. */
bool keyboard_fired(void);

#endif
