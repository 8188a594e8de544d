/* What the log has said about silent states (notice.h). */
#ifndef NET_STATS_NOTICE_STATE_H
#define NET_STATS_NOTICE_STATE_H

#include "kernel/lib/addr.h"
#include "net/interface.h"

#define NOTICE_ROUTERS 8u
#define NOTICE_MS      60000u /* between two lines of one kind */

/* What was said. All zeros at first. */
struct notice {
	uint64_t drops_seen;     /* of the list of dropped frames */
	uint64_t no_route_us[2]; /* of log_limited: IPv4, IPv6 */
	uint64_t swapped_us[INTERFACES];
	struct addr silent[NOTICE_ROUTERS]; /* default routers of which the log says that they do
	                                     * not answer */
	uint32_t n_silent;
};

#endif
