/* What the files of the application `nat` share. */
#ifndef APPS_NAT_NAT_H
#define APPS_NAT_NAT_H

#include "apps/nat/nat_keys.h"
#include "apps/nat/nat_syn.h"
#include "apps/nat/nat_table.h"
#include "apps/nat/nat_tcp.h"
#include "net/lib/csum.h"
#include "net/gw.h"
#include "net/ip4/ip4.h"
#include "net/stats/timing.h"

struct nat {
	const char *name; /* of the application, with which its keys begin */
	struct nat_table table;
	struct nat_syns syns;
	uint32_t life_s[NAT_PROTOS][NAT_STATES]; /* seconds */
	uint32_t filtering;                      /* enum nat_filtering */
	uint32_t host_limit; /* sessions that one inside host may have; 0: no limit */
	bool hairpin;
	bool no_protocol41; /* another part of this gateway uses protocol 41 */
	bool has_router41;
	uint32_t router41; /* the inside host for protocol 41, raw */
	/* The external addresses (indices) that are the WAN's own: our sockets use their ports too.
	 */
	uint32_t own[NET_ADDRESSES], n_own;
	uint64_t table_full;
};

/* The NAT of an application that has one: gw->state begins with it. */
static inline struct nat *nat_of(const struct gw *gw)
{
	return gw->state;
}

/* nat_core.c: for every application with such sessions. nat_core_start sets up the tables and the
 * external addresses from the values of its keys, which begin with `name`; n is zeroed memory.
 * NULL, or what is wrong. nat_core_tune takes over limits and lifetimes, nat_core_changed follows a
 * change of routes or addresses (has_pool: the external addresses are given, not the WAN's),
 * nat_core_tick is the tick. */
const char *nat_core_start(struct gw *gw, struct nat *n, const char *name,
                           const struct nat_config *c);
void nat_core_tune(struct nat *n, const struct nat_config *c);
void nat_core_changed(struct gw *gw, struct nat *n, bool has_pool);
bool nat_core_tick(struct gw *gw, struct nat *n);

/* The hooks of struct forwarder (net/forwarder.h), for an application that has a NAT beside its own
 * work. nat_start sets up the NAT in gw->state, which must be zeroed memory that begins with struct
 * nat; it gives NULL, or what is wrong with the configuration. */
const char *nat_start(struct gw *gw);

/* True when a host behind an inside interface may have this address. */
bool nat_may_be_inside(const struct gw *gw, ip4 a);
enum verdict nat_ip4(struct gw *gw, struct pkt *p);
bool nat_concerns4(const struct gw *gw, const struct pkt *p);
bool nat_own_port_take(struct gw *gw, uint8_t proto, uint16_t port);
void nat_own_port_give(struct gw *gw, uint8_t proto, uint16_t port);
void nat_changed(struct gw *gw);
const char *nat_blocks_stay(const struct gw *gw);
void nat_tune(struct gw *gw);
bool nat_tick(struct gw *gw);
/* nat_flow.c: the fast path (net/flow.h) of the UDP and TCP packets of known sessions. */
void nat_flow_frames(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n);
bool nat_flow_partial(struct gw *gw, uint32_t iface, struct pkt *p);
/* A flow_pass for the packets of inside hosts with IPv4, where other sessions are those of hosts
 * with IPv6; `side` is the one that the frames came from. */
uint32_t nat_flow_beside(struct gw *gw, const struct interface *in, struct pkt **burst, uint32_t n,
                         enum nat_side side);
/* The same for a partial packet, as flow_partial. */
bool nat_flow_partial_beside(struct gw *gw, const struct interface *in, struct pkt *p,
                             enum nat_side side);
extern const struct count_table nat_counts;
/* What is timed of an application that has such sessions and a fast path. */
extern const struct timing_rows nat_timings;
/* Writes a session of an inside host with IPv4 as a line into buf. */
void nat_show_session(const struct gw *gw, const struct nat *n, const struct nat_session *s,
                      char *buf, size_t size);
bool nat_show(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size);
/* The hook `host` of forwarder.h. */
bool nat_show_host(const struct gw *gw, uint32_t *cursor, struct prefix *host, uint32_t *sessions);

/* True for an external address. */
static inline bool nat_is_external(const struct nat *n, ip4 a)
{
	return ip4_raw(a) == n->table.first_external ||
	       (n->table.n_external > 1 && nat_external_find(&n->table, ip4_raw(a)) != NAT_NONE);
}

/* The enum nat_proto of an IP protocol. */
static inline uint8_t nat_proto_of(uint8_t ip_proto)
{
	return ip_proto == PROTO_UDP    ? NAT_UDP
	       : ip_proto == PROTO_TCP  ? NAT_TCP
	       : ip_proto == PROTO_ICMP ? NAT_ICMP
	                                : NAT_OTHER;
}

/* Restarts the lifetime of a session because a packet from inside passes (RFC 4787 REQ-6).
 * A packet from outside does not restart it (REQ-6a is not used). */
static inline void nat_refresh(const struct gw *gw, const struct nat *n, struct nat_session *s)
{
	s->expire_s = gw->clock.s + n->life_s[s->proto][s->state];
}

/* The mapping of a session. */
static inline const struct nat_mapping *nat_mapping_of(const struct nat *n,
                                                       const struct nat_session *s)
{
	return &n->table.mapping[s->mapping];
}

/* Follows a TCP connection by one segment of `len` bytes. A segment that does not belong to it
 * changes no timer. Only a segment from inside other than RST restarts the lifetime (RFC 7857
 * section 7.1). */
static inline void nat_follow(struct gw *gw, struct nat *n, struct nat_session *s,
                              const struct tcp_hdr *tcp, uint32_t len, enum nat_side side);

/* Adjusts the checksum of a whole transport header. */
static inline void nat_fix_l4(uint8_t *l4, uint8_t proto, uint16_t delta);

/* True when the transport header of `len` bytes of a packet, which may be a first fragment, is
 * complete (RFC 3128: a filter must not be evaded by a header split between fragments). */
static inline bool nat_l4_complete(const uint8_t *l4, uint32_t len, uint8_t proto, bool fragment);

/* The last steps for a packet whose transport header is translated: nat_finish_out writes
 * the new source, nat_finish_in the new destination (in_ip, raw), and both take one hop. An
 * outgoing packet that may be fragmented gets a new identification (RFC 6864 section
 * 5.3.1). A hairpinned packet lost its hop on the way out already. */
static inline void nat_finish_out(struct gw *gw, struct pkt *p, const struct nat_session *s);
static inline void nat_finish_in(struct pkt *p, const struct nat_session *s, uint32_t in_ip);

/* nat_finish_out for a packet with the header h, which is a fragment or not. */
static inline void nat_put_source(struct gw *gw, struct ip4_hdr *h, const struct nat_session *s,
                                  bool fragment);

/* Opens a session for an outgoing packet that has none. `ports` is in_port | rem_port <<
 * 16, raw; for NAT_OTHER the IP protocol, and rem_ip of the session is 0 then when one
 * inside host serves all remote hosts. p is routed and not changed yet. NULL when no
 * session may be opened; *v is the verdict then. (nat_open.c) */
struct nat_session *nat_open_out(struct gw *gw, struct nat *n, struct pkt *p, uint8_t proto,
                                 uint32_t ports, enum verdict *v);

/* Opens a session for a packet from outside to a mapping, if the filter accepts the new
 * remote endpoint (RFC 4787 section 5) and the packet may be forwarded to the inside host.
 * rem_port is raw. NULL when not; *v is the verdict then. (nat_open.c) */
struct nat_session *nat_open_in(struct gw *gw, struct nat *n, struct pkt *p, struct nat_mapping *m,
                                uint16_t rem_port, enum verdict *v);

/* The same without a packet. nat_open_session_out makes a session for a new flow from inside, and
 * its mapping if needed; NULL with the reason in *why (DROP_HOST_LIMIT, DROP_TABLE_FULL,
 * DROP_NO_PORT, DROP_AMBIGUOUS). nat_open_session_in makes one for a remote endpoint that the
 * filter accepted, or gives the reason why not. It lasts no longer than the session that let the
 * endpoint in, so that packets from outside prolong neither a mapping nor the right to use it (RFC
 * 4787 REQ-6). Addresses and ports are raw. */
struct nat_session *nat_open_session_out(struct gw *gw, struct nat *n, uint8_t proto,
                                         uint32_t in_ip, uint32_t rem_ip, uint32_t ports,
                                         enum drop *why);
enum drop nat_open_session_in(struct gw *gw, struct nat *n, struct nat_mapping *m, uint32_t rem_ip,
                              uint16_t rem_port, struct nat_session **s);

/* Why a new remote endpoint, the source of p, may not use a mapping (RFC 4787 section 5);
 * DROP_NONE when it may. */
enum drop nat_filter(struct gw *gw, const struct nat *n, const struct pkt *p,
                     const struct nat_mapping *m);

/* Makes a session that was opened from outside the inside host's own, because that host
 * sends in it; nat.host-limit permitting. A TCP connection becomes the host's own when it
 * is no longer partly open, because RST and SYN-ACK answer anybody's SYN. */
void nat_take_up(struct nat *n, struct nat_session *s);

/* Routes an incoming packet to its inside host (in_ip, raw) and checks whether it may be
 * forwarded. Gives V_SEND, or the verdict of the drop. */
static inline enum verdict nat_route_in(struct gw *gw, struct pkt *p, uint32_t in_ip);

/* Translate ICMP (nat_icmp.c) and protocols without ports (nat_other.c). Outgoing packets
 * are routed. For incoming packets `external` is the index of their destination address.
 * Give the verdict. */
enum verdict nat_icmp_out(struct gw *gw, struct nat *n, struct pkt *p);
enum verdict nat_icmp_in(struct gw *gw, struct nat *n, struct pkt *p, uint32_t external);
enum verdict nat_other_out(struct gw *gw, struct nat *n, struct pkt *p);
enum verdict nat_other_in(struct gw *gw, struct nat *n, struct pkt *p, uint32_t external);

/* The session of a protocol without ports with a remote address, NULL when there is none.
 * Addresses are raw. */
struct nat_session *nat_other_find(const struct nat *n, uint32_t ext_ip, uint32_t rem_ip,
                                   uint8_t ip_proto);

/* The remote address in the key of a session of an IP protocol. It is 0 for protocol 41,
 * because a 6to4 router receives packets from every other one. */
static inline uint32_t nat_other_remote(uint8_t ip_proto, uint32_t rem_ip)
{
	return ip_proto == PROTO_IP6 ? 0 : rem_ip;
}

/* --- inline functions -------------------------------------------------------------- */

static inline void nat_follow(struct gw *gw, struct nat *n, struct nat_session *s,
                              const struct tcp_hdr *tcp, uint32_t len, enum nat_side side)
{
	uint8_t was = s->state;
	bool real = nat_tcp_segment(s, tcp, len, side);
	if (LIKELY(s->state == was)) {
		if (real && side == NAT_INSIDE && !(tcp->flags & TCP_RST))
			nat_refresh(gw, n, s);
		return;
	}
	uint32_t life_s = n->life_s[NAT_TCP][s->state], expire_s = gw->clock.s + life_s;
	if (life_s < nat_session_left(s, gw->clock.s))
		nat_session_sooner(&n->table, s, expire_s);
	else
		s->expire_s = expire_s;
}

static inline void nat_fix_l4(uint8_t *l4, uint8_t proto, uint16_t delta)
{
	if (proto == NAT_TCP) {
		struct tcp_hdr *tcp = (struct tcp_hdr *)l4;
		tcp->sum = csum_apply(tcp->sum, delta);
	} else {
		struct udp_hdr *udp = (struct udp_hdr *)l4;
		udp->sum = csum_apply_udp(udp->sum, delta);
	}
}

static inline bool nat_l4_complete(const uint8_t *l4, uint32_t len, uint8_t proto, bool fragment)
{
	if (proto == NAT_TCP) {
		if (len < sizeof(struct tcp_hdr))
			return false;
		uint32_t hlen = (uint32_t)(((const struct tcp_hdr *)l4)->offset >> 4) * 4;
		return hlen >= sizeof(struct tcp_hdr) && hlen <= len;
	}
	if (len < sizeof(struct udp_hdr))
		return false;
	/* The length includes the header and ends within the packet. */
	uint32_t is = be16_get(((const struct udp_hdr *)l4)->len);
	return is >= sizeof(struct udp_hdr) && (is <= len || fragment);
}

static inline void nat_put_source(struct gw *gw, struct ip4_hdr *h, const struct nat_session *s,
                                  bool fragment)
{
	uint32_t delta = s->ip_delta;
	if (!(be16_raw(h->frag) & swap16(IP4_DF)) || fragment) {
		be16 fresh = ip4_id(&gw->ids, h->to);
		delta += csum_change16(be16_raw(h->id), be16_raw(fresh));
		h->id = fresh;
	}
	h->from = ip4_from_raw(s->ext_ip);
	ip4_hop(h, delta);
}

static inline void nat_finish_out(struct gw *gw, struct pkt *p, const struct nat_session *s)
{
	nat_put_source(gw, ip4_header(p), s, p->flags & PKT_FRAGMENT);
	p->flags |= PKT_TRANSLATED;
}

static inline void nat_finish_in(struct pkt *p, const struct nat_session *s, uint32_t in_ip)
{
	struct ip4_hdr *h = ip4_header(p);
	h->to = ip4_from_raw(in_ip);
	if (p->flags & PKT_HAIRPIN)
		h->sum = csum_apply(h->sum, (uint16_t)~s->ip_delta);
	else
		ip4_hop(h, (uint16_t)~s->ip_delta);
	p->flags |= PKT_INBOUND;
}

static inline enum verdict nat_route_in(struct gw *gw, struct pkt *p, uint32_t in_ip)
{
	/* The network of the host may be gone: then a default route would lead back outside. */
	if (UNLIKELY(!ip4_route(gw, p, ip4_from_raw(in_ip)) || !interface_is_inside(p->out)))
		return gw_drop(gw, p, DROP_NO_ROUTE);
	return p->flags & PKT_HAIRPIN ? V_SEND : ip4_may_forward(gw, p);
}

#endif
