/* The application `nat64`: its state, and what its files share.
 *
 * An inside host with IPv6 address X' has a number (apps/nat/nat_inside.h) that stands for it in
 * the tables of the NAT. A mapping there is an entry of a binding table (BIB), a session is a
 * session table entry of RFC 6146. Of the IPv6 side a session keeps only the number of the prefix
 * that stood for the remote host last (route_in), so a remote host that is spoken to by two
 * prefixes has one session. Its deltas are those of the whole translation:
 *
 *     l4_delta   change of a TCP or UDP checksum from IPv6 to IPv4, by addresses and port; for ICMP
 *                by the identifier alone
 *     ip_delta   sum of the two IPv4 addresses
 *
 * Addresses and ports are raw, as in nat_table.h. */
#ifndef APPS_NAT64_NAT64_H
#define APPS_NAT64_NAT64_H

#include "apps/nat/nat.h"
#include "apps/nat64/nat64_gather.h"
#include "apps/nat64/nat64_keys.h"
#include "apps/translate/xlat_packet.h"
#include "net/filter6/filter6.h"
#include "net/flow.h"

struct nat64_prefix {
	struct embed_form form;
	bool strict; /* for global IPv4 addresses only (RFC 6052 section 3.1) */
};
#define NAT64_NO_PREFIX NAT64_PREFIXES

#define NAT64_RECENT_BITS 10u

struct nat64 {
	struct nat nat; /* the first field: gw->state begins with it (nat.h) */
	struct xlat_core core;
	struct nat_insides inside;
	struct nat64_prefix prefix[NAT64_PREFIXES];
	uint32_t n_prefixes;
	struct nat64_gathers gathers;
	uint64_t probes; /* sent */
	/* Native IPv6 is routed beside, through this filter. */
	struct filter6 filter;
	/* NAT44 beside: inside hosts with IPv4 may open sessions; and some may have had one since
	 * the start, which their packets from outside must find. */
	bool nat44, had_nat44;
	/* Numbers of inside addresses that sent lately, by a cheap hash of the address. */
	struct flow_key recent_key;
	uint32_t recent[1u << NAT64_RECENT_BITS];
};

static inline struct nat64 *nat64_of(const struct gw *gw)
{
	return gw->state;
}

/* The number of the longest prefix that an IPv6 address lies under, or NAT64_NO_PREFIX. */
static inline uint32_t nat64_prefix_of(const struct nat64 *n, const ip6 *a)
{
	uint32_t best = NAT64_NO_PREFIX;
	for (uint32_t i = 0; i < n->n_prefixes; i++)
		if (embed_has(&n->prefix[i].form, a) &&
		    (best == NAT64_NO_PREFIX || n->prefix[i].form.len > n->prefix[best].form.len))
			best = i;
	return best;
}

/* True when a prefix may stand for an IPv4 address (raw). */
static inline bool nat64_may_embed(const struct nat64 *n, uint32_t prefix, uint32_t a)
{
	return !n->prefix[prefix].strict || embed_is_global(ip4_from_raw(a));
}

/* The number of the first prefix that may stand for an IPv4 address (raw), or NAT64_NO_PREFIX. */
static inline uint32_t nat64_prefix_for(const struct nat64 *n, uint32_t a)
{
	for (uint32_t i = 0; i < n->n_prefixes; i++)
		if (nat64_may_embed(n, i, a))
			return i;
	return NAT64_NO_PREFIX;
}

/* A translation that is found out: an endpoint of an inside host, its external endpoint, and the
 * remote host. It comes from a session, or for a packet that gets none from a mapping. */
struct nat64_way {
	struct nat_session *session; /* NULL: none */
	uint32_t in_ip;              /* the number of the inside host */
	uint32_t ext_ip, rem_ip;
	uint16_t in_port, ext_port;
	uint16_t delta; /* as l4_delta of a session */
	uint8_t prefix; /* which stands for rem_ip */
	uint8_t proto;  /* enum nat_proto */
};

/* Makes a way of a mapping and a remote host, which a prefix stands for. */
void nat64_set_way(const struct nat64 *n, struct nat64_way *w, const struct nat_mapping *m,
                   uint32_t rem_ip, uint32_t prefix);

/* Gives a session the prefix that stands for its remote host, and the deltas that follow. */
void nat64_set_prefix(const struct nat64 *n, struct nat_session *s, uint32_t prefix);

/* Finds out which station an inside address (number) on an interface belongs to (nat_inside.h), if
 * one has answered for it. `sender` is the station that has just sent a packet from this address,
 * which must be the same where the address is a neighbour's; NULL: none has. An address behind
 * PKT_IF_SELF stays without a station. */
void nat64_find_station(struct gw *gw, struct nat64 *n, uint32_t iface, uint32_t number,
                        const mac *sender);

/* Makes a way of a session. */
static inline void nat64_take_way(struct nat64_way *w, struct nat_session *s)
{
	*w = (struct nat64_way){.session = s,
	                        .in_ip = s->in_ip,
	                        .ext_ip = s->ext_ip,
	                        .rem_ip = s->rem_ip,
	                        .in_port = (uint16_t)s->ports,
	                        .ext_port = s->ext_port,
	                        .delta = s->l4_delta,
	                        .prefix = s->route_in,
	                        .proto = s->proto};
}

/* The enum nat_proto of an IP protocol of either version; NAT_OTHER for those that are not
 * translated. */
static inline uint8_t nat64_proto_of(uint8_t ip_proto)
{
	return ip_proto == PROTO_ICMP6  ? NAT_ICMP
	       : ip_proto == PROTO_ICMP ? NAT_OTHER
	                                : nat_proto_of(ip_proto);
}

/* --- the two directions --------------------------------------------------------------------- */

/* nat64_out.c, nat64_in.c: the hooks of struct forwarder for a packet whose route leads to the
 * application, and for an IPv4 packet. */
enum verdict nat64_out(struct gw *gw, struct nat64 *n, struct pkt *p);
enum verdict nat64_in(struct gw *gw, struct nat64 *n, struct pkt *p);

/* nat64_flow.c: the fast path (net/flow.h) of the UDP and TCP packets of known sessions. */
void nat64_flow_frames(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n);
/* The same for a partial packet (`partial` of net/forwarder.h). */
bool nat64_flow_partial(struct gw *gw, uint32_t iface, struct pkt *p);

/* Translate ICMP errors (nat64_icmp.c). The first one is for a packet whose extension headers are
 * in x and whose destination is in x->to; it routes the packet. Give the verdict. */
enum verdict nat64_error_out(struct gw *gw, struct nat64 *n, struct pkt *p, struct xlat64 *x);
enum verdict nat64_error_in(struct gw *gw, struct nat64 *n, struct pkt *p);

/* Routes a packet from inside to an IPv4 address (raw): to the WAN, or back (PKT_IF_SELF) when the
 * address is one of ours or an external one. Gives V_SEND, or V_DROP with the ICMPv6 error sent. */
enum verdict nat64_route_out(struct gw *gw, const struct nat64 *n, struct pkt *p, uint32_t to);

/* Routes a packet from outside to the inside host that has a number, whose address is stored in
 * *to. Gives V_SEND or V_DROP. */
enum verdict nat64_route_in(struct gw *gw, const struct nat64 *n, struct pkt *p, uint32_t number,
                            ip6 *to);

/* --- TCP (nat64_tcp.c) ------------------------------------------------------------------------ */

/* Follows one segment of a session, of `len` bytes with its header (RFC 6146 section 3.5.2). */
void nat64_follow(struct gw *gw, struct nat *n, struct nat_session *s, const struct tcp_hdr *tcp,
                  uint32_t len, enum nat_side side);

/* The SYN that opened a session met a stored one of the other side: the session is established
 * (section 3.5.2.2, V4 INIT). */
void nat64_meet(struct gw *gw, struct nat *n, struct nat_session *s);

/* Sends a probe to the inside host of an established session that expired (section 3.5.2.2). `of`
 * is the struct gw; for nat_table.lingers. */
void nat64_probe(void *of, const struct nat_session *s);

/* Restarts the lifetime of a session because a packet passes, from either side (section 3.5.1);
 * from outside only in a session in which the inside host has sent (section 5.3). */
static inline void nat64_refresh(const struct gw *gw, const struct nat *n, struct nat_session *s,
                                 enum nat_side side)
{
	if (side == NAT_INSIDE || !(s->flags & NAT_UNINVITED))
		nat_refresh(gw, n, s);
}

/* --- inside hosts with IPv4 (nat64_nat44.c) --------------------------------------------------- */

/* Switches NAT44 on or off, as the configuration and our addresses say. NULL, or what is wrong. */
const char *nat64_nat44_follow(struct gw *gw, struct nat64 *n);

/* True when the NAT44 is to have an IPv4 packet: one from inside, or one to an external port that
 * an inside host with IPv4 holds. Never true for a fragment from outside: its port may be in
 * another one (nat64_in). */
bool nat64_nat44_takes(const struct nat64 *n, const struct pkt *p);

/* True when a packet or first fragment to an external address (index) is for an inside host with
 * IPv4. */
bool nat64_nat44_owns(const struct nat64 *n, const struct pkt *p, uint32_t external);

/* Sends the fragments of a packet, in order, to an inside host with IPv4. The packets are taken. */
void nat64_nat44_fragments(struct gw *gw, struct pkt *list);

/* The next hop of a packet does not answer; for struct forwarder, as xlat_no_neighbour. */
void nat64_no_neighbour(struct gw *gw, struct pkt *p, bool six);

/* --- listings (nat64_show.c) ------------------------------------------------------------------ */

extern const struct count_table nat64_counts, nat64_filter_counts;
bool nat64_show(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size);

#endif
