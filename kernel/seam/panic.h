/* The end of a machine that cannot continue: reports what happened and where, and restarts. */
#ifndef KERNEL_SEAM_PANIC_H
#define KERNEL_SEAM_PANIC_H

/* Shows the text and a backtrace with function names on the VGA screen and COM1, waits 10 s
 * (unless isa-debug-exit is present), and restarts. `fmt` is as for fmt(). Safe in any
 * context, also inside another panic. */
void panic(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* For conditions that only a bug in this code can break, never for bytes from the wire. */
#define ASSERT(x) ((x) ? (void)0 : panic("assertion failed: %s (%s:%d)", #x, __FILE__, __LINE__))

#endif
