/* Upstream servers over TCP (RFC 7766): what a server answered with TC is asked once more on one
 * connection to it, which stays for further questions until it has been silent for a while; and
 * what TCP clients ask that must not be changed (dns64_relay.c). See dns64.h.
 *
 * A server may close whenever it likes, behind each answer if it must. What it leaves over goes
 * to a new connection at once; only one that ends without any answer was a try in vain.
 *
 * One client has at most as many questions on a connection as have room there besides; what several
 * wait for counts for one who may have another. So a few whose questions upstream does not answer
 * keep nobody else's out.
 *
 * A connection is given up when several questions in a row were not answered in time, and nothing
 * came for a while: it may be open, and nobody there. For a while other servers are then asked
 * first for what needs TCP, if there are any; over UDP the server is as good as before. */
#include "apps/dns64/dns64.h"

#define IDLE_MS  10000u
#define STALL_MS 5000u
#define LATE     4u       /* questions in a row */
#define QUIET_US 2000000u /* and nothing came for so long */
#define BAD_S    30u      /* others are asked first */

void dns64_link_init(struct dns64 *d)
{
	for (uint32_t i = 0; i < NET_SERVERS; i++)
		for (uint32_t k = 0; k < DNS64_LINK_ASKS; k++)
			d->link[i].slot[k].who = DNS64_NONE;
}

/* The slot of an ID; DNS64_LINK_ASKS: nobody asked with it. */
static uint32_t slot_of(const struct dns64_link *l, uint16_t id)
{
	uint32_t i = 0;
	while (i < DNS64_LINK_ASKS && (l->slot[i].who == DNS64_NONE || l->slot[i].id != id))
		i++;
	return i;
}

static uint32_t free_slot(const struct dns64_link *l)
{
	uint32_t i = 0;
	while (i < DNS64_LINK_ASKS && l->slot[i].who != DNS64_NONE)
		i++;
	return i;
}

/* The share of one who waits for a question and may have one more on a connection; DNS64_NONE:
 * nobody may. */
static uint32_t share_for(const struct dns64 *d, const struct dns64_link *l,
                          const struct dns64_ask *a)
{
	uint32_t n_free = DNS64_LINK_ASKS - l->n;
	if (a->first == DNS64_NONE)
		return l->share[DNS64_SHARES] < n_free ? DNS64_SHARES : DNS64_NONE;
	for (uint32_t i = a->first; i != DNS64_NONE; i = d->waiter[i / 2].link[i % 2].next)
		if (l->share[d->waiter[i / 2].share] < n_free)
			return d->waiter[i / 2].share;
	return DNS64_NONE;
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

static enum drop give(struct gw *gw, uint32_t server, struct dns_view m)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_link *l = &d->link[server];
	uint16_t id = dns_get16(m.at);
	uint32_t i = slot_of(l, id);
	if (i == DNS64_LINK_ASKS)
		return DROP_DNS_FORGED;
	if (l->slot[i].who >= DNS64_ASKS)
		return dns64_relay_answer(gw, l->slot[i].who - DNS64_ASKS, m);
	struct dns64_ask *a = &d->ask[l->slot[i].who];
	struct dns64_try *t = try_of(a, server, id);
	return t ? dns64_ask_answer(gw, a, t, m) : DROP_DNS_FORGED;
}

static void take_message(struct gw *gw, uint32_t server, struct dns_view m)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_link *l = &d->link[server];
	enum drop why = give(gw, server, m);
	if (why == DROP_NONE) {
		l->good = true;
		l->late = l->bad_s = 0;
		l->heard_us = dns64_now(gw);
		return;
	}
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
			if (l->len < DNS_HEADER) {
				gw->drops[DROP_DNS_ANSWER]++;
				return false;
			}
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

/* Ends the tries of a question on a link that is gone. Gives its last one; NULL: there is something
 * newer to wait for. */
static struct dns64_try *end_tries(struct dns64_ask *a, uint32_t server, uint32_t now)
{
	struct dns64_try *last = NULL; /* of all */
	bool mine = false;
	for (uint32_t i = 0; i < DNS64_TRIES; i++) {
		struct dns64_try *t = &a->try[i];
		if (!t->stream && !t->port)
			continue;
		bool ended = t->stream && t->server == server;
		if (!last || now - t->sent_us < now - last->sent_us) {
			last = t;
			mine = ended;
		}
		if (ended)
			t->stream = false; /* its slot is free */
	}
	return mine ? last : NULL;
}

/* The connection is gone: what was asked on it is asked anew, or given up. A new connection may
 * begin with that. */
static void lost(struct gw *gw, uint32_t server)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_link *l = &d->link[server];
	struct dns64_slot old[DNS64_LINK_ASKS];
	struct dns64_try *last[DNS64_LINK_ASKS];
	bool good = l->good;
	if (l->n && !good)
		l->bad_s = gw->now_s + BAD_S;
	memcpy(old, l->slot, sizeof old);
	/* All end before any is asked anew: a question may have several. */
	for (uint32_t i = 0; i < DNS64_LINK_ASKS; i++) {
		l->slot[i].who = DNS64_NONE;
		last[i] = old[i].who < DNS64_ASKS
		                  ? end_tries(&d->ask[old[i].who], server, dns64_now(gw))
		                  : NULL;
	}
	l->conn = TCP_NONE;
	l->len = l->n = 0;
	memset(l->share, 0, sizeof l->share);
	for (uint32_t i = 0; i < DNS64_LINK_ASKS; i++) {
		uint32_t who = old[i].who;
		if (who == DNS64_NONE)
			continue;
		if (who >= DNS64_ASKS)
			dns64_relay_lost(gw, who - DNS64_ASKS, good);
		else if (last[i] && good)
			dns64_ask_cut_off(gw, who, last[i]);
		else if (last[i])
			dns64_ask_lost(gw, who);
	}
}

void dns64_link_late(struct gw *gw, uint32_t servers)
{
	struct dns64 *d = dns64_of(gw);
	for (uint32_t i = 0; i < d->n_servers; i++) {
		struct dns64_link *l = &d->link[i];
		if (!(servers >> i & 1) || l->conn == TCP_NONE || ++l->late < LATE ||
		    dns64_now(gw) - l->heard_us < QUIET_US)
			continue;
		d->count.mute++;
		l->good = false;
		l->bad_s = gw->now_s + BAD_S;
		tcp_abort(gw, l->conn);
		lost(gw, i);
	}
}

bool dns64_link_is_bad(const struct gw *gw, uint32_t server)
{
	uint32_t until = dns64_of(gw)->link[server].bad_s;
	return until && !when_come(gw->now_s, until, BAD_S);
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
        .send_most = TCP_SEND_MOST,
        .idle_ms = IDLE_MS,
        .stall_ms = STALL_MS,
};

static bool connect(struct gw *gw, uint32_t server)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_link *l = &d->link[server];
	struct udp_ends ends = {
	        .remote = d->server[server].addr, .remote_port = DNS64_PORT, .link = PKT_IF_SELF};
	l->conn = tcp_connect(gw, &ends, &upstream);
	l->late = 0;
	l->good = false;
	l->heard_us = dns64_now(gw);
	tcp_set_tag(gw, l->conn, server + 1);
	return l->conn != TCP_NONE;
}

/* Sends a question of `len` bytes, which stands behind two free ones, with a random ID (*id). It
 * counts in a share; with DNS64_NONE it is not sent. */
static bool ask(struct gw *gw, uint32_t server, uint32_t who, uint32_t share, uint8_t *at,
                uint32_t len, uint16_t *id)
{
	struct dns64_link *l = &dns64_of(gw)->link[server];
	uint32_t i = free_slot(l);
	do
		*id = rng_u16(gw->rng);
	while (slot_of(l, *id) < DNS64_LINK_ASKS); /* of 65536 at most 256 are in use */
	dns_put16(at, len);
	dns_put16(at + 2, *id);
	if (share == DNS64_NONE || i == DNS64_LINK_ASKS ||
	    (l->conn == TCP_NONE && !connect(gw, server)) || !tcp_send(gw, l->conn, at, len + 2))
		return false;
	tcp_push(gw, l->conn);
	l->slot[i].who = (uint16_t)who;
	l->slot[i].id = *id;
	l->slot[i].share = (uint16_t)share;
	l->share[share]++;
	l->n++;
	dns64_of(gw)->count.fetched++;
	return true;
}

bool dns64_link_is_full(const struct gw *gw, const struct dns64_ask *a, uint32_t server)
{
	const struct dns64 *d = dns64_of(gw);
	const struct dns64_link *l = &d->link[server];
	return share_for(d, l, a) == DNS64_NONE || tcp_unsent(gw, l->conn) > TCP_SEND_MOST / 2;
}

bool dns64_link_ask(struct gw *gw, struct dns64_ask *a, struct dns64_try *t)
{
	const struct dns64 *d = dns64_of(gw);
	uint8_t m[2 + DNS64_QUESTION_MAX];
	uint16_t id;
	uint32_t len = dns64_try_write(a, t, m + 2), share = share_for(d, &d->link[t->server], a);
	if (!ask(gw, t->server, (uint32_t)(a - d->ask), share, m, len, &id))
		return false;
	dns64_try_close(gw, t);
	t->id = id;
	t->stream = true;
	t->sent_us = dns64_now(gw);
	return true;
}

bool dns64_link_relay(struct gw *gw, struct dns64_relay *r)
{
	uint8_t m[2 + sizeof r->question];
	memcpy(m + 2, r->question, r->len);
	return ask(gw, r->server, DNS64_ASKS + (uint32_t)(r - dns64_of(gw)->relay), r->share, m,
	           r->len, &r->id);
}

void dns64_link_forget(struct gw *gw, uint32_t server, uint16_t id)
{
	struct dns64_link *l = &dns64_of(gw)->link[server];
	uint32_t i = slot_of(l, id);
	if (i == DNS64_LINK_ASKS)
		return;
	l->slot[i].who = DNS64_NONE;
	l->share[l->slot[i].share]--;
	l->n--;
}
