/* net/lib/mss.c: what is clamped, what is left alone, and the checksum. */
#include "net/lib/mss.h"

#include "kernel/seam/io.h"
#include "net/lib/csum.h"
#include "net/lib/wire.h"

#include "tests/tap.h"

static struct pool pool;

static struct pkt *segment(const uint8_t *options, uint32_t n, uint8_t flags)
{
	struct pkt *p = pkt_alloc(&pool);
	uint8_t *b = p ? pkt_put(p, 20 + n + 5) : NULL;
	if (!b)
		return NULL;
	for (uint32_t i = 0; i < 20 + n + 5; i++)
		b[i] = (uint8_t)(i * 37 + 11);
	struct tcp_hdr *tcp = (struct tcp_hdr *)b;
	tcp->offset = (uint8_t)((20 + n) / 4 << 4);
	tcp->flags = flags;
	memcpy(b + 20, options, n);
	tcp->sum = be16_of(0);
	tcp->sum = be16_from_raw((uint16_t)~csum_sum(b, p->len));
	p->proto = PROTO_TCP;
	p->l4 = 0;
	p->l4_len = (uint16_t)p->len;
	return p;
}

/* Clamps to `most`; true when the options then hold `want` at offset `at`, and nothing else has
 * changed but the checksum. */
static bool becomes(const uint8_t *options, uint32_t n, uint8_t flags, uint16_t most, uint32_t at,
                    uint16_t want)
{
	uint8_t before[64];
	struct pkt *p = segment(options, n, flags);
	memcpy(before, p->data, p->len);
	mss_clamp(p, most);
	bool good = csum_sum(p->data, p->len) == 0xffff;
	if (want)
		store16(before + 20 + at, swap16(want));
	memcpy(before + 16, p->data + 16, 2); /* the checksum */
	good = good && memcmp(before, p->data, p->len) == 0;
	pkt_free(p);
	return good;
}

#define SAME(o, flags, most)      CHECK(becomes(o, sizeof o, flags, most, 0, 0))
#define LOWER(o, flags, most, at) CHECK(becomes(o, sizeof o, flags, most, at, most))

static void clamps(void)
{
	static const uint8_t plain[] = {2, 4, 0x05, 0xb4};
	static const uint8_t later[] = {4, 2, 8, 10, 1, 2, 3,    4,    5, 6,
	                                7, 8, 1, 1,  2, 4, 0x05, 0xa0, 0, 0};
	static const uint8_t odd[] = {1, 2, 4, 0x05, 0xb4, 1, 3, 3, 7, 1, 1, 0};
	LOWER(plain, TCP_SYN, 1220, 2);
	LOWER(plain, TCP_SYN | TCP_ACK, 1, 2);
	LOWER(plain, TCP_SYN, 1459, 2);
	LOWER(later, TCP_SYN, 1220, 16);
	LOWER(odd, TCP_SYN, 1220, 3);
	LOWER(odd, TCP_SYN, 1, 3);
	SAME(plain, TCP_SYN, 1460);
	SAME(plain, TCP_SYN, 1461);
	SAME(plain, TCP_ACK, 1220);
	SAME(plain, TCP_RST, 1220);
}

static void malformed(void)
{
	static const uint8_t none[] = {1, 1, 1, 1};
	static const uint8_t ended[] = {0, 2, 4, 5, 0xb4, 0, 0, 0};
	static const uint8_t zero_length[] = {3, 0, 2, 4, 5, 0xb4, 0, 0};
	static const uint8_t too_long[] = {3, 9, 2, 4, 5, 0xb4, 0, 0};
	static const uint8_t cut[] = {1, 1, 2, 4};
	static const uint8_t kind_only[] = {1, 1, 1, 2};
	static const uint8_t wrong_length[] = {2, 6, 5, 0xb4, 5, 0xb4, 0, 0};
	SAME(none, TCP_SYN, 10);
	SAME(ended, TCP_SYN, 10);
	SAME(zero_length, TCP_SYN, 10);
	SAME(too_long, TCP_SYN, 10);
	SAME(cut, TCP_SYN, 10);
	SAME(kind_only, TCP_SYN, 10);
	SAME(wrong_length, TCP_SYN, 10);
}

static void other_packets(void)
{
	static const uint8_t plain[] = {2, 4, 0x05, 0xb4};
	for (unsigned i = 0; i < 5; i++) {
		struct pkt *p = segment(plain, 4, TCP_SYN);
		struct tcp_hdr *tcp = (struct tcp_hdr *)p->data;
		switch (i) {
		case 0:
			p->proto = PROTO_UDP;
			break;
		case 1:
			p->flags = PKT_FRAGMENT | PKT_LATER;
			break;
		case 2:
			p->l4_len = 19;
			break;
		case 3:
			p->l4_len = 23;
			break;
		default:
			tcp->offset = 4 << 4;
			break;
		}
		mss_clamp(p, 10);
		CHECK_EQ(p->data[22], 5);
		pkt_free(p);
	}
}

/* A segment without data behind an IPv6 header: the packet ends with the TCP options. */
static void behind_an_ip_header(void)
{
	static const uint8_t plain[] = {2, 4, 0x05, 0xb4};
	struct pkt *p = segment(plain, 4, TCP_SYN);
	pkt_trim(p, 24);
	p->l4_len = 24;
	struct tcp_hdr *tcp = (struct tcp_hdr *)p->data;
	tcp->sum = be16_of(0);
	tcp->sum = be16_from_raw((uint16_t)~csum_sum(tcp, 24));
	uint8_t *ip = pkt_push(p, 40);
	CHECK(ip != NULL);
	memset(ip, 0x66, 40);
	p->l4 = 40;
	mss_clamp(p, 1220);
	CHECK_EQ(load16(p->data + 40 + 22), swap16(1220));
	CHECK_EQ(csum_sum(p->data + 40, 24), 0xffff);
	for (unsigned i = 0; i < 40; i++)
		CHECK_EQ(p->data[i], 0x66);
	pkt_free(p);
}

int main(void)
{
	host_arena(1 << 20);
	CHECK(pkt_pool_init(&pool, 16, PKT_ROOM));
	TEST(clamps);
	TEST(malformed);
	TEST(other_packets);
	TEST(behind_an_ip_header);
	return tap_done();
}
