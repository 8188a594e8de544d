/* ICMP errors about our TCP segments: path MTU (RFC 1191, RFC 8201) and destinations that
 * are unreachable (RFC 9293 section 3.9.2.2). See tcp_conn.h.
 *
 * An attacker who guesses two ports can send such errors. So an error counts only when it
 * quotes a sequence number in flight (RFC 5927 section 4.1). It never ends an open
 * connection (section 5.2), and never makes segments smaller than what every path carries
 * (section 7). */
#include "net/tcp/tcp_conn.h"

#include "net/ip4/ip4.h"
#include "net/ip6/ip6.h"

enum { QUOTED = 8 }; /* bytes of the TCP header in every quote: ports and sequence number */

struct quote {
	struct udp_ends ends;
	uint32_t seq;
};

/* Reads the quoted header of our packet; false when it is not TCP or not complete. */
static bool read_quote(const struct pkt *p, uint32_t at, bool is6, struct quote *q)
{
	uint32_t hlen = is6 ? IP6_MIN : IP4_MIN;
	const uint8_t *ip = pkt_at(p, at, hlen);
	memset(q, 0, sizeof *q);
	q->ends.local.is6 = q->ends.remote.is6 = is6;
	q->ends.iface = p->iface;
	if (!ip)
		return false;
	if (is6) { /* we send no extension headers */
		const struct ip6_hdr *h = (const struct ip6_hdr *)ip;
		q->ends.local.v6 = h->from;
		q->ends.remote.v6 = h->to;
		if (h->first.b[0] >> 4 != 6 || h->next != PROTO_TCP)
			return false;
	} else {
		const struct ip4_hdr *h = (const struct ip4_hdr *)ip;
		q->ends.local.v4 = h->from;
		q->ends.remote.v4 = h->to;
		if (h->version_ihl != 0x45 || h->proto != PROTO_TCP ||
		    be16_get(h->frag) & IP4_OFFSET)
			return false;
	}
	const uint8_t *tcp = pkt_at(p, at + hlen, QUOTED);
	if (!tcp)
		return false;
	const struct tcp_hdr *t = (const struct tcp_hdr *)tcp;
	q->ends.local_port = be16_get(t->from);
	q->ends.remote_port = be16_get(t->to);
	q->seq = be32_get(t->seq);
	return true;
}

/* Reduces the segment size after an error "too big". What is in flight is sent again in
 * smaller segments, and the congestion window stays (RFC 8201 section 5.4). */
static void too_big(struct gw *gw, struct tcp_conn *c, uint32_t mtu)
{
	bool is6 = c->ends.remote.is6;
	uint32_t head = (is6 ? IP6_MIN : IP4_MIN) + (uint32_t)sizeof(struct tcp_hdr);
	uint32_t least = is6 ? TCP_MSS6 : TCP_MSS4;
	uint32_t mss = max_u32(mtu > head ? mtu - head : 0, least);
	if (c->state < TCP_ESTABLISHED || mss >= c->mss)
		return;
	c->may_fragment = mss == least; /* the path MTU may be even smaller (IPv4) */
	c->mss = mss;
	c->nxt = c->una;
	c->timing = false;
	tcp_output(gw, c);
}

/* True for errors that mean that the destination will not answer: port, protocol,
 * prohibition. Others may be temporary (RFC 9293 section 3.9.2.2, RFC 5461 section 2.2). */
static bool is_hard(bool is6, uint8_t type, uint8_t code)
{
	if (is6)
		return type == ICMP6_UNREACHABLE && (code == ICMP6_ADMIN || code == ICMP6_PORT);
	return type == ICMP_UNREACHABLE &&
	       (code == ICMP_PROTOCOL || code == ICMP_PORT || code == ICMP_NET_ADMIN ||
	        code == ICMP_HOST_ADMIN || code == ICMP_ADMIN);
}

bool tcp_icmp(struct gw *gw, const struct pkt *p)
{
	bool is6 = p->data[0] >> 4 == 6;
	const struct icmp_hdr *icmp = (const struct icmp_hdr *)pkt_at(p, p->l4, sizeof *icmp);
	struct quote q;
	if (!icmp || !read_quote(p, p->l4 + (uint32_t)sizeof *icmp, is6, &q))
		return false;
	struct tcp_conn *c = tcp_find(gw, &q.ends);
	if (!c || c->state >= TCP_TIME_WAIT || seq_lt(q.seq, c->una) || !seq_lt(q.seq, c->max))
		return false;
	if (is6 ? icmp->type == ICMP6_TOO_BIG
	        : icmp->type == ICMP_UNREACHABLE && icmp->code == ICMP_TOO_BIG)
		too_big(gw, c,
		        is6 ? be32_get(((const struct icmp6_hdr *)icmp)->rest)
		            : be16_get(icmp->seq));
	else if (c->state == TCP_SYN_SENT && is_hard(is6, icmp->type, icmp->code))
		tcp_end(gw, c, TCP_UNREACHABLE);
	return true;
}
