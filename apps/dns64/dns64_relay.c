/* Questions that are passed on as they are, and their answers as they come. See dns64.h.
 *
 * Those are signed ones (TSIG, SIG(0)) and zone transfers: whoever signs does not want them
 * changed (RFC 5625 section 4.5, RFC 8945 section 5.5), and only the ID may be, which the
 * signature leaves out. Nothing of them is joined, kept or synthesised. Malformed answers are
 * dropped, as those to all other questions are. They wait in a
 * small table, of which one client has at most as many places as are free; when it is full the
 * oldest gives way to a client that has none. What came over TCP goes on over TCP (RFC 5625
 * section 4.4.1): who asked over UDP and gets TC signs another one and comes over TCP. */
#include "apps/dns64/dns64.h"

#include "kernel/lib/alloc.h"

#define NODES (DNS64_ASKS + DNS64_WAITERS) /* timers of others */

bool dns64_relay_init(struct gw *gw, struct dns64 *d)
{
	d->relay = alloc(DNS64_RELAYS * sizeof *d->relay, 64);
	d->relay_handler = udp_register(gw, dns64_relay_input);
	return d->relay != NULL && d->relay_handler != 0;
}

static void release(struct gw *gw, struct dns64_relay *r)
{
	struct dns64 *d = dns64_of(gw);
	if (r->port)
		udp_unbind(gw, r->port);
	if (r->linked)
		dns64_link_forget(gw, r->server, r->id);
	r->port = r->len = 0;
	r->linked = false;
	wheel_clear(&d->wheel, NODES + (uint32_t)(r - d->relay));
}

static void send_datagram(struct gw *gw, const struct dns64_relay *r)
{
	struct udp_ends ends = {.remote = dns64_of(gw)->server[r->server].addr,
	                        .remote_port = DNS64_PORT,
	                        .local_port = r->port,
	                        .link = PKT_IF_SELF};
	struct pkt *p = udp_source(gw, &ends) ? pkt_alloc(gw->pool) : NULL;
	uint8_t *m = p ? pkt_put(p, r->len) : NULL;
	if (!m) {
		if (p)
			pkt_free(p);
		return;
	}
	memcpy(m, r->question, r->len);
	dns_put16(m, r->id);
	udp_send(gw, p, &ends);
}

/* Sends a copy of the question, to the same server each time; datagrams also with the same port and
 * ID. Over TCP one has all the time that is left, unless its connection ends. */
static void ask(struct gw *gw, struct dns64_relay *r)
{
	struct dns64 *d = dns64_of(gw);
	uint32_t wait = dns64_server_wait_us(d, r->server, r->n_tries++);
	uint32_t now = dns64_now(gw), left = r->begun_us + d->wait_us - now;
	bool last = r->port == 0 || r->n_tries >= d->tries;
	d->count.asked++;
	if (r->port)
		send_datagram(gw, r);
	else
		r->linked = dns64_link_relay(gw, r);
	if (r->port == 0 && !r->linked)
		left = 0;
	wheel_set(&d->wheel, NODES + (uint32_t)(r - d->relay),
	          now + (last ? left : min_u32(wait, left)));
}

/* In vain: SERVFAIL. */
static void give_up(struct gw *gw, struct dns64_relay *r)
{
	struct dns64 *d = dns64_of(gw);
	struct dns_layout l;
	struct dns64_sheet s;
	struct dns64_query u = {.id = r->client_id,
	                        .flags = dns_get16(r->question + 2),
	                        .edns = r->edns,
	                        .dnssec = r->dnssec};
	if (dns64_reply_begin(gw, &r->from, &s)) {
		memcpy(s.at, r->question, r->len);
		bool whole = dns_parse_question((struct dns_view){s.at, r->len}, &l);
		uint32_t len = dns64_answer_rcode(&u, DNS_SERVFAIL, s.at,
		                                  whole ? l.question_end : DNS_HEADER);
		d->count.servfail++;
		dns64_reply_end(gw, &r->from, &s, len);
	}
	release(gw, r);
}

/* A free place for a question of a client with this share; NULL: it has as many as it may. */
static struct dns64_relay *take(struct gw *gw, uint8_t share)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_relay *r = NULL, *oldest = d->relay;
	uint32_t of_share = 0, n_free = 0, now = dns64_now(gw);
	for (struct dns64_relay *one = d->relay; one < d->relay + DNS64_RELAYS; one++) {
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

bool dns64_relay(struct gw *gw, struct dns_view m, const struct dns64_query *u,
                 const struct dns64_from *from)
{
	struct dns64 *d = dns64_of(gw);
	uint8_t share = dns64_share_of(gw, &from->ends);
	struct dns64_relay *r = m.len <= sizeof r->question ? take(gw, share) : NULL;
	if (!r) {
		d->count.full++;
		return false;
	}
	if (!u->stream) {
		r->port = udp_bind_any(gw, d->relay_handler, (uint16_t)(r - d->relay));
		if (!r->port)
			return false;
	}
	memcpy(r->question, m.at, m.len);
	r->len = (uint16_t)m.len;
	r->from = *from;
	r->id = (uint16_t)rng_u32(gw->rng);
	r->client_id = u->id;
	r->share = share;
	r->limit = u->limit;
	r->edns = u->edns;
	r->dnssec = u->dnssec;
	r->server = (uint8_t)dns64_server_pick(gw, 0);
	r->n_tries = 0;
	r->begun_us = dns64_now(gw);
	d->count.relayed++;
	ask(gw, r);
	return true;
}

/* What the client cannot take, or what is not whole, is cut down to the question, with TC. */
static void pass_on(struct gw *gw, struct dns64_relay *r, struct dns_view m,
                    const struct dns_layout *l, bool whole)
{
	struct dns64_sheet s;
	if (dns64_reply_begin(gw, &r->from, &s)) {
		bool fits = whole && l->end <= min_u32(r->limit, s.room);
		uint32_t len = fits ? l->end : l->question_end;
		memcpy(s.at, m.at, len);
		dns_put16(s.at, r->client_id);
		if (!fits) {
			s.at[2] |= DNS_TC >> 8;
			memset(s.at + 6, 0, 6);
		}
		dns64_reply_end(gw, &r->from, &s, len);
	}
	release(gw, r);
}

/* Whether a message answers this question: with its ID and operation, and the question to the
 * letter, which may be missing where the server does not know the signature, or understand it. */
static bool answers(const struct dns64_relay *r, struct dns_view m)
{
	struct dns_view asked = {r->question, r->len};
	struct dns_layout have, want;
	if (m.len < DNS_HEADER || dns_get16(m.at) != r->id ||
	    (dns_get16(m.at + 2) & (DNS_QR | DNS_OPCODE)) != DNS_QR)
		return false;
	uint32_t n = be16_get(dns_header_of(m)->count[DNS_QD]);
	if (n == 0)
		return (m.at[3] & DNS_RCODE) != DNS_NOERROR;
	return n == 1 && dns_parse_question(m, &have) && dns_parse_question(asked, &want) &&
	       have.question_end == want.question_end &&
	       memcmp(m.at + DNS_HEADER, asked.at + DNS_HEADER, have.question_end - DNS_HEADER) ==
	               0;
}

enum drop dns64_relay_answer(struct gw *gw, uint32_t i, struct dns_view m)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_relay *r = &d->relay[i];
	struct dns_layout l;
	if (!answers(r, m))
		return DROP_DNS_FORGED;
	/* Bytes behind the last record do no harm; of a truncated message the end may be missing.
	 */
	bool whole = (dns_parse(m, &l) || l.end) && dns_opt_is_right(m, &l);
	if (!whole && (l.end || !(m.at[2] & DNS_TC >> 8)))
		return DROP_DNS_ANSWER;
	d->count.answered++;
	/* It cannot be held back as others can, for it is not kept. */
	if (r->from.conn != TCP_NONE && !dns64_stream_takes(gw, &r->from))
		give_up(gw, r);
	else
		pass_on(gw, r, m, &l, whole);
	return DROP_NONE;
}

enum verdict dns64_relay_input(struct gw *gw, struct pkt *p, const struct udp_ends *ends,
                               uint32_t arg)
{
	struct dns64 *d = dns64_of(gw);
	const struct dns64_relay *r = &d->relay[arg];
	if (ends->remote_port != DNS64_PORT || !addr_eq(&ends->remote, &d->server[r->server].addr))
		return V_LOCAL;
	enum drop why = dns64_relay_answer(gw, arg, (struct dns_view){p->data, p->len});
	if (why != DROP_NONE) {
		d->count.forged++;
		return gw_drop(gw, p, why);
	}
	pkt_free(p);
	return V_KEPT;
}

static bool may_ask_again(const struct gw *gw, const struct dns64_relay *r)
{
	const struct dns64 *d = dns64_of(gw);
	return r->n_tries < d->tries && dns64_now(gw) - r->begun_us < d->wait_us;
}

void dns64_relay_lost(struct gw *gw, uint32_t i, bool good)
{
	struct dns64_relay *r = &dns64_of(gw)->relay[i];
	r->linked = false;
	r->n_tries = (uint16_t)(r->n_tries - good);
	if (may_ask_again(gw, r))
		ask(gw, r);
	else
		give_up(gw, r);
}

void dns64_relay_due(struct gw *gw, uint32_t i)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_relay *r = &d->relay[i];
	uint32_t link = (uint32_t)r->linked << r->server;
	d->count.timeouts++;
	if (r->port && may_ask_again(gw, r))
		ask(gw, r);
	else
		give_up(gw, r);
	if (link)
		dns64_link_late(gw, link);
}
