/* What the keys of a PC keyboard mean, in several layouts; for PS/2 and USB keyboards alike. Pure.
 *
 * A key has the number that the HID usage tables give it (page 7, "Keyboard/Keypad"), which is its
 * place on the keyboard and not its label. */
#ifndef KERNEL_CONSOLE_KEYMAP_H
#define KERNEL_CONSOLE_KEYMAP_H

#include "kernel/console/keys.h"

enum keymap_layout { KEYMAP_US, KEYMAP_UK, KEYMAP_DE, KEYMAP_FR, KEYMAP_LAYOUTS };
/* The names of the layouts. */
extern const char *const keymap_names[KEYMAP_LAYOUTS];
/* What people call them. */
extern const char *const keymap_titles[KEYMAP_LAYOUTS];

/* The keys that are held, as bits: byte 0 of a keyboard's report (HID 1.11 section 8.3). */
enum {
	KEYMAP_CONTROL = 0x11, /* left or right */
	KEYMAP_SHIFT = 0x22,
	KEYMAP_ALT_LEFT = 0x04,
	KEYMAP_ALT_RIGHT = 0x40, /* AltGr: the third character of a key */
};

/* Usages. Those from USAGE_CONTROL_LEFT on are the modifiers, in the order of their bits. */
enum {
	USAGE_NONE = 0,
	USAGE_ERROR_LAST = 3, /* 1 to 3 say that the keyboard does not know which keys are down */
	USAGE_A = 0x04,
	USAGE_CAPS_LOCK = 0x39,
	USAGE_F1 = 0x3a,
	USAGE_SCROLL_LOCK = 0x47,
	USAGE_NUM_LOCK = 0x53,
	USAGE_CONTROL_LEFT = 0xe0,
	USAGE_MODIFIERS_END = 0xe8,
};

/* The lights of a keyboard, as bits (HID 1.11 appendix B.1). */
enum { KEYMAP_LED_NUM = 1, KEYMAP_LED_CAPS = 2 };

/* The state that all keyboards share. All zeros at first: layout us, digits on the number pad. */
struct keymap {
	uint8_t layout; /* enum keymap_layout */
	bool caps, num_off;
};

/* A key went down, or repeats, while `modifiers` were held. Gives the character (ASCII; the other
 * characters of Latin-1 as 0xa0 to 0xff) or enum console_key; KEY_NONE when the key has no
 * meaning. Accents are characters by themselves: there are no dead keys. A lock key changes the
 * state; it must not be reported again while it is held. */
int keymap_press(struct keymap *m, uint8_t usage, uint8_t modifiers);

/* Gives the lights that show the state. */
uint8_t keymap_leds(const struct keymap *m);

#endif
