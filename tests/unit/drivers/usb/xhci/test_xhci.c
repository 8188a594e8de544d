/* The xHCI driver with a good controller: devices of all speeds, transfers, hubs, ports. */
#include "tests/unit/drivers/usb/xhci/xhci_kit.h"

/* --- devices ------------------------------------------------------------------------------- */

static void devices_of_all_speeds(void)
{
	static const uint16_t packet0[] = {8, 64, 64, 512};
	for (unsigned form = 0; form < 16; form++) {
		struct xhci_model_usb u[4];
		static struct usb_device d[4];
		kit_new();
		m.wide = form & 1;
		m.psi = form & 2;
		m.switched = form & 4;
		m.lazy = form & 8;
		m.pads = form;
		kit_start();
		for (unsigned s = 0; s < 4; s++) {
			u[s] = (struct xhci_model_usb){.speed = s,
			                               .port = s == 3 ? 6 : (uint8_t)(s + 1),
			                               .packet0 = packet0[s]};
			kit_device(&d[s], &u[s], NULL);
			CHECK_EQ(m.slot[xhci_model_slot_of(&m, &u[s])].ep[1].packet, packet0[s]);
		}
		CHECK_EQ(m.commands[13], 1); /* only the size of the second one was unknown */
		for (unsigned s = 0; s < 4; s++) {
			CHECK_EQ(kit_control(&d[s], 0x80, 6, 0x200, 0, memory, 100, NULL), USB_OK);
			hc->ops->device_close(hc, &d[s]);
			CHECK(!d[s].hc && !d[s].control.hc);
		}
		kit_wait(20);
		for (unsigned s = 0; s < 4; s++)
			CHECK_EQ(xhci_model_slot_of(&m, &u[s]), 0);
		kit_end();
	}
}

static void control_transfers(void)
{
	static const uint32_t offsets[] = {0, 0xff00, 0xffff, 0xfffc, 0x10000 - 64, 0xf003};
	static const uint16_t lens[] = {1, 8, 64, 65, 255, 1000, 4096};
	uint32_t actual = 0;
	kit_begin();
	kit_stick();
	for (unsigned o = 0; o < ARRAY_SIZE(offsets); o++)
		for (unsigned l = 0; l < ARRAY_SIZE(lens); l++) {
			uint8_t *p = memory + offsets[o];
			uint16_t n = lens[l];
			memset(p, 0xaa, n + 1u);
			CHECK_EQ(kit_control(&stk, 0xc0, 1, 3, 0, p, n, &actual), USB_OK);
			CHECK_EQ(actual, n);
			CHECK(p[0] == 3 && p[n - 1] == (uint8_t)((n - 1u) * 7 + 3) && p[n] == 0xaa);
			stick.at_most = n / 2u + 1; /* a short answer */
			memset(p, 0xaa, n + 1u);
			CHECK_EQ(kit_control(&stk, 0xc0, 1, 4, 0, p, n, &actual), USB_OK);
			CHECK_EQ(actual, n / 2u + 1);
			CHECK(p[n / 2] == (uint8_t)(n / 2u * 7 + 4));
			stick.at_most = 0;
			for (unsigned i = 0; i < n; i++)
				p[i] = (uint8_t)(i * 13 + o);
			CHECK_EQ(kit_control(&stk, 0x40, 1, 3, 0, p, n, &actual), USB_OK);
			CHECK_EQ(stick.out_len, n);
			CHECK(memcmp(stick.out, p, n) == 0);
		}
	unsigned before = stick.requests;
	CHECK_EQ(kit_control(&stk, 0x40, 1, 3, 0, NULL, 0, &actual), USB_OK);
	CHECK_EQ(kit_control(&stk, 0xc0, 1, 3, 0, NULL, 0, &actual), USB_OK);
	CHECK_EQ(stick.requests, before + 2);
	kit_end();
}

/* --- interrupt and bulk ----------------------------------------------------------------------- */

static void reports(void)
{
	for (unsigned lazy = 0; lazy < 2; lazy++) {
		kit_new();
		m.lazy = lazy;
		kit_start();
		kit_keyboard();
		for (unsigned i = 0; i < 300; i++) /* many times round the rings */
			kit_report(&kbd, &keyboard, (uint8_t)i);
		CHECK_EQ(keyboard.lost, 0);
		/* A short report, and an empty one. */
		struct usb_transfer t = kit_transfer(&kbd, 0, memory, 8);
		for (uint32_t n = 0; n < 4; n += 3) {
			CHECK(submit(&t));
			xhci_model_give(&m, &keyboard, 0x81, "abcdef", n);
			CHECK(kit_done(&t));
			CHECK_EQ(t.status, USB_OK);
			CHECK_EQ(t.actual, n);
		}
		kit_end();
	}
}

static void bulk_data_across_64_kb(void)
{
	static const uint32_t offsets[] = {0x8000, 0xf000, 0xf001, 0xf200, 0xf800, 0xfe00, 0xffff};
	static const uint32_t lens[] = {1, 13, 31, 512, 513, 1024, 4095, 4096};
	static uint8_t data[4096];
	kit_new();
	m.spurious = true;
	kit_start();
	kit_stick();
	for (unsigned i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)(i * 11 + i / 256);
	for (unsigned o = 0; o < ARRAY_SIZE(offsets); o++)
		for (unsigned l = 0; l < ARRAY_SIZE(lens); l++) {
			uint8_t *p = memory + offsets[o];
			uint32_t n = lens[l], less = n / 3;
			struct usb_transfer in = kit_transfer(&stk, 0, p, n);
			memset(p, 0, n);
			xhci_model_give(&m, &stick, 0x81, data, n);
			CHECK(submit(&in) && kit_done(&in));
			CHECK_EQ(in.status, USB_OK);
			CHECK_EQ(in.actual, n);
			CHECK(memcmp(p, data, n) == 0);
			xhci_model_give(&m, &stick, 0x81, data, less);
			CHECK(submit(&in) && kit_done(&in));
			CHECK_EQ(in.status, USB_OK);
			CHECK_EQ(in.actual, less);
			struct usb_transfer out = kit_transfer(&stk, 1, p, n);
			memcpy(p, data, n);
			CHECK(submit(&out) && kit_done(&out));
			CHECK_EQ(out.status, USB_OK);
			CHECK_EQ(out.actual, n);
			CHECK(stick.out_len == n && memcmp(stick.out, data, n) == 0);
		}
	CHECK_EQ(stick.lost, 0);
	kit_end();
}

/* A transfer that is submitted from `done` of the one before. */
static struct usb_transfer chain;
static unsigned chained;
static void again(struct usb_transfer *t)
{
	if (t->status == USB_OK && ++chained < 20) {
		t->len = chained % 2 ? 31 : 13;
		CHECK(submit(t));
	}
}

static void submitted_from_done(void)
{
	kit_begin();
	kit_stick();
	chained = 0;
	chain = kit_transfer(&stk, 1, memory, 31);
	chain.done = again;
	CHECK(submit(&chain));
	kit_wait(50);
	CHECK_EQ(chained, 20);
	CHECK(!chain.active);
	kit_end();
}

/* A short TD has a second event on some controllers; it comes when the next TD is on the ring. */
static void once_more(struct usb_transfer *t)
{
	if (chained++ == 0)
		CHECK(submit(t));
}

static void second_events_of_short_tds(void)
{
	kit_new();
	m.spurious = true;
	kit_start();
	kit_stick();
	for (unsigned i = 0; i < 20; i++) {
		chained = 0;
		chain = kit_transfer(&stk, 0, memory + 0xff00, 4096);
		chain.done = once_more;
		xhci_model_give(&m, &stick, 0x81, memory, 100);
		CHECK(submit(&chain));
		kit_wait(3);
		CHECK_EQ(chained, 1);
		CHECK(chain.active);
		xhci_model_give(&m, &stick, 0x81, memory, 4096);
		CHECK(kit_done(&chain));
		CHECK_EQ(chain.actual, 4096);
	}
	kit_end();
}

static void intervals(void)
{
	static const struct {
		enum xhci_model_speed speed;
		uint8_t interval, want;
	} row[] = {
	        {XHCI_LOW, 0, 3},     {XHCI_LOW, 1, 3},   {XHCI_LOW, 2, 4},    {XHCI_LOW, 10, 6},
	        {XHCI_FULL, 15, 6},   {XHCI_FULL, 16, 7}, {XHCI_FULL, 127, 9}, {XHCI_FULL, 255, 10},
	        {XHCI_HIGH, 0, 0},    {XHCI_HIGH, 1, 0},  {XHCI_HIGH, 4, 3},   {XHCI_HIGH, 16, 15},
	        {XHCI_HIGH, 255, 15}, {XHCI_SUPER, 8, 7},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(row); i++) {
		struct xhci_model_usb u = {.speed = row[i].speed,
		                           .port = row[i].speed == XHCI_SUPER ? 8 : 3};
		struct usb_device d;
		kit_begin();
		kit_device(&d, &u, NULL);
		CHECK(kit_endpoint(&d, 0x83, USB_INTERRUPT, 8, row[i].interval));
		CHECK_EQ(kit_configure(&d), USB_OK);
		CHECK_EQ(m.slot[xhci_model_slot_of(&m, &u)].ep[7].interval, row[i].want);
		kit_end();
	}
}

static void bursts(void)
{
	struct xhci_model_usb u = {.speed = XHCI_SUPER, .port = 5};
	struct usb_device d;
	kit_begin();
	kit_device(&d, &u, NULL);
	struct usb_endpoint *e = &d.endpoint[0];
	*e = (struct usb_endpoint){
	        .device = &d, .address = 0x81, .kind = USB_BULK, .max_packet = 1024, .burst = 15};
	CHECK(hc->ops->endpoint_open(hc, e));
	d.n_endpoints = 1;
	CHECK(!kit_endpoint(&d, 0x81, USB_BULK, 1024, 0)); /* once more */
	CHECK(!kit_endpoint(&d, 0x80, USB_BULK, 1024, 0)); /* endpoint 0 */
	CHECK(!kit_endpoint(&d, 0x82, USB_ISOCHRONOUS, 1024, 0));
	CHECK_EQ(kit_configure(&d), USB_OK);
	CHECK_EQ(m.slot[xhci_model_slot_of(&m, &u)].ep[3].burst, 15);
	CHECK_EQ(m.slot[xhci_model_slot_of(&m, &u)].ep[3].packet, 1024);
	kit_end();
}

/* --- halts and toggles --------------------------------------------------------------------------
 */

static void stall_of_endpoint_0(void)
{
	kit_begin();
	kit_keyboard();
	for (unsigned i = 0; i < 40; i++) {
		uint32_t actual = 7;
		keyboard.stalls = true;
		CHECK_EQ(kit_control(&kbd, 0x80, 6, 0x300, 0, memory, i % 3 ? 18 : 0, &actual),
		         USB_STALLED);
		CHECK_EQ(actual, 0);
		keyboard.stalls = false;
		CHECK_EQ(kit_control(&kbd, 0x80, 6, 0x200, 0, memory, 18, &actual), USB_OK);
		CHECK_EQ(actual, 18);
	}
	kit_report(&kbd, &keyboard, 1);
	kit_end();
}

static void clear_halt(struct usb_device *d, unsigned endpoint)
{
	uint8_t address = d->endpoint[endpoint].address;
	CHECK_EQ(kit_control(d, 2, 1, 0, address, NULL, 0, NULL), USB_OK);
	hc->ops->endpoint_reset(hc, &d->endpoint[endpoint]);
}

static void stall_of_an_endpoint(void)
{
	kit_begin();
	kit_stick();
	for (unsigned i = 0; i < 10; i++) {
		struct usb_transfer in = kit_transfer(&stk, 0, memory, 512);
		xhci_model_give(&m, &stick, 0x81, memory + 0x3000, 512);
		CHECK(submit(&in) && kit_done(&in)); /* the toggle is 1 */
		stick.stalls = true;
		CHECK(submit(&in) && kit_done(&in));
		CHECK_EQ(in.status, USB_STALLED);
		CHECK_EQ(in.actual, 0);
		stick.stalls = false;
		clear_halt(&stk, 0);
		xhci_model_give(&m, &stick, 0x81, memory + 0x3000, 100);
		CHECK(submit(&in) && kit_done(&in));
		CHECK_EQ(in.actual, 100);
		clear_halt(&stk, 0);
	}
	CHECK_EQ(stick.lost, 0);
	kit_end();
}

static void toggle_without_a_halt(void)
{
	kit_begin();
	kit_stick();
	for (unsigned i = 0; i < 20; i++) {
		struct usb_transfer out = kit_transfer(&stk, 1, memory, 31);
		CHECK(submit(&out) && kit_done(&out));
		clear_halt(&stk, 1);
		clear_halt(&stk, 1); /* once more, with nothing to do */
	}
	struct usb_transfer out = kit_transfer(&stk, 1, memory, 31);
	CHECK(submit(&out) && kit_done(&out));
	CHECK_EQ(stick.lost, 0);
	kit_end();
}

/* --- cancel
 * ---------------------------------------------------------------------------------------- */

static void cancelled(void)
{
	for (unsigned lazy = 0; lazy < 2; lazy++) {
		kit_new();
		m.lazy = lazy;
		kit_start();
		kit_keyboard();
		kit_stick();
		for (unsigned i = 0; i < 20; i++) {
			struct usb_transfer t = kit_transfer(&kbd, 0, memory, 8);
			CHECK(submit(&t));
			kit_wait(i % 2);
			hc->ops->cancel(hc, &t);
			CHECK(kit_done(&t));
			CHECK_EQ(t.status, USB_CANCELLED);
			CHECK_EQ(t.actual, 0);
			kit_report(&kbd, &keyboard, (uint8_t)i);
			/* With a part of the data. */
			struct usb_transfer in = kit_transfer(&stk, 0, memory + 0xfd00, 4096);
			stick.in_more = true;
			CHECK(submit(&in));
			xhci_model_give(&m, &stick, 0x81, memory, 1024);
			kit_wait(2);
			CHECK(in.active);
			hc->ops->cancel(hc, &in);
			CHECK(kit_done(&in));
			CHECK_EQ(in.status, USB_CANCELLED);
			CHECK_EQ(in.actual, 1024);
			stick.in_more = false;
			stick.in_ready = false;
			xhci_model_give(&m, &stick, 0x81, memory, 13);
			CHECK(submit(&in) && kit_done(&in));
			CHECK_EQ(in.actual, 13);
		}
		CHECK_EQ(stick.lost, 0);
		kit_end();
	}
}

static void cancelled_in_front_of_the_ring(void)
{
	kit_begin();
	kit_keyboard();
	m.commands_stuck = true; /* so that the second transfer waits */
	keyboard.stalls = true;
	struct usb_transfer t = kit_transfer(&kbd, 0, memory, 8);
	CHECK(submit(&t) && kit_done(&t));
	CHECK(submit(&t));
	kit_wait(2);
	hc->ops->cancel(hc, &t);
	CHECK(!t.active && t.status == USB_CANCELLED);
	keyboard.stalls = false;
	m.commands_stuck = false;
	xhci_model_run(&m);
	clear_halt(&kbd, 0);
	kit_report(&kbd, &keyboard, 5);
	kit_end();
}

static void a_transfer_ends_while_it_is_cancelled(void)
{
	kit_new();
	m.lazy = true;
	kit_start();
	kit_keyboard();
	struct usb_transfer t = kit_transfer(&kbd, 0, memory, 8);
	CHECK(submit(&t));
	kit_wait(2);
	xhci_model_give(&m, &keyboard, 0x81, "12345678", 8);
	hc->ops->cancel(hc, &t);
	CHECK(kit_done(&t));
	CHECK_EQ(t.status, USB_OK);
	CHECK_EQ(t.actual, 8);
	kit_report(&kbd, &keyboard, 1);
	keyboard.stalls = true;
	CHECK(submit(&t));
	hc->ops->cancel(hc, &t);
	CHECK(kit_done(&t));
	keyboard.stalls = false;
	clear_halt(&kbd, 0);
	kit_report(&kbd, &keyboard, 2);
	CHECK_EQ(keyboard.lost, 0);
	kit_end();
}

/* --- hubs
 * ------------------------------------------------------------------------------------------------
 */

static void hub_known(struct usb_device *d, uint8_t ports, bool multi)
{
	d->is_hub = true;
	d->n_ports = ports;
	d->tt_think = 0x40;
	d->multi_tt = multi;
	hc->ops->device_changed(hc, d);
	CHECK_EQ(kit_configure(d), USB_OK);
}

static void devices_behind_hubs(void)
{
	for (unsigned multi = 0; multi < 2; multi++) {
		struct xhci_model_usb hub = {.speed = XHCI_HIGH, .port = 3};
		struct xhci_model_usb inner = {.speed = XHCI_FULL,
		                               .port = 3,
		                               .route = 4,

		                               .tt = &hub,
		                               .tt_port = 4};
		struct xhci_model_usb low = {
		        .speed = XHCI_LOW, .port = 3, .route = 0x24, .tt = &hub, .tt_port = 4};
		struct xhci_model_usb high = {.speed = XHCI_HIGH, .port = 3, .route = 7};
		static struct usb_device d[4];
		kit_new();
		m.wide = multi;
		kit_start();
		kit_device(&d[0], &hub, NULL);
		CHECK(kit_endpoint(&d[0], 0x81, USB_INTERRUPT, 1, 12));
		hub_known(&d[0], 7, multi);
		const struct xhci_model_slot *s = &m.slot[xhci_model_slot_of(&m, &hub)];
		CHECK(s->hub && s->multi_tt == multi && s->hub_ports == 7 && s->think == 2);
		kit_device(&d[1], &inner, &d[0]);
		hub_known(&d[1], 4, false);
		s = &m.slot[xhci_model_slot_of(&m, &inner)];
		CHECK(s->hub && s->hub_ports == 4 && s->think == 0);
		kit_device(&d[2], &low, &d[1]);
		kit_device(&d[3], &high, &d[0]);
		CHECK(kit_endpoint(&d[2], 0x81, USB_INTERRUPT, 8, 10));
		CHECK_EQ(kit_configure(&d[2]), USB_OK);
		kit_report(&d[2], &low, 3);
		CHECK_EQ(kit_control(&d[3], 0x80, 6, 0x100, 0, memory, 18, NULL), USB_OK);
		low.split_error = true;
		CHECK_EQ(kit_control(&d[2], 0x80, 6, 0x100, 0, memory, 18, NULL), USB_FAILED);
		low.split_error = false;
		CHECK_EQ(kit_control(&d[2], 0x80, 6, 0x100, 0, memory, 18, NULL), USB_OK);
		kit_end();
	}
}

/* --- coming and going
 * -------------------------------------------------------------------------------------- */

static void plugged_in_again_and_again(void)
{
	kit_begin();
	for (unsigned i = 0; i < 60; i++) {
		kit_keyboard();
		struct usb_transfer t = kit_transfer(&kbd, 0, memory, 8);
		CHECK(submit(&t));
		kit_wait(i % 3);
		if (i % 2)
			xhci_model_detach(&m, &keyboard);
		unsigned before = completed;
		hc->ops->device_close(hc, &kbd);
		if (t.active || completed != before)
			CHECK(!t.active && completed == before + 1 && t.status == USB_GONE);
		kit_wait(i % 5);
		if (!(i % 2))
			xhci_model_detach(&m, &keyboard);
		kit_wait(20);
		CHECK(port_state(1).bits & USB_PORT_CHANGED);
		CHECK_EQ(port_state(1).bits, 0);
		CHECK_EQ(xhci_model_slot_of(&m, &keyboard), 0);
	}
	kit_end();
}

static void as_many_as_there_are_slots(void)
{
	static struct xhci_model_usb u[30];
	static struct usb_device d[30];
	unsigned n = 0;
	kit_begin();
	u[0] = (struct xhci_model_usb){.speed = XHCI_HIGH, .port = 1};
	kit_device(&d[0], &u[0], NULL);
	hub_known(&d[0], 15, false);
	for (n = 1; n < 30; n++) {
		u[n] = (struct xhci_model_usb){
		        .speed = XHCI_HIGH, .port = 1, .route = n < 16 ? n : 1 | (n - 15) << 4};
		xhci_model_attach(&m, &u[n]);
		d[n] = kit_known(&u[n], n < 16 ? &d[0] : &d[1]);
		d[n].control.device = &d[n];
		if (!hc->ops->device_open(hc, &d[n]))
			break;
		CHECK_EQ(kit_control(&d[n], 0x80, 6, 0x100, 0, memory, 8, NULL), USB_OK);
		CHECK_EQ(kit_control(&d[n], 0, 5, 1, 0, NULL, 0, NULL), USB_OK);
		if (n == 1)
			hub_known(&d[1], 15, false);
	}
	CHECK_EQ(n, 24);
	unsigned endpoints = n;
	for (unsigned i = 1; i < n; i++)
		for (uint8_t e = 1; e < 5; e++)
			endpoints += kit_endpoint(&d[i], e, USB_BULK, 512, 0);
	CHECK_EQ(endpoints, 64);
	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(kit_configure(&d[i]), USB_OK);
	hc->ops->device_close(hc, &d[5]);
	kit_wait(5);
	CHECK_EQ(kit_open(&d[n], &u[n], &d[1]), USB_OK);
	kit_end();
}

int main(void)
{
	TEST(devices_of_all_speeds);
	TEST(control_transfers);
	TEST(reports);
	TEST(bulk_data_across_64_kb);
	TEST(submitted_from_done);
	TEST(second_events_of_short_tds);
	TEST(intervals);
	TEST(bursts);
	TEST(stall_of_endpoint_0);
	TEST(stall_of_an_endpoint);
	TEST(toggle_without_a_halt);
	TEST(cancelled);
	TEST(cancelled_in_front_of_the_ring);
	TEST(a_transfer_ends_while_it_is_cancelled);
	TEST(devices_behind_hubs);
	TEST(plugged_in_again_and_again);
	TEST(as_many_as_there_are_slots);
	return tap_done();
}
