/* What the files of the slow path share (xlat46.c, xlat64.c, xlat46_error.c,
 * xlat64_error.c, xlat_icmp.c): the new header of a packet while it is translated, and
 * the steps of both directions. */
#ifndef APPS_TRANSLATE_XLAT_PACKET_H
#define APPS_TRANSLATE_XLAT_PACKET_H

#include "apps/translate/xlat.h"
#include "net/lib/csum.h"

/* The IPv6 header that will replace the IPv4 header. */
struct xlat46 {
	ip6 from, to;
	uint32_t id;     /* of the fragment header, host order */
	uint16_t offset; /* offset and M bit of the fragment header, host order, in their places */
	uint16_t delta;  /* change of a checksum by the addresses (csum.h), and by ports */
	uint32_t whole;  /* bytes of the whole message, of which a fragment is a part */
	uint8_t tc, hops, next;
	bool fragment;   /* there is a fragment header */
	bool hairpinned; /* second half of hairpinning (RFC 7757 section 4.2.2) */
};

/* The IPv4 header that will replace the IPv6 header, and where the payload is. */
struct xlat64 {
	uint32_t from, to; /* raw */
	uint32_t l4, l4_len;
	uint32_t whole; /* as in struct xlat46 */
	uint16_t delta; /* as in struct xlat46 */
	uint16_t id;    /* host order */
	uint16_t frag;  /* flags and offset, host order */
	uint16_t set;   /* number of the port set in the source */
	uint8_t tos, ttl, proto;
	bool fragment; /* the packet has a fragment header */
	bool foreign;  /* an ICMP error whose source has no IPv4 address */
	bool hairpin;  /* the packet is for the IPv6 side, with … */
	ip6 back;      /* … this destination */
};

/* The extension headers of an IPv6 packet that RFC 7915 section 5.1 skips. */
struct xlat64_chain {
	uint32_t l4;     /* offset of the first byte behind them */
	uint32_t at;     /* CHAIN_ROUTED: offset of the field "segments left" */
	uint32_t id;     /* of the fragment header */
	uint16_t offset; /* offset and M bit of the fragment header, host order */
	uint8_t proto;   /* of what stands at l4 */
	bool fragment;   /* there is a fragment header */
};
enum xlat_chain_end {
	CHAIN_GOOD,
	CHAIN_SHORT,  /* a header does not end within the packet */
	CHAIN_ROUTED, /* a routing header with segments left */
	CHAIN_HIDDEN, /* an extension header behind the fragment header */
};

/* Reads the extension headers of an IPv6 packet of len bytes, of which the IPv6 header is
 * there. With CHAIN_HIDDEN c->proto is the hidden header. */
enum xlat_chain_end xlat64_chain(const uint8_t *packet, uint32_t len, struct xlat64_chain *c);

/* The change of a checksum when the IPv4 addresses (raw) are replaced by the IPv6
 * addresses (csum.h). Its complement is the change in the other direction. */
static inline uint16_t xlat_delta46(const ip6 *from6, const ip6 *to6, uint32_t from4, uint32_t to4)
{
	uint32_t s = csum_add32(~from4, ~to4);
	for (unsigned i = 0; i < 4; i++)
		s = csum_add32(csum_add32(s, ip6_word(from6, i)), ip6_word(to6, i));
	return csum_fold(s);
}

/* The sum of the pseudo header, which ICMPv6 has and ICMPv4 has not (RFC 8200 section
 * 8.1); len is that of the ICMPv6 message, in host order. */
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

/* The TOS octet or traffic class of the translated packet, from that of the packet that
 * came in (ivi.tos): the lower eight bits of `is`. */
static inline uint32_t xlat_tos(const struct xlat_core *c, uint32_t is)
{
	return (is & c->tos_mask) | c->tos_set;
}

/* Writes the headers of x for n bytes of payload at `at`: 40 bytes, or 48 with a fragment
 * header. */
void xlat46_put(uint8_t *at, const struct xlat46 *x, uint32_t n);

/* Writes an IPv4 header (20 bytes) for n bytes of payload at `at`. */
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

/* Flags of an IPv4 packet of len bytes that was an IPv6 packet without fragment header
 * (RFC 7915 section 5.1). */
static inline uint16_t xlat_df(uint32_t len)
{
	return len <= 1260 ? 0 : IP4_DF;
}

/* A forwarder's `partial` (net/forwarder.h) for packets whose segments all have DF, or none. */
typedef bool xlat_pass_partial(struct gw *gw, uint32_t iface, struct pkt *p);

/* `partial` of a forwarder that makes IPv4 packets of the IPv6 packets from an interface. Segments
 * are translated one by one by RFC 7915 section 5.1, so where the last one alone gets no DF, it is
 * passed on alone, behind the others. */
bool xlat_partial64(struct gw *gw, uint32_t iface, struct pkt *p, xlat_pass_partial *pass);

/* The checksum of an ICMPv4 message of n bytes after a change by `delta`. A result of
 * zero becomes all ones only when every other byte is zero. */
be16 xlat64_icmp4_sum(const uint8_t *icmp, uint32_t n, uint32_t delta);

/* --- the steps of a translation, for those who find out the addresses themselves ------------ */

/* Reads the extension headers of an IPv6 packet, which ip6_parse has seen, into x: l4, l4_len,
 * whole, proto, fragment, id, frag. Gives V_SEND, or refuses the packet (RFC 7915 section 5.1). */
enum verdict xlat64_read_chain(struct gw *gw, struct xlat_core *core, struct pkt *p,
                               struct xlat64 *x);

/* Whether a routed packet may be forwarded: its time to live and its size behind the translation.
 * `error` is true for an ICMP error, which is never too large. Give V_SEND, or V_DROP with the
 * ICMP error sent. xlat46_set_header was called. */
enum verdict xlat46_may_forward(struct gw *gw, struct pkt *p, const struct xlat46 *x, bool error);
enum verdict xlat64_may_forward(struct gw *gw, struct pkt *p, const struct xlat64 *x, bool error);

/* Set the fields of x that follow from the header of the packet that came in; not addresses and
 * delta. xlat64_set_header needs x->to for the identification, and does not count the hop for a
 * packet that the gateway made. */
void xlat46_set_header(const struct xlat_core *c, const struct pkt *p, struct xlat46 *x);
void xlat64_set_header(struct gw *gw, const struct xlat_core *c, const struct pkt *p,
                       struct xlat64 *x);

/* Check whether the transport header can be translated; change nothing. Give V_SEND, or refuse the
 * packet. */
enum verdict xlat46_check_l4(struct gw *gw, const struct xlat_core *c, struct pkt *p);
enum verdict xlat64_check_l4(struct gw *gw, const struct xlat_core *c, struct pkt *p,
                             const struct xlat64 *x);

/* Translate the transport header, whose ports are translated already. Later fragments have none; a
 * header that is not complete stays unchanged. xlat46_change_l4 gives V_SEND, or refuses a UDP
 * packet without checksum (RFC 7915 section 4.5). */
enum verdict xlat46_change_l4(struct gw *gw, struct xlat_core *c, struct pkt *p,
                              const struct xlat46 *x);
void xlat64_change_l4(const struct xlat_core *c, struct pkt *p, const struct xlat64 *x);

/* Replace the IP header by that of x. Give V_SEND6 and V_SEND, or V_DROP. */
enum verdict xlat46_replace_header(struct gw *gw, struct xlat_core *c, struct pkt *p,
                                   const struct xlat46 *x);
enum verdict xlat64_replace_header(struct gw *gw, struct xlat_core *c, struct pkt *p,
                                   struct xlat64 *x);

/* Replaces the header as xlat46_replace_header does, in fragments when the packet is too large and
 * may be split. Gives V_SEND6, V_KEPT or V_DROP. */
enum verdict xlat46_send(struct gw *gw, struct xlat_core *c, struct pkt *p, struct xlat46 *x);

/* Second half of hairpinning: translates an IPv4 packet that xlat64 made back into an IPv6
 * packet. The fields of p still describe the packet that came in; they are set again from
 * `first`. Gives the verdict. */
enum verdict xlat46_hairpin(struct gw *gw, struct translator *v, struct pkt *p,
                            const struct xlat64 *first);

/* --- ICMP ---------------------------------------------------------------------------- */

/* An ICMP type and code with its second word (host order), of either protocol. */
struct xlat_icmp {
	uint8_t type, code;
	uint32_t rest;
};

/* What the MTU of an error depends on besides its own value. */
struct xlat_mtu {
	uint32_t mtu4, mtu6; /* of the next hops */
	uint32_t quoted;     /* total length of the quoted IPv4 packet */
	uint32_t more;       /* bytes of fragment header in the quoted IPv6 packet */
};

/* True for ICMPv4 messages that quote a packet. */
static inline bool xlat_is_error4(uint8_t type)
{
	return type == ICMP_UNREACHABLE || type == ICMP_QUENCH || type == ICMP_REDIRECT ||
	       type == ICMP_TIME_EXCEEDED || type == ICMP_PARAMETER;
}

/* True for ICMPv6 messages that quote a packet. */
static inline bool xlat_is_error6(uint8_t type)
{
	return type < ICMP6_INFORMATION;
}

/* Translate an error's type, code and second word, without the length attribute; false
 * where RFC 7915 says "silently drop". */
bool xlat_icmp_to6(struct xlat_icmp *x, const struct xlat_mtu *mtu);
bool xlat_icmp_to4(struct xlat_icmp *x, const struct xlat_mtu *mtu);

/* The packet that an ICMPv4 error quotes. */
struct xlat46_quote {
	const struct ip4_hdr *ip;
	uint8_t *l4;   /* behind its header */
	uint32_t data; /* bytes from l4 on */
	uint8_t *ext;  /* the extensions */
	uint32_t n_ext;
	uint32_t len; /* of the whole packet as its header says */
	uint32_t hlen;
	uint32_t frag;
	bool first; /* a transport header is there: it is not a later fragment */
};

/* The packet that an ICMPv6 error quotes. */
struct xlat64_quote {
	const struct ip6_hdr *ip;
	struct xlat64_chain chain;
	uint8_t *l4;   /* behind its headers */
	uint32_t data; /* bytes from l4 on */
	uint8_t *ext;  /* the extensions */
	uint32_t n_ext;
	uint32_t payload; /* bytes behind the headers of the whole packet */
	bool first;       /* a transport header is there: it is not a later fragment */
};

/* Read an ICMP error: check its length and checksum, translate its type (*to), and read the packet
 * that it quotes. Nothing is changed. x is complete but for delta. Give V_SEND or V_DROP. */
enum verdict xlat46_read_error(struct gw *gw, const struct xlat_core *c, struct pkt *p,
                               const struct xlat46 *x, struct xlat46_quote *q,
                               struct xlat_icmp *to);
enum verdict xlat64_read_error(struct gw *gw, const struct xlat_core *c, struct pkt *p,
                               const struct xlat64 *x, struct xlat64_quote *q,
                               struct xlat_icmp *to);

/* Write the translated error. The quoted packet's addresses are in inner->from and inner->to, and
 * its ports are translated already. x is complete but for delta. xlat46_write_error gives V_SEND6
 * or V_DROP; xlat64_write_error V_SEND or V_DROP. */
enum verdict xlat46_write_error(struct gw *gw, struct xlat_core *c, struct pkt *p,
                                const struct xlat46_quote *q, struct xlat46 *x,
                                struct xlat46 *inner, const struct xlat_icmp *to);
enum verdict xlat64_write_error(struct gw *gw, struct xlat_core *c, struct pkt *p,
                                const struct xlat64_quote *q, struct xlat64 *x,
                                struct xlat64 *inner, const struct xlat_icmp *to);

/* Looks at the packet that an ICMPv6 error quotes, before the error is routed: whether it
 * can be translated, and whether the error is for the IPv6 side (x->hairpin; RFC 7757
 * section 4.2.2, conditions B). Gives V_SEND or V_DROP. */
enum verdict xlat64_quote(struct gw *gw, struct translator *v, struct pkt *p, struct xlat64 *x);

/* Translate an ICMP error and the packet that it quotes. x is complete but for delta; the
 * packet is routed and otherwise still as it came in. Give the verdict. */
enum verdict xlat46_error(struct gw *gw, struct translator *v, struct pkt *p, struct xlat46 *x);
enum verdict xlat64_error(struct gw *gw, struct translator *v, struct pkt *p, struct xlat64 *x);

/* The port (host order) that selects one of the hosts that share an address, from n bytes
 * of transport header at l4 of an IPv4 packet: the source's port, or else the
 * destination's. XLAT_NO_PORT for protocols without ports (RFC 7599 section 9). */
uint32_t xlat46_port(const uint8_t *l4, uint32_t n, uint8_t proto, bool source);

/* As xlat46_port, for the transport header of an IPv6 packet. */
uint32_t xlat64_port(const uint8_t *l4, uint32_t n, uint8_t proto, bool source);

/* The port (host order) of the IPv6 host that an ICMP error of n bytes is about, read from
 * the quoted packet: its source port in an ICMPv4 error, which goes to that host, and its
 * destination port in an ICMPv6 error, which comes from that host. */
uint32_t xlat46_quoted_port(const uint8_t *icmp, uint32_t n);
uint32_t xlat64_quoted_port(const uint8_t *icmp, uint32_t n);

/* The parts of an ICMP error behind its first 8 bytes (RFC 4884), in their order: the
 * quoted header after translation, the quoted data, padding, extensions. */
struct xlat_parts {
	uint32_t head; /* bytes of quoted header after translation */
	uint32_t data; /* bytes of the quoted packet behind that */
	uint32_t pad;  /* zeros behind the data */
	uint32_t ext;  /* bytes of extension structure */
};

/* Makes the parts fit into `room` bytes. The first 128 bytes of the quoted packet come
 * before the extensions, and the extensions before the rest of the quoted packet; the
 * extensions stay whole or are dropped. `unit` is the unit of the length attribute in
 * bytes; 0 when the message has none. */
void xlat_fit(struct xlat_parts *x, uint32_t room, uint32_t unit);

/* Moves the parts behind the header of an error to their places and shortens or extends p.
 * `data` is where the quoted data stand, `ext` where the extensions stand, `front` the
 * number of bytes to make room for in front of the data. False when there is no room. */
bool xlat_arrange(struct pkt *p, const struct xlat_parts *x, uint8_t *data, const uint8_t *ext,
                  uint32_t front);

#endif
