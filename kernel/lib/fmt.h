/* Text from values: a small snprintf, and the text forms of addresses. */
#ifndef KERNEL_LIB_FMT_H
#define KERNEL_LIB_FMT_H

#include "kernel/lib/bytes.h"

#include <stdarg.h>

/* Writes at most size-1 characters and a NUL (size > 0); gives the number of
 * characters written, without the NUL (unlike snprintf: never more than fits).
 * Knows %% %c %s %d %i %u %x %X %p with flags 0 and -, width, `.precision` for
 * %s, `*` for either, and the sizes hh h l ll z. Anything else prints itself. */
size_t fmt(char *buf, size_t size, const char *format, ...) PRINTF_LIKE(3, 4);
size_t fmt_v(char *buf, size_t size, const char *format, va_list args) PRINTF_LIKE(3, 0);

/* Space for the longest text form, NUL included. */
#define FMT_IP4 16
#define FMT_IP6 46
#define FMT_MAC 18

/* Text forms; buf has room for the longest one; each gives buf.
 * 192.0.2.1; RFC 5952 (2001:db8::1); 52:54:00:12:34:56. */
char *fmt_ip4(char buf[static FMT_IP4], ip4 a);
char *fmt_ip6(char buf[static FMT_IP6], const ip6 *a);
char *fmt_mac(char buf[static FMT_MAC], const mac *a);

#endif
