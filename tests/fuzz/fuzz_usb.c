/* Fuzzer: USB devices that answer with anything, behind a fake controller and a hub.
 *
 * An input is a list of operations. Each device answers its requests from the input: as it should,
 * with other bytes, with a stall, with nothing. Devices come and go meanwhile. Nothing may be read
 * or written out of place (sanitizers, the model's checks of memory); the core keeps the contract
 * of usb_hcd.h (the model's faults); every device that was opened is closed; attempts stay bounded.
 */
#include "drivers/usb/hid/hid_keyboard.h"
#include "drivers/usb/usb_core.h"
#include "drivers/usb/usb_list.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "kernel/seam/io.h"
#include "tests/fuzz/must.h"
#include "tests/models/usb_fake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct usb_driver *const usb_drivers[] = {&usb_fake_first};
const uint32_t n_usb_drivers = 1;
const struct usb_class *const usb_classes[] = {&usb_hub_class, &hid_keyboard_class};
const uint32_t n_usb_classes = 2;

enum { DEVICES = 4, OPERATIONS = 64 };

static const uint8_t *input;
static size_t left;
static struct usb_fake fake;
static struct usb_fake_device device[DEVICES], hub;
static struct usb_fake_port port[15];

static uint8_t next(void)
{
	if (left == 0)
		return 0;
	left--;
	return *input++;
}

/* Answers a request with bytes of the input behind what the device would say. */
static int control(struct usb_fake_device *d, const uint8_t setup[8], uint8_t *data, uint32_t len)
{
	uint8_t how = next();
	switch (how & 7) {
	case 0:
	case 1:
	case 2:
		return USB_FAKE_PASS;
	case 3:
		return how & 8 ? USB_FAKE_STALL : how & 16 ? USB_FAKE_SILENT : USB_FAKE_BROKEN;
	default: {
		int n = usb_fake_standard(d, setup, data, len);
		if (n < 0)
			n = 0;
		for (uint32_t changes = how >> 4; changes && len; changes--) {
			uint32_t at = next() % len;
			data[at] = next();
		}
		return how & 8 ? (int)(next() % (len + 1)) : n;
	}
	}
}

/* A device is in one place, and it does not change while it is there. */
static void unplug(const struct usb_fake_device *d)
{
	for (uint8_t i = 1; i <= 4; i++) {
		if (fake.port[i - 1].device == d)
			usb_fake_plug(&fake, i, NULL);
		if (port[i - 1].device == d)
			usb_fake_plug_hub(&hub, i, NULL);
	}
}

static void operate(void)
{
	uint8_t op = next();
	struct usb_fake_device *d = &device[op >> 5 & 3];
	if ((op & 7) >= 3 && (op & 7) < 7)
		unplug(d);
	switch (op & 7) {
	case 0:
	case 1: /* 1 to 256 ms pass */
	case 2:
		for (uint32_t ms = 1u + next(); ms > 0;) {
			uint32_t step = usb_busy() ? 1 : 10;
			host_now_us += step * 1000ull;
			usb_poll(host_now_us);
			ms -= step < ms ? step : ms;
		}
		break;
	case 3:
		usb_fake_keyboard(d, op >> 3 & 1);
		break;
	case 4:
		usb_fake_stick(d, (uint8_t)(1 + (op >> 3) % 3));
		break;
	case 5:
		usb_fake_plug(&fake, (uint8_t)(1 + (op >> 3 & 3)), op & 0x80 ? d : NULL);
		break;
	case 6:
		usb_fake_plug_hub(&hub, (uint8_t)(1 + (op >> 3 & 3)), op & 0x80 ? d : NULL);
		break;
	case 7:
		fake.no_endpoint = op & 0x80;
		fake.slow_cancel = op & 0x40;
		struct usb_device *at;
		if (op & 0x20 && usb_device_at(next() % 8, &at) && at)
			usb_device_reset(at);
		break;
	}
	d->control = control;
}

static void check_log(void)
{
	char line[LOG_LINE];
	unsigned n = 0;
	for (uint64_t cursor = 0; log_next(&cursor, line, sizeof line); n++)
		for (size_t i = 0; line[i]; i++)
			MUST(line[i] >= ' ' && line[i] <= '~');
	/* 30 lines a minute; an input takes some 16 s, and its end as many. */
	MUST(n < 80);
	for (uint64_t cursor = 0; usb_show(&cursor, line, sizeof line);)
		MUST(strnlen(line, sizeof line) < sizeof line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input = data;
	left = size;
	pci_model_reset();
	host_arena(1u << 20);
	log_reset();
	log_time(0);
	host_now_us = 1000000;
	usb_fake_init(&fake, 0, 0xfd, 4);
	usb_fake_hub(&hub, next() & 1 ? USB_HIGH : USB_FULL, port, 4);
	hub.control = next() & 1 ? control : NULL;
	for (unsigned i = 0; i < DEVICES; i++) {
		usb_fake_keyboard(&device[i], USB_FULL);
		device[i].control = control;
		usb_fake_plug_hub(&hub, (uint8_t)(i + 1), &device[i]);
	}
	usb_init();
	usb_fake_plug(&fake, 4, &hub);
	for (unsigned i = 0; i < OPERATIONS && left; i++)
		operate();
	/* All is unplugged: nothing is left. */
	for (uint8_t i = 1; i <= 4; i++)
		if (fake.port[i - 1].device)
			usb_fake_plug(&fake, i, NULL);
	for (unsigned i = 0; i < 40; i++)
		usb_poll(host_now_us += 10000);
	check_log();
	MUST(fake.opened == fake.closed);
	MUST(fake.n_transfers == 0 && !usb_busy());
	MUST(usb_counts.controllers_failed == 0);
	/* A hub that lies about its ports makes the core do what else it must not do. */
	MUST(hub.control || pci_model_faults() == 0);
	/* Eight attempts a minute at each of eight ports. */
	MUST(usb_counts.enumerations <= 2 * 8 * 8);
	return 0;
}
