/* Fuzzer: a DNS64 server between clients and upstream servers that send anything. The input is a
 * list of operations: client queries that are well formed or not, answers to fetches (with the
 * right port and ID, so that deep code is reached; their records from a few templates, corrupted,
 * or random bytes), time, and forgeries.
 *
 * Checked: an answer to a client is a well-formed message of at most the size that the client
 * accepts, repeats its query exactly, and is the only one; in the end, after a time without
 * traffic, nothing waits, no port is open, every packet is free, the cache is consistent. */
#include "apps/dns64/dns64.h"
#include "kernel/lib/fmt.h"
#include "tests/fuzz/gateway.h"

#define CLIENT    0xc0a8010au
#define OWN_LAN   0xc0a80101u
#define OWN_WAN   0xcb007102u
#define SERVER    0xc6336435u /* 198.51.100.53, and the next */
#define IP6_UDP   62u         /* offset of a message in an IPv6 frame */
#define MAX_STEPS 120
#define CLIENTS   64u
#define PENDING   64u

static const char config[] = "lan.address 192.168.1.1/24\n"
                             "wan.address 203.0.113.2/24\n"
                             "gateway 203.0.113.1\n"
                             "neighbour 203.0.113.1 52:52:52:52:52:52\n"
                             "neighbour 192.168.1.10 52:52:52:52:52:52\n"
                             "neighbour 192.168.1.11 52:52:52:52:52:52\n"
                             "lan.address 2001:db8:1::1/64\n"
                             "neighbour 2001:db8:1::a 52:52:52:52:52:52\n"
                             "wan.address 2001:db8:2::2/64\n"
                             "neighbour 2001:db8:2::53 52:52:52:52:52:52\n"
                             "nameserver 198.51.100.53\n"
                             "timeout-time 0.5\n";

static const uint8_t client6[16] = {0x20, 1, 0x0d, 0xb8, 0, 1, [15] = 0x0a};
static const uint8_t lan6[16] = {0x20, 1, 0x0d, 0xb8, 0, 1, [15] = 1};
static const uint8_t server6[16] = {0x20, 1, 0x0d, 0xb8, 0, 2, [15] = 0x53};
static const uint8_t wan6[16] = {0x20, 1, 0x0d, 0xb8, 0, 2, [15] = 2};

/* The unanswered client query from port 4000 + i. */
struct client {
	bool waits;
	bool relayed; /* the answer may be passed on unchanged */
	uint32_t limit;
	uint32_t len; /* of the bytes that must come back: ID and question */
	uint8_t id[2], opcode;
	uint8_t question[DNS_NAME_MAX + DNS_QUESTION_FIXED];
};
static struct client client[CLIENTS];

/* The queries that upstream got. */
static struct pending {
	uint32_t server; /* 0: server6 */
	uint16_t port;
	uint32_t len;
	uint8_t data[600];
} pending[PENDING];
static uint32_t n_pending;

/* --- frames that leave --------------------------------------------------------------- */

static void check_answer(const uint8_t *f, uint32_t len, uint32_t at, uint32_t n)
{
	struct client *c = &client[n % CLIENTS];
	struct dns_view m = {f + at, len - at};
	struct dns_layout l;
	if (n >= CLIENTS || !c->waits)
		fail("an answer that nobody waits for", f, len);
	c->waits = false;
	if (!dns_parse(m, &l))
		fail("a malformed answer", f, len);
	if ((m.at[2] & 0xf8) != (0x80 | c->opcode) || memcmp(m.at, c->id, 2) != 0 ||
	    m.len > c->limit)
		fail("an answer with a wrong header or size", f, len);
	if (l.count[DNS_QD] && (l.question_end - DNS_HEADER != c->len ||
	                        memcmp(m.at + DNS_HEADER, c->question, c->len) != 0))
		fail("an answer to another question", f, len);
	/* The gateway writes OPT last; records may follow the OPT of an upstream answer. */
	if (!dns_opt_is_right(m, &l) || (l.n_opt && l.opt.end != l.end && !c->relayed))
		fail("more than one OPT, or in the midst", f, len);
}

/* A datagram that left an interface, with its UDP header and message. */
static void datagram(uint32_t iface, const uint8_t *f, uint32_t len, uint32_t at, uint32_t target)
{
	uint16_t from = dns_get16(f + at - 8), to = dns_get16(f + at - 6);
	bool is6 = at == IP6_UDP;
	if (iface == IF_LAN) {
		if (from != 53 || (is6 ? memcmp(f + 38, client6, 16) != 0 : target - CLIENT > 1))
			fail("a datagram that no client asked for", f, len);
		check_answer(f, len, at, to - 4000u);
		return;
	}
	struct dns_layout l;
	if (to != 53 || !dns_parse((struct dns_view){f + at, len - at}, &l) || len - at > 600)
		fail("a malformed question", f, len);
	struct pending *p = &pending[n_pending++ % PENDING];
	*p = (struct pending){.server = target, .port = from, .len = len - at};
	memcpy(p->data, f + at, p->len);
}

static void seen(struct rig *r, uint32_t iface, const uint8_t *f, uint32_t len)
{
	(void)r;
	const char *bad = check(iface, f, len);
	if (bad)
		fail(bad, f, len);
	if (f[12] == 0x86 && f[20] == 17 && len >= IP6_UDP)
		datagram(iface, f, len, IP6_UDP, 0);
	if (f[12] == 8 && f[13] == 0 && f[23] == 17 && len >= 42)
		datagram(iface, f, len, 42, dns_get32(f + 30));
}

/* --- frames that come in ------------------------------------------------------------- */

static void send_udp(uint32_t iface, uint32_t from, uint16_t sport, uint32_t to, uint16_t dport,
                     const uint8_t *data, uint32_t len)
{
	uint8_t f[FRAME_MAX];
	memset(f, 0, 42);
	dns_put16(f + 34, sport);
	dns_put16(f + 36, dport);
	dns_put16(f + 38, len + 8);
	memcpy(f + 42, data, len);
	uint32_t n = frame_ip4(f, rig.gw.iface[iface].address.b, from, to, 17, len + 8);
	frame_repair(f, n);
	(void)rig_input(&rig, iface, f, n);
}

static void send_udp6(uint32_t iface, const uint8_t *from, uint16_t sport, const uint8_t *to,
                      uint16_t dport, const uint8_t *data, uint32_t len)
{
	uint8_t f[FRAME_MAX] = {0};
	dns_put16(f + 54, sport);
	dns_put16(f + 56, dport);
	dns_put16(f + 58, len + 8);
	memcpy(f + IP6_UDP, data, len);
	uint32_t n = frame6_ip(f, mac_of(iface), from, to, 17, 64, len + 8);
	frame6_repair(f + ETH, n - ETH);
	(void)rig_input(&rig, iface, f, n);
}

/* Sends a client's datagram. `how`: over IPv6; from a client that the configuration treats
 * differently; to another address than the gateway's. */
static void send_query(uint8_t how, uint32_t n, const uint8_t *data, uint32_t len)
{
	uint16_t sport = (uint16_t)(4000 + n);
	uint8_t to6[16];
	memcpy(to6, lan6, sizeof to6);
	to6[15] = (uint8_t)(to6[15] + (how & 32));
	if (how & 64)
		send_udp6(IF_LAN, client6, sport, to6, 53, data, len);
	else
		send_udp(IF_LAN, CLIENT + (how >> 7), sport, OWN_LAN + (how & 32u), 53, data, len);
}

static uint32_t put_name(uint8_t *to, uint8_t choice)
{
	static const char *const names[] = {"a",
	                                    "b",
	                                    "www.b",
	                                    "ipv4only.arpa",
	                                    "x.ipv4only.arpa",
	                                    "1.0.2.0.192.in-addr.arpa",
	                                    "skip.me",
	                                    "a-much-longer-name-than-the-others.example"};
	/* In the prefixes, whole, in part or with more labels; in no prefix; and names of another
	 * form. */
#define ZEROS "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0."
	static const char *const reverse[] = {
	        "1.0.0.0.0.0.a.0." ZEROS "b.9.f.f.4.6.0.0.ip6.arpa",
	        "a.a.0.0.0.0.0.c." ZEROS "b.9.f.f.4.6.0.0.ip6.arpa",
	        "0.0.b.9.f.f.4.6.0.0.ip6.arpa",
	        "0.0.0.0.0.0.0.0.0.0.0.3.0.2.0.0.1.0.0.a.5.6.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
	        "1.0.0.0.0.0.a.0.0.0.0.0.0.0.0.0.0.0.0.0.4.6.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
	        "1.0.0.0.0.0.0.f." ZEROS "b.9.f.f.4.6.0.0.ip6.arpa",
	        "x.0.0.0.0.0.a.0." ZEROS "b.9.f.f.4.6.0.0.ip6.arpa",
	        "1.1.0.0.0.0.0.a.0." ZEROS "b.9.f.f.4.6.0.0.ip6.arpa",
	};
	if (choice == 0xff) {
		*to = 0;
		return 1;
	}
	return dns_name_of_text(to, choice & 8 ? reverse[choice & 7] : names[choice & 7]);
}

static const uint16_t types[] = {28, 1, 28, 12, 5, 255, 43, 16};

/* Sends a client's datagram; `raw` bytes of it come from the input. */
static void ask(struct input *in)
{
	uint8_t m[600] = {0}, how = input_u8(in), what = input_u8(in), who = input_u8(in);
	uint32_t n = who % CLIENTS;
	struct client *c = &client[n];
	if (c->waits)
		return; /* one query at a time for each port, so that answers match */
	c->relayed = false;
	c->id[0] = m[0] = (uint8_t)n;
	c->id[1] = m[1] = what;
	m[2] = (uint8_t)(how & 1 ? 1 : input_u8(in) & 0x7f);
	c->opcode = m[2] & 0x78;
	m[3] = how & 2 ? 0x10 : 0;
	m[5] = 1;
	uint32_t len = put_name(m + 12, what);
	if (how & 4 && len > 2)
		m[13] ^= 0x20;
	dns_put16(m + 12 + len, types[how >> 5]);
	dns_put16(m + 14 + len, what & 64 && !(what & 16) ? 3 : 1);
	c->len = len + 4;
	memcpy(c->question, m + 12, c->len);
	len = 16 + len;
	c->limit = 512;
	if (how & 8) {
		struct dns_out o;
		uint16_t size = input_u16(in);
		dns_out_init(&o, m, len, sizeof m);
		m[11] = dns_put_opt(&o, size, what & 32 ? 16 : 0, how & 16);
		len = o.len;
		c->limit = min_u32(max_u32(size, 512), 1232);
	}
	if (!(m[2] & 0x80))
		c->waits = true; /* until it is answered, or the input ends */
	send_query(who & 0xc0, n, m, len);
}

static void ask_raw(struct input *in)
{
	uint8_t m[600];
	uint32_t len = input_u16(in) % sizeof m, who = input_u8(in), n = who % CLIENTS;
	struct client *c = &client[n];
	struct dns_layout l;
	if (c->waits)
		return;
	memset(m, 0, sizeof m);
	for (uint32_t i = 0; i < len; i++)
		m[i] = input_u8(in);
	memcpy(c->id, m, 2);
	c->opcode = m[2] & 0x78;
	c->relayed = false;
	c->limit = 1232;
	c->len = 0;
	for (uint32_t i = DNS_HEADER; i + 1 < len; i++) {
		uint16_t type = dns_get16(m + i);
		c->relayed |= type == DNS_TYPE_TSIG || type == DNS_TYPE_SIG ||
		              type == DNS_TYPE_IXFR || type == DNS_TYPE_AXFR;
	}
	if (len >= DNS_HEADER && dns_parse_question((struct dns_view){m, len}, &l)) {
		c->len = l.question_end - DNS_HEADER;
		memcpy(c->question, m + DNS_HEADER, c->len);
	}
	c->waits = true;
	send_query((uint8_t)who, n, m, len);
}

/* The data of a record of one of the rarer types: some bytes, a name, which may be a pointer, some
 * bytes. */
static const uint16_t rare[] = {41, 33, 15, 250, 24, 47, 16, 65};

static uint32_t put_rare(struct input *in, uint8_t *data, uint8_t kind)
{
	static const uint8_t before[] = {0, 6, 2, 0, 18, 0, 1, 2};
	uint8_t what = input_u8(in);
	uint32_t n = before[kind & 7];
	memset(data, 0, n);
	if ((kind & 7) == 0)
		return 0;
	if (what & 0x80) {
		dns_put16(data + n, 0xc000 | input_u8(in));
		return n + 2;
	}
	return n + put_name(data + n, what & 0x4f);
}

/* Appends one record to an answer. */
static uint32_t put_record(struct input *in, uint8_t *m, uint32_t at)
{
	uint8_t kind = input_u8(in);
	uint32_t n;
	if (kind & 0x80) {
		at += put_name(m + at, kind >> 3 & 7);
	} else {
		dns_put16(m + at, 0xc000 | (kind & 0x40 ? input_u8(in) : 12));
		at += 2;
	}
	static const uint16_t type[] = {1, 28, 5, 6, 12, 39, 46, 2};
	dns_put16(m + at, kind & 32 ? rare[kind & 7] : type[kind & 7]);
	dns_put16(m + at + 2, 1);
	dns_put32(m + at + 4, kind & 8 ? input_u8(in) / 8u : 5);
	uint8_t *len = m + at + 8, *data = m + at + 10;
	switch (kind & 32 ? 8 : kind & 7) {
	case 0:
		n = 4;
		memset(data, input_u8(in), 4);
		break;
	case 1:
		n = 16;
		memset(data, input_u8(in), 16);
		if (kind & 16) {
			memset(data, 0, 16);
			memset(data + 10, 0xff, 2);
		}
		break;
	case 3:
		n = 22;
		memset(data, 0, n);
		data[21] = input_u8(in);
		break;
	case 6:
		n = 20;
		memset(data, 0, n);
		data[1] = input_u8(in);
		break;
	case 8:
		n = put_rare(in, data, kind);
		break;
	default:
		n = put_name(data, input_u8(in) & 0x4f);
		break;
	}
	dns_put16(len, n);
	return at + 10 + n;
}

static void answer(struct input *in)
{
	uint8_t m[1400] = {0}, how = input_u8(in), which = input_u8(in);
	if (n_pending == 0)
		return;
	uint32_t last = min_u32(n_pending, PENDING);
	const struct pending *p = &pending[(n_pending - 1 - which % last) % PENDING];
	struct dns_layout l;
	memcpy(m, p->data, p->len);
	if (!dns_parse_question((struct dns_view){m, p->len}, &l))
		return;
	m[2] = (uint8_t)(0x80 | (how & 1 ? 0 : input_u8(in)));
	m[3] = how & 2 ? 0x80 : input_u8(in);
	memset(m + 6, 0, 6);
	uint32_t at = l.question_end;
	for (unsigned s = 1; s <= 3; s++)
		for (uint32_t i = how >> (1 + 2 * s) & 3; i && at < 1000; i--) {
			at = put_record(in, m, at);
			m[5 + 2 * s]++;
		}
	if (how & 4) {
		struct dns_out o;
		dns_out_init(&o, m, at, sizeof m);
		m[11] = (uint8_t)(m[11] + dns_put_opt(&o, 1232, 0, false));
		at = o.len;
	}
	uint8_t bend = input_u8(in);
	for (uint32_t i = bend & 3u; i; i--)
		m[input_u16(in) % at] = input_u8(in);
	if (bend & 4)
		at = input_u16(in) % (at + 1);
	if (bend & 8)
		m[13] ^= 0x20;
	uint16_t sport = bend & 16 ? 54 : 53;
	if (p->server == 0)
		send_udp6(IF_WAN, server6, sport, wan6, p->port, m, at);
	else
		send_udp(IF_WAN, p->server + (bend >> 5 & 1), sport, OWN_WAN, p->port, m, at);
}

/* --- start, end and operations ------------------------------------------------------- */

static uint8_t owners[65536]; /* of the UDP ports after a start, the same for each input */

static void start(uint8_t choice)
{
	char more[600];
	size_t n = fmt(
	        more, sizeof more, "%s%s%s%s%s%s%s%sdns64.stale %u\n",
	        choice & 1 ? "nameserver 198.51.100.54\nnameserver 2001:db8:2::53\n" : "",
	        choice & 2 ? "dns64-prefix 2001:db8:64::/96\ndns64-prefix 64:ff9b::/96\n" : "",
	        choice & 4 ? "dns64.always on\n" : "",
	        choice & 8 ? "dns64.map 0.0.0.0/1 none\ndns64.map 160.0.0.0/4 "
	                     "2001:db8:65::/48\ndns64.exclude 3000::/4\n"
	                   : "",
	        choice & 16 ? "dns64.skip-name skip.me\ndns64.skip-client 192.168.1.11/32\n" : "",
	        choice & 32 ? "selection-mode round-robin\nresponse-maxlength 600\n" : "",
	        choice & 64 ? "dns64.on-error servfail\ndebugging yes\n" : "",
	        choice & 128 ? "resend-attempts 7\ndns64.rate 4\ndns64.client 192.168.1.10/32\n"
	                       "dns64.client 2001:db8:1::/64\ndns64.skip-client "
	                       "2001:db8:1::/64\n"
	                     : "",
	        choice & 3 ? 86400u : 0u);
	configure(config, sizeof config - 1);
	configure(more, n);
	if ((choice & 0x24) == 0x24)
		configure("dns64.cache 0\n", 14);
	else
		configure("dns64.cache 1\n", 14);
	start_app("dns64", choice & 64 ? 64 : 16);
	rig_advance(&rig, 4000000); /* the addresses are in use */
	n_pending = 0;
	memcpy(owners, rig.gw.udp->owner, sizeof owners);
	/* A cache so small that records are evicted. */
	struct dns64 *d = dns64_of(&rig.gw);
	d->cache.limit = choice & 8 ? 16 : 64;
	d->cache.size = choice & 8 ? 8192 : 3072; /* twice the longest datagram */
}

static bool answers_miss(void)
{
	const struct dns64 *d = dns64_of(&rig.gw);
	return d->fetches.n || d->pendings.n || d->part.wheel.n_set;
}

static void end(void)
{
	const struct dns64 *d = dns64_of(&rig.gw);
	silence(10000000); /* the longest wait is 4 s */
	if (answers_miss())
		fail("a query waits for ever", NULL, 0);
	if (memcmp(rig.gw.udp->owner, owners, sizeof owners) != 0)
		fail("a port stays open", NULL, 0);
	const char *bad = dns64_cache_check(&d->cache);
	if (bad)
		fail(bad, NULL, 0);
}

static void one_input(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint8_t choice = input_u8(&in);
	memset(client, 0, sizeof client);
	n_pending = 0;
	waits = answers_miss;
	begin(choice, 10u << 20, start, seen);
	for (int step = 0; step < MAX_STEPS && in.left; step++) {
		switch (input_u8(&in) % 8) {
		case 0:
		case 1:
			ask(&in);
			break;
		case 2:
			ask_raw(&in);
			break;
		case 3:
		case 4:
		case 5:
			answer(&in);
			break;
		case 6: /* up to 650 ms … */
			rig_advance(&rig, (uint64_t)input_u16(&in) * 10);
			break;
		default: { /* … or some seconds, or a listing */
			uint8_t steps = input_u8(&in);
			if (steps == 0)
				list_one((uint32_t)in.left + run.listed);
			else
				rig_leap(&rig, steps * 50000ull, 4);
			break;
		}
		}
	}
	end();
}
