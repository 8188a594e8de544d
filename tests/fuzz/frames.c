/* See frames.h. */
#include "tests/fuzz/frames.h"

enum { ETH = 14, IP = ETH, ICMP_PROTO = 1, TCP_PROTO = 6, UDP_PROTO = 17 };

uint8_t input_u8(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

uint16_t input_u16(struct input *in)
{
	uint32_t high = input_u8(in);
	return (uint16_t)(high << 8 | input_u8(in));
}

static uint32_t get16(const uint8_t *b)
{
	return (uint32_t)b[0] << 8 | b[1];
}

static void put16(uint8_t *b, uint32_t v)
{
	b[0] = (uint8_t)(v >> 8);
	b[1] = (uint8_t)v;
}

static void put32(uint8_t *b, uint32_t v)
{
	put16(b, v >> 16);
	put16(b + 2, v);
}

/* Words of 32 bits in the byte order of the host, converted at the end. */
uint32_t frame_sum(uint32_t sum, const uint8_t *b, uint32_t n)
{
	uint64_t words = 0;
	uint32_t word;
	for (; n >= 4; n -= 4, b += 4) {
		memcpy(&word, b, sizeof word);
		words += word;
	}
	word = 0;
	memcpy(&word, b, n);
	words += word;
	while (words >> 16)
		words = (words & 0xffff) + (words >> 16);
	sum += get16((const uint8_t[]){(uint8_t)words, (uint8_t)(words >> 8)});
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static uint32_t header_len(const uint8_t *ip)
{
	return (uint32_t)(ip[0] & 15) * 4;
}

static bool is_fragment(const uint8_t *ip)
{
	return (get16(ip + 6) & 0x3fff) != 0;
}

static uint32_t pseudo(const uint8_t *ip, uint32_t l4_len)
{
	return ip[9] == ICMP_PROTO ? 0 : frame_sum(ip[9] + l4_len, ip + 12, 8);
}

/* The offset of the transport checksum; 0 when the protocol has none here. */
static uint32_t sum_offset(const uint8_t *ip, uint32_t l4_len)
{
	if (ip[9] == TCP_PROTO && l4_len >= 20)
		return 16;
	if (ip[9] == UDP_PROTO && l4_len >= 8)
		return 6;
	return ip[9] == ICMP_PROTO && l4_len >= 8 ? 2 : 0;
}

uint32_t frame_ip4(uint8_t *f, const uint8_t to_mac[6], uint32_t from, uint32_t to, uint8_t proto,
                   uint32_t l4_len)
{
	static const uint8_t start[] = {0x45, 0, 0, 0, 0x12, 0x34, 0, 0, 64};
	memcpy(f, to_mac, 6);
	memset(f + 6, 0x52, 6);
	put16(f + 12, 0x0800);
	memset(f + IP, 0, 20);
	memcpy(f + IP, start, sizeof start);
	put16(f + IP + 2, 20 + l4_len);
	f[IP + 9] = proto;
	put32(f + IP + 12, from);
	put32(f + IP + 16, to);
	return ETH + 20 + l4_len;
}

void frame_repair(uint8_t *f, uint32_t len)
{
	uint8_t *ip = f + IP;
	if (len < ETH + 20 || get16(f + 12) != 0x0800 || ip[0] >> 4 != 4 || header_len(ip) < 20)
		return;
	uint32_t h = header_len(ip);
	if (h > len - ETH)
		return;
	if (get16(ip + 2) > len - ETH || get16(ip + 2) < h)
		put16(ip + 2, len - ETH);
	put16(ip + 10, 0);
	put16(ip + 10, ~frame_sum(0, ip, h));
	uint32_t l4_len = get16(ip + 2) - h, at = sum_offset(ip, l4_len);
	if (!at || is_fragment(ip))
		return;
	uint8_t *l4 = ip + h;
	if (ip[9] == UDP_PROTO)
		put16(l4 + 4, l4_len);
	put16(l4 + at, 0);
	uint32_t sum = ~frame_sum(pseudo(ip, l4_len), l4, l4_len) & 0xffff;
	put16(l4 + at, ip[9] == UDP_PROTO && sum == 0 ? 0xffff : sum);
}

static void swap_bytes(uint8_t *a, uint8_t *b, uint32_t n)
{
	for (; n > 0; n--, a++, b++) {
		uint8_t t = *a;
		*a = *b;
		*b = t;
	}
}

void frame_answer(uint8_t *f, uint32_t len)
{
	if (len < ETH + 20)
		return;
	swap_bytes(f, f + 6, 6);
	if (get16(f + 12) == 0x0806 && len >= ETH + 28) { /* request into reply */
		uint8_t *arp = f + ETH;
		put16(arp + 6, 2);
		swap_bytes(arp + 8, arp + 18, 10);
		memset(arp + 8, 0x52, 6);
		memset(f + 6, 0x52, 6);
		return;
	}
	uint8_t *ip = f + IP;
	uint32_t h = header_len(ip);
	swap_bytes(ip + 12, ip + 16, 4);
	ip[8] = 64;
	if (h < 20 || len - ETH < h + 4 || get16(ip + 6) & 0x1fff)
		return;
	if (ip[9] == ICMP_PROTO && ip[h] == 8)
		ip[h] = 0;
	else if (ip[9] != ICMP_PROTO)
		swap_bytes(ip + h, ip + h + 2, 2);
}

static const char *check_transport(const uint8_t *ip, uint32_t h)
{
	uint32_t l4_len = get16(ip + 2) - h, at = sum_offset(ip, l4_len);
	const uint8_t *l4 = ip + h;
	if (!at || (ip[9] == UDP_PROTO && get16(l4 + at) == 0))
		return NULL;
	if (frame_sum(pseudo(ip, l4_len), l4, l4_len) != 0xffff)
		return "wrong transport checksum";
	return NULL;
}

const char *frame_check(const uint8_t *f, uint32_t len, uint32_t mtu, bool sums)
{
	if (len < ETH)
		return "no Ethernet header";
	if (f[6] & 1)
		return "a group address as source";
	if (get16(f + 12) == 0x0806)
		return len >= ETH + 28 ? NULL : "short ARP packet";
	if (get16(f + 12) != 0x0800)
		return "neither ARP nor IPv4";
	const uint8_t *ip = f + IP;
	if (len < ETH + 20 || ip[0] >> 4 != 4 || header_len(ip) < 20)
		return "bad IPv4 header";
	uint32_t h = header_len(ip);
	if (get16(ip + 2) != len - ETH || h > len - ETH)
		return "IPv4 length is not that of the frame";
	if (len - ETH > mtu)
		return "larger than the MTU";
	if (frame_sum(0, ip, h) != 0xffff)
		return "wrong IPv4 header checksum";
	if (ip[8] == 0)
		return "time to live 0";
	return sums && !is_fragment(ip) ? check_transport(ip, h) : NULL;
}
