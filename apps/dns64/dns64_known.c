/* Frames that need not go the whole way: answers of upstream servers, and questions of clients that
 * were answered before.
 *
 * What the whole way finds out about a client (its address is good here and may ask, ours is
 * valid, the way back) is noted once and holds until addresses or routes change. Questions of the
 * usual kind are found in the cache's index of ready answers. One loop over the question gives
 * its hash and its checksum, and that of the answer is the question's and what is added to it. All
 * is asked before the first byte changes; whatever is not usual goes the whole way. */
#include "apps/dns64/dns64.h"
#include "net/client.h"
#include "net/csum.h"
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

/* --- clients ------------------------------------------------------------------------ */

/* Adding words up is enough of a hash, as in xlat_cache.h. */
static inline uint32_t place_of6(const struct dns64 *d, const ip6 *a)
{
	uint32_t h = (ip6_word(a, 1) + ip6_word(a, 2)) * d->client_mul[0] +
	             ip6_word(a, 3) * d->client_mul[1];
	return h >> (32 - DNS64_CLIENT_BITS);
}

static inline uint32_t place_of4(const struct dns64 *d, ip4 a)
{
	return ip4_raw(a) * d->client_mul[1] >> (32 - DNS64_CLIENT_BITS);
}

/* The path to a client that is known, NULL: it is not. */
static inline struct udp_path *client6(const struct gw *gw, struct dns64 *d, const ip6 *from,
                                       const ip6 *to)
{
	struct udp_path *w = &d->known[place_of6(d, from)];
	bool same = w->remote.is6 && ip6_eq(&w->remote.v6, from) && ip6_eq(&w->local.v6, to);
	return same && udp_path_holds(gw, w) ? w : NULL;
}

static inline struct udp_path *client4(const struct gw *gw, struct dns64 *d, ip4 from, ip4 to)
{
	struct udp_path *w = &d->known[place_of4(d, from)];
	bool same = !w->remote.is6 && ip4_eq(w->remote.v4, from) && ip4_eq(w->local.v4, to);
	return same && udp_path_holds(gw, w) ? w : NULL;
}

const struct udp_path *dns64_path_to(const struct gw *gw, const struct udp_ends *e)
{
	struct dns64 *d = dns64_of(gw);
	return e->remote.is6 ? client6(gw, d, &e->remote.v6, &e->local.v6)
	                     : client4(gw, d, e->remote.v4, e->local.v4);
}

void dns64_known_init(struct gw *gw, struct dns64 *d)
{
	for (unsigned i = 0; i < ARRAY_SIZE(d->client_mul); i++)
		d->client_mul[i] = rng_u32(gw->rng) | 1;
}

void dns64_know(struct gw *gw, const struct udp_ends *e)
{
	struct dns64 *d = dns64_of(gw);
	const struct addr *a = &e->remote;
	if (LIKELY(dns64_path_to(gw, e) != NULL))
		return;
	/* What came so far has a good source, and our address is valid. */
	struct udp_path w;
	if (d->debug || !dns64_may_ask(d, a) || !udp_path_find(gw, &w, a, &e->local) ||
	    w.iface != e->link)
		return;
	d->known[a->is6 ? place_of6(d, &a->v6) : place_of4(d, a->v4)] = w;
}

/* --- questions ------------------------------------------------------------------------ */

/* True for a question that may have a ready answer, over IPv6 and with nothing behind it. */
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

/* Whether a record of the index is the ready answer to a question of n bytes. */
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

/* Whether the checksum of a usual question of n bytes is right. If so *ready is its ready
 * answer, NULL: none. */
static inline bool find(const struct dns64 *d, const struct udp_path *w, const struct frame *f,
                        uint32_t n, struct dns64_record **ready)
{
	const struct dns64_cache *c = &d->cache;
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
	*ready = r && answers(r, f, n) ? r : NULL;
	return csum_fold(sum) == 0xffff;
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
}

/* The client at the remote end of a path over IPv6, with the neighbour that it leads to: what
 * client_of gives, without its look-ups. */
static inline uint32_t client_at(const struct gw *gw, const struct udp_path *w,
                                 const struct neigh *next)
{
	return w->hop == 0 ? client_station(gw, w->iface, &next->eth.to)
	                   : client_beyond(gw, &w->remote);
}

/* Answers with a record that is ready; false when that cannot be now. */
static inline bool answer(struct gw *gw, const struct udp_path *w, struct pkt *p,
                          struct dns64_record *r, uint32_t n)
{
	struct dns64 *d = dns64_of(gw);
	struct neigh *next = udp_path_next(gw, w);
	uint32_t len = (uint32_t)sizeof(struct frame) - DNS_HEADER + r->len;
	if (UNLIKELY(!next || !dns64_fresh(gw, r) ||
	             (d->n_skip_clients &&
	              dns64_in_prefixes(d->skip_client, d->n_skip_clients, &w->remote)) ||
	             (d->rate && !dns64_limit(gw, client_at(gw, w, next))) ||
	             (len > p->len && !pkt_put(p, len - p->len))))
		return false;
	d->count.queries++;
	d->count.hits++;
	d->count.synthesised++;
	d->count.answers++;
	r->used = DNS64_USED_MAX;
	next->used = true;
	pkt_trim(p, len);
	turn(gw, p, r, n, next);
	gw_transmit(gw, &gw->iface[w->iface], p);
	return true;
}

/* The path of a frame's addresses, when it is one of a client that is known. */
static inline const struct udp_path *path_of(const struct gw *gw, struct dns64 *d,
                                             const struct pkt *p)
{
	const struct udp_frame6 *f6 = (const struct udp_frame6 *)p->data;
	const struct udp_frame4 *f4 = (const struct udp_frame4 *)p->data;
	return LIKELY(be16_raw(f6->eth.type) == swap16(ETH_IP6))
	               ? client6(gw, d, &f6->ip.from, &f6->ip.to)
	               : client4(gw, d, f4->ip.from, f4->ip.to);
}

/* A frame to the port on which clients ask, with the UDP header `udp`. */
static bool question(struct gw *gw, const struct interface *in, struct pkt *p,
                     const struct udp_hdr *udp)
{
	struct dns64 *d = dns64_of(gw);
	const struct udp_path *w = path_of(gw, d, p);
	if (UNLIKELY(!w || w->iface != p->iface || be16_raw(udp->from) == 0))
		return false;
	uint32_t len;
	const uint8_t *m;
	if (w->remote.is6 && is_usual(in, p)) {
		struct dns64_record *ready;
		const struct frame *f = (const struct frame *)p->data;
		uint32_t n = be16_get(f->ip.len) + IP6_MIN - HEADERS;
		if (UNLIKELY(!find(d, w, f, n, &ready)))
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
	const struct dns64_from from = {.ends = {.local = w->local,
	                                         .remote = w->remote,
	                                         .local_port = d->port,
	                                         .remote_port = be16_get(udp->from),
	                                         .link = p->iface},
	                                .conn = TCP_NONE,
	                                .known = true};
	if (!pkt_pull(p, (uint32_t)(m - p->data)))
		return false; /* the message is in it */
	pkt_trim(p, len);
	dns64_send_datagram(gw, p, &from);
	return true;
}

bool dns64_known(struct gw *gw, const struct interface *in, struct pkt *p)
{
	const struct udp_hdr *udp = udp_path_header(p);
	if (!udp)
		return false;
	return be16_get(udp->to) == dns64_of(gw)->port ? question(gw, in, p, udp)
	                                               : dns64_try_heard(gw, in, p, udp);
}
