/* See mld.h. */
#include "net/mld.h"

const ip6 mld_all_nodes = {{0xff, 2, [15] = 1}};
const ip6 mld_all_routers = {{0xff, 2, [15] = 2}};

ip6 mld_solicited(const ip6 *a)
{
	return (ip6){{0xff, 2, [11] = 1, [12] = 0xff, a->b[13], a->b[14], a->b[15]}};
}

static struct mld_group *find(struct gw_port *port, const ip6 *group)
{
	for (uint32_t i = 0; i < port->n_groups; i++)
		if (ip6_eq(&port->group[i].addr, group))
			return &port->group[i];
	return NULL;
}

void mld_join(struct gw *gw, uint32_t port, const ip6 *group)
{
	struct gw_port *at = &gw->port[port];
	struct mld_group *g = find(at, group);
	if (!g && at->n_groups < MLD_GROUPS) {
		g = &at->group[at->n_groups++];
		*g = (struct mld_group){.addr = *group};
		at->groups_changed = true;
	}
	if (g)
		g->users++;
}

void mld_leave(struct gw *gw, uint32_t port, const ip6 *group)
{
	struct gw_port *at = &gw->port[port];
	struct mld_group *g = find(at, group);
	if (!g || --g->users)
		return;
	*g = at->group[--at->n_groups];
	at->groups_changed = true;
}

bool mld_member(const struct gw_port *port, const ip6 *group)
{
	if (ip6_eq(group, &mld_all_nodes))
		return true;
	for (uint32_t i = 0; i < port->n_groups; i++)
		if (ip6_eq(&port->group[i].addr, group))
			return true;
	return false;
}

void mld_tick(struct gw *gw)
{
	(void)gw;
}
