/* UDP for the gateway itself (RFC 768): ports bound to handlers, datagrams in and
 * out over IPv4 and IPv6. Applications that serve or ask something call udp_init
 * once; in all others nothing listens.
 *
 * A handler is shown the payload and may turn the packet itself into its answer.
 * Left out on purpose: queues (a handler answers at once or keeps what it needs),
 * fragments, multicast. */
#ifndef NET_UDP_UDP_H
#define NET_UDP_UDP_H

#include "net/gw.h"

#define UDP_HANDLERS   8u
#define UDP_FIRST_FREE 1024u /* ports from here on may be drawn (RFC 6335 section 6) */
#define UDP_ROOM       1800u /* payload bytes that a packet of ours has room for */

/* The two ends of a datagram, as we see them. */
struct udp_ends {
	struct addr local, remote;
	uint16_t local_port, remote_port;
	uint8_t link; /* the port of the gateway it came in on; PKT_IF_SELF: any */
};

/* A datagram for a bound port. Data and length of p are the payload. Gives V_KEPT
 * when it took the packet, V_DROP when it counted it as dropped, V_LOCAL when there
 * is no service for this sender (p then as it came): it is treated as if the port
 * were not bound. `arg` is that of udp_bind. */
typedef enum verdict (*udp_handler)(struct gw *gw, struct pkt *p, const struct udp_ends *ends,
                                    uint32_t arg);

/* Which handler has which port. */
struct udp_table {
	udp_handler handler[UDP_HANDLERS];
	uint32_t n_handlers; /* numbers count from 1; 0 is nobody's */
	uint8_t owner[65536];
	uint16_t arg[65536];
};

/* Makes gw->udp; false when memory is short. From an application's init. */
bool udp_init(struct gw *gw) MUST_USE;

/* A number for a handler, for udp_bind. At most UDP_HANDLERS - 1. */
uint8_t udp_register(struct gw *gw, udp_handler handler);

/* Gives a port to a handler, on every address of ours, for a service that stays; false
 * when somebody has it. */
bool udp_bind(struct gw *gw, uint16_t port, uint8_t handler, uint16_t arg) MUST_USE;

/* Gives away a port for a while, one that nobody can guess (RFC 5452 section 9.2, RFC 6056
 * section 3.3.1); gives it, 0 when none was found. */
uint16_t udp_bind_any(struct gw *gw, uint8_t handler, uint16_t arg);

/* Takes back a port of udp_bind_any. */
void udp_unbind(struct gw *gw, uint16_t port);

/* A UDP packet to one of our addresses, parsed, for local_ip4 and local_ip6. V_LOCAL:
 * nothing listens. */
enum verdict udp_input(struct gw *gw, struct pkt *p);

/* Sets ends->local to our address for packets to ends->remote; false when there is
 * no way to it. */
bool udp_source(const struct gw *gw, struct udp_ends *ends) MUST_USE;

/* Sends a UDP datagram or a TCP segment over IPv6 between two ends: p at its header, whose
 * checksum field stands `at` bytes into it and holds 0. Takes the packet; it is dropped
 * (DROP_TENTATIVE) when the local address is not in use: since the ends were noted it may have
 * become tentative (RFC 4862 section 5.4). */
void udp_ends_send6(struct gw *gw, struct pkt *p, const struct udp_ends *ends, uint8_t proto,
                    uint32_t at);

/* Sends p, whose data are the payload, from the local to the remote end. Takes the
 * packet; it is dropped (DROP_TENTATIVE) when the local IPv6 address is not in use. */
void udp_send(struct gw *gw, struct pkt *p, const struct udp_ends *ends);

#endif
