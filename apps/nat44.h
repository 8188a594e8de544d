/* What the files of the application `nat` share. */
#ifndef APPS_NAT44_H
#define APPS_NAT44_H

#include "apps/nat_table.h"
#include "net/gw.h"

struct nat {
	struct nat_table table;
	ip4 external;
	uint32_t filtering; /* enum nat_filtering */
	bool hairpin;
	uint32_t udp_s, icmp_s, tcp_s, tcp_transitory_s; /* timeouts */
	uint64_t table_full;
};

/* Which of our protocols an IP protocol is; NAT_PROTOS when none. */
static inline uint8_t nat_proto_of(uint8_t ip_proto)
{
	return ip_proto == PROTO_UDP    ? NAT_UDP
	       : ip_proto == PROTO_TCP  ? NAT_TCP
	       : ip_proto == PROTO_ICMP ? NAT_ICMP
	                                : NAT_PROTOS;
}

/* The session of an outgoing packet, made if there is none and one may be;
 * NULL with the verdict in *v when not. `ports` is in_port | rem_port << 16;
 * p is routed and not yet changed. */
struct nat_session *nat_outgoing(struct gw *gw, struct nat *n, struct pkt *p, uint8_t proto,
                                 uint32_t ports, enum verdict *v);

/* ICMP in either direction (nat44_icmp.c). For nat_icmp_out, p is routed. */
enum verdict nat_icmp_out(struct gw *gw, struct nat *n, struct pkt *p);
enum verdict nat_icmp_in(struct gw *gw, struct nat *n, struct pkt *p);

#endif
