/* Unsolicited SYNs from outside, held for six seconds without an answer (RFC
 * 5382 REQ-4): when the inside host opens the same connection meanwhile
 * (simultaneous open) the held SYN is dropped in silence, else its sender gets
 * ICMP 3/3.
 *
 * What is held is a copy of what the ICMP error will quote, in a table of fixed
 * size; a SYN that finds its place taken is dropped in silence, which REQ-4a
 * allows, so a flood costs no more than the table. */
#ifndef APPS_NAT_NAT_SYN_H
#define APPS_NAT_NAT_SYN_H

#include "net/gw.h"

#define NAT_SYN_SETS  64u /* a power of two */
#define NAT_SYN_WAYS  4u
#define NAT_SYN_MS    6100u /* gw->now_ms is up to 100 ms old */
#define NAT_SYN_BYTES 120u  /* the longest IPv4 and TCP headers */

struct nat_syn {
	uint32_t rem_ip, ext_ip, ports; /* raw; ports as rem | ext << 16 */
	uint32_t due_ms;
	uint8_t n;  /* bytes held; 0: free */
	uint8_t l4; /* where the TCP header begins */
	uint8_t bytes[NAT_SYN_BYTES];
};

struct nat_syns {
	struct hash_key key;
	uint32_t n_held;
	uint32_t next_look_ms;
	uint64_t answered;
	struct nat_syn slot[NAT_SYN_SETS][NAT_SYN_WAYS];
};

void nat_syn_init(struct nat_syns *t, struct rng *rng);

/* Holds the SYN in p, which is as it came and stays the caller's. */
void nat_syn_hold(struct gw *gw, struct nat_syns *t, const struct pkt *p);

/* The connection was opened from inside: forgets a SYN held for it. */
void nat_syn_solicited(struct nat_syns *t, uint32_t rem_ip, uint32_t ext_ip, uint32_t ports);

/* Answers those whose time has come. */
void nat_syn_tick(struct gw *gw, struct nat_syns *t);

#endif
