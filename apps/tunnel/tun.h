/* What the files of the application `6to4` share: one engine for every automatic tunnel
 * whose IPv6 prefix contains the IPv4 address of its end. It has four parameters:
 *
 *   the prefix and its length       2002::/16 (6to4, RFC 3056) or the provider's (6rd, RFC 5969)
 *   IPv4 bits left out of it        0 (6to4) or 6rd.mask
 *   our own IPv4 address            in the site's prefix; and on the WAN, as outer source
 *   the relay                       for every destination outside the prefix
 *
 * Domain: all addresses under the prefix. Site: our own part of the domain. Native: all
 * other IPv6 addresses. Outer, inner: the two headers of a tunnel packet. */
#ifndef APPS_TUNNEL_TUN_H
#define APPS_TUNNEL_TUN_H

#include "apps/nat/nat.h"
#include "apps/tunnel/tun_keys.h"
#include "net/lib/csum.h"
#include "net/ip6/ip6.h"
#include "net/ip4/reasm.h"

#define TUN_ENDS      256u   /* a power of two */
#define TUN_SOFT      64u    /* a power of two */
#define TUN_SOFT_MS   30000u /* lifetime of a remembered error */
#define TUN_MTU_LEAST IP6_MTU_MIN

/* A prefix of at most 64 bits, as raw words. */
struct tun_prefix {
	uint32_t word[2], mask[2];
};

/* An IPv4 address that may be a tunnel's other end, and its next hop. Entries stay valid:
 * IPv4 routes and own IPv4 addresses do not change while the application runs. */
struct tun_end {
	uint32_t addr; /* raw */
	uint32_t hop;  /* next hop on the WAN, raw; 0: the entry is free */
};

/* An ICMP error about an outer destination whose quote was too short for an ICMPv6 error.
 * The next packet to that destination gets the error (RFC 4213 section 3.4). */
struct tun_soft {
	uint32_t to; /* outer destination, raw; 0: free */
	uint32_t due_ms;
	uint8_t type, code; /* ICMPv6 */
	uint16_t mtu;       /* of ICMP6_TOO_BIG: only larger packets get the error */
};

struct tun_flows;

struct tun {
	struct nat nat; /* must be first: nat_of */
	bool has_nat;

	/* The parameters in the form that the packet path uses. */
	struct tun_prefix domain, site;
	uint8_t at, bit;   /* byte and bit of an IPv6 address where the IPv4 bits begin */
	uint8_t drop_bits; /* number of last bits of the 32 found there that are not IPv4 bits */
	bool whole;        /* a complete IPv4 address that begins at a byte */
	uint32_t v4_mask, v4_common; /* host order: mask of the IPv4 bits; the other bits */
	uint32_t outer;              /* our address on the WAN, raw */
	uint32_t relay;              /* raw; 0: none */
	bool relay_may_all;          /* packets of the relay may have any inner source */
	bool native_any;   /* senders other than the relay may have native inner sources */
	bool private_good; /* private IPv4 addresses may be tunnel ends (6rd) */
	struct tun_end end[TUN_ENDS];
	struct tun_config_6rd rd; /* of the configuration, or of the lease of the WAN */
	/* What follows from our address, see tun_follow. */
	bool up;                      /* there is a site */
	ip4 made_from;                /* the address that its prefix is made of */
	uint64_t lease_us;            /* the end of the lease that the hosts know; 0: none */
	const char *said;             /* why there is none, as the log has it; NULL: not */
	uint64_t lan_net[INTERFACES]; /* upper half of the /64 of each network; 0: it has none */
	bool lan_own[INTERFACES];     /* host number 1 there is ours by this tunnel */

	/* The outer header: its first and third word without the fields that change (raw),
	 * and the sum of all that does not change. */
	uint32_t word0, word2, header_sum;
	uint8_t tos_mask; /* bits of the inner traffic class that are copied to the outer header */
	uint16_t mss;     /* 0: no clamp */

	struct tun_flows *flows; /* tun_flow.c */
	struct tun_soft soft[TUN_SOFT];
	uint32_t n_soft;
	uint32_t next_look_ms;
	struct reasm_table reasm;

	uint64_t out, in; /* packets encapsulated, decapsulated */
	uint64_t errors;  /* ICMP errors about tunnel packets that were passed on */
	uint64_t ecn_odd; /* combinations of ECN fields that are not valid */
};

/* The state of the application. */
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

/* The raw IPv4 address that an address of the domain contains. */
static inline uint32_t tun_embedded(const struct tun *t, const ip6 *a)
{
	uint32_t bits = load32(a->b + t->at);
	if (LIKELY(t->whole))
		return bits;
	bits = swap32(bits) << t->bit | (uint32_t)a->b[t->at + 4] >> (8 - t->bit);
	return swap32(t->v4_common | (bits >> t->drop_bits & t->v4_mask));
}

/* The raw outer destination of an inner destination; 0 when there is none because no relay
 * is configured. */
static inline uint32_t tun_outer_to(const struct tun *t, const ip6 *to)
{
	return tun_in(&t->domain, to) ? tun_embedded(t, to) : t->relay;
}

/* Checks whether a raw IPv4 address may be the other end of a tunnel. DROP_TUNNEL_END: its
 * block is not allowed (RFC 3056 section 9, RFC 3964 section 5.3.1), or it is ours, on the
 * LAN or a broadcast address. DROP_NO_ROUTE: there is no route to it. DROP_NONE: it may be,
 * and it is in the table then. (tun_end.c) */
enum drop tun_bad_end(const struct gw *gw, struct tun *t, uint32_t a);

/* The table's entry of a raw address, NULL when there is none; then tun_bad_end decides. */
static inline const struct tun_end *tun_known_end(const struct gw *gw, const struct tun *t,
                                                  uint32_t a)
{
	const struct tun_end *e = &t->end[a * gw->ids.mul >> 24];
	return LIKELY(e->addr == a && e->hop) ? e : NULL;
}
_Static_assert(TUN_ENDS == 1u << 8, "the upper eight bits");

/* Why an IPv4 address of the configuration cannot be a tunnel's end because of its block (a
 * text such as "a multicast address"); NULL when it can. */
const char *tun_why_no_end(ip4 a);

/* True when the block of an address allows it as a tunnel's end. */
bool tun_may_be_end(const struct tun *t, ip4 a);

/* True when the inner packet is a tunnel packet itself: after the next decapsulation it
 * would escape the checks of this tunnel (RFC 6169 section 3.1). Also true when its
 * extension headers do not end within it (RFC 7112), because it may be one then. */
static inline bool tun_is_nested(const struct pkt *p)
{
	if (LIKELY(ip6_is_plain[p->proto]))
		return false;
	return p->proto == PROTO_IP6 || p->proto == PROTO_IP4 ||
	       (ip6_is_extension(p->proto) && !(p->flags & PKT_LATER));
}

/* Writes the outer header in front of an inner packet of `len` bytes to the end `to` (raw), in
 * words as the machine loads them: version, TOS, length; identification, no flags; TTL, protocol,
 * checksum; addresses. Gives the header's place. */
static inline uint8_t *tun_put_header(struct gw *gw, const struct tun *t, uint8_t *inner,
                                      uint32_t len, uint32_t to)
{
	uint8_t *h = inner - IP4_MIN;
	uint32_t tos = (uint32_t)(inner[0] << 4 | inner[1] >> 4) & t->tos_mask;
	uint32_t total = swap16((uint16_t)(len + IP4_MIN));
	uint32_t id = be16_raw(ip4_id(&gw->ids, ip4_from_raw(to)));
	uint32_t sum = t->header_sum + (tos << 8) + total + id + (to & 0xffff) + (to >> 16);
	store32(h, t->word0 | tos << 8 | total << 16);
	store32(h + 4, id);
	store32(h + 8, t->word2 | (uint32_t)(uint16_t)~csum_fold(sum) << 16);
	store32(h + 12, t->outer);
	store32(h + 16, to);
	return h;
}

/* Sets up the engine from gw->config. Gives NULL, or what is wrong. (tun_setup.c) */
const char *tun_setup(struct gw *gw, struct tun *t);

/* Makes the site from the address that the gateway has now: prefix, addresses and routes; the
 * prefix of an earlier address is deprecated. Gives NULL, or why there is no site now; the tunnel
 * then carries nothing. (tun_setup.c) */
const char *tun_follow(struct gw *gw, struct tun *t);

/* Tells the hosts of the inside the lifetimes that follow from a new end of the WAN's lease.
 * (tun_setup.c) */
void tun_lease_tick(struct gw *gw, struct tun *t);

/* Hooks (net/forwarder.h): IPv4, which may be a tunnel packet (tun_in.c), and IPv6, which may have
 * to be encapsulated (tun_out.c). */
enum verdict tun_ip4(struct gw *gw, struct pkt *p);
enum verdict tun_ip6(struct gw *gw, struct pkt *p);

/* Handles an ICMP message to our outer address when it is an error about a tunnel packet:
 * gives true, with the verdict in *v. False when it is not; p is unchanged then.
 * (tun_icmp.c) */
bool tun_icmp(struct gw *gw, struct tun *t, struct pkt *p, enum verdict *v);

/* The fast path (tun_flow.c, net/flow.h). tun_flow_init takes memory for its tables from alloc(),
 * and draws the key. False when there is not enough memory. */
bool tun_flow_init(struct gw *gw, struct tun *t) MUST_USE;

/* Note a packet of a usual protocol that has passed all checks and is routed, data at its IPv6
 * header. tun_flow_note_out: it will be sent to the end `end` (raw) by the next hop `hop` (raw).
 * tun_flow_note_in: it came from the end `end`. */
void tun_flow_note_out(struct tun *t, const struct pkt *p, uint32_t end, uint32_t hop);
void tun_flow_note_in(struct tun *t, const struct pkt *p, uint32_t end);

/* Takes the frames that came in on an interface (net/forwarder.h): forwards tunnel packets, and
 * those of the NAT, on the fast path, and gives the others to gw_frame. */
void tun_flow_frames(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n);

/* `partial` of net/forwarder.h: those of the NAT; all others come as plain frames. */
bool tun_flow_partial(struct gw *gw, uint32_t iface, struct pkt *p);

/* Sends the ICMPv6 error that an earlier ICMP error caused, when a packet from inside goes
 * to the same outer destination `to` (raw); once for each error. Gives V_DROP when the
 * packet was too big (counted), else V_SEND6. */
enum verdict tun_soft_error(struct gw *gw, struct tun *t, struct pkt *p, uint32_t to);

/* Removes remembered errors whose lifetime is over. */
void tun_soft_tick(struct gw *gw, struct tun *t);

#endif
