/* ICMP errors (RFC 792, RFC 1812 section 4.3). */
#ifndef NET_IP4_ICMP_H
#define NET_IP4_ICMP_H

#include "net/gw.h"

/* Sends an ICMP error about packet p, which stays the caller's: data at its
 * IPv4 header, untouched by translation or marked as translated: then the
 * error goes the way back through the translation. The only maker of ICMP
 * errors; it keeps to RFC 1812 section 4.3.2.7 (when not to send) and 4.3.2.8 (rate).
 * `rest` is the second half of the first word row: MTU or pointer << 24. */
void icmp_error(struct gw *gw, const struct pkt *p, uint8_t type, uint8_t code, uint32_t rest);

/* Whether one more ICMP or ICMPv6 error may be sent now; if so it is taken off the
 * budgets of its kind, if not icmp_suppressed counts it. `client` is the
 * addressee (client.h). For makers of errors, as the last thing they
 * ask. */
bool icmp_error_allowed(struct gw *gw, enum icmp_limit_kind kind, uint32_t client) MUST_USE;

#endif
