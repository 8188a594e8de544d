/* PEER (RFC 6887 section 12): a session with one remote endpoint, which lasts as long as was asked
 * for without packets. */
#include "apps/pcp/pcp.h"

#include "apps/nat64/nat64.h"
#include "net/gw_address.h"

static struct pcp_given refuse(enum pcp_result why)
{
	return (struct pcp_given){.result = why};
}

static bool suits(const struct nat_mapping *m, const struct pcp_ask *ask)
{
	return (!ask->suggested || m->ext_port == ask->suggested) &&
	       (!ask->suggested_ip || m->ext_ip == ask->suggested_ip);
}

/* A session that nobody has used yet. The suggested port is only for an endpoint without a mapping.
 */
static struct nat_session *open_session(struct gw *gw, const struct pcp_ask *ask, uint32_t in_ip,
                                        enum pcp_result *why)
{
	struct nat *n = nat_of(gw);
	enum nat_lack lack = NAT_HAS_ALL;
	enum drop drop = DROP_NONE;
	struct nat_mapping *m = nat_mapping_find(&n->table, ask->proto, in_ip, ask->port);
	bool fresh = !m;
	if (!m)
		m = nat_mapping_ask(&n->table, ask->proto, in_ip, ask->port, ask->suggested, &lack);
	*why = PCP_NO_RESOURCES;
	struct nat_session *s = NULL;
	if (m && !suits(m, ask))
		*why = PCP_CANNOT_PROVIDE_EXTERNAL;
	else if (m && n->table.n_sessions < n->table.size)
		s = nat_open_session_out(gw, n, ask->proto, in_ip, ask->rem_ip,
		                         ask->port | (uint32_t)ask->rem_port << 16, &drop);
	if (drop == DROP_HOST_LIMIT)
		*why = PCP_USER_EX_QUOTA;
	/* With DROP_TABLE_FULL the mapping is gone already. */
	if (!s && m && fresh && drop != DROP_TABLE_FULL)
		nat_mapping_drop(&n->table, m);
	if (s && nat_inside_is6(in_ip) && n->table.inside6)
		nat64_set_prefix(nat64_of(gw), s, ask->prefix);
	return s;
}

/* True for a remote address to which the NAT leads. */
static bool leads_to(const struct gw *gw, const struct pcp_ask *ask)
{
	ip4 to = ip4_from_raw(ask->rem_ip);
	const struct route4 *r = route4_for(&gw->routes4, to);
	return r && r->iface == IF_WAN && ip4_get(to) >> 24 != 0 && ip4_get(to) >> 28 < 14 &&
	       !gw_is_own(gw, to) && !nat_is_external(nat_of(gw), to);
}

static struct pcp_given keep(const struct gw *gw, struct pcp_entry *e, const struct pcp_ask *ask,
                             struct nat_session *s)
{
	uint32_t lifetime_s = min_u32(max_u32(ask->lifetime_s, PCP_LEAST_S), PCP_LONGEST_S);
	/* No shorter than the session has anyway (section 12.3). */
	lifetime_s = max_u32(lifetime_s, min_u32(nat_session_left(s, gw->clock.s), PCP_LONGEST_S));
	e->until_s = gw->clock.s + lifetime_s;
	if (nat_session_left(s, gw->clock.s) < lifetime_s)
		s->expire_s = e->until_s;
	return (struct pcp_given){PCP_SUCCESS, lifetime_s, s->ext_ip, s->ext_port};
}

struct pcp_given pcp_peer(struct gw *gw, struct pcp *c, const struct pcp_ask *ask)
{
	const struct nat_table *t = &nat_of(gw)->table;
	struct pcp_entry *e = pcp_table_find(c, ask);
	enum pcp_result why = PCP_NO_RESOURCES;
	uint32_t in_ip = NAT_NONE;
	if (e && memcmp(e->nonce, ask->nonce, sizeof e->nonce) != 0)
		return refuse(PCP_NOT_AUTHORIZED);
	if (ask->lifetime_s == 0) { /* sessions end by themselves (section 12.1) */
		if (e)
			pcp_table_end(gw, c, e);
		return (struct pcp_given){PCP_SUCCESS, 0, ask->suggested_ip, ask->suggested};
	}
	if (!leads_to(gw, ask))
		return refuse(PCP_NOT_AUTHORIZED);
	if (!e && pcp_table_is_over(gw, c, ask))
		return refuse(PCP_USER_EX_QUOTA);
	if (c->ext_ip == 0 || (!e && c->n >= c->most))
		return refuse(c->ext_ip ? PCP_NO_RESOURCES : PCP_NETWORK_FAILURE);
	if (!pcp_inside(gw, &ask->host, &in_ip))
		return refuse(PCP_NOT_AUTHORIZED);
	struct nat_session *s = nat_session_find(t, ask->proto, in_ip, ask->rem_ip,
	                                         ask->port | (uint32_t)ask->rem_port << 16);
	bool had = s != NULL;
	if (!had)
		s = open_session(gw, ask, in_ip, &why);
	pcp_inside_done(gw, in_ip);
	if (had && !suits(nat_mapping_of(nat_of(gw), s), ask))
		return refuse(PCP_CANNOT_PROVIDE_EXTERNAL);
	if (!s)
		return refuse(why);
	if (!e)
		e = pcp_table_add(gw, c, ask);
	return keep(gw, e, ask, s);
}
