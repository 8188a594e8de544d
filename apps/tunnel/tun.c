/* The application `6to4`: IPv6 hosts on the LAN reach the IPv6 world in tunnels through
 * IPv4 (RFC 3056, RFC 4213; with 6rd.prefix RFC 5969). With 6to4.nat the same box is the
 * NAT for their IPv4 (RFC 3056 section 5.8). The engine is in tun_setup.c, tun_end.c,
 * tun_out.c, tun_in.c, tun_icmp.c and tun_flow.c.
 *
 * NAT and tunnel share one IPv4 address. Protocol 41 to that address goes to the tunnel
 * before the NAT looks at it. An ICMP error goes to NAT or tunnel, whichever sent the
 * quoted packet. Both take their identifications from ip4_id.
 *
 * Not implemented on purpose: relaying for others (a destination outside our own prefix is
 * refused), anycast relays (RFC 7526), dynamic path MTU (optional in RFC 4213 section
 * 3.2.2), native IPv6 on the WAN. */
#include "apps/tunnel/tun.h"

#include "apps/apps.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "net/stats/count.h"
#include "net/gw_address.h"

static const char *tun_init(struct gw *gw)
{
	struct tun *t = alloc(sizeof *t, 64);
	if (!t)
		return "not enough memory";
	gw->state = t;
	if (!tun_flow_init(gw, t))
		return "not enough memory";
	const char *bad = tun_setup(gw, t);
	t->has_nat = tun_config(gw->config)->nat;
	t->nat.no_protocol41 = true;
	return bad || !t->has_nat ? bad : nat_start(gw);
}

static bool tun_concerns4(const struct gw *gw, const struct pkt *p)
{
	return tun_of(gw)->has_nat ? nat_concerns4(gw, p) : gw_is_own(gw, ip4_to(p));
}

static void tun_tune(struct gw *gw)
{
	if (tun_of(gw)->has_nat)
		nat_tune(gw);
}

static void tun_changed(struct gw *gw)
{
	struct tun *t = tun_of(gw);
	bool expected = t->up || gw->iface[IF_WAN].n_addr;
	const char *bad = tun_follow(gw, t);
	if (bad && expected && bad != t->said)
		log_line("6to4: no tunnel: %s", bad);
	t->said = bad;
	if (t->has_nat)
		nat_changed(gw);
}

static bool tun_port_take(struct gw *gw, uint8_t proto, uint16_t port)
{
	return !tun_of(gw)->has_nat || nat_own_port_take(gw, proto, port);
}

static void tun_port_give(struct gw *gw, uint8_t proto, uint16_t port)
{
	if (tun_of(gw)->has_nat)
		nat_own_port_give(gw, proto, port);
}

static bool tun_tick(struct gw *gw)
{
	struct tun *t = tun_of(gw);
	reasm_tick(gw, &t->reasm);
	tun_soft_tick(gw, t);
	tun_lease_tick(gw, t);
	return t->has_nat && nat_tick(gw);
}

static const struct count count[] = {
        COUNT(struct tun, "tunnel_out_packets", out),
        COUNT(struct tun, "tunnel_in_packets", in),
        COUNT(struct tun, "tunnel_errors_told", errors),
        COUNT(struct tun, "tunnel_errors_remembered", n_soft),
        COUNT(struct tun, "tunnel_reassembling", reasm.n_used),
        COUNT(struct tun, "tunnel_ecn_odd", ecn_odd),
};

static const void *state(const struct gw *gw)
{
	return tun_of(gw);
}

static const struct count_table tun_counts = COUNT_TABLE(count, state);

static bool tun_show(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size)
{
	if (what == SHOW_TIMINGS)
		return timing_show(gw, cursor, buf, size);
	return tun_of(gw)->has_nat && nat_show(gw, what, cursor, buf, size);
}

static bool tun_show_host(const struct gw *gw, uint32_t *cursor, struct prefix *host,
                          uint32_t *sessions)
{
	return tun_of(gw)->has_nat && nat_show_host(gw, cursor, host, sessions);
}

const struct forwarder forwarder_tun = {
        .opens_ports = true,
        .no_wan6 = true,
        .keys = {&nat_section, &tun_section},
        .counts = {&tun_counts, &nat_counts},
        .init = tun_init,
        .frames = tun_flow_frames,
        .partial = tun_flow_partial,
        .ip4 = tun_ip4,
        .concerns4 = tun_concerns4,
        .changed = tun_changed,
        .inside_stays = nat_blocks_stay,
        .tune = tun_tune,
        .port_take = tun_port_take,
        .port_give = tun_port_give,
        .ip6 = tun_ip6,
        .tick = tun_tick,
        .timings = &nat_timings,
        .show = tun_show,
        .host = tun_show_host,
};
