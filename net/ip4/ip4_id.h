/* Identifications of IPv4 datagrams that leave with an address of ours (RFC 6864 section 4.3): a
 * counter for each hash value of the destination, so that an identification does not repeat soon,
 * and tells a receiver nothing about the traffic to most other hosts. */
#ifndef NET_IP4_IP4_ID_H
#define NET_IP4_IP4_ID_H

#include "kernel/lib/bytes.h"

#define IP4_IDS 4096u /* a power of two */

struct ip4_ids {
	uint32_t mul; /* secret odd multiplier of the hash */
	uint16_t next[IP4_IDS];
};

/* A fresh identification, wire order, for a datagram to `to`. */
static inline be16 ip4_id(struct ip4_ids *ids, ip4 to)
{
	return be16_of(ids->next[ip4_raw(to) * ids->mul >> 20]++);
}

/* Takes n further identifications: a super-segment needs one for each of its segments. */
static inline void ip4_id_skip(struct ip4_ids *ids, ip4 to, uint32_t n)
{
	uint16_t *next = &ids->next[ip4_raw(to) * ids->mul >> 20];
	*next = (uint16_t)(*next + n);
}
_Static_assert(IP4_IDS == 1u << 12, "ip4_id takes the upper twelve bits");

#endif
