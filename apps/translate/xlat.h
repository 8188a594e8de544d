/* The stateless translator between IPv4 (WAN) and IPv6 (LAN), RFC 7915, with the
 * addresses of embed.h: its state and its functions. An application fills the state at
 * start and passes packets to the translator.
 *
 *   xlat_addr.c                   addresses of a packet, and the ICMP errors of a refusal
 *   xlat_cache.c                  flow cache: translates most packets
 *   xlat46.c, xlat64.c            slow path: IPv4 to IPv6, IPv6 to IPv4
 *   xlat46_error.c, xlat64_error.c  ICMP errors with the packet that they quote
 *   xlat_icmp.c                   ICMP types, codes and MTUs in both directions
 *
 * An IPv4 address that is called raw is a uint32_t in network byte order. */
#ifndef APPS_TRANSLATE_XLAT_H
#define APPS_TRANSLATE_XLAT_H

#include "apps/translate/embed.h"
#include "net/gw.h"
#include "net/ip4/ip4.h"
#include "net/ip6/ip6.h"
#include "net/stats/timing.h"

/* An IPv4 network whose addresses stand for IPv6 hosts; raw. */
struct xlat_net {
	uint32_t net, mask;
	uint8_t len;
	bool native_inside; /* it has an own address, or a longer route of the WAN side */
};

#define XLAT_PREFIXES 32u /* IPv4 prefixes that stand for IPv6 hosts */
#define XLAT_SHARES   16u /* networks of shared addresses */
#define XLAT_SOURCES  16u /* sources of ICMP errors, each address family */
#define XLAT_NETS     (XLAT_PREFIXES + XLAT_SHARES)
#define XLAT_RESERVED (3u * INTERFACES * NET_ADDRESSES)

/* Directions: IPv4 to IPv6, IPv6 to IPv4. */
enum { XLAT_46, XLAT_64 };

struct xlat_cache;

/* How packets are translated, whatever their addresses are translated by: by the rules of struct
 * translator, or by the sessions of a stateful translator. */
struct xlat_core {
	const char *name; /* of the application, for its lines of the log */
	bool errors;      /* ICMP errors about packets that are refused */
	bool compute_zero;
	bool icmp_interface;
	uint16_t mss;               /* largest MSS; 0: any */
	uint32_t tos_mask, tos_set; /* bits copied from the other side's octet, bits that are set */
	uint32_t mtu6;              /* the smallest MTU of the inside */
	uint32_t limit46;           /* size of an IPv6 packet above which one without DF is split */
	uint64_t translated[2];     /* packets, by direction */
	uint64_t no_checksum_us, extension_us; /* times of the last log lines about these */
};

struct translator {
	struct xlat_core core;
	struct embed_form form;
	bool has_form;
	bool well_known; /* the form is for global IPv4 addresses only */
	bool simple;     /* there is a form, no shares, and the form takes any IPv4 address */
	uint32_t n_nets, n_shares, n_reserved, n_icmp4, n_icmp6;
	struct xlat_net net[XLAT_NETS];
	struct embed_share share[XLAT_SHARES];
	uint32_t reserved[XLAT_RESERVED]; /* own addresses and the WAN's broadcasts; raw */
	ip4 icmp4[XLAT_SOURCES];          /* RFC 6791 */
	ip6 icmp6[XLAT_SOURCES];
	/* Facts about each mapping, by its index. */
	bool map_is6[EMBED_MAPS];    /* it certainly names IPv6 hosts */
	bool map_is4[EMBED_MAPS];    /* it certainly names IPv4 hosts */
	bool map_native[EMBED_MAPS]; /* as native_inside */
	struct embed_table maps;
	struct xlat_cache *cache;
};

/* How an address was mapped. */
enum xlat_way { XLAT_UNMAPPED, XLAT_BY_FORM, XLAT_BY_MAP };

/* Drops a packet that is still as it came in. Sends the ICMP error of RFC 7915 sections
 * 4.4 and 5.4 (3/13, 1/1) when errors are switched on and the packet may cause one.
 * Gives V_DROP. */
enum verdict xlat_refuse4(struct gw *gw, const struct xlat_core *c, struct pkt *p,
                          enum drop reason);
enum verdict xlat_refuse6(struct gw *gw, const struct xlat_core *c, struct pkt *p,
                          enum drop reason);

/* Drops a packet that is still as it came in, and sends "destination unreachable" with
 * this code when errors are switched on. Gives V_DROP. */
enum verdict xlat_refuse4_as(struct gw *gw, const struct xlat_core *c, struct pkt *p,
                             enum drop reason, uint8_t code);
enum verdict xlat_refuse6_as(struct gw *gw, const struct xlat_core *c, struct pkt *p,
                             enum drop reason, uint8_t code);

/* Sets what a core of these values has in common: the smallest MTU of the inside, the size above
 * which packets are split, the type of service (a value of xlat_type_tos). */
void xlat_core_set_up(const struct gw *gw, struct xlat_core *c, uint32_t lowest_mtu6, uint32_t mss,
                      uint32_t tos);

/* The next hop of a packet does not answer. For a translated packet the error is about the
 * packet as it is now, as if a router just behind the translator sent it; the error is then
 * translated like an error of that router. The fields of p describe the packet that came
 * in, so the packet is parsed again.
 * For struct forwarder. */
void xlat_no_neighbour(struct gw *gw, struct pkt *p, bool six);

/* --- addresses (xlat_addr.c) ------------------------------------------------------ */

/* The IPv6 address of a raw IPv4 address: by the longest mapping, else by the form.
 * `port` (host order) selects one of the hosts that share the address; XLAT_NO_PORT when
 * the packet has none. *out is written unless the result is XLAT_UNMAPPED. */
#define XLAT_NO_PORT 0x10000u
static inline enum xlat_way xlat_to6(const struct translator *v, uint32_t a, uint32_t port,
                                     ip6 *out);

/* The IPv6 address of a raw IPv4 address by the form alone (RFC 7757 section 4.2.1);
 * `port` as for xlat_to6. Gives XLAT_BY_FORM or XLAT_UNMAPPED. */
enum xlat_way xlat_form_to6(const struct translator *v, uint32_t a, uint32_t port, ip6 *out);

/* The raw IPv4 address of an IPv6 address: by the longest mapping, else by the form. */
static inline enum xlat_way xlat_to4(const struct translator *v, const ip6 *a, uint32_t *out);

/* The network of IPv6 hosts that a raw IPv4 address lies in, or NULL. */
static inline const struct xlat_net *xlat_net_of(const struct translator *v, uint32_t a);

/* The rule by which hosts share a raw IPv4 address, NULL when it is not shared. */
static inline const struct embed_share *xlat_share_of(const struct translator *v, uint32_t a);

/* True for a raw IPv4 address that no IPv6 host has, although it may lie in a network of
 * IPv6 hosts of prefix length `len`: an own address, a router's address, or an address
 * with a native route longer than `len`. */
bool xlat_is_native4(const struct gw *gw, uint32_t a, uint8_t len);

/* True when a raw IPv4 address stands for an IPv6 host by ivi.ipv4 or ivi.share. */
static inline bool xlat_is_host6(const struct gw *gw, const struct translator *v, uint32_t a);

/* True for an IPv4 address that no forwarded packet may have; this includes link-local
 * addresses (RFC 3927 section 7). */
static inline bool xlat_is_no_host(ip4 a)
{
	return ip4_no_host(a) || (a.b[0] == 169 && a.b[1] == 254);
}

/* True when a raw IPv4 address is the gateway's own or a broadcast address of its
 * networks. */
bool xlat_is_reserved(const struct translator *v, uint32_t a);

/* The source address of an ICMP error to `to` whose own source has no mapping
 * (RFC 6791): one of ivi.icmp_source, else an own address. */
ip4 xlat_error_source4(struct gw *gw, const struct translator *v, ip4 to);
ip6 xlat_error_source6(struct gw *gw, const struct translator *v, const ip6 *to);

/* Translates an IPv4 packet to an address that hosts may share: finds the port that
 * selects the host (in fragments the port of the first one). Gives the verdict. */
enum verdict xlat_shared(struct gw *gw, struct translator *v, struct pkt *p);

/* --- timings (net/stats/timing.h) ------------------------------------------------- */

/* The cycle counter at the start of a step; 0 when the packet is not timed, which the caller knows
 * at compile time. */
ALWAYS_INLINE uint32_t xlat_timing_start(const struct gw *gw, bool timed)
{
	return timed ? gw->cycles() : 0;
}

/* Adds the cycles since `start` to a step when the packet is timed. */
ALWAYS_INLINE void xlat_timing_end(struct gw *gw, bool timed, uint32_t start, enum timing_step step)
{
	if (timed)
		timing_note(gw, step, gw->cycles() - start);
}

/* --- the two directions ----------------------------------------------------------- */

/* Translates an IPv4 packet of the WAN whose destination is an IPv6 host: by mapping m,
 * or by the form when m is NULL; then `port` (host order) selects one of the hosts that
 * share the address. Gives the verdict; V_SEND6 with an IPv6 packet. */
enum verdict xlat46(struct gw *gw, struct translator *v, struct pkt *p, const struct embed_map *m,
                    uint32_t port);

/* Translates an IPv6 packet whose route leads to the translator (IF_APP). Gives the
 * verdict: V_SEND with an IPv4 packet, V_SEND6 after hairpinning. */
enum verdict xlat64(struct gw *gw, struct translator *v, struct pkt *p);

/* --- inline functions ------------------------------------------------------------- */

static inline const struct xlat_net *xlat_net_of(const struct translator *v, uint32_t a)
{
	const struct xlat_net *n = v->net, *end = n + v->n_nets;
	for (; n < end; n++)
		if ((a & n->mask) == n->net)
			return n;
	return NULL;
}

static inline bool xlat_is_host6(const struct gw *gw, const struct translator *v, uint32_t a)
{
	const struct xlat_net *n = xlat_net_of(v, a);
	return n && !(UNLIKELY(n->native_inside) && xlat_is_native4(gw, a, n->len));
}

static inline const struct embed_share *xlat_share_of(const struct translator *v, uint32_t a)
{
	const struct embed_share *s = v->share, *end = s + v->n_shares;
	for (; s < end; s++)
		if ((a & s->mask) == s->net)
			return s;
	return NULL;
}

static inline enum xlat_way xlat_to6(const struct translator *v, uint32_t a, uint32_t port,
                                     ip6 *out)
{
	const struct embed_map *m = embed_find4(&v->maps, a);
	if (UNLIKELY(m != NULL)) {
		embed_map_to6(m, a, out);
		return XLAT_BY_MAP;
	}
	if (UNLIKELY(!v->simple))
		return xlat_form_to6(v, a, port, out);
	embed_to6(&v->form, a, out);
	return XLAT_BY_FORM;
}

static inline enum xlat_way xlat_to4(const struct translator *v, const ip6 *a, uint32_t *out)
{
	const struct embed_map *m = embed_find6(&v->maps, a);
	if (UNLIKELY(m != NULL)) {
		*out = embed_map_to4(m, a);
		return XLAT_BY_MAP;
	}
	if (!v->has_form || !embed_has(&v->form, a))
		return XLAT_UNMAPPED;
	*out = embed_to4(&v->form, a);
	if (UNLIKELY(v->well_known) && !embed_is_global(ip4_from_raw(*out)))
		return XLAT_UNMAPPED; /* RFC 6052 section 3.1 */
	return XLAT_BY_FORM;
}

#endif
