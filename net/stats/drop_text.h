/* A dropped frame in words. */
#ifndef NET_STATS_DROP_TEXT_H
#define NET_STATS_DROP_TEXT_H

#include "kernel/lib/bytes.h"
#include "net/stats/drop.h"

#define DROP_TEXT 160u /* bytes for the longest text of drop_text and NUL */

/* The label of a reason, as in the counters, and what it means. */
const char *drop_label(enum drop reason);
const char *drop_meaning(enum drop reason);

/* Describes the first `n` bytes of a frame (`ethernet`) or of an IP packet: protocol, addresses,
 * ports, flags, as far as the bytes go. Writes text with a NUL into buf; gives its length. */
size_t drop_text(const uint8_t *bytes, uint32_t n, bool ethernet, char *buf, size_t size);

#endif
