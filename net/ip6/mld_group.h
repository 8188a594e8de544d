/* A multicast group that an interface has joined; see mld.h. */
#ifndef NET_IP6_MLD_GROUP_H
#define NET_IP6_MLD_GROUP_H

#include "kernel/lib/bytes.h"

#define MLD_GROUPS 32u /* of one interface: two for each address, and all-routers */

struct mld_group {
	ip6 addr;
	uint8_t users;   /* our addresses that need it; 0: it is being left */
	uint8_t changes; /* unsolicited reports of joining or leaving that are still to be sent */
	bool asked;      /* a router sent a query, and the answer is due */
	uint32_t due_ms; /* the next report, solicited or not */
};

#endif
