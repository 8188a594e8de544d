/* net/capture: the ring, packets that a card takes in several turns, super-segments, and readers.
 * What a file looks like is tested in tests/sim/http. */
#include "tests/host/rig.h"

#include "net/capture/capture.h"
#include "tests/tap.h"

static struct rig rig;
static struct pkt *pkt[64];

/* A gateway that keeps packets, and plain frames of 60 bytes whose first byte is their number. */
static struct gw *start(void)
{
	static const char config[] = "lan.address 10.0.0.1/8\nwan.address 203.0.113.2/24\n"
	                             "nat.sessions 100\n";
	rig_reset(&rig, 1, 8 << 20, 0);
	CHECK(rig_config(&rig, config, strlen(config)));
	CHECK_STR(rig_start(&rig, "nat", 128) ? "wrong" : "fine", "fine");
	CHECK(capture_start(&rig.gw, 80));
	for (uint8_t i = 0; i < ARRAY_SIZE(pkt); i++) {
		pkt[i] = pkt_alloc(rig.gw.pool);
		memset(pkt_put(pkt[i], 60), 0, 60);
		pkt[i]->data[0] = i;
	}
	return &rig.gw;
}

/* The number of packets that are kept, which have the numbers from `first` on. */
static uint32_t count(struct gw *gw, uint32_t first)
{
	struct capture_place place = {0};
	const struct capture_record *r;
	uint32_t n = 0, lost;
	for (; (r = capture_next(gw->capture, &place, &lost)) != NULL; n++)
		CHECK_EQ(capture_bytes(r)[0], first + n);
	return n;
}

/* The card takes 3 of 8, none of 10, all of the 7 that are left; each packet is kept once. */
static void a_card_that_takes_some(void)
{
	struct gw *gw = start();
	capture_leaving(gw, 1, pkt, 8);
	capture_taken(gw, 1, 3);
	capture_leaving(gw, 1, pkt + 3, 7);
	capture_taken(gw, 1, 0);
	capture_leaving(gw, 1, pkt + 3, 7);
	capture_taken(gw, 1, 7);
	CHECK_EQ(count(gw, 0), 10);
	capture_leaving(gw, 1, pkt + 10, 2);
	capture_taken(gw, 1, ~0u); /* the carrier was lost */
	capture_leaving(gw, 1, pkt + 12, 1);
	CHECK_EQ(count(gw, 0), 13);
}

/* Records of all lengths fill the ring many times; what is there is whole, in order, and the last.
 */
static void around(void)
{
	struct gw *gw = start();
	uint32_t kept = 0, state = 1;
	for (uint32_t i = 0; i < 20000; i++) {
		state = state * 1103515245 + 12345;
		struct pkt *p = pkt_alloc(gw->pool);
		uint32_t n = 1 + (state >> 16) % 1900;
		memset(pkt_put(p, n), (int)(i & 255), n);
		capture_received(gw, 0, &p, 1);
		pkt_free(p);
	}
	struct capture_place place = {0};
	const struct capture_record *r;
	uint32_t lost, before = 0, bytes = 0;
	for (; (r = capture_next(gw->capture, &place, &lost)) != NULL; kept++) {
		CHECK(kept ? r->number == before + 1 && lost == 0 : lost == r->number);
		CHECK_EQ(r->n, min_u32(r->len, CAPTURE_SNAP));
		CHECK(capture_bytes(r)[0] == (r->number & 255) &&
		      capture_bytes(r)[r->n - 1] == (r->number & 255));
		before = r->number;
		bytes += r->size;
	}
	CHECK_EQ(before, 19999);
	CHECK(bytes <= CAPTURE_BYTES && bytes > CAPTURE_BYTES - 4000);
}

/* A place whose record is overwritten leads to the oldest one; how many are missing is told. */
static void a_reader_that_is_late(void)
{
	struct gw *gw = start();
	struct capture_place place = {0};
	uint32_t lost;
	capture_received(gw, 0, pkt, 10);
	for (uint32_t i = 0; i < 4; i++)
		CHECK_EQ(capture_next(gw->capture, &place, &lost)->number, i);
	for (uint32_t i = 0; i < 1000; i++)
		capture_received(gw, 0, pkt, 64);
	const struct capture_record *r = capture_next(gw->capture, &place, &lost);
	CHECK_EQ(r->number, 4 + lost);
	CHECK_EQ(r->number, gw->capture->first);
	CHECK_EQ(capture_next(gw->capture, &place, &lost)->number, gw->capture->first + 1);
	CHECK_EQ(lost, 0);
}

/* A super-segment in pieces: its length, and as much as is kept of a packet. */
static void pieces(void)
{
	struct gw *gw = start();
	struct pkt *first = pkt[0];
	for (uint32_t i = 0; i < 3; i++) {
		memset(pkt_put(pkt[i], 640), (int)i, 640);
		pkt[i]->next = i < 2 ? pkt[i + 1] : NULL;
	}
	first->flags |= PKT_PARTIAL;
	first->total = 2100;
	capture_received(gw, 0, &first, 1);
	struct capture_place place = {0};
	uint32_t lost;
	const struct capture_record *r = capture_next(gw->capture, &place, &lost);
	CHECK_EQ(r->len, 2100);
	CHECK_EQ(r->n, CAPTURE_SNAP);
	CHECK_EQ(capture_bytes(r)[699], 0);
	CHECK_EQ(capture_bytes(r)[760], 1);
	CHECK_EQ(capture_bytes(r)[CAPTURE_SNAP - 1], 2);
	first->next = NULL;
	first->flags = 0;
}

int main(void)
{
	TEST(a_card_that_takes_some);
	TEST(around);
	TEST(a_reader_that_is_late);
	TEST(pieces);
	return tap_done();
}
