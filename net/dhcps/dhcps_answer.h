/* Answers of the DHCP server (RFC 2131 sections 4.1 and 4.3.1). */
#ifndef NET_DHCPS_DHCPS_ANSWER_H
#define NET_DHCPS_DHCPS_ANSWER_H

#include "net/dhcps/dhcps_ask.h"

/* Sends an answer: DHCP_OFFER or DHCP_ACK of an address, or of options alone where `gives` is 0; or
 * DHCP_NAK. */
void dhcps_answer(struct gw *gw, const struct dhcps_ask *ask, enum dhcp_type type, ip4 gives);

/* True when hosts of an inside interface may be told to do without IPv4 (RFC 8925): lan.dhcp-v6only
 * says so, and the prefix of a translator works, which they learn from us or which our forwarder
 * has. */
bool dhcps_answer_may_v6only(const struct gw *gw, uint32_t iface);

/* True when the sender of a message is told so: it asks for it by name. */
bool dhcps_answer_is_v6only(const struct gw *gw, const struct dhcps_ask *ask);

#endif
