/* See dhcp_message.h. */
#include "net/dhcp/dhcp_message.h"

#define PIECE 255u /* longest value of one option */

/* --- reading ------------------------------------------------------------------------------- */

/* Moves to the next option of an area; false behind the last. `at` is 0 at first, *code and *len
 * are those of the option, whose value ends at the new `at`. An option that does not fit into the
 * area has *len > area->len. */
static bool next_option(const struct dhcp_area *area, uint32_t *at, uint8_t *code, uint32_t *len)
{
	while (*at < area->len && area->at[*at] == DHCP_PAD)
		++*at;
	if (*at >= area->len || area->at[*at] == DHCP_END)
		return false;
	*code = area->at[*at];
	*len = area->len - *at >= 2 ? area->at[*at + 1] : UINT32_MAX;
	if (*len > area->len - *at - 2)
		*len = UINT32_MAX;
	else
		*at += 2 + *len;
	return true;
}

/* True when each option of an area lies inside of it. */
static bool is_whole(const struct dhcp_area *area)
{
	uint32_t at = 0, len;
	uint8_t code;
	while (next_option(area, &at, &code, &len))
		if (len == UINT32_MAX)
			return false;
	return true;
}

/* Adds the areas that DHCP_OVERLOAD names. */
static const char *read_overload(struct dhcp_message *m)
{
	const struct dhcp_hdr *h = m->hdr;
	uint8_t overload = 0;
	if (!dhcp_message_has(m, DHCP_OVERLOAD))
		return NULL;
	if (!dhcp_message_get8(m, DHCP_OVERLOAD, &overload) || overload == 0 || overload > 3)
		return "bad option overload";
	if (overload & 1)
		m->area[m->n_areas++] = (struct dhcp_area){h->file, sizeof h->file};
	if (overload & 2)
		m->area[m->n_areas++] = (struct dhcp_area){h->sname, sizeof h->sname};
	for (uint32_t i = 1; i < m->n_areas; i++)
		if (!is_whole(&m->area[i]))
			return "option behind the end of its field";
	return NULL;
}

const char *dhcp_message_read(struct dhcp_message *m, const uint8_t *data, uint32_t len)
{
	const struct dhcp_hdr *h = (const struct dhcp_hdr *)data;
	uint8_t type = 0;
	if (len < sizeof *h)
		return "too short";
	if (be32_get(h->cookie) != DHCP_COOKIE)
		return "no DHCP cookie";
	if (h->htype != 1 || h->hlen != sizeof h->chaddr)
		return "not of Ethernet";
	if (h->op != DHCP_BOOTREQUEST && h->op != DHCP_BOOTREPLY)
		return "bad operation";
	*m = (struct dhcp_message){.hdr = h, .n_areas = 1};
	m->area[0] = (struct dhcp_area){data + sizeof *h, len - (uint32_t)sizeof *h};
	if (!is_whole(&m->area[0]))
		return "option behind the end of the message";
	const char *bad = read_overload(m);
	if (bad)
		return bad;
	if (!dhcp_message_get8(m, DHCP_TYPE, &type) || type < DHCP_DISCOVER || type > DHCP_INFORM)
		return "bad message type";
	m->type = (enum dhcp_type)type;
	return NULL;
}

bool dhcp_message_get(const struct dhcp_message *m, enum dhcp_code code, uint8_t *out,
                      uint32_t size, uint32_t *len)
{
	bool there = false;
	*len = 0;
	for (uint32_t i = 0; i < m->n_areas; i++) {
		const struct dhcp_area *area = &m->area[i];
		uint32_t at = 0, piece;
		uint8_t is;
		while (next_option(area, &at, &is, &piece)) {
			if (is != code)
				continue;
			there = true;
			if (*len < size && piece > 0)
				memcpy(out + *len, area->at + at - piece,
				       min_u32(piece, size - *len));
			*len += piece;
		}
	}
	return there;
}

bool dhcp_message_has(const struct dhcp_message *m, enum dhcp_code code)
{
	uint32_t len;
	return dhcp_message_get(m, code, NULL, 0, &len);
}

/* A value of `n` bytes exactly. */
static bool get_fixed(const struct dhcp_message *m, enum dhcp_code code, void *out, uint32_t n)
{
	uint8_t value[4];
	uint32_t len;
	if (!dhcp_message_get(m, code, value, sizeof value, &len) || len != n)
		return false;
	memcpy(out, value, n);
	return true;
}

bool dhcp_message_get8(const struct dhcp_message *m, enum dhcp_code code, uint8_t *out)
{
	return get_fixed(m, code, out, 1);
}

bool dhcp_message_get16(const struct dhcp_message *m, enum dhcp_code code, uint16_t *out)
{
	be16 value;
	if (!get_fixed(m, code, &value, sizeof value))
		return false;
	*out = be16_get(value);
	return true;
}

bool dhcp_message_get32(const struct dhcp_message *m, enum dhcp_code code, uint32_t *out)
{
	be32 value;
	if (!get_fixed(m, code, &value, sizeof value))
		return false;
	*out = be32_get(value);
	return true;
}

bool dhcp_message_get_ip4(const struct dhcp_message *m, enum dhcp_code code, ip4 *out)
{
	return get_fixed(m, code, out, sizeof *out);
}

/* --- building ------------------------------------------------------------------------------- */

#define OPTIONS    ((uint32_t)sizeof(struct dhcp_hdr)) /* where the field of options begins */
#define END_LEN    1u
#define OVERLOADED 3u /* bytes of DHCP_OVERLOAD */

struct dhcp_hdr *dhcp_build_start(struct dhcp_build *b, uint8_t *data, uint32_t size, uint8_t op,
                                  enum dhcp_type type, bool overload)
{
	struct dhcp_hdr *h = (struct dhcp_hdr *)data;
	const uint8_t first[] = {DHCP_TYPE, 1, (uint8_t)type};
	*b = (struct dhcp_build){.data = data, .size = size, .overload = overload};
	memset(data, 0, size);
	h->op = op;
	h->htype = 1;
	h->hlen = sizeof h->chaddr;
	h->cookie = be32_of(DHCP_COOKIE);
	memcpy(data + OPTIONS, first, sizeof first);
	b->used[0] = sizeof first;
	return h;
}

/* Where area i begins, and the bytes that options may take there. */
static uint8_t *area_of(const struct dhcp_build *b, uint32_t i, uint32_t *room)
{
	struct dhcp_hdr *h = (struct dhcp_hdr *)b->data;
	if (i == 0) {
		*room = b->size - OPTIONS - END_LEN - (b->overload ? OVERLOADED : 0);
		return b->data + OPTIONS;
	}
	*room = (i == 1 ? (uint32_t)sizeof h->file : (uint32_t)sizeof h->sname) - END_LEN;
	return i == 1 ? h->file : h->sname;
}

/* The first area from `i` on that has room for a piece; 3 when none has. */
static uint32_t area_for(const struct dhcp_build *b, uint32_t i, uint32_t piece)
{
	for (; i < (b->overload ? 3u : 1u); i++) {
		uint32_t room;
		(void)area_of(b, i, &room);
		if (room - b->used[i] >= 2 + piece)
			return i;
	}
	return 3;
}

/* Makes the message what it was before. */
static void take_back(struct dhcp_build *b, const struct dhcp_build *before)
{
	uint32_t room;
	for (uint32_t i = 0; i < ARRAY_SIZE(b->used); i++)
		memset(area_of(b, i, &room) + before->used[i], 0, b->used[i] - before->used[i]);
	*b = *before;
}

bool dhcp_build_put(struct dhcp_build *b, enum dhcp_code code, const void *value, uint32_t len)
{
	const struct dhcp_build before = *b;
	const uint8_t *from = value;
	uint32_t i = 0, room;
	do {
		uint32_t piece = min_u32(len, PIECE);
		i = area_for(b, i, piece);
		if (i == 3) {
			take_back(b, &before);
			return false;
		}
		uint8_t *to = area_of(b, i, &room) + b->used[i];
		to[0] = (uint8_t)code;
		to[1] = (uint8_t)piece;
		if (piece > 0)
			memcpy(to + 2, from, piece);
		b->used[i] += 2 + piece;
		from += piece;
		len -= piece;
	} while (len > 0);
	return true;
}

bool dhcp_build_put8(struct dhcp_build *b, enum dhcp_code code, uint8_t value)
{
	return dhcp_build_put(b, code, &value, sizeof value);
}

bool dhcp_build_put16(struct dhcp_build *b, enum dhcp_code code, uint16_t value)
{
	const be16 wire = be16_of(value);
	return dhcp_build_put(b, code, &wire, sizeof wire);
}

bool dhcp_build_put32(struct dhcp_build *b, enum dhcp_code code, uint32_t value)
{
	const be32 wire = be32_of(value);
	return dhcp_build_put(b, code, &wire, sizeof wire);
}

bool dhcp_build_put_ip4(struct dhcp_build *b, enum dhcp_code code, ip4 value)
{
	return dhcp_build_put(b, code, &value, sizeof value);
}

/* Puts the end option behind the options of area i; zeros are behind it. */
static void end_area(struct dhcp_build *b, uint32_t i)
{
	uint32_t room;
	area_of(b, i, &room)[b->used[i]] = DHCP_END;
}

uint32_t dhcp_build_end(struct dhcp_build *b)
{
	uint8_t overload = (uint8_t)((b->used[1] ? 1 : 0) | (b->used[2] ? 2 : 0));
	if (overload) {
		const uint8_t option[] = {DHCP_OVERLOAD, 1, overload};
		memcpy(b->data + OPTIONS + b->used[0], option, sizeof option);
		b->used[0] += (uint32_t)sizeof option;
	}
	if (b->used[1])
		end_area(b, 1);
	if (b->used[2])
		end_area(b, 2);
	end_area(b, 0);
	return max_u32(OPTIONS + b->used[0] + END_LEN, DHCP_LEN_LEAST);
}
