/* A forwarder: what the gateway does with packets that are not for itself. It is a table of
 * functions, chosen at the start. One forwarder runs, with any number of services (service.h). */
#ifndef NET_FORWARDER_H
#define NET_FORWARDER_H

#include "kernel/lib/pkt.h"

struct config_section;
struct count_table;
struct gw;
struct interface;
struct prefix;
struct timing_rows;

#define FORWARDER_SECTIONS 4 /* sections of keys that a forwarder reads, at most */
#define FORWARDER_COUNTS   4 /* tables of counters that it has, at most */

/* What becomes of a packet that a forwarder was shown. */
enum verdict {
	V_SEND,   /* it is an IPv4 packet now: gw_send takes it */
	V_LOCAL,  /* an IPv4 packet for the gateway itself */
	V_DROP,   /* counted by gw_drop; the caller frees it */
	V_KEPT,   /* the forwarder owns it, or has passed it on */
	V_SEND6,  /* it is an IPv6 packet now: gw_send6 takes it */
	V_LOCAL6, /* an IPv6 packet for the gateway itself, parsed */
};

/* The listings that forwarders and services have. */
enum listing { SHOW_SESSIONS, SHOW_TIMINGS };

struct forwarder {
	bool promiscuous; /* the interfaces take every frame */
	bool no_wan6;     /* the WAN is an IPv4 side: no IPv6 on it, even with ip6 set */
	/* The WAN has no IPv4 of its own: no ARP, no DHCP, and what of the configuration would need
	 * them is not used. The forwarder gives the WAN an address for its own purposes; what its
	 * route leads to the WAN goes to uplink4. */
	bool no_wan4;
	/* It has IPv6 only where the configuration has an IPv6 address on some interface. */
	bool ip6_if_given;
	bool lan_alone; /* works without a WAN */
	/* Hosts of the inside may ask for ports of the outer addresses that it translates to, where
	 * that is in use. */
	bool opens_ports;
	/* It makes its claims of addresses (route4_claim) again in `changed`, so that an address of
	 * ours goes before a claim. Where this is not set, a claimed address cannot become ours. */
	bool claims_again;
	/* The gateway is a host, not a router: it drops IPv6 packets for others without an ICMPv6
	 * error, and its services accept packets from every interface (local_serves). */
	bool is_host;
	/* Packets with a source route come to the forwarder: IPv4 packets on any interface,
	 * whatever ip4_route_done says, and IPv6 packets on IF_APP (RFC 7915 sections 4.1 and
	 * 5.1). Where this is not set, all such packets are dropped without an error. */
	bool takes_source_routes;
	/* The sections of configuration keys that it reads beside those of net/; NULL behind
	 * the last (kernel/config/config_key.h). */
	const struct config_section *keys[FORWARDER_SECTIONS];
	/* Its tables of counters, in the order of `stats`; NULL behind the last
	 * (net/stats/count.h). */
	const struct count_table *counts[FORWARDER_COUNTS];
	/* Sets the forwarder up from gw->config, with memory from alloc(). Gives NULL or the
	 * text of what is wrong. */
	const char *(*init)(struct gw *gw);
	/* Where set, takes the n frames, unchecked, that came in on an interface, in order. A frame
	 * that it does not handle itself (flow.h) it gives to gw_frame, unchanged. p->iface of
	 * each is set. NULL: gw_frame takes them all. */
	void (*frames)(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n);
	/* Where set, takes a partial packet (kernel/lib/pkt.h), data at the Ethernet header,
	 * offload_check done, and sends it on by offload_transmit. False when it does not take it;
	 * then the packet is as it was, and comes once more as plain frames. NULL: takes none. */
	bool (*partial)(struct gw *gw, uint32_t iface, struct pkt *p);
	/* An IPv4 packet: data at its header, ip4_parse done. NULL: dropped. */
	enum verdict (*ip4)(struct gw *gw, struct pkt *p);
	/* True when the ip4 hook would forward an IPv4 packet with this destination or give it to
	 * the gateway. Only then is the sender told that the options of the packet are malformed.
	 * The packet was parsed as far as its options. NULL: true for addresses of the gateway. */
	bool (*concerns4)(const struct gw *gw, const struct pkt *p);
	/* An IPv6 packet that is not for the gateway itself: data at its header,
	 * ip6_parse and ip6_route done; neither source nor destination is special
	 * (ip6_is_special). p->out is an interface with a card, or IF_APP where a route leads to
	 * the forwarder. A packet of our own (p->iface is PKT_IF_SELF) comes here too when its
	 * route leads to the forwarder: it is not checked and keeps its hop limit. NULL: the
	 * interfaces have no IPv6, and IPv6 packets are dropped. */
	enum verdict (*ip6)(struct gw *gw, struct pkt *p);
	/* With no_wan4: an IPv4 packet that is routed to the WAN and fits its MTU, data at its
	 * header. Takes the packet. */
	void (*uplink4)(struct gw *gw, struct pkt *p);
	/* An IPv6 packet to an address of ours, parsed. V_LOCAL6: it is for the gateway. NULL: all
	 * are. */
	enum verdict (*local6)(struct gw *gw, struct pkt *p);
	/* Why what the forwarder is for does not work yet, or no more: one word for the line
	 * `stopped`; NULL: it works. NULL in the table: it always does. */
	const char *(*stopped)(const struct gw *gw);
	/* For a forwarder that translates between IP versions: tells the sender of a packet
	 * that its next hop does not answer; with `six` the packet is an IPv6 one now. The caller
	 * drops the packet. NULL: icmp_error or icmp6_error about the packet as it is now. */
	void (*no_neighbour)(struct gw *gw, struct pkt *p, bool six);
	/* For a forwarder that uses ports of the gateway's own addresses: takes a port (host order;
	 * ICMP: an identifier) of an IP protocol for a socket of ours, so that the forwarder uses
	 * it for nobody else and gives packets to it back as V_LOCAL; false when the forwarder uses
	 * it already. port_give ends that. Both NULL: all ports are free. By gw_port_take. */
	bool (*port_take)(struct gw *gw, uint8_t proto, uint16_t port);
	void (*port_give)(struct gw *gw, uint8_t proto, uint16_t port);
	/* For a translator: sets *p to the prefix behind which it expects IPv4 addresses, and
	 * *octet to whether they have the octet 0xff of RFC 6219 in front; RFC 6052 otherwise.
	 * False when it has none. *p of length 0: it finds one by itself and has none now; when it
	 * has another one it calls gw_change_inform. NULL: it is no translator. */
	bool (*prefix64)(const struct gw *gw, struct prefix *p, bool *octet);
	/* Called after a route or an address of ours changed (gw_change.h): whatever follows from
	 * them must follow now, or be refused when it is next used. Never called from within
	 * another function of the forwarder. NULL: nothing follows. */
	void (*changed)(struct gw *gw);
	/* Why the IPv4 addresses of the inside may not change while it runs (static, with the key
	 * that needs them); NULL: they may. NULL in the table: they always may. */
	const char *(*inside_stays)(const struct gw *gw);
	/* Takes over the values of its keys that may change at any time (limits, timeouts), from
	 * gw->config. NULL: there are none. */
	void (*tune)(struct gw *gw);
	/* Timers: called by gw_tick, under load at least once a millisecond. Does a bounded piece
	 * of work; true when there is more to do at once. It asks for its next tick by gw_wake_at
	 * where 100 ms are too long. */
	bool (*tick)(struct gw *gw);
	/* What is timed of it (stats/timing.h); its hook `show` gives timing_show then. NULL:
	 * nothing. Frames that are timed may go to gw_frame past the hook `frames`. */
	const struct timing_rows *timings;
	/* Writes one line of a listing into buf and moves *cursor, which is 0 at first. False
	 * behind the last line. An empty line means that a bounded search has found nothing yet;
	 * it is not printed. NULL: no listings. */
	bool (*show)(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size);
	/* For a forwarder that counts the sessions of each inside host: writes the host at place
	 * *cursor of its table, which is 0 at first, and the number of its sessions, and moves the
	 * cursor. 0 sessions: that place has no host. False behind the last place. NULL: it counts
	 * none. */
	bool (*host)(const struct gw *gw, uint32_t *cursor, struct prefix *host,
	             uint32_t *sessions);
};

#endif
