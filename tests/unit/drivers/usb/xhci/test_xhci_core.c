/* The USB core, its hub driver and the keyboards on top of the xHCI driver: hubs at high speed and
 * SuperSpeed, which QEMU does not have. */
#include "tests/tap.h"

#include "drivers/usb/hid/hid_keyboard.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "kernel/seam/io.h"
#include "tests/models/xhci_model.h"

static struct xhci_model m;
static uint8_t report[8];
static bool ready; /* `report` is to be sent */
static const struct usb_fake_device *sender;

static void begin(bool wide)
{
	pci_model_reset();
	host_arena(8u << 20);
	log_reset();
	host_now_us += 5000000;
	xhci_model_init(&m);
	m.wide = wide;
	m.pads = 3;
	xhci_model_plug(&m);
	usb_init();
}

static void ms(unsigned n)
{
	for (; n; n--) {
		host_now_us += 1000;
		xhci_model_run(&m);
		log_time(host_now_us);
		usb_poll(host_now_us);
	}
}

/* True when the command `usb` shows a line with this text. */
static unsigned shows(const char *text)
{
	uint64_t cursor = 0;
	char line[200];
	unsigned n = 0;
	while (usb_show(&cursor, line, sizeof line))
		n += strstr(line, text) != NULL;
	return n;
}

static void await(const char *text, unsigned n, unsigned most_ms)
{
	for (; most_ms && shows(text) != n; most_ms--)
		ms(1);
	if (shows(text) != n)
		printf("# %u lines with %s\n", shows(text), text);
	CHECK_EQ(shows(text), n);
}

static int sends(struct usb_fake_device *d, uint8_t endpoint, uint8_t *data, uint32_t len)
{
	if (endpoint != 0x81 || !ready || d != sender || len < 8)
		return USB_FAKE_SILENT;
	ready = false;
	memcpy(data, report, 8);
	return 8;
}

static void types(struct usb_fake_device *d, uint8_t usage)
{
	struct hid_press press;
	while (hid_keyboard_press(&press))
		;
	memset(report, 0, sizeof report);
	report[2] = usage;
	sender = d;
	ready = true;
	ms(30);
	CHECK(!ready);
	CHECK(hid_keyboard_press(&press));
	CHECK_EQ(press.usage, usage);
	report[2] = 0;
	ready = true;
	ms(30);
	CHECK(!hid_keyboard_press(&press));
}

static void end(void)
{
	usb_stop();
	CHECK(xhci_model_quiet(&m));
	CHECK_EQ(pci_model_faults(), 0);
}

/* A device at a port of a hub, in the eyes of the controller and of the hub. */
static void plug(struct xhci_model_usb *u, struct usb_fake_device *d, struct xhci_model_usb *hub,
                 uint8_t port)
{
	unsigned depth = 0;
	while (hub && depth < 5 && hub->route >> 4 * depth)
		depth++;
	*u = (struct xhci_model_usb){.speed = (enum xhci_model_speed)d->speed,
	                             .port = hub ? hub->port : port,
	                             .fake = d};
	if (hub) {
		u->route = hub->route | (uint32_t)port << 4 * depth;
		bool own = hub->speed == XHCI_HIGH;
		u->tt = d->speed > USB_FULL ? NULL : own ? hub : hub->tt;
		u->tt_port = d->speed > USB_FULL ? 0 : own ? port : hub->tt_port;
		usb_fake_plug_hub(hub->fake, port, d);
	}
	xhci_model_attach(&m, u);
	u->packet0 = d->descriptor[7] == 9 ? 512 : d->descriptor[7];
}

static struct usb_fake_port ports[4][4];
static struct usb_fake_device fake[10];
static struct xhci_model_usb usb[10];

static struct usb_fake_device *keyboard(unsigned i, uint8_t speed)
{
	usb_fake_keyboard(&fake[i], speed);
	fake[i].transfer = sends;
	return &fake[i];
}

static struct usb_fake_device *hub(unsigned i, uint8_t speed)
{
	usb_fake_hub(&fake[i], speed, ports[i], 4);
	return &fake[i];
}

/* A high-speed hub, a full-speed hub behind it, keyboards of all speeds at both. */
static void keyboards_behind_hubs(void)
{
	for (unsigned wide = 0; wide < 2; wide++) {
		begin(wide);
		plug(&usb[0], hub(0, USB_HIGH), NULL, 3);
		plug(&usb[1], hub(1, USB_FULL), &usb[0], 4);
		for (unsigned i = 0; i < 3; i++)
			plug(&usb[2 + i], keyboard(2 + i, (uint8_t)i), &usb[0], (uint8_t)(i + 1));
		for (unsigned i = 0; i < 2; i++)
			plug(&usb[5 + i], keyboard(5 + i, (uint8_t)i), &usb[1], (uint8_t)(i + 1));
		plug(&usb[7], keyboard(7, USB_LOW), NULL, 1);
		await("driver=keyboard", 6, 8000);
		CHECK_EQ(hid_keyboard_count(), 6);
		for (unsigned i = 2; i < 8; i++)
			types(&fake[i], (uint8_t)(4 + i));
		/* The hub goes with all that is behind it, and comes back. */
		xhci_model_detach(&m, &usb[0]);
		for (unsigned i = 1; i < 7; i++)
			usb[i].there = false;
		ms(300);
		CHECK_EQ(hid_keyboard_count(), 1);
		types(&fake[7], 20);
		CHECK_EQ(xhci_model_slot_of(&m, &usb[0]), 0);
		xhci_model_detach(&m, &usb[7]);
		ms(300);
		CHECK_EQ(hid_keyboard_count(), 0);
		for (unsigned i = 1; i < 33; i++)
			CHECK_EQ(m.slot[i].state, 0);
		end();
	}
}

static void stick_behind_a_super_speed_hub(void)
{
	begin(false);
	plug(&usb[0], hub(0, USB_SUPER), NULL, 6);
	usb_fake_stick(&fake[1], USB_SUPER);
	plug(&usb[1], &fake[1], &usb[0], 2);
	await("super", 2, 8000);
	await("driver=storage", 1, 8000);
	CHECK_EQ(m.port[6].resets, 0);
	xhci_model_detach(&m, &usb[0]);
	usb[1].there = false;
	ms(300);
	CHECK_EQ(shows("super"), 0);
	end();
}

/* A keyboard that refuses all requests of its class, and one that is reset by the core. */
static int refuses(struct usb_fake_device *d, const uint8_t setup[8], uint8_t *data, uint32_t len)
{
	(void)d;
	(void)data;
	(void)len;
	return (setup[0] & 0x60) == 0x20 ? USB_FAKE_STALL : USB_FAKE_PASS;
}

static void a_keyboard_that_refuses(void)
{
	begin(true);
	plug(&usb[0], keyboard(0, USB_LOW), NULL, 2);
	fake[0].control = refuses;
	await("driver=keyboard", 1, 3000);
	types(&fake[0], 9);
	xhci_model_detach(&m, &usb[0]);
	ms(200);
	CHECK_EQ(hid_keyboard_count(), 0);
	end();
}

static int silent(struct usb_fake_device *d, const uint8_t setup[8], uint8_t *data, uint32_t len)
{
	(void)d;
	(void)setup;
	(void)data;
	(void)len;
	return USB_FAKE_SILENT;
}

/* A device that never answers is given up; another one is served meanwhile. */
static void a_silent_device(void)
{
	begin(false);
	plug(&usb[0], keyboard(0, USB_FULL), NULL, 2);
	fake[0].control = silent;
	plug(&usb[1], keyboard(1, USB_FULL), NULL, 3);
	await("driver=keyboard", 1, 10000);
	types(&fake[1], 9);
	ms(10000);
	types(&fake[1], 10);
	CHECK_EQ(shows(" off"), 0);
	xhci_model_detach(&m, &usb[0]);
	xhci_model_detach(&m, &usb[1]);
	ms(300);
	CHECK_EQ(hid_keyboard_count(), 0);
	end();
}

/* The controller fails: its devices are gone, and nothing more happens to it. */
static void a_controller_that_fails(void)
{
	begin(false);
	plug(&usb[0], keyboard(0, USB_HIGH), NULL, 2);
	await("driver=keyboard", 1, 3000);
	xhci_model_hse(&m);
	ms(30);
	CHECK_EQ(hid_keyboard_count(), 0);
	unsigned before = pci_model_reads() + pci_model_writes();
	ms(100);
	CHECK_EQ(pci_model_reads() + pci_model_writes(), before);
	CHECK_EQ(pci_model_faults(), 0);
	CHECK(!pci_model_can_master(&m.pci));
}

int main(void)
{
	TEST(keyboards_behind_hubs);
	TEST(stick_behind_a_super_speed_hub);
	TEST(a_keyboard_that_refuses);
	TEST(a_silent_device);
	TEST(a_controller_that_fails);
	return tap_done();
}
