/* See tcp_refuse.h. */
#include "net/tcp_refuse.h"

#include "net/csum.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "net/udp.h"

static uint16_t pseudo_sum(const struct pkt *p, bool is6)
{
	return is6 ? csum_pseudo6(&ip6_header(p)->from, &ip6_header(p)->to, PROTO_TCP, p->l4_len)
	           : csum_pseudo4(ip4_header(p)->from, ip4_header(p)->to, PROTO_TCP, p->l4_len);
}

/* The header of the answer to a segment of `len` bytes of data (RFC 9293 section
 * 3.10.7.1, CLOSED). */
static struct tcp_hdr reset_for(const struct tcp_hdr *t, uint32_t len)
{
	struct tcp_hdr r;
	memset(&r, 0, sizeof r);
	r.from = t->to;
	r.to = t->from;
	r.offset = sizeof r / 4 << 4;
	if (t->flags & TCP_ACK) {
		r.flags = TCP_RST;
		r.seq = t->ack;
		return r;
	}
	len += (t->flags & TCP_SYN) != 0;
	len += (t->flags & TCP_FIN) != 0;
	r.flags = TCP_RST | TCP_ACK;
	r.ack = be32_of(be32_get(t->seq) + len);
	return r;
}

static enum verdict send4(struct gw *gw, struct pkt *p, struct tcp_hdr *tcp, ip4 from, ip4 to)
{
	if (!pkt_push(p, IP4_MIN))
		return gw_drop(gw, p, DROP_NO_PACKET);
	tcp->sum = be16_from_raw((uint16_t)~csum_plus(
	        csum_sum(tcp, sizeof *tcp), csum_pseudo4(from, to, PROTO_TCP, sizeof *tcp)));
	ip4_build(gw, p, from, to, PROTO_TCP, 0);
	gw_send(gw, p);
	return V_KEPT;
}

static enum verdict send6(struct gw *gw, struct pkt *p, const ip6 *from, const ip6 *to,
                          uint32_t link)
{
	if (!pkt_push(p, IP6_MIN))
		return gw_drop(gw, p, DROP_NO_PACKET);
	ip6_build(p, from, to, PROTO_TCP, IP6_HOPS);
	ip6_sum(p, offsetof(struct tcp_hdr, sum));
	if (ip6_is_link_local(to))
		ip6_to_link(p, link);
	gw_send6(gw, p);
	return V_KEPT;
}

enum verdict tcp_refuse(struct gw *gw, struct pkt *p)
{
	const struct tcp_hdr *t = (const struct tcp_hdr *)pkt_at(p, p->l4, sizeof *t);
	bool is6 = p->data[0] >> 4 == 6;
	uint32_t link = p->port;
	if (!t || p->l4_len < sizeof *t)
		return gw_drop(gw, p, DROP_L4_HEADER);
	if (!udp_serves(gw, be16_get(t->to)))
		return V_LOCAL;
	uint32_t hlen = (uint32_t)(t->offset >> 4) * 4;
	if (hlen < sizeof *t || hlen > p->l4_len)
		return gw_drop(gw, p, DROP_L4_HEADER);
	if (csum_plus(csum_sum(t, p->l4_len), pseudo_sum(p, is6)) != 0xffff)
		return gw_drop(gw, p, DROP_TCP_CHECKSUM);
	if (t->flags & TCP_RST) /* no reset for a reset */
		return gw_drop(gw, p, DROP_NO_SERVICE);
	struct tcp_hdr reset = reset_for(t, p->l4_len - hlen);
	ip6 from6 = {{0}}, to6 = {{0}};
	ip4 from4 = {{0}}, to4 = {{0}};
	if (is6) {
		from6 = ip6_header(p)->to;
		to6 = ip6_header(p)->from;
	} else {
		from4 = ip4_header(p)->to;
		to4 = ip4_header(p)->from;
	}
	if (!pkt_pull(p, p->l4))
		return gw_drop(gw, p, DROP_L4_HEADER); /* seen above */
	pkt_trim(p, sizeof reset);
	memcpy(p->data, &reset, sizeof reset);
	p->port = PKT_PORT_SELF;
	p->flags = 0;
	return is6 ? send6(gw, p, &from6, &to6, link)
	           : send4(gw, p, (struct tcp_hdr *)p->data, from4, to4);
}
