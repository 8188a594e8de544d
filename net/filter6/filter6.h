/* The filter for native IPv6 between WAN and LAN (lan.filter, forward6): RFC 6092 for a simple
 * residential gateway, RFC 4890 for ICMPv6. Packets between networks of the inside are not its
 * business, nor are those of the gateway itself.
 *
 * In come: answers in sessions that an inside host began, ICMPv6 errors about packets of a session,
 * echo requests, and what forward6 names. Later fragments follow their first one.
 *
 * Not implemented on purpose: sequence numbers of TCP, the answer to an unsolicited SYN after six
 * seconds (RFC 6092 REC-34), fragments that come in before their first one. */
#ifndef NET_FILTER6_FILTER6_H
#define NET_FILTER6_FILTER6_H

#include "net/filter6/filter6_keys.h"
#include "net/filter6/filter6_table.h"
#include "net/gw.h"
#include "net/stats/count.h"

struct filter6 {
	struct filter6_table table;
	uint32_t sweep_ms; /* when the table is next swept */
};

/* Makes an empty filter, in a forwarder's init. NULL, or the text of what is wrong. */
const char *filter6_init(struct gw *gw, struct filter6 *f);

/* Routes a packet as ip6_forward does, unless the filter refuses it. For a forwarder's ip6 hook,
 * where it routes native IPv6; p->iface and p->out are interfaces with cards. Gives the verdict. */
enum verdict filter6_forward(struct gw *gw, struct filter6 *f, struct pkt *p);

/* Timers; called as often as a forwarder's tick. */
void filter6_tick(struct gw *gw, struct filter6 *f);

/* Writes session *cursor as a line into buf and moves the cursor. False behind the last; a line may
 * be empty. */
bool filter6_show(const struct gw *gw, const struct filter6 *f, uint32_t *cursor, char *buf,
                  size_t size);

/* The same for a listing of sessions of the forwarder itself, which `own` writes and which come
 * first; it moves its cursor by less than 2^26. */
bool filter6_show_behind(struct gw *gw, const struct filter6 *f, uint32_t *cursor, char *buf,
                         size_t size,
                         bool (*own)(struct gw *gw, uint32_t *cursor, char *buf, size_t size));

/* The counters of a filter, for a table whose `of` gives it: COUNT_TABLE(FILTER6_COUNTS, …). */
extern const struct count filter6_count[3];

#endif
