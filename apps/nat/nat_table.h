/* The tables of the NAT: endpoint-independent mappings (RFC 4787, REQ-1), the
 * sessions under them, and the inside hosts that own them.
 *
 * A mapping ties an inside endpoint (address, port or ICMP identifier) to an
 * external one; it is found by a keyed hash from inside and by the external
 * port as an index from outside. A session is a mapping with one remote
 * endpoint; it is found by one keyed hash of its 5-tuple as seen from inside,
 * from either direction. A mapping lives as long as it has sessions; a static
 * one (port forwarding) for ever.
 *
 * Protocols without ports (NAT_OTHER) have one mapping a session; the session's
 * key has the external address in place of the inside one, because one
 * external address can serve one inside host for each remote address.
 *
 * Expiry is a wheel of one-second slots. A packet only writes a session's time;
 * the wheel looks at a session when that could have run out and puts it back
 * if not, a bounded number at a turn. All memory is taken at start.
 *
 * Addresses and ports are raw (wire order as loaded). */
#ifndef APPS_NAT_NAT_TABLE_H
#define APPS_NAT_NAT_TABLE_H

#include "kernel/lib/rng.h"

#define NAT_NONE 0xffffffffu
#ifndef NAT_WHEEL       /* smaller in the fuzzers, which look at all of it for each input */
#define NAT_WHEEL 8192u /* seconds; a longer timeout goes round more than once */
#endif
#define NAT_LIFE_S    4000000u                 /* no timeout is longer … */
#define NAT_MOST_S    (NAT_LIFE_S + NAT_WHEEL) /* … and no wheel is later than that */
#define NAT_HEAD      0x80000000u /* in wheel_prev: the first of a slot, with its number */
#define NAT_BARE      0x80000000u /* in owner: the number of a mapping */
#define NAT_HOSTS     65536u      /* inside hosts, at most */
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
	uint16_t ip_delta; /* checksum delta of the address change, outbound */
	uint16_t l4_delta; /* the same with the port change */
	uint32_t n_sessions;
	uint32_t next; /* hash chain; free list */
	uint32_t host;
	uint16_t external; /* index of ext_ip */
	uint8_t proto;     /* enum nat_proto */
	uint8_t is_static; /* stays without sessions; any remote endpoint may use it */
};
_Static_assert(sizeof(struct nat_mapping) == 32, "a mapping's memory is documented");

/* What is known of a session, for flags. */
enum {
	NAT_HEARD_INSIDE = 1, /* TCP: its sequence numbers are known */
	NAT_HEARD_OUTSIDE = 2,
	NAT_ACK_INSIDE = 4, /* TCP: it has sent an ACK */
	NAT_ACK_OUTSIDE = 8,
	NAT_ANSWERED = 16,   /* a packet came from outside: not half-open */
	NAT_UNINVITED = 32,  /* opened from outside, and not taken up by the inside host */
	NAT_SYN_INSIDE = 64, /* TCP: its SYN awaits a SYN-ACK */
	NAT_SYN_OUTSIDE = 128,
};

struct nat_session {
	/* The 5-tuple as seen from inside; ports as in_port | rem_port << 16. */
	uint32_t in_ip; /* NAT_OTHER: the external address */
	uint32_t rem_ip;
	uint32_t ports;
	uint8_t proto; /* enum nat_proto */
	uint8_t state; /* enum nat_state */
	uint8_t flags;
	uint8_t scale; /* window scales: inside in the lower half, outside in the upper */
	uint32_t mapping;
	uint32_t next;     /* hash chain; free list */
	uint32_t expire_s; /* seconds since boot (when.h) */
	uint32_t wheel_next, wheel_prev;
	/* Copies of the mapping's, so that a packet needs no other line of memory. */
	uint32_t ext_ip;
	uint16_t ext_port;
	uint16_t ip_delta;
	uint16_t l4_delta;
	/* TCP, by enum nat_side: the sequence number behind the last byte that
	 * came from there, host order, and the window last offered there. */
	uint32_t end[2];
	uint32_t syn_end; /* behind the inside's SYN that awaits its SYN-ACK */
	uint16_t window[2];
};
_Static_assert(sizeof(struct nat_session) == 64, "a session is a cache line");

/* Beside each session: the sessions of one mapping with one remote address (for
 * address-dependent filtering). The first is in the hash of peers, the others
 * hang on it. */
struct nat_peer {
	uint32_t next;       /* hash chain of firsts */
	uint32_t more, back; /* ring of the sessions of this peer */
};

enum nat_state {
	NAT_FREE,
	NAT_OPEN, /* all but TCP */
	/* TCP, the machine of RFC 7857 section 2 */
	NAT_INIT, /* partly open */
	NAT_ESTABLISHED,
	NAT_IN_FIN,  /* inside sent FIN */
	NAT_OUT_FIN, /* outside sent FIN */
	NAT_BOTH_FIN,
	NAT_TRANS,
	NAT_STATES
};

/* An inside host: what it holds, and its external address, which all its
 * sessions share (paired pooling, RFC 4787 REQ-2). */
struct nat_host {
	uint32_t ip;
	uint32_t next;       /* hash chain; free list */
	uint32_t n_sessions; /* without those that are NAT_UNINVITED */
	uint32_t n_mappings; /* the entry goes with the last one */
	uint16_t external;
	uint16_t n_ports[NAT_WITH_PORTS]; /* of its external address, by protocol */
};
_Static_assert(sizeof(struct nat_host) == 24, "a host's memory is documented");

/* Ports that take each other's place first (RFC 4787 REQ-3a and REQ-4): below 1024
 * or not, even or odd. */
#define NAT_PORT_CLASSES 4u

/* The class of a port, host order. */
static inline uint32_t nat_port_class(uint32_t port)
{
	return (port >= 1024) * 2u + port % 2;
}

/* The lowest port, host order, that may stand for a wanted one: those below 1024 are for
 * whoever wants one of them, while who does may get any. ICMP has no such parts. */
static inline uint32_t nat_port_least(uint8_t proto, uint32_t wanted)
{
	return proto == NAT_ICMP || wanted < 1024 ? 0 : 1024;
}

/* Ports in use on one external address for one protocol. */
struct nat_ports {
	uint32_t used[65536 / 32];
	/* By raw port: the session of the port's mapping that a packet from outside
	 * belonged to last, NAT_BARE and the mapping while it has no session, or
	 * NAT_NONE. */
	uint32_t owner[65536];
};

struct nat_external {
	uint32_t ip;
	uint32_t n_hosts;
	uint16_t n_free[NAT_WITH_PORTS][NAT_PORT_CLASSES]; /* ports */
	struct nat_ports *ports[NAT_WITH_PORTS];
};

/* External addresses that follow each other; host order. */
struct nat_range {
	uint32_t first, last;
	uint32_t index; /* of the first */
};

/* Entries used once and given back are linked; those never used lie behind
 * `fresh`, so that a large table costs nothing at start. */
struct nat_free {
	uint32_t head;
	uint32_t fresh;
	uint32_t size;
};

struct nat_table {
	uint32_t size; /* sessions, and mappings */
	uint32_t mask; /* buckets - 1 */
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
	struct nat_free session_free, mapping_free, host_free;
	uint32_t n_sessions, n_mappings, n_hosts;
	uint64_t created, expired, evicted;
	uint32_t room_at; /* the session whose turn it is in nat_room.c */
	uint32_t wheel[NAT_WHEEL];
	uint32_t wheel_s; /* the second whose slot is being looked at */
	/* For how long an established TCP session whose time has run out waits for
	 * a last segment (RFC 7857 section 2: TCP_EST T.O. leads to TRANS). */
	uint32_t linger_s;
	struct nat_external *external;
	uint32_t first_external; /* address of external[0] */
	uint32_t n_external;
	struct nat_range range[NAT_RANGES];
	uint32_t n_ranges;
	struct rng *rng;
};

/* Takes memory for `size` sessions and these external addresses from alloc().
 * NULL, or what is wrong. */
const char *nat_table_init(struct nat_table *t, uint32_t size, const struct nat_range *range,
                           uint32_t n_ranges, struct rng *rng);

/* The index of an external address, NAT_NONE when it is none of ours. */
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

/* The bucket of a 5-tuple, without the protocol: who looks compares it. */
ALWAYS_INLINE uint32_t nat_session_hash(const struct nat_table *t, uint32_t in_ip, uint32_t rem_ip,
                                        uint32_t ports)
{
	return hash_three(&t->key[NAT_UDP], in_ip, rem_ip, ports) & t->mask;
}

/* The session of a 5-tuple if it is in that bucket, else NULL. */
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
	return nat_session_in(t, nat_session_hash(t, in_ip, rem_ip, ports), proto, in_ip, rem_ip,
	                      ports);
}

/* The mapping that owns an external port, NULL when it is free. */
static inline struct nat_mapping *nat_mapping_of_port(const struct nat_table *t, uint32_t external,
                                                      uint8_t proto, uint16_t ext_port)
{
	uint32_t i = t->external[external].ports[proto]->owner[ext_port];
	if (i == NAT_NONE)
		return NULL;
	return &t->mapping[i & NAT_BARE ? i & ~NAT_BARE : t->session[i].mapping];
}

/* The session of a mapping with a remote endpoint, NULL when there is none. Its
 * port remembers it. */
struct nat_session *nat_session_of(struct nat_table *t, const struct nat_mapping *m,
                                   uint32_t rem_ip, uint16_t rem_port);

/* The session of an external port with a remote endpoint, if it is the one that
 * the port remembers, else NULL. Most mappings have one session: this finds it
 * without a hash. */
ALWAYS_INLINE struct nat_session *nat_session_at_port(const struct nat_table *t, uint32_t external,
                                                      uint8_t proto, uint16_t ext_port,
                                                      uint32_t rem_ip, uint16_t rem_port)
{
	uint32_t i = t->external[external].ports[proto]->owner[ext_port];
	if (UNLIKELY(i >= NAT_BARE))
		return NULL;
	struct nat_session *s = &t->session[i];
	return s->rem_ip == rem_ip && s->ports >> 16 == rem_port ? s : NULL;
}

/* The mapping of an inside endpoint, NULL when there is none. Not NAT_OTHER. */
struct nat_mapping *nat_mapping_find(const struct nat_table *t, uint8_t proto, uint32_t in_ip,
                                     uint16_t in_port);

/* Why there is no new mapping or session: table, ports of the host's external address,
 * or another host has the key of a session without ports there. */
enum nat_lack { NAT_HAS_ALL, NAT_LACKS_PORT, NAT_LACKS_ENTRY, NAT_LACKS_KEY };

/* A new mapping for an inside endpoint with a free port of the host's external
 * address: the same number if it is free, else an unpredictable one (RFC 6056) of the
 * same parity and range (RFC 4787 REQ-3a and REQ-4), else of the other parity, else,
 * for one below 1024, from 1024 on; any number for ICMP. Where there is none,
 * nat_make_port is asked for one. A host that holds nothing gets an external address that
 * has such a port, if there is one. Not NAT_OTHER. NULL with the reason in *lack. It has
 * no session yet: give it one, or nat_mapping_drop it. */
struct nat_mapping *nat_mapping_new(struct nat_table *t, uint8_t proto, uint32_t in_ip,
                                    uint16_t in_port, enum nat_lack *lack);

/* The same for NAT_OTHER: a mapping for the one session of a host with a remote address
 * (0: any), whose key no other host has at its external address. */
struct nat_mapping *nat_mapping_other(struct nat_table *t, uint32_t in_ip, uint16_t ip_proto,
                                      uint32_t rem_ip, enum nat_lack *lack);
void nat_mapping_drop(struct nat_table *t, struct nat_mapping *m);

/* A mapping that stays: `ext_port` of the first external address belongs to an
 * inside endpoint. False when the port or the endpoint has one already. */
bool nat_mapping_static(struct nat_table *t, uint8_t proto, uint16_t ext_port, uint32_t in_ip,
                        uint16_t in_port) MUST_USE;

/* The external address that an inside host has (its index), NAT_NONE while it holds
 * nothing; and the one that it has, or would get if all could serve it. */
uint32_t nat_external_of(const struct nat_table *t, uint32_t in_ip);
uint32_t nat_external_for(const struct nat_table *t, uint32_t in_ip);

/* Sessions that an inside host opened or took up: what anybody outside can make
 * is not held against it. */
uint32_t nat_host_sessions(const struct nat_table *t, uint32_t in_ip);

/* A new session of a mapping with a remote endpoint, in a state, expiring at a
 * time; NULL when the table is full. */
struct nat_session *nat_session_new(struct nat_table *t, struct nat_mapping *m, uint32_t rem_ip,
                                    uint16_t rem_port, enum nat_state state, uint32_t expire_s);

/* Ends a session, and its mapping with the last one. */
void nat_session_drop(struct nat_table *t, struct nat_session *s);

/* A session that was just made was opened from outside (NAT_UNINVITED); later its
 * inside host takes it up, and it is the host's own. */
void nat_session_uninvited(struct nat_table *t, struct nat_session *s);
void nat_session_invite(struct nat_table *t, struct nat_session *s);

/* Makes room in a full table for a session of an inside host, at the cost of one
 * that has little to lose (nat_room.c), found among a bounded number drawn at
 * random. `keep`, if not NULL, does not lose its last session. False when there
 * was none. */
bool nat_make_room(struct nat_table *t, uint32_t in_ip, const struct nat_mapping *keep);

/* Makes room in a full table for a session that is opened from outside to a mapping
 * which an inside host made: at the cost of another such one only. */
bool nat_replace_stranger(struct nat_table *t, const struct nat_mapping *keep);

/* The same as nat_make_room for a port where an inside host's external address has none left that
 * may stand for `in_port`: gives the port that became free, host order, 0 when
 * none did. */
uint32_t nat_make_port(struct nat_table *t, uint8_t proto, uint32_t host, uint16_t in_port);

/* True when the mapping has a session with this remote address, any port. */
bool nat_knows_peer(const struct nat_table *t, const struct nat_mapping *m, uint32_t rem_ip);

/* How many seconds a session has left; 0: its time is over. */
uint32_t nat_session_left(const struct nat_session *s, uint32_t now_s);

/* The same of a session of the mapping that is at hand: one with this remote address, or the
 * one its port remembers; 0 when neither is there. Not NAT_OTHER. */
uint32_t nat_mapping_left(const struct nat_table *t, const struct nat_mapping *m, uint32_t rem_ip,
                          uint32_t now_s);

/* Moves a session to its new time at once: needed only when it becomes shorter. */
void nat_session_sooner(struct nat_table *t, struct nat_session *s, uint32_t expire_s);

/* Ends what has run out by now_s (an established TCP session becomes transitory), looking at no
 * more than `most` sessions; true when there is more to look at. */
bool nat_session_tick(struct nat_table *t, uint32_t now_s, uint32_t most);

#endif
