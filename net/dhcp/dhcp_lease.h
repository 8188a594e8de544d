/* A lease, read from an offer or an acknowledgement (RFC 2131 section 4.3.1, RFC 2132, RFC 3442).
 * Pure. */
#ifndef NET_DHCP_DHCP_LEASE_H
#define NET_DHCP_DHCP_LEASE_H

#include "net/dhcp/dhcp_message.h"
#include "net/dhcp/dhcp_state.h"

/* Reads the lease that a message gives. `mtu_most` is the largest MTU of the interface. An option
 * that a lease does without and that is wrong is left out and named in lease->ignored. Gives NULL,
 * or the text of what is wrong (static); then *lease is not to be used. */
const char *dhcp_lease_read(struct dhcp_lease *lease, const struct dhcp_message *m,
                            uint32_t mtu_most);

#endif
