/* IPv4 neighbours: states of the entries of neigh_table.h, by ARP (RFC 826, RFC 1122
 * section 2.3.2). See neigh.h. */
#include "net/ether/arp.h"
#include "net/neigh/neigh.h"

#define REACHABLE_MS 60000u /* how long an answer counts */
#define REFRESH_MS   10000u /* an entry in use is asked again so long before that time */
/* Three requests in 0.9 s, then a pause: on average less than one a second (RFC 1122 section
 * 2.3.2.1), and packets that wait are dropped within a second. */
#define ASK_MS    300u
#define ASK_TRIES 3u
#define FAILED_MS 3000u
#define PROBE_MS  1000u /* between two requests about an entry in use */
#define USED_MS   1000u /* how often an entry that must be asked again is checked for use */

static struct neigh *take4(struct gw *gw, uint32_t iface, ip4 addr)
{
	struct neigh *n = neigh_take(gw, neigh_set4(&gw->neigh, ip4_raw(addr)), iface);
	if (n)
		n->key[3] = ip4_raw(addr);
	return n;
}

static ip4 address_of(const struct neigh *n)
{
	return ip4_from_raw(n->key[3]);
}

static void ask(struct gw *gw, struct neigh *n, const mac *to)
{
	n->tries++;
	neigh_due_in(gw, n, n->state == NEIGH_PROBING ? PROBE_MS : ASK_MS);
	arp_ask(gw, n->iface, address_of(n), to);
}

void neigh_resolve4(struct gw *gw, struct pkt *p)
{
	ip4 hop = ip4_from_raw(p->hop);
	struct neigh *n = neigh_find4(&gw->neigh, p->out, p->hop);
	if (!gw->iface[p->out].carrier) {
		gw_discard(gw, p, DROP_LINK_DOWN);
		return;
	}
	if (n && n->state == NEIGH_FAILED) {
		neigh_tell(gw, p, false);
		gw_discard(gw, p, DROP_NO_NEIGHBOUR);
		return;
	}
	if (!n) {
		n = take4(gw, p->out, hop);
		if (!n) {
			gw_discard(gw, p, DROP_NEIGHBOUR_QUEUE);
			return;
		}
		neigh_set_state(gw, n, NEIGH_ASKING);
		ask(gw, n, NULL);
	}
	neigh_park(gw, n, p);
}

void neigh_watch4(struct gw *gw, uint32_t iface, ip4 addr)
{
	struct neigh *n = neigh_find4(&gw->neigh, iface, ip4_raw(addr));
	if (!gw->iface[iface].carrier)
		return;
	if (!n) {
		n = take4(gw, iface, addr);
		if (!n)
			return;
		neigh_set_state(gw, n, NEIGH_ASKING);
		ask(gw, n, NULL);
	} else if (n->state == NEIGH_REACHABLE &&
	           gw->clock.ms - n->confirmed_ms >= NEIGH_WATCH_MS) {
		neigh_set_state(gw, n, NEIGH_PROBING);
		ask(gw, n, &n->eth.to);
	}
}

void neigh_learn4(struct gw *gw, uint32_t iface, ip4 addr, const mac *address, bool create,
                  enum neigh_state state)
{
	struct neigh *n = neigh_find4(&gw->neigh, iface, ip4_raw(addr));
	if (!n && create)
		n = take4(gw, iface, addr);
	if (!n || n->state == NEIGH_STATIC)
		return;
	neigh_set_state(gw, n, state);
	n->tries = 0;
	n->used = false;
	n->confirmed_ms = gw->clock.ms;
	neigh_due_in(gw, n, REACHABLE_MS - REFRESH_MS);
	neigh_set_mac(gw, n, address);
	neigh_release(gw, n);
}

void neigh_tick4(struct gw *gw, struct neigh *n)
{
	uint32_t age = gw->clock.ms - n->confirmed_ms;
	switch (n->state) {
	case NEIGH_ASKING:
		if (n->tries < ASK_TRIES || neigh_settling(gw, n)) {
			ask(gw, n, NULL);
			return;
		}
		neigh_set_state(gw, n,
		                NEIGH_FAILED); /* before the errors, which may come back here */
		neigh_due_in(gw, n, FAILED_MS);
		neigh_drop_parked(gw, n, DROP_NO_NEIGHBOUR);
		return;
	case NEIGH_REACHABLE:
		if (n->used) {
			neigh_set_state(gw, n, NEIGH_PROBING);
			ask(gw, n, &n->eth.to);
		} else if (age >= REACHABLE_MS) {
			neigh_forget(gw, n, DROP_NO_NEIGHBOUR);
		} else {
			neigh_due_in(gw, n, min_u32(USED_MS, REACHABLE_MS - age));
		}
		return;
	case NEIGH_PROBING:
		if (n->tries >= 2 * ASK_TRIES)
			neigh_forget(gw, n, DROP_NO_NEIGHBOUR);
		else /* first the station itself, then all stations (it may have moved) */
			ask(gw, n, n->tries < ASK_TRIES ? &n->eth.to : NULL);
		return;
	default:
		neigh_forget(gw, n, DROP_NO_NEIGHBOUR);
	}
}
