/* IPv6: parsing, routing, forwarding checks, our own packets (RFC 8200).
 *
 * A router needs nothing of a packet but its fixed header: extension headers are
 * walked only to know the transport header, however many they are, and a chain that
 * the walk does not understand passes all the same. Left out on
 * purpose: reassembly (fragments to the gateway itself are dropped), jumbograms
 * (RFC 2675), hop-by-hop options of packets that only pass (RFC 8200 section 4.3
 * leaves that to those who have use for them). */
#ifndef NET_IP6_IP6_H
#define NET_IP6_IP6_H

#include "net/gw.h"
#include "net/ip6/ip6_address.h"

static inline struct ip6_hdr *ip6_header(const struct pkt *p)
{
	return (struct ip6_hdr *)p->data;
}

/* Checks version and lengths, cuts link padding, walks the extension headers;
 * notes l4, l4_len, proto and flags in p. data is at the IPv6 header. Gives
 * DROP_NONE or what is wrong; ip6_malformed tells the sender where that is due.
 *
 * proto is the first header that is none of hop-by-hop options, routing, fragment,
 * AH and destination options, and l4 is there. In a later fragment (PKT_LATER) l4 is
 * behind the fragment header, and what stands there is the middle of something. Where a
 * header is cut off by the end of the packet proto is that header, with l4 there: then
 * ip6_is_extension(proto) holds without PKT_LATER, and what the packet carries is not
 * in it (RFC 7112). Nothing else lies beyond what the walk saw. */
static inline enum drop ip6_parse(struct pkt *p) MUST_USE;

/* Longest-prefix match: notes out and hop in p, and PKT_ROUTED where out is a real
 * port or PKT_IF_SELF (an address of ours). Where the route leads to the
 * application out is IF_APP and PKT_ROUTED stays clear, so that the packet that
 * it makes is routed anew. hop is 0 where the destination itself is the next hop,
 * else 1 + the index of the route: who keeps a packet clears PKT_ROUTED, since the
 * routes may change meanwhile. False when there is no route, or one to nowhere.
 * Link-local and multicast destinations are not routed. */
static inline bool ip6_route(const struct gw *gw, struct pkt *p, const ip6 *to);

/* The next hop of a packet with PKT_ROUTED. */
static inline const ip6 *ip6_hop_of(const struct gw *gw, const struct pkt *p);

/* True when the source cannot be a host's on the side p came from (RFC 4291, RFC
 * 2827): its kind, one of our own addresses, or a route back that leaves by another
 * side. A link-local source is good on its own link. */
bool ip6_bad_source(const struct gw *gw, const struct pkt *p);

/* Why the destination cannot be forwarded to: DROP_NONE, multicast, or one that is
 * no address of a host elsewhere. */
enum drop ip6_bad_destination(const struct pkt *p);

/* For a routed packet that will be forwarded: hop limit and size, with the ICMPv6
 * error where one is due. The packet must be as it came. Gives V_SEND6 (hop limit
 * not yet lowered) or V_DROP (counted). */
static inline enum verdict ip6_may_forward(struct gw *gw, struct pkt *p);

/* One hop less; ip6_may_forward was asked. */
static inline void ip6_hop(struct ip6_hdr *h)
{
	h->hops--;
}

/* All of plain routing between ports for an application's ip6 hook: source, hop
 * limit, size, one hop less. Gives the verdict. */
enum verdict ip6_forward(struct gw *gw, struct pkt *p);

/* What the way on carries: the MTU of the port that p was routed to, or of the
 * application's own links. */
static inline uint32_t ip6_mtu(const struct gw *gw, const struct pkt *p)
{
	return p->out < INTERFACES ? gw->iface[p->out].mtu : gw->app_mtu;
}

/* Writes a header without extensions for a packet of ours at p->data: lengths from
 * p->len, hop limit `hops`; notes l4, l4_len and proto. */
void ip6_build(struct pkt *p, const ip6 *from, const ip6 *to, uint8_t proto, uint8_t hops);

/* The checksum of the message behind the header that ip6_build wrote, which stands
 * `at` bytes into it (RFC 8200 section 8.1). A result of zero becomes all ones with UDP, and only
 * there. */
void ip6_sum(struct pkt *p, uint32_t at);

/* Sends a packet of ours in pieces of at most mtu bytes (RFC 8200 section 4.5);
 * it has no extension headers. Takes the packet. */
void ip6_fragment(struct gw *gw, struct pkt *p, uint32_t mtu);

/* Marks a packet of ours as on its way to a neighbour on a port's link. */
static inline void ip6_to_link(struct pkt *p, uint32_t iface)
{
	p->out = (uint8_t)iface;
	p->hop = 0;
	p->flags |= PKT_ROUTED;
}

/* Sends a packet of ours to the multicast group in its header, on a port (RFC 2464
 * section 7). Takes the packet. */
void ip6_send_group(struct gw *gw, uint32_t iface, struct pkt *p);

/* True for the headers that ip6_parse walks over, and how long one is by its first two
 * bytes. */
bool ip6_is_extension(uint8_t proto);
uint32_t ip6_extension_len(uint8_t proto, const struct ip6_ext *e);

/* Drops a packet that ip6_parse refused, with an ICMPv6 error where it is ours and
 * one is due. */
enum verdict ip6_malformed(struct gw *gw, struct pkt *p, enum drop wrong);

/* A packet whose source or destination is special (ip6_is_special), or that came as
 * a link multicast: for the gateway itself or for nobody. Gives the verdict. */
enum verdict ip6_special(struct gw *gw, struct pkt *p);

/* --- bodies on the way of every packet ------------------------------------- */

/* The transport protocols of most packets. */
extern const bool ip6_is_plain[256];

/* ip6_parse for what is rarer: extension headers, and all that is wrong. */
enum drop ip6_parse_rare(struct pkt *p) MUST_USE;

static inline enum drop ip6_parse(struct pkt *p)
{
	const struct ip6_hdr *h = ip6_header(p);
	if (UNLIKELY(p->len < IP6_MIN || h->first.b[0] >> 4 != 6))
		return DROP_IP_HEADER;
	uint32_t len = be16_get(h->len);
	if (UNLIKELY(len > p->len - IP6_MIN))
		return DROP_IP_LENGTH;
	if (UNLIKELY(!ip6_is_plain[h->next]))
		return ip6_parse_rare(p);
	pkt_end(p, IP6_MIN + len); /* without the link's padding */
	p->l4 = IP6_MIN;
	p->l4_len = (uint16_t)len;
	p->proto = h->next;
	p->flags &= (uint16_t) ~(PKT_FRAGMENT | PKT_LATER | PKT_OPTIONS);
	return DROP_NONE;
}

static inline bool ip6_route(const struct gw *gw, struct pkt *p, const ip6 *to)
{
	uint32_t a = ip6_word(to, 0), b = ip6_word(to, 1), d = ip6_word(to, 3);
	const struct route6 *r = gw->routes6.entry;
	/* The last one is good for every address (gw.h). */
	while ((a & r->mask[0]) != r->net[0] || (b & r->mask[1]) != r->net[1] ||
	       (UNLIKELY(r->len > 64) &&
	        ((ip6_word(to, 2) & r->mask[2]) != r->net[2] || (d & r->mask[3]) != r->net[3])))
		r++;
	p->out = r->iface;
	p->hop = r->hop;
	p->flags |= r->routed;
	if (UNLIKELY((d == r->own[3] || d == 0) && route6_own(r, to)))
		p->out = PKT_IF_SELF;
	return LIKELY(r->iface != IF_NONE);
}

static inline const ip6 *ip6_hop_of(const struct gw *gw, const struct pkt *p)
{
	return LIKELY(p->hop == 0) ? &ip6_header(p)->to : &gw->routes6.entry[p->hop - 1].via;
}

enum verdict ip6_cannot_forward(struct gw *gw, struct pkt *p);

static inline enum verdict ip6_may_forward(struct gw *gw, struct pkt *p)
{
	if (UNLIKELY(ip6_header(p)->hops <= 1 || p->len > ip6_mtu(gw, p)))
		return ip6_cannot_forward(gw, p);
	return V_SEND6;
}

#endif
