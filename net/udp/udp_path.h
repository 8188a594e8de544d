/* A path: everything that is known about UDP datagrams between us and one remote host. It
 * is found once. Then a datagram to that host is built from it, and a datagram from that
 * host is accepted after a comparison. Unusual datagrams (options, fragments, a neighbour
 * that is not resolved) take the slow path of udp.h. A path has addresses, but no ports. */
#ifndef NET_UDP_UDP_PATH_H
#define NET_UDP_UDP_PATH_H

#include "net/flow.h"
#include "net/udp/udp.h"

struct udp_path {
	struct addr remote, local;
	struct neigh_hint next;
	uint32_t changes; /* gw->changes when the path was found; 0: it was not found */
	uint16_t sum;     /* sum of both addresses and the protocol, for the pseudo header */
	uint16_t sum4;    /* sum of the IPv4 header below */
	uint8_t iface;    /* where the path leads out */
	uint8_t head;     /* bytes of the IP header */
	union {           /* length, identification and checksum are zero */
		struct ip4_hdr ip4;
		struct ip6_hdr ip6;
	};
};

/* The headers of a plain datagram. */
struct udp_frame4 {
	struct eth_hdr eth;
	struct ip4_hdr ip;
	struct udp_hdr udp;
};
struct udp_frame6 {
	struct eth_hdr eth;
	struct ip6_hdr ip;
	struct udp_hdr udp;
};

/* True while the path is valid: no address and no route has changed since it was found. */
static inline bool udp_path_holds(const struct gw *gw, const struct udp_path *w)
{
	return w->changes == gw->changes;
}

/* Finds the path to `remote` from `local`; with `local` NULL from our address by
 * udp_source. False when there is none, or when an address is not for unicast traffic
 * between networks (link-local, multicast). The path is not valid then. */
bool udp_path_find(struct gw *gw, struct udp_path *w, const struct addr *remote,
                   const struct addr *local) MUST_USE;

/* The neighbour that the path leads to, NULL when it is not ready. */
static inline struct neigh *udp_path_next(struct gw *gw, struct udp_path *w)
{
	return flow_next(gw, &(struct flow_exit){.iface = w->iface,
	                                         .to = w->remote.is6 ? &w->remote.v6 : NULL,
	                                         .hint = &w->next});
}

/* The UDP header of a frame that is a plain datagram by its type and protocol fields;
 * nothing else is checked. NULL for other frames. */
static inline const struct udp_hdr *udp_path_header(const struct pkt *p)
{
	const struct udp_frame4 *f4 = (const struct udp_frame4 *)p->data;
	const struct udp_frame6 *f6 = (const struct udp_frame6 *)p->data;
	if (p->len >= sizeof *f4 && be16_raw(f4->eth.type) == swap16(ETH_IP4) &&
	    f4->ip.version_ihl == 0x45 && f4->ip.proto == PROTO_UDP)
		return &f4->udp;
	if (p->len >= sizeof *f6 && be16_raw(f6->eth.type) == swap16(ETH_IP6) &&
	    f6->ip.next == PROTO_UDP)
		return &f6->udp;
	return NULL;
}

/* The payload of a frame whose UDP header is `udp` (udp_path_header), with its length in
 * *len. The frame must have come in on `in` from the remote end to the local one, be
 * complete and have correct checksums. NULL otherwise: the slow path takes it. p is not
 * changed. */
const uint8_t *udp_path_payload(const struct udp_path *w, const struct interface *in,
                                const struct pkt *p, const struct udp_hdr *udp, uint32_t *len);

/* Sends p, whose data are the payload, along a valid path. Ports are in host order. Takes
 * the packet. */
void udp_path_send(struct gw *gw, struct udp_path *w, struct pkt *p, uint16_t local_port,
                   uint16_t remote_port);

#endif
