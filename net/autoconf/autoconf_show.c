/* The listing `addresses`, and the counters of net/autoconf. See autoconf.h. */
#include "kernel/lib/fmt.h"
#include "net/autoconf/autoconf.h"
#include "net/autoconf/autoconf_table.h"
#include "net/dhcp/dhcp_client.h"
#include "net/dhcp6/dhcp6_client.h"
#include "net/stats/count.h"

#define SECONDS 16u

static const char *seconds(char buf[SECONDS], uint64_t now, uint64_t until_us)
{
	uint32_t left = autoconf_table_left(now, until_us);
	if (left == UINT32_MAX)
		return "for ever";
	fmt(buf, SECONDS, "%u s", left);
	return buf;
}

static const char *state_of(const struct address6 *a)
{
	return a->state == ADDRESS6_TENTATIVE   ? "tentative"
	       : a->state == ADDRESS6_DUPLICATE ? "duplicate"
	       : a->deprecated                  ? "deprecated"
	                                        : "valid";
}

/* The prefix that an address was made in; NULL when it is none of those. */
static const struct autoconf_prefix *prefix_of(const struct gw *gw, const struct address6 *own)
{
	const struct autoconf *a = &gw->autoconf;
	for (uint32_t i = 0; own->by_router && i < a->n_prefixes; i++)
		if (a->prefix[i].valid_us && addr_in6(&own->addr, &a->prefix[i].net, 64))
			return &a->prefix[i];
	return NULL;
}

static void address_line(const struct gw *gw, const struct interface *at, uint32_t k, char *buf,
                         size_t size)
{
	char text[FMT_IP6], valid[SECONDS], preferred[SECONDS], router[FMT_IP6];
	if (k < at->n_addr) {
		size_t len = fmt(buf, size, "%s %s/%u", at->name, fmt_ip4(text, at->addr[k].addr),
		                 at->addr[k].len);
		if (at == &gw->iface[IF_WAN])
			dhcp_show_origin(gw, at->addr[k].addr, buf + len, size - len);
		return;
	}
	const struct address6 *own = &at->addr6[k - at->n_addr];
	const struct autoconf_prefix *p = prefix_of(gw, own);
	size_t n = fmt(buf, size, "%s %s/%u %s", at->name, fmt_ip6(text, &own->addr), own->len,
	               state_of(own));
	if (p)
		fmt(buf + n, size - n, " from %s, valid %s, preferred %s",
		    fmt_ip6(router, &p->router), seconds(valid, gw->clock.us, p->valid_us),
		    seconds(preferred, gw->clock.us, p->preferred_us));
	else
		dhcp6_show_origin(gw, &own->addr, buf + n, size - n);
}

static void router_line(const struct gw *gw, const struct autoconf_router *r, char *buf,
                        size_t size)
{
	static const char *const rank[] = {
	        [AUTOCONF_LOW] = "low", [AUTOCONF_MEDIUM] = "medium", [AUTOCONF_HIGH] = "high"};
	char text[FMT_IP6], left[SECONDS];
	size_t n = fmt(buf, size, "wan router %s", fmt_ip6(text, &r->addr));
	if (r->until_us)
		n += fmt(buf + n, size - n, " default %s, preference %s",
		         seconds(left, gw->clock.us, r->until_us), rank[r->rank]);
	if (r->silent)
		fmt(buf + n, size - n, ", does not answer");
}

/* Line i of what routers say; false when there are not so many. */
static bool learned_line(const struct gw *gw, uint32_t i, char *buf, size_t size)
{
	const struct autoconf *a = &gw->autoconf;
	char text[FMT_IP6], via[FMT_IP6], left[SECONDS];
	uint64_t now = gw->clock.us;
	buf[0] = '\0';
	if (i < a->n_routers) {
		router_line(gw, &a->router[i], buf, size);
	} else if ((i -= a->n_routers) < a->n_prefixes) {
		const struct autoconf_prefix *p = &a->prefix[i];
		if (p->on_link_us)
			fmt(buf, size, "wan prefix %s/%u on the link %s", fmt_ip6(text, &p->net),
			    p->len, seconds(left, now, p->on_link_us));
	} else if ((i -= a->n_prefixes) < a->n_routes) {
		const struct autoconf_route *r = &a->route[i];
		fmt(buf, size, "wan route %s/%u via %s %s", fmt_ip6(text, &r->net), r->len,
		    fmt_ip6(via, &r->router), seconds(left, now, r->until_us));
	} else if ((i -= a->n_routes) < a->n_servers) {
		fmt(buf, size, "wan nameserver %s %s", fmt_ip6(text, &a->server[i].addr),
		    seconds(left, now, a->server[i].until_us));
	} else if ((i -= a->n_servers) < a->n_pref64) {
		fmt(buf, size, "wan pref64 %s/%u %s", fmt_ip6(text, &a->pref64[i].addr),
		    a->pref64[i].len, seconds(left, now, a->pref64[i].until_us));
	} else {
		i -= a->n_pref64;
		return dhcp6_show_server(gw, i, buf, size) ||
		       (i >= gw->dhcp6.n_dns &&
		        dhcp_show_server(gw, i - gw->dhcp6.n_dns, buf, size));
	}
	return true;
}

bool autoconf_show(struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	uint32_t i = (*cursor)++;
	for (uint32_t k = 0; k < gw->n_iface; k++) {
		const struct interface *at = &gw->iface[k];
		if (i < at->n_addr + at->n_addr6) {
			address_line(gw, at, i, buf, size);
			return true;
		}
		i -= at->n_addr + at->n_addr6;
	}
	return learned_line(gw, i, buf, size);
}

/* --- counters ------------------------------------------------------------------------------- */

static uint64_t routers_most(const void *a)
{
	(void)a;
	return AUTOCONF_ROUTERS;
}

static uint64_t prefixes_most(const void *a)
{
	(void)a;
	return AUTOCONF_PREFIXES;
}

static const struct count count[] = {
        COUNT(struct autoconf, "autoconf_advertisements", heard),
        COUNT(struct autoconf, "autoconf_solicitations", solicited),
        COUNT(struct autoconf, "autoconf_refused", refused),
        COUNT_FILL(struct autoconf, "autoconf_routers", n_routers, routers_most),
        COUNT_FILL(struct autoconf, "autoconf_prefixes", n_prefixes, prefixes_most),
};

static const void *state(const struct gw *gw)
{
	return &gw->autoconf;
}

const struct count_table autoconf_counts = COUNT_TABLE(count, state);
