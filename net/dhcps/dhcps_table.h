/* The table of leases of one network. Pure but for the secret of its hashes. */
#ifndef NET_DHCPS_DHCPS_TABLE_H
#define NET_DHCPS_DHCPS_TABLE_H

#include "net/dhcps/dhcps_state.h"

/* Makes the table; first, n_pool and iface are set. False when there is not enough memory. */
bool dhcps_table_init(struct dhcps_net *net, const struct dhcps_config_net *c) MUST_USE;

/* The state of an address now: a lease whose time is over is free. */
enum dhcps_state dhcps_table_state(const struct dhcps_net *net, uint32_t i, uint32_t now);

/* The slot of an address, DHCPS_NONE when it is none of ours; and the address of a slot. */
uint32_t dhcps_table_at(const struct dhcps_net *net, const struct dhcps_config_net *c, ip4 a);
ip4 dhcps_table_address(const struct dhcps_net *net, const struct dhcps_config_net *c, uint32_t i);

/* The slot that a client has or had; DHCPS_NONE. */
uint32_t dhcps_table_of(const struct gw *gw, const struct dhcps_net *net,
                        const struct dhcps_id *id);

/* True when the client of an address is this one, or the same station by another way: itself in
 * place of its relay agent. */
bool dhcps_table_is_of(const struct dhcps_net *net, uint32_t i, const struct dhcps_who *who);

/* How many addresses a client has, offered or bound, and which of them ends first. */
uint32_t dhcps_table_count(const struct gw *gw, const struct dhcps_net *net,
                           const struct dhcps_who *who, uint32_t now, uint32_t *oldest);

/* The same of all clients of a relay agent, addresses of the pool alone. */
uint32_t dhcps_table_count_agent(const struct dhcps_net *net, const mac *agent, uint32_t now,
                                 uint32_t *oldest);

/* A free address of the pool for a client: `wanted` if it is free (DHCPS_NONE: none), else one that
 * nobody had, beginning where the hash of the client says, so that it is the same after a restart;
 * else the one that is free for the longest time, the oldest offer, the one that was declined
 * first. DHCPS_NONE when all are bound. */
uint32_t dhcps_table_pick(const struct gw *gw, const struct dhcps_net *net,
                          const struct dhcps_id *id, uint32_t wanted, uint32_t now);

/* Gives an address to a client: it leaves the one that it had, and who had this one is forgotten.
 */
void dhcps_table_take(const struct gw *gw, struct dhcps_net *net, uint32_t i,
                      const struct dhcps_id *id, const struct dhcps_who *who,
                      enum dhcps_state state, uint32_t end);

/* Forgets the client of an address; the state is then as given. */
void dhcps_table_forget(const struct gw *gw, struct dhcps_net *net, uint32_t i,
                        enum dhcps_state state, uint32_t end);

/* Leases in force. */
uint32_t dhcps_table_bound(const struct dhcps_net *net, uint32_t now);

#endif
