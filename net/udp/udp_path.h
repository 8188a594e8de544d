/* The way to one remote host over UDP and back, found out once: from then on a datagram
 * there is built from what is known, and one from there is taken after a comparison. What
 * is not usual about a datagram (options, fragments, a neighbour that must be asked for)
 * goes the whole way of udp.h. A path knows addresses, not ports. */
#ifndef NET_UDP_UDP_PATH_H
#define NET_UDP_UDP_PATH_H

#include "net/udp/udp.h"

struct udp_path {
	struct addr remote, local;
	uint32_t hop;     /* as in struct pkt */
	uint32_t changes; /* gw->routes6.changes when this was found out; 0: nothing was */
	uint16_t sum;     /* of both addresses and the protocol, for the pseudo header */
	uint16_t sum4;    /* of the IPv4 header below */
	uint8_t iface;    /* of the gateway */
	uint8_t head;     /* bytes of the IP header */
	union {           /* lengths, identification and checksum are zero */
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

/* Whether what was found out still holds: no address or route has changed since. */
static inline bool udp_path_holds(const struct gw *gw, const struct udp_path *w)
{
	return w->changes == gw->routes6.changes;
}

/* Finds out the way between two addresses; with `local` NULL ours is chosen (udp_source).
 * False, and the path then does not hold, when there is none or when an address is not
 * one for plain traffic between networks (link-local, multicast). */
bool udp_path_find(const struct gw *gw, struct udp_path *w, const struct addr *remote,
                   const struct addr *local) MUST_USE;

/* The neighbour that the path leads to; NULL: it is not ready. */
static inline struct neigh *udp_path_next(struct gw *gw, const struct udp_path *w)
{
	if (!w->remote.is6)
		return neigh_ready4(&gw->neigh, w->iface, w->hop);
	const ip6 *hop = LIKELY(w->hop == 0) ? &w->remote.v6 : &gw->routes6.entry[w->hop - 1].via;
	return neigh_ready6(&gw->neigh, w->iface, hop);
}

/* Where the UDP header of a frame stands, if the frame is one plain datagram, by its type and
 * protocol fields; nothing else was looked at. NULL: it is something else. */
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

/* The payload of a frame for which that gave `udp`, its length in *len, when the frame came in
 * on `in` from the remote end to the local one, is whole and has right checksums. NULL: let it
 * go the whole way. The packet is as it was. */
const uint8_t *udp_path_payload(const struct udp_path *w, const struct interface *in,
                                const struct pkt *p, const struct udp_hdr *udp, uint32_t *len);

/* Sends p, whose data are the payload, along a path that holds. Takes the packet. */
void udp_path_send(struct gw *gw, const struct udp_path *w, struct pkt *p, uint16_t local_port,
                   uint16_t remote_port);

#endif
