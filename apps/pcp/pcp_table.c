/* What inside hosts asked for; see pcp.h. */
#include "kernel/lib/bucket.h"
#include "kernel/lib/when.h"

#include "apps/pcp/pcp.h"
#include "net/client.h"
#include "net/dhcps/dhcps.h"

#define TICK_ENTRIES 128u

/* A host renews all that it may have twice within some seconds, and goes on with 20 a second. */
static const struct bucket of_host = {.token_us = 50000, .depth_us = 6400000};
static const struct bucket of_all = {.token_us = 500, .depth_us = 1000000};

void pcp_table_init(struct pcp *c, uint32_t sessions, struct rng *rng)
{
	c->key.k[0] = rng_u32(rng);
	c->key.k[1] = rng_u32(rng);
	c->free = NAT_NONE;
	c->most = max_u32(min_u32(sessions / 4, PCP_ENTRIES), 1);
	memset(c->bucket, 0xff, sizeof c->bucket); /* NAT_NONE */
	memset(c->owner, 0xff, sizeof c->owner);
}

static uint32_t hash_of(const struct pcp *c, const struct addr *host)
{
	uint32_t w[5] = {host->is6};
	if (host->is6)
		memcpy(w + 1, &host->v6, sizeof host->v6);
	else
		w[1] = ip4_raw(host->v4);
	return hash_words(&c->key, w, ARRAY_SIZE(w));
}

/* The entries of one host are in one chain, of 4096 at most, which the limit keeps short. */
static uint32_t *head(struct pcp *c, const struct addr *host)
{
	return &c->bucket[hash_of(c, host) % PCP_ENTRIES];
}

static bool take_token(const struct gw *gw, const struct bucket *b, uint64_t *full_us)
{
	uint32_t owed = bucket_owed(gw->clock.us, *full_us);
	bool taken = bucket_take(b, &owed, 1);
	*full_us = gw->clock.us + owed;
	return taken;
}

bool pcp_table_may_ask(const struct gw *gw, struct pcp *c, uint32_t client)
{
	return take_token(gw, &of_host, &c->host_us[client % PCP_BUCKETS]) &&
	       take_token(gw, &of_all, &c->all_us);
}

struct pcp_entry *pcp_table_find(struct pcp *c, const struct pcp_ask *ask)
{
	for (uint32_t i = *head(c, &ask->host); i != NAT_NONE; i = c->entry[i].next) {
		struct pcp_entry *e = &c->entry[i];
		if (e->proto == ask->proto && e->port == ask->port && e->is_peer == ask->is_peer &&
		    (!e->is_peer || (e->rem_ip == ask->rem_ip && e->rem_port == ask->rem_port)) &&
		    addr_eq(&e->host, &ask->host))
			return e;
	}
	return NULL;
}

/* --- whose limit ------------------------------------------------------------------------------ */

static void put_under(struct pcp *c, uint32_t index, const struct gw *gw, uint32_t client,
                      uint32_t link)
{
	struct pcp_entry *e = &c->entry[index];
	uint32_t *first = &c->owner[client % PCP_ENTRIES];
	e->client = client;
	e->link = (uint8_t)link;
	e->is_known = client != client_nobody(gw, link);
	e->next_own = *first;
	*first = index;
}

static void take_from(struct pcp *c, uint32_t index)
{
	uint32_t *at = &c->owner[c->entry[index].client % PCP_ENTRIES];
	while (*at != index)
		at = &c->entry[*at].next_own;
	*at = c->entry[index].next_own;
}

static uint32_t count_own(const struct pcp *c, uint32_t client)
{
	uint32_t n = 0;
	for (uint32_t i = c->owner[client % PCP_ENTRIES]; i != NAT_NONE; i = c->entry[i].next_own)
		n += c->entry[i].client == client;
	return n;
}

/* A host that asks first thing is not known yet; the answer's way to it makes it known. Its entry
 * counts for it from then on, as far as it may have so many. */
static void make_known(struct gw *gw, struct pcp *c, struct pcp_entry *e)
{
	uint32_t index = (uint32_t)(e - c->entry), link = e->link;
	uint32_t client = client_of(gw, link, &e->host);
	if (client == e->client || count_own(c, client) >= pcp_config(gw->config)->limit)
		return;
	take_from(c, index);
	put_under(c, index, gw, client, link);
}

/* --- entries ---------------------------------------------------------------------------------- */

struct pcp_entry *pcp_table_add(struct gw *gw, struct pcp *c, const struct pcp_ask *ask)
{
	uint32_t *first = head(c, &ask->host), i = c->free;
	if (c->n >= c->most)
		return NULL;
	if (i != NAT_NONE)
		c->free = c->entry[i].next;
	else
		i = c->fresh++;
	struct pcp_entry *e = &c->entry[i];
	*e = (struct pcp_entry){.host = ask->host,
	                        .proto = ask->proto,
	                        .used = true,
	                        .pmp = ask->pmp,
	                        .is_peer = ask->is_peer,
	                        .port = ask->port,
	                        .mapping = NAT_NONE,
	                        .rem_ip = ask->rem_ip,
	                        .rem_port = ask->rem_port,
	                        .next = *first};
	memcpy(e->nonce, ask->nonce, sizeof e->nonce);
	*first = i;
	put_under(c, i, gw, ask->client, ask->link);
	c->n++;
	return e;
}

void pcp_table_end(struct gw *gw, struct pcp *c, struct pcp_entry *e)
{
	struct nat_table *t = &nat_of(gw)->table;
	uint32_t index = (uint32_t)(e - c->entry), *at = head(c, &e->host);
	while (*at != index)
		at = &c->entry[*at].next;
	*at = e->next;
	take_from(c, index);
	if (e->mapping != NAT_NONE)
		nat_mapping_unask(t, &t->mapping[e->mapping]);
	e->used = false;
	e->next = c->free;
	c->free = index;
	c->n--;
}

bool pcp_table_is_over(const struct gw *gw, const struct pcp *c, const struct pcp_ask *ask)
{
	uint32_t n = 0, limit = pcp_config(gw->config)->limit;
	for (uint32_t i = *head((struct pcp *)c, &ask->host); i != NAT_NONE; i = c->entry[i].next)
		n += addr_eq(&c->entry[i].host, &ask->host);
	return n >= limit || count_own(c, ask->client) >= limit;
}

/* Gives the session of a PEER entry the rest of its time. False when there is none any more. */
static bool keep_session(const struct gw *gw, const struct pcp_entry *e)
{
	const struct nat_table *t = &nat_of(gw)->table;
	uint32_t in_ip = pcp_known(gw, &e->host);
	struct nat_session *s = in_ip == NAT_NONE
	                                ? NULL
	                                : nat_session_find(t, e->proto, in_ip, e->rem_ip,
	                                                   e->port | (uint32_t)e->rem_port << 16);
	if (!s || (s->proto == NAT_TCP && s->state != NAT_INIT && !nat_tcp_is_open(s->state)))
		return false;
	if (nat_session_left(s, gw->clock.s) < when_left(gw->clock.s, e->until_s, PCP_LONGEST_S))
		s->expire_s = e->until_s;
	return true;
}

/* True when the lease of the entry's host is over, or another station has it. A host
 * that asked before it renewed its lease has one since then: the server forgets its leases at a
 * restart. */
static bool has_left(const struct gw *gw, struct pcp_entry *e)
{
	mac station;
	if (e->host.is6)
		return false;
	bool leased = dhcps_holder(gw, e->host.v4, &station);
	if (e->is_leased)
		return !leased || !mac_eq(&station, &e->station);
	if (leased) {
		e->is_leased = true;
		e->station = station;
	}
	return false;
}

static void look(struct gw *gw, struct pcp *c, struct pcp_entry *e)
{
	bool over = when_left(gw->clock.s, e->until_s, PCP_LONGEST_S) == 0, left = has_left(gw, e);
	if (!e->is_known)
		make_known(gw, c, e);
	if (!over && !left && (!e->is_peer || keep_session(gw, e)))
		return;
	c->expired += over;
	c->unleased += !over && left;
	pcp_table_end(gw, c, e);
}

void pcp_table_tick(struct gw *gw, struct pcp *c)
{
	for (uint32_t i = 0; i < min_u32(TICK_ENTRIES, c->fresh); i++) {
		struct pcp_entry *e = &c->entry[c->sweep];
		c->sweep = c->sweep + 1 < c->fresh ? c->sweep + 1 : 0;
		if (e->used)
			look(gw, c, e);
	}
}

void pcp_table_clear(struct gw *gw, struct pcp *c)
{
	for (uint32_t i = 0; i < c->fresh; i++)
		if (c->entry[i].used)
			pcp_table_end(gw, c, &c->entry[i]);
}
