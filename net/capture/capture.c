/* See capture.h. */
#include "net/capture/capture.h"

#include "kernel/lib/alloc.h"
#include "kernel/lib/fmt.h"
#include "net/gw.h"
#include "net/gw_address.h"
#include "net/lib/wire.h"

#define ALIGN ((uint32_t) _Alignof(struct capture_record))

bool capture_start(struct gw *gw, uint16_t hidden)
{
	struct capture *c = alloc(sizeof *c, 64);
	if (!c)
		return false;
	c->ring = alloc_raw(CAPTURE_BYTES, 64);
	c->hidden = hidden;
	gw->capture = c->ring ? c : NULL;
	return c->ring != NULL;
}

void capture_select(struct gw *gw, const struct capture_what *what)
{
	struct capture *c = gw->capture;
	c->what = *what;
	c->begin = c->end;
	c->first = c->n;
}

/* --- which ------------------------------------------------------------------------------------ */

/* The IP packet in a frame; *n, the bytes of the frame, becomes its bytes. NULL: there is none. */
static const uint8_t *ip_of(const uint8_t *at, bool frame, uint32_t *n)
{
	uint32_t head = sizeof(struct eth_hdr);
	if (!frame)
		return at;
	if (*n < head)
		return NULL;
	uint16_t type = be16_get(((const struct eth_hdr *)at)->type);
	if (type == ETH_VLAN && *n >= head + PKT_TAG) {
		type = (uint16_t)(at[head + 2] << 8 | at[head + 3]);
		head += PKT_TAG;
	}
	*n -= head;
	return type == ETH_IP4 || type == ETH_IP6 ? at + head : NULL;
}

static bool selects(const struct capture_what *what, enum capture_way way, uint32_t iface,
                    const uint8_t *at, bool frame, uint32_t n)
{
	if (what->of == CAPTURE_DROPS ? way != CAPTURE_DROPPED : way == CAPTURE_DROPPED)
		return false;
	if (what->of == CAPTURE_IFACE && what->iface != iface)
		return false;
	if (!what->has_end)
		return true;
	const uint8_t *ip = ip_of(at, frame, &n);
	return ip && capture_what_has(what, ip, n);
}

bool capture_selects(const struct capture_what *what, const struct capture_record *r)
{
	return selects(what, r->way, r->iface, capture_bytes(r), r->frame, r->n);
}

/* True for a TCP packet of the hidden port of an address of ours. */
static bool is_hidden(const struct gw *gw, const uint8_t *at, bool frame, uint32_t n)
{
	struct capture_ends e;
	const uint8_t *ip = ip_of(at, frame, &n);
	uint32_t port = gw->capture->hidden;
	if (!ip || !capture_what_ends(ip, n, &e) || e.proto != PROTO_TCP || !e.l4 || e.n_l4 < 4)
		return false;
	for (uint32_t i = 0; i < 2; i++) {
		const uint8_t *own = i ? e.to : e.from;
		if ((uint32_t)(e.l4[2 * i] << 8 | e.l4[2 * i + 1]) != port)
			continue;
		if (e.is6) {
			for (uint32_t k = 0; k < gw->n_iface; k++)
				if (gw_is_own6(gw, k, (const ip6 *)own))
					return true;
		} else if (gw_is_own(gw, *(const ip4 *)own)) {
			return true;
		}
	}
	return false;
}

/* --- the ring --------------------------------------------------------------------------------- */

static struct capture_record *record_at(const struct capture *c, uint64_t at)
{
	return (struct capture_record *)(c->ring + at % CAPTURE_BYTES);
}

/* Bytes from a place to the end of the ring, where no record is cut. */
static uint32_t rest_of(uint64_t at)
{
	return CAPTURE_BYTES - (uint32_t)(at % CAPTURE_BYTES);
}

/* Makes room for `size` bytes in one piece; gives where. */
static struct capture_record *make_room(struct capture *c, uint32_t size)
{
	uint32_t skip = rest_of(c->end) < size ? rest_of(c->end) : 0;
	while (c->end + skip + size - c->begin > CAPTURE_BYTES) {
		if (rest_of(c->begin) < sizeof(struct capture_record)) {
			c->begin += rest_of(c->begin);
			continue;
		}
		const struct capture_record *oldest = record_at(c, c->begin);
		c->first += oldest->n != 0;
		c->begin += oldest->size;
	}
	if (skip >= sizeof(struct capture_record))
		*record_at(c, c->end) = (struct capture_record){.size = skip};
	c->end += skip + size;
	return record_at(c, c->end - size);
}

/* Copies what is kept of a packet: the bytes from `from` to the end of its first piece, then the
 * other pieces. */
static uint32_t copy(uint8_t *to, const struct pkt *p, const uint8_t *from)
{
	uint32_t n = min_u32((uint32_t)(p->data + p->len - from), CAPTURE_SNAP);
	memcpy(to, from, n);
	for (p = p->flags & PKT_PARTIAL ? p->next : NULL; p && n < CAPTURE_SNAP; p = p->next) {
		uint32_t more = min_u32(p->len, CAPTURE_SNAP - n);
		memcpy(to + n, p->data, more);
		n += more;
	}
	return n;
}

static void keep(struct gw *gw, const struct pkt *p, const uint8_t *from, uint32_t iface,
                 enum capture_way way, bool frame, enum drop reason)
{
	struct capture *c = gw->capture;
	uint32_t n = (uint32_t)(p->data + p->len - from);
	const struct capture_what *what = &c->what;
	bool wanted = what->of == CAPTURE_ALL && !what->has_end;
	struct capture_what drops = *what;
	if (what->of == CAPTURE_ALL && way == CAPTURE_DROPPED)
		drops.of = CAPTURE_DROPS;
	if (n == 0 || (!wanted && !selects(&drops, way, iface, from, frame, n)) ||
	    is_hidden(gw, from, frame, n))
		return;
	uint32_t len = n + (p->flags & PKT_PARTIAL ? p->total - p->len : 0);
	uint32_t kept = min_u32(len, CAPTURE_SNAP);
	uint32_t size = (sizeof(struct capture_record) + kept + ALIGN - 1) & ~(ALIGN - 1);
	struct capture_record *r = make_room(c, size);
	*r = (struct capture_record){
	        .size = size,
	        .number = c->n++,
	        .at_us = gw->clock.us,
	        .len = len,
	        .way = (uint8_t)way,
	        .iface = (uint8_t)iface,
	        .reason = (uint8_t)reason,
	        .frame = frame,
	};
	r->n = (uint16_t)copy((uint8_t *)(r + 1), p, from);
}

void capture_received(struct gw *gw, uint32_t iface, struct pkt *const *burst, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		keep(gw, burst[i], burst[i]->data, iface, CAPTURE_IN, true, DROP_NONE);
}

void capture_leaving(struct gw *gw, uint32_t iface, struct pkt *const *burst, uint32_t n)
{
	uint32_t *seen = &gw->capture->seen[iface];
	for (; *seen < n; ++*seen)
		keep(gw, burst[*seen], burst[*seen]->data, iface, CAPTURE_OUT, true, DROP_NONE);
}

void capture_taken(struct gw *gw, uint32_t iface, uint32_t n)
{
	uint32_t *seen = &gw->capture->seen[iface];
	*seen -= min_u32(*seen, n);
}

void capture_dropped(struct gw *gw, const struct pkt *p, enum drop reason)
{
	bool frame;
	const uint8_t *from = drop_log_frame(p, &frame);
	keep(gw, p, from, p->iface, CAPTURE_DROPPED, frame, reason);
}

const struct capture_record *capture_next(const struct capture *c, struct capture_place *place,
                                          uint32_t *lost)
{
	*lost = 0;
	if (place->at < c->begin || (place->at == 0 && place->number == 0)) {
		*lost = c->first - place->number;
		*place = (struct capture_place){c->begin, c->first};
	}
	while (place->at < c->end) {
		uint32_t rest = rest_of(place->at);
		const struct capture_record *r = record_at(c, place->at);
		if (rest < sizeof *r) {
			place->at += rest;
			continue;
		}
		place->at += r->size;
		if (r->n == 0)
			continue;
		place->number = r->number + 1;
		return r;
	}
	return NULL;
}

/* --- for people ------------------------------------------------------------------------------- */

/* Takes the next word off *words; it is cut where it is too long. */
static void word(const char **words, char buf[CAPTURE_WHAT])
{
	uint32_t n = 0;
	while (**words == ' ')
		++*words;
	for (; **words && **words != ' '; ++*words)
		if (n < CAPTURE_WHAT - 1)
			buf[n++] = **words;
	buf[n] = '\0';
}

/* Reads "OF END", "OF" or "END". */
static bool read_words(const struct gw *gw, const char *words, struct capture_what *out)
{
	char of[CAPTURE_WHAT], end[CAPTURE_WHAT], rest[CAPTURE_WHAT];
	word(&words, of);
	word(&words, end);
	word(&words, rest);
	return !rest[0] && (capture_what_parse(gw, of, end, out) ||
	                    (!end[0] && capture_what_parse(gw, "", of, out)));
}

bool capture_show(struct gw *gw, const char *words, uint32_t *cursor, char *buf, size_t size)
{
	char text[CAPTURE_WHAT];
	struct capture *c = gw->capture;
	struct capture_what what;
	if ((*cursor)++)
		return false;
	if (!c) {
		fmt(buf, size, "off; serve http and http.capture on keep the last packets");
		return true;
	}
	if (words[0]) {
		if (!read_words(gw, words, &what)) {
			fmt(buf, size,
			    "not all, drops or an interface, and an ADDRESS or ADDRESS:PORT: %s",
			    words);
			return true;
		}
		capture_select(gw, &what);
	}
	capture_what_text(gw, &c->what, text);
	fmt(buf, size, "keeping %s: %u packets, %u older ones overwritten", text, c->n - c->first,
	    c->first);
	return true;
}
