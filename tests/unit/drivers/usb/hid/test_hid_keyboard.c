/* drivers/usb/hid/hid_keyboard.c above a core that the test plays: devices that refuse, halt,
 * vanish and flood. */
#include "drivers/usb/hid/hid_keyboard.h"

#include "kernel/lib/alloc.h"
#include "kernel/seam/io.h"
#include "tests/tap.h"

/* --- the core ---------------------------------------------------------------------------- */

static struct usb_device device[HID_KEYBOARDS + 1];
static struct usb_endpoint in[HID_KEYBOARDS + 1];
static struct usb_interface interface[HID_KEYBOARDS + 1];
static struct usb_transfer *control, *listening; /* of device 0 */
static uint32_t resets, submits;
static bool full; /* the core takes no transfer */
static uint64_t now;

bool usb_submit(struct usb_transfer *t)
{
	if (full || t->endpoint->device->gone)
		return false;
	CHECK(!t->active);
	CHECK(t->done != NULL);
	t->active = true;
	submits++;
	if (t->endpoint == &device[0].control)
		control = t;
	else if (t->endpoint == &in[0])
		listening = t;
	return true;
}

void usb_control(struct usb_transfer *t, struct usb_device *d, uint8_t type, uint8_t request,
                 uint16_t value, uint16_t index, void *data, uint16_t len)
{
	*t = (struct usb_transfer){
	        .endpoint = &d->control,
	        .setup = {type, request, (uint8_t)value, (uint8_t)(value >> 8), (uint8_t)index,
	                  (uint8_t)(index >> 8), (uint8_t)len, (uint8_t)(len >> 8)},
	        .data = data,
	        .len = len,
	};
}

static uint32_t endpoint_resets;
void usb_endpoint_reset(struct usb_endpoint *e)
{
	CHECK(e == &in[0]);
	endpoint_resets++;
}

void usb_device_reset(struct usb_device *d)
{
	CHECK(d == &device[0]);
	resets++;
}

static void complete(struct usb_transfer **slot, enum usb_status status, uint32_t actual)
{
	struct usb_transfer *t = *slot;
	CHECK(t != NULL && t->active);
	*slot = NULL;
	t->active = false;
	t->status = status;
	t->actual = actual;
	t->done(t);
}

static void pass(uint64_t us)
{
	now += us;
	hid_keyboard_class.tick(now);
}

/* --- the keyboard -------------------------------------------------------------------------- */

static void *state[HID_KEYBOARDS + 1];

static bool plug(uint32_t i)
{
	device[i] = (struct usb_device){0};
	device[i].control.device = &device[i];
	in[i] = (struct usb_endpoint){
	        .device = &device[i], .address = 0x81, .kind = USB_INTERRUPT, .max_packet = 8};
	interface[i] = (struct usb_interface){.number = 1,
	                                      .class_code = 3,
	                                      .subclass = 1,
	                                      .protocol = 1,
	                                      .n_endpoints = 1,
	                                      .endpoint = {&in[i]}};
	CHECK(hid_keyboard_class.wants(&interface[i]));
	state[i] = hid_keyboard_class.attach(&device[i], &interface[i]);
	return state[i] != NULL;
}

static void unplug(uint32_t i)
{
	device[i].gone = true;
	if (i == 0 && control)
		complete(&control, USB_GONE, 0);
	if (i == 0 && listening)
		complete(&listening, USB_GONE, 0);
	hid_keyboard_class.detach(state[i]);
}

/* Answers the request that the keyboard gets now. */
static void expect(uint8_t request, enum usb_status answer)
{
	pass(20000);
	CHECK(control != NULL);
	CHECK_EQ(control->setup[1], request);
	CHECK_EQ(control->setup[4], request == 1 ? 0x81 : 1);
	complete(&control, answer, control->len);
}

/* Plugs keyboard 0 in, up to the first transfer that waits for a report. */
static void start(void)
{
	full = false;
	resets = endpoint_resets = 0;
	control = listening = NULL;
	CHECK(plug(0));
	expect(0x0b, USB_OK);
	expect(0x0a, USB_OK);
	expect(0x09, USB_OK);
	pass(20000);
	CHECK(listening != NULL);
}

static void type(uint8_t modifiers, uint8_t usage)
{
	uint8_t *report = listening->data;
	memset(report, 0, listening->len);
	report[0] = modifiers;
	report[2] = usage;
	complete(&listening, USB_OK, 8);
	pass(1000);
}

static uint8_t key(void)
{
	struct hid_press p = {0};
	return hid_keyboard_press(&p) ? p.usage : 0;
}

static void keys_arrive(void)
{
	start();
	CHECK_EQ(hid_keyboard_count(), 1);
	type(0, 4);
	CHECK_EQ(key(), 4);
	CHECK_EQ(key(), 0);
	CHECK(listening != NULL); /* it waits for the next */
	type(0, 0);
	type(2, 5);
	struct hid_press p;
	CHECK(hid_keyboard_press(&p));
	CHECK_EQ(p.modifiers, 2);
	unplug(0);
	CHECK_EQ(hid_keyboard_count(), 0);
}

/* A keyboard that is unplugged while a key is held types nothing any more. */
static void unplugged_while_a_key_is_held(void)
{
	start();
	type(0, 4);
	CHECK_EQ(key(), 4);
	pass(HID_REPEAT_FIRST_US);
	CHECK_EQ(key(), 4);
	device[0].gone = true; /* the core completes the transfers a moment later */
	pass(HID_REPEAT_FIRST_US);
	CHECK_EQ(key(), 0);
	unplug(0);
	pass(HID_REPEAT_FIRST_US);
	CHECK_EQ(key(), 0);
}

static void it_may_refuse_every_request(void)
{
	static const enum usb_status answer[] = {USB_STALLED, USB_FAILED, USB_CANCELLED};
	for (uint32_t i = 0; i < ARRAY_SIZE(answer); i++) {
		control = listening = NULL;
		CHECK(plug(0));
		expect(0x0b, answer[i]);
		expect(0x0a, answer[i]);
		expect(0x09, answer[i]);
		pass(20000);
		type(0, 4);
		CHECK_EQ(key(), 4);
		CHECK_EQ(resets, 0);
		unplug(0);
	}
}

static void lights(void)
{
	hid_keyboard_leds(1);
	CHECK(plug(0));
	expect(0x0b, USB_OK);
	expect(0x0a, USB_OK);
	pass(20000);
	CHECK_EQ(control->setup[1], 9);
	CHECK_EQ(control->setup[3], 2); /* an output report */
	CHECK_EQ(*(uint8_t *)control->data, 1);
	complete(&control, USB_OK, 1);
	pass(20000);
	hid_keyboard_leds(3);
	pass(20000);
	CHECK_EQ(*(uint8_t *)control->data, 3);
	CHECK(listening->active); /* keys arrive meanwhile */
	complete(&control, USB_STALLED, 0);
	uint32_t before = submits;
	pass(20000);
	CHECK_EQ(submits, before); /* refused lights are not sent again */
	unplug(0);
	hid_keyboard_leds(0);
}

static void a_halted_endpoint(void)
{
	start();
	for (uint32_t i = 0; i < 10; i++) {
		complete(&listening, USB_STALLED, 0);
		expect(0x01, USB_OK);
		CHECK_EQ(endpoint_resets, i + 1);
		pass(20000);
		type(0, 4);
		CHECK_EQ(key(), 4);
		type(0, 0);
	}
	CHECK_EQ(resets, 0);
	unplug(0);
}

/* Three errors in a row: the device is reset, once, and nothing more is sent to it. */
static void three_errors(void)
{
	static const enum usb_status error[] = {USB_STALLED, USB_FAILED, USB_CANCELLED};
	for (uint32_t i = 0; i < ARRAY_SIZE(error); i++) {
		start();
		for (uint32_t n = 0; n < 3; n++) {
			CHECK_EQ(resets, 0);
			pass(20000);
			complete(&listening, error[i], 0);
			if (error[i] == USB_STALLED && n < 2)
				expect(0x01, USB_OK);
			pass(20000);
		}
		CHECK_EQ(resets, 1);
		uint32_t before = submits;
		for (uint32_t n = 0; n < 100; n++)
			pass(20000);
		CHECK_EQ(submits, before);
		CHECK_EQ(resets, 1);
		unplug(0);
	}
}

/* An endpoint that stays halted, since the device refuses to clear it. */
static void a_halt_that_cannot_be_cleared(void)
{
	start();
	complete(&listening, USB_STALLED, 0);
	expect(0x01, USB_STALLED);
	pass(20000);
	complete(&listening, USB_STALLED, 0);
	pass(20000);
	CHECK_EQ(resets, 1);
	unplug(0);
}

/* A keyboard that reports without end types 32 keys at most between two looks. */
static void a_flood(void)
{
	start();
	for (uint32_t i = 0; i < 1000; i++)
		type(0, (uint8_t)(4 + i % 2));
	uint32_t n = 0;
	while (key())
		n++;
	CHECK_EQ(n, 32);
	unplug(0);
}

/* The core is busy for a while: nothing is lost, and later everything goes on. */
static void a_core_without_room(void)
{
	control = listening = NULL;
	full = true;
	CHECK(plug(0));
	for (uint32_t i = 0; i < 10; i++)
		pass(20000);
	full = false;
	expect(0x0b, USB_OK);
	full = true;
	pass(20000);
	full = false;
	expect(0x0a, USB_OK);
	expect(0x09, USB_OK);
	full = true;
	pass(20000);
	CHECK(listening == NULL);
	full = false;
	pass(20000);
	type(0, 4);
	CHECK_EQ(key(), 4);
	unplug(0);
}

static void more_keyboards_than_places(void)
{
	for (uint32_t i = 0; i < HID_KEYBOARDS; i++)
		CHECK(plug(i));
	CHECK(!plug(HID_KEYBOARDS));
	CHECK_EQ(hid_keyboard_count(), HID_KEYBOARDS);
	unplug(3);
	CHECK(plug(HID_KEYBOARDS));
	for (uint32_t i = 0; i <= HID_KEYBOARDS; i++)
		if (i != 3)
			unplug(i);
	CHECK_EQ(hid_keyboard_count(), 0);
}

static void other_interfaces(void)
{
	struct usb_interface i = {.class_code = 3, .subclass = 1, .protocol = 2}; /* a mouse */
	CHECK(!hid_keyboard_class.wants(&i));
	i = (struct usb_interface){.class_code = 8, .subclass = 1, .protocol = 1};
	CHECK(!hid_keyboard_class.wants(&i));
	CHECK(plug(0));
	unplug(0);
	struct usb_endpoint out = in[0];
	interface[0].endpoint[0] = &out;
	out.address = 0x01;
	CHECK(hid_keyboard_class.attach(&device[0], &interface[0]) == NULL);
	out = in[0];
	out.kind = USB_BULK;
	CHECK(hid_keyboard_class.attach(&device[0], &interface[0]) == NULL);
	out = in[0];
	out.max_packet = 0;
	CHECK(hid_keyboard_class.attach(&device[0], &interface[0]) == NULL);
}

int main(void)
{
	host_arena(1u << 16);
	CHECK(hid_keyboard_class.init());
	TEST(keys_arrive);
	TEST(unplugged_while_a_key_is_held);
	TEST(it_may_refuse_every_request);
	TEST(lights);
	TEST(a_halted_endpoint);
	TEST(three_errors);
	TEST(a_halt_that_cannot_be_cleared);
	TEST(a_flood);
	TEST(a_core_without_room);
	TEST(more_keyboards_than_places);
	TEST(other_interfaces);
	return tap_done();
}
