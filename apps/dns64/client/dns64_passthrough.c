/* See dns64_passthrough.h.
 *
 * Such queries share no fetch, and their answers are neither kept nor changed; malformed answers
 * are dropped, as those to all other queries are. They wait in a small table, of which one client
 * has at most as many places as are free. When it is full, the oldest query is given up for a
 * client that has none. A query that came over TCP is sent over TCP (RFC 5625 section 4.4.1): a
 * client that gets TC over UDP signs another query and sends it over TCP. */
#include "apps/dns64/client/dns64_passthrough.h"

#include "apps/dns64/client/dns64_pending.h"
#include "apps/dns64/policy/dns64_answer.h"
#include "kernel/lib/alloc.h"

static uint32_t number_of(const struct gw *gw, const struct dns64_passthrough *r)
{
	return (uint32_t)(r - dns64_passthroughs_of(gw)->entry);
}

static void release(struct gw *gw, struct dns64_passthrough *r)
{
	if (r->port)
		udp_unbind(gw, r->port);
	if (r->tcp)
		dns64_conn_forget(gw, r->server, r->id);
	r->port = r->len = 0;
	r->tcp = false;
	wheel_clear(dns64_wheel(gw), DNS64_TIMER_PASSTHROUGH + number_of(gw, r));
}

static void send_datagram(struct gw *gw, const struct dns64_passthrough *r)
{
	struct udp_ends ends = {.remote = dns64_servers_of(gw)->server[r->server].addr,
	                        .remote_port = DNS64_PORT,
	                        .local_port = r->port,
	                        .iface = PKT_IF_SELF};
	struct pkt *p = udp_source(gw, &ends) ? pkt_alloc(gw->pool) : NULL;
	uint8_t *m = p ? pkt_put(p, r->len) : NULL;
	if (!m) {
		if (p)
			pkt_free(p);
		return;
	}
	memcpy(m, r->message, r->len);
	dns_put16(m, r->id);
	udp_send(gw, p, &ends);
}

/* --- what comes from a server --------------------------------------------------------------- */

/* It cannot be answered: the client gets SERVFAIL. */
static void give_up(struct gw *gw, struct dns64_passthrough *r)
{
	const struct dns64_transport *to = r->from.transport;
	struct dns_layout l;
	struct dns64_reply s;
	struct dns64_query u = {.id = r->client_id,
	                        .flags = dns_get16(r->message + 2),
	                        .edns = r->edns,
	                        .dnssec = r->dnssec};
	if (to->begin(gw, &r->from, &s)) {
		memcpy(s.at, r->message, r->len);
		bool whole = dns_parse_question((struct dns_view){s.at, r->len}, &l);
		uint32_t len = dns64_answer_rcode(&u, DNS_SERVFAIL, s.at,
		                                  whole ? l.question_end : DNS_HEADER);
		dns64_parts_of(gw)->policy->failed++;
		to->send(gw, &r->from, &s, len);
	}
	release(gw, r);
}

/* Sends an answer to the client. One that the client cannot take, or that is not whole, is cut to
 * its question, with TC. */
static void pass_on(struct gw *gw, struct dns64_passthrough *r, struct dns_view m,
                    const struct dns_layout *l, bool whole)
{
	const struct dns64_transport *to = r->from.transport;
	struct dns64_reply s;
	if (to->begin(gw, &r->from, &s)) {
		bool fits = whole && l->end <= min_u32(r->limit, s.room);
		uint32_t len = fits ? l->end : l->question_end;
		memcpy(s.at, m.at, len);
		dns_put16(s.at, r->client_id);
		if (!fits) {
			s.at[2] |= DNS_TC >> 8;
			memset(s.at + 6, 0, 6);
		}
		to->send(gw, &r->from, &s, len);
	}
	release(gw, r);
}

/* True when a message answers this query: with its ID and operation, and its question to the
 * letter. The question may be missing where the server does not know the signature, or does not
 * understand the query. */
static bool answers(const struct dns64_passthrough *r, struct dns_view m)
{
	struct dns_view query = {r->message, r->len};
	struct dns_layout have, want;
	if (m.len < DNS_HEADER || dns_get16(m.at) != r->id ||
	    (dns_get16(m.at + 2) & (DNS_QR | DNS_OPCODE)) != DNS_QR)
		return false;
	uint32_t n = be16_get(dns_header_of(m)->count[DNS_QD]);
	if (n == 0)
		return (m.at[3] & DNS_RCODE) != DNS_NOERROR;
	return n == 1 && dns_parse_question(m, &have) && dns_parse_question(query, &want) &&
	       have.question_end == want.question_end &&
	       memcmp(m.at + DNS_HEADER, query.at + DNS_HEADER, have.question_end - DNS_HEADER) ==
	               0;
}

/* A message for an entry. Gives why it is dropped, or DROP_NONE. */
static enum drop take_answer(struct gw *gw, struct dns64_passthrough *r, struct dns_view m)
{
	struct dns_layout l;
	if (!answers(r, m))
		return DROP_DNS_FORGED;
	/* Bytes after the last record do no harm; a truncated message may lack its end. */
	bool whole = (dns_parse(m, &l) || l.end) && dns_opt_is_right(m, &l);
	if (!whole && (l.end || !(m.at[2] & DNS_TC >> 8)))
		return DROP_DNS_ANSWER;
	dns64_servers_of(gw)->answered++;
	/* It cannot be held back, since it is not kept. */
	if (!r->from.transport->takes(gw, &r->from))
		give_up(gw, r);
	else
		pass_on(gw, r, m, &l, whole);
	return DROP_NONE;
}

/* A datagram to the port of entry number `arg` (udp.h). */
static enum verdict input(struct gw *gw, struct pkt *p, const struct udp_ends *ends, uint32_t arg)
{
	struct dns64_passthrough *r = &dns64_passthroughs_of(gw)->entry[arg];
	struct dns64_servers *servers = dns64_servers_of(gw);
	if (ends->remote_port != DNS64_PORT ||
	    !addr_eq(&ends->remote, &servers->server[r->server].addr))
		return V_LOCAL;
	enum drop why = take_answer(gw, r, (struct dns_view){p->data, p->len});
	if (why != DROP_NONE) {
		servers->forged++;
		return gw_drop(gw, p, why);
	}
	pkt_free(p);
	return V_KEPT;
}

/* --- sending -------------------------------------------------------------------------------- */

static bool may_retry(const struct gw *gw, const struct dns64_passthrough *r)
{
	const struct dns64_servers *s = dns64_servers_of(gw);
	return r->n_attempts < s->n_attempts && dns64_now(gw) - r->begun_us < s->fetch_us;
}

static void send(struct gw *gw, struct dns64_passthrough *r);

static enum drop conn_answer(struct gw *gw, uint32_t who, uint32_t server, struct dns_view m)
{
	(void)server;
	return take_answer(gw, &dns64_passthroughs_of(gw)->entry[who], m);
}

static uint32_t conn_ended(struct gw *gw, uint32_t who, uint32_t server)
{
	(void)server;
	dns64_passthroughs_of(gw)->entry[who].tcp = false;
	return who;
}

static void conn_lost(struct gw *gw, uint32_t who, bool answered)
{
	struct dns64_passthrough *r = &dns64_passthroughs_of(gw)->entry[who];
	r->n_attempts = (uint16_t)(r->n_attempts - answered);
	if (may_retry(gw, r))
		send(gw, r);
	else
		give_up(gw, r);
}

static bool send_over_tcp(struct gw *gw, struct dns64_passthrough *r)
{
	static const struct dns64_conn_user user = {conn_answer, conn_ended, conn_lost};
	uint8_t m[2 + sizeof r->message];
	memcpy(m + 2, r->message, r->len);
	return dns64_conn_send(gw, r->server, &user, number_of(gw, r), r->share, m, r->len, &r->id);
}

/* Sends a copy of the query, to the same server each time; a datagram also with the same port and
 * ID. Over TCP an attempt has all the time that is left, unless its connection ends. */
static void send(struct gw *gw, struct dns64_passthrough *r)
{
	struct dns64_servers *s = dns64_servers_of(gw);
	uint32_t wait = dns64_server_wait_us(gw, r->server, r->n_attempts++);
	uint32_t now = dns64_now(gw), left = r->begun_us + s->fetch_us - now;
	bool last = r->port == 0 || r->n_attempts >= s->n_attempts;
	s->asked++;
	if (r->port)
		send_datagram(gw, r);
	else
		r->tcp = send_over_tcp(gw, r);
	if (r->port == 0 && !r->tcp)
		left = 0;
	wheel_set(dns64_wheel(gw), DNS64_TIMER_PASSTHROUGH + number_of(gw, r),
	          now + (last ? left : min_u32(wait, left)));
}

void dns64_passthrough_due(struct gw *gw, uint32_t i)
{
	struct dns64_passthrough *r = &dns64_passthroughs_of(gw)->entry[i];
	uint32_t over_tcp = (uint32_t)r->tcp << r->server;
	dns64_servers_of(gw)->timeouts++;
	if (r->port && may_retry(gw, r))
		send(gw, r);
	else
		give_up(gw, r);
	if (over_tcp)
		dns64_conn_late(gw, over_tcp);
}

/* --- start -------------------------------------------------------------------------------- */

/* A free place for a query of a client with this share; NULL: it has as many as it may. */
static struct dns64_passthrough *take_place(struct gw *gw, uint8_t share)
{
	struct dns64_passthroughs *all = dns64_passthroughs_of(gw);
	struct dns64_passthrough *r = NULL, *oldest = all->entry;
	uint32_t of_share = 0, n_free = 0, now = dns64_now(gw);
	for (uint32_t i = 0; i < DNS64_PASSTHROUGHS; i++) {
		struct dns64_passthrough *one = &all->entry[i];
		if (one->len == 0) {
			r = one;
			n_free++;
			continue;
		}
		of_share += one->share == share;
		if (now - one->begun_us > now - oldest->begun_us)
			oldest = one;
	}
	if (!r && of_share == 0) {
		give_up(gw, oldest);
		return oldest;
	}
	return of_share < n_free ? r : NULL;
}

bool dns64_passthrough_begin(struct gw *gw, struct dns_view m, const struct dns64_query *u,
                             const struct dns64_client *from)
{
	struct dns64_passthroughs *all = dns64_passthroughs_of(gw);
	uint8_t share = dns64_pending_share(gw, &from->ends);
	struct dns64_passthrough *r = m.len <= sizeof r->message ? take_place(gw, share) : NULL;
	if (!r) {
		dns64_parts_of(gw)->table_full++;
		return false;
	}
	if (!u->stream) {
		r->port = udp_bind_any(gw, all->udp_handler, (uint16_t)number_of(gw, r));
		if (!r->port)
			return false;
	}
	memcpy(r->message, m.at, m.len);
	r->len = (uint16_t)m.len;
	r->from = *from;
	r->id = (uint16_t)rng_u32(gw->rng);
	r->client_id = u->id;
	r->share = share;
	r->limit = u->limit;
	r->edns = u->edns;
	r->dnssec = u->dnssec;
	r->server = (uint8_t)dns64_server_pick(gw, 0);
	r->n_attempts = 0;
	r->begun_us = dns64_now(gw);
	all->begun++;
	send(gw, r);
	return true;
}

bool dns64_passthrough_init(struct gw *gw, struct dns64_passthroughs *all)
{
	all->entry = alloc(DNS64_PASSTHROUGHS * sizeof *all->entry, 64);
	all->udp_handler = udp_register(gw, input);
	return all->entry != NULL && all->udp_handler != 0;
}
