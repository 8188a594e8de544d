/* See dns64_conn.h.
 *
 * A connection stays for further messages until it has been silent for a while. A server may close
 * it at any time, even after each answer. What it leaves unanswered is sent on a new connection at
 * once; only a connection that ends without any answer counts as a failed attempt.
 *
 * A client may have at most as many messages on a connection as slots are free. A fetch that
 * several clients wait for counts for one that may have another. So a few clients whose fetches are
 * not answered do not keep out the fetches of others.
 *
 * A connection is aborted when several messages in a row were not answered in time and nothing came
 * for a while: the connection may be open while the server is gone. For some time other servers are
 * then preferred for what needs TCP, if there are any; over UDP the server is used as before. */
#include "apps/dns64/upstream/dns64_conn.h"

#include "kernel/lib/alloc.h"
#include "kernel/lib/when.h"
#include "net/tcp/tcp.h"

#define IDLE_MS  10000u
#define STALL_MS 5000u
#define LATE     4u       /* messages in a row … */
#define QUIET_US 2000000u /* … and nothing came for so long */
#define BAD_S    30u      /* seconds for which other servers are preferred */

bool dns64_conn_init(struct dns64_conns *c)
{
	c->message = alloc_raw(DNS64_STREAM_MAX, 64);
	return c->message != NULL;
}

/* The slot of an ID; DNS64_CONN_SLOTS: no message has it. */
static uint32_t slot_of(const struct dns64_conn *c, uint16_t id)
{
	uint32_t i = 0;
	while (i < DNS64_CONN_SLOTS && (!c->slot[i].user || c->slot[i].id != id))
		i++;
	return i;
}

static uint32_t free_slot(const struct dns64_conn *c)
{
	uint32_t i = 0;
	while (i < DNS64_CONN_SLOTS && c->slot[i].user)
		i++;
	return i;
}

/* --- answers -------------------------------------------------------------------------------------
 */

static void take_message(struct gw *gw, uint32_t server, struct dns_view m)
{
	struct dns64_conn *c = &dns64_conns_of(gw)->to[server];
	uint32_t i = slot_of(c, dns_get16(m.at));
	const struct dns64_conn_slot *s = &c->slot[i];
	enum drop why =
	        i < DNS64_CONN_SLOTS ? s->user->answer(gw, s->who, server, m) : DROP_DNS_FORGED;
	if (why == DROP_NONE) {
		c->answered = true;
		c->late = c->bad_s = 0;
		c->heard_us = dns64_now(gw);
		return;
	}
	dns64_servers_of(gw)->forged++;
	gw->counts.drops[why]++;
}

/* Takes each message that has come whole. Its length is taken from the stream before it. False:
 * what comes is no DNS. */
static bool read_all(struct gw *gw, uint32_t server, uint32_t conn)
{
	struct dns64_conns *all = dns64_conns_of(gw);
	struct dns64_conn *c = &all->to[server];
	while (c->conn == conn) {
		uint8_t prefix[2];
		if (c->message_len == 0) {
			if (!tcp_copy(gw, conn, 0, prefix, sizeof prefix))
				return true;
			tcp_take(gw, conn, sizeof prefix);
			c->message_len = dns_get16(prefix);
			if (c->message_len < DNS_HEADER) {
				gw->counts.drops[DROP_DNS_ANSWER]++;
				return false;
			}
		}
		if (!tcp_copy(gw, conn, 0, all->message, c->message_len))
			return true;
		struct dns_view m = {all->message, c->message_len};
		c->message_len = 0;
		tcp_take(gw, conn, m.len);
		take_message(gw, server, m);
	}
	return true;
}

/* --- the end of a connection --------------------------------------------------------------------
 */

/* The connection is gone: its users send again what was under way, or give it up. */
static void lost(struct gw *gw, uint32_t server)
{
	struct dns64_conn *c = &dns64_conns_of(gw)->to[server];
	struct dns64_conn_slot old[DNS64_CONN_SLOTS];
	bool answered = c->answered;
	if (c->n && !answered)
		c->bad_s = gw->clock.s + BAD_S;
	memcpy(old, c->slot, sizeof old);
	memset(c->slot, 0, sizeof c->slot);
	memset(c->share, 0, sizeof c->share);
	c->conn = TCP_NONE;
	c->message_len = c->n = 0;
	for (uint32_t i = 0; i < DNS64_CONN_SLOTS; i++)
		if (old[i].user)
			old[i].who = (uint16_t)old[i].user->ended(gw, old[i].who, server);
	for (uint32_t i = 0; i < DNS64_CONN_SLOTS; i++)
		if (old[i].user && old[i].who != DNS64_NONE)
			old[i].user->lost(gw, old[i].who, answered);
}

void dns64_conn_late(struct gw *gw, uint32_t servers)
{
	struct dns64_conns *all = dns64_conns_of(gw);
	for (uint32_t i = 0; i < dns64_servers_of(gw)->n; i++) {
		struct dns64_conn *c = &all->to[i];
		if (!(servers >> i & 1) || c->conn == TCP_NONE || ++c->late < LATE ||
		    dns64_now(gw) - c->heard_us < QUIET_US)
			continue;
		all->mute++;
		c->answered = false;
		c->bad_s = gw->clock.s + BAD_S;
		tcp_abort(gw, c->conn);
		lost(gw, i);
	}
}

bool dns64_conn_is_bad(const struct gw *gw, uint32_t server)
{
	uint32_t until = dns64_conns_of(gw)->to[server].bad_s;
	return until && !when_come(gw->clock.s, until, BAD_S);
}

static void event(struct gw *gw, uint32_t conn, enum tcp_event what)
{
	uint32_t server = tcp_tag(gw, conn) - 1;
	struct dns64_conn *c = &dns64_conns_of(gw)->to[server];
	bool over = false;
	if (what == TCP_ENDED) {
		lost(gw, server);
		return;
	}
	if (what == TCP_INPUT)
		over = !read_all(gw, server, conn) || tcp_at_end(gw, conn);
	if (what == TCP_IDLE)
		over = c->n == 0;
	if (!over || c->conn != conn)
		return;
	tcp_take(gw, conn, tcp_readable(gw, conn));
	tcp_close(gw, conn);
	lost(gw, server);
}

/* --- sending -------------------------------------------------------------------------------------
 */

static const struct tcp_user upstream = {
        .event = event,
        .window = DNS64_STREAM_MAX + 2048, /* the longest message, and a segment */
        .send_most = TCP_SEND_MOST,
        .idle_ms = IDLE_MS,
        .stall_ms = STALL_MS,
};

static bool connect(struct gw *gw, uint32_t server)
{
	struct dns64_conn *c = &dns64_conns_of(gw)->to[server];
	struct udp_ends ends = {.remote = dns64_servers_of(gw)->server[server].addr,
	                        .remote_port = DNS64_PORT,
	                        .iface = PKT_IF_SELF};
	c->conn = tcp_connect(gw, &ends, &upstream);
	c->late = 0;
	c->answered = false;
	c->heard_us = dns64_now(gw);
	tcp_set_tag(gw, c->conn, server + 1);
	return c->conn != TCP_NONE;
}

bool dns64_conn_send(struct gw *gw, uint32_t server, const struct dns64_conn_user *user,
                     uint32_t who, uint32_t share, uint8_t *at, uint32_t len, uint16_t *id)
{
	struct dns64_conn *c = &dns64_conns_of(gw)->to[server];
	uint32_t i = free_slot(c);
	do
		*id = rng_u16(gw->rng);
	while (slot_of(c, *id) < DNS64_CONN_SLOTS); /* of 65536 IDs at most 256 are in use */
	dns_put16(at, len);
	dns_put16(at + 2, *id);
	if (i == DNS64_CONN_SLOTS || (c->conn == TCP_NONE && !connect(gw, server)) ||
	    !tcp_send(gw, c->conn, at, len + 2))
		return false;
	tcp_push(gw, c->conn);
	c->slot[i] = (struct dns64_conn_slot){user, (uint16_t)who, *id, (uint16_t)share};
	c->share[share]++;
	c->n++;
	dns64_conns_of(gw)->sent++;
	return true;
}

bool dns64_conn_is_busy(const struct gw *gw, uint32_t server)
{
	return tcp_unsent(gw, dns64_conns_of(gw)->to[server].conn) > TCP_SEND_MOST / 2;
}

void dns64_conn_forget(struct gw *gw, uint32_t server, uint16_t id)
{
	struct dns64_conn *c = &dns64_conns_of(gw)->to[server];
	uint32_t i = slot_of(c, id);
	if (i == DNS64_CONN_SLOTS)
		return;
	c->slot[i].user = NULL;
	c->share[c->slot[i].share]--;
	c->n--;
}
