/* See dns64_known.h.
 *
 * Queries of the usual kind are found in the cache's index of ready answers. One loop over the
 * question computes its hash and its checksum; the answer's checksum is that of the query and of
 * what is added to it. Everything is checked before the first byte changes. A frame that is not
 * usual takes the slow path. */
#include "apps/dns64/client/dns64_known.h"

#include "apps/dns64/client/dns64_client.h"
#include "apps/dns64/client/dns64_datagram.h"
#include "apps/dns64/client/dns64_limit.h"
#include "apps/dns64/client/dns64_path.h"
#include "apps/dns64/policy/dns64_policy.h"
#include "apps/dns64/upstream/dns64_attempt.h"
#include "net/lib/csum.h"
#include "net/ip6/ip6.h"

#define HEADERS   (IP6_MIN + (uint32_t)sizeof(struct udp_hdr) + DNS_HEADER)
#define QUESTIONS (DNS_NAME_MAX + DNS_QUESTION_FIXED)

struct frame {
	struct eth_hdr eth;
	struct ip6_hdr ip;
	struct udp_hdr udp;
	struct dns_header dns;
	uint8_t question[];
};
_Static_assert(sizeof(struct frame) == sizeof(struct eth_hdr) + HEADERS, "headers side by side");

/* --- queries -------------------------------------------------------------------------- */

/* True for a query that may have a ready answer: over IPv6, with nothing after its question. */
static inline bool is_usual(const struct interface *in, const struct pkt *p)
{
	const struct frame *f = (const struct frame *)p->data;
	uint32_t n = be16_get(f->ip.len);
	return p->len >= sizeof *f && mac_eq(&f->eth.to, &in->address) &&
	       f->ip.first.b[0] >> 4 == 6 && n <= p->len - sizeof f->eth - IP6_MIN &&
	       n + IP6_MIN - HEADERS - 1 < QUESTIONS && be16_get(f->udp.len) == n &&
	       be16_raw(f->udp.sum) != 0 &&
	       (be16_raw(f->dns.flags) | swap16(DNS_AD)) == swap16(DNS_RD | DNS_AD) &&
	       be16_raw(f->dns.count[DNS_QD]) == swap16(1) && be16_raw(f->dns.count[DNS_AN]) == 0 &&
	       load32(&f->dns.count[DNS_NS]) == 0;
}

/* The last n % 4 of n bytes, the first of them lowest; for n >= 4, or with bytes in front. */
static inline uint32_t rest_of(const uint8_t *at, uint32_t n)
{
	return load32(at + n - 4) >> 1 >> (31 - 8 * (n % 4));
}

/* True when a record of the index is the ready answer to a question of n bytes. */
static inline bool answers(const struct dns64_record *r, const struct frame *f, uint32_t n)
{
	uint32_t words = n / 4, mask = dns64_quick_mask(n);
	if (r->name_len + (uint32_t)DNS_QUESTION_FIXED != n)
		return false;
	const uint8_t *at = dns64_view(r).at + DNS_HEADER;
	if ((load32(at + (n & ~3u)) & mask) != dns_lower4(rest_of(f->question, n)))
		return false;
	for (uint32_t i = 0; i < words; i++) {
		uint32_t w = load32(f->question + 4 * i), is = load32(at + 4 * i);
		if (w != is && dns_lower4(w) != is)
			return false;
	}
	return true;
}

/* False when the checksum of a usual query, with a question of n bytes, is wrong. *ready is its
 * ready answer; NULL: there is none. */
static inline bool find(const struct dns64_cache *c, const struct udp_path *w,
                        const struct frame *f, uint32_t n, struct dns64_record **ready)
{
	uint32_t words = n / 4, last = rest_of(f->question, n);
	uint32_t sum = csum_add32(last, w->sum + (uint32_t)be16_raw(f->udp.len));
	uint32_t h = dns64_quick_word(c, words, last);
	for (uint32_t i = 0; i < words; i++) {
		uint32_t is = load32(f->question + 4 * i);
		sum = csum_add32(sum, is);
		h += dns64_quick_word(c, i, is);
	}
	const uint8_t *head = (const uint8_t *)&f->udp;
	for (uint32_t i = 0; i < (sizeof f->udp + sizeof f->dns) / 4; i++)
		sum = csum_add32(sum, load32(head + 4 * i));
	struct dns64_record *r = dns64_quick_find(c, h);
	*ready = r && r->key == c->ready_key && answers(r, f, n) ? r : NULL;
	return csum_fold(sum) == 0xffff;
}

/* Puts the records of a ready answer after the question of n bytes, with what is left of their
 * TTLs; gives their sum for the checksum. */
static inline uint16_t put_records(const struct gw *gw, uint8_t *to, const struct dns64_record *r,
                                   uint32_t n)
{
	const uint8_t *from = dns64_view(r).at + DNS_HEADER + n, *end = dns64_view(r).at + r->len;
	uint32_t age = gw->clock.s - r->stored_s;
	uint32_t sum = 0;
	for (; from < end; from += DNS64_MADE_RR, to += DNS64_MADE_RR) {
		uint32_t ttl = dns_get32(from + 6);
		for (uint32_t i = 0; i < DNS64_MADE_RR; i += 4)
			store32(to + i, load32(from + i));
		dns_put32(to + 6, ttl > age ? ttl - age : 0);
		for (uint32_t i = 0; i < DNS64_MADE_RR; i += 4)
			sum = csum_add32(sum, load32(to + i));
	}
	uint16_t folded = csum_fold(sum);
	return n % 2 ? swap16(folded) : folded;
}

/* Makes the answer from a query with a question of n bytes. In the checksum addresses, ports and
 * question stay, and the length counts twice: in its field and in the pseudo header. */
static inline void make_answer(struct gw *gw, struct pkt *p, const struct dns64_record *r,
                               uint32_t n, struct neigh *next)
{
	struct frame *f = (struct frame *)p->data;
	be16 len = be16_of((uint16_t)(r->len + sizeof f->udp));
	be16 flags = be16_of(DNS_QR | DNS_RD | DNS_RA),
	     count = dns_header_of(dns64_view(r))->count[DNS_AN];
	uint32_t longer = csum_delta16(be16_raw(f->udp.len), be16_raw(len));
	uint32_t delta = put_records(gw, f->question + n, r, n) + 2 * longer + be16_raw(count) +
	                 csum_delta16(be16_raw(f->dns.flags), be16_raw(flags));
	ip6 us = f->ip.to;
	be16 port = f->udp.to;
	f->eth = next->eth;
	f->ip.first = be32_of(0x60000000u);
	f->ip.len = f->udp.len = len;
	f->ip.hops = IP6_HOPS;
	f->ip.to = f->ip.from;
	f->ip.from = us;
	f->udp.to = f->udp.from;
	f->udp.from = port;
	f->udp.sum = csum_apply_icmp(f->udp.sum, delta);
	f->dns.flags = flags;
	f->dns.count[DNS_AN] = count;
}

/* Sends a ready answer; false when it cannot be sent now. */
static inline bool answer(struct gw *gw, struct udp_path *w, struct pkt *p, struct dns64_record *r,
                          uint32_t n)
{
	struct dns64_clients *d = dns64_clients_of(gw);
	struct neigh *next = udp_path_next(gw, w);
	uint32_t len = (uint32_t)sizeof(struct frame) - DNS_HEADER + r->len;
	if (UNLIKELY(!next || !dns64_record_is_fresh(r, gw->clock.s) ||
	             dns64_client_skips(d, &w->remote) ||
	             (dns64_limits_of(gw)->rate &&
	              !dns64_limit_take(gw, dns64_path_client6(gw, w, next))) ||
	             (len > p->len && !pkt_put(p, len - p->len))))
		return false;
	d->queries++;
	d->hits++;
	d->answers++;
	dns64_parts_of(gw)->policy->synthesised++;
	r->used = DNS64_USED_MAX;
	next->used = true;
	pkt_trim(p, len);
	make_answer(gw, p, r, n, next);
	gw_transmit(gw, &gw->iface[w->iface], p);
	return true;
}

/* The path of a frame's addresses; NULL: the client is not known. */
static inline struct udp_path *path_of(const struct gw *gw, const struct pkt *p)
{
	const struct udp_frame6 *f6 = (const struct udp_frame6 *)p->data;
	const struct udp_frame4 *f4 = (const struct udp_frame4 *)p->data;
	return LIKELY(be16_raw(f6->eth.type) == swap16(ETH_IP6))
	               ? dns64_path6(gw, &f6->ip.from, &f6->ip.to)
	               : dns64_path4(gw, f4->ip.from, f4->ip.to);
}

/* A frame to the port for queries, with the UDP header `udp`. */
static bool query(struct gw *gw, const struct interface *in, struct pkt *p,
                  const struct udp_hdr *udp)
{
	struct udp_path *w = path_of(gw, p);
	if (UNLIKELY(!w || w->iface != p->iface || be16_raw(udp->from) == 0))
		return false;
	uint32_t len;
	const uint8_t *m;
	if (w->remote.is6 && is_usual(in, p)) {
		struct dns64_record *ready;
		const struct frame *f = (const struct frame *)p->data;
		uint32_t n = be16_get(f->ip.len) + IP6_MIN - HEADERS;
		if (UNLIKELY(!find(dns64_parts_of(gw)->cache, w, f, n, &ready)))
			return false;
		if (LIKELY(ready != NULL) && answer(gw, w, p, ready, n))
			return true;
		m = (const uint8_t *)&f->dns;
		len = n + DNS_HEADER;
	} else {
		m = udp_path_payload(w, in, p, udp, &len);
		if (UNLIKELY(!m))
			return false;
	}
	const struct dns64_client from = {.ends = {.local = w->local,
	                                           .remote = w->remote,
	                                           .local_port = dns64_clients_of(gw)->port,
	                                           .remote_port = be16_get(udp->from),
	                                           .iface = p->iface},
	                                  .transport = &dns64_datagram,
	                                  .conn = TCP_NONE,
	                                  .known = true};
	if (!pkt_pull(p, (uint32_t)(m - p->data)))
		return false; /* the message lies in p, so this does not happen */
	pkt_trim(p, len);
	dns64_datagram_query(gw, p, &from);
	return true;
}

bool dns64_known(struct gw *gw, const struct interface *in, struct pkt *p)
{
	const struct udp_hdr *udp = udp_path_header(p);
	if (!udp)
		return false;
	return be16_get(udp->to) == dns64_clients_of(gw)->port
	               ? query(gw, in, p, udp)
	               : dns64_attempt_frame(gw, in, p, udp);
}
