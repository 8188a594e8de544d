/* Shared by the fuzzers of a whole gateway: a started gateway that is copied for each input, the
 * last frames that left it, frames that answer these or are random, time, cables and cards, and the
 * time without traffic at the end. */
#ifndef TESTS_FUZZ_GATEWAY_H
#define TESTS_FUZZ_GATEWAY_H

#include "apps/services.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "kernel/lib/wall.h"
#include "net/lib/csum.h"
#include "tests/fuzz/both.h"
#include "tests/fuzz/frames.h"
#include "tests/fuzz/frames6.h"
#include "tests/fuzz/frames_make.h"
#include "tests/host/image.h"

#include <stdio.h>
#include <stdlib.h>

#define ETH            14u
#define FLOOD_MAX      300u
#define LISTINGS_MAX   2u
#define SILENT_STEP_US 1000000u
#ifndef PACKETS
#define PACKETS 64u
#endif

/* Plays one input; each fuzzer has its own. */
static void one_input(const uint8_t *data, size_t size);

static struct rig rig;
static void (*seen_by)(struct rig *, uint32_t, const uint8_t *, uint32_t); /* begin's */
static void (*change)(struct input *in); /* changes something in the gateway; or NULL */
static bool (*waits)(void);              /* true while the application waits; or NULL */
/* Changes a frame before it arrives and gives its length, or NULL. There is room for FRAME_MAX. */
static uint32_t (*on_cable)(uint8_t *f, uint32_t len, uint32_t iface, uint32_t random);
static struct {
	bool sums;        /* every frame so far had right transport checksums */
	bool payloads;    /* … and a payload as made by frames_make.h */
	bool quotes;      /* … and no other bytes after the packet that an error quotes */
	bool late;        /* frames may leave long after they were made */
	uint32_t flooded; /* frames of floods so far */
	uint32_t listed;  /* listings so far */
	uint8_t last[INTERFACES][FRAME_MAX]; /* the last frame that left */
	uint32_t last_len[INTERFACES];
} run;

static inline void fail(const char *what, const uint8_t *frame, uint32_t len)
{
	fprintf(stderr, "not: %s\n", what);
	for (uint32_t i = 0; i < len; i++)
		fprintf(stderr, "%02x%s", frame[i], i % 32 == 31 ? "\n" : "");
	fputc('\n', stderr);
	abort();
}

static inline void pass_on(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	both_seen(r, iface, frame, len);
	seen_by(r, iface, frame, len);
}

/* Starts a gateway; `seen` gets each frame that leaves it. `make` does the start: it gives the rig
 * a configuration and calls start_app. This is done once for each choice, with random numbers that
 * depend on the choice; later calls copy the result, so `make` must not do anything else. */
static inline void begin(uint8_t choice, size_t memory, void (*make)(uint8_t choice),
                         void (*seen)(struct rig *, uint32_t, const uint8_t *, uint32_t))
{
	static struct {
		const struct image *image;
		__typeof__(run) run;
	} start[256];
	log_reset();
	wall_forget();
	seen_by = seen;
	if (start[choice].image) {
		image_put_back(&rig, start[choice].image);
		log_time(rig.gw.clock.us); /* the log is not part of the image */
		run = start[choice].run;
		both_start(&rig);
		return;
	}
	memset(&run, 0, sizeof run);
	run.sums = run.payloads = run.quotes = true;
	rig.sink = pass_on;
	rig.large = true;
	rig_reset(&rig, choice, memory, 1000000);
	make(choice);
	start[choice].image = image_keep(&rig);
	start[choice].run = run;
	both_start(&rig);
}

static inline void configure(const char *text, size_t len)
{
	if (!rig_config(&rig, text, len))
		fail(rig.config.error[0].what, NULL, 0);
}

/* Starts an application with a pool of `packets`, at most PACKETS. The pool always has PACKETS; the
 * others are never free, so that the memory behind the pool has the same place in all images. */
static inline void start_app(const char *name, uint32_t packets)
{
	const char *wrong = rig_start(&rig, name, PACKETS);
	if (wrong)
		fail(wrong, NULL, 0);
	uint32_t less = PACKETS - packets;
	rig.pool.n_free -= less;
	rig.pool.n_total -= less;
	rig.pool.kept_max = rig.pool.reserve = packets / 4;
	rig.free_at_start -= less;
}

static inline void note(uint32_t iface, const uint8_t *frame, uint32_t len)
{
	run.last_len[iface] = min_u32(len, FRAME_MAX);
	memcpy(run.last[iface], frame, run.last_len[iface]);
}

/* NULL, or what is wrong with an IPv4 or IPv6 frame that left an interface. */
static inline const char *check(uint32_t iface, const uint8_t *frame, uint32_t len)
{
	uint32_t mtu = rig.gw.iface[iface].mtu;
	if (len >= ETH && frame[12] == 0x86 && frame[13] == 0xdd)
		return frame6_check(frame + ETH, len - ETH, mtu, run.sums);
	return frame_check(frame, len, mtu, run.sums);
}

static inline const uint8_t *mac_of(uint32_t iface)
{
	return rig.gw.iface[iface].address.b;
}

/* Payload bytes in a place where the packet has an extension header: they do not tell their own
 * place. */
static inline void not_headers(uint8_t proto)
{
	if (proto == 0 || proto == 43 || proto == 44 || proto == 51 || proto == 60)
		run.payloads = false;
}

/* True when the packet has an authentication header: bytes after it are not translated, and its
 * checksum is wrong afterwards. */
static inline bool is_sealed(const uint8_t *f, uint32_t len)
{
	if (len > ETH + 20 && f[12] == 8)
		return f[23] == 51;
	uint32_t at = ETH + 40;
	for (uint8_t next = f[20]; f[12] == 0x86; at += (f[at + 1] + 1u) * 8) {
		if (next == 51)
			return true;
		if ((next != 0 && next != 43 && next != 44 && next != 60) || at + 8 > len)
			break;
		next = f[at];
	}
	return false;
}

/* Turns the last packet that left an interface into its reply; gives its length. */
static inline uint32_t make_answer(uint8_t *f, uint32_t iface)
{
	uint32_t len = run.last_len[iface];
	memcpy(f, run.last[iface], len);
	if (len >= ETH && f[12] == 0x86)
		frame6_answer(f, len);
	else
		frame_answer(f, len);
	memcpy(f, mac_of(iface), 6);
	return len;
}

static inline uint32_t make_raw(struct input *in, uint8_t *f, uint32_t iface)
{
	uint32_t n = input_u16(in) % (FRAME_MAX + 1);
	for (uint32_t i = 0; i < n; i++)
		f[i] = input_u8(in);
	if (n >= 6 && f[0] & 2)
		memcpy(f, mac_of(iface), 6);
	run.sums = run.payloads = false;
	return n;
}

/* Configures the service `dns64` beside the application, with an upstream server behind the WAN. */
#define SERVE_MEMORY (13u << 20) /* for a gateway with and without it */
static inline void serve(const char *server)
{
	char text[100];
	size_t n = fmt(text, sizeof text, "serve dns64\nnameserver %s\ndns64.cache 0\n", server);
	configure(text, n);
	run.payloads = false; /* those of the service's own messages are others */
}

/* A query for one of four names, with the port of a DNS server: makes UDP header and message. */
static inline uint32_t make_query(struct input *in, uint8_t *udp)
{
	static const uint8_t message[] = {0, 1, 1, 0,   0, 1, 0,  0, 0, 0,
	                                  0, 0, 1, 'a', 0, 0, 28, 0, 1};
	uint8_t a = input_u8(in);
	uint32_t n = 8 + (uint32_t)sizeof message;
	memset(udp, 0, 8);
	udp[0] = (uint8_t)(a >> 4);
	udp[1] = 4;
	udp[3] = 53;
	udp[5] = (uint8_t)n;
	memcpy(udp + 8, message, sizeof message);
	udp[8 + 13] = (uint8_t)('a' + (a & 3));
	return n;
}

/* A query over IPv6 from a host of the LAN, if the service runs; 0 otherwise. */
static inline uint32_t make_query6(struct input *in, uint8_t *f, uint32_t iface)
{
	ip6 own = rig.gw.iface[IF_LAN].addr6[1].addr, from = own;
	if (iface != IF_LAN || !rig.gw.service[SERVICE_dns64])
		return 0;
	from.b[15] ^= 8;
	return frame6_ip(f, mac_of(IF_LAN), from.b, own.b, PROTO_UDP, 64,
	                 make_query(in, f + ETH + 40));
}

/* Overwrites some bytes, mostly in the first `reach` bytes after the Ethernet header, and may
 * truncate the frame; gives its length. */
static inline uint32_t bend(struct input *in, uint8_t how, uint8_t *f, uint32_t len, uint32_t reach)
{
	run.payloads = run.payloads && (how & 3) == 0;
	for (uint32_t i = 0; i < (how & 3u) && len; i++) {
		uint32_t at = how & 4 ? ETH + input_u8(in) % reach : input_u16(in);
		f[at % len] = input_u8(in);
	}
	return how & 8 ? min_u32(len, input_u16(in) % FRAME_MAX) : len;
}

/* The number of frames of the next flood: enough for every table, and bounded for an input. */
static inline uint32_t flood_of(struct input *in)
{
	uint32_t n = min_u32(1u + input_u8(in), FLOOD_MAX - run.flooded);
	run.flooded += n;
	return n;
}

static inline uint32_t from_wire(const uint8_t *at)
{
	return swap16(load16(at));
}

/* What a card says about a frame of TCP or UDP that is whole: the checksum becomes partial, and
 * with `cut` it is a super-segment. False for any other frame. */
static inline bool make_plain_partial(struct rig_partial *how, uint8_t *f, uint32_t len,
                                      uint32_t random, bool cut)
{
	bool six = f[12] == 0x86 && f[13] == 0xdd, four = f[12] == 8 && f[13] == 0;
	uint32_t l4 = six ? ETH + 40u : ETH + (f[ETH] & 15u) * 4;
	if ((!six && !four) || l4 < ETH + 20 || len < l4 + 20)
		return false;
	uint8_t proto = six ? f[20] : f[23];
	uint32_t end = six ? l4 + from_wire(f + 18) : ETH + from_wire(f + 16);
	if ((proto != PROTO_TCP && proto != PROTO_UDP) || end > len || end < l4 + 20 ||
	    (four && from_wire(f + 20) & 0x3fff) ||
	    (proto == PROTO_UDP && from_wire(f + l4 + 4) != end - l4))
		return false;
	how->start = (uint16_t)l4;
	how->offset = proto == PROTO_TCP ? 16 : 6;
	how->flags = six ? PKT_TSO6 : 0;
	uint32_t at = six ? 22 : 26, n = l4 - at;
	if (four)
		n -= (f[ETH] & 15u) * 4 - 20;
	uint32_t sum = 0u + csum_sum(f + at, n) + swap16((uint16_t)(end - l4)) + swap16(proto);
	store16(f + l4 + how->offset, csum_fold(sum));
	if (!cut || end != len || (proto == PROTO_TCP && f[l4 + 13] & 6)) /* SYN or RST */
		return true;
	/* Few: the slow path has them all in packets at one time. */
	how->segment = (uint16_t)max_u32(1 + random % 64, (end - l4) / 8 + 1);
	how->flags |= proto == PROTO_UDP ? PKT_USO : 0;
	return true;
}

/* The same for a frame that may have a VLAN tag. */
static inline bool make_partial(struct rig_partial *how, uint8_t *f, uint32_t len, uint32_t random,
                                bool cut)
{
	uint32_t tag = len > 18 && f[12] == 0x81 && f[13] == 0 ? 4u : 0u;
	bool made = make_plain_partial(how, f + tag, len - tag, random, cut);
	how->start = (uint16_t)(how->start + tag);
	return made;
}

/* A frame arrives, one of eight as a partial packet. Where frames are
 * not right, the card may lie about it. A queue that is full, or a pool that is nearly empty, holds
 * more partial packets than frames, so that both paths may differ: there it is one of 64, and the
 * rest of the input is no longer compared. */
static inline void arrive(uint32_t iface, const uint8_t *f, uint32_t len)
{
	uint8_t partial[FRAME_MAX + 64], whole[FRAME_MAX];
	struct rig_partial how = {.n_pieces = 3};
	uint32_t random = 2166136261u;
	bool scarce = rig.pool.n_free < max_u32(rig.pool.n_total / 2, 24);
	for (uint32_t i = 0; i < len; i++)
		random = (random ^ f[i]) * 16777619u;
	random ^= random >> 15;
	if (on_cable && len <= sizeof whole) {
		memcpy(whole, f, len);
		len = on_cable(whole, len, iface, random);
		f = whole;
	}
	for (uint32_t i = 0; i < INTERFACES; i++)
		scarce |= rig.stalled[i];
	if (len > 0 && len <= sizeof partial && (random & (scarce ? 63 : 7)) == 0) {
		if (scarce)
			both_part();
		for (uint32_t i = 0; i < how.n_pieces; i++)
			how.piece[i] = (uint16_t)(1 + (random >> 8 * i) % 300);
		memcpy(partial, f, len);
		bool right = make_partial(&how, partial, len, random >> 3, !run.payloads);
		if (!right && !run.sums && !run.payloads) {
			how.start = (uint16_t)(random >> 3 & 127);
			how.offset = (uint16_t)(random >> 10 & 31);
			how.segment = random & 1u << 16 ? (uint16_t)(random >> 17) : 0;
			how.flags = random & 1u << 15 ? PKT_TSO6 : PKT_USO;
			right = true;
		}
		if (right) {
			both.supers |= how.segment != 0;
			(void)rig_input_partial(&rig, iface, &how, partial, len);
			return;
		}
	}
	(void)rig_input(&rig, iface, f, len); /* false: no packet is free, which may happen */
}

/* Sends copies of a frame, each with another port, host or identification. */
static inline void flood(struct input *in, uint8_t *f, uint32_t len, uint32_t iface)
{
	uint8_t how = input_u8(in);
	for (uint32_t n = flood_of(in); n > 0; n--) {
		frame_vary(f, len, how);
		if (run.sums && len > ETH && f[12] == 0x86)
			frame6_repair(f + ETH, len - ETH);
		if (run.sums)
			frame_repair(f, len);
		arrive(iface, f, len);
	}
}

/* Makes one listing; fails when it has so many lines that it never ends. */
static inline void list(bool (*show)(struct gw *, uint32_t *, char *, size_t))
{
	char line[256];
	uint32_t cursor = 0;
	for (uint32_t n = 0; show(&rig.gw, &cursor, line, sizeof line); n++)
		if (n > 10000 || strlen(line) >= sizeof line)
			fail("a listing that does not end", NULL, 0);
}

/* Makes a listing, but few for each input: text costs more time than packets. */
static inline void list_one(uint32_t which)
{
	static bool (*const show[])(struct gw *, uint32_t *, char *, size_t) = {
	        gw_show_stats,     gw_show_routes,   gw_show_neighbours, gw_show_drops,
	        gw_show_drops_raw, gw_show_sessions, gw_show_timings};
	if (run.listed++ >= LISTINGS_MAX)
		return;
	if (which % (ARRAY_SIZE(show) + 1) < ARRAY_SIZE(show)) {
		list(show[which % (ARRAY_SIZE(show) + 1)]);
		return;
	}
	for (uint32_t i = 0; i < INTERFACES; i++) {
		char line[1024];
		if (gw_show_addresses(&rig.gw.iface[i], line, sizeof line) >= sizeof line)
			fail("a listing that does not end", NULL, 0);
	}
}

/* Runs one operation after the other: `frame` makes one, or time passes, or a cable or a card
 * fails, or a listing is made. */
static inline void play(struct input *in, void (*frame)(struct input *in, uint8_t op))
{
	for (int step = 0; step < 200 && in->left; step++) {
		uint8_t op = input_u8(in);
		uint32_t iface = op >> 7;
		switch (op & 7) {
		case 6: /* up to two months with a tick in 16 days only, or up to 6.5 s */
			if (op & 64) {
				uint32_t days = input_u8(in) & 63u;
				rig_leap(&rig, days * 86400000000ull, 1 + days / 16);
				break;
			}
			rig_leap(&rig, (uint64_t)input_u16(in) * 100, 1 + (op >> 3 & 3));
			break;
		case 7:
			if (op & 32 && op & 16 && change)
				change(in);
			else if (op & 32) /* alternating */
				list_one(run.listed + (op >> 3 & 1u) + (op >> 5 & 6u));
			else if (op & 8)
				run.late |= rig.stalled[iface] = op & 16;
			else
				rig_link(&rig, iface, op & 16);
			rig_flush(&rig);
			break;
		default:
			frame(in, op);
		}
	}
}

static inline bool all_back(void)
{
	return rig.pool.n_free == rig.free_at_start && !rig.pool.kept && !rig.gw.neigh.n_parked;
}

static inline bool at_rest(void)
{
	return all_back() && !(waits && waits());
}

/* All cables and cards work again, and no frame comes in for this time: then every packet must be
 * free. Once nothing waits any more, the rest of the time passes in one step. */
static inline void silence(uint64_t us)
{
	for (uint32_t i = 0; i < INTERFACES; i++) {
		rig.stalled[i] = false;
		rig_link(&rig, i, true);
	}
	rig_flush(&rig);
	uint64_t left = us;
	for (; left > SILENT_STEP_US && !at_rest(); left -= SILENT_STEP_US)
		rig_leap(&rig, SILENT_STEP_US, 1);
	rig_leap(&rig, left, 1);
	/* Packets that this sends get as much time. */
	for (left = us; left && !at_rest(); left -= SILENT_STEP_US)
		rig_leap(&rig, SILENT_STEP_US, 1);
	if (!all_back())
		fail("packets are lost", NULL, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	both.slow = false;
	one_input(data, size);
	both_end(&rig);
	if (both.has_fast) {
		both.slow = true;
		one_input(data, size);
		both_end(&rig);
	}
	both.n++;
	return 0;
}

#endif
