/* drivers/usb/usb_hub: hubs of all speeds behind a fake controller. The model checks the order of
 * requests: power before a reset, C_PORT_CONNECTION cleared before it, one device at address 0. */
#include "tests/unit/drivers/usb/usb_kit.h"

static struct usb_fake_device hub[8], device[8];
static struct usb_fake_port port[8][16];

static void make_hub(unsigned i, uint8_t speed, uint8_t n_ports)
{
	usb_fake_hub(&hub[i], speed, port[i], n_ports);
}

/* Devices behind a hub of each speed, there before the hub is plugged in. */
static void devices_behind_a_hub(void)
{
	for (uint8_t speed = USB_FULL; speed <= USB_SUPER; speed++) {
		struct usb_fake *f = kit_start();
		make_hub(0, speed, 4);
		hub[0].power_delay = 250; /* half a second */
		usb_fake_plug(f, 2, &hub[0]);
		if (speed == USB_SUPER)
			usb_fake_stick(&device[0], USB_SUPER);
		else
			usb_fake_keyboard(&device[0], USB_LOW);
		usb_fake_plug_hub(&hub[0], 3, &device[0]);
		kit_run(3000);
		CHECK_EQ(kit_attached, 1);
		const struct usb_device *d = kit_state[0].device;
		CHECK_EQ(d->depth, 1);
		CHECK_EQ(d->port, 3);
		CHECK_EQ(d->route, 3);
		CHECK(d->hub && d->hub->is_hub && d->hub->n_ports == 4 && !d->hub->hub);
		CHECK(d->tt_hub == (speed == USB_HIGH ? d->hub : NULL));
		CHECK_EQ(d->tt_port, speed == USB_HIGH ? 3 : 0);
		CHECK_EQ(d->hub->tt_think, 0x60);
		CHECK_EQ(d->hub->multi_tt, speed == USB_HIGH);
		CHECK_EQ(hub[0].multi_tt, speed == USB_HIGH);
		CHECK_EQ(hub[0].depth, speed == USB_SUPER ? 0 : 0xff);
		CHECK(strstr(kit_line("usb0-2 "), "driver=hub ports=4"));
		CHECK(strstr(kit_line("usb0-2.3 "),
		             speed == USB_SUPER ? "driver=stick" : "driver=keyboard"));
		CHECK_EQ(kit_count("usb_hub_errors"), 0);
		kit_end();
	}
}

static void plugged_and_unplugged_behind_a_hub(void)
{
	struct usb_fake *f = kit_start();
	make_hub(0, USB_HIGH, 7);
	usb_fake_plug(f, 1, &hub[0]);
	kit_run(1500);
	for (unsigned i = 0; i < 7; i++) {
		usb_fake_keyboard(&device[i], i % 2 ? USB_LOW : USB_FULL);
		usb_fake_plug_hub(&hub[0], (uint8_t)(i + 1), &device[i]);
	}
	kit_run(5000);
	CHECK_EQ(kit_attached, 7);
	usb_fake_plug_hub(&hub[0], 4, NULL);
	kit_run(600);
	CHECK_EQ(kit_detached, 1);
	CHECK_EQ(kit_said("usb0-1.4: gone"), 1);
	usb_fake_plug_hub(&hub[0], 4, &device[3]);
	kit_run(1500);
	CHECK_EQ(kit_attached, 8);
	/* Between two looks at the port. */
	usb_fake_plug_hub(&hub[0], 2, NULL);
	usb_fake_plug_hub(&hub[0], 2, &device[1]);
	kit_run(1500);
	CHECK_EQ(kit_detached, 2);
	CHECK_EQ(kit_attached, 9);
	kit_end();
}

/* Five hubs, one behind the other, and a keyboard; a sixth hub is not used. */
static void five_hubs_deep(void)
{
	struct usb_fake *f = kit_start();
	for (unsigned i = 0; i < 6; i++) {
		make_hub(i, i < 2 ? USB_HIGH : USB_FULL, 4);
		if (i)
			usb_fake_plug_hub(&hub[i - 1], (uint8_t)(i % 4 + 1), &hub[i]);
	}
	usb_fake_plug(f, 1, &hub[0]);
	usb_fake_keyboard(&device[0], USB_FULL);
	usb_fake_plug_hub(&hub[4], 4, &device[0]);
	kit_run(15000);
	CHECK_EQ(kit_attached, 1);
	const struct usb_device *d = kit_state[0].device;
	CHECK_EQ(d->depth, 5);
	CHECK_EQ(d->route, 0x41432);
	/* The nearest high-speed hub is the second; the third hangs at its port 3. */
	CHECK(d->tt_hub && d->tt_hub->depth == 1 && d->tt_port == 3);
	CHECK(strstr(kit_line("usb0-1.2.3.4.1.4 "), "driver=keyboard"));
	CHECK_EQ(kit_said("usb0-1.2.3.4.1.2: more than 5 hubs, one behind the other"), 1);
	/* The second hub goes, with all behind it. */
	usb_fake_plug_hub(&hub[0], 2, NULL);
	kit_run(1000);
	CHECK_EQ(kit_detached, 1);
	CHECK_EQ(kit_count("usb_devices"), 1);
	CHECK_EQ(f->opened - f->closed, 1);
	/* And comes back. */
	usb_fake_plug_hub(&hub[0], 2, &hub[1]);
	kit_run(15000);
	CHECK_EQ(kit_attached, 2);
	kit_end();
}

/* A hub vanishes while something behind it is being enumerated, at every 10 ms of it. */
static void a_hub_vanishes_during_enumeration(void)
{
	for (uint32_t ms = 200; ms < 1500; ms += 10) {
		struct usb_fake *f = kit_start();
		make_hub(0, USB_HIGH, 4);
		usb_fake_plug(f, 1, &hub[0]);
		usb_fake_keyboard(&device[0], USB_FULL);
		usb_fake_plug_hub(&hub[0], 1, &device[0]);
		kit_run(ms);
		usb_fake_plug(f, 1, NULL);
		kit_run(300);
		CHECK_EQ(kit_attached, kit_detached);
		CHECK_EQ(kit_count("usb_devices"), 0);
		CHECK_EQ(f->opened, f->closed);
		/* The bus is free for others. */
		usb_fake_keyboard(&device[1], USB_FULL);
		usb_fake_plug(f, 2, &device[1]);
		unsigned before = kit_attached;
		kit_run(800);
		CHECK_EQ(kit_attached, before + 1);
		kit_end();
	}
}

static void too_many_hubs(void)
{
	static struct usb_fake_device more[17];
	static struct usb_fake_port ports[17][2];
	kit_reset();
	usb_fake_init(&fake[0], 0, 0xfd, 17);
	usb_init();
	for (uint8_t i = 0; i < 17; i++) {
		usb_fake_hub(&more[i], USB_FULL, ports[i], 2);
		usb_fake_plug(&fake[0], (uint8_t)(i + 1), &more[i]);
	}
	kit_run(10000);
	CHECK_EQ(kit_said("too many hubs"), 1);
	CHECK_EQ(kit_count("usb_devices"), 17);
	kit_end();
}

/* --- hubs that lie ---------------------------------------------------------------------- */

static uint8_t lie_ports;
static int lie_length;

static int lying_descriptor(struct usb_fake_device *d, const uint8_t setup[8], uint8_t *data,
                            uint32_t len)
{
	(void)d;
	if (setup[0] != 0xa0 || setup[1] != 6)
		return USB_FAKE_PASS;
	memset(data, 0xff, len);
	data[1] = 0x29;
	data[2] = lie_ports;
	return lie_length < (int)len ? lie_length : (int)len;
}

static void start_lying_hub(int (*control)(struct usb_fake_device *, const uint8_t *, uint8_t *,
                                           uint32_t))
{
	struct usb_fake *f = kit_start();
	make_hub(0, USB_FULL, 4);
	hub[0].control = control;
	usb_fake_keyboard(&device[0], USB_FULL);
	usb_fake_plug_hub(&hub[0], 1, &device[0]);
	usb_fake_plug(f, 1, &hub[0]);
}

static void a_hub_with_255_ports(void)
{
	lie_ports = 255;
	lie_length = 100;
	start_lying_hub(lying_descriptor);
	kit_run(20000); /* requests to ports that it does not have fail: it is reset, and given up
	                 */
	CHECK_EQ(kit_said("a hub of 255 ports; the first 15 are used"), 4);
	CHECK_EQ(kit_said("usb0-1: device switched off: too many errors"), 1);
	CHECK_EQ(kit_count("usb_devices"), 0);
	kit_end();
}

static void hub_descriptors_without_ports(void)
{
	static const struct {
		uint8_t ports;
		int length;
	} lies[] = {{0, 16}, {4, 6}, {4, 0}};
	for (unsigned i = 0; i < ARRAY_SIZE(lies); i++) {
		lie_ports = lies[i].ports;
		lie_length = lies[i].length;
		start_lying_hub(lying_descriptor);
		kit_run(5000);
		CHECK_EQ(kit_said("usb0-1: a hub without ports"), 1);
		CHECK_EQ(kit_attached, 0);
		CHECK_EQ(kit_count("usb_devices"), 1);
		kit_end();
	}
}

static int stalls_class(struct usb_fake_device *d, const uint8_t setup[8], uint8_t *data,
                        uint32_t len)
{
	(void)d, (void)data, (void)len;
	return (setup[0] & 0x60) == 0x20 ? USB_FAKE_STALL : USB_FAKE_PASS;
}

static void a_hub_that_refuses_everything(void)
{
	start_lying_hub(stalls_class);
	kit_run(30000);
	CHECK_EQ(kit_said("usb0-1: device switched off: too many errors"), 1);
	CHECK_EQ(kit_count("usb_device_resets"), 4);
	CHECK_EQ(kit_count("usb_enumerations"), 4);
	kit_end();
}

/* Each status says that something changed, or that a reset has not ended. */
static uint16_t lie_status, lie_change;

static int lying_status(struct usb_fake_device *d, const uint8_t setup[8], uint8_t *data,
                        uint32_t len)
{
	if (setup[0] != 0xa3)
		return USB_FAKE_PASS;
	usb_fake_standard(d, setup, data, len);
	store16(data, (uint16_t)(load16(data) | lie_status));
	store16(data + 2, (uint16_t)(load16(data + 2) | lie_change));
	return 4;
}

static void a_status_that_never_settles(void)
{
	lie_status = 0;
	lie_change = 1;
	start_lying_hub(lying_status);
	kit_run(130000);
	CHECK_EQ(kit_said("usb0-1.1: its contact does not settle; ignored for a minute"), 1);
	CHECK_EQ(kit_attached, 0);
	CHECK_EQ(kit_count("usb_enumerations"), 1);
	/* A change that is always there beside it costs a request, and no more. */
	lie_change = 0xffe0;
	start_lying_hub(lying_status);
	kit_run(5000);
	CHECK_EQ(kit_attached, 1);
	kit_end();
}

static void a_reset_that_never_ends(void)
{
	lie_status = 16;
	lie_change = 0;
	start_lying_hub(lying_status);
	kit_run(20000);
	CHECK_EQ(kit_said("usb0-1.1: device switched off: reset: does not end"), 1);
	CHECK_EQ(kit_count("usb_enumerations"), 1 + 3);
	kit_end();
}

/* Ports that nothing is plugged into say that there is something. */
static void ports_that_are_always_connected(void)
{
	lie_status = 1;
	lie_change = 0;
	start_lying_hub(lying_status);
	kit_run(60000);
	CHECK_EQ(kit_attached, 1);
	CHECK_EQ(kit_said("device switched off: reset: the port is not enabled"), 3);
	CHECK_EQ(kit_count("usb_enumerations"), 2 + 3 * 3);
	kit_end();
}

/* A port loses its power: it is logged, and switched on again, but not often. */
static unsigned powered;

static int loses_power(struct usb_fake_device *d, const uint8_t setup[8], uint8_t *data,
                       uint32_t len)
{
	if (setup[0] == 0x23 && setup[1] == 3 && setup[2] == 8)
		powered++;
	if (setup[0] != 0xa3)
		return USB_FAKE_PASS;
	usb_fake_standard(d, setup, data, len);
	data[1] = 0;
	data[2] |= 8;
	return 4;
}

static void over_current(void)
{
	powered = 0;
	start_lying_hub(loses_power);
	kit_run(21000);
	CHECK_EQ(kit_attached, 0);
	CHECK(powered >= 4 + 2 * 4 && powered <= 4 + 3 * 4);
	CHECK(kit_said("over-current") > 0 && kit_said("over-current") <= 30);
	kit_end();
}

int main(void)
{
	TEST(devices_behind_a_hub);
	TEST(plugged_and_unplugged_behind_a_hub);
	TEST(five_hubs_deep);
	TEST(a_hub_vanishes_during_enumeration);
	TEST(too_many_hubs);
	TEST(a_hub_with_255_ports);
	TEST(hub_descriptors_without_ports);
	TEST(a_hub_that_refuses_everything);
	TEST(a_status_that_never_settles);
	TEST(a_reset_that_never_ends);
	TEST(ports_that_are_always_connected);
	TEST(over_current);
	return tap_done();
}
