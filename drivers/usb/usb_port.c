/* Ports, of root hubs as of hubs: when something was plugged in and its contacts have settled, it
 * is enumerated; when it is unplugged, it is removed.
 *
 * Attempts are bounded, because a device may fail or vanish each time: three for what is plugged
 * in, and eight a minute for the port. */
#include "drivers/usb/usb_core.h"

#define SETTLE_US    (100 * 1000u)  /* of stable contact (7.1.7.3) */
#define UNSETTLED_US (5000 * 1000u) /* contacts that bounce longer are broken */
#define AGAIN_US     (500 * 1000u)  /* between two attempts: other ports come first */
#define WINDOW_US    (60 * 1000000u)
#define TRIES        3u
#define STARTS       8u /* of enumerations in a window */
#define RESETS       3u /* by classes in a window */

static struct usb_port_state look(struct usb_port *p)
{
	struct usb_controller *c = p->bus->controller;
	if (c->failed)
		return (struct usb_port_state){0};
	return p->hub ? usb_hub_port(p) : c->ops->port(c, p->number);
}

void usb_port_reset(struct usb_port *p)
{
	struct usb_controller *c = p->bus->controller;
	if (p->hub)
		usb_hub_port_reset(p);
	else if (!c->failed)
		c->ops->port_reset(c, p->number);
}

static void disable(struct usb_port *p)
{
	struct usb_controller *c = p->bus->controller;
	if (p->hub)
		usb_hub_port_disable(p);
	else if (!c->failed)
		c->ops->port_disable(c, p->number);
}

/* Removes what is at the port. */
static void clear(struct usb_port *p)
{
	usb_enum_stop(p);
	if (p->device)
		usb_device_remove(p->device, true);
}

void usb_port_gone(struct usb_port *p)
{
	clear(p);
	p->phase = USB_PORT_EMPTY;
	p->tries = 0;
	p->known = false;
}

static void settle(struct usb_port *p)
{
	p->phase = USB_PORT_SETTLING;
	p->tries = 0;
	p->until_us = usb_now_us + SETTLE_US;
	p->unsettled_us = usb_now_us + UNSETTLED_US;
}

static void hold(struct usb_port *p, const char *why)
{
	p->phase = USB_PORT_HELD;
	p->until_us = usb_now_us + WINDOW_US;
	if (!p->held)
		usb_log(p, "%s; ignored for a minute each time", why);
	p->held = true;
}

static void queue(struct usb_port *p, uint32_t wait_us)
{
	p->phase = USB_PORT_QUEUED;
	p->until_us = usb_now_us + wait_us;
}

/* Begins a new window when the last one is over. */
static void window(struct usb_port *p)
{
	if (usb_now_us - p->window_us < WINDOW_US && p->window_us)
		return;
	p->window_us = usb_now_us;
	p->starts = p->resets = 0;
}

static void start(struct usb_port *p)
{
	if (usb_now_us < p->until_us || p->bus->enumeration.port)
		return;
	window(p);
	if (p->starts == STARTS) {
		hold(p, "plugged in too often");
		return;
	}
	p->starts++;
	p->phase = USB_PORT_BUSY;
	usb_enum_start(p);
}

void usb_port_enumerated(struct usb_port *p, const char *wrong)
{
	if (!wrong) {
		p->phase = USB_PORT_READY;
		p->tries = 0;
		p->held = false;
		p->known = true;
		return;
	}
	disable(p);
	if (++p->tries < TRIES) {
		queue(p, AGAIN_US);
		return;
	}
	p->phase = USB_PORT_OFF;
	usb_log(p, "device switched off: %s", wrong);
}

/* A class, or a port that disabled itself, wants the device to be found again. */
static void find_again(struct usb_port *p)
{
	window(p);
	usb_counts.resets++;
	clear(p);
	disable(p); /* another device may get its address */
	if (p->resets++ < RESETS) {
		queue(p, AGAIN_US); /* it may be that it was unplugged, and this is not known yet */
		return;
	}
	p->phase = USB_PORT_OFF;
	usb_log(p, "device switched off: too many errors");
}

static void unplugged(struct usb_port *p)
{
	if (p->known)
		usb_log(p, "gone");
	usb_port_gone(p);
}

/* Does what a look at a port with a device in it asks for. `changed`: it was unplugged, and
 * something is there again. */
static void follow(struct usb_port *p, bool changed)
{
	switch (p->phase) {
	case USB_PORT_EMPTY:
		settle(p);
		break;
	case USB_PORT_SETTLING:
		if (changed)
			p->until_us = usb_now_us + SETTLE_US;
		if (usb_now_us >= p->unsettled_us)
			hold(p, "its contact does not settle");
		else if (usb_now_us >= p->until_us)
			queue(p, 0);
		break;
	case USB_PORT_QUEUED:
		if (changed)
			settle(p);
		else
			start(p);
		break;
	default:
		if (changed) {
			unplugged(p);
			settle(p);
		} else if (p->phase == USB_PORT_READY && p->device &&
		           (p->device->reset_wanted || !(p->state.bits & USB_PORT_ENABLED))) {
			find_again(p);
		}
		break;
	}
}

void usb_port_poll(struct usb_port *p)
{
	bool wanted = p->device && p->device->reset_wanted;
	if (usb_now_us < p->look_us && !wanted)
		return;
	p->state = look(p);
	bool there = (p->state.bits & (USB_PORT_CONNECTED | USB_PORT_OTHER)) == USB_PORT_CONNECTED;
	/* A port may lose contact for the time of a reset; its end shows what is there. */
	bool resetting = p->phase == USB_PORT_BUSY && p->bus->enumeration.resetting;
	if (p->phase == USB_PORT_HELD) {
		if (usb_now_us >= p->until_us)
			p->phase = USB_PORT_EMPTY;
	} else if (there && !resetting) {
		follow(p, p->state.bits & USB_PORT_CHANGED);
	} else if (p->phase != USB_PORT_EMPTY && !resetting) {
		unplugged(p);
	}
	bool moves = p->phase == USB_PORT_SETTLING || p->phase == USB_PORT_QUEUED ||
	             p->phase == USB_PORT_BUSY;
	if (moves)
		usb_moved();
	p->look_us = usb_now_us + (moves || p->hub ? 0 : USB_IDLE_US);
}
