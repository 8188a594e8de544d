/* What the NAT knows of a TCP connection: the states of RFC 7857 section 2, and
 * enough of the sequence space to tell a segment of the connection from one
 * that somebody off the path made up (RFC 7857 section 2.2; RFC 5382 section 9:
 * a packet outside the window must not move the state).
 *
 * Every segment is translated whatever this says; it decides only what becomes
 * of the state and the timers. */
#ifndef APPS_NAT_NAT_TCP_H
#define APPS_NAT_NAT_TCP_H

#include "apps/nat/nat_table.h"
#include "net/wire.h"

/* Where a segment comes from. */
enum nat_side { NAT_INSIDE, NAT_OUTSIDE };

/* True for a segment that may open a connection: SYN alone. */
static inline bool nat_tcp_opens(const struct tcp_hdr *tcp)
{
	return (tcp->flags & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN)) == TCP_SYN;
}

/* Follows one segment of `len` bytes, header included, which are all in memory
 * up to the header's own length. Gives whether it belongs to the connection;
 * s->state is then up to date. */
bool nat_tcp_segment(struct nat_session *s, const struct tcp_hdr *tcp, uint32_t len,
                     enum nat_side side);

/* A segment in fragments: nat_tcp_segment follows the first one with the bytes that
 * it holds, and nat_tcp_piece each later one, which ends `len` bytes behind the
 * beginning of the TCP header. `base` is nat_tcp_base of that header. */
uint32_t nat_tcp_base(const struct tcp_hdr *tcp);
void nat_tcp_piece(struct nat_session *s, uint32_t base, uint32_t len, enum nat_side side);

/* The states in which the connection is open for the timers (RFC 5382 REQ-5: one
 * FIN is still established). */
static inline bool nat_tcp_is_open(uint8_t state)
{
	return state == NAT_ESTABLISHED || state == NAT_IN_FIN || state == NAT_OUT_FIN;
}

#endif
