/* The whole DNS64 server in short: a client, an upstream server, virtual time. tests/sim tests what
 * the RFCs say; here are quick tests of the essentials. */
#include "apps/dns64/dns64.h"
#include "kernel/lib/fmt.h"
#include "tests/fuzz/frames.h"
#include "tests/host/rig.h"

#include <stdlib.h>

#include "net/tcp/tcp_conn.h"

#include "tests/tap.h"

#define CLIENT 0xc0a8010au /* 192.168.1.10 */
#define OURS   0xc0a80101u
#define OUTER  0xcb007102u /* 203.0.113.2 */
#define SERVER 0xc6336435u /* 198.51.100.53 */

static struct rig rig;

/* What the upstream server knows. */
struct known {
	const char *name;
	uint16_t type;
	const char *data; /* of one record; NULL: NODATA with SOA */
	uint32_t len, ttl;
	uint8_t rcode;
	bool silent;
};
static const struct known *zone;
static uint32_t n_zone;

/* A message that was sent. */
static struct datagram {
	uint16_t port; /* the gateway's port if it went to the server, else the client's */
	uint32_t to;
	uint32_t len;
	uint8_t data[1500];
} asked[64], got[64];
static uint32_t n_asked, n_got, n_answered;
static bool replies; /* the server answers at once */
static bool cuts;    /* it truncates answers about A records */
static bool lowers;  /* it repeats names in lower case */

static void seen(struct rig *r, uint32_t iface, const uint8_t *f, uint32_t len)
{
	(void)r;
	if (f[12] != 8 || f[13] != 0 || f[23] != 17 || len > 1500)
		return;
	bool up = iface == IF_WAN;
	struct datagram *d = up ? &asked[n_asked++ % 64] : &got[n_got++ % 64];
	d->port = dns_get16(f + (up ? 34 : 36));
	d->to = dns_get32(f + 30);
	d->len = dns_get16(f + 38) - 8u;
	memcpy(d->data, f + 42, d->len);
}

static void send_udp(uint32_t iface, uint32_t from, uint16_t sport, uint32_t to, uint16_t dport,
                     const uint8_t *data, uint32_t len)
{
	uint8_t f[FRAME_MAX] = {0};
	dns_put16(f + 34, sport);
	dns_put16(f + 36, dport);
	dns_put16(f + 38, len + 8);
	memcpy(f + 42, data, len);
	uint32_t n = frame_ip4(f, rig.gw.iface[iface].address.b, from, to, 17, len + 8);
	frame_repair(f, n);
	CHECK(rig_input(&rig, iface, f, n));
}

static bool is_name(const uint8_t *name, const char *text)
{
	uint8_t want[DNS_NAME_MAX];
	uint32_t len = dns_name_of_text(want, text);
	return dns_same_name((struct dns_view){name, DNS_NAME_MAX}, 0, (struct dns_view){want, len},
	                     0);
}

static const struct known *look_up(const uint8_t *name, uint16_t type)
{
	for (uint32_t i = 0; i < n_zone; i++)
		if (zone[i].type == type && is_name(name, zone[i].name))
			return &zone[i];
	return NULL;
}

/* Writes the server's answer to a question; 0: there is none. */
static uint32_t write_answer(const struct datagram *q, uint8_t *m)
{
	static const uint8_t soa[] = "\2ns\0\4root\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\x3c";
	struct dns_layout l;
	struct dns_out o;
	memcpy(m, q->data, q->len);
	CHECK(dns_parse_question((struct dns_view){m, q->len}, &l));
	const struct known *k = look_up(m + DNS_HEADER, l.qtype);
	if (k && k->silent)
		return 0;
	m[2] = 0x81;
	m[3] = (uint8_t)(0x80 | (k ? k->rcode : DNS_NXDOMAIN));
	memset(m + 6, 0, 6);
	dns_out_init(&o, m, l.question_end, 1400);
	for (uint32_t i = DNS_HEADER; lowers && i < DNS_HEADER + l.name_len; i++)
		m[i] |= m[i] >= 'A' && m[i] <= 'Z' ? 0x20 : 0;
	if (cuts && l.qtype == DNS_TYPE_A) {
		m[2] |= DNS_TC >> 8;
	} else if (k && k->data) {
		m[7] = 1;
		CHECK(dns_put_rr(&o, DNS_HEADER, l.qtype, 1, k->ttl, k->data, k->len));
	} else if (!k || !k->rcode) {
		m[9] = 1;
		CHECK(dns_put_rr(&o, DNS_HEADER, DNS_TYPE_SOA, 1, 90, soa, sizeof soa - 1));
	}
	return o.len;
}

/* The server answers the messages that came since. */
static void serve(void)
{
	uint8_t m[1500];
	for (; n_answered < n_asked; n_answered++) {
		const struct datagram *q = &asked[n_answered % 64];
		uint32_t n = replies ? write_answer(q, m) : 0;
		if (n)
			send_udp(IF_WAN, q->to, 53, OUTER, q->port, m, n);
	}
}

static void wait_ms(uint32_t ms)
{
	for (; ms >= 10; ms -= 10) {
		rig_advance(&rig, 10000);
		serve();
	}
}

static void start_as(const char *app, const char *more, const struct known *known, uint32_t n)
{
	static const char config[] = "lan.address 192.168.1.1/24\nwan.address 203.0.113.2/24\n"
	                             "gateway 203.0.113.1\n"
	                             "neighbour 203.0.113.1 52:52:52:52:52:52\n"
	                             "neighbour 192.168.1.10 52:52:52:52:52:52\n"
	                             "dns64.cache 100\ndns64-prefix 2001:db8:64::/96\n";
	zone = known;
	n_zone = n;
	n_asked = n_answered = n_got = 0;
	replies = true;
	cuts = lowers = false;
	rig.sink = seen;
	rig_reset(&rig, 5, 16u << 20, 1000000);
	CHECK(rig_config(&rig, config, sizeof config - 1));
	CHECK(rig_config(&rig, more, strlen(more)));
	const char *wrong = rig_start(&rig, app, 256);
	CHECK_STR(wrong ? wrong : "", "");
}

static void start(const char *more, const struct known *known, uint32_t n)
{
	start_as("dns64", more, known, n);
}

#define ONE "nameserver 198.51.100.53\n"
#define TWO ONE "nameserver 198.51.100.54\n"

/* Sends a query; its answer, if there is one, is the last of got. */
static uint32_t put_question(uint8_t *m, const char *name, uint16_t type)
{
	memset(m, 0, 12);
	m[0] = 0x77;
	m[2] = 1;
	m[5] = 1;
	uint32_t len = dns_name_of_text(m + 12, name);
	dns_put16(m + 12 + len, type);
	dns_put16(m + 14 + len, 1);
	return 16 + len;
}

static bool ask(const char *name, uint16_t type)
{
	uint8_t m[600];
	uint32_t before = n_got, len = put_question(m, name, type);
	send_udp(IF_LAN, CLIENT, 4000, OURS, 53, m, len);
	serve();
	return n_got == before + 1;
}

static struct dns_layout last(void)
{
	struct dns_layout l;
	const struct datagram *d = &got[(n_got - 1) % 64];
	memset(&l, 0, sizeof l);
	CHECK(dns_parse((struct dns_view){d->data, d->len}, &l));
	return l;
}

static uint8_t rcode(void)
{
	return got[(n_got - 1) % 64].data[3] & 15;
}

/* The n-th record of the last answer. */
static bool record(uint32_t n, struct dns_rr *rr)
{
	const struct datagram *d = &got[(n_got - 1) % 64];
	struct dns_layout l = last();
	uint32_t at = l.section[DNS_AN];
	for (; dns_read_rr((struct dns_view){d->data, d->len}, at, rr) && n; n--)
		at = rr->end;
	return n == 0 && at < d->len;
}

/* The last answer's record is a synthesised AAAA record with these last four bytes. */
static bool synthesised(const char *four, uint32_t ttl)
{
	struct dns_rr rr;
	if (!record(0, &rr) || rr.type != DNS_TYPE_AAAA || rr.ttl != ttl || rr.data_len != 16)
		return false;
	const uint8_t *a = got[(n_got - 1) % 64].data + rr.data;
	return memcmp(a, "\x20\x01\x0d\xb8\0\x64\0\0\0\0\0\0", 12) == 0 &&
	       memcmp(a + 12, four, 4) == 0;
}

static const struct known plain[] = {
        {"four.test", 28, NULL, 0, 0, 0, false},
        {"four.test", 1, "\xc0\0\2\x21", 4, 60, 0, false},
        {"six.test", 28, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\6", 16, 60, 0, false},
        {"mapped.test", 28, "\0\0\0\0\0\0\0\0\0\0\xff\xff\1\2\3\4", 16, 60, 0, false},
        {"mapped.test", 1, "\xc0\0\2\x22", 4, 60, 0, false},
        {"error.test", 28, NULL, 0, 0, 2, false},
        {"error.test", 1, "\xc0\0\2\x23", 4, 60, 0, false},
        {"slow.test", 28, NULL, 0, 0, 0, true},
        {"slow.test", 1, "\xc0\0\2\x24", 4, 60, 0, false},
        {"dead.test", 28, NULL, 0, 0, 0, true},
        {"dead.test", 1, NULL, 0, 0, 0, true},
        {"long.test", 28, NULL, 0, 0, 0, false},
        {"long.test", 1, "\xc0\0\2\x25", 4, 5000, 0, false},
        {"none.test", 28, NULL, 0, 0, 0, false},
        {"none.test", 1, NULL, 0, 0, 0, false},
        {"gone.test", 28, NULL, 0, 0, 3, false},
        {"gone.test", 1, "\xc0\0\2\x27", 4, 60, 0, false},
        {"way.test", 28, NULL, 0, 0, 0, false},
        {"way.test", 1, "\xc0\0\2\x26", 4, 60, 3, false},
        {"1.2.0.192.in-addr.arpa", 12, "\4host\4test", 11, 60, 0, false},
};
#define PLAIN plain, ARRAY_SIZE(plain)

static void answers(void)
{
	start(ONE, PLAIN);
	CHECK(ask("four.test", 28) && synthesised("\xc0\0\2\x21", 60));
	CHECK_EQ(last().n_opt, 0);
	CHECK(ask("FOUR.test", 28) && synthesised("\xc0\0\2\x21", 60));
	CHECK(is_name(got[1].data + 12, "four.test") && got[1].data[13] == 'F');
	CHECK_EQ(n_asked, 2);
	CHECK(ask("six.test", 28) && !synthesised("\0\0\0\6", 60));
	CHECK_EQ(last().count[DNS_AN], 1);
	CHECK(ask("mapped.test", 28) && synthesised("\xc0\0\2\x22", 60));
	CHECK(ask("error.test", 28) && synthesised("\xc0\0\2\x23", 60));
	CHECK(ask("long.test", 28) && synthesised("\xc0\0\2\x25", 90));
	CHECK(ask("none.test", 28) && rcode() == 0);
	CHECK_EQ(last().count[DNS_AN], 0);
	CHECK_EQ(last().count[DNS_NS], 1);
	CHECK(ask("way.test", 28) && rcode() == DNS_NXDOMAIN);
	CHECK(ask("nothing.test", 28) && rcode() == DNS_NXDOMAIN);
	CHECK(ask("gone.test", 28) && rcode() == DNS_NXDOMAIN);
	CHECK_EQ(last().n_opt, 0);
	CHECK(ask("four.test", 1));
	struct dns_rr rr;
	CHECK(record(0, &rr) && rr.type == DNS_TYPE_A);
}

static void own_names(void)
{
	start(ONE, PLAIN);
	CHECK(ask("ipv4only.arpa", 28) && synthesised("\xc0\0\0\xaa", 3600));
	CHECK_EQ(last().count[DNS_AN], 2);
	CHECK(ask("x.ipv4only.arpa", 28) && rcode() == DNS_NXDOMAIN);
	CHECK_EQ(n_asked, 0);
	CHECK(ask("1.0.2.0.0.0.0.c.0.0.0.0.0.0.0.0.0.0.0.0.4.6.0.0.8.b.d.0.1.0.0.2.ip6.arpa", 12));
	struct dns_rr rr;
	CHECK(record(0, &rr) && rr.type == DNS_TYPE_CNAME && rr.ttl == 60);
	CHECK(record(1, &rr) && rr.type == DNS_TYPE_PTR);
	CHECK(is_name(asked[0].data + 12, "1.2.0.192.in-addr.arpa"));
	CHECK(ask("2.0.2.0.0.0.0.c.0.0.0.0.0.0.0.0.0.0.0.0.4.6.0.0.8.b.d.0.1.0.0.2.ip6.arpa", 12));
	CHECK(rcode() == DNS_NXDOMAIN && last().count[DNS_AN] == 0);
}

static void time_passes(void)
{
	start(ONE, PLAIN);
	CHECK(ask("four.test", 28));
	wait_ms(20000);
	CHECK(ask("four.test", 28) && synthesised("\xc0\0\2\x21", 40));
	CHECK_EQ(n_asked, 2);
	wait_ms(41000);
	CHECK(ask("four.test", 28) && synthesised("\xc0\0\2\x21", 60));
	CHECK_EQ(n_asked, 4);
	/* The server is gone; stale records serve, with their own TTL. */
	wait_ms(100000);
	replies = false;
	CHECK(!ask("four.test", 28));
	wait_ms(1900);
	CHECK_EQ(n_got, 4);
	CHECK(synthesised("\xc0\0\2\x21", 30));
}

/* A popular answer is kept as it is sent, but no longer than its records. */
static void kept_ready(void)
{
	start(ONE, PLAIN);
	for (uint32_t i = 0; i < 30; i++) {
		CHECK(ask("four.test", 28));
		CHECK(synthesised("\xc0\0\2\x21", 60 - i));
		wait_ms(1000);
	}
	CHECK_EQ(n_asked, 2);
	const struct dns64 *d = dns64_of(&rig.gw);
	CHECK_EQ(d->cache.n, 3);
	/* It does not serve clients that validate. */
	uint8_t m[600];
	uint32_t len = put_question(m, "four.test", 28);
	struct dns_out o;
	dns_out_init(&o, m, len, sizeof m);
	m[3] = DNS_CD;
	m[11] = dns_put_opt(&o, 1232, 0, true);
	send_udp(IF_LAN, CLIENT, 4000, OURS, 53, m, o.len);
	serve();
	CHECK_EQ(n_asked, 3);
	CHECK_EQ(last().count[DNS_AN], 0);
	static const struct known other[] = {{"four.test", 28, NULL, 0, 0, 0, false},
	                                     {"four.test", 1, "\xc0\0\2\x33", 4, 60, 0, false}};
	zone = other;
	n_zone = 2;
	wait_ms(40000);
	CHECK(ask("four.test", 28));
	CHECK(synthesised("\xc0\0\2\x33", 60));
}

static void slow(void)
{
	start(ONE, PLAIN);
	/* A records alone are no answer yet. */
	CHECK(ask("slow.test", 1));
	CHECK(!ask("slow.test", 28));
	start(ONE, PLAIN);
	CHECK(!ask("slow.test", 28));
	wait_ms(700);
	CHECK_EQ(n_got, 0);
	wait_ms(100);
	CHECK_EQ(n_got, 1);
	CHECK(synthesised("\xc0\0\2\x24", 60));
	CHECK(!ask("dead.test", 28));
	wait_ms(2950);
	CHECK_EQ(n_got, 1);
	wait_ms(100);
	CHECK_EQ(n_got, 2);
	CHECK_EQ(rcode(), DNS_SERVFAIL);
	const struct dns64 *d = dns64_of(&rig.gw);
	wait_ms(4000);
	CHECK_EQ(d->fetches.n, 0);
	CHECK_EQ(d->pendings.n, 0);
	CHECK_EQ(d->part.wheel.n_set, 0);
	for (uint32_t i = 0; i < 65536; i++)
		if (rig.gw.udp->owner[i] && i != 53)
			CHECK(!"all ports closed");
}

/* A fetch, and messages that do not answer it. */
static void forgery(void)
{
	start(ONE, PLAIN);
	replies = false;
	CHECK(!ask("four.test", 1));
	CHECK_EQ(n_asked, 1);
	uint8_t m[1500], bad[1500];
	uint32_t n = write_answer(&asked[0], m);
	uint16_t port = asked[0].port;
	CHECK(n > 0 && port >= 1024);
	memcpy(bad, m, n);
	bad[1] ^= 1; /* another ID */
	send_udp(IF_WAN, SERVER, 53, OUTER, port, bad, n);
	bad[1] ^= 1;
	bad[13] ^= 0x20; /* another spelling */
	send_udp(IF_WAN, SERVER + 2, 53, OUTER, port, bad, n);
	bad[13] ^= 0x21; /* another name */
	send_udp(IF_WAN, SERVER, 53, OUTER, port, bad, n);
	send_udp(IF_WAN, SERVER + 2, 53, OUTER, port, m, n); /* another server */
	send_udp(IF_WAN, SERVER, 54, OUTER, port, m, n);     /* another port of it */
	send_udp(IF_WAN, SERVER, 53, OUTER, (uint16_t)(port ^ 1), m, n);
	send_udp(IF_WAN, SERVER, 53, OUTER, port, m, n - 1);
	m[2] &= 0x7f; /* a question */
	send_udp(IF_WAN, SERVER, 53, OUTER, port, m, n);
	CHECK_EQ(n_got, 0);
	m[2] |= 0x80;
	send_udp(IF_WAN, SERVER, 53, OUTER, port, m, n);
	CHECK_EQ(n_got, 1);
	send_udp(IF_WAN, SERVER, 53, OUTER, port, m, n);
	CHECK_EQ(n_got, 1);
}

/* Two clients share a fetch, and both get their answer. */
static void joined(void)
{
	start(ONE, PLAIN);
	replies = false;
	CHECK(!ask("four.test", 28));
	CHECK(!ask("fOUR.test", 28));
	CHECK_EQ(n_asked, 2);
	CHECK(asked[0].port != asked[1].port);
	CHECK(memcmp(asked[0].data, asked[1].data, 2) != 0);
	replies = true;
	n_answered = 0;
	serve();
	CHECK_EQ(n_got, 2);
	CHECK(got[0].data[14] != got[1].data[14]);
	CHECK(synthesised("\xc0\0\2\x21", 60));
}

static void several_servers(void)
{
	start(TWO, PLAIN);
	/* Both servers get messages in time, and a silent one is not used. */
	bool first = false, second = false;
	for (char n = 'a'; n < 'z'; n++) {
		const char name[] = {n, '.', 't', 0};
		CHECK(ask(name, 1));
		first |= asked[(n_asked - 1) % 64].to == SERVER;
		second |= asked[(n_asked - 1) % 64].to == SERVER + 1;
	}
	CHECK(first && second);
	/* An error is not taken before the other server was asked. */
	uint32_t before = n_asked;
	CHECK(ask("error.test", 28) && synthesised("\xc0\0\2\x23", 60));
	CHECK_EQ(n_asked - before, 3);
}

static void sizes(void)
{
	static const uint8_t opt[] = "\0\0\x29\x02\x58\0\0\0\0\0\0"; /* 600 bytes */
	start(ONE, PLAIN);
	uint8_t m[600];
	uint32_t n = put_question(m, "four.test", 28);
	memcpy(m + n, opt, sizeof opt - 1);
	m[11] = 1;
	send_udp(IF_LAN, CLIENT, 4001, OURS, 53, m, n + (uint32_t)sizeof opt - 1);
	serve();
	CHECK_EQ(n_got, 1);
	CHECK_EQ(last().n_opt, 1);
	CHECK_EQ(last().opt.class, 1232);
	m[n + 6] = 1; /* another version */
	send_udp(IF_LAN, CLIENT, 4001, OURS, 53, m, n + (uint32_t)sizeof opt - 1);
	CHECK_EQ(n_got, 2);
	CHECK_EQ(last().opt.ttl, 0x01000000);
	/* A malformed answer, and a malformed query. */
	m[2] |= 0x80;
	send_udp(IF_LAN, CLIENT, 4001, OURS, 53, m, n);
	CHECK_EQ(n_got, 2);
	m[2] = 1;
	send_udp(IF_LAN, CLIENT, 4001, OURS, 53, m, n - 1);
	CHECK_EQ(n_got, 3);
	CHECK_EQ(rcode(), DNS_FORMERR);
	m[2] = 0x29;
	send_udp(IF_LAN, CLIENT, 4001, OURS, 53, m, n);
	CHECK_EQ(rcode(), DNS_NOTIMP);
}

static void ask_many(void)
{
	char name[20];
	replies = false;
	for (uint32_t i = 0; i < 40; i++) {
		fmt(name, sizeof name, "n%u.test", i);
		CHECK(!ask(name, DNS_TYPE_AAAA));
	}
	wait_ms(10);
}

/* With many fetches fewer frames of clients are taken at a time, and as many of servers as before.
 */
static void overload(void)
{
	start(ONE, PLAIN);
	ask_many();
	CHECK_EQ(rig.gw.iface[IF_LAN].burst, 8);
	CHECK_EQ(rig.gw.iface[IF_WAN].burst, 0);
	wait_ms(4000); /* all are over */
	CHECK_EQ(rig.gw.iface[IF_LAN].burst, 0);
	/* Clients and servers are on one interface: there is no choice. */
	start("nameserver 192.168.1.10\n", PLAIN);
	ask_many();
	CHECK_EQ(rig.gw.iface[IF_LAN].burst, 0);
	/* The packets that a forwarder passes do not suffer. */
	start_as("nat", ONE "serve dns64\nnat.sessions 100\n", PLAIN);
	ask_many();
	CHECK_EQ(dns64_of(&rig.gw)->fetches.n, 80);
	CHECK_EQ(rig.gw.iface[IF_LAN].burst, 0);
}

/* One client cannot take all places of pending queries. */
static void shares(void)
{
	char name[20];
	uint8_t m[600];
	start(ONE, PLAIN);
	const struct dns64 *d = dns64_of(&rig.gw);
	replies = false;
	for (uint32_t i = 0; i < 1600; i++) {
		fmt(name, sizeof name, "n%u.test", i);
		ask(name, DNS_TYPE_A);
	}
	CHECK_EQ(d->pendings.n, 1536);
	CHECK_EQ(n_got, 64);
	CHECK_EQ(rcode(), DNS_SERVFAIL);
	uint32_t len = put_question(m, "four.test", DNS_TYPE_A);
	send_udp(IF_LAN, CLIENT + 1, 4000, OURS, 53, m, len);
	CHECK_EQ(d->pendings.n, 1537);
	wait_ms(4000);
	CHECK_EQ(d->pendings.n, 0);
	CHECK(!ask("other.test", DNS_TYPE_A));
	CHECK_EQ(d->pendings.n, 1);
}

/* Answers of servers with small errors. */
static void odd_answers(void)
{
	static const struct known works[] = {{"error.test", 1, "\xc0\0\2\x23", 4, 1, 0, false}};
	start(ONE, PLAIN);
	cuts = true;
	/* The whole answer would come over TCP, which fails: the client gets TC. */
	CHECK(!ask("four.test", DNS_TYPE_AAAA));
	wait_ms(60000);
	CHECK_EQ(n_got, 1);
	CHECK_EQ(got[0].data[2] & 2, 2);
	CHECK_EQ(got[0].data[3] & 15, DNS_NOERROR);
	CHECK_EQ(rig.gw.tcp->n, 0);
	/* The server loses case: its answers are taken after two, a tenth of a second each. */
	start(ONE, PLAIN);
	lowers = true;
	CHECK(!ask("four.test", DNS_TYPE_A));
	wait_ms(150);
	CHECK_EQ(n_got, 0);
	wait_ms(150);
	CHECK_EQ(n_got, 1);
	CHECK_EQ(n_asked, 3);
	CHECK(ask("six.test", DNS_TYPE_A));
	/* A name that fails again is fetched more rarely, until it is answered once. */
	static const struct known fails[] = {{"error.test", 1, NULL, 0, 0, 2, false}};
	start(ONE "dns64.stale 0\n", fails, 1);
	for (uint32_t turn = 0, seconds = 0; turn < 2; turn++) {
		n_asked = n_answered = 0;
		for (seconds = 0; seconds < 8; seconds++) {
			CHECK(ask("error.test", DNS_TYPE_A));
			CHECK_EQ(rcode(), 2);
			wait_ms(1000);
		}
		CHECK_EQ(n_asked, 3); /* now, 2 s later, 4 s later */
		zone = works;
		wait_ms(8000);
		CHECK(ask("error.test", DNS_TYPE_A));
		CHECK_EQ(rcode(), 0);
		wait_ms(2000);
		zone = fails;
	}
}

static void who_may_ask(void)
{
	start(ONE "dns64.client 192.168.1.11/32\n", PLAIN);
	CHECK(ask("four.test", 28));
	CHECK_EQ(rcode(), DNS_REFUSED);
	CHECK_EQ(got[0].data[5], 1); /* the question is repeated */
	CHECK_EQ(n_asked, 0);
	start(ONE "dns64.rate 3\n", PLAIN);
	for (int i = 0; i < 10; i++)
		ask("ipv4only.arpa", 28);
	CHECK_EQ(n_got, 3);
	wait_ms(1000);
	for (int i = 0; i < 10; i++)
		ask("ipv4only.arpa", 28);
	CHECK_EQ(n_got, 6);
}

int main(void)
{
	TEST(answers);
	TEST(own_names);
	TEST(time_passes);
	TEST(kept_ready);
	TEST(slow);
	TEST(forgery);
	TEST(joined);
	TEST(several_servers);
	TEST(sizes);
	TEST(overload);
	TEST(shares);
	TEST(odd_answers);
	TEST(who_may_ask);
	return tap_done();
}
