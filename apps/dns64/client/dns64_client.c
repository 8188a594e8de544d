/* See dns64_client.h.
 *
 * Everything that a client sends is answered or counted: a malformed query with FORMERR, another
 * operation with NOTIMP, a client that may not query with REFUSED, an unknown version of EDNS with
 * BADVERS. */
#include "apps/dns64/client/dns64_client.h"

#include "apps/dns64/client/dns64_limit.h"
#include "apps/dns64/client/dns64_passthrough.h"
#include "apps/dns64/client/dns64_path.h"
#include "apps/dns64/client/dns64_pending.h"
#include "apps/dns64/policy/dns64_answer.h"
#include "apps/dns64/policy/dns64_plan.h"
#include "apps/dns64/policy/dns64_ready.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"

/* Builds an answer without records; gives its length. It repeats the question, which clients look
 * for, and has OPT if the query has it (RFC 6891 section 6.1.1), as far as these can be read. */
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

/* --- reading a query ---------------------------------------------------------------------------
 */

/* True when the last record after the question is a signature over the message (RFC 8945, RFC
 * 2931). */
static bool is_signed(struct dns_view m, const struct dns_layout *l)
{
	struct dns_rr rr;
	bool found = false;
	for (uint32_t at = l->section[DNS_AR]; at < l->end && dns_read_rr(m, at, &rr); at = rr.end)
		found = rr.type == DNS_TYPE_TSIG || rr.type == DNS_TYPE_SIG;
	return found;
}

/* Reads what stands after the question: OPT, and perhaps more. Gives the response code. *unchanged
 * is set when the message must be passed on as it is. */
static uint16_t read_rest(struct dns_view m, const struct dns_layout *l, struct dns64_query *u,
                          uint32_t size_max, bool *unchanged)
{
	struct dns_layout all;
	const struct dns_rr *opt = &all.opt;
	bool transfer = l->qtype == DNS_TYPE_IXFR || l->qtype == DNS_TYPE_AXFR;
	*unchanged = transfer;
	/* A transfer over TCP is many messages, which are not passed on. */
	if (transfer && u->stream)
		return DNS_NOTIMP;
	if (LIKELY(load32(m.at + 6) == 0 && load16(m.at + 10) == 0))
		return m.len == l->question_end ? DNS_NOERROR : DNS_FORMERR;
	if (!dns_parse(m, &all) || !dns_opt_is_right(m, &all))
		return DNS_FORMERR;
	*unchanged |= is_signed(m, &all);
	if (all.n_opt == 0)
		return DNS_NOERROR;
	u->edns = true;
	u->dnssec = opt->ttl & DNS_OPT_DO;
	u->limit = (uint16_t)min_u32(max_u32(opt->class, DNS_PLAIN), size_max);
	return opt->ttl >> 16 & 0xff ? DNS_BADVERS : DNS_NOERROR;
}

/* --- a query -----------------------------------------------------------------------------------
 */

/* Writes a log line about a query (key debugging). */
static void log_query(struct dns64_clients *c, const struct dns64_query *u,
                      const struct udp_ends *ends, const struct dns64_plan *p)
{
	static const char *const how[] = {
	        [DNS64_HOW_AS_IS] = "as it is",         [DNS64_HOW_MERGE] = "put together",
	        [DNS64_HOW_SYNTHESISE] = "synthesised", [DNS64_HOW_REVERSE] = "reverse name",
	        [DNS64_HOW_LOCAL] = "our own",          [DNS64_HOW_RCODE] = "error",
	        [DNS64_HOW_FETCH] = "asking",
	};
	char client[FMT_IP6], name[100];
	log_limited(&c->said_us, 100, "dns %s type %u from %s: %s%s",
	            dns_name_text(name, sizeof name, u->name), u->qtype,
	            addr_text(client, &ends->remote), how[p->how], p->stale ? ", stale" : "");
}

/* Builds the answer to a query, or lets it wait; gives the length of the answer, 0: it waits. A
 * query that cannot wait is answered from what is known. */
static uint32_t answer(struct gw *gw, const struct dns64_client *from, struct dns64_query *u,
                       uint8_t *m, uint32_t room)
{
	struct dns64_clients *c = dns64_clients_of(gw);
	struct dns64_policy *policy = dns64_parts_of(gw)->policy;
	struct dns64_plan plan;
	struct dns64_record *ready = dns64_ready_find(policy, u);
	if (LIKELY(ready != NULL) && !c->debug) {
		plan.how = DNS64_HOW_AS_IS;
		plan.stale = plan.exists = false;
		plan.n = 1;
		plan.record[0] = ready;
		c->hits++;
		policy->synthesised++;
		return dns64_answer(policy, u, &plan, m, room);
	}
	dns64_plan(policy, u, &plan);
	if (UNLIKELY(c->debug))
		log_query(c, u, &from->ends, &plan);
	if (plan.how == DNS64_HOW_FETCH) {
		if (dns64_pending_add(gw, u, &plan, from))
			return 0;
		dns64_plan_final(policy, u, &plan);
	} else {
		c->hits++;
	}
	dns64_pending_refetch(gw, &plan);
	uint32_t len = dns64_answer(policy, u, &plan, m, room);
	dns64_ready_keep(policy, u, &plan, m, len);
	return len;
}

/* A query of a client that may query. */
static uint32_t query(struct gw *gw, const struct dns64_client *from, struct dns64_query *u,
                      uint8_t *m, uint32_t len, uint32_t room)
{
	struct dns64_clients *c = dns64_clients_of(gw);
	struct dns64_policy *policy = dns64_parts_of(gw)->policy;
	struct dns_view v = {m, len};
	struct dns_layout l;
	bool unchanged;
	if (u->flags & DNS_OPCODE)
		return refuse(u, DNS_NOTIMP, m, len, &c->notimp);
	if (be16_get(dns_header_of(v)->count[DNS_QD]) != 1 || !dns_parse_question(v, &l))
		return refuse(u, DNS_FORMERR, m, len, &c->formerr);
	uint16_t rcode = read_rest(v, &l, u, c->size_max, &unchanged);
	if (u->stream)
		u->limit = DNS64_STREAM_MAX;
	if (UNLIKELY(rcode != DNS_NOERROR))
		return refuse(u, rcode, m, len,
		              rcode == DNS_BADVERS  ? &c->badvers
		              : rcode == DNS_NOTIMP ? &c->notimp
		                                    : &c->formerr);
	if (UNLIKELY(unchanged))
		return dns64_passthrough_begin(gw, v, u, from)
		               ? 0
		               : refuse(u, DNS_SERVFAIL, m, len, &policy->failed);
	u->name = m + DNS_HEADER;
	u->qtype = l.qtype;
	u->skip = dns64_client_skips(c, &from->ends.remote);
	u->serial = policy->cache->serial;
	dns64_pending_set_times(gw, u, 0);
	dns64_question_set(policy->cache, u->q, u->name, l.name_len, l.qtype, l.qclass,
	                   dns64_query_key(u->flags, u->dnssec));
	return answer(gw, from, u, m, room);
}

uint32_t dns64_client_query(struct gw *gw, const struct dns64_client *from, uint8_t *m,
                            uint32_t len, uint32_t room, enum drop *why)
{
	struct dns64_clients *c = dns64_clients_of(gw);
	uint32_t rate = dns64_limits_of(gw)->rate;
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
	if (u.flags & DNS_QR) /* a response must not be answered */
		return 0;
	c->queries++;
	if (UNLIKELY(!from->known && !dns64_limit_allows(gw, &from->ends.remote))) {
		*why = dns64_limit_refusal(gw) ? DROP_NONE : DROP_DNS_CLIENT;
		return *why == DROP_NONE ? refuse(&u, DNS_REFUSED, m, len, &c->refused) : 0;
	}
	*why = !rate || dns64_limit_take(gw, dns64_path_client(gw, &from->ends)) ? DROP_NONE
	                                                                         : DROP_DNS_RATE;
	return *why == DROP_NONE ? query(gw, from, &u, m, len, room) : 0;
}
