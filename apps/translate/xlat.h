/* Between the files of the translation (xlat46.c, xlat64.c, xlat_icmp_to6.c,
 * xlat_icmp_to4.c, xlat_icmp.c): what is known of a packet while its header is
 * changed, and the steps that both directions share. */
#ifndef APPS_TRANSLATE_XLAT_H
#define APPS_TRANSLATE_XLAT_H

#include "apps/translate/ivi.h"
#include "net/csum.h"

/* What the IPv6 header will be. */
struct xlat46 {
	ip6 from, to;
	uint32_t id;     /* of the fragment header, host order */
	uint16_t offset; /* its offset and M bit, host order as it stands there */
	uint16_t delta;  /* what the addresses change in a sum */
	uint8_t tc, hops, next;
	bool fragment; /* there is a fragment header */
	bool turned;   /* second half of hairpinning (RFC 7757 section 4.2.2) */
};

/* What the IPv4 header will be, and where the rest of the packet is. */
struct xlat64 {
	uint32_t from, to; /* raw */
	uint32_t l4, l4_len;
	uint16_t delta;
	uint16_t id;   /* host order */
	uint16_t frag; /* flags and offset, host order */
	uint16_t set;  /* number of the port set in the source */
	uint8_t tos, ttl, proto;
	bool fragment; /* the packet has a fragment header */
	bool stranger; /* an error whose source has no IPv4 address */
	bool hairpin;  /* it goes back to the IPv6 side … */
	ip6 back;      /* … to there */
};

/* The extension headers of an IPv6 packet, as far as RFC 7915 section 5.1 skips
 * them. */
struct xlat64_chain {
	uint32_t l4; /* offset of what is behind them */
	uint32_t at; /* of what is wrong: the segments left */
	uint32_t id; /* of the fragment header */
	uint16_t offset;
	uint8_t proto;
	bool fragment; /* there is a fragment header */
};
enum xlat_chain_end {
	CHAIN_GOOD,
	CHAIN_SHORT,  /* it does not end within the packet */
	CHAIN_ROUTED, /* a routing header with segments left */
	CHAIN_HIDDEN, /* an extension header behind the fragment header */
};
enum xlat_chain_end xlat64_chain(const uint8_t *packet, uint32_t len, struct xlat64_chain *c);

/* What two address pairs differ by, for a sum (csum.h). */
static inline uint16_t xlat_delta46(const ip6 *from6, const ip6 *to6, uint32_t from4, uint32_t to4)
{
	uint32_t s = csum_add32(~from4, ~to4);
	for (unsigned i = 0; i < 4; i++)
		s = csum_add32(csum_add32(s, ip6_word(from6, i)), ip6_word(to6, i));
	return csum_fold(s);
}

/* What the pseudo header that only ICMPv6 has adds to a sum (RFC 8200 section 8.1). */
static inline uint16_t xlat_pseudo(const ip6 *from, const ip6 *to, uint32_t len)
{
	uint32_t s = swap16((uint16_t)len);
	s += swap16(PROTO_ICMP6);
	for (unsigned i = 0; i < 4; i++)
		s = csum_add32(csum_add32(s, ip6_word(from, i)), ip6_word(to, i));
	return csum_fold(s);
}

/* Type and code as the 16-bit word in which they stand. */
static inline uint16_t xlat_word(uint8_t type, uint8_t code)
{
	return (uint16_t)(type | code << 8);
}

static inline uint8_t xlat_tos(const struct ivi *v, uint8_t is)
{
	return (is & v->tos_mask) | v->tos_set;
}

/* Writes the headers of x in front of n bytes of payload at `at`. */
void xlat46_put(uint8_t *at, const struct xlat46 *x, uint32_t n);

/* Writes an IPv4 header for n bytes of payload at `at`. */
static inline void xlat_put4(uint8_t *at, const struct xlat64 *x, uint32_t n)
{
	struct ip4_hdr *h = (struct ip4_hdr *)at;
	h->version_ihl = 0x45;
	h->tos = x->tos;
	h->len = be16_of((uint16_t)(IP4_MIN + n));
	h->id = be16_of(x->id);
	h->frag = be16_of(x->frag);
	h->ttl = x->ttl;
	h->proto = x->proto;
	h->sum = be16_of(0);
	h->from = ip4_from_raw(x->from);
	h->to = ip4_from_raw(x->to);
	h->sum = be16_from_raw((uint16_t)~csum_ip4_header(h));
}

/* Notes what was found out about the addresses of a packet that was translated and
 * routed; for packets whose way depends on nothing else. (xlat_known.h) */
void ivi_note46(struct ivi *v, const struct pkt *p, uint32_t from, uint32_t to,
                const struct xlat46 *x);
void ivi_note64(struct ivi *v, const struct pkt *p, const ip6 *from, const ip6 *to,
                const struct xlat64 *x);

/* Flags of an IPv4 packet that was an IPv6 packet without fragment header (RFC 7915
 * section 5.1). */
static inline uint16_t xlat_df(uint32_t len)
{
	return len <= 1260 ? 0 : IP4_DF;
}

/* The checksum of an ICMPv4 message after a change by `delta`: where it comes out as
 * zero it is all ones only if all the rest is zero. */
be16 xlat64_icmp4_sum(const uint8_t *icmp, uint32_t n, uint32_t delta);

/* Turns a packet that xlat64 has made an IPv4 packet of into an IPv6 packet again: the
 * second half of hairpinning. What p notes is of the packet that came in; it is noted
 * anew from `first`. Gives the verdict. */
enum verdict xlat46_turn(struct gw *gw, struct ivi *v, struct pkt *p, const struct xlat64 *first);

/* What the packet that an ICMPv6 error quotes has to say before the error is routed:
 * whether it can be translated, and whether the error goes back to the IPv6 side (RFC
 * 7757 section 4.2.2, conditions B). Gives V_SEND or V_DROP. */
enum verdict xlat64_quote(struct gw *gw, struct ivi *v, struct pkt *p, struct xlat64 *x);

/* An ICMP error with the packet it quotes. x is done but for delta; the packet is
 * routed and still as it came. Gives the verdict. */
enum verdict xlat46_error(struct gw *gw, struct ivi *v, struct pkt *p, struct xlat46 *x);
enum verdict xlat64_error(struct gw *gw, struct ivi *v, struct pkt *p, struct xlat64 *x);

/* The port by which a host of a shared address is chosen, from n bytes of transport
 * header at l4 of an IPv4 packet: the destination's, or the source's. IVI_NO_PORT
 * for protocols without ports (RFC 7599 section 9). */
uint32_t xlat46_port(const uint8_t *l4, uint32_t n, uint8_t proto, bool source);

/* The same in an IPv6 packet. */
uint32_t xlat64_port(const uint8_t *l4, uint32_t n, uint8_t proto, bool source);

/* The port of the host that an ICMP error of n bytes concerns, in the packet that it
 * quotes: an ICMPv4 error is for its source, an ICMPv6 error from its destination. */
uint32_t xlat46_quoted_port(const uint8_t *icmp, uint32_t n);
uint32_t xlat64_quoted_port(const uint8_t *icmp, uint32_t n);

/* The parts of an ICMP error behind its 8 bytes (RFC 4884): the quoted packet's
 * header as it will be, what follows it, zeros, extensions. */
struct xlat_parts {
	uint32_t head; /* bytes of quoted header after translation */
	uint32_t data; /* bytes that follow it */
	uint32_t pad;  /* zeros behind these */
	uint32_t ext;  /* bytes of extension structure */
};

/* Makes the parts fit into `room` bytes: the first 128 bytes of the quoted packet
 * before the extensions, these before the rest of the quoted packet; the extensions
 * whole or not at all. `unit` is that of the length attribute; 0 where the message
 * has none. */
void xlat_fit(struct xlat_parts *x, uint32_t room, uint32_t unit);

/* Moves the parts behind the header of an error to where they belong and cuts or
 * extends p: `data` is where the quoted packet's payload stands, `ext` where the
 * extensions do, `front` how many bytes go before the payload. False when there is
 * no room. */
bool xlat_arrange(struct pkt *p, const struct xlat_parts *x, uint8_t *data, const uint8_t *ext,
                  uint32_t front);

#endif
