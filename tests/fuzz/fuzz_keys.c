/* Fuzzer: what keyboards and terminals send. USB keyboards that report anything, refuse and vanish,
 * under a core that the fuzzer plays; any scan codes; any bytes of a terminal. Each key must be one
 * that there is, each transfer is submitted once at a time, and a key that nobody holds does not
 * repeat. */
#include "drivers/usb/hid/hid_keyboard.h"
#include "kernel/console/scancode.h"

#include "kernel/seam/io.h"
#include "tests/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { KEYBOARDS = 2, MOST_PRESSES = 32 };

/* A keyboard as the core sees it. */
static struct keyboard {
	struct usb_device device;
	struct usb_endpoint in;
	struct usb_interface interface;
	struct usb_transfer *control, *report;
	void *state; /* NULL: unplugged */
	bool held;   /* the last report had a key in it */
} keyboards[KEYBOARDS];

static uint64_t now;
static struct keymap map;

/* --- the core ---------------------------------------------------------------------------- */

static struct keyboard *keyboard_of(const struct usb_device *d)
{
	return d == &keyboards[0].device ? &keyboards[0] : &keyboards[1];
}

bool usb_submit(struct usb_transfer *t)
{
	struct keyboard *k = keyboard_of(t->endpoint->device);
	struct usb_transfer **slot = t->endpoint == &k->in ? &k->report : &k->control;
	MUST(k->state && !t->active && *slot == NULL && t->done);
	if (k->device.gone)
		return false;
	t->active = true;
	*slot = t;
	return true;
}

void usb_control(struct usb_transfer *t, struct usb_device *d, uint8_t type, uint8_t request,
                 uint16_t value, uint16_t index, void *buffer, uint16_t len)
{
	*t = (struct usb_transfer){.endpoint = &d->control,
	                           .setup = {type, request, (uint8_t)value},
	                           .data = buffer,
	                           .len = len};
	(void)index;
}

void usb_endpoint_reset(struct usb_endpoint *e)
{
	MUST(keyboard_of(e->device)->report == NULL);
}

void usb_device_reset(struct usb_device *d)
{
	MUST(!d->gone);
	d->gone = true;
}

static void complete(struct usb_transfer **slot, enum usb_status status, uint32_t actual)
{
	struct usb_transfer *t = *slot;
	if (!t)
		return;
	*slot = NULL;
	t->active = false;
	t->status = status;
	t->actual = min_u32(actual, t->len);
	t->done(t);
}

/* --- the inputs ---------------------------------------------------------------------------- */

/* What is left of the input; behind the end come zeros. */
static const uint8_t *at, *end;

static uint8_t byte(void)
{
	return at < end ? *at++ : 0;
}

static void plug(struct keyboard *k)
{
	if (k->state)
		return;
	k->device = (struct usb_device){.address = 1};
	k->device.control.device = &k->device;
	k->in = (struct usb_endpoint){.device = &k->device,
	                              .address = 0x81,
	                              .kind = USB_INTERRUPT,
	                              .max_packet = (uint16_t)(byte() << 3 | 1)};
	k->interface = (struct usb_interface){.class_code = 3,
	                                      .subclass = 1,
	                                      .protocol = 1,
	                                      .n_endpoints = 1,
	                                      .endpoint = {&k->in}};
	k->held = false;
	k->state = hid_keyboard_class.attach(&k->device, &k->interface);
	MUST(k->state);
}

static void unplug(struct keyboard *k)
{
	if (!k->state)
		return;
	k->device.gone = true;
	complete(&k->control, USB_GONE, 0);
	complete(&k->report, USB_GONE, 0);
	hid_keyboard_class.detach(k->state);
	k->state = NULL;
}

/* A report of up to 15 bytes. */
static void report(struct keyboard *k)
{
	uint32_t n = byte() & 15, keys = 0;
	if (!k->report)
		return;
	uint8_t *buffer = k->report->data;
	for (uint32_t i = 0; i < n && i < k->report->len; i++)
		keys += (buffer[i] = byte()) != 0 && i >= 2;
	k->held = keys > 0;
	complete(&k->report, USB_OK, n);
}

static void check_key(int key)
{
	MUST(key >= KEY_NONE && key <= KEY_F12 && key != 0);
	MUST(key < 0x80 || (key >= 0xa0 && key <= 0xff) || key >= KEY_UP);
}

/* Takes all keys. */
static uint32_t take(void)
{
	struct hid_press p;
	uint32_t n = 0;
	for (; hid_keyboard_press(&p); n++) {
		MUST(p.usage != 0);
		check_key(keymap_press(&map, p.usage, p.modifiers));
	}
	MUST(n <= MOST_PRESSES);
	hid_keyboard_leds(keymap_leds(&map));
	return n;
}

/* Lets time pass. While no key is held nothing is typed. */
static void pass(void)
{
	bool held = false;
	(void)take();
	for (uint32_t i = 0; i < KEYBOARDS; i++)
		held |= keyboards[i].state && !keyboards[i].device.gone && keyboards[i].held;
	now += (uint64_t)byte() * 4096;
	hid_keyboard_class.tick(now);
	MUST(take() == 0 || held);
}

static void step(uint8_t what)
{
	static struct scancode code;
	static struct keys_ansi ansi;
	struct keyboard *k = &keyboards[what >> 4 & 1];
	switch (what & 7) {
	case 0:
		plug(k);
		break;
	case 1:
		unplug(k);
		break;
	case 2:
		report(k);
		break;
	case 3:
		complete(&k->report, USB_STALLED + byte() % 3, 0);
		break;
	case 4:
		complete(&k->control, byte() % 4, 1);
		break;
	case 5: {
		uint8_t usage = scancode_press(&code, byte());
		check_key(keymap_press(&map, usage, code.modifiers));
		break;
	}
	case 6: {
		int key = keys_ansi(&ansi, byte(), (uint32_t)(now / 1000));
		MUST(key >= KEY_NONE && key <= KEY_F12);
		break;
	}
	default:
		pass();
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool started;
	if (!started) {
		host_arena(1u << 16);
		MUST(hid_keyboard_class.init());
		started = true;
	}
	at = data;
	end = data + size;
	map = (struct keymap){.layout = byte() % KEYMAP_LAYOUTS};
	while (at < end)
		step(byte());
	for (uint32_t i = 0; i < KEYBOARDS; i++)
		unplug(&keyboards[i]);
	(void)take();
	MUST(hid_keyboard_count() == 0);
	return 0;
}
