/* What the fuzzers of a whole gateway share: the gateway, what left it last, frames that answer
 * that or are like nothing, time, cables and cards, and the silence at the end. */
#ifndef TESTS_FUZZ_GATEWAY_H
#define TESTS_FUZZ_GATEWAY_H

#include "tests/fuzz/frames.h"
#include "tests/fuzz/frames6.h"
#include "tests/fuzz/frames_make.h"
#include "tests/host/rig.h"

#include <stdio.h>
#include <stdlib.h>

#define ETH       14u
#define FLOOD_MAX 300u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct rig rig;
static struct {
	bool sums;                         /* every frame so far had right transport checksums */
	bool payloads;                     /* … and the payload that frames_make.h makes */
	uint32_t flooded;                  /* frames of floods so far */
	uint8_t last[GW_PORTS][FRAME_MAX]; /* the last frame that left */
	uint32_t last_len[GW_PORTS];
} run;

static inline void fail(const char *what, const uint8_t *frame, uint32_t len)
{
	fprintf(stderr, "not: %s\n", what);
	for (uint32_t i = 0; i < len; i++)
		fprintf(stderr, "%02x%s", frame[i], i % 32 == 31 ? "\n" : "");
	fputc('\n', stderr);
	abort();
}

/* An empty gateway, of which `seen` gets each frame that leaves. */
static inline void begin(uint8_t seed,
                         void (*seen)(struct rig *, uint32_t, const uint8_t *, uint32_t))
{
	run.sums = run.payloads = true;
	run.flooded = 0;
	memset(run.last_len, 0, sizeof run.last_len);
	rig.sink = seen;
	rig_reset(&rig, seed, 4 << 20, 1000000);
}

static inline void note(uint32_t port, const uint8_t *frame, uint32_t len)
{
	run.last_len[port] = min_u32(len, FRAME_MAX);
	memcpy(run.last[port], frame, run.last_len[port]);
}

/* NULL, or what is wrong with an IPv4 or IPv6 frame that left a port. */
static inline const char *check(uint32_t port, const uint8_t *frame, uint32_t len)
{
	uint32_t mtu = rig.gw.port[port].mtu;
	if (len >= ETH && frame[12] == 0x86 && frame[13] == 0xdd)
		return frame6_check(frame + ETH, len - ETH, mtu, run.sums);
	return frame_check(frame, len, mtu, run.sums);
}

static inline const uint8_t *mac_of(uint32_t port)
{
	return rig.gw.port[port].address.b;
}

/* The packet that left a port last, turned around. */
static inline uint32_t make_answer(uint8_t *f, uint32_t port)
{
	uint32_t len = run.last_len[port];
	memcpy(f, run.last[port], len);
	if (len >= ETH && f[12] == 0x86)
		frame6_answer(f, len);
	else
		frame_answer(f, len);
	memcpy(f, mac_of(port), 6);
	return len;
}

static inline uint32_t make_raw(struct input *in, uint8_t *f, uint32_t port)
{
	uint32_t n = input_u16(in) % (FRAME_MAX + 1);
	for (uint32_t i = 0; i < n; i++)
		f[i] = input_u8(in);
	if (n >= 6 && f[0] & 2)
		memcpy(f, mac_of(port), 6);
	run.sums = run.payloads = false;
	return n;
}

/* Overwrites some bytes, most in the first `reach` behind the Ethernet header, and may cut the
 * frame; gives its length. */
static inline uint32_t bend(struct input *in, uint8_t how, uint8_t *f, uint32_t len, uint32_t reach)
{
	run.payloads = run.payloads && (how & 3) == 0;
	for (uint32_t i = 0; i < (how & 3u) && len; i++) {
		uint32_t at = how & 4 ? ETH + input_u8(in) % reach : input_u16(in);
		f[at % len] = input_u8(in);
	}
	return how & 8 ? min_u32(len, input_u16(in) % FRAME_MAX) : len;
}

/* How many frames the next flood has: enough for every table, and bounded for an input. */
static inline uint32_t flood_of(struct input *in)
{
	uint32_t n = min_u32(1u + input_u8(in), FLOOD_MAX - run.flooded);
	run.flooded += n;
	return n;
}

/* More of a frame, each with another port, host or identification. */
static inline void flood(struct input *in, uint8_t *f, uint32_t len, uint32_t port)
{
	uint8_t how = input_u8(in);
	for (uint32_t n = flood_of(in); n > 0; n--) {
		frame_vary(f, len, how);
		if (run.sums && len > ETH && f[12] == 0x86)
			frame6_repair(f + ETH, len - ETH);
		if (run.sums)
			frame_repair(f, len);
		(void)rig_input(&rig, port, f, len); /* false: no free packet, as it may be */
	}
}

/* Quiet days, in which the gateway has a turn each day only: nothing may depend on more. */
static inline void quiet_days(uint32_t days)
{
	for (; days > 0; days--) {
		rig.gw.now_us += 86400 * 1000000ull - 1;
		rig_advance(&rig, 1);
	}
}

/* One operation after the other: `frame` makes one, or time passes, or a cable or a card fails. */
static inline void play(struct input *in, void (*frame)(struct input *in, uint8_t op))
{
	for (int step = 0; step < 200 && in->left; step++) {
		uint8_t op = input_u8(in);
		uint32_t port = op >> 7;
		switch (op & 7) {
		case 6: /* up to 6.5 s, or two months */
			if (op & 8)
				quiet_days(input_u8(in) & 63);
			else
				rig_advance(&rig, (uint64_t)input_u16(in) * 100);
			break;
		case 7:
			if (op & 8)
				rig.stalled[port] = op & 16;
			else
				rig_link(&rig, port, op & 16);
			rig_flush(&rig);
			break;
		default:
			frame(in, op);
		}
	}
}

/* Cables and cards are well again, and nothing comes for so long: every packet must be back. */
static inline void silence(uint64_t us)
{
	for (uint32_t i = 0; i < GW_PORTS; i++) {
		rig.stalled[i] = false;
		rig_link(&rig, i, true);
	}
	rig_flush(&rig);
	rig_advance(&rig, us);
	if (rig.pool.n_free != rig.free_at_start || rig.pool.kept || rig.gw.neigh.n_parked)
		fail("packets are lost", NULL, 0);
}

#endif
