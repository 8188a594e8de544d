/* Questions whose answers are ready, of clients that were answered before: from frame to frame.
 *
 * What the whole way finds out about a client (its address is good here and may ask, ours is
 * valid, the way back) is noted once and holds until addresses or routes change. Questions of the
 * usual kind are found in the cache's index of ready answers. One loop over the question gives
 * its hash and its checksum, and that of the answer is the question's and what is added to it. All
 * is asked before the first byte changes; whatever is not usual goes the whole way. */
#include "apps/dns64.h"
#include "net/csum.h"
#include "net/ip6.h"

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

/* --- clients ------------------------------------------------------------------------ */

/* Adding words up is enough of a hash, as in xlat_known.h. */
static struct dns64_client *client_of(struct dns64 *d, const ip6 *a)
{
	uint32_t h = (ip6_word(a, 1) + ip6_word(a, 2)) * d->client_mul[0] +
	             ip6_word(a, 3) * d->client_mul[1];
	return &d->known[h >> (32 - DNS64_CLIENT_BITS)];
}

static inline bool is_client(const struct gw *gw, const struct dns64_client *k, const ip6 *from,
                             const ip6 *to, uint32_t port)
{
	return ip6_eq(&k->from, from) && ip6_eq(&k->to, to) && k->port == port &&
	       k->changes == gw->changes6;
}

void dns64_known_init(struct gw *gw, struct dns64 *d)
{
	for (unsigned i = 0; i < ARRAY_SIZE(d->client_mul); i++)
		d->client_mul[i] = rng_u32(gw->rng) | 1;
}

void dns64_know(struct gw *gw, const struct udp_ends *e)
{
	struct dns64 *d = dns64_of(gw);
	const ip6 *from = &e->remote.v6, *to = &e->local.v6;
	if (!e->remote.is6 || e->link >= GW_PORTS || d->debug)
		return;
	struct dns64_client *k = client_of(d, from);
	if (is_client(gw, k, from, to, e->link))
		return;
	/* Its source was found good, and our address valid, or it had not come so far. */
	const struct gw_route6 *r = ip6_route_for(gw, from);
	if (ip6_is_special(from) || ip6_is_special(to) || !r || r->port != e->link ||
	    !dns64_may_ask(d, &e->remote) ||
	    dns64_in_prefixes(d->skip_client, d->n_skip_clients, &e->remote))
		return;
	*k = (struct dns64_client){*from, *to, r->hop, gw->changes6, e->link};
}

/* --- questions ------------------------------------------------------------------------ */

/* True for a question in a datagram of its own to us, with nothing behind. */
static inline bool is_usual(const struct dns64 *d, const struct gw_port *in, const struct pkt *p)
{
	const struct frame *f = (const struct frame *)p->data;
	uint32_t n = be16_get(f->ip.len);
	return p->len >= sizeof *f && mac_eq(&f->eth.to, &in->address) &&
	       be16_raw(f->eth.type) == swap16(ETH_IP6) && f->ip.first.b[0] >> 4 == 6 &&
	       f->ip.next == PROTO_UDP && n <= p->len - sizeof f->eth - IP6_MIN &&
	       n + IP6_MIN - HEADERS - 1 < QUESTIONS && be16_get(f->udp.len) == n &&
	       be16_get(f->udp.to) == d->port && be16_raw(f->udp.from) != 0 &&
	       be16_raw(f->udp.sum) != 0 &&
	       (be16_raw(f->dns.flags) | swap16(DNS_AD)) == swap16(DNS_RD | DNS_AD) &&
	       be16_raw(f->dns.count[DNS_QD]) == swap16(1) && be16_raw(f->dns.count[DNS_AN]) == 0 &&
	       load32(&f->dns.count[DNS_NS]) == 0;
}

/* The ready answer to a question of n bytes whose datagram is whole; NULL: none. Bytes behind the
 * frame may be read, but mean nothing. */
static inline struct dns64_record *find(const struct dns64 *d, const struct frame *f, uint32_t n)
{
	const struct dns64_cache *c = &d->cache;
	uint32_t words = n / 4, last = load32(f->question + (n & ~3u)) & dns64_quick_mask(n);
	uint32_t sum = csum_add32(last, swap16(PROTO_UDP) + (uint32_t)be16_raw(f->udp.len));
	uint32_t h = dns64_quick_word(c, words, last);
	for (uint32_t i = 0; i < words; i++) {
		uint32_t w = load32(f->question + 4 * i);
		sum = csum_add32(sum, w);
		h += dns64_quick_word(c, i, w);
	}
	struct dns64_record *r = dns64_quick_find(c, h);
	if (!r || r->name_len + (uint32_t)DNS_QUESTION_FIXED != n)
		return NULL;
	const uint8_t *at = dns64_message(r) + DNS_HEADER;
	if ((load32(at + (n & ~3u)) & dns64_quick_mask(n)) != dns_lower4(last))
		return NULL;
	for (uint32_t i = 0; i < words; i++) {
		uint32_t w = load32(f->question + 4 * i), is = load32(at + 4 * i);
		if (w != is && dns_lower4(w) != is)
			return NULL;
	}
	for (uint32_t i = 0; i < 4; i++)
		sum = csum_add32(csum_add32(sum, ip6_word(&f->ip.from, i)), ip6_word(&f->ip.to, i));
	const uint8_t *head = (const uint8_t *)&f->udp;
	for (uint32_t i = 0; i < (sizeof f->udp + sizeof f->dns) / 4; i++)
		sum = csum_add32(sum, load32(head + 4 * i));
	return csum_fold(sum) == 0xffff ? r : NULL;
}

/* Puts the records behind the question of n bytes, with what is left of their TTLs; gives
 * their sum. */
static inline uint16_t put_records(const struct gw *gw, uint8_t *to, const struct dns64_record *r,
                                   uint32_t n)
{
	const uint8_t *from = dns64_view(r).at + DNS_HEADER + n, *end = dns64_view(r).at + r->len;
	uint32_t age = gw->now_s - r->stored_s;
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

/* Turns a question of n bytes into its answer. In the checksum addresses, ports and question stay,
 * and the length counts twice: in its field and in the pseudo header. */
static inline void turn(struct gw *gw, struct pkt *p, const struct dns64_record *r, uint32_t n,
                        struct neigh *next)
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
	p->len = (uint32_t)sizeof *f - DNS_HEADER + r->len;
}

bool dns64_known(struct gw *gw, const struct gw_port *in, struct pkt *p)
{
	struct dns64 *d = dns64_of(gw);
	const struct frame *f = (const struct frame *)p->data;
	if (!is_usual(d, in, p))
		return false;
	const struct dns64_client *k = client_of(d, &f->ip.from);
	uint32_t n = be16_get(f->ip.len) + IP6_MIN - HEADERS;
	if (UNLIKELY(!is_client(gw, k, &f->ip.from, &f->ip.to, p->port)))
		return false;
	struct dns64_record *r = find(d, f, n);
	if (!r || UNLIKELY(!dns64_fresh(gw, r)))
		return false;
	const ip6 *hop = LIKELY(k->hop == 0) ? &f->ip.from : &gw->route6[k->hop - 1].via;
	struct neigh *next = neigh_ready6(&gw->neigh, k->port, hop);
	struct addr from = {.is6 = true};
	from.v6 = f->ip.from;
	if (UNLIKELY(!next || (d->rate && !dns64_limit(gw, &from))))
		return false;
	d->count.queries++;
	d->count.hits++;
	d->count.synthesised++;
	d->count.answers++;
	r->used = DNS64_USED_MAX;
	next->used = true;
	turn(gw, p, r, n, next);
	gw_transmit(gw, &gw->port[k->port], p);
	return true;
}
