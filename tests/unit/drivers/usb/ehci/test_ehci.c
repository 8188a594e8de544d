/* Transfers of the EHCI driver with high-speed devices, against the controller's model. */
#include "tests/unit/drivers/usb/ehci/ehci_kit.h"

static void control_transfers(void)
{
	kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	struct ehci_model_device *m = &kit_model.device[1];
	kit_alive(d);
	/* No data, and data to the device. */
	CHECK_EQ(kit_wait(kit_request(0, d, 0, 9, 1, 0, 0), 20), USB_OK);
	CHECK_EQ(m->configured, 1);
	for (uint32_t n = 1; n <= 4096; n = n < 200 ? n + 1 : n + 97) {
		kit_pattern(kit_memory, n, n);
		struct usb_transfer *t = kit_request(0, d, 0x21, 9, 0, 0, (uint16_t)n);
		CHECK_EQ(kit_wait(t, 20), USB_OK);
		CHECK_EQ(t->actual, n);
		CHECK_EQ(m->out[0].have, n);
		CHECK(kit_same(m->out[0].data, n, n));
	}
	kit_end();
}

/* The device sends less than was asked for, also none, and also exactly whole packets. */
static void control_reads_of_every_length(void)
{
	kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	struct ehci_model_device *m = &kit_model.device[1];
	for (uint16_t want = 1; want <= 600; want = (uint16_t)(want + 23))
		for (uint32_t have = 18; have <= 128; have += 11) {
			m->config_len = (uint16_t)have;
			kit_pattern(m->config_text, have, have);
			struct usb_transfer *t = kit_request(0, d, 0x80, 6, 0x200, 0, want);
			CHECK_EQ(kit_wait(t, 20), USB_OK);
			CHECK_EQ(t->actual, min_u32(want, have));
			CHECK(kit_same(t->data, t->actual, have));
		}
	kit_end();
}

static void bulk_transfers(void)
{
	kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	struct usb_endpoint *in = kit_end_open(d, 0x81, USB_BULK, 512, 0);
	struct usb_endpoint *out = kit_end_open(d, 2, USB_BULK, 512, 0);
	struct ehci_model_end *from = kit_model_end(in), *to = kit_model_end(out);
	for (uint32_t n = 0; n <= 4096; n = n < 70 ? n + 1 : n + 61) {
		uint8_t text[4096];
		kit_pattern(text, n, n);
		ehci_model_send(from, text, n);
		struct usb_transfer *t = kit_submit(0, in, n);
		CHECK_EQ(kit_wait(t, 20), USB_OK);
		CHECK_EQ(t->actual, n);
		CHECK(kit_same(t->data, n, n));
		to->have = 0;
		kit_pattern(kit_memory + 4096, n, n + 1);
		t = kit_submit(1, out, n);
		CHECK_EQ(kit_wait(t, 20), USB_OK);
		CHECK_EQ(t->actual, n);
		CHECK_EQ(to->have, n);
		CHECK(kit_same(to->data, n, n + 1));
	}
	/* Less than was asked for. */
	for (uint32_t have = 0; have < 2048; have += 100) {
		uint8_t text[2048];
		kit_pattern(text, have, have);
		ehci_model_send(from, text, have);
		struct usb_transfer *t = kit_submit(0, in, 4096);
		CHECK_EQ(kit_wait(t, 20), USB_OK);
		CHECK_EQ(t->actual, have);
		CHECK(kit_same(t->data, have, have));
	}
	kit_end();
}

static void interrupt_transfers(void)
{
	kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	for (uint8_t i = 1; i <= 10; i++) {
		struct usb_endpoint *e = kit_end_open(d, (uint8_t)(0x80 | i), USB_INTERRUPT, 16, i);
		if (i > 7)
			d->n_endpoints--; /* the array has room for 8 */
		if (!e)
			continue;
		struct usb_transfer *t = kit_submit(i, e, 16);
		CHECK_EQ(kit_wait(t, 100), 99);
		for (unsigned k = 0; k < 20; k++) {
			uint8_t text[16];
			kit_pattern(text, 8, k);
			ehci_model_send(kit_model_end(e), text, 8);
			CHECK_EQ(kit_wait(t, 12), USB_OK);
			CHECK_EQ(t->actual, 8);
			CHECK(kit_same(t->data, 8, k));
			kit_submit(i, e, 16);
		}
	}
	kit_end();
}

static void stall_of_endpoint_0(void)
{
	kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	struct ehci_model_device *m = &kit_model.device[1];
	for (unsigned i = 0; i < 20; i++) {
		m->refuse = 6;
		CHECK_EQ(kit_wait(kit_request(0, d, 0x80, 6, 0x100, 0, 18), 20), USB_STALLED);
		CHECK_EQ(kit_t[0].actual, 0);
		m->refuse = 9; /* in the status stage */
		CHECK_EQ(kit_wait(kit_request(0, d, 0, 9, 1, 0, 0), 20), USB_STALLED);
		m->refuse = 0;
		kit_alive(d);
	}
	kit_end();
}

static void stall_of_a_bulk_endpoint(void)
{
	kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	struct usb_endpoint *in = kit_end_open(d, 0x81, USB_BULK, 512, 0);
	struct ehci_model_end *m = kit_model_end(in);
	for (unsigned i = 0; i < 10; i++) {
		/* Both toggles: an odd number of packets in front of the STALL. */
		for (unsigned k = 0; k <= i % 3; k++) {
			ehci_model_send(m, "0123456789", 10);
			CHECK_EQ(kit_wait(kit_submit(0, in, 13), 20), USB_OK);
		}
		m->halted = true;
		CHECK_EQ(kit_wait(kit_submit(0, in, 4096), 20), USB_STALLED);
		CHECK_EQ(kit_wait(kit_request(1, d, 2, 1, 0, 0x81, 0), 20), USB_OK);
		kit_c->ops->endpoint_reset(kit_c, in);
		ehci_model_send(m, "abcdefghij", 10);
		CHECK_EQ(kit_wait(kit_submit(0, in, 13), 20), USB_OK);
		CHECK_EQ(kit_t[0].actual, 10);
		CHECK(memcmp(kit_t[0].data, "abcdefghij", 10) == 0);
	}
	kit_end();
}

/* The toggle is forgotten also where the endpoint was not halted. */
static void reset_of_a_good_endpoint(void)
{
	kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	struct usb_endpoint *in = kit_end_open(d, 0x81, USB_BULK, 512, 0);
	struct ehci_model_end *m = kit_model_end(in);
	ehci_model_send(m, "one", 3);
	CHECK_EQ(kit_wait(kit_submit(0, in, 13), 20), USB_OK);
	kit_c->ops->endpoint_reset(kit_c, in);
	m->toggle = false;
	ehci_model_send(m, "two", 3);
	CHECK_EQ(kit_wait(kit_submit(0, in, 13), 30), USB_OK);
	CHECK(memcmp(kit_t[0].data, "two", 3) == 0);
	kit_end();
}

static void errors_and_babble(void)
{
	kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	struct usb_endpoint *in = kit_end_open(d, 0x81, USB_BULK, 512, 0);
	struct ehci_model_device *m = &kit_model.device[1];
	m->errors = 2; /* less than three in a row */
	kit_alive(d);
	m->errors = 3;
	CHECK_EQ(kit_wait(kit_request(0, d, 0x80, 6, 0x100, 0, 18), 20), USB_FAILED);
	kit_alive(d);
	ehci_model_send(kit_model_end(in), "x", 1);
	m->babble = 600;
	CHECK_EQ(kit_wait(kit_submit(0, in, 13), 20), USB_FAILED);
	CHECK_EQ(kit_t[0].actual, 0);
	m->babble = 0;
	kit_alive(d);
	m->silent = true;
	CHECK_EQ(kit_wait(kit_request(0, d, 0x80, 6, 0x100, 0, 18), 20), USB_FAILED);
	m->silent = false;
	kit_alive(d);
	kit_end();
}

static void cancel(void)
{
	kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	struct usb_endpoint *in = kit_end_open(d, 0x81, USB_BULK, 512, 0);
	struct usb_endpoint *key = kit_end_open(d, 0x83, USB_INTERRUPT, 8, 8);
	struct ehci_model_device *m = &kit_model.device[1];
	for (unsigned i = 0; i < 20; i++) {
		kit_submit(0, in, 4096);
		kit_submit(1, key, 8);
		kit_ms(i);
		kit_c->ops->cancel(kit_c, &kit_t[0]);
		kit_c->ops->cancel(kit_c, &kit_t[1]);
		CHECK_EQ(kit_wait(&kit_t[0], 30), USB_CANCELLED);
		CHECK_EQ(kit_wait(&kit_t[1], 30), USB_CANCELLED);
		/* Both go on where they were. */
		ehci_model_send(&m->in[1], "bulk", 4);
		ehci_model_send(&m->in[3], "key", 3);
		CHECK_EQ(kit_wait(kit_submit(0, in, 4096), 40), USB_OK);
		CHECK_EQ(kit_wait(kit_submit(1, key, 8), 40), USB_OK);
		CHECK(memcmp(kit_t[0].data, "bulk", 4) == 0);
		CHECK(memcmp(kit_t[1].data, "key", 3) == 0);
	}
	for (unsigned i = 0; i < 20; i++) { /* the next one at once */
		kit_submit(1, key, 8);
		kit_ms(1 + i);
		kit_c->ops->cancel(kit_c, &kit_t[1]);
		CHECK_EQ(kit_wait(&kit_t[1], 30), USB_CANCELLED);
	}
	m->nak = true;
	kit_request(2, d, 0x80, 6, 0x100, 0, 18);
	kit_ms(5);
	kit_c->ops->cancel(kit_c, &kit_t[2]);
	CHECK_EQ(kit_wait(&kit_t[2], 20), USB_CANCELLED);
	m->nak = false;
	kit_alive(d);
	kit_end();
}

/* What the controller did before it let go counts. */
static void cancel_too_late(void)
{
	kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	struct usb_endpoint *in = kit_end_open(d, 0x81, USB_BULK, 512, 0);
	kit_submit(0, in, 13);
	kit_ms(5);
	ehci_model_send(kit_model_end(in), "0123456789", 10);
	kit_c->ops->cancel(kit_c, &kit_t[0]);
	CHECK_EQ(kit_wait(&kit_t[0], 30), USB_OK);
	CHECK_EQ(kit_t[0].actual, 10);
	CHECK(memcmp(kit_t[0].data, "0123456789", 10) == 0);
	kit_end();
}

/* A transfer that was not begun yet is given back at once. */
static void cancel_before_the_start(void)
{
	kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	struct usb_endpoint *in = kit_end_open(d, 0x81, USB_BULK, 512, 0);
	kit_submit(0, in, 512);
	kit_ms(3);
	kit_c->ops->cancel(kit_c, &kit_t[0]);
	kit_c->ops->cancel(kit_c, &kit_t[0]);
	CHECK_EQ(kit_wait(&kit_t[0], 30), USB_CANCELLED);
	ehci_model_send(kit_model_end(in), "x", 1);
	CHECK_EQ(kit_wait(kit_submit(0, in, 512), 30), USB_OK);
	/* The queue is on its way out for the sake of its toggle. */
	kit_model.iaa_stuck = true;
	kit_alive(d);
	kit_c->ops->endpoint_reset(kit_c, in);
	kit_submit(1, in, 512);
	kit_ms(3);
	kit_c->ops->endpoint_reset(kit_c, in);
	kit_c->ops->cancel(kit_c, &kit_t[1]);
	CHECK_EQ(kit_wait(&kit_t[1], 600), USB_CANCELLED);
	kit_end();
}

static void device_vanishes(void)
{
	for (uint32_t token = 1; token < 12; token++) {
		kit_begin(4, 1);
		struct usb_device *d = kit_device_at_1(1);
		struct usb_endpoint *in = kit_end_open(d, 0x81, USB_BULK, 512, 0);
		struct ehci_model_device *m = &kit_model.device[1];
		uint8_t text[4096] = {0};
		ehci_model_send(&m->in[1], text, sizeof text);
		m->vanish_in = token;
		struct usb_transfer *t = kit_submit(0, in, 4096);
		unsigned status = kit_wait(t, 20);
		CHECK_EQ(status, token <= 8 ? USB_FAILED : USB_OK);
		CHECK_EQ(kit_bits(1) & USB_PORT_CONNECTED, token <= 8 ? 0 : USB_PORT_CONNECTED);
		kit_c->ops->device_close(kit_c, d);
		CHECK(in->hc == NULL);
		kit_ms(20);
		kit_end();
	}
}

/* Transfers end with their device at once, whatever the controller does. */
static void close_with_transfers(void)
{
	kit_begin(4, 1);
	for (unsigned i = 0; i < 300; i++) {
		struct usb_device *d = i ? kit_open(1, NULL) : kit_device_at_1(1);
		struct ehci_model_device *m = &kit_model.device[1];
		struct usb_endpoint *in = kit_end_open(d, 0x81, USB_BULK, 512, 0);
		struct usb_endpoint *key =
		        kit_end_open(d, 0x82, USB_INTERRUPT, 8, (uint8_t)(i % 9));
		if (!in || !key) {
			CHECK(in && key);
			return;
		}
		m->in[1].toggle = m->in[2].toggle = false;
		ehci_model_send(&m->in[2], "key", 3);
		CHECK_EQ(kit_wait(kit_submit(1, key, 8), 20), USB_OK);
		kit_submit(0, in, 4096);
		kit_submit(1, key, 8);
		m->nak = true;
		kit_request(2, d, 0x80, 6, 0x100, 0, 18);
		kit_ms(i % 5);
		unsigned before = kit_dones;
		kit_c->ops->device_close(kit_c, d);
		CHECK_EQ(kit_dones, before + 3);
		for (unsigned k = 0; k < 3; k++)
			CHECK_EQ(kit_t[k].status, USB_GONE);
		memset(d, 0xee, sizeof *d); /* the driver never touches it again */
		m->nak = false;
		m->config_len = 18;
		kit_ms(40 +
		       i % 30); /* the core waits longer, too, before an address is used again */
	}
	kit_ms(100);
	CHECK_EQ(kit_failures, 0);
	kit_end();
}

static void set_address(void)
{
	kit_begin(4, 1);
	struct ehci_model_device *m = ehci_model_device(&kit_model, 1, USB_HIGH);
	ehci_model_plug(&kit_model, m, NULL, 1);
	kit_ms(1);
	CHECK(kit_reset(1) & USB_PORT_ENABLED);
	struct usb_device *d = kit_open(1, NULL);
	d->address = m->address = 0;
	kit_alive(d);
	CHECK_EQ(kit_wait(kit_request(0, d, 0, 5, 42, 0, 0), 20), USB_OK);
	CHECK_EQ(m->address, 42);
	d->address = 42;
	kit_c->ops->device_changed(kit_c, d);
	kit_alive(d);
	kit_end();
}

/* More transfers than buffers: the last ones wait. */
static void many_transfers_at_once(void)
{
	kit_begin(4, 1);
	struct usb_device *d[6];
	struct usb_endpoint *in[6][8];
	d[0] = kit_device_at_1(1);
	for (unsigned i = 1; i < 6; i++)
		d[i] = d[0];
	unsigned n = 0;
	for (unsigned k = 0; k < 8; k++, n++)
		in[0][k] = kit_end_open(d[0], (uint8_t)(0x81 + k), USB_BULK, 512, 0);
	struct usb_endpoint more[6];
	for (unsigned k = 0; k < 6; k++) {
		more[k] = *in[0][0];
		more[k].hc = NULL;
		more[k].address = (uint8_t)(0x89 + k);
		kit_model.device[1].in[9 + k].size = 512;
		CHECK(kit_c->ops->endpoint_open(kit_c, &more[k]));
	}
	for (unsigned k = 0; k < 14; k++) {
		uint8_t text[4096];
		kit_pattern(text, sizeof text, k);
		ehci_model_send(&kit_model.device[1].in[1 + k], text, sizeof text);
		kit_submit(k, k < 8 ? in[0][k] : &more[k - 8], 4096);
	}
	for (unsigned k = 0; k < 14; k++) {
		CHECK_EQ(kit_wait(&kit_t[k], 50), USB_OK);
		CHECK_EQ(kit_t[k].actual, 4096);
		CHECK(kit_same(kit_t[k].data, 4096, k));
	}
	kit_end();
}

static void endpoints_run_out(void)
{
	kit_begin(4, 1);
	static struct usb_device d[EHCI_QUEUES + 2];
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < EHCI_QUEUES + 2; i++) {
			d[i] = (struct usb_device){.speed = USB_HIGH, .address = (uint8_t)i};
			CHECK_EQ(kit_c->ops->device_open(kit_c, &d[i]), i < EHCI_QUEUES);
		}
		for (unsigned i = 0; i < EHCI_QUEUES; i++)
			kit_c->ops->device_close(kit_c, &d[i]);
		kit_ms(1);
	}
	kit_end();
}

static void endpoints_that_lie(void)
{
	kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	CHECK(!kit_end_open(d, 0x81, USB_BULK, 0, 0));
	CHECK(!kit_end_open(d, 0x81, USB_BULK, 0x7ff, 0));
	CHECK(!kit_end_open(d, 0x81, USB_ISOCHRONOUS, 512, 1));
	CHECK(!kit_end_open(d, 0x81, USB_CONTROL, 64, 1));
	struct usb_endpoint *e = kit_end_open(d, 0x81, USB_INTERRUPT, 0x1008, 0); /* bits 12:11 */
	CHECK(e != NULL);
	kit_submit(0, e, 8);
	kit_ms(20);
	struct usb_device full = {.speed = USB_FULL}, super = {.speed = USB_SUPER};
	CHECK(!kit_c->ops->device_open(kit_c, &full));
	CHECK(!kit_c->ops->device_open(kit_c, &super));
	kit_t[1].endpoint = &d->control;
	kit_t[1].len = 4097;
	CHECK(!kit_c->ops->submit(kit_c, &kit_t[1]));
	kit_end();
}

int main(void)
{
	TEST(control_transfers);
	TEST(control_reads_of_every_length);
	TEST(bulk_transfers);
	TEST(interrupt_transfers);
	TEST(stall_of_endpoint_0);
	TEST(stall_of_a_bulk_endpoint);
	TEST(reset_of_a_good_endpoint);
	TEST(errors_and_babble);
	TEST(cancel);
	TEST(cancel_too_late);
	TEST(cancel_before_the_start);
	TEST(device_vanishes);
	TEST(close_with_transfers);
	TEST(set_address);
	TEST(many_transfers_at_once);
	TEST(endpoints_run_out);
	TEST(endpoints_that_lie);
	return tap_done();
}
