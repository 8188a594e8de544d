/* Unsolicited SYNs from outside, held for six seconds without an answer (RFC 5382 REQ-4).
 * When the inside host opens the same connection in that time (simultaneous open), the held
 * SYN is dropped silently. Otherwise its sender gets ICMP 3/3. A SYN that was hairpinned has an
 * external address as its source: the error goes there, and is translated.
 *
 * A held SYN is a copy of the bytes that the ICMP error will quote, in a table of fixed
 * size. A SYN that finds no free place is dropped silently, as REQ-4a allows; so a flood
 * costs no more than the table. */
#ifndef APPS_NAT_NAT_SYN_H
#define APPS_NAT_NAT_SYN_H

#include "net/gw.h"

#define NAT_SYN_SETS  64u /* a power of two */
#define NAT_SYN_WAYS  4u
#define NAT_SYN_MS    6100u /* gw->clock.ms is up to 100 ms old */
#define NAT_SYN_BYTES 120u  /* the longest IPv4 and TCP headers */

struct nat_syn {
	uint32_t rem_ip, ext_ip, ports; /* raw; ports: remote | external << 16 */
	uint32_t due_ms;
	uint8_t n;  /* bytes held; 0: the entry is free */
	uint8_t l4; /* offset of the TCP header */
	bool hairpinned;
	uint8_t bytes[NAT_SYN_BYTES];
};

struct nat_syns {
	struct hash_key key;
	uint32_t n_held;
	uint32_t next_look_ms;
	uint64_t answered;
	struct nat_syn slot[NAT_SYN_SETS][NAT_SYN_WAYS];
};

/* Empties the table and draws the key of its hash. */
void nat_syn_init(struct nat_syns *t, struct rng *rng);

/* Holds a copy of the SYN in p. p is as it came in and stays the caller's. */
void nat_syn_hold(struct gw *gw, struct nat_syns *t, const struct pkt *p);

/* Drops the SYN held for a connection that was opened from inside. Addresses and ports are
 * raw, as in struct nat_syn. */
void nat_syn_solicited(struct nat_syns *t, uint32_t rem_ip, uint32_t ext_ip, uint32_t ports);

/* Drops all held SYNs without an answer: they were to an address that is no longer ours. */
void nat_syn_forget(struct nat_syns *t);

/* Answers the SYNs that were held long enough. */
void nat_syn_tick(struct gw *gw, struct nat_syns *t);

#endif
