/* Transfers: submitting, completing, deadlines. See usb.h.
 *
 * Active transfers are in a list in the order of submission. It is short: a transfer for each
 * keyboard, hub and stick. */
#include "drivers/usb/usb_core.h"

#define CONTROL_MS 5000u          /* usb_control */
#define CANCEL_US  (1000 * 1000u) /* a controller gives a transfer back within this time */
#define HURRY_US   (50 * 1000u)   /* an answer that takes longer need not be polled for */

enum stage { WAITING, UNDER_WAY, REFUSED, CANCELLING };

static struct usb_transfer *active;

void usb_transfer_reset(void)
{
	active = NULL;
}

static struct usb_controller *controller_of(const struct usb_transfer *t)
{
	return t->endpoint->device->controller;
}

/* Gives a transfer to the controller. */
static void begin(struct usb_transfer *t)
{
	struct usb_controller *c = controller_of(t);
	t->endpoint->transfer = t;
	t->stage = UNDER_WAY;
	t->deadline_us = t->timeout_ms ? usb_now_us + (uint64_t)t->timeout_ms * 1000 : UINT64_MAX;
	if (!c->ops->submit(c, t))
		t->stage = REFUSED;
}

bool usb_submit(struct usb_transfer *t)
{
	struct usb_endpoint *e = t->endpoint;
	if (t->active || !e->open || t->len > USB_TRANSFER_MAX)
		return false;
	const struct usb_device *d = e->device;
	bool control = e == &d->control;
	if (d->gone || d->controller->failed || (e->transfer && !control))
		return false;
	struct usb_transfer **end = &active;
	while (*end)
		end = &(*end)->next;
	*end = t;
	t->next = NULL;
	t->active = true;
	t->actual = 0;
	t->status = USB_FAILED;
	t->submitted_us = usb_now_us;
	t->stage = WAITING;
	if (!e->transfer)
		begin(t);
	return true;
}

static void count(const struct usb_transfer *t, enum usb_status status)
{
	usb_counts.stalls += status == USB_STALLED;
	usb_counts.failures += status == USB_FAILED;
	usb_counts.timeouts +=
	        status == USB_CANCELLED && t->stage == CANCELLING && t->timeout_ms != 0;
}

/* Begins the transfer that waits longest for an endpoint. */
static void begin_next(const struct usb_endpoint *e)
{
	struct usb_transfer *t = active;
	while (t && (t->endpoint != e || t->stage != WAITING))
		t = t->next;
	if (t)
		begin(t);
}

void usb_complete(struct usb_transfer *t, enum usb_status status, uint32_t actual)
{
	struct usb_endpoint *e = t->endpoint;
	struct usb_transfer **at = &active;
	while (*at && *at != t)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = t->next;
	count(t, status);
	t->next = NULL;
	t->active = false;
	t->status = status;
	t->actual = min_u32(actual, t->len);
	if (e->transfer == t)
		e->transfer = NULL;
	if (!e->transfer && !e->device->gone && !e->device->controller->failed)
		begin_next(e);
	t->done(t);
}

void usb_cancel(struct usb_transfer *t)
{
	if (!t->active || t->stage == CANCELLING)
		return;
	if (t->stage != UNDER_WAY) {
		usb_complete(t, USB_CANCELLED, 0);
		return;
	}
	struct usb_controller *c = controller_of(t);
	t->stage = CANCELLING;
	t->deadline_us = usb_now_us + CANCEL_US;
	if (!c->failed)
		c->ops->cancel(c, t);
}

/* Does what is due for one transfer. True when the list may have changed. */
static bool look_at(struct usb_transfer *t)
{
	if (t->stage == REFUSED) {
		usb_complete(t, USB_FAILED, 0);
		return true;
	}
	if (t->stage == WAITING || usb_now_us < t->deadline_us)
		return false;
	if (t->stage == UNDER_WAY) {
		usb_cancel(t);
		return true;
	}
	t->deadline_us = UINT64_MAX;
	usb_controller_failed(controller_of(t), "does not give a transfer back");
	return false;
}

void usb_transfer_poll(void)
{
	if (active)
		usb_moved();
	/* A change of the list starts it from its head: as often as there are transfers of one poll
	 * at most, so that a class that submits what is refused does not hold it. */
	struct usb_transfer *t = active;
	for (unsigned changes = 0; t && changes < USB_DEVICES;) {
		bool changed = look_at(t);
		changes += changed;
		t = changed ? active : t->next;
	}
}

void usb_transfer_end(const struct usb_bus *bus, const struct usb_device *device)
{
	struct usb_transfer *t = active;
	while (t) {
		bool ours = device ? t->endpoint->device == device
		                   : controller_of(t) == bus->controller;
		if (ours)
			usb_complete(t, USB_GONE, 0);
		t = ours ? active : t->next;
	}
}

bool usb_busy(void)
{
	for (const struct usb_transfer *t = active; t; t = t->next)
		if (t->endpoint->kind != USB_INTERRUPT && !t->lazy &&
		    usb_now_us - t->submitted_us < HURRY_US)
			return true;
	return false;
}

void usb_control(struct usb_transfer *t, struct usb_device *d, uint8_t type, uint8_t request,
                 uint16_t value, uint16_t index, void *data, uint16_t len)
{
	t->endpoint = &d->control;
	t->setup[0] = type;
	t->setup[1] = request;
	store16(t->setup + 2, value);
	store16(t->setup + 4, index);
	store16(t->setup + 6, len);
	t->data = data;
	t->len = len;
	t->timeout_ms = CONTROL_MS;
}

void usb_endpoint_reset(struct usb_endpoint *e)
{
	struct usb_controller *c = e->device->controller;
	if (e->open && !e->transfer && !e->device->gone && !c->failed)
		c->ops->endpoint_reset(c, e);
}
