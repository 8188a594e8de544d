/* Bytes, integers in wire order, and addresses.
 *
 * Wire types are structs of bytes with alignment 1. They can overlay any frame without
 * `packed`, and a comparison of one with a number does not compile. Functions named `_get`
 * give host order. Functions named `_raw` give the bytes as the machine loads them, for
 * comparing and hashing only. */
#ifndef KERNEL_LIB_BYTES_H
#define KERNEL_LIB_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/lib/string.h"

typedef struct {
	uint8_t b[2];
} be16;
typedef struct {
	uint8_t b[4];
} be32;
typedef struct {
	uint8_t b[4];
} ip4;
typedef struct {
	uint8_t b[16];
} ip6;
typedef struct {
	uint8_t b[6];
} mac;

_Static_assert(sizeof(be16) == 2 && _Alignof(be16) == 1, "be16");
_Static_assert(sizeof(be32) == 4 && _Alignof(be32) == 1, "be32");
_Static_assert(sizeof(ip4) == 4 && sizeof(ip6) == 16 && sizeof(mac) == 6, "addresses");

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Unaligned loads and stores in the machine's byte order. */
static inline uint16_t load16(const void *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

static inline uint32_t load32(const void *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

static inline void store16(void *p, uint16_t v)
{
	memcpy(p, &v, sizeof v);
}

static inline void store32(void *p, uint32_t v)
{
	memcpy(p, &v, sizeof v);
}

/* Conversion between host order and wire order. The machine is little-endian (x86). */
static inline uint16_t swap16(uint16_t v)
{
	return __builtin_bswap16(v);
}

static inline uint32_t swap32(uint32_t v)
{
	return __builtin_bswap32(v);
}

static inline uint16_t be16_get(be16 v)
{
	return swap16(load16(v.b));
}

static inline be16 be16_of(uint16_t v)
{
	be16 r;
	store16(r.b, swap16(v));
	return r;
}

static inline uint16_t be16_raw(be16 v)
{
	return load16(v.b);
}

static inline be16 be16_from_raw(uint16_t v)
{
	be16 r;
	store16(r.b, v);
	return r;
}

static inline uint32_t be32_get(be32 v)
{
	return swap32(load32(v.b));
}

static inline be32 be32_of(uint32_t v)
{
	be32 r;
	store32(r.b, swap32(v));
	return r;
}

static inline uint32_t ip4_get(ip4 a)
{
	return swap32(load32(a.b));
}

static inline ip4 ip4_of(uint32_t v)
{
	ip4 r;
	store32(r.b, swap32(v));
	return r;
}

static inline uint32_t ip4_raw(ip4 a)
{
	return load32(a.b);
}

static inline ip4 ip4_from_raw(uint32_t v)
{
	ip4 r;
	store32(r.b, v);
	return r;
}

static inline bool ip4_eq(ip4 a, ip4 b)
{
	return ip4_raw(a) == ip4_raw(b);
}

/* Gives bytes 4 i to 4 i + 3 of an address, raw. */
static inline uint32_t ip6_word(const ip6 *a, unsigned i)
{
	return load32(a->b + 4 * i);
}

static inline bool ip6_eq(const ip6 *a, const ip6 *b)
{
	return ip6_word(a, 3) == ip6_word(b, 3) && ip6_word(a, 2) == ip6_word(b, 2) &&
	       ip6_word(a, 1) == ip6_word(b, 1) && ip6_word(a, 0) == ip6_word(b, 0);
}

static inline bool mac_eq(const mac *a, const mac *b)
{
	return load32(a->b) == load32(b->b) && load16(a->b + 4) == load16(b->b + 4);
}

/* True when the group bit of the first octet is set: multicast or broadcast (IEEE 802
 * section 8.2). */
static inline bool mac_is_group(const mac *a)
{
	return (a->b[0] & 1) != 0;
}

static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
/* For the few short functions that handle every packet. */
#define ALWAYS_INLINE     static inline __attribute__((always_inline))
#define MUST_USE          __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

#endif
