/* ICMP errors (RFC 792, RFC 1812 section 4.3). */
#ifndef NET_IP4_ICMP_H
#define NET_IP4_ICMP_H

#include "net/gw.h"

/* Sends an ICMP error about packet p, which stays the caller's. p has data at its IPv4 header and
 * is as it came, or marked as translated (PKT_TRANSLATED, PKT_INBOUND): then the error goes back
 * through the translation. All ICMP errors are made here, by the rules of RFC 1812 sections 4.3.2.7
 * (when not to send one) and 4.3.2.8 (rate). `rest` is the second word of the message: MTU, or
 * pointer << 24. */
void icmp_error(struct gw *gw, const struct pkt *p, uint8_t type, uint8_t code, uint32_t rest);

/* Asks whether one more ICMP or ICMPv6 error may be sent now, to the addressee `client` (client.h).
 * True: the error was taken from the budgets of its kind. False: it was counted in icmp_suppressed.
 * Makers of errors call this last, when nothing else can prevent the error. */
bool icmp_error_allowed(struct gw *gw, enum icmp_limit_kind kind, uint32_t client) MUST_USE;

#endif
