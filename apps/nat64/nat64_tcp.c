/* What RFC 6146 section 3.5.2 asks of TCP beside the states of apps/nat: a connection is
 * established when both sides have sent a SYN, packets of both sides restart its lifetime, and an
 * established session that expires is probed. The other states and transitions are the same
 * (nat_tcp.h). */
#include "apps/nat64/nat64.h"

#include "net/ip6/icmp6.h"

/* Gives a session the lifetime of its state. */
static void set_life(struct gw *gw, struct nat *n, struct nat_session *s)
{
	uint32_t life_s = n->life_s[NAT_TCP][s->state], expire_s = gw->clock.s + life_s;
	if (life_s < nat_session_left(s, gw->clock.s))
		nat_session_sooner(&n->table, s, expire_s);
	else
		s->expire_s = expire_s;
}

void nat64_meet(struct gw *gw, struct nat *n, struct nat_session *s)
{
	s->state = NAT_ESTABLISHED;
	set_life(gw, n, s);
}

/* A segment that is not the connection's (nat_tcp.h) changes no timer, and neither does a RST from
 * outside: only the connection's own RST begins the transitory time (section 3.5.2.2). */
void nat64_follow(struct gw *gw, struct nat *n, struct nat_session *s, const struct tcp_hdr *tcp,
                  uint32_t len, enum nat_side side)
{
	const uint8_t both = NAT_HEARD_INSIDE | NAT_HEARD_OUTSIDE;
	uint8_t was = s->state;
	bool real = nat_tcp_segment(s, tcp, len, side);
	if (s->state == NAT_INIT && (s->flags & both) == both)
		s->state = NAT_ESTABLISHED;
	if (s->state != was)
		set_life(gw, n, s);
	else if (real && !(tcp->flags & TCP_RST) && s->state != NAT_BOTH_FIN)
		nat64_refresh(gw, n, s, side);
}

void nat64_probe(void *of, const struct nat_session *s)
{
	struct gw *gw = of;
	struct nat64 *n = nat64_of(gw);
	void *at;
	if (!nat_inside_is6(s->in_ip))
		return;
	const ip6 *to = &nat_inside_of(&n->inside, s->in_ip)->addr;
	const struct route6 *r = route6_for(&gw->routes6, to);
	if (!r || !interface_is_inside(r->iface))
		return; /* the network of the host is gone */
	struct pkt *p = icmp6_new(gw, sizeof(struct tcp_hdr), &at);
	if (!p)
		return;
	ip6 from;
	embed_to6(&n->prefix[s->route_in].form, s->rem_ip, &from);
	struct tcp_hdr *tcp = at;
	*tcp = (struct tcp_hdr){.from = be16_from_raw((uint16_t)(s->ports >> 16)),
	                        .to = be16_from_raw((uint16_t)s->ports),
	                        .offset = sizeof *tcp / 4 << 4,
	                        .flags = TCP_ACK};
	ip6_build(p, &from, to, PROTO_TCP, IP6_HOPS);
	ip6_sum(p, offsetof(struct tcp_hdr, sum));
	n->probes++;
	gw_send6(gw, p);
}
