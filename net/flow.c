/* See flow.h. */
#include "net/flow.h"

struct neigh *flow_hint(struct gw *gw, uint32_t iface, const ip6 *to, struct neigh_hint *hint)
{
	struct flow_exit exit = {.iface = iface, .hop = hint->hop, .to = to};
	struct neigh *n = flow_look_up(gw, &exit);
	if (n) {
		hint->at = n;
		hint->stamp = n->stamp;
	}
	return n;
}
