/* See notice.h. */
#include "net/stats/notice.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"

/* --- default routers --------------------------------------------------------------------- */

/* The place of a router in the list of silent ones; n_silent when it is not there. */
static uint32_t find(const struct notice *s, const struct addr *router)
{
	uint32_t i = 0;
	while (i < s->n_silent && !addr_eq(&s->silent[i], router))
		i++;
	return i;
}

/* Says when the state of a router has changed. `n` is its neighbour entry, NULL when there is none:
 * then nothing new is known. */
static void look_at_router(struct gw *gw, uint32_t iface, const struct addr *router,
                           const struct neigh *n)
{
	struct notice *s = &gw->notice;
	uint32_t i = find(s, router);
	char text[FMT_IP6];
	if (n && n->state == NEIGH_FAILED && i == s->n_silent && i < NOTICE_ROUTERS) {
		s->silent[s->n_silent++] = *router;
		log_line("%s: router %s does not answer", gw->iface[iface].name,
		         addr_text(text, router));
	} else if (n && neigh_usable(n) && i < s->n_silent) {
		s->silent[i] = s->silent[--s->n_silent];
		log_line("%s: router %s answers again", gw->iface[iface].name,
		         addr_text(text, router));
	}
}

/* True when a default route leads to the router. */
static bool is_router(const struct gw *gw, const struct addr *a)
{
	for (uint32_t i = 0; !a->is6 && i < gw->routes4.n; i++)
		if (gw->routes4.entry[i].len == 0 && gw->routes4.entry[i].via == ip4_raw(a->v4))
			return true;
	for (uint32_t i = 0; a->is6 && i < gw->routes6.n; i++)
		if (gw->routes6.entry[i].len == 0 && ip6_eq(&gw->routes6.entry[i].via, &a->v6))
			return true;
	return false;
}

/* Looks at the default routers of both families, and forgets those that were removed. True in
 * has[0] and has[1] where there is a default route. */
static void look_at_routers(struct gw *gw, bool has[2])
{
	struct notice *s = &gw->notice;
	for (uint32_t i = s->n_silent; i-- > 0;)
		if (!is_router(gw, &s->silent[i]))
			s->silent[i] = s->silent[--s->n_silent];
	for (uint32_t i = 0; i < gw->routes4.n; i++) {
		const struct route4 *r = &gw->routes4.entry[i];
		if (r->len > 0)
			continue;
		has[0] = true;
		struct addr a = {.v4 = ip4_from_raw(r->via)};
		look_at_router(gw, r->iface, &a, neigh_find4(&gw->neigh, r->iface, r->via));
	}
	for (uint32_t i = 0; i < gw->routes6.n; i++) {
		const struct route6 *r = &gw->routes6.entry[i];
		if (r->len > 0)
			continue;
		has[1] = true;
		if (r->hop == 0 || r->iface >= INTERFACES)
			continue;
		struct addr a = {.is6 = true, .v6 = r->via};
		look_at_router(gw, r->iface, &a, neigh_find6(&gw->neigh, r->iface, &r->via));
	}
}

/* --- packets without a route --------------------------------------------------------------- */

/* The destination of a dropped frame; false when the bytes do not show it. */
static bool destination(const struct drop_log_entry *e, struct addr *to)
{
	uint32_t at = e->frame ? sizeof(struct eth_hdr) : 0;
	const struct ip4_hdr *h4 = (const struct ip4_hdr *)(const void *)(e->bytes + at);
	const struct ip6_hdr *h6 = (const struct ip6_hdr *)(const void *)(e->bytes + at);
	memset(to, 0, sizeof *to);
	if (e->n >= at + sizeof *h4 && h4->version_ihl >> 4 == 4) {
		to->v4 = h4->to;
		return true;
	}
	to->is6 = e->n >= at + sizeof *h6 && h4->version_ihl >> 4 == 6;
	if (to->is6)
		to->v6 = h6->to;
	return to->is6;
}

/* Looks at the frames that were dropped since the last call, of which the list keeps the latest. */
static void look_at_drops(struct gw *gw, const bool has[2])
{
	struct notice *s = &gw->notice;
	uint64_t n = gw->drop_log.n, i = s->drops_seen;
	s->drops_seen = n;
	if (n - i > DROP_LOG_ENTRIES)
		i = n - DROP_LOG_ENTRIES;
	for (; i < n; i++) {
		const struct drop_log_entry *e = &gw->drop_log.entry[i % DROP_LOG_ENTRIES];
		struct addr to;
		char text[FMT_IP6];
		if (e->reason == DROP_NO_ROUTE && destination(e, &to) && !has[to.is6])
			log_limited(&s->no_route_us[to.is6], NOTICE_MS,
			            "no route to %s: there is no default router of this family "
			            "(gateway)",
			            addr_text(text, &to));
	}
}

void notice_tick(struct gw *gw)
{
	bool has[2] = {false, false};
	look_at_routers(gw, has);
	look_at_drops(gw, has);
}

/* --- cables ---------------------------------------------------------------------------------- */

void notice_request(struct gw *gw, uint32_t iface, ip4 sender, ip4 target)
{
	char from[FMT_IP4], text[FMT_IP4];
	for (uint32_t i = 0; i < INTERFACES; i++)
		if (i != iface && interface_has4(&gw->iface[i], target))
			log_limited(
			        &gw->notice.swapped_us[iface], NOTICE_MS,
			        "%s: %s asks for %s, our address on %s: are the cables swapped?",
			        gw->iface[iface].name, fmt_ip4(from, sender), fmt_ip4(text, target),
			        gw->iface[i].name);
}
