/* Addresses, prefixes and numbers as text. Each parser reads exactly `len` characters. It
 * gives true and sets *out if the whole text is one well-formed value. Otherwise it gives
 * false and leaves *out unchanged. All results are in the types' own byte order: addresses
 * in wire order, numbers in host order. */
#ifndef KERNEL_LIB_ADDR_H
#define KERNEL_LIB_ADDR_H

#include "kernel/lib/bytes.h"

/* An address of either family: v6 is valid when is6 is set, else v4. */
struct addr {
	bool is6;
	ip4 v4;
	ip6 v6;
};

/* An address with a prefix length (0-32 or 0-128). The bits behind the prefix are kept. */
struct prefix {
	struct addr addr;
	uint8_t len;
};

/* IPv4 address: four decimal numbers without leading zeros, separated by dots. */
bool addr_ip4(const char *text, size_t len, ip4 *out) MUST_USE;
/* IPv6 address in any of the three forms of RFC 4291 section 2.2, without a zone. */
bool addr_ip6(const char *text, size_t len, ip6 *out) MUST_USE;
/* Address of either family. */
bool addr_any(const char *text, size_t len, struct addr *out) MUST_USE;
/* Prefix: ADDRESS/LENGTH. */
bool addr_prefix(const char *text, size_t len, struct prefix *out) MUST_USE;
/* MAC address: six octets of two hexadecimal digits, separated by ':' or by '-'. */
bool addr_mac(const char *text, size_t len, mac *out) MUST_USE;
/* Decimal number from 0 to 2^32-1. */
bool addr_u32(const char *text, size_t len, uint32_t *out) MUST_USE;
/* Seconds with up to three decimals; gives milliseconds. */
bool addr_ms(const char *text, size_t len, uint32_t *out) MUST_USE;

/* True when family and address are equal. */
bool addr_eq(const struct addr *a, const struct addr *b);

/* Gives the network mask for a prefix length of 0 to 32, in host order. */
static inline uint32_t addr_mask4(uint8_t len)
{
	return len == 0 ? 0 : 0xffffffffu << (32 - len);
}

/* True when the first `len` bits (0 to 128) of two IPv6 addresses are equal. */
static inline bool addr_in6(const ip6 *a, const ip6 *net, uint8_t len)
{
	unsigned whole = len / 8u, rest = len % 8u;
	if (memcmp(a->b, net->b, whole) != 0)
		return false;
	return rest == 0 || (a->b[whole] ^ net->b[whole]) >> (8 - rest) == 0;
}

/* Gives the address with all bits behind the first `len` (0 to 128) set to zero. */
static inline ip6 addr_net6(const ip6 *a, uint8_t len)
{
	ip6 net = {{0}};
	memcpy(net.b, a->b, len / 8u);
	if (len % 8)
		net.b[len / 8] = (uint8_t)(a->b[len / 8] & 0xff00 >> len % 8);
	return net;
}

/* Writes an address as text into buf, which has FMT_IP6 bytes. Gives buf. */
char *addr_text(char *buf, const struct addr *a);
/* Writes a prefix as ADDRESS/LENGTH into buf, which has FMT_IP6 + 4 bytes. Gives buf. */
char *addr_prefix_text(char *buf, const struct prefix *p);

#endif
