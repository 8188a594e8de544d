/* Devices: their memory, what the bus structure says about them, their classes, and removal. */
#include "drivers/usb/usb_core.h"

#include "kernel/lib/alloc.h"

#define CLASSES 32u

static struct usb_device *devices;
static bool usable[CLASSES]; /* classes that got their memory */

bool usb_device_init(void)
{
	devices = alloc(USB_DEVICES * sizeof *devices, 64);
	for (uint32_t i = 0; i < n_usb_classes && i < CLASSES; i++)
		usable[i] = devices && (!usb_classes[i]->init || usb_classes[i]->init());
	return devices != NULL;
}

bool usb_device_at(uint32_t index, struct usb_device **out)
{
	if (!devices || index >= USB_DEVICES)
		return false;
	*out = devices[index].used ? &devices[index] : NULL;
	return true;
}

static struct usb_device *unused(void)
{
	for (uint32_t i = 0; devices && i < USB_DEVICES; i++)
		if (!devices[i].used)
			return &devices[i];
	return NULL;
}

/* Fills in where a device behind a hub is. */
static void place(struct usb_device *d, struct usb_device *hub)
{
	d->hub = hub;
	d->depth = (uint8_t)(hub->depth + 1);
	d->route = hub->route | (uint32_t)(d->port & 15) << 4 * hub->depth;
	if (d->speed == USB_HIGH || d->speed == USB_SUPER)
		return;
	if (hub->speed == USB_HIGH) {
		d->tt_hub = hub;
		d->tt_port = d->port;
	} else {
		d->tt_hub = hub->tt_hub;
		d->tt_port = hub->tt_port;
	}
}

struct usb_device *usb_device_new(struct usb_port *p, uint8_t speed)
{
	static const uint16_t packet0[] = {8, 8, 64, 512}; /* 5.5.3; USB 3.0, 9.6.6 */
	struct usb_device *d = unused();
	if (!d)
		return NULL;
	*d = (struct usb_device){.used = true,
	                         .controller = p->bus->controller,
	                         .port = p->number,
	                         .speed = speed,
	                         .at = p};
	d->control = (struct usb_endpoint){
	        .device = d, .kind = USB_CONTROL, .max_packet = packet0[speed & 3], .open = true};
	if (p->hub)
		place(d, p->hub);
	p->device = d;
	return d;
}

static void remove_behind(const struct usb_device *hub)
{
	for (uint32_t i = 0; i < USB_DEVICES; i++)
		if (devices[i].used && devices[i].hub == hub)
			usb_port_gone(devices[i].at);
}

void usb_device_remove(struct usb_device *d, bool opened)
{
	struct usb_controller *c = d->controller;
	remove_behind(d); /* as deep as there are hubs, USB_DEPTH */
	d->gone = true;
	if (opened && !c->failed)
		c->ops->device_close(c, d);
	usb_transfer_end(NULL, d);
	for (uint32_t i = 0; i < d->n_claims; i++)
		if (d->claim[i].class && d->claim[i].class->detach)
			d->claim[i].class->detach(d->claim[i].state);
	if (d->address)
		d->at->bus->addresses[d->address / 32] &= ~(1u << d->address % 32);
	d->at->device = NULL;
	d->used = false;
}

void usb_device_reset(struct usb_device *d)
{
	d->reset_wanted = true;
}

bool usb_device_usable(uint32_t index)
{
	return index < CLASSES && usable[index];
}

static bool wants(uint32_t index, const struct usb_interface *i)
{
	const struct usb_class *k = usb_classes[index];
	return usb_device_usable(index) && (!k->wants || k->wants(i));
}

bool usb_device_wanted(const struct usb_interface *i)
{
	for (uint32_t k = 0; k < n_usb_classes; k++)
		if (wants(k, i))
			return true;
	return false;
}

void usb_device_offer(struct usb_device *d, struct usb_claim *claim)
{
	for (uint32_t k = 0; k < n_usb_classes && !claim->class; k++) {
		if (!wants(k, &claim->interface))
			continue;
		claim->state = usb_classes[k]->attach(d, &claim->interface);
		if (claim->state)
			claim->class = usb_classes[k];
	}
}
