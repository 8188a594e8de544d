/* COM1: a 16550A or 16450 at 0x3f8, 115200 8N1, polled (National
 * Semiconductor PC16550D data sheet). Every function does nothing, and gives
 * "nothing", where there is no UART. */
#ifndef KERNEL_CONSOLE_UART_H
#define KERNEL_CONSOLE_UART_H

#include "kernel/lib/bytes.h"

/* Looks for the UART and sets it up; says whether it is there. */
bool uart_init(void);
bool uart_present(void);

/* Free bytes of the transmitter now: the whole FIFO or nothing. */
unsigned uart_send_room(void);

/* Sends a byte; only as many as uart_send_room said. */
void uart_send(uint8_t byte);

/* A received byte, or -1. A byte that came with a framing or parity error and
 * breaks are skipped. */
int uart_receive(void);

/* Wakes the processor at the next byte received, and with `tx` when the
 * transmitter is ready. */
void uart_arm(bool tx);

/* Whether the wake-up came since, so that polling is worth while. */
bool uart_fired(void);

/* Sends a byte at whatever state things are in, waiting up to about 2 ms for
 * the transmitter; a UART that does not answer is given up for good. Works
 * before uart_init (then sets the line up itself). */
void uart_send_now(uint8_t byte);

#endif
