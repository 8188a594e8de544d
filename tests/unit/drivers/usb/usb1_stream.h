/* Streams of bytes through a USB 1.1 controller, with cancels, NAKs, stalls and polls in any order:
 * each byte that leaves one side arrives at the other, once and in order. */
#ifndef TESTS_DRIVERS_USB_USB1_STREAM_H
#define TESTS_DRIVERS_USB_USB1_STREAM_H

#include "tests/unit/drivers/usb/usb1_kit.h"

/* A machine with a controller that runs. */
static void hc_begin(void);

#ifndef STREAM_SEEDS
#define STREAM_SEEDS 8u
#endif

static uint32_t dice_state;

static uint32_t dice(uint32_t n)
{
	dice_state = dice_state * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)(dice_state >> 8) * n) >> 24);
}

/* What the stream of an endpoint has moved: it is continuous, whatever is cancelled. */
static struct stream {
	struct usb_endpoint *e;
	struct usb_transfer t;
	uint32_t moved;
	uint8_t *bytes;
} stream[3];
static unsigned stream_total; /* bytes */

static void stream_done(struct usb_transfer *t)
{
	struct stream *s = t->owner;
	CHECK(t->status == USB_OK || t->status == USB_CANCELLED || t->status == USB_STALLED);
	if (s->e->address & 0x80)
		CHECK(kit_is_pattern(s->bytes, s->moved, t->actual));
	s->moved += t->actual;
	stream_total += t->actual;
}

/* Ends the streams at about the end of the model's data, and begins again. */
static void refill(void)
{
	for (unsigned i = 0; i < 3; i++) {
		kit_hc->ops->cancel(kit_hc, &stream[i].t);
		CHECK(kit_wait(&stream[i].t, 20));
	}
	/* Each byte that left the device arrived, and the other way round. */
	CHECK_EQ(stream[0].moved, kit_model[0].in_at[1]);
	CHECK_EQ(stream[1].moved, kit_model[0].out_len[2]);
	CHECK_EQ(stream[2].moved, kit_model[0].in_at[3]);
	CHECK(kit_is_pattern(kit_model[0].out[2], 0, stream[1].moved));
	kit_feed(0, 1, USB1_BYTES - dice(64), false);
	kit_feed(0, 3, USB1_BYTES, false);
	kit_model[0].out_len[2] = 0;
	stream[0].moved = stream[1].moved = stream[2].moved = 0;
}

static void stream_submit(struct stream *s)
{
	uint32_t most = s->e->kind == USB_INTERRUPT ? 8 : 64 * (1 + dice(40));
	uint32_t n = s->e->address & 0x80 ? most : dice(most);
	if (s->e->address & 0x80)
		n = min_u32(n, (USB1_BYTES - s->moved) & ~63u);
	else
		n = min_u32(n, USB1_BYTES - s->moved);
	if (s->t.active || n == 0)
		return;
	s->t = kit_transfer(s->e, s->bytes, n);
	s->t.done = stream_done;
	s->t.owner = s;
	for (uint32_t k = 0; k < n && !(s->e->address & 0x80); k++)
		s->bytes[k] = usb1_device_pattern(s->moved + k);
	CHECK(kit_submit(&s->t));
}

/* The endpoint halts, and is cleared on both sides. */
static void stream_stall(struct stream *s)
{
	uint8_t e = s->e->address & 15;
	kit_model[0].stall = (uint8_t)(1u << e);
	stream_submit(s);
	if (s->t.active)
		CHECK(kit_wait(&s->t, 100));
	kit_model[0].stall = 0;
	kit_model[0].toggle_in[e] = kit_model[0].toggle_out[e] = false;
	kit_hc->ops->endpoint_reset(kit_hc, s->e);
}

static void one_step(struct usb_device *d)
{
	struct stream *s = &stream[dice(3)];
	switch (dice(12)) {
	case 0:
		kit_hc->ops->cancel(kit_hc, &s->t);
		break;
	case 1:
		kit_model[0].naks = dice(3);
		break;
	case 2:
		kit_model[0].nak = (uint8_t)(dice(2) << (1 + dice(3)));
		break;
	case 3:
		kit_model[0].nak = 0;
		stream_stall(s);
		break;
	case 4:
		kit_model[0].nak = 0;
		CHECK_EQ(kit_control(d, 0xc0, 1, 100, kit_bytes[4], 100, NULL), USB_OK);
		break;
	case 5:
		hc_frame();
		for (unsigned i = dice(3); i; i--)
			kit_hc->ops->poll(kit_hc, host_now_us);
		stream_submit(s);
		hc_frame_end();
		break;
	case 6:
		refill();
		break;
	default:
		stream_submit(s);
		kit_frames(dice(4));
		break;
	}
}

static void streams_stay_whole(void)
{
	for (uint32_t seed = 1; seed <= STREAM_SEEDS && !tap_bad_here; seed++) {
		stream_total = 0;
		dice_state = seed;
		hc_begin();
		struct usb_device *d = kit_plug(0, false);
		memset(stream, 0, sizeof stream);
		for (unsigned i = 0; i < 3; i++) {
			stream[i].e =
			        kit_endpoint(d,
			                     i == 0   ? 0x81
			                     : i == 1 ? 0x02
			                              : 0x83,
			                     i == 2 ? USB_INTERRUPT : USB_BULK, i == 2 ? 8 : 64);
			stream[i].t.endpoint = stream[i].e;
			stream[i].bytes = kit_bytes[i];
		}
		kit_model[0].packet[3] = 8;
		for (unsigned i = 0; i < 1500 && !tap_bad_here; i++)
			one_step(d);
		refill();
		CHECK(stream_total > 100000);
		if (tap_bad_here)
			printf("# seed %u\n", seed);
		kit_end();
	}
}

/* The controller writes nonsense into its structures, by `scribble`: transfers fail or end, and
 * nothing outside of them is touched. */
static inline void stream_scribbled(void (*scribble)(void))
{
	for (uint32_t seed = 1; seed <= STREAM_SEEDS; seed++) {
		struct usb_transfer t[3] = {{0}};
		dice_state = seed;
		hc_begin();
		struct usb_device *d = kit_plug(0, false);
		struct usb_endpoint *in = kit_endpoint(d, 0x81, USB_BULK, 64);
		struct usb_endpoint *out = kit_endpoint(d, 0x02, USB_BULK, 64);
		for (unsigned i = 0; i < 300 && !kit_failed; i++) {
			kit_model[0].out_len[2] = 0;
			kit_feed(0, 1, 2000, false);
			if (!t[0].active)
				t[0] = kit_transfer(in, kit_bytes[0], dice(USB_TRANSFER_MAX));
			if (!t[1].active)
				t[1] = kit_transfer(out, kit_bytes[1], dice(USB_TRANSFER_MAX));
			if (!t[2].active)
				t[2] = kit_request(d, 0xc0, 1, 900, kit_bytes[2], 900);
			for (unsigned k = 0; k < 3; k++)
				if (!t[k].active && !kit_submit(&t[k]))
					continue;
			kit_frames(dice(3));
			if (!kit_failed)
				scribble();
			if (dice(4) == 0 && !kit_failed)
				kit_hc->ops->cancel(kit_hc, &t[dice(3)]);
		}
		kit_hc->ops->device_close(kit_hc, d);
		for (unsigned k = 0; k < 3; k++)
			CHECK(!t[k].active);
		hcd_stop(kit_hc);
		pci_model_faults_clear(); /* the model sees the nonsense, too */
	}
	kit_failed = NULL;
}

#endif
