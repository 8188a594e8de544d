/* MAP (RFC 6887 section 11): a port of the outer address for an inside endpoint. */
#include "apps/pcp/pcp.h"

#include "apps/nat64/nat64.h"
#include "kernel/lib/when.h"

/* Ports that are tried where the same one of the other protocol is another host's. */
#define TWIN_TRIES 8u

/* --- who asks --------------------------------------------------------------------------------- */

bool pcp_inside(struct gw *gw, const struct addr *host, uint32_t *in_ip)
{
	struct nat *n = nat_of(gw);
	bool six = n->table.inside6 != NULL; /* the forwarder is `nat64` */
	if (!host->is6) {
		const struct route4 *r = route4_for(&gw->routes4, host->v4);
		*in_ip = ip4_raw(host->v4);
		return (!six || nat64_of(gw)->nat44) && r && interface_is_inside(r->iface);
	}
	const struct route6 *r = route6_for(&gw->routes6, &host->v6);
	if (!six || !r || !interface_is_inside(r->iface) || ip6_is_link_local(&host->v6) ||
	    nat64_prefix_of(nat64_of(gw), &host->v6) != NAT64_NO_PREFIX)
		return false;
	*in_ip = nat_inside_get(n->table.inside6, &host->v6);
	if (*in_ip == NAT_INSIDE_NONE)
		return false;
	nat_inside_hold(n->table.inside6, *in_ip);
	return true;
}

uint32_t pcp_known(const struct gw *gw, const struct addr *host)
{
	const struct nat_insides *inside = nat_of(gw)->table.inside6;
	if (!host->is6)
		return ip4_raw(host->v4);
	return inside ? nat_inside_find(inside, &host->v6) : NAT_NONE;
}

void pcp_inside_done(struct gw *gw, uint32_t in_ip)
{
	struct nat_insides *inside = nat_of(gw)->table.inside6;
	if (inside && nat_inside_is6(in_ip))
		nat_inside_release(inside, in_ip);
}

/* --- one port --------------------------------------------------------------------------------- */

static struct pcp_given refuse(enum pcp_result why)
{
	return (struct pcp_given){.result = why};
}

/* True when a request may not touch an entry: another client made it (section 11.3). What came by
 * NAT-PMP has no nonce, so the same host may take it over. */
static bool is_others(const struct pcp_entry *e, const struct pcp_ask *ask)
{
	return !e->pmp && (ask->pmp || memcmp(e->nonce, ask->nonce, sizeof e->nonce) != 0);
}

/* Another client's mapping: the error lasts as long as it does (section 11.3). */
static struct pcp_given not_yours(const struct gw *gw, const struct pcp_entry *e)
{
	return (struct pcp_given){
	        .result = PCP_NOT_AUTHORIZED,
	        .lifetime_s = when_left(gw->clock.s, e->until_s, PCP_LONGEST_S),
	};
}

static bool suits(const struct nat_mapping *m, const struct pcp_ask *ask)
{
	return (!ask->suggested || m->ext_port == ask->suggested) &&
	       (!ask->suggested_ip || m->ext_ip == ask->suggested_ip);
}

static struct pcp_given give(const struct nat_mapping *m, uint32_t lifetime_s)
{
	return (struct pcp_given){PCP_SUCCESS, lifetime_s, m->ext_ip, m->ext_port};
}

static struct pcp_given renew(const struct gw *gw, struct pcp_entry *e, const struct pcp_ask *ask)
{
	const struct nat_mapping *m = &nat_of(gw)->table.mapping[e->mapping];
	uint32_t lifetime_s = min_u32(max_u32(ask->lifetime_s, PCP_LEAST_S), PCP_LONGEST_S);
	if (ask->strict && !suits(m, ask))
		return refuse(PCP_CANNOT_PROVIDE_EXTERNAL);
	e->until_s = gw->clock.s + lifetime_s;
	e->pmp = ask->pmp;
	memcpy(e->nonce, ask->nonce, sizeof e->nonce);
	return give(m, lifetime_s);
}

/* True when another host was given, or the configuration gave it, the same port of the other
 * protocol (RFC 6886 section 3.3). Sessions that hold it by chance do not count. */
static bool is_apart(const struct nat_table *t, const struct nat_mapping *m)
{
	uint8_t other = m->proto == NAT_UDP ? NAT_TCP : NAT_UDP;
	const struct nat_mapping *twin = nat_mapping_of_port(t, m->external, other, m->ext_port);
	return twin && twin->is_static && twin->in_ip != m->in_ip;
}

static struct nat_mapping *new_mapping(struct gw *gw, const struct pcp_ask *ask, uint32_t in_ip)
{
	struct nat_table *t = &nat_of(gw)->table;
	enum nat_lack lack = NAT_HAS_ALL;
	uint16_t suggested = ask->suggested;
	for (uint32_t i = 0; i < TWIN_TRIES; i++) {
		struct nat_mapping *m =
		        nat_mapping_ask(t, ask->proto, in_ip, ask->port, suggested, &lack);
		if (!m || !is_apart(t, m))
			return m;
		nat_mapping_drop(t, m);
		suggested = swap16((uint16_t)(1024 + rng_below(t->rng, 65536 - 1024)));
	}
	return NULL;
}

/* A mapping for an endpoint that has none that was asked for: that of its sessions, or a new one.
 */
static struct nat_mapping *mapping_for(struct gw *gw, const struct pcp_ask *ask, uint32_t in_ip,
                                       enum pcp_result *why)
{
	struct nat_table *t = &nat_of(gw)->table;
	struct nat_mapping *m = nat_mapping_find(t, ask->proto, in_ip, ask->port);
	bool fresh = !m;
	*why = PCP_NO_RESOURCES;
	if (!m)
		m = new_mapping(gw, ask, in_ip);
	if (m && ask->strict && !suits(m, ask)) {
		*why = PCP_CANNOT_PROVIDE_EXTERNAL;
		if (fresh)
			nat_mapping_drop(t, m);
		return NULL;
	}
	return m;
}

/* The PCP ports themselves are not mapped (section 11.3). */
static bool is_ours(const struct pcp_ask *ask)
{
	return ask->proto == NAT_UDP &&
	       (ask->port == swap16(PCP_PORT) || ask->port == swap16(PCP_CLIENT_PORT));
}

static struct pcp_given map_new(struct gw *gw, struct pcp *c, const struct pcp_ask *ask)
{
	struct nat_table *t = &nat_of(gw)->table;
	enum pcp_result why = PCP_NO_RESOURCES;
	uint32_t in_ip = NAT_NONE;
	if (is_ours(ask))
		return refuse(PCP_NOT_AUTHORIZED);
	if (c->ext_ip == 0)
		return refuse(PCP_NETWORK_FAILURE);
	if (pcp_table_is_over(gw, c, ask))
		return refuse(PCP_USER_EX_QUOTA);
	if (c->n >= c->most)
		return refuse(PCP_NO_RESOURCES);
	if (!pcp_inside(gw, &ask->host, &in_ip))
		return refuse(PCP_NOT_AUTHORIZED);
	struct nat_mapping *m = mapping_for(gw, ask, in_ip, &why);
	pcp_inside_done(gw, in_ip);
	if (!m)
		return refuse(why);
	/* A port forwarding of the configuration stays, whatever host asks (section 11.3). */
	if (m->is_static)
		return give(m, 0xffffffff);
	struct pcp_entry *e = pcp_table_add(gw, c, ask);
	e->mapping = (uint32_t)(m - t->mapping);
	m->is_static = 1;
	return renew(gw, e, ask);
}

static struct pcp_given unmap(struct gw *gw, struct pcp *c, struct pcp_entry *e,
                              const struct pcp_ask *ask)
{
	const struct nat_table *t = &nat_of(gw)->table;
	uint32_t in_ip = pcp_known(gw, &ask->host);
	const struct nat_mapping *m =
	        in_ip == NAT_NONE ? NULL : nat_mapping_find(t, ask->proto, in_ip, ask->port);
	if (!e && m && m->is_static)
		return refuse(PCP_NOT_AUTHORIZED);
	if (e)
		pcp_table_end(gw, c, e);
	return (struct pcp_given){PCP_SUCCESS, 0, ask->suggested_ip, ask->suggested};
}

struct pcp_given pcp_map(struct gw *gw, struct pcp *c, const struct pcp_ask *ask)
{
	struct pcp_entry *e = pcp_table_find(c, ask);
	if (e && when_left(gw->clock.s, e->until_s, PCP_LONGEST_S) == 0) {
		pcp_table_end(gw, c, e);
		e = NULL;
	}
	if (e && is_others(e, ask))
		return not_yours(gw, e);
	if (ask->lifetime_s == 0)
		return unmap(gw, c, e, ask);
	return e ? renew(gw, e, ask) : map_new(gw, c, ask);
}

enum pcp_result pcp_map_all(struct gw *gw, struct pcp *c, const struct pcp_ask *ask)
{
	uint32_t ended = 0, left = 0;
	for (uint32_t i = 0; i < c->fresh; i++) {
		struct pcp_entry *e = &c->entry[i];
		if (!e->used || e->is_peer || !addr_eq(&e->host, &ask->host) ||
		    (ask->proto != NAT_OTHER && e->proto != ask->proto))
			continue;
		if (is_others(e, ask)) {
			left++;
			continue;
		}
		pcp_table_end(gw, c, e);
		ended++;
	}
	return left && !ended ? PCP_NOT_AUTHORIZED : PCP_SUCCESS;
}
