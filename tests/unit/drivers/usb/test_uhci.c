/* The UHCI driver against the controller's model. */
#include "tests/unit/drivers/usb/usb1_cases.h"

#include "drivers/usb/uhci/uhci.h"
#include "tests/models/uhci_model.h"

static struct uhci_model model;

static void hc_frame(void)
{
	uhci_model_frame(&model);
}

static void hc_frame_end(void)
{
	uhci_model_frame_end(&model);
}

static void hc_plug(unsigned port, struct usb1_device *d)
{
	uhci_model_plug(&model, port, d);
}

/* Puts a controller on the bus, without a start. */
static void put(void)
{
	kit_machine();
	uhci_model_init(&model, 0);
}

static void hc_begin(void)
{
	put();
	const char *wrong = kit_start(&uhci_driver, 0);
	CHECK(wrong == NULL);
	if (wrong)
		printf("# %s\n", wrong);
}

static void hc_end(void)
{
	uint64_t before = host_now_us;
	kit_hc->ops->stop(kit_hc);
	CHECK(host_now_us - before < 20000);
	CHECK(uhci_model_quiet(&model));
	CHECK(kit_failed == NULL);
	if (kit_failed)
		printf("# %s\n", kit_failed);
	CHECK_EQ(pci_model_faults(), 0);
}

static void takes_it_from_the_firmware(void)
{
	hc_begin();
	CHECK_EQ(load16(model.pci.cfg + 0xc0), 0x8f00);
	CHECK_EQ(model.cmd, 0xc1);
	CHECK_EQ(model.sofmod, 0x40);
	CHECK_EQ(model.intr, 0);
	CHECK_EQ(kit_hc->n_ports, 2);
	CHECK(host_now_us - 5000000 < 1000);
	hc_end();
}

int main(void)
{
	TEST(takes_it_from_the_firmware);
	usb1_cases();
	return tap_done();
}
