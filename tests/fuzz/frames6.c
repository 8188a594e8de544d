/* See frames6.h. */
#include "tests/fuzz/frames6.h"

#include "tests/fuzz/frames.h"

enum { ETH = 14, IP = 40, ICMP6 = 58, TCP = 6, UDP = 17 };

static uint32_t get16(const uint8_t *b)
{
	return (uint32_t)b[0] << 8 | b[1];
}

static void put16(uint8_t *b, uint32_t v)
{
	b[0] = (uint8_t)(v >> 8);
	b[1] = (uint8_t)v;
}

/* The transport header: its protocol and place; false when there is none, in a later fragment or
 * after a truncated chain. */
static bool find_transport(const uint8_t *ip, uint32_t n, uint8_t *proto, uint32_t *at)
{
	*proto = ip[6];
	*at = IP;
	while (true) {
		uint8_t p = *proto;
		if (p != 0 && p != 43 && p != 44 && p != 60 && p != 51)
			return true;
		if (n - *at < 8 || (p == 44 && get16(ip + *at + 2) & 0xfff9))
			return false;
		uint32_t len = p == 44   ? 8
		               : p == 51 ? (ip[*at + 1] + 2u) * 4
		                         : (ip[*at + 1] + 1u) * 8;
		if (len > n - *at)
			return false;
		*proto = ip[*at];
		*at += len;
	}
}

static uint32_t sum_offset(uint8_t proto, uint32_t l4_len)
{
	if (proto == TCP && l4_len >= 20)
		return 16;
	if (proto == UDP && l4_len >= 8)
		return 6;
	return proto == ICMP6 && l4_len >= 4 ? 2 : 0;
}

uint32_t frame6_ip(uint8_t *f, const uint8_t to_mac[6], const uint8_t from[16],
                   const uint8_t to[16], uint8_t next, uint8_t hops, uint32_t n)
{
	memcpy(f, to_mac, 6);
	if (to[0] == 0xff) {
		f[0] = f[1] = 0x33;
		memcpy(f + 2, to + 12, 4);
	}
	memset(f + 6, 0x52, 6);
	put16(f + 12, 0x86dd);
	uint8_t *ip = f + ETH;
	memset(ip, 0, 8);
	ip[0] = 0x60;
	put16(ip + 4, n);
	ip[6] = next;
	ip[7] = hops;
	memcpy(ip + 8, from, 16);
	memcpy(ip + 24, to, 16);
	return ETH + IP + n;
}

void frame6_repair(uint8_t *ip, uint32_t n)
{
	uint8_t proto;
	uint32_t l4;
	if (n < IP || ip[0] >> 4 != 6)
		return;
	if (get16(ip + 4) > n - IP)
		put16(ip + 4, n - IP);
	n = IP + get16(ip + 4);
	if (!find_transport(ip, n, &proto, &l4) || !sum_offset(proto, n - l4))
		return;
	uint32_t at = l4 + sum_offset(proto, n - l4);
	if (proto == UDP)
		put16(ip + l4 + 4, n - l4);
	put16(ip + at, 0);
	uint32_t sum = ~frame_sum(frame_sum(proto + n - l4, ip + 8, 32), ip + l4, n - l4) & 0xffff;
	put16(ip + at, proto == UDP && sum == 0 ? 0xffff : sum);
}

static void swap_bytes(uint8_t *a, uint8_t *b, uint32_t n)
{
	for (; n > 0; n--, a++, b++) {
		uint8_t t = *a;
		*a = *b;
		*b = t;
	}
}

void frame6_answer(uint8_t *f, uint32_t len)
{
	if (len < ETH + IP + 8)
		return;
	uint8_t *ip = f + ETH, *l4 = ip + IP;
	swap_bytes(f, f + 6, 6);
	memset(f + 6, 0x52, 6);
	if (ip[6] == ICMP6 && l4[0] == 135 && len >= ETH + IP + 24) {
		static const uint8_t all_nodes[16] = {0xff, 2, [15] = 1};
		memcpy(ip + 24, ip[8] || ip[9] ? ip + 8 : all_nodes, 16);
		memcpy(ip + 8, l4 + 8, 16);
		l4[0] = 136;
		l4[4] = ip[24] == 0xff ? 0x20 : 0x60;
		if (len >= ETH + IP + 32) {
			l4[24] = 2;
			memset(l4 + 26, 0x52, 6);
		}
		return;
	}
	swap_bytes(ip + 8, ip + 24, 16);
	if (ip[6] == ICMP6 && l4[0] == 128)
		l4[0] = 129;
	else if (ip[6] == UDP || ip[6] == TCP)
		swap_bytes(l4, l4 + 2, 2);
	if (ip[6] != ICMP6 || l4[0] < 130)
		ip[7] = 64;
}

/* Only the gateway itself can have sent it: a forwarded packet has less than 255 hops left. */
static const char *check_discovery(const uint8_t *l4, uint32_t n)
{
	static const uint8_t fixed[] = {8, 16, 24, 24};
	if (l4[0] < 133 || l4[0] > 136)
		return NULL;
	if (l4[1] != 0)
		return "neighbour discovery with a code";
	for (uint32_t at = fixed[l4[0] - 133]; at < n;) {
		if (n - at < 8 || l4[at + 1] == 0 || l4[at + 1] * 8u > n - at)
			return "a malformed option";
		at += l4[at + 1] * 8u;
	}
	return NULL;
}

const char *frame6_check(const uint8_t *ip, uint32_t n, uint32_t mtu, bool sums)
{
	uint8_t proto;
	uint32_t l4;
	if (n < IP || ip[0] >> 4 != 6)
		return "bad IPv6 header";
	if (get16(ip + 4) != n - IP)
		return "IPv6 length is not that of the frame";
	if (n > mtu)
		return "larger than the MTU";
	if (ip[7] == 0)
		return "hop limit 0";
	if (ip[8] == 0xff)
		return "a group as source";
	if (!sums || !find_transport(ip, n, &proto, &l4) || !sum_offset(proto, n - l4))
		return NULL;
	if (frame_sum(frame_sum(proto + n - l4, ip + 8, 32), ip + l4, n - l4) != 0xffff)
		return "wrong transport checksum";
	if (proto == ICMP6 && ip[24] == 0xff && ip[l4] < 128)
		return "an ICMPv6 error to a group";
	return proto == ICMP6 && ip[7] == 255 ? check_discovery(ip + l4, n - l4) : NULL;
}
