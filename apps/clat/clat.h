/* The application `clat`: its state, and what its files share.
 *
 * IPv4 has no uplink of its own. The gateway has 192.0.0.1 on the WAN (RFC 7335), by which the NAT
 * of the LAN and our own sockets send; what is routed there is translated into IPv6 (clat_up). What
 * comes back from the provider's prefix is translated into IPv4 (clat_down) and reinjected, as if
 * it had come in on the WAN. IPv4 addresses are raw. */
#ifndef APPS_CLAT_CLAT_H
#define APPS_CLAT_CLAT_H

#include "apps/clat/clat_keys.h"
#include "apps/nat/nat.h"
#include "apps/nat64/nat64_gather.h"
#include "apps/translate/xlat_packet.h"
#include "net/filter6/filter6.h"

#define CLAT_OWN    0xc0000001u /* 192.0.0.1, host order */
#define CLAT_ROUTER 0xc0000002u /* that nobody has: the far side of the translation */
#define CLAT_DUMMY  0xc0000008u /* source of an error of a node without IPv4 (RFC 7600) */

/* What is known from DNS (RFC 7050). Times as gw->clock.us. */
struct clat_find {
	uint8_t handler; /* of udp.h */
	uint16_t port;   /* of the question under way; 0: none is */
	uint16_t id;
	struct addr asked;
	uint64_t due_us;   /* the next question, or the end of the wait for an answer */
	uint32_t next;     /* number of the server that is asked next */
	uint32_t fails;    /* questions in a row that gave no prefix */
	uint64_t until_us; /* while the prefix counts; 0: there is none */
	struct prefix prefix;
	uint64_t questions, answers;
};

struct clat {
	struct nat nat; /* the first field: gw->state begins with it (nat.h) */
	struct filter6 filter;
	struct xlat_core core;
	/* The provider's prefix, while has_prefix. */
	struct embed_form form;
	struct prefix prefix;
	bool has_prefix;
	bool strict; /* it stands for global addresses only (RFC 6052 section 3.1) */
	/* Our side: one address for all, or a network with an address for each host. */
	bool routed;
	struct embed_form hosts; /* routed */
	ip6 own;                 /* not routed; unspecified: there is none yet */
	uint32_t tries;          /* addresses that another station had */
	uint64_t said_own_us;
	uint32_t follow_ms; /* when prefix and address are next looked after */
	struct clat_find find;
	struct nat64_gathers gathers; /* of ICMP messages */
};

static inline struct clat *clat_of(const struct gw *gw)
{
	return gw->state;
}

/* Our IPv6 address for an IPv4 address of ours or of a host (raw). False when there is none. */
static inline bool clat_to6(const struct clat *c, uint32_t a, ip6 *out)
{
	if (c->routed)
		embed_to6(&c->hosts, a, out);
	else
		*out = c->own;
	return c->routed || a == swap32(CLAT_OWN);
}

/* The other way round. */
static inline bool clat_to4(const struct clat *c, const ip6 *a, uint32_t *out)
{
	*out = c->routed ? embed_to4(&c->hosts, a) : swap32(CLAT_OWN);
	return c->routed ? embed_has(&c->hosts, a) : ip6_eq(a, &c->own);
}

/* True when the prefix may stand for an IPv4 address (raw) that a host may have. */
static inline bool clat_may_embed(const struct clat *c, uint32_t a)
{
	return !xlat_is_no_host(ip4_from_raw(a)) &&
	       (!c->strict || embed_is_global(ip4_from_raw(a)));
}

/* Why nothing is translated, one word for the line `stopped`; NULL: it works. For struct forwarder.
 */
const char *clat_stopped(const struct gw *gw);

/* clat_up.c, clat_down.c: uplink4 of struct forwarder; and an IPv6 packet to one of the addresses
 * of clat_to4: V_KEPT, V_DROP, or V_LOCAL6 when it is not from the translator. */
void clat_up(struct gw *gw, struct pkt *p);
enum verdict clat_down(struct gw *gw, struct clat *c, struct pkt *p);

/* Take a fragment of an ICMP message, whose addresses are in x and which may pass; the message
 * leaves when it is complete. Give V_KEPT. (clat_gather.c) */
enum verdict clat_gather_up(struct gw *gw, struct clat *c, struct pkt *p, const struct xlat46 *x);
enum verdict clat_gather_down(struct gw *gw, struct clat *c, struct pkt *p, const struct xlat64 *x);

/* Takes a prefix of the provider's into force; the log says so and whom it is from. NULL, or what
 * is wrong with it as a text that follows its name; then there is none. (clat.c) */
const char *clat_use_prefix(struct gw *gw, struct clat *c, const struct prefix *p,
                            const char *from);

/* --- finding the prefix (clat_find.c) -------------------------------------------------------- */

/* Begins. NULL, or what is wrong (static). */
const char *clat_find_start(struct gw *gw, struct clat *c);

/* Follows what routers and DNS servers say. Called ten times a second at most. */
void clat_find_tick(struct gw *gw, struct clat *c);

/* --- our address (clat_address.c) ------------------------------------------------------------ */

/* Sets up what the configuration says. NULL, or what is wrong. */
const char *clat_address_start(struct gw *gw, struct clat *c);

/* Makes or changes the address where it follows from the WAN's network. Called ten times a second
 * at most. */
void clat_address_tick(struct gw *gw, struct clat *c);

/* --- listings (clat_show.c) ------------------------------------------------------------------- */

extern const struct count_table clat_counts, clat_filter_counts;
extern const struct timing_rows clat_timings; /* net/stats/timing.h */
bool clat_show(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size);
bool clat_show_host(const struct gw *gw, uint32_t *cursor, struct prefix *host, uint32_t *sessions);

#endif
