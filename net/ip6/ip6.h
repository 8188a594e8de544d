/* IPv6: parsing, routing, forwarding checks, our own packets (RFC 8200).
 *
 * A router needs only the fixed header. Extension headers are walked only to find the
 * transport header, however many there are, and a packet whose headers the walk does not
 * understand is forwarded all the same. Not implemented on purpose: reassembly (fragments
 * to the gateway itself are dropped), jumbograms (RFC 2675), hop-by-hop options of
 * forwarded packets (RFC 8200 section 4.3 leaves these to routers that need them). */
#ifndef NET_IP6_IP6_H
#define NET_IP6_IP6_H

#include "net/gw.h"
#include "net/ip6/ip6_address.h"

static inline struct ip6_hdr *ip6_header(const struct pkt *p)
{
	return (struct ip6_hdr *)p->data;
}

/* The Ethernet header of a packet as it came in; p->data must be at the IPv6 header. */
static inline const struct eth_hdr *ip6_ethernet(const struct pkt *p)
{
	return (const struct eth_hdr *)(p->data - sizeof(struct eth_hdr));
}

/* Checks version and lengths, removes link-layer padding, and walks the extension headers.
 * Sets l4, l4_len, proto and flags of p. p->data must be at the IPv6 header. Gives
 * DROP_NONE or what is wrong; ip6_malformed sends the error for it.
 *
 * proto is the first header other than hop-by-hop options, routing, fragment, AH and
 * destination options, and l4 is its offset. In a later fragment (PKT_LATER) l4 is behind
 * the fragment header, and what stands there is the middle of the payload. When a header
 * does not end within the packet, proto is that header and l4 its offset: then
 * ip6_is_extension(proto) is true without PKT_LATER, and the transport header is not in the
 * packet (RFC 7112). There is no other case. */
static inline enum drop ip6_parse(struct pkt *p) MUST_USE;

/* Longest-prefix match: sets out and hop of p, and PKT_ROUTED when out is an interface or
 * PKT_IF_SELF (an address of ours). When the route leads to the application, out is IF_APP
 * and PKT_ROUTED stays clear, so that the packet that the application makes is routed
 * again. hop is 0 when the destination itself is the next hop, else 1 + the index of the
 * route. Code that keeps a packet clears PKT_ROUTED, because routes may change in the
 * meantime. False when there is no route, or one to IF_NONE. Link-local and multicast
 * destinations are not routed. */
static inline bool ip6_route(const struct gw *gw, struct pkt *p, const ip6 *to);

/* The next hop of a packet with PKT_ROUTED. */
static inline const ip6 *ip6_hop_of(const struct gw *gw, const struct pkt *p);

/* True when the source cannot be that of a host on the interface that p came from (RFC
 * 4291, RFC 2827): its kind, one of our own addresses, or a route back that leaves by
 * another interface. A link-local source is valid on its own link. */
bool ip6_bad_source(const struct gw *gw, const struct pkt *p);

/* True when a packet came in on the network of one card and its source lies on that of another
 * card, or behind a router there. For forwarders that have IPv6 inside only and check by other
 * means whether the source is of the inside: with one inside network it is false. */
static inline bool ip6_from_elsewhere(const struct gw *gw, const struct pkt *p);
bool ip6_source_elsewhere(const struct gw *gw, const struct pkt *p); /* out of line */
static inline bool ip6_from_elsewhere(const struct gw *gw, const struct pkt *p)
{
	return UNLIKELY(gw->n_iface > IF_WAN + 1u) && ip6_source_elsewhere(gw, p);
}

/* Why packets cannot be forwarded to the destination of p: multicast, or not the address of
 * a host on another link; else DROP_NONE. */
enum drop ip6_bad_destination(const struct pkt *p);

/* Checks hop limit and size of a routed packet that will be forwarded, and sends the ICMPv6
 * error. The packet must be as it came in. Gives V_SEND6 (the hop limit is not lowered yet)
 * or V_DROP (counted). */
static inline enum verdict ip6_may_forward(struct gw *gw, struct pkt *p);

/* Takes one hop; after ip6_may_forward. */
static inline void ip6_hop(struct ip6_hdr *h)
{
	h->hops--;
}

/* Plain routing between interfaces, for an application's ip6 hook: checks source, hop limit
 * and size, and takes one hop. Gives the verdict. */
enum verdict ip6_forward(struct gw *gw, struct pkt *p);

/* The MTU towards the next hop: that of the interface that p is routed to, or that of the
 * application's tunnels. */
static inline uint32_t ip6_mtu(const struct gw *gw, const struct pkt *p)
{
	return p->out < INTERFACES ? gw->iface[p->out].mtu6 : gw->app_mtu;
}

/* Writes a header without extension headers for a packet of ours at p->data: lengths from
 * p->len, hop limit `hops`. Sets l4, l4_len and proto. */
void ip6_build(struct pkt *p, const ip6 *from, const ip6 *to, uint8_t proto, uint8_t hops);

/* Computes the checksum of the message behind the header that ip6_build wrote, and stores
 * it `at` bytes into the message (RFC 8200 section 8.1). Only with UDP a result of zero
 * becomes all ones. */
void ip6_sum(struct pkt *p, uint32_t at);

/* Sends a packet of ours in fragments of at most mtu bytes (RFC 8200 section 4.5). It has
 * no extension headers. Takes the packet. */
void ip6_fragment(struct gw *gw, struct pkt *p, uint32_t mtu);

/* Marks a packet of ours as routed to its destination on the link of an interface. */
static inline void ip6_to_link(struct pkt *p, uint32_t iface)
{
	p->out = (uint8_t)iface;
	p->hop = 0;
	p->flags |= PKT_ROUTED;
}

/* Sends a packet of ours to the multicast group in its header, on an interface (RFC 2464
 * section 7). Takes the packet. */
void ip6_send_group(struct gw *gw, uint32_t iface, struct pkt *p);

/* ip6_is_extension: true for the headers that ip6_parse walks over. ip6_extension_len: the
 * length in bytes of such a header, from its first two bytes. */
bool ip6_is_extension(uint8_t proto);
uint32_t ip6_extension_len(uint8_t proto, const struct ip6_ext *e);

/* Drops a packet that ip6_parse refused, with an ICMPv6 error when it is to the gateway
 * itself and an error is required. */
enum verdict ip6_malformed(struct gw *gw, struct pkt *p, enum drop wrong);

/* Decides about a packet whose source or destination is special (ip6_is_special), or which
 * came in a link-layer multicast: it is for the gateway itself or dropped. Gives the
 * verdict. */
enum verdict ip6_special(struct gw *gw, struct pkt *p);

/* --- inline functions -------------------------------------------------------------- */

/* True for the transport protocols of most packets. */
extern const bool ip6_is_plain[256];

/* ip6_parse for packets with extension headers, and everything that is wrong. */
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
	pkt_end(p, IP6_MIN + len); /* without link-layer padding */
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
	/* The last route matches every address (route6.h). */
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
	return route6_hop(&gw->routes6, p->hop, &ip6_header(p)->to);
}

enum verdict ip6_cannot_forward(struct gw *gw, struct pkt *p);

static inline enum verdict ip6_may_forward(struct gw *gw, struct pkt *p)
{
	if (UNLIKELY(ip6_header(p)->hops <= 1 || p->len > ip6_mtu(gw, p)))
		return ip6_cannot_forward(gw, p);
	return V_SEND6;
}

#endif
