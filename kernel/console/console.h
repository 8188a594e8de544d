/* The console: COM1 (115200 8N1) and the VGA text screen at once, keys from
 * COM1 and a PS/2 keyboard.
 *
 * Output goes into a bounded ring and from there a few bytes a pass, so that
 * it never makes forwarding wait; what does not fit is dropped and counted. */
#ifndef KERNEL_CONSOLE_CONSOLE_H
#define KERNEL_CONSOLE_CONSOLE_H

#include "kernel/lib/bytes.h"
#include "kernel/console/keys.h" /* the values of console_key */

/* Finds the UART and the screen. Safe to write to before and without either. */
void console_init(void);

/* Queues text; LF becomes CR LF on COM1. */
void console_write(const char *text, size_t len);
void console_print(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* Free bytes of the output ring (a CR LF pair needs two). */
size_t console_room(void);

/* One key: ASCII (Enter is '\r' or '\n' as it came, Backspace 8 or 127) or enum
 * console_key; KEY_NONE when there is none. */
int console_key(void);

/* Moves waiting output on, a few bytes; reads what keyboard and UART have.
 * Gives whether there was anything to do. */
bool console_poll(void);

/* Enables the wake-up for input, and for output while some waits, and looks
 * again: true when work is waiting, so that the processor must not halt. */
bool console_arm(void);

/* Writes out everything that waits, by polling, bounded in time (panic,
 * restart, poweroff). */
void console_flush(void);

/* Screen control of the menu: clears the screen on both outputs. */
void console_clear(void);

#endif
