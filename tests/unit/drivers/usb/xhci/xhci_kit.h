/* Shared by the tests of the xHCI driver: a model of the controller on a bus, the driver started on
 * it, and what the core does with a device, without the core. */
#ifndef TESTS_UNIT_DRIVERS_USB_XHCI_KIT_H
#define TESTS_UNIT_DRIVERS_USB_XHCI_KIT_H

#include "tests/tap.h" /* must come before the kernel's string.h */

#include "drivers/usb/usb_list.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "kernel/seam/io.h"
#include "tests/models/xhci_model.h"
#include "tests/unit/drivers/usb/hcd_kit.h"

static struct xhci_model m;
static struct usb_controller *hc;
static char reason[100]; /* why the driver gave the controller up */
static uint64_t now_us;
static unsigned completed;
static uint8_t *memory; /* 128 KB that begin at a 64 KB border */

/* --- the core --------------------------------------------------------------------------------- */

void usb_complete(struct usb_transfer *t, enum usb_status status, uint32_t actual)
{
	if (!t->active)
		printf("# completed twice\n"), tap_bad_here++;
	t->active = false;
	t->status = status;
	t->actual = actual;
	completed++;
	if (t->done)
		t->done(t);
}

void usb_controller_failed(struct usb_controller *c, const char *why)
{
	if (!c->failed)
		snprintf(reason, sizeof reason, "%s", why);
	c->failed = true;
}

static inline bool submit(struct usb_transfer *t)
{
	t->active = true;
	t->actual = 0;
	t->active = hc->ops->submit(hc, t);
	return t->active;
}

/* --- start and end -----------------------------------------------------------------------------
 */

/* Makes an empty bus, memory, and a controller that is not on the bus yet. */
static inline void kit_new(void)
{
	pci_model_reset();
	host_arena(12u << 20);
	log_reset();
	host_now_us += 1000000;
	now_us = 5000000;
	reason[0] = '\0';
	hc = NULL;
	completed = 0;
	memory = alloc(256u << 10, 4096);
	memory += 0x10000 - (dma_addr(memory) & 0xffff);
	xhci_model_init(&m);
}

/* Plugs the controller in, and starts the driver. Gives NULL, or what is wrong. */
static inline const char *kit_probe(void)
{
	uint32_t cursor = 0;
	struct pci_dev dev;
	xhci_model_plug(&m);
	if (!pci_next(&cursor, &dev))
		return "not found on the bus";
	pci_enable(&dev);
	const char *wrong = hcd_take(&xhci_driver, &dev);
	return wrong ? wrong : xhci_driver.probe(&dev, &hc);
}

static inline void kit_start(void)
{
	CHECK_STR(kit_probe() ? "failed" : "started", "started");
}

/* Begins a test: a controller that runs. */
static inline void kit_begin(void)
{
	kit_new();
	kit_start();
}

/* Ends a test: the controller stops, and no rule was broken. */
static inline void kit_end(void)
{
	CHECK(hcd_stop(hc));
	CHECK(xhci_model_quiet(&m));
	CHECK_EQ(pci_model_faults(), 0);
}

/* One millisecond. */
static inline void kit_poll(void)
{
	now_us += 1000;
	host_now_us += 1000;
	xhci_model_run(&m);
	if (!hc->failed)
		hc->ops->poll(hc, now_us);
}

static inline void kit_wait(unsigned ms)
{
	while (ms--)
		kit_poll();
}

/* Polls until the transfer is complete, for a second and a half at most. */
static inline bool kit_done(const struct usb_transfer *t)
{
	for (unsigned i = 0; i < 1500 && t->active; i++)
		kit_poll();
	return !t->active;
}

/* --- devices
 * --------------------------------------------------------------------------------------- */

static inline struct usb_port_state port_state(unsigned port)
{
	return hc->ops->port(hc, (uint8_t)port);
}

/* Resets a port, and gives true when it is enabled then. */
static inline bool kit_reset(unsigned port)
{
	hc->ops->port_reset(hc, (uint8_t)port);
	for (unsigned i = 0; i < 1000 && port_state(port).bits & USB_PORT_RESETTING; i++)
		kit_poll();
	uint8_t bits = port_state(port).bits;
	return bits & USB_PORT_ENABLED && !(bits & USB_PORT_RESETTING);
}

/* What the core knows of a device before it is opened. */
static inline struct usb_device kit_known(const struct xhci_model_usb *u, struct usb_device *hub)
{
	static const uint16_t sizes[] = {8, 8, 64, 512};
	struct usb_device d = {.controller = hc,
	                       .hub = hub,
	                       .port = (uint8_t)u->port,
	                       .speed = (uint8_t)u->speed,
	                       .route = u->route};
	d.control.max_packet = sizes[u->speed];
	if (hub) {
		d.depth = (uint8_t)(hub->depth + 1);
		d.port = (uint8_t)(u->route >> 4 * hub->depth & 15);
		bool own = hub->speed == USB_HIGH && u->speed <= XHCI_FULL;
		d.tt_hub = own ? hub : hub->tt_hub;
		d.tt_port = own ? d.port : hub->tt_port;
	}
	return d;
}

/* A control request; gives its status. */
static inline enum usb_status kit_control(struct usb_device *d, uint8_t type, uint8_t request,
                                          uint16_t value, uint16_t index, void *data, uint16_t len,
                                          uint32_t *actual)
{
	static struct usb_transfer t;
	t = (struct usb_transfer){.endpoint = &d->control, .data = data, .len = len};
	t.setup[0] = type;
	t.setup[1] = request;
	store16(t.setup + 2, value);
	store16(t.setup + 4, index);
	store16(t.setup + 6, len);
	if (!submit(&t))
		return USB_FAILED;
	if (!kit_done(&t)) {
		hc->ops->cancel(hc, &t);
		if (!kit_done(&t) && !hc->failed)
			CHECK(!"a transfer comes back");
		return hc->failed && t.active ? USB_GONE : USB_CANCELLED;
	}
	if (actual)
		*actual = t.actual;
	return t.status;
}

/* Opens a device that is at an enabled port, and gives it its address. */
static inline enum usb_status kit_open(struct usb_device *d, const struct xhci_model_usb *u,
                                       struct usb_device *hub)
{
	uint8_t *b = memory + 0x1000;
	*d = kit_known(u, hub);
	d->control.device = d;
	if (!hc->ops->device_open(hc, d))
		return USB_FAILED;
	enum usb_status s = kit_control(d, 0x80, 6, 0x100, 0, b, 8, NULL);
	if (s != USB_OK)
		return s;
	uint16_t size = (uint16_t)(u->speed == XHCI_SUPER ? 1 << (b[7] & 15) : b[7]);
	if (size != d->control.max_packet) {
		d->control.max_packet = size;
		hc->ops->device_changed(hc, d);
	}
	s = kit_control(d, 0x00, 5, 1, 0, NULL, 0, NULL);
	return s == USB_OK && d->address == 0 ? USB_FAILED : s;
}

/* Plugs a device into a port, or into a hub, and opens it. */
static inline void kit_device(struct usb_device *d, struct xhci_model_usb *u,
                              struct usb_device *hub)
{
	xhci_model_attach(&m, u);
	kit_wait(100);
	if (!u->route) {
		CHECK(port_state(u->port).bits & USB_PORT_CONNECTED);
		CHECK(kit_reset(u->port));
		CHECK_EQ(port_state(u->port).speed, u->speed);
	}
	CHECK_EQ(kit_open(d, u, hub), USB_OK);
	CHECK_EQ(u->address, d->address);
}

/* Opens an endpoint. */
static inline bool kit_endpoint(struct usb_device *d, uint8_t address, enum usb_kind kind,
                                uint16_t packet, uint8_t interval)
{
	struct usb_endpoint *e = &d->endpoint[d->n_endpoints];
	*e = (struct usb_endpoint){.device = d,
	                           .address = address,
	                           .kind = (uint8_t)kind,
	                           .max_packet = packet,
	                           .interval = interval};
	if (!hc->ops->endpoint_open(hc, e) || !e->hc)
		return false;
	d->n_endpoints++;
	return true;
}

static inline enum usb_status kit_configure(struct usb_device *d)
{
	return kit_control(d, 0, 9, 1, 0, NULL, 0, NULL);
}

/* A keyboard at full speed in port 1, and a stick at high speed in port 2. */
static struct xhci_model_usb keyboard, stick;
static struct usb_device kbd, stk;

static inline void kit_keyboard(void)
{
	keyboard = (struct xhci_model_usb){.speed = XHCI_FULL, .port = 1};
	kit_device(&kbd, &keyboard, NULL);
	CHECK(kit_endpoint(&kbd, 0x81, USB_INTERRUPT, 8, 10));
	CHECK_EQ(kit_configure(&kbd), USB_OK);
}

static inline void kit_stick(void)
{
	stick = (struct xhci_model_usb){.speed = XHCI_HIGH, .port = 2};
	kit_device(&stk, &stick, NULL);
	CHECK(kit_endpoint(&stk, 0x81, USB_BULK, 512, 0));
	CHECK(kit_endpoint(&stk, 0x02, USB_BULK, 512, 0));
	CHECK_EQ(kit_configure(&stk), USB_OK);
}

static inline struct usb_transfer kit_transfer(struct usb_device *d, unsigned endpoint, void *data,
                                               uint32_t len)
{
	return (struct usb_transfer){.endpoint = &d->endpoint[endpoint], .data = data, .len = len};
}

/* An IN transfer of one report, which is sent and arrives. */
static inline void kit_report(struct usb_device *d, struct xhci_model_usb *u, uint8_t seed)
{
	uint8_t report[8];
	struct usb_transfer t = kit_transfer(d, 0, memory + 0x200, 8);
	for (unsigned i = 0; i < sizeof report; i++)
		report[i] = (uint8_t)(seed + i);
	memset(memory + 0x200, 0, 8);
	CHECK(submit(&t));
	kit_wait(1);
	CHECK(t.active);
	xhci_model_give(&m, u, d->endpoint[0].address, report, sizeof report);
	CHECK(kit_done(&t));
	CHECK_EQ(t.status, USB_OK);
	CHECK_EQ(t.actual, 8);
	CHECK(memcmp(memory + 0x200, report, 8) == 0);
}

#endif
