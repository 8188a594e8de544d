/* The tables of the NAT: endpoint-independent mappings (RFC 4787, REQ-1), their sessions,
 * and the inside hosts that own them.
 *
 * A mapping ties an inside endpoint (address and port, or ICMP identifier) to an external
 * one. From outside it is found by the external port as an index, from inside by the same when it
 * kept its port, else by a keyed hash. A session is a mapping with one remote endpoint. It is found
 * by a keyed hash of its 5-tuple as seen from inside, in both directions. A mapping ends with its
 * last session; a static mapping (port forwarding) never ends.
 *
 * Protocols without ports (NAT_OTHER) have one mapping for each session. The session's key
 * has the external address in place of the inside one, because one external address can
 * serve one inside host for each remote address.
 *
 * Expiry uses a wheel of one-second slots. A packet only writes the session's expiry time.
 * The wheel visits a session when that time could be over and puts it back when it is not,
 * a bounded number in each tick. All memory is taken at start.
 *
 * Addresses and ports are raw (network byte order as loaded). An inside address may be a number
 * that stands for an IPv6 address (nat_inside.h). */
#ifndef APPS_NAT_NAT_TABLE_H
#define APPS_NAT_NAT_TABLE_H

#include "apps/nat/nat_blocks.h"
#include "apps/nat/nat_inside.h"
#include "kernel/lib/rng.h"

#define NAT_NONE 0xffffffffu
#ifndef NAT_WHEEL /* the fuzzers, which look at all of it for each input, have a smaller one */
#define NAT_WHEEL 8192u /* one-second slots; a longer timeout takes several rotations */
#endif
#define NAT_LIFE_S    4000000u                 /* the longest timeout … */
#define NAT_MOST_S    (NAT_LIFE_S + NAT_WHEEL) /* … and the longest with the wheel's delay */
#define NAT_HEAD      0x80000000u /* in wheel_prev: what follows is the number of a slot */
#define NAT_BARE      0x80000000u /* in owner: what follows is the number of a mapping */
#define NAT_HOSTS     65536u      /* inside hosts, at most */
#define NAT_SEEN      256u        /* of them, known without a hash */
#define NAT_MOVED     1024u       /* counters of mappings whose port is not the inside one */
#define NAT_RANGES    32u
#define NAT_EXTERNALS 1024u

enum nat_proto {
	NAT_UDP,
	NAT_TCP,
	NAT_ICMP,
	NAT_WITH_PORTS,
	NAT_OTHER = NAT_WITH_PORTS,
	NAT_PROTOS
};

struct nat_mapping {
	uint32_t in_ip;
	uint32_t ext_ip;
	uint16_t in_port; /* NAT_OTHER: the IP protocol */
	uint16_t ext_port;
	/* Changes of a checksum outbound (csum.h); of no use when in_ip stands for an IPv6 address.
	 */
	uint16_t ip_delta; /* by the address */
	uint16_t l4_delta; /* by address and port */
	uint32_t n_sessions;
	uint32_t next; /* in the hash chain or the free list */
	uint32_t host;
	uint16_t external; /* index of ext_ip in nat_table.external */
	uint8_t proto;     /* enum nat_proto */
	uint8_t is_static; /* it stays without sessions; any remote endpoint may use it */
};
_Static_assert(sizeof(struct nat_mapping) == 32, "a mapping's memory is documented");

/* Flags of a session. */
enum {
	NAT_HEARD_INSIDE = 1, /* TCP: sequence numbers of this side are known */
	NAT_HEARD_OUTSIDE = 2,
	NAT_ACK_INSIDE = 4, /* TCP: this side has sent an ACK */
	NAT_ACK_OUTSIDE = 8,
	NAT_ANSWERED = 16,   /* a packet came from outside: it is not half-open */
	NAT_UNINVITED = 32,  /* opened from outside, and the inside host has not sent in it */
	NAT_SYN_INSIDE = 64, /* TCP: a SYN of this side waits for its SYN-ACK */
	NAT_SYN_OUTSIDE = 128,
};

#define NAT_NO_ROUTE 0xffu
struct nat_session {
	/* The 5-tuple as seen from inside; ports as in_port | rem_port << 16. */
	uint32_t in_ip; /* NAT_OTHER: the external address */
	uint32_t rem_ip;
	uint32_t ports;
	uint8_t proto; /* enum nat_proto */
	uint8_t state; /* enum nat_state */
	uint8_t flags;
	uint8_t scale; /* window scales: inside in the lower four bits, outside in the upper */
	uint32_t mapping;
	uint32_t next;     /* in the hash chain or the free list */
	uint32_t expire_s; /* seconds since boot (when.h) */
	uint32_t wheel_next, wheel_prev;
	/* Copies of the mapping's fields, so that a packet touches no other cache line. Where in_ip
	 * stands for an IPv6 address, both deltas are what its application needs. */
	uint32_t ext_ip;
	uint16_t ext_port;
	uint16_t ip_delta;
	uint16_t l4_delta;
	/* The routes to the inside host and to the remote one, as the fast path keeps them:
	 * indices in struct route4_table, or NAT_NO_ROUTE. Where in_ip stands for an IPv6 address,
	 * route_in is the number of the prefix that stands for the remote host. */
	uint8_t route_in, route_out;
	/* TCP, by enum nat_side: the sequence number behind the last byte that this side
	 * sent (host order), and the last window that it offered. */
	uint32_t end[2];
	uint32_t syn_end; /* number behind the inside's SYN that waits for its SYN-ACK */
	uint16_t window[2];
};
_Static_assert(sizeof(struct nat_session) == 64, "a session is a cache line");

/* Beside each session: the sessions of one mapping with one remote address (a peer), for
 * address-dependent filtering. The first one is in the hash of peers, the others are in its
 * ring; a mapping's only session, before it had a second one, is in neither. */
struct nat_peer {
	uint32_t next;       /* hash chain of first sessions */
	uint32_t more, back; /* ring of the peer's sessions */
};

enum nat_state {
	NAT_FREE,
	NAT_OPEN, /* any protocol but TCP */
	/* TCP: the states of RFC 7857 section 2 */
	NAT_INIT, /* partly open */
	NAT_ESTABLISHED,
	NAT_IN_FIN,  /* inside sent FIN */
	NAT_OUT_FIN, /* outside sent FIN */
	NAT_BOTH_FIN,
	NAT_TRANS,
	NAT_STATES
};

/* An inside host: what it holds, and its external address, which all its sessions share
 * (paired pooling, RFC 4787 REQ-2). */
struct nat_host {
	uint32_t ip;         /* or the number of the host (nat_inside.h) */
	uint32_t next;       /* in the hash chain or the free list */
	uint32_t n_sessions; /* without those with NAT_UNINVITED */
	uint32_t n_mappings; /* the entry is freed with the last one */
	uint16_t external;
	uint16_t n_ports[NAT_WITH_PORTS]; /* ports held on its external address, by protocol */
	uint16_t block;                   /* the number of its block on that address */
};
_Static_assert(sizeof(struct nat_host) == 28, "a host's memory is documented");

/* Classes of ports: below 1024 or not, even or odd. A port is replaced by one of its own
 * class if possible (RFC 4787 REQ-3a and REQ-4). */
#define NAT_PORT_CLASSES 4u

/* The class of a port (host order). */
static inline uint32_t nat_port_class(uint32_t port)
{
	return (port >= 1024) * 2u + port % 2;
}

/* The lowest port (host order) that may be given for a wanted one. Ports below 1024 are
 * only for mappings that want one of them; these may get any port. ICMP identifiers have no
 * such ranges. */
static inline uint32_t nat_port_least(uint8_t proto, uint32_t wanted)
{
	return proto == NAT_ICMP || wanted < 1024 ? 0 : 1024;
}

/* The ports of one external address and one protocol. */
struct nat_ports {
	uint32_t used[65536 / 32];
	/* By raw port: the session of the port's mapping that was made last, or found last from
	 * outside; NAT_BARE and the mapping's number when that session has ended or there was none;
	 * NAT_NONE when the port is free. */
	uint32_t owner[65536];
};

struct nat_external {
	uint32_t ip;
	uint32_t n_hosts;
	uint32_t n_kept; /* free ports of each class from 1024 on that no mapping may take */
	uint16_t n_free[NAT_WITH_PORTS][NAT_PORT_CLASSES]; /* ports */
	struct nat_ports *ports[NAT_WITH_PORTS];
};

/* Consecutive external addresses; host order. */
struct nat_range {
	uint32_t first, last;
	uint32_t index; /* index of the first one in nat_table.external */
};

/* Free entries of a table. Entries that were used are in a list; those never used lie from
 * `fresh` on, so that a large table costs nothing at start. */
struct nat_free {
	uint32_t head;
	uint32_t fresh;
	uint32_t size;
};

struct export_ring;

struct nat_table {
	const char *name; /* of the application, with which its keys begin */
	uint32_t size;    /* sessions, and mappings */
	uint32_t mask;    /* number of buckets, less one */
	struct hash_key key[NAT_PROTOS];
	struct nat_session *session;
	struct nat_peer *peer;
	struct nat_mapping *mapping;
	struct nat_host *host;
	uint32_t *session_bucket;
	uint32_t *mapping_bucket;
	uint32_t *peer_bucket;
	uint32_t *host_bucket;
	uint32_t host_mask;
	uint16_t seen[NAT_SEEN];   /* the host that last got a mapping, by its address */
	uint32_t moved[NAT_MOVED]; /* mappings with a hash, by their inside port */
	struct nat_free session_free, mapping_free, host_free;
	uint32_t n_sessions, n_mappings, n_hosts;
	uint64_t created, expired, evicted, renumbered;
	uint32_t scan_at; /* the next entry that nat_evict.c scans */
	/* The last key whose bucket was noted (nat_bucket_note): a new flow is hashed once, not at
	 * each step. */
	struct {
		uint32_t in_ip, rem_ip, ports, bucket;
	} noted;
	uint32_t wheel[NAT_WHEEL];
	uint32_t wheel_s; /* the second whose slot is visited */
	/* How long (seconds) an established TCP session that expired waits for a last
	 * segment (RFC 7857 section 2: TCP_EST T.O. leads to TRANS). */
	uint32_t linger_s;
	/* Where set, called about each such session before its last wait begins. */
	void (*lingers)(void *of, const struct nat_session *s);
	void *lingers_of;
	struct nat_blocks blocks;
	struct export_ring *events;  /* of sessions (net/export); NULL: nobody keeps them */
	struct nat_insides *inside6; /* NULL where no inside host has an IPv6 address */
	struct nat_external *external;
	uint32_t first_external; /* address of external[0] */
	uint32_t n_external;
	struct nat_range range[NAT_RANGES];
	uint32_t n_ranges;
	struct rng *rng;
};

/* Sets up the table: takes memory for `size` sessions and for these external addresses from
 * alloc(). Gives NULL, or what is wrong (a text for the log, which begins with a key of the
 * application `name`). rng stays in use. */
const char *nat_table_init(struct nat_table *t, const char *name, uint32_t size,
                           const struct nat_range *range, uint32_t n_ranges, struct rng *rng);

/* The address or number of the inside host that an inside address belongs to. */
static inline uint32_t nat_host_of(const struct nat_table *t, uint32_t in_ip)
{
	return t->inside6 && nat_inside_is6(in_ip) ? nat_inside_of(t->inside6, in_ip)->host : in_ip;
}

/* The index of an external address, NAT_NONE when the address is none. */
static inline uint32_t nat_external_find(const struct nat_table *t, uint32_t ip)
{
	if (LIKELY(t->first_external == ip))
		return 0;
	uint32_t a = swap32(ip);
	for (uint32_t i = 0; i < t->n_ranges; i++)
		if (a >= t->range[i].first && a <= t->range[i].last)
			return t->range[i].index + (a - t->range[i].first);
	return NAT_NONE;
}

/* The bucket of a 5-tuple. The protocol is not part of the hash; a lookup compares it. */
ALWAYS_INLINE uint32_t nat_session_hash(const struct nat_table *t, uint32_t in_ip, uint32_t rem_ip,
                                        uint32_t ports)
{
	return hash_three(&t->key[NAT_UDP], in_ip, rem_ip, ports) & t->mask;
}

/* Keeps the bucket of a 5-tuple, which nat_session_hash gave, for nat_session_bucket. */
static inline void nat_bucket_note(struct nat_table *t, uint32_t in_ip, uint32_t rem_ip,
                                   uint32_t ports, uint32_t bucket)
{
	t->noted.in_ip = in_ip;
	t->noted.rem_ip = rem_ip;
	t->noted.ports = ports;
	t->noted.bucket = bucket;
}

/* nat_session_hash, without the hash for the 5-tuple that was noted last. */
static inline uint32_t nat_session_bucket(const struct nat_table *t, uint32_t in_ip,
                                          uint32_t rem_ip, uint32_t ports)
{
	if (t->noted.ports == ports && t->noted.in_ip == in_ip && t->noted.rem_ip == rem_ip)
		return t->noted.bucket;
	return nat_session_hash(t, in_ip, rem_ip, ports);
}

/* The session of a 5-tuple if it is in this bucket, else NULL. */
ALWAYS_INLINE struct nat_session *nat_session_in(const struct nat_table *t, uint32_t bucket,
                                                 uint8_t proto, uint32_t in_ip, uint32_t rem_ip,
                                                 uint32_t ports)
{
	uint32_t i = t->session_bucket[bucket];
	while (i != NAT_NONE) {
		struct nat_session *s = &t->session[i];
		if (s->in_ip == in_ip && s->rem_ip == rem_ip && s->ports == ports &&
		    s->proto == proto)
			return s;
		i = s->next;
	}
	return NULL;
}

/* The session of a 5-tuple, NULL when there is none. */
static inline struct nat_session *nat_session_find(const struct nat_table *t, uint8_t proto,
                                                   uint32_t in_ip, uint32_t rem_ip, uint32_t ports)
{
	return nat_session_in(t, nat_session_bucket(t, in_ip, rem_ip, ports), proto, in_ip, rem_ip,
	                      ports);
}

/* The mapping of a port, by what nat_ports.owner says of it; NULL when the port is free. */
static inline struct nat_mapping *nat_mapping_of_owner(const struct nat_table *t, uint32_t owner)
{
	if (owner == NAT_NONE)
		return NULL;
	return &t->mapping[owner & NAT_BARE ? owner & ~NAT_BARE : t->session[owner].mapping];
}

/* The mapping of an external port, NULL when the port is free. */
static inline struct nat_mapping *nat_mapping_of_port(const struct nat_table *t, uint32_t external,
                                                      uint8_t proto, uint16_t ext_port)
{
	return nat_mapping_of_owner(t, t->external[external].ports[proto]->owner[ext_port]);
}

/* The session with a remote endpoint of the mapping of a port, which is not the one that the port
 * names: *named in nat_ports.owner. It names the found one then, unless the remote address is an
 * external one. NULL when there is none. */
struct nat_session *nat_session_beside(struct nat_table *t, uint32_t *named, uint32_t rem_ip,
                                       uint16_t rem_port);

/* The session of an external port with a remote endpoint, NULL when there is none. The port names
 * this session then, as nat_session_beside says. Most mappings have one session, which this finds
 * without a hash. */
ALWAYS_INLINE struct nat_session *nat_session_at_port(struct nat_table *t, uint32_t external,
                                                      uint8_t proto, uint16_t ext_port,
                                                      uint32_t rem_ip, uint16_t rem_port)
{
	uint32_t *owner = &t->external[external].ports[proto]->owner[ext_port];
	if (LIKELY(*owner < NAT_BARE)) {
		struct nat_session *s = &t->session[*owner];
		if (LIKELY(s->rem_ip == rem_ip && s->ports >> 16 == rem_port))
			return s;
	}
	return nat_session_beside(t, owner, rem_ip, rem_port);
}

/* The mapping of an inside endpoint, NULL when there is none. Not NAT_OTHER. */
struct nat_mapping *nat_mapping_find(const struct nat_table *t, uint8_t proto, uint32_t in_ip,
                                     uint16_t in_port);

/* Why there is no new mapping or session: no free port on the host's external address, no
 * free entry in a table, or another host has the key of a session without ports. */
enum nat_lack { NAT_HAS_ALL, NAT_LACKS_PORT, NAT_LACKS_ENTRY, NAT_LACKS_KEY };

/* Makes a mapping for an inside endpoint with a free port of the host's external address:
 * the same number if it is free, else an unpredictable one (RFC 6056) of the same parity
 * and range (RFC 4787 REQ-3a and REQ-4), else one of the other parity, else, for one below
 * 1024, one from 1024 on; any number for ICMP. When none is free, nat_evict_port evicts a
 * session for one. A host without mappings gets an external address that has such a port,
 * if there is one. Not NAT_OTHER. NULL with the reason in *lack. The mapping has no session
 * yet: the caller makes one or calls nat_mapping_drop. */
struct nat_mapping *nat_mapping_new(struct nat_table *t, uint8_t proto, uint32_t in_ip,
                                    uint16_t in_port, enum nat_lack *lack);

/* Makes a mapping for NAT_OTHER, for the only session of a host with a remote address (0:
 * any). NULL with the reason in *lack, NAT_LACKS_KEY when another host has that session at
 * its external address. The mapping has no session yet: the caller makes one or calls
 * nat_mapping_drop. */
struct nat_mapping *nat_mapping_other(struct nat_table *t, uint32_t in_ip, uint16_t ip_proto,
                                      uint32_t rem_ip, enum nat_lack *lack);

/* Frees a mapping that has no session, its port, and its host when that was its last mapping. */
void nat_mapping_drop(struct nat_table *t, struct nat_mapping *m);

/* Makes a static mapping: `ext_port` of an external address (index) belongs to an inside
 * endpoint. False when the port or the endpoint is in use already. */
bool nat_mapping_static(struct nat_table *t, uint8_t proto, uint32_t external, uint16_t ext_port,
                        uint32_t in_ip, uint16_t in_port) MUST_USE;

/* Makes a mapping for an inside endpoint that was asked for (apps/pcp): its external port is the
 * one suggested (raw), or the inside one where that is 0, if it is free; else as nat_mapping_new
 * has it, but nothing is evicted. NULL with the reason in *lack. The mapping has no session and is
 * not static yet: the caller sets is_static, makes a session, or calls nat_mapping_drop. */
struct nat_mapping *nat_mapping_ask(struct nat_table *t, uint8_t proto, uint32_t in_ip,
                                    uint16_t in_port, uint16_t suggested, enum nat_lack *lack);

/* A mapping of nat_mapping_ask that was made static ends with its last session from now on, and at
 * once when it has none. */
void nat_mapping_unask(struct nat_table *t, struct nat_mapping *m);

/* Takes a port (host order) of an external address for a socket of the gateway itself: no mapping
 * gets it. False when it is in use. nat_port_give ends that. */
bool nat_port_take(struct nat_table *t, uint32_t external, uint8_t proto, uint16_t port) MUST_USE;
void nat_port_give(struct nat_table *t, uint32_t external, uint8_t proto, uint16_t port);

/* True when a port (host order) is in use. */
static inline bool nat_port_used(const struct nat_ports *p, uint32_t port)
{
	return p->used[port / 32] >> port % 32 & 1;
}

/* Draws a free port from lo to hi (host order) among those whose bit is set in `mask` in each word
 * of 32 ports (parity); 0 when there is none. The search begins at a random word and looks at each
 * word once, at most 2048. */
uint32_t nat_port_pick(struct rng *rng, const struct nat_ports *p, uint32_t lo, uint32_t hi,
                       uint32_t mask);

/* True when nat_port_take took the port (raw). */
static inline bool nat_port_is_taken(const struct nat_table *t, uint32_t external, uint8_t proto,
                                     uint16_t ext_port)
{
	const struct nat_ports *p = t->external[external].ports[proto];
	uint32_t port = swap16(ext_port);
	return p->owner[ext_port] == NAT_NONE && port != 0 && p->used[port / 32] >> port % 32 & 1;
}

/* nat_external_of: the external address (index) of an inside host, NAT_NONE while it holds
 * nothing. nat_external_for: the same, or the address that the host would get if all of
 * them could serve it. */
uint32_t nat_external_of(const struct nat_table *t, uint32_t in_ip);
uint32_t nat_external_for(const struct nat_table *t, uint32_t in_ip);

/* The number of sessions that an inside host opened or sent in. Sessions that were only
 * opened from outside do not count against it. */
uint32_t nat_host_sessions(const struct nat_table *t, uint32_t in_ip);

/* True when an inside address is that of no host in the table, and none can be added. */
bool nat_lacks_host(const struct nat_table *t, uint32_t in_ip);

/* Makes a session of a mapping with a remote endpoint, in a state, that expires at expire_s
 * (seconds since boot). NULL when the table is full. */
struct nat_session *nat_session_new(struct nat_table *t, struct nat_mapping *m, uint32_t rem_ip,
                                    uint16_t rem_port, enum nat_state state, uint32_t expire_s);

/* Ends a session, and its mapping when that was its last one and it is not static. */
void nat_session_drop(struct nat_table *t, struct nat_session *s);

/* Gives an external address (index; the only one of its range) another value, raw; 0: there is none
 * now, and no packet is to it. Its sessions end and are counted (renumbered); static mappings and
 * ports taken by nat_port_take stay. */
void nat_external_move(struct nat_table *t, uint32_t external, uint32_t ip);

/* Makes all sessions forget their routes, which may have changed. */
void nat_session_forget_routes(struct nat_table *t);

/* nat_session_uninvited marks a session that was just made as opened from outside.
 * nat_session_invite makes it the inside host's own later. */
void nat_session_uninvited(struct nat_table *t, struct nat_session *s);
void nat_session_invite(struct nat_table *t, struct nat_session *s);

/* Evicts a session from a full table in favour of a session of an inside host: one with
 * little to lose (nat_evict.c) among a bounded number of sessions drawn at random. `keep`,
 * if not NULL, does not lose its last session. False when none was found. */
bool nat_evict_session(struct nat_table *t, uint32_t in_ip, const struct nat_mapping *keep);

/* Evicts a session of the same host that another station has (nat_inside.h), in favour of an inside
 * address whose station holds fewer. Sessions in use stay. False when none was found, and for a
 * host that is no /64. */
bool nat_evict_neighbour(struct nat_table *t, uint32_t in_ip);

/* Evicts a session where no host or no inside address can be added: one with little to lose,
 * of a mapping with few sessions and an address with few mappings, so that their entries become
 * free. False when none was found. They may still be in use by others. */
bool nat_evict_address(struct nat_table *t);

/* Evicts an uninvited session from a full table in favour of a new one that is opened from
 * outside to a mapping of an inside host. `keep` does not lose its last session. False when
 * none was found. */
bool nat_evict_uninvited(struct nat_table *t, const struct nat_mapping *keep);

/* Evicts a session in favour of an inside address and its host (index), whose external address has
 * no free port left that may stand for `in_port` (raw). Gives the port that became free (host
 * order), 0 when no victim was found. */
uint32_t nat_evict_port(struct nat_table *t, uint8_t proto, uint32_t host, uint32_t in_ip,
                        uint16_t in_port);

/* True when the mapping has a session with this remote address, any port. */
bool nat_knows_peer(const struct nat_table *t, const struct nat_mapping *m, uint32_t rem_ip);

/* Seconds until a session expires; 0 when its time is over. */
uint32_t nat_session_left(const struct nat_session *s, uint32_t now_s);

/* Seconds until a session of the mapping expires: the session with this remote address, or
 * else the one that its port names; 0 when there is neither. Not NAT_OTHER. */
uint32_t nat_mapping_left(const struct nat_table *t, const struct nat_mapping *m, uint32_t rem_ip,
                          uint32_t now_s);

/* Gives a session a new expiry time that is earlier than the present one. A later time is
 * only written to the session. */
void nat_session_sooner(struct nat_table *t, struct nat_session *s, uint32_t expire_s);

/* Ends the sessions that expired until now_s (an established TCP session becomes
 * transitory). Visits at most `most` sessions; true when there are more to visit. */
bool nat_session_tick(struct nat_table *t, uint32_t now_s, uint32_t most);

#endif
