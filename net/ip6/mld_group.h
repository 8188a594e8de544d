/* A multicast group that a port has joined; see mld.h. */
#ifndef NET_IP6_MLD_GROUP_H
#define NET_IP6_MLD_GROUP_H

#include "kernel/lib/bytes.h"

#define MLD_GROUPS 32u /* of one port: two for each address, and all-routers */

struct mld_group {
	ip6 addr;
	uint8_t users;   /* addresses of ours that need it; 0: being left */
	uint8_t changes; /* unasked reports of joining or leaving still to send */
	bool asked;      /* a router asked; the answer is due */
	uint32_t due_ms; /* the next report of either kind */
};

#endif
