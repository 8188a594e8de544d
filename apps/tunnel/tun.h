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
#ifndef APPS_TUNNEL_TUN_H
#define APPS_TUNNEL_TUN_H

#include "apps/nat/nat.h"
#include "apps/tunnel/tun_keys.h"
#include "net/ip6/ip6.h"
#include "net/ip4/reasm.h"

#define TUN_ENDS      256u   /* a power of two */
#define TUN_SOFT      64u    /* a power of two */
#define TUN_SOFT_MS   30000u /* how long an error about a destination counts */
#define TUN_MTU_LEAST IP6_MTU_MIN

/* A prefix of at most 64 bits, to be compared raw. */
struct tun_prefix {
	uint32_t word[2], mask[2];
};

/* An IPv4 address that was found fit to be a tunnel's other end, and the way to it.
 * Routes and our own addresses stay as they are once the application runs. */
struct tun_end {
	uint32_t addr; /* raw */
	uint32_t hop;  /* next hop on the WAN, raw; 0: the place is free */
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
	bool whole;                  /* a whole IPv4 address in whole bytes */
	uint32_t v4_mask, v4_common; /* host order: which bits those are; the rest */
	uint32_t outer;              /* our address on the WAN, raw */
	uint32_t relay;              /* raw; 0: none */
	bool relay_may_all;          /* packets of the relay may have any source */
	bool native_any;             /* native sources from others than the relay */
	bool private_good;           /* private IPv4 addresses may be tunnel ends (6rd) */
	uint32_t own_low; /* bit per low five bits of our own IPv6 addresses on the LAN */
	struct tun_end end[TUN_ENDS];

	/* Of the outer header: its first and its third word without the changing fields,
	 * raw, and the sum of all that does not change. */
	uint32_t word0, word2, header_sum;
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

/* The IPv4 address that an address of the domain holds, raw. */
static inline uint32_t tun_embedded(const struct tun *t, const ip6 *a)
{
	uint32_t bits = load32(a->b + t->at);
	if (LIKELY(t->whole))
		return bits;
	bits = swap32(bits) << t->bit | (uint32_t)a->b[t->at + 4] >> (8 - t->bit);
	return swap32(t->v4_common | (bits >> t->drop_bits & t->v4_mask));
}

/* The outer destination for an inner one, raw; 0 when there is none: no relay. */
static inline uint32_t tun_outer_to(const struct tun *t, const ip6 *to)
{
	return tun_in(&t->domain, to) ? tun_embedded(t, to) : t->relay;
}

/* Why an IPv4 address (raw) cannot be the other end of a tunnel: its kind (RFC 3056
 * section 9, RFC 3964 section 5.3.1), one of our own or of the LAN, a broadcast:
 * DROP_TUNNEL_END; or there is no way to it: DROP_NO_ROUTE. Else DROP_NONE, and the
 * address is known from now on (tun_end.c). */
enum drop tun_bad_end(const struct gw *gw, struct tun *t, uint32_t a);

/* What is known of an end; NULL when nothing is, see tun_bad_end. */
static inline const struct tun_end *tun_known_end(const struct gw *gw, const struct tun *t,
                                                  uint32_t a)
{
	const struct tun_end *e = &t->end[a * gw->id_mul >> 24];
	return LIKELY(e->addr == a && e->hop) ? e : NULL;
}
_Static_assert(TUN_ENDS == 1u << 8, "the upper eight bits");

/* What is wrong with an IPv4 address as an end that the configuration names, NULL when
 * nothing is. */
const char *tun_not_unique(ip4 a);

/* True when an address by its kind is an end. */
bool tun_good_kind(const struct tun *t, ip4 a);

/* True when the inner packet is itself a tunnel's: it would leave the checks of this
 * one behind as soon as somebody unwraps it (RFC 6169 section 3.1). And when its headers
 * do not end within it (RFC 7112): then it may be. */
static inline bool tun_is_nested(const struct pkt *p)
{
	if (LIKELY(ip6_is_plain[p->proto]))
		return false;
	return p->proto == PROTO_IP6 || p->proto == PROTO_IP4 ||
	       (ip6_is_extension(p->proto) && !(p->flags & PKT_LATER));
}

/* Sets up the engine from gw->config: parameters, addresses, routes (tun_setup.c).
 * NULL, or what is wrong. */
const char *tun_setup(struct gw *gw, struct tun *t);

/* Hooks (app.h): IPv4, which may be a tunnel packet (tun_in.c), and IPv6, which
 * may have to become one (tun_out.c). */
enum verdict tun_ip4(struct gw *gw, struct pkt *p);
enum verdict tun_ip6(struct gw *gw, struct pkt *p);

/* An ICMP message to our outer address: true when it is an error about a packet of
 * the tunnel, with the verdict in *v (tun_icmp.c). */
bool tun_icmp(struct gw *gw, struct tun *t, struct pkt *p, enum verdict *v);

/* What an earlier ICMP error says about a packet from inside that is on its way to
 * the outer destination `to`, raw: the sender is told once. V_DROP when the packet
 * ends there (counted), else V_SEND6. */
enum verdict tun_soft_error(struct gw *gw, struct tun *t, struct pkt *p, uint32_t to);

/* Forgets what has lived long enough. */
void tun_soft_tick(struct gw *gw, struct tun *t);

#endif
