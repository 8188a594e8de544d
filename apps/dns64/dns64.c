/* The application `dns64`: a DNS64 server (RFC 6147) that asks upstream servers. Here are
 * its start, the datagrams of clients, and its timers. See dns64.h for the way of a question.
 * Left out on purpose: recursion, zones of our own,
 * validation (RFC 6147 leaves it to the server behind us). */
#include "apps/dns64/dns64.h"

#include "apps/apps.h"
#include "kernel/lib/alloc.h"
#include "net/ip4/ip4.h"
#include "net/ip6/ip6.h"

#define TIMERS_A_TURN 64u
#define MANY_ASKS     64u /* questions to upstream under way */
#define FEW_FRAMES    8u

/* --- datagrams of clients -------------------------------------------------------------------- */

/* Behind long extension headers a question stands so far back in its packet that its answer would
 * not fit there. */
static void make_room(struct pkt *p)
{
	if (LIKELY((uint32_t)(p->bytes + sizeof p->bytes - p->data) >= UDP_ROOM))
		return;
	memmove(p->bytes + PKT_HEADROOM, p->data, p->len);
	p->data = p->bytes + PKT_HEADROOM;
}

/* The answer goes out in the packet that the question came in. Gives why there is none. */
static enum drop answer(struct gw *gw, struct pkt *p, const struct dns64_from *from)
{
	enum drop why;
	make_room(p);
	uint32_t n = p->len;
	if (n < UDP_ROOM && !pkt_put(p, UDP_ROOM - n))
		return DROP_NO_PACKET; /* it is there */
	uint32_t len = dns64_question(gw, from, p->data, n, UDP_ROOM, &why);
	if (why != DROP_NONE) {
		pkt_trim(p, n);
		return why;
	}
	if (len == 0) {
		pkt_free(p);
		return DROP_NONE;
	}
	dns64_know(gw, &from->ends);
	dns64_reply_end(gw, from, &(struct dns64_sheet){p, p->data, UDP_ROOM}, len);
	return DROP_NONE;
}

void dns64_send_datagram(struct gw *gw, struct pkt *p, const struct dns64_from *from)
{
	enum drop why = answer(gw, p, from);
	if (UNLIKELY(why != DROP_NONE))
		gw_discard(gw, p, why);
}

/* To our port. */
static enum verdict dns64_input(struct gw *gw, struct pkt *p, const struct udp_ends *ends,
                                uint32_t arg)
{
	const struct dns64_from from = {.ends = *ends, .conn = TCP_NONE};
	(void)arg;
	enum drop why = answer(gw, p, &from);
	return why == DROP_NONE ? V_KEPT : gw_drop(gw, p, why);
}

bool dns64_reply_begin(struct gw *gw, const struct dns64_from *from, struct dns64_sheet *s)
{
	if (from->conn != TCP_NONE) {
		*s = (struct dns64_sheet){NULL, dns64_of(gw)->reply + 2, DNS64_STREAM_MAX};
		return true;
	}
	s->room = UDP_ROOM;
	s->p = pkt_alloc(gw->pool);
	s->at = s->p ? pkt_put(s->p, UDP_ROOM) : NULL;
	if (s->p && !s->at)
		pkt_free(s->p);
	return s->at != NULL;
}

void dns64_reply_end(struct gw *gw, const struct dns64_from *from, const struct dns64_sheet *s,
                     uint32_t len)
{
	if (from->conn != TCP_NONE) {
		dns64_stream_reply(gw, from, len);
		return;
	}
	dns64_of(gw)->count.answers++;
	pkt_trim(s->p, len);
	const struct udp_path *path = dns64_path_to(gw, &from->ends);
	if (LIKELY(path != NULL))
		udp_path_send(gw, path, s->p, from->ends.local_port, from->ends.remote_port);
	else
		udp_send(gw, s->p, &from->ends);
}

/* --- packets
 * --------------------------------------------------------------------------------------- */

/* For us, or for nobody: nothing is forwarded. */
static enum verdict dns64_ip4(struct gw *gw, struct pkt *p)
{
	if (LIKELY(gw_is_own(gw, ip4_to(p))))
		return V_LOCAL;
	enum drop bad = ip4_bad_destination(gw, p);
	return gw_drop(gw, p, bad != DROP_NONE ? bad : DROP_NOT_DNS);
}

static enum verdict dns64_ip6(struct gw *gw, struct pkt *p)
{
	return gw_drop(gw, p, DROP_NOT_DNS);
}

/* A question makes two answers of upstream. While many are under way fewer questions are taken
 * in a turn, so that no answer is lost for want of room on its card: under overload it is then
 * the newest questions that do not get in, which costs nothing. */
static void share_turns(struct gw *gw)
{
	struct dns64 *d = dns64_of(gw);
	for (uint32_t i = 0; i < INTERFACES; i++)
		if (d->clients_only[i])
			gw->iface[i].burst = d->n_asks > MANY_ASKS ? FEW_FRAMES : 0;
}

static void note_ports(struct gw *gw)
{
	struct dns64 *d = dns64_of(gw);
	bool server[INTERFACES] = {false};
	for (uint32_t i = 0; i < d->n_servers; i++) {
		const struct addr *a = &d->server[i].addr;
		const struct gw_route *r4 = a->is6 ? NULL : ip4_route_for(gw, a->v4);
		const struct gw_route6 *r6 = a->is6 ? gw_route6_for(gw, &a->v6) : NULL;
		uint32_t iface = r4 ? r4->iface : r6 ? r6->iface : INTERFACES;
		if (iface < INTERFACES)
			server[iface] = true;
	}
	for (uint32_t i = 0; i < INTERFACES; i++)
		d->clients_only[i] = !server[i] && server[!i];
}

static bool dns64_tick(struct gw *gw)
{
	struct dns64 *d = dns64_of(gw);
	uint32_t now = dns64_now(gw);
	bool more = dns64_ask_make_room(gw);
	share_turns(gw);
	for (uint32_t i = 0; i < TIMERS_A_TURN; i++) {
		uint32_t node = wheel_take(&d->wheel, now);
		if (node == WHEEL_NONE)
			break;
		if (node < DNS64_ASKS)
			dns64_ask_due(gw, node);
		else if (node < DNS64_ASKS + DNS64_WAITERS)
			dns64_wait_due(gw, node - DNS64_ASKS);
		else
			dns64_relay_due(gw, node - DNS64_ASKS - DNS64_WAITERS);
		more |= i + 1 == TIMERS_A_TURN;
	}
	uint64_t slot = 1u << WHEEL_SHIFT;
	gw->wake_us = d->wheel.n_set ? (gw->now_us & ~(slot - 1)) + slot : 0;
	return more;
}

/* --- start
 * -------------------------------------------------------------------------------------------- */

static const char *check_servers(const struct gw *gw, const struct dns64 *d)
{
	for (uint32_t i = 0; i < d->n_servers; i++) {
		const struct addr *a = &d->server[i].addr;
		if (a->is6 ? gw_address6(gw, IF_LAN, &a->v6) != NULL : gw_is_own(gw, a->v4))
			return "nameserver: one is the gateway's own address";
		if (a->is6 && ip6_is_link_local(&a->v6))
			return "nameserver: a link-local address does not say on which link";
	}
	return NULL;
}

/* Hosts on the LAN are told who serves them, and by which prefixes; we are no router. */
static void advertise(struct gw *gw)
{
	const struct net_config_interface *lan = &net_config(gw->config)->iface[IF_LAN];
	const struct dns64_config *c = dns64_config(gw->config);
	for (uint32_t i = 0; i < lan->n_address; i++) {
		if (!lan->address[i].addr.is6)
			continue;
		ra_start(gw, IF_LAN, 0, 0, 0);
		ra_set_dns(gw, IF_LAN, &lan->address[i].addr.v6, c->prefix, c->n_prefix);
		return;
	}
}

static const char *dns64_init(struct gw *gw)
{
	const struct dns64_config *c = dns64_config(gw->config);
	if (net_config(gw->config)->iface[IF_LAN].n_address == 0)
		return "lan.address: an address is required by dns64";
	struct dns64 *d = alloc(sizeof *d, 64);
	if (!d || !udp_init(gw) || !dns64_wait_init(d) || !dns64_relay_init(gw, d))
		return "not enough memory";
	gw->state = d;
	const char *bad = dns64_server_init(gw, d);
	if (!bad)
		bad = check_servers(gw, d);
	if (!bad)
		bad = dns64_set_up(gw, d);
	if (!bad)
		bad = dns64_ask_init(gw, d);
	if (bad)
		return bad;
	d->keep = c->cache > 0;
	if (!dns64_cache_init(&d->cache, max_u32(c->cache, DNS64_RECORDS_MIN), gw->rng))
		return "dns64.cache: not enough memory for so many records";
	d->port = (uint16_t)c->port;
	dns64_known_init(gw, d);
	d->handler = udp_register(gw, dns64_try_input);
	if (!udp_bind(gw, (uint16_t)c->port, udp_register(gw, dns64_input), 0))
		return "port: somebody else has it";
	bad = dns64_stream_init(gw, d);
	if (bad)
		return bad;
	note_ports(gw);
	advertise(gw);
	return NULL;
}

const struct app app_dns64 = {
        .one_port = true,
        .is_host = true,
        .keys = {&dns64_section},
        .counts = {&dns64_counts},
        .init = dns64_init,
        .known = dns64_known,
        .ip4 = dns64_ip4,
        .ip6 = dns64_ip6,
        .tick = dns64_tick,
        .show = dns64_show,
};
