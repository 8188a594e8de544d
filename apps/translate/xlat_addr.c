/* Addresses of the translator: the form with shared addresses, the source addresses of RFC
 * 6791, and refusals. See xlat.h. */
#include "apps/translate/xlat_keys.h"
#include "apps/translate/xlat_packet.h"
#include "net/gw_address.h"
#include "net/ip4/frag.h"
#include "net/ip4/icmp.h"
#include "net/ip6/icmp6.h"

void xlat_core_set_up(const struct gw *gw, struct xlat_core *c, uint32_t lowest_mtu6, uint32_t mss,
                      uint32_t tos)
{
	c->mss = (uint16_t)mss;
	c->tos_mask = tos == XLAT_TOS_COPY ? 0xff : 0;
	c->tos_set = tos == XLAT_TOS_COPY ? 0 : (uint8_t)tos;
	c->mtu6 = NET_MTU;
	for (uint32_t i = 0; i < gw->n_iface; i++)
		if (interface_is_inside(i))
			c->mtu6 = min_u32(c->mtu6, gw->iface[i].mtu);
	c->limit46 = min_u32(lowest_mtu6, c->mtu6);
}

enum verdict xlat_refuse4_as(struct gw *gw, const struct xlat_core *c, struct pkt *p,
                             enum drop reason, uint8_t code)
{
	if (c->errors)
		icmp_error(gw, p, ICMP_UNREACHABLE, code, 0);
	return gw_drop(gw, p, reason);
}

enum verdict xlat_refuse4(struct gw *gw, const struct xlat_core *c, struct pkt *p, enum drop reason)
{
	return xlat_refuse4_as(gw, c, p, reason, ICMP_ADMIN);
}

enum verdict xlat_refuse6_as(struct gw *gw, const struct xlat_core *c, struct pkt *p,
                             enum drop reason, uint8_t code)
{
	if (c->errors)
		icmp6_error(gw, p, ICMP6_UNREACHABLE, code, 0);
	return gw_drop(gw, p, reason);
}

enum verdict xlat_refuse6(struct gw *gw, const struct xlat_core *c, struct pkt *p, enum drop reason)
{
	/* RFC 7915 section 5.4: no error about an ICMPv6 message. */
	return p->proto == PROTO_ICMP6 ? gw_drop(gw, p, reason)
	                               : xlat_refuse6_as(gw, c, p, reason, ICMP6_ADMIN);
}

enum xlat_way xlat_form_to6(const struct translator *v, uint32_t a, uint32_t port, ip6 *out)
{
	if (!v->has_form || (v->well_known && !embed_is_global(ip4_from_raw(a))))
		return XLAT_UNMAPPED;
	embed_to6(&v->form, a, out);
	const struct embed_share *s = port == XLAT_NO_PORT ? NULL : xlat_share_of(v, a);
	if (!s)
		return XLAT_BY_FORM;
	embed_put_set(&v->form, embed_set_of(s, port), out);
	return embed_has_owner(s, port) ? XLAT_BY_FORM : XLAT_UNMAPPED;
}

bool xlat_is_native4(const struct gw *gw, uint32_t a, uint8_t len)
{
	uint32_t addr = swap32(a);
	if (gw_is_own(gw, ip4_from_raw(a)))
		return true;
	for (uint32_t i = 0; i < gw->routes4.n; i++) {
		const struct route4 *r = &gw->routes4.entry[i];
		if (r->via == a || ((addr & r->mask) == r->net && r->len > len))
			return true;
	}
	return false;
}

bool xlat_is_reserved(const struct translator *v, uint32_t a)
{
	for (uint32_t i = 0; i < v->n_reserved; i++)
		if (v->reserved[i] == a)
			return true;
	return false;
}

/* Draws one of several addresses, so that a host that reassembles by source and
 * identification mixes up fewer packets (RFC 6791 section 3.2 leaves the choice open). */
ip4 xlat_error_source4(struct gw *gw, const struct translator *v, ip4 to)
{
	if (v->n_icmp4 == 0) {
		const struct address4 *own = interface_own4(&gw->iface[IF_WAN], to);
		return own ? own->addr : ip4_of(0); /* then there is no way to the WAN either */
	}
	return v->icmp4[rng_below(gw->rng, v->n_icmp4)];
}

ip6 xlat_error_source6(struct gw *gw, const struct translator *v, const ip6 *to)
{
	if (v->n_icmp6)
		return v->icmp6[rng_below(gw->rng, v->n_icmp6)];
	const struct route6 *r = route6_for(&gw->routes6, to);
	uint32_t iface = r && interface_is_inside(r->iface) ? r->iface : IF_LAN;
	const ip6 *own = gw_own_address6(gw, iface, to);
	return own ? *own : gw->iface[iface].addr6[min_u32(1, gw->iface[iface].n_addr6 - 1)].addr;
}

/* --- shared addresses --------------------------------------------------------------------- */

/* The port that selects the destination host; in an ICMP error that of the quoted packet,
 * which the host sent (RFC 7599 section 9). */
static uint32_t port_of(const struct pkt *p)
{
	const uint8_t *l4 = p->data + p->l4;
	if (p->proto == PROTO_ICMP && p->l4_len > 0 && xlat_is_error4(l4[0]))
		return xlat46_quoted_port(l4, p->l4_len);
	return xlat46_port(l4, p->l4_len, p->proto, false);
}

/* Translates a fragment. Only the first fragment has the port; the later ones follow it to
 * the same host (RFC 7599 section 10.2). */
static enum verdict shared_fragment(struct gw *gw, struct translator *v, struct pkt *p)
{
	const struct frag_key key = frag_key(p);
	if (p->flags & PKT_LATER) {
		struct frag *f = frag_known(gw, &key);
		if (!f)
			return frag_park(gw, p) ? V_KEPT : gw_drop(gw, p, DROP_FRAGMENT);
		frag_count(f, p);
		return xlat46(gw, v, p, NULL, f->new_addr);
	}
	struct frag *f = frag_decide(gw, &key);
	f->new_addr = port_of(p);
	frag_count(f, p);
	enum verdict w = xlat46(gw, v, p, NULL, f->new_addr);
	if (w == V_SEND6) {
		gw_forward6(gw, p);
		w = V_KEPT;
	}
	frag_release(gw, f);
	return w;
}

enum verdict xlat_shared(struct gw *gw, struct translator *v, struct pkt *p)
{
	if (!xlat_share_of(v, ip4_raw(ip4_to(p))))
		return xlat46(gw, v, p, NULL, XLAT_NO_PORT);
	if (p->flags & PKT_FRAGMENT)
		return shared_fragment(gw, v, p);
	return xlat46(gw, v, p, NULL, port_of(p));
}
