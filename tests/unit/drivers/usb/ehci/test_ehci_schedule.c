/* The schedules of the EHCI driver: the doorbell, on and off, interrupt queues that come and go. */
#include "tests/unit/drivers/usb/ehci/ehci_kit.h"

static void doorbell_without_answer(void)
{
	kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	struct usb_endpoint *in = kit_end_open(d, 0x81, USB_BULK, 512, 0);
	kit_model.iaa_lost = true;
	for (unsigned i = 0; i < 10; i++) {
		kit_submit(0, in, 512);
		kit_ms(5);
		kit_c->ops->cancel(kit_c, &kit_t[0]);
		CHECK_EQ(kit_wait(&kit_t[0], 40), USB_CANCELLED);
		kit_alive(d);
	}
	CHECK_EQ(kit_failures, 0);
	kit_end();
}

/* A controller that does not take notice of the doorbell cannot be used. */
static void doorbell_never_taken(void)
{
	kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	struct usb_endpoint *in = kit_end_open(d, 0x81, USB_BULK, 512, 0);
	kit_model.iaa_stuck = true;
	kit_submit(0, in, 512);
	kit_ms(5);
	kit_c->ops->cancel(kit_c, &kit_t[0]);
	kit_ms(400);
	CHECK_EQ(kit_failures, 0);
	CHECK(kit_t[0].active);
	kit_ms(200);
	CHECK_EQ(kit_failures, 1);
	CHECK_STR(kit_reason, "it does not let go of a queue");
	kit_c->ops->device_close(kit_c, d);
	CHECK_EQ(kit_t[0].status, USB_GONE);
	kit_end();
}

/* A controller that still works on a queue when it answers for the first time. */
static void doorbell_answered_early(void)
{
	kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	struct usb_endpoint *in = kit_end_open(d, 0x81, USB_BULK, 512, 0);
	kit_model.late_write = true;
	for (unsigned i = 0; i < 10; i++) {
		kit_submit(0, in, 512);
		kit_ms(5);
		kit_c->ops->cancel(kit_c, &kit_t[0]);
		CHECK_EQ(kit_wait(&kit_t[0], 20), USB_CANCELLED);
		kit_submit(0, in, 256);
		kit_ms(5);
		kit_c->ops->cancel(kit_c, &kit_t[0]);
		CHECK_EQ(kit_wait(&kit_t[0], 20), USB_CANCELLED);
	}
	kit_end();
}

/* The asynchronous schedule ends when nothing uses it, and starts again. */
static void schedules_go_off_and_on(void)
{
	kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	struct usb_endpoint *key = kit_end_open(d, 0x81, USB_INTERRUPT, 8, 8);
	for (unsigned i = 0; i < 5; i++) {
		kit_alive(d);
		CHECK(kit_model.sts & STS_ASS);
		kit_ms(200);
		CHECK(!(kit_model.sts & STS_ASS));
	}
	CHECK(!(kit_model.sts & STS_PSS));
	kit_submit(0, key, 8);
	kit_ms(300);
	CHECK(kit_model.sts & STS_PSS);
	CHECK(!(kit_model.sts & STS_ASS));
	kit_c->ops->device_close(kit_c, d);
	kit_ms(100);
	CHECK(!(kit_model.sts & (STS_ASS | STS_PSS)));
	CHECK_EQ(kit_model.doorbells, 0); /* a schedule that does not run needs none */
	kit_end();
}

/* Schedules that follow their switches late are not switched meanwhile. */
static void schedules_that_lag(void)
{
	kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	for (unsigned i = 0; i < 40; i++) {
		kit_model.lag_us = 500 * (i % 20);
		struct usb_endpoint *key = kit_end_open(d, 0x81, USB_INTERRUPT, 8, 8);
		kit_submit(0, key, 8);
		kit_ms(i % 13);
		kit_c->ops->device_close(kit_c, d);
		kit_ms(i % 11);
		d = kit_open(1, NULL);
		kit_model.device[1].config_len = 18;
		kit_alive(d);
		kit_ms(90 + i % 30);
	}
	CHECK_EQ(kit_failures, 0);
	kit_end();
}

/* The periodic schedule is needed while a doorbell is not answered. */
static void schedule_starts_while_the_doorbell_rings(void)
{
	kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	struct usb_endpoint *in = kit_end_open(d, 0x81, USB_BULK, 512, 0);
	struct usb_endpoint *key = kit_end_open(d, 0x82, USB_INTERRUPT, 8, 8);
	kit_submit(0, in, 512);
	kit_ms(5);
	kit_c->ops->cancel(kit_c, &kit_t[0]);
	kit_ms(1);
	CHECK(kit_model.cmd & CMD_IAAD);
	ehci_model_send(kit_model_end(key), "key", 3);
	CHECK_EQ(kit_wait(kit_submit(1, key, 8), 20), USB_OK);
	CHECK_EQ(kit_t[0].status, USB_CANCELLED);
	kit_end();
}

/* Endpoints of each frame are served also where all frames have others. */
static void interrupt_endpoints_of_both_kinds(void)
{
	kit_begin(4, 1);
	struct usb_device *d = kit_device_at_1(1);
	static struct usb_endpoint e[12];
	for (unsigned i = 0; i < 12; i++) {
		e[i] = (struct usb_endpoint){.device = d,
		                             .address = (uint8_t)(0x81 + i),
		                             .kind = USB_INTERRUPT,
		                             .interval = i < 10 ? 8 : 4,
		                             .max_packet = 8};
		kit_model.device[1].in[1 + i].size = 8;
		CHECK(kit_c->ops->endpoint_open(kit_c, &e[i]));
		kit_submit(i, &e[i], 8);
	}
	kit_ms(20);
	for (unsigned i = 0; i < 32; i++)
		for (unsigned k = 10; k < 12; k++) {
			ehci_model_send(&kit_model.device[1].in[1 + k], "fast", 4);
			CHECK_EQ(kit_wait(&kit_t[k], 2), USB_OK);
			kit_submit(k, &e[k], 8);
		}
	for (unsigned k = 0; k < 10; k++) {
		ehci_model_send(&kit_model.device[1].in[1 + k], "slow", 4);
		CHECK_EQ(kit_wait(&kit_t[k], 10), USB_OK);
	}
	kit_end();
}

/* In whatever order interrupt queues come and go, all of them are served. */
static void interrupt_queues_come_and_go(void)
{
	kit_begin(4, 1);
	struct usb_device *hub = kit_hub(false);
	struct usb_device *d[8] = {0};
	struct usb_endpoint *e[8] = {0};
	uint32_t x = 12345;
	for (unsigned round = 0; round < 200; round++) {
		x = x * 1103515245u + 12345;
		unsigned i = 1 + (x >> 16) % 7;
		if (d[i]) {
			kit_c->ops->device_close(kit_c, d[i]);
			d[i] = NULL;
		} else {
			d[i] = kit_behind(i, hub, (uint8_t)i, USB_HIGH);
			e[i] = kit_end_open(d[i], 0x81, USB_INTERRUPT, 8, x >> 20 & 15);
			kit_submit(i, e[i], 8);
		}
		kit_ms(x >> 28);
		for (unsigned k = 1; k < 8; k++) {
			if (!d[k])
				continue;
			ehci_model_send(kit_model_end(e[k]), &k, 4);
			CHECK_EQ(kit_wait(&kit_t[k], 20), USB_OK);
			CHECK_EQ(load32(kit_t[k].data), k);
			kit_submit(k, e[k], 8);
		}
	}
	kit_end();
}

int main(void)
{
	TEST(doorbell_without_answer);
	TEST(doorbell_never_taken);
	TEST(doorbell_answered_early);
	TEST(schedules_go_off_and_on);
	TEST(schedules_that_lag);
	TEST(schedule_starts_while_the_doorbell_rings);
	TEST(interrupt_endpoints_of_both_kinds);
	TEST(interrupt_queues_come_and_go);
	return tap_done();
}
