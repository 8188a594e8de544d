/* What the DHCPv6 client of the WAN knows, and the server of the inside. Times are in microseconds,
 * as gw->clock.us; UINT64_MAX never comes. */
#ifndef NET_DHCP6_DHCP6_STATE_H
#define NET_DHCP6_DHCP6_STATE_H

#include "kernel/lib/bytes.h"

#define DHCP6_LEASES      4u   /* addresses, and prefixes, of one server */
#define DHCP6_SERVERS     4u   /* DNS servers */
#define DHCP6_SERVER_DUID 130u /* bytes of a DUID at most (RFC 8415 section 11.1) */
#define DHCP6_NETS        28u  /* networks of the inside: seven interfaces in each prefix */

/* The two identity associations: addresses for the WAN, and prefixes for the inside. */
enum dhcp6_ia { DHCP6_NA, DHCP6_PD, DHCP6_IAS };

/* An address (len 128) or a prefix (its host part is zero), as a server gives it. Seconds;
 * UINT32_MAX: for ever. */
struct dhcp6_lease {
	ip6 addr;
	uint8_t len;
	uint32_t preferred_s, valid_s;
};

/* An identity association in an answer. */
struct dhcp6_ia_answer {
	bool given;      /* it is in the answer */
	uint16_t status; /* enum dhcp6_status */
	uint32_t t1_s, t2_s;
	struct dhcp6_lease lease[DHCP6_LEASES];
	uint32_t n;
};

/* An answer whose form was checked. */
struct dhcp6_answer {
	uint8_t type; /* enum dhcp6_type */
	uint8_t preference;
	bool rapid;
	uint16_t status; /* of the whole */
	uint8_t server[DHCP6_SERVER_DUID];
	uint32_t server_len;
	struct dhcp6_ia_answer ia[DHCP6_IAS];
	bool has_dns;
	ip6 dns[DHCP6_SERVERS];
	uint32_t n_dns;
	uint32_t sol_max_s, inf_max_s, refresh_s; /* 0: not there, or out of bounds */
};

/* A lease that the gateway has. */
struct dhcp6_held {
	ip6 addr;
	uint8_t len;
	bool refused; /* the gateway cannot have the address */
	uint64_t preferred_us, valid_us;
};

struct dhcp6_binding {
	struct dhcp6_held held[DHCP6_LEASES];
	uint32_t n;
};

/* A network of the inside that is cut from a prefix. */
struct dhcp6_net {
	ip6 net;
	uint8_t iface;
	bool refused; /* the interface cannot have it */
};

/* A delegated prefix: what of it no interface has leads nowhere. */
struct dhcp6_rest {
	ip6 net;
	uint8_t len;
};

enum dhcp6_state {
	DHCP6_OFF,        /* there is no IPv6 on the WAN */
	DHCP6_IDLE,       /* there is nothing to ask for */
	DHCP6_SOLICITING, /* RFC 8415 section 18.2.1 and following */
	DHCP6_REQUESTING,
	DHCP6_BOUND,
	DHCP6_RENEWING,
	DHCP6_REBINDING,
	DHCP6_CONFIRMING, /* after the carrier was lost: Confirm, or Rebind where there is a prefix
	                   */
	DHCP6_DECLINING,
	DHCP6_INFORMING, /* asks for other configuration alone … */
	DHCP6_INFORMED,  /* … and has it */
	DHCP6_RELEASING,
	DHCP6_RELEASED, /* gave its leases back, and asks for none */
	DHCP6_STATES,
};

struct dhcp6_client {
	uint8_t state; /* enum dhcp6_state */
	bool came_up;  /* the carrier did, since the last tick */
	bool rebinds;  /* CONFIRMING: by a Rebind */
	uint8_t asks;  /* of this exchange: bits 1 << enum dhcp6_ia */
	uint32_t xid;
	uint64_t begun_us;  /* when the exchange began, for option 8 */
	uint64_t due_us;    /* when the state has something to do */
	uint64_t end_us;    /* when the exchange ends without an answer */
	uint32_t wait_ms;   /* the wait before the last message of the exchange; 0: it has none */
	uint32_t tries;     /* messages of the exchange */
	uint32_t conflicts; /* addresses in a row that another station had */
	uint32_t fails;     /* requests in a row that gave nothing */
	uint64_t budget_us; /* RFC 8415 section 14.1, as a token bucket (bucket.h) */

	uint8_t server[DHCP6_SERVER_DUID]; /* that gave the leases, or is asked for them */
	uint32_t server_len;
	/* SOLICITING: the best offer so far; REQUESTING: what was offered. */
	struct dhcp6_answer offer;
	uint32_t offer_rank; /* 0: there is none */
	struct dhcp6_held declined;
	struct dhcp6_binding given_back[DHCP6_IAS]; /* RELEASING: what is released */

	struct dhcp6_binding bound[DHCP6_IAS];
	uint64_t t1_us, t2_us;
	uint64_t ready_us; /* when the link-local address became valid; 0: it is not */
	uint64_t heard;    /* advertisements when the carrier came up */
	struct dhcp6_net net[DHCP6_NETS];
	uint32_t n_nets;
	struct dhcp6_rest rest[DHCP6_LEASES]; /* in the table of routes */
	uint32_t n_rests;

	ip6 dns[DHCP6_SERVERS];
	uint32_t n_dns;
	uint32_t servers_changed; /* counts changes of the list of DNS servers */
	uint32_t sol_max_s, inf_max_s;

	uint64_t said_refused_us, said_bad_us, said_silent_us, said_net_us; /* lines of the log */
	uint64_t sent, taken, refused, declines;
};

/* The stateless server of the inside. */
struct dhcp6_server {
	bool listens[8]; /* on interface i */
	uint64_t answered;
};

#endif
