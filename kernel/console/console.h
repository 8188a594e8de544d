/* The console: output to COM1 (115200 8N1) and to the VGA text screen at the same time,
 * keys from COM1 and from a PS/2 keyboard.
 *
 * Output goes into a bounded ring. Each pass of the main loop sends a few bytes from it, so
 * output never delays forwarding. Output that does not fit is dropped. */
#ifndef KERNEL_CONSOLE_CONSOLE_H
#define KERNEL_CONSOLE_CONSOLE_H

#include "kernel/lib/bytes.h"
#include "kernel/console/keymap.h" /* the values of console_key */

/* Finds the UART and the screen. The other functions are safe before this
 * call and without any of the devices. */
void console_init(void);

/* Finds the PS/2 keyboard. USB controllers must be taken from the firmware before this: its
 * emulation of a keyboard answers in the place of the 8042. */
void console_find_keyboard(void);

/* Queues `len` characters. LF becomes CR LF on COM1. */
void console_write(const char *text, size_t len);
/* Formats text as fmt() does and queues it; at most 511 characters. */
void console_print(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* Gives the free bytes of the output ring. A CR LF pair needs two. */
size_t console_room(void);

/* Gives the next key: ASCII (Enter is '\r' or '\n' as it came, Backspace is 8 or 127) or
 * enum console_key. KEY_NONE when there is none. */
int console_key(void);

/* True when the user wants the running answer to end: Ctrl-C waits anywhere in the input, or `q` is
 * the next key. Takes what was typed up to that key; other input stays. */
bool console_stop(void);

/* Takes a key that went down or repeats on a USB keyboard, as keymap_press does. A key that finds
 * no room is lost. */
void console_press(uint8_t usage, uint8_t modifiers);

/* Sets the layout of all keyboards. */
void console_layout(enum keymap_layout layout);

/* Gives the lights of all keyboards, KEYMAP_LED_ bits. */
uint8_t console_leds(void);

/* True when a PS/2 keyboard has answered since console_find_keyboard. */
bool console_has_keyboard(void);

/* Sends a few bytes of waiting output, and reads what the keyboard and the UART have
 * received. True when there was something to do. */
bool console_poll(void);

/* Enables the interrupts for input, and for output while some waits, then looks for work
 * once more. True when work is waiting, so that the processor must not halt. */
bool console_arm(void);

/* Sends all waiting output, by polling. Takes a bounded time. For panic, restart and
 * poweroff. */
void console_flush(void);

/* Clears the screen on both outputs. */
void console_clear(void);

#endif
