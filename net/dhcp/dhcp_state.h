/* What the DHCP client of the WAN knows. Times are in microseconds, as gw->clock.us; UINT64_MAX
 * never comes. */
#ifndef NET_DHCP_DHCP_STATE_H
#define NET_DHCP_DHCP_STATE_H

#include "kernel/lib/bytes.h"

#define DHCP_ROUTES  16u
#define DHCP_SERVERS 4u /* DNS servers of a lease, and servers of its other kinds */
#define DHCP_IGNORED 4u

/* A route of a lease; its host part is zero. */
struct dhcp_route {
	ip4 net, via;
	uint8_t len;
};

/* The provider's 6rd domain (RFC 5969 section 7.1.1). */
struct dhcp_6rd {
	ip6 prefix;
	uint8_t len;      /* of the prefix; 0: the lease has no such domain */
	uint8_t mask_len; /* leading bits that all IPv4 addresses of the domain share */
	ip4 relay;
};

/* What a server gives. Seconds; UINT32_MAX: for ever. */
struct dhcp_lease {
	ip4 addr, server;
	uint8_t len; /* of the address's network */
	uint32_t lease_s, t1_s, t2_s;
	struct dhcp_route route[DHCP_ROUTES];
	uint32_t n_routes;
	ip4 dns[DHCP_SERVERS];
	uint32_t n_dns;
	ip4 ntp[DHCP_SERVERS]; /* time servers */
	uint32_t n_ntp;
	struct dhcp_6rd rd;
	uint16_t mtu; /* 0: none */
	mac giver;    /* that sent the frame with it */
	/* Options that are not taken, in words (static). */
	const char *ignored[DHCP_IGNORED];
	uint32_t n_ignored;
};

/* RFC 2131 section 4.4, figure 5. A lease in force stays in force in every state until it ends. */
enum dhcp_state {
	DHCP_OFF,        /* no wan.address dhcp */
	DHCP_INIT,       /* waits before it asks */
	DHCP_SELECTING,  /* asks for offers */
	DHCP_REQUESTING, /* asks for the lease of an offer */
	DHCP_PROBING,    /* has a lease, and looks whether another station has its address */
	DHCP_REBOOTING,  /* asks, after the carrier was lost, whether its lease holds here */
	DHCP_BOUND,
	DHCP_RENEWING,  /* asks the server of the lease for more time */
	DHCP_REBINDING, /* asks all servers */
	DHCP_RELEASED,  /* gave the lease back, and asks for none */
};

struct dhcp_client {
	uint8_t state; /* enum dhcp_state */
	bool came_up;  /* the carrier did, since the last tick */
	bool in_force; /* `lease` is: address, routes, servers */
	struct dhcp_lease lease;
	const char *lost;              /* why the last one is not in force any more: one word */
	uint64_t t1_us, t2_us, end_us; /* of the lease in force */
	struct dhcp_6rd
	        rd; /* in force: set before the address of its lease is, unset before it goes */
	struct dhcp_route route[DHCP_ROUTES]; /* of the lease, in the table of routes */
	uint32_t n_routes;
	uint32_t servers_changed; /* counts changes of the list of DNS servers in force */

	struct dhcp_lease wanted; /* REQUESTING and PROBING: offered or given, and not in force */
	uint32_t xid;
	uint64_t due_us;      /* when the state has something to do */
	uint64_t begun_us;    /* when it began to ask: the field `secs` */
	uint64_t sent_us;     /* the request whose answer begins a lease */
	uint32_t tries;       /* messages or probes of this state so far */
	uint32_t wait_s;      /* before the next attempt after a refusal; 0: there was none */
	uint32_t conflicts;   /* addresses in a row that another station had */
	uint64_t announce_us; /* when the address is announced once more; 0: not */

	/* The first router of the lease, to know its network again (RFC 4436). */
	ip4 router;
	mac router_mac;
	bool router_known;  /* its MAC address is */
	bool router_seen;   /* it has answered since the carrier came up */
	uint64_t looked_us; /* when the carrier that came up was last looked into; 0: never */

	/* Lines of the log; one kind of reason does not hide another. */
	uint64_t said_rejected_us, said_malformed_us, said_network_us, said_unused_us,
	        said_other_us, said_bad_us, said_silent_us;
	uint64_t sent, taken, leases, declined, refused, expired;
};

#endif
