/* Delegated prefixes become networks of the inside (RFC 7084 section 4.3): each interface with
 * `prefix delegated` gets the next 64 bits of each prefix, with the address ::1 there. A route to
 * nowhere takes the rest (WPD-5). */
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/dhcp6/dhcp6_keys.h"
#include "net/dhcp6/dhcp6_use.h"
#include "net/ra/ra.h"
#include "net/setup/gw_change.h"

#define SAY_MS 60000u

/* Network number n of a prefix; false when it has not so many. */
static bool net_of(const struct dhcp6_held *h, uint32_t n, ip6 *net)
{
	if (h->len > 64 || (h->len > 56 && n >> (64 - h->len)))
		return false;
	*net = h->addr;
	net->b[7] |= (uint8_t)n; /* there are seven at most */
	return true;
}

/* The lease of a network of the inside; NULL when it has ended. */
static const struct dhcp6_held *lease_of(const struct gw *gw, const ip6 *net)
{
	const struct dhcp6_binding *b = &gw->dhcp6.bound[DHCP6_PD];
	for (uint32_t i = 0; i < b->n; i++)
		if (addr_in6(net, &b->held[i].addr, b->held[i].len))
			return &b->held[i];
	return NULL;
}

static struct prefix own_in(const ip6 *net)
{
	struct prefix own = {.addr = {.is6 = true, .v6 = *net}, .len = 64};
	own.addr.v6.b[15] = 1;
	return own;
}

/* --- what has ended -----------------------------------------------------------------------------
 */

static void drop_nets(struct gw *gw)
{
	struct dhcp6_client *c = &gw->dhcp6;
	uint32_t kept = 0, had = c->n_nets;
	for (uint32_t i = 0; i < had; i++) {
		const struct dhcp6_net net = c->net[i];
		const struct prefix own = own_in(&net.net);
		if (lease_of(gw, &net.net))
			c->net[kept++] = net;
		else if (!net.refused)
			gw_change_del_address(gw, net.iface, &own.addr);
	}
	c->n_nets = kept;
}

static bool has_rest(const struct dhcp6_rest *list, uint32_t n, const struct dhcp6_held *h)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i].len == h->len && ip6_eq(&list[i].net, &h->addr))
			return true;
	return false;
}

static bool is_held(const struct dhcp6_binding *b, const struct dhcp6_rest *r)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (b->held[i].len == r->len && ip6_eq(&b->held[i].addr, &r->net))
			return true;
	return false;
}

/* Brings the routes to nowhere in line with the prefixes. One of 64 bits leaves no rest, and what
 * is longer is not used. */
static void follow_rests(struct gw *gw)
{
	struct dhcp6_client *c = &gw->dhcp6;
	const struct dhcp6_binding *b = &c->bound[DHCP6_PD];
	uint32_t kept = 0;
	bool changed = false;
	for (uint32_t i = 0; i < c->n_rests; i++)
		if (is_held(b, &c->rest[i])) {
			c->rest[kept++] = c->rest[i];
		} else {
			gw_change_del_rest6(gw, &c->rest[i].net, c->rest[i].len);
			changed = true;
		}
	c->n_rests = kept;
	for (uint32_t i = 0; i < b->n; i++) {
		const struct dhcp6_held *h = &b->held[i];
		if (h->len >= 64 || has_rest(c->rest, c->n_rests, h) ||
		    !gw_change_add_rest6(gw, &h->addr, h->len))
			continue;
		c->rest[c->n_rests++] = (struct dhcp6_rest){.net = h->addr, .len = h->len};
		changed = true;
	}
	if (changed)
		gw_change_inform(gw);
}

/* --- networks of the inside ---------------------------------------------------------------------
 */

static struct dhcp6_net *find(struct dhcp6_client *c, const ip6 *net)
{
	for (uint32_t i = 0; i < c->n_nets; i++)
		if (ip6_eq(&c->net[i].net, net))
			return &c->net[i];
	return NULL;
}

/* Gives an interface a network. */
static void add_net(struct gw *gw, uint32_t iface, const ip6 *net)
{
	struct dhcp6_client *c = &gw->dhcp6;
	const struct prefix own = own_in(net);
	char text[FMT_IP6];
	if (c->n_nets == DHCP6_NETS)
		return;
	const char *bad = gw_change_add_address(gw, iface, &own);
	if (bad)
		log_line("%s: %s/64 of the delegated prefix is not used: %s", gw->iface[iface].name,
		         fmt_ip6(text, net), bad);
	c->net[c->n_nets++] =
	        (struct dhcp6_net){.net = *net, .iface = (uint8_t)iface, .refused = bad != NULL};
}

/* Gives each interface its network of a prefix, and the hosts its lifetimes. */
static void cut(struct gw *gw, const struct dhcp6_held *h)
{
	struct dhcp6_client *c = &gw->dhcp6;
	uint32_t n = 0;
	char text[FMT_IP6];
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		ip6 net;
		if (!dhcp6_delegated(gw->config, i))
			continue;
		if (!net_of(h, n++, &net)) {
			log_limited(&c->said_net_us, SAY_MS * 60,
			            "%s: the delegated prefix %s/%u has no network of 64 bits for "
			            "it",
			            gw->iface[i].name, fmt_ip6(text, &h->addr), h->len);
			return;
		}
		if (!find(c, &net))
			add_net(gw, i, &net);
		ra_lease(gw, i, &net, h->valid_us, h->preferred_us);
	}
}

void dhcp6_delegate_follow(struct gw *gw)
{
	const struct dhcp6_binding *b = &gw->dhcp6.bound[DHCP6_PD];
	drop_nets(gw);
	follow_rests(gw);
	for (uint32_t i = 0; i < b->n; i++)
		cut(gw, &b->held[i]);
}
