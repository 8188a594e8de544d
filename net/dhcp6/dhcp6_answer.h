/* Reads an answer of a DHCPv6 server: Advertise or Reply (RFC 8415 sections 16.3, 16.10, 18.2.9 and
 * 18.2.10). Pure. */
#ifndef NET_DHCP6_DHCP6_ANSWER_H
#define NET_DHCP6_DHCP6_ANSWER_H

#include "net/dhcp6/dhcp6_message.h"
#include "net/dhcp6/dhcp6_state.h"

/* The identifier of both identity associations: that of the interface, the same after each
 * restart. */
#define DHCP6_IAID 1u

/* Reads a message of `len` bytes, DHCP6_HEADER at least, that answers the client `duid`. What makes
 * no sense in itself is left out: an identity association with another identifier, or with T1
 * behind T2; an address or prefix that no host or network can have, or that is preferred for longer
 * than it is valid; options beyond the room for them. Gives NULL, or what is wrong with the whole
 * (static); then *a is not to be used. */
const char *dhcp6_answer_read(struct dhcp6_answer *a, const uint8_t *data, uint32_t len,
                              const uint8_t duid[static DHCP6_DUID_LEN]);

/* How good an answer is for a client that asks for the associations in `asks` (bits 1 << enum
 * dhcp6_ia); 0: it gives none of them. One with a prefix comes first, then by preference. */
uint32_t dhcp6_answer_rank(const struct dhcp6_answer *a, uint8_t asks);

/* The name of a status (section 21.13), and the status that says why an answer gives nothing. */
const char *dhcp6_answer_status_name(uint16_t status);
uint16_t dhcp6_answer_why_not(const struct dhcp6_answer *a);

#endif
