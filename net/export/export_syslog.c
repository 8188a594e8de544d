/* Syslog messages: their text (RFC 5424), and the way over UDP (RFC 5426) or over TCP with octet
 * counting (RFC 6587 section 3.4.1). See export.h.
 *
 * HOSTNAME is our address, PROCID a number that another start does not have. Events are structured
 * data. Their name has the enterprise number that is for examples (RFC 5612), because
 * the project has none. */
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "kernel/lib/wall.h"
#include "net/export/export.h"
#include "net/tcp/tcp.h"
#include "net/udp/udp.h"

#define SECOND_US 1000000ull
#define LOG_PRI   30u  /* facility 3 (daemons), severity 6 (informational) */
#define LOST_PRI  28u  /* severity 4 (warning) */
#define EVENT_PRI 134u /* facility 16 (local 0), severity 6 */
#define MOST      480u /* bytes of a message: every receiver takes them (RFC 5426 section 3.2) */
#define HEAD      128u /* of these, the header has fewer */
/* Messages in one tick, of which there are at least a thousand a second (MAIN_US in kernel/main.c):
 * enough for 20,000 sessions a second that begin and end, and over sooner than a card has filled
 * its ring. */
#define MESSAGES  64u
#define SLOWEST_S 64u /* between two connections */

_Static_assert(HEAD + LOG_LINE < MOST, "a line fits");

/* --- text -------------------------------------------------------------------------------- */

#define PUT(at, text) put(at, text, sizeof(text) - 1)

static char *put(char *at, const char *text, uint32_t n)
{
	memcpy(at, text, n);
	return at + n;
}

/* The digits of the numbers below 256, and how many: most numbers of an event are parts of
 * addresses, and there are up to 20,000 a second. */
static struct octet {
	char text[3];
	uint8_t n;
} octet[256];

static void make_octets(void)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(octet); i++) {
		struct octet *o = &octet[i];
		if (i >= 100)
			o->text[o->n++] = (char)('0' + i / 100);
		if (i >= 10)
			o->text[o->n++] = (char)('0' + i / 10 % 10);
		o->text[o->n++] = (char)('0' + i % 10);
	}
}

/* Writes up to 4 bytes. */
static char *put_octet(char *at, uint32_t v)
{
	memcpy(at, &octet[v], sizeof octet[v]);
	return at + octet[v].n;
}

/* Two digits of a number below 100. */
static char *put_pair(char *at, uint32_t v)
{
	memcpy(at, octet[100 + v].text + 1, 2);
	return at + 2;
}

static char *put_port(char *at, uint16_t wire)
{
	uint32_t v = swap16(wire), high = v / 100;
	if (v < 256)
		return put_octet(at, v);
	if (v < 10000) {
		at = put_octet(at, high);
	} else {
		*at++ = (char)('0' + high / 100);
		at = put_pair(at, high % 100);
	}
	return put_pair(at, v % 100);
}

static char *put_number(char *at, uint32_t v)
{
	char digits[10];
	uint32_t n = 0;
	do
		digits[sizeof digits - ++n] = (char)('0' + v % 10);
	while (v /= 10);
	return put(at, digits + sizeof digits - n, n);
}

static char *put_ip4(char *at, ip4 a)
{
	for (unsigned i = 0; i < 4; i++) {
		at = put_octet(at, a.b[i]);
		*at++ = '.';
	}
	return at - 1;
}

static char *put_addr(char *at, const struct addr *a)
{
	if (!a->is6)
		return put_ip4(at, a->v4);
	addr_text(at, a);
	return at + strlen(at);
}

/* The time, to the millisecond; "-" while it is not known (RFC 5424 section 6.2.3). */
static char *put_time(char *at, struct export *x, uint64_t us)
{
	uint64_t wall = wall_at(us);
	if (!wall)
		return PUT(at, "-");
	if (wall - x->second_us >= SECOND_US) {
		wall_text(x->second, wall);
		x->second_us = wall / SECOND_US * SECOND_US;
	}
	uint32_t ms = (uint32_t)(wall - x->second_us) / 1000;
	at = put(at, x->second, WALL_TEXT - 2); /* without the Z */
	*at++ = '.';
	*at++ = (char)('0' + ms / 100);
	*at++ = (char)('0' + ms / 10 % 10);
	*at++ = (char)('0' + ms % 10);
	*at++ = 'Z';
	return at;
}

/* What stands behind the time of every message: our address, who we are, this start. */
static void make_middle(struct export_middle *m, uint32_t boot, const struct addr *own)
{
	char *at = m->text;
	m->own = *own;
	*at++ = ' ';
	at = put_addr(at, own);
	at = PUT(at, " baregate ");
	at = put_number(at, boot);
	*at++ = ' ';
	m->n = (uint32_t)(at - m->text);
}

/* Begins a message; MSGID follows. */
static char *put_head(char *at, struct export *x, uint32_t pri, uint64_t us, const struct addr *own)
{
	if (x->middle.n == 0 || !addr_eq(&x->middle.own, own))
		make_middle(&x->middle, x->boot, own);
	*at++ = '<';
	at = put_octet(at, pri);
	at = PUT(at, ">1 ");
	at = put_time(at, x, us);
	memcpy(at, x->middle.text, sizeof x->middle.text); /* a constant needs no call */
	return at + x->middle.n;
}

static char *put_event(char *at, const struct export_event *e)
{
	bool block = export_event_is_block(e);
	bool ends = e->kind == EXPORT_SESSION_END || e->kind == EXPORT_BLOCK_END;
	at = block ? PUT(at, "[block@32473 event=\"") : PUT(at, "[session@32473 event=\"");
	at = ends ? PUT(at, "end") : PUT(at, "begin");
	if (!block) {
		at = PUT(at, "\" proto=\"");
		at = put_octet(at, e->proto);
	}
	at = PUT(at, "\" inside=\"");
	at = put_addr(at, &e->inside);
	if (!block) {
		at = PUT(at, "\" inport=\"");
		at = put_port(at, e->in_port);
	}
	at = PUT(at, "\" outside=\"");
	at = put_ip4(at, e->outside);
	at = block ? PUT(at, "\" first=\"") : PUT(at, "\" outport=\"");
	at = put_port(at, e->out_port);
	if (block) {
		at = PUT(at, "\" last=\"");
		at = put_port(at, e->last_port);
	}
	return PUT(at, "\"]");
}

/* Takes the time off a line of the log, which begins with SECONDS.MILLIS and, once the time of day
 * is known, that. Gives the text; *us is when it was. */
static const char *split(const char *line, uint64_t *us)
{
	uint64_t s = 0;
	uint32_t ms = 0;
	const char *at = line;
	for (; *at >= '0' && *at <= '9'; at++)
		s = s * 10 + (uint32_t)(*at - '0');
	if (*at == '.')
		for (at++; *at >= '0' && *at <= '9'; at++)
			ms = ms * 10 + (uint32_t)(*at - '0');
	*us = s * SECOND_US + ms * 1000u;
	if (*at == ' ')
		at++;
	if (strlen(at) > WALL_TEXT && at[4] == '-' && at[10] == 'T' && at[19] == 'Z' &&
	    at[20] == ' ')
		at += WALL_TEXT;
	return at;
}

/* --- what is next -------------------------------------------------------------------------- */

/* Counts the lines of the log that were overwritten before a receiver got them. */
static void count_lines(struct gw *gw, struct export_receiver *r)
{
	uint64_t oldest = log_overwritten();
	if (r->line < oldest) {
		r->lost += oldest - r->line;
		gw->export.lost += oldest - r->line;
		r->line = oldest;
	}
}

/* What the next message of a receiver is. */
enum next { NOTHING, LOSSES, LINE, EVENT };

static enum next what_is_next(struct gw *gw, struct export_receiver *r)
{
	count_lines(gw, r);
	bool events = export_waiting(gw, r) > 0;
	if (r->lost != r->lost_told)
		return LOSSES;
	return r->cursor != log_end() ? LINE : events ? EVENT : NOTHING;
}

/* Writes it into buf (MOST bytes), and gives its length. It is not taken off before `took`. */
static uint32_t next_message(struct gw *gw, const struct export_receiver *r, enum next what,
                             const struct addr *own, char *buf)
{
	struct export *x = &gw->export;
	char *at = buf;
	if (what == EVENT) {
		const struct export_event *e = export_event_at(x, r->event);
		at = put_head(at, x, EVENT_PRI, e->us, own);
		at = export_event_is_block(e) ? PUT(at, "block ") : PUT(at, "session ");
		at = put_event(at, e);
	} else if (what == LOSSES) {
		at = put_head(at, x, LOST_PRI, gw->clock.us, own);
		at = PUT(at, "lost - messages that were not sent in time: ");
		at = put_number(at, (uint32_t)(r->lost - r->lost_told));
	} else {
		char line[LOG_LINE];
		uint64_t cursor = r->cursor, us;
		if (!log_next(&cursor, line, sizeof line))
			return 0;
		const char *text = split(line, &us);
		at = put_head(at, x, LOG_PRI, us, own);
		at = PUT(at, "log - ");
		at = put(at, text, (uint32_t)strlen(text));
	}
	return (uint32_t)(at - buf);
}

/* The message of next_message was sent. */
static void took(struct gw *gw, struct export_receiver *r, enum next what)
{
	char line[LOG_LINE];
	gw->export.messages++;
	if (what == LOSSES)
		r->lost_told = r->lost;
	else if (what == LINE && log_next(&r->cursor, line, sizeof line))
		r->line++;
	else if (what == EVENT)
		r->event++;
}

static bool waits(struct gw *gw, struct export_receiver *r)
{
	return r->cursor != log_end() || export_waiting(gw, r) > 0 || r->lost != r->lost_told;
}

/* --- UDP ----------------------------------------------------------------------------------- */

static bool udp_tick(struct gw *gw, struct export_receiver *r)
{
	struct udp_ends ends;
	enum next what;
	if (!export_ends(gw, r, &ends))
		return false;
	for (uint32_t i = 0; i < MESSAGES && (what = what_is_next(gw, r)) != NOTHING; i++) {
		struct pkt *p = export_packet(gw, MOST);
		if (!p)
			return false;
		p->len = next_message(gw, r, what, &ends.local, (char *)p->data);
		udp_send(gw, p, &ends);
		took(gw, r, what);
		if (r->first_us == gw->clock.us)
			return false;
	}
	return waits(gw, r);
}

/* --- TCP ----------------------------------------------------------------------------------- */

static struct export_receiver *of_conn(struct gw *gw, uint32_t conn)
{
	for (uint32_t i = 0; i < gw->export.n; i++)
		if (gw->export.receiver[i].conn == conn)
			return &gw->export.receiver[i];
	return NULL;
}

/* Another connection is opened later, and later each time. */
static void lost_connection(struct gw *gw, struct export_receiver *r, const char *why)
{
	char text[FMT_IP6];
	log_limited(&r->said_us, 600000, "syslog: %s: %s", addr_text(text, &r->to.addr), why);
	r->conn = TCP_NONE;
	r->open = false;
	r->retry_us = gw->clock.us + min_u32(1u << min_u32(r->fails, 6), SLOWEST_S) * SECOND_US;
	r->fails++;
}

static void event(struct gw *gw, uint32_t conn, enum tcp_event what)
{
	struct export_receiver *r = of_conn(gw, conn);
	if (!r)
		return;
	if (what == TCP_OPENED) {
		r->open = true;
		r->fails = 0;
		gw->export.connections++;
	} else if (what == TCP_INPUT) { /* nothing of it matters */
		tcp_take(gw, conn, tcp_readable(gw, conn));
		if (tcp_at_end(gw, conn)) {
			tcp_close(gw, conn);
			lost_connection(gw, r, "the server has closed the connection");
		}
	} else if (what == TCP_ENDED) {
		lost_connection(gw, r, r->open ? "the connection ended" : "no connection");
	}
}

static const struct tcp_user user = {
        .event = event, .window = 2048, .send_most = 16384, .stall_ms = 30000};

static bool tcp_tick_one(struct gw *gw, struct export_receiver *r)
{
	char buf[6 + MOST];
	if (r->conn == TCP_NONE) {
		struct udp_ends ends = {.remote = r->to.addr, .remote_port = r->to.port};
		r->conn = tcp_connect(gw, &ends, &user);
		if (r->conn == TCP_NONE)
			lost_connection(gw, r, "no way to the server");
		return false;
	}
	const struct udp_ends *ends = tcp_ends(gw, r->conn);
	if (!r->open || !ends)
		return false;
	enum next what;
	for (uint32_t i = 0; i < MESSAGES && (what = what_is_next(gw, r)) != NOTHING; i++) {
		uint32_t n = next_message(gw, r, what, &ends->local, buf + 6);
		char digits[6];
		uint32_t d = (uint32_t)(put_number(digits, n) - digits);
		char *at = buf + 6 - d - 1;
		memcpy(at, digits, d);
		at[d] = ' ';
		if (!tcp_send(gw, r->conn, at, d + 1 + n)) {
			tcp_push(gw, r->conn);
			return false; /* until something is acknowledged */
		}
		took(gw, r, what);
	}
	tcp_push(gw, r->conn);
	return waits(gw, r);
}

bool export_syslog_tick(struct gw *gw, struct export_receiver *r)
{
	if (!waits(gw, r))
		return false;
	if (octet[0].n == 0)
		make_octets();
	return r->to.tcp ? tcp_tick_one(gw, r) : udp_tick(gw, r);
}
