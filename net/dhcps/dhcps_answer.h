/* Answers of the DHCP server (RFC 2131 sections 4.1 and 4.3.1). */
#ifndef NET_DHCPS_DHCPS_ANSWER_H
#define NET_DHCPS_DHCPS_ANSWER_H

#include "net/dhcps/dhcps_ask.h"

/* Sends an answer: DHCP_OFFER or DHCP_ACK of an address, or of options alone where `gives` is 0; or
 * DHCP_NAK. */
void dhcps_answer(struct gw *gw, const struct dhcps_ask *ask, enum dhcp_type type, ip4 gives);

#endif
