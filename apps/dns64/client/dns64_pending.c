/* Clients' questions that wait for upstream: a fixed table. See dns64.h.
 *
 * What waits holds no packet, only what is needed to answer: where to, and the question
 * as it was spelled. It is in the list of each question to upstream that it waits for.
 * One client cannot take all places, nor can a few: what one may have depends on what is free. */
#include "apps/dns64/dns64.h"

#include "kernel/lib/alloc.h"
#include "net/client.h"

#define MAX_ROUNDS 24u  /* plans for one query: more is a chain without end */
#define HELD       512u /* that wait for their client to read; of one client as many as are free */

bool dns64_pending_init(struct dns64 *d)
{
	d->waiter = alloc(DNS64_PENDING * sizeof *d->waiter, 64);
	for (uint32_t i = 0; d->waiter && i < DNS64_PENDING; i++)
		d->waiter[i].link[0].next = (uint16_t)(i + 1 < DNS64_PENDING ? i + 1 : DNS64_NONE);
	d->waiter_free = 0;
	return d->waiter != NULL;
}

/* --- lists --------------------------------------------------------------------------------- */

static void link_to(struct dns64 *d, struct dns64_pending *w, uint32_t k, uint32_t ask)
{
	uint16_t me = (uint16_t)((uint32_t)(w - d->waiter) * 2 + k), *head = &d->ask[ask].first;
	w->link[k].ask = (uint16_t)ask;
	w->link[k].prev = DNS64_NONE;
	w->link[k].next = *head;
	if (*head != DNS64_NONE)
		d->waiter[*head / 2].link[*head % 2].prev = me;
	*head = me;
}

static void unlink_from(struct dns64 *d, struct dns64_pending *w, uint32_t k)
{
	uint16_t prev = w->link[k].prev, next = w->link[k].next, ask = w->link[k].ask;
	if (ask == DNS64_NONE)
		return;
	if (prev == DNS64_NONE)
		d->ask[ask].first = next;
	else
		d->waiter[prev / 2].link[prev % 2].next = next;
	if (next != DNS64_NONE)
		d->waiter[next / 2].link[next % 2].prev = prev;
	w->link[k].ask = DNS64_NONE;
}

static void release(struct dns64 *d, struct dns64_pending *w)
{
	unlink_from(d, w, 0);
	unlink_from(d, w, 1);
	wheel_clear(&d->wheel, DNS64_FETCHES + (uint32_t)(w - d->waiter));
	w->link[0].next = d->waiter_free;
	d->waiter_free = (uint16_t)(w - d->waiter);
	d->n_waiters--;
	d->share[w->share]--;
}

/* It waits no more for upstream, but until its client has read answers before this one. The records
 * that answer it stay in the cache, or are asked for once more. False when too many wait so. */
static bool hold(struct gw *gw, struct dns64_pending *w)
{
	struct dns64 *d = dns64_of(gw);
	uint32_t me = (uint32_t)(w - d->waiter);
	if (d->held[w->share] >= HELD - d->n_held) {
		d->count.full++;
		return false;
	}
	unlink_from(d, w, 0);
	unlink_from(d, w, 1);
	wheel_clear(&d->wheel, DNS64_FETCHES + me);
	d->n_held++;
	d->held[w->share]++;
	d->count.held++;
	dns64_stream_hold(gw, &w->from, me);
	return true;
}

static struct dns64_pending *unhold(struct dns64 *d, uint32_t waiter)
{
	struct dns64_pending *w = &d->waiter[waiter];
	d->n_held--;
	d->held[w->share]--;
	return w;
}

/* --- waiting -------------------------------------------------------------------------------- */

/* Asks what a plan needs. False when none of it can be asked. */
static bool ask_for_all(struct gw *gw, struct dns64_pending *w, const struct dns64_plan *p)
{
	struct dns64 *d = dns64_of(gw);
	bool any = false;
	for (uint32_t k = 0; k < 2; k++) {
		unlink_from(d, w, k);
		uint32_t ask = k < p->n_needs ? dns64_fetch_begin(gw, &p->need[k]) : DNS64_NONE;
		if (ask == DNS64_NONE)
			continue;
		link_to(d, w, k, ask);
		any = true;
	}
	return any;
}

uint8_t dns64_share_of(struct gw *gw, const struct udp_ends *e)
{
	_Static_assert(DNS64_SHARES == UINT8_MAX + 1, "the number of a place is a byte");
	return (uint8_t)client_of(gw, e->link, &e->remote);
}

bool dns64_pending_add(struct gw *gw, const struct dns64_query *u, const struct dns64_plan *p,
                       const struct dns64_client *from)
{
	struct dns64 *d = dns64_of(gw);
	uint32_t i = d->waiter_free;
	uint8_t share = dns64_share_of(gw, &from->ends);
	if (d->share[share] >= DNS64_SHARE * (DNS64_PENDING - d->n_waiters)) {
		d->count.full++;
		return false;
	}
	struct dns64_pending *w = &d->waiter[i];
	d->waiter_free = w->link[0].next;
	d->n_waiters++;
	d->share[share]++;
	w->share = share;
	w->link[0].ask = w->link[1].ask = DNS64_NONE;
	w->from = *from;
	w->u = *u;
	w->u.q = &w->q;
	w->u.name = w->name;
	w->since_us = dns64_now(gw);
	w->rounds = 0;
	dns64_question_copy(&w->q, u->q);
	dns_copy_name(w->name, u->name, u->q->name.len); /* type and class are behind it */
	if (!ask_for_all(gw, w, p)) {
		release(d, w);
		return false;
	}
	/* Those who wait long are looked at before their questions are over: A records may
	 * be there, or stale ones. */
	wheel_set(&d->wheel, DNS64_FETCHES + i, w->since_us + d->patience_us);
	return true;
}

/* --- going on --------------------------------------------------------------------------------- */

static void answer(struct gw *gw, const struct dns64_pending *w, const struct dns64_plan *p)
{
	struct dns64_reply s;
	if (!dns64_reply_begin(gw, &w->from, &s))
		return; /* the client will ask again */
	uint8_t *rest = s.at + DNS_HEADER + w->q.name.len;
	dns_copy_name(s.at + DNS_HEADER, w->name, w->q.name.len);
	dns_put16(rest, w->u.qtype);
	dns_put16(rest + 2, w->q.class);
	dns64_reply_end(gw, &w->from, &s, dns64_answer(gw, &w->u, p, s.at, s.room));
}

/* Plans a query once more; it is answered, or waits on. */
static void go_on(struct gw *gw, struct dns64_pending *w)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_query *u = &w->u;
	struct dns64_plan p;
	u->waited_us = dns64_now(gw) - w->since_us;
	dns64_plan(gw, u, &p);
	/* As long as one question may take. */
	bool time = u->waited_us < d->wait_us && ++w->rounds < MAX_ROUNDS;
	if (p.how == DNS64_HOW_FETCH && time && ask_for_all(gw, w, &p))
		return;
	if (p.how == DNS64_HOW_FETCH)
		dns64_plan_final(gw, u, &p);
	if (w->from.conn != TCP_NONE && p.how != DNS64_HOW_RCODE &&
	    !dns64_stream_takes(gw, &w->from)) {
		if (hold(gw, w))
			return;
		p.how = DNS64_HOW_RCODE; /* that is short */
		p.rcode = DNS_SERVFAIL;
	}
	dns64_plan_again(gw, &p);
	answer(gw, w, &p);
	release(d, w);
}

/* The time that it was held does not count: no more has gone by for upstream than makes do with A
 * records. */
void dns64_pending_resume(struct gw *gw, uint32_t waiter)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_pending *w = unhold(d, waiter);
	uint32_t now = dns64_now(gw);
	if (now - w->since_us > d->patience_us)
		w->since_us = now - d->patience_us;
	w->rounds = 0;
	wheel_set(&d->wheel, DNS64_FETCHES + waiter, now + d->patience_us);
	go_on(gw, w);
}

void dns64_pending_drop(struct gw *gw, uint32_t waiter)
{
	struct dns64 *d = dns64_of(gw);
	release(d, unhold(d, waiter));
}

/* Whether an answer decides nothing about AAAA records as long as the other question is under way:
 * A records, or none, and that there are no AAAA records. */
static bool is_half(const struct dns64_record *r)
{
	const uint8_t *m = dns64_view(r).at;
	uint16_t type = dns_get16(m + DNS_HEADER + r->name_len);
	if (type == DNS_TYPE_A)
		return r->kind == DNS64_DATA || r->kind == DNS64_EMPTY;
	return type == DNS_TYPE_AAAA && r->kind == DNS64_EMPTY && !(dns_get16(m + 2) & DNS_TC);
}

void dns64_pending_wake(struct gw *gw, uint32_t first, const struct dns64_record *r)
{
	struct dns64 *d = dns64_of(gw);
	bool half = r && is_half(r);
	while (first != DNS64_NONE) {
		struct dns64_pending *w = &d->waiter[first / 2];
		uint32_t k = first % 2;
		first = w->link[k].next;
		w->link[k].ask = DNS64_NONE;
		if (!half || w->u.qtype != DNS_TYPE_AAAA || w->link[1 - k].ask == DNS64_NONE ||
		    dns64_now(gw) - w->since_us >= d->patience_us)
			go_on(gw, w);
	}
}

void dns64_pending_due(struct gw *gw, uint32_t waiter)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_pending *w = &d->waiter[waiter];
	uint32_t waited = dns64_now(gw) - w->since_us;
	uint32_t next = waited < DNS64_STALE_WAIT_US ? DNS64_STALE_WAIT_US : d->wait_us;
	if (waited < next)
		wheel_set(&d->wheel, DNS64_FETCHES + waiter, w->since_us + next);
	go_on(gw, w);
}
