/* The forwarder `nat`: the NAT, and native IPv6 beside it, which is routed between WAN and LAN
 * through the filter of net/filter6. IPv6 is there where the configuration has an IPv6 address on
 * some interface. */
#include "apps/apps.h"
#include "apps/nat/nat.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "net/filter6/filter6.h"
#include "net/ra/ra.h"

struct nat_app {
	struct nat nat; /* the first one (nat_of) */
	struct filter6 filter;
};

static struct filter6 *filter_of(const struct gw *gw)
{
	return &((struct nat_app *)gw->state)->filter;
}

/* --- hooks ------------------------------------------------------------------------------------ */

static const char *init(struct gw *gw)
{
	gw->state = alloc(sizeof(struct nat_app), 64);
	const char *bad = gw->state ? nat_start(gw) : "not enough memory";
	if (!bad && gw->ip6)
		bad = filter6_init(gw, filter_of(gw));
	if (!bad && !ra_advertise_inside(gw, route6_has_default(&gw->routes6)))
		bad = "lan.address: more IPv6 prefixes than can be advertised";
	return bad;
}

static enum verdict route_ip6(struct gw *gw, struct pkt *p)
{
	return filter6_forward(gw, filter_of(gw), p);
}

static void changed(struct gw *gw)
{
	nat_changed(gw);
	if (!ra_advertise_inside(gw, route6_has_default(&gw->routes6)))
		log_line("nat: more IPv6 prefixes than can be advertised");
}

static bool tick(struct gw *gw)
{
	if (gw->ip6)
		filter6_tick(gw, filter_of(gw));
	return nat_tick(gw);
}

static bool show_own(struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	return nat_show(gw, SHOW_SESSIONS, cursor, buf, size);
}

/* The sessions of the filter are behind those of the NAT. */
static bool show(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size)
{
	if (what == SHOW_TIMINGS)
		return timing_show(gw, cursor, buf, size);
	return what == SHOW_SESSIONS &&
	       filter6_show_behind(gw, filter_of(gw), cursor, buf, size, show_own);
}

static const void *running(const struct gw *gw)
{
	return gw->ip6 ? filter_of(gw) : NULL;
}

static const struct count_table counts = COUNT_TABLE(filter6_count, running);

const struct forwarder forwarder_nat = {
        .opens_ports = true,
        .ip6_if_given = true,
        .keys = {&nat_section, &filter6_section},
        .counts = {&nat_counts, &counts},
        .init = init,
        .frames = nat_flow_frames,
        .partial = nat_flow_partial,
        .ip4 = nat_ip4,
        .concerns4 = nat_concerns4,
        .ip6 = route_ip6,
        .changed = changed,
        .inside_stays = nat_blocks_stay,
        .tune = nat_tune,
        .port_take = nat_own_port_take,
        .port_give = nat_own_port_give,
        .tick = tick,
        .timings = &nat_timings,
        .show = show,
        .host = nat_show_host,
};
