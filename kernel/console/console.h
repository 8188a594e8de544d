/* The console: output to COM1 (115200 8N1) and to the VGA text screen at the same time,
 * keys from COM1 and from a PS/2 keyboard.
 *
 * Output goes into a bounded ring. Each pass of the main loop sends a few bytes from it, so
 * output never delays forwarding. Output that does not fit is dropped.
 *
 * There are two terminals: screen and keyboard, and COM1. Each shows the console's text, or a grid
 * in its place (console_show). Text that is written meanwhile appears when the grid ends: on the
 * screen all of it, on COM1 the last OUT_BYTES (console.c). */
#ifndef KERNEL_CONSOLE_CONSOLE_H
#define KERNEL_CONSOLE_CONSOLE_H

#include "kernel/lib/bytes.h"
#include "kernel/console/keymap.h" /* the values of console_key */

struct grid;

enum console_terminal {
	CONSOLE_LOCAL,  /* screen and keyboard */
	CONSOLE_SERIAL, /* COM1: a VT100 of 80 columns and 24 rows */
	CONSOLE_TERMINALS,
};

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

/* Queues characters for one terminal alone. */
void console_write_on(enum console_terminal t, const char *text, size_t len);

/* Gives the free bytes of the output ring. A CR LF pair needs two. */
size_t console_room(void);

/* Shows a grid on a terminal in place of the text; NULL: shows the text again. To be called again
 * whenever the grid has changed. The caller keeps the grid, and it may change at any time. */
void console_show(enum console_terminal t, const struct grid *g);
/* True when the terminal shows text. */
bool console_shows_text(enum console_terminal t);
/* Draws the whole grid again that the terminal shows, for one whose screen was disturbed. */
void console_redraw(enum console_terminal t);

/* Gives the next key of a terminal: ASCII (Enter is '\r' or '\n' as it came, Backspace is 8 or 127)
 * or enum console_key. KEY_NONE when there is none. */
int console_key_of(enum console_terminal t);
/* Gives the next key of the terminals that show text. */
int console_key(void);

/* True when something was typed at a terminal that no call has taken. */
bool console_has_input(enum console_terminal t);

/* True when the user wants the running answer to end: Ctrl-C waits anywhere in the input, or `q` is
 * the next key. Takes what was typed up to that key; other input stays. Terminals that show a grid
 * do not count. */
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
 * received. True when there was something to do. To be called every 10 to 100 ms, and after a halt
 * that an interrupt ended. */
bool console_poll(void);

/* Gives the time at which console_poll is due although no interrupt has come; UINT64_MAX: none. It
 * is due every 10 ms while output waits, while an ESC waits for what follows, and when the last
 * input came without an interrupt. */
uint64_t console_due_us(void);

/* Enables the interrupts for input, and for output while some waits, then looks for work
 * once more. True when work is waiting, so that the processor must not halt. */
bool console_arm(void);

/* Shows the text on both terminals and sends all waiting output, by polling. Takes a bounded time.
 * For panic, restart and poweroff. */
void console_flush(void);

/* Clears the screen on both outputs. */
void console_clear(void);

#endif
