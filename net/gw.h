/* The gateway: its state, put together from the parts below, and the way of a packet. A pure
 * machine: from state, time and a frame it makes frames in transmit queues, and counters. It reads
 * no clock and knows no hardware: the caller sets the time, passes frames in and takes frames from
 * the interfaces' transmit queues.
 *
 * Ownership: gw_input and gw_send take the packet. The forwarder's verdict says what becomes of
 * the packet that it was shown (forwarder.h). */
#ifndef NET_GW_H
#define NET_GW_H

#include "kernel/lib/rng.h"
#include "net/service.h"
#include "net/gw_clock.h"
#include "net/autoconf/autoconf_state.h"
#include "net/dhcp/dhcp_state.h"
#include "net/dhcp6/dhcp6_state.h"
#include "net/stats/drop_log.h"
#include "net/stats/gw_counts.h"
#include "net/stats/notice_state.h"
#include "net/stats/timing_state.h"
#include "net/icmp_limit.h"
#include "net/interface.h"
#include "net/ip4/frag_table.h"
#include "net/ip4/ip4_id.h"
#include "net/ip4/route4.h"
#include "net/probe/probe_state.h"
#include "net/ra/ra_state.h"
#include "net/sntp/sntp_state.h"
#include "net/export/export_state.h"
#include "net/ip6/route6.h"
#include "net/neigh/neigh_table.h"
#include "net/setup/net_keys.h"
#include "net/lib/wire.h"

struct count_fill;
struct dhcps;
struct machine;
struct tcp;
struct udp_table;

/* How often one packet may be reinjected. The longest ways known take three: a fragment waits for
 * its first one, is hairpinned and waits again; a reassembled packet comes out of the tunnel, and
 * the answer into which it is turned goes into the tunnel. */
#define REINJECTED_MAX 4u

/* The version of an IP packet. */
enum family { FAMILY_IP4, FAMILY_IP6 };

struct gw {
	struct gw_clock clock;
	struct pool *pool;
	struct rng *rng;
	const struct config *config;
	const struct forwarder *forwarder;
	bool ip6;    /* the interfaces have IPv6, but not the WAN of a forwarder with no_wan6 */
	void *state; /* the forwarder's own */
	/* The services that run, each at its number (apps/services.h), and their own state. */
	const struct service *service[SERVICES_MAX];
	void *service_state[SERVICES_MAX];
	/* Their hooks `frame`; set by gw_init. */
	bool (*frame_hook[SERVICES_MAX])(struct gw *gw, const struct interface *in, struct pkt *p);
	uint32_t n_frame_hooks;
	/* Gives the lower half of the processor's cycle counter; NULL where there is none. For
	 * timings only. */
	uint32_t (*cycles)(void);
	const struct machine *machine; /* NULL: there is none (machine.h) */
	/* Hands the packets of all transmit queues to the cards; the gateway's caller sets it. For
	 * code that makes more of them out of one packet than a queue holds. */
	void (*flush)(struct gw *gw);
	struct udp_table *udp; /* bound ports; NULL where nothing listens (udp.h) */
	struct tcp *tcp;       /* connections; NULL where nothing listens (tcp.h) */

	struct interface iface[INTERFACES];
	uint32_t n_iface; /* those that the configuration has; the others have no name */
	struct route4_table routes4;
	struct route6_table routes6;
	/* Generation of routes and of addresses and their states, of both versions: counted from 1.
	 * A part that keeps what follows from them compares it. */
	uint32_t changes;
	uint32_t app_mtu; /* of IPv6 packets to IF_APP; the forwarder's init sets it */
	struct neigh_table neigh;
	struct frag_table frags;
	struct ra ra[INTERFACES];
	struct autoconf autoconf; /* of the WAN */

	struct gw_counts counts;
	uint64_t tick_us; /* when the timers that run ten times a second are next due */
	uint64_t wake_us; /* when gw_tick is next due; see gw_wake_at */
	/* The same for as long as no frame comes and nobody types: up to half a second later where
	 * no timer of 100 ms is under way and no neighbour is to be asked again before. */
	uint64_t rest_us;

	struct icmp_limit limits[ICMP_LIMIT_KINDS];
	struct hash_key client_key; /* client.h */
	struct ip4_ids ids;
	struct drop_log drop_log;
	struct notice notice;
	struct probe probe;        /* of the console's ping and traceroute (probe/probe.h) */
	struct dhcp_client dhcp;   /* of the WAN */
	struct dhcps *dhcps;       /* of the inside; NULL: none (dhcps/dhcps.h) */
	struct dhcp6_client dhcp6; /* of the WAN */
	struct dhcp6_server dhcp6_server;
	struct sntp sntp;
	struct export export;
	struct capture *capture; /* NULL: packets are not kept (capture/capture.h) */
	struct timings timing;
};

/* Sets up a gateway from a configuration whose form was checked: interfaces, routes, neighbours,
 * then the forwarder and the services. The caller has set clock.us, pool, rng, config, forwarder,
 * service, and iface[i].address, .present and .card; all else is zero. Gives NULL, or the text of
 * what is wrong (static, valid until the next call). */
const char *gw_init(struct gw *gw);

/* Handles n frames received on an interface, in order. Takes the packets. */
void gw_input(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n);

/* The same for n partial packets (kernel/lib/pkt.h). They count as the segments that they stand
 * for. */
void gw_input_partial(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n);

/* Handles n frames, in order, that came in on an interface and are counted for it; p->iface of each
 * is set. Takes the packets. */
void gw_input_counted(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n);

/* Handles a partial packet that is checked and counted as the plain frames for which it stands.
 * Takes the packet. Calls gw->flush where a transmit queue fills up. */
void gw_input_cut(struct gw *gw, uint32_t iface, struct pkt *p);

/* Handles a frame that the fast path has not sent. A service may take it as it is; else it is
 * checked, and its packet goes to the protocol or the forwarder. p->iface is set. Takes the packet.
 */
void gw_frame(struct gw *gw, struct pkt *p);

/* Sends an IPv4 packet, data at its header: routes it unless that is done (PKT_ROUTED), splits it
 * to the MTU, finds the neighbour. Takes the packet. */
void gw_send(struct gw *gw, struct pkt *p);

/* Counts an IPv4 packet as forwarded and sends it as gw_send does. Takes the packet. */
void gw_forward(struct gw *gw, struct pkt *p);

/* Sends an IPv6 packet, data at its header. A packet of our own whose route leads to the
 * forwarder is reinjected, so that the forwarder gets it (forwarder.h); any other such packet
 * is dropped (DROP_LOOP). Takes the packet. */
void gw_send6(struct gw *gw, struct pkt *p);

/* Counts an IPv6 packet as forwarded and sends it as gw_send6 does. Takes the packet. */
void gw_forward6(struct gw *gw, struct pkt *p);

/* Takes an IP packet in once more, data at its header, as if it had come in on `iface`: an
 * interface with a card, IF_APP for what came out of the forwarder's tunnel, or PKT_IF_SELF for
 * an IPv6 packet of ours that the forwarder is to send on. It is parsed and routed again and goes
 * to the forwarder or to the gateway itself. Takes the packet. One that was reinjected
 * REINJECTED_MAX times before is dropped (DROP_LOOP). */
void gw_reinject(struct gw *gw, struct pkt *p, uint32_t iface, enum family family);

/* Puts a finished frame into an interface's transmit queue; a full queue drops it. Takes the
 * packet. */
static inline void gw_transmit(struct gw *gw, struct interface *iface, struct pkt *p);

/* Puts n finished frames into an interface's transmit queue; what does not fit is dropped. Takes
 * the packets. */
void gw_transmit_all(struct gw *gw, struct interface *iface, struct pkt **burst, uint32_t n);

/* Counts a dropped packet and notes it for the listing of drops. The packet stays the caller's.
 * Gives V_DROP. */
enum verdict gw_drop(struct gw *gw, const struct pkt *p, enum drop reason);

/* Counts and notes a dropped packet as gw_drop does, a super-segment as its segments, and frees it.
 */
void gw_discard(struct gw *gw, struct pkt *p, enum drop reason);

/* Runs the timers of all parts: neighbours, fragments, addresses, groups, advertisements, the
 * forwarder, services and TCP. Called with clock.us set, soon after gw->wake_us or before; does a
 * bounded piece of work; true when there is more to do at once. It forgets gw->wake_us; then the
 * 100 ms timers, forwarder, services and TCP each say when they next need a tick (gw_wake_at). */
bool gw_tick(struct gw *gw);

/* Asks for a tick at a time in microseconds (as clock.us) or before. An earlier time that another
 * part asked for stays. */
static inline void gw_wake_at(struct gw *gw, uint64_t us)
{
	if (us < gw->wake_us)
		gw->wake_us = us;
}

/* Take a port (host order; ICMP: an identifier) of our own addresses for a socket of ours, from the
 * forwarder; false when the forwarder uses that port. gw_port_give gives it back. */
static inline bool gw_port_take(struct gw *gw, uint8_t proto, uint16_t port)
{
	return !gw->forwarder->port_take || gw->forwarder->port_take(gw, proto, port);
}

static inline void gw_port_give(struct gw *gw, uint8_t proto, uint16_t port)
{
	if (gw->forwarder->port_give)
		gw->forwarder->port_give(gw, proto, port);
}

/* The carrier of an interface came up: announces our addresses there. */
void gw_carrier_up(struct gw *gw, uint32_t iface);

/* The machine is about to stop: puts the frames that tell the neighbours so into the transmit
 * queues. */
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

/* Listings for people (gw_show.c). Each writes one line into buf and moves the cursor, which is 0
 * at first; false behind the last line. */
bool gw_show_stats(struct gw *gw, uint32_t *cursor, char *buf, size_t size);
/* How full table i is: those of the forwarder come first, then those of the services and of the
 * gateway itself. False when there are not so many. */
bool gw_show_fill(const struct gw *gw, uint32_t i, struct count_fill *out);
bool gw_show_routes(struct gw *gw, uint32_t *cursor, char *buf, size_t size);
bool gw_show_neighbours(struct gw *gw, uint32_t *cursor, char *buf, size_t size);
bool gw_show_drops(struct gw *gw, uint32_t *cursor, char *buf, size_t size);
/* The same frames as gw_show_drops, as hexadecimal digits in place of words. */
bool gw_show_drops_raw(struct gw *gw, uint32_t *cursor, char *buf, size_t size);
/* Those of the forwarder, then of the services. An empty line is not to be printed. */
bool gw_show_sessions(struct gw *gw, uint32_t *cursor, char *buf, size_t size);
bool gw_show_timings(struct gw *gw, uint32_t *cursor, char *buf, size_t size);

#define GW_ADDRESS 72u /* characters of an address with its length and its state, with NUL */

/* Writes address i of an interface; false when there are not so many. */
bool gw_show_address(const struct interface *iface, uint32_t i, char *buf, size_t size);

/* Writes the addresses of an interface that are in force, with a space between them; gives the
 * number of characters. size > 0. */
size_t gw_show_addresses(const struct interface *iface, char *buf, size_t size);

#endif
