/* ICMP messages in fragments. The checksum of ICMPv6 holds the length of the whole message, and
 * that of ICMPv4 does not, so the first fragment can be translated only when all are there (RFC
 * 7915 section 1.2 leaves it out; hosts ping with large packets all the same). Fragments of other
 * protocols pass one by one. */
#include "apps/clat/clat.h"

/* Bytes of the whole message. */
static uint32_t whole_of(const struct pkt *list)
{
	uint32_t n = 0;
	for (; list; list = list->next)
		n += list->l4_len;
	return n;
}

/* Echoes only: an error in fragments quotes more than errors do. */
static bool is_echo(const struct pkt *first, uint8_t request, uint8_t reply)
{
	uint8_t type = first->data[first->l4];
	return first->l4_len >= sizeof(struct icmp_hdr) && (type == request || type == reply);
}

/* --- to IPv4 ---------------------------------------------------------------------------------- */

/* Translates one fragment, and the message's header where it is the first; `as` has the addresses.
 */
static void send_down(struct gw *gw, struct clat *c, struct pkt *p, const struct xlat64 *as,
                      uint32_t whole)
{
	struct xlat64 x = {.from = as->from, .to = as->to};
	enum verdict v = xlat64_read_chain(gw, &c->core, p, &x);
	x.whole = whole;
	if (v == V_SEND) {
		xlat64_set_header(gw, &c->core, p, &x);
		x.ttl = ip6_header(p)->hops;
		xlat64_change_l4(&c->core, p, &x);
		v = xlat64_replace_header(gw, &c->core, p, &x);
	}
	if (v == V_SEND)
		gw_reinject(gw, p, IF_WAN, FAMILY_IP4);
	else
		pkt_free(p);
}

enum verdict clat_gather_down(struct gw *gw, struct clat *c, struct pkt *p, const struct xlat64 *x)
{
	const struct ip6_hdr *h = ip6_header(p);
	struct nat64_gather_key key = {
	        .id = be32_get(((const struct ip6_frag *)(p->data + x->l4) - 1)->id),
	        .what = PROTO_ICMP6};
	memcpy(key.from, &h->from, sizeof key.from);
	memcpy(key.to, &h->to, sizeof key.to);
	p->l4 = (uint16_t)x->l4;
	p->l4_len = (uint16_t)x->l4_len;
	struct pkt *list = nat64_gather_add(gw, &c->gathers, &key, p,
	                                    (uint32_t)(x->frag & IP4_OFFSET) * 8, x->frag & IP4_MF);
	if (list && !is_echo(list, ICMP6_ECHO, ICMP6_ECHO_REPLY)) {
		nat64_gather_discard(gw, list, DROP_ICMP_TYPE);
		return V_KEPT;
	}
	uint32_t whole = whole_of(list);
	for (struct pkt *next; list; list = next) {
		next = list->next;
		list->next = NULL;
		send_down(gw, c, list, x, whole);
	}
	return V_KEPT;
}

/* --- to IPv6 ---------------------------------------------------------------------------------- */

static void send_up(struct gw *gw, struct clat *c, struct pkt *p, const struct xlat46 *as,
                    uint32_t whole)
{
	struct xlat46 x = {.from = as->from, .to = as->to};
	enum verdict v = V_DROP;
	xlat46_set_header(&c->core, p, &x);
	x.hops = ip4_header(p)->ttl;
	x.whole = whole;
	/* The way may be another one by now. */
	if (ip6_route(gw, p, &x.to) && p->out == IF_WAN)
		v = xlat46_change_l4(gw, &c->core, p, &x);
	else
		gw_drop(gw, p, DROP_NO_ROUTE);
	if (v == V_SEND)
		v = xlat46_send(gw, &c->core, p, &x);
	if (v == V_SEND6)
		gw_send6(gw, p);
	else if (v == V_DROP)
		pkt_free(p);
}

enum verdict clat_gather_up(struct gw *gw, struct clat *c, struct pkt *p, const struct xlat46 *x)
{
	const struct ip4_hdr *h = ip4_header(p);
	uint32_t frag = be16_get(h->frag);
	const struct nat64_gather_key key = {.from = {[3] = ip4_raw(h->from)},
	                                     .to = {[3] = ip4_raw(h->to)},
	                                     .id = be16_get(h->id),
	                                     .what = PROTO_ICMP};
	struct pkt *list =
	        nat64_gather_add(gw, &c->gathers, &key, p, (frag & IP4_OFFSET) * 8, frag & IP4_MF);
	if (list && !is_echo(list, ICMP_ECHO, ICMP_ECHO_REPLY)) {
		nat64_gather_discard(gw, list, DROP_ICMP_TYPE);
		return V_KEPT;
	}
	uint32_t whole = whole_of(list);
	for (struct pkt *next; list; list = next) {
		next = list->next;
		list->next = NULL;
		send_up(gw, c, list, x, whole);
	}
	return V_KEPT;
}
