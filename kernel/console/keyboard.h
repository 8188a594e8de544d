/* The PS/2 keyboard behind the 8042 controller. */
#ifndef KERNEL_CONSOLE_KEYBOARD_H
#define KERNEL_CONSOLE_KEYBOARD_H

#include "kernel/console/keymap.h"

/* Looks for the controller and enables the keyboard. Takes a few milliseconds, and 50 with a
 * controller that does not answer.
 * Without a controller, the other functions do nothing. */
void keyboard_init(void);

/* Gives the next key that went down or repeats, as a usage (keymap.h), and in *modifiers what was
 * held; USAGE_NONE when there is none. Reads a few bytes at most. */
uint8_t keyboard_press(uint8_t *modifiers);

/* Sets the lights to `leds` (KEYMAP_LED_ bits). They follow within a few calls of
 * keyboard_press. */
void keyboard_leds(uint8_t leds);

/* True when keyboard_press has read a byte of the keyboard. A keyboard answers keyboard_init within
 * some milliseconds. */
bool keyboard_answered(void);

/* Enables the interrupt for the next key. */
void keyboard_arm(void);
/* True when the interrupt came since keyboard_arm. */
bool keyboard_fired(void);

#endif
