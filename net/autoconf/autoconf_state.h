/* What the gateway knows from the router advertisements of its WAN. Times are in microseconds, as
 * gw->clock.us; AUTOCONF_FOREVER never comes. */
#ifndef NET_AUTOCONF_AUTOCONF_STATE_H
#define NET_AUTOCONF_AUTOCONF_STATE_H

#include "kernel/lib/addr.h"

#define AUTOCONF_ROUTERS  8u
#define AUTOCONF_PREFIXES 8u
#define AUTOCONF_ROUTES   16u
#define AUTOCONF_SERVERS  4u
#define AUTOCONF_PREF64   4u

#define AUTOCONF_FOREVER UINT64_MAX

/* Preferences of routers and routes (RFC 4191 section 2.1), in their order. */
enum autoconf_rank { AUTOCONF_LOW, AUTOCONF_MEDIUM, AUTOCONF_HIGH };

/* A router that has a default route for us, or another one. */
struct autoconf_router {
	ip6 addr;          /* link-local */
	uint64_t until_us; /* as default router; 0: it is none */
	uint8_t rank;      /* as default router */
	bool silent;       /* it does not answer neighbour discovery */
};

/* A prefix, and the address that was made in it. */
struct autoconf_prefix {
	ip6 net;
	uint8_t len;
	ip6 router;            /* that advertised it last */
	uint64_t on_link_us;   /* until then its hosts are on the link; 0: not so */
	uint64_t valid_us;     /* until when the address is valid; 0: there is none */
	uint64_t preferred_us; /* until when new connections may use it */
	bool refused;          /* the gateway could not have the address; the next advertisement may
	                        * change that */
	uint64_t said_us;      /* last line in the log about a change of preference */
};

/* A route to a network behind a router (RFC 4191 section 2.3); never a default route. */
struct autoconf_route {
	ip6 net;
	uint8_t len;
	uint8_t rank;
	ip6 router;
	uint64_t until_us;
};

/* A DNS server (RFC 8106), or a PREF64 (RFC 8781). */
struct autoconf_server {
	ip6 addr;
	uint8_t len; /* of a PREF64; of a server 128 */
	ip6 router;
	uint64_t until_us;
};

/* A route that is in the table of routes because of an advertisement. */
struct autoconf_hop {
	ip6 net, via;
	uint8_t len;
};

struct autoconf {
	bool on; /* wan.address auto, where the application has IPv6 on the WAN */
	struct autoconf_router router[AUTOCONF_ROUTERS];
	uint32_t n_routers;
	struct autoconf_prefix prefix[AUTOCONF_PREFIXES];
	uint32_t n_prefixes;
	struct autoconf_route route[AUTOCONF_ROUTES];
	uint32_t n_routes;
	struct autoconf_server server[AUTOCONF_SERVERS];
	uint32_t n_servers;
	uint32_t servers_changed; /* counts changes of the list of servers */
	struct autoconf_server pref64[AUTOCONF_PREF64];
	uint32_t n_pref64;
	struct autoconf_hop hop[1 + AUTOCONF_ROUTES]; /* in force */
	uint32_t n_hops;
	uint8_t flags; /* of the last advertisement: managed addresses, other configuration */

	uint64_t solicit_us;      /* when the next solicitation is due; 0: none is */
	uint32_t solicit_wait_ms; /* what was waited before the last one; 0: there was none */

	uint64_t new_us;     /* how many new entries may come, as a token bucket (bucket.h) */
	uint64_t refused_us; /* last line in the log about what cannot be had */
	uint64_t router_us;  /* last line in the log about a default router */
	uint64_t heard, solicited, refused;
};

#endif
