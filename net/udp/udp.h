/* UDP for the gateway itself (RFC 768): ports bound to handlers, and datagrams over IPv4
 * and IPv6. Each service that serves clients or asks servers calls udp_init. Without
 * one no port is bound.
 *
 * A handler gets the payload and may turn the packet itself into its answer. Not
 * implemented on purpose: queues (a handler answers at once or stores what it needs),
 * fragments, multicast. */
#ifndef NET_UDP_UDP_H
#define NET_UDP_UDP_H

#include "net/gw.h"

#define UDP_HANDLERS   8u
#define UDP_FIRST_FREE 1024u /* lowest port that udp_bind_any draws (RFC 6335 section 6) */
/* Attempts to draw a free port, of UDP and of TCP. A forwarder that uses ports leaves 512 of them
 * free at least, so this many fail once in 3000 times. */
#define UDP_DRAWS 1024u
#define UDP_ROOM  1800u /* payload bytes that fit into a packet of the gateway */

/* The two ends of a datagram: `local` is ours. Ports are in host order. */
struct udp_ends {
	struct addr local, remote;
	uint16_t local_port, remote_port;
	uint8_t iface; /* interface that it came in on; PKT_IF_SELF: any */
};

/* Handles a datagram for a bound port. Data and length of p are the payload. Gives V_KEPT
 * when it took the packet, V_DROP when it dropped and counted it, and V_LOCAL when it has
 * no service for this sender. p must be unchanged then, and is treated as if the port were
 * not bound. `arg` is that of udp_bind. */
typedef enum verdict (*udp_handler)(struct gw *gw, struct pkt *p, const struct udp_ends *ends,
                                    uint32_t arg);

/* The handlers, and the handler of each port. */
struct udp_table {
	udp_handler handler[UDP_HANDLERS];
	uint32_t n_handlers; /* numbers begin with 1; 0: no handler */
	uint8_t owner[65536];
	uint16_t arg[65536];
	uint32_t drawn[65536 / 32]; /* bit: the port is one of udp_bind_any */
};

/* Makes gw->udp unless it is there; false when there is not enough memory. Called in a service's
 * init. */
bool udp_init(struct gw *gw) MUST_USE;

/* Gives a number to a handler, for udp_bind. At most UDP_HANDLERS - 1 handlers; 0 when
 * there are more. */
uint8_t udp_register(struct gw *gw, udp_handler handler);

/* Binds a port (host order) of all our addresses to a handler, for a service that stays.
 * False when the port is bound already. Datagrams from where the gateway does not serve
 * (local_serves) are treated as if the port were not bound. `arg` is passed to the handler. */
bool udp_bind(struct gw *gw, uint16_t port, uint8_t handler, uint16_t arg) MUST_USE;

/* Binds a random port that an attacker cannot guess (RFC 5452 section 9.2, RFC 6056 section
 * 3.3.1), and that the forwarder does not use. Gives the port (host order), 0 when no free one was
 * found. */
uint16_t udp_bind_any(struct gw *gw, uint8_t handler, uint16_t arg);

/* Frees a port (host order) of udp_bind_any. */
void udp_unbind(struct gw *gw, uint16_t port);

/* Handles a parsed UDP packet to one of our addresses; called by local_ip4 and local_ip6.
 * Gives the verdict; V_LOCAL when no handler took it. */
enum verdict udp_input(struct gw *gw, struct pkt *p);

/* Sets ends->local to our address for packets to ends->remote. False when there is no route
 * to it. */
bool udp_source(const struct gw *gw, struct udp_ends *ends) MUST_USE;

/* Sends a UDP datagram or a TCP segment over IPv6 between two ends. p begins with its
 * header; the checksum field stands `at` bytes into it and is 0. Takes the packet. Drops it
 * (DROP_TENTATIVE) when the local address is not in use: it may have become tentative since
 * the ends were stored (RFC 4862 section 5.4). */
void udp_ends_send6(struct gw *gw, struct pkt *p, const struct udp_ends *ends, uint8_t proto,
                    uint32_t at);

/* Sends p, whose data are the payload, from the local to the remote end. Takes the packet.
 * Drops it (DROP_TENTATIVE) when the local address is not in use. */
void udp_send(struct gw *gw, struct pkt *p, const struct udp_ends *ends);

#endif
