/* See udp_path.h. */
#include "net/udp/udp_path.h"

#include "net/lib/csum.h"
#include "net/gw_address.h"
#include "net/ip4/ip4.h"
#include "net/ip6/ip6.h"

/* --- finding ---------------------------------------------------------------------------- */

/* Find next hop and interface towards the remote end. Its address must be a valid source
 * too, because datagrams come back from it. False when there is no path. */
static bool find4(struct gw *gw, struct udp_path *w)
{
	ip4 to = w->remote.v4;
	const struct route4 *r = route4_for(&gw->routes4, to);
	if (!r || r->iface >= INTERFACES || ip4_no_host(to) || route4_claimed(&gw->routes4, to) ||
	    gw_is_own(gw, to) || interface_is_broadcast4(&gw->iface[r->iface], to) ||
	    !gw_is_own(gw, w->local.v4))
		return false;
	w->next = neigh_no_hint(&gw->neigh, r->via ? r->via : ip4_raw(to));
	w->iface = r->iface;
	w->sum = csum_pseudo4(w->local.v4, to, PROTO_UDP, 0);
	w->head = IP4_MIN;
	w->ip4 = (struct ip4_hdr){.version_ihl = 0x45,
	                          .ttl = IP4_TTL,
	                          .proto = PROTO_UDP,
	                          .from = w->local.v4,
	                          .to = to};
	w->sum4 = csum_ip4_header(&w->ip4);
	return true;
}

static bool find6(struct gw *gw, struct udp_path *w)
{
	const ip6 *to = &w->remote.v6, *own = &w->local.v6;
	const struct route6 *r = route6_for(&gw->routes6, to);
	if (!r || r->iface >= INTERFACES || ip6_is_special(to) || ip6_is_special(own) ||
	    gw_address6(gw, r->iface, to) || !gw_is_own6(gw, r->iface, own))
		return false;
	w->next = neigh_no_hint(&gw->neigh, r->hop);
	w->iface = r->iface;
	w->sum = csum_pseudo6(own, to, PROTO_UDP, 0);
	w->head = IP6_MIN;
	w->ip6 = (struct ip6_hdr){.first = be32_of(0x60000000u),
	                          .next = PROTO_UDP,
	                          .hops = gw->iface[r->iface].hops6,
	                          .from = *own,
	                          .to = *to};
	return true;
}

bool udp_path_find(struct gw *gw, struct udp_path *w, const struct addr *remote,
                   const struct addr *local)
{
	struct udp_ends ends = {.remote = *remote};
	w->changes = 0;
	if (local)
		ends.local = *local;
	else if (!udp_source(gw, &ends))
		return false;
	w->remote = ends.remote;
	w->local = ends.local;
	if (!(remote->is6 ? find6(gw, w) : find4(gw, w)))
		return false;
	w->changes = gw->changes;
	return true;
}

/* --- in ----------------------------------------------------------------------------------- */

/* The length of the IP payload; 0 when the packet is not between the two ends or not plain. */
static uint32_t check4(const struct udp_path *w, const struct pkt *p)
{
	const struct udp_frame4 *f = (const struct udp_frame4 *)p->data;
	uint32_t n = be16_get(f->ip.len);
	bool good = ip4_eq(f->ip.from, w->remote.v4) && ip4_eq(f->ip.to, w->local.v4) &&
	            (be16_raw(f->ip.frag) & (uint16_t)~swap16(IP4_DF)) == 0 && n > IP4_MIN &&
	            n <= p->len - sizeof f->eth && csum_ip4_header(&f->ip) == 0xffff;
	return good ? n - IP4_MIN : 0;
}

static uint32_t check6(const struct udp_path *w, const struct pkt *p)
{
	const struct udp_frame6 *f = (const struct udp_frame6 *)p->data;
	uint32_t n = be16_get(f->ip.len);
	bool good = f->ip.first.b[0] >> 4 == 6 && ip6_eq(&f->ip.from, &w->remote.v6) &&
	            ip6_eq(&f->ip.to, &w->local.v6) && n <= p->len - sizeof f->eth - IP6_MIN;
	return good ? n : 0;
}

const uint8_t *udp_path_payload(const struct udp_path *w, const struct interface *in,
                                const struct pkt *p, const struct udp_hdr *udp, uint32_t *len)
{
	const struct eth_hdr *eth = (const struct eth_hdr *)p->data;
	bool is6 = be16_raw(eth->type) == swap16(ETH_IP6);
	if (p->iface != w->iface || is6 != w->remote.is6 || !mac_eq(&eth->to, &in->address))
		return NULL;
	uint32_t n = is6 ? check6(w, p) : check4(w, p);
	if (n <= sizeof *udp || be16_get(udp->len) != n || be16_raw(udp->sum) == 0)
		return NULL;
	uint32_t sum = w->sum + (uint32_t)be16_raw(udp->len);
	if (csum_fold(sum + csum_sum(udp, n)) != 0xffff)
		return NULL;
	*len = n - (uint32_t)sizeof *udp;
	return (const uint8_t *)(udp + 1);
}

/* --- out ---------------------------------------------------------------------------------- */

/* The slow path: for a neighbour that is not ready or a datagram that is too long for some
 * paths. */
static __attribute__((noinline)) void send_slow(struct gw *gw, const struct udp_path *w,
                                                struct pkt *p, uint16_t local_port,
                                                uint16_t remote_port)
{
	struct udp_ends ends = {.local = w->local,
	                        .remote = w->remote,
	                        .local_port = local_port,
	                        .remote_port = remote_port,
	                        .iface = w->iface};
	udp_send(gw, p, &ends);
}

/* Puts the UDP header in front of the payload and computes the checksum. */
static inline struct udp_hdr *put_udp(const struct udp_path *w, struct pkt *p, uint16_t local_port,
                                      uint16_t remote_port)
{
	struct udp_hdr *udp = (struct udp_hdr *)(p->data - sizeof *udp);
	uint32_t len = p->len + (uint32_t)sizeof *udp;
	/* Words in wire order: both ports; the length, and a checksum of zero. */
	store32(&udp->from, swap32((uint32_t)local_port << 16 | remote_port));
	store32(&udp->len, swap16((uint16_t)len));
	uint32_t sum = w->sum + (uint32_t)be16_raw(udp->len) + csum_sum(udp, len);
	uint16_t folded = csum_fold(sum);
	/* A checksum of zero is sent as all ones: zero means that there is no checksum (RFC
	 * 768). */
	udp->sum = be16_from_raw(folded == 0xffff ? folded : (uint16_t)~folded);
	return udp;
}

void udp_path_send(struct gw *gw, struct udp_path *w, struct pkt *p, uint16_t local_port,
                   uint16_t remote_port)
{
	struct interface *out = &gw->iface[w->iface];
	uint32_t head = (uint32_t)sizeof(struct udp_hdr) + w->head;
	struct neigh *n = udp_path_next(gw, w);
	if (UNLIKELY(!n || p->len + head > min_u32(out->mtu, IP6_MTU_MIN) ||
	             (uint32_t)(p->data - p->bytes) < head + sizeof n->eth)) {
		send_slow(gw, w, p, local_port, remote_port);
		return;
	}
	uint8_t *at = (uint8_t *)put_udp(w, p, local_port, remote_port) - w->head;
	p->len += head;
	if (w->remote.is6) {
		memcpy(at, &w->ip6, sizeof w->ip6);
		((struct ip6_hdr *)at)->len = be16_of((uint16_t)(p->len - IP6_MIN));
	} else {
		struct ip4_hdr *h = (struct ip4_hdr *)at;
		memcpy(at, &w->ip4, sizeof w->ip4);
		h->len = be16_of((uint16_t)p->len);
		h->id = ip4_id(&gw->ids, w->remote.v4);
		uint32_t sum = w->sum4 + (uint32_t)be16_raw(h->len) + be16_raw(h->id);
		h->sum = be16_from_raw((uint16_t)~csum_fold(sum));
	}
	n->used = true;
	p->data = at - sizeof n->eth;
	p->len += (uint32_t)sizeof n->eth;
	memcpy(p->data, &n->eth, sizeof n->eth);
	gw_transmit(gw, out, p);
}
