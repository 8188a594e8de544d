/* The gateway: ports, routes, neighbours, counters, and the way of a packet
 * through them. A pure machine: (state, time, frame) gives frames on links and
 * counters. It has no clock and no hardware; whoever drives it sets the time,
 * feeds frames and takes frames off the ports' links.
 *
 * Ownership: gw_input and gw_send take the packet. An application's verdict
 * says what becomes of the packet it was shown (app.h). */
#ifndef NET_GW_H
#define NET_GW_H

#include "kernel/config/config.h"
#include "kernel/lib/rng.h"
#include "net/app.h"
#include "net/drop_log.h"
#include "net/icmp_limit.h"
#include "net/interface.h"
#include "net/ip4/frag_table.h"
#include "net/ip4/ip4_id.h"
#include "net/ip4/route4.h"
#include "net/ip6/ra_state.h"
#include "net/ip6/route6.h"
#include "net/neigh_table.h"
#include "net/wire.h"

struct tcp;
struct udp_table;

#define REINJECTED_MAX \
	4u /* of one packet: a tunnel's piece waits, is hairpinned, waits, comes out */

/* The version of an IP packet. */
enum family { FAMILY_IP4, FAMILY_IP6 };

struct gw {
	/* Set by whoever drives the gateway. */
	uint64_t now_us;
	uint32_t now_s;    /* seconds since boot, never late */
	uint32_t now_ms;   /* wraps; up to 100 ms late */
	uint64_t clock_us; /* when the two are to be set again */
	struct pool *pool;
	struct rng *rng;
	const struct config *config;
	const struct app *app;
	void *state; /* the application's own */
	/* The processor's cycle counter, its lower half; NULL where there is none. For
	 * timings only. */
	uint32_t (*cycles)(void);
	struct udp_table *udp; /* bound ports; NULL where nothing listens (udp.h) */
	struct tcp *tcp;       /* connections; NULL where nothing listens (tcp.h) */

	struct interface iface[INTERFACES];
	struct route4_table routes4;
	struct route6_table routes6;
	uint32_t app_mtu; /* of IPv6 packets to IF_APP; the application's init sets it */
	struct neigh_table neigh;
	struct frag_table frags;
	struct ra ra[INTERFACES];

	uint64_t drops[DROP_COUNT];
	uint64_t forwarded;
	uint64_t icmp_errors;     /* sent */
	uint64_t icmp_suppressed; /* not sent: rate limit */
	uint64_t hairpinned;
	uint64_t tick_us; /* when the timers that run ten times a second are next due */
	uint64_t wake_us; /* when gw_tick is next due; see gw_wake_at */

	struct icmp_limit limits[ICMP_LIMIT_KINDS];
	struct hash_key client_key; /* client.h */
	struct ip4_ids ids;
	struct drop_log drop_log;
};

/* Sets up a gateway from a configuration whose form was checked: ports,
 * routes, neighbours, then the application. `port[i].address` and `.present`
 * must be set before. NULL, or the text of what is wrong (static, valid until
 * the next call). Needs pool, rng, config, app set and the rest zero. */
const char *gw_init(struct gw *gw);

/* n frames received on a port, in order; takes the packets. */
void gw_input(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n);

/* An IP packet (data at its header) on its way: route, size, neighbour. Takes
 * the packet. Anyone below main may call it. */
void gw_send(struct gw *gw, struct pkt *p);

/* The same, counted as forwarded. Takes the packet. */
void gw_forward(struct gw *gw, struct pkt *p);

/* The same two for an IPv6 packet. Where its route leads to the application, that
 * gets it (app.h), which it does with packets of our own only. */
void gw_send6(struct gw *gw, struct pkt *p);
void gw_forward6(struct gw *gw, struct pkt *p);

/* Takes an IP packet in once more, data at its header, as if it had come in on `iface`: a real
 * interface, IF_APP for what came out of the application's tunnel, or PKT_IF_SELF for an IPv6
 * packet of ours that the application is to send on. It is parsed and routed again and goes to
 * the application or to the gateway itself. Takes the packet. One that was reinjected
 * REINJECTED_MAX times before is dropped (DROP_LOOP). */
void gw_reinject(struct gw *gw, struct pkt *p, uint32_t iface, enum family family);

/* Puts a finished frame onto a port's link; takes the packet. */
static inline void gw_transmit(struct gw *gw, struct interface *iface, struct pkt *p);

/* The same for an IP packet of `len` bytes at `at`, which lies in p with room for a frame's
 * header in front: to a neighbour that is ready, forwarded. */
static inline void gw_pass(struct gw *gw, struct interface *iface, struct neigh *next,
                           struct pkt *p, uint8_t *at, uint32_t len);

/* The same as gw_transmit for n frames; takes them. */
void gw_transmit_all(struct gw *gw, struct interface *iface, struct pkt **burst, uint32_t n);

/* Counts and logs a drop; the packet stays the caller's. Gives V_DROP. */
enum verdict gw_drop(struct gw *gw, const struct pkt *p, enum drop reason);

/* The same, and frees the packet. */
void gw_discard(struct gw *gw, struct pkt *p, enum drop reason);

/* Runs the timers of all parts: neighbours, fragments, addresses, groups, advertisements, the
 * application and TCP. Called with now_us set, at gw->wake_us or before; does a bounded piece of
 * work and gives true when there is more to do at once. Each part then says anew when it next
 * needs a tick (gw_wake_at). */
bool gw_tick(struct gw *gw);

/* Brings now_s and now_ms up to date with now_us, ten times a second. The steps begin with the
 * second, so that no session seems younger than it is. */
static inline void gw_keep_clock(struct gw *gw)
{
	if (LIKELY(gw->now_us < gw->clock_us))
		return;
	gw->now_s = (uint32_t)(gw->now_us / 1000000);
	gw->now_ms = (uint32_t)(gw->now_us / 1000);
	gw->clock_us = (gw->now_us / 100000 + 1) * 100000;
}

/* A part needs a tick at a time, in microseconds, or before: gw->wake_us becomes that time
 * unless it is earlier already. */
static inline void gw_wake_at(struct gw *gw, uint64_t us)
{
	if (us < gw->wake_us)
		gw->wake_us = us;
}

/* Called when a port's link comes up: announces our addresses. */
void gw_link_up(struct gw *gw, uint32_t iface);

/* The machine is about to stop: frames that tell the neighbours are put on the ports'
 * links. */
void gw_stop(struct gw *gw);

static inline void gw_transmit(struct gw *gw, struct interface *iface, struct pkt *p)
{
	if (UNLIKELY(!pkt_queue_push(&iface->out, p))) {
		gw_discard(gw, p, DROP_LINK_FULL);
		return;
	}
	iface->sent++;
	iface->sent_bytes += max_u32(p->len, ETH_MIN);
}

static inline void gw_pass(struct gw *gw, struct interface *iface, struct neigh *next,
                           struct pkt *p, uint8_t *at, uint32_t len)
{
	gw->forwarded++;
	next->used = true;
	p->data = at - sizeof next->eth;
	p->len = len + (uint32_t)sizeof next->eth;
	memcpy(p->data, &next->eth, sizeof next->eth);
	gw_transmit(gw, iface, p);
}

/* Listings for people (gw_show.c); each writes one line and moves the cursor. */
bool gw_show_stats(struct gw *gw, uint32_t *cursor, char *buf, size_t size);
size_t gw_show_addresses(const struct interface *iface, char *buf, size_t size);
bool gw_show_routes(struct gw *gw, uint32_t *cursor, char *buf, size_t size);
bool gw_show_neighbours(struct gw *gw, uint32_t *cursor, char *buf, size_t size);
bool gw_show_drops(struct gw *gw, uint32_t *cursor, char *buf, size_t size);

#endif
