/* The fast path of forwarders, through their flow caches.
 *
 * The slow path (gw_dispatch.c) makes every check and sends every error. What it finds out about a
 * flow stays in a table of the forwarder. A packet that needs no more than that takes the
 * fast path. There the core checks the headers, the hop limit and the size, finds the neighbour and
 * transmits. The forwarder finds its entry for the flow and rewrites the headers.
 *
 * The fast path sends no errors, and drops a packet only when the transmit queue is full: a packet
 * that needs anything else (a new flow, an option, a fragment, an error, a neighbour that is not
 * ready) takes the slow path, unchanged. So both paths give the same frames and the same counters.
 * The fuzzers play each input on both paths and compare.
 *
 * Partial packets (net/offload) take the same way by functions compiled for them: flow_partial.
 * They are judged by the segments that will leave, and their checksums change by the addresses
 * alone.
 *
 * A forwarder decides when an entry dies: its table belongs to it. An entry keeps its next hop, so
 * it dies, or finds its next hop again, when a route or an address changes (flow_is_stale, or the
 * forwarder's `changed`). */
#ifndef NET_FLOW_H
#define NET_FLOW_H

#include "net/lib/csum.h"
#include "net/gw.h"
#include "net/ip6/ip6.h"
#include "net/offload/offload.h"

/* A packet on the fast path: pointers into its frame, and what its header says. */
struct flow_packet {
	struct pkt *p;
	const struct ip4_hdr *h4; /* its header, for flow_read4 … */
	const struct ip6_hdr *h6; /* … or for flow_read6 */
	uint8_t *l4;              /* what follows the header */
	uint32_t n;               /* bytes there */
	/* Fields of the header: the protocol of what follows it, and the time to live or hop limit.
	 * They are pointers, so that the compiler need not hold the values in registers. */
	const uint8_t *proto, *hops;
	bool partial; /* a partial packet; known at compile time */
};

/* Where a packet goes. */
struct flow_exit {
	uint32_t iface;
	uint32_t hop;  /* as in struct pkt; not read when there is a hint */
	const ip6 *to; /* the destination of the packet that leaves, when that is an IPv6 one */
	struct neigh_hint *hint; /* the entry's, of this next hop; NULL when it has none */
};

/* Finds the forwarder's entry for a packet, and its exit; NULL: it takes the slow path. Makes all
 * checks that the packet needs beside those of flow_forward, and changes nothing but what
 * the slow path would change too. */
typedef void *flow_find(struct gw *gw, struct flow_packet *f, struct flow_exit *to);

/* Rewrites a packet by its entry, takes one hop, and gives the place of its IP header, in front of
 * f->l4. It cannot refuse the packet. */
typedef uint8_t *flow_rewrite(struct gw *gw, void *entry, const struct flow_packet *f);

/* Reads the IPv4 packet of a frame to our own MAC address. False for any other frame, and for a
 * packet with options, a fragment, one that is cut or has a wrong checksum. */
ALWAYS_INLINE bool flow_read4(struct flow_packet *f, const struct interface *in, struct pkt *p)
{
	const struct eth_hdr *eth = (const struct eth_hdr *)p->data;
	const struct ip4_hdr *h = (const struct ip4_hdr *)(p->data + sizeof *eth);
	uint32_t len = f->partial ? p->total : p->len;
	if (UNLIKELY(p->len < sizeof *eth + IP4_MIN) || !mac_eq(&eth->to, &in->address) ||
	    be16_raw(eth->type) != swap16(ETH_IP4))
		return false;
	f->n = be16_get(h->len) - IP4_MIN; /* wraps for a length that is too short */
	if (UNLIKELY(h->version_ihl != 0x45 || f->n > len - sizeof *eth - IP4_MIN ||
	             be16_raw(h->frag) & swap16(IP4_MF | IP4_OFFSET) ||
	             csum_ip4_header(h) != 0xffff))
		return false;
	f->h4 = h;
	f->l4 = p->data + sizeof *eth + IP4_MIN;
	f->proto = &h->proto;
	f->hops = &h->ttl;
	return true;
}

/* Reads an IPv6 packet of at most `room` bytes at `at`, which hold its header. False for one that
 * is cut. */
ALWAYS_INLINE bool flow_inner6(struct flow_packet *f, uint8_t *at, uint32_t room)
{
	const struct ip6_hdr *h = (const struct ip6_hdr *)at;
	if (UNLIKELY(h->first.b[0] >> 4 != 6))
		return false;
	f->n = be16_get(h->len);
	f->h6 = h;
	f->l4 = at + IP6_MIN;
	f->proto = &h->next;
	f->hops = &h->hops;
	return LIKELY(f->n <= room - IP6_MIN);
}

/* Reads the IPv6 packet of a frame to our own MAC address. False for any other frame, and for a
 * packet that is cut. */
ALWAYS_INLINE bool flow_read6(struct flow_packet *f, const struct interface *in, struct pkt *p)
{
	const struct eth_hdr *eth = (const struct eth_hdr *)p->data;
	return LIKELY(p->len >= sizeof *eth + IP6_MIN) && mac_eq(&eth->to, &in->address) &&
	       be16_raw(eth->type) == swap16(ETH_IP6) &&
	       flow_inner6(f, p->data + sizeof *eth,
	                   (f->partial ? p->total : p->len) - (uint32_t)sizeof *eth);
}

/* True for TCP and UDP, if the packet has the header (of TCP the part before the options). */
ALWAYS_INLINE bool flow_has_ports(const struct flow_packet *f)
{
	if (*f->proto == PROTO_TCP)
		return LIKELY(f->n >= sizeof(struct tcp_hdr));
	return LIKELY(*f->proto == PROTO_UDP) && LIKELY(f->n >= sizeof(struct udp_hdr));
}

/* True for a segment that may offer an MSS. */
ALWAYS_INLINE bool flow_has_mss(const struct flow_packet *f)
{
	return *f->proto == PROTO_TCP && f->n >= sizeof(struct tcp_hdr) &&
	       ((const struct tcp_hdr *)f->l4)->flags & TCP_SYN;
}

/* The neighbour to which an exit leads, by the table; NULL when it is not ready. */
ALWAYS_INLINE struct neigh *flow_look_up(struct gw *gw, const struct flow_exit *to)
{
	if (!to->to)
		return neigh_ready4(&gw->neigh, to->iface, to->hop);
	return neigh_ready6(&gw->neigh, to->iface, route6_hop(&gw->routes6, to->hop, to->to));
}

/* The same, where the hint leads nowhere any more. Takes the fields of an exit, so that the exit
 * itself stays in registers. */
struct neigh *flow_hint(struct gw *gw, uint32_t iface, const ip6 *to, struct neigh_hint *hint);

/* The neighbour to which an exit leads; NULL when it is not ready. */
ALWAYS_INLINE struct neigh *flow_next(struct gw *gw, const struct flow_exit *to)
{
	if (!to->hint)
		return flow_look_up(gw, to);
	struct neigh *n = neigh_by_hint(to->hint);
	return LIKELY(n) ? n : flow_hint(gw, to->iface, to->to, to->hint);
}

/* True for a partial packet whose checksum is that of the transport header behind the IP header. */
ALWAYS_INLINE bool flow_is_plain_sum(const struct flow_packet *f)
{
	uint32_t at = *f->proto == PROTO_TCP ? OFFLOAD_SUM_TCP : OFFLOAD_SUM_UDP;
	return f->p->data + f->p->l4 == f->l4 && f->p->l4_len == at && flow_has_ports(f);
}

/* Bytes behind the IP header of the largest packet that leaves. */
ALWAYS_INLINE uint32_t flow_largest(const struct flow_packet *f)
{
	if (!f->partial || !f->p->segment)
		return f->n;
	return offload_header(f->p) - f->p->l4 + f->p->segment;
}

/* Transmits a partial packet whose frame begins at `frame` now. */
ALWAYS_INLINE void flow_transmit_partial(struct gw *gw, struct interface *out,
                                         const struct flow_packet *f, uint8_t *frame)
{
	struct pkt *p = f->p;
	uint32_t less = (uint32_t)(frame - p->data);
	p->data = frame;
	p->len -= less;
	p->total -= less;
	p->l4 = (uint16_t)(f->l4 - frame);
	offload_transmit(gw, out, p);
}

/* flow_forward for one frame. */
ALWAYS_INLINE bool flow_forward_one(struct gw *gw, const struct interface *in, struct pkt *p,
                                    enum family family, uint32_t head, flow_find *find,
                                    flow_rewrite *rewrite, bool partial)
{
	struct flow_packet f = {.p = p, .partial = partial};
	struct flow_exit to;
	if (!(family == FAMILY_IP4 ? flow_read4(&f, in, p) : flow_read6(&f, in, p)))
		return false;
	if (partial && UNLIKELY(!flow_is_plain_sum(&f)))
		return false;
	void *entry = find(gw, &f, &to);
	if (UNLIKELY(!entry || *f.hops <= 1))
		return false;
	struct interface *out = &gw->iface[to.iface];
	if (!__builtin_constant_p(to.iface)) {
		/* Else the compiler computes it again wherever it needs it. */
		struct interface *volatile once = out;
		out = once;
	}
	if (UNLIKELY(head + flow_largest(&f) > out->mtu))
		return false;
	struct neigh *next = flow_next(gw, &to);
	if (UNLIKELY(!next))
		return false;
	uint8_t *ip = rewrite(gw, entry, &f);
	next->used = true;
	if (partial) {
		uint8_t *frame = ip - sizeof next->eth;
		memcpy(frame, &next->eth, sizeof next->eth);
		flow_transmit_partial(gw, out, &f, frame);
		return true;
	}
	p->data = ip - sizeof next->eth;
	p->len = head + f.n + (uint32_t)sizeof next->eth;
	memcpy(p->data, &next->eth, sizeof next->eth);
	gw_transmit(gw, out, p);
	return true;
}

/* Forwards frames that came in on `in`, in order. Stops at the first frame that needs the slow
 * path. Gives the number of frames forwarded, and takes only these. It reads each frame as a packet
 * of this family; `head` is the number of bytes in front of f->l4 that a packet has when it leaves.
 * Compiled for each forwarder, so that its two functions are inlined. */
ALWAYS_INLINE uint32_t flow_forward(struct gw *gw, const struct interface *in, struct pkt **burst,
                                    uint32_t n, enum family family, uint32_t head, flow_find *find,
                                    flow_rewrite *rewrite)
{
	struct pkt **at = burst, **end = burst + n;
	while (at != end &&
	       LIKELY(flow_forward_one(gw, in, *at, family, head, find, rewrite, false)))
		at++;
	gw->counts.forwarded += (uint32_t)(at - burst);
	return (uint32_t)(at - burst);
}

/* flow_forward for one partial packet. True when it was forwarded; else it is as it was. */
ALWAYS_INLINE bool flow_partial(struct gw *gw, const struct interface *in, struct pkt *p,
                                enum family family, uint32_t head, flow_find *find,
                                flow_rewrite *rewrite)
{
	uint32_t n = p->segments;
	if (!flow_forward_one(gw, in, p, family, head, find, rewrite, true))
		return false;
	gw->counts.forwarded += n;
	return true;
}

/* Changes a partial checksum, of which f->l4 is the transport header, by the difference of the
 * addresses: it is the sum of the pseudo header, not inverted. */
ALWAYS_INLINE void flow_fix_partial(const struct flow_packet *f, uint16_t delta)
{
	uint8_t *field = f->l4 + f->p->l4_len;
	store16(field, csum_plus(load16(field), delta));
}

/* The other place, in an array, of what has one place at this entry of it. What is noted takes its
 * first place, and what was there moves to the other one, so that two pairs with the same places
 * are both found. A free entry does not move: it would erase a pair that is in the other place. */
#define flow_other(table, entry) (&(table)[((entry) - (table)) ^ 1])

/* An entry of a table, by an address that the compiler takes as it is. Else it computes the address
 * again wherever the entry is read, and copies words of the packet that the hash has read, to
 * compare the copies. */
ALWAYS_INLINE void *flow_entry(void *entry)
{
	__asm__("" : "+r"(entry) : : "memory");
	return entry;
}

/* A forwarder's flow_forward; n is not 0. */
typedef uint32_t flow_pass(struct gw *gw, const struct interface *in, struct pkt **burst,
                           uint32_t n);

/* Forwards n frames that came in on an interface: a frame that `pass` does not take goes to
 * gw_frame. Takes the frames. */
ALWAYS_INLINE void flow_frames(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n,
                               flow_pass *pass)
{
	struct pkt **end = burst + n;
	while (burst != end) {
		burst += pass(gw, &gw->iface[iface], burst, (uint32_t)(end - burst));
		if (burst != end)
			gw_frame(gw, *burst++);
	}
}

/* True when a route or an address of ours has changed since the last call with the same counter.
 * Each table of flows has a counter, which is 0 at first. True means that no entry of that table is
 * valid any more. */
static inline bool flow_is_stale(const struct gw *gw, uint32_t *changes)
{
	bool stale = UNLIKELY(*changes != gw->changes);
	*changes = gw->changes;
	return stale;
}

/* Number of entries of a table of flows by their two addresses, as a power of two. */
#ifndef FLOW_BITS /* fewer in the fuzzers, so that flows share places */
#define FLOW_BITS 11u
#endif

/* Secret odd multipliers of the hash of a pair of addresses. */
struct flow_key {
	uint32_t mul[2];
};

/* Draws a key. */
static inline struct flow_key flow_key(struct rng *rng)
{
	uint32_t a = rng_u32(rng), b = rng_u32(rng);
	return (struct flow_key){{a | 1, b | 1}};
}

/* Rotates a raw IPv4 address so that its last byte becomes the lowest. Neighbouring addresses
 * differ in that byte, and multiplication carries upward only. */
static inline uint32_t flow_mix(uint32_t a)
{
	return a << 8 | a >> 24;
}

/* The first of the two places that a pair of raw IPv4 addresses may have in a table (flow_other).
 * The second multiplication is there because equal steps between addresses are equal steps of the
 * sum: with a few keys they are so small that most pairs would share their places. */
static inline uint32_t flow_hash4(const struct flow_key *k, uint32_t from, uint32_t to)
{
	uint32_t h = flow_mix(from) * k->mul[0] + flow_mix(to) * k->mul[1];
	return ((h ^ h >> 15) * 0x85ebca6bu) >> (32 - FLOW_BITS); /* from MurmurHash3 */
}

/* The first of the two places of a pair of IPv6 addresses (flow_other). The sum of the words is
 * enough of a hash: addresses of hosts differ in few places, and a host that causes collisions on
 * purpose costs others no more than the slow path. */
static inline uint32_t flow_hash6(const struct flow_key *k, const ip6 *from, const ip6 *to)
{
	return flow_hash4(k, ip6_word(from, 1) + ip6_word(from, 2) + ip6_word(from, 3),
	                  ip6_word(to, 1) + ip6_word(to, 2) + ip6_word(to, 3));
}

#endif
