/* The ports of the EHCI driver: high-speed devices stay, others go to the companions. */
#include "tests/unit/drivers/usb/ehci/ehci_kit.h"

static struct ehci_model_device *plug(unsigned i, uint8_t speed, uint8_t port)
{
	struct ehci_model_device *d = ehci_model_device(&kit_model, i, speed);
	ehci_model_plug(&kit_model, d, NULL, port);
	kit_ms(1);
	return d;
}

static void high_speed(void)
{
	kit_begin(4, 1);
	for (uint8_t port = 1; port <= 4; port++)
		CHECK_EQ(kit_bits(port), 0);
	plug(1, USB_HIGH, 3);
	CHECK_EQ(kit_bits(3), USB_PORT_CONNECTED | USB_PORT_CHANGED);
	CHECK_EQ(kit_bits(3), USB_PORT_CONNECTED);
	CHECK_EQ(kit_reset(3), USB_PORT_CONNECTED | USB_PORT_ENABLED);
	CHECK_EQ(kit_c->ops->port(kit_c, 3).speed, USB_HIGH);
	CHECK_EQ(kit_reset(3), USB_PORT_CONNECTED | USB_PORT_ENABLED); /* once more */
	kit_c->ops->port_disable(kit_c, 3);
	CHECK_EQ(kit_bits(3), USB_PORT_CONNECTED);
	CHECK_EQ(kit_model.port[2].resets, 2);
	ehci_model_unplug(&kit_model, &kit_model.device[1]);
	CHECK_EQ(kit_bits(3), USB_PORT_CHANGED);
	CHECK_EQ(kit_bits(3), 0);
	kit_end();
}

/* Devices that were there before the start are seen as plugged in. */
static void there_from_the_start(void)
{
	kit_machine(4, 1);
	ehci_model_plug(&kit_model, ehci_model_device(&kit_model, 1, USB_HIGH), NULL, 2);
	CHECK(hcd_take(&ehci_driver, &kit_pci) == NULL);
	CHECK(ehci_driver.probe(&kit_pci, &kit_c) == NULL);
	kit_ms(1);
	CHECK_EQ(kit_bits(2), USB_PORT_CONNECTED | USB_PORT_CHANGED);
	CHECK_EQ(kit_reset(2), USB_PORT_CONNECTED | USB_PORT_ENABLED);
	kit_end();
}

static void given_to_companions(void)
{
	kit_begin(4, 2);
	for (uint8_t speed = USB_LOW; speed <= USB_FULL; speed++) {
		struct ehci_model_device *d = plug(1, speed, 2);
		kit_bits(2);
		uint8_t bits = kit_reset(2);
		CHECK(bits & USB_PORT_OTHER);
		CHECK(!(bits & (USB_PORT_ENABLED | USB_PORT_CONNECTED | USB_PORT_RESETTING)));
		CHECK(kit_model.port[1].companion);
		/* A low-speed device is never reset by this controller. */
		CHECK_EQ(kit_model.port[1].resets, speed == USB_LOW ? 0 : 1);
		kit_model.port[1].resets = 0;
		/* The companion has it, and this driver leaves it alone. */
		kit_bits(2);
		CHECK_EQ(kit_reset(2), USB_PORT_OTHER);
		kit_c->ops->port_disable(kit_c, 2);
		kit_ms(100);
		CHECK(kit_model.port[1].companion);
		/* It is unplugged: the port comes back. */
		ehci_model_unplug(&kit_model, d);
		kit_bits(2);
		CHECK_EQ(kit_bits(2), 0);
		plug(2, USB_HIGH, 2);
		CHECK_EQ(kit_bits(2), USB_PORT_CONNECTED | USB_PORT_CHANGED);
		CHECK_EQ(kit_reset(2), USB_PORT_CONNECTED | USB_PORT_ENABLED);
		ehci_model_unplug(&kit_model, &kit_model.device[2]);
		kit_model.port[1].resets = 0;
		kit_bits(2);
	}
	kit_end();
}

static void without_companions(void)
{
	kit_begin(4, 0);
	for (uint8_t speed = USB_LOW; speed <= USB_FULL; speed++) {
		log_reset();
		log_time(host_now_us);
		struct ehci_model_device *d = plug(1, speed, 2);
		kit_bits(2);
		for (unsigned i = 0; i < 5; i++) {
			uint8_t bits = kit_reset(2);
			CHECK_EQ(bits, USB_PORT_CONNECTED | USB_PORT_OTHER);
		}
		CHECK_EQ(kit_said("port 2: only high-speed devices can be used here"), 1);
		ehci_model_unplug(&kit_model, d);
		CHECK_EQ(kit_bits(2), USB_PORT_CHANGED);
		plug(2, USB_HIGH, 2);
		kit_bits(2);
		CHECK_EQ(kit_reset(2), USB_PORT_CONNECTED | USB_PORT_ENABLED);
		ehci_model_unplug(&kit_model, &kit_model.device[2]);
		kit_bits(2);
		kit_ms(11000); /* the next line may come */
		log_time(host_now_us);
	}
	kit_end();
}

/* Unplugged at any time of the reset, with another device plugged in or none. */
static void unplugged_in_the_reset(void)
{
	for (unsigned at = 0; at < 60; at++) {
		kit_begin(4, 1);
		plug(1, USB_HIGH, 1);
		kit_bits(1);
		kit_c->ops->port_reset(kit_c, 1);
		kit_ms(at);
		ehci_model_unplug(&kit_model, &kit_model.device[1]);
		if (at % 2)
			plug(2, USB_HIGH, 1);
		kit_ms(100);
		uint8_t bits = kit_bits(1);
		CHECK(bits & USB_PORT_CHANGED);
		CHECK(!(bits & (USB_PORT_RESETTING | USB_PORT_OTHER)));
		CHECK_EQ(bits & USB_PORT_CONNECTED, at % 2);
		if (at % 2)
			CHECK(kit_reset(1) & USB_PORT_ENABLED);
		kit_end();
	}
}

/* A full-speed device that loses contact in each reset goes to the companion all the same; one that
 * does so once gets a second chance. */
static void contact_lost_in_the_reset(void)
{
	kit_begin(4, 1);
	plug(1, USB_FULL, 1);
	kit_bits(1);
	for (unsigned i = 0; i < 2; i++) {
		kit_c->ops->port_reset(kit_c, 1);
		kit_ms(51);
		kit_model.port[0].sc |= PORT_CSC;
		kit_ms(10);
		CHECK_EQ(kit_model.port[0].companion, i);
		kit_bits(1);
	}
	kit_end();
}

static void reset_that_never_ends(void)
{
	kit_begin(4, 1);
	plug(1, USB_HIGH, 1);
	kit_bits(1);
	kit_model.no_port_end = true;
	CHECK_EQ(kit_reset(1), USB_PORT_CONNECTED);
	kit_end();
}

static void flapping(void)
{
	kit_begin(4, 1);
	for (unsigned i = 0; i < 500; i++) {
		uint8_t speed = (uint8_t)(i % 3);
		struct ehci_model_device *d = ehci_model_device(&kit_model, 1, speed);
		ehci_model_plug(&kit_model, d, NULL, 1);
		kit_ms(i % 7);
		kit_bits(1);
		kit_c->ops->port_reset(kit_c, 1);
		kit_ms(i % 70);
		kit_bits(1);
		ehci_model_unplug(&kit_model, d);
		kit_ms(i % 3);
		kit_bits(1);
	}
	kit_ms(100);
	kit_bits(1);
	CHECK_EQ(kit_bits(1), 0);
	CHECK_EQ(kit_failures, 0);
	kit_end();
}

/* The controller disables a port after errors; the core must look at it. */
static void disabled_by_the_controller(void)
{
	kit_begin(4, 1);
	plug(1, USB_HIGH, 1);
	kit_bits(1);
	CHECK(kit_reset(1) & USB_PORT_ENABLED);
	kit_model.port[0].sc &= ~PORT_PED;
	kit_model.port[0].sc |= PORT_PEDC;
	CHECK_EQ(kit_bits(1), USB_PORT_CONNECTED | USB_PORT_CHANGED);
	CHECK_EQ(kit_bits(1), USB_PORT_CONNECTED);
	kit_end();
}

static void over_current(void)
{
	kit_begin(4, 1);
	CHECK(kit_model.port[0].sc & PORT_PP);
	log_time(host_now_us);
	for (unsigned i = 0; i < 100; i++) {
		kit_model.port[0].sc |= PORT_OCA | PORT_OCC;
		kit_model.port[0].sc &= ~PORT_PP;
		kit_bits(1);
		kit_bits(1);
		CHECK(!(kit_model.port[0].sc & PORT_PP));
	}
	CHECK_EQ(kit_said("port 1: the device takes too much current"), 1);
	kit_model.port[0].sc &= ~PORT_OCA;
	kit_bits(1);
	CHECK(kit_model.port[0].sc & PORT_PP);
	kit_end();
}

/* Ports whose power cannot be switched. */
static void always_powered(void)
{
	kit_machine(4, 1);
	kit_model.params &= ~0x10u;
	CHECK(hcd_take(&ehci_driver, &kit_pci) == NULL);
	CHECK(ehci_driver.probe(&kit_pci, &kit_c) == NULL);
	plug(1, USB_HIGH, 1);
	CHECK(kit_reset(1) & USB_PORT_ENABLED);
	kit_end();
}

int main(void)
{
	TEST(high_speed);
	TEST(there_from_the_start);
	TEST(given_to_companions);
	TEST(without_companions);
	TEST(unplugged_in_the_reset);
	TEST(contact_lost_in_the_reset);
	TEST(reset_that_never_ends);
	TEST(flapping);
	TEST(disabled_by_the_controller);
	TEST(over_current);
	TEST(always_powered);
	return tap_done();
}
