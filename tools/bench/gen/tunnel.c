/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hosts around a 6to4 gateway (RFC 3056): IPv6 clients on its LAN, and servers that are 6to4
 * sites of their own, one for each IPv4 address, and so hold a tunnel's other end.
 *
 *     client C (an IPv4 number)   2002:GATEWAY:1::C
 *     server S                    2002:S:1::1, in a tunnel to and from S
 *
 * A packet carries what its IPv4 twin would, so inside it is 20 bytes longer, outside 40.
 */
#include <string.h>

#include "hosts.h"

enum {
	UDP6 = IP6 + UDP,
	SHORT = IP6 - IP,          /* what a frame is longer than its twin on the LAN */
	LONG = IP6,                /* and in the tunnel */
	NS_LEN = 24,               /* of an ICMPv6 neighbour solicitation, without options */
	NA_LEN = 32,               /* of an advertisement with the link-layer address */
	NEIGHBOUR_SOLICIT = 135,   /* RFC 4861 section 4.3 */
	NEIGHBOUR_ADVERT = 136,    /* section 4.4 */
	SOLICITED_OVERRIDE = 0x60, /* its flags */
};

static void site(uint8_t *at, uint32_t address, uint32_t host)
{
	memset(at, 0, 16);
	put16(at, 0x2002);
	put32(at + 2, address);
	put16(at + 6, 1);
	put32(at + 12, host);
}

static void addresses(uint8_t *ip6, int side, const struct ends *e)
{
	site(ip6 + (side == LAN ? 8 : 24), plan.gateway[WAN], e->client);
	site(ip6 + (side == LAN ? 24 : 8), e->server, 1);
}

/* Like the IPv4 one: of the data only the payload is not 0. */
static uint32_t udp6_sum(const uint8_t *ip6, unsigned len)
{
	unsigned used = UDP + sizeof(struct payload);
	uint32_t sum = 17 + len;

	sum = add_words(sum, ip6 + 8, 32);
	return add_words(sum, ip6 + IP6, len < used ? len : used);
}

static void finish_udp(uint8_t *ip6)
{
	uint8_t *udp = ip6 + IP6;

	put16(udp + 6, 0);
	put16(udp + 6, ~fold(udp6_sum(ip6, get16(udp + 4))) & 0xffff);
	if (get16(udp + 6) == 0)
		put16(udp + 6, 0xffff);
}

static void finish_outer(uint8_t *ip)
{
	put16(ip + 10, 0);
	put16(ip + 10, ~fold(add_words(0, ip, IP)) & 0xffff);
}

void tunnel_build(struct frame *f, int side, const struct ends *e, const struct payload *p,
                  unsigned size)
{
	uint8_t *d = f->data, *ip = d + ETH, *ip6 = side == LAN ? ip : ip + IP, *udp = ip6 + IP6;
	struct mac own = mac_of(side, side == LAN ? e->client : e->server);
	unsigned len = size - ETH - IP; /* of UDP header and data */

	f->len = size + (side == LAN ? SHORT : LONG);
	memcpy(d, plan.gateway_mac[side].b, 6);
	memcpy(d + 6, own.b, 6);
	put16(d + 12, side == LAN ? 0x86dd : 0x0800);
	if (side == WAN) {
		put16(ip, 0x4500);
		put16(ip + 2, IP + IP6 + len);
		put32(ip + 4, 0);
		put32(ip + 8, TTL << 24 | 41 << 16);
		put32(ip + 12, e->server);
		put32(ip + 16, plan.gateway[WAN]);
		finish_outer(ip);
	}
	put32(ip6, 0x60000000);
	put16(ip6 + 4, len);
	put16(ip6 + 6, 17 << 8 | TTL);
	addresses(ip6, side, e);
	put16(udp, side == LAN ? e->port : SERVER_PORT);
	put16(udp + 2, side == LAN ? SERVER_PORT : e->port);
	put16(udp + 4, len);
	memcpy(udp + UDP, p, sizeof(*p));
	finish_udp(ip6);
}

void tunnel_answer(const struct frame *in, struct frame *out, uint16_t mark)
{
	const uint8_t *d = in->data, *from = d + ETH + IP;
	uint8_t *o = out->data, *ip = o + ETH, *ip6 = ip + IP;

	out->len = in->len;
	memcpy(o, d, in->len);
	memcpy(o, d + 6, 6);
	memcpy(o + 6, d, 6);
	memcpy(ip + 12, d + ETH + 16, 4);
	memcpy(ip + 16, d + ETH + 12, 4);
	ip[8] = TTL;
	finish_outer(ip);
	ip6[7] = TTL;
	memcpy(ip6 + 8, from + 24, 16);
	memcpy(ip6 + 24, from + 8, 16);
	memcpy(ip6 + IP6, from + IP6 + 2, 2);
	memcpy(ip6 + IP6 + 2, from + IP6, 2);
	memcpy(ip6 + UDP6, &mark, sizeof(mark));
	finish_udp(ip6);
}

const uint8_t *tunnel_payload(int side, const struct frame *f)
{
	const uint8_t *ip = f->data + ETH, *ip6 = side == LAN ? ip : ip + IP;
	unsigned least = (unsigned)(ip6 - f->data) + UDP6 + (unsigned)sizeof(struct payload);

	if (f->len < least || get16(f->data + 12) != (side == LAN ? 0x86dd : 0x0800))
		return NULL;
	if (side == WAN && (ip[0] != 0x45 || ip[9] != 41))
		return NULL;
	return ip6[0] >> 4 == 6 && ip6[6] == 17 ? ip6 + UDP6 : NULL;
}

static const char *wrong_outer(const uint8_t *ip, const struct ends *e, unsigned size)
{
	if (get16(ip + 2) != size - ETH + LONG)
		return "tunnel: length";
	if (fold(add_words(0, ip, IP)) != 0xffff)
		return "tunnel: IPv4 checksum";
	if (get32(ip + 12) != plan.gateway[WAN] || get32(ip + 16) != e->server)
		return "tunnel: outer addresses";
	return NULL;
}

const char *tunnel_wrong(int side, const struct frame *f, const struct ends *e, unsigned size)
{
	const uint8_t *ip = f->data + ETH, *ip6 = side == LAN ? ip : ip + IP, *udp = ip6 + IP6;
	const char *why = side == WAN ? wrong_outer(ip, e, size) : NULL;
	struct mac own = mac_of(side, side == LAN ? e->client : e->server);
	uint8_t expected[IP6];

	if (why != NULL)
		return why;
	if (f->len != size + (side == LAN ? SHORT : LONG) || get16(ip6 + 4) != size - ETH - IP)
		return "tunnel: inner length";
	addresses(expected, side == LAN ? WAN : LAN, e); /* it comes from the other side */
	if (memcmp(ip6 + 8, expected + 8, 32) != 0)
		return "tunnel: inner addresses";
	if (ip6[7] != TTL - 1)
		return "tunnel: hop limit";
	if (get16(udp + (side == LAN ? 2 : 0)) != e->port ||
	    get16(udp + (side == LAN ? 0 : 2)) != SERVER_PORT)
		return "tunnel: ports";
	if (fold(udp6_sum(ip6, get16(udp + 4))) != 0xffff)
		return "tunnel: UDP checksum";
	return memcmp(f->data, own.b, 6) != 0 ? "tunnel: destination MAC" : NULL;
}

static bool is_client(const uint8_t *address)
{
	uint32_t host = get32(address + 12);
	uint8_t expected[16];

	site(expected, plan.gateway[WAN], host);
	return memcmp(address, expected, 16) == 0 && host - plan.first[LAN] < plan.hosts;
}

bool tunnel_neighbour(int side, const struct frame *f, struct frame *reply)
{
	const uint8_t *ip6 = f->data + ETH, *target = ip6 + IP6 + 8;
	uint8_t *d = reply->data, *out = d + ETH, *icmp = out + IP6;
	struct mac own;

	if (side != LAN || f->len < ETH + IP6 + NS_LEN || get16(f->data + 12) != 0x86dd ||
	    ip6[6] != 58 || ip6[7] != 255 || ip6[IP6] != NEIGHBOUR_SOLICIT || !is_client(target) ||
	    get16(ip6 + 8) == 0) /* from nobody: someone else tries the address */
		return false;
	own = mac_of(LAN, get32(target + 12));
	reply->len = ETH + IP6 + NA_LEN;
	memset(d, 0, reply->len);
	memcpy(d, f->data + 6, 6);
	memcpy(d + 6, own.b, 6);
	put16(d + 12, 0x86dd);
	put32(out, 0x60000000);
	put16(out + 4, NA_LEN);
	put16(out + 6, 58 << 8 | 255);
	memcpy(out + 8, target, 16);
	memcpy(out + 24, ip6 + 8, 16);
	icmp[0] = NEIGHBOUR_ADVERT;
	icmp[4] = SOLICITED_OVERRIDE;
	memcpy(icmp + 8, target, 16);
	icmp[24] = 2; /* target link-layer address, one unit of eight bytes */
	icmp[25] = 1;
	memcpy(icmp + 26, own.b, 6);
	put16(icmp + 2,
	      ~fold(add_words(add_words(58 + NA_LEN, out + 8, 32), icmp, NA_LEN)) & 0xffff);
	return true;
}
