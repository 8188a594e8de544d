/* The service `pcp`: hosts of the inside ask for ports of the outer address, by PCP (RFC 6887) or
 * NAT-PMP (RFC 6886).
 *
 * A MAP entry holds a mapping of the NAT (nat_mapping_ask), which then stays without sessions and
 * which any remote endpoint may use. A PEER entry holds nothing: it gives its session the time that
 * was asked for, again each second, until that session has ended.
 *
 * Ports are in network byte order as loaded, unless it says otherwise. */
#ifndef APPS_PCP_PCP_H
#define APPS_PCP_PCP_H

#include "apps/nat/nat.h"
#include "apps/pcp/pcp_keys.h"
#include "net/udp/udp.h"

#ifndef PCP_ENTRIES /* the fuzzers have a smaller table */
#define PCP_ENTRIES 4096u
#endif
#define PCP_PORT        5351u /* of servers */
#define PCP_CLIENT_PORT 5350u /* to which answers to all are sent */
#define PCP_MOST        1100u /* bytes of a message (section 7) */
#define PCP_LEAST_S     120u
#define PCP_LONGEST_S   86400u
#define PCP_NONCE       12u
#define PCP_ANNOUNCES   10u
#define PCP_BUCKETS     256u

enum pcp_result {
	PCP_SUCCESS,
	PCP_UNSUPP_VERSION,
	PCP_NOT_AUTHORIZED,
	PCP_MALFORMED_REQUEST,
	PCP_UNSUPP_OPCODE,
	PCP_UNSUPP_OPTION,
	PCP_MALFORMED_OPTION,
	PCP_NETWORK_FAILURE,
	PCP_NO_RESOURCES,
	PCP_UNSUPP_PROTOCOL,
	PCP_USER_EX_QUOTA,
	PCP_CANNOT_PROVIDE_EXTERNAL,
	PCP_ADDRESS_MISMATCH,
	PCP_RESULTS
};

/* Who asks, and for what. An IPv4 address is one in `host`, not in ::ffff:0:0/96. */
struct pcp_ask {
	struct addr host;
	uint32_t client; /* which limits count (net/client.h): all addresses of a station are one */
	uint8_t link;    /* the interface */
	uint8_t proto;   /* enum nat_proto: NAT_UDP or NAT_TCP */
	uint16_t port, suggested;
	uint32_t suggested_ip; /* raw; 0: any */
	uint32_t lifetime_s;
	bool strict;     /* the suggestion or nothing: PREFER_FAILURE */
	bool pmp;        /* by NAT-PMP, which has no nonce */
	bool is_peer;    /* for one remote endpoint, */
	uint32_t rem_ip; /* which is this */
	uint16_t rem_port;
	uint32_t prefix; /* nat64: number of the prefix that stands for rem_ip */
	uint8_t nonce[PCP_NONCE];
};

/* What is answered. The lifetime of an error is 0 where it follows from the error (section 7.4). */
struct pcp_given {
	enum pcp_result result;
	uint32_t lifetime_s, ext_ip;
	uint16_t ext_port;
};

struct pcp_entry {
	struct addr host;
	uint8_t proto;
	bool used, pmp, is_peer;
	bool is_leased; /* the host had its address from our DHCP server */
	mac station;    /* and was this */
	uint16_t port;
	uint32_t mapping; /* number of the mapping that it holds; of a PEER entry NAT_NONE */
	uint32_t rem_ip;
	uint16_t rem_port;
	uint32_t until_s; /* seconds since boot (when.h) */
	uint32_t client;
	bool is_known;     /* the client is: not client_nobody */
	uint8_t link;      /* the interface that the host is on */
	uint32_t next;     /* of the same bucket, or of the free entries */
	uint32_t next_own; /* of the same client's bucket */
	uint8_t nonce[PCP_NONCE];
};

struct pcp {
	struct hash_key key;
	struct pcp_entry entry[PCP_ENTRIES];
	uint32_t bucket[PCP_ENTRIES]; /* by host */
	uint32_t owner[PCP_ENTRIES];  /* buckets by client */
	uint32_t free, fresh, n;
	uint32_t most;      /* entries, at most: a quarter of the sessions */
	uint32_t sweep;     /* the entry that the timer looks at next */
	uint32_t epoch_s;   /* when the epoch began, seconds since boot */
	uint32_t ext_ip;    /* the outer address that was told last */
	uint32_t announced; /* announcements sent since then */
	uint64_t announce_us;
	uint64_t requests, answers[PCP_RESULTS], expired, unleased, announcements;
	/* Requests that may come, as token buckets (bucket.h): of all hosts, and of one client. */
	uint64_t all_us, host_us[PCP_BUCKETS];
};

/* The state; NULL where no NAT runs beside the service. */
struct pcp *pcp_of(const struct gw *gw);

/* Seconds of the epoch (section 8.5). */
static inline uint32_t pcp_epoch(const struct gw *gw, const struct pcp *c)
{
	return gw->clock.s - c->epoch_s;
}

/* --- the table (pcp_table.c) ------------------------------------------------------------------ */

void pcp_table_init(struct pcp *c, uint32_t sessions, struct rng *rng);

/* The entry of an inside endpoint, and with PEER of its remote one; NULL when there is none. */
struct pcp_entry *pcp_table_find(struct pcp *c, const struct pcp_ask *ask);

/* Makes an entry for what is asked, without lifetime and mapping; NULL when the table is full. */
struct pcp_entry *pcp_table_add(struct gw *gw, struct pcp *c, const struct pcp_ask *ask);

/* Ends an entry, and the hold on its mapping. */
void pcp_table_end(struct gw *gw, struct pcp *c, struct pcp_entry *e);

/* True when the host that asks is not to have one more entry, nor the client. */
bool pcp_table_is_over(const struct gw *gw, const struct pcp *c, const struct pcp_ask *ask);

/* False when a client, or all together, ask too often (section 8.2). */
bool pcp_table_may_ask(const struct gw *gw, struct pcp *c, uint32_t client) MUST_USE;

/* Ends what has expired, and what belongs to a host whose address is another's now; keeps the
 * sessions of PEER entries. */
void pcp_table_tick(struct gw *gw, struct pcp *c);

/* Ends all entries. */
void pcp_table_clear(struct gw *gw, struct pcp *c);

/* --- requests --------------------------------------------------------------------------------- */

/* The number or address by which the NAT knows the host that asks; false when the NAT does not
 * translate for it. A number is held until pcp_inside_done. pcp_known is the same for a host that
 * has a mapping, and holds nothing; NAT_NONE when it has none. */
bool pcp_inside(struct gw *gw, const struct addr *host, uint32_t *in_ip) MUST_USE;
uint32_t pcp_known(const struct gw *gw, const struct addr *host);
void pcp_inside_done(struct gw *gw, uint32_t in_ip);

/* pcp_map.c: gives, renews or deletes (lifetime 0) a port. pcp_map_all deletes all of a host's
 * that have this nonce, or all of NAT-PMP; proto NAT_OTHER: of both protocols. */
struct pcp_given pcp_map(struct gw *gw, struct pcp *c, const struct pcp_ask *ask);
enum pcp_result pcp_map_all(struct gw *gw, struct pcp *c, const struct pcp_ask *ask);

/* pcp_peer.c: gives a session the time that is asked for. */
struct pcp_given pcp_peer(struct gw *gw, struct pcp *c, const struct pcp_ask *ask);

/* pcp_natpmp.c: answers a datagram of version 0; takes the packet as a handler does. */
enum verdict pcp_natpmp(struct gw *gw, struct pcp *c, struct pkt *p, const struct udp_ends *ends,
                        uint32_t client);

/* Writes our outer address as NAT-PMP tells it, 12 bytes. */
void pcp_natpmp_address(const struct gw *gw, const struct pcp *c, const struct addr *host,
                        uint8_t out[12]);

/* --- announcements (pcp_announce.c) ----------------------------------------------------------- */

/* Begins a new epoch: what was mapped is lost, and the hosts are told (section 8.5, 14.1). */
void pcp_announce_begin(struct gw *gw, struct pcp *c);

/* Sends the announcement that is due. */
void pcp_announce_tick(struct gw *gw, struct pcp *c);

extern const struct count_table pcp_counts;
bool pcp_show(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size);

#endif
