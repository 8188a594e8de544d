/* The grammar of the packets that the fuzzers of a gateway make, and the check that a payload
 * arrives unchanged.
 *
 * Every byte of a payload encodes its offset in its datagram. So a packet that leaves shows by
 * itself whether its payload was changed, whichever host sent it and whatever happened to its
 * headers. */
#ifndef TESTS_FUZZ_FRAMES_MAKE_H
#define TESTS_FUZZ_FRAMES_MAKE_H

#include "tests/fuzz/frames.h"

/* The bytes after the headers of a packet that is being built. */
struct middle {
	uint32_t index; /* their offset in the datagram */
	bool later;     /* a later fragment, without a transport header */
};

/* Writes extension headers of any kind, number, order and contents, at most `room` bytes, before a
 * header or payload of protocol `proto`; *next gets the first one's kind. *m describes the bytes
 * after them: no header follows that of a later fragment. Gives their length, a multiple of 8. */
uint32_t make_chain(struct input *in, uint8_t *at, uint32_t room, uint8_t *next, uint8_t proto,
                    struct middle *m);

/* Writes the fields of an IPv4 header at `ip` that say which fragment of a datagram it is: one of
 * any offset, or the whole datagram. */
struct middle make_piece4(struct input *in, uint8_t *ip);

/* Writes transport header and payload, or only payload when `m` is a later fragment; at most `room`
 * bytes, which must be at least 24. *proto was chosen before by make_proto. There are few different
 * ports. Gives the length, which may be any. */
uint8_t make_proto(struct input *in, bool is6);
uint32_t make_transport(struct input *in, uint8_t *at, uint32_t room, uint8_t proto,
                        const struct middle *m);

/* Makes the next frame of a flood: `how` chooses another port, source, destination or fragment
 * identification. Its checksums are wrong then. */
void frame_vary(uint8_t *f, uint32_t len, uint8_t how);

/* NULL, or what is wrong with the payload of a frame that left: an IPv4 or IPv6 packet, or an ICMP
 * error about one if `quotes` is set. */
const char *frame_payload(const uint8_t *f, uint32_t len, bool quotes);

#endif
