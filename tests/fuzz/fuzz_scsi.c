/* Fuzzer: a USB stick that answers anything: wrong bytes, wrong lengths, stalls, silence, at any
 * transfer, and that is unplugged at any time.
 *
 * Each byte of the input is for one transfer: below 128 a good answer (stick_model.h); else a
 * fault, for some of them with the bytes that follow. Whatever it does, each request ends within a
 * bounded time, and when the stick is unplugged nothing of it is left. */
#include "drivers/block/block.h"
#include "drivers/usb/storage/storage.h"
#include "drivers/usb/usb_list.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "kernel/seam/io.h"
#include "tests/fuzz/must.h"
#include "tests/models/stick_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct usb_driver *const usb_drivers[] = {&usb_fake_first, &usb_fake_second};
const uint32_t n_usb_drivers = 2;
const struct usb_class *const usb_classes[] = {&usb_hub_class, &storage_class};
const uint32_t n_usb_classes = 2;

static struct usb_fake fake;
static struct stick_model stick;
static uint8_t medium[64 * 4096];
static const uint8_t *input;
static size_t left;
static int (*good)(struct usb_fake_device *d, uint8_t endpoint, uint8_t *data, uint32_t len);

static uint8_t next(void)
{
	if (!left)
		return 0;
	left--;
	return *input++;
}

/* Asked once for each transfer that is not silent. */
static int transfer(struct usb_fake_device *d, uint8_t endpoint, uint8_t *data, uint32_t len)
{
	uint8_t what = next();
	int got = good(d, endpoint, data, len);
	bool in = (endpoint & 0x80) != 0;
	if (what < 128 || got == USB_FAKE_SILENT)
		return got;
	switch (what & 7) {
	case 0:
		return USB_FAKE_STALL;
	case 1:
		return USB_FAKE_BROKEN;
	case 2:
		return (int)(next() % (len + 1));
	case 3: /* the first bytes are others */
		for (uint32_t i = 0; in && i < len && i < (what >> 3 & 15u); i++)
			data[i] = next();
		return got < 0 ? (int)len : got;
	case 4: /* one byte is another */
		if (in && len)
			data[next() % len] = next();
		return got;
	case 5:
		stick.fails_op = next();
		stick.fails = 1;
		stick.sense_of = (struct stick_sense){next(), next(), next()};
		return got;
	case 6:
		stick.fault = next() % STICK_FAULTS;
		stick.fault_at = stick.transfers + 1;
		return got;
	default:
		return what & 8 ? USB_FAKE_SILENT : got;
	}
}

static void run(uint32_t ms)
{
	for (uint64_t end = host_now_us + ms * 1000ull; host_now_us < end;) {
		host_now_us += usb_busy() ? 1000 : 10000;
		usb_poll(host_now_us);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input = data;
	left = size;
	pci_model_reset();
	host_arena(1u << 20);
	log_reset();
	block_reset();
	host_now_us = 1000000;
	usb_fake_init(&fake, 0, 0xfd, 2);
	usb_init();
	stick_model_init(&stick, USB_HIGH, medium, 64, next() & 1 ? 4096 : 512);
	stick.max_lun = next() & 1;
	if (next() & 1)
		stick.sectors = 6000000000;
	good = stick.usb.transfer;
	stick.usb.transfer = transfer;
	uint8_t *buf = alloc(4096, 4096);
	usb_fake_plug(&fake, 1, &stick.usb);
	for (uint32_t turn = 0; turn < 8 && left; turn++) {
		run(2000);
		struct block_device *d = block_at(0);
		if (!d)
			continue;
		struct block_request r = {.op = turn % 3, .sector = turn, .count = 1, .data = buf};
		if (r.op == BLOCK_FLUSH)
			r.count = 0;
		block_submit(d, &r);
		/* Three tries, each of four transfers of 20 seconds at most, and the recovery. */
		for (uint32_t s = 0; r.result == BLOCK_PENDING && s < 900; s++)
			run(1000);
		MUST(r.result != BLOCK_PENDING);
	}
	usb_fake_plug(&fake, 1, NULL);
	run(3000);
	MUST(!block_at(0));
	MUST(!block_expected());
	return 0;
}
