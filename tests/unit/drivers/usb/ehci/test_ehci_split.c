/* Full- and low-speed devices behind high-speed hubs: split transactions of the EHCI driver. */
#include "tests/unit/drivers/usb/ehci/ehci_kit.h"

static void all_kinds_of_transfers(void)
{
	for (unsigned multi = 0; multi < 2; multi++) {
		kit_begin(4, 1);
		struct usb_device *hub = kit_hub(multi);
		for (unsigned i = 1; i <= 6; i++) {
			uint8_t speed = i % 2 ? USB_LOW : USB_FULL;
			struct usb_device *d = kit_behind(i, hub, (uint8_t)i, speed);
			kit_model.device[i].split_late = i / 2;
			kit_alive(d);
			uint16_t n = 300;
			kit_pattern(kit_memory, n, i);
			CHECK_EQ(kit_wait(kit_request(0, d, 0x21, 9, 0, 0, n), 100), USB_OK);
			CHECK(kit_same(kit_model.device[i].out[0].data, n, i));
			struct usb_endpoint *key =
			        kit_end_open(d, 0x81, USB_INTERRUPT, 8, (uint8_t)(i * 3));
			if (!key) {
				CHECK(key != NULL);
				continue;
			}
			kit_model.device[i].split_late = i % 3;
			for (unsigned k = 0; k < 10; k++) {
				uint8_t text[8];
				kit_pattern(text, 8, k);
				kit_submit(1, key, 8);
				CHECK_EQ(kit_wait(&kit_t[1], 5 * k), k ? 99 : 99);
				ehci_model_send(kit_model_end(key), text, 8);
				CHECK_EQ(kit_wait(&kit_t[1], 20), USB_OK);
				CHECK(kit_same(kit_t[1].data, 8, k));
			}
			if (speed == USB_LOW)
				continue;
			struct usb_endpoint *in = kit_end_open(d, 0x82, USB_BULK, 64, 0);
			struct usb_endpoint *out = kit_end_open(d, 3, USB_BULK, 64, 0);
			uint8_t text[4096];
			kit_pattern(text, 4096, i);
			ehci_model_send(kit_model_end(in), text, 4096);
			CHECK_EQ(kit_wait(kit_submit(2, in, 4096), 100), USB_OK);
			CHECK(kit_same(kit_t[2].data, 4096, i));
			kit_pattern(kit_memory + 3 * 4096, 4096, i + 1);
			CHECK_EQ(kit_wait(kit_submit(3, out, 4096), 100), USB_OK);
			CHECK(kit_same(kit_model_end(out)->data, 4096, i + 1));
		}
		CHECK_EQ(kit_model.device[0].cleared, 0);
		kit_end();
	}
}

/* The nearest high-speed hub and its port count, also through a full-speed hub. */
static void through_a_full_speed_hub(void)
{
	kit_begin(4, 1);
	struct usb_device *hub = kit_hub(true);
	struct usb_device *slow = kit_behind(1, hub, 5, USB_FULL);
	ehci_model_hub(&kit_model.device[1], 4, false);
	kit_alive(slow);
	struct usb_device *key = kit_behind(2, slow, 2, USB_LOW);
	CHECK_EQ(key->tt_port, 5);
	kit_alive(key);
	struct usb_device *stick = kit_behind(3, slow, 3, USB_FULL);
	kit_alive(stick);
	kit_end();
}

static void check_cleared(unsigned k, unsigned value, unsigned index)
{
	CHECK_EQ(kit_model.device[0].cleared_value[k], value);
	CHECK_EQ(kit_model.device[0].cleared_index[k], index);
}

/* Three errors in a row halt the queue. The translator is told to forget the transfer. */
static void errors_of_a_bulk_transfer(void)
{
	kit_begin(4, 1);
	struct usb_device *hub = kit_hub(false);
	struct usb_device *d = kit_behind(3, hub, 6, USB_FULL); /* address 13 */
	struct usb_endpoint *in = kit_end_open(d, 0x82, USB_BULK, 64, 0);
	struct usb_endpoint *out = kit_end_open(d, 1, USB_BULK, 64, 0);
	for (unsigned i = 0; i < 3; i++) {
		kit_model.device[3].errors = 2;
		ehci_model_send(kit_model_end(in), "good", 4);
		CHECK_EQ(kit_wait(kit_submit(0, in, 64), 20), USB_OK);
		CHECK_EQ(kit_model.device[0].cleared, 2 * i);
		kit_model.device[3].errors = 3;
		CHECK_EQ(kit_wait(kit_submit(0, in, 64), 20), USB_FAILED);
		kit_ms(30);
		CHECK_EQ(kit_model.device[0].cleared, 2 * i + 1);
		check_cleared(2 * i, 2 | 13 << 4 | 2 << 11 | 1 << 15, 1);
		kit_model.device[3].errors = 3;
		CHECK_EQ(kit_wait(kit_submit(1, out, 64), 20), USB_FAILED);
		kit_ms(30);
		CHECK_EQ(kit_model.device[0].cleared, 2 * i + 2);
		check_cleared(2 * i + 1, 1 | 13 << 4 | 2 << 11, 1);
		kit_alive(d);
	}
	kit_end();
}

/* A transfer that is cancelled between start-split and complete-split leaves a busy translator,
 * which no other device could use. */
static void cancelled_control_transfer(void)
{
	kit_begin(4, 1);
	struct usb_device *hub = kit_hub(true);
	struct usb_device *d = kit_behind(3, hub, 6, USB_LOW);
	kit_model.device[3].split_late = 1u << 30;
	kit_request(0, d, 0x80, 6, 0x100, 0, 18);
	kit_ms(5);
	kit_c->ops->cancel(kit_c, &kit_t[0]);
	CHECK_EQ(kit_wait(&kit_t[0], 30), USB_CANCELLED);
	CHECK(kit_model.tt[6].busy);
	kit_model.device[3].split_late = 0;
	kit_alive(d); /* waits for the hub */
	CHECK_EQ(kit_model.device[0].cleared, 2);
	check_cleared(0, 13 << 4 | 1 << 15, 6);
	check_cleared(1, 13 << 4, 6);
	CHECK(!kit_model.tt[6].busy);
	kit_end();
}

/* A STALL ends a transfer regularly, on both sides. */
static void stall(void)
{
	kit_begin(4, 1);
	struct usb_device *hub = kit_hub(false);
	struct usb_device *d = kit_behind(3, hub, 6, USB_LOW);
	kit_model.device[3].refuse = 6;
	CHECK_EQ(kit_wait(kit_request(0, d, 0x80, 6, 0x100, 0, 18), 20), USB_STALLED);
	kit_model.device[3].refuse = 0;
	kit_alive(d);
	CHECK_EQ(kit_model.device[0].cleared, 0);
	kit_end();
}

/* The device is pulled in the middle, or closed: the translator is free for the next one. */
static void device_closed_in_the_middle(void)
{
	kit_begin(4, 1);
	struct usb_device *hub = kit_hub(false);
	struct usb_device *d = kit_behind(3, hub, 6, USB_FULL);
	struct usb_device *other = kit_behind(4, hub, 2, USB_FULL);
	kit_model.device[3].split_late = 1u << 30;
	kit_request(0, d, 0x80, 6, 0x100, 0, 18);
	kit_ms(5);
	kit_c->ops->device_close(kit_c, d);
	CHECK_EQ(kit_t[0].status, USB_GONE);
	kit_ms(50);
	CHECK_EQ(kit_model.device[0].cleared, 2);
	check_cleared(0, 13 << 4 | 1 << 15, 1);
	kit_alive(other);
	kit_end();
}

/* The hub has no time for the transaction: for a while, or always. */
static void hub_is_busy(void)
{
	for (unsigned ever = 0; ever < 2; ever++) {
		kit_begin(4, 1);
		struct usb_device *hub = kit_hub(false);
		struct usb_device *d = kit_behind(3, hub, 6, USB_FULL);
		struct usb_endpoint *in = kit_end_open(d, 0x82, USB_BULK, 64, 0);
		kit_model.device[3].errors = 3;
		CHECK_EQ(kit_wait(kit_submit(0, in, 64), 20), USB_FAILED);
		ehci_model_send(kit_model_end(in), "good", 4);
		kit_submit(0, in, 64);
		kit_hub_busy = true;
		kit_ms(ever ? 3000 : 500);
		CHECK_EQ(kit_model.device[0].cleared, 0);
		CHECK_EQ(kit_t[0].active, !ever);
		kit_hub_busy = false;
		kit_ms(30);
		CHECK_EQ(kit_model.device[0].cleared, !ever);
		CHECK(!kit_t[0].active);
		kit_end();
	}
}

/* The hub is gone, with what is behind it, in either order. */
static void hub_is_gone(void)
{
	for (unsigned order = 0; order < 2; order++)
		for (unsigned ms = 0; ms < 12; ms++) {
			kit_begin(4, 1);
			struct usb_device *hub = kit_hub(false);
			struct usb_device *d = kit_behind(3, hub, 6, USB_FULL);
			kit_model.device[3].split_late = 1u << 30;
			kit_request(0, d, 0x80, 6, 0x100, 0, 200);
			kit_ms(5);
			kit_c->ops->cancel(kit_c, &kit_t[0]);
			kit_ms(ms);
			ehci_model_unplug(&kit_model, &kit_model.device[0]);
			kit_c->ops->device_close(kit_c, order ? d : hub);
			memset(order ? d : hub, 0xee, sizeof *d);
			kit_ms(ms % 3);
			kit_c->ops->device_close(kit_c, order ? hub : d);
			memset(order ? hub : d, 0xee, sizeof *d);
			kit_ms(100);
			CHECK(!kit_t[0].active);
			const struct ehci *e = ehci_of(kit_c);
			for (unsigned i = 0; i < EHCI_QUEUES; i++)
				CHECK_EQ(e->queue[i].place, EHCI_FREE);
			CHECK_EQ(e->pages_free, 0xff);
			kit_end();
		}
}

/* The controller misses a complete-split: the report may be lost, the next ones come. */
static void missed_microframes(void)
{
	kit_begin(4, 1);
	struct usb_device *hub = kit_hub(false);
	struct usb_device *d = kit_behind(3, hub, 6, USB_LOW);
	struct usb_endpoint *key = kit_end_open(d, 0x81, USB_INTERRUPT, 8, 10);
	for (unsigned i = 0; i < 5; i++) {
		kit_submit(0, key, 8);
		kit_ms(20);
		kit_model.miss = 1;
		CHECK_EQ(kit_wait(&kit_t[0], 20), USB_FAILED);
		ehci_model_send(kit_model_end(key), "next", 4);
		CHECK_EQ(kit_wait(kit_submit(0, key, 8), 30), USB_OK);
		CHECK(memcmp(kit_t[0].data, "next", 4) == 0);
	}
	CHECK_EQ(kit_model.device[0].cleared, 0); /* only control and bulk */
	kit_end();
}

/* The translator has no answer in time: an error each, three are a failure. */
static void answers_too_late(void)
{
	kit_begin(4, 1);
	struct usb_device *hub = kit_hub(false);
	struct usb_device *d = kit_behind(3, hub, 6, USB_LOW);
	struct usb_endpoint *key = kit_end_open(d, 0x81, USB_INTERRUPT, 8, 10);
	kit_submit(0, key, 8);
	kit_model.device[3].split_late = 100;
	CHECK_EQ(kit_wait(&kit_t[0], 50), USB_FAILED);
	kit_model.device[3].split_late = 2;
	ehci_model_send(kit_model_end(key), "next", 4);
	CHECK_EQ(kit_wait(kit_submit(0, key, 8), 30), USB_OK);
	kit_end();
}

/* A translator has time for so many keyboards; each hub has its own translators. */
static void bandwidth(void)
{
	for (unsigned multi = 0; multi < 2; multi++) {
		kit_begin(4, 1);
		struct usb_device *hub = kit_hub(multi);
		struct usb_device *d = kit_behind(1, hub, 1, USB_LOW);
		unsigned slow = 0, fast = 0;
		static struct usb_endpoint e[40];
		for (unsigned i = 0; i < 40; i++) {
			e[i] = (struct usb_endpoint){.device = d,
			                             .address = 0x81,
			                             .kind = USB_INTERRUPT,
			                             .interval = i < 20 ? 8 : 1,
			                             .max_packet = 8};
			bool opened = kit_c->ops->endpoint_open(kit_c, &e[i]);
			CHECK_EQ(opened, e[i].hc != NULL);
			slow += opened && i < 20;
			fast += opened && i >= 20;
		}
		CHECK_EQ(slow, 16); /* two in each of eight frames */
		CHECK_EQ(fast, 0);
		/* Another port has another translator, if the hub has several. */
		struct usb_device *o = kit_behind(2, hub, 2, USB_LOW);
		CHECK_EQ(kit_end_open(o, 0x81, USB_INTERRUPT, 8, 1) != NULL, multi);
		kit_end();
	}
}

int main(void)
{
	TEST(all_kinds_of_transfers);
	TEST(through_a_full_speed_hub);
	TEST(errors_of_a_bulk_transfer);
	TEST(cancelled_control_transfer);
	TEST(stall);
	TEST(device_closed_in_the_middle);
	TEST(hub_is_busy);
	TEST(hub_is_gone);
	TEST(missed_microframes);
	TEST(answers_too_late);
	TEST(bandwidth);
	return tap_done();
}
