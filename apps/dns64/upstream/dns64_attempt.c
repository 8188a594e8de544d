/* Questions to upstream and their answers as datagrams. See dns64.h; what they mean is for
 * dns64_ask.c.
 *
 * Each has a port and an ID of its own, both random (RFC 5452 section 9.2). To all others than
 * the server that was asked the port is closed. */
#include "apps/dns64/dns64.h"

void dns64_attempt_close(struct gw *gw, struct dns64_attempt *t)
{
	if (t->port)
		udp_unbind(gw, t->port);
	if (t->stream)
		dns64_conn_forget(gw, t->server, t->id);
	t->port = 0;
	t->stream = false;
}

bool dns64_attempt_has_opt(const struct gw *gw, const struct dns64_fetch *a, uint32_t server)
{
	uint32_t until = dns64_of(gw)->server[server].plain_s;
	return !(a->plain >> server & 1) &&
	       (until == 0 || when_come(gw->now_s, until, DNS64_PLAIN_S));
}

uint32_t dns64_attempt_write(const struct dns64_fetch *a, const struct dns64_attempt *t, uint8_t *m)
{
	uint32_t end = DNS_HEADER + a->q.name.len + DNS_QUESTION_FIXED;
	/* AD: we pass it on to those who understand it (RFC 6840 section 5.7). */
	uint32_t flags = DNS_AD | (a->q.key & DNS64_KEY_NORD ? 0u : DNS_RD) |
	                 (a->q.key & DNS64_KEY_CD ? DNS_CD : 0u) |
	                 (a->q.key & DNS64_KEY_Z ? DNS_Z : 0u);
	dns_put16(m, t->id);
	dns_put16(m + 2, flags);
	dns_put32(m + 4, 1u << 16);
	dns_put32(m + 8, t->edns);
	dns_copy_name(m + DNS_HEADER, a->sent, end - DNS_HEADER);
	if (!t->edns)
		return end;
	dns_write_opt(m + end, DNS64_EDNS_SIZE, a->q.key & DNS64_KEY_DO ? DNS_OPT_DO : 0);
	return end + DNS_OPT_BYTES;
}

/* The same in a packet; NULL when none is free. */
static struct pkt *write_question(struct gw *gw, const struct dns64_fetch *a,
                                  const struct dns64_attempt *t)
{
	struct pkt *p = pkt_alloc(gw->pool);
	uint8_t *m = p ? pkt_put(p, DNS64_ATTEMPT_MAX) : NULL;
	if (m)
		pkt_trim(p, dns64_attempt_write(a, t, m));
	else if (p)
		pkt_free(p);
	return m ? p : NULL;
}

/* A place for one more try; the oldest is given up where there is none. */
static struct dns64_attempt *take_try(struct gw *gw, struct dns64_fetch *a)
{
	struct dns64_attempt *old = &a->try[0];
	for (uint32_t i = 0; i < DNS64_ATTEMPTS; i++) {
		struct dns64_attempt *t = &a->try[i];
		if (!t->port && !t->stream)
			return t;
		if (dns64_now(gw) - t->sent_us > dns64_now(gw) - old->sent_us)
			old = t;
	}
	dns64_attempt_close(gw, old);
	return old;
}

void dns64_attempt_send(struct gw *gw, struct dns64_fetch *a, uint32_t server)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_server *s = &d->server[server];
	struct dns64_attempt *t = take_try(gw, a);
	a->tried = (uint16_t)(a->tried | 1u << server);
	a->n_tries = (uint16_t)min_u32(a->n_tries + 1u, UINT16_MAX);
	t->server = a->last = (uint8_t)server;
	t->sent_us = dns64_now(gw);
	t->id = rng_u16(gw->rng);
	t->edns = dns64_attempt_has_opt(gw, a, server);
	s->asked++;
	d->count.asked++;
	if (UNLIKELY(!udp_path_holds(gw, &s->path)) && !udp_path_find(gw, &s->path, &s->addr, NULL))
		return;
	t->port = udp_bind_any(gw, d->handler, (uint16_t)(a - d->ask));
	struct pkt *p = t->port ? write_question(gw, a, t) : NULL;
	if (p)
		udp_path_send(gw, &s->path, p, t->port, DNS64_PORT);
}

/* The try that has this port, if any. */
static struct dns64_attempt *try_at(struct dns64_fetch *a, uint32_t port)
{
	struct dns64_attempt *t = a->try;
	while (t < a->try + DNS64_ATTEMPTS - 1 && t->port != port)
		t++;
	return t->port == port ? t : NULL;
}

bool dns64_attempt_frame(struct gw *gw, const struct interface *in, struct pkt *p,
                         const struct udp_hdr *udp)
{
	struct dns64 *d = dns64_of(gw);
	uint32_t port = be16_get(udp->to);
	if (be16_raw(udp->from) != swap16(DNS64_PORT) || gw->udp->owner[port] != d->handler)
		return false;
	struct dns64_fetch *a = &d->ask[gw->udp->arg[port]];
	struct dns64_attempt *t = try_at(a, port);
	const struct udp_path *path = t ? &d->server[t->server].path : NULL;
	struct dns_view m;
	if (!path || UNLIKELY(!udp_path_holds(gw, path)))
		return false;
	m.at = udp_path_payload(path, in, p, udp, &m.len);
	if (UNLIKELY(!m.at) || m.len < DNS_HEADER || dns_get16(m.at) != t->id)
		return false;
	enum drop why = dns64_fetch_answer(gw, a, t, m);
	if (UNLIKELY(why != DROP_NONE)) {
		d->count.forged++;
		gw_drop(gw, p, why);
	}
	pkt_free(p);
	return true;
}

enum verdict dns64_attempt_input(struct gw *gw, struct pkt *p, const struct udp_ends *ends,
                                 uint32_t arg)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_fetch *a = &d->ask[arg];
	struct dns64_attempt *t = try_at(a, ends->local_port);
	enum drop why = DROP_DNS_FORGED;
	if (!t || ends->remote_port != DNS64_PORT ||
	    !addr_eq(&ends->remote, &d->server[t->server].addr)) {
		d->count.forged++;
		return V_LOCAL; /* to all others than the one that was asked the port is closed */
	}
	if (p->len >= DNS_HEADER && dns_get16(p->data) == t->id)
		why = dns64_fetch_answer(gw, a, t, (struct dns_view){p->data, p->len});
	if (why != DROP_NONE) {
		d->count.forged++;
		return gw_drop(gw, p, why);
	}
	pkt_free(p);
	return V_KEPT;
}
