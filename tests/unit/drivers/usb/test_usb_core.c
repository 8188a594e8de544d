/* drivers/usb: controllers, ports, enumeration and transfers, with a fake controller. */
#include "tests/unit/drivers/usb/usb_kit.h"

static struct usb_fake_device device[8];

/* --- controllers ------------------------------------------------------------------------ */

/* All are taken before the first is probed, which the model checks; then in the order of the list.
 */
static void controllers_start_in_the_order_of_the_list(void)
{
	kit_reset();
	usb_fake_init(&fake[0], 0, 0xfe, 2);
	usb_fake_init(&fake[1], 1, 0xfd, 3);
	usb_fake_init(&fake[2], 2, 0xfe, 1);
	usb_init();
	CHECK_EQ(kit_said("usb0: fake, pci 00:04.0, 3 ports"), 1);
	CHECK_EQ(kit_said("usb1: fake, pci 00:03.0, 2 ports"), 1);
	CHECK_EQ(kit_said("usb2: fake, pci 00:05.0, 1 ports"), 1);
	CHECK_EQ(kit_count("usb_controllers"), 3);
	kit_end();
}

/* The firmware of all is asked at once, and all have one second together. One that cannot be asked
 * holds nobody up. */
static void the_firmware_has_a_second_for_all(void)
{
	for (uint32_t never = 0; never < 2; never++) {
		kit_reset();
		for (uint32_t i = 0; i < 3; i++)
			usb_fake_init(&fake[i], i, i == 1 ? 0xfe : 0xfd, 2);
		fake[0].firmware_us = 900000;
		fake[1].firmware_us = never ? 5000000 : 800000;
		fake[2].firmware_us = never ? 5000000 : 300000;
		uint64_t before = host_now_us;
		usb_init();
		uint64_t took = host_now_us - before;
		CHECK(never ? took >= 1000000 && took < 1010000 : took >= 900000 && took < 910000);
		CHECK_EQ(kit_count("usb_controllers"), 3);
		CHECK(!fake[0].forced && fake[1].forced == never && fake[2].forced == never);
		kit_end();
	}
	kit_reset();
	for (uint32_t i = 0; i < 2; i++) {
		usb_fake_init(&fake[i], i, 0xfd, 2);
		fake[i].firmware_us = 5000;
	}
	fake[0].ask_fails = "has no registers";
	usb_init();
	CHECK_EQ(kit_said("pci 00:03.0: first: has no registers"), 1);
	CHECK(!fake[0].taken && !pci_model_can_master(&fake[0].pci));
	CHECK(fake[1].taken && !fake[1].forced);
	CHECK_EQ(kit_count("usb_controllers"), 1);
	kit_end();
}

static void a_controller_that_fails_is_cut_off(void)
{
	kit_reset();
	for (uint32_t i = 0; i < 3; i++)
		usb_fake_init(&fake[i], i, 0xfd, 2);
	fake[0].take_fails = "the firmware keeps it";
	fake[1].probe_fails = "does not reset";
	usb_init();
	CHECK_EQ(kit_said("pci 00:03.0: first: the firmware keeps it"), 1);
	CHECK_EQ(kit_said("pci 00:04.0: first: does not reset"), 1);
	CHECK_EQ(kit_said("usb0: fake, pci 00:05.0"), 1);
	CHECK(!pci_model_can_master(&fake[0].pci) && !pci_model_can_master(&fake[1].pci));
	CHECK(pci_model_can_master(&fake[2].pci));
	kit_end();
}

/* They are taken, but nothing can be done with them. */
static void without_memory_all_are_cut_off(void)
{
	kit_reset();
	usb_fake_init(&fake[0], 0, 0xfd, 2);
	usb_fake_init(&fake[1], 1, 0xfe, 2);
	while (alloc_largest() > 100 && alloc_raw(64, 1))
		;
	usb_init();
	CHECK_EQ(kit_said("usb: not enough memory"), 1);
	CHECK(!usb_bus(0));
	for (uint32_t i = 0; i < 2; i++)
		CHECK(fake[i].taken && !pci_model_can_master(&fake[i].pci));
	kit_end();
}

static void without_controllers_nothing_happens(void)
{
	char line[100];
	uint64_t cursor = 0;
	kit_reset();
	usb_init();
	size_t left = alloc_left();
	CHECK(!usb_poll(host_now_us) && !usb_busy());
	CHECK(!usb_show(&cursor, line, sizeof line));
	CHECK_EQ(alloc_left(), left);
	usb_stop();
	kit_end();
}

static void stop_ends_everything(void)
{
	struct usb_fake *f = kit_start();
	usb_fake_keyboard(&device[0], USB_FULL);
	usb_fake_plug(f, 1, &device[0]);
	kit_run(1000);
	CHECK_EQ(kit_attached, 1);
	usb_stop();
	CHECK(f->stopped && !pci_model_can_master(&f->pci));
	kit_run(1000);
	kit_end();
}

/* At the end all have 20 ms together; one that goes on is cut off. */
static void stop_waits_for_all_together(void)
{
	kit_reset();
	for (uint32_t i = 0; i < 3; i++) {
		usb_fake_init(&fake[i], i, 0xfd, 2);
		fake[i].slow_stop = i == 0 ? 100 : 100000;
	}
	usb_init();
	uint64_t before = host_now_us;
	usb_stop();
	CHECK(host_now_us - before >= 20000 && host_now_us - before < 21000);
	CHECK_EQ(fake[0].stops, 101);
	for (uint32_t i = 0; i < 3; i++)
		CHECK(fake[i].stopped && !pci_model_can_master(&fake[i].pci));
	kit_end();
}

/* --- enumeration ------------------------------------------------------------------------ */

static void a_keyboard_that_is_there_at_the_start(void)
{
	kit_reset();
	usb_fake_init(&fake[0], 0, 0xfd, 4);
	usb_fake_keyboard(&device[0], USB_LOW);
	usb_fake_plug(&fake[0], 3, &device[0]);
	usb_init();
	kit_run(1000);
	CHECK_EQ(kit_attached, 1);
	CHECK_EQ(kit_said("usb0-3: 0627:0001, low speed, keyboard"), 1);
	CHECK_STR(kit_line("usb0-3"),
	          "usb0-3 low id=0627:0001 address=1 class=3/1/1 driver=keyboard");
	CHECK_STR(kit_line("usb0 "), "usb0 fake pci=00:03.0 id=1b36:0010 ports=4");
	const struct usb_device *d = kit_state[0].device;
	CHECK_EQ(d->speed, USB_LOW);
	CHECK_EQ(d->port, 3);
	CHECK_EQ(d->address, 1);
	CHECK_EQ(device[0].address, 1);
	CHECK_EQ(device[0].configuration, 1);
	CHECK(!d->hub && !d->tt_hub && d->depth == 0 && d->route == 0);
	CHECK_EQ(kit_state[0].interface->n_endpoints, 1);
	const struct usb_endpoint *e = kit_state[0].interface->endpoint[0];
	CHECK(e->address == 0x81 && e->kind == USB_INTERRUPT && e->max_packet == 8 &&
	      e->interval == 10);
	CHECK_EQ(kit_count("usb_devices"), 1);
	CHECK_EQ(kit_count("usb_enumerations"), 1);
	CHECK_EQ(kit_count("usb_enumeration_failures"), 0);
	kit_end();
}

/* The packets of endpoint 0 are as the first eight bytes say; endpoints as their descriptors. */
static void sticks_of_all_speeds(void)
{
	static const uint16_t packet0[] = {0, 64, 64, 512}, bulk[] = {0, 64, 512, 1024};
	for (uint8_t speed = USB_FULL; speed <= USB_SUPER; speed++) {
		struct usb_fake *f = kit_start();
		usb_fake_stick(&device[0], speed);
		usb_fake_plug(f, 1, &device[0]);
		kit_run(1000);
		CHECK_EQ(kit_attached, 1);
		const struct usb_interface *i = kit_state[0].interface;
		CHECK_EQ(kit_state[0].device->control.max_packet, packet0[speed]);
		CHECK_EQ(i->n_endpoints, 2);
		CHECK_EQ(i->endpoint[0]->max_packet, bulk[speed]);
		CHECK_EQ(i->endpoint[1]->address, 2);
		CHECK_EQ(i->endpoint[1]->burst, speed == USB_SUPER ? 7 : 0);
		CHECK_EQ(f->changed, speed == USB_FULL ? 2 : 1); /* endpoint 0, address */
		kit_end();
	}
}

/* A controller that gives addresses by itself: the core takes over what it chose. */
static void the_controller_gives_the_address(void)
{
	struct usb_fake *f = kit_start();
	f->gives_addresses = true;
	f->opened = 41;
	usb_fake_keyboard(&device[0], USB_FULL);
	usb_fake_plug(f, 1, &device[0]);
	kit_run(1000);
	CHECK_EQ(kit_state[0].device->address, 42);
	CHECK_EQ(f->changed, 0);
	kit_end();
}

/* Two devices plugged in at once are enumerated one after the other: the model would see two at
 * address 0. */
static void one_device_at_address_0(void)
{
	struct usb_fake *f = kit_start();
	for (uint8_t i = 0; i < 4; i++) {
		usb_fake_keyboard(&device[i], USB_FULL);
		usb_fake_plug(f, (uint8_t)(i + 1), &device[i]);
	}
	kit_run(3000);
	CHECK_EQ(kit_attached, 4);
	for (unsigned i = 0; i < 4; i++)
		CHECK(device[i].address >= 1 && device[i].address <= 4);
	kit_end();
}

static void unplugged_and_plugged_in_again(void)
{
	struct usb_fake *f = kit_start();
	usb_fake_keyboard(&device[0], USB_FULL);
	usb_fake_plug(f, 2, &device[0]);
	kit_run(1000);
	CHECK_EQ(kit_attached, 1);
	usb_fake_plug(f, 2, NULL);
	kit_run(300);
	CHECK_EQ(kit_detached, 1);
	CHECK_EQ(kit_state[0].done, 1);
	CHECK(kit_state[0].status == USB_FAILED || kit_state[0].status == USB_GONE);
	CHECK_EQ(kit_said("usb0-2: gone"), 1);
	CHECK_EQ(kit_count("usb_devices"), 0);
	CHECK_EQ(f->closed, f->opened);
	usb_fake_plug(f, 2, &device[0]);
	kit_run(1000);
	CHECK_EQ(kit_attached, 2);
	CHECK_EQ(kit_state[0].device->address, 2); /* not at once that of another one */
	/* Too fast for a look at the port: its change bit says it. */
	usb_fake_plug(f, 2, NULL);
	usb_fake_plug(f, 2, &device[0]);
	kit_run(1000);
	CHECK_EQ(kit_attached, 3);
	CHECK_EQ(kit_detached, 2);
	kit_end();
}

/* 127 addresses: those of devices that are gone are given again, those in use are not. */
static void addresses_are_given_again(void)
{
	struct usb_fake *f = kit_start();
	for (unsigned i = 0; i < 2; i++) {
		usb_fake_keyboard(&device[i], USB_FULL);
		usb_fake_plug(f, (uint8_t)(i + 1), &device[i]);
	}
	kit_run(1500);
	CHECK_EQ(kit_attached, 2);
	uint8_t kept = device[0].address;
	for (unsigned i = 0; i < 130; i++) {
		usb_fake_plug(f, 2, NULL);
		kit_run(10000);
		usb_fake_plug(f, 2, &device[1]);
		kit_run(1000);
		CHECK(device[1].address != 0 && device[1].address != kept);
	}
	CHECK_EQ(kit_attached, 2 + 130);
	kit_end();
}

static void a_device_without_a_driver_is_left_alone(void)
{
	static uint8_t config[34];
	struct usb_fake *f = kit_start();
	usb_fake_keyboard(&device[0], USB_FULL);
	memcpy(config, device[0].config, sizeof config);
	config[14] = 0xff;
	device[0].config = config;
	usb_fake_plug(f, 1, &device[0]);
	kit_run(1000);
	CHECK_EQ(kit_attached, 0);
	CHECK_EQ(device[0].configuration, 0);
	CHECK_EQ(f->endpoints, 0);
	CHECK_EQ(kit_said("usb0-1: 0627:0001, full speed, no driver"), 1);
	CHECK_STR(kit_line("usb0-1"), "usb0-1 full id=0627:0001 address=1 class=0 driver=none");
	kit_end();
}

/* A class may look at an interface and leave it. */
static void a_class_that_refuses(void)
{
	struct usb_fake *f = kit_start();
	kit_refuses = true;
	usb_fake_keyboard(&device[0], USB_FULL);
	usb_fake_plug(f, 1, &device[0]);
	kit_run(1000);
	CHECK_EQ(kit_said("usb0-1: 0627:0001, full speed, no driver"), 1);
	usb_fake_plug(f, 1, NULL);
	kit_run(300);
	CHECK_EQ(kit_detached, 0);
	kit_end();
}

/* The reset shows that the device belongs to a companion: not a word, and no further attempt. */
static void a_device_of_a_companion(void)
{
	struct usb_fake *f = kit_start();
	f->companion = true;
	usb_fake_keyboard(&device[0], USB_FULL);
	usb_fake_plug(f, 1, &device[0]);
	kit_run(5000);
	CHECK_EQ(kit_count("usb_enumerations"), 1);
	CHECK_EQ(kit_count("usb_enumeration_failures"), 0);
	CHECK_EQ(kit_said("usb0-1"), 0);
	CHECK_EQ(device[0].requests, 0);
	kit_end();
}

/* --- transfers --------------------------------------------------------------------------- */

static unsigned n_done;
static struct usb_transfer *order[4];

static void note(struct usb_transfer *t)
{
	order[n_done++ % 4] = t;
}

static struct usb_transfer *control(struct usb_device *d)
{
	struct usb_transfer *t = alloc(sizeof *t, 64);
	usb_control(t, d, 0x80, 6, 0x100, 0, alloc(64, 64), 18);
	t->done = note;
	return t;
}

static struct usb_device *start_keyboard(void)
{
	struct usb_fake *f = kit_start();
	usb_fake_keyboard(&device[0], USB_FULL);
	usb_fake_plug(f, 1, &device[0]);
	kit_run(1000);
	CHECK_EQ(kit_attached, 1);
	n_done = 0;
	return kit_state[0].device;
}

/* Classes of one device share endpoint 0: their requests wait for each other. */
static void transfers_of_endpoint_0_wait(void)
{
	struct usb_device *d = start_keyboard();
	struct usb_transfer *t[3] = {control(d), control(d), control(d)};
	CHECK(!usb_busy());
	for (unsigned i = 0; i < 3; i++)
		CHECK(usb_submit(t[i]));
	CHECK(!usb_submit(t[0])); /* it is under way */
	CHECK(usb_busy());
	usb_cancel(t[1]); /* it has not begun */
	CHECK_EQ(t[1]->status, USB_CANCELLED);
	kit_run(20);
	CHECK_EQ(n_done, 3);
	CHECK(order[0] == t[1] && order[1] == t[0] && order[2] == t[2]);
	CHECK(t[0]->status == USB_OK && t[0]->actual == 18 && t[2]->status == USB_OK);
	CHECK(!usb_busy());
	/* Other endpoints have one transfer. */
	struct usb_transfer more = *kit_state[0].t;
	more.active = false;
	CHECK(!usb_submit(&more));
	more.endpoint = &d->endpoint[5]; /* not open */
	CHECK(!usb_submit(&more));
	kit_end();
}

static int silent(struct usb_fake_device *d, const uint8_t setup[8], uint8_t *data, uint32_t len)
{
	(void)d, (void)setup, (void)data, (void)len;
	return USB_FAKE_SILENT;
}

static void a_deadline_cancels(void)
{
	struct usb_device *d = start_keyboard();
	struct usb_transfer *t = control(d);
	device[0].control = silent;
	t->timeout_ms = 300;
	CHECK(usb_submit(t));
	kit_run(40);
	CHECK(usb_busy());
	kit_run(40);
	CHECK(!usb_busy()); /* the answer takes long: no need to hurry */
	kit_run(200);
	CHECK_EQ(n_done, 0);
	fake[0].slow_cancel = true;
	kit_run(50);
	CHECK_EQ(n_done, 1);
	CHECK_EQ(t->status, USB_CANCELLED);
	CHECK_EQ(kit_count("usb_transfer_timeouts"), 1);
	/* One that nobody waits for does not hurry at all. */
	t->lazy = true;
	CHECK(usb_submit(t));
	CHECK(!usb_busy());
	usb_cancel(t);
	usb_cancel(t);
	kit_run(20);
	CHECK_EQ(n_done, 2);
	kit_end();
}

static void a_refused_transfer_fails_later(void)
{
	struct usb_device *d = start_keyboard();
	struct usb_transfer *t = control(d);
	fake[0].no_transfer = true;
	CHECK(usb_submit(t));
	CHECK_EQ(n_done, 0);
	kit_run(10);
	CHECK_EQ(n_done, 1);
	CHECK_EQ(t->status, USB_FAILED);
	kit_end();
}

/* A device that is gone takes no transfer, also inside the last `done`. */
static void resubmit(struct usb_transfer *t)
{
	n_done += t->status == USB_GONE;
	CHECK_EQ(usb_submit(t), t->status != USB_GONE);
}

static void nothing_is_submitted_to_a_gone_device(void)
{
	struct usb_device *d = start_keyboard();
	struct usb_transfer *t = control(d), *waiting = control(d);
	device[0].control = silent;
	t->done = waiting->done = resubmit;
	CHECK(usb_submit(t) && usb_submit(waiting));
	usb_fake_plug(&fake[0], 1, NULL);
	kit_run(200);
	CHECK_EQ(n_done, 2);
	kit_end();
}

int main(void)
{
	TEST(controllers_start_in_the_order_of_the_list);
	TEST(the_firmware_has_a_second_for_all);
	TEST(a_controller_that_fails_is_cut_off);
	TEST(without_memory_all_are_cut_off);
	TEST(without_controllers_nothing_happens);
	TEST(stop_waits_for_all_together);
	TEST(stop_ends_everything);
	TEST(a_keyboard_that_is_there_at_the_start);
	TEST(sticks_of_all_speeds);
	TEST(the_controller_gives_the_address);
	TEST(one_device_at_address_0);
	TEST(unplugged_and_plugged_in_again);
	TEST(addresses_are_given_again);
	TEST(a_device_without_a_driver_is_left_alone);
	TEST(a_class_that_refuses);
	TEST(a_device_of_a_companion);
	TEST(transfers_of_endpoint_0_wait);
	TEST(a_deadline_cancels);
	TEST(a_refused_transfer_fails_later);
	TEST(nothing_is_submitted_to_a_gone_device);
	return tap_done();
}
