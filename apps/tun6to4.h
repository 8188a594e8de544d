/* What the files of the application `6to4` share: one engine for every automatic
 * tunnel whose IPv6 prefix holds the IPv4 address of its end. It has four parameters:
 *
 *   the prefix and its length     2002::/16 (6to4, RFC 3056) or the provider's (6rd, RFC 5969)
 *   bits of IPv4 left out of it   0 (6to4) or 6rd.mask
 *   our own IPv4 address          in the site's prefix; and on the WAN, as outer source
 *   the relay                     for everything outside the prefix
 *
 * domain: all that the prefix covers. site: the part of it that is ours. native: all
 * other IPv6. outer, inner: the two headers of a tunnel packet. */
#ifndef APPS_TUN6TO4_H
#define APPS_TUN6TO4_H

#include "apps/nat44.h"
#include "net/ip6.h"
#include "net/reasm.h"

#define TUN_SOFT      64u    /* a power of two */
#define TUN_SOFT_MS   30000u /* how long an error about a destination counts */
#define TUN_MTU_LEAST IP6_MTU_MIN

/* A prefix of at most 64 bits, to be compared raw. */
struct tun_prefix {
	uint32_t word[2], mask[2];
};

/* What an ICMP error with too short a quote said about an outer destination; the
 * next packet to there gets it as ICMPv6 error (RFC 4213 section 3.4). */
struct tun_soft {
	uint32_t to; /* outer destination, raw; 0: free */
	uint32_t due_ms;
	uint8_t type, code; /* ICMPv6 */
	uint16_t mtu;       /* of ICMP6_TOO_BIG: only larger packets are told */
};

struct tun {
	struct nat nat; /* stands first: nat_of */
	bool has_nat;

	/* The parameters, ready for use. */
	struct tun_prefix domain, site;
	uint8_t at, bit;             /* where in an address the IPv4 bits begin: byte and bit */
	uint8_t drop_bits;           /* of the 32 found there, the last ones that are none */
	uint32_t v4_mask, v4_common; /* host order: which bits those are; the rest */
	uint32_t outer;              /* our address on the WAN, raw */
	uint32_t relay;              /* raw; 0: none */
	bool relay_may_all;          /* packets of the relay may have any source */
	bool native_any;             /* native sources from others than the relay */
	uint32_t closer[8];          /* bit per first octet: not surely global unicast */
	bool private_good;           /* private IPv4 addresses may be tunnel ends (6rd) */

	/* The outer header of every packet, its sum without the changing fields. */
	struct ip4_hdr header;
	uint32_t header_sum;
	uint8_t tos_mask; /* of the inner traffic class, what goes to the outer header */
	uint16_t mss;     /* 0: no clamp */

	struct tun_soft soft[TUN_SOFT];
	uint32_t n_soft;
	uint32_t next_look_ms;
	struct reasm_table reasm;

	uint64_t out, in; /* packets encapsulated, decapsulated */
	uint64_t errors;  /* ICMP errors about tunnel packets that were passed on */
	uint64_t ecn_odd; /* combinations of ECN fields that should not be */
};

static inline struct tun *tun_of(const struct gw *gw)
{
	return gw->state;
}

/* True when an IPv6 address lies under the prefix. */
static inline bool tun_in(const struct tun_prefix *p, const ip6 *a)
{
	return (((ip6_word(a, 0) & p->mask[0]) ^ p->word[0]) |
	        ((ip6_word(a, 1) & p->mask[1]) ^ p->word[1])) == 0;
}

/* The IPv4 address that an address of the domain holds, host order. */
static inline uint32_t tun_embedded(const struct tun *t, const ip6 *a)
{
	uint32_t bits = swap32(load32(a->b + t->at));
	bits = bits << t->bit | (uint32_t)a->b[t->at + 4] >> (8 - t->bit);
	return t->v4_common | (bits >> t->drop_bits & t->v4_mask);
}

/* False for an IPv4 address that cannot be the end of a tunnel (RFC 3056 section 9,
 * RFC 3964 section 5.3.1), by its kind alone; host order. */
bool tun_end_rare(const struct tun *t, uint32_t a);
static inline bool tun_good_end(const struct tun *t, uint32_t a)
{
	return LIKELY(!(t->closer[a >> 29] >> (a >> 24 & 31) & 1)) || tun_end_rare(t, a);
}

/* The outer destination for an inner one, raw; 0 when there is none: no relay, or
 * *bad: the address it holds cannot be a tunnel's end. */
static inline uint32_t tun_end_of(const struct tun *t, const ip6 *to, bool *bad)
{
	*bad = false;
	if (!tun_in(&t->domain, to))
		return t->relay;
	uint32_t end = tun_embedded(t, to);
	*bad = !tun_good_end(t, end);
	return UNLIKELY(*bad) ? 0 : swap32(end);
}

/* True when the inner packet is itself a tunnel's: it would leave the checks of this
 * one behind as soon as somebody unwraps it (RFC 6169 section 3.1). */
static inline bool tun_is_nested(uint8_t proto)
{
	return proto == PROTO_IP6 || proto == PROTO_IP4;
}

/* Sets up the engine from gw->config: parameters, addresses, routes (tun6to4_init.c).
 * NULL, or what is wrong. */
const char *tun_setup(struct gw *gw, struct tun *t);

/* An IPv6 packet that its route leads into the tunnel: app.h (tun6to4_out.c). */
enum verdict tun_wrap(struct gw *gw, struct tun *t, struct pkt *p);

/* A packet of protocol 41 to our outer address (tun6to4_in.c). */
enum verdict tun_unwrap(struct gw *gw, struct tun *t, struct pkt *p);

/* An ICMP message to our outer address: true when it is an error about a packet of
 * the tunnel, with the verdict in *v (tun6to4_icmp.c). */
bool tun_icmp(struct gw *gw, struct tun *t, struct pkt *p, enum verdict *v);

/* What an earlier ICMP error says about a packet from inside that is on its way to
 * the outer destination `to`, raw: the sender is told once. V_DROP when the packet
 * ends there (counted), else V_SEND6. */
enum verdict tun_soft_error(struct gw *gw, struct tun *t, struct pkt *p, uint32_t to);

/* Forgets what has lived long enough. */
void tun_soft_tick(struct gw *gw, struct tun *t);

#endif
