/* Timers of all parts. See gw_tick in gw.h. */
#include "net/gw.h"

#include "net/autoconf/autoconf.h"
#include "net/dhcp/dhcp_client.h"
#include "net/dhcp6/dhcp6_client.h"
#include "net/dhcp6/dhcp6_serve.h"
#include "net/dhcps/dhcps.h"
#include "net/export/export.h"
#include "net/ip4/frag.h"
#include "net/ip6/mld.h"
#include "net/ip6/nd.h"
#include "net/ra/ra.h"
#include "net/neigh/neigh.h"
#include "net/stats/timing.h"
#include "net/setup/gw_routers.h"
#include "net/sntp/sntp.h"
#include "net/stats/notice.h"
#include "net/tcp/tcp.h"

#define TICK_MS  100u
#define LEFT_OUT 4u /* ticks, in a rest of half a second */

/* True when a timer is under way that needs a tick every 100 ms. The times of routes, routers,
 * leases and fragments are in seconds. */
static bool timers_run(const struct gw *gw)
{
	return dhcp_is_busy(gw) || dhcps_is_busy(gw) ||
	       (gw->ip6 && (nd_is_busy(gw) || mld_is_busy(gw) || ra_is_busy(gw) ||
	                    autoconf_is_busy(gw) || dhcp6_is_busy(gw)));
}

/* Gives how many ticks after the next one may be left out: none while a timer is under way, and
 * else those before the first tick at which a neighbour may be due. */
static uint32_t ticks_left_out(const struct gw *gw)
{
	if (timers_run(gw))
		return 0;
	uint32_t due = (neigh_due_ms(gw) + TICK_MS - 1) / TICK_MS;
	return due == 0 ? 0 : min_u32(due - 1, LEFT_OUT);
}

bool gw_tick(struct gw *gw)
{
	gw_clock_keep(&gw->clock);
	gw->wake_us = UINT64_MAX;
	if (gw->clock.us >= gw->tick_us) {
		gw->tick_us = gw->clock.next_us; /* in step with the seconds */
		neigh_tick(gw);
		frag_tick(gw);
		notice_tick(gw);
		gw_routers_tick(gw);
		dhcp_tick(gw);
		dhcps_tick(gw);
		sntp_tick(gw);
		if (gw->ip6) {
			nd_tick(gw);
			mld_tick(gw);
			ra_tick(gw);
			autoconf_tick(gw);
			dhcp6_tick(gw);
			dhcp6_serve_tick(gw);
		}
	}
	timing_tick(gw);
	bool more = gw->forwarder->tick && gw->forwarder->tick(gw);
	for (uint32_t i = 0; i < SERVICES_MAX; i++)
		if (gw->service[i] && gw->service[i]->tick)
			more |= gw->service[i]->tick(gw);
	if (gw->export.on)
		more |= export_tick(gw);
	if (gw->tcp)
		more |= tcp_tick(gw);
	uint64_t rest = gw->tick_us + ticks_left_out(gw) * TICK_MS * 1000;
	gw->rest_us = rest < gw->wake_us ? rest : gw->wake_us;
	gw_wake_at(gw, gw->tick_us);
	return more;
}
