/* A gateway on the host: everything around net/ and apps/ that the machine
 * would be, for the simulator, the fuzzer and the unit tests. Time is moved by
 * the caller; frames that leave are handed to a sink. */
#ifndef TESTS_HOST_RIG_H
#define TESTS_HOST_RIG_H

#include "kernel/config/config.h"
#include "kernel/lib/pkt.h"
#include "kernel/lib/rng.h"
#include "net/gw.h"

#define RIG_TICKS_MAX 10000000u /* turns of MAIN at one time: more is an endless loop */

struct rig {
	struct pool pool;
	struct rng rng;
	struct config config; /* by settings_init */
	struct gw gw;
	bool started;
	bool stalled[INTERFACES]; /* the card takes nothing: frames stay on the link */
	uint32_t free_at_start;   /* packets in the pool before the first frame */
	/* Gets each frame that leaves; the bytes are valid during the call. */
	void (*sink)(struct rig *rig, uint32_t iface, const uint8_t *frame, uint32_t len);
	void *ctx;
	const struct app
	        *app; /* of a test, that is in no image: started where no other has the name */
};

/* Forgets everything: fresh memory, the log empty, time `now_us`, random numbers
 * from `seed`. Keeps sink and ctx. */
void rig_reset(struct rig *rig, uint32_t seed, size_t memory, uint64_t now_us);

/* The same in the memory that is there, for a second gateway beside the first. */
void rig_clear(struct rig *rig, uint32_t seed, uint64_t now_us);

/* Adds configuration text; false with errors in rig->config. */
bool rig_config(struct rig *rig, const char *text, size_t len);

/* Starts an application with a pool of `packets`; the links come up. NULL, or
 * what is wrong. */
const char *rig_start(struct rig *rig, const char *app, uint32_t packets);

/* A frame from the wire; false when it is longer than a slot or no packet is
 * free (the card keeps its buffer then). */
bool rig_input(struct rig *rig, uint32_t iface, const uint8_t *frame, size_t len);

/* Lets time pass, with MAIN's turns in it; idle time between ticks is skipped. */
void rig_advance(struct rig *rig, uint64_t us);

/* Time passes with only n turns of MAIN, evenly apart, the last at its end; n is at least 1. */
void rig_leap(struct rig *rig, uint64_t us, uint32_t n);

/* The link of a port goes up or down, as the driver's poll would tell. */
void rig_link(struct rig *rig, uint32_t iface, bool up);

/* Takes what waits on the ports' links, as the RCV task does after a burst. */
void rig_flush(struct rig *rig);

#endif
