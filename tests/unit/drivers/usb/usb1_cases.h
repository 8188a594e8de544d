/* What transfers of a USB 1.1 controller do, whichever it is. Included by the tests of UHCI and
 * OHCI behind their hc_* functions. */
#ifndef TESTS_DRIVERS_USB_USB1_CASES_H
#define TESTS_DRIVERS_USB_USB1_CASES_H

#include "tests/unit/drivers/usb/usb1_kit.h"

#include "tests/unit/drivers/usb/usb1_stream.h"

static void moves_control_data_of_all_lengths(void)
{
	static const uint16_t lengths[] = {1, 7, 8, 9, 64, 127, 128, 129, 255, 1000, 2048, 4096};
	for (unsigned low = 0; low < 2; low++) {
		hc_begin();
		struct usb_device *d = kit_plug(0, low);
		for (unsigned i = 0; i < ARRAY_SIZE(lengths); i++) {
			uint32_t n = lengths[i], moved;
			memset(kit_bytes, 0xee, sizeof kit_bytes);
			CHECK_EQ(kit_control(d, 0xc0, 1, (uint16_t)n, kit_bytes[0], (uint16_t)n,
			                     &moved),
			         USB_OK);
			CHECK_EQ(moved, n);
			CHECK(kit_is_pattern(kit_bytes[0], 0, n));
			CHECK_EQ(kit_bytes[1][0], 0xee);
			CHECK_EQ(kit_control(d, 0x40, 2, 0, kit_bytes[0], (uint16_t)n, &moved),
			         USB_OK);
			CHECK_EQ(moved, n);
			CHECK_EQ(kit_model[0].out_len[0], n);
			CHECK(kit_is_pattern(kit_model[0].out[0], 0, n));
		}
		kit_end();
	}
}

static void takes_short_control_data(void)
{
	static const uint16_t lengths[] = {0, 1, 8, 15, 16, 128, 129, 200, 254};
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	for (unsigned i = 0; i < ARRAY_SIZE(lengths); i++) {
		uint32_t moved;
		CHECK_EQ(kit_control(d, 0xc0, 1, lengths[i], kit_bytes[0], 255, &moved), USB_OK);
		CHECK_EQ(moved, lengths[i]);
		CHECK(kit_is_pattern(kit_bytes[0], 0, moved));
	}
	kit_end();
}

static void follows_a_larger_endpoint_0(void)
{
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	kit_model[0].packet[0] = 64;
	d->control.max_packet = 64;
	kit_hc->ops->device_changed(kit_hc, d);
	uint32_t moved, before = kit_model[0].transactions;
	CHECK_EQ(kit_control(d, 0xc0, 1, 512, kit_bytes[0], 512, &moved), USB_OK);
	CHECK_EQ(moved, 512);
	CHECK_EQ(kit_model[0].transactions - before, 10);
	kit_end();
}

static void moves_bulk_data_with_the_right_toggles(void)
{
	static const uint16_t lengths[] = {64, 31, 128, 1, 960, 1024, 1088, 4096, 13, 0, 64};
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	struct usb_endpoint *in = kit_endpoint(d, 0x81, USB_BULK, 64);
	struct usb_endpoint *out = kit_endpoint(d, 0x02, USB_BULK, 64);
	for (unsigned i = 0; i < ARRAY_SIZE(lengths); i++) {
		uint32_t n = lengths[i];
		memset(kit_bytes, 0, sizeof kit_bytes);
		kit_feed(0, 1, n, n % 64 == 0);
		struct usb_transfer t = kit_transfer(in, kit_bytes[0], USB_TRANSFER_MAX);
		CHECK(kit_submit(&t) && kit_wait(&t, 500));
		CHECK_EQ(t.status, USB_OK);
		CHECK_EQ(t.actual, n);
		CHECK(kit_is_pattern(kit_bytes[0], 0, n));
		kit_model[0].in_end[1] = false;
		kit_model[0].out_len[2] = 0;
		t = kit_transfer(out, kit_bytes[0], n);
		CHECK(kit_submit(&t) && kit_wait(&t, 500));
		CHECK_EQ(t.status, USB_OK);
		CHECK_EQ(t.actual, n);
		CHECK_EQ(kit_model[0].out_len[2], n);
		CHECK(kit_is_pattern(kit_model[0].out[2], 0, n));
	}
	kit_end();
}

/* What follows a short packet belongs to the next transfer, even when it is ready at once. */
static void stops_at_a_short_packet(void)
{
	static const uint16_t cuts[] = {1, 63, 65, 100, 300, 1023, 1025, 2000};
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	struct usb_endpoint *in = kit_endpoint(d, 0x81, USB_BULK, 64);
	for (unsigned i = 0; i < ARRAY_SIZE(cuts); i++) {
		kit_feed(0, 1, cuts[i] + 200u, false);
		kit_model[0].in_cut[1] = cuts[i];
		struct usb_transfer t = kit_transfer(in, kit_bytes[0], USB_TRANSFER_MAX);
		CHECK(kit_submit(&t) && kit_wait(&t, 100));
		CHECK_EQ(t.actual, cuts[i]);
		CHECK(kit_is_pattern(kit_bytes[0], 0, t.actual));
		t = kit_transfer(in, kit_bytes[0], USB_TRANSFER_MAX);
		CHECK(kit_submit(&t) && kit_wait(&t, 100));
		CHECK_EQ(t.actual, 200);
		CHECK(kit_is_pattern(kit_bytes[0], cuts[i], 200));
	}
	kit_end();
}

static void waits_for_reports(void)
{
	for (unsigned low = 0; low < 2; low++) {
		hc_begin();
		struct usb_device *d = kit_plug(0, low);
		struct usb_endpoint *e = kit_endpoint(d, 0x81, USB_INTERRUPT, 8);
		for (unsigned i = 0; i < 5; i++) {
			struct usb_transfer t = kit_transfer(e, kit_bytes[0], 8);
			CHECK(kit_submit(&t));
			CHECK(!kit_wait(&t, 50));
			kit_feed(0, 1, i == 3 ? 5 : 8, false);
			CHECK(kit_wait(&t, 12)); /* visited every 8 ms */
			CHECK_EQ(t.status, USB_OK);
			CHECK_EQ(t.actual, i == 3 ? 5 : 8);
			CHECK(kit_is_pattern(kit_bytes[0], 0, t.actual));
		}
		kit_end();
	}
}

static void goes_on_after_naks(void)
{
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	kit_model[0].naks = 3;
	uint32_t moved;
	CHECK_EQ(kit_control(d, 0xc0, 1, 100, kit_bytes[0], 100, &moved), USB_OK);
	CHECK_EQ(moved, 100);
	CHECK(kit_is_pattern(kit_bytes[0], 0, 100));
	kit_end();
}

static void reports_a_stall_and_goes_on(void)
{
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	struct usb_endpoint *in = kit_endpoint(d, 0x81, USB_BULK, 64);
	uint32_t moved;
	CHECK_EQ(kit_control(d, 0x80, 0x77, 0, kit_bytes[0], 64, &moved), USB_STALLED);
	CHECK_EQ(moved, 0);
	CHECK_EQ(kit_control(d, 0x00, 0x77, 0, NULL, 0, &moved), USB_STALLED);
	CHECK_EQ(kit_control(d, 0x00, 0x77, 0, kit_bytes[0], 64, &moved), USB_STALLED);
	CHECK_EQ(kit_control(d, 0x80, 6, 0x100, kit_bytes[0], 18, &moved), USB_OK);
	CHECK_EQ(moved, 18);
	/* One packet, so that the toggle is 1; then a halt. */
	kit_feed(0, 1, 10, false);
	struct usb_transfer t = kit_transfer(in, kit_bytes[0], 64);
	CHECK(kit_submit(&t) && kit_wait(&t, 50));
	kit_model[0].stall = 1 << 1;
	t = kit_transfer(in, kit_bytes[0], 4096);
	CHECK(kit_submit(&t) && kit_wait(&t, 50));
	CHECK_EQ(t.status, USB_STALLED);
	t = kit_request(d, 2, 1, 0, NULL, 0);
	t.setup[4] = 0x81;
	CHECK(kit_submit(&t) && kit_wait(&t, 50));
	CHECK_EQ(t.status, USB_OK);
	kit_hc->ops->endpoint_reset(kit_hc, in);
	kit_feed(0, 1, 100, false);
	t = kit_transfer(in, kit_bytes[0], 4096);
	CHECK(kit_submit(&t) && kit_wait(&t, 50));
	CHECK_EQ(t.status, USB_OK);
	CHECK_EQ(t.actual, 100);
	kit_end();
}

/* The endpoint halts behind a part of the data, as sticks do: what came is given. */
static void gives_data_in_front_of_a_stall(void)
{
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	struct usb_endpoint *in = kit_endpoint(d, 0x81, USB_BULK, 64);
	struct usb_endpoint *out = kit_endpoint(d, 0x02, USB_BULK, 64);
	for (uint32_t n = 64; n <= 2048; n *= 2) {
		memset(kit_bytes, 0, sizeof kit_bytes);
		kit_feed(0, 1, n, false);
		struct usb_transfer t = kit_transfer(in, kit_bytes[0], 4096);
		CHECK(kit_submit(&t));
		for (unsigned i = 0; i < 100 && kit_model[0].in_at[1] < n; i++)
			kit_frame();
		kit_model[0].stall = 1 << 1 | 1 << 2;
		CHECK(kit_wait(&t, 50));
		CHECK_EQ(t.status, USB_STALLED);
		CHECK_EQ(t.actual, n);
		CHECK(kit_is_pattern(kit_bytes[0], 0, n));
		kit_model[0].stall = 0;
		kit_model[0].toggle_in[1] = false;
		kit_hc->ops->endpoint_reset(kit_hc, in);
	}
	kit_model[0].stall = 1 << 2;
	struct usb_transfer t = kit_transfer(out, kit_bytes[0], 4096);
	CHECK(kit_submit(&t) && kit_wait(&t, 50));
	CHECK_EQ(t.status, USB_STALLED);
	CHECK_EQ(t.actual, 0);
	kit_end();
}

static void reports_babble_and_silence(void)
{
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	struct usb_endpoint *in = kit_endpoint(d, 0x81, USB_BULK, 64);
	kit_model[0].babble = 1 << 1;
	struct usb_transfer t = kit_transfer(in, kit_bytes[0], 512);
	CHECK(kit_submit(&t) && kit_wait(&t, 50));
	CHECK_EQ(t.status, USB_FAILED);
	kit_model[0].babble = 1;
	CHECK_EQ(kit_control(d, 0x80, 6, 0x100, kit_bytes[0], 18, NULL), USB_FAILED);
	kit_model[0].babble = 0;
	CHECK_EQ(kit_control(d, 0x80, 6, 0x100, kit_bytes[0], 18, NULL), USB_OK);
	kit_model[0].silent = true;
	uint32_t before = kit_model[0].transactions;
	CHECK_EQ(kit_control(d, 0x80, 6, 0x100, kit_bytes[0], 18, NULL), USB_FAILED);
	CHECK_EQ(kit_model[0].transactions - before, 3); /* three tries */
	kit_model[0].silent = false;
	CHECK_EQ(kit_control(d, 0x80, 6, 0x100, kit_bytes[0], 18, NULL), USB_OK);
	kit_end();
}

/* A larger answer than there is room for is babble, not an overrun of the buffer. */
static void refuses_more_than_was_asked_for(void)
{
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	struct usb_endpoint *in = kit_endpoint(d, 0x81, USB_BULK, 64);
	memset(kit_bytes, 0xee, sizeof kit_bytes);
	kit_feed(0, 1, 64, false);
	struct usb_transfer t = kit_transfer(in, kit_bytes[0], 13);
	CHECK(kit_submit(&t) && kit_wait(&t, 50));
	CHECK_EQ(t.status, USB_FAILED);
	CHECK_EQ(kit_bytes[0][13], 0xee);
	kit_end();
}

static void cancels_at_any_time(void)
{
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	struct usb_endpoint *in = kit_endpoint(d, 0x81, USB_BULK, 64);
	struct usb_endpoint *key = kit_endpoint(d, 0x83, USB_INTERRUPT, 8);
	for (unsigned frames = 0; frames < 8; frames++) {
		kit_model[0].out_len[0] = 0;
		kit_feed(0, 1, 200, false);
		struct usb_transfer t = kit_transfer(in, kit_bytes[0], 4096);
		struct usb_transfer k = kit_transfer(key, kit_bytes[1], 8);
		struct usb_transfer c = kit_request(d, 0xc0, 1, 900, kit_bytes[2], 900);
		CHECK(kit_submit(&t) && kit_submit(&k) && kit_submit(&c));
		kit_frames(frames);
		kit_hc->ops->cancel(kit_hc, &k);
		kit_hc->ops->cancel(kit_hc, &t);
		kit_hc->ops->cancel(kit_hc, &c);
		kit_hc->ops->cancel(kit_hc, &c); /* a second one does nothing */
		CHECK(kit_wait(&k, 20) && kit_wait(&t, 20) && kit_wait(&c, 20));
		CHECK_EQ(k.status, USB_CANCELLED);
		CHECK(t.status == USB_CANCELLED || t.status == USB_OK);
		CHECK(c.status == USB_CANCELLED || c.status == USB_OK);
		CHECK(t.actual <= 200 && kit_is_pattern(kit_bytes[0], 0, t.actual));
		/* The toggles are those of the device. */
		kit_feed(0, 1, 70, false);
		t = kit_transfer(in, kit_bytes[0], 4096);
		CHECK(kit_submit(&t) && kit_wait(&t, 20));
		CHECK_EQ(t.actual, 70);
		CHECK_EQ(kit_control(d, 0x80, 6, 0x100, kit_bytes[0], 18, NULL), USB_OK);
	}
	kit_end();
}

static void closes_a_device_in_mid_transfer(void)
{
	hc_begin();
	for (unsigned frames = 0; frames < 6; frames++) {
		struct usb_device *d = kit_plug(0, false);
		struct usb_endpoint *in = kit_endpoint(d, 0x81, USB_BULK, 64);
		struct usb_endpoint *key = kit_endpoint(d, 0x83, USB_INTERRUPT, 8);
		kit_model[0].nak = frames & 1 ? 1 : 0;
		kit_feed(0, 1, 4096, false);
		struct usb_transfer t = kit_transfer(in, kit_bytes[0], 4096);
		struct usb_transfer k = kit_transfer(key, kit_bytes[1], 8);
		struct usb_transfer c = kit_request(d, 0xc0, 1, 900, kit_bytes[2], 900);
		CHECK(kit_submit(&t) && kit_submit(&k) && kit_submit(&c));
		kit_frames(frames);
		if (frames == 4)
			kit_hc->ops->cancel(kit_hc, &t);
		hc_plug(0, NULL);
		kit_hc->ops->device_close(kit_hc, d);
		CHECK(!t.active && !k.active && !c.active);
		CHECK_EQ(k.status, USB_GONE);
		memset(d, 0xee, sizeof *d); /* the driver must not touch it */
		memset(kit_bytes, 0xee, sizeof kit_bytes);
		kit_frames(20);
		unsigned written = 0;
		for (unsigned i = 0; i < sizeof kit_bytes; i++)
			written += kit_bytes[i / USB_TRANSFER_MAX][i % USB_TRANSFER_MAX] != 0xee;
		CHECK_EQ(written, 0);
	}
	kit_end();
}

static void device_vanishes_in_mid_transfer(void)
{
	for (uint32_t after = 1; after < 40; after += 3) {
		hc_begin();
		struct usb_device *d = kit_plug(0, false);
		kit_model[0].silent_after = kit_model[0].transactions + after;
		struct usb_transfer t = kit_request(d, 0xc0, 1, 4096, kit_bytes[0], 4096);
		CHECK(kit_submit(&t) && kit_wait(&t, 500));
		CHECK_EQ(t.status, USB_FAILED);
		hc_plug(0, NULL);
		kit_frames(2);
		struct usb_port_state s = kit_hc->ops->port(kit_hc, 1);
		CHECK_EQ(s.bits, USB_PORT_CHANGED);
		kit_hc->ops->device_close(kit_hc, d);
		d = kit_plug(0, true); /* another device there works */
		CHECK_EQ(kit_control(d, 0x80, 6, 0x100, kit_bytes[0], 18, NULL), USB_OK);
		kit_end();
	}
}

static void runs_two_devices_at_once(void)
{
	hc_begin();
	struct usb_device *a = kit_plug(0, false), *b = kit_plug(1, true);
	struct usb_endpoint *in = kit_endpoint(a, 0x81, USB_BULK, 64);
	struct usb_endpoint *key = kit_endpoint(b, 0x81, USB_INTERRUPT, 8);
	kit_feed(0, 1, 4096, false);
	struct usb_transfer t = kit_transfer(in, kit_bytes[0], 4096);
	struct usb_transfer k = kit_transfer(key, kit_bytes[1], 8);
	struct usb_transfer c = kit_request(b, 0xc0, 1, 64, kit_bytes[2], 64);
	CHECK(kit_submit(&t) && kit_submit(&k) && kit_submit(&c));
	CHECK(kit_wait(&c, 100));
	CHECK_EQ(c.actual, 64);
	kit_feed(1, 1, 8, false);
	CHECK(kit_wait(&k, 20) && kit_wait(&t, 100));
	CHECK_EQ(k.actual, 8);
	CHECK_EQ(t.actual, 4096);
	CHECK(kit_is_pattern(kit_bytes[0], 0, 4096));
	/* A device that always sends NAK delays nothing else. */
	kit_model[0].nak = 1;
	c = kit_request(a, 0xc0, 1, 64, kit_bytes[2], 64);
	CHECK(kit_submit(&c));
	for (unsigned i = 0; i < 10; i++)
		CHECK_EQ(kit_control(b, 0x80, 6, 0x100, kit_bytes[1], 18, NULL), USB_OK);
	CHECK(c.active);
	kit_hc->ops->cancel(kit_hc, &c);
	CHECK(kit_wait(&c, 20));
	CHECK_EQ(c.status, USB_CANCELLED);
	kit_end();
}

static void refuses_endpoints_that_cannot_be(void)
{
	static const struct {
		bool low, good;
		uint8_t kind;
		uint16_t packet;
	} e[] = {
	        {false, false, USB_BULK, 0},      {false, false, USB_BULK, 65},
	        {false, true, USB_BULK, 64},      {false, false, USB_INTERRUPT, 0x7ff},
	        {false, true, USB_INTERRUPT, 64}, {false, false, USB_ISOCHRONOUS, 64},
	        {true, false, USB_BULK, 8},       {true, false, USB_INTERRUPT, 9},
	        {true, true, USB_INTERRUPT, 8},   {false, true, USB_INTERRUPT, 1},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(e); i++) {
		hc_begin();
		struct usb_device *d = kit_plug(0, e[i].low);
		struct usb_endpoint x = {
		        .device = d, .address = 0x81, .kind = e[i].kind, .max_packet = e[i].packet};
		CHECK_EQ(kit_hc->ops->endpoint_open(kit_hc, &x), e[i].good);
		CHECK_EQ(x.hc != NULL, e[i].good);
		kit_end();
	}
}

/* All pipes are taken, each with a transfer; a device that is closed gives them back. */
static void runs_out_of_pipes(void)
{
	static struct usb_endpoint e[100];
	static struct usb_transfer t[100];
	static struct usb_device other;
	unsigned n[2][4] = {{0}};
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	for (unsigned round = 0; round < 2; round++) {
		other = (struct usb_device){.controller = kit_hc, .speed = USB_FULL, .address = 1};
		for (unsigned i = 0; i < 100; i++) {
			e[i] = (struct usb_endpoint){.device = &other,
			                             .address = 0x81,
			                             .kind = i % 2 ? USB_BULK : USB_INTERRUPT,
			                             .max_packet = 64};
			t[i] = kit_transfer(&e[i], kit_bytes[0], 64);
			if (!kit_hc->ops->endpoint_open(kit_hc, &e[i]))
				continue;
			n[round][e[i].kind]++;
			CHECK(kit_submit(&t[i]));
		}
		kit_frames(10);
		kit_hc->ops->device_close(kit_hc, &other);
		CHECK(e[0].hc == NULL);
		for (unsigned i = 0; i < 100; i++)
			CHECK(!t[i].active);
		kit_frames(20);
	}
	CHECK(n[0][USB_BULK] >= 10 && n[0][USB_BULK] < 50);
	CHECK(n[0][USB_INTERRUPT] >= 16 && n[0][USB_INTERRUPT] < 50);
	CHECK_EQ(n[1][USB_BULK], n[0][USB_BULK]);
	CHECK_EQ(n[1][USB_INTERRUPT], n[0][USB_INTERRUPT]);
	CHECK_EQ(kit_control(d, 0x80, 6, 0x100, kit_bytes[0], 18, NULL), USB_OK);
	kit_end();
}

static void refuses_a_second_transfer(void)
{
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	kit_model[0].nak = 1;
	struct usb_transfer t = kit_request(d, 0x80, 6, 0x100, kit_bytes[0], 18), u = t;
	CHECK(kit_submit(&t));
	CHECK(!kit_submit(&u));
	kit_hc->ops->cancel(kit_hc, &u); /* of one that is not under way: nothing */
	kit_frames(5);
	CHECK(t.active);
	kit_model[0].nak = 0;
	CHECK(kit_wait(&t, 50));
	CHECK_EQ(t.status, USB_OK);
	d->control.max_packet = 255; /* a descriptor that lies */
	CHECK(!kit_submit(&u));
	d->control.max_packet = 8;
	kit_end();
}

static void reports_a_flapping_port(void)
{
	hc_begin();
	usb1_device_init(&kit_model[0], false);
	CHECK_EQ(kit_hc->ops->port(kit_hc, 1).bits & USB_PORT_CONNECTED, 0);
	for (unsigned i = 0; i < 20; i++) {
		hc_plug(0, &kit_model[0]);
		hc_plug(0, NULL);
		CHECK_EQ(kit_hc->ops->port(kit_hc, 1).bits, USB_PORT_CHANGED);
		CHECK_EQ(kit_hc->ops->port(kit_hc, 1).bits, 0);
		hc_plug(0, &kit_model[0]);
		CHECK_EQ(kit_hc->ops->port(kit_hc, 1).bits, USB_PORT_CHANGED | USB_PORT_CONNECTED);
		kit_hc->ops->port_reset(kit_hc, 1);
		kit_frames(i);
		hc_plug(0, NULL);
		for (unsigned k = 0; k < 200; k++)
			kit_frame();
		struct usb_port_state s = kit_hc->ops->port(kit_hc, 1);
		CHECK_EQ(s.bits & ~USB_PORT_CHANGED, 0);
		(void)kit_hc->ops->port(kit_hc, 1);
	}
	/* Ports that do not exist. */
	CHECK_EQ(kit_hc->ops->port(kit_hc, 0).bits, 0);
	CHECK_EQ(kit_hc->ops->port(kit_hc, (uint8_t)(kit_hc->n_ports + 1)).bits, 0);
	kit_hc->ops->port_reset(kit_hc, 0);
	kit_hc->ops->port_disable(kit_hc, (uint8_t)(kit_hc->n_ports + 1));
	struct usb_device *d = kit_plug(0, false);
	kit_hc->ops->port_disable(kit_hc, 1);
	kit_frames(2);
	CHECK_EQ(kit_hc->ops->port(kit_hc, 1).bits, USB_PORT_CONNECTED);
	CHECK_EQ(kit_control(d, 0x80, 6, 0x100, kit_bytes[0], 18, NULL), USB_FAILED);
	kit_end();
}

/* `done` submits the next transfer, or closes the device. */
static struct usb_transfer again;
static unsigned left;

static void submit_again(struct usb_transfer *t)
{
	if (--left) {
		kit_feed(0, 1, 100, false);
		CHECK(kit_submit(t));
	} else {
		kit_hc->ops->device_close(kit_hc, t->endpoint->device);
		CHECK(!kit_submit(t));
	}
}

static void goes_on_from_done(void)
{
	hc_begin();
	struct usb_device *d = kit_plug(0, false);
	again = kit_transfer(kit_endpoint(d, 0x81, USB_BULK, 64), kit_bytes[0], 512);
	again.done = submit_again;
	left = 10;
	kit_feed(0, 1, 100, false);
	CHECK(kit_submit(&again));
	for (unsigned i = 0; i < 200 && left; i++)
		kit_frame();
	CHECK_EQ(left, 0);
	kit_end();
}

static inline void usb1_cases(void)
{
	TEST(moves_control_data_of_all_lengths);
	TEST(takes_short_control_data);
	TEST(follows_a_larger_endpoint_0);
	TEST(moves_bulk_data_with_the_right_toggles);
	TEST(stops_at_a_short_packet);
	TEST(waits_for_reports);
	TEST(goes_on_after_naks);
	TEST(reports_a_stall_and_goes_on);
	TEST(gives_data_in_front_of_a_stall);
	TEST(reports_babble_and_silence);
	TEST(refuses_more_than_was_asked_for);
	TEST(cancels_at_any_time);
	TEST(closes_a_device_in_mid_transfer);
	TEST(device_vanishes_in_mid_transfer);
	TEST(runs_two_devices_at_once);
	TEST(refuses_endpoints_that_cannot_be);
	TEST(runs_out_of_pipes);
	TEST(refuses_a_second_transfer);
	TEST(reports_a_flapping_port);
	TEST(goes_on_from_done);
	TEST(streams_stay_whole);
}

#endif
