/* See dns64_pending.h. */
#include "apps/dns64/client/dns64_pending.h"

#include "apps/dns64/client/dns64_path.h"
#include "apps/dns64/policy/dns64_answer.h"
#include "apps/dns64/policy/dns64_plan.h"
#include "kernel/lib/alloc.h"

#define MAX_ROUNDS 24u   /* plans for one query; more means a chain without end */
#define HELD       512u  /* held back; of one client at most as many as are free */
#define SHARE      3u    /* a client may have so many for each place that is free */
#define CROWD      1280u /* with more waiting, old fetches end */

bool dns64_pending_init(struct dns64_pendings *all)
{
	all->pending = alloc(DNS64_PENDING * sizeof *all->pending, 64);
	for (uint32_t i = 0; all->pending && i < DNS64_PENDING; i++)
		all->pending[i].place[0].next =
		        (uint16_t)(i + 1 < DNS64_PENDING ? i + 1 : DNS64_NONE);
	all->free = 0;
	return all->pending != NULL;
}

bool dns64_pending_is_crowded(const struct gw *gw)
{
	return dns64_pendings_of(gw)->n > CROWD;
}

/* --- lists --------------------------------------------------------------------------------- */

/* Puts place k of a query into the list of a fetch. */
static void enter(struct gw *gw, struct dns64_pending *w, uint32_t k, uint32_t fetch)
{
	struct dns64_pending *all = dns64_pendings_of(gw)->pending;
	uint16_t me = (uint16_t)((uint32_t)(w - all) * 2 + k);
	uint16_t *head = &dns64_fetches_of(gw)->fetch[fetch].waiters;
	w->place[k].fetch = (uint16_t)fetch;
	w->place[k].prev = DNS64_NONE;
	w->place[k].next = *head;
	if (*head != DNS64_NONE)
		all[*head / 2].place[*head % 2].prev = me;
	*head = me;
}

static void leave(struct gw *gw, struct dns64_pending *w, uint32_t k)
{
	struct dns64_pending *all = dns64_pendings_of(gw)->pending;
	uint16_t prev = w->place[k].prev, next = w->place[k].next, fetch = w->place[k].fetch;
	if (fetch == DNS64_NONE)
		return;
	if (prev == DNS64_NONE)
		dns64_fetches_of(gw)->fetch[fetch].waiters = next;
	else
		all[prev / 2].place[prev % 2].next = next;
	if (next != DNS64_NONE)
		all[next / 2].place[next % 2].prev = prev;
	w->place[k].fetch = DNS64_NONE;
}

static void release(struct gw *gw, struct dns64_pending *w)
{
	struct dns64_pendings *all = dns64_pendings_of(gw);
	uint32_t me = (uint32_t)(w - all->pending);
	leave(gw, w, 0);
	leave(gw, w, 1);
	wheel_clear(dns64_wheel(gw), DNS64_TIMER_PENDING + me);
	w->place[0].next = all->free;
	all->free = (uint16_t)me;
	all->n--;
	all->share[w->share]--;
}

/* Holds a query back: it no longer waits for fetches, but until its client has read earlier
 * answers. The records of its answer stay in the cache, or are fetched again. False: too many are
 * held back. */
static bool hold(struct gw *gw, struct dns64_pending *w)
{
	struct dns64_pendings *all = dns64_pendings_of(gw);
	uint32_t me = (uint32_t)(w - all->pending);
	if (all->held[w->share] >= HELD - all->n_held) {
		dns64_parts_of(gw)->table_full++;
		return false;
	}
	leave(gw, w, 0);
	leave(gw, w, 1);
	wheel_clear(dns64_wheel(gw), DNS64_TIMER_PENDING + me);
	all->n_held++;
	all->held[w->share]++;
	all->count_held++;
	w->from.transport->hold(gw, &w->from, me);
	return true;
}

static struct dns64_pending *unhold(struct gw *gw, uint32_t pending)
{
	struct dns64_pendings *all = dns64_pendings_of(gw);
	struct dns64_pending *w = &all->pending[pending];
	all->n_held--;
	all->held[w->share]--;
	return w;
}

/* --- waiting -------------------------------------------------------------------------------- */

/* Fetches what a plan misses, and lets the query wait for it. False: nothing of it can be
 * fetched. */
static bool fetch_missing(struct gw *gw, struct dns64_pending *w, const struct dns64_plan *p)
{
	bool any = false;
	for (uint32_t k = 0; k < 2; k++) {
		leave(gw, w, k);
		uint32_t fetch = DNS64_NONE;
		if (k < p->n_missing)
			fetch = dns64_fetch_begin(gw, p->missing[k].q, p->missing[k].type);
		if (fetch == DNS64_NONE)
			continue;
		enter(gw, w, k, fetch);
		any = true;
	}
	return any;
}

uint8_t dns64_pending_share(struct gw *gw, const struct udp_ends *e)
{
	_Static_assert(DNS64_SHARES == UINT8_MAX + 1, "the number of a place is a byte");
	return (uint8_t)dns64_path_client(gw, e);
}

static void set_timer(struct gw *gw, uint32_t pending, uint32_t due_us)
{
	wheel_set(dns64_wheel(gw), DNS64_TIMER_PENDING + pending, due_us);
}

bool dns64_pending_add(struct gw *gw, const struct dns64_query *u, const struct dns64_plan *p,
                       const struct dns64_client *from)
{
	struct dns64_pendings *all = dns64_pendings_of(gw);
	uint32_t i = all->free;
	uint8_t share = dns64_pending_share(gw, &from->ends);
	if (all->share[share] >= SHARE * (DNS64_PENDING - all->n)) {
		dns64_parts_of(gw)->table_full++;
		return false;
	}
	struct dns64_pending *w = &all->pending[i];
	all->free = w->place[0].next;
	all->n++;
	all->share[share]++;
	w->share = share;
	w->place[0].fetch = w->place[1].fetch = DNS64_NONE;
	w->from = *from;
	w->u = *u;
	w->u.q = &w->q;
	w->u.name = w->name;
	w->since_us = dns64_now(gw);
	w->rounds = 0;
	dns64_question_copy(&w->q, u->q);
	dns_copy_name(w->name, u->name, u->q->name.len); /* type and class follow it */
	if (!fetch_missing(gw, w, p)) {
		release(gw, w);
		return false;
	}
	/* A query that waits long is planned again before its fetches are over: A records may be
	 * there, or stale records. */
	set_timer(gw, i, w->since_us + dns64_parts_of(gw)->policy->patience_us);
	return true;
}

/* --- going on --------------------------------------------------------------------------------- */

static void answer(struct gw *gw, const struct dns64_pending *w, const struct dns64_plan *p)
{
	struct dns64_reply s;
	if (!w->from.transport->begin(gw, &w->from, &s))
		return; /* the client will retry */
	uint8_t *rest = s.at + DNS_HEADER + w->q.name.len;
	dns_copy_name(s.at + DNS_HEADER, w->name, w->q.name.len);
	dns_put16(rest, w->u.qtype);
	dns_put16(rest + 2, w->q.class);
	uint32_t len = dns64_answer(dns64_parts_of(gw)->policy, &w->u, p, s.at, s.room);
	w->from.transport->send(gw, &w->from, &s, len);
}

void dns64_pending_refetch(struct gw *gw, const struct dns64_plan *p)
{
	if (LIKELY(p->refetch.q == NULL) || dns64_fetches_of(gw)->n >= DNS64_FETCHES / 2)
		return;
	if (p->popular) {
		p->popular->flags |= DNS64_R_REFETCHED;
		dns64_pendings_of(gw)->prefetched++;
	}
	dns64_fetch_begin(gw, p->refetch.q, p->refetch.type);
}

/* Plans a query again; it is answered, or waits on. */
static void go_on(struct gw *gw, struct dns64_pending *w)
{
	const struct dns64_parts *d = dns64_parts_of(gw);
	struct dns64_query *u = &w->u;
	struct dns64_plan p;
	dns64_pending_set_times(gw, u, dns64_now(gw) - w->since_us);
	dns64_plan(d->policy, u, &p);
	/* It waits as long as one fetch may take. */
	bool time = u->waited_us < d->servers->fetch_us && ++w->rounds < MAX_ROUNDS;
	if (p.how == DNS64_HOW_FETCH && time && fetch_missing(gw, w, &p))
		return;
	if (p.how == DNS64_HOW_FETCH)
		dns64_plan_final(d->policy, u, &p);
	if (w->from.conn != TCP_NONE && p.how != DNS64_HOW_RCODE &&
	    !w->from.transport->takes(gw, &w->from)) {
		if (hold(gw, w))
			return;
		p.how = DNS64_HOW_RCODE; /* which is short */
		p.rcode = DNS_SERVFAIL;
	}
	dns64_pending_refetch(gw, &p);
	answer(gw, w, &p);
	release(gw, w);
}

void dns64_pending_resume(struct gw *gw, uint32_t pending)
{
	struct dns64_pending *w = unhold(gw, pending);
	uint32_t now = dns64_now(gw), patience_us = dns64_parts_of(gw)->policy->patience_us;
	/* The time for which it was held back does not count: it has waited as long as a client
	 * that gets synthesised records in place of a late AAAA answer. */
	if (now - w->since_us > patience_us)
		w->since_us = now - patience_us;
	w->rounds = 0;
	set_timer(gw, pending, now + patience_us);
	go_on(gw, w);
}

void dns64_pending_drop(struct gw *gw, uint32_t pending)
{
	release(gw, unhold(gw, pending));
}

/* True for an answer that decides nothing about AAAA records while the other fetch is under way: A
 * records or their absence, and the absence of AAAA records. */
static bool is_half(const struct dns64_record *r)
{
	const uint8_t *m = dns64_view(r).at;
	uint16_t type = dns_get16(m + DNS_HEADER + r->name_len);
	if (type == DNS_TYPE_A)
		return r->kind == DNS64_DATA || r->kind == DNS64_EMPTY;
	return type == DNS_TYPE_AAAA && r->kind == DNS64_EMPTY && !(dns_get16(m + 2) & DNS_TC);
}

/* A fetch is over: all queries in its list are planned again, but those that cannot be answered
 * before their other fetch is over. */
static void fetch_done(struct gw *gw, uint32_t first, const struct dns64_record *r)
{
	struct dns64_pending *all = dns64_pendings_of(gw)->pending;
	uint32_t patience_us = dns64_parts_of(gw)->policy->patience_us;
	bool half = r && is_half(r);
	while (first != DNS64_NONE) {
		struct dns64_pending *w = &all[first / 2];
		uint32_t k = first % 2;
		first = w->place[k].next;
		w->place[k].fetch = DNS64_NONE;
		if (!half || w->u.qtype != DNS_TYPE_AAAA || w->place[1 - k].fetch == DNS64_NONE ||
		    dns64_now(gw) - w->since_us >= patience_us)
			go_on(gw, w);
	}
}

static uint32_t fetch_share(const struct gw *gw, uint32_t first, const uint16_t *used,
                            uint32_t n_free)
{
	const struct dns64_pending *all = dns64_pendings_of(gw)->pending;
	for (; first != DNS64_NONE; first = all[first / 2].place[first % 2].next)
		if (used[all[first / 2].share] < n_free)
			return all[first / 2].share;
	return DNS64_NONE;
}

const struct dns64_fetch_user dns64_pending_of_fetches = {fetch_done, fetch_share};

void dns64_pending_due(struct gw *gw, uint32_t pending)
{
	struct dns64_pending *w = &dns64_pendings_of(gw)->pending[pending];
	uint32_t waited = dns64_now(gw) - w->since_us;
	uint32_t next =
	        waited < DNS64_STALE_WAIT_US ? DNS64_STALE_WAIT_US : dns64_servers_of(gw)->fetch_us;
	if (waited < next)
		set_timer(gw, pending, w->since_us + next);
	go_on(gw, w);
}
