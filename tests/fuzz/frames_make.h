/* The grammar of the packets that the fuzzers of a gateway make, and the check that a
 * payload arrives as it was sent.
 *
 * Every byte of a payload says where in its datagram it stands. So a packet that leaves
 * shows by itself whether its payload was changed, whoever sent it and whatever became of
 * its headers. */
#ifndef TESTS_FUZZ_FRAMES_MAKE_H
#define TESTS_FUZZ_FRAMES_MAKE_H

#include "tests/fuzz/frames.h"

/* What stands behind the headers of a packet in the making. */
struct middle {
	uint32_t index; /* its place in the datagram */
	bool later;     /* a later piece: there is no transport header */
};

/* Extension headers of any kind, number, order and contents, at most `room` bytes, in
 * front of something of protocol `proto`; *next gets the first one's kind. *m is about
 * what is behind them: none follows a later piece. Gives their length, a multiple of 8. */
uint32_t make_chain(struct input *in, uint8_t *at, uint32_t room, uint8_t *next, uint8_t proto,
                    struct middle *m);

/* The fields of an IPv4 header at `ip` that say which piece of a datagram it is: any, of any
 * offset, or the whole. */
struct middle make_piece4(struct input *in, uint8_t *ip);

/* Transport header and payload, or only payload where `m` is a later piece; at most `room`
 * bytes, which are 24 at least. *proto is chosen before, by make_proto. Ports are few.
 * Gives the length, which may be any. */
uint8_t make_proto(struct input *in, bool is6);
uint32_t make_transport(struct input *in, uint8_t *at, uint32_t room, uint8_t proto,
                        const struct middle *m);

/* The next frame of a flood: another port, source, destination or fragment identification,
 * as `how` says. Checksums are wrong then. */
void frame_vary(uint8_t *f, uint32_t len, uint8_t how);

/* NULL, or what is wrong with the payload of a frame that left: an IPv4 or IPv6 packet, or
 * an ICMP error about one if `quotes` is set. */
const char *frame_payload(const uint8_t *f, uint32_t len, bool quotes);

#endif
