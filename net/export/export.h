/* Sends the log, and the events of a translator (export_event.h), to servers outside: as syslog
 * messages (RFC 5424) over UDP (RFC 5426) or TCP (RFC 6587), and as IPFIX records over UDP (RFC
 * 7011).
 *
 * Nothing waits for a receiver. What it does not take in time is overwritten, and counted. */
#ifndef NET_EXPORT_EXPORT_H
#define NET_EXPORT_EXPORT_H

#include "net/gw.h"
#include "net/stats/count.h"

struct udp_ends;

/* True when the configuration names receivers. */
bool export_has_receivers(const struct gw *gw);

/* Gives the ring for the events of a translator; NULL: there is not enough memory. Called in the
 * init of a forwarder, once. */
struct export_ring *export_events(struct gw *gw) MUST_USE;

/* Begins, where the configuration names receivers; called in gw_init behind the forwarder's init.
 * NULL, or what is wrong (static). */
const char *export_start(struct gw *gw);

/* Sends what is due: a bounded piece; true when there is more. */
bool export_tick(struct gw *gw);

/* The receivers: one line a call, false behind the last one. *cursor starts as 0. */
bool export_show(struct gw *gw, uint32_t *cursor, char *buf, size_t size);

extern const struct count_table export_counts;

/* --- for the files of this folder --------------------------------------------------------- */

/* Counts the events that were overwritten before a receiver got them, and skips them. Gives the
 * number of events that wait. */
uint32_t export_waiting(struct gw *gw, struct export_receiver *r);

/* The number of an event: those from r->event to ring.end are valid after export_waiting. */
static inline const struct export_event *export_event_at(const struct export *x, uint64_t i)
{
	return &x->ring.event[i % EXPORT_EVENTS];
}

/* Our end of datagrams to a receiver; false when there is no way to it now: it is tried again
 * later. */
bool export_ends(struct gw *gw, struct export_receiver *r, struct udp_ends *ends);

/* Room for a message of `most` bytes; NULL when no packet is free: it is tried again soon, also
 * where nothing else wakes the gateway. */
struct pkt *export_packet(struct gw *gw, uint32_t most);

/* Sends messages to a syslog server (export_syslog.c), and records to a collector
 * (export_ipfix.c): a bounded piece; true when there is more that can be sent now. */
bool export_syslog_tick(struct gw *gw, struct export_receiver *r);
bool export_ipfix_tick(struct gw *gw, struct export_receiver *r);

#endif
