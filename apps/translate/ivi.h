/* What the files of the application `ivi` share: stateless translation between
 * IPv4 (WAN) and IPv6 (LAN), RFC 7915, with the addresses of embed.h.
 *
 *   ivi.c         start, what is for whom, listings
 *   ivi_addr.c    addresses of a packet and the refusals they cause
 *   xlat_known.c  packets between hosts that are known, by far the most
 *   xlat46.c      IPv4 packets into IPv6 packets
 *   xlat64.c      IPv6 packets into IPv4 packets
 *   xlat_icmp.c   ICMP: types, codes, MTUs, errors with the packet they quote */
#ifndef APPS_TRANSLATE_IVI_H
#define APPS_TRANSLATE_IVI_H

#include "apps/translate/ivi_keys.h"
#include "net/gw.h"
#include "net/ip4/ip4.h"
#include "net/ip6/ip6.h"

/* IPv4 addresses that stand for IPv6 hosts; raw. */
struct ivi_net {
	uint32_t net, mask;
	uint8_t len;
	bool native_inside; /* an own address or a longer route of the WAN side is in it */
};

#define IVI_NETS  (IVI_IPV4 + IVI_SHARES)
#define IVI_NEVER (3u * INTERFACES * GW_ADDRESSES)

/* Parts of the whole way, and all of the short one (xlat_known.h). */
enum ivi_row { IVI_ADDRESS, IVI_HEADER, IVI_TCP, IVI_UDP, IVI_ICMP, IVI_KNOWN, IVI_ROWS };

/* What of the next packet is timed. */
enum ivi_due { IVI_NOTHING, IVI_PARTS, IVI_ALL };
enum { IVI_46, IVI_64 };

/* Cycles of one inner operation. */
struct ivi_timing {
	uint64_t count, sum;
	uint32_t max;
};

struct xlat_pairs;

struct ivi {
	struct embed_form form;
	bool has_form;
	bool well_known; /* the prefix is 64:ff9b::/96 */
	bool plain;      /* has_form, no shares, any IPv4 address may stand behind it */
	bool errors;
	bool compute_zero;
	bool icmp_interface;
	uint16_t mss;              /* largest MSS; 0: any */
	uint8_t tos_mask, tos_set; /* of the other side's octet, and in its place */
	uint32_t limit46;          /* bytes of IPv6 packet that an IPv4 packet without DF becomes */
	uint32_t largest[2];       /* payload of a packet that needs no look at its size … */
	uint32_t most[2];          /* … the same, or 0 while the next packet is to be timed */
	uint32_t whole46;          /* payload that fits the IPv6 link where DF forbids to split */
	uint32_t n_nets, n_shares, n_never, n_icmp4, n_icmp6;
	struct ivi_net net[IVI_NETS];
	struct embed_share share[IVI_SHARES];
	uint32_t never[IVI_NEVER]; /* no host's: own addresses and the WAN's broadcasts; raw */
	ip4 icmp4[IVI_SOURCES];    /* RFC 6791 */
	ip6 icmp6[IVI_SOURCES];
	/* What is known of each mapping, by its index. */
	bool map_is6[EMBED_MAPS];              /* it names IPv6 hosts, surely */
	bool map_is4[EMBED_MAPS];              /* it names IPv4 hosts, surely */
	bool map_native[EMBED_MAPS];           /* as native_inside */
	uint64_t translated[2];                /* packets, by direction */
	uint64_t no_checksum_us, extension_us; /* last words about these in the log */
	uint64_t sample_us;                    /* when the next packet is to be timed */
	enum ivi_due due[2];                   /* by direction */
	uint32_t idle_cycles;                  /* what reading the counter twice costs */
	struct ivi_timing timing[2][IVI_ROWS];
	struct embed_table maps;
	struct xlat_pairs *pairs;
};

/* How an address was mapped. */
enum ivi_way { IVI_NO_WAY, IVI_BY_FORM, IVI_BY_MAP };

/* Refuses a packet as it came, with the ICMP error that section 4.4 or 5.4 of RFC
 * 7915 asks for (3/13, 1/1) where it is to be sent at all. Both give V_DROP. */
enum verdict ivi_refuse4(struct gw *gw, struct pkt *p, enum drop reason);
enum verdict ivi_refuse6(struct gw *gw, struct pkt *p, enum drop reason);

/* The same with another code. */
enum verdict ivi_refuse4_as(struct gw *gw, struct pkt *p, enum drop reason, uint8_t code);
enum verdict ivi_refuse6_as(struct gw *gw, struct pkt *p, enum drop reason, uint8_t code);

/* --- addresses (ivi_addr.c) ------------------------------------------------------- */

/* The IPv6 address of an IPv4 address, raw: by the longest mapping, else by the
 * form. `port` (host order) chooses among the hosts that share the address; IVI_NO_PORT
 * where there is none. */
#define IVI_NO_PORT 0x10000u
static inline enum ivi_way ivi_to6(const struct ivi *v, uint32_t a, uint32_t port, ip6 *out);

/* The same by the form only (RFC 7757 section 4.2.1). */
enum ivi_way ivi_form_to6(const struct ivi *v, uint32_t a, uint32_t port, ip6 *out);

/* The IPv4 address, raw, of an IPv6 address. */
static inline enum ivi_way ivi_to4(const struct ivi *v, const ip6 *a, uint32_t *out);

/* The net of IPv6 hosts that an IPv4 address lies in, NULL when in none. */
static inline const struct ivi_net *ivi_net_of(const struct ivi *v, uint32_t a);

/* How its hosts share an IPv4 address, NULL when they do not. */
static inline const struct embed_share *ivi_share_of(const struct ivi *v, uint32_t a);

/* True for an IPv4 address, raw, of ours or of a router, or one with a native route
 * longer than `len`: no IPv6 host's, whatever prefix of that length it lies in. */
bool ivi_is_native4(const struct gw *gw, uint32_t a, uint8_t len);

/* True when an IPv4 address stands for an IPv6 host by ivi.ipv4 or ivi.share; raw. */
static inline bool ivi_is_host6(const struct gw *gw, const struct ivi *v, uint32_t a);

/* True for an IPv4 address that no packet on its way has: also link-local (RFC 3927
 * section 7). */
static inline bool ivi_no_host(ip4 a)
{
	return ip4_no_host(a) || (a.b[0] == 169 && a.b[1] == 254);
}

/* True when an IPv4 address is our own or a broadcast address of ours; raw. */
bool ivi_is_never(const struct ivi *v, uint32_t a);

/* The address for ICMP errors whose source has no mapping (RFC 6791). */
ip4 ivi_icmp_source4(struct gw *gw, const struct ivi *v, ip4 to);
ip6 ivi_icmp_source6(struct gw *gw, const struct ivi *v, const ip6 *to);

/* A packet for hosts that share an address: finds the port that chooses among them,
 * in fragments that of the first, and translates it. */
enum verdict ivi_shared(struct gw *gw, struct ivi *v, struct pkt *p);

/* --- timings (ivi_show.c) --------------------------------------------------------- */

/* Now and then a packet of each direction is timed. Others pay nothing for that: while
 * one is due, the short way takes no packet. */
#define IVI_SAMPLE_US 20000u /* on average */

/* Measures what the clock itself costs; called once. */
void ivi_set_clock(struct gw *gw, struct ivi *v);

/* Says of which packets it is time; from the application's tick. */
bool ivi_tick(struct gw *gw);

/* Says what of the next packet that goes that way is to be timed. */
void ivi_set_due(struct ivi *v, unsigned way, enum ivi_due due);

/* Notes the cycles of an operation. */
void ivi_note(struct ivi *v, uint32_t cycles, unsigned way, enum ivi_row row);

extern const struct count_table ivi_counts;
bool ivi_show(struct gw *gw, enum app_show what, uint32_t *cursor, char *buf, size_t size);

ALWAYS_INLINE uint32_t ivi_clock(const struct gw *gw, bool timed)
{
	return timed ? gw->cycles() : 0;
}

ALWAYS_INLINE void ivi_lap(struct gw *gw, struct ivi *v, bool timed, uint32_t from, unsigned way,
                           enum ivi_row row)
{
	if (timed)
		ivi_note(v, gw->cycles() - from, way, row);
}

/* --- the two directions ---------------------------------------------------------- */

/* An IPv4 packet of the WAN whose destination is an IPv6 host: by mapping m, or by
 * the form; `port` then chooses among hosts that share the address. */
enum verdict xlat46(struct gw *gw, struct ivi *v, struct pkt *p, const struct embed_map *m,
                    uint32_t port);

/* An IPv6 packet whose route leads to the translation. */
enum verdict xlat64(struct gw *gw, struct ivi *v, struct pkt *p);

/* --- ICMP (xlat_icmp.c) ------------------------------------------------------------- */

/* An ICMP type and code with its second word (host order) on either side. */
struct xlat_icmp {
	uint8_t type, code;
	uint32_t rest;
};

/* What of an error's MTU is known besides its own: next hops, and how large the
 * packet was. */
struct xlat_mtu {
	uint32_t mtu4, mtu6;
	uint32_t quoted; /* total length of the quoted IPv4 packet */
	uint32_t more;   /* bytes of fragment header in the quoted IPv6 packet */
};

/* True for ICMP messages that quote a packet. */
static inline bool xlat_is_error4(uint8_t type);
static inline bool xlat_is_error6(uint8_t type);

/* Translate an error's type, code and second word, without length attribute; false
 * where RFC 7915 says "silently drop". */
bool xlat_icmp_to6(struct xlat_icmp *x, const struct xlat_mtu *mtu);
bool xlat_icmp_to4(struct xlat_icmp *x, const struct xlat_mtu *mtu);

/* --- bodies --------------------------------------------------------------------------- */

static inline bool xlat_is_error4(uint8_t type)
{
	return type == ICMP_UNREACHABLE || type == ICMP_QUENCH || type == ICMP_REDIRECT ||
	       type == ICMP_TIME_EXCEEDED || type == ICMP_PARAMETER;
}

static inline bool xlat_is_error6(uint8_t type)
{
	return type < ICMP6_INFORMATION;
}

static inline const struct ivi_net *ivi_net_of(const struct ivi *v, uint32_t a)
{
	const struct ivi_net *n = v->net, *end = n + v->n_nets;
	for (; n < end; n++)
		if ((a & n->mask) == n->net)
			return n;
	return NULL;
}

static inline bool ivi_is_host6(const struct gw *gw, const struct ivi *v, uint32_t a)
{
	const struct ivi_net *n = ivi_net_of(v, a);
	return n && !(UNLIKELY(n->native_inside) && ivi_is_native4(gw, a, n->len));
}

static inline const struct embed_share *ivi_share_of(const struct ivi *v, uint32_t a)
{
	const struct embed_share *s = v->share, *end = s + v->n_shares;
	for (; s < end; s++)
		if ((a & s->mask) == s->net)
			return s;
	return NULL;
}

static inline enum ivi_way ivi_to6(const struct ivi *v, uint32_t a, uint32_t port, ip6 *out)
{
	const struct embed_map *m = embed_find4(&v->maps, a);
	if (UNLIKELY(m != NULL)) {
		embed_map_to6(m, a, out);
		return IVI_BY_MAP;
	}
	if (UNLIKELY(!v->plain))
		return ivi_form_to6(v, a, port, out);
	embed_to6(&v->form, a, out);
	return IVI_BY_FORM;
}

static inline enum ivi_way ivi_to4(const struct ivi *v, const ip6 *a, uint32_t *out)
{
	const struct embed_map *m = embed_find6(&v->maps, a);
	if (UNLIKELY(m != NULL)) {
		*out = embed_map_to4(m, a);
		return IVI_BY_MAP;
	}
	if (!v->has_form || !embed_has(&v->form, a))
		return IVI_NO_WAY;
	*out = embed_to4(&v->form, a);
	if (UNLIKELY(v->well_known) && !embed_is_global(ip4_from_raw(*out)))
		return IVI_NO_WAY; /* RFC 6052 section 3.1 */
	return IVI_BY_FORM;
}

#endif
