/* See dhcps_table.h. */
#include "net/dhcps/dhcps_table.h"

#include "kernel/lib/alloc.h"

bool dhcps_table_init(struct dhcps_net *net, const struct dhcps_config_net *c)
{
	uint32_t size = 16;
	net->n = net->n_pool;
	for (uint32_t k = 0; k < c->n_fixed; k++)
		net->n += ip4_get(c->fixed[k].addr) - net->first >= net->n_pool;
	while (size < net->n)
		size *= 2;
	net->mask = size - 1;
	net->slot = alloc(net->n * sizeof *net->slot, 64);
	net->client = alloc(net->n * sizeof *net->client, 64);
	net->by_id = alloc(size * sizeof *net->by_id, 64);
	net->by_mac = alloc(size * sizeof *net->by_mac, 64);
	if (!net->slot || !net->client || !net->by_id || !net->by_mac)
		return false;
	memset(net->by_id, 0xff, size * sizeof *net->by_id);
	memset(net->by_mac, 0xff, size * sizeof *net->by_mac);
	uint32_t outside = net->n_pool;
	for (uint32_t k = 0; k < c->n_fixed; k++) {
		uint32_t i = ip4_get(c->fixed[k].addr) - net->first;
		net->slot[i < net->n_pool ? i : outside++].fixed = (uint8_t)(k + 1);
	}
	return true;
}

enum dhcps_state dhcps_table_state(const struct dhcps_net *net, uint32_t i, uint32_t now)
{
	const struct dhcps_slot *s = &net->slot[i];
	return s->end <= now ? DHCPS_FREE : (enum dhcps_state)s->state;
}

ip4 dhcps_table_address(const struct dhcps_net *net, const struct dhcps_config_net *c, uint32_t i)
{
	return i < net->n_pool ? ip4_of(net->first + i) : c->fixed[net->slot[i].fixed - 1].addr;
}

uint32_t dhcps_table_at(const struct dhcps_net *net, const struct dhcps_config_net *c, ip4 a)
{
	uint32_t i = ip4_get(a) - net->first;
	if (i < net->n_pool)
		return i;
	for (i = net->n_pool; i < net->n; i++)
		if (ip4_eq(dhcps_table_address(net, c, i), a))
			return i;
	return DHCPS_NONE;
}

/* --- chains ------------------------------------------------------------------------------------
 */

static uint32_t hash_id(const struct gw *gw, const struct dhcps_id *id)
{
	uint32_t w[64] = {0};
	memcpy(w, id->bytes, id->len);
	return hash_words(&gw->client_key, w, (id->len + 3u) / 4) + id->len;
}

static uint32_t hash_mac(const struct gw *gw, const mac *a)
{
	return hash_three(&gw->client_key, load32(a->b), load16(a->b + 4), 0);
}

static bool id_eq(const struct dhcps_id *a, const struct dhcps_id *b)
{
	return a->len == b->len && a->second == b->second &&
	       memcmp(a->bytes, b->bytes, a->len) == 0;
}

uint32_t dhcps_table_of(const struct gw *gw, const struct dhcps_net *net, const struct dhcps_id *id)
{
	uint16_t i = net->by_id[hash_id(gw, id) & net->mask];
	while (i != DHCPS_END && !id_eq(&net->client[i].id, id))
		i = net->client[i].next_id;
	return i == DHCPS_END ? DHCPS_NONE : i;
}

bool dhcps_table_is_of(const struct dhcps_net *net, uint32_t i, const struct dhcps_who *who)
{
	const struct dhcps_client *c = &net->client[i];
	return net->slot[i].known && mac_eq(&c->address, &who->client) &&
	       (mac_eq(&c->agent, &who->agent) || mac_eq(&c->address, &who->agent));
}

/* Counts an address that is not free. */
static void count(const struct dhcps_net *net, uint32_t i, uint32_t *n, uint32_t *oldest)
{
	++*n;
	if (*oldest == DHCPS_NONE || net->slot[i].end < net->slot[*oldest].end)
		*oldest = i;
}

uint32_t dhcps_table_count(const struct gw *gw, const struct dhcps_net *net,
                           const struct dhcps_who *who, uint32_t now, uint32_t *oldest)
{
	uint32_t n = 0;
	*oldest = DHCPS_NONE;
	for (uint16_t i = net->by_mac[hash_mac(gw, &who->client) & net->mask]; i != DHCPS_END;
	     i = net->client[i].next_mac)
		if (dhcps_table_is_of(net, i, who) && dhcps_table_state(net, i, now) != DHCPS_FREE)
			count(net, i, &n, oldest);
	return n;
}

uint32_t dhcps_table_count_agent(const struct dhcps_net *net, const mac *agent, uint32_t now,
                                 uint32_t *oldest)
{
	uint32_t n = 0;
	*oldest = DHCPS_NONE;
	for (uint32_t i = 0; i < net->n_pool; i++)
		if (net->slot[i].known && mac_eq(&net->client[i].agent, agent) &&
		    !mac_eq(&net->client[i].address, agent) &&
		    dhcps_table_state(net, i, now) != DHCPS_FREE)
			count(net, i, &n, oldest);
	return n;
}

static void join(const struct gw *gw, struct dhcps_net *net, uint32_t i)
{
	struct dhcps_client *c = &net->client[i];
	uint16_t *id = &net->by_id[hash_id(gw, &c->id) & net->mask];
	uint16_t *station = &net->by_mac[hash_mac(gw, &c->address) & net->mask];
	c->next_id = *id;
	c->next_mac = *station;
	*id = *station = (uint16_t)i;
	net->slot[i].known = true;
}

static void leave(const struct gw *gw, struct dhcps_net *net, uint32_t i)
{
	const struct dhcps_client *c = &net->client[i];
	if (!net->slot[i].known)
		return;
	uint16_t *at = &net->by_id[hash_id(gw, &c->id) & net->mask];
	while (*at != i)
		at = &net->client[*at].next_id;
	*at = c->next_id;
	at = &net->by_mac[hash_mac(gw, &c->address) & net->mask];
	while (*at != i)
		at = &net->client[*at].next_mac;
	*at = c->next_mac;
	net->slot[i].known = false;
}

/* --- changes -----------------------------------------------------------------------------------
 */

void dhcps_table_forget(const struct gw *gw, struct dhcps_net *net, uint32_t i,
                        enum dhcps_state state, uint32_t end)
{
	leave(gw, net, i);
	net->client[i].name[0] = '\0';
	net->slot[i].state = (uint8_t)state;
	net->slot[i].end = end;
}

void dhcps_table_take(const struct gw *gw, struct dhcps_net *net, uint32_t i,
                      const struct dhcps_id *id, const struct dhcps_who *who,
                      enum dhcps_state state, uint32_t end)
{
	uint32_t had = dhcps_table_of(gw, net, id);
	struct dhcps_client *c = &net->client[i];
	if (had != i) {
		if (had != DHCPS_NONE)
			dhcps_table_forget(gw, net, had, DHCPS_FREE, 0);
		c->name[0] = '\0';
	}
	leave(gw, net, i);
	c->id = *id;
	c->address = who->client;
	c->agent = who->agent;
	join(gw, net, i);
	net->slot[i].state = (uint8_t)state;
	net->slot[i].end = end;
}

/* True for an address of the pool that a host may have: no static lease's, none of our own. */
static bool is_host(const struct gw *gw, const struct dhcps_net *net, uint32_t i)
{
	const struct interface *iface = &gw->iface[net->iface];
	ip4 a = ip4_of(net->first + i);
	return i < net->n_pool && !net->slot[i].fixed && !interface_has4(iface, a) &&
	       !interface_is_broadcast4(iface, a) && !route4_claimed(&gw->routes4, a);
}

/* How late an address is taken: the smallest goes first. */
static uint32_t rank(const struct dhcps_net *net, uint32_t i, uint32_t now)
{
	enum dhcps_state state = dhcps_table_state(net, i, now);
	if (state == DHCPS_FREE)
		return net->slot[i].known ? 1 : 0;
	return state == DHCPS_OFFERED ? 2 : state == DHCPS_DECLINED ? 3 : 4;
}

uint32_t dhcps_table_pick(const struct gw *gw, const struct dhcps_net *net,
                          const struct dhcps_id *id, uint32_t wanted, uint32_t now)
{
	uint32_t best = DHCPS_NONE, least = 4;
	if (wanted != DHCPS_NONE && is_host(gw, net, wanted) &&
	    dhcps_table_state(net, wanted, now) == DHCPS_FREE)
		return wanted;
	/* The hash without a secret: the same after a restart. */
	uint32_t start = 0;
	for (uint32_t k = 0; k < id->len; k++)
		start = (start ^ id->bytes[k]) * 16777619u;
	start = (uint32_t)((uint64_t)start * net->n_pool >> 32);
	for (uint32_t k = 0, i = start; k < net->n_pool; k++, i = i + 1 < net->n_pool ? i + 1 : 0) {
		uint32_t r = rank(net, i, now);
		if (r > least ||
		    (r == least &&
		     (best == DHCPS_NONE || net->slot[i].end >= net->slot[best].end)) ||
		    !is_host(gw, net, i))
			continue;
		best = i;
		least = r;
		if (r == 0)
			break;
	}
	return best;
}

uint32_t dhcps_table_bound(const struct dhcps_net *net, uint32_t now)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < net->n; i++)
		n += dhcps_table_state(net, i, now) == DHCPS_BOUND;
	return n;
}
