/* Plays each input twice: as usual, and with a gateway that has no fast path (net/flow.h), so that
 * every frame takes the slow path. Both must send the same frames at the same times, and count the
 * same. */
#ifndef TESTS_FUZZ_BOTH_H
#define TESTS_FUZZ_BOTH_H

#include "net/stats/count.h"
#include "tests/host/rig.h"

#include <stdio.h>
#include <stdlib.h>

#define BOTH_BYTES  (4u << 20) /* of frames; more of one input are not compared */
#define BOTH_COUNTS 512u
#define BOTH_LISTS  8u /* one of so many inputs compares listings too: text takes its time */

/* What stands in front of each frame that was kept. */
struct both_frame {
	uint64_t us;
	uint32_t iface, len;
};

static struct {
	bool slow;     /* the slow path is played now */
	uint32_t n;    /* inputs so far */
	bool has_fast; /* the application of this input has a fast path */
	bool parted;   /* what follows may differ: see both_part */
	bool supers;   /* super-segments came: a dropped one is listed once, its segments each */
	uint8_t frames[BOTH_BYTES];
	uint32_t at, end; /* the next frame's place, and the end of those kept */
	uint64_t count[BOTH_COUNTS];
} both;

static inline void both_fail(const char *what, const uint8_t *a, uint32_t n_a, const uint8_t *b,
                             uint32_t n_b)
{
	fprintf(stderr, "not: the slow path %s\n", what);
	for (uint32_t i = 0; i < n_a; i++)
		fprintf(stderr, "%s%02x", i == 0 ? "fast: " : "", a[i]);
	for (uint32_t i = 0; i < n_b; i++)
		fprintf(stderr, "%s%02x", i == 0 ? "\nslow: " : "", b[i]);
	fputc('\n', stderr);
	abort();
}

/* To be called behind each start of the gateway. */
static inline void both_start(struct rig *r)
{
	both.has_fast = (r->gw.forwarder->frames || r->gw.n_frame_hooks) && r->gw.forwarder->ip4;
	both.at = 0;
	if (!both.slow)
		both.end = 0;
	both.parted &= both.slow;
	both.supers = false;
	if (both.slow && both.has_fast)
		rig_slow_path(r);
}

/* From here on the two plays of this input may differ, since packets are scarce and one of them
 * needs more. To be called by either play; the frames that the first one has sent before are
 * compared. */
static inline void both_part(void)
{
	both.parted = true;
}

/* To be called with each frame that leaves: keeps it, or compares it with the one kept. */
static inline void both_seen(const struct rig *r, uint32_t iface, const uint8_t *frame,
                             uint32_t len)
{
	struct both_frame is = {r->gw.clock.us, iface, len}, was;
	uint32_t more = (uint32_t)sizeof is + len;
	if (!both.has_fast || more > BOTH_BYTES - both.at)
		return;
	if (both.parted && (!both.slow || both.at == both.end))
		return;
	if (!both.slow) {
		memcpy(both.frames + both.at, &is, sizeof is);
		memcpy(both.frames + both.at + sizeof is, frame, len);
		both.end = both.at += more;
		return;
	}
	if (both.at == both.end)
		both_fail("sends one frame more", NULL, 0, frame, len);
	memcpy(&was, both.frames + both.at, sizeof was);
	const uint8_t *kept = both.frames + both.at + sizeof was;
	if (was.len != len || memcmp(kept, frame, len) != 0)
		both_fail("sends another frame", kept, was.len, frame, len);
	if (was.iface != iface || was.us != is.us)
		both_fail("sends a frame elsewhere or later", kept, len, NULL, 0);
	both.at += more;
}

/* Keeps or compares a counter. */
static inline void both_count(uint32_t i, uint64_t is, const char *name)
{
	if (i >= BOTH_COUNTS)
		abort();
	if (!both.slow)
		both.count[i] = is;
	else if (both.count[i] != is) {
		fprintf(stderr, "%s: %llu fast, %llu slow\n", name,
		        (unsigned long long)both.count[i], (unsigned long long)is);
		both_fail("counts otherwise", NULL, 0, NULL, 0);
	}
}

/* Keeps or compares a sum over all lines of a listing. */
static inline void both_list(struct rig *r, uint32_t i,
                             bool (*show)(struct gw *, uint32_t *, char *, size_t),
                             const char *name)
{
	char line[256];
	uint32_t cursor = 0;
	uint64_t sum = 0;
	while (show(&r->gw, &cursor, line, sizeof line))
		for (const char *c = line; *c; c++)
			sum = (sum ^ (uint8_t)*c) * 0x100000001b3u;
	both_count(i, sum, name);
}

/* Compares the counters of a table, as values number `n` on. Gives the number behind them. */
static inline uint32_t both_table(const struct gw *gw, const struct count_table *t, uint32_t n)
{
	const char *of = t->of(gw);
	for (uint32_t k = 0; of && k < t->n; k++) {
		const struct count *c = &t->count[k];
		uint64_t value = 0;
		if (c->get)
			value = c->get(of);
		else
			memcpy(&value, of + c->offset, c->size);
		both_count(n++, value, c->name);
	}
	return n;
}

/* To be called at the end of the input. */
static inline void both_end(struct rig *r)
{
	const struct gw *gw = &r->gw;
	uint32_t n = 0;
	if (!both.has_fast || both.parted)
		return;
	if (both.at != both.end)
		both_fail("sends fewer frames", both.frames + both.at, 100, NULL, 0);
	both_count(n++, gw->counts.forwarded, "forwarded");
	both_count(n++, gw->counts.icmp_errors, "icmp errors");
	both_count(n++, gw->counts.icmp_suppressed, "icmp suppressed");
	both_count(n++, gw->counts.hairpinned, "hairpinned");
	for (uint32_t i = 0; i < INTERFACES; i++) {
		both_count(n++, gw->iface[i].rx_bytes, "rx bytes");
		both_count(n++, gw->iface[i].tx_bytes, "tx bytes");
	}
	for (uint32_t i = 0; i < DROP_COUNT; i++)
		both_count(n++, gw->counts.drops[i], "a drop reason");
	if (both.n % BOTH_LISTS == 0) {
		if (!both.supers)
			both_list(r, n, gw_show_drops, "the list of drops");
		n++;
		both_list(r, n++, gw_show_neighbours, "the list of neighbours");
		both_list(r, n++, gw_show_sessions, "the list of sessions");
	}
	for (uint32_t i = 0; i < FORWARDER_COUNTS && gw->forwarder->counts[i]; i++)
		n = both_table(gw, gw->forwarder->counts[i], n);
	for (uint32_t i = 0; i < SERVICES_MAX * SERVICE_COUNTS; i++) {
		const struct service *s = gw->service[i / SERVICE_COUNTS];
		const struct count_table *t = s ? s->counts[i % SERVICE_COUNTS] : NULL;
		n = t ? both_table(gw, t, n) : n;
	}
}

#endif
