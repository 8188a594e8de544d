/* The end of a machine that cannot go on: what happened, where, and a restart. */
#ifndef KERNEL_PANIC_H
#define KERNEL_PANIC_H

#include "kernel/bytes.h"

/* Shows the text and a trail of return addresses with function names on VGA
 * and COM1, waits 10 s (not where isa-debug-exit is present), restarts. Safe
 * from any context, also twice. */
void panic(const char *fmt, ...) PRINTF_LIKE(1, 2) __attribute__((noreturn));

/* For what only a bug of ours can make untrue; never for bytes from the wire. */
#define ASSERT(x) ((x) ? (void)0 : panic("assertion failed: %s (%s:%d)", #x, __FILE__, __LINE__))

#endif
