/* The flow cache of the translator (net/flow.h): translates nearly all TCP and UDP packets.
 *
 * The result for such a packet depends on its two addresses and on a few fields. So each
 * direction has a table of address pairs with what the slow path (xlat46.c, xlat64.c)
 * found out about them: the translated addresses, the change of a checksum, the next hop.
 * A pair follows from configuration, routes and addresses. A flood of new pairs costs no more
 * than the slow path. */
#ifndef APPS_TRANSLATE_XLAT_CACHE_H
#define APPS_TRANSLATE_XLAT_CACHE_H

#include "apps/translate/xlat_packet.h"
#include "net/flow.h"

struct xlat_pair46 {
	uint32_t from, to; /* raw */
	ip6 from6, to6;
	struct neigh_hint next;
	uint32_t change; /* of a checksum, by the addresses: added to the field as it stands */
	uint8_t iface;   /* of the inside, to which the packet goes */
} __attribute__((aligned(64))); /* a line of the processor's cache */

struct xlat_pair64 {
	ip6 from6, to6;
	uint32_t from, to; /* raw */
	uint32_t sum;      /* of from and to */
	struct neigh_hint next;
	uint32_t change; /* of a checksum, by the addresses: added to the field as it stands */
	uint8_t iface;   /* of the inside, from which the packet comes */
} __attribute__((aligned(64)));

struct xlat_cache {
	struct flow_key key46, key64;
	uint32_t changes; /* flow_is_stale */
	struct xlat_pair46 at46[1u << FLOW_BITS];
	struct xlat_pair64 at64[1u << FLOW_BITS];
};

/* Draws the keys, and empties the tables. */
void xlat_cache_set_up(struct gw *gw, struct xlat_cache *t);

/* The first place of a pair of raw IPv4 addresses in the table (flow_other). */
static inline struct xlat_pair46 *xlat_pair46(struct xlat_cache *t, uint32_t from, uint32_t to)
{
	return &t->at46[flow_hash4(&t->key46, from, to)];
}

/* The first place of a pair of IPv6 addresses in the table (flow_other). */
static inline struct xlat_pair64 *xlat_pair64(struct xlat_cache *t, const ip6 *from, const ip6 *to)
{
	return &t->at64[flow_hash6(&t->key64, from, to)];
}

/* Notes the result of the slow path for a pair of addresses: raw IPv4 addresses and x, with
 * the next hop of p. Only for a packet that is translated and routed and whose result
 * depends on nothing but its addresses. */
void xlat_cache_note46(struct gw *gw, struct translator *v, const struct pkt *p, uint32_t from,
                       uint32_t to, const struct xlat46 *x);

/* As xlat_cache_note46, for a pair of IPv6 addresses. */
void xlat_cache_note64(struct gw *gw, struct translator *v, const struct pkt *p, const ip6 *from,
                       const ip6 *to, const struct xlat64 *x);

/* Takes the frames that came in on an interface (net/forwarder.h): translates and sends those whose
 * pair of addresses is in the cache, and gives the others to gw_frame. */
void xlat_cache_frames(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n);
/* The same for a partial packet (`partial` of net/forwarder.h). */
bool xlat_cache_partial(struct gw *gw, uint32_t iface, struct pkt *p);

#endif
