/* The OHCI driver against the controller's model. */
#include "tests/unit/drivers/usb/usb1_cases.h"

#include "drivers/usb/ohci/ohci.h"
#include "tests/models/ohci_model.h"

static struct ohci_model model;

static void hc_frame(void)
{
	ohci_model_frame(&model);
}

static void hc_frame_end(void)
{
	ohci_model_frame_end(&model);
}

static void hc_plug(unsigned port, struct usb1_device *d)
{
	ohci_model_plug(&model, port, d);
}

/* Puts a controller on the bus, without a start. */
static void put(void)
{
	kit_machine();
	ohci_model_init(&model, 0);
}

/* Starts it and waits until its ports are there. */
static void start(void)
{
	const char *wrong = kit_start(&ohci_driver, 0);
	CHECK(wrong == NULL);
	if (wrong)
		printf("# %s\n", wrong);
	kit_frames(90);
}

static void hc_begin(void)
{
	put();
	start();
}

static void hc_end(void)
{
	uint64_t before = host_now_us;
	kit_hc->ops->stop(kit_hc);
	CHECK(host_now_us - before < 2000);
	CHECK(ohci_model_quiet(&model));
	CHECK(kit_failed == NULL);
	if (kit_failed)
		printf("# %s\n", kit_failed);
	CHECK_EQ(pci_model_faults(), 0);
}

static void takes_it_from_the_firmware(void)
{
	hc_begin();
	CHECK(!model.forced);
	CHECK_EQ(model.control, 0x2b7);
	CHECK_EQ(model.resets, 1);
	CHECK_EQ(model.interval & 0x3fff, 0x2ed0); /* the firmware's */
	CHECK_EQ(model.periodic_start, 0x2ed0 * 9 / 10);
	CHECK_EQ(model.enable, 0);
	CHECK_EQ(kit_hc->n_ports, 3);
	hc_end();
}

int main(void)
{
	TEST(takes_it_from_the_firmware);
	usb1_cases();
	return tap_done();
}
