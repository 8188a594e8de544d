/* The USB core, its hub driver and the keyboards on top of the EHCI driver: what QEMU cannot show,
 * because its hub is a full-speed one. */
#include "tests/tap.h"

#include "drivers/usb/ehci/ehci.h"
#include "drivers/usb/hid/hid_keyboard.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "tests/models/ehci_model.h"

static struct ehci_model model;

static void begin(void)
{
	pci_model_reset();
	host_arena(8u << 20);
	log_reset();
	host_now_us = 5000000;
	ehci_model_init(&model, 0, 4, 1);
	usb_init();
}

static void ms(unsigned n)
{
	for (; n; n--) {
		ehci_model_run(&model, 1000);
		log_time(host_now_us);
		usb_poll(host_now_us);
	}
}

static bool said(const char *text)
{
	uint64_t cursor = 0;
	char line[LOG_LINE];
	while (log_next(&cursor, line, sizeof line))
		if (strstr(line, text))
			return true;
	return false;
}

/* True when the command `usb` shows a line with this text. */
static bool shows(const char *text)
{
	uint64_t cursor = 0;
	char line[200];
	while (usb_show(&cursor, line, sizeof line))
		if (strstr(line, text))
			return true;
	return false;
}

static bool await(bool (*what)(const char *text), const char *text, unsigned n)
{
	for (; n && !what(text); n--)
		ms(1);
	if (!what(text))
		printf("# no %s\n", text);
	return what(text);
}

static struct ehci_model_device *keyboard(unsigned i, uint8_t speed)
{
	struct ehci_model_device *d = ehci_model_device(&model, i, speed);
	static const uint8_t interface[] = {3, 1, 1};
	memcpy(d->config_text + 14, interface, 3);
	ehci_model_end(d, 0x81, USB_INTERRUPT, 8, 10);
	return d;
}

static struct ehci_model_device *hub(unsigned i, uint8_t speed, bool multi_tt)
{
	struct ehci_model_device *d = ehci_model_device(&model, i, speed);
	ehci_model_hub(d, 4, multi_tt);
	return d;
}

static void types(struct ehci_model_device *d, uint8_t usage)
{
	struct hid_press press;
	uint8_t report[8] = {0, 0, usage};
	while (hid_keyboard_press(&press))
		;
	ehci_model_send(&d->in[1], report, 8);
	ms(30);
	CHECK(hid_keyboard_press(&press));
	CHECK_EQ(press.usage, usage);
	report[2] = 0;
	ehci_model_send(&d->in[1], report, 8);
	ms(30);
	CHECK(!hid_keyboard_press(&press));
}

/* Pulls all devices, so that nothing is left in the classes for the next test. */
static void end(void)
{
	for (unsigned i = 0; i < EHCI_MODEL_DEVICES; i++)
		if (model.device[i].there && !model.device[i].hub)
			ehci_model_unplug(&model, &model.device[i]);
	ms(300);
	CHECK_EQ(hid_keyboard_count(), 0);
	usb_stop();
	CHECK(ehci_model_quiet(&model));
	CHECK_EQ(pci_model_faults(), 0);
}

/* High-speed hub, full-speed hub behind it, keyboards of all speeds at both. */
static void keyboards_of_all_speeds(void)
{
	for (unsigned multi = 0; multi < 2; multi++) {
		begin();
		struct ehci_model_device *h = hub(0, USB_HIGH, multi), *f = hub(1, USB_FULL, false);
		struct ehci_model_device *k[5];
		for (unsigned i = 0; i < 5; i++)
			k[i] = keyboard(2 + i, (uint8_t)(i < 3 ? i : i - 3));
		ehci_model_plug(&model, h, NULL, 2);
		ehci_model_plug(&model, k[0], h, 1);
		ehci_model_plug(&model, k[1], h, 2);
		ehci_model_plug(&model, k[2], h, 3);
		ehci_model_plug(&model, f, h, 4);
		ehci_model_plug(&model, k[3], f, 1);
		ehci_model_plug(&model, k[4], f, 3);
		CHECK(await(shows, "usb0-2.1 low ", 5000));
		CHECK(await(shows, "usb0-2.2 full ", 5000));
		CHECK(await(shows, "usb0-2.3 high ", 5000));
		CHECK(await(shows, "usb0-2.4.1 low ", 9000));
		CHECK(await(shows, "usb0-2.4.3 full ", 5000));
		ms(500);
		CHECK_EQ(hid_keyboard_count(), 5);
		for (unsigned round = 0; round < 3; round++)
			for (unsigned i = 0; i < 5; i++)
				types(k[i], (uint8_t)(4 + i + round));
		CHECK_EQ(h->cleared, 0);
		end();
	}
}

/* The hub is pulled at any time while its devices are brought into use, and comes back. */
static void hub_pulled_at_any_time(void)
{
	for (unsigned at = 0; at < 1500; at += 29) {
		begin();
		struct ehci_model_device *h = hub(0, USB_HIGH, false);
		struct ehci_model_device *a = keyboard(1, USB_LOW), *b = keyboard(2, USB_FULL);
		for (unsigned round = 0; round < 2; round++) {
			ehci_model_plug(&model, h, NULL, 1);
			ehci_model_plug(&model, a, h, 1);
			ehci_model_plug(&model, b, h, 2);
			if (round)
				break;
			ms(at);
			ehci_model_unplug(&model, h);
			ms(150);
			CHECK(!shows("usb0-1"));
			CHECK_EQ(hid_keyboard_count(), 0);
		}
		CHECK(await(shows, "usb0-1.1 low ", 3000));
		CHECK(await(shows, "usb0-1.2 full ", 3000));
		ms(300);
		types(a, 5);
		types(b, 6);
		end();
	}
}

/* Single errors at any token do not keep a device from being used. */
static void errors_at_any_token(void)
{
	for (unsigned at = 1; at < 60; at++) {
		begin();
		struct ehci_model_device *h = hub(0, USB_HIGH, false), *k = keyboard(1, USB_LOW);
		ehci_model_plug(&model, h, NULL, 1);
		ehci_model_plug(&model, k, h, 3);
		for (unsigned i = 0; i < 4000 && k->tokens < at; i++)
			ms(1);
		k->errors = 2 + at % 4;
		CHECK(await(said, "usb0-1.3: 1234:0001, low speed, keyboard", 6000));
		ms(1500); /* errors of the keyboard's reports have it found again */
		CHECK_EQ(k->errors, 0);
		types(k, 7);
		end();
	}
}

/* A controller that loses answers, or is late, works all the same. */
static void lazy_controller(void)
{
	begin();
	model.iaa_lost = true;
	struct ehci_model_device *h = hub(0, USB_HIGH, true), *k = keyboard(1, USB_FULL);
	ehci_model_plug(&model, h, NULL, 1);
	ehci_model_plug(&model, k, h, 3);
	CHECK(await(shows, "usb0-1.3 full ", 6000));
	ms(300);
	types(k, 7);
	end();
}

static void controller_fails(void)
{
	begin();
	struct ehci_model_device *h = hub(0, USB_HIGH, true), *k = keyboard(1, USB_FULL);
	ehci_model_plug(&model, h, NULL, 1);
	ehci_model_plug(&model, k, h, 3);
	CHECK(await(shows, "usb0-1.3 full ", 6000));
	model.gone = true;
	ms(50);
	CHECK(said("usb0: ehci: it is gone; switched off"));
	CHECK_EQ(hid_keyboard_count(), 0);
	end();
}

/* Devices that this controller cannot serve are left alone. */
static void left_to_companions(void)
{
	begin();
	ehci_model_plug(&model, keyboard(0, USB_LOW), NULL, 1);
	ehci_model_plug(&model, keyboard(1, USB_FULL), NULL, 2);
	ehci_model_plug(&model, keyboard(2, USB_HIGH), NULL, 3);
	CHECK(await(shows, "usb0-3 high ", 3000));
	ms(2000);
	CHECK(model.port[0].companion && model.port[1].companion);
	CHECK(!said("usb0-1") && !said("usb0-2"));
	end();
}

int main(void)
{
	TEST(keyboards_of_all_speeds);
	TEST(hub_pulled_at_any_time);
	TEST(errors_at_any_token);
	TEST(lazy_controller);
	TEST(controller_fails);
	TEST(left_to_companions);
	return tap_done();
}
