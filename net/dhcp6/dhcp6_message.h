/* DHCPv6 messages (RFC 8415 section 8) and their options (section 21) as bytes: the UDP payload,
 * for client and server. Pure: no packet, no state. Integers are in host order. */
#ifndef NET_DHCP6_DHCP6_MESSAGE_H
#define NET_DHCP6_DHCP6_MESSAGE_H

#include "kernel/lib/bytes.h"

enum { DHCP6_CLIENT_PORT = 546, DHCP6_SERVER_PORT = 547 };

/* All DHCP relay agents and servers of a link (RFC 8415 section 7.1). */
extern const ip6 dhcp6_all_servers;

/* RFC 8415 section 7.3. */
enum dhcp6_type {
	DHCP6_SOLICIT = 1,
	DHCP6_ADVERTISE,
	DHCP6_REQUEST,
	DHCP6_CONFIRM,
	DHCP6_RENEW,
	DHCP6_REBIND,
	DHCP6_REPLY,
	DHCP6_RELEASE,
	DHCP6_DECLINE,
	DHCP6_RECONFIGURE,
	DHCP6_INFORMATION_REQUEST,
};

/* Codes of options (RFC 8415 section 21 and those named). */
enum dhcp6_code {
	DHCP6_CLIENT_ID = 1,
	DHCP6_SERVER_ID = 2,
	DHCP6_IA_NA = 3,
	DHCP6_IA_TA = 4,
	DHCP6_IA_ADDRESS = 5,
	DHCP6_ORO = 6, /* codes that the client asks for */
	DHCP6_PREFERENCE = 7,
	DHCP6_ELAPSED = 8,
	DHCP6_STATUS = 13,
	DHCP6_RAPID_COMMIT = 14,
	DHCP6_DNS = 23,    /* RFC 3646 */
	DHCP6_SEARCH = 24, /* RFC 3646 */
	DHCP6_IA_PD = 25,
	DHCP6_IA_PREFIX = 26,
	DHCP6_REFRESH = 32,
	DHCP6_SOL_MAX_RT = 82,
	DHCP6_INF_MAX_RT = 83,
};

/* RFC 8415 section 21.13. */
enum dhcp6_status {
	DHCP6_SUCCESS = 0,
	DHCP6_UNSPEC_FAIL = 1,
	DHCP6_NO_ADDRS = 2,
	DHCP6_NO_BINDING = 3,
	DHCP6_NOT_ON_LINK = 4,
	DHCP6_USE_MULTICAST = 5,
	DHCP6_NO_PREFIX = 6,
};

#define DHCP6_HEADER 4u /* type and transaction identifier */

/* DUID-LL (RFC 8415 section 11.4): the same after each restart, without a disk. */
#define DHCP6_DUID_LEN 10u
void dhcp6_duid(const mac *own, uint8_t out[static DHCP6_DUID_LEN]);

/* --- reading ------------------------------------------------------------------------------------
 */

/* An option. */
struct dhcp6_option {
	uint16_t code, len;
	const uint8_t *data;
};

/* Options one behind the other: those of a message, or of an option. */
struct dhcp6_options {
	const uint8_t *at;
	uint32_t left;
};

/* Takes the next option. False at the end, and where an option does not end within. */
bool dhcp6_next(struct dhcp6_options *o, struct dhcp6_option *out) MUST_USE;

/* True when each option ends within. */
bool dhcp6_whole(struct dhcp6_options o) MUST_USE;

/* The first option with this code; false when there is none. */
bool dhcp6_find(struct dhcp6_options o, uint16_t code, struct dhcp6_option *out) MUST_USE;

/* True when option DHCP6_ORO of a message names a code. */
bool dhcp6_asks(struct dhcp6_options o, uint16_t code);

/* Integers in the data of an option, which the caller knows to be long enough. */
static inline uint16_t dhcp6_u16(const uint8_t *at)
{
	return swap16(load16(at));
}
static inline uint32_t dhcp6_u32(const uint8_t *at)
{
	return swap32(load32(at));
}

/* --- building -----------------------------------------------------------------------------------
 */

/* A message in the making. What has no room is left out, and `full` is set. */
struct dhcp6_build {
	uint8_t *data;
	uint32_t size, n;
	bool full;
};

/* Begins a message in `size` bytes. */
void dhcp6_build_start(struct dhcp6_build *b, uint8_t *data, uint32_t size, enum dhcp6_type type,
                       uint32_t xid);

/* Adds an option. */
void dhcp6_build_put(struct dhcp6_build *b, enum dhcp6_code code, const void *value, uint32_t len);
void dhcp6_build_put16(struct dhcp6_build *b, enum dhcp6_code code, uint16_t value);
void dhcp6_build_put32(struct dhcp6_build *b, enum dhcp6_code code, uint32_t value);

/* Begins an option that holds options, with `len` bytes in front of these, and ends it. Gives its
 * place for the end. */
uint32_t dhcp6_build_open(struct dhcp6_build *b, enum dhcp6_code code, const void *value,
                          uint32_t len);
void dhcp6_build_close(struct dhcp6_build *b, uint32_t place);

#endif
