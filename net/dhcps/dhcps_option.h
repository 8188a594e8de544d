/* Values of DHCP options from text (`lan.dhcp-option CODE VALUE`). Pure. */
#ifndef NET_DHCPS_DHCPS_OPTION_H
#define NET_DHCPS_DHCPS_OPTION_H

#include "kernel/lib/bytes.h"

#define DHCPS_OPTION_VALUE 255u /* bytes of the longest value */

/* Turns the text of an option's value into bytes. The form follows from the code (RFC 2132 and
 * those of enum dhcp_code): addresses, a number, domain names (119), routes `PREFIX via ADDRESS`
 * (121), or text. Of a code that is not known: addresses where all words are some, else text.
 * `hex:0a0b…` gives the bytes of any option. Gives NULL, or what is wrong (static). */
const char *dhcps_option_encode(uint8_t code, const char *text, uint8_t out[DHCPS_OPTION_VALUE],
                                uint32_t *len);

/* Turns a domain name into labels (RFC 1035 section 3.1), not compressed. Gives their length, 0
 * when it is no name or has no room. */
uint32_t dhcps_option_labels(const char *name, size_t n, uint8_t *out, uint32_t room);

#endif
