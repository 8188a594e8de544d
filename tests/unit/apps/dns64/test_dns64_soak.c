/* Very many different names go through the DNS64 server. Afterwards no fetch, no pending query, no
 * timer, no port and no packet is left, and the cache is sound.
 *
 *     test_dns64_soak [NAMES]
 *
 * What a name is follows from its number: most have an A record and no AAAA record, some exist
 * over IPv6, some not at all; the answers of others are lost, late, forged, doubled, or never
 * come. Each question has exactly one answer, and that is looked at. */
#include "apps/dns64/dns64.h"
#include "kernel/lib/fmt.h"
#include "tests/fuzz/frames.h"
#include "tests/host/rig.h"

#include <stdlib.h>

#include "tests/tap.h"

#define CLIENT  0xc0a8010au /* 192.168.1.10 */
#define OURS    0xc0a80101u
#define OUTER   0xcb007102u /* 203.0.113.2 */
#define STEP_US 100u        /* between two queries */
#define WAITING 64u         /* messages to the server that are kept until they are answered */

enum kind {
	SIX,     /* has an AAAA record */
	NOWHERE, /* does not exist */
	LOST,    /* the first message about AAAA is lost */
	DEAD,    /* nothing is ever answered */
	SLOW,    /* AAAA is never answered */
	FORGED,  /* forged answers come first, with another ID and another question */
	DOUBLE,  /* everything is answered twice */
	SHORT,   /* A records that may not be kept */
	TWICE,   /* two clients query at the same time */
	BROKEN,  /* the query cannot be read */
	FOUR     /* has an A record, and all others of 64 */
};

static struct rig rig;
static uint32_t n_names = sizeof(void *) > 4 ? 100000 : 1000000; /* sanitizers take their time */
static uint64_t n_sent, n_got, n_bad;

static struct {
	uint16_t port;
	uint32_t server, len;
	uint8_t data[100];
} waiting[WAITING];
static uint32_t n_waiting;

static enum kind kind_of(uint32_t n)
{
	uint32_t k = n * 2654435761u >> 26;
	return k < FOUR ? (enum kind)k : FOUR;
}

/* 010-001-002-003.soak.test in wire form; its length. */
static uint32_t put_name(uint8_t *to, uint32_t n)
{
	static const char tail[] = "\4soak\4test";
	char label[20];
	fmt(label, sizeof label, "%03u-%03u-%03u-%03u", 10u, n >> 16 & 255, n >> 8 & 255, n & 255);
	to[0] = 15;
	memcpy(to + 1, label, 15);
	memcpy(to + 16, tail, sizeof tail);
	return 16 + sizeof tail;
}

static uint32_t number_of(const uint8_t *name)
{
	uint32_t n = 0;
	for (uint32_t i = 5; i < 16; i += 4)
		n = n << 8 | (uint32_t)((name[i] - '0') * 100 + (name[i + 1] - '0') * 10 +
		                        (name[i + 2] - '0'));
	return n;
}

static void send_udp(uint32_t iface, uint32_t from, uint16_t sport, uint32_t to, uint16_t dport,
                     const uint8_t *data, uint32_t len)
{
	uint8_t f[700];
	memset(f + 34, 0, 8); /* no UDP checksum */
	dns_put16(f + 34, sport);
	dns_put16(f + 36, dport);
	dns_put16(f + 38, len + 8);
	memcpy(f + 42, data, len);
	uint32_t n = frame_ip4(f, rig.gw.iface[iface].address.b, from, to, 17, len + 8);
	uint32_t sum = 0;
	f[24] = f[25] = 0;
	for (uint32_t i = 14; i < 34; i += 2)
		sum += dns_get16(f + i);
	sum = (sum & 0xffff) + (sum >> 16);
	dns_put16(f + 24, ~(sum + (sum >> 16)) & 0xffff);
	n_bad += !rig_input(&rig, iface, f, n);
}

/* --- upstream ------------------------------------------------------------------------- */

/* Writes the right answer about a name; gives its length. */
static uint32_t put_answer(uint8_t *m, uint32_t n, uint16_t type, uint32_t end)
{
	static const uint8_t soa[] = "\0\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\x3c";
	struct dns_out o;
	uint8_t addr[16] = {0x20, 1, 0xd, 0xb8, 0, 6};
	enum kind k = kind_of(n);
	dns_put32(addr + 12, 10u << 24 | n);
	m[2] = 0x81;
	m[3] = k == NOWHERE ? 0x83 : 0x80;
	memset(m + 6, 0, 6);
	dns_out_init(&o, m, end, 400);
	bool has = k != NOWHERE && (type == DNS_TYPE_A || k == SIX);
	bool six = type == DNS_TYPE_AAAA;
	const uint8_t *data = !has ? soa : six ? addr : addr + 12;
	uint32_t size = !has ? sizeof soa - 1 : six ? 16 : 4;
	bool good = dns_put_rr(&o, DNS_HEADER, has ? type : DNS_TYPE_SOA, 1, k == SHORT ? 0 : 300,
	                       data, size);
	n_bad += !good;
	m[has ? 7 : 9] = 1;
	return o.len;
}

static void serve_one(uint32_t i)
{
	uint8_t m[420];
	struct dns_layout l;
	memcpy(m, waiting[i].data, waiting[i].len);
	if (!dns_parse_question((struct dns_view){m, waiting[i].len}, &l)) {
		n_bad++;
		return;
	}
	uint32_t n = number_of(m + DNS_HEADER), from = waiting[i].server;
	uint16_t port = waiting[i].port;
	enum kind k = kind_of(n);
	bool six = l.qtype == DNS_TYPE_AAAA;
	static uint8_t lost[1u << 21]; /* a bit for each name */
	if (k == DEAD || (k == SLOW && six))
		return;
	if (k == LOST && six && !(lost[n / 8 % sizeof lost] >> n % 8 & 1)) {
		lost[n / 8 % sizeof lost] |= (uint8_t)(1u << n % 8);
		return;
	}
	uint32_t len = put_answer(m, n, l.qtype, l.question_end);
	if (k == FORGED) {
		m[0] ^= 1;
		send_udp(IF_WAN, from, 53, OUTER, port, m, len);
		m[0] ^= 1;
		m[DNS_HEADER + 1] ^= 1;
		send_udp(IF_WAN, from, 53, OUTER, port, m, len);
		m[DNS_HEADER + 1] ^= 1;
		send_udp(IF_WAN, from + 9, 53, OUTER, port, m, len);
	}
	send_udp(IF_WAN, from, 53, OUTER, port, m, len);
	if (k == DOUBLE)
		send_udp(IF_WAN, from, 53, OUTER, port, m, len);
}

static void serve(void)
{
	uint32_t i = 0;
	for (; i < n_waiting; i++)
		serve_one(i);
	n_waiting = 0;
}

/* --- clients --------------------------------------------------------------------------- */

/* True when this is the right answer. */
static bool is_right(const uint8_t *m, uint32_t len)
{
	struct dns_layout l;
	struct dns_rr rr;
	uint8_t rcode = m[3] & 15, want[16] = {0x20, 1, 0xd, 0xb8, 0, 0x64};
	if (!dns_parse((struct dns_view){m, len}, &l) || !(m[2] & 0x80))
		return false;
	if (l.count[DNS_QD] == 0)
		return rcode == DNS_FORMERR;
	uint32_t n = number_of(m + DNS_HEADER);
	enum kind k = kind_of(n);
	if (k == NOWHERE)
		return rcode == DNS_NXDOMAIN && l.count[DNS_NS] == 1;
	if (k == DEAD)
		return rcode == DNS_SERVFAIL;
	dns_put32(want + 12, 10u << 24 | n);
	want[5] = k == SIX ? 6 : 0x64;
	return rcode == 0 && l.count[DNS_AN] == 1 &&
	       dns_read_rr((struct dns_view){m, len}, l.section[DNS_AN], &rr) &&
	       rr.type == DNS_TYPE_AAAA && rr.data_len == 16 &&
	       memcmp(m + rr.data, want, sizeof want) == 0;
}

static void seen(struct rig *r, uint32_t iface, const uint8_t *f, uint32_t len)
{
	(void)r;
	if (f[12] != 8 || f[13] != 0 || f[23] != 17 || len < 42)
		return;
	uint32_t n = dns_get16(f + 38) - 8u;
	if (iface == IF_LAN) {
		n_got++;
		n_bad += !is_right(f + 42, n);
		return;
	}
	if (n_waiting == WAITING || n > sizeof waiting[0].data) {
		n_bad++;
		return;
	}
	waiting[n_waiting].port = dns_get16(f + 34);
	waiting[n_waiting].server = dns_get32(f + 30);
	waiting[n_waiting].len = n;
	memcpy(waiting[n_waiting++].data, f + 42, n);
}

static void ask(uint32_t n, uint16_t port)
{
	uint8_t m[100] = {(uint8_t)(n >> 8), (uint8_t)n, 1, 0, 0, 1};
	uint32_t len = DNS_HEADER + put_name(m + DNS_HEADER, n);
	dns_put16(m + len, DNS_TYPE_AAAA);
	dns_put16(m + len + 2, DNS_CLASS_IN);
	if (kind_of(n) == BROKEN)
		m[DNS_HEADER] = 0xff;
	n_sent++;
	send_udp(IF_LAN, CLIENT, port, OURS, 53, m, len + 4);
}

/* --- the whole ---------------------------------------------------------------------------- */

static void start(void)
{
	static const char config[] = "lan.address 192.168.1.1/24\nwan.address 203.0.113.2/24\n"
	                             "gateway 203.0.113.1\n"
	                             "neighbour 203.0.113.1 52:52:52:52:52:52\n"
	                             "neighbour 192.168.1.10 52:52:52:52:52:52\n"
	                             "nameserver 198.51.100.53\nnameserver 198.51.100.54\n"
	                             "dns64.cache 5000\ndns64-prefix 2001:db8:64::/96\n";
	rig.sink = seen;
	rig_reset(&rig, 7, 16u << 20, 1000000);
	CHECK(rig_config(&rig, config, sizeof config - 1));
	const char *wrong = rig_start(&rig, "dns64", 512);
	CHECK_STR(wrong ? wrong : "", "");
}

static uint32_t ports_open(void)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < 65536; i++)
		n += rig.gw.udp->owner[i] != 0;
	return n;
}

static void soak(void)
{
	start();
	const struct dns64 *d = dns64_of(&rig.gw);
	uint32_t most = 0;
	for (uint32_t n = 0; n < n_names && n_bad < 10; n++) {
		ask(n, (uint16_t)(1024 + n % 60000));
		if (kind_of(n) == TWICE)
			ask(n, (uint16_t)(1023 + n % 60000));
		serve();
		rig_advance(&rig, STEP_US);
		serve();
		most = max_u32(most, d->fetches.n);
	}
	/* Fetches were under way at any time, so that none being left means something. */
	CHECK(most > 100);
	for (uint32_t i = 0; i < 1000; i++) {
		rig_advance(&rig, 10000);
		serve();
	}
	CHECK_EQ(n_bad, 0);
	CHECK_EQ(n_got, n_sent);
	CHECK_EQ(d->fetches.n, 0);
	CHECK_EQ(d->pendings.n, 0);
	CHECK_EQ(d->part.wheel.n_set, 0);
	CHECK_EQ(ports_open(), 1);
	CHECK_EQ(rig.pool.n_free, rig.free_at_start);
	CHECK_EQ(d->part.table_full, 0);
	CHECK(d->servers.forged > n_names / 64 && d->fetches.joined > 0);
	CHECK(d->cache.n <= d->cache.limit && d->cache.evicted > 0);
	const char *bad = dns64_cache_check(&d->cache);
	CHECK_STR(bad ? bad : "", "");
	printf("# %u names, %llu answers, %u questions under way at most\n", n_names,
	       (unsigned long long)n_got, most);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		n_names = (uint32_t)strtoul(argv[1], NULL, 10);
	TEST(soak);
	return tap_done();
}
