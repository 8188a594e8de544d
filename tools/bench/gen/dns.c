/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DNS: clients on the LAN query AAAA records over IPv6 (RFC 8219 section 9 requires IPv6 there);
 * the server on the WAN is upstream and answers the gateway's queries over IPv4. Names and answers
 * are those of tools/dns: the name contains the address.
 *
 *     query number Q      client Q mod hosts, ID and source port derived from Q
 *     name                of flow F: F; or, if names must be new, one that was never queried
 *
 * For each of the last million queries, the generator stores its name and when it left.
 */
#include <string.h>

#include "../../dns/fakedns.h"
#include "../../dns/perfcheck.h"
#include "hosts.h"

enum {
	DOMAIN = 53,
	FIRST_SOURCE = 20000,
	SLOTS = 1 << 20,
	KNOWN_NAMES = 0x0a000000, /* 10.0.0.0 and following */
	FRESH_NAMES = 0x20000000, /* 32.0.0.0 and following */
	HEADS6 = ETH + IP6 + UDP,
};

struct asked {
	uint32_t name;
	bool open;
	uint64_t sent_ns;
};

static struct asked asked[SLOTS];
static uint32_t questions, fresh;

static struct arrival bad(const char *why)
{
	hosts_complain(why);
	return (struct arrival){.verdict = V_BAD};
}

/* Sum of a whole UDP datagram and its pseudo-header; fold() of it is 0xffff if the checksum is
 * right. */
static uint32_t sum_of(const uint8_t *addresses, unsigned bytes, const uint8_t *udp)
{
	unsigned len = get16(udp + 4);

	return add_words(add_words(17 + len, addresses, bytes), udp, len);
}

static void finish_udp(const uint8_t *addresses, unsigned bytes, uint8_t *udp)
{
	put16(udp + 6, 0);
	put16(udp + 6, ~fold(sum_of(addresses, bytes, udp)) & 0xffff);
	if (get16(udp + 6) == 0)
		put16(udp + 6, 0xffff);
}

void dns_build(struct frame *f, const struct traffic *t, unsigned number, uint64_t now)
{
	uint32_t slot = questions++ % SLOTS, client = plan.first[LAN] + slot % plan.hosts;
	uint32_t name = t->fresh ? FRESH_NAMES + fresh++ : KNOWN_NAMES + number;
	uint8_t *d = f->data, *ip6 = d + ETH, *udp = ip6 + IP6;
	struct mac own = mac_of(LAN, client);

	asked[slot] = (struct asked){name, true, now};
	f->len = HEADS6 + PERF_QUESTION;
	memcpy(d, plan.gateway_mac[LAN].b, 6);
	memcpy(d + 6, own.b, 6);
	put16(d + 12, 0x86dd);
	put32(ip6, 0x60000000);
	put16(ip6 + 4, UDP + PERF_QUESTION);
	put16(ip6 + 6, 17 << 8 | TTL);
	six_inside(ip6 + 8, client);
	six_inside(ip6 + 24, 1);
	put16(udp, FIRST_SOURCE + (slot >> 16));
	put16(udp + 2, DOMAIN);
	put16(udp + 4, UDP + PERF_QUESTION);
	perf_question(udp + UDP, slot & 0xffff, name);
	finish_udp(ip6 + 8, 32, udp);
}

/* Upstream: turns the frame into its reply, with an answer to its message. */
static struct arrival upstream(const struct frame *f, struct frame *reply)
{
	static const struct options all_ipv4 = {.ttl = 3600, .soa = true, .edns = true};
	static struct random random;
	static struct tally count;
	const uint8_t *d = f->data;
	uint8_t *o = reply->data, *ip = o + ETH, *udp = ip + IP;
	unsigned len = f->len > DATA ? get16(d + ETH + IP + 4) : 0;
	bool faulty;

	if (len < UDP || len > f->len - ETH - IP || get32(d + ETH + 16) != plan.first[WAN] ||
	    fold(add_words(0, d + ETH, IP)) != 0xffff)
		return bad("upstream: header");
	if (get16(d + ETH + IP + 6) != 0 && fold(sum_of(d + ETH + 12, 8, d + ETH + IP)) != 0xffff)
		return bad("upstream: UDP checksum");
	memcpy(o, d, f->len);
	len = fake_answer(&all_ipv4, &random, &count, udp + UDP, len - UDP, &faulty);
	if (len == 0)
		return bad("upstream: no question");
	memcpy(o, d + 6, 6);
	memcpy(o + 6, d, 6);
	memcpy(ip + 12, d + ETH + 16, 4);
	memcpy(ip + 16, d + ETH + 12, 4);
	put16(ip + 2, IP + UDP + len);
	ip[8] = TTL;
	put16(ip + 10, 0);
	put16(ip + 10, ~fold(add_words(0, ip, IP)) & 0xffff);
	memcpy(udp, d + ETH + IP + 2, 2);
	memcpy(udp + 2, d + ETH + IP, 2);
	put16(udp + 4, UDP + len);
	finish_udp(ip + 12, 8, udp);
	reply->len = DATA + len < FRAME_MIN ? FRAME_MIN : DATA + len;
	return (struct arrival){.verdict = V_UPSTREAM};
}

static struct arrival answer(const struct frame *f)
{
	static const struct perf_addresses behind = {.prefix = {0x20, 0x01, 0x0d, 0xb8, 0, 0x64},
	                                             .prefix_len = 96};
	const uint8_t *ip6 = f->data + ETH, *udp = ip6 + IP6, *m = udp + UDP;
	unsigned len = get16(udp + 4), port = get16(udp + 2) - FIRST_SOURCE;
	uint32_t slot = port << 16 | get16(m), name;
	uint8_t to[16];

	if (len < UDP + 2 || len > f->len - ETH - IP6 || port >= SLOTS >> 16)
		return bad("answer: length or port");
	six_inside(to, plan.first[LAN] + slot % plan.hosts);
	if (memcmp(ip6 + 24, to, 16) != 0)
		return bad("answer: client");
	if (fold(sum_of(ip6 + 8, 32, udp)) != 0xffff)
		return bad("answer: UDP checksum");
	if (!perf_name(m, len - UDP, &name))
		return bad("answer: question section");
	if (asked[slot].name != name) /* so late that its slot is in use again */
		return (struct arrival){.verdict = V_OTHER};
	if (!asked[slot].open)
		return bad("answer: a second one");
	asked[slot].open = false;
	switch (perf_check(&behind, m, len - UDP, name)) {
	case PERF_GOOD:
		return (struct arrival){.verdict = V_ANSWER, .sent_ns = asked[slot].sent_ns};
	case PERF_ERROR:
		return (struct arrival){.verdict = V_FAILED};
	default:
		return bad("answer: address");
	}
}

struct arrival dns_accept(int side, const struct frame *f, struct frame *reply)
{
	const uint8_t *ip = f->data + ETH;

	if (side == WAN && f->len >= DATA && get16(f->data + 12) == 0x0800 && ip[0] == 0x45 &&
	    ip[9] == 17 && get16(ip + IP + 2) == DOMAIN)
		return upstream(f, reply);
	if (side == LAN && f->len >= HEADS6 + 2 && get16(f->data + 12) == 0x86dd && ip[6] == 17 &&
	    get16(ip + IP6) == DOMAIN)
		return answer(f);
	return (struct arrival){.verdict = V_OTHER};
}
