/* Types of values that keys of more than one owner have (config_key.h), and what their
 * functions share with those of the owners' own types. */
#ifndef KERNEL_CONFIG_CONFIG_TYPES_H
#define KERNEL_CONFIG_CONFIG_TYPES_H

#include "kernel/config/config.h"
#include "kernel/lib/addr.h"

#define CONFIG_NAME   64u  /* characters of a name, and NUL */
#define CONFIG_DOMAIN 254u /* characters of a domain name, and NUL (RFC 1035 section 3.1) */

extern const struct config_type config_name;    /* char[CONFIG_NAME]: letters, digits, - and . */
extern const struct config_type config_domain;  /* char[CONFIG_DOMAIN]; a last dot is cut off */
extern const struct config_type config_number;  /* uint32_t from min to max */
extern const struct config_type config_seconds; /* uint32_t, in ms; min and max are in seconds */
extern const struct config_type config_seconds_or_off; /* the same, or 0 */
extern const struct config_type config_on_off;         /* bool */
extern const struct config_type config_choice;         /* uint32_t, the index in CONFIG_WORDS */
extern const struct config_type config_addr;           /* struct addr that one host may have */
extern const struct config_type config_ip4;            /* ip4 that one host may have */
extern const struct config_type config_ip6;            /* ip6 that one host may have */

/* The longest duration in seconds that config_seconds may allow: milliseconds have 32
 * bits, which are 49 days. */
#define CONFIG_LONGEST 4000000u

/* What is wrong with an address that must be that of one host, as the end of "192.0.2.1
 * is …"; NULL when nothing is wrong. */
const char *config_not_unicast(const struct addr *a);
const char *config_not_unicast4(ip4 a);

/* Reads the address of one host. False when the text is wrong: then it has added an
 * error. */
bool config_parse_addr(const struct config_source *s, struct slice text, struct addr *out);

/* Reads PREFIX/LENGTH of IPv6 without bits behind the length. False when the text is
 * something else; *out may be changed then. Adds no error. */
bool config_parse_prefix6(struct slice text, struct prefix *out);

/* True when an IPv6 prefix of *p's length has room for an IPv4 address (RFC 6052 section
 * 2.2). If not it adds an error. */
bool config_has_room4(const struct config_source *s, const struct prefix *p);

/* The print function of types whose value is a struct prefix. */
bool config_print_prefix(const struct config_key *key, const void *value, char *buf, size_t room);

#endif
