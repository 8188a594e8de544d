/* Kinds of IPv6 addresses (RFC 4291). */
#ifndef NET_IP6_IP6_ADDRESS_H
#define NET_IP6_IP6_ADDRESS_H

#include "kernel/lib/bytes.h"

/* True for ::/32 (unspecified, loopback, IPv4-mapped, IPv4-compatible), link-local,
 * multicast and reserved addresses: packets from and to them are not forwarded. */
static inline bool ip6_is_special(const ip6 *a)
{
	return ip6_word(a, 0) == 0 || a->b[0] >= 0xfe;
}

static inline bool ip6_is_group(const ip6 *a)
{
	return a->b[0] == 0xff;
}

/* True for fe80::/10 (RFC 4291 section 2.5.6). */
static inline bool ip6_is_link_local(const ip6 *a)
{
	return a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80;
}

static inline bool ip6_is_unspecified(const ip6 *a)
{
	return (ip6_word(a, 0) | ip6_word(a, 1) | ip6_word(a, 2) | ip6_word(a, 3)) == 0;
}

#endif
