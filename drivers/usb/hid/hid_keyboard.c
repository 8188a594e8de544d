/* See hid_keyboard.h. HID 1.11, sections 7.2 (requests) and 8.3 (reports), appendix F.5 (keyboards
 * in the boot protocol).
 *
 * A keyboard gets SET_PROTOCOL, SET_IDLE and its lights, and may refuse each. Then one interrupt
 * transfer waits for a report at any time. A halted endpoint is cleared; after three errors in a
 * row the device is reset, which the core limits.
 *
 * Left out on purpose: report descriptors (keys beyond the boot protocol), mice. */
#include "drivers/usb/hid/hid_keyboard.h"

#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"

#define PRESSES  32u /* that wait; a power of two */
#define RETRY_US 10000u
#define ERRORS   3u  /* in a row, before a device is reset */
#define IN_BYTES 64u /* largest packet of an interrupt endpoint of a full-speed device */

enum { CLASS_HID = 3, SUBCLASS_BOOT = 1, PROTOCOL_KEYBOARD = 1 };
enum { TO_INTERFACE = 0x21, TO_ENDPOINT = 0x02 };
enum { CLEAR_FEATURE = 0x01, SET_REPORT = 0x09, SET_IDLE = 0x0a, SET_PROTOCOL = 0x0b };
enum { REPORT_OUTPUT = 0x0200, ENDPOINT_IN = 0x80 };

/* What endpoint 0 is busy with. */
enum step { STEP_PROTOCOL, STEP_IDLE, STEP_LEDS, STEP_CLEAR, STEP_NONE };

struct keyboard {
	struct usb_device *device; /* NULL: the entry is free */
	struct usb_endpoint *in;
	uint8_t interface;
	enum step step;
	bool halted;  /* the endpoint must be cleared */
	bool stopped; /* the device is reset or gone: nothing is submitted */
	uint8_t leds; /* that it was sent */
	uint32_t errors;
	uint64_t retry_us; /* the next transfer waits until then */
	struct hid_keys keys;
	struct usb_transfer control, report;
	uint8_t *buffer; /* IN_BYTES for reports and one for lights */
};

static struct keyboard keyboards[HID_KEYBOARDS];
static struct hid_press presses[PRESSES];
static uint32_t head, tail;
static uint8_t leds;
static uint64_t now;
static uint64_t said;

static bool init(void)
{
	for (uint32_t i = 0; i < HID_KEYBOARDS; i++)
		if (!(keyboards[i].buffer = alloc(IN_BYTES + 1, 64)))
			return false;
	return true;
}

static void push(const struct hid_press *p)
{
	if (tail - head < PRESSES)
		presses[tail++ % PRESSES] = *p;
}

/* Notes an error. True when the keyboard may be tried again. */
static bool failed(struct keyboard *k)
{
	k->retry_us = now + RETRY_US;
	if (++k->errors < ERRORS)
		return true;
	k->stopped = true;
	usb_device_reset(k->device);
	return false;
}

static void control_done(struct usb_transfer *t)
{
	struct keyboard *k = t->owner;
	if (k->step == STEP_CLEAR) {
		k->halted = false;
		if (t->status == USB_OK)
			usb_endpoint_reset(k->in);
		else if (t->status != USB_GONE)
			(void)failed(k);
	}
	k->step = k->step < STEP_LEDS ? k->step + 1 : STEP_NONE;
	k->stopped |= t->status == USB_GONE;
}

/* Fills in the request of a step. */
static void prepare(struct keyboard *k, enum step step)
{
	struct usb_transfer *t = &k->control;
	uint8_t *out = k->buffer + IN_BYTES;
	switch (step) {
	case STEP_PROTOCOL: /* 0: boot */
		usb_control(t, k->device, TO_INTERFACE, SET_PROTOCOL, 0, k->interface, NULL, 0);
		break;
	case STEP_IDLE: /* 0: a report only when something has changed */
		usb_control(t, k->device, TO_INTERFACE, SET_IDLE, 0, k->interface, NULL, 0);
		break;
	case STEP_LEDS:
		k->leds = *out = leds;
		usb_control(t, k->device, TO_INTERFACE, SET_REPORT, REPORT_OUTPUT, k->interface,
		            out, 1);
		break;
	default:
		usb_control(t, k->device, TO_ENDPOINT, CLEAR_FEATURE, 0, k->in->address, NULL, 0);
		break;
	}
	t->done = control_done;
	t->owner = k;
}

/* Sends the request of a step; a later call tries again if that is not possible. */
static void request(struct keyboard *k, enum step step)
{
	prepare(k, step);
	if (usb_submit(&k->control))
		k->step = step;
	else
		k->retry_us = now + RETRY_US;
}

static void report_done(struct usb_transfer *t)
{
	struct keyboard *k = t->owner;
	struct hid_press press[HID_KEYS];
	if (t->status == USB_OK) {
		uint32_t n = hid_keys_report(&k->keys, t->data, t->actual, now, press);
		for (uint32_t i = 0; i < n; i++)
			push(&press[i]);
		k->errors = 0;
	} else if (t->status == USB_GONE) {
		k->stopped = true;
	} else {
		k->halted = failed(k) && t->status == USB_STALLED;
	}
}

static void listen(struct keyboard *k)
{
	struct usb_transfer *t = &k->report;
	*t = (struct usb_transfer){
	        .endpoint = k->in,
	        .data = k->buffer,
	        .len = min_u32(k->in->max_packet, IN_BYTES),
	        .done = report_done,
	        .owner = k,
	};
	if (!usb_submit(t))
		k->retry_us = now + RETRY_US;
}

/* Gives the interrupt endpoint that reports come from, or NULL. */
static struct usb_endpoint *find_in(const struct usb_interface *i)
{
	for (uint32_t n = 0; n < i->n_endpoints; n++)
		if (i->endpoint[n]->kind == USB_INTERRUPT &&
		    i->endpoint[n]->address & ENDPOINT_IN && i->endpoint[n]->max_packet > 0)
			return i->endpoint[n];
	return NULL;
}

static bool wants(const struct usb_interface *i)
{
	return i->class_code == CLASS_HID && i->subclass == SUBCLASS_BOOT &&
	       i->protocol == PROTOCOL_KEYBOARD;
}

static void *attach(struct usb_device *d, const struct usb_interface *i)
{
	struct usb_endpoint *in = find_in(i);
	if (!in)
		return NULL;
	for (uint32_t n = 0; n < HID_KEYBOARDS; n++) {
		struct keyboard *k = &keyboards[n];
		if (k->device || !k->buffer)
			continue;
		uint8_t *buffer = k->buffer;
		*k = (struct keyboard){
		        .device = d, .in = in, .interface = i->number, .buffer = buffer};
		return k;
	}
	log_limited(&said, 60000, "usb: more than %u keyboards", HID_KEYBOARDS);
	return NULL;
}

static void detach(void *state)
{
	struct keyboard *k = state;
	k->device = NULL;
}

/* Goes on with a keyboard: the requests of the start, a halted endpoint, new lights, and the
 * transfer that waits for reports. */
static void work(struct keyboard *k)
{
	struct hid_press press;
	if (k->stopped || k->device->gone)
		return;
	if (hid_keys_repeat(&k->keys, now, &press))
		push(&press);
	if (k->control.active || now < k->retry_us)
		return;
	if (k->step < STEP_CLEAR)
		request(k, k->step);
	else if (k->halted)
		request(k, STEP_CLEAR);
	else if (k->leds != leds)
		request(k, STEP_LEDS);
	else if (!k->report.active)
		listen(k);
}

static void tick(uint64_t now_us)
{
	now = now_us;
	for (uint32_t i = 0; i < HID_KEYBOARDS; i++)
		if (keyboards[i].device)
			work(&keyboards[i]);
}

const struct usb_class hid_keyboard_class = {
        .name = "keyboard",
        .init = init,
        .wants = wants,
        .attach = attach,
        .detach = detach,
        .tick = tick,
};

bool hid_keyboard_press(struct hid_press *press)
{
	if (head == tail)
		return false;
	*press = presses[head++ % PRESSES];
	return true;
}

void hid_keyboard_leds(uint8_t bits)
{
	leds = bits;
}

uint32_t hid_keyboard_count(void)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < HID_KEYBOARDS; i++)
		n += keyboards[i].device != NULL;
	return n;
}
