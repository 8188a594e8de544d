/* COM1: a 16550A or 16450 at 0x3f8, 115200 8N1, polled (National Semiconductor PC16550D
 * data sheet). Without a UART every function does nothing and gives 0, false or -1. */
#ifndef KERNEL_CONSOLE_UART_H
#define KERNEL_CONSOLE_UART_H

#include "kernel/lib/bytes.h"

/* Looks for the UART and sets it up. True when there is one. */
bool uart_init(void);
/* True when uart_init found a UART. */
bool uart_present(void);

/* Gives how many bytes the transmitter can take: a whole FIFO or 0. */
unsigned uart_send_room(void);

/* Sends a byte. At most as many calls as the last uart_send_room gave. */
void uart_send(uint8_t byte);

/* Gives a received byte, or -1. Skips breaks and bytes with a framing or parity error. */
int uart_receive(void);

/* Enables the interrupt for the next received byte, and, if `tx`, for a transmitter that is
 * ready. */
void uart_arm(bool tx);

/* True when the interrupt came since uart_arm, so that polling is worth its cost. */
bool uart_fired(void);

/* Sends a byte in any state of the UART. Waits for the transmitter for a bounded time (2
 * million reads). A UART that does not become ready in that time is never used again. Works
 * before uart_init; then it sets the UART up itself. */
void uart_send_now(uint8_t byte);

#endif
