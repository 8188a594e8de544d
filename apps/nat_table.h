/* The two tables of the NAT: endpoint-independent mappings (RFC 4787, REQ-1)
 * and the sessions under them.
 *
 * A mapping ties an inside endpoint (address, port or ICMP identifier) to an
 * external one; it is found by a keyed hash from inside and by the external
 * port as an index from outside. A session is a mapping with one remote
 * endpoint; it is found by one keyed hash of its 5-tuple as seen from inside,
 * from either direction. A mapping lives as long as it has sessions.
 *
 * Expiry is a wheel of one-second slots. A packet only writes a session's time;
 * the wheel looks at a session when that could have run out and puts it back
 * if not, a bounded number at a turn. All memory is taken at start.
 *
 * Addresses and ports are raw (wire order as loaded). */
#ifndef APPS_NAT_TABLE_H
#define APPS_NAT_TABLE_H

#include "kernel/random.h"

#define NAT_NONE  0xffffffffu
#define NAT_WHEEL 8192u /* seconds; a longer timeout goes round more than once */

enum nat_proto { NAT_UDP, NAT_TCP, NAT_ICMP, NAT_PROTOS };

struct nat_mapping {
	uint32_t in_ip;
	uint32_t ext_ip;
	uint16_t in_port;
	uint16_t ext_port;
	uint16_t ip_delta; /* checksum delta of the address change, outbound */
	uint16_t l4_delta; /* the same with the port change */
	uint32_t n_sessions;
	uint32_t next; /* hash chain; free list */
	uint8_t proto; /* enum nat_proto */
};

struct nat_session {
	/* The 5-tuple as seen from inside; ports as in_port | rem_port << 16. */
	uint32_t in_ip;
	uint32_t rem_ip;
	uint32_t ports;
	uint8_t proto; /* enum nat_proto */
	uint8_t state; /* enum nat_state; 0: free */
	uint32_t mapping;
	uint32_t next;     /* hash chain; free list */
	uint32_t expire_s; /* seconds since boot */
	uint32_t wheel_next, wheel_prev;
	uint32_t slot; /* of the wheel */
	/* Sessions of one mapping with one remote address (for address-dependent
	 * filtering): the first is in the hash of peers, the others hang on it. */
	uint32_t peer_next;            /* hash chain of firsts */
	uint32_t peer_more, peer_back; /* ring of the sessions of this peer */
};

enum nat_state {
	NAT_FREE,
	NAT_OPEN, /* UDP and ICMP */
	/* TCP, the machine of RFC 7857 section 2 */
	NAT_INIT,
	NAT_ESTABLISHED,
	NAT_IN_FIN,  /* inside sent FIN */
	NAT_OUT_FIN, /* outside sent FIN */
	NAT_BOTH_FIN,
	NAT_TRANS,
};

/* Ports in use on one external address for one protocol. */
struct nat_ports {
	uint32_t used[65536 / 32];
	uint32_t mapping[65536]; /* index, or NAT_NONE */
};

struct nat_table {
	uint32_t size; /* sessions, and mappings */
	uint32_t mask; /* buckets - 1 */
	struct hash_key key[NAT_PROTOS];
	struct nat_session *session;
	struct nat_mapping *mapping;
	uint32_t *session_bucket;
	uint32_t *mapping_bucket;
	uint32_t *peer_bucket;
	uint32_t session_free, mapping_free; /* heads of the free lists */
	uint32_t n_sessions, n_mappings;
	uint64_t created, expired;
	uint32_t wheel[NAT_WHEEL];
	uint32_t wheel_s; /* the second whose slot is being looked at */
	uint32_t ext_ip;
	struct nat_ports *ports[NAT_PROTOS];
	struct rng *rng;
};

/* Takes memory for `size` sessions from alloc(). NULL, or what is wrong. */
const char *nat_table_init(struct nat_table *t, uint32_t size, ip4 external, struct rng *rng);

static inline uint32_t nat_session_hash(const struct nat_table *t, uint8_t proto, uint32_t in_ip,
                                        uint32_t rem_ip, uint32_t ports)
{
	const uint32_t w[3] = {in_ip, rem_ip, ports};
	return hash_words(&t->key[proto], w, 3) & t->mask;
}

/* The session of a 5-tuple, NULL when there is none. */
static inline struct nat_session *nat_session_find(const struct nat_table *t, uint8_t proto,
                                                   uint32_t in_ip, uint32_t rem_ip, uint32_t ports)
{
	uint32_t i = t->session_bucket[nat_session_hash(t, proto, in_ip, rem_ip, ports)];
	while (i != NAT_NONE) {
		struct nat_session *s = &t->session[i];
		if (s->in_ip == in_ip && s->rem_ip == rem_ip && s->ports == ports &&
		    s->proto == proto)
			return s;
		i = s->next;
	}
	return NULL;
}

/* The mapping that owns an external port, NULL when it is free. */
static inline struct nat_mapping *nat_mapping_of_port(const struct nat_table *t, uint8_t proto,
                                                      uint16_t ext_port)
{
	uint32_t i = t->ports[proto]->mapping[ext_port];
	return i == NAT_NONE ? NULL : &t->mapping[i];
}

/* The mapping of an inside endpoint, NULL when there is none. */
struct nat_mapping *nat_mapping_find(const struct nat_table *t, uint8_t proto, uint32_t in_ip,
                                     uint16_t in_port);

/* A new mapping for an inside endpoint with a free external port: the same
 * number if it is free, else an unpredictable one of the same parity and range
 * (RFC 4787 REQ-3a and REQ-4; RFC 6056), any number for ICMP. NULL with
 * *no_port set when the ports, clear when the table is used up. It has no
 * session yet: give it one, or nat_mapping_drop it. */
struct nat_mapping *nat_mapping_new(struct nat_table *t, uint8_t proto, uint32_t in_ip,
                                    uint16_t in_port, bool *no_port);
void nat_mapping_drop(struct nat_table *t, struct nat_mapping *m);

/* A new session of a mapping with a remote endpoint, in a state, expiring at a
 * time; NULL when the table is full. */
struct nat_session *nat_session_new(struct nat_table *t, struct nat_mapping *m, uint32_t rem_ip,
                                    uint16_t rem_port, enum nat_state state, uint32_t expire_s);

/* Ends a session, and its mapping with the last one. */
void nat_session_drop(struct nat_table *t, struct nat_session *s);

/* True when the mapping has a session with this remote address, any port. */
bool nat_knows_peer(const struct nat_table *t, const struct nat_mapping *m, uint32_t rem_ip);

/* Moves a session to its new time at once: needed only when it becomes shorter. */
void nat_session_sooner(struct nat_table *t, struct nat_session *s, uint32_t expire_s);

/* Ends what has run out by now_s, looking at no more than `most` sessions;
 * true when there is more to look at. */
bool nat_table_tick(struct nat_table *t, uint32_t now_s, uint32_t most);

#endif
