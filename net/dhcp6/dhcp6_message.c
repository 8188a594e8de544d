/* See dhcp6_message.h. */
#include "net/dhcp6/dhcp6_message.h"

const ip6 dhcp6_all_servers = {{0xff, 2, [13] = 1, [15] = 2}};

void dhcp6_duid(const mac *own, uint8_t out[static DHCP6_DUID_LEN])
{
	static const uint8_t type[] = {0, 3, 0, 1}; /* DUID-LL, Ethernet */
	memcpy(out, type, sizeof type);
	memcpy(out + sizeof type, own, sizeof *own);
}

/* --- reading ------------------------------------------------------------------------------------
 */

bool dhcp6_next(struct dhcp6_options *o, struct dhcp6_option *out)
{
	if (o->left < 4)
		return false;
	uint16_t len = dhcp6_u16(o->at + 2);
	if (len > o->left - 4)
		return false;
	*out = (struct dhcp6_option){.code = dhcp6_u16(o->at), .len = len, .data = o->at + 4};
	o->at += 4u + len;
	o->left -= 4u + len;
	return true;
}

bool dhcp6_whole(struct dhcp6_options o)
{
	struct dhcp6_option one;
	while (dhcp6_next(&o, &one))
		;
	return o.left == 0;
}

bool dhcp6_find(struct dhcp6_options o, uint16_t code, struct dhcp6_option *out)
{
	while (dhcp6_next(&o, out))
		if (out->code == code)
			return true;
	return false;
}

bool dhcp6_asks(struct dhcp6_options o, uint16_t code)
{
	struct dhcp6_option oro;
	if (!dhcp6_find(o, DHCP6_ORO, &oro))
		return false;
	for (uint32_t i = 0; i + 2 <= oro.len; i += 2)
		if (dhcp6_u16(oro.data + i) == code)
			return true;
	return false;
}

/* --- building -----------------------------------------------------------------------------------
 */

void dhcp6_build_start(struct dhcp6_build *b, uint8_t *data, uint32_t size, enum dhcp6_type type,
                       uint32_t xid)
{
	*b = (struct dhcp6_build){.data = data, .size = size, .n = DHCP6_HEADER};
	store32(data, swap32((uint32_t)type << 24 | (xid & 0xffffff)));
}

uint32_t dhcp6_build_open(struct dhcp6_build *b, enum dhcp6_code code, const void *value,
                          uint32_t len)
{
	uint32_t place = b->n;
	if (len + 4 > b->size - b->n) {
		b->full = true;
		return place;
	}
	uint8_t *at = b->data + place;
	store16(at, swap16((uint16_t)code));
	store16(at + 2, swap16((uint16_t)len));
	if (len)
		memcpy(at + 4, value, len);
	b->n += len + 4;
	return place;
}

void dhcp6_build_close(struct dhcp6_build *b, uint32_t place)
{
	if (b->n > place)
		store16(b->data + place + 2, swap16((uint16_t)(b->n - place - 4)));
}

void dhcp6_build_put(struct dhcp6_build *b, enum dhcp6_code code, const void *value, uint32_t len)
{
	(void)dhcp6_build_open(b, code, value, len);
}

void dhcp6_build_put16(struct dhcp6_build *b, enum dhcp6_code code, uint16_t value)
{
	const be16 v = be16_of(value);
	dhcp6_build_put(b, code, &v, sizeof v);
}

void dhcp6_build_put32(struct dhcp6_build *b, enum dhcp6_code code, uint32_t value)
{
	const be32 v = be32_of(value);
	dhcp6_build_put(b, code, &v, sizeof v);
}
