/* What the files of the application `nat` share. */
#ifndef APPS_NAT_NAT_H
#define APPS_NAT_NAT_H

#include "apps/nat/nat_keys.h"
#include "apps/nat/nat_syn.h"
#include "apps/nat/nat_table.h"
#include "apps/nat/nat_tcp.h"
#include "net/gw.h"
#include "net/ip4/ip4.h"

struct nat {
	struct nat_table table;
	struct nat_syns syns;
	uint32_t life_s[NAT_PROTOS][NAT_STATES]; /* lifetimes */
	uint32_t filtering;                      /* enum nat_filtering */
	uint32_t host_limit;                     /* sessions of one inside host; 0: no limit */
	bool hairpin;
	bool no_protocol41; /* it belongs to somebody else in this gateway */
	bool has_router41;
	uint32_t router41; /* the inside host for protocol 41, raw */
	uint64_t table_full;
};

/* The NAT of an application that has one: its state begins with it. */
static inline struct nat *nat_of(const struct gw *gw)
{
	return gw->state;
}

/* The hooks of struct app, for an application that has a NAT beside its own work.
 * nat_start sets up the NAT in gw->state, whose memory is there and zero. */
const char *nat_start(struct gw *gw);
enum verdict nat_ip4(struct gw *gw, struct pkt *p);
bool nat_concerns4(const struct gw *gw, const struct pkt *p);
bool nat_tick(struct gw *gw);
extern const struct count_table nat_counts;
bool nat_show(struct gw *gw, enum app_show what, uint32_t *cursor, char *buf, size_t size);

/* Which of our protocols an IP protocol is. */
static inline uint8_t nat_proto_of(uint8_t ip_proto)
{
	return ip_proto == PROTO_UDP    ? NAT_UDP
	       : ip_proto == PROTO_TCP  ? NAT_TCP
	       : ip_proto == PROTO_ICMP ? NAT_ICMP
	                                : NAT_OTHER;
}

/* A packet from inside passes: its session lives on (RFC 4787 REQ-6). One from
 * outside does not (REQ-6a is not used). */
static inline void nat_refresh(const struct gw *gw, const struct nat *n, struct nat_session *s)
{
	s->expire_s = gw->now_s + n->life_s[s->proto][s->state];
}

/* The mapping of a session. */
static inline const struct nat_mapping *nat_mapping_of(const struct nat *n,
                                                       const struct nat_session *s)
{
	return &n->table.mapping[s->mapping];
}

/* What is left to do for a packet whose transport header is done: new source or
 * destination, and one hop less. An outgoing packet that may be fragmented gets
 * a fresh identification (RFC 6864 section 5.3.1); one that was turned around
 * inside had its hop counted on the way out. */
static inline void nat_finish_out(struct gw *gw, struct pkt *p, const struct nat_session *s);
static inline void nat_finish_in(struct pkt *p, const struct nat_session *s, uint32_t in_ip);

/* A session for an outgoing packet that has none, if one may be; NULL with the
 * verdict in *v when not. `ports` is in_port | rem_port << 16; for NAT_OTHER the
 * IP protocol, and rem_ip of the session is then 0 where one inside host serves
 * all remote ones. p is routed and not yet changed. (nat_open.c) */
struct nat_session *nat_open_out(struct gw *gw, struct nat *n, struct pkt *p, uint8_t proto,
                                 uint32_t ports, enum verdict *v);

/* A session for a packet from outside to a mapping, if the filter lets a new
 * remote endpoint in (RFC 4787 section 5) and the packet can go on to the inside
 * host; NULL with the verdict in *v. */
struct nat_session *nat_open_in(struct gw *gw, struct nat *n, struct pkt *p, struct nat_mapping *m,
                                uint16_t rem_port, enum verdict *v);

/* An inside host sends in a session that was opened from outside: the session
 * becomes one of its own, within nat.host-limit. A TCP connection does so when it
 * is no longer partly open: RST and SYN-ACK answer anybody's SYN. */
void nat_take_up(struct nat *n, struct nat_session *s);

/* The inside host of an incoming packet: routed, and allowed to go there. */
static inline enum verdict nat_route_in(struct gw *gw, struct pkt *p, uint32_t in_ip);

/* ICMP (nat_icmp.c) and protocols without ports (nat_other.c). Outgoing
 * packets are routed; for incoming ones `external` is the index of the address
 * they came to. */
enum verdict nat_icmp_out(struct gw *gw, struct nat *n, struct pkt *p);
enum verdict nat_icmp_in(struct gw *gw, struct nat *n, struct pkt *p, uint32_t external);
enum verdict nat_other_out(struct gw *gw, struct nat *n, struct pkt *p);
enum verdict nat_other_in(struct gw *gw, struct nat *n, struct pkt *p, uint32_t external);

/* The session of a protocol without ports with a remote address, NULL when
 * there is none. */
struct nat_session *nat_other_find(const struct nat *n, uint32_t ext_ip, uint32_t rem_ip,
                                   uint8_t ip_proto);

/* The remote address by which sessions of an IP protocol are told apart: for
 * protocol 41 none, because a 6to4 router hears from every other one. */
static inline uint32_t nat_other_remote(uint8_t ip_proto, uint32_t rem_ip)
{
	return ip_proto == PROTO_IP6 ? 0 : rem_ip;
}

/* --- bodies on the way of every packet ------------------------------------- */

static inline void nat_finish_out(struct gw *gw, struct pkt *p, const struct nat_session *s)
{
	struct ip4_hdr *h = ip4_header(p);
	uint32_t delta = s->ip_delta;
	if (!(be16_get(h->frag) & IP4_DF) || p->flags & PKT_FRAGMENT) {
		be16 fresh = gw_ip_id(gw, h->to);
		delta += csum_delta16(be16_raw(h->id), be16_raw(fresh));
		h->id = fresh;
	}
	h->from = ip4_from_raw(s->ext_ip);
	ip4_hop(h, delta);
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
	if (UNLIKELY(!ip4_route(gw, p, ip4_from_raw(in_ip))))
		return gw_drop(gw, p, DROP_NO_ROUTE);
	return p->flags & PKT_HAIRPIN ? V_SEND : ip4_may_forward(gw, p);
}

#endif
