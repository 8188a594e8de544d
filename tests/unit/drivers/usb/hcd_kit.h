/* Taking and stopping one controller as the core does, for the tests of its driver. */
#ifndef TESTS_UNIT_DRIVERS_USB_HCD_KIT_H
#define TESTS_UNIT_DRIVERS_USB_HCD_KIT_H

#include "drivers/usb/usb_hcd.h"
#include "kernel/seam/io.h"

/* Takes the controller from its firmware, which has a second. Gives what is wrong. */
static inline const char *hcd_take(const struct usb_driver *driver, const struct pci_dev *dev)
{
	uint32_t asked = 0;
	const char *wrong = driver->ask ? driver->ask(dev, &asked) : NULL;
	for (uint32_t ms = 0; !wrong && asked && !driver->given(dev, asked) && ms < 1000; ms++)
		io_delay_us(1000);
	return wrong ? wrong : driver->take(dev, asked);
}

/* Stops it, and cuts its DMA. False: it had to be cut while it ran. */
static inline bool hcd_stop(struct usb_controller *c)
{
	bool stopped = false;
	for (uint32_t i = 0; i < 200 && !stopped; i++) {
		stopped = c->ops->stop(c);
		if (!stopped)
			io_delay_us(100);
	}
	pci_cut(&c->pci);
	return stopped;
}

#endif
