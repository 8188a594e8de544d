/* Upstream servers over TCP (RFC 7766): what a server answered with TC is asked once more on one
 * connection to it, which stays for further questions until it has been silent for a while. See
 * dns64.h. */
#include "apps/dns64.h"

#define IDLE_MS  10000u
#define STALL_MS 5000u

void dns64_link_init(struct dns64 *d)
{
	for (uint32_t i = 0; i < CONFIG_SERVERS; i++)
		for (uint32_t k = 0; k < DNS64_LINK_ASKS; k++)
			d->link[i].slot[k].ask = DNS64_NONE;
}

/* The slot of an ID; NULL: nobody asked with it. */
static uint32_t slot_of(const struct dns64_link *l, uint16_t id)
{
	for (uint32_t i = 0; i < DNS64_LINK_ASKS; i++)
		if (l->slot[i].ask != DNS64_NONE && l->slot[i].id == id)
			return i;
	return DNS64_LINK_ASKS;
}

static uint32_t free_slot(const struct dns64_link *l)
{
	uint32_t i = 0;
	while (i < DNS64_LINK_ASKS && l->slot[i].ask != DNS64_NONE)
		i++;
	return i;
}

/* --- answers -------------------------------------------------------------------------------------
 */

/* The try of a question that went out on this link with this ID; NULL: it was given up. */
static struct dns64_try *try_of(struct dns64_ask *a, uint32_t server, uint16_t id)
{
	for (uint32_t i = 0; i < DNS64_TRIES; i++) {
		struct dns64_try *t = &a->try[i];
		if (t->stream && t->server == server && t->id == id)
			return t;
	}
	return NULL;
}

static void take_message(struct gw *gw, uint32_t server, struct dns_view m)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_link *l = &d->link[server];
	uint16_t id = dns_get16(m.at);
	uint32_t i = slot_of(l, id);
	struct dns64_ask *a = i < DNS64_LINK_ASKS ? &d->ask[l->slot[i].ask] : NULL;
	struct dns64_try *t = a ? try_of(a, server, id) : NULL;
	enum drop why = t ? dns64_ask_answer(gw, a, t, m) : DROP_DNS_FORGED;
	if (why == DROP_NONE)
		return;
	d->count.forged++;
	gw->drops[why]++;
}

/* Takes the messages that are there as a whole; their lengths are taken before. False: what comes
 * is no DNS. */
static bool read_all(struct gw *gw, uint32_t server, uint32_t conn)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_link *l = &d->link[server];
	while (l->conn == conn) {
		uint8_t prefix[2];
		if (l->len == 0) {
			if (!tcp_copy(gw, conn, 0, prefix, sizeof prefix))
				return true;
			tcp_take(gw, conn, sizeof prefix);
			l->len = dns_get16(prefix);
			if (l->len < DNS_HEADER)
				return false;
		}
		if (!tcp_copy(gw, conn, 0, d->fetched, l->len))
			return true;
		struct dns_view m = {d->fetched, l->len};
		l->len = 0;
		tcp_take(gw, conn, m.len);
		take_message(gw, server, m);
	}
	return true;
}

/* The connection is gone: what was asked on it is asked anew, or given up. */
static void lost(struct gw *gw, uint32_t server)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_link *l = &d->link[server];
	l->conn = TCP_NONE;
	l->len = 0;
	for (uint32_t i = 0; i < DNS64_LINK_ASKS; i++) {
		uint16_t ask = l->slot[i].ask;
		struct dns64_try *t =
		        ask == DNS64_NONE ? NULL : try_of(&d->ask[ask], server, l->slot[i].id);
		if (!t)
			continue;
		dns64_try_close(gw, t);
		dns64_ask_lost(gw, ask);
	}
}

static void event(struct gw *gw, uint32_t conn, enum tcp_event what)
{
	struct dns64 *d = dns64_of(gw);
	uint32_t server = tcp_tag(gw, conn) - 1;
	struct dns64_link *l = &d->link[server];
	bool over = false;
	if (what == TCP_ENDED) {
		lost(gw, server);
		return;
	}
	if (what == TCP_INPUT)
		over = !read_all(gw, server, conn) || tcp_at_end(gw, conn);
	if (what == TCP_IDLE)
		over = l->n == 0;
	if (!over || l->conn != conn)
		return;
	tcp_take(gw, conn, tcp_readable(gw, conn));
	tcp_close(gw, conn);
	lost(gw, server);
}

/* --- questions
 * ------------------------------------------------------------------------------------ */

static const struct tcp_user upstream = {
        .event = event,
        .window = DNS64_STREAM_MAX + 2048, /* the longest message, and a segment */
        .send_most = 2 * DNS64_LINK_ASKS * 300,
        .idle_ms = IDLE_MS,
        .stall_ms = STALL_MS,
};

static bool connect(struct gw *gw, uint32_t server)
{
	struct dns64 *d = dns64_of(gw);
	struct udp_ends ends = {
	        .remote = d->server[server].addr, .remote_port = DNS64_PORT, .link = PKT_PORT_SELF};
	uint32_t conn = tcp_connect(gw, &ends, &upstream);
	tcp_set_tag(gw, conn, server + 1);
	d->link[server].conn = conn;
	return conn != TCP_NONE;
}

bool dns64_link_ask(struct gw *gw, struct dns64_ask *a, struct dns64_try *t)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_link *l = &d->link[t->server];
	uint8_t m[2 + DNS64_QUESTION_MAX];
	struct dns64_try again = *t;
	uint32_t i = free_slot(l);
	do
		again.id = (uint16_t)rng_u32(gw->rng);
	while (slot_of(l, again.id) < DNS64_LINK_ASKS); /* of 65536 at most 64 are in use */
	uint32_t len = dns64_try_write(a, &again, m + 2);
	dns_put16(m, len);
	if (i == DNS64_LINK_ASKS || (l->conn == TCP_NONE && !connect(gw, t->server)) ||
	    !tcp_send(gw, l->conn, m, len + 2))
		return false;
	tcp_push(gw, l->conn);
	dns64_try_close(gw, t);
	l->slot[i].ask = (uint16_t)(a - d->ask);
	l->slot[i].id = again.id;
	l->n++;
	t->id = again.id;
	t->stream = true;
	t->sent_us = dns64_now(gw);
	d->count.fetched++;
	return true;
}

void dns64_link_forget(struct gw *gw, struct dns64_try *t)
{
	struct dns64_link *l = &dns64_of(gw)->link[t->server];
	uint32_t i = slot_of(l, t->id);
	if (i == DNS64_LINK_ASKS)
		return;
	l->slot[i].ask = DNS64_NONE;
	l->n--;
}
