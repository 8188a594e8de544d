/* The command `usb`, and the counters of `stats`. */
#include "drivers/usb/usb_core.h"

/* Lines in the order of the table of devices would mix the controllers. So the cursor is the number
 * of a bus and, behind its own line, of a device: bus * STRIDE + 1 + device. */
#define STRIDE (USB_DEVICES + 1)

static void show_bus(const struct usb_bus *b, char *buf, size_t size)
{
	const struct usb_controller *c = b->controller;
	fmt(buf, size, "usb%u %s pci=%02x:%02x.%x id=%04x:%04x ports=%u%s", b->index, c->driver,
	    c->pci.bus, c->pci.dev, c->pci.fn, c->pci.vendor, c->pci.device, c->n_ports,
	    c->failed ? " off" : "");
}

static void show_device(const struct usb_device *d, char *buf, size_t size)
{
	static const char *const speed[] = {"low", "full", "high", "super"};
	char path[USB_PATH];
	size_t n = fmt(buf, size, "%s %s", usb_path(path, d->at), speed[d->speed & 3]);
	if (d->at->phase != USB_PORT_READY) {
		fmt(buf + n, size - n, " is being found");
		return;
	}
	n += fmt(buf + n, size - n, " id=%04x:%04x address=%u", d->vendor, d->product, d->address);
	if (d->n_claims == 0)
		n += fmt(buf + n, size - n, " class=%u driver=none", d->class_code);
	for (uint32_t i = 0; i < d->n_claims; i++) {
		const struct usb_claim *k = &d->claim[i];
		n += fmt(buf + n, size - n, " class=%u/%u/%u driver=%s", k->interface.class_code,
		         k->interface.subclass, k->interface.protocol,
		         k->class ? k->class->name : "none");
	}
	if (d->is_hub)
		fmt(buf + n, size - n, " ports=%u", d->n_ports);
}

bool usb_show(uint64_t *cursor, char *buf, size_t size)
{
	for (;;) {
		uint64_t at = (*cursor)++;
		const struct usb_bus *b = usb_bus((uint32_t)(at / STRIDE));
		if (!b) {
			--*cursor;
			return false;
		}
		if (at % STRIDE == 0) {
			show_bus(b, buf, size);
			return true;
		}
		struct usb_device *d = NULL;
		if (usb_device_at((uint32_t)(at % STRIDE) - 1, &d) && d &&
		    d->controller == b->controller) {
			show_device(d, buf, size);
			return true;
		}
	}
}

static uint64_t devices(void)
{
	uint64_t n = 0;
	struct usb_device *d;
	for (uint32_t i = 0; usb_device_at(i, &d); i++)
		n += d != NULL;
	return n;
}

static uint64_t controllers(void)
{
	uint32_t n = 0;
	while (usb_bus(n))
		n++;
	return n;
}

bool usb_show_stats(uint32_t *i, char *buf, size_t size)
{
	const struct {
		const char *name;
		uint64_t value;
	} count[] = {
	        {"usb_controllers", controllers()},
	        {"usb_controllers_failed", usb_counts.controllers_failed},
	        {"usb_devices", devices()},
	        {"usb_enumerations", usb_counts.enumerations},
	        {"usb_enumeration_failures", usb_counts.enumeration_failures},
	        {"usb_device_resets", usb_counts.resets},
	        {"usb_transfer_stalls", usb_counts.stalls},
	        {"usb_transfer_failures", usb_counts.failures},
	        {"usb_transfer_timeouts", usb_counts.timeouts},
	        {"usb_hub_errors", usb_counts.hub_errors},
	};
	if (*i >= ARRAY_SIZE(count)) {
		*i -= (uint32_t)ARRAY_SIZE(count);
		return false;
	}
	fmt(buf, size, "%s %llu", count[*i].name, (unsigned long long)count[*i].value);
	return true;
}
