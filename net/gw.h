/* The gateway: ports, routes, neighbours, counters, and the way of a packet
 * through them. A pure machine: (state, time, frame) gives frames on links and
 * counters. It has no clock and no hardware; whoever drives it sets the time,
 * feeds frames and takes frames off the ports' links.
 *
 * Ownership: gw_input and gw_send take the packet. An application's verdict
 * says what becomes of the packet it was shown (app.h). */
#ifndef NET_GW_H
#define NET_GW_H

#include "kernel/lib/pkt_queue.h"
#include "kernel/lib/rng.h"
#include "net/app.h"
#include "net/drop.h"
#include "net/ip4/frag.h"
#include "net/ip6/mld_group.h"
#include "net/neigh.h"
#include "net/net_keys.h"
#include "net/ip6/ra.h"
#include "net/wire.h"

struct tcp;
struct udp_table;

#define INTERFACES   2u
#define GW_ADDRESSES NET_ADDRESSES
#define GW_ROUTES    (NET_ROUTES + NET_GATEWAYS + 2u * INTERFACES * GW_ADDRESSES)
/* Of a port: the link-local one, those of the configuration, and some that the
 * application makes. */
#define GW_ADDRESSES6  (1u + NET_ADDRESSES + 3u)
#define GW_APP_ROUTES6 320u /* IPv6 routes that an application may add */
#define GW_GIVEN6      (NET_ROUTES + NET_GATEWAYS + GW_APP_ROUTES6)
#define GW_ROUTES6     (GW_GIVEN6 + 2u * INTERFACES * GW_ADDRESSES6)
#define GW_OWNED       32u
#define GW_IDS         4096u /* a power of two */
#define GW_DROP_LOG    32u
#define GW_DROP_BYTES  48u
#define GW_ADDRESSEES  256u /* a power of two */

/* The sides of the gateway. Two ports have cards; the application is a third side
 * for IPv6 packets: what lies behind its tunnel or its translation. To IF_NONE
 * leads the route of a network that nobody has. */
enum { IF_LAN, IF_WAN, IF_APP, IF_NONE };

/* An IPv4 address of ours and its network. */
struct gw_address {
	ip4 addr;
	uint8_t len;
};

/* An IPv6 address of ours and its network. The first of a port is the link-local
 * one made from its MAC address. */
enum address6_state {
	ADDRESS6_TENTATIVE, /* not known to be ours alone: not used (RFC 4862 section 5.4) */
	ADDRESS6_VALID,
	ADDRESS6_DUPLICATE, /* somebody else has it: not used until the link comes up anew */
};
struct gw_address6 {
	ip6 addr;
	uint8_t len;
	uint8_t state;   /* enum address6_state */
	uint8_t asked;   /* solicitations sent for it while tentative */
	uint32_t due_ms; /* when the next is due, or the address is ours */
};

struct interface {
	const char *name; /* "lan" or "wan" */
	mac address;
	bool present;   /* a NIC serves it */
	bool link_up;   /* set by the driver's side */
	uint64_t up_us; /* when it last came up */
	uint32_t mtu;   /* of IP packets */
	struct gw_address addr[GW_ADDRESSES];
	uint32_t n_addr;
	struct gw_address6 addr6[GW_ADDRESSES6];
	uint32_t n_addr6; /* 0: no IPv6 on this port */
	struct mld_group group[MLD_GROUPS];
	uint32_t n_groups;
	bool mld_v1;               /* an MLDv1 router is there … */
	uint32_t mld_v1_ms;        /* … until then at least */
	bool groups_changed;       /* the card's filter does not know yet */
	uint32_t burst;            /* frames taken in one turn at most; 0: as many as come */
	struct pkt_queue out;      /* frames to send */
	uint32_t sent, sent_bytes; /* put on out since gw_sent was last called */
	uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
	uint64_t conflict_us; /* last word about a station that claims our address */
};

/* A route. Sorted by falling length, so the first match is the longest. */
struct gw_route {
	uint32_t net, mask; /* host order */
	uint32_t via;       /* next hop, raw; 0: the destination itself */
	uint32_t own;       /* our address in a connected network, host order; 0: none */
	uint8_t len;
	uint8_t iface;
};

/* An IPv6 route, sorted likewise; words are raw. */
struct gw_route6 {
	uint32_t net[4], mask[4];
	uint32_t own[4]; /* our address in a connected network; all zero: none */
	ip6 via;         /* next hop, where hop is not 0 */
	uint32_t hop;    /* what ip6_route notes in p->hop */
	uint16_t routed; /* PKT_ROUTED where port is a real one, else 0 */
	uint8_t len;
	uint8_t iface; /* may be IF_APP or IF_NONE */
};

/* A route that somebody gave us, of which the table is made. */
struct gw_given6 {
	ip6 net, via;
	uint8_t len;
	uint8_t iface;
	bool has_via;
};

/* Addresses that the application owns on a port's network beside the port's own,
 * host order: ARP is answered for them, routes lead to ourselves. */
struct gw_owned {
	uint32_t first, last;
	uint8_t iface;
};

/* ICMP errors by what their loss costs: a connection that waits for packet-too-big
 * stands still, of all others somebody only learns later what is wrong. */
enum gw_error_kind { GW_ERROR_TOO_BIG, GW_ERROR_OTHER, GW_ERROR_KINDS };

/* How many errors of a kind may still be sent: in all, and to each addressee. A
 * value is the time at which all its tokens are back. */
struct gw_errors {
	uint64_t all_us;
	uint64_t one_us[GW_ADDRESSEES]; /* by the number of a client (client.h) */
};

/* One dropped frame, for people. */
struct gw_drop_entry {
	uint8_t reason;
	uint8_t iface;
	uint8_t n;    /* bytes kept */
	uint32_t len; /* bytes it had */
	uint64_t at_us;
	uint8_t bytes[GW_DROP_BYTES];
};

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
	struct gw_route route[GW_ROUTES];
	uint32_t n_routes;
	struct gw_route6 route6[GW_ROUTES6 + 1]; /* behind the last: to IF_NONE, for all */
	uint32_t n_routes6;
	struct gw_given6 given6[GW_GIVEN6];
	uint32_t n_given6;
	uint32_t changes6; /* of routes and of addresses and their states, counted from 1 */
	uint32_t app_mtu;  /* of IPv6 packets to IF_APP; its init sets it */
	struct gw_owned owned[GW_OWNED];
	uint32_t n_owned;
	struct neigh_table neigh;
	struct frag_table frags;
	struct ra ra[INTERFACES];

	uint64_t drops[DROP_COUNT];
	uint64_t forwarded;
	uint64_t icmp_errors;     /* sent */
	uint64_t icmp_suppressed; /* not sent: rate limit */
	uint64_t hairpinned;
	uint64_t tick_us; /* next tick */
	uint64_t wake_us; /* when the application or TCP wants one before; 0: neither */

	/* ICMP error budgets, and IPv4 identification counters. */
	struct gw_errors errors[GW_ERROR_KINDS];
	struct hash_key client_key; /* client.h */
	uint32_t id_mul;
	uint16_t id[GW_IDS];

	uint64_t n_drop_log;
	struct gw_drop_entry drop_log[GW_DROP_LOG];
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

/* An IPv6 packet that came out of the application's tunnel, data at its header, not
 * yet parsed: as if it had come in on IF_APP. Gives the verdict, for the ip4 hook
 * that took the tunnel's header off. */
enum verdict gw_input6(struct gw *gw, struct pkt *p);

/* An IP packet of ours comes in on a port, for the translation there; takes it. */
void gw_turn(struct gw *gw, uint32_t iface, struct pkt *p);

/* A packet that was kept goes through the application once more, data at its
 * header, parsed. Takes the packet. */
void gw_resume(struct gw *gw, struct pkt *p);

/* Claims addresses for the application (gw_owned); false when there are too
 * many ranges. Called from an application's init. */
bool gw_own(struct gw *gw, uint32_t iface, uint32_t first, uint32_t last) MUST_USE;

/* The claim that an address falls under, NULL when the application owns it not. */
const struct gw_owned *gw_owned(const struct gw *gw, ip4 a);

/* Puts a finished frame onto a port's link; takes the packet. */
static inline void gw_transmit(struct gw *gw, struct interface *iface, struct pkt *p);

/* The same for an IP packet of `len` bytes at `at`, which lies in p with room for a frame's
 * header in front: to a neighbour that is ready, forwarded. */
static inline void gw_pass(struct gw *gw, struct interface *iface, struct neigh *next,
                           struct pkt *p, uint8_t *at, uint32_t len);

/* The same as gw_transmit for n frames; takes them. */
void gw_transmit_all(struct gw *gw, struct interface *iface, struct pkt **burst, uint32_t n);

/* Counts what was put onto a port's link; once a burst. */
static inline void gw_sent(struct interface *iface)
{
	iface->tx_packets += iface->sent;
	iface->tx_bytes += iface->sent_bytes;
	iface->sent = iface->sent_bytes = 0;
}

/* Counts and logs a drop; the packet stays the caller's. Gives V_DROP. */
enum verdict gw_drop(struct gw *gw, const struct pkt *p, enum drop reason);

/* The same, and frees the packet. */
void gw_discard(struct gw *gw, struct pkt *p, enum drop reason);

/* Sends an ICMP error about packet p, which stays the caller's: data at its
 * IPv4 header, untouched by translation or marked as translated: then the
 * error goes the way back through the translation. The only maker of ICMP
 * errors; it keeps to RFC 1812 section 4.3.2.7 (when not to send) and 4.3.2.8 (rate).
 * `rest` is the second half of the first word row: MTU or pointer << 24. */
void icmp_error(struct gw *gw, const struct pkt *p, uint8_t type, uint8_t code, uint32_t rest);

/* Whether one more ICMP or ICMPv6 error may be sent now; if so it is taken off the
 * budgets of its kind, if not icmp_suppressed counts it. `client` is the
 * addressee (client.h). Limits in icmp.c. For makers of errors, as the last thing they
 * ask. */
bool icmp_error_allowed(struct gw *gw, enum gw_error_kind kind, uint32_t client) MUST_USE;

/* The same with an ICMPv6 error about an IPv6 packet, data at its header, parsed and
 * otherwise as it came. The only maker of ICMPv6 errors; it keeps to RFC 4443 section
 * 2.4 (e) and (f), and sends none to a source that cannot be on the side the packet
 * came from; only ICMP6_POLICY is for such a source, and goes to the station that sent
 * the packet (which must be as it came). `rest` is MTU or pointer. */
void icmp6_error(struct gw *gw, const struct pkt *p, uint8_t type, uint8_t code, uint32_t rest);

/* Runs timers: neighbours, fragments, the application. Called
 * with now_us set; does a bounded piece of work; true when there is more. */
bool gw_tick(struct gw *gw);

/* Called when a port's link comes up: announces our addresses. */
void gw_link_up(struct gw *gw, uint32_t iface);

/* The machine is about to stop: frames that tell the neighbours are put on the ports'
 * links. */
void gw_stop(struct gw *gw);

/* A fresh identification, wire order, for a datagram to `to` that leaves with
 * one of our addresses as source (RFC 6864 section 4.3). One counter for each
 * hash value of the destination: no repeat soon, and nothing to learn from it
 * about traffic to others. */
static inline be16 gw_ip_id(struct gw *gw, ip4 to)
{
	return be16_of(gw->id[ip4_raw(to) * gw->id_mul >> 20]++);
}
_Static_assert(GW_IDS == 1u << 12, "gw_ip_id takes the upper twelve bits");

/* One of our addresses on a port, NULL when it has none: the one on the
 * network of `peer` if there is one. */
const struct gw_address *gw_own_address(const struct gw *gw, uint32_t iface, ip4 peer);

/* True when the address is one of ours: on this port, on any port. */
bool gw_iface_has(const struct interface *iface, ip4 a);
bool gw_is_own(const struct gw *gw, ip4 a);

/* Our IPv6 address that is `a`, in any state, NULL when there is none: on a port, or
 * on any; a link-local address counts on its own port only. */
struct gw_address6 *gw_iface_address6(struct interface *iface, const ip6 *a);
const struct gw_address6 *gw_address6(const struct gw *gw, uint32_t iface, const ip6 *a);

/* True when it is one of ours and in use. */
bool gw_is_own6(const struct gw *gw, uint32_t iface, const ip6 *a);

/* Our address for a packet to `peer`, NULL when there is none (RFC 6724 section 5,
 * rules 2 and 8): link-local for a link-local peer on the port, else the one that
 * has the longest prefix in common, of this port if it has one at all. */
const ip6 *gw_own_address6(const struct gw *gw, uint32_t iface, const ip6 *peer);

/* The same among the addresses of this port alone, where none of the peer's scope
 * serves link-local: for neighbour discovery, which never leaves the link. */
const ip6 *gw_iface_own6(const struct gw *gw, uint32_t iface, const ip6 *peer);

/* Adds an address and its network to a port, tentative; from an application's init
 * or later. NULL, or the text of what is wrong. The other takes it away, but never the
 * one made from the MAC address. */
const char *gw_add_address6(struct gw *gw, uint32_t iface, const ip6 *a, uint8_t len);
void gw_del_address6(struct gw *gw, uint32_t iface, const ip6 *a);

/* Adds a route: to a next hop on a port (`via`), to IF_APP, or to IF_NONE. False
 * when there are too many. Our own addresses inside the network stay ours. The other
 * takes all routes for exactly this network away but the connected one. */
bool gw_add_route6(struct gw *gw, const ip6 *net, uint8_t len, const ip6 *via,
                   uint32_t iface) MUST_USE;
void gw_del_route6(struct gw *gw, const ip6 *net, uint8_t len);

/* True when `to` is our address in the connected network of r, or that network's
 * subnet-router anycast address (RFC 4291 section 2.6.1). */
bool gw_route6_own(const struct gw_route6 *r, const ip6 *to);

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
