/* The PS/2 keyboard behind the 8042 controller. */
#ifndef KERNEL_CONSOLE_KEYBOARD_H
#define KERNEL_CONSOLE_KEYBOARD_H

#include "kernel/lib/bytes.h"

/* Looks for the controller and turns the keyboard on. A few milliseconds at
 * most, nothing where there is none. */
void keyboard_init(void);

/* A key of keys.h, or KEY_NONE; reads a few bytes at most. */
int keyboard_key(void);

/* Wakes the processor at the next key; says whether one came since. */
void keyboard_arm(void);
bool keyboard_fired(void);

#endif
