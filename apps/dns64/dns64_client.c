/* Questions of clients: what a message is, who may ask it, and what becomes of it. See dns64.h.
 * Nothing here knows how a message came.
 *
 * Whatever a client sends is answered or counted: a question that cannot be read with
 * FORMERR, another operation with NOTIMP, a client that may not ask with REFUSED, a version
 * of EDNS that nobody knows with BADVERS. */
#include "apps/dns64/dns64.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/client.h"

/* An answer without records. The question comes back, for clients look for it, and OPT to
 * those who sent it (RFC 6891 section 6.1.1), if it can be made out. */
static uint32_t refuse(struct dns64_query *u, uint16_t rcode, uint8_t *m, uint32_t len,
                       uint64_t *count)
{
	struct dns_view v = {m, len};
	struct dns_layout l;
	uint32_t keep = DNS_HEADER;
	++*count;
	if (be16_get(dns_header_of(v)->count[DNS_QD]) == 1 && dns_parse_question(v, &l))
		keep = l.question_end;
	if (dns_parse(v, &l) && l.n_opt) {
		u->edns = true;
		u->dnssec = l.opt.ttl & DNS_OPT_DO;
	}
	return dns64_answer_rcode(u, rcode, m, keep);
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
	bool transfer = l->qtype == DNS_TYPE_IXFR || l->qtype == DNS_TYPE_AXFR;
	*relay = transfer;
	/* Zones have other ways; one of many messages is not passed on. */
	if (transfer && u->stream)
		return DNS_NOTIMP;
	if (LIKELY(load32(m.at + 6) == 0 && load16(m.at + 10) == 0))
		return m.len == l->question_end ? DNS_NOERROR : DNS_FORMERR;
	if (!dns_parse(m, &all) || !dns_opt_is_right(m, &all))
		return DNS_FORMERR;
	*relay |= is_signed(m, &all);
	if (all.n_opt == 0)
		return DNS_NOERROR;
	u->edns = true;
	u->dnssec = opt->ttl & DNS_OPT_DO;
	u->limit = (uint16_t)min_u32(max_u32(opt->class, DNS_PLAIN), size_max);
	return opt->ttl >> 16 & 0xff ? DNS_BADVERS : DNS_NOERROR;
}

/* --- a question --------------------------------------------------------------------------------
 */

/* A line about a question, for those who asked for such (debugging yes). */
static void say(struct dns64 *d, const struct dns64_query *u, const struct udp_ends *ends,
                const struct dns64_plan *p)
{
	static const char *const how[] = {
	        [DNS64_RELAY] = "as it is",   [DNS64_JOIN] = "put together",
	        [DNS64_MAKE] = "synthesised", [DNS64_TURN] = "reverse name",
	        [DNS64_LOCAL] = "our own",    [DNS64_RCODE] = "error",
	        [DNS64_WAIT] = "asking",
	};
	char client[FMT_IP6], name[100];
	log_limited(&d->said_us, 100, "dns %s type %u from %s: %s%s",
	            dns_name_text(name, sizeof name, u->name), u->qtype,
	            addr_text(client, &ends->remote), how[p->how], p->stale ? ", stale" : "");
}

/* What cannot wait is answered with what there is; 0: it waits. */
static uint32_t answer(struct gw *gw, const struct dns64_from *from, struct dns64_query *u,
                       uint8_t *m, uint32_t room)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_plan plan;
	struct dns64_record *ready = dns64_ready(gw, u);
	if (LIKELY(ready != NULL) && !d->debug) {
		plan.how = DNS64_RELAY;
		plan.stale = plan.exists = false;
		plan.n = 1;
		plan.record[0] = ready;
		d->count.hits++;
		d->count.synthesised++;
		return dns64_answer(gw, u, &plan, m, room);
	}
	dns64_plan(gw, u, &plan);
	if (UNLIKELY(d->debug))
		say(d, u, &from->ends, &plan);
	if (plan.how == DNS64_WAIT) {
		if (dns64_wait(gw, u, &plan, from))
			return 0;
		dns64_plan_now(gw, u, &plan);
	} else {
		d->count.hits++;
	}
	dns64_plan_again(gw, &plan);
	uint32_t len = dns64_answer(gw, u, &plan, m, room);
	dns64_keep_ready(gw, u, &plan, m, len);
	return len;
}

/* A question of one who may ask. */
static uint32_t question(struct gw *gw, const struct dns64_from *from, struct dns64_query *u,
                         uint8_t *m, uint32_t len, uint32_t room)
{
	struct dns64 *d = dns64_of(gw);
	struct dns_view v = {m, len};
	struct dns_layout l;
	bool relay;
	if (u->flags & DNS_OPCODE)
		return refuse(u, DNS_NOTIMP, m, len, &d->count.notimp);
	if (be16_get(dns_header_of(v)->count[DNS_QD]) != 1 || !dns_parse_question(v, &l))
		return refuse(u, DNS_FORMERR, m, len, &d->count.formerr);
	uint16_t rcode = read_rest(v, &l, u, d->size_max, &relay);
	if (u->stream)
		u->limit = DNS64_STREAM_MAX;
	if (UNLIKELY(rcode != DNS_NOERROR))
		return refuse(u, rcode, m, len,
		              rcode == DNS_BADVERS  ? &d->count.badvers
		              : rcode == DNS_NOTIMP ? &d->count.notimp
		                                    : &d->count.formerr);
	if (UNLIKELY(relay))
		return dns64_relay(gw, v, u, from)
		               ? 0
		               : refuse(u, DNS_SERVFAIL, m, len, &d->count.servfail);
	u->name = m + DNS_HEADER;
	u->qtype = l.qtype;
	u->skip = d->n_skip_clients &&
	          dns64_in_prefixes(d->skip_client, d->n_skip_clients, &from->ends.remote);
	u->serial = d->cache.serial;
	u->waited_us = 0;
	dns64_question_set(&d->cache, u->q, u->name, l.name_len, l.qtype, l.qclass,
	                   dns64_key_of(u->flags, u->dnssec));
	return answer(gw, from, u, m, room);
}

uint32_t dns64_question(struct gw *gw, const struct dns64_from *from, uint8_t *m, uint32_t len,
                        uint32_t room, enum drop *why)
{
	struct dns64 *d = dns64_of(gw);
	*why = DROP_DNS_SHORT;
	if (len < DNS_HEADER)
		return 0;
	struct dns64_question q;
	struct dns64_query u;
	u.q = &q;
	u.id = dns_get16(m);
	u.flags = dns_get16(m + 2);
	u.limit = DNS_PLAIN;
	u.edns = u.dnssec = false;
	u.stream = from->conn != TCP_NONE;
	*why = DROP_DNS_RESPONSE;
	if (u.flags & DNS_QR) /* an answer to nothing must not be answered */
		return 0;
	d->count.queries++;
	if (UNLIKELY(!from->known && !dns64_may_ask(d, &from->ends.remote))) {
		*why = dns64_limit_refusal(gw) ? DROP_NONE : DROP_DNS_CLIENT;
		return *why == DROP_NONE ? refuse(&u, DNS_REFUSED, m, len, &d->count.refused) : 0;
	}
	*why = !d->rate || dns64_limit(gw, client_of(gw, from->ends.link, &from->ends.remote))
	               ? DROP_NONE
	               : DROP_DNS_RATE;
	return *why == DROP_NONE ? question(gw, from, &u, m, len, room) : 0;
}
