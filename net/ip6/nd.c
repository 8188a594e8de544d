/* See nd.h. */
#include "net/ip6/nd.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "kernel/lib/when.h"
#include "net/autoconf/autoconf_heard.h"
#include "net/autoconf/autoconf_table.h"
#include "net/ip6/icmp6.h"
#include "net/ip6/ip6.h"
#include "net/ip6/mld.h"
#include "net/ip6/nd_option.h"
#include "net/ra/ra.h"
#include "net/neigh/neigh.h"

#define SETTLE_MS 1000u /* random wait before the first message on a link */

/* --- our messages ------------------------------------------------------------------ */

/* Sends a message with our MAC address in an option of kind `option`; none if 0. */
static void send_nd(struct gw *gw, uint32_t iface, uint8_t type, const ip6 *target, uint32_t flags,
                    uint8_t option, const ip6 *from, const ip6 *to, const mac *station)
{
	void *message;
	uint32_t n = sizeof(struct nd_msg) + (option ? sizeof(struct nd_opt_mac) : 0);
	struct pkt *p = icmp6_new(gw, n, &message);
	if (!p)
		return;
	struct nd_msg *m = message;
	m->type = type;
	m->flags = be32_of(flags);
	m->target = *target;
	if (option) {
		struct nd_opt_mac *o = (struct nd_opt_mac *)(m + 1);
		o->type = option;
		o->len = 1;
		o->address = gw->iface[iface].address;
	}
	icmp6_send(gw, iface, p, from, to, station, IP6_ND_HOPS);
}

void nd_ask(struct gw *gw, uint32_t iface, const ip6 *target, const mac *to)
{
	const ip6 *own = interface_own6(&gw->iface[iface], target);
	if (!own) /* all of them are tentative */
		return;
	ip6 group = mld_solicited(target);
	send_nd(gw, iface, ICMP6_NS, target, 0, ND_OPT_SOURCE, own, to ? target : &group, to);
}

/* Sends an advertisement (RFC 4861 section 7.2.4); to all nodes when `to` is NULL, because
 * the station has no address yet. That of an anycast address does not override (section
 * 7.2.7). */
static void advertise(struct gw *gw, uint32_t iface, const ip6 *own, bool anycast, const ip6 *to,
                      const mac *station)
{
	uint32_t flags = ND_ROUTER | (to ? ND_SOLICITED : 0) | (anycast ? 0 : ND_OVERRIDE);
	const ip6 *from = anycast ? interface_own6(&gw->iface[iface], to ? to : own) : own;
	if (from)
		send_nd(gw, iface, ICMP6_NA, own, flags, ND_OPT_TARGET, from,
		        to ? to : &mld_all_nodes, station);
}

/* --- our own addresses ------------------------------------------------------------ */

void nd_start(struct gw *gw, uint32_t iface, struct address6 *a)
{
	a->state = ADDRESS6_TENTATIVE;
	a->asked = 0;
	a->due_ms = gw->clock.ms + rng_below(gw->rng, SETTLE_MS);
	gw->changes++;
	(void)iface;
}

void nd_carrier_up(struct gw *gw, uint32_t iface)
{
	for (uint32_t i = 0; i < gw->iface[iface].n_addr6; i++)
		nd_start(gw, iface, &gw->iface[iface].addr6[i]);
}

/* No other station has the address: makes it valid and informs all nodes (RFC 9131). */
static void make_valid(struct gw *gw, uint32_t iface, struct address6 *a)
{
	a->state = ADDRESS6_VALID;
	gw->changes++;
	if (a == &gw->iface[iface].addr6[0]) {
		mld_announce(gw, iface);
		ra_restart(gw, iface);
	}
	advertise(gw, iface, &a->addr, false, NULL, NULL);
}

static void tick_address(struct gw *gw, uint32_t iface, struct address6 *a)
{
	static const ip6 unspecified;
	if (a->state != ADDRESS6_TENTATIVE ||
	    !when_come(gw->clock.ms, a->due_ms, INTERFACE_RETRANS_MOST_MS))
		return;
	if (a->asked) { /* DupAddrDetectTransmits is 1 */
		make_valid(gw, iface, a);
		return;
	}
	ip6 group = mld_solicited(&a->addr);
	a->asked++;
	a->due_ms = gw->clock.ms + gw->iface[iface].retrans_ms;
	send_nd(gw, iface, ICMP6_NS, &a->addr, 0, 0, &unspecified, &group, NULL);
}

void nd_tick(struct gw *gw)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		for (uint32_t k = 0; gw->iface[i].carrier && k < gw->iface[i].n_addr6; k++)
			tick_address(gw, i, &gw->iface[i].addr6[k]);
}

bool nd_is_busy(const struct gw *gw)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		for (uint32_t k = 0; gw->iface[i].carrier && k < gw->iface[i].n_addr6; k++)
			if (gw->iface[i].addr6[k].state == ADDRESS6_TENTATIVE)
				return true;
	return false;
}

/* Another station has a tentative address (RFC 4862 section 5.4.5). When it is the address
 * made from our MAC address, that is a duplicate too, and the interface uses no IPv6
 * address. */
static void duplicate(struct gw *gw, uint32_t iface, struct address6 *a)
{
	struct interface *at = &gw->iface[iface];
	char text[FMT_IP6];
	a->state = ADDRESS6_DUPLICATE;
	gw->changes++;
	if (a != &at->addr6[0]) {
		log_line("%s: somebody has %s: not used", at->name, fmt_ip6(text, &a->addr));
		return;
	}
	log_line("%s: somebody has %s: no IPv6 there", at->name, fmt_ip6(text, &a->addr));
	for (uint32_t i = 0; i < at->n_addr6; i++)
		at->addr6[i].state = ADDRESS6_DUPLICATE;
}

/* --- received messages ------------------------------------------------------------- */

/* True for the subnet-router anycast address of a network of the interface. */
static bool is_anycast(const struct gw *gw, uint32_t iface, const ip6 *a)
{
	const struct route6 *r = ip6_is_special(a) ? NULL : route6_for(&gw->routes6, a);
	return r && r->iface == iface && route6_own(r, a);
}

/* Another station uses an address of ours (RFC 4862 section 5.4.4 leaves the reaction
 * open). */
static enum drop conflict(struct interface *iface, const ip6 *a)
{
	char text[FMT_IP6];
	log_limited(&iface->conflict_us, 10000, "%s: somebody also claims our address %s",
	            iface->name, fmt_ip6(text, a));
	return DROP_ND_BAD;
}

static enum drop solicitation(struct gw *gw, const struct pkt *p, const struct nd_msg *m)
{
	const struct ip6_hdr *h = ip6_header(p);
	const mac *source;
	struct interface *iface = &gw->iface[p->iface];
	bool nameless = ip6_is_unspecified(&h->from);
	if (ip6_is_group(&m->target) || !nd_option_address(p, sizeof *m, ND_OPT_SOURCE, &source))
		return DROP_ND_BAD;
	ip6 group = mld_solicited(&m->target);
	if (nameless && (source || !ip6_eq(&h->to, &group)))
		return DROP_ND_BAD;
	if (interface_address6(iface, &h->from))
		return conflict(iface, &h->from);
	struct address6 *own = interface_address6(iface, &m->target);
	bool anycast = !own && is_anycast(gw, p->iface, &m->target);
	if (own && own->state == ADDRESS6_TENTATIVE && nameless) {
		duplicate(gw, p->iface, own);
		return DROP_NONE;
	}
	if (!anycast && (!own || own->state != ADDRESS6_VALID))
		return DROP_ND_OTHER;
	if (nameless) {
		advertise(gw, p->iface, &m->target, anycast, NULL, NULL);
		return DROP_NONE;
	}
	/* A station may ask with an address of another network. It gets an answer, but does
	 * not become a neighbour by that address. */
	bool near = interface_on_link6(iface, &h->from);
	if (!near && !source)
		return DROP_ND_BAD;
	if (near && source)
		neigh_heard6(gw, p->iface, &h->from, source);
	advertise(gw, p->iface, &m->target, anycast, &h->from, source);
	return DROP_NONE;
}

static enum drop advertisement(struct gw *gw, const struct pkt *p, const struct nd_msg *m)
{
	const mac *target;
	struct interface *iface = &gw->iface[p->iface];
	uint32_t flags = be32_get(m->flags);
	if (ip6_is_group(&m->target) || !nd_option_address(p, sizeof *m, ND_OPT_TARGET, &target) ||
	    (flags & ND_SOLICITED && ip6_is_group(&ip6_header(p)->to)) ||
	    ip6_is_unspecified(&ip6_header(p)->from))
		return DROP_ND_BAD;
	struct address6 *own = interface_address6(iface, &m->target);
	if (own && own->state == ADDRESS6_TENTATIVE) {
		duplicate(gw, p->iface, own);
		return DROP_NONE;
	}
	if (own)
		return conflict(iface, &m->target);
	if (p->iface == IF_WAN && !(flags & ND_ROUTER))
		autoconf_table_no_router(&gw->autoconf, &m->target);
	return neigh_answered6(gw, p->iface, &m->target, target, flags) ? DROP_NONE : DROP_ND_OTHER;
}

/* True for a frame of ours that the link reflected. */
static bool reflected(const struct gw *gw, const struct pkt *p)
{
	return mac_eq(&ip6_ethernet(p)->from, &gw->iface[p->iface].address);
}

enum drop nd_input(struct gw *gw, struct pkt *p)
{
	const struct icmp6_hdr *icmp = (const struct icmp6_hdr *)pkt_at(p, p->l4, sizeof *icmp);
	const struct nd_msg *m = (const struct nd_msg *)pkt_at(p, p->l4, sizeof *m);
	/* Extension headers: fragments must be ignored (RFC 6980), and others have no use
	 * here. */
	if (!icmp || ip6_header(p)->hops != IP6_ND_HOPS || icmp->code != 0 ||
	    p->flags & PKT_OPTIONS || p->iface >= INTERFACES)
		return DROP_ND_BAD;
	if (reflected(gw, p))
		return DROP_ND_OTHER;
	if (icmp->type == ICMP6_NS || icmp->type == ICMP6_NA) {
		if (!m || p->l4_len < sizeof *m)
			return DROP_ND_BAD;
		return icmp->type == ICMP6_NS ? solicitation(gw, p, m) : advertisement(gw, p, m);
	}
	if (icmp->type == ICMP6_RS)
		return ra_solicited(gw, p);
	if (icmp->type != ICMP6_RA)
		return DROP_ND_OTHER;
	return p->iface == IF_WAN && gw->autoconf.on ? autoconf_heard(gw, p) : ra_heard(gw, p);
}
