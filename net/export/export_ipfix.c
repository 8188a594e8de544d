/* IPFIX (RFC 7011) over UDP, with the information elements of RFC 8158 section 5 and of IANA's
 * registry "IPFIX Information Elements". See export.h.
 *
 * The export time, and that of events, is the time of day (net/sntp); while that is not known it
 * counts from the start. */
#include "kernel/lib/wall.h"
#include "net/export/export.h"
#include "net/udp/udp.h"

#define VERSION     10u
#define HEADER      16u
#define SET         4u        /* bytes of the header of a set */
#define MOST        1200u     /* bytes of a message: fits every path of IPv6 */
#define FIRST       256u      /* the number of our first template */
#define TEMPLATE_US 60000000u /* templates are sent again (RFC 7011 section 8.4) */
#define BATCH       32u       /* events that are worth a message at once */
#define LATE_US     100000u   /* fewer wait so long for more */
#define MESSAGES    4u        /* in one tick */

/* Information elements: number, bytes. */
static const uint16_t fields44[][2] = {
        {323, 8}, /* observationTimeMilliseconds */
        {230, 1}, /* the event of the translation */
        {4, 1},   /* protocolIdentifier */
        {8, 4},   /* sourceIPv4Address */
        {7, 2},   /* sourceTransportPort */
        {225, 4}, /* the outer address */
        {227, 2}, /* the outer port */
};
static const uint16_t fields64[][2] = {
        {323, 8}, {230, 1}, {4, 1},   {27, 16}, /* sourceIPv6Address */
        {7, 2},   {225, 4}, {227, 2},
};
/* RFC 8158 section 5.6: the first and the last port of a block. */
static const uint16_t fields_block44[][2] = {{323, 8}, {230, 1}, {8, 4},
                                             {225, 4}, {361, 2}, {362, 2}};
static const uint16_t fields_block64[][2] = {{323, 8}, {230, 1}, {27, 16},
                                             {225, 4}, {361, 2}, {362, 2}};

/* The templates: for sessions and for blocks, for inside hosts with IPv4 and with IPv6. */
static const struct {
	const uint16_t (*field)[2];
	uint8_t n, bytes; /* fields; bytes of a record */
} layout[] = {
        {fields44, ARRAY_SIZE(fields44), 22},
        {fields64, ARRAY_SIZE(fields64), 34},
        {fields_block44, ARRAY_SIZE(fields_block44), 21},
        {fields_block64, ARRAY_SIZE(fields_block64), 33},
};

static uint32_t layout_of(const struct export_event *e)
{
	return export_event_is_block(e) * 2u + e->inside.is6;
}

/* The translation event by kind, for an inside host with IPv4 and with IPv6. */
static const uint8_t event_number[EXPORT_KINDS][2] = {
        [EXPORT_SESSION] = {4, 6},
        [EXPORT_SESSION_END] = {5, 7},
        [EXPORT_BLOCK] = {16, 16},
        [EXPORT_BLOCK_END] = {17, 17},
};

static void put16(uint8_t *at, uint32_t v)
{
	store16(at, swap16((uint16_t)v));
}

static void put32(uint8_t *at, uint32_t v)
{
	store32(at, swap32(v));
}

static uint64_t time_ms(uint64_t us)
{
	uint64_t wall = wall_at(us);
	return (wall ? wall : us) / 1000;
}

static uint8_t *template(uint8_t *at, uint32_t number, const uint16_t (*field)[2], uint32_t n)
{
	put16(at, number);
	put16(at + 2, n);
	at += 4;
	for (uint32_t i = 0; i < n; i++, at += 4) {
		put16(at, field[i][0]);
		put16(at + 2, field[i][1]);
	}
	return at;
}

static uint8_t *templates(uint8_t *at)
{
	uint8_t *set = at;
	put16(set, 2); /* the number of a set of templates */
	at += SET;
	for (uint32_t i = 0; i < ARRAY_SIZE(layout); i++)
		at = template(at, FIRST + i, layout[i].field, layout[i].n);
	put16(set + 2, (uint32_t)(at - set));
	return at;
}

/* Writes the time of an event. Many have one millisecond, so most need no division. `boot` is
 * wall_at(0). */
ALWAYS_INLINE void put_time(struct export_ms *last, uint8_t *at, uint64_t boot, uint64_t us)
{
	uint64_t is = boot + us;
	if (is - last->begins_us >= 1000) {
		uint64_t ms = is / 1000;
		last->begins_us = ms * 1000;
		last->high = swap32((uint32_t)(ms >> 32));
		last->low = swap32((uint32_t)ms);
	}
	store32(at, last->high);
	store32(at + 4, last->low);
}

ALWAYS_INLINE uint8_t *put_inside(uint8_t *at, const struct export_event *e, bool six)
{
	uint32_t n = six ? sizeof e->inside.v6 : sizeof e->inside.v4;
	memcpy(at, six ? (const void *)&e->inside.v6 : (const void *)&e->inside.v4, n);
	return at + n;
}

/* The records of one layout: until an event has another one, or the message is full. `is` is a
 * constant of each call: there are up to 20,000 sessions a second. */
ALWAYS_INLINE uint8_t *set_of(struct export *x, struct export_receiver *r, uint8_t *at,
                              const uint8_t *end, uint32_t is)
{
	uint64_t boot = wall_at(0);
	uint32_t n = 0, most = (uint32_t)(x->ring.end - r->event), first = (uint32_t)r->event;
	bool six = is & 1;
	for (; n < most && at + layout[is].bytes <= end; n++) {
		const struct export_event *e = export_event_at(x, first + n);
		if (layout_of(e) != is)
			break;
		put_time(&x->last, at, boot, e->us);
		at[8] = event_number[e->kind][six];
		at += 9;
		if (is < 2)
			*at++ = e->proto;
		at = put_inside(at, e, six);
		if (is < 2) {
			store16(at, e->in_port);
			at += 2;
		}
		store32(at, ip4_raw(e->outside));
		store16(at + 4, e->out_port);
		if (is >= 2)
			store16(at + 6, e->last_port);
		at += is < 2 ? 6 : 8;
	}
	r->event += n;
	x->records += n;
	return at;
}

/* Writes sets of records until the message is full; neighbours of one layout share a set. */
static uint8_t *records(struct export *x, struct export_receiver *r, uint8_t *at,
                        const uint8_t *end)
{
	while (r->event < x->ring.end) {
		uint32_t is = layout_of(export_event_at(x, r->event));
		uint8_t *set = at;
		if (at + SET + layout[is].bytes > end)
			break;
		at += SET;
		switch (is) {
		case 0:
			at = set_of(x, r, at, end, 0);
			break;
		case 1:
			at = set_of(x, r, at, end, 1);
			break;
		case 2:
			at = set_of(x, r, at, end, 2);
			break;
		default:
			at = set_of(x, r, at, end, 3);
		}
		put16(set, FIRST + is);
		put16(set + 2, (uint32_t)(at - set));
	}
	return at;
}

static void send(struct gw *gw, struct export_receiver *r, const struct udp_ends *ends,
                 struct pkt *p)
{
	struct export *x = &gw->export;
	uint8_t *m = p->data, *at = m + HEADER;
	uint32_t first = r->sequence;
	uint64_t before = r->event, now = gw->clock.us;
	if (r->told_us == 0 || now - r->told_us >= TEMPLATE_US) {
		at = templates(at);
		r->told_us = now;
	}
	at = records(x, r, at, m + MOST);
	r->sequence += (uint32_t)(r->event - before);
	put16(m, VERSION);
	put16(m + 2, (uint32_t)(at - m));
	put32(m + 4, (uint32_t)(time_ms(now) / 1000));
	put32(m + 8, first);
	put32(m + 12, x->boot); /* the observation domain: another start has another one */
	p->len = (uint32_t)(at - m);
	x->datagrams++;
	udp_send(gw, p, ends);
}

bool export_ipfix_tick(struct gw *gw, struct export_receiver *r)
{
	struct udp_ends ends;
	for (uint32_t i = 0; i < MESSAGES; i++) {
		uint32_t n = export_waiting(gw, r);
		if (n == 0)
			return false;
		uint64_t due = export_event_at(&gw->export, r->event)->us + LATE_US;
		if (n < BATCH && gw->clock.us < due) {
			gw_wake_at(gw, due);
			return false;
		}
		if (i == 0 && !export_ends(gw, r, &ends))
			return false;
		struct pkt *p = export_packet(gw, MOST);
		if (!p)
			return false;
		send(gw, r, &ends, p);
		if (r->first_us == gw->clock.us)
			return false;
	}
	return export_waiting(gw, r) >= BATCH;
}
