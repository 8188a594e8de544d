/* Shared by the tests of the EHCI driver: a machine with one controller, devices, transfers, and
 * the few functions of the USB core that the driver calls, in their simplest form. */
#ifndef TESTS_DRIVERS_USB_EHCI_KIT_H
#define TESTS_DRIVERS_USB_EHCI_KIT_H

#include "tests/tap.h"

#include "drivers/usb/ehci/ehci.h"
#include "drivers/usb/usb_list.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "tests/models/ehci_model.h"
#include "tests/unit/drivers/usb/hcd_kit.h"

#define KIT_DEVICES 24u
#define KIT_BULK    64u /* transfers with memory of their own */

static struct ehci_model kit_model;
static struct usb_controller *kit_c;
static struct pci_dev kit_pci;
static struct usb_device kit_device[KIT_DEVICES];
static struct usb_transfer kit_t[KIT_BULK];
static uint8_t *kit_memory; /* 4096 bytes for each transfer */
static unsigned kit_failures, kit_dones;
static const char *kit_reason;
static bool kit_hub_busy;

/* --- the core ----------------------------------------------------------------------------- */

void usb_complete(struct usb_transfer *t, enum usb_status status, uint32_t actual)
{
	CHECK(t->active);
	CHECK(actual <= t->len);
	t->active = false;
	t->status = status;
	t->actual = actual;
	kit_dones++;
	if (t->done)
		t->done(t);
}

void usb_controller_failed(struct usb_controller *c, const char *reason)
{
	CHECK(c == kit_c);
	kit_failures++;
	kit_reason = reason;
}

bool usb_submit(struct usb_transfer *t)
{
	if (t->active || !t->endpoint->hc || kit_hub_busy)
		return false;
	t->active = true;
	t->actual = 0;
	if (kit_c->ops->submit(kit_c, t))
		return true;
	t->active = false;
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
}

/* --- machine and time ----------------------------------------------------------------------- */

/* Makes a machine with a controller that the firmware runs. */
static inline struct ehci_model *kit_machine(unsigned ports, unsigned companions)
{
	pci_model_reset();
	host_arena(8u << 20);
	log_reset();
	host_now_us = 5000000;
	kit_c = NULL;
	kit_failures = kit_dones = 0;
	kit_hub_busy = false;
	memset(kit_device, 0, sizeof kit_device);
	memset(kit_t, 0, sizeof kit_t);
	kit_memory = alloc(KIT_BULK * 4096, 4096);
	ehci_model_init(&kit_model, 0, ports, companions);
	uint32_t cursor = 0;
	CHECK(pci_next(&cursor, &kit_pci));
	pci_enable(&kit_pci);
	return &kit_model;
}

static inline struct ehci_model *kit_begin(unsigned ports, unsigned companions)
{
	kit_machine(ports, companions);
	const char *wrong = hcd_take(&ehci_driver, &kit_pci);
	if (!wrong)
		wrong = ehci_driver.probe(&kit_pci, &kit_c);
	if (wrong) {
		printf("# %s\n", wrong);
		exit(1);
	}
	CHECK_EQ(kit_c->n_ports, ports);
	return &kit_model;
}

static inline void kit_ms(unsigned ms)
{
	for (; ms; ms--) {
		ehci_model_run(&kit_model, 1000);
		kit_c->ops->poll(kit_c, host_now_us);
	}
}

/* Checks that the controller can be stopped, and that the driver did nothing wrong. */
static inline void kit_end(void)
{
	uint64_t before = host_now_us;
	CHECK(hcd_stop(kit_c) || kit_model.no_halt);
	CHECK(host_now_us - before < 50000);
	CHECK(ehci_model_quiet(&kit_model));
	CHECK_EQ(pci_model_faults(), 0);
}

/* True when a line of the log has this text. */
static inline unsigned kit_said(const char *text)
{
	uint64_t cursor = 0;
	char line[LOG_LINE];
	unsigned n = 0;
	while (log_next(&cursor, line, sizeof line))
		n += strstr(line, text) != NULL;
	return n;
}

/* --- ports and devices ----------------------------------------------------------------------- */

static inline uint8_t kit_bits(uint8_t port)
{
	return kit_c->ops->port(kit_c, port).bits;
}

/* Resets a port and gives its state behind that. */
static inline uint8_t kit_reset(uint8_t port)
{
	kit_c->ops->port_reset(kit_c, port);
	for (unsigned i = 0; i < 200 && kit_bits(port) & USB_PORT_RESETTING; i++)
		kit_ms(1);
	return kit_bits(port);
}

/* The core's side of device i of the model, which has an address then. */
static inline struct usb_device *kit_open(unsigned i, struct usb_device *hub)
{
	struct ehci_model_device *m = &kit_model.device[i];
	struct usb_device *d = &kit_device[i];
	static const uint16_t size[] = {8, 8, 64};
	*d = (struct usb_device){
	        .controller = kit_c, .hub = hub, .port = m->port, .speed = m->speed};
	d->address = m->address = (uint8_t)(10 + i);
	d->control = (struct usb_endpoint){
	        .device = d, .kind = USB_CONTROL, .max_packet = size[m->speed]};
	if (m->speed == USB_FULL)
		d->control.max_packet = 64;
	if (hub && m->speed != USB_HIGH) {
		d->tt_hub = hub->speed == USB_HIGH ? hub : hub->tt_hub;
		d->tt_port = hub->speed == USB_HIGH ? d->port : hub->tt_port;
	}
	CHECK(kit_c->ops->device_open(kit_c, d));
	return d;
}

/* Plugs a high-speed device in at port 1 and opens it. */
static inline struct usb_device *kit_device_at_1(unsigned i)
{
	ehci_model_plug(&kit_model, ehci_model_device(&kit_model, i, USB_HIGH), NULL, 1);
	kit_ms(1);
	CHECK(kit_reset(1) & USB_PORT_ENABLED);
	return kit_open(i, NULL);
}

/* Plugs a high-speed hub in at port 1 and opens it: device 0. */
static inline struct usb_device *kit_hub(bool multi_tt)
{
	ehci_model_hub(ehci_model_device(&kit_model, 0, USB_HIGH), 7, multi_tt);
	ehci_model_plug(&kit_model, &kit_model.device[0], NULL, 1);
	kit_ms(1);
	CHECK(kit_reset(1) & USB_PORT_ENABLED);
	struct usb_device *d = kit_open(0, NULL);
	d->is_hub = true;
	d->multi_tt = multi_tt;
	return d;
}

/* Plugs device i in behind a hub and opens it. */
static inline struct usb_device *kit_behind(unsigned i, struct usb_device *hub, uint8_t port,
                                            uint8_t speed)
{
	struct ehci_model_device *m = ehci_model_device(&kit_model, i, speed);
	ehci_model_plug(&kit_model, m, &kit_model.device[hub - kit_device], port);
	m->enabled = true;
	return kit_open(i, hub);
}

/* Opens endpoint `address` of device i, on both sides. */
static inline struct usb_endpoint *kit_end_open(struct usb_device *d, uint8_t address, uint8_t kind,
                                                uint16_t size, uint8_t interval)
{
	ehci_model_end(&kit_model.device[d - kit_device], address, kind, size, interval);
	struct usb_endpoint *e = &d->endpoint[d->n_endpoints++];
	*e = (struct usb_endpoint){.device = d,
	                           .address = address,
	                           .kind = kind,
	                           .interval = interval,
	                           .max_packet = size};
	return kit_c->ops->endpoint_open(kit_c, e) ? e : NULL;
}

static inline struct ehci_model_end *kit_model_end(const struct usb_endpoint *e)
{
	struct ehci_model_device *m = &kit_model.device[e->device - kit_device];
	return e->address & 0x80 ? &m->in[e->address & 15] : &m->out[e->address & 15];
}

/* --- transfers ---------------------------------------------------------------------------------
 */

static inline uint8_t kit_byte(uint32_t seed, uint32_t i)
{
	return (uint8_t)((seed * 31 + i * 7 + (i >> 8)) * 2654435761u >> 24);
}

static inline void kit_pattern(uint8_t *p, uint32_t n, uint32_t seed)
{
	for (uint32_t i = 0; i < n; i++)
		p[i] = kit_byte(seed, i);
}

static inline bool kit_same(const uint8_t *p, uint32_t n, uint32_t seed)
{
	for (uint32_t i = 0; i < n; i++)
		if (p[i] != kit_byte(seed, i))
			return false;
	return true;
}

/* Submits transfer k of n bytes on an endpoint. */
static inline struct usb_transfer *kit_submit(unsigned k, struct usb_endpoint *e, uint32_t n)
{
	struct usb_transfer *t = &kit_t[k];
	t->endpoint = e;
	t->data = kit_memory + 4096 * k;
	t->len = n;
	CHECK(usb_submit(t));
	return t;
}

static inline struct usb_transfer *kit_request(unsigned k, struct usb_device *d, uint8_t type,
                                               uint8_t request, uint16_t value, uint16_t index,
                                               uint16_t len)
{
	struct usb_transfer *t = &kit_t[k];
	usb_control(t, d, type, request, value, index, kit_memory + 4096 * k, len);
	CHECK(usb_submit(t));
	return t;
}

/* Waits for the end of a transfer and gives its status; 99: it does not end. */
static inline unsigned kit_wait(const struct usb_transfer *t, unsigned ms)
{
	for (; ms && t->active; ms--)
		kit_ms(1);
	return t->active ? 99 : t->status;
}

/* Reads the device descriptor: the device answers. */
static inline void kit_alive(struct usb_device *d)
{
	struct usb_transfer *t = kit_request(KIT_BULK - 1, d, 0x80, 6, 0x100, 0, 18);
	CHECK_EQ(kit_wait(t, 60), USB_OK);
	CHECK_EQ(t->actual, 18);
	CHECK(memcmp(t->data, kit_model.device[d - kit_device].device_text, 18) == 0);
}

#endif
