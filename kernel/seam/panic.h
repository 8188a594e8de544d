/* The end of a machine that cannot go on: what happened, where, and a restart. */
#ifndef KERNEL_SEAM_PANIC_H
#define KERNEL_SEAM_PANIC_H

/* Shows the text and a trail of return addresses with function names on VGA
 * and COM1, waits 10 s (not where isa-debug-exit is present), restarts. Safe
 * from any context, also twice. */
void panic(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* For what only a bug of ours can make untrue; never for bytes from the wire. */
#define ASSERT(x) ((x) ? (void)0 : panic("assertion failed: %s (%s:%d)", #x, __FILE__, __LINE__))

#endif
