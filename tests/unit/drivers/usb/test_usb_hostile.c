/* drivers/usb: devices that lie, refuse, are silent, vanish, flap; controllers that fail. Each case
 * must be bounded: a line or two in the log, a few attempts, and other devices go on. */
#include "tests/unit/drivers/usb/usb_kit.h"

static struct usb_fake_device device[4];

static struct usb_fake *start_device(void)
{
	struct usb_fake *f = kit_start();
	usb_fake_keyboard(&device[0], USB_FULL);
	usb_fake_keyboard(&device[1], USB_FULL);
	usb_fake_plug(f, 1, &device[0]);
	return f;
}

/* Another device works beside it. */
static void other_works(struct usb_fake *f)
{
	unsigned before = kit_attached;
	usb_fake_plug(f, 2, &device[1]);
	kit_run(2000);
	CHECK_EQ(kit_attached, before + 1);
	CHECK(strstr(kit_line("usb0-2 "), "driver=keyboard"));
	kit_end();
}

/* --- enumeration ----------------------------------------------------------------------- */

static uint8_t lie_type, lie_request; /* the request that is answered in this way */
static int lie;

static int answers(struct usb_fake_device *d, const uint8_t setup[8], uint8_t *data, uint32_t len)
{
	(void)d, (void)data, (void)len;
	return setup[0] == lie_type && setup[1] == lie_request ? lie : USB_FAKE_PASS;
}

/* Each request of the enumeration is refused, broken, or never answered: three attempts, a line. */
static void requests_that_fail(void)
{
	static const struct {
		uint8_t type, request;
		const char *doing;
	} request[] = {
	        {0x80, 6, "device descriptor"}, {0x00, 5, "address"}, {0x00, 9, "configuration"}};
	static const struct {
		int lie;
		const char *what;
	} how[] = {{USB_FAKE_STALL, "refused"},
	           {USB_FAKE_BROKEN, "wrong answer"},
	           {USB_FAKE_SILENT, "no answer"}};
	for (unsigned r = 0; r < ARRAY_SIZE(request); r++)
		for (unsigned h = 0; h < ARRAY_SIZE(how); h++) {
			char line[100];
			struct usb_fake *f = start_device();
			lie_type = request[r].type;
			lie_request = request[r].request;
			lie = how[h].lie;
			device[0].control = answers;
			kit_run(20000);
			snprintf(line, sizeof line, "usb0-1: device switched off: %s: %s",
			         request[r].doing, how[h].what);
			CHECK_EQ(kit_said(line), 1);
			CHECK_EQ(kit_said("usb0-1"), 1);
			CHECK_EQ(kit_count("usb_enumerations"), 3);
			CHECK_EQ(kit_count("usb_enumeration_failures"), 3);
			CHECK_EQ(f->opened, f->closed);
			CHECK(!f->port[0].enabled);
			other_works(f);
			/* Unplugged and plugged in again, it has three further attempts. */
			device[0].control = NULL;
			usb_fake_plug(f, 1, NULL);
			kit_run(200);
			usb_fake_plug(f, 1, &device[0]);
			kit_run(1000);
			CHECK_EQ(kit_attached, 2);
			kit_end();
		}
}

/* The first attempt fails, the second works. */
static unsigned n_heads;

static int fails_once(struct usb_fake_device *d, const uint8_t setup[8], uint8_t *data,
                      uint32_t len)
{
	(void)d, (void)data;
	return setup[1] == 6 && len == 8 && n_heads++ == 0 ? USB_FAKE_BROKEN : USB_FAKE_PASS;
}

static void a_second_attempt_works(void)
{
	struct usb_fake *f = start_device();
	n_heads = 0;
	device[0].control = fails_once;
	kit_run(2000);
	CHECK_EQ(kit_attached, 1);
	CHECK_EQ(kit_count("usb_enumeration_failures"), 1);
	CHECK_EQ(kit_said("usb0-1"), 1);
	other_works(f);
}

/* It vanishes at each 5 ms of its enumeration, and another one is used afterwards. */
static void vanishes_in_mid_enumeration(void)
{
	for (uint32_t ms = 100; ms < 600; ms += 5) {
		struct usb_fake *f = start_device();
		kit_run(ms);
		usb_fake_plug(f, 1, NULL);
		kit_run(300);
		CHECK_EQ(kit_attached, kit_detached);
		CHECK_EQ(f->opened, f->closed);
		CHECK_EQ(kit_count("usb_devices"), 0);
		CHECK_EQ(f->n_transfers, 0);
		other_works(f);
	}
}

static void flapping(void)
{
	struct usb_fake *f = start_device();
	for (unsigned i = 0; i < 200; i++) { /* a minute of it */
		kit_run(250);
		usb_fake_plug(f, 1, NULL);
		kit_run(50);
		usb_fake_plug(f, 1, &device[0]);
	}
	CHECK(kit_count("usb_enumerations") <= 16);
	CHECK_EQ(kit_said("usb0-1: plugged in too often; ignored for a minute each time"), 1);
	CHECK_EQ(kit_attached - kit_detached, kit_count("usb_devices"));
	other_works(f);
	kit_run(70000); /* it has come to rest */
	CHECK(strstr(kit_line("usb0-1 "), "driver=keyboard"));
	kit_end();
}

/* Contacts that never settle are no enumeration at all. */
static void bouncing(void)
{
	struct usb_fake *f = start_device();
	for (unsigned i = 0; i < 300; i++) {
		usb_fake_plug(f, 1, &device[0]);
		kit_run(30);
	}
	CHECK_EQ(kit_count("usb_enumerations"), 0);
	CHECK_EQ(kit_said("usb0-1: its contact does not settle; ignored for a minute"), 1);
	other_works(f);
}

static void ports_that_do_not_reset(void)
{
	struct usb_fake *f = start_device();
	f->never_enables = true;
	kit_run(10000);
	CHECK_EQ(kit_said("usb0-1: device switched off: reset: the port is not enabled"), 1);
	CHECK_EQ(kit_count("usb_enumerations"), 3);
	f = start_device();
	f->never_ends = true;
	kit_run(10000);
	CHECK_EQ(kit_said("usb0-1: device switched off: reset: does not end"), 1);
	kit_end();
}

static void a_port_that_disables_itself(void)
{
	struct usb_fake *f = start_device();
	for (unsigned i = 0; i < 4; i++) {
		kit_run(2000);
		CHECK_EQ(kit_attached, i + 1);
		f->port[0].enabled = false;
	}
	kit_run(2000);
	CHECK_EQ(kit_attached, 4);
	CHECK_EQ(kit_said("usb0-1: device switched off: too many errors"), 1);
	other_works(f);
}

/* A class may have its device found again three times a minute. */
static void resets_by_a_class(void)
{
	struct usb_fake *f = start_device();
	for (unsigned i = 0; i < 4; i++) {
		kit_run(1500);
		CHECK_EQ(kit_attached, i + 1);
		CHECK_EQ(kit_detached, i);
		usb_device_reset(kit_state[0].device);
	}
	kit_run(1500);
	CHECK_EQ(kit_detached, 4);
	CHECK_EQ(kit_said("usb0-1: device switched off: too many errors"), 1);
	CHECK_EQ(kit_count("usb_device_resets"), 4);
	other_works(f);
	/* In another minute it has three again. */
	usb_fake_plug(f, 1, NULL);
	kit_run(60000);
	usb_fake_plug(f, 1, &device[0]);
	kit_run(1000);
	usb_device_reset(kit_state[0].device);
	kit_run(1500);
	CHECK_EQ(kit_attached, 7);
	kit_end();
}

/* --- descriptors ------------------------------------------------------------------------ */

static uint8_t descriptor[18], config[2000];

static struct usb_fake *start_lie(void)
{
	struct usb_fake *f = start_device();
	memcpy(descriptor, device[0].descriptor, sizeof descriptor);
	memset(config, 0, sizeof config);
	memcpy(config, device[0].config, device[0].config_len);
	device[0].descriptor = descriptor;
	device[0].config = config;
	return f;
}

static void device_descriptors_that_lie(void)
{
	static const struct {
		uint8_t at, value;
		const char *what;
	} lies[] = {
	        {0, 0, "not a device descriptor"},   {0, 17, "not a device descriptor"},
	        {1, 2, "not a device descriptor"},   {7, 0, "not a device descriptor"},
	        {7, 255, "not a device descriptor"}, {7, 9, "not a device descriptor"},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(lies); i++) {
		struct usb_fake *f = start_lie();
		char line[100];
		descriptor[lies[i].at] = lies[i].value;
		kit_run(5000);
		snprintf(line, sizeof line, "usb0-1: device switched off: device descriptor: %s",
		         lies[i].what);
		CHECK_EQ(kit_said(line), 1);
		other_works(f);
	}
	struct usb_fake *f = start_lie();
	device[0].descriptor_len = 10; /* the eight bytes are there, the eighteen are not */
	kit_run(5000);
	CHECK_EQ(kit_said("usb0-1: device switched off: device descriptor: short answer"), 1);
	other_works(f);
}

static void configurations_that_lie(void)
{
	static const struct {
		uint8_t at, value;
		uint32_t attached; /* what is still used */
		const char *what;
	} lies[] = {
	        {0, 0, 0, "not a configuration descriptor"},
	        {1, 3, 0, "not a configuration descriptor"},
	        {2, 0, 0, "a configuration of no length"},
	        {2, 8, 0, "a configuration of no length"},
	        {2, 9, 0, "a configuration without interfaces"},
	        {2, 33, 1, NULL}, /* the last endpoint is cut: the interface has none */
	        {2, 255, 1, NULL},
	        {3, 255, 1, NULL},
	        {5, 0, 0, "a configuration without a number"},
	        {9, 0, 0, "a configuration without interfaces"},
	        {9, 1, 0, "a configuration without interfaces"},
	        {9, 255, 0, "a configuration without interfaces"},
	        {13, 255, 1, NULL}, /* bNumEndpoints counts for nothing */
	        {18, 0, 1, NULL},
	        {18, 255, 1, NULL},
	        {27, 0, 1, NULL},
	        {27, 200, 1, NULL},
	        {29, 0x80, 1, NULL}, /* endpoint 0 */
	        {31, 0, 1, NULL},    /* no packet */
	        {33, 0, 1, NULL},    /* no interval */
	};
	kit_refuses = false;
	for (unsigned i = 0; i < ARRAY_SIZE(lies); i++) {
		struct usb_fake *f = start_lie();
		char line[100];
		config[lies[i].at] = lies[i].value;
		kit_accepts_none = true;
		kit_run(5000);
		kit_accepts_none = false;
		CHECK_EQ(kit_attached, lies[i].attached);
		snprintf(line, sizeof line, "usb0-1: device switched off: configuration: %s",
		         lies[i].what ? lies[i].what : "");
		CHECK_EQ(kit_said(line), lies[i].what != NULL);
		other_works(f);
	}
}

/* 65535 bytes are promised, and 2000 sent: what fits is read. */
static void a_long_configuration(void)
{
	struct usb_fake *f = start_lie();
	store16(config + 2, 65535);
	device[0].config_len = sizeof config;
	for (unsigned at = 34; at + 9 <= sizeof config; at += 9) {
		config[at] = 9;
		config[at + 1] = 4;
		config[at + 2] = (uint8_t)(at / 9);
		config[at + 5] = 3;
		config[at + 6] = config[at + 7] = 1;
	}
	kit_accepts_none = true;
	kit_run(5000);
	kit_accepts_none = false;
	CHECK_EQ(kit_attached, USB_INTERFACES);
	other_works(f);
}

/* More comes than was asked for: a controller says no more than the buffer has. */
static void two_interfaces_with_one_endpoint(void)
{
	struct usb_fake *f = start_lie();
	memcpy(config + 34, config + 9, 25);
	config[34 + 2] = 1; /* another interface */
	store16(config + 2, 59);
	device[0].config_len = 59;
	kit_run(5000);
	CHECK_EQ(kit_attached, 1);
	CHECK_EQ(kit_said("usb0-1: no room for the endpoints of interface 1"), 1);
	other_works(f);
}

/* --- controllers ------------------------------------------------------------------------ */

static void no_room_in_the_controller(void)
{
	struct usb_fake *f = start_device();
	f->no_device = true;
	kit_run(5000);
	CHECK_EQ(kit_said("usb0-1: device switched off: reset: no room for the device"), 1);
	f->no_device = false;
	other_works(f);
	f = start_device();
	f->no_endpoint = true;
	kit_run(5000);
	CHECK_EQ(kit_said("usb0-1: no room for the endpoints of interface 0"), 1);
	CHECK_EQ(kit_said("usb0-1: 0627:0001, full speed, no driver"), 1);
	f->no_endpoint = false;
	other_works(f);
	f = start_device();
	f->no_transfer = true;
	kit_run(5000);
	CHECK_EQ(kit_said("usb0-1: device switched off: device descriptor: wrong answer"), 1);
	f->no_transfer = false;
	other_works(f);
}

/* It does not stop at once, or never: no poll waits. Its transfers have their memory until its DMA
 * is cut. */
static void a_controller_that_fails_and_goes_on(void)
{
	for (uint32_t never = 0; never < 2; never++) {
		struct usb_fake *f = start_device();
		usb_fake_keyboard(&device[0], USB_FULL);
		usb_fake_plug(f, 1, &device[0]);
		kit_run(1000);
		CHECK_EQ(kit_attached, 1);
		f->slow_stop = never ? 100000 : 5;
		usb_controller_failed(&f->c, "is halted");
		uint64_t begin = host_now_us;
		uint32_t polls = 0;
		for (; pci_model_can_master(&f->pci) && polls < 100; polls++) {
			CHECK(kit_state[0].used && kit_state[0].t->active);
			uint64_t before = host_now_us += 1000;
			usb_poll(host_now_us);
			CHECK_EQ(host_now_us, before);
		}
		CHECK_EQ(polls, never ? 21 : 6);
		CHECK_EQ(f->stops, polls);
		CHECK(host_now_us - begin <= 21000);
		CHECK_EQ(kit_detached, 1);
		CHECK_EQ(kit_state[0].status, USB_GONE);
		CHECK_EQ(kit_said("usb0: fake: is halted; switched off"), 1);
		CHECK_EQ(kit_count("usb_controllers_failed"), 1);
		kit_run(1000);
		CHECK_EQ(f->stops, polls);
		kit_end();
	}
}

/* It fails by itself: a line, its devices go, the other controller goes on. */
static void a_controller_that_fails(void)
{
	kit_reset();
	usb_fake_init(&fake[0], 0, 0xfd, 4);
	usb_fake_init(&fake[1], 1, 0xfd, 4);
	usb_init();
	usb_fake_keyboard(&device[0], USB_FULL);
	usb_fake_keyboard(&device[1], USB_FULL);
	usb_fake_plug(&fake[0], 1, &device[0]);
	usb_fake_plug(&fake[1], 1, &device[1]);
	kit_run(1000);
	CHECK_EQ(kit_attached, 2);
	usb_controller_failed(&fake[0].c, "is halted");
	usb_controller_failed(&fake[0].c, "is halted");
	CHECK(!usb_submit(kit_state[0].t));
	kit_run(1000);
	CHECK_EQ(kit_said("usb0: fake: is halted; switched off"), 1);
	CHECK(fake[0].stopped && !pci_model_can_master(&fake[0].pci));
	CHECK_EQ(kit_detached, 1);
	CHECK_EQ(kit_state[0].status, USB_GONE);
	CHECK_EQ(kit_count("usb_devices"), 1);
	CHECK_EQ(kit_count("usb_controllers_failed"), 1);
	CHECK(strstr(kit_line("usb0 "), "ports=4 off"));
	usb_fake_plug(&fake[0], 2, &device[2]);
	kit_run(1000);
	CHECK(kit_state[1].used && !fake[1].stopped);
	kit_end();
}

/* It does not give a cancelled transfer back. */
static void a_controller_that_keeps_transfers(void)
{
	struct usb_fake *f = start_device();
	kit_run(1000);
	f->keeps = true;
	usb_cancel(kit_state[0].t);
	kit_run(500);
	CHECK_EQ(kit_state[0].done, 0);
	kit_run(700);
	CHECK_EQ(kit_state[0].done, 1);
	CHECK_EQ(kit_state[0].status, USB_GONE);
	CHECK_EQ(kit_said("usb0: fake: does not give a transfer back; switched off"), 1);
	CHECK(f->stopped);
	kit_end();
}

/* All places for devices are taken. */
static void too_many_devices(void)
{
	static struct usb_fake_device hub[5], many[75];
	static struct usb_fake_port port[5][15];
	struct usb_fake *f = kit_start();
	unsigned n = 0;
	for (unsigned h = 0; h < 5; h++) {
		usb_fake_hub(&hub[h], USB_HIGH, port[h], 15);
		for (uint8_t p = h < 4 ? 2 : 1; p <= 15; p++, n++) {
			usb_fake_keyboard(&many[n], USB_HIGH);
			many[n].config_len = 25; /* no endpoint: nothing to submit */
			usb_fake_plug_hub(&hub[h], p, &many[n]);
		}
		if (h)
			usb_fake_plug_hub(&hub[h - 1], 1, &hub[h]);
	}
	usb_fake_plug(f, 1, &hub[0]);
	kit_accepts_none = kit_refuses = true;
	kit_run(120000);
	kit_accepts_none = false;
	CHECK_EQ(kit_count("usb_devices"), USB_DEVICES);
	CHECK_EQ(kit_count("usb_enumeration_failures"), 3 * (5 + 4 * 14 + 15 - USB_DEVICES));
	kit_end();
}

int main(void)
{
	TEST(requests_that_fail);
	TEST(a_second_attempt_works);
	TEST(vanishes_in_mid_enumeration);
	TEST(flapping);
	TEST(bouncing);
	TEST(ports_that_do_not_reset);
	TEST(a_port_that_disables_itself);
	TEST(resets_by_a_class);
	TEST(device_descriptors_that_lie);
	TEST(configurations_that_lie);
	TEST(a_long_configuration);
	TEST(two_interfaces_with_one_endpoint);
	TEST(no_room_in_the_controller);
	TEST(a_controller_that_fails);
	TEST(a_controller_that_fails_and_goes_on);
	TEST(a_controller_that_keeps_transfers);
	TEST(too_many_devices);
	return tap_done();
}
