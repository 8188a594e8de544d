/* See dhcp_client.h. */
#include "net/dhcp/dhcp_client.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/dhcp/dhcp_keys.h"
#include "net/dhcp/dhcp_send.h"
#include "net/dhcp/dhcp_start.h"
#include "net/dhcp/dhcp_use.h"
#include "net/ether/arp.h"
#include "net/neigh/neigh.h"

#define SECOND 1000000ull
#define NEVER  UINT64_MAX
#define SAY_MS 60000u

/* RFC 2131 section 4.1: 4 s, twice as long each time up to 64 s, a second more or less. */
#define RETRY_FIRST_S 4u
#define RETRY_MOST_S  64u
#define REQUESTS      4u  /* for an offer, 60 s in all (section 3.1) */
#define REBOOTS       2u  /* for the lease after the carrier was lost, 12 s in all */
#define RENEW_LEAST_S 60u /* section 4.4.5 */
#define WAIT_MOST_S   60u /* between attempts that are refused */
#define DECLINE_S     10u /* section 3.1, 5 */
#define SILENT        4u  /* questions without an answer, after which the log says so */

/* RFC 5227 section 1.1. */
#define PROBE_WAIT_MS    1000u
#define PROBES           3u
#define PROBE_MIN_MS     1000u
#define PROBE_MAX_MS     2000u
#define ANNOUNCE_WAIT_MS 2000u
#define CONFLICTS        10u

static void enter(struct gw *gw, enum dhcp_state state, uint64_t due_us)
{
	gw->dhcp.state = (uint8_t)state;
	gw->dhcp.due_us = due_us;
	gw->dhcp.tries = 0;
}

static uint64_t in_ms(struct gw *gw, uint32_t from, uint32_t to)
{
	return gw->clock.us + (from + rng_below(gw->rng, to - from + 1)) * 1000ull;
}

/* The end of a time that began when the request was sent. */
static uint64_t end_of(const struct dhcp_client *c, uint32_t s)
{
	return s == UINT32_MAX ? NEVER : c->sent_us + s * SECOND;
}

/* When a question is asked again that was asked `tries` times. */
static uint64_t retry_at(struct gw *gw)
{
	uint32_t s = RETRY_FIRST_S << min_u32(gw->dhcp.tries - 1, 4);
	s = min_u32(s, RETRY_MOST_S) * 1000;
	return in_ms(gw, s - 1000, s + 1000);
}

/* Asks again later, at longer and longer intervals while it is refused. */
static void wait(struct gw *gw, uint32_t least_s)
{
	struct dhcp_client *c = &gw->dhcp;
	c->wait_s = c->wait_s ? min_u32(c->wait_s * 2, WAIT_MOST_S) : 1;
	c->wait_s = max_u32(c->wait_s, least_s);
	enter(gw, DHCP_INIT, in_ms(gw, c->wait_s * 1000, c->wait_s * 1000 + 500));
}

/* --- questions ---------------------------------------------------------------------------------
 */

static void ask(struct gw *gw)
{
	struct dhcp_client *c = &gw->dhcp;
	const ip4 own = c->lease.addr, none = {{0}};
	struct dhcp_say say = {.to = none};
	enum dhcp_type type = DHCP_REQUEST;
	switch (c->state) {
	case DHCP_SELECTING:
		type = DHCP_DISCOVER;
		break;
	case DHCP_REQUESTING:
		say = (struct dhcp_say){.address = c->wanted.addr, .server_id = c->wanted.server};
		break;
	case DHCP_REBOOTING:
		say.address = own;
		break;
	case DHCP_RENEWING:
		say = (struct dhcp_say){.ciaddr = own, .to = c->lease.server};
		break;
	default:
		say.ciaddr = own;
		break;
	}
	c->tries++;
	dhcp_send(gw, type, &say);
}

/* Begins a question of its own, to which only answers with a new identifier count. */
static void begin(struct gw *gw, enum dhcp_state state)
{
	struct dhcp_client *c = &gw->dhcp;
	c->xid = rng_u32(gw->rng);
	c->begun_us = c->sent_us = gw->clock.us;
	enter(gw, state, 0);
	ask(gw);
	c->due_us = retry_at(gw);
}

/* Asks for more time; each message is a question of its own, so that the new time begins when it
 * was sent. Again after half of the time that is left, a minute at least. */
static void extend(struct gw *gw, enum dhcp_state state, uint64_t end_us)
{
	struct dhcp_client *c = &gw->dhcp;
	uint64_t now = gw->clock.us, half = (end_us - now) / 2;
	uint64_t begun_us = c->state == state ? c->begun_us : now;
	c->xid = rng_u32(gw->rng);
	c->begun_us = begun_us;
	c->sent_us = now;
	enter(gw, state, now + (half > RENEW_LEAST_S * SECOND ? half : RENEW_LEAST_S * SECOND));
	if (c->due_us > end_us)
		c->due_us = end_us;
	ask(gw);
}

/* --- lease -------------------------------------------------------------------------------------
 */

/* Remembers the router, by which the network is known again. */
static void note_router(struct gw *gw)
{
	struct dhcp_client *c = &gw->dhcp;
	ip4 router = {{0}};
	for (uint32_t i = 0; i < c->n_routes && ip4_raw(router) == 0; i++)
		if (c->route[i].len == 0)
			router = c->route[i].via;
	if (!ip4_eq(router, c->router))
		c->router_known = false;
	c->router = router;
}

/* Its MAC address, which neighbour discovery forgets with the carrier. */
static void note_router_mac(struct gw *gw)
{
	struct dhcp_client *c = &gw->dhcp;
	const struct neigh *n =
	        ip4_raw(c->router) ? neigh_find4(&gw->neigh, IF_WAN, ip4_raw(c->router)) : NULL;
	if (!n || !neigh_usable(n))
		return;
	c->router_mac = n->eth.to;
	c->router_known = true;
}

static void say_lease(const struct dhcp_lease *l, const char *what)
{
	char text[FMT_IP4], server[FMT_IP4];
	if (l->lease_s == UINT32_MAX)
		log_line("wan: lease of %s/%u by %s: %s, for ever", fmt_ip4(text, l->addr), l->len,
		         fmt_ip4(server, l->server), what);
	else
		log_line("wan: lease of %s/%u by %s: %s, for %u s", fmt_ip4(text, l->addr), l->len,
		         fmt_ip4(server, l->server), what, l->lease_s);
}

/* The lease in force ends now. */
static void lose(struct gw *gw, const char *why)
{
	if (!gw->dhcp.in_force)
		return;
	say_lease(&gw->dhcp.lease, why);
	gw->dhcp.lost = why;
	gw->dhcp.announce_us = 0;
	dhcp_use_no_more(gw);
}

/* Puts a lease into force that nothing speaks against. */
static void bind(struct gw *gw, const struct dhcp_lease *lease)
{
	struct dhcp_client *c = &gw->dhcp;
	bool is_new = !c->in_force || !ip4_eq(c->lease.addr, lease->addr);
	const struct dhcp_lease taken = *lease;
	const char *bad = "it is over already"; /* a short one, answered late */
	if (end_of(c, taken.lease_s) > gw->clock.us)
		bad = dhcp_use(gw, &taken);
	if (bad) {
		log_limited(&c->said_unused_us, SAY_MS, "wan: the lease is not used: %s", bad);
		lose(gw, "ended");
		wait(gw, DECLINE_S);
		return;
	}
	c->t1_us = end_of(c, taken.t1_s);
	c->t2_us = end_of(c, taken.t2_s);
	c->end_us = end_of(c, taken.lease_s);
	c->wait_s = c->conflicts = 0;
	enter(gw, DHCP_BOUND, c->t1_us);
	note_router(gw);
	if (!is_new)
		return;
	c->leases++;
	say_lease(&taken, "begun");
	c->announce_us = gw->clock.us + ANNOUNCE_WAIT_MS * 1000;
}

/* Back to the lease in force, as it was before the carrier was lost. */
static void resume(struct gw *gw)
{
	enter(gw, DHCP_BOUND, gw->dhcp.t1_us);
}

void dhcp_client_offered(struct gw *gw, const struct dhcp_lease *lease)
{
	struct dhcp_client *c = &gw->dhcp;
	c->wanted = *lease;
	enter(gw, DHCP_REQUESTING, 0);
	c->sent_us = gw->clock.us;
	ask(gw);
	c->due_us = retry_at(gw);
}

void dhcp_client_acknowledged(struct gw *gw, const struct dhcp_lease *lease)
{
	struct dhcp_client *c = &gw->dhcp;
	bool known = c->in_force && ip4_eq(c->lease.addr, lease->addr);
	c->wanted = *lease;
	if (known || !dhcp_config(gw->config)->probe)
		bind(gw, lease);
	else
		enter(gw, DHCP_PROBING, in_ms(gw, 0, PROBE_WAIT_MS));
}

void dhcp_client_refused(struct gw *gw, ip4 server)
{
	(void)server;
	lose(gw, "refused");
	wait(gw, 0);
}

void dhcp_client_conflict(struct gw *gw, const mac *station)
{
	struct dhcp_client *c = &gw->dhcp;
	const struct dhcp_say say = {.address = c->wanted.addr,
	                             .server_id = c->wanted.server,
	                             .why = "another station has the address"};
	char addr[FMT_IP4], from[FMT_MAC];
	log_line("wan: %s has the address %s of the lease, which is declined",
	         fmt_mac(from, station), fmt_ip4(addr, c->wanted.addr));
	c->declined++;
	c->conflicts++;
	dhcp_send(gw, DHCP_DECLINE, &say);
	wait(gw, c->conflicts >= CONFLICTS ? WAIT_MOST_S : DECLINE_S);
}

void dhcp_client_router_seen(struct gw *gw)
{
	gw->dhcp.router_seen = true;
	log_line("wan: the network is the same");
	for (uint32_t i = 0; i < gw->iface[IF_WAN].n_addr; i++)
		arp_announce(gw, IF_WAN, gw->iface[IF_WAN].addr[i].addr);
}

/* --- timers ------------------------------------------------------------------------------------
 */

static void say_silent(struct gw *gw)
{
	struct dhcp_client *c = &gw->dhcp;
	if (c->tries >= SILENT)
		log_limited(&c->said_silent_us, 600000, "wan: no DHCP server answers");
}

static void probe(struct gw *gw)
{
	struct dhcp_client *c = &gw->dhcp;
	if (c->tries == PROBES) {
		bind(gw, &c->wanted);
		return;
	}
	arp_probe(gw, IF_WAN, c->wanted.addr);
	c->tries++;
	c->due_us = c->tries < PROBES ? in_ms(gw, PROBE_MIN_MS, PROBE_MAX_MS)
	                              : gw->clock.us + ANNOUNCE_WAIT_MS * 1000;
}

/* Nobody has said whether the lease holds here. If the router is the same it does; else a new one
 * is asked for, and the old one stays until then or until its end. */
static void end_rebooting(struct gw *gw)
{
	char text[FMT_IP4];
	if (gw->dhcp.router_seen) {
		resume(gw);
		return;
	}
	log_line("wan: nobody confirms the lease of %s: a new one is asked for",
	         fmt_ip4(text, gw->dhcp.lease.addr));
	begin(gw, DHCP_SELECTING);
}

static void ask_again(struct gw *gw)
{
	struct dhcp_client *c = &gw->dhcp;
	char text[FMT_IP4];
	if (c->state == DHCP_REQUESTING && c->tries == REQUESTS) {
		log_line("wan: %s offers a lease and does not give it",
		         fmt_ip4(text, c->wanted.server));
		wait(gw, 0);
		return;
	}
	if (c->state == DHCP_REBOOTING && c->tries == REBOOTS) {
		end_rebooting(gw);
		return;
	}
	ask(gw);
	c->due_us = retry_at(gw);
	say_silent(gw);
}

/* The state has something to do. */
static void act(struct gw *gw)
{
	struct dhcp_client *c = &gw->dhcp;
	uint64_t now = gw->clock.us;
	switch (c->state) {
	case DHCP_INIT:
		begin(gw, DHCP_SELECTING);
		break;
	case DHCP_SELECTING:
	case DHCP_REQUESTING:
	case DHCP_REBOOTING:
		ask_again(gw);
		break;
	case DHCP_PROBING:
		probe(gw);
		break;
	case DHCP_BOUND:
	case DHCP_RENEWING:
		if (now < c->t2_us)
			extend(gw, DHCP_RENEWING, c->t2_us);
		else
			extend(gw, DHCP_REBINDING, c->end_us);
		break;
	case DHCP_REBINDING:
		extend(gw, DHCP_REBINDING, c->end_us);
		break;
	default:
		break;
	}
}

/* RFC 2131 section 4.4.5: the address is not used from the moment on at which the lease ends. */
static void expire(struct gw *gw)
{
	struct dhcp_client *c = &gw->dhcp;
	bool asks = c->state == DHCP_SELECTING || c->state == DHCP_REQUESTING ||
	            c->state == DHCP_PROBING || c->state == DHCP_INIT;
	c->expired++;
	lose(gw, "ended");
	if (!asks)
		enter(gw, DHCP_INIT, gw->clock.us);
}

static void announce(struct gw *gw)
{
	gw->dhcp.announce_us = 0;
	if (gw->iface[IF_WAN].carrier)
		arp_announce(gw, IF_WAN, gw->dhcp.lease.addr);
}

/* The carrier came up: this may be another network. Asked once a second at most (RFC 4436 section
 * 4.2), however often the carrier comes. */
static void look_around(struct gw *gw)
{
	struct dhcp_client *c = &gw->dhcp;
	if (c->looked_us && gw->clock.us - c->looked_us < SECOND)
		return;
	c->looked_us = gw->clock.us;
	c->came_up = false;
	if (c->state == DHCP_RELEASED)
		return;
	if (!c->in_force) {
		enter(gw, DHCP_INIT, in_ms(gw, 0, DHCP_START_MS));
		return;
	}
	c->router_seen = false;
	begin(gw, DHCP_REBOOTING);
	if (c->router_known)
		arp_ask(gw, IF_WAN, c->router, &c->router_mac);
}

void dhcp_tick(struct gw *gw)
{
	struct dhcp_client *c = &gw->dhcp;
	uint64_t now = gw->clock.us;
	if (c->state == DHCP_OFF)
		return;
	if (c->in_force && now >= c->end_us)
		expire(gw);
	if (c->announce_us && now >= c->announce_us)
		announce(gw);
	if (c->came_up)
		look_around(gw);
	if (!gw->iface[IF_WAN].carrier || c->state == DHCP_RELEASED)
		return;
	if (c->in_force && c->state != DHCP_REBOOTING)
		note_router_mac(gw);
	if (now >= c->due_us)
		act(gw);
}

/* --- end, console --------------------------------------------------------------------
 */

/* Tells the server that its lease is free (RFC 2131 section 4.4.6). There is no time to look for
 * the MAC address of the next hop: the message goes to the station that the lease came from. */
static void give_back(struct gw *gw)
{
	struct dhcp_client *c = &gw->dhcp;
	const struct dhcp_say say = {.ciaddr = c->lease.addr,
	                             .server_id = c->lease.server,
	                             .to = c->lease.server,
	                             .station = &c->lease.giver};
	if (!c->in_force)
		return;
	c->xid = rng_u32(gw->rng);
	c->begun_us = gw->clock.us;
	dhcp_send(gw, DHCP_RELEASE, &say);
	lose(gw, "released");
}

void dhcp_stop(struct gw *gw)
{
	give_back(gw);
	gw->dhcp.state = DHCP_OFF;
}

const char *dhcp_release(struct gw *gw)
{
	if (gw->dhcp.state == DHCP_OFF)
		return "there is no wan.address dhcp";
	if (!gw->dhcp.in_force && gw->dhcp.state == DHCP_RELEASED)
		return "there is no lease";
	give_back(gw);
	enter(gw, DHCP_RELEASED, NEVER);
	return NULL;
}

const char *dhcp_renew(struct gw *gw)
{
	struct dhcp_client *c = &gw->dhcp;
	if (c->state == DHCP_OFF)
		return "there is no wan.address dhcp";
	if (!gw->iface[IF_WAN].carrier)
		return "wan has no carrier";
	c->wait_s = 0;
	if (c->in_force && gw->clock.us < c->t2_us)
		extend(gw, DHCP_RENEWING, c->t2_us);
	else if (c->in_force)
		extend(gw, DHCP_REBINDING, c->end_us);
	else
		begin(gw, DHCP_SELECTING);
	return NULL;
}
