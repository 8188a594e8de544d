/* What the DHCP server knows: for each network a table of leases, made at the start, and the
 * clients whose address is being looked for. Times are seconds since boot, UINT32_MAX never comes;
 * `_us` is as gw->clock.us. */
#ifndef NET_DHCPS_DHCPS_STATE_H
#define NET_DHCPS_DHCPS_STATE_H

#include "net/dhcp/dhcp_message.h"
#include "net/dhcps/dhcps_keys.h"
#include "net/dhcps/dhcps_option.h"
#include "net/gw.h"

#define DHCPS_NONE UINT32_MAX /* no lease */

#ifndef DHCPS_PROBES      /* fewer in the fuzzers */
#define DHCPS_PROBES 512u /* clients that wait for a probe */
#endif
#define DHCPS_BUCKETS    1024u /* a power of two */
#define DHCPS_MESSAGE    600u  /* bytes of a message that waits */
#define DHCPS_MAC_LEASES 8u    /* of one MAC address */
#define DHCPS_OFFER_S    60u   /* that an offer holds */
#define DHCPS_DECLINE_S  600u  /* that an address rests which another station has */
#define DHCPS_CONFLICTS  4u    /* addresses that are looked at for one message */
#define DHCPS_ROGUE_SAY  60000u

/* Who a client is (RFC 2131 section 4.2): its client identifier, or else the type and the MAC
 * address as such an identifier has them, so that a boot ROM without one is the same client as the
 * system that it starts. */
struct dhcps_id {
	uint8_t len;
	bool second; /* another client has these bytes: those of who asks are behind them */
	uint8_t bytes[255];
};

/* Where a client is, which it cannot choose as it does its identifier. */
struct dhcps_who {
	mac client; /* chaddr */
	mac agent;  /* that sent the frame: the client itself, or its relay agent */
};

enum dhcps_state {
	DHCPS_FREE,     /* nobody's, or remembered: who had it last gets it again */
	DHCPS_OFFERED,  /* until `end` */
	DHCPS_BOUND,    /* until `end` */
	DHCPS_DECLINED, /* another station has it: rests until `end` */
};

/* What a search for a free address looks at; one an address. */
struct dhcps_slot {
	uint32_t end;
	uint8_t state;
	uint8_t fixed; /* 1 + number of the static lease; 0: of the pool */
	bool known;    /* it has or had a client */
};

/* The client of an address. */
struct dhcps_client {
	struct dhcps_id id;
	mac address, agent; /* as in struct dhcps_who */
	char name[DHCPS_NAME];
	uint16_t next_id, next_mac; /* with the same hash; DHCPS_END */
};
#define DHCPS_END 0xffffu

/* An option of the configuration. */
struct dhcps_option {
	uint8_t code;
	uint8_t len;
	uint8_t value[DHCPS_OPTION_VALUE];
};

struct dhcps_net {
	bool on;
	uint32_t iface;
	uint32_t first, n_pool; /* addresses first to first + n_pool - 1, host order */
	uint32_t n;             /* of slots: the pool, then static leases outside of it */
	struct dhcps_slot *slot;
	struct dhcps_client *client;
	uint32_t mask; /* of the hash tables */
	uint16_t *by_id, *by_mac;
	struct dhcps_option option[DHCPS_OPTIONS];
	uint32_t n_option;
	bool no_v6only;     /* the log says that hosts are not told option 108 */
	uint64_t bucket_us; /* of all messages together (bucket.h) */
	uint64_t said_rogue_us, said_full_us, said_conflict_us, said_bad_us, said_limited_us,
	        said_refused_us, said_relay_us; /* lines of the log */
};

/* A message that is answered when nobody has answered for the address. */
struct dhcps_probe {
	bool used;
	uint8_t iface;
	uint8_t sent;      /* ARP requests */
	uint8_t conflicts; /* addresses before this one that another station had */
	uint32_t slot;
	uint64_t due_us;
	ip4 from;
	mac station; /* that sent the frame */
	uint32_t len;
	uint8_t message[DHCPS_MESSAGE];
};

struct dhcps {
	const struct gw_clock *clock; /* the gateway's */
	struct dhcps_net net[INTERFACES];
	struct dhcps_probe probe[DHCPS_PROBES];
	uint32_t n_probes;
	uint64_t bucket_us[DHCPS_BUCKETS]; /* by station */
	uint64_t messages, offers, acks, naks, declines, releases, informs, conflicts, unprobed,
	        limited, full, rogues, offers_evicted;
};

/* Seconds as the table counts them: 0 has passed. */
static inline uint32_t dhcps_now(const struct gw *gw)
{
	return (uint32_t)(gw->clock.us / 1000000) + 1;
}

#endif
