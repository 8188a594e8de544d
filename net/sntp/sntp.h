/* The SNTP client: asks time servers for the time of day (kernel/lib/wall.h). */
#ifndef NET_SNTP_SNTP_H
#define NET_SNTP_SNTP_H

#include "net/gw.h"
#include "net/stats/count.h"

/* Begins; called in gw_init. Servers may come later, by the configuration or a lease. Gives NULL,
 * or the text of what is wrong (static). */
const char *sntp_start(struct gw *gw);

/* Sends what is due, and ends questions that nobody answered; called ten times a second. */
void sntp_tick(struct gw *gw);

/* Lists the time of day and the servers: one line a call, false behind the last one. *cursor
 * starts as 0. */
bool sntp_show(struct gw *gw, uint32_t *cursor, char *buf, size_t size);

/* Server i in their order: those of `time-server`, without any those of the lease. False behind
 * the last one. */
bool sntp_server(const struct gw *gw, uint32_t i, struct addr *out);

extern const struct count_table sntp_counts;

#endif
