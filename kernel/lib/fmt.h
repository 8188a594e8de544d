/* Formats values as text: a small snprintf, and addresses. */
#ifndef KERNEL_LIB_FMT_H
#define KERNEL_LIB_FMT_H

#include "kernel/lib/bytes.h"

#include <stdarg.h>

/* Formats into buf: writes at most size-1 characters and a NUL (size > 0). Gives the number
 * of characters written, without the NUL; unlike snprintf, never more than fit. Supports %%
 * %c %s %d %i %u %x %X %p with flags 0 and -, a width, `.precision` for %s, `*` for either,
 * and the sizes hh h l ll z. Any other directive is printed as it stands. */
size_t fmt(char *buf, size_t size, const char *format, ...) PRINTF_LIKE(3, 4);
/* Formats as fmt() does, with the arguments in a va_list. */
size_t fmt_v(char *buf, size_t size, const char *format, va_list args) PRINTF_LIKE(3, 0);

/* Bytes for the longest text of each type, including the NUL. */
#define FMT_IP4 16
#define FMT_IP6 46
#define FMT_MAC 18

/* Write an address as text into buf, which has room for the longest text. Each gives buf.
 * The forms are 192.0.2.1, 2001:db8::1 (RFC 5952), and 52:54:00:12:34:56. */
char *fmt_ip4(char buf[static FMT_IP4], ip4 a);
char *fmt_ip6(char buf[static FMT_IP6], const ip6 *a);
char *fmt_mac(char buf[static FMT_MAC], const mac *a);

#endif
