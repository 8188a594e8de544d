/* See dhcps.h. */
#include "net/dhcps/dhcps.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/dhcps/dhcps_answer.h"
#include "net/dhcps/dhcps_probe.h"
#include "net/dhcps/dhcps_table.h"

#define SAY_MS      60000u
#define FQDN_NAME   3u /* bytes in front of the name in option 81 */
#define FQDN_LABELS 4u /* bit of its first byte: the name is in labels */

static const ip4 nothing;

static ip4 address_of(const struct dhcps_ask *ask, uint32_t i)
{
	return dhcps_table_address(ask->net, ask->c, i);
}

static enum dhcps_state state_of(const struct dhcps_ask *ask, uint32_t i)
{
	return dhcps_table_state(ask->net, i, ask->now);
}

/* --- who may have what -------------------------------------------------------------------------
 */

/* The static lease of a client's station; NULL when it has none. */
static const struct dhcps_config_static *static_of(const struct dhcps_ask *ask)
{
	for (uint32_t k = 0; k < ask->c->n_fixed; k++)
		if (mac_eq(&ask->c->fixed[k].address, &ask->m.hdr->chaddr))
			return &ask->c->fixed[k];
	return NULL;
}

/* The slot of its static lease; DHCPS_NONE also while another station has that address. */
static uint32_t static_slot(const struct dhcps_ask *ask)
{
	const struct dhcps_config_static *f = static_of(ask);
	uint32_t i = f ? dhcps_table_at(ask->net, ask->c, f->addr) : DHCPS_NONE;
	if (i == DHCPS_NONE || state_of(ask, i) == DHCPS_FREE)
		return i;
	return dhcps_table_is_of(ask->net, i, &ask->who) ? i : DHCPS_NONE;
}

/* True when a client that is not known may have an address: it is a host's of the pool and free, or
 * its static one. */
static bool may_have(const struct gw *gw, const struct dhcps_ask *ask, uint32_t i)
{
	uint32_t own = static_slot(ask);
	if (i == DHCPS_NONE || own != DHCPS_NONE)
		return i != DHCPS_NONE && i == own;
	return state_of(ask, i) == DHCPS_FREE &&
	       dhcps_table_pick(gw, ask->net, &ask->id, i, ask->now) == i;
}

/* One station has a few leases, whatever names it gives itself, and what is behind a relay agent,
 * whose frames may name any client, leaves a quarter of the pool to others: the place of an offer
 * is used again. False when it has too many. */
static bool has_place(struct gw *gw, const struct dhcps_ask *ask)
{
	uint32_t oldest, most = ask->net->n_pool - ask->net->n_pool / 4;
	if (dhcps_table_count(gw, ask->net, &ask->who, ask->now, &oldest) < DHCPS_MAC_LEASES &&
	    (!ask->relayed ||
	     dhcps_table_count_agent(ask->net, &ask->who.agent, ask->now, &oldest) < most))
		return true;
	if (state_of(ask, oldest) != DHCPS_OFFERED)
		return false;
	dhcps_probe_end(gw, ask->net, oldest);
	dhcps_table_forget(gw, ask->net, oldest, DHCPS_FREE, 0);
	return true;
}

/* The address for a client that asks for any (section 4.3.1): its static one, the one that it has
 * or had, the one that it wants, another one. */
static uint32_t choose(struct gw *gw, const struct dhcps_ask *ask, enum drop *why)
{
	uint32_t i = static_slot(ask), had = dhcps_table_of(gw, ask->net, &ask->id);
	*why = DROP_DHCPS_FULL;
	if (i != DHCPS_NONE)
		return i;
	if (had != DHCPS_NONE && !ask->net->slot[had].fixed && state_of(ask, had) != DHCPS_DECLINED)
		return had;
	if (!has_place(gw, ask)) {
		*why = DROP_DHCPS_LIMITED;
		return DHCPS_NONE;
	}
	return dhcps_table_pick(gw, ask->net, &ask->id,
	                        dhcps_table_at(ask->net, ask->c, ask->wanted), ask->now);
}

/* --- names -------------------------------------------------------------------------------------
 */

/* True when another host of the network has a name: the first keeps it. */
static bool is_taken(const struct dhcps_ask *ask, uint32_t i, const char *name)
{
	for (uint32_t k = 0; k < ask->c->n_fixed; k++)
		if (ask->net->slot[i].fixed != k + 1 && strcmp(ask->c->fixed[k].name, name) == 0)
			return true;
	for (uint32_t k = 0; k < ask->net->n; k++)
		if (k != i && ask->net->slot[k].known && state_of(ask, k) == DHCPS_BOUND &&
		    strcmp(ask->net->client[k].name, name) == 0)
			return true;
	return false;
}

/* Reads the name that a client gives itself: option 12, or else the first label of option 81 (RFC
 * 4702 section 2), which is a label on the wire or text. False when there is none that is right. */
static bool read_name(const struct dhcps_ask *ask, char name[DHCPS_NAME])
{
	uint8_t said[255];
	uint32_t n;
	if (dhcp_message_get(&ask->m, DHCP_HOST_NAME, said, sizeof said, &n))
		return dhcps_name((const char *)said, min_u32(n, sizeof said), name);
	if (!dhcp_message_get(&ask->m, DHCP_FQDN, said, sizeof said, &n) || n <= FQDN_NAME)
		return false;
	uint32_t at = FQDN_NAME, end = min_u32(n, sizeof said);
	if (said[0] & FQDN_LABELS) {
		end = min_u32(end, at + 1 + said[at]);
		at++;
	}
	return dhcps_name((const char *)said + at, end - at, name);
}

static void set_name(const struct dhcps_ask *ask, uint32_t i)
{
	struct dhcps_client *c = &ask->net->client[i];
	uint32_t k = ask->net->slot[i].fixed;
	char name[DHCPS_NAME];
	if (k > 0 && ask->c->fixed[k - 1].name[0]) {
		memcpy(c->name, ask->c->fixed[k - 1].name, sizeof c->name);
		return;
	}
	if (!read_name(ask, name) || strcmp(c->name, name) == 0)
		return;
	memcpy(c->name, name, sizeof name);
	if (is_taken(ask, i, name))
		c->name[0] = '\0';
}

/* --- leases ------------------------------------------------------------------------------------
 */

static void bind(struct gw *gw, const struct dhcps_ask *ask, uint32_t i)
{
	dhcps_table_take(gw, ask->net, i, &ask->id, &ask->who, DHCPS_BOUND,
	                 ask->now + dhcps_lease_s(ask->c));
	set_name(ask, i);
	dhcps_answer(gw, ask, DHCP_ACK, address_of(ask, i));
}

static enum drop refuse(struct gw *gw, const struct dhcps_ask *ask, const char *why)
{
	char who[FMT_MAC], addr[FMT_IP4];
	log_limited(&ask->net->said_refused_us, SAY_MS, "%s.dhcp: %s does not get %s: %s",
	            gw->iface[ask->net->iface].name, fmt_mac(who, &ask->who.client),
	            fmt_ip4(addr, ask->wanted), why);
	dhcps_answer(gw, ask, DHCP_NAK, nothing);
	return DROP_NONE;
}

/* Keeps an address for a client while it is probed or offered. */
static void keep(struct gw *gw, const struct dhcps_ask *ask, uint32_t i)
{
	dhcps_table_take(gw, ask->net, i, &ask->id, &ask->who, DHCPS_OFFERED,
	                 ask->now + DHCPS_OFFER_S);
}

/* Keeps an address that may be the offer of another client, whose probe ends. */
static void hold(struct gw *gw, const struct dhcps_ask *ask, uint32_t i)
{
	gw->dhcps->offers_evicted +=
	        state_of(ask, i) == DHCPS_OFFERED && dhcps_table_of(gw, ask->net, &ask->id) != i;
	dhcps_probe_end(gw, ask->net, i);
	keep(gw, ask, i);
}

static enum drop none_left(struct gw *gw, const struct dhcps_ask *ask, enum drop why)
{
	struct dhcps_net *net = ask->net;
	char who[FMT_MAC];
	bool full = why == DROP_DHCPS_FULL;
	gw->dhcps->limited += !full;
	gw->dhcps->full += full;
	log_limited(full ? &net->said_full_us : &net->said_limited_us, SAY_MS, "%s.dhcp: %s %s",
	            gw->iface[net->iface].name,
	            full ? "no address is left for" : "no more leases for",
	            fmt_mac(who, full || !ask->relayed ? &ask->who.client : &ask->who.agent));
	return why;
}

/* DHCPDISCOVER. */
static enum drop discover(struct gw *gw, const struct dhcps_ask *ask, uint32_t len)
{
	enum drop why;
	if (dhcps_answer_is_v6only(gw, ask)) {
		dhcps_answer(gw, ask, DHCP_OFFER, nothing); /* RFC 8925 section 3.3.1 */
		return DROP_NONE;
	}
	uint32_t i = choose(gw, ask, &why);
	if (i == DHCPS_NONE)
		return none_left(gw, ask, why);
	bool its = dhcps_table_of(gw, ask->net, &ask->id) == i;
	if (its && dhcps_probe_runs(gw, ask->net, i)) {
		if (dhcps_probe_start(gw, ask, i, len))
			keep(gw, ask, i); /* the same identifier at another station */
		return DROP_NONE;
	}
	enum dhcps_state state = its ? state_of(ask, i) : DHCPS_FREE;
	if (state != DHCPS_BOUND)
		hold(gw, ask, i);
	/* Its own address was probed when it was offered. */
	if (state != DHCPS_FREE || !dhcps_probe_start(gw, ask, i, len))
		dhcps_answer(gw, ask, DHCP_OFFER, address_of(ask, i));
	return DROP_NONE;
}

/* DHCPREQUEST of a client that has chosen a server (section 4.3.2, SELECTING). */
static enum drop selected(struct gw *gw, const struct dhcps_ask *ask)
{
	uint32_t had = dhcps_table_of(gw, ask->net, &ask->id);
	uint32_t i = dhcps_table_at(ask->net, ask->c, ask->wanted);
	if (!ip4_eq(ask->server, ask->own->addr)) {
		if (had != DHCPS_NONE && state_of(ask, had) == DHCPS_OFFERED) {
			dhcps_probe_end(gw, ask->net, had);
			dhcps_table_forget(gw, ask->net, had, DHCPS_FREE, 0);
		}
		return DROP_DHCPS_NOT_OURS;
	}
	if (i == DHCPS_NONE || (had != i && (!may_have(gw, ask, i) || !has_place(gw, ask))))
		return refuse(gw, ask, "it was not offered");
	dhcps_probe_end(gw, ask->net, i);
	bind(gw, ask, i);
	return DROP_NONE;
}

/* True for a host's address in the network of the pool. */
static bool is_near(const struct gw *gw, const struct dhcps_ask *ask)
{
	return !((ip4_get(ask->wanted) ^ ip4_get(ask->own->addr)) & addr_mask4(ask->own->len)) &&
	       !interface_is_broadcast4(&gw->iface[ask->net->iface], ask->wanted);
}

/* DHCPREQUEST of a client that has an address: INIT-REBOOT, RENEWING, REBINDING. */
static enum drop confirmed(struct gw *gw, const struct dhcps_ask *ask, uint32_t len)
{
	uint32_t had = dhcps_table_of(gw, ask->net, &ask->id);
	uint32_t i = dhcps_table_at(ask->net, ask->c, ask->wanted);
	uint32_t own = static_slot(ask);
	if (ip4_raw(ask->wanted) == 0)
		return DROP_DHCPS_BAD;
	if (!is_near(gw, ask))
		return refuse(gw, ask, "it is of another network");
	if (own != DHCPS_NONE && own != i)
		return refuse(gw, ask, "it has a static lease");
	if (i != DHCPS_NONE && had == i && state_of(ask, i) != DHCPS_DECLINED) {
		dhcps_probe_end(gw, ask->net, i);
		bind(gw, ask, i);
		return DROP_NONE;
	}
	if (had != DHCPS_NONE && state_of(ask, had) != DHCPS_FREE)
		return refuse(gw, ask, "it has a lease of another address");
	/* It is not known: the gateway has restarted, or another server gave the address. */
	if (i == DHCPS_NONE)
		return DROP_DHCPS_NOT_OURS;
	if (!may_have(gw, ask, i) || !has_place(gw, ask))
		return refuse(gw, ask, "it is not free");
	if (ip4_raw(ask->m.hdr->ciaddr) == 0) {
		hold(gw, ask, i);
		if (dhcps_probe_start(gw, ask, i, len))
			return DROP_NONE;
	}
	bind(gw, ask, i);
	return DROP_NONE;
}

/* Another station has the address of a slot, as the client or ARP says. */
static void rest(struct gw *gw, struct dhcps_net *net, const struct dhcps_config_net *c, uint32_t i,
                 const mac *station, uint32_t now)
{
	char addr[FMT_IP4], who[FMT_MAC];
	dhcps_probe_end(gw, net, i);
	dhcps_table_forget(gw, net, i, DHCPS_DECLINED, now + DHCPS_DECLINE_S);
	log_limited(&net->said_conflict_us, SAY_MS, "%s.dhcp%s: %s is in use already, says %s",
	            gw->iface[net->iface].name, net->slot[i].fixed ? "-static" : "",
	            fmt_ip4(addr, dhcps_table_address(net, c, i)), fmt_mac(who, station));
}

static enum drop decline(struct gw *gw, const struct dhcps_ask *ask)
{
	uint32_t i = dhcps_table_at(ask->net, ask->c, ask->wanted);
	if (i == DHCPS_NONE || dhcps_table_of(gw, ask->net, &ask->id) != i ||
	    state_of(ask, i) == DHCPS_FREE ||
	    (ask->has_server && !ip4_eq(ask->server, ask->own->addr)))
		return DROP_DHCPS_NOT_OURS;
	gw->dhcps->declines++;
	rest(gw, ask->net, ask->c, i, &ask->m.hdr->chaddr, ask->now);
	return DROP_NONE;
}

/* The address is free; its client gets it again while nobody else needs it (section 4.3.4). */
static enum drop release(struct gw *gw, const struct dhcps_ask *ask)
{
	uint32_t i = dhcps_table_at(ask->net, ask->c, ask->m.hdr->ciaddr);
	if (i == DHCPS_NONE || dhcps_table_of(gw, ask->net, &ask->id) != i ||
	    state_of(ask, i) != DHCPS_BOUND ||
	    (ask->has_server && !ip4_eq(ask->server, ask->own->addr)))
		return DROP_DHCPS_NOT_OURS;
	gw->dhcps->releases++;
	ask->net->slot[i].state = DHCPS_FREE;
	ask->net->slot[i].end = ask->now;
	return DROP_NONE;
}

/* Options alone (section 4.3.5), to an address of the network only. */
static enum drop inform(struct gw *gw, const struct dhcps_ask *ask)
{
	if (ip4_raw(ask->m.hdr->ciaddr) == 0 || !is_near(gw, ask))
		return DROP_DHCPS_BAD;
	gw->dhcps->informs++;
	dhcps_answer(gw, ask, DHCP_ACK, nothing);
	return DROP_NONE;
}

enum drop dhcps_take(struct gw *gw, struct dhcps_ask *ask, uint32_t len)
{
	switch (ask->m.type) {
	case DHCP_DISCOVER:
		return discover(gw, ask, len);
	case DHCP_REQUEST:
		return ask->has_server ? selected(gw, ask) : confirmed(gw, ask, len);
	case DHCP_DECLINE:
		return decline(gw, ask);
	case DHCP_RELEASE:
		return release(gw, ask);
	case DHCP_INFORM:
		return inform(gw, ask);
	default:
		return DROP_DHCPS_BAD;
	}
}

/* --- probes ------------------------------------------------------------------------------------
 */

/* Reads the message that waited once more. */
static bool read_again(struct gw *gw, struct dhcps_ask *ask, const struct dhcps_probe *probe)
{
	return dhcps_ask_read(gw, ask, probe->iface, probe->message, probe->len, probe->from,
	                      &probe->station) == DROP_NONE &&
	       ask->net == &gw->dhcps->net[probe->iface];
}

void dhcps_heard(struct gw *gw, uint32_t iface, ip4 addr, const mac *station)
{
	struct dhcps_probe probe;
	struct dhcps_ask ask;
	if (!dhcps_probe_heard(gw, iface, addr, station, &probe) || !read_again(gw, &ask, &probe))
		return;
	gw->dhcps->conflicts++;
	rest(gw, ask.net, ask.c, probe.slot, station, ask.now);
	ask.conflicts = (uint8_t)(probe.conflicts + 1);
	/* A station that answers for every address is to keep neither us nor the pool busy. */
	if (ask.m.type == DHCP_DISCOVER && ask.conflicts >= DHCPS_CONFLICTS)
		return;
	if (ask.m.type == DHCP_DISCOVER)
		(void)discover(gw, &ask, probe.len);
	else
		(void)refuse(gw, &ask, "another station has it");
}

bool dhcps_holder(const struct gw *gw, ip4 addr, mac *station)
{
	for (uint32_t iface = 0; gw->dhcps && iface < gw->n_iface; iface++) {
		const struct dhcps_net *net = &gw->dhcps->net[iface];
		if (!net->on)
			continue;
		uint32_t i = dhcps_table_at(net, &dhcps_config(gw->config)->net[iface], addr);
		if (i == DHCPS_NONE || dhcps_table_state(net, i, dhcps_now(gw)) != DHCPS_BOUND)
			continue;
		*station = net->client[i].address;
		return true;
	}
	return false;
}

/* Says when hosts are told to do without IPv4, but must not be (RFC 8925 section 3.3). */
static void follow_v6only(const struct gw *gw, struct dhcps_net *net)
{
	bool on = net->on && dhcps_config(gw->config)->net[net->iface].v6only_ms;
	bool may = on && dhcps_answer_may_v6only(gw, net->iface);
	if (!on || net->no_v6only == !may)
		return;
	net->no_v6only = !may;
	log_line("%s.dhcp-v6only: %s", gw->iface[net->iface].name,
	         may ? "hosts are told, a translator's prefix works now"
	             : "hosts are not told, since no translator's prefix works");
}

void dhcps_tick(struct gw *gw)
{
	struct dhcps_probe probe;
	struct dhcps_ask ask;
	for (uint32_t i = 0; gw->dhcps && i < gw->n_iface; i++)
		follow_v6only(gw, &gw->dhcps->net[i]);
	while (gw->dhcps && dhcps_probe_next(gw, &probe)) {
		if (!read_again(gw, &ask, &probe) ||
		    dhcps_table_of(gw, ask.net, &ask.id) != probe.slot)
			continue;
		if (ask.m.type == DHCP_DISCOVER)
			dhcps_answer(gw, &ask, DHCP_OFFER, address_of(&ask, probe.slot));
		else
			bind(gw, &ask, probe.slot);
	}
}
