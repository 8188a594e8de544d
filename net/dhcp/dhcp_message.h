/* DHCP messages (RFC 2131 section 2, RFC 2132) as bytes: the UDP payload, for client and server.
 * Pure: no packet, no state. Integers are in host order, addresses in wire order. */
#ifndef NET_DHCP_DHCP_MESSAGE_H
#define NET_DHCP_DHCP_MESSAGE_H

#include "kernel/lib/bytes.h"

enum { DHCP_SERVER_PORT = 67, DHCP_CLIENT_PORT = 68 };

/* The fixed part, with the cookie that tells DHCP from BOOTP. */
struct dhcp_hdr {
	uint8_t op;    /* DHCP_BOOTREQUEST, DHCP_BOOTREPLY */
	uint8_t htype; /* 1: Ethernet */
	uint8_t hlen;  /* of chaddr: 6 */
	uint8_t hops;  /* relay agents on the way */
	be32 xid;
	be16 secs;
	be16 flags; /* DHCP_BROADCAST */
	ip4 ciaddr; /* the client's, where it can answer ARP */
	ip4 yiaddr; /* that the client is to have */
	ip4 siaddr; /* of the next server of a boot */
	ip4 giaddr; /* of the relay agent */
	mac chaddr; /* the first six of 16 bytes */
	uint8_t chaddr_rest[10];
	uint8_t sname[64];
	uint8_t file[128];
	be32 cookie;
};
_Static_assert(sizeof(struct dhcp_hdr) == 240, "DHCP header");

enum { DHCP_BOOTREQUEST = 1, DHCP_BOOTREPLY = 2 };
enum { DHCP_BROADCAST = 0x8000 };
#define DHCP_COOKIE 0x63825363u

/* Bytes of a message that every client takes (RFC 2131 section 2), and of the shortest that relay
 * agents and old servers pass on (RFC 1542 section 2.1). */
enum { DHCP_LEN_ALWAYS = 548, DHCP_LEN_LEAST = 300 };

/* Values of DHCP_TYPE (RFC 2132 section 9.6). */
enum dhcp_type {
	DHCP_DISCOVER = 1,
	DHCP_OFFER,
	DHCP_REQUEST,
	DHCP_DECLINE,
	DHCP_ACK,
	DHCP_NAK,
	DHCP_RELEASE,
	DHCP_INFORM,
};

/* Codes of options (RFC 2132 and those named). */
enum dhcp_code {
	DHCP_PAD = 0,
	DHCP_MASK = 1,
	DHCP_ROUTER = 3,
	DHCP_DNS = 6,
	DHCP_HOST_NAME = 12,
	DHCP_DOMAIN = 15,
	DHCP_MTU = 26,
	DHCP_BROADCAST_ADDRESS = 28,
	DHCP_STATIC_ROUTES = 33,
	DHCP_NTP = 42,
	DHCP_ADDRESS = 50, /* that the client asks for */
	DHCP_LEASE_TIME = 51,
	DHCP_OVERLOAD = 52,
	DHCP_TYPE = 53,
	DHCP_SERVER_ID = 54,
	DHCP_PARAMETERS = 55, /* codes that the client asks for */
	DHCP_MESSAGE = 56,    /* words of an error */
	DHCP_MAX_SIZE = 57,   /* of a message with IP and UDP headers */
	DHCP_T1 = 58,
	DHCP_T2 = 59,
	DHCP_VENDOR_CLASS = 60,
	DHCP_CLIENT_ID = 61,
	DHCP_TFTP_SERVER = 66,
	DHCP_BOOT_FILE = 67,
	DHCP_RAPID_COMMIT = 80, /* RFC 4039 */
	DHCP_FQDN = 81,         /* RFC 4702 */
	DHCP_AGENT = 82,        /* RFC 3046 */
	DHCP_V6ONLY = 108,      /* RFC 8925 */
	DHCP_PORTAL = 114,      /* RFC 8910 */
	DHCP_SEARCH = 119,      /* RFC 3397 */
	DHCP_CLASSLESS = 121,   /* RFC 3442 */
	DHCP_6RD = 212,         /* RFC 5969 */
	DHCP_END = 255,
};

/* --- reading ------------------------------------------------------------------------------- */

/* A message whose form was checked. It points into the bytes that it was read from. */
struct dhcp_message {
	const struct dhcp_hdr *hdr;
	enum dhcp_type type;
	/* Where options are, in the order in which they count (RFC 3396 section 5): the field of
	 * options, then `file` and `sname` if DHCP_OVERLOAD says that these hold options. */
	struct dhcp_area {
		const uint8_t *at;
		uint32_t len;
	} area[3];
	uint32_t n_areas;
};

/* Reads a message of `len` bytes: a DHCP message for Ethernet, with each option inside of its area.
 * Gives NULL, or the text of what is wrong (static); then *m is not to be used. A missing end
 * option is not wrong, because some servers leave it out. */
const char *dhcp_message_read(struct dhcp_message *m, const uint8_t *data, uint32_t len);

/* The value of an option: all values of that code together, in their order (RFC 3396 section 7).
 * Copies the first `size` bytes to `out` at most; *len is the length of the whole. False when the
 * option is not there; it may be there with a length of 0. */
bool dhcp_message_get(const struct dhcp_message *m, enum dhcp_code code, uint8_t *out,
                      uint32_t size, uint32_t *len) MUST_USE;

/* True when the option is there, with whatever value. */
bool dhcp_message_has(const struct dhcp_message *m, enum dhcp_code code);

/* Values of a fixed length. False, and *out as it was, when the option is not there or has another
 * length. */
bool dhcp_message_get8(const struct dhcp_message *m, enum dhcp_code code, uint8_t *out) MUST_USE;
bool dhcp_message_get16(const struct dhcp_message *m, enum dhcp_code code, uint16_t *out) MUST_USE;
bool dhcp_message_get32(const struct dhcp_message *m, enum dhcp_code code, uint32_t *out) MUST_USE;
bool dhcp_message_get_ip4(const struct dhcp_message *m, enum dhcp_code code, ip4 *out) MUST_USE;

/* --- building ------------------------------------------------------------------------------- */

/* A message in the making. */
struct dhcp_build {
	uint8_t *data;
	uint32_t size;    /* of data */
	bool overload;    /* options may use `file` and `sname` (RFC 2132 section 9.3) */
	uint32_t used[3]; /* bytes of the areas, in the order of struct dhcp_message */
};

/* Begins a message in `size` bytes, DHCP_LEN_LEAST at least: all fields 0 but op, htype, hlen and
 * the cookie, and the option DHCP_TYPE. The caller fills in the other fields of the header that
 * this gives, which are in `data`. `overload`: options that find no room go to `file` and `sname`,
 * which the caller leaves alone then. */
struct dhcp_hdr *dhcp_build_start(struct dhcp_build *b, uint8_t *data, uint32_t size, uint8_t op,
                                  enum dhcp_type type, bool overload);

/* Adds an option; one of more than 255 bytes in several pieces (RFC 3396 section 6). False, and
 * nothing is added, when there is no room for it. A code is put once. */
bool dhcp_build_put(struct dhcp_build *b, enum dhcp_code code, const void *value,
                    uint32_t len) MUST_USE;
bool dhcp_build_put8(struct dhcp_build *b, enum dhcp_code code, uint8_t value) MUST_USE;
bool dhcp_build_put16(struct dhcp_build *b, enum dhcp_code code, uint16_t value) MUST_USE;
bool dhcp_build_put32(struct dhcp_build *b, enum dhcp_code code, uint32_t value) MUST_USE;
bool dhcp_build_put_ip4(struct dhcp_build *b, enum dhcp_code code, ip4 value) MUST_USE;

/* Ends the message: DHCP_OVERLOAD where it is needed, end options, and zeros up to DHCP_LEN_LEAST.
 * Gives its length. */
uint32_t dhcp_build_end(struct dhcp_build *b);

#endif
