/* See dns64_path.h. */
#include "apps/dns64/client/dns64_path.h"

#include "apps/dns64/client/dns64_limit.h"

void dns64_path_init(struct gw *gw, struct dns64_paths *d)
{
	for (unsigned i = 0; i < ARRAY_SIZE(d->mul); i++)
		d->mul[i] = rng_u32(gw->rng) | 1;
}

struct udp_path *dns64_path_to(const struct gw *gw, const struct udp_ends *e)
{
	return e->remote.is6 ? dns64_path6(gw, &e->remote.v6, &e->local.v6)
	                     : dns64_path4(gw, e->remote.v4, e->local.v4);
}

void dns64_path_note(struct gw *gw, const struct udp_ends *e)
{
	struct dns64_paths *d = dns64_paths_of(gw);
	const struct addr *a = &e->remote;
	if (LIKELY(dns64_path_to(gw, e) != NULL))
		return;
	/* A query that was answered has a good source, and our address is valid. */
	struct udp_path w;
	if (!dns64_limit_allows(gw, a) || !udp_path_find(gw, &w, a, &e->local) ||
	    w.iface != e->iface)
		return;
	d->path[a->is6 ? dns64_path_place6(d, &a->v6) : dns64_path_place4(d, a->v4)] = w;
}

uint32_t dns64_path_client(struct gw *gw, const struct udp_ends *e)
{
	bool is6 = e->remote.is6;
	struct udp_path *w = is6 ? dns64_path6(gw, &e->remote.v6, &e->local.v6) : NULL;
	const struct neigh *next = w ? udp_path_next(gw, w) : NULL;
	return next ? dns64_path_client6(gw, w, next) : client_of(gw, e->iface, &e->remote);
}
