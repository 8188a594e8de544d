/* An application: what the gateway does with packets. One table, chosen at
 * start; the only call from net/ upward. */
#ifndef NET_APP_H
#define NET_APP_H

#include "kernel/lib/pkt.h"

struct config_section;
struct count_table;
struct gw;
struct interface;

#define APP_SECTIONS 4 /* sections of keys that an application reads, at most */
#define APP_COUNTS   4 /* tables of counters that it has, at most */

/* What becomes of a packet after an application saw it. */
enum verdict {
	V_SEND,   /* an IPv4 packet by now: gw_send takes it */
	V_LOCAL,  /* an IPv4 packet for the gateway itself */
	V_DROP,   /* counted by gw_drop; the caller frees it */
	V_KEPT,   /* the application owns it now */
	V_SEND6,  /* an IPv6 packet by now: gw_send6 takes it */
	V_LOCAL6, /* an IPv6 packet for the gateway itself, parsed */
};

enum app_show { SHOW_SESSIONS, SHOW_TIMINGS };

struct app {
	bool promiscuous; /* the ports take every frame */
	bool no_wan6;     /* the WAN is an IPv4 side: no IPv6 on it, even with ip6 set */
	bool one_port;    /* can do without a WAN */
	/* A host, no router: IPv6 packets for others end in silence, whatever keeps them from
	 * their way (a router tells their senders). */
	bool is_host;
	/* Source routes: where set, IPv4 packets with one come to the application, whatever
	 * ip4_route_done says of it, and so do IPv6 packets on IF_APP (RFC 7915 sections
	 * 4.1 and 5.1). Else all are dropped in silence. */
	bool takes_source_routes;
	/* The sections of configuration keys that it reads beside those of net/; NULL behind
	 * the last (kernel/config/config_key.h). */
	const struct config_section *keys[APP_SECTIONS];
	/* Its tables of counters, in the order of `stats`; NULL behind the last (net/count.h). */
	const struct count_table *counts[APP_COUNTS];
	/* Sets the application up from gw->config, with memory from alloc();
	 * gives NULL or the text of what is wrong. */
	const char *(*init)(struct gw *gw);
	/* Takes n whole frames that came in on a port, in place of ip4, where set;
	 * their p->port is set. */
	void (*frames)(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n);
	/* Sees a burst of frames, as they came and unchecked, before the first of
	 * them goes its way: fetches what all of them will need from memory, so that
	 * they do not wait for it one after the other. NULL: nothing. */
	void (*ahead)(const struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n);
	/* Sees each frame before all else where set: it came in on `in` and nothing was asked
	 * yet. True when the application knew all about it and has sent it on (gw_pass);
	 * else the frame is as it was and goes the way of all others. */
	bool (*known)(struct gw *gw, const struct interface *in, struct pkt *p);
	/* An IPv4 packet: data at its header, ip4_parse done. NULL: dropped. */
	enum verdict (*ip4)(struct gw *gw, struct pkt *p);
	/* True when the destination of an IPv4 packet, which was parsed as far as its options,
	 * makes it one that the ip4 hook passes on or gives to the gateway: only then is
	 * its sender told that the options are malformed. NULL: where it is an address of
	 * the gateway. */
	bool (*concerns4)(const struct gw *gw, const struct pkt *p);
	/* An IPv6 packet that is not for the gateway itself: data at its header,
	 * ip6_parse and ip6_route done; neither source nor destination is special
	 * (ip6_is_special). p->out is a port, or IF_APP where a route leads to the
	 * application. A packet of our own (p->port is PKT_IF_SELF) comes here too
	 * when its route does: it is neither checked nor does it lose a hop. NULL: the
	 * ports have no IPv6, it is dropped. */
	enum verdict (*ip6)(struct gw *gw, struct pkt *p);
	/* Tells the sender of a packet that it found no neighbour (`six`: it is IPv6 now),
	 * where the application turns packets into the other IP version. NULL: icmp_error or
	 * icmp6_error, in the words of the packet as it is now. The caller drops it. */
	void (*no_neighbour)(struct gw *gw, struct pkt *p, bool six);
	/* Called from MAIN at least once a millisecond under load and at every
	 * wake-up; does a bounded piece of work and says whether there is more. */
	bool (*tick)(struct gw *gw);
	/* Writes one line of a listing into buf; *cursor is 0 at first. False
	 * after the last. An empty line means that a bounded search found
	 * nothing yet: it is not printed. NULL where there are no listings. */
	bool (*show)(struct gw *gw, enum app_show what, uint32_t *cursor, char *buf, size_t size);
};

#endif
