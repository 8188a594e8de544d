/* Shared by the tests of the UHCI and OHCI drivers: the side of the core, devices, and time in
 * frames. The test file defines hc_driver and the functions hc_*, which reach the controller's
 * model. */
#ifndef TESTS_DRIVERS_USB_USB1_KIT_H
#define TESTS_DRIVERS_USB_USB1_KIT_H

#include "tests/tap.h"

#include "drivers/usb/usb_hcd.h"
#include "kernel/lib/alloc.h"
#include "kernel/seam/io.h"
#include "tests/models/pci_model.h"
#include "tests/models/usb1_device.h"
#include "tests/unit/drivers/usb/hcd_kit.h"

#define KIT_DEVICES 3

static struct usb_controller *kit_hc;
static const char *kit_failed; /* what usb_controller_failed said */
static unsigned kit_done;      /* transfers completed */
static struct usb1_device kit_model[KIT_DEVICES];
static struct usb_device kit_device[KIT_DEVICES];
/* Outside the arena: a controller that reaches it is a fault. */
static uint8_t kit_bytes[8][USB_TRANSFER_MAX];

/* The driver, and the model of its controller. */
static const struct usb_driver *const hc_driver;
/* Puts a controller on the bus of an empty machine (kit_machine), without a start. */
static void hc_put(void);
static void hc_frame(void);
static void hc_frame_end(void);
static void hc_plug(unsigned port, struct usb1_device *d);
/* True when the controller has stopped and reaches no memory. */
static bool hc_quiet(void);

void usb_complete(struct usb_transfer *t, enum usb_status status, uint32_t actual)
{
	CHECK(t->active);
	CHECK(actual <= t->len);
	t->active = false;
	t->status = status;
	t->actual = actual;
	kit_done++;
	if (t->done)
		t->done(t);
}

void usb_controller_failed(struct usb_controller *c, const char *reason)
{
	CHECK(!c->failed);
	c->failed = true;
	kit_failed = reason;
}

/* Makes an empty machine. */
static inline void kit_machine(void)
{
	pci_model_reset();
	host_arena(1u << 20);
	host_now_us = 5000000;
	kit_hc = NULL;
	kit_failed = NULL;
	kit_done = 0;
	memset(kit_device, 0, sizeof kit_device);
}

/* Takes the controller and starts it, and checks that this took at most `ms`. Gives what is wrong,
 * "" for nothing. */
static inline const char *kit_start(unsigned ms)
{
	uint32_t cursor = 0;
	struct pci_dev dev;
	uint64_t before = host_now_us;
	CHECK(pci_next(&cursor, &dev));
	pci_enable(&dev);
	const char *wrong = hcd_take(hc_driver, &dev);
	if (!wrong)
		wrong = hc_driver->probe(&dev, &kit_hc);
	CHECK(host_now_us - before <= 1000ull * ms);
	CHECK_EQ(pci_model_faults(), 0);
	return wrong ? wrong : "";
}

/* Stops the controller. */
static inline void kit_end(void)
{
	uint64_t before = host_now_us;
	CHECK(hcd_stop(kit_hc));
	CHECK(host_now_us - before < 3000);
	CHECK(hc_quiet());
	CHECK_STR(kit_failed ? kit_failed : "", "");
	CHECK_EQ(pci_model_faults(), 0);
}

/* The driver has given the controller up for this reason. */
static inline void kit_check_failed(const char *reason)
{
	CHECK_STR(kit_failed ? kit_failed : "", reason);
	kit_failed = NULL;
}

/* One frame: the controller works, the driver is polled in its middle. */
static inline void kit_frame(void)
{
	hc_frame();
	host_now_us += 500;
	if (!kit_hc->failed)
		kit_hc->ops->poll(kit_hc, host_now_us);
	host_now_us += 500;
	hc_frame_end();
}

static inline void kit_frames(unsigned n)
{
	while (n--)
		kit_frame();
}

/* Resets port `port` (from 1). Gives its state. */
static inline struct usb_port_state kit_reset_port(uint8_t port)
{
	(void)kit_hc->ops->port(kit_hc, port);
	kit_hc->ops->port_reset(kit_hc, port);
	CHECK(kit_hc->ops->port(kit_hc, port).bits & USB_PORT_RESETTING);
	struct usb_port_state s = {USB_PORT_RESETTING, 0};
	for (unsigned i = 0; i < 200 && s.bits & USB_PORT_RESETTING; i++) {
		kit_frame();
		s = kit_hc->ops->port(kit_hc, port);
	}
	CHECK(!(s.bits & USB_PORT_RESETTING));
	return s;
}

/* Plugs device i into port i and opens it at address 0. */
static inline struct usb_device *kit_plug_at_0(unsigned i, bool low)
{
	usb1_device_init(&kit_model[i], low);
	hc_plug(i, &kit_model[i]);
	kit_frames(2);
	struct usb_port_state s = kit_reset_port((uint8_t)(i + 1));
	CHECK(s.bits & USB_PORT_ENABLED && s.bits & USB_PORT_CONNECTED);
	CHECK_EQ(s.speed, low ? USB_LOW : USB_FULL);
	struct usb_device *d = &kit_device[i];
	*d = (struct usb_device){.controller = kit_hc, .port = (uint8_t)(i + 1), .speed = s.speed};
	d->control = (struct usb_endpoint){.device = d, .kind = USB_CONTROL, .max_packet = 8};
	CHECK(kit_hc->ops->device_open(kit_hc, d));
	return d;
}

static inline bool kit_submit(struct usb_transfer *t)
{
	t->active = true;
	if (kit_hc->ops->submit(kit_hc, t))
		return true;
	t->active = false;
	return false;
}

/* Waits until the transfer is complete, up to `frames`. */
static inline bool kit_wait(struct usb_transfer *t, unsigned frames)
{
	while (t->active && frames--)
		kit_frame();
	return !t->active;
}

static inline struct usb_transfer kit_transfer(struct usb_endpoint *e, void *data, uint32_t len)
{
	return (struct usb_transfer){.endpoint = e, .data = data, .len = len};
}

static inline struct usb_transfer kit_request(struct usb_device *d, uint8_t type, uint8_t request,
                                              uint16_t value, void *data, uint16_t len)
{
	struct usb_transfer t = kit_transfer(&d->control, data, len);
	t.setup[0] = type;
	t.setup[1] = request;
	store16(t.setup + 2, value);
	store16(t.setup + 6, len);
	return t;
}

/* Carries out a control transfer. Gives its status; *moved, unless NULL, the bytes. */
static inline enum usb_status kit_control(struct usb_device *d, uint8_t type, uint8_t request,
                                          uint16_t value, void *data, uint16_t len, uint32_t *moved)
{
	struct usb_transfer t = kit_request(d, type, request, value, data, len);
	CHECK(kit_submit(&t));
	CHECK(kit_wait(&t, 2000));
	if (moved)
		*moved = t.actual;
	return t.status;
}

/* Plugs device i in and gives it the address i + 1. */
static inline struct usb_device *kit_plug(unsigned i, bool low)
{
	struct usb_device *d = kit_plug_at_0(i, low);
	CHECK_EQ(kit_control(d, 0, 5, (uint16_t)(i + 1), NULL, 0, NULL), USB_OK);
	CHECK_EQ(kit_model[i].address, i + 1);
	d->address = (uint8_t)(i + 1);
	CHECK_EQ(kit_control(d, 0, 9, 1, NULL, 0, NULL), USB_OK);
	CHECK_EQ(kit_model[i].configuration, 1);
	return d;
}

/* Opens an endpoint of the device; `address` has bit 7 for IN. */
static inline struct usb_endpoint *kit_endpoint(struct usb_device *d, uint8_t address,
                                                enum usb_kind kind, uint16_t packet)
{
	struct usb_endpoint *e = &d->endpoint[d->n_endpoints++];
	*e = (struct usb_endpoint){.device = d,
	                           .address = address,
	                           .kind = (uint8_t)kind,
	                           .interval = 10,
	                           .max_packet = packet};
	CHECK(kit_hc->ops->endpoint_open(kit_hc, e));
	CHECK(e->hc != NULL);
	return e;
}

/* Fills the IN data of an endpoint of the model with the pattern. */
static inline void kit_feed(unsigned i, unsigned endpoint, uint32_t len, bool end)
{
	struct usb1_device *m = &kit_model[i];
	for (uint32_t k = 0; k < len; k++)
		m->in[endpoint][k] = usb1_device_pattern(k);
	m->in_len[endpoint] = len;
	m->in_at[endpoint] = 0;
	m->in_end[endpoint] = end;
}

static inline bool kit_is_pattern(const uint8_t *bytes, uint32_t from, uint32_t len)
{
	for (uint32_t k = 0; k < len; k++)
		if (bytes[k] != usb1_device_pattern(from + k))
			return false;
	return true;
}

#endif
