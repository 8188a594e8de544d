/* The application `dns64`: a DNS64 server (RFC 6147) that asks upstream servers. Here are
 * its start and what becomes of a datagram from a client. See dns64.h for the way of a
 * question.
 *
 * Whatever a client sends is answered or counted: a question that cannot be read with
 * FORMERR, another operation with NOTIMP, a client that may not ask with REFUSED, a version
 * of EDNS that nobody knows with BADVERS. Left out on purpose: recursion, zones of our own,
 * validation (RFC 6147 leaves it to the server behind us). */
#include "apps/dns64.h"

#include "apps/apps.h"
#include "kernel/alloc.h"
#include "kernel/fmt.h"
#include "kernel/log.h"
#include "net/ip4.h"
#include "net/ip6.h"

/* Bytes of an answer that fit behind the headers of a received frame. */
#define ROOM          (UDP_ROOM)
#define TIMERS_A_TURN 64u

/* --- answers at once ------------------------------------------------------------------------ */

static enum verdict send(struct gw *gw, struct pkt *p, const struct udp_ends *ends, uint32_t len)
{
	uint32_t have = p->len;
	if (len > have && !pkt_put(p, len - have))
		return gw_drop(gw, p, DROP_NO_PACKET); /* ROOM is there */
	pkt_trim(p, len);
	dns64_of(gw)->count.answers++;
	udp_send(gw, p, ends);
	return V_KEPT;
}

/* An answer without records; `len` bytes of the question stay. */
static enum verdict refuse(struct gw *gw, struct pkt *p, const struct udp_ends *ends,
                           const struct dns64_query *u, uint16_t rcode, uint32_t len,
                           uint64_t *count)
{
	++*count;
	return send(gw, p, ends, dns64_answer_rcode(u, rcode, p->data, len));
}

/* --- reading a question ------------------------------------------------------------------------
 */

/* Whether a record behind the question is a signature over the message (RFC 8945, RFC
 * 2931): it is the last one. */
static bool is_signed(struct dns_view m, const struct dns_layout *l)
{
	struct dns_rr rr;
	bool found = false;
	for (uint32_t at = l->section[DNS_AR]; at < l->end && dns_read_rr(m, at, &rr); at = rr.end)
		found = rr.type == DNS_TYPE_TSIG || rr.type == DNS_TYPE_SIG;
	return found;
}

/* What stands behind the question: OPT, if it is the only record, or more. Gives the
 * response code; *relay says that the message must not be changed. */
static uint16_t read_rest(struct dns_view m, const struct dns_layout *l, struct dns64_query *u,
                          uint32_t size_max, bool *relay)
{
	struct dns_layout all;
	const struct dns_rr *opt = &all.opt;
	*relay = l->qtype == DNS_TYPE_IXFR || l->qtype == DNS_TYPE_AXFR;
	if (LIKELY(load32(m.at + 6) == 0 && load16(m.at + 10) == 0))
		return m.len == l->question_end ? DNS_NOERROR : DNS_FORMERR;
	if (!dns_parse(m, &all) || all.n_opt > 1)
		return DNS_FORMERR;
	*relay |= is_signed(m, &all);
	if (all.n_opt == 0)
		return DNS_NOERROR;
	if (m.at[opt->owner] != 0) /* the root's (RFC 6891 section 6.1.2) */
		return DNS_FORMERR;
	u->edns = true;
	u->dnssec = opt->ttl & DNS_OPT_DO;
	u->limit = (uint16_t)min_u32(max_u32(opt->class, DNS_PLAIN), size_max);
	return opt->ttl >> 16 & 0xff ? DNS_BADVERS : DNS_NOERROR;
}

/* --- a question --------------------------------------------------------------------------------
 */

/* A line about a question, for those who asked for such (debugging yes). */
static void say(const struct dns64_query *u, const struct udp_ends *ends,
                const struct dns64_plan *p)
{
	static const char *const how[] = {
	        [DNS64_RELAY] = "as it is",   [DNS64_JOIN] = "put together",
	        [DNS64_MAKE] = "synthesised", [DNS64_TURN] = "reverse name",
	        [DNS64_LOCAL] = "our own",    [DNS64_RCODE] = "error",
	        [DNS64_WAIT] = "asking",
	};
	static uint64_t last_us;
	char client[FMT_IP6], name[100];
	log_limited(&last_us, 100, "dns %s type %u from %s: %s%s",
	            dns_name_text(name, sizeof name, u->name), u->qtype,
	            addr_text(client, &ends->remote), how[p->how], p->stale ? ", stale" : "");
}

/* What cannot wait is answered with what there is. */
static enum verdict answer(struct gw *gw, struct pkt *p, const struct udp_ends *ends,
                           struct dns64_query *u)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_plan plan;
	dns64_plan(gw, u, &plan);
	if (UNLIKELY(d->debug))
		say(u, ends, &plan);
	if (plan.how == DNS64_WAIT) {
		if (dns64_wait(gw, u, &plan, ends)) {
			pkt_free(p);
			return V_KEPT;
		}
		dns64_plan_now(gw, u, &plan);
	} else {
		d->count.hits++;
	}
	if (UNLIKELY(plan.again.q != NULL) && d->n_asks < DNS64_ASKS / 2)
		dns64_ask_for(gw, &plan.again);
	return send(gw, p, ends, dns64_answer(gw, u, &plan, p->data, ROOM));
}

static enum verdict question(struct gw *gw, struct pkt *p, const struct udp_ends *ends,
                             struct dns64_query *u)
{
	struct dns64 *d = dns64_of(gw);
	struct dns_view m = {p->data, p->len};
	struct dns_layout l;
	if (u->flags & DNS_OPCODE)
		return refuse(gw, p, ends, u, DNS_NOTIMP, DNS_HEADER, &d->count.notimp);
	if (be16_get(dns_header_of(m)->count[DNS_QD]) != 1 || !dns_parse_question(m, &l))
		return refuse(gw, p, ends, u, DNS_FORMERR, DNS_HEADER, &d->count.formerr);
	bool relay;
	uint16_t rcode = read_rest(m, &l, u, d->size_max, &relay);
	if (UNLIKELY(rcode != DNS_NOERROR))
		return refuse(gw, p, ends, u, rcode, l.question_end,
		              rcode == DNS_BADVERS ? &d->count.badvers : &d->count.formerr);
	if (UNLIKELY(relay))
		return dns64_relay(gw, p, u, ends) ? V_KEPT
		                                   : refuse(gw, p, ends, u, DNS_SERVFAIL,
		                                            l.question_end, &d->count.servfail);
	u->name = m.at + DNS_HEADER;
	u->qtype = l.qtype;
	u->skip = d->n_skip_clients &&
	          dns64_in_prefixes(d->skip_client, d->n_skip_clients, &ends->remote);
	u->serial = d->cache.serial;
	u->waited_us = 0;
	dns64_question_set(&d->cache, &u->q, u->name, l.name_len, l.qtype, l.qclass,
	                   dns64_key_of(u->flags, u->dnssec));
	pkt_trim(p, l.question_end);
	return answer(gw, p, ends, u);
}

/* A datagram to our port. */
static enum verdict dns64_input(struct gw *gw, struct pkt *p, const struct udp_ends *ends,
                                uint32_t arg)
{
	struct dns64 *d = dns64_of(gw);
	(void)arg;
	if (p->len < DNS_HEADER)
		return gw_drop(gw, p, DROP_DNS_SHORT);
	struct dns64_query u = {
	        .id = dns_get16(p->data), .flags = dns_get16(p->data + 2), .limit = DNS_PLAIN};
	if (u.flags & DNS_QR) /* an answer to nothing must not be answered */
		return gw_drop(gw, p, DROP_DNS_RESPONSE);
	d->count.queries++;
	if (UNLIKELY(!dns64_may_ask(d, &ends->remote))) {
		if (!dns64_limit_refusal(gw))
			return gw_drop(gw, p, DROP_DNS_CLIENT);
		return refuse(gw, p, ends, &u, DNS_REFUSED, DNS_HEADER, &d->count.refused);
	}
	if (UNLIKELY(!dns64_limit(gw, &ends->remote)))
		return gw_drop(gw, p, DROP_DNS_RATE);
	return question(gw, p, ends, &u);
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

static bool dns64_tick(struct gw *gw)
{
	struct dns64 *d = dns64_of(gw);
	uint32_t now = dns64_now(gw);
	bool more = dns64_ask_make_room(gw);
	for (uint32_t i = 0; i < TIMERS_A_TURN; i++) {
		uint32_t node = dns64_wheel_take(&d->wheel, now);
		if (node == DNS64_WHEEL_NONE)
			break;
		if (node < DNS64_ASKS)
			dns64_ask_due(gw, node);
		else if (node < DNS64_ASKS + DNS64_WAITERS)
			dns64_wait_due(gw, node - DNS64_ASKS);
		else
			dns64_relay_due(gw, node - DNS64_ASKS - DNS64_WAITERS);
		more |= i + 1 == TIMERS_A_TURN;
	}
	uint64_t slot = 1u << DNS64_WHEEL_SHIFT;
	gw->wake_us = d->wheel.n_set ? (gw->now_us & ~(slot - 1)) + slot : 0;
	return more;
}

/* --- start
 * -------------------------------------------------------------------------------------------- */

static const char *check_servers(const struct gw *gw, const struct dns64 *d)
{
	for (uint32_t i = 0; i < d->n_servers; i++) {
		const struct addr *a = &d->server[i].addr;
		if (a->is6 ? gw_address6(gw, PORT_LAN, &a->v6) != NULL : gw_is_own(gw, a->v4))
			return "nameserver: one is the gateway's own address";
		if (a->is6 && ip6_is_link_local(&a->v6))
			return "nameserver: a link-local address does not say on which link";
	}
	return NULL;
}

/* Hosts on the LAN are told who serves them, and by which prefixes; we are no router. */
static void advertise(struct gw *gw)
{
	const struct config_port *lan = &gw->config->port[PORT_LAN];
	const struct config_dns64 *c = &gw->config->dns64;
	for (uint32_t i = 0; i < lan->n_address; i++) {
		if (!lan->address[i].addr.is6)
			continue;
		ra_start(gw, PORT_LAN, 0, 0, 0);
		ra_set_dns64(gw, PORT_LAN, &lan->address[i].addr.v6, c->prefix, c->n_prefix);
		return;
	}
}

static const char *dns64_init(struct gw *gw)
{
	const struct config_dns64 *c = &gw->config->dns64;
	if (gw->config->port[PORT_LAN].n_address == 0)
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
	if (!dns64_cache_init(&d->cache, c->cache, gw->rng))
		return "dns64.cache: not enough memory for so many records";
	d->handler = udp_register(gw, dns64_ask_input);
	if (!udp_bind(gw, (uint16_t)c->port, udp_register(gw, dns64_input), 0))
		return "port: somebody else has it";
	advertise(gw);
	return NULL;
}

const struct app app_dns64 = {
        .one_port = true,
        .init = dns64_init,
        .ip4 = dns64_ip4,
        .ip6 = dns64_ip6,
        .tick = dns64_tick,
        .show = dns64_show,
};
