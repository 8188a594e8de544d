/* Echo requests of the gateway itself (RFC 792, RFC 4443 section 4.1): ping, and traceroute by
 * growing TTL or hop limit. There is one run at a time, with one request on its way, and both the
 * number of requests and the time are bounded: ping takes PROBE_PINGS seconds, traceroute
 * PROBE_TRIES seconds for each of PROBE_HOPS hops. */
#ifndef NET_PROBE_PROBE_H
#define NET_PROBE_PROBE_H

#include "net/gw.h"

#define PROBE_PINGS 5u
#define PROBE_HOPS  30u
#define PROBE_TRIES 2u       /* requests to one hop */
#define PROBE_US    1000000u /* wait for an answer, and time between two pings */

/* Begins a run in place of the one before. Gives NULL, or why there can be none (static, valid
 * until the next call). */
const char *probe_start(struct gw *gw, enum probe_kind kind, const struct addr *to);

/* Ends the run. A later answer counts as any other ICMP message. */
void probe_stop(struct gw *gw);

enum probe_step { PROBE_END, PROBE_LINE, PROBE_WAIT };

/* Advances the run: sends a request that is due, or writes the next line into buf. PROBE_WAIT when
 * there is nothing to write yet; PROBE_END when the run is over. */
enum probe_step probe_line(struct gw *gw, char *buf, size_t size);

/* True when an ICMP or ICMPv6 message to an address of ours, parsed, is the answer that the run
 * waits for: the echo reply, or an error that quotes the request. The packet is not changed. */
bool probe_answers(const struct gw *gw, const struct pkt *p);

/* Takes the answer for which probe_answers is true and whose checksum is right. The packet stays
 * the caller's. */
void probe_take(struct gw *gw, const struct pkt *p);

#endif
