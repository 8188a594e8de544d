/* Frames for the fuzzers: parts to build them from, correction of checksums, and the check of
 * frames that a gateway sends. Written from the RFCs, with its own checksum code, so that it knows
 * nothing of the code that is tested. */
#ifndef TESTS_FUZZ_FRAMES_H
#define TESTS_FUZZ_FRAMES_H

#include "kernel/lib/bytes.h"

#define FRAME_MAX 2048u

/* The rest of a fuzzer's input; reading past its end gives zeros. */
struct input {
	const uint8_t *at;
	size_t left;
};
uint8_t input_u8(struct input *in);
uint16_t input_u16(struct input *in);

/* The ones' complement sum (RFC 1071) of n bytes, in words of two bytes with the first one high,
 * added to `sum`: 16 bits, in host byte order. */
uint32_t frame_sum(uint32_t sum, const uint8_t *b, uint32_t n);

/* Writes an Ethernet and IPv4 header before l4_len bytes that are already at offset 34; gives the
 * frame's length. */
uint32_t frame_ip4(uint8_t *f, const uint8_t to_mac[6], uint32_t from, uint32_t to, uint8_t proto,
                   uint32_t l4_len);

/* Corrects the lengths and checksums that an IPv4 frame has. */
void frame_repair(uint8_t *f, uint32_t len);

/* Turns a frame into its reply: exchanges addresses and ports; an echo becomes an echo reply. */
void frame_answer(uint8_t *f, uint32_t len);

/* NULL, or what is wrong with a frame that was sent. `sums`: its transport checksum must be right
 * as well. */
const char *frame_check(const uint8_t *f, uint32_t len, uint32_t mtu, bool sums);

#endif
