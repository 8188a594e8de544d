/* See udp.h. */
#include "net/udp/udp.h"

#include "kernel/lib/alloc.h"
#include "net/lib/csum.h"
#include "net/gw_address.h"
#include "net/ip4/ip4.h"
#include "net/ip6/ip6.h"
#include "net/local.h"

bool udp_init(struct gw *gw)
{
	if (gw->udp)
		return true;
	gw->udp = alloc(sizeof *gw->udp, 64);
	if (gw->udp)
		gw->udp->n_handlers = 1;
	return gw->udp != NULL;
}

uint8_t udp_register(struct gw *gw, udp_handler handler)
{
	struct udp_table *t = gw->udp;
	if (t->n_handlers == UDP_HANDLERS)
		return 0;
	t->handler[t->n_handlers] = handler;
	return (uint8_t)t->n_handlers++;
}

bool udp_bind(struct gw *gw, uint16_t port, uint8_t handler, uint16_t arg)
{
	struct udp_table *t = gw->udp;
	if (t->owner[port] != 0)
		return false;
	/* A port that the forwarder uses stays its own: services are for the inside. */
	(void)gw_port_take(gw, PROTO_UDP, port);
	t->owner[port] = handler;
	t->arg[port] = arg;
	t->drawn[port / 32] &= ~(1u << port % 32);
	return true;
}

uint16_t udp_bind_any(struct gw *gw, uint8_t handler, uint16_t arg)
{
	struct udp_table *t = gw->udp;
	for (uint32_t i = 0; i < UDP_DRAWS; i++) {
		uint16_t port = rng_u16(gw->rng);
		if (port < UDP_FIRST_FREE || t->owner[port] != 0 ||
		    !gw_port_take(gw, PROTO_UDP, port))
			continue;
		t->owner[port] = handler;
		t->arg[port] = arg;
		t->drawn[port / 32] |= 1u << port % 32;
		return port;
	}
	return 0;
}

void udp_unbind(struct gw *gw, uint16_t port)
{
	gw->udp->owner[port] = 0;
	gw_port_give(gw, PROTO_UDP, port);
}

/* --- in -------------------------------------------------------------------------------- */

/* Checks header and checksum. The datagram may be followed by bytes that do not belong to
 * it. */
static enum drop check(const struct pkt *p, bool is6)
{
	const struct udp_hdr *udp = (const struct udp_hdr *)pkt_at(p, p->l4, sizeof *udp);
	if (!udp || p->l4_len < sizeof *udp)
		return DROP_L4_HEADER;
	uint16_t len = be16_get(udp->len);
	if (len < sizeof *udp || len > p->l4_len)
		return DROP_L4_HEADER;
	if (be16_raw(udp->sum) == 0) /* no checksum; IPv6 requires one (RFC 8200 section 8.1) */
		return is6 ? DROP_UDP_CHECKSUM : DROP_NONE;
	uint16_t pseudo =
	        is6 ? csum_pseudo6(&ip6_header(p)->from, &ip6_header(p)->to, PROTO_UDP, len)
	            : csum_pseudo4(ip4_header(p)->from, ip4_header(p)->to, PROTO_UDP, len);
	return csum_plus(csum_sum(udp, len), pseudo) == 0xffff ? DROP_NONE : DROP_UDP_CHECKSUM;
}

static void note_ends(const struct pkt *p, bool is6, struct udp_ends *e)
{
	const struct udp_hdr *udp = (const struct udp_hdr *)(p->data + p->l4);
	e->local.is6 = e->remote.is6 = is6;
	if (is6) {
		e->remote.v6 = ip6_header(p)->from;
		e->local.v6 = ip6_header(p)->to;
	} else {
		e->remote.v4 = ip4_header(p)->from;
		e->local.v4 = ip4_header(p)->to;
	}
	e->remote_port = be16_get(udp->from);
	e->local_port = be16_get(udp->to);
	e->iface = p->iface;
}

enum verdict udp_input(struct gw *gw, struct pkt *p)
{
	const struct udp_table *t = gw->udp;
	bool is6 = p->data[0] >> 4 == 6;
	struct udp_ends ends;
	enum drop wrong = check(p, is6);
	if (wrong != DROP_NONE)
		return gw_drop(gw, p, wrong);
	note_ends(p, is6, &ends);
	uint8_t owner = t->owner[ends.local_port];
	bool drawn = t->drawn[ends.local_port / 32] >> ends.local_port % 32 & 1;
	if (owner == 0 || (!drawn && !local_serves(gw, p)))
		return V_LOCAL;
	/* Port 0 cannot be answered (RFC 768, "Source Port"). */
	if (ends.remote_port == 0)
		return gw_drop(gw, p, DROP_L4_HEADER);
	uint32_t headers = p->l4 + (uint32_t)sizeof(struct udp_hdr), all = p->len;
	uint32_t len = be16_get(((const struct udp_hdr *)(p->data + p->l4))->len);
	if (!pkt_pull(p, headers))
		return gw_drop(gw, p, DROP_L4_HEADER); /* does not happen: check saw the header */
	pkt_trim(p, len - (uint32_t)sizeof(struct udp_hdr));
	enum verdict v = t->handler[owner](gw, p, &ends, t->arg[ends.local_port]);
	if (v == V_LOCAL && (!pkt_push(p, headers) || !pkt_put(p, all - p->len)))
		return gw_drop(gw, p, DROP_L4_HEADER); /* does not happen: they were there before */
	return v;
}

/* --- out ------------------------------------------------------------------------------- */

bool udp_source(const struct gw *gw, struct udp_ends *e)
{
	e->local.is6 = e->remote.is6;
	if (e->remote.is6) {
		const struct route6 *r = route6_for(&gw->routes6, &e->remote.v6);
		const ip6 *own = r ? gw_own_address6(gw, r->iface, &e->remote.v6) : NULL;
		if (own)
			e->local.v6 = *own;
		return own != NULL;
	}
	const struct route4 *r = route4_for(&gw->routes4, e->remote.v4);
	ip4 hop = r && r->via ? ip4_from_raw(r->via) : e->remote.v4;
	const struct address4 *own =
	        r && r->iface < INTERFACES ? interface_own4(&gw->iface[r->iface], hop) : NULL;
	if (own)
		e->local.v4 = own->addr;
	return own != NULL;
}

static void send4(struct gw *gw, struct pkt *p, const struct udp_ends *e, uint16_t len)
{
	struct udp_hdr *udp = (struct udp_hdr *)p->data;
	uint16_t sum = csum_plus(csum_sum(udp, len),
	                         csum_pseudo4(e->local.v4, e->remote.v4, PROTO_UDP, len));
	/* A checksum of zero is sent as all ones: zero means that there is no checksum (RFC
	 * 768). */
	udp->sum = be16_from_raw(sum == 0xffff ? sum : (uint16_t)~sum);
	if (!gw_is_own(gw, e->local.v4)) {
		gw_discard(gw, p, DROP_TENTATIVE);
		return;
	}
	if (!pkt_push(p, IP4_MIN)) {
		gw_discard(gw, p, DROP_NO_PACKET);
		return;
	}
	ip4_build(gw, p, e->local.v4, e->remote.v4, PROTO_UDP, 0);
	gw_send(gw, p);
}

void udp_ends_send6(struct gw *gw, struct pkt *p, const struct udp_ends *e, uint8_t proto,
                    uint32_t at)
{
	if (!gw_is_own6(gw, e->iface, &e->local.v6)) {
		gw_discard(gw, p, DROP_TENTATIVE);
		return;
	}
	if (!pkt_push(p, IP6_MIN)) {
		gw_discard(gw, p, DROP_NO_PACKET);
		return;
	}
	ip6_build(p, &e->local.v6, &e->remote.v6, proto, IP6_HOPS);
	ip6_sum(p, at);
	if (ip6_is_link_local(&e->remote.v6))
		ip6_to_link(p, e->iface);
	gw_send6(gw, p);
}

void udp_send(struct gw *gw, struct pkt *p, const struct udp_ends *e)
{
	struct udp_hdr *udp = (struct udp_hdr *)pkt_push(p, sizeof *udp);
	if (!udp || p->len > UINT16_MAX) {
		gw_discard(gw, p, DROP_NO_PACKET);
		return;
	}
	uint16_t len = (uint16_t)p->len;
	p->iface = PKT_IF_SELF;
	p->flags = 0;
	udp->from = be16_of(e->local_port);
	udp->to = be16_of(e->remote_port);
	udp->len = be16_of(len);
	udp->sum = be16_of(0);
	if (e->remote.is6)
		udp_ends_send6(gw, p, e, PROTO_UDP, offsetof(struct udp_hdr, sum));
	else
		send4(gw, p, e, len);
}
