/* IPv6 frames for the fuzzers, as frames.h has IPv4 ones: simple, from the RFCs. */
#ifndef TESTS_FUZZ_FRAMES6_H
#define TESTS_FUZZ_FRAMES6_H

#include "kernel/lib/bytes.h"

/* Writes an Ethernet and IPv6 header before n bytes that are already at offset 54; gives the
 * frame's length. The frame of a packet to a group goes to the group's MAC address. */
uint32_t frame6_ip(uint8_t *f, const uint8_t to_mac[6], const uint8_t from[16],
                   const uint8_t to[16], uint8_t next, uint8_t hops, uint32_t n);

/* Corrects the length and the transport checksum that an IPv6 packet has; `n` bytes at ip. */
void frame6_repair(uint8_t *ip, uint32_t n);

/* Turns a frame into its reply: exchanges addresses and ports; an echo becomes an echo reply, a
 * solicitation an advertisement. */
void frame6_answer(uint8_t *f, uint32_t len);

/* NULL, or what is wrong with an IPv6 packet that was sent. `sums`: its transport checksum must be
 * right as well. */
const char *frame6_check(const uint8_t *ip, uint32_t n, uint32_t mtu, bool sums);

#endif
