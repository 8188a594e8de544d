/* How the NAT follows a TCP connection: the states of RFC 7857 section 2, and enough of the
 * sequence space to tell the segments of the connection from those that an off-path
 * attacker forged (RFC 7857 section 2.2; RFC 5382 section 9: a packet outside the window
 * must not change the state).
 *
 * Every segment is translated all the same; only states and timers depend on what this
 * finds. */
#ifndef APPS_NAT_NAT_TCP_H
#define APPS_NAT_NAT_TCP_H

#include "apps/nat/nat_table.h"
#include "net/lib/wire.h"

/* Where a segment comes from. */
enum nat_side { NAT_INSIDE, NAT_OUTSIDE };

/* True for a segment that may open a connection: SYN without ACK, RST or FIN. */
static inline bool nat_tcp_opens(const struct tcp_hdr *tcp)
{
	return (tcp->flags & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN)) == TCP_SYN;
}

/* Follows one segment of `len` bytes with its header; the header's own length is checked
 * and in memory. Gives whether the segment belongs to the connection, and updates s->state
 * then. */
bool nat_tcp_segment(struct nat_session *s, const struct tcp_hdr *tcp, uint32_t len,
                     enum nat_side side);

/* A segment in fragments: nat_tcp_segment follows the first fragment with the bytes that it
 * holds, and nat_tcp_fragment follows each later one, which ends `len` bytes behind the
 * beginning of the TCP header. `base` is nat_tcp_base of that header. */
uint32_t nat_tcp_base(const struct tcp_hdr *tcp);
void nat_tcp_fragment(struct nat_session *s, uint32_t base, uint32_t len, enum nat_side side);

/* True for the states in which the timer of open connections is used (RFC 5382 REQ-5: one
 * FIN leaves a connection established). */
static inline bool nat_tcp_is_open(uint8_t state)
{
	return state == NAT_ESTABLISHED || state == NAT_IN_FIN || state == NAT_OUT_FIN;
}

#endif
