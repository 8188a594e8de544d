/* See autoconf_table.h. */
#include "net/autoconf/autoconf_table.h"

#include "kernel/lib/bucket.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"

#define TWO_HOURS 7200u

/* New entries: 32 at once, then one a second. Each may cost a line in the log. */
static const struct bucket fresh = {1000000, 32 * 1000000};

static uint64_t end_of(uint64_t now, uint32_t lifetime)
{
	return lifetime == UINT32_MAX ? AUTOCONF_FOREVER : now + lifetime * 1000000ull;
}

uint32_t autoconf_table_left(uint64_t now, uint64_t until_us)
{
	if (until_us == AUTOCONF_FOREVER)
		return UINT32_MAX;
	return until_us > now ? (uint32_t)((until_us - now) / 1000000) : 0;
}

bool autoconf_table_may_change(struct autoconf *a, uint64_t now)
{
	uint32_t owed = bucket_owed(now, a->new_us);
	if (!bucket_take(&fresh, &owed, 1)) {
		a->refused++;
		return false;
	}
	a->new_us = now + owed;
	return true;
}

/* --- routers -------------------------------------------------------------------------- */

static struct autoconf_router *find_router(struct autoconf *a, const ip6 *addr)
{
	for (uint32_t i = 0; i < a->n_routers; i++)
		if (ip6_eq(&a->router[i].addr, addr))
			return &a->router[i];
	return NULL;
}

/* True while a router is known and answers; then what it has advertised is not replaced. */
static bool stands(const struct autoconf *a, const ip6 *router)
{
	for (uint32_t i = 0; i < a->n_routers; i++)
		if (ip6_eq(&a->router[i].addr, router))
			return !a->router[i].silent;
	return false;
}

static void say_gone(const struct autoconf_router *r, const char *why)
{
	char text[FMT_IP6];
	log_line("wan: router %s is gone: %s", fmt_ip6(text, &r->addr), why);
}

/* Removes a router and its routes. */
static void remove_router(struct autoconf *a, struct autoconf_router *r, const char *why)
{
	uint32_t n = 0;
	say_gone(r, why);
	for (uint32_t i = 0; i < a->n_routes; i++)
		if (!ip6_eq(&a->route[i].router, &r->addr))
			a->route[n++] = a->route[i];
	a->n_routes = n;
	for (; r + 1 < &a->router[a->n_routers]; r++)
		r[0] = r[1];
	a->n_routers--;
}

/* A router, taken in if it is new; NULL when there is no room. */
static struct autoconf_router *take_router(struct autoconf *a, uint64_t now, const ip6 *addr)
{
	char text[FMT_IP6];
	struct autoconf_router *r = find_router(a, addr);
	if (r)
		return r;
	if (!autoconf_table_may_change(a, now))
		return NULL;
	for (uint32_t i = 0; a->n_routers == AUTOCONF_ROUTERS && i < a->n_routers; i++)
		if (a->router[i].silent)
			remove_router(a, &a->router[i], "it does not answer");
	if (a->n_routers == AUTOCONF_ROUTERS) {
		a->refused++;
		return NULL;
	}
	r = &a->router[a->n_routers++];
	*r = (struct autoconf_router){.addr = *addr};
	log_line("wan: router %s appeared", fmt_ip6(text, addr));
	return r;
}

/* Removes a router that has neither a default route nor another one. */
static void leave_idle(struct autoconf *a, struct autoconf_router *r, const char *why)
{
	if (r->until_us)
		return;
	for (uint32_t i = 0; i < a->n_routes; i++)
		if (ip6_eq(&a->route[i].router, &r->addr))
			return;
	remove_router(a, r, why);
}

void autoconf_table_router(struct autoconf *a, uint64_t now, const ip6 *router, uint32_t lifetime,
                           enum autoconf_rank rank)
{
	struct autoconf_router *r = lifetime ? take_router(a, now, router) : find_router(a, router);
	if (!r)
		return;
	r->until_us = lifetime ? end_of(now, lifetime) : 0;
	r->rank = (uint8_t)rank;
	leave_idle(a, r, "it says so");
}

void autoconf_table_no_router(struct autoconf *a, const ip6 *station)
{
	struct autoconf_router *r = find_router(a, station);
	if (r)
		remove_router(a, r, "it is no router any more");
}

bool autoconf_table_has_default(const struct autoconf *a)
{
	for (uint32_t i = 0; i < a->n_routers; i++)
		if (a->router[i].until_us)
			return true;
	return false;
}

/* --- prefixes and addresses ------------------------------------------------------------ */

static struct autoconf_prefix *find_prefix(struct autoconf *a, const ip6 *net, uint8_t len)
{
	for (uint32_t i = 0; i < a->n_prefixes; i++)
		if (a->prefix[i].len == len && addr_in6(&a->prefix[i].net, net, len))
			return &a->prefix[i];
	return NULL;
}

/* A prefix, taken in if it is new; NULL when there is no room. */
static struct autoconf_prefix *take_prefix(struct autoconf *a, uint64_t now, const ip6 *net,
                                           uint8_t len)
{
	struct autoconf_prefix *p = find_prefix(a, net, len);
	if (p)
		return p;
	if (!autoconf_table_may_change(a, now))
		return NULL;
	if (a->n_prefixes < AUTOCONF_PREFIXES)
		p = &a->prefix[a->n_prefixes++];
	for (uint32_t i = 0; !p && i < a->n_prefixes; i++)
		if (!stands(a, &a->prefix[i].router))
			p = &a->prefix[i];
	if (!p) {
		a->refused++;
		return NULL;
	}
	*p = (struct autoconf_prefix){.net = addr_net6(net, len), .len = len};
	return p;
}

void autoconf_table_on_link(struct autoconf *a, uint64_t now, const ip6 *router, const ip6 *net,
                            uint8_t len, uint32_t valid)
{
	struct autoconf_prefix *p =
	        valid ? take_prefix(a, now, net, len) : find_prefix(a, net, len);
	if (!p)
		return;
	p->router = *router;
	p->on_link_us = valid ? end_of(now, valid) : 0;
}

void autoconf_table_address(struct autoconf *a, uint64_t now, const ip6 *router, const ip6 *net,
                            uint32_t valid, uint32_t preferred)
{
	struct autoconf_prefix *p = valid ? take_prefix(a, now, net, 64) : find_prefix(a, net, 64);
	if (!p || (valid == 0 && p->valid_us == 0))
		return;
	uint32_t left = autoconf_table_left(now, p->valid_us);
	p->router = *router;
	p->refused = false;
	p->preferred_us = end_of(now, preferred);
	if (p->valid_us == 0 || valid > TWO_HOURS || valid > left)
		p->valid_us = end_of(now, valid);
	else if (left > TWO_HOURS)
		p->valid_us = end_of(now, TWO_HOURS);
}

/* --- routes ---------------------------------------------------------------------------- */

static struct autoconf_route *find_route(struct autoconf *a, const ip6 *router, const ip6 *net,
                                         uint8_t len)
{
	for (uint32_t i = 0; i < a->n_routes; i++) {
		struct autoconf_route *r = &a->route[i];
		if (r->len == len && ip6_eq(&r->router, router) && addr_in6(&r->net, net, len))
			return r;
	}
	return NULL;
}

/* Removes a route, and its router if that has no other. */
static void remove_route(struct autoconf *a, struct autoconf_route *r, const char *why)
{
	struct autoconf_router *of = find_router(a, &r->router);
	a->n_routes--;
	for (; r < &a->route[a->n_routes]; r++)
		r[0] = r[1];
	if (of)
		leave_idle(a, of, why);
}

void autoconf_table_route(struct autoconf *a, uint64_t now, const ip6 *router, const ip6 *net,
                          uint8_t len, uint32_t lifetime, enum autoconf_rank rank)
{
	struct autoconf_route *r = find_route(a, router, net, len);
	if (lifetime == 0) {
		if (r)
			remove_route(a, r, "it says so");
		return;
	}
	if (!r) {
		if (a->n_routes == AUTOCONF_ROUTES) {
			a->refused++;
			return;
		}
		if (!autoconf_table_may_change(a, now) || !take_router(a, now, router))
			return;
		r = &a->route[a->n_routes++];
		*r = (struct autoconf_route){
		        .net = addr_net6(net, len), .len = len, .router = *router};
	}
	r->rank = (uint8_t)rank;
	r->until_us = end_of(now, lifetime);
}

/* Where a route leads and how good that is: the higher the better. */
static uint32_t worth(const struct autoconf *a, const ip6 *router, uint8_t rank)
{
	return rank + (stands(a, router) ? AUTOCONF_HIGH + 1u : 0u);
}

uint32_t autoconf_table_hops(const struct autoconf *a, struct autoconf_hop *out)
{
	uint32_t best[1 + AUTOCONF_ROUTES], n = 0;
	for (uint32_t i = 0; i < a->n_routers; i++) {
		const struct autoconf_router *r = &a->router[i];
		uint32_t is = worth(a, &r->addr, r->rank);
		if (r->until_us == 0 || (n && is <= best[0]))
			continue;
		n = 1;
		best[0] = is;
		out[0] = (struct autoconf_hop){.via = r->addr};
	}
	for (uint32_t i = 0; i < a->n_routes; i++) {
		const struct autoconf_route *r = &a->route[i];
		uint32_t is = worth(a, &r->router, r->rank), k = 0;
		while (k < n && !(out[k].len == r->len && ip6_eq(&out[k].net, &r->net)))
			k++;
		if (k < n && is <= best[k])
			continue;
		best[k] = is;
		out[k] = (struct autoconf_hop){.net = r->net, .via = r->router, .len = r->len};
		n += k == n;
	}
	return n;
}

/* --- DNS servers and PREF64 --------------------------------------------------------------- */

/* True when the list is another one. */
static bool take_server(struct autoconf *a, uint64_t now, struct autoconf_server *list, uint32_t *n,
                        uint32_t most, const struct autoconf_server *one, uint32_t lifetime)
{
	struct autoconf_server *s = NULL;
	for (uint32_t i = 0; !s && i < *n; i++)
		if (list[i].len == one->len && ip6_eq(&list[i].addr, &one->addr))
			s = &list[i];
	bool known = s != NULL;
	if (lifetime == 0) {
		for (*n -= known; known && s < list + *n; s++)
			s[0] = s[1];
		return known;
	}
	if (!known && !autoconf_table_may_change(a, now))
		return false;
	if (!known && *n < most)
		s = &list[(*n)++];
	for (uint32_t i = 0; !s && i < *n; i++)
		if (!stands(a, &list[i].router))
			s = &list[i];
	if (!s) {
		a->refused++;
		return false;
	}
	*s = *one;
	s->until_us = end_of(now, lifetime);
	return !known;
}

void autoconf_table_server(struct autoconf *a, uint64_t now, const ip6 *router, const ip6 *server,
                           uint32_t lifetime)
{
	const struct autoconf_server one = {.addr = *server, .len = 128, .router = *router};
	a->servers_changed +=
	        take_server(a, now, a->server, &a->n_servers, AUTOCONF_SERVERS, &one, lifetime);
}

void autoconf_table_pref64(struct autoconf *a, uint64_t now, const ip6 *router, const ip6 *net,
                           uint8_t len, uint32_t lifetime)
{
	const struct autoconf_server one = {
	        .addr = addr_net6(net, len), .len = len, .router = *router};
	take_server(a, now, a->pref64, &a->n_pref64, AUTOCONF_PREF64, &one, lifetime);
}

/* --- ends ------------------------------------------------------------------------------- */

/* True when one has ended. */
static bool expire_servers(struct autoconf_server *list, uint32_t *n, uint64_t now)
{
	uint32_t kept = 0, had = *n;
	for (uint32_t i = 0; i < *n; i++)
		if (list[i].until_us > now)
			list[kept++] = list[i];
	*n = kept;
	return kept != had;
}

void autoconf_table_expire(struct autoconf *a, uint64_t now)
{
	static const char why[] = "its lifetime is over";
	uint32_t n = 0;
	for (uint32_t i = a->n_routes; i-- > 0;)
		if (a->route[i].until_us <= now)
			remove_route(a, &a->route[i], why);
	for (uint32_t i = a->n_routers; i-- > 0;)
		if (a->router[i].until_us && a->router[i].until_us <= now) {
			a->router[i].until_us = 0;
			leave_idle(a, &a->router[i], why);
		}
	for (uint32_t i = 0; i < a->n_prefixes; i++) {
		struct autoconf_prefix *p = &a->prefix[i];
		if (p->on_link_us <= now)
			p->on_link_us = 0;
		if (p->valid_us <= now)
			p->valid_us = 0;
		if (p->on_link_us || p->valid_us)
			a->prefix[n++] = *p;
	}
	a->n_prefixes = n;
	a->servers_changed += expire_servers(a->server, &a->n_servers, now);
	(void)expire_servers(a->pref64, &a->n_pref64, now);
}

void autoconf_table_clear(struct autoconf *a)
{
	a->servers_changed++;
	a->n_routers = a->n_prefixes = a->n_routes = a->n_servers = a->n_pref64 = 0;
}
