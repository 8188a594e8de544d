/* ICMP errors in both directions: types, codes and MTUs (RFC 7915 sections 4.2 and 5.2),
 * and the layout of a message with extensions (RFC 4884). */
#include "apps/translate/xlat_packet.h"

#define IP4_MTU_MIN 68u /* RFC 791 section 3.2 */

/* --- types and codes ------------------------------------------------------------------- */

/* The largest plateau of RFC 1191 section 7.1 below a packet's length, 0 when there is
 * none. Plateaus below 1492 are left out: an IPv6 MTU is at least 1280. */
static uint32_t plateau(uint32_t len)
{
	static const uint16_t mtu[] = {65535, 32000, 17914, 8166, 4352, 2002, 1492};
	for (unsigned i = 0; i < ARRAY_SIZE(mtu); i++)
		if (mtu[i] < len)
			return mtu[i];
	return 0;
}

static uint32_t mtu46(uint32_t reported, const struct xlat_mtu *m)
{
	uint32_t path = reported ? reported : plateau(m->quoted);
	return max_u32(IP6_MTU_MIN, min_u32(path + 20, min_u32(m->mtu6, m->mtu4 + 20)));
}

static uint32_t mtu64(uint32_t reported, const struct xlat_mtu *m)
{
	uint32_t header = 20 + m->more, path = min_u32(reported, m->mtu6);
	return max_u32(IP4_MTU_MIN, min_u32(path > header ? path - header : 0, m->mtu4));
}

static bool unreachable46(struct xlat_icmp *x, const struct xlat_mtu *mtu)
{
	static const uint8_t code[] = {
	        [0] = ICMP6_NO_ROUTE,  [1] = ICMP6_NO_ROUTE,  [3] = ICMP6_PORT,
	        [5] = ICMP6_NO_ROUTE,  [6] = ICMP6_NO_ROUTE,  [7] = ICMP6_NO_ROUTE,
	        [8] = ICMP6_NO_ROUTE,  [9] = ICMP6_ADMIN,     [10] = ICMP6_ADMIN,
	        [11] = ICMP6_NO_ROUTE, [12] = ICMP6_NO_ROUTE, [13] = ICMP6_ADMIN,
	        [15] = ICMP6_ADMIN,
	};
	if (x->code == ICMP_PROTOCOL) {
		*x = (struct xlat_icmp){ICMP6_PARAMETER, ICMP6_NEXT_HEADER,
		                        offsetof(struct ip6_hdr, next)};
		return true;
	}
	if (x->code == ICMP_TOO_BIG) {
		*x = (struct xlat_icmp){ICMP6_TOO_BIG, 0, mtu46(x->rest & 0xffff, mtu)};
		return true;
	}
	if (x->code >= ARRAY_SIZE(code) || x->code == 14)
		return false;
	*x = (struct xlat_icmp){ICMP6_UNREACHABLE, code[x->code], 0};
	return true;
}

/* The pointer's translation, RFC 7915, figure 3. */
static bool pointer46(uint32_t *pointer)
{
	static const int8_t to[20] = {0,  1,  4, 4, -1, -1, -1, -1, 7,  6,
	                              -1, -1, 8, 8, 8,  8,  24, 24, 24, 24};
	if (*pointer >= ARRAY_SIZE(to) || to[*pointer] < 0)
		return false;
	*pointer = (uint32_t)to[*pointer];
	return true;
}

bool xlat_icmp_to6(struct xlat_icmp *x, const struct xlat_mtu *mtu)
{
	switch (x->type) {
	case ICMP_UNREACHABLE:
		return unreachable46(x, mtu);
	case ICMP_TIME_EXCEEDED:
		*x = (struct xlat_icmp){ICMP6_TIME_EXCEEDED, x->code, 0};
		return true;
	case ICMP_PARAMETER:
		*x = (struct xlat_icmp){ICMP6_PARAMETER, x->code, x->rest >> 24};
		if (x->code != 0 && x->code != 2)
			return false;
		x->code = ICMP6_FIELD;
		return pointer46(&x->rest);
	default:
		return false;
	}
}

static bool unreachable64(struct xlat_icmp *x)
{
	static const uint8_t code[] = {[ICMP6_NO_ROUTE] = ICMP_HOST,
	                               [ICMP6_ADMIN] = ICMP_HOST_ADMIN,
	                               [ICMP6_SCOPE] = ICMP_HOST,
	                               [ICMP6_ADDRESS] = ICMP_HOST,
	                               [ICMP6_PORT] = ICMP_PORT};
	if (x->code >= ARRAY_SIZE(code))
		return false;
	*x = (struct xlat_icmp){ICMP_UNREACHABLE, code[x->code], 0};
	return true;
}

/* The pointer's translation, RFC 7915, figure 6. */
static bool pointer64(uint32_t *pointer)
{
	static const int8_t to[8] = {0, 1, -1, -1, 2, 2, 9, 8};
	if (*pointer >= IP6_MIN)
		return false;
	int at = *pointer >= 24 ? 16 : *pointer >= 8 ? 12 : to[*pointer];
	*pointer = (uint32_t)at;
	return at >= 0;
}

static bool parameter64(struct xlat_icmp *x)
{
	if (x->code == ICMP6_NEXT_HEADER) {
		*x = (struct xlat_icmp){ICMP_UNREACHABLE, ICMP_PROTOCOL, 0};
		return true;
	}
	if (x->code != ICMP6_FIELD || !pointer64(&x->rest))
		return false;
	*x = (struct xlat_icmp){ICMP_PARAMETER, 0, x->rest << 24};
	return true;
}

bool xlat_icmp_to4(struct xlat_icmp *x, const struct xlat_mtu *mtu)
{
	switch (x->type) {
	case ICMP6_UNREACHABLE:
		return unreachable64(x);
	case ICMP6_TOO_BIG:
		*x = (struct xlat_icmp){ICMP_UNREACHABLE, ICMP_TOO_BIG, mtu64(x->rest, mtu)};
		return true;
	case ICMP6_TIME_EXCEEDED:
		*x = (struct xlat_icmp){ICMP_TIME_EXCEEDED, x->code, 0};
		return true;
	case ICMP6_PARAMETER:
		return parameter64(x);
	default:
		return false;
	}
}

/* --- layout of an error ------------------------------------------------------------ */

#define QUOTE_MIN 128u /* of the quoted packet, before extensions (RFC 4884 section 4) */

void xlat_fit(struct xlat_parts *x, uint32_t room, uint32_t unit)
{
	uint32_t field = x->head + x->data, most = room;
	if (unit == 0 || x->ext > room - QUOTE_MIN)
		x->ext = 0;
	if (x->ext) {
		/* As many whole units as the length attribute can express. */
		most = min_u32((room - x->ext) / unit, UINT8_MAX) * unit;
	}
	field = min_u32(field, most);
	x->data = field - x->head;
	x->pad = 0;
	if (x->ext)
		x->pad = max_u32(QUOTE_MIN, (field + unit - 1) / unit * unit) - field;
}

bool xlat_arrange(struct pkt *p, const struct xlat_parts *x, uint8_t *data, const uint8_t *ext,
                  uint32_t front)
{
	uint32_t n = x->data + x->pad + x->ext;
	if (!pkt_pull(p, (uint32_t)(data - p->data)) || (n > p->len && !pkt_put(p, n - p->len)))
		return false;
	uint8_t *end = p->data + x->data;
	memmove(end + x->pad, ext, x->ext);
	memset(end, 0, x->pad);
	pkt_trim(p, n);
	return pkt_push(p, front) != NULL;
}
