/* The application `6to4`: IPv6 hosts on the LAN reach the IPv6 world in tunnels
 * through IPv4 (RFC 3056, RFC 4213; with 6rd.prefix RFC 5969), and with 6to4.nat the
 * same box is the NAT for their IPv4 (RFC 3056 section 5.8). Here are its hooks;
 * the engine is in tun6to4_init.c, _out.c, _in.c and _icmp.c.
 *
 * NAT and tunnel share one IPv4 address: protocol 41 to it belongs to the tunnel
 * before the NAT looks, ICMP errors go to whom the quoted packet belongs, and both
 * draw their identifications from gw_ip_id.
 *
 * Left out on purpose: relaying for others (a destination outside our own prefix is
 * refused), anycast relays (RFC 7526), dynamic path MTU (optional in RFC 4213 section
 * 3.2.2), native IPv6 on the WAN. */
#include "apps/tun6to4.h"

#include "apps/apps.h"
#include "kernel/alloc.h"
#include "kernel/fmt.h"
#include "net/mss.h"

static const char *tun_init(struct gw *gw)
{
	struct tun *t = alloc(sizeof *t, 64);
	if (!t)
		return "not enough memory";
	gw->state = t;
	const char *bad = tun_setup(gw, t);
	t->has_nat = gw->config->tun.nat;
	t->nat.no_protocol41 = true;
	return bad || !t->has_nat ? bad : nat_start(gw);
}

/* IPv4 without a NAT: only what is for the gateway itself. */
static enum verdict plain_ip4(struct gw *gw, struct pkt *p)
{
	enum drop bad = ip4_bad_destination(gw, p);
	if (bad != DROP_NONE)
		return gw_drop(gw, p, bad);
	if (gw_is_own(gw, ip4_to(p)))
		return V_LOCAL;
	return gw_drop(gw, p, p->port == PORT_LAN ? DROP_IPV4 : DROP_FOREIGN);
}

static enum verdict tun_ip4(struct gw *gw, struct pkt *p)
{
	struct tun *t = tun_of(gw);
	enum verdict v = V_DROP;
	if (p->port == PORT_WAN && ip4_raw(ip4_to(p)) == t->outer) {
		if (LIKELY(p->proto == PROTO_IP6))
			return tun_unwrap(gw, t, p);
		if (p->proto == PROTO_ICMP && tun_icmp(gw, t, p, &v))
			return v;
	}
	return t->has_nat ? nat_ip4(gw, p) : plain_ip4(gw, p);
}

/* Out of the tunnel to a host of the site; the source was checked on the way in. */
static inline enum verdict deliver(struct gw *gw, struct tun *t, struct pkt *p)
{
	if (UNLIKELY(tun_is_nested(p->proto)))
		return gw_drop(gw, p, DROP_NESTED_TUNNEL);
	if (UNLIKELY(ip6_may_forward(gw, p) != V_SEND6))
		return V_DROP;
	if (UNLIKELY(t->mss))
		mss_clamp(p, t->mss);
	ip6_hop(ip6_header(p));
	return V_SEND6;
}

static enum verdict tun_ip6(struct gw *gw, struct pkt *p)
{
	struct tun *t = tun_of(gw);
	if (p->out == PORT_APP)
		return tun_wrap(gw, t, p);
	return p->port == PORT_APP ? deliver(gw, t, p) : ip6_forward(gw, p);
}

static bool tun_tick(struct gw *gw)
{
	struct tun *t = tun_of(gw);
	reasm_tick(gw, &t->reasm);
	tun_soft_tick(gw, t);
	return t->has_nat && nat_tick(gw);
}

static bool tun_show(struct gw *gw, enum app_show what, uint32_t *cursor, char *buf, size_t size)
{
	const struct tun *t = tun_of(gw);
	const struct {
		const char *name;
		uint64_t value;
	} row[] = {
	        {"tunnel_out_packets", t->out},           {"tunnel_in_packets", t->in},
	        {"tunnel_errors_told", t->errors},        {"tunnel_errors_remembered", t->n_soft},
	        {"tunnel_reassembling", t->reasm.n_used}, {"tunnel_ecn_odd", t->ecn_odd},
	};
	uint32_t own = what == SHOW_STATS ? ARRAY_SIZE(row) : 0, i = *cursor;
	if (i < own) {
		fmt(buf, size, "%s %llu", row[i].name, (unsigned long long)row[i].value);
		++*cursor;
		return true;
	}
	uint32_t rest = i - own;
	bool more = t->has_nat && nat_show(gw, what, &rest, buf, size);
	*cursor = rest + own;
	return more;
}

const struct app app_tun6to4 = {
        .no_wan6 = true,
        .init = tun_init,
        .ip4 = tun_ip4,
        .ip6 = tun_ip6,
        .tick = tun_tick,
        .show = tun_show,
};
