/* See frames_make.h. */
#include "tests/fuzz/frames_make.h"

enum {
	ETH = 14,
	IP4 = 20,
	IP6 = 40,
	HOP_BY_HOP = 0,
	ICMP = 1,
	TCP = 6,
	UDP = 17,
	ROUTING = 43,
	FRAGMENT = 44,
	AH = 51,
	ICMP6 = 58,
	DESTINATION = 60
};

static uint32_t get16(const uint8_t *b)
{
	return (uint32_t)b[0] << 8 | b[1];
}

static void put16(uint8_t *b, uint32_t v)
{
	b[0] = (uint8_t)(v >> 8);
	b[1] = (uint8_t)v;
}

/* --- payload ------------------------------------------------------------------------- */

/* The byte at an offset of a datagram: neighbouring bytes differ, and so do blocks. */
static uint8_t byte_at(uint32_t index)
{
	return (uint8_t)(index * 0x9d + (index >> 8) * 0x3b + 0x11);
}

static void fill(uint8_t *at, uint32_t index, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		at[i] = byte_at(index + i);
}

/* A length up to `room`: a short one, one near an MTU limit, or one of the last ones that fit. */
static uint32_t length_of(uint8_t n, uint32_t room)
{
	static const uint16_t limit[] = {536, 1180, 1200, 1232, 1420, 1440, 1460, 1480};
	uint32_t len = n;
	if (n >= 192)
		len = room - min_u32(room, 255u - n);
	else if (n >= 128)
		len = limit[n >> 3 & 7] + (n & 7u) - 4u;
	return min_u32(len, room);
}

/* --- fragments and chains ------------------------------------------------------------ */

/* Offset and more-fragments flag from a byte: one of the first 63 offsets or any far one. */
static uint32_t offset_of(uint8_t b)
{
	return (b >> 2) * (b & 2 ? 1024u : 8u);
}

struct middle make_piece4(struct input *in, uint8_t *ip)
{
	uint8_t b = input_u8(in);
	uint32_t offset = offset_of(b);
	struct middle m = {.index = offset, .later = offset != 0};
	put16(ip + 6, offset / 8 | (b & 1 ? 0x2000u : 0));
	return m;
}

/* Writes one header at h, where all bytes are zero; gives its length. */
static uint32_t make_header(uint8_t *h, uint8_t kind, uint8_t how, uint8_t b)
{
	if (kind == FRAGMENT) {
		put16(h + 2, offset_of(b) | (b & 1));
		h[6] = 0x12;
		h[7] = how & 8 ? 1 : 0;
		return 8;
	}
	h[1] = how & 8 ? b & 3 : 0;
	if (kind == AH) {
		h[1] = (uint8_t)(1 + (how & 8 ? 2 * (b & 1) : 0)); /* in words of 4 bytes */
		return (h[1] + 2u) * 4;
	}
	h[2] = kind == ROUTING ? b >> 4 : b & 0x80 ? b : 1;
	h[3] = kind == ROUTING ? b >> 2 & 3 : b & 0x80 ? b & 7 : (uint8_t)(h[1] * 8 + 4);
	return (h[1] + 1u) * 8;
}

uint32_t make_chain(struct input *in, uint8_t *at, uint32_t room, uint8_t *next, uint8_t proto,
                    struct middle *m)
{
	static const uint8_t kinds[] = {DESTINATION, HOP_BY_HOP, ROUTING, FRAGMENT, AH, FRAGMENT};
	uint32_t len = 0, since = 0;
	uint8_t *named = next, how;
	*m = (struct middle){0};
	/* Each two bytes are a header or a run of them; zeros end the chain. */
	while (!m->later && (how = input_u8(in)) % 7 != 0) {
		uint8_t b = input_u8(in), kind = kinds[how % 7 - 1];
		uint32_t run = how & 128 ? 1 + (how >> 4 & 7) * 5u : 1;
		for (; run > 0 && !m->later && room - len >= 40; run--) {
			uint8_t *h = at + len;
			memset(h, 0, 32);
			*named = kind;
			len += make_header(h, kind, how, b);
			named = h;
			if (kind == FRAGMENT && get16(h + 2)) {
				since = len;
				*m = (struct middle){offset_of(b), offset_of(b) != 0};
			}
		}
	}
	*named = proto;
	if (since && !m->later)
		m->index = len - since;
	return len;
}

/* --- transport ----------------------------------------------------------------------- */

uint8_t make_proto(struct input *in, bool is6)
{
	static const uint8_t protos[] = {UDP, TCP, ICMP, UDP, TCP, ICMP, 33, 47};
	uint8_t a = input_u8(in), proto = protos[a & 7];
	static const uint8_t rare[] = {2,   ICMP, ICMP6, 4,  41, 50, AH, 59,
	                               132, 136,  0,     43, 44, 60, 135};
	if (a >= 0xf8) {
		uint8_t b = input_u8(in);
		return b < sizeof rare ? rare[b] : b;
	}
	return proto == ICMP && is6 ? ICMP6 : proto;
}

static uint32_t make_tcp(uint8_t *l4, uint8_t a, uint8_t b)
{
	static const uint8_t flags[] = {0x02, 0x12, 0x10, 0x11, 0x04, 0x18, 0x14, 0x00};
	static const uint8_t mss[] = {2, 4, 5, 0xa0};
	memset(l4 + 4, 0, 20);
	l4[12] = a & 32 ? 0x60 : 0x50;
	l4[13] = flags[b & 7];
	memcpy(l4 + 20, mss, sizeof mss);
	return a & 32 ? 24 : 20;
}

/* The bytes before the payload; gives their length. */
static uint32_t make_l4(uint8_t *l4, uint8_t proto, uint8_t a, uint8_t b)
{
	memset(l4, 0, 8);
	if (proto == ICMP || proto == ICMP6) {
		uint8_t request = proto == ICMP ? 8 : 128, reply = proto == ICMP ? 0 : 129;
		l4[0] = b & 4 ? (uint8_t)((b & 15) | (request & 128)) : b & 1 ? reply : request;
		put16(l4 + 4, (a & 64 ? 0x400u : 0x1300u) | (a >> 3 & 7));
		return 8;
	}
	put16(l4, (a & 64 ? 0x400u : 0x1300u) | (a >> 3 & 7));
	put16(l4 + 2, (a & 64 ? 0x400u : 0x1300u) | (b & 8 ? b >> 4 & 7 : a >> 3 & 7));
	if (proto == TCP)
		return make_tcp(l4, a, b);
	return proto == UDP ? 8 : 0;
}

uint32_t make_transport(struct input *in, uint8_t *at, uint32_t room, uint8_t proto,
                        const struct middle *m)
{
	uint8_t a = input_u8(in), b = input_u8(in), size = input_u8(in), head[24];
	uint32_t whole = m->later ? 0 : make_l4(head, proto, a, b);
	/* Rarely a truncated header. */
	uint32_t n =
	        a & 128 && b & 128 ? length_of(size, room) : whole + length_of(size, room - whole);
	fill(at, m->index, n);
	memcpy(at, head, min_u32(whole, n));
	return n;
}

/* --- floods -------------------------------------------------------------------------- */

void frame_vary(uint8_t *f, uint32_t len, uint8_t how)
{
	bool is6 = f[12] == 0x86;
	uint32_t l4 = is6 ? ETH + IP6 : ETH + (f[ETH] & 15u) * 4;
	uint32_t from = is6 ? ETH + 22 : ETH + 14, to = is6 ? ETH + 38 : ETH + 18;
	uint8_t first = is6 ? f[ETH + 6] : f[ETH + 9];
	bool has_ports = first == TCP || first == UDP;
	if (len < l4 + 8 || l4 < ETH + IP4)
		return;
	if (!is6 && get16(f + ETH + 6) & 0x1fff)
		has_ports = false;
	if (how & 1 && has_ports)
		put16(f + l4, get16(f + l4) + 1);
	if (how & 2)
		put16(f + from, get16(f + from) + 1);
	if (how & 4) /* the steps differ, so that each flood has other targets */
		put16(f + to, get16(f + to) + 1 + (how & 0xf0u) * 16);
	if (how & 8 && !is6)
		put16(f + ETH + 4, get16(f + ETH + 4) + 1);
	if (how & 8 && is6 && first == FRAGMENT)
		put16(f + l4 + 6, get16(f + l4 + 6) + 1);
}

/* --- arriving payloads --------------------------------------------------------------- */

/* Whether this is a packet that an error quotes, and the bytes that are checked. */
enum depth { QUOTED, NO_QUOTES, ALL };

static const char *check4(const uint8_t *ip, uint32_t n, enum depth depth);
static const char *check6(const uint8_t *ip, uint32_t n, enum depth depth);

static bool is_error(uint8_t proto, uint8_t type)
{
	return proto == ICMP ? type == 3 || type == 11 || type == 12 : type >= 1 && type <= 4;
}

/* Checks n bytes from the start of a transport header, or from the middle of a datagram. */
static const char *check_rest(uint8_t proto, const uint8_t *at, uint32_t n, uint32_t index,
                              bool later, enum depth depth)
{
	uint32_t head = 0;
	bool icmp = proto == ICMP || proto == ICMP6;
	if (!later && icmp && n >= 8 && is_error(proto, at[0])) {
		/* Before extensions the quoted packet may be padded (RFC 4884). */
		if (depth != ALL || at[proto == ICMP ? 5 : 4])
			return NULL;
		return proto == ICMP ? check4(at + 8, n - 8, QUOTED)
		                     : check6(at + 8, n - 8, QUOTED);
	}
	if (later) {
		if (proto == 41) /* a tunnel packet, which is not a truncated payload */
			return NULL;
	} else {
		if (proto == 41 && depth != QUOTED)
			return check6(at, n, depth);
		if (proto == 4 || proto == 41 || proto == 51 || proto == 2 ||
		    (icmp && (n < 8 || (at[0] != 0 && at[0] != 8 && at[0] >> 1 != 64))))
			return NULL;
		head = proto == UDP || icmp ? 8 : proto == TCP ? 20 : 0;
		if (proto == TCP && n > 12)
			head = max_u32(20, (at[12] >> 4) * 4u);
		if (head == 0) /* the ports, if there are any */
			head = 4;
	}
	for (uint32_t i = head; i < n; i++)
		if (at[i] != byte_at(index + i))
			return "the payload was changed";
	return NULL;
}

static const char *check4(const uint8_t *ip, uint32_t n, enum depth depth)
{
	uint32_t h = (ip[0] & 15u) * 4;
	if (n < IP4 || h < IP4 || n < h || ip[0] >> 4 != 4)
		return NULL;
	uint32_t frag = get16(ip + 6), offset = (frag & 0x1fff) * 8;
	n = max_u32(h, min_u32(n, get16(ip + 2)));
	return check_rest(ip[9], ip + h, n - h, offset, offset != 0, depth);
}

static const char *check6(const uint8_t *ip, uint32_t n, enum depth depth)
{
	if (n < IP6 || ip[0] >> 4 != 6)
		return NULL;
	uint32_t at = IP6, since = 0;
	bool later = false;
	uint8_t proto = ip[6];
	n = min_u32(n, IP6 + get16(ip + 4));
	while (!later && (proto == HOP_BY_HOP || proto == ROUTING || proto == FRAGMENT ||
	                  proto == AH || proto == DESTINATION)) {
		if (n - at < 8)
			return NULL;
		const uint8_t *h = ip + at;
		uint32_t len = proto == FRAGMENT ? 8
		               : proto == AH     ? (h[1] + 2u) * 4
		                                 : (h[1] + 1u) * 8;
		if (len > n - at)
			return NULL;
		at += len;
		if (proto == FRAGMENT && get16(h + 2) & 0xfff9) {
			since = at;
			later = get16(h + 2) & 0xfff8;
			if (later)
				return check_rest(h[0], ip + at, n - at, get16(h + 2) & 0xfff8u,
				                  true, depth);
		}
		proto = h[0];
	}
	return check_rest(proto, ip + at, n - at, since ? at - since : 0, false, depth);
}

const char *frame_payload(const uint8_t *f, uint32_t len, bool quotes)
{
	enum depth depth = quotes ? ALL : NO_QUOTES;
	if (len > ETH && get16(f + 12) == 0x0800)
		return check4(f + ETH, len - ETH, depth);
	return len > ETH && get16(f + 12) == 0x86dd ? check6(f + ETH, len - ETH, depth) : NULL;
}
