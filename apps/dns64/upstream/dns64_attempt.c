/* See dns64_attempt.h. */
#include "apps/dns64/upstream/dns64_attempt.h"

#include "kernel/lib/alloc.h"

static uint32_t number_of(const struct dns64_attempts *all, const struct dns64_attempt *t)
{
	return (uint32_t)(t - all->attempt);
}

void dns64_attempt_close(struct gw *gw, struct dns64_attempt *t)
{
	if (t->port)
		udp_unbind(gw, t->port);
	if (t->tcp)
		dns64_conn_forget(gw, t->server, t->id);
	t->port = 0;
	t->tcp = false;
}

/* --- sending ------------------------------------------------------------------------------ */

uint32_t dns64_attempt_write(const struct dns64_request *r, const struct dns64_attempt *t,
                             uint8_t *m)
{
	uint32_t end = DNS_HEADER + r->len;
	dns_put32(m, (uint32_t)t->id << 16 | r->flags);
	dns_put32(m + 4, 1u << 16);
	dns_put32(m + 8, t->edns);
	dns_copy_name(m + DNS_HEADER, r->question, r->len);
	if (!t->edns)
		return end;
	dns_write_opt(m + end, DNS_EDNS_SIZE, r->dnssec ? DNS_OPT_DO : 0);
	return end + DNS_OPT_BYTES;
}

/* The message of an attempt in a packet; NULL when no packet is free. */
static struct pkt *write_packet(struct gw *gw, const struct dns64_request *r,
                                const struct dns64_attempt *t)
{
	struct pkt *p = pkt_alloc(gw->pool);
	uint8_t *m = p ? pkt_put(p, DNS64_ATTEMPT_MAX) : NULL;
	if (m)
		pkt_trim(p, dns64_attempt_write(r, t, m));
	else if (p)
		pkt_free(p);
	return m ? p : NULL;
}

/* A free attempt of a fetch; where there is none the oldest is ended. */
static struct dns64_attempt *take_attempt(struct gw *gw, struct dns64_attempt *of_fetch)
{
	struct dns64_attempt *old = &of_fetch[0];
	for (uint32_t i = 0; i < DNS64_ATTEMPTS; i++) {
		struct dns64_attempt *t = &of_fetch[i];
		if (!dns64_attempt_is_open(t))
			return t;
		if (dns64_now(gw) - t->sent_us > dns64_now(gw) - old->sent_us)
			old = t;
	}
	dns64_attempt_close(gw, old);
	return old;
}

void dns64_attempt_send(struct gw *gw, uint32_t fetch, const struct dns64_request *r,
                        uint32_t server, bool edns)
{
	struct dns64_attempts *all = dns64_attempts_of(gw);
	struct dns64_servers *servers = dns64_servers_of(gw);
	struct dns64_server *s = &servers->server[server];
	struct dns64_attempt *t = take_attempt(gw, &all->attempt[fetch * DNS64_ATTEMPTS]);
	t->server = (uint8_t)server;
	t->sent_us = dns64_now(gw);
	t->id = rng_u16(gw->rng);
	t->edns = edns;
	s->asked++;
	servers->asked++;
	if (UNLIKELY(!udp_path_holds(gw, &s->path)) && !udp_path_find(gw, &s->path, &s->addr, NULL))
		return;
	t->port = udp_bind_any(gw, all->udp_handler, (uint16_t)number_of(all, t));
	struct pkt *p = t->port ? write_packet(gw, r, t) : NULL;
	if (p)
		udp_path_send(gw, &s->path, p, t->port, DNS64_PORT);
}

/* --- datagrams ---------------------------------------------------------------------------- */

bool dns64_attempt_frame(struct gw *gw, const struct interface *in, struct pkt *p,
                         const struct udp_hdr *udp)
{
	const struct dns64_attempts *all = dns64_attempts_of(gw);
	struct dns64_servers *servers = dns64_servers_of(gw);
	uint32_t port = be16_get(udp->to);
	if (be16_raw(udp->from) != swap16(DNS64_PORT) || gw->udp->owner[port] != all->udp_handler)
		return false;
	uint32_t i = gw->udp->arg[port];
	const struct udp_path *path = &servers->server[all->attempt[i].server].path;
	struct dns_view m;
	if (UNLIKELY(!udp_path_holds(gw, path)))
		return false;
	m.at = udp_path_payload(path, in, p, udp, &m.len);
	if (UNLIKELY(!m.at) || m.len < DNS_HEADER || dns_get16(m.at) != all->attempt[i].id)
		return false;
	enum drop why = all->user->answer(gw, i, m);
	if (UNLIKELY(why != DROP_NONE)) {
		servers->forged++;
		/* The listing shows the datagram, not the padding of its frame. */
		pkt_trim(p, (uint32_t)(m.at + m.len - p->data));
		gw_drop(gw, p, why);
	}
	pkt_free(p);
	return true;
}

/* A datagram to the port of attempt number `arg` (udp.h). */
static enum verdict input(struct gw *gw, struct pkt *p, const struct udp_ends *ends, uint32_t arg)
{
	const struct dns64_attempts *all = dns64_attempts_of(gw);
	struct dns64_servers *servers = dns64_servers_of(gw);
	const struct dns64_attempt *t = &all->attempt[arg];
	enum drop why = DROP_DNS_FORGED;
	if (ends->remote_port != DNS64_PORT ||
	    !addr_eq(&ends->remote, &servers->server[t->server].addr)) {
		servers->forged++;
		return V_LOCAL; /* to all but the server that was asked the port is closed */
	}
	if (p->len >= DNS_HEADER && dns_get16(p->data) == t->id)
		why = all->user->answer(gw, arg, (struct dns_view){p->data, p->len});
	if (why != DROP_NONE) {
		servers->forged++;
		return gw_drop(gw, p, why);
	}
	pkt_free(p);
	return V_KEPT;
}

/* --- over TCP ----------------------------------------------------------------------------- */

static enum drop conn_answer(struct gw *gw, uint32_t who, uint32_t server, struct dns_view m)
{
	const struct dns64_attempts *all = dns64_attempts_of(gw);
	const struct dns64_attempt *t = &all->attempt[who];
	/* A slot is forgotten with its attempt; make sure that this is the same one. */
	bool same = t->tcp && t->server == server && t->id == dns_get16(m.at);
	return same ? all->user->answer(gw, who, m) : DROP_DNS_FORGED;
}

/* Ends all attempts of a fetch on a connection that is gone. Gives the latest attempt of the fetch
 * if it is one of these; otherwise a newer one may still be answered. */
static uint32_t conn_ended(struct gw *gw, uint32_t who, uint32_t server)
{
	struct dns64_attempts *all = dns64_attempts_of(gw);
	struct dns64_attempt *t = &all->attempt[who - who % DNS64_ATTEMPTS], *last = NULL;
	uint32_t now = dns64_now(gw);
	bool last_ended = false;
	for (const struct dns64_attempt *end = t + DNS64_ATTEMPTS; t < end; t++) {
		if (!dns64_attempt_is_open(t))
			continue;
		bool ended = t->tcp && t->server == server;
		if (!last || now - t->sent_us < now - last->sent_us) {
			last = t;
			last_ended = ended;
		}
		if (ended)
			t->tcp = false; /* its slot is free */
	}
	return last_ended ? number_of(all, last) : DNS64_NONE;
}

static void conn_lost(struct gw *gw, uint32_t who, bool answered)
{
	dns64_attempts_of(gw)->user->lost(gw, who, answered);
}

bool dns64_attempt_send_tcp(struct gw *gw, struct dns64_attempt *t, const struct dns64_request *r,
                            uint32_t share)
{
	static const struct dns64_conn_user user = {conn_answer, conn_ended, conn_lost};
	uint8_t m[2 + DNS64_ATTEMPT_MAX];
	uint32_t who = number_of(dns64_attempts_of(gw), t);
	uint32_t len = dns64_attempt_write(r, t, m + 2);
	uint16_t id;
	if (!dns64_conn_send(gw, t->server, &user, who, share, m, len, &id))
		return false;
	dns64_attempt_close(gw, t);
	t->id = id;
	t->tcp = true;
	t->sent_us = dns64_now(gw);
	return true;
}

bool dns64_attempt_init(struct gw *gw, struct dns64_attempts *a,
                        const struct dns64_attempt_user *user)
{
	_Static_assert(DNS64_FETCHES * DNS64_ATTEMPTS <= DNS64_NONE, "numbers fit into 16 bits");
	a->user = user;
	a->attempt = alloc(DNS64_FETCHES * DNS64_ATTEMPTS * sizeof *a->attempt, 64);
	a->udp_handler = udp_register(gw, input);
	return a->attempt != NULL;
}
