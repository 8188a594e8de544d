/* Enumeration: from a port with something in it to a device whose interfaces have drivers (9.1.2).
 *
 * Reset, eight bytes of the device descriptor at address 0 (they say how large a packet of endpoint
 * 0 is), a second reset, an address, all descriptors, the configuration. Many devices need the
 * second reset: it is the order in which the most common system does it. */
#include "drivers/usb/usb_core.h"

#define RESET_US                                                                                  \
	(1000 * 1000u)          /* a reset that takes longer failed; 50 ms and two looks at a hub \
	                         */
#define RECOVER_US (10 * 1000u) /* after a reset (7.1.7.5) */
#define SETTLE_US  (10 * 1000u) /* after SET_ADDRESS: 2 ms (9.2.6.3), some devices need more */
#define ANSWER_MS  1000u
#define CONFIG_MS  5000u /* SET_CONFIGURATION starts motors */

enum { TO_DEVICE = 0x00, TO_INTERFACE = 0x01, FROM_DEVICE = 0x80 };
enum { SET_ADDRESS = 5, GET_DESCRIPTOR = 6, SET_CONFIGURATION = 9, SET_INTERFACE = 11 };
enum { DEVICE = 1 << 8, CONFIGURATION = 2 << 8 };
enum { HEAD_BYTES = 8 };

static const char *after_first_reset(struct usb_enum *e);
static const char *after_head(struct usb_enum *e);
static const char *send_address(struct usb_enum *e);
static const char *after_address(struct usb_enum *e);
static const char *ask_device(struct usb_enum *e);
static const char *after_device(struct usb_enum *e);
static const char *after_config_head(struct usb_enum *e);
static const char *after_config(struct usb_enum *e);
static const char *next_setting(struct usb_enum *e);

/* The step looks at t->active and t->status itself. */
static void done(struct usb_transfer *t)
{
	(void)t;
}

static const char *request(struct usb_enum *e, usb_enum_step then, const char *doing, uint8_t type,
                           uint8_t number, uint16_t value, uint16_t index, uint16_t len)
{
	usb_control(&e->t, e->device, type, number, value, index, len ? e->buffer : NULL, len);
	e->t.timeout_ms = number == SET_CONFIGURATION ? CONFIG_MS : ANSWER_MS;
	e->t.done = done;
	e->step = then;
	e->doing = doing;
	memset(e->buffer, 0, len);
	return usb_submit(&e->t) ? NULL : "no transfer";
}

/* What was wrong with the last transfer, of which at least `least` bytes were to come. */
static const char *wrong_answer(const struct usb_enum *e, uint32_t least)
{
	switch (e->t.status) {
	case USB_OK:
		return e->t.actual >= least ? NULL : "short answer";
	case USB_STALLED:
		return "refused";
	case USB_CANCELLED:
		return "no answer";
	case USB_GONE:
		return "gone";
	default:
		return "wrong answer";
	}
}

static void reset(struct usb_enum *e, usb_enum_step then)
{
	usb_port_reset(e->port);
	/* What the last look saw is of the time before the reset. */
	e->port->state.bits = USB_PORT_RESETTING;
	e->resetting = true;
	e->until_us = usb_now_us + RESET_US;
	e->step = then;
	e->doing = "reset";
}

static const char *after_first_reset(struct usb_enum *e)
{
	struct usb_device *d = usb_device_new(e->port, e->port->state.speed);
	if (!d)
		return "too many devices";
	if (!d->controller->ops->device_open(d->controller, d)) {
		usb_device_remove(d, false);
		return "no room for the device";
	}
	e->device = d;
	return request(e, after_head, "device descriptor", FROM_DEVICE, GET_DESCRIPTOR, DEVICE, 0,
	               HEAD_BYTES);
}

static const char *after_head(struct usb_enum *e)
{
	struct usb_device *d = e->device;
	const char *wrong = wrong_answer(e, HEAD_BYTES);
	if (wrong)
		return wrong;
	uint16_t size = usb_parse_packet0(e->buffer, HEAD_BYTES, d->speed);
	if (!size)
		return "not a device descriptor";
	if (size != d->control.max_packet) {
		d->control.max_packet = size;
		d->controller->ops->device_changed(d->controller, d);
	}
	if (d->speed == USB_SUPER) /* the reset of the link is enough (USB 3.0, 10.3.1.6) */
		return send_address(e);
	reset(e, send_address);
	return NULL;
}

/* Gives the address that no device of the bus has for the longest time; 0: all are in use. A device
 * that was given up may still believe that it has one. */
static uint8_t free_address(struct usb_bus *b)
{
	for (unsigned i = 0; i < 127; i++) {
		b->last_address = (uint8_t)(b->last_address % 127 + 1);
		if (!(b->addresses[b->last_address / 32] & 1u << b->last_address % 32))
			return b->last_address;
	}
	return 0;
}

static const char *send_address(struct usb_enum *e)
{
	if (e->port->state.speed != e->device->speed)
		return "changes its speed";
	uint8_t address = free_address(e->bus);
	if (!address)
		return "no address is free";
	return request(e, after_address, "address", TO_DEVICE, SET_ADDRESS, address, 0, 0);
}

static const char *after_address(struct usb_enum *e)
{
	struct usb_device *d = e->device;
	const char *wrong = wrong_answer(e, 0);
	if (wrong)
		return wrong;
	bool by_controller = d->address != 0;
	if (!by_controller)
		d->address = e->t.setup[2];
	d->address &= 127;
	e->bus->addresses[d->address / 32] |= 1u << d->address % 32;
	if (!by_controller)
		d->controller->ops->device_changed(d->controller, d);
	e->until_us = usb_now_us + SETTLE_US;
	e->step = ask_device;
	return NULL;
}

static const char *ask_device(struct usb_enum *e)
{
	return request(e, after_device, "device descriptor", FROM_DEVICE, GET_DESCRIPTOR, DEVICE, 0,
	               USB_DEVICE_BYTES);
}

static const char *after_device(struct usb_enum *e)
{
	struct usb_device *d = e->device;
	const char *wrong = wrong_answer(e, USB_DEVICE_BYTES);
	if (wrong)
		return wrong;
	if (!usb_parse_packet0(e->buffer, HEAD_BYTES, d->speed))
		return "not a device descriptor";
	d->class_code = e->buffer[4];
	d->vendor = load16(e->buffer + 8);
	d->product = load16(e->buffer + 10);
	return request(e, after_config_head, "configuration", FROM_DEVICE, GET_DESCRIPTOR,
	               CONFIGURATION, 0, USB_CONFIG_BYTES);
}

static const char *after_config_head(struct usb_enum *e)
{
	const char *wrong = wrong_answer(e, USB_CONFIG_BYTES);
	if (wrong)
		return wrong;
	uint16_t total = load16(e->buffer + 2);
	if (total < USB_CONFIG_BYTES)
		return "a configuration of no length";
	return request(e, after_config, "configuration", FROM_DEVICE, GET_DESCRIPTOR, CONFIGURATION,
	               0, total < USB_BUFFER ? total : USB_BUFFER);
}

/* Opens the endpoints of an interface. False, with the interface not to be used, when there is no
 * room for one, or when another interface has it. */
static bool open_endpoints(struct usb_device *d, const struct usb_parse_setting *s,
                           struct usb_interface *out)
{
	struct usb_controller *c = d->controller;
	for (uint32_t i = 0; i < s->n_endpoints; i++) {
		const struct usb_parse_endpoint *from = &s->endpoint[i];
		if (from->kind != USB_BULK && from->kind != USB_INTERRUPT)
			continue;
		for (uint32_t k = 0; k < d->n_endpoints; k++)
			if (d->endpoint[k].address == from->address)
				return false;
		if (d->n_endpoints == USB_ENDPOINTS)
			return false;
		struct usb_endpoint *e = &d->endpoint[d->n_endpoints];
		*e = (struct usb_endpoint){.device = d,
		                           .address = from->address,
		                           .kind = from->kind,
		                           .interval = from->interval,
		                           .burst = from->burst,
		                           .max_packet = from->max_packet};
		if (!c->ops->endpoint_open(c, e))
			return false;
		e->open = true;
		d->n_endpoints++;
		out->endpoint[out->n_endpoints++] = e;
	}
	return true;
}

/* Chooses the interfaces that a class wants, and opens their endpoints. */
static void choose(struct usb_enum *e)
{
	struct usb_device *d = e->device;
	const struct usb_parse_setting *s;
	uint32_t i = 0;
	while (d->n_claims < USB_INTERFACES && (s = usb_parse_choose(&e->config, &i)) != NULL) {
		if (!usb_device_wanted(&s->is))
			continue;
		struct usb_claim *claim = &d->claim[d->n_claims];
		*claim = (struct usb_claim){.interface = s->is};
		if (open_endpoints(d, s, &claim->interface))
			d->n_claims++;
		else
			usb_log(e->port, "no room for the endpoints of interface %u", s->is.number);
	}
}

static const char *after_config(struct usb_enum *e)
{
	const char *wrong = wrong_answer(e, USB_CONFIG_BYTES);
	if (!wrong)
		wrong = usb_parse_config(e->buffer, e->t.actual, e->device->speed, &e->config);
	if (wrong)
		return wrong;
	choose(e);
	e->setting = 0;
	if (e->device->n_claims == 0) { /* stays without a configuration, at little power */
		e->step = NULL;
		return NULL;
	}
	return request(e, next_setting, "configuration", TO_DEVICE, SET_CONFIGURATION,
	               e->config.value, 0, 0);
}

/* Chooses the settings other than 0 of the interfaces in use, one after the other. */
static const char *next_setting(struct usb_enum *e)
{
	const struct usb_device *d = e->device;
	const char *wrong = wrong_answer(e, 0);
	if (wrong)
		return wrong;
	while (e->setting < d->n_claims) {
		const struct usb_interface *i = &d->claim[e->setting++].interface;
		if (i->alternate)
			return request(e, next_setting, "interface", TO_INTERFACE, SET_INTERFACE,
			               i->alternate, i->number, 0);
	}
	e->step = NULL;
	return NULL;
}

static void log_device(const struct usb_port *p, const struct usb_device *d)
{
	static const char *const speed[] = {"low", "full", "high", "super"};
	const char *driver = NULL;
	for (uint32_t i = 0; i < d->n_claims && !driver; i++)
		driver = d->claim[i].class ? d->claim[i].class->name : NULL;
	usb_log(p, "%04x:%04x, %s speed, %s", d->vendor, d->product, speed[d->speed & 3],
	        driver ? driver : "no driver");
}

static void finish(struct usb_enum *e)
{
	struct usb_port *p = e->port;
	struct usb_device *d = e->device;
	e->port = NULL;
	e->device = NULL;
	for (uint32_t i = 0; i < d->n_claims; i++)
		usb_device_offer(d, &d->claim[i]);
	log_device(p, d);
	usb_port_enumerated(p, NULL);
}

/* Ends what runs, without a result. */
static void drop(struct usb_enum *e)
{
	struct usb_device *d = e->device;
	e->port = NULL;
	e->device = NULL;
	if (d)
		usb_device_remove(d, true);
}

static void fail(struct usb_enum *e, const char *wrong)
{
	static char text[80];
	struct usb_port *p = e->port;
	fmt(text, sizeof text, "%s: %s", e->doing, wrong);
	drop(e);
	usb_counts.enumeration_failures++;
	usb_port_enumerated(p, text);
}

void usb_enum_start(struct usb_port *p)
{
	struct usb_enum *e = &p->bus->enumeration;
	usb_counts.enumerations++;
	e->port = p;
	e->device = NULL;
	reset(e, after_first_reset);
}

void usb_enum_stop(struct usb_port *p)
{
	if (p->bus->enumeration.port == p)
		drop(&p->bus->enumeration);
}

/* Follows the reset of the port. */
static void follow_reset(struct usb_enum *e)
{
	struct usb_port *p = e->port;
	uint8_t bits = p->state.bits;
	if (bits & USB_PORT_OTHER) { /* the reset has shown that it is not ours */
		drop(e);
		usb_port_gone(p);
	} else if (bits & USB_PORT_RESETTING) {
		if (usb_now_us >= e->until_us)
			fail(e, "does not end");
	} else if (!(bits & USB_PORT_ENABLED)) {
		fail(e, "the port is not enabled");
	} else {
		e->resetting = false;
		e->until_us = usb_now_us + RECOVER_US;
	}
}

void usb_enum_poll(struct usb_enum *e)
{
	if (!e->port || e->t.active)
		return;
	if (e->resetting)
		follow_reset(e);
	if (!e->port || e->resetting || usb_now_us < e->until_us)
		return;
	const char *wrong = e->step(e);
	if (wrong)
		fail(e, wrong);
	else if (!e->step)
		finish(e);
}
