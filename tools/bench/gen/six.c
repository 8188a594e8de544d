/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hosts that use IPv6. Around a 6to4 gateway (RFC 3056) they are clients on its LAN, and
 * servers that are 6to4 sites of their own, one for each IPv4 address, and so are the other ends of
 * tunnels. Around a translator (RFC 7915) they are the clients; servers have IPv6 addresses only as
 * the clients see them (RFC 6052 section 2.2, 96 bits). C and S are IPv4 numbers:
 *
 *                6to4                                    translator
 *     client     2002:GATEWAY:1::C                       PREFIX::C; the servers see C
 *     server     2002:S:1::1, in a tunnel to and from S  the clients see PREFIX::S
 *
 * Behind a NAT64 the clients are outside of its prefix, and the servers see its address.
 *
 * A packet has the payload of the same IPv4 packet, so it is 20 bytes longer, in a tunnel 40.
 */
#include <string.h>

#include "hosts.h"

enum {
	PREFIX = 0x0064,  /* 2001:db8:64::/96 stands for IPv4 addresses */
	CLIENTS = 0x0065, /* clients of a NAT64 */
	UDP6 = IP6 + UDP,
	SHORT = IP6 - IP,          /* additional bytes of a frame on the LAN */
	LONG = IP6,                /* and in the tunnel */
	NS_LEN = 24,               /* of an ICMPv6 neighbour solicitation, without options */
	NA_LEN = 32,               /* of either message with the link-layer address */
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

/* 2001:db8:PART::ADDRESS */
static void embed(uint8_t *at, unsigned part, uint32_t address)
{
	memset(at, 0, 16);
	put32(at, 0x20010db8);
	put16(at + 4, part);
	put32(at + 12, address);
}

void six_inside(uint8_t *at, uint32_t address)
{
	if (is_translated())
		embed(at, plan.mode == MODE_XLAT ? PREFIX : CLIENTS, address);
	else
		site(at, plan.gateway[WAN], address);
}

static void addresses(uint8_t *ip6, int side, const struct ends *e)
{
	uint8_t *server = ip6 + (side == LAN ? 24 : 8);

	six_inside(ip6 + (side == LAN ? 8 : 24), e->client);
	if (plan.mode == MODE_6TO4)
		site(server, e->server, 1);
	else
		embed(server, PREFIX, e->server);
}

/* As for IPv4: only the payload bytes of the data are not 0. */
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

void six_build(struct frame *f, int side, const struct ends *e, const struct payload *p,
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
	put16(udp, side == LAN ? e->port : e->server_port);
	put16(udp + 2, side == LAN ? e->server_port : e->port);
	put16(udp + 4, len);
	memcpy(udp + UDP, p, sizeof(*p));
	finish_udp(ip6);
}

void six_answer(const struct frame *in, struct frame *out, uint16_t mark)
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

const uint8_t *six_payload(int side, const struct frame *f)
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

const char *six_wrong(int side, const struct frame *f, const struct ends *e, unsigned size)
{
	const uint8_t *ip = f->data + ETH, *ip6 = side == LAN ? ip : ip + IP, *udp = ip6 + IP6;
	const char *why = side == WAN ? wrong_outer(ip, e, size) : NULL;
	struct mac own = mac_of(side, side == LAN ? e->client : e->server);
	uint8_t expected[IP6];

	if (why != NULL)
		return why;
	if (f->len != size + (side == LAN ? SHORT : LONG) || get16(ip6 + 4) != size - ETH - IP)
		return "IPv6: length";
	if (get32(ip6) != 0x60000000)
		return "IPv6: traffic class or flow label";
	addresses(expected, side == LAN ? WAN : LAN, e); /* the packet comes from the other side */
	if (memcmp(ip6 + 8, expected + 8, 32) != 0)
		return "IPv6: addresses";
	if (ip6[7] != TTL - plan.hops)
		return "IPv6: hop limit";
	if (get16(udp + (side == LAN ? 2 : 0)) != e->port ||
	    get16(udp + (side == LAN ? 0 : 2)) != e->server_port)
		return "IPv6: ports";
	if (fold(udp6_sum(ip6, get16(udp + 4))) != 0xffff)
		return "IPv6: UDP checksum";
	return memcmp(f->data, own.b, 6) != 0 ? "IPv6: destination MAC" : NULL;
}

static bool is_client(const uint8_t *address)
{
	uint32_t host = get32(address + 12);
	uint8_t expected[16];

	six_inside(expected, host);
	return memcmp(address, expected, 16) == 0 && host - plan.first[LAN] < plan.hosts;
}

/* ---- neighbour discovery ---- */

static bool is_neighbour(const struct frame *f, unsigned type, unsigned len)
{
	const uint8_t *ip6 = f->data + ETH;

	return f->len >= ETH + IP6 + len && get16(f->data + 12) == 0x86dd && ip6[6] == 58 &&
	       ip6[7] == 255 && ip6[IP6] == type;
}

/* Completes a solicitation or advertisement of an address, with the sender's own MAC address as an
 * option. The frame's Ethernet destination and the packet's addresses are already set. */
static void finish_neighbour(struct frame *f, unsigned type, uint8_t flags, const uint8_t *target,
                             struct mac own)
{
	uint8_t *d = f->data, *out = d + ETH, *icmp = out + IP6;

	f->len = ETH + IP6 + NA_LEN;
	memcpy(d + 6, own.b, 6);
	put16(d + 12, 0x86dd);
	put32(out, 0x60000000);
	put16(out + 4, NA_LEN);
	put16(out + 6, 58 << 8 | 255);
	memset(icmp, 0, NA_LEN);
	icmp[0] = (uint8_t)type;
	icmp[4] = flags;
	memcpy(icmp + 8, target, 16);
	icmp[24] = type == NEIGHBOUR_SOLICIT ? 1 : 2; /* source or target MAC: 8 bytes */
	icmp[25] = 1;
	memcpy(icmp + 26, own.b, 6);
	put16(icmp + 2,
	      ~fold(add_words(add_words(58 + NA_LEN, out + 8, 32), icmp, NA_LEN)) & 0xffff);
}

bool six_neighbour(int side, const struct frame *f, struct frame *reply)
{
	const uint8_t *ip6 = f->data + ETH, *target = ip6 + IP6 + 8;

	if (side != LAN || !is_neighbour(f, NEIGHBOUR_SOLICIT, NS_LEN) || !is_client(target) ||
	    get16(ip6 + 8) == 0) /* from no address: duplicate address detection of another host */
		return false;
	memcpy(reply->data, f->data + 6, 6);
	memcpy(reply->data + ETH + 8, target, 16);
	memcpy(reply->data + ETH + 24, ip6 + 8, 16);
	finish_neighbour(reply, NEIGHBOUR_ADVERT, SOLICITED_OVERRIDE, target,
	                 mac_of(LAN, get32(target + 12)));
	return true;
}

/* Sent to the gateway's solicited-node address (RFC 4291 section 2.7.1). */
void six_request(struct frame *f, uint32_t address)
{
	static const uint8_t group[16] = {0xff, 2, [11] = 1, 0xff};
	uint8_t target[16], *ip6 = f->data + ETH;

	six_inside(target, plan.gateway[LAN]);
	six_inside(ip6 + 8, address);
	memcpy(ip6 + 24, group, 13);
	memcpy(ip6 + 37, target + 13, 3);
	put16(f->data, 0x3333);
	memcpy(f->data + 2, ip6 + 36, 4);
	finish_neighbour(f, NEIGHBOUR_SOLICIT, 0, target, mac_of(LAN, address));
}

const uint8_t *six_learn(const struct frame *f)
{
	const uint8_t *icmp = f->data + ETH + IP6;
	uint8_t expected[16];

	six_inside(expected, plan.gateway[LAN]);
	if (!is_neighbour(f, NEIGHBOUR_ADVERT, NA_LEN) || memcmp(icmp + 8, expected, 16) != 0 ||
	    icmp[24] != 2)
		return NULL;
	return icmp + 26;
}
